// SPDX-License-Identifier: Apache-2.0
//
// The replay engine: a prioritized replay memory with three rings of jobs and two streams.
//
//   ring 0 -> jd_replay_training -+-> jd_replay_sequencer -> jd_replay_core --+--> jd_replay_memo
//   ring 1 -> jd_replay_host -----+                                           |          |
//   TDE ----> jd_replay_errors ---+      memory <- jd_axi_array_writer <------+   jd_replay_results
//                                                                                 -> SMP, memory
//   ring 2 -> jd_replay_gather: rows of the data storage, memory to memory
//
// Streams  axil_*: the page. mem_*: memory. smp_*: samples to the learner. tde_*: TD errors and
//          progress from it. link_clear_o: what is in the links is void; link_clear_i: the same from
//          the other end.
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
    .clk_i,
    .rst_ni,
    .time_i,
    .irq_o,
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

  logic [31:0]        config_leaves, eps, pmin, pclip, largest, pinit, beta, beta_value;
  logic [15:0]        alpha;
  logic [4:0]         fraction_bits;
  logic               relaxed, no_fetch, beta_set, beta_step, acknowledge;
  logic               load_count, load_pointer, load_pmax, seed_load;
  logic [31:0]        load_value;
  logic [255:0]       seed_write, seed;
  logic [INDEX_W:0]   leaves, count, reserved;
  logic [INDEX_W-1:0] pointer;
  logic [LeafW-1:0]   pmax;
  logic [TOTAL_W-1:0] total;
  logic               duplicate, nonfinite, delivered;
  logic [SLOT_W:0]    size;            // of ring 0's batches
  logic               s_valid, sampled, sampled_train, sampled_host;
  logic               u_valid, updated, updated_host;
  sample_request_t    s_request;
  sample_response_t   s_response;
  update_request_t    u_request;
  update_response_t   u_response;

  jd_replay_state #(
    .KLog2    (KLog2),
    .NLog2    (NLog2),
    .LeafW    (LeafW),
    .BatchLog2(BatchLog2),
    .Sequential(Sequential)
  ) u_state (
    .clk_i,
    .rst_ni,
    .register_req_i    (register_req),
    .register_rsp_o    (register_rsp),
    .leaves_o          (config_leaves),
    .alpha_o           (alpha),
    .fraction_bits_o   (fraction_bits),
    .relaxed_o         (relaxed),
    .no_fetch_o        (no_fetch),
    .eps_o             (eps),
    .pmin_o            (pmin),
    .pclip_o           (pclip),
    .largest_o         (largest),
    .pinit_o           (pinit),
    .beta_o            (beta),
    .beta_set_i        (beta_set),
    .beta_i            (beta_value),
    .beta_step_i       (beta_step),
    .acknowledge_o     (acknowledge),
    .load_count_o      (load_count),
    .load_pointer_o    (load_pointer),
    .load_pmax_o       (load_pmax),
    .load_value_o      (load_value),
    .seed_load_o       (seed_load),
    .seed_o            (seed_write),
    .seed_i            (seed),
    .count_i           (count),
    .pointer_i         (pointer),
    .reserved_i        (reserved),
    .pmax_i            (pmax),
    .total_i           (total),
    .batch_i           (delivered),
    .batch_size_i      (size),
    .sampled_i         (sampled_host && !s_response.empty),
    .duplicate_i       (duplicate),
    .updated_i         (updated),
    .update_response_i (u_response),
    .nonfinite_i       (nonfinite)
  );

  // ---- The tree
  logic clear, core_idle, order_valid;
  logic check_start, check_bad, core_ready;
  logic [4:0]         check_level;
  logic [INDEX_W-1:0] check_place;
  logic [31:0]        check_node;
  logic [TAG_W-1:0]   order_tag;
  logic [INDEX_W-1:0] order_head;
  logic [31:0]        order_moves;
  if (Sequential) begin : gen_sequential
    jd_replay_core_sequential #(
      .KLog2    (KLog2),
      .NLog2    (NLog2),
      .LeafW    (LeafW),
      .SlotsLog2(BatchLog2),
      .LatLut   (LatLut),
      .LatBram  (LatBram),
      .LatUram  (LatUram),
      .LatMul   (LatMul)
    ) u_core (
      .clk_i,
      .rst_ni,
      .clear_i        (clear),
      .clear_leaves_i (config_leaves[INDEX_W:0]),
      .clear_pmax_i   (pinit[LeafW-1:0]),
      .clear_busy_o   (),
      .check_start_i  (check_start),
      .check_bad_o    (check_bad),
      .check_level_o  (check_level),
      .check_node_o   (check_place),
      .ready_o        (core_ready),
      .s_valid_i      (s_valid),
      .s_request_i    (s_request),
      .s_valid_o      (sampled),
      .s_response_o   (s_response),
      .u_valid_i      (u_valid),
      .u_request_i    (u_request),
      .u_valid_o      (updated),
      .u_response_o   (u_response),
      .order_valid_o  (order_valid),
      .order_tag_o    (order_tag),
      .order_head_o   (order_head),
      .order_moves_o  (order_moves),
      .leaves_o       (leaves),
      .count_o        (count),
      .pointer_o      (pointer),
      .reserved_o     (reserved),
      .moves_o        (),
      .pmax_o         (pmax),
      .load_count_i   (load_count),
      .load_pointer_i (load_pointer),
      .load_pmax_i    (load_pmax),
      .load_value_i   (load_value),
      .seed_load_i    (seed_load),
      .seed_i         (seed_write),
      .seed_o         (seed),
      .total_o        (total),
      .idle_o         (core_idle)
    );
  end else begin : gen_pipelined
    jd_replay_core #(
      .KLog2    (KLog2),
      .NLog2    (NLog2),
      .LeafW    (LeafW),
      .SlotsLog2(BatchLog2),
      .LatLut   (LatLut),
      .LatBram  (LatBram),
      .LatUram  (LatUram),
      .LatMul   (LatMul)
    ) u_core (
      .clk_i,
      .rst_ni,
      .clear_i        (clear),
      .clear_leaves_i (config_leaves[INDEX_W:0]),
      .clear_pmax_i   (pinit[LeafW-1:0]),
      .clear_busy_o   (),
      .check_start_i  (check_start),
      .check_bad_o    (check_bad),
      .check_level_o  (check_level),
      .check_node_o   (check_place),
      .s_valid_i      (s_valid),
      .s_request_i    (s_request),
      .s_valid_o      (sampled),
      .s_response_o   (s_response),
      .u_valid_i      (u_valid),
      .u_request_i    (u_request),
      .u_valid_o      (updated),
      .u_response_o   (u_response),
      .order_valid_o  (order_valid),
      .order_tag_o    (order_tag),
      .order_head_o   (order_head),
      .order_moves_o  (order_moves),
      .leaves_o       (leaves),
      .count_o        (count),
      .pointer_o      (pointer),
      .reserved_o     (reserved),
      .moves_o        (),
      .pmax_o         (pmax),
      .load_count_i   (load_count),
      .load_pointer_i (load_pointer),
      .load_pmax_i    (load_pmax),
      .load_value_i   (load_value),
      .seed_load_i    (seed_load),
      .seed_i         (seed_write),
      .seed_o         (seed),
      .total_o        (total),
      .idle_o         (core_idle)
    );
    assign core_ready = 1'b1;
  end
  assign check_node = {3'd0, check_level, 4'd0, check_place};
  host_tag_t  update_tag;
  batch_tag_t sample_tag, first_tag;
  assign sample_tag    = s_response.tag;
  assign update_tag    = u_response.tag;
  assign first_tag     = order_tag;
  assign sampled_train = sampled && !sample_tag.host;
  assign sampled_host  = sampled && sample_tag.host;
  assign updated_host  = updated && update_tag.host;

  // ---- Sequencer
  logic               train_valid, train_ready, host_valid, host_ready;
  sample_request_t    train_request, host_request;
  logic               tde_op_valid, tde_op_ready, op_valid, op_ready, sequencer_idle;
  lane_op_t           tde_op, op;
  logic               lookup_en;
  logic [BATCH_W-1:0] lookup_batch;
  logic [PLACE_W-1:0] lookup_place;
  logic [INDEX_W-1:0] lookup_index, lookup_head;
  logic [31:0]        lookup_moves;
  jd_replay_sequencer #(
    .LeafW(LeafW)
  ) u_sequencer (
    .clk_i,
    .rst_ni,
    .ready_i         (core_ready),
    .alpha_i         (alpha),
    .fraction_bits_i (fraction_bits),
    .eps_i           (eps),
    .smallest_i      (pmin),
    .largest_i       (largest),
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
    .lookup_batch_o  (lookup_batch),
    .lookup_place_o  (lookup_place),
    .lookup_index_i  (lookup_index),
    .lookup_head_i   (lookup_head),
    .lookup_moves_i  (lookup_moves),
    .u_valid_o       (u_valid),
    .u_request_o     (u_request),
    .nonfinite_o     (nonfinite),
    .idle_o          (sequencer_idle)
  );

  // An update by TDE counts as in the lane from here on.
  logic     error_op_valid, error_op_ready;
  lane_op_t error_op;
  jd_stream_skid #(
    .Width($bits(lane_op_t))
  ) u_tde_ops (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (error_op_valid),
    .in_ready_o  (error_op_ready),
    .in_data_i   (error_op),
    .out_valid_o (tde_op_valid),
    .out_ready_i (tde_op_ready),
    .out_data_o  (tde_op)
  );

  // Updates by TDE between jd_replay_errors and the order point.
  logic [7:0] tde_flight_q;
  logic       tde_idle_q;              // it is 0
  logic       tde_granted, tde_updated;
  assign tde_granted = error_op_valid && error_op_ready;
  assign tde_updated = updated && !update_tag.host;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tde_flight_q <= '0;
      tde_idle_q   <= 1'b1;
    end else if (tde_granted != tde_updated) begin
      tde_flight_q <= tde_granted ? tde_flight_q + 8'd1 : tde_flight_q - 8'd1;
      tde_idle_q   <= !tde_granted && tde_flight_q == 8'd1;
    end
  end

  // ---- Memo, TD errors
  logic                  begins, to_stream, to_memory, cancel, stored, room, closed, sent;
  logic [BATCH_W-1:0]    begin_batch, last_batch;
  logic [BATCH_W:0]      open;
  logic [PLACE_W-1:0]    begin_place, last_place, sent_place;
  logic                  last_valid, train_idle_q;
  logic [SLOT_W:0]       last_size;
  logic                  results_whole, results_empty, read_valid, read_en, read_empty;
  logic                  read_void;
  logic [INDEX_W-1:0]    read_index;
  logic [LEAF_MAX_W-1:0] read_priority, read_lowest;
  jd_replay_memo #(
    .BatchLog2(BatchLog2)
  ) u_memo (
    .clk_i,
    .rst_ni,
    .clear_i         (clear || (soft_reset && train_idle_q)),
    .size_i          (size),
    .begin_i         (begins),
    .begin_stream_i  (to_stream),
    .begin_batch_o   (begin_batch),
    .begin_place_o   (begin_place),
    .room_o          (room),
    .delivered_i     (delivered),
    .cancel_i        (cancel),
    .closed_i        (closed),
    .last_valid_o    (last_valid),
    .last_batch_o    (last_batch),
    .last_place_o    (last_place),
    .last_size_o     (last_size),
    .write_en_i      (sampled_train && !results_empty),
    .write_sample_i  (s_response),
    .order_valid_i   (order_valid && !first_tag.host && first_tag.first && !results_empty),
    .order_batch_i   (first_tag.batch),
    .order_head_i    (order_head),
    .order_moves_i   (order_moves),
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
    .lookup_en_i     (lookup_en),
    .lookup_batch_i  (lookup_batch),
    .lookup_place_i  (lookup_place),
    .lookup_index_o  (lookup_index),
    .lookup_head_o   (lookup_head),
    .lookup_moves_o  (lookup_moves)
  );

  logic hold, mark, fetched, stream_error, stream_error_taken;
  jd_replay_errors u_errors (
    .clk_i,
    .rst_ni,
    .clear_i        (clear || soft_reset),
    .drop_i         (soft_reset || link_clear_i),
    .hold_i         (hold),
    .tde_valid_i,
    .tde_ready_o,
    .tde_data_i,
    .begin_i        (begins),
    .begin_stream_i (to_stream),
    .begin_memory_i (to_memory),
    .begin_batch_i  (begin_batch),
    .begin_place_i  (begin_place),
    .size_i         (size),
    .delivered_i    (delivered),
    .cancel_i       (cancel),
    .stored_i       (stored),
    .sent_place_i   (sent_place),
    .open_o         (open),
    .closed_o       (closed),
    .acknowledge_i  (acknowledge),
    .no_fetch_i     (no_fetch),
    .mark_i         (mark),
    .fetched_o      (fetched),
    .error_o        (stream_error),
    .op_valid_o     (error_op_valid),
    .op_ready_i     (error_op_ready),
    .op_o           (error_op)
  );
  assign stray_error  = stream_error && !stream_error_taken;
  assign link_clear_o = soft_reset;

  // ---- Ring 0
  logic               train_busy, train_waiting;
  logic               x_start, x_abort, x_valid, x_ready, x_error, x_idle;
  logic [39:0]        x_address;
  logic               number_valid, number_ready, numbers_idle;
  logic [127:0]       number;
  logic [X_W-1:0]     x_data;
  logic [1:0]         x_response;
  logic               results_start, results_weights, results_stop, results_fail;
  logic               results_delivered, results_quiet, results_drained, results_stored;
  logic [7:0]         results_status;
  logic               t_write_start, t_write_flush, t_write_abort, t_write_error, t_write_idle;
  logic [39:0]        t_write_address;
  logic [1:0]         t_write_response;
  logic               t_word_valid, t_word_ready;
  logic [127:0]       t_word;
  jd_replay_training #(
    .BatchLog2(BatchLog2)
  ) u_training (
    .clk_i,
    .rst_ni,
    .soft_reset_i          (soft_reset),
    .hold_i                (hold),
    .cleared_i             (leaves != '0),
    .relaxed_i             (relaxed),
    .job_valid_i           (job_valid[0]),
    .job_ready_o           (job_ready[0]),
    .job_descriptor_i      (job_descriptor[0]),
    .timeout_i             (timeout[0]),
    .end_valid_o           (end_valid[0]),
    .end_ready_i           (end_ready[0]),
    .end_error_o           (end_error[0]),
    .end_count_o           (end_count[0]),
    .end_info0_o           (end_info0[0]),
    .end_info1_o           (end_info1[0]),
    .busy_o                (train_busy),
    .waiting_o             (train_waiting),
    .stream_error_i        (stream_error),
    .stream_error_taken_o  (stream_error_taken),
    .beta_set_o            (beta_set),
    .beta_o                (beta_value),
    .room_i                (room),
    .begin_batch_i         (begin_batch),
    .size_o                (size),
    .begin_o               (begins),
    .to_stream_o           (to_stream),
    .to_memory_o           (to_memory),
    .delivered_o           (delivered),
    .cancel_o              (cancel),
    .stored_o              (stored),
    .open_i                (open),
    .updates_idle_i        (tde_idle_q),
    .sample_valid_o        (train_valid),
    .sample_ready_i        (train_ready),
    .sample_request_o      (train_request),
    .sampled_i             (sampled_train),
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
    .write_start_o         (t_write_start),
    .write_address_o       (t_write_address),
    .write_flush_o         (t_write_flush),
    .write_abort_o         (t_write_abort),
    .write_error_i         (t_write_error),
    .write_response_i      (t_write_response),
    .write_idle_i          (t_write_idle)
  );
  always_ff @(posedge clk_i) train_idle_q <= !train_busy;

  jd_axi_array_reader #(
    .CountW (COUNT_W)
  ) u_numbers (
    .clk_i,
    .rst_ni,
    .start_i       (x_start),
    .address_i     (x_address),
    .count_i       (COUNT_W'(size)),
    .size_log2_i   (3'd3),
    .abort_i       (x_abort),
    .item_valid_o  (number_valid),
    .item_ready_i  (number_ready),
    .item_data_o   (number),
    .error_o       (x_error),
    .response_o    (x_response),
    .idle_o        (numbers_idle),
    .mem_req_o     (client_req[0].read),
    .mem_rsp_i     (client_rsp[0].read)
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

  jd_replay_results u_results (
    .clk_i,
    .rst_ni,
    .start_i         (results_start),
    .size_i          (size),
    .weights_i       (results_weights),
    .to_stream_i     (to_stream),
    .to_memory_i     (to_memory),
    .beta_i          (beta),
    .beta_step_o     (beta_step),
    .stop_i          (results_stop),
    .fail_i          (results_fail),
    .fail_status_i   (results_status),
    .link_clear_i    (soft_reset || link_clear_i),
    .sent_o          (sent),
    .delivered_o     (results_delivered),
    .empty_o         (results_empty),
    .quiet_o         (results_quiet),
    .drained_o       (results_drained),
    .stored_o        (results_stored),
    .duplicate_o     (duplicate),
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
    .word_valid_o    (t_word_valid),
    .word_ready_i    (t_word_ready),
    .word_data_o     (t_word)
  );

  jd_axi_array_writer u_train_writer (
    .clk_i,
    .rst_ni,
    .start_i         (t_write_start),
    .address_i       (t_write_address),
    .flush_i         (t_write_flush),
    .abort_i         (t_write_abort),
    .in_valid_i      (t_word_valid),
    .in_ready_o      (t_word_ready),
    .in_data_i       (t_word),
    .error_o         (t_write_error),
    .response_o      (t_write_response),
    .idle_o          (t_write_idle),
    .mem_req_o       (client_req[0].write),
    .mem_rsp_i       (client_rsp[0].write)
  );

  // ---- Ring 1
  logic               host_busy, fetching;
  logic               read_start, read_abort, item_valid, item_ready, read_error, read_idle;
  logic [39:0]        read_address;
  logic [COUNT_W-1:0] read_count;
  logic [2:0]         read_size_log2;
  logic [127:0]       item_data;
  logic [1:0]         read_response;
  logic               h_write_start, h_write_flush, h_write_abort, h_write_error, h_write_idle;
  logic [39:0]        h_write_address;
  logic [1:0]         h_write_response;
  logic               h_word_valid, h_word_ready;
  logic [127:0]       h_word;
  logic               lanes_idle;
  assign lanes_idle = core_idle && sequencer_idle && tde_idle_q;
  jd_replay_host #(
    .NLog2(NLog2),
    .LeafW(LeafW)
  ) u_host (
    .clk_i,
    .rst_ni,
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
    .check_bad_i       (check_bad),
    .check_node_i      (check_node),
    .config_leaves_i   (config_leaves),
    .config_pmin_i     (pmin),
    .config_pclip_i    (pclip),
    .config_pinit_i    (pinit),
    .leaves_i          (leaves),
    .pointer_i         (pointer),
    .reserved_i        (reserved),
    .last_valid_i      (last_valid),
    .last_batch_i      (last_batch),
    .last_place_i      (last_place),
    .last_size_i       (last_size),
    .mark_o            (mark),
    .fetched_i         (fetched),
    .read_start_o      (read_start),
    .read_abort_o      (read_abort),
    .read_address_o    (read_address),
    .read_count_o      (read_count),
    .read_size_log2_o  (read_size_log2),
    .item_valid_i      (item_valid),
    .item_ready_o      (item_ready),
    .item_data_i       (item_data),
    .read_error_i      (read_error),
    .read_response_i   (read_response),
    .read_idle_i       (read_idle),
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
    .write_start_o     (h_write_start),
    .write_address_o   (h_write_address),
    .write_flush_o     (h_write_flush),
    .write_abort_o     (h_write_abort),
    .word_valid_o      (h_word_valid),
    .word_ready_i      (h_word_ready),
    .word_data_o       (h_word),
    .write_error_i     (h_write_error),
    .write_response_i  (h_write_response),
    .write_idle_i      (h_write_idle)
  );

  jd_axi_array_reader #(
    .CountW (COUNT_W)
  ) u_items (
    .clk_i,
    .rst_ni,
    .start_i       (read_start),
    .address_i     (read_address),
    .count_i       (read_count),
    .size_log2_i   (read_size_log2),
    .abort_i       (read_abort),
    .item_valid_o  (item_valid),
    .item_ready_i  (item_ready),
    .item_data_o   (item_data),
    .error_o       (read_error),
    .response_o    (read_response),
    .idle_o        (read_idle),
    .mem_req_o     (client_req[1].read),
    .mem_rsp_i     (client_rsp[1].read)
  );

  jd_axi_array_writer u_host_writer (
    .clk_i,
    .rst_ni,
    .start_i         (h_write_start),
    .address_i       (h_write_address),
    .flush_i         (h_write_flush),
    .abort_i         (h_write_abort),
    .in_valid_i      (h_word_valid),
    .in_ready_o      (h_word_ready),
    .in_data_i       (h_word),
    .error_o         (h_write_error),
    .response_o      (h_write_response),
    .idle_o          (h_write_idle),
    .mem_req_o       (client_req[1].write),
    .mem_rsp_i       (client_rsp[1].write)
  );

  // ---- Ring 2
  logic gather_busy, gather_waiting, gather_idle;
  jd_replay_gather u_gather (
    .clk_i,
    .rst_ni,
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
    .leaves_i         (leaves),
    .idle_o           (gather_idle),
    .index_req_o      (client_req[2].read),
    .index_rsp_i      (client_rsp[2].read),
    .row_req_o        (client_req[3]),
    .row_rsp_i        (client_rsp[3])
  );
  assign client_req[2].write = no_write();

  // ---- Status
  always_ff @(posedge clk_i) begin
    quiet_q <= !train_busy && !host_busy && lanes_idle && x_idle && read_idle && t_write_idle &&
               h_write_idle && !gather_busy && gather_idle;
  end
  assign busy      = s_valid || u_valid;
  assign stall_mem = gather_waiting || (host_busy && !item_valid && !read_idle) ||
                     (train_busy && !x_valid && !x_idle);
  assign stall_in  = train_waiting || fetching;
  assign stall_out = smp_valid_o && !smp_ready_i;
  always_ff @(posedge clk_i) begin
    progress <= busy || sampled || updated || hold || (smp_valid_o && smp_ready_i) ||
                (tde_valid_i && tde_ready_o) ||
                (mem_rsp_i.read.rvalid && mem_req_o.read.rready) ||
                (mem_req_o.write.wvalid && mem_rsp_i.write.wready) ||
                (mem_rsp_i.write.bvalid && mem_req_o.write.bready);
  end

  // ---- Checks
  `JD_ASSERT_STREAM(SmpStable_A, smp_valid_o, smp_ready_i || link_clear_o || link_clear_i,
                    {smp_data_o, smp_last_o})
  `JD_ASSERT_IF(SmpEmpty_A, soft_reset && quiet_q, !smp_valid_o)
  `JD_ASSERT_IF(TdeOwed_A, tde_updated, tde_flight_q != '0)
  `JD_ASSERT_IF(LeavesInTree_A, u_valid || s_valid, leaves != '0
                                                   && leaves <= (INDEX_W + 1)'(2 ** NLog2))
  `JD_ASSERT(TdeIdle_A, tde_idle_q == (tde_flight_q == '0))
endmodule : jd_replay_top
