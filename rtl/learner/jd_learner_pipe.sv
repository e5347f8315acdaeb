// SPDX-License-Identifier: Apache-2.0
//
// A pipeline of the learner: runs the stages of a gradient step, except WU and TSM, on its samples.
//
// Streams  step_*: one step at a time. step_done_o is high for one clock at its end, when every
//          result is written and all TD errors have left; the error outputs hold from then to the
//          next start.
//          frame_*: words of samples, taken in any clock with ready; results of the tensor unit go
//          first. Scalars are a pipe. Both may run one step ahead (other parity).
//          delta_*: TD errors in ascending order of samples, a pipe: the receiver has room for a
//          batch.
//          gradient_*, weight_*: pipes, LW words per clock. They are used between steps. During a
//          step they are used only for a network whose bit in update_busy_i has been set since
//          before the step (for target weights: target_busy_i): no stage reads these weights then,
//          and none adds to these gradients.
// Timing   A gradient read answers in 2 clocks. Clocks of a step: the sum over the stages of
//          DOT ceil(n_out*p/P), AXPY n_out*ceil(p/P), OUTER max(2, ceil(n_out*p/P)) per sample
//          (p: words of a packed row), and the turn-around of the tensor unit between modes.
// Numbers  binary32; orders of accumulation as in jd_learner_tensor_unit and jd_learner_loss.
//          The program must obey these rules (PROGRAM checks them, this block does not):
//          - sizes are 1..DMax; rows, biases and frames are inside their memories;
//          - a stage depends on all writers of what it reads (a vector of a frame, by rows) in its
//            phase; the dependencies are earlier stages, and WU or TSM only of an earlier phase;
//          - no stage writes rows of a frame that an earlier stage may still read: each vector has
//            its own rows. A vector that records fill has state_rows rows for each parity, one copy
//            after the other; an action may follow s and s' directly;
//          - the outputs of one writer stay in one row per clock: offset % P + n_out <= P, or the
//            offset is 0; AXPY has offset 0; LOSS has n_out <= P and its vectors at a row's first
//            lane;
//          - the OUTER stages of a chain are adjacent, the last one without the chain bit; a row of
//            G belongs to one OUTER stage only.
// Source   onchip_replay 3.2 (learner pipeline). Golden model: models/learner/program.py.
`include "jd_assert.svh"
module jd_learner_pipe
  import jd_learner_pkg::*;
#(
  parameter  int unsigned P          = 16,      // lanes, power of two 8..128
  parameter  int unsigned OB         = P / 4,   // words of a bias row: P/4
  parameter  int unsigned GI         = 8,       // samples of an AXPY group, 8..16, >= AddLatency+2
  parameter  int unsigned LW         = 4,       // words of a weight write, divides OB
  parameter  int unsigned MulLatency = 2,       // 1..4
  parameter  int unsigned AddLatency = 2,       // 1..6
  parameter  int unsigned WRows      = 1024,    // rows of P weights; also of OB biases
  parameter  int unsigned ARows      = 2048,    // rows of P words for frames
  parameter  int unsigned BMax       = 64,      // samples of a step, 1..512
  parameter  int unsigned DMax       = 64,      // largest layer, power of two P..512
  parameter  bit          ActorCritic = 1'b0,   // runs actor-critic programs
  localparam int unsigned RowW       = $clog2(WRows),
  localparam int unsigned BiasW      = RowW + $clog2(OB),
  localparam int unsigned SubW       = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1,
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1
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
  input  step_t               step_i,             // held until step_done_o; frame_rows always
  input  logic [SampleW:0]    samples_ready_i,    // samples 0.. of the step that are complete
  input  logic [NET_MAX-1:0]  update_busy_i,      // networks whose update is not finished
  input  logic [NET_MAX-1:0]  target_busy_i,      // networks whose target's update is not
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
  input  logic [15:0]         frame_row_i,        // row of the frame memory
  input  logic [P-1:0]        frame_mask_i,
  input  logic [P-1:0][31:0]  frame_data_i,
  input  logic                scalars_valid_i,
  input  logic                scalars_parity_i,
  input  logic [SampleW-1:0]  scalars_sample_i,
  input  scalars_t            scalars_i,
  // Parameters from WU, TSM and LOAD.
  input  logic                weight_valid_i,
  input  logic                weight_gradient_i,  // a gradient instead, between steps
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
  // Rows of the frames to INFER, between steps; data one clock later.
  input  logic                result_read_i,
  input  logic [15:0]         result_row_i,
  output logic [P-1:0][31:0]  result_data_o,
  // Counters: per clock, while a step runs.
  output logic                tensor_busy_o,      // the tensor unit starts an operation
  output logic                stall_data_o,       // it waits for samples
  output logic                stall_token_o,      // for an earlier stage, or a turn-around
  output logic                stall_update_o      // for a weight update
);
  localparam int unsigned FrameW = $clog2(ARows);

  if (BMax < 1 || BMax > 512) begin : gen_bad_bmax
    $fatal(1, "jd_learner_pipe: BMax=%0d, want 1..512", BMax);
  end
  if (DMax < P || DMax > 512) begin : gen_bad_dmax
    $fatal(1, "jd_learner_pipe: DMax=%0d, want P..512", DMax);
  end
  if (WRows < 2 || WRows > 65536 || ARows < 2 || ARows > 65536) begin : gen_bad_rows
    $fatal(1, "jd_learner_pipe: WRows=%0d ARows=%0d, want 2..65536", WRows, ARows);
  end

  // Tensor unit and its operations.
  logic                operation_valid, unit_empty, ended, loss_idle;
  operation_t          operation;
  logic                w_read, a_read, b_read, bias_read, g_read, g_write, gb_read, gb_write;
  logic [15:0]         w_row, a_row, b_row, bias_row, g_row, g_write_row, gb_row, gb_write_row;
  logic [P-1:0][31:0]  w_data, a_data, b_data, g_data, g_write_data;
  logic [OB-1:0]       gb_write_mask;
  logic [OB-1:0][31:0] bias_data, gb_data, gb_write_data;
  logic                unit_write;
  logic [15:0]         unit_row;
  logic [P-1:0]        unit_mask;
  logic [P-1:0][31:0]  unit_data;
  logic                done_valid, lanes_bad, bias_bad;
  logic [5:0]          done_stage, lanes_stage, bias_stage;
  logic [8:0]          lanes_sample, bias_sample;

  // Loss unit.
  logic                loss_start, loss_ready, loss_go, loss_read, loss_grant, loss_write;
  logic                loss_write_grant, loss_done, loss_bad, index_bad, scalars_read;
  stage_t              loss_new, loss_stage;
  logic [5:0]          loss_new_id, loss_id;
  logic [SampleW-1:0]  loss_sample, bad_sample, index_sample, scalars_sample;
  logic [15:0]         loss_read_row, loss_write_row;
  logic [P-1:0]        loss_mask;
  logic [P-1:0][31:0]  loss_data;
  scalars_t            scalars;

  // --- Steps.
  logic running_q, told;                   // told: where_q includes everything found
  assign step_busy_o = running_q;
  assign step_done_o = running_q && ended && !operation_valid && unit_empty && loss_idle && told;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)           running_q <= 1'b0;
    else if (step_start_i) running_q <= 1'b1;
    else if (step_done_o)  running_q <= 1'b0;
  end

  // The smallest {stage, sample} with a NaN or infinity, and the smallest sample with a bad action.
  // Findings of the units are held for one clock, then the smallest is kept. The highest bit is
  // set if nothing was found.
  localparam int unsigned WhereW = STAGE_L + SampleW;
  typedef logic [WhereW:0] where_t;
  where_t where_q, lanes_q, bias_q, loss_q;
  function automatic where_t smaller(input where_t a, input where_t b);
    return a < b ? a : b;
  endfunction
  assign {nonfinite_stage_o, nonfinite_sample_o} = where_q[WhereW-1:0];
  assign step_nonfinite_o = !where_q[WhereW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || step_start_i) begin
      lanes_q      <= '1;
      bias_q       <= '1;
      loss_q       <= '1;
      where_q      <= '1;
      step_index_o <= 1'b0;
    end else begin
      lanes_q <= {!lanes_bad, lanes_stage, SampleW'(lanes_sample)};
      bias_q  <= {!bias_bad, bias_stage, SampleW'(bias_sample)};
      loss_q  <= {!loss_bad, loss_id, bad_sample};
      where_q <= smaller(smaller(where_q, lanes_q), smaller(bias_q, loss_q));
      if (index_bad) step_index_o <= 1'b1;
    end
    if (index_bad && (!step_index_o || index_sample < index_sample_o)) begin
      index_sample_o <= index_sample;
    end
  end
  assign told = lanes_q[WhereW] && bias_q[WhereW] && loss_q[WhereW];

  assign tensor_busy_o = operation_valid;

  jd_learner_sequencer #(
    .P (P), .OB (OB), .GI (GI), .MulLatency (MulLatency), .AddLatency (AddLatency), .BMax (BMax),
    .ActorCritic (ActorCritic)
  ) u_sequencer (
    .clk_i, .rst_ni, .abort_i,
    .stage_write_i, .stage_index_i, .stage_data_i,
    .step_start_i, .step_i, .samples_ready_i, .update_busy_i, .target_busy_i,
    .ended_o           (ended),
    .done_valid_i      (done_valid),
    .done_stage_i      (done_stage),
    .loss_done_valid_i (loss_done),
    .loss_done_stage_i (loss_id),
    .valid_o           (operation_valid),
    .operation_o       (operation),
    .loss_start_o      (loss_start),
    .loss_ready_i      (loss_ready),
    .loss_stage_o      (loss_new),
    .loss_id_o         (loss_new_id),
    .loss_wait_i       (loss_stage),
    .loss_sample_i     (loss_sample),
    .loss_go_o         (loss_go),
    .hold_i            (1'b0),
    .stall_data_o, .stall_token_o, .stall_update_o
  );

  jd_learner_tensor_unit #(
    .P (P), .OB (OB), .GI (GI), .MulLatency (MulLatency), .AddLatency (AddLatency), .DMax (DMax),
    .ActorCritic (ActorCritic)
  ) u_tensor_unit (
    .clk_i, .rst_ni,
    .clear_i         (step_start_i),
    .valid_i         (operation_valid),
    .operation_i     (operation),
    .empty_o         (unit_empty),
    .w_read_o        (w_read),
    .w_row_o         (w_row),
    .w_data_i        (w_data),
    .a_read_o        (a_read),
    .a_row_o         (a_row),
    .a_data_i        (a_data),
    .b_read_o        (b_read),
    .b_row_o         (b_row),
    .b_data_i        (b_data),
    .bias_read_o     (bias_read),
    .bias_row_o      (bias_row),
    .bias_data_i     (bias_data),
    .g_read_o        (g_read),
    .g_row_o         (g_row),
    .g_data_i        (g_data),
    .g_write_o       (g_write),
    .g_write_row_o   (g_write_row),
    .g_write_data_o  (g_write_data),
    .gb_read_o       (gb_read),
    .gb_row_o        (gb_row),
    .gb_data_i       (gb_data),
    .gb_write_o      (gb_write),
    .gb_write_row_o  (gb_write_row),
    .gb_write_mask_o (gb_write_mask),
    .gb_write_data_o (gb_write_data),
    .frame_write_o   (unit_write),
    .frame_row_o     (unit_row),
    .frame_mask_o    (unit_mask),
    .frame_data_o    (unit_data),
    .done_valid_o    (done_valid),
    .done_stage_o    (done_stage),
    .lanes_bad_o     (lanes_bad),
    .lanes_stage_o   (lanes_stage),
    .lanes_sample_o  (lanes_sample),
    .bias_bad_o      (bias_bad),
    .bias_stage_o    (bias_stage),
    .bias_sample_o   (bias_sample)
  );

  assign result_data_o    = b_data;
  assign loss_grant       = !b_read;
  assign loss_write_grant = !unit_write;
  jd_learner_loss #(
    .P (P), .MulLatency (MulLatency), .AddLatency (AddLatency), .BMax (BMax),
    .ActorCritic (ActorCritic)
  ) u_loss (
    .clk_i, .rst_ni, .abort_i,
    .start_i          (loss_start),
    .ready_o          (loss_ready),
    .stage_i          (loss_new),
    .id_i             (loss_new_id),
    .step_i           (step_i),
    .stage_o          (loss_stage),
    .sample_o         (loss_sample),
    .go_i             (loss_go),
    .idle_o           (loss_idle),
    .read_o           (loss_read),
    .read_grant_i     (loss_grant),
    .read_row_o       (loss_read_row),
    .read_data_i      (b_data),
    .scalars_read_o   (scalars_read),
    .scalars_sample_o (scalars_sample),
    .scalars_i        (scalars),
    .write_o          (loss_write),
    .write_grant_i    (loss_write_grant),
    .write_row_o      (loss_write_row),
    .write_mask_o     (loss_mask),
    .write_data_o     (loss_data),
    .done_valid_o     (loss_done),
    .id_o             (loss_id),
    .delta_valid_o    (delta_valid_o),
    .delta_sample_o   (delta_sample_o),
    .delta_o          (delta_o),
    .bad_o            (loss_bad),
    .bad_sample_o     (bad_sample),
    .index_bad_o      (index_bad),
    .index_sample_o   (index_sample)
  );

  // Writes to the frames: the tensor unit cannot wait, fetch comes last.
  logic [FrameW-1:0]  frame_row;
  logic [P-1:0]       frame_mask;
  logic [P-1:0][31:0] frame_data;
  assign frame_ready_o = !unit_write && !loss_write;
  always_comb begin
    if (unit_write) begin
      frame_row  = FrameW'(unit_row);
      frame_mask = unit_mask;
      frame_data = unit_data;
    end else if (loss_write) begin
      frame_row  = FrameW'(loss_write_row);
      frame_mask = loss_mask;
      frame_data = loss_data;
    end else begin
      frame_row  = FrameW'(frame_row_i);
      frame_mask = frame_mask_i;
      frame_data = frame_data_i;
    end
  end

  jd_learner_memories #(
    .P (P), .OB (OB), .LW (LW), .WRows (WRows), .ARows (ARows), .BMax (BMax)
  ) u_memories (
    .clk_i, .rst_ni,
    .weight_valid_i, .weight_gradient_i, .weight_bias_i, .weight_row_i, .weight_sub_i,
    .weight_bias_index_i, .weight_mask_i, .weight_data_i,
    .w_read_i               (w_read),
    .w_row_i                (RowW'(w_row)),
    .w_data_o               (w_data),
    .bias_read_i            (bias_read),
    .bias_row_i             (RowW'(bias_row)),
    .bias_data_o            (bias_data),
    .g_read_i               (g_read),
    .g_row_i                (RowW'(g_row)),
    .g_data_o               (g_data),
    .g_write_i              (g_write),
    .g_write_row_i          (RowW'(g_write_row)),
    .g_write_data_i         (g_write_data),
    .gb_read_i              (gb_read),
    .gb_row_i               (RowW'(gb_row)),
    .gb_data_o              (gb_data),
    .gb_write_i             (gb_write),
    .gb_write_row_i         (RowW'(gb_write_row)),
    .gb_write_mask_i        (gb_write_mask),
    .gb_write_data_i        (gb_write_data),
    .gradient_read_i, .gradient_bias_i, .gradient_row_i, .gradient_sub_i, .gradient_bias_index_i,
    .gradient_valid_o, .gradient_data_o,
    .frame_write_i          (unit_write || loss_write || frame_valid_i),
    .frame_row_i            (frame_row),
    .frame_mask_i           (frame_mask),
    .frame_data_i           (frame_data),
    .read_i                 ({b_read || loss_read || result_read_i, a_read}),
    .read_row_i             ({FrameW'(b_read ? b_row : result_read_i ? result_row_i
                                      : loss_read_row), FrameW'(a_row)}),
    .read_data_o            ({b_data, a_data}),
    .scalars_write_i        (scalars_valid_i),
    .scalars_address_i      ({scalars_parity_i, scalars_sample_i}),
    .scalars_i,
    .scalars_read_i         (scalars_read),
    .scalars_read_address_i ({step_i.parity, scalars_sample}),
    .scalars_o              (scalars)
  );

  logic [15:0] unused_rows;
  assign unused_rows = w_row ^ a_row ^ b_row ^ bias_row ^ g_row ^ g_write_row ^ gb_row
                       ^ gb_write_row ^ unit_row ^ loss_read_row ^ loss_write_row ^ frame_row_i
                       ^ result_row_i
                       ^ {7'd0, lanes_sample} ^ {7'd0, bias_sample};

  `JD_ASSUME_IF(StartWhenIdle_M, step_start_i, !step_busy_o)
  `JD_ASSUME_IF(TableBetweenSteps_M, stage_write_i, !step_busy_o)
  `JD_ASSUME_STREAM(FrameStable_M, frame_valid_i, frame_ready_o,
                    {frame_row_i, frame_mask_i, frame_data_i})
  `JD_ASSUME_IF(GradientsBetweenSteps_M, weight_gradient_i, !step_busy_o)
  `JD_ASSUME_IF(ResultsBetweenSteps_M, result_read_i, !step_busy_o)
  `JD_ASSERT_IF(DeltaInBatch_A, delta_valid_o, 16'(delta_sample_o) < step_i.batch)
endmodule : jd_learner_pipe
