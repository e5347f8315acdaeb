// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a compute unit of the a3c engine: tasks, the layers that it looks up, the
// order of updates and its memory.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <vector>

#include "Vjd_a3c_unit_pins.h"
#include "Vjd_a3c_unit_pins___024root.h"
#include "flow/harness.h"
#include "flow/memory.h"

namespace {
constexpr unsigned LAYERS = 8, CLOCKS = 7, ISSUE = 1;
constexpr uint64_t NEVER = ~uint64_t{0};
constexpr uint64_t STUCK = 100000;  // clocks without any progress

struct Unit : jackdaw::Simulation<Vjd_a3c_unit_pins> {
  std::optional<jackdaw::MemoryPort> memory;
  const std::vector<jackdaw::Fault> faults;  // none

  explicit Unit(uint32_t seed) : Simulation(seed) {
    const char* const path = std::getenv("JD_WAVES_FILE");
    record(path ? path : "unit.fst");
  }
};
}  // namespace

extern "C" {
/// Mirrored by verif/a3c/unit.py.
struct UnitRun {
  jackdaw::MemoryConfig memory;
  uint64_t limit;           // clocks
  const uint32_t* tasks;    // [count][words of task_t]
  uint64_t count;
  const uint32_t* layers;   // [slots][LAYERS][words of layer_t]
  uint64_t* ends;           // [count][error, word, response, clock]
  uint64_t* clocks;         // [CLOCKS] by the order of unit_clocks_t, then read and write beats
  uint64_t* stages;         // [kind_e][layer][CLOCKS]
};

Unit* jd_new(uint32_t seed) { return new Unit(seed); }

/// Runs tasks until all have ended. Returns the clocks, -1 for an error.
int64_t unit_run(Unit* unit, const UnitRun* run, uint8_t* bytes, uint64_t size) {
  auto& top = unit->top;
  uint64_t given = 0, ended = 0, progress = 0, answer = NEVER;
  unsigned slot = 0, layer = 0, stage = 0;
  return unit->guarded([&]() -> int64_t {
    top.end_ready_i = 1;
    top.order_go_i = 1;
    top.task_valid_i = 0;
    top.lookup_valid_i = 0;
    top.stop_i = 0;
    auto& memory = unit->memory.emplace(run->memory, bytes, size, &unit->faults, 0,
                                        jackdaw::Requests::held);
    memory.start(top, 0);
    unit->reset();
    for (;;) {
      const uint64_t clock = unit->clocks;
      if (clock >= run->limit) throw jackdaw::Failure("limit of clocks");
      if (clock - progress > STUCK) throw jackdaw::Failure("no progress");
      memory.drive(top, 0);
      top.task_valid_i = given < run->count;
      if (top.task_valid_i) {
        const size_t words = sizeof(top.task_i) / 4;
        std::memcpy(&top.task_i, run->tasks + given * words, sizeof(top.task_i));
      }
      top.lookup_ready_i = answer == NEVER;
      top.lookup_valid_i = answer == clock;
      if (answer == clock) {
        const size_t words = sizeof(top.lookup_data_i) / 4;
        std::memcpy(&top.lookup_data_i, run->layers + (slot * LAYERS + layer) * words,
                    sizeof(top.lookup_data_i));
      }
      unit->settle();
      if (answer == clock) answer = NEVER;
      else if (top.lookup_valid_o && top.lookup_ready_i) {
        slot = top.lookup_slot_o;
        layer = top.lookup_layer_o;
        answer = clock + 3;
      }
      if (top.task_valid_i && top.task_ready_o) {
        given++;
        progress = clock;
      }
      // An issue is seen the clock after its tile's.
      const unsigned before = stage;
      stage = top.rootp->jd_a3c_unit_pins__DOT__u_dut__DOT__u_core__DOT__unused_stage;
      for (unsigned i = 0; i < CLOCKS; ++i) {
        const unsigned counts = top.clocks_o >> (CLOCKS - 1 - i) & 1;
        run->clocks[i] += counts;
        run->stages[(i == ISSUE ? before : stage) * CLOCKS + i] += counts;
      }
      if (top.progress_o) progress = clock;
      const bool read = top.m_axi_rvalid_i && top.m_axi_rready_o;
      const bool write = top.m_axi_wvalid_o && top.m_axi_wready_i;
      run->clocks[CLOCKS] += read;
      run->clocks[CLOCKS + 1] += write;
      if (top.end_valid_o) {
        if (ended == given) throw jackdaw::Failure("an end without a task");
        uint64_t* end = run->ends + 4 * ended++;
        end[0] = top.end_o >> 7;
        end[1] = top.end_o >> 2 & 31;
        end[2] = top.end_o & 3;
        end[3] = clock;
        progress = clock;
      }
      memory.step(top, 0, clock);
      unit->edge();
      if (ended == run->count) return static_cast<int64_t>(clock + 1);
    }
  });
}
}
