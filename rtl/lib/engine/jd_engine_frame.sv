// SPDX-License-Identifier: Apache-2.0
//
// The frame of every engine: rings and records, register access, and one memory port that the
// engine's blocks share. An engine adds its register block and its work.
//
// Streams  axil_*: the page. mem_*: the memory port. job: a descriptor; the engine takes it and
//          then owes an end. register_*: accesses to the engine's own words, from 0x100. client_*:
//          the engine's clients of the port, in turn, a whole burst each.
// Timing   A client's AR and AW reach the port two clocks later; R, W and B pass through. At most
//          16 reads and 16 writes are outstanding. A client takes R at once and has the data of a
//          burst ready when it requests it; jd_axi_prompt checks that at the port.
// Numbers  the ID at the port is the client's number, from 1 on; 0 is for rings and records.
// Source   docs/interfaces.md, the engine's frame.
`include "jd_assert.svh"
module jd_engine_frame
  import jd_axi_pkg::*;
#(
  parameter  logic [31:0]   Id       = '0,
  parameter  logic [31:0]   Version  = '0,
  parameter  logic [1023:0] IdleOnly = '0,   // bit i: word i of the page is written only while idle
  parameter  int unsigned   Rings    = 1,    // 1..4
  parameter  int unsigned   Jobs     = 1,    // of a ring side by side, power of two 1..16
  parameter  int unsigned   Beats    = 1,    // of a descriptor, power of two 1..4; 1 if Jobs is
  parameter  int unsigned   Clients  = 1,    // of the memory port, 1..7
  localparam int unsigned   JobW     = Jobs > 1 ? $clog2(Jobs) : 1,
  localparam int unsigned   DescriptorW = 512 * Beats
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [63:0]             time_i,
  output logic                    irq_o,
  input  axil_req_t               axil_req_i,
  output axil_rsp_t               axil_rsp_o,
  output axi_req_t                mem_req_o,
  input  axi_rsp_t                mem_rsp_i,
  output register_req_t           register_req_o,
  input  register_rsp_t           register_rsp_i,
  input  axi_req_t [Clients-1:0]  client_req_i,
  output axi_rsp_t [Clients-1:0]  client_rsp_o,
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
  localparam int unsigned All = Clients + 1;        // of the port: rings and records are 0
  if (Clients < 1 || Clients > 7) begin : gen_bad_clients
    $fatal(1, "jd_engine_frame: Clients=%0d, want 1..7", Clients);
  end

  // ---- The page
  axi_req_t page_req, mux_req;
  axi_rsp_t page_rsp, mux_rsp;
  jd_engine_page #(
    .Id       (Id),
    .Version  (Version),
    .IdleOnly (IdleOnly),
    .Rings    (Rings),
    .Jobs     (Jobs),
    .Beats    (Beats)
  ) u_page (
    .clk_i, .rst_ni, .time_i, .irq_o, .axil_req_i, .axil_rsp_o, .register_req_o, .register_rsp_i,
    .mem_req_o  (page_req),
    .mem_rsp_i  (page_rsp),
    .rd_beat_i  (mem_rsp_i.read.rvalid && mem_req_o.read.rready),
    .wr_beat_i  (mem_req_o.write.wvalid && mem_rsp_i.write.wready),
    .job_valid_o, .job_ready_i, .job_descriptor_o, .job_number_o, .end_valid_i, .end_ready_o,
    .end_job_i, .end_error_i, .end_detail_i, .end_count_i, .end_info0_i, .end_info1_i, .timeout_o,
    .soft_reset_o, .quiet_i, .error_valid_i, .error_code_i, .event_i, .busy_i, .stall_mem_i,
    .stall_in_i, .stall_out_i, .progress_i, .idle_o
  );

  // ---- The memory port
  jd_axi_mux #(
    .Clients (All)
  ) u_mux (
    .clk_i, .rst_ni,
    .client_req_i ({client_req_i, page_req}),
    .client_rsp_o ({client_rsp_o, page_rsp}),
    .mem_req_o    (mux_req),
    .mem_rsp_i    (mux_rsp)
  );
  jd_axi_limit u_limit (
    .clk_i, .rst_ni,
    .client_req_i (mux_req),
    .client_rsp_o (mux_rsp),
    .mem_req_o,
    .mem_rsp_i
  );
  jd_axi_prompt u_prompt (
    .clk_i, .rst_ni,
    .mem_req_i (mem_req_o),
    .mem_rsp_i
  );

  logic [4:0] reads_q, writes_q;                    // out, for the checks
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reads_q  <= '0;
      writes_q <= '0;
    end else begin
      reads_q  <= reads_q + 5'(mem_req_o.read.arvalid && mem_rsp_i.read.arready)
                  - 5'(mem_rsp_i.read.rvalid && mem_req_o.read.rready && mem_rsp_i.read.rlast);
      writes_q <= writes_q + 5'(mem_req_o.write.awvalid && mem_rsp_i.write.awready)
                  - 5'(mem_rsp_i.write.bvalid && mem_req_o.write.bready);
    end
  end
  `JD_ASSUME_IF(ReadOwed_M, mem_rsp_i.read.rvalid, reads_q != '0)
  `JD_ASSUME_IF(WriteOwed_M, mem_rsp_i.write.bvalid, writes_q != '0)
  `JD_ASSERT_NEXT(QuietReset_A, soft_reset_o && quiet_i,
                  soft_reset_o || (reads_q == '0 && writes_q == '0))
endmodule : jd_engine_frame
