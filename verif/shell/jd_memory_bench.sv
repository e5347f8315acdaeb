// SPDX-License-Identifier: Apache-2.0
//
// Test bench: jd_shell_memory alone, with the engines' ports as unpacked arrays, so that agents find
// each by its index. Engines 0 and 1 are on memory port 0, engine 2 has port 1 for itself.
//
// Streams  s_axi_*: engines; m_axi_*: memory ports.
// Timing   that of jd_shell_memory.
// Numbers  none.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_memory_bench #(
  localparam int unsigned Engines  = 3,
  localparam int unsigned MemPorts = 2,
  localparam int unsigned MemIdW   = 4 + $clog2(Engines)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         s_axi_arvalid_i   [Engines],
  output logic         s_axi_arready_o   [Engines],
  input  logic [3:0]   s_axi_arid_i      [Engines],
  input  logic [39:0]  s_axi_araddr_i    [Engines],
  input  logic [7:0]   s_axi_arlen_i     [Engines],
  input  logic [2:0]   s_axi_arsize_i    [Engines],
  input  logic [1:0]   s_axi_arburst_i   [Engines],
  output logic         s_axi_rvalid_o    [Engines],
  input  logic         s_axi_rready_i    [Engines],
  output logic [3:0]   s_axi_rid_o       [Engines],
  output logic [511:0] s_axi_rdata_o     [Engines],
  output logic [1:0]   s_axi_rresp_o     [Engines],
  output logic         s_axi_rlast_o     [Engines],
  input  logic         s_axi_awvalid_i   [Engines],
  output logic         s_axi_awready_o   [Engines],
  input  logic [3:0]   s_axi_awid_i      [Engines],
  input  logic [39:0]  s_axi_awaddr_i    [Engines],
  input  logic [7:0]   s_axi_awlen_i     [Engines],
  input  logic [2:0]   s_axi_awsize_i    [Engines],
  input  logic [1:0]   s_axi_awburst_i   [Engines],
  input  logic         s_axi_wvalid_i    [Engines],
  output logic         s_axi_wready_o    [Engines],
  input  logic [511:0] s_axi_wdata_i     [Engines],
  input  logic [63:0]  s_axi_wstrb_i     [Engines],
  input  logic         s_axi_wlast_i     [Engines],
  output logic         s_axi_bvalid_o    [Engines],
  input  logic         s_axi_bready_i    [Engines],
  output logic [3:0]   s_axi_bid_o       [Engines],
  output logic [1:0]   s_axi_bresp_o     [Engines],
  output logic         m_axi_arvalid_o   [MemPorts],
  input  logic         m_axi_arready_i   [MemPorts],
  output logic [MemIdW-1:0] m_axi_arid_o      [MemPorts],
  output logic [39:0]  m_axi_araddr_o    [MemPorts],
  output logic [7:0]   m_axi_arlen_o     [MemPorts],
  output logic [2:0]   m_axi_arsize_o    [MemPorts],
  output logic [1:0]   m_axi_arburst_o   [MemPorts],
  output logic         m_axi_arlock_o    [MemPorts],
  output logic [3:0]   m_axi_arcache_o   [MemPorts],
  output logic [2:0]   m_axi_arprot_o    [MemPorts],
  input  logic         m_axi_rvalid_i    [MemPorts],
  output logic         m_axi_rready_o    [MemPorts],
  input  logic [MemIdW-1:0] m_axi_rid_i       [MemPorts],
  input  logic [511:0] m_axi_rdata_i     [MemPorts],
  input  logic [1:0]   m_axi_rresp_i     [MemPorts],
  input  logic         m_axi_rlast_i     [MemPorts],
  output logic         m_axi_awvalid_o   [MemPorts],
  input  logic         m_axi_awready_i   [MemPorts],
  output logic [MemIdW-1:0] m_axi_awid_o      [MemPorts],
  output logic [39:0]  m_axi_awaddr_o    [MemPorts],
  output logic [7:0]   m_axi_awlen_o     [MemPorts],
  output logic [2:0]   m_axi_awsize_o    [MemPorts],
  output logic [1:0]   m_axi_awburst_o   [MemPorts],
  output logic         m_axi_awlock_o    [MemPorts],
  output logic [3:0]   m_axi_awcache_o   [MemPorts],
  output logic [2:0]   m_axi_awprot_o    [MemPorts],
  output logic         m_axi_wvalid_o    [MemPorts],
  input  logic         m_axi_wready_i    [MemPorts],
  output logic [511:0] m_axi_wdata_o     [MemPorts],
  output logic [63:0]  m_axi_wstrb_o     [MemPorts],
  output logic         m_axi_wlast_o     [MemPorts],
  input  logic         m_axi_bvalid_i    [MemPorts],
  output logic         m_axi_bready_o    [MemPorts],
  input  logic [MemIdW-1:0] m_axi_bid_i       [MemPorts],
  input  logic [1:0]   m_axi_bresp_i     [MemPorts]
);
  logic [Engines-1:0] arvalid;
  logic [Engines-1:0] arready;
  logic [Engines-1:0][3:0] arid;
  logic [Engines-1:0][39:0] araddr;
  logic [Engines-1:0][7:0] arlen;
  logic [Engines-1:0] rvalid;
  logic [Engines-1:0] rready;
  logic [Engines-1:0][3:0] rid;
  logic [Engines-1:0][511:0] rdata;
  logic [Engines-1:0][1:0] rresp;
  logic [Engines-1:0] rlast;
  logic [Engines-1:0] awvalid;
  logic [Engines-1:0] awready;
  logic [Engines-1:0][3:0] awid;
  logic [Engines-1:0][39:0] awaddr;
  logic [Engines-1:0][7:0] awlen;
  logic [Engines-1:0] wvalid;
  logic [Engines-1:0] wready;
  logic [Engines-1:0][511:0] wdata;
  logic [Engines-1:0][63:0] wstrb;
  logic [Engines-1:0] wlast;
  logic [Engines-1:0] bvalid;
  logic [Engines-1:0] bready;
  logic [Engines-1:0][3:0] bid;
  logic [Engines-1:0][1:0] bresp;
  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    assign arvalid[e] = s_axi_arvalid_i[e];
    assign s_axi_arready_o[e] = arready[e];
    assign arid[e] = s_axi_arid_i[e];
    assign araddr[e] = s_axi_araddr_i[e];
    assign arlen[e] = s_axi_arlen_i[e];
    assign s_axi_rvalid_o[e] = rvalid[e];
    assign rready[e] = s_axi_rready_i[e];
    assign s_axi_rid_o[e] = rid[e];
    assign s_axi_rdata_o[e] = rdata[e];
    assign s_axi_rresp_o[e] = rresp[e];
    assign s_axi_rlast_o[e] = rlast[e];
    assign awvalid[e] = s_axi_awvalid_i[e];
    assign s_axi_awready_o[e] = awready[e];
    assign awid[e] = s_axi_awid_i[e];
    assign awaddr[e] = s_axi_awaddr_i[e];
    assign awlen[e] = s_axi_awlen_i[e];
    assign wvalid[e] = s_axi_wvalid_i[e];
    assign s_axi_wready_o[e] = wready[e];
    assign wdata[e] = s_axi_wdata_i[e];
    assign wstrb[e] = s_axi_wstrb_i[e];
    assign wlast[e] = s_axi_wlast_i[e];
    assign s_axi_bvalid_o[e] = bvalid[e];
    assign bready[e] = s_axi_bready_i[e];
    assign s_axi_bid_o[e] = bid[e];
    assign s_axi_bresp_o[e] = bresp[e];
    `JD_ASSUME_IF(ReadKind_M, s_axi_arvalid_i[e],
                  s_axi_arsize_i[e] == 3'd6 && s_axi_arburst_i[e] == 2'd1)
    `JD_ASSUME_IF(WriteKind_M, s_axi_awvalid_i[e],
                  s_axi_awsize_i[e] == 3'd6 && s_axi_awburst_i[e] == 2'd1)
  end

  jd_shell_memory #(
    .Clients  (Engines),
    .MemPorts (MemPorts),
    .PortOf   ({4'd1, 4'd0, 4'd0})
  ) u_memory (
    .clk_i,
    .rst_ni,
    .s_axi_arvalid_i (arvalid),
    .s_axi_arready_o (arready),
    .s_axi_arid_i    (arid),
    .s_axi_araddr_i  (araddr),
    .s_axi_arlen_i   (arlen),
    .s_axi_rvalid_o  (rvalid),
    .s_axi_rready_i  (rready),
    .s_axi_rid_o     (rid),
    .s_axi_rdata_o   (rdata),
    .s_axi_rresp_o   (rresp),
    .s_axi_rlast_o   (rlast),
    .s_axi_awvalid_i (awvalid),
    .s_axi_awready_o (awready),
    .s_axi_awid_i    (awid),
    .s_axi_awaddr_i  (awaddr),
    .s_axi_awlen_i   (awlen),
    .s_axi_wvalid_i  (wvalid),
    .s_axi_wready_o  (wready),
    .s_axi_wdata_i   (wdata),
    .s_axi_wstrb_i   (wstrb),
    .s_axi_wlast_i   (wlast),
    .s_axi_bvalid_o  (bvalid),
    .s_axi_bready_i  (bready),
    .s_axi_bid_o     (bid),
    .s_axi_bresp_o   (bresp),
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_arid_o,
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arsize_o,
    .m_axi_arburst_o,
    .m_axi_arlock_o,
    .m_axi_arcache_o,
    .m_axi_arprot_o,
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rid_i,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_rlast_i,
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_awid_o,
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awsize_o,
    .m_axi_awburst_o,
    .m_axi_awlock_o,
    .m_axi_awcache_o,
    .m_axi_awprot_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bid_i,
    .m_axi_bresp_i
  );
endmodule : jd_memory_bench
