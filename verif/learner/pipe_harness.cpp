// SPDX-License-Identifier: Apache-2.0
//
// In-process simulator of jd_learner_pipe, or of jd_learner_spatial_pipe (PIPE_SPATIAL): loads
// memories, runs a step, reads the results.
#include <cstdint>
#include <cstring>
#include <random>

#ifdef PIPE_SPATIAL
#include "Vjd_learner_spatial_pipe.h"
#include "Vjd_learner_spatial_pipe___024root.h"
using Top = Vjd_learner_spatial_pipe;
#define FRAMES(port) \
  jd_learner_spatial_pipe__DOT__u_memories__DOT__gen_frames__BRA__##port##__KET____DOT__u_frames__DOT__mem
#else
#include "Vjd_learner_pipe.h"
#include "Vjd_learner_pipe___024root.h"
using Top = Vjd_learner_pipe;
#define FRAMES(port) \
  jd_learner_pipe__DOT__u_memories__DOT__gen_frames__BRA__##port##__KET____DOT__u_frames__DOT__mem
#endif
#include "flow/harness.h"

namespace {
constexpr int LANES = JD_P;
constexpr int GROUP = JD_LW;
constexpr int BIASES = LANES / 4;

struct Pipe : jackdaw::Simulation<Top> {
  std::mt19937_64 random;
  explicit Pipe(uint32_t seed) : Simulation(seed), random(seed) {}
};

template <class Port>
void put(Port& port, const void* source) {
  std::memcpy(&port, source, sizeof(port));
}
}  // namespace

