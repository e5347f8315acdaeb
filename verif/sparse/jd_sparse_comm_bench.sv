// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_sparse_comm with an activation store that the test reads and writes, too.
//
// Streams  store_read_*, store_write_*: the test's, which never wait; see jd_sparse_store.
// Timing   store_data_o shows what was read READ_LATENCY clocks later.
// Numbers  bits, unchanged.
// Source   -
module jd_sparse_comm_bench
  import jd_sparse_pkg::*;
#(
  parameter int unsigned ARows      = 256,
  parameter int unsigned AddLatency = 4
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,
  output logic                             idle_o,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic [TILES_W-1:0]               tiles_i,
  input  logic [15:0]                      vectors_i,
  input  logic [7:0]                       agents_i,
  input  logic [SINGLE_W-1:0]              inverse_i,
  output logic                             done_o,
  input  logic [NEURONS-1:0]               store_read_i,
  input  logic [A_LINE_W-1:0]              store_read_line_i,
  output logic [LINE_W-1:0]                store_data_o,
  input  logic [NEURONS-1:0]               store_write_i,
  input  logic [A_LINE_W-1:0]              store_write_line_i,
  input  logic [LINE_W-1:0]                store_write_data_i
);
  logic [NEURONS-1:0]               read_en, write_en;
  logic [NEURONS-1:0][A_LINE_W-1:0] read_line, write_line;
  logic [NEURONS-1:0][TUPLE_W-1:0]  read_data, write_data;
  logic [1:0]                       read_ready, write_ready;
  logic                             unused_ready;
  assign unused_ready = read_ready[0] ^ write_ready[0];
  assign store_data_o = read_data;
  jd_sparse_store #(.ARows (ARows), .Readers (2), .Writers (2)) u_store (
    .clk_i, .rst_ni,
    .read_en_i     ({read_en, store_read_i}),
    .read_line_i   ({read_line, {NEURONS{store_read_line_i}}}),
    .read_ready_o  (read_ready),
    .read_data_o   (read_data),
    .write_en_i    ({write_en, store_write_i}),
    .write_line_i  ({write_line, {NEURONS{store_write_line_i}}}),
    .write_data_i  ({write_data, store_write_data_i}),
    .write_ready_o (write_ready)
  );
  jd_sparse_comm #(.AddLatency (AddLatency)) u_dut (
    .clk_i, .rst_ni, .clear_i, .idle_o, .start_i, .instruction_i, .tiles_i, .vectors_i, .agents_i,
    .inverse_i, .done_o,
    .read_en_o     (read_en),
    .read_line_o   (read_line),
    .read_ready_i  (read_ready[1]),
    .read_data_i   (read_data),
    .write_en_o    (write_en),
    .write_line_o  (write_line),
    .write_data_o  (write_data),
    .write_ready_i (write_ready[1])
  );
endmodule : jd_sparse_comm_bench
