// SPDX-License-Identifier: Apache-2.0
//
// Tree search for Gomoku whose leaves a network evaluates, in one of two schemes.
//
// Local tree   One master thread selects, expands and backs up. Leaves go to a queue; batches of B
//              go to the evaluators; N leaves may be outstanding.
// Shared tree  N threads, each of which selects, waits for its leaf's evaluation, expands and backs
//              up. A node has a lock of its own.
// Evaluators   Threads here (`table`, `emulated`), or threads of the caller, who take and put.
// Waits        Each has a time limit, after which the search ends with an error.
// Source       thesis 5.2.1. Golden model: models/gomoku/search.py.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sys/prctl.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;
using Guard = std::unique_lock<std::mutex>;

constexpr int kMostCells = 256, kPlanes = 4;
constexpr uint32_t kNone = ~0u;

enum Status { kOk = 0, kRunning = 1, kTimeout = -1, kEvaluator = -2, kAborted = -3, kState = -4 };
enum Take { kNothing = -1, kClosed = -2, kFinished = -3 };
enum Scheme { kLocal = 0, kShared = 1 };
enum Rule { kPuct = 0, kUct = 1 };
enum VirtualLoss { kVisits = 0, kConstant = 1 };
enum Kind { kExternal = 0, kTable = 1, kEmulated = 2, kRollout = 3 };

uint64_t mix(uint64_t x) {  // SplitMix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Position {
  int size, win, moves = 0, last = -1;
  bool over = false, won = false;
  std::array<std::array<uint64_t, 4>, 2> stones{};  // of the first and the second player

  int cells() const { return size * size; }
  int player() const { return moves & 1; }
  bool has(int who, int cell) const { return stones[who][cell >> 6] >> (cell & 63) & 1; }
  bool empty(int cell) const { return !has(0, cell) && !has(1, cell); }

  void play(int cell) {
    const int who = player();
    stones[who][cell >> 6] |= 1ull << (cell & 63);
    last = cell;
    moves++;
    won = row(who, cell);
    over = won || moves == cells();
  }

  bool row(int who, int cell) const {
    static constexpr int directions[4][2] = {{0, 1}, {1, 0}, {1, 1}, {1, -1}};
    const int y = cell / size, x = cell % size;
    for (const auto& direction : directions) {
      int count = 1;
      for (int sign = 1; sign >= -1; sign -= 2) {
        const int down = sign * direction[0], right = sign * direction[1];
        for (int r = y + down, c = x + right;
             r >= 0 && r < size && c >= 0 && c < size && has(who, r * size + c);
             r += down, c += right)
          count++;
      }
      if (count >= win) return true;
    }
    return false;
  }

  float outcome() const { return won ? -1.0f : 0.0f; }  // of a game that is over, for who would move

  void planes(float* out) const {
    const int n = cells(), me = player();
    for (int cell = 0; cell < n; cell++) {
      out[cell] = has(me, cell);
      out[n + cell] = has(1 - me, cell);
      out[2 * n + cell] = cell == last;
      out[3 * n + cell] = me == 0;
    }
  }
};

// The deterministic network of tests: every position has hashed priors and a hashed value.
void hashed(const Position& p, float* priors, float* value) {
  uint64_t h = 0;
  for (int who : {p.player(), 1 - p.player()})
    for (int word = 0; word < (p.cells() + 63) / 64; word++) h = mix(h ^ p.stones[who][word]);
  for (int cell = 0; cell < p.cells(); cell++)
    priors[cell] = static_cast<float>((mix(h + cell + 1) >> 40) + 1) / 16777216.0f;
  *value = static_cast<float>(static_cast<int64_t>(mix(h) >> 40) - 8388608) / 8388608.0f;
}

struct Edge {
  double value;  // sum, for the player who moves here
  float prior;
  int32_t visits, virtuals;
  uint32_t child;
  uint16_t move;
};

enum NodeState : uint8_t { kNew, kPending, kExpanded, kTerminal };

struct Node {
  std::atomic_flag lock = ATOMIC_FLAG_INIT;
  NodeState state = kNew;
  uint16_t count = 0;  // edges
  uint32_t first = 0;
  int32_t visits = 0, virtuals = 0;  // sums over the edges
  int pending = -1;                  // the playout whose evaluation will expand it
};

