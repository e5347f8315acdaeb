// SPDX-License-Identifier: Apache-2.0
//
// The instruction scheduler: takes a program, checks its instructions, queues them for their units,
// and starts them when semaphores, operands and results allow it.
//
//   beats -> check -> eight queues -> heads -> start -> unit -> end -> semaphores
//
// Streams  start_i: a RUN of count_i instructions, while busy_o is low. beat_*: the program, two
//          instructions each; a beat that comes while none is wanted is dropped. done_o: high for one
//          clock at the end, when all units rest, with code_o (0: none), at_o, response_o, ended_o.
//          unit_start_o: high for one clock for one unit, with instruction_o and what stands beside
//          it; only while unit_ready_i. The VPU is a stream, whose start stays until unit_ready_i, as
//          op_* do. unit_done_i: an end, of each unit in order, with the code of an error.
// Timing   An instruction is dispatched in 8 clocks. One starts in 5 clocks at most; from an end to a
//          start that waits for it, 7 clocks.
// Numbers  At the first error nothing more starts. If none is started, runs or can start, and the
//          program does not go on, that is one, too.
// Source   LearningGroup III (instruction scheduler); docs/sparse.md (programs). Golden model:
//          models/sparse/program.py.
`include "jd_assert.svh"
module jd_sparse_sched
  import jd_sparse_pkg::*;
  import jd_sparse_map_pkg::E_PLAN, jd_sparse_map_pkg::E_DEADLOCK,
         jd_sparse_map_pkg::E_SEMAPHORE, jd_sparse_map_pkg::E_PROGRAM;
  import jd_engine_header_map_pkg::E_BUS_RD;
#(
  parameter int unsigned Cores = 3,              // 1..3
  parameter int unsigned DMax  = 512,            // rows or columns, 8..512
  parameter int unsigned XRows = 8192,           // 16..8192
  parameter int unsigned YRows = 8192,           // 16..8192
  parameter int unsigned ARows = 65536           // 16..65536
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clear_i,            // what is under way is dropped
  // The RUN
  input  logic                    start_i,
  input  logic [15:0]             count_i,            // 1..
  output logic                    busy_o,
  output logic                    done_o,
  output logic [7:0]              code_o,
  output logic                    fetch_error_o,      // E_BUS_RD is of the program
  output logic [15:0]             at_o,               // the instruction at fault
  output logic [1:0]              response_o,         // of the bus, for ERR_INFO1
  output logic [15:0]             ended_o,            // instructions that ended
  // The program
  input  logic                    beat_valid_i,
  output logic                    beat_ready_o,
  input  logic [LINE_W-1:0]       beat_i,
  input  logic [1:0]              beat_response_i,    // not 0: it was not read
  // Network and registers, which do not change during a RUN
  input  layer_t [LAYERS-1:0]     layers_i,
  input  logic [3:0]              layer_count_i,
  input  logic [7:0]              agents_i,
  input  logic [15:0]             episodes_i,
  // Layers
  input  logic [LAYERS-1:0]       forget_i,           // LOAD; all of them: CONFIG, reset
  output logic [LAYERS-1:0]       planned_o,          // have a plan
  // Units
  input  logic [UNITS-1:0]        unit_ready_i,
  output logic [UNITS-1:0]        unit_start_o,
  input  logic [UNITS-1:0]        unit_done_i,
  input  logic [7:0]              dma_code_i,         // with its done: 0, E_BUS_RD, E_BUS_WR
  input  logic [1:0]              dma_response_i,
  input  logic                    plan_failed_i,      // with LAU's done
  output instruction_t            instruction_o,      // of all units but the VPU
  output logic [CORES-1:0][VECTORS_W-1:0] vectors_o,  // of each core from tile 0 on
  output logic                    fill_set_o,
  output logic                    elem_set_o,
  output logic                    elem_dx_o,          // the results are those of a DX
  output operation_t              op_o,               // of the VPU
  output logic [CORES-1:0][TILES_W-1:0] op_tiles_o,
  // Counters
  output logic [3:0]              stage_busy_o,       // an instruction of the stage runs
  output logic [UNITS-1:0]        unit_busy_o,        // a unit has an instruction
  output logic                    stall_in_o          // no operation runs, and the next one waits
);
  localparam int unsigned UnitW  = $clog2(UNITS);
  localparam int unsigned EntryW = $bits(entry_t);
  localparam int unsigned HeadW  = SEMAPHORES + 2;    // waits, and bits 1:0 of the op
  localparam int unsigned QUIET  = 4;                 // clocks in which a start shows, or more

  typedef struct packed {
    logic        valid;
    logic [7:0]  code;
    logic [15:0] at;
    logic [1:0]  response;
    logic        fetch;
  } error_t;
  logic   run_q, finish;
  error_t error_q, fetch_error, check_error, start_error, end_error, dead_error, error_d;
  logic   rst_n;                                      // of a RUN
  assign rst_n  = rst_ni && !clear_i && run_q;
  assign busy_o = run_q;

  // ---- Check: two instructions of a beat
  episodes_t   episodes;
  logic        episodes_ready, fetching, in_valid, in_ready, second_q, last_in;
  logic [15:0] fetched_q, last_q;                     // the next instruction, the last one
  logic        all_in_q;
  jd_sparse_episodes #(.Cores (Cores)) u_episodes (
    .clk_i, .rst_ni, .start_i, .agents_i, .episodes_i,
    .ready_o    (episodes_ready),
    .episodes_o (episodes)
  );
  assign fetching     = run_q && episodes_ready && !all_in_q && !error_q.valid;
  assign in_valid     = fetching && beat_valid_i && beat_response_i == '0;
  assign last_in      = fetched_q == last_q;
  assign beat_ready_o = !run_q || all_in_q || error_q.valid
                        || (in_valid && in_ready && (second_q || last_in));
  assign fetch_error  = '{valid: fetching && beat_valid_i && beat_response_i != '0, code: E_BUS_RD,
                          at: '0, response: beat_response_i, fetch: 1'b1};
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      fetched_q <= '0;
      second_q  <= 1'b0;
      all_in_q  <= 1'b0;
    end else if (in_valid && in_ready) begin
      fetched_q <= fetched_q + 1'b1;
      second_q  <= !second_q;
      all_in_q  <= last_in;
    end
    if (start_i) last_q <= count_i - 1'b1;
  end
  logic       checked, dispatched;
  logic [7:0] check_code;
  entry_t     checked_entry;
  jd_sparse_instruction #(
    .Cores (Cores), .DMax (DMax), .XRows (XRows), .YRows (YRows), .ARows (ARows)
  ) u_instruction (
    .clk_i, .rst_ni,
    .clear_i     (!rst_n || error_q.valid),
    .layers_i, .layer_count_i,
    .episodes_i  (episodes),
    .in_valid_i  (in_valid),
    .in_ready_o  (in_ready),
    .in_words_i  (beat_i[32*8*second_q +: 32*8]),
    .in_at_i     (fetched_q),
    .out_valid_o (checked),
    .out_ready_i (dispatched),
    .out_code_o  (check_code),
    .out_entry_o (checked_entry)
  );

  // ---- Dispatch
  logic [UNITS-1:0]       full, waits;                // queues; those that have an instruction
  logic [UNITS*HeadW-1:0] heads;
  logic [UnitW-1:0]       to, pick_q, read_queue;
  logic                   is_end, is_last, blocked, push, ended_q, read, starts;
  logic [EntryW-1:0]      word;
  assign to         = UnitW'(checked_entry.op[7:4] - 1'b1);
  assign is_end     = checked_entry.op == END;
  assign is_last    = checked_entry.at == last_q;
  assign blocked    = checked && check_code == '0 && !is_end && full[to];
  assign dispatched = checked && !blocked;
  assign push       = dispatched && check_code == '0 && !is_end;
  assign check_error = '{
    valid: dispatched && (check_code != '0 || is_end != is_last),
    code: check_code != '0 ? check_code : E_PROGRAM, at: checked_entry.at, response: '0, fetch: '0
  };
  always_ff @(posedge clk_i) begin
    if (!rst_n)                                                ended_q <= 1'b0;   // END is reached
    else if (dispatched && check_code == '0 && is_end && is_last) ended_q <= 1'b1;
  end
  jd_sparse_queues #(.Queues (UNITS), .Depth (QUEUE), .Width (EntryW), .HeadW (HeadW)) u_queues (
    .clk_i, .rst_ni,
    .clear_i      (!rst_n),
    .push_i       (push),
    .push_queue_i (to),
    .push_word_i  (checked_entry),
    .push_head_i  ({checked_entry.op[1:0], checked_entry.waits}),
    .full_o       (full),
    .valid_o      (waits),
    .heads_o      (heads),
    .read_i       (read),
    .read_queue_i (read_queue),
    .word_o       (word),
    .pop_i        (starts),
    .pop_queue_i  (pick_q)
  );

  // ---- Start: find a head that can, look at it, judge it, start it; or look through all heads for
  // the first instruction
  typedef enum logic [2:0] {StFind, StLook, StJudge, StStart, StScan, StSeen} state_e;
  state_e                state_q;
  logic [SEMAPHORES-1:0] above;
  logic [UNITS-1:0]      operands, could_d, could_q, can_q;  // could: but for its unit
  logic [UNITS-1:0]      runs_q;                      // units that have an instruction
  logic                  launch_q;                    // a VPU operation waits for the array
  logic [UnitW-1:0]      first;
  entry_t                looked, entry_q;
  layer_t                layer_q;
  logic [7:0]            code, code_q;
  logic                  stuck, stale, ends;          // one ended well
  running_t              ends_q;
  logic                  x_room, y_room, r_room, x_there, y_there, r_there;
  operation_t            operation;
  function automatic logic [1:0] kind(input logic [UNITS*HeadW-1:0] all, input unit_e unit);
    return all[unit*HeadW+SEMAPHORES +: 2];
  endfunction
  always_comb begin
    operands           = '1;
    operands[UnitFill] = kind(heads, UnitFill) == FX[1:0] ? x_room : y_room;
    operands[UnitVpu]  = x_there && (kind(heads, UnitVpu) == DW[1:0] ? y_there : r_room);
    operands[UnitElem] = kind(heads, UnitElem) == LSTMB[1:0] || r_there;
    first              = '0;
    for (int k = UNITS - 1; k >= 0; k--) if (can_q[k]) first = UnitW'(k);
    for (int unsigned k = 0; k < UNITS; k++) begin
      could_d[k] = state_q == StFind && waits[k] && operands[k]
                   && (heads[k*HeadW +: SEMAPHORES] & ~above) == '0;
    end
  end
  assign read       = state_q == StFind || state_q == StScan;
  assign read_queue = state_q == StFind ? first : pick_q;
  assign looked     = word;
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      state_q <= StFind;
      could_q <= '0;
      can_q   <= '0;
    end else begin
      could_q        <= could_d;
      can_q          <= could_d & unit_ready_i & ~runs_q;
      can_q[UnitVpu] <= could_d[UnitVpu] && !launch_q;
      unique case (state_q)
        StFind: begin
          if (error_q.valid)     state_q <= StFind;
          else if (can_q != '0)  state_q <= StLook;
          else if (stuck)        state_q <= StScan;
        end
        StLook:  state_q <= StJudge;
        StJudge: state_q <= StStart;
        StScan:  state_q <= StSeen;
        StSeen:  state_q <= (pick_q == UnitW'(UNITS - 1)) ? StFind : StScan;
        default: state_q <= StFind;
      endcase
    end
    if (state_q == StFind) pick_q <= first;             // 0 if none can
    if (state_q == StSeen) pick_q <= pick_q + 1'b1;
    if (state_q == StLook) begin
      entry_q <= looked;
      layer_q <= layers_i[looked.number];
    end
    if (state_q == StJudge) code_q <= code;
  end
  assign starts      = state_q == StStart && code_q == '0 && !error_q.valid && rst_n;
  assign start_error = '{valid: state_q == StStart && code_q != '0, code: code_q, at: entry_q.at,
                         response: '0, fetch: '0};
  assign instruction_o = '{
    op: entry_q.op, flags: entry_q.flags, number: entry_q.number, layer: layer_q,
    tiles: entry_q.tiles, a: entry_q.a, b: entry_q.b, d: entry_q.d, address: entry_q.address,
    value: entry_q.value, neurons: entry_q.neurons
  };

  // ---- What there is: of layers, of operands and results
  jd_sparse_stale u_stale (
    .clk_i, .rst_ni, .forget_i,
    .op_i     (entry_q.op),
    .flags_i  (entry_q.flags),
    .number_i (entry_q.number),
    .stale_o  (stale),
    .start_i  (starts),
    .end_i    (ends),
    .ended_i  (ends_q),
    .planned_o
  );
  jd_sparse_operands u_operands (
    .clk_i, .rst_ni,
    .clear_i     (!rst_n),
    .entry_i     (entry_q),
    .layer_i     (layer_q),
    .stale_i     (stale),
    .code_o      (code),
    .start_i     (starts),
    .end_i       (ends),
    .ended_i     (ends_q),
    .x_room_o    (x_room),
    .y_room_o    (y_room),
    .r_room_o    (r_room),
    .x_there_o   (x_there),
    .y_there_o   (y_there),
    .r_there_o   (r_there),
    .fill_set_o, .elem_set_o, .elem_dx_o,
    .operation_o (operation)
  );

  // ---- To the units
  assign vectors_o  = entry_q.flags.row ? {CORES{episodes.all}} : episodes.cores;
  always_comb begin
    unit_start_o          = starts ? UNITS'(1) << pick_q : '0;
    unit_start_o[UnitVpu] = launch_q;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) launch_q <= 1'b0;
    else        launch_q <= (starts && pick_q == UnitVpu) || (launch_q && !unit_ready_i[UnitVpu]);
    if (starts && pick_q == UnitVpu) begin
      op_o       <= operation;
      op_tiles_o <= entry_q.tiles;
    end
  end

  // ---- Ends: those that are told of, the one that is taken, its consequences
  running_t [UNITS-1:0] runs_of_q;                    // the oldest of each unit
  running_t             second_of_q, started;         // the VPU may have one more
  logic                 second_runs_q, over_more_q;
  logic [UNITS-1:0]     over_q, take_end;
  logic [UnitW-1:0]     end_unit;
  logic                 end_valid_q, plan_failed_q;
  logic [7:0]           dma_code_q, end_code_q;
  logic [1:0]           dma_response_q, end_response_q;
  logic                 sum_over;
  assign started = '{at: entry_q.at, stage: entry_q.stage, posts: entry_q.posts, op: entry_q.op,
                     row: entry_q.flags.row, number: entry_q.number};
  always_comb begin
    end_unit = '0;
    for (int k = UNITS - 1; k >= 0; k--) if (over_q[k]) end_unit = UnitW'(k);
    take_end = over_q & (~over_q + 1'b1);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      runs_q        <= '0;
      over_q        <= '0;
      second_runs_q <= 1'b0;
      over_more_q   <= 1'b0;
      end_valid_q   <= 1'b0;
    end else begin
      runs_q        <= (runs_q & ~take_end) | (starts ? UNITS'(1) << pick_q : '0);
      over_q        <= (over_q & ~take_end) | unit_done_i;
      end_valid_q   <= over_q != '0;
      // The VPU's second one moves up. Its end may be told of before the first one's is taken.
      second_runs_q <= (second_runs_q && !take_end[UnitVpu])
                       || (starts && pick_q == UnitVpu && runs_q[UnitVpu] && !take_end[UnitVpu]);
      over_more_q   <= over_q[UnitVpu] && !take_end[UnitVpu]
                       && (over_more_q || unit_done_i[UnitVpu]);
      if (second_runs_q && take_end[UnitVpu]) runs_q[UnitVpu] <= 1'b1;
      if (over_more_q && take_end[UnitVpu])   over_q[UnitVpu] <= 1'b1;
    end
    for (int unsigned k = 0; k < UNITS; k++) begin
      if (starts && pick_q == UnitW'(k)) runs_of_q[k] <= started;
    end
    if (starts && pick_q == UnitVpu && runs_q[UnitVpu] && !take_end[UnitVpu]) begin
      runs_of_q[UnitVpu] <= runs_of_q[UnitVpu];
    end
    if (take_end[UnitVpu] && second_runs_q) runs_of_q[UnitVpu] <= second_of_q;
    if (starts && pick_q == UnitVpu) second_of_q <= started;
    if (unit_done_i[UnitDma]) {dma_code_q, dma_response_q} <= {dma_code_i, dma_response_i};
    if (unit_done_i[UnitLau]) plan_failed_q <= plan_failed_i;
    ends_q         <= runs_of_q[end_unit];
    end_code_q     <= end_unit == UnitDma ? dma_code_q
                      : (end_unit == UnitLau && plan_failed_q) ? E_PLAN : '0;
    end_response_q <= end_unit == UnitDma && dma_code_q != '0 ? dma_response_q : '0;
  end
  assign ends      = end_valid_q && end_code_q == '0;
  assign end_error = '{valid: end_valid_q && (end_code_q != '0 || sum_over),
                       code: end_code_q != '0 ? end_code_q : E_SEMAPHORE, at: ends_q.at,
                       response: end_response_q, fetch: '0};
  jd_sparse_semaphores #(.Count (SEMAPHORES)) u_semaphores (
    .clk_i, .rst_ni,
    .clear_i (!rst_n),
    .take_i  (starts ? entry_q.waits : '0),
    .post_i  (ends ? ends_q.posts : '0),
    .above_o (above),
    .over_o  (sum_over)
  );

  // ---- The end of the RUN
  logic        rests;
  logic [2:0]  quiet_q;
  logic [15:0] least_q;
  assign rests = state_q == StFind && runs_q == '0 && !end_valid_q;
  assign stuck = quiet_q == 3'(QUIET);
  assign finish = run_q && rests && (error_q.valid || (ended_q && waits == '0));
  assign dead_error = '{valid: state_q == StSeen && pick_q == UnitW'(UNITS - 1), code: E_DEADLOCK,
                        at: waits[pick_q] && looked.at < least_q ? looked.at : least_q,
                        response: '0, fetch: '0};
  always_comb begin
    error_d = end_error.valid     ? end_error
              : start_error.valid ? start_error
              : check_error.valid ? check_error
              : fetch_error.valid ? fetch_error : dead_error;
    if (error_q.valid) error_d = error_q;
  end
  always_ff @(posedge clk_i) begin
    done_o <= finish && rst_n;
    if (!rst_ni || clear_i) run_q <= 1'b0;
    else if (start_i)       run_q <= 1'b1;
    else if (finish)        run_q <= 1'b0;
    if (!rst_n) error_q.valid <= 1'b0;
    else        error_q       <= error_d;
    if (!rst_n) quiet_q <= '0;
    else if (!rests || could_q != '0 || !(ended_q || blocked)) quiet_q <= '0;
    else if (!stuck) quiet_q <= quiet_q + 1'b1;
    if (state_q == StFind) least_q <= '1;
    else if (state_q == StSeen && waits[pick_q] && looked.at < least_q) least_q <= looked.at;
    if (!rst_ni || start_i) ended_o <= '0;
    else if (ends || (finish && !error_q.valid)) ended_o <= ended_o + 1'b1;
    if (finish) begin
      code_o        <= error_q.valid ? error_q.code : '0;
      fetch_error_o <= error_q.valid && error_q.fetch;
      at_o          <= error_q.at;
      response_o    <= error_q.response;
    end
  end

  // ---- Counters
  always_comb begin
    stage_busy_o = '0;
    for (int unsigned k = 0; k < UNITS; k++) begin
      if (runs_q[k]) stage_busy_o[runs_of_q[k].stage] = 1'b1;
    end
    if (second_runs_q) stage_busy_o[second_of_q.stage] = 1'b1;
  end
  assign unit_busy_o = runs_q;
  assign stall_in_o  = waits[UnitVpu] && !runs_q[UnitVpu];

  `JD_ASSUME_IF(StartWhenIdle_M, start_i, !busy_o && count_i != '0)
  `JD_ASSUME_IF(DoneWhenItRuns_M, rst_n, (unit_done_i & ~runs_q) == '0)
  `JD_ASSUME_IF(DoneOnce_M, rst_n, ((unit_done_i & over_q) & ~(UNITS'(1) << UnitVpu)) == '0)
  `JD_ASSERT_IF(LaunchRuns_A, launch_q && rst_n, runs_q[UnitVpu])
  `JD_ASSERT_IF(StartWaitsForUnit_A, starts && pick_q != UnitVpu, !runs_q[pick_q])
endmodule : jd_sparse_sched
