// SPDX-License-Identifier: Apache-2.0
//
// Divides two floating-point numbers.
//
// Streams  in: dividend and divisor; out: a / b, in the same order. A pipe: valid only, no stall.
// Timing   Latency clocks, one operation per clock. Decoding, the ManW+3 quotient bits and rounding
//          are spread evenly over the stages, each of which ends in registers that load only under
//          their own valid bit; binary32 has one of these steps a stage at Latency 28.
// Numbers  IEEE 754 binary format of ExpW and ManW, round to nearest even, subnormals in and out;
//          any NaN, 0/0 and infinity/infinity give the canonical quiet NaN; x/0 is an infinity.
//          Restoring division: the quotient bits are exact, the remainder is the sticky bit.
// Source   IEEE 754-2019, 5.4.1. Golden model: models/float, div.
`include "jd_assert.svh"
module jd_float_div
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
  input  logic [FloatW-1:0] b_i,
  output logic              valid_o,
  output logic [FloatW-1:0] result_o
);
  /*verilator no_inline_module*/
  if (ExpW < 5 || ExpW > 8 || ManW < 4 || ManW > 23) begin : gen_bad_format
    $fatal(1, "jd_float_div: ExpW=%0d ManW=%0d, want 5..8 and 4..23", ExpW, ManW);
  end
  if (Latency < 2 || Latency > 28) begin : gen_bad_latency
    $fatal(1, "jd_float_div: Latency=%0d, want 2..28", Latency);
  end

  localparam int unsigned SigW  = ManW + 1;            // fraction with its hidden bit
  localparam int unsigned RestW = SigW + 1;            // remainder, below twice the divisor
  localparam int unsigned QuotW = SigW + 2;            // quotient of 0.5..2 with a round bit
  localparam int unsigned SumW  = ExpW + 3;            // exponent, with a sign
  localparam logic [SumW-1:0]   BIAS      = SumW'((1 << (ExpW - 1)) - 1);
  localparam logic signed [SumW-1:0] POWER_MAX = SumW'((1 << ExpW) - 2);
  localparam logic signed [SumW-1:0] LOST      = SumW'(SigW + 2);  // further right only sticky
  localparam logic [ExpW-1:0]   EXP_MAX   = '1;
  localparam logic [FloatW-2:0] INFINITE  = {EXP_MAX, ManW'(0)};
  localparam logic [FloatW-1:0] QUIET_NAN = {1'b0, EXP_MAX, 1'b1, (ManW - 1)'(0)};

  // Steps: operands, then one quotient bit each, then the result.
  localparam int unsigned DECODE    = 0;
  localparam int unsigned FIRST_BIT = 1;
  localparam int unsigned LAST_BIT  = QuotW;
  localparam int unsigned ROUND     = QuotW + 1;
  localparam int unsigned STEPS     = QuotW + 2;

  // Element k is at the entrance of stage k. The exponent is one less than the biased one (the
  // hidden bit adds the one). After the decoding, `shift` and `quotient` hold the leading zeros of
  // the dividend and of the divisor; after the bits, `shift` makes a quotient of too low an
  // exponent subnormal.
  logic              valid[Latency+1]    /*verilator split_var*/;
  logic [RestW-1:0]  rest[Latency+1]     /*verilator split_var*/;
  logic [SigW-1:0]   divisor[Latency+1]  /*verilator split_var*/;
  logic [QuotW-1:0]  quotient[Latency+1] /*verilator split_var*/;
  logic [SumW-1:0]   exponent[Latency+1] /*verilator split_var*/;
  logic [4:0]        shift[Latency+1]    /*verilator split_var*/;
  logic              sign[Latency+1]     /*verilator split_var*/;
  kind_e             kind[Latency+1]     /*verilator split_var*/;

  assign rest[0]     = '0;
  assign divisor[0]  = '0;
  assign quotient[0] = '0;
  assign exponent[0] = '0;
  assign shift[0]    = '0;
  assign sign[0]     = 1'b0;
  assign kind[0]     = KindNumber;
  assign valid_o     = valid[Latency];

  function automatic kind_e quotient_kind(input logic [FloatW-2:0] a, input logic [FloatW-2:0] b);
    if (a > INFINITE || b > INFINITE)              quotient_kind = KindNan;
    else if (a == b && (a == '0 || a == INFINITE)) quotient_kind = KindNan;
    else if (a == '0 || b == INFINITE)             quotient_kind = KindZero;
    else if (b == '0 || a == INFINITE)             quotient_kind = KindInfinity;
    else                                           quotient_kind = KindNumber;
  endfunction

  function automatic logic [4:0] significand_zeros(input logic [SigW-1:0] significand);
    return leading_zeros_flat_32({significand, (32 - SigW)'(0)});
  endfunction

  // By whole bytes first: their count is known first.
  function automatic logic [SigW-1:0] shift_left(input logic [SigW-1:0] significand,
                                                 input logic [4:0] zeros);
    return (significand << {zeros[4:3], 3'b0}) << zeros[2:0];
  endfunction

  for (genvar k = 0; k < Latency; k++) begin : gen_stage
    localparam int unsigned FIRST = first_step(k, STEPS, Latency);
    localparam int unsigned PAST  = first_step(k + 1, STEPS, Latency);
    localparam int BITS = int'(PAST < ROUND ? PAST : ROUND)
                        - int'(FIRST > FIRST_BIT ? FIRST : FIRST_BIT);   // none if negative
    localparam int unsigned TOP = (PAST > LAST_BIT) ? QuotW - 1 : QuotW - 2;   // where the first is

    // The array does not hold the input: whole, as in a cocotb build, it would be a path from
    // valid_i to valid_o.
    logic valid_in;
    if (k == 0) begin : gen_input
      assign valid_in = valid_i;
    end else begin : gen_register
      assign valid_in = valid[k];
    end

    function automatic void advance();
      logic [RestW-1:0]       remains = rest[k];
      logic [SigW-1:0]        by      = divisor[k];
      logic [QuotW-1:0]       bits    = quotient[k];
      logic signed [SumW-1:0] power   = exponent[k];
      logic [4:0]             right   = shift[k];
      logic                   minus   = sign[k];
      kind_e                  class_of = kind[k];

      if (FIRST <= DECODE && DECODE < PAST) begin
        logic [FloatW-2:0] a = a_i[FloatW-2:0];
        logic [FloatW-2:0] b = b_i[FloatW-2:0];
        logic [ExpW-1:0]   a_exp = a[ManW+:ExpW];
        logic [ExpW-1:0]   b_exp = b[ManW+:ExpW];
        logic [SigW-1:0]   a_sig = {1'b1, a[ManW-1:0]};
        by    = {1'b1, b[ManW-1:0]};
        minus = a_i[FloatW-1] ^ b_i[FloatW-1];
        power = BIAS - SumW'(1) + SumW'(a_exp) - SumW'(b_exp);
        if (a_exp == '0 || b_exp == '0 || a_exp == '1 || b_exp == '1) begin
          class_of = quotient_kind(a, b);
          a_sig    = {a_exp != '0, a[ManW-1:0]};
          by       = {b_exp != '0, b[ManW-1:0]};
          right    = significand_zeros(a_sig);
          bits     = QuotW'(significand_zeros(by));
          power    = power + SumW'(a_exp == '0) - SumW'(b_exp == '0);
        end
        remains = {1'b0, a_sig};
      end
      // Before the first bit: both significands get their top bit.
      if (FIRST <= FIRST_BIT && FIRST_BIT < PAST) begin
        power   = power - SumW'(right) + SumW'(bits[4:0]);
        remains = {1'b0, shift_left(remains[SigW-1:0], right)};
        by      = shift_left(by, bits[4:0]);
        right   = '0;
        bits    = '0;
      end
      for (int i = 0; i < BITS; i++) begin
        logic [RestW:0] trial = {1'b0, remains} - {2'b00, by};
        bits    = {bits[QuotW-2:0], !trial[RestW]};
        remains = (trial[RestW] ? remains : trial[RestW-1:0]) << 1;
      end
      // Beside the last bits: what the first one decides.
      if (FIRST < LAST_BIT && LAST_BIT <= PAST) begin
        power = power - SumW'(!bits[TOP]);
        if (power >= POWER_MAX && class_of == KindNumber) class_of = KindInfinity;
      end
      if (FIRST <= LAST_BIT && LAST_BIT < PAST) begin
        bits  = bits << !bits[QuotW-1];
        right = '0;
        if (power < 0) begin
          right = (-power > LOST) ? 5'(LOST) : 5'(-power);
          power = '0;
        end
      end
      if (FIRST <= ROUND && ROUND < PAST) begin
        logic [QuotW-1:0] kept = bits >> right;
        logic             sticky = remains != '0 || (bits & ~({QuotW{1'b1}} << right)) != '0;
        logic             up = kept[1] & (kept[0] | sticky | kept[2]);
        result_o <= {minus, {power[ExpW-1:0], ManW'(0)}
                            + (FloatW - 1)'(kept[2+:SigW]) + (FloatW - 1)'(up)};
        if (class_of != KindNumber) begin
          result_o <= {minus, (class_of == KindInfinity) ? INFINITE : (FloatW - 1)'(0)};
          if (class_of == KindNan) result_o <= QUIET_NAN;
        end
      end

      rest[k+1]     <= remains;
      divisor[k+1]  <= by;
      quotient[k+1] <= bits;
      exponent[k+1] <= power;
      shift[k+1]    <= right;
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
endmodule : jd_float_div
