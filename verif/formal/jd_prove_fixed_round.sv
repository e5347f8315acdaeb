// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_fixed_round: the result is the exact one, halves up, or the end that is nearest to it.
//
// Method       induction over the length of the pipe, after which all of it comes from inputs that
//              the harness keeps beside it.
// Assumptions  a shift is at most ShiftMax (ShiftInRange_M of the block). Reset comes at any time.
`include "jd_assert.svh"
module jd_prove_fixed_round #(
  parameter  int unsigned InW      = 8,
  parameter  int unsigned OutW     = 3,
  parameter  int unsigned ShiftMax = 4,
  localparam int unsigned ShiftW   = $clog2(ShiftMax + 1)
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  valid_i,
  input logic signed [InW-1:0] value_i,
  input logic [ShiftW-1:0]     shift_i
);
  logic                   valid, saturated;
  logic signed [OutW-1:0] result;
  jd_fixed_round #(.InW (InW), .OutW (OutW), .ShiftMax (ShiftMax), .Latency (2)) u_dut (
    .clk_i, .rst_ni,
    .valid_i,
    .value_i,
    .shift_i,
    .valid_o     (valid),
    .result_o    (result),
    .saturated_o (saturated)
  );

  localparam int unsigned WideW = InW + 1;
  localparam logic signed [WideW-1:0] MOST  = WideW'((1 << (OutW - 1)) - 1);
  localparam logic signed [WideW-1:0] LEAST = -MOST - WideW'(1);
  logic                    valid_q, valid_q2;
  logic signed [WideW-1:0] rounded, rounded_q, rounded_q2;
  assign rounded = (WideW'(value_i) + $signed((WideW'(1) << shift_i) >> 1)) >>> shift_i;
  always_ff @(posedge clk_i) begin
    valid_q    <= rst_ni && valid_i;
    valid_q2   <= rst_ni && valid_q;
    rounded_q  <= rounded;
    rounded_q2 <= rounded_q;
  end

  `JD_ASSERT(Latency_A, valid == valid_q2)
  `JD_ASSERT_IF(Saturated_A, valid, saturated == (rounded_q2 > MOST || rounded_q2 < LEAST))
  `JD_ASSERT_IF(Exact_A, valid && !saturated, WideW'(result) == rounded_q2)
  `JD_ASSERT_IF(Nearest_A, valid && saturated,
                WideW'(result) == (rounded_q2 > MOST ? MOST : LEAST))

  EndByRounding_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (valid && saturated && rounded_q2 == MOST + WideW'(1)));
endmodule : jd_prove_fixed_round
