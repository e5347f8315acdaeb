// SPDX-License-Identifier: Apache-2.0
//
// Goes through tasks and makes their tiles: which sums stand together, where their factors come
// from and where the results go.
//
// Streams  go_i starts a task; finish_o ends it. layer_i is the layer whose index layer_index_o
//          showed one clock before. tile: the task's tiles, in order.
// Timing   About 15 clocks per stage, then at most 40 per tile; out_* are registers. The values of
//          a tile are computed in registers while nothing moves: in four steps from StAdvance to
//          StOffer, in three to StPass.
// Numbers  rows and positions modulo 2^16.
// Source   FA3C (ASPLOS 2019) section 4.4 (dataflow of the stages), a3c 6, 7.9. Golden model:
//          models/a3c/timing.py, stage_loops, has the same tiles.
//
// An inference is, for each sample, FW of the convolutions, then FW of the connected layers over
// all samples. A training is first the connected layers, last to first, then for each sample the
// convolutions, last to first. Each of them has GC and BW. Connected layers alternate GC and BW by
// windows of inputs, because BW overwrites the map that GC reads.
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

  typedef enum logic [4:0] {
    StIdle, StStage, StRead, StThis, StNext, StBefore, StProducts, StSums, StLead1, StLead2,
    StLead3, StPass, StTile, StMake, StOffer, StSlots, StAdvance, StFinish
  } state_e;
  // What a stage does.
  typedef enum logic [1:0] {StageFw, StageGc, StageBw, StageConnected} stage_e;
  state_e      state_q;
  logic        pass_begin_q;                     // a pass or a window begins after StLead3
  stage_e      stage_q;

  // ---- Where the walk is
  logic [3:0]  layer_q;                          // in hand
  logic [2:0]  sample_q;                         // of the convolutions
  logic [15:0] position_q;                       // in the parameter buffer, after the last segment
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
  logic [1:0]  lanes_q;                          // log2 of lanes/16
  logic [1:0]  groups_log2_q;
  logic [3:0]  groups_q;
  logic [3:0]  lane_blocks_q;                    // lanes/16
  always_ff @(posedge clk_i) begin
    lanes_q       <= stage_q == StageBw ? lay.lanes_backward : lay.lanes_forward;
    groups_log2_q <= 2'(SegsLog2) - lanes_q;
    groups_q      <= 4'd1 << (2'(SegsLog2) - lanes_q);
    lane_blocks_q <= 4'd1 << lanes_q;
  end

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
  logic [4:0]  kernels_q, lines_q;               // that fit in it
  logic [4:0]  slots_most_q;                     // GC: slots of a tile
  logic [9:0]  taps_square_q;
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
    for (int unsigned k = 1; k <= 31; k++) if (kernel == 5'(k)) kernels_of = 5'(31 / k);
  endfunction
  function automatic logic [4:0] lines_of(input logic [12:0] blocks);    // 16 / XB
    lines_of = 5'd1;
    for (int unsigned k = 1; k <= 16; k++) if (blocks == 13'(k)) lines_of = 5'(16 / k);
  endfunction
  function automatic logic [3:0] rows_hiding(input logic [6:0] columns); // LA / C, up
    rows_hiding = 4'd1;
    for (int unsigned k = 1; k < AddLatency; k++) begin
      if (columns == 7'(k)) rows_hiding = 4'((AddLatency + k - 1) / k);
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
  logic [6:0]  pass_tiles_q;                     // of this pass
  logic [12:0] window_blocks_q;                  // of this window
  logic [3:0]  window_parts, window_tiles_q;     // tiles of this window
  assign window_parts = 4'((window_blocks_q + 13'(SEGS) - 13'd1) >> SegsLog2);
  logic        pass_one_q;                       // there is one pass
  logic        pass_last_q, window_last_q, block_last_q;
  logic [12:0] blocks_left_q;
  logic [12:0] window_end_q;                     // its last block
  always_ff @(posedge clk_i) begin
    pass_tiles_q  <= tiles_q - tile_q > pass_most_q ? pass_most_q : tiles_q - tile_q;
    pass_one_q    <= tiles_q <= pass_most_q;
    pass_last_q   <= tile_q + pass_tiles_q == tiles_q;
    blocks_left_q <= input_blocks - window_first_q;
    window_blocks_q <= blocks_left_q > 13'(window_q) << SegsLog2 ? 13'(window_q) << SegsLog2
                                                                 : blocks_left_q;
    window_tiles_q <= window_parts;
    window_last_q <= window_blocks_q == blocks_left_q;
    window_end_q  <= window_first_q + window_blocks_q - 13'd1;
    block_last_q  <= block_q == window_end_q;
  end

  logic [4:0]  inputs_most_q;                    // of a GC tile
  logic [4:0]  inputs_here_q;                    // of the block in hand
  logic [4:0]  inputs_last;                      // of the layer's last block
  logic        input_end_q;                      // the tile ends its block
  logic [4:0]  input_count_q;
  assign inputs_last = 5'(lay.inputs[3:0] == 4'd0) << 4 | 5'(lay.inputs[3:0]);
  always_ff @(posedge clk_i) begin
    inputs_most_q <= inputs_of(pass_tiles_q);
    inputs_here_q <= block_q == input_blocks - 13'd1 ? inputs_last : 5'd16;
    input_end_q   <= input_q + inputs_most_q >= inputs_here_q;
    input_count_q <= input_end_q ? inputs_here_q - input_q : inputs_most_q;
  end

  logic [6:0]  output_rows;                      // rows of 16 outputs
  logic [4:0]  outputs_last;
  assign output_rows  = 7'((12'(lay.outputs) + 12'd15) >> 4);
  assign outputs_last = 5'(lay.outputs[3:0] == 4'd0) << 4 | 5'(lay.outputs[3:0]);

  // FwConv: rows of the tile, groups that share one, its columns.
  logic [7:0]  rows_left_q, fw_rows_q, rows_most_q;
  logic [1:0]  split_q;
  logic [6:0]  split_columns_q;
  logic [7:0]  columns_left;
  logic [5:0]  fw_width;
  logic [3:0]  fw_slots_q;
  always_ff @(posedge clk_i) begin
    rows_left_q <= lay.rows - row_q;
    rows_most_q <= 8'(slots_q) << groups_log2_q;
    fw_rows_q   <= rows_left_q < rows_most_q ? rows_left_q : rows_most_q;
    split_q     <= 2'd0;
    for (int unsigned s = 1; s <= 3; s++) if (fw_rows_q << s <= 8'(groups_q)) split_q <= 2'(s);
  end
  assign columns_left  = 8'(split_columns_q) - column_q;
  assign fw_width      = columns_left > 8'd32 ? 6'd32 : 6'(columns_left);
  always_ff @(posedge clk_i) begin
    split_columns_q <= 7'((8'(lay.columns) + (8'd1 << split_q) - 8'd1) >> split_q);
    fw_slots_q      <= 4'((fw_rows_q + 8'(groups_q) - 8'd1) >> groups_log2_q);
  end

  // GcConv: slots of the tile.
  logic [13:0] slots_left_q;
  logic [4:0]  gc_slots_q;
  always_ff @(posedge clk_i) begin
    slots_left_q <= slots_all_q - slots_done_q;
    gc_slots_q   <= slots_left_q < 14'(slots_most_q) ? 5'(slots_left_q) : slots_most_q;
  end

  // BwConv: rows and columns of the tile and the taps that meet them.
  logic [7:0]  bw_left_q;
  logic [3:0]  bw_rows_q;
  logic [5:0]  bw_width_q;
  logic [7:0]  bw_columns_left_q;
  logic [8:0]  tap_top_q, tap_bottom_q, tap_left_q, tap_right_q;  // first, and after the last
  logic [4:0]  taps_down, taps_across;
  assign taps_down   = tap_bottom_q > tap_top_q ? 5'(tap_bottom_q - tap_top_q) : 5'd0;
  assign taps_across = tap_right_q > tap_left_q ? 5'(tap_right_q - tap_left_q) : 5'd0;
  always_ff @(posedge clk_i) begin
    bw_left_q         <= phase_rows_q - row_q;
    bw_rows_q         <= bw_left_q < 8'(groups_q) ? 4'(bw_left_q) : groups_q;
    bw_columns_left_q <= phase_columns_q - column_q;
    bw_width_q        <= bw_columns_left_q > 8'd32 ? 6'd32 : 6'(bw_columns_left_q);
    tap_top_q    <= row_q >= lay.rows ? 9'(row_q - lay.rows) + 9'd1 : 9'd0;
    tap_bottom_q <= 9'(row_q) + 9'(bw_rows_q) < 9'(lay.taps) ? 9'(row_q) + 9'(bw_rows_q)
                                                            : 9'(lay.taps);
    tap_left_q   <= column_q >= 8'(lay.columns) ? 9'(column_q - 8'(lay.columns)) + 9'd1 : 9'd0;
    tap_right_q  <= 9'(column_q) + 9'(bw_width_q) < 9'(lay.taps) ? 9'(column_q) + 9'(bw_width_q)
                                                                 : 9'(lay.taps);
  end

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
  logic fw_columns_end, fw_rows_end, gc_end_q, bw_columns_end, bw_rows_end, lane_end_q;
  assign fw_columns_end = columns_left <= 8'd32;
  assign fw_rows_end    = fw_rows_q == rows_left_q;
  assign bw_columns_end = bw_columns_left_q <= 8'd32;
  assign bw_rows_end    = bw_left_q <= 8'(groups_q);
  always_ff @(posedge clk_i) begin
    lane_end_q <= tile_q == tiles_q - 7'd1;
    gc_end_q   <= slots_left_q <= 14'(slots_most_q);
  end
  logic connected_end;                           // of the stage, training
  logic has_back;                                // the connected layer has BW
  assign has_back = training && layer_q != '0;
  assign connected_end = window_last_q
                         && (back_q || (!has_back && !biases_q && pass_last_q && block_last_q
                                        && input_end_q));
  always_comb begin
    unique case (stage_q)
      StageFw: tile_end = convolves ? fw_columns_end && fw_rows_end && lane_end_q : pass_last_q;
      StageGc: tile_end = gc_end_q && lane_end_q;
      StageBw: tile_end = bw_columns_end && bw_rows_end && lane_end_q;
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
  logic [6:0] pass_blocks_q;                     // of 16 outputs
  logic [6:0] pass_first;
  logic [15:0] bias_entries_q;                   // rounded up to whole rows of the buffer
  assign pass_first   = tile_q << lanes_q;
  always_ff @(posedge clk_i) begin
    pass_blocks_q  <= pass_tiles_q << lanes_q;
    bias_entries_q <= (16'(convolves ? lay.output_blocks : 7'(pass_tiles_q << lanes_q)) + SEGS_MASK)
                      & ~SEGS_MASK;
  end

  logic [15:0] pass_entries_q;                   // of the parameter buffer: a pass, a window
  logic [15:0] window_entries_q;
  logic [25:0] weights_offset_q;                 // the layer's first weight
  logic [15:0] wraps_q, a3_wrap_q;
  logic [15:0] turn_rows_q;                      // GcConv: to the first kernel row
  logic [15:0] first_rows_q;                     // BwConv: to the first tap's row
  always_ff @(posedge clk_i) begin
    pass_entries_q   <= bias_entries_q
                        + (convolves ? weights_q
                                     : 16'(input_blocks) * (16'(pass_blocks_q) << 4));
    window_entries_q <= 16'(window_parts) * (16'(lay.output_blocks) << (SegsLog2 + 4));
    weights_offset_q <= lay.theta_offset + 26'(lay.output_blocks);
    wraps_q          <= 16'(lay.taps) * wrap_area_q;
    a3_wrap_q        <= wraps_q - wrap_area_q + (input_step_q << lay.stride);
    turn_rows_q      <= (16'(turn_q) * 16'(lay.row_blocks)) << groups_log2_q;
    first_rows_q     <= (16'(row_q) - 16'(tap_top_q)) * 16'(next_q.layer.row_blocks);
  end

  logic [15:0] tap_offset_q;                     // BwConv: of the first taps
  logic [15:0] weight_end_q;
  tile_t       tile;
  always_comb begin
    tile = '0;
    tile.slot          = slot_i;
    tile.layer         = layer_q[2:0];
    tile.samples       = task_i.samples;
    tile.sample        = sample_q;
    tile.lanes         = lanes_q;
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
    tile.groups        = groups_q;
    tile.columns       = lay.columns;
    tile.kernel        = lay.kernel;
    tile.rows          = lay.rows;
    tile.inputs        = lay.inputs[9:0];
    tile.padded_inputs = lay.padded_inputs;
    tile.phase         = phases_q;
    tile.channel       = channels_q;
    tile.weight_end    = weight_end_q;
    tile.outputs       = lay.outputs;
    tile.output_first  = 11'(tile_q) << (3'(lanes_q) + 3'd4);
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
        tile.weight  = weights_from_q + bias_entries_q + (convolves ? 16'(pass_first) : 16'd0);
        tile.free_end = convolves ? tile_end : 1'b1;
        if (convolves) begin
          tile.kind         = FwConv;
          tile.samples_done = tile_end && layer_q == '0 ? 4'd1 : 4'd0;
          tile.n0           = fw_width;
          tile.n1           = 6'(fw_slots_q);
          tile.n2           = 7'(lay.kernel);
          tile.n2_last      = 7'(lay.kernel);
          tile.n3           = 13'(lay.kernel);
          tile.n4           = lay.inputs[9:0];
          tile.pointer      = column_q << lay.stride;
          tile.p0           = 8'd1 << lay.stride;
          tile.p1           = {lay.row_blocks[3:0], 4'd0};
          tile.p2           = 8'd1;
          tile.split        = split_q;
          tile.split_step   = 8'(split_columns_q) << lay.stride;
          tile.a2           = input_step_q;
          tile.a2_wrap      = wrap_area_q - (input_step_q << lay.stride) + input_step_q;
          tile.a3           = input_step_q << lay.stride;
          tile.a3_wrap      = a3_wrap_q;
          tile.a4           = 16'(lay.output_blocks);
          tile.from         = row_from_q;
          tile.f_high       = line_rows_q;
          tile.f_low        = 16'(lay.row_blocks);
          tile.f_group      = 16'(lay.row_blocks) << lay.stride;
          tile.f_rows       = fw_rows_q;
          tile.top          = row_q;
          tile.column       = column_q;
          tile.width        = lay.columns - 7'd1;
          tile.t_channel    = out_rows_q;
          tile.t_blocks     = next_q.layer.row_blocks[3:0];
        end else begin
          tile.kind         = FwFc;
          tile.samples_done = tile_end && task_end && convs_i == '0 ? task_i.samples : 4'd0;
          tile.n0           = 6'(task_i.samples);
          tile.n1           = 6'(pass_tiles_q);
          tile.n2           = 7'd16;
          tile.n2_last      = 7'(inputs_last);
          tile.n3           = input_blocks;
          tile.p0           = 8'(LINE_STEP);
          tile.p2           = 8'd1;
          tile.a1           = 16'(lane_blocks_q);
          tile.a2           = 16'(pass_blocks_q);
          tile.a3           = 16'(pass_blocks_q) << 4;
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
        tile.preload_late = lane_end_q && tile_q == '0 && gc_end_q && slots_done_q == '0;
        tile.zero         = !zeroed_q;
        tile.chunk        = tile_end && sample_q == last_sample;
        tile.free_end     = task_end;
        tile.n0           = 6'(lay.kernel);
        tile.n1           = 6'(gc_slots_q);
        tile.n2           = lay.columns;
        tile.n2_last      = lay.columns;
        tile.n3           = 13'(lay.rows);
        tile.p0           = 8'd1;
        tile.p1           = {lay.row_blocks[3:0], 4'd0};
        tile.p2           = 8'd1 << lay.stride;
        tile.e2           = 7'd1;
        tile.from         = channel_from_q + turn_rows_q;
        tile.f_high       = line_rows_q;
        tile.f_low        = 16'(lay.row_blocks) << lay.stride;
        tile.f_group      = 16'(lay.row_blocks);
        tile.f_slot       = 16'(lay.row_blocks) << groups_log2_q;
        tile.f_channel    = channel_from_q;
        tile.slot_top     = turn_q << groups_log2_q;
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
        tile.n0         = bw_width_q;
        tile.n2         = 7'(taps_across);
        tile.n2_last    = 7'(taps_across);
        tile.n3         = 13'(taps_down);
        tile.n4         = lay.outputs[9:0];
        tile.p0         = 8'd1;
        tile.weight     = weights_from_q + 16'(pass_first) + tap_offset_q;
        tile.a2         = phase_blocks_q;
        tile.a3         = tap_row_q;
        tile.a4         = output_step_q;
        tile.groups     = bw_rows_q;
        tile.left       = column_q[6:0];
        tile.tap_left   = 5'(tap_left_q);
        tile.tap_top    = 5'(tap_top_q);
        tile.top        = row_q;
        tile.from       = base_out_q + first_rows_q;
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
          tile.n1          = 6'(window_tiles_q);
          tile.n2          = 7'd16;
          tile.n2_last     = 7'(outputs_last);
          tile.n3          = 13'(output_rows);
          tile.p0          = 8'(LINE_STEP);
          tile.p2          = 8'd1;
          tile.start       = 1'b1;
          tile.weight      = weights_from_q;
          tile.a1          = 16'(SEGS);
          tile.a2          = 16'(window_tiles_q) << SegsLog2;
          tile.a3          = 16'(window_tiles_q) << (SegsLog2 + 4);
          tile.free_end    = 1'b1;
          tile.from        = base_out_q;
          tile.f_sample    = next_q.layer.map_rows[15:0];
          tile.flat        = window_first_q == '0 ? FlatStart : FlatOn;
          tile.to          = base_in_q;
          tile.t_sample    = lay.map_rows[15:0];
          tile.flat_first  = {window_first_q, 4'd0};
          tile.flat_count  = window_last_q ? lay.inputs - {window_first_q, 4'd0}
                                         : 17'(window_blocks_q) << 4;
        end else begin
          tile.kind        = GcFc;
          tile.start       = 1'b1;
          tile.n0          = 6'(pass_tiles_q);
          tile.n2          = 7'(task_i.samples);
          tile.n2_last     = 7'(task_i.samples);
          tile.e0          = 1'b1;
          tile.e2          = pass_tiles_q;
          tile.lane_from   = base_out_q + 16'(pass_first);
          tile.lane_step   = next_q.layer.map_rows[15:0];
          tile.block_count = pass_blocks_q;
          tile.lane_first  = biases_q || (!pass_one_q && block_q == window_first_q && input_q == '0
                                          && window_first_q != '0);
          tile.lane_last   = !biases_q && block_last_q && input_end_q
                             && (!pass_one_q || window_last_q);
          tile.block_begin = 1'b1;
          tile.block_end   = 1'b1;
          if (biases_q) begin
            tile.biases     = 1'b1;
            tile.line_first = 1'b0;
            tile.line_last  = 1'b0;
            tile.offset     = lay.theta_offset + 26'(pass_first);
          end else begin
            tile.n1          = 6'(input_count_q);
            tile.pointer     = 8'(input_q);
            tile.p1          = 8'd1;
            tile.p2          = 8'(LINE_STEP);
            tile.line_first  = input_q == '0;
            tile.line_last   = input_end_q;
            tile.block_begin = input_q == '0;
            tile.block_end   = input_end_q;
            tile.input_first = input_q;
            tile.input_count = input_count_q;
            tile.offset      = weights_offset_q + block_offset_q + (26'(pass_first) << 4);
            tile.layer_last  = window_last_q && pass_last_q && block_last_q && input_end_q;
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
  logic [15:0] convs_end_q;                      // after the parameters of convolutions
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
          state_q <= StLead1;
          pass_begin_q <= 1'b1;
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
        StLead1: state_q <= StLead2;
        StLead2: state_q <= StLead3;
        StLead3: state_q <= pass_begin_q ? StPass : StTile;
        StPass: begin
          // What the parameter buffer has for the stage, the pass or the window.
          if (stage_q == StageFw) begin
            position_q <= position_q + pass_entries_q;
          end
          if (stage_q == StageConnected && has_back && back_q) begin
            position_q <= position_q + window_entries_q;
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
          state_q      <= StLead1;
          pass_begin_q <= (stage_q == StageFw && !convolves)
                          || (stage_q == StageConnected
                              && (back_q || (has_back && !biases_q && pass_last_q && block_last_q
                                             && input_end_q)));
          if (tile_end_q) state_q <= task_end_q ? StFinish : StStage;
          else if (stage_q == StageBw && bw_columns_end && bw_rows_end) state_q <= StSlots;
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
        tiles_q        <= lay.output_blocks >> lanes_q;
        slots_q        <= rows_hiding(lay.columns);
        kernel_turns_q <= 5'((6'(lay.kernel) + 6'(groups_q) - 6'd1) >> groups_log2_q);
        kernels_q      <= kernels_of(lay.kernel);
        lines_q        <= lines_of(lay.row_blocks);
        taps_square_q  <= 10'(lay.taps) * 10'(lay.taps);
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
        output_step_q  <= 16'(taps_square_q) * phase_blocks_q;
        slots_most_q   <= kernels_q < lines_q ? kernels_q : lines_q;
        wrap_area_q    <= input_step_q << {lay.stride, 1'b0};
        row_step_q     <= (16'(slots_q) * 16'(lay.row_blocks))
                          << (3'(groups_log2_q) + 3'(lay.stride));
        slots_all_q    <= 14'(lay.inputs[9:0]) * 14'(kernel_turns_q);
        if (stage_q == StageBw) tiles_q <= 7'(phase_blocks_q >> lanes_q);
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
        steps_q <= 5'(lane_blocks_q);
      end
      StPass: if (stage_q == StageFw || stage_q == StageConnected) begin
        weights_from_q <= position_q;
        weight_end_q   <= position_q
                          + (stage_q == StageFw ? pass_entries_q : window_entries_q);
      end
      StTile: begin
        tap_offset_q <= 16'(tap_top_q) * tap_row_q + 16'(tap_left_q) * phase_blocks_q;
      end
      StMake: if (stage_q == StageGc) steps_q <= gc_slots_q;
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
          phases_q[3'(5'(lane_blocks_q) - steps_q)]   <= phase_q;
          channels_q[3'(5'(lane_blocks_q) - steps_q)] <= phase_channel_q;
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
        steps_q       <= 5'(lane_blocks_q);
        unique case (stage_q)
          StageFw: begin
            if (!convolves) begin
              tile_q <= tile_q + pass_tiles_q;
            end else begin
              column_q <= column_q + 8'd32;
              if (fw_columns_end) begin
                column_q   <= '0;
                row_q      <= row_q + rows_most_q;
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
            lanes_from_q   <= lanes_from_q + (out_rows_q << (3'(lanes_q) + 3'd4));
          end
          StageBw: begin
            column_q <= column_q + 8'd32;
            if (bw_columns_end) begin
              column_q <= '0;
              row_q    <= row_q + 8'(groups_q);
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
              window_first_q  <= window_first_q + window_blocks_q;
              window_offset_q <= block_offset_q;
              tile_q          <= '0;
            end else if (!biases_q) begin
              input_q <= input_q + inputs_most_q;
              if (input_end_q) begin
                input_q        <= '0;
                block_q        <= block_q + 13'd1;
                block_offset_q <= block_offset_q + (26'(lay.output_blocks) << 4);
                if (block_last_q) begin
                  if (!pass_last_q) begin
                    tile_q         <= tile_q + pass_tiles_q;
                    block_q        <= window_first_q;
                    block_offset_q <= window_offset_q;
                    biases_q       <= window_first_q == '0;
                  end else if (has_back) begin
                    back_q <= 1'b1;
                  end else begin
                    window_first_q  <= window_first_q + window_blocks_q;
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

  // ---- Checks
  logic offer, over_q;                           // a tile goes out; the task's last one has
  assign offer = state_q == StOffer && (!tile_valid_o || tile_ready_i);
  always_ff @(posedge clk_i) begin
    over_q <= rst_ni && state_q != StIdle && (over_q || (offer && task_end));
  end
  `JD_ASSUME_NEXT(GoHeld_M, go_i && !finish_o, go_i)
  `JD_ASSUME_STABLE(TaskHeld_M, state_q != StIdle && !finish_o, {task_i, slot_i, convs_i})
  `JD_ASSUME_IF(TaskNotVoid_M, go_i, task_i.samples != '0 && task_i.layers != '0
                                     && convs_i <= task_i.layers)
  `JD_ASSERT_STREAM(TileStable_A, tile_valid_o, tile_ready_i, tile_o)
  `JD_ASSERT_IF(LastTileOnce_A, offer, !over_q)
  `JD_ASSERT_IF(LastTileOut_A, finish_o, over_q)
  `JD_ASSERT_IF(StepsLeft_A, state_q == StSlots, steps_q != '0)
  `JD_ASSERT_IF(LayerOfTask_A, offer, layer_q < task_i.layers && 4'(sample_q) < task_i.samples)
  `JD_ASSERT_IF(SumsFit_A, offer, tile.n0 != '0 && tile.n1 != '0
                                  && 12'(tile.n0) * 12'(tile.n1) <= 12'd32)
  `JD_ASSERT_IF(GroupsFit_A, offer, tile.groups != '0 && tile.groups <= 4'(SEGS)
                                    && tile.lanes <= 2'(SegsLog2))
  `JD_ASSERT_IF(InMap_A, offer && tile.kind == FwConv, row_q < lay.rows
                                                       && column_q < 8'(lay.columns))
  `JD_ASSERT(WholeRows_A, (position_q & SEGS_MASK) == '0)
endmodule : jd_a3c_walk
