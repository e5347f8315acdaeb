// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a device: the Verilated top, its memory, an AXI4-Lite master and a C ABI.
//
// Clock    A clock is settle (clock low: what the registers and this clock's inputs say), a step of
//          the memory on the settled handshakes, edge (clock high), and the inputs of the next clock.
// Failure  A failed assertion or protocol check throws, is caught at the C ABI and kept as message,
//          file and line; the instance then refuses every call and the process lives on.
#include JD_TOP_HEADER

#include <cfenv>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "flow/harness.h"
#include "memory.h"
#include "verilated.h"
#ifdef JD_WAVES
#include "verilated_fst_c.h"
#endif

namespace {

using jackdaw::Failure;
using jackdaw::Fault;
using jackdaw::MemoryConfig;
using jackdaw::MemoryPort;

constexpr int MEM_PORTS = JD_MEM_PORTS;
constexpr int RESET_CLOCKS = 8;
constexpr uint64_t ACCESS_LIMIT = 100000;  // clocks for one register access

// Round to nearest even, with subnormals, whatever this thread's floating point is set to.
struct DefaultArithmetic {
#ifdef JD_COMPILED_ARITHMETIC
    fenv_t before;
    DefaultArithmetic() { fegetenv(&before), fesetenv(FE_DFL_ENV); }
    ~DefaultArithmetic() { fesetenv(&before); }
#endif
};

thread_local std::string printed;  // what the model printed since the last call

struct Simulator {
    VerilatedContext context;
    std::unique_ptr<JD_TOP> top;
    std::vector<MemoryPort> ports;
    std::vector<Fault> faults;
    uint64_t clock = 0;  // since the reset ended
    uint64_t time = 0;   // two units a clock
    bool failed = false;
    std::string message, file;
    int line = 0;
#ifdef JD_WAVES
    std::unique_ptr<VerilatedFstC> waves;
    bool recording = false;
#endif

    ~Simulator() {
        // The model's scopes leave the thread's present context, which may be one that is gone.
        Verilated::threadContextp(&context);
        if (top && !failed) write_coverage(context);
    }

    void dump() {
#ifdef JD_WAVES
        if (recording) waves->dump(time);
#endif
        context.time(++time);  // the checks of the RTL are off at time 0
    }

    void settle() {
        top->clk_i = 0;
        top->eval();
    }

    void edge() {
        dump();
        for (int p = 0; p < MEM_PORTS; p++) ports[p].step(*top, p, clock);
        top->clk_i = 1;
        top->eval();
        dump();
        clock++;
        for (int p = 0; p < MEM_PORTS; p++) ports[p].drive(*top, p);
    }

    void reset() {
        top->rst_ni = 0;
        for (int i = 0; i < RESET_CLOCKS; i++) {
            settle();
            dump();
            top->clk_i = 1;
            top->eval();
            dump();
        }
        top->rst_ni = 1;
    }

    int read(uint32_t address, uint32_t* data) {
        top->s_axil_araddr_i = address;
        top->s_axil_arvalid_i = 1;
        top->s_axil_rready_i = 1;
        for (uint64_t i = 0; i < ACCESS_LIMIT; i++) {
            settle();
            const bool taken = top->s_axil_arvalid_i && top->s_axil_arready_o;
            const bool answered = top->s_axil_rvalid_o;
            const int response = top->s_axil_rresp_o;
            *data = top->s_axil_rdata_o;
            edge();
            if (taken) top->s_axil_arvalid_i = 0;
            if (answered) {
                top->s_axil_rready_i = 0;
                return response;
            }
        }
        throw Failure("a register read was not answered");
    }

    int write(uint32_t address, uint32_t data) {
        top->s_axil_awaddr_i = address;
        top->s_axil_awvalid_i = 1;
        top->s_axil_wdata_i = data;
        top->s_axil_wstrb_i = 0xF;
        top->s_axil_wvalid_i = 1;
        top->s_axil_bready_i = 1;
        for (uint64_t i = 0; i < ACCESS_LIMIT; i++) {
            settle();
            const bool address_taken = top->s_axil_awvalid_i && top->s_axil_awready_o;
            const bool data_taken = top->s_axil_wvalid_i && top->s_axil_wready_o;
            const bool answered = top->s_axil_bvalid_o;
            const int response = top->s_axil_bresp_o;
            edge();
            if (address_taken) top->s_axil_awvalid_i = 0;
            if (data_taken) top->s_axil_wvalid_i = 0;
            if (answered) {
                top->s_axil_bready_i = 0;
                return response;
            }
        }
        throw Failure("a register write was not answered");
    }

