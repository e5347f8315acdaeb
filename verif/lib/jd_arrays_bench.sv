// SPDX-License-Identifier: Apache-2.0
//
// Test bench: a reader and a writer of arrays on one memory port with flat names.
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
  output logic               m_axi_arvalid_o,
  input  logic               m_axi_arready_i,
  output logic [39:0]        m_axi_araddr_o,
  output logic [7:0]         m_axi_arlen_o,
  output logic [0:0]         m_axi_arid_o,
  input  logic               m_axi_rvalid_i,
  output logic               m_axi_rready_o,
  input  logic [511:0]       m_axi_rdata_i,
  input  logic [1:0]         m_axi_rresp_i,
  input  logic               m_axi_rlast_i,
  input  logic [0:0]         m_axi_rid_i,
  output logic               m_axi_awvalid_o,
  input  logic               m_axi_awready_i,
  output logic [39:0]        m_axi_awaddr_o,
  output logic [7:0]         m_axi_awlen_o,
  output logic [0:0]         m_axi_awid_o,
  output logic               m_axi_wvalid_o,
  input  logic               m_axi_wready_i,
  output logic [511:0]       m_axi_wdata_o,
  output logic [63:0]        m_axi_wstrb_o,
  output logic               m_axi_wlast_o,
  input  logic               m_axi_bvalid_i,
  output logic               m_axi_bready_o,
  input  logic [1:0]         m_axi_bresp_i,
  input  logic [0:0]         m_axi_bid_i
);
  axi_read_request_t   read_request;
  axi_read_response_t  read_response;
  axi_write_request_t  write_request;
  axi_write_response_t write_response;
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
    .memory_request_o  (read_request),
    .memory_response_i (read_response)
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
    .memory_request_o  (write_request),
    .memory_response_i (write_response)
  );
  assign m_axi_arvalid_o        = read_request.arvalid;
  assign m_axi_araddr_o         = read_request.araddr;
  assign m_axi_arlen_o          = read_request.arlen;
  assign m_axi_arid_o           = '0;
  assign m_axi_rready_o         = read_request.rready;
  assign read_response.arready  = m_axi_arready_i;
  assign read_response.rvalid   = m_axi_rvalid_i;
  assign read_response.rdata    = m_axi_rdata_i;
  assign read_response.rresp    = m_axi_rresp_i;
  assign read_response.rlast    = m_axi_rlast_i;
  assign m_axi_awvalid_o        = write_request.awvalid;
  assign m_axi_awaddr_o         = write_request.awaddr;
  assign m_axi_awlen_o          = write_request.awlen;
  assign m_axi_awid_o           = '0;
  assign m_axi_wvalid_o         = write_request.wvalid;
  assign m_axi_wdata_o          = write_request.wdata;
  assign m_axi_wstrb_o          = write_request.wstrb;
  assign m_axi_wlast_o          = write_request.wlast;
  assign m_axi_bready_o         = write_request.bready;
  assign write_response.awready = m_axi_awready_i;
  assign write_response.wready  = m_axi_wready_i;
  assign write_response.bvalid  = m_axi_bvalid_i;
  assign write_response.bresp   = m_axi_bresp_i;
  logic unused;
  assign unused = ^{m_axi_rid_i, m_axi_bid_i};
endmodule : jd_arrays_bench
