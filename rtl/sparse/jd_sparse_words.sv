// SPDX-License-Identifier: Apache-2.0
//
// Biases with their mean squares, and the states of the grouping, word by word. A bias that is
// written goes to the cores, too.
//
// Streams  write_i, read_i: a word of a kind. bias_o: to all cores.
// Timing   A write and a read per clock. data_o comes one clock after read_i, bias_o one after its
//          write.
// Numbers  FP32; bias_o is FP16, rounded once.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/machine.py, parts.
`include "jd_assert.svh"
module jd_sparse_words
  import jd_sparse_pkg::*;
#(
  parameter int unsigned BWords = 2048,
  parameter int unsigned SWords = 4096
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                write_i,
  input  logic                read_i,
  input  word_e               kind_i,
  input  logic [S_WORD_W-1:0] word_i,
  input  logic [SINGLE_W-1:0] data_i,
  output logic [SINGLE_W-1:0] data_o,
  output bias_t               bias_o
);
  localparam int unsigned BiasW  = $clog2(BWords);
  localparam int unsigned StateW = $clog2(SWords);
  word_e                    kind_q;
  logic                     of_state;
  logic [1:0][SINGLE_W-1:0] bias;                 // mean square, bias
  logic [SINGLE_W-1:0]      state;
  assign of_state = kind_i == WordState;
  assign data_o   = (kind_q == WordState) ? state : bias[kind_q == WordBiasSquare];
  jd_mem_1r1w #(.Depth (BWords), .Lanes (2), .LaneW (SINGLE_W)) u_biases (
    .clk_i, .rst_ni,
    .write_en_i   (write_i && !of_state),
    .write_addr_i (BiasW'(word_i)),
    .write_mask_i ({kind_i == WordBiasSquare, kind_i == WordBias}),
    .write_data_i ({data_i, data_i}),
    .read_en_i    (read_i && !of_state),
    .read_addr_i  (BiasW'(word_i)),
    .read_data_o  (bias)
  );
  jd_mem_1r1w #(.Depth (SWords), .LaneW (SINGLE_W)) u_states (
    .clk_i, .rst_ni,
    .write_en_i   (write_i && of_state),
    .write_addr_i (StateW'(word_i)),
    .write_mask_i (1'b1),
    .write_data_i (data_i),
    .read_en_i    (read_i && of_state),
    .read_addr_i  (StateW'(word_i)),
    .read_data_o  (state)
  );
  jd_float_convert #(.Latency (1)) u_narrow (
    .clk_i, .rst_ni,
    .valid_i  (write_i && kind_i == WordBias),
    .value_i  (data_i),
    .valid_o  (bias_o.valid),
    .result_o (bias_o.value)
  );
  always_ff @(posedge clk_i) begin
    if (read_i) kind_q <= kind_i;
    bias_o.word <= B_WORD_W'(word_i);
  end
endmodule : jd_sparse_words
