// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of the transfers of a batch: memory with latency, pauses and bus errors, slots that
// take lines when they like, and TD errors that come when they like.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "Vjd_qat_batch_bench_pins.h"
#include "flow/harness.h"
#include "flow/memory.h"

// The ports that describe a chunk, in the order of verif/qat/batch.py.
#define CHUNK                                                                                     \
  X(records_i) X(stride_i) X(list_i) X(weights_i) X(list_address_i) X(places_i) X(first_i)        \
  X(vectors_i) X(whole_i) X(common_i) X(x_line_i) X(following_line_i) X(misc_line_i) X(states_i)  \
  X(state_lines_i) X(actions_i) X(place_i) X(half_i) X(watch_i) X(shift_i) X(pairs_address_i)     \
  X(pairs_first_i) X(pairs_vectors_i)

namespace {
constexpr uint64_t STUCK = 2000;  // clocks without any progress

struct Batch : jackdaw::Simulation<Vjd_qat_batch_bench_pins> {
  std::optional<jackdaw::MemoryPort> memory;
  std::vector<jackdaw::Fault> faults;
  uint64_t state;

  explicit Batch(uint32_t seed) : Simulation(seed), state(seed * 77u + 13u) {
    top.start_i = top.pairs_start_i = top.stop_i = top.td_valid_i = top.line_ready_i = 0;
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
/// Mirrored by verif/qat/batch.py.
struct BatchRun {
  jackdaw::MemoryConfig memory;
  const uint64_t* chunk;   // values of the ports above
  uint64_t loads, writes;  // whether the chunk is loaded, and pairs written
  uint64_t stop;           // clock in which stop_i rises, or never
  uint64_t held;           // clocks for which it is up, at most to the end
  uint32_t pause;          // share of clocks in which slots take no line, permille
  uint32_t td_pause;       // in which no TD errors come
  const uint32_t* td;      // words of td_data_i
  uint64_t td_count;
  uint32_t* lines;         // [limit][6 + LW] clock, cores, address, half, seen, over; data
  uint64_t limit;
  uint64_t* ends;          // code, info0, info1, clock, response, clock, beats read, beats written,
                           // clock, least and largest address of reads that were asked for
  uint64_t quiet;          // clocks after the end in which nothing may move
};

Batch* jd_new(uint32_t seed) { return new Batch(seed); }

/// Runs a chunk. Returns the number of lines, -1 for an error.
int64_t batch_run(Batch* batch, const BatchRun* run, uint8_t* bytes, uint64_t size,
                  const jackdaw::Fault* faults, uint64_t fault_count) {
  auto& top = batch->top;
  return batch->guarded([&]() -> int64_t {
    batch->faults.assign(faults, faults + fault_count);
    auto& memory = batch->memory.emplace(run->memory, bytes, size, &batch->faults, 0,
                                         jackdaw::Requests::checked);
    memory.start(top, 0);
    const uint64_t* value = run->chunk;
#define X(port) top.port = *value++;
    CHUNK
#undef X
    const size_t td_words = sizeof(top.td_data_i) / 4, line_words = sizeof(top.line_data_o) / 4;
    uint64_t lines = 0, sent = 0, read_owed = 0, write_owed = 0, progress = 0, over = 0;
    bool loading = run->loads, writing = run->writes;
    for (uint64_t clock = 0;; ++clock) {
      if (clock - progress > STUCK) throw jackdaw::Failure("no progress");
      memory.drive(top, 0);
      top.start_i = run->loads && clock == 0;
      top.pairs_start_i = run->writes && clock == 0;
      top.stop_i = clock >= run->stop && clock - run->stop < run->held && (loading || writing);
      top.line_ready_i = !batch->chance(run->pause);
      top.td_valid_i = run->writes && clock && sent < run->td_count &&
                       !batch->chance(run->td_pause);
      if (top.td_valid_i) std::memcpy(&top.td_data_i, run->td + td_words * sent++, 4 * td_words);
      batch->settle();
      if (clock && (loading == top.idle_o || writing == top.pairs_idle_o)) {
        throw jackdaw::Failure("idle while it works, or not after it");
      }
      if (top.line_valid_o && top.line_ready_i) {
        if (lines == run->limit) throw jackdaw::Failure("a line too many");
        uint32_t* line = run->lines + (6 + line_words) * lines++;
        const uint32_t meta[] = {uint32_t(clock), top.line_cores_o, top.line_address_o,
                                 top.line_half_o, top.seen_o, top.over_o};
        std::memcpy(line, meta, sizeof meta);
        std::memcpy(line + 6, &top.line_data_o, 4 * line_words);
      } else if (top.seen_o || top.over_o) {
        throw jackdaw::Failure("seen or saturated without a line that is taken");
      }
      const bool asks = top.m_axi_arvalid_o && top.m_axi_arready_i;
      const bool comes = top.m_axi_rvalid_i && top.m_axi_rready_o;
      const bool gives = top.m_axi_wvalid_o && top.m_axi_wready_i;
      if (asks) {
        read_owed += top.m_axi_arlen_o + 1u;
        run->ends[8] = clock;
        run->ends[9] = std::min<uint64_t>(run->ends[9], top.m_axi_araddr_o);
        run->ends[10] = std::max<uint64_t>(run->ends[10], top.m_axi_araddr_o);
      }
      read_owed -= comes;
      run->ends[6] += comes;
      run->ends[7] += gives;
      write_owed += top.m_axi_awvalid_o && top.m_axi_awready_i;
      write_owed -= top.m_axi_bvalid_i && top.m_axi_bready_o;
      if (asks || comes || gives || top.line_valid_o || top.td_valid_i || top.moved_o ||
          top.pairs_moved_o || top.m_axi_bvalid_i) {
        progress = clock;
        if (!loading && !writing && !top.td_valid_i) {
          throw jackdaw::Failure("something moves after the end");
        }
      }
      if (top.done_o) {
        if (!loading || read_owed) throw jackdaw::Failure("an end too many, or while data come");
        const uint64_t end[] = {top.code_o, top.info0_o, top.info1_o, clock};
        std::copy(end, end + 4, run->ends);
        loading = false;
      }
      if (top.pairs_done_o) {
        if (!writing || write_owed) throw jackdaw::Failure("an end of pairs too many or too early");
        run->ends[4] = top.pairs_response_o;
        run->ends[5] = clock;
        writing = false;
      }
      memory.step(top, 0, clock);
      batch->edge();
      over = loading || writing ? 0 : over + 1;
      if (over > run->quiet && sent == (run->writes ? run->td_count : 0)) break;
    }
    return static_cast<int64_t>(lines);
  });
}
}