struct Settings {
  int32_t size, win, scheme, workers, batch, rule, virtual_form, repeatable, evaluator, streams;
  double c, virtual_loss, base_s, item_s, timeout_s;
  uint64_t seed;
};

struct Playout {
  int depth = 0;
  std::array<uint32_t, kMostCells + 1> nodes, edges;
  uint32_t leaf = 0;
  Position position;
  std::vector<float> planes, priors;
  float value = 0;
  bool done = false;
  std::vector<int> attached;  // playouts that wait for the same evaluation
  std::condition_variable wake;
};

struct Batch {
  std::vector<int> playouts;
  bool taken = false, done = false;
};

struct Counts {
  double playouts, evaluations, batches, collisions, terminals, depth, deepest, full, outstanding,
      ended, select_s, backup_s, wait_s, nodes;
};

class Search {
 public:
  explicit Search(const Settings& settings) : s_(settings), slots_(settings.workers),
        inline_(s_.evaluator == kExternal && s_.scheme == kLocal && s_.streams == 1 &&
                s_.repeatable) {
    root_.size = s_.size;
    root_.win = s_.win;
    for (Playout& slot : slots_) {
      slot.planes.resize(kPlanes * root_.cells());
      slot.priors.resize(root_.cells());
    }
    random_ = mix(s_.seed);
    clear();
    if (s_.evaluator == kTable || s_.evaluator == kEmulated)
      for (int i = 0; i < s_.streams; i++) evaluators_.emplace_back([this] { evaluate(); });
  }

  ~Search() {
    abort();
    close();
    for (std::thread& thread : evaluators_) thread.join();
    if (runner_.joinable()) runner_.join();
  }

  int reset(const uint16_t* moves, int count) {
    if (running_) return kState;
    Position position{};
    position.size = s_.size;
    position.win = s_.win;
    for (int i = 0; i < count; i++) {
      if (position.over || moves[i] >= position.cells() || !position.empty(moves[i]))
        return fail(kState, "move " + std::to_string(moves[i]) + " is not legal");
      position.play(moves[i]);
    }
    root_ = position;
    clear();
    return kOk;
  }

  int advance(int move) {
    if (running_) return kState;
    if (root_.over || move < 0 || move >= root_.cells() || !root_.empty(move))
      return fail(kState, "move " + std::to_string(move) + " is not legal");
    root_.play(move);
    uint32_t child = kNone;
    const Node& root = nodes_[0];
    for (uint32_t e = root.first; e < root.first + root.count; e++)
      if (edges_[e].move == move) child = edges_[e].child;
    if (child == kNone || nodes_[child].state != kExpanded)
      clear();
    else
      keep(child);
    return kOk;
  }

  int start(int playouts, const double* noise, double weight) {
    if (running_) return kState;
    if (root_.over) return fail(kState, "the game is over");
    if (runner_.joinable()) runner_.join();
    try {
      reserve(playouts);
    } catch (const std::bad_alloc&) {
      return fail(kState, "no memory for " + std::to_string(playouts) + " playouts");
    }
    counts_ = {};
    noise_.assign(noise ? noise : nullptr, noise ? noise + root_.cells() : nullptr);
    weight_ = weight;
    playouts_ = playouts;
    issued_ = done_ = 0;
    taken_ = Clock::now();
    free_.clear();
    for (int i = s_.workers - 1; i >= 0; i--) free_.push_back(i);
    for (Playout& slot : slots_) slot.attached.clear();
    {
      Guard guard(mutex_);
      queue_.clear();
      batches_.clear();
      status_ = kRunning;
      abort_ = kOk;
      waiting_ = ended_ = 0;
      running_ = true;
    }
    if (!inline_) runner_ = std::thread([this] { run(); });
    return kOk;
  }

  int wait(double timeout_s) {
    Guard guard(mutex_);
    finished_.wait_for(guard, std::chrono::duration<double>(timeout_s), [&] { return !running_; });
    return running_ ? kRunning : status_;
  }

  void abort() {
    stop(kAborted, "aborted");
    if (inline_ && running_) end();
  }

  void close() {
    Guard guard(mutex_);
    closed_ = true;
    work_.notify_all();
  }

