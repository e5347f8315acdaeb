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
module jd_memory_bench
  import jd_axi_pkg::*;
#(
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
  axi_req_t [Engines-1:0] client_req;
  axi_rsp_t [Engines-1:0] client_rsp;
  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    assign client_req[e].read = '{
      arvalid: s_axi_arvalid_i[e], araddr: s_axi_araddr_i[e], arlen: s_axi_arlen_i[e],
      arid: 8'(s_axi_arid_i[e]), rready: s_axi_rready_i[e]};
    assign client_req[e].write = '{
      awvalid: s_axi_awvalid_i[e], awaddr: s_axi_awaddr_i[e], awlen: s_axi_awlen_i[e],
      awid: 8'(s_axi_awid_i[e]), wvalid: s_axi_wvalid_i[e], wdata: s_axi_wdata_i[e],
      wstrb: s_axi_wstrb_i[e], wlast: s_axi_wlast_i[e], bready: s_axi_bready_i[e]};
    assign s_axi_arready_o[e] = client_rsp[e].read.arready;
    assign s_axi_rvalid_o[e]  = client_rsp[e].read.rvalid;
    assign s_axi_rid_o[e]     = client_rsp[e].read.rid[3:0];
    assign s_axi_rdata_o[e]   = client_rsp[e].read.rdata;
    assign s_axi_rresp_o[e]   = client_rsp[e].read.rresp;
    assign s_axi_rlast_o[e]   = client_rsp[e].read.rlast;
    assign s_axi_awready_o[e] = client_rsp[e].write.awready;
    assign s_axi_wready_o[e]  = client_rsp[e].write.wready;
    assign s_axi_bvalid_o[e]  = client_rsp[e].write.bvalid;
    assign s_axi_bid_o[e]     = client_rsp[e].write.bid[3:0];
    assign s_axi_bresp_o[e]   = client_rsp[e].write.bresp;
    `JD_ASSUME_IF(ReadKind_M, s_axi_arvalid_i[e],
                  s_axi_arsize_i[e] == 3'd6 && s_axi_arburst_i[e] == 2'd1)
    `JD_ASSUME_IF(WriteKind_M, s_axi_awvalid_i[e],
                  s_axi_awsize_i[e] == 3'd6 && s_axi_awburst_i[e] == 2'd1)
    `JD_ASSERT(OwnId_A, client_rsp[e].read.rid[7:4] == '0 && client_rsp[e].write.bid[7:4] == '0)
  end

  jd_shell_memory #(
    .Clients  (Engines),
    .MemPorts (MemPorts),
    .PortOf   ({4'd1, 4'd0, 4'd0})
  ) u_memory (
    .clk_i,
    .rst_ni,
    .client_req_i (client_req),
    .client_rsp_o (client_rsp),
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
