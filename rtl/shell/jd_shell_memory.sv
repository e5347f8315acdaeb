// SPDX-License-Identifier: Apache-2.0
//
// Connects the engines' memory ports, its clients, to the device's by a table, and adds the signals
// of AXI4 that are constant here: 64-byte beats, INCR, normal access.
//
// Streams  s_axi_*: client c in element c, on memory port PortOf[c]; m_axi_*: the device's ports.
// Timing   that of jd_axi_mux: round robin, whole bursts; addresses two clocks later. At the device's
//          ports RREADY and BREADY are registers: one more beat or response is taken while the
//          client waits. W depends on the clients' W in the same clock, and no other output on any
//          input.
// Numbers  a client's ID has 4 bits; its number goes above it.
// Source   docs/shell.md, memory.
module jd_shell_memory #(
  parameter  int unsigned             Clients  = 2,    // 1..16
  parameter  int unsigned             MemPorts = 1,    // 1..16
  parameter  logic [Clients-1:0][3:0] PortOf   = '0,   // memory port of each client
  localparam int unsigned             IdW      = 4,
  localparam int unsigned             PortIdW  = IdW + $clog2(Clients)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [Clients-1:0]        s_axi_arvalid_i,
  output logic [Clients-1:0]        s_axi_arready_o,
  input  logic [Clients-1:0][3:0]   s_axi_arid_i,
  input  logic [Clients-1:0][39:0]  s_axi_araddr_i,
  input  logic [Clients-1:0][7:0]   s_axi_arlen_i,
  output logic [Clients-1:0]        s_axi_rvalid_o,
  input  logic [Clients-1:0]        s_axi_rready_i,
  output logic [Clients-1:0][3:0]   s_axi_rid_o,
  output logic [Clients-1:0][511:0] s_axi_rdata_o,
  output logic [Clients-1:0][1:0]   s_axi_rresp_o,
  output logic [Clients-1:0]        s_axi_rlast_o,
  input  logic [Clients-1:0]        s_axi_awvalid_i,
  output logic [Clients-1:0]        s_axi_awready_o,
  input  logic [Clients-1:0][3:0]   s_axi_awid_i,
  input  logic [Clients-1:0][39:0]  s_axi_awaddr_i,
  input  logic [Clients-1:0][7:0]   s_axi_awlen_i,
  input  logic [Clients-1:0]        s_axi_wvalid_i,
  output logic [Clients-1:0]        s_axi_wready_o,
  input  logic [Clients-1:0][511:0] s_axi_wdata_i,
  input  logic [Clients-1:0][63:0]  s_axi_wstrb_i,
  input  logic [Clients-1:0]        s_axi_wlast_i,
  output logic [Clients-1:0]        s_axi_bvalid_o,
  input  logic [Clients-1:0]        s_axi_bready_i,
  output logic [Clients-1:0][3:0]   s_axi_bid_o,
  output logic [Clients-1:0][1:0]   s_axi_bresp_o,
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

  if (Clients < 1 || Clients > 16 || MemPorts < 1 || MemPorts > 16) begin : gen_bad_sizes
    $fatal(1, "jd_shell_memory: Clients=%0d, want 1..16, MemPorts=%0d, want 1..16", Clients,
           MemPorts);
  end
  for (genvar c = 0; c < Clients; c++) begin : gen_table
    if (32'(PortOf[c]) >= MemPorts) begin : gen_bad_port
      $fatal(1, "jd_shell_memory: PortOf[%0d]=%0d, want 0..%0d", c, PortOf[c], MemPorts - 1);
    end
  end

  logic [MemPorts-1:0][Clients-1:0] here;              // the client is on this port
  logic [MemPorts-1:0][Clients-1:0] arready, rvalid, rlast, awready, wready, bvalid;
  logic [MemPorts-1:0][Clients-1:0][IdW-1:0] rid, bid;
  logic [MemPorts-1:0][Clients-1:0][511:0] rdata;
  logic [MemPorts-1:0][Clients-1:0][1:0] rresp, bresp;

  for (genvar c = 0; c < Clients; c++) begin : gen_client
    localparam int unsigned Port = 32'(PortOf[c]);
    assign s_axi_arready_o[c] = arready[Port][c];
    assign s_axi_rvalid_o[c]  = rvalid[Port][c];
    assign s_axi_rid_o[c]     = rid[Port][c];
    assign s_axi_rdata_o[c]   = rdata[Port][c];
    assign s_axi_rresp_o[c]   = rresp[Port][c];
    assign s_axi_rlast_o[c]   = rlast[Port][c];
    assign s_axi_awready_o[c] = awready[Port][c];
    assign s_axi_wready_o[c]  = wready[Port][c];
    assign s_axi_bvalid_o[c]  = bvalid[Port][c];
    assign s_axi_bid_o[c]     = bid[Port][c];
    assign s_axi_bresp_o[c]   = bresp[Port][c];
    for (genvar p = 0; p < MemPorts; p++) begin : gen_here
      assign here[p][c] = 32'(PortOf[c]) == p;
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
    logic               port_arvalid, port_arready, port_rvalid, port_rready, port_rlast;
    logic               port_awvalid, port_awready, port_wvalid, port_wready, port_wlast;
    logic               port_bvalid, port_bready;
    logic [39:0]        port_araddr, port_awaddr;
    logic [7:0]         port_arlen, port_awlen;
    logic [PortIdW-1:0] port_arid, port_rid, port_awid, port_bid;
    logic [511:0]       port_rdata, port_wdata;
    logic [63:0]        port_wstrb;
    logic [1:0]         port_rresp, port_bresp;
    jd_axi_mux #(
      .Clients(Clients),
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
      .m_axi_arvalid_o (port_arvalid),
      .m_axi_arready_i (port_arready),
      .m_axi_araddr_o  (port_araddr),
      .m_axi_arlen_o   (port_arlen),
      .m_axi_arid_o    (port_arid),
      .m_axi_rvalid_i  (port_rvalid),
      .m_axi_rready_o  (port_rready),
      .m_axi_rdata_i   (port_rdata),
      .m_axi_rresp_i   (port_rresp),
      .m_axi_rlast_i   (port_rlast),
      .m_axi_rid_i     (port_rid),
      .m_axi_awvalid_o (port_awvalid),
      .m_axi_awready_i (port_awready),
      .m_axi_awaddr_o  (port_awaddr),
      .m_axi_awlen_o   (port_awlen),
      .m_axi_awid_o    (port_awid),
      .m_axi_wvalid_o  (port_wvalid),
      .m_axi_wready_i  (port_wready),
      .m_axi_wdata_o   (port_wdata),
      .m_axi_wstrb_o   (port_wstrb),
      .m_axi_wlast_o   (port_wlast),
      .m_axi_bvalid_i  (port_bvalid),
      .m_axi_bready_o  (port_bready),
      .m_axi_bresp_i   (port_bresp),
      .m_axi_bid_i     (port_bid)
    );
    // The multiplexer's requests are registers. Its RREADY and BREADY follow RID and BID, so they need
    // one here. W passes from the engine, where it follows no input of the port.
    jd_axi_slice #(
      .IdW      (PortIdW),
      .Forward  ('0),
      .Backward (5'b01001)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .s_axi_arvalid_i (port_arvalid),
      .s_axi_arready_o (port_arready),
      .s_axi_araddr_i (port_araddr),
      .s_axi_arlen_i (port_arlen),
      .s_axi_arid_i (port_arid),
      .s_axi_rvalid_o (port_rvalid),
      .s_axi_rready_i (port_rready),
      .s_axi_rdata_o (port_rdata),
      .s_axi_rresp_o (port_rresp),
      .s_axi_rlast_o (port_rlast),
      .s_axi_rid_o (port_rid),
      .s_axi_awvalid_i (port_awvalid),
      .s_axi_awready_o (port_awready),
      .s_axi_awaddr_i (port_awaddr),
      .s_axi_awlen_i (port_awlen),
      .s_axi_awid_i (port_awid),
      .s_axi_wvalid_i (port_wvalid),
      .s_axi_wready_o (port_wready),
      .s_axi_wdata_i (port_wdata),
      .s_axi_wstrb_i (port_wstrb),
      .s_axi_wlast_i (port_wlast),
      .s_axi_bvalid_o (port_bvalid),
      .s_axi_bready_i (port_bready),
      .s_axi_bresp_o (port_bresp),
      .s_axi_bid_o (port_bid),
      .m_axi_arvalid_o (m_axi_arvalid_o[p]),
      .m_axi_arready_i (m_axi_arready_i[p]),
      .m_axi_araddr_o (m_axi_araddr_o[p]),
      .m_axi_arlen_o (m_axi_arlen_o[p]),
      .m_axi_arid_o (m_axi_arid_o[p]),
      .m_axi_rvalid_i (m_axi_rvalid_i[p]),
      .m_axi_rready_o (m_axi_rready_o[p]),
      .m_axi_rdata_i (m_axi_rdata_i[p]),
      .m_axi_rresp_i (m_axi_rresp_i[p]),
      .m_axi_rlast_i (m_axi_rlast_i[p]),
      .m_axi_rid_i (m_axi_rid_i[p]),
      .m_axi_awvalid_o (m_axi_awvalid_o[p]),
      .m_axi_awready_i (m_axi_awready_i[p]),
      .m_axi_awaddr_o (m_axi_awaddr_o[p]),
      .m_axi_awlen_o (m_axi_awlen_o[p]),
      .m_axi_awid_o (m_axi_awid_o[p]),
      .m_axi_wvalid_o (m_axi_wvalid_o[p]),
      .m_axi_wready_i (m_axi_wready_i[p]),
      .m_axi_wdata_o (m_axi_wdata_o[p]),
      .m_axi_wstrb_o (m_axi_wstrb_o[p]),
      .m_axi_wlast_o (m_axi_wlast_o[p]),
      .m_axi_bvalid_i (m_axi_bvalid_i[p]),
      .m_axi_bready_o (m_axi_bready_o[p]),
      .m_axi_bresp_i (m_axi_bresp_i[p]),
      .m_axi_bid_i (m_axi_bid_i[p])
    );
  end
endmodule : jd_shell_memory
