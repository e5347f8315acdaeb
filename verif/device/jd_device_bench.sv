// SPDX-License-Identifier: Apache-2.0
//
// The device's boundary with a traffic generator on each memory port instead of engines.
//
// Streams  AXI4-Lite registers in, one AXI4 master a port out. Page 0 has the directory words that
//          a host checks (no engine); page 1 + p drives port p, registers below.
// Timing   a burst's address is offered as soon as the last was taken, unless LIMIT (16 from reset)
//          reads or writes are out; a beat every clock.
// Numbers  written beat i has its 64-bit words equal to {i, ~i} repeated; read beats are summed.
// Source   none: only for checks of the in-process simulator and its memory.
`include "jd_assert.svh"
module jd_device_bench #(
  parameter int unsigned MemPorts    = 1,             // 1..4
  parameter int unsigned MemSizeLog2 = 20,            // 12..32
  parameter int unsigned ClockHz     = 250_000_000,
  parameter int unsigned BuildHash   = 0
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         irq_o,
  input  logic [19:0]  s_axil_awaddr_i,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  output logic [1:0]   s_axil_bresp_o,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  input  logic [19:0]  s_axil_araddr_i,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,
  output logic [3:0]   m_axi_arid_o    [MemPorts],
  output logic [39:0]  m_axi_araddr_o  [MemPorts],
  output logic [7:0]   m_axi_arlen_o   [MemPorts],
  output logic [2:0]   m_axi_arsize_o  [MemPorts],
  output logic [1:0]   m_axi_arburst_o [MemPorts],
  output logic         m_axi_arvalid_o [MemPorts],
  input  logic         m_axi_arready_i [MemPorts],
  input  logic [3:0]   m_axi_rid_i     [MemPorts],
  input  logic [511:0] m_axi_rdata_i   [MemPorts],
  input  logic [1:0]   m_axi_rresp_i   [MemPorts],
  input  logic         m_axi_rlast_i   [MemPorts],
  input  logic         m_axi_rvalid_i  [MemPorts],
  output logic         m_axi_rready_o  [MemPorts],
  output logic [3:0]   m_axi_awid_o    [MemPorts],
  output logic [39:0]  m_axi_awaddr_o  [MemPorts],
  output logic [7:0]   m_axi_awlen_o   [MemPorts],
  output logic [2:0]   m_axi_awsize_o  [MemPorts],
  output logic [1:0]   m_axi_awburst_o [MemPorts],
  output logic         m_axi_awvalid_o [MemPorts],
  input  logic         m_axi_awready_i [MemPorts],
  output logic [511:0] m_axi_wdata_o   [MemPorts],
  output logic [63:0]  m_axi_wstrb_o   [MemPorts],
  output logic         m_axi_wlast_o   [MemPorts],
  output logic         m_axi_wvalid_o  [MemPorts],
  input  logic         m_axi_wready_i  [MemPorts],
  input  logic [3:0]   m_axi_bid_i     [MemPorts],
  input  logic [1:0]   m_axi_bresp_i   [MemPorts],
  input  logic         m_axi_bvalid_i  [MemPorts],
  output logic         m_axi_bready_o  [MemPorts]
);
  // Registers of page 1 + p. GO: bit 0 starts the reads, bit 1 the writes, bit 2 both in turn (each
  // read waits for the write before it), bit 3 fails an assertion, bit 4 breaks WLAST.
  localparam logic [11:0] GO = 12'h000, READS = 12'h004, WRITES = 12'h008, BEATS = 12'h00C;
  localparam logic [11:0] READ_BASE = 12'h010, WRITE_BASE = 12'h014, STRIDE = 12'h018;
  localparam logic [11:0] STROBE_LO = 12'h01C, STROBE_HI = 12'h020, READ_GAP = 12'h024;
  localparam logic [11:0] LIMIT = 12'h028;
  localparam logic [11:0] DONE = 12'h040, READ_CLOCKS = 12'h044, WRITE_CLOCKS = 12'h048;
  localparam logic [11:0] READ_LATENCY = 12'h04C, WRITE_LATENCY = 12'h050, WORST = 12'h054;
  localparam logic [11:0] SUM = 12'h058;

  logic [63:0] time_q;
  logic [31:0] time_high_q, scratch_q, irq_enable_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) time_q <= '0;
    else         time_q <= time_q + 64'd1;
  end

  // AXI4-Lite: one access at a time, answered in the clock after it was taken.
  logic        write_take, read_take, write_ok, read_ok;
  logic [31:0] read_data;
  logic [31:0] page_data [MemPorts];
  logic        page_known [MemPorts];
  assign write_take       = s_axil_awvalid_i && s_axil_wvalid_i && !s_axil_bvalid_o;
  assign read_take        = s_axil_arvalid_i && !s_axil_rvalid_o;
  assign s_axil_awready_o = write_take;
  assign s_axil_wready_o  = write_take;
  assign s_axil_arready_o = read_take;
  always_comb begin
    write_ok  = s_axil_awaddr_i == 20'h024 || s_axil_awaddr_i == 20'h030;
    read_ok   = 1'b1;
    read_data = '0;
    unique case (s_axil_araddr_i)
      20'h000: read_data = 32'h574B444A;
      20'h004: read_data = 32'h0001_0000;
      20'h008: read_data = BuildHash;
      20'h00C: read_data = '0;
      20'h010: read_data = ClockHz;
      20'h014: read_data = 32'(64'd1 << MemSizeLog2);
      20'h018: read_data = '0;
      20'h01C: read_data = MemPorts;
      20'h020: read_data = 32'(irq_pending);
      20'h024: read_data = irq_enable_q;
      20'h028: read_data = time_q[31:0];
      20'h02C: read_data = time_high_q;
      20'h030: read_data = scratch_q;
      default: read_ok = 1'b0;
    endcase
    for (int unsigned p = 0; p < MemPorts; p++) begin
      if (s_axil_awaddr_i[19:12] == 8'(p + 1)) write_ok = s_axil_awaddr_i[11:0] < DONE;
      if (s_axil_araddr_i[19:12] == 8'(p + 1)) begin
        read_ok   = page_known[p];
        read_data = page_data[p];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      s_axil_bvalid_o <= 1'b0;
      s_axil_rvalid_o <= 1'b0;
      irq_enable_q    <= '0;
      scratch_q       <= '0;
    end else begin
      if (s_axil_bready_i) s_axil_bvalid_o <= 1'b0;
      if (s_axil_rready_i) s_axil_rvalid_o <= 1'b0;
      if (write_take) begin
        s_axil_bvalid_o <= 1'b1;
        s_axil_bresp_o  <= write_ok ? 2'd0 : 2'd2;
        if (s_axil_awaddr_i == 20'h024) irq_enable_q <= s_axil_wdata_i;
        if (s_axil_awaddr_i == 20'h030) scratch_q <= s_axil_wdata_i;
      end
      if (read_take) begin
        s_axil_rvalid_o <= 1'b1;
        s_axil_rresp_o  <= read_ok ? 2'd0 : 2'd2;
        s_axil_rdata_o  <= read_data;
        if (s_axil_araddr_i == 20'h028) time_high_q <= time_q[63:32];
      end
    end
  end

  logic [MemPorts-1:0] irq_pending;
  assign irq_o = |(32'(irq_pending) & irq_enable_q);

  for (genvar p = 0; p < MemPorts; p++) begin : gen_port
    logic [31:0] reads_q, writes_q, beats_q, read_base_q, write_base_q, stride_q, gap_q, now_q;
    logic [63:0] strobe_q;
    logic [31:0] ar_left_q, r_left_q, aw_left_q, w_left_q, b_left_q;
    logic [31:0] w_beat_q, w_count_q, gap_left_q;
    logic [7:0]  limit_q, reads_out_q, writes_out_q;
    logic [31:0] read_clocks_q, write_clocks_q, read_latency_q, write_latency_q, sum_q;
    logic [31:0] first_ar_q, first_aw_q, last_w_q;
    logic        running_q, ordered_q, break_last_q, fail_q, done_q;
    logic        seen_ar_q, seen_aw_q, seen_r_q;
    logic [1:0]  worst_q;
    logic        select;
    logic [11:0] offset;
    assign select = write_take && s_axil_awaddr_i[19:12] == 8'(p + 1);
    assign offset = s_axil_awaddr_i[11:0];

    logic ar_take, r_take, aw_take, w_take, b_take;
    assign ar_take = m_axi_arvalid_o[p] && m_axi_arready_i[p];
    assign r_take  = m_axi_rvalid_i[p] && m_axi_rready_o[p];
    assign aw_take = m_axi_awvalid_o[p] && m_axi_awready_i[p];
    assign w_take  = m_axi_wvalid_o[p] && m_axi_wready_i[p];
    assign b_take  = m_axi_bvalid_i[p] && m_axi_bready_o[p];
    assign m_axi_arid_o[p]    = ar_left_q[3:0];
    assign m_axi_araddr_o[p]  = {8'd0, read_base_q};
    assign m_axi_arlen_o[p]   = 8'(beats_q - 32'd1);
    assign m_axi_arsize_o[p]  = 3'd6;
    assign m_axi_arburst_o[p] = 2'd1;
    // Ordered: as many read bursts as write bursts are left, once the write is answered.
    assign m_axi_arvalid_o[p] = ar_left_q != '0 && (!ordered_q || b_left_q < ar_left_q) &&
                                reads_out_q < limit_q;
    assign m_axi_rready_o[p]  = gap_left_q == '0;
    assign m_axi_awid_o[p]    = aw_left_q[3:0];
    assign m_axi_awaddr_o[p]  = {8'd0, write_base_q};
    assign m_axi_awlen_o[p]   = 8'(beats_q - 32'd1);
    assign m_axi_awsize_o[p]  = 3'd6;
    assign m_axi_awburst_o[p] = 2'd1;
    assign m_axi_awvalid_o[p] = aw_left_q != '0 && writes_out_q < limit_q;
    assign m_axi_wdata_o[p]   = {8{w_count_q, ~w_count_q}};
    assign m_axi_wstrb_o[p]   = strobe_q;
    assign m_axi_wlast_o[p]   = (w_beat_q == 32'd1) != break_last_q;
    assign m_axi_wvalid_o[p]  = w_left_q != '0;
    assign m_axi_bready_o[p]  = 1'b1;
    assign irq_pending[p]     = done_q;

    logic [31:0] sum;
    always_comb begin
      sum = '0;
      for (int unsigned i = 0; i < 16; i++) sum = sum + m_axi_rdata_i[p][32*i+:32];
    end

    always_ff @(posedge clk_i) begin
      now_q        <= now_q + 32'd1;
      reads_out_q  <= reads_out_q + 8'(ar_take) - 8'(r_take && m_axi_rlast_i[p]);
      writes_out_q <= writes_out_q + 8'(aw_take) - 8'(b_take);
      fail_q       <= 1'b0;
      if (ar_take) begin
        ar_left_q   <= ar_left_q - 32'd1;
        read_base_q <= read_base_q + stride_q;
        seen_ar_q   <= 1'b1;
        if (!seen_ar_q) first_ar_q <= now_q;
      end
      if (gap_left_q != '0) gap_left_q <= gap_left_q - 32'd1;
      if (r_take) begin
        r_left_q      <= r_left_q - 32'd1;
        gap_left_q    <= gap_q;
        sum_q         <= sum_q + sum;
        seen_r_q      <= 1'b1;
        read_clocks_q <= now_q - first_ar_q;
        if (!seen_r_q) read_latency_q <= now_q - first_ar_q;
      end
      if (aw_take) begin
        aw_left_q    <= aw_left_q - 32'd1;
        write_base_q <= write_base_q + stride_q;
        seen_aw_q    <= 1'b1;
        if (!seen_aw_q) first_aw_q <= now_q;
      end
      if (w_take) begin
        w_left_q  <= w_left_q - 32'd1;
        w_count_q <= w_count_q + 32'd1;
        w_beat_q  <= w_beat_q == 32'd1 ? beats_q : w_beat_q - 32'd1;
        last_w_q  <= now_q;
      end
      if (b_take) begin
        b_left_q        <= b_left_q - 32'd1;
        write_clocks_q  <= now_q - first_aw_q;
        write_latency_q <= now_q - last_w_q;
      end
      if (r_take && m_axi_rresp_i[p] > worst_q) worst_q <= m_axi_rresp_i[p];
      if (b_take && m_axi_bresp_i[p] > worst_q) worst_q <= m_axi_bresp_i[p];
      if (running_q && r_left_q == '0 && b_left_q == '0) begin
        running_q <= 1'b0;
        done_q    <= 1'b1;
      end
      if (select) begin
        unique case (offset)
          GO: begin
            running_q    <= 1'b1;
            done_q       <= 1'b0;
            ordered_q    <= s_axil_wdata_i[2];
            fail_q       <= s_axil_wdata_i[3];
            break_last_q <= s_axil_wdata_i[4];
            ar_left_q    <= s_axil_wdata_i[0] ? reads_q : '0;
            r_left_q     <= s_axil_wdata_i[0] ? reads_q * beats_q : '0;
            aw_left_q    <= s_axil_wdata_i[1] ? writes_q : '0;
            w_left_q     <= s_axil_wdata_i[1] ? writes_q * beats_q : '0;
            b_left_q     <= s_axil_wdata_i[1] ? writes_q : '0;
            w_beat_q     <= beats_q;
            w_count_q    <= '0;
            gap_left_q   <= '0;
            seen_ar_q    <= 1'b0;
            seen_aw_q    <= 1'b0;
            seen_r_q     <= 1'b0;
            worst_q      <= '0;
            sum_q        <= '0;
          end
          READS:      reads_q <= s_axil_wdata_i;
          WRITES:     writes_q <= s_axil_wdata_i;
          BEATS:      beats_q <= s_axil_wdata_i;
          READ_BASE:  read_base_q <= s_axil_wdata_i;
          WRITE_BASE: write_base_q <= s_axil_wdata_i;
          STRIDE:     stride_q <= s_axil_wdata_i;
          STROBE_LO:  strobe_q[31:0] <= s_axil_wdata_i;
          STROBE_HI:  strobe_q[63:32] <= s_axil_wdata_i;
          READ_GAP:   gap_q <= s_axil_wdata_i;
          LIMIT:      limit_q <= s_axil_wdata_i[7:0];
          default:    ;
        endcase
      end
      if (!rst_ni) begin
        running_q  <= 1'b0;
        done_q     <= 1'b0;
        fail_q     <= 1'b0;
        ordered_q  <= 1'b0;
        gap_left_q <= '0;
        gap_q      <= '0;
        ar_left_q  <= '0;
        aw_left_q  <= '0;
        w_left_q   <= '0;
        r_left_q   <= '0;
        b_left_q   <= '0;
        limit_q    <= 8'd16;
        reads_out_q  <= '0;
        writes_out_q <= '0;
      end
    end

    always_comb begin
      page_known[p] = 1'b1;
      page_data[p]  = '0;
      unique case (s_axil_araddr_i[11:0])
        DONE:          page_data[p] = 32'(done_q);
        READ_CLOCKS:   page_data[p] = read_clocks_q;
        WRITE_CLOCKS:  page_data[p] = write_clocks_q;
        READ_LATENCY:  page_data[p] = read_latency_q;
        WRITE_LATENCY: page_data[p] = write_latency_q;
        WORST:         page_data[p] = 32'(worst_q);
        SUM:           page_data[p] = sum_q;
        default:       page_known[p] = 1'b0;
      endcase
    end

    `JD_ASSERT(Unbroken_A, !fail_q)
    logic unused_port;
    assign unused_port = ^{m_axi_rid_i[p], m_axi_bid_i[p]};
  end
  logic unused;
  assign unused = ^s_axil_wstrb_i;
endmodule : jd_device_bench
