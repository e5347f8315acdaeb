// SPDX-License-Identifier: Apache-2.0
//
// What the harnesses of in-process simulators share: random start values and coverage.
#ifndef FLOW_HARNESS_H
#define FLOW_HARNESS_H
#include <cstdint>

#include "verilated.h"
#ifdef JD_COVERAGE
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <string>

#include "verilated_cov.h"
#endif

// Registers start at random values of the seed. A model draws them while it is constructed, so it is
// constructed with what this returns.
inline VerilatedContext* seeded(VerilatedContext& context, uint32_t seed) {
    context.randReset(2);
    context.randSeed(static_cast<int>(seed & 0x3FFFFFFF) + 1);  // 0 would be the time
    return &context;
}

// Leaves the coverage of a model that ran without failure in a file of its own, in the folder that
// JD_COVERAGE_FOLDER names. Call it while the model lives; without coverage it does nothing.
inline void write_coverage(VerilatedContext& context) {
#ifdef JD_COVERAGE
    static std::atomic<unsigned> number{0};
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    const char* const folder = std::getenv("JD_COVERAGE_FOLDER");
    if (!folder) return;
    context.coveragep()->write(std::string(folder) + "/" + std::to_string(getpid()) + "-" +
                               std::to_string(now) + "-" + std::to_string(number++) + ".dat");
#else
    (void)context;
#endif
}

#endif
