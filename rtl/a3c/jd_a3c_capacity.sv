// SPDX-License-Identifier: Apache-2.0
//
// Places the layers of a network in the buffers, and tells whether the buffers of this build hold
// it.
//
// Streams  clear_i begins a network. add_i takes a layer; layers come in order.
// Timing   layer_o is the layer on layer_i with its places, in the same clock. network_o and
//          error_o are valid from two clocks after the last add_i.
// Numbers  unsigned, exact: the sums of eight legal layers fit.
// Source   a3c 5.4 to 5.6, 10.3. Golden model: models/a3c/validate.py, _network_errors, and
//          models/a3c/network.py.
`include "jd_assert.svh"
module jd_a3c_capacity
  import jd_a3c_pkg::*;
  import jd_a3c_map_pkg::*;
#(
  parameter int unsigned Pes         = 64,      // processing elements of a unit
  parameter int unsigned Samples     = 8,       // largest batch: 1, 2, 4 or 8
  parameter int unsigned MapRows     = 8192,    // rows of the feature-map buffer
  parameter int unsigned ForwardRows = 32768,   // rows of an inference unit's parameters,
  parameter int unsigned BackRows    = 4096,    // of a training unit's,
  parameter int unsigned GradRows    = 16384,   // of the gradient buffer
  parameter int unsigned LineRows    = 16       // and of a line buffer's half
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        clear_i,
  input  logic        add_i,
  input  layer_t      layer_i,
  input  logic [22:0] beats_i,            // of its parameters
  output layer_t      layer_o,
  output network_t    network_o,          // valid is 1
  output logic [7:0]  error_o             // the first rule that is broken, 0 for none
);
  if (!(Samples inside {1, 2, 4, 8})) begin : gen_bad_samples
    $fatal(1, "jd_a3c_capacity: Samples=%0d, want 1, 2, 4 or 8", Samples);
  end

  localparam int unsigned SamplesLog2 = $clog2(Samples);
  localparam logic [1:0]  LANES       = 2'($clog2(Pes / 16));   // of a fully connected layer in BW

  logic [3:0]  layers_q;
  logic        connected_q, convolved_q;  // a layer of the kind came
  logic [25:0] theta_q, resident_q, gradients_q;
  logic [22:0] maps_q;
  logic [23:0] buffer_q;
  logic [6:0]  widest_q, outputs_q;       // blocks: of the widest connected layer, of the last
  logic        lines_q, lanes_q, parameters_q;   // a layer breaks the rule

  // ---- The layer's places
  logic [3:0]  slots;
  logic [23:0] buffered;                  // rows of its input in the feature-map buffer
  logic [12:0] phase_blocks;              // S*S*IPAD/16
  assign slots    = layer_i.convolves ? 4'd2 : 4'(Samples);
  assign buffered = layer_i.convolves ? 24'(layer_i.map_rows) << 1
                                      : 24'(layer_i.map_rows) << SamplesLog2;
  assign phase_blocks = 13'((17'(layer_i.padded_inputs) << {layer_i.stride, 1'b0}) >> 4);
  always_comb begin
    layer_o              = layer_i;
    layer_o.theta_offset = theta_q;
    layer_o.map_offset   = maps_q;
    layer_o.buffer_base  = buffer_q;
    layer_o.slots        = slots;
  end

  // ---- Sums
  logic [12:0] odd_phases;                // blocks after the last whole group of lanes
  assign odd_phases = phase_blocks & ((13'd1 << layer_i.lanes_backward) - 13'd1);
  always_ff @(posedge clk_i) begin
    if (clear_i) begin
      layers_q     <= '0;
      connected_q  <= 1'b0;
      convolved_q  <= 1'b0;
      theta_q      <= '0;
      resident_q   <= '0;
      gradients_q  <= '0;
      maps_q       <= '0;
      buffer_q     <= '0;
      widest_q     <= '0;
      lines_q      <= 1'b0;
      lanes_q      <= 1'b0;
      parameters_q <= 1'b0;
    end else if (add_i) begin
      layers_q  <= layers_q + 4'd1;
      theta_q   <= theta_q + 26'(beats_i);
      maps_q    <= maps_q + 23'(layer_i.map_rows);
      buffer_q  <= buffer_q + buffered;
      outputs_q <= 7'((12'(layer_i.outputs) + 12'd15) >> 4);
      if (layer_i.convolves) begin
        convolved_q <= 1'b1;
        gradients_q <= gradients_q + 26'(beats_i);
        // BW keeps what the first layer does not need: all but the biases.
        if (convolved_q) resident_q <= resident_q + 26'(beats_i) - 26'(layer_i.output_blocks);
        if (26'(beats_i) << 1 > 26'(ForwardRows))                parameters_q <= 1'b1;
        if (layer_i.row_blocks > 13'(LineRows))                  lines_q      <= 1'b1;
        if (odd_phases != '0)                                    lanes_q      <= 1'b1;
      end else begin
        connected_q <= 1'b1;
        if (layer_i.output_blocks > widest_q) widest_q <= layer_i.output_blocks;
        if (layer_i.lanes_backward != LANES)                     lanes_q      <= 1'b1;
        // The map that a connected layer reads, all samples of it side by side.
        if (convolved_q && !connected_q
            && 17'(layer_i.row_blocks) << SamplesLog2 > 17'(LineRows)) lines_q <= 1'b1;
      end
    end
  end

  // ---- The network, one clock after its last layer, and its rules in their order
  logic [23:0] buffer_end_q;
  logic [25:0] back_q, grad_q;
  logic [12:0] forward_q;
  always_ff @(posedge clk_i) begin
    buffer_end_q <= buffer_q + (24'(outputs_q) << SamplesLog2);
    forward_q    <= (13'(widest_q) << 5) + 13'(widest_q);          // two blocks of inputs, biases
    back_q       <= resident_q + 26'(widest_q) * 26'(2 * Pes);     // two windows of inputs
    grad_q       <= gradients_q + (26'(widest_q) << 5);
  end
  always_comb begin
    error_o = '0;
    if (lanes_q)                                            error_o = E_LANES;
    if (lines_q)                                            error_o = E_CAP_LB;
    if (grad_q > 26'(GradRows))                             error_o = E_CAP_GB;
    if (back_q > 26'(BackRows))                             error_o = E_CAP_PB;
    if (parameters_q || 32'(forward_q) > 32'(ForwardRows))  error_o = E_CAP_PB;
    if (buffer_end_q > 24'(MapRows))                        error_o = E_CAP_FM;
    if (!connected_q)                                       error_o = E_ORDER;
  end
  assign network_o = '{
    valid: 1'b1, layers: layers_q, theta_beats: theta_q, map_rows: maps_q + 23'(outputs_q),
    output_rows: outputs_q};

  `JD_ASSUME_IF(Room_M, add_i, 32'(layers_q) < LAYERS)
endmodule : jd_a3c_capacity
