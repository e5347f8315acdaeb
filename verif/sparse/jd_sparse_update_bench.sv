// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_sparse_update with its parameter memory, and with memories of gradients, of sums of biases'
// gradients and of biases that the test writes.
//
// Streams  put_*, get_*: of jd_sparse_params; gather_*: a line of both of its copies. gradient_write_i, sum_write_i: a word of a core. bias_put_i:
//          a bias with its mean square; bias_get_*: the same to read, in the same clock.
// Timing   the memories answer as those of the engine do.
// Numbers  bits, unchanged. A word that is not asked for shows its complement.
// Source   -
module jd_sparse_update_bench
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Cores        = 3,
  parameter  int unsigned Banks        = 8,
  parameter  int unsigned Lanes        = 33,
  parameter  int unsigned DMax         = 512,
  parameter  int unsigned LMax         = 8,
  parameter  int unsigned WinMax       = 24,
  parameter  int unsigned GRows        = 1024,
  parameter  int unsigned OptLanes     = 6,
  parameter  int unsigned PWords       = 8192,
  parameter  int unsigned Mul32Latency = 3,
  parameter  int unsigned Add32Latency = 4,
  parameter  int unsigned DivLatency   = 16,
  parameter  int unsigned SqrtLatency  = 16,
  localparam int unsigned Words        = GRows * ((Lanes + OptLanes - 1) / OptLanes),
  localparam int unsigned WordW        = $clog2(Words),
  localparam int unsigned SumLines     = (DMax + NEURONS - 1) / NEURONS,
  localparam int unsigned SumLineW     = (SumLines > 1) ? $clog2(SumLines) : 1
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  input  logic                               put_i,
  input  logic                               put_weights_i,
  input  logic [P_LINE_W-1:0]                put_line_i,
  input  logic [5:0]                         put_first_i,
  input  logic [BEAT_WORDS*SINGLE_W-1:0]     put_data_i,
  input  logic                               get_i,
  input  logic                               get_weights_i,
  input  logic [P_LINE_W-1:0]                get_line_i,
  input  logic [5:0]                         get_first_i,
  output logic [BEAT_WORDS*SINGLE_W-1:0]     get_data_o,
  input  logic                               gather_i,
  input  logic [P_LINE_W-1:0]                gather_line_i,
  output logic [2*WORD_BANKS*SINGLE_W-1:0]   gather_data_o,
  input  logic                               gradient_write_i,
  input  logic [1:0]                         write_core_i,
  input  logic [2:0]                         write_bank_i,
  input  logic [LAYER_W-1:0]                 write_layer_i,
  input  logic [WordW-1:0]                   write_word_i,
  input  logic [OptLanes*SINGLE_W-1:0]       write_gradient_i,
  input  logic                               sum_write_i,
  input  logic [SumLineW-1:0]                write_line_i,
  input  logic [NEURONS*SINGLE_W-1:0]        write_sum_i,
  input  logic                               bias_put_i,
  input  logic [B_WORD_W-1:0]                bias_word_i,
  input  logic [2*SINGLE_W-1:0]              bias_i,
  output logic [2*SINGLE_W-1:0]              bias_o,
  input  table_t                             table_i,
  output logic                               ready_o,
  input  logic                               start_i,
  input  logic [LAYER_W-1:0]                 number_i,
  input  layer_t                             layer_i,
  input  logic                               row_i,
  input  settings_t                          settings_i,
  output logic                               done_o,
  output logic                               row_valid_o,
  input  logic                               row_ready_i,
  output logic [S_WORD_W-1:0]                row_word_o,
  output logic [SUM_W-1:0]                   row_sum_o,
  output logic                               column_valid_o,
  input  logic                               column_ready_i,
  output logic [S_WORD_W-1:0]                column_word_o,
  output logic [SUM_W-1:0]                   column_sum_o
);
  logic                                         gradient_en, sum_en;
  logic [2:0]                                   gradient_bank;
  logic [LAYER_W-1:0]                           gradient_layer, sum_layer;
  logic [WordW-1:0]                             gradient_word;
  logic [SumLineW-1:0]                          sum_line;
  logic [Cores-1:0][OptLanes-1:0][SINGLE_W-1:0] gradient, gradient_q;
  logic [Cores-1:0][NEURONS-1:0][SINGLE_W-1:0]  sum, sum_q;
  for (genvar c = 0; c < Cores; c++) begin : gen_core
    logic [OptLanes-1:0][SINGLE_W-1:0] gradients [8 * Words];
    logic [NEURONS-1:0][SINGLE_W-1:0]  sums [8 * SumLines];
    always_ff @(posedge clk_i) begin
      if (gradient_write_i && write_core_i == 2'(c))
        gradients[32'(write_bank_i) * Words + 32'(write_word_i)] <= write_gradient_i;
      if (sum_write_i && write_core_i == 2'(c))
        sums[32'(write_layer_i) * SumLines + 32'(write_line_i)] <= write_sum_i;
      gradient[c]   <= ~gradient[c];
      sum[c]        <= ~sum[c];
      if (gradient_en && gradient_layer == write_layer_i)
        gradient[c] <= gradients[32'(gradient_bank) * Words + 32'(gradient_word)];
      if (sum_en) sum[c] <= sums[32'(sum_layer) * SumLines + 32'(sum_line)];
      gradient_q[c] <= gradient[c];
      sum_q[c]      <= sum[c];
    end
  end

  word_place_t [OptLanes-1:0]             reads, writes;
  logic [OptLanes-1:0][1:0][SINGLE_W-1:0] old_words, new_words;
  jd_sparse_params #(.PWords (PWords), .OptLanes (OptLanes)) u_params (
    .clk_i, .rst_ni, .put_i, .put_weights_i, .put_line_i, .put_first_i,
    .put_count_i    (5'(BEAT_WORDS)),
    .put_data_i, .get_i, .get_weights_i, .get_line_i, .get_first_i, .get_data_o,
    .gather_en_i    ({2 * WORD_BANKS{gather_i}}),
    .gather_line_i  ({2 * WORD_BANKS{gather_line_i}}),
    .gather_data_o,
    .update_read_i  (reads),
    .update_data_o  (old_words),
    .update_write_i (writes),
    .update_new_i   (new_words)
  );

  logic [1:0][SINGLE_W-1:0] biases [1 << B_WORD_W];
  logic [1:0][SINGLE_W-1:0] bias_old, bias_new;
  logic [B_WORD_W-1:0]      bias_read_word, bias_write_word;
  logic                     bias_read, bias_write;
  assign bias_o = biases[bias_word_i];
  always_ff @(posedge clk_i) begin
    if (bias_put_i)      biases[bias_word_i] <= bias_i;
    else if (bias_write) biases[bias_write_word] <= bias_new;
    bias_old <= bias_read ? biases[bias_read_word] : ~bias_old;
  end

  jd_sparse_update #(
    .Cores (Cores), .Banks (Banks), .Lanes (Lanes), .DMax (DMax), .LMax (LMax), .WinMax (WinMax),
    .GRows (GRows), .OptLanes (OptLanes), .Mul32Latency (Mul32Latency),
    .Add32Latency (Add32Latency), .DivLatency (DivLatency), .SqrtLatency (SqrtLatency)
  ) u_dut (
    .clk_i, .rst_ni, .table_i, .ready_o, .start_i, .number_i, .layer_i, .row_i, .settings_i,
    .done_o,
    .gradient_en_o     (gradient_en),
    .gradient_bank_o   (gradient_bank),
    .gradient_layer_o  (gradient_layer),
    .gradient_word_o   (gradient_word),
    .gradient_data_i   (gradient_q),
    .bias_sum_en_o     (sum_en),
    .bias_sum_layer_o  (sum_layer),
    .bias_sum_line_o   (sum_line),
    .bias_sum_data_i   (sum_q),
    .param_read_o      (reads),
    .param_data_i      (old_words),
    .param_write_o     (writes),
    .param_new_o       (new_words),
    .bias_read_o       (bias_read),
    .bias_word_o       (bias_read_word),
    .bias_data_i       (bias_old),
    .bias_write_o      (bias_write),
    .bias_write_word_o (bias_write_word),
    .bias_write_data_o (bias_new),
    .row_valid_o, .row_ready_i, .row_word_o, .row_sum_o, .column_valid_o, .column_ready_i,
    .column_word_o, .column_sum_o
  );
endmodule : jd_sparse_update_bench
