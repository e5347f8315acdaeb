// SPDX-License-Identifier: Apache-2.0
//
// The pipelines of the learner. Sample b of a batch belongs to pipeline b % DP; each pipeline works
// by itself.
//
// Streams  as of jd_learner_pipe. A frame and its scalars go to one pipeline (frame_pipe_i,
//          scalars_pipe_i), where the sample has number b / DP. Weights go to all pipelines. TD
//          errors are put back into the order of the batch. result_read_i reads a row of the frames
//          of one pipeline, between steps.
// Timing   DP = 1: as of the pipeline, but the end of a step comes one clock later. Else a step
//          takes three clocks more than the first pipeline, which has the most samples. A gradient
//          read answers in 2 clocks and AddLatency clocks for each level of the sum. A result comes
//          RESULT_LATENCY clocks after its read.
// Numbers  binary32, RNE. A gradient is the sum over the pipelines, added in pairs of neighbours,
//          level by level; a pipeline without samples adds +0. Gradients that were loaded (alone)
//          are in the first pipeline, and are the sum.
// Source   onchip_replay 3.2.2 (DP, data-parallel pipelines). Golden model: models/learner/mlp.py,
//          outer.
`include "jd_assert.svh"
module jd_learner_pipes
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned DP         = 1,       // pipelines: 1, 2, 4, 8
  parameter  int unsigned P          = 16,
  parameter  int unsigned OB         = P / 4,
  parameter  int unsigned GI         = 8,
  parameter  int unsigned LW         = 4,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  parameter  int unsigned WRows      = 1024,
  parameter  int unsigned ARows      = 2048,    // of each pipeline
  parameter  int unsigned BMax       = 64,      // samples of a step, in all pipelines
  parameter  int unsigned DMax       = 64,
  parameter  bit          ActorCritic = 1'b0,
  parameter  int unsigned NTU        = 1,       // tensor units of a pipeline: 1, or 4 (spatial)
  localparam int unsigned RowW       = $clog2(WRows),
  localparam int unsigned BiasW      = RowW + $clog2(OB),
  localparam int unsigned SubW       = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1,
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1,
  localparam int unsigned PipeW      = $clog2(DP) > 0 ? $clog2(DP) : 1,
  localparam int unsigned Samples    = (BMax + DP - 1) / DP,      // of a pipeline
  localparam int unsigned LocalW     = $clog2(Samples) > 0 ? $clog2(Samples) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                abort_i,
  input  logic                stage_write_i,
  input  logic [STAGE_L-1:0]  stage_index_i,
  input  stage_t              stage_data_i,
  input  logic                step_start_i,
  input  step_t               step_i,             // the batch of all pipelines, two clocks before
  input  logic [NET_MAX-1:0]  update_busy_i,
  input  logic [NET_MAX-1:0]  target_busy_i,
  output logic                step_busy_o,
  output logic                step_done_o,
  output logic                step_nonfinite_o,
  output logic [STAGE_L-1:0]  nonfinite_stage_o,  // of the smallest {stage, sample of the batch}
  output logic [SampleW-1:0]  nonfinite_sample_o,
  output logic                step_index_o,
  output logic [SampleW-1:0]  index_sample_o,
  input  logic                frame_valid_i,
  output logic                frame_ready_o,
  input  logic [PipeW-1:0]    frame_pipe_i,
  input  logic [15:0]         frame_row_i,
  input  logic [P-1:0]        frame_mask_i,
  input  logic [P-1:0][31:0]  frame_data_i,
  input  logic                scalars_valid_i,
  input  logic                scalars_parity_i,
  input  logic [SampleW-1:0]  scalars_sample_i,   // of the batch
  input  scalars_t            scalars_i,
  input  logic                weight_valid_i,
  input  logic                weight_gradient_i,  // a gradient instead, between steps
  input  place_t              weight_place_i,
  input  logic [LW-1:0]       weight_mask_i,
  input  logic [LW-1:0][31:0] weight_data_i,
  input  logic                gradient_alone_i,   // gradients were loaded; held while they are read
  input  logic                gradient_read_i,
  input  place_t              gradient_place_i,
  output logic                gradient_valid_o,
  output logic [LW-1:0][31:0] gradient_data_o,
  output logic                delta_valid_o,
  output logic [SampleW-1:0]  delta_sample_o,
  output logic [31:0]         delta_o,
  input  logic                result_read_i,
  input  logic [PipeW-1:0]    result_pipe_i,      // held until the data come
  input  logic [15:0]         result_row_i,
  output logic [P-1:0][31:0]  result_data_o,
  // Counters, of the first pipeline.
  output logic                tensor_busy_o,
  output logic                stall_data_o,
  output logic                stall_token_o,
  output logic                stall_update_o
);
  localparam int unsigned DP_L = $clog2(DP);

  if (DP != 1 && DP != 2 && DP != 4 && DP != 8) begin : gen_bad_dp
    $fatal(1, "jd_learner_pipes: DP=%0d, want 1, 2, 4 or 8", DP);
  end
  if (NTU != 1 && NTU != 4) begin : gen_bad_ntu
    $fatal(1, "jd_learner_pipes: NTU=%0d, want 1 or 4", NTU);
  end

  logic [DP-1:0]                pipe_start, pipe_done, pipe_busy, pipe_nonfinite, pipe_index;
  logic [DP-1:0]                frame_ready, gradient_valid, pipe_delta_valid, tensor_busy;
  logic [DP-1:0]                stall_data, stall_token, stall_update;
  logic [DP-1:0][STAGE_L-1:0]   bad_stage;
  logic [DP-1:0][LocalW-1:0]    bad_sample, index_sample, pipe_delta_sample;
  logic [DP-1:0][LW-1:0][31:0]  gradient_data;
  logic [DP-1:0][31:0]          pipe_delta;
  logic [DP-1:0][15:0]          batch;          // samples of each pipeline
  logic                         clear;          // drops the rest of a dropped step

  // Results: registers on the way to the pipelines and back.
  logic                         result_read_q;
  logic [15:0]                  result_row_q;
  logic [DP-1:0][P-1:0][31:0]   result_data;
  always_ff @(posedge clk_i) begin
    result_read_q <= rst_ni && result_read_i;
    result_row_q  <= result_row_i;
    result_data_o <= result_data[result_pipe_i];
  end

  for (genvar p = 0; p < DP; p++) begin : gen_pipe
    step_t step;
    always_comb begin
      step       = step_i;
      step.batch = batch[p];
    end
    if (NTU == 1) begin : gen_temporal
      jd_learner_pipe #(
        .P (P), .OB (OB), .GI (GI), .LW (LW), .MulLatency (MulLatency), .AddLatency (AddLatency),
        .WRows (WRows), .ARows (ARows), .BMax (Samples), .DMax (DMax), .ActorCritic (ActorCritic)
      ) u_pipe (
        .clk_i, .rst_ni, .abort_i,
        .stage_write_i, .stage_index_i, .stage_data_i,
        .step_start_i          (pipe_start[p]),
        .step_i                (step),
        .samples_ready_i       (batch[p][LocalW:0]),
        .update_busy_i, .target_busy_i,
        .step_busy_o           (pipe_busy[p]),
        .step_done_o           (pipe_done[p]),
        .step_nonfinite_o      (pipe_nonfinite[p]),
        .nonfinite_stage_o     (bad_stage[p]),
        .nonfinite_sample_o    (bad_sample[p]),
        .step_index_o          (pipe_index[p]),
        .index_sample_o        (index_sample[p]),
        .frame_valid_i         (frame_valid_i && frame_pipe_i == PipeW'(p)),
        .frame_ready_o         (frame_ready[p]),
        .frame_row_i, .frame_mask_i, .frame_data_i,
        .scalars_valid_i       (scalars_valid_i
                                && (scalars_sample_i & SampleW'(DP - 1)) == SampleW'(p)),
        .scalars_parity_i,
        .scalars_sample_i      (LocalW'(scalars_sample_i >> DP_L)),
        .scalars_i,
        .weight_valid_i, .weight_gradient_i,
        .weight_bias_i         (weight_place_i.bias),
        .weight_row_i          (weight_place_i.row[RowW-1:0]),
        .weight_sub_i          (weight_place_i.sub[SubW-1:0]),
        .weight_bias_index_i   (BiasW'(weight_place_i.bias_index)),
        .weight_mask_i, .weight_data_i,
        .gradient_read_i,
        .gradient_bias_i       (gradient_place_i.bias),
        .gradient_row_i        (gradient_place_i.row[RowW-1:0]),
        .gradient_sub_i        (gradient_place_i.sub[SubW-1:0]),
        .gradient_bias_index_i (BiasW'(gradient_place_i.bias_index)),
        .gradient_valid_o      (gradient_valid[p]),
        .gradient_data_o       (gradient_data[p]),
        .delta_valid_o         (pipe_delta_valid[p]),
        .delta_sample_o        (pipe_delta_sample[p]),
        .delta_o               (pipe_delta[p]),
        .result_read_i         (result_read_q),
        .result_row_i          (result_row_q),
        .result_data_o         (result_data[p]),
        .tensor_busy_o         (tensor_busy[p]),
        .stall_data_o          (stall_data[p]),
        .stall_token_o         (stall_token[p]),
        .stall_update_o        (stall_update[p])
      );
    end else begin : gen_spatial
      jd_learner_spatial_pipe #(
        .P (P), .OB (OB), .GI (GI), .LW (LW), .MulLatency (MulLatency), .AddLatency (AddLatency),
        .WRows (WRows), .ARows (ARows), .BMax (Samples), .DMax (DMax), .ActorCritic (ActorCritic)
      ) u_pipe (
        .clk_i, .rst_ni, .abort_i,
        .stage_write_i, .stage_index_i, .stage_data_i,
        .step_start_i          (pipe_start[p]),
        .step_i                (step),
        .samples_ready_i       (batch[p][LocalW:0]),
        .update_busy_i, .target_busy_i,
        .step_busy_o           (pipe_busy[p]),
        .step_done_o           (pipe_done[p]),
        .step_nonfinite_o      (pipe_nonfinite[p]),
        .nonfinite_stage_o     (bad_stage[p]),
        .nonfinite_sample_o    (bad_sample[p]),
        .step_index_o          (pipe_index[p]),
        .index_sample_o        (index_sample[p]),
        .frame_valid_i         (frame_valid_i && frame_pipe_i == PipeW'(p)),
        .frame_ready_o         (frame_ready[p]),
        .frame_row_i, .frame_mask_i, .frame_data_i,
        .scalars_valid_i       (scalars_valid_i
                                && (scalars_sample_i & SampleW'(DP - 1)) == SampleW'(p)),
        .scalars_parity_i,
        .scalars_sample_i      (LocalW'(scalars_sample_i >> DP_L)),
        .scalars_i,
        .weight_valid_i, .weight_gradient_i,
        .weight_bias_i         (weight_place_i.bias),
        .weight_row_i          (weight_place_i.row[RowW-1:0]),
        .weight_sub_i          (weight_place_i.sub[SubW-1:0]),
        .weight_bias_index_i   (BiasW'(weight_place_i.bias_index)),
        .weight_mask_i, .weight_data_i,
        .gradient_read_i,
        .gradient_bias_i       (gradient_place_i.bias),
        .gradient_row_i        (gradient_place_i.row[RowW-1:0]),
        .gradient_sub_i        (gradient_place_i.sub[SubW-1:0]),
        .gradient_bias_index_i (BiasW'(gradient_place_i.bias_index)),
        .gradient_valid_o      (gradient_valid[p]),
        .gradient_data_o       (gradient_data[p]),
        .delta_valid_o         (pipe_delta_valid[p]),
        .delta_sample_o        (pipe_delta_sample[p]),
        .delta_o               (pipe_delta[p]),
        .result_read_i         (result_read_q),
        .result_row_i          (result_row_q),
        .result_data_o         (result_data[p]),
        .tensor_busy_o         (tensor_busy[p]),
        .stall_data_o          (stall_data[p]),
        .stall_token_o         (stall_token[p]),
        .stall_update_o        (stall_update[p])
      );
    end
  end
  assign frame_ready_o  = frame_ready[frame_pipe_i];
  assign tensor_busy_o  = tensor_busy[0];
  assign stall_data_o   = stall_data[0];
  assign stall_token_o  = stall_token[0];
  assign stall_update_o = stall_update[0];

  if (DP == 1) begin : gen_one
    assign batch[0]           = step_i.batch;
    assign pipe_start         = step_start_i;
    logic done_q;
    assign step_busy_o        = pipe_busy[0] || done_q;
    assign step_done_o        = done_q;
    always_ff @(posedge clk_i) done_q <= rst_ni && pipe_done[0];
    assign step_nonfinite_o   = pipe_nonfinite[0];
    assign nonfinite_stage_o  = bad_stage[0];
    assign nonfinite_sample_o = bad_sample[0];
    assign step_index_o       = pipe_index[0];
    assign index_sample_o     = index_sample[0];
    assign gradient_valid_o   = gradient_valid[0];
    assign gradient_data_o    = gradient_data[0];
    assign delta_valid_o      = pipe_delta_valid[0];
    assign delta_sample_o     = pipe_delta_sample[0];
    assign delta_o            = pipe_delta[0];
    assign clear              = 1'b0;
    logic unused_clear;
    assign unused_clear = clear ^ gradient_alone_i;
  end else begin : gen_many
    // --- Steps.
    logic [DP-1:0] used_q, left_q;         // pipelines with samples; pipelines at work
    logic          running_q, merged, ended_q;
    assign pipe_start  = {DP{step_start_i}} & used_q;
    assign step_busy_o = running_q;
    assign step_done_o = running_q && ended_q;
    assign clear       = abort_i || step_start_i;
    always_ff @(posedge clk_i) begin
      for (int unsigned p = 0; p < DP; p++) begin
        batch[p]  <= (step_i.batch + 16'(DP - 1 - p)) >> DP_L;
        used_q[p] <= step_i.batch > 16'(p);
      end
      if (!rst_ni)           running_q <= 1'b0;
      else if (step_start_i) running_q <= 1'b1;
      else if (step_done_o)  running_q <= 1'b0;
      left_q  <= step_start_i ? used_q : left_q & ~pipe_done;
      ended_q <= running_q && !step_start_i && !step_done_o && left_q == '0 && merged;
    end

    // --- The smallest finding, two clocks after the pipelines' registers. First the finding of each
    // pipeline, all ones if it found nothing; then the least of them. It contains the pipeline's
    // number, so no two are equal.
    typedef logic [STAGE_L+SampleW:0] where_t;      // the highest bit: nothing was found
    where_t [DP-1:0]             where_q;
    logic   [DP-1:0][SampleW:0]  index_q;           // the same
    always_ff @(posedge clk_i) begin
      for (int unsigned p = 0; p < DP; p++) begin
        where_q[p] <= used_q[p] && pipe_nonfinite[p]
            ? {1'b0, bad_stage[p], SampleW'({bad_sample[p], DP_L'(p)})} : '1;
        index_q[p] <= used_q[p] && pipe_index[p]
            ? {1'b0, SampleW'({index_sample[p], DP_L'(p)})} : '1;
      end
    end
    where_t           where;
    logic [SampleW:0] index;
    always_comb begin
      where = '1;
      index = '1;
      for (int unsigned p = 0; p < DP; p++) begin
        if (where_q[p] < where) where = where_q[p];
        if (index_q[p] < index) index = index_q[p];
      end
    end
    always_ff @(posedge clk_i) begin
      step_nonfinite_o                        <= !where[STAGE_L+SampleW];
      {nonfinite_stage_o, nonfinite_sample_o} <= where[STAGE_L+SampleW-1:0];
      step_index_o                            <= !index[SampleW];
      index_sample_o                          <= index[SampleW-1:0];
    end

    // --- TD errors: the pipelines in turn.
    logic [DP-1:0]                            word_valid, pop, word_ready;
    logic [DP-1:0][31:0]                      word;
    logic [DP-1:0][$clog2(Samples + 1)-1:0]   count;
    logic [SampleW-1:0]                       sample_q;      // the next sample
    logic [PipeW-1:0]                         turn;
    assign turn   = PipeW'(sample_q);
    assign merged = count[turn] == '0;     // with all pipelines ended: nothing more can come
    assign pop    = DP'(word_valid[turn]) << turn;
    for (genvar p = 0; p < DP; p++) begin : gen_deltas
      jd_stream_fifo #(.Width (32), .Depth (Samples)) u_deltas (
        .clk_i, .rst_ni,
        .clear_i     (clear),
        .in_valid_i  (pipe_delta_valid[p]),
        .in_ready_o  (word_ready[p]),
        .in_data_i   (pipe_delta[p]),
        .out_valid_o (word_valid[p]),
        .out_ready_i (pop[p]),
        .out_data_o  (word[p]),
        .count_o     (count[p])
      );
    end
    assign delta_valid_o  = word_valid[turn] && !abort_i;
    assign delta_sample_o = sample_q;
    assign delta_o        = word[turn];
    always_ff @(posedge clk_i) begin
      if (clear)                 sample_q <= '0;
      else if (word_valid[turn]) sample_q <= sample_q + 1'b1;
    end
    `JD_ASSERT_IF(DeltaHasRoom_A, !clear, (pipe_delta_valid & ~word_ready) == '0)
    logic unused_samples;
    assign unused_samples = ^{pipe_delta_sample, pipe_busy, tensor_busy, stall_data, stall_token,
                              stall_update, gradient_valid};

    // --- Gradients: levels of pairs. Element [level][k] is the sum of 2^level neighbours.
    logic [DP_L:0][DP-1:0]                valid;
    logic [DP_L:0][DP-1:0][LW-1:0][31:0]  sum;
    always_comb begin
      valid[0] = gradient_valid;
      // Adding -0 changes no bit of the other summand.
      for (int unsigned p = 0; p < DP; p++) begin
        sum[0][p] = used_q[p] ? gradient_data[p] : '0;
        if (gradient_alone_i) sum[0][p] = p == 0 ? gradient_data[p] : {LW{32'h8000_0000}};
      end
    end
    for (genvar level = 1; level <= DP_L; level++) begin : gen_level
      for (genvar k = 0; k < DP; k++) begin : gen_pair
        if (k < (DP >> level)) begin : gen_sum
          logic [LW-1:0] lane_valid;
          for (genvar l = 0; l < LW; l++) begin : gen_lane
            jd_float_add #(.Latency (AddLatency)) u_sum (
              .clk_i, .rst_ni,
              .valid_i    (valid[level-1][2*k]),
              .subtract_i (1'b0),
              .a_i        (sum[level-1][2*k][l]),
              .b_i        (sum[level-1][2*k+1][l]),
              .valid_o    (lane_valid[l]),
              .result_o   (sum[level][k][l])
            );
          end
          assign valid[level][k] = lane_valid[0];
        end else begin : gen_none
          assign valid[level][k] = 1'b0;
          assign sum[level][k]   = '0;
        end
      end
    end
    assign gradient_valid_o = valid[DP_L][0];
    assign gradient_data_o  = sum[DP_L][0];
  end

  `JD_ASSUME_IF(StartWhenIdle_M, step_start_i, !step_busy_o)
  `JD_ASSERT_IF(DeltaInBatch_A, delta_valid_o, 16'(delta_sample_o) < step_i.batch)
endmodule : jd_learner_pipes
