// SPDX-License-Identifier: Apache-2.0
//
// Search trees of the CPU, with a C ABI: one of a single thread, one that threads share.
//
// The single tree takes the requests of the mcts engine (models/mcts/formats.py). With `fixed` its
// arithmetic is the engine's, to the bit; else it is float64, in the manner of the thesis's Eq. 2.2,
// or WU-UCT (Liu et al., 2020), which counts the workers out as visits without a value.
// The shared tree has a lock per node, as published (thesis 5.2): the root's is in everyone's way.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

namespace {

constexpr int64_t kScoreMost = (int64_t{1} << 31) - 1, kScoreLeast = -kScoreMost;
constexpr int64_t kValueMost = (1 << 23) - 1, kVisitsMost = 0xFFFF, kSumMost = 0x1FFFF;
constexpr int64_t kOne = 1 << 20;
constexpr uint16_t kNoId = 0xFFFF;
enum Op : uint8_t { kSel = 1, kUpd = 2, kReset = 3, kRoot = 4 };
enum Flag : uint8_t { kAct = 1, kTerm = 2, kAlt = 4, kExt = 8 };
enum Code : uint8_t { kExpand, kRevisit, kTerminal, kLeaf, kNoIns, kOk };
enum Rule : int32_t { kUct, kAlphaZero, kPuct };
enum State : int32_t { kNew = 1, kActive, kEnded };
enum Refusal : int32_t {
  kGood, kBadOp, kBadWorker, kBadState, kBadId, kNoRoot, kBadArg, kBusy, kFull
};

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
#pragma pack(pop)

struct Settings {
  int32_t rule, first, f_act, d_act;
  int32_t fixed, wu;
  int64_t vl, fpu;
  double c, vl_real, fpu_real;
};

struct Tables {
  int64_t mantissa[1024], shift[1024], r[1024];
};

int table_index(int64_t x) {
  if (x < 512) return int(x);
  const int e = 63 - __builtin_clzll(uint64_t(x));
  return 512 + (e - 9) * 64 + int((x >> (e - 6)) & 63);
}

int64_t floor_divide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return q - (a % b != 0 && (a ^ b) < 0);
}

struct Edge {
  int64_t n = 0, w = 0, loss = 0;
  int64_t q = 0, h = 0, base = 0;  // fixed: mean, weight of exploration, score without virtual loss
  double base_real = 0;            // float: the same score
  int32_t child = -1, out = 0, prior = 0, legal = 0;
};

struct Node {
  int32_t ident = 0, state = kNew, level = 0;
  int64_t visits = 0, out = 0;
};

struct Tree {
  int x, f, d, w_max;
  Settings next{}, now{};
  Tables tables{};
  std::vector<Node> nodes;
  std::vector<Edge> edges;  // [x, f]
  int used = 0, workers_out = 0;
  bool planted = false, emptied = false;
  std::vector<int32_t> depth, end;    // [w]; depth -1: the worker is idle
  std::vector<int32_t> path, action;  // [w, d]

  Tree(int x_, int f_, int d_, int w_)
      : x(x_), f(f_), d(d_), w_max(w_), nodes(x_), edges(size_t(x_) * f_), depth(w_, -1),
        end(w_, -1), path(size_t(w_) * d_), action(size_t(w_) * d_) {}

  Edge* of(int node) { return &edges[size_t(node) * f]; }

  // Mean and weight of a child, which change with its own visits alone.
  void weigh(Edge& e) {
    const Settings& s = now;
    const int64_t prior = s.rule != kUct ? e.prior : 1 << 16;
    e.q = e.n ? floor_divide(e.w, e.n) : s.fpu;
    e.h = e.n ? (prior * tables.r[table_index(e.n)]) >> 16 : prior << 9;
  }

