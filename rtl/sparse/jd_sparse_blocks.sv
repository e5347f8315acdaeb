// SPDX-License-Identifier: Apache-2.0
//
// Plans the units of dW for one size of blocks: gives windows' blocks of ranks to banks.
//
// Streams  start_i begins; done_o from the end to the next start. window_o asks for a window of the
//          table; bank_i for a bank's units, in the same clock.
// Timing   All units pass three times, one per clock: for the sum of their costs, for the limit of a
//          bank, and for the banks. A pass takes one clock more for each window without ranks, and 2
//          more; the third one more for each bank.
// Numbers  costs and sums are exact integers. A unit goes to the next bank if this one would pass the
//          limit (jd_sparse_limit); with plain_i all units cost 1.
// Source   docs/sparse.md (load allocation). Golden model: models/sparse/plan.py, gradient_units and
//          assign.
`include "jd_assert.svh"
module jd_sparse_blocks
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Banks = 8,             // of a core, 1..8
  parameter  int unsigned Block = 32             // ranks of a unit: 4, 8, 16 or 32
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  input  logic                plain_i,
  input  logic [WINDOW_W-1:0] windows_i,         // how many
  output logic [WINDOW_W-1:0] window_o,
  input  depths_t             depths_i,          // of window_o
  output logic                done_o,
  output logic [COST_W-1:0]   worst_o,           // clocks of the busiest bank for a tile
  input  logic [2:0]          bank_i,
  output blocks_t             blocks_o
);
  if (Banks < 1 || Banks > 8 || (Block != 4 && Block != 8 && Block != 16 && Block != 32))
  begin : gen_bad_size
    $fatal(1, "jd_sparse_blocks: Banks=%0d, want 1..8, Block=%0d, want 4, 8, 16 or 32",
           Banks, Block);
  end
  localparam int unsigned UnitCostW = 9;                 // at most lanes: 264

  // ---- Units, one after the other
  logic                 walk_q, third_q, valid_q, taken, restart, move;
  logic                 second_q;
  logic [DIM_W-1:0]     rank_q;
  logic [6:0]           step_q;
  logic [WINDOW_W-1:0]  unit_window_q;
  logic [6:0]           unit_step_q;
  logic [UnitCostW-1:0] cost, unit_cost_q, unit_key_q;
  logic [5:0]           ranks, unit_ranks_q;
  logic                 some, last_block;
  function automatic logic [5:0] in_block(input logic [DIM_W-1:0] depth,
                                          input logic [DIM_W-1:0] from);
    logic [DIM_W-1:0] left;
    left = depth - from;
    return depth <= from ? '0 : left >= DIM_W'(Block) ? 6'(Block) : 6'(left);
  endfunction
  assign some       = depths_i.depth > rank_q;
  assign last_block = 32'(rank_q) + Block >= 32'(depths_i.depth);
  assign ranks      = in_block(depths_i.depth, rank_q);
  always_comb begin
    cost = (ranks < 6'd4) ? UnitCostW'(4 * VECTORS) : {1'b0, ranks, 2'b00};
    if (UnitCostW'(depths_i.lanes) > cost) cost = UnitCostW'(depths_i.lanes);
  end
  assign move    = walk_q && window_o != windows_i && (!valid_q || taken);
  assign restart = start_i || (walk_q && !third_q && window_o == windows_i && !valid_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= 1'b0;
    else if (start_i) valid_q <= 1'b0;
    else if (move)    valid_q <= some;
    else if (taken)   valid_q <= 1'b0;
    if (restart) begin
      window_o <= '0;
      rank_q   <= '0;
      step_q   <= '0;
    end else if (move) begin
      if (last_block) window_o <= window_o + 1'b1;
      rank_q <= last_block ? '0 : rank_q + DIM_W'(Block);
      step_q <= last_block ? '0 : step_q + 1'b1;
    end
    if (move) begin
      unit_window_q <= window_o;
      unit_step_q   <= step_q;
      unit_cost_q   <= cost;
      unit_key_q    <= plain_i ? UnitCostW'(1) : cost;
      unit_ranks_q  <= ranks;
    end
  end

  // ---- Banks
  logic [COST_W-1:0]  total_q, key_load_q, load_q;       // load: clocks, with plain_i not units
  logic [LIMIT_W-1:0] limit;
  logic [2:0]         bank_q;
  logic               over, ends, next;
  blocks_t            now_q;
  blocks_t            kept_q [Banks];
  assign over     = bank_q != 3'(Banks - 1) && key_load_q != '0
                    && LIMIT_W'(key_load_q + COST_W'(unit_key_q)) * LIMIT_W'(EQUAL * Banks) > limit;
  assign taken    = valid_q && walk_q && !(third_q && over);
  assign ends     = walk_q && third_q && window_o == windows_i && !valid_q;
  assign next     = ends || (walk_q && third_q && valid_q && over);
  jd_sparse_limit #(.Banks (Banks)) u_limit (
    .clk_i,
    .start_i (restart && !second_q),
    .total_i (total_q),
    .unit_i  (taken && second_q && !third_q),
    .cost_i  (COST_W'(unit_key_q)),
    .limit_o (limit)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      walk_q <= 1'b0;
      done_o <= 1'b0;
    end else if (start_i) begin
      walk_q <= 1'b1;
      done_o <= 1'b0;
    end else if (ends) begin
      walk_q <= 1'b0;
      done_o <= 1'b1;
    end
    if (start_i) {third_q, second_q} <= 2'b00;
    else if (restart) {third_q, second_q} <= {second_q, 1'b1};
    if (start_i) total_q <= '0;
    else if (taken && !second_q) total_q <= total_q + COST_W'(unit_key_q);
    if (restart) begin
      key_load_q <= '0;
      load_q     <= '0;
      worst_o    <= '0;
      bank_q     <= '0;
      now_q      <= '{empty: 1'b1, default: '0};
      for (int unsigned b = 0; b < Banks; b++) kept_q[b] <= '{empty: 1'b1, default: '0};
    end else if (next) begin
      if (load_q > worst_o) worst_o <= load_q;
      key_load_q    <= '0;
      load_q        <= '0;
      bank_q        <= bank_q + 1'b1;
      now_q         <= '{empty: 1'b1, default: '0};
      for (int unsigned b = 0; b < Banks; b++) begin
        if (bank_q == 3'(b)) kept_q[b] <= now_q;
      end
    end else if (taken && third_q) begin
      key_load_q <= key_load_q + COST_W'(unit_key_q);
      load_q     <= load_q + COST_W'(unit_cost_q);
      if (now_q.empty) begin
        now_q.first_window <= unit_window_q;
        now_q.first_step   <= unit_step_q;
      end
      now_q.empty       <= 1'b0;
      now_q.last_window <= unit_window_q;
      now_q.last_step   <= unit_step_q;
      now_q.lines       <= now_q.lines + LINES_W'(unit_ranks_q);
    end
  end
  always_comb begin
    blocks_o = '0;
    for (int unsigned b = 0; b < Banks; b++) begin
      if (bank_i == 3'(b)) blocks_o = kept_q[b];
    end
  end

  `JD_ASSUME_NEXT(WindowsFixed_M, walk_q, $stable(windows_i) && $stable(plain_i))
endmodule : jd_sparse_blocks
