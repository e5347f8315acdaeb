// SPDX-License-Identifier: Apache-2.0
//
// Checks one layer of a network descriptor and derives the values that follow from its shape.
//
// Streams  start_i takes the four words of a layer. done_o, for one clock, shows the first broken
//          rule or the checked layer. Layers come in order; first_i marks the first of a network.
// Timing   4 clocks to an error. A legal layer takes these and seven multiplications, each of one
//          clock per bit at most.
// Numbers  unsigned, exact: nothing exceeds its field once the checks before it have passed.
// Source   a3c 2, 5.1, 5.2, 10.3. Golden model: models/a3c/validate.py, _layer_errors, and
//          models/a3c/network.py.
`include "jd_assert.svh"
module jd_a3c_layer
  import jd_a3c_pkg::*;
  import jd_a3c_map_pkg::*;
  import jd_engine_header_map_pkg::E_RESERVED;
#(
  parameter int unsigned Pes = 64         // processing elements of a unit: 16, 32, 64 or 128
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         start_i,
  input  logic         first_i,
  input  logic [127:0] words_i,           // word 0 in the low bits
  output logic         busy_o,
  output logic         done_o,
  output logic [7:0]   error_o,           // with done_o, 0 for none
  output layer_t       layer_o,           // held from done_o on; places in the network are 0
  output logic [22:0]  beats_o            // of its parameters
);
  localparam logic [3:0] LANES_LEGAL = 4'((2 * Pes / 16) - 1);    // by their code

  // ---- Words
  //   0: kind 7:0 | relu 8 | lanes forward 13:12 | lanes backward 17:16
  //   1: inputs 19:0 | outputs 31:20      2: height 15:0 | width 31:16
  //   3: kernel 7:0 | stride 15:8
  localparam logic [127:0] RESERVED = {32'hFFFF_0000, 32'd0, 32'd0, 32'hFFFC_CE00};
  localparam logic [7:0] CONVOLUTION = 8'd1;
  localparam logic [7:0] CONNECTED = 8'd2;
  logic [127:0] words_q;
  logic [7:0]   kind, kernel, stride;
  logic [19:0]  inputs;
  logic [11:0]  outputs;
  logic [15:0]  height, width;
  logic [1:0]   lanes_forward, lanes_backward;
  logic         convolves;
  assign kind           = words_q[7:0];
  assign lanes_forward  = words_q[13:12];
  assign lanes_backward = words_q[17:16];
  assign inputs         = words_q[51:32];
  assign outputs        = words_q[63:52];
  assign height         = words_q[79:64];
  assign width          = words_q[95:80];
  assign kernel         = words_q[103:96];
  assign stride         = words_q[111:104];
  assign convolves      = kind == CONVOLUTION;

  // ---- The layer before
  logic        first_q, before_convolves_q;
  logic [10:0] before_outputs_q;
  logic [7:0]  before_rows_q;
  logic [6:0]  before_columns_q;
  logic [22:0] before_words_q;            // its outputs

  typedef enum logic [2:0] {StIdle, StShape, StRules, StError, StStart, StProduct, StDone} state_e;
  typedef enum logic [2:0] {
    OutputRows, OutputWords, InputRows, MapRows, Taps, Terms, Beats
  } product_e;
  state_e   state_q, state_d;
  product_e product_q;
  logic     product_last;
  assign product_last = product_q == Beats;

  // ---- Shape, one clock after the words; the rules below say when it is meaningful
  logic [1:0]  stride_q;                  // log2
  logic        stride_legal_q;
  logic [7:0]  rows_q, columns_q;
  logic [4:0]  taps_q;
  logic [9:0]  padded_q;
  logic [6:0]  blocks_q;
  logic [1:0]  stride_log;
  logic [9:0]  rounded;                   // inputs rounded up to 16
  assign stride_log = stride[2] ? 2'd2 : stride[1] ? 2'd1 : 2'd0;
  assign rounded    = (inputs[9:0] + 10'd15) & ~10'd15;

  // Channels of a tap and phase: S*S of them fill whole rows of 16 words.
  logic [9:0] padded;
  always_comb begin
    padded = rounded;
    if (stride_log == 2'd1 && inputs[9:0] <= 10'd8) padded = inputs[9:0] <= 10'd4 ? 10'd4 : 10'd8;
    if (stride_log == 2'd2) begin
      if (inputs[9:0] <= 10'd8) padded = 10'd8;
      if (inputs[9:0] <= 10'd4) padded = 10'd4;
      if (inputs[9:0] <= 10'd2) padded = 10'd2;
      if (inputs[9:0] <= 10'd1) padded = 10'd1;
    end
  end

  // Outputs are padded to whole groups of the forward lanes.
  logic [6:0] groups, blocks;
  always_comb begin
    groups = 7'((12'(outputs[10:0]) + 12'd15) >> 4);
    unique case (lanes_forward)
      2'd0:    blocks = groups;
      2'd1:    blocks = (groups + 7'd1) & ~7'd1;
      2'd2:    blocks = (groups + 7'd3) & ~7'd3;
      default: blocks = (groups + 7'd7) & ~7'd7;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (state_q == StShape) begin
      stride_q       <= stride_log;
      stride_legal_q <= stride == 8'd1 || stride == 8'd2 || stride == 8'd4;
      rows_q         <= ((height[7:0] - kernel) >> stride_log) + 8'd1;
      columns_q      <= ((width[7:0] - kernel) >> stride_log) + 8'd1;
      taps_q         <= 5'((9'(kernel) + 9'(stride) - 9'd1) >> stride_log);
      padded_q       <= padded;
      blocks_q       <= blocks;
    end
  end

  // ---- Rules, in their order
  localparam int unsigned RULES = 8;
  logic [RULES-1:0] broken_q;
  logic             too_large, unlike, not_flat;
  assign too_large = convolves
      ? inputs > 20'(CHANNELS_MAX) || outputs > 12'(CHANNELS_MAX) || height > 16'(MAP_SIZE_MAX)
        || width > 16'(MAP_SIZE_MAX) || kernel > 8'(KERNEL_MAX)
      : inputs > 20'(FC_INPUTS_MAX) || outputs > 12'(FC_OUTPUTS_MAX);
  assign unlike   = inputs != 20'(before_outputs_q) || height != 16'(before_rows_q)
                    || width != 16'(before_columns_q);
  assign not_flat = height != 16'd1 || width != 16'd1 || kernel != 8'd1 || stride != 8'd1;
  always_ff @(posedge clk_i) begin
    if (state_q == StRules) begin
      broken_q[0] <= (!convolves && kind != CONNECTED) || (words_q & RESERVED) != '0;
      broken_q[1] <= convolves && !first_q && !before_convolves_q;
      broken_q[2] <= inputs == '0 || outputs == '0 || height == '0 || width == '0 || kernel == '0
                     || stride == '0;
      broken_q[3] <= too_large;
      broken_q[4] <= convolves && (!stride_legal_q || 16'(kernel) > height || 16'(kernel) > width);
      broken_q[5] <= convolves && columns_q > 8'(COLUMNS_MAX);
      broken_q[6] <= !LANES_LEGAL[lanes_forward] || !LANES_LEGAL[lanes_backward];
      broken_q[7] <= convolves ? !first_q && unlike
                               : not_flat || (!first_q && 23'(inputs) != before_words_q);
    end
  end
  logic [7:0] error, error_q;
  always_comb begin
    error = '0;
    if (broken_q[7]) error = E_SHAPE;
    if (broken_q[6]) error = E_LANES;
    if (broken_q[5]) error = E_MAX;
    if (broken_q[4]) error = E_STRIDE;
    if (broken_q[3]) error = E_MAX;
    if (broken_q[2]) error = E_ZERO;
    if (broken_q[1]) error = E_ORDER;
    if (broken_q[0]) error = E_RESERVED;
  end

  // ---- The input map: of the layer itself, of a map before it, or a vector
  logic [9:0]  map_channels_q;
  logic [7:0]  map_height_q;
  logic [12:0] row_blocks_q;
  logic        of_map;
  assign of_map = !first_q && before_convolves_q;
  always_ff @(posedge clk_i) begin
    if (state_q == StError) begin
      map_channels_q <= convolves ? inputs[9:0] : of_map ? before_outputs_q[9:0] : 10'd1;
      map_height_q   <= convolves ? height[7:0] : of_map ? before_rows_q : 8'd1;
      row_blocks_q   <= convolves ? (13'(width[7:0]) + 13'd15) >> 4
                        : of_map  ? (13'(before_columns_q) + 13'd15) >> 4
                                  : 13'((18'(inputs[16:0]) + 18'd15) >> 4);
    end
  end

  // ---- Products
  logic        busy;
  logic [21:0] first;
  logic [17:0] second;
  logic [25:0] product;
  logic [17:0] terms_q, padded_terms_q;
  logic [19:0] map_rows_q;
  logic [22:0] beats_q;
  always_comb begin
    first  = 22'(product);                // of the product before
    second = '0;
    unique case (product_q)
      OutputRows:  {first, second} = {22'(outputs), 18'(rows_q)};
      OutputWords: second = 18'(columns_q);
      InputRows:   {first, second} = {22'(map_channels_q), 18'(map_height_q)};
      MapRows:     second = 18'(row_blocks_q);
      Taps:        {first, second} = {22'(taps_q), 18'(taps_q)};
      Terms:       second = 18'(padded_q);
      default:     {first, second} = {22'(padded_terms_q), 18'(blocks_q)};
    endcase
  end
  jd_multiply #(.FirstW (22), .SecondW (18), .ProductW (26)) u_multiply (
    .clk_i, .rst_ni,
    .start_i   (state_q == StStart),
    .first_i   (first),
    .second_i  (second),
    .busy_o    (busy),
    .product_o (product)
  );

  logic [17:0] terms;
  assign terms = convolves ? 18'(product << {stride_q, 1'b0}) : 18'(inputs);
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle && start_i) begin
      words_q <= words_i;
      first_q <= first_i;
    end
    if (state_q == StError) begin
      error_q   <= error;
      product_q <= OutputRows;
    end
    if (state_q == StProduct && !busy) begin
      product_q <= product_e'(product_q + 3'd1);
      unique case (product_q)
        OutputWords: before_words_q <= 23'(product);
        MapRows:     map_rows_q     <= 20'(product);
        Terms: begin
          terms_q        <= terms;
          padded_terms_q <= (terms + 18'd15) & ~18'd15;
        end
        Beats:       beats_q <= 23'(product) + 23'(blocks_q);
        default: ;
      endcase
    end
    if (state_q == StDone) begin
      before_convolves_q <= convolves;
      before_outputs_q   <= outputs[10:0];
      before_rows_q      <= rows_q;
      before_columns_q   <= columns_q[6:0];
    end
  end

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:    if (start_i) state_d = StShape;
      StShape:   state_d = StRules;
      StRules:   state_d = StError;
      StError:   state_d = error != '0 ? StDone : StStart;
      StStart:   state_d = StProduct;
      StProduct: if (!busy) state_d = product_last ? StDone : StStart;
      default:   state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
  end

  assign busy_o  = state_q != StIdle;
  assign done_o  = state_q == StDone;
  assign error_o = error_q;
  assign beats_o = beats_q;
  assign layer_o = '{
    convolves: convolves, relu: words_q[8], lanes_forward: lanes_forward,
    lanes_backward: lanes_backward, inputs: inputs[16:0], outputs: outputs[10:0],
    height: height[7:0], width: width[7:0], kernel: kernel[4:0], stride: stride_q, rows: rows_q,
    columns: columns_q[6:0], taps: taps_q, padded_inputs: convolves ? padded_q : 10'd1,
    terms: terms_q, padded_terms: padded_terms_q, output_blocks: blocks_q,
    row_blocks: row_blocks_q, map_rows: map_rows_q, default: '0};

  `JD_ASSUME_IF(StartsFree_M, start_i, !busy_o)
  `JD_ASSERT_IF(ExactProduct_A, state_q == StProduct, product >> 23 == '0)
endmodule : jd_a3c_layer
