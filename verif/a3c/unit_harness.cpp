// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a compute unit of the a3c engine: tasks, the layers that it looks up, the
// order of updates and its memory.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

#include "../../host/jackdaw/device/memory.h"
#include "Vjd_a3c_unit.h"
#include "Vjd_a3c_unit___024root.h"
#include "flow/harness.h"
#include "verilated.h"
#ifdef JD_WAVES
#include "verilated_fst_c.h"
#endif

void vl_stop(const char* file, int line, const char* /*scope*/) {
  throw std::runtime_error(std::string(file) + ":" + std::to_string(line));
}
void vl_fatal(const char* file, int line, const char* /*scope*/, const char* message) {
  throw std::runtime_error(std::string(message) + " at " + file + ":" + std::to_string(line));
}

namespace {
constexpr unsigned LAYERS = 8, CLOCKS = 7, ISSUE = 1;
constexpr uint64_t NEVER = ~uint64_t{0};
constexpr uint64_t STUCK = 100000;  // clocks without any progress
constexpr uint64_t QUIET = 200;     // clocks in which nothing may begin after a stop

/// What the simulated memory has for ports: one of each.
struct Bus {
  uint8_t m_axi_arvalid_o[1] = {}, m_axi_arready_i[1] = {}, m_axi_arid_o[1] = {};
  uint8_t m_axi_arlen_o[1] = {}, m_axi_arsize_o[1] = {6}, m_axi_arburst_o[1] = {1};
  uint8_t m_axi_awvalid_o[1] = {}, m_axi_awready_i[1] = {}, m_axi_awid_o[1] = {};
  uint8_t m_axi_awlen_o[1] = {}, m_axi_awsize_o[1] = {6}, m_axi_awburst_o[1] = {1};
  uint64_t m_axi_araddr_o[1] = {}, m_axi_awaddr_o[1] = {}, m_axi_wstrb_o[1] = {};
  uint8_t m_axi_wvalid_o[1] = {}, m_axi_wready_i[1] = {}, m_axi_wlast_o[1] = {};
  uint8_t m_axi_rvalid_i[1] = {}, m_axi_rready_o[1] = {}, m_axi_rresp_i[1] = {};
  uint8_t m_axi_rlast_i[1] = {}, m_axi_rid_i[1] = {};
  uint8_t m_axi_bvalid_i[1] = {}, m_axi_bready_o[1] = {}, m_axi_bresp_i[1] = {}, m_axi_bid_i[1] = {};
  VlWide<16> m_axi_rdata_i[1], m_axi_wdata_o[1];
};

struct Unit {
  VerilatedContext context;
  Vjd_a3c_unit top;
  Bus bus;
  jackdaw::MemoryPort* memory = nullptr;
  std::vector<jackdaw::Fault> faults;
  std::string error;
  uint64_t now = 0;
#ifdef JD_WAVES
  VerilatedFstC trace;
#endif

  explicit Unit(uint32_t seed) : context(), top(seeded(context, seed)) {
#ifdef JD_WAVES
    context.traceEverOn(true);
    top.trace(&trace, 99);
    trace.open(getenv("JD_WAVES_FILE") ? getenv("JD_WAVES_FILE") : "unit.fst");
#endif
  }
  ~Unit() {
    Verilated::threadContextp(&context);
    if (error.empty()) write_coverage(context);
#ifdef JD_WAVES
    trace.close();
#endif
    delete memory;
  }

  void settle() {
    top.clk_i = 0;
    top.eval();
#ifdef JD_WAVES
    trace.dump(context.time());
#endif
    context.timeInc(1);
  }
  void edge() {
    top.clk_i = 1;
    top.eval();
#ifdef JD_WAVES
    trace.dump(context.time());
#endif
    context.timeInc(1);
  }
  void reset() {
    top.rst_ni = 0;
    for (int i = 0; i < 4; ++i) {
      settle();
      edge();
    }
    top.rst_ni = 1;
  }

