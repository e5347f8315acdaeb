// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_replay_level with its jd_replay_row_compare: whatever updates come, one per clock, every
// node is the sum of the leaves below it; a sample sees exactly the updates of the slots before its
// own, and chooses the first child whose running sum reaches the target, whose value is never 0. The
// updates go on to the next level as they came, so all levels agree: a node is the sum of its
// children. A check changes nothing, and finds both copies of its node to be the same.
//
// Method       induction. leaf_q is every leaf and known_q every node of the level in the order of
//              arrival, written_q and rows_q what the memories must hold now; the updates in
//              flight lie between. With Ultra a memory does not tell what is being written.
// Assumptions  the tree is cleared first, row by row, with nothing in flight (ClearWhenIdle_M and
//              NoneWhileClearing_M of jd_replay_core). An update's difference is its new leaf less
//              the old one, which jd_prove_front proves. A sample's target is 1..the sum of its row,
//              which is what the level above hands down: RestInChild_A here, with the sum of the
//              same leaves on both levels. Reset at any time.
`include "jd_assert.svh"
module jd_prove_tree_level
  import jd_replay_pkg::*;
#(
  parameter  int unsigned Level = 2,
  parameter  int unsigned KLog2 = 1,
  parameter  int unsigned NLog2 = 3,
  parameter  int unsigned LeafW = 8,
  parameter  bit          Ultra = 1'b0,
  localparam int unsigned NodesLog2 = nodes_log2(NLog2, KLog2, Level),
  localparam int unsigned FanLog2   = fan_log2(NLog2, KLog2, Level),
  localparam int unsigned NodeW     = node_w(NLog2, KLog2, LeafW, Level),
  localparam int unsigned TargetW   = NodeW + FanLog2
) (
  input logic                  clk_i,
  input logic                  rst_ni,
  input logic                  start_clear_i,
  input logic                  s_valid_i,
  input logic [NLog2-1:0]      s_index_i,
  input logic [TargetW-1:0]    s_target_i,
  input logic                  u_valid_i,
  input logic                  u_check_i,
  input logic [NLog2-1:0]      u_index_i,
  input logic signed [LeafW:0] u_delta_i,
  input logic [LeafW-1:0]      u_new_i
);
  localparam bit          IsLeaf   = Level == levels(NLog2, KLog2);
  localparam bit          IsTop    = Level == 1;
  localparam int unsigned Fan      = 2 ** FanLog2;
  localparam int unsigned Nodes    = 2 ** NodesLog2;
  localparam int unsigned Lm       = read_latency(NLog2, KLog2, Level, 1, 2, 4);
  localparam int unsigned Lu       = write_latency(NLog2, KLog2, Level, 1, 2, 4);
  localparam int unsigned Total    = level_latency(NLog2, KLog2, Level, 1, 2, 4);
  localparam int unsigned Lw       = Ultra ? Lu + 1 : Lu;
  localparam int unsigned LastClear = 2 ** (NLog2 - KLog2) - 1;

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

  logic               s_valid, u_valid, u_check;
  logic [NLog2-1:0]   s_index, u_index;
  logic [NodeW-1:0]   s_rest, s_value;
  logic signed [LeafW:0] u_delta;
  logic [LeafW-1:0]   u_new;
  jd_replay_level #(
    .Level(Level), .KLog2(KLog2), .NLog2(NLog2), .LeafW(LeafW), .LatLut(1), .LatBram(2),
    .LatUram(4), .Ultra(Ultra)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i       (clear_q),
    .clear_index_i (clear_index_q),
    .s_valid_i,
    .s_index_i,
    .s_target_i,
    .s_valid_o     (s_valid),
    .s_index_o     (s_index),
    .s_target_o    (s_rest),
    .s_value_o     (s_value),
    .check_start_i (1'b0),
    .check_bad_o   (),
    .check_node_o  (),
    .u_valid_i,
    .u_check_i,
    .u_index_i,
    .u_delta_i,
    .u_new_i,
    .u_valid_o     (u_valid),
    .u_check_o     (u_check),
    .u_index_o     (u_index),
    .u_delta_o     (u_delta),
    .u_new_o       (u_new)
  );

  function automatic logic [NodesLog2-1:0] node_of(logic [NLog2-1:0] index);
    return NodesLog2'(index >> (NLog2 - NodesLog2));
  endfunction

  // ---- Reference
  localparam int unsigned Leaves = 2 ** NLog2;
  logic [Leaves-1:0][LeafW-1:0] leaf_q;
  logic [Nodes-1:0][NodeW-1:0]  known_q, written_q;
  logic [Nodes-1:0][NodeW-1:0]  rows_q;      // as written_q, of the rows
  logic [Total:1][NodeW-1:0]   after_q;     // of the update k clocks after its arrival: its node
  logic [NodeW-1:0]            after;       //   just after it
  logic signed [NodeW+1:0]     exact;
  assign exact = $signed({2'b00, known_q[node_of(u_index_i)]}) + (NodeW + 2)'(u_delta_i);
  assign after = IsLeaf ? NodeW'(u_new_i) : exact[NodeW-1:0];
  always_ff @(posedge clk_i) begin
    after_q <= {after_q[Total-1:1], after};
    if (clear_q) begin
      known_q   <= '0;
      written_q <= '0;
      rows_q    <= '0;
      leaf_q    <= '0;
    end else begin
      if (u_valid_i)          leaf_q[u_index_i] <= u_new_i;
      if (u_valid_i)          known_q[node_of(u_index_i)] <= after;
      if (u_dut.u_valid[Lu])  written_q[node_of(u_dut.u_q[Lu].index)] <= after_q[Lu];
      if (u_dut.u_valid[Lw])  rows_q[node_of(u_dut.u_q[Lw].index)] <= after_q[Lw];
    end
  end

  // A node before the update that is k clocks old: after the next older one in flight, or as written.
  function automatic logic [NodeW-1:0] prior(logic [NodesLog2-1:0] node, int unsigned k);
    prior = written_q[node];
    for (int unsigned n = 0; n < Lu; n++) begin   // the youngest wins
      if (Lu - n > k && u_dut.u_valid[Lu-n] && node_of(u_dut.u_q[Lu-n].index) == node) begin
        prior = after_q[Lu-n];
      end
    end
  endfunction

  // A sample: the row it must see, and its target.
  logic [Total:1][Fan-1:0][NodeW-1:0] seen_q;
  logic [Total:1][TargetW-1:0]        target_q;
  logic [Fan-1:0][NodeW-1:0]          seen;
  logic [TargetW-1:0]                 sum;
  always_comb begin
    sum = '0;
    for (int unsigned i = 0; i < Fan; i++) begin
      seen[i] = known_q[NodesLog2'({s_index_i, FanLog2'(i)})];
      sum     = sum + TargetW'(seen[i]);
    end
  end
  always_ff @(posedge clk_i) begin
    seen_q   <= {seen_q[Total-1:1], seen};
    target_q <= {target_q[Total-1:1], s_target_i};
  end

  `JD_ASSUME_IF(ClearWhenIdle_M, start_clear_i,
                u_dut.u_valid == '0 && u_dut.s_valid == '0 && !clear_q)
  `JD_ASSUME_IF(ClearedFirst_M, s_valid_i || u_valid_i, cleared_q && !start_clear_i)
  `JD_ASSUME_IF(Difference_M, u_valid_i, u_delta_i ==
                $signed({1'b0, u_new_i}) - $signed({1'b0, leaf_q[u_index_i]}))
  // A check changes nothing; its sample goes to the same node.
  `JD_ASSUME_IF(Check_M, u_valid_i && u_check_i, u_delta_i == '0 && s_valid_i &&
                s_index_i == NLog2'(node_of(u_index_i) >> FanLog2))
  `JD_ASSUME_IF(TargetInRow_M, s_valid_i, s_target_i != '0 && s_target_i <= sum)

  // ---- What is proved
  for (genvar n = 0; n < Nodes; n++) begin : gen_sum
    logic [NodeW-1:0] leaves;
    always_comb begin
      leaves = '0;
      for (int unsigned i = 0; i < Leaves / Nodes; i++) begin
        leaves = leaves + NodeW'(leaf_q[n*(Leaves/Nodes)+i]);
      end
    end
    `JD_ASSERT_IF(SumOfLeaves_A, cleared_q, known_q[n] == leaves)
  end
  logic [Total:1][NLog2+2*LeafW+1:0] update_q;
  always_ff @(posedge clk_i) begin
    update_q <= {update_q[Total-1:1], u_check_i, u_index_i, u_delta_i, u_new_i};
  end
  for (genvar k = 1; k <= Total; k++) begin : gen_passed
    `JD_ASSERT_IF(Passed_A, u_dut.u_valid[k], update_q[k] ==
                  {u_dut.u_q[k].check, u_dut.u_q[k].index, u_dut.u_q[k].delta, u_dut.u_q[k].leaf})
  end
  `JD_ASSERT_IF(PassedOn_A, u_valid, update_q[Total] == {u_check, u_index, u_delta, u_new})
  `JD_ASSERT_IF(InWidth_A, cleared_q && u_valid_i && !IsLeaf, exact[NodeW+1:NodeW] == 2'b00)
  `JD_ASSERT_IF(WritesRight_A, u_dut.write, u_dut.write_value == after_q[Lu])
  if (Ultra) begin : gen_late
    `JD_ASSERT_IF(RowRight_A, u_dut.gen_rows.row_write,
                  u_dut.gen_rows.row_value == after_q[Lw])
    `JD_ASSERT_IF(LateRight_A, u_dut.u_valid[Lw+Lm],
                  u_dut.gen_rows.gen_late.late_value == after_q[Lw+Lm])
    for (genvar k = 1; k <= Lu; k++) begin : gen_seen
      for (genvar i = 0; i < Fan; i++) begin : gen_child
        `JD_ASSERT_IF(Seen_A, u_dut.s_valid[k], seen_q[k][i] ==
                      prior(NodesLog2'({u_dut.s_index_q[k], FanLog2'(i)}), k))
      end
    end
  end
  for (genvar n = 0; n < Nodes; n++) begin : gen_node
    `JD_ASSERT_IF(RowsLater_A, cleared_q, written_q[n] ==
                  (Ultra && u_dut.u_valid[Lw] && node_of(u_dut.u_q[Lw].index) == NodesLog2'(n)
                   ? after_q[Lw] : rows_q[n]))
    `JD_ASSERT_IF(Known_A, cleared_q, known_q[n] == prior(NodesLog2'(n), 0))
    `JD_ASSERT_IF(KnownIsWrittenWhenIdle_A, cleared_q && u_dut.u_valid[Lu:1] == '0,
                  known_q[n] == written_q[n])
    if (IsTop) begin : gen_row
      `JD_ASSERT_IF(Row_A, cleared_q, u_dut.gen_row.row_q[n] == written_q[n])
    end else begin : gen_rows
      `JD_ASSERT_IF(Row_A, cleared_q || (clear_q && (n >> FanLog2) < 32'(clear_index_q)),
                    u_dut.gen_rows.u_rows.mem[n>>FanLog2]
                        [(n%Fan)*u_dut.gen_rows.u_rows.KeptW +: NodeW] ==
                    (cleared_q ? rows_q[n] : '0))
    end
    if (!IsTop && !IsLeaf) begin : gen_stored
      `JD_ASSERT_IF(Node_A, cleared_q || (clear_q && n < 32'(clear_index_q)),
                    u_dut.gen_inner.gen_memory.u_nodes.mem[n] == (cleared_q ? written_q[n] : '0))
    end
  end
  `JD_ASSERT_IF(SeesItsSlot_A, u_dut.s_valid[Lu+Lm], u_dut.row == seen_q[Lu+Lm] &&
                u_dut.s_target_q[Lu+Lm] == target_q[Lu+Lm])
  logic [FanLog2-1:0] child;
  logic [TargetW-1:0] base;
  assign child = FanLog2'(s_index);
  always_comb begin
    base = '0;
    for (int unsigned i = 0; i < Fan; i++) begin
      if (i < 32'(child)) base = base + TargetW'(seen_q[Total][i]);
    end
  end
  logic checks;
  assign checks = u_valid && u_check;
  `JD_ASSERT_IF(ChecksItsNode_A, checks, s_valid && s_index == NLog2'(node_of(u_index)) &&
                s_value == after_q[Total])
  `JD_ASSERT_IF(ChoosesRight_A, s_valid && !checks, s_value == seen_q[Total][child] &&
                target_q[Total] > base && target_q[Total] <= base + TargetW'(s_value))
  `JD_ASSERT_IF(RestInChild_A, s_valid && !checks, TargetW'(s_rest) == target_q[Total] - base &&
                s_rest != '0 && s_rest <= s_value)

  // ---- Between the two
  `JD_ASSERT_IF(ClearAlone_A, clear_q || !cleared_q, u_dut.u_valid == '0 && u_dut.s_valid == '0)
  `JD_ASSERT_IF(Sweep_A, clear_q, 32'(clear_index_q) <= LastClear && !cleared_q)
  `JD_ASSERT_IF(SweepStarts_A, !clear_q, clear_index_q == '0 || $past(clear_q))
  for (genvar k = 1; k <= Lu; k++) begin : gen_flight
    if (!IsLeaf) begin : gen_inner
      `JD_ASSERT_IF(Sum_A, u_dut.u_valid[k],
                    $signed({2'b00, after_q[k]}) ==
                    $signed({2'b00, prior(node_of(u_dut.u_q[k].index), k)}) +
                    (NodeW + 2)'(u_dut.u_q[k].delta))
    end else begin : gen_leaf
      `JD_ASSERT_IF(Leaf_A, u_dut.u_valid[k], after_q[k] == NodeW'(u_dut.u_q[k].leaf))
    end
    for (genvar i = 0; i < Fan; i++) begin : gen_child
      `JD_ASSERT_IF(Seen_A, u_dut.s_valid[k], seen_q[k][i] ==
                    prior(NodesLog2'({u_dut.s_index_q[k], FanLog2'(i)}), k))
    end
  end
  for (genvar k = 1; k <= Lu + Lm; k++) begin : gen_sample
    `JD_ASSERT_IF(Target_A, u_dut.s_valid[k], u_dut.s_target_q[k] == target_q[k] &&
                  target_q[k] != '0)
  end
  for (genvar k = 1; k <= Total; k++) begin : gen_seen
    logic [TargetW-1:0] row_sum;
    always_comb begin
      row_sum = '0;
      for (int unsigned i = 0; i < Fan; i++) row_sum = row_sum + TargetW'(seen_q[k][i]);
    end
    `JD_ASSERT_IF(CheckedNode_A, u_dut.u_valid[k] && u_dut.u_q[k].check, u_dut.s_valid[k] &&
                  u_dut.s_index_q[k] == NLog2'(node_of(u_dut.u_q[k].index) >> FanLog2) &&
                  seen_q[k][FanLog2'(node_of(u_dut.u_q[k].index))] == after_q[k])
    `JD_ASSERT_IF(InRow_A, u_dut.s_valid[k], target_q[k] != '0 && target_q[k] <= row_sum)
  end
  if (!IsLeaf) begin : gen_copies
    `JD_ASSERT_IF(Copies_A, checks, u_dut.other == after_q[Total])
  end
  if (!IsLeaf) begin : gen_operand
    logic [NodesLog2-1:0] node;
    assign node = node_of(u_dut.u_q[Lm+1].index);
    `JD_ASSERT_IF(Near_A, u_dut.u_valid[Lm+1], u_dut.gen_inner.near_q ==
                  (u_dut.u_valid[Lu] && node_of(u_dut.u_q[Lu].index) == node))
    `JD_ASSERT_IF(Operand_A, u_dut.u_valid[Lm+1] && !u_dut.gen_inner.near_q,
                  u_dut.gen_inner.operand_q == written_q[node])
    for (genvar k = 0; k <= Lm; k++) begin : gen_past
      `JD_ASSERT_IF(Past_A, u_dut.u_valid[Lu+k], u_dut.gen_inner.past_q[k] == after_q[Lu+k])
    end
    if (Lm == 1) begin : gen_stored
      logic [NodesLog2-1:0] at;
      assign at = node_of(u_dut.u_q[1].index);
      `JD_ASSERT_IF(Stored_A, u_dut.u_valid[1],
                    (u_dut.u_valid[Lu+1] && node_of(u_dut.u_q[Lu+1].index) == at ?
                     after_q[Lu+1] : u_dut.gen_inner.stored) == written_q[at])
    end
  end

  Overlap_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (s_valid && u_valid && s_value == NodeW'(3) && $past(u_valid && u_index == u_index_i) &&
       u_index == u_index_i && u_delta != '0 && u_new != '0));
endmodule : jd_prove_tree_level