  // Scores of all children, without virtual loss.
  void score(int at) {
    const Settings& s = now;
    const Node& node = nodes[at];
    Edge* e = of(at);
    if (s.fixed) {
      const int entry = table_index(node.visits);
      const int64_t mantissa = tables.mantissa[entry], shift = tables.shift[entry];
      for (int a = 0; a < f; a++)
        e[a].base = e[a].n == 0 && s.first
                        ? kScoreMost
                        : std::clamp(e[a].q + ((mantissa * e[a].h) >> shift), kScoreLeast,
                                     kScoreMost);
      return;
    }
    const double all = double(node.visits + (s.wu ? node.out : 0));
    const double grown = s.rule == kPuct ? all + 1 : std::log(std::max(all, 1.0));
    for (int a = 0; a < f; a++) {
      const double seen = double(e[a].n + (s.wu ? e[a].out : 0));
      if (seen == 0 && s.first) {
        e[a].base_real = 2047.9;
        continue;
      }
      const double q = e[a].n ? double(e[a].w) / double(e[a].n) / kOne : s.fpu_real;
      const double spread = s.rule == kUct ? std::sqrt(grown / std::max(seen, 1.0))
                                           : std::sqrt(grown) * e[a].prior / 65536.0 / (1 + seen);
      e[a].base_real = q + s.c * spread;
    }
  }

  int best(int at) {
    const Edge* e = of(at);
    int chosen = 0;
    if (now.fixed) {
      int64_t most = INT64_MIN;
      for (int a = 0; a < now.f_act; a++) {
        const int64_t u = e[a].legal ? std::max(e[a].base - e[a].loss, kScoreLeast)
                                     : kScoreLeast - 1;
        if (u > most) most = u, chosen = a;
      }
    } else {
      double most = -INFINITY;
      for (int a = 0; a < now.f_act; a++) {
        const double u = e[a].legal ? e[a].base_real - e[a].out * now.vl_real : -1e300;
        if (u > most) most = u, chosen = a;
      }
    }
    return chosen;
  }

  void write(int at, int ident, int level) {
    nodes[at] = Node{};
    nodes[at].ident = ident;
    nodes[at].level = level;
    std::fill(of(at), of(at) + f, Edge{});
  }

  void activate(int at, uint32_t legal, const uint16_t* priors) {
    nodes[at].state = legal ? kActive : kEnded;
    for (int a = 0; a < f; a++) {
      of(at)[a].legal = legal >> a & 1;
      of(at)[a].prior = priors ? priors[a] : 0;
      weigh(of(at)[a]);
    }
    score(at);
  }

  int select(const Request& q, Response& r) {
    const int w = q.worker;
    int at = 0, level = 0, code, stop = -1;
    while (true) {
      const Node& node = nodes[at];
      code = node.state == kNew ? kRevisit : node.state == kEnded ? kTerminal
             : level == now.d_act - 1 ? kLeaf : -1;
      if (code >= 0) {
        stop = at;
        break;
      }
      const int a = best(at);
      Edge& e = of(at)[a];
      e.loss += now.vl;
      e.out++;
      nodes[at].out++;
      if (now.wu) score(at);
      path[size_t(w) * d + level] = at;
      action[size_t(w) * d + level] = a;
      level++;
      if (e.child >= 0) {
        at = e.child;
        continue;
      }
      code = kNoIns;
      if (q.new_id != kNoId) {
        code = kFull;
        if (used < x) {
          code = kExpand;
          stop = e.child = used++;
          write(stop, q.new_id, level);
        }
      }
      break;
    }
    depth[w] = level;
    end[w] = stop;
    workers_out++;
    const bool full = code == kFull;
    r.code = uint8_t(full ? 0 : code);
    r.worker = q.worker;
    r.depth = uint8_t(level);
    r.action = uint8_t(action[size_t(w) * d + level - 1]);
    r.node = uint16_t(nodes[at].ident);
    r.new_id = code == kExpand ? q.new_id : kNoId;
    r.parent = uint16_t(nodes[path[size_t(w) * d + level - 1]].ident);
    r.tag = q.tag;
    r.stamp = 0;
    return full ? kFull : kGood;
  }

