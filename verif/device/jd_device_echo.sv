// SPDX-License-Identifier: Apache-2.0
//
// The device's boundary with one echo engine on each memory port, after the shell's directory.
//
// Streams  AXI4-Lite registers in (page 0 the directory, page 1 + p the engine of port p), one AXI4
//          master a port out.
// Timing   that of the directory and of jd_engine_control.
// Numbers  none.
// Source   docs/interfaces.md. Golden model: tests/device/echo.py.
module jd_device_echo
  import jd_axi_pkg::*;
#(
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

  axil_req_t axil_req;
  axil_rsp_t axil_rsp;
  assign axil_req = '{
      awvalid: s_axil_awvalid_i, awaddr: s_axil_awaddr_i,
      wvalid: s_axil_wvalid_i, wdata: s_axil_wdata_i, wstrb: s_axil_wstrb_i,
      bready: s_axil_bready_i,
      arvalid: s_axil_arvalid_i, araddr: s_axil_araddr_i, rready: s_axil_rready_i};
  assign {s_axil_awready_o, s_axil_wready_o, s_axil_bvalid_o, s_axil_bresp_o, s_axil_arready_o,
          s_axil_rvalid_o, s_axil_rdata_o, s_axil_rresp_o} = axil_rsp;
  axil_req_t [TARGETS-1:0] page_req;
  axil_rsp_t [TARGETS-1:0] page_rsp;
  jd_axil_demux #(
      .Targets(TARGETS)
  ) u_demux (
      .clk_i,
      .rst_ni,
      .axil_req_i(axil_req),
      .axil_rsp_o(axil_rsp),
      .page_req_o(page_req),
      .page_rsp_i(page_rsp)
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
      .axil_req_i(page_req[0]),
      .axil_rsp_o(page_rsp[0])
  );

  for (genvar p = 0; p < MemPorts; p++) begin : gen_engine
    logic [63:0] unused_engine_time;
    logic unused_idle, unused_reset;
    axi_req_t mem_req;
    axi_rsp_t mem_rsp;
    assign m_axi_arvalid_o[p] = mem_req.read.arvalid;
    assign m_axi_araddr_o[p]  = mem_req.read.araddr;
    assign m_axi_arlen_o[p]   = mem_req.read.arlen;
    assign m_axi_arid_o[p]    = mem_req.read.arid[3:0];
    assign m_axi_rready_o[p]  = mem_req.read.rready;
    assign m_axi_awvalid_o[p] = mem_req.write.awvalid;
    assign m_axi_awaddr_o[p]  = mem_req.write.awaddr;
    assign m_axi_awlen_o[p]   = mem_req.write.awlen;
    assign m_axi_awid_o[p]    = mem_req.write.awid[3:0];
    assign m_axi_wvalid_o[p]  = mem_req.write.wvalid;
    assign m_axi_wdata_o[p]   = mem_req.write.wdata;
    assign m_axi_wstrb_o[p]   = mem_req.write.wstrb;
    assign m_axi_wlast_o[p]   = mem_req.write.wlast;
    assign m_axi_bready_o[p]  = mem_req.write.bready;
    assign mem_rsp.read = '{
        arready: m_axi_arready_i[p], rvalid: m_axi_rvalid_i[p], rdata: m_axi_rdata_i[p],
        rresp: m_axi_rresp_i[p], rlast: m_axi_rlast_i[p], rid: 8'(m_axi_rid_i[p])};
    assign mem_rsp.write = '{
        awready: m_axi_awready_i[p], wready: m_axi_wready_i[p], bvalid: m_axi_bvalid_i[p],
        bresp: m_axi_bresp_i[p], bid: 8'(m_axi_bid_i[p])};
    logic unused_id;
    assign unused_id = ^{mem_req.read.arid[7:4], mem_req.write.awid[7:4]};
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
        .axil_req_i      (page_req[p+1]),
        .axil_rsp_o      (page_rsp[p+1]),
        .mem_req_o       (mem_req),
        .mem_rsp_i       (mem_rsp)
    );
  end
endmodule : jd_device_echo
