// SPDX-License-Identifier: Apache-2.0
//
// The scale engine: y = a x + b over a vector of FP32 in memory.
//
// Streams  axil_*: the page. mem_*: the memory port. One ring, opcode 1 SCALE. Words of its
//          descriptor: 2 count, 3 a, 4 b, 6 and 7 address of x, 8 and 9 address of y; all others 0.
// Timing   A beat of 16 words per clock; see jd_scale_work.
// Numbers  see jd_scale_work. After a failed write, bursts that were under way are still written.
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
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] time_i,
  output logic        irq_o,
  input  axil_req_t   axil_req_i,
  output axil_rsp_t   axil_rsp_o,
  output axi_req_t    mem_req_o,
  input  axi_rsp_t    mem_rsp_i
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
  register_req_t        register_req;
  register_rsp_t        register_rsp;
  axi_req_t             client_req;
  axi_rsp_t             client_rsp;
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
    .axil_req_i,
    .axil_rsp_o,
    .mem_req_o,
    .mem_rsp_i,
    .register_req_o      (register_req),
    .register_rsp_i      (register_rsp),
    .client_req_i        (client_req),
    .client_rsp_o        (client_rsp),
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
    .s_cpuif_req          (register_req.valid),
    .s_cpuif_req_is_wr    (register_req.write),
    .s_cpuif_addr         (register_req.address),
    .s_cpuif_wr_data      (register_req.data),
    .s_cpuif_wr_biten     (register_req.mask),
    .s_cpuif_req_stall_wr (unused_stall_write),
    .s_cpuif_req_stall_rd (unused_stall_read),
    .s_cpuif_rd_ack       (register_rsp.read_done),
    .s_cpuif_rd_err       (register_rsp.read_error),
    .s_cpuif_rd_data      (register_rsp.read_data),
    .s_cpuif_wr_ack       (register_rsp.write_done),
    .s_cpuif_wr_err       (register_rsp.write_error),
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
    .mem_req_o        (client_req),
    .mem_rsp_i        (client_rsp)
  );
  logic unused;
  assign unused = ^{unused_number, unused_idle, unused_stall_write, unused_stall_read,
                    error_address[39:32]};
endmodule : jd_scale_top
