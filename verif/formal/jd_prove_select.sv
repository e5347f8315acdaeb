// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_sparse_select: the turn and the port of a lane are those of the prefix sums; in a turn no
// two lanes have the same port of the same bank; every lane that is active comes in exactly one turn,
// and the last turn of a rank is the one after which no lane is left.
//
// Method       induction. The rank that was taken is kept, and its turns are counted. What the block
//              holds of a lane are the active lanes below it that are still to come.
// Assumptions  one_port_i stays while there is a rank. Reset at any time.
`include "jd_assert.svh"
module jd_prove_select #(
  parameter  int unsigned Lanes = 5,
  parameter  int unsigned Banks = 2,
  localparam int unsigned BankW = $clog2(Banks)
) (
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic                   one_port_i,
  input logic                   valid_i,
  input logic [Lanes-1:0]       active_i,
  input logic [Lanes*BankW-1:0] bank_i
);
  localparam int unsigned CountW = $clog2(Lanes) + 1;
  logic             ready, valid, first, last;
  logic [Lanes-1:0] now, port;
  jd_sparse_select #(.Lanes (Lanes), .Banks (Banks)) u_dut (
    .clk_i, .rst_ni, .one_port_i, .valid_i,
    .ready_o  (ready),
    .active_i, .bank_i,
    .valid_o  (valid),
    .first_o  (first),
    .last_o   (last),
    .now_o    (now),
    .port_o   (port)
  );
  logic [Lanes-1:0]             active_q;        // the rank
  logic [Lanes-1:0][BankW-1:0]  bank_q;
  logic [CountW-1:0]            turn_q;          // its turns before this one
  logic [Lanes-1:0][CountW-1:0] prefix, turn;
  logic [Lanes-1:0]             left;            // lanes of later turns
  always_ff @(posedge clk_i) begin
    if (ready) begin
      active_q <= active_i;
      bank_q   <= bank_i;
      turn_q   <= '0;
    end else begin
      turn_q <= turn_q + 1'b1;
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      prefix[i] = '0;
      for (int unsigned j = 0; j < i; j++)
        prefix[i] = prefix[i] + CountW'(active_q[j] && bank_q[j] == bank_q[i]);
      turn[i] = one_port_i ? prefix[i] : prefix[i] >> 1;
      left[i] = active_q[i] && turn[i] > turn_q;
    end
  end

  `JD_ASSUME_NEXT(OnePortFixed_M, valid, $stable(one_port_i))
  logic rank_q;                                  // a rank has been taken since reset
  always_ff @(posedge clk_i) rank_q <= rst_ni && (valid_i || rank_q);
  `JD_ASSERT_IF(SomeRank_A, valid, rank_q)

  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    `JD_ASSERT_IF(TurnOfPrefix_A, valid, now[i] == (active_q[i] && turn[i] == turn_q))
    `JD_ASSERT_IF(PortOfPrefix_A, now[i], port[i] == (prefix[i][0] && !one_port_i))
    `JD_ASSERT_IF(OnlyInARank_A, now[i], valid)
    for (genvar j = 0; j < i; j++) begin : gen_other
      `JD_ASSERT_IF(OnePortOnce_A, now[i] && now[j], port[i] != port[j] || bank_q[i] != bank_q[j])
    end
    // What the block holds.
    `JD_ASSERT_IF(ActiveLeft_A, valid, u_dut.active_q[i] == (active_q[i] && turn[i] >= turn_q))
    `JD_ASSERT_IF(BelowLeft_A, valid && u_dut.active_q[i], u_dut.below_q[i]
                  == prefix[i] - (one_port_i ? turn_q : turn_q << 1))
  end
  `JD_ASSERT_IF(LastTurn_A, valid, last == (left == '0))
  `JD_ASSERT_IF(FirstTurn_A, valid, first == (turn_q == '0))
  `JD_ASSERT(NextRank_A, ready == (!valid || last))
  `JD_ASSERT_IF(SomeLeft_A, valid && turn_q != '0, u_dut.active_q != '0)

  Turns_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (valid && last && turn_q == CountW'(2) && !one_port_i && active_q == '1));
  OnePort_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (valid && last && turn_q == CountW'(4) && one_port_i));
endmodule : jd_prove_select
