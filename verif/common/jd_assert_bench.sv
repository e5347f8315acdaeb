// SPDX-License-Identifier: Apache-2.0
//
// One of each check of jd_assert.svh, of which select_i arms one.
//
// Streams  none.
// Timing   every clock.
// Numbers  none.
// Source   none: only to see in which clock the checks fail.
`include "jd_assert.svh"
module jd_assert_bench (
  input logic         clk_i,
  input logic         rst_ni,
  input logic [2:0]   select_i,
  input logic         when_i,
  input logic         expression_i,
  input logic         valid_i,
  input logic         ready_i,
  input logic [127:0] payload_i
);
  `JD_ASSERT(Always_A, select_i != 3'd0 || expression_i)
  `JD_ASSERT_IF(If_A, select_i == 3'd1 && when_i, expression_i)
  `JD_ASSERT_NEXT(Next_A, select_i == 3'd2 && when_i, expression_i)
  `JD_ASSERT_STABLE(Stable_A, select_i == 3'd3 && when_i, payload_i)
  `JD_ASSERT_STREAM(Stream_A, valid_i, ready_i || select_i != 3'd4, payload_i)
  `JD_ASSUME_IF(If_M, select_i == 3'd5 && when_i, expression_i)
endmodule : jd_assert_bench
