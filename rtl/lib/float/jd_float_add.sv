// SPDX-License-Identifier: Apache-2.0
//
// Adds or subtracts two floating-point numbers.
//
// Streams  in: two operands and the operation; out: a + b or a - b, in the same order. A pipe:
//          valid only, no stall.
// Timing   Latency clocks, one operation per clock; the six steps below are spread evenly over the
//          stages, each of which ends in registers that load only under their own valid bit.
// Numbers  IEEE 754 binary format of ExpW and ManW, round to nearest even, subnormals in and out;
//          any NaN and the difference of equal infinities give the canonical quiet NaN; an exact
//          difference of zero is +0. Exact up to the rounding.
// Source   IEEE 754-2019, 5.4.1 and 6.3. Golden model: models/float, add and sub.
`include "jd_assert.svh"
module jd_float_add
  import jd_float_pkg::*;
#(
  parameter  int unsigned ExpW    = 8,                 // exponent bits, 5..8
  parameter  int unsigned ManW    = 23,                // fraction bits, 4..23
  parameter  int unsigned Latency = 6,                 // clocks, 1..6
  localparam int unsigned FloatW  = 1 + ExpW + ManW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic              subtract_i,
  input  logic [FloatW-1:0] a_i,
  input  logic [FloatW-1:0] b_i,
  output logic              valid_o,
  output logic [FloatW-1:0] result_o
);
  /*verilator no_inline_module*/
  if (ExpW < 5 || ExpW > 8 || ManW < 4 || ManW > 23) begin : gen_bad_format
    $fatal(1, "jd_float_add: ExpW=%0d ManW=%0d, want 5..8 and 4..23", ExpW, ManW);
  end
  if (Latency < 1 || Latency > 6) begin : gen_bad_latency
    $fatal(1, "jd_float_add: Latency=%0d, want 1..6", Latency);
  end

  localparam int unsigned SigW   = ManW + 1;           // fraction with its hidden bit
  localparam int unsigned AlignW = SigW + 3;           // with guard, round and sticky bit
  localparam int unsigned SumW   = AlignW + 1;         // with the carry
  localparam int unsigned WorkW  = 2 * FloatW;         // both operands
  localparam logic [ExpW-1:0]   EXP_MAX   = '1;
  localparam logic [FloatW-2:0] INFINITE  = {EXP_MAX, ManW'(0)};
  localparam logic [FloatW-1:0] QUIET_NAN = {1'b0, EXP_MAX, 1'b1, (ManW - 1)'(0)};

  // Steps: what `work` holds after each.
  localparam int unsigned SWAP      = 0;   // {significand of the larger, of the smaller operand}
  localparam int unsigned ALIGN     = 1;   // the same with three more bits, at one exponent
  localparam int unsigned ADD       = 2;   // {limit of the normalization, sum}
  localparam int unsigned COUNT     = 3;   // the same
  localparam int unsigned NORMALIZE = 4;   // {significand, round bit, sticky bit}
  localparam int unsigned ROUND     = 5;   // result
  localparam int unsigned STEPS     = 6;

  // Element k, from 1, is at the entrance of stage k. `shift` is that of the alignment, then that
  // of the normalization; the exponent is the biased one of the sum's second bit, and in the end
  // one less, because the hidden bit adds the one.
  logic             valid[Latency+1]    /*verilator split_var*/;
  logic [WorkW-1:0] work[Latency+1]     /*verilator split_var*/;
  logic [ExpW-1:0]  exponent[Latency+1] /*verilator split_var*/;
  logic [4:0]       shift[Latency+1]    /*verilator split_var*/;
  logic             differ[Latency+1]   /*verilator split_var*/;
  logic             sign[Latency+1]     /*verilator split_var*/;
  kind_e            kind[Latency+1]     /*verilator split_var*/;

  assign exponent[0] = '0;
  assign shift[0]    = '0;
  assign sign[0]     = 1'b0;
  assign kind[0]     = KindNumber;
  assign valid_o     = valid[Latency];
  assign result_o    = work[Latency][FloatW-1:0];

  logic unused_differ;                                 // nothing reads it after the last stage
  assign unused_differ = differ[Latency];

  // The shift of an alignment: 31 leaves only the sticky bit, as do all above.
  function automatic logic [4:0] alignment(input logic [ExpW-1:0] above);
    return above[4:0] | {5{(above >> 5) != '0}};
  endfunction

  for (genvar k = 0; k < Latency; k++) begin : gen_stage
    localparam int unsigned FIRST = first_step(k, STEPS, Latency);
    localparam int unsigned PAST  = first_step(k + 1, STEPS, Latency);

    // The first stage takes the inputs, which the arrays do not hold: whole arrays, as in a cocotb
    // build, would be a path from input to output.
    logic             valid_in;
    logic [WorkW-1:0] work_in;
    logic             unlike_in;
    if (k == 0) begin : gen_input
      assign valid_in  = valid_i;
      assign work_in   = {a_i, b_i};
      assign unlike_in = subtract_i;
    end else begin : gen_register
      assign valid_in  = valid[k];
      assign work_in   = work[k];
      assign unlike_in = differ[k];
    end

    function automatic void advance();
      logic [WorkW-1:0] bits   = work_in;
      logic [ExpW-1:0]  power  = exponent[k];
      logic [4:0]       count  = shift[k];
      logic             minus  = sign[k];
      logic             unlike = unlike_in;
      kind_e            result = kind[k];

      if (FIRST <= SWAP && SWAP < PAST) begin
        logic [FloatW-2:0] a = bits[FloatW+:FloatW-1];
        logic [FloatW-2:0] b = bits[0+:FloatW-1];
        logic              swap = a < b;
        logic [ManW-1:0]   change = ManW'(a ^ b) & {ManW{swap}};
        // What depends on the order is made for both, beside the comparison.
        logic              a_hidden = a[ManW+:ExpW] != '0;
        logic              b_hidden = b[ManW+:ExpW] != '0;
        logic [ExpW-1:0]   a_power = a[ManW+:ExpW] | ExpW'(!a_hidden);
        logic [ExpW-1:0]   b_power = b[ManW+:ExpW] | ExpW'(!b_hidden);
        // The larger one's power above the smaller one's: the difference of the exponents, less one
        // if only the smaller one is subnormal. A bit below carries that in.
        logic [ExpW-1:0]   a_above = ExpW'(({a[ManW+:ExpW], 1'b1}
                                            + {~b[ManW+:ExpW], b_hidden | ~a_hidden}) >> 1);
        logic [ExpW-1:0]   b_above = ExpW'(({b[ManW+:ExpW], 1'b1}
                                            + {~a[ManW+:ExpW], a_hidden | ~b_hidden}) >> 1);
        unlike   = bits[WorkW-1] ^ bits[FloatW-1] ^ unlike;
        minus    = bits[WorkW-1] ^ (swap & unlike);
        power    = swap ? b_power : a_power;
        count    = swap ? alignment(b_above) : alignment(a_above);
        bits     = WorkW'({swap ? b_hidden : a_hidden, ManW'(a) ^ change,
                           swap ? a_hidden : b_hidden, ManW'(b) ^ change});
        if (a >= INFINITE || b >= INFINITE) begin
          result = KindInfinity;
          if (a > INFINITE || b > INFINITE || (unlike && a == b)) result = KindNan;
        end
      end
      if (FIRST <= ALIGN && ALIGN < PAST) begin
        logic [AlignW-1:0] whole = {bits[0+:SigW], 3'b000};
        logic [AlignW-1:0] kept  = whole >> count;
        kept[0] = kept[0] | ((whole & ~({AlignW{1'b1}} << count)) != '0);
        bits = WorkW'({bits[SigW+:SigW], 3'b000, kept});
      end
      if (FIRST <= ADD && ADD < PAST) begin
        logic [SumW-1:0] addend = SumW'(bits[0+:AlignW]);
        addend = SumW'(bits[AlignW+:AlignW]) + (addend ^ {SumW{unlike}}) + SumW'(unlike);
        // A number that would need a lower exponent than the format has stays subnormal: a one
        // where the count must stop.
        bits   = WorkW'({{1'b1, (SumW - 1)'(0)} >> power, addend});
      end
      if (FIRST <= COUNT && COUNT < PAST) begin
        count = leading_zeros_32({bits[0+:SumW] | bits[SumW+:SumW], (32 - SumW)'(0)});
        if (bits[0+:SumW] == '0 && result == KindNumber) begin
          result = KindZero;
          minus  = minus & !unlike;
        end
      end
      if (FIRST <= NORMALIZE && NORMALIZE < PAST) begin
        logic [SumW-1:0] sum = bits[0+:SumW] << count;
        power = power - ExpW'(count);
        bits  = WorkW'({sum[SumW-1-:SigW+1], sum[SumW-SigW-2:0] != '0});
        if (power == EXP_MAX - ExpW'(1) && result == KindNumber) result = KindInfinity;
      end
      if (FIRST <= ROUND && ROUND < PAST) begin
        // Carries run from the significand into the exponent and so, at the top, to infinity.
        logic up = bits[1] & (bits[0] | bits[2]);
        bits = WorkW'({minus, {power, ManW'(0)}
                              + (FloatW - 1)'(bits[2+:SigW]) + (FloatW - 1)'(up)});
        if (result != KindNumber) begin
          bits = WorkW'({minus, (result == KindInfinity) ? INFINITE : (FloatW - 1)'(0)});
          if (result == KindNan) bits = WorkW'(QUIET_NAN);
        end
      end

      work[k+1]     <= bits;
      exponent[k+1] <= power;
      shift[k+1]    <= count;
      differ[k+1]   <= unlike;
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
endmodule : jd_float_add
