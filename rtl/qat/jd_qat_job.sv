// SPDX-License-Identifier: Apache-2.0
//
// Runs jobs: checks a descriptor and its table, moves lines in and out, starts passes, ends the
// job.
//
//   descriptor -> check -+-> NET: table's rows -> jd_qat_table
//                        +-> LOAD, PUTX: rows -> memories, slots
//                        +-> STORE, GETX: memories, slots -> rows
//                        +-> INFER: jd_qat_act
//                        +-> TRAIN: jd_qat_train, jd_qat_act
//                        +-> ADAM: jd_qat_sweep
//                        +-> FW, DX, DW: pass
//
// Streams  job, end: as of jd_engine_frame. A job that has been taken waits for the running job.
//          load_*: transfers of jd_qat_load and their rows. weight_*, moment_*, line_*, slot_*:
//          rows of the memories, which show 3 clocks after their request. pass: to jd_qat_cores.
// Timing   A row per clock. A timestep that waits for another one is already checked; if it will
//          run in the same mode, its first chunk and its state are already loaded. Its errors are
//          reported when its turn comes.
// Numbers  bits, unchanged; see jd_qat_act. over_o: words of a state that saturated.
// Source   docs/qat.md (jobs). Golden model: models/qat/engine.py.
`include "jd_assert.svh"
module jd_qat_job
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw        = 16,           // as jd_qat_top
  parameter  int unsigned N         = 2,
  parameter  int unsigned Slots     = 64,
  parameter  int unsigned ActLines  = 160,
  parameter  int unsigned DelLines  = 80,
  parameter  int unsigned WLines    = 20480,
  parameter  int unsigned MaxDim    = 512,
  parameter  int unsigned MaxLayers = 4,
  parameter  int unsigned BMax      = 4096,
  parameter  bit          Paper     = 1'b0,
  localparam int unsigned CoreW     = $clog2(N) > 0 ? $clog2(N) : 1,
  localparam int unsigned RowsW     = 18,
  localparam int unsigned OverW     = $clog2(Lw + 1),
  localparam int unsigned CountW    = $clog2(Lw + 1),
  localparam int unsigned TdOverW   = $clog2(3 * N + 1)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  // Jobs
  input  logic                            job_valid_i,
  output logic                            job_ready_o,
  input  descriptor_t                     job_descriptor_i,
  input  logic                            job_number_i,   // its lowest bit
  output logic                            begins_o,       // a job's turn
  output logic                            end_valid_o,
  input  logic                            end_ready_i,
  output logic                            end_job_o,
  output logic [7:0]                      end_error_o,
  output logic [15:0]                     end_detail_o,
  output logic [31:0]                     end_count_o,
  output logic [31:0]                     end_info0_o,
  output logic [31:0]                     end_info1_o,
  input  logic                            soft_reset_i,
  input  logic                            timeout_i,
  output logic                            running_o,
  output logic                            clear_o,        // of cores and sequencer
  // Settings
  input  logic                            half_i,
  input  logic                            watch_i,
  input  logic [3:0]                      noise_kind_i,
  input  logic                            paper_i,        // the published schedule is wanted
  input  logic [TENSORS-1:0][SHIFT_W-1:0] shifts_i,
  input  logic [31:0]                     c1_i,           // of Adam
  input  logic [31:0]                     c2_i,
  input  logic [31:0]                     eps_i,
  input  logic [24:0]                     tau_i,
  output logic                            capture_o,      // shifts, and half mode
  output logic                            partial_o,      // an update ended early
  input  logic                            due_i,          // half mode is, with this timestep,
  input  logic                            due_next_i,     // or may be with the one after it
  output logic                            trained_o,      // a timestep ended well
  output logic [31:0]                     count_o,        // of the last timestep: vectors
  output logic [63:0]                     sum_q_o,
  output logic [63:0]                     sum_td_o,
  output logic                            event_o,        // an action is there before its job's end
  output table_t                          table_o,
  // Transfers
  output logic                            load_read_o,
  output logic                            load_write_o,
  output logic [39:0]                     load_address_o,
  output logic [RowsW-1:0]                load_rows_o,
  output logic [ROWS_W-1:0]               load_words_o,
  output logic                            load_stop_o,
  input  logic                            load_done_i,
  input  logic [1:0]                      load_response_i,
  input  logic                            row_valid_i,
  output logic                            row_ready_o,
  input  logic [Lw-1:0][WORD_W-1:0]       row_data_i,
  output logic                            row_valid_o,
  input  logic                            row_ready_i,
  output logic [Lw-1:0][WORD_W-1:0]       row_data_o,
  // Memories
  output logic                            weight_read_o,
  input  logic                            weight_ready_i,
  output logic                            weight_write_o,
  output logic                            moment_read_o,
  output logic                            moment_write_o,
  output logic [2:0]                      region_o,
  output logic                            second_o,       // half of a line of V
  output logic [LINE_W-1:0]               line_o,
  input  logic                            weight_valid_i,
  input  logic [Lw-1:0][WORD_W-1:0]       weight_line_i,
  input  logic                            moment_valid_i,
  input  logic [Lw-1:0][WORD_W-1:0]       moment_row_i,
  // Slots
  output logic                            line_valid_o,
  input  logic                            line_ready_i,
  output logic [N-1:0]                    line_cores_o,
  output logic                            line_delta_o,
  output logic                            line_odd_o,
  output logic [ADDRESS_W-1:0]            line_address_o,
  output logic [1:0]                      line_half_o,
  output logic                            slot_read_o,
  output logic                            slot_all_o,     // of all cores
  output logic [CoreW-1:0]                slot_core_o,
  output logic                            slot_delta_o,
  output logic                            slot_odd_o,
  output logic [ADDRESS_W-1:0]            slot_address_o,
  output logic [N-1:0][Lw-1:0][WORD_W-1:0] line_data_o,   // to slots
  output logic [Lw-1:0][WORD_W-1:0]       memory_row_o,   // to memories
  input  logic                            slot_valid_i,
  input  logic [Lw-1:0][WORD_W-1:0]       slot_line_i,
  input  logic [N-1:0][Lw-1:0][WORD_W-1:0] slot_lines_i,
  input  logic                            mu_valid_i,     // the actor's last line for acting
  input  logic [Lw-1:0][WORD_W-1:0]       mu_i,
  // Passes
  output logic                            pass_valid_o,
  input  logic                            pass_ready_i,
  output pass_t                           pass_o,
  input  logic                            cores_idle_i,
  input  logic                            forward_i,      // an entry of a forward pass is taken
  // The optimizer
  output logic                            sweep_o,        // begin with a network
  output logic                            sweep_net_o,
  output logic [25:0]                     rate_o,
  output logic                            targets_o,      // they move
  input  logic                            updates_i,      // a line goes to Adam
  input  logic                            update_idle_i,
  // Acting
  output logic                            seed_o,         // load generator and x
  output logic [255:0]                    seed_state_o,
  output logic [Lw-1:0][WORD_W-1:0]       seed_x_o,
  output logic                            seen_o,         // the line goes into X, is monitored
  output logic [OverW-1:0]                over_o,
  output logic [TdOverW-1:0]              over_td_o,
  output logic                            noise_start_o,
  output logic [CountW-1:0]               actions_o,
  input  logic                            noise_ready_i,
  output logic                            noise_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]       noise_data_o,
  input  logic                            noise_valid_i,
  input  logic [Lw-1:0][WORD_W-1:0]       noise_data_i,
  // Batches and TD errors
  output logic                            batch_moved_o,
  output axi_req_t                        mem_req_o,
  input  axi_rsp_t                        mem_rsp_i
);
  import jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_BUS_WR;
  import jd_engine_header_map_pkg::E_TIMEOUT;
  localparam int unsigned TableWords = 16 + 8 * MaxLayers;
  localparam int unsigned TableRows  = (TableWords + Lw - 1) / Lw;
  localparam logic [31:0] MEMORY = 32'd2, STATE = 32'd4, ACTION = 32'd6;   // words of addresses

  typedef enum logic [3:0] {
    StIdle, StCheck, StTableRows, StTable, StRowsIn, StRowsOut, StPass, StRun, StFetch, StChoose,
    StTrain, StAdam, StDrop, StEnd
  } state_t;
  state_t      state_q, state_d;
  descriptor_t words_q, next_q;                // of the job, and of the one that waits
  logic        next_valid_q, next_number_q;
  logic [7:0]  opcode;
  // Of jd_qat_act, whose ports lead where the job's own do while `acts`
  logic        acts, infers, act_idle, act_fetch, act_choose, act_done, act_read, act_write;
  logic        act_row_ready, act_row_valid, act_line_valid, act_pass_valid;
  logic [1:0]  act_response;
  logic [39:0] act_address;
  logic [RowsW-1:0]          act_rows;
  logic [ROWS_W-1:0]         act_words;
  logic [ADDRESS_W-1:0]      act_line_address;
  logic [Lw-1:0][WORD_W-1:0] act_row, act_line;
  pass_t                     act_pass;
  logic                      act_seen;
  logic [OverW-1:0]          act_over;
  // Of jd_qat_train
  logic                      trains, train_idle, train_done, train_actor, train_line, train_delta;
  logic                      train_odd, train_seen, train_read, train_pass_valid, train_chooses;
  logic                      train_fetches, train_next, train_begun, train_loads;
  logic                      train_beside, train_sweeps;
  logic [PLACE_W-1:0]        train_act_line;
  logic [7:0]                train_code;
  logic [31:0]               train_info0, train_info1;
  logic [N-1:0]              train_cores;
  logic [1:0]                train_half;
  logic [ADDRESS_W-1:0]      train_address, train_slot;
  logic [OverW-1:0]          train_over;
  pass_t                     train_pass;
  logic [N-1:0][Lw-1:0][WORD_W-1:0] train_lines;
  logic        check_start_q, check_done, table_start_q, table_done, first_q;
  logic [7:0]  check_code, table_code;
  logic [31:0] check_place, table_place;
  logic        stop, paper;
  assign opcode = words_q[0][7:0];
  assign paper  = Paper && paper_i;
  assign stop   = soft_reset_i || timeout_i;

  // ---- The next job: a timestep is checked while one runs
  logic                     checks_next, checked_q, good_q;
  logic [N-1:0]             puts_q;              // cores of a PUTX
  logic [CHECK_LATENCY-1:0] ahead_q;             // the next job's checks, by their age
  assign job_ready_o = !next_valid_q && !soft_reset_i;
  assign begins_o    = state_q == StIdle && next_valid_q && !soft_reset_i;
  assign checks_next = trains && train_begun && next_valid_q && !checked_q
                       && next_q[0][7:0] == TRAIN;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || soft_reset_i || begins_o) next_valid_q <= 1'b0;
    else if (job_valid_i && job_ready_o)     next_valid_q <= 1'b1;
    ahead_q <= rst_ni ? {ahead_q[CHECK_LATENCY-2:0], checks_next} : '0;
    if (!next_valid_q || begins_o) begin
      checked_q <= 1'b0;
      good_q    <= 1'b0;
    end else begin
      checked_q <= checked_q || checks_next;
      good_q    <= good_q || (checked_q && ahead_q[CHECK_LATENCY-1] && check_code == '0);
    end
    if (job_valid_i && job_ready_o) begin
      next_q        <= job_descriptor_i;
      next_number_q <= job_number_i;
    end
    if (begins_o) begin
      words_q   <= next_q;
      end_job_o <= next_number_q;
      for (int unsigned c = 0; c < N; c++) puts_q[c] <= next_q[8][3:0] == 4'(c);
    end
  end

  jd_qat_check #(
    .Lw (Lw), .N (N), .Slots (Slots), .ActLines (ActLines), .DelLines (DelLines),
    .WLines (WLines), .MaxLayers (MaxLayers), .BMax (BMax), .Paper (Paper)
  ) u_check (
    .clk_i, .rst_ni,
    .start_i  (check_start_q || checks_next),
    .words_i  (state_q == StCheck ? words_q : next_q),
    .table_i  (table_o),
    .half_i,
    .noise_i  (noise_kind_i),
    .paper_i,
    .shifts_i, .c1_i, .c2_i, .eps_i, .tau_i,
    .done_o   (check_done),
    .code_o   (check_code),
    .place_o  (check_place)
  );
  logic [TableRows-1:0][Lw-1:0][WORD_W-1:0] table_q;
  logic [32*TableWords-1:0]                 table_words;
  assign table_words = (32 * TableWords)'(table_q);
  jd_qat_table #(
    .Lw (Lw), .ActLines (ActLines), .DelLines (DelLines), .WLines (WLines), .MaxDim (MaxDim),
    .MaxLayers (MaxLayers)
  ) u_table (
    .clk_i, .rst_ni,
    .forget_i (state_q == StTableRows),
    .start_i  (table_start_q),
    .words_i  (table_words),
    .done_o   (table_done),
    .code_o   (table_code),
    .place_o  (table_place),
    .table_o
  );

  // ---- What the job moves
  logic        delta, of_weights;
  logic [17:0] line_count;
  assign delta      = words_q[8][4];
  assign of_weights = words_q[8][2:1] == '0;
  assign line_count = opcode inside {LOAD, STORE} ? words_q[10][17:0] : words_q[11][17:0];

  // Where the rows go on: lines of a region, or of slots.
  logic [LINE_W-1:0]    line_q;
  logic                 second_q;
  logic [ADDRESS_W-1:0] slot_q;
  logic [RowsW-1:0]     asked_q;                 // rows to ask for
  logic                 asks, moves_in;
  assign line_o         = line_q;
  assign second_o       = second_q;
  assign region_o       = words_q[8][2:0];
  assign slot_core_o    = opcode == GETX ? CoreW'(words_q[8][3:0]) : '0;
  assign slot_delta_o   = !trains && delta;
  assign slot_odd_o     = words_q[9][0];
  assign slot_address_o = trains ? train_slot : slot_q;
  assign line_delta_o   = train_line ? train_delta : !act_line_valid && delta;
  assign line_odd_o     = train_line ? train_odd : words_q[9][0];
  assign line_address_o = train_line ? train_address : act_line_valid ? act_line_address : slot_q;

  // Rows that were asked for wait in a queue for the transfer.
  localparam int unsigned Queue = 8;
  logic                      queue_room, queue_clear, show_valid;
  logic [3:0]                owed_q, unused_count;
  logic [Lw-1:0][WORD_W-1:0] show_row;
  assign show_valid = weight_valid_i || moment_valid_i || (slot_valid_i && state_q == StRowsOut);
  assign show_row   = weight_valid_i ? weight_line_i : moment_valid_i ? moment_row_i : slot_line_i;
  assign queue_clear = state_q inside {StIdle, StCheck};
  logic                      queue_valid, queue_taken;
  logic [Lw-1:0][WORD_W-1:0] queue_row;
  jd_stream_fifo #(
    .Width (Lw * WORD_W),
    .Depth (Queue)
  ) u_rows (
    .clk_i, .rst_ni,
    .clear_i     (queue_clear),
    .in_valid_i  (show_valid),
    .in_ready_o  (queue_room),
    .in_data_i   (show_row),
    .out_valid_o (queue_valid),
    .out_ready_i (queue_taken),
    .out_data_o  (queue_row),
    .count_o     (unused_count)
  );
  assign row_valid_o = acts ? act_row_valid : state_q == StRowsOut && queue_valid;
  assign row_data_o  = acts ? act_row : queue_row;
  assign queue_taken = state_q == StRowsOut && queue_valid && row_ready_i;
  assign asks        = state_q == StRowsOut && asked_q != '0 && owed_q != 4'(Queue)
                       && (opcode == GETX || !of_weights || weight_ready_i);
  assign weight_read_o = state_q == StRowsOut && opcode == STORE && of_weights && asked_q != '0
                         && owed_q != 4'(Queue);
  assign moment_read_o = asks && opcode == STORE && !of_weights;
  assign slot_read_o   = train_read || (asks && opcode == GETX);
  assign slot_all_o    = train_read;

  // ---- Rows in
  logic stores;                                  // a row goes into its place
  assign moves_in       = state_q == StRowsIn && row_valid_i;
  assign weight_write_o = moves_in && opcode == LOAD && of_weights;
  assign moment_write_o = moves_in && opcode == LOAD && !of_weights;
  assign line_valid_o   = train_line || act_line_valid || (moves_in && opcode == PUTX);
  assign line_half_o    = train_line ? train_half : 2'b11;
  assign stores         = moves_in && (opcode == LOAD || line_ready_i);
  always_comb begin
    unique case (state_q)
      StTableRows: row_ready_o = 1'b1;
      StRowsIn:    row_ready_o = opcode != PUTX || line_ready_i;
      default:     row_ready_o = acts && act_row_ready;
    endcase
  end
  always_comb begin
    for (int unsigned c = 0; c < N; c++) begin
      line_cores_o[c] = train_line ? train_cores[c]
                        : act_line_valid || puts_q[c];
    end
  end

  assign memory_row_o = row_data_i;
  assign line_data_o  = train_line ? train_lines
                        : act_line_valid ? {N{act_line}} : {N{row_data_i}};

  // ---- Passes
  always_comb begin
    pass_o             = '0;
    pass_o.pass        = opcode == DX ? PassDx : opcode == DW ? PassDw : PassFw;
    pass_o.half        = half_i;
    pass_o.watch       = watch_i;
    pass_o.net         = words_q[8][0];
    pass_o.target      = words_q[8][8];
    pass_o.first_layer = words_q[8][5:4];
    pass_o.last_layer  = words_q[8][5:4];
    pass_o.vectors     = words_q[9][VECTORS_W-1:0];
    pass_o.source      = words_q[10][PLACE_W-1:0];
    pass_o.place       = 1'b1;
    pass_o.sink        = words_q[11][PLACE_W-1:0];
    pass_o.fresh       = 1'b1;
    if (act_pass_valid) pass_o = act_pass;
    else if (trains)    pass_o = train_pass;
  end
  assign pass_valid_o = act_pass_valid || train_pass_valid || (state_q == StPass && !stop);
  assign actions_o    = CountW'(table_o.actions);
  assign clear_o      = state_q == StDrop || state_q == StIdle;

  // ---- Acting
  jd_qat_act #(.Lw (Lw), .Slots (Slots), .ActLines (ActLines)) u_act (
    .clk_i, .rst_ni,
    .idle_o          (act_idle),
    .fetch_i         (act_fetch),
    .choose_i        (act_choose),
    .beside_i        (train_beside),
    .stop_i          (stop),
    .done_o          (act_done),
    .response_o      (act_response),
    .state_i         (train_fetches && train_next ? {next_q[STATE+1][7:0], next_q[STATE]}
                                                  : {words_q[STATE+1][7:0], words_q[STATE]}),
    .action_i        ({words_q[ACTION+1][7:0], words_q[ACTION]}),
    .noisy_i         (words_q[0][8]),
    .half_i, .watch_i,
    .paper_i         (paper),
    .shift_i         (shifts_i[0]),
    .table_i         (table_o),
    .x_line_i        (infers ? '0 : train_act_line),
    .load_read_o     (act_read),
    .load_write_o    (act_write),
    .load_address_o  (act_address),
    .load_rows_o     (act_rows),
    .load_words_o    (act_words),
    .load_done_i,
    .load_response_i,
    .row_valid_i,
    .row_ready_o     (act_row_ready),
    .row_data_i,
    .row_valid_o     (act_row_valid),
    .row_data_o      (act_row),
    .line_valid_o    (act_line_valid),
    .line_ready_i    (line_ready_i && !train_line),
    .seen_o          (act_seen),
    .over_o          (act_over),
    .line_address_o  (act_line_address),
    .line_data_o     (act_line),
    .mu_valid_i, .mu_i,
    .pass_valid_o    (act_pass_valid),
    .pass_ready_i,
    .pass_o          (act_pass),
    .noise_start_o, .noise_ready_i, .noise_valid_o, .noise_data_o, .noise_valid_i, .noise_data_i
  );
  assign trains     = state_q == StTrain;
  assign infers     = state_q inside {StFetch, StChoose};
  assign acts       = infers || act_fetch || act_choose || !act_idle;
  assign act_fetch  = (state_q == StFetch && first_q) || train_fetches;
  assign act_choose = (state_q == StChoose && first_q) || train_chooses;

  // ---- A timestep
  jd_qat_train #(
    .Lw (Lw), .N (N), .Slots (Slots), .ActLines (ActLines), .DelLines (DelLines)
  ) u_train (
    .clk_i, .rst_ni,
    .idle_o           (train_idle),
    .start_i          (trains && first_q),
    .stop_i           (stop),
    .done_o           (train_done),
    .code_o           (train_code),
    .info0_o          (train_info0),
    .info1_o          (train_info1),
    .actor_o          (train_actor),
    .event_o,
    .begun_o          (train_begun),
    .loads_o          (train_loads),
    .words_i          (words_q),
    .next_valid_i     (good_q && !due_next_i),
    .next_i           (next_q),
    .table_i          (table_o),
    .half_i, .watch_i,
    .paper_i          (paper),
    .shift_i          (shifts_i[0]),
    .line_valid_o     (train_line),
    .line_ready_i,
    .line_cores_o     (train_cores),
    .line_delta_o     (train_delta),
    .line_odd_o       (train_odd),
    .line_address_o   (train_address),
    .line_half_o      (train_half),
    .line_data_o      (train_lines),
    .seen_o           (train_seen),
    .over_quantized_o (train_over),
    .slot_read_o      (train_read),
    .slot_address_o   (train_slot),
    .slot_lines_i,
    .pass_valid_o     (train_pass_valid),
    .pass_ready_i,
    .pass_o           (train_pass),
    .sweep_o          (train_sweeps),
    .cores_idle_i, .forward_i, .update_idle_i, .sum_q_o, .sum_td_o, .over_td_o,
    .act_fetch_o      (train_fetches),
    .act_next_o       (train_next),
    .act_choose_o     (train_chooses),
    .act_beside_o     (train_beside),
    .act_line_o       (train_act_line),
    .act_line_valid_i (act_line_valid),
    .act_idle_i       (act_idle),
    .act_done_i       (act_done),
    .act_response_i   (act_response),
    .moved_o          (batch_moved_o),
    .mem_req_o, .mem_rsp_i
  );
  assign seen_o = act_seen || train_seen;
  assign over_o = act_over | train_over;           // one of both stores

  logic transfers, failed, enters, begins, good, ends;     // see the course of a job

  // ---- The optimizer; what is captured, and seeds
  logic [Lw-1:0][WORD_W-1:0] x_q;
  assign sweep_o      = train_sweeps || (enters && state_d == StAdam);
  assign sweep_net_o  = trains ? !train_actor : words_q[8][0];
  assign rate_o       = opcode == TRAIN && !train_actor ? words_q[8][25:0] : words_q[9][25:0];
  assign targets_o    = words_q[0][TARGETS];
  assign capture_o    = (good && opcode == QUANT) || (begins && opcode == TRAIN && due_i);
  assign trained_o    = good && opcode == TRAIN;
  assign begins       = state_q == StCheck && enters && !(state_d inside {StDrop, StEnd});
  assign seed_o       = good && opcode == SEED;
  assign seed_state_o = words_q[11:4];
  assign seed_x_o     = x_q;

  // ---- The course of a job
  logic       updating_q;                         // lines have gone to Adam
  logic       timed_out_q;
  logic [4:0] drop_q;                             // clocks until nothing is under way in the cores
  assign transfers     = state_q inside {StTableRows, StRowsIn, StRowsOut};
  assign failed        = trains ? train_code != '0
                         : infers ? act_response != '0 : transfers && load_response_i != '0;
  assign enters        = state_d != state_q;
  assign ends          = enters && state_d == StEnd;
  assign good          = ends && !failed && !stop && (state_q != StCheck || check_code == '0);
  assign end_valid_o   = state_q == StEnd;
  assign running_o     = state_q != StIdle || next_valid_q || train_loads;
  assign load_stop_o   = stop;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (begins_o) state_d = StCheck;
      StCheck: if (check_done && !ahead_q[CHECK_LATENCY-1]) begin
        if (check_code != '0) begin
          state_d = StEnd;
        end else if (stop) begin
          state_d = StDrop;
        end else begin
          unique case (opcode)
            NET:         state_d = StTableRows;
            LOAD, PUTX:  state_d = StRowsIn;
            STORE, GETX: state_d = StRowsOut;
            INFER:       state_d = StFetch;
            TRAIN:       state_d = StTrain;
            ADAM:        state_d = StAdam;
            QUANT:       state_d = StEnd;
            SEED:        state_d = words_q[0][8] ? StRowsIn : StEnd;
            default:     state_d = StPass;
          endcase
        end
      end
      StTableRows: if (load_done_i) state_d = failed || stop ? StEnd : StTable;
      StTable: if (table_done) state_d = StEnd;
      StRowsIn, StRowsOut: if (load_done_i) state_d = StEnd;
      StPass: if (stop) state_d = StDrop;
              else if (pass_ready_i) state_d = StRun;
      StRun: if (stop) state_d = StDrop;
             else if (cores_idle_i && update_idle_i && !first_q) state_d = StEnd;
      StFetch: if (act_done) begin
        state_d = failed || stop ? StEnd : StChoose;
      end
      StChoose: if (act_done) state_d = stop ? StDrop : StEnd;
      StTrain: if (train_done) state_d = stop ? StDrop : StEnd;
      StAdam: if (stop) state_d = StDrop;
              else if (update_idle_i && !first_q) state_d = StEnd;
      StDrop: begin
        if (cores_idle_i && drop_q == '0 && noise_ready_i && update_idle_i && !train_loads) begin
          state_d = StEnd;
        end
      end
      StEnd: if (end_ready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  assign load_read_o  = acts ? act_read : enters && state_d inside {StTableRows, StRowsIn};
  assign load_write_o = acts ? act_write : enters && state_d == StRowsOut;
  always_comb begin
    load_address_o = {words_q[3][7:0], words_q[2]};
    load_words_o   = ROWS_W'(Lw);
    load_rows_o    = RowsW'(line_count)
                     << (opcode inside {LOAD, STORE} && words_q[8][2:0] == SECOND_REGION);
    if (opcode == NET)  load_rows_o = RowsW'(TableRows);
    if (opcode == SEED) load_rows_o = RowsW'(1);
    if (acts) begin
      load_address_o = act_address;
      load_rows_o    = act_rows;
      load_words_o   = act_words;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q       <= StIdle;
      check_start_q <= 1'b0;
      table_start_q <= 1'b0;
    end else begin
      state_q       <= state_d;
      check_start_q <= state_q == StIdle && state_d == StCheck;
      table_start_q <= state_q == StTableRows && state_d == StTable;
    end
    first_q <= enters;
    drop_q  <= state_q == StDrop ? drop_q - 5'(drop_q != '0) : 5'd24;

    // Where rows come from and go to.
    if (state_q == StCheck) begin
      line_q       <= words_q[9][LINE_W-1:0];
      second_q     <= 1'b0;
      asked_q      <= load_rows_o;
      owed_q       <= '0;
      x_q          <= '0;
      slot_q       <= words_q[10][ADDRESS_W-1:0]
                      + (delta ? ADDRESS_W'(words_q[9][7:1]) * ADDRESS_W'(DelLines)
                               : ADDRESS_W'(words_q[9][7:0]) * ADDRESS_W'(ActLines));
    end else begin
      if (stores || asks) begin
        second_q <= words_q[8][2:0] == SECOND_REGION && !second_q;
        line_q   <= line_q + LINE_W'(words_q[8][2:0] != SECOND_REGION || second_q);
      end
      if (stores || asks) slot_q  <= slot_q + 1'b1;
      if (asks)           asked_q <= asked_q - 1'b1;
      owed_q <= owed_q + 4'(asks) - 4'(queue_taken);
    end
    if (moves_in) x_q <= row_data_i;
    if (state_q == StTableRows && row_valid_i) begin
      table_q <= {row_data_i, table_q[TableRows-1:1]};
    end

    // The end.
    if (state_q == StCheck) begin
      end_error_o  <= check_code;
      end_info0_o  <= check_code != '0 ? check_place : '0;
      end_info1_o  <= '0;
      end_count_o  <= '0;
      timed_out_q  <= 1'b0;
      if (check_code == '0 && !stop) begin
        unique case (opcode)
          LOAD, STORE, PUTX, GETX: end_count_o <= 32'(line_count);
          INFER:                   end_count_o <= 32'd1;
          TRAIN:                   end_count_o <= 32'(words_q[14][15:0]);
          FW, DX, DW:              end_count_o <= words_q[9];
          default:                 end_count_o <= '0;
        endcase
      end
    end
    if (state_q == StTable && table_done && table_code != '0) begin
      end_error_o <= table_code;
      end_info0_o <= table_place;
    end
    if (state_q != StEnd && state_d == StEnd && state_q != StTable) begin
      if (failed) begin
        end_error_o <= trains ? train_code
                       : state_q == StRowsOut || state_q == StChoose ? E_BUS_WR : E_BUS_RD;
        end_info0_o <= trains ? train_info0
                       : !infers ? MEMORY : state_q == StChoose ? ACTION : STATE;
        end_info1_o <= trains ? train_info1 : 32'(infers ? act_response : load_response_i);
        end_count_o <= '0;
      end else if (stop && state_q != StCheck) begin  // a refused job keeps its code
        end_error_o <= E_TIMEOUT;
        end_info0_o <= '0;
        end_info1_o <= '0;
        end_count_o <= '0;
        timed_out_q <= 1'b1;
      end
    end
    if (!rst_ni)                                                  partial_o <= 1'b0;
    else if (ends && !good && updating_q)                         partial_o <= 1'b1;
    else if (good && opcode == LOAD && words_q[8][2:0] == '0) partial_o <= 1'b0;
    updating_q <= state_q != StIdle && (updating_q || updates_i);
    if (!rst_ni)                count_o <= '0;
    else if (trains && first_q) count_o <= 32'(words_q[14][15:0]);
  end
  assign end_detail_o = timed_out_q ? '0 : {14'd0, partial_o, half_i};
  logic unused;
  assign unused = ^{unused_count, train_idle};

  `JD_ASSERT_IF(UpdateOver_A, state_q == StIdle, update_idle_i)
  `JD_ASSERT_IF(QueueRoom_A, show_valid && state_q == StRowsOut, queue_room)
endmodule : jd_qat_job
