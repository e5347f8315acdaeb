// SPDX-License-Identifier: Apache-2.0
//
// A pipeline of the learner: runs the stages of a gradient step, except WU and TSM, on its samples.
//
// Streams  step_*: one step at a time; step_done_o for one clock at its end, when every result is
//          written and all TD errors are out; the error outputs hold from then to the next start.
//          frame_*: words of samples, taken in any clock with ready (they wait for the tensor unit's
//          results); scalars are a pipe. Both may run one step ahead (other parity).
//          delta_*: TD errors, ascending samples, a pipe: the taker has room for a batch.
//          gradient_* and weight_*: pipes, LW words a clock. Weights of a network are not written
//          and its gradients not read while a stage of it can run: either between steps, or with
//          the network's bit in update_busy_i, if the program's wait masks name it.
// Timing   a gradient read answers in 2 clocks. Clocks of a step: the sum over the stages of
//          DOT ceil(n_out*p/P), AXPY n_out*ceil(p/P), OUTER max(2, ceil(n_out*p/P)) a sample
//          (p: words of a packed row), and the turn-around of the tensor unit between modes.
// Numbers  binary32; orders of accumulation as in jd_learner_tensor_unit and jd_learner_loss.
//          The program must keep (checked by PROGRAM, not here):
//          - sizes 1..DMax; rows, biases and frames inside their memories;
//          - a stage depends on all writers of what it reads (a vector of a frame, by rows); the
//            dependencies are earlier stages, and never WU or TSM;
//          - no stage writes rows of a frame that an earlier stage may still read: each vector has
//            its own rows. s and s' have state_rows rows for each parity, one copy after the other;
//          - one writer's outputs stay in a row each clock: offset % P + n_out <= P, or the offset
//            is 0; AXPY has offset 0; LOSS has n_out <= P and its vectors at a row's first lane;
//          - the OUTER stages of a chain are adjacent, the last one without the chain bit; a row of
//            G belongs to one OUTER stage only.
// Source   onchip_replay 3.2 (learner pipeline). Golden model: models/learner/program.py.
`include "jd_assert.svh"
module jd_learner_pipe
  import jd_learner_pkg::*;
#(
  parameter  int unsigned P          = 16,      // lanes, power of two 8..128
  parameter  int unsigned OB         = P / 4,   // words of a bias row: P/4
  parameter  int unsigned GI         = 8,       // samples of an AXPY group, >= AddLatency + 2, 8..16
  parameter  int unsigned LW         = 4,       // words of a weight write, divides OB
  parameter  int unsigned MulLatency = 2,       // 1..4
  parameter  int unsigned AddLatency = 2,       // 1..6
  parameter  int unsigned WRows      = 1024,    // rows of P weights; also of OB biases
  parameter  int unsigned ARows      = 2048,    // rows of P words for frames
  parameter  int unsigned BMax       = 64,      // samples of a step, 1..512
  parameter  int unsigned DMax       = 64,      // largest layer, power of two P..256
  localparam int unsigned RowW       = $clog2(WRows),
  localparam int unsigned BiasW      = RowW + $clog2(OB),
  localparam int unsigned SubW       = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1,
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1,
  localparam int unsigned LaneW      = $clog2(P)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                abort_i,            // level: drop the step; step_done_o still comes
  // Stage table; written between steps.
  input  logic                stage_write_i,
  input  logic [STAGE_L-1:0]  stage_index_i,
  input  stage_t              stage_data_i,
  // Steps.
  input  logic                step_start_i,       // only if !step_busy_o
  input  step_t               step_i,             // held until step_done_o
  input  logic [SampleW:0]    samples_ready_i,    // samples 0.. of the step that are complete
  input  logic [NET_MAX-1:0]  update_busy_i,      // networks whose update is not finished
  output logic                step_busy_o,
  output logic                step_done_o,
  output logic                step_nonfinite_o,   // a NaN or infinity in delta, g, BW or WA
  output logic [STAGE_L-1:0]  nonfinite_stage_o,  // of the smallest {stage, sample}
  output logic [SampleW-1:0]  nonfinite_sample_o,
  output logic                step_index_o,       // an action outside 0..n_a-1
  output logic [SampleW-1:0]  index_sample_o,     // the smallest sample
  // Samples from fetch.
  input  logic                frame_valid_i,
  output logic                frame_ready_o,
  input  logic [SampleW-1:0]  frame_sample_i,
  input  logic [7:0]          frame_row_i,        // row of the frame, the parity's copy
  input  logic [P-1:0]        frame_mask_i,
  input  logic [P-1:0][31:0]  frame_data_i,
  input  logic                scalars_valid_i,
  input  logic                scalars_parity_i,
  input  logic [SampleW-1:0]  scalars_sample_i,
  input  scalars_t            scalars_i,
  // Parameters from WU, TSM and LOAD.
  input  logic                weight_valid_i,
  input  logic                weight_bias_i,      // biases, else weights
  input  logic [RowW-1:0]     weight_row_i,       // weights: memory row, and group of LW words
  input  logic [SubW-1:0]     weight_sub_i,
  input  logic [BiasW-1:0]    weight_bias_index_i,  // biases: index of word 0, a multiple of LW
  input  logic [LW-1:0]       weight_mask_i,
  input  logic [LW-1:0][31:0] weight_data_i,
  // Gradients to WU.
  input  logic                gradient_read_i,
  input  logic                gradient_bias_i,
  input  logic [RowW-1:0]     gradient_row_i,
  input  logic [SubW-1:0]     gradient_sub_i,
  input  logic [BiasW-1:0]    gradient_bias_index_i,
  output logic                gradient_valid_o,
  output logic [LW-1:0][31:0] gradient_data_o,
  // TD errors.
  output logic                delta_valid_o,
  output logic [SampleW-1:0]  delta_sample_o,
  output logic [31:0]         delta_o,
  // Counters: per clock, while a step runs.
  output logic                tensor_busy_o,      // the tensor unit starts an operation
  output logic                stall_data_o,       // it waits for samples
  output logic                stall_token_o,      // for an earlier stage, or a turn-around
  output logic                stall_update_o      // for a weight update
);
endmodule : jd_learner_pipe
