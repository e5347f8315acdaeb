// SPDX-License-Identifier: Apache-2.0
//
// The engine's registers from 0x100: the build's geometry, settings, the generator, counters.
//
// Streams  register_*: accesses from the engine's frame, one at a time. Settings are written while
//          the engine is idle, and hold during jobs. next_i: the generator steps.
// Timing   A write is answered in the clock of its request, a read in the next. Counters show an
//          event one clock later. value_o comes two clocks after next_i.
// Numbers  Counters wrap. A core's share of the weights is rounded down.
// Source   jd_sparse.rdl. Golden model: models/sparse/engine.py, read_register.
`include "jd_assert.svh"
module jd_sparse_state
  import jd_axi_pkg::*;
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Cores      = 3,       // as jd_sparse_top
  parameter  int unsigned Banks      = 8,
  parameter  int unsigned Lanes      = 33,
  parameter  int unsigned Slots      = 4,
  parameter  int unsigned Acc        = 64,
  parameter  int unsigned GMax       = 32,
  parameter  int unsigned DMax       = 512,
  parameter  int unsigned LMax       = 8,
  parameter  int unsigned WinMax     = 24,
  parameter  int unsigned WRows      = 4096,
  parameter  int unsigned XRows      = 8192,
  parameter  int unsigned RRows      = 4096,
  parameter  int unsigned GRows      = 1024,
  parameter  int unsigned ARows      = 65536,
  parameter  int unsigned PWords     = 262144,
  parameter  int unsigned BWords     = 2048,
  parameter  int unsigned SWords     = 4096,
  parameter  int unsigned MRows      = 512,
  parameter  int unsigned MaxW       = 128,
  parameter  int unsigned CmpW       = 64,
  parameter  int unsigned HitW       = 4,
  parameter  bit          KeepBv     = 1'b0,
  parameter  int unsigned DrainW     = 4,
  parameter  int unsigned OptLanes   = 6,
  parameter  int unsigned Channels   = 4,
  parameter  int unsigned AddLatency = 4
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  register_req_t                register_req_i,
  output register_rsp_t                register_rsp_o,
  output settings_t                    settings_o,
  // Generator
  input  logic                         next_i,
  output logic [63:0]                  value_o,
  // What happens in this clock
  input  logic [3:0]                   stage_busy_i,
  input  logic [UNITS-1:0]             unit_busy_i,
  input  logic                         busy_i,            // the array multiplies
  input  logic [Cores-1:0][LANE_W+2:0] useful_i,          // lanes that do, of each core
  input  logic                         op_done_i,         // of the array
  input  logic                         nonfinite_i,
  input  logic                         skipped_i,         // updates
  input  logic                         encoded_i,
  input  encoder_clocks_t              encoder_clocks_i,
  input  logic [DIM_W-1:0]             encoded_rows_i,    // of the streamed side
  input  logic                         compressed_i,      // COMP
  input  logic [19:0]                  compressor_clocks_i,
  input  logic                         compressed_row_i,  // in ROW split
  input  logic [18:0]                  weights_i,         // of the layer
  input  logic [Cores-1:0][18:0]       loads_i,           // in ROW split: of each core
  input  logic [15:0]                  ended_i            // instructions
);
  jd_sparse_regs_pkg::jd_sparse__in_t  from_hw;
  jd_sparse_regs_pkg::jd_sparse__out_t to_hw;
  localparam int unsigned AllLanes = Cores * Banks * Lanes;

  // ---- Counters
  logic [3:0][63:0]       stages_q;
  logic [UNITS-1:0][63:0] units_q;
  logic [63:0]            useful_q, lanes_q, ops_q;
  logic [LANE_W+4:0]      useful, useful_q1;
  logic [4:0][31:0]       encoder_q;                      // as OSEL_CLOCKS
  logic [31:0]            hits_q, misses_q, skipped_q;
  logic [Cores-1:0][18:0] load_q;
  logic [38:0]            third;
  assign third = 39'(weights_i) * 39'd349_526;            // a third of 2^20, rounded up
  always_comb begin
    useful = '0;
    for (int unsigned c = 0; c < Cores; c++) useful = useful + (LANE_W + 5)'(useful_i[c]);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      stages_q  <= '0;
      units_q   <= '0;
      useful_q  <= '0;
      useful_q1 <= '0;
      lanes_q   <= '0;
      ops_q     <= '0;
      encoder_q <= '0;
      hits_q    <= '0;
      misses_q  <= '0;
      load_q    <= '0;
      skipped_q <= '0;
    end else begin
      for (int unsigned k = 0; k < 4; k++)     stages_q[k] <= stages_q[k] + 64'(stage_busy_i[k]);
      for (int unsigned k = 0; k < UNITS; k++) units_q[k]  <= units_q[k] + 64'(unit_busy_i[k]);
      useful_q1 <= useful;
      useful_q  <= useful_q + 64'(useful_q1);
      lanes_q   <= lanes_q + (busy_i ? 64'(AllLanes) : '0);
      ops_q     <= ops_q + 64'(op_done_i);
      skipped_q <= skipped_q + 32'(skipped_i);
      if (encoded_i) begin
        encoder_q[3:0] <= {32'(encoder_clocks_i.lists), 32'(encoder_clocks_i.misses),
                           32'(encoder_clocks_i.rows), 32'(encoder_clocks_i.max_index)};
        hits_q         <= 32'(encoded_rows_i) - 32'(encoder_clocks_i.missed);
        misses_q       <= 32'(encoder_clocks_i.tuples);
      end
      if (compressed_i) begin
        encoder_q[4] <= 32'(compressor_clocks_i);
        load_q       <= compressed_row_i ? loads_i
                        : {Cores{(Cores == 3) ? third[38:20] : 19'(weights_i / Cores)}};
      end
    end
  end

  // ---- Generator: writing the last word of its state loads all that were written
  localparam int unsigned SEEDS = 8;
  logic [SEEDS-1:0][31:0] seed_q, seed;
  logic [255:0]           generator;
  logic                   seed_write;
  logic [2:0]             seed_word;
  assign seed_write = register_req_i.valid && register_req_i.write
                      && register_req_i.address >= jd_sparse_map_pkg::SEED_OFFSET
                      && register_req_i.address < jd_sparse_map_pkg::SEED_OFFSET + 12'(4 * SEEDS);
  assign seed_word  = 3'((register_req_i.address - jd_sparse_map_pkg::SEED_OFFSET) >> 2);
  always_comb begin
    seed = seed_q;
    if (seed_write) begin
      seed[seed_word] = (seed_q[seed_word] & ~register_req_i.mask)
                        | (register_req_i.data & register_req_i.mask);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) seed_q <= '0;
    else         seed_q <= seed;
  end
  jd_random_xoshiro u_generator (
    .clk_i, .rst_ni,
    .load_i  (seed_write && seed_word == '1),
    .seed_i  (seed),
    .next_i,
    .value_o,
    .state_o (generator)
  );

  always_comb begin
    from_hw.CAP0.cores.next          = 4'(Cores);
    from_hw.CAP0.banks.next          = 4'(Banks);
    from_hw.CAP0.lanes.next          = 9'(Lanes);
    from_hw.CAP0.slots.next          = 4'(Slots);
    from_hw.CAP0.keep_bv.next        = KeepBv;
    from_hw.CAP1.g_max.next          = 8'(GMax);
    from_hw.CAP1.l_max.next          = 4'(LMax);
    from_hw.CAP1.win_max.next        = 5'(WinMax);
    from_hw.CAP1.acc.next            = 7'(Acc);
    from_hw.CAP2.d_max.next          = 10'(DMax);
    from_hw.CAP3.w_rows.next         = 4'(log2(WRows));
    from_hw.CAP3.x_rows.next         = 4'(log2(XRows));
    from_hw.CAP3.r_rows.next         = 4'(log2(RRows));
    from_hw.CAP3.g_rows.next         = 4'(log2(GRows));
    from_hw.CAP3.a_rows.next         = 5'(log2(ARows));
    from_hw.CAP3.p_words.next        = 5'(log2(PWords));
    from_hw.CAP4.max_w.next          = 4'(log2(MaxW));
    from_hw.CAP4.cmp_w.next          = 4'(log2(CmpW));
    from_hw.CAP4.hit_w.next          = 4'(HitW);
    from_hw.CAP4.drain_w.next        = 4'(DrainW);
    from_hw.CAP4.opt_lanes.next      = 4'(OptLanes);
    from_hw.CAP4.channels.next       = 4'(Channels);
    from_hw.CAP4.add_latency.next    = 4'(AddLatency);
    from_hw.CAP5.b_words.next        = 16'(BWords);
    from_hw.CAP5.s_words.next        = 16'(SWords);
    from_hw.CAP6.m_rows.next         = 16'(MRows);
    for (int unsigned k = 0; k < SEEDS; k++) begin
      from_hw.SEED[k].value.we       = 1'b1;
      from_hw.SEED[k].value.next     = generator[32*k +: 32];
    end
    for (int unsigned k = 0; k < 4; k++)     from_hw.STAGE[k].value.next     = stages_q[k];
    for (int unsigned k = 0; k < UNITS; k++) from_hw.UNIT_BUSY[k].value.next = units_q[k];
    from_hw.USEFUL_MACS.value.next   = useful_q;
    from_hw.LANE_CLOCKS.value.next   = lanes_q;
    from_hw.VPU_OPS.value.next       = ops_q;
    from_hw.HITS.value.next          = hits_q;
    from_hw.MISSES.value.next        = misses_q;
    for (int unsigned k = 0; k < 5; k++)     from_hw.OSEL_CLOCKS[k].value.next = encoder_q[k];
    for (int unsigned k = 0; k < CORES; k++)
      from_hw.CORE_LOAD[k].value.next = (k < Cores) ? 32'(load_q[k % Cores]) : '0;
    from_hw.OVF.value.next           = skipped_q;
    from_hw.NONFINITE.value.next     = 32'(nonfinite_i);
    from_hw.PC.value.next            = 32'(ended_i);
  end
  function automatic int unsigned log2(input int unsigned x);   // rounded down
    return $clog2(x + 1) - 1;
  endfunction
  assign settings_o = '{rate: to_hw.LR.value.value, alpha: to_hw.ALPHA.value.value,
                        one_minus_alpha: to_hw.ONE_MINUS_ALPHA.value.value,
                        eps: to_hw.EPS.value.value, gscale: to_hw.GSCALE.value.value,
                        group_rate: to_hw.LR_GROUP.value.value, inverse: to_hw.INV.value.value,
                        agents: to_hw.AGENTS.value.value, episodes: to_hw.EPISODES.value.value};

  logic stall_write, stall_read;
  jd_sparse_regs u_registers (
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
endmodule : jd_sparse_state
