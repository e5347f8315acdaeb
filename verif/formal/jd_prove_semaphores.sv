// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_sparse_semaphores: no post is lost or doubled, but for those that over_o tells of; none
// that is at 0 is said to be above it; over_o tells of each post that passes the greatest number.
//
// Method       induction. Of each semaphore tokens are counted: a post brings one, a take removes one.
// Assumptions  a take is of a semaphore above 0 (TakeAboveZero_M of the block). Reset and clear come at
//              any time.
`include "jd_assert.svh"
module jd_prove_semaphores #(
  parameter int unsigned Count = 3,
  parameter int unsigned Bits  = 2
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             clear_i,
  input logic [Count-1:0] take_i,
  input logic [Count-1:0] post_i
);
  localparam int unsigned Most = 2 ** Bits - 1;
  logic [Count-1:0] above, passes;
  logic             over;
  jd_sparse_semaphores #(.Count (Count), .Bits (Bits)) u_dut (
    .clk_i, .rst_ni, .clear_i, .take_i, .post_i,
    .above_o (above),
    .over_o  (over)
  );
  for (genvar k = 0; k < Count; k++) begin : gen_semaphore
    logic [7:0] tokens_q, tokens;
    assign tokens    = tokens_q - 8'(take_i[k]) + 8'(post_i[k]);
    assign passes[k] = 32'(tokens) > Most;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) tokens_q <= '0;
      else                    tokens_q <= passes[k] ? 8'(Most) : tokens;
    end
    `JD_ASSERT(Above_A, above[k] == (tokens_q != '0))
    `JD_ASSERT(Tokens_A, 8'(u_dut.count_q[k]) == tokens_q)
    Full_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
        (32'(tokens_q) == Most && take_i[k] && post_i[k]));
  end
  `JD_ASSERT_IF(Over_A, !clear_i, over == (passes != '0))
  Over_C : cover property (@(posedge clk_i) disable iff (!rst_ni) (over));
endmodule : jd_prove_semaphores
