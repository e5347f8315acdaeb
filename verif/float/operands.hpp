// SPDX-License-Identifier: Apache-2.0
//
// Operands that find errors: one of every class, every class against every other, corner pairs of
// exponents, and random pairs that are close, sparse, halfway, subnormal or near overflow.
#pragma once
#include <cstdint>
#include <vector>
#include "reference.hpp"

namespace jd {

struct Random {                                               // splitmix64
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
  }
  uint64_t below(uint64_t n) { return (uint64_t)((unsigned __int128)next() * n >> 64); }
};

// Both signs of: zero, subnormals, normals around powers of two and one, largest, infinity, NaNs.
inline std::vector<uint64_t> representatives(const Format& f) {
  uint64_t ones = (1ull << f.man) - 1, half = 1ull << (f.man - 1), top = (1ull << f.exp) - 1;
  std::vector<uint64_t> mantissas{0, 1, 2, 3, half - 1, half, half + 1, ones - 1, ones,
                                  ones & 0x5555555555555555ull, ones & 0xaaaaaaaaaaaaaaaaull};
  std::vector<uint64_t> exponents{0, 1, 2, 3, top - 1, top - 2, top};
  uint64_t bias = f.bias();
  for (uint64_t near : {bias - f.man - 2, bias - f.man - 1, bias - f.man, bias - 2, bias - 1, bias,
                        bias + 1, bias + 2, bias + f.man, bias + f.man + 1, bias + f.man + 2})
    if (near < top) exponents.push_back(near);                // (wraps below zero: left out)
  std::vector<uint64_t> all;
  for (uint64_t e : exponents)
    for (uint64_t m : mantissas)
      for (uint64_t s : {uint64_t(0), f.sign()}) all.push_back(s | e << f.man | m);
  return all;
}

inline uint64_t sparse(Random& r, int man) {
  uint64_t ones = (1ull << man) - 1, m = 0;
  for (int i = r.below(3); i >= 0; i--) m ^= 1ull << r.below(man);
  switch (r.below(4)) {
    case 0: return m & ones;
    case 1: return ~m & ones;
    case 2: return (ones << r.below(man + 1)) & ones;
    default: return ones >> r.below(man + 1);
  }
}

// A random pair of operands.
inline void pair(const Format& f, Random& r, const std::vector<uint64_t>& list, uint64_t& a,
                 uint64_t& b) {
  uint64_t all = 2 * f.sign() - 1, ones = (1ull << f.man) - 1, top = (1ull << f.exp) - 1;
  uint64_t word = r.next();
  a = word & all;
  b = r.next() & all;
  switch (word >> 60) {
    case 0: case 1: case 2: case 3: return;                   // any bits
    case 4: a = list[r.below(list.size())]; return;
    case 5: b = list[r.below(list.size())]; return;
    case 6: case 7: {                                         // aligned at the edges of the sum
      static const int offsets[] = {0, 0, 1, -1, 1, -1, 2, -2};
      int by = r.below(3) ? offsets[r.below(8)] : (int)r.below(6) + f.man - 2;
      uint64_t e = (a >> f.man & top) + by;
      b = (b & (f.sign() | ones)) | (e & top) << f.man;
      if (r.below(2)) b = (b & ~ones) | sparse(r, f.man);
      if (r.below(2)) a = (a & ~ones) | sparse(r, f.man);
      return;
    }
    case 8:                                                   // massive cancellation
      b = (a ^ 1ull << r.below(f.width())) + r.below(3) - 1;
      b = (b ^ (r.below(2) ? f.sign() : 0)) & all;
      return;
    case 9: case 10:                                          // sparse mantissas: ties
      a = (a & ~ones) | sparse(r, f.man);
      b = (b & ~ones) | sparse(r, f.man);
      return;
    case 11: a &= f.sign() | ones; return;                    // subnormal
    case 12: b &= f.sign() | ones; return;
    case 13: {                                                // product around the least exponent
      uint64_t e = f.bias() + r.below(f.man + 4) - (f.man + 2) - (a >> f.man & top);
      b = (b & (f.sign() | ones)) | (e & top) << f.man;
      return;
    }
    case 14: {                                                // product around overflow
      uint64_t e = top + f.bias() - 2 + r.below(4) - (a >> f.man & top);
      b = (b & (f.sign() | ones)) | (e & top) << f.man;
      return;
    }
    default: {                                                // quotient around the least exponent
      uint64_t e = (a >> f.man & top) + f.bias() - 3 + r.below(f.man + 6);
      b = (b & (f.sign() | ones)) | (e & top) << f.man;
      if (r.below(2)) b = (b & ~ones) | sparse(r, f.man);
      return;
    }
  }
}

// A random fixed-point word: of any length, sparse or all ones.
inline uint64_t fixed_word(Random& r) {
  uint64_t word = r.next();
  switch (r.below(4)) {
    case 0: return word;
    case 1: return (r.below(2) ? 0 - (word >> r.below(64)) : word >> r.below(64));
    case 2: return (1ull << r.below(64)) + (1ull << r.below(64)) - r.below(2);
    default: {
      uint64_t ones = (~0ull >> r.below(64)) << r.below(64);
      return r.below(2) ? ones : ones ^ 1ull << r.below(64);
    }
  }
}

// A float around the range of a fixed-point format.
inline uint64_t around_fixed(const Format& f, Random& r, int integer, int fraction) {
  uint64_t all = 2 * f.sign() - 1, ones = (1ull << f.man) - 1, top = (1ull << f.exp) - 1;
  uint64_t bits = r.next() & all;
  if (!r.below(4)) return bits;
  int64_t e = f.bias() - fraction - 3 + (int64_t)r.below(integer + fraction + 6);
  if (e < 0 || e > (int64_t)top) return bits;
  bits = (bits & (f.sign() | ones)) | (uint64_t)e << f.man;
  return r.below(2) ? bits : (bits & ~ones) | sparse(r, f.man);
}

}  // namespace jd
