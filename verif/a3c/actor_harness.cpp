// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a block of the a3c engine that moves data between memory and a compute
// unit's buffers: memory with latency, pauses and bus errors on its AXI port, the tasks that it is
// given, and the buffer on its other side. The macro of its name chooses the block.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include MODEL_HEADER
#include "flow/harness.h"
#include "flow/memory.h"

#if defined(LOAD) || defined(MAP_LOAD)
#define TASKS  // and reads; the other one writes rows
#endif

namespace {
constexpr unsigned BEAT = 64, BEAT_WORDS = 16;
constexpr unsigned REGIONS = 9;  // entries of a network: layers and the output
constexpr uint64_t NEVER = ~uint64_t{0};
constexpr uint64_t QUIET = 300;  // clocks in which nothing may begin after a stop
constexpr uint64_t STUCK = 20000;  // clocks without any progress

/// The memory's port, which takes the requests below.
struct Bus {
  uint8_t m_axi_arvalid_o = 0, m_axi_arready_i = 0, m_axi_arid_o = 0, m_axi_arlen_o = 0;
  uint8_t m_axi_awvalid_o = 0, m_axi_awready_i = 0, m_axi_awid_o = 0, m_axi_awlen_o = 0;
  uint64_t m_axi_araddr_o = 0, m_axi_awaddr_o = 0, m_axi_wstrb_o = 0;
  uint8_t m_axi_wvalid_o = 0, m_axi_wready_i = 0, m_axi_wlast_o = 0;
  uint8_t m_axi_rvalid_i = 0, m_axi_rready_o = 0, m_axi_rresp_i = 0, m_axi_rlast_i = 0;
  uint8_t m_axi_rid_i = 0;
  uint8_t m_axi_bvalid_i = 0, m_axi_bready_o = 0, m_axi_bresp_i = 0, m_axi_bid_i = 0;
  VlWide<16> m_axi_rdata_i, m_axi_wdata_o;
};

/// A request between the block and the memory, so that the block's may wait.
struct Request {
  bool valid = false, ready = false;
  uint64_t address = 0;
  uint8_t length = 0;
};

struct Random {
  uint64_t state;
  uint32_t next() {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<uint32_t>(state >> 32);
  }
  bool chance(uint32_t permille) { return next() % 1000 < permille; }
};
}  // namespace

// Mirrored by verif/a3c/memory.py.
extern "C" {
struct Settings {
  jackdaw::MemoryConfig memory;
  uint64_t stop;             // clock in which stop_i rises, NEVER for none
  uint64_t fail;             // clock in which failed_i rises, until the task's finish
  uint64_t heal;             // map_save: it falls when the block is not busy from this clock on
  uint32_t stall;            // share of clocks in which a request waits, permille
  uint32_t pause;            // share of clocks in which the other side waits, permille
  uint32_t limit;            // clocks of the run
};

/// A run's tasks, and what the other side does and sees; each block uses its part.
struct Run {
  const uint32_t* tasks;     // [tasks][words of task_t]
  const uint32_t* layers;    // [tasks][REGIONS][words of unit_layer_t]
  uint64_t* finished;        // [tasks] clocks
  uint64_t count;            // of tasks or jobs
  // load: blocks in order. map_load: items. Absolute positions.
  const uint64_t* bases;
  const uint64_t* ends;
  uint64_t* after;           // load: the block that is filled before this one is released
  uint64_t pieces;
  uint32_t* image;           // what is seen, or the buffer that is read
  uint64_t rows;             // of the buffer
  uint64_t* log;             // map_load: row, samples, clock of each write
  uint64_t log_size;
  const uint32_t* jobs;      // map_save: words of each
  uint64_t* marks;           // clocks of events
  uint64_t* counts;          // of what happened
};
}