    /// Runs until the interrupt is up; returns whether it is.
    bool run(uint64_t max_clocks) {
        settle();
        for (uint64_t i = 0; i < max_clocks && !top->irq_o; i++) {
            edge();
            settle();
        }
        return top->irq_o;
    }

    /// Calls f, and turns what it throws into the kept failure and -1.
    template <typename F>
    int guarded(F f) {
        if (failed) return -1;
        [[maybe_unused]] const DefaultArithmetic arithmetic;
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
};

}  // namespace

// The model's messages are printed by libverilated, which is linked into this library: a hidden
// printf is the one it calls, so that the text of a failed assertion can be kept.
__asm__(".hidden printf");
extern "C" int printf(const char* format, ...) {
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (printed.size() < 65536) printed += text;
    return length;
}

void vl_stop(const char* file, int line, const char* hierarchy) {
    throw Failure(printed.empty() ? std::string("stopped in ") + hierarchy : printed, file, line);
}

void vl_fatal(const char* file, int line, const char*, const char* text) {
    throw Failure(printed.empty() ? std::string(text) : printed + text, file, line);
}

extern "C" {

/// memory: shared bytes of all ports; waves: path of an FST file or null.
void* jd_new(uint8_t* memory, uint64_t bytes, const MemoryConfig* config, uint32_t seed,
             const char* waves) {
    auto* sim = new Simulator;
    sim->guarded([&] {
#ifdef JD_WAVES
        sim->context.traceEverOn(true);
#endif
        sim->top = std::make_unique<JD_TOP>(seeded(sim->context, seed));
        auto& top = *sim->top;
        top.s_axil_arvalid_i = top.s_axil_awvalid_i = top.s_axil_wvalid_i = 0;
        top.s_axil_rready_i = top.s_axil_bready_i = 0;
        for (int p = 0; p < MEM_PORTS; p++) {
            sim->ports.emplace_back(*config, memory, bytes, &sim->faults, p,
                                    jackdaw::Requests::checked);
            sim->ports[p].start(top, p);
        }
#ifdef JD_WAVES
        if (waves) {
            sim->waves = std::make_unique<VerilatedFstC>();
            top.trace(sim->waves.get(), 99);
            sim->waves->open(waves);
            sim->recording = true;
        }
#else
        (void)waves;
#endif
        sim->reset();
        return 0;
    });
    return sim;
}

void jd_free(void* handle) {
    auto* sim = static_cast<Simulator*>(handle);
#ifdef JD_WAVES
    if (sim->waves) sim->waves->close();
#endif
    delete sim;
}

/// The response (0..3), or -1 if the simulation failed.
int jd_read(void* handle, uint32_t address, uint32_t* data) {
    auto* sim = static_cast<Simulator*>(handle);
    return sim->guarded([&] { return sim->read(address, data); });
}

int jd_write(void* handle, uint32_t address, uint32_t data) {
    auto* sim = static_cast<Simulator*>(handle);
    return sim->guarded([&] { return sim->write(address, data); });
}

/// 1 as soon as the interrupt is up, 0 after max_clocks without it, -1 if the simulation failed.
int jd_run(void* handle, uint64_t max_clocks) {
    auto* sim = static_cast<Simulator*>(handle);
    return sim->guarded([&] { return static_cast<int>(sim->run(max_clocks)); });
}

/// Answers every beat of the given direction (1 read, 2 write, 3 both) in [first, last] so.
void jd_fault(void* handle, uint64_t first, uint64_t last, int response, int direction) {
    static_cast<Simulator*>(handle)->faults.push_back({first, last, response, direction});
}

void jd_clear_faults(void* handle) { static_cast<Simulator*>(handle)->faults.clear(); }

void jd_record(void* handle, int on) {
#ifdef JD_WAVES
    auto* sim = static_cast<Simulator*>(handle);
    sim->recording = on && sim->waves;
#else
    (void)handle, (void)on;
#endif
}

uint64_t jd_clock(void* handle) { return static_cast<Simulator*>(handle)->clock; }

const char* jd_failure(void* handle, const char** file, int* line) {
    auto* sim = static_cast<Simulator*>(handle);
    *file = sim->file.c_str();
    *line = sim->line;
    return sim->failed ? sim->message.c_str() : nullptr;
}

}  // extern "C"
