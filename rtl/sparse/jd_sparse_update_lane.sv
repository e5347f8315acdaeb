// SPDX-License-Identifier: Apache-2.0
//
// Updates one weight per clock: adds its gradients of the cores, scales the sum, and gives its new value,
// its new mean square, and its product with the gradient.
//
// Streams  in: the gradients of a weight; value_i, square_i: the weight, SCALED clocks later; out: what
//          becomes of it, LATENCY clocks after that; product: PRODUCT clocks after it. Pipes: valid only,
//          no stall. The settings are held.
// Timing   a weight per clock. SCALED = (Cores-1)*Add + Mul, PRODUCT = Mul + 4, LATENCY that of
//          jd_sparse_rmsprop.
// Numbers  FP32, each operation rounded: ((G0 + G1) + G2) * gscale; RMSprop; the product of the weight
//          before the update and its gradient, to 54 bits with 40 of fraction, saturated.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/optim.py, scaled, rmsprop, products.
module jd_sparse_update_lane
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores        = 3,      // 1..3
  parameter int unsigned Mul32Latency   = 3,      // clocks, 1..4
  parameter int unsigned Add32Latency = 4,      // clocks, 1..6
  parameter int unsigned DivLatency   = 16,     // clocks, 2..28
  parameter int unsigned SqrtLatency  = 16      // clocks, 2..28
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  settings_t                       settings_i,
  input  logic                            valid_i,
  input  logic [Cores-1:0][SINGLE_W-1:0]  gradients_i,
  input  logic [SINGLE_W-1:0]             value_i,
  input  logic [SINGLE_W-1:0]             square_i,
  output logic                            valid_o,
  output logic [SINGLE_W-1:0]             value_o,
  output logic [SINGLE_W-1:0]             square_o,
  output logic                            product_valid_o,
  output logic [PRODUCT_W-1:0]            product_o
);
  logic [Cores-1:0]               added;
  logic [Cores-1:0][SINGLE_W-1:0] sum;
  logic                           scaled, multiplied;
  logic [SINGLE_W-1:0]            gradient, product, unused_step;
  assign added[0] = valid_i;
  assign sum[0]   = gradients_i[0];
  for (genvar c = 1; c < Cores; c++) begin : gen_core
    logic [SINGLE_W-1:0] other;
    jd_delay #(.Width (SINGLE_W), .Cycles ((c - 1) * Add32Latency), .Clear (1'b0)) u_other (
      .clk_i, .rst_ni, .in_i (gradients_i[c]), .out_o (other)
    );
    jd_float_add #(.Latency (Add32Latency)) u_add (
      .clk_i, .rst_ni, .valid_i (added[c-1]), .subtract_i (1'b0), .a_i (sum[c-1]), .b_i (other),
      .valid_o (added[c]), .result_o (sum[c])
    );
  end
  jd_float_mul #(.Latency (Mul32Latency)) u_scale (
    .clk_i, .rst_ni, .valid_i (added[Cores-1]), .a_i (sum[Cores-1]), .b_i (settings_i.gscale),
    .valid_o (scaled), .result_o (gradient)
  );
  jd_sparse_rmsprop #(
    .MulLatency (Mul32Latency), .AddLatency (Add32Latency), .DivLatency (DivLatency),
    .SqrtLatency (SqrtLatency)
  ) u_rmsprop (
    .clk_i, .rst_ni,
    .rate_i     (settings_i.rate),
    .alpha_i    (settings_i.alpha),
    .rest_i     (settings_i.one_minus_alpha),
    .eps_i      (settings_i.eps),
    .valid_i    (scaled),
    .value_i, .square_i,
    .gradient_i (gradient),
    .valid_o, .value_o, .square_o,
    .step_o     (unused_step)
  );
  jd_float_mul #(.Latency (Mul32Latency)) u_product (
    .clk_i, .rst_ni, .valid_i (scaled), .a_i (value_i), .b_i (gradient),
    .valid_o (multiplied), .result_o (product)
  );
  jd_float_to_fixed #(.IntW (PRODUCT_W - SUM_FRACTION), .FracW (SUM_FRACTION)) u_fixed (
    .clk_i, .rst_ni, .valid_i (multiplied), .value_i (product), .valid_o (product_valid_o),
    .result_o (product_o)
  );
  logic unused;
  assign unused = ^{unused_step, settings_i};
endmodule : jd_sparse_update_lane
