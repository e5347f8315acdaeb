// SPDX-License-Identifier: Apache-2.0
//
// Walks through tasks and makes their tiles: which sums stand together, where their factors come
// from and where they go.
//
// Streams  a task by go_i and finish_o, its layers by layer_index_o and layer_i, which is that of
//          the index one clock before; tile: the task's tiles, in order.
// Timing   some ten clocks for a stage, then at most 40 for a tile; out_* are registers.
// Numbers  rows and positions modulo 2^16.
// Source   FA3C (ASPLOS 2019) section 4.4 (dataflow of the stages), a3c 6, 7.9. Golden model:
//          models/a3c/timing.py, stage_loops, has the same tiles.
//
// An inference is, for each sample, FW of the convolutions, then FW of the connected layers over
// all samples. A training is the connected layers, last to first, each with GC and BW in turn for
// windows of inputs, because BW writes over the map that GC reads; then for each sample the
// convolutions, last to first, GC and BW.
`include "jd_assert.svh"
module jd_a3c_walk
  import jd_a3c_pkg::*;
  import jd_a3c_tile_pkg::*;
#(
  parameter int unsigned Pes           = 16,     // processing elements: 16, 32, 64 or 128
  parameter int unsigned AddLatency    = 4,      // 2..8
  parameter int unsigned ParameterRows = 512     // of the parameter buffer, a power of two
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        go_i,
  input  task_t       task_i,
  input  logic        slot_i,                    // of the task in the unit
  input  logic [3:0]  convs_i,                   // its convolutions
  output logic        finish_o,                  // all tiles are out
  output logic [3:0]  layer_index_o,
  input  unit_layer_t layer_i,
  output logic        tile_valid_o,
  input  logic        tile_ready_i,
  output tile_t       tile_o
);
  localparam int unsigned SEGS     = Pes / 16;
  localparam int unsigned SegsLog2 = $clog2(SEGS);
  localparam logic [15:0] SEGS_MASK = 16'(SEGS - 1);

  typedef enum logic [3:0] {
    StIdle, StStage, StRead, StThis, StNext, StBefore, StProducts, StSums, StPass, StTile, StMake,
    StOffer, StSlots, StAdvance, StFinish
  } state_e;
  // What a stage does.
  typedef enum logic [1:0] {StageFw, StageGc, StageBw, StageConnected} stage_e;
  state_e      state_q;
  stage_e      stage_q;

  // ---- Where the walk is
  logic [3:0]  layer_q;                          // in hand
  logic [2:0]  sample_q;                         // of the convolutions
  logic [15:0] position_q;                       // in the parameter buffer, behind the last segment
  logic [15:0] convs_position_q;                 // training: of the first convolution's
  logic [7:0]  items_q;                          // of feature maps, up to this stage
  logic [7:0]  number_q;                         // samples before the task
  logic        barrier_q;
  logic        zeroed_q;                         // a tile of the task clears the resident gradients

  unit_layer_t this_q, next_q;
  logic        relu_before_q;                    // of the layer before
  layer_t      lay;
  assign lay = this_q.layer;
  logic        convolves, training;
  assign convolves = lay.convolves;
  assign training  = task_i.train;
  logic [2:0]  last_sample;
  assign last_sample = 3'(task_i.samples - 4'd1);

  // ---- Constants of a stage
  logic [1:0]  lanes;                            // log2 of lanes/16
  logic [1:0]  groups_log2;
  logic [3:0]  groups;
  logic [3:0]  lane_blocks;                      // lanes/16
  assign lanes       = stage_q == StageBw ? lay.lanes_backward : lay.lanes_forward;
  assign groups_log2 = 2'(SegsLog2) - lanes;
  assign groups      = 4'd1 << groups_log2;
  assign lane_blocks = 4'd1 << lanes;

  logic [15:0] base_in_q, base_out_q;            // rows of the sample's maps
  logic [15:0] line_rows_q;                      // H * XB, R * XB of the output, IPAD * OB
  logic [15:0] out_rows_q;
  logic [15:0] input_step_q;
  logic [15:0] phase_blocks_q;                   // S*S*IPAD/16, J of them, J*J
  logic [15:0] tap_row_q;
  logic [15:0] output_step_q;
  logic [15:0] weights_q;                        // entries of the layer's weights
  logic [15:0] wrap_area_q;                      // S*S*IPAD*OB
  logic [6:0]  tiles_q;                          // lane tiles of the outputs: OT, of the inputs: LT
  logic [7:0]  phase_rows_q, phase_columns_q;    // V, U
  logic [3:0]  slots_q;                          // FW: rows of a group
  logic [15:0] row_step_q;                       // FW: rows of a tile, S * XB each
  logic [4:0]  kernel_turns_q;                   // GC: KT
  logic [4:0]  slots_most_q;                     // GC: slots of a tile
  logic [13:0] slots_all_q;                      // GC: I * KT
  logic [12:0] input_blocks;                     // QP/16
  logic [3:0]  window_q;                         // BW of a connected layer: tiles of a window
  logic [6:0]  pass_most_q;                      // output tiles of a pass
  logic        slot_line;                        // the row in hand is that of a slot
  assign input_blocks = lay.padded_terms[16:4];
  assign slot_line    = number_q[0] ^ sample_q[0];

  // Quotients of small numbers.
  function automatic logic [4:0] kernels_of(input logic [4:0] kernel);   // 31 / K
    kernels_of = 5'd1;
    for (int unsigned n = 2; n <= 31; n++) if (n * 32'(kernel) <= 31) kernels_of = 5'(n);
  endfunction
  function automatic logic [4:0] lines_of(input logic [12:0] blocks);    // 16 / XB
    lines_of = 5'd1;
    for (int unsigned n = 2; n <= 16; n++) if (n * 32'(blocks) <= 16) lines_of = 5'(n);
  endfunction
  function automatic logic [3:0] rows_hiding(input logic [6:0] columns); // LA / C, up
    rows_hiding = 4'd1;
    for (int unsigned n = 1; n < AddLatency; n++) begin
      if (n * 32'(columns) < AddLatency) rows_hiding = 4'(n + 1);
    end
  endfunction
  function automatic logic [6:0] share(input int unsigned all, input logic [3:0] parts);
    share = 7'd1;                                                        // all / parts
    for (int unsigned n = 1; n <= 8; n++) if (4'(n) == parts) share = 7'(all / n);
  endfunction
  function automatic logic [4:0] inputs_of(input logic [6:0] outputs);   // of a GC tile, 2**k
    inputs_of = 5'd1;
    if (outputs <= 7'd16) inputs_of = 5'd2;
    if (outputs <= 7'd8)  inputs_of = 5'd4;
    if (outputs <= 7'd4)  inputs_of = 5'd8;
    if (outputs <= 7'd2)  inputs_of = 5'd16;
  endfunction

  // ---- Loops of a stage
  logic [6:0]  tile_q;                           // lane tile; first one of a pass
  logic [7:0]  row_q;                            // first row; of BwConv of a phase
  logic [7:0]  column_q;
  logic [15:0] row_from_q;                       // FwConv: its place
  logic [9:0]  channel_q;                        // GC: channel and kernel turn of the first slot
  logic [4:0]  turn_q;
  logic [13:0] slots_done_q;
  logic [15:0] channel_from_q;                   // GC: row of the channel
  logic [15:0] lanes_from_q;                     // GC: row of the first output channel
  logic [4:0]  steps_q;                          // what is left to do one by one
  logic [3:0]  phase_q;                          // BW: of the next segment's first lane
  logic [9:0]  phase_channel_q;
  logic [7:0][3:0] phases_q;
  logic [7:0][9:0] channels_q;
  logic [15:0] weights_from_q;                   // first weight of stage, pass or window
  // Connected layers
  logic [12:0] window_first_q, block_q;          // 16 inputs: first of the window, in hand
  logic [4:0]  input_q;                          // of the 16
  logic [25:0] block_offset_q;                   // the block's first beat in the layer's weights
  logic [25:0] window_offset_q;
  logic        biases_q;                         // the tile of biases is in hand
  logic        back_q;                           // BW of the window is
  logic [6:0]  pass_tiles;                       // of this pass
  logic [12:0] window_blocks;                    // of this window
  logic [3:0]  window_tiles_now;
  logic        pass_one;                         // there is one pass
  logic        pass_last, window_last, block_last;
  logic [12:0] blocks_left;
  assign pass_tiles  = tiles_q - tile_q > pass_most_q ? pass_most_q : tiles_q - tile_q;
  assign pass_one    = tiles_q <= pass_most_q;
  assign pass_last   = tile_q + pass_tiles == tiles_q;
  assign blocks_left = input_blocks - window_first_q;
  assign window_blocks = blocks_left > 13'(window_q) << SegsLog2 ? 13'(window_q) << SegsLog2
                                                                 : blocks_left;
  assign window_tiles_now = 4'((window_blocks + 13'(SEGS) - 13'd1) >> SegsLog2);
  assign window_last = window_blocks == blocks_left;
  assign block_last  = block_q == window_first_q + window_blocks - 13'd1;

  logic [4:0]  inputs_most;                      // of a GC tile
  logic [4:0]  inputs_here;                      // of the block in hand
  logic [4:0]  inputs_last;                      // of the layer's last block
  logic        input_end;                        // the tile ends its block
  logic [4:0]  input_count;
  assign inputs_most = inputs_of(pass_tiles);
  assign inputs_last = 5'(lay.inputs[3:0] == 4'd0) << 4 | 5'(lay.inputs[3:0]);
  assign inputs_here = block_q == input_blocks - 13'd1 ? inputs_last : 5'd16;
  assign input_end   = input_q + inputs_most >= inputs_here;
  assign input_count = input_end ? inputs_here - input_q : inputs_most;

  logic [6:0]  output_rows;                      // rows of 16 outputs
  logic [4:0]  outputs_last;
  assign output_rows  = 7'((12'(lay.outputs) + 12'd15) >> 4);
  assign outputs_last = 5'(lay.outputs[3:0] == 4'd0) << 4 | 5'(lay.outputs[3:0]);

  // FwConv: rows of the tile, groups that share one, its columns.
  logic [7:0]  rows_left, fw_rows, rows_most;
  logic [1:0]  split;
  logic [6:0]  split_columns;
  logic [7:0]  columns_left;
  logic [5:0]  fw_width;
  logic [3:0]  fw_slots;
  assign rows_left = lay.rows - row_q;
  assign rows_most = 8'(slots_q) << groups_log2;
  assign fw_rows   = rows_left < rows_most ? rows_left : rows_most;
  always_comb begin
    split = 2'd0;
    for (int unsigned s = 1; s <= 3; s++) if (fw_rows << s <= 8'(groups)) split = 2'(s);
  end
  assign split_columns = 7'((8'(lay.columns) + (8'd1 << split) - 8'd1) >> split);
  assign columns_left  = 8'(split_columns) - column_q;
  assign fw_width      = columns_left > 8'd32 ? 6'd32 : 6'(columns_left);
  assign fw_slots      = 4'((fw_rows + 8'(groups) - 8'd1) >> groups_log2);

  // GcConv: slots of the tile.
  logic [13:0] slots_left;
  logic [4:0]  gc_slots;
  assign slots_left = slots_all_q - slots_done_q;
  assign gc_slots   = slots_left < 14'(slots_most_q) ? 5'(slots_left) : slots_most_q;

  // BwConv: rows and columns of the tile and the taps that meet them.
  logic [7:0]  bw_left;
  logic [3:0]  bw_rows;
  logic [5:0]  bw_width;
  logic [7:0]  bw_columns_left;
  logic [8:0]  tap_top, tap_bottom, tap_left, tap_right;      // first, and behind the last
  logic [4:0]  taps_down, taps_across;
  assign bw_left         = phase_rows_q - row_q;
  assign bw_rows         = bw_left < 8'(groups) ? 4'(bw_left) : groups;
  assign bw_columns_left = phase_columns_q - column_q;
  assign bw_width        = bw_columns_left > 8'd32 ? 6'd32 : 6'(bw_columns_left);
  assign tap_top    = row_q >= lay.rows ? 9'(row_q - lay.rows) + 9'd1 : 9'd0;
  assign tap_bottom = 9'(row_q) + 9'(bw_rows) < 9'(lay.taps) ? 9'(row_q) + 9'(bw_rows)
                                                            : 9'(lay.taps);
  assign tap_left   = column_q >= 8'(lay.columns) ? 9'(column_q - 8'(lay.columns)) + 9'd1 : 9'd0;
  assign tap_right  = 9'(column_q) + 9'(bw_width) < 9'(lay.taps) ? 9'(column_q) + 9'(bw_width)
                                                                 : 9'(lay.taps);
  assign taps_down   = tap_bottom > tap_top ? 5'(tap_bottom - tap_top) : 5'd0;
  assign taps_across = tap_right > tap_left ? 5'(tap_right - tap_left) : 5'd0;

  logic [3:0]  phases_step;                      // phases of 16 lanes, of few channels
  always_comb begin
    unique case (lay.padded_inputs[3:0])
      4'd1:    phases_step = 4'd0;                // all 16
      4'd2:    phases_step = 4'd8;
      4'd4:    phases_step = 4'd4;
      default: phases_step = 4'd2;
    endcase
  end

  // ---- What is last
  logic tile_end;                                // of the stage
  logic fw_columns_end, fw_rows_end, gc_end, bw_columns_end, bw_rows_end, lane_end;
  assign lane_end       = tile_q == tiles_q - 7'd1;
  assign fw_columns_end = columns_left <= 8'd32;
  assign fw_rows_end    = fw_rows == rows_left;
  assign gc_end         = slots_left <= 14'(slots_most_q);
  assign bw_columns_end = bw_columns_left <= 8'd32;
  assign bw_rows_end    = bw_left <= 8'(groups);
  logic connected_end;                           // of the stage, training
  logic has_back;                                // the connected layer has BW
  assign has_back = training && layer_q != '0;
  assign connected_end = window_last
                         && (back_q || (!has_back && !biases_q && pass_last && block_last
                                        && input_end));
  always_comb begin
    unique case (stage_q)
      StageFw: tile_end = convolves ? fw_columns_end && fw_rows_end && lane_end : pass_last;
      StageGc: tile_end = gc_end && lane_end;
      StageBw: tile_end = bw_columns_end && bw_rows_end && lane_end;
      default: tile_end = connected_end;
    endcase
  end
  logic tile_end_q, task_end_q;                  // of the tile that is out
  logic stage_begin_q;                           // no tile of the stage is out
  logic task_end;                                // the tile is the task's last
  always_comb begin
    task_end = tile_end;
    if (!training) begin
      if (convolves || layer_q + 4'd1 != task_i.layers) task_end = 1'b0;
    end else begin
      if (layer_q != '0) task_end = 1'b0;
      if (convolves && (stage_q != StageGc || sample_q != last_sample)) task_end = 1'b0;
    end
  end

  // ---- The tile
  logic [6:0] pass_blocks;                       // of 16 outputs
  logic [6:0] pass_first;
  logic [15:0] bias_entries;                     // rounded up to whole rows of the buffer
  assign pass_blocks  = pass_tiles << lanes;
  assign pass_first   = tile_q << lanes;
  assign bias_entries = (16'(convolves ? lay.output_blocks : pass_blocks) + SEGS_MASK) & ~SEGS_MASK;

  logic [15:0] tap_offset_q;                     // BwConv: of the first taps
  logic [15:0] weight_end_q;
  tile_t       tile;
  always_comb begin
    tile = '0;
    tile.slot          = slot_i;
    tile.layer         = layer_q[2:0];
    tile.samples       = task_i.samples;
    tile.sample        = sample_q;
    tile.lanes         = lanes;
    tile.barrier       = barrier_q && stage_begin_q;
    tile.need          = items_q;
    tile.stage_first   = stage_begin_q;
    tile.stage_last    = tile_end;
    tile.task_last     = task_end;
    tile.n0            = 6'd1;
    tile.n1            = 6'd1;
    tile.n2            = 7'd1;
    tile.n2_last       = 7'd1;
    tile.n3            = 13'd1;
    tile.n4            = 10'd1;
    tile.stride        = lay.stride;
    tile.line_first    = 1'b1;
    tile.line_last     = 1'b1;
    tile.lane_first    = 1'b1;
    tile.lane_last     = 1'b1;
    tile.groups        = groups;
    tile.columns       = lay.columns;
    tile.kernel        = lay.kernel;
    tile.rows          = lay.rows;
    tile.inputs        = lay.inputs[9:0];
    tile.padded_inputs = lay.padded_inputs;
    tile.phase         = phases_q;
    tile.channel       = channels_q;
    tile.weight_end    = weight_end_q;
    tile.outputs       = lay.outputs;
    tile.output_first  = 11'(tile_q) << (3'(lanes) + 3'd4);
    tile.blocks        = lay.output_blocks;
    tile.block_first   = pass_first;
    tile.taps          = lay.taps;
    tile.line          = this_q.line;
    tile.line_blocks   = lay.row_blocks;
    tile.save_rows     = next_q.layer.map_rows[15:0];
    tile.save_offset   = next_q.layer.map_offset;
    tile.f_blocks      = lay.row_blocks[3:0];
    unique case (stage_q)
      StageFw: begin
        tile.relu    = lay.relu;
        tile.save    = task_i.save || this_q.last;
        tile.settled = stage_begin_q;
        tile.biases  = 1'b1;
        tile.start   = 1'b1;
        tile.to      = base_out_q;
        tile.bias    = weights_from_q + (convolves ? 16'(pass_first) : 16'd0);
        tile.weight  = weights_from_q + bias_entries + (convolves ? 16'(pass_first) : 16'd0);
        tile.free_end = convolves ? tile_end : 1'b1;
        if (convolves) begin
          tile.kind         = FwConv;
          tile.samples_done = tile_end && layer_q == '0 ? 4'd1 : 4'd0;
          tile.n0           = fw_width;
          tile.n1           = 6'(fw_slots);
          tile.n2           = 7'(lay.kernel);
          tile.n2_last      = 7'(lay.kernel);
          tile.n3           = 13'(lay.kernel);
          tile.n4           = lay.inputs[9:0];
          tile.pointer      = column_q << lay.stride;
          tile.p0           = 8'd1 << lay.stride;
          tile.p1           = {lay.row_blocks[3:0], 4'd0};
          tile.p2           = 8'd1;
          tile.split        = split;
          tile.split_step   = 8'(split_columns) << lay.stride;
          tile.a2           = input_step_q;
          tile.a2_wrap      = wrap_area_q - (input_step_q << lay.stride) + input_step_q;
          tile.a3           = input_step_q << lay.stride;
          tile.a3_wrap      = 16'(lay.taps) * wrap_area_q - wrap_area_q
                              + (input_step_q << lay.stride);
          tile.a4           = 16'(lay.output_blocks);
          tile.from         = row_from_q;
          tile.f_high       = line_rows_q;
          tile.f_low        = 16'(lay.row_blocks);
          tile.f_group      = 16'(lay.row_blocks) << lay.stride;
          tile.f_rows       = fw_rows;
          tile.top          = row_q;
          tile.column       = column_q;
          tile.width        = lay.columns - 7'd1;
          tile.t_channel    = out_rows_q;
          tile.t_blocks     = next_q.layer.row_blocks[3:0];
        end else begin
          tile.kind         = FwFc;
          tile.samples_done = tile_end && task_end && convs_i == '0 ? task_i.samples : 4'd0;
          tile.n0           = 6'(task_i.samples);
          tile.n1           = 6'(pass_tiles);
          tile.n2           = 7'd16;
          tile.n2_last      = 7'(inputs_last);
          tile.n3           = input_blocks;
          tile.p0           = 8'(LINE_STEP);
          tile.p2           = 8'd1;
          tile.a1           = 16'(lane_blocks);
          tile.a2           = 16'(pass_blocks);
          tile.a3           = 16'(pass_blocks) << 4;
          tile.free_blocks  = 1'b1;
          tile.groups       = 4'd1;
          tile.from         = base_in_q;
          tile.flat         = FlatStart;
          tile.f_sample     = lay.map_rows[15:0];
          tile.t_sample     = next_q.layer.map_rows[15:0];
        end
      end
      StageGc: begin
        tile.kind         = GcConv;
        tile.samples_done = tile_end && layer_q == '0 ? 4'd1 : 4'd0;
        tile.biases       = slots_done_q == '0;
        tile.start        = sample_q == '0;
        tile.preload      = sample_q != '0;
        tile.preload_late = lane_end && tile_q == '0 && gc_end && slots_done_q == '0;
        tile.zero         = !zeroed_q;
        tile.chunk        = tile_end && sample_q == last_sample;
        tile.free_end     = task_end;
        tile.n0           = 6'(lay.kernel);
        tile.n1           = 6'(gc_slots);
        tile.n2           = lay.columns;
        tile.n2_last      = lay.columns;
        tile.n3           = 13'(lay.rows);
        tile.p0           = 8'd1;
        tile.p1           = {lay.row_blocks[3:0], 4'd0};
        tile.p2           = 8'd1 << lay.stride;
        tile.e2           = 7'd1;
        tile.from         = channel_from_q
                            + ((16'(turn_q) * 16'(lay.row_blocks)) << groups_log2);
        tile.f_high       = line_rows_q;
        tile.f_low        = 16'(lay.row_blocks) << lay.stride;
        tile.f_group      = 16'(lay.row_blocks);
        tile.f_slot       = 16'(lay.row_blocks) << groups_log2;
        tile.f_channel    = channel_from_q;
        tile.slot_top     = turn_q << groups_log2;
        tile.lane_from    = lanes_from_q;
        tile.lane_step    = out_rows_q;
        tile.lane_blocks  = next_q.layer.row_blocks[3:0];
        tile.offset       = lay.theta_offset;
        tile.layer_beats  = weights_q + 16'(lay.output_blocks);
        tile.channel_first = channel_q;
      end
      StageBw: begin
        tile.kind       = BwConv;
        tile.relu       = relu_before_q;
        tile.n0         = bw_width;
        tile.n2         = 7'(taps_across);
        tile.n2_last    = 7'(taps_across);
        tile.n3         = 13'(taps_down);
        tile.n4         = lay.outputs[9:0];
        tile.p0         = 8'd1;
        tile.weight     = weights_from_q + 16'(pass_first) + tap_offset_q;
        tile.a2         = phase_blocks_q;
        tile.a3         = tap_row_q;
        tile.a4         = output_step_q;
        tile.groups     = bw_rows;
        tile.left       = column_q[6:0];
        tile.tap_left   = 5'(tap_left);
        tile.tap_top    = 5'(tap_top);
        tile.top        = row_q;
        tile.from       = base_out_q + (16'(row_q) - 16'(tap_top)) * 16'(next_q.layer.row_blocks);
        tile.f_high     = out_rows_q;
        tile.f_low      = 16'(next_q.layer.row_blocks);
        tile.f_group    = 16'(next_q.layer.row_blocks);
        tile.f_blocks   = next_q.layer.row_blocks[3:0];
        tile.to         = base_in_q;
        tile.t_channel  = line_rows_q;
        tile.t_blocks   = lay.row_blocks[3:0];
        tile.height     = lay.height;
        tile.width      = 7'(lay.width - 8'd1);
      end
      default: begin
        tile.groups       = 4'd1;
        tile.samples_done = task_end ? task_i.samples : 4'd0;
        tile.from         = base_in_q;
        tile.f_sample     = lay.map_rows[15:0];
        if (back_q) begin
          tile.kind        = BwFc;
          tile.gather      = task_i.gather;
          tile.lanes       = 2'(SegsLog2);
          tile.relu        = relu_before_q;
          tile.n0          = 6'(task_i.samples);
          tile.n1          = 6'(window_tiles_now);
          tile.n2          = 7'd16;
          tile.n2_last     = 7'(outputs_last);
          tile.n3          = 13'(output_rows);
          tile.p0          = 8'(LINE_STEP);
          tile.p2          = 8'd1;
          tile.start       = 1'b1;
          tile.weight      = weights_from_q;
          tile.a1          = 16'(SEGS);
          tile.a2          = 16'(window_tiles_now) << SegsLog2;
          tile.a3          = 16'(window_tiles_now) << (SegsLog2 + 4);
          tile.free_end    = 1'b1;
          tile.from        = base_out_q;
          tile.f_sample    = next_q.layer.map_rows[15:0];
          tile.flat        = window_first_q == '0 ? FlatStart : FlatOn;
          tile.to          = base_in_q;
          tile.t_sample    = lay.map_rows[15:0];
          tile.flat_first  = {window_first_q, 4'd0};
          tile.flat_count  = window_last ? lay.inputs - {window_first_q, 4'd0}
                                         : 17'(window_blocks) << 4;
        end else begin
          tile.kind        = GcFc;
          tile.start       = 1'b1;
          tile.n0          = 6'(pass_tiles);
          tile.n2          = 7'(task_i.samples);
          tile.n2_last     = 7'(task_i.samples);
          tile.e0          = 1'b1;
          tile.e2          = pass_tiles;
          tile.lane_from   = base_out_q + 16'(pass_first);
          tile.lane_step   = next_q.layer.map_rows[15:0];
          tile.block_count = pass_blocks;
          tile.lane_first  = biases_q || (!pass_one && block_q == window_first_q && input_q == '0
                                          && window_first_q != '0);
          tile.lane_last   = !biases_q && block_last && input_end && (!pass_one || window_last);
          tile.block_begin = 1'b1;
          tile.block_end   = 1'b1;
          if (biases_q) begin
            tile.biases     = 1'b1;
            tile.line_first = 1'b0;
            tile.line_last  = 1'b0;
            tile.offset     = lay.theta_offset + 26'(pass_first);
          end else begin
            tile.n1          = 6'(input_count);
            tile.pointer     = 8'(input_q);
            tile.p1          = 8'd1;
            tile.p2          = 8'(LINE_STEP);
            tile.line_first  = input_q == '0;
            tile.line_last   = input_end;
            tile.block_begin = input_q == '0;
            tile.block_end   = input_end;
            tile.input_first = input_q;
            tile.input_count = input_count;
            tile.offset      = lay.theta_offset + 26'(lay.output_blocks) + block_offset_q
                               + (26'(pass_first) << 4);
            tile.layer_last  = window_last && pass_last && block_last && input_end;
            tile.flat        = FlatOn;
            if (block_q == window_first_q && input_q == '0) begin
              tile.flat = tile_q != '0 ? FlatBack : window_first_q == '0 ? FlatStart : FlatMark;
            end
          end
        end
      end
    endcase
  end

  // ---- Steps
  logic stage_first_conv;                        // the last convolution: a sample's first one
  logic [15:0] convs_end_q;                      // behind the parameters of convolutions
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= StIdle;
      tile_valid_o <= 1'b0;
      items_q      <= '0;
      number_q     <= '0;
      position_q   <= '0;
    end else begin
      if (tile_ready_i) tile_valid_o <= 1'b0;
      unique case (state_q)
        StIdle: if (go_i) begin
          state_q <= StRead;
          if (training) items_q <= items_q + 8'(task_i.samples);
        end
        StRead:     state_q <= StThis;
        StThis:     state_q <= StNext;
        StNext:     state_q <= StBefore;
        StBefore:   state_q <= StProducts;
        StProducts: state_q <= StSums;
        StSums: begin
          state_q <= StPass;
          // Feature maps that the stage needs.
          unique case (stage_q)
            StageFw: begin
              if (layer_q == '0) items_q <= items_q + (convolves ? 8'd1 : 8'(task_i.samples));
            end
            StageGc:        items_q <= items_q + 8'd1;
            StageConnected: items_q <= items_q + 8'(task_i.samples);
            default: ;
          endcase
        end
        StPass: begin
          // What the parameter buffer has for the stage, the pass or the window.
          if (stage_q == StageFw) begin
            position_q <= position_q + bias_entries
                          + (convolves ? weights_q : 16'(input_blocks) * (16'(pass_blocks) << 4));
          end
          if (stage_q == StageConnected && has_back && back_q) begin
            position_q <= position_q
                          + 16'(window_tiles_now) * (16'(lay.output_blocks) << (SegsLog2 + 4));
          end
          if (stage_q == StageGc && layer_q != '0) position_q <= position_q + weights_q;
          state_q <= stage_q == StageBw ? StSlots : StTile;
        end
        StTile:  state_q <= StMake;
        StMake:  state_q <= StOffer;
        StOffer: if (!tile_valid_o || tile_ready_i) begin
          tile_valid_o <= 1'b1;
          state_q      <= stage_q == StageGc ? StSlots : StAdvance;
        end
        StSlots: if (steps_q == 5'd1) state_q <= stage_q == StageGc ? StAdvance : StTile;
        StAdvance: begin
          state_q <= StTile;
          if (tile_end_q) state_q <= task_end_q ? StFinish : StStage;
          else if (stage_q == StageFw && !convolves) state_q <= StPass;
          else if (stage_q == StageBw && bw_columns_end && bw_rows_end) state_q <= StSlots;
          else if (stage_q == StageConnected
                   && (back_q || (has_back && !biases_q && pass_last && block_last && input_end)))
            state_q <= StPass;
        end
        StStage:  state_q <= StRead;
        StFinish: begin
          state_q  <= StIdle;
          number_q <= number_q + 8'(task_i.samples);
        end
        default: state_q <= StIdle;
      endcase
      // The convolutions of a training are loaded once for all samples.
      if (state_q == StSums && stage_q == StageGc && stage_first_conv && sample_q != '0) begin
        position_q <= convs_position_q;
      end
    end
  end
  assign stage_first_conv = layer_q + 4'd1 == convs_i;

  always_comb begin
    layer_index_o = layer_q;
    unique case (state_q)
      StRead: layer_index_o = layer_q;
      StThis: layer_index_o = layer_q + 4'd1;
      default: layer_index_o = layer_q - 4'd1;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (tile_ready_i || !tile_valid_o) tile_o <= tile;
    unique case (state_q)
      StIdle: begin
        sample_q      <= '0;
        zeroed_q      <= 1'b0;
        barrier_q     <= 1'b0;
        back_q        <= 1'b0;
        layer_q       <= training ? task_i.layers - 4'd1 : 4'd0;
        stage_q       <= training ? StageConnected : StageFw;
      end
      StStage: begin
        // The next stage.
        barrier_q <= 1'b1;
        if (!training) begin
          layer_q <= layer_q + 4'd1;
          if (convolves && layer_q + 4'd1 == convs_i && sample_q != last_sample) begin
            layer_q   <= '0;
            sample_q  <= sample_q + 3'd1;
            barrier_q <= 1'b0;
          end
        end else if (stage_q == StageConnected) begin
          layer_q <= layer_q - 4'd1;
          if (layer_q == convs_i) stage_q <= StageGc;
        end else if (stage_q == StageGc && layer_q != '0) begin
          stage_q   <= StageBw;
          barrier_q <= 1'b0;
        end else begin
          stage_q <= StageGc;
          layer_q <= layer_q - 4'd1;
          if (stage_q == StageGc) begin
            layer_q       <= convs_i - 4'd1;
            sample_q      <= sample_q + 3'd1;
            barrier_q     <= 1'b0;
          end
        end
      end
      StThis: this_q <= layer_i;
      StNext: next_q <= layer_i;
      StBefore: relu_before_q <= layer_i.layer.relu;
      StProducts: begin
        base_in_q      <= lay.buffer_base[15:0]
                          + (convolves && slot_line ? lay.map_rows[15:0] : 16'd0);
        base_out_q     <= next_q.layer.buffer_base[15:0]
                          + (!convolves ? 16'd0
                             : next_q.layer.convolves
                               ? (slot_line ? next_q.layer.map_rows[15:0] : 16'd0)
                             : 16'(sample_q) * next_q.layer.map_rows[15:0]);
        line_rows_q    <= 16'(lay.height) * 16'(lay.row_blocks);
        out_rows_q     <= 16'(lay.rows) * 16'(next_q.layer.row_blocks);
        input_step_q   <= 16'(lay.padded_inputs) * 16'(lay.output_blocks);
        phase_blocks_q <= 16'((17'(lay.padded_inputs) << {lay.stride, 1'b0}) >> 4);
        weights_q      <= 16'(lay.padded_terms[17:4]) * (16'(lay.output_blocks) << 4);
        tiles_q        <= lay.output_blocks >> lanes;
        slots_q        <= rows_hiding(lay.columns);
        kernel_turns_q <= 5'((6'(lay.kernel) + 6'(groups) - 6'd1) >> groups_log2);
        slots_most_q   <= kernels_of(lay.kernel) < lines_of(lay.row_blocks)
                          ? kernels_of(lay.kernel) : lines_of(lay.row_blocks);
        phase_rows_q   <= (lay.height + (8'd1 << lay.stride) - 8'd1) >> lay.stride;
        phase_columns_q <= (lay.width + (8'd1 << lay.stride) - 8'd1) >> lay.stride;
        window_q       <= window_tiles(AddLatency, task_i.samples, lay.output_blocks, Pes,
                                       ParameterRows);
        pass_most_q    <= training ? (share(64, task_i.samples) < 7'd32 ? share(64, task_i.samples)
                                                                         : 7'd32)
                                   : share(32, task_i.samples);
      end
      StSums: begin
        tap_row_q      <= 16'(lay.taps) * phase_blocks_q;
        output_step_q  <= 16'(lay.taps) * 16'(lay.taps) * phase_blocks_q;
        wrap_area_q    <= input_step_q << {lay.stride, 1'b0};
        row_step_q     <= (16'(slots_q) * 16'(lay.row_blocks))
                          << (3'(groups_log2) + 3'(lay.stride));
        slots_all_q    <= 14'(lay.inputs[9:0]) * 14'(kernel_turns_q);
        if (stage_q == StageBw) tiles_q <= 7'(phase_blocks_q >> lanes);
        tile_q          <= '0;
        row_q           <= '0;
        column_q        <= '0;
        row_from_q      <= base_in_q;
        channel_q       <= '0;
        turn_q          <= '0;
        slots_done_q    <= '0;
        channel_from_q  <= base_in_q;
        lanes_from_q    <= base_out_q;
        phase_q         <= '0;
        phase_channel_q <= '0;
        window_first_q  <= '0;
        window_offset_q <= '0;
        block_q         <= '0;
        block_offset_q  <= '0;
        input_q         <= '0;
        biases_q        <= 1'b1;
        back_q          <= 1'b0;
        stage_begin_q   <= 1'b1;
        if (stage_q == StageGc && stage_first_conv && sample_q == '0) begin
          convs_position_q <= position_q;
        end
        if (stage_q == StageGc) begin
          weights_from_q <= stage_first_conv && sample_q != '0 ? convs_position_q : position_q;
        end
        steps_q <= 5'(lane_blocks);
      end
      StPass: if (stage_q == StageFw || stage_q == StageConnected) begin
        weights_from_q <= position_q;
        weight_end_q   <= position_q
            + (stage_q == StageFw
               ? bias_entries
                 + (convolves ? weights_q : 16'(input_blocks) * (16'(pass_blocks) << 4))
               : 16'(window_tiles_now) * (16'(lay.output_blocks) << (SegsLog2 + 4)));
      end
      StTile: begin
        tap_offset_q <= 16'(tap_top) * tap_row_q + 16'(tap_left) * phase_blocks_q;
        if (stage_q == StageGc) steps_q <= gc_slots;
      end
      StOffer: begin
        tile_end_q <= tile_end;
        task_end_q <= task_end;
        if (stage_q == StageGc && (!tile_valid_o || tile_ready_i)) zeroed_q <= 1'b1;
      end
      StSlots: begin
        steps_q <= steps_q - 5'd1;
        if (stage_q == StageGc) begin
          // The first slot of the next tile.
          slots_done_q <= slots_done_q + 14'd1;
          turn_q       <= turn_q + 5'd1;
          if (turn_q + 5'd1 == kernel_turns_q) begin
            turn_q         <= '0;
            channel_q      <= channel_q + 10'd1;
            channel_from_q <= channel_from_q + line_rows_q;
          end
        end else begin
          // Phase and channel of the next 16 lanes.
          phases_q[3'(5'(lane_blocks) - steps_q)]   <= phase_q;
          channels_q[3'(5'(lane_blocks) - steps_q)] <= phase_channel_q;
          if (lay.padded_inputs < 10'd16) begin
            phase_q <= phase_q + phases_step;
          end else begin
            phase_channel_q <= phase_channel_q + 10'd16;
            if (phase_channel_q + 10'd16 == lay.padded_inputs) begin
              phase_channel_q <= '0;
              phase_q         <= phase_q + 4'd1;
            end
          end
        end
      end
      StAdvance: begin
        stage_begin_q <= 1'b0;
        steps_q       <= 5'(lane_blocks);
        unique case (stage_q)
          StageFw: begin
            if (!convolves) begin
              tile_q <= tile_q + pass_tiles;
            end else begin
              column_q <= column_q + 8'd32;
              if (fw_columns_end) begin
                column_q   <= '0;
                row_q      <= row_q + rows_most;
                row_from_q <= row_from_q + row_step_q;
                if (fw_rows_end) begin
                  row_q      <= '0;
                  row_from_q <= base_in_q;
                  tile_q     <= tile_q + 7'd1;
                end
              end
            end
          end
          StageGc: if (slots_done_q == slots_all_q) begin
            tile_q         <= tile_q + 7'd1;
            slots_done_q   <= '0;
            channel_q      <= '0;
            turn_q         <= '0;
            channel_from_q <= base_in_q;
            lanes_from_q   <= lanes_from_q + (out_rows_q << (3'(lanes) + 3'd4));
          end
          StageBw: begin
            column_q <= column_q + 8'd32;
            if (bw_columns_end) begin
              column_q <= '0;
              row_q    <= row_q + 8'(groups);
              if (bw_rows_end) begin
                row_q  <= '0;
                tile_q <= tile_q + 7'd1;
              end
            end
          end
          default: begin
            biases_q <= 1'b0;
            if (back_q) begin
              back_q          <= 1'b0;
              window_first_q  <= window_first_q + window_blocks;
              window_offset_q <= block_offset_q;
              tile_q          <= '0;
            end else if (!biases_q) begin
              input_q <= input_q + inputs_most;
              if (input_end) begin
                input_q        <= '0;
                block_q        <= block_q + 13'd1;
                block_offset_q <= block_offset_q + (26'(lay.output_blocks) << 4);
                if (block_last) begin
                  if (!pass_last) begin
                    tile_q         <= tile_q + pass_tiles;
                    block_q        <= window_first_q;
                    block_offset_q <= window_offset_q;
                    biases_q       <= window_first_q == '0;
                  end else if (has_back) begin
                    back_q <= 1'b1;
                  end else begin
                    window_first_q  <= window_first_q + window_blocks;
                    window_offset_q <= block_offset_q + (26'(lay.output_blocks) << 4);
                    tile_q          <= '0;
                  end
                end
              end
            end
          end
        endcase
      end
      default: ;
    endcase
    // The resident parameters go with the task.
    if (state_q == StMake && training && task_end && convolves) weight_end_q <= convs_end_q;
    if (state_q == StPass && stage_q == StageGc && sample_q == '0) begin
      convs_end_q <= position_q + (layer_q != '0 ? weights_q : 16'd0);
    end
  end
  assign finish_o = state_q == StFinish;
endmodule : jd_a3c_walk
