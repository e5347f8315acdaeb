// SPDX-License-Identifier: Apache-2.0
//
// Connects the engines' memory ports to the device's by a table, and adds the signals of AXI4 that
// are constant here: 64-byte beats, INCR, normal access.
//
// Streams  s_axi_*: engine e in element e, on memory port PortOf[e]; m_axi_*: the device's ports.
// Timing   that of jd_axi_mux: round robin, whole bursts; addresses one clock later.
// Numbers  an engine's ID has 4 bits; its number goes above it.
// Source   docs/shell.md, memory.
module jd_shell_memory #(
  parameter  int unsigned             Engines  = 2,    // 1..8
  parameter  int unsigned             MemPorts = 1,    // 1..16
  parameter  logic [Engines-1:0][3:0] PortOf   = '0,   // memory port of each engine
  localparam int unsigned             IdW      = 4,
  localparam int unsigned             PortIdW  = IdW + $clog2(Engines)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [Engines-1:0]        s_axi_arvalid_i,
  output logic [Engines-1:0]        s_axi_arready_o,
  input  logic [Engines-1:0][3:0]   s_axi_arid_i,
  input  logic [Engines-1:0][39:0]  s_axi_araddr_i,
  input  logic [Engines-1:0][7:0]   s_axi_arlen_i,
  output logic [Engines-1:0]        s_axi_rvalid_o,
  input  logic [Engines-1:0]        s_axi_rready_i,
  output logic [Engines-1:0][3:0]   s_axi_rid_o,
  output logic [Engines-1:0][511:0] s_axi_rdata_o,
  output logic [Engines-1:0][1:0]   s_axi_rresp_o,
  output logic [Engines-1:0]        s_axi_rlast_o,
  input  logic [Engines-1:0]        s_axi_awvalid_i,
  output logic [Engines-1:0]        s_axi_awready_o,
  input  logic [Engines-1:0][3:0]   s_axi_awid_i,
  input  logic [Engines-1:0][39:0]  s_axi_awaddr_i,
  input  logic [Engines-1:0][7:0]   s_axi_awlen_i,
  input  logic [Engines-1:0]        s_axi_wvalid_i,
  output logic [Engines-1:0]        s_axi_wready_o,
  input  logic [Engines-1:0][511:0] s_axi_wdata_i,
  input  logic [Engines-1:0][63:0]  s_axi_wstrb_i,
  input  logic [Engines-1:0]        s_axi_wlast_i,
  output logic [Engines-1:0]        s_axi_bvalid_o,
  input  logic [Engines-1:0]        s_axi_bready_i,
  output logic [Engines-1:0][3:0]   s_axi_bid_o,
  output logic [Engines-1:0][1:0]   s_axi_bresp_o,
  output logic                      m_axi_arvalid_o [MemPorts],
  input  logic                      m_axi_arready_i [MemPorts],
  output logic [PortIdW-1:0]        m_axi_arid_o    [MemPorts],
  output logic [39:0]               m_axi_araddr_o  [MemPorts],
  output logic [7:0]                m_axi_arlen_o   [MemPorts],
  output logic [2:0]                m_axi_arsize_o  [MemPorts],
  output logic [1:0]                m_axi_arburst_o [MemPorts],
  output logic                      m_axi_arlock_o  [MemPorts],
  output logic [3:0]                m_axi_arcache_o [MemPorts],
  output logic [2:0]                m_axi_arprot_o  [MemPorts],
  input  logic                      m_axi_rvalid_i  [MemPorts],
  output logic                      m_axi_rready_o  [MemPorts],
  input  logic [PortIdW-1:0]        m_axi_rid_i     [MemPorts],
  input  logic [511:0]              m_axi_rdata_i   [MemPorts],
  input  logic [1:0]                m_axi_rresp_i   [MemPorts],
  input  logic                      m_axi_rlast_i   [MemPorts],
  output logic                      m_axi_awvalid_o [MemPorts],
  input  logic                      m_axi_awready_i [MemPorts],
  output logic [PortIdW-1:0]        m_axi_awid_o    [MemPorts],
  output logic [39:0]               m_axi_awaddr_o  [MemPorts],
  output logic [7:0]                m_axi_awlen_o   [MemPorts],
  output logic [2:0]                m_axi_awsize_o  [MemPorts],
  output logic [1:0]                m_axi_awburst_o [MemPorts],
  output logic                      m_axi_awlock_o  [MemPorts],
  output logic [3:0]                m_axi_awcache_o [MemPorts],
  output logic [2:0]                m_axi_awprot_o  [MemPorts],
  output logic                      m_axi_wvalid_o  [MemPorts],
  input  logic                      m_axi_wready_i  [MemPorts],
  output logic [511:0]              m_axi_wdata_o   [MemPorts],
  output logic [63:0]               m_axi_wstrb_o   [MemPorts],
  output logic                      m_axi_wlast_o   [MemPorts],
  input  logic                      m_axi_bvalid_i  [MemPorts],
  output logic                      m_axi_bready_o  [MemPorts],
  input  logic [PortIdW-1:0]        m_axi_bid_i     [MemPorts],
  input  logic [1:0]                m_axi_bresp_i   [MemPorts]
);
  localparam logic [2:0] BYTES_64 = 3'd6;
  localparam logic [1:0] INCR = 2'b01;
  // Modifiable, not cached and not bufferable: B says that the memory has the data, and engines
  // order their accesses by it.
  localparam logic [3:0] NORMAL = 4'b0010;

  if (Engines < 1 || Engines > 8 || MemPorts < 1 || MemPorts > 16) begin : gen_bad_sizes
    $fatal(1, "jd_shell_memory: Engines=%0d, want 1..8, MemPorts=%0d, want 1..16", Engines,
           MemPorts);
  end
  for (genvar e = 0; e < Engines; e++) begin : gen_table
    if (32'(PortOf[e]) >= MemPorts) begin : gen_bad_port
      $fatal(1, "jd_shell_memory: PortOf[%0d]=%0d, want 0..%0d", e, PortOf[e], MemPorts - 1);
    end
  end

  logic [MemPorts-1:0][Engines-1:0] here;              // the engine is on this port
  logic [MemPorts-1:0][Engines-1:0] arready, rvalid, rlast, awready, wready, bvalid;
  logic [MemPorts-1:0][Engines-1:0][IdW-1:0] rid, bid;
  logic [MemPorts-1:0][Engines-1:0][511:0] rdata;
  logic [MemPorts-1:0][Engines-1:0][1:0] rresp, bresp;

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    localparam int unsigned Port = 32'(PortOf[e]);
    assign s_axi_arready_o[e] = arready[Port][e];
    assign s_axi_rvalid_o[e]  = rvalid[Port][e];
    assign s_axi_rid_o[e]     = rid[Port][e];
    assign s_axi_rdata_o[e]   = rdata[Port][e];
    assign s_axi_rresp_o[e]   = rresp[Port][e];
    assign s_axi_rlast_o[e]   = rlast[Port][e];
    assign s_axi_awready_o[e] = awready[Port][e];
    assign s_axi_wready_o[e]  = wready[Port][e];
    assign s_axi_bvalid_o[e]  = bvalid[Port][e];
    assign s_axi_bid_o[e]     = bid[Port][e];
    assign s_axi_bresp_o[e]   = bresp[Port][e];
    for (genvar p = 0; p < MemPorts; p++) begin : gen_here
      assign here[p][e] = 32'(PortOf[e]) == p;
    end
  end

  for (genvar p = 0; p < MemPorts; p++) begin : gen_port
    assign m_axi_arsize_o[p]  = BYTES_64;
    assign m_axi_arburst_o[p] = INCR;
    assign m_axi_arlock_o[p]  = 1'b0;
    assign m_axi_arcache_o[p] = NORMAL;
    assign m_axi_arprot_o[p]  = '0;
    assign m_axi_awsize_o[p]  = BYTES_64;
    assign m_axi_awburst_o[p] = INCR;
    assign m_axi_awlock_o[p]  = 1'b0;
    assign m_axi_awcache_o[p] = NORMAL;
    assign m_axi_awprot_o[p]  = '0;
    jd_axi_mux #(
      .Clients(Engines),
      .IdW    (IdW)
    ) u_mux (
      .clk_i,
      .rst_ni,
      .s_axi_arvalid_i (s_axi_arvalid_i & here[p]),
      .s_axi_arready_o (arready[p]),
      .s_axi_araddr_i,
      .s_axi_arlen_i,
      .s_axi_arid_i,
      .s_axi_rvalid_o  (rvalid[p]),
      .s_axi_rready_i,
      .s_axi_rdata_o   (rdata[p]),
      .s_axi_rresp_o   (rresp[p]),
      .s_axi_rlast_o   (rlast[p]),
      .s_axi_rid_o     (rid[p]),
      .s_axi_awvalid_i (s_axi_awvalid_i & here[p]),
      .s_axi_awready_o (awready[p]),
      .s_axi_awaddr_i,
      .s_axi_awlen_i,
      .s_axi_awid_i,
      .s_axi_wvalid_i  (s_axi_wvalid_i & here[p]),
      .s_axi_wready_o  (wready[p]),
      .s_axi_wdata_i,
      .s_axi_wstrb_i,
      .s_axi_wlast_i,
      .s_axi_bvalid_o  (bvalid[p]),
      .s_axi_bready_i,
      .s_axi_bresp_o   (bresp[p]),
      .s_axi_bid_o     (bid[p]),
      .m_axi_arvalid_o (m_axi_arvalid_o[p]),
      .m_axi_arready_i (m_axi_arready_i[p]),
      .m_axi_araddr_o  (m_axi_araddr_o[p]),
      .m_axi_arlen_o   (m_axi_arlen_o[p]),
      .m_axi_arid_o    (m_axi_arid_o[p]),
      .m_axi_rvalid_i  (m_axi_rvalid_i[p]),
      .m_axi_rready_o  (m_axi_rready_o[p]),
      .m_axi_rdata_i   (m_axi_rdata_i[p]),
      .m_axi_rresp_i   (m_axi_rresp_i[p]),
      .m_axi_rlast_i   (m_axi_rlast_i[p]),
      .m_axi_rid_i     (m_axi_rid_i[p]),
      .m_axi_awvalid_o (m_axi_awvalid_o[p]),
      .m_axi_awready_i (m_axi_awready_i[p]),
      .m_axi_awaddr_o  (m_axi_awaddr_o[p]),
      .m_axi_awlen_o   (m_axi_awlen_o[p]),
      .m_axi_awid_o    (m_axi_awid_o[p]),
      .m_axi_wvalid_o  (m_axi_wvalid_o[p]),
      .m_axi_wready_i  (m_axi_wready_i[p]),
      .m_axi_wdata_o   (m_axi_wdata_o[p]),
      .m_axi_wstrb_o   (m_axi_wstrb_o[p]),
      .m_axi_wlast_o   (m_axi_wlast_o[p]),
      .m_axi_bvalid_i  (m_axi_bvalid_i[p]),
      .m_axi_bready_o  (m_axi_bready_o[p]),
      .m_axi_bresp_i   (m_axi_bresp_i[p]),
      .m_axi_bid_i     (m_axi_bid_i[p])
    );
  end
endmodule : jd_shell_memory
