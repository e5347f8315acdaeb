// SPDX-License-Identifier: Apache-2.0
//
// Ring 0: runs SAMPLE and TRAIN_LOOP jobs. It issues the samples of their batches and has the
// results delivered. In a loop it waits between batches for their TD errors.
//
// Streams  job_*, end_*: of jd_engine_control. x_*: random numbers from the host. sample_*: to the
//          sequencer.
// Timing   The first sample leaves three clocks after the job is taken, then one per clock. The
//          batches of a SAMPLE follow one another without a gap, as long as the memo has room.
// Numbers  -
// Source   onchip_replay 3.1. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_training
  import jd_replay_pkg::*;
  import jd_replay_map_pkg::*;
  import jd_replay_job_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_engine_header_map_pkg::E_BUS_WR;
  import jd_engine_header_map_pkg::E_TIMEOUT;
#(
  parameter int unsigned BatchLog2 = 9   // log2 of the largest batch, 3..10
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 soft_reset_i,
  input  logic                 hold_i,            // a CLEAR runs: take no job
  input  logic                 cleared_i,         // there was one
  input  logic                 relaxed_i,
  input  logic                 job_valid_i,
  output logic                 job_ready_o,
  input  logic [511:0]         job_descriptor_i,
  input  logic                 timeout_i,
  output logic                 end_valid_o,
  input  logic                 end_ready_i,
  output logic [7:0]           end_error_o,
  output logic [31:0]          end_count_o,
  output logic [31:0]          end_info0_o,
  output logic [31:0]          end_info1_o,
  output logic                 busy_o,            // a job is in hand
  output logic                 waiting_o,         // for TD errors
  input  logic                 stream_error_i,    // pulse: a word of TDE did not fit
  output logic                 stream_error_taken_o,
  // Exponent of the weights.
  output logic                 beta_set_o,
  output logic [31:0]          beta_o,
  // Batches.
  input  logic                 room_i,            // the memo has room for one more
  input  logic [BATCH_W-1:0]   begin_batch_i,     // its number, one more than that before it
  output logic [SLOT_W:0]      size_o,            // of the job's batches
  output logic                 begin_o,           // pulse: a batch begins
  output logic                 to_stream_o,       // where the job's batches go
  output logic                 to_memory_o,
  output logic                 delivered_o,       // pulse: all words of the oldest are on their way
  output logic                 cancel_o,          // pulse: those that are not delivered will not be
  output logic                 stored_o,          // those that were delivered to memory are there
  input  logic [BATCH_W:0]     open_i,            // batches, delivered, whose TD errors are to come
  input  logic                 updates_idle_i,    // no update by TDE is on its way
  // Samples.
  output logic                 sample_valid_o,
  input  logic                 sample_ready_i,
  output sample_request_t      sample_request_o,
  input  logic                 sampled_i,         // pulse: a sample of this ring came back
  // Numbers of the host.
  output logic                 x_start_o,
  output logic                 x_abort_o,
  output logic [39:0]          x_address_o,
  input  logic                 x_valid_i,
  output logic                 x_ready_o,
  input  logic [X_W-1:0]       x_data_i,
  input  logic                 x_error_i,
  input  logic [1:0]           x_response_i,
  input  logic                 x_idle_i,
  // Results.
  output logic                 results_start_o,   // pulse: of a job
  output logic                 results_weights_o,
  output logic                 results_whole_o,
  output logic                 results_stop_o,
  output logic                 results_fail_o,
  output logic [7:0]           results_fail_status_o,
  input  logic                 results_delivered_i, // pulse: a batch's last word is on its way
  input  logic                 results_empty_i,
  input  logic                 results_quiet_i,
  input  logic                 results_drained_i, // all words have left the buffers,
  input  logic                 results_stored_i,  // those for memory have
  // Memory.
  output logic                 write_start_o,
  output logic [39:0]          write_address_o,
  output logic                 write_flush_o,
  output logic                 write_abort_o,   // after a time-out
  input  logic                 write_error_i,
  input  logic [1:0]           write_response_i,
  input  logic                 write_idle_i
);
  typedef enum logic [2:0] {StIdle, StCheck, StRun, StFlush, StFail, StSend, StEnd} state_e;
  state_e state_q;
  logic   run_q;                       // state_q is StRun

  logic [511:0]     descriptor_q;
  checks_t          checks_q;          // of it
  logic             cleared_q;
  job_t             job_in, job;
  logic             loop_q, to_stream_q;
  logic [3:0]       slots_log2_q;
  logic [7:0]       bad;
  logic             fine;              // bad is 0
  logic [SLOT_W:0]  size;
  logic [31:0]      total;             // batches
  assign job_in    = job_of(job_descriptor_i);
  assign job       = job_of(descriptor_q);
  assign bad       = job_error(checks_q, cleared_q);   // taken in StCheck
  assign fine      = job_fine(checks_q, cleared_q);
  assign size      = job.count[SLOT_W:0];
  assign total     = job.batches == '0 ? 32'd1 : job.batches;

  logic [7:0]  error_q;
  logic [31:0] count_q, info0_q, info1_q;

  // ---- Batches
  logic               stop;            // leave what is being done
  logic               begins, delivered, ready, loop_ready_q;
  logic [1:0]         ahead_q;         // batches that began and whose first slot was not offered,
  logic               ahead_some_q;    // one or two,
  logic               ahead_two_q;     // two: no more may begin
  logic [31:0]        begin_left_q;    // batches that did not begin,
  logic               more_q;          // if any
  logic [31:0]        batches_q;       // delivered
  logic [31:0]        samples_q;       // in them
  logic               all_q;           // all of them are
  logic [BATCH_W:0]   flight_q;        // batches that began and are not delivered,
  logic               none_q;          // if there is none
  logic [BATCH_W:0]   open;            // batches of this job with TD errors to come
  logic [31:0]        closed_q;        // batches delivered and without, known one clock late
  logic               open_none_q;     // all batches are delivered and have theirs
  assign open      = 32'(open_i) < batches_q ? open_i : batches_q[BATCH_W:0];
  // Where a batch found no leaf, the rest is issued and dropped: it needs no room.
  assign ready     = loop_q ? room_i && loop_ready_q && !results_empty_i
                            : room_i || results_empty_i;
  assign delivered = run_q && results_delivered_i && !stop;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || state_q == StIdle) begin
      flight_q <= '0;
      none_q   <= 1'b1;
    end else if (begin_o != delivered) begin
      flight_q <= begin_o ? flight_q + 1'b1 : flight_q - 1'b1;
      none_q   <= !begin_o && flight_q == (BATCH_W + 1)'(1);
    end
    open_none_q <= open == '0 && all_q;
    closed_q    <= batches_q - 32'(open);
    // A loop's batches are sampled one after another.
    loop_ready_q <= !begins && none_q &&
                    (relaxed_i ? open <= (BATCH_W + 1)'(1) : open == '0 && updates_idle_i);
    if (state_q == StCheck) begin
      begin_left_q <= total;
      more_q       <= 1'b1;
      batches_q    <= '0;
      samples_q    <= '0;
      all_q        <= 1'b0;
    end else begin
      if (begins) begin
        begin_left_q <= begin_left_q - 1;
        more_q       <= begin_left_q != 32'd1;
      end
      if (delivered) begin
        batches_q <= batches_q + 1;
        samples_q <= samples_q + 32'(size);
        all_q     <= !more_q && flight_q == (BATCH_W + 1)'(1);
      end
    end
  end

  // ---- Samples
  logic               issue, x_failed, last_slot, take;
  logic               issuing_q;       // a slot of the batch is left
  logic [SLOT_W:0]    left_q;
  logic [SLOT_W-1:0]  slot_q;
  logic [BATCH_W-1:0] batch_q;
  logic [9:0]         way_q;           // samples in the tree,
  logic               alone_q;         // none
  batch_tag_t         tag;
  assign x_failed = job.flags.host_x && x_error_i && !x_valid_i;
  assign tag      = '{host: 1'b0, zero: '0, first: slot_q == '0, batch: batch_q};
  always_comb begin
    sample_request_o.tag         = tag;
    sample_request_o.host_x      = job.flags.host_x;
    sample_request_o.x           = x_data_i;
    sample_request_o.stratified  = job.flags.stratified;
    sample_request_o.slot        = slot_q;
    sample_request_o.slots_log2  = slots_log2_q;
  end
  assign sample_valid_o = issuing_q && (!job.flags.host_x || x_valid_i);
  assign issue          = sample_valid_o && sample_ready_i;
  assign last_slot      = left_q == (SLOT_W + 1)'(1);
  // Batches begin ahead of their slots: whether a sample is granted is known late.
  assign begins         = run_q && more_q && ready && !ahead_two_q && !stop;
  assign take           = (ahead_some_q || begins) && (!issuing_q || (issue && last_slot));
  assign x_ready_o      = issue;
  assign x_abort_o      = state_q == StFail;
  assign x_address_o    = job.input_address;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      issuing_q    <= 1'b0;
      ahead_q      <= '0;
      ahead_some_q <= 1'b0;
      ahead_two_q  <= 1'b0;
      way_q        <= '0;
      alone_q      <= 1'b1;
    end else begin
      if (!run_q) begin
        ahead_q      <= '0;
        ahead_some_q <= 1'b0;
        ahead_two_q  <= 1'b0;
      end else if (begins != take) begin
        ahead_q      <= begins ? ahead_q + 2'd1 : ahead_q - 2'd1;
        ahead_some_q <= begins || ahead_two_q;
        ahead_two_q  <= begins && ahead_some_q;
      end
      if (!run_q || stop || x_failed) issuing_q <= 1'b0;
      else if (take)                  issuing_q <= 1'b1;
      else if (issue && last_slot)    issuing_q <= 1'b0;
      if (issue != sampled_i) begin
        way_q   <= issue ? way_q + 1'b1 : way_q - 1'b1;
        alone_q <= !issue && way_q == 10'd1;
      end
    end
    if (state_q == StCheck) batch_q <= begin_batch_i - 1'b1;
    else if (take)          batch_q <= batch_q + 1'b1;
    if (take) begin
      left_q <= size;
      slot_q <= '0;
    end else if (issue) begin
      left_q <= left_q - 1'b1;
      slot_q <= slot_q + 1'b1;
    end
  end

  // ---- The job
  logic starts, failing, emptied;
  assign job_ready_o = state_q == StIdle && !hold_i && !soft_reset_i;
  assign busy_o      = state_q != StIdle;
  assign waiting_o   = run_q && !issuing_q && none_q && (more_q ? !ready : loop_q);
  assign stop        = soft_reset_i || timeout_i || stream_error_i;
  // All slots were issued, and no batch before the one without a leaf is on its way.
  assign emptied     = results_empty_i && (!more_q || loop_q) && !ahead_some_q && !issuing_q &&
                       alone_q && results_quiet_i;
  // Words for memory that are on their way are still written; those for SMP may wait for ever.
  assign failing     = state_q == StFail && !issuing_q && alone_q && x_idle_i && results_quiet_i &&
                       results_stored_i && write_idle_i;

  assign starts            = state_q == StCheck && fine && !soft_reset_i;
  assign x_start_o         = starts && job_reads(job);
  assign write_start_o     = starts && job.flags.to_memory;
  assign write_address_o   = job.output_address;
  assign write_flush_o     = (state_q == StFlush || state_q == StFail) && results_quiet_i &&
                             results_stored_i;
  assign write_abort_o     = state_q == StFail && error_q == E_TIMEOUT;
  assign beta_set_o        = starts && job.beta != '0;
  assign beta_o            = job.beta;
  assign size_o            = size;
  assign begin_o           = begins && !results_empty_i;
  assign to_stream_o       = to_stream_q;
  assign to_memory_o       = job.flags.to_memory;
  assign delivered_o       = delivered;
  assign cancel_o          = failing && !none_q;
  assign stored_o          = state_q == StEnd && job.flags.to_memory;
  assign results_start_o   = starts;
  assign results_weights_o = job.flags.weights;
  assign results_whole_o   = job.flags.weights || job.flags.host_x;
  assign results_stop_o    = state_q == StFail;
  assign results_fail_o        = state_q == StSend;
  assign results_fail_status_o = error_q;
  assign stream_error_taken_o  = state_q == StRun || state_q == StFlush;

  assign end_valid_o = state_q == StEnd && !soft_reset_i;
  assign end_error_o = error_q;
  assign end_count_o = count_q;
  assign end_info0_o = info0_q;
  assign end_info1_o = info1_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      run_q   <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: if (job_valid_i && job_ready_o) state_q <= StCheck;
        StCheck: begin
          state_q <= soft_reset_i ? StIdle : fine ? StRun : StEnd;
          run_q   <= starts;
        end
        StRun: begin
          if (emptied || (issuing_q && x_failed)) begin
            state_q <= StFail;
            run_q   <= 1'b0;
          end else if (all_q && (!loop_q || (open_none_q && updates_idle_i))) begin
            state_q <= loop_q ? StEnd : StFlush;
            run_q   <= 1'b0;
          end
        end
        StFlush: if (results_drained_i && write_idle_i) begin
          state_q <= write_error_i ? StFail : StEnd;
        end
        StFail: if (failing) state_q <= soft_reset_i ? StIdle : to_stream_q ? StSend : StEnd;
        StSend: state_q <= soft_reset_i ? StIdle : StEnd;
        StEnd: if (soft_reset_i || end_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      if (stop && stream_error_taken_o) begin
        state_q <= StFail;
        run_q   <= 1'b0;
      end
    end
  end

  // ---- What the record tells
  always_ff @(posedge clk_i) begin
    if (job_valid_i && job_ready_o) begin
      descriptor_q <= job_descriptor_i;
      checks_q     <= checks_of(job_descriptor_i, 1'b0, COUNT_W'(1 << BatchLog2));
      loop_q       <= job_in.kind == JobTrainLoop;
      to_stream_q  <= job_in.kind == JobTrainLoop || job_in.flags.to_stream;
      for (int unsigned bit_index = 0; bit_index <= SLOT_W; bit_index++) begin
        if (job_in.count[bit_index]) slots_log2_q <= 4'(bit_index);
      end
      count_q      <= '0;
      info0_q      <= '0;
      info1_q      <= '0;
    end
    cleared_q <= cleared_i;
    if (state_q == StCheck) error_q <= bad;
    if (run_q) count_q <= loop_q ? batches_q : samples_q;
    if (run_q && emptied) begin
      error_q <= E_EMPTY;
      info0_q <= loop_q ? batches_q : samples_q;
      info1_q <= '1;
    end else if (run_q && issuing_q && x_failed) begin
      error_q <= E_BUS_RD;
      info0_q <= 32'(slot_q);
      info1_q <= 32'(x_response_i);
    end
    if (state_q == StFlush && results_drained_i && write_idle_i && write_error_i) begin
      error_q <= E_BUS_WR;
      info0_q <= samples_q;
      info1_q <= 32'(write_response_i);
    end
    if (stop && stream_error_taken_o) begin
      error_q <= timeout_i ? E_TIMEOUT : E_STREAM;
      count_q <= loop_q ? closed_q : '0;
      info0_q <= loop_q ? closed_q : '0;
      info1_q <= '0;
    end
  end

  logic unused_bits;
  assign unused_bits = ^job_in;

  `JD_ASSERT(Fine_A, fine == (bad == '0))
  `JD_ASSERT(StateIs_A, run_q == (state_q == StRun))
  `JD_ASSERT(Issuing_A, !issuing_q || left_q != '0)
  `JD_ASSERT(Ahead_A, ahead_some_q == (ahead_q != '0) && ahead_two_q == (ahead_q == 2'd2))
  `JD_ASSERT(Alone_A, alone_q == (way_q == '0))
  `JD_ASSERT(None_A, none_q == (flight_q == '0))
  `JD_ASSERT_IF(AllDelivered_A, run_q && all_q, batches_q == total && !more_q)
endmodule : jd_replay_training
