// SPDX-License-Identifier: Apache-2.0
//
// The device's boundary with one echo engine on each memory port, after the shell's directory.
//
// Streams  AXI4-Lite registers in (page 0 the directory, page 1 + p the engine of port p), one AXI4
//          master a port out.
// Timing   that of the directory and of jd_engine_control.
// Numbers  none.
// Source   docs/interfaces.md. Golden model: tests/device/echo.py.
module jd_device_echo #(
    parameter int unsigned MemPorts    = 2,            // 1..4
    parameter int unsigned MemSizeLog2 = 20,           // 12..32
    parameter int unsigned ClockHz     = 250_000_000,
    parameter int unsigned BuildHash   = 0
) (
    input  logic         clk_i,
    input  logic         rst_ni,
    output logic         irq_o,
    input  logic [ 19:0] s_axil_awaddr_i,
    input  logic         s_axil_awvalid_i,
    output logic         s_axil_awready_o,
    input  logic [ 31:0] s_axil_wdata_i,
    input  logic [  3:0] s_axil_wstrb_i,
    input  logic         s_axil_wvalid_i,
    output logic         s_axil_wready_o,
    output logic [  1:0] s_axil_bresp_o,
    output logic         s_axil_bvalid_o,
    input  logic         s_axil_bready_i,
    input  logic [ 19:0] s_axil_araddr_i,
    input  logic         s_axil_arvalid_i,
    output logic         s_axil_arready_o,
    output logic [ 31:0] s_axil_rdata_o,
    output logic [  1:0] s_axil_rresp_o,
    output logic         s_axil_rvalid_o,
    input  logic         s_axil_rready_i,
    output logic [  3:0] m_axi_arid_o    [MemPorts],
    output logic [ 39:0] m_axi_araddr_o  [MemPorts],
    output logic [  7:0] m_axi_arlen_o   [MemPorts],
    output logic [  2:0] m_axi_arsize_o  [MemPorts],
    output logic [  1:0] m_axi_arburst_o [MemPorts],
    output logic         m_axi_arvalid_o [MemPorts],
    input  logic         m_axi_arready_i [MemPorts],
    input  logic [  3:0] m_axi_rid_i     [MemPorts],
    input  logic [511:0] m_axi_rdata_i   [MemPorts],
    input  logic [  1:0] m_axi_rresp_i   [MemPorts],
    input  logic         m_axi_rlast_i   [MemPorts],
    input  logic         m_axi_rvalid_i  [MemPorts],
    output logic         m_axi_rready_o  [MemPorts],
    output logic [  3:0] m_axi_awid_o    [MemPorts],
    output logic [ 39:0] m_axi_awaddr_o  [MemPorts],
    output logic [  7:0] m_axi_awlen_o   [MemPorts],
    output logic [  2:0] m_axi_awsize_o  [MemPorts],
    output logic [  1:0] m_axi_awburst_o [MemPorts],
    output logic         m_axi_awvalid_o [MemPorts],
    input  logic         m_axi_awready_i [MemPorts],
    output logic [511:0] m_axi_wdata_o   [MemPorts],
    output logic [ 63:0] m_axi_wstrb_o   [MemPorts],
    output logic         m_axi_wlast_o   [MemPorts],
    output logic         m_axi_wvalid_o  [MemPorts],
    input  logic         m_axi_wready_i  [MemPorts],
    input  logic [  3:0] m_axi_bid_i     [MemPorts],
    input  logic [  1:0] m_axi_bresp_i   [MemPorts],
    input  logic         m_axi_bvalid_i  [MemPorts],
    output logic         m_axi_bready_o  [MemPorts]
);
  localparam int unsigned RINGS = 2;
  localparam int unsigned TARGETS = MemPorts + 1;
  localparam logic [31:0] ECHO_ID = 32'h4F484345;

  logic [TARGETS-1:0] page_awvalid;
  logic [TARGETS-1:0] page_awready;
  logic [TARGETS-1:0][19:0] page_awaddr;
  logic [TARGETS-1:0] page_wvalid;
  logic [TARGETS-1:0] page_wready;
  logic [TARGETS-1:0][31:0] page_wdata;
  logic [TARGETS-1:0][3:0] page_wstrb;
  logic [TARGETS-1:0] page_bvalid;
  logic [TARGETS-1:0] page_bready;
  logic [TARGETS-1:0][1:0] page_bresp;
  logic [TARGETS-1:0] page_arvalid;
  logic [TARGETS-1:0] page_arready;
  logic [TARGETS-1:0][19:0] page_araddr;
  logic [TARGETS-1:0] page_rvalid;
  logic [TARGETS-1:0] page_rready;
  logic [TARGETS-1:0][31:0] page_rdata;
  logic [TARGETS-1:0][1:0] page_rresp;
  jd_axil_demux #(
      .Targets(TARGETS)
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
      .m_axil_awvalid_o(page_awvalid),
      .m_axil_awready_i(page_awready),
      .m_axil_awaddr_o (page_awaddr),
      .m_axil_wvalid_o (page_wvalid),
      .m_axil_wready_i (page_wready),
      .m_axil_wdata_o  (page_wdata),
      .m_axil_wstrb_o  (page_wstrb),
      .m_axil_bvalid_i (page_bvalid),
      .m_axil_bready_o (page_bready),
      .m_axil_bresp_i  (page_bresp),
      .m_axil_arvalid_o(page_arvalid),
      .m_axil_arready_i(page_arready),
      .m_axil_araddr_o (page_araddr),
      .m_axil_rvalid_i (page_rvalid),
      .m_axil_rready_o (page_rready),
      .m_axil_rdata_i  (page_rdata),
      .m_axil_rresp_i  (page_rresp)
  );

  logic [MemPorts-1:0] engine_irq;
  logic [63:0] unused_time;
  jd_shell_directory #(
      .Engines    (MemPorts),
      .EngineIds  ({MemPorts{ECHO_ID}}),
      .ClockHz    (ClockHz),
      .MemSizeLog2(MemSizeLog2),
      .MemPorts   (MemPorts),
      .BuildHash  (BuildHash)
  ) u_directory (
      .clk_i,
      .rst_ni,
      .irq_i(engine_irq),
      .irq_o,
      .time_o(unused_time),
      .s_axil_awvalid_i(page_awvalid[0]),
      .s_axil_awready_o(page_awready[0]),
      .s_axil_awaddr_i(page_awaddr[0][11:0]),
      .s_axil_wvalid_i(page_wvalid[0]),
      .s_axil_wready_o(page_wready[0]),
      .s_axil_wdata_i(page_wdata[0]),
      .s_axil_wstrb_i(page_wstrb[0]),
      .s_axil_bvalid_o(page_bvalid[0]),
      .s_axil_bready_i(page_bready[0]),
      .s_axil_bresp_o(page_bresp[0]),
      .s_axil_arvalid_i(page_arvalid[0]),
      .s_axil_arready_o(page_arready[0]),
      .s_axil_araddr_i(page_araddr[0][11:0]),
      .s_axil_rvalid_o(page_rvalid[0]),
      .s_axil_rready_i(page_rready[0]),
      .s_axil_rdata_o(page_rdata[0]),
      .s_axil_rresp_o(page_rresp[0])
  );

  for (genvar p = 0; p < MemPorts; p++) begin : gen_engine
    logic [63:0] unused_engine_time;
    logic unused_idle, unused_reset;
    assign m_axi_arsize_o[p]  = 3'd6;
    assign m_axi_arburst_o[p] = 2'd1;
    assign m_axi_awsize_o[p]  = 3'd6;
    assign m_axi_awburst_o[p] = 2'd1;
    jd_echo #(
        .Rings(RINGS)
    ) u_echo (
        .clk_i,
        .rst_ni,
        .time_o          (unused_engine_time),
        .idle_o          (unused_idle),
        .soft_reset_o    (unused_reset),
        .irq_o           (engine_irq[p]),
        .error_valid_i   (1'b0),
        .error_code_i    (8'd0),
        .event_i         (1'b0),
        .count_i         (4'd0),
        .progress_i      (1'b0),
        .pause_i         ({RINGS{1'b0}}),
        .s_axil_awvalid_i(page_awvalid[p+1]),
        .s_axil_awready_o(page_awready[p+1]),
        .s_axil_awaddr_i (page_awaddr[p+1][11:0]),
        .s_axil_wvalid_i (page_wvalid[p+1]),
        .s_axil_wready_o (page_wready[p+1]),
        .s_axil_wdata_i  (page_wdata[p+1]),
        .s_axil_wstrb_i  (page_wstrb[p+1]),
        .s_axil_bvalid_o (page_bvalid[p+1]),
        .s_axil_bready_i (page_bready[p+1]),
        .s_axil_bresp_o  (page_bresp[p+1]),
        .s_axil_arvalid_i(page_arvalid[p+1]),
        .s_axil_arready_o(page_arready[p+1]),
        .s_axil_araddr_i (page_araddr[p+1][11:0]),
        .s_axil_rvalid_o (page_rvalid[p+1]),
        .s_axil_rready_i (page_rready[p+1]),
        .s_axil_rdata_o  (page_rdata[p+1]),
        .s_axil_rresp_o  (page_rresp[p+1]),
        .m_axi_arvalid_o (m_axi_arvalid_o[p]),
        .m_axi_arready_i (m_axi_arready_i[p]),
        .m_axi_arid_o    (m_axi_arid_o[p]),
        .m_axi_araddr_o  (m_axi_araddr_o[p]),
        .m_axi_arlen_o   (m_axi_arlen_o[p]),
        .m_axi_rvalid_i  (m_axi_rvalid_i[p]),
        .m_axi_rready_o  (m_axi_rready_o[p]),
        .m_axi_rid_i     (m_axi_rid_i[p]),
        .m_axi_rdata_i   (m_axi_rdata_i[p]),
        .m_axi_rresp_i   (m_axi_rresp_i[p]),
        .m_axi_rlast_i   (m_axi_rlast_i[p]),
        .m_axi_awvalid_o (m_axi_awvalid_o[p]),
        .m_axi_awready_i (m_axi_awready_i[p]),
        .m_axi_awid_o    (m_axi_awid_o[p]),
        .m_axi_awaddr_o  (m_axi_awaddr_o[p]),
        .m_axi_awlen_o   (m_axi_awlen_o[p]),
        .m_axi_wvalid_o  (m_axi_wvalid_o[p]),
        .m_axi_wready_i  (m_axi_wready_i[p]),
        .m_axi_wdata_o   (m_axi_wdata_o[p]),
        .m_axi_wstrb_o   (m_axi_wstrb_o[p]),
        .m_axi_wlast_o   (m_axi_wlast_o[p]),
        .m_axi_bvalid_i  (m_axi_bvalid_i[p]),
        .m_axi_bready_o  (m_axi_bready_o[p]),
        .m_axi_bid_i     (m_axi_bid_i[p]),
        .m_axi_bresp_i   (m_axi_bresp_i[p])
    );
  end
endmodule : jd_device_echo