  // Take a batch that is ready: its number, or a Take; with `until_finished`, kFinished, too.
  int take(std::vector<Position>* positions, float* planes, int* count, double timeout_s,
           bool until_finished) {
    if (inline_) return take_inline(planes, count);
    Guard guard(mutex_);
    int found = kNothing;
    auto ready = [&] {
      if (closed_) return true;
      for (auto& [number, batch] : batches_)
        if (!batch.taken) {
          found = number;
          return true;
        }
      return until_finished && !running_;
    };
    if (!work_.wait_for(guard, std::chrono::duration<double>(timeout_s), ready)) return kNothing;
    if (closed_) return kClosed;
    if (found == kNothing) return kFinished;
    Batch& batch = batches_[found];
    batch.taken = true;
    *count = static_cast<int>(batch.playouts.size());
    for (int i = 0; i < *count; i++) {
      const Playout& slot = slots_[batch.playouts[i]];
      if (positions) positions->push_back(slot.position);
      if (planes) std::copy(slot.planes.begin(), slot.planes.end(), planes + i * slot.planes.size());
    }
    return found;
  }

  // Results of a batch; of one that no search waits for any more they are dropped.
  int put(int number, const float* priors, const float* values) {
    const int cells = root_.cells();
    Guard guard(mutex_);
    auto found = batches_.find(number);
    if (found == batches_.end()) return kOk;
    Batch& batch = found->second;
    for (size_t i = 0; i < batch.playouts.size(); i++) {
      bool good = std::isfinite(values[i]) && std::fabs(values[i]) <= 1.001f;
      for (int cell = 0; cell < cells; cell++)
        good = good && std::isfinite(priors[i * cells + cell]) && priors[i * cells + cell] >= 0;
      if (!good) {
        stop_locked(kEvaluator, "priors or a value that are not finite, or outside their range");
        return kEvaluator;
      }
    }
    for (size_t i = 0; i < batch.playouts.size(); i++) {
      Playout& slot = slots_[batch.playouts[i]];
      std::copy(priors + i * cells, priors + (i + 1) * cells, slot.priors.begin());
      slot.value = values[i];
      slot.done = true;
    }
    batch.done = true;
    if (s_.scheme == kShared) {
      waiting_ -= static_cast<int>(batch.playouts.size());
      std::vector<int> playouts = batch.playouts;
      batches_.erase(found);
      for (int slot : playouts) slots_[slot].wake.notify_one();
    }
    arrived_.notify_one();
    return kOk;
  }

  void stop(int status, const std::string& message) {
    Guard guard(mutex_);
    stop_locked(status, message);
  }

  int root(int32_t* visits, double* values, float* priors) const {
    const Node& root = nodes_[0];
    for (uint32_t e = root.first; e < root.first + root.count; e++) {
      visits[edges_[e].move] = edges_[e].visits;
      values[edges_[e].move] = edges_[e].value;
      priors[edges_[e].move] = edges_[e].prior;
    }
    return root.visits;
  }

  const Counts& counts() {
    counts_.nodes = used_nodes_;
    return counts_;
  }

  // What is wrong with the tree at rest: 0 nothing, else the number of the first broken rule.
  int check() const {
    uint32_t reached = 1;
    std::vector<uint32_t> open{0};
    while (!open.empty()) {
      const Node& node = nodes_[open.back()];
      open.pop_back();
      if (node.state == kPending || node.pending != -1) return 1;
      if (node.virtuals) return 2;
      int64_t sum = 0;
      for (uint32_t e = node.first; e < node.first + node.count; e++) {
        const Edge& edge = edges_[e];
        if (edge.virtuals) return 3;
        if (std::fabs(edge.value) > edge.visits + 1e-6) return 4;
        sum += edge.visits;
        if (edge.child == kNone) {
          if (edge.visits) return 5;
        } else {
          const Node& child = nodes_[edge.child];
          if (child.state == kExpanded && edge.visits < child.visits + 1) return 6;
          reached++;
          open.push_back(edge.child);
        }
      }
      if (sum != node.visits) return 7;
    }
    return reached == used_nodes_ ? 0 : 8;
  }

  const char* message() {
    Guard guard(mutex_);
    shown_ = message_;
    return shown_.c_str();
  }

