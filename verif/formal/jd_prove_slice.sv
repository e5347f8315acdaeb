// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_stream_slice: no word is lost, doubled, changed or overtaken; valid does not wait for
// ready, and the block takes a word whenever it has room.
//
// Method       induction. A word that pick_i chooses freely is followed while the block holds it; one
//              that passes in the clock in which it comes is compared with the input.
// Assumptions  the input holds a word until it is taken (InStable_M of the block), as every stream
//              does. Reset comes at any time.
`include "jd_assert.svh"
module jd_prove_slice #(
  parameter int unsigned Width    = 4,
  parameter bit          Forward  = 1'b0,
  parameter bit          Backward = 1'b1
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i,
  input logic             pick_i
);
  localparam logic [1:0] Depth = 2'(Forward) + 2'(Backward);   // words that it can hold

  logic             in_ready, out_valid;
  logic [Width-1:0] out_data;
  jd_stream_slice #(.Width(Width), .Forward(Forward), .Backward(Backward)) u_dut (
    .clk_i,
    .rst_ni,
    .in_valid_i,
    .in_ready_o  (in_ready),
    .in_data_i,
    .out_valid_o (out_valid),
    .out_ready_i,
    .out_data_o  (out_data)
  );

  logic push, pop, empty, passes;
  assign push   = in_valid_i && in_ready;
  assign pop    = out_valid && out_ready_i;
  assign passes = empty && push && pop;

  logic             followed_q;
  logic [Width-1:0] value_q;
  logic [1:0]       ahead_q, count_q;
  assign empty = count_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      followed_q <= 1'b0;
      count_q    <= '0;
    end else begin
      count_q <= count_q + 2'(push) - 2'(pop);
      if (!followed_q) begin
        followed_q <= push && pick_i && !passes;
        value_q    <= in_data_i;
        ahead_q    <= count_q - 2'(pop);
      end else if (pop) begin
        if (ahead_q == '0) followed_q <= 1'b0;
        else               ahead_q <= ahead_q - 2'd1;
      end
    end
  end

  `JD_ASSERT(Held_A, count_q <= Depth)
  `JD_ASSERT(Offered_A, out_valid == (!empty || (!Forward && in_valid_i)))
  `JD_ASSERT_IF(Through_A, empty && out_valid, out_data == in_data_i)
  `JD_ASSERT_IF(NotLost_A, followed_q, ahead_q < count_q)
  `JD_ASSERT_IF(Unchanged_A, followed_q && ahead_q == '0, out_data == value_q)
  `JD_ASSERT(Room_A, in_ready == (Backward ? count_q != Depth : count_q != Depth || out_ready_i))

  FollowedLeaves_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (followed_q && pop && ahead_q == '0 && count_q == Depth));
endmodule : jd_prove_slice
