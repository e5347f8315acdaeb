// SPDX-License-Identifier: Apache-2.0
//
// The sum tree as published: each level does one operation at a time and reads one child per clock.
// It is the baseline of jd_replay_core and has the same results.
//
// Streams  s_*: samples. u_*: all other operations. Pipes as in jd_replay_core, answered in order.
//          An operation may come only if the lane's ready was high at most AHEAD clocks before.
// Timing   u_valid_o comes front_latency() clocks after u_valid_i. A batch of B samples takes at
//          most (K + Lm + 1) (B + levels - 1) clocks and the latency of the generator. A clear
//          takes 2^NLog2 + 2 clocks; it may start only while idle_o is high.
// Numbers  as in jd_replay_core.
// Source   onchip_replay 3.1, figure 5; thesis Eq. 4.2, 4.3. Golden model: models/replay/flat.py.
`include "jd_assert.svh"
module jd_replay_core_sequential
  import jd_replay_pkg::*;
#(
  parameter int unsigned KLog2      = 4,   // log2 of the fan-out, 1..6
  parameter int unsigned NLog2      = 16,  // log2 of the leaves, 2..20
  parameter int unsigned LeafW      = 32,  // bits of a leaf, 8..32
  parameter int unsigned SlotsLog2  = 9,   // log2 of the largest batch, 3..10
  parameter int unsigned LatLut     = 1,   // read latency of LUT RAM, 1..6
  parameter int unsigned LatBram    = 2,   // of block RAM, 1..6
  parameter int unsigned LatUram    = 4,   // of UltraRAM, 1..6
  parameter int unsigned LatMul     = 6    // of the multiplier, 3..8
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // Clear: all leaves 0, insertion state 0, PMAX as given, N as given.
  input  logic                 clear_i,         // pulse
  input  logic [INDEX_W:0]     clear_leaves_i,  // N, 1..2^NLog2
  input  logic [LeafW-1:0]     clear_pmax_i,
  output logic                 clear_busy_o,
  // Check: does every node equal the sum of its leaves? Nothing is changed.
  input  logic                 check_start_i,   // pulse, before it: forget what was found
  output logic                 check_bad_o,     // a node does not: the first of the topmost level
  output logic [4:0]           check_level_o,   // 0 is the root, levels() the leaves
  output logic [INDEX_W-1:0]   check_node_o,
  // Lanes.
  output logic                 ready_o,         // both lanes
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
  localparam int unsigned Levels   = levels(NLog2, KLog2);
  localparam int unsigned TotalW   = LeafW + NLog2;
  localparam int unsigned LatFront = front_latency(NLog2, LatLut, LatBram, LatUram);
  localparam int unsigned Entry    = SAMPLE_ORDER + LatFront + LatMul + 4;  // until it is queued
  localparam int unsigned BusyW    = $clog2(Entry + 1);
  localparam int unsigned AHEAD    = 24;    // clocks from ready_o to the operation, at most
  localparam int unsigned Depth    = 128;   // slots
  localparam int unsigned CountW   = $clog2(Depth + 1);
  localparam int unsigned RowsLog2 = NLog2 - fan_log2(NLog2, KLog2, Levels);   // of leaves

  // ---- Clear: one node of every level per clock
  logic             clear_q;
  logic [NLog2-1:0] clear_index_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      clear_q <= 1'b0;
    else if (clear_i) clear_q <= 1'b1;
    else if (clear_index_q == '1) clear_q <= 1'b0;
    if (!clear_q) clear_index_q <= '0;
    else          clear_index_q <= clear_index_q + NLog2'(1);
  end
  assign clear_busy_o = clear_q;

  // ---- Order point: as in jd_replay_core
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
    .LatLut(LatLut), .LatBram(LatBram), .LatUram(LatUram)
  ) u_front (
    .clk_i, .rst_ni,
    .clear_i(clear_q), .clear_index_i(clear_index_q & NLog2'(2 ** RowsLog2 - 1)),
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

  // ---- Slots: the sample and the update that passed the order point in one clock
  typedef struct packed {
    logic                  sample;
    logic                  empty;
    logic [TotalW-1:0]     target;
    logic                  update;
    logic                  check;
    logic [NLog2-1:0]      index;
    logic signed [LeafW:0] delta;
    logic [LeafW-1:0]      leaf;
  } slot_t;
  slot_t slot, first;
  logic [TAG_W-1:0] slot_tag;
  logic  slot_valid, slot_ready, first_valid, first_ready;
  logic [CountW-1:0] slots;
  jd_replay_pipe #(.Width(TAG_W), .Cycles(LatMul + 2)) u_sample (
    .clk_i, .rst_ni,
    .valid_i(order_valid_o), .data_i(order_tag_o), .valid_o(slot.sample), .data_o(slot_tag)
  );
  jd_replay_pipe #(.Width(1 + NLog2 + 1 + LeafW + LeafW), .Cycles(LatMul + 2)) u_update (
    .clk_i, .rst_ni,
    .valid_i(change_valid || change_check),
    .data_i({change_check, change_index, change_delta, change_new}),
    .valid_o(slot.update), .data_o({slot.check, slot.index, slot.delta, slot.leaf})
  );
  assign slot.empty  = !target_valid;
  assign slot.target = target;
  assign slot_valid  = slot.sample || slot.update;
  jd_stream_fifo #(.Width($bits(slot_t)), .Depth(Depth)) u_slots (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .in_valid_i(slot_valid), .in_ready_o(slot_ready), .in_data_i(slot),
    .out_valid_o(first_valid), .out_ready_i(first_ready), .out_data_o(first),
    .count_o(slots)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ready_o <= 1'b0;
    else         ready_o <= slots < CountW'(Depth - Entry - AHEAD);
  end

  // ---- Levels: element d is at the entrance of level d+1
  logic                  valid  [Levels+1];
  logic                  ready  [Levels];
  logic                  sample [Levels+1];
  logic                  empty  [Levels+1];
  logic [NLog2-1:0]      row    [Levels+1];
  logic [TotalW-1:0]     rest   [Levels+1];
  logic                  update [Levels+1];
  logic                  check  [Levels+1];
  logic [NLog2-1:0]      index  [Levels+1];
  logic signed [LeafW:0] delta  [Levels+1];
  logic [LeafW-1:0]      leaf   [Levels+1];
  logic [LeafW-1:0]      chosen;
  logic                  bad      [Levels+1];   // a check found a node of this level wrong
  logic [NLog2-1:0]      bad_node [Levels+1];

  // Tags wait beside the slots and the levels.
  localparam int unsigned Tags = Depth + 4 * Levels;   // each level and link holds up to 3 slots
  logic             tag_ready, tag_valid;
  logic [TAG_W-1:0] tag;
  assign valid[0]    = first_valid;
  assign first_ready = ready[0];
  assign sample[0]   = first.sample;
  assign empty[0]    = first.empty;
  assign row[0]      = '0;
  assign rest[0]     = first.target;
  assign update[0]   = first.update;
  assign check[0]    = first.check;
  assign index[0]    = first.index;
  assign delta[0]    = first.delta;
  assign leaf[0]     = first.leaf;
  jd_stream_fifo #(.Width(TAG_W), .Depth(Tags)) u_tags (
    .clk_i, .rst_ni, .clear_i(1'b0),
    .in_valid_i(slot.sample), .in_ready_o(tag_ready), .in_data_i(slot_tag),
    .out_valid_o(tag_valid), .out_ready_i(valid[Levels] && sample[Levels]), .out_data_o(tag),
    .count_o()
  );

  for (genvar d = 1; d <= Levels; d++) begin : gen_level
    localparam int unsigned ChildW  = node_w(NLog2, KLog2, LeafW, d);
    localparam int unsigned ParentW = ChildW + fan_log2(NLog2, KLog2, d);
    localparam int unsigned LinkW   = 4 + NLog2 + ChildW + NLog2 + 1 + LeafW + LeafW;
    logic [ChildW-1:0]     target_here, value;
    logic                  out_valid, out_ready, out_sample, out_empty, out_update, out_check;
    logic [NLog2-1:0]      out_row, out_index;
    logic signed [LeafW:0] out_delta;
    logic [LeafW-1:0]      out_new;
    jd_replay_scan #(
      .Level(d), .KLog2(KLog2), .NLog2(NLog2), .LeafW(LeafW),
      .LatLut(LatLut), .LatBram(LatBram), .LatUram(LatUram)
    ) u_level (
      .clk_i, .rst_ni,
      .clear_i(clear_q), .clear_index_i(clear_index_q),
      .check_start_i, .check_bad_o(bad[d]), .check_node_o(bad_node[d]),
      .in_valid_i(valid[d-1]), .in_ready_o(ready[d-1]),
      .in_sample_i(sample[d-1]), .in_empty_i(empty[d-1]),
      .in_row_i(row[d-1]), .in_target_i(ParentW'(rest[d-1])),
      .in_update_i(update[d-1]), .in_check_i(check[d-1]), .in_index_i(index[d-1]),
      .in_delta_i(delta[d-1]), .in_new_i(leaf[d-1]),
      .out_valid_o(out_valid), .out_ready_i(out_ready),
      .out_sample_o(out_sample), .out_empty_o(out_empty),
      .out_row_o(out_row), .out_target_o(target_here), .out_value_o(value),
      .out_update_o(out_update), .out_check_o(out_check), .out_index_o(out_index),
      .out_delta_o(out_delta), .out_new_o(out_new)
    );
    if (d == Levels) begin : gen_last
      assign valid[d]  = out_valid;
      assign out_ready = 1'b1;
      assign sample[d] = out_sample;
      assign empty[d]  = out_empty;
      assign row[d]    = out_row;
      assign chosen    = value;
    end else begin : gen_link
      logic [ChildW-1:0] rest_here;
      jd_stream_fifo #(.Width(LinkW), .Depth(2)) u_link (
        .clk_i, .rst_ni, .clear_i(1'b0),
        .in_valid_i(out_valid), .in_ready_o(out_ready),
        .in_data_i({out_sample, out_empty, out_row, target_here,
                    out_update, out_check, out_index, out_delta, out_new}),
        .out_valid_o(valid[d]), .out_ready_i(ready[d]),
        .out_data_o({sample[d], empty[d], row[d], rest_here,
                     update[d], check[d], index[d], delta[d], leaf[d]}),
        .count_o()
      );
      assign rest[d] = TotalW'(rest_here);
    end
  end

  // ---- What the check found: the root is the sum of all leaves, and each level looks itself
  logic [TotalW-1:0] sum_q;
  logic              checks, summed_q;
  assign checks = slot.update && slot.check;
  always_ff @(posedge clk_i) begin
    summed_q <= checks && slot.index == '1;
    if (checks) sum_q <= (slot.index == '0 ? '0 : sum_q) + TotalW'(slot.leaf);
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

  // ---- Responses of samples
  always_ff @(posedge clk_i) begin
    if (!rst_ni) s_valid_o <= 1'b0;
    else         s_valid_o <= valid[Levels] && sample[Levels];
    if (valid[Levels]) begin
      s_response_o <= '{
        tag: tag, empty: empty[Levels],
        index: empty[Levels] ? '1 : 32'(row[Levels]),
        priority_: empty[Levels] ? '0 : LEAF_MAX_W'(chosen)
      };
    end
  end

  // ---- Idle: nothing on its way to the slots, and no slot in the levels
  logic [BusyW-1:0]  entering_q;
  logic [CountW-1:0] inside_q;      // slots queued or in the levels
  logic [2:0]        settle_q;      // until what a check found has arrived
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      entering_q <= '0;
      inside_q   <= '0;
      settle_q   <= '0;
    end else begin
      if (s_valid_i || u_valid_i)  entering_q <= BusyW'(Entry);
      else if (entering_q != '0)   entering_q <= entering_q - BusyW'(1);
      inside_q <= inside_q + CountW'(slot_valid) - CountW'(valid[Levels]);
      if (inside_q != '0)      settle_q <= 3'd4;
      else if (settle_q != '0) settle_q <= settle_q - 3'd1;
    end
  end
  assign idle_o = entering_q == '0 && inside_q == '0 && settle_q == '0 && !clear_q && !clear_i &&
                  !s_valid_i && !u_valid_i;

  `JD_ASSERT_IF(RoomForSlot_A, slot_valid, slot_ready)
  `JD_ASSERT_IF(RoomForTag_A, slot.sample, tag_ready)
  `JD_ASSERT_IF(TagWaits_A, valid[Levels] && sample[Levels], tag_valid)
  `JD_ASSERT_IF(ChosenNotZero_A, valid[Levels] && sample[Levels] && !empty[Levels], chosen != '0)
  `JD_ASSUME_IF(ClearWhenIdle_M, clear_i, entering_q == '0 && inside_q == '0 && !clear_q)
  `JD_ASSUME_IF(NoneWhileClearing_M, clear_q, !s_valid_i && !u_valid_i)
endmodule : jd_replay_core_sequential
