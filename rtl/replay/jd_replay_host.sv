// SPDX-License-Identifier: Apache-2.0
//
// Ring 1: runs all jobs but sampling ones. Turns array elements into operations, checks each before
// it enters the tree and writes the responses.
//
// Streams  job_*, end_*: of jd_engine_control. item_*: elements of the input array. op_*, sample_*:
//          to the sequencer. word_*: responses, to memory.
// Timing   one operation per clock, two clocks after its element at the earliest; a SAMPLE of a STREAM
//          job waits until nothing else of the job is in flight, and what follows it waits for it,
//          so that all take effect in order.
// Numbers  UPDATE_DELTA of a pair is signed 32 bits.
// Source   onchip_replay 2.1.2. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_host
  import jd_replay_pkg::*;
  import jd_replay_map_pkg::*;
  import jd_replay_job_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_engine_header_map_pkg::E_BUS_WR;
  import jd_engine_header_map_pkg::E_OPCODE;
  import jd_engine_header_map_pkg::E_RESERVED;
  import jd_engine_header_map_pkg::E_TIMEOUT;
#(
  parameter int unsigned NLog2 = 16,     // log2 of the most leaves, 2..20
  parameter int unsigned LeafW = 32      // bits of a leaf, 8..32
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               soft_reset_i,
  input  logic               job_valid_i,
  output logic               job_ready_o,
  input  logic [511:0]       job_descriptor_i,
  input  logic               timeout_i,
  output logic               end_valid_o,
  input  logic               end_ready_i,
  output logic [7:0]         end_error_o,
  output logic [31:0]        end_count_o,
  output logic [31:0]        end_info0_o,
  output logic [31:0]        end_info1_o,
  output logic               busy_o,            // a job is in hand
  output logic               fetching_o,        // it waits for batches to be fetched
  // Clear, check.
  input  logic               training_busy_i,   // ring 0 has a job
  input  logic               quiet_i,           // nothing in the lanes and the tree
  output logic               hold_o,            // level: let nothing else begin
  output logic               clear_o,           // pulse
  output logic               check_start_o,     // pulse: the operations of a CHECK follow
  input  logic               check_bad_i,       // what it found, when all is quiet again
  input  logic [31:0]        check_node_i,
  input  logic [31:0]        config_leaves_i,
  input  logic [31:0]        config_pmin_i,
  input  logic [31:0]        config_pclip_i,
  input  logic [31:0]        config_pinit_i,
  // State.
  input  logic [INDEX_W:0]   leaves_i,
  input  logic [INDEX_W-1:0] pointer_i,
  input  logic [INDEX_W:0]   reserved_i,
  input  logic               last_valid_i,      // the batch that was sampled last
  input  logic [BATCH_W-1:0] last_batch_i,
  input  logic [PLACE_W-1:0] last_place_i,
  input  logic [SLOT_W:0]    last_size_i,
  output logic               mark_o,            // remember the batches to be fetched
  input  logic               fetched_i,         // they are
  // Input.
  output logic               read_start_o,
  output logic               read_abort_o,
  output logic [39:0]        read_address_o,
  output logic [COUNT_W-1:0] read_count_o,
  output logic [2:0]         read_size_log2_o,
  input  logic               item_valid_i,
  output logic               item_ready_o,
  input  logic [127:0]       item_data_i,
  input  logic               read_error_i,
  input  logic [1:0]         read_response_i,
  input  logic               read_idle_i,
  // Operations and their responses.
  output logic               sample_valid_o,
  input  logic               sample_ready_i,
  output sample_request_t    sample_request_o,
  input  logic               sampled_i,
  input  sample_response_t   sample_response_i,
  output logic               op_valid_o,
  input  logic               op_ready_i,
  output lane_op_t           op_o,
  input  logic               updated_i,
  input  update_response_t   update_response_i,
  // Output.
  output logic               write_start_o,
  output logic [39:0]        write_address_o,
  output logic               write_flush_o,
  output logic               write_abort_o,   // after a time-out
  output logic               word_valid_o,
  input  logic               word_ready_i,
  output logic [127:0]       word_data_o,
  input  logic               write_error_i,
  input  logic [1:0]         write_response_i,
  input  logic               write_idle_i
);
  localparam int unsigned DEPTH  = 64;     // responses on their way to memory
  localparam int unsigned CountW = $clog2(DEPTH + 1);
  localparam logic [31:0] LEAF_LARGEST = 32'((64'd1 << LeafW) - 64'd1);

  typedef enum logic [3:0] {
    StIdle, StCheck, StStart, StWait, StClear, StClearing, StRun, StDrain, StFetch, StEnd
  } state_e;
  state_e state_q;
  logic   run_q, drain_q;              // state_q is StRun, StDrain

  logic [511:0] descriptor_q;
  checks_t      checks_q;              // of it
  logic [7:0]   error_q;
  logic         starts;                // the job is in order
  logic         cleared_q;             // there are leaves
  job_t         job;
  assign job = job_of(descriptor_q);

  // What the job is, from StStart on.
  op_e  kind_q;                        // operation of its elements, but for streams
  logic reads_q, stream_q, delta_q, clear_q, check_q;
  logic whole_q;                       // clear_q or check_q: nothing else may be in the tree
  op_e  kind;
  always_comb begin
    case (job.kind)
      JobRetrieve:    kind = OpRetrieve;
      JobUpdate:      kind = job.flags.by_slot ? OpUpdateSlot : OpUpdate;
      JobUpdateDelta: kind = OpUpdateDelta;
      JobInsert:      kind = OpInsert;
      JobReserve:     kind = OpReserve;
      JobCheck:       kind = OpCheck;
      default:        kind = OpCommit;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StCheck) begin
      kind_q   <= kind;
      reads_q  <= job_reads(job);
      stream_q <= job.kind == JobStream;
      delta_q  <= job.kind == JobUpdateDelta;
      clear_q  <= job.kind == JobClear;
      check_q  <= job.kind == JobCheck;
      whole_q  <= job.kind inside {JobClear, JobCheck};
    end
  end

  // ---- The descriptor
  logic [7:0]  bad;
  logic [31:0] pclip;
  logic        bad_config_q, unfit;
  assign pclip      = (64'(config_pclip_i) >> LeafW) != '0 ? LEAF_LARGEST : config_pclip_i;
  // Words that are written only while the engine is idle, long before the job.
  always_ff @(posedge clk_i) begin
    bad_config_q <= config_leaves_i == '0 || config_leaves_i > (32'd1 << NLog2) ||
                    config_pinit_i == '0 || (64'(config_pinit_i) >> LeafW) != '0 ||
                    config_pmin_i > pclip;
  end
  assign bad   = job_error(checks_q, cleared_q);                  // taken in StCheck
  assign unfit = (whole_q && training_busy_i) || (clear_q && bad_config_q);    // in StStart

  // ---- The next operation, and what is wrong with it by itself
  typedef struct packed {
    lane_op_t    op;
    logic        host_x;
    logic        fine;                 // nothing is, but perhaps
    logic        outside;              // no leaf has that index
    logic [7:0]  error;                // why it may not enter, if it is not fine
    logic [31:0] error_index;
    logic        beyond;               // no batch has so many slots
    logic        sample, slot, insert, commit, reserve;   // what has to be looked at in its turn
  } next_t;
  next_t       made, queued, next;
  logic [COUNT_W-1:0] left_q;          // operations that are not made yet
  logic               more_q;          // not 0
  logic [31:0] word0, word1;
  logic        outside0, outside1;     // no leaf has the index that they are
  assign word0 = item_data_i[31:0];
  assign word1 = item_data_i[63:32];
  always_comb begin
    made             = '0;
    made.op.op       = kind_q;
    made.op.host     = 1'b1;
    made.op.use_pmax = job.flags.use_pmax;
    made.op.fp32     = job.flags.fp32 && !job.flags.use_pmax;
    made.op.index    = word0[INDEX_W-1:0];
    made.op.value    = {{32{word1[31] && delta_q}}, word1};
    made.error_index = word0;
    if (check_q) made.op.index = INDEX_W'(NLog2'(-left_q));   // 0, 1, ...
    if (stream_q) begin
      made.op.op       = op_e'(word0[3:0]);
      made.op.fp32     = word0[4] && !word0[5];
      made.op.use_pmax = word0[5];
      made.op.tag      = word0[23:8];
      made.op.index    = word1[INDEX_W-1:0];
      made.op.value    = item_data_i[127:64];
      made.host_x      = word0[6];
      made.error_index = word1;
      if (made.op.op == OpUpdateSlot) made.op.index = INDEX_W'(word0[23:8]);
      if (word0[3:0] > OpCommit) made.error = E_OPCODE;
      else if (word0[31:24] != '0 || word0[7]) made.error = E_RESERVED;
      else if ((word0[4] && !(made.op.op inside {OpUpdate, OpUpdateSlot, OpInsert, OpCommit})) ||
               (word0[5] && !(made.op.op inside {OpInsert, OpCommit})) ||
               (word0[6] && made.op.op != OpSample)) made.error = E_OPCODE;
      else if (made.op.op == OpUpdateSlot) made.error_index = 32'(word0[23:8]);
    end
    made.sample  = stream_q && made.op.op == OpSample;
    made.slot    = made.op.op == OpUpdateSlot;
    made.insert  = made.op.op == OpInsert;
    made.commit  = made.op.op == OpCommit;
    made.reserve = made.op.op == OpReserve;
    made.beyond  = stream_q ? word0[23:8+SLOT_W] != '0 : word0[31:SLOT_W] != '0;
    outside0     = word0[31:INDEX_W+1] != '0 || word0[INDEX_W:0] >= leaves_i;
    outside1     = word1[31:INDEX_W+1] != '0 || word1[INDEX_W:0] >= leaves_i;
    made.outside = made.op.op inside {OpRetrieve, OpUpdate, OpUpdateDelta} &&
                   (stream_q ? outside1 : outside0);
    made.fine    = made.error == '0;
  end

  logic               checks;          // a CHECK begins
  logic               offered, room, queued_valid, enter, next_valid, issue;
  assign offered      = more_q && (!reads_q || item_valid_i);
  assign item_ready_o = more_q && reads_q && room;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      more_q <= 1'b0;
    end else if (state_q == StStart) begin
      more_q <= starts && !whole_q;
    end else if (checks) begin
      more_q <= 1'b1;
    end else if (read_abort_o) begin
      more_q <= 1'b0;
    end else if (offered && room) begin
      more_q <= left_q != COUNT_W'(1);
    end
    if (state_q == StStart) left_q <= check_q ? COUNT_W'(1 << NLog2) : job.count;
    else if (offered && room) left_q <= left_q - 1'b1;
  end

  jd_stream_skid #(
    .Width($bits(next_t))
  ) u_next (
    .clk_i,
    .rst_ni,
    .clear_i     (read_abort_o),
    .in_valid_i  (offered),
    .in_ready_o  (room),
    .in_data_i   (made),
    .out_valid_o (queued_valid),
    .out_ready_i (enter),
    .out_data_o  (queued)
  );

  // The operation in its turn. Whether it fits is known with it: nothing is wrong with it by itself,
  // and the batch sampled last, as it was one clock before, has the slot that it names.
  logic               fits_q;
  logic [BATCH_W-1:0] last_batch_q;
  logic [PLACE_W-1:0] last_place_q;
  logic               queued_slot, next_slot, queued_fits, next_fits;
  assign queued_slot = last_valid_i && !queued.beyond &&
                       {1'b0, queued.error_index[SLOT_W-1:0]} < last_size_i;
  assign next_slot   = last_valid_i && !next.beyond &&
                       {1'b0, next.error_index[SLOT_W-1:0]} < last_size_i;
  assign queued_fits = queued.fine && !queued.outside && (!queued.slot || queued_slot);
  assign next_fits   = next.fine && !next.outside && (!next.slot || next_slot);
  assign enter = !next_valid || issue;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || read_abort_o) next_valid <= 1'b0;
    else if (enter)              next_valid <= queued_valid;
    if (enter) next <= queued;
    fits_q       <= enter ? queued_fits : next_fits;
    last_batch_q <= last_batch_i;
    last_place_q <= last_place_i;
  end

  // ---- Issue
  logic [CountW-1:0]  flight_q;        // operations without a response
  logic               alone_q;         // there is none
  logic [COUNT_W-1:0] back_q;
  logic [INDEX_W:0]   reserved_q;      // as the tree's, after what was issued
  logic               some_q, full_q;  // it is not 0, it is half of the leaves
  logic [INDEX_W:0]   half_q;
  logic               sampling_q;      // a sample of this ring is in flight
  logic               room_q;          // for one response more
  logic [CountW-1:0]  word_count;
  logic               may, bad_tree, right, refuse, stop;
  logic               reserves, commits;   // an operation that is issued does
  logic               refuse_q;        // the next operation is not right
  logic               sample_q;        // it is a sample and may enter
  assign bad_tree       = (next.insert && some_q) || (next.commit && !some_q) ||
                          (next.reserve && full_q);
  assign right          = fits_q && !bad_tree;
  assign may            = run_q && next_valid && !sampling_q && !refuse_q && room_q;
  assign op_valid_o     = may && !next.sample && right;
  assign sample_valid_o = run_q && sample_q;
  assign issue          = (op_valid_o && op_ready_i) || (sample_valid_o && sample_ready_i);
  assign reserves       = may && op_ready_i && next.reserve && fits_q && !full_q;
  assign commits        = may && op_ready_i && next.commit && fits_q && some_q;
  assign refuse         = run_q && refuse_q;
  // What is not right, or a sample, waits at the head: it is looked at one clock later.
  always_ff @(posedge clk_i) begin
    refuse_q <= run_q && next_valid && !sampling_q && !right;
    sample_q <= may && next.sample && fits_q && alone_q &&
                !(sample_valid_o && sample_ready_i);
  end
  assign stop           = soft_reset_i || timeout_i;
  always_comb begin
    op_o                    = next.op;
    op_o.batch              = last_batch_q;
    if (next.slot) op_o.index = INDEX_W'(last_place_q + PLACE_W'(next.op.index[SLOT_W-1:0]));
    sample_request_o        = '0;
    sample_request_o.tag    = {16'h8000, next.op.tag};
    sample_request_o.host_x = next.host_x;
    sample_request_o.x      = next.op.value[X_W-1:0];
  end

  // All were issued; the next element cannot be read.
  logic all_issued, broken, leave;
  assign all_issued = !more_q && !queued_valid && !next_valid;
  assign broken     = reads_q && more_q && read_error_i && !item_valid_i && !queued_valid &&
                      !next_valid && !sampling_q;

  // ---- Responses
  response_t response;
  logic      empty, respond, word_room;
  logic      empty_q;                  // it ends the job; till then it counts as in flight
  logic      stored_q;                 // word_count is 0
  host_tag_t sample_tag, update_tag;
  assign sample_tag = sample_response_i.tag;
  assign update_tag = update_response_i.tag;
  assign empty      = sampled_i && sample_response_i.empty;
  assign respond    = updated_i || (sampled_i && !empty);
  always_comb begin
    response = '{status: '0, op: 8'(update_response_i.op), tag: update_tag.tag,
                 extra: update_response_i.old, priority_: update_response_i.priority_,
                 index: 32'(update_response_i.index)};
    if (update_response_i.op == OpNop) response = '{tag: update_tag.tag, default: '0};
    if (sampled_i) begin
      response = '{status: '0, op: 8'(OpSample), tag: sample_tag.tag, extra: ONE,
                   priority_: sample_response_i.priority_, index: sample_response_i.index};
    end
  end

  jd_stream_fifo #(
    .Width(128),
    .Depth(DEPTH)
  ) u_words (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (respond && job.flags.to_memory),
    .in_ready_o  (word_room),
    .in_data_i   (response),
    .out_valid_o (word_valid_o),
    .out_ready_i (word_ready_i),
    .out_data_o  (word_data_o),
    .count_o     (word_count)
  );

  // ---- The job
  logic drained_q, drained;            // so once it drains, it stays so
  logic quiet_q;                       // a check is through the tree
  assign drained = drained_q && (quiet_q || !check_q);
  logic [31:0] count_q, info0_q, info1_q;
  assign leave            = stop || refuse || empty_q || (all_issued && !sampling_q) || broken;
  assign job_ready_o      = state_q == StIdle && !soft_reset_i;
  assign busy_o           = state_q != StIdle;
  assign fetching_o       = state_q == StFetch;
  assign hold_o           = (state_q == StStart && whole_q) ||
                            state_q inside {StWait, StClear, StClearing} ||
                            (check_q && (run_q || drain_q));
  assign clear_o          = state_q == StClear;
  assign checks           = state_q == StWait && check_q && quiet_i && !stop;
  assign check_start_o    = checks;
  assign starts           = state_q == StStart && error_q == '0 && !soft_reset_i;
  assign read_start_o     = starts && reads_q;
  assign read_abort_o     = drain_q;
  assign read_address_o   = job.input_address;
  assign read_count_o     = job.count;
  assign read_size_log2_o = element_log2(job);
  assign write_start_o    = starts && job.flags.to_memory;
  assign write_address_o  = job.output_address;
  assign write_flush_o    = drain_q && alone_q && stored_q;
  assign write_abort_o    = drain_q && error_q == E_TIMEOUT;
  assign mark_o           = drain_q && drained_q;
  assign end_valid_o      = state_q == StEnd && !soft_reset_i;
  assign end_error_o      = error_q;
  assign end_count_o      = count_q;
  assign end_info0_o      = info0_q;
  assign end_info1_o      = info1_q;

  logic finish_ok;                     // all operations done and written
  logic [7:0] finish_error;
  assign finish_ok    = error_q == '0 && !write_error_i;
  assign finish_error = error_q != '0 ? error_q : check_q && check_bad_i ? E_CHECK :
                        write_error_i ? E_BUS_WR : '0;

  // The leaf that INSERT or RESERVE would have used.
  logic [INDEX_W+1:0] head_sum, head;
  assign head_sum = {2'd0, pointer_i} + {1'b0, reserved_i};
  assign head     = head_sum >= {1'b0, leaves_i} ? head_sum - {1'b0, leaves_i} : head_sum;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      run_q      <= 1'b0;
      drain_q    <= 1'b0;
      reserved_q <= '0;
      some_q     <= 1'b0;
      full_q     <= 1'b0;
      flight_q   <= '0;
      alone_q    <= 1'b1;
      back_q     <= '0;
      room_q     <= 1'b0;
      stored_q   <= 1'b1;
      sampling_q <= 1'b0;
    end else begin
      flight_q <= flight_q + CountW'(issue) - CountW'(updated_i || sampled_i);
      alone_q <= !issue && (flight_q == '0 ||
                            (flight_q == CountW'(1) && (updated_i || sampled_i)));
      // A clock late: what is issued in the clock between takes one place more.
      room_q <= flight_q + word_count < CountW'(DEPTH - 3);
      stored_q <= !(respond && job.flags.to_memory) &&
                  (word_count == '0 ||
                   (word_count == CountW'(1) && word_valid_o && word_ready_i));
      if (updated_i || sampled_i) back_q <= back_q + 1'b1;
      if (empty_q || (sampled_i && !(run_q && empty))) sampling_q <= 1'b0;
      else if (sample_valid_o && sample_ready_i) sampling_q <= 1'b1;
      some_q <= reserved_q != '0;
      full_q <= reserved_q >= half_q;
      if (clear_o) begin
        reserved_q <= '0;
        some_q     <= 1'b0;
      end else if (reserves) begin
        reserved_q <= reserved_q + 1'b1;
        some_q     <= 1'b1;
        full_q     <= reserved_q + 1'b1 >= half_q;
      end else if (commits) begin
        reserved_q <= reserved_q - 1'b1;
        some_q     <= reserved_q != (INDEX_W + 1)'(1);
        full_q     <= reserved_q > half_q;
      end
      unique case (state_q)
        StIdle: begin
          if (job_valid_i && job_ready_o) state_q <= StCheck;
          back_q <= '0;
        end
        StCheck: state_q <= soft_reset_i ? StIdle : StStart;
        StStart: begin
          state_q <= soft_reset_i ? StIdle : error_q != '0 || unfit ? StEnd :
                     whole_q ? StWait : StRun;
          run_q   <= starts && !whole_q;
        end
        StWait: if (stop || quiet_i) begin
          state_q <= stop ? StEnd : check_q ? StRun : StClear;
          run_q   <= checks;
        end
        StClear: state_q <= StClearing;
        StClearing: if (quiet_i) state_q <= StEnd;
        StRun: ;                       // see below
        StDrain: if (drained) begin
          state_q <= job.kind == JobReserve && finish_ok && !soft_reset_i ? StFetch : StEnd;
          drain_q <= 1'b0;
        end
        StFetch: if (fetched_i || stop) state_q <= StEnd;
        StEnd: if (soft_reset_i || end_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      // After the others, for it is the latest to be known.
      if (run_q && leave) begin
        state_q <= StDrain;
        run_q   <= 1'b0;
        drain_q <= 1'b1;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    half_q    <= leaves_i >> 1;
    cleared_q <= leaves_i != '0;
    drained_q <= drain_q && alone_q && stored_q && write_idle_i && read_idle_i;
    quiet_q   <= drained_q && quiet_i;
    empty_q   <= run_q && empty;
    if (job_valid_i && job_ready_o) begin
      descriptor_q <= job_descriptor_i;
      checks_q     <= checks_of(job_descriptor_i, 1'b1, '0);
    end
    if (state_q == StCheck) begin
      error_q <= bad;
      count_q <= '0;
      info0_q <= '0;
      info1_q <= '0;
    end
    if (state_q == StStart && error_q == '0 && unfit) error_q <= training_busy_i ? E_BUSY : E_CFG;
    if (state_q == StRun) begin
      if (stop) error_q <= E_TIMEOUT;
      else if (refuse) begin
        error_q <= !next.fine ? next.error : next.slot || next.outside ? E_INDEX : E_INSERT;
        info1_q <= next.error_index;
      end else if (empty_q) begin
        error_q <= E_EMPTY;
        info1_q <= '1;
      end else if (broken) begin
        error_q <= E_BUS_RD;
        info1_q <= 32'(read_response_i);
      end
    end
    if (state_q == StWait && stop) error_q <= E_TIMEOUT;
    if (state_q == StFetch && stop && !fetched_i) error_q <= E_TIMEOUT;
    if (state_q == StDrain && drained) begin
      error_q <= finish_error;
      // An empty sample came back, but was no operation done.
      count_q <= 32'(back_q) - (error_q == E_EMPTY ? 32'd1 : 32'd0);
      if (finish_error != '0) info0_q <= 32'(back_q) - (error_q == E_EMPTY ? 32'd1 : 32'd0);
      if (error_q == E_INSERT) info1_q <= 32'(head);
      if (error_q == '0 && check_q && check_bad_i) info1_q <= check_node_i;
      if (error_q == '0 && write_error_i) info1_q <= 32'(write_response_i);
    end
  end

  `JD_ASSERT(Reserves_A, reserves == (issue && next.reserve) && commits == (issue && next.commit))
  `JD_ASSERT(Stored_A, stored_q == (word_count == '0))
  `JD_ASSERT(StateIs_A, run_q == (state_q == StRun) && drain_q == (state_q == StDrain))
  `JD_ASSERT(Alone_A, alone_q == (flight_q == '0))
  `JD_ASSERT_IF(RoomForWords_A, respond && job.flags.to_memory, word_room)
  `JD_ASSERT_IF(ReservedAgree_A, state_q == StIdle && quiet_i, reserved_q == reserved_i)
  `JD_ASSERT_IF(NoneUnasked_A, updated_i || sampled_i, flight_q != '0)
endmodule : jd_replay_host
