// SPDX-License-Identifier: Apache-2.0
//
// The update of a selected grouping entry per clock: RMSprop, and a step that is rounded at random.
//
// Streams  in: an entry, its mean square, its gradient and a drawn number; out: the new entry and mean
//          square, in the same order. A pipe: valid only, no stall. The four rates are held while
//          words are in it.
// Timing   one entry per clock; FixedLatency clocks before those of jd_sparse_rmsprop, and
//          FixedLatency + 1 after them.
// Numbers  sum_i has 40 bits of fraction; D is it in FP32, rounded once. The step times 2^24 is rounded
//          to nearest even and saturated to 32 bits; (step + drawn) >> 16 is subtracted from the
//          entry, which saturates at 8 bits.
// Source   LearningGroup III-A; docs/sparse.md (numbers). Golden model: models/sparse/optim.py, regroup.
`include "jd_assert.svh"
module jd_sparse_regroup
  import jd_sparse_pkg::*;
#(
  parameter int unsigned MulLatency   = 3,     // clocks, 1..4
  parameter int unsigned AddLatency   = 4,     // clocks, 1..6
  parameter int unsigned DivLatency   = 16,    // clocks, 2..28
  parameter int unsigned SqrtLatency  = 16,    // clocks, 2..28
  parameter int unsigned FixedLatency = 3      // of a conversion, 1..4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [SINGLE_W-1:0] rate_i,
  input  logic [SINGLE_W-1:0] alpha_i,
  input  logic [SINGLE_W-1:0] rest_i,
  input  logic [SINGLE_W-1:0] eps_i,
  input  logic                valid_i,
  input  logic [SUM_W-1:0]    sum_i,
  input  logic [SINGLE_W-1:0] square_i,
  input  logic [ENTRY_W-1:0]  entry_i,
  input  logic [DRAWN_W-1:0]  drawn_i,
  output logic                valid_o,
  output logic [ENTRY_W-1:0]  entry_o,
  output logic [SINGLE_W-1:0] square_o
);
  localparam int unsigned FRACTION = 40;               // bits of a sum
  localparam int unsigned STEP     = 24;               // bits of a step
  localparam int unsigned FixedW   = 32;
  localparam int unsigned RmsLatency =
      2 * MulLatency + 3 * AddLatency + DivLatency + SqrtLatency;

  logic                gradient_valid, step_valid, fixed_valid;
  logic [SINGLE_W-1:0] gradient, square_late, square, step, unused_value;
  logic [FixedW-1:0]   fixed;
  logic [ENTRY_W-1:0]  entry;
  logic [DRAWN_W-1:0]  drawn;
  jd_float_from_fixed #(
    .IntW (SUM_W - FRACTION), .FracW (FRACTION), .Latency (FixedLatency)
  ) u_gradient (
    .clk_i, .rst_ni, .valid_i, .value_i (sum_i), .valid_o (gradient_valid), .result_o (gradient)
  );
  jd_delay #(.Width (SINGLE_W), .Cycles (FixedLatency), .Clear (1'b0)) u_square_late (
    .clk_i, .rst_ni, .in_i (square_i), .out_o (square_late)
  );
  jd_sparse_rmsprop #(
    .MulLatency (MulLatency), .AddLatency (AddLatency), .DivLatency (DivLatency),
    .SqrtLatency (SqrtLatency)
  ) u_step (
    .clk_i, .rst_ni, .rate_i, .alpha_i, .rest_i, .eps_i,
    .valid_i    (gradient_valid),
    .value_i    ('0),
    .square_i   (square_late),
    .gradient_i (gradient),
    .valid_o    (step_valid),
    .value_o    (unused_value),
    .square_o   (square),
    .step_o     (step)
  );
  jd_delay #(.Width (SINGLE_W), .Cycles (FixedLatency + 1), .Clear (1'b0)) u_square (
    .clk_i, .rst_ni, .in_i (square), .out_o (square_o)
  );
  jd_float_to_fixed #(
    .IntW (FixedW - STEP), .FracW (STEP), .Latency (FixedLatency)
  ) u_fixed (
    .clk_i, .rst_ni, .valid_i (step_valid), .value_i (step), .valid_o (fixed_valid),
    .result_o (fixed)
  );
  jd_delay #(
    .Width (ENTRY_W + DRAWN_W), .Cycles (2 * FixedLatency + RmsLatency), .Clear (1'b0)
  ) u_entry (
    .clk_i, .rst_ni, .in_i ({entry_i, drawn_i}), .out_o ({entry, drawn})
  );

  // ---- The entry less the rounded step
  localparam int unsigned DeltaW = FixedW + 1 - DRAWN_W;
  localparam int unsigned MovedW = DeltaW + 1;
  logic signed [FixedW:0]   total;
  logic signed [MovedW-1:0] moved;
  always_comb begin
    total = $signed({fixed[FixedW-1], fixed}) + $signed({(FixedW + 1 - DRAWN_W)'(0), drawn});
    moved = $signed({{(MovedW - ENTRY_W){entry[ENTRY_W-1]}}, entry})
            - $signed({total[FixedW], total[FixedW:DRAWN_W]});
  end
  always_ff @(posedge clk_i) begin
    valid_o <= rst_ni && fixed_valid;
    if (moved > 127)       entry_o <= 8'h7F;
    else if (moved < -128) entry_o <= 8'h80;
    else                   entry_o <= moved[ENTRY_W-1:0];
  end
  logic unused;
  assign unused = ^{unused_value, total[DRAWN_W-1:0]};
endmodule : jd_sparse_regroup
