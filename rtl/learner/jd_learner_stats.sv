// SPDX-License-Identifier: Apache-2.0
//
// Mean and largest magnitude of a batch's TD errors.
//
// Streams  step_start_i clears the sums. TD errors come as a pipe. ready_o is high when the batch
//          is summed. commit_i moves the results to the registers.
// Timing   One addition at a time: about AddLatency + 2 clocks per TD error.
// Numbers  binary32, RNE. Mean: TREE(abs delta) * invB, where TREE adds adjacent pairs, level by
//          level, over the batch padded with +0 to a power of two. Magnitudes are never -0, so
//          adding the padding changes nothing and is left out.
// Source   learner 7. Golden model: models/learner/tree.py.
`include "jd_assert.svh"
module jd_learner_stats #(
  parameter  int unsigned BMax       = 64,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  localparam int unsigned LevelW     = $clog2($clog2(BMax) + 2)
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        step_start_i,
  input  logic [15:0] batch_i,
  input  logic [31:0] scale_i,          // invB
  input  logic        delta_valid_i,
  input  logic [31:0] delta_i,
  input  logic        commit_i,
  output logic        ready_o,
  output logic [31:0] mean_o,
  output logic [31:0] largest_o
);
  localparam int unsigned LEVELS = $clog2(BMax) + 1;

  typedef enum logic [2:0] { StTake, StCarry, StAdd, StFold, StScale, StWait, StReady } state_e;
  state_e state_q;

  logic        word_valid, unused_ready;
  logic [31:0] word;
  logic [$clog2(BMax + 1)-1:0] unused_count;
  jd_stream_fifo #(.Width (32), .Depth (BMax)) u_queue (
    .clk_i, .rst_ni,
    .clear_i     (step_start_i),
    .in_valid_i  (delta_valid_i),
    .in_ready_o  (unused_ready),
    .in_data_i   ({1'b0, delta_i[30:0]}),
    .out_valid_o (word_valid),
    .out_ready_i (state_q == StTake),
    .out_data_o  (word),
    .count_o     (unused_count)
  );

  logic [LEVELS-1:0]       full_q;       // a sum of 2^level magnitudes waits
  logic [LEVELS-1:0][31:0] held_q;
  logic [LevelW-1:0]       level_q;
  logic [31:0]             at_level_q;   // held_q[level_q]; read while level_q rests or moves
  logic [31:0]             sum_q, max_q;
  logic [15:0]             taken_q;
  logic                    folding_q, any_q;
  logic                    add_valid, mul_valid, below, unused_equal, unused_unordered;
  logic [31:0]             sum, mean;

  jd_float_add #(.Latency (AddLatency)) u_add (
    .clk_i, .rst_ni,
    .valid_i    (state_q == StCarry && full_q[level_q] && any_q),
    .subtract_i (1'b0),
    .a_i        (at_level_q),
    .b_i        (sum_q),
    .valid_o    (add_valid),
    .result_o   (sum)
  );
  jd_float_mul #(.Latency (MulLatency)) u_scale (
    .clk_i, .rst_ni,
    .valid_i  (state_q == StScale),
    .a_i      (sum_q),
    .b_i      (scale_i),
    .valid_o  (mul_valid),
    .result_o (mean)
  );
  jd_float_compare u_compare (
    .a_i         (max_q),
    .b_i         (word),
    .less_o      (below),
    .equal_o     (unused_equal),
    .unordered_o (unused_unordered)
  );

  // StTake a magnitude, carry it upwards through the full levels (StCarry, StAdd); after the last
  // the levels that are left are folded, lowest first (folding_q).
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StReady;
    end else begin
      unique case (state_q)
        StTake: if (word_valid) begin
          state_q   <= StCarry;
          sum_q     <= word;
          any_q     <= 1'b1;
          taken_q   <= taken_q + 16'd1;
          level_q   <= '0;
          folding_q <= 1'b0;
          if (below) max_q <= word;
        end
        StCarry: begin
          if (full_q[level_q] && any_q) begin
            state_q <= StAdd;
          end else if (full_q[level_q]) begin
            sum_q           <= at_level_q;
            any_q           <= 1'b1;
            full_q[level_q] <= 1'b0;
          end else if (!folding_q) begin
            held_q[level_q] <= sum_q;
            full_q[level_q] <= 1'b1;
            any_q           <= 1'b0;
            level_q         <= '0;
            folding_q       <= taken_q == batch_i;
            state_q         <= taken_q == batch_i ? StFold : StTake;
          end else begin
            state_q <= StFold;
          end
        end
        StAdd: if (add_valid) begin
          sum_q           <= sum;
          full_q[level_q] <= 1'b0;
          state_q         <= folding_q ? StFold : StCarry;
          if (!folding_q) level_q <= level_q + 1'b1;
        end
        StFold: begin
          if (full_q == '0) begin
            state_q <= StScale;
          end else begin
            if (full_q[level_q]) state_q <= StCarry;
            else                 level_q <= level_q + 1'b1;
          end
        end
        StScale: state_q <= StWait;
        StWait: if (mul_valid) state_q <= StReady;
        default: begin end
      endcase
      if (step_start_i) state_q <= StTake;
    end
    if (step_start_i) begin
      full_q  <= '0;
      any_q   <= 1'b0;
      max_q   <= '0;
      taken_q <= '0;
    end
    if (state_q == StWait && mul_valid) sum_q <= mean;
    // StCarry follows StTake and StFold with the level that they have, StAdd with the next one.
    at_level_q <= held_q[state_q == StAdd ? level_q + 1'b1 : level_q];
    if (!rst_ni) begin
      mean_o    <= '0;
      largest_o <= '0;
    end else if (commit_i) begin
      mean_o    <= sum_q;
      largest_o <= max_q;
    end
  end
  assign ready_o = state_q == StReady;

  `JD_ASSERT_IF(CommitWhenReady_A, commit_i, ready_o)
endmodule : jd_learner_stats
