// SPDX-License-Identifier: Apache-2.0
//
// Hyperbolic tangent of an actor's output, with or without noise, or a gradient times its slope.
//
// Streams  in: a mode and its operands; out: the result, in the same order. A pipe: valid only, no
//          stall.
// Timing   latency 5 + 2 * MulLatency + 3 * AddLatency clocks, one operation per clock, all modes.
// Numbers  binary32, RNE, each operation rounded on its own. Tangent, with a = |x|: 1 for a >= 8,
//          a for a < 2^-8, else c0[k] + t*(c1[k] + t*c2[k]) of k = floor(64*a) and t = 64*a - k,
//          both exact; the sign of x. Noise: the sum y + other, kept within -1 and 1. Slope:
//          x * (1 - other*other). Any NaN gives the canonical one.
// Source   learner 3 (tanh). Golden model: models/learner/tanh.py.
`include "jd_assert.svh"
module jd_learner_tanh
  import jd_learner_tanh_tables_pkg::*;
#(
  parameter  int unsigned MulLatency = 2,        // clocks, 1..4
  parameter  int unsigned AddLatency = 2,        // clocks, 1..6
  localparam int unsigned Latency    = 5 + 2 * MulLatency + 3 * AddLatency
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic        slope_i,                   // else the tangent
  input  logic        noise_i,                   // of the tangent: add other_i
  input  logic [31:0] x_i,                       // of the slope: the gradient
  input  logic [31:0] other_i,                   // noise; of the slope: a tangent
  output logic        valid_o,
  output logic [31:0] result_o
);
  localparam logic [31:0] ONE       = 32'h3F80_0000;
  localparam logic [31:0] QUIET_NAN = 32'h7FC0_0000;
  localparam logic [30:0] INFINITE  = 31'h7F80_0000;
  localparam logic [7:0]  EXP_SMALL = 8'd119;    // of 2^-8: below, the result is x
  localparam logic [7:0]  EXP_LARGE = 8'd130;    // of 8: from here on it is 1
  localparam int unsigned FRAC_W    = 25;        // 64*a: 9 bits, point, 25 bits: 2^-8 has 23 bits
                                                 // after its leading one, which is 2^-2
  localparam int unsigned FIXED_W   = 9 + FRAC_W;
  localparam logic [7:0]  EXP_T     = 8'd126;    // of t with its leading one right after the point

  typedef struct packed {
    logic        slope;
    logic        noise;
    logic        direct;                         // the tangent is `value`
    logic        sign;
    logic [31:0] value;                          // of the slope: the gradient
    logic [31:0] other;
  } carried_t;

  // Clock 1: what x is; 64*a as a number with a fixed point.
  logic               valid_q, valid_q2, valid_q3;
  carried_t           carried_q, carried_q2, carried_q3;
  logic [FIXED_W-1:0] fixed_q;
  logic [7:0]         exponent;
  assign exponent = x_i[30:23];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q  <= 1'b0;
      valid_q2 <= 1'b0;
      valid_q3 <= 1'b0;
    end else begin
      valid_q  <= valid_i;
      valid_q2 <= valid_q;
      valid_q3 <= valid_q2;
    end
    if (valid_i) begin
      carried_q.slope  <= slope_i;
      carried_q.noise  <= noise_i && !slope_i;
      carried_q.direct <= exponent < EXP_SMALL || exponent >= EXP_LARGE;
      carried_q.sign   <= x_i[31];
      carried_q.other  <= other_i;
      if (slope_i || exponent < EXP_SMALL) carried_q.value <= x_i;
      else if (x_i[30:0] > INFINITE)       carried_q.value <= QUIET_NAN;
      else                                 carried_q.value <= {x_i[31], ONE[30:0]};
      fixed_q <= FIXED_W'({1'b1, x_i[22:0]}) << 4'(exponent - EXP_SMALL);
    end
  end

  // Clock 2: the segment's coefficients; the zeros in front of t.
  logic [95:0]           coefficients_q;
  logic [4:0]            zeros, zeros_q;
  logic [FRAC_W-1:0]     fraction, fraction_q;
  assign fraction = fixed_q[FRAC_W-1:0];
  always_comb begin
    zeros = 5'(FRAC_W);
    for (int unsigned bit_index = 0; bit_index < FRAC_W; bit_index++) begin
      if (fraction[bit_index]) zeros = 5'(FRAC_W - 1 - bit_index);
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_q) begin
      carried_q2     <= carried_q;
      coefficients_q <= TANH_TABLE[fixed_q[FIXED_W-1 -: 9]];
      zeros_q        <= zeros;
      fraction_q     <= fraction;
    end
  end

  // Clock 3: the operands. The coefficients come late, out of a memory.
  logic [31:0]       left_q, right_q, factor_q, c1_q, c0_q, t;
  logic [FRAC_W-1:0] shifted;                   // at most 24 bits from the leading one on are set
  assign shifted = fraction_q << zeros_q;
  assign t       = fraction_q == '0 ? '0 : {1'b0, EXP_T - 8'(zeros_q), shifted[FRAC_W-2 -: 23]};
  always_ff @(posedge clk_i) begin
    if (valid_q2) begin
      carried_q3 <= carried_q2;
      left_q     <= carried_q2.slope ? carried_q2.other : t;
      right_q    <= carried_q2.slope ? carried_q2.other : coefficients_q[95:64];
      factor_q   <= carried_q2.slope ? carried_q2.value : t;
      c1_q       <= carried_q2.slope ? ONE : coefficients_q[63:32];
      c0_q       <= coefficients_q[31:0];
    end
  end

  // The parabola, in Horner's form; the slope takes its first three steps.
  logic [31:0] product, inner, t_inner, outer, total;
  logic        product_valid, inner_valid, t_inner_valid, outer_valid, total_valid;
  logic [31:0] c0, c1, factor;                   // beside the step that takes them
  carried_t    at_inner, at_outer;
  jd_float_mul #(.Latency (MulLatency)) u_product (
    .clk_i, .rst_ni,
    .valid_i  (valid_q3),
    .a_i      (left_q),
    .b_i      (right_q),
    .valid_o  (product_valid),
    .result_o (product)
  );
  logic        slope_at_sum;
  jd_delay #(.Width (33), .Cycles (MulLatency), .Clear (1'b0)) u_c1 (
    .clk_i, .rst_ni,
    .in_i  ({carried_q3.slope, c1_q}),
    .out_o ({slope_at_sum, c1})
  );
  jd_float_add #(.Latency (AddLatency)) u_inner (
    .clk_i, .rst_ni,
    .valid_i    (product_valid),
    .subtract_i (slope_at_sum),
    .a_i        (c1),
    .b_i        (product),
    .valid_o    (inner_valid),
    .result_o   (inner)
  );
  jd_delay #(.Width (32), .Cycles (MulLatency + AddLatency), .Clear (1'b0)) u_factor (
    .clk_i, .rst_ni,
    .in_i  (factor_q),
    .out_o (factor)
  );
  jd_float_mul #(.Latency (MulLatency)) u_t_inner (
    .clk_i, .rst_ni,
    .valid_i  (inner_valid),
    .a_i      (factor),
    .b_i      (inner),
    .valid_o  (t_inner_valid),
    .result_o (t_inner)
  );
  jd_delay #(.Width ($bits(carried_t) + 32), .Cycles (2 * MulLatency + AddLatency),
             .Clear (1'b0)) u_inner_carried (
    .clk_i, .rst_ni,
    .in_i  ({carried_q3, c0_q}),
    .out_o ({at_inner, c0})
  );
  jd_float_add #(.Latency (AddLatency)) u_outer (
    .clk_i, .rst_ni,
    .valid_i    (t_inner_valid),
    .subtract_i (1'b0),
    .a_i        (c0),
    .b_i        (t_inner),
    .valid_o    (outer_valid),
    .result_o   (outer)
  );
  // The slope's result bypasses the last sums.
  carried_t at_inner_slope;
  always_comb begin
    at_inner_slope = at_inner;
    if (at_inner.slope) at_inner_slope.value = t_inner;
  end
  jd_delay #(.Width ($bits(carried_t)), .Cycles (AddLatency), .Clear (1'b0)) u_outer_carried (
    .clk_i, .rst_ni,
    .in_i  (at_inner_slope),
    .out_o (at_outer)
  );

  // The tangent, or the bypass; then its sum with the noise.
  logic        chosen_valid_q, chosen_noise_q;
  logic [31:0] chosen_q, noise_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) chosen_valid_q <= 1'b0;
    else         chosen_valid_q <= outer_valid;
    if (outer_valid) begin
      chosen_noise_q <= at_outer.noise;
      noise_q        <= at_outer.other;
      chosen_q       <= at_outer.slope || at_outer.direct ? at_outer.value
                                                          : {at_outer.sign, outer[30:0]};
    end
  end
  jd_float_add #(.Latency (AddLatency)) u_total (
    .clk_i, .rst_ni,
    .valid_i    (chosen_valid_q),
    .subtract_i (1'b0),
    .a_i        (chosen_q),
    .b_i        (noise_q),
    .valid_o    (total_valid),
    .result_o   (total)
  );
  logic        noisy;
  logic [31:0] chosen;
  jd_delay #(.Width (33), .Cycles (AddLatency), .Clear (1'b0)) u_chosen (
    .clk_i, .rst_ni,
    .in_i  ({chosen_noise_q, chosen_q}),
    .out_o ({noisy, chosen})
  );
  logic        beyond;                           // more than 1, and no NaN
  assign beyond = total[30:0] > ONE[30:0] && total[30:0] <= INFINITE;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else         valid_o <= total_valid;
    if (total_valid) begin
      if (!noisy)      result_o <= chosen;
      else if (beyond) result_o <= {total[31], ONE[30:0]};
      else             result_o <= total;
    end
  end

  logic want_valid;
  jd_delay #(.Width (1), .Cycles (Latency)) u_want (
    .clk_i, .rst_ni, .in_i (valid_i), .out_o (want_valid)
  );
  `JD_ASSERT(Latency_A, valid_o == want_valid)
endmodule : jd_learner_tanh
