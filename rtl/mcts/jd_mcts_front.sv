// SPDX-License-Identifier: Apache-2.0
//
// Takes requests in list order: checks each against the workers' states, and sends it into the tree, or
// does it. Keeps the workers, and makes responses.
//
// Streams  request: header, priors and where it comes from; refused_o and abort_o belong to the clock in
//          which it is taken. out: tokens for the tree. retire: what came of them. response: what the host
//          is told. prior_*: a row for the token that goes with it. root_*: READ_ROOT's work elsewhere.
//          new_token_o, old_token_o: a token of the list begins, ends.
// Timing   a request per clock. It waits: for room in the queue; for one of T tokens; a selection for
//          the worker's update before last, an update for its selection; all others until nothing is in
//          flight. A retired token's response is offered one clock later.
// Numbers  the order of checks is that of docs/mcts.md, jobs.
// Source   docs/mcts.md. Golden model: models/mcts/tree.py, _check and _run.
`include "jd_assert.svh"
module jd_mcts_front
  import jd_mcts_pkg::*;
  import jd_mcts_map_pkg::*;
  import jd_engine_header_map_pkg::E_OPCODE, jd_engine_header_map_pkg::E_RESERVED,
         jd_engine_header_map_pkg::E_BUS_WR;
#(
  parameter  int unsigned F       = 3,    // children, 2..32
  parameter  int unsigned X       = 10,   // node ids, 2..16384
  parameter  int unsigned WMax    = 4,    // workers, power of two 2..4096
  parameter  int unsigned T       = 16,   // tokens in flight, power of two 4..1024
  localparam int unsigned IndexW  = $clog2(WMax),
  localparam int unsigned FlightW = $clog2(T + 1)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      clear_i,        // soft reset: no tree, all workers idle
  input  logic                      stop_i,         // take no request
  input  settings_t                 settings_i,     // of the registers
  output settings_t                 settings_o,     // of the tree
  input  logic                      room_i,         // in the queue, for a response
  input  logic                      request_valid_i,
  output logic                      request_ready_o,
  input  logic [127:0]              request_i,
  input  logic [F-1:0][PRIOR_W-1:0] request_priors_i,
  input  logic                      request_cut_i,  // its priors lie beyond the list's end
  input  logic                      request_root_i, // the list has an output address
  input  logic [LIST_W-1:0]         request_list_i,
  output logic                      refused_o,
  output logic                      abort_o,
  output logic                      out_valid_o,
  input  logic                      out_ready_i,
  output token_t                    out_token_o,
  output logic                      prior_write_o,
  output logic [IndexW:0]           prior_row_o,
  output logic [F-1:0]              prior_legal_o,
  output logic [F-1:0][PRIOR_W-1:0] priors_o,
  output logic                      new_tree_o,
  input  logic                      retire_valid_i,
  output logic                      retire_ready_o,
  input  token_t                    retire_token_i,
  input  logic                      silent_i,
  output logic                      response_valid_o,
  input  logic                      response_ready_i,
  output response_t                 response_o,
  output logic [1:0]                responses_o,    // that begin in this clock
  output logic                      reserve_o,      // a request that will have one is taken
  output logic                      root_start_o,
  input  logic                      root_done_i,
  input  logic                      root_failed_i,
  output logic                      new_token_o,
  output logic                      old_token_o,
  output logic [LIST_W-1:0]         old_list_o,
  output logic [FlightW-1:0]        flight_o,
  output logic                      select_o,   // executed, each in the clock in which it is taken
  output logic                      update_o,
  output logic                      insert_o,       // when it has retired
  output logic                      full_o
);
  localparam logic [3:0] SEL = 4'd1, UPD = 4'd2, RESET = 4'd3, ROOT = 4'd4, READ_ROOT = 4'd5,
                         FENCE = 4'd6;

  // ---- The request
  logic [31:0]         w0, w1, w2, w3, keep0, keep1, keep2;
  logic [3:0]          op;
  logic                act, term, alt, ext;
  logic [WORKER_W-1:0] worker;
  logic [IndexW-1:0]   index;
  logic [ID_W-1:0]     new_id;
  assign {w3, w2, w1, w0}      = request_i;
  assign op                    = w0[3:0];
  assign {ext, alt, term, act} = w0[7:4];
  assign worker                = w0[19:8];
  assign index                 = worker[IndexW-1:0];
  assign new_id                = {w1[7:0], w0[31:24]};

  // ---- Workers
  typedef enum logic [1:0] {TrNone, TrEmpty, TrPlanted} tree_t;
  tree_t                tree_q;
  logic [WMax-1:0]      out_q;          // it has a selection out
  logic [WMax-1:0]      selecting_q;    // which is in the tree
  logic [WMax-1:0]      parity_q;       // of its last selection
  logic [WMax-1:0]      odd_q;          // edges that it took
  logic [1:0][WMax-1:0] updating_q;     // an update of that parity is in the tree
  logic [IndexW:0]      workers_out_q;  // before what was sent in the last clock
  logic                 selected_q, updated_q, workers_out;
  settings_t            settings_q;
  logic [31:0]          beyond_q;       // children that the tree does not have
  assign settings_o = settings_q;

  // ---- Checks: those before that of the worker's state, that one, and those after it
  logic [7:0]  error, error_before, error_after;
  logic        known, beyond, out, wrong_state, bad;
  assign known  = 32'(worker) < WMax;
  assign beyond = (w2 & beyond_q) != '0;
  assign out    = out_q[index];
  assign workers_out = selected_q || workers_out_q != (IndexW + 1)'(updated_q);
  always_comb begin
    {keep0, keep1, keep2} = '0;
    unique case (op)
      SEL:     {keep0, keep1, keep2} = {32'hFF0F_FF0F, 32'h0000_00FF, 32'h0};
      UPD:     {keep0, keep1, keep2} = {32'h000F_FFFF, 32'hFFFF_FF00, 32'hFFFF_FFFF};
      ROOT:    {keep0, keep1, keep2} = {32'h0000_009F, 32'h0, 32'hFFFF_FFFF};
      default: keep0 = 32'hF;
    endcase
    error_before = '0;
    if (op < SEL || op > FENCE) error_before = E_OPCODE;
    else if ((w0 & ~keep0) != '0 || (w1 & ~keep1) != '0 || (w2 & ~keep2) != '0 || w3[31:16] != '0)
      error_before = E_RESERVED;
    else if (ext ? request_cut_i : act && settings_q.puct) error_before = E_EXT;
    else if (op <= UPD && !known) error_before = E_WORKER;
    else if ((op == SEL || op == READ_ROOT) && tree_q != TrPlanted) error_before = E_NO_ROOT;
    wrong_state = (op == SEL && out) || (op == UPD && !out);
    error_after = '0;
    if (op == SEL && new_id != NO_ID && (new_id == '0 || 32'(new_id) >= X)) error_after = E_ID;
    else if (op == UPD && ((act && term) || (w2 != '0 && !act))) error_after = E_ARG;
    else if (op == ROOT && (!act || w2 == '0)) error_after = E_ARG;
    else if ((op == UPD || op == ROOT) && beyond) error_after = E_ARG;
    else if (op == READ_ROOT && !request_root_i) error_after = E_ARG;
    else if ((op == RESET || op == ROOT) && workers_out) error_after = E_BUSY;
    else if (op == ROOT && tree_q != TrEmpty) error_after = E_NO_ROOT;
    error = error_before != '0 ? error_before : wrong_state ? E_STATE : error_after;
    bad   = error_before != '0 || wrong_state || error_after != '0;
  end

  // ---- What the request waits for, and what it does
  logic [FlightW-1:0] flight_q;
  logic  may, free, still, token, own, own_ready, planted_q, reading_q, parity, waits;
  logic [1:0] updating;                 // of the request's worker, by parity
  assign flight_o = flight_q;
  assign may    = request_valid_i && room_i && !stop_i;
  assign updating = {updating_q[1][index], updating_q[0][index]};
  assign free   = flight_q != FlightW'(T);
  assign still  = flight_q == '0;
  assign parity = op == SEL ? !parity_q[index] : parity_q[index];
  assign waits  = op == SEL ? updating[parity] : selecting_q[index];
  always_comb begin
    token = 1'b0;
    own   = 1'b0;
    if (may && bad) begin
      own = 1'b1;
    end else if (may) begin
      unique case (op)
        SEL, UPD:  token = free && !waits;
        ROOT: begin                                    // its two tokens, then its response
          token = free && !planted_q;
          own   = planted_q && still;
        end
        READ_ROOT: own = reading_q && root_done_i;
        default:   own = still;
      endcase
    end
  end
  // ROOT sends an insertion, and then an evaluation.
  logic second_q;
  assign request_ready_o = (token && op != ROOT && out_ready_i) || (own && own_ready);
  assign refused_o       = own && bad;
  assign abort_o         = own && !bad && op == READ_ROOT && root_failed_i;
  assign root_start_o    = may && !bad && op == READ_ROOT && still && !reading_q;
  assign new_tree_o      = own && own_ready && !bad && op == RESET;
  assign reserve_o       = (token && op == SEL && out_ready_i) || (own && own_ready);
  assign out_valid_o     = token;

  logic    sends;
  select_t sel;
  update_t upd;
  assign sends = token && out_ready_i;
  assign sel = '{slot_valid: 1'b0, slot: '0, new_id: op == ROOT ? '0 : new_id, parent: '0};
  assign upd = '{value: w1[31:8], negate: alt && !odd_q[index], alternate: alt, activate: act,
                 terminal: term, zero: '0};
  always_comb begin
    out_token_o        = '0;
    out_token_o.op     = op == SEL ? OP_SEL : op == ROOT && !second_q ? OP_INS : OP_UPD;
    out_token_o.done   = op == ROOT;
    out_token_o.worker = op == ROOT ? '0 : worker;
    out_token_o.parity = op == ROOT ? 1'b0 : parity;
    out_token_o.list   = request_list_i;
    out_token_o.code   = {1'b0, KIND_END};
    out_token_o.rest   = out_token_o.op == OP_UPD ? 47'(upd) : 47'(sel);
  end
  assign prior_write_o = sends;    // a row that no evaluation asks for harms nothing
  assign prior_row_o   = op == ROOT ? '0 : {index, parity};
  assign prior_legal_o = w2[F-1:0];
  assign priors_o      = ext ? request_priors_i : '0;
  assign select_o      = sends && op == SEL;
  assign update_o      = sends && op == UPD;

  // ---- What retires: one clock for its tag
  logic                late_valid_q, late_take, late_goes, late_response, late_ready;
  token_t              late_q;
  select_t             late_sel;
  logic [15:0]         tag, tag_q;                 // a new one is written one clock later
  logic [IndexW-1:0]   late_index, tag_index_q;
  assign retire_ready_o = !late_valid_q || late_goes;
  assign late_take      = retire_valid_i && retire_ready_o;
  assign late_response  = late_valid_q && late_q.op != OP_UPD;
  assign late_goes      = late_valid_q && (late_q.op == OP_UPD || late_ready);
  assign late_index     = late_q.worker[IndexW-1:0];
  assign late_sel       = select_t'(late_q.rest);
  jd_mem_1r1w #(.Depth (WMax), .Lanes (1), .LaneW (16)) u_tags (
    .clk_i, .rst_ni,
    .write_en_i   (selected_q),
    .write_addr_i (tag_index_q),
    .write_mask_i (1'b1),
    .write_data_i (tag_q),
    .read_en_i    (late_take),
    .read_addr_i  (retire_token_i.worker[IndexW-1:0]),
    .read_data_o  (tag)
  );
  response_t late_answer, own_answer;
  assign late_answer = '{
    tag:    tag,
    parent: late_sel.parent,
    new_id: late_q.op == OP_INS ? late_sel.new_id : NO_ID,
    node:   late_q.op == OP_INS ? late_sel.parent : late_sel.new_id,
    action: late_q.action,
    depth:  late_q.level,
    worker: late_q.worker,
    code:   late_q.code == FULL ? 7'(E_FULL) : 7'(late_q.code)
  };
  assign own_answer = '{
    tag:    w3[15:0],
    parent: '0, new_id: '0, node: '0, action: '0, depth: '0,
    worker: bad ? worker : '0,
    code:   bad ? 7'(error) : abort_o ? 7'(E_BUS_WR) : CODE_OK
  };
  // What has retired goes first. No token begins while a request has its response, so it has its turn.
  logic answer_ready;
  assign late_ready = answer_ready;
  assign own_ready  = answer_ready && !late_response;
  jd_stream_skid #(.Width (RESPONSE_W)) u_responses (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (answer_ready && (own || late_response)),   // one may take another's turn
    .in_ready_o  (answer_ready),
    .in_data_i   (late_response ? late_answer : own_answer),
    .out_valid_o (response_valid_o),
    .out_ready_i (response_ready_i),
    .out_data_o  (response_o)
  );
  assign responses_o = 2'(own && own_ready) + 2'(late_response && late_ready);
  assign new_token_o = sends && op != ROOT;
  assign old_token_o = late_goes;
  assign old_list_o  = late_q.list;
  assign insert_o    = late_goes && late_q.op == OP_INS;
  assign full_o      = late_goes && late_q.op == OP_SEL && late_q.code == FULL;

  // Counts beside the decision that chooses one of them. A mapper would make one adder of two, after
  // the decision; so a bit is turned over if all below it are 1, or 0.
  function automatic logic [FlightW-1:0] beside(logic [FlightW-1:0] count, logic more);
    logic [FlightW-1:0] next;
    next[0] = !count[0];
    for (int unsigned k = 1; k < FlightW; k++) begin
      logic carry;
      carry = 1'b1;
      for (int unsigned m = 0; m < k; m++) carry = carry && count[m] == more;
      next[k] = count[k] ^ carry;
    end
    return next;
  endfunction
  logic [FlightW-1:0] flight_same, flight_more, flight_less;
  assign flight_same = silent_i ? beside(flight_q, 1'b0) : flight_q;
  assign flight_more = silent_i ? flight_q : beside(flight_q, 1'b1);
  assign flight_less = beside(flight_same, 1'b0);

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      tree_q        <= TrNone;
      out_q         <= '0;
      selecting_q   <= '0;
      updating_q    <= '0;
      workers_out_q <= '0;
      flight_q      <= '0;
      late_valid_q  <= 1'b0;
      selected_q    <= 1'b0;
      updated_q     <= 1'b0;
      planted_q     <= 1'b0;
      second_q      <= 1'b0;
      reading_q     <= 1'b0;
    end else begin
      if (sends != late_goes) flight_q <= sends ? flight_more : flight_less;
      else                    flight_q <= flight_same;
      selected_q   <= select_o;
      updated_q    <= update_o;
      late_valid_q <= late_take || (late_valid_q && !late_goes);
      if (late_goes && late_q.op != OP_UPD) selecting_q[late_index] <= 1'b0;
      if (late_goes && late_q.op == OP_UPD) updating_q[late_q.parity][late_index] <= 1'b0;
      if (select_o) begin
        out_q[index]       <= 1'b1;
        selecting_q[index] <= 1'b1;
      end
      if (update_o) begin
        out_q[index]              <= 1'b0;
        updating_q[parity][index] <= 1'b1;
      end
      if (selected_q)     workers_out_q <= workers_out_q + 1'b1;
      else if (updated_q) workers_out_q <= workers_out_q - 1'b1;
      if (sends && op == ROOT) begin
        second_q  <= !second_q;
        planted_q <= second_q;
      end
      if (root_start_o) reading_q <= 1'b1;
      if (own && own_ready && !bad) begin
        reading_q <= 1'b0;
        planted_q <= 1'b0;
        if (op == RESET) tree_q <= TrEmpty;
        if (op == ROOT)  tree_q <= TrPlanted;
      end
    end
    if (!rst_ni) begin
      settings_q <= '0;
      beyond_q   <= '1;
    end else if (new_tree_o) begin
      settings_q <= settings_i;
      beyond_q   <= 32'hFFFF_FFFF << settings_i.f_act;
    end
    tag_index_q <= index;
    tag_q       <= w3[15:0];
    if (select_o)        parity_q[index] <= parity;
    if (late_goes && late_q.op != OP_UPD) odd_q[late_index] <= late_q.level[0];
    if (late_take)       late_q <= retire_token_i;
  end

  `JD_ASSERT(FlightInRange_A, 32'(flight_q) <= T)
  `JD_ASSERT_IF(OfAToken_A, late_goes, flight_q != '0)
endmodule : jd_mcts_front
