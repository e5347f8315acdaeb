// SPDX-License-Identifier: Apache-2.0
//
// The master's bookkeeping of a batch, with a C ABI: what results say, which workers go next, their
// requests, and the tasks of responses. All arrays are the caller's (master.py). A batch takes two
// calls, as each call from Python costs more than what it does.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace {

constexpr uint16_t kNoId = 0xFFFF;
constexpr uint32_t kNowhere = 0xFFFFFFFF;
enum Op : uint8_t { kSel = 1, kUpd = 2 };
enum Flag : uint8_t { kAct = 1, kTerm = 2, kExt = 8 };
enum Code : uint8_t { kExpand, kRevisit, kTerminal, kLeaf, kNoIns };
enum Schedule : int32_t { kAsync, kSync, kFixed };
constexpr double kLimit = 8.0;  // the engine holds values below it, in units of kLeast
constexpr double kLeast = 0x1p-20;

#pragma pack(push, 1)
struct Request {
  uint8_t op, flags;
  uint16_t worker, new_id;
  double value;
  uint32_t legal;
  uint16_t tag;
};
struct Response {
  uint8_t code;
  uint16_t worker;
  uint8_t depth, action;
  uint16_t node, new_id, parent, tag;
  uint32_t stamp;
};
struct Task {
  uint16_t worker;
  int16_t action;
  uint32_t source, store;
  uint64_t number;
};
struct Result {
  uint16_t worker;
  uint8_t over, failed;
  uint32_t legal;
  uint64_t number;
  double value;
  float seconds;
};
struct Head {
  double path;
  uint32_t level, over;
};
#pragma pack(pop)

struct Worker {
  int64_t given, position, store, parent, action;
  uint64_t number;
  double value;
  uint32_t legal;
  uint8_t code, flags, done, pad;
};

struct Master {
  int32_t workers, ids, schedule, batch, turn, alternate, priors, spare;
  int32_t free_first, free_count, out, nodes;  // rings of ids, and workers that are out
  int32_t clip;  // values beyond the limit become its end
  uint64_t number;
  double scale, peak, seconds;
  int64_t depth, depth_most, stale, stale_most, clipped, codes[5];
  Worker* worker;    // [workers]
  int32_t* order;    // [workers] that are out, the one that waits longest first
  int32_t* chosen;   // [workers]
  uint16_t* free;    // [ids]
  int32_t* parents;  // [ids, 2] of a node: parent, action
  const Head* head;  // [rows]
  Request* requests; // [2 * workers] of a batch
  Task* tasks;       // [workers] of a batch
  int32_t* counts;   // [3] results that the next batch waits for; then updates, selections, or
                     // workers that are out
};

int wanted(const Master* m) {
  return m->schedule == kSync ? m->out : std::min(m->turn, m->out);
}

// How many results the next batch waits for.
int missing(const Master* m) {
  int done = 0;
  if (m->schedule == kAsync) {
    for (int i = 0; i < m->out; i++)
      if (m->worker[m->order[i]].done) return 0;
    return m->out > 0;
  }
  const int count = wanted(m);
  for (int i = 0; i < count; i++) done += m->worker[m->order[i]].done;
  return count - done;
}

// A value as the engine gets it.
double bounded(Master* m, double value) {
  if (!m->clip || std::fabs(value) <= kLimit - kLeast || !std::isfinite(value)) return value;
  m->clipped++;
  return std::copysign(kLimit - kLeast, value);
}

// Takes results. Returns the first whose value the engine does not hold, or -1.
int take(Master* m, const Result* r, int n) {
  for (int i = 0; i < n; i++) {
    Worker& w = m->worker[r[i].worker];
    const double value = bounded(m, r[i].value * m->scale);
    if (!(std::fabs(value) < kLimit)) return i;
    m->peak = std::max(m->peak, std::fabs(r[i].value));
    m->seconds += r[i].seconds;
    const bool expand = w.code == kExpand;
    w.value = value;
    w.legal = expand && !r[i].over ? r[i].legal : 0;
    w.flags = uint8_t(m->alternate);
    if (expand) w.flags |= r[i].over ? uint8_t(kTerm) : uint8_t(m->priors ? kAct | kExt : kAct);
    w.done = 1;
  }
  return -1;
}