  void update(const Request& q, const uint16_t* priors) {
    const int w = q.worker, count = depth[w];
    const int64_t value = std::clamp<int64_t>(
        int64_t(std::nearbyint(std::ldexp(q.value, 20))), -kValueMost - 1, kValueMost);
    for (int i = 0; i < count; i++) {
      const int at = path[size_t(w) * d + i];
      Edge& e = of(at)[action[size_t(w) * d + i]];
      const bool turned = (q.flags & kAlt) && ((count - 1 - i) & 1);
      if (e.n < kVisitsMost) {
        e.n++;
        e.w += turned ? std::min(-value, kValueMost) : value;
      }
      nodes[at].visits = std::min(nodes[at].visits + 1, kSumMost);
      e.loss -= now.vl;
      e.out--;
      nodes[at].out--;
      if (now.fixed) weigh(e);
      score(at);
    }
    const int at = end[w];
    if (at >= 0 && nodes[at].state == kNew) {
      if (q.flags & kAct) activate(at, q.legal, priors);
      else if (q.flags & kTerm) nodes[at].state = kEnded;
    }
    depth[w] = -1;
    workers_out--;
  }

  int check(const Request& q) const {
    if (q.op < kSel || q.op > kRoot) return kBadOp;
    if (q.op <= kUpd && q.worker >= w_max) return kBadWorker;
    if (q.op == kSel && !planted) return kNoRoot;
    if ((q.op == kSel && depth[q.worker] >= 0) || (q.op == kUpd && depth[q.worker] < 0))
      return kBadState;
    if (q.op == kSel && q.new_id != kNoId && (q.new_id == 0 || q.new_id >= x)) return kBadId;
    if (q.op == kUpd && ((q.flags & kAct && q.flags & kTerm) || (q.legal && !(q.flags & kAct))))
      return kBadArg;
    if (q.op == kRoot && !q.legal) return kBadArg;
    if ((q.op == kUpd || q.op == kRoot) && now.f_act < 32 && q.legal >> now.f_act)
      return kBadArg;
    if (q.op >= kReset && workers_out) return kBusy;
    if (q.op == kRoot && !emptied) return kNoRoot;
    return kGood;
  }
};

}  // namespace

extern "C" {

void* jd_tree_new(int x, int f, int d, int w_max) { return new Tree(x, f, d, w_max); }
void jd_tree_free(void* p) { delete static_cast<Tree*>(p); }

// Settings of the next tree; tables of 1024 words each, mantissas, shifts, R.
void jd_tree_configure(void* p, const Settings* s, const int64_t* tables) {
  auto* t = static_cast<Tree*>(p);
  t->next = *s;
  std::copy(tables, tables + 1024, t->tables.mantissa);
  std::copy(tables + 1024, tables + 2048, t->tables.shift);
  std::copy(tables + 2048, tables + 3072, t->tables.r);
}

// Executes requests in order; priors are [n, f], or null. Writes a response for each SEL.
// Returns how many requests were executed; `made` and `refusal` say how many responses there are,
// and why the next request was refused.
int jd_tree_run(void* p, const Request* q, int n, const uint16_t* priors, Response* out, int* made,
                int* refusal) {
  auto* t = static_cast<Tree*>(p);
  *made = 0;
  *refusal = kGood;
  for (int i = 0; i < n; i++) {
    if ((*refusal = t->check(q[i])) != kGood) return i;
    const uint16_t* row = priors && q[i].flags & kExt ? priors + size_t(i) * t->f : nullptr;
    switch (q[i].op) {
      case kSel:
        *refusal = t->select(q[i], out[(*made)++]);
        if (*refusal != kGood) return i + 1;
        break;
      case kUpd: t->update(q[i], row); break;
      case kReset:
        t->now = t->next;
        t->used = 0;
        t->planted = false;
        t->emptied = true;
        break;
      default:
        t->used = 1;
        t->write(0, 0, 0);
        t->activate(0, q[i].legal, row);
        t->planted = true;
        t->emptied = false;
    }
  }
  return n;
}

// All workers are idle and the tree is gone; it wants a reset.
void jd_tree_drop(void* p) {
  auto* t = static_cast<Tree*>(p);
  std::fill(t->depth.begin(), t->depth.end(), -1);
  t->workers_out = t->used = 0;
  t->planted = t->emptied = false;
}

// A node by the order of insertion: 0 the root. head [5]: id, state, level, N, selections out;
// rows [f, 6]: n, w, virtual loss, child or -1, legal, score. Returns how many nodes there are.
int jd_tree_node(void* p, int at, int64_t* head, int64_t* rows) {
  auto* t = static_cast<Tree*>(p);
  if (at < 0 || at >= t->used) return t->used;
  const Node& node = t->nodes[at];
  const int64_t words[] = {node.ident, node.state, node.level, node.visits, node.out};
  std::copy(words, words + 5, head);
  for (int a = 0; a < t->f; a++) {
    const Edge& e = t->of(at)[a];
    const int64_t u = e.legal ? std::max(e.base - e.loss, kScoreLeast) : kScoreLeast - 1;
    const int64_t row[] = {e.n, e.w, e.loss, e.child, e.legal, u};
    std::copy(row, row + 6, rows + 6 * a);
  }
  return t->used;
}

}  // extern "C"

