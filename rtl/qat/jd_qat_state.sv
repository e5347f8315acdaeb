// SPDX-License-Identifier: Apache-2.0
//
// The engine's registers from 0x100: the build's geometry, settings, monitors and shifts, counters.
//
// Streams  register_*: accesses from the engine's frame, one at a time. Settings are written while
//          the engine is idle, and hold during jobs.
// Timing   A write is answered in the clock of its request, a read in the next. Counters show an
//          event one clock later.
// Numbers  SAT stops at 2^32 - 1; TILEVEC wraps at 2^64. CYC_* count from job_i on.
// Source   jd_qat.rdl. Golden model: models/qat/engine.py, read_register.
`include "jd_assert.svh"
module jd_qat_state
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw        = 16,      // as jd_qat_top
  parameter  int unsigned N         = 2,
  parameter  int unsigned Slots     = 64,
  parameter  int unsigned ActLines  = 160,
  parameter  int unsigned DelLines  = 80,
  parameter  int unsigned WLines    = 20480,
  parameter  int unsigned MaxDim    = 512,
  parameter  int unsigned MaxLayers = 4,
  parameter  int unsigned AdamLanes = 16,
  parameter  int unsigned TanhLanes = 4,
  parameter  int unsigned BMax      = 4096,
  parameter  bit          Paper     = 1'b0,
  localparam int unsigned OverW     = $clog2(2 * Lw * N + Lw + 1)   // of one clock's saturations
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  register_req_t                   register_req_i,
  output register_rsp_t                   register_rsp_o,
  // Settings
  output logic                            half_o,          // jobs run in half mode
  output logic                            watch_o,         // monitors see activations
  output logic                            sat_event_o,
  output logic                            paper_o,         // the published schedule is wanted
  output logic [3:0]                      noise_o,         // its kind
  output logic [31:0]                     sigma_o,
  output logic [31:0]                     theta_o,
  output logic [31:0]                     c1_o,            // of Adam
  output logic [31:0]                     c2_o,
  output logic [31:0]                     eps_o,
  output logic [24:0]                     tau_o,
  output logic [TENSORS-1:0][SHIFT_W-1:0] shifts_o,
  input  logic                            capture_i,       // half mode, with these shifts
  input  logic [TENSORS-1:0][SHIFT_W-1:0] shifts_i,
  input  logic                            partial_i,       // an update ended early
  output logic                            due_o,           // half mode is, with this timestep,
  output logic                            due_next_o,      // or may be with the one after it
  input  logic                            trained_i,       // a timestep ended well
  // Of the last timestep
  input  logic [31:0]                     count_i,         // vectors
  input  logic [63:0]                     sum_q_i,
  input  logic [63:0]                     sum_td_i,
  // Monitors
  output logic [TENSORS-1:0][31:0]        low_o,
  output logic [TENSORS-1:0][31:0]        high_o,
  input  logic [TENSORS-1:0]              seen_i,
  input  logic [TENSORS-1:0][31:0]        low_i,
  input  logic [TENSORS-1:0][31:0]        high_i,
  // Generator
  input  logic [255:0]                    generator_i,
  input  logic [Lw-1:0][31:0]             ou_i,
  // What the counters count
  input  logic                            job_i,           // one begins
  input  logic                            running_i,       // there is one
  input  logic                            entry_i,         // each core takes an entry
  input  logic                            entry_alone_i,
  input  pass_e                           entry_pass_i,
  input  logic                            load_alone_i,    // one loads for the acting vector alone
  input  logic [STAGES-1:0][OverW-1:0]    over_i           // words that were saturated
);
  jd_qat_regs_pkg::jd_qat__in_t  from_hw;
  jd_qat_regs_pkg::jd_qat__out_t to_hw;

  // ---- Counters
  logic [STAGES-1:0][32:0] saturated_q;         // the top bit: it has stopped
  logic [31:0]      forward_q, backward_q, gradient_q, infer_q, wait_q;
  logic [63:0]      entries_q;
  logic             entry_q, entry_alone_q, load_alone_q, running_q;
  pass_e            pass_q;
  logic [STAGES-1:0][OverW-1:0] over_q;
  always_ff @(posedge clk_i) begin
    entry_q       <= rst_ni && entry_i;
    load_alone_q  <= rst_ni && load_alone_i;
    running_q     <= rst_ni && running_i;
    entry_alone_q <= entry_alone_i;
    pass_q        <= entry_pass_i;
    over_q        <= rst_ni ? over_i : '0;
    if (!rst_ni) begin
      saturated_q <= '0;
      entries_q   <= '0;
    end else begin
      for (int unsigned k = 0; k < STAGES; k++) begin
        if (!saturated_q[k][32]) saturated_q[k] <= saturated_q[k] + 33'(over_q[k]);
      end
      if (entry_q) entries_q <= entries_q + 64'(N);
    end
    if (!rst_ni || job_i) begin
      forward_q  <= '0;
      backward_q <= '0;
      gradient_q <= '0;
      infer_q    <= '0;
      wait_q     <= '0;
    end else if (running_q) begin
      // An inference loads its first lines while the pass before takes its last entries.
      if (load_alone_q) infer_q <= infer_q + 1'b1;
      if (entry_q && !entry_alone_q) begin
        if (pass_q == PassDx)      backward_q <= backward_q + 1'b1;
        else if (pass_q == PassDw) gradient_q <= gradient_q + 1'b1;
        else                       forward_q  <= forward_q + 1'b1;
      end else if (!load_alone_q) begin
        wait_q <= wait_q + 1'b1;
      end
    end
  end

  // Hidden layers of the critic get room: their values grow with the return that the agent reaches.
  logic [TENSORS-1:0][SHIFT_W-1:0] captured;
  always_comb begin
    for (int unsigned k = 0; k < TENSORS; k++) begin
      captured[k] = shifts_i[k];
      if (k > TENSORS / 2) captured[k] = shifts_i[k] + SHIFT_W'(to_hw.CFG.headroom.value);
      if (captured[k] > SHIFT_W'(HALF_W)) captured[k] = SHIFT_W'(HALF_W);
    end
  end

  always_comb begin
    from_hw.CAP0.n_log2.next         = 4'($clog2(N));
    from_hw.CAP0.lw_log2.next        = 4'($clog2(Lw));
    from_hw.CAP0.vc.next             = 8'(Slots);
    from_hw.CAP0.max_layers.next     = 4'(MaxLayers);
    from_hw.CAP0.adam_log2.next      = 4'($clog2(AdamLanes));
    from_hw.CAP0.tanh_log2.next      = 4'($clog2(TanhLanes));
    from_hw.CAP0.paper.next          = Paper;
    from_hw.CAP1.act_lines.next      = 16'(ActLines);
    from_hw.CAP1.del_lines.next      = 16'(DelLines);
    from_hw.CAP2.w_lines.next        = 24'(WLines);
    from_hw.CAP2.accumulator.next    = 8'(ACC_W);
    from_hw.CAP3.max_dim.next        = 16'(MaxDim);
    from_hw.CAP3.b_max.next          = 16'(BMax);
    from_hw.TSTEP.value.we           = trained_i && !to_hw.CFG.hold.value;
    from_hw.TSTEP.value.next         = to_hw.TSTEP.value.value + 1'b1;
    from_hw.MODE.half.we             = capture_i;
    from_hw.MODE.half.next           = 1'b1;
    from_hw.MODE.partial.next        = partial_i;
    from_hw.SUM_Q.value.next         = sum_q_i;
    from_hw.SUM_ABS_TD.value.next    = sum_td_i;
    from_hw.COUNT.value.next         = count_i;
    from_hw.CYC_FW.value.next        = forward_q;
    from_hw.CYC_DX.value.next        = backward_q;
    from_hw.CYC_DW.value.next        = gradient_q;
    from_hw.CYC_INF.value.next       = infer_q;
    from_hw.CYC_WAIT.value.next      = wait_q;
    from_hw.TILEVEC.value.next       = entries_q;
    for (int unsigned k = 0; k < TENSORS; k++) begin
      from_hw.MON[k].MIN.value.we    = seen_i[k];
      from_hw.MON[k].MIN.value.next  = low_i[k];
      from_hw.MON[k].MAX.value.we    = seen_i[k];
      from_hw.MON[k].MAX.value.next  = high_i[k];
      from_hw.SHIFT[k].value.we      = capture_i;
      from_hw.SHIFT[k].value.next    = captured[k];
      from_hw.SAT[k].value.next      = saturated_q[k][32] ? '1 : saturated_q[k][31:0];
      from_hw.RNG[k].value.next      = generator_i[32*k +: 32];
      low_o[k]    = to_hw.MON[k].MIN.value.value;
      high_o[k]   = to_hw.MON[k].MAX.value.value;
      shifts_o[k] = to_hw.SHIFT[k].value.value;
    end
    for (int unsigned k = 0; k < 16; k++) from_hw.OU[k].value.next = k < Lw ? ou_i[k%Lw] : '0;
  end
  assign half_o      = to_hw.MODE.half.value && !to_hw.CFG.force_full.value;
  assign watch_o     = !to_hw.MODE.half.value;
  logic switches;                               // half mode will be
  assign switches    = watch_o && !to_hw.CFG.force_full.value && to_hw.QDELAY.value.value != '1;
  assign due_o       = switches && to_hw.TSTEP.value.value >= to_hw.QDELAY.value.value;
  assign due_next_o  = switches
                       && 33'(to_hw.TSTEP.value.value) + 33'd1 >= 33'(to_hw.QDELAY.value.value);
  assign sat_event_o = to_hw.CFG.sat_event.value;
  assign paper_o     = to_hw.CFG.paper.value;
  assign noise_o     = to_hw.CFG.noise.value;
  assign sigma_o     = to_hw.NOISE_SIGMA.value.value;
  assign theta_o     = to_hw.NOISE_THETA.value.value;
  assign c1_o        = to_hw.B1C.value.value;
  assign c2_o        = to_hw.B2C.value.value;
  assign eps_o       = to_hw.EPS.value.value;
  assign tau_o       = to_hw.TAU.value.value;

  logic stall_write, stall_read;
  jd_qat_regs u_registers (
    .clk                  (clk_i),
    .rst_n                (rst_ni),
    .s_cpuif_req          (register_req_i.valid),
    .s_cpuif_req_is_wr    (register_req_i.write),
    .s_cpuif_addr         (register_req_i.address),
    .s_cpuif_wr_data      (register_req_i.data),
    .s_cpuif_wr_biten     (register_req_i.mask),
    .s_cpuif_req_stall_wr (stall_write),
    .s_cpuif_req_stall_rd (stall_read),
    .s_cpuif_rd_ack       (register_rsp_o.read_done),
    .s_cpuif_rd_err       (register_rsp_o.read_error),
    .s_cpuif_rd_data      (register_rsp_o.read_data),
    .s_cpuif_wr_ack       (register_rsp_o.write_done),
    .s_cpuif_wr_err       (register_rsp_o.write_error),
    .hwif_in              (from_hw),
    .hwif_out             (to_hw)
  );

  `JD_ASSERT_IF(NoStall_A, register_req_i.valid,
                register_req_i.write ? register_rsp_o.write_done && !stall_write : !stall_read)
endmodule : jd_qat_state
