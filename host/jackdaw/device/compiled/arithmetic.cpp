// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a simulator that does not simulate it: what rtl/lib/float computes, by the
// processor. IEEE 754 binary32, to nearest even, subnormals in and out; every NaN is the canonical
// one. To be compiled without contraction, so that no product is fused with a sum.
//
// Binary16 goes by way of binary32: its numbers are normal there, a product is exact, and a sum that
// is rounded twice is as one that is rounded once, as 24 >= 2 * 11 + 2 (Figueroa 1995).
#include <cstdint>
#include <cstring>

static_assert(sizeof(float) == 4);

static float value(uint32_t bits) {
    float number;
    std::memcpy(&number, &bits, sizeof number);
    return number;
}

static uint32_t canonical(float number) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    return number == number ? bits : 0x7FC00000;
}

extern "C" unsigned jd_compiled_mul(unsigned a, unsigned b) { return canonical(value(a) * value(b)); }

extern "C" unsigned jd_compiled_add(unsigned a, unsigned b) { return canonical(value(a) + value(b)); }

static float wide(uint32_t half) {
    const uint32_t sign = (half & 0x8000) << 16, rest = half & 0x7FFF;
    if (rest >= 0x7C00) return value(sign | (rest == 0x7C00 ? 0x7F800000 : 0x7FC00000));
    if (rest >= 0x0400) return value(sign | (rest + (112u << 10)) << 13);
    const float magnitude = static_cast<float>(rest) * 0x1p-24f;  // subnormal
    return sign ? -magnitude : magnitude;
}

static uint32_t narrow(float number) {
    uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    const uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
    if (rest > 0x7F800000) return 0x7E00;
    if (rest >= 0x47800000) return sign | 0x7C00;  // 65536 and more
    if (rest >= 0x38800000) {                      // 2^-14 and more; may round up to infinity
        return sign | (rest - (112u << 23) + 0xFFF + (rest >> 13 & 1)) >> 13;
    }
    // The sum with 2^-1 has its last place at 2^-24, as subnormals of binary16 have.
    uint32_t rounded;
    const float sum = value(rest) + 0.5f;
    std::memcpy(&rounded, &sum, sizeof rounded);
    return sign | (rounded - 0x3F000000);
}

extern "C" unsigned jd_compiled_mul_half(unsigned a, unsigned b) { return narrow(wide(a) * wide(b)); }

extern "C" unsigned jd_compiled_add_half(unsigned a, unsigned b) { return narrow(wide(a) + wide(b)); }
