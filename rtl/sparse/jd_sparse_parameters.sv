// SPDX-License-Identifier: Apache-2.0
//
// Memories of parameters and their images: weights, biases, states of the grouping. The grouping's
// entries are in jd_sparse_encode.
//
// Streams  start_i, sized_o, go_i, in, out: of jd_sparse_image. gather_*: of jd_sparse_lau. opt_*,
//          update_*: of jd_sparse_opt. bias_o: to the cores. group_*: to jd_sparse_encode.
// Timing   that of the blocks.
// Numbers  bits, unchanged.
// Source   docs/sparse.md (jobs). Golden model: models/sparse/machine.py, parts.
module jd_sparse_parameters
  import jd_sparse_pkg::*;
#(
  parameter int unsigned PWords = 262144,         // as jd_sparse_top
  parameter int unsigned BWords = 2048,
  parameter int unsigned SWords = 4096,
  parameter int unsigned OptLanes = 6
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  // Images
  input  logic                                     clear_i,        // the image is dropped
  output logic                                     idle_o,
  input  logic                                     start_i,
  input  logic                                     load_i,         // LOAD, else STORE
  input  logic [LAYERS-1:0]                        mask_i,         // layers
  input  logic [PARTS-1:0]                         kinds_i,
  input  layer_t [LAYERS-1:0]                      layers_i,
  output logic                                     sized_o,
  output logic [BEATS_W-1:0]                       lines_o,
  input  logic                                     go_i,
  input  logic                                     in_valid_i,
  output logic                                     in_ready_o,
  input  logic [LINE_W-1:0]                        in_data_i,
  output logic                                     out_valid_o,
  input  logic                                     out_ready_i,
  output logic [LINE_W-1:0]                        out_data_o,
  output logic                                     group_write_o,
  output logic                                     group_read_o,
  output logic [M_LINE_W-1:0]                      group_line_o,
  output logic [GROUP_LINE-1:0]                    group_mask_o,
  output logic [8*GROUP_LINE-1:0]                  group_data_o,
  input  logic [8*GROUP_LINE-1:0]                  group_data_i,
  // To the optimizer
  input  logic                                     opt_read_i,
  input  logic                                     opt_read_state_i,
  input  logic [S_WORD_W-1:0]                      opt_read_word_i,
  output logic [1:0][SINGLE_W-1:0]                 opt_data_o,
  input  logic                                     opt_write_i,
  input  logic                                     opt_write_state_i,
  input  logic [S_WORD_W-1:0]                      opt_write_word_i,
  input  logic [1:0][SINGLE_W-1:0]                 opt_data_i,
  // To the array
  input  logic [1:0][WORD_BANKS-1:0]               gather_en_i,
  input  logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] gather_line_i,
  output logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] gather_data_o,
  output bias_t                                    bias_o,
  // To the update of weights
  input  word_place_t [OptLanes-1:0]               update_read_i,
  output logic [OptLanes-1:0][1:0][SINGLE_W-1:0]   update_data_o,
  input  word_place_t [OptLanes-1:0]               update_write_i,
  input  logic [OptLanes-1:0][1:0][SINGLE_W-1:0]   update_new_i
);
  logic                                put, get, of_weights;
  logic [P_LINE_W-1:0]                 line;
  logic [5:0]                          first;
  logic [4:0]                          count;
  logic [BEAT_WORDS-1:0][SINGLE_W-1:0] weights;
  logic                                word_write, word_read;
  word_e                               word_kind;
  logic [S_WORD_W-1:0]                 word;
  logic [SINGLE_W-1:0]                 word_new, word_old;
  jd_sparse_image u_image (
    .clk_i, .rst_ni, .clear_i, .idle_o, .start_i, .load_i, .mask_i, .kinds_i, .layers_i, .sized_o,
    .lines_o, .go_i, .in_valid_i, .in_ready_o, .in_data_i, .out_valid_o, .out_ready_i, .out_data_o,
    .put_o        (put),
    .get_o        (get),
    .weights_o    (of_weights),
    .line_o       (line),
    .first_o      (first),
    .count_o      (count),
    .get_data_i   (weights),
    .word_write_o (word_write),
    .word_read_o  (word_read),
    .word_kind_o  (word_kind),
    .word_o       (word),
    .word_data_o  (word_new),
    .word_data_i  (word_old),
    .group_write_o, .group_read_o, .group_line_o, .group_mask_o, .group_data_o, .group_data_i
  );
  jd_sparse_params #(.PWords (PWords), .OptLanes (OptLanes)) u_params (
    .clk_i, .rst_ni,
    .put_i         (put),
    .put_weights_i (of_weights),
    .put_line_i    (line),
    .put_first_i   (first),
    .put_count_i   (count),
    .put_data_i    (in_data_i),
    .get_i         (get),
    .get_weights_i (of_weights),
    .get_line_i    (line),
    .get_first_i   (first),
    .get_data_o    (weights),
    .gather_en_i, .gather_line_i, .gather_data_o, .update_read_i, .update_data_o, .update_write_i,
    .update_new_i
  );
  jd_sparse_words #(.BWords (BWords), .SWords (SWords)) u_words (
    .clk_i, .rst_ni,
    .write_i (word_write),
    .read_i  (word_read),
    .kind_i  (word_kind),
    .word_i  (word),
    .data_i  (word_new),
    .data_o  (word_old),
    .opt_read_i, .opt_read_state_i, .opt_read_word_i, .opt_data_o, .opt_write_i, .opt_write_state_i,
    .opt_write_word_i, .opt_data_i,
    .bias_o
  );
endmodule : jd_sparse_parameters
