// SPDX-License-Identifier: Apache-2.0
//
// The shell with three echo engines instead of real ones: 0 and 1 share memory port 0, engine 2 has
// port 1 for itself.
//
// Streams  axil_*: control; m_axi_*: memory. error_valid_i, error_code_i: an error of engine e.
//          hold_data_i: engine e offers no new write data.
// Timing   that of the parts; TIME begins 4096 clocks before its low 63 bits roll over.
// Numbers  none.
// Source   docs/shell.md.
module jd_shell_echo
  import jd_axi_pkg::*;
#(
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
  input  axil_req_t    axil_req_i,
  output axil_rsp_t    axil_rsp_o,
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

  axil_req_t [Pages-1:0] page_req;
  axil_rsp_t [Pages-1:0] page_rsp;

  jd_axil_demux #(
    .Targets(Pages)
  ) u_demux (
    .clk_i,
    .rst_ni,
    .axil_req_i,
    .axil_rsp_o,
    .page_req_o (page_req),
    .page_rsp_i (page_rsp)
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
    .axil_req_i       (page_req[0]),
    .axil_rsp_o       (page_rsp[0]),
    .irq_i            (irq),
    .time_o,
    .irq_o
  );

  axi_req_t [Engines-1:0] engine_req, client_req;
  axi_rsp_t [Engines-1:0] engine_rsp, client_rsp;

  // Write data that may come later than its address; what was offered stays.
  logic [Engines-1:0] pass, offered_q;
  assign pass = ~hold_data_i | offered_q;
  always_comb begin
    client_req = engine_req;
    engine_rsp = client_rsp;
    for (int unsigned e = 0; e < Engines; e++) begin
      client_req[e].write.wvalid = engine_req[e].write.wvalid && pass[e];
      engine_rsp[e].write.wready = client_rsp[e].write.wready && pass[e];
    end
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned e = 0; e < Engines; e++) begin
      offered_q[e] <= rst_ni && client_req[e].write.wvalid && !client_rsp[e].write.wready;
    end
  end

  jd_shell_memory #(
    .Clients  (Engines),
    .MemPorts (MemPorts),
    .PortOf   (PORT_OF)
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
      .axil_req_i       (page_req[e+1]),
      .axil_rsp_o       (page_rsp[e+1]),
      .mem_req_o        (engine_req[e]),
      .mem_rsp_i        (engine_rsp[e])
    );
  end

  logic unused;  // engines keep time
  assign unused = ^{engine_time, idle, soft_reset};
endmodule : jd_shell_echo
