// SPDX-License-Identifier: Apache-2.0
//
// Converts a floating-point number to another format.
//
// Streams  in: a number; out: the number in the other format, in the same order. A pipe: valid only,
//          no stall.
// Timing   Latency clocks, one number per clock; the two steps below are spread evenly over the
//          stages, each of which ends in registers that load only under their own valid bit.
// Numbers  IEEE 754 binary formats, subnormals in and out; any NaN gives the canonical quiet NaN. To
//          a format that is not smaller the value is exact; to a smaller one it is rounded once, to
//          nearest even, and what is too large gives infinity.
// Source   IEEE 754-2019, 5.4.2. Golden model: models/float, convert.
`include "jd_assert.svh"
module jd_float_convert
  import jd_float_pkg::*;
#(
  parameter  int unsigned FromExpW = 8,                // exponent bits, 5..8
  parameter  int unsigned FromManW = 23,               // fraction bits, 4..23
  parameter  int unsigned ToExpW   = 5,                // both bits at least as many as From's,
  parameter  int unsigned ToManW   = 10,               // or both at most as many
  parameter  int unsigned Latency  = 2,                // clocks, 1..2
  localparam int unsigned FromW    = 1 + FromExpW + FromManW,
  localparam int unsigned ToW      = 1 + ToExpW + ToManW
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  input  logic [FromW-1:0] value_i,
  output logic             valid_o,
  output logic [ToW-1:0]   result_o
);
  /*verilator no_inline_module*/
  localparam bit Wider = ToExpW >= FromExpW && ToManW >= FromManW;
  if (FromExpW < 5 || FromExpW > 8 || FromManW < 4 || FromManW > 23 || ToExpW < 5 || ToExpW > 8
      || ToManW < 4 || ToManW > 23 || (!Wider && (ToExpW > FromExpW || ToManW > FromManW)))
  begin : gen_bad_format
    $fatal(1, "jd_float_convert: from %0d+%0d to %0d+%0d bits, want 5..8 and 4..23, one larger",
           FromExpW, FromManW, ToExpW, ToManW);
  end
  if (Latency < 1 || Latency > 2) begin : gen_bad_latency
    $fatal(1, "jd_float_convert: Latency=%0d, want 1..2", Latency);
  end

  localparam int unsigned SigW  = FromManW + 1;        // fraction with its hidden bit
  localparam int unsigned WholeW = SigW + 2 + ToManW + 1;   // a significand on its way to ToManW
  localparam int unsigned PowerW = 10;                 // exponents, with a sign
  localparam int signed   REBIAS = (1 << (ToExpW - 1)) - (1 << (FromExpW - 1));
  localparam logic [FromExpW-1:0] FROM_MAX  = '1;
  localparam logic [ToExpW-1:0]   TO_MAX    = '1;
  localparam logic [ToW-2:0]      INFINITE  = {TO_MAX, ToManW'(0)};
  localparam logic [ToW-1:0]      QUIET_NAN = {1'b0, TO_MAX, 1'b1, (ToManW - 1)'(0)};

  // After the first step: the significand in its place, with round and sticky bit; the exponent is
  // one less than the biased one, for the hidden bit adds the one.
  typedef struct packed {
    logic              sign;
    kind_e             kind;
    logic [PowerW-1:0] power;
    logic [SigW+1:0]   significand;
  } placed_t;

  function automatic placed_t place(input logic [FromW-1:0] value);
    placed_t                    placed;
    logic [FromExpW-1:0]        exponent;
    logic [FromManW-1:0]        fraction;
    logic signed [PowerW-1:0]   power;                 // biased, in the new format
    logic [4:0]                 count;
    logic [SigW+1:0]            whole;
    whole       = '0;
    exponent    = value[FromManW +: FromExpW];
    fraction    = value[FromManW-1:0];
    placed.sign = value[FromW-1];
    placed.kind = KindNumber;
    if (exponent == FROM_MAX) begin
      placed.kind = fraction != '0 ? KindNan : KindInfinity;
    end else if (exponent == '0 && fraction == '0) begin
      placed.kind = KindZero;
    end
    power              = PowerW'(exponent) + PowerW'(exponent == '0) + PowerW'(REBIAS);
    placed.significand = {exponent != '0, fraction, 2'b00};
    count              = leading_zeros_32({placed.significand, (30 - SigW)'(0)});
    if (Wider) begin
      // Also a subnormal number becomes normal, unless the exponents have the same range.
      if (REBIAS == 0) count = '0;
      placed.significand = placed.significand << count;
      power              = power - PowerW'(count);
    end else if (power < 1) begin
      // It becomes subnormal: what is shifted out goes to the sticky bit, of 31 places all of it.
      power    = PowerW'(1) - power;
      count    = power > 31 ? 5'd31 : power[4:0];
      whole    = placed.significand;
      placed.significand    = whole >> count;
      placed.significand[0] = placed.significand[0]
                              || (whole & ~({(SigW + 2){1'b1}} << count)) != '0;
      power    = PowerW'(1);
    end
    placed.power = power - 1'b1;
    return placed;
  endfunction

  function automatic logic [ToW-1:0] round(input placed_t placed);
    logic [ToManW:0]   kept;
    logic              up, half, rest;
    logic [WholeW-1:0] whole;
    logic [ToW-2:0]    rounded;
    // Above the binary point is what is kept.
    whole = WholeW'(placed.significand) << (ToManW + 1);
    kept  = whole[SigW+2 +: ToManW+1];
    half  = whole[SigW+1];
    rest  = whole[SigW:0] != '0;
    up    = half && (rest || kept[0]);
    // Carries run from the significand into the exponent and so, at the top, to infinity.
    rounded = {ToExpW'(placed.power), ToManW'(0)} + (ToW - 1)'(kept) + (ToW - 1)'(up);
    if (placed.kind == KindInfinity
        || (placed.kind == KindNumber && placed.power >= PowerW'(TO_MAX) - 1'b1)) begin
      rounded = INFINITE;
    end
    if (placed.kind == KindZero) rounded = '0;
    return placed.kind == KindNan ? QUIET_NAN : {placed.sign, rounded};
  endfunction

  placed_t placed;
  logic    placed_valid;
  if (Latency == 2) begin : gen_register
    always_ff @(posedge clk_i) begin
      placed_valid <= rst_ni && valid_i;
      if (valid_i) placed <= place(value_i);
    end
  end else begin : gen_direct
    assign placed_valid = valid_i;
    assign placed       = place(value_i);
  end
  always_ff @(posedge clk_i) begin
    valid_o <= rst_ni && placed_valid;
    if (placed_valid) result_o <= round(placed);
  end

  `JD_ASSERT_IF(NanIsCanonical_A, valid_o, result_o[ToW-2:0] <= INFINITE || result_o == QUIET_NAN)
endmodule : jd_float_convert
