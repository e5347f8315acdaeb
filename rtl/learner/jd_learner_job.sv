// SPDX-License-Identifier: Apache-2.0
//
// Runs the learner's jobs: checks descriptors, starts the units in order, and keeps the engine's
// progress.
//
// Streams  jd_engine_control gives one job at a time and gets one end for each. A pulse starts a
//          unit, and a pulse answers. The records of the next step are fetched while a step
//          computes. A step of a program with two phases is: pipeline and updates of the first
//          phase, then pipeline and updates of the second.
//          The next step, or the second phase of this step, is launched while updates run. (A step
//          is launched only once its records are there.) Its stages wait for the parameters that
//          they read. Only when the earlier updates are over is its result judged, and only then do
//          its own updates begin.
// Timing   A step of TRAIN takes the clocks of the pipeline, then those of WU and TSM in program
//          order. Each of them begins SETTLE clocks after the one before it (for the first these
//          pass while the step computes), and one clock later at the first, two at the others. A
//          launch comes four clocks after the updates begin.
//          INFER uses the states of a step: a round takes the clocks of the pipeline and of writing
//          the results. GRADS ends in the state of images, and APPLY begins there.
//          A job starts eight clocks after it came, if nothing is in flight. With ActorCritic a
//          step that is not launched begins three clocks later. Copies of columns are made after WU
//          and before the first step: a word per clock and 11 clocks per copy; 3 clocks for a
//          network without a copy.
// Numbers  none.
// Source   learner 4.1, 5.4, 7. Golden model: models/learner/engine.py.
`include "jd_assert.svh"
module jd_learner_job
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned BMax   = 64,
  parameter  int unsigned ARows  = 2048,         // of each pipeline
  parameter  int unsigned DP     = 1,            // pipelines
  parameter  int unsigned NetMax = 6,
  parameter  bit          ActorCritic = 1'b0,    // phases, delayed stages, copies of columns
  localparam int unsigned NetW   = $clog2(NetMax),
  localparam int unsigned BatchW = $clog2(BMax + 1)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // Jobs.
  input  logic                job_valid_i,
  output logic                job_ready_o,
  input  logic [511:0]        job_descriptor_i,
  output logic                end_valid_o,
  input  logic                end_ready_i,
  output logic [7:0]          end_error_o,
  output logic [31:0]         end_count_o,
  output logic [31:0]         end_info0_o,
  output logic [31:0]         end_info1_o,
  input  logic                soft_reset_i,
  input  logic                timeout_i,
  output logic                event_o,
  output logic [15:0][31:0]   words_o,           // the job's descriptor
  // Program.
  output logic                program_start_o,
  input  logic                program_done_i,
  input  logic [7:0]          program_error_i,
  input  logic [31:0]         program_info0_i,
  input  logic [31:0]         program_info1_i,
  input  plan_t               plan_i,
  input  logic                beyond_i,          // an array of the job does not lie below 2^40,
  input  logic [3:0]          beyond_word_i,     // of the address in this word; jd_learner_extents
  output logic [4:0]          update_index_o,
  input  update_t             update_i,          // that stage
  output logic                updating_o,        // updates of a step are made,
  output logic                updates_first_o,   // those of the first of two phases
  output logic                updates_restart_o, // a step begins
  output logic [NetMax-1:0][31:0] since_o,       // steps since each network's target was copied
  output logic                gradient_alone_o,  // APPLY: of gradients that were loaded
  // Parameters.
  output parameters_req_t     parameters_req_o,
  input  parameters_rsp_t     parameters_rsp_i,
  input  logic                image_busy_i,      // one clock late
  // Fetch.
  output fetch_req_t          fetch_req_o,
  input  fetch_rsp_t          fetch_rsp_i,
  input  logic                memory_idle_i,     // no transaction of any unit is out
  // Pipelines, and the results of a step.
  output step_req_t           step_req_o,
  input  step_rsp_t           step_rsp_i,
  output results_req_t        results_req_o,
  input  results_rsp_t        results_rsp_i,
  output logic                infers_o,          // the job is INFER
  // State of the networks.
  output logic [NetMax-1:0]   banks_o,
  // Registers and counters.
  output progress_t           progress_o,
  output logic                wait_data_o,       // a step waits for its records
  output logic                wait_room_o,       // for room in TDE
  output logic                wait_update_o,     // WU or TSM run
  output logic                idle_o
);
  import jd_learner_map_pkg::E_DIM;
  import jd_learner_map_pkg::E_INDEX;
  import jd_learner_map_pkg::E_NOPROG;
  import jd_learner_map_pkg::E_NOWEIGHTS;
  import jd_learner_map_pkg::E_NONFINITE;
  import jd_learner_map_pkg::E_BATCH;
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_engine_header_map_pkg::E_BUS_WR;
  import jd_engine_header_map_pkg::E_ADDR;
  import jd_engine_header_map_pkg::E_ALIGN;
  import jd_engine_header_map_pkg::E_TIMEOUT;
  import jd_engine_header_map_pkg::E_OPCODE;
  import jd_engine_header_map_pkg::E_RESERVED;

  typedef enum logic [4:0] {
    StIdle, StCheck, StSettle, StProgram, StImage, StData, StStep, StResults, StUpdates, StUpdate,
    StTarget, StCommit, StFlush, StDrain, StEnd, StColumns, StPhase, StInfer
  } state_e;
  state_e            state_q, state_d;
  logic [15:0][31:0] words_q;
  logic [7:0]        error_q;
  logic [31:0]       info0_q, info1_q;
  logic              loaded_program_q;
  logic              settled_q, flushed_q;       // nothing is in flight, in StSettle, in StFlush
  logic [NetMax-1:0] loaded_q, banks_q;
  update_state_t     scalars_q [NetMax];

  logic [7:0] opcode;
  logic       to_memory;
  assign opcode      = words_q[0][7:0];
  assign to_memory   = words_q[0][9];
  assign words_o     = words_q;
  // Of the present job; not valid in the first clock of its check.
  logic       infers_q, grads_q, applies_q, from_stream_q;
  always_ff @(posedge clk_i) begin
    from_stream_q <= opcode inside {JOB_TRAIN, JOB_GRADS} && !words_q[0][8];
    infers_q  <= opcode == JOB_INFER;
    grads_q   <= opcode == JOB_GRADS;
    applies_q <= opcode == JOB_APPLY;
  end
  assign infers_o         = infers_q;
  assign gradient_alone_o = applies_q;

  // The check finds the first broken rule and its word. It has four registers: faults of each word,
  // frames of the batch, the first broken rule of each kind, the first error. The result is there
  // in the fifth clock.
  logic [2:0]        check_q;
  logic              checked;
  logic [7:0]        rule_error, rule_error_q, check_error_q;
  logic [3:0]        rule_word, rule_word_q, reserved_word, reserved_word_q, check_word_q;
  logic [15:0][31:0] reserved;           // bits that must be zero
  logic [15:0]       reserved_set_q;     // words with such a bit set
  logic              reserved_bad_q;
  logic [BatchW-1:0] job_batch;          // TRAIN, INFER: word 3
  logic [BatchW:0]   job_most;           // samples of the first pipeline
  logic [BatchW+7:0] job_rows_q;         // of the frames of a batch
  logic              opcode_bad_q, nets_missing_q, steps_bad_q, batch_range_q, batch_bad_q;
  logic              masks_bad_q, images_missing_q;
  logic              pass_missing_q, net_missing_q, none_q;   // INFER
  logic              trained_bad_q;      // GRADS, APPLY
  logic [4:0]        align_bad_q;        // words 4, 6, 10, 12, 14
  logic [NetMax-1:0] nets, image_nets, infer_net;
  assign nets       = plan_i.nets[NetMax-1:0];
  assign image_nets = words_q[2][NetMax-1:0];
  assign infer_net  = NetMax'(8'd1 << words_q[2][2:0]);
  assign job_batch  = words_q[3][BatchW-1:0];
  assign job_most   = ((BatchW + 1)'(job_batch) + (BatchW + 1)'(DP - 1)) >> $clog2(DP);
  assign checked    = state_q == StCheck && check_q == 3'd4;
  always_ff @(posedge clk_i) begin
    check_q        <= state_q == StCheck ? check_q + 3'd1 : '0;
    opcode_bad_q   <= !(opcode inside {JOB_LOAD, JOB_STORE, JOB_PROGRAM, JOB_TRAIN, JOB_INFER,
                                       JOB_GRADS, JOB_APPLY});
    nets_missing_q <= (nets & ~loaded_q) != '0;
    steps_bad_q    <= words_q[2] == '0 || words_q[2][31];
    batch_range_q  <= words_q[3] == '0 || words_q[3] > 32'(BMax);
    job_rows_q     <= (BatchW + 8)'(job_most) * (BatchW + 8)'(plan_i.frame_rows);
    batch_bad_q    <= batch_range_q || 32'(job_rows_q) > 32'(ARows);
    masks_bad_q    <= words_q[2][7:0] == '0 || words_q[2][12:8] == '0
                      || (words_q[2][7:0] & ~8'(nets)) != '0
                      || (words_q[2][8+KIND_TARGET]
                          && (image_nets & ~plan_i.targets[NetMax-1:0]) != '0);
    images_missing_q <= (opcode == JOB_STORE || !words_q[2][8+KIND_WEIGHTS])
                        && (image_nets & ~loaded_q) != '0;
    pass_missing_q <= words_q[2][7:3] != '0 || (infer_net & plan_i.passes[NetMax-1:0]) == '0;
    net_missing_q  <= (infer_net & loaded_q) == '0;
    none_q         <= words_q[7] == '0;
    trained_bad_q  <= words_q[2][7:0] == '0 || (ActorCritic && plan_i.phases)
                      || (words_q[2][7:0] & ~8'(plan_i.trained[NetMax-1:0])) != '0;
    for (int unsigned k = 0; k < 16; k++) begin
      reserved_set_q[k] <= (words_q[k] & reserved[k]) != '0;
    end
    align_bad_q[0] <= words_q[4][5:0] != '0;
    align_bad_q[1] <= words_q[6][5:0] != '0;
    align_bad_q[2] <= !from_stream_q && words_q[10][5:0] != '0;
    align_bad_q[3] <= (infers_q || to_memory) && words_q[12][5:0] != '0;
    align_bad_q[4] <= grads_q && words_q[14][5:0] != '0;
    reserved_bad_q  <= reserved_set_q != '0;
    reserved_word_q <= reserved_word;
    rule_error_q    <= rule_error;
    rule_word_q     <= rule_word;
    check_error_q   <= opcode_bad_q ? E_OPCODE : reserved_bad_q ? E_RESERVED : rule_error_q;
    check_word_q    <= opcode_bad_q ? '0 : reserved_bad_q ? reserved_word_q : rule_word_q;
  end
  always_comb begin
    reserved    = '1;
    reserved[0] = 32'h3FFF_FF00;
    reserved[1] = '0;
    reserved[2] = '0;
    reserved[4] = '0;
    reserved[5] = 32'hFFFF_FF00;
    if (opcode inside {JOB_TRAIN, JOB_GRADS}) begin
      reserved[0]     = 32'h3FFF_F800;
      reserved[3]     = '0;
      reserved[9:6]   = '0;
      reserved[10]    = '0;
      reserved[11]    = 32'hFFFF_FF00;
      reserved[12]    = '0;
      reserved[13]    = 32'hFFFF_FF00;
      if (opcode == JOB_GRADS) begin
        reserved[2]   = 32'hFFFF_FF00;
        reserved[9]   = '1;
        reserved[14]  = '0;
        reserved[15]  = 32'hFFFF_FF00;
      end
    end else if (opcode == JOB_APPLY) begin
      reserved[2]     = 32'hFFFF_FF00;
    end else if (opcode == JOB_INFER) begin
      reserved[2]     = 32'hFFFF_FF00;
      reserved[3]     = '0;
      reserved[7:6]   = '0;
      reserved[12]    = '0;
      reserved[13]    = 32'hFFFF_FF00;
    end else if (opcode == JOB_LOAD || opcode == JOB_STORE) begin
      reserved[2]     = 32'hFFFF_E000;
    end
    reserved_word = '0;
    for (int unsigned k = 15; k > 0; k--) if (reserved_set_q[k]) reserved_word = 4'(k);
    if (reserved_set_q[0]) reserved_word = '0;
    rule_error = '0;
    rule_word  = '0;
    if (opcode != JOB_PROGRAM && !loaded_program_q) begin
      rule_error = E_NOPROG;
    end else if (opcode inside {JOB_TRAIN, JOB_GRADS, JOB_APPLY} && nets_missing_q) begin
      rule_error = E_NOWEIGHTS;
    end else if (opcode == JOB_TRAIN && steps_bad_q) begin
      rule_error = E_DIM;
      rule_word  = 4'd2;
    end else if (opcode == JOB_INFER && pass_missing_q) begin
      rule_error = E_DIM;
      rule_word  = 4'd2;
    end else if (opcode == JOB_INFER && net_missing_q) begin
      rule_error = E_NOWEIGHTS;
      rule_word  = 4'd2;
    end else if (opcode == JOB_INFER && none_q) begin
      rule_error = E_DIM;
      rule_word  = 4'd7;
    end else if (opcode inside {JOB_GRADS, JOB_APPLY} && trained_bad_q) begin
      rule_error = E_DIM;
      rule_word  = 4'd2;
    end else if (opcode inside {JOB_TRAIN, JOB_INFER, JOB_GRADS} && batch_bad_q) begin
      rule_error = E_BATCH;
      rule_word  = 4'd3;
    end else if (opcode inside {JOB_LOAD, JOB_STORE} && masks_bad_q) begin
      rule_error = E_DIM;
      rule_word  = 4'd2;
    end else if (opcode inside {JOB_LOAD, JOB_STORE} && images_missing_q) begin
      rule_error = E_NOWEIGHTS;
      rule_word  = 4'd2;
    end else if (align_bad_q[0]) begin
      rule_error = E_ALIGN;
      rule_word  = 4'd4;
    end else if (opcode inside {JOB_TRAIN, JOB_INFER, JOB_GRADS} && align_bad_q[4:1] != '0) begin
      rule_error = E_ALIGN;
      rule_word  = align_bad_q[1] ? 4'd6 : align_bad_q[2] ? 4'd10 : align_bad_q[3] ? 4'd12 : 4'd14;
    end
  end

  // Both last for more than one clock, so seeing them one clock late does no harm.
  logic       soft_reset_q, timeout_q, stop;
  logic       begins;                    // the job leaves StSettle for its work
  logic [7:0] stop_error;
  assign stop       = soft_reset_q || timeout_q;
  assign begins     = state_q == StSettle && settled_q && !stop && !beyond_i;
  assign stop_error = E_TIMEOUT;
  always_ff @(posedge clk_i) begin
    soft_reset_q <= rst_ni && soft_reset_i;
    timeout_q    <= rst_ni && timeout_i;
  end

  // Fetch runs at most one step ahead of the frames that a step still reads. A start is decided one
  // clock in advance. So outside training fetch is flushed from the second clock on.
  logic        training, fetching_q, fetch_failed_q, fetch_begins;
  logic        more_q;                   // there is more to fetch, one clock late: a fetch lasts
                                         // longer
  logic [31:0] steps, begun_q, done_q;
  logic        fetch_start_q, fetch_flush_q;
  logic [1:0]  ahead_q;                  // fetches begun, frames not free yet
  logic [1:0]  here_q;                   // fetched batches of open steps: two, and one in work
  logic        fetched, final_q;         // the present step is the last
  logic [7:0]  fetch_error_q;
  logic [31:0] fetch_info0_q, fetch_info1_q;
  assign steps    = grads_q || applies_q ? 32'd1 : words_q[2];
  assign training = state_q inside {StData, StStep, StResults, StUpdates, StUpdate, StTarget,
                                    StCommit, StPhase, StColumns, StInfer};
  assign fetch_begins   = training && !fetching_q && !fetch_failed_q && !stop && more_q
                          && !ahead_q[1];
  assign fetched        = fetch_rsp_i.done && fetch_rsp_i.error == 8'd0 && training;

  // Rounds of INFER: vectors not yet fetched, and vectors not yet through the pipelines. The batch
  // of a fetch changes when the fetch before it ends, the batch of a round when its results are
  // written.
  logic [31:0] unfetched_q, left_q;      // vectors
  logic [15:0] next_fetch_q, fetch_batch_q, step_batch_q;
  logic infer_start_q;
  function automatic logic [15:0] round_of(input logic [31:0] vectors);
    return infers_q && vectors < words_q[3] ? vectors[15:0] : words_q[3][15:0];
  endfunction
  always_ff @(posedge clk_i) begin
    next_fetch_q <= round_of(unfetched_q);
    step_batch_q <= round_of(left_q);
    if (fetch_rsp_i.done || state_q inside {StCheck, StSettle}) fetch_batch_q <= next_fetch_q;
    if (state_q inside {StCheck, StSettle}) begin
      unfetched_q <= words_q[7];
      left_q      <= words_q[7];
    end else begin
      if (fetch_start_q) unfetched_q <= unfetched_q - 32'(fetch_batch_q);
      if (infer_start_q) left_q      <= left_q - 32'(step_batch_q);
    end
  end

  // Events and TD addresses by counters.
  logic [31:0] since_event_q;
  logic        event_due_q;              // the present step ends with an event
  logic [39:0] td_address_q;
  logic [31:0] td_bytes_q;               // of a step's TD errors, in memory

  // Phases, delayed stages and copies of columns.
  logic            phase_q;              // the second phase
  logic            phase_over_q;         // the updates of the first phase are over; after update_q
  logic            due_step_q;           // delayed stages run in this step
  logic            pass;                 // the present stage does not run
  logic            copies;               // its network has a copy of columns
  logic            behind_update_q;      // in StColumns: after the WU; else for each network
  logic [NetW-1:0] column_net_q;
  logic            columns_next;         // the present network needs no more
  logic            due_known;
  logic            due_ahead_q;          // delayed stages run in the pipelines' step

  // The launch.
  logic            launch;
  logic            launched_q;           // the pipelines have the next step or phase,
  logic            early_q;              // and are through with it
  logic            step_over, more_phases, good, accept;
  logic            step_start_q, td_abort_q, td_go_q;
  logic [2:0]      begun_updates_q;
  logic            parity_q, pipe_phase_q; // of the pipelines' present or next step

  // The present stage of WU and TSM passes three registers: the stage, its network's scalars,
  // whether its copy is due. They agree with index_q when it has stood still for SETTLE clocks.
  localparam logic [1:0] SETTLE = 2'd3;
  logic [4:0]    index_q;
  update_t       update_q;               // that stage
  update_state_t net_scalars_q;          // and of its network, or of the image's
  logic [1:0]  settle_q;
  logic        settled, past_q, due_q;   // past_q: index_q is after the last stage
  logic        other_q;                  // APPLY: the stage's network is not in its mask
  logic        take_stage, next_stage;
  logic [31:0] since;                    // with this step
  assign update_index_o = index_q;
  assign settled        = settle_q == SETTLE;
  assign since          = net_scalars_q.since + 32'd1;
  assign take_stage     = state_q == StUpdates && settled && !past_q && !phase_over_q;
  assign next_stage     = (state_q == StUpdate && parameters_rsp_i.update_done && !copies)
                          || (state_q == StColumns && columns_next && behind_update_q)
                          || (state_q == StTarget && parameters_rsp_i.target_done)
                          || (take_stage && (pass || (update_q.is_target && !due_q)));

  logic            update_start_q, target_start_q, image_start_q, columns_start_q, columns_busy;
  logic [NetW-1:0] columns_net, image_net;
  logic            image_good;           // an image is there, without error
  logic [1:0]      owner_q;
  assign image_net  = parameters_rsp_i.image_net[NetW-1:0];
  assign image_good = state_q == StImage && parameters_rsp_i.image_done
                      && parameters_rsp_i.image_response == 2'd0 && !stop;
  assign parameters_req_o = '{owner: owner_q, update: update_q, scalars: net_scalars_q,
      update_start: update_start_q, target_start: target_start_q, columns_start: columns_start_q,
      columns_busy: columns_busy, columns_net: 3'(columns_net), image_start: image_start_q,
      gradient_image: grads_q || applies_q};

  // A copy of columns is made after each WU, and before the first step of a job, because weights
  // may have been loaded.
  if (ActorCritic) begin : gen_actor_critic
    logic [32:0] waited_q;               // with this step
    logic [32:0] after;                  // with the one after it
    logic [2:0]  known_q;                // due_step_q is of the step to come
    logic        look_q, skips_q, started_q;
    assign after         = due_step_q ? 33'd1 : waited_q + 33'd1;
    assign pass          = other_q || (update_q.delayed && !due_step_q);
    assign copies        = parameters_rsp_i.columns[update_q.net];
    assign columns_next  = started_q ? parameters_rsp_i.columns_done : skips_q;
    assign due_known     = known_q[2];
    assign columns_net   = behind_update_q ? NetW'(update_q.net) : column_net_q;
    always_ff @(posedge clk_i) begin
      phase_over_q <= plan_i.phases && !phase_q && update_q.second;
      waited_q   <= {1'b0, scalars_q[0].waited} + 33'd1;
      if (state_q inside {StData, StImage}) due_step_q <= waited_q >= 33'(plan_i.delay);
      else if (state_q == StCommit) due_step_q <= due_ahead_q;
      if (state_q == StData) due_ahead_q <= waited_q >= 33'(plan_i.delay);
      else if (updating_o && !more_phases && !launched_q) begin
        due_ahead_q <= after >= 33'(plan_i.delay);
      end
      known_q    <= state_q == StData ? {known_q[1:0], 1'b1} : '0;
      if (state_q == StPhase)                                 phase_q <= 1'b1;
      else if (state_q inside {StSettle, StData, StCommit}) phase_q <= 1'b0;
      // Of each network: one clock to look at it, one to start.
      columns_start_q <= rst_ni && state_q == StColumns && !started_q && !skips_q
                         && look_q && parameters_rsp_i.columns[3'(columns_net)];
      if (state_q != StColumns || columns_next) begin
        started_q <= 1'b0;
        skips_q   <= 1'b0;
        look_q    <= 1'b0;
      end else begin
        look_q <= 1'b1;
        if (look_q && !started_q) begin
          started_q <= parameters_rsp_i.columns[3'(columns_net)];
          skips_q   <= !parameters_rsp_i.columns[3'(columns_net)];
        end
      end
      if (state_q != StColumns) begin
        behind_update_q <= state_q == StUpdate;
        column_net_q    <= '0;
      end else if (columns_next) begin
        column_net_q <= column_net_q + 1'b1;
      end
    end
  end else begin : gen_no_actor_critic
    assign phase_over_q    = 1'b0;
    assign phase_q         = 1'b0;
    assign due_step_q      = 1'b1;
    assign due_ahead_q     = 1'b1;
    assign pass            = other_q;
    assign copies          = 1'b0;
    assign behind_update_q = 1'b0;
    assign column_net_q    = '0;
    assign columns_next    = 1'b0;
    assign due_known       = 1'b1;
    assign columns_net     = '0;
    assign columns_start_q = 1'b0;
  end

  // The launch of the step or phase after the present updates. The registers that it depends on,
  // and the registers that hold its stages back, know of these updates three clocks after their
  // begin.
  assign updating_o      = state_q inside {StUpdates, StUpdate, StTarget}
                           || (state_q == StColumns && behind_update_q);
  assign more_phases     = ActorCritic && plan_i.phases && !phase_q;
  assign updates_first_o = more_phases;
  assign updates_restart_o = state_q inside {StData, StCommit};
  assign step_over       = state_q == StStep && (step_rsp_i.done || early_q);
  assign launch          = updating_o && begun_updates_q[2] && !launched_q
                           && (more_phases || (!final_q && !stop && here_q[1]
                                               && results_rsp_i.td_room));
  assign accept          = state_q == StResults && good && !more_phases;
  always_ff @(posedge clk_i) begin
    begun_updates_q <= updating_o ? {begun_updates_q[1:0], 1'b1} : '0;
    if (!rst_ni || step_over || state_q inside {StSettle, StFlush}) begin
      launched_q <= 1'b0;
      early_q    <= 1'b0;
    end else begin
      if (launch)                    launched_q <= 1'b1;
      if (launched_q && step_rsp_i.done) early_q    <= 1'b1;
    end
    if (state_q == StSettle)               pipe_phase_q <= 1'b0;
    else if (state_q == StResults && good) pipe_phase_q <= more_phases;
    if (state_q == StSettle)               parity_q     <= 1'b0;
    else if (accept || infer_start_q)    parity_q     <= !parity_q;
  end
  assign columns_busy   = ActorCritic && state_q == StColumns;

  always_comb begin
    for (int unsigned n = 0; n < NetMax; n++) since_o[n] = scalars_q[n].since;
  end
  always_ff @(posedge clk_i) begin
    update_q      <= update_i;
    past_q        <= index_q == plan_i.updates;
    net_scalars_q <= scalars_q[image_busy_i ? image_net : NetW'(update_q.net)];
    other_q       <= applies_q && !words_q[2][5'(update_q.net)];
    due_q         <= update_q.polyak || since >= 32'(update_q.period);
    owner_q       <= image_busy_i ? 2'd2 : update_q.is_target && !columns_busy ? 2'd1 : 2'd0;
    if (state_q inside {StData, StCommit, StImage} || next_stage) settle_q <= '0;
    else if (!settled)                                   settle_q <= settle_q + 2'd1;
    if (state_q inside {StData, StCommit, StImage}) index_q <= '0;
    else if (next_stage)                   index_q <= index_q + 5'd1;
  end

  logic step_ok;
  logic summed;                          // the TD errors are in memory, their statistics known
  logic commit;                          // a step is complete
  logic start;                           // the pipelines begin in the next clock
  assign step_ok = !step_rsp_i.index && !step_rsp_i.nonfinite;
  // Of what the pipelines did, in StResults: its updates begin.
  assign summed  = results_rsp_i.td_memory_done && results_rsp_i.stats_ready;
  assign good    = step_ok && (phase_q || (!stop && summed
                                           && results_rsp_i.td_memory_resp == 2'd0));

  always_comb begin
    state_d      = state_q;
    start        = launch;
    unique case (state_q)
      StIdle: if (job_valid_i && !soft_reset_i) state_d = StCheck;
      StCheck: if (checked) state_d = check_error_q != 8'd0 ? StEnd : StSettle;
      // What is left in flight, as the pipelines' last words, ends before the job begins.
      StSettle: begin
        if (stop) begin
          state_d = StEnd;
        end else if (settled_q) begin
          unique case (opcode)
            JOB_PROGRAM: state_d = StProgram;
            JOB_TRAIN, JOB_GRADS: state_d = ActorCritic ? StColumns : StData;
            JOB_INFER:   state_d = StData;
            default:     state_d = StImage;
          endcase
          if (beyond_i) state_d = StEnd;
        end
      end
      StProgram: if (program_done_i) state_d = StEnd;
      // That of GRADS ends the job's step, that of APPLY is before its updates.
      StImage: begin
        if (parameters_rsp_i.image_done && (stop || parameters_rsp_i.image_response != 2'd0)) begin
          state_d = grads_q ? StFlush : StEnd;
        end else if (parameters_rsp_i.image_done) begin
          state_d = grads_q ? StDrain : applies_q ? StUpdates : StEnd;
        end
      end
      // TRAIN, INFER. A step or round starts when its records are here and its TD errors have room.
      StData: begin
        if (stop || (fetch_failed_q && here_q == '0)) begin
          state_d = StFlush;
        end else if (here_q != '0 && (results_rsp_i.td_room || infers_q) && due_known) begin
          state_d = StStep;
          start   = 1'b1;
        end
      end
      // A step whose first updates have begun is completed.
      StStep: begin
        if (step_over || (stop && !phase_q)) begin
          state_d = stop && !phase_q ? StFlush : infers_q ? StInfer : StResults;
        end
      end
      StInfer: if (results_rsp_i.infer_done) begin
        state_d = results_rsp_i.infer_response != 2'd0 || stop ? StFlush : StCommit;
      end
      StResults: begin
        if (good) state_d = grads_q ? StImage : StUpdates;
        else if (!step_ok || stop || summed) state_d = StFlush;
      end
      StUpdates: begin
        if (past_q && settle_q != '0) begin
          state_d = ActorCritic && plan_i.phases && !phase_q ? StPhase : StCommit;
        end else if (settled && phase_over_q)               state_d = StPhase;
        else if (take_stage && !pass && !update_q.is_target) state_d = StUpdate;
        else if (take_stage && !pass && due_q)               state_d = StTarget;
      end
      StUpdate: if (parameters_rsp_i.update_done) state_d = copies ? StColumns : StUpdates;
      StColumns: begin
        if (columns_next && behind_update_q)                          state_d = StUpdates;
        else if (columns_next && column_net_q == NetW'(NetMax - 1)) state_d = StData;
      end
      StPhase: begin
        state_d = StStep;
        start   = !launched_q;
      end
      StTarget: if (parameters_rsp_i.target_done) state_d = StUpdates;
      StCommit: begin
        if (stop)            state_d = StFlush;
        else if (final_q)    state_d = infers_q || applies_q ? StEnd : StDrain;
        else if (launched_q) state_d = StStep;
        else                 state_d = StData;
      end
      // An error: drop what is in flight.
      StFlush: if (flushed_q) state_d = StEnd;
      StDrain: if (results_rsp_i.td_empty || stop) state_d = StEnd;
      StEnd:   if (end_ready_i || soft_reset_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  assign fetch_req_o     = '{job_start: state_q == StSettle, start: fetch_start_q,
      parity: begun_q[0], batch: fetch_batch_q, flush: fetch_flush_q};
  assign step_req_o      = '{start: step_start_q, drop: state_q inside {StFlush, StSettle},
      parity: parity_q, phase: pipe_phase_q, due: due_ahead_q, batch: step_batch_q};
  assign results_req_o   = '{job_start: state_q == StSettle, running: training,
      td_clear: state_q == StFlush && !results_rsp_i.td_memory_busy,
      td_fetch_done: fetched && from_stream_q, td_abort: td_abort_q, td_go: td_go_q,
      accept: accept, td_address: td_address_q, infer_start: infer_start_q};
  assign job_ready_o     = state_q == StIdle && !soft_reset_i;
  assign end_valid_o     = state_q == StEnd;
  assign end_error_o     = error_q;
  assign end_count_o     = opcode inside {JOB_TRAIN, JOB_INFER, JOB_GRADS, JOB_APPLY} ? done_q
                                                                                      : '0;
  assign end_info0_o     = info0_q;
  assign end_info1_o     = info1_q;
  assign commit          = state_q == StCommit && !infers_q;
  assign wait_data_o     = state_q == StData && here_q == '0;
  assign wait_room_o     = (state_q == StData && here_q != '0 && !results_rsp_i.td_room
                            && !infers_q)
                           || state_q == StDrain;
  assign wait_update_o   = (updating_o || state_q == StColumns) && (!launched_q || early_q);
  assign idle_o          = state_q == StIdle;
  assign banks_o         = banks_q;

  // The error of the job: the first one stays.
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle) begin
      error_q <= '0;
      info0_q <= '0;
      info1_q <= '0;
    end else if (error_q == 8'd0) begin
      unique case (state_q)
        StCheck: if (checked) begin
          error_q <= check_error_q;
          info0_q <= 32'(check_word_q);
        end
        StSettle: if (settled_q && beyond_i) begin
          error_q <= E_ADDR;
          info0_q <= 32'(beyond_word_i);
        end
        StProgram: if (program_done_i) begin
          error_q <= program_error_i;
          info0_q <= program_info0_i;
          info1_q <= program_info1_i;
        end
        StImage: if (parameters_rsp_i.image_done && parameters_rsp_i.image_response != 2'd0) begin
          error_q <= opcode == JOB_STORE || grads_q ? E_BUS_WR : E_BUS_RD;
          info0_q <= grads_q ? 32'd14 : 32'd4;
          info1_q <= 32'(parameters_rsp_i.image_response);
        end
        StData: if (fetch_failed_q && here_q == '0) begin
          error_q <= fetch_error_q;
          info0_q <= fetch_info0_q;
          info1_q <= fetch_error_q == E_BUS_RD ? fetch_info1_q : done_q;
        end
        StResults: begin
          if (step_rsp_i.index) begin
            error_q <= E_INDEX;
            info0_q <= 32'(step_rsp_i.index_sample);
            info1_q <= done_q;
          end else if (step_rsp_i.nonfinite) begin
            error_q <= E_NONFINITE;
            info0_q <= 32'(step_rsp_i.nonfinite_stage);
            info1_q <= done_q;
          end else if (!phase_q && results_rsp_i.td_memory_done
                       && results_rsp_i.td_memory_resp != 2'd0) begin
            error_q <= E_BUS_WR;
            info0_q <= 32'd12;
            info1_q <= 32'(results_rsp_i.td_memory_resp);
          end
        end
        StInfer: if (results_rsp_i.infer_done && results_rsp_i.infer_response != 2'd0) begin
          error_q <= E_BUS_WR;
          info0_q <= 32'd12;
          info1_q <= 32'(results_rsp_i.infer_response);
        end
        default: begin end
      endcase
      if (timeout_q && !(state_q inside {StCheck, StEnd})) begin
        error_q <= stop_error;
        info0_q <= '0;
        info1_q <= done_q;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q            <= StIdle;
      loaded_program_q   <= 1'b0;
      loaded_q           <= '0;
      banks_q            <= '0;
      fetching_q         <= 1'b0;
      fetch_start_q      <= 1'b0;
      fetch_flush_q      <= 1'b1;
      program_start_o    <= 1'b0;
      image_start_q      <= 1'b0;
      step_start_q       <= 1'b0;
      infer_start_q      <= 1'b0;
      update_start_q     <= 1'b0;
      target_start_q     <= 1'b0;
      td_abort_q         <= 1'b0;
      progress_o         <= '0;
      event_o            <= 1'b0;
    end else begin
      state_q <= state_d;
      event_o <= commit && event_due_q;
      step_start_q  <= start;
      infer_start_q <= step_over && infers_q && !stop;
      // Program and weights.
      if (program_start_o) begin
        loaded_program_q <= 1'b0;
        loaded_q         <= '0;
      end
      if (state_q == StProgram && program_done_i) begin
        loaded_program_q <= program_error_i == 8'd0 && !timeout_q;
      end
      if (image_start_q && opcode == JOB_LOAD) loaded_q <= loaded_q & ~image_nets;
      if (image_good && opcode == JOB_LOAD) begin
        loaded_q  <= loaded_q | image_nets;
        progress_o.version <= progress_o.version + 32'd1;
      end
      // Steps.
      fetch_flush_q <= !training;
      fetch_start_q <= fetch_begins;
      if (!training)         fetching_q <= 1'b0;
      else if (fetch_begins) fetching_q <= 1'b1;
      else if (fetch_rsp_i.done) fetching_q <= 1'b0;
      // A unit but the pipeline starts in the first clock of its state. The job's error is there in
      // the first clock of StEnd.
      program_start_o <= begins && opcode == JOB_PROGRAM;
      image_start_q   <= (begins && opcode inside {JOB_LOAD, JOB_STORE, JOB_APPLY})
                         || (state_q == StResults && good && grads_q);
      update_start_q  <= take_stage && !pass && !update_q.is_target;
      target_start_q  <= take_stage && !pass && update_q.is_target && due_q;
      td_abort_q      <= state_q == StEnd && from_stream_q && !soft_reset_i && error_q != 8'd0;
      if (commit) begin
        progress_o.steps   <= progress_o.steps + 32'd1;
        progress_o.version <= progress_o.version + 32'd1;
      end
      if (state_q == StTarget && parameters_rsp_i.target_done) begin
        banks_q[update_q.net] <= !banks_q[update_q.net];
      end
      if (state_q == StResults && step_rsp_i.nonfinite && !step_rsp_i.index && !stop) begin
        progress_o.nonfinite_count <= progress_o.nonfinite_count + 32'd1;
        if (progress_o.nonfinite_count == '0) begin
          progress_o.nonfinite_stage  <= step_rsp_i.nonfinite_stage;
          progress_o.nonfinite_sample <= step_rsp_i.nonfinite_sample;
        end
      end
    end
    if (state_q == StIdle && job_valid_i) words_q <= job_descriptor_i;
    td_go_q     <= state_q == StResults && step_ok && !stop && !phase_q;
    settled_q   <= state_q == StSettle && memory_idle_i && !step_rsp_i.busy;
    flushed_q   <= state_q == StFlush && fetch_flush_q && memory_idle_i && !step_rsp_i.busy
                   && !results_rsp_i.td_memory_busy;
    more_q      <= infers_q ? unfetched_q != '0 : !applies_q && begun_q != steps;
    final_q     <= infers_q ? left_q == '0 : done_q + 32'd1 == steps;
    event_due_q <= words_q[9] != '0 && since_event_q + 32'd1 == words_q[9];
    td_bytes_q  <= ((words_q[3] + 32'd15) >> 4) << 6;
    if (state_q == StSettle || state_q == StCheck) begin
      begun_q        <= '0;
      ahead_q        <= '0;
      here_q         <= '0;
      done_q         <= '0;
      fetch_failed_q <= 1'b0;
      since_event_q  <= '0;
      td_address_q   <= {words_q[13][7:0], words_q[12]};
    end else begin
      if (fetch_start_q) begun_q <= begun_q + 32'd1;
      if (fetch_rsp_i.done && training && fetch_rsp_i.error != 8'd0) begin
        fetch_failed_q <= 1'b1;
        fetch_error_q  <= fetch_rsp_i.error;
        fetch_info0_q  <= fetch_rsp_i.slot;
        fetch_info1_q  <= 32'(fetch_rsp_i.response);
      end
      // The frames of a round are free when its results are written.
      ahead_q <= ahead_q + 2'(fetch_start_q)
                 - 2'(infers_q ? state_q == StCommit : step_over && !more_phases);
      here_q  <= here_q + 2'(fetched) - 2'(state_q == StCommit && !applies_q);
      if (state_q == StCommit && infers_q) done_q <= words_q[7] - left_q;
      if (image_good && grads_q) done_q <= 32'd1;
      if (commit) begin
        done_q        <= done_q + 32'd1;
        since_event_q <= event_due_q ? '0 : since_event_q + 32'd1;
        td_address_q  <= td_address_q + 40'(td_bytes_q);
      end
    end
    // Scalars.
    if (image_busy_i) begin
      if (parameters_rsp_i.image_scalars_write) begin
        scalars_q[image_net] <= parameters_rsp_i.image_scalars;
      end
    end else if (state_q == StUpdate && parameters_rsp_i.update_done) begin
      scalars_q[update_q.net].c1 <= parameters_rsp_i.updated.c1;
      scalars_q[update_q.net].c2 <= parameters_rsp_i.updated.c2;
      scalars_q[update_q.net].lr <= parameters_rsp_i.updated.lr;
    end else if (take_stage && !pass && update_q.is_target && !update_q.polyak) begin
      scalars_q[update_q.net].since <= due_q ? '0 : since;
    end else if (ActorCritic && commit && plan_i.delay != '0) begin
      scalars_q[0].waited <= due_step_q ? '0 : scalars_q[0].waited + 32'd1;
    end
  end

  // The control waits for the end of a job: StEnd is one clock, and ABORT is sent once.
  `JD_ASSERT_IF(EndIsTaken_A, state_q == StEnd, end_ready_i || soft_reset_i)
  `JD_ASSERT_IF(UpdatesAlone_A, update_start_q || target_start_q, !step_rsp_i.busy || launched_q)
  `JD_ASSERT_IF(LaunchOfNext_A, launch,
                !step_rsp_i.busy && (more_phases || begun_q > done_q + 32'd1))
  `JD_ASSERT_IF(StageInHand_A, take_stage,
                update_q == update_i && index_q != plan_i.updates
                && net_scalars_q == scalars_q[NetW'(update_q.net)])
  `JD_ASSERT_IF(Due_A, take_stage,
                due_q == (update_q.polyak || since >= 32'(update_q.period)))
  `JD_ASSERT_IF(Owner_A, update_start_q || target_start_q, owner_q == 2'(update_q.is_target))
  `JD_ASSERT_IF(ColumnsOwner_A, columns_start_q, owner_q == 2'd0)
  `JD_ASSERT_IF(PhaseOver_A, state_q == StUpdates && settled,
                phase_over_q == (more_phases && update_q.second))
  `JD_ASSERT_IF(Past_A, state_q == StUpdates && settle_q != '0,
                past_q == (index_q == plan_i.updates))
  `JD_ASSERT_IF(More_A, fetch_begins, infers_q ? unfetched_q != '0 : begun_q != steps)
  `JD_ASSERT_IF(Final_A, commit, final_q == (done_q + 32'd1 == steps))
  `JD_ASSERT_IF(FewAhead_A, training, ahead_q != 2'd3)
  `JD_ASSERT_IF(FewHere_A, fetched, here_q != 2'd3 || state_q == StCommit)
  `JD_ASSERT_NEXT(ProgramStarts_A, state_q == StSettle && state_d == StProgram, program_start_o)
  `JD_ASSERT_NEXT(ImageStarts_A, state_q != StImage && state_d == StImage, image_start_q)
  `JD_ASSERT_NEXT(UpdateStarts_A, state_q == StUpdates && state_d == StUpdate, update_start_q)
  `JD_ASSERT_NEXT(TargetStarts_A, state_q == StUpdates && state_d == StTarget, target_start_q)
  `JD_ASSERT_IF(StartsUnflushed_A, fetch_start_q, !fetch_flush_q)
endmodule : jd_learner_job
