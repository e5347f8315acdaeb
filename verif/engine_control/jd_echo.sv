// SPDX-License-Identifier: Apache-2.0
//
// A tiny engine behind jd_engine_control: a job runs for a number of clocks and ends with what its
// descriptor says. Test inputs drive the status bits that a real engine derives from its work.
//
// Streams  s_axil_*: the page. m_axi_*: memory port. Words of a descriptor: 0 opcode 1 ECHO, 2 HANG;
//          2 clocks; 3 error 7:0, detail 31:16; 4 count; 5, 6 ERR_INFO0, 1; others must be 0.
// Timing   a job ends `clocks` + 1 clocks after it is taken, or when the watchdog strikes; HANG ends
//          by the watchdog alone, and not before `clocks`. Every fourth clock takes an access.
// Numbers  registers: 0x100 RW idle-only, 0x104 RW, 0x108 RW clocks from the start of a soft reset
//          to quiet, 0x10C RO; all others answer SLVERR.
// Source   docs/interfaces.md.
module jd_echo
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
  output logic [3:0]   m_axi_arid_o,
  output logic [39:0]  m_axi_araddr_o,
  output logic [7:0]   m_axi_arlen_o,
  input  logic         m_axi_rvalid_i,
  output logic         m_axi_rready_o,
  input  logic [3:0]   m_axi_rid_i,
  input  logic [511:0] m_axi_rdata_i,
  input  logic [1:0]   m_axi_rresp_i,
  input  logic         m_axi_rlast_i,
  output logic         m_axi_awvalid_o,
  input  logic         m_axi_awready_i,
  output logic [3:0]   m_axi_awid_o,
  output logic [39:0]  m_axi_awaddr_o,
  output logic [7:0]   m_axi_awlen_o,
  output logic         m_axi_wvalid_o,
  input  logic         m_axi_wready_i,
  output logic [511:0] m_axi_wdata_o,
  output logic [63:0]  m_axi_wstrb_o,
  output logic         m_axi_wlast_o,
  input  logic         m_axi_bvalid_i,
  output logic         m_axi_bready_o,
  input  logic [3:0]   m_axi_bid_i,
  input  logic [1:0]   m_axi_bresp_i
);
  localparam logic [31:0] ID = 32'h4F484345;      // "ECHO"
  localparam logic [31:0] VERSION = 32'h0001_0203;
  localparam logic [7:0] ECHO = 8'd1;
  localparam logic [7:0] HANG = 8'd2;
  localparam logic [31:0] CONSTANT = 32'hC0FF_EE00;
  localparam logic [1023:0] IDLE_ONLY = 1024'd1 << (12'h100 / 4);

  logic e_axil_awvalid, e_axil_awready, e_axil_wvalid, e_axil_wready, e_axil_bvalid, e_axil_bready;
  logic e_axil_arvalid, e_axil_arready, e_axil_rvalid, e_axil_rready;
  logic [11:0] e_axil_awaddr, e_axil_araddr;
  logic [31:0] e_axil_wdata, e_axil_rdata;
  logic [3:0] e_axil_wstrb;
  logic [1:0] e_axil_bresp, e_axil_rresp;
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
  logic write;
  assign e_axil_awready = write;
  assign e_axil_wready = write;
  assign write = e_axil_awvalid && e_axil_wvalid && !e_axil_bvalid && time_o[1:0] == '0;
  assign e_axil_arready = e_axil_arvalid && !e_axil_rvalid && time_o[1:0] == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      config_q <= '0;
      e_axil_bvalid <= 1'b0;
      e_axil_rvalid <= 1'b0;
    end else begin
      if (write) begin
        e_axil_bvalid <= 1'b1;
        e_axil_bresp <= 2'b10;
        if (e_axil_awaddr >= 12'h100 && e_axil_awaddr < 12'h10C) begin
          e_axil_bresp <= 2'b00;
          for (int unsigned lane = 0; lane < 4; lane++) begin
            if (e_axil_wstrb[lane]) begin
              config_q[e_axil_awaddr[3:2]][8*lane+:8] <= e_axil_wdata[8*lane+:8];
            end
          end
        end
      end else if (e_axil_bready) begin
        e_axil_bvalid <= 1'b0;
      end
      if (e_axil_arready) begin
        e_axil_rvalid <= 1'b1;
        e_axil_rresp <= 2'b00;
        if (e_axil_araddr >= 12'h100 && e_axil_araddr < 12'h10C) begin
          e_axil_rdata <= config_q[e_axil_araddr[3:2]];
        end else if (e_axil_araddr[11:2] == 10'h43) begin
          e_axil_rdata <= CONSTANT;
        end else begin
          e_axil_rresp <= 2'b10;
        end
      end else if (e_axil_rready) begin
        e_axil_rvalid <= 1'b0;
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

  assign m_axi_arid_o = '0;
  assign m_axi_awid_o = '0;
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
    .e_axil_awaddr_o  (e_axil_awaddr),
    .e_axil_wvalid_o  (e_axil_wvalid),
    .e_axil_wready_i  (e_axil_wready),
    .e_axil_wdata_o   (e_axil_wdata),
    .e_axil_wstrb_o   (e_axil_wstrb),
    .e_axil_bvalid_i  (e_axil_bvalid),
    .e_axil_bready_o  (e_axil_bready),
    .e_axil_bresp_i   (e_axil_bresp),
    .e_axil_arvalid_o (e_axil_arvalid),
    .e_axil_arready_i (e_axil_arready),
    .e_axil_araddr_o  (e_axil_araddr),
    .e_axil_rvalid_i  (e_axil_rvalid),
    .e_axil_rready_o  (e_axil_rready),
    .e_axil_rdata_i   (e_axil_rdata),
    .e_axil_rresp_i   (e_axil_rresp),
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_rlast_i,
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bresp_i,
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
    .rd_beat_i        (m_axi_rvalid_i && m_axi_rready_o),
    .wr_beat_i        (m_axi_wvalid_o && m_axi_wready_i),
    .timeout_o        (timeout),
    .idle_o,
    .irq_o
  );

  logic unused_ids;                       // one ID is enough: answers come in order
  assign unused_ids = ^{m_axi_rid_i, m_axi_bid_i};
endmodule : jd_echo