  void drive_memory() {
    memory->drive(bus, 0);
    top.m_axi_arready_i = bus.m_axi_arready_i[0];
    top.m_axi_rvalid_i = bus.m_axi_rvalid_i[0];
    top.m_axi_rresp_i = bus.m_axi_rresp_i[0];
    top.m_axi_rlast_i = bus.m_axi_rlast_i[0];
    top.m_axi_rid_i = bus.m_axi_rid_i[0];
    top.m_axi_rdata_i = bus.m_axi_rdata_i[0];
    top.m_axi_awready_i = bus.m_axi_awready_i[0];
    top.m_axi_wready_i = bus.m_axi_wready_i[0];
    top.m_axi_bvalid_i = bus.m_axi_bvalid_i[0];
    top.m_axi_bresp_i = bus.m_axi_bresp_i[0];
    top.m_axi_bid_i = bus.m_axi_bid_i[0];
  }
  void step_memory() {
    bus.m_axi_arvalid_o[0] = top.m_axi_arvalid_o;
    bus.m_axi_araddr_o[0] = top.m_axi_araddr_o;
    bus.m_axi_arlen_o[0] = top.m_axi_arlen_o;
    bus.m_axi_arid_o[0] = top.m_axi_arid_o;
    bus.m_axi_rready_o[0] = top.m_axi_rready_o;
    bus.m_axi_awvalid_o[0] = top.m_axi_awvalid_o;
    bus.m_axi_awaddr_o[0] = top.m_axi_awaddr_o;
    bus.m_axi_awlen_o[0] = top.m_axi_awlen_o;
    bus.m_axi_awid_o[0] = top.m_axi_awid_o;
    bus.m_axi_wvalid_o[0] = top.m_axi_wvalid_o;
    bus.m_axi_wlast_o[0] = top.m_axi_wlast_o;
    bus.m_axi_wstrb_o[0] = top.m_axi_wstrb_o;
    bus.m_axi_wdata_o[0] = top.m_axi_wdata_o;
    bus.m_axi_bready_o[0] = top.m_axi_bready_o;
    memory->step(bus, 0, now);
  }
};
}  // namespace

extern "C" {
/// Mirrored by verif/a3c/unit.py.
struct UnitRun {
  jackdaw::MemoryConfig memory;
  uint64_t limit;           // clocks
  uint64_t stop;            // clock in which stop_i rises, NEVER for none
  const uint32_t* tasks;    // [count][words of task_t]
  const uint32_t* starts;   // [count] clocks before which a task is not offered
  uint64_t count;
  const uint32_t* layers;   // [slots][LAYERS][words of layer_t]
  uint64_t* ends;           // [count][error, word, response, clock]
  uint64_t* clocks;         // [CLOCKS] by the order of unit_clocks_t, then read and write beats
  uint64_t* stages;         // [kind_e][layer][CLOCKS]
};

Unit* unit_new(uint32_t seed) {
  Unit* unit = new Unit(seed);
  return unit;
}
void unit_free(Unit* unit) { delete unit; }
const char* unit_error(Unit* unit) { return unit->error.c_str(); }

/// Runs tasks until all have ended, or until all is quiet after a stop. Returns the clocks, -1 for an error.
int64_t unit_run(Unit* unit, const UnitRun* run, uint8_t* bytes, uint64_t size,
                 const jackdaw::Fault* faults, uint64_t fault_count) {
  auto& top = unit->top;
  unit->faults.assign(faults, faults + fault_count);
  delete unit->memory;
  unit->memory = new jackdaw::MemoryPort(run->memory, bytes, size, &unit->faults, 0,
                                         jackdaw::Requests::held);
  unit->memory->start(unit->bus, 0);
  uint64_t given = 0, ended = 0, progress = 0, answer = NEVER, quiet = 0;
  unsigned slot = 0, layer = 0, stage = 0;
  const uint64_t begin = unit->now;
  try {
    Verilated::threadContextp(&unit->context);
    top.end_ready_i = 1;
    top.order_go_i = 1;
    top.task_valid_i = 0;
    top.lookup_valid_i = 0;
    top.stop_i = 0;
    unit->reset();
    for (;; ++unit->now) {
      const uint64_t clock = unit->now - begin;
      if (clock >= run->limit) throw std::runtime_error("limit of clocks");
      if (clock - progress > STUCK) throw std::runtime_error("no progress");
      unit->drive_memory();
      top.stop_i = clock >= run->stop;
      top.task_valid_i = given < run->count && clock >= run->starts[given];
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
      stage = top.rootp->jd_a3c_unit__DOT__u_core__DOT__unused_stage;
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
        if (ended == given) throw std::runtime_error("an end without a task");
        uint64_t* end = run->ends + 4 * ended++;
        end[0] = top.end_o >> 7;
        end[1] = top.end_o >> 2 & 31;
        end[2] = top.end_o & 3;
        end[3] = clock;
        progress = clock;
      }
      quiet = top.stop_i && top.idle_o && !top.m_axi_arvalid_o && !top.m_axi_awvalid_o ? quiet + 1 : 0;
      unit->step_memory();
      unit->edge();
      if (ended == run->count || quiet == QUIET) {
        unit->now++;
        return static_cast<int64_t>(clock + 1);
      }
    }
  } catch (const std::exception& error) {
    unit->error = std::string(error.what()) + " in clock " + std::to_string(unit->now - begin);
    return -1;
  }
}
}
