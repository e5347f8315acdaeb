// SPDX-License-Identifier: Apache-2.0
//
// One level of the sum tree: its nodes, and the step of a sample and of an update through it.
//
// Streams  s_*: samples with their target inside a node of the level above. u_*: updates. Pipes:
//          valid only, no stall. The sample and the update of a slot come in the same clock and
//          leave in the same clock.
// Timing   latency level_latency() of jd_replay_pkg on both lanes, one operation per clock on each.
//          An update reads its node in its own clock A and writes it at A+LU. The sample of the
//          slot reads its row at A+LU, too. So it sees exactly the updates of the slots before its
//          own, and no forwarding into rows is needed. UltraRAM does not return a word that is
//          being written: there the row is written at A+LU+1, and a sample whose row the update of
//          the slot before it is writing gets that node from the update. Updates less than LU+1
//          slots apart are bypassed, also the one that writes in clock A.
//          A check is a sample and an update in one slot. Both go to the same leaf and change
//          nothing. Its leaves come in order, from the first of a node to its last. Two clocks
//          after the last leaf has left, the level reports a node that is not the sum of its
//          leaves, or that differs between the two copies.
// Numbers  unsigned integers, exact: a node of this level holds at most NodeW bits.
// Source   onchip_replay 2.1.2, 3.1, figure 5. Golden model: models/replay/tree.py.
`include "jd_assert.svh"
module jd_replay_level
  import jd_replay_pkg::*;
#(
  parameter  int unsigned Level   = 2,    // 1..levels(NLog2, KLog2)
  parameter  int unsigned KLog2   = 4,    // log2 of the fan-out, 1..6
  parameter  int unsigned NLog2   = 16,   // log2 of the leaves, 2..20
  parameter  int unsigned LeafW   = 32,   // bits of a leaf, 8..32
  parameter  int unsigned LatLut  = 1,    // read latencies, 1..6
  parameter  int unsigned LatBram = 2,
  parameter  int unsigned LatUram = 4,
  parameter  bit          Ultra   = in_uram(nodes_log2(NLog2, KLog2, Level)),   // in UltraRAM
  localparam int unsigned NodesLog2 = nodes_log2(NLog2, KLog2, Level),
  localparam int unsigned FanLog2   = fan_log2(NLog2, KLog2, Level),
  localparam int unsigned NodeW     = node_w(NLog2, KLog2, LeafW, Level),
  localparam int unsigned TargetW   = NodeW + FanLog2
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clear_i,        // row and node clear_index_i become 0
  input  logic [NLog2-1:0]        clear_index_i,
  input  logic                    s_valid_i,
  input  logic [NLog2-1:0]        s_index_i,      // the node of the level above, that is, the row
  input  logic [TargetW-1:0]      s_target_i,     // 1..the node's value
  output logic                    s_valid_o,
  output logic [NLog2-1:0]        s_index_o,      // the node chosen
  output logic [NodeW-1:0]        s_target_o,     // 1..its value
  output logic [NodeW-1:0]        s_value_o,
  input  logic                    check_start_i,  // forget what was found
  output logic                    check_bad_o,    // a node is wrong: the first of them
  output logic [NLog2-1:0]        check_node_o,
  input  logic                    u_valid_i,
  input  logic                    u_check_i,
  input  logic [NLog2-1:0]        u_index_i,      // leaf
  input  logic signed [LeafW:0]   u_delta_i,
  input  logic [LeafW-1:0]        u_new_i,
  output logic                    u_valid_o,
  output logic                    u_check_o,
  output logic [NLog2-1:0]        u_index_o,
  output logic signed [LeafW:0]   u_delta_o,
  output logic [LeafW-1:0]        u_new_o
);
  localparam bit          IsLeaf   = Level == levels(NLog2, KLog2);
  localparam bit          IsTop    = Level == 1;   // a single row, in registers
  localparam int unsigned Fan      = 2 ** FanLog2;
  localparam int unsigned Nodes    = 2 ** NodesLog2;
  localparam int unsigned RowsLog2 = NodesLog2 - FanLog2;
  localparam int unsigned RowW     = (RowsLog2 > 0) ? RowsLog2 : 1;
  localparam int unsigned Lm       = read_latency(NLog2, KLog2, Level, LatLut, LatBram, LatUram);
  localparam int unsigned Lu       = write_latency(NLog2, KLog2, Level, LatLut, LatBram, LatUram);
  localparam int unsigned Total    = level_latency(NLog2, KLog2, Level, LatLut, LatBram, LatUram);

  // ---- Updates: element k is k clocks after the update's arrival ----
  typedef struct packed {
    logic                  check;
    logic [NLog2-1:0]      index;
    logic signed [LeafW:0] delta;
    logic [LeafW-1:0]      leaf;
  } update_t;
  logic [Total:0] u_valid;
  update_t        u_q [1:Total];
  update_t        u_in;
  assign u_in = '{check: u_check_i, index: u_index_i, delta: u_delta_i, leaf: u_new_i};

  logic [Total-1:0] u_valid_q;
  assign u_valid = {u_valid_q, u_valid_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) u_valid_q <= '0;
    else         u_valid_q <= u_valid[Total-1:0];
    if (u_valid_i) u_q[1] <= u_in;
    if (u_valid_q != '0) begin
      for (int unsigned k = 1; k < Total; k++) begin
        if (u_valid_q[k-1]) u_q[k+1] <= u_q[k];
      end
    end
  end
  assign u_valid_o = u_valid_q[Total-1];
  assign u_check_o = u_q[Total].check;
  assign u_index_o = u_q[Total].index;
  assign u_delta_o = u_q[Total].delta;
  assign u_new_o   = u_q[Total].leaf;

  function automatic logic [NodesLog2-1:0] node_of(logic [NLog2-1:0] index);
    return NodesLog2'(index >> (NLog2 - NodesLog2));
  endfunction

  // The write of the nodes, Lu clocks after the arrival; of rows in UltraRAM, one clock later.
  logic                 write;
  logic [NodesLog2-1:0] write_node;
  logic [NodeW-1:0]     write_value;
  assign write      = u_valid[Lu] && !u_q[Lu].check;
  assign write_node = node_of(u_q[Lu].index);

  // ---- S copy: read by rows, written by nodes ----
  logic [Total:0]   s_valid;
  logic [Total-1:0] s_valid_q;
  logic [NLog2-1:0] s_index_q [1:Total];
  logic [TargetW-1:0] s_target_q [1:Lu+Lm];
  assign s_valid = {s_valid_q, s_valid_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) s_valid_q <= '0;
    else         s_valid_q <= s_valid[Total-1:0];
    if (s_valid_i) begin
      s_index_q[1]  <= s_index_i;
      s_target_q[1] <= s_target_i;
    end
    if (s_valid_q != '0) begin
      for (int unsigned k = 1; k < Total; k++) begin
        if (s_valid_q[k-1]) s_index_q[k+1] <= s_index_q[k];
      end
      for (int unsigned k = 1; k < Lu + Lm; k++) begin
        if (s_valid_q[k-1]) s_target_q[k+1] <= s_target_q[k];
      end
    end
  end

  logic [Fan-1:0][NodeW-1:0] row;
  if (IsTop) begin : gen_row
    logic [Fan-1:0][NodeW-1:0] row_q;
    always_ff @(posedge clk_i) begin
      if (clear_i)    row_q <= '0;
      else if (write) row_q[write_node] <= write_value;
    end
    assign row = row_q;
  end else begin : gen_rows
    logic                      row_write;
    logic [NodesLog2-1:0]      row_node;
    logic [NodeW-1:0]          row_value;
    logic [Fan-1:0]            row_lane;
    logic [Fan-1:0][NodeW-1:0] stored;
    assign row_lane = Fan'(1) << FanLog2'(row_node);
    jd_mem_1r1w #(
      .Depth(2 ** RowsLog2), .Lanes(Fan), .LaneW(NodeW), .ReadLatency(Lm), .Ultra(Ultra)
    ) u_rows (
      .clk_i, .rst_ni,
      .write_en_i  (clear_i || row_write),
      .write_addr_i(clear_i ? RowW'(clear_index_i) : RowW'(row_node >> FanLog2)),
      .write_mask_i(clear_i ? '1 : row_lane),
      .write_data_i(clear_i ? '0 : {Fan{row_value}}),
      .read_en_i   (s_valid[Lu]),
      .read_addr_i (RowW'(s_index_q[Lu])),
      .read_data_o (stored)
    );
    if (Ultra) begin : gen_late
      // What the update writes, at its clock Lu+1 and at Lu+Lm+1, where the sample of the slot
      // after it gets its row.
      logic [NodeW-1:0] late_value;
      if (IsLeaf) begin : gen_leaf_value
        assign row_value  = u_q[Lu+1].leaf;
        assign late_value = u_q[Lu+Lm+1].leaf;
      end else begin : gen_inner_value
        assign row_value = gen_inner.past_q[1];
        always_ff @(posedge clk_i) if (u_valid[Lu+Lm]) late_value <= gen_inner.past_q[Lm];
      end
      assign row_write = u_valid[Lu+1] && !u_q[Lu+1].check;
      assign row_node  = node_of(u_q[Lu+1].index);

      logic [NodesLog2-1:0] late_node;
      logic [Fan-1:0]       late_q;       // the child that the memory does not tell
      assign late_node = node_of(u_q[Lu+Lm].index);
      always_ff @(posedge clk_i) begin
        if (s_valid[Lu+Lm-1]) begin
          late_q <= '0;
          if (u_valid[Lu+Lm] && !u_q[Lu+Lm].check &&
              late_node >> FanLog2 == NodesLog2'(s_index_q[Lu+Lm-1])) begin
            late_q[FanLog2'(late_node)] <= 1'b1;
          end
        end
      end
      for (genvar k = 0; k < Fan; k++) begin : gen_child
        assign row[k] = late_q[k] ? late_value : stored[k];
      end
    end else begin : gen_same
      assign row_write = write;
      assign row_node  = write_node;
      assign row_value = write_value;
      assign row       = stored;
    end
  end

  // ---- Sample: the row against the target ----
  logic [FanLog2-1:0] child;
  jd_replay_row_compare #(.FanLog2(FanLog2), .ChildW(NodeW)) u_compare (
    .clk_i, .rst_ni,
    .valid_i(s_valid[Lu+Lm]), .row_i(row), .target_i(s_target_q[Lu+Lm]),
    .force_i(u_valid[Lu+Lm] && u_q[Lu+Lm].check),
    .child_i(FanLog2'(node_of(u_q[Lu+Lm].index))),
    .valid_o(s_valid_o), .index_o(child), .value_o(s_value_o), .rest_o(s_target_o)
  );
  assign s_index_o = NLog2'({s_index_q[Total], child});

  // ---- Update: the new value of the node ----
  if (IsLeaf) begin : gen_leaf
    assign write_value = u_q[Lu].leaf;
  end else begin : gen_inner
    // U copy: the node at clock Lm. Of the updates before this one, the one just before is added at
    // the next clock (near_q), up to Lm+1 older ones are bypassed here, all others are in memory.
    logic [NodeW-1:0] stored, operand_q;
    logic [NodeW-1:0] past_q [Lm+1];   // sum of the update at clock Lu+k
    logic             near_q;
    if (IsTop) begin : gen_stored
      assign stored = row[node_of(u_index_i)];
    end else begin : gen_memory
      jd_mem_1r1w #(
        .Depth(Nodes), .Lanes(1), .LaneW(NodeW), .ReadLatency(Lm), .Ultra(Ultra)
      ) u_nodes (
        .clk_i, .rst_ni,
        .write_en_i  (clear_i || write),
        .write_addr_i(clear_i ? NodesLog2'(clear_index_i) : write_node),
        .write_mask_i(1'b1),
        .write_data_i(clear_i ? '0 : write_value),
        .read_en_i   (u_valid_i),
        .read_addr_i (node_of(u_index_i)),
        .read_data_o (stored)
      );
    end

    logic [NodesLog2-1:0] node;   // at clock Lm
    if (Lm == 0) begin : gen_now
      assign node = node_of(u_index_i);
    end else begin : gen_later
      assign node = node_of(u_q[Lm].index);
    end
    always_ff @(posedge clk_i) begin
      if (u_valid[Lm]) begin
        operand_q <= stored;
        for (int unsigned k = 0; k <= Lm; k++) begin   // the youngest wins
          if (u_valid[Lu+Lm-k] && node_of(u_q[Lu+Lm-k].index) == node) operand_q <= past_q[Lm-k];
        end
        near_q <= u_valid[Lm+1] && node_of(u_q[Lm+1].index) == node;
      end
      if (u_valid[Lm+1]) begin
        past_q[0] <= (near_q ? past_q[0] : operand_q) + NodeW'(u_q[Lm+1].delta);
      end
      for (int unsigned k = 1; k <= Lm; k++) begin
        if (u_valid[Lu+k-1]) past_q[k] <= past_q[k-1];
      end
    end
    assign write_value = past_q[0];

    // The exact sum has the sign of the wider one: a node neither overflows nor goes below 0.
    logic signed [NodeW+1:0] exact;
    assign exact = $signed({2'b00, near_q ? past_q[0] : operand_q}) +
                   (NodeW + 2)'(u_q[Lm+1].delta);
    `JD_ASSERT_IF(NodeInRange_A, u_valid[Lm+1], exact[NodeW+1:NodeW] == 2'b00)
  end

  // ---- Check: the node's copies against each other, the node against the sum of its leaves
  localparam int unsigned UnderLog2 = NLog2 - NodesLog2;   // log2 of the leaves of a node
  logic             checks, check_q, differs_q, wrong;
  logic [NLog2-1:0] node_q;
  logic [NodeW-1:0] other;            // the U copy; of a leaf, the front's
  assign checks = u_valid_o && u_check_o;
  if (IsLeaf) begin : gen_front_copy
    assign other = u_new_o;
    assign wrong = check_q && differs_q;
  end else begin : gen_other_copy
    logic             valid, last_q;
    logic [NodeW-1:0] value_q, sum_q;
    jd_replay_pipe #(.Width(NodeW), .Cycles(Total - Lu)) u_other (
      .clk_i, .rst_ni,
      .valid_i(u_valid[Lu] && u_q[Lu].check), .data_i(write_value), .valid_o(valid), .data_o(other)
    );
    always_ff @(posedge clk_i) begin
      if (checks) begin
        last_q  <= u_index_o[UnderLog2-1:0] == '1;
        value_q <= other;
        sum_q   <= (u_index_o[UnderLog2-1:0] == '0 ? '0 : sum_q) + NodeW'(u_new_o);
      end
    end
    assign wrong = check_q && (differs_q || (last_q && sum_q != value_q));
    `JD_ASSERT(InStep_A, valid == checks)
  end
  always_ff @(posedge clk_i) begin
    check_q <= checks;
    if (checks) begin
      node_q    <= NLog2'(node_of(u_index_o));
      differs_q <= s_value_o != other;
    end
    if (check_start_i) check_bad_o <= 1'b0;
    else if (wrong) check_bad_o <= 1'b1;
    if (wrong && !check_bad_o) check_node_o <= node_q;
  end

  `JD_ASSERT(Skew_A, s_valid_o == s_valid[Total])
  `JD_ASSUME_IF(ClearAlone_M, clear_i, u_valid == '0 && s_valid == '0)
  `JD_ASSUME_IF(RowInRange_M, s_valid_i, (s_index_i >> RowsLog2) == '0)
  `JD_ASSUME_IF(CheckBoth_M, u_valid_i && u_check_i, s_valid_i && u_delta_i == '0)
endmodule : jd_replay_level
