// SPDX-License-Identifier: Apache-2.0
//
// The index of the largest of F scores: groups of at most Fs scores, then groups of their winners.
//
// Streams  none: a pipe without a stall.
// Timing   T_sel = ceil(log_Fs F) groups one after another, with registers between them: taken_o
//          and index_o belong to the scores of T_sel - 1 clocks before. A valid bit loads each register.
// Numbers  signed scores; ties go to the lowest index.
// Source   thesis 3.3, Eq. 5.1; docs/mcts.md. Golden model: models/mcts/select.py, select.
`include "jd_assert.svh"
module jd_mcts_select
  import jd_mcts_pkg::*;
#(
  parameter int unsigned F  = 6,    // scores, 2..32
  parameter int unsigned Fs = 6     // comparison-lookup factor, 2..F
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      valid_i,
  input  logic [F-1:0][SCORE_W-1:0] scores_i,
  output logic [F-1:0]              taken_o,    // one bit
  output logic [ACTION_W-1:0]       index_o
);
  if (F < 2 || F > 32 || Fs < 2 || Fs > F) begin : gen_bad_size
    $fatal(1, "jd_mcts_select: F=%0d, want 2..32, Fs=%0d, want 2..F", F, Fs);
  end
  localparam int unsigned TSel = select_clocks(F, Fs);

  for (genvar t = 0; t < TSel; t++) begin : gen_clock
    localparam int unsigned Left   = select_left(F, Fs, t);
    localparam int unsigned Groups = select_left(F, Fs, t + 1);
    localparam int unsigned Large  = Left % Groups;      // of the groups, with one score more
    localparam int unsigned Small  = Left / Groups;
    // The scores that are left, and whose they are; then those of the groups' winners.
    logic                       valid, valid_next;
    logic [F-1:0][SCORE_W-1:0]  scores, best, scores_next;
    logic [F-1:0][F-1:0]        places, place, places_next;
    if (t == 0) begin : gen_first
      assign valid  = valid_i;
      assign scores = scores_i;
      for (genvar a = 0; a < F; a++) begin : gen_place
        assign places[a] = F'(1) << a;
      end
    end else begin : gen_before
      assign valid  = gen_clock[t-1].valid_next;
      assign scores = gen_clock[t-1].scores_next;
      assign places = gen_clock[t-1].places_next;
    end
    for (genvar g = 0; g < F; g++) begin : gen_group
      if (g < Groups) begin : gen_pick
        localparam int unsigned Size   = g < Large ? Small + 1 : Small;
        localparam int unsigned First  = g < Large ? g * (Small + 1) : g * Small + Large;
        logic [Size-1:0] wins;
        jd_mcts_pick #(.S (Size)) u_pick (
          .clk_i, .rst_ni, .scores_i (scores[First+:Size]), .wins_o (wins)
        );
        always_comb begin
          best[g]  = '0;
          place[g] = '0;
          for (int unsigned k = 0; k < Size; k++) begin
            best[g]  = best[g]  | ({SCORE_W{wins[k]}} & scores[First+k]);
            place[g] = place[g] | ({F{wins[k]}} & places[First+k]);
          end
        end
      end else begin : gen_none
        assign best[g]  = '0;
        assign place[g] = '0;
      end
    end
    if (t == TSel - 1) begin : gen_last
      assign valid_next  = valid;
      assign scores_next = best;
      assign places_next = place;
      logic unused;
      assign unused = ^{valid_next, scores_next};
    end else begin : gen_register
      always_ff @(posedge clk_i) begin
        if (!rst_ni) valid_next <= 1'b0;
        else         valid_next <= valid;
        if (valid) begin
          scores_next <= best;
          places_next <= place;
        end
      end
    end
  end
  assign taken_o = gen_clock[TSel-1].places_next[0];
  always_comb begin
    index_o = '0;
    for (int unsigned a = 0; a < F; a++) begin
      if (taken_o[a]) index_o = index_o | ACTION_W'(a);
    end
  end
endmodule : jd_mcts_select
