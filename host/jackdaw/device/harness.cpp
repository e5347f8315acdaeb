// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of a device: the Verilated top, its memory, an AXI4-Lite master and a C ABI.
//
// Clock    A clock is settle (clock low: what the registers and this clock's inputs say), a step of
//          the memory on the settled handshakes, edge (clock high), and the inputs of the next clock.
#include JD_TOP_HEADER

#include <cfenv>
#include <vector>

#include "flow/harness.h"
#include "flow/memory.h"

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

struct Device : jackdaw::Simulation<JD_TOP> {
    std::vector<MemoryPort> ports;
    std::vector<Fault> faults;

    Device(uint8_t* memory, uint64_t bytes, const MemoryConfig& config, uint32_t seed)
        : Simulation(seed) {
        top.s_axil_arvalid_i = top.s_axil_awvalid_i = top.s_axil_wvalid_i = 0;
        top.s_axil_rready_i = top.s_axil_bready_i = 0;
        for (int p = 0; p < MEM_PORTS; p++) {
            ports.emplace_back(config, memory, bytes, &faults, p, jackdaw::Requests::checked);
            ports[p].start(top, p);
        }
    }

    void clock() {
        for (int p = 0; p < MEM_PORTS; p++) ports[p].step(top, p, clocks);
        edge();
        for (int p = 0; p < MEM_PORTS; p++) ports[p].drive(top, p);
    }

    int read(uint32_t address, uint32_t* data) {
        top.s_axil_araddr_i = address;
        top.s_axil_arvalid_i = 1;
        top.s_axil_rready_i = 1;
        for (uint64_t i = 0; i < ACCESS_LIMIT; i++) {
            settle();
            const bool taken = top.s_axil_arvalid_i && top.s_axil_arready_o;
            const bool answered = top.s_axil_rvalid_o;
            const int response = top.s_axil_rresp_o;
            *data = top.s_axil_rdata_o;
            clock();
            if (taken) top.s_axil_arvalid_i = 0;
            if (answered) {
                top.s_axil_rready_i = 0;
                return response;
            }
        }
        throw Failure("a register read was not answered");
    }

    int write(uint32_t address, uint32_t data) {
        top.s_axil_awaddr_i = address;
        top.s_axil_awvalid_i = 1;
        top.s_axil_wdata_i = data;
        top.s_axil_wstrb_i = 0xF;
        top.s_axil_wvalid_i = 1;
        top.s_axil_bready_i = 1;
        for (uint64_t i = 0; i < ACCESS_LIMIT; i++) {
            settle();
            const bool address_taken = top.s_axil_awvalid_i && top.s_axil_awready_o;
            const bool data_taken = top.s_axil_wvalid_i && top.s_axil_wready_o;
            const bool answered = top.s_axil_bvalid_o;
            const int response = top.s_axil_bresp_o;
            clock();
            if (address_taken) top.s_axil_awvalid_i = 0;
            if (data_taken) top.s_axil_wvalid_i = 0;
            if (answered) {
                top.s_axil_bready_i = 0;
                return response;
            }
        }
        throw Failure("a register write was not answered");
    }

    /// Runs until the interrupt is up; returns whether it is.
    bool run(uint64_t max_clocks) {
        settle();
        for (uint64_t i = 0; i < max_clocks && !top.irq_o; i++) {
            clock();
            settle();
        }
        return top.irq_o;
    }

    template <typename F>
    int64_t guarded(F f) {
        [[maybe_unused]] const DefaultArithmetic arithmetic;
        return Simulation::guarded(f);
    }
};

}  // namespace

extern "C" {

/// memory: shared bytes of all ports; waves: path of an FST file or null.
Device* jd_new(uint8_t* memory, uint64_t bytes, const MemoryConfig* config, uint32_t seed,
               const char* waves) {
    auto* device = new Device(memory, bytes, *config, seed);
    if (waves) device->record(waves);
    device->guarded([&] {
        device->reset(RESET_CLOCKS);
        return 0;
    });
    return device;
}

/// The response (0..3), or -1 if the simulation failed.
int jd_read(Device* device, uint32_t address, uint32_t* data) {
    return static_cast<int>(device->guarded([&] { return device->read(address, data); }));
}

int jd_write(Device* device, uint32_t address, uint32_t data) {
    return static_cast<int>(device->guarded([&] { return device->write(address, data); }));
}

/// 1 as soon as the interrupt is up, 0 after max_clocks without it, -1 if the simulation failed.
int jd_run(Device* device, uint64_t max_clocks) {
    return static_cast<int>(device->guarded([&] { return device->run(max_clocks); }));
}

/// Answers every beat of the given direction (1 read, 2 write, 3 both) in [first, last] so.
void jd_fault(Device* device, uint64_t first, uint64_t last, int response, int direction) {
    device->faults.push_back({first, last, response, direction});
}

void jd_clear_faults(Device* device) { device->faults.clear(); }

void jd_record([[maybe_unused]] Device* device, [[maybe_unused]] int on) {
#ifdef JD_WAVES
    device->recording = on && device->waves;
#endif
}

uint64_t jd_clock(Device* device) { return device->clocks; }

}  // extern "C"
