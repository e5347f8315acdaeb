// SPDX-License-Identifier: Apache-2.0
//
// Types, codes and the latency table of the replay engine.
//
// Structs have the widths of the largest build (2^20 leaves of 32 bits); a smaller build uses the
// low bits. All functions are of the elaboration parameters alone. Levels are numbered 1 (below
// the root) to levels() (the leaves). Source: onchip_replay 2.1.2, 3.1, figure 5.
package jd_replay_pkg;
  localparam int unsigned INDEX_W    = 20;  // bits of a leaf index
  localparam int unsigned LEAF_MAX_W = 32;  // bits of a leaf
  localparam int unsigned TOTAL_W    = INDEX_W + LEAF_MAX_W;  // bits of the root
  localparam int unsigned SLOT_W     = 10;  // bits of a batch slot, batches up to 1024
  localparam int unsigned X_W        = 48;  // bits of a uniform number
  localparam int unsigned TAG_W      = 32;  // returned with a response, free for the user

  // Operation codes of the unified request.
  typedef enum logic [3:0] {
    OpNop         = 4'd0,
    OpSample      = 4'd1,
    OpRetrieve    = 4'd2,
    OpUpdate      = 4'd3,
    OpUpdateDelta = 4'd4,
    OpInsert      = 4'd5,
    OpUpdateSlot  = 4'd6,
    OpReserve     = 4'd7,
    OpCommit      = 4'd8,
    OpCheck       = 4'd9   // of a CHECK job, for every leaf in order: changes nothing
  } op_e;

  // S lane: one sample.
  typedef struct packed {
    logic [TAG_W-1:0]  tag;
    logic              host_x;      // use x instead of the generator, which then does not step
    logic [X_W-1:0]    x;           // uniform 48-bit integer
    logic              stratified;  // target from the slot's own 2^-slots_log2 part of the total
    logic [3:0]        slots_log2;  // log2 of the batch size, 0..10
    logic [SLOT_W-1:0] slot;        // slot in the batch, below 2^slots_log2
  } sample_request_t;

  typedef struct packed {
    logic [TAG_W-1:0]      tag;
    logic                  empty;     // the total was 0 at the sample's slot: nothing was chosen
    logic [31:0]           index;     // all ones if empty
    logic [LEAF_MAX_W-1:0] priority_; // 0 if empty
  } sample_response_t;

  // U lane: every other operation. The user has checked it: index below N, reservations in range.
  typedef struct packed {
    logic [TAG_W-1:0]   tag;
    op_e                op;
    logic               use_pmax;  // INSERT, COMMIT: the value is PMAX
    logic [INDEX_W-1:0] index;     // RETRIEVE, UPDATE, UPDATE_DELTA, UPDATE_SLOT
    logic [63:0]        value;     // new leaf in the low bits; UPDATE_DELTA: signed
    logic [INDEX_W-1:0] head;      // UPDATE_SLOT: order_head_o and order_moves_o of the batch's
    logic [31:0]        moves;     //   first sample
  } update_request_t;

  typedef struct packed {
    logic [TAG_W-1:0]      tag;
    op_e                   op;
    logic                  stale;     // UPDATE_SLOT: dropped
    logic [INDEX_W-1:0]    index;     // the leaf used
    logic [LEAF_MAX_W-1:0] priority_; // after the operation
    logic [LEAF_MAX_W-1:0] old;       // before it
  } update_response_t;

  // A sample passes the order point: whose it is, and the insertion state that it sees.
  typedef struct packed {
    logic [TAG_W-1:0]   tag;
    logic [INDEX_W-1:0] head;      // next leaf to be inserted or reserved
    logic [31:0]        moves;     // leaves inserted or reserved since the clear
  } order_t;

  // What the host sees of the tree, and what it may load while nothing is in flight.
  typedef struct packed {
    logic [INDEX_W:0]      leaves;    // N
    logic [INDEX_W:0]      count;     // leaves ever inserted, at most N
    logic [INDEX_W-1:0]    pointer;   // next leaf to be inserted
    logic [INDEX_W:0]      reserved;  // leaves reserved and not committed
    logic [LEAF_MAX_W-1:0] pmax;      // largest priority
    logic [TOTAL_W-1:0]    total;     // the root
    logic [255:0]          seed;      // of the generator
  } tree_state_t;

  typedef struct packed {
    logic         count;      // which of them
    logic         pointer;
    logic         pmax;
    logic [31:0]  value;      // of these three
    logic         seed;
    logic [255:0] seed_value;
  } tree_load_t;

  // What a check found: the first wrong node of the topmost level that has one.
  typedef struct packed {
    logic               bad;
    logic [4:0]         level;   // 0 is the root, levels() the leaves
    logic [INDEX_W-1:0] node;
  } tree_check_t;

  // ---- Shape of the tree ----
  function automatic int unsigned levels(int unsigned n_log2, int unsigned k_log2);
    return (n_log2 + k_log2 - 1) / k_log2;
  endfunction

  // log2 of the nodes of a level, of the children of one of its parents, and of its rows.
  function automatic int unsigned nodes_log2(int unsigned n_log2, int unsigned k_log2,
                                             int unsigned level);
    return n_log2 - (levels(n_log2, k_log2) - level) * k_log2;
  endfunction

  function automatic int unsigned fan_log2(int unsigned n_log2, int unsigned k_log2,
                                           int unsigned level);
    return level == 1 ? nodes_log2(n_log2, k_log2, 1) : k_log2;
  endfunction

  function automatic int unsigned rows_log2(int unsigned n_log2, int unsigned k_log2,
                                            int unsigned level);
    return nodes_log2(n_log2, k_log2, level) - fan_log2(n_log2, k_log2, level);
  endfunction

  // Bits of a node: it holds at most 2^(n_log2 - nodes_log2) leaves of leaf_w bits.
  function automatic int unsigned node_w(int unsigned n_log2, int unsigned k_log2,
                                         int unsigned leaf_w, int unsigned level);
    return leaf_w + n_log2 - nodes_log2(n_log2, k_log2, level);
  endfunction

  // ---- Latency table, in clocks ----
  // Memory of 2^nodes_log2 nodes: LUT RAM up to 2048, block RAM up to 65536, then UltraRAM.
  localparam int unsigned ULTRA_LOG2 = 16;

  function automatic int unsigned ram_latency(int unsigned nodes, int unsigned lm_lut,
                                              int unsigned lm_bram, int unsigned lm_uram);
    return nodes <= 11 ? lm_lut : nodes <= ULTRA_LOG2 ? lm_bram : lm_uram;
  endfunction

  function automatic logic in_uram(int unsigned nodes);
    return nodes > ULTRA_LOG2;
  endfunction

  // LM: read latency of a level; the single row of level 1 is in registers.
  function automatic int unsigned read_latency(int unsigned n_log2, int unsigned k_log2,
                                               int unsigned level, int unsigned lm_lut,
                                               int unsigned lm_bram, int unsigned lm_uram);
    return level == 1 ? 0
                      : ram_latency(nodes_log2(n_log2, k_log2, level), lm_lut, lm_bram, lm_uram);
  endfunction

  // LU: from an update's arrival at a level to the clock in which it writes the new node, and in
  // which the sample of the same slot reads its row. A leaf is written without being read.
  function automatic int unsigned write_latency(int unsigned n_log2, int unsigned k_log2,
                                                int unsigned level, int unsigned lm_lut,
                                                int unsigned lm_bram, int unsigned lm_uram);
    return level == levels(n_log2, k_log2) ? 1
           : read_latency(n_log2, k_log2, level, lm_lut, lm_bram, lm_uram) + 2;
  endfunction

  // CMP: stages of the row compare. Rows of up to 4 are compared at once, wider ones by groups.
  function automatic int unsigned group_log2(int unsigned fan);
    return fan <= 2 ? fan : (fan + 1) / 2;
  endfunction

  function automatic int unsigned compare_latency(int unsigned fan);
    return fan <= 2 ? fan + 2 : 2 * group_log2(fan) + (fan - group_log2(fan)) + 4;
  endfunction

  function automatic int unsigned level_latency(int unsigned n_log2, int unsigned k_log2,
                                                int unsigned level, int unsigned lm_lut,
                                                int unsigned lm_bram, int unsigned lm_uram);
    return write_latency(n_log2, k_log2, level, lm_lut, lm_bram, lm_uram) +
           read_latency(n_log2, k_log2, level, lm_lut, lm_bram, lm_uram) +
           compare_latency(fan_log2(n_log2, k_log2, level));
  endfunction

  // F: from an update's acceptance to the order point; also the latency of its response.
  function automatic int unsigned front_latency(int unsigned n_log2, int unsigned lm_lut,
                                                int unsigned lm_bram, int unsigned lm_uram);
    return ram_latency(n_log2, lm_lut, lm_bram, lm_uram) + 2;
  endfunction

  // From a sample's acceptance to the order point: generator, output function, position.
  localparam int unsigned SAMPLE_ORDER = 4;

  // A_d: from the order point to level d; multiplier between two registers before level 1.
  function automatic int unsigned level_start(int unsigned n_log2, int unsigned k_log2,
                                              int unsigned level, int unsigned lm_lut,
                                              int unsigned lm_bram, int unsigned lm_uram,
                                              int unsigned mul_lat);
    int unsigned start;
    start = mul_lat + 2;
    for (int unsigned d = 1; d < level; d++) begin
      start += level_latency(n_log2, k_log2, d, lm_lut, lm_bram, lm_uram);
    end
    return start;
  endfunction

  // Latency of a sample in the core. L_S of the engine is this and 9: 2 to issue, 7 at the output.
  function automatic int unsigned sample_latency(int unsigned n_log2, int unsigned k_log2,
                                                 int unsigned lm_lut, int unsigned lm_bram,
                                                 int unsigned lm_uram, int unsigned mul_lat);
    return SAMPLE_ORDER + 1 + level_start(n_log2, k_log2, levels(n_log2, k_log2) + 1, lm_lut,
                                          lm_bram, lm_uram, mul_lat);
  endfunction

  // Latencies of the converters.
  localparam int unsigned PRIORITY_LATENCY = 15;  // jd_replay_priority
  localparam int unsigned WEIGHT_LATENCY   = 10;   // jd_replay_weight
endpackage : jd_replay_pkg
