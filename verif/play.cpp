// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a block: a table of inputs in, one row per clock, and a table of outputs
// out. The ports are those of the macros INPUTS and OUTPUTS, in their order.
#include <cstdint>
#include <cstring>
#include <string>

#include MODEL_HEADER
#include "flow/harness.h"

namespace {
using Player = jackdaw::Simulation<MODEL>;

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
Player* jd_new(uint32_t seed) { return new Player(seed); }

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
// clocks in which the words move. Returns the clocks of the run.
int64_t play_stream(Player* player, uint64_t count, uint64_t limit, const uint32_t* in,
                    uint32_t* out, const uint8_t* give, const uint8_t* take, uint32_t* in_clock,
                    uint32_t* out_clock) {
  return player->guarded([&]() -> int64_t {
    auto& top = player->top;
    uint64_t sent = 0, got = 0;
    bool offers = false;
    top.rst_ni = 1;
    for (uint64_t clock = 0; clock < limit; ++clock) {
      offers = offers || (sent < count && give[clock]);
      top.in_valid_i = offers;
      if (offers) {
        const uint32_t* word = in + sent * words<decltype(top.in_data_i)>();
        put(top.in_data_i, word);
      }
      top.out_ready_i = take[clock];
      player->settle();
      if (top.out_valid_o && top.out_ready_i) {
        if (got == count) throw jackdaw::Failure("more words than were sent");
        out_clock[got++] = clock;
        get(top.out_data_o, out);
      }
      if (offers && top.in_ready_o) {
        in_clock[sent++] = clock;
        offers = false;
      }
      player->edge();
      if (got == count) {
        top.in_valid_i = top.out_ready_i = 0;
        return clock + 1;
      }
    }
    throw jackdaw::Failure(std::to_string(got) + " of " + std::to_string(count) + " words came");
  });
}
#endif

// Outputs are as they are before the edge that ends the clock. Counts clocks from here on.
int64_t play_run(Player* player, uint64_t clocks, const uint32_t* in, uint32_t* out) {
  return player->guarded([&] {
    auto& top = player->top;
    for (player->clocks = 0; player->clocks < clocks;) {
#define X(port) put(top.port, in);
      INPUTS
#undef X
      player->settle();
#define X(port) get(top.port, out);
      OUTPUTS
#undef X
      player->edge();
    }
    return 0;
  });
}
}
