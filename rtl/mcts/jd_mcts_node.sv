// SPDX-License-Identifier: Apache-2.0
//
// A node unit: selects, updates and inserts, beside the memory of its node entries.
//
// Streams  in, out: a token that does one thing at one node, and what becomes of it. A token of a ROOT
//          request (done) ends here, with silent_o. row_*: a write of the legal children and priors
//          that a worker's update brings; each unit has all rows, so an evaluation waits for none.
//          table_i: a write of the tables. peek_*: a word of an entry, shown three clocks after it is
//          asked for while the unit is idle.
// Timing   A token per clock, TSel + 4 clocks from in to out; ceil(F / Mu) clocks from update to
//          update. jd_mcts_scoreboard says which ones wait. Memories are read in the first clock; the
//          results of the last three operations are forwarded. Only updates write scores, 20 clocks
//          later at TSel = 1 and Mu = F; a score read is less by the virtual loss beside it.
// Numbers  docs/mcts.md, numbers. n, N and w stand at their largest value (sat_o).
// Source   thesis 3.3 (selector, updater, inserter). Golden model: models/mcts/tree.py.
`include "jd_assert.svh"
module jd_mcts_node
  import jd_mcts_pkg::*;
#(
  parameter  int unsigned F      = 6,    // children, 2..32
  parameter  int unsigned Fs     = 6,    // comparison-lookup factor, 2..F
  parameter  int unsigned Mu     = 6,    // multipliers for scores, 1..F
  parameter  int unsigned Depth  = 512,  // node entries, 2..16384
  parameter  int unsigned WMax   = 256,  // workers, power of two 2..4096
  localparam int unsigned EntryW = $clog2(Depth),
  localparam int unsigned RowW   = $clog2(WMax) + 1
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  settings_t                 settings_i,
  input  table_write_t              table_i,
  input  logic                      in_valid_i,
  output logic                      in_ready_o,
  input  token_t                    in_token_i,
  input  logic [EntryW-1:0]         in_entry_i,     // of the token's address
  output logic                      out_valid_o,
  input  logic                      out_ready_i,
  output token_t                    out_token_o,
  output logic                      silent_o,
  input  logic                      row_write_i,
  input  logic [RowW-1:0]           row_i,          // {worker, parity}
  input  logic [F-1:0]              row_legal_i,
  input  logic [F-1:0][PRIOR_W-1:0] row_priors_i,
  output logic                      hazard_o,       // the head waits for another operation
  output logic                      busy_o,         // one starts
  output logic                      sat_o,
  input  logic                      peek_i,
  input  logic [EntryW-1:0]         peek_entry_i,
  input  logic [8:0]                peek_word_i,
  output logic [31:0]               peek_data_o
);
  if (Depth < 2 || Depth > 16384 || WMax < 2 || WMax > 4096) begin : gen_bad_size
    $fatal(1, "jd_mcts_node: Depth=%0d, want 2..16384, WMax=%0d, want 2..4096", Depth, WMax);
  end
  localparam int unsigned TSel     = select_clocks(F, Fs);
  localparam int unsigned Spread   = (F + Mu - 1) / Mu;
  localparam int unsigned Forwards = 3;              // results that reads of the memories miss
  localparam int unsigned OutDepth = 16;
  localparam int unsigned RoomW    = $clog2(OutDepth + 1);

  typedef struct packed {                            // of an edge
    logic                 child_valid;
    logic [ADDRESS_W-1:0] child;
    logic [LOSS_W-1:0]    loss;
    logic [VISITS_W-1:0]  visits;
    logic [SUM_W-1:0]     sum;
  } edge_t;
  typedef struct packed {                            // of a node
    logic                 scored;                    // means and weights are its own
    logic [1:0]           state;
    logic [ID_W-1:0]      ident;
    logic [LEVEL_W-1:0]   level;
    logic [TOTAL_W-1:0]   total;
  } head_t;
  typedef struct packed {
    logic [F-1:0]              legal;
    logic [F-1:0][PRIOR_W-1:0] priors;
  } act_t;
  localparam int unsigned EdgeW = $bits(edge_t);

  // ---- The head of the input: may it start?
  update_t   head_update;
  logic      is_act, is_term, go, start;
  logic      scores, hard;
  logic [RoomW-1:0] room_q;                          // free in the output FIFO, for what starts
  assign head_update = update_t'(in_token_i.rest);
  assign is_act  = in_token_i.op == OP_UPD && in_token_i.code[1:0] == KIND_END
                   && head_update.activate;
  assign is_term = in_token_i.op == OP_UPD && in_token_i.code[1:0] == KIND_END
                   && head_update.terminal;
  assign scores  = is_act || (in_token_i.op == OP_UPD && in_token_i.code[1:0] != KIND_END);
  assign hard    = is_act || is_term || in_token_i.op == OP_INS;
  jd_mcts_scoreboard #(
    .EntryW  (EntryW),
    .TSel    (TSel),
    .Hard    (TSel + Forwards),
    .Publish (18 + TSel + Spread),
    .Spread  (Spread)
  ) u_scoreboard (
    .clk_i, .rst_ni,
    .entry_i  (in_entry_i),
    .select_i (in_token_i.op == OP_SEL),
    .scores_i (scores),
    .hard_i   (hard),
    .start_i  (start),
    .go_o     (go)
  );
  assign start      = in_valid_i && go && room_q != '0;
  assign in_ready_o = start;
  assign hazard_o   = in_valid_i && !go;
  assign busy_o     = start;

  // ---- Clock 1: the memories' words
  typedef struct packed {
    logic [EntryW-1:0]       entry;
    logic [ACTION_W-1:0]     action;
    logic [F-1:0]            edge_of;                // the edge that it wrote,
    logic [F-1:0]            score_of;               // the score that it lowered,
    logic                    update;                 // or a new N
    edge_t                   lane;
    logic [SCORE_W-1:0]      score;
    logic [TOTAL_W-1:0]      total;
  } result_t;
  logic                      valid_q, peek_q, reading;
  token_t                    token_q;
  logic [EntryW-1:0]         entry_q, read_entry, work_entry;
  logic [F-1:0][EdgeW-1:0]   edges_read, write_edges;
  logic [F-1:0]              write_lanes;
  logic                      write_head, write_act, write_row;
  head_t                     head_read, head_write;
  act_t                      act_read, act_write, brought;   // the last: by the worker's update
  logic [F-1:0][SCORE_W-1:0] base_read, base_write;
  logic [EntryW-1:0]         write_entry, base_entry;
  logic                      base_valid;
  assign reading    = start || peek_i;
  assign read_entry = start ? in_entry_i : peek_entry_i;
  jd_mem_1r1w #(.Depth (Depth), .Lanes (F), .LaneW (EdgeW)) u_edges (
    .clk_i, .rst_ni,
    .write_en_i   (write_row),
    .write_addr_i (write_entry),
    .write_mask_i (write_lanes),
    .write_data_i (write_edges),
    .read_en_i    (reading),
    .read_addr_i  (read_entry),
    .read_data_o  (edges_read)
  );
  jd_mem_1r1w #(.Depth (Depth), .Lanes (1), .LaneW ($bits(head_t))) u_heads (
    .clk_i, .rst_ni,
    .write_en_i   (write_head),
    .write_addr_i (write_entry),
    .write_mask_i (1'b1),
    .write_data_i (head_write),
    .read_en_i    (reading),
    .read_addr_i  (read_entry),
    .read_data_o  (head_read)
  );
  jd_mem_1r1w #(.Depth (Depth), .Lanes (1), .LaneW ($bits(act_t))) u_acts (
    .clk_i, .rst_ni,
    .write_en_i   (write_act),
    .write_addr_i (write_entry),
    .write_mask_i (1'b1),
    .write_data_i (act_write),
    .read_en_i    (reading),
    .read_addr_i  (read_entry),
    .read_data_o  (act_read)
  );
  jd_mem_1r1w #(.Depth (Depth), .Lanes (1), .LaneW (F * SCORE_W)) u_bases (
    .clk_i, .rst_ni,
    .write_en_i   (base_valid),
    .write_addr_i (base_entry),
    .write_mask_i (1'b1),
    .write_data_i (base_write),
    .read_en_i    (reading),
    .read_addr_i  (read_entry),
    .read_data_o  (base_read)
  );
  jd_mem_1r1w #(.Depth (2 * WMax), .Lanes (1), .LaneW ($bits(act_t))) u_rows (
    .clk_i, .rst_ni,
    .write_en_i   (row_write_i),
    .write_addr_i (row_i),
    .write_mask_i (1'b1),
    .write_data_i ({row_legal_i, row_priors_i}),
    .read_en_i    (start),
    .read_addr_i  (RowW'({in_token_i.worker, in_token_i.parity})),
    .read_data_o  (brought)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q <= 1'b0;
      peek_q  <= 1'b0;
    end else begin
      valid_q <= start;
      peek_q  <= peek_i && !start;
    end
    if (start) begin
      token_q <= in_token_i;
      entry_q <= in_entry_i;
    end
  end

  // ---- Clock 1 ends: the older of the results that the words miss take their places
  logic                      work_valid;             // an operation's result comes with this clock
  result_t                   result, results_q [Forwards];   // the youngest first
  logic [Forwards-1:0]       results_valid_q;
  logic [Forwards-2:0]       same;                   // a result is one of this node
  // So is that of the operation before it: of these edge, score, total.
  logic [F-1:0]              edge_of_q2, score_of_q2;
  logic                      total_of_q2;
  edge_t [F-1:0]             edges1;
  head_t                     head1;
  logic [F-1:0][SCORE_W-1:0] scores1;
  logic [F-1:0]              named;                  // the edge that an update counts
  always_comb begin
    for (int unsigned k = 0; k < Forwards - 1; k++) begin
      same[k] = results_valid_q[k] && results_q[k].entry == entry_q;
    end
    head1 = head_read;
    for (int unsigned a = 0; a < F; a++) begin
      edges1[a]  = edge_t'(edges_read[a]);
      scores1[a] = act_read.legal[a] ? less(base_read[a], edges1[a].loss) : ILLEGAL;
      named[a]   = token_q.op == OP_UPD && token_q.action == ACTION_W'(a);
    end
    for (int k = Forwards - 2; k >= 0; k--) begin
      for (int unsigned a = 0; a < F; a++) begin
        if (same[k] && results_q[k].edge_of[a])  edges1[a]  = results_q[k].lane;
        if (same[k] && results_q[k].score_of[a]) scores1[a] = results_q[k].score;
      end
      if (same[k] && results_q[k].update) head1.total = results_q[k].total;
    end
  end

  // ---- Clock 2: the youngest result, known since the clock began; select
  logic                      valid_q2, peek_q2;
  token_t                    token_q2;
  logic [EntryW-1:0]         entry_q2;
  logic [F-1:0]              named_q2;
  act_t                      act_q2, brought_q2;
  edge_t [F-1:0]             edges_q2, edges2;
  head_t                     head_q2, head2;
  logic [F-1:0][SCORE_W-1:0] scores_q2, scores2;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q2 <= 1'b0;
      peek_q2  <= 1'b0;
    end else begin
      valid_q2 <= valid_q;
      peek_q2  <= peek_q;
    end
    edge_of_q2  <= work_valid && work_entry == entry_q ? result.edge_of : '0;
    score_of_q2 <= work_valid && work_entry == entry_q ? result.score_of : '0;
    total_of_q2 <= work_valid && work_entry == entry_q && result.update;
    if (valid_q || peek_q) begin
      token_q2   <= token_q;
      entry_q2   <= entry_q;
      named_q2   <= named;
      act_q2     <= act_read;
      brought_q2 <= brought;
      edges_q2   <= edges1;
      head_q2    <= head1;
      scores_q2  <= scores1;
    end
  end
  always_comb begin
    edges2  = edges_q2;
    head2   = head_q2;
    scores2 = scores_q2;
    for (int unsigned a = 0; a < F; a++) begin
      if (edge_of_q2[a])  edges2[a]  = results_q[0].lane;
      if (score_of_q2[a]) scores2[a] = results_q[0].score;
    end
    if (total_of_q2) head2.total = results_q[0].total;
  end
  logic [F-1:0]        wins;
  logic [ACTION_W-1:0] picked;
  jd_mcts_select #(.F (F), .Fs (Fs)) u_select (
    .clk_i, .rst_ni,
    .valid_i  (valid_q2 && token_q2.op == OP_SEL),
    .scores_i (scores2),
    .taken_o  (wins),
    .index_o  (picked)
  );

  // ---- The last clock of the selection: what becomes of node and token
  typedef struct packed {
    token_t                    token;
    logic [EntryW-1:0]         entry;
    logic [F-1:0]              named;
    act_t                      new_act;
    act_t                      act;
    edge_t [F-1:0]             edges;
    head_t                     head;
    logic [F-1:0][SCORE_W-1:0] scores;
  } work_t;
  work_t work;
  assign work_entry = work.entry;
  if (TSel == 1) begin : gen_at_once
    assign work_valid = valid_q2;
    assign work = '{token: token_q2, entry: entry_q2, named: named_q2, new_act: brought_q2,
                    act: act_q2, edges: edges2, head: head2, scores: scores2};
  end else begin : gen_later
    logic [TSel-2:0] later_valid_q;
    work_t           later_q [TSel-1];
    always_ff @(posedge clk_i) begin
      if (!rst_ni) later_valid_q <= '0;
      else         later_valid_q <= (TSel - 1)'({later_valid_q, valid_q2});
      if (valid_q2) begin
        later_q[0] <= '{token: token_q2, entry: entry_q2, named: named_q2, new_act: brought_q2,
                        act: act_q2, edges: edges2, head: head2, scores: scores2};
      end
    end
    for (genvar k = 1; k < TSel - 1; k++) begin : gen_stage
      always_ff @(posedge clk_i) begin
        if (later_valid_q[k-1]) later_q[k] <= later_q[k-1];
      end
    end
    assign work_valid = later_valid_q[TSel-2];
    assign work       = later_q[TSel-2];
  end

  select_t sel;
  update_t upd;
  logic    is_sel, is_ins, is_edge, is_end, stops, inserts, goes_on, full_visits, full_total, fresh;
  logic [ACTION_W-1:0] action;
  assign sel     = select_t'(work.token.rest);
  assign upd     = update_t'(work.token.rest);
  assign is_sel  = work.token.op == OP_SEL;
  assign is_ins  = work.token.op == OP_INS;
  assign is_end  = work.token.op == OP_UPD && work.token.code[1:0] == KIND_END;
  assign is_edge = work.token.op == OP_UPD && work.token.code[1:0] != KIND_END;
  assign action  = is_sel ? picked : work.token.action;
  assign fresh   = is_end && work.head.state == ST_NEW;

  // A selection makes each child's edge as it would leave it while the child is chosen; an update
  // has its edge named.
  logic signed [VALUE_W:0]   value;
  logic signed [VALUE_W-1:0] counted;
  logic [F-1:0]              taken;
  edge_t [F-1:0]             lanes;
  logic [F-1:0][SCORE_W-1:0] lowered;
  edge_t                     lane, chosen, chosen_old, counts, counts_old;
  logic [SCORE_W-1:0]        score;
  logic [F-1:0]              unvisited;
  assign value   = upd.negate ? -(VALUE_W + 1)'(upd.value) : (VALUE_W + 1)'(upd.value);
  assign counted = value[VALUE_W:VALUE_W-1] == 2'b01 ? 24'sh7F_FFFF : value[VALUE_W-1:0];
  assign taken   = is_sel ? wins : work.named;
  always_comb begin
    chosen     = '0;
    chosen_old = '0;
    counts_old = '0;
    score      = '0;
    for (int unsigned a = 0; a < F; a++) begin
      lowered[a]    = less(work.scores[a], {7'd0, settings_i.vl});
      lanes[a]      = work.edges[a];
      lanes[a].loss = work.edges[a].loss + {7'd0, settings_i.vl};
      if (!work.edges[a].child_valid && sel.slot_valid) begin
        lanes[a].child_valid = 1'b1;
        lanes[a].child       = sel.slot;
      end
      unvisited[a] = is_end || (work.edges[a].visits == '0 && !work.named[a]);
      chosen     = chosen     | ({EdgeW{wins[a]}} & lanes[a]);
      chosen_old = chosen_old | ({EdgeW{wins[a]}} & work.edges[a]);
      counts_old = counts_old | ({EdgeW{work.named[a]}} & work.edges[a]);
      score      = score      | ({SCORE_W{wins[a]}} & lowered[a]);
    end
    counts      = counts_old;
    counts.loss = counts_old.loss - {7'd0, settings_i.vl};
    if (!full_visits) begin
      counts.visits = counts_old.visits + 1'b1;
      counts.sum    = counts_old.sum + SUM_W'(counted);
    end
    lane = is_ins ? '0 : is_sel ? chosen : counts;
  end
  assign full_visits = counts_old.visits == '1;
  assign full_total  = work.head.total == '1;
  assign stops   = work.head.state != ST_ACTIVE || 7'(work.token.level) + 7'd1 == settings_i.d_act;
  assign goes_on = is_sel && !stops && chosen_old.child_valid;
  assign inserts = is_sel && !stops && !chosen_old.child_valid && sel.slot_valid;

  token_t  next;
  select_t next_sel;
  update_t next_upd;
  always_comb begin
    next     = work.token;
    next_sel = sel;
    next_upd = upd;
    unique case (1'b1)
      is_sel: begin
        if (!stops) begin
          next.action     = action;
          next_sel.parent = work.head.ident;
        end
        if (goes_on) begin
          next.address = chosen_old.child;
        end else if (inserts) begin
          next.op             = OP_INS;
          next.address        = sel.slot;
          next_sel.slot_valid = 1'b0;
        end else begin
          next.done       = 1'b1;
          next_sel.new_id = work.head.ident;
          next.code = !stops ? (sel.new_id == NO_ID ? NOINS : FULL)
                    : work.head.state == ST_NEW ? REVISIT
                    : work.head.state == ST_TERMINAL ? TERMINAL : LEAF;
        end
      end
      is_edge: begin
        next.done       = work.token.code[1:0] == KIND_LAST;
        next_upd.negate = upd.negate ^ upd.alternate;
      end
      default: begin
        next.done = 1'b1;
        if (is_ins) next.code = EXPAND;
      end
    endcase
    next.rest = work.token.op == OP_UPD ? 47'(next_upd) : 47'(next_sel);
  end

  // ---- The clock after: write
  typedef struct packed {
    logic                      row;
    logic [F-1:0]              lanes;
    logic                      head;
    logic                      act;
    logic                      publish;              // scores follow,
    logic                      all;                  // of a node that is made active
    logic [F-1:0]              unvisited;
    logic                      silent;
  } effect_t;
  effect_t effect, effect_q;
  head_t   head_d;
  act_t    act_d;
  assign effect = '{
    row:       is_ins || is_edge || (is_sel && !stops),
    lanes:     is_ins ? '1 : taken,
    head:      is_ins || is_edge || (fresh && (upd.activate || upd.terminal)),
    act:       is_ins || (fresh && upd.activate),
    publish:   is_edge || (fresh && upd.activate),
    all:       is_end,
    unvisited: unvisited,
    silent:    work.token.done
  };
  assign result = '{
    entry:    work.entry,
    action:   action,
    edge_of:  is_edge || (is_sel && !stops) ? taken : '0,
    score_of: is_sel && !stops ? wins : '0,
    update:   is_edge,
    lane:     lane,
    score:    score,
    total:    full_total ? work.head.total : work.head.total + 1'b1
  };
  always_comb begin
    head_d = work.head;
    act_d  = is_ins ? '0 : is_end ? work.new_act : work.act;
    if (is_ins) begin
      head_d = '{scored: 1'b0, state: ST_NEW, ident: sel.new_id, level: work.token.level,
                 total: '0};
    end else if (is_edge) begin
      head_d.total = result.total;
    end else begin
      head_d.state  = upd.activate && work.new_act.legal != '0 ? ST_ACTIVE : ST_TERMINAL;
      head_d.scored = upd.activate;
    end
  end
  logic   done_q;
  token_t next_q;
  head_t  head_q;
  act_t   act_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      done_q          <= 1'b0;
      sat_o           <= 1'b0;
      results_valid_q <= '0;
    end else begin
      done_q          <= work_valid;
      sat_o           <= work_valid && is_edge && (full_visits || full_total);
      results_valid_q <= Forwards'({results_valid_q, work_valid});
    end
    if (work_valid) begin
      next_q   <= next;
      effect_q <= effect;
      head_q   <= head_d;
      act_q    <= act_d;
      results_q[0] <= result;
    end
    for (int unsigned k = 1; k < Forwards; k++) begin
      if (results_valid_q[k-1]) results_q[k] <= results_q[k-1];
    end
  end
  assign write_row   = done_q && effect_q.row;
  assign write_head  = done_q && effect_q.head;
  assign write_act   = done_q && effect_q.act;
  assign write_entry = results_q[0].entry;
  assign write_lanes = effect_q.lanes;
  assign write_edges = {F{results_q[0].lane}};
  assign head_write  = head_q;
  assign act_write   = act_q;
  assign silent_o    = done_q && effect_q.silent;

  // ---- Tokens out: room is kept from their start on
  logic fifo_ready;
  logic [RoomW-1:0] unused_count;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) room_q <= RoomW'(OutDepth);
    else         room_q <= room_q - RoomW'(start)
                           + RoomW'(silent_o || (out_valid_o && out_ready_i));
  end
  jd_stream_fifo #(.Width (TOKEN_W), .Depth (OutDepth)) u_out (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (done_q && !effect_q.silent),
    .in_ready_o  (fifo_ready),
    .in_data_i   (next_q),
    .out_valid_o,
    .out_ready_i,
    .out_data_o  (out_token_o),
    .count_o     (unused_count)
  );

  // ---- Scores of what was updated
  logic [F-1:0][VALUE_W-1:0]  peek_means;
  logic [F-1:0][WEIGHT_W-1:0] peek_weights;
  jd_mcts_update #(.F (F), .Mu (Mu), .Depth (Depth)) u_update (
    .clk_i, .rst_ni,
    .puct_i         (settings_i.puct),
    .first_i        (settings_i.first),
    .fpu_i          (settings_i.fpu),
    .table_i,
    .valid_i        (done_q && effect_q.publish),
    .all_i          (effect_q.all),
    .entry_i        (results_q[0].entry),
    .action_i       (results_q[0].action),
    .sum_i          (results_q[0].lane.sum),
    .visits_i       (results_q[0].lane.visits),
    .total_i        (head_q.total),
    .unvisited_i    (effect_q.unvisited),
    .priors_i       (act_q.priors),
    .scores_valid_o (base_valid),
    .scores_entry_o (base_entry),
    .scores_o       (base_write),
    .peek_i         (peek_i && !start),
    .peek_entry_i,
    .peek_means_o   (peek_means),
    .peek_weights_o (peek_weights)
  );

  // ---- A word for the host
  logic [F-1:0][VALUE_W-1:0]  means_q2;
  logic [F-1:0][WEIGHT_W-1:0] weights_q2;
  logic [8:0] word;
  logic [5:0] child;
  assign word  = peek_word_i - 9'd2;
  assign child = word[8:3];
  always_ff @(posedge clk_i) begin
    if (peek_q) begin
      means_q2   <= peek_means;
      weights_q2 <= peek_weights;
    end
    if (peek_q2) begin
      peek_data_o <= '0;
      if (peek_word_i == 9'd0) begin
        peek_data_o <= {8'd0, head_q2.level, head_q2.state, head_q2.ident};
      end else if (peek_word_i == 9'd1) begin
        peek_data_o <= 32'(head_q2.total);
      end else begin
        for (int unsigned a = 0; a < F; a++) begin
          if (child == 6'(a)) begin
            unique case (word[2:0])
              3'd0: peek_data_o <= scores_q2[a];
              3'd1: peek_data_o <= head_q2.scored ? 32'(signed'(means_q2[a])) : '0;
              3'd2: peek_data_o <= head_q2.scored ? 32'(weights_q2[a]) : '0;
              3'd3: peek_data_o <= 32'(edges_q2[a].sum);
              3'd4: peek_data_o <= 32'(edges_q2[a].sum >> 32);
              3'd5: peek_data_o <= {act_q2.priors[a], edges_q2[a].visits};
              3'd6: peek_data_o <= 32'(edges_q2[a].loss);
              3'd7: peek_data_o <= {16'd0, act_q2.legal[a], edges_q2[a].child_valid,
                                    edges_q2[a].child_valid ? edges_q2[a].child : 14'd0};
            endcase
          end
        end
      end
    end
  end

  `JD_ASSERT_IF(RoomIsKept_A, done_q && !effect_q.silent, fifo_ready)
  `JD_ASSERT_IF(LevelIsTheTokens_A, work_valid && !is_ins, work.head.level == work.token.level)
  `JD_ASSERT_IF(LossCovers_A, work_valid && is_edge, counts_old.loss >= {7'd0, settings_i.vl})
  `JD_ASSERT_IF(ChildIsLegal_A, work_valid && is_sel && !stops,
                work.act.legal[action[$clog2(F)-1:0]])
endmodule : jd_mcts_node
