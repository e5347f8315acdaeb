// SPDX-License-Identifier: Apache-2.0
//
// Sends a network's gradients from G to Adam: for each layer a sweep of jd_qat_grad over its
// weights and one over its biases.
//
// Streams  start_i: high for one clock while idle_o; the layers hold until idle_o. sweep: commands
//          for jd_qat_grad, each after the end of the one before. clear_i drops commands that were
//          not taken.
// Timing   A command comes 4 clocks after the last line of the command before was taken.
// Numbers  all lines of a layer, with its last words masked: a row of weights has Q words, the
//          biases have P.
// Source   docs/qat.md (ADAM). Golden model: models/qat/timestep.py, update.
`include "jd_assert.svh"
module jd_qat_sweep
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw     = 16,           // words of a line: 4, 8, 16
  localparam int unsigned WordsW = $clog2(Lw + 1)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                clear_i,
  input  logic                start_i,
  input  layer_t [LAYERS-1:0] layers_i,          // of the network
  output logic                idle_o,            // the last sweep is over
  output logic                sweep_valid_o,
  input  logic                sweep_ready_i,
  output logic [LINE_W-1:0]   sweep_line_o,
  output logic [LINE_W-1:0]   sweep_count_o,
  output logic [LINE_W-1:0]   sweep_columns_o,
  output logic [WordsW-1:0]   sweep_words_o
);
  logic              busy_q, runs_q, bias_q;     // runs: a sweep was taken
  logic [1:0]        counted_q;                  // its factors, its count are of this range
  logic [DIM_W-1:0]  rows_q;
  logic [LINE_W-1:0] columns_q, count_q;
  logic [1:0]        layer_q;
  layer_t            layer;
  logic [DIM_W-1:0]  words;                      // of a row
  logic              ends;
  assign layer = layers_i[layer_q];
  assign words = bias_q ? layer.p : layer.q;
  assign ends  = runs_q && sweep_ready_i;

  assign idle_o          = !busy_q;
  assign sweep_valid_o   = busy_q && !runs_q && counted_q[1];
  assign sweep_line_o    = bias_q ? layer.bbase : layer.wbase;
  assign sweep_columns_o = LINE_W'(bias_q ? layer.p_lines : layer.q_lines);
  assign sweep_count_o   = count_q;
  assign sweep_words_o   = WordsW'((words - 1'b1) % DIM_W'(Lw)) + 1'b1;
  always_ff @(posedge clk_i) begin
    counted_q <= busy_q && !runs_q ? {counted_q[0], 1'b1} : '0;
    rows_q    <= bias_q ? DIM_W'(1) : layer.p;
    columns_q <= sweep_columns_o;
    count_q   <= LINE_W'(rows_q) * columns_q;
    if (!rst_ni || clear_i) begin
      busy_q <= 1'b0;
      runs_q <= 1'b0;
    end else if (start_i) begin
      busy_q <= 1'b1;
    end else if (sweep_valid_o && sweep_ready_i) begin
      runs_q <= 1'b1;
    end else if (ends) begin
      runs_q <= 1'b0;
      busy_q <= !(layer.last && (bias_q || !layer.bias));
    end
    if (start_i) begin
      layer_q <= '0;
      bias_q  <= 1'b0;
    end else if (ends) begin
      bias_q <= layer.bias && !bias_q;
      if (bias_q || !layer.bias) layer_q <= layer_q + 1'b1;
    end
  end

  `JD_ASSUME_IF(StartWhenIdle_M, start_i, idle_o)
endmodule : jd_qat_sweep
