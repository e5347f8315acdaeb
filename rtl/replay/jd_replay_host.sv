// SPDX-License-Identifier: Apache-2.0
//
// Ring 1: runs all jobs but sampling jobs. It checks each operation of jd_replay_elements before
// the operation enters the tree, and writes the responses.
//
// Streams  job_*, end_*: of jd_engine_control. op_*, sample_*: to the sequencer. mem_*: the arrays.
// Timing   One operation per clock, two clocks after its element at the earliest. A SAMPLE of a
//          STREAM job waits until no other operation of the job is in flight, and the next
//          operation waits for it. So all operations take effect in order.
// Numbers  -
// Source   onchip_replay 2.1.2. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_host
  import jd_axi_pkg::*;
  import jd_replay_pkg::*;
  import jd_replay_map_pkg::*;
  import jd_replay_job_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_engine_header_map_pkg::E_BUS_WR;
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
  input  tree_check_t        check_i,           // what it found, when all is quiet again
  // State.
  input  config_t            config_i,
  input  tree_state_t        tree_i,
  input  last_t              last_i,            // the batch that was sampled last
  output logic               mark_o,            // remember the batches to be fetched
  input  logic               fetched_i,         // they are
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
  // Memory.
  output logic               waiting_o,         // for an element
  output logic               idle_o,            // nothing of it is in flight at the memory
  output axi_req_t           mem_req_o,
  input  axi_rsp_t           mem_rsp_i
);
  localparam int unsigned DEPTH  = 64;     // responses on their way to memory
  localparam int unsigned CountW = $clog2(DEPTH + 1);

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
  logic clear_q, check_q;
  logic whole_q;                       // clear_q or check_q: nothing else may be in the tree
  always_ff @(posedge clk_i) begin
    if (state_q == StCheck) begin
      clear_q <= job.kind == JobClear;
      check_q <= job.kind == JobCheck;
      whole_q <= job.kind inside {JobClear, JobCheck};
    end
  end

  // ---- The descriptor
  logic [7:0] bad;
  logic       bad_config_q, unfit;
  // Words that are written only while the engine is idle, long before the job.
  always_ff @(posedge clk_i) begin
    bad_config_q <= config_i.leaves == '0 || config_i.leaves > (32'd1 << NLog2) ||
                    config_i.pinit == '0 || (64'(config_i.pinit) >> LeafW) != '0 ||
                    config_i.pmin > config_i.largest;
  end
  assign bad   = job_error(checks_q, cleared_q);                  // taken in StCheck
  assign unfit = (whole_q && training_busy_i) || (clear_q && bad_config_q);    // in StStart

  // ---- The operations, and the one whose turn it is
  logic       operates, more, unreadable, read_idle, elements_wait;
  logic       queued_valid, enter, next_valid, issue;
  logic [1:0] read_response;
  element_t   queued, next;
  assign operates = (starts && !whole_q) || check_start_o;
  jd_replay_elements #(
    .NLog2 (NLog2)
  ) u_elements (
    .clk_i,
    .rst_ni,
    .job_i       (job),
    .take_i      (state_q == StCheck),
    .load_i      (starts),
    .start_i     (operates),
    .abort_i     (drain_q),
    .leaves_i    (tree_i.leaves),
    .out_valid_o (queued_valid),
    .out_ready_i (enter),
    .out_data_o  (queued),
    .more_o      (more),
    .broken_o    (unreadable),
    .response_o  (read_response),
    .waiting_o   (elements_wait),
    .idle_o      (read_idle),
    .mem_req_o   (mem_req_o.read),
    .mem_rsp_i   (mem_rsp_i.read)
  );

  // Whether it fits is known with it: nothing is wrong with it by itself, and the batch sampled last,
  // as it was one clock before, has the slot that it names.
  logic               fits_q;
  logic [BATCH_W-1:0] last_batch_q;
  logic [PLACE_W-1:0] last_place_q;
  logic               queued_slot, next_slot, queued_fits, next_fits;
  assign queued_slot = last_i.valid && !queued.beyond &&
                       {1'b0, queued.error_index[SLOT_W-1:0]} < last_i.size;
  assign next_slot   = last_i.valid && !next.beyond &&
                       {1'b0, next.error_index[SLOT_W-1:0]} < last_i.size;
  assign queued_fits = queued.fine && !queued.outside && (!queued.slot || queued_slot);
  assign next_fits   = next.fine && !next.outside && (!next.slot || next_slot);
  assign enter = !next_valid || issue;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || drain_q) next_valid <= 1'b0;
    else if (enter)              next_valid <= queued_valid;
    if (enter) next <= queued;
    fits_q       <= enter ? queued_fits : next_fits;
    last_batch_q <= last_i.batch;
    last_place_q <= last_i.place;
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
  assign all_issued = !more && !next_valid;
  assign broken     = unreadable && !next_valid && !sampling_q;

  // ---- Responses
  response_t    response;
  logic         empty, respond, word_room, word_valid, word_ready;
  logic         empty_q;               // it ends the job; till then it counts as in flight
  logic         stored_q;              // word_count is 0
  logic [127:0] word;
  logic         write_error, write_idle;
  logic [1:0]   write_response;
  host_tag_t    sample_tag, update_tag;
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
    .out_valid_o (word_valid),
    .out_ready_i (word_ready),
    .out_data_o  (word),
    .count_o     (word_count)
  );

  jd_axi_array_writer u_writer (
    .clk_i,
    .rst_ni,
    .start_i    (starts && job.flags.to_memory),
    .address_i  (job.output_address),
    .flush_i    (drain_q && alone_q && stored_q),
    .abort_i    (drain_q && error_q == E_TIMEOUT),
    .in_valid_i (word_valid),
    .in_ready_o (word_ready),
    .in_data_i  (word),
    .error_o    (write_error),
    .response_o (write_response),
    .idle_o     (write_idle),
    .mem_req_o  (mem_req_o.write),
    .mem_rsp_i  (mem_rsp_i.write)
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
  assign waiting_o        = busy_o && elements_wait;
  assign idle_o           = read_idle && write_idle;
  assign hold_o           = (state_q == StStart && whole_q) ||
                            state_q inside {StWait, StClear, StClearing} ||
                            (check_q && (run_q || drain_q));
  assign clear_o          = state_q == StClear;
  assign check_start_o    = state_q == StWait && check_q && quiet_i && !stop;
  assign starts           = state_q == StStart && error_q == '0 && !soft_reset_i;
  assign mark_o           = drain_q && drained_q;
  assign end_valid_o      = state_q == StEnd && !soft_reset_i;
  assign end_error_o      = error_q;
  assign end_count_o      = count_q;
  assign end_info0_o      = info0_q;
  assign end_info1_o      = info1_q;

  logic finish_ok;                     // all operations done and written
  logic [7:0] finish_error;
  assign finish_ok    = error_q == '0 && !write_error;
  assign finish_error = error_q != '0 ? error_q : check_q && check_i.bad ? E_CHECK :
                        write_error ? E_BUS_WR : '0;

  // The leaf that INSERT or RESERVE would have used.
  logic [INDEX_W+1:0] head_sum, head;
  assign head_sum = {2'd0, tree_i.pointer} + {1'b0, tree_i.reserved};
  assign head     = head_sum >= {1'b0, tree_i.leaves} ? head_sum - {1'b0, tree_i.leaves} : head_sum;

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
                   (word_count == CountW'(1) && word_valid && word_ready));
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
          run_q   <= check_start_o;
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
    half_q    <= tree_i.leaves >> 1;
    cleared_q <= tree_i.leaves != '0;
    drained_q <= drain_q && alone_q && stored_q && write_idle && read_idle;
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
        info1_q <= 32'(read_response);
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
      if (error_q == '0 && check_q && check_i.bad) begin
        info1_q <= {3'd0, check_i.level, 4'd0, check_i.node};
      end
      if (error_q == '0 && write_error) info1_q <= 32'(write_response);
    end
  end

  `JD_ASSERT(Reserves_A, reserves == (issue && next.reserve) && commits == (issue && next.commit))
  `JD_ASSERT(Stored_A, stored_q == (word_count == '0))
  `JD_ASSERT(StateIs_A, run_q == (state_q == StRun) && drain_q == (state_q == StDrain))
  `JD_ASSERT(Alone_A, alone_q == (flight_q == '0))
  `JD_ASSERT_IF(RoomForWords_A, respond && job.flags.to_memory, word_room)
  `JD_ASSERT_IF(ReservedAgree_A, state_q == StIdle && quiet_i, reserved_q == tree_i.reserved)
  `JD_ASSERT_IF(NoneUnasked_A, updated_i || sampled_i, flight_q != '0)
endmodule : jd_replay_host