extern "C" {
Pipe* jd_new(uint32_t seed) {
  Pipe* pipe = new Pipe(seed);
  pipe->top.abort_i = 0;
  pipe->top.stage_write_i = 0;
  pipe->top.step_start_i = 0;
  pipe->top.frame_valid_i = 0;
  pipe->top.scalars_valid_i = 0;
  pipe->top.weight_valid_i = 0;
  pipe->top.weight_gradient_i = 0;
  pipe->top.gradient_read_i = 0;
  pipe->top.result_read_i = 0;
  pipe->top.samples_ready_i = 0;
  pipe->top.update_busy_i = pipe->top.target_busy_i = 0;
  pipe->guarded([&] {
    pipe->reset();
    if (pipe->top.step_busy_o || pipe->top.step_done_o) throw jackdaw::Failure("busy in reset");
    return 0;
  });
  return pipe;
}

int64_t pipe_stage(Pipe* pipe, int index, const uint32_t* words) {
  return pipe->guarded([&] {
    pipe->top.stage_write_i = 1;
    pipe->top.stage_index_i = index;
    put(pipe->top.stage_data_i, words);
    pipe->tick();
    pipe->top.stage_write_i = 0;
    return 0;
  });
}

// Writes rows of LANES weights, or of BIASES biases, a group at a time.
int64_t pipe_weights(Pipe* pipe, int bias, int row, int rows, const uint32_t* words) {
  return pipe->guarded([&] {
    const int width = bias ? BIASES : LANES;
    auto& top = pipe->top;
    top.weight_valid_i = 1;
    top.weight_bias_i = bias;
    const uint64_t all = (1ull << GROUP) - 1;
    put(top.weight_mask_i, &all);
    for (int at = row * width; at < (row + rows) * width; at += GROUP, words += GROUP) {
      top.weight_row_i = at / width;
      top.weight_sub_i = at % width / GROUP;
      top.weight_bias_index_i = at;
      put(top.weight_data_i, words);
      pipe->tick();
    }
    top.weight_valid_i = 0;
    return 0;
  });
}

// Writes whole rows of the frame memory.
int64_t pipe_frame(Pipe* pipe, int row, int rows, const uint32_t* words) {
  return pipe->guarded([&] {
    auto& top = pipe->top;
    const uint64_t all[2] = {~0ull >> (LANES < 64 ? 64 - LANES : 0), ~0ull};
    put(top.frame_mask_i, all);
    for (int k = 0; k < rows; ++k, words += LANES) {
      top.frame_valid_i = 1;
      top.frame_row_i = row + k;
      put(top.frame_data_i, words);
      do {
        pipe->settle();
        pipe->edge();
      } while (!top.frame_ready_o);
    }
    top.frame_valid_i = 0;
    return 0;
  });
}

int64_t pipe_scalars(Pipe* pipe, int parity, int sample, const uint32_t* words) {
  return pipe->guarded([&] {
    auto& top = pipe->top;
    top.scalars_valid_i = 1;
    top.scalars_parity_i = parity;
    top.scalars_sample_i = sample;
    put(top.scalars_i, words);
    pipe->tick();
    top.scalars_valid_i = 0;
    return 0;
  });
}

void pipe_step_words(Pipe* pipe, const uint32_t* words) { put(pipe->top.step_i, words); }

// Runs a step. `slow`: samples become ready at random times, and the networks of `busy` end their
// update late, those of `targets` their target's. `abort_at`: drop the step at that clock, 0 never.
// report: clocks, busy, data, token, update, nonfinite, stage, sample, index, index sample, deltas.
int64_t pipe_step(Pipe* pipe, int batch, int slow, uint32_t busy, uint32_t targets,
                  uint32_t abort_at, uint32_t limit, uint32_t* deltas, uint32_t* slots,
                  uint32_t* report) {
  return pipe->guarded([&] {
    auto& top = pipe->top;
    std::memset(report, 0, 11 * sizeof(uint32_t));
    int ready = slow ? 0 : batch;
    top.update_busy_i = busy;
    top.target_busy_i = targets;
    top.step_start_i = 1;
    for (uint32_t clock = 0; clock < limit; ++clock) {
      top.samples_ready_i = ready;
      top.abort_i = abort_at && clock >= abort_at;
      pipe->settle();
      if (top.step_done_o && clock) {
        report[0] = clock;
        report[5] = top.step_nonfinite_o;
        report[6] = top.nonfinite_stage_o;
        report[7] = top.nonfinite_sample_o;
        report[8] = top.step_index_o;
        report[9] = top.index_sample_o;
        pipe->edge();
        top.abort_i = 0;
        return 0;
      }
      report[1] += top.tensor_busy_o;
      report[2] += top.stall_data_o;
      report[3] += top.stall_token_o;
      report[4] += top.stall_update_o;
      if (top.delta_valid_o) {
        if (report[10] == uint32_t(batch)) throw jackdaw::Failure("too many TD errors");
        slots[report[10]] = top.delta_sample_o;
        deltas[report[10]++] = top.delta_o;
      }
      pipe->edge();
      top.step_start_i = 0;
      if (slow) {
        if (ready < batch && pipe->random() % slow == 0) ++ready;
        if (pipe->random() % 256 == 0) top.update_busy_i = top.target_busy_i = 0;
      } else if (clock > 300) {
        top.update_busy_i = top.target_busy_i = 0;
      }
    }
    throw jackdaw::Failure("the step does not end");
  });
}

// Reads rows of gradients (or of bias gradients), a group at a time.
int64_t pipe_gradients(Pipe* pipe, int bias, int row, int rows, uint32_t* words) {
  return pipe->guarded([&] {
    const int width = bias ? BIASES : LANES;
    auto& top = pipe->top;
    for (int at = row * width; at < (row + rows) * width; at += GROUP, words += GROUP) {
      top.gradient_read_i = 1;
      top.gradient_bias_i = bias;
      top.gradient_row_i = at / width;
      top.gradient_sub_i = at % width / GROUP;
      top.gradient_bias_index_i = at;
      pipe->tick();
      top.gradient_read_i = 0;
      pipe->tick();
      if (!top.gradient_valid_o) throw jackdaw::Failure("no gradient after two clocks");
      std::memcpy(words, &top.gradient_data_o, GROUP * sizeof(uint32_t));
    }
    return 0;
  });
}

#ifdef PIPE_PUBLIC
// Copies rows of the frame memory, from the copy of a port.
void pipe_frames(Pipe* pipe, int port, int row, int rows, uint32_t* words) {
  auto* root = pipe->top.rootp;
  const auto copy = [&](const auto& memory) {
    for (int k = 0; k < rows; ++k) std::memcpy(words + k * LANES, &memory[row + k], 4 * LANES);
  };
  switch (port) {
    case 0: return copy(root->FRAMES(0));
    case 1: return copy(root->FRAMES(1));
#ifdef PIPE_SPATIAL
    case 2: return copy(root->FRAMES(2));
    case 3: return copy(root->FRAMES(3));
    case 4: return copy(root->FRAMES(4));
    case 5: return copy(root->FRAMES(5));
    case 6: return copy(root->FRAMES(6));
#endif
  }
}
#endif
}
