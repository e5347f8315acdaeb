// SPDX-License-Identifier: Apache-2.0
//
// Test bench: a jd_axil_demux whose targets are unpacked arrays, so that agents find each by its
// index.
module jd_demux_bench #(
  parameter int unsigned Targets  = 2,
  parameter int unsigned PageBits = 12,
  parameter int unsigned AddrW    = 20,
  parameter bit          Rest     = 1'b0
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             s_axil_awvalid_i,
  output logic             s_axil_awready_o,
  input  logic [AddrW-1:0] s_axil_awaddr_i,
  input  logic             s_axil_wvalid_i,
  output logic             s_axil_wready_o,
  input  logic [31:0]      s_axil_wdata_i,
  input  logic [3:0]       s_axil_wstrb_i,
  output logic             s_axil_bvalid_o,
  input  logic             s_axil_bready_i,
  output logic [1:0]       s_axil_bresp_o,
  input  logic             s_axil_arvalid_i,
  output logic             s_axil_arready_o,
  input  logic [AddrW-1:0] s_axil_araddr_i,
  output logic             s_axil_rvalid_o,
  input  logic             s_axil_rready_i,
  output logic [31:0]      s_axil_rdata_o,
  output logic [1:0]       s_axil_rresp_o,
  output logic             m_axil_awvalid_o [Targets],
  input  logic             m_axil_awready_i [Targets],
  output logic [AddrW-1:0] m_axil_awaddr_o  [Targets],
  output logic             m_axil_wvalid_o  [Targets],
  input  logic             m_axil_wready_i  [Targets],
  output logic [31:0]      m_axil_wdata_o   [Targets],
  output logic [3:0]       m_axil_wstrb_o   [Targets],
  input  logic             m_axil_bvalid_i  [Targets],
  output logic             m_axil_bready_o  [Targets],
  input  logic [1:0]       m_axil_bresp_i   [Targets],
  output logic             m_axil_arvalid_o [Targets],
  input  logic             m_axil_arready_i [Targets],
  output logic [AddrW-1:0] m_axil_araddr_o  [Targets],
  input  logic             m_axil_rvalid_i  [Targets],
  output logic             m_axil_rready_o  [Targets],
  input  logic [31:0]      m_axil_rdata_i   [Targets],
  input  logic [1:0]       m_axil_rresp_i   [Targets]
);
  logic [Targets-1:0]            awvalid, awready, wvalid, wready, bvalid, bready;
  logic [Targets-1:0]            arvalid, arready, rvalid, rready;
  logic [Targets-1:0][AddrW-1:0] awaddr, araddr;
  logic [Targets-1:0][31:0]      wdata, rdata;
  logic [Targets-1:0][3:0]       wstrb;
  logic [Targets-1:0][1:0]       bresp, rresp;
  for (genvar t = 0; t < Targets; t++) begin : gen_target
    assign m_axil_awvalid_o[t] = awvalid[t];
    assign awready[t]          = m_axil_awready_i[t];
    assign m_axil_awaddr_o[t]  = awaddr[t];
    assign m_axil_wvalid_o[t]  = wvalid[t];
    assign wready[t]           = m_axil_wready_i[t];
    assign m_axil_wdata_o[t]   = wdata[t];
    assign m_axil_wstrb_o[t]   = wstrb[t];
    assign bvalid[t]           = m_axil_bvalid_i[t];
    assign m_axil_bready_o[t]  = bready[t];
    assign bresp[t]            = m_axil_bresp_i[t];
    assign m_axil_arvalid_o[t] = arvalid[t];
    assign arready[t]          = m_axil_arready_i[t];
    assign m_axil_araddr_o[t]  = araddr[t];
    assign rvalid[t]           = m_axil_rvalid_i[t];
    assign m_axil_rready_o[t]  = rready[t];
    assign rdata[t]            = m_axil_rdata_i[t];
    assign rresp[t]            = m_axil_rresp_i[t];
  end
  jd_axil_demux #(
    .Targets(Targets), .PageBits(PageBits), .AddrW(AddrW), .Rest(Rest)
  ) u_demux (
    .clk_i            (clk_i),
    .rst_ni           (rst_ni),
    .s_axil_awvalid_i (s_axil_awvalid_i),
    .s_axil_awready_o (s_axil_awready_o),
    .s_axil_awaddr_i  (s_axil_awaddr_i),
    .s_axil_wvalid_i  (s_axil_wvalid_i),
    .s_axil_wready_o  (s_axil_wready_o),
    .s_axil_wdata_i   (s_axil_wdata_i),
    .s_axil_wstrb_i   (s_axil_wstrb_i),
    .s_axil_bvalid_o  (s_axil_bvalid_o),
    .s_axil_bready_i  (s_axil_bready_i),
    .s_axil_bresp_o   (s_axil_bresp_o),
    .s_axil_arvalid_i (s_axil_arvalid_i),
    .s_axil_arready_o (s_axil_arready_o),
    .s_axil_araddr_i  (s_axil_araddr_i),
    .s_axil_rvalid_o  (s_axil_rvalid_o),
    .s_axil_rready_i  (s_axil_rready_i),
    .s_axil_rdata_o   (s_axil_rdata_o),
    .s_axil_rresp_o   (s_axil_rresp_o),
    .m_axil_awvalid_o (awvalid),
    .m_axil_awready_i (awready),
    .m_axil_awaddr_o  (awaddr),
    .m_axil_wvalid_o  (wvalid),
    .m_axil_wready_i  (wready),
    .m_axil_wdata_o   (wdata),
    .m_axil_wstrb_o   (wstrb),
    .m_axil_bvalid_i  (bvalid),
    .m_axil_bready_o  (bready),
    .m_axil_bresp_i   (bresp),
    .m_axil_arvalid_o (arvalid),
    .m_axil_arready_i (arready),
    .m_axil_araddr_o  (araddr),
    .m_axil_rvalid_i  (rvalid),
    .m_axil_rready_o  (rready),
    .m_axil_rdata_i   (rdata),
    .m_axil_rresp_i   (rresp)
  );
endmodule : jd_demux_bench
