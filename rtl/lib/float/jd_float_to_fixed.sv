// SPDX-License-Identifier: Apache-2.0
//
// Converts a floating-point number to a fixed-point number.
//
// Streams  in: a float; out: the fixed-point value nearest to it, in the same order. A pipe: valid
//          only, no stall.
// Timing   Latency clocks, one operation per clock; the four steps below are spread evenly over the
//          stages, each of which ends in registers that load only under their own valid bit.
// Numbers  the result is result_o / 2**FracW, result_o of IntW + FracW bits, two's complement if
//          Signed; IEEE 754 binary format of ExpW and ManW, round to nearest even; what lies
//          outside saturates (infinities too), and a NaN gives the largest positive value.
// Source   IEEE 754-2019, 5.4.1 (convertToIntegerTiesToEven). Golden model: models/float, to_fixed.
module jd_float_to_fixed
  import jd_float_pkg::*;
#(
  parameter  int unsigned ExpW    = 8,                 // exponent bits, 5..8
  parameter  int unsigned ManW    = 23,                // fraction bits, 4..23
  parameter  int unsigned IntW    = 32,                // integer bits with the sign, 0..64
  parameter  int unsigned FracW   = 0,                 // fraction bits, 0..64; 2..64 in all
  parameter  bit          Signed  = 1'b1,
  parameter  int unsigned Latency = 4,                 // clocks, 1..4
  localparam int unsigned FloatW  = 1 + ExpW + ManW,
  localparam int unsigned FixedW  = IntW + FracW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic [FloatW-1:0] value_i,
  output logic              valid_o,
  output logic [FixedW-1:0] result_o
);
  /*verilator no_inline_module*/
  if (ExpW < 5 || ExpW > 8 || ManW < 4 || ManW > 23) begin : gen_bad_format
    $fatal(1, "jd_float_to_fixed: ExpW=%0d ManW=%0d, want 5..8 and 4..23", ExpW, ManW);
  end
  if (FixedW < 2 || FixedW > 64) begin : gen_bad_fixed
    $fatal(1, "jd_float_to_fixed: IntW=%0d FracW=%0d, want a sum of 2..64", IntW, FracW);
  end
  if (Latency < 1 || Latency > 4) begin : gen_bad_latency
    $fatal(1, "jd_float_to_fixed: Latency=%0d, want 1..4", Latency);
  end

  localparam int unsigned SigW  = ManW + 1;            // fraction with its hidden bit
  localparam int unsigned WorkW = SigW + FixedW + 1;   // significand above the result, a round bit
  localparam int unsigned SumW  = 10;                  // distances, with a sign
  // Right shift that brings a significand of exponent 0 from the top of `work` to its place.
  localparam logic signed [SumW-1:0] REACH =
      SumW'(int'(FixedW + ManW + (1 << (ExpW - 1))) - 1 - int'(FracW));
  localparam logic signed [SumW-1:0] LOST      = SumW'(WorkW + 1);    // further right only sticky
  localparam logic [ExpW-1:0]   EXP_MAX   = '1;
  localparam logic [FixedW-1:0] MOST    = Signed ? {1'b0, {(FixedW - 1){1'b1}}} : '1;
  localparam logic [FixedW-1:0] LEAST   = Signed ? ~MOST : '0;

  // Steps: what `work` holds after each.
  localparam int unsigned DECODE   = 0;    // {significand, zeros}
  localparam int unsigned ALIGN    = 1;    // {integer, round bit}, the sticky bit beside it
  localparam int unsigned ROUND    = 2;    // magnitude
  localparam int unsigned SATURATE = 3;
  localparam int unsigned STEPS    = 4;

  // Element k is at the entrance of stage k; `beyond` is set if the magnitude has more bits than
  // the result.
  logic             valid[Latency+1]  /*verilator split_var*/;
  logic [WorkW-1:0] work[Latency+1]   /*verilator split_var*/;
  logic [6:0]       shift[Latency+1]  /*verilator split_var*/;
  logic             sticky[Latency+1] /*verilator split_var*/;
  logic             beyond[Latency+1] /*verilator split_var*/;
  logic             sign[Latency+1]   /*verilator split_var*/;

  assign work[0]   = '0;
  assign shift[0]  = '0;
  assign sticky[0] = 1'b0;
  assign beyond[0] = 1'b0;
  assign sign[0]   = 1'b0;
  assign valid_o   = valid[Latency];

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
      logic [6:0]       right = shift[k];
      logic             lost  = sticky[k];
      logic             over  = beyond[k];
      logic             minus = sign[k];

      if (FIRST <= DECODE && DECODE < PAST) begin
        logic [ExpW-1:0]        exponent = value_i[ManW+:ExpW];
        logic signed [SumW-1:0] distance = REACH - SumW'(exponent) - SumW'(exponent == '0);
        bits  = {exponent != '0, value_i[ManW-1:0], (FixedW + 1)'(0)};
        right = 7'((distance > LOST) ? LOST : distance);
        over  = exponent == EXP_MAX || (distance <= 0 && value_i[FloatW-2:0] != '0);
        minus = value_i[FloatW-1];
        if (exponent == EXP_MAX && value_i[ManW-1:0] != '0) minus = 1'b0;   // NaN: as +infinity
      end
      if (FIRST <= ALIGN && ALIGN < PAST) begin
        logic [WorkW-1:0] kept = bits >> right;
        lost = (bits & ~({WorkW{1'b1}} << right)) != '0;
        over = over || kept[WorkW-1:FixedW+1] != '0;
        bits = kept;
      end
      if (FIRST <= ROUND && ROUND < PAST) begin
        logic up = bits[0] & (lost | bits[1]);
        bits = WorkW'(bits[FixedW:1]) + WorkW'(up);
      end
      if (FIRST <= SATURATE && SATURATE < PAST) begin
        logic [FixedW:0] limit = {1'b0, minus ? ~LEAST + FixedW'(1) : MOST};
        logic [FixedW-1:0] size = bits[FixedW-1:0];
        result_o <= (size ^ {FixedW{minus}}) + FixedW'(minus);
        if (over || bits[FixedW:0] > limit) result_o <= minus ? LEAST : MOST;
      end

      work[k+1]   <= bits;
      shift[k+1]  <= right;
      sticky[k+1] <= lost;
      beyond[k+1] <= over;
      sign[k+1]   <= minus;
    endfunction

    always_ff @(posedge clk_i) begin
      valid[k+1] <= rst_ni && valid_in;
      if (valid_in) advance();
    end
  end
endmodule : jd_float_to_fixed
