// SPDX-License-Identifier: Apache-2.0
//
// Types and limits that the blocks of the a3c engine share.
package jd_a3c_pkg;
  localparam int unsigned LAYERS         = 8;      // of a network
  localparam int unsigned CHANNELS_MAX   = 512;    // of a convolution, in or out
  localparam int unsigned MAP_SIZE_MAX       = 128;    // rows or columns of a map
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
  // What a unit keeps of a layer: entry `layers` of a network is no layer but its last output, of
  // which only the places in memory and buffer count.
  typedef struct packed {
    layer_t      layer;
    logic [16:0] line;            // words of a row of the map that it reads; of a vector all
    logic        last;            // the network's last layer
  } unit_layer_t;

  // Where parameters lie, and how BW gets them: the published layout and its alternatives, one image
  // without a transposer, two images.
  typedef enum logic [1:0] {LayoutFa3c, LayoutAlt1, LayoutAlt2, LayoutNone} layout_e;

  // From parameters to their second image: it begins with a page, as they do.
  function automatic logic [26:0] second_beats(input logic [25:0] theta_beats);
    second_beats = (27'(theta_beats) + 27'd63) & ~27'd63;
  endfunction

  // A task as a unit gets it, checked.
  typedef struct packed {
    logic             train;      // else an inference
    logic             save;       // an inference keeps all its maps
    logic [3:0]       slot;       // of the network
    logic [3:0]       layers;
    logic [3:0]       samples;    // 1..8
    logic [31:0]      ticket;     // place in the order of updates
    logic             gather;     // BW of connected layers gets its weights one by one
    logic [25:0]      second;     // beats from parameters to their second image, 0: there is none
    logic [39:0]      theta;      // for the forward pass, or for BW
    logic [39:0]      source;     // before and after the update
    logic [39:0]      target;
    logic [39:0]      g_source;
    logic [39:0]      g_target;
    logic [39:0]      objective;  // hyper-parameters, 64 bytes after them the gradients
    logic [7:0][39:0] maps;       // set of feature maps of each sample
    logic [3:0][31:0] settings;   // eta, rho, 1 - rho, eps; eta in the low bits
  } task_t;

  // How a task ended: 0 or the error, the word of the descriptor, the bus's answer.
  typedef struct packed {
    logic [7:0] error;
    logic [4:0] word;
    logic [1:0] response;
  } end_t;

  // Gradients that lie ready in the gradient buffer, in the order of the parameters in memory.
  typedef struct packed {
    logic [2:0]  layer;
    logic [25:0] offset;          // of the first one in the image, beats
    logic [15:0] row;             // in the buffer
    logic [15:0] rows;            // 1..65535, one after the other
    logic        layer_last;      // the layer's last
    logic        task_last;       // the task's last
  } chunk_t;

  // How far an update is.
  typedef struct packed {
    logic        valid;
    logic [2:0]  layer;           // in hand
    logic [25:0] behind;          // its rows before this one of the image are written and answered
  } written_t;

  // Clocks of a unit, one bit each.
  typedef struct packed {
    logic busy;                   // it has a task
    logic issue;                  // its elements get operands
    logic parameters;             // lost: waiting for parameters
    logic maps;                   // lost: for feature maps
    logic drain;                  // lost: for results to leave
    logic gradients;              // lost: for room in the gradient buffer
    logic latency;                // lost: to the adders' latency
  } unit_clocks_t;

  // Input tiles of a window of BW of a fully connected layer: as many as hide the adders' latency,
  // as long as two windows fit the parameter buffer.
  function automatic logic [3:0] window_tiles(input int unsigned add_latency,
                                              input logic [3:0] samples, input logic [6:0] blocks,
                                              input int unsigned pes, input int unsigned rows);
    window_tiles = 4'd1;
    for (int unsigned t = 2; t <= 8; t++) begin
      if (32'(samples) <= (add_latency - 1) / (t - 1) && 32'(blocks) <= rows / (2 * t * pes)) begin
        window_tiles = 4'(t);
      end
    end
  endfunction

  // Descriptor words of addresses, for errors.
  localparam logic [4:0] WORD_THETA     = 5'd2;
  localparam logic [4:0] WORD_SOURCE    = 5'd4;
  localparam logic [4:0] WORD_TARGET    = 5'd6;
  localparam logic [4:0] WORD_G_SOURCE  = 5'd8;
  localparam logic [4:0] WORD_G_TARGET  = 5'd10;
  localparam logic [4:0] WORD_OBJECTIVE = 5'd12;
  localparam logic [4:0] WORD_MAPS      = 5'd16;   // and two more a sample
endpackage : jd_a3c_pkg
