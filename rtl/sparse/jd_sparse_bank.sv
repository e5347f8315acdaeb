// SPDX-License-Identifier: Apache-2.0
//
// A bank of a core: lanes with their weights, operands, results, and the walk through its units.
//
//   tables -> lists, windows, range of each pass        fill -> X, Y
//   walk: unit, rank -> list of the contracted side -> X -> four slots -> lanes <- weight line
//         of DW, jd_sparse_dw: rows of X, lanes of Y                   -> lanes
//                                                  lanes -> drain -> results -> elem
//                                                        -> jd_sparse_gradient -> optimizer
//
// Streams  table_i, weight_*, x_*, y_*: writes, one each per clock. op_*: operations, in order; done_o
//          is high for one clock when the results of one are all written, in order. read_*: results,
//          by address modulo DrainW. gradient_*: words of gradients, see jd_sparse_gradient.
// Timing   A rank takes four clocks, one for each vector; the drain of a unit runs under the next
//          one, DrainW lanes per clock. A unit of FW or DX takes max(4 * depth, lanes / DrainW)
//          clocks; an operation 4 clocks more, and its last unit Depth + lanes / DrainW. A clock
//          more passes for each window of the bank that lies before that of its first unit.
//          Results show one clock after read_en_i. DW: see jd_sparse_dw; after another DW its first tile is
//          loaded before that one ends, after FW or DX in clocks in which no slot is fetched.
// Numbers  FP16; see jd_sparse_lanes. A window without ranks takes four clocks for its +0.
// Source   LearningGroup III-C, III-D; docs/sparse.md. Golden model: models/sparse/layer.py, forward.
`include "jd_assert.svh"
module jd_sparse_bank
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Index      = 0,     // of the bank, 0..7
  parameter  int unsigned Core       = 0,     // of Cores
  parameter  int unsigned Cores      = 3,     // 1..3
  parameter  int unsigned Lanes      = 33,    // 2..264
  parameter  int unsigned Slots      = 4,     // 2, 4
  parameter  int unsigned Acc        = 64,    // 16, 32, 64
  parameter  int unsigned DMax       = 512,   // 8..512
  parameter  int unsigned LMax       = 8,     // 1..8
  parameter  int unsigned WinMax     = 24,    // 1..31
  parameter  int unsigned WRows      = 4096,
  parameter  int unsigned XRows      = 8192,
  parameter  int unsigned YRows      = 8192,
  parameter  int unsigned RRows      = 4096,
  parameter  int unsigned GRows      = 1024,
  parameter  int unsigned DrainW     = 4,     // 1, 2, 4
  parameter  int unsigned OptLanes   = 6,     // 1..8
  parameter  int unsigned MulLatency = 3,     // 1..4
  parameter  int unsigned AddLatency = 4,     // 1..4
  parameter  int unsigned Add32Latency = 4,   // 1..6
  localparam int unsigned XLines     = (XRows + NEURONS - 1) / NEURONS,
  localparam int unsigned XW         = $clog2(XLines),
  localparam int unsigned YW         = $clog2((YRows + NEURONS - 1) / NEURONS),
  localparam int unsigned Chunks     = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned WordW      = $clog2(GRows * Chunks),
  localparam int unsigned RW         = $clog2(RRows)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           clear_i,         // operations under way are dropped
  input  table_t                         table_i,
  input  weight_begin_t                  weight_begin_i,
  input  logic                           weight_write_i,
  input  logic [Lanes-1:0][HALF_W-1:0]   weight_line_i,
  input  logic                           x_write_i,
  input  logic [XW-1:0]                  x_address_i,     // set on top
  input  logic [LINE_W-1:0]              x_line_i,
  input  logic                           y_write_i,
  input  logic [YW-1:0]                  y_address_i,
  input  logic [LINE_W-1:0]              y_line_i,
  input  logic                           op_valid_i,
  output logic                           op_ready_o,
  input  operation_t                     op_i,
  input  logic [TILES_W-1:0]             op_tiles_i,      // of this core
  output logic                           done_o,
  output logic                           busy_o,          // a multiply-add is under way
  output logic [LANE_W-1:0]              useful_o,        // of it: lanes that have a weight
  output logic                           idle_o,
  input  logic [DrainW-1:0]              read_en_i,
  input  logic [DrainW-1:0][RW-1:0]      read_address_i,  // k of them is k modulo DrainW
  output logic [DrainW-1:0][TUPLE_W-1:0] read_data_o,
  input  logic                           clear_gradients_i,
  output logic                           nonfinite_o,
  input  logic                           gradient_en_i,
  input  logic [LAYER_W-1:0]             gradient_layer_i,
  input  logic [WordW-1:0]               gradient_word_i,
  output logic [OptLanes-1:0][SINGLE_W-1:0] gradient_data_o
);
  localparam int unsigned AccW     = $clog2(Acc);
  localparam int unsigned ChunkW   = (Chunks > 1) ? $clog2(Chunks) : 1;
  localparam int unsigned Windows  = LMax * 2 * WinMax;   // of FW and DX
  localparam int unsigned WindowsW = $clog2(Windows);
  localparam int unsigned Places   = 2 * LMax * DMax;
  localparam int unsigned PlacesW  = $clog2(Places);
  localparam int unsigned Passes   = LMax * 3;
  localparam int unsigned PassW    = $clog2(Passes);
  localparam int unsigned WW       = $clog2(WRows);
  localparam int unsigned RHalf    = RRows / 2;
  localparam int unsigned XHalf    = XLines / 2;
  // Clocks from the fetch of a slot to its multiply-add, and to the sum in the accumulator.
  localparam int unsigned ToLanes  = 6;
  localparam int unsigned ToDrain  = ToLanes + 2 + MulLatency + AddLatency;
  localparam int unsigned DwDrain  = 3 + MulLatency + AddLatency;   // of DW, from its end

  function automatic logic [PassW-1:0] pass_place(input logic [LAYER_W-1:0] layer,
                                                  input pass_e              pass);
    return PassW'(32'(layer) * 3 + 32'(pass));
  endfunction

  logic rst_n;
  assign rst_n = rst_ni && !clear_i;

  // ---- Tables
  range_t range, weight_range;
  jd_mem_lut #(.Depth (Passes), .Width ($bits(range_t)), .Reads (2)) u_ranges (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.range.valid && 32'(table_i.range.bank) == Index),
    .write_addr_i (pass_place(table_i.range.layer, table_i.range.pass)),
    .write_data_i (table_i.range.range),
    .read_addr_i  ({pass_place(weight_begin_i.layer, weight_begin_i.dx ? PassDx : PassFw),
                    pass_place(op_i.number, op_i.pass)}),
    .read_data_o  ({weight_range, range})
  );
  function automatic logic [WindowsW-1:0] window_place(
      input logic [LAYER_W-1:0] layer, input pass_e pass, input logic [WINDOW_W-1:0] number);
    return WindowsW'((32'(layer) * 2 + 32'(pass == PassDx)) * WinMax + 32'(number));
  endfunction
  logic                window_read;
  logic [WindowsW-1:0] window_address;
  window_t             next_window;
  jd_mem_1r1w #(.Depth (Windows), .LaneW ($bits(window_t))) u_windows (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.window.valid && table_i.window.pass != PassDw),
    .write_addr_i (window_place(table_i.window.layer, table_i.window.pass, table_i.window.number)),
    .write_mask_i (1'b1),
    .write_data_i (table_i.window.window),
    .read_en_i    (window_read),
    .read_addr_i  (window_address),
    .read_data_o  (next_window)
  );
  function automatic logic [PlacesW-1:0] list_place(
      input logic columns, input logic [LAYER_W-1:0] layer, input logic [INDEX_W-1:0] place);
    return PlacesW'((32'(columns) * LMax + 32'(layer)) * DMax + 32'(place));
  endfunction
  logic               list_read, fetch, dw_fetch;         // of this walk, of any, of that of DW
  logic [PlacesW-1:0] list_address, dw_place;
  logic [INDEX_W-1:0] contracted;
  logic               contracted_mine;
  jd_mem_1r1w #(.Depth (Places), .LaneW (1 + INDEX_W)) u_list (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.list.valid),
    .write_addr_i (list_place(table_i.list.columns, table_i.list.layer, table_i.list.place)),
    .write_mask_i (1'b1),
    .write_data_i ({table_i.list.mine, table_i.list.index}),
    .read_en_i    (list_read || dw_fetch),
    .read_addr_i  (dw_fetch ? dw_place : list_address),
    .read_data_o  ({contracted_mine, contracted})
  );

  // ---- The walk: units, ranks, vectors
  typedef enum logic [1:0] {StIdle, StFirst, StLoad, StRun} state_e;
  state_e              state_q, state_d;
  operation_t          op_q;
  logic [TILES_W-1:0]  tiles_q;
  range_t              range_q;
  window_t             window_q;
  logic [WINDOW_W-1:0] number_q;        // of the window
  logic [TILES_W-1:0]  tile_q;
  logic [WINDOW_W-1:0] next_number, first_of, from, from_q;   // of the next unit, of the first one
  logic [TILES_W-1:0]  next_tile, from_tile;
  logic [DIM_W-1:0]    rank_q;
  logic [INDEX_W-1:0]  offset_q, stride;   // of the rank's place; from rank to rank
  logic [1:0]          phase_q;
  logic                half_q;          // of the accumulators
  logic [WW-1:0]       weight_q, next_weight, low_q;   // first line of the window, of its pair
  logic [RW-1:0]       result_q;        // where the unit has its results
  logic [TILES_W:0]    missing;            // units of a pair that the operation has not
  logic [TILES_W:0]    skipped, skipped_q; // the same, at its begin
  logic [RW-1:0]       jump_q;          // from a pair's last unit to the next pair's results
  logic                second, pair, last_pair, first_there;
  logic [1:0]          units_q;         // whose accumulators are not free
  logic                unit_begins, unit_ends, frees, last_unit, last_tile, last_rank, fetches;
  logic                op_ends, none, there;
  logic [TILES_W-1:0]  first_tile;
  logic                starts, dw_starts, dw_ready, dw_quiet, dw_runs, dw_idle, dw_begins;
  logic                dw_ends;
  gradient_unit_t      dw_unit;
  logic                quiet;           // no multiply-add of this walk is left
  logic                due;             // an end of this walk that is queued

  assign starts      = op_valid_i && op_ready_o && op_i.pass != PassDw;
  assign dw_starts   = op_valid_i && op_ready_o && op_i.pass == PassDw;
  assign op_ready_o  = op_i.pass == PassDw ? dw_ready : state_q == StIdle && dw_quiet;
  assign last_rank   = rank_q + 1'b1 >= window_q.depth;
  assign last_tile   = tile_q == tiles_q - 1'b1;
  // A window and its partner: `pair` in the first of both.
  assign second      = range_q.paired && number_q[0];
  assign pair        = range_q.paired && !number_q[0] && number_q + 1'b1 != range_q.windows;
  assign last_pair   = range_q.paired ? number_q >> 1 == range_q.last_window >> 1
                                      : number_q == range_q.last_window;
  assign last_unit   = last_pair && (TILES_W'(range_q.last_step) < tiles_q
                                     ? tile_q == TILES_W'(range_q.last_step)
                                       && number_q == range_q.last_window
                                     : last_tile && !pair);
  assign unit_begins = state_q == StRun && rank_q == '0 && phase_q == '0 && !units_q[1];
  assign fetches     = state_q == StRun && (rank_q != '0 || phase_q != '0 || !units_q[1]);
  assign unit_ends   = fetches && phase_q == '1 && last_rank;
  assign first_tile  = TILES_W'(range_q.first_step);
  assign first_there = first_tile < tiles_q;
  assign none        = range_q.empty || tiles_q == '0
                       || (!first_there && range_q.first_window >> range_q.paired
                                           == range_q.last_window >> range_q.paired);
  assign missing     = (TILES_W+1)'(op_q.layer_tiles - tiles_q) << range_q.paired;
  // The operation begins with the range's first unit, or, if it has not that tile, with the next
  // window or pair. Windows from the first whose lines the bank has are read up to there.
  always_comb begin
    first_of = range_q.first_window;
    if (range_q.paired) first_of[0] = 1'b0;
    from      = first_there ? range_q.first_window
                            : first_of + (range_q.paired ? WINDOW_W'(2) : WINDOW_W'(1));
    from_tile = first_there ? first_tile : '0;
    skipped   = '0;
    if (!first_there)
      skipped = ((TILES_W+1)'(op_q.layer_tiles - first_tile) << range_q.paired)
                - (TILES_W+1)'(range_q.first_window - first_of);
  end
  // The unit after this one. Its window is read while this one is computed.
  always_comb begin
    next_number = number_q + 1'b1;
    next_tile   = pair ? tile_q : last_tile ? '0 : tile_q + 1'b1;
    next_weight = weight_q + WW'(window_q.depth);
    if (!pair && !last_tile) begin
      next_number = second ? number_q - 1'b1 : number_q;
      next_weight = low_q;
    end
  end
  assign there          = number_q == from_q;    // the first unit's window
  assign window_read    = state_q == StFirst || (state_q != StIdle && !last_unit);
  assign window_address = window_place(op_q.number, op_q.pass,
                                       state_q == StFirst ? first_of
                                       : state_q == StLoad && !there ? number_q + 1'b1
                                       : next_number);
  always_comb begin
    state_d = state_q;
    op_ends = 1'b0;
    unique case (state_q)
      StIdle: if (starts) state_d = StFirst;
      StFirst: begin
        // No unit, or none of a tile that the operation has: it ends after a DW before it.
        op_ends = none && !dw_runs;
        state_d = !none ? StLoad : op_ends ? StIdle : StFirst;
      end
      StLoad: if (there) state_d = StRun;
      StRun: begin
        op_ends = unit_ends && last_unit;
        if (op_ends) state_d = StIdle;
      end
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) state_q <= StIdle;
    else         state_q <= state_d;
    if (state_q == StIdle) begin
      op_q    <= op_i;
      tiles_q <= op_tiles_i;
      range_q <= range;
    end
    if (state_q == StFirst) begin
      number_q <= first_of;
      from_q   <= from;
      tile_q   <= from_tile;
      weight_q <= WW'(range_q.base);
      skipped_q <= skipped;
    end else if (state_q == StLoad && !there) begin
      number_q <= number_q + 1'b1;
      weight_q <= weight_q + WW'(next_window.depth);
    end else if (unit_ends) begin
      number_q <= next_number;
      tile_q   <= next_tile;
      weight_q <= next_weight;
      result_q <= result_q + (!pair && last_tile ? jump_q : RW'(Lanes));
    end
    if (state_q == StLoad) begin
      jump_q   <= RW'((32'd1 + 32'(missing)) * Lanes);
      result_q <= RW'((op_q.r_set ? RHalf : 0) + 32'(skipped_q) * Lanes);
    end
    if (state_q == StLoad && !second)                           low_q <= weight_q;
    else if (unit_ends && !pair && last_tile)                   low_q <= next_weight;
    if (state_q == StLoad || unit_ends) window_q <= next_window;
    if (state_q != StRun) begin
      rank_q   <= '0;
      offset_q <= '0;
      phase_q  <= '0;
    end else if (fetches) begin
      phase_q <= phase_q + 1'b1;
      if (phase_q == '1) begin
        rank_q   <= last_rank ? '0 : rank_q + 1'b1;
        offset_q <= last_rank ? '0 : offset_q + stride;
      end
    end
    if (!rst_n)                                       half_q <= 1'b0;
    else if (unit_ends || (dw_ends && !dw_unit.none)) half_q <= !half_q;
    if (!rst_n)  units_q <= '0;
    else         units_q <= units_q + 2'(unit_begins || dw_begins) - 2'(frees);
  end
  // In a phase the slot of its number is fetched. Another walk may fetch when in the next one no slot
  // is: what it brings is then in the place of a slot without the rank.
  slot_t slot;
  logic  leaves;
  assign leaves = fetches && phase_q != '1
                  && (32'(phase_q) + 1 >= Slots || rank_q >= window_q.slots[phase_q+1'b1].depth);
  assign slot         = window_q.slots[phase_q];
  assign stride       = (INDEX_W'(window_q.step) + 1'b1) << op_q.split_log2;
  assign list_read    = fetches && 32'(phase_q) < Slots && rank_q < slot.depth;
  assign list_address = list_place(op_q.pass == PassDx, op_q.number,
                                   slot.first + offset_q);

  // ---- X: the operand of a slot, when all four are there for four clocks
  typedef struct packed {
    logic             first;
    window_t          window;
    logic [DIM_W-1:0] rank;
    logic             half;
  } rank_t;
  logic [ToLanes:1]      valid_q;                          // k: fetched k clocks ago
  logic [ToLanes:1][1:0] phases_q;
  logic [XW-1:0]         x_base_q, x_base, dw_base;
  logic                  fetch_q;
  logic [2:0]            neuron_q;
  rank_t                 rank_mid_q;
  lane_slots_t           slots_q2;
  logic                  first_q2, half_q2;
  logic [SLOTS-1:0][LANE_W-1:0] all_lanes;
  logic [WW-1:0]         line_mid_q;
  logic [NEURONS-1:0][TUPLE_W-1:0]           x_line;
  logic [SLOTS-2:0][VECTORS-1:0][HALF_W-1:0] staged_q;
  logic [SLOTS-1:0][VECTORS-1:0][HALF_W-1:0] active_q;
  logic [VECTORS-1:0][HALF_W-1:0]            fetched;
  assign x_base  = XW'((op_q.x_set ? XHalf : 0) + 32'(tile_q) * 32'(op_q.x_lines));
  assign fetched = x_line[neuron_q];
  always_comb begin
    for (int unsigned s = 0; s < SLOTS; s++) all_lanes[s] = rank_mid_q.window.slots[s].lanes;
  end
  assign fetch   = fetches || dw_fetch;
  always_ff @(posedge clk_i) begin
    fetch_q  <= rst_n && fetch;
    valid_q  <= rst_n ? {valid_q[ToLanes-1:1], fetches} : '0;
    phases_q <= {phases_q[ToLanes-1:1], phase_q};
    if (fetch)   x_base_q <= dw_fetch ? dw_base : x_base;
    if (fetch_q) neuron_q <= contracted[2:0];
    if (fetches && phase_q == '1) begin
      rank_mid_q <= '{first: rank_q == '0, window: window_q, rank: rank_q, half: half_q};
      line_mid_q <= weight_q + WW'(rank_q);
    end
    if (valid_q[2]) begin
      for (int unsigned s = 0; s < SLOTS - 1; s++) begin
        if (phases_q[2] == 2'(s)) staged_q[s] <= fetched;
      end
      if (phases_q[2] == '1) begin
        active_q <= {fetched, staged_q};
        slots_q2 <= lane_slots_of(rank_mid_q.window, rank_mid_q.rank, '0, all_lanes);
        first_q2 <= rank_mid_q.first;
        half_q2  <= rank_mid_q.half;
      end
    end
  end
  jd_mem_1r1w #(.Depth (XLines), .LaneW (LINE_W)) u_x (
    .clk_i, .rst_ni,
    .write_en_i   (x_write_i),
    .write_addr_i (x_address_i),
    .write_mask_i (1'b1),
    .write_data_i (x_line_i),
    .read_en_i    (fetch_q),
    .read_addr_i  (x_base_q + XW'(contracted >> 3)),
    .read_data_o  (x_line)
  );

  // ---- Units of DW
  logic                         dw_valid, dw_first;
  lane_slots_t                  dw_slots;
  logic [AccW-1:0]              dw_accumulator;
  logic [Lanes-1:0]             dw_lane_skips;
  logic [Slots-1:0][HALF_W-1:0] dw_x;
  logic [Lanes-1:0][HALF_W-1:0] dw_y;
  logic [3:0]                   pending_q;              // ends of this walk that are not queued
  assign quiet = state_q == StIdle && valid_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_n) pending_q <= '0;
    else        pending_q <= pending_q + 4'(unit_ends || op_ends) - 4'(due);
  end
  jd_sparse_dw #(
    .Lanes (Lanes), .Slots (Slots), .Acc (Acc), .DMax (DMax), .LMax (LMax), .WinMax (WinMax),
    .Core (Core), .Cores (Cores), .XRows (XRows), .YRows (YRows)
  ) u_dw (
    .clk_i,
    .rst_ni            (rst_n),
    .table_i, .y_write_i, .y_address_i, .y_line_i,
    .ready_o           (dw_ready),
    .quiet_o           (dw_quiet),
    .runs_o            (dw_runs),
    .idle_o            (dw_idle),
    .start_i           (dw_starts),
    .op_i,
    .tiles_i           (op_tiles_i),
    .range_i           (range),
    .fetch_ready_i     (state_q == StIdle || leaves),
    .fetch_o           (dw_fetch),
    .fetch_place_o     (dw_place),
    .fetch_base_o      (dw_base),
    .fetched_mine_i    (contracted_mine),
    .fetched_i         (fetched),
    .lanes_ready_i     (quiet),
    .queue_ready_i     (pending_q == '0),
    .half_ready_i      (!units_q[1]),
    .half_i            (half_q),
    .begins_o          (dw_begins),
    .ends_o            (dw_ends),
    .unit_o            (dw_unit),
    .out_valid_o       (dw_valid),
    .out_first_o       (dw_first),
    .out_slots_o       (dw_slots),
    .out_accumulator_o (dw_accumulator),
    .out_lane_skips_o  (dw_lane_skips),
    .out_x_o           (dw_x),
    .out_y_o           (dw_y)
  );

  // ---- Weights: a line for four clocks
  logic [WW-1:0]                weight_write_q;
  logic [Lanes-1:0][HALF_W-1:0] weight_line;
  always_ff @(posedge clk_i) begin
    if (weight_begin_i.valid) weight_write_q <= WW'(weight_range.base);
    else if (weight_write_i)  weight_write_q <= weight_write_q + 1'b1;
  end
  // A line is wider than a lane of the memory may be if a bank has more than 64 lanes.
  localparam int unsigned WeightParts = (Lanes + 63) / 64;
  localparam int unsigned WeightPartW = (Lanes + WeightParts - 1) / WeightParts * HALF_W;
  logic [WeightParts*WeightPartW-1:0] kept_line;
  assign weight_line = kept_line[Lanes*HALF_W-1:0];
  jd_mem_1r1w #(
    .Depth (WRows), .Lanes (WeightParts), .LaneW (WeightPartW), .ReadLatency (2), .Ultra (1'b1)
  ) u_weights (
    .clk_i, .rst_ni,
    .write_en_i   (weight_write_i),
    .write_addr_i (weight_write_q),
    .write_mask_i ('1),
    .write_data_i ((WeightParts * WeightPartW)'(weight_line_i)),
    .read_en_i    (valid_q[4] && phases_q[4] == '0 && rank_mid_q.window.depth != '0),
    .read_addr_i  (line_mid_q),
    .read_data_o  (kept_line)
  );

  // ---- Lanes
  logic [1:0]                     vector;
  logic [Slots-1:0][HALF_W-1:0]   x;
  logic [LANE_W-1:0]              read_lane;
  logic [AccW-3:0]                read_row;
  logic [ChunkW-1:0]              chunk;
  logic [DrainW-1:0][TUPLE_W-1:0] tuples;
  logic [OptLanes-1:0][TUPLE_W-1:0] sums;
  assign vector = phases_q[ToLanes];
  assign busy_o = valid_q[ToLanes] || dw_valid;
  always_comb begin
    for (int unsigned s = 0; s < Slots; s++) x[s] = active_q[s][vector];
  end
  jd_sparse_lanes #(
    .Lanes (Lanes), .Slots (Slots), .Acc (Acc), .DrainW (DrainW), .MulLatency (MulLatency),
    .OptLanes (OptLanes), .AddLatency (AddLatency)
  ) u_lanes (
    .clk_i,
    .rst_ni        (rst_n),
    .valid_i       (busy_o),
    .first_i       (dw_valid ? dw_first : first_q2),
    .slots_i       (dw_valid ? dw_slots : slots_q2),
    .accumulator_i (dw_valid ? dw_accumulator : {half_q2, (AccW - 3)'(0), vector}),
    .lane_skips_i  (dw_valid ? dw_lane_skips : '0),
    .x_i           (dw_valid ? dw_x : x),
    .w_i           (dw_valid ? dw_y : weight_line),
    .useful_o,
    .read_lane_i   (read_lane),
    .read_row_i    (read_row),
    .read_data_o   (tuples),
    .chunk_i       (chunk),
    .chunk_data_o  (sums)
  );

  // ---- The sums of a unit, when the last of them is there
  logic drain_idle;
  jd_sparse_drain #(
    .Lanes (Lanes), .Acc (Acc), .LMax (LMax), .RRows (RRows), .GRows (GRows), .DrainW (DrainW),
    .OptLanes (OptLanes), .ToDrain (ToDrain), .DwDrain (DwDrain), .Add32Latency (Add32Latency)
  ) u_drain (
    .clk_i, .rst_ni, .clear_i,
    .end_i         (unit_ends || op_ends),
    .end_half_i    (half_q),
    .end_lanes_i   (unit_ends ? window_q.lanes : '0),
    .end_address_i (result_q),
    .end_last_i    (op_ends),
    .due_o         (due),
    .dw_i          (dw_ends),
    .dw_unit_i     (dw_unit),
    .frees_o       (frees),
    .done_o,
    .idle_o        (drain_idle),
    .lane_o        (read_lane),
    .row_o         (read_row),
    .chunk_o       (chunk),
    .tuples_i      (tuples),
    .sums_i        (sums),
    .read_en_i, .read_address_i, .read_data_o, .clear_gradients_i, .nonfinite_o, .gradient_en_i,
    .gradient_layer_i, .gradient_word_i, .gradient_data_o
  );
  assign idle_o = state_q == StIdle && dw_idle && units_q == '0 && drain_idle;

  `JD_ASSERT(OneWalk_A, !(valid_q[ToLanes] && dw_valid) && !(list_read && dw_fetch)
                        && !((unit_ends || op_ends) && dw_ends))
endmodule : jd_sparse_bank
