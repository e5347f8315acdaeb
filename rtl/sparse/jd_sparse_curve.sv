// SPDX-License-Identifier: Apache-2.0
//
// Hyperbolic tangent or sigmoid of an FP16 number, by straight lines between 512 points.
//
// Streams  in: a number; out: the function of it, in the same order. A pipe: valid only, no stall.
// Timing   CURVE_LATENCY clocks, one number per clock.
// Numbers  Tangent, with a = |x|: x for a < 2^-5, 1 for a >= 8, else Y of X = a * 2^16, exact; the
//          sign of x. Sigmoid: 1/2 + Y/2 of X = a * 2^15, rounded half up, 1/2 - Y/2 for a negative
//          x; 1 and 0 for a >= 16. Y = T[k] * 2^10 + (T[k+1] - T[k]) * f, binary point 28, with k
//          the upper bits of X and f the lower 10; Y/2 is cut. The result is rounded once. Any NaN
//          gives the canonical one.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/numbers.py, tanh and sigmoid.
`include "jd_assert.svh"
module jd_sparse_curve
  import jd_sparse_pkg::*, jd_fixed_tanh_tables_pkg::*;
#(
  parameter bit Sigmoid = 1'b0               // else the tangent
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic [HALF_W-1:0] x_i,
  output logic              valid_o,
  output logic [HALF_W-1:0] result_o
);
  /*verilator no_inline_module*/
  localparam logic [HALF_W-1:0] ONE       = 16'h3C00;
  localparam logic [HALF_W-1:0] QUIET_NAN = 16'h7E00;
  localparam logic [HALF_W-2:0] INFINITE  = 15'h7C00;
  localparam logic [4:0]  EXP_SMALL = 5'd10;             // of 2^-5
  localparam logic [4:0]  EXP_LARGE = Sigmoid ? 5'd19 : 5'd18;
  localparam int unsigned WideW     = 11 + 17;           // a * 2^24: a significand, its shifts
  localparam int unsigned Cut       = Sigmoid ? 9 : 8;   // bits of a * 2^24 below X
  localparam int unsigned FracW     = 10;                // f
  localparam int unsigned FixedW    = 9 + FracW;         // X
  localparam int unsigned Point     = 18 + FracW;        // binary point of Y
  localparam int unsigned ToFloat   = 6;                 // clocks before the conversion
  localparam int unsigned Convert   = CURVE_LATENCY - ToFloat - 1;

  logic [ToFloat:1] valid_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= {valid_q[ToFloat-1:1], valid_i};
  end

  // Clock 1: what x is; a as a number with a fixed point.
  typedef struct packed {
    logic              direct;                           // the result is `value`
    logic              sign;
    logic [HALF_W-1:0] value;
  } carried_t;
  carried_t         carried_q, carried;
  logic [4:0]       exponent;
  logic             normal;
  logic [WideW-1:0] wide_q;
  assign exponent = x_i[14:10];
  assign normal   = exponent != '0;                      // subnormals have the least exponent, too
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      carried_q.direct <= exponent >= EXP_LARGE || (!Sigmoid && exponent < EXP_SMALL);
      carried_q.sign   <= x_i[15];
      if (x_i[14:0] > INFINITE)      carried_q.value <= QUIET_NAN;
      else if (exponent < EXP_LARGE) carried_q.value <= x_i;
      else if (Sigmoid)              carried_q.value <= x_i[15] ? '0 : ONE;
      else                           carried_q.value <= {x_i[15], ONE[14:0]};
      wide_q <= WideW'({normal, x_i[9:0]}) << (exponent - 5'(normal));
    end
  end
  jd_delay #(.Width ($bits(carried_t)), .Cycles (CURVE_LATENCY - 2), .Clear (1'b0)) u_carried (
    .clk_i, .rst_ni, .in_i (carried_q), .out_o (carried)
  );

  // Clocks 2 to 6: X; the segment; the product; Y; of the sigmoid 1/2 and half of it.
  logic [FixedW-1:0]        fixed_q;
  logic [STEP_W+BASE_W-1:0] segment_q;                   // {T[k+1] - T[k], T[k]}
  logic [FracW-1:0]         part_q;
  logic [BASE_W-1:0]        base_q;
  logic [STEP_W+FracW-1:0]  product_q;
  logic [Point:0]           y_q, half_y, value_q;
  logic                     minus;
  localparam logic [Point:0] HALF = {2'b01, (Point - 1)'(0)};
  jd_delay #(.Width (1), .Cycles (4), .Clear (1'b0)) u_minus (
    .clk_i, .rst_ni, .in_i (carried_q.sign), .out_o (minus)
  );
  assign half_y = y_q >> 1;
  always_ff @(posedge clk_i) begin
    if (valid_q[1]) fixed_q <= FixedW'(wide_q >> Cut) + FixedW'(Sigmoid && wide_q[Cut-1]);
    if (valid_q[2]) begin
      segment_q <= TANH_TABLE[fixed_q[FixedW-1 -: 9]];
      part_q    <= fixed_q[FracW-1:0];
    end
    if (valid_q[3]) begin
      base_q    <= segment_q[BASE_W-1:0];
      product_q <= (STEP_W + FracW)'(segment_q[BASE_W +: STEP_W]) * (STEP_W + FracW)'(part_q);
    end
    if (valid_q[4]) y_q <= {base_q, FracW'(0)} + (Point + 1)'(product_q);
    if (valid_q[5]) value_q <= !Sigmoid ? y_q : minus ? HALF - half_y : HALF + half_y;
  end

  // Clocks 7 to 10: the nearest float, or the number of clock 1.
  logic              float_valid;
  logic [HALF_W-1:0] float;
  jd_float_from_fixed #(
    .ExpW (5), .ManW (10), .IntW (1), .FracW (Point), .Signed (1'b0), .Latency (Convert)
  ) u_float (
    .clk_i, .rst_ni,
    .valid_i  (valid_q[ToFloat]),
    .value_i  (value_q),
    .valid_o  (float_valid),
    .result_o (float)
  );
  always_ff @(posedge clk_i) begin
    valid_o <= rst_ni && float_valid;
    if (float_valid) begin
      result_o <= carried.direct ? carried.value : {!Sigmoid && carried.sign, float[14:0]};
    end
  end

  logic want_valid;
  jd_delay #(.Width (1), .Cycles (CURVE_LATENCY)) u_want (
    .clk_i, .rst_ni, .in_i (valid_i), .out_o (want_valid)
  );
  `JD_ASSERT(Latency_A, valid_o == want_valid)
  logic unused;
  assign unused = float[15];
endmodule : jd_sparse_curve