namespace {
struct Actor : jackdaw::Simulation<MODEL> {
  Bus bus;
  Random random;
  Settings settings{};
  std::optional<jackdaw::MemoryPort> memory;
  std::vector<jackdaw::Fault> faults;
  Request read, write;
  const uint64_t& now = clocks;
  uint64_t progress = 0, healed = NEVER;
  uint64_t reads_out = 0, writes_out = 0;              // bursts
  uint64_t read_beats = 0, write_beats = 0, bursts = 0;
  uint64_t last_read_beat = 0, first_read_beat = NEVER;
  std::vector<uint64_t> requests;                      // clock, address, beats | write << 16
  std::vector<uint64_t> errors;                        // task, word, response
  bool failing = false, quiet = false;                 // failed_i; idle since a stop

  explicit Actor(uint32_t seed) : Simulation(seed), random{seed * 77u + 13u} {
    for (unsigned i = 0; i < 8; ++i) random.next();
  }

  void fail(const std::string& what) const { throw jackdaw::Failure(what); }

  /// Sets the inputs from memory and settles the block's outputs.
  void begin() {
    memory->drive(bus, 0);
#ifdef TASKS
    read.ready = !read.valid && !random.chance(settings.stall);
    top.m_axi_arready_i = read.ready;
    top.m_axi_rvalid_i = bus.m_axi_rvalid_i;
    top.m_axi_rresp_i = bus.m_axi_rresp_i;
    top.m_axi_rlast_i = bus.m_axi_rlast_i;
    top.m_axi_rid_i = 0;
    top.m_axi_rdata_i = bus.m_axi_rdata_i;
#endif
#ifdef MAP_SAVE
    write.ready = !write.valid && !random.chance(settings.stall);
    top.m_axi_awready_i = write.ready;
    top.m_axi_wready_i = bus.m_axi_wready_i;
    top.m_axi_bvalid_i = bus.m_axi_bvalid_i;
    top.m_axi_bresp_i = bus.m_axi_bresp_i;
    top.m_axi_bid_i = 0;
#endif
    top.stop_i = now >= settings.stop;
#ifdef MAP_SAVE
    if (failing && now >= settings.heal && !top.busy_o && !(top.job_valid_i && top.job_ready_o)) {
      failing = false;
      healed = now;
    }
#endif
    failing = failing || now == settings.fail;
    top.failed_i = failing;
    settle();
  }

  /// So many times the quiet span after a stop.
  bool stopped(uint64_t times) const {
    return now >= settings.stop && now - settings.stop > times * QUIET;
  }

  void log_request(uint64_t address, uint64_t beats, bool writes) {
    requests.insert(requests.end(), {now, address, beats | (writes ? 1u << 16 : 0u)});
    bursts++;
    progress = now;
  }