 private:
  const Settings s_;
  Position root_{};
  std::unique_ptr<Node[]> nodes_;
  std::unique_ptr<Edge[]> edges_;
  std::atomic<uint32_t> used_nodes_{0}, used_edges_{0};
  size_t room_nodes_ = 0, room_edges_ = 0;
  std::vector<double> noise_;
  double weight_ = 0;
  int playouts_ = 0, issued_ = 0, done_ = 0;  // of the local tree's search
  std::vector<int> free_;
  Clock::time_point taken_;
  std::vector<Playout> slots_;
  const bool inline_;  // see take_inline
  uint64_t random_;
  Counts counts_{};

  std::mutex mutex_;  // of all below
  std::condition_variable work_, arrived_, finished_;
  std::deque<int> queue_;
  std::map<int, Batch> batches_;  // in the order of their numbers
  int next_batch_ = 0, waiting_ = 0, ended_ = 0, status_ = kOk;
  std::atomic<int> abort_{kOk};
  std::atomic<bool> running_{false};
  bool closed_ = false;
  std::string message_, shown_;
  std::vector<std::thread> evaluators_;
  std::thread runner_;

  int fail(int status, const std::string& message) {
    Guard guard(mutex_);
    message_ = message;
    return status;
  }

  void stop_locked(int status, const std::string& message) {
    if (!running_ || abort_ != kOk) return;
    message_ = message;
    abort_ = status;
    arrived_.notify_all();
    for (Playout& slot : slots_) slot.wake.notify_all();
  }

  // The tree.

  void clear() {
    used_nodes_ = used_edges_ = 0;
    room_nodes_ = room_edges_ = 0;
    reserve(0);
    used_nodes_ = 1;
  }

  void reserve(int playouts) {
    const size_t more = static_cast<size_t>(playouts) + s_.workers + 2;
    const size_t nodes = used_nodes_ + more, edges = used_edges_ + more * root_.cells();
    if (nodes <= room_nodes_ && edges <= room_edges_) return;
    std::unique_ptr<Node[]> new_nodes(new Node[nodes]);
    std::unique_ptr<Edge[]> new_edges(new Edge[edges]);
    for (uint32_t i = 0; i < used_nodes_; i++) copy(new_nodes[i], nodes_[i]);
    std::copy(edges_.get(), edges_.get() + used_edges_, new_edges.get());
    nodes_ = std::move(new_nodes);
    edges_ = std::move(new_edges);
    room_nodes_ = nodes;
    room_edges_ = edges;
  }

  static void copy(Node& to, const Node& from) {
    to.state = from.state;
    to.count = from.count;
    to.first = from.first;
    to.visits = from.visits;
    to.virtuals = from.virtuals;
    to.pending = from.pending;
  }

  // Keep the part of the tree below a node, which becomes node 0.
  void keep(uint32_t top) {
    std::vector<uint32_t> order{top};
    size_t count = 0;
    for (size_t i = 0; i < order.size(); i++) {
      const Node& node = nodes_[order[i]];
      count += node.count;
      for (uint32_t e = node.first; e < node.first + node.count; e++)
        if (edges_[e].child != kNone) order.push_back(edges_[e].child);
    }
    std::unique_ptr<Node[]> new_nodes(new Node[order.size()]);
    std::unique_ptr<Edge[]> new_edges(new Edge[count]);
    uint32_t next_node = 1, next_edge = 0;
    for (size_t i = 0; i < order.size(); i++) {
      const Node& from = nodes_[order[i]];
      copy(new_nodes[i], from);
      new_nodes[i].first = next_edge;
      for (uint32_t e = from.first; e < from.first + from.count; e++) {
        new_edges[next_edge] = edges_[e];
        if (edges_[e].child != kNone) new_edges[next_edge].child = next_node++;
        next_edge++;
      }
    }
    nodes_ = std::move(new_nodes);
    edges_ = std::move(new_edges);
    used_nodes_ = static_cast<uint32_t>(order.size());
    used_edges_ = next_edge;
    room_nodes_ = order.size();
    room_edges_ = count;
  }

