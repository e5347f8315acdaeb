// SPDX-License-Identifier: Apache-2.0
//
// The limit of clocks for a bank with which the busiest bank of a pass has the least.
//
// Streams  start_i: total_i are the costs of all units; units are given after it, one per clock.
//          limit_o: the best limit of the units so far.
// Timing   limit_o is right 3 clocks after the last unit and until the next start_i.
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
  logic [Tried-1:0][COST_W-1:0]  load, load_q, worst_q;
  logic [Tried-1:0][LIMIT_W-1:0] limits_q;
  logic [Tried-1:0][2:0]         bank_q;
  logic [Tried-1:0]              closes;
  // A tree: node 1 is the root, the limits' nodes come last, in their order.
  logic [2*Tried-1:1][COST_W-1:0]  least;
  logic [2*Tried-1:1][ChosenW-1:0] best;
  always_comb begin
    for (int unsigned k = 0; k < Tried; k++) begin
      load[k]   = load_q[k] + cost_i;
      closes[k] = 32'(bank_q[k]) != Banks - 1 && load_q[k] != '0
                  && LIMIT_W'(load[k]) * LIMIT_W'(EQUAL * Banks) > limits_q[k];
      if (closes[k]) load[k] = cost_i;
    end
  end
  always_comb begin
    for (int unsigned k = 0; k < Tried; k++) begin
      least[Tried+k] = worst_q[k];
      best[Tried+k]  = ChosenW'(k);
    end
    for (int unsigned n = Tried - 1; n > 0; n--) begin
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
          load_q[k] <= load[k];
          bank_q[k] <= bank_q[k] + 3'(closes[k]);
        end
        if (load_q[k] > worst_q[k]) worst_q[k] <= load_q[k];
      end
    end
    limit_o <= limits_q[best[1]];
  end
endmodule : jd_sparse_limit
