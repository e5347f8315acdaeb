// SPDX-License-Identifier: Apache-2.0
//
// The planner: cuts the lanes of a layer into windows, gives their units to the banks, and tells all
// banks what they need: lists, windows, ranges of units, places of results.
//
// Streams  in: a layer to plan; done_o pulses at its end, with failed_o if it does not fit. table: to
//          all banks. peek_*: the lists of the encoder, a clock after the address; directory_i in the
//          same clock.
// Timing   the clocks from taking a plan to done_o are those of the golden model (clocks_of). A cut is
//          made twice, as the windows are counted before they are numbered. Lists and places pass beside
//          windows and units; a word of each kind per clock.
// Numbers  indices, clocks and sums of clocks are exact integers.
// Source   LearningGroup III-C; docs/sparse.md (load allocation). Golden model: models/sparse/plan.py.
`include "jd_assert.svh"
module jd_sparse_plan
  import jd_sparse_pkg::*;
#(
  parameter int unsigned GMax   = 32,            // groups, power of two 1..32
  parameter int unsigned LMax   = 8,             // layers, 1..8
  parameter int unsigned Banks  = 8,             // of a core, 1..8
  parameter int unsigned Lanes  = 33,            // of a bank, 2..264
  parameter int unsigned Slots  = 4,             // of a window, 2 or 4
  parameter int unsigned WinMax = 24,            // windows of a pass, 1..31
  parameter int unsigned DrainW = 4,             // lanes that leave a bank per clock: 1, 2 or 4
  parameter int unsigned WRows  = 4096,          // weight lines of a bank
  parameter int unsigned RRows  = 4096,          // lines of results of a bank
  parameter int unsigned GRows  = 1024           // gradient lines of a bank
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [LAYER_W-1:0] in_number_i,
  input  layer_t             in_layer_i,
  input  logic               in_plain_i,         // PLAIN
  input  logic [LAYERS-1:0]  in_planned_i,       // layers with a plan
  output logic               done_o,
  output logic               failed_o,           // E_PLAN
  output logic [LAYER_W-1:0] peek_layer_o,
  output logic [INDEX_W-1:0] peek_index_o,
  input  place_of_t          peek_place_i,
  output logic [INDEX_W-1:0] peek_entry_o,
  input  logic [INDEX_W-1:0] peek_tuple_i,
  input  directory_t         directory_i,
  output table_t             table_o
);
  localparam int unsigned Held   = RRows / (2 * Lanes);          // units whose results a bank holds
  localparam int unsigned GroupW = (GMax > 1) ? $clog2(GMax) : 1;
  localparam int unsigned LayerW = (LMax > 1) ? $clog2(LMax) : 1;
  if (GMax < 1 || GMax > 32 || LMax < 1 || LMax > 8 || Banks < 1 || Banks > 8 || Lanes < 2
      || Lanes > 264 || (Slots != 2 && Slots != 4) || WinMax < 1 || WinMax > 31 || Held < 1)
  begin : gen_bad_size
    $fatal(1, "jd_sparse_plan: GMax=%0d LMax=%0d Banks=%0d Lanes=%0d Slots=%0d WinMax=%0d %0d",
           GMax, LMax, Banks, Lanes, Slots, WinMax, RRows);
  end

  // ---- Control
  typedef enum logic [3:0] {
    StIdle, StStarts, StSort, StFw, StDx, StDw, StGap, StUnitsFw, StUnitsDx, StBlocks, StRanges,
    StLists, StEnd
  } state_t;
  state_t             state_q, state_d;
  layer_t             layer_q;
  logic [LAYER_W-1:0] number_q;
  logic               plain_q, failed_q, fails, taken, cutting, split;
  logic               counts_q;                  // the windows of a cut are counted, not told yet
  logic               cut_done, units_done, blocks_done, ranges_done, lists_done, sort_done;
  assign in_ready_o = state_q == StIdle;
  assign taken      = in_valid_i && in_ready_o;
  assign done_o     = state_q == StEnd;
  assign failed_o   = failed_q;
  assign cutting    = state_q == StFw || state_q == StDx || state_q == StDw;
  assign split      = state_q == StFw && layer_q.split_log2 != '0;
  assign peek_layer_o = number_q;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:    if (in_valid_i) state_d = StStarts;
      StStarts:  state_d = StSort;
      StSort:    if (sort_done) state_d = StFw;
      StFw:      if (cut_done && !counts_q) state_d = StDx;
      StDx:      if (cut_done && !counts_q) state_d = StDw;
      StDw:      if (cut_done && !counts_q) state_d = StGap;
      StGap:     state_d = StUnitsFw;
      StUnitsFw: if (units_done) state_d = StUnitsDx;
      StUnitsDx: if (units_done) state_d = StBlocks;
      StBlocks:  if (blocks_done) state_d = StRanges;
      StRanges:  if (ranges_done) state_d = StLists;
      StLists:   if (lists_done) state_d = StEnd;
      StEnd:     state_d = StIdle;
      default:   state_d = StIdle;
    endcase
    if (failed_q && state_q != StIdle) state_d = (state_q == StEnd) ? StIdle : StEnd;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    if (taken)         counts_q <= 1'b1;
    else if (cut_done) counts_q <= !counts_q;
    if (taken)      failed_q <= 1'b0;
    else if (fails) failed_q <= 1'b1;
    if (taken) begin
      layer_q  <= in_layer_i;
      number_q <= in_number_i;
      plain_q  <= in_plain_i;
    end
  end

  // ---- Groups: where they begin in the lists, and their order by contracted indices
  localparam int unsigned Blocks8 = (GMax + 7) / 8;
  logic [GMax-1:0][DIM_W-1:0]    rows, columns, below, base;
  logic [1:0][GMax-1:0][DIM_W-1:0] within_q, start_q;            // 0: rows, 1: columns
  logic [1:0][Blocks8-1:0][DIM_W-1:0] block_q;
  logic [1:0][GMax-1:0][GROUP_W-1:0] order_q;                    // by rows, by columns
  logic [GROUPS_W-1:0]           sorted_q;
  logic [1:0][GMax-1:0]          ahead, ahead_q;                 // groups before the one in turn
  logic [1:0][GROUP_W-1:0]       place;                          // of the one before that
  always_comb begin
    for (int unsigned g = 0; g < GMax; g++) begin
      rows[g]    = directory_i.rows[g];
      columns[g] = directory_i.columns[g];
      below[g]   = directory_i.below[g];
      base[g]    = directory_i.base[g];
    end
  end
  assign sort_done = sorted_q == layer_q.groups;
  function automatic logic [GROUP_W-1:0] ones(input logic [GMax-1:0] bits);
    logic [31:0]     padded;
    logic [7:0][2:0] fours;
    padded = 32'(bits);
    for (int unsigned k = 0; k < 8; k++)
      fours[k] = 3'(padded[4*k]) + 3'(padded[4*k+1]) + (3'(padded[4*k+2]) + 3'(padded[4*k+3]));
    return GROUP_W'(((6'(fours[0]) + 6'(fours[1])) + (6'(fours[2]) + 6'(fours[3])))
                    + ((6'(fours[4]) + 6'(fours[5])) + (6'(fours[6]) + 6'(fours[7]))));
  endfunction
  always_comb begin
    logic [GroupW-1:0] g;
    g = GroupW'(sorted_q);
    for (int unsigned h = 0; h < GMax; h++) begin
      ahead[0][h] = GROUPS_W'(h) < layer_q.groups
                    && (rows[h] > rows[g] || (rows[h] == rows[g] && GroupW'(h) < g));
      ahead[1][h] = GROUPS_W'(h) < layer_q.groups
                    && (columns[h] > columns[g] || (columns[h] == columns[g] && GroupW'(h) < g));
      if (plain_q) {ahead[1][h], ahead[0][h]} = {2{GroupW'(h) < g}};
    end
    for (int unsigned side = 0; side < 2; side++) place[side] = ones(ahead_q[side]);
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned side = 0; side < 2; side++) begin
      if (state_q == StStarts) begin
        for (int unsigned b = 0; b < Blocks8; b++) begin
          logic [DIM_W-1:0] sum;
          sum = '0;
          for (int unsigned k = 8 * b; k < 8 * b + 8 && k < GMax; k++) begin
            within_q[side][k] <= sum;
            sum = sum + (side == 0 ? rows[k] : columns[k]);
          end
          block_q[side][b] <= sum;
        end
      end
      if (state_q == StSort) begin
        for (int unsigned g = 0; g < GMax; g++) begin
          logic [DIM_W-1:0] sum;
          sum = within_q[side][g];
          for (int unsigned b = 0; b < g / 8; b++) sum = sum + block_q[side][b];
          start_q[side][g] <= sum;
        end
        // The first clock has no group before it, but what is written then is written over.
        order_q[side][GroupW'(place[side])] <= GROUP_W'(sorted_q - 1'b1);
      end
    end
    ahead_q <= ahead;
    if (state_q == StStarts)    sorted_q <= '0;
    else if (state_q == StSort) sorted_q <= sorted_q + 1'b1;
  end

  // ---- Windows: a slot per clock, after two for the first groups
  typedef struct packed {
    logic [GROUP_W-1:0]          number;
    logic [INDEX_W-1:0]          first;                          // place of its contracted indices
    logic [INDEX_W-1:0]          produced;                       // and of its produced ones
    logic [DIM_W-1:0]            depth;
    logic [DIM_W-1:0]            count;
  } group_t;
  group_t                        looked, next, next_q, this_q;   // found now; the next; this one
  logic [DIM_W-1:0]              below_q;                        // of the next, not for DX
  logic [GroupW-1:0]             look_q, group;                  // which is looked up
  logic [1:0]                    fills_q;                        // clocks until this one is there
  logic [GROUPS_W-1:0]           nth_q;                          // this one, in their order
  logic [DIM_W-1:0]              given_q;                        // lanes that the group has so far
  logic [LANE_W-1:0]             used_q;                         // lanes of the window
  logic [2:0]                    slots_q;
  logic [WINDOW_W-1:0]           nth_window_q;                   // of the cut, the longest first
  window_t                       open_q, opened;
  logic                          by_rows_q;                      // rows are contracted
  logic                          dx_q;                           // the cut of DX
  logic                          cuts, cut_end, adds, full, last_of_group, closes;
  logic                          takes_room;                     // the window's last lane is used
  logic [DIM_W-1:0]              left, room, take;
  slot_t                         slot;
  always_ff @(posedge clk_i) begin
    by_rows_q <= state_d == StFw || (state_d == StDw && !layer_q.tr);
    dx_q      <= state_d == StDx;
  end
  assign group   = GroupW'(order_q[by_rows_q ? 0 : 1][look_q]);
  always_comb begin
    looked.number   = GROUP_W'(group);
    looked.first    = INDEX_W'(by_rows_q ? start_q[0][group] : start_q[1][group]);
    looked.produced = INDEX_W'(by_rows_q ? start_q[1][group] : start_q[0][group]);
    looked.depth    = by_rows_q ? rows[group] : columns[group];
    looked.count    = by_rows_q ? columns[group] : rows[group];
    next            = next_q;
    next.produced   = next_q.produced + INDEX_W'(below_q);
    next.count      = next_q.count - below_q;
  end
  assign cuts    = cutting && fills_q == '0;
  assign cut_end = split ? 32'(nth_q) >> layer_q.split_log2 != '0 : nth_q == layer_q.groups;
  assign cut_done = cuts && cut_end;
  always_comb begin
    left          = this_q.count - given_q;
    room          = DIM_W'(Lanes) - DIM_W'(used_q);
    last_of_group = left <= room;
    takes_room    = left >= room;
    take          = last_of_group ? left : room;
    slot          = '0;
    slot.first    = this_q.first;
    slot.depth    = this_q.depth;
    slot.lanes    = LANE_W'(take);
    slot.produced = this_q.produced + INDEX_W'(given_q);
    if (split) begin                             // slot j has the rows j mod KSPLIT, all columns
      last_of_group = 1'b1;
      take          = layer_q.n;
      slot.first    = INDEX_W'(nth_q);
      slot.depth    = (layer_q.m - DIM_W'(nth_q) + (DIM_W'(1) << layer_q.split_log2) - 1'b1)
                      >> layer_q.split_log2;
      slot.lanes    = LANE_W'(layer_q.n);
      slot.produced = '0;
    end
    opened = open_q;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      if (slots_q == 3'(s)) opened.slots[s] = slot;
    end
    if (slot.depth > open_q.depth) opened.depth = slot.depth;
    opened.lanes = open_q.lanes + slot.lanes;
  end
  assign adds   = cuts && !cut_end && (split || left != '0);
  assign full   = split ? 3'(nth_q) + 1'b1 == 3'(3'd1 << layer_q.split_log2)
                        : takes_room || 32'(slots_q) + 1 == Slots;
  assign closes = cuts && (cut_end ? slots_q != '0 : adds && full);
  // Places: where the next produced index of a group has its sums.
  typedef struct packed {
    logic [WINDOW_W-1:0] window;                                 // of the cut
    logic [LANE_W-1:0]   lane;
  } cursor_t;
  cursor_t [GMax-1:0] column_at_q, row_at_q;
  logic               column_moves, row_moves;                   // an index has its place
  logic [GroupW-1:0]  move_group;
  cursor_t            move_from, move_to;
  always_comb begin
    move_from = column_moves ? column_at_q[move_group] : row_at_q[move_group];
    move_to   = '{window: move_from.window, lane: move_from.lane + 1'b1};
    if (32'(move_from.lane) + 1 == Lanes) move_to = '{window: move_from.window + 1'b1, lane: '0};
  end
  always_ff @(posedge clk_i) begin
    if (adds && given_q == '0 && state_q == StFw && (!split || nth_q == '0))
      column_at_q[split ? '0 : GroupW'(this_q.number)] <= '{window: nth_window_q, lane: used_q};
    else if (column_moves) column_at_q[move_group] <= move_to;
    if (adds && given_q == '0 && state_q == StDx)
      row_at_q[GroupW'(this_q.number)] <= '{window: nth_window_q, lane: used_q};
    else if (row_moves) row_at_q[move_group] <= move_to;
  end
  always_ff @(posedge clk_i) begin
    if (!cutting || cut_done) begin
      fills_q      <= 2'd2;
      nth_q        <= '0;
      given_q      <= '0;
      used_q       <= '0;
      slots_q      <= '0;
      nth_window_q <= '0;
      open_q       <= '0;
    end else if (!cuts) begin
      fills_q <= fills_q - 1'b1;
    end else begin
      if (last_of_group) begin
        nth_q   <= nth_q + 1'b1;
        given_q <= '0;
      end else begin
        given_q <= given_q + take;
      end
      if (closes) begin
        used_q       <= '0;
        slots_q      <= '0;
        open_q       <= '0;
        nth_window_q <= nth_window_q + 1'b1;
      end else if (adds) begin
        used_q  <= opened.lanes;
        slots_q <= slots_q + 1'b1;
        open_q  <= opened;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (cutting && (!cuts || last_of_group)) begin
      this_q  <= next;
      next_q  <= looked;
      below_q <= dx_q ? below[group] : '0;
    end
    if (!cutting || cut_done)        look_q <= '0;
    else if (!cuts || last_of_group) look_q <= look_q + 1'b1;
  end

  // ---- Tables of the windows; a long one has a short one beside it
  window_write_t       closed_q;
  logic [WINDOW_W-1:0] windows_q [3];            // how many
  logic                too_many;
  depths_t             depths;
  depths_t [3:0]       asked;
  logic [3:0][WINDOW_W-1:0] ask;
  pass_e               pass;
  function automatic logic [WINDOW_W-1:0] number_of(input logic [WINDOW_W-1:0] nth,
                                                    input logic [WINDOW_W-1:0] windows,
                                                    input logic                plain);
    logic [WINDOW_W:0] twice;
    twice = {nth, 1'b0};
    if (plain)                      return nth;
    if (twice < {1'b0, windows})    return WINDOW_W'(twice);
    return WINDOW_W'({windows, 1'b0} - twice - 1'b1);
  endfunction
  assign pass     = state_q == StFw ? PassFw : state_q == StDx ? PassDx : PassDw;
  assign too_many = closes && 32'(nth_window_q) == WinMax;
  assign depths   = '{depth: closed_q.window.depth, lanes: closed_q.window.lanes};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) closed_q <= '0;
    else begin
      closed_q <= '{valid: closes && !counts_q, layer: number_q, pass: pass,
                    number: number_of(nth_window_q, windows_q[pass], plain_q),
                    window: adds ? opened : open_q};
    end
    if (cut_done && counts_q) windows_q[pass] <= nth_window_q + WINDOW_W'(slots_q != '0);
  end
  jd_mem_lut #(.Depth (32), .Width ($bits(depths_t)), .Reads (4)) u_depths (
    .clk_i, .rst_ni,
    .write_en_i   (closed_q.valid && closed_q.pass == PassDw),
    .write_addr_i (closed_q.number),
    .write_data_i (depths),
    .read_addr_i  (ask),
    .read_data_o  (asked)
  );

  // ---- Units of FW and DX
  logic                          units_start, range_fails, range_valid, overflows;
  logic [2:0]                    range_bank;
  range_t                        range, based;
  logic [LINES_W-1:0]            range_lines;
  logic [LINES_W:0]              weights_end;
  logic [Banks-1:0][LINES_W-1:0] weights_q, grads_q;             // lines in use
  assign units_start = state_q == StGap || (state_q == StUnitsFw && units_done);
  assign weights_end = (LINES_W+1)'(weights_q[range_bank]) + (LINES_W+1)'(range_lines);
  assign overflows   = range_valid && 32'(weights_end) > WRows;
  jd_sparse_ranges #(.Banks (Banks), .Held (Held), .DrainW (DrainW)) u_ranges (
    .clk_i,
    .rst_ni          (rst_ni && !failed_q),
    .clear_i         (taken),
    .plain_i         (plain_q),
    .tiles_i         (layer_q.tiles),
    .window_valid_i  (closed_q.valid && closed_q.pass != PassDw),
    .window_dx_i     (closed_q.pass == PassDx),
    .window_number_i (closed_q.number),
    .window_depth_i  (closed_q.window.depth),
    .window_lanes_i  (closed_q.window.lanes),
    .start_i         (units_start),
    .dx_i            (state_q != StGap),
    .windows_i       ({windows_q[1], windows_q[0]}),
    .done_o          (units_done),
    .fails_o         (range_fails),
    .valid_o         (range_valid),
    .bank_o          (range_bank),
    .range_o         (range),
    .lines_o         (range_lines)
  );
  always_comb begin
    based = range;
    if (!range.empty) based.base = W_LINE_W'(weights_q[range_bank]);
  end

  // ---- Units of DW: four sizes of blocks side by side; the best, of equal ones the largest
  logic [3:0]               done;
  logic [3:0][COST_W-1:0]   worst;
  blocks_t [3:0]            found;
  blocks_t                  best_blocks;
  logic [1:0]               best, best_q;
  logic [2:0]               range_q;
  logic [LINES_W:0]         grads_end, grads_end_q;
  logic                     ranges_q;            // grads_end_q is a bank's
  for (genvar k = 0; k < 4; k++) begin : gen_blocks
    jd_sparse_blocks #(.Banks (Banks), .Block (4 << k)) u_blocks (
      .clk_i, .rst_ni,
      .start_i   (state_q == StGap),
      .plain_i   (plain_q),
      .windows_i (windows_q[2]),
      .window_o  (ask[k]),
      .depths_i  (asked[k]),
      .done_o    (done[k]),
      .worst_o   (worst[k]),
      .bank_i    (range_q),
      .blocks_o  (found[k])
    );
  end
  always_comb begin
    best = 2'd3;
    for (int unsigned k = 3; k > 0; k--) begin
      if (worst[k-1] < worst[best]) best = 2'(k - 1);
    end
  end
  assign blocks_done = done == '1;
  assign best_blocks = found[best_q];
  assign ranges_done = 32'(range_q) == Banks - 1;
  assign grads_end   = (LINES_W+1)'(grads_q[range_q]) + (LINES_W+1)'(best_blocks.lines);
  always_ff @(posedge clk_i) begin
    best_q <= best;                              // final one clock before StRanges
    if (state_q != StRanges) range_q <= '0;
    else                     range_q <= range_q + 1'b1;
    ranges_q    <= state_q == StRanges;
    grads_end_q <= grads_end;
  end

  // ---- Lines in use: a layer follows the nearest planned layer below it
  logic [Banks-1:0][LINES_W-1:0] weights_below, grads_below;
  logic [LAYER_W-1:0]            lower;
  logic                          some_lower;
  always_comb begin
    lower      = '0;
    some_lower = 1'b0;
    for (int unsigned l = 0; l < LMax; l++) begin
      if (in_planned_i[l] && LAYER_W'(l) < in_number_i) begin
        lower      = LAYER_W'(l);
        some_lower = 1'b1;
      end
    end
  end
  jd_mem_lut #(.Depth (LMax > 1 ? LMax : 2), .Width (2 * Banks * LINES_W)) u_ends (
    .clk_i, .rst_ni,
    .write_en_i   (state_q == StEnd && !failed_q),
    .write_addr_i (LayerW'(number_q)),
    .write_data_i ({weights_q, grads_q}),
    .read_addr_i  (LayerW'(lower)),
    .read_data_o  ({weights_below, grads_below})
  );
  always_ff @(posedge clk_i) begin
    if (taken) begin
      weights_q <= some_lower ? weights_below : '0;
      grads_q   <= some_lower ? grads_below : '0;
    end else begin
      for (int unsigned b = 0; b < Banks; b++) begin
        if (range_valid && range_bank == 3'(b))      weights_q[b] <= LINES_W'(weights_end);
        if (state_q == StRanges && range_q == 3'(b)) grads_q[b]   <= LINES_W'(grads_end);
      end
    end
  end
  assign fails = too_many || overflows || range_fails
                 || (ranges_q && 32'(grads_end_q) > GRows);

  // ---- Lists: the streamed side in index order, then the tuples, group by group
  logic                lists_q, tuples_q, lists_end, list_valid_q, list_tuple_q;
  logic [DIM_W-1:0]    entry_q, group_entry_q, group_count, streamed_count;
  logic [GROUPS_W-1:0] group_q;
  logic [GroupW-1:0]   list_group_q, list_group;
  logic [INDEX_W-1:0]  list_place_q, list_index;
  logic                list_columns, produced, tuple_there;
  assign streamed_count = directory_i.exchanged ? layer_q.n : layer_q.m;
  assign group_count    = directory_i.exchanged ? rows[GroupW'(group_q)]
                                                : columns[GroupW'(group_q)];
  assign tuple_there    = group_entry_q != group_count;
  assign lists_end      = tuples_q && group_q == layer_q.groups;
  assign peek_index_o   = INDEX_W'(entry_q);
  assign peek_entry_o   = INDEX_W'(base[GroupW'(group_q)] + group_entry_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      lists_q      <= 1'b0;
      list_valid_q <= 1'b0;
    end else begin
      if (state_q == StIdle || failed_q)    lists_q <= 1'b0;
      else if (state_q == StDx && cut_done && !counts_q) lists_q <= 1'b1;
      else if (lists_end)                   lists_q <= 1'b0;
      list_valid_q <= lists_q && (!tuples_q || (!lists_end && tuple_there));
    end
    if (!lists_q) begin
      tuples_q      <= 1'b0;
      entry_q       <= '0;
      group_entry_q <= '0;
      group_q       <= '0;
    end else if (!tuples_q) begin
      tuples_q <= entry_q + 1'b1 == streamed_count;
      entry_q  <= (entry_q + 1'b1 == streamed_count) ? '0 : entry_q + 1'b1;
    end else if (tuple_there) begin
      group_entry_q <= group_entry_q + 1'b1;
      entry_q       <= entry_q + 1'b1;
    end else begin
      group_entry_q <= '0;
      group_q       <= group_q + 1'b1;
    end
    list_tuple_q <= tuples_q;
    list_group_q <= GroupW'(group_q);
    list_place_q <= INDEX_W'(entry_q);           // of a tuple's entry; else the index
  end
  assign list_columns = list_tuple_q != directory_i.exchanged;
  assign list_group   = list_tuple_q ? list_group_q : GroupW'(peek_place_i.group);
  assign list_index   = list_tuple_q ? peek_tuple_i : list_place_q;
  assign produced     = list_columns || list_index >= layer_q.dx_from;
  assign column_moves = list_valid_q && list_columns;
  assign row_moves    = list_valid_q && !list_columns && produced;
  assign move_group   = list_group;
  assign lists_done   = !lists_q && !list_valid_q;

  // ---- To the banks
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      table_o <= '0;
    end else begin
      table_o.window <= closed_q;
      table_o.list   <= '{valid: list_valid_q, columns: list_columns, layer: number_q,
                          place: list_tuple_q ? list_place_q : peek_place_i.place,
                          index: list_index, mine: 1'b0};
      table_o.place  <= '{valid: list_valid_q && produced, layer: number_q, dx: !list_columns,
                          index: list_index, lane: move_from.lane,
                          window: number_of(move_from.window, windows_q[list_columns ? 0 : 1],
                                            plain_q)};
      table_o.range  <= '{valid: range_valid, layer: number_q,
                          pass: state_q == StUnitsDx ? PassDx : PassFw, bank: range_bank,
                          range: based};
      if (state_q == StRanges) begin
        table_o.range <= '{valid: 1'b1, layer: number_q, pass: PassDw, bank: range_q,
                           range: '{empty: best_blocks.empty,
                                    first_window: best_blocks.first_window,
                                    first_step: best_blocks.first_step,
                                    last_window: best_blocks.last_window,
                                    last_step: best_blocks.last_step,
                                    first_unit: '0,
                                    block: best_blocks.empty ? '0 : best_q,
                                    base: best_blocks.empty ? '0 : W_LINE_W'(grads_q[range_q]),
                                    paired: 1'b0,
                                    windows: '0}};
      end
    end
  end

  `JD_ASSUME_IF(LayerFits_M, in_valid_i && in_ready_o,
                32'(in_layer_i.groups) <= GMax && in_layer_i.groups != '0
                && in_layer_i.tiles != '0 && 32'(in_number_i) < LMax
                && (in_layer_i.split_log2 == '0
                    || (in_layer_i.groups == GROUPS_W'(1)
                        && 32'(in_layer_i.n) << in_layer_i.split_log2 <= Lanes)))
endmodule : jd_sparse_plan