  void lock(Node& node) {
    if (s_.scheme != kShared) return;
    for (int spins = 0; node.lock.test_and_set(std::memory_order_acquire); spins++)
      if (spins > 100) std::this_thread::yield();
  }

  void unlock(Node& node) {
    if (s_.scheme == kShared) node.lock.clear(std::memory_order_release);
  }

  uint32_t best(const Node& node, bool noisy) const {
    const bool by_visits = s_.virtual_form == kVisits;
    const double all = node.visits + (by_visits ? node.virtuals : 0);
    const double spread = s_.rule == kPuct ? std::sqrt(all + 1) : std::log(std::max(all, 1.0));
    uint32_t chosen = node.first;
    double most = -INFINITY;
    for (uint32_t e = node.first; e < node.first + node.count; e++) {
      const Edge& edge = edges_[e];
      const double loss = s_.virtual_loss * edge.virtuals;
      const double n = edge.visits + (by_visits ? edge.virtuals : 0);
      const double w = edge.value - (by_visits ? loss : 0);
      double score = n > 0 ? w / n : 0;
      if (s_.rule == kPuct) {
        double prior = edge.prior;
        if (noisy) prior = (1 - weight_) * prior + weight_ * noise_[edge.move];
        score += s_.c * prior * spread / (1 + n);
      } else {
        score = n > 0 ? score + s_.c * std::sqrt(spread / n) : 1e9;
      }
      if (!by_visits) score -= loss;
      if (score > most) {
        most = score;
        chosen = e;
      }
    }
    return chosen;
  }

  // Walk to a leaf. Returns its state before: kNew (now pending), kPending (attached), kTerminal.
  NodeState select(int number) {
    Playout& slot = slots_[number];
    slot.position = root_;
    slot.depth = 0;
    slot.done = false;
    uint32_t at = 0;
    while (true) {
      Node& node = nodes_[at];
      lock(node);
      if (node.state == kNew && slot.position.over) node.state = kTerminal;
      if (node.state != kExpanded) {
        const NodeState found = node.state;
        slot.leaf = at;
        if (found == kNew) {
          node.state = kPending;
          node.pending = number;
        } else if (found == kPending) {
          slots_[node.pending].attached.push_back(number);
        }
        unlock(node);
        return found;
      }
      const uint32_t e = best(node, at == 0 && !noise_.empty());
      Edge& edge = edges_[e];
      edge.virtuals++;
      node.virtuals++;
      if (edge.child == kNone) edge.child = used_nodes_++;
      slot.nodes[slot.depth] = at;
      slot.edges[slot.depth++] = e;
      at = edge.child;
      unlock(node);
      slot.position.play(edge.move);
    }
  }

  // Give a pending leaf its edges; returns the playouts that waited with it.
  std::vector<int> expand(int number) {
    Playout& slot = slots_[number];
    const Position& p = slot.position;
    double sum = 0;
    int legal = 0;
    for (int cell = 0; cell < p.cells(); cell++)
      if (p.empty(cell)) {
        sum += slot.priors[cell];
        legal++;
      }
    const uint32_t first = used_edges_.fetch_add(legal);
    uint32_t e = first;
    for (int cell = 0; cell < p.cells(); cell++)
      if (p.empty(cell)) {
        const double prior = sum > 0 ? slot.priors[cell] / sum : 1.0 / legal;
        edges_[e++] = {0, static_cast<float>(prior), 0, 0, kNone, static_cast<uint16_t>(cell)};
      }
    Node& node = nodes_[slot.leaf];
    lock(node);
    node.first = first;
    node.count = static_cast<uint16_t>(legal);
    node.state = kExpanded;
    node.pending = -1;
    std::vector<int> attached;
    attached.swap(slot.attached);
    unlock(node);
    return attached;
  }

  // Add the value, which is for who moves at the leaf, along the path.
  void backup(int number, double value) {
    Playout& slot = slots_[number];
    for (int i = slot.depth - 1; i >= 0; i--) {
      value = -value;
      Node& node = nodes_[slot.nodes[i]];
      Edge& edge = edges_[slot.edges[i]];
      lock(node);
      edge.virtuals--;
      node.virtuals--;
      edge.visits++;
      node.visits++;
      edge.value += value;
      unlock(node);
    }
  }

