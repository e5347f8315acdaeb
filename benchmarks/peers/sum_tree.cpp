// SPDX-License-Identifier: Apache-2.0
//
// Sum trees of a prioritized replay in plain C++, and how long they take on this processor.
//
//   sum_tree LEAVES BATCH...      prints JSON: ns a sample, an update, and one of each, of each tree
//
// The trees, all warm in the caches, one thread:
//   binary float   float32, two children a node, parents added anew: what libraries have
//   K=...          exact 64-bit sums of 32-bit leaves as on the device, K children a node side by
//                  side, updates by difference; a batch goes level by level, so that its cache
//                  misses overlap
//   K=... prefix   the same, but a node's children are running sums: a sample counts those below
//                  its target and an update adds to all after it, both in vector instructions
// A sample includes its random number; the time is the least of several rounds.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

// xoshiro256++ (Blackman and Vigna), the generator of the device.
class Random {
 public:
  explicit Random(std::uint64_t seed) {
    for (auto& word : state_) {  // SplitMix64
      seed += 0x9E3779B97F4A7C15;
      std::uint64_t z = seed;
      z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
      z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
      word = z ^ (z >> 31);
    }
  }

  std::uint64_t next() {
    const std::uint64_t result = rotate(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = rotate(state_[3], 45);
    return result;
  }

 private:
  static std::uint64_t rotate(std::uint64_t x, int by) { return (x << by) | (x >> (64 - by)); }
  std::uint64_t state_[4];
};

struct Update {
  std::uint32_t index;
  std::uint32_t value;
};

// Node i has the children 2i and 2i + 1; node 1 is the root, the leaves are the upper half.
class BinaryFloatTree {
 public:
  explicit BinaryFloatTree(std::size_t leaves) {
    while (half_ < leaves) half_ *= 2;
    nodes_.assign(2 * half_, 0.0F);
  }

  void update(const Update* updates, std::size_t count) {
    for (std::size_t k = 0; k < count; ++k) {
      std::size_t node = half_ + updates[k].index;
      nodes_[node] = static_cast<float>(updates[k].value);
      for (node /= 2; node > 0; node /= 2) nodes_[node] = nodes_[2 * node] + nodes_[2 * node + 1];
    }
  }

  void sample(Random& random, std::uint32_t* indices, std::size_t count) const {
    for (std::size_t k = 0; k < count; ++k) {
      float mass = static_cast<float>(random.next() >> 40) * 0x1p-24F * nodes_[1];
      std::size_t node = 1;
      while (node < half_) {
        const float left = nodes_[2 * node];
        const bool right = mass >= left;
        mass -= right ? left : 0.0F;
        node = 2 * node + right;
      }
      indices[k] = static_cast<std::uint32_t>(node - half_);
    }
  }

  double total() const { return nodes_[1]; }
  double leaf(std::size_t index) const { return nodes_[half_ + index]; }

 private:
  std::size_t half_ = 1;
  std::vector<float> nodes_;
};

// levels_[0] has K nodes, each next level K times as many; the last one is the leaves.
template <unsigned KLog2>
class KaryTree {
 public:
  explicit KaryTree(std::size_t leaves) {
    std::size_t nodes = 1;
    do {
      nodes <<= KLog2;
      levels_.emplace_back(nodes, 0);
    } while (nodes < leaves);
  }

  void update(const Update* updates, std::size_t count) {
    differences_.resize(count);
    auto& leaves = levels_.back();
    for (std::size_t k = 0; k < count; ++k) {
      differences_[k] = updates[k].value - leaves[updates[k].index];
      leaves[updates[k].index] = updates[k].value;
    }
    unsigned shift = KLog2;
    for (std::size_t level = levels_.size() - 1; level-- > 0; shift += KLog2) {
      std::uint64_t* nodes = levels_[level].data();
      for (std::size_t k = 0; k < count; ++k) nodes[updates[k].index >> shift] += differences_[k];
    }
    for (std::size_t k = 0; k < count; ++k) total_ += differences_[k];
  }

  void sample(Random& random, std::uint32_t* indices, std::size_t count) {
    targets_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      const auto product = static_cast<unsigned __int128>(random.next()) * total_;
      targets_[k] = 1 + static_cast<std::uint64_t>(product >> 64);
      indices[k] = 0;
    }
    for (const auto& nodes : levels_) {
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint64_t* child = nodes.data() + (std::size_t{indices[k]} << KLog2);
        std::uint64_t target = targets_[k];
        unsigned chosen = 0;
        while (target > child[chosen]) target -= child[chosen++];
        targets_[k] = target;
        indices[k] = (indices[k] << KLog2) + chosen;
      }
    }
  }

  double total() const { return static_cast<double>(total_); }
  double leaf(std::size_t index) const { return static_cast<double>(levels_.back()[index]); }

 private:
  std::uint64_t total_ = 0;
  std::vector<std::vector<std::uint64_t>> levels_;
  std::vector<std::uint64_t> differences_, targets_;
};

// As KaryTree, with the running sum over a node's children in place of each child.
template <unsigned KLog2>
class PrefixTree {
 public:
  static constexpr unsigned K = 1U << KLog2;

  explicit PrefixTree(std::size_t leaves) {
    std::size_t nodes = 1;
    do {
      nodes <<= KLog2;
      levels_.emplace_back(nodes / K);
    } while (nodes < leaves);
    values_.assign(nodes, 0);
  }

