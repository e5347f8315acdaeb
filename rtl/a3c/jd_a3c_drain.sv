// SPDX-License-Identifier: Apache-2.0
//
// Sets the sums of a tile to their start before its products, and moves them out after its last
// product: into feature maps, or into the gradient buffer and, as chunks, to the update.
//
// Streams  prepare_*: the next tile whose sums are to be set. drain_*: the next tile to be drained,
//          once its last product is in its sum. Tiles are drained in order; a tile is prepared when
//          the tile two before it is drained. chunk: complete gradients; chunk_read_i frees the
//          oldest chunk. save: complete maps.
// Timing   Gradients: a row per clock, written four clocks after its turn; two clocks to look for
//          room. Maps of convolutions: 16 sums of 16 lanes take about 50 clocks. Maps of connected
//          layers: a row per clock, and two clocks for each sum.
// Numbers  bits, unchanged; ReLU as in jd_a3c_scatter. Gradients of padding are +0.
// Source   FA3C (ASPLOS 2019) section 4.3 (gradients go to the RMSProp module), 4.5. a3c 5.6,
//          6.2-6.4, 7.4.
//
// The gradient buffer has two parts. Rows 0 to resident - 1 hold the gradients of convolutions in
// the order of the image, because these add up over samples. The other rows are a ring of chunks;
// no chunk crosses the end of the ring.
`include "jd_assert.svh"
module jd_a3c_drain
  import jd_a3c_pkg::*;
  import jd_a3c_tile_pkg::*;
#(
  parameter  int unsigned Pes          = 16,      // processing elements: 16, 32, 64 or 128
  parameter  int unsigned GradientRows = 512,     // of the gradient buffer; 0: no trainings
  localparam int unsigned SEGS         = Pes / 16
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   prepare_valid_i,
  input  tile_t                  prepare_tile_i,
  input  logic                   prepare_half_i,
  input  logic                   prepare_oldest_i, // all tiles before it are drained
  output logic                   prepare_done_o,
  input  logic                   drain_valid_i,
  input  tile_t                  drain_tile_i,
  input  logic                   drain_half_i,
  output logic                   drain_done_o,
  input  logic [15:0]            resident_i,       // of the task of either
  output logic                   room_o,           // waits for room in the gradient buffer
  // Sums
  output logic                   sum_valid_o,
  output logic                   sum_half_o,
  output logic [4:0]             sum_o,
  input  logic [SEGS-1:0][511:0] sum_data_i,
  output logic [SEGS-1:0]        preload_valid_o,
  output logic                   preload_half_o,
  output logic [4:0]             preload_sum_o,
  output logic [511:0]           preload_data_o,
  // Gradient buffer
  output logic                   gradient_write_o,
  output logic [15:0]            gradient_row_o,
  output logic [511:0]           gradient_data_o,
  output logic                   gradient_read_o,  // has precedence
  output logic [15:0]            gradient_read_row_o,
  input  logic [511:0]           gradient_read_data_i,
  output logic                   chunk_valid_o,
  input  logic                   chunk_ready_i,
  output chunk_t                 chunk_o,
  input  logic                   chunk_read_i,
  // Feature maps
  output logic                   read_valid_o,
  input  logic                   read_ready_i,
  output logic [15:0]            read_row_o,
  input  logic [511:0]           read_data_i,
  output logic                   write_valid_o,
  output logic [15:0]            write_row_o,
  output logic [15:0]            write_mask_o,
  output logic [511:0]           write_data_o,
  output logic                   save_valid_o,
  input  logic                   save_ready_i,
  output logic [2:0]             save_sample_o,
  output logic [22:0]            save_offset_o,    // rows in the set of maps
  output logic [15:0]            save_row_o,
  output logic [15:0]            save_rows_o,
  input  logic                   save_busy_i
);
  localparam int unsigned SegsLog2 = $clog2(SEGS);

  typedef enum logic [3:0] {
    StIdle, StClear, StPreload, StZero, StRoom, StGradients, StFlush, StChunk, StPatch, StTurn,
    StLines, StVector, StPieces, StSettle, StSave, StDone
  } state_e;
  state_e state_q;
  logic   preparing_q;                            // the present tile is the one to be prepared
  logic   prepares;
  tile_t  tile_q;
  kind_e  kind;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) tile_q <= prepares ? prepare_tile_i : drain_tile_i;
  end
  assign kind = tile_q.kind;

  // ---- Loops. Gradients: slot or input, kernel column or output, group, segment of 16 lanes.
  // Maps: group, segment, slot, 16 sums. Connected layers: tile, segment, sample.
  logic [5:0]  slot_q;
  logic [5:0]  turn_q;
  logic [2:0]  group_q;
  logic [2:0]  segment_q;                         // of the group's
  logic [5:0]  sum_q;
  logic [1:0]  part_q;                            // 16 sums of a slot
  logic [4:0]  beat_q;
  logic [3:0]  lane_q;
  logic        extra_q;                           // GcConv: the bias
  logic [9:0]  channel_q;
  logic [4:0]  top_q;
  logic [15:0] zero_q;
  logic [2:0]  sample_q;
  logic [3:0]  segments;                          // of a group
  logic [2:0]  element_segment;                   // of all
  logic [1:0]  groups_log2;
  assign segments        = 4'd1 << tile_q.lanes;
  assign element_segment = 3'(group_q << tile_q.lanes) | segment_q;
  assign groups_log2     = 2'(SegsLog2) - tile_q.lanes;

  logic segment_end, group_end, turn_end, slot_end;
  assign segment_end = 4'(segment_q) + 4'd1 == segments;
  always_comb begin
    unique case (kind)
      GcConv:  group_end = extra_q || 6'(top_q) + 6'(group_q) + 6'd1 == 6'(tile_q.kernel)
                           || 4'(group_q) + 4'd1 == 4'd1 << groups_log2;
      FwConv, BwConv: group_end = 4'(group_q) + 4'd1 == 4'd1 << groups_log2;
      default: group_end = 1'b1;
    endcase
  end
  assign turn_end = turn_q == tile_q.n0 - 6'd1;
  logic [5:0] inputs_all;                         // GcFc: with inputs of padding
  assign inputs_all = tile_q.biases ? 6'd1
                      : tile_q.block_end ? 6'd16 - 6'(tile_q.input_first) : 6'(tile_q.input_count);
  assign slot_end = kind == GcFc ? slot_q == inputs_all - 6'd1 : slot_q == tile_q.n1 - 6'd1;

  // ---- Gradients: where a row lies, in four clocks
  typedef struct packed {
    logic       valid;
    logic       preload;
    logic       fresh;                            // its sum is to be read
    logic       zero;
    logic       bias;
    logic [4:0] sum;
    logic [2:0] segment;                          // of all
    logic [6:0] block;                            // of 16 outputs
  } step_t;
  step_t       step, step_q0, step_q1, step_q2, step_q3;
  logic        grad_turn;                         // a row goes into the pipe
  logic [4:0]  kernel_row_q0;
  logic [5:0]  turn_q0;
  logic [3:0]  phase_q0;
  logic [9:0]  input_q0, input_q1;
  logic [9:0]  tap_q1;                            // jy*J + jx
  logic [17:0] tap_inputs_q;                      // of all phases
  logic [13:0] inside_q1;                         // of the tap's
  logic [17:0] place_q2;
  logic [15:0] row_q2, row_q3;                    // row_q2: GcConv: of the place 0
  logic [15:0] chunk_row_q;                       // first row of the block in hand
  logic [15:0] weights_row_q;                     // GcConv: of the layer's weights
  logic [4:0]  kernel_row;
  logic [3:0]  stride_mask;
  assign grad_turn   = state_q == StGradients || state_q == StPreload;
  assign kernel_row  = top_q + 5'(group_q);
  assign stride_mask = 4'((5'd1 << tile_q.stride) - 5'd1);
  always_comb begin
    step.valid   = grad_turn;
    step.preload = state_q == StPreload;
    step.fresh   = segment_q == '0 && group_q == '0;
    step.zero    = kind == GcFc && !tile_q.biases && slot_q >= 6'(tile_q.input_count);
    step.bias    = kind == GcConv ? extra_q : tile_q.biases;
    step.sum     = sum_q[4:0];
    step.segment = element_segment;
    step.block   = tile_q.block_first + 7'(segment_q);
    if (kind == GcFc) step.block = step.block + 7'(turn_q << tile_q.lanes);
  end
  logic [6:0]  block_q1;                          // of the tile
  assign block_q1 = step_q1.block - tile_q.block_first;
  always_ff @(posedge clk_i) begin
    step_q0 <= step;
    step_q1 <= step_q0;
    step_q2 <= step_q1;
    step_q3 <= step_q2;
    if (!rst_ni) begin
      step_q0.valid <= 1'b0;
      step_q1.valid <= 1'b0;
      step_q2.valid <= 1'b0;
      step_q3.valid <= 1'b0;
    end
    kernel_row_q0 <= kernel_row;
    turn_q0       <= turn_q;
    phase_q0      <= 4'((4'(kernel_row) & stride_mask) << tile_q.stride)
                     | (4'(turn_q) & stride_mask);
    input_q0      <= kind == GcConv ? channel_q : 10'(slot_q);
    weights_row_q <= tile_q.offset[15:0] + 16'(tile_q.blocks);
    tap_inputs_q  <= 18'(tile_q.padded_inputs) << {tile_q.stride, 1'b0};
    tap_q1        <= 10'(5'(kernel_row_q0 >> tile_q.stride)) * 10'(tile_q.taps)
                     + 10'(5'(turn_q0) >> tile_q.stride);
    inside_q1     <= 14'(phase_q0) * 14'(tile_q.padded_inputs) + 14'(input_q0);
    input_q1      <= input_q0;
    place_q2      <= 18'(tap_q1) * tap_inputs_q + 18'(inside_q1);
    if (kind == GcConv) begin
      row_q2 <= step_q1.bias ? tile_q.offset[15:0] + 16'(step_q1.block)
                             : weights_row_q + (16'(step_q1.block) << 4);
      row_q3 <= step_q2.bias ? row_q2
                : row_q2 + {12'(16'(place_q2[17:4]) * 16'(tile_q.blocks)), place_q2[3:0]};
    end else begin
      row_q2 <= chunk_row_q + (step_q1.bias ? 16'(block_q1)
                : (16'(block_q1) << 4) + 16'(tile_q.input_first) + 16'(input_q1));
      row_q3 <= row_q2;
    end
  end

  logic [4:0]  residents_q;                       // chunks of convolutions that are not read yet

  // A sum is read one clock before its first row is written.
  logic [511:0] gradient;
  logic [10:0]  gradient_output;                  // of the row's first word
  assign gradient_output = {step_q3.block, 4'd0};
  always_comb begin
    gradient = sum_data_i[step_q3.segment[(SegsLog2 > 0 ? SegsLog2 - 1 : 0):0]];
    for (int unsigned w = 0; w < 16; w++) begin
      if (step_q3.zero || gradient_output + 11'(w) >= tile_q.outputs) gradient[32*w+:32] = '0;
    end
  end
  assign gradient_write_o    = (step_q3.valid && !step_q3.preload)
                               || (state_q == StZero && residents_q == '0);
  assign gradient_row_o      = state_q == StZero ? zero_q : row_q3;
  assign gradient_data_o     = state_q == StZero ? '0 : gradient;
  assign gradient_read_o     = step_q3.valid && step_q3.preload;
  assign gradient_read_row_o = row_q3;

  // Preloaded sums come 2 clocks later.
  logic            back_valid_q1, back_valid_q2;
  logic [4:0]      back_sum_q1, back_sum_q2;
  logic [2:0]      back_segment_q1, back_segment_q2;
  logic            clear;
  assign clear = state_q == StClear;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      back_valid_q1 <= 1'b0;
      back_valid_q2 <= 1'b0;
    end else begin
      back_valid_q1 <= gradient_read_o;
      back_valid_q2 <= back_valid_q1;
    end
    back_sum_q1     <= step_q3.sum;
    back_sum_q2     <= back_sum_q1;
    back_segment_q1 <= step_q3.segment;
    back_segment_q2 <= back_segment_q1;
  end
  assign preload_valid_o = clear ? '1 : back_valid_q2 ? SEGS'(32'd1 << back_segment_q2) : '0;
  assign preload_half_o  = prepare_half_i;
  assign preload_sum_o   = clear ? sum_q[4:0] : back_sum_q2;
  assign preload_data_o  = clear ? '0 : gradient_read_data_i;

  // ---- Chunks in the gradient buffer
  localparam int unsigned CHUNKS = 64;
  localparam logic [15:0] ROWS = 16'(GradientRows);
  logic [15:0] ring_base_q, ring_head_q, ring_used_q;
  logic [15:0] ring_size, ring_left, room_rows, room_take, room_start;
  logic [15:0] take_q;                            // of the present block, with skipped rows
  logic        room_known_q;                      // the room to take, and where, in registers
  logic [15:0] start_q;
  logic        room, ring_empty;
  logic [5:0]  chunks_in_q, chunks_out_q;
  logic [5:0]  chunks;                            // chunks whose rows are not read yet
  logic [15:0] take_out;                          // take_q of the chunk that is read next
  logic [CHUNKS-1:0] resident_q;                  // it is a convolution's
  logic        resident_in, resident_out;
  logic        chunk_push;
  assign chunks     = chunks_in_q - chunks_out_q;
  assign ring_empty = ring_used_q == '0;
  assign ring_size  = ROWS - ring_base_q;
  assign ring_left  = ROWS - ring_head_q;
  assign room_rows  = tile_q.biases ? 16'(tile_q.block_count) : 16'(tile_q.block_count) << 4;
  assign room_start = ring_left >= room_rows ? ring_head_q : ring_base_q;
  assign room_take  = ring_left >= room_rows ? room_rows : room_rows + ring_left;
  assign room       = room_known_q && ring_base_q == resident_i
                      && 17'(ring_used_q) + 17'(take_q) <= 17'(ring_size)
                      && chunks < 6'(CHUNKS - 2);
  assign room_o     = state_q == StRoom && !room;
  assign chunk_valid_o = state_q == StChunk;
  assign chunk_push    = chunk_valid_o && chunk_ready_i;
  always_comb begin
    chunk_o = '{
      layer: tile_q.layer, offset: tile_q.offset, row: chunk_row_q,
      rows: kind == GcConv ? tile_q.layer_beats : room_rows,
      layer_last: kind == GcConv || tile_q.layer_last, task_last: tile_q.task_last};
    if (kind == GcConv) chunk_o.row = tile_q.offset[15:0];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ring_base_q  <= '0;
      ring_head_q  <= '0;
      ring_used_q  <= '0;
      chunks_in_q  <= '0;
      chunks_out_q <= '0;
      residents_q  <= '0;
    end else begin
      if (chunk_push)   chunks_in_q <= chunks_in_q + 6'd1;
      if (chunk_read_i) chunks_out_q <= chunks_out_q + 6'd1;
      ring_used_q <= ring_used_q + (state_q == StRoom && room ? take_q : 16'd0)
                     - (chunk_read_i ? take_out : 16'd0);
      if (resident_in != resident_out) begin
        residents_q <= resident_in ? residents_q + 5'd1 : residents_q - 5'd1;
      end
      if (state_q == StRoom && room) ring_head_q <= start_q + room_rows;
      else if (ring_empty && residents_q == '0 && state_q == StRoom) begin
        // Another network's convolutions may need other rows.
        ring_base_q <= resident_i;
        ring_head_q <= resident_i;
      end
    end
    room_known_q <= state_q == StRoom && ring_base_q == resident_i && !room;
    if (state_q == StRoom && !room) begin
      start_q <= room_start;
      take_q  <= room_take;
    end
    if (state_q == StRoom && room) chunk_row_q <= start_q;
    if (chunk_push) resident_q[chunks_in_q] <= kind == GcConv;
  end
  jd_mem_lut #(.Depth (CHUNKS), .Width (16)) u_takes (
    .clk_i, .rst_ni,
    .write_en_i   (chunk_push),
    .write_addr_i (chunks_in_q),
    .write_data_i (kind == GcConv ? 16'd0 : take_q),
    .read_addr_i  (chunks_out_q),
    .read_data_o  (take_out)
  );
  assign resident_in  = chunk_push && kind == GcConv;
  assign resident_out = chunk_read_i && resident_q[chunks_out_q];

  // ---- Maps of convolutions: 16 sums of 16 lanes, turned
  logic         patch_valid_q, patch_ready, line_valid, line_ready;
  logic [2:0]   patch_segment_q;
  logic [511:0] line_data;
  jd_stream_transpose u_transpose (
    .clk_i, .rst_ni,
    .in_valid_i  (patch_valid_q),
    .in_ready_o  (patch_ready),
    .in_data_i   (sum_data_i[patch_segment_q[(SegsLog2 > 0 ? SegsLog2 - 1 : 0):0]]),
    .out_valid_o (line_valid),
    .out_ready_i (line_ready),
    .out_data_o  (line_data)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) patch_valid_q <= 1'b0;
    else         patch_valid_q <= state_q == StPatch && !beat_q[4];
    patch_segment_q <= element_segment;
  end

  // The place of the patch in the map. It is computed step by step in the first clocks of StPatch,
  // and held while the patch turns.
  logic [7:0]  map_row_q;
  logic [8:0]  share_column_q;
  logic [10:0] patch_output_q;
  logic [9:0]  first_column_q;                    // of result 0
  logic [15:0] patch_row_q;                       // FwConv: of lane 0; BwConv: of no channel
  logic [4:0]  patch_count_q;
  logic        patch_on_q;                        // it has results
  logic        patch_fill_q;
  logic [15:0] line_row_q;
  logic [7:0]  map_row;                           // FwConv: r; BwConv: v
  logic [2:0]  share;                             // of a row among groups
  logic [9:0]  first_column;
  logic [5:0]  sums_left;
  logic [9:0]  columns_left;
  assign share        = group_q & ~(3'b111 << tile_q.split);
  assign map_row      = tile_q.top + (kind == BwConv ? 8'(group_q)
                        : tile_q.split != 2'd0 ? 8'(group_q >> tile_q.split)
                        : (8'(slot_q) << groups_log2) + 8'(group_q));
  assign first_column = 10'(tile_q.column) + 10'({part_q, 4'd0}) + 10'(share_column_q);
  assign sums_left    = tile_q.n0 - {part_q, 4'd0};
  assign columns_left = 10'(tile_q.columns) - first_column_q;
  logic [4:0] part_count;
  always_comb begin
    part_count = sums_left > 6'd16 ? 5'd16 : 5'(sums_left);
    if (kind == FwConv && !columns_left[9] && columns_left < 10'(part_count)) begin
      part_count = 5'(columns_left);
    end
  end

  // BwConv: channel and phase of a lane.
  logic [3:0] back_phase_q;                       // of lane 0
  logic [9:0] back_channel_q;
  logic [3:0] back_few_q;                         // IPAD, if fewer than 16
  logic [8:0] back_row_q, back_column_q;          // of phase 0
  logic [9:0] back_left_q;
  logic [3:0] lane_next;                          // the lane in the next clock
  logic [3:0] lane_phase, lane_phase_q, phase_down, phase_across;
  logic [9:0] lane_channel, lane_channel_q;
  assign lane_next = state_q == StTurn ? 4'd0
                     : line_valid && line_ready ? lane_q + 4'd1 : lane_q;
  always_comb begin
    lane_phase   = back_phase_q;
    lane_channel = back_channel_q + 10'(lane_next);
    unique case (back_few_q)
      4'b0001: begin
        lane_phase   = lane_phase + lane_next;
        lane_channel = '0;
      end
      4'b0010: begin
        lane_phase   = lane_phase + 4'(lane_next[3:1]);
        lane_channel = 10'(lane_next[0]);
      end
      4'b0100: begin
        lane_phase   = lane_phase + 4'(lane_next[3:2]);
        lane_channel = 10'(lane_next[1:0]);
      end
      4'b1000: begin
        lane_phase   = lane_phase + 4'(lane_next[3]);
        lane_channel = 10'(lane_next[2:0]);
      end
      default: ;
    endcase
  end
  always_ff @(posedge clk_i) begin
    lane_phase_q   <= lane_phase;
    lane_channel_q <= lane_channel;
  end
  assign phase_across = lane_phase_q & stride_mask;
  assign phase_down   = lane_phase_q >> tile_q.stride;
  logic [8:0] back_row;                           // y
  logic [8:0] back_column;                        // x of result 0
  logic [4:0] back_count;
  logic [9:0] back_left;                          // words of the line from there, and S - 1
  logic       lane_on;
  assign back_row    = back_row_q + 9'(phase_down);
  assign back_column = back_column_q | 9'(phase_across);
  assign back_left   = back_left_q - 10'(phase_across);
  always_comb begin
    // Results at every S-th word that lie in the line.
    logic [8:0] fits;
    fits       = back_left[9] ? 9'd0 : back_left[8:0] >> tile_q.stride;
    back_count = fits < 9'(patch_count_q) ? 5'(fits) : patch_count_q;
  end
  logic [10:0] lane_output;
  assign lane_output = patch_output_q + 11'(lane_q);
  assign lane_on = patch_on_q && (kind == FwConv
      ? lane_output < tile_q.outputs
      : lane_channel_q < tile_q.inputs && back_row < 9'(tile_q.height) && back_count != '0);

  // ---- Connected layers: 16 results of a sample, BwFc in pieces of lines
  logic [16:0] vector_first;                      // of its results, in the layer
  logic [16:0] vector_left;
  logic [12:0] vector_row_q;                      // 16 results before it, each
  logic        vector_on;
  logic [15:0] flat_row_q, piece_row_q;
  logic [16:0] flat_word_q, piece_word_q;
  logic [16:0] flat_left_q, piece_left_q;         // words to the end of the line
  logic [4:0]  piece_first_q;                     // results before the piece,
  logic [4:0]  rest_q;                            // and from it on
  logic [15:0] sample_row_q;
  assign vector_first = kind == FwFc
      ? 17'(tile_q.output_first) + (17'(slot_q) << (3'(tile_q.lanes) + 3'd4))
        + 17'({segment_q, 4'd0})
      : (17'(slot_q) << (SegsLog2 + 4)) + 17'({segment_q, 4'd0});
  assign vector_left  = (kind == FwFc ? 17'(tile_q.outputs) : tile_q.flat_count) - vector_first;
  assign vector_on    = !vector_left[16] && vector_left != '0;
  piece_t      piece;
  logic        sample_end;
  logic [16:0] word_next, left_next;
  logic [15:0] row_next;
  assign piece         = piece_of(rest_q, piece_word_q[3:0], piece_left_q);
  assign word_next     = piece.line_last ? '0 : piece_word_q + 17'(piece.words);
  assign left_next     = piece.line_last ? tile_q.line : piece_left_q - 17'(piece.words);
  assign row_next      = piece.line_last ? piece_row_q + 16'(tile_q.line_blocks) : piece_row_q;
  assign sample_end = 4'(sample_q) == tile_q.samples - 4'd1;

  // ---- Into the map, through a register: the row of a line is a product after it
  typedef struct packed {
    logic [511:0]      data;
    logic [15:0]       row;                       // of channel 0 and line 0
    logic [9:0]        channel;
    logic [8:0]        line;
    logic signed [9:0] x;
    logic [3:0]        first;
    logic [4:0]        count;
    logic              fill;
  } result_t;
  result_t     result, result_q;
  logic        result_valid, result_valid_q;
  logic        result_ready;
  logic        scatter_busy, scatter_ready;
  logic [15:0] scatter_row;
  assign line_ready   = state_q == StLines && result_ready;
  assign result_valid = (state_q == StLines && line_valid && lane_on) || state_q == StPieces;
  assign result_ready = !result_valid_q || scatter_ready;
  assign scatter_row  = result_q.row + 16'(result_q.channel) * tile_q.t_channel
                        + 16'(result_q.line) * 16'(tile_q.t_blocks);
  always_comb begin
    result = '{data: line_data, row: line_row_q, channel: '0, line: '0,
               x: $signed(first_column_q), first: '0, count: patch_count_q, fill: patch_fill_q};
    if (kind == BwConv) begin
      result.row     = tile_q.to;
      result.channel = lane_channel_q;
      result.line    = back_row;
      result.x       = $signed({1'b0, back_column});
      result.count   = back_count;
      result.fill    = 1'b0;
    end
    if (state_q == StPieces) begin
      result.data  = sum_data_i[segment_q[(SegsLog2 > 0 ? SegsLog2 - 1 : 0):0]];
      result.count = kind == FwFc ? rest_q : piece.words;
      result.fill  = kind == FwFc;
      result.first = kind == FwFc ? '0 : piece_first_q[3:0];
      // The words of a line's 16, counted from the result 0 on.
      result.x     = kind == FwFc ? '0
                     : $signed({6'd0, piece_word_q[3:0]}) - $signed({5'd0, piece_first_q});
      result.row   = sample_row_q + (kind == FwFc ? 16'(vector_row_q)
                                                  : piece_row_q + 16'(piece_word_q[16:4]));
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)           result_valid_q <= 1'b0;
    else if (result_ready) result_valid_q <= result_valid;
    if (result_ready && result_valid) result_q <= result;
  end
  jd_a3c_scatter u_scatter (
    .clk_i, .rst_ni,
    .busy_o        (scatter_busy),
    .in_valid_i    (result_valid_q),
    .in_ready_o    (scatter_ready),
    .in_data_i     (result_q.data),
    .in_row_i      (scatter_row),
    .in_x_i        (result_q.x),
    .in_first_i    (result_q.first),
    .in_count_i    (result_q.count),
    .in_stride_i   (kind == BwConv ? tile_q.stride : 2'd0),
    .in_fill_i     (result_q.fill),
    .in_relu_i     (tile_q.relu && (kind == FwConv || kind == FwFc)),
    .in_mask_i     (tile_q.relu && (kind == BwConv || kind == BwFc)),
    .read_valid_o  (read_valid_o),
    .read_ready_i  (read_ready_i),
    .read_row_o    (read_row_o),
    .read_data_i   (read_data_i),
    .write_valid_o (write_valid_o),
    .write_row_o   (write_row_o),
    .write_mask_o  (write_mask_o),
    .write_data_o  (write_data_o)
  );

  // ---- Reads of sums
  always_comb begin
    sum_valid_o = step_q2.valid && step_q2.fresh && !step_q2.preload;
    sum_o       = step_q2.sum;
    if (state_q == StPatch && !beat_q[4]) begin
      sum_valid_o = 1'b1;
      sum_o       = 5'(sum_q) + {1'b0, beat_q[3:0]};
    end
    if (state_q == StVector) begin
      sum_valid_o = 1'b1;
      sum_o       = 5'(slot_q) * 5'(tile_q.samples) + 5'(sample_q);
    end
    sum_half_o = drain_half_i;
  end

  // ---- Saving
  assign save_valid_o  = state_q == StSave;
  assign save_sample_o = kind == FwConv ? tile_q.sample : sample_q;
  assign save_offset_o = tile_q.save_offset;
  assign save_rows_o   = tile_q.save_rows;
  assign save_row_o    = kind == FwConv ? tile_q.to : sample_row_q;

  // ---- Steps
  logic grad_end;                                 // the last row of the tile
  logic patch_end_q;                              // the patch in hand is the tile's last
  logic grads_empty, patch_last, vector_end, patch_skip;
  assign prepares    = prepare_valid_i && (!prepare_tile_i.preload_late || !prepare_tile_i.preload
                                           || prepare_oldest_i);
  assign grads_empty = !step_q0.valid && !step_q1.valid && !step_q2.valid && !step_q3.valid
                       && !back_valid_q1 && !back_valid_q2;
  assign patch_last  = sums_left <= 6'd16 && slot_end && segment_end && group_end;
  assign patch_skip  = kind == FwConv ? 9'(map_row_q) >= 9'(tile_q.rows) || columns_left[9]
                                        || columns_left == '0
                                        || 8'(map_row_q - tile_q.top) >= tile_q.f_rows
                                      : 4'(group_q) >= tile_q.groups;
  assign vector_end  = slot_end && segment_end;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= StIdle;
      preparing_q <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: begin
          if (prepares) begin
            preparing_q <= 1'b1;
            state_q     <= prepare_tile_i.kind == BwConv ? StClear
                           : prepare_tile_i.preload ? StPreload : StDone;
          end else if (drain_valid_i) begin
            preparing_q <= 1'b0;
            unique case (drain_tile_i.kind)
              GcConv:  state_q <= drain_tile_i.zero ? StZero : StGradients;
              GcFc:    state_q <= drain_tile_i.block_begin ? StRoom : StGradients;
              FwFc, BwFc: state_q <= drain_tile_i.settled && save_busy_i ? StIdle : StVector;
              default: state_q <= drain_tile_i.settled && save_busy_i ? StIdle : StPatch;
            endcase
          end
        end
        StClear:     if (sum_q + 6'd1 == tile_q.n0) state_q <= StDone;
        StZero:      if (residents_q == '0 && zero_q + 16'd1 == resident_i) state_q <= StGradients;
        StRoom:      if (room) state_q <= StGradients;
        StPreload, StGradients: if (grad_end) state_q <= StFlush;
        StFlush: if (grads_empty) begin
          state_q <= !preparing_q && (kind == GcConv ? tile_q.chunk : tile_q.block_end) ? StChunk
                                                                                    : StDone;
        end
        StChunk:     if (chunk_ready_i) state_q <= StDone;
        StPatch:     if (beat_q[4]) state_q <= StTurn;
        StTurn:      state_q <= StLines;
        StLines: if (line_valid && line_ready && lane_q == 4'd15) begin
          state_q <= patch_end_q ? StSettle : StPatch;
        end
        StVector:    state_q <= vector_on ? StPieces : vector_end ? StSettle : StVector;
        StPieces: if (result_ready && (kind == FwFc || piece.last)) begin
          state_q <= sample_end && vector_end ? StSettle : StVector;
        end
        StSettle: if (!result_valid_q && !scatter_busy) begin
          state_q <= tile_q.stage_last && tile_q.save && (kind == FwConv || kind == FwFc) ? StSave
                                                                                       : StDone;
        end
        StSave: if (save_ready_i && (kind == FwConv || sample_end)) state_q <= StDone;
        default:     state_q <= StIdle;
      endcase
    end
  end
  assign prepare_done_o = state_q == StDone && preparing_q;
  assign drain_done_o   = state_q == StDone && !preparing_q;

  assign grad_end = kind == GcConv
      ? segment_end && group_end && (extra_q || (turn_end && slot_end && !tile_q.biases))
      : segment_end && turn_end && slot_end;
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle, StDone: begin
        slot_q    <= '0;
        turn_q    <= '0;
        group_q   <= '0;
        segment_q <= '0;
        sum_q     <= '0;
        part_q    <= '0;
        beat_q    <= '0;
        lane_q    <= '0;
        extra_q   <= 1'b0;
        zero_q    <= '0;
        sample_q  <= '0;
        channel_q <= prepares ? prepare_tile_i.channel_first : drain_tile_i.channel_first;
        top_q     <= prepares ? prepare_tile_i.slot_top : drain_tile_i.slot_top;
        sample_row_q  <= drain_tile_i.to;
        piece_first_q <= '0;
        if (state_q == StIdle && !prepares && drain_valid_i && drain_tile_i.kind == BwFc
            && drain_tile_i.flat == FlatStart) begin
          flat_row_q   <= '0;
          flat_word_q  <= '0;
          flat_left_q  <= drain_tile_i.line;
          piece_row_q  <= '0;
          piece_word_q <= '0;
          piece_left_q <= drain_tile_i.line;
        end
      end
      StClear: sum_q <= sum_q + 6'd1;
      StZero:  if (residents_q == '0) zero_q <= zero_q + 16'd1;
      StPreload, StGradients: begin
        segment_q <= segment_q + 3'd1;
        if (segment_end) begin
          segment_q <= '0;
          group_q   <= group_q + 3'd1;
          if (group_end) begin
            group_q <= '0;
            turn_q  <= turn_q + 6'd1;
            sum_q   <= sum_q + 6'd1;
            if (turn_end) begin
              turn_q <= '0;
              slot_q <= slot_q + 6'd1;
              if (kind == GcConv) begin
                extra_q <= slot_end && tile_q.biases;
                if (6'(top_q) + 6'(4'd1 << groups_log2) < 6'(tile_q.kernel)) begin
                  top_q <= top_q + 5'(4'd1 << groups_log2);
                end else begin
                  top_q     <= '0;
                  channel_q <= channel_q + 10'd1;
                end
              end
            end
          end
        end
      end
      StPatch: begin
        beat_q <= beat_q + 5'd1;
        if (beat_q == '0) begin
          map_row_q      <= map_row;
          share_column_q <= 9'(share) * 9'(tile_q.n0);
          patch_end_q    <= patch_last;
          back_column_q  <= 9'((9'(tile_q.left) + 9'({part_q, 4'd0})) << tile_q.stride);
          back_phase_q   <= tile_q.phase[segment_q];
          back_channel_q <= tile_q.channel[segment_q];
          back_few_q     <= tile_q.padded_inputs[3:0];
        end
        if (beat_q == 5'd1) begin
          patch_row_q    <= tile_q.to + 16'(map_row_q) * 16'(tile_q.t_blocks);
          first_column_q <= first_column;
          patch_output_q <= tile_q.output_first + 11'({segment_q, 4'd0});
          back_row_q     <= 9'({1'b0, map_row_q} << tile_q.stride);
          back_left_q    <= 10'(tile_q.width) + 10'd1 + 10'(stride_mask) - 10'(back_column_q);
        end
        if (beat_q == 5'd2) begin
          patch_count_q <= part_count;
          patch_on_q    <= !patch_skip;
        end
        if (beat_q == 5'd3) begin
          patch_fill_q <= columns_left == 10'(patch_count_q);
          line_row_q <= patch_row_q
                        + 16'(patch_output_q) * tile_q.t_channel;
        end
      end
      StTurn: begin
        beat_q <= '0;
        lane_q <= '0;
      end
      StLines: if (line_valid && line_ready) begin
        lane_q     <= lane_q + 4'd1;
        line_row_q <= line_row_q + tile_q.t_channel;
        if (lane_q == 4'd15) begin
          // The next patch: sums of the slot, slots, segments, groups.
          part_q <= part_q + 2'd1;
          sum_q  <= sum_q + 6'd16;
          if (sums_left <= 6'd16) begin
            part_q    <= '0;
            slot_q    <= slot_q + 6'd1;
            sum_q     <= sum_q + sums_left;
            if (slot_end) begin
              slot_q    <= '0;
              sum_q     <= '0;
              segment_q <= segment_q + 3'd1;
              if (segment_end) begin
                segment_q <= '0;
                group_q   <= group_q + 3'd1;
              end
            end
          end
        end
      end
      StVector: begin
        vector_row_q   <= vector_first[16:4];
        rest_q         <= vector_left < 17'd16 ? 5'(vector_left) : 5'd16;
        if (!vector_on) begin
          segment_q <= segment_q + 3'd1;
          if (segment_end) begin
            segment_q <= '0;
            slot_q    <= slot_q + 6'd1;
          end
        end
      end
      StPieces: if (result_ready) begin
        if (kind == BwFc) begin
          piece_first_q <= piece_first_q + piece.words;
          rest_q        <= rest_q - piece.words;
          piece_row_q   <= row_next;
          piece_word_q  <= word_next;
          piece_left_q  <= left_next;
        end
        if (kind == FwFc || piece.last) begin
          piece_first_q <= '0;
          sample_q      <= sample_q + 3'd1;
          sample_row_q  <= sample_row_q + tile_q.t_sample;
          piece_row_q   <= flat_row_q;
          piece_word_q  <= flat_word_q;
          piece_left_q  <= flat_left_q;
          if (sample_end) begin
            sample_q     <= '0;
            sample_row_q <= tile_q.to;
            segment_q    <= segment_q + 3'd1;
            if (segment_end) begin
              segment_q <= '0;
              slot_q    <= slot_q + 6'd1;
            end
            if (kind == BwFc) begin
              flat_row_q   <= row_next;
              flat_word_q  <= word_next;
              flat_left_q  <= left_next;
              piece_row_q  <= row_next;
              piece_word_q <= word_next;
              piece_left_q <= left_next;
            end
          end
        end
      end
      StSettle: sample_row_q <= tile_q.to;
      StSave: if (save_ready_i) begin
        sample_q     <= sample_q + 3'd1;
        sample_row_q <= sample_row_q + tile_q.t_sample;
      end
      default: ;
    endcase
  end

  `JD_ASSERT_IF(PatchRoom_A, patch_valid_q, patch_ready)
  `JD_ASSERT_IF(OneRead_A, step_q2.valid && step_q2.fresh && !step_q2.preload,
                state_q != StPatch && state_q != StVector)
  `JD_ASSERT_IF(ChunkFits_A, state_q == StRoom && room,
                32'(start_q) + 32'(room_rows) <= GradientRows)
endmodule : jd_a3c_drain
