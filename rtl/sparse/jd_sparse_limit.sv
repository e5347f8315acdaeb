// SPDX-License-Identifier: Apache-2.0
//
// The limit of clocks for a bank with which the busiest bank of a pass has the least.
//
// Streams  start_i: total_i are the costs of all units; units are given after it, one per clock.
//          limit_o: the best limit of the units so far.
// Timing   limit_o is right 4 clocks after the last unit and until the next start_i.
// Numbers  exact. Limits are LIMITS / 32 of an equal share of the costs, of equally good ones the first
//          that is listed. A bank takes units until one more would pass its limit; the last bank takes
//          what is left. limit_o is in clocks times EQUAL times Banks.
// Source   docs/sparse.md (load allocation). Golden model: models/sparse/plan.py, limit_of.
module jd_sparse_limit
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Banks = 8               // of a core, 1..8
) (
  input  logic               clk_i,
  input  logic               start_i,
  input  logic [COST_W-1:0]  total_i,
  input  logic               unit_i,
  input  logic [COST_W-1:0]  cost_i,             // 1 or more
  output logic [LIMIT_W-1:0] limit_o
);
  localparam int unsigned Tried = $size(LIMITS);
  localparam int unsigned ChosenW = $clog2(Tried);
  logic [LIMIT_W-1:0]            scaled;                         // a unit's cost
  logic [Tried-1:0][COST_W-1:0]  load_q, worst_q;                // of this bank, of the busiest
  logic [Tried-1:0][LIMIT_W-1:0] limits_q;
  logic signed [LIMIT_W:0]       left_q [Tried];                 // of the limit; below 0: passed
  logic [Tried-1:0][2:0]         bank_q;
  logic [Tried-1:0]              closes;
  assign scaled = LIMIT_W'(cost_i) * LIMIT_W'(EQUAL * Banks);
  always_comb begin
    for (int unsigned k = 0; k < Tried; k++)
      closes[k] = 32'(bank_q[k]) != Banks - 1 && load_q[k] != '0
                  && $signed({1'b0, scaled}) > left_q[k];
  end
  // A tree: node 1 is the root. The lowest nodes, each of two limits in their order, are registers.
  localparam int unsigned Pairs = Tried / 2;
  logic [Pairs-1:0][COST_W-1:0]    pair_least_q;
  logic [Pairs-1:0][ChosenW-1:0]   pair_best_q;
  logic [2*Pairs-1:1][COST_W-1:0]  least;
  logic [2*Pairs-1:1][ChosenW-1:0] best;
  always_comb begin
    for (int unsigned k = 0; k < Pairs; k++)
      {least[Pairs+k], best[Pairs+k]} = {pair_least_q[k], pair_best_q[k]};
    for (int unsigned n = Pairs - 1; n > 0; n--) begin
      {least[n], best[n]} = {least[2*n], best[2*n]};
      if (least[2*n+1] < least[2*n]) {least[n], best[n]} = {least[2*n+1], best[2*n+1]};
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < Tried; k++) begin
      if (start_i) begin
        limits_q[k] <= LIMIT_W'(total_i) * LIMIT_W'(LIMITS[k]);
        bank_q[k]   <= '0;
        load_q[k]   <= '0;
        worst_q[k]  <= '0;
      end else begin
        if (unit_i) begin
          load_q[k] <= closes[k] ? cost_i : load_q[k] + cost_i;
          bank_q[k] <= bank_q[k] + 3'(closes[k]);
        end
        if (load_q[k] > worst_q[k]) worst_q[k] <= load_q[k];
      end
      if (unit_i) begin
        left_q[k] <= ((closes[k] || load_q[k] == '0) ? $signed({1'b0, limits_q[k]}) : left_q[k])
                     - $signed({1'b0, scaled});
      end
    end
    for (int unsigned k = 0; k < Pairs; k++) begin
      pair_best_q[k]  <= ChosenW'(2 * k + 32'(worst_q[2*k+1] < worst_q[2*k]));
      pair_least_q[k] <= (worst_q[2*k+1] < worst_q[2*k]) ? worst_q[2*k+1] : worst_q[2*k];
    end
    limit_o <= limits_q[best[1]];
  end
endmodule : jd_sparse_limit
