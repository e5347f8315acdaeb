// SPDX-License-Identifier: Apache-2.0
//
// The quotient of two unsigned integers with bits after the point, rounded down and clipped.
//
// Streams  in: dividend and divisor; out: the quotient, in the same order. A pipe: valid only, no
//          stall.
// Timing   latency QuotientW + 1, a quotient per clock: a stage finds whether it must be clipped,
//          each other one a bit, the top one first.
// Numbers  unsigned, exact: result = min(floor(dividend * 2^FracW / divisor), 2^QuotientW - 1). The
//          divisor is not 0. Not restoring: a rest below 0 stays, and the next stage adds.
// Source   docs/qat.md (Adam). Golden model: models/qat/ops.py, udiv.
`include "jd_assert.svh"
module jd_fixed_div #(
  parameter int unsigned DividendW = 32,         // bits, 2..64
  parameter int unsigned DivisorW  = 33,         // bits, 2..64
  parameter int unsigned FracW     = 24,         // bits of a quotient after the point
  parameter int unsigned QuotientW = 27          // bits of a quotient, FracW..FracW+DividendW-1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 valid_i,
  input  logic [DividendW-1:0] dividend_i,
  input  logic [DivisorW-1:0]  divisor_i,
  output logic                 valid_o,
  output logic [QuotientW-1:0] result_o
);
  if (DividendW < 2 || DividendW > 64 || DivisorW < 2 || DivisorW > 64) begin : gen_bad_width
    $fatal(1, "jd_fixed_div: DividendW=%0d, DivisorW=%0d, want 2..64", DividendW, DivisorW);
  end
  if (QuotientW < FracW || QuotientW < 2 || QuotientW >= FracW + DividendW) begin : gen_bad_quotient
    $fatal(1, "jd_fixed_div: QuotientW=%0d, want %0d..%0d, 2 or more", QuotientW, FracW,
           FracW + DividendW - 1);
  end

  // dividend * 2^FracW = ahead * 2^QuotientW + bits; a quotient of QuotientW bits needs
  // ahead < divisor. Where it is not, ones are put into the quotient, and the rest has no meaning.
  localparam int unsigned BackW  = QuotientW - FracW;             // bits of the dividend in `bits`
  localparam int unsigned AheadW = DividendW - BackW;
  localparam int unsigned WideW  = AheadW > DivisorW ? AheadW : DivisorW;

  logic [WideW-1:0]     ahead;
  logic [QuotientW-1:0] bits;
  logic                 clip;
  assign ahead = WideW'(dividend_i >> BackW);
  assign bits  = QuotientW'(dividend_i) << FracW;
  assign clip  = ahead >= WideW'(divisor_i);

  // Element k is before the stage that finds bit QuotientW - 1 - k: the dividend's bits that are
  // still to come, at the top, with the quotient's so far at the bottom; the rest, from -divisor
  // to below divisor; the divisor.
  logic [QuotientW:0]   valid;
  logic                 clipped  [QuotientW+1] /*verilator split_var*/;
  logic [QuotientW-1:0] quotient [QuotientW+1] /*verilator split_var*/;
  logic [DivisorW:0]    rest     [QuotientW+1] /*verilator split_var*/;
  logic [DivisorW-1:0]  divisor  [QuotientW+1] /*verilator split_var*/;
  assign valid_o  = valid[QuotientW];
  assign result_o = quotient[QuotientW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid <= '0;
    else         valid <= {valid[QuotientW-1:0], valid_i};
    if (valid_i) begin
      clipped[0]  <= clip;
      quotient[0] <= bits;
      rest[0]     <= (DivisorW + 1)'(ahead);
      divisor[0]  <= divisor_i;
    end
  end
  for (genvar k = 0; k < QuotientW; k++) begin : gen_stage
    // The lowest bit is there to carry: -divisor is ~divisor + 1.
    logic                above;
    logic [DivisorW+1:0] next, taken, sum;
    assign above = !rest[k][DivisorW];
    assign next  = {rest[k][DivisorW-1:0], quotient[k][QuotientW-1], 1'b1};
    assign taken = {1'b0, divisor[k], 1'b0} ^ {DivisorW+2{above}};
    assign sum   = next + taken;
    always_ff @(posedge clk_i) begin
      if (valid[k]) begin
        clipped[k+1]  <= clipped[k];
        quotient[k+1] <= {quotient[k][QuotientW-2:0], clipped[k] || !sum[DivisorW+1]};
        rest[k+1]     <= sum[DivisorW+1:1];
        divisor[k+1]  <= divisor[k];
      end
    end
  end

  `JD_ASSUME_IF(DivisorNotZero_M, valid_i, divisor_i != '0)
endmodule : jd_fixed_div
