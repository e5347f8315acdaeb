// SPDX-License-Identifier: Apache-2.0
//
// The shell with three echo engines instead of real ones: 0 and 1 share memory port 0, engine 2 has
// port 1 for itself.
//
// Streams  s_axil_*: control; m_axi_*: memory. error_valid_i, error_code_i: an error of engine e.
//          hold_data_i: engine e offers no new write data.
// Timing   that of the parts; TIME begins 4096 clocks before its low 63 bits roll over.
// Numbers  none.
// Source   docs/shell.md.
module jd_shell_echo #(
  localparam int unsigned Engines  = 3,
  localparam int unsigned MemPorts = 2,
  localparam int unsigned MemIdW   = 4 + $clog2(Engines)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         irq_o,
  output logic [63:0]  time_o,
  input  logic [Engines-1:0] error_valid_i,
  input  logic [7:0]   error_code_i,
  input  logic [Engines-1:0] hold_data_i,
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
  localparam int unsigned Pages = 1 + Engines;
  localparam logic [31:0] ECHO_ID = 32'h4F484345;
  localparam logic [Engines-1:0][3:0] PORT_OF = {4'd1, 4'd0, 4'd0};

  logic [Engines-1:0] irq, idle, soft_reset;
  logic [Engines-1:0][63:0] engine_time;

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
    .Targets(Pages)
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
    .EngineIds  ({Engines{ECHO_ID}}),
    .ClockHz    (123_456_789),
    .TimeStart  (64'h7FFF_FFFF_FFFF_F000),
    .MemSizeLog2(33),
    .MemPorts   (MemPorts),
    .BuildHash  (32'hFEED_BEEF)
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
    .time_o,
    .irq_o
  );

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

  // Write data that may come later than its address; what was offered stays.
  logic [Engines-1:0] engine_wvalid, engine_wready, offered_q;
  assign axi_wvalid    = engine_wvalid & (~hold_data_i | offered_q);
  assign engine_wready = axi_wready & (~hold_data_i | offered_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) offered_q <= '0;
    else         offered_q <= axi_wvalid & ~axi_wready;
  end

  jd_shell_memory #(
    .Clients  (Engines),
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

  for (genvar e = 0; e < Engines; e++) begin : gen_engine
    jd_echo #(
      .Rings(2)
    ) u_echo (
      .clk_i,
      .rst_ni,
      .time_o           (engine_time[e]),
      .idle_o           (idle[e]),
      .irq_o            (irq[e]),
      .soft_reset_o     (soft_reset[e]),
      .error_valid_i    (error_valid_i[e]),
      .error_code_i,
      .event_i          (1'b0),
      .count_i          ('0),
      .progress_i       (1'b0),
      .pause_i          ('0),
      .s_axil_awvalid_i (axil_awvalid[e+1]),
      .s_axil_awready_o (axil_awready[e+1]),
      .s_axil_awaddr_i  (axil_awaddr[e+1][11:0]),
      .s_axil_wvalid_i  (axil_wvalid[e+1]),
      .s_axil_wready_o  (axil_wready[e+1]),
      .s_axil_wdata_i   (axil_wdata[e+1]),
      .s_axil_wstrb_i   (axil_wstrb[e+1]),
      .s_axil_bvalid_o  (axil_bvalid[e+1]),
      .s_axil_bready_i  (axil_bready[e+1]),
      .s_axil_bresp_o   (axil_bresp[e+1]),
      .s_axil_arvalid_i (axil_arvalid[e+1]),
      .s_axil_arready_o (axil_arready[e+1]),
      .s_axil_araddr_i  (axil_araddr[e+1][11:0]),
      .s_axil_rvalid_o  (axil_rvalid[e+1]),
      .s_axil_rready_i  (axil_rready[e+1]),
      .s_axil_rdata_o   (axil_rdata[e+1]),
      .s_axil_rresp_o   (axil_rresp[e+1]),
      .m_axi_arvalid_o  (axi_arvalid[e]),
      .m_axi_arready_i  (axi_arready[e]),
      .m_axi_arid_o     (axi_arid[e]),
      .m_axi_araddr_o   (axi_araddr[e]),
      .m_axi_arlen_o    (axi_arlen[e]),
      .m_axi_rvalid_i   (axi_rvalid[e]),
      .m_axi_rready_o   (axi_rready[e]),
      .m_axi_rid_i      (axi_rid[e]),
      .m_axi_rdata_i    (axi_rdata[e]),
      .m_axi_rresp_i    (axi_rresp[e]),
      .m_axi_rlast_i    (axi_rlast[e]),
      .m_axi_awvalid_o  (axi_awvalid[e]),
      .m_axi_awready_i  (axi_awready[e]),
      .m_axi_awid_o     (axi_awid[e]),
      .m_axi_awaddr_o   (axi_awaddr[e]),
      .m_axi_awlen_o    (axi_awlen[e]),
      .m_axi_wvalid_o   (engine_wvalid[e]),
      .m_axi_wready_i   (engine_wready[e]),
      .m_axi_wdata_o    (axi_wdata[e]),
      .m_axi_wstrb_o    (axi_wstrb[e]),
      .m_axi_wlast_o    (axi_wlast[e]),
      .m_axi_bvalid_i   (axi_bvalid[e]),
      .m_axi_bready_o   (axi_bready[e]),
      .m_axi_bid_i      (axi_bid[e]),
      .m_axi_bresp_i    (axi_bresp[e])
    );
  end

  logic unused;  // the demultiplexer chose the page; engines keep time
  assign unused = ^{axil_awaddr, axil_araddr, engine_time, idle, soft_reset};
endmodule : jd_shell_echo
