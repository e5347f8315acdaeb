// SPDX-License-Identifier: Apache-2.0
//
// The tree of a search whose leaves are evaluated elsewhere: nodes, edges, and playouts on their way.
//
// Playouts   A slot for each that may be under way. `select` walks to a leaf, `expand` gives it edges
//            with the slot's priors, `backup` adds a value along the path.
// Threads    In the shared scheme each node has a lock, and `select`, `expand` and `backup` may run in
//            several threads. All else wants a tree at rest.
// Memory     `reserve` makes room for all playouts of a search, so no search allocates.
// Source     thesis 5.2.1. Golden model: models/gomoku/search.py.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "gomoku.hpp"

namespace gomoku {

constexpr uint32_t kNone = ~0u;

enum Scheme { kLocal = 0, kShared = 1 };
enum Rule { kPuct = 0, kUct = 1 };
enum VirtualLoss { kVisits = 0, kConstant = 1 };

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

class Tree {
 public:
  std::vector<Playout> slots;

  explicit Tree(const Settings& settings)
      : slots(settings.workers), s_(settings), random_(mix(settings.seed)) {
    position_.size = s_.size;
    position_.win = s_.win;
    for (Playout& slot : slots) {
      slot.planes.resize(kPlanes * position_.cells());
      slot.priors.resize(position_.cells());
    }
    clear();
  }

  const Position& position() const { return position_; }  // of the root
  NodeState root_state() const { return nodes_[0].state; }
  uint32_t nodes() const { return used_nodes_; }

  // Start anew from a position.
  void set(const Position& position) {
    position_ = position;
    clear();
  }

  // Play a legal move at the root, and keep what is below it.
  void advance(int move) {
    position_.play(move);
    uint32_t child = kNone;
    const Node& root = nodes_[0];
    for (uint32_t e = root.first; e < root.first + root.count; e++)
      if (edges_[e].move == move) child = edges_[e].child;
    if (child == kNone || nodes_[child].state != kExpanded)
      clear();
    else
      keep(child);
  }

  // Noise on the root's priors, of each cell, or none; its weight.
  void disturb(const double* noise, double weight) {
    noise_.assign(noise ? noise : nullptr, noise ? noise + position_.cells() : nullptr);
    weight_ = weight;
  }

  // Drop all nodes; the position stays.
  void clear() {
    used_nodes_ = used_edges_ = 0;
    room_nodes_ = room_edges_ = 0;
    reserve(0);
    used_nodes_ = 1;
  }

  // Make room for a search of so many playouts. Throws std::bad_alloc.
  void reserve(int playouts) {
    const size_t more = static_cast<size_t>(playouts) + s_.workers + 2;
    const size_t nodes = used_nodes_ + more, edges = used_edges_ + more * position_.cells();
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

  // Walk to a leaf. Returns its state before: kNew (now pending), kPending (attached), kTerminal.
  NodeState select(int number) {
    Playout& slot = slots[number];
    slot.position = position_;
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
          slots[node.pending].attached.push_back(number);
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
    Playout& slot = slots[number];
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
    Playout& slot = slots[number];
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

  // Play at random from a leaf to the end: its value, and equal priors.
  void rollout(int number) {
    Playout& slot = slots[number];
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

  // Visits, sums of values and priors of the root's moves; returns its visits.
  int root(int32_t* visits, double* values, float* priors) const {
    const Node& root = nodes_[0];
    for (uint32_t e = root.first; e < root.first + root.count; e++) {
      visits[edges_[e].move] = edges_[e].visits;
      values[edges_[e].move] = edges_[e].value;
      priors[edges_[e].move] = edges_[e].prior;
    }
    return root.visits;
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

 private:
  const Settings s_;
  Position position_{};  // of the root
  std::unique_ptr<Node[]> nodes_;
  std::unique_ptr<Edge[]> edges_;
  std::atomic<uint32_t> used_nodes_{0}, used_edges_{0};
  size_t room_nodes_ = 0, room_edges_ = 0;
  std::vector<double> noise_;
  double weight_ = 0;
  uint64_t random_;

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
};

}  // namespace gomoku
