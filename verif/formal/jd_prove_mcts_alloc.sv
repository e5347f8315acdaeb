// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_mcts_alloc: no slot is given twice; all slots of a bank go to one level; a level is told
// that it is full only when no bank that it may have is left; a level has at most Sf slots out, and
// there is room for what comes back.
//
// Method       induction. A slot is followed, watch_i, and its bank: whether it was given, and the level
//              that has the bank. Tokens that hold slots are counted for each level. That a FIFO
//              neither loses nor doubles a slot is proved of jd_stream_skid.
// Assumptions  only slots that are out come back or are used, at most one per level and clock. The policy
//              changes only with a new tree. Reset and clear_i at any time.
`include "jd_assert.svh"
module jd_prove_mcts_alloc #(
  parameter  int unsigned D      = 4,
  parameter  int unsigned Y      = 8,
  parameter  int unsigned Cap    = 2,
  parameter  int unsigned Sf     = 2,
  localparam int unsigned BankW  = $clog2(Y),
  localparam int unsigned PortW  = $clog2(D),
  localparam int unsigned Rows   = Y / D,
  localparam int unsigned WatchW = $clog2(Y * Cap)
) (
  input logic                             clk_i,
  input logic                             rst_ni,
  input logic                             clear_i,
  input logic [1:0]                       policy_i,
  input logic [6:0]                       d_act_i,
  input logic [D-1:1]                     slot_ready_i,
  input logic [D-1:1]                     back_valid_i,
  input logic [(D-1)*jd_mcts_pkg::ADDRESS_W-1:0] back_i,
  input logic [D-1:1]                     used_i,
  input logic [WatchW-1:0]                watch_i
);
  import jd_mcts_pkg::*;
  logic [D-1:1] slot_valid, full, taken;
  logic         search;
  logic [(D-1)*ADDRESS_W-1:0] slots;
  jd_mcts_alloc #(.D (D), .Y (Y), .Cap (Cap), .Sf (Sf)) u_dut (
    .clk_i, .rst_ni, .clear_i, .policy_i, .d_act_i,
    .slot_valid_o (slot_valid),
    .slot_ready_i,
    .slot_o       (slots),
    .full_o       (full),
    .back_valid_i,
    .back_i,
    .used_i,
    .search_o     (search)
  );
  assign taken = slot_valid & slot_ready_i;

  logic [BankW-1:0]             bank;
  logic [PortW-1:0]             port;
  int unsigned                  row, index;
  assign bank  = BankW'(32'(watch_i) / Cap);
  assign index = 32'(watch_i) % Cap;
  assign port  = bank[PortW-1:0];
  assign row   = 32'(bank) / D;

  logic             given_q, owned_q, gives, gives_bank;
  logic [PortW-1:0] owner_q;
  logic [D-1:1]     has_q;                    // a level has had a bank
  logic [D-1:1][2:0] out_q;                   // slots with tokens
  assign gives      = u_dut.pushed != '0 && 32'(u_dut.slot) == 32'(watch_i);
  assign gives_bank = 2'(u_dut.state_q) == 2'd2 && u_dut.some_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      given_q <= 1'b0;
      owned_q <= 1'b0;
      has_q   <= '0;
      out_q   <= '0;
    end else begin
      if (gives) given_q <= 1'b1;
      if (gives_bank && BankW'(32'(u_dut.best_rows_q) * D + 32'(u_dut.best_q)) == bank)
        owned_q <= 1'b1;
      for (int unsigned l = 1; l < D; l++) begin
        if (gives_bank && u_dut.level_q == PortW'(l)) has_q[l] <= 1'b1;
        out_q[l] <= out_q[l] + 3'(taken[l]) - 3'(back_valid_i[l]) - 3'(used_i[l]);
      end
    end
    if (gives_bank && BankW'(32'(u_dut.best_rows_q) * D + 32'(u_dut.best_q)) == bank)
      owner_q <= u_dut.level_q;
  end

  logic [D-1:1] live;                         // a bank that is or was being filled
  assign live = has_q & ~u_dut.spent_q;

  WatchFixed_M : assume property (@(posedge clk_i) ($stable(watch_i)));
  `JD_ASSUME(PolicyKnown_M, policy_i != 2'd3)
  `JD_ASSUME_NEXT(PolicyFixed_M, !clear_i, $stable(policy_i) && $stable(d_act_i))
  for (genvar l = 1; l < D; l++) begin : gen_level
    `JD_ASSUME(OneOfThoseOut_M, 3'(back_valid_i[l]) + 3'(used_i[l]) <= 3'd1)
    `JD_ASSUME_IF(IsOut_M, back_valid_i[l] || used_i[l], out_q[l] != '0)
    logic [1:0] kept;
    assign kept = 2'(u_dut.gen_slots[l].u_slots.out_valid_o)
                  + 2'(!u_dut.gen_slots[l].u_slots.in_ready_o);
    `JD_ASSERT(AtMostSf_A, 32'(u_dut.held_q[l]) <= Sf && 32'(out_q[l]) <= Sf)
    `JD_ASSERT(AllSlots_A, 32'(u_dut.held_q[l]) == 32'(kept) + 32'(out_q[l]))
    `JD_ASSERT(Indices_A, 32'(u_dut.next_q[l]) <= Cap)
    // A level that is offered, and one whose slot is on its way to the FIFO.
    `JD_ASSERT_IF(HasSlot_A, u_dut.can_q[l] || u_dut.granted_q[l],
                  32'(u_dut.next_q[l]) < Cap && 32'(u_dut.held_q[l]) < Sf)
    `JD_ASSERT_IF(NoneYet_A, !has_q[l], 32'(u_dut.next_q[l]) == Cap)
    // A bank that a level fills is taken, and is nobody else's.
    `JD_ASSERT_IF(IsTaken_A, live[l], 32'(u_dut.bank_q[l]) / D
                  < 32'(u_dut.rows_q[u_dut.bank_q[l][PortW-1:0]]))
    for (genvar m = l + 1; m < D; m++) begin : gen_other
      `JD_ASSERT_IF(OneLevel_A, live[l] && live[m], u_dut.bank_q[l] != u_dut.bank_q[m])
    end
    `JD_ASSERT_IF(OwnerFills_A, live[l] && u_dut.bank_q[l] == bank,
                  owned_q && owner_q == PortW'(l))
    `JD_ASSERT_IF(FilledSoFar_A, live[l] && u_dut.bank_q[l] == bank,
                  given_q == (32'(u_dut.next_q[l]) > index))
    // Full: no bank that it may have.
    for (genvar p = 0; p < D; p++) begin : gen_port
      `JD_ASSERT_IF(FullIsFull_A, full[l] || u_dut.spent_q[l],
                    32'(u_dut.rows_q[p]) == Rows || (policy_i == 2'd2 && p != l))
    end
    `JD_ASSERT_IF(SpentHasNone_A, u_dut.spent_q[l], 32'(u_dut.next_q[l]) == Cap)
    `JD_ASSERT_IF(OwnBank_A, policy_i == 2'd2 && live[l],
                  u_dut.bank_q[l][PortW-1:0] == PortW'(l))
  end
  `JD_ASSERT(OneOnItsWay_A, $onehot0(u_dut.granted_q))
  `JD_ASSERT(Owned_A, owned_q == (row < 32'(u_dut.rows_q[port])))
  `JD_ASSERT_IF(GivenOfOwned_A, given_q, owned_q)
  `JD_ASSERT_IF(GivenOnce_A, gives, !given_q)
  logic [D-1:0] filled;                       // by the level that has the bank now
  assign filled[0] = 1'b0;
  for (genvar l = 1; l < D; l++) begin : gen_filled
    assign filled[l] = live[l] && u_dut.bank_q[l] == bank;
  end
  `JD_ASSERT_IF(LeftWhenFull_A, owned_q && filled == '0, given_q)
  int unsigned judged;                        // ports that have passed all steps of the search
  for (genvar p = 0; p < D; p++) begin : gen_rows
    `JD_ASSERT(RowsInRange_A, 32'(u_dut.rows_q[p]) <= Rows)
    `JD_ASSERT_IF(Passed_A, 2'(u_dut.state_q) != 2'd0 && !u_dut.some_q && p < judged,
                  32'(u_dut.rows_q[p]) == Rows
                  || (policy_i == 2'd2 && PortW'(p) != u_dut.level_q))
  end
  // Ports on their way through the search: each port once, with what it has.
  logic [PortW-1:0] port1, port2;
  assign port1 = u_dut.place_q.port;
  assign port2 = u_dut.place_q2.port;
  always_comb begin
    if (u_dut.count_q)                    judged = 32'(port2);
    else if (u_dut.look_q)                judged = 32'(port1);
    else if (2'(u_dut.state_q) == 2'd1)   judged = 32'(u_dut.port_q);
    else                                  judged = D;
  end
  `JD_ASSERT_IF(Searching_A, 2'(u_dut.state_q) == 2'd1,
                u_dut.look_q == (u_dut.port_q != '0)
                && u_dut.count_q == (32'(u_dut.port_q) >= 2))
  `JD_ASSERT_IF(Drains_A, 2'(u_dut.state_q) == 2'd3,
                u_dut.count_q && 32'(port2) == (u_dut.look_q ? D - 2 : D - 1)
                && (!u_dut.look_q || 32'(port1) == D - 1))
  `JD_ASSERT_IF(Rests_A, 2'(u_dut.state_q) == 2'd0 || 2'(u_dut.state_q) == 2'd2,
                !u_dut.look_q && !u_dut.count_q)
  `JD_ASSERT_IF(First_A, 2'(u_dut.state_q) == 2'd1 && u_dut.look_q,
                port1 == u_dut.port_q - 1'b1)
  `JD_ASSERT_IF(Second_A, 2'(u_dut.state_q) == 2'd1 && u_dut.count_q,
                port2 == u_dut.port_q - 2'd2)
  `JD_ASSERT_IF(FirstHas_A, u_dut.look_q, u_dut.place_q.rows == u_dut.rows_q[port1]
                && u_dut.place_q.allowed == (32'(u_dut.rows_q[port1]) < Rows
                   && (policy_i != 2'd2 || port1 == u_dut.level_q)))
  `JD_ASSERT_IF(SecondHas_A, u_dut.count_q, u_dut.place_q2.rows == u_dut.rows_q[port2]
                && u_dut.place_q2.allowed == (32'(u_dut.rows_q[port2]) < Rows
                   && (policy_i != 2'd2 || port2 == u_dut.level_q)))
  `JD_ASSERT_IF(BestRows_A, 2'(u_dut.state_q) != 2'd0 && u_dut.some_q,
                u_dut.best_rows_q == u_dut.rows_q[u_dut.best_q])
  `JD_ASSERT_IF(BestHasRoom_A, 2'(u_dut.state_q) != 2'd0 && u_dut.some_q,
                32'(u_dut.rows_q[u_dut.best_q]) < Rows
                && (policy_i != 2'd2 || u_dut.best_q == u_dut.level_q))
  logic [D-1:0] full_levels;                  // that have filled what they have
  assign full_levels[0] = 1'b0;
  for (genvar l = 1; l < D; l++) begin : gen_full
    assign full_levels[l] = 32'(u_dut.next_q[l]) == Cap && !u_dut.spent_q[l];
  end
  `JD_ASSERT_IF(SearchesForOne_A, 2'(u_dut.state_q) != 2'd0, full_levels[u_dut.level_q])

  AllHaveBanks_C : cover property (@(posedge clk_i) disable iff (!rst_ni) (has_q == '1));
  BankIsFull_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (given_q && filled == '0));
endmodule : jd_prove_mcts_alloc
