// SPDX-License-Identifier: Apache-2.0
//
// Gives the units of FW and DX to banks: a range of consecutive units each.
//
// Streams  window_*: a window of a pass. start_i begins with the pass dx_i, whose windows are all there;
//          done_o pulses at its end, when another may begin. valid_o: the range of bank_o with its weight
//          lines; in order of the banks. fails_o: a bank would hold more than Held units.
// Timing   Two clocks a unit, one a bank, 3 more: units pass to find the limit, then again. window_*, 2
//          clocks or more before start_i, and clear_i may come while nothing runs.
// Numbers  exact. Units and banks are those of the golden model. A window's cost is its ranks times 4,
//          or the clocks in which its results leave (with plain_i 1). The range's `base` is 0.
// Source   docs/sparse.md (load allocation). Golden model: models/sparse/plan.py, make_pass and assign.
`include "jd_assert.svh"
module jd_sparse_ranges
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Banks  = 8,             // of a core, 1..8
  parameter int unsigned Held   = 62,            // units whose results a bank holds, 1 or more
  parameter int unsigned DrainW = 4              // lanes that leave a bank per clock: 1, 2 or 4
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                clear_i,           // forgets the windows of both passes
  input  logic                plain_i,
  input  logic [TILES_W-1:0]  tiles_i,           // of the layer
  input  logic                window_valid_i,
  input  logic                window_dx_i,
  input  logic [WINDOW_W-1:0] window_number_i,
  input  logic [DIM_W-1:0]    window_depth_i,
  input  logic [LANE_W-1:0]   window_lanes_i,
  input  logic                start_i,
  input  logic                dx_i,
  input  logic [1:0][WINDOW_W-1:0] windows_i,    // how many: 0 of FW, 1 of DX
  output logic                done_o,
  output logic                fails_o,
  output logic                valid_o,
  output logic [2:0]          bank_o,
  output range_t              range_o,
  output logic [LINES_W-1:0]  lines_o
);
  localparam int unsigned UnitsW = UNIT_W + 1;
  localparam int unsigned HeldW  = 16;
  if (Banks < 1 || Banks > 8 || Held < 1 || (DrainW != 1 && DrainW != 2 && DrainW != 4))
  begin : gen_bad_size
    $fatal(1, "jd_sparse_ranges: Banks=%0d, want 1..8, Held=%0d, want 1 or more, DrainW=%0d", Banks,
           Held, DrainW);
  end

  // ---- Costs of the windows
  typedef struct packed {
    logic [DIM_W+1:0] key;
    logic [DIM_W-1:0] depth;
  } kept_t;
  typedef struct packed {
    logic [WINDOW_W-1:0] window;
    logic [TILE_W-1:0]   tile;
  } unit_t;
  unit_t               unit_q, unit_d;
  logic                dx_q;                     // the pass
  kept_t               kept, partner;
  logic [DIM_W+1:0]    key;
  logic [COST_W-1:0]   share_q [2];              // of all units
  logic                added_q, added_dx_q;      // a window's key that is added to them
  logic [DIM_W+1:0]    added_key_q;
  always_comb begin
    logic [LANE_W-1:0] drain;
    drain = LANE_W'((32'(window_lanes_i) + DrainW - 1) / DrainW);
    key   = {window_depth_i, 2'b00};
    if ((DIM_W+2)'(drain) > key) key = (DIM_W+2)'(drain);
    if (plain_i) key = (DIM_W+2)'(1);
  end
  always_ff @(posedge clk_i) begin
    added_q     <= window_valid_i && !clear_i;
    added_dx_q  <= window_dx_i;
    added_key_q <= key;
    if (clear_i) begin
      for (int unsigned k = 0; k < 2; k++) share_q[k] <= '0;
    end else if (added_q) begin
      share_q[added_dx_q] <= share_q[added_dx_q] + COST_W'(added_key_q) * COST_W'(tiles_i);
    end
  end
  jd_mem_lut #(.Depth (64), .Width ($bits(kept_t)), .Reads (2)) u_kept (
    .clk_i, .rst_ni,
    .write_en_i   (window_valid_i),
    .write_addr_i ({window_dx_i, window_number_i}),
    .write_data_i ({key, window_depth_i}),
    .read_addr_i  ({dx_q, unit_q.window ^ WINDOW_W'(1), dx_q, unit_q.window}),
    .read_data_o  ({partner, kept})
  );

  // ---- Units in order: of a pair of windows tile by tile, or of a window
  logic                run_q, second_q;          // second: the limit is known
  logic                paired_q, pair, last_tile, moves, restarts, ended, taken, valid_q;
  logic [UnitsW-1:0]   all_units, units_q;       // of the pass
  logic [UnitsW-1:0]   moved_q, left_q;          // those that came, that are not taken
  logic [WINDOW_W-1:0] windows_q;
  unit_t               now_unit_q;
  logic [DIM_W+1:0]    key_q;
  logic [LINES_W-1:0]  unit_lines_q;
  logic                first, first_q;           // of its window or pair
  assign all_units  = UnitsW'(windows_i[dx_i]) * UnitsW'(tiles_i);
  assign pair       = paired_q && (unit_q.window[0] || unit_q.window + 1'b1 != windows_q);
  assign last_tile  = TILES_W'(unit_q.tile) + 1'b1 == tiles_i;
  assign first      = unit_q.tile == '0 && !(pair && unit_q.window[0]);
  assign moves      = run_q && moved_q != units_q && (!valid_q || taken);
  assign ended      = moved_q == units_q && !valid_q;
  assign restarts   = run_q && !second_q && ended;
  always_comb begin
    unit_d = unit_q;
    if (pair && !unit_q.window[0]) begin
      unit_d.window[0] = 1'b1;
    end else begin
      unit_d.tile = last_tile ? '0 : unit_q.tile + 1'b1;
      if (last_tile) unit_d.window = unit_q.window + 1'b1;
      else if (pair) unit_d.window[0] = 1'b0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                run_q <= 1'b0;
    else if (start_i)           run_q <= 1'b1;
    else if (done_o || fails_o) run_q <= 1'b0;
    if (start_i) begin
      dx_q      <= dx_i;
      windows_q <= windows_i[dx_i];
      units_q   <= all_units;
      paired_q  <= 32'(all_units) >= 2 * Banks && !plain_i;
    end
    if (start_i)       second_q <= 1'b0;
    else if (restarts) second_q <= 1'b1;
    if (!rst_ni || start_i || restarts) valid_q <= 1'b0;
    else if (moves)                     valid_q <= 1'b1;
    else if (taken)                     valid_q <= 1'b0;
    if (start_i || restarts) begin
      unit_q  <= '0;
      moved_q <= '0;
    end else if (moves) begin
      unit_q  <= unit_d;
      moved_q <= moved_q + 1'b1;
    end
    if (moves) begin
      now_unit_q   <= unit_q;
      key_q        <= kept.key;
      unit_lines_q <= LINES_W'(kept.depth) + (pair ? LINES_W'(partner.depth) : '0);
      first_q      <= first;
    end
  end

  // ---- Banks
  logic [LIMIT_W-1:0] limit;
  logic [COST_W-1:0]  load_q;                    // of this bank, with the unit in turn
  logic [2:0]         bank_q;
  logic [HeldW-1:0]   held_q, after_q;           // units of this bank, room in those after it
  logic [LINES_W-1:0] lines_q;
  logic               over, holds;
  range_t             now_q;
  jd_sparse_limit #(.Banks (Banks)) u_limit (
    .clk_i,
    .start_i (start_i),
    .total_i (share_q[dx_i]),
    .unit_i  (valid_q && !second_q),
    .cost_i  (COST_W'(key_q)),
    .limit_o (limit)
  );
  assign holds   = 32'(held_q) == Held;
  assign over    = 32'(bank_q) != Banks - 1 && held_q != '0
                   && HeldW'(left_q) <= after_q
                   && (LIMIT_W'(load_q) * LIMIT_W'(EQUAL * Banks) > limit || holds);
  assign taken   = valid_q && !(second_q && over);
  assign valid_o = run_q && second_q && (ended || (valid_q && over));
  assign done_o  = run_q && second_q && ended && 32'(bank_q) == Banks - 1;
  assign fails_o = run_q && second_q && valid_q && !over && holds;
  assign bank_o  = bank_q;
  assign lines_o = lines_q;
  always_comb begin
    range_o = now_q;
    if (now_q.empty) begin
      range_o.first_window = '0;
      range_o.first_step   = '0;
    end
    range_o.paired  = paired_q;
    range_o.windows = windows_q;
  end
  always_ff @(posedge clk_i) begin
    if (start_i || restarts) begin
      left_q   <= start_i ? all_units : units_q;
      bank_q   <= '0;
      held_q   <= '0;
      after_q  <= HeldW'((Banks - 1) * Held);
      lines_q  <= '0;
      now_q    <= '{empty: 1'b1, default: '0};
    end else if (valid_o) begin
      bank_q   <= bank_q + 1'b1;
      held_q   <= '0;
      after_q  <= after_q - HeldW'(Held);
      lines_q  <= '0;
      now_q    <= '{empty: 1'b1, first_unit: UNIT_W'(units_q - left_q), default: '0};
    end else if (taken) begin
      left_q  <= left_q - 1'b1;
      held_q  <= held_q + 1'b1;
      if (first_q || now_q.empty) lines_q <= lines_q + unit_lines_q;
      if (now_q.empty) begin
        now_q.first_window <= now_unit_q.window;
        now_q.first_step   <= 7'(now_unit_q.tile);
      end
      now_q.empty       <= 1'b0;
      now_q.last_window <= now_unit_q.window;
      now_q.last_step   <= 7'(now_unit_q.tile);
    end
    if (start_i || restarts) load_q <= '0;
    else if (valid_o)        load_q <= COST_W'(key_q);
    else if (moves)          load_q <= load_q + COST_W'(kept.key);
  end

  `JD_ASSUME_NEXT(LayerFixed_M, run_q && !done_o, $stable(tiles_i) && $stable(plain_i))
endmodule : jd_sparse_ranges
