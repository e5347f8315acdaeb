// SPDX-License-Identifier: Apache-2.0
//
// Holds an operation on a node as long as it could miss a result of one before it.
//
// Streams  The head of a node unit's input and whether it may start; start_i says that it does.
// Timing   combinational from the head. An operation waits for one on the same node:
//          a selection, for one that changes scores: Publish clocks;
//          any, for one that changes more than forwarding covers (an insertion, an evaluation): Hard;
//          any, for any other: TSel.
//          An update that changes scores waits Spread clocks for one before it, on any node.
// Numbers  none.
// Source   docs/mcts.md (hazards). Golden model: the order of models/mcts/tree.py.
`include "jd_assert.svh"
module jd_mcts_scoreboard #(
  parameter int unsigned EntryW  = 9,    // bits of a node's entry
  parameter int unsigned TSel    = 1,    // 1..5
  parameter int unsigned Hard    = 4,    // TSel..Publish
  parameter int unsigned Publish = 20,
  parameter int unsigned Spread  = 1     // 1..Publish
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [EntryW-1:0] entry_i,
  input  logic              select_i,    // the head is a selection,
  input  logic              scores_i,    // changes scores,
  input  logic              hard_i,      // or inserts or evaluates
  input  logic              start_i,
  output logic              go_o
);
  // What started k + 1 clocks ago.
  logic [Publish-2:0]             valid_q, scores_q, hard_q;
  logic [Publish-2:0][EntryW-1:0] entry_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= (Publish - 1)'({valid_q, start_i});
    scores_q <= (Publish - 1)'({scores_q, scores_i});
    hard_q   <= (Publish - 1)'({hard_q, hard_i});
    entry_q  <= ((Publish - 1) * EntryW)'({entry_q, entry_i});
  end
  always_comb begin
    go_o = 1'b1;
    for (int unsigned k = 0; k < Publish - 1; k++) begin
      if (valid_q[k] && entry_q[k] == entry_i) begin
        if (select_i && scores_q[k])     go_o = 1'b0;
        if (hard_q[k] && k + 1 < Hard)   go_o = 1'b0;
        if (k + 1 < TSel)                go_o = 1'b0;
      end
      if (scores_i && valid_q[k] && scores_q[k] && k + 1 < Spread) go_o = 1'b0;
    end
  end

  `JD_ASSUME_IF(StartsWhatMay_M, start_i, go_o)
endmodule : jd_mcts_scoreboard
