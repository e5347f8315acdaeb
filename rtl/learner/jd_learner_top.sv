// SPDX-License-Identifier: Apache-2.0
//
// The learner engine: trains networks by a stage program, from replayed records to new weights.
//
//   page -> jd_engine_frame -+-> jd_learner_state (registers)
//                            +-> jd_learner_job <-> jd_learner_program, and the units:
//   SMP, records -> jd_learner_fetch -> jd_learner_pipes -> jd_learner_results -> TDE, memory
//   images <-> jd_learner_parameters <-> weights, gradients of the pipelines
//   jd_engine_frame <- jd_learner_port <- all that read and write memory
//
// Streams  axil_*: the page. mem_*: jobs, records and parameters. smp_*: indices of a batch; tde_*:
//          its TD errors. link_clear_*: as in docs/interfaces.md.
// Timing   a gradient step takes the pipeline's clocks (jd_learner_pipe); WU and TSM run beside the
//          next step's stages that do not read what they write. Records of the next step are
//          fetched meanwhile.
// Numbers  binary32, RNE; orders of accumulation as in jd_learner_tensor_unit, jd_learner_loss,
//          jd_learner_update.
// Source   onchip_replay 3.2 (Learner Module). Golden model: models/learner/engine.py.
`include "jd_assert.svh"
module jd_learner_top
  import jd_axi_pkg::*;
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter int unsigned DP          = 1,      // pipelines: 1, 2, 4, 8
  parameter int unsigned P           = 16,     // lanes of each, power of two 8..128
  parameter int unsigned OB          = P / 4,  // words of a bias row
  parameter int unsigned GI          = 8,      // samples of a backward group
  parameter int unsigned LW          = 4,      // lanes of the weight update, 1..16, divides OB
  parameter int unsigned MulLatency  = 2,      // 1..4
  parameter int unsigned AddLatency  = 2,      // 1..6
  parameter int unsigned DivLatency  = 4,      // 2..28
  parameter int unsigned SqrtLatency = 4,      // 2..28
  parameter int unsigned BMax        = 64,     // samples of a step, 1..512
  parameter int unsigned DMax        = 64,     // largest layer
  parameter int unsigned LMax        = 4,      // layers of a network, 1..6
  parameter int unsigned NetMax      = 6,      // networks, and optimizer slots, 2..8
  parameter int unsigned StMax       = 64,     // stages of a program, 1..64
  parameter int unsigned WRows       = 1024,   // rows of weights
  parameter int unsigned ARows       = 2048,   // rows of sample frames, of each pipeline
  parameter bit          ActorCritic = 1'b0,   // runs actor-critic programs: DDPG, TD3
  parameter int unsigned NTU         = 1       // tensor units of a pipeline: 1, or 4 (spatial; no
                                               // ActorCritic, P 8..64)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  output logic         irq_o,
  input  axil_req_t    axil_req_i,
  output axil_rsp_t    axil_rsp_o,
  output axi_req_t     mem_req_o,
  input  axi_rsp_t     mem_rsp_i,
  input  logic         smp_valid_i,
  output logic         smp_ready_o,
  input  logic [127:0] smp_data_i,
  input  logic         smp_last_i,
  output logic         tde_valid_o,
  input  logic         tde_ready_i,
  output logic [63:0]  tde_data_o,
  output logic         link_clear_o,
  input  logic         link_clear_i
);
  if (NetMax < 2 || NetMax > NET_MAX || StMax < 1 || StMax > STAGE_MAX || LMax < 1 || LMax > LAYERS)
  begin : gen_bad_limits
    $fatal(1, "jd_learner_top: NetMax=%0d StMax=%0d LMax=%0d, want 2..8, 1..64, 1..6", NetMax,
           StMax, LMax);
  end
  if (OB % LW != 0 || LW > 16) begin : gen_bad_lw
    $fatal(1, "jd_learner_top: LW=%0d OB=%0d, want LW to divide OB and at most 16", LW, OB);
  end

  localparam int unsigned SampleW = $clog2(BMax) > 0 ? $clog2(BMax) : 1;
  localparam int unsigned PipeW   = $clog2(DP) > 0 ? $clog2(DP) : 1;
  localparam int unsigned UpdateMax = 16;

  // ------------------------------------------------------------------ control and registers
  register_req_t  register_req;
  register_rsp_t  register_rsp;
  axi_req_t [1:0] client_req;
  axi_rsp_t [1:0] client_rsp;
  logic         job_valid, job_ready, end_valid, end_ready, soft_reset, quiet_q, timeout, job_event;
  logic [511:0] job_descriptor;
  logic [7:0]   end_error;
  logic [31:0]  end_count, end_info0, end_info1, unused_job_number;
  logic         tensor_busy, wait_data, wait_room, wait_update, progress_q;
  logic         unused_idle;
  // Requests of the job to the units, and their responses.
  fetch_req_t      fetch_req;
  fetch_rsp_t      fetch_rsp;
  step_req_t       step_req;
  step_rsp_t       step_rsp;
  results_req_t    results_req;
  results_rsp_t    results_rsp;
  parameters_req_t parameters_req;
  parameters_rsp_t parameters_rsp;

  jd_engine_frame #(
    .Id       (jd_learner_map_pkg::ENGINE_ID),
    .Version  (jd_learner_map_pkg::ENGINE_VERSION),
    .IdleOnly (jd_learner_map_pkg::IDLE_ONLY),
    .Clients  (2)
  ) u_frame (
    .clk_i, .rst_ni, .time_i, .irq_o,
    .axil_req_i,
    .axil_rsp_o,
    .mem_req_o,
    .mem_rsp_i,
    .register_req_o   (register_req),
    .register_rsp_i   (register_rsp),
    .client_req_i     (client_req),
    .client_rsp_o     (client_rsp),
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_descriptor_o (job_descriptor),
    .job_number_o     (unused_job_number),
    .end_valid_i      (end_valid),
    .end_ready_o      (end_ready),
    .end_job_i        ('0),
    .end_error_i      (end_error),
    .end_detail_i     ('0),
    .end_count_i      (end_count),
    .end_info0_i      (end_info0),
    .end_info1_i      (end_info1),
    .soft_reset_o     (soft_reset),
    .quiet_i          (quiet_q),
    .error_valid_i    (1'b0),
    .error_code_i     ('0),
    .event_i          (job_event),
    .busy_i           (tensor_busy),
    .stall_mem_i      (wait_data && !fetch_rsp.wait_index),
    .stall_in_i       (wait_data && fetch_rsp.wait_index),
    .stall_out_i      (wait_room),
    .progress_i       (progress_q),
    .timeout_o        (timeout),
    .idle_o           (unused_idle)
  );
  assign link_clear_o = soft_reset;

  progress_t   progress;
  logic [31:0] td_mean, td_max;
  logic        stall_data, stall_token, stall_update;
  jd_learner_state #(
    .DP (DP), .P (P), .OB (OB), .GI (GI), .LW (LW), .BMax (BMax), .DMax (DMax), .LMax (LMax),
    .NetMax (NetMax), .StMax (StMax), .WRows (WRows), .ARows (ARows), .ActorCritic (ActorCritic),
    .NTU (NTU)
  ) u_state (
    .clk_i, .rst_ni,
    .register_req_i (register_req),
    .register_rsp_o (register_rsp),
    .progress_i     (progress),
    .td_mean_i      (td_mean),
    .td_max_i       (td_max),
    .tensor_busy_i  (tensor_busy),
    .stall_data_i   (wait_data || stall_data),
    .stall_token_i  (stall_token),
    .stall_update_i (wait_update || stall_update),
    .stall_room_i   (wait_room)
  );

  // ------------------------------------------------------------------ program and jobs
  logic                    program_start, program_busy, program_done;
  logic [7:0]              program_error;
  logic [31:0]             program_info0, program_info1;
  logic [15:0][31:0]       words;              // the job's descriptor
  logic                    infers, gradient_alone, job_idle;
  logic                    array_beyond;
  logic [3:0]              array_word;
  // The program, and the state of its networks.
  plan_t                   plan;
  network_t                networks [NetMax];
  slot_t                   slots [NetMax];
  update_t                 update_list [UpdateMax];
  logic                    stage_write;
  logic [STAGE_L-1:0]      stage_index;
  stage_t                  stage;
  pass_t                   forward;            // of INFER
  logic [NetMax-1:0]       banks;
  logic [NetMax-1:0][31:0] since;
  // The updates of a step.
  logic                    updating, updates_first, updates_restart;
  logic [4:0]              update_index;
  logic [NET_MAX-1:0]      update_busy, target_busy;
  // The memory port and its clients.
  read_req_t [2:0]         read_req;           // PROGRAM, image, fetch
  write_req_t [2:0]        write_req;          // image, INFER, TD errors
  read_req_t               list_req;
  read_rsp_t               read_rsp, list_rsp;
  write_rsp_t              write_rsp;
  logic                    port_idle, port_beat;
  logic                    image_owns;         // the image unit has the port

  jd_learner_program #(
    .P (P), .OB (OB), .LW (LW), .WRows (WRows), .ARows (ARows), .DMax (DMax), .LMax (LMax),
    .NetMax (NetMax), .StMax (StMax), .UpdateMax (UpdateMax), .ActorCritic (ActorCritic),
    .NTU (NTU)
  ) u_program (
    .clk_i, .rst_ni,
    .start_i       (program_start),
    .address_i     ({words[5][7:0], words[4]}),
    .bytes_i       (words[2]),
    .busy_o        (program_busy),
    .done_o        (program_done),
    .error_o       (program_error),
    .info0_o       (program_info0),
    .info1_o       (program_info1),
    .read_req_o    (read_req[0]),
    .read_rsp_i    (read_rsp),
    .stage_write_o (stage_write),
    .stage_index_o (stage_index),
    .stage_o       (stage),
    .plan_o        (plan),
    .networks_o    (networks),
    .slots_o       (slots),
    .update_o      (update_list)
  );
  jd_learner_job #(
    .BMax (BMax), .ARows (ARows), .DP (DP), .NetMax (NetMax), .ActorCritic (ActorCritic)
  ) u_job (
    .clk_i, .rst_ni,
    .job_valid_i           (job_valid),
    .job_ready_o           (job_ready),
    .job_descriptor_i      (job_descriptor),
    .end_valid_o           (end_valid),
    .end_ready_i           (end_ready),
    .end_error_o           (end_error),
    .end_count_o           (end_count),
    .end_info0_o           (end_info0),
    .end_info1_o           (end_info1),
    .soft_reset_i          (soft_reset),
    .timeout_i             (timeout),
    .event_o               (job_event),
    .words_o               (words),
    .program_start_o       (program_start),
    .program_done_i        (program_done),
    .program_error_i       (program_error),
    .program_info0_i       (program_info0),
    .program_info1_i       (program_info1),
    .plan_i                (plan),
    .beyond_i              (array_beyond),
    .beyond_word_i         (array_word),
    .update_index_o        (update_index),
    .update_i              (update_list[update_index[3:0]]),
    .updating_o            (updating),
    .updates_first_o       (updates_first),
    .updates_restart_o     (updates_restart),
    .since_o               (since),
    .gradient_alone_o      (gradient_alone),
    .parameters_req_o      (parameters_req),
    .parameters_rsp_i      (parameters_rsp),
    .image_busy_i          (image_owns),
    .fetch_req_o           (fetch_req),
    .fetch_rsp_i           (fetch_rsp),
    .memory_idle_i         (port_idle),
    .step_req_o            (step_req),
    .step_rsp_i            (step_rsp),
    .results_req_o         (results_req),
    .results_rsp_i         (results_rsp),
    .infers_o              (infers),
    .banks_o               (banks),
    .progress_o            (progress),
    .wait_data_o           (wait_data),
    .wait_room_o           (wait_room),
    .wait_update_o         (wait_update),
    .idle_o                (job_idle)
  );
  jd_learner_pending #(.UpdateMax (UpdateMax), .NetMax (NetMax)) u_pending (
    .clk_i,
    .list_i        (update_list),
    .count_i       (plan.updates),
    .restart_i     (updates_restart),
    .due_i         (step_req.due),
    .since_i       (since),
    .active_i      (updating),
    .first_i       (updates_first),
    .index_i       (update_index),
    .update_busy_o (update_busy),
    .target_busy_o (target_busy)
  );
  always_ff @(posedge clk_i) begin
    quiet_q <= job_idle && port_idle && !step_rsp.busy && !results_rsp.td_memory_busy;
  end

  jd_learner_extents #(.NetMax (NetMax)) u_extents (
    .clk_i,
    .words_i        (words),
    .networks_i     (networks),
    .record_beats_i (read_req[2].cmd_beats),
    .result_words_i (forward.n_out),
    .beyond_o       (array_beyond),
    .word_o         (array_word)
  );

  // ------------------------------------------------------------------ records and results
  logic               frame_valid, frame_ready, scalars_valid, scalars_parity;
  logic [SampleW-1:0] scalars_sample;
  logic [PipeW-1:0]   frame_pipe;
  logic [15:0]        frame_row;
  logic [P-1:0]       frame_mask;
  logic [P-1:0][31:0] frame_data;
  scalars_t           record_scalars;
  jd_learner_fetch #(
    .P (P), .BMax (BMax), .SampleW (SampleW), .DP (DP), .ActorCritic (ActorCritic)
  ) u_fetch (
    .clk_i, .rst_ni,
    .linear_i           (infers),
    .list_i             (words[0][8]),
    .data_base_i        ({words[5][7:0], words[4]}),
    .stride_i           (words[6]),
    .limit_i            (words[7]),
    .list_base_i        ({words[11][7:0], words[10]}),
    .plan_i             (plan),
    .forward_i          (forward),
    .req_i              (fetch_req),
    .rsp_o              (fetch_rsp),
    .smp_valid_i        (smp_valid_i),
    .smp_ready_o        (smp_ready_o),
    .smp_data_i         (smp_data_i),
    .smp_last_i         (smp_last_i),
    .list_req_o         (list_req),
    .list_rsp_i         (list_rsp),
    .read_req_o         (read_req[2]),
    .read_rsp_i         (read_rsp),
    .frame_valid_o      (frame_valid),
    .frame_ready_i      (frame_ready),
    .frame_pipe_o       (frame_pipe),
    .frame_row_o        (frame_row),
    .frame_mask_o       (frame_mask),
    .frame_data_o       (frame_data),
    .scalars_valid_o    (scalars_valid),
    .scalars_parity_o   (scalars_parity),
    .scalars_sample_o   (scalars_sample),
    .scalars_o          (record_scalars)
  );

  logic               delta_valid;
  logic [SampleW-1:0] delta_sample;
  logic [31:0]        delta;
  logic               result_read;
  logic [PipeW-1:0]   result_pipe;
  logic [15:0]        result_row;
  logic [P-1:0][31:0] result_data;
  jd_learner_results #(
    .DP (DP), .P (P), .BMax (BMax), .MulLatency (MulLatency), .AddLatency (AddLatency)
  ) u_results (
    .clk_i, .rst_ni,
    .link_clear_i   (soft_reset || link_clear_i),
    .words_i        (words),
    .plan_i         (plan),
    .forward_i      (forward),
    .step_i         (step_req),
    .req_i          (results_req),
    .rsp_o          (results_rsp),
    .td_mean_o      (td_mean),
    .td_max_o       (td_max),
    .delta_valid_i  (delta_valid),
    .delta_sample_i (delta_sample),
    .delta_i        (delta),
    .result_read_o  (result_read),
    .result_pipe_o  (result_pipe),
    .result_row_o   (result_row),
    .result_data_i  (result_data),
    .tde_valid_o    (tde_valid_o),
    .tde_ready_i    (tde_ready_i),
    .tde_data_o     (tde_data_o),
    .write_req_o    (write_req[2:1]),
    .write_rsp_i    (write_rsp)
  );

  // ------------------------------------------------------------------ pipelines
  step_t      step;
  logic [7:0] action_vector_q;               // of the program
  always_ff @(posedge clk_i) action_vector_q <= plan.action_words != '0 ? plan.action : NO_VECTOR;
  always_comb begin
    step               = '0;
    step.inverse_batch = words[8];
    step.batch         = step_req.batch;
    step.parity        = step_req.parity;
    step.stages        = infers ? forward.behind
                         : plan.phases && !step_req.phase ? plan.second : plan.stages;
    step.first         = infers ? forward.first : step_req.phase ? plan.second : '0;
    step.due           = step_req.due || infers;
    step.action        = action_vector_q;
    step.noise         = plan.noise;
    step.frame_rows    = plan.frame_rows;
    step.state_rows    = plan.state_rows;
    step.next_state    = plan.next_state;
    step.state         = plan.state;
    for (int unsigned n = 0; n < NetMax; n++) begin
      step.target_row[n]  = banks[n] ? networks[n].rows << 1 : networks[n].rows;
      step.target_bias[n] = banks[n] ? networks[n].biases << 1 : networks[n].biases;
    end
  end

  logic                weight_valid, weight_gradient, gradient_read, gradient_valid;
  logic                parameters_move;
  place_t              weight_place, gradient_place;
  logic [LW-1:0]       weight_mask;
  logic [LW-1:0][31:0] weight_data, gradient_data;
  logic [STAGE_L-1:0]  bad_stage;
  logic [SampleW-1:0]  bad_sample, index_sample;
  assign step_rsp.nonfinite_stage  = 8'(bad_stage);
  assign step_rsp.nonfinite_sample = 16'(bad_sample);
  assign step_rsp.index_sample     = 16'(index_sample);
  jd_learner_pipes #(
    .DP (DP), .P (P), .OB (OB), .GI (GI), .LW (LW), .MulLatency (MulLatency),
    .AddLatency (AddLatency), .WRows (WRows), .ARows (ARows), .BMax (BMax), .DMax (DMax),
    .ActorCritic (ActorCritic), .NTU (NTU)
  ) u_pipes (
    .clk_i, .rst_ni,
    .abort_i               (step_req.drop),
    .stage_write_i         (stage_write),
    .stage_index_i         (stage_index),
    .stage_data_i          (stage),
    .step_start_i          (step_req.start),
    .step_i                (step),
    .update_busy_i         (update_busy),
    .target_busy_i         (target_busy),
    .step_busy_o           (step_rsp.busy),
    .step_done_o           (step_rsp.done),
    .step_nonfinite_o      (step_rsp.nonfinite),
    .nonfinite_stage_o     (bad_stage),
    .nonfinite_sample_o    (bad_sample),
    .step_index_o          (step_rsp.index),
    .index_sample_o        (index_sample),
    .frame_valid_i         (frame_valid),
    .frame_ready_o         (frame_ready),
    .frame_pipe_i          (frame_pipe),
    .frame_row_i           (frame_row),
    .frame_mask_i          (frame_mask),
    .frame_data_i          (frame_data),
    .scalars_valid_i       (scalars_valid),
    .scalars_parity_i      (scalars_parity),
    .scalars_sample_i      (scalars_sample),
    .scalars_i             (record_scalars),
    .weight_valid_i        (weight_valid),
    .weight_gradient_i     (weight_gradient),
    .weight_place_i        (weight_place),
    .weight_mask_i         (weight_mask),
    .weight_data_i         (weight_data),
    .gradient_alone_i      (gradient_alone),
    .gradient_read_i       (gradient_read),
    .gradient_place_i      (gradient_place),
    .gradient_valid_o      (gradient_valid),
    .gradient_data_o       (gradient_data),
    .delta_valid_o         (delta_valid),
    .delta_sample_o        (delta_sample),
    .delta_o               (delta),
    .result_read_i         (result_read),
    .result_pipe_i         (result_pipe),
    .result_row_i          (result_row),
    .result_data_o         (result_data),
    .tensor_busy_o         (tensor_busy),
    .stall_data_o          (stall_data),
    .stall_token_o         (stall_token),
    .stall_update_o        (stall_update)
  );

  // ------------------------------------------------------------------ parameters
  jd_learner_parameters #(
    .DP (DP), .P (P), .OB (OB), .LW (LW), .MulLatency (MulLatency), .AddLatency (AddLatency),
    .DivLatency (DivLatency), .SqrtLatency (SqrtLatency), .NetMax (NetMax), .WRows (WRows),
    .ActorCritic (ActorCritic)
  ) u_parameters (
    .clk_i, .rst_ni,
    .words_i           (words),
    .infers_i          (infers),
    .stop_i            (soft_reset || timeout),
    .due_i             (step_req.due),
    .req_i             (parameters_req),
    .rsp_o             (parameters_rsp),
    .plan_i            (plan),
    .networks_i        (networks),
    .slots_i           (slots),
    .banks_i           (banks),
    .forward_o         (forward),
    .owns_port_i       (image_owns),
    .read_req_o        (read_req[1]),
    .read_rsp_i        (read_rsp),
    .write_req_o       (write_req[0]),
    .write_rsp_i       (write_rsp),
    .weight_valid_o    (weight_valid),
    .weight_gradient_o (weight_gradient),
    .weight_place_o    (weight_place),
    .weight_mask_o     (weight_mask),
    .weight_data_o     (weight_data),
    .gradient_read_o   (gradient_read),
    .gradient_place_o  (gradient_place),
    .gradient_valid_i  (gradient_valid),
    .gradient_data_i   (gradient_data),
    .moves_o           (parameters_move)
  );

  // ------------------------------------------------------------------ memory
  jd_learner_port u_port (
    .clk_i, .rst_ni,
    .program_busy_i (program_start || program_busy),
    .image_busy_i   (parameters_req.image_start || parameters_rsp.image_busy),
    .infer_busy_i   (results_req.infer_start || results_rsp.infer_busy),
    .fetch_busy_i   (fetch_rsp.busy),
    .td_busy_i      (results_rsp.td_memory_busy),
    .image_owns_o   (image_owns),
    .idle_o         (port_idle),
    .beat_o         (port_beat),
    .read_req_i     (read_req),
    .read_rsp_o     (read_rsp),
    .list_req_i     (list_req),
    .list_rsp_o     (list_rsp),
    .write_req_i    (write_req),
    .write_rsp_o    (write_rsp),
    .client_req_o   (client_req),
    .client_rsp_i   (client_rsp)
  );

  always_ff @(posedge clk_i) begin
    progress_q <= tensor_busy || parameters_move || delta_valid
                  || (mem_rsp_i.read.rvalid && mem_req_o.read.rready) || port_beat
                  || (mem_req_o.write.wvalid && mem_rsp_i.write.wready)
                  || (mem_rsp_i.write.bvalid && mem_req_o.write.bready)
                  || (tde_valid_o && tde_ready_i);
  end

  // ------------------------------------------------------------------ checks
  `JD_ASSERT_IF(FrameWritten_A, step_req.start && !step_req.phase, !frame_valid || frame_ready)
  `JD_ASSERT_IF(TdeEmpty_A, soft_reset && quiet_q, !tde_valid_o)
  `JD_ASSERT_IF(BatchFits_A, step_req.start || fetch_req.start,
                32'(step_req.batch) <= BMax && 32'(fetch_req.batch) <= BMax)
endmodule : jd_learner_top
