// SPDX-License-Identifier: Apache-2.0
//
// The sum tree: a sample lane and an update lane, each one operation per clock, in one slot order.
//
// Streams  s_*: samples. u_*: all other operations. Both are pipes: valid only, never stalled,
//          answered in order. The user has checked each operation and limits how many are in
//          flight.
// Timing   s_valid_o comes sample_latency() clocks after s_valid_i, u_valid_o front_latency()
//          clocks after u_valid_i (jd_replay_pkg). Operations take effect in the order in which
//          they pass the order point: a sample SAMPLE_ORDER clocks after it enters (order_valid_o),
//          an update in the clock of u_valid_o. If two pass in one clock, the sample is first. A
//          clear takes 2^NLog2 / 2^KLog2 + 2 clocks; it may start only while idle_o is high. A
//          check is one OpCheck per leaf, in order, in the update lane, and no other operation; it
//          uses both lanes of the levels. Its result is valid when idle_o is high again.
// Numbers  leaves are unsigned integers, nodes exact sums. Nothing wraps or rounds.
// Source   onchip_replay 2.1.2, 3.1, figure 5. Golden model: models/replay/flat.py, FlatTree.
`include "jd_assert.svh"
module jd_replay_core
  import jd_replay_pkg::*;
#(
  parameter int unsigned KLog2      = 4,   // log2 of the fan-out, 1..6
  parameter int unsigned NLog2      = 16,  // log2 of the leaves, 2..20
  parameter int unsigned LeafW      = 32,  // bits of a leaf, 8..32
  parameter int unsigned SlotsLog2  = 9,   // log2 of the largest batch, 3..10
  parameter int unsigned LatLut     = 1,   // read latency of LUT RAM, 1..6
  parameter int unsigned LatBram    = 2,   // of block RAM, 1..6
  parameter int unsigned LatUram    = 4,   // of UltraRAM, 1..6
  parameter int unsigned LatMul     = 6,   // of the multiplier, 3..8
  parameter int unsigned UltraLog2  = ULTRA_LOG2   // log2 of the most nodes not in UltraRAM
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // Clear: all leaves 0, insertion state 0, PMAX as given, N as given.
  input  logic                 clear_i,         // pulse
  input  logic [INDEX_W:0]     clear_leaves_i,  // N, 1..2^NLog2
  input  logic [LeafW-1:0]     clear_pmax_i,
  output logic                 clear_busy_o,
  // Check: does every node equal the sum of its leaves, in all copies? Nothing is changed.
  input  logic                 check_start_i,   // pulse, before it: forget what was found
  output logic                 check_bad_o,     // a node does not: the first of the topmost level
  output logic [4:0]           check_level_o,   // 0 is the root, levels() the leaves
  output logic [INDEX_W-1:0]   check_node_o,
  // Lanes.
  input  logic                 s_valid_i,
  input  sample_request_t      s_request_i,
  output logic                 s_valid_o,
  output sample_response_t     s_response_o,
  input  logic                 u_valid_i,
  input  update_request_t      u_request_i,
  output logic                 u_valid_o,
  output update_response_t     u_response_o,
  // A sample passes the order point in this clock, with the insertion state it sees.
  output logic                 order_valid_o,
  output logic [TAG_W-1:0]     order_tag_o,
  output logic [INDEX_W-1:0]   order_head_o,    // next leaf to be inserted or reserved
  output logic [31:0]          order_moves_o,   // leaves inserted or reserved since the clear
  // Insertion state, after every operation accepted in earlier clocks; loaded while idle.
  output logic [INDEX_W:0]     leaves_o,        // N
  output logic [INDEX_W:0]     count_o,         // leaves ever inserted, at most N
  output logic [INDEX_W-1:0]   pointer_o,       // next leaf to be inserted
  output logic [INDEX_W:0]     reserved_o,      // leaves reserved and not committed
  output logic [31:0]          moves_o,         // as order_moves_o, at acceptance
  output logic [LeafW-1:0]     pmax_o,          // largest priority, of all past the order point
  input  logic                 load_count_i,
  input  logic                 load_pointer_i,
  input  logic                 load_pmax_i,
  input  logic [31:0]          load_value_i,
  // Generator, loaded while idle.
  input  logic                 seed_load_i,
  input  logic [255:0]         seed_i,          // s0 in the low 64 bits
  output logic [255:0]         seed_o,
  output logic [TOTAL_W-1:0]   total_o,         // the root
  output logic                 idle_o           // nothing in flight, no clear
);
  if (KLog2 < 1 || KLog2 > 6 || NLog2 < 2 || NLog2 > 20 || LeafW < 8 ||
      LeafW > 32) begin : gen_bad_size
    $fatal(1, "jd_replay_core: KLog2=%0d, want 1..6, NLog2=%0d, want 2..20, LeafW=%0d, want 8..32",
           KLog2, NLog2, LeafW);
  end
  if (SlotsLog2 < 3 || SlotsLog2 > 10 || LatMul < 3 || LatMul > 8 || LatLut < 1 || LatLut > 6 ||
      LatBram < 1 || LatBram > 6 || LatUram < 1 || LatUram > 6) begin : gen_bad_latency
    $fatal(1, "jd_replay_core: SlotsLog2=%0d, want 3..10, LatMul=%0d, want 3..8, others 1..6",
           SlotsLog2, LatMul);
  end

  localparam int unsigned Levels   = levels(NLog2, KLog2);
  localparam int unsigned TotalW   = LeafW + NLog2;
  localparam int unsigned LatFront = front_latency(NLog2, LatLut, LatBram, LatUram);
  localparam int unsigned LatS     = sample_latency(NLog2, KLog2, LatLut, LatBram, LatUram, LatMul);
  localparam int unsigned LatU     = LatFront + LatS;   // bound, until an update is through
  localparam int unsigned BusyW    = $clog2(LatU + 1);
  localparam int unsigned SweepLog2 = NLog2 - fan_log2(NLog2, KLog2, Levels);
  localparam int unsigned TagsLog2 = $clog2(LatS + 1);

  // ---- Clear: one row of leaves, and one node of every other level, per clock ----
  logic             clear_q;
  logic [NLog2-1:0] clear_index_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      clear_q <= 1'b0;
    else if (clear_i) clear_q <= 1'b1;
    else if (clear_index_q == NLog2'(2 ** SweepLog2 - 1)) clear_q <= 1'b0;
    if (!clear_q) clear_index_q <= '0;
    else          clear_index_q <= clear_index_q + NLog2'(1);
  end
  assign clear_busy_o = clear_q;

  // ---- Root, at the order point ----
  logic                  change_valid, change_check;
  logic [NLog2-1:0]      change_index;
  logic signed [LeafW:0] change_delta;
  logic [LeafW-1:0]      change_new;
  logic [TotalW-1:0]     total_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_q) total_q <= '0;
    else if (change_valid) total_q <= total_q + TotalW'(change_delta);
  end
  assign total_o = TOTAL_W'(total_q);

  jd_replay_front #(
    .KLog2(KLog2), .NLog2(NLog2), .LeafW(LeafW),
    .LatLut(LatLut), .LatBram(LatBram), .LatUram(LatUram), .Ultra(NLog2 > UltraLog2)
  ) u_front (
    .clk_i, .rst_ni,
    .clear_i(clear_q), .clear_index_i(clear_index_q),
    .reset_state_i(clear_i), .reset_leaves_i(clear_leaves_i), .reset_pmax_i(clear_pmax_i),
    .u_valid_i, .u_request_i, .u_valid_o, .u_response_o,
    .change_valid_o(change_valid), .change_check_o(change_check), .change_index_o(change_index),
    .change_delta_o(change_delta), .change_new_o(change_new),
    .order_head_o, .order_moves_o,
    .leaves_o, .count_o, .pointer_o, .reserved_o, .moves_o, .pmax_o,
    .load_count_i, .load_pointer_i, .load_pmax_i, .load_value_i
  );

  logic              target_valid;
  logic [TotalW-1:0] target;
  jd_replay_generate #(
    .TotalW(TotalW), .SlotsLog2(SlotsLog2), .LatMul(LatMul)
  ) u_generate (
    .clk_i, .rst_ni,
    .seed_load_i, .seed_i, .seed_o,
    .valid_i(s_valid_i), .request_i(s_request_i),
    .order_valid_o, .order_tag_o, .total_i(total_q),
    .valid_o(target_valid), .target_o(target)
  );

  // ---- Levels: element d is at the entrance of level d+1 ----
  localparam int unsigned UpdateW = 1 + NLog2 + 1 + LeafW + LeafW;
  logic                  s_valid  [Levels+1];
  logic [NLog2-1:0]      s_index  [Levels+1];
  logic [TotalW-1:0]     s_target [Levels+1];
  logic [LeafW-1:0]      s_leaf;
  logic                  u_valid  [Levels+1];
  logic                  u_check  [Levels+1];
  logic [NLog2-1:0]      u_index  [Levels+1];
  logic signed [LeafW:0] u_delta  [Levels+1];
  logic [LeafW-1:0]      u_new    [Levels+1];
  logic                  bad      [Levels+1];   // a check found a node of this level wrong
  logic [NLog2-1:0]      bad_node [Levels+1];

  assign s_valid[0]  = target_valid || (u_valid[0] && u_check[0]);
  assign s_index[0]  = '0;
  assign s_target[0] = target;
  jd_replay_pipe #(.Width(UpdateW), .Cycles(LatMul + 2)) u_align (
    .clk_i, .rst_ni,
    .valid_i(change_valid || change_check),
    .data_i({change_check, change_index, change_delta, change_new}),
    .valid_o(u_valid[0]), .data_o({u_check[0], u_index[0], u_delta[0], u_new[0]})
  );

  for (genvar d = 1; d <= Levels; d++) begin : gen_level
    localparam int unsigned ChildW  = node_w(NLog2, KLog2, LeafW, d);
    localparam int unsigned ParentW = ChildW + fan_log2(NLog2, KLog2, d);
    logic [ChildW-1:0] rest, value;
    jd_replay_level #(
      .Level(d), .KLog2(KLog2), .NLog2(NLog2), .LeafW(LeafW),
      .LatLut(LatLut), .LatBram(LatBram), .LatUram(LatUram),
      .Ultra(nodes_log2(NLog2, KLog2, d) > UltraLog2)
    ) u_level (
      .clk_i, .rst_ni,
      .clear_i(clear_q), .clear_index_i(clear_index_q),
      .s_valid_i(s_valid[d-1]), .s_index_i(s_index[d-1]), .s_target_i(ParentW'(s_target[d-1])),
      .s_valid_o(s_valid[d]), .s_index_o(s_index[d]), .s_target_o(rest), .s_value_o(value),
      .check_start_i, .check_bad_o(bad[d]), .check_node_o(bad_node[d]),
      .u_valid_i(u_valid[d-1]), .u_check_i(u_check[d-1]), .u_index_i(u_index[d-1]),
      .u_delta_i(u_delta[d-1]), .u_new_i(u_new[d-1]),
      .u_valid_o(u_valid[d]), .u_check_o(u_check[d]), .u_index_o(u_index[d]),
      .u_delta_o(u_delta[d]), .u_new_o(u_new[d])
    );
    assign s_target[d] = TotalW'(rest);
    if (d == Levels) begin : gen_leaf
      assign s_leaf = value;
    end
  end

  // ---- What the check found: the root is the sum of all leaves, and each level looks itself ----
  logic [TotalW-1:0] sum_q;
  logic              checks, summed_q;
  assign checks = u_valid[0] && u_check[0];
  always_ff @(posedge clk_i) begin
    summed_q <= checks && u_index[0] == '1;
    if (checks) sum_q <= (u_index[0] == '0 ? '0 : sum_q) + TotalW'(u_new[0]);
    if (check_start_i) bad[0] <= 1'b0;
    else if (summed_q && sum_q != total_q) bad[0] <= 1'b1;
    // From the leaves to the root: the topmost stays.
    check_bad_o <= 1'b0;
    for (int unsigned d = Levels + 1; d > 0; d--) begin
      if (bad[d-1]) begin
        check_bad_o   <= 1'b1;
        check_level_o <= 5'(d - 1);
        check_node_o  <= INDEX_W'(bad_node[d-1]);
      end
    end
  end
  assign bad_node[0] = '0;

  // ---- Responses of samples: a slot that found the total 0 has no leaf ----
  logic                due;            // a response leaves the levels in this clock
  logic [TagsLog2-1:0] tag_write_q, tag_read_q;
  logic [TAG_W-1:0]    tag;
  logic                soon;
  jd_delay #(.Width(1), .Cycles(LatS - 2)) u_soon (
    .clk_i, .rst_ni, .in_i(s_valid_i), .out_o(soon)
  );
  jd_mem_1r1w #(.Depth(2 ** TagsLog2), .Lanes(1), .LaneW(TAG_W), .ReadLatency(1)) u_tags (
    .clk_i, .rst_ni,
    .write_en_i(s_valid_i), .write_addr_i(tag_write_q), .write_mask_i(1'b1),
    .write_data_i(s_request_i.tag),
    .read_en_i(soon), .read_addr_i(tag_read_q), .read_data_o(tag)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tag_write_q <= '0;
      tag_read_q  <= '0;
      due         <= 1'b0;
      s_valid_o   <= 1'b0;
    end else begin
      if (s_valid_i) tag_write_q <= tag_write_q + TagsLog2'(1);
      if (soon)      tag_read_q  <= tag_read_q + TagsLog2'(1);
      due       <= soon;
      s_valid_o <= due;
    end
    if (due) begin
      s_response_o <= '{
        tag: tag, empty: !s_valid[Levels],
        index: s_valid[Levels] ? 32'(s_index[Levels]) : '1,
        priority_: s_valid[Levels] ? LEAF_MAX_W'(s_leaf) : '0
      };
    end
  end

  // ---- Idle ----
  logic [BusyW-1:0] busy_q;   // clocks until the last operation has left
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                     busy_q <= '0;
    else if (s_valid_i || u_valid_i) busy_q <= BusyW'(LatU);
    else if (busy_q != '0)           busy_q <= busy_q - BusyW'(1);
  end
  assign idle_o = busy_q == '0 && !clear_q && !clear_i && !s_valid_i && !u_valid_i;

  `JD_ASSUME_IF(ClearWhenIdle_M, clear_i || check_start_i,
                busy_q == '0 && !clear_q && !s_valid_i && !u_valid_i)
  `JD_ASSUME_IF(LeavesInRange_M, clear_i,
                clear_leaves_i != '0 && clear_leaves_i <= (INDEX_W + 1)'(2 ** NLog2))
  `JD_ASSUME_IF(NoneWhileClearing_M, clear_q, !s_valid_i && !u_valid_i)
  `JD_ASSUME_IF(LoadWhenIdle_M, load_count_i || load_pointer_i || load_pmax_i || seed_load_i,
                busy_q == '0 && !s_valid_i && !u_valid_i)
  logic chosen;                        // by a sample
  assign chosen = s_valid[Levels] && !(u_valid[Levels] && u_check[Levels]);
  `JD_ASSUME_IF(CheckAlone_M, u_valid[0] && u_check[0], !target_valid)
  `JD_ASSERT_IF(ChosenIsDue_A, chosen, due)
  `JD_ASSERT_IF(ChosenNotZero_A, chosen, s_leaf != '0)
endmodule : jd_replay_core
