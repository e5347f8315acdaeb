// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_replay_front: operations take effect in order, one per clock; each sees its leaf as the
// operations before it left it, changes it as its code says, and the difference that goes to the
// tree is the new leaf less the old one, so that the root is the sum of the leaves.
//
// Method       induction. leaf_q is every leaf at the order point, total_q the root as
//              jd_replay_core keeps it.
// Assumptions  the clear is that of jd_replay_core: a sweep with nothing in flight, N in 1..2^NLog2,
//              no operation while it runs. Operations are checked by their user (IndexInRange_M and
//              the other assumptions of the block). Reset at any time.
`include "jd_assert.svh"
module jd_prove_front
  import jd_replay_pkg::*;
#(
  parameter int unsigned KLog2 = 1,
  parameter int unsigned NLog2 = 2,
  parameter int unsigned LeafW = 8,
  parameter bit          Ultra = 1'b0    // the memory does not tell what is being written
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             start_clear_i,
  input logic [INDEX_W:0] clear_leaves_i,
  input logic [LeafW-1:0] clear_pmax_i,
  input logic             u_valid_i,
  input update_request_t  u_request_i
);
  localparam int unsigned Leaves    = 2 ** NLog2;
  localparam int unsigned Fan       = 2 ** KLog2;
  localparam int unsigned Lm        = ram_latency(NLog2, 1, 2, 4);   // 1
  localparam int unsigned F         = Lm + 2;
  localparam int unsigned TotalW    = NLog2 + LeafW;
  localparam int unsigned LastClear = Leaves / Fan - 1;

  // The sweep of jd_replay_core.
  logic             clear_q, cleared_q;
  logic [NLog2-1:0] clear_index_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clear_q   <= 1'b0;
      cleared_q <= 1'b0;
    end else if (clear_q) begin
      clear_q   <= 32'(clear_index_q) != LastClear;
      cleared_q <= 32'(clear_index_q) == LastClear;
    end else if (start_clear_i) begin
      clear_q   <= 1'b1;
      cleared_q <= 1'b0;
    end
    clear_index_q <= clear_q ? clear_index_q + NLog2'(1) : '0;
  end

  logic                  u_valid, change_valid;
  update_response_t      response;
  logic [NLog2-1:0]      change_index;
  logic signed [LeafW:0] change_delta;
  logic [LeafW-1:0]      change_new, pmax;
  logic [INDEX_W-1:0]    order_head, pointer;
  logic [INDEX_W:0]      leaves, count, reserved;
  logic [31:0]           order_moves, moves;
  jd_replay_front #(
    .KLog2(KLog2), .NLog2(NLog2), .LeafW(LeafW), .LatLut(1), .LatBram(2), .LatUram(4),
    .Ultra(Ultra)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i        (clear_q),
    .clear_index_i  (clear_index_q),
    .reset_state_i  (start_clear_i),
    .reset_leaves_i (clear_leaves_i),
    .reset_pmax_i   (clear_pmax_i),
    .u_valid_i,
    .u_request_i,
    .u_valid_o      (u_valid),
    .u_response_o   (response),
    .change_valid_o (change_valid),
    .change_index_o (change_index),
    .change_delta_o (change_delta),
    .change_new_o   (change_new),
    .order_head_o   (order_head),
    .order_moves_o  (order_moves),
    .leaves_o       (leaves),
    .count_o        (count),
    .pointer_o      (pointer),
    .reserved_o     (reserved),
    .moves_o        (moves),
    .pmax_o         (pmax),
    .load_count_i   (1'b0),
    .load_pointer_i (1'b0),
    .load_pmax_i    (1'b0),
    .load_value_i   ('0)
  );

  // ---- Reference
  logic [Leaves-1:0][LeafW-1:0] leaf_q;
  logic [TotalW-1:0]            total_q, sum;
  logic [LeafW-1:0]             pmax_q, old;
  always_comb begin
    sum = '0;
    for (int unsigned i = 0; i < Leaves; i++) sum = sum + TotalW'(leaf_q[i]);
  end
  always_ff @(posedge clk_i) begin
    if (clear_q) begin
      leaf_q  <= '0;
      total_q <= '0;
    end else if (change_valid) begin
      leaf_q[change_index] <= change_new;
      total_q              <= total_q + TotalW'(change_delta);   // as in jd_replay_core
    end
    if (!rst_ni)                                  pmax_q <= '0;
    else if (start_clear_i)                       pmax_q <= clear_pmax_i;
    else if (change_valid && change_new > pmax_q) pmax_q <= change_new;
  end
  assign old = leaf_q[NLog2'(response.index)];

  // The request of the operation at the order point.
  update_request_t request_q [1:F];
  logic [LeafW-1:0] wanted;
  logic signed [65:0] moved;
  always_ff @(posedge clk_i) begin
    request_q[1] <= u_request_i;
    for (int unsigned k = 1; k < F; k++) request_q[k+1] <= request_q[k];
  end
  assign moved = 66'($signed(request_q[F].value)) + $signed({58'd0, old});
  always_comb begin
    wanted = LeafW'(request_q[F].value);
    if (request_q[F].use_pmax)     wanted = pmax_q;
    if (response.op == OpReserve)  wanted = '0;
    if (response.op == OpUpdateDelta) begin
      wanted = (moved < 0) ? '0 : (moved > 66'(2 ** LeafW - 1)) ? '1 : LeafW'(moved);
    end
  end

  `JD_ASSUME_IF(ClearWhenIdle_M, start_clear_i, u_dut.valid == '0 && !clear_q)
  `JD_ASSUME_IF(LeavesInRange_M, start_clear_i,
                clear_leaves_i != '0 && 32'(clear_leaves_i) <= Leaves)
  `JD_ASSUME_IF(NoneWhileClearing_M, u_valid_i, !clear_q && !start_clear_i)
  `JD_ASSUME_IF(PmaxOfInserts_M, u_valid_i && u_request_i.use_pmax,
                u_request_i.op inside {OpInsert, OpCommit})
  `JD_ASSUME_IF(Operation_M, u_valid_i, u_request_i.op <= OpCommit)

  // ---- What is proved
  logic looks;
  assign looks = response.op inside {OpNop, OpRetrieve};
  `JD_ASSERT_IF(OldIsLeaf_A, u_valid && response.op != OpNop, response.old == LEAF_MAX_W'(old))
  `JD_ASSERT_IF(NewIsTold_A, u_valid && response.op != OpNop,
                response.priority_ == LEAF_MAX_W'(change_valid ? change_new : old))
  `JD_ASSERT_IF(ChangesWhatItMust_A, u_valid, change_valid == (!looks && !response.stale))
  `JD_ASSERT_IF(OnlyWithOperation_A, change_valid,
                u_valid && INDEX_W'(change_index) == response.index)
  `JD_ASSERT_IF(AsAsked_A, change_valid, change_new == wanted)
  `JD_ASSERT_IF(Difference_A, change_valid,
                change_delta == $signed({1'b0, change_new}) - $signed({1'b0, old}))
  `JD_ASSERT_IF(StaleIsSlot_A, u_valid && response.stale, response.op == OpUpdateSlot)
  `JD_ASSERT_IF(RootIsSum_A, cleared_q, total_q == sum)
  `JD_ASSERT(Pmax_A, pmax == ((change_valid && change_new > pmax_q) ? change_new : pmax_q))

  // ---- Between input and order point
  `JD_ASSERT_IF(ClearedFirst_A, !cleared_q, u_dut.valid_q == '0 && (clear_q || leaves == '0))
  `JD_ASSERT(LeavesInRange_A, 32'(leaves) <= Leaves)
  `JD_ASSERT_IF(Sweep_A, clear_q, 32'(clear_index_q) <= LastClear && !cleared_q)
  `JD_ASSERT_IF(SweepStarts_A, !clear_q, clear_index_q == '0 || $past(clear_q))
  for (genvar i = 0; i < Leaves; i++) begin : gen_leaf
    `JD_ASSERT_IF(Leaf_A, cleared_q || (clear_q && i / Fan < 32'(clear_index_q)),
                  u_dut.u_leaves.mem[i/Fan][(i%Fan)*LeafW +: LeafW] ==
                  (cleared_q ? leaf_q[i] : '0))
  end
  for (genvar k = 1; k <= F; k++) begin : gen_flight
    `JD_ASSERT_IF(Request_A, u_dut.valid[k], u_dut.operation_q[k].op == request_q[k].op &&
                  u_dut.operation_q[k].use_pmax == request_q[k].use_pmax &&
                  32'(u_dut.operation_q[k].index) < Leaves && request_q[k].op <= OpCommit &&
                  request_q[k].op != OpSample && (!request_q[k].use_pmax ||
                  request_q[k].op inside {OpInsert, OpCommit}))
    `JD_ASSERT_IF(Value_A, u_dut.valid[k] && request_q[k].op != OpUpdateDelta,
                  u_dut.operation_q[k].value == {1'b0, LeafW'(request_q[k].value)})
    `JD_ASSERT_IF(DeltaValue_A, u_dut.valid[k] && request_q[k].op == OpUpdateDelta,
                  u_dut.operation_q[k].value == ($signed(request_q[k].value) > 64'sd255 ? 9'h0FF :
                  $signed(request_q[k].value) < -64'sd256 ? 9'h100 : 9'(request_q[k].value)))
  end
  logic [NLog2-1:0] at_read, at_change;   // leaves of the operations at Lm and Lm+1
  assign at_read   = NLog2'(u_dut.operation_q[Lm].index);
  assign at_change = NLog2'(u_dut.operation_q[Lm+1].index);
  `JD_ASSERT_IF(Read_A, u_dut.valid[Lm],
                (u_dut.late_valid[1] && NLog2'(u_dut.late_index[1]) == at_read ? u_dut.past_q[1]
                 : u_dut.row[KLog2'(at_read)]) == leaf_q[at_read])
  `JD_ASSERT_IF(Near_A, u_dut.valid[Lm+1], u_dut.near_q ==
                (u_dut.valid[F] && NLog2'(u_dut.operation_q[F].index) == at_change))
  `JD_ASSERT_IF(Operand_A, u_dut.valid[Lm+1] && !u_dut.near_q,
                u_dut.operand_q == leaf_q[at_change])
  `JD_ASSERT_IF(Old_A, u_dut.valid[F], u_dut.old_q == leaf_q[NLog2'(u_dut.operation_q[F].index)] &&
                (u_dut.writes_q || u_dut.past_q[0] == u_dut.old_q))
  `JD_ASSERT_IF(Late_A, u_dut.late_valid[1], 32'(u_dut.late_index[1]) < Leaves &&
                u_dut.past_q[1] == leaf_q[NLog2'(u_dut.late_index[1])])
  `JD_ASSERT(LateIsPast_A, cleared_q || u_dut.late_valid == '0)
  `JD_ASSERT(PmaxHeld_A, u_dut.pmax_q == pmax_q)

  SaturatesBehindItsInsert_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (change_valid && response.op == OpUpdateDelta && change_new == '1 && old != '0 &&
       $past(change_valid && response.op == OpInsert && change_new == LeafW'(3)) &&
       response.index == '0));
endmodule : jd_prove_front
