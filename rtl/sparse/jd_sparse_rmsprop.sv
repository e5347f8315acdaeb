// SPDX-License-Identifier: Apache-2.0
//
// RMSprop for one number per clock: its new mean square, its step, its new value.
//
// Streams  in: a number, its mean square and its gradient; out: what becomes of them, in the same
//          order. A pipe: valid only, no stall. The four rates are held while words are in it.
// Timing   one word per clock; LATENCY = 2*Mul + 3*Add + Sqrt + Div clocks:
//              0 square | M shares | 2M mean square | 2M+A root | 2M+A+S plus eps | 2M+2A+S quotient
//              | 2M+2A+S+D value | 2M+3A+S+D out
// Numbers  binary32, each operation rounded to nearest even, subnormals kept, one canonical NaN:
//              v' = alpha * v + rest * (g * g);  step = (rate * g) / (sqrt(v') + eps);  w' = w - step
// Source   docs/sparse.md (numbers). Golden model: models/sparse/optim.py, rmsprop.
`include "jd_assert.svh"
module jd_sparse_rmsprop
  import jd_sparse_pkg::*;
#(
  parameter int unsigned MulLatency  = 3,    // clocks, 1..4
  parameter int unsigned AddLatency  = 4,    // clocks, 1..6
  parameter int unsigned DivLatency  = 16,   // clocks, 2..28
  parameter int unsigned SqrtLatency = 16    // clocks, 2..28
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic [SINGLE_W-1:0] rate_i,
  input  logic [SINGLE_W-1:0] alpha_i,
  input  logic [SINGLE_W-1:0] rest_i,        // 1 - alpha, rounded by the host
  input  logic [SINGLE_W-1:0] eps_i,
  input  logic                valid_i,
  input  logic [SINGLE_W-1:0] value_i,
  input  logic [SINGLE_W-1:0] square_i,      // mean square
  input  logic [SINGLE_W-1:0] gradient_i,
  output logic                valid_o,
  output logic [SINGLE_W-1:0] value_o,
  output logic [SINGLE_W-1:0] square_o,
  output logic [SINGLE_W-1:0] step_o
);
  localparam int unsigned SHARE    = MulLatency;               // clocks after valid_i
  localparam int unsigned MEAN     = SHARE + MulLatency;
  localparam int unsigned ROOT     = MEAN + AddLatency;
  localparam int unsigned EPS      = ROOT + SqrtLatency;
  localparam int unsigned QUOTIENT = EPS + AddLatency;
  localparam int unsigned VALUE    = QUOTIENT + DivLatency;
  localparam int unsigned LATENCY  = VALUE + AddLatency;
  localparam int unsigned STEP     = QUOTIENT - MulLatency;    // rate * gradient meets the divisor

  logic [SINGLE_W-1:0] squared, share, decayed, mean, root, divisor, moment, quotient;
  logic [SINGLE_W-1:0] square_late, gradient_late, value_late;
  logic                squared_valid, share_valid, mean_valid, root_valid, divisor_valid;
  logic                quotient_valid, unused_decayed, unused_moment;
  logic [LATENCY:1]    given_q;                                // k: came k clocks ago
  always_ff @(posedge clk_i) given_q <= rst_ni ? {given_q[LATENCY-1:1], valid_i} : '0;

  // ---- Mean square
  jd_float_mul #(.Latency (MulLatency)) u_squared (
    .clk_i, .rst_ni, .valid_i, .a_i (gradient_i), .b_i (gradient_i),
    .valid_o (squared_valid), .result_o (squared)
  );
  jd_delay #(.Width (SINGLE_W), .Cycles (SHARE), .Clear (1'b0)) u_square_late (
    .clk_i, .rst_ni, .in_i (square_i), .out_o (square_late)
  );
  jd_float_mul #(.Latency (MulLatency)) u_share (
    .clk_i, .rst_ni, .valid_i (squared_valid), .a_i (rest_i), .b_i (squared),
    .valid_o (share_valid), .result_o (share)
  );
  jd_float_mul #(.Latency (MulLatency)) u_decayed (
    .clk_i, .rst_ni, .valid_i (squared_valid), .a_i (alpha_i), .b_i (square_late),
    .valid_o (unused_decayed), .result_o (decayed)
  );
  jd_float_add #(.Latency (AddLatency)) u_mean (
    .clk_i, .rst_ni, .valid_i (share_valid), .subtract_i (1'b0), .a_i (decayed), .b_i (share),
    .valid_o (mean_valid), .result_o (mean)
  );
  jd_delay #(.Width (SINGLE_W), .Cycles (LATENCY - ROOT), .Clear (1'b0)) u_square (
    .clk_i, .rst_ni, .in_i (mean), .out_o (square_o)
  );

  // ---- Step and value
  jd_float_sqrt #(.Latency (SqrtLatency)) u_root (
    .clk_i, .rst_ni, .valid_i (mean_valid), .a_i (mean), .valid_o (root_valid), .result_o (root)
  );
  jd_float_add #(.Latency (AddLatency)) u_divisor (
    .clk_i, .rst_ni, .valid_i (root_valid), .subtract_i (1'b0), .a_i (root), .b_i (eps_i),
    .valid_o (divisor_valid), .result_o (divisor)
  );
  jd_delay #(.Width (SINGLE_W), .Cycles (STEP), .Clear (1'b0)) u_gradient_late (
    .clk_i, .rst_ni, .in_i (gradient_i), .out_o (gradient_late)
  );
  jd_float_mul #(.Latency (MulLatency)) u_moment (
    .clk_i, .rst_ni, .valid_i (given_q[STEP]), .a_i (rate_i), .b_i (gradient_late),
    .valid_o (unused_moment), .result_o (moment)
  );
  jd_float_div #(.Latency (DivLatency)) u_quotient (
    .clk_i, .rst_ni, .valid_i (divisor_valid), .a_i (moment), .b_i (divisor),
    .valid_o (quotient_valid), .result_o (quotient)
  );
  jd_delay #(.Width (SINGLE_W), .Cycles (AddLatency), .Clear (1'b0)) u_step (
    .clk_i, .rst_ni, .in_i (quotient), .out_o (step_o)
  );
  jd_delay #(.Width (SINGLE_W), .Cycles (VALUE), .Clear (1'b0)) u_value_late (
    .clk_i, .rst_ni, .in_i (value_i), .out_o (value_late)
  );
  jd_float_add #(.Latency (AddLatency)) u_value (
    .clk_i, .rst_ni, .valid_i (quotient_valid), .subtract_i (1'b1), .a_i (value_late),
    .b_i (quotient), .valid_o, .result_o (value_o)
  );

  `JD_ASSUME_STABLE(RatesHeld_M, valid_i || given_q[LATENCY-1:1] != '0,
                    {rate_i, alpha_i, rest_i, eps_i})
  `JD_ASSERT(MomentMeetsDivisor_A, unused_moment == divisor_valid)
  `JD_ASSERT(DecayMeetsShare_A, unused_decayed == share_valid)
  `JD_ASSERT(LatencyIsFixed_A, valid_o == given_q[LATENCY])
endmodule : jd_sparse_rmsprop
