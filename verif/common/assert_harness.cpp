// SPDX-License-Identifier: Apache-2.0
//
// Runs jd_assert_bench over a sequence of inputs until a check fails.
#include <cstdint>
#include <memory>

#include "Vjd_assert_bench.h"
#include "flow/harness.h"
#include "verilated.h"

namespace {
struct Stopped {
    int line;
};
}  // namespace

void vl_stop(const char*, int line, const char*) { throw Stopped{line}; }
void vl_fatal(const char*, int line, const char*, const char*) { throw Stopped{line}; }

/// inputs: bits rst_ni, when, expression, valid, ready and payload from bit 8. Returns the clock in
/// which a check failed, with the source line, or -1.
extern "C" int assert_run(unsigned select, const uint32_t* inputs, int clocks, unsigned seed,
                          int* line) {
    VerilatedContext context;
    auto top = std::make_unique<Vjd_assert_bench>(seeded(context, seed));
    top->select_i = select;
    int clock = 0;
    try {
        for (; clock < clocks; clock++) {
            const uint32_t bits = inputs[clock];
            top->clk_i = 0;
            top->rst_ni = bits & 1;
            top->when_i = bits >> 1 & 1;
            top->expression_i = bits >> 2 & 1;
            top->valid_i = bits >> 3 & 1;
            top->ready_i = bits >> 4 & 1;
            for (int w = 0; w < 4; w++) top->payload_i[w] = w == 3 ? bits >> 8 : 0;
            top->eval();
            context.timeInc(1);
            top->clk_i = 1;
            top->eval();
            context.timeInc(1);
        }
    } catch (const Stopped& stopped) {
        *line = stopped.line;
        return clock;
    }
    return -1;
}
