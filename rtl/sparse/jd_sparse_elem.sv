// SPDX-License-Identifier: Apache-2.0
//
// Elementwise unit of a core: LIN takes results to the activation store, LSTMF and LSTMB are the
// step of an LSTM and its gradient.
//
//   results -> columns -> lin -> store
//                      -> lstm <-> store
//
// Streams  start_i: an instruction, while idle_o; done_o is high for one clock when all is written.
//          table_i, bias_i: writes. result_*: read ports of the banks' results. sums_o, rows_i: in ROW
//          split, see jd_sparse_columns. read_*, write_*: client of jd_sparse_store that never waits.
// Timing   See jd_sparse_columns, jd_sparse_lin and jd_sparse_lstm.
// Numbers  FP16; see the blocks.
// Source   LearningGroup III-A (aggregator). Golden model: models/sparse/machine.py, _elementwise.
`include "jd_assert.svh"
module jd_sparse_elem
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Banks      = 8,     // 1..8
  parameter  int unsigned Lanes      = 33,    // 2..264
  parameter  int unsigned DMax       = 512,   // 8..512
  parameter  int unsigned LMax       = 8,     // 1..8
  parameter  int unsigned RRows      = 4096,
  parameter  int unsigned BWords     = 2048,
  parameter  int unsigned DrainW     = 4,     // 1, 2, 4
  parameter  int unsigned Channels   = 4,     // 1, 2, 4, 8
  parameter  int unsigned MulLatency = 3,     // 1..4
  parameter  int unsigned AddLatency = 4,     // 1..4
  localparam int unsigned RW         = $clog2(RRows)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,       // what is under way is dropped
  input  table_t                           table_i,
  input  bias_t                            bias_i,
  output logic                             idle_o,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic                             dx_i,          // the results are those of a DX
  input  logic                             set_i,
  input  logic [TILES_W-1:0]               tiles_i,       // of this core
  output logic                             done_o,
  output logic [Banks-1:0][DrainW-1:0]           result_en_o,
  output logic [Banks-1:0][DrainW-1:0][RW-1:0]   result_address_o,
  input  logic [Banks-1:0][DrainW-1:0][TUPLE_W-1:0] result_data_i,   // one clock later
  output logic                             sums_valid_o,
  output logic [Channels-1:0][TUPLE_W-1:0] sums_o,
  input  logic                             rows_valid_i,
  input  logic [Channels-1:0][TUPLE_W-1:0] rows_i,
  output logic [NEURONS-1:0]               read_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] read_line_o,
  input  logic [NEURONS-1:0][TUPLE_W-1:0]  read_data_i,
  output logic [NEURONS-1:0]               write_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] write_line_o,
  output logic [NEURONS-1:0][TUPLE_W-1:0]  write_data_o
);
  logic rst_n, busy_q, lstm_q, rests_q;
  assign rst_n = rst_ni && !clear_i;
  logic                             soon_valid;
  columns_t                         soon;
  logic [Channels-1:0][TUPLE_W-1:0] columns;
  logic                             lin_done, lstm_done;
  logic [NEURONS-1:0]               lin_read, lin_write, lstm_read, lstm_write;
  logic [NEURONS-1:0][A_LINE_W-1:0] lin_read_line, lin_line, lstm_read_line, lstm_line;
  logic [NEURONS-1:0][TUPLE_W-1:0]  lin_data, lstm_data;

  jd_sparse_columns #(
    .Banks (Banks), .Lanes (Lanes), .DMax (DMax), .LMax (LMax), .RRows (RRows), .BWords (BWords),
    .DrainW (DrainW), .Channels (Channels), .AddLatency (AddLatency)
  ) u_columns (
    .clk_i,
    .rst_ni        (rst_n),
    .table_i, .bias_i,
    .start_i       (start_i && instruction_i.op != LSTMB),
    .instruction_i, .dx_i, .set_i, .tiles_i,
    .result_en_o, .result_address_o, .result_data_i, .sums_valid_o, .sums_o, .rows_valid_i, .rows_i,
    .soon_valid_o  (soon_valid),
    .soon_o        (soon),
    .columns_o     (columns)
  );
  jd_sparse_lin #(.Channels (Channels), .AddLatency (AddLatency)) u_lin (
    .clk_i,
    .rst_ni        (rst_n),
    .start_i       (start_i && instruction_i.op == LIN),
    .instruction_i,
    .done_o        (lin_done),
    .soon_valid_i  (soon_valid && !lstm_q),
    .soon_i        (soon),
    .columns_i     (columns),
    .read_en_o     (lin_read),
    .read_line_o   (lin_read_line),
    .read_data_i,
    .write_en_o    (lin_write),
    .write_line_o  (lin_line),
    .write_data_o  (lin_data)
  );
  jd_sparse_lstm #(
    .Channels (Channels), .MulLatency (MulLatency), .AddLatency (AddLatency)
  ) u_lstm (
    .clk_i,
    .rst_ni        (rst_n),
    .start_i       (start_i && instruction_i.op != LIN),
    .instruction_i, .tiles_i,
    .done_o        (lstm_done),
    .soon_valid_i  (soon_valid && lstm_q),
    .soon_i        (soon),
    .columns_i     (columns),
    .read_en_o     (lstm_read),
    .read_line_o   (lstm_read_line),
    .read_data_i,
    .write_en_o    (lstm_write),
    .write_line_o  (lstm_line),
    .write_data_o  (lstm_data)
  );

  // One instruction at a time, so that the other unit is still.
  assign read_en_o    = lstm_q ? lstm_read : lin_read;
  assign read_line_o  = lstm_q ? lstm_read_line : lin_read_line;
  assign write_en_o   = lstm_q ? lstm_write : lin_write;
  assign write_line_o = lstm_q ? lstm_line : lin_line;
  assign write_data_o = lstm_q ? lstm_data : lin_data;
  assign done_o       = lin_done || lstm_done || rests_q;
  assign idle_o       = !busy_q;
  always_ff @(posedge clk_i) begin
    rests_q <= rst_n && start_i && tiles_i == '0;
    if (start_i)         lstm_q <= instruction_i.op != LIN;
    if (!rst_n || done_o) busy_q <= 1'b0;
    else if (start_i)     busy_q <= 1'b1;
  end

  `JD_ASSERT(OneStores_A, !((lin_write != '0 || lin_read != '0) && lstm_q)
                          && !((lstm_write != '0 || lstm_read != '0) && !lstm_q))
  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
  `JD_ASSUME_IF(KnownOp_M, start_i, instruction_i.op inside {LIN, LSTMF, LSTMB})
endmodule : jd_sparse_elem
