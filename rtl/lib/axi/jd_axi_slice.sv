// SPDX-License-Identifier: Apache-2.0
//
// Cuts the paths through the five channels of an AXI4 port by registers.
//
// Streams  s_axi_*: the side of the master; m_axi_*: the side of the memory. Each channel apart, in
//          order.
// Timing   a jd_stream_slice a channel, so one beat a clock: latency 1 with its bit of Forward, else
//          0. With all bits set, the default, each output is a register or the inverse of one, and
//          no output depends on an input in the same clock.
// Numbers  bits, unchanged.
// Source   AMBA AXI and ACE protocol specification: no combinational paths from input to output.
module jd_axi_slice #(
  parameter  int unsigned AddrW    = 40,          // bits of an address, 1..64
  parameter  int unsigned DataW    = 512,         // bits of data, 8..1024, power of two
  parameter  int unsigned IdW      = 4,           // bits of an ID, 1..16
  parameter  logic [4:0]  Forward  = 5'b11111,    // {AR, R, AW, W, B}: register valid and payload
  parameter  logic [4:0]  Backward = 5'b11111,    // {AR, R, AW, W, B}: register ready
  localparam int unsigned StrbW    = DataW / 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             s_axi_arvalid_i,
  output logic             s_axi_arready_o,
  input  logic [AddrW-1:0] s_axi_araddr_i,
  input  logic [7:0]       s_axi_arlen_i,
  input  logic [IdW-1:0]   s_axi_arid_i,
  output logic             s_axi_rvalid_o,
  input  logic             s_axi_rready_i,
  output logic [DataW-1:0] s_axi_rdata_o,
  output logic [1:0]       s_axi_rresp_o,
  output logic             s_axi_rlast_o,
  output logic [IdW-1:0]   s_axi_rid_o,
  input  logic             s_axi_awvalid_i,
  output logic             s_axi_awready_o,
  input  logic [AddrW-1:0] s_axi_awaddr_i,
  input  logic [7:0]       s_axi_awlen_i,
  input  logic [IdW-1:0]   s_axi_awid_i,
  input  logic             s_axi_wvalid_i,
  output logic             s_axi_wready_o,
  input  logic [DataW-1:0] s_axi_wdata_i,
  input  logic [StrbW-1:0] s_axi_wstrb_i,
  input  logic             s_axi_wlast_i,
  output logic             s_axi_bvalid_o,
  input  logic             s_axi_bready_i,
  output logic [1:0]       s_axi_bresp_o,
  output logic [IdW-1:0]   s_axi_bid_o,
  output logic             m_axi_arvalid_o,
  input  logic             m_axi_arready_i,
  output logic [AddrW-1:0] m_axi_araddr_o,
  output logic [7:0]       m_axi_arlen_o,
  output logic [IdW-1:0]   m_axi_arid_o,
  input  logic             m_axi_rvalid_i,
  output logic             m_axi_rready_o,
  input  logic [DataW-1:0] m_axi_rdata_i,
  input  logic [1:0]       m_axi_rresp_i,
  input  logic             m_axi_rlast_i,
  input  logic [IdW-1:0]   m_axi_rid_i,
  output logic             m_axi_awvalid_o,
  input  logic             m_axi_awready_i,
  output logic [AddrW-1:0] m_axi_awaddr_o,
  output logic [7:0]       m_axi_awlen_o,
  output logic [IdW-1:0]   m_axi_awid_o,
  output logic             m_axi_wvalid_o,
  input  logic             m_axi_wready_i,
  output logic [DataW-1:0] m_axi_wdata_o,
  output logic [StrbW-1:0] m_axi_wstrb_o,
  output logic             m_axi_wlast_o,
  input  logic             m_axi_bvalid_i,
  output logic             m_axi_bready_o,
  input  logic [1:0]       m_axi_bresp_i,
  input  logic [IdW-1:0]   m_axi_bid_i
);
  if (AddrW < 1 || AddrW > 64 || DataW < 8 || DataW > 1024 || DataW != 2 ** $clog2(DataW) ||
      IdW < 1 || IdW > 16) begin : gen_bad_parameters
    $fatal(1, "jd_axi_slice: AddrW=%0d, want 1..64, DataW=%0d, want 8..1024, IdW=%0d, want 1..16",
           AddrW, DataW, IdW);
  end
  localparam int unsigned RequestW = AddrW + 8 + IdW;      // {address, len, id}
  localparam int unsigned ReadW    = DataW + 2 + 1 + IdW;  // {data, resp, last, id}
  localparam int unsigned WriteW   = DataW + StrbW + 1;    // {data, strobes, last}
  localparam int unsigned AnswerW  = 2 + IdW;              // {resp, id}

  jd_stream_slice #(.Width(RequestW), .Forward(Forward[4]), .Backward(Backward[4])) u_ar (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (s_axi_arvalid_i),
    .in_ready_o  (s_axi_arready_o),
    .in_data_i   ({s_axi_araddr_i, s_axi_arlen_i, s_axi_arid_i}),
    .out_valid_o (m_axi_arvalid_o),
    .out_ready_i (m_axi_arready_i),
    .out_data_o  ({m_axi_araddr_o, m_axi_arlen_o, m_axi_arid_o})
  );
  jd_stream_slice #(.Width(ReadW), .Forward(Forward[3]), .Backward(Backward[3])) u_r (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (m_axi_rvalid_i),
    .in_ready_o  (m_axi_rready_o),
    .in_data_i   ({m_axi_rdata_i, m_axi_rresp_i, m_axi_rlast_i, m_axi_rid_i}),
    .out_valid_o (s_axi_rvalid_o),
    .out_ready_i (s_axi_rready_i),
    .out_data_o  ({s_axi_rdata_o, s_axi_rresp_o, s_axi_rlast_o, s_axi_rid_o})
  );
  jd_stream_slice #(.Width(RequestW), .Forward(Forward[2]), .Backward(Backward[2])) u_aw (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (s_axi_awvalid_i),
    .in_ready_o  (s_axi_awready_o),
    .in_data_i   ({s_axi_awaddr_i, s_axi_awlen_i, s_axi_awid_i}),
    .out_valid_o (m_axi_awvalid_o),
    .out_ready_i (m_axi_awready_i),
    .out_data_o  ({m_axi_awaddr_o, m_axi_awlen_o, m_axi_awid_o})
  );
  jd_stream_slice #(.Width(WriteW), .Forward(Forward[1]), .Backward(Backward[1])) u_w (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (s_axi_wvalid_i),
    .in_ready_o  (s_axi_wready_o),
    .in_data_i   ({s_axi_wdata_i, s_axi_wstrb_i, s_axi_wlast_i}),
    .out_valid_o (m_axi_wvalid_o),
    .out_ready_i (m_axi_wready_i),
    .out_data_o  ({m_axi_wdata_o, m_axi_wstrb_o, m_axi_wlast_o})
  );
  jd_stream_slice #(.Width(AnswerW), .Forward(Forward[0]), .Backward(Backward[0])) u_b (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (m_axi_bvalid_i),
    .in_ready_o  (m_axi_bready_o),
    .in_data_i   ({m_axi_bresp_i, m_axi_bid_i}),
    .out_valid_o (s_axi_bvalid_o),
    .out_ready_i (s_axi_bready_i),
    .out_data_o  ({s_axi_bresp_o, s_axi_bid_o})
  );
endmodule : jd_axi_slice
