// SPDX-License-Identifier: Apache-2.0
//
// The page of an engine: rings and records, the common header, and accesses to the engine's own
// registers. It is the part of jd_engine_frame that does not depend on how the engine uses memory.
//
// Streams  axil_*: the page. job, end: as in jd_engine_control. register_*: accesses to the
//          engine's own words, from 0x100. mem_*: descriptors and records.
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
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [63:0]             time_i,
  output logic                    irq_o,
  input  axil_req_t               axil_req_i,
  output axil_rsp_t               axil_rsp_o,
  output register_req_t           register_req_o,
  input  register_rsp_t           register_rsp_i,
  output axi_req_t                mem_req_o,
  input  axi_rsp_t                mem_rsp_i,
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
  axil_req_t engine_req;
  axil_rsp_t engine_rsp;
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
    .axil_req_i,
    .axil_rsp_o,
    .engine_req_o     (engine_req),
    .engine_rsp_i     (engine_rsp),
    .mem_req_o,
    .mem_rsp_i,
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
    .axil_req_i (engine_req),
    .axil_rsp_o (engine_rsp),
    .register_req_o,
    .register_rsp_i
  );
endmodule : jd_engine_page
