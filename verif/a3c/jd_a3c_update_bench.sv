// SPDX-License-Identifier: Apache-2.0
//
// Test bench: jd_a3c_update with its structures as plain vectors, so that agents find its streams.
module jd_a3c_update_bench
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
#(
  parameter int unsigned Units       = 4,
  parameter int unsigned MulLatency  = 2,
  parameter int unsigned AddLatency  = 2,
  parameter int unsigned DivLatency  = 4,
  parameter int unsigned SqrtLatency = 4,
  parameter int unsigned Rows        = 128,
  parameter bit          Second      = 1'b0
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      go_i,
  input  logic [$bits(task_t)-1:0]  task_i,
  output logic                      finish_o,
  input  logic                      stop_i,
  output logic                      idle_o,
  input  logic                      failed_i,
  output logic                      error_valid_o,
  output logic [4:0]                error_word_o,
  output logic [1:0]                error_response_o,
  input  logic                      chunk_valid_i,
  output logic                      chunk_ready_o,
  input  logic [$bits(chunk_t)-1:0] chunk_data_i,
  output logic                      chunk_read_o,
  output logic                      read_valid_o,
  input  logic                      read_ready_i,
  output logic [15:0]               read_row_o,
  input  logic [511:0]              read_data_i,
  output logic                      order_valid_o,
  output logic [31:0]               order_ticket_o,
  output logic [2:0]                order_layer_o,
  output logic [25:0]               order_behind_o,
  input  logic                      order_go_i,
  output logic                      layer_done_o,
  output logic [2:0]                layer_done_layer_o,
  output logic                      written_valid_o,
  output logic [2:0]                written_layer_o,
  output logic [25:0]               written_behind_o,
  output axi_req_t                  mem_req_o,
  input  axi_rsp_t                  mem_rsp_i
);
  written_t written;
  assign written_valid_o  = written.valid;
  assign written_layer_o  = written.layer;
  assign written_behind_o = written.behind;
  jd_a3c_update #(
    .Units (Units), .MulLatency (MulLatency), .AddLatency (AddLatency), .DivLatency (DivLatency),
    .SqrtLatency (SqrtLatency), .Rows (Rows), .Second (Second)
  ) u_update (
    .clk_i, .rst_ni, .go_i, .task_i, .finish_o, .stop_i, .idle_o, .failed_i,
    .error_valid_o, .error_word_o, .error_response_o,
    .chunk_valid_i, .chunk_ready_o,
    .chunk_i   (chunk_data_i),
    .chunk_read_o, .read_valid_o, .read_ready_i, .read_row_o, .read_data_i,
    .order_valid_o, .order_ticket_o, .order_layer_o, .order_behind_o, .order_go_i,
    .layer_done_o, .layer_done_layer_o,
    .written_o (written),
    .mem_req_o, .mem_rsp_i
  );
endmodule : jd_a3c_update_bench