// Updates of the first n workers that are chosen, then `again` selections of the first of them.
void request(Master* m, int n, int again) {
  Request* out = m->requests;
  for (int i = 0; i < n; i++) {
    Worker& w = m->worker[m->chosen[i]];
    w.done = 0;
    *out++ = Request{kUpd, w.flags, uint16_t(m->chosen[i]), 0, w.value, w.legal, 0};
  }
  for (int i = 0; i < again; i++) {
    Worker& w = m->worker[m->chosen[i]];
    w.given = kNoId;
    if (m->free_count) {
      w.given = m->free[m->free_first];
      if (++m->free_first == m->ids) m->free_first = 0;
      m->free_count--;
    }
    w.position = i;
    w.number = m->number++;
    m->stale += m->out;
    m->stale_most = std::max<int64_t>(m->stale_most, m->out);
    m->order[m->out++] = m->chosen[i];
    *out++ = Request{kSel, 0, uint16_t(m->chosen[i]), uint16_t(w.given), 0, 0, 0};
  }
}

}  // namespace

extern "C" {

// All workers are idle and all ids free.
void jd_master_begin(Master* m) {
  for (int id = 1; id < m->ids; id++) m->free[id - 1] = uint16_t(id);
  m->free_first = 0;
  m->free_count = m->ids - 1;
  m->out = 0;
  m->nodes = 1;
  std::fill(m->parents, m->parents + 2 * m->ids, -1);
  for (int w = 0; w < m->workers; w++) {
    m->worker[w] = Worker{};
    m->worker[w].given = kNoId;
  }
}

// The selections that begin a search, at most `left`. Returns how many.
int jd_master_first(Master* m, int left) {
  const int n = std::min(left, m->workers);
  for (int i = 0; i < n; i++) m->chosen[i] = i;
  request(m, 0, n);
  return n;
}

// Takes results. If no more of them are wanted, makes the requests of the next batch, in which at
// most `left` selections may be. Returns the first result whose value the engine does not hold, or
// -1. `counts`: what is missing, updates, selections.
int jd_master_turn(Master* m, const Result* r, int count, int left) {
  const int bad = take(m, r, count);
  m->counts[0] = missing(m);
  if (bad >= 0 || m->counts[0]) return bad;
  int n = 0, kept = 0;
  const int most = m->schedule == kAsync ? m->batch : wanted(m);
  for (int i = 0; i < m->out; i++) {
    const int w = m->order[i];
    if (n < most && m->worker[w].done) m->chosen[n++] = w;
    else m->order[kept++] = w;
  }
  m->out = kept;
  m->counts[1] = n;
  m->counts[2] = std::min(n, left);
  request(m, n, m->counts[2]);
  return -1;
}

// The tasks of all responses of a batch, in the order of its selections. Returns how many.
// `counts`: what is missing, workers that are out.
int jd_master_assign(Master* m, const Response* r, int n) {
  int32_t* place = m->chosen;
  for (int i = 0; i < n; i++) place[m->worker[r[i].worker].position] = i;
  Task* out = m->tasks;
  for (int k = 0; k < n; k++) {
    const Response& one = r[place[k]];
    Worker& w = m->worker[one.worker];
    m->depth += one.depth;
    m->depth_most = std::max<int64_t>(m->depth_most, one.depth);
    m->codes[one.code]++;
    w.code = one.code;
    w.parent = one.parent;
    w.action = one.action;
    const bool expand = one.code == kExpand;
    w.store = m->spare ? m->ids + one.worker : int64_t{kNowhere};
    if (expand) {
      w.store = w.given;
      m->nodes++;
      m->parents[2 * w.given] = one.parent;
      m->parents[2 * w.given + 1] = one.action;
    } else if (w.given != kNoId) {
      m->free[(m->free_first + m->free_count) % m->ids] = uint16_t(w.given);
      m->free_count++;
    }
    w.given = kNoId;
    if (one.code == kTerminal) {
      w.value = bounded(m, m->head[one.node].path * m->scale);
      w.flags = uint8_t(m->alternate);
      w.legal = 0;
      w.done = 1;
      continue;
    }
    const bool leaf = one.code == kLeaf;
    *out++ = Task{one.worker, int16_t(leaf ? -1 : one.action), leaf ? one.node : one.parent,
                  uint32_t(w.store), w.number};
  }
  m->counts[0] = missing(m);
  m->counts[1] = m->out;
  return int(out - m->tasks);
}

}  // extern "C"