  void update(const Update* updates, std::size_t count) {
    differences_.resize(count);
    for (std::size_t k = 0; k < count; ++k) {
      differences_[k] = std::uint64_t{updates[k].value} - values_[updates[k].index];
      values_[updates[k].index] = updates[k].value;
    }
    unsigned shift = 0;
    for (std::size_t level = levels_.size(); level-- > 0; shift += KLog2) {
      Node* nodes = levels_[level].data();
      for (std::size_t k = 0; k < count; ++k) {
        const std::uint32_t child = updates[k].index >> shift;
        const std::uint64_t difference = differences_[k];
        Node& node = nodes[child >> KLog2];
        const unsigned first = child % K;
        for (unsigned c = 0; c < K; ++c) node.sums[c] += c >= first ? difference : 0;
      }
    }
  }

  void sample(Random& random, std::uint32_t* indices, std::size_t count) {
    targets_.resize(count);
    const std::uint64_t total = levels_[0][0].sums[K - 1];
    for (std::size_t k = 0; k < count; ++k) {
      const auto product = static_cast<unsigned __int128>(random.next()) * total;
      targets_[k] = 1 + static_cast<std::uint64_t>(product >> 64);
      indices[k] = 0;
    }
    for (const auto& nodes : levels_) {
      for (std::size_t k = 0; k < count; ++k) {
        const Node& node = nodes[indices[k]];
        const std::uint64_t target = targets_[k];
        std::uint64_t chosen = 0;
        for (unsigned c = 0; c < K; ++c) chosen += node.sums[c] < target;
        targets_[k] = target - (chosen > 0 ? node.sums[chosen - 1] : 0);
        indices[k] = (indices[k] << KLog2) + static_cast<std::uint32_t>(chosen);
      }
    }
  }

  double total() const { return static_cast<double>(levels_[0][0].sums[K - 1]); }
  double leaf(std::size_t index) const { return values_[index]; }

 private:
  struct alignas(64) Node {
    std::uint64_t sums[K] = {};
  };
  std::vector<std::vector<Node>> levels_;
  std::vector<std::uint32_t> values_;
  std::vector<std::uint64_t> differences_, targets_;
};

// Least ns an element of several rounds; each takes about a millisecond.
template <typename Run>
double nanoseconds(std::size_t batch, Run run) {
  const auto time = [&run](std::size_t calls) {
    const auto start = Clock::now();
    for (std::size_t k = 0; k < calls; ++k) run();
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
  };
  std::size_t calls = 1;
  while (time(calls) < 1e6) calls *= 2;
  double least = time(calls);
  for (int round = 0; round < 15; ++round) least = std::min(least, time(calls));
  return least / static_cast<double>(calls * batch);
}

template <typename Tree>
bool measure(const char* name, std::size_t leaves, const std::vector<std::size_t>& batches) {
  Random random(1);
  Tree tree(leaves);
  std::vector<Update> updates(1 << 16);
  for (std::size_t k = 0; k < leaves; ++k) {
    const Update one{static_cast<std::uint32_t>(k),
                     1 + static_cast<std::uint32_t>(random.next() >> 48)};
    tree.update(&one, 1);
  }
  for (auto& update : updates) {
    update.index = static_cast<std::uint32_t>(random.next() % leaves);
    update.value = 1 + static_cast<std::uint32_t>(random.next() >> 48);
  }
  for (const std::size_t batch : batches) {
    std::vector<std::uint32_t> indices(batch);
    std::size_t at = 0;
    const auto sample_batch = [&] { tree.sample(random, indices.data(), batch); };
    const auto update_batch = [&] {
      tree.update(&updates[at], batch);
      at = (at + batch) % (updates.size() - batch);
    };
    const double sample = nanoseconds(batch, sample_batch);
    const double update = nanoseconds(batch, update_batch);
    const double both = nanoseconds(batch, [&] {
      sample_batch();
      update_batch();
    });
    for (const auto index : indices) {
      if (index >= leaves || tree.leaf(index) <= 0) return false;
    }
    std::printf(
        "  {\"tree\": \"%s\", \"batch\": %zu, \"sample\": %.2f, \"update\": %.2f, "
        "\"sample and update\": %.2f},\n",
        name, batch, sample, update, both);
  }
  double sum = 0;
  for (std::size_t k = 0; k < leaves; ++k) sum += tree.leaf(k);
  return std::abs(tree.total() - sum) <= 1e-3 * sum;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: sum_tree LEAVES BATCH...\n");
    return 2;
  }
  const std::size_t leaves = std::stoul(argv[1]);
  std::vector<std::size_t> batches;
  for (int k = 2; k < argc; ++k) batches.push_back(std::stoul(argv[k]));
  std::printf("[\n");
  const bool good = measure<BinaryFloatTree>("binary float", leaves, batches) &&
                    measure<KaryTree<4>>("K=16", leaves, batches) &&
                    measure<KaryTree<6>>("K=64", leaves, batches) &&
                    measure<PrefixTree<4>>("K=16 prefix", leaves, batches);
  std::printf("  {}\n]\n");
  if (!good) std::fprintf(stderr, "sum_tree: a tree is wrong\n");
  return good ? 0 : 1;
}
