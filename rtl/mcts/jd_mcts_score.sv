// SPDX-License-Identifier: Apache-2.0
//
// Scores of all children of a node, without virtual loss: q + G[N] * h.
//
// Streams  none: a pipe without a stall.
// Timing   3 + ceil(F / Mu) - 1 clocks; a node in ceil(F / Mu) clocks. Inputs are taken with valid_i.
// Numbers  G = m * 2^(5 - shift). The product is rounded down, the sum saturated to +-(2^31 - 1).
//          A child of first_i has 2^31 - 1.
// Source   thesis 2.1.2, Eq. 2.2; docs/mcts.md. Golden model: models/mcts/score.py, base.
`include "jd_assert.svh"
module jd_mcts_score
  import jd_mcts_pkg::*;
#(
  parameter int unsigned F  = 6,    // children, 2..32
  parameter int unsigned Mu = 6     // multipliers, 1..F
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       valid_i,
  input  logic [F-1:0][VALUE_W-1:0]  means_i,
  input  logic [F-1:0][WEIGHT_W-1:0] weights_i,
  input  logic [F-1:0]               first_i,
  input  logic [TOTAL_W-1:0]         mantissa_i,
  input  logic [SHIFT_W-1:0]         shift_i,
  output logic                       valid_o,
  output logic [F-1:0][SCORE_W-1:0]  scores_o
);
  if (F < 2 || F > 32 || Mu < 1 || Mu > F) begin : gen_bad_size
    $fatal(1, "jd_mcts_score: F=%0d, want 2..32, Mu=%0d, want 1..F", F, Mu);
  end
  localparam int unsigned Turns    = (F + Mu - 1) / Mu;
  localparam int unsigned TurnW    = Turns > 1 ? $clog2(Turns) : 1;
  localparam int unsigned ProductW = TOTAL_W + WEIGHT_W;
  localparam logic [TurnW-1:0] LastTurn = TurnW'(Turns - 1);

  // Group by group of Mu children; the first with valid_i.
  logic             run, run_q, run_q2, busy_q;
  logic [TurnW-1:0] turn, turn_q, turn_q2, next_q;
  logic [F-1:0][VALUE_W-1:0]  means, means_q, means_q2, means_q3;
  logic [F-1:0][WEIGHT_W-1:0] weights, weights_q;
  logic [F-1:0]               first, first_q, first_q2, first_q3;
  logic [TOTAL_W-1:0]         mantissa, mantissa_q;
  logic [SHIFT_W-1:0]         shift, shift_q, shift_q2;
  assign run      = valid_i || busy_q;
  assign turn     = valid_i || Turns == 1 ? '0 : next_q;
  assign means    = valid_i ? means_i    : means_q;
  assign weights  = valid_i ? weights_i  : weights_q;
  assign first    = valid_i ? first_i    : first_q;
  assign mantissa = valid_i ? mantissa_i : mantissa_q;
  assign shift    = valid_i ? shift_i    : shift_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      run_q   <= 1'b0;
      run_q2  <= 1'b0;
      valid_o <= 1'b0;
    end else begin
      busy_q  <= run && turn != LastTurn;
      run_q   <= run;
      run_q2  <= run_q;
      valid_o <= run_q2 && turn_q2 == LastTurn;
    end
    next_q <= turn + 1'b1;
    if (valid_i && Turns > 1) begin
      means_q    <= means_i;
      weights_q  <= weights_i;
      first_q    <= first_i;
      mantissa_q <= mantissa_i;
      shift_q    <= shift_i;
    end
    if (run) begin
      turn_q   <= turn;
      means_q2 <= means;
      first_q2 <= first;
      shift_q2 <= shift;
    end
    if (run_q) begin
      turn_q2  <= turn_q;
      means_q3 <= means_q2;
      first_q3 <= first_q2;
    end
  end

  for (genvar k = 0; k < Mu; k++) begin : gen_multiplier
    logic [WEIGHT_W-1:0] weight;
    logic [ProductW-1:0] product_q, product_q2;
    always_comb begin
      weight = '0;
      for (int unsigned t = 0; t < Turns; t++) begin
        if (turn == TurnW'(t) && t * Mu + k < F) weight = weights[t * Mu + k];
      end
    end
    always_ff @(posedge clk_i) begin
      if (run)   product_q  <= ProductW'(mantissa) * ProductW'(weight);
      if (run_q) product_q2 <= product_q >> shift_q2;
    end
    for (genvar t = 0; t < Turns; t++) begin : gen_turn
      localparam int unsigned Child = t * Mu + k;
      if (Child < F) begin : gen_child
        logic signed [ProductW+1:0] exact;
        assign exact = (ProductW + 2)'(signed'(means_q3[Child]))
                       + signed'({2'b00, product_q2});
        always_ff @(posedge clk_i) begin
          if (run_q2 && turn_q2 == TurnW'(t)) begin
            if (first_q3[Child] || exact > (ProductW + 2)'(SCORE_MOST))
              scores_o[Child] <= SCORE_MOST;
            else
              scores_o[Child] <= exact[SCORE_W-1:0];
          end
        end
      end
    end
  end

  `JD_ASSUME_IF(NotTooSoon_M, valid_i, !busy_q)
endmodule : jd_mcts_score
