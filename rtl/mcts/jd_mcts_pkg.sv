// SPDX-License-Identifier: Apache-2.0
//
// Widths, tokens and arithmetic that blocks of the mcts engine share.
//
// Numbers  fixed point; the number of fraction bits stands beside each width.
// Source   thesis 2.1.2, 3.3; docs/mcts.md. Golden models: models/mcts/score.py, tree.py.
package jd_mcts_pkg;
  localparam int unsigned LEVEL_W   = 6;
  localparam int unsigned WORKER_W  = 12;
  localparam int unsigned LIST_W    = 4;
  localparam int unsigned ADDRESS_W = 14;   // of a node entry: bank * Cap + index
  localparam int unsigned ACTION_W  = 5;
  localparam int unsigned ID_W      = 16;
  localparam int unsigned VALUE_W   = 24;   // v, q: signed, 20 of fraction
  localparam int unsigned SUM_W     = 40;   // w: signed, 20
  localparam int unsigned SCORE_W   = 32;   // u: signed, 20
  localparam int unsigned LOSS_W    = 31;   // virtual loss of an edge: 20
  localparam int unsigned VISITS_W  = 16;   // n
  localparam int unsigned TOTAL_W   = 17;   // N; P with the value 1: 16
  localparam int unsigned PRIOR_W   = 16;   // P: 16
  localparam int unsigned WEIGHT_W  = 26;   // R, h: 25
  localparam int unsigned SHIFT_W   = 5;    // of G
  localparam int unsigned INDEX_W   = 10;   // of a table

  localparam logic [ID_W-1:0] NO_ID = '1;
  localparam logic signed [SCORE_W-1:0] SCORE_MOST  = 32'sh7FFF_FFFF;
  localparam logic signed [SCORE_W-1:0] SCORE_LEAST = -32'sh7FFF_FFFF;
  localparam logic signed [SCORE_W-1:0] ILLEGAL     = SCORE_LEAST - 32'sd1;

  // What a token does at a node, and how a selection ended.
  localparam logic [1:0] OP_SEL = 2'd0, OP_UPD = 2'd1, OP_INS = 2'd2;
  localparam logic [2:0] EXPAND = 3'd0, REVISIT = 3'd1, TERMINAL = 3'd2, LEAF = 3'd3, NOINS = 3'd4,
                         FULL = 3'd5;
  // What a worker's path did at a node: it ended there; it took an edge; it took an edge without a
  // node, which was its last one.
  localparam logic [1:0] KIND_END = 2'd0, KIND_EDGE = 2'd1, KIND_LAST = 2'd2;
  // States of a node entry.
  localparam logic [1:0] ST_NEW = 2'd1, ST_ACTIVE = 2'd2, ST_TERMINAL = 2'd3;

  // A request on its way through the tree. On the way to a node, address, level and (of an UPD)
  // action and kind are the node's. On the way back address is the child's, and action the edge's.
  typedef struct packed {
    logic [1:0]           op;
    logic                 done;      // back: it goes no further; to the root unit: of a ROOT
    logic [LEVEL_W-1:0]   level;
    logic [WORKER_W-1:0]  worker;
    logic                 parity;    // of the worker's selections
    logic [LIST_W-1:0]    list;
    logic [ADDRESS_W-1:0] address;
    logic [ACTION_W-1:0]  action;
    logic [2:0]           code;      // SEL: how it ended; UPD: kind
    logic [46:0]          rest;      // select_t or update_t
  } token_t;
  typedef struct packed {
    logic                 slot_valid;
    logic [ADDRESS_W-1:0] slot;      // entry for a new node
    logic [ID_W-1:0]      new_id;    // NO_ID: insert nothing; when done: of the last node
    logic [ID_W-1:0]      parent;    // of the node that the last edge leaves
  } select_t;
  typedef struct packed {
    logic signed [VALUE_W-1:0] value;
    logic                 negate;    // at this edge
    logic                 alternate;
    logic                 activate;
    logic                 terminal;
    logic [18:0]          zero;
  } update_t;
  localparam int unsigned TOKEN_W = $bits(token_t);

  // Settings of a tree.
  typedef struct packed {
    logic                      puct;
    logic                      first;     // unvisited children go first
    logic [5:0]                f_act;
    logic [6:0]                d_act;
    logic [23:0]               vl;
    logic signed [VALUE_W-1:0] fpu;
    logic [1:0]                policy;
  } settings_t;

  // What a request's response says; the queue adds phase and time.
  typedef struct packed {
    logic [15:0]         tag;
    logic [ID_W-1:0]     parent;
    logic [ID_W-1:0]     new_id;
    logic [ID_W-1:0]     node;
    logic [ACTION_W-1:0] action;
    logic [LEVEL_W-1:0]  depth;
    logic [WORKER_W-1:0] worker;
    logic [6:0]          code;
  } response_t;
  localparam int unsigned RESPONSE_W = $bits(response_t);
  localparam logic [6:0] CODE_OK = 7'd5;

  // A job on its way: a list to run, or the end of any other.
  typedef struct packed {
    logic [3:0]  job;         // low bits of its number
    logic        list;
    logic [7:0]  error;       // of a job that is no list
    logic [31:0] info0;
    logic [31:0] info1;
    logic [16:0] slots;
    logic [39:0] address;
    logic [39:0] root;        // where READ_ROOT writes; 0: nowhere
  } job_t;
  typedef struct packed {
    logic [3:0]  job;
    logic        list;
    logic [7:0]  error;
    logic [15:0] refused;
    logic [31:0] executed;
    logic [31:0] info0;
    logic [31:0] info1;
  } end_t;

  // A write of the tables G and R of all units.
  typedef struct packed {
    logic                valid;
    logic                r;          // R, else G
    logic [INDEX_W-1:0]  index;
    logic [WEIGHT_W-1:0] data;       // G: {shift, mantissa}
  } table_write_t;

  // The table entry of a count: exact below 512, then 64 steps to each power of two.
  function automatic logic [INDEX_W-1:0] table_index(logic [TOTAL_W-1:0] count);
    logic [INDEX_W-1:0] index;
    index = count[INDEX_W-1:0];
    for (int unsigned e = 9; e < TOTAL_W; e++) begin
      if (count[e]) index = INDEX_W'(512 + (e - 9) * 64) + INDEX_W'(6'(count >> (e - 6)));
    end
    return index;
  endfunction

  // A score of a legal child less a virtual loss. Both sums of it are made side by side: with its sign
  // turned over, a score is how far it lies above the least number of SCORE_W bits.
  function automatic logic signed [SCORE_W-1:0] less(logic signed [SCORE_W-1:0] score,
                                                     logic [LOSS_W-1:0] loss);
    logic beyond;
    beyond = {!score[SCORE_W-1], score[SCORE_W-2:0]} <= {1'b0, loss};
    return beyond ? SCORE_LEAST : score - signed'({1'b0, loss});
  endfunction

  // A selector takes groups of at most `factor` scores, then of their winners: what is left of `count`
  // after some clocks, and T_sel.
  function automatic int unsigned select_left(int unsigned count, int unsigned factor,
                                              int unsigned clocks);
    int unsigned left;
    left = count;
    for (int unsigned k = 0; k < clocks; k++) left = (left + factor - 1) / factor;
    return left;
  endfunction
  function automatic int unsigned select_clocks(int unsigned count, int unsigned factor);
    int unsigned clocks;
    clocks = 0;
    while (select_left(count, factor, clocks) > 1) clocks = clocks + 1;
    return clocks;
  endfunction
endpackage : jd_mcts_pkg
