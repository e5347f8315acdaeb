// SPDX-License-Identifier: Apache-2.0
//
// Tiles. A tile is the set of sums that are in one half of the elements' memories at a time. The
// parts of a compute unit work tile by tile: fetch, issue, drain.
//
// The issues of a tile are a nest of loops. Loops 0 and 1 are a round, in which every sum gets one
// product. Loop 2 covers what one filling of the line buffers serves. Loops 3 and 4 go over
// fillings:
//
//   kind     0        1        2        3             4            lanes      groups
//   FwConv   column   row      kernel   kernel row    channel      output     row
//   GcConv   kernel   slot     column   row                        output     kernel row
//   BwConv   column            tap      row's tap     output       input      row
//   FwFc     sample   output   input    16 inputs                  output     the first one
//   GcFc     output   input    sample                              output     the first one
//   BwFc     sample   input    output   16 outputs                 input      the first one
//
// A pointer counts words of a line buffer; a position counts entries of the parameter buffer.
package jd_a3c_tile_pkg;
  import jd_a3c_pkg::*;

  typedef enum logic [2:0] {FwConv, GcConv, BwConv, FwFc, GcFc, BwFc} kind_e;

  localparam int unsigned TILES     = 4;        // that a unit has in hand
  localparam int unsigned LINE_STEP = 32;       // words of a sample's 16 inputs in a line buffer
  localparam logic [31:0] ONE       = 32'h3F80_0000;

  typedef enum logic [1:0] {FlatOn, FlatStart, FlatMark, FlatBack} flat_e;

  typedef struct packed {
    kind_e            kind;
    logic             slot;           // of the task in the unit
    logic [2:0]       layer;
    logic [3:0]       samples;        // of the task
    logic [2:0]       sample;         // in hand, of a convolution
    logic [1:0]       lanes;          // log2 of lanes/16
    logic             barrier;        // it reads what the tile before it writes
    logic [7:0]       need;           // items of feature maps that must be loaded
    logic [3:0]       samples_done;   // whose convolutions' maps are not read any more after it
    logic             stage_first;    // of its stage
    logic             stage_last;
    logic             task_last;
    // ---- Issues
    logic             biases;         // FwConv, FwFc: a round of biases first; GcConv: the
                                      // bias's sum, too; GcFc: the biases alone
    logic             gather;         // BwFc: weights come one by one
    logic             start;          // sums begin at +0 (FwConv, FwFc with the biases)
    logic [5:0]       n0;             // turns of the loops
    logic [5:0]       n1;
    logic [6:0]       n2;
    logic [6:0]       n2_last;        // in the last turn of loop 3
    logic [12:0]      n3;
    logic [9:0]       n4;
    logic [7:0]       pointer;        // first word, and by how many a turn of each loop moves
    logic [7:0]       p0;
    logic [7:0]       p1;
    logic [7:0]       p2;
    logic [1:0]       split;          // log2 of groups that share a row,
    logic [7:0]       split_step;     // words between them
    logic [15:0]      bias;           // position of the biases
    logic [15:0]      weight;         // of the first weights, and by how many a turn moves;
    logic [15:0]      a1;             // a kernel's column or row that begins a tap: wrap
    logic [15:0]      a2;
    logic [15:0]      a2_wrap;
    logic [15:0]      a3;
    logic [15:0]      a3_wrap;
    logic [15:0]      a4;
    logic             free_blocks;    // what is after goes with every turn of loop 3
    logic             free_end;       // all before weight_end goes with the tile
    logic [15:0]      weight_end;
    logic [1:0]       stride;         // log2
    logic             e0;             // entries of the lane buffer a turn of loop 0 and 2
    logic [6:0]       e2;
    logic             line_first;     // it begins a filling of the line buffers, ends it
    logic             line_last;
    logic             lane_first;     // of the lane buffer
    logic             lane_last;
    logic [3:0]       groups;         // in use
    // ---- BwConv
    logic [6:0]       left;           // first column of a phase, u
    logic [6:0]       columns;        // C
    logic [4:0]       tap_left;       // first tap along a row
    logic [4:0]       tap_top;        // and along a column
    logic [4:0]       kernel;         // K
    logic [7:0]       top;            // first row of a phase, v; FwConv: first output row
    logic [7:0]       rows;           // R
    logic [9:0]       inputs;         // I, channels
    logic [9:0]       padded_inputs;  // IPAD
    logic [7:0][3:0]  phase;          // py, px of the first lane of 16,
    logic [7:0][9:0]  channel;        // and its channel
    // ---- Fetch: rows of the feature-map buffer
    logic [15:0]      from;           // first row, and by how many a turn moves
    logic [15:0]      f_high;         // FwConv, GcConv: channel; BwConv: output
    logic [15:0]      f_low;          // FwConv: kernel row; GcConv: row; BwConv: tap
    logic [15:0]      f_group;        // a group's row to the next one's
    logic [15:0]      f_slot;         // GcConv: kernel rows of a slot to the next ones,
    logic [15:0]      f_channel;      // first row of the first slot's channel
    logic [3:0]       f_blocks;       // rows of 16 words of a line: conv
    logic [7:0]       f_rows;         // FwConv: rows of the tile
    logic [4:0]       slot_top;       // GcConv: first kernel row of the first slot
    logic [15:0]      lane_from;      // gradients for the lane buffer: first row,
    logic [15:0]      lane_step;      // channel to channel (GcFc: sample to sample),
    logic [3:0]       lane_blocks;    // rows of 16 words of a line (GcFc: of outputs in the pass)
    flat_e            flat;           // FwFc, GcFc, BwFc: where the inputs go on
    logic [16:0]      line;           // words of a line of the map
    logic [12:0]      line_blocks;    // its rows of 16 words
    logic [15:0]      f_sample;       // a sample's map to the next one's
    // ---- Drain
    logic             zero;           // the resident gradients are cleared before it
    logic             preload;        // its sums go on from the gradient buffer,
    logic             preload_late;   // and the tile before it writes them
    logic             chunk;          // its layer's gradients are complete
    logic             relu;           // FW: of the layer; BW: of the layer before
    logic [15:0]      to;             // first row of the map that is written
    logic [15:0]      t_channel;      // channel to channel
    logic [3:0]       t_blocks;       // rows of 16 words of a line
    logic [15:0]      t_sample;       // sample to sample (FwFc, BwFc)
    logic [10:0]      outputs;        // O
    logic [10:0]      output_first;   // of lane 0
    logic [7:0]       height;         // BwConv: H
    logic [6:0]       width;          // line of the map that is written, less 1: C or W
    logic [7:0]       column;         // FwConv: first column
    logic [6:0]       blocks;         // OB
    logic [6:0]       block_first;    // GcFc: first of the pass
    logic [6:0]       block_count;    // and their number
    logic [4:0]       input_first;    // GcFc: of 16
    logic [4:0]       input_count;    // that have a gradient; the rest to the end is +0
    logic             block_begin;    // GcFc: it begins a block of 16 inputs, ends it
    logic             block_end;
    logic [25:0]      offset;         // GC: the layer's first beat in the image (GcFc: the block's)
    logic [15:0]      layer_beats;    // GcConv: beats of the layer
    logic [4:0]       taps;           // J
    logic [9:0]       channel_first;  // GcConv: channel of the first slot
    logic             layer_last;     // GcFc: the layer's last gradients
    logic [16:0]      flat_first;     // BwFc: inputs of the layer before this window
    logic [16:0]      flat_count;     // and in it
    logic [15:0]      save_rows;      // of a map that the stage makes, where it begins in a set
    logic [22:0]      save_offset;
    logic             save;
    logic             settled;        // the drained maps' slots must have been saved first
  } tile_t;

  // Words that stand side by side: those wanted of a line, up to the end of its row of 16 words.
  typedef struct packed {
    logic [4:0] words;
    logic       last;              // no more are wanted after them
    logic       line_last;         // they end the line
  } piece_t;
  function automatic piece_t piece_of(input logic [4:0] wanted, input logic [3:0] word,
                                      input logic [16:0] left);       // words to the line's end
    logic [4:0] block, line;
    block = 5'd16 - {1'b0, word};
    line  = left < 17'd17 ? 5'(left) : 5'd17;
    piece_of.last      = wanted <= block && wanted <= line;
    piece_of.line_last = line <= wanted && line <= block;
    piece_of.words     = piece_of.last ? wanted : block <= line ? block : line;
  endfunction
endpackage : jd_a3c_tile_pkg
