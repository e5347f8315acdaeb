// SPDX-License-Identifier: Apache-2.0
//
// The sum tree of the engine: the pipelined one, or the published one.
//
// Streams  as jd_replay_core. ready_o: both lanes take operations; always, in the pipelined tree.
// Timing   as jd_replay_core or jd_replay_core_sequential; nothing is added.
// Numbers  as jd_replay_core.
// Source   onchip_replay 3.1, figure 5. Golden model: models/replay/flat.py, FlatTree.
`include "jd_assert.svh"
module jd_replay_tree
  import jd_replay_pkg::*;
#(
  parameter int unsigned KLog2      = 4,    // log2 of the fan-out, 1..6
  parameter int unsigned NLog2      = 16,   // log2 of the leaves, 2..20
  parameter int unsigned LeafW      = 32,   // bits of a leaf, 8..32
  parameter int unsigned SlotsLog2  = 9,    // log2 of the largest batch, 3..10
  parameter int unsigned LatLut     = 1,    // read latency of LUT RAM, 1..6
  parameter int unsigned LatBram    = 2,    // of block RAM, 1..6
  parameter int unsigned LatUram    = 4,    // of UltraRAM, 1..6
  parameter int unsigned LatMul     = 6,    // of the multiplier, 3..8
  parameter bit          Sequential = 1'b0  // the published tree, one child per clock
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,         // pulse: all leaves 0, with N and PMAX as given
  input  logic [INDEX_W:0] clear_leaves_i,
  input  logic [LeafW-1:0] clear_pmax_i,
  input  logic             check_start_i,   // pulse, before the operations of a check
  output tree_check_t      check_o,
  output logic             ready_o,
  input  logic             s_valid_i,
  input  sample_request_t  s_request_i,
  output logic             s_valid_o,
  output sample_response_t s_response_o,
  input  logic             u_valid_i,
  input  update_request_t  u_request_i,
  output logic             u_valid_o,
  output update_response_t u_response_o,
  output logic             order_valid_o,   // a sample passes the order point in this clock
  output order_t           order_o,
  input  tree_load_t       load_i,
  output tree_state_t      state_o,
  output logic             idle_o           // nothing in flight, no clear
);
  logic [LeafW-1:0] pmax;
  assign state_o.pmax = LEAF_MAX_W'(pmax);

  if (Sequential) begin : gen_sequential
    jd_replay_core_sequential #(
      .KLog2     (KLog2),
      .NLog2     (NLog2),
      .LeafW     (LeafW),
      .SlotsLog2 (SlotsLog2),
      .LatLut    (LatLut),
      .LatBram   (LatBram),
      .LatUram   (LatUram),
      .LatMul    (LatMul)
    ) u_core (
      .clk_i,
      .rst_ni,
      .clear_i,
      .clear_leaves_i,
      .clear_pmax_i,
      .clear_busy_o   (),
      .check_start_i,
      .check_bad_o    (check_o.bad),
      .check_level_o  (check_o.level),
      .check_node_o   (check_o.node),
      .ready_o,
      .s_valid_i,
      .s_request_i,
      .s_valid_o,
      .s_response_o,
      .u_valid_i,
      .u_request_i,
      .u_valid_o,
      .u_response_o,
      .order_valid_o,
      .order_tag_o    (order_o.tag),
      .order_head_o   (order_o.head),
      .order_moves_o  (order_o.moves),
      .leaves_o       (state_o.leaves),
      .count_o        (state_o.count),
      .pointer_o      (state_o.pointer),
      .reserved_o     (state_o.reserved),
      .moves_o        (),
      .pmax_o         (pmax),
      .load_count_i   (load_i.count),
      .load_pointer_i (load_i.pointer),
      .load_pmax_i    (load_i.pmax),
      .load_value_i   (load_i.value),
      .seed_load_i    (load_i.seed),
      .seed_i         (load_i.seed_value),
      .seed_o         (state_o.seed),
      .total_o        (state_o.total),
      .idle_o
    );
  end else begin : gen_pipelined
    jd_replay_core #(
      .KLog2     (KLog2),
      .NLog2     (NLog2),
      .LeafW     (LeafW),
      .SlotsLog2 (SlotsLog2),
      .LatLut    (LatLut),
      .LatBram   (LatBram),
      .LatUram   (LatUram),
      .LatMul    (LatMul)
    ) u_core (
      .clk_i,
      .rst_ni,
      .clear_i,
      .clear_leaves_i,
      .clear_pmax_i,
      .clear_busy_o   (),
      .check_start_i,
      .check_bad_o    (check_o.bad),
      .check_level_o  (check_o.level),
      .check_node_o   (check_o.node),
      .s_valid_i,
      .s_request_i,
      .s_valid_o,
      .s_response_o,
      .u_valid_i,
      .u_request_i,
      .u_valid_o,
      .u_response_o,
      .order_valid_o,
      .order_tag_o    (order_o.tag),
      .order_head_o   (order_o.head),
      .order_moves_o  (order_o.moves),
      .leaves_o       (state_o.leaves),
      .count_o        (state_o.count),
      .pointer_o      (state_o.pointer),
      .reserved_o     (state_o.reserved),
      .moves_o        (),
      .pmax_o         (pmax),
      .load_count_i   (load_i.count),
      .load_pointer_i (load_i.pointer),
      .load_pmax_i    (load_i.pmax),
      .load_value_i   (load_i.value),
      .seed_load_i    (load_i.seed),
      .seed_i         (load_i.seed_value),
      .seed_o         (state_o.seed),
      .total_o        (state_o.total),
      .idle_o
    );
    assign ready_o = 1'b1;
  end

  `JD_ASSERT_IF(LeavesInTree_A, u_valid_i || s_valid_i,
                state_o.leaves != '0 && state_o.leaves <= (INDEX_W + 1)'(2 ** NLog2))
endmodule : jd_replay_tree
