// SPDX-License-Identifier: Apache-2.0
//
// A tiny engine with jd_engine_control: a job runs for a number of clocks and ends with what its
// descriptor says. Test inputs drive the status bits that a real engine derives from its work.
//
// Streams  axil_*: the page. mem_*: memory port. Words of a descriptor: 0 opcode 1 ECHO, 2 HANG;
//          2 clocks; 3 error 7:0, detail 31:16; 4 count; 5, 6 ERR_INFO0, 1; others must be 0.
// Timing   a job ends `clocks` + 1 clocks after it is taken, or when the watchdog strikes; HANG ends
//          by the watchdog alone, and not before `clocks`. Every fourth clock takes an access.
// Numbers  registers: 0x100 RW idle-only, 0x104 RW, 0x108 RW clocks from the start of a soft reset
//          to quiet, 0x10C RO; all others answer SLVERR.
// Source   docs/interfaces.md.
module jd_echo
  import jd_axi_pkg::*;
  import jd_engine_header_map_pkg::E_TIMEOUT,
         jd_engine_header_map_pkg::E_OPCODE,
         jd_engine_header_map_pkg::E_RESERVED;
#(
  parameter int unsigned Rings = 3,
  parameter int unsigned Jobs  = 1,       // of a ring side by side
  parameter int unsigned Beats = 1        // of a descriptor; words after the first 16 must be 0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic [63:0]  time_o,
  output logic         idle_o,
  output logic         irq_o,
  output logic         soft_reset_o,
  input  logic         error_valid_i,
  input  logic [7:0]   error_code_i,
  input  logic         event_i,
  input  logic [3:0]   count_i,           // stall_out, stall_in, stall_mem, busy
  input  logic         progress_i,
  input  logic [Rings-1:0] pause_i,       // the ring's jobs are not taken
  input  axil_req_t    axil_req_i,
  output axil_rsp_t    axil_rsp_o,
  output axi_req_t     mem_req_o,
  input  axi_rsp_t     mem_rsp_i
);
  localparam logic [31:0] ID = 32'h4F484345;      // "ECHO"
  localparam logic [31:0] VERSION = 32'h0001_0203;
  localparam logic [7:0] ECHO = 8'd1;
  localparam logic [7:0] HANG = 8'd2;
  localparam logic [31:0] CONSTANT = 32'hC0FF_EE00;
  localparam logic [1023:0] IDLE_ONLY = 1024'd1 << (12'h100 / 4);

  axil_req_t engine_req;
  axil_rsp_t engine_rsp;
  logic [Rings-1:0] job_valid, job_ready, end_valid, end_ready, timeout;
  localparam int unsigned JobW = Jobs > 1 ? $clog2(Jobs) : 1;
  localparam int unsigned DescriptorW = 512 * Beats;
  logic [Rings-1:0][DescriptorW-1:0] job_descriptor;
  logic [Rings-1:0][JobW-1:0] end_job;
  logic [Rings-1:0][31:0] job_number, end_count, end_info0, end_info1;
  logic [Rings-1:0][7:0] end_error;
  logic [Rings-1:0][15:0] end_detail;
  logic quiet;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) time_o <= '0;
    else time_o <= time_o + 1;
  end

  // ---- Registers
  logic [2:0][31:0] config_q;
  logic write, read, bvalid_q, rvalid_q;
  logic [1:0] bresp_q, rresp_q;
  logic [31:0] rdata_q;
  assign write = engine_req.awvalid && engine_req.wvalid && !bvalid_q && time_o[1:0] == '0;
  assign read = engine_req.arvalid && !rvalid_q && time_o[1:0] == '0;
  assign engine_rsp = '{
    awready: write, wready: write, bvalid: bvalid_q, bresp: bresp_q,
    arready: read, rvalid: rvalid_q, rdata: rdata_q, rresp: rresp_q};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      config_q <= '0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      if (write) begin
        bvalid_q <= 1'b1;
        bresp_q <= 2'b10;
        if (engine_req.awaddr[11:0] >= 12'h100 && engine_req.awaddr[11:0] < 12'h10C) begin
          bresp_q <= 2'b00;
          for (int unsigned lane = 0; lane < 4; lane++) begin
            if (engine_req.wstrb[lane]) begin
              config_q[engine_req.awaddr[3:2]][8*lane+:8] <= engine_req.wdata[8*lane+:8];
            end
          end
        end
      end else if (engine_req.bready) begin
        bvalid_q <= 1'b0;
      end
      if (read) begin
        rvalid_q <= 1'b1;
        rresp_q <= 2'b00;
        if (engine_req.araddr[11:0] >= 12'h100 && engine_req.araddr[11:0] < 12'h10C) begin
          rdata_q <= config_q[engine_req.araddr[3:2]];
        end else if (engine_req.araddr[11:2] == 10'h43) begin
          rdata_q <= CONSTANT;
        end else begin
          rresp_q <= 2'b10;
        end
      end else if (engine_req.rready) begin
        rvalid_q <= 1'b0;
      end
    end
  end

  // ---- Jobs
  logic [Rings-1:0][Jobs-1:0] busy_q;
  logic [31:0] drain_q;
  assign quiet = soft_reset_o ? drain_q == config_q[2] : busy_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !soft_reset_o) drain_q <= '0;
    else if (drain_q != config_q[2]) drain_q <= drain_q + 1;
  end

  // A ring has a lane for each job that it runs side by side; the first free one takes a job, and
  // the first that is done ends its job.
  for (genvar r = 0; r < Rings; r++) begin : gen_ring
    logic [Jobs-1:0] free, done, takes, ends;
    logic [Jobs-1:0][31:0] left_q, count_q, info0_q, info1_q;
    logic [Jobs-1:0][7:0] error_q;
    logic [Jobs-1:0][15:0] detail_q;
    logic [Jobs-1:0][JobW-1:0] number_q;
    logic [Jobs-1:0] hang_q;
    assign free = ~busy_q[r];
    assign takes = free & (~free + 1'b1);
    assign ends = done & (~done + 1'b1);
    assign job_ready[r] = free != '0 && !pause_i[r];
    assign end_valid[r] = done != '0 && !soft_reset_o;
    always_comb begin
      {end_error[r], end_detail[r], end_count[r], end_info0[r], end_info1[r], end_job[r]} = '0;
      for (int unsigned l = 0; l < Jobs; l++) begin
        if (ends[l]) begin
          end_error[r] = timeout[r] ? E_TIMEOUT : error_q[l];
          end_detail[r] = detail_q[l];
          end_count[r] = count_q[l];
          end_info0[r] = info0_q[l];
          end_info1[r] = info1_q[l];
          end_job[r] = number_q[l];
        end
      end
    end
    for (genvar l = 0; l < Jobs; l++) begin : gen_lane
      assign done[l] = busy_q[r][l] &&
          (hang_q[l] ? left_q[l] == '0 && timeout[r] : left_q[l] == '0 || timeout[r]);
      always_ff @(posedge clk_i) begin
        if (!rst_ni || soft_reset_o) begin
          busy_q[r][l] <= 1'b0;
        end else if (job_valid[r] && job_ready[r] && takes[l]) begin
          busy_q[r][l] <= 1'b1;
          hang_q[l] <= job_descriptor[r][7:0] == HANG;
          left_q[l] <= job_descriptor[r][64+:32];
          error_q[l] <= job_descriptor[r][7:0] != ECHO && job_descriptor[r][7:0] != HANG ?
                        E_OPCODE :
                        job_descriptor[r][DescriptorW-1:224] != '0 ? E_RESERVED :
                        job_descriptor[r][96+:8];
          number_q[l] <= Jobs > 1 ? job_number[r][JobW-1:0] : '0;
          detail_q[l] <= job_descriptor[r][112+:16];
          count_q[l] <= job_descriptor[r][128+:32] ^ job_number[r];
          info0_q[l] <= job_descriptor[r][160+:32];
          info1_q[l] <= job_descriptor[r][192+:32];
        end else begin
          if (left_q[l] != '0) left_q[l] <= left_q[l] - 1;
          if (end_valid[r] && end_ready[r] && ends[l]) busy_q[r][l] <= 1'b0;
        end
      end
    end
  end

  jd_engine_control #(
    .Rings    (Rings),
    .Jobs     (Jobs),
    .Beats    (Beats),
    .IdleOnly (IDLE_ONLY)
  ) u_control (
    .clk_i,
    .rst_ni,
    .id_i             (ID),
    .version_i        (VERSION),
    .time_i           (time_o),
    .axil_req_i,
    .axil_rsp_o,
    .engine_req_o     (engine_req),
    .engine_rsp_i     (engine_rsp),
    .mem_req_o,
    .mem_rsp_i,
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_descriptor_o (job_descriptor),
    .job_number_o     (job_number),
    .end_valid_i      (end_valid),
    .end_ready_o      (end_ready),
    .end_job_i        (end_job),
    .end_error_i      (end_error),
    .end_detail_i     (end_detail),
    .end_count_i      (end_count),
    .end_info0_i      (end_info0),
    .end_info1_i      (end_info1),
    .soft_reset_o,
    .quiet_i          (quiet),
    .error_valid_i,
    .error_code_i,
    .event_i,
    .busy_i           (count_i[0]),
    .stall_mem_i      (count_i[1]),
    .stall_in_i       (count_i[2]),
    .stall_out_i      (count_i[3]),
    .progress_i,
    .rd_beat_i        (mem_rsp_i.read.rvalid && mem_req_o.read.rready),
    .wr_beat_i        (mem_req_o.write.wvalid && mem_rsp_i.write.wready),
    .timeout_o        (timeout),
    .idle_o,
    .irq_o
  );

  logic unused_address;                   // the page is chosen
  assign unused_address = ^{engine_req.awaddr[19:12], engine_req.araddr[19:12]};
endmodule : jd_echo
