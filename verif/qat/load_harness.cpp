// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of jd_qat_load: memory with latency, pauses and bus errors, and a user who takes and
// gives rows when it likes.
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "Vjd_qat_load_pins.h"
#include "flow/harness.h"
#include "flow/memory.h"

namespace {
constexpr uint64_t STUCK = 2000;  // clocks without any progress
constexpr uint64_t QUIET = 60;    // clocks after the end in which nothing may move

struct Load : jackdaw::Simulation<Vjd_qat_load_pins> {
  std::optional<jackdaw::MemoryPort> memory;
  std::vector<jackdaw::Fault> faults;
  uint64_t state;

  explicit Load(uint32_t seed) : Simulation(seed), state(seed * 77u + 13u) {
    top.read_i = top.write_i = top.stop_i = top.row_ready_i = top.line_valid_i = 0;
    top.m_axi_rvalid_i = top.m_axi_bvalid_i = 0;
    top.m_axi_arready_i = top.m_axi_awready_i = top.m_axi_wready_i = 0;
    for (unsigned i = 0; i < 8; ++i) chance(0);
    reset();
  }
  bool chance(uint32_t permille) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 32) % 1000 < permille;
  }
};
}  // namespace

extern "C" {
/// Mirrored by verif/qat/load.py.
struct LoadRun {
  jackdaw::MemoryConfig memory;
  uint64_t writes;                // else it reads
  uint64_t address, rows, words;  // of the ports
  uint64_t stop;                  // clock in which stop_i rises, or never; it stays to the end
  uint64_t pause;                 // share of clocks in which the user waits, permille
  uint32_t* lines;                // [rows][LW]: taken, or to be given
  uint64_t* ends;                 // response, clock, rows, clocks of the first and last of them, beats,
                                  // beats asked for from the stop on
};

Load* jd_new(uint32_t seed) { return new Load(seed); }

/// Runs a transfer. Returns 0, -1 for an error.
int64_t load_run(Load* load, const LoadRun* run, uint8_t* bytes, uint64_t size,
                 const jackdaw::Fault* faults, uint64_t fault_count) {
  auto& top = load->top;
  return load->guarded([&]() -> int64_t {
    load->faults.assign(faults, faults + fault_count);
    auto& memory = load->memory.emplace(run->memory, bytes, size, &load->faults, 0,
                                        jackdaw::Requests::checked);
    memory.start(top, 0);
    const size_t words = sizeof(top.row_data_o) / 4;
    uint64_t moved = 0, owed = 0, answers = 0, progress = 0, over = 0;
    bool busy = true, offers = false;
    for (uint64_t clock = 0; over <= QUIET; ++clock) {
      if (clock - progress > STUCK) throw jackdaw::Failure("no progress");
      const bool begins = clock == 0;
      memory.drive(top, 0);
      top.read_i = begins && !run->writes;
      top.write_i = begins && run->writes;
      top.address_i = begins ? run->address : ~run->address & ((1ull << 40) - 1);
      top.rows_i = begins ? run->rows : ~run->rows & ((1u << 18) - 1);
      top.line_words_i = begins ? run->words : ~run->words & 31;
      top.stop_i = clock >= run->stop && busy;
      top.row_ready_i = !load->chance(run->pause);
      offers = offers || (run->writes && moved < run->rows && !load->chance(run->pause));
      top.line_valid_i = offers;
      if (offers) std::memcpy(&top.line_data_i, run->lines + words * moved, 4 * words);
      load->settle();
      if (clock && top.idle_o != (!busy || top.done_o)) {
        throw jackdaw::Failure("idle while it works, or not after it");
      }
      const bool takes = top.row_valid_o && top.row_ready_i;
      const bool gives = top.line_valid_i && top.line_ready_o;
      if (top.moved_o != (takes || gives) || (run->writes ? takes : gives)) {
        throw jackdaw::Failure("moves are not told of, or go the other way");
      }
      if (takes && moved == run->rows) throw jackdaw::Failure("a row too many");
      if (takes) std::memcpy(run->lines + words * moved, &top.row_data_o, 4 * words);
      if (takes || gives) {
        if (!moved) run->ends[3] = clock;
        run->ends[4] = clock;
        moved++;
        offers = false;
      }
      const bool reads = top.m_axi_arvalid_o && top.m_axi_arready_i;
      const bool asks = top.m_axi_awvalid_o && top.m_axi_awready_i;
      const bool comes = top.m_axi_rvalid_i && top.m_axi_rready_o;
      const bool goes = top.m_axi_wvalid_o && top.m_axi_wready_i;
      const unsigned beats = reads ? top.m_axi_arlen_o + 1u : asks ? top.m_axi_awlen_o + 1u : 0;
      if (top.m_axi_rvalid_i && !top.m_axi_rready_o) throw jackdaw::Failure("R waits");
      owed += beats;
      owed -= comes + goes;
      answers += asks;
      answers -= top.m_axi_bvalid_i && top.m_axi_bready_o;
      run->ends[5] += comes + goes;
      if (clock > run->stop) run->ends[6] += beats;
      if (takes || gives || beats || comes || goes || top.m_axi_bvalid_i || begins) {
        progress = clock;
        if (!busy) throw jackdaw::Failure("something moves after the end");
      }
      if (top.done_o) {
        if (!busy || owed || answers) throw jackdaw::Failure("an end too many or too early");
        run->ends[0] = top.response_o;
        run->ends[1] = clock;
        run->ends[2] = moved;
        busy = false;
      }
      memory.step(top, 0, clock);
      load->edge();
      over = busy ? 0 : over + 1;
    }
    return 0;
  });
}
}
