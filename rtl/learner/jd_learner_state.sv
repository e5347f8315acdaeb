// SPDX-License-Identifier: Apache-2.0
//
// The engine's registers from 0x100: the build's geometry, progress and statistics, counters.
//
// Streams  register_*: accesses from the engine's frame, one at a time. All words are read-only.
// Timing   A write is answered in the clock of its request, a read in the next. Counters show an
//          event one clock later.
// Numbers  counters wrap at 2^64.
// Source   jd_learner.rdl
`include "jd_assert.svh"
module jd_learner_state
  import jd_axi_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter int unsigned DP          = 1,      // as jd_learner_top
  parameter int unsigned P           = 16,
  parameter int unsigned OB          = P / 4,
  parameter int unsigned GI          = 8,
  parameter int unsigned LW          = 4,
  parameter int unsigned BMax        = 64,
  parameter int unsigned DMax        = 64,
  parameter int unsigned LMax        = 4,
  parameter int unsigned NetMax      = 6,
  parameter int unsigned StMax       = 64,
  parameter int unsigned WRows       = 1024,
  parameter int unsigned ARows       = 2048,
  parameter bit          ActorCritic = 1'b0,
  parameter int unsigned NTU         = 1
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  register_req_t register_req_i,
  output register_rsp_t register_rsp_o,
  // Progress and statistics.
  input  progress_t     progress_i,
  input  logic [31:0]   td_mean_i,            // of the last step
  input  logic [31:0]   td_max_i,
  // What the counters count.
  input  logic          tensor_busy_i,
  input  logic          stall_data_i,
  input  logic          stall_token_i,
  input  logic          stall_update_i,
  input  logic          stall_room_i
);
  logic [4:0]       count_q;                  // TU_BUSY, STALL_DATA, _TOKEN, _WU, _TDE
  logic [4:0][63:0] counters_q;
  always_ff @(posedge clk_i) begin
    count_q <= {stall_room_i, stall_update_i, stall_token_i, stall_data_i, tensor_busy_i};
    for (int unsigned k = 0; k < 5; k++) begin
      if (!rst_ni)         counters_q[k] <= '0;
      else if (count_q[k]) counters_q[k] <= counters_q[k] + 64'd1;
    end
  end

  jd_learner_regs_pkg::jd_learner__in_t from_hw;
  always_comb begin
    from_hw.CAP0.dp_log2.next         = 4'($clog2(DP));
    from_hw.CAP0.p_log2.next          = 4'($clog2(P));
    from_hw.CAP0.ob_log2.next         = 4'($clog2(OB));
    from_hw.CAP0.gi.next              = 5'(GI);
    from_hw.CAP0.lw_log2.next         = 4'($clog2(LW));
    from_hw.CAP0.ntu.next             = 4'(NTU);
    from_hw.CAP0.actor_critic.next    = ActorCritic;
    from_hw.CAP1.b_max.next           = 16'(BMax);
    from_hw.CAP1.d_max.next           = 16'(DMax);
    from_hw.CAP2.l_max.next           = 8'(LMax);
    from_hw.CAP2.net_max.next         = 8'(NetMax);
    from_hw.CAP2.st_max.next          = 16'(StMax);
    from_hw.CAP3.w_rows.next          = 17'(WRows);
    from_hw.CAP4.a_rows.next          = 17'(ARows);
    from_hw.STEP.value.next           = progress_i.steps;
    from_hw.WEIGHT_VERSION.value.next = progress_i.version;
    from_hw.TD_MEAN.value.next        = td_mean_i;
    from_hw.TD_MAX.value.next         = td_max_i;
    from_hw.TU_BUSY.value.next        = counters_q[0];
    from_hw.STALL_DATA.value.next     = counters_q[1];
    from_hw.STALL_TOKEN.value.next    = counters_q[2];
    from_hw.STALL_WU.value.next       = counters_q[3];
    from_hw.STALL_TDE.value.next      = counters_q[4];
    from_hw.NONFINITE.value.next      = progress_i.nonfinite_count;
    from_hw.NF_WHERE.stage.next       = progress_i.nonfinite_stage;
    from_hw.NF_WHERE.slot.next        = progress_i.nonfinite_sample;
  end

  logic stall_write, stall_read;
  jd_learner_regs u_registers (
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
    .hwif_in              (from_hw)
  );

  `JD_ASSERT_IF(NoStall_A, register_req_i.valid,
                register_req_i.write ? register_rsp_o.write_done && !stall_write : !stall_read)
endmodule : jd_learner_state
