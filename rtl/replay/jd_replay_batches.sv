// SPDX-License-Identifier: Apache-2.0
//
// Ring 0 and the life of its batches: sampled, delivered to SMP or memory, updated by TD errors.
//
//   ring 0 --> jd_replay_training --> samples --> (tree) --> jd_replay_memo --> jd_replay_results
//                  ^ numbers                                   | ^ look-up         | SMP, memory
//                memory       TDE --> jd_replay_errors --> updates by slot --> (tree)
//
// Streams  job_*, end_*: of jd_engine_control. smp_*, tde_*: to and from the learner. sample_*,
//          op_*: to the sequencer. sampled_i, order_*, updated_i: the tree's answers to them.
// Timing   that of its blocks; a random number from the host is there two clocks before its sample.
// Numbers  weights as in jd_replay_results.
// Source   onchip_replay 3.1. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_batches
  import jd_axi_pkg::*;
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
#(
  parameter int unsigned BatchLog2 = 9   // log2 of the largest batch, 3..10
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             soft_reset_i,
  input  logic             link_clear_i,     // drop what is held of the links
  input  logic             clear_i,          // pulse of a CLEAR: forget all batches
  input  logic             hold_i,           // level: let nothing begin
  input  logic             cleared_i,        // there are leaves
  input  logic             relaxed_i,        // a loop samples a batch ahead of the TD errors
  input  logic             no_fetch_i,       // level: what is in memory counts as fetched
  input  logic [31:0]      beta_i,
  output logic             beta_set_o,       // a job sets it
  output logic [31:0]      beta_o,
  output logic             beta_step_o,
  // Jobs of ring 0.
  input  logic             job_valid_i,
  output logic             job_ready_o,
  input  logic [511:0]     job_descriptor_i,
  input  logic             timeout_i,
  output logic             end_valid_o,
  input  logic             end_ready_i,
  output logic [7:0]       end_error_o,
  output logic [31:0]      end_count_o,
  output logic [31:0]      end_info0_o,
  output logic [31:0]      end_info1_o,
  output logic             busy_o,           // a job is in hand
  output logic             waiting_o,        // for TD errors
  output logic             starved_o,        // it waits for memory
  output logic             idle_o,           // nothing of it is in flight at the memory
  output logic             stray_error_o,    // a word of TDE did not fit, and no job has the error
  // Samples.
  output logic             sample_valid_o,
  input  logic             sample_ready_i,
  output sample_request_t  sample_request_o,
  input  logic             sampled_i,        // pulse: one came back
  input  sample_response_t sample_response_i,
  input  logic             order_valid_i,    // a sample, of any ring, passes the order point
  input  order_t           order_i,
  output logic             delivered_o,      // pulse: a batch was
  output logic [SLOT_W:0]  size_o,           // of the job's batches
  output logic             duplicate_o,      // pulse: the leaf of the slot before came again
  // Updates.
  output logic             op_valid_o,
  input  logic             op_ready_i,
  output lane_op_t         op_o,
  input  logic             updated_i,        // pulse: one passed the order point
  output logic             updates_idle_o,   // none is on its way there
  input  logic             lookup_en_i,
  input  lookup_t          lookup_i,
  output found_t           found_o,
  // For ring 1.
  output last_t            last_o,           // the batch that was delivered last
  input  logic             acknowledge_i,    // the host has fetched what is in memory
  input  logic             mark_i,           // remember the batches to be fetched
  output logic             fetched_o,        // they are
  // Links and memory.
  output logic             smp_valid_o,
  input  logic             smp_ready_i,
  output logic [127:0]     smp_data_o,
  output logic             smp_last_o,
  input  logic             tde_valid_i,
  output logic             tde_ready_o,
  input  logic [63:0]      tde_data_i,
  output axi_req_t         mem_req_o,
  input  axi_rsp_t         mem_rsp_i
);
  // ---- Batches: they begin, are delivered or cancelled, and close with their last TD error
  logic               begins, to_stream, to_memory, cancel, stored, room, closed, sent;
  logic [BATCH_W-1:0] begin_batch;
  logic [BATCH_W:0]   open;
  logic [PLACE_W-1:0] begin_place, sent_place;
  logic               idle_q;          // no job is in hand

  // ---- The job
  logic               x_start, x_abort, x_valid, x_ready, x_error, x_idle;
  logic [39:0]        x_address;
  logic [X_W-1:0]     x_data;
  logic [1:0]         x_response;
  logic               results_start, results_weights, results_stop, results_fail, results_whole;
  logic               results_delivered, results_empty, results_quiet, results_drained;
  logic               results_stored;
  logic [7:0]         results_status;
  logic               write_start, write_flush, write_abort, write_error, write_idle;
  logic [39:0]        write_address;
  logic [1:0]         write_response;
  logic               stream_error, stream_error_taken;
  jd_replay_training #(
    .BatchLog2(BatchLog2)
  ) u_training (
    .clk_i,
    .rst_ni,
    .soft_reset_i,
    .hold_i,
    .cleared_i,
    .relaxed_i,
    .job_valid_i,
    .job_ready_o,
    .job_descriptor_i,
    .timeout_i,
    .end_valid_o,
    .end_ready_i,
    .end_error_o,
    .end_count_o,
    .end_info0_o,
    .end_info1_o,
    .busy_o,
    .waiting_o,
    .stream_error_i        (stream_error),
    .stream_error_taken_o  (stream_error_taken),
    .beta_set_o,
    .beta_o,
    .room_i                (room),
    .begin_batch_i         (begin_batch),
    .size_o,
    .begin_o               (begins),
    .to_stream_o           (to_stream),
    .to_memory_o           (to_memory),
    .delivered_o,
    .cancel_o              (cancel),
    .stored_o              (stored),
    .open_i                (open),
    .updates_idle_i        (updates_idle_o),
    .sample_valid_o,
    .sample_ready_i,
    .sample_request_o,
    .sampled_i,
    .x_start_o             (x_start),
    .x_abort_o             (x_abort),
    .x_address_o           (x_address),
    .x_valid_i             (x_valid),
    .x_ready_o             (x_ready),
    .x_data_i              (x_data),
    .x_error_i             (x_error),
    .x_response_i          (x_response),
    .x_idle_i              (x_idle),
    .results_start_o       (results_start),
    .results_weights_o     (results_weights),
    .results_whole_o       (results_whole),
    .results_stop_o        (results_stop),
    .results_fail_o        (results_fail),
    .results_fail_status_o (results_status),
    .results_delivered_i   (results_delivered),
    .results_empty_i       (results_empty),
    .results_quiet_i       (results_quiet),
    .results_drained_i     (results_drained),
    .results_stored_i      (results_stored),
    .write_start_o         (write_start),
    .write_address_o       (write_address),
    .write_flush_o         (write_flush),
    .write_abort_o         (write_abort),
    .write_error_i         (write_error),
    .write_response_i      (write_response),
    .write_idle_i          (write_idle)
  );
  always_ff @(posedge clk_i) idle_q <= !busy_o;
  assign stray_error_o = stream_error && !stream_error_taken;
  assign starved_o     = busy_o && !x_valid && !x_idle;
  assign idle_o        = x_idle && write_idle;

  // ---- Numbers of the host
  logic         number_valid, number_ready, numbers_idle;
  logic [127:0] number;
  jd_axi_array_reader #(
    .CountW (COUNT_W)
  ) u_numbers (
    .clk_i,
    .rst_ni,
    .start_i       (x_start),
    .address_i     (x_address),
    .count_i       (COUNT_W'(size_o)),
    .size_log2_i   (3'd3),
    .abort_i       (x_abort),
    .item_valid_o  (number_valid),
    .item_ready_i  (number_ready),
    .item_data_o   (number),
    .error_o       (x_error),
    .response_o    (x_response),
    .idle_o        (numbers_idle),
    .mem_req_o     (mem_req_o.read),
    .mem_rsp_i     (mem_rsp_i.read)
  );

  // Whether a sample is granted is known too late to move the numbers in the same clock.
  jd_stream_skid #(
    .Width(X_W)
  ) u_number (
    .clk_i,
    .rst_ni,
    .clear_i     (x_abort || x_start),
    .in_valid_i  (number_valid),
    .in_ready_o  (number_ready),
    .in_data_i   (number[X_W-1:0]),
    .out_valid_o (x_valid),
    .out_ready_i (x_ready),
    .out_data_o  (x_data)
  );
  assign x_idle = numbers_idle && !x_valid;

  // ---- From the tree through the memo
  logic                  read_valid, read_en, read_empty, read_void;
  logic [INDEX_W-1:0]    read_index;
  logic [LEAF_MAX_W-1:0] read_priority, read_lowest;
  jd_replay_memo #(
    .BatchLog2(BatchLog2)
  ) u_memo (
    .clk_i,
    .rst_ni,
    .clear_i         (clear_i || (soft_reset_i && idle_q)),
    .size_i          (size_o),
    .begin_i         (begins),
    .begin_stream_i  (to_stream),
    .begin_batch_o   (begin_batch),
    .begin_place_o   (begin_place),
    .room_o          (room),
    .delivered_i     (delivered_o),
    .cancel_i        (cancel),
    .closed_i        (closed),
    .last_o,
    .write_en_i      (sampled_i && !results_empty),
    .write_sample_i  (sample_response_i),
    .order_valid_i   (order_valid_i && !results_empty),
    .order_i,
    .whole_i         (results_whole),
    .read_valid_o    (read_valid),
    .read_en_i       (read_en),
    .read_empty_o    (read_empty),
    .read_void_o     (read_void),
    .read_index_o    (read_index),
    .read_priority_o (read_priority),
    .read_lowest_o   (read_lowest),
    .sent_i          (sent),
    .sent_place_o    (sent_place),
    .lookup_en_i,
    .lookup_i,
    .found_o
  );

  logic         word_valid, word_ready;
  logic [127:0] word;
  jd_replay_results u_results (
    .clk_i,
    .rst_ni,
    .start_i         (results_start),
    .size_i          (size_o),
    .weights_i       (results_weights),
    .to_stream_i     (to_stream),
    .to_memory_i     (to_memory),
    .beta_i,
    .beta_step_o,
    .stop_i          (results_stop),
    .fail_i          (results_fail),
    .fail_status_i   (results_status),
    .link_clear_i    (soft_reset_i || link_clear_i),
    .sent_o          (sent),
    .delivered_o     (results_delivered),
    .empty_o         (results_empty),
    .quiet_o         (results_quiet),
    .drained_o       (results_drained),
    .stored_o        (results_stored),
    .duplicate_o,
    .read_valid_i    (read_valid),
    .read_en_o       (read_en),
    .read_empty_i    (read_empty),
    .read_void_i     (read_void),
    .read_index_i    (read_index),
    .read_priority_i (read_priority),
    .read_lowest_i   (read_lowest),
    .smp_valid_o,
    .smp_ready_i,
    .smp_data_o,
    .smp_last_o,
    .word_valid_o    (word_valid),
    .word_ready_i    (word_ready),
    .word_data_o     (word)
  );

  jd_axi_array_writer u_writer (
    .clk_i,
    .rst_ni,
    .start_i         (write_start),
    .address_i       (write_address),
    .flush_i         (write_flush),
    .abort_i         (write_abort),
    .in_valid_i      (word_valid),
    .in_ready_o      (word_ready),
    .in_data_i       (word),
    .error_o         (write_error),
    .response_o      (write_response),
    .idle_o          (write_idle),
    .mem_req_o       (mem_req_o.write),
    .mem_rsp_i       (mem_rsp_i.write)
  );

  // ---- TD errors
  jd_replay_errors u_errors (
    .clk_i,
    .rst_ni,
    .clear_i        (clear_i || soft_reset_i),
    .drop_i         (soft_reset_i || link_clear_i),
    .hold_i,
    .tde_valid_i,
    .tde_ready_o,
    .tde_data_i,
    .begin_i        (begins),
    .begin_stream_i (to_stream),
    .begin_memory_i (to_memory),
    .begin_batch_i  (begin_batch),
    .begin_place_i  (begin_place),
    .size_i         (size_o),
    .delivered_i    (delivered_o),
    .cancel_i       (cancel),
    .stored_i       (stored),
    .sent_place_i   (sent_place),
    .open_o         (open),
    .closed_o       (closed),
    .acknowledge_i,
    .no_fetch_i,
    .mark_i,
    .fetched_o,
    .error_o        (stream_error),
    .op_valid_o,
    .op_ready_i,
    .op_o,
    .updated_i,
    .updates_idle_o
  );

  `JD_ASSERT_STREAM(SmpStable_A, smp_valid_o, smp_ready_i || soft_reset_i || link_clear_i,
                    {smp_data_o, smp_last_o})
endmodule : jd_replay_batches