// ---- The shared tree, and searches of a synthetic game
namespace {

// A game that is a tree of random numbers: a state is a hash of the actions that lead to it.
uint64_t mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBull;
  return x ^ (x >> 31);
}
double hidden(uint64_t state) { return double(mix(state) >> 11) / double(1ull << 53); }

void wait(double microseconds) {
  if (microseconds <= 0) return;
  if (microseconds >= 200) {  // of a simulation elsewhere: the processor is free meanwhile
    std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(microseconds));
    return;
  }
  const auto until = std::chrono::steady_clock::now() +
                     std::chrono::duration<double, std::micro>(microseconds);
  while (std::chrono::steady_clock::now() < until) {
  }
}

class Lock {
 public:
  void lock() {
    while (flag_.test_and_set(std::memory_order_acquire)) std::this_thread::yield();
  }
  void unlock() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

struct alignas(64) SharedNode {
  Lock lock;
  int64_t visits = 0;
  int32_t first = -1;  // of its edges, or -1: not evaluated
};
struct SharedEdge {
  int64_t n = 0;
  double w = 0;
  int32_t out = 0, child = -1;
};

struct Shared {
  int f, depth;
  double c, vl;
  std::vector<SharedNode> nodes;
  std::vector<SharedEdge> edges;
  std::atomic<int> used{1}, left;
  std::atomic<int64_t> ends{0};

  Shared(int x, int f_, int d, double c_, double vl_, int iterations)
      : f(f_), depth(d), c(c_), vl(vl_), nodes(x), edges(size_t(x) * f_), left(iterations) {
    nodes[0].first = 0;
  }

  // Goes down and keeps the path; returns the state at its end.
  uint64_t select(std::vector<std::pair<int, int>>& path, int& made) {
    uint64_t state = 1;
    int at = 0;
    path.clear();
    made = -1;
    while (true) {
      SharedNode& node = nodes[at];
      node.lock.lock();
      if (node.first < 0 || int(path.size()) == depth - 1) {
        node.lock.unlock();
        return state;
      }
      SharedEdge* e = &edges[size_t(at) * f];
      int chosen = 0;
      double most = -INFINITY;
      const double grown = std::log(double(std::max<int64_t>(node.visits, 1)));
      for (int a = 0; a < f; a++) {
        const double u = (e[a].n ? e[a].w / double(e[a].n) + c * std::sqrt(grown / double(e[a].n))
                                 : 2047.9) - e[a].out * vl;
        if (u > most) most = u, chosen = a;
      }
      e[chosen].out++;
      path.emplace_back(at, chosen);
      state = mix(state * 31 + uint64_t(chosen));
      int child = e[chosen].child;
      if (child < 0 && used.load() < int(nodes.size())) {
        const int fresh = used.fetch_add(1);
        if (fresh < int(nodes.size())) made = e[chosen].child = fresh;
      }
      node.lock.unlock();
      if (child < 0) return state;
      at = child;
    }
  }

