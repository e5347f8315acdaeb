// SPDX-License-Identifier: Apache-2.0
//
// Test bench: a reader and a writer of arrays on one memory port.
module jd_arrays_bench
  import jd_axi_pkg::*;
#(
  parameter int unsigned CountW = 21
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               read_start_i,
  input  logic [39:0]        read_address_i,
  input  logic [CountW-1:0]  read_count_i,
  input  logic [2:0]         read_size_log2_i,
  input  logic               read_abort_i,
  output logic               read_error_o,
  output logic [1:0]         read_response_o,
  output logic               read_idle_o,
  output logic               item_valid_o,
  input  logic               item_ready_i,
  output logic [127:0]       item_data_o,
  input  logic               write_start_i,
  input  logic [39:0]        write_address_i,
  input  logic               write_flush_i,
  input  logic               write_abort_i,
  output logic               write_error_o,
  output logic [1:0]         write_response_o,
  output logic               write_idle_o,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [127:0]       in_data_i,
  output axi_req_t           mem_req_o,
  input  axi_rsp_t           mem_rsp_i
);
  jd_axi_array_reader #(
    .CountW (CountW)
  ) u_reader (
    .clk_i,
    .rst_ni,
    .start_i           (read_start_i),
    .address_i         (read_address_i),
    .count_i           (read_count_i),
    .size_log2_i       (read_size_log2_i),
    .abort_i           (read_abort_i),
    .item_valid_o,
    .item_ready_i,
    .item_data_o,
    .error_o           (read_error_o),
    .response_o        (read_response_o),
    .idle_o            (read_idle_o),
    .mem_req_o         (mem_req_o.read),
    .mem_rsp_i         (mem_rsp_i.read)
  );
  jd_axi_array_writer u_writer (
    .clk_i,
    .rst_ni,
    .start_i           (write_start_i),
    .address_i         (write_address_i),
    .flush_i           (write_flush_i),
    .abort_i           (write_abort_i),
    .in_valid_i,
    .in_ready_o,
    .in_data_i,
    .error_o           (write_error_o),
    .response_o        (write_response_o),
    .idle_o            (write_idle_o),
    .mem_req_o         (mem_req_o.write),
    .mem_rsp_i         (mem_rsp_i.write)
  );
endmodule : jd_arrays_bench
