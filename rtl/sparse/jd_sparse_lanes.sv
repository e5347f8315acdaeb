// SPDX-License-Identifier: Apache-2.0
//
// The lanes of a bank: each takes the operand of its slot, if the slot still has ranks.
//
// Streams  slots_i, x_i, w_i, accumulator_i: a multiply-add of all lanes whose slot has the rank.
//          A pipe: valid only, no stall. read_*: the accumulators of DrainW lanes, in the same
//          clock; lanes after the last one read as lane 0. chunk_*: the same for OptLanes lanes.
// Timing   A multiply-add per clock; its sum is in the accumulator LATENCY + 1 clocks later, with
//          LATENCY = 1 + MulLatency + AddLatency.
// Numbers  FP16, one chain an accumulator, from +0 at first_i. At first_i lanes of a slot without
//          ranks get +0.
// Source   LearningGroup III-C, figure 7. Golden model: models/sparse/layer.py, chain.
`include "jd_assert.svh"
module jd_sparse_lanes
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Lanes      = 33,   // 2..264
  parameter  int unsigned Slots      = 4,    // 2, 4
  parameter  int unsigned Acc        = 64,   // 16, 32, 64
  parameter  int unsigned DrainW     = 4,    // lanes that are read: 1, 2, 4
  parameter  int unsigned MulLatency = 3,    // 1..4
  parameter  int unsigned OptLanes   = 6,    // lanes of a chunk, 1..8
  parameter  int unsigned AddLatency = 4,    // 1..4
  localparam int unsigned AccW       = $clog2(Acc),
  localparam int unsigned RowW       = AccW - 2,
  localparam int unsigned Chunks     = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned ChunkW     = (Chunks > 1) ? $clog2(Chunks) : 1,
  localparam int unsigned SlotW      = $clog2(Slots)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           valid_i,
  input  logic                           first_i,
  input  lane_slots_t                    slots_i,
  input  logic [AccW-1:0]                accumulator_i,
  input  logic [Lanes-1:0]               lane_skips_i,   // lanes whose sums are +0
  input  logic [Slots-1:0][HALF_W-1:0]   x_i,
  input  logic [Lanes-1:0][HALF_W-1:0]   w_i,
  output logic [LANE_W-1:0]              useful_o,       // lanes of the last clock that multiply
  input  logic [LANE_W-1:0]              read_lane_i,
  input  logic [RowW-1:0]                read_row_i,
  output logic [DrainW-1:0][TUPLE_W-1:0] read_data_o,
  input  logic [ChunkW-1:0]              chunk_i,
  output logic [OptLanes-1:0][TUPLE_W-1:0] chunk_data_o
);
  // ---- Which slot a lane belongs to, and whether it has the rank
  logic [Lanes-1:0][SlotW-1:0]  select_d, select_q;
  logic [Lanes-1:0]             enable_d, enable_q, zero_d, zero_q;
  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      select_d[i] = '0;
      for (int unsigned s = 1; s < Slots; s++) begin
        if (LANE_W'(i) >= slots_i.ends[s-1]) select_d[i] = SlotW'(s);
      end
      zero_d[i]   = slots_i.none[select_d[i]] || lane_skips_i[i];
      enable_d[i] = valid_i && LANE_W'(i) < slots_i.ends[Slots-1]
                    && ((slots_i.has[select_d[i]] && !lane_skips_i[i]) || (first_i && zero_d[i]));
    end
  end

  // ---- Operands; which accumulator, as far as it is needed
  logic [Slots-1:0][HALF_W-1:0] x_q;
  logic [Lanes-1:0][HALF_W-1:0] w_q;
  always_ff @(posedge clk_i) begin
    enable_q <= rst_ni ? enable_d : '0;
    if (valid_i) begin
      select_q <= select_d;
      zero_q   <= zero_d;
      x_q      <= x_i;
      w_q      <= w_i;
      useful_o <= slots_i.useful;
    end
    if (!rst_ni || !valid_i) useful_o <= '0;
  end
  localparam int unsigned ControlW = AccW + 1;
  logic [AccW-1:0] source, sink;
  logic            first;
  jd_delay #(.Width (ControlW), .Cycles (1 + MulLatency), .Clear (1'b0)) u_source (
    .clk_i, .rst_ni, .in_i ({first_i, accumulator_i}), .out_o ({first, source})
  );
  jd_delay #(.Width (AccW), .Cycles (AddLatency), .Clear (1'b0)) u_sink (
    .clk_i, .rst_ni, .in_i (source), .out_o (sink)
  );

  logic [Lanes-1:0][TUPLE_W-1:0] tuples;
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    jd_sparse_vpu #(
      .Slots (Slots), .Acc (Acc), .MulLatency (MulLatency), .AddLatency (AddLatency)
    ) u_vpu (
      .clk_i, .rst_ni,
      .valid_i       (enable_q[i]),
      .zero_i        (zero_q[i]),
      .select_i      (select_q[i]),
      .x_i           (x_q),
      .w_i           (w_q[i]),
      .accumulator_i (source),
      .first_i       (first),
      .sink_i        (sink),
      .read_row_i,
      .read_data_o   (tuples[i])
    );
  end
  always_comb begin
    for (int unsigned k = 0; k < DrainW; k++) begin
      read_data_o[k] = tuples[32'(read_lane_i) + k < Lanes ? 32'(read_lane_i) + k : 0];
    end
    for (int unsigned k = 0; k < OptLanes; k++) begin
      chunk_data_o[k] = tuples[32'(chunk_i) * OptLanes + k < Lanes
                               ? 32'(chunk_i) * OptLanes + k : 0];
    end
  end

  // An accumulator is not used again before its sum is there.
  logic [AddLatency:1]           used_q;
  logic [AddLatency:1][AccW-1:0] users_q;
  logic                          early;
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 1; k <= AddLatency; k++) begin
      used_q[k]  <= rst_ni && (k == 1 ? valid_i : used_q[k-1]);
      users_q[k] <= k == 1 ? accumulator_i : users_q[k-1];
    end
  end
  always_comb begin
    early = 1'b0;
    for (int unsigned k = 1; k < AddLatency; k++) begin
      if (used_q[k] && users_q[k] == accumulator_i) early = 1'b1;
    end
  end
  `JD_ASSUME_IF(NotEarly_M, valid_i && !first_i, !early)
  `JD_ASSUME_IF(LanesFit_M, valid_i, 32'(slots_i.ends[Slots-1]) <= Lanes)
endmodule : jd_sparse_lanes
