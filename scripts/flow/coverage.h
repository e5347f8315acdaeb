// SPDX-License-Identifier: Apache-2.0
//
// For the harnesses of in-process simulators: leaves the coverage of a model that ran without
// failure in a file of its own. Call it while the model lives; without coverage it does nothing.
#ifndef FLOW_COVERAGE_H
#define FLOW_COVERAGE_H
#include "verilated.h"
#ifdef JD_COVERAGE
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>

#include "verilated_cov.h"
#endif

inline void write_coverage(VerilatedContext& context) {
#ifdef JD_COVERAGE
    static std::atomic<unsigned> number{0};
    const auto now = std::chrono::system_clock::now().time_since_epoch().count();
    context.coveragep()->write(std::string(JD_COVERAGE "/") + std::to_string(getpid()) + "-" +
                               std::to_string(now) + "-" + std::to_string(number++) + ".dat");
#else
    (void)context;
#endif
}

#endif