  void rollout(int number) {
    Playout& slot = slots_[number];
    std::fill(slot.priors.begin(), slot.priors.end(), 1.0f);
    Position p = slot.position;
    std::array<uint16_t, kMostCells> empty;
    int count = 0;
    for (int cell = 0; cell < p.cells(); cell++)
      if (p.empty(cell)) empty[count++] = static_cast<uint16_t>(cell);
    const int me = p.player();
    while (!p.over) {
      random_ = mix(random_);
      const int at = static_cast<int>((random_ >> 32) * count >> 32);
      p.play(empty[at]);
      empty[at] = empty[--count];
    }
    slot.value = !p.won ? 0.0f : p.player() == me ? -1.0f : 1.0f;
  }

  // Batches; the mutex is held.

  void flush(double Counts::*reason) {
    if (queue_.empty()) return;
    const size_t count = std::min<size_t>(queue_.size(), s_.batch);
    Batch& batch = batches_[next_batch_++];
    batch.playouts.assign(queue_.begin(), queue_.begin() + count);
    queue_.erase(queue_.begin(), queue_.begin() + count);
    counts_.*reason += 1;
    counts_.batches += 1;
    counts_.evaluations += static_cast<double>(count);
    work_.notify_one();
  }

  void enqueue(int number) {
    queue_.push_back(number);
    if (queue_.size() >= static_cast<size_t>(s_.batch)) flush(&Counts::full);
  }

  // A search.

  void run() {
    grow_root();
    if (abort_ == kOk) {
      if (s_.scheme == kShared)
        run_shared();
      else
        run_local();
    }
    end();
  }

  void end() {
    if (abort_ != kOk) clear();
    Guard guard(mutex_);
    status_ = abort_;
    batches_.clear();
    queue_.clear();
    running_ = false;
    finished_.notify_all();
    work_.notify_all();
  }

  void ask_root() {
    select(0);
    slots_[0].position.planes(slots_[0].planes.data());
    Guard guard(mutex_);
    queue_.push_back(0);
    waiting_ = 1;
    flush(&Counts::outstanding);
  }

  // The root is evaluated before the first playout.
  void grow_root() {
    if (nodes_[0].state != kNew) return;
    if (s_.evaluator == kRollout) {
      select(0);
      rollout(0);
    } else {
      ask_root();
      Guard guard(mutex_);
      if (!arrived_.wait_for(guard, limit(), [&] { return slots_[0].done || abort_ != kOk; }))
        stop_locked(kTimeout, "no evaluation of the root within the time limit");
      batches_.clear();
      waiting_ = 0;
      if (abort_ != kOk) return;
    }
    expand(0);
  }

  std::chrono::duration<double> limit() const {
    return std::chrono::duration<double>(s_.timeout_s);
  }

  void note(const Playout& slot) {
    counts_.depth += slot.depth;
    counts_.deepest = std::max<double>(counts_.deepest, slot.depth);
  }

  void finish(int number, double value) {
    backup(number, value);
    free_.push_back(number);
    done_++;
  }

  void take_back(const std::vector<int>& batch) {
    const auto start = Clock::now();
    for (int number : batch) {
      const double value = slots_[number].value;
      const std::vector<int> attached = expand(number);
      finish(number, value);
      for (int other : attached) finish(other, value);
    }
    counts_.backup_s += seconds_since(start);
  }

  // Select until all playouts are done, or none can be begun before a result is there.
  void advance_local() {
    while (done_ < playouts_ && abort_ == kOk) {
      if (!s_.repeatable) {
        for (std::vector<int> batch; !(batch = arrived_batch()).empty();) take_back(batch);
      }
      if (issued_ == playouts_ || free_.empty()) break;
      const auto start = Clock::now();
      const int number = free_.back();
      free_.pop_back();
      issued_++;
      Playout& slot = slots_[number];
      const NodeState found = select(number);
      note(slot);
      if (found == kNew && s_.evaluator != kRollout) slot.position.planes(slot.planes.data());
      counts_.select_s += seconds_since(start);
      if (found == kTerminal) {
        counts_.terminals += 1;
        finish(number, slot.position.outcome());
      } else if (found == kPending) {
        counts_.collisions += 1;
      } else if (s_.evaluator == kRollout) {
        rollout(number);
        take_back({number});
      } else {
        Guard guard(mutex_);
        enqueue(number);
      }
    }
    Guard guard(mutex_);
    while (!queue_.empty())
      flush(issued_ == playouts_ ? &Counts::ended : &Counts::outstanding);
  }

