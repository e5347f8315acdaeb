// SPDX-License-Identifier: Apache-2.0
//
// Takes the square root of a floating-point number.
//
// Streams  in: an operand; out: its root, in the same order. A pipe: valid only, no stall.
// Timing   Latency clocks, one operation per clock. Decoding, the ManW+2 root bits and rounding are
//          spread evenly over the stages, each of which ends in registers that load only under
//          their own valid bit; binary32 has at most one of these steps a stage at Latency 28.
// Numbers  IEEE 754 binary format of ExpW and ManW, round to nearest even, subnormals in; any NaN
//          and any negative operand give the canonical quiet NaN, except that -0 gives -0.
//          Restoring root: the bits are exact, the remainder is the sticky bit. A root is never
//          subnormal and never overflows.
// Source   IEEE 754-2019, 5.4.1. Golden model: models/float, sqrt.
`include "jd_assert.svh"
module jd_float_sqrt
  import jd_float_pkg::*;
#(
  parameter  int unsigned ExpW    = 8,                 // exponent bits, 5..8
  parameter  int unsigned ManW    = 23,                // fraction bits, 4..23
  parameter  int unsigned Latency = 28,                // clocks, 2..28
  localparam int unsigned FloatW  = 1 + ExpW + ManW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic [FloatW-1:0] a_i,
  output logic              valid_o,
  output logic [FloatW-1:0] result_o
);
  /*verilator no_inline_module*/
  if (ExpW < 5 || ExpW > 8 || ManW < 4 || ManW > 23) begin : gen_bad_format
    $fatal(1, "jd_float_sqrt: ExpW=%0d ManW=%0d, want 5..8 and 4..23", ExpW, ManW);
  end
  if (Latency < 2 || Latency > 28) begin : gen_bad_latency
    $fatal(1, "jd_float_sqrt: Latency=%0d, want 2..28", Latency);
  end

  localparam int unsigned SigW  = ManW + 1;            // fraction with its hidden bit
  localparam int unsigned RootW = SigW + 1;            // root of 1..2 with a round bit
  localparam int unsigned RestW = RootW + 2;           // remainder, at most twice the root, and 2
  localparam int unsigned RadW  = SigW + 2;            // radicand of 1..4, two bits a step
  localparam int unsigned SumW  = ExpW + 2;            // sum of exponent and bias, with a sign
  localparam logic [SumW-1:0]   BIAS      = SumW'((1 << (ExpW - 1)) - 1);
  localparam logic [ExpW-1:0]   EXP_MAX   = '1;
  localparam logic [FloatW-2:0] INFINITE  = {EXP_MAX, ManW'(0)};
  localparam logic [FloatW-1:0] QUIET_NAN = {1'b0, EXP_MAX, 1'b1, (ManW - 1)'(0)};

  // Steps: operand, then one bit of the root each, then the result.
  localparam int unsigned DECODE    = 0;
  localparam int unsigned FIRST_BIT = 1;
  localparam int unsigned ROUND     = RootW + 1;
  localparam int unsigned STEPS     = RootW + 2;

  // Element k is at the entrance of stage k. The exponent is the result's, less one (the hidden
  // bit adds it). After the decoding, `root` holds the pairs of leading zeros of the radicand.
  logic             valid[Latency+1]    /*verilator split_var*/;
  logic [RadW-1:0]  radicand[Latency+1] /*verilator split_var*/;
  logic [RestW-1:0] rest[Latency+1]     /*verilator split_var*/;
  logic [RootW-1:0] root[Latency+1]     /*verilator split_var*/;
  logic [ExpW-1:0]  exponent[Latency+1] /*verilator split_var*/;
  logic             sign[Latency+1]     /*verilator split_var*/;
  kind_e            kind[Latency+1]     /*verilator split_var*/;

  assign radicand[0] = '0;
  assign rest[0]     = '0;
  assign root[0]     = '0;
  assign exponent[0] = '0;
  assign sign[0]     = 1'b0;
  assign kind[0]     = KindNumber;
  assign valid_o     = valid[Latency];

  for (genvar k = 0; k < Latency; k++) begin : gen_stage
    localparam int unsigned FIRST = first_step(k, STEPS, Latency);
    localparam int unsigned PAST  = first_step(k + 1, STEPS, Latency);
    localparam int BITS = int'(PAST < ROUND ? PAST : ROUND)
                        - int'(FIRST > FIRST_BIT ? FIRST : FIRST_BIT);   // none if negative

    // The array does not hold the input: whole, as in a cocotb build, it would be a path from
    // valid_i to valid_o.
    logic valid_in;
    if (k == 0) begin : gen_input
      assign valid_in = valid_i;
    end else begin : gen_register
      assign valid_in = valid[k];
    end

    function automatic void advance();
      logic [RadW-1:0]  square  = radicand[k];
      logic [RestW-1:0] remains = rest[k];
      logic [RootW-1:0] bits    = root[k];
      logic [ExpW-1:0]  power   = exponent[k];
      logic             minus   = sign[k];
      kind_e            class_of = kind[k];

      if (FIRST <= DECODE && DECODE < PAST) begin
        logic [ExpW-1:0] a_exp = a_i[ManW+:ExpW];
        logic            hidden = a_exp != '0;
        logic [SumW-1:0] sum = SumW'(a_exp) + BIAS;
        bits = '0;
        if (!hidden) begin
          logic [4:0] zeros = leading_zeros_flat_32({1'b0, a_i[ManW-1:0], (32 - SigW)'(0)});
          sum  = BIAS + SumW'(1);
          bits = RootW'(zeros[4:1]) + RootW'(zeros[0]);
        end
        // The exponent is halved, so an odd one leaves a factor of two in the radicand.
        minus  = a_i[FloatW-1];
        power  = ExpW'((sum >> 1) - SumW'(1));
        square = {1'b0, hidden, a_i[ManW-1:0], 1'b0};
        if (sum[0]) square = square << 1;
        class_of = KindNumber;
        if (a_i[FloatW-2:0] == '0)                       class_of = KindZero;
        else if (a_i[FloatW-1] || a_i > {1'b0, INFINITE}) class_of = KindNan;
        else if (a_exp == EXP_MAX)                       class_of = KindInfinity;
      end
      // Before the first bit: a pair of zeros is one less in the exponent of the root.
      if (FIRST <= FIRST_BIT && FIRST_BIT < PAST) begin
        power  = power - ExpW'(bits[4:0]);
        square = square << {bits[4:0], 1'b0};
        bits   = '0;
      end
      for (int i = 0; i < BITS; i++) begin
        logic [RestW-1:0] down = {remains[RestW-3:0], square[RadW-1-:2]};
        logic [RestW:0]   trial = {1'b0, down} - {1'b0, bits, 2'b01};
        square  = square << 2;
        bits    = {bits[RootW-2:0], !trial[RestW]};
        remains = trial[RestW] ? down : trial[RestW-1:0];
      end
      if (FIRST <= ROUND && ROUND < PAST) begin
        logic up = bits[0] & (remains != '0 | bits[1]);
        result_o <= {minus, {power, ManW'(0)}
                            + (FloatW - 1)'(bits[RootW-1:1]) + (FloatW - 1)'(up)};
        if (class_of != KindNumber) begin
          result_o <= {minus, (class_of == KindInfinity) ? INFINITE : (FloatW - 1)'(0)};
          if (class_of == KindNan) result_o <= QUIET_NAN;
        end
      end

      radicand[k+1] <= square;
      rest[k+1]     <= remains;
      root[k+1]     <= bits;
      exponent[k+1] <= power;
      sign[k+1]     <= minus;
      kind[k+1]     <= class_of;
    endfunction

    always_ff @(posedge clk_i) begin
      valid[k+1] <= rst_ni && valid_in;
      if (valid_in) advance();
    end
  end

  `JD_ASSERT_IF(NanIsCanonical_A, valid_o,
                result_o[FloatW-2:0] <= INFINITE || result_o == QUIET_NAN)
endmodule : jd_float_sqrt
