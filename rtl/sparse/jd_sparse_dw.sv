// SPDX-License-Identifier: Apache-2.0
//
// Walks through a bank's units of DW: brings rows of X and lanes of Y, and tells the lanes what to
// multiply.
//
//   windows -> load: lists -> X, Y -> two sets of operands -> compute -> lanes
//                                                                     -> unit_o, for the gradients
//
// Streams  table_i, y_*: writes. start_i: an operation, while ready_o. fetch_*: a place of the list of
//          contracted indices, while fetch_ready_i; fetched_mine_i of it one clock later, the operand of
//          its neuron in fetched_i two clocks later. out_*: a multiply-add of the lanes. A pipe: valid only, no stall.
// Timing   A tile of a unit takes max(4 * max(ranks, 4), lanes, rows of all slots) clocks: the next
//          one is loaded meanwhile, that of the next operation too. quiet_o: the last one is computed, and
//          ends in at most three clocks.
// Numbers  bits, unchanged. The order of a sum's products is tile by tile, vector by vector. In ROW
//          split a core skips the rows of other cores: ranks, or lanes if the layer has `tr`.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/layer.py, weight_gradient.
`include "jd_assert.svh"
module jd_sparse_dw
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Lanes   = 33,    // 2..264
  parameter  int unsigned Slots   = 4,     // 2, 4
  parameter  int unsigned Acc     = 64,    // 16, 32, 64
  parameter  int unsigned DMax    = 512,   // 8..512
  parameter  int unsigned LMax    = 8,     // 1..8
  parameter  int unsigned WinMax  = 24,    // 1..31
  parameter  int unsigned Core    = 0,     // of Cores
  parameter  int unsigned Cores   = 3,     // 1..3
  parameter  int unsigned XRows   = 8192,
  parameter  int unsigned YRows   = 8192,
  localparam int unsigned XLines  = (XRows + NEURONS - 1) / NEURONS,
  localparam int unsigned XW      = $clog2(XLines),
  localparam int unsigned YLines  = (YRows + NEURONS - 1) / NEURONS,
  localparam int unsigned YW      = $clog2(YLines),
  localparam int unsigned PlacesW = $clog2(2 * LMax * DMax),
  localparam int unsigned AccW    = $clog2(Acc)
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  input  table_t                                   table_i,
  input  logic                                     y_write_i,
  input  logic [YW-1:0]                            y_address_i,    // set on top
  input  logic [LINE_W-1:0]                        y_line_i,
  output logic                                     ready_o,
  output logic                                     quiet_o,
  output logic                                     runs_o,         // a step is computed
  output logic                                     idle_o,
  input  logic                                     start_i,
  input  operation_t                               op_i,
  input  logic [TILES_W-1:0]                       tiles_i,        // of this core
  input  range_t                                   range_i,
  input  logic                                     fetch_ready_i,
  output logic                                     fetch_o,
  output logic [PlacesW-1:0]                       fetch_place_o,
  output logic [XW-1:0]                            fetch_base_o,   // line of the tile
  input  logic                                     fetched_mine_i,
  input  logic [VECTORS-1:0][HALF_W-1:0]           fetched_i,
  input  logic                                     lanes_ready_i,  // they do nothing else
  input  logic                                     queue_ready_i,  // nor will anything else end
  input  logic                                     half_ready_i,   // accumulators for a unit
  input  logic                                     half_i,         // which
  output logic                                     begins_o,       // a unit
  output logic                                     ends_o,         // a unit, or an empty operation
  output gradient_unit_t                           unit_o,         // that ends
  output logic                                     out_valid_o,
  output logic                                     out_first_o,
  output lane_slots_t                              out_slots_o,
  output logic [AccW-1:0]                          out_accumulator_o,
  output logic [Lanes-1:0]                         out_lane_skips_o,  // they are another core's
  output logic [Slots-1:0][HALF_W-1:0]             out_x_o,
  output logic [Lanes-1:0][HALF_W-1:0]             out_y_o
);
  localparam int unsigned Windows  = LMax * WinMax;
  localparam int unsigned WindowsW = (Windows > 1) ? $clog2(Windows) : 1;
  localparam int unsigned XHalf    = XLines / 2;
  localparam int unsigned YHalf    = YLines / 2;
  localparam int unsigned SlotW    = $clog2(Slots);
  localparam int unsigned BLOCK_W  = $clog2(BLOCK) + 1;   // ranks of a unit, 1..32
  localparam int unsigned RANK_W   = $clog2(BLOCK);
  localparam int unsigned ARRIVES  = 3;    // clocks from a request to the last write of an operand
  localparam int unsigned FREES    = 4;    // clocks before its end that a set may be loaded again

  function automatic logic [PlacesW-1:0] list_place(
      input logic columns, input logic [LAYER_W-1:0] layer, input logic [INDEX_W-1:0] place);
    return PlacesW'((32'(columns) * LMax + 32'(layer)) * DMax + 32'(place));
  endfunction

  // ---- Windows of DW
  logic                window_read;
  logic [WindowsW-1:0] window_address;
  window_t             next_window;
  jd_mem_1r1w #(.Depth (Windows), .LaneW ($bits(window_t))) u_windows (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.window.valid && table_i.window.pass == PassDw),
    .write_addr_i (WindowsW'(32'(table_i.window.layer) * WinMax + 32'(table_i.window.number))),
    .write_mask_i (1'b1),
    .write_data_i (table_i.window.window),
    .read_en_i    (window_read),
    .read_addr_i  (window_address),
    .read_data_o  (next_window)
  );

  // ---- Load: a tile of a unit is a step
  typedef enum logic [1:0] {StIdle, StFirst, StWindow, StStep} state_e;
  typedef struct packed {
    logic               none;           // an operation without units
    logic               first;          // of the unit's tiles
    logic               last;
    logic               ends;           // the operation, with this step
    window_t            window;
    logic [DIM_W-1:0]   rank;           // first one of the unit
    logic [BLOCK_W-1:0] ranks;
    logic [G_LINE_W-1:0] line;
    logic [LAYER_W-1:0] layer;
  } step_t;
  state_e              state_q, state_d;
  operation_t          op_q;
  logic [TILES_W-1:0]  tiles_q, tile_q;
  range_t              range_q;
  window_t             window_q;
  logic [WINDOW_W-1:0] number_q, ahead;        // of the window
  logic [6:0]          block_q;                // of the window
  logic [G_LINE_W-1:0] line_q;
  logic [DIM_W-1:0]    from_rank_q, past;      // first of the block, first of the next
  logic [DIM_W-1:0]    first_next;             // first of a block of the next window
  logic [BLOCK_W-1:0]  size_q, ranks;          // of a block; of this one
  logic [Slots-1:0][BLOCK_W-1:0] counts_q;     // ranks of each slot
  logic [1:0]          sets_q;                 // that hold a step
  logic                set_q, frees, active_q, none, stepping, step_ends, pushes;
  logic                last_tile, last_block_q, last_unit, advances, skips;
  function automatic logic [BLOCK_W-1:0] in_block(
      input logic [DIM_W-1:0] depth, input logic [DIM_W-1:0] from, input logic [BLOCK_W-1:0] most);
    logic [DIM_W-1:0] left;
    left = depth - from;
    return depth <= from ? '0 : left >= DIM_W'(most) ? most : BLOCK_W'(left);
  endfunction
  assign ready_o    = state_q == StIdle;
  assign past       = from_rank_q + DIM_W'(size_q);
  assign ranks      = in_block(window_q.depth, from_rank_q, size_q);
  assign last_tile  = tile_q == tiles_q - 1'b1;
  assign first_next = advances ? '0 : from_rank_q;
  assign last_unit  = number_q == range_q.last_window && block_q == range_q.last_step;
  assign none       = state_q == StFirst && (range_q.empty || tiles_q == '0);
  assign skips      = state_q == StStep && window_q.depth == '0;
  assign stepping   = state_q == StStep && !skips && (active_q || !sets_q[1]);
  assign advances   = skips || (step_ends && last_tile && last_block_q && !last_unit);
  assign ahead      = advances ? number_q + WINDOW_W'(2) : number_q + 1'b1;
  // A window is there one clock after its address, and stays until the next is asked for.
  assign window_read = state_q == StFirst
                       || ((state_q == StWindow || advances) && ahead <= range_q.last_window);
  assign window_address = WindowsW'(32'(op_q.number) * WinMax
                                    + 32'(state_q == StFirst ? range_q.first_window : ahead));
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:   if (start_i) state_d = StFirst;
      StFirst:  if (!none)            state_d = StWindow;
                else if (!sets_q[1])  state_d = StIdle;
      StWindow: state_d = StStep;
      StStep:   if (step_ends && last_tile && last_unit) state_d = StIdle;
      default:  state_d = StIdle;
    endcase
  end
  // The two sides of a step: an entry of X and one of Y per clock
  logic               x_done_q, y_done_q, x_asks, y_asks, x_ends, y_ends, x_more, y_more;
  logic [SlotW-1:0]   x_slot, x_slot_q, x_next, y_slot_q;
  logic [RANK_W-1:0]  x_rank_q;
  logic [LANE_W-1:0]  y_lane_q, y_of_slot_q;
  slot_t              x_of, y_of;
  always_comb begin                              // the first slot from x_slot_q on that has ranks
    x_slot = x_slot_q;
    for (int s = int'(Slots) - 1; s >= 0; s--) begin
      if (SlotW'(s) >= x_slot_q && counts_q[s] != '0) x_slot = SlotW'(s);
    end
    x_next = x_slot;
    x_more = 1'b0;
    for (int s = int'(Slots) - 1; s >= 0; s--) begin
      if (SlotW'(s) > x_slot && counts_q[s] != '0) begin
        x_next = SlotW'(s);
        x_more = 1'b1;
      end
    end
  end
  assign x_of      = window_q.slots[x_slot];
  assign y_of      = window_q.slots[y_slot_q];
  assign x_asks    = stepping && !x_done_q && fetch_ready_i;
  assign y_asks    = stepping && !y_done_q;
  assign x_ends    = x_asks && BLOCK_W'(x_rank_q) + 1'b1 == counts_q[x_slot] && !x_more;
  assign y_more    = y_lane_q + 1'b1 != window_q.lanes;
  assign y_ends    = y_asks && !y_more;
  assign step_ends = stepping && (x_done_q || x_ends) && (y_done_q || y_ends);
  assign pushes    = step_ends || (none && !sets_q[1]);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    if (start_i) begin
      op_q    <= op_i;
      tiles_q <= tiles_i;
      range_q <= range_i;
    end
    if (state_q == StFirst) begin
      number_q <= range_q.first_window;
      block_q  <= range_q.first_step;
      size_q   <= BLOCK_W'(4) << range_q.block;
      from_rank_q <= DIM_W'(range_q.first_step) << (3'(range_q.block) + 3'd2);
      line_q   <= G_LINE_W'(range_q.base);
      tile_q   <= '0;
    end else if (skips) begin
      number_q <= number_q + 1'b1;
      block_q  <= '0;
      from_rank_q <= '0;
    end else if (step_ends) begin
      tile_q <= last_tile ? '0 : tile_q + 1'b1;
      if (last_tile) begin
        line_q  <= line_q + G_LINE_W'(ranks);
        block_q <= last_block_q ? '0 : block_q + 1'b1;
        from_rank_q <= last_block_q ? '0 : past;
        if (last_block_q) number_q <= number_q + 1'b1;
      end
    end
    if (state_q == StWindow || advances) begin
      window_q     <= next_window;
      last_block_q <= first_next + DIM_W'(size_q) >= next_window.depth;
      for (int unsigned s = 0; s < Slots; s++)
        counts_q[s] <= in_block(next_window.slots[s].depth, first_next, size_q);
    end else if (step_ends && last_tile) begin
      last_block_q <= past + DIM_W'(size_q) >= window_q.depth;
      for (int unsigned s = 0; s < Slots; s++)
        counts_q[s] <= in_block(window_q.slots[s].depth, past, size_q);
    end
    if (!rst_ni) begin
      active_q <= 1'b0;
      x_done_q <= 1'b0;
      y_done_q <= 1'b0;
    end else begin
      active_q <= stepping && !step_ends;
      x_done_q <= !step_ends && (x_done_q || x_ends);
      y_done_q <= !step_ends && (y_done_q || y_ends);
    end
    if (step_ends || !stepping) begin
      x_slot_q    <= '0;
      x_rank_q    <= '0;
      y_slot_q    <= '0;
      y_lane_q    <= '0;
      y_of_slot_q <= '0;
    end else begin
      if (x_asks) begin
        x_rank_q <= x_rank_q + 1'b1;
        x_slot_q <= x_slot;
        if (BLOCK_W'(x_rank_q) + 1'b1 == counts_q[x_slot]) begin
          x_rank_q <= '0;
          x_slot_q <= x_next;
        end
      end
      if (y_asks) begin
        y_lane_q    <= y_lane_q + 1'b1;
        y_of_slot_q <= y_of_slot_q + 1'b1;
        if (y_of_slot_q + 1'b1 == y_of.lanes) begin
          y_of_slot_q <= '0;
          y_slot_q    <= y_slot_q + 1'b1;
        end
      end
    end
    if (!rst_ni) begin
      sets_q <= '0;
      set_q  <= 1'b0;
    end else begin
      sets_q <= sets_q + 2'((stepping && !active_q) || (none && !sets_q[1])) - 2'(frees);
      if (pushes) set_q <= !set_q;
    end
  end

  // ---- Operands on their way: request 1, index 2, line 3
  typedef struct packed {
    logic              set;
    logic [SlotW-1:0]  slot;
    logic [RANK_W-1:0] rank;
  } x_place_t;
  typedef struct packed {
    logic              set;
    logic [LANE_W-1:0] lane;
    logic [SlotW-1:0]  slot;
    logic              first;            // lane of the slot
  } y_place_t;
  logic [ARRIVES:1]     x_valid_q, y_valid_q, there_q;
  x_place_t [ARRIVES:1] x_place_q;
  y_place_t [ARRIVES:1] y_place_q;
  logic [PlacesW-1:0]   y_list_q;
  logic [YW-1:0]        y_base_q, y_base_q2;
  logic [2:0]           y_neuron_q;
  typedef struct packed {
    logic               row;                    // in ROW split these are rows
    logic               contiguous;
    logic [INDEX_W-1:0] place;
  } owner_t;
  logic [INDEX_W-1:0]   x_at, y_at;             // places in the lists
  owner_t [2:1]         x_owner_q, y_owner_q;
  logic                 x_skips_q, y_skips_q, produced_mine;
  function automatic logic of_other(input owner_t one, input logic mine);
    return one.row && !(one.contiguous ? mine : owner_of(one.place, Cores) == 2'(Core));
  endfunction
  logic [INDEX_W-1:0]   produced;
  logic [NEURONS-1:0][TUPLE_W-1:0] y_line;
  assign fetch_o = x_valid_q[1];
  assign x_at    = x_of.first + INDEX_W'(from_rank_q) + INDEX_W'(x_rank_q);
  assign y_at    = y_of.produced + INDEX_W'(y_of_slot_q);
  always_ff @(posedge clk_i) begin
    x_valid_q <= rst_ni ? {x_valid_q[ARRIVES-1:1], x_asks} : '0;
    y_valid_q <= rst_ni ? {y_valid_q[ARRIVES-1:1], y_asks} : '0;
    there_q   <= rst_ni ? {there_q[ARRIVES-1:1], pushes} : '0;
    x_place_q <= {x_place_q[ARRIVES-1:1], x_place_t'({set_q, x_slot, x_rank_q})};
    y_place_q <= {y_place_q[ARRIVES-1:1],
                  y_place_t'({set_q, y_lane_q, y_slot_q, y_of_slot_q == '0})};
    x_owner_q <= {x_owner_q[1], owner_t'({op_q.row && !op_q.tr, op_q.contiguous, x_at})};
    y_owner_q <= {y_owner_q[1], owner_t'({op_q.row && op_q.tr, op_q.contiguous, y_at})};
    x_skips_q <= of_other(x_owner_q[2], fetched_mine_i);
    y_skips_q <= of_other(y_owner_q[2], produced_mine);
    fetch_place_o <= list_place(op_q.tr, op_q.number, x_at);
    fetch_base_o  <= XW'((op_q.x_set ? XHalf : 0) + 32'(tile_q) * 32'(op_q.x_lines));
    y_list_q      <= list_place(!op_q.tr, op_q.number, y_at);
    y_base_q      <= YW'((op_q.y_set ? YHalf : 0) + 32'(tile_q) * 32'(op_q.y_lines));
    y_base_q2     <= y_base_q;
    if (y_valid_q[2]) y_neuron_q <= produced[2:0];
  end
  jd_mem_1r1w #(.Depth (2 * LMax * DMax), .LaneW (1 + INDEX_W)) u_list (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.list.valid),
    .write_addr_i (list_place(table_i.list.columns, table_i.list.layer, table_i.list.place)),
    .write_mask_i (1'b1),
    .write_data_i ({table_i.list.mine, table_i.list.index}),
    .read_en_i    (y_valid_q[1]),
    .read_addr_i  (y_list_q),
    .read_data_o  ({produced_mine, produced})
  );
  jd_mem_1r1w #(.Depth (YLines), .LaneW (LINE_W)) u_y (
    .clk_i, .rst_ni,
    .write_en_i   (y_write_i),
    .write_addr_i (y_address_i),
    .write_mask_i (1'b1),
    .write_data_i (y_line_i),
    .read_en_i    (y_valid_q[2]),
    .read_addr_i  (y_base_q2 + YW'(produced >> 3)),
    .read_data_o  (y_line)
  );
  // Sets of operands: rows of each slot, tuples of each lane
  logic [RANK_W:0]                               read_place;
  logic [Slots-1:0][VECTORS-1:0][HALF_W-1:0]     x_read;
  logic [Slots-1:0]                              x_skips;
  logic [1:0][Lanes-1:0]                         y_skip_sets_q;
  logic [1:0][Slots-1:0][LANE_W-1:0]             takes_q;        // lanes of a slot
  logic [1:0][Lanes-1:0][VECTORS-1:0][HALF_W-1:0] y_sets_q;
  for (genvar s = 0; s < Slots; s++) begin : gen_rows
    jd_mem_lut #(.Depth (2 * BLOCK), .Width (1 + TUPLE_W)) u_rows (
      .clk_i, .rst_ni,
      .write_en_i   (x_valid_q[ARRIVES] && x_place_q[ARRIVES].slot == SlotW'(s)),
      .write_addr_i ({x_place_q[ARRIVES].set, x_place_q[ARRIVES].rank}),
      .write_data_i ({x_skips_q, fetched_i}),
      .read_addr_i  (read_place),
      .read_data_o  ({x_skips[s], x_read[s]})
    );
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      if (y_valid_q[ARRIVES] && y_place_q[ARRIVES].lane == LANE_W'(i)) begin
        y_sets_q[y_place_q[ARRIVES].set][i]      <= y_line[y_neuron_q];
        y_skip_sets_q[y_place_q[ARRIVES].set][i] <= y_skips_q;
      end
    end
    for (int unsigned s = 0; s < Slots; s++) begin
      if (y_valid_q[ARRIVES] && y_place_q[ARRIVES].slot == SlotW'(s)) begin
        takes_q[y_place_q[ARRIVES].set][s]
            <= LANE_W'(!y_skips_q)
               + (y_place_q[ARRIVES].first ? '0 : takes_q[y_place_q[ARRIVES].set][s]);
      end
    end
  end

  // ---- Compute: steps in their order
  step_t              pushed, step;
  logic               step_valid, room;
  logic [2:0]         unused_count;
  logic [1:0]         loaded_q;               // steps whose operands are there
  logic               mid_q, from_q, runs, last_rank, last_clock, early;
  logic [1:0]         vector_q;
  logic [RANK_W-1:0]  rank_q;
  logic [BLOCK_W-1:0] turns;                  // clocks for a vector
  always_comb begin
    pushed = '{none: none, first: tile_q == '0, last: last_tile,
               ends: none || (last_tile && last_unit), window: window_q, rank: from_rank_q,
               ranks: ranks, line: line_q, layer: op_q.number};
  end
  jd_stream_fifo #(.Width ($bits(step_t)), .Depth (4)) u_steps (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (pushes),
    .in_ready_o  (room),
    .in_data_i   (pushed),
    .out_valid_o (step_valid),
    .out_ready_i (last_clock),
    .out_data_o  (step),
    .count_o     (unused_count)
  );
  assign turns      = step.ranks < BLOCK_W'(4) ? BLOCK_W'(4) : step.ranks;
  assign runs       = mid_q || (loaded_q != '0 && lanes_ready_i
                                && (step.none ? queue_ready_i : !step.first || half_ready_i));
  assign last_rank  = BLOCK_W'(rank_q) + 1'b1 == turns;
  assign last_clock = runs && (step.none || (last_rank && vector_q == '1));
  assign early      = turns == BLOCK_W'(FREES)
                      ? last_rank && vector_q == 2'd2
                      : BLOCK_W'(rank_q) + BLOCK_W'(FREES + 1) == turns && vector_q == '1;
  assign frees      = runs && (step.none || early);
  assign begins_o   = runs && !mid_q && !step.none && step.first;
  assign ends_o     = last_clock && (step.none || step.last);
  assign read_place = {from_q, rank_q};
  always_comb begin
    unit_o = '{half: half_i, none: step.none, ends: step.ends, line: step.line,
               layer: step.layer, ranks: step.ranks, lanes: step.window.lanes, default: '0};
    for (int unsigned s = 0; s < Slots; s++) begin
      unit_o.slots[s] = '{lanes: step.window.slots[s].lanes,
                          ranks: in_block(step.window.slots[s].depth, step.rank, BLOCK_W'(BLOCK))};
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mid_q    <= 1'b0;
      from_q   <= 1'b0;
      loaded_q <= '0;
    end else begin
      mid_q    <= runs && !last_clock;
      loaded_q <= loaded_q + 2'(there_q[ARRIVES]) - 2'(last_clock);
      if (last_clock) from_q <= !from_q;
    end
    if (!runs || last_clock) begin
      vector_q <= '0;
      rank_q   <= '0;
    end else begin
      rank_q <= last_rank ? '0 : rank_q + 1'b1;
      if (last_rank) vector_q <= vector_q + 1'b1;
    end
    out_valid_o <= rst_ni && runs && !step.none && BLOCK_W'(rank_q) < step.ranks;
    if (runs) begin
      out_first_o       <= step.first && vector_q == '0;
      out_slots_o       <= lane_slots_of(step.window, step.rank + DIM_W'(rank_q),
                                         SLOTS'(x_skips), (SLOTS * LANE_W)'(takes_q[from_q]));
      out_accumulator_o <= {half_i, (AccW - 1)'(rank_q)};
      for (int unsigned s = 0; s < Slots; s++) out_x_o[s] <= x_read[s][vector_q];
      out_lane_skips_o <= y_skip_sets_q[from_q];
      for (int unsigned i = 0; i < Lanes; i++) out_y_o[i] <= y_sets_q[from_q][i][vector_q];
    end
  end
  assign quiet_o = state_q == StIdle && sets_q == '0;
  assign runs_o  = runs;
  assign idle_o  = quiet_o && loaded_q == '0;

  `JD_ASSERT_IF(StepRoom_A, pushes, room)
  `JD_ASSERT_IF(StepThere_A, runs, step_valid)
  `JD_ASSUME_IF(OneAtATime_M, start_i, ready_o)
  `JD_ASSUME_IF(BlockFits_M, start_i && !range_i.empty, (4 << range_i.block) <= Acc / 2)
  logic unused;
  assign unused = ^unused_count;
endmodule : jd_sparse_dw
