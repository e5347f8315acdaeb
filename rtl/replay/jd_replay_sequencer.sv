// SPDX-License-Identifier: Apache-2.0
//
// Brings the operations of both rings and of TDE into the two lanes of the tree, one per clock
// each. It grants them in turn, looks up the leaves of updates by slot, and turns TD errors into
// priorities.
//
// Streams  train_*, host_*: samples of ring 0 and ring 1. tde_*, op_*: the other operations. A
//          granted operation enters the tree; nothing after the grant ever waits. Nothing is
//          granted while ready_i is low.
// Timing   Samples enter in the clock of the grant; other operations LANE_LATENCY clocks later, in
//          the order of the grants. One of each per clock.
// Numbers  values that are TD errors go through jd_replay_priority; others are unchanged.
// Source   onchip_replay 3.1, figure 5.
`include "jd_assert.svh"
module jd_replay_sequencer
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
#(
  parameter int unsigned LeafW = 32     // bits of a leaf, 8..32
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  ready_i,       // the tree takes operations
  input  config_t               config_i,      // of the converter
  // Samples.
  input  logic                  train_valid_i,
  output logic                  train_ready_o,
  input  sample_request_t       train_request_i,
  input  logic                  host_valid_i,
  output logic                  host_ready_o,
  input  sample_request_t       host_request_i,
  output logic                  s_valid_o,
  output sample_request_t       s_request_o,
  // Other operations.
  input  logic                  tde_valid_i,
  output logic                  tde_ready_o,
  input  lane_op_t              tde_op_i,
  input  logic                  op_valid_i,
  output logic                  op_ready_o,
  input  lane_op_t              op_i,
  output logic                  lookup_en_o,
  output lookup_t               lookup_o,
  input  found_t                found_i,
  output logic                  u_valid_o,
  output update_request_t       u_request_o,
  output logic                  nonfinite_o,    // a TD error was replaced by the largest priority
  output logic                  idle_o
);
  // ---- Grants
  logic host_last_q, op_last_q;
  logic grant_host, grant_op;
  assign grant_host    = host_valid_i && (!train_valid_i || !host_last_q);
  assign train_ready_o = ready_i && !grant_host;
  assign host_ready_o  = ready_i && (!train_valid_i || !host_last_q);
  assign s_valid_o     = ready_i && (train_valid_i || host_valid_i);
  assign s_request_o   = grant_host ? host_request_i : train_request_i;

  assign grant_op    = op_valid_i && (!tde_valid_i || !op_last_q);
  assign tde_ready_o = ready_i && !grant_op;
  assign op_ready_o  = ready_i && (!tde_valid_i || !op_last_q);

  lane_op_t op, op_q;
  logic     valid, valid_q;
  assign valid          = ready_i && (tde_valid_i || op_valid_i);
  assign op             = grant_op ? op_i : tde_op_i;
  assign lookup_en_o    = valid && op.op == OpUpdateSlot;
  assign lookup_o       = '{batch: op.batch, place: op.index[PLACE_W-1:0]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      host_last_q <= 1'b0;
      op_last_q   <= 1'b0;
      valid_q     <= 1'b0;
    end else begin
      if (s_valid_o) host_last_q <= grant_host;
      if (valid)     op_last_q   <= grant_op;
      valid_q <= valid;
    end
    if (valid) op_q <= op;
  end

  // ---- Every operation passes the converter; what it does not need waits beside it.
  typedef struct packed {
    lane_op_t           op;
    logic [INDEX_W-1:0] head;
    logic [31:0]        moves;
  } waiting_t;
  waiting_t in, out;
  logic     converted, nonfinite, waiting_valid, waiting_ready;
  logic [LeafW-1:0] priority_value, smallest_q, largest_q;
  always_comb begin
    in.op    = op_q;
    in.head  = found_i.head;
    in.moves = found_i.moves;
    if (op_q.op == OpUpdateSlot) in.op.index = found_i.index;
  end

  jd_stream_fifo #(
    .Width($bits(waiting_t)),
    .Depth(PRIORITY_LATENCY + 2)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (valid_q),
    .in_ready_o  (waiting_ready),
    .in_data_i   (in),
    .out_valid_o (waiting_valid),
    .out_ready_i (converted),
    .out_data_o  (out),
    .count_o     ()
  );

  jd_replay_priority #(
    .LeafW(LeafW)
  ) u_priority (
    .clk_i,
    .rst_ni,
    .alpha_i         (config_i.alpha),
    .fraction_bits_i (config_i.fraction_bits),
    .eps_i           (config_i.eps),
    .smallest_i      (smallest_q),
    .largest_i       (largest_q),
    .valid_i         (valid_q),
    .error_i         (op_q.value[31:0]),
    .valid_o         (converted),
    .priority_o      (priority_value),
    .nonfinite_o     (nonfinite)
  );

  // The settings hold still while operations are inside.
  always_ff @(posedge clk_i) begin
    smallest_q <= config_i.pmin > config_i.largest ? config_i.largest[LeafW-1:0]
                                                   : config_i.pmin[LeafW-1:0];
    largest_q  <= config_i.largest[LeafW-1:0];
  end

  host_tag_t tag;
  assign tag = '{host: out.op.host, zero: '0, tag: out.op.tag};
  assign u_valid_o   = converted;
  assign nonfinite_o = converted && out.op.fp32 && nonfinite;
  assign u_request_o = '{
    tag:      tag,
    op:       out.op.op,
    use_pmax: out.op.use_pmax,
    index:    out.op.index,
    value:    out.op.fp32 ? 64'(priority_value) : out.op.value,
    head:     out.head,
    moves:    out.moves
  };
  assign idle_o = !valid_q && !waiting_valid;

  `JD_ASSERT_NEXT(HostIsNext_A, ready_i && host_valid_i && !host_ready_o, host_ready_o || !ready_i)
  `JD_ASSERT_NEXT(TrainIsNext_A, ready_i && train_valid_i && !train_ready_o,
                  train_ready_o || !ready_i)
  `JD_ASSERT_NEXT(OpIsNext_A, ready_i && op_valid_i && !op_ready_o, op_ready_o || !ready_i)
  `JD_ASSERT_NEXT(TdeIsNext_A, ready_i && tde_valid_i && !tde_ready_o, tde_ready_o || !ready_i)
  `JD_ASSERT_IF(RoomBesideConverter_A, valid_q, waiting_ready)
  `JD_ASSERT_IF(InStep_A, converted, waiting_valid)
endmodule : jd_replay_sequencer
