// SPDX-License-Identifier: Apache-2.0
//
// Runs a timestep of DDPG: which batch is loaded, which pass runs, when losses are taken.
//
//   chunk of the critic's phase: load | actor' | critic' | critic | loss | dX critic | dW critic
//   chunk of the actor's phase:  (load) | actor | critic | dX critic | dX actor | dW actor
//
// Streams  start_i: one clock, while idle_o; the job and settings hold until done_o, one clock, with
//          the code and places of an error. batch_*, judge_*, act_*: one clock to begin, one that tells
//          the end, of jd_qat_batch, jd_qat_judge, jd_qat_act. pass: of jd_qat_cores. stop_i ends at once, but
//          for what has been begun of a batch and of an action; its user clears the cores.
// Timing   passes follow one another without a gap but where they wait for results. A loss is
//          taken when all is written; the actor's seeds are written while its forward pass runs.
// Numbers  vector v of a chunk is of core v mod N. Networks with a ' are targets. The last chunk's
//          gradients go to Adam if the network is to be updated, all others to G.
// Source   FIXAR IV (Algorithm 1), V-B; docs/qat.md (timestep). Golden model: models/qat/timestep.py.
`include "jd_assert.svh"
module jd_qat_train
  import jd_qat_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,
  output logic                 idle_o,
  input  logic                 start_i,
  input  logic                 stop_i,
  output logic                 done_o,
  output logic [7:0]           code_o,         // 0: all went well
  output logic [31:0]          info0_o,
  output logic [31:0]          info1_o,
  output logic                 updating_o,     // weights have been changed, or are about to be
  output logic                 event_o,        // an action that was chosen `with` the batch is there
  // Settings
  input  descriptor_t          words_i,
  input  table_t               table_i,
  input  logic                 half_i,
  input  logic                 watch_i,
  // Batch
  output logic                 batch_start_o,
  output logic                 batch_again_o,  // of the actor's phase: without X'
  output logic [15:0]          batch_first_o,  // vector
  output logic [VECTORS_W-1:0] batch_count_o,
  output logic [PLACE_W-1:0]   x_line_o,       // of the set in use
  input  logic                 batch_done_i,
  input  logic [7:0]           batch_code_i,
  input  logic [31:0]          batch_info0_i,
  input  logic [31:0]          batch_info1_i,
  // Passes
  output logic                 pass_valid_o,
  input  logic                 pass_ready_i,
  output pass_t                pass_o,
  input  logic                 cores_idle_i,
  input  logic                 forward_i,      // an entry of a forward pass is taken
  input  logic                 update_idle_i,  // no gradient is on its way
  // Losses and seeds
  output logic                 judge_start_o,
  output logic                 judge_seeds_o,  // of the actor; else the critic's loss
  input  logic                 judge_done_i,
  // Acting
  output logic                 act_choose_o,
  input  logic                 act_done_i,
  input  logic [1:0]           act_response_i
);
  import jd_engine_header_map_pkg::E_BUS_WR;
  localparam logic [31:0] ACTION = 32'd6;      // word of its address
  localparam logic        ACTOR = 1'b0, CRITIC = 1'b1;
  localparam int unsigned UPDATE_CRITIC = 9, UPDATE_ACTOR = 10, AFTER = 12, WITH = 13;  // of word 0

  typedef enum logic [4:0] {
    StIdle,
    StLoad, StTargetActor, StTargetCritic, StCritic, StWritten, StLoss, StCriticDx, StCriticDw,
    StActor, StForward, StWith, StJudged, StSeeds, StThrough, StActorDx, StActorDw,
    StRest, StAfter
  } state_t;
  state_t state_q, state_d;
  logic   enters, first_q;                     // first clock of a state

  // ---- Chunks
  logic [15:0]          batch, chunk, at_q, left_q;        // first vector; vectors from it on
  logic [VECTORS_W-1:0] count;
  logic                 actor_q;                           // the phase
  logic                 set_q;                             // the set of X that was loaded last
  logic                 last, several, next_chunk, next_phase;
  assign batch         = words_i[14][15:0];
  assign chunk         = words_i[14][31:16];
  assign last          = left_q <= chunk;
  assign several       = batch > chunk;
  assign count         = VECTORS_W'(last ? left_q : chunk);
  assign batch_first_o = at_q;
  assign batch_count_o = count;
  assign batch_again_o = actor_q;
  assign x_line_o      = set_q ? table_i.set_lines : '0;

  // ---- Passes
  logic [NETS-1:0][1:0] last_layer;
  layer_t               actor_last, critic_last;
  for (genvar n = 0; n < NETS; n++) begin : gen_last
    assign last_layer[n] = 2'(table_i.counts[n] - 1'b1);
  end
  assign actor_last  = table_i.layers[ACTOR][last_layer[ACTOR]];
  assign critic_last = table_i.layers[CRITIC][last_layer[CRITIC]];
  always_comb begin
    pass_o            = '0;
    pass_o.half       = half_i;
    pass_o.watch      = watch_i;
    pass_o.vectors    = count;
    pass_o.net        = state_q inside {StTargetCritic, StCritic, StCriticDx, StCriticDw, StJudged,
                                        StThrough} ? CRITIC : ACTOR;
    pass_o.last_layer = last_layer[pass_o.net];
    pass_o.source     = x_line_o;
    unique case (state_q)
      StTargetActor: begin                     // a' goes into X'
        pass_o.target = 1'b1;
        pass_o.source = x_line_o + table_i.input_lines;
      end
      StTargetCritic: begin                    // q' to where mu will be
        pass_o.target = 1'b1;
        pass_o.source = x_line_o + table_i.input_lines;
        pass_o.place  = 1'b1;
        pass_o.sink   = actor_last.output_line;
      end
      StCriticDx, StActorDx: begin
        pass_o.pass        = PassDx;
        pass_o.first_layer = 2'd1;
      end
      StThrough: pass_o.pass = PassDx;
      StCriticDw, StActorDw: pass_o.pass = PassDw;
      default: ;
    endcase
  end
  logic passes;
  assign passes = state_q inside {StTargetActor, StTargetCritic, StCritic, StCriticDx, StCriticDw,
                                  StActor, StThrough, StActorDx, StActorDw}
                  || (state_q == StJudged && update_idle_i);
  assign pass_valid_o = passes && !stop_i;

  // ---- The course
  assign enters        = state_d != state_q;
  assign idle_o        = state_q == StIdle;
  assign batch_start_o = state_q == StLoad && first_q;
  assign judge_start_o = (state_q == StLoss && first_q) || (state_q == StForward && forward_i);
  assign judge_seeds_o = state_q != StLoss;
  assign act_choose_o  = (state_q == StWith || state_q == StAfter) && first_q;
  assign event_o       = state_q == StWith && act_done_i && act_response_i == '0;
  assign next_phase    = last && !actor_q;
  logic seeded_q;                              // the actor's seeds are there
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:         if (start_i) state_d = StLoad;
      StLoad:         if (batch_done_i) begin
        state_d = batch_code_i != '0 ? StIdle : actor_q ? StActor : StTargetActor;
      end
      StTargetActor:  if (pass_ready_i) state_d = StTargetCritic;
      StTargetCritic: if (pass_ready_i) state_d = StCritic;
      StCritic:       if (pass_ready_i) state_d = StWritten;
      StWritten:      if (cores_idle_i && !first_q) state_d = StLoss;
      StLoss:         if (judge_done_i) state_d = StCriticDx;
      StCriticDx:     if (pass_ready_i) state_d = StCriticDw;
      StCriticDw:     if (pass_ready_i) begin
        state_d = !last || several ? StLoad : StActor;
      end
      StActor:        if (pass_ready_i) state_d = StForward;
      StForward:      if (forward_i) state_d = words_i[0][WITH] && at_q == '0 ? StWith : StJudged;
      StWith:         if (act_done_i) state_d = act_response_i != '0 ? StIdle : StJudged;
      StJudged:       if (pass_ready_i && update_idle_i) state_d = StSeeds;
      StSeeds:        if (seeded_q) state_d = StThrough;
      StThrough:      if (pass_ready_i) state_d = StActorDx;
      StActorDx:      if (pass_ready_i) state_d = StActorDw;
      StActorDw:      if (pass_ready_i) state_d = last ? StRest : StLoad;
      StRest:         if (cores_idle_i && update_idle_i && !first_q) begin
        state_d = words_i[0][AFTER] ? StAfter : StIdle;
      end
      StAfter:        if (act_done_i) state_d = StIdle;
      default:        state_d = StIdle;
    endcase
    if (stop_i && !(state_q inside {StLoad, StWith, StAfter})) state_d = StIdle;
  end
  assign next_chunk = enters && state_d != StIdle && (state_q == StCriticDw || state_q == StActorDw);
  always_ff @(posedge clk_i) begin
    state_q <= rst_ni ? state_d : StIdle;
    first_q <= enters;
    done_o  <= rst_ni && !idle_o && state_d == StIdle;
    if (!rst_ni)                           set_q <= 1'b0;
    else if (enters && state_d == StLoad)  set_q <= !set_q;
    if (idle_o) begin
      at_q       <= '0;
      left_q     <= batch;
      actor_q    <= 1'b0;
      updating_o <= 1'b0;
      if (start_i) {code_o, info0_o, info1_o} <= '0;
    end else begin
      if (next_chunk) begin
        at_q    <= last ? '0 : at_q + chunk;
        left_q  <= last ? batch : left_q - chunk;
        actor_q <= actor_q || next_phase;
      end
      if (pass_valid_o && pass_ready_i && pass_o.pass == PassDw && pass_o.update) updating_o <= 1'b1;
      if (state_q == StLoad && batch_done_i) begin
        {code_o, info0_o, info1_o} <= {batch_code_i, batch_info0_i, batch_info1_i};
      end
      if (act_done_i && act_response_i != '0) begin
        {code_o, info0_o, info1_o} <= {E_BUS_WR, ACTION, 32'(act_response_i)};
      end
    end
    if (judge_start_o)     seeded_q <= 1'b0;
    else if (judge_done_i) seeded_q <= 1'b1;
  end

  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
endmodule : jd_qat_train
