// SPDX-License-Identifier: Apache-2.0
//
// Streams operands through one lane of jd_float_lanes, one per clock or with random gaps, and checks
// every result and the clock in which it appears against reference.hpp.
#include <deque>
#include <vector>

#include "Vjd_float_lanes.h"
#include "flow/harness.h"
#include "operands.hpp"
#include "reference.hpp"

namespace {

using namespace jd;
constexpr Format FORMAT{JD_ExpW, JD_ManW};

struct Lane {
  int operation, latency, integer, fraction;
  bool is_signed;
  explicit Lane(uint32_t word)
      : operation(word >> 24 & 127), latency(word >> 16 & 255), integer(word >> 8 & 255),
        fraction(word & 255), is_signed(!(word >> 31)) {}

  uint64_t want(uint64_t a, uint64_t b, bool subtract) const {
    int width = integer + fraction;
    if (operation == FROM_FIXED) return from_fixed(FORMAT, a, width, fraction, is_signed);
    if (operation == TO_FIXED) return to_fixed(FORMAT, a, width, fraction, is_signed);
    if (FORMAT.binary32()) {
      if (operation == COMPARE) return compare(as_float(a), as_float(b));
      return from_float(compute(operation, subtract, as_float(a), as_float(b)));
    }
    double x = to_double(FORMAT, a), y = to_double(FORMAT, b);
    if (operation == COMPARE) return compare(x, y);
    return from_double(FORMAT, compute(operation, subtract, x, y));
  }
};

struct Item {
  uint64_t a, b;
  bool subtract;
};

struct Report {                                               // as ctypes reads it
  uint64_t compared, mismatches, a, b, subtract, got, want;   // the first mismatch
};

struct Simulation : jackdaw::Simulation<Vjd_float_lanes> {
  explicit Simulation(uint32_t seed) : jackdaw::Simulation<Vjd_float_lanes>(seed) {
    guarded([&] {
      reset();
      return 0;
    });
  }

  Lane lane(int index) { return Lane(top.lane_o[index]); }

  // Takes operands from `next` until it has no more, and gives each result to `take`.
  template <class Next, class Take>
  void stream(int index, uint64_t gap_seed, Next next, Take take) {
    int latency = lane(index).latency;
    uint64_t bit = 1ull << index, expected = 0;               // bit i: a result i clocks from now
    std::deque<Item> flying;
    Random gaps{gap_seed};
    Item item{};
    bool more = true;
    while (more || expected) {
      bool offer = more && !(gap_seed && gaps.below(3) == 0);
      if (offer) more = offer = next(item);
      top.valid_i = offer ? bit : 0;
      if (offer) {
        top.a_i = item.a, top.b_i = item.b, top.subtract_i = item.subtract;
        flying.push_back(item);
        expected |= 1ull << latency;
      }
      tick();
      expected >>= 1;
      if (top.valid_o != (expected & 1 ? bit : 0))
        throw jackdaw::Failure("valid_o in the wrong clock");
      if (expected & 1) {
        take(flying.front(), top.result_o[index]);
        flying.pop_front();
        expected &= ~1ull;
      }
    }
  }

