// SPDX-License-Identifier: Apache-2.0
//
// The winner of a group of scores: all pairs are compared at once, and the winner is looked up.
//
// Streams  none.
// Timing   combinational.
// Numbers  signed scores; ties go to the lowest index. Exactly one score wins.
// Source   thesis 3.3 (comparison-lookup); docs/mcts.md. Golden model: models/mcts/select.py, pick.
`include "jd_assert.svh"
module jd_mcts_pick
  import jd_mcts_pkg::*;
#(
  parameter int unsigned S = 3    // scores, 1..32
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [S-1:0][SCORE_W-1:0] scores_i,
  output logic [S-1:0]              wins_o
);
  if (S < 1 || S > 32) begin : gen_bad_size
    $fatal(1, "jd_mcts_pick: S=%0d, want 1..32", S);
  end
  // Score i wins if it is not less than any after it, and greater than all before it.
  always_comb begin
    wins_o = '1;
    for (int unsigned i = 0; i < S; i++) begin
      for (int unsigned j = i + 1; j < S; j++) begin
        if (signed'(scores_i[i]) >= signed'(scores_i[j])) wins_o[j] = 1'b0;
        else                                              wins_o[i] = 1'b0;
      end
    end
  end

  `JD_ASSERT(OneWins_A, $onehot(wins_o))
endmodule : jd_mcts_pick
