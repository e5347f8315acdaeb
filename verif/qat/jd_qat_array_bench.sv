// SPDX-License-Identifier: Apache-2.0
//
// The array, the accumulator and the output stage of a core side by side, so that one simulator has
// them all.
//
// Streams  those of the blocks.
// Timing   that of the blocks.
// Numbers  those of the blocks.
// Source   docs/qat.md.
module jd_qat_array_bench
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw      = 4,
  parameter  int unsigned Entries = 9,
  localparam int unsigned IndexW  = $clog2(Lw),
  localparam int unsigned SumW    = PRODUCT_W + IndexW
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           load_valid_i,
  input  logic                           load_by_row_i,
  input  logic [IndexW-1:0]              load_index_i,
  input  logic                           load_opens_i,
  input  logic [Lw-1:0][WORD_W-1:0]      load_line_i,
  input  logic                           entry_valid_i,
  input  logic                           entry_swap_i,
  input  logic                           entry_half_i,
  input  logic                           entry_gradient_i,
  input  logic                           entry_opens_i,
  input  logic                           entry_closes_i,
  input  logic [Lw-1:0][WORD_W-1:0]      entry_row_i,
  input  logic [1:0][Lw-1:0][WORD_W-1:0] entry_column_i,
  output logic                           sums_valid_o,
  output logic [Lw-1:0][SumW-1:0]        sums_low_o,
  output logic [Lw-1:0][SumW-1:0]        sums_high_o,
  input  logic [IndexW:0]                drain_rows_i,
  output logic                           drain_valid_o,
  output logic [IndexW-1:0]              drain_index_o,
  output logic [Lw-1:0][1:0][ACC_W-1:0]  drain_o,
  input  logic                           ahead_valid_i,
  input  logic [$clog2(Entries)-1:0]     ahead_index_i,
  input  logic                           ahead_first_i,
  input  logic                           ahead_last_i,
  input  logic [Lw-1:0][SumW-1:0]        accum_low_i,
  input  logic [Lw-1:0][SumW-1:0]        accum_high_i,
  output logic                           accum_valid_o,
  output logic [Lw-1:0][ACC_W-1:0]       accum_low_o,
  output logic [Lw-1:0][ACC_W-1:0]       accum_high_o,
  input  logic                           in_valid_i,
  input  logic                           in_half_i,
  input  logic                           in_odd_i,
  input  logic                           in_delta_i,
  input  logic                           in_relu_i,
  input  logic                           in_wide_i,
  input  logic                           in_quantize_i,
  input  logic [SHIFT_W-1:0]             in_up_i,
  input  logic [SHIFT_W-1:0]             in_down_i,
  input  logic [ROWS_W-1:0]              in_words_i,
  input  logic [ROWS_W-1:0]              in_word_i,
  input  logic [Lw-1:0][WORD_W-1:0]      in_bias_i,
  input  logic [Lw-1:0][ACC_W-1:0]       in_low_i,
  input  logic [Lw-1:0][ACC_W-1:0]       in_high_i,
  input  logic [Lw-1:0]                  in_positive_i,
  output logic                           wide_valid_o,
  output logic [1:0][Lw-1:0][WORD_W-1:0] wide_data_o,
  output logic                           line_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]      line_data_o,
  output logic [$clog2(2*Lw+1)-1:0]      over_z_o,
  output logic [$clog2(2*Lw+1)-1:0]      over_quantized_o
);
  jd_qat_array #(.Lw (Lw)) u_array (
    .clk_i, .rst_ni, .load_valid_i, .load_by_row_i, .load_index_i, .load_opens_i, .load_line_i,
    .entry_valid_i, .entry_swap_i, .entry_half_i, .entry_gradient_i, .entry_opens_i,
    .entry_closes_i, .entry_row_i, .entry_column_i, .sums_valid_o, .sums_low_o, .sums_high_o,
    .drain_rows_i, .drain_valid_o, .drain_index_o, .drain_o
  );
  jd_qat_accum #(.Lw (Lw), .Entries (Entries)) u_accum (
    .clk_i, .rst_ni, .ahead_valid_i, .ahead_index_i, .ahead_first_i, .ahead_last_i,
    .sums_low_i  (accum_low_i),
    .sums_high_i (accum_high_i),
    .out_valid_o (accum_valid_o),
    .out_low_o   (accum_low_o),
    .out_high_o  (accum_high_o)
  );
  jd_qat_out #(.Lw (Lw)) u_out (
    .clk_i, .rst_ni, .in_valid_i, .in_half_i, .in_odd_i, .in_delta_i, .in_relu_i, .in_wide_i,
    .in_quantize_i, .in_up_i, .in_down_i, .in_words_i, .in_word_i, .in_bias_i, .in_low_i,
    .in_high_i, .in_positive_i, .wide_valid_o, .wide_data_o, .line_valid_o, .line_data_o,
    .over_z_o, .over_quantized_o
  );
endmodule : jd_qat_array_bench
