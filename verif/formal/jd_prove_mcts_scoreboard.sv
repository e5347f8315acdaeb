// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_mcts_scoreboard: an operation may start exactly when none of those before it can make it
// miss a result. So no selection starts on a node while scores of the node are on their way.
//
// Method       induction. Clocks since the last operation on a watched node are counted beside the
//              block: of any kind, of one that changes scores, of a hard one. So are those since the
//              last one that changes scores, of any node.
// Assumptions  operations start only when they may (StartsWhatMay_M of the block). Reset at any time.
`include "jd_assert.svh"
module jd_prove_mcts_scoreboard #(
  parameter  int unsigned EntryW  = 2,
  parameter  int unsigned TSel    = 2,
  parameter  int unsigned Hard    = 4,
  parameter  int unsigned Publish = 6,
  parameter  int unsigned Spread  = 3,
  localparam int unsigned AgeW    = $clog2(Publish + 1)
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic [EntryW-1:0] entry_i,
  input logic              select_i,
  input logic              scores_i,
  input logic              hard_i,
  input logic              start_i,
  input logic [EntryW-1:0] watched_i
);
  logic go;
  jd_mcts_scoreboard #(
    .EntryW (EntryW), .TSel (TSel), .Hard (Hard), .Publish (Publish), .Spread (Spread)
  ) u_dut (
    .clk_i, .rst_ni, .entry_i, .select_i, .scores_i, .hard_i, .start_i,
    .go_o (go)
  );
  // Clocks since the last one started; Publish: that many or more.
  logic [AgeW-1:0] any_q, scores_q, hard_q, spread_q;
  logic            here;
  assign here = start_i && entry_i == watched_i;
  function automatic logic [AgeW-1:0] older(logic [AgeW-1:0] age);
    return 32'(age) < Publish ? age + 1'b1 : age;
  endfunction
  always_ff @(posedge clk_i) begin
    any_q    <= !rst_ni ? AgeW'(Publish) : here               ? AgeW'(1) : older(any_q);
    scores_q <= !rst_ni ? AgeW'(Publish) : here && scores_i    ? AgeW'(1) : older(scores_q);
    hard_q   <= !rst_ni ? AgeW'(Publish) : here && hard_i      ? AgeW'(1) : older(hard_q);
    spread_q <= !rst_ni ? AgeW'(Publish) : start_i && scores_i ? AgeW'(1) : older(spread_q);
  end
  logic may;
  assign may = 32'(any_q) >= TSel && 32'(hard_q) >= Hard
               && !(select_i && 32'(scores_q) < Publish)
               && !(scores_i && 32'(spread_q) < Spread);

  WatchedFixed_M : assume property (@(posedge clk_i) ($stable(watched_i)));
  `JD_ASSERT_IF(MayStart_A, entry_i == watched_i, go == may)
  `JD_ASSERT_IF(ScoresAreThere_A, here && select_i, 32'(scores_q) == Publish)
  // What started k + 1 clocks ago, as the block keeps it.
  for (genvar k = 0; k < Publish - 1; k++) begin : gen_age
    logic mine;
    assign mine = u_dut.valid_q[k] && u_dut.entry_q[k] == watched_i;
    `JD_ASSERT_IF(Any_A, mine, 32'(any_q) <= k + 1)
    `JD_ASSERT_IF(Scores_A, mine && u_dut.scores_q[k], 32'(scores_q) <= k + 1)
    `JD_ASSERT_IF(Hard_A, mine && u_dut.hard_q[k], 32'(hard_q) <= k + 1)
    `JD_ASSERT_IF(Spread_A, u_dut.valid_q[k] && u_dut.scores_q[k], 32'(spread_q) <= k + 1)
    `JD_ASSERT_IF(OfAny_A, 32'(any_q) == k + 1, mine)
    `JD_ASSERT_IF(OfScores_A, 32'(scores_q) == k + 1, mine && u_dut.scores_q[k])
    `JD_ASSERT_IF(OfHard_A, 32'(hard_q) == k + 1, mine && u_dut.hard_q[k])
    `JD_ASSERT_IF(OfSpread_A, 32'(spread_q) == k + 1, u_dut.valid_q[k] && u_dut.scores_q[k])
  end
  `JD_ASSERT(InRange_A, any_q != '0 && scores_q != '0 && hard_q != '0 && spread_q != '0
                        && 32'(any_q) <= Publish && 32'(scores_q) <= Publish
                        && 32'(hard_q) <= Publish && 32'(spread_q) <= Publish)

  WaitsForScores_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (select_i && entry_i == watched_i && !go && 32'(any_q) == Publish - 1
       && scores_q == any_q));
endmodule : jd_prove_mcts_scoreboard
