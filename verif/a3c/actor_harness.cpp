// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a block of the a3c engine that moves data between memory and a compute
// unit's buffers: memory with latency, pauses and bus errors on its AXI port, the tasks that it is
// given, and the buffer on its other side. The macro of its name chooses the block.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include MODEL_HEADER
#include "flow/harness.h"
#include "flow/memory.h"

#if defined(LOAD) || defined(MAP_LOAD) || defined(UPDATE)
#define READS
#endif
#if defined(MAP_SAVE) || defined(UPDATE)
#define WRITES
#endif
#if defined(LOAD) || defined(MAP_LOAD) || defined(UPDATE)
#define TASKS
#endif
#if defined(LOAD) || defined(MAP_LOAD)
#define LAYERS
#endif
#if defined(MAP_SAVE) || defined(UPDATE)
#define ROWS
#endif

namespace {
constexpr unsigned BEAT = 64, BEAT_WORDS = 16;
constexpr unsigned REGIONS = 9;  // entries of a network: layers and the output
constexpr uint64_t NEVER = ~uint64_t{0};
constexpr uint64_t QUIET = 300;  // clocks in which nothing may begin after a stop
constexpr uint64_t STUCK = 20000;  // clocks without any progress

/// The memory's port: behind the requests below.
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
  uint32_t echo;             // failed_i follows an error until the task's finish
  uint32_t limit;            // clocks of the run
};

/// A run's tasks, and what the other side does and sees; each block uses its part.
struct Run {
  const uint32_t* tasks;     // [tasks][words of task_t]
  const uint32_t* layers;    // [tasks][REGIONS][words of unit_layer_t]
  uint64_t* finished;        // [tasks] clocks
  uint64_t count;            // of tasks or jobs
  // load: blocks in order. map_load: items. update: chunks. Absolute positions.
  const uint64_t* bases;
  const uint64_t* ends;
  uint64_t* after;           // load: the block that is filled before this one is released
                             // update: the layers that are done, and of which task
  uint64_t pieces;
  uint32_t* image;           // what is seen, or the buffer that is read
  uint64_t rows;             // of the buffer
  uint64_t* log;             // map_load: row, samples, clock of each write
  uint64_t log_size;
  const uint32_t* jobs;      // map_save: words of each; update: chunks
  uint64_t* marks;           // clocks of events
  const uint8_t* want;       // update: memory as it must be
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
  const uint8_t* bytes = nullptr;                      // memory
  uint64_t reads_out = 0, writes_out = 0;              // bursts
  uint64_t read_beats = 0, write_beats = 0, bursts = 0;
  uint64_t last_read_beat = 0, first_read_beat = NEVER;
  std::vector<uint64_t> requests;                      // clock, address, beats | write << 16
  std::vector<uint64_t> errors;                        // task, word, response
  bool failing = false, quiet = false;                 // failed_i; idle since a stop
  std::function<void(uint64_t, uint64_t, bool)> on_request;

  explicit Actor(uint32_t seed) : Simulation(seed), random{seed * 77u + 13u} {
    for (unsigned i = 0; i < 8; ++i) random.next();
  }

  void fail(const std::string& what) const { throw jackdaw::Failure(what); }

  /// Sets the inputs from memory and settles the block's outputs.
  void begin() {
    memory->drive(bus, 0);
#ifdef READS
    read.ready = !read.valid && !random.chance(settings.stall);
    top.m_axi_arready_i = read.ready;
    top.m_axi_rvalid_i = bus.m_axi_rvalid_i;
    top.m_axi_rresp_i = bus.m_axi_rresp_i;
    top.m_axi_rlast_i = bus.m_axi_rlast_i;
    top.m_axi_rid_i = 0;
    top.m_axi_rdata_i = bus.m_axi_rdata_i;
#endif
#ifdef WRITES
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
    if (on_request) on_request(address, beats, writes);
    requests.insert(requests.end(), {now, address, beats | (writes ? 1u << 16 : 0u)});
    bursts++;
    progress = now;
  }

