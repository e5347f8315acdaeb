// SPDX-License-Identifier: Apache-2.0
//
// The front of the update lane: changes the leaf of each operation, and keeps the insertion state.
//
// Streams  u_*: operations in, responses out. change_*: updates for the tree, in the clock of their
//          response. Pipes: valid only, no stall.
// Timing   latency F = front_latency() of jd_replay_pkg, one operation per clock. The clock of the
//          response is the operation's order point. A leaf's last Lm+2 changes are bypassed. One of
//          them is written in the clock in which the leaf is read, so the memory's answer to such a
//          read does not matter.
// Numbers  unsigned leaves of LeafW bits; a changed leaf saturates to 0 and 2^LeafW-1.
// Source   thesis 4.4.1 (retrieval, update by difference), 4.2.2 (collision-free insertion).
//          Golden model: models/replay/rmm.py, apply.
`include "jd_assert.svh"
module jd_replay_front
  import jd_replay_pkg::*;
#(
  parameter int unsigned KLog2   = 4,   // log2 of the fan-out, 1..6
  parameter int unsigned NLog2   = 16,  // log2 of the leaves, 2..20
  parameter int unsigned LeafW   = 32,  // bits of a leaf, 8..32
  parameter int unsigned LatLut  = 1,   // read latencies, 1..6
  parameter int unsigned LatBram = 2,
  parameter int unsigned LatUram = 4,
  parameter bit          Ultra   = in_uram(NLog2)   // leaves in UltraRAM
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  // Clear: the rows of leaves one by one, the insertion state with the first.
  input  logic                  clear_i,
  input  logic [NLog2-1:0]      clear_index_i,
  input  logic                  reset_state_i,
  input  logic [INDEX_W:0]      reset_leaves_i,
  input  logic [LeafW-1:0]      reset_pmax_i,
  input  logic                  u_valid_i,
  input  update_request_t       u_request_i,
  output logic                  u_valid_o,
  output update_response_t      u_response_o,
  output logic                  change_valid_o,
  output logic                  change_check_o,  // the same of a CHECK: nothing is changed
  output logic [NLog2-1:0]      change_index_o,
  output logic signed [LeafW:0] change_delta_o,
  output logic [LeafW-1:0]      change_new_o,
  output logic [INDEX_W-1:0]    order_head_o,
  output logic [31:0]           order_moves_o,
  output logic [INDEX_W:0]      leaves_o,
  output logic [INDEX_W:0]      count_o,
  output logic [INDEX_W-1:0]    pointer_o,
  output logic [INDEX_W:0]      reserved_o,
  output logic [31:0]           moves_o,
  output logic [LeafW-1:0]      pmax_o,
  input  logic                  load_count_i,
  input  logic                  load_pointer_i,
  input  logic                  load_pmax_i,
  input  logic [31:0]           load_value_i
);
  localparam int unsigned Lm       = ram_latency(NLog2, LatLut, LatBram, LatUram);
  localparam int unsigned F        = Lm + 2;
  localparam int unsigned FanLog2  = fan_log2(NLog2, KLog2, levels(NLog2, KLog2));
  localparam int unsigned Fan      = 2 ** FanLog2;
  localparam int unsigned RowsLog2 = NLog2 - FanLog2;
  localparam int unsigned RowW     = (RowsLog2 > 0) ? RowsLog2 : 1;
  localparam logic [LeafW-1:0] LEAF_MAX = '1;

  // ---- Acceptance: the leaf, and the insertion state after the operation ----
  function automatic logic [INDEX_W-1:0] wrap(logic [INDEX_W:0] index, logic [INDEX_W:0] leaves);
    return INDEX_W'(index >= leaves ? index - leaves : index);
  endfunction

  // The distance from `index` up to `head`, going round. The two differences are side by side.
  function automatic logic [INDEX_W-1:0] back(logic [INDEX_W-1:0] index, logic [INDEX_W-1:0] head,
                                              logic [INDEX_W-1:0] leaves);
    logic [INDEX_W:0]   straight;
    logic [INDEX_W-1:0] round;
    straight = {1'b0, index} - {1'b0, head};
    round    = index - head + leaves;
    return straight[INDEX_W] ? round : INDEX_W'(straight);
  endfunction

  logic [INDEX_W-1:0] head_q;   // pointer + reserved, modulo N
  logic [INDEX_W-1:0] index;
  logic               inserts, reserves, commits;
  always_comb begin
    inserts  = u_valid_i && u_request_i.op == OpInsert;
    reserves = u_valid_i && u_request_i.op == OpReserve;
    commits  = u_valid_i && u_request_i.op == OpCommit;
    unique case (u_request_i.op)
      OpInsert, OpCommit: index = pointer_o;
      OpReserve:          index = head_q;
      OpNop, OpSample:    index = '0;
      default:            index = u_request_i.index;
    endcase
  end

  // What the host loads into the insertion state; the engine is idle.
  logic               load_head_q;
  logic [INDEX_W:0]   load_sum_q;            // pointer + reserved
  logic [INDEX_W-1:0] load_index;
  assign load_index = INDEX_W'(load_value_i[NLog2-1:0]);
  always_ff @(posedge clk_i) begin
    load_head_q <= rst_ni && load_pointer_i;
    load_sum_q  <= {1'b0, load_index} + reserved_o;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni || reset_state_i) begin
      leaves_o   <= rst_ni ? reset_leaves_i : '0;   // no leaves before the first clear
      count_o    <= '0;
      pointer_o  <= '0;
      reserved_o <= '0;
      moves_o    <= '0;
      head_q     <= '0;
    end else begin
      if (inserts || commits) begin
        pointer_o <= wrap({1'b0, pointer_o} + (INDEX_W + 1)'(1), leaves_o);
        if (count_o != leaves_o) count_o <= count_o + (INDEX_W + 1)'(1);
      end
      if (inserts || reserves) begin
        head_q  <= wrap({1'b0, head_q} + (INDEX_W + 1)'(1), leaves_o);
        moves_o <= moves_o + 32'd1;
      end
      if (reserves)     reserved_o <= reserved_o + (INDEX_W + 1)'(1);
      else if (commits) reserved_o <= reserved_o - (INDEX_W + 1)'(1);
      if (load_count_i) count_o <= (INDEX_W + 1)'(load_value_i[NLog2:0]);
      if (load_pointer_i) pointer_o <= load_index;
      if (load_head_q)    head_q    <= wrap(load_sum_q, leaves_o);
    end
  end

  // ---- Operations: element k is k clocks after acceptance ----
  typedef struct packed {
    logic [TAG_W-1:0]   tag;
    op_e                op;
    logic               use_pmax;
    logic [INDEX_W-1:0] index;
    logic [LeafW:0]     value;      // UPDATE_DELTA: signed; else unsigned
    logic [31:0]        moved;      // UPDATE_SLOT: leaves inserted or reserved since the batch,
    logic [INDEX_W-1:0] distance;   //   and of those the one that is this leaf
  } operation_t;

  logic [F-1:0] valid_q;
  logic [F:0]   valid;
  operation_t   operation_q [1:F];
  assign valid = {valid_q, u_valid_i};

  function automatic logic [LeafW:0] clamp(op_e op, logic [63:0] value);
    logic fits;
    fits = (value[63:LeafW] == '0) || (value[63:LeafW] == '1);
    if (op != OpUpdateDelta) clamp = {1'b0, value[LeafW-1:0]};
    else clamp = fits ? value[LeafW:0] : {value[63], {LeafW{!value[63]}}};
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= valid[F-1:0];
    if (u_valid_i) begin
      operation_q[1] <= '{
        tag: u_request_i.tag, op: u_request_i.op, use_pmax: u_request_i.use_pmax, index: index,
        value: clamp(u_request_i.op, u_request_i.value),
        moved: moves_o - u_request_i.moves,
        distance: back(index, u_request_i.head, INDEX_W'(leaves_o))
      };
    end
    if (valid_q != '0) begin
      for (int unsigned k = 1; k < F; k++) begin
        if (valid_q[k-1]) operation_q[k+1] <= operation_q[k];
      end
    end
  end

  // ---- Leaf values ----
  logic [Fan-1:0][LeafW-1:0] row;
  logic [Fan-1:0]            write_lane;
  logic                      writes_q;   // the operation at F changes its leaf
  logic [LeafW-1:0]          old_q;
  logic signed [LeafW:0]     delta_q;
  logic [LeafW-1:0]          past_q [Lm+1];   // leaf after the operation at clock F+k
  assign write_lane = Fan'(1) << FanLog2'(operation_q[F].index);
  jd_mem_1r1w #(
    .Depth(2 ** RowsLog2), .Lanes(Fan), .LaneW(LeafW), .ReadLatency(Lm), .Ultra(Ultra)
  ) u_leaves (
    .clk_i, .rst_ni,
    .write_en_i  (clear_i || change_valid_o),
    .write_addr_i(clear_i ? RowW'(clear_index_i) : RowW'(operation_q[F].index >> FanLog2)),
    .write_mask_i(clear_i ? '1 : write_lane),
    .write_data_i(clear_i ? '0 : {Fan{past_q[0]}}),
    .read_en_i   (u_valid_i),
    .read_addr_i (RowW'(index >> FanLog2)),
    .read_data_o (row)
  );

  // Clock Lm: the old leaf, from memory or from an operation whose write memory does not show yet.
  // Clock Lm+1: the new one; an operation just before on the same leaf is taken from its result.
  logic [Lm-1:0]      late_valid_q;               // operations at F+1..F+Lm
  logic [Lm:0]        late_valid;                 // F..F+Lm
  logic [INDEX_W-1:0] late_index_q [1:Lm];
  logic [INDEX_W-1:0] late_index [Lm+1];
  logic               near_q;
  logic [LeafW-1:0]   operand_q;
  logic               stale_q;                    // of the operation at F
  logic [LeafW-1:0]   pmax_q;

  assign late_valid    = {late_valid_q, valid_q[F-1]};
  assign late_index[0] = operation_q[F].index;
  for (genvar k = 1; k <= Lm; k++) begin : gen_late
    assign late_index[k] = late_index_q[k];
  end

  // Bit k: the operation at F+k is on the leaf of the one at Lm. Known one clock ahead where there is
  // one between acceptance and Lm.
  logic [Lm:0] same_leaf;
  if (Lm == 1) begin : gen_same
    for (genvar k = 0; k <= Lm; k++) begin : gen_late_same
      assign same_leaf[k] = late_valid[k] && late_index[k] == operation_q[1].index;
    end
  end else begin : gen_same
    always_ff @(posedge clk_i) begin
      same_leaf[0] <= valid[F-1] && operation_q[F-1].index == operation_q[Lm-1].index;
      for (int unsigned k = 1; k <= Lm; k++) begin
        same_leaf[k] <= late_valid[k-1] && late_index[k-1] == operation_q[Lm-1].index;
      end
    end
  end

  logic [LeafW-1:0] pmax_now;
  assign pmax_now = (change_valid_o && past_q[0] > pmax_q) ? past_q[0] : pmax_q;
  assign pmax_o   = pmax_now;

  always_ff @(posedge clk_i) begin
    if (valid[Lm]) begin
      operand_q <= row[FanLog2'(operation_q[Lm].index)];
      for (int unsigned k = 0; k <= Lm; k++) begin   // the youngest wins
        if (same_leaf[Lm-k]) operand_q <= past_q[Lm-k];
      end
      near_q <= valid[Lm+1] && operation_q[Lm+1].index == operation_q[Lm].index;
    end

    if (valid[Lm+1]) begin
      automatic operation_t            now   = operation_q[Lm+1];
      automatic logic [LeafW-1:0]      old   = near_q ? past_q[0] : operand_q;
      automatic logic signed [LeafW+1:0] sum   = $signed({2'b00, old}) +
                                                 (LeafW + 2)'($signed(now.value));
      automatic logic [LeafW-1:0]      leaf  = LeafW'(now.value);
      automatic logic                  stale = now.op == OpUpdateSlot &&
                                               32'(now.distance) < now.moved;
      automatic logic                  reads = now.op inside {OpNop, OpSample, OpRetrieve,
                                                              OpCheck};
      automatic logic                  writes = !reads && !stale;
      automatic logic                  above = !sum[LeafW+1] && sum[LeafW];
      automatic logic signed [LeafW:0] delta;
      if (now.use_pmax) leaf = pmax_now;
      if (now.op inside {OpReserve, OpUpdateDelta}) leaf = '0;
      // The sum and the difference side by side: neither waits for the other.
      delta = $signed({1'b0, leaf}) - $signed({1'b0, old});
      if (now.op == OpUpdateDelta && !sum[LeafW+1]) begin
        leaf  = above ? LEAF_MAX : sum[LeafW-1:0];
        delta = above ? $signed({1'b0, ~old}) : $signed(now.value);
      end
      writes_q  <= writes;
      stale_q   <= stale;
      old_q     <= old;
      delta_q   <= writes ? delta : '0;
      past_q[0] <= writes ? leaf : old;
    end

    if (!rst_ni) late_valid_q <= '0;
    else         late_valid_q <= late_valid[Lm-1:0];
    for (int unsigned k = 1; k <= Lm; k++) begin
      if (late_valid[k-1]) begin
        late_index_q[k] <= late_index[k-1];
        past_q[k]       <= past_q[k-1];
      end
    end

    if (!rst_ni)            pmax_q <= '0;
    else if (reset_state_i) pmax_q <= reset_pmax_i;
    else if (load_pmax_i) pmax_q <= LeafW'(load_value_i);
    else                  pmax_q <= pmax_now;

    // A sample sees the insertions of the slots before its own.
    if (!rst_ni || reset_state_i) begin
      order_head_o  <= '0;
      order_moves_o <= '0;
    end else if (load_head_q) begin
      order_head_o <= wrap(load_sum_q, leaves_o);
    end else if (valid[F] && operation_q[F].op inside {OpInsert, OpReserve}) begin
      order_head_o  <= wrap({1'b0, operation_q[F].index} + (INDEX_W + 1)'(1), leaves_o);
      order_moves_o <= order_moves_o + 32'd1;
    end
  end

  // ---- Order point ----
  assign u_valid_o      = valid_q[F-1];
  assign change_valid_o = valid_q[F-1] && writes_q;
  assign change_check_o = valid_q[F-1] && operation_q[F].op == OpCheck;
  assign change_index_o = NLog2'(operation_q[F].index);
  assign change_delta_o = delta_q;
  assign change_new_o   = past_q[0];
  logic nop;
  assign nop = operation_q[F].op == OpNop;
  always_comb begin
    u_response_o = '{
      tag: operation_q[F].tag, op: operation_q[F].op, stale: stale_q,
      index: operation_q[F].index, priority_: LEAF_MAX_W'(past_q[0]), old: LEAF_MAX_W'(old_q)
    };
    if (nop) begin
      u_response_o.priority_ = '0;
      u_response_o.old       = '0;
    end
  end

  `JD_ASSUME_IF(IndexInRange_M, u_valid_i && u_request_i.op != OpCheck, {1'b0, index} < leaves_o)
  `JD_ASSUME_IF(InsertFree_M, inserts, reserved_o == '0)
  `JD_ASSUME_IF(CommitReserved_M, commits, reserved_o != '0)
  `JD_ASSUME_IF(ReserveFree_M, reserves, reserved_o < leaves_o)
  `JD_ASSUME_IF(NoSample_M, u_valid_i, u_request_i.op != OpSample)
  `JD_ASSUME_IF(ClearAlone_M, clear_i || reset_state_i, valid == '0)
endmodule : jd_replay_front
