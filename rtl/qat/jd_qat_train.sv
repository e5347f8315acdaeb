// SPDX-License-Identifier: Apache-2.0
//
// Runs a timestep of DDPG: decides which chunk of the batch is loaded, which pass runs, and when
// losses are computed.
//
//   critic's phase, of a chunk: load | actor' | critic' | critic | loss | dX critic | dW critic
//   actor's phase, of a chunk:  (load) | actor | critic | dX critic | dX actor | dW actor
//
// Streams  start_i: high for one clock while idle_o. The job and the settings hold until done_o,
//          which is high for one clock with the code and places of an error. next_i: the next job.
//          While next_valid_i is high, its first chunk may be loaded and its state may be read;
//          then it is the next job that starts, with the same settings, unless stop_i comes. pass:
//          to jd_qat_cores. line_*, slot_*: lines of slots, as jd_qat_cores takes and gives them.
//          act_*: starts jd_qat_act, which reads a state, or chooses an action beside the first
//          chunk's pass of the actor or after all passes, and reports its end; its lines go before
//          those of a batch. mem_*: reads of lists and records, writes of TD errors. stop_i ends
//          the timestep early; the user clears the cores. loads_o: something is being loaded, also
//          between jobs.
// Timing   A pass follows the pass before it without a gap, unless it waits for results. A loss is
//          computed when all its values are written; the actor's seeds are written while its
//          forward pass runs. A chunk is loaded while the chunk before it is computed, into the
//          other set of X, from the first entry of that chunk on: the old contents of the set are
//          then no longer read. An action that is chosen beside a batch is written before gradients
//          of the actor begin. In the published schedule all gradients go to G, and after the last
//          chunk's dW from there to Adam, while everything else waits.
// Numbers  vector v of a chunk belongs to core v mod N, slot v / N; in the published schedule it is
//          in slot v of all cores. A ' marks targets. The last chunk's gradients go to Adam if the
//          network is updated; all others go to G.
// Source   FIXAR IV (Algorithm 1), V-B; docs/qat.md (timestep). Golden model:
//          models/qat/timestep.py.
`include "jd_assert.svh"
module jd_qat_train
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw       = 16,           // as jd_qat_top
  parameter  int unsigned N        = 2,
  parameter  int unsigned Slots    = 64,
  parameter  int unsigned ActLines = 160,
  parameter  int unsigned DelLines = 80,
  localparam int unsigned OverW    = $clog2(Lw + 1),
  localparam int unsigned TdOverW  = $clog2(3 * N + 1)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  output logic                             idle_o,
  input  logic                             start_i,
  input  logic                             stop_i,
  output logic                             done_o,
  output logic [7:0]                       code_o,         // 0: all went well
  output logic [31:0]                      info0_o,
  output logic [31:0]                      info1_o,
  output logic                             actor_o,        // gradients are the actor's
  output logic                             event_o,        // of WITH: the action is there
  output logic                             begun_o,        // the next job can be loaded
  output logic                             loads_o,        // also between jobs
  // Settings
  input  descriptor_t                      words_i,
  input  logic                             next_valid_i,
  input  descriptor_t                      next_i,
  input  table_t                           table_i,
  input  logic                             half_i,
  input  logic                             watch_i,
  input  logic                             paper_i,        // by the published schedule
  input  logic [SHIFT_W-1:0]               shift_i,        // of tensor 0
  // Lines of slots
  output logic                             line_valid_o,
  input  logic                             line_ready_i,
  output logic [N-1:0]                     line_cores_o,
  output logic                             line_delta_o,
  output logic                             line_odd_o,
  output logic [ADDRESS_W-1:0]             line_address_o,
  output logic [1:0]                       line_half_o,
  output logic [N-1:0][Lw-1:0][WORD_W-1:0] line_data_o,
  output logic                             seen_o,         // a monitor sees it as of tensor 0
  output logic [OverW-1:0]                 over_quantized_o,
  output logic                             slot_read_o,    // of all cores
  output logic [ADDRESS_W-1:0]             slot_address_o,
  input  logic [N-1:0][Lw-1:0][WORD_W-1:0] slot_lines_i,
  // Passes
  output logic                             pass_valid_o,
  input  logic                             pass_ready_i,
  output pass_t                            pass_o,
  input  logic                             cores_idle_i,
  input  logic                             forward_i,      // an entry of a forward pass is taken
  output logic                             sweep_o,        // gradients of a network go to Adam
  input  logic                             update_idle_i,  // no gradient is on its way
  // Statistics
  output logic [63:0]                      sum_q_o,
  output logic [63:0]                      sum_td_o,
  output logic [TdOverW-1:0]               over_td_o,
  // Acting
  output logic                             act_fetch_o,    // the state,
  output logic                             act_next_o,     // of the next job
  output logic                             act_choose_o,
  output logic                             act_beside_o,   // the acting vector is in this pass
  output logic [PLACE_W-1:0]               act_line_o,     // X of the state
  input  logic                             act_line_valid_i,
  input  logic                             act_idle_i,
  input  logic                             act_done_i,
  input  logic [1:0]                       act_response_i,
  // Memory
  output logic                             moved_o,
  output axi_req_t                         mem_req_o,
  input  axi_rsp_t                         mem_rsp_i
);
  import jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_BUS_WR;
  localparam logic [31:0] STATE = 32'd4, ACTION = 32'd6, LIST = 32'd10;   // words of addresses
  localparam logic        OF_ACTOR = 1'b0, OF_CRITIC = 1'b1;

  typedef enum logic [4:0] {
    StIdle,
    StLoad, StTargetActor, StTargetCritic, StCritic, StWritten, StLoss, StPairs, StCriticDx,
    StCriticDw,
    StActor, StForward, StJudged, StSeeds, StThrough, StActorDx, StActed, StActorDw,
    StKept, StSweep, StAfter, StRest, StHalt
  } state_t;
  state_t state_q, state_d;
  logic   enters, first_q;                     // first clock of a state

  // ---- Chunks
  logic [15:0]          batch, chunk, at_q, left_q;        // first vector; vectors from it on
  logic [VECTORS_W-1:0] count;
  logic                 actor_q;                           // the phase
  logic                 set_q;                             // the set of X of this chunk
  logic                 last, several, next_chunk;
  logic [PLACE_W-1:0]   x_line, following_line, misc_line;
  assign batch          = words_i[14][15:0];
  assign chunk          = words_i[14][31:16];
  assign last           = left_q <= chunk;
  assign several        = batch > chunk;
  assign count          = count_of(left_q, chunk);
  assign x_line         = line_of(set_q);
  assign following_line = x_line + table_i.input_lines;
  assign misc_line      = following_line + table_i.input_lines;

  // Vectors of a chunk, and line of X of a set.
  function automatic logic [VECTORS_W-1:0] count_of(logic [15:0] left, logic [15:0] most);
    return VECTORS_W'(left <= most ? left : most);
  endfunction
  function automatic logic [PLACE_W-1:0] line_of(logic set);
    return set ? table_i.set_lines : '0;
  endfunction

  // ---- Loading: the first chunk, then the one after this one, of this job or of the next
  typedef enum logic [1:0] {LoadNone, LoadBegins, LoadRuns, LoadHeld} load_e;
  typedef struct packed {
    logic                 own;                 // of this job
    logic                 whole;
    logic                 list;
    logic                 weights;
    logic [39:0]          records;
    logic [31:0]          stride;
    logic [39:0]          list_address;
    logic [31:0]          places;
    logic [15:0]          first;
    logic [VECTORS_W-1:0] vectors;
    logic [PLACE_W-1:0]   line;                // of X
  } load_t;
  load_e       load_q, load_d;
  load_t       load, loading_q;
  descriptor_t load_words;
  logic        more, begins, begins_ahead, loaded, takes, takes_first, acts, next_acts;
  logic [15:0] load_left;
  logic        begun_q;                        // an entry of this chunk was taken
  logic        fetching_q;                     // a state is read
  logic        chosen_q;                       // an action is chosen
  logic        failed;
  logic [1:0]  state_response_q;
  logic        act_set_q;                      // the set of the acting slot's X
  logic [7:0]                batch_code;
  logic [31:0]               batch_info0, batch_info1;
  logic                      unused_batch_idle, batch_done;
  assign acts         = words_i[0][AFTER] || words_i[0][WITH];
  assign next_acts    = next_i[0][AFTER] || next_i[0][WITH];
  assign more         = !last || (several && !actor_q);
  assign begins_ahead = load_q == LoadNone && begun_q && !failed && !stop_i
                        && !(state_q inside {StIdle, StHalt})
                        && (more || (next_valid_i && act_idle_i && !act_choose_o));
  assign begins       = begins_ahead || (idle_o && start_i && load_q == LoadNone);
  assign load_words   = idle_o || more ? words_i : next_i;
  assign load_left    = idle_o || !more || last ? load_words[14][15:0] : left_q - chunk;
  assign load         = '{
    own: idle_o || more, whole: idle_o || !more || !(actor_q || last),
    list: load_words[0][LISTED], weights: load_words[0][WEIGHTED],
    records: {load_words[3][7:0], load_words[2]}, stride: load_words[13],
    list_address: {load_words[11][7:0], load_words[10]}, places: load_words[12],
    first: idle_o || last ? '0 : at_q + chunk,
    vectors: count_of(load_left, load_words[14][31:16]), line: line_of(!set_q)};
  assign loaded       = load_q == LoadHeld || (load_q == LoadRuns && batch_done);
  assign takes        = state_q == StLoad && loaded && !fetching_q;
  assign takes_first  = takes && at_q == '0 && !actor_q;
  assign begun_o      = begun_q;
  assign loads_o      = load_q inside {LoadBegins, LoadRuns} || fetching_q;
  assign act_fetch_o  = begins && (idle_o ? acts : !more && next_acts);
  assign act_next_o   = !idle_o;
  assign act_line_o   = line_of(act_set_q ^ act_fetch_o);
  always_comb begin
    load_d = load_q;
    unique case (load_q)
      LoadNone:   if (begins) load_d = LoadBegins;
      LoadBegins: load_d = stop_i ? LoadNone : LoadRuns;
      LoadRuns:   if (batch_done) load_d = stop_i || takes ? LoadNone : LoadHeld;
      LoadHeld:   if (stop_i || takes || (state_q == StRest && loading_q.own)) load_d = LoadNone;
      default:    load_d = LoadNone;
    endcase
  end
  always_ff @(posedge clk_i) begin
    load_q <= rst_ni ? load_d : LoadNone;
    if (begins) loading_q <= load;
    if (idle_o && start_i) loading_q.own <= 1'b1;
    if (!rst_ni) begin
      set_q      <= 1'b0;
      act_set_q  <= 1'b0;
      fetching_q <= 1'b0;
    end else begin
      set_q      <= set_q ^ takes;
      act_set_q  <= act_set_q ^ (takes_first && acts);
      fetching_q <= act_fetch_o || (fetching_q && !act_done_i);
    end
    // Before its first pass is taken, entries are those of passes before.
    begun_q <= !idle_o && !takes
               && (begun_q || (forward_i && !(state_q inside {StLoad, StTargetActor, StActor})));
    if (fetching_q && act_done_i) state_response_q <= act_response_i;
  end

  logic                      batch_moved, batch_valid, batch_ready;
  logic [N-1:0]              batch_cores;
  logic [ADDRESS_W-1:0]      batch_address;
  logic [1:0]                batch_half;
  logic [Lw-1:0][WORD_W-1:0] batch_line;
  jd_qat_batch #(.Lw (Lw), .N (N), .Slots (Slots), .ActLines (ActLines)) u_batch (
    .clk_i, .rst_ni,
    .idle_o           (unused_batch_idle),
    .start_i          (load_q == LoadBegins && !stop_i),
    .stop_i,
    .records_i        (loading_q.records),
    .stride_i         (loading_q.stride),
    .list_i           (loading_q.list),
    .weights_i        (loading_q.weights),
    .list_address_i   (loading_q.list_address),
    .places_i         (loading_q.places),
    .first_i          (loading_q.first),
    .vectors_i        (loading_q.vectors),
    .whole_i          (loading_q.whole),
    .common_i         (paper_i),
    .x_line_i         (loading_q.line),
    .following_line_i (loading_q.line + table_i.input_lines),
    .misc_line_i      (loading_q.line + PLACE_W'(table_i.input_lines << 1)),
    .states_i         (table_i.states),
    .state_lines_i    (table_i.state_lines),
    .actions_i        (table_i.actions),
    .place_i          (DIM_W'(32'(table_i.action_line) * Lw) + DIM_W'(table_i.action_word)),
    .half_i, .watch_i, .shift_i,
    .line_valid_o     (batch_valid),
    .line_ready_i     (batch_ready),
    .line_cores_o     (batch_cores),
    .line_address_o   (batch_address),
    .line_half_o      (batch_half),
    .line_data_o      (batch_line),
    .seen_o,
    .over_o           (over_quantized_o),
    .done_o           (batch_done),
    .code_o           (batch_code),
    .info0_o          (batch_info0),
    .info1_o          (batch_info1),
    .moved_o          (batch_moved),
    .mem_req_o        (mem_req_o.read),
    .mem_rsp_i        (mem_rsp_i.read)
  );

  // ---- Losses, and the TD errors that go to memory
  layer_t                           actor_last, critic_last;
  logic [NETS-1:0][1:0]             last_layer;
  logic                             judge_start, judge_idle, judge_valid;
  logic                             judge_delta, judge_odd, td_valid;
  logic [N-1:0]                     judge_cores;
  logic [ADDRESS_W-1:0]             judge_address;
  logic [N-1:0][Lw-1:0][WORD_W-1:0] judge_lines;
  logic [WORD_W-1:0]                td;
  logic [31:0]                      unused_count;
  for (genvar n = 0; n < NETS; n++) begin : gen_last
    assign last_layer[n] = 2'(table_i.counts[n] - 1'b1);
  end
  assign actor_last  = table_i.layers[OF_ACTOR][last_layer[OF_ACTOR]];
  assign critic_last = table_i.layers[OF_CRITIC][last_layer[OF_CRITIC]];
  jd_qat_judge #(.Lw (Lw), .N (N), .ActLines (ActLines), .DelLines (DelLines)) u_judge (
    .clk_i, .rst_ni,
    .clear_i        (idle_o),
    .start_i        (judge_start),
    .idle_o         (judge_idle),
    .actor_i        (actor_q),
    .actor_scale_i  (words_i[15][10:8]),
    .scale_i        (words_i[15][3:0]),
    .weighted_i     (words_i[0][WEIGHTED]),
    .vectors_i      (count),
    .common_i       (paper_i),
    .next_line_i    (actor_last.output_line),
    .q_line_i       (critic_last.output_line),
    .misc_line_i    (misc_line),
    .delta_line_i   (critic_last.delta_line),
    .read_valid_o   (slot_read_o),
    .read_address_o (slot_address_o),
    .lines_i        (slot_lines_i),
    .line_valid_o   (judge_valid),
    .line_ready_i   (line_ready_i),
    .line_cores_o   (judge_cores),
    .line_delta_o   (judge_delta),
    .line_odd_o     (judge_odd),
    .line_address_o (judge_address),
    .line_data_o    (judge_lines),
    .td_valid_o     (td_valid),
    .td_ready_i     (1'b1),
    .td_data_o      (td),
    .over_o         (over_td_o),
    .sums_clear_i   (start_i),
    .sum_q_o, .sum_td_o,
    .count_o        (unused_count)
  );
  logic        pairs_idle, pairs_start, unused_pairs_done, pairs_moved;
  logic [1:0]  pairs_response;
  logic [39:0] list_bytes;                     // to the multiple of 64 at which pairs begin
  assign list_bytes = ((40'(batch) + 40'd3) >> 2) << 6;
  jd_qat_pairs #(.N (1), .Slots (N * Slots)) u_pairs (    // a magnitude per clock
    .clk_i, .rst_ni,
    .idle_o     (pairs_idle),
    .start_i    (pairs_start),
    .stop_i,
    .address_i  ({words_i[11][7:0], words_i[10]} + list_bytes),
    .first_i    (at_q),
    .vectors_i  (count),
    .td_valid_i (td_valid),
    .td_data_i  (td),
    .done_o     (unused_pairs_done),
    .response_o (pairs_response),
    .moved_o    (pairs_moved),
    .mem_req_o  (mem_req_o.write),
    .mem_rsp_i  (mem_rsp_i.write)
  );
  assign moved_o = batch_moved || pairs_moved;

  // Lines go into slots from one of both; the judge's do not wait for the other's, or for a state's.
  assign batch_ready    = line_ready_i && !judge_valid && !act_line_valid_i;
  assign line_valid_o   = judge_valid || (batch_valid && !act_line_valid_i);
  assign line_cores_o   = judge_valid ? judge_cores : batch_cores;
  assign line_delta_o   = judge_valid && judge_delta;
  assign line_odd_o     = judge_odd;
  assign line_address_o = judge_valid ? judge_address : batch_address;
  assign line_half_o    = judge_valid ? 2'b11 : batch_half;
  assign line_data_o    = judge_valid ? judge_lines : {N{batch_line}};

  // ---- Passes
  logic       beside;                              // the acting vector joins this chunk's pass
  assign beside = words_i[0][WITH] && at_q == '0;
  logic       updates;                             // the network, after this chunk
  logic [1:0] lowest;                              // layer of which dX is computed
  assign updates = last && words_i[0][actor_q ? ACTOR : CRITIC];
  assign lowest  = paper_i ? 2'd0 : 2'd1;
  always_comb begin
    pass_o            = '0;
    pass_o.half       = half_i;
    pass_o.watch      = watch_i;
    pass_o.common     = paper_i;
    pass_o.vectors    = count;
    pass_o.net        = state_q inside {StTargetCritic, StCritic, StCriticDx, StCriticDw, StJudged,
                                        StThrough} ? OF_CRITIC : OF_ACTOR;
    pass_o.last_layer = last_layer[pass_o.net];
    pass_o.source     = x_line;
    pass_o.word       = table_i.action_word;
    pass_o.join_line  = x_line + table_i.action_line;
    pass_o.mu         = actor_last.output_line;
    pass_o.fresh      = at_q == '0;
    unique case (state_q)
      StTargetActor: begin                     // a' goes into X' alone
        pass_o.target     = 1'b1;
        pass_o.source     = following_line;
        pass_o.joins      = 1'b1;
        pass_o.joins_only = 1'b1;
        pass_o.join_line  = following_line + table_i.action_line;
      end
      StTargetCritic: begin                    // q' goes to where mu will be
        pass_o.target = 1'b1;
        pass_o.waits  = 1'b1;
        pass_o.source = following_line;
        pass_o.place  = 1'b1;
        pass_o.sink   = actor_last.output_line;
      end
      StActor: begin                           // mu goes into X, too
        pass_o.joins  = 1'b1;
        pass_o.acting = beside;
        pass_o.state  = line_of(act_set_q);
      end
      StJudged: pass_o.waits = 1'b1;
      StCriticDx: begin
        pass_o.pass        = PassDx;
        pass_o.first_layer = lowest;
        pass_o.source      = critic_last.delta_line;
      end
      StThrough: begin                         // to the action
        pass_o.pass    = PassDx;
        pass_o.source  = critic_last.delta_line;
        pass_o.action  = 1'b1;
        pass_o.tangent = actor_last.act == ActTanh;
        pass_o.place   = 1'b1;
        pass_o.sink    = actor_last.delta_line;
      end
      StActorDx: begin
        pass_o.pass        = PassDx;
        pass_o.waits       = 1'b1;
        pass_o.first_layer = lowest;
        pass_o.source      = actor_last.delta_line;
      end
      StCriticDw, StActorDw: begin
        pass_o.pass   = PassDw;
        pass_o.waits  = 1'b1;
        pass_o.update = updates && !paper_i;
      end
      default: ;
    endcase
    pass_o.il = paper_i && pass_o.pass == PassFw;
  end
  logic passes;
  assign passes = state_q inside {StTargetActor, StTargetCritic, StCritic, StCriticDx, StCriticDw,
                                  StThrough, StActorDx, StActorDw}
                  || (state_q == StActor && !(beside && fetching_q))
                  || (state_q == StJudged && update_idle_i);
  assign pass_valid_o = passes && !stop_i;

  // ---- The course
  logic fails, unread;
  logic act_ends;                              // the action is there, or cannot be written
  assign enters       = state_d != state_q;
  assign idle_o       = state_q == StIdle;
  assign judge_start  = (state_q == StLoss && first_q) || (state_q == StForward && forward_i);
  assign pairs_start  = state_q == StLoss && first_q && words_i[0][WEIGHTED];
  assign sweep_o      = enters && state_d == StSweep;
  assign act_beside_o = state_q == StActor;
  assign act_choose_o = act_beside_o ? beside && pass_valid_o && pass_ready_i
                                     : state_q == StAfter && !chosen_q && !fetching_q;
  assign act_ends     = chosen_q && act_done_i;
  assign event_o      = act_ends && words_i[0][WITH] && act_response_i == '0 && !stop_i;
  assign failed       = code_o != '0;
  assign unread       = takes_first && acts && state_response_q != '0;
  assign fails        = unread || batch_code != '0;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:         if (start_i) state_d = StLoad;
      StLoad:         if (takes) state_d = fails ? StRest : actor_q ? StActor : StTargetActor;
      StTargetActor:  if (pass_ready_i) state_d = StTargetCritic;
      StTargetCritic: if (pass_ready_i) state_d = StCritic;
      StCritic:       if (pass_ready_i) state_d = StWritten;
      StWritten:      if (cores_idle_i && !first_q) state_d = StLoss;
      StLoss:         if (judge_idle && !first_q) begin
        state_d = words_i[0][WEIGHTED] ? StPairs : StCriticDx;
      end
      StPairs:        if (pairs_idle) state_d = pairs_response != '0 ? StRest : StCriticDx;
      StCriticDx:     if (pass_ready_i) state_d = StCriticDw;
      StCriticDw:     if (pass_ready_i) state_d = updates && paper_i ? StKept
                                                  : several ? StLoad : StActor;
      StActor:        if (pass_ready_i && pass_valid_o) state_d = StForward;
      StForward:      if (forward_i) state_d = StJudged;
      StJudged:       if (pass_ready_i && update_idle_i) state_d = StSeeds;
      StSeeds:        if (judge_idle) state_d = StThrough;
      StThrough:      if (pass_ready_i) state_d = StActorDx;
      StActorDx:      if (pass_ready_i) state_d = beside ? StActed : StActorDw;
      StActed:        if (!chosen_q) state_d = failed ? StRest : StActorDw;
      StActorDw:      if (pass_ready_i) begin
        state_d = updates && paper_i ? StKept : !last ? StLoad
                  : words_i[0][AFTER] ? StAfter : StRest;
      end
      // Published: when G has all gradients, they go to Adam.
      StKept:         if (cores_idle_i && update_idle_i && !first_q) state_d = StSweep;
      StSweep:        if (update_idle_i && !first_q) begin
        state_d = !actor_o ? (several ? StLoad : StActor) : words_i[0][AFTER] ? StAfter : StRest;
      end
      StAfter:        if (act_ends) state_d = StRest;
      StRest: begin
        if (cores_idle_i && update_idle_i && !first_q && (load_q == LoadNone || !loading_q.own))
          state_d = StIdle;
      end
      // What reads or writes memory ends by itself.
      StHalt:         if (!loads_o && pairs_idle && act_idle_i && !first_q) state_d = StIdle;
      default:        state_d = StIdle;
    endcase
    if (stop_i && !(state_q inside {StIdle, StHalt})) state_d = StHalt;
  end
  assign next_chunk = enters && (state_q == StCriticDw || (state_q == StActorDw && !last));
  always_ff @(posedge clk_i) begin
    state_q  <= rst_ni ? state_d : StIdle;
    first_q  <= enters;
    chosen_q <= rst_ni && (act_choose_o || (chosen_q && !act_done_i));
    done_o   <= rst_ni && !idle_o && state_d == StIdle;
    if (idle_o) begin
      at_q    <= '0;
      left_q  <= batch;
      actor_q <= 1'b0;
      if (start_i) begin
        {code_o, info0_o, info1_o} <= '0;
        actor_o                    <= 1'b0;    // till then lines may be on their way to Adam
      end
    end else begin
      if (next_chunk) begin
        at_q    <= last ? '0 : at_q + chunk;
        left_q  <= last ? batch : left_q - chunk;
        actor_q <= actor_q || last;
      end
      if (state_q == StSeeds) actor_o <= 1'b1;
      if (takes) begin
        {code_o, info0_o, info1_o} <= unread ? {E_BUS_RD, STATE, 32'(state_response_q)}
                                             : {batch_code, batch_info0, batch_info1};
      end
      if (state_q == StPairs && pairs_idle && pairs_response != '0) begin
        {code_o, info0_o, info1_o} <= {E_BUS_WR, LIST, 32'(pairs_response)};
      end
      if (act_ends && act_response_i != '0) begin
        {code_o, info0_o, info1_o} <= {E_BUS_WR, ACTION, 32'(act_response_i)};
      end
    end
  end
  logic unused;
  assign unused = ^{unused_batch_idle, unused_pairs_done, unused_count};

  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
  // Only the chunk that is to be computed is waited for.
  `JD_ASSERT_IF(ToTake_A, state_q == StLoad && !stop_i, load_q != LoadNone && loading_q.own)
endmodule : jd_qat_train
