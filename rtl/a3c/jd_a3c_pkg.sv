// SPDX-License-Identifier: Apache-2.0
//
// Types and limits that the blocks of the a3c engine share.
package jd_a3c_pkg;
  localparam int unsigned LAYERS         = 8;      // of a network
  localparam int unsigned CHANNELS_MAX   = 512;    // of a convolution, in or out
  localparam int unsigned SIZE_MAX       = 128;    // rows or columns of a map
  localparam int unsigned KERNEL_MAX     = 16;
  localparam int unsigned COLUMNS_MAX    = 64;     // output columns of a convolution
  localparam int unsigned FC_INPUTS_MAX  = 65536;
  localparam int unsigned FC_OUTPUTS_MAX = 1024;

  // Tasks: 32 words, from the rings RING_*.
  localparam logic [1:0] RING_INF = 2'd0;
  localparam logic [1:0] RING_TRN = 2'd1;
  localparam logic [1:0] RING_ADM = 2'd2;
  localparam logic [7:0] OP_INF      = 8'd1;
  localparam logic [7:0] OP_TRAIN    = 8'd2;
  localparam logic [7:0] OP_SYNC     = 8'd3;
  localparam logic [7:0] OP_NET_LOAD = 8'd4;

  // A layer, checked, and what follows from its place in the network. Rows are of 16 words, beats
  // of 64 bytes; capital letters are those of docs/a3c.md.
  typedef struct packed {
    logic        convolves;       // else fully connected: H = W = K = S = R = C = J = IPAD = 1
    logic        relu;
    logic [1:0]  lanes_forward;   // log2 of lanes/16
    logic [1:0]  lanes_backward;
    logic [16:0] inputs;          // I, or Q of a fully connected layer
    logic [10:0] outputs;         // O
    logic [7:0]  height;          // H
    logic [7:0]  width;           // W
    logic [4:0]  kernel;          // K
    logic [1:0]  stride;          // log2 of S
    logic [7:0]  rows;            // R
    logic [6:0]  columns;         // C
    logic [4:0]  taps;            // J
    logic [9:0]  padded_inputs;   // IPAD
    logic [17:0] terms;           // Q
    logic [17:0] padded_terms;    // QP, Q rounded up to 16
    logic [6:0]  output_blocks;   // OB
    logic [12:0] row_blocks;      // XB: rows that a row of its input map takes
    logic [19:0] map_rows;        // rows of its input map
    logic [25:0] theta_offset;    // first beat of its parameters
    logic [22:0] map_offset;      // first row of its input in a set of feature maps
    logic [23:0] buffer_base;     // first row of its input in the feature-map buffer
    logic [3:0]  slots;           // samples of its input there
  } layer_t;

  // A network as a whole: the sizes of what a task names.
  typedef struct packed {
    logic        valid;           // the slot has one
    logic [3:0]  layers;
    logic [25:0] theta_beats;     // all parameters
    logic [22:0] map_rows;        // a set of feature maps
    logic [6:0]  output_rows;     // the last map in it
  } network_t;
endpackage : jd_a3c_pkg
