// SPDX-License-Identifier: Apache-2.0
//
// The optimizer: clears gradients, updates the weights and biases of a layer, and its grouping.
//
//   CLRG  -> gradients, bias sums, jd_sparse_sums +0
//   UPD   gradients, weights, biases -> jd_sparse_update -> weights, biases; jd_sparse_sums
//   UPDG  jd_sparse_sums, groups, states, draws -> jd_sparse_group_update -> states, entries
//
// Streams  ready_o, start_i, done_o: as in jd_sparse_sched. table_i, gradient_*, bias_sum_*, param_*:
//          see jd_sparse_update. scan, index, draw_o, entry_*: see jd_sparse_group_update. word_*: see
//          jd_sparse_words. skipped_o pulses for the first update that is skipped after a CLRG.
// Timing   CLRG and a skipped update end one clock after their start. An update waits until the sums
//          are cleared, SWords clocks from a CLRG or from clear_sums_i on.
// Numbers  see the blocks. With nonfinite_i an update changes nothing and draws nothing.
// Source   LearningGroup III-A; docs/sparse.md (numbers). Golden model: models/sparse/machine.py,
//          _update.
`include "jd_assert.svh"
module jd_sparse_opt
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Cores    = 3,         // as jd_sparse_top
  parameter  int unsigned Banks    = 8,
  parameter  int unsigned Lanes    = 33,
  parameter  int unsigned DMax     = 512,
  parameter  int unsigned LMax     = 8,
  parameter  int unsigned WinMax   = 24,
  parameter  int unsigned GRows    = 1024,
  parameter  int unsigned OptLanes = 6,
  parameter  int unsigned SWords   = 4096,
  parameter  int unsigned MaxW     = 128,
  parameter  int unsigned HitW     = 4,
  localparam int unsigned Chunks   = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned GWordW   = $clog2(GRows * Chunks),
  localparam int unsigned SumLines = (DMax + NEURONS - 1) / NEURONS,
  localparam int unsigned SumLineW = (SumLines > 1) ? $clog2(SumLines) : 1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         clear_i,         // what is under way is dropped
  output logic                         ready_o,
  input  logic                         start_i,
  input  instruction_t                 instruction_i,
  output logic                         done_o,
  input  settings_t                    settings_i,
  input  logic                         clear_sums_i,    // of a network that is taken
  output logic                         updates_o,       // weights: UPD runs
  input  table_t                       table_i,
  // Gradients
  output logic                         clear_gradients_o,
  input  logic                         nonfinite_i,     // one since the last CLRG
  output logic                         skipped_o,
  output logic                         gradient_en_o,
  output logic [2:0]                   gradient_bank_o,
  output logic [LAYER_W-1:0]           gradient_layer_o,
  output logic [GWordW-1:0]            gradient_word_o,
  input  logic [Cores-1:0][OptLanes-1:0][SINGLE_W-1:0] gradient_data_i,
  output logic                         bias_sum_en_o,
  output logic [LAYER_W-1:0]           bias_sum_layer_o,
  output logic [SumLineW-1:0]          bias_sum_line_o,
  input  logic [Cores-1:0][NEURONS-1:0][SINGLE_W-1:0]  bias_sum_data_i,
  // Weights
  output word_place_t [OptLanes-1:0]                   param_read_o,
  input  logic [OptLanes-1:0][1:0][SINGLE_W-1:0]       param_data_i,
  output word_place_t [OptLanes-1:0]                   param_write_o,
  output logic [OptLanes-1:0][1:0][SINGLE_W-1:0]       param_new_o,
  // Groups
  output logic                         scan_valid_o,
  input  logic                         scan_ready_i,
  output logic [M_LINE_W-1:0]          scan_line_o,
  output logic [DIM_W-1:0]             scan_rows_o,
  output logic [2:0]                   scan_log2_o,
  input  logic                         index_valid_i,
  output logic                         index_ready_o,
  input  logic [HitW-1:0][GROUP_W-1:0] index_i,
  input  logic [HitW-1:0][ENTRY_W-1:0] index_entry_i,
  output logic                         entry_write_o,
  output logic [M_LINE_W-1:0]          entry_line_o,
  output logic [GROUP_LINE-1:0]        entry_mask_o,
  output logic [8*GROUP_LINE-1:0]      entry_data_o,
  // Words: biases, states of the grouping; draws
  output logic                         word_read_o,
  output logic                         word_read_state_o,
  output logic [S_WORD_W-1:0]          word_read_word_o,
  input  logic [1:0][SINGLE_W-1:0]     word_data_i,     // see jd_sparse_words
  output logic                         word_write_o,
  output logic                         word_write_state_o,
  output logic [S_WORD_W-1:0]          word_write_word_o,
  output logic [1:0][SINGLE_W-1:0]     word_data_o,
  output logic                         draw_o,
  input  logic [DRAWN_W-1:0]           drawn_i
);
  logic rst_n;
  assign rst_n = rst_ni && !clear_i;

  // ---- An instruction
  typedef enum logic [1:0] {StIdle, StSums, StRun, StEnd} state_e;
  state_e state_q, state_d;
  layer_t layer_q;
  logic   weights_q, row_q;                    // UPD
  logic [LAYER_W-1:0] number_q;
  logic   skips, skipped_q, sums_busy, begins, group_ready, group_done, update_ready, update_done;
  assign clear_gradients_o = start_i && instruction_i.op == CLRG;
  assign skips             = start_i && instruction_i.op != CLRG && nonfinite_i;
  assign skipped_o         = skips && !skipped_q;
  assign ready_o           = state_q == StIdle;
  assign done_o            = state_q == StEnd;
  assign begins            = state_q == StSums && !sums_busy && group_ready && update_ready;
  assign updates_o         = state_q != StIdle && weights_q;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:  if (start_i) state_d = (clear_gradients_o || skips) ? StEnd : StSums;
      StSums:  if (begins) state_d = StRun;
      StRun:   if (group_done || update_done) state_d = StEnd;
      StEnd:   state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n)  state_q <= StIdle;
    else         state_q <= state_d;
    if (!rst_ni || clear_gradients_o) skipped_q <= 1'b0;
    else if (skips)                   skipped_q <= 1'b1;
    if (start_i) begin
      weights_q <= instruction_i.op == UPD;
      row_q     <= instruction_i.flags.row;
      number_q  <= instruction_i.number;
      layer_q   <= instruction_i.layer;
    end
  end

  // ---- Sums
  logic                sum_read, sum_columns, row_valid, row_ready, column_valid, column_ready;
  logic [S_WORD_W-1:0] word, row_word, column_word;
  logic [SUM_W-1:0]    sum, row_sum, column_sum;
  jd_sparse_sums #(.SWords (SWords)) u_sums (
    .clk_i, .rst_ni,
    .clear_i        (clear_gradients_o || clear_sums_i),
    .busy_o         (sums_busy),
    .row_valid_i    (row_valid),
    .row_ready_o    (row_ready),
    .row_word_i     (row_word),
    .row_sum_i      (row_sum),
    .column_valid_i (column_valid),
    .column_ready_o (column_ready),
    .column_word_i  (column_word),
    .column_sum_i   (column_sum),
    .read_i         (sum_read),
    .read_columns_i (sum_columns),
    .read_word_i    (word),
    .read_sum_o     (sum)
  );

  // ---- Weights and biases
  logic                     bias_read, bias_write;
  logic [B_WORD_W-1:0]      bias_word, bias_write_word;
  logic [1:0][SINGLE_W-1:0] bias_new;
  jd_sparse_update #(
    .Cores (Cores), .Banks (Banks), .Lanes (Lanes), .DMax (DMax), .LMax (LMax), .WinMax (WinMax),
    .GRows (GRows), .OptLanes (OptLanes)
  ) u_update (
    .clk_i,
    .rst_ni            (rst_n),
    .table_i,
    .ready_o           (update_ready),
    .start_i           (begins && weights_q),
    .number_i          (number_q),
    .layer_i           (layer_q),
    .row_i             (row_q),
    .settings_i,
    .done_o            (update_done),
    .gradient_en_o, .gradient_bank_o, .gradient_layer_o, .gradient_word_o, .gradient_data_i,
    .bias_sum_en_o, .bias_sum_layer_o, .bias_sum_line_o, .bias_sum_data_i,
    .param_read_o, .param_data_i, .param_write_o, .param_new_o,
    .bias_read_o       (bias_read),
    .bias_word_o       (bias_word),
    .bias_data_i       (word_data_i),
    .bias_write_o      (bias_write),
    .bias_write_word_o (bias_write_word),
    .bias_write_data_o (bias_new),
    .row_valid_o       (row_valid),
    .row_ready_i       (row_ready),
    .row_word_o        (row_word),
    .row_sum_o         (row_sum),
    .column_valid_o    (column_valid),
    .column_ready_i    (column_ready),
    .column_word_o     (column_word),
    .column_sum_o      (column_sum)
  );

  // ---- The grouping
  logic [S_WORD_W-1:0] state_word;
  logic [SINGLE_W-1:0] state;
  assign word_read_o        = sum_read || bias_read;
  assign word_read_state_o  = sum_read;
  assign word_read_word_o   = sum_read ? word : S_WORD_W'(bias_word);
  assign word_write_o       = entry_write_o || bias_write;
  assign word_write_state_o = entry_write_o;
  assign word_write_word_o  = entry_write_o ? state_word : S_WORD_W'(bias_write_word);
  assign word_data_o        = entry_write_o ? {SINGLE_W'(0), state} : bias_new;
  jd_sparse_group_update #(.MaxW (MaxW), .HitW (HitW)) u_group (
    .clk_i,
    .rst_ni          (rst_n),
    .start_i         (begins && !weights_q),
    .ready_o         (group_ready),
    .done_o          (group_done),
    .layer_i         (layer_q),
    .settings_i,
    .scan_valid_o, .scan_ready_i, .scan_line_o, .scan_rows_o, .scan_log2_o,
    .index_valid_i, .index_ready_o, .index_i, .index_entry_i,
    .read_o          (sum_read),
    .read_columns_o  (sum_columns),
    .read_word_o     (word),
    .sum_i           (sum),
    .state_i         (word_data_i[0]),
    .draw_o, .drawn_i,
    .write_o         (entry_write_o),
    .write_word_o    (state_word),
    .write_state_o   (state),
    .write_line_o    (entry_line_o),
    .write_mask_o    (entry_mask_o),
    .write_entries_o (entry_data_o)
  );
  `JD_ASSUME_IF(StartWhenReady_M, start_i, ready_o)
endmodule : jd_sparse_opt
