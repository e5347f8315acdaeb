// SPDX-License-Identifier: Apache-2.0
//
// Fills the buffers of the next tiles: rows of feature maps into the line buffers, gradients into
// the lane buffer.
//
// Streams  tile_i is the next tile to fetch for; tile_done_o takes it. read: rows of the
//          feature-map buffer; data are valid 2 clocks after a row is taken. stitch, lane: writes
//          into the buffers. line_full_o, lane_full_o: halves that are full; a free pulse gives the
//          older half back.
// Timing   A row per clock while a half is free. A half of the line buffers is full 3 clocks after
//          its last row; of the lane buffer 20, because its rows pass a transposer.
// Numbers  bits, unchanged. Rows modulo 2^16.
// Source   FA3C (ASPLOS 2019) section 4.5 (buffer control unit: shifting, stitching). a3c 6.2-6.4.
//
// Inputs of a connected layer are stitched flat, 16 at a time for every sample, whatever lines of
// the map they lie in. A piece of a line may bring words before or after the wanted ones. The next
// piece overwrites them, or they lie beyond the 16.
`include "jd_assert.svh"
module jd_a3c_fetch
  import jd_a3c_tile_pkg::*;
#(
  parameter  int unsigned Pes  = 16,              // processing elements: 16, 32, 64 or 128
  localparam int unsigned SEGS = Pes / 16         // line buffers; memories of the lane buffer
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             tile_valid_i,
  input  tile_t            tile_i,
  output logic             tile_done_o,
  input  logic             drained_i,              // all tiles before it are drained
  input  logic [7:0]       loaded_i,               // items of feature maps, modulo 256
  output logic [7:0]       samples_o,              // whose convolutions' maps are not read any more
  output logic             read_valid_o,
  input  logic             read_ready_i,
  output logic [15:0]      read_row_o,
  input  logic [511:0]     read_data_i,
  output logic [SEGS-1:0]  stitch_valid_o,         // line buffers that take the row
  output logic             stitch_half_o,
  output logic [7:0]       stitch_offset_o,
  output logic [511:0]     stitch_data_o,
  output logic [SEGS-1:0]  lane_valid_o,
  output logic             lane_half_o,
  output logic [5:0]       lane_entry_o,
  output logic [511:0]     lane_data_o,
  output logic [1:0]       line_full_o,
  input  logic             line_free_i,
  output logic [1:0]       lane_full_o,
  input  logic             lane_free_i
);
  localparam int unsigned SegsLog2 = $clog2(SEGS);

  typedef enum logic [2:0] {StIdle, StBegin, StLanes, StLines, StFlush} state_e;
  state_e state_q;
  kind_e  kind;
  tile_t  tile_q;                                 // in hand
  assign kind = tile_q.kind;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) tile_q <= tile_i;
  end

  // ---- Where the loops are
  logic [9:0]  high_q;                            // loop 4
  logic [12:0] low_q;                             // loop 3
  logic [7:0]  group_q;                           // FwConv: row; GcConv, BwConv: group
  logic [5:0]  slot_q;                            // GcConv
  logic [4:0]  top_q;                             // GcConv: kernel row of the slot's first group
  logic [3:0]  block_q;                           // of a line
  logic [2:0]  sample_q;
  logic [15:0] high_row_q, low_row_q, slot_row_q, group_row_q, channel_row_q, line_row_q;
  logic [15:0] sample_row_q;
  logic [7:0]  slot_word_q;
  // Flat inputs: where the 16 begin, and where the piece in hand does.
  logic [15:0] flat_row_q, mark_row_q, piece_row_q;
  logic [16:0] flat_word_q, mark_word_q, piece_word_q;
  logic [16:0] flat_left_q, mark_left_q, piece_left_q;      // words to the end of the line
  logic [4:0]  place_q;                           // of the piece's first word
  // Gradients for the lanes.
  logic [15:0] lane_row_q, lane_line_q, lane_group_q;
  logic [2:0]  lane_segment_q;
  logic [3:0]  lane_block_q, lane_channel_q;
  logic [6:0]  lane_output_q;                     // GcFc: block of outputs
  logic [5:0]  lane_base_q;                       // GcFc: the sample's first entry

  // ---- Halves
  logic [1:0] line_busy_q, line_full_q, lane_busy_q, lane_full_q;
  logic       line_half_q, line_use_q, lane_half_q, lane_use_q;
  logic       lines_begin, lanes_begin;           // a filling takes its half
  logic       filled, lanes_filled;               // it is done
  logic       filled_half, lanes_filled_half;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      line_busy_q <= '0;
      line_full_q <= '0;
      lane_busy_q <= '0;
      lane_full_q <= '0;
      line_half_q <= 1'b0;
      line_use_q  <= 1'b0;
      lane_half_q <= 1'b0;
      lane_use_q  <= 1'b0;
    end else begin
      if (lines_begin) begin
        line_busy_q[line_half_q] <= 1'b1;
        line_half_q <= !line_half_q;
      end
      if (filled) line_full_q[filled_half] <= 1'b1;
      if (line_free_i) begin
        line_busy_q[line_use_q] <= 1'b0;
        line_full_q[line_use_q] <= 1'b0;
        line_use_q <= !line_use_q;
      end
      if (lanes_begin) begin
        lane_busy_q[lane_half_q] <= 1'b1;
        lane_half_q <= !lane_half_q;
      end
      if (lanes_filled) lane_full_q[lanes_filled_half] <= 1'b1;
      if (lane_free_i) begin
        lane_busy_q[lane_use_q] <= 1'b0;
        lane_full_q[lane_use_q] <= 1'b0;
        lane_use_q <= !lane_use_q;
      end
    end
  end
  assign line_full_o = line_full_q;
  assign lane_full_o = lane_full_q;

  // ---- The row in hand
  logic        flat_kind;
  assign flat_kind = kind == FwFc || kind == GcFc;
  piece_t      piece;
  logic [16:0] word_next, left_next;
  logic [15:0] row_next;
  assign piece         = piece_of(5'd16 - place_q, piece_word_q[3:0], piece_left_q);
  assign word_next     = piece.line_last ? '0 : piece_word_q + 17'(piece.words);
  assign left_next     = piece.line_last ? tile_q.line : piece_left_q - 17'(piece.words);
  assign row_next      = piece.line_last ? piece_row_q + 16'(tile_q.line_blocks) : piece_row_q;

  // A group of BwConv has no row for the tap.
  logic [8:0] tap_row;                            // v - jy
  logic       no_row;
  assign tap_row = 9'(tile_q.top) + 9'(group_q) - 9'(tile_q.tap_top) - 9'(low_q[4:0]);
  assign no_row  = kind == BwConv && (tap_row[8] || tap_row[7:0] >= tile_q.rows);

  typedef struct packed {
    logic            last;                        // of its filling
    logic            line;                        // for the line buffers
    logic            half;
    logic [SEGS-1:0] mask;
    logic [7:0]      offset;
    logic            patch;                       // for the transposer
    logic            lane;                        // for the lane buffer
    logic [5:0]      entry;
  } place_t;
  place_t      place, place_q1, place_q2;
  logic        token;                             // a row, or a group without one, is passed
  logic        take;                              // and goes on in this clock
  logic [15:0] row;
  logic        block_end, group_end, slot_end, sample_end, fill_end;
  logic        lanes_ready, lines_ready;
  logic        lane_open_q, line_open_q;          // the filling has its half
  assign sample_end = 4'(sample_q) == tile_q.samples - 4'd1;
  assign block_end  = block_q == tile_q.f_blocks - 4'd1;
  always_comb begin
    unique case (kind)
      FwConv:  group_end = group_q == tile_q.f_rows - 8'd1;
      GcConv:  group_end = group_q[3:0] == tile_q.groups - 4'd1
                           || 6'(top_q) + 6'(group_q[3:0]) + 6'd1 == 6'(tile_q.kernel);
      default: group_end = group_q[3:0] == tile_q.groups - 4'd1;
    endcase
  end
  assign slot_end = kind != GcConv || slot_q == tile_q.n1 - 6'd1;
  always_comb begin
    unique case (kind)
      FwFc, GcFc: fill_end = sample_end && piece.last;
      BwFc:       fill_end = sample_end;
      default:    fill_end = block_end && group_end && slot_end;
    endcase
  end

  // Lanes.
  logic lane_channel_end, lane_block_end, lane_segment_end, lane_outputs_end, lanes_end;
  assign lane_channel_end = lane_channel_q == 4'd15;
  assign lane_block_end   = lane_block_q == tile_q.lane_blocks - 4'd1;
  assign lane_outputs_end = lane_output_q == tile_q.block_count - 7'd1;
  assign lane_segment_end = 4'(lane_segment_q) + 4'd1 == 4'd1 << tile_q.lanes;
  assign lanes_end        = kind == GcConv ? lane_channel_end && lane_block_end && lane_segment_end
                                           : sample_end && lane_outputs_end;

  assign lanes_ready = lane_open_q || !lane_busy_q[lane_half_q];
  assign lines_ready = line_open_q || !line_busy_q[line_half_q];
  assign lanes_begin = state_q == StLanes && !lane_open_q && lanes_ready;
  assign lines_begin = state_q == StLines && !line_open_q && lines_ready;
  assign token       = (state_q == StLanes && lanes_ready) || (state_q == StLines && lines_ready);
  assign read_valid_o = token && !(state_q == StLines && no_row);
  assign take         = token && (!read_valid_o || read_ready_i);
  assign read_row_o   = row;

  // The halves of open fillings: the pointer has moved on.
  logic line_now, lane_now;
  assign line_now = line_open_q ? !line_half_q : line_half_q;
  assign lane_now = lane_open_q ? !lane_half_q : lane_half_q;
  logic [SEGS-1:0] split_mask;                    // groups that share the row
  assign split_mask = SEGS'((32'd1 << (32'd1 << tile_q.split)) - 32'd1);
  logic [SegsLog2:0] groups_log2;                 // of a tile
  assign groups_log2 = (SegsLog2 + 1)'(SegsLog2) - (SegsLog2 + 1)'(tile_q.lanes);
  logic [7:0] group_slot;                         // FwConv: slot of the row
  logic [2:0] group_place;                        // and its group
  assign group_slot  = group_q >> groups_log2;
  assign group_place = 3'(group_q - (group_slot << groups_log2));
  always_comb begin
    row   = group_row_q + 16'(block_q);
    place = '0;
    if (state_q == StLanes) begin
      place.last  = lanes_end;
      place.half  = lane_now;
      place.patch = kind == GcConv;
      place.lane  = kind != GcConv;
      place.mask  = SEGS'(32'd1 << (3'(lane_output_q) & ~(3'b111 << tile_q.lanes)));
      place.entry = lane_base_q + 6'(lane_output_q >> tile_q.lanes);
      row         = kind == GcConv ? lane_row_q + 16'(lane_block_q)
                                   : lane_row_q + 16'(lane_output_q);
    end else begin
      place.last = fill_end;
      place.half = line_now;
      place.line = !no_row;
      place.mask = SEGS'(1);
      unique case (kind)
        FwConv: begin
          place.mask   = tile_q.split != 2'd0 ? split_mask << (32'(group_q) << tile_q.split)
                                              : SEGS'(32'd1 << group_place);
          place.offset = 8'({group_slot[3:0] * tile_q.f_blocks + block_q, 4'd0});
        end
        GcConv: begin
          place.mask   = SEGS'(32'd1 << group_q[2:0]);
          place.offset = slot_word_q + {block_q, 4'd0};
        end
        BwConv: begin
          place.mask   = SEGS'(32'd1 << group_q[2:0]);
          place.offset = {block_q, 4'd0};
        end
        BwFc: begin
          place.offset = {sample_q, 5'd0};
          row          = sample_row_q + 16'(low_q);
        end
        default: begin
          place.offset = {sample_q, 5'd0} + 8'(place_q) - 8'(piece_word_q[3:0]);
          row          = sample_row_q + piece_row_q + 16'(piece_word_q[16:4]);
        end
      endcase
    end
  end

  // ---- Rows that return from the buffer
  logic       passed_q1, passed_q2;
  logic       patch_valid, patch_ready, column_valid;
  logic [511:0] column;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      passed_q1 <= 1'b0;
      passed_q2 <= 1'b0;
    end else begin
      passed_q1 <= take;
      passed_q2 <= passed_q1;
    end
    place_q1 <= place;
    place_q2 <= place_q1;
  end
  assign stitch_valid_o  = passed_q2 && place_q2.line ? place_q2.mask : '0;
  assign stitch_half_o   = place_q2.half;
  assign stitch_offset_o = place_q2.offset;
  assign stitch_data_o   = read_data_i;
  logic lane_token;
  assign lane_token      = place_q2.patch || place_q2.lane;
  assign filled          = passed_q2 && place_q2.last && !lane_token;
  assign filled_half     = place_q2.half;

  // Gradients of a convolution arrive as rows of a channel and leave as channels of a column.
  assign patch_valid = passed_q2 && place_q2.patch;
  jd_stream_transpose u_transpose (
    .clk_i, .rst_ni,
    .in_valid_i  (patch_valid),
    .in_ready_o  (patch_ready),
    .in_data_i   (read_data_i),
    .out_valid_o (column_valid),
    .out_ready_i (1'b1),
    .out_data_o  (column)
  );
  logic [3:0] out_column_q, out_block_q;
  logic [2:0] out_segment_q;
  logic       out_half_q;
  logic       out_end;
  logic [2:0] patches_q;                          // that are in the transposer
  logic       patch_in, patch_out;
  assign out_end = out_column_q == 4'd15 && out_block_q == tile_q.lane_blocks - 4'd1
                   && 4'(out_segment_q) + 4'd1 == 4'd1 << tile_q.lanes;
  assign patch_in  = state_q == StLanes && take && kind == GcConv && lane_channel_end;
  assign patch_out = column_valid && out_column_q == 4'd15;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_column_q  <= '0;
      out_block_q   <= '0;
      out_segment_q <= '0;
      patches_q     <= '0;
    end else begin
      if (patch_in != patch_out) patches_q <= patch_in ? patches_q + 3'd1 : patches_q - 3'd1;
      if (column_valid) begin
        out_column_q <= out_column_q + 4'd1;
        if (out_column_q == 4'd15) begin
          out_block_q <= out_block_q + 4'd1;
          if (out_block_q == tile_q.lane_blocks - 4'd1) begin
            out_block_q   <= '0;
            out_segment_q <= out_end ? '0 : out_segment_q + 3'd1;
          end
        end
      end
    end
  end
  // Fillings end in the order in which they took their halves.
  always_ff @(posedge clk_i) begin
    if (!rst_ni)           out_half_q <= 1'b0;
    else if (lanes_filled) out_half_q <= !out_half_q;
  end
  assign lanes_filled      = column_valid ? out_end : passed_q2 && place_q2.lane && place_q2.last;
  assign lanes_filled_half = out_half_q;
  assign lane_valid_o = column_valid ? SEGS'(32'd1 << out_segment_q)
                                     : (passed_q2 && place_q2.lane ? place_q2.mask : '0);
  assign lane_half_o  = out_half_q;
  assign lane_entry_o = column_valid ? {out_block_q[1:0], out_column_q} : place_q2.entry;
  assign lane_data_o  = column_valid ? column : read_data_i;

  // ---- Steps
  logic empty, wants_lanes, wants_lines, low_end, high_end;
  logic [7:0] ahead;                              // items loaded beyond the needed ones
  assign ahead       = loaded_i - tile_i.need;
  assign empty       = tile_q.n2 == '0 || tile_q.n3 == '0;
  assign wants_lanes = kind == GcConv || (kind == GcFc && tile_q.lane_first);
  assign wants_lines = kind != GcFc || (tile_q.line_first && !tile_q.biases);
  assign low_end     = flat_kind && kind == GcFc ? 1'b1 : low_q == tile_q.n3 - 13'd1;
  assign high_end    = high_q == tile_q.n4 - 10'd1;
  logic pipe_empty;
  assign pipe_empty  = !passed_q1 && !passed_q2 && patches_q == '0;
  assign tile_done_o = state_q == StFlush && pipe_empty;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q     <= StIdle;
      samples_o   <= '0;
      lane_open_q <= 1'b0;
      line_open_q <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: if (tile_valid_i && (!tile_i.barrier || drained_i) && !ahead[7]) state_q <= StBegin;
        StBegin: state_q <= empty ? StFlush : wants_lanes ? StLanes : wants_lines ? StLines
                                                                                  : StFlush;
        StLanes: begin
          if (lanes_ready) lane_open_q <= 1'b1;
          if (take && lanes_end) begin
            lane_open_q <= 1'b0;
            state_q     <= wants_lines ? StLines : StFlush;
          end
        end
        StLines: begin
          if (lines_ready) line_open_q <= 1'b1;
          if (take && fill_end) begin
            line_open_q <= 1'b0;
            if (low_end && high_end)  state_q <= StFlush;
            else if (kind == GcConv) state_q <= StLanes;
          end
        end
        default: if (pipe_empty) begin
          state_q   <= StIdle;
          samples_o <= samples_o + 8'(tile_q.samples_done);
        end
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StBegin) begin
      high_q        <= '0;
      low_q         <= '0;
      group_q       <= '0;
      slot_q        <= '0;
      block_q       <= '0;
      sample_q      <= '0;
      slot_word_q   <= '0;
      place_q       <= '0;
      top_q         <= tile_q.slot_top;
      high_row_q    <= tile_q.from;
      low_row_q     <= tile_q.from;
      slot_row_q    <= tile_q.from;
      group_row_q   <= tile_q.from;
      line_row_q    <= tile_q.f_channel;
      channel_row_q <= tile_q.f_channel;
      sample_row_q  <= tile_q.from;
      lane_row_q    <= tile_q.lane_from;
      lane_line_q   <= tile_q.lane_from;
      lane_group_q  <= tile_q.lane_from;
      lane_segment_q <= '0;
      lane_block_q   <= '0;
      lane_channel_q <= '0;
      lane_output_q  <= '0;
      lane_base_q    <= '0;
      if (flat_kind) begin
        unique case (tile_q.flat)
          FlatStart: begin
            flat_row_q  <= '0;
            flat_word_q <= '0;
            mark_row_q  <= '0;
            mark_word_q <= '0;
            piece_row_q  <= '0;
            piece_word_q <= '0;
            flat_left_q  <= tile_q.line;
            mark_left_q  <= tile_q.line;
            piece_left_q <= tile_q.line;
          end
          FlatMark: begin
            mark_row_q   <= flat_row_q;
            mark_word_q  <= flat_word_q;
            mark_left_q  <= flat_left_q;
            piece_row_q  <= flat_row_q;
            piece_word_q <= flat_word_q;
            piece_left_q <= flat_left_q;
          end
          FlatBack: begin
            flat_row_q   <= mark_row_q;
            flat_word_q  <= mark_word_q;
            flat_left_q  <= mark_left_q;
            piece_row_q  <= mark_row_q;
            piece_word_q <= mark_word_q;
            piece_left_q <= mark_left_q;
          end
          default: begin
            piece_row_q  <= flat_row_q;
            piece_word_q <= flat_word_q;
            piece_left_q <= flat_left_q;
          end
        endcase
      end
    end
    if (state_q == StLanes && take) begin
      if (kind == GcConv) begin
        lane_channel_q <= lane_channel_q + 4'd1;
        lane_row_q     <= lane_row_q + tile_q.lane_step;
        if (lane_channel_end) begin
          lane_block_q <= lane_block_q + 4'd1;
          lane_row_q   <= lane_group_q;
          if (lane_block_end) begin
            lane_block_q   <= '0;
            lane_segment_q <= lane_segment_q + 3'd1;
            lane_group_q   <= lane_row_q + tile_q.lane_step;
            lane_row_q     <= lane_row_q + tile_q.lane_step;
            if (lane_segment_end) begin
              lane_segment_q <= '0;
              lane_line_q    <= lane_line_q + 16'(tile_q.lane_blocks);
              lane_group_q   <= lane_line_q + 16'(tile_q.lane_blocks);
              lane_row_q     <= lane_line_q + 16'(tile_q.lane_blocks);
            end
          end
        end
      end else begin
        lane_output_q <= lane_output_q + 7'd1;
        if (lane_outputs_end) begin
          lane_output_q <= '0;
          lane_base_q   <= lane_base_q + tile_q.e2[5:0];
          lane_row_q    <= lane_row_q + tile_q.lane_step;
          sample_q      <= sample_end ? '0 : sample_q + 3'd1;
        end
      end
    end
    if (state_q == StLines && take) begin
      if (flat_kind) begin
        place_q      <= place_q + piece.words;
        piece_row_q  <= row_next;
        piece_word_q <= word_next;
        piece_left_q <= left_next;
        if (piece.last) begin
          place_q      <= '0;
          sample_q     <= sample_q + 3'd1;
          sample_row_q <= sample_row_q + tile_q.f_sample;
          piece_row_q  <= flat_row_q;
          piece_word_q <= flat_word_q;
          piece_left_q <= flat_left_q;
          if (sample_end) begin
            sample_q     <= '0;
            sample_row_q <= tile_q.from;
            low_q        <= low_q + 13'd1;
            flat_row_q   <= row_next;
            flat_word_q  <= word_next;
            flat_left_q  <= left_next;
            piece_row_q  <= row_next;
            piece_word_q <= word_next;
            piece_left_q <= left_next;
          end
        end
      end else if (kind == BwFc) begin
        sample_q     <= sample_end ? '0 : sample_q + 3'd1;
        sample_row_q <= sample_end ? tile_q.from : sample_row_q + tile_q.f_sample;
        if (sample_end) low_q <= low_q + 13'd1;
      end else begin
        block_q <= block_q + 4'd1;
        if (block_end) begin
          block_q     <= '0;
          group_q     <= group_q + 8'd1;
          group_row_q <= group_row_q + tile_q.f_group;
          if (group_end) begin
            group_q     <= '0;
            slot_q      <= slot_q + 6'd1;
            slot_word_q <= slot_word_q + {tile_q.f_blocks, 4'd0};
            if (6'(top_q) + 6'(tile_q.groups) < 6'(tile_q.kernel)) begin
              top_q       <= top_q + 5'(tile_q.groups);
              slot_row_q  <= slot_row_q + tile_q.f_slot;
              group_row_q <= slot_row_q + tile_q.f_slot;
            end else begin
              top_q         <= '0;
              channel_row_q <= channel_row_q + tile_q.f_high;
              slot_row_q    <= channel_row_q + tile_q.f_high;
              group_row_q   <= channel_row_q + tile_q.f_high;
            end
            if (slot_end) begin
              // The next filling.
              slot_q      <= '0;
              slot_word_q <= '0;
              top_q       <= tile_q.slot_top;
              low_q       <= low_q + 13'd1;
              if (kind == BwConv) begin
                low_row_q   <= low_row_q - tile_q.f_low;
                group_row_q <= low_row_q - tile_q.f_low;
              end else begin
                low_row_q   <= low_row_q + tile_q.f_low;
                slot_row_q  <= low_row_q + tile_q.f_low;
                group_row_q <= low_row_q + tile_q.f_low;
              end
              line_row_q    <= line_row_q + tile_q.f_low;
              channel_row_q <= line_row_q + tile_q.f_low;
              if (low_end) begin
                low_q       <= '0;
                high_q      <= high_q + 10'd1;
                high_row_q  <= high_row_q + tile_q.f_high;
                low_row_q   <= high_row_q + tile_q.f_high;
                group_row_q <= high_row_q + tile_q.f_high;
              end
            end
          end
        end
      end
    end
  end

  `JD_ASSERT_IF(PatchRoom_A, patch_valid, patch_ready)
  `JD_ASSERT_IF(OneLaneWrite_A, column_valid, !(passed_q2 && place_q2.lane))
  `JD_ASSUME_IF(LineHeld_M, line_free_i, line_full_q[line_use_q])
  `JD_ASSUME_IF(LaneHeld_M, lane_free_i, lane_full_q[lane_use_q])
endmodule : jd_a3c_fetch