  /// Lets memory take what is settled; the clock's edge.
  void end() {
    const bool busy = reads_out || writes_out;
    bool begins = false;
#ifdef TASKS
    begins = begins || top.m_axi_arvalid_o;
    bus.m_axi_arvalid_o = read.valid;
    bus.m_axi_araddr_o = read.address;
    bus.m_axi_arlen_o = read.length;
    bus.m_axi_rready_o = top.m_axi_rready_o;
    if (top.m_axi_rvalid_i && top.m_axi_rready_o) {
      if (first_read_beat == NEVER) first_read_beat = now;
      last_read_beat = progress = now;
      read_beats++;
      if (top.m_axi_rlast_i) reads_out--;
    }
#endif
#ifdef MAP_SAVE
    begins = begins || top.m_axi_awvalid_o;
    bus.m_axi_awvalid_o = write.valid;
    bus.m_axi_awaddr_o = write.address;
    bus.m_axi_awlen_o = write.length;
    bus.m_axi_wvalid_o = top.m_axi_wvalid_o;
    bus.m_axi_wlast_o = top.m_axi_wlast_o;
    bus.m_axi_wstrb_o = top.m_axi_wstrb_o;
    bus.m_axi_bready_o = top.m_axi_bready_o;
    bus.m_axi_wdata_o = top.m_axi_wdata_o;
    if (top.m_axi_wvalid_o && top.m_axi_wready_i) write_beats++, progress = now;
    if (top.m_axi_bvalid_i && top.m_axi_bready_o) writes_out--;
#endif
    if (top.idle_o && (busy || begins)) fail("idle_o while a burst is out");
    if (now >= settings.stop) {
      if (begins && quiet) fail("a burst begins after a stop and idle_o");
      quiet = quiet || top.idle_o;
    }
    if (stopped(20) && !top.idle_o) fail("not idle after a stop");
    const bool read_taken = read.valid && bus.m_axi_arready_i;
    const bool write_taken = write.valid && bus.m_axi_awready_i;
    memory->step(bus, 0, now);
    if (read_taken) read.valid = false;
    if (write_taken) write.valid = false;
#ifdef TASKS
    if (top.m_axi_arvalid_o && read.ready) {
      read = {true, false, top.m_axi_araddr_o, top.m_axi_arlen_o};
      reads_out++;
      log_request(read.address, read.length + 1u, false);
    }
#endif
#ifdef MAP_SAVE
    if (top.m_axi_awvalid_o && write.ready) {
      write = {true, false, top.m_axi_awaddr_o, top.m_axi_awlen_o};
      writes_out++;
      log_request(write.address, write.length + 1u, true);
    }
#endif
    edge();
    if (now - progress > STUCK) fail("no progress");
  }

  void note_error(uint64_t task) {
    if (!top.error_valid_o) return;
    errors.insert(errors.end(), {task, top.error_word_o, top.error_response_o});
  }
};

#ifdef TASKS
/// Gives the tasks, one after the other, and the layers that the block asks for.
struct Feeder {
  Actor& actor;
  const Run& run;
  uint64_t task = 0;
  unsigned index = 0;  // of the clock before
  bool go = false;

  void drive() {
    auto& top = actor.top;
    go = go || (task < run.count && !actor.random.chance(actor.settings.pause / 2));
    top.go_i = go;
    if (go) {
      std::memcpy(&top.task_i, run.tasks + task * (sizeof(top.task_i) / 4), sizeof(top.task_i));
    } else {
      for (unsigned i = 0; i < sizeof(top.task_i) / 4; ++i) top.task_i[i] = actor.random.next();
    }
    auto& layer = top.layer_i;
    const uint64_t at = std::min<uint64_t>(task, run.count - 1) * REGIONS + index % REGIONS;
    std::memcpy(&layer, run.layers + at * (sizeof(layer) / 4), sizeof(layer));
  }
  void see() {
    auto& top = actor.top;
    index = top.layer_index_o;
    actor.note_error(task);
    if (top.finish_o) {
      if (!go) actor.fail("finish_o without a task");
      run.finished[task++] = actor.now;
      actor.progress = actor.now;
      go = false;
      actor.failing = false;
      // The next task may show at once.
    }
  }
  bool done() const { return task == run.count; }
};
#endif

#ifdef MAP_SAVE
/// The read port of a buffer: data 2 clocks later, anything in other clocks.
struct ReadPort {
  Actor& actor;
  uint32_t* image;
  uint64_t rows;
  bool valid[2] = {};
  uint32_t data[2][BEAT_WORDS] = {};
  uint64_t taken = 0;