  void run_local() {
    for (advance_local(); done_ < playouts_ && abort_ == kOk; advance_local()) {
      const auto start = Clock::now();
      Guard guard(mutex_);
      std::vector<int> batch;
      const auto ready = [&] {
        batch = arrived_batch_locked();
        return !batch.empty() || abort_ != kOk;
      };
      if (!arrived_.wait_for(guard, limit(), ready))
        stop_locked(kTimeout, "no evaluation within the time limit");
      guard.unlock();
      counts_.wait_s += seconds_since(start);
      take_back(batch);
    }
    counts_.playouts = done_;
  }

  // Where the caller's thread is the only stream, it is the master, too: it takes a batch when the
  // tree can do no more. Nothing is handed from thread to thread.
  int take_inline(float* planes, int* count) {
    if (running_ && abort_ == kOk) {
      if (nodes_[0].state == kNew) {
        ask_root();
      } else {
        if (nodes_[0].state == kPending) {
          batches_.clear();
          expand(0);
        } else {
          take_back(arrived_batch());
          counts_.wait_s += seconds_since(taken_);
        }
        advance_local();
      }
    }
    counts_.playouts = done_;
    if (!running_ || abort_ != kOk || done_ == playouts_) {
      if (running_) end();
      return kFinished;
    }
    taken_ = Clock::now();
    auto& [number, batch] = *batches_.begin();
    batch.taken = true;
    *count = static_cast<int>(batch.playouts.size());
    for (int i = 0; i < *count; i++) {
      const std::vector<float>& own = slots_[batch.playouts[i]].planes;
      std::copy(own.begin(), own.end(), planes + i * own.size());
    }
    return number;
  }

  std::vector<int> arrived_batch() {
    Guard guard(mutex_);
    return arrived_batch_locked();
  }

  // A batch that is evaluated: the oldest, if searches are to be repeatable, else any.
  std::vector<int> arrived_batch_locked() {
    for (auto at = batches_.begin(); at != batches_.end(); ++at) {
      if (at->second.done) {
        std::vector<int> playouts = std::move(at->second.playouts);
        batches_.erase(at);
        return playouts;
      }
      if (s_.repeatable) break;
    }
    return {};
  }

  void run_shared() {
    std::atomic<int> issued{0}, done{0};
    std::vector<std::thread> threads;
    for (int number = 0; number < s_.workers; number++)
      threads.emplace_back([&, number] {
        while (abort_ == kOk && issued++ < playouts_)
          if (play_shared(number)) done++;
        Guard guard(mutex_);
        ended_++;
        flush_if_stuck();
      });
    for (std::thread& thread : threads) thread.join();
    counts_.playouts = done;
  }

  // No thread is left that could add to the queue: send what is there.
  void flush_if_stuck() {
    if (waiting_ + ended_ == s_.workers)
      while (!queue_.empty()) flush(ended_ ? &Counts::ended : &Counts::outstanding);
  }

  bool play_shared(int number) {
    Playout& slot = slots_[number];
    const auto start = Clock::now();
    const NodeState found = select(number);
    if (found == kTerminal) {
      backup(number, slot.position.outcome());
      Guard guard(mutex_);
      counts_.terminals += 1;
      counts_.select_s += seconds_since(start);
      note(slot);
      return true;
    }
    if (found == kNew) slot.position.planes(slot.planes.data());
    const auto selected = Clock::now();
    {
      Guard guard(mutex_);
      counts_.select_s += std::chrono::duration<double>(selected - start).count();
      note(slot);
      waiting_++;
      if (found == kNew)
        enqueue(number);
      else
        counts_.collisions += 1;
      flush_if_stuck();
      if (!slot.wake.wait_for(guard, limit(), [&] { return slot.done || abort_ != kOk; }))
        stop_locked(kTimeout, "no evaluation within the time limit");
      counts_.wait_s += seconds_since(selected);
    }
    if (abort_ != kOk) return false;  // the tree is dropped
    const auto evaluated = Clock::now();
    const double value = slot.value;
    if (found == kNew) {
      const std::vector<int> attached = expand(number);
      if (!attached.empty()) {
        Guard guard(mutex_);
        for (int other : attached) {
          slots_[other].value = slot.value;
          slots_[other].done = true;
          waiting_--;
          slots_[other].wake.notify_one();
        }
      }
    }
    backup(number, value);
    Guard guard(mutex_);
    counts_.backup_s += seconds_since(evaluated);
    return true;
  }

