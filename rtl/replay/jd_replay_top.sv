// SPDX-License-Identifier: Apache-2.0
//
// The replay engine: a prioritized replay memory with three rings of jobs and two streams.
//
//   page ---> jd_engine_frame, jd_replay_state: rings, registers, the memory port
//   ring 0 -> jd_replay_batches -+-> jd_replay_sequencer -> jd_replay_tree -+-> jd_replay_batches
//   ring 1 -> jd_replay_host ----+                                          +-> jd_replay_host
//   ring 2 -> jd_replay_gather: rows of the data storage, memory to memory
//
//   jd_replay_batches has SMP, TDE and arrays in memory, jd_replay_host has arrays in memory.
//
// Streams  axil_*: the page. mem_*: memory. smp_*: samples to the learner. tde_*: TD errors and
//          progress from it. link_clear_o: the words in the links are invalid; link_clear_i: the
//          same from the other end.
// Timing   docs/replay.md. A soft reset ends when the lanes and the memory port are empty.
// Numbers  docs/replay.md
// Source   onchip_replay 3.1. Golden model: models/replay/engine.py, ReplayEngine.
`include "jd_assert.svh"
module jd_replay_top
  import jd_axi_pkg::*;
  import jd_replay_pkg::*;
  import jd_replay_map_pkg::*;
  import jd_replay_job_pkg::*;
#(
  parameter int unsigned KLog2     = 4,   // log2 of the fan-out, 1..6
  parameter int unsigned NLog2     = 16,  // log2 of the most leaves, 2..20
  parameter int unsigned LeafW     = 32,  // bits of a leaf, 8..32
  parameter int unsigned BatchLog2 = 9,   // log2 of the largest batch, 3..10
  parameter int unsigned LatLut    = 1,   // read latency of LUT RAM, 1..6
  parameter int unsigned LatBram   = 2,   // of block RAM, 1..6
  parameter int unsigned LatUram   = 4,   // of UltraRAM, 1..6
  parameter int unsigned LatMul    = 6,   // of the multiplier, 3..8
  parameter bit          Sequential = 1'b0  // the published tree, one child per clock
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  output logic         irq_o,
  input  axil_req_t    axil_req_i,
  output axil_rsp_t    axil_rsp_o,
  output axi_req_t     mem_req_o,
  input  axi_rsp_t     mem_rsp_i,
  output logic         smp_valid_o,
  input  logic         smp_ready_i,
  output logic [127:0] smp_data_o,
  output logic         smp_last_o,
  input  logic         tde_valid_i,
  output logic         tde_ready_o,
  input  logic [63:0]  tde_data_i,
  output logic         link_clear_o,
  input  logic         link_clear_i
);
  if (NLog2 < 2 || NLog2 > INDEX_W || LeafW < 8 || LeafW > LEAF_MAX_W) begin : gen_bad_tree
    $fatal(1, "jd_replay_top: NLog2=%0d, want 2..20, LeafW=%0d, want 8..32", NLog2, LeafW);
  end
  if (BatchLog2 < 3 || BatchLog2 > SLOT_W) begin : gen_bad_batch
    $fatal(1, "jd_replay_top: BatchLog2=%0d, want 3..10", BatchLog2);
  end
  localparam int unsigned RINGS   = 3;
  localparam int unsigned CLIENTS = 4;   // of the memory port: rings 0, 1, two of ring 2

  // ---- The frame: rings, register access, memory port
  register_req_t          register_req;
  register_rsp_t          register_rsp;
  axi_req_t [CLIENTS-1:0] client_req;
  axi_rsp_t [CLIENTS-1:0] client_rsp;
  logic [RINGS-1:0]        job_valid, job_ready, end_valid, end_ready, timeout;
  logic [RINGS-1:0][511:0] job_descriptor;
  logic [RINGS-1:0][7:0]   end_error;
  logic [RINGS-1:0][31:0]  end_count, end_info0, end_info1;
  logic                    soft_reset, quiet_q, stray_error;
  logic                    busy, stall_mem, stall_in, stall_out, progress;

  jd_engine_frame #(
    .Id       (ENGINE_ID),
    .Version  (ENGINE_VERSION),
    .IdleOnly (IDLE_ONLY),
    .Rings    (RINGS),
    .Clients  (CLIENTS)
  ) u_frame (
    .clk_i, .rst_ni, .time_i, .irq_o,
    .axil_req_i, .axil_rsp_o, .mem_req_o, .mem_rsp_i,
    .register_req_o   (register_req),
    .register_rsp_i   (register_rsp),
    .client_req_i     (client_req),
    .client_rsp_o     (client_rsp),
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_descriptor_o (job_descriptor),
    .job_number_o     (),
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
    .error_valid_i    (stray_error),
    .error_code_i     (E_STREAM),
    .event_i          (1'b0),
    .busy_i           (busy),
    .stall_mem_i      (stall_mem),
    .stall_in_i       (stall_in),
    .stall_out_i      (stall_out),
    .progress_i       (progress),
    .timeout_o        (timeout),
    .idle_o           ()
  );

  // ---- Registers
  config_t          configuration;
  logic [31:0]      beta, beta_value;
  logic             beta_set, beta_step, acknowledge;
  tree_load_t       load;
  tree_state_t      tree;
  logic             delivered, duplicate, nonfinite;
  logic [SLOT_W:0]  size;              // of ring 0's batches
  logic             s_valid, sampled, sampled_train, sampled_host;
  logic             u_valid, updated, updated_tde, updated_host;
  sample_request_t  s_request;
  sample_response_t s_response;
  update_request_t  u_request;
  update_response_t u_response;
  jd_replay_state #(
    .KLog2 (KLog2), .NLog2 (NLog2), .LeafW (LeafW), .BatchLog2 (BatchLog2),
    .Sequential (Sequential)
  ) u_state (
    .clk_i, .rst_ni,
    .register_req_i    (register_req),
    .register_rsp_o    (register_rsp),
    .config_o          (configuration),
    .beta_o            (beta),
    .beta_set_i        (beta_set),
    .beta_i            (beta_value),
    .beta_step_i       (beta_step),
    .acknowledge_o     (acknowledge),
    .load_o            (load),
    .tree_i            (tree),
    .batch_i           (delivered),
    .batch_size_i      (size),
    .sampled_i         (sampled_host && !s_response.empty),
    .duplicate_i       (duplicate),
    .updated_i         (updated),
    .update_response_i (u_response),
    .nonfinite_i       (nonfinite)
  );

  // ---- The tree, and whose its answers are
  logic        clear, check_start, tree_ready, tree_idle, order_valid;
  tree_check_t check;
  order_t      order;
  jd_replay_tree #(
    .KLog2 (KLog2), .NLog2 (NLog2), .LeafW (LeafW), .SlotsLog2 (BatchLog2), .LatLut (LatLut),
    .LatBram (LatBram), .LatUram (LatUram), .LatMul (LatMul), .Sequential (Sequential)
  ) u_tree (
    .clk_i, .rst_ni,
    .clear_i        (clear),
    .clear_leaves_i (configuration.leaves[INDEX_W:0]),
    .clear_pmax_i   (configuration.pinit[LeafW-1:0]),
    .check_start_i  (check_start),
    .check_o        (check),
    .ready_o        (tree_ready),
    .s_valid_i      (s_valid),
    .s_request_i    (s_request),
    .s_valid_o      (sampled),
    .s_response_o   (s_response),
    .u_valid_i      (u_valid),
    .u_request_i    (u_request),
    .u_valid_o      (updated),
    .u_response_o   (u_response),
    .order_valid_o  (order_valid),
    .order_o        (order),
    .load_i         (load),
    .state_o        (tree),
    .idle_o         (tree_idle)
  );
  batch_tag_t sample_tag;
  host_tag_t  update_tag;
  assign sample_tag    = s_response.tag;
  assign update_tag    = u_response.tag;
  assign sampled_train = sampled && !sample_tag.host;
  assign sampled_host  = sampled && sample_tag.host;
  assign updated_tde   = updated && !update_tag.host;
  assign updated_host  = updated && update_tag.host;

  // ---- Grants and conversions
  logic            train_valid, train_ready, host_valid, host_ready;
  sample_request_t train_request, host_request;
  logic            tde_op_valid, tde_op_ready, op_valid, op_ready, sequencer_idle, lookup_en;
  lane_op_t        tde_op, op;
  lookup_t         lookup;
  found_t          found;
  jd_replay_sequencer #(
    .LeafW (LeafW)
  ) u_sequencer (
    .clk_i, .rst_ni,
    .ready_i         (tree_ready),
    .config_i        (configuration),
    .train_valid_i   (train_valid),
    .train_ready_o   (train_ready),
    .train_request_i (train_request),
    .host_valid_i    (host_valid),
    .host_ready_o    (host_ready),
    .host_request_i  (host_request),
    .s_valid_o       (s_valid),
    .s_request_o     (s_request),
    .tde_valid_i     (tde_op_valid),
    .tde_ready_o     (tde_op_ready),
    .tde_op_i        (tde_op),
    .op_valid_i      (op_valid),
    .op_ready_o      (op_ready),
    .op_i            (op),
    .lookup_en_o     (lookup_en),
    .lookup_o        (lookup),
    .found_i         (found),
    .u_valid_o       (u_valid),
    .u_request_o     (u_request),
    .nonfinite_o     (nonfinite),
    .idle_o          (sequencer_idle)
  );

  // ---- Ring 0, SMP and TDE
  logic  train_busy, train_waiting, train_starved, train_idle, updates_idle, lanes_idle;
  logic  hold, mark, fetched;
  last_t last;
  assign lanes_idle   = tree_idle && sequencer_idle && updates_idle;
  assign link_clear_o = soft_reset;
  jd_replay_batches #(
    .BatchLog2 (BatchLog2)
  ) u_batches (
    .clk_i, .rst_ni,
    .soft_reset_i      (soft_reset),
    .link_clear_i,
    .clear_i           (clear),
    .hold_i            (hold),
    .cleared_i         (tree.leaves != '0),
    .relaxed_i         (configuration.relaxed),
    .no_fetch_i        (configuration.no_fetch),
    .beta_i            (beta),
    .beta_set_o        (beta_set),
    .beta_o            (beta_value),
    .beta_step_o       (beta_step),
    .job_valid_i       (job_valid[0]),
    .job_ready_o       (job_ready[0]),
    .job_descriptor_i  (job_descriptor[0]),
    .timeout_i         (timeout[0]),
    .end_valid_o       (end_valid[0]),
    .end_ready_i       (end_ready[0]),
    .end_error_o       (end_error[0]),
    .end_count_o       (end_count[0]),
    .end_info0_o       (end_info0[0]),
    .end_info1_o       (end_info1[0]),
    .busy_o            (train_busy),
    .waiting_o         (train_waiting),
    .starved_o         (train_starved),
    .idle_o            (train_idle),
    .stray_error_o     (stray_error),
    .sample_valid_o    (train_valid),
    .sample_ready_i    (train_ready),
    .sample_request_o  (train_request),
    .sampled_i         (sampled_train),
    .sample_response_i (s_response),
    .order_valid_i     (order_valid),
    .order_i           (order),
    .delivered_o       (delivered),
    .size_o            (size),
    .duplicate_o       (duplicate),
    .op_valid_o        (tde_op_valid),
    .op_ready_i        (tde_op_ready),
    .op_o              (tde_op),
    .updated_i         (updated_tde),
    .updates_idle_o    (updates_idle),
    .lookup_en_i       (lookup_en),
    .lookup_i          (lookup),
    .found_o           (found),
    .last_o            (last),
    .acknowledge_i     (acknowledge),
    .mark_i            (mark),
    .fetched_o         (fetched),
    .smp_valid_o, .smp_ready_i, .smp_data_o, .smp_last_o,
    .tde_valid_i, .tde_ready_o, .tde_data_i,
    .mem_req_o         (client_req[0]),
    .mem_rsp_i         (client_rsp[0])
  );

  // ---- Ring 1
  logic host_busy, fetching, host_waiting, host_idle;
  jd_replay_host #(
    .NLog2 (NLog2), .LeafW (LeafW)
  ) u_host (
    .clk_i, .rst_ni,
    .soft_reset_i      (soft_reset),
    .job_valid_i       (job_valid[1]),
    .job_ready_o       (job_ready[1]),
    .job_descriptor_i  (job_descriptor[1]),
    .timeout_i         (timeout[1]),
    .end_valid_o       (end_valid[1]),
    .end_ready_i       (end_ready[1]),
    .end_error_o       (end_error[1]),
    .end_count_o       (end_count[1]),
    .end_info0_o       (end_info0[1]),
    .end_info1_o       (end_info1[1]),
    .busy_o            (host_busy),
    .fetching_o        (fetching),
    .training_busy_i   (train_busy || job_valid[0]),
    .quiet_i           (lanes_idle),
    .hold_o            (hold),
    .clear_o           (clear),
    .check_start_o     (check_start),
    .check_i           (check),
    .config_i          (configuration),
    .tree_i            (tree),
    .last_i            (last),
    .mark_o            (mark),
    .fetched_i         (fetched),
    .sample_valid_o    (host_valid),
    .sample_ready_i    (host_ready),
    .sample_request_o  (host_request),
    .sampled_i         (sampled_host),
    .sample_response_i (s_response),
    .op_valid_o        (op_valid),
    .op_ready_i        (op_ready),
    .op_o              (op),
    .updated_i         (updated_host),
    .update_response_i (u_response),
    .waiting_o         (host_waiting),
    .idle_o            (host_idle),
    .mem_req_o         (client_req[1]),
    .mem_rsp_i         (client_rsp[1])
  );

  // ---- Ring 2
  logic gather_busy, gather_waiting, gather_idle;
  jd_replay_gather u_gather (
    .clk_i, .rst_ni,
    .soft_reset_i     (soft_reset),
    .job_valid_i      (job_valid[2]),
    .job_ready_o      (job_ready[2]),
    .job_descriptor_i (job_descriptor[2]),
    .timeout_i        (timeout[2]),
    .end_valid_o      (end_valid[2]),
    .end_ready_i      (end_ready[2]),
    .end_error_o      (end_error[2]),
    .end_count_o      (end_count[2]),
    .end_info0_o      (end_info0[2]),
    .end_info1_o      (end_info1[2]),
    .busy_o           (gather_busy),
    .waiting_o        (gather_waiting),
    .leaves_i         (tree.leaves),
    .idle_o           (gather_idle),
    .index_req_o      (client_req[2].read),
    .index_rsp_i      (client_rsp[2].read),
    .row_req_o        (client_req[3]),
    .row_rsp_i        (client_rsp[3])
  );
  assign client_req[2].write = no_write();

  // ---- Status
  always_ff @(posedge clk_i) begin
    quiet_q <= !train_busy && !host_busy && !gather_busy && lanes_idle && train_idle && host_idle &&
               gather_idle;
  end
  assign busy      = s_valid || u_valid;
  assign stall_mem = gather_waiting || host_waiting || train_starved;
  assign stall_in  = train_waiting || fetching;
  assign stall_out = smp_valid_o && !smp_ready_i;
  always_ff @(posedge clk_i) begin
    progress <= busy || sampled || updated || hold || (smp_valid_o && smp_ready_i) ||
                (tde_valid_i && tde_ready_o) ||
                (mem_rsp_i.read.rvalid && mem_req_o.read.rready) ||
                (mem_req_o.write.wvalid && mem_rsp_i.write.wready) ||
                (mem_rsp_i.write.bvalid && mem_req_o.write.bready);
  end

  `JD_ASSERT_IF(SmpEmpty_A, soft_reset && quiet_q, !smp_valid_o)
endmodule : jd_replay_top
