// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_stream_fork: every word goes once to every taker, before it leaves; a taker that has
// not had the word is offered it, whatever the others do.
//
// Method       induction. Words that left, and those that each taker had, are counted modulo 4.
// Assumptions  the input holds a word until it leaves (InStable_M of the block), as every stream
//              does. Reset comes at any time.
`include "jd_assert.svh"
module jd_prove_fork #(
  parameter int unsigned Takers = 3
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              in_valid_i,
  input logic [Takers-1:0] out_ready_i
);
  logic              in_ready;
  logic [Takers-1:0] out_valid;
  jd_stream_fork #(.Takers(Takers)) u_dut (
    .clk_i,
    .rst_ni,
    .in_valid_i,
    .in_ready_o  (in_ready),
    .out_valid_o (out_valid),
    .out_ready_i
  );

  logic [1:0] left_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                     left_q <= '0;
    else if (in_valid_i && in_ready) left_q <= left_q + 2'd1;
  end
  for (genvar t = 0; t < Takers; t++) begin : gen_taker
    logic [1:0] had_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni)                               had_q <= '0;
      else if (out_valid[t] && out_ready_i[t]) had_q <= had_q + 2'd1;
    end
    `JD_ASSERT(Offered_A, out_valid[t] == (in_valid_i && had_q == left_q))
    `JD_ASSERT(Once_A, had_q == left_q || (in_valid_i && had_q == 2'(left_q + 2'd1)))
    `JD_ASSERT_IF(LeavesWithAll_A, in_valid_i && in_ready, had_q != left_q || out_ready_i[t])
    `JD_ASSERT(Tied_A, u_dut.have_q[t] == (had_q != left_q))
  end
  `JD_ASSERT_IF(LeavesAtOnce_A, in_valid_i && (out_valid & ~out_ready_i) == '0, in_ready)

  LastIsFirst_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (in_valid_i && in_ready && out_valid == Takers'(1)));
endmodule : jd_prove_fork
