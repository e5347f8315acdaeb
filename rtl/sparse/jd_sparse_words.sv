// SPDX-License-Identifier: Apache-2.0
//
// Biases with their mean squares, and the states of the grouping, word by word. A bias that is
// written goes to the cores, too.
//
// Streams  write_i, read_i: a word of a kind, of an image. opt_*: of the optimizer, a bias with its mean
//          square, or a state in word 0; while no image moves. bias_o: to all cores.
// Timing   A write and a read per clock. data_o comes one clock after read_i, opt_data_o one after
//          opt_read_i, bias_o one after its write.
// Numbers  FP32; bias_o is FP16, rounded once.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/machine.py, parts.
`include "jd_assert.svh"
module jd_sparse_words
  import jd_sparse_pkg::*;
#(
  parameter int unsigned BWords = 2048,
  parameter int unsigned SWords = 4096
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic                     write_i,
  input  logic                     read_i,
  input  word_e                    kind_i,
  input  logic [S_WORD_W-1:0]      word_i,
  input  logic [SINGLE_W-1:0]      data_i,
  output logic [SINGLE_W-1:0]      data_o,
  input  logic                     opt_read_i,
  input  logic                     opt_read_state_i,   // else a bias
  input  logic [S_WORD_W-1:0]      opt_read_word_i,
  output logic [1:0][SINGLE_W-1:0] opt_data_o,         // mean square, bias
  input  logic                     opt_write_i,
  input  logic                     opt_write_state_i,
  input  logic [S_WORD_W-1:0]      opt_write_word_i,
  input  logic [1:0][SINGLE_W-1:0] opt_data_i,
  output bias_t                    bias_o
);
  localparam int unsigned BiasW  = $clog2(BWords);
  localparam int unsigned StateW = $clog2(SWords);
  word_e                    kind_q;
  logic                     of_state, opt_state_q, bias_write, new_bias;
  logic [1:0][SINGLE_W-1:0] bias;                 // mean square, bias
  logic [SINGLE_W-1:0]      state;
  assign of_state   = kind_i == WordState;
  assign data_o     = (kind_q == WordState) ? state : bias[kind_q == WordBiasSquare];
  assign opt_data_o = {bias[1], opt_state_q ? state : bias[0]};
  assign bias_write = opt_write_i && !opt_write_state_i;
  assign new_bias   = (write_i && kind_i == WordBias) || bias_write;
  jd_mem_1r1w #(.Depth (BWords), .Lanes (2), .LaneW (SINGLE_W)) u_biases (
    .clk_i, .rst_ni,
    .write_en_i   ((write_i && !of_state) || bias_write),
    .write_addr_i (BiasW'(opt_write_i ? opt_write_word_i : word_i)),
    .write_mask_i (opt_write_i ? 2'b11 : {kind_i == WordBiasSquare, kind_i == WordBias}),
    .write_data_i (opt_write_i ? opt_data_i : {data_i, data_i}),
    .read_en_i    ((read_i && !of_state) || (opt_read_i && !opt_read_state_i)),
    .read_addr_i  (BiasW'(opt_read_i ? opt_read_word_i : word_i)),
    .read_data_o  (bias)
  );
  jd_mem_1r1w #(.Depth (SWords), .LaneW (SINGLE_W)) u_states (
    .clk_i, .rst_ni,
    .write_en_i   ((write_i && of_state) || (opt_write_i && opt_write_state_i)),
    .write_addr_i (StateW'(opt_write_i ? opt_write_word_i : word_i)),
    .write_mask_i (1'b1),
    .write_data_i (opt_write_i ? opt_data_i[0] : data_i),
    .read_en_i    ((read_i && of_state) || (opt_read_i && opt_read_state_i)),
    .read_addr_i  (StateW'(opt_read_i ? opt_read_word_i : word_i)),
    .read_data_o  (state)
  );
  jd_float_convert #(.Latency (1)) u_narrow (
    .clk_i, .rst_ni,
    .valid_i  (new_bias),
    .value_i  (opt_write_i ? opt_data_i[0] : data_i),
    .valid_o  (bias_o.valid),
    .result_o (bias_o.value)
  );
  always_ff @(posedge clk_i) begin
    if (read_i) kind_q <= kind_i;
    if (opt_read_i) opt_state_q <= opt_read_state_i;
    bias_o.word <= B_WORD_W'(opt_write_i ? opt_write_word_i : word_i);
  end

  `JD_ASSUME_IF(OneUser_M, opt_read_i || opt_write_i, !read_i && !write_i)
endmodule : jd_sparse_words
