// SPDX-License-Identifier: Apache-2.0
//
// Delivers the results of a step: its TD errors, to the replay engine and to memory, and their
// statistics. Of a round of INFER it delivers the outputs.
//
// Streams  req_*, rsp_*: requests of jd_learner_job and their results. delta_*: TD errors of the
//          pipelines, a pipe. result_*: rows of the frames, RESULT_LATENCY clocks after their read.
//          tde_*: to the replay engine. write_*: INFER (0), TD errors (1).
// Timing   as of jd_learner_tde, jd_learner_stats and jd_learner_infer.
// Numbers  as of these.
// Source   learner 4.1, 7. Golden model: models/learner/engine.py.
`include "jd_assert.svh"
module jd_learner_results
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned DP         = 1,        // as jd_learner_top
  parameter  int unsigned P          = 16,
  parameter  int unsigned BMax       = 64,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1,
  localparam int unsigned PipeW      = $clog2(DP) > 0 ? $clog2(DP) : 1
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               link_clear_i,       // empties the TDE queue
  input  logic [15:0][31:0]  words_i,            // the job's descriptor
  input  plan_t              plan_i,
  input  pass_t              forward_i,          // of INFER
  input  step_req_t          step_i,             // what the pipelines are asked for
  input  results_req_t       req_i,
  output results_rsp_t       rsp_o,
  output logic [31:0]        td_mean_o,          // of the last step
  output logic [31:0]        td_max_o,
  // The pipelines.
  input  logic               delta_valid_i,
  input  logic [SampleW-1:0] delta_sample_i,
  input  logic [31:0]        delta_i,
  output logic               result_read_o,
  output logic [PipeW-1:0]   result_pipe_o,
  output logic [15:0]        result_row_o,
  input  logic [P-1:0][31:0] result_data_i,
  // TDE and memory.
  output logic               tde_valid_o,
  input  logic               tde_ready_i,
  output logic [63:0]        tde_data_o,
  output write_req_t [1:0]   write_req_o,
  input  write_rsp_t         write_rsp_i
);
  logic batch_start;                             // of a step's first phase
  logic delta_valid;
  assign batch_start = step_i.start && !step_i.phase;
  assign delta_valid = delta_valid_i && req_i.running;    // a dropped step has none

  jd_learner_tde #(.BMax (BMax)) u_tde (
    .clk_i, .rst_ni,
    .link_clear_i   (link_clear_i),
    .memory_clear_i (req_i.td_clear),
    .batch_i        (words_i[3][15:0]),
    .to_stream_i    (words_i[0][10]),
    .to_memory_i    (words_i[0][9]),
    .memory_go_i    (req_i.td_go),
    .address_i      (req_i.td_address),
    .step_start_i   (batch_start),
    .delta_valid_i  (delta_valid),
    .delta_slot_i   (16'(delta_sample_i)),
    .delta_i        (delta_i),
    .fetch_done_i   (req_i.td_fetch_done),
    .abort_i        (req_i.td_abort),
    .room_o         (rsp_o.td_room),
    .empty_o        (rsp_o.td_empty),
    .memory_done_o  (rsp_o.td_memory_done),
    .memory_resp_o  (rsp_o.td_memory_resp),
    .memory_busy_o  (rsp_o.td_memory_busy),
    .tde_valid_o    (tde_valid_o),
    .tde_ready_i    (tde_ready_i),
    .tde_data_o     (tde_data_o),
    .write_req_o    (write_req_o[1]),
    .write_rsp_i    (write_rsp_i)
  );
  jd_learner_stats #(.BMax (BMax), .MulLatency (MulLatency), .AddLatency (AddLatency)) u_stats (
    .clk_i, .rst_ni,
    .step_start_i  (batch_start),
    .batch_i       (words_i[3][15:0]),
    .scale_i       (words_i[8]),
    .delta_valid_i (delta_valid),
    .delta_i       (delta_i),
    .commit_i      (req_i.accept),
    .ready_o       (rsp_o.stats_ready),
    .mean_o        (td_mean_o),
    .largest_o     (td_max_o)
  );
  jd_learner_infer #(.P (P), .DP (DP)) u_infer (
    .clk_i, .rst_ni,
    .job_start_i  (req_i.job_start),
    .address_i    ({words_i[13][7:0], words_i[12]}),
    .start_i      (req_i.infer_start),
    .count_i      (step_i.batch),
    .row_i        (forward_i.result + (step_i.parity && forward_i.parted ? plan_i.state_rows
                                                                         : 8'd0)),
    .lane_i       (forward_i.lane[$clog2(P)-1:0]),
    .words_i      (forward_i.n_out),
    .frame_rows_i (plan_i.frame_rows),
    .busy_o       (rsp_o.infer_busy),
    .done_o       (rsp_o.infer_done),
    .response_o   (rsp_o.infer_response),
    .read_o       (result_read_o),
    .read_pipe_o  (result_pipe_o),
    .read_row_o   (result_row_o),
    .data_i       (result_data_i),
    .write_req_o  (write_req_o[0]),
    .write_rsp_i  (write_rsp_i)
  );

  `JD_ASSERT_STREAM(TdeStable_A, tde_valid_o, tde_ready_i || link_clear_i, tde_data_o)
endmodule : jd_learner_results
