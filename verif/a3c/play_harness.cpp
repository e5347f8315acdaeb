// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a block without back-pressure: a table of inputs in, one row a clock, and
// a table of outputs out. The ports are those of the macros INPUTS and OUTPUTS, in their order.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

#include MODEL_HEADER
#include "flow/harness.h"
#include "verilated.h"

void vl_stop(const char* file, int line, const char* /*scope*/) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line));
}
void vl_fatal(const char* file, int line, const char* /*scope*/, const char* message) {
  throw std::runtime_error(std::string(message) + " at " + file + ":" + std::to_string(line));
}

namespace {
struct Player {
  VerilatedContext context;
  MODEL top;
  uint64_t clocks = 0;
  std::string error;

  explicit Player(uint32_t seed) : context(), top(seeded(context, seed)) {}
  ~Player() {
    // The model's scopes leave the thread's present context, which may be one that is gone.
    Verilated::threadContextp(&context);
    if (error.empty()) write_coverage(context);
  }
};

// A port takes whole words of a row.
template <class Port>
constexpr int words() {
  return (sizeof(Port) + 3) / 4;
}
template <class Port>
void put(Port& port, const uint32_t*& row) {
  std::memcpy(&port, row, sizeof(Port));
  row += words<Port>();
}
template <class Port>
void get(const Port& port, uint32_t*& row) {
  std::memcpy(row, &port, sizeof(Port));
  row += words<Port>();
}
}  // namespace

extern "C" {
Player* play_new(uint32_t seed) {
  return new Player(seed);
}

void play_free(Player* player) { delete player; }

const char* play_error(Player* player) { return player->error.c_str(); }

void play_words(Player* player, int* inputs, int* outputs) {
  *inputs = *outputs = 0;
#define X(port) *inputs += words<decltype(player->top.port)>();
  INPUTS
#undef X
#define X(port) *outputs += words<decltype(player->top.port)>();
  OUTPUTS
#undef X
}

#ifdef STREAM
// Sends `count` words of in_data_i and takes as many from out_data_o. give and take say in which
// clocks the source may begin to offer a word and the sink is ready; in_clock and out_clock are the
// clocks in which the words move. Returns the clocks of the run, -1 for a check that fired, -2 if
// the limit came first.
int64_t play_stream(Player* player, uint64_t count, uint64_t limit, const uint32_t* in,
                    uint32_t* out, const uint8_t* give, const uint8_t* take, uint32_t* in_clock,
                    uint32_t* out_clock) {
  auto& top = player->top;
  uint64_t sent = 0, got = 0;
  bool offers = false;
  top.rst_ni = 1;
  try {
    for (uint64_t clock = 0; clock < limit; ++clock) {
      offers = offers || (sent < count && give[clock]);
      top.in_valid_i = offers;
      if (offers) {
        const uint32_t* word = in + sent * words<decltype(top.in_data_i)>();
        put(top.in_data_i, word);
      }
      top.out_ready_i = take[clock];
      top.clk_i = 0;
      top.eval();
      player->context.timeInc(1);
      if (top.out_valid_o && top.out_ready_i) {
        if (got == count) throw std::runtime_error("more words than were sent");
        out_clock[got++] = clock;
        get(top.out_data_o, out);
      }
      if (offers && top.in_ready_o) {
        in_clock[sent++] = clock;
        offers = false;
      }
      top.clk_i = 1;
      top.eval();
      player->context.timeInc(1);
      if (got == count) {
        top.in_valid_i = top.out_ready_i = 0;
        return clock + 1;
      }
    }
    player->error = std::to_string(got) + " of " + std::to_string(count) + " words came";
    return -2;
  } catch (const std::exception& error) {
    player->error = error.what();
    return -1;
  }
}
#endif

// Outputs are as they are before the edge that ends the clock.
int play_run(Player* player, uint64_t clocks, const uint32_t* in, uint32_t* out) {
  auto& top = player->top;
  try {
    for (uint64_t clock = 0; clock < clocks; ++clock, ++player->clocks) {
#define X(port) put(top.port, in);
      INPUTS
#undef X
      top.clk_i = 0;
      top.eval();
      player->context.timeInc(1);
#define X(port) get(top.port, out);
      OUTPUTS
#undef X
      top.clk_i = 1;
      top.eval();
      player->context.timeInc(1);
    }
    return 0;
  } catch (const std::exception& error) {
    player->error = error.what();
    return -1;
  }
}
}
