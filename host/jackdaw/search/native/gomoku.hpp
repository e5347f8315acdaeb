// SPDX-License-Identifier: Apache-2.0
//
// Positions of Gomoku on boards of up to 256 cells, and a deterministic stand-in for a network.
//
// Golden model: models/gomoku/rules.py.
#pragma once

#include <array>
#include <cstdint>

namespace gomoku {

constexpr int kMostCells = 256, kPlanes = 4;

inline uint64_t mix(uint64_t x) {  // SplitMix64
  x += 0x9E3779B97F4A7C15ull;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
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
inline void hashed(const Position& p, float* priors, float* value) {
  uint64_t h = 0;
  for (int who : {p.player(), 1 - p.player()})
    for (int word = 0; word < (p.cells() + 63) / 64; word++) h = mix(h ^ p.stones[who][word]);
  for (int cell = 0; cell < p.cells(); cell++)
    priors[cell] = static_cast<float>((mix(h + cell + 1) >> 40) + 1) / 16777216.0f;
  *value = static_cast<float>(static_cast<int64_t>(mix(h) >> 40) - 8388608) / 8388608.0f;
}

}  // namespace gomoku
