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
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <vector>
#ifdef __linux__
#include <sys/prctl.h>
#endif

#include "dnn_nodes.hpp"

namespace {

using namespace gomoku;

using Clock = std::chrono::steady_clock;
using Guard = std::unique_lock<std::mutex>;

enum Status { kOk = 0, kRunning = 1, kTimeout = -1, kEvaluator = -2, kAborted = -3, kState = -4 };
enum Take { kNothing = -1, kClosed = -2, kFinished = -3 };
enum Kind { kExternal = 0, kTable = 1, kEmulated = 2, kRollout = 3 };

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
  explicit Search(const Settings& settings)
      : s_(settings),
        tree_(settings),
        slots_(tree_.slots),
        inline_(s_.evaluator == kExternal && s_.scheme == kLocal && s_.streams == 1 &&
                s_.repeatable) {
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
    tree_.set(position);
    return kOk;
  }

  int advance(int move) {
    if (running_) return kState;
    const Position& root = tree_.position();
    if (root.over || move < 0 || move >= root.cells() || !root.empty(move))
      return fail(kState, "move " + std::to_string(move) + " is not legal");
    tree_.advance(move);
    return kOk;
  }

  int start(int playouts, const double* noise, double weight) {
    if (running_) return kState;
    if (tree_.position().over) return fail(kState, "the game is over");
    if (runner_.joinable()) runner_.join();
    try {
      tree_.reserve(playouts);
    } catch (const std::bad_alloc&) {
      return fail(kState, "no memory for " + std::to_string(playouts) + " playouts");
    }
    counts_ = {};
    tree_.disturb(noise, weight);
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
    const int cells = tree_.position().cells();
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

  const Tree& tree() const { return tree_; }

  const Counts& counts() {
    counts_.nodes = tree_.nodes();
    return counts_;
  }

  const char* message() {
    Guard guard(mutex_);
    shown_ = message_;
    return shown_.c_str();
  }

 private:
  const Settings s_;
  Tree tree_;
  std::vector<Playout>& slots_;  // of the tree
  int playouts_ = 0, issued_ = 0, done_ = 0;  // of the local tree's search
  std::vector<int> free_;
  Clock::time_point taken_;
  const bool inline_;  // see take_inline
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
    if (abort_ != kOk) tree_.clear();
    Guard guard(mutex_);
    status_ = abort_;
    batches_.clear();
    queue_.clear();
    running_ = false;
    finished_.notify_all();
    work_.notify_all();
  }

  void ask_root() {
    tree_.select(0);
    slots_[0].position.planes(slots_[0].planes.data());
    Guard guard(mutex_);
    queue_.push_back(0);
    waiting_ = 1;
    flush(&Counts::outstanding);
  }

  // The root is evaluated before the first playout.
  void grow_root() {
    if (tree_.root_state() != kNew) return;
    if (s_.evaluator == kRollout) {
      tree_.select(0);
      tree_.rollout(0);
    } else {
      ask_root();
      Guard guard(mutex_);
      if (!arrived_.wait_for(guard, limit(), [&] { return slots_[0].done || abort_ != kOk; }))
        stop_locked(kTimeout, "no evaluation of the root within the time limit");
      batches_.clear();
      waiting_ = 0;
      if (abort_ != kOk) return;
    }
    tree_.expand(0);
  }

  std::chrono::duration<double> limit() const {
    return std::chrono::duration<double>(s_.timeout_s);
  }

  void note(const Playout& slot) {
    counts_.depth += slot.depth;
    counts_.deepest = std::max<double>(counts_.deepest, slot.depth);
  }

  void finish(int number, double value) {
    tree_.backup(number, value);
    free_.push_back(number);
    done_++;
  }

  void take_back(const std::vector<int>& batch) {
    const auto start = Clock::now();
    for (int number : batch) {
      const double value = slots_[number].value;
      const std::vector<int> attached = tree_.expand(number);
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
      const NodeState found = tree_.select(number);
      note(slot);
      if (found == kNew && s_.evaluator != kRollout) slot.position.planes(slot.planes.data());
      counts_.select_s += seconds_since(start);
      if (found == kTerminal) {
        counts_.terminals += 1;
        finish(number, slot.position.outcome());
      } else if (found == kPending) {
        counts_.collisions += 1;
      } else if (s_.evaluator == kRollout) {
        tree_.rollout(number);
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
      if (tree_.root_state() == kNew) {
        ask_root();
      } else {
        if (tree_.root_state() == kPending) {
          batches_.clear();
          tree_.expand(0);
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
    const NodeState found = tree_.select(number);
    if (found == kTerminal) {
      tree_.backup(number, slot.position.outcome());
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
      const std::vector<int> attached = tree_.expand(number);
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
    tree_.backup(number, value);
    Guard guard(mutex_);
    counts_.backup_s += seconds_since(evaluated);
    return true;
  }

  // A thread of the evaluators `table` and `emulated`.
  void evaluate() {
#ifdef PR_SET_TIMERSLACK
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
#endif
    const int cells = tree_.position().cells();
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
  return static_cast<Search*>(search)->tree().root(visits, values, priors);
}
void jd_dnn_counts(void* search, double* counts) {
  std::memcpy(counts, &static_cast<Search*>(search)->counts(), sizeof(Counts));
}
int jd_dnn_check(void* search) { return static_cast<Search*>(search)->tree().check(); }
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
