// SPDX-License-Identifier: Apache-2.0
//
// The engine's registers from 0x100: configuration, the tree's state and statistics.
//
// Streams  register_*: accesses from the engine's frame, one at a time. The frame refuses writes of
//          idle-only words while the engine is busy.
// Timing   A write is answered in the clock of its request, a read in the next. A write of the
//          tree's state reaches the tree one clock after it reached the register.
// Numbers  statistics wrap at 2^64 or 2^32.
// Source   jd_replay.rdl
`include "jd_assert.svh"
module jd_replay_state
  import jd_axi_pkg::*;
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
#(
  parameter int unsigned KLog2     = 4,   // as jd_replay_top
  parameter int unsigned NLog2     = 16,
  parameter int unsigned LeafW     = 32,
  parameter int unsigned BatchLog2 = 9,
  parameter bit          Sequential = 1'b0
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  register_req_t      register_req_i,
  output register_rsp_t      register_rsp_o,
  // Configuration.
  output config_t            config_o,
  output logic [31:0]        beta_o,
  input  logic               beta_set_i,
  input  logic [31:0]        beta_i,
  input  logic               beta_step_i,       // add DBETA, up to 1.0
  output logic               acknowledge_o,     // FETCH_ACK was written
  // State of the tree.
  output tree_load_t         load_o,
  input  tree_state_t        tree_i,
  // Statistics.
  input  logic               batch_i,           // pulse: a batch of batch_size_i was delivered
  input  logic [SLOT_W:0]    batch_size_i,
  input  logic               sampled_i,         // pulse: one sample of ring 1
  input  logic               duplicate_i,
  input  logic               updated_i,         // pulse: an operation of the update lane
  input  update_response_t   update_response_i,
  input  logic               nonfinite_i
);
  jd_replay_regs_pkg::jd_replay__in_t from_hw;
  jd_replay_regs_pkg::jd_replay__out_t to_hw;

  // ---- The access in hand
  logic        request, write;
  logic [11:0] address;
  logic [31:0] write_data;
  logic        stall_write, stall_read;
  assign request    = register_req_i.valid;
  assign write      = register_req_i.write;
  assign address    = register_req_i.address;
  assign write_data = register_req_i.data;
  jd_replay_regs u_registers (
    .clk                  (clk_i),
    .rst_n                (rst_ni),
    .s_cpuif_req          (request),
    .s_cpuif_req_is_wr    (write),
    .s_cpuif_addr         (address),
    .s_cpuif_wr_data      (write_data),
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

  // ---- Configuration
  localparam logic [31:0] LEAF_LARGEST = 32'((64'd1 << LeafW) - 64'd1);
  localparam logic [31:0] BETA_ONE = 32'd1 << 30;
  logic [31:0] pclip;
  assign pclip         = to_hw.CFG_PCLIP.value.value;
  assign beta_o        = to_hw.CFG_BETA.value.value;
  assign acknowledge_o = to_hw.FETCH_ACK.any.swmod;
  assign config_o = '{
    leaves:        to_hw.CFG_N.value.value,
    pinit:         to_hw.CFG_PINIT.value.value,
    pmin:          to_hw.CFG_PMIN.value.value,
    largest:       (64'(pclip) >> LeafW) != '0 ? LEAF_LARGEST : pclip,
    eps:           to_hw.CFG_EPS.value.value,
    alpha:         to_hw.CFG_PRIO.alpha.value,
    fraction_bits: to_hw.CFG_PRIO.pf.value,
    relaxed:       to_hw.CFG_PRIO.relaxed.value,
    no_fetch:      to_hw.CFG_PRIO.no_fetch.value
  };

  logic [32:0] beta_next;
  assign beta_next = {1'b0, beta_o} + {1'b0, to_hw.CFG_DBETA.value.value};

  // ---- State: a word that the host writes goes to the tree in the next clock.
  logic         count_q, pointer_q, pmax_q;
  logic [7:0]   seed_q, seed_written;
  logic [255:0] seed;
  always_comb begin
    for (int unsigned word = 0; word < 8; word++) begin
      seed_written[word] = to_hw.SEED[word].value.swmod;
      seed[32*word+:32]  = seed_q[word] ? to_hw.SEED[word].value.value
                                        : tree_i.seed[32*word+:32];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {count_q, pointer_q, pmax_q} <= '0;
      seed_q <= '0;
    end else begin
      count_q   <= to_hw.CNT.value.swmod;
      pointer_q <= to_hw.WP.value.swmod;
      pmax_q    <= to_hw.PMAX.value.swmod;
      seed_q    <= seed_written;
    end
  end
  assign load_o = '{
    count:      count_q,
    pointer:    pointer_q,
    pmax:       pmax_q,
    value:      count_q ? to_hw.CNT.value.value :
                pointer_q ? to_hw.WP.value.value : to_hw.PMAX.value.value,
    seed:       seed_q != '0,
    seed_value: seed
  };

  // ---- Statistics
  logic [63:0] samples_q, updates_q, inserts_q;
  logic [31:0] stale_q, nonfinite_q, duplicates_q;
  logic [SLOT_W:0] delivered_q;        // samples of the batch in the clock before
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      samples_q    <= '0;
      updates_q    <= '0;
      inserts_q    <= '0;
      stale_q      <= '0;
      nonfinite_q  <= '0;
      duplicates_q <= '0;
      delivered_q  <= '0;
    end else begin
      delivered_q <= batch_i ? batch_size_i : '0;
      samples_q   <= samples_q + 64'(delivered_q) + 64'(sampled_i);
      if (updated_i) begin
        if (update_response_i.stale) stale_q <= stale_q + 1;
        else if (update_response_i.op inside {OpUpdate, OpUpdateDelta, OpUpdateSlot}) begin
          updates_q <= updates_q + 1;
        end
        if (update_response_i.op inside {OpInsert, OpCommit}) inserts_q <= inserts_q + 1;
      end
      if (nonfinite_i) nonfinite_q <= nonfinite_q + 1;
      if (duplicate_i) duplicates_q <= duplicates_q + 1;
    end
  end

  always_comb begin
    from_hw.CAP_GEOM.k_log2.next     = 3'(KLog2);
    from_hw.CAP_GEOM.levels.next     = 5'(levels(NLog2, KLog2));
    from_hw.CAP_GEOM.n_log2.next     = 5'(NLog2);
    from_hw.CAP_GEOM.leaf_width.next = 6'(LeafW);
    from_hw.CAP_GEOM.mode.next       = Sequential;
    from_hw.CAP_GEOM.batch_log2.next = 4'(BatchLog2);
    from_hw.CFG_BETA.value.next      = beta_set_i ? beta_i :
                                       beta_next[32:30] != '0 ? BETA_ONE : beta_next[31:0];
    from_hw.CFG_BETA.value.we        = beta_set_i || beta_step_i;
    for (int unsigned word = 0; word < 8; word++) begin
      from_hw.SEED[word].value.next = tree_i.seed[32*word+:32];
      from_hw.SEED[word].value.we   = seed_q == '0;
    end
    from_hw.CNT.value.next        = 32'(tree_i.count);
    from_hw.CNT.value.we          = !count_q;
    from_hw.WP.value.next         = 32'(tree_i.pointer);
    from_hw.WP.value.we           = !pointer_q;
    from_hw.RESV.value.next       = 32'(tree_i.reserved);
    from_hw.PMAX.value.next       = tree_i.pmax;
    from_hw.PMAX.value.we         = !pmax_q;
    from_hw.ROOT.value.next       = 64'(tree_i.total);
    from_hw.N_SAMPLE.value.next   = samples_q;
    from_hw.N_UPDATE.value.next   = updates_q;
    from_hw.N_INSERT.value.next   = inserts_q;
    from_hw.STALE.value.next      = stale_q;
    from_hw.NONFINITE.value.next  = nonfinite_q;
    from_hw.DUP.value.next        = duplicates_q;
  end

  `JD_ASSERT_IF(NoStall_A, request,
                write ? register_rsp_o.write_done && !stall_write : !stall_read)
  `JD_ASSUME_IF(OneStateWrite_M, seed_q != '0, $onehot(seed_q))
endmodule : jd_replay_state
