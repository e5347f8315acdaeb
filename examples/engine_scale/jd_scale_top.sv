// SPDX-License-Identifier: Apache-2.0
//
// The scale engine: y = a x + b over a vector of FP32 in memory.
//
// Streams  s_axil_*: the page. m_axi_*: the memory port. One ring, opcode 1 SCALE; words of its
//          descriptor: 2 count, 3 a, 4 b, 6 and 7 address of x, 8 and 9 of y; all others 0.
// Timing   a beat of 16 words per clock, see jd_scale_work.
// Numbers  see jd_scale_work. After a failed write, bursts that were under way are written.
// Source   docs/new-engine.md.
`include "jd_assert.svh"
module jd_scale_top
  import jd_axi_pkg::*;
  import jd_scale_map_pkg::*;
#(
  parameter int unsigned MulLatency = 2,    // of the multiplier, clocks, 1..4
  parameter int unsigned AddLatency = 2,    // of the adder, 1..6
  parameter int unsigned Depth      = 128   // beats between reading and writing
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
  output logic         m_axi_arvalid_o,
  input  logic         m_axi_arready_i,
  output logic [39:0]  m_axi_araddr_o,
  output logic [7:0]   m_axi_arlen_o,
  output logic [3:0]   m_axi_arid_o,
  input  logic         m_axi_rvalid_i,
  output logic         m_axi_rready_o,
  input  logic [511:0] m_axi_rdata_i,
  input  logic [1:0]   m_axi_rresp_i,
  input  logic         m_axi_rlast_i,
  input  logic [3:0]   m_axi_rid_i,
  output logic         m_axi_awvalid_o,
  input  logic         m_axi_awready_i,
  output logic [39:0]  m_axi_awaddr_o,
  output logic [7:0]   m_axi_awlen_o,
  output logic [3:0]   m_axi_awid_o,
  output logic         m_axi_wvalid_o,
  input  logic         m_axi_wready_i,
  output logic [511:0] m_axi_wdata_o,
  output logic [63:0]  m_axi_wstrb_o,
  output logic         m_axi_wlast_o,
  input  logic         m_axi_bvalid_i,
  output logic         m_axi_bready_o,
  input  logic [1:0]   m_axi_bresp_i,
  input  logic [3:0]   m_axi_bid_i
);
  localparam logic [7:0]  SCALE    = 8'd1;
  localparam logic [19:0] MOST     = 20'd1 << 19;
  localparam logic [7:0]  LANES    = 8'd16;
  localparam logic [7:0]  E_ADDR = jd_engine_header_map_pkg::E_ADDR;
  localparam logic [7:0]  E_OPCODE = jd_engine_header_map_pkg::E_OPCODE;
  localparam logic [7:0]  E_RESERVED = jd_engine_header_map_pkg::E_RESERVED;
  localparam logic [7:0]  E_BUS_RD = jd_engine_header_map_pkg::E_BUS_RD;
  localparam logic [7:0]  E_BUS_WR = jd_engine_header_map_pkg::E_BUS_WR;
  localparam logic [7:0]  E_TIMEOUT = jd_engine_header_map_pkg::E_TIMEOUT;

  // ---- The frame: rings, register access, memory port
  register_request_t    register_request;
  register_response_t   register_response;
  axi_request_t         memory_request;
  axi_response_t        memory_response;
  logic                 job_valid, job_ready, end_valid, end_ready, timeout, soft_reset;
  logic [15:0][31:0]    words;
  logic [7:0]           end_error;
  logic [31:0]          end_count, end_info0, end_info1, unused_number;
  logic                 quiet, busy, waiting, moved, unused_idle;
  jd_engine_frame #(
    .Id       (ENGINE_ID),
    .Version  (ENGINE_VERSION),
    .IdleOnly (IDLE_ONLY)
  ) u_frame (
    .clk_i,
    .rst_ni,
    .time_i,
    .irq_o,
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
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arid_o,
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_rlast_i,
    .m_axi_rid_i,
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awid_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bresp_i,
    .m_axi_bid_i,
    .register_request_o  (register_request),
    .register_response_i (register_response),
    .memory_request_i    (memory_request),
    .memory_response_o   (memory_response),
    .job_valid_o         (job_valid),
    .job_ready_i         (job_ready),
    .job_descriptor_o    (words),
    .job_number_o        (unused_number),
    .end_valid_i         (end_valid),
    .end_ready_o         (end_ready),
    .end_job_i           ('0),
    .end_error_i         (end_error),
    .end_detail_i        ('0),
    .end_count_i         (end_count),
    .end_info0_i         (end_info0),
    .end_info1_i         (end_info1),
    .timeout_o           (timeout),
    .soft_reset_o        (soft_reset),
    .quiet_i             (quiet),
    .error_valid_i       (1'b0),
    .error_code_i        ('0),
    .event_i             (1'b0),
    .busy_i              (busy),
    .stall_mem_i         (waiting),
    .stall_in_i          (1'b0),
    .stall_out_i         (1'b0),
    .progress_i          (moved),
    .idle_o              (unused_idle)
  );

  // ---- Registers
  jd_scale_regs_pkg::jd_scale__in_t from_hw;
  logic unused_stall_write, unused_stall_read;
  jd_scale_regs u_registers (
    .clk                  (clk_i),
    .rst_n                (rst_ni),
    .s_cpuif_req          (register_request.valid),
    .s_cpuif_req_is_wr    (register_request.write),
    .s_cpuif_addr         (register_request.address),
    .s_cpuif_wr_data      (register_request.data),
    .s_cpuif_wr_biten     (register_request.mask),
    .s_cpuif_req_stall_wr (unused_stall_write),
    .s_cpuif_req_stall_rd (unused_stall_read),
    .s_cpuif_rd_ack       (register_response.read_done),
    .s_cpuif_rd_err       (register_response.read_error),
    .s_cpuif_rd_data      (register_response.read_data),
    .s_cpuif_wr_ack       (register_response.write_done),
    .s_cpuif_wr_err       (register_response.write_error),
    .hwif_in              (from_hw)
  );
  logic [31:0] done_words_q;
  assign from_hw.CAP.lanes.next = LANES;
  assign from_hw.CAP.depth.next = 16'(Depth);
  assign from_hw.N_WORDS.value.next = done_words_q;

  // ---- Jobs: check, work, end
  typedef enum logic [1:0] {StIdle, StCheck, StWork, StEnd} state_t;
  state_t state_q;
  logic [15:0][31:0] job_q;
  logic [7:0]  bad;
  logic [40:0] bytes;
  logic        work_idle, work_done, read_failed, write_failed;
  logic [39:0] error_address;
  logic [1:0]  error_response;
  assign bytes = {15'd0, job_q[2][19:0] + 20'd15, 6'd0} >> 4 & ~41'h3F;
  always_comb begin
    bad = '0;
    if (job_q[0][7:0] != SCALE) bad = E_OPCODE;
    else if (job_q[0][29:8] != '0 || job_q[5] != '0 || job_q[15:10] != '0
             || job_q[7][31:8] != '0 || job_q[9][31:8] != '0) bad = E_RESERVED;
    else if (job_q[2] == '0 || job_q[2] > 32'(MOST)) bad = E_COUNT;
    else if (job_q[6][5:0] != '0 || job_q[8][5:0] != '0) bad = E_ALIGN;
    else if (beyond({job_q[7][7:0], job_q[6]}, 64'(bytes))
             || beyond({job_q[9][7:0], job_q[8]}, 64'(bytes))) bad = E_ADDR;
  end
  assign job_ready = state_q == StIdle && !soft_reset;
  assign end_valid = state_q == StEnd;
  assign busy      = state_q != StIdle;
  assign waiting   = state_q == StWork && !moved;
  assign quiet     = state_q == StIdle && work_idle;
  logic unused_words;
  assign unused_words = ^{job_q[0][31:30], job_q[1]};        // the frame's

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= StIdle;
      done_words_q <= '0;
    end else begin
      unique case (state_q)
        StIdle: if (job_valid && job_ready) state_q <= StCheck;
        StCheck: state_q <= bad != '0 ? StEnd : StWork;
        StWork: if (work_done) state_q <= StEnd;
        StEnd: if (end_ready) state_q <= StIdle;
      endcase
      if (end_valid && end_ready && end_error == '0) done_words_q <= done_words_q + end_count;
    end
    if (job_valid && job_ready) job_q <= words;
    if (state_q == StCheck) begin
      end_error <= bad;
      end_count <= '0;
      end_info0 <= '0;
      end_info1 <= '0;
    end
    if (state_q == StWork && work_done) begin
      if (read_failed || write_failed) begin
        end_error <= read_failed ? E_BUS_RD : E_BUS_WR;
        end_info0 <= error_address[31:0];
        end_info1 <= 32'(error_response);
      end else if (timeout || soft_reset) begin
        end_error <= E_TIMEOUT;                              // dropped if it is a soft reset
      end else begin
        end_count <= job_q[2];
      end
    end
  end

  jd_scale_work #(
    .MulLatency (MulLatency),
    .AddLatency (AddLatency),
    .Depth      (Depth)
  ) u_work (
    .clk_i,
    .rst_ni,
    .start_valid_i    (state_q == StCheck && bad == '0),
    .count_i          (job_q[2][19:0]),
    .a_i              (job_q[3]),
    .b_i              (job_q[4]),
    .source_i         ({job_q[7][7:0], job_q[6]}),
    .target_i         ({job_q[9][7:0], job_q[8]}),
    .stop_i           (timeout || soft_reset),
    .idle_o           (work_idle),
    .done_valid_o     (work_done),
    .read_failed_o    (read_failed),
    .write_failed_o   (write_failed),
    .error_address_o  (error_address),
    .error_response_o (error_response),
    .moved_o          (moved),
    .memory_request_o  (memory_request),
    .memory_response_i (memory_response)
  );
  logic unused;
  assign unused = ^{unused_number, unused_idle, unused_stall_write, unused_stall_read,
                    error_address[39:32]};
endmodule : jd_scale_top
