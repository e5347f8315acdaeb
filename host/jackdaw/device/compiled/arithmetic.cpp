// SPDX-License-Identifier: Apache-2.0
//
// The arithmetic of a simulator that does not simulate it: what rtl/lib/float computes, by the
// processor. IEEE 754 binary32, to nearest even, subnormals in and out; every NaN is the canonical
// one. To be compiled without contraction, so that no product is fused with a sum.
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
