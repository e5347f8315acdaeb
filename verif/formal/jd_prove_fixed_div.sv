// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_fixed_div: the result is the largest that does not exceed the quotient.
//
// Method       induction over the length of the pipe, after which all of it comes from inputs that
//              the harness keeps beside it.
// Assumptions  a divisor is not 0 (DivisorNotZero_M of the block). Reset comes at any time.
`include "jd_assert.svh"
module jd_prove_fixed_div #(
  parameter int unsigned DividendW = 4,
  parameter int unsigned DivisorW  = 3,
  parameter int unsigned FracW     = 2,
  parameter int unsigned QuotientW = 4
) (
  input logic                 clk_i,
  input logic                 rst_ni,
  input logic                 valid_i,
  input logic [DividendW-1:0] dividend_i,
  input logic [DivisorW-1:0]  divisor_i
);
  localparam int unsigned Latency = QuotientW + 1;
  logic                 valid;
  logic [QuotientW-1:0] quotient;
  jd_fixed_div #(
    .DividendW (DividendW), .DivisorW (DivisorW), .FracW (FracW), .QuotientW (QuotientW)
  ) u_dut (
    .clk_i, .rst_ni,
    .valid_i,
    .dividend_i,
    .divisor_i,
    .valid_o  (valid),
    .result_o (quotient)
  );

  localparam int unsigned WideW = DividendW + DivisorW + FracW + QuotientW;
  logic                 want_valid;
  logic [DividendW-1:0] dividend;
  logic [DivisorW-1:0]  divisor;
  logic [WideW-1:0]     scaled, low, high;
  jd_delay #(.Width (1), .Cycles (Latency)) u_valid (
    .clk_i, .rst_ni, .in_i (valid_i), .out_o (want_valid)
  );
  jd_delay #(.Width (DividendW + DivisorW), .Cycles (Latency), .Clear (1'b0)) u_operands (
    .clk_i, .rst_ni, .in_i ({dividend_i, divisor_i}), .out_o ({dividend, divisor})
  );
  assign scaled = WideW'(dividend) << FracW;
  assign low    = WideW'(quotient) * WideW'(divisor);
  assign high   = (WideW'(quotient) + WideW'(1)) * WideW'(divisor);

  `JD_ASSERT(Latency_A, valid == want_valid)
  `JD_ASSERT_IF(NotAbove_A, valid, low <= scaled)
  `JD_ASSERT_IF(NotBelow_A, valid && quotient != '1, scaled < high)

  Clipped_C : cover property (@(posedge clk_i) disable iff (!rst_ni) (valid && scaled >= high));
endmodule : jd_prove_fixed_div
