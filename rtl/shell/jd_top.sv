// SPDX-License-Identifier: Apache-2.0
//
// The device: directory, replay engine, learner engine, the links between them, memory ports.
//
// Streams  s_axil_*: control, AXI4-Lite; page 0 the directory, 1 replay, 2 learner, others SLVERR.
//          m_axi_*: device memory, AXI4. irq_o: level.
// Timing   a control access crosses the demultiplexer in one clock each way.
// Numbers  those of the engines.
// Source   docs/shell.md.
`include "jd_assert.svh"
module jd_top #(
  parameter int unsigned ClockHz     = 250_000_000,  // Hz, for the directory
  parameter int unsigned MemSizeLog2 = 26,           // bytes of device memory, 12..40
  parameter int unsigned MemPorts    = 1,            // 1; 2: the learner on a port of its own
  parameter int unsigned BuildHash   = 0,            // of the configuration
  parameter int unsigned ReplayKLog2        = 4,    // log2 of the fan-out, 1..6
  parameter int unsigned ReplayNLog2        = 16,   // log2 of the most leaves, 2..20
  parameter int unsigned ReplayLeafW        = 32,   // bits of a leaf, 8..32
  parameter int unsigned ReplayBatchLog2    = 6,    // log2 of the largest batch, 3..10
  parameter int unsigned ReplayLatLut       = 1,    // read latency of LUT RAM, 1..6
  parameter int unsigned ReplayLatBram      = 2,    // of block RAM, 1..6
  parameter int unsigned ReplayLatUram      = 4,    // of UltraRAM, 1..6
  parameter int unsigned ReplayLatMul       = 6,    // of the multiplier, 3..8
  parameter bit          ReplaySequential   = 1'b0, // the published tree, one child a clock
  parameter int unsigned LearnerDP          = 1,    // pipelines: 1, 2, 4, 8
  parameter int unsigned LearnerP           = 16,   // lanes of each, power of two 8..128
  parameter int unsigned LearnerOB          = 4,    // words of a bias row
  parameter int unsigned LearnerGI          = 8,    // samples of a backward group
  parameter int unsigned LearnerLW          = 4,    // lanes of the weight update, 1..16, divides OB
  parameter int unsigned LearnerBMax        = 64,   // samples of a step, 1..512
  parameter int unsigned LearnerDMax        = 64,   // largest layer
  parameter int unsigned LearnerLMax        = 4,    // layers of a network, 1..6
  parameter int unsigned LearnerNetMax      = 6,    // networks, and optimizer slots, 2..8
  parameter int unsigned LearnerStMax       = 64,   // stages of a program, 1..64
  parameter int unsigned LearnerWRows       = 1024, // rows of weights
  parameter int unsigned LearnerARows       = 2048, // rows of sample frames
  parameter bit          LearnerActorCritic = 1'b0, // runs actor-critic programs
  parameter int unsigned LearnerNTU         = 1,    // tensor units of a pipeline: 1, or 4
  parameter int unsigned LearnerMulLatency  = 2,    // clocks, 1..4
  parameter int unsigned LearnerAddLatency  = 2,    // 1..6
  parameter int unsigned LearnerDivLatency  = 4,    // 2..28
  parameter int unsigned LearnerSqrtLatency = 4,    // 2..28
  localparam int unsigned MemIdW            = 5     // an engine's 4 bits and its number
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
  output logic [MemIdW-1:0] m_axi_arid_o    [MemPorts],
  output logic [39:0]  m_axi_araddr_o  [MemPorts],
  output logic [7:0]   m_axi_arlen_o   [MemPorts],
  output logic [2:0]   m_axi_arsize_o  [MemPorts],
  output logic [1:0]   m_axi_arburst_o [MemPorts],
  output logic         m_axi_arlock_o  [MemPorts],
  output logic [3:0]   m_axi_arcache_o [MemPorts],
  output logic [2:0]   m_axi_arprot_o  [MemPorts],
  input  logic         m_axi_rvalid_i  [MemPorts],
  output logic         m_axi_rready_o  [MemPorts],
  input  logic [MemIdW-1:0] m_axi_rid_i     [MemPorts],
  input  logic [511:0] m_axi_rdata_i   [MemPorts],
  input  logic [1:0]   m_axi_rresp_i   [MemPorts],
  input  logic         m_axi_rlast_i   [MemPorts],
  output logic         m_axi_awvalid_o [MemPorts],
  input  logic         m_axi_awready_i [MemPorts],
  output logic [MemIdW-1:0] m_axi_awid_o    [MemPorts],
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
  input  logic [MemIdW-1:0] m_axi_bid_i     [MemPorts],
  input  logic [1:0]   m_axi_bresp_i   [MemPorts]
);
  localparam int unsigned Engines = 2;
  localparam int unsigned Replay = 0;
  localparam int unsigned Learner = 1;
  localparam int unsigned Pages = 1 + Engines;
  localparam logic [Engines-1:0][31:0] ENGINE_IDS = {
    jd_learner_map_pkg::ENGINE_ID, jd_replay_map_pkg::ENGINE_ID
  };
  localparam logic [Engines-1:0][3:0] PORT_OF = {4'(MemPorts - 1), 4'd0};

  if (MemPorts < 1 || MemPorts > Engines) begin : gen_bad_ports
    $fatal(1, "jd_top: MemPorts=%0d, want 1..%0d", MemPorts, Engines);
  end

  logic [63:0] time_now;
  logic [Engines-1:0] irq, link_clear;

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
    .Engines    (Engines),
    .EngineIds  (ENGINE_IDS),
    .ClockHz    (ClockHz),
    .MemSizeLog2(MemSizeLog2),
    .MemPorts   (MemPorts),
    .BuildHash  (BuildHash)
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

  // ---- Memory: engine e in element e
  logic [Engines-1:0] axi_arvalid;
  logic [Engines-1:0] axi_arready;
  logic [Engines-1:0][3:0] axi_arid;
  logic [Engines-1:0][39:0] axi_araddr;
  logic [Engines-1:0][7:0] axi_arlen;
  logic [Engines-1:0] axi_rvalid;
  logic [Engines-1:0] axi_rready;
  logic [Engines-1:0][3:0] axi_rid;
  logic [Engines-1:0][511:0] axi_rdata;
  logic [Engines-1:0][1:0] axi_rresp;
  logic [Engines-1:0] axi_rlast;
  logic [Engines-1:0] axi_awvalid;
  logic [Engines-1:0] axi_awready;
  logic [Engines-1:0][3:0] axi_awid;
  logic [Engines-1:0][39:0] axi_awaddr;
  logic [Engines-1:0][7:0] axi_awlen;
  logic [Engines-1:0] axi_wvalid;
  logic [Engines-1:0] axi_wready;
  logic [Engines-1:0][511:0] axi_wdata;
  logic [Engines-1:0][63:0] axi_wstrb;
  logic [Engines-1:0] axi_wlast;
  logic [Engines-1:0] axi_bvalid;
  logic [Engines-1:0] axi_bready;
  logic [Engines-1:0][3:0] axi_bid;
  logic [Engines-1:0][1:0] axi_bresp;

  jd_shell_memory #(
    .Engines  (Engines),
    .MemPorts (MemPorts),
    .PortOf   (PORT_OF)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .s_axi_arvalid_i (axi_arvalid),
    .s_axi_arready_o (axi_arready),
    .s_axi_arid_i    (axi_arid),
    .s_axi_araddr_i  (axi_araddr),
    .s_axi_arlen_i   (axi_arlen),
    .s_axi_rvalid_o  (axi_rvalid),
    .s_axi_rready_i  (axi_rready),
    .s_axi_rid_o     (axi_rid),
    .s_axi_rdata_o   (axi_rdata),
    .s_axi_rresp_o   (axi_rresp),
    .s_axi_rlast_o   (axi_rlast),
    .s_axi_awvalid_i (axi_awvalid),
    .s_axi_awready_o (axi_awready),
    .s_axi_awid_i    (axi_awid),
    .s_axi_awaddr_i  (axi_awaddr),
    .s_axi_awlen_i   (axi_awlen),
    .s_axi_wvalid_i  (axi_wvalid),
    .s_axi_wready_o  (axi_wready),
    .s_axi_wdata_i   (axi_wdata),
    .s_axi_wstrb_i   (axi_wstrb),
    .s_axi_wlast_i   (axi_wlast),
    .s_axi_bvalid_o  (axi_bvalid),
    .s_axi_bready_i  (axi_bready),
    .s_axi_bid_o     (axi_bid),
    .s_axi_bresp_o   (axi_bresp),
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

  // ---- Links: a soft reset of either engine empties both
  logic clear_links;
  logic smp_in_valid, smp_in_ready, smp_in_last, smp_out_valid, smp_out_ready, smp_out_last;
  logic tde_in_valid, tde_in_ready, tde_out_valid, tde_out_ready;
  logic [127:0] smp_in_data, smp_out_data;
  logic [63:0] tde_in_data, tde_out_data;
  assign clear_links = link_clear != '0;

  jd_shell_link #(
    .Width(129)
  ) u_smp (
    .clk_i,
    .rst_ni,
    .clear_i     (clear_links),
    .in_valid_i  (smp_in_valid),
    .in_ready_o  (smp_in_ready),
    .in_data_i   ({smp_in_last, smp_in_data}),
    .out_valid_o (smp_out_valid),
    .out_ready_i (smp_out_ready),
    .out_data_o  ({smp_out_last, smp_out_data})
  );

  jd_shell_link #(
    .Width(64)
  ) u_tde (
    .clk_i,
    .rst_ni,
    .clear_i     (clear_links),
    .in_valid_i  (tde_in_valid),
    .in_ready_o  (tde_in_ready),
    .in_data_i   (tde_in_data),
    .out_valid_o (tde_out_valid),
    .out_ready_i (tde_out_ready),
    .out_data_o  (tde_out_data)
  );

  // ---- Engines
  jd_replay_top #(
    .KLog2       (ReplayKLog2),
    .NLog2       (ReplayNLog2),
    .LeafW       (ReplayLeafW),
    .BatchLog2   (ReplayBatchLog2),
    .LatLut      (ReplayLatLut),
    .LatBram     (ReplayLatBram),
    .LatUram     (ReplayLatUram),
    .LatMul      (ReplayLatMul),
    .Sequential  (ReplaySequential)
  ) u_replay (
    .clk_i,
    .rst_ni,
    .time_i           (time_now),
    .irq_o            (irq[Replay]),
    .s_axil_awvalid_i (axil_awvalid[1+Replay]),
    .s_axil_awready_o (axil_awready[1+Replay]),
    .s_axil_awaddr_i  (axil_awaddr[1+Replay][11:0]),
    .s_axil_wvalid_i  (axil_wvalid[1+Replay]),
    .s_axil_wready_o  (axil_wready[1+Replay]),
    .s_axil_wdata_i   (axil_wdata[1+Replay]),
    .s_axil_wstrb_i   (axil_wstrb[1+Replay]),
    .s_axil_bvalid_o  (axil_bvalid[1+Replay]),
    .s_axil_bready_i  (axil_bready[1+Replay]),
    .s_axil_bresp_o   (axil_bresp[1+Replay]),
    .s_axil_arvalid_i (axil_arvalid[1+Replay]),
    .s_axil_arready_o (axil_arready[1+Replay]),
    .s_axil_araddr_i  (axil_araddr[1+Replay][11:0]),
    .s_axil_rvalid_o  (axil_rvalid[1+Replay]),
    .s_axil_rready_i  (axil_rready[1+Replay]),
    .s_axil_rdata_o   (axil_rdata[1+Replay]),
    .s_axil_rresp_o   (axil_rresp[1+Replay]),
    .m_axi_arvalid_o  (axi_arvalid[Replay]),
    .m_axi_arready_i  (axi_arready[Replay]),
    .m_axi_arid_o     (axi_arid[Replay]),
    .m_axi_araddr_o   (axi_araddr[Replay]),
    .m_axi_arlen_o    (axi_arlen[Replay]),
    .m_axi_rvalid_i   (axi_rvalid[Replay]),
    .m_axi_rready_o   (axi_rready[Replay]),
    .m_axi_rid_i      (axi_rid[Replay]),
    .m_axi_rdata_i    (axi_rdata[Replay]),
    .m_axi_rresp_i    (axi_rresp[Replay]),
    .m_axi_rlast_i    (axi_rlast[Replay]),
    .m_axi_awvalid_o  (axi_awvalid[Replay]),
    .m_axi_awready_i  (axi_awready[Replay]),
    .m_axi_awid_o     (axi_awid[Replay]),
    .m_axi_awaddr_o   (axi_awaddr[Replay]),
    .m_axi_awlen_o    (axi_awlen[Replay]),
    .m_axi_wvalid_o   (axi_wvalid[Replay]),
    .m_axi_wready_i   (axi_wready[Replay]),
    .m_axi_wdata_o    (axi_wdata[Replay]),
    .m_axi_wstrb_o    (axi_wstrb[Replay]),
    .m_axi_wlast_o    (axi_wlast[Replay]),
    .m_axi_bvalid_i   (axi_bvalid[Replay]),
    .m_axi_bready_o   (axi_bready[Replay]),
    .m_axi_bid_i      (axi_bid[Replay]),
    .m_axi_bresp_i    (axi_bresp[Replay]),
    .smp_valid_o      (smp_in_valid),
    .smp_ready_i      (smp_in_ready),
    .smp_data_o       (smp_in_data),
    .smp_last_o       (smp_in_last),
    .tde_valid_i      (tde_out_valid),
    .tde_ready_o      (tde_out_ready),
    .tde_data_i       (tde_out_data),
    .link_clear_o     (link_clear[Replay]),
    .link_clear_i     (link_clear[Learner])
  );

  jd_learner_top #(
    .DP          (LearnerDP),
    .P           (LearnerP),
    .OB          (LearnerOB),
    .GI          (LearnerGI),
    .LW          (LearnerLW),
    .BMax        (LearnerBMax),
    .DMax        (LearnerDMax),
    .LMax        (LearnerLMax),
    .NetMax      (LearnerNetMax),
    .StMax       (LearnerStMax),
    .WRows       (LearnerWRows),
    .ARows       (LearnerARows),
    .ActorCritic (LearnerActorCritic),
    .NTU         (LearnerNTU),
    .MulLatency  (LearnerMulLatency),
    .AddLatency  (LearnerAddLatency),
    .DivLatency  (LearnerDivLatency),
    .SqrtLatency (LearnerSqrtLatency)
  ) u_learner (
    .clk_i,
    .rst_ni,
    .time_i           (time_now),
    .irq_o            (irq[Learner]),
    .s_axil_awvalid_i (axil_awvalid[1+Learner]),
    .s_axil_awready_o (axil_awready[1+Learner]),
    .s_axil_awaddr_i  (axil_awaddr[1+Learner][11:0]),
    .s_axil_wvalid_i  (axil_wvalid[1+Learner]),
    .s_axil_wready_o  (axil_wready[1+Learner]),
    .s_axil_wdata_i   (axil_wdata[1+Learner]),
    .s_axil_wstrb_i   (axil_wstrb[1+Learner]),
    .s_axil_bvalid_o  (axil_bvalid[1+Learner]),
    .s_axil_bready_i  (axil_bready[1+Learner]),
    .s_axil_bresp_o   (axil_bresp[1+Learner]),
    .s_axil_arvalid_i (axil_arvalid[1+Learner]),
    .s_axil_arready_o (axil_arready[1+Learner]),
    .s_axil_araddr_i  (axil_araddr[1+Learner][11:0]),
    .s_axil_rvalid_o  (axil_rvalid[1+Learner]),
    .s_axil_rready_i  (axil_rready[1+Learner]),
    .s_axil_rdata_o   (axil_rdata[1+Learner]),
    .s_axil_rresp_o   (axil_rresp[1+Learner]),
    .m_axi_arvalid_o  (axi_arvalid[Learner]),
    .m_axi_arready_i  (axi_arready[Learner]),
    .m_axi_arid_o     (axi_arid[Learner]),
    .m_axi_araddr_o   (axi_araddr[Learner]),
    .m_axi_arlen_o    (axi_arlen[Learner]),
    .m_axi_rvalid_i   (axi_rvalid[Learner]),
    .m_axi_rready_o   (axi_rready[Learner]),
    .m_axi_rid_i      (axi_rid[Learner]),
    .m_axi_rdata_i    (axi_rdata[Learner]),
    .m_axi_rresp_i    (axi_rresp[Learner]),
    .m_axi_rlast_i    (axi_rlast[Learner]),
    .m_axi_awvalid_o  (axi_awvalid[Learner]),
    .m_axi_awready_i  (axi_awready[Learner]),
    .m_axi_awid_o     (axi_awid[Learner]),
    .m_axi_awaddr_o   (axi_awaddr[Learner]),
    .m_axi_awlen_o    (axi_awlen[Learner]),
    .m_axi_wvalid_o   (axi_wvalid[Learner]),
    .m_axi_wready_i   (axi_wready[Learner]),
    .m_axi_wdata_o    (axi_wdata[Learner]),
    .m_axi_wstrb_o    (axi_wstrb[Learner]),
    .m_axi_wlast_o    (axi_wlast[Learner]),
    .m_axi_bvalid_i   (axi_bvalid[Learner]),
    .m_axi_bready_o   (axi_bready[Learner]),
    .m_axi_bid_i      (axi_bid[Learner]),
    .m_axi_bresp_i    (axi_bresp[Learner]),
    .smp_valid_i      (smp_out_valid),
    .smp_ready_o      (smp_out_ready),
    .smp_data_i       (smp_out_data),
    .smp_last_i       (smp_out_last),
    .tde_valid_o      (tde_in_valid),
    .tde_ready_i      (tde_in_ready),
    .tde_data_o       (tde_in_data),
    .link_clear_o     (link_clear[Learner]),
    .link_clear_i     (link_clear[Replay])
  );

  // The demultiplexer chose the page; the upper address bits have no meaning behind it.
  logic unused_address;
  assign unused_address = ^{axil_awaddr, axil_araddr};
endmodule : jd_top
