// SPDX-License-Identifier: Apache-2.0
//
// The engine's registers from 0x100: the build's geometry, completion queue, settings, counters.
//
// Streams  register_*: accesses from the engine's frame, one at a time. Settings are written while the
//          engine is idle. written_i: responses that are in memory; event_o: CQ_WAKE says so.
// Timing   A write is answered in the clock of its request, a read in the next. Counters show an event one
//          clock later. PORT_BUSY_MAX looks at one port per clock.
// Numbers  counts modulo 2^32. A CQ_HEAD beyond CQ_TAIL is put back (error_o).
// Source   jd_mcts.rdl. Golden model: models/mcts/engine.py, read_register.
`include "jd_assert.svh"
module jd_mcts_state
  import jd_axi_pkg::*;
  import jd_mcts_pkg::*;
#(
  parameter  int unsigned D       = 4,     // as jd_mcts_top
  parameter  int unsigned F       = 3,
  parameter  int unsigned Y       = 8,
  parameter  int unsigned Cap     = 4,
  parameter  int unsigned X       = 10,
  parameter  int unsigned Fr      = 3,
  parameter  int unsigned Fp      = 2,
  parameter  bit          Xbar    = 1'b1,
  parameter  int unsigned WMax    = 4,
  parameter  int unsigned T       = 16,
  parameter  int unsigned Sf      = 2,
  parameter  int unsigned Mu      = 3,
  localparam int unsigned FlightW = $clog2(T + 1),
  localparam int unsigned PortW   = $clog2(D)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,          // soft reset: the queue is empty
  input  logic [31:0]          time_i,
  input  register_req_t        register_req_i,
  output register_rsp_t        register_rsp_o,
  output settings_t            settings_o,
  output logic [39:0]          queue_base_o,
  output logic [4:0]           queue_size_o,
  output logic [31:0]          queue_head_o,
  output logic [31:0]          queue_tail_o,
  output logic                 queue_set_o,      // it starts anew: the next response has number
  output logic [31:0]          queue_number_o,
  input  logic [2:0]           written_i,
  input  logic                 failed_i,         // those were not written
  input  logic                 still_i,          // all responses have been
  output logic                 event_o,
  output logic                 error_o,
  output logic                 peek_root_o,
  output logic [ADDRESS_W-1:0] peek_address_o,
  output logic [8:0]           peek_word_o,
  input  logic [31:0]          peek_data_i,
  // What happens in this clock
  input  logic                 select_i,
  input  logic                 update_i,
  input  logic                 insert_i,
  input  logic                 root_i,           // the root unit takes one of the first two
  input  logic [D:0]           hazard_i,
  input  logic [D-1:0]         port_busy_i,
  input  logic [FlightW-1:0]   flight_i,
  input  logic                 search_i,
  input  logic                 sat_i,
  input  logic                 full_i,
  input  logic                 static_i,         // under that policy
  input  logic                 refused_i
);
  import jd_mcts_map_pkg::CQ_SIZE_OFFSET;
  jd_mcts_regs_pkg::jd_mcts__in_t  from_hw;
  jd_mcts_regs_pkg::jd_mcts__out_t to_hw;
  logic unused_stall_write, unused_stall_read;
  jd_mcts_regs u_registers (
    .clk                  (clk_i),
    .rst_n                (rst_ni),
    .s_cpuif_req          (register_req_i.valid),
    .s_cpuif_req_is_wr    (register_req_i.write),
    .s_cpuif_addr         (register_req_i.address),
    .s_cpuif_wr_data      (register_req_i.data),
    .s_cpuif_wr_biten     (register_req_i.mask),
    .s_cpuif_req_stall_wr (unused_stall_write),
    .s_cpuif_req_stall_rd (unused_stall_read),
    .s_cpuif_rd_ack       (register_rsp_o.read_done),
    .s_cpuif_rd_err       (register_rsp_o.read_error),
    .s_cpuif_rd_data      (register_rsp_o.read_data),
    .s_cpuif_wr_ack       (register_rsp_o.write_done),
    .s_cpuif_wr_err       (register_rsp_o.write_error),
    .hwif_in              (from_hw),
    .hwif_out             (to_hw)
  );

  // ---- Geometry and settings
  assign from_hw.CAP0.d_log2.next   = 3'($clog2(D));
  assign from_hw.CAP0.f.next        = 6'(F);
  assign from_hw.CAP0.fr.next       = 6'(Fr);
  assign from_hw.CAP0.xbar.next     = Xbar;
  assign from_hw.CAP0.cap_log2.next = 4'($clog2(Cap));
  assign from_hw.CAP0.y_log2.next   = 4'($clog2(Y));
  assign from_hw.CAP0.fp.next       = 6'(Fp);
  assign from_hw.CAP1.x.next        = 16'(X);
  assign from_hw.CAP1.w_max.next    = 13'(WMax);
  assign from_hw.CAP2.t_log2.next   = 4'($clog2(T));
  assign from_hw.CAP2.mu.next       = 6'(Mu);
  assign from_hw.CAP2.sf.next       = 8'(Sf);
  assign settings_o = '{puct: to_hw.MODE.puct.value, first: to_hw.MODE.first.value,
                        f_act: to_hw.F_ACT.value.value, d_act: to_hw.D_ACT.value.value,
                        vl: to_hw.VL.value.value, fpu: to_hw.FPU.value.value,
                        policy: to_hw.POLICY.value.value};
  assign peek_root_o    = to_hw.PEEK_ADDR.root.value;
  assign peek_address_o = to_hw.PEEK_ADDR.entry.value;
  assign peek_word_o    = to_hw.PEEK_WORD.value.value;
  assign from_hw.PEEK_DATA.value.next = peek_data_i;

  // ---- Completion queue
  logic [31:0] head_q, tail_q, wrote, waiting, room, wake;
  logic        new_size, broken_q;
  assign queue_base_o = {to_hw.CQ_BASE_HI.value.value, to_hw.CQ_BASE_LO.value.value};
  assign queue_size_o = to_hw.CQ_SIZE.value.value;
  assign queue_head_o = head_q;
  assign queue_tail_o = tail_q;
  assign new_size = register_req_i.valid && register_req_i.write
                    && register_req_i.address == CQ_SIZE_OFFSET;
  assign queue_set_o    = new_size || clear_i || (broken_q && still_i);
  assign queue_number_o = new_size ? '0 : tail_q;
  assign wrote   = to_hw.CQ_HEAD.value.value;
  assign room    = tail_q - head_q;
  assign error_o = wrote != head_q && wrote - head_q > room && !clear_i && !new_size;
  assign waiting = room + 32'(written_i);
  assign wake    = to_hw.CQ_WAKE.value.value;
  assign event_o = written_i != '0 && !failed_i && !broken_q && wake != '0 && waiting >= wake;
  assign from_hw.CQ_HEAD.value.we   = error_o || clear_i || new_size;
  assign from_hw.CQ_HEAD.value.next = new_size ? '0 : clear_i ? tail_q : head_q;
  assign from_hw.CQ_TAIL.value.next = tail_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || new_size) begin
      head_q   <= '0;
      tail_q   <= '0;
      broken_q <= 1'b0;
    end else begin
      if (clear_i)       head_q <= tail_q;
      else if (!error_o) head_q <= wrote;
      // After a write that failed, later responses are lost to the host, until no write is on its way.
      if (!failed_i && !broken_q && !clear_i) tail_q <= tail_q + 32'(written_i);
      broken_q <= !queue_set_o && (broken_q || (failed_i && written_i != '0));
    end
  end

  // ---- Counters
  localparam int unsigned COUNTERS = 6;
  logic                      reset_counters, rooted_q, sat_q, full_q, static_q;
  logic [COUNTERS-1:0][31:0] counts_q;
  logic [31:0]               first_q, last_q, most_q, busiest_q;
  logic [D-1:0][31:0]        busy_q;
  logic [PortW-1:0]          look_q;
  logic [6:0]                hazards;
  assign reset_counters = to_hw.STAT_CLEAR.value.swmod;
  always_comb begin
    hazards = '0;
    for (int unsigned k = 0; k <= D; k++) hazards = hazards + 7'(hazard_i[k]);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_counters) begin
      counts_q  <= '0;
      busy_q    <= '0;
      busiest_q <= '0;
      first_q   <= '0;
      last_q    <= '0;
      most_q    <= '0;
      rooted_q  <= 1'b0;
      sat_q     <= 1'b0;
      full_q    <= 1'b0;
      static_q  <= 1'b0;
    end else begin
      counts_q[0] <= counts_q[0] + 32'(select_i);
      counts_q[1] <= counts_q[1] + 32'(update_i);
      counts_q[2] <= counts_q[2] + 32'(insert_i);
      counts_q[3] <= counts_q[3] + 32'(hazards);
      counts_q[4] <= counts_q[4] + 32'(search_i);
      counts_q[5] <= counts_q[5] + 32'(refused_i);
      for (int unsigned k = 0; k < D; k++) busy_q[k] <= busy_q[k] + 32'(port_busy_i[k]);
      if (busy_q[look_q] > busiest_q) busiest_q <= busy_q[look_q];
      if (32'(flight_i) > most_q) most_q <= 32'(flight_i);
      if (root_i) begin
        rooted_q <= 1'b1;
        last_q   <= time_i;
        if (!rooted_q) first_q <= time_i;
      end
      sat_q    <= sat_q || sat_i;
      full_q   <= full_q || (full_i && !static_i);
      static_q <= static_q || (full_i && static_i);
    end
    if (!rst_ni) look_q <= '0;
    else         look_q <= look_q + 1'b1;
  end
  assign from_hw.N_SEL.value.next         = counts_q[0];
  assign from_hw.N_UPD.value.next         = counts_q[1];
  assign from_hw.N_INS.value.next         = counts_q[2];
  assign from_hw.HAZARD.value.next        = counts_q[3];
  assign from_hw.SEARCHES.value.next      = counts_q[4];
  assign from_hw.N_REFUSED.value.next     = counts_q[5];
  assign from_hw.ROOT_FIRST.value.next    = first_q;
  assign from_hw.ROOT_LAST.value.next     = last_q;
  assign from_hw.MAX_FLIGHT.value.next    = most_q;
  assign from_hw.PORT_BUSY_MAX.value.next = busiest_q;
  assign from_hw.STICKY.sat.next          = sat_q;
  assign from_hw.STICKY.full.next         = full_q;
  assign from_hw.STICKY.static_full.next  = static_q;
  logic unused;
  assign unused = ^{unused_stall_write, unused_stall_read,
                    to_hw.STAT_CLEAR.value.value, queue_tail_o};
endmodule : jd_mcts_state
