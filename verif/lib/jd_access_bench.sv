// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_engine_access: 16 words behind it, answered as PeakRDL's registers do; a word above
// them is an error.
module jd_access_bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        s_axil_awvalid_i,
  output logic        s_axil_awready_o,
  input  logic [11:2] s_axil_awaddr_i,
  input  logic        s_axil_wvalid_i,
  output logic        s_axil_wready_o,
  input  logic [31:0] s_axil_wdata_i,
  input  logic [3:0]  s_axil_wstrb_i,
  output logic        s_axil_bvalid_o,
  input  logic        s_axil_bready_i,
  output logic [1:0]  s_axil_bresp_o,
  input  logic        s_axil_arvalid_i,
  output logic        s_axil_arready_o,
  input  logic [11:2] s_axil_araddr_i,
  output logic        s_axil_rvalid_o,
  input  logic        s_axil_rready_i,
  output logic [31:0] s_axil_rdata_o,
  output logic [1:0]  s_axil_rresp_o,
  output logic        request_o
);
  logic        write, read_done_q, read_error_q, outside;
  logic [11:0] address;
  logic [31:0] data, mask, read_data_q;
  logic [31:0] words_q [16];
  assign outside = address[11:6] != '0;
  always_ff @(posedge clk_i) begin
    read_done_q <= rst_ni && request_o && !write;
    if (request_o && !write) begin
      read_error_q <= outside;
      read_data_q  <= outside ? '0 : words_q[address[5:2]];
    end
    if (request_o && write && !outside) begin
      words_q[address[5:2]] <= (words_q[address[5:2]] & ~mask) | (data & mask);
    end
  end

  jd_engine_access u_dut (
    .clk_i, .rst_ni,
    .s_axil_awvalid_i, .s_axil_awready_o, .s_axil_awaddr_i,
    .s_axil_wvalid_i, .s_axil_wready_o, .s_axil_wdata_i, .s_axil_wstrb_i,
    .s_axil_bvalid_o, .s_axil_bready_i, .s_axil_bresp_o,
    .s_axil_arvalid_i, .s_axil_arready_o, .s_axil_araddr_i,
    .s_axil_rvalid_o, .s_axil_rready_i, .s_axil_rdata_o, .s_axil_rresp_o,
    .request_o,
    .write_o       (write),
    .address_o     (address),
    .data_o        (data),
    .mask_o        (mask),
    .read_done_i   (read_done_q),
    .read_error_i  (read_error_q),
    .read_data_i   (read_data_q),
    .write_done_i  (request_o && write),
    .write_error_i (outside)
  );
endmodule : jd_access_bench
