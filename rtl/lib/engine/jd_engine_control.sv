// SPDX-License-Identifier: Apache-2.0
//
// What every engine shares: the common header of its page, rings and completion records, STATUS and
// interrupt, counters, watchdog and soft reset. The engine sees jobs, ends and a few status bits.
//
// Streams  axil_*: the page, AXI4-Lite. engine_*: the engine's own registers (from 0x100). job,
//          end: one of each per ring; a job that was taken owes one end. mem_*: descriptors and
//          records.
// Timing   The engine has at most Jobs jobs of a ring at a time, which end in any order.
//          soft_reset_o lasts 8 clocks or longer.
// Numbers  counters are 64 bits and wrap; job numbers wrap at 2^32.
// Source   docs/shell.md; registers: jd_engine_header.rdl. Golden model:
//          verif/engine_control/model.py.
`include "jd_assert.svh"
module jd_engine_control
  import jd_axi_pkg::*;
  import jd_engine_header_map_pkg::*;
#(
  parameter  int unsigned   Rings    = 1,  // 1..4
  parameter  int unsigned   Jobs     = 1,  // of a ring side by side, power of two 1..16
  parameter  int unsigned   Beats    = 1,  // of a descriptor, power of two 1..4; 1 if Jobs is
  parameter  int unsigned   Ports    = 1,  // memory ports whose beats are counted, 1..8
  parameter  logic [1023:0] IdleOnly = '0, // bit i: word i of the page is written only while idle
  localparam int unsigned   JobW     = Jobs > 1 ? $clog2(Jobs) : 1,
  localparam int unsigned   DescriptorW = 512 * Beats
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [31:0]             id_i,
  input  logic [31:0]             version_i,
  input  logic [63:0]             time_i,              // TIME of the shell
  // The page
  input  axil_req_t               axil_req_i,
  output axil_rsp_t               axil_rsp_o,
  // The engine's registers
  output axil_req_t               engine_req_o,        // addresses: offsets in the page
  input  axil_rsp_t               engine_rsp_i,
  // Memory: descriptors and records
  output axi_req_t                mem_req_o,
  input  axi_rsp_t                mem_rsp_i,
  // Jobs
  output logic [Rings-1:0]        job_valid_o,
  input  logic [Rings-1:0]        job_ready_i,
  output logic [Rings-1:0][DescriptorW-1:0] job_descriptor_o,   // word 0 in the low bits
  output logic [Rings-1:0][31:0]  job_number_o,
  input  logic [Rings-1:0]        end_valid_i,         // its last write has been answered
  output logic [Rings-1:0]        end_ready_o,
  input  logic [Rings-1:0][JobW-1:0] end_job_i,        // low bits of its number; 0 if Jobs is 1
  input  logic [Rings-1:0][7:0]   end_error_i,         // 0 ok
  input  logic [Rings-1:0][15:0]  end_detail_i,
  input  logic [Rings-1:0][31:0]  end_count_i,
  input  logic [Rings-1:0][31:0]  end_info0_i,
  input  logic [Rings-1:0][31:0]  end_info1_i,
  // Status
  output logic                    soft_reset_o,        // level, until quiet_i
  input  logic                    quiet_i,             // nothing in flight in the engine
  input  logic                    error_valid_i,       // an error outside any job
  input  logic [7:0]              error_code_i,
  input  logic                    event_i,             // sets STATUS.event
  input  logic                    busy_i,
  input  logic                    stall_mem_i,
  input  logic                    stall_in_i,
  input  logic                    stall_out_i,
  input  logic                    progress_i,          // a running job got further in this clock
  input  logic [Ports-1:0]        rd_beat_i,           // a beat moved on the engine's port
  input  logic [Ports-1:0]        wr_beat_i,
  output logic [Rings-1:0]        timeout_o,           // level until the ring's job ends
  output logic                    idle_o,
  output logic                    irq_o
);
  if (Rings < 1 || Rings > 4) begin : gen_bad_rings
    $fatal(1, "jd_engine_control: Rings=%0d, want 1..4", Rings);
  end
  if (Jobs == 1 && Beats != 1) begin : gen_bad_beats
    $fatal(1, "jd_engine_control: Beats=%0d, want 1 with one job at a time", Beats);
  end

  localparam int unsigned RingW = Rings > 1 ? $clog2(Rings) : 1;
  localparam logic [3:0] SOFT_RESET_CLOCKS = 4'd8;     // lets the engine's pipelines see it
  localparam logic [31:0] WATCHDOG_CLOCKS = 32'd1 << 24;

  // ---- Registers of the header
  jd_engine_header_regs_pkg::jd_engine_header__in_t from_hw;
  jd_engine_header_regs_pkg::jd_engine_header__out_t to_hw;
  logic header_valid, header_write, header_error;
  logic [7:0] header_address;
  logic [7:2] write_address;
  logic [31:0] header_wdata, header_rdata;
  logic [3:0] header_strb;
  logic [31:0] header_mask;
  logic regs_req, regs_rd_ack, regs_rd_err, regs_wr_ack, regs_wr_err;
  logic regs_stall_wr, regs_stall_rd;
  for (genvar lane = 0; lane < 4; lane++) begin : gen_mask
    assign header_mask[8*lane+:8] = {8{header_strb[lane]}};
  end

  jd_engine_bus #(
    .IdleOnly(IdleOnly)
  ) u_bus (
    .clk_i,
    .rst_ni,
    .idle_i           (idle_o),
    .axil_req_i,
    .axil_rsp_o,
    .engine_req_o,
    .engine_rsp_i,
    .write_address_o  (write_address),
    .header_valid_o   (header_valid),
    .header_write_o   (header_write),
    .header_address_o (header_address),
    .header_data_o    (header_wdata),
    .header_strb_o    (header_strb),
    .header_error_i   (header_error),
    .header_data_i    (header_rdata)
  );

  jd_engine_header_regs u_registers (
    .clk                  (clk_i),
    .rst_n                (rst_ni),
    .s_cpuif_req          (regs_req),
    .s_cpuif_req_is_wr    (header_write),
    .s_cpuif_addr         ({header_address[7:2], 2'b00}),
    .s_cpuif_wr_data      (header_wdata),
    .s_cpuif_wr_biten     (header_mask),
    .s_cpuif_req_stall_wr (regs_stall_wr),
    .s_cpuif_req_stall_rd (regs_stall_rd),
    .s_cpuif_rd_ack       (regs_rd_ack),
    .s_cpuif_rd_err       (regs_rd_err),
    .s_cpuif_rd_data      (header_rdata),
    .s_cpuif_wr_ack       (regs_wr_ack),
    .s_cpuif_wr_err       (regs_wr_err),
    .hwif_in              (from_hw),
    .hwif_out             (to_hw)
  );

  // ---- Writes to ring registers, checked before they reach the registers: in the two clocks
  // before, by an older HEAD. If it moves on in between, the older one never lets more through.
  logic [Rings-1:0][31:0] head, head_q, full_q;
  logic [Rings-1:0] busy_q, beyond_q;     // beyond_q: of what a ring's registers were one clock ago
  logic [Rings-1:0] ring_quiet;           // HEAD = TAIL
  logic is_ring, no_ring;
  logic [1:0] page_ring, write_ring;      // of the four that the page has room for
  logic [RingW-1:0] ring;
  logic [7:0] refusal;                    // 0, or the error that keeps a write from the registers
  logic [Rings-1:0][7:0] refusals;        // of the ring that is written
  logic [Rings-1:0][3:0] fars;
  logic [7:0] refusal_q;
  logic [3:0] far, far_q;                 // TAIL is beyond the ring's room
  logic refused_q;
  assign is_ring = header_address[7];
  assign page_ring = header_address[6:5];
  assign no_ring = is_ring && {30'd0, page_ring} >= Rings;
  assign ring = RingW'(page_ring);
  assign write_ring = write_address[6:5];

  for (genvar r = 0; r < Rings; r++) begin : gen_guard
    logic [39:0] base, cpl;               // of descriptors and records
    logic [12:0] slots;
    assign base  = {to_hw.RING[r].BASE_HI.value.value, to_hw.RING[r].BASE_LO.value.value};
    assign cpl   = {to_hw.RING[r].CPL_HI.value.value, to_hw.RING[r].CPL_LO.value.value};
    assign slots = 13'd1 << to_hw.RING[r].SIZE.value.value;
    always_ff @(posedge clk_i) begin
      beyond_q[r] <= beyond(base, 64'(slots) << (6 + $clog2(Beats))) ||
                     beyond(cpl, 64'(slots) << 5);
      head_q[r] <= head[r];
      busy_q[r] <= to_hw.RING[r].TAIL.value.value != head[r];
      full_q[r] <= 32'hFFFF_FFFF << to_hw.RING[r].SIZE.value.value;
    end
    jd_engine_guard u_guard (
      .clk_i,
      .rst_ni,
      .valid_i   (write_address[7] && write_ring == 2'(r)),
      .offset_i  (write_address[4:2]),
      .data_i    (header_wdata),
      .mask_i    (header_mask),
      .base_lo_i (to_hw.RING[r].BASE_LO.value.value[11:0]),
      .cpl_lo_i  (to_hw.RING[r].CPL_LO.value.value[11:0]),
      .size_i    (to_hw.RING[r].SIZE.value.value),
      .tail_i    (to_hw.RING[r].TAIL.value.value),
      .head_i    (head_q[r]),
      .busy_i    (busy_q[r]),
      .full_i    (full_q[r]),
      .reset_i   (soft_reset_o),
      .beyond_i  (beyond_q[r]),
      .refusal_o (refusals[r]),
      .far_o     (fars[r])
    );
  end
  always_comb begin
    refusal = '0;
    far = '0;
    for (int unsigned r = 0; r < Rings; r++) begin
      refusal = refusal | refusals[r];
      far = far | fars[r];
    end
  end
  always_ff @(posedge clk_i) begin
    far_q <= far;
    refusal_q <= refusal;
    refused_q <= refusal != '0;
  end

  logic refused, doorbell, write_error_q;
  assign refused = header_write && (refused_q || far_q != '0);
  assign regs_req = header_valid && !no_ring && !refused;
  assign header_error = no_ring || (header_write ? write_error_q : regs_rd_err);
  always_ff @(posedge clk_i) write_error_q <= regs_wr_err;
  assign doorbell = regs_req && header_write && is_ring &&
                    header_address[4:2] == RING_TAIL_OFFSET[4:2];

  // ---- Rings
  logic drop;
  logic [Rings-1:0] fetch_valid, fetch_ready, fetched;
  logic [Rings-1:0][39:0] fetch_address;
  logic [DescriptorW-1:0] fetched_data;
  logic [1:0] fetched_resp, recorded_resp;
  logic [Rings-1:0] running, record_valid, record_ready, recorded;
  logic [Rings-1:0][39:0] record_address;
  logic [Rings-1:0][255:0] record_data;
  logic [31:0] recorded_address;
  logic [Rings-1:0][31:0] ended_number;
  logic [Rings-1:0] ended_irq;
  logic [Rings-1:0][7:0] ended_error;
  logic [Rings-1:0][31:0] ended_info0, ended_info1;
  logic [Rings-1:0][63:0] ended_since;
  logic memory_idle;
  logic [Rings-1:0] timeout_q;

  for (genvar r = 0; r < Rings; r++) begin : gen_ring
    if (Jobs == 1) begin : gen_one
      logic unused_job;
      assign unused_job = ^end_job_i[r];
      assign ended_number[r] = head[r];
      jd_engine_ring u_ring (
        .clk_i,
        .rst_ni,
        .time_i,
        .base_i           (gen_guard[r].base),
        .cpl_i            (gen_guard[r].cpl),
        .size_i           (to_hw.RING[r].SIZE.value.value),
        .tail_i           (to_hw.RING[r].TAIL.value.value),
        .head_o           (head[r]),
        .doorbell_i       (doorbell && ring == RingW'(r)),
        .hold_i           (soft_reset_o),
        .drop_i           (drop),
        .fetch_valid_o    (fetch_valid[r]),
        .fetch_ready_i    (fetch_ready[r]),
        .fetch_address_o  (fetch_address[r]),
        .fetched_i        (fetched[r]),
        .fetched_data_i   (fetched_data),
        .fetched_resp_i   (fetched_resp),
        .job_valid_o      (job_valid_o[r]),
        .job_ready_i      (job_ready_i[r]),
        .job_descriptor_o (job_descriptor_o[r]),
        .job_number_o     (job_number_o[r]),
        .running_o        (running[r]),
        .end_valid_i      (end_valid_i[r]),
        .end_ready_o      (end_ready_o[r]),
        .end_error_i      (end_error_i[r]),
        .end_detail_i     (end_detail_i[r]),
        .end_count_i      (end_count_i[r]),
        .end_info0_i      (end_info0_i[r]),
        .end_info1_i      (end_info1_i[r]),
        .record_valid_o   (record_valid[r]),
        .record_ready_i   (record_ready[r]),
        .record_address_o (record_address[r]),
        .record_data_o    (record_data[r]),
        .recorded_i       (recorded[r]),
        .ended_irq_o      (ended_irq[r]),
        .ended_error_o    (ended_error[r]),
        .ended_info0_o    (ended_info0[r]),
        .ended_info1_o    (ended_info1[r]),
        .ended_since_o    (ended_since[r]),
        .quiet_o          (ring_quiet[r])
      );
    end else begin : gen_many
      jd_engine_ring_many #(
        .Jobs  (Jobs),
        .Beats (Beats)
      ) u_ring (
        .clk_i,
        .rst_ni,
        .time_i,
        .base_i           (gen_guard[r].base),
        .cpl_i            (gen_guard[r].cpl),
        .size_i           (to_hw.RING[r].SIZE.value.value),
        .tail_i           (to_hw.RING[r].TAIL.value.value),
        .head_o           (head[r]),
        .doorbell_i       (doorbell && ring == RingW'(r)),
        .hold_i           (soft_reset_o),
        .drop_i           (drop),
        .pause_i          (timeout_q[r]),
        .fetch_valid_o    (fetch_valid[r]),
        .fetch_ready_i    (fetch_ready[r]),
        .fetch_address_o  (fetch_address[r]),
        .fetched_i        (fetched[r]),
        .fetched_data_i   (fetched_data),
        .fetched_resp_i   (fetched_resp),
        .job_valid_o      (job_valid_o[r]),
        .job_ready_i      (job_ready_i[r]),
        .job_descriptor_o (job_descriptor_o[r]),
        .job_number_o     (job_number_o[r]),
        .running_o        (running[r]),
        .end_valid_i      (end_valid_i[r]),
        .end_ready_o      (end_ready_o[r]),
        .end_job_i        (end_job_i[r]),
        .end_error_i      (end_error_i[r]),
        .end_detail_i     (end_detail_i[r]),
        .end_count_i      (end_count_i[r]),
        .end_info0_i      (end_info0_i[r]),
        .end_info1_i      (end_info1_i[r]),
        .record_valid_o   (record_valid[r]),
        .record_ready_i   (record_ready[r]),
        .record_address_o (record_address[r]),
        .record_data_o    (record_data[r]),
        .recorded_i       (recorded[r]),
        .ended_number_o   (ended_number[r]),
        .ended_irq_o      (ended_irq[r]),
        .ended_error_o    (ended_error[r]),
        .ended_info0_o    (ended_info0[r]),
        .ended_info1_o    (ended_info1[r]),
        .ended_since_o    (ended_since[r]),
        .quiet_o          (ring_quiet[r])
      );
    end
  end

  jd_engine_memory #(
    .Rings(Rings),
    .Beats(Beats)
  ) u_memory (
    .clk_i,
    .rst_ni,
    .fetch_valid_i      (fetch_valid),
    .fetch_ready_o      (fetch_ready),
    .fetch_address_i    (fetch_address),
    .fetched_o          (fetched),
    .fetched_data_o     (fetched_data),
    .fetched_resp_o     (fetched_resp),
    .record_valid_i     (record_valid),
    .record_ready_o     (record_ready),
    .record_address_i   (record_address),
    .record_data_i      (record_data),
    .recorded_o         (recorded),
    .recorded_resp_o    (recorded_resp),
    .recorded_address_o (recorded_address),
    .idle_o             (memory_idle),
    .mem_req_o,
    .mem_rsp_i
  );

  // ---- What ended in this clock, and the first failure since it was cleared
  logic ended, ended_failed, failure, clear_failed;
  logic silent;                           // pulse: the memory does not answer
  logic [1:0] failure_ring;
  logic [7:0] failure_code;
  logic [15:0] failure_job;
  logic [31:0] failure_info0, failure_info1;
  logic done;
  logic [63:0] ended_cycles;
  assign ended = recorded != '0;

  always_comb begin
    ended_failed = 1'b0;
    done = 1'b0;
    ended_cycles = '0;
    failure = error_valid_i;
    failure_ring = '0;
    failure_code = error_code_i;
    failure_job = '0;
    failure_info0 = '0;
    failure_info1 = '0;
    if (silent && !error_valid_i) begin
      failure = 1'b1;
      failure_code = E_TIMEOUT;
      for (int unsigned r = Rings; r > 0; r--) begin
        if (!ring_quiet[r-1]) begin
          failure_ring = 2'(r - 1);
          failure_job = head[r-1][15:0];
        end
      end
    end
    if (header_valid && refused) begin
      failure = 1'b1;
      failure_ring = page_ring;
      failure_code = far_q != '0 ? E_RING : refusal_q;
      failure_job = head[ring][15:0];
      failure_info0 = header_wdata;
      failure_info1 = {24'd0, header_address};
    end
    if (ended) begin
      for (int unsigned r = 0; r < Rings; r++) begin
        if (recorded[r]) begin
          ended_failed = ended_error[r] != '0;
          done = ended_irq[r];
          ended_cycles = time_i - ended_since[r];
          if (ended_failed || recorded_resp[1]) begin
            failure = 1'b1;
            failure_ring = 2'(r);
            failure_code = ended_failed ? ended_error[r] : E_BUS_WR;
            failure_job = ended_number[r][15:0];
            failure_info0 = ended_failed ? ended_info0[r] : recorded_address[31:0];
            failure_info1 = ended_failed ? ended_info1[r] : {30'd0, recorded_resp};
          end
        end
      end
    end
  end

  assign clear_failed = regs_req && header_write && header_address == STATUS_OFFSET[7:0] &&
                        header_strb[0] && header_wdata[2];

  logic [1:0] first_ring_q;
  logic [7:0] first_code_q;
  logic [15:0] first_job_q;
  logic [31:0] first_info0_q, first_info1_q, jobs_done_q, jobs_failed_q;
  logic [63:0] cycles_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      first_ring_q <= '0;
      first_code_q <= '0;
      first_job_q <= '0;
      first_info0_q <= '0;
      first_info1_q <= '0;
      jobs_done_q <= '0;
      jobs_failed_q <= '0;
      cycles_q <= '0;
    end else begin
      if (failure && (clear_failed || !to_hw.STATUS.failed.value)) begin
        first_ring_q <= failure_ring;
        first_code_q <= failure_code;
        first_job_q <= failure_job;
        first_info0_q <= failure_info0;
        first_info1_q <= failure_info1;
      end
      if (ended) begin
        cycles_q <= ended_cycles;
        if (ended_failed) jobs_failed_q <= jobs_failed_q + 1;
        else jobs_done_q <= jobs_done_q + 1;
      end
    end
  end

  // ---- Counters that run from hard reset unless frozen; what they count is seen one clock late
  localparam int unsigned BeatW = $clog2(Ports + 1);
  logic [5:0][BeatW-1:0] count_q;
  logic [5:0][63:0] counter_q;
  logic freeze;
  assign freeze = to_hw.CONTROL.freeze.value;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      counter_q <= '0;
      count_q <= '0;
    end else begin
      count_q[0] <= freeze ? '0 : BeatW'(busy_i);
      count_q[1] <= freeze ? '0 : BeatW'(stall_mem_i);
      count_q[2] <= freeze ? '0 : BeatW'(stall_in_i);
      count_q[3] <= freeze ? '0 : BeatW'(stall_out_i);
      count_q[4] <= freeze ? '0 : BeatW'($countones(rd_beat_i));
      count_q[5] <= freeze ? '0 : BeatW'($countones(wr_beat_i));
      for (int unsigned i = 0; i < 6; i++) begin
        if (count_q[i] != '0) counter_q[i] <= counter_q[i] + 64'(count_q[i]);
      end
    end
  end

  // ---- Watchdog. What runs when it strikes is told to end; a job that starts later is not. A ring
  // with several jobs starts none until all that run have ended. If nothing moves for as long again,
  // the memory does not answer, and no record may ever be written: STATUS tells.
  logic [31:0] waited_q, limit;
  logic started_q;                        // a job started in the clock before
  logic warned_q;                         // it struck, and nothing has moved since
  logic waits, moves, strikes;
  logic [Rings-1:0] ending;               // the ring's only job ends
  assign ending = Jobs == 1 ? end_valid_i : '0;
  assign limit = to_hw.WATCHDOG.value.value == '0 ? WATCHDOG_CLOCKS : to_hw.WATCHDOG.value.value;
  assign timeout_o = timeout_q;
  assign waits   = running != '0 || timeout_q != '0 || !memory_idle;
  assign moves   = progress_i || started_q ||
                   (running == '0 && (fetched != '0 || recorded != '0));
  assign strikes = waits && !moves && waited_q + 1 >= limit;
  assign silent  = strikes && warned_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      waited_q <= '0;
      timeout_q <= '0;
      started_q <= 1'b0;
      warned_q <= 1'b0;
    end else begin
      started_q <= (job_valid_o & job_ready_i) != '0;
      timeout_q <= (strikes ? running : timeout_q & running) & ~ending;
      if (moves || strikes) waited_q <= '0;
      else if (waits) waited_q <= waited_q + 1;
      warned_q <= waits && !moves && (strikes || warned_q);
    end
  end

  // ---- Soft reset
  logic [3:0] reset_clocks_q;
  assign soft_reset_o = to_hw.CONTROL.soft_reset.value;
  assign drop = soft_reset_o && reset_clocks_q == SOFT_RESET_CLOCKS - 1 && quiet_i && memory_idle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || drop) reset_clocks_q <= '0;
    else if (soft_reset_o && reset_clocks_q != SOFT_RESET_CLOCKS - 1) begin
      reset_clocks_q <= reset_clocks_q + 1;
    end
  end

  // ---- Status
  assign idle_o = ring_quiet == '1 && memory_idle && quiet_i && !soft_reset_o;
  assign irq_o = to_hw.CONTROL.irq_enable.value &&
                 (to_hw.STATUS.done.value || to_hw.STATUS.failed.value ||
                  to_hw.STATUS.event_seen.value);
  always_comb begin
    from_hw.ID.value.next = id_i;
    {from_hw.VERSION.major.next, from_hw.VERSION.minor.next, from_hw.VERSION.patch.next} =
        version_i;
    from_hw.CONTROL.soft_reset.hwclr = drop;
    from_hw.STATUS.idle.next = idle_o;
    from_hw.STATUS.done.hwset = done;
    from_hw.STATUS.failed.hwset = failure;
    from_hw.STATUS.event_seen.hwset = event_i;
    from_hw.STATUS.ring.next = first_ring_q;
    from_hw.STATUS.code.next = first_code_q;
    from_hw.STATUS.job.next = first_job_q;
    from_hw.JOBS_DONE.value.next = jobs_done_q;
    from_hw.JOBS_FAILED.value.next = jobs_failed_q;
    from_hw.CYCLES.value.next = cycles_q;
    from_hw.BUSY.value.next = counter_q[0];
    from_hw.STALL_MEM.value.next = counter_q[1];
    from_hw.STALL_IN.value.next = counter_q[2];
    from_hw.STALL_OUT.value.next = counter_q[3];
    from_hw.RD_BEATS.value.next = counter_q[4];
    from_hw.WR_BEATS.value.next = counter_q[5];
    from_hw.ERR_INFO0.value.next = first_info0_q;
    from_hw.ERR_INFO1.value.next = first_info1_q;
    for (int unsigned r = 0; r < 4; r++) from_hw.RING[r].HEAD.value.next = '0;
    for (int unsigned r = 0; r < Rings; r++) from_hw.RING[r].HEAD.value.next = head[r];
  end

  `JD_ASSERT_IF(HeaderTakes_A, regs_req, header_write ? regs_wr_ack && !regs_stall_wr
                                                      : !regs_stall_rd)
  `JD_ASSERT_NEXT(HeaderAnswers_A, regs_req && !header_write, regs_rd_ack)
  `JD_ASSERT_IF(OneEnds_A, ended, $onehot(recorded))
  `JD_ASSERT_IF(ResetStopsJobs_A, soft_reset_o, job_valid_o == '0)
  `JD_ASSERT_IF(IdleMeansNoJob_A, idle_o, running == '0)
  // A job is told until it ends, and nobody after it.
  for (genvar r = 0; r < Rings; r++) begin : gen_check
    `JD_ASSERT_NEXT(TimeoutHolds_A, timeout_o[r] && running[r] && !end_valid_i[r], timeout_o[r])
    `JD_ASSERT_NEXT(TimeoutEnds_A, Jobs == 1 && end_valid_i[r], !timeout_o[r])
  end
endmodule : jd_engine_control
