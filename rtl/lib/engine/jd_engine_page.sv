// SPDX-License-Identifier: Apache-2.0
//
// The page of an engine: rings and records, the common header, and accesses to the engine's own
// registers. What of the frame does not depend on how the engine uses memory.
//
// Streams  s_axil_*: the page. job, end: as in jd_engine_control. register_*: accesses to the
//          engine's own words, from 0x100. memory_*: descriptors and records, without IDs.
// Timing   that of jd_engine_control and jd_engine_access.
// Numbers  none.
// Source   docs/interfaces.md, the engine's frame.
module jd_engine_page
  import jd_axi_pkg::*;
#(
  parameter  logic [31:0]   Id       = '0,
  parameter  logic [31:0]   Version  = '0,
  parameter  logic [1023:0] IdleOnly = '0,   // bit i: word i of the page is written only while idle
  parameter  int unsigned   Rings    = 1,    // 1..4
  parameter  int unsigned   Jobs     = 1,    // of a ring side by side, power of two 1..16
  parameter  int unsigned   Beats    = 1,    // of a descriptor, power of two 1..4; 1 if Jobs is
  parameter  int unsigned   Ports    = 1,    // memory ports whose beats are counted, 1..8
  localparam int unsigned   JobW     = Jobs > 1 ? $clog2(Jobs) : 1,
  localparam int unsigned   DescriptorW = 512 * Beats
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  output logic         irq_o,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [11:0]  s_axil_awaddr_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  output logic [1:0]   s_axil_bresp_o,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  input  logic [11:0]  s_axil_araddr_i,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,
  output register_request_t       register_request_o,
  input  register_response_t      register_response_i,
  output axi_request_t            memory_request_o,
  input  axi_response_t           memory_response_i,
  input  logic [Ports-1:0]        rd_beat_i,           // a beat moved on the engine's port
  input  logic [Ports-1:0]        wr_beat_i,
  // Jobs and their ends, as in jd_engine_control
  output logic [Rings-1:0]        job_valid_o,
  input  logic [Rings-1:0]        job_ready_i,
  output logic [Rings-1:0][DescriptorW-1:0] job_descriptor_o,
  output logic [Rings-1:0][31:0]  job_number_o,
  input  logic [Rings-1:0]        end_valid_i,
  output logic [Rings-1:0]        end_ready_o,
  input  logic [Rings-1:0][JobW-1:0] end_job_i,
  input  logic [Rings-1:0][7:0]   end_error_i,
  input  logic [Rings-1:0][15:0]  end_detail_i,
  input  logic [Rings-1:0][31:0]  end_count_i,
  input  logic [Rings-1:0][31:0]  end_info0_i,
  input  logic [Rings-1:0][31:0]  end_info1_i,
  output logic [Rings-1:0]        timeout_o,
  // Status
  output logic                    soft_reset_o,
  input  logic                    quiet_i,
  input  logic                    error_valid_i,
  input  logic [7:0]              error_code_i,
  input  logic                    event_i,
  input  logic                    busy_i,
  input  logic                    stall_mem_i,
  input  logic                    stall_in_i,
  input  logic                    stall_out_i,
  input  logic                    progress_i,
  output logic                    idle_o
);
  // ---- Rings, records, common header
  logic e_axil_awvalid;
  logic e_axil_awready;
  logic [11:0] e_axil_awaddr;
  logic e_axil_wvalid;
  logic e_axil_wready;
  logic [31:0] e_axil_wdata;
  logic [3:0] e_axil_wstrb;
  logic e_axil_bvalid;
  logic e_axil_bready;
  logic [1:0] e_axil_bresp;
  logic e_axil_arvalid;
  logic e_axil_arready;
  logic [11:0] e_axil_araddr;
  logic e_axil_rvalid;
  logic e_axil_rready;
  logic [31:0] e_axil_rdata;
  logic [1:0] e_axil_rresp;
  jd_engine_control #(
    .Rings    (Rings),
    .Jobs     (Jobs),
    .Beats    (Beats),
    .Ports    (Ports),
    .IdleOnly (IdleOnly)
  ) u_control (
    .clk_i,
    .rst_ni,
    .id_i             (Id),
    .version_i        (Version),
    .time_i,
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
    .e_axil_awvalid_o (e_axil_awvalid),
    .e_axil_awready_i (e_axil_awready),
    .e_axil_awaddr_o (e_axil_awaddr),
    .e_axil_wvalid_o (e_axil_wvalid),
    .e_axil_wready_i (e_axil_wready),
    .e_axil_wdata_o (e_axil_wdata),
    .e_axil_wstrb_o (e_axil_wstrb),
    .e_axil_bvalid_i (e_axil_bvalid),
    .e_axil_bready_o (e_axil_bready),
    .e_axil_bresp_i (e_axil_bresp),
    .e_axil_arvalid_o (e_axil_arvalid),
    .e_axil_arready_i (e_axil_arready),
    .e_axil_araddr_o (e_axil_araddr),
    .e_axil_rvalid_i (e_axil_rvalid),
    .e_axil_rready_o (e_axil_rready),
    .e_axil_rdata_i (e_axil_rdata),
    .e_axil_rresp_i (e_axil_rresp),
    .m_axi_arvalid_o (memory_request_o.read.arvalid),
    .m_axi_arready_i (memory_response_i.read.arready),
    .m_axi_araddr_o (memory_request_o.read.araddr),
    .m_axi_arlen_o (memory_request_o.read.arlen),
    .m_axi_rvalid_i (memory_response_i.read.rvalid),
    .m_axi_rready_o (memory_request_o.read.rready),
    .m_axi_rdata_i (memory_response_i.read.rdata),
    .m_axi_rresp_i (memory_response_i.read.rresp),
    .m_axi_rlast_i (memory_response_i.read.rlast),
    .m_axi_awvalid_o (memory_request_o.write.awvalid),
    .m_axi_awready_i (memory_response_i.write.awready),
    .m_axi_awaddr_o (memory_request_o.write.awaddr),
    .m_axi_awlen_o (memory_request_o.write.awlen),
    .m_axi_wvalid_o (memory_request_o.write.wvalid),
    .m_axi_wready_i (memory_response_i.write.wready),
    .m_axi_wdata_o (memory_request_o.write.wdata),
    .m_axi_wstrb_o (memory_request_o.write.wstrb),
    .m_axi_wlast_o (memory_request_o.write.wlast),
    .m_axi_bvalid_i (memory_response_i.write.bvalid),
    .m_axi_bready_o (memory_request_o.write.bready),
    .m_axi_bresp_i (memory_response_i.write.bresp),
    .job_valid_o,
    .job_ready_i,
    .job_descriptor_o,
    .job_number_o,
    .end_valid_i,
    .end_ready_o,
    .end_job_i,
    .end_error_i,
    .end_detail_i,
    .end_count_i,
    .end_info0_i,
    .end_info1_i,
    .soft_reset_o,
    .quiet_i,
    .error_valid_i,
    .error_code_i,
    .event_i,
    .busy_i,
    .stall_mem_i,
    .stall_in_i,
    .stall_out_i,
    .progress_i,
    .rd_beat_i,
    .wr_beat_i,
    .timeout_o,
    .idle_o,
    .irq_o
  );

  // ---- Register access
  jd_engine_access u_access (
    .clk_i,
    .rst_ni,
    .s_axil_awvalid_i (e_axil_awvalid),
    .s_axil_awready_o (e_axil_awready),
    .s_axil_awaddr_i (e_axil_awaddr[11:2]),
    .s_axil_wvalid_i (e_axil_wvalid),
    .s_axil_wready_o (e_axil_wready),
    .s_axil_wdata_i (e_axil_wdata),
    .s_axil_wstrb_i (e_axil_wstrb),
    .s_axil_bvalid_o (e_axil_bvalid),
    .s_axil_bready_i (e_axil_bready),
    .s_axil_bresp_o (e_axil_bresp),
    .s_axil_arvalid_i (e_axil_arvalid),
    .s_axil_arready_o (e_axil_arready),
    .s_axil_araddr_i (e_axil_araddr[11:2]),
    .s_axil_rvalid_o (e_axil_rvalid),
    .s_axil_rready_i (e_axil_rready),
    .s_axil_rdata_o (e_axil_rdata),
    .s_axil_rresp_o (e_axil_rresp),
    .request_o     (register_request_o.valid),
    .write_o       (register_request_o.write),
    .address_o     (register_request_o.address),
    .data_o        (register_request_o.data),
    .mask_o        (register_request_o.mask),
    .read_done_i   (register_response_i.read_done),
    .read_error_i  (register_response_i.read_error),
    .read_data_i   (register_response_i.read_data),
    .write_done_i  (register_response_i.write_done),
    .write_error_i (register_response_i.write_error)
  );
  logic unused_address;
  assign unused_address = ^{e_axil_awaddr[1:0], e_axil_araddr[1:0]};   // words only
endmodule : jd_engine_page