  template <class Next> Report check(int index, uint64_t gap_seed, Next next) {
    Report report{};
    Lane lane_is = lane(index);
    stream(index, gap_seed, next, [&](const Item& item, uint64_t got) {
      uint64_t want = lane_is.want(item.a, item.b, item.subtract);
      if (got != want && !report.mismatches++) {
        report.a = item.a, report.b = item.b, report.subtract = item.subtract;
        report.got = got, report.want = want;
      }
      report.compared++;
    });
    return report;
  }
};

Report check_cross(Simulation& sim, int index, uint64_t gap_seed) {
  std::vector<uint64_t> list = representatives(FORMAT);
  size_t i = 0, j = 0;
  bool subtract = false;
  bool both = sim.lane(index).operation == ADD;
  return sim.check(index, gap_seed, [&](Item& item) {
    if (i == list.size()) return false;
    item = {list[i], list[j], subtract};
    if (both && !subtract) return subtract = true;
    subtract = false;
    if (++j == list.size()) j = 0, i++;
    return true;
  });
}

// Every pair of exponents, with mantissas of zeros and of ones; signs alternate.
Report check_exponents(Simulation& sim, int index, uint64_t gap_seed) {
  const uint64_t count = 1ull << (2 * FORMAT.exp + 2);
  const uint64_t ones = (1ull << FORMAT.man) - 1, mask = (1ull << FORMAT.exp) - 1;
  uint64_t n = 0;
  return sim.check(index, gap_seed, [&](Item& item) {
    if (n == count) return false;
    uint64_t e = n >> 2;
    item.a = (e & mask) << FORMAT.man | (n & 1 ? ones : 0) | (n & 8 ? FORMAT.sign() : 0);
    item.b = (e >> FORMAT.exp) << FORMAT.man | (n & 2 ? ones : 0) | (n & 16 ? FORMAT.sign() : 0);
    item.subtract = (e ^ n) & 1;
    n++;
    return true;
  });
}

Report check_random(Simulation& sim, int index, uint64_t count, uint64_t seed, uint64_t gap_seed) {
  Lane lane = sim.lane(index);
  std::vector<uint64_t> list = representatives(FORMAT);
  Random random{seed};
  uint64_t n = 0;
  return sim.check(index, gap_seed, [&](Item& item) {
    if (n++ == count) return false;
    item = {};
    if (lane.operation == FROM_FIXED) {
      item.a = fixed_word(random);
    } else if (lane.operation == TO_FIXED) {
      item.a = around_fixed(FORMAT, random, lane.integer, lane.fraction);
    } else {
      pair(FORMAT, random, list, item.a, item.b);
      item.subtract = random.next() & 1;
    }
    return true;
  });
}

// Operands first..last-1, the pair (a, b) counted as one number with a in the low bits.
Report check_range(Simulation& sim, int index, uint64_t first, uint64_t last, uint64_t gap_seed) {
  Lane lane = sim.lane(index);
  int width = lane.operation == FROM_FIXED ? 64 : FORMAT.width();
  uint64_t mask = width == 64 ? ~0ull : (1ull << width) - 1;
  return sim.check(index, gap_seed, [&](Item& item) {
    if (first == last) return false;
    item = {first & mask, width == 64 ? 0 : first >> width & mask, false};
    first++;
    return true;
  });
}

}  // namespace

extern "C" {

Simulation* jd_new(uint32_t seed) { return new Simulation(seed); }
uint32_t jd_lane(Simulation* sim, int index) {
  Lane lane = sim->lane(index);
  return uint32_t(lane.operation | (lane.is_signed ? 0 : 128)) << 24 | lane.latency << 16 |
         lane.integer << 8 | lane.fraction;
}

// mode 0: classes x classes; 1: exponents x exponents; 2: `count` random; 3: range first..count-1.
int64_t jd_check(Simulation* sim, int index, int mode, uint64_t count, uint64_t first,
                 uint64_t gap_seed, Report* report) {
  return sim->guarded([&] {
    switch (mode) {
      case 0: *report = check_cross(*sim, index, gap_seed); break;
      case 1: *report = check_exponents(*sim, index, gap_seed); break;
      case 2: *report = check_random(*sim, index, count, first, gap_seed); break;
      default: *report = check_range(*sim, index, first, count, gap_seed); break;
    }
    return 0;
  });
}

int64_t jd_run(Simulation* sim, int index, uint64_t count, const uint64_t* a, const uint64_t* b,
               int subtract, uint64_t* out) {
  return sim->guarded([&] {
    uint64_t n = 0, done = 0;
    sim->stream(
        index, 0,
        [&](Item& item) {
          if (n == count) return false;
          item = {a[n], b[n], subtract != 0};
          n++;
          return true;
        },
        [&](const Item&, uint64_t got) { out[done++] = got; });
    return 0;
  });
}

// The reference alone, to be checked against NumPy.
uint64_t jd_reference(uint32_t lane, uint64_t a, uint64_t b, int subtract) {
  return Lane(lane).want(a, b, subtract != 0);
}
}
