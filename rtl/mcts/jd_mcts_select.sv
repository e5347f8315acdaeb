// SPDX-License-Identifier: Apache-2.0
//
// The index of the largest of F scores: groups of at most Fs scores, then groups of their winners.
//
// Streams  none: a pipe without a stall.
// Timing   T_sel = ceil(log_Fs F) groups one after another, with registers between them: index_o
//          belongs to the scores of T_sel - 1 clocks before. A valid bit loads each register.
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
  output logic [ACTION_W-1:0]       index_o
);
  if (F < 2 || F > 32 || Fs < 2 || Fs > F) begin : gen_bad_size
    $fatal(1, "jd_mcts_select: F=%0d, want 2..32, Fs=%0d, want 2..F", F, Fs);
  end
  localparam int unsigned Groups = (F + Fs - 1) / Fs;   // of the first clock
  localparam int unsigned Large  = F % Groups;          // of them, with one score more
  localparam int unsigned Small  = F / Groups;

  if (Groups == 1) begin : gen_last
    localparam int unsigned IndexW = $clog2(F);
    logic [IndexW-1:0] index;
    logic unused;
    assign unused = valid_i;
    jd_mcts_pick #(.S (F)) u_pick (.clk_i, .rst_ni, .scores_i, .index_o (index));
    assign index_o = ACTION_W'(index);
  end else begin : gen_groups
    logic [Groups-1:0][SCORE_W-1:0]  best, best_q;
    logic [Groups-1:0][ACTION_W-1:0] place, place_q;
    for (genvar g = 0; g < Groups; g++) begin : gen_group
      localparam int unsigned Size   = g < Large ? Small + 1 : Small;
      localparam int unsigned First  = g < Large ? g * (Small + 1) : g * Small + Large;
      localparam int unsigned IndexW = Size > 1 ? $clog2(Size) : 1;
      logic [IndexW-1:0] index;
      jd_mcts_pick #(.S (Size)) u_pick (
        .clk_i, .rst_ni, .scores_i (scores_i[First+:Size]), .index_o (index)
      );
      assign place[g] = ACTION_W'(First) + ACTION_W'(index);
      assign best[g]  = scores_i[First + 32'(index)];
    end
    logic valid_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q <= 1'b0;
      else         valid_q <= valid_i;
      if (valid_i) begin
        best_q  <= best;
        place_q <= place;
      end
    end
    logic [ACTION_W-1:0] winner;    // of the groups
    logic unused;
    assign unused = ^winner;
    jd_mcts_select #(.F (Groups), .Fs (Fs < Groups ? Fs : Groups)) u_winners (
      .clk_i, .rst_ni, .valid_i (valid_q), .scores_i (best_q), .index_o (winner)
    );
    // Places go along with the winners' clocks.
    localparam int unsigned More = select_clocks(Groups, Fs < Groups ? Fs : Groups) - 1;
    logic [Groups-1:0][ACTION_W-1:0] places;
    jd_delay #(.Width (Groups * ACTION_W), .Cycles (More), .Clear (1'b0)) u_places (
      .clk_i, .rst_ni, .in_i (place_q), .out_o (places)
    );
    assign index_o = places[winner[$clog2(Groups)-1:0]];
  end
endmodule : jd_mcts_select