  // A thread of the evaluators `table` and `emulated`.
  void evaluate() {
#ifdef PR_SET_TIMERSLACK
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
#endif
    const int cells = root_.cells();
    while (true) {
      std::vector<Position> positions;
      int count = 0;
      const int number = take(&positions, nullptr, &count, 1.0, false);
      if (number == kClosed) return;
      if (number < 0) continue;
      const auto start = Clock::now();
      std::vector<float> priors(count * cells), values(count);
      for (int i = 0; i < count; i++) hashed(positions[i], &priors[i * cells], &values[i]);
      if (s_.evaluator == kEmulated)
        std::this_thread::sleep_until(
            start + std::chrono::duration_cast<Clock::duration>(
                        std::chrono::duration<double>(s_.base_s + s_.item_s * count)));
      put(number, priors.data(), values.data());
    }
  }
};

}  // namespace

extern "C" {

void* jd_dnn_new(const Settings* settings) { return new Search(*settings); }
void jd_dnn_free(void* search) { delete static_cast<Search*>(search); }
int jd_dnn_reset(void* search, const uint16_t* moves, int count) {
  return static_cast<Search*>(search)->reset(moves, count);
}
int jd_dnn_advance(void* search, int move) { return static_cast<Search*>(search)->advance(move); }
int jd_dnn_start(void* search, int playouts, const double* noise, double weight) {
  return static_cast<Search*>(search)->start(playouts, noise, weight);
}
int jd_dnn_wait(void* search, double timeout_s) {
  return static_cast<Search*>(search)->wait(timeout_s);
}
void jd_dnn_abort(void* search) { static_cast<Search*>(search)->abort(); }
int jd_dnn_take(void* search, float* planes, int* count, double timeout_s) {
  return static_cast<Search*>(search)->take(nullptr, planes, count, timeout_s, true);
}
int jd_dnn_put(void* search, int number, const float* priors, const float* values) {
  return static_cast<Search*>(search)->put(number, priors, values);
}
void jd_dnn_fail(void* search, const char* message) {
  static_cast<Search*>(search)->stop(kEvaluator, message);
}
int jd_dnn_root(void* search, int32_t* visits, double* values, float* priors) {
  return static_cast<Search*>(search)->root(visits, values, priors);
}
void jd_dnn_counts(void* search, double* counts) {
  std::memcpy(counts, &static_cast<Search*>(search)->counts(), sizeof(Counts));
}
int jd_dnn_check(void* search) { return static_cast<Search*>(search)->check(); }
const char* jd_dnn_message(void* search) { return static_cast<Search*>(search)->message(); }

// Play moves. Returns how many were legal; over and won are of the position after each.
int jd_gomoku_play(int size, int win, const uint16_t* moves, int count, uint8_t* over,
                   uint8_t* won) {
  Position position{};
  position.size = size;
  position.win = win;
  for (int i = 0; i < count; i++) {
    if (position.over || moves[i] >= position.cells() || !position.empty(moves[i])) return i;
    position.play(moves[i]);
    over[i] = position.over;
    won[i] = position.won;
  }
  return count;
}

// Seconds in which a cache line goes from one thread to another: half a round trip.
double jd_access_s(int rounds) {
  std::atomic<int> line{0};
  const auto pass = [&](int mine) {
    for (int i = 0; i < rounds; i++) {
      for (int spins = 0; line.load(std::memory_order_acquire) != mine; spins++)
        if (spins > 10000) std::this_thread::yield();
      line.store(1 - mine, std::memory_order_release);
    }
  };
  const auto start = Clock::now();
  std::thread other(pass, 1);
  pass(0);
  other.join();
  return seconds_since(start) / rounds / 2;
}

}  // extern "C"
