// SPDX-License-Identifier: Apache-2.0
//
// What the floating-point blocks must compute, from the host's IEEE arithmetic.
//
// binary32 comes from the host's own operations, which round once. Any other format is computed in
// binary64 (exact for sums and products of binary16; for quotients and roots more than twice as
// precise, so that rounding twice is rounding once) and rounded by `round_to`, an integer routine.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace jd {

enum Operation { MUL = 0, ADD = 1, DIV = 2, SQRT = 3, COMPARE = 4, FROM_FIXED = 5, TO_FIXED = 6 };

struct Format {
  int exp, man;
  int width() const { return 1 + exp + man; }
  int bias() const { return (1 << (exp - 1)) - 1; }
  uint64_t sign() const { return 1ull << (exp + man); }
  uint64_t infinity() const { return ((1ull << exp) - 1) << man; }
  uint64_t nan() const { return infinity() | 1ull << (man - 1); }
  bool is_nan(uint64_t bits) const { return (bits & (sign() - 1)) > infinity(); }
  bool binary32() const { return exp == 8 && man == 23; }
};

// The format's number nearest to (-1)**minus * magnitude * 2**exponent; ties to even.
inline uint64_t round_to(const Format& f, bool minus, uint64_t magnitude, int exponent) {
  uint64_t sign = minus ? f.sign() : 0;
  if (!magnitude) return sign;
  int top = 63 - __builtin_clzll(magnitude) + exponent;       // 2**top <= value < 2**(top+1)
  int lowest = 1 - f.bias();                                  // exponent of subnormal numbers
  int unit = (top > lowest ? top : lowest) - f.man;           // weight of the last place
  int drop = unit - exponent;                                 // bits that do not fit
  unsigned __int128 kept, rest, half;
  if (drop <= 0) {
    kept = (unsigned __int128)magnitude << -drop, rest = 0, half = 1;
  } else if (drop > 64) {
    kept = 0, rest = 1, half = 2;
  } else {
    unsigned __int128 one = 1;
    kept = (unsigned __int128)magnitude >> drop;
    rest = magnitude & ((one << drop) - 1);
    half = one << (drop - 1);
  }
  if (rest > half || (rest == half && (kept & 1))) kept += 1;
  // kept counts units: the hidden bit adds one to the exponent field, and so does a carry.
  int64_t field = top > lowest ? top + f.bias() - 1 : 0;
  unsigned __int128 bits = ((unsigned __int128)field << f.man) + kept;
  return sign | (bits >= f.infinity() ? f.infinity() : (uint64_t)bits);
}

inline double to_double(const Format& f, uint64_t bits) {
  int exponent = (bits >> f.man) & ((1 << f.exp) - 1);
  uint64_t man = bits & ((1ull << f.man) - 1);
  double value;
  if (exponent == (1 << f.exp) - 1) value = man ? NAN : INFINITY;
  else if (!exponent) value = std::ldexp((double)man, 1 - f.bias() - f.man);
  else value = std::ldexp((double)(man | 1ull << f.man), exponent - f.bias() - f.man);
  return bits & f.sign() ? -value : value;
}

inline uint64_t from_double(const Format& f, double value) {
  if (std::isnan(value)) return f.nan();
  if (std::isinf(value)) return f.infinity() | (value < 0 ? f.sign() : 0);
  uint64_t bits;
  std::memcpy(&bits, &value, 8);
  int exponent = bits >> 52 & 2047;
  uint64_t man = (bits & ((1ull << 52) - 1)) | (exponent ? 1ull << 52 : 0);
  return round_to(f, bits >> 63, man, (exponent ? exponent : 1) - 1075);
}

inline float as_float(uint64_t bits) {
  uint32_t word = (uint32_t)bits;
  float value;
  std::memcpy(&value, &word, 4);
  return value;
}

inline uint64_t from_float(float value) {
  uint32_t word;
  std::memcpy(&word, &value, 4);
  return value != value ? 0x7fc00000u : word;
}

template <class Real> Real compute(int operation, bool subtract, Real a, Real b) {
  switch (operation) {
    case MUL: return a * b;
    case ADD: return subtract ? a - b : a + b;
    case DIV: return a / b;
    default: return std::sqrt(a);
  }
}

template <class Real> uint64_t compare(Real a, Real b) {
  return (a < b ? 1 : 0) | (a == b ? 2 : 0) | (a != a || b != b ? 4 : 0);
}

inline uint64_t from_fixed(const Format& f, uint64_t value, int width, int fraction,
                           bool is_signed) {
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  bool minus = is_signed && (value >> (width - 1) & 1);
  uint64_t magnitude = (minus ? 0 - value : value) & mask;
  if (f.binary32()) {                                         // one rounding, by the host
    long double exact = std::ldexp((long double)magnitude, -fraction);
    return from_float((float)(minus ? -exact : exact));
  }
  return magnitude ? round_to(f, minus, magnitude, -fraction) : 0;
}

inline uint64_t to_fixed(const Format& f, uint64_t bits, int width, int fraction, bool is_signed) {
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  uint64_t most = is_signed ? mask >> 1 : mask;
  uint64_t least = is_signed ? (mask >> 1) + 1 : 0;
  double value = to_double(f, bits);
  if (std::isnan(value)) return most;
  long double scaled = std::nearbyint(std::ldexp((long double)value, fraction));
  if (scaled >= (long double)most) return most;
  if (scaled <= (is_signed ? -(long double)least : 0.0L)) return least;
  return (scaled < 0 ? 0 - (uint64_t)-scaled : (uint64_t)scaled) & mask;
}

}  // namespace jd
