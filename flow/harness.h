// SPDX-License-Identifier: Apache-2.0
//
// What the harnesses of in-process simulators share: a model with its clock, random start values,
// failures, coverage and waves, and the C functions that flow/library.py calls of each.
//
// Clock    settle: the clock is low, the outputs follow the inputs; edge: the clock rises; tick: both.
// Failure  A check that fails throws, is caught by `guarded` and kept as message, file, line and
//          clock; the instance then refuses every call and the process lives on.
#ifndef FLOW_HARNESS_H
#define FLOW_HARNESS_H
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

#include "verilated.h"
#ifdef JD_WAVES
#include "verilated_fst_c.h"
#endif
#ifdef JD_COVERAGE
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "verilated_cov.h"
#endif

namespace jackdaw {

/// A failed check: of the RTL, at its place there, or of a harness.
struct Failure : std::runtime_error {
    std::string file;
    int line;
    explicit Failure(const std::string& message, const char* at = "", int number = 0)
        : std::runtime_error(message), file(at), line(number) {}
};

inline thread_local std::string printed;  // what the model printed since the last call

/// What flow/library.py knows of a simulator.
struct Harness {
    bool failed = false;
    std::string message, file;
    int line = 0;
    uint64_t clocks = 0;  // edges with the reset ended
    virtual ~Harness() = default;
};

/// A model in a context of its own.
template <class Top>
struct Simulation : Harness {
    VerilatedContext context;
    Top top;

    explicit Simulation(uint32_t seed) : top(seeded(context, seed)) {}

    ~Simulation() override {
        // The model's scopes leave the thread's present context, which may be one that is gone.
        Verilated::threadContextp(&context);
        if (!failed) write_coverage();
#ifdef JD_WAVES
        if (waves) waves->close();
#endif
    }

    void settle() {
        top.clk_i = 0;
        top.eval();
    }

    void edge() {
        dump();
        top.clk_i = 1;
        top.eval();
        dump();
        clocks++;
    }

    void tick() {
        settle();
        edge();
    }

    void reset(int length = 4) {
        top.rst_ni = 0;
        for (int i = 0; i < length; i++) tick();
        top.rst_ni = 1;
        clocks = 0;
    }

    /// Calls f and returns its number; keeps what it throws, and returns -1.
    template <class F>
    int64_t guarded(F f) {
        if (failed) return -1;
        Verilated::threadContextp(&context);
        printed.clear();
        try {
            return f();
        } catch (const Failure& failure) {
            message = failure.what();
            file = failure.file;
            line = failure.line;
        }
        failed = true;
        return -1;
    }

    /// Records waves in a file, where the simulator was built for it.
    void record([[maybe_unused]] const char* path) {
#ifdef JD_WAVES
        waves = std::make_unique<VerilatedFstC>();
        top.trace(waves.get(), 99);
        waves->open(path);
        recording = true;
#endif
    }

#ifdef JD_WAVES
    std::unique_ptr<VerilatedFstC> waves;
    bool recording = false;
#endif

  private:
    // Registers start at random values of the seed. A model draws them while it is constructed.
    static VerilatedContext* seeded(VerilatedContext& context, uint32_t seed) {
        context.randReset(2);
        context.randSeed(static_cast<int>(seed & 0x3FFFFFFF) + 1);  // 0 would be the time
#ifdef JD_WAVES
        context.traceEverOn(true);
#endif
        return &context;
    }

    // Half a clock ends; the checks of the RTL are off at time 0.
    void dump() {
#ifdef JD_WAVES
        if (recording) waves->dump(context.time());
#endif
        context.timeInc(1);
    }

    // A file of its own for each model that ran without failure, in the folder JD_COVERAGE_FOLDER.
    void write_coverage() {
#ifdef JD_COVERAGE
        static std::atomic<unsigned> number{0};
        const auto now = std::chrono::system_clock::now().time_since_epoch().count();
        const char* const folder = std::getenv("JD_COVERAGE_FOLDER");
        if (!folder) return;
        context.coveragep()->write(std::string(folder) + "/" + std::to_string(getpid()) + "-" +
                                   std::to_string(now) + "-" + std::to_string(number++) + ".dat");
#endif
    }
};

}  // namespace jackdaw

// The model's messages are printed by libverilated, which is linked into this library: a hidden
// printf is the one it calls, so that the text of a failed assertion can be kept.
__asm__(".hidden printf");
extern "C" int printf(const char* format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (jackdaw::printed.size() < 65536) jackdaw::printed += text;
    return length;
}

void vl_stop(const char* file, int line, const char* hierarchy) {
    const std::string& printed = jackdaw::printed;
    throw jackdaw::Failure(printed.empty() ? std::string("stopped in ") + hierarchy : printed, file,
                           line);
}

void vl_fatal(const char* file, int line, const char*, const char* text) {
    throw jackdaw::Failure(jackdaw::printed + text, file, line);
}

extern "C" {

void jd_free(jackdaw::Harness* harness) { delete harness; }

/// What failed, where and when, or null.
const char* jd_failure(jackdaw::Harness* harness, const char** file, int* line, uint64_t* clock) {
    *file = harness->file.c_str();
    *line = harness->line;
    *clock = harness->clocks;
    return harness->failed ? harness->message.c_str() : nullptr;
}
}

#endif
