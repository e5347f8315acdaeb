// SPDX-License-Identifier: Apache-2.0
//
// Ring 0: runs SAMPLE and TRAIN_LOOP jobs. Issues the samples of a batch, has the results delivered
// and waits, between the batches of a loop, for their TD errors.
//
// Streams  job_*, end_*: of jd_engine_control. x_*: numbers of the host. sample_*: to the sequencer.
// Timing   the first sample leaves two clocks after the job is taken, then one a clock.
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
  input  logic                 clear_i,           // pulse: forget the batches
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
  output logic                 beta_step_o,       // pulse: a batch with weights was delivered
  // Batches.
  output logic                 last_valid_o,      // a batch was completely sampled,
  output logic                 last_bank_o,       // the last one in this bank,
  output logic [SLOT_W:0]      last_size_o,       // of this size
  output logic                 open_o,            // pulse: a batch begins
  output logic                 open_bank_o,
  output logic [SLOT_W:0]      open_size_o,
  output logic                 open_stream_o,
  output logic                 open_memory_o,
  output logic                 cancel_o,
  output logic                 delivered_o,       // to memory
  output logic                 batch_delivered_o, // pulse: all words are on their way
  input  logic [1:0]           open_i,            // banks whose TD errors are to come
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
  output logic                 results_weights_o,
  output logic                 results_whole_o,
  output logic                 results_stop_o,
  output logic                 results_fail_o,
  output logic [7:0]           results_fail_status_o,
  input  logic                 results_done_i,
  input  logic                 results_empty_i,
  input  logic                 results_quiet_i,
  input  logic                 results_drained_i, // all words have left the buffers,
  input  logic                 results_stored_i,  // those for memory have
  // Memory.
  output logic                 write_start_o,
  output logic [39:0]          write_address_o,
  output logic                 write_flush_o,
  input  logic                 write_error_i,
  input  logic [1:0]           write_response_i,
  input  logic                 write_idle_i
);
  typedef enum logic [3:0] {
    StIdle, StCheck, StBank, StIssue, StResults, StLoop, StFlush, StFail, StSend, StEnd
  } state_e;
  state_e state_q;

  logic [511:0]     descriptor_q;
  checks_t          checks_q;          // of it
  logic             cleared_q;
  job_t             job;
  logic             loop, to_stream;
  logic [7:0]       bad;
  assign job       = job_of(descriptor_q);
  assign loop      = job.kind == JobTrainLoop;
  assign to_stream = loop || job.flags.to_stream;
  assign bad       = job_error(checks_q, cleared_q);   // taken in StCheck

  logic             bank_q;            // of the next batch
  logic [SLOT_W:0]  issued_q, back_q;  // of this batch
  logic [31:0]      batches_q;         // of this job, sampled
  logic [1:0]       mine_q;            // banks of this loop that were open
  logic             pending_q;         // the batch that began is not delivered
  logic [7:0]       error_q;
  logic [31:0]      count_q, info0_q, info1_q;
  logic [SLOT_W:0]  size;
  logic [1:0]       still_open;
  logic [31:0]      finished;          // batches of the loop with all their TD errors
  assign size       = job.count[SLOT_W:0];
  assign still_open = mine_q & open_i & ~(2'(pending_q) << bank_q);
  assign finished   = batches_q - 32'(still_open[0]) - 32'(still_open[1]);

  // ---- Samples
  logic issue, x_failed;
  logic            issuing_q;          // in StIssue, a slot is left
  logic [SLOT_W:0] left_q;
  assign x_failed = job.flags.host_x && x_error_i && !x_valid_i;
  always_comb begin
    sample_request_o             = '0;
    sample_request_o.tag         = {21'd0, bank_q, issued_q[SLOT_W-1:0]};
    sample_request_o.host_x      = job.flags.host_x;
    sample_request_o.x           = x_data_i;
    sample_request_o.stratified  = job.flags.stratified;
    sample_request_o.slot        = issued_q[SLOT_W-1:0];
    for (int unsigned bit_index = 0; bit_index <= SLOT_W; bit_index++) begin
      if (size[bit_index]) sample_request_o.slots_log2 = 4'(bit_index);
    end
  end
  assign sample_valid_o = issuing_q && (!job.flags.host_x || x_valid_i);
  assign issue          = sample_valid_o && sample_ready_i;
  assign x_ready_o      = issue;
  assign x_abort_o      = state_q == StFail;
  assign x_address_o    = job.input_address;

  // ---- The job
  logic stop;                          // leave what is being done
  logic starts, begins, ready_bank, delivered, failing;
  assign job_ready_o = state_q == StIdle && !hold_i && !soft_reset_i;
  assign busy_o      = state_q != StIdle;
  assign waiting_o   = state_q == StLoop || (state_q == StBank && !ready_bank);
  assign ready_bank  = !open_i[bank_q] &&
                       (!loop || relaxed_i || (still_open == '0 && updates_idle_i));
  assign begins      = state_q == StBank && ready_bank && !stop;
  assign delivered   = state_q == StResults && results_done_i && !stop;
  assign stop        = soft_reset_i || timeout_i || stream_error_i;
  // Words for memory that are on their way are still written; those for SMP may wait for ever.
  assign failing     = state_q == StFail && issued_q == back_q && x_idle_i && results_quiet_i &&
                       results_stored_i && write_idle_i;

  assign starts            = state_q == StCheck && bad == '0 && !soft_reset_i;
  assign x_start_o         = starts && job_reads(job);
  assign write_start_o     = starts && job.flags.to_memory;
  assign write_address_o   = job.output_address;
  assign write_flush_o     = (state_q == StFlush || state_q == StFail) && results_quiet_i &&
                             results_stored_i;
  assign beta_set_o        = starts && job.beta != '0;
  assign beta_o            = job.beta;
  assign batch_delivered_o = delivered;
  assign beta_step_o       = delivered && job.flags.weights;
  assign open_o            = begins;
  assign open_bank_o       = bank_q;
  assign open_size_o       = size;
  assign open_stream_o     = to_stream;
  assign open_memory_o     = job.flags.to_memory;
  assign results_weights_o = job.flags.weights;
  assign results_whole_o   = job.flags.host_x;
  assign results_stop_o    = state_q == StFail;
  assign cancel_o          = failing && pending_q;
  assign delivered_o       = state_q == StEnd && job.flags.to_memory;
  assign results_fail_o        = state_q == StSend;
  assign results_fail_status_o = error_q;
  assign stream_error_taken_o  = state_q inside {StBank, StIssue, StResults, StLoop, StFlush};

  assign end_valid_o = state_q == StEnd && !soft_reset_i;
  assign end_error_o = error_q;
  assign end_count_o = count_q;
  assign end_info0_o = info0_q;
  assign end_info1_o = info1_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q      <= StIdle;
      bank_q       <= 1'b0;
      last_valid_o <= 1'b0;
      issued_q     <= '0;
      back_q       <= '0;
      pending_q    <= 1'b0;
      mine_q       <= '0;
      issuing_q    <= 1'b0;
    end else begin
      if (issue) issued_q <= issued_q + 1'b1;
      if (issue) issuing_q <= left_q != (SLOT_W + 1)'(1);
      if (sampled_i) back_q <= back_q + 1'b1;
      unique case (state_q)
        StIdle: begin
          if (job_valid_i && job_ready_o) state_q <= StCheck;
          mine_q   <= '0;
          issued_q <= '0;
          back_q   <= '0;
        end
        StCheck: state_q <= soft_reset_i ? StIdle : bad != '0 ? StEnd : StBank;
        StBank: if (begins) begin
          state_q        <= StIssue;
          issued_q       <= '0;
          back_q         <= '0;
          pending_q      <= 1'b1;
          issuing_q      <= 1'b1;
          if (to_stream) mine_q[bank_q] <= 1'b1;
        end
        StIssue: begin
          if (!issuing_q) begin
            state_q <= StResults;
          end else if (x_failed) begin
            state_q   <= StFail;
            issuing_q <= 1'b0;
          end
        end
        StResults: begin
          if (results_empty_i && back_q == size) state_q <= StFail;
          else if (delivered) begin
            state_q      <= loop ? StLoop : StFlush;
            pending_q    <= 1'b0;
            last_valid_o <= 1'b1;
            bank_q       <= !bank_q;
          end
        end
        StLoop: begin
          if (batches_q != job.batches) state_q <= StBank;
          else if (still_open == '0 && updates_idle_i) state_q <= StEnd;
        end
        StFlush: if (results_drained_i && write_idle_i) begin
          state_q <= write_error_i ? StFail : StEnd;
        end
        StFail: if (failing) begin
          state_q   <= soft_reset_i ? StIdle : to_stream ? StSend : StEnd;
          pending_q <= 1'b0;
        end
        StSend: state_q <= soft_reset_i ? StIdle : StEnd;
        StEnd: if (soft_reset_i || end_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      if (stop && stream_error_taken_o) begin
        state_q   <= StFail;
        issuing_q <= 1'b0;
      end
      if (clear_i || (soft_reset_i && state_q == StIdle)) begin
        bank_q       <= 1'b0;
        last_valid_o <= 1'b0;
      end
    end
  end

  // ---- What the record tells
  always_ff @(posedge clk_i) begin
    if (job_valid_i && job_ready_o) begin
      descriptor_q <= job_descriptor_i;
      checks_q     <= checks_of(job_descriptor_i, 1'b0, COUNT_W'(1 << BatchLog2));
      batches_q    <= '0;
      count_q      <= '0;
      info0_q      <= '0;
      info1_q      <= '0;
    end
    cleared_q <= cleared_i;
    if (state_q == StCheck) error_q <= bad;
    if (begins) left_q <= size;
    else if (issue) left_q <= left_q - 1'b1;
    if (issuing_q && x_failed) begin
      error_q <= E_BUS_RD;
      info0_q <= 32'(issued_q);
      info1_q <= 32'(x_response_i);
    end
    if (delivered) begin
      batches_q   <= batches_q + 1;
      count_q     <= loop ? batches_q + 1 : 32'(size);
      last_bank_o <= bank_q;
      last_size_o <= size;
    end
    if (state_q == StResults && results_empty_i) begin
      error_q <= E_EMPTY;
      count_q <= loop ? batches_q : '0;
      info0_q <= loop ? batches_q : '0;
      info1_q <= '1;
    end
    if (state_q == StFlush && results_drained_i && write_idle_i && write_error_i) begin
      error_q <= E_BUS_WR;
      info0_q <= 32'(size);
      info1_q <= 32'(write_response_i);
    end
    if (stop && stream_error_taken_o) begin
      error_q <= timeout_i ? E_TIMEOUT : E_STREAM;
      count_q <= loop ? finished : '0;
      info0_q <= loop ? finished : '0;
      info1_q <= '0;
    end
  end

  `JD_ASSERT(Issuing_A, issuing_q == (state_q == StIssue && issued_q != size))
  `JD_ASSERT(NoMoreBack_A, back_q <= issued_q)
endmodule : jd_replay_training
