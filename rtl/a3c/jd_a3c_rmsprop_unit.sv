// SPDX-License-Identifier: Apache-2.0
//
// RMSProp for one parameter per clock: its new mean square and its new value.
//
// Streams  in: a parameter, its mean square and its gradient; out: both new, in the same order. A
//          pipe: valid only, no stall. The four hyper-parameters are held while words are in it.
// Timing   one word per clock; LATENCY = 2*Mul + 3*Add + Sqrt + Div clocks:
//              0 square, decay | M share | 2M mean square | 2M+A plus eps | 2M+2A root
//              | 2M+2A+S quotient | 2M+2A+S+D parameter | 2M+3A+S+D out
// Numbers  binary32, each operation rounded to nearest even, subnormals kept, one canonical NaN:
//              g'     = rho * g + rest * (gradient * gradient)
//              theta' = theta - (eta * gradient) / sqrt(g' + eps)
//          With a positive eps and finite hyper-parameters, padding stays: a parameter of +0 whose
//          gradient is +0 stays, and so does its mean square unless rho and rest are both negative.
// Source   FA3C (ASPLOS 2019) section 4.2.3 and figure 5 (RMSProp unit). Golden model:
//          models/a3c/rmsprop.py.
`include "jd_assert.svh"
module jd_a3c_rmsprop_unit #(
  parameter int unsigned MulLatency  = 2,    // clocks, 1..4
  parameter int unsigned AddLatency  = 2,    // clocks, 1..6
  parameter int unsigned DivLatency  = 4,    // clocks, 2..28
  parameter int unsigned SqrtLatency = 4     // clocks, 2..28
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [31:0] eta_i,         // learning rate
  input  logic [31:0] rho_i,         // decay of the mean square
  input  logic [31:0] rest_i,        // 1 - rho, rounded by the host
  input  logic [31:0] eps_i,
  input  logic        valid_i,
  input  logic [31:0] theta_i,
  input  logic [31:0] square_i,      // mean square g
  input  logic [31:0] gradient_i,
  output logic        valid_o,
  output logic [31:0] theta_o,
  output logic [31:0] square_o
);
  localparam int unsigned SHARE    = MulLatency;                 // clocks after valid_i
  localparam int unsigned MEAN     = SHARE + MulLatency;
  localparam int unsigned EPS      = MEAN + AddLatency;
  localparam int unsigned ROOT     = EPS + AddLatency;
  localparam int unsigned QUOTIENT = ROOT + SqrtLatency;
  localparam int unsigned NEW      = QUOTIENT + DivLatency;
  localparam int unsigned LATENCY  = NEW + AddLatency;
  localparam int unsigned STEP     = QUOTIENT - MulLatency;      // eta * gradient meets the root

  logic [31:0] gradient_squared, share, decayed, mean, under_root, root, step, quotient;
  logic        squared_valid, mean_valid, root_in_valid, root_valid, step_valid, quotient_valid,
               share_valid, decayed_valid;
  logic [31:0] square_late, gradient_late, theta_late;

  // Words that came; element k came k clocks ago.
  logic [LATENCY:0] given;
  logic [LATENCY:1] given_q;
  assign given = {given_q, valid_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) given_q <= '0;
    else         given_q <= given[LATENCY-1:0];
  end

  // Mean square.
  jd_float_mul #(.Latency (MulLatency)) u_squared (
    .clk_i, .rst_ni,
    .valid_i  (valid_i),
    .a_i      (gradient_i),
    .b_i      (gradient_i),
    .valid_o  (squared_valid),
    .result_o (gradient_squared)
  );
  jd_delay #(.Width (32), .Cycles (SHARE), .Clear (1'b0)) u_square_late (
    .clk_i, .rst_ni,
    .in_i  (square_i),
    .out_o (square_late)
  );
  jd_float_mul #(.Latency (MulLatency)) u_share (
    .clk_i, .rst_ni,
    .valid_i  (squared_valid),
    .a_i      (rest_i),
    .b_i      (gradient_squared),
    .valid_o  (share_valid),
    .result_o (share)
  );
  jd_float_mul #(.Latency (MulLatency)) u_decayed (
    .clk_i, .rst_ni,
    .valid_i  (squared_valid),
    .a_i      (rho_i),
    .b_i      (square_late),
    .valid_o  (decayed_valid),
    .result_o (decayed)
  );
  jd_float_add #(.Latency (AddLatency)) u_mean (
    .clk_i, .rst_ni,
    .valid_i    (share_valid),
    .subtract_i (1'b0),
    .a_i        (decayed),
    .b_i        (share),
    .valid_o    (mean_valid),
    .result_o   (mean)
  );
  jd_delay #(.Width (32), .Cycles (LATENCY - EPS), .Clear (1'b0)) u_square (
    .clk_i, .rst_ni,
    .in_i  (mean),
    .out_o (square_o)
  );

  // Parameter.
  jd_float_add #(.Latency (AddLatency)) u_eps (
    .clk_i, .rst_ni,
    .valid_i    (mean_valid),
    .subtract_i (1'b0),
    .a_i        (mean),
    .b_i        (eps_i),
    .valid_o    (root_in_valid),
    .result_o   (under_root)
  );
  jd_float_sqrt #(.Latency (SqrtLatency)) u_root (
    .clk_i, .rst_ni,
    .valid_i  (root_in_valid),
    .a_i      (under_root),
    .valid_o  (root_valid),
    .result_o (root)
  );
  jd_delay #(.Width (32), .Cycles (STEP), .Clear (1'b0)) u_gradient_late (
    .clk_i, .rst_ni,
    .in_i  (gradient_i),
    .out_o (gradient_late)
  );
  jd_float_mul #(.Latency (MulLatency)) u_step (
    .clk_i, .rst_ni,
    .valid_i  (given[STEP]),
    .a_i      (eta_i),
    .b_i      (gradient_late),
    .valid_o  (step_valid),
    .result_o (step)
  );
  jd_float_div #(.Latency (DivLatency)) u_quotient (
    .clk_i, .rst_ni,
    .valid_i  (root_valid),
    .a_i      (step),
    .b_i      (root),
    .valid_o  (quotient_valid),
    .result_o (quotient)
  );
  jd_delay #(.Width (32), .Cycles (NEW), .Clear (1'b0)) u_theta_late (
    .clk_i, .rst_ni,
    .in_i  (theta_i),
    .out_o (theta_late)
  );
  jd_float_add #(.Latency (AddLatency)) u_theta (
    .clk_i, .rst_ni,
    .valid_i    (quotient_valid),
    .subtract_i (1'b1),
    .a_i        (theta_late),
    .b_i        (quotient),
    .valid_o    (valid_o),
    .result_o   (theta_o)
  );

  `JD_ASSUME_STABLE(SettingsHeld_M, given[LATENCY-1:0] != '0, {eta_i, rho_i, rest_i, eps_i})
  `JD_ASSERT(DecayMeetsShare_A, decayed_valid == share_valid)
  `JD_ASSERT(StepMeetsRoot_A, step_valid == root_valid)
  `JD_ASSERT(LatencyIsFixed_A, valid_o == given[LATENCY])
endmodule : jd_a3c_rmsprop_unit
