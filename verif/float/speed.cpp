// SPDX-License-Identifier: Apache-2.0
//
// Processor time of an operation: the whole array works in every clock, or is idle.
#include <ctime>

#include "Vjd_float_array.h"
#include "flow/harness.h"
#include "operands.hpp"

// Nanoseconds an operation: operands 0 any bit pattern, 1 numbers below one, 2 none (idle).
extern "C" double jd_speed(int operands, int clocks) {
  constexpr int COUNT = 64, ROWS = 1024;
  static uint32_t table[2][ROWS][COUNT];
  VerilatedContext context;
  Vjd_float_array top{&context};
  jd::Random random{1};
  for (auto& side : table)
    for (auto& row : side)
      for (uint32_t& word : row) {
        word = (uint32_t)random.next();
        if (operands == 1)
          word = (uint32_t)jd::from_float((int32_t(word) % 1000000) / 1e6f);
      }
  top.rst_ni = 0, top.clk_i = 0;
  top.eval();
  top.clk_i = 1;
  top.eval();
  top.rst_ni = 1, top.valid_i = operands != 2;
  std::clock_t start = std::clock();
  for (int i = 0; i < clocks; i++) {
    top.clk_i = 0;
    for (int k = 0; k < COUNT; k++) {
      top.a_i[k] = table[0][i % ROWS][k];
      top.b_i[k] = table[1][i % ROWS][k];
    }
    top.eval();
    top.clk_i = 1;
    top.eval();
  }
  return 1e9 * double(std::clock() - start) / CLOCKS_PER_SEC / clocks / COUNT;
}
