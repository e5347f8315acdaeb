// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_fixed_sqrt: the result is the largest integer whose square is at most the value.
//
// Method       induction over the length of the pipe, after which all of it comes from inputs that
//              the harness keeps beside it.
// Assumptions  none. Reset comes at any time.
`include "jd_assert.svh"
module jd_prove_fixed_sqrt #(
  parameter  int unsigned RootW  = 4,
  localparam int unsigned ValueW = 2 * RootW
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              valid_i,
  input logic [ValueW-1:0] value_i
);
  logic             valid;
  logic [RootW-1:0] root;
  jd_fixed_sqrt #(.RootW (RootW)) u_dut (
    .clk_i, .rst_ni,
    .valid_i,
    .value_i,
    .valid_o  (valid),
    .result_o (root)
  );

  localparam int unsigned WideW = ValueW + 2;
  logic              want_valid;
  logic [ValueW-1:0] value;
  logic [WideW-1:0]  low, high;
  jd_delay #(.Width (1), .Cycles (RootW)) u_valid (
    .clk_i, .rst_ni, .in_i (valid_i), .out_o (want_valid)
  );
  jd_delay #(.Width (ValueW), .Cycles (RootW), .Clear (1'b0)) u_value (
    .clk_i, .rst_ni, .in_i (value_i), .out_o (value)
  );
  assign low  = WideW'(root) * WideW'(root);
  assign high = (WideW'(root) + WideW'(1)) * (WideW'(root) + WideW'(1));

  `JD_ASSERT(Latency_A, valid == want_valid)
  `JD_ASSERT_IF(NotAbove_A, valid, low <= WideW'(value))
  `JD_ASSERT_IF(NotBelow_A, valid, WideW'(value) < high)

  Largest_C : cover property (@(posedge clk_i) disable iff (!rst_ni) (valid && root == '1));
endmodule : jd_prove_fixed_sqrt
