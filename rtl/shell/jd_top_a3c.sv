// SPDX-License-Identifier: Apache-2.0
//
// The device with the a3c engine: directory, engine, memory ports.
//
// Streams  s_axil_*: control, AXI4-Lite; page 0 the directory, 1 a3c, others SLVERR.
//          m_axi_*: device memory, AXI4. irq_o: level.
// Timing   a control access crosses the demultiplexer in one clock each way.
// Numbers  those of the engine.
// Source   docs/shell.md.
`include "jd_assert.svh"
module jd_top_a3c #(
  parameter int unsigned ClockHz     = 180_000_000,  // Hz, for the directory
  parameter int unsigned MemSizeLog2 = 26,           // bytes of device memory, 12..40
  parameter int unsigned MemPorts    = 1,            // as many as the engine has
  parameter int unsigned BuildHash   = 0,            // of the configuration
  parameter int unsigned A3cNPe         = 16,   // elements of a unit: 16, 32, 64, 128
  parameter int unsigned A3cNPair       = 1,    // pairs of an inference and a training unit
  parameter bit          A3cSingleCu    = 1'b0, // a pair is one unit with both roles
  parameter bit          A3cPortPerCu   = 1'b0, // a memory port for each unit, else for each pair
  parameter bit          A3cAltEn       = 1'b0, // the other layouts can be chosen; 0: none is built
  parameter int unsigned A3cLm          = 3,    // latency of the multiplier, clocks
  parameter int unsigned A3cLa          = 4,    // of the adder
  parameter int unsigned A3cNRu         = 4,    // RMSProp units of a training unit
  parameter int unsigned A3cNbMax       = 8,    // largest batch, 1..8
  parameter int unsigned A3cNNet        = 4,    // network slots, 1..15
  parameter int unsigned A3cFmRows      = 1024, // rows of 16 words: feature maps,
  parameter int unsigned A3cPbInference = 2048, // parameters of an inference unit,
  parameter int unsigned A3cPbTraining  = 1024, // of a training unit,
  parameter int unsigned A3cGbRows      = 1024, // gradients
  parameter int unsigned A3cDivLatency  = 8,    // of RMSProp's operators, 2..28
  parameter int unsigned A3cSqrtLatency = 8     // 2..28
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         irq_o,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [19:0]  s_axil_awaddr_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  output logic [1:0]   s_axil_bresp_o,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  input  logic [19:0]  s_axil_araddr_i,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,
  output logic         m_axi_arvalid_o [MemPorts],
  input  logic         m_axi_arready_i [MemPorts],
  output logic [3:0]   m_axi_arid_o    [MemPorts],
  output logic [39:0]  m_axi_araddr_o  [MemPorts],
  output logic [7:0]   m_axi_arlen_o   [MemPorts],
  output logic [2:0]   m_axi_arsize_o  [MemPorts],
  output logic [1:0]   m_axi_arburst_o [MemPorts],
  output logic         m_axi_arlock_o  [MemPorts],
  output logic [3:0]   m_axi_arcache_o [MemPorts],
  output logic [2:0]   m_axi_arprot_o  [MemPorts],
  input  logic         m_axi_rvalid_i  [MemPorts],
  output logic         m_axi_rready_o  [MemPorts],
  input  logic [3:0]   m_axi_rid_i     [MemPorts],
  input  logic [511:0] m_axi_rdata_i   [MemPorts],
  input  logic [1:0]   m_axi_rresp_i   [MemPorts],
  input  logic         m_axi_rlast_i   [MemPorts],
  output logic         m_axi_awvalid_o [MemPorts],
  input  logic         m_axi_awready_i [MemPorts],
  output logic [3:0]   m_axi_awid_o    [MemPorts],
  output logic [39:0]  m_axi_awaddr_o  [MemPorts],
  output logic [7:0]   m_axi_awlen_o   [MemPorts],
  output logic [2:0]   m_axi_awsize_o  [MemPorts],
  output logic [1:0]   m_axi_awburst_o [MemPorts],
  output logic         m_axi_awlock_o  [MemPorts],
  output logic [3:0]   m_axi_awcache_o [MemPorts],
  output logic [2:0]   m_axi_awprot_o  [MemPorts],
  output logic         m_axi_wvalid_o  [MemPorts],
  input  logic         m_axi_wready_i  [MemPorts],
  output logic [511:0] m_axi_wdata_o   [MemPorts],
  output logic [63:0]  m_axi_wstrb_o   [MemPorts],
  output logic         m_axi_wlast_o   [MemPorts],
  input  logic         m_axi_bvalid_i  [MemPorts],
  output logic         m_axi_bready_o  [MemPorts],
  input  logic [3:0]   m_axi_bid_i     [MemPorts],
  input  logic [1:0]   m_axi_bresp_i   [MemPorts]
);
  localparam int unsigned Pages = 2;
  localparam int unsigned Ports = A3cSingleCu || !A3cPortPerCu ? A3cNPair : 2 * A3cNPair;
  if (MemPorts != Ports) begin : gen_bad_ports
    $fatal(1, "jd_top_a3c: MemPorts=%0d, want the engine's %0d", MemPorts, Ports);
  end

  logic [63:0] time_now;
  logic        irq;

  // ---- Control: page p in element p
  logic [Pages-1:0] axil_awvalid;
  logic [Pages-1:0] axil_awready;
  logic [Pages-1:0][19:0] axil_awaddr;
  logic [Pages-1:0] axil_wvalid;
  logic [Pages-1:0] axil_wready;
  logic [Pages-1:0][31:0] axil_wdata;
  logic [Pages-1:0][3:0] axil_wstrb;
  logic [Pages-1:0] axil_bvalid;
  logic [Pages-1:0] axil_bready;
  logic [Pages-1:0][1:0] axil_bresp;
  logic [Pages-1:0] axil_arvalid;
  logic [Pages-1:0] axil_arready;
  logic [Pages-1:0][19:0] axil_araddr;
  logic [Pages-1:0] axil_rvalid;
  logic [Pages-1:0] axil_rready;
  logic [Pages-1:0][31:0] axil_rdata;
  logic [Pages-1:0][1:0] axil_rresp;

  jd_axil_demux #(
    .Targets  (Pages),
    .PageBits (12),
    .AddrW    (20)
  ) u_demux (
    .clk_i,
    .rst_ni,
    .s_axil_awvalid_i,
    .s_axil_awready_o,
    .s_axil_awaddr_i,
    .s_axil_wvalid_i,
    .s_axil_wready_o,
    .s_axil_wdata_i,
    .s_axil_wstrb_i,
    .s_axil_bvalid_o,
    .s_axil_bready_i,
    .s_axil_bresp_o,
    .s_axil_arvalid_i,
    .s_axil_arready_o,
    .s_axil_araddr_i,
    .s_axil_rvalid_o,
    .s_axil_rready_i,
    .s_axil_rdata_o,
    .s_axil_rresp_o,
    .m_axil_awvalid_o (axil_awvalid),
    .m_axil_awready_i (axil_awready),
    .m_axil_awaddr_o  (axil_awaddr),
    .m_axil_wvalid_o  (axil_wvalid),
    .m_axil_wready_i  (axil_wready),
    .m_axil_wdata_o   (axil_wdata),
    .m_axil_wstrb_o   (axil_wstrb),
    .m_axil_bvalid_i  (axil_bvalid),
    .m_axil_bready_o  (axil_bready),
    .m_axil_bresp_i   (axil_bresp),
    .m_axil_arvalid_o (axil_arvalid),
    .m_axil_arready_i (axil_arready),
    .m_axil_araddr_o  (axil_araddr),
    .m_axil_rvalid_i  (axil_rvalid),
    .m_axil_rready_o  (axil_rready),
    .m_axil_rdata_i   (axil_rdata),
    .m_axil_rresp_i   (axil_rresp)
  );

  jd_shell_directory #(
    .Engines     (1),
    .EngineIds   (jd_a3c_map_pkg::ENGINE_ID),
    .ClockHz     (ClockHz),
    .MemSizeLog2 (MemSizeLog2),
    .MemPorts    (MemPorts),
    .BuildHash   (BuildHash)
  ) u_directory (
    .clk_i,
    .rst_ni,
    .s_axil_awvalid_i (axil_awvalid[0]),
    .s_axil_awready_o (axil_awready[0]),
    .s_axil_awaddr_i  (axil_awaddr[0][11:0]),
    .s_axil_wvalid_i  (axil_wvalid[0]),
    .s_axil_wready_o  (axil_wready[0]),
    .s_axil_wdata_i   (axil_wdata[0]),
    .s_axil_wstrb_i   (axil_wstrb[0]),
    .s_axil_bvalid_o  (axil_bvalid[0]),
    .s_axil_bready_i  (axil_bready[0]),
    .s_axil_bresp_o   (axil_bresp[0]),
    .s_axil_arvalid_i (axil_arvalid[0]),
    .s_axil_arready_o (axil_arready[0]),
    .s_axil_araddr_i  (axil_araddr[0][11:0]),
    .s_axil_rvalid_o  (axil_rvalid[0]),
    .s_axil_rready_i  (axil_rready[0]),
    .s_axil_rdata_o   (axil_rdata[0]),
    .s_axil_rresp_o   (axil_rresp[0]),
    .irq_i            (irq),
    .time_o           (time_now),
    .irq_o
  );

  // ---- Memory: each of the engine's ports has one of the device's
  logic axi_arvalid [MemPorts];
  logic axi_arready [MemPorts];
  logic [39:0] axi_araddr [MemPorts];
  logic [7:0] axi_arlen [MemPorts];
  logic [3:0] axi_arid [MemPorts];
  logic axi_rvalid [MemPorts];
  logic axi_rready [MemPorts];
  logic [511:0] axi_rdata [MemPorts];
  logic [1:0] axi_rresp [MemPorts];
  logic axi_rlast [MemPorts];
  logic [3:0] axi_rid [MemPorts];
  logic axi_awvalid [MemPorts];
  logic axi_awready [MemPorts];
  logic [39:0] axi_awaddr [MemPorts];
  logic [7:0] axi_awlen [MemPorts];
  logic [3:0] axi_awid [MemPorts];
  logic axi_wvalid [MemPorts];
  logic axi_wready [MemPorts];
  logic [511:0] axi_wdata [MemPorts];
  logic [63:0] axi_wstrb [MemPorts];
  logic axi_wlast [MemPorts];
  logic axi_bvalid [MemPorts];
  logic axi_bready [MemPorts];
  logic [1:0] axi_bresp [MemPorts];
  logic [3:0] axi_bid [MemPorts];
  for (genvar p = 0; p < MemPorts; p++) begin : gen_port
    logic arvalid [1];
    logic arready [1];
    logic [3:0] arid [1];
    logic [39:0] araddr [1];
    logic [7:0] arlen [1];
    logic [2:0] arsize [1];
    logic [1:0] arburst [1];
    logic arlock [1];
    logic [3:0] arcache [1];
    logic [2:0] arprot [1];
    logic rvalid [1];
    logic rready [1];
    logic [3:0] rid [1];
    logic [511:0] rdata [1];
    logic [1:0] rresp [1];
    logic rlast [1];
    logic awvalid [1];
    logic awready [1];
    logic [3:0] awid [1];
    logic [39:0] awaddr [1];
    logic [7:0] awlen [1];
    logic [2:0] awsize [1];
    logic [1:0] awburst [1];
    logic awlock [1];
    logic [3:0] awcache [1];
    logic [2:0] awprot [1];
    logic wvalid [1];
    logic wready [1];
    logic [511:0] wdata [1];
    logic [63:0] wstrb [1];
    logic wlast [1];
    logic bvalid [1];
    logic bready [1];
    logic [3:0] bid [1];
    logic [1:0] bresp [1];

    assign m_axi_arvalid_o[p] = arvalid[0];
    assign arready[0] = m_axi_arready_i[p];
    assign m_axi_arid_o[p] = arid[0];
    assign m_axi_araddr_o[p] = araddr[0];
    assign m_axi_arlen_o[p] = arlen[0];
    assign m_axi_arsize_o[p] = arsize[0];
    assign m_axi_arburst_o[p] = arburst[0];
    assign m_axi_arlock_o[p] = arlock[0];
    assign m_axi_arcache_o[p] = arcache[0];
    assign m_axi_arprot_o[p] = arprot[0];
    assign rvalid[0] = m_axi_rvalid_i[p];
    assign m_axi_rready_o[p] = rready[0];
    assign rid[0] = m_axi_rid_i[p];
    assign rdata[0] = m_axi_rdata_i[p];
    assign rresp[0] = m_axi_rresp_i[p];
    assign rlast[0] = m_axi_rlast_i[p];
    assign m_axi_awvalid_o[p] = awvalid[0];
    assign awready[0] = m_axi_awready_i[p];
    assign m_axi_awid_o[p] = awid[0];
    assign m_axi_awaddr_o[p] = awaddr[0];
    assign m_axi_awlen_o[p] = awlen[0];
    assign m_axi_awsize_o[p] = awsize[0];
    assign m_axi_awburst_o[p] = awburst[0];
    assign m_axi_awlock_o[p] = awlock[0];
    assign m_axi_awcache_o[p] = awcache[0];
    assign m_axi_awprot_o[p] = awprot[0];
    assign m_axi_wvalid_o[p] = wvalid[0];
    assign wready[0] = m_axi_wready_i[p];
    assign m_axi_wdata_o[p] = wdata[0];
    assign m_axi_wstrb_o[p] = wstrb[0];
    assign m_axi_wlast_o[p] = wlast[0];
    assign bvalid[0] = m_axi_bvalid_i[p];
    assign m_axi_bready_o[p] = bready[0];
    assign bid[0] = m_axi_bid_i[p];
    assign bresp[0] = m_axi_bresp_i[p];
    jd_shell_memory #(
      .Engines  (1),
      .MemPorts (1),
      .PortOf   ('0)
    ) u_memory (
      .clk_i,
      .rst_ni,
      .s_axi_arvalid_i (axi_arvalid[p]),
      .s_axi_arready_o (axi_arready[p]),
      .s_axi_araddr_i  (axi_araddr[p]),
      .s_axi_arlen_i   (axi_arlen[p]),
      .s_axi_arid_i    (axi_arid[p]),
      .s_axi_rvalid_o  (axi_rvalid[p]),
      .s_axi_rready_i  (axi_rready[p]),
      .s_axi_rdata_o   (axi_rdata[p]),
      .s_axi_rresp_o   (axi_rresp[p]),
      .s_axi_rlast_o   (axi_rlast[p]),
      .s_axi_rid_o     (axi_rid[p]),
      .s_axi_awvalid_i (axi_awvalid[p]),
      .s_axi_awready_o (axi_awready[p]),
      .s_axi_awaddr_i  (axi_awaddr[p]),
      .s_axi_awlen_i   (axi_awlen[p]),
      .s_axi_awid_i    (axi_awid[p]),
      .s_axi_wvalid_i  (axi_wvalid[p]),
      .s_axi_wready_o  (axi_wready[p]),
      .s_axi_wdata_i   (axi_wdata[p]),
      .s_axi_wstrb_i   (axi_wstrb[p]),
      .s_axi_wlast_i   (axi_wlast[p]),
      .s_axi_bvalid_o  (axi_bvalid[p]),
      .s_axi_bready_i  (axi_bready[p]),
      .s_axi_bresp_o   (axi_bresp[p]),
      .s_axi_bid_o     (axi_bid[p]),
      .m_axi_arvalid_o (arvalid),
      .m_axi_arready_i (arready),
      .m_axi_arid_o    (arid),
      .m_axi_araddr_o  (araddr),
      .m_axi_arlen_o   (arlen),
      .m_axi_arsize_o  (arsize),
      .m_axi_arburst_o (arburst),
      .m_axi_arlock_o  (arlock),
      .m_axi_arcache_o (arcache),
      .m_axi_arprot_o  (arprot),
      .m_axi_rvalid_i  (rvalid),
      .m_axi_rready_o  (rready),
      .m_axi_rid_i     (rid),
      .m_axi_rdata_i   (rdata),
      .m_axi_rresp_i   (rresp),
      .m_axi_rlast_i   (rlast),
      .m_axi_awvalid_o (awvalid),
      .m_axi_awready_i (awready),
      .m_axi_awid_o    (awid),
      .m_axi_awaddr_o  (awaddr),
      .m_axi_awlen_o   (awlen),
      .m_axi_awsize_o  (awsize),
      .m_axi_awburst_o (awburst),
      .m_axi_awlock_o  (awlock),
      .m_axi_awcache_o (awcache),
      .m_axi_awprot_o  (awprot),
      .m_axi_wvalid_o  (wvalid),
      .m_axi_wready_i  (wready),
      .m_axi_wdata_o   (wdata),
      .m_axi_wstrb_o   (wstrb),
      .m_axi_wlast_o   (wlast),
      .m_axi_bvalid_i  (bvalid),
      .m_axi_bready_o  (bready),
      .m_axi_bid_i     (bid),
      .m_axi_bresp_i   (bresp)
    );
  end

  // ---- The engine
  jd_a3c_top #(
    .NPe         (A3cNPe),
    .NPair       (A3cNPair),
    .SingleCu    (A3cSingleCu),
    .PortPerCu   (A3cPortPerCu),
    .AltEn       (A3cAltEn),
    .Lm          (A3cLm),
    .La          (A3cLa),
    .NRu         (A3cNRu),
    .NbMax       (A3cNbMax),
    .NNet        (A3cNNet),
    .FmRows      (A3cFmRows),
    .PbInference (A3cPbInference),
    .PbTraining  (A3cPbTraining),
    .GbRows      (A3cGbRows),
    .DivLatency  (A3cDivLatency),
    .SqrtLatency (A3cSqrtLatency)
  ) u_a3c (
    .clk_i,
    .rst_ni,
    .time_i           (time_now),
    .irq_o            (irq),
    .s_axil_awvalid_i (axil_awvalid[1]),
    .s_axil_awready_o (axil_awready[1]),
    .s_axil_awaddr_i  (axil_awaddr[1][11:0]),
    .s_axil_wvalid_i  (axil_wvalid[1]),
    .s_axil_wready_o  (axil_wready[1]),
    .s_axil_wdata_i   (axil_wdata[1]),
    .s_axil_wstrb_i   (axil_wstrb[1]),
    .s_axil_bvalid_o  (axil_bvalid[1]),
    .s_axil_bready_i  (axil_bready[1]),
    .s_axil_bresp_o   (axil_bresp[1]),
    .s_axil_arvalid_i (axil_arvalid[1]),
    .s_axil_arready_o (axil_arready[1]),
    .s_axil_araddr_i  (axil_araddr[1][11:0]),
    .s_axil_rvalid_o  (axil_rvalid[1]),
    .s_axil_rready_i  (axil_rready[1]),
    .s_axil_rdata_o   (axil_rdata[1]),
    .s_axil_rresp_o   (axil_rresp[1]),
    .m_axi_arvalid_o  (axi_arvalid),
    .m_axi_arready_i  (axi_arready),
    .m_axi_araddr_o   (axi_araddr),
    .m_axi_arlen_o    (axi_arlen),
    .m_axi_arid_o     (axi_arid),
    .m_axi_rvalid_i   (axi_rvalid),
    .m_axi_rready_o   (axi_rready),
    .m_axi_rdata_i    (axi_rdata),
    .m_axi_rresp_i    (axi_rresp),
    .m_axi_rlast_i    (axi_rlast),
    .m_axi_rid_i      (axi_rid),
    .m_axi_awvalid_o  (axi_awvalid),
    .m_axi_awready_i  (axi_awready),
    .m_axi_awaddr_o   (axi_awaddr),
    .m_axi_awlen_o    (axi_awlen),
    .m_axi_awid_o     (axi_awid),
    .m_axi_wvalid_o   (axi_wvalid),
    .m_axi_wready_i   (axi_wready),
    .m_axi_wdata_o    (axi_wdata),
    .m_axi_wstrb_o    (axi_wstrb),
    .m_axi_wlast_o    (axi_wlast),
    .m_axi_bvalid_i   (axi_bvalid),
    .m_axi_bready_o   (axi_bready),
    .m_axi_bresp_i    (axi_bresp),
    .m_axi_bid_i      (axi_bid)
  );

  // The demultiplexer chose the page; the upper address bits have no meaning behind it.
  logic unused_address;
  assign unused_address = ^{axil_awaddr, axil_araddr};
endmodule : jd_top_a3c
