// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_mcts_switch: one input is served at a time, and one whenever there is room; its words
// come out once, unchanged and in the order in which they were taken; an input that waits sees each
// other input served at most once.
//
// Method       induction. A queue of two words is kept beside the block. victim_i is any input;
//              overtook_q are the inputs served since it waits. Whoever overtook is not nearer to the
//              victim than the last served.
// Assumptions  inputs hold a word until it is taken, as every stream does. Reset at any time.
`include "jd_assert.svh"
module jd_prove_mcts_switch #(
  parameter  int unsigned Inputs = 5,
  parameter  int unsigned Width  = 2,
  parameter  int unsigned Group  = 2,
  localparam int unsigned IndexW = $clog2(Inputs)
) (
  input logic                    clk_i,
  input logic                    rst_ni,
  input logic [Inputs-1:0]       in_valid_i,
  input logic [Inputs*Width-1:0] in_data_i,
  input logic                    out_ready_i,
  input logic [IndexW-1:0]       victim_i
);
  logic [Inputs-1:0] in_ready, taken;
  logic              out_valid;
  logic [Width-1:0]  out_data;
  jd_mcts_switch #(.Inputs (Inputs), .Width (Width), .Group (Group)) u_dut (
    .clk_i, .rst_ni,
    .in_valid_i,
    .in_ready_o  (in_ready),
    .in_data_i,
    .out_valid_o (out_valid),
    .out_ready_i,
    .out_data_o  (out_data)
  );
  assign taken = in_valid_i & in_ready;

  logic [1:0]        count_q;
  logic [Width-1:0]  first_q, second_q, word;
  logic [IndexW-1:0] last_q;
  logic [Inputs-1:0] overtook_q;
  logic              waits, put, get;
  assign waits = in_valid_i[victim_i] && !in_ready[victim_i];
  assign put   = taken != '0;
  assign get   = out_valid && out_ready_i;
  always_comb begin
    word = '0;
    for (int unsigned s = 0; s < Inputs; s++) begin
      if (taken[s]) word = in_data_i[s*Width +: Width];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      count_q    <= '0;
      last_q     <= IndexW'(Inputs - 1);
      overtook_q <= '0;
    end else begin
      count_q    <= count_q + 2'(put) - 2'(get);
      overtook_q <= waits ? overtook_q | taken : '0;
      for (int unsigned s = 0; s < Inputs; s++) begin
        if (taken[s]) last_q <= IndexW'(s);
      end
    end
    if (get || count_q == '0)                  first_q  <= count_q == 2'd2 ? second_q : word;
    if (put && (count_q == 2'd2 || (count_q == 2'd1 && !get))) second_q <= word;
  end

  // Places from input s round to the victim, 1..Inputs.
  function automatic int unsigned places(logic [IndexW-1:0] s, logic [IndexW-1:0] to);
    return (s < to) ? 32'(to) - 32'(s) : 32'(to) + Inputs - 32'(s);
  endfunction

  VictimFixed_M : assume property (@(posedge clk_i) (32'(victim_i) < Inputs && $stable(victim_i)));
  `JD_ASSERT(LastInRange_A, 32'(last_q) < Inputs)
  `JD_ASSERT(AtMostTwo_A, count_q <= 2'd2)
  `JD_ASSERT(Offered_A, out_valid == (count_q != '0))
  `JD_ASSERT_IF(InOrder_A, count_q != '0, out_data == first_q)
  `JD_ASSERT(Room_A, u_dut.ready == (count_q != 2'd2))
  `JD_ASSERT_IF(Second_A, count_q == 2'd2, u_dut.u_room.spare_q == second_q)
  `JD_ASSERT_IF(Works_A, in_valid_i != '0 && count_q != 2'd2, put)
  `JD_ASSERT_IF(OnceEach_A, in_valid_i[victim_i], (taken & overtook_q) == '0)
  for (genvar s = 0; s < Inputs; s++) begin : gen_order
    `JD_ASSERT(Above_A, u_dut.above_q[s] == (s > 32'(last_q)))
    `JD_ASSERT_IF(Rotates_A, overtook_q[s],
                  IndexW'(s) != victim_i && last_q != victim_i &&
                  places(IndexW'(s), victim_i) >= places(last_q, victim_i))
  end
  // An input keeps its word until it is taken.
  for (genvar s = 0; s < Inputs; s++) begin : gen_in
    `JD_ASSUME_STREAM(InStable_M, in_valid_i[s], in_ready[s], in_data_i[s*Width +: Width])
  end

  AllOvertook_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ($countones(overtook_q) == 32'(Inputs - 1) && in_ready[victim_i]));
endmodule : jd_prove_mcts_switch