  void drive() {
    auto& top = actor.top;
    top.read_ready_i = !actor.random.chance(actor.settings.pause);
    for (unsigned i = 0; i < BEAT_WORDS; ++i) {
      top.read_data_i[i] = valid[1] ? data[1][i] : actor.random.next();
    }
  }
  void see() {
    auto& top = actor.top;
    valid[1] = valid[0];
    std::memcpy(data[1], data[0], sizeof data[0]);
    valid[0] = top.read_valid_o && top.read_ready_i;
    if (valid[0]) {
      if (top.read_row_o >= rows) actor.fail("a row after the buffer is read");
      std::memcpy(data[0], image + uint64_t{top.read_row_o} * BEAT_WORDS, sizeof data[0]);
      taken++;
      actor.progress = actor.now;
    }
  }
};
#endif

#ifdef LOAD
/// Takes what is loaded as it comes: a block is copied out once filled_o has passed it.
void play(Actor& actor, const Run& run) {
  auto& top = actor.top;
  Feeder feeder{actor, run};
  const uint64_t rows = run.rows;
  std::vector<uint32_t> buffer(rows * BEAT_WORDS, 0xEEEEEEEEu);
  uint64_t filled = 0, released = 0, next = 0, freed = 0, writes = 0;
  uint32_t* out = run.image;
  while (actor.now < actor.settings.limit) {
    feeder.drive();
    top.released_i = released % (2 * rows);
    actor.begin();
    const uint64_t moved = (top.filled_o + 2 * rows - filled % (2 * rows)) % (2 * rows);
    if (moved) {
      filled += moved;
      const uint64_t want = next < run.pieces ? run.ends[next] : 0;
      if (filled != want) {
        actor.fail("filled_o is " + std::to_string(filled) + ", want " + std::to_string(want));
      }
      for (uint64_t at = run.bases[next]; at < run.ends[next]; ++at, out += BEAT_WORDS) {
        std::memcpy(out, &buffer[at % rows * BEAT_WORDS], BEAT);
      }
      run.marks[next++] = actor.now;
    }
    if (top.write_valid_o) {
      const uint64_t place = (top.write_entry_o + rows - released % rows) % rows;
      if (released < filled && place < filled - released) actor.fail("an entry is overwritten");
      std::memcpy(&buffer[uint64_t{top.write_entry_o} * BEAT_WORDS], top.write_data_o.data(), BEAT);
      writes++;
    }
    if (freed < next && run.after[freed] < next && !actor.random.chance(actor.settings.pause)) {
      // Up to the block's end, or to where the next one begins.
      released = run.ends[freed++];
      if (freed < run.pieces && actor.random.chance(500)) released = run.bases[freed];
      actor.progress = actor.now;
    }
    feeder.see();
    actor.end();
    if (feeder.done() && actor.now > run.finished[run.count - 1] + 50) break;
    if (actor.stopped(1) && top.idle_o) break;
  }
  run.counts[0] = writes;
  run.counts[1] = next;
}
#endif

#ifdef MAP_LOAD
/// Takes rows into a log and lets samples and tasks pass once their items are there.
void play(Actor& actor, const Run& run) {
  auto& top = actor.top;
  Feeder feeder{actor, run};
  uint64_t loaded = 0, samples = 0, writes = 0;
  bool free = false;
  while (actor.now < actor.settings.limit) {
    feeder.drive();
    const uint32_t pause = actor.settings.pause;
    free = feeder.go && (free || (samples >= run.ends[feeder.task] && !actor.random.chance(pause)));
    top.free_i = feeder.go ? free : actor.random.chance(500);
    top.samples_i = samples & 255;
    top.write_ready_i = !actor.random.chance(pause);
    actor.begin();
    const uint8_t moved = top.loaded_o - (loaded & 255);
    if (moved > 1) actor.fail("loaded_o moves by more than one");
    if (moved) run.marks[loaded++] = writes;
    if (top.write_valid_o && top.write_ready_i) {
      if (writes == run.log_size) actor.fail("a row too many is written");
      uint64_t* entry = run.log + 3 * writes;
      entry[0] = top.write_row_o;
      entry[1] = samples;
      entry[2] = actor.now;
      std::memcpy(run.image + writes++ * BEAT_WORDS, top.write_data_o.data(), BEAT);
      actor.progress = actor.now;
    }
    // A reader that often waits takes long for a sample, too.
    const uint32_t slow = pause >= 900 ? 995 : pause;
    if (samples < run.pieces && loaded >= run.bases[samples] && !actor.random.chance(slow)) {
      samples++;
      actor.progress = actor.now;
    }
    if (top.finish_o) free = false;
    feeder.see();
    actor.end();
    if (feeder.done() && actor.now > run.finished[run.count - 1] + 50) break;
    if (actor.stopped(1) && top.idle_o) break;
  }
  run.counts[0] = writes;
  run.counts[1] = loaded;
}
#endif

#ifdef MAP_SAVE
/// Gives jobs of five words: address, row, rows, word.
void play(Actor& actor, const Run& run) {
  auto& top = actor.top;
  ReadPort port{actor, run.image, run.rows};
  uint64_t job = 0, quiet = 0, rows = 0;
  bool offers = false, holds = false;
  while (actor.now < actor.settings.limit) {
    port.drive();
    offers = offers || (job < run.count && !actor.random.chance(actor.settings.pause));
    top.job_valid_i = offers;
    const uint32_t* words = run.jobs + 5 * std::min(job, run.count - 1);
    top.job_address_i = words[0] | uint64_t{words[1]} << 32;
    top.job_row_i = words[2];
    top.job_rows_i = words[3];
    top.job_word_i = words[4];
    actor.begin();
    const bool owes = std::min(actor.settings.fail, actor.settings.stop) == NEVER &&
                      rows != actor.write_beats;
    if ((holds || owes || actor.writes_out || top.m_axi_awvalid_o) && !top.busy_o) {
      actor.fail("not busy with a job");
    }
    holds = offers && top.job_ready_o;
    if (holds) {
      offers = false;
      rows += top.job_rows_i;
      run.marks[job++] = actor.now;
      actor.progress = actor.now;
    }
    port.see();
    actor.note_error(job);
    quiet = job == run.count && !top.busy_o ? quiet + 1 : 0;
    actor.end();
    if (quiet > 50) break;
    if (actor.stopped(1) && top.idle_o) break;
  }
  run.counts[0] = port.taken;
  run.counts[1] = actor.healed;
}
#endif

}  // namespace

