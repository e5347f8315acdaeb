// SPDX-License-Identifier: Apache-2.0
//
// Converts a fixed-point number to a floating-point number.
//
// Streams  in: a fixed-point value; out: the float nearest to it, in the same order. A pipe: valid
//          only, no stall.
// Timing   Latency clocks, one operation per clock; the four steps below are spread evenly over the
//          stages, each of which ends in registers that load only under their own valid bit.
// Numbers  the value is value_i / 2**FracW, value_i of IntW + FracW bits, two's complement if
//          Signed; IEEE 754 binary format of ExpW and ManW, round to nearest even, subnormal and
//          infinite (binary16 only) results as they come; zero gives +0.
// Source   IEEE 754-2019, 5.4.1 (convertFromInt). Golden model: models/float, from_fixed.
module jd_float_from_fixed
  import jd_float_pkg::*;
#(
  parameter  int unsigned ExpW    = 8,                 // exponent bits, 5..8
  parameter  int unsigned ManW    = 23,                // fraction bits, 4..23
  parameter  int unsigned IntW    = 32,                // integer bits with the sign, 0..64
  parameter  int unsigned FracW   = 0,                 // fraction bits, 0..64; 1..64 in all
  parameter  bit          Signed  = 1'b1,
  parameter  int unsigned Latency = 4,                 // clocks, 1..4
  localparam int unsigned FloatW  = 1 + ExpW + ManW,
  localparam int unsigned FixedW  = IntW + FracW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic [FixedW-1:0] value_i,
  output logic              valid_o,
  output logic [FloatW-1:0] result_o
);
  /*verilator no_inline_module*/
  if (ExpW < 5 || ExpW > 8 || ManW < 4 || ManW > 23) begin : gen_bad_format
    $fatal(1, "jd_float_from_fixed: ExpW=%0d ManW=%0d, want 5..8 and 4..23", ExpW, ManW);
  end
  if (FixedW < 1 || FixedW > 64) begin : gen_bad_fixed
    $fatal(1, "jd_float_from_fixed: IntW=%0d FracW=%0d, want a sum of 1..64", IntW, FracW);
  end
  if (Latency < 1 || Latency > 4) begin : gen_bad_latency
    $fatal(1, "jd_float_from_fixed: Latency=%0d, want 1..4", Latency);
  end

  localparam int unsigned SigW  = ManW + 1;            // fraction with its hidden bit
  localparam int unsigned WorkW = (FixedW > SigW + 2) ? FixedW : SigW + 2;   // and a round bit
  // The exponent of the top bit of `work`, less one because the hidden bit adds it.
  localparam int unsigned TOP   = IntW + (1 << (ExpW - 1)) - 3;
  localparam int unsigned SumW  = 8;                   // TOP is at most 189
  localparam logic [ExpW-1:0]   EXP_MAX   = '1;
  localparam logic [FloatW-2:0] INFINITE  = {EXP_MAX, ManW'(0)};

  // Steps: what `work` holds after each.
  localparam int unsigned MAGNITUDE = 0;   // the value without its sign, at the top
  localparam int unsigned COUNT     = 1;   // the same
  localparam int unsigned NORMALIZE = 2;   // the same, with its leading one at the top
  localparam int unsigned ROUND     = 3;
  localparam int unsigned STEPS     = 4;

  // Element k is at the entrance of stage k.
  logic             valid[Latency+1]    /*verilator split_var*/;
  logic [WorkW-1:0] work[Latency+1]     /*verilator split_var*/;
  logic [SumW-1:0]  exponent[Latency+1] /*verilator split_var*/;
  logic [5:0]       shift[Latency+1]    /*verilator split_var*/;
  logic             sign[Latency+1]     /*verilator split_var*/;
  kind_e            kind[Latency+1]     /*verilator split_var*/;

  assign work[0]     = WorkW'(value_i) << (WorkW - FixedW);
  assign exponent[0] = SumW'(TOP);
  assign shift[0]    = '0;
  assign sign[0]     = 1'b0;
  assign kind[0]     = KindNumber;
  assign valid_o     = valid[Latency];

  for (genvar k = 0; k < Latency; k++) begin : gen_stage
    localparam int unsigned FIRST = first_step(k, STEPS, Latency);
    localparam int unsigned PAST  = first_step(k + 1, STEPS, Latency);

    // The array does not hold the input: whole, as in a cocotb build, it would be a path from
    // valid_i to valid_o.
    logic valid_in;
    if (k == 0) begin : gen_input
      assign valid_in = valid_i;
    end else begin : gen_register
      assign valid_in = valid[k];
    end

    function automatic void advance();
      logic [WorkW-1:0] bits  = work[k];
      logic [SumW-1:0]  power = exponent[k];
      logic [5:0]       count = shift[k];
      logic             minus = sign[k];
      kind_e            class_of = kind[k];

      if (FIRST <= MAGNITUDE && MAGNITUDE < PAST) begin
        minus = Signed && bits[WorkW-1];
        bits  = (bits ^ {WorkW{minus}}) + WorkW'(minus);
      end
      if (FIRST <= COUNT && COUNT < PAST) begin
        if (bits == '0) class_of = KindZero;
        count = leading_zeros_64(64'(bits) << (64 - WorkW));
        // A number that would need a lower exponent than the format has stays subnormal.
        if (SumW'(count) > power) count = 6'(power);
      end
      if (FIRST <= NORMALIZE && NORMALIZE < PAST) begin
        bits  = bits << count;
        power = power - SumW'(count);
        if (power > SumW'(EXP_MAX) - SumW'(2) && class_of == KindNumber) class_of = KindInfinity;
      end
      if (FIRST <= ROUND && ROUND < PAST) begin
        // Carries run from the significand into the exponent and so, at the top, to infinity.
        logic [SigW:0] top = bits[WorkW-1-:SigW+1];
        logic          up = top[0] & (top[1] | bits[WorkW-SigW-2:0] != '0);
        result_o <= {minus, {power[ExpW-1:0], ManW'(0)}
                            + (FloatW - 1)'(top[SigW:1]) + (FloatW - 1)'(up)};
        if (class_of == KindInfinity) result_o <= {minus, INFINITE};
        if (class_of == KindZero)     result_o <= '0;
      end

      work[k+1]     <= bits;
      exponent[k+1] <= power;
      shift[k+1]    <= count;
      sign[k+1]     <= minus;
      kind[k+1]     <= class_of;
    endfunction

    always_ff @(posedge clk_i) begin
      valid[k+1] <= rst_ni && valid_in;
      if (valid_in) advance();
    end
  end
endmodule : jd_float_from_fixed