  /// Lets memory take what is settled; the clock's edge.
  void end() {
    const bool busy = reads_out || writes_out;
    bool begins = false;
#ifdef READS
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
#ifdef WRITES
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
#ifdef READS
    if (top.m_axi_arvalid_o && read.ready) {
      read = {true, false, top.m_axi_araddr_o, top.m_axi_arlen_o};
      reads_out++;
      log_request(read.address, read.length + 1u, false);
    }
#endif
#ifdef WRITES
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
    if (settings.echo) failing = true;
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
#ifdef LAYERS
    auto& layer = top.layer_i;
    const uint64_t at = std::min<uint64_t>(task, run.count - 1) * REGIONS + index % REGIONS;
    std::memcpy(&layer, run.layers + at * (sizeof(layer) / 4), sizeof(layer));
#endif
  }
  void see() {
    auto& top = actor.top;
#ifdef LAYERS
    index = top.layer_index_o;
#endif
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

#ifdef ROWS
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

#ifdef UPDATE
/// Gives chunks of gradients and says when a layer's memory may be read, which is checked. A chunk
/// is overwritten once it is told of; memory is compared when a layer is done.
void play(Actor& actor, const Run& run) {
  auto& top = actor.top;
  Feeder feeder{actor, run};
  ReadPort port{actor, run.image, run.rows};
  // Of a task's layer: first and last byte + 1 of theta and g as they are read, as written; of theta's second image.
  const auto range = [&](uint64_t layer, unsigned n) {
    return run.log + ((feeder.task * 8 + layer) * 5 + n) * 2;
  };
  uint64_t chunk = 0, told = 0, dones = 0, seen = 0, told_written = 0;
  uint64_t asks = NEVER, since = 0, wait = 0;
  uint64_t granted[8] = {};  // rows of the image that may be read of a layer end before this one
  auto packed = [&](uint64_t n) {
    uint64_t word;
    std::memcpy(&word, run.jobs + 2 * n, sizeof word);
    return word;  // jd_a3c_pkg::chunk_t
  };
  static_assert(sizeof(top.chunk_i) == 8);
  auto first_row = [&](uint64_t layer) {  // of the image, of a layer
    for (uint64_t n = 0; n < run.pieces; ++n) {
      if (run.bases[n] == feeder.task && (packed(n) >> 60 & 7) == layer) {
        return packed(n) >> 34 & 0x3FFFFFF;
      }
    }
    actor.fail("no chunk of the layer");
    return uint64_t{0};
  };
  const unsigned lag = actor.random.next() % 4;             // clocks of the answer
  bool go[4] = {}, offers = false;
  actor.on_request = [&](uint64_t address, uint64_t beats, bool writes) {
    for (unsigned layer = 0; layer < 8; ++layer) {
      for (unsigned n = writes ? 2 : 0; n < (writes ? 5 : 2); ++n) {
        const uint64_t* place = range(layer, n);
        if (address < place[0] || address + beats * BEAT > place[1]) continue;
        const uint64_t behind = first_row(layer) + (address - place[0]) / BEAT + beats;
        if (!writes && behind > granted[layer]) actor.fail("rows are read before their turn");
        return;
      }
    }
    actor.fail("a burst is of no layer");
  };
  while (actor.now < actor.settings.limit) {
    feeder.drive();
    port.drive();
    // The next task's chunks may wait already.
    offers = offers || (chunk < run.pieces && run.bases[chunk] <= feeder.task + 1 &&
                        !actor.random.chance(actor.settings.pause));
    top.chunk_valid_i = offers;
    if (chunk < run.pieces) {
      std::memcpy(&top.chunk_i, run.jobs + chunk * (sizeof(top.chunk_i) / 4), sizeof(top.chunk_i));
    }
    if (lag) top.order_go_i = go[lag - 1];
    actor.begin();
    for (unsigned n = 3; n; --n) go[n] = go[n - 1];
    go[0] = top.order_valid_o && granted[top.order_layer_o] >= top.order_behind_o;
    if (top.order_valid_o) {
      if (top.order_ticket_o != run.marks[feeder.task]) actor.fail("another ticket");
      if (asks != (uint64_t{top.order_layer_o} << 32 | top.order_behind_o)) {
        asks = uint64_t{top.order_layer_o} << 32 | top.order_behind_o;
        since = actor.now;
        wait = actor.random.next() % (1 + actor.settings.pause);
      }
      uint64_t& rows = granted[top.order_layer_o];
      if (actor.now - since >= wait) rows = std::max<uint64_t>(rows, top.order_behind_o);
    } else if (actor.random.chance(300)) {
      go[0] = true;  // nothing is asked: any answer
    }
    if (!lag) {
      top.order_go_i = go[0];
      top.eval();
    }
    if (offers && top.chunk_ready_o) {
      offers = false;
      chunk++;
      actor.progress = actor.now;
    }
    port.see();
    if (top.chunk_read_o) {
      if (told == chunk) actor.fail("a chunk too many is told of");
      const uint64_t first = run.ends[2 * told], rows = run.ends[2 * told + 1];
      for (uint64_t word = first * BEAT_WORDS; word < (first + rows) * BEAT_WORDS; ++word) {
        run.image[word] = actor.random.next();
      }
      told++;
      actor.progress = actor.now;
    }
    const uint64_t written = top.written_o;  // jd_a3c_pkg::written_t
    if (written >> 29) {
      const uint64_t layer = written >> 26 & 7;
      const uint64_t bytes = ((written & 0x3FFFFFF) - first_row(layer)) * BEAT;
      if (!bytes || written >> 30) actor.fail("written_o makes no sense");
      if (written != seen) {
        told_written += bytes;
        for (unsigned n = 2; run.want && n < 5; ++n) {
          const uint64_t* place = range(layer, n);
          const uint8_t* want = run.want + feeder.task * run.log_size;
          if (!place[1]) continue;
          if (place[0] + bytes > place[1] ||
              std::memcmp(actor.bytes + place[0], want + place[0], bytes)) {
            actor.fail("rows that are written differ in memory");
          }
        }
      }
    }
    seen = written;
    if (top.layer_done_o) {
      run.after[dones++] = feeder.task << 3 | top.layer_done_layer_o;
      for (unsigned n = 2; run.want && n < 5; ++n) {
        const uint64_t* place = range(top.layer_done_layer_o, n);
        const uint8_t* want = run.want + feeder.task * run.log_size;
        if (std::memcmp(actor.bytes + place[0], want + place[0], place[1] - place[0])) {
          actor.fail("a layer that is done differs in memory");
        }
      }
    }
    if (top.finish_o) {
      std::fill(std::begin(granted), std::end(granted), 0);
      asks = NEVER;
      if (actor.writes_out) actor.fail("finish_o before the last answer");
    }
    feeder.see();
    actor.end();
    if (feeder.done() && actor.now > run.finished[run.count - 1] + 50) break;
    if (actor.stopped(1) && top.idle_o) break;
  }
  run.counts[0] = told;
  run.counts[1] = dones;
  run.counts[2] = port.taken;
  run.counts[3] = told_written;
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
  actor->on_request = nullptr;
  actor->bytes = bytes;
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
