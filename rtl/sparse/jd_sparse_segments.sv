// SPDX-License-Identifier: Apache-2.0
//
// Finds the segments of a layer's gradients, bank by bank and window by window, and loads the produced
// indices of their lanes.
//
// Streams  table_i: what the planner tells. start_i: a layer, while idle_o. segment: each of its
//          segments, whose lanes are loaded; with idle_o all are taken. free_i: the oldest buffer in
//          use is free again. lanes_*: lanes of a chunk of a buffer, in the same clock.
// Timing   A segment takes one clock per lane and four more; a bank takes two. Up to
//          four segments are loaded.
// Numbers  indices. The part of a row in a word's line is row * pitch, that of a column column / 64.
// Source   LearningGroup III-C; docs/sparse.md (load allocation). Golden model: models/sparse/plan.py,
//          Gradient.
`include "jd_assert.svh"
module jd_sparse_segments
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Banks    = 8,          // of a core, 1..8
  parameter  int unsigned Lanes    = 33,         // of a bank, 2..264
  parameter  int unsigned DMax     = 512,        // rows or columns, 8..512
  parameter  int unsigned LMax     = 8,          // layers, 1..8
  parameter  int unsigned WinMax   = 24,         // windows of a pass, 1..31
  parameter  int unsigned OptLanes = 6,          // lanes of a chunk, 1..8
  localparam int unsigned Chunks   = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned ChunkW   = (Chunks > 1) ? $clog2(Chunks) : 1
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  table_t                                  table_i,
  output logic                                    idle_o,
  input  logic                                    start_i,
  input  logic [LAYER_W-1:0]                      number_i,     // of the layer, held from then on
  input  layer_t                                  layer_i,
  output logic                                    segment_valid_o,
  input  logic                                    segment_ready_i,
  output segment_t                                segment_o,
  input  logic                                    free_i,
  input  logic [1:0][BUFFER_W-1:0]                lanes_buffer_i,
  input  logic [1:0][ChunkW-1:0]                  lanes_chunk_i,
  output segment_lane_t [1:0][OptLanes-1:0]       lanes_o
);
  localparam int unsigned Windows  = LMax * WinMax;
  localparam int unsigned WindowsW = (Windows > 1) ? $clog2(Windows) : 1;
  localparam int unsigned PlacesW  = $clog2(2 * LMax * DMax);
  localparam int unsigned LaneW    = (OptLanes > 1) ? $clog2(OptLanes) : 1;
  localparam int unsigned LIST     = 2;          // clocks from the request of an index to its write
  if (Banks < 1 || Banks > 8 || LMax < 1 || LMax > 8 || OptLanes < 1 || OptLanes > 8
      || (BUFFERS << ChunkW) > 512) begin : gen_bad_size
    $fatal(1, "jd_sparse_segments: Banks=%0d LMax=%0d Lanes=%0d OptLanes=%0d", Banks, LMax, Lanes,
           OptLanes);
  end

  // ---- Tables of DW
  range_t              range;
  window_t             window, window_q;
  logic                range_read, window_read;
  logic [2:0]          bank_q;
  logic [WINDOW_W-1:0] number_q;
  jd_mem_1r1w #(.Depth (LMax * 8), .LaneW ($bits(range_t))) u_ranges (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.range.valid && table_i.range.pass == PassDw),
    .write_addr_i ($clog2(LMax * 8)'({table_i.range.layer, table_i.range.bank})),
    .write_mask_i (1'b1),
    .write_data_i (table_i.range.range),
    .read_en_i    (range_read),
    .read_addr_i  ($clog2(LMax * 8)'({number_i, bank_q})),
    .read_data_o  (range)
  );
  jd_mem_1r1w #(.Depth (Windows), .LaneW ($bits(window_t))) u_windows (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.window.valid && table_i.window.pass == PassDw),
    .write_addr_i (WindowsW'(32'(table_i.window.layer) * WinMax + 32'(table_i.window.number))),
    .write_mask_i (1'b1),
    .write_data_i (table_i.window.window),
    .read_en_i    (window_read),
    .read_addr_i  (WindowsW'(32'(number_i) * WinMax + 32'(number_q))),
    .read_data_o  (window)
  );

  // ---- Banks, windows, lanes
  typedef enum logic [2:0] {StIdle, StRange, StBank, StWindow, StThere, StSegment, StLanes} state_e;
  state_e              state_q, state_d;
  segment_t            segment_q, found;
  slot_t [SLOTS-1:0]   slots_q;                  // of the segment's window
  logic [G_LINE_W-1:0] line_q;                   // of the bank's next segment
  logic [BUFFER_W-1:0] buffer_q;
  logic [2:0]          used_q;                   // buffers
  logic [1:0]          slot_q;
  logic [LANE_W-1:0]   of_slot_q, lane_q;        // lane of the slot, of the segment
  logic [LaneW-1:0]    place_q;                  // in the chunk
  logic [ChunkW-1:0]   chunk_q;
  logic                last_bank, last_window, empty, goes, last_lane, last_place;
  logic [LIST:1]       last_written_q;
  logic [2:0]          count;                    // segments that wait
  assign idle_o      = state_q == StIdle && last_written_q == '0 && count == '0;
  assign range_read  = state_q == StRange;
  assign window_read = state_q == StWindow;
  assign last_bank   = 32'(bank_q) == Banks - 1;
  assign last_window = number_q == range.last_window;
  assign empty       = window_q.depth == '0;
  assign goes        = state_q == StSegment && !empty && 32'(used_q) != BUFFERS;
  assign last_lane   = lane_q + 1'b1 == segment_q.lanes;
  assign last_place  = 32'(place_q) == OptLanes - 1;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:    if (start_i) state_d = StRange;
      StRange:   state_d = StBank;
      StBank:    if (!range.empty)   state_d = StWindow;
                 else if (last_bank) state_d = StIdle;
                 else                state_d = StRange;
      StWindow:  state_d = StThere;
      StThere:   state_d = StSegment;
      StSegment: if (empty)     state_d = StWindow;
                 else if (goes) state_d = StLanes;
      StLanes:   if (last_lane) begin
                   if (!last_window)    state_d = StWindow;
                   else if (!last_bank) state_d = StRange;
                   else                 state_d = StIdle;
                 end
      default:   state_d = StIdle;
    endcase
  end
  always_comb begin
    logic [LANE_W-1:0] past;
    found        = '{bank: bank_q, buffer: buffer_q, line: line_q, first: '0, past: window_q.depth,
                     lanes: window_q.lanes, slots: '0};
    if (number_q == range.first_window)
      found.first = DIM_W'(range.first_step) << (3'(range.block) + 3'd2);
    if (last_window
        && DIM_W'(range.last_step) < (window_q.depth - 1'b1) >> (3'(range.block) + 3'd2))
      found.past = (DIM_W'(range.last_step) + 1'b1) << (3'(range.block) + 3'd2);
    past = '0;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      past = past + window_q.slots[s].lanes;
      found.slots[s] = '{first: window_q.slots[s].first, past: past,
                         depth: window_q.slots[s].lanes == '0 ? '0 : window_q.slots[s].depth};
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    window_q <= window;
    if (state_q == StIdle) bank_q <= '0;
    else if (state_q inside {StBank, StLanes} && state_d == StRange) bank_q <= bank_q + 1'b1;
    if (state_q == StBank) begin
      number_q <= range.first_window;
      line_q   <= G_LINE_W'(range.base);
    end else if (state_q != StWindow && state_d == StWindow) begin
      number_q <= number_q + 1'b1;
    end
    if (goes) begin
      segment_q <= found;
      slots_q   <= window_q.slots;
      line_q    <= line_q + G_LINE_W'(found.past - found.first);
    end
    if (!rst_ni) begin
      used_q   <= '0;
      buffer_q <= '0;
    end else begin
      used_q <= used_q + 3'(goes) - 3'(free_i);
      if (goes) buffer_q <= buffer_q + 1'b1;
    end
    if (state_q != StLanes) begin
      slot_q    <= '0;
      of_slot_q <= '0;
      lane_q    <= '0;
      place_q   <= '0;
      chunk_q   <= '0;
    end else begin
      lane_q    <= lane_q + 1'b1;
      of_slot_q <= of_slot_q + 1'b1;
      if (of_slot_q + 1'b1 == slots_q[slot_q].lanes) begin
        of_slot_q <= '0;
        slot_q    <= slot_q + 1'b1;
      end
      place_q <= last_place ? '0 : place_q + 1'b1;
      if (last_place) chunk_q <= chunk_q + 1'b1;
    end
  end

  // ---- Lanes: request of an index 0, index there 1, its part of a line 2
  typedef struct packed {
    logic                live;
    logic [1:0]          slot;
    logic [BUFFER_W-1:0] buffer;
    logic [ChunkW-1:0]   chunk;
    logic [LaneW-1:0]    place;
  } target_t;
  logic [LIST:1]       valid_q;
  target_t [LIST:1]    target_q;
  segment_lane_t       lane;
  logic [INDEX_W-1:0]  index, index_q;
  logic [P_LINE_W-1:0] part_q;
  logic [3:0]          pitch_q;
  logic [PlacesW-1:0]  list_place;
  logic                room;
  assign list_place = PlacesW'((32'(!layer_i.tr) * LMax + 32'(number_i)) * DMax
                               + 32'(slots_q[slot_q].produced + INDEX_W'(of_slot_q)));
  jd_mem_1r1w #(.Depth (2 * LMax * DMax), .LaneW (INDEX_W)) u_list (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.list.valid),
    .write_addr_i (PlacesW'((32'(table_i.list.columns) * LMax + 32'(table_i.list.layer)) * DMax
                            + 32'(table_i.list.place))),
    .write_mask_i (1'b1),
    .write_data_i (table_i.list.index),
    .read_en_i    (state_q == StLanes),
    .read_addr_i  (list_place),
    .read_data_o  (index)
  );
  always_ff @(posedge clk_i) begin
    valid_q        <= rst_ni ? {valid_q[LIST-1:1], state_q == StLanes} : '0;
    last_written_q <= rst_ni ? {last_written_q[LIST-1:1], state_q == StLanes && last_lane} : '0;
    target_q <= {target_q[LIST-1:1],
                 target_t'({segment_q.first < segment_q.slots[slot_q].depth, slot_q,
                            segment_q.buffer, chunk_q, place_q})};
    pitch_q  <= 4'((13'(layer_i.n) + 13'(WORD_BANKS - 1)) >> $clog2(WORD_BANKS));
    index_q  <= index;
    part_q   <= layer_i.tr ? P_LINE_W'(index) * P_LINE_W'(pitch_q)
                           : P_LINE_W'(index >> $clog2(WORD_BANKS));
  end
  assign lane = '{live: target_q[LIST].live, slot: target_q[LIST].slot, index: index_q,
                  line: part_q};
  // The first lane of a chunk clears the others, which may not exist.
  for (genvar k = 0; k < OptLanes; k++) begin : gen_lane
    logic mine;
    assign mine = target_q[LIST].place == LaneW'(k);
    jd_mem_lut #(
      .Depth (BUFFERS << ChunkW), .Width ($bits(segment_lane_t)), .Reads (2)
    ) u_lanes (
      .clk_i, .rst_ni,
      .write_en_i   (valid_q[LIST] && (mine || target_q[LIST].place == '0)),
      .write_addr_i ({target_q[LIST].buffer, target_q[LIST].chunk}),
      .write_data_i (mine ? lane : '0),
      .read_addr_i  ({lanes_buffer_i[1], lanes_chunk_i[1], lanes_buffer_i[0], lanes_chunk_i[0]}),
      .read_data_o  ({lanes_o[1][k], lanes_o[0][k]})
    );
  end
  jd_stream_fifo #(.Width ($bits(segment_t)), .Depth (BUFFERS)) u_segments (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (last_written_q[LIST]),
    .in_ready_o  (room),
    .in_data_i   (segment_q),
    .out_valid_o (segment_valid_o),
    .out_ready_i (segment_ready_i),
    .out_data_o  (segment_o),
    .count_o     (count)
  );

  `JD_ASSERT_IF(SegmentRoom_A, last_written_q[LIST], room)
  `JD_ASSUME_IF(StartsWhileIdle_M, start_i, idle_o)
  `JD_ASSUME_IF(FreesInUse_M, free_i, used_q != '0)
  logic unused;
  assign unused = ^{layer_i};
endmodule : jd_sparse_segments
