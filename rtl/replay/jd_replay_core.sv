// SPDX-License-Identifier: Apache-2.0
//
// The sum tree: a sample lane and an update lane, each one operation a clock, in one slot order.
//
// Streams  s_*: samples; u_*: all other operations. Both are pipes: valid only, never stalled,
//          answered in order. The user has checked each operation and bounds what is in flight.
// Timing   s_valid_o is sample_latency() after s_valid_i, u_valid_o front_latency() after u_valid_i
//          (jd_replay_pkg). Operations take effect in the order in which they pass the order
//          point: a sample SAMPLE_ORDER clocks after it enters (order_valid_o), an update in the
//          clock of u_valid_o; of two in one clock the sample is first. A clear takes
//          2^NLog2 / 2^KLog2 + 4 clocks; it may start only while idle_o is up.
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
  parameter int unsigned LatMul     = 6    // of the multiplier, 3..8
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // Clear: all leaves 0, insertion state 0, PMAX as given, N as given.
  input  logic                 clear_i,         // pulse
  input  logic [INDEX_W:0]     clear_leaves_i,  // N, 1..2^NLog2
  input  logic [LeafW-1:0]     clear_pmax_i,
  output logic                 clear_busy_o,
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
  output logic [LeafW-1:0]     pmax_o,          // largest priority, of operations past the order point
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
endmodule : jd_replay_core
