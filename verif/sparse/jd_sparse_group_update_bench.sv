// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_sparse_group_update with the encoder, the sums, a memory of states and the generator.
//
// Streams  in_*, write_*, read_*, peek_*: of jd_sparse_encode; row_*, column_*, clear_i: of
//          jd_sparse_sums. state_*: a state to write, or to read. seed_*: of the generator.
//          settings_i, start_i, ready_o, done_o: of jd_sparse_group_update. probe_*: a sum to read.
// Timing   state_o and probe_o come one clock later.
// Numbers  bits, unchanged.
// Source   -
module jd_sparse_group_update_bench
  import jd_sparse_pkg::*;
#(
  parameter int unsigned GMax         = 32,
  parameter int unsigned DMax         = 512,
  parameter int unsigned LMax         = 8,
  parameter int unsigned MRows        = 512,
  parameter int unsigned SWords       = 4096,
  parameter int unsigned MaxW         = 128,
  parameter int unsigned CmpW         = 64,
  parameter int unsigned HitW         = 4,
  parameter int unsigned MulLatency   = 3,
  parameter int unsigned AddLatency   = 4,
  parameter int unsigned DivLatency   = 16,
  parameter int unsigned SqrtLatency  = 16,
  parameter int unsigned FixedLatency = 3
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         in_valid_i,
  output logic                         in_ready_o,
  input  logic [LAYER_W-1:0]           in_number_i,
  input  layer_t                       in_layer_i,
  input  logic                         in_exchanged_i,
  input  logic                         in_uncached_i,
  output logic                         done_o,
  input  logic                         write_valid_i,
  input  logic [M_LINE_W-1:0]          write_line_i,
  input  logic [GROUP_LINE-1:0]        write_mask_i,
  input  logic [8*GROUP_LINE-1:0]      write_data_i,
  input  logic                         read_valid_i,
  input  logic [M_LINE_W-1:0]          read_line_i,
  output logic [8*GROUP_LINE-1:0]      read_data_o,
  input  logic [LAYER_W-1:0]           peek_layer_i,
  input  logic [INDEX_W-1:0]           peek_index_i,
  output place_of_t                    peek_place_o,
  input  logic [INDEX_W-1:0]           peek_entry_i,
  output logic [INDEX_W-1:0]           peek_tuple_o,
  output directory_t                   directory_o,
  input  logic [GROUP_W-1:0]           peek_group_i,
  input  logic [INDEX_W-1:0]           peek_slice_i,
  output logic [CmpW-1:0]              peek_bits_o,
  input  logic                         clear_i,
  output logic                         busy_o,
  input  logic                         row_valid_i,
  output logic                         row_ready_o,
  input  logic [S_WORD_W-1:0]          row_word_i,
  input  logic [SUM_W-1:0]             row_sum_i,
  input  logic                         column_valid_i,
  output logic                         column_ready_o,
  input  logic [S_WORD_W-1:0]          column_word_i,
  input  logic [SUM_W-1:0]             column_sum_i,
  input  logic                         probe_i,
  input  logic                         probe_columns_i,
  input  logic [S_WORD_W-1:0]          probe_word_i,
  output logic [SUM_W-1:0]             probe_o,
  input  logic                         state_write_i,
  input  logic [S_WORD_W-1:0]          state_word_i,
  input  logic [SINGLE_W-1:0]          state_i,
  output logic [SINGLE_W-1:0]          state_o,
  input  logic                         seed_write_i,
  input  logic [255:0]                 seed_i,
  output logic [255:0]                 generator_o,
  input  settings_t                    settings_i,
  input  logic                         start_i,
  input  layer_t                       layer_i,
  output logic                         ready_o,
  output logic                         update_done_o
);
  logic                         scan_valid, scan_ready, index_valid, index_ready, read, columns;
  logic [M_LINE_W-1:0]          scan_line, new_line;
  logic [DIM_W-1:0]             scan_rows;
  logic [2:0]                   scan_log2;
  logic [HitW-1:0][GROUP_W-1:0] index;
  logic [HitW-1:0][ENTRY_W-1:0] index_entry;
  logic [S_WORD_W-1:0]          word, new_word;
  logic [SINGLE_W-1:0]          state, new_state;
  logic                         draw, write, unused_read_ready;
  logic [63:0]                  drawn;
  logic [GROUP_LINE-1:0]        new_mask;
  logic [8*GROUP_LINE-1:0]      new_entries;
  encoder_clocks_t              unused_clocks;
  jd_sparse_encode #(
    .GMax (GMax), .DMax (DMax), .LMax (LMax), .MRows (MRows), .MaxW (MaxW), .CmpW (CmpW),
    .HitW (HitW)
  ) u_encode (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_number_i, .in_layer_i, .in_exchanged_i,
    .in_uncached_i, .done_o,
    .clocks_o      (unused_clocks),
    .write_valid_i (write_valid_i || write),
    .write_line_i  (write ? new_line : write_line_i),
    .write_mask_i  (write ? new_mask : write_mask_i),
    .write_data_i  (write ? new_entries : write_data_i),
    .read_valid_i,
    .read_ready_o  (unused_read_ready),
    .read_line_i, .read_data_o,
    .scan_valid_i  (scan_valid),
    .scan_ready_o  (scan_ready),
    .scan_line_i   (scan_line),
    .scan_rows_i   (scan_rows),
    .scan_log2_i   (scan_log2),
    .index_valid_o (index_valid),
    .index_ready_i (index_ready),
    .index_o       (index),
    .index_entry_o (index_entry),
    .peek_layer_i, .peek_index_i, .peek_place_o, .peek_entry_i, .peek_tuple_o, .directory_o,
    .peek_group_i, .peek_slice_i, .peek_bits_o
  );
  jd_sparse_sums #(.SWords (SWords)) u_sums (
    .clk_i, .rst_ni, .clear_i, .busy_o, .row_valid_i, .row_ready_o, .row_word_i, .row_sum_i,
    .column_valid_i, .column_ready_o, .column_word_i, .column_sum_i,
    .read_i         (read || probe_i),
    .read_columns_i (read ? columns : probe_columns_i),
    .read_word_i    (read ? word : probe_word_i),
    .read_sum_o     (probe_o)
  );
  jd_mem_1r1w #(.Depth (SWords), .LaneW (SINGLE_W)) u_states (
    .clk_i, .rst_ni,
    .write_en_i   (state_write_i || write),
    .write_addr_i ($clog2(SWords)'(write ? new_word : state_word_i)),
    .write_mask_i (1'b1),
    .write_data_i (write ? new_state : state_i),
    .read_en_i    (1'b1),
    .read_addr_i  ($clog2(SWords)'(read ? word : state_word_i)),
    .read_data_o  (state)
  );
  assign state_o = state;
  jd_random_xoshiro u_generator (
    .clk_i, .rst_ni,
    .load_i  (seed_write_i),
    .seed_i,
    .next_i  (draw),
    .value_o (drawn),
    .state_o (generator_o)
  );
  jd_sparse_group_update #(
    .MaxW (MaxW), .HitW (HitW), .MulLatency (MulLatency), .AddLatency (AddLatency),
    .DivLatency (DivLatency), .SqrtLatency (SqrtLatency), .FixedLatency (FixedLatency)
  ) u_dut (
    .clk_i, .rst_ni, .start_i, .ready_o,
    .done_o          (update_done_o),
    .layer_i, .settings_i,
    .scan_valid_o    (scan_valid),
    .scan_ready_i    (scan_ready),
    .scan_line_o     (scan_line),
    .scan_rows_o     (scan_rows),
    .scan_log2_o     (scan_log2),
    .index_valid_i   (index_valid),
    .index_ready_o   (index_ready),
    .index_i         (index),
    .index_entry_i   (index_entry),
    .read_o          (read),
    .read_columns_o  (columns),
    .read_word_o     (word),
    .sum_i           (probe_o),
    .state_i         (state),
    .draw_o          (draw),
    .drawn_i         (drawn[63 -: DRAWN_W]),
    .write_o         (write),
    .write_word_o    (new_word),
    .write_state_o   (new_state),
    .write_line_o    (new_line),
    .write_mask_o    (new_mask),
    .write_entries_o (new_entries)
  );
endmodule : jd_sparse_group_update_bench
