// SPDX-License-Identifier: Apache-2.0
//
// Multiplies two floating-point numbers.
//
// Streams  in: two operands; out: their product, in the same order. A pipe: valid only, no stall.
// Timing   Latency clocks, one operation per clock; the four steps below are spread evenly over the
//          stages, each of which ends in registers that load only under their own valid bit.
// Numbers  IEEE 754 binary format of ExpW and ManW, round to nearest even, subnormals in and out;
//          any NaN and infinity times zero give the canonical quiet NaN. Exact up to the rounding.
// Source   IEEE 754-2019, 5.4.1. Golden model: models/float, mul.
`include "jd_assert.svh"
module jd_float_mul
  import jd_float_pkg::*;
#(
  parameter  int unsigned ExpW    = 8,                 // exponent bits, 5..8
  parameter  int unsigned ManW    = 23,                // fraction bits, 4..23
  parameter  int unsigned Latency = 4,                 // clocks, 1..4
  localparam int unsigned FloatW  = 1 + ExpW + ManW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic [FloatW-1:0] a_i,
  input  logic [FloatW-1:0] b_i,
  output logic              valid_o,
  output logic [FloatW-1:0] result_o
);
  /*verilator no_inline_module*/
  if (ExpW < 5 || ExpW > 8 || ManW < 4 || ManW > 23) begin : gen_bad_format
    $fatal(1, "jd_float_mul: ExpW=%0d ManW=%0d, want 5..8 and 4..23", ExpW, ManW);
  end
  if (Latency < 1 || Latency > 4) begin : gen_bad_latency
    $fatal(1, "jd_float_mul: Latency=%0d, want 1..4", Latency);
  end

  localparam int unsigned SigW  = ManW + 1;            // fraction with its hidden bit
  localparam int unsigned ProdW = 2 * SigW;            // exact product, 1.0 is bit ProdW-2
  localparam int unsigned WorkW = 2 * FloatW;          // both operands
  localparam int unsigned SumW  = ExpW + 2;            // sum of two exponents, with a sign
  localparam logic [SumW-1:0]   BIAS      = SumW'((1 << (ExpW - 1)) - 1);
  localparam logic [SumW-1:0]   LOST      = SumW'(SigW + 2);    // further right only the sticky bit
  localparam logic [ExpW-1:0]   EXP_MAX   = '1;
  localparam logic [FloatW-2:0] INFINITE  = {EXP_MAX, ManW'(0)};
  localparam logic [FloatW-1:0] QUIET_NAN = {1'b0, EXP_MAX, 1'b1, (ManW - 1)'(0)};

  // Steps: what `work` holds after each.
  localparam int unsigned DECODE    = 0;   // {significand of a, significand of b}
  localparam int unsigned MULTIPLY  = 1;   // product
  localparam int unsigned NORMALIZE = 2;   // {sticky bit, product in its place}
  localparam int unsigned ROUND     = 3;   // result
  localparam int unsigned STEPS     = 4;

  // Element k, from 1, is at the entrance of stage k. The exponent is one less than the biased one
  // (the hidden bit adds the one) and may be negative; `shift` counts the zeros of a subnormal
  // operand and then the places that the product moves, to the right if `right`.
  logic             valid[Latency+1]    /*verilator split_var*/;
  logic [WorkW-1:0]   work[Latency+1]     /*verilator split_var*/;
  logic [SumW-1:0]    exponent[Latency+1] /*verilator split_var*/;
  logic [4:0]         shift[Latency+1]    /*verilator split_var*/;
  logic               right[Latency+1]    /*verilator split_var*/;
  logic               sign[Latency+1]     /*verilator split_var*/;
  kind_e              kind[Latency+1]     /*verilator split_var*/;

  assign exponent[0] = '0;
  assign shift[0]    = '0;
  assign right[0]    = 1'b0;
  assign sign[0]     = 1'b0;
  assign kind[0]     = KindNumber;
  assign valid_o     = valid[Latency];
  assign result_o    = work[Latency][FloatW-1:0];

  // The product's kind, for magnitudes of which at least one is zero, subnormal or not finite.
  function automatic kind_e product_kind(input logic [FloatW-2:0] a, input logic [FloatW-2:0] b);
    logic zero = a == '0 || b == '0;
    if (a > INFINITE || b > INFINITE)          product_kind = KindNan;
    else if (a == INFINITE || b == INFINITE)   product_kind = zero ? KindNan : KindInfinity;
    else                                       product_kind = zero ? KindZero : KindNumber;
  endfunction

  for (genvar k = 0; k < Latency; k++) begin : gen_stage
    localparam int unsigned FIRST = first_step(k, STEPS, Latency);
    localparam int unsigned PAST  = first_step(k + 1, STEPS, Latency);

    // The first stage takes the inputs, which the arrays do not hold: whole arrays, as in a cocotb
    // build, would be a path from input to output.
    logic             valid_in;
    logic [WorkW-1:0] work_in;
    if (k == 0) begin : gen_input
      assign valid_in  = valid_i;
      assign work_in   = {a_i, b_i};
    end else begin : gen_register
      assign valid_in  = valid[k];
      assign work_in   = work[k];
    end

    function automatic void advance();
      logic [WorkW-1:0]       bits   = work_in;
      logic signed [SumW-1:0] power  = exponent[k];
      logic [4:0]             count  = shift[k];
      logic                   down   = right[k];
      logic                   minus  = sign[k];
      kind_e                  result = kind[k];

      if (FIRST <= DECODE && DECODE < PAST) begin
        logic [FloatW-2:0] a = bits[FloatW+:FloatW-1];
        logic [FloatW-2:0] b = bits[0+:FloatW-1];
        logic [ExpW-1:0]   a_exp = a[ManW+:ExpW];
        logic [ExpW-1:0]   b_exp = b[ManW+:ExpW];
        minus = bits[WorkW-1] ^ bits[FloatW-1];
        power = SumW'(a_exp) + SumW'(b_exp) - BIAS - SumW'(1);
        bits  = WorkW'({1'b1, a[ManW-1:0], 1'b1, b[ManW-1:0]});
        if (a_exp == '0 || b_exp == '0 || a_exp == '1 || b_exp == '1) begin
          result        = product_kind(a, b);
          power         = power + SumW'(a_exp == '0) + SumW'(b_exp == '0);
          bits[ProdW-1] = a_exp != '0;
          bits[SigW-1]  = b_exp != '0;
          // Counted in both, so that the choice does not come first.
          if (a_exp == '0)      count = leading_zeros_flat_32({1'b0, a[ManW-1:0], (32 - SigW)'(0)});
          else if (b_exp == '0) count = leading_zeros_flat_32({1'b0, b[ManW-1:0], (32 - SigW)'(0)});
        end
      end
      if (FIRST <= MULTIPLY && MULTIPLY < PAST) begin
        bits = WorkW'(ProdW'(bits[SigW+:SigW]) * ProdW'(bits[0+:SigW]));
        // A number that would need a lower exponent than the format has stays subnormal.
        down = power < 0;
        if (count != '0 || down) begin
          if (down)                      count = (-power > LOST) ? 5'(LOST) : 5'(-power);
          else if (power < SumW'(count)) count = 5'(power);
          power = down ? '0 : power - SumW'(count);
        end
      end
      if (FIRST <= NORMALIZE && NORMALIZE < PAST) begin
        logic [ProdW-1:0] product = bits[ProdW-1:0];
        logic             lost    = 1'b0;
        if (count != '0) begin
          lost    = down && (product & ~({ProdW{1'b1}} << count)) != '0;
          product = down ? product >> count : product << count;
        end
        if (power >= SumW'(EXP_MAX) - SumW'(1) && result == KindNumber) result = KindInfinity;
        bits = WorkW'({lost, product});
      end
      if (FIRST <= ROUND && ROUND < PAST) begin
        // The product's top bit counts two. Carries run from the significand into the exponent and
        // so, at the top, to infinity; at the last exponent the top bit alone is too large.
        logic             top     = bits[ProdW-1];
        logic [ProdW-2:0] product = top ? bits[ProdW-1:1] : bits[ProdW-2:0];
        logic             sticky  = bits[ProdW] || product[SigW-3:0] != '0 || (top && bits[0]);
        logic             up      = product[SigW-2] & (sticky | product[SigW-1]);
        if (power == SumW'(EXP_MAX) - SumW'(2) && top && result == KindNumber)
          result = KindInfinity;
        product[ProdW-2] = product[ProdW-2] & !top;
        bits = WorkW'({minus, {power[ExpW-1:0], ManW'(0)}
                              + (FloatW - 1)'({top, product[ProdW-2-:SigW]})
                              + (FloatW - 1)'(up)});
        if (result != KindNumber) begin
          bits = WorkW'({minus, (result == KindInfinity) ? INFINITE : (FloatW - 1)'(0)});
          if (result == KindNan) bits = WorkW'(QUIET_NAN);
        end
      end

      work[k+1]     <= bits;
      exponent[k+1] <= power;
      shift[k+1]    <= count;
      right[k+1]    <= down;
      sign[k+1]     <= minus;
      kind[k+1]     <= result;
    endfunction

    always_ff @(posedge clk_i) begin
      valid[k+1] <= rst_ni && valid_in;
      if (valid_in) advance();
    end
  end

  `JD_ASSERT_IF(NanIsCanonical_A, valid_o,
                result_o[FloatW-2:0] <= INFINITE || result_o == QUIET_NAN)
endmodule : jd_float_mul