extern "C" {
Actor* jd_new(uint32_t seed) { return new Actor(seed); }

unsigned actor_task_words() {
#ifdef TASKS
  return sizeof(MODEL::task_i) / 4;
#else
  return 0;
#endif
}

// Runs a block from a reset on; returns the clocks.
int64_t actor_run(Actor* actor, const Settings* settings, const Run* run, uint8_t* bytes,
                  uint64_t size, const jackdaw::Fault* faults, uint64_t fault_count) {
  actor->settings = *settings;
  actor->faults.assign(faults, faults + fault_count);
  actor->memory.emplace(settings->memory, bytes, size, &actor->faults, 0, jackdaw::Requests::held);
  actor->bus = Bus{};
  actor->memory->start(actor->bus, 0);
  actor->read = actor->write = Request{};
  actor->progress = actor->reads_out = actor->writes_out = 0;
  actor->read_beats = actor->write_beats = actor->bursts = actor->last_read_beat = 0;
  actor->first_read_beat = NEVER;
  actor->requests.clear();
  actor->errors.clear();
  actor->failing = actor->quiet = false;
  actor->healed = NEVER;
  actor->random.state ^= settings->memory.seed * 0x9E3779B97F4A7C15u | 1;
  return actor->guarded([&] {
    actor->reset();
    play(*actor, *run);
    return static_cast<int64_t>(actor->now);
  });
}

// Beats read and written, clocks of the first and the last beat read, then sizes of the lists.
void actor_counts(Actor* actor, uint64_t* counts) {
  const uint64_t values[] = {actor->read_beats, actor->write_beats, actor->first_read_beat,
                             actor->last_read_beat, actor->requests.size(), actor->errors.size()};
  std::memcpy(counts, values, sizeof values);
}
void actor_lists(Actor* actor, uint64_t* requests, uint64_t* errors) {
  std::copy(actor->requests.begin(), actor->requests.end(), requests);
  std::copy(actor->errors.begin(), actor->errors.end(), errors);
}
}