  void update(const std::vector<std::pair<int, int>>& path, int made, double value) {
    if (made >= 0) {
      nodes[made].lock.lock();
      nodes[made].first = made;
      nodes[made].lock.unlock();
    }
    for (auto [at, a] : path) {
      nodes[at].lock.lock();
      SharedEdge& e = edges[size_t(at) * f + a];
      e.n++;
      e.w += value;
      e.out--;
      nodes[at].visits++;
      nodes[at].lock.unlock();
    }
  }

  void work(double simulation) {
    std::vector<std::pair<int, int>> path;
    int made;
    while (left.fetch_sub(1) > 0) {
      const uint64_t state = select(path, made);
      wait(simulation);
      update(path, made, hidden(state));
      ends++;
    }
  }
};

}  // namespace

extern "C" {

// Searches the synthetic game with threads on a shared tree.
// found [6]: visits of the root, sum of its children's, workers out at the end (0), nodes given,
// nodes reached, iterations; visits [f] of the root's children. Returns nanoseconds.
int64_t jd_shared_run(int threads, int iterations, int x, int f, int d, double c, double vl,
                      double simulation, int64_t* found, int64_t* visits) {
  Shared tree(x, f, d, c, vl, iterations);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (int i = 1; i < threads; i++) all.emplace_back([&] { tree.work(simulation); });
  tree.work(simulation);
  for (auto& one : all) one.join();
  const auto taken = std::chrono::steady_clock::now() - start;
  int64_t out = 0, children = 0, reached = 1;
  const int given = std::min(tree.used.load(), x);
  for (int at = 0; at < given; at++) {
    int64_t below = 0;
    for (int a = 0; a < f; a++) {
      const SharedEdge& e = tree.edges[size_t(at) * f + a];
      out += e.out;
      below += e.n;
      reached += e.child >= 0;
      if (at == 0) children += e.n, visits[a] = e.n;
    }
    if (below != tree.nodes[at].visits) out = -1;
  }
  const int64_t words[] = {tree.nodes[0].visits, children, out, given, reached, tree.ends};
  std::copy(words, words + 6, found);
  return std::chrono::duration_cast<std::chrono::nanoseconds>(taken).count();
}

// Searches the same game with the single tree: `workers` selections, then their updates, in turn.
// Returns nanoseconds; the tree must be reset and planted.
int64_t jd_local_run(void* p, int workers, int iterations, double simulation) {
  auto* t = static_cast<Tree*>(p);
  std::vector<Request> in(workers);
  std::vector<Response> out(workers);
  const uint32_t legal = t->now.f_act < 32 ? (1u << t->now.f_act) - 1 : ~0u;
  int next = t->used, made, refusal;
  const auto start = std::chrono::steady_clock::now();
  for (int done = 0; done < iterations;) {
    const int n = std::min(workers, iterations - done);
    for (int i = 0; i < n; i++)
      in[i] = Request{kSel, 0, uint16_t(i), uint16_t(next < t->x ? next++ : kNoId), 0, 0, 0};
    jd_tree_run(p, in.data(), n, nullptr, out.data(), &made, &refusal);
    for (int i = 0; i < n; i++) {
      uint64_t state = 1;
      for (int k = 0; k < t->depth[i]; k++)
        state = mix(state * 31 + uint64_t(t->action[size_t(i) * t->d + k]));
      wait(simulation);
      const bool act = out[i].code == kExpand;
      in[i] = Request{kUpd, uint8_t(act ? kAct : 0), uint16_t(i), 0, hidden(state),
                      act ? legal : 0, 0};
    }
    jd_tree_run(p, in.data(), n, nullptr, out.data(), &made, &refusal);
    done += n;
  }
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() -
                                                              start).count();
}

}  // extern "C"

#ifdef JD_SHARED_MAIN  // for ThreadSanitizer, which wants a program of its own
#include <cstdio>
int main() {
  int64_t found[6], visits[6];
  for (int threads : {2, 4, 8, 16}) {
    jd_shared_run(threads, 4000, 3000, 6, 12, 0.7, 0.05, 0.0, found, visits);
    if (found[0] != 4000 || found[1] != 4000 || found[2] != 0 || found[3] != found[4]) return 1;
  }
  std::puts("done");
}
#endif
