// SPDX-License-Identifier: Apache-2.0
//
// Drives jd_replay_priority or jd_replay_weight from memory, one word a clock.
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "flow/harness.h"

#ifdef JD_WEIGHT
#include "Vjd_replay_weight.h"
using Top = Vjd_replay_weight;
#else
#include "Vjd_replay_priority.h"
using Top = Vjd_replay_priority;
#endif

void vl_stop(const char* file, int line, const char*) {
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line));
}
void vl_fatal(const char* file, int line, const char* hier, const char*) { vl_stop(file, line, hier); }
double sc_time_stamp() { return 0; }

// settings: alpha, eps, fraction bits, smallest, largest; or beta, minimum.
// Returns the latency in clocks, negative if an output came at another time or a check fired.
extern "C" int run(const uint32_t* settings, const uint32_t* in, uint32_t* out, uint8_t* flag,
                   uint64_t count, uint64_t gap) {
    VerilatedContext context;
    Top top{seeded(context, 0)};
    auto clock = [&] {
        top.clk_i = 0;
        top.eval();
        top.clk_i = 1;
        top.eval();
        context.timeInc(1);
    };
    try {
        top.rst_ni = 0;
        top.valid_i = 0;
#ifdef JD_WEIGHT
        top.beta_i = settings[0];
        top.minimum_i = settings[1];
#else
        top.alpha_i = settings[0];
        top.eps_i = settings[1];
        top.fraction_bits_i = settings[2];
        top.smallest_i = settings[3];
        top.largest_i = settings[4];
#endif
        for (int i = 0; i < 4; i++) clock();
        top.rst_ni = 1;
        uint64_t sent = 0, got = 0;
        int latency = 0;
        for (uint64_t time = 0; got < count; time++) {
            top.clk_i = 0;
            const bool send = sent < count && (gap == 0 || time % gap != 0);
            top.valid_i = send;
            const uint32_t word = in[sent < count ? sent : 0];
#ifdef JD_WEIGHT
            top.priority_i = send ? word : settings[1];
#else
            top.error_i = word;
#endif
            top.eval();
            if (top.valid_o) {
                if (got == 0) latency = static_cast<int>(time - (gap == 1 ? 0 : gap != 0));
#ifdef JD_WEIGHT
                out[got] = top.weight_o;
                flag[got++] = 0;
#else
                out[got] = top.priority_o;
                flag[got++] = top.nonfinite_o;
#endif
            }
            sent += send;
            if (time > 3 * count + 1000) return -1;
            top.clk_i = 1;
            top.eval();
            context.timeInc(1);
        }
        write_coverage(context);
        return latency;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "check failed: %s\n", error.what());
        return -2;
    }
}
