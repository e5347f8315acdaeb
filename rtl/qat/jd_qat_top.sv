// SPDX-License-Identifier: Apache-2.0
//
// The qat engine: DDPG in fixed point with quantization-aware training, on adaptive array cores.
//
//   page -> jd_engine_frame -> jd_qat_state (registers)
//                           -> jd_qat_job -> jd_qat_check, jd_qat_table
//   memory <- jd_qat_load <--> jd_qat_job <-> jd_qat_cores (slots, weights, targets)
//                              jd_qat_job <-> jd_qat_update (gradients, moments) <-> jd_qat_cores
//                              jd_qat_job -> passes -> jd_qat_cores -> jd_qat_monitor
//   memory <- jd_qat_train (in jd_qat_job): batches, TD errors
//
// Streams  axil_*: the page. mem_*: the memory port. One ring.
// Timing   a row of LW words per clock to and from memory; an entry per clock in each core; see
//          jd_qat_sequencer.
// Numbers  fixed point, see docs/qat.md.
// Source   FIXAR; docs/qat.md. Golden model: models/qat/engine.py.
`include "jd_assert.svh"
module jd_qat_top
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter int unsigned QatCores     = 2,        // 1, 2, 4
  parameter int unsigned QatLw        = 16,       // words of a line: 4, 8, 16
  parameter int unsigned QatVc        = 64,       // vector slots of a core, even, 8..128
  parameter int unsigned QatActLines  = 160,      // lines of a slot for activations
  parameter int unsigned QatDelLines  = 80,       // for deltas
  parameter int unsigned QatWLines    = 20480,    // of each memory of weights
  parameter int unsigned QatMaxDim    = 512,      // largest layer
  parameter int unsigned QatMaxLayers = 4,        // of a network, 2..4
  parameter int unsigned QatAdamLanes = QatLw,    // weights per clock in the optimizer
  parameter int unsigned QatTanhLanes = 4,        // of a core: 1, 2, 4, 8
  parameter int unsigned QatBMax      = 4096,     // largest batch
  parameter bit          QatPaper     = 1'b0      // has the published schedule
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] time_i,
  output logic        irq_o,
  input  axil_req_t   axil_req_i,
  output axil_rsp_t   axil_rsp_o,
  output axi_req_t    mem_req_o,
  input  axi_rsp_t    mem_rsp_i
);
  localparam int unsigned CoreW = $clog2(QatCores) > 0 ? $clog2(QatCores) : 1;
  localparam int unsigned RowsW = 18;
  localparam int unsigned CoreOverW = $clog2(2 * QatLw * QatCores + 1);
  localparam int unsigned JobOverW  = $clog2(QatLw + 1);
  localparam int unsigned OverW     = $clog2(2 * QatLw * QatCores + QatLw + 1);
  localparam int unsigned ActionsW  = $clog2(QatLw + 1);
  localparam int unsigned TdOverW   = $clog2(3 * QatCores + 1);

  // ---- The frame
  register_req_t register_req;
  register_rsp_t register_rsp;
  axi_req_t [1:0] client_req;                      // rows, timesteps
  axi_rsp_t [1:0] client_rsp;
  logic          job_valid, job_ready, end_valid, end_ready, timeout, soft_reset, quiet;
  logic          unused_idle;
  descriptor_t   descriptor;
  logic          begins, end_job;
  logic [31:0]   number, end_count, end_info0, end_info1;
  logic [15:0]   end_detail;
  logic [7:0]    end_error;
  logic          any_event, busy, stall_mem, waits, full, progress;
  jd_engine_frame #(
    .Id       (jd_qat_map_pkg::ENGINE_ID),
    .Version  (jd_qat_map_pkg::ENGINE_VERSION),
    .Jobs     (2),
    .Clients  (2),
    .IdleOnly (jd_qat_map_pkg::IDLE_ONLY)
  ) u_frame (
    .clk_i, .rst_ni, .time_i, .irq_o, .axil_req_i, .axil_rsp_o, .mem_req_o, .mem_rsp_i,
    .register_req_o   (register_req),
    .register_rsp_i   (register_rsp),
    .client_req_i     (client_req),
    .client_rsp_o     (client_rsp),
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_descriptor_o (descriptor),
    .job_number_o     (number),
    .end_valid_i      (end_valid),
    .end_ready_o      (end_ready),
    .end_job_i        (end_job),
    .end_error_i      (end_error),
    .end_detail_i     (end_detail),
    .end_count_i      (end_count),
    .end_info0_i      (end_info0),
    .end_info1_i      (end_info1),
    .timeout_o        (timeout),
    .soft_reset_o     (soft_reset),
    .quiet_i          (quiet),
    .error_valid_i    (1'b0),
    .error_code_i     ('0),
    .event_i          (any_event),
    .busy_i           (busy),
    .stall_mem_i      (stall_mem),
    .stall_in_i       (waits),
    .stall_out_i      (full),
    .progress_i       (progress),
    .idle_o           (unused_idle)
  );

  // ---- Registers
  logic                            running, half, watch, sat_event, paper;
  logic                            entry, entry_alone, load_alone;
  logic [3:0]                      noise_kind;
  logic [31:0]                     sigma, theta;
  logic [31:0]                     c1, c2, eps;
  logic [24:0]                     tau;
  logic [TENSORS-1:0][SHIFT_W-1:0] shifts, seen_shifts;
  logic                            capture, partial, due, due_next, trained, acted;
  logic [31:0]                     count;
  logic [63:0]                     sum_q, sum_td;
  logic [TdOverW-1:0]              over_td;
  logic [TENSORS-1:0][31:0]        low, high, low_d, high_d;
  logic [TENSORS-1:0]              seen;
  logic [255:0]                    generator;
  logic [QatLw-1:0][31:0]          ou;
  logic [CoreOverW-1:0]            over_z, over_delta, over_quantized;
  pass_e                           entry_pass;
  logic [JobOverW-1:0]             over_state;
  logic [$clog2(2*QatLw+1)-1:0]    over_gradient, over_sum;
  logic [JobOverW-1:0]             over_w;
  logic [STAGES-1:0][OverW-1:0]    over, serious;
  always_ff @(posedge clk_i) begin
    over            <= '0;
    over[StageZ]    <= OverW'(over_z);
    over[StageActq] <= OverW'(over_quantized) + OverW'(over_state);
    over[StageDx]   <= OverW'(over_delta);
    over[StageG]    <= OverW'(over_gradient);
    over[StageGacc] <= OverW'(over_sum);
    over[StageW]    <= OverW'(over_w);
    over[StageTd]   <= OverW'(over_td);
    if (!rst_ni) over <= '0;
  end
  always_comb begin
    serious            = over;
    serious[StageActq] = '0;
  end
  jd_qat_state #(
    .Lw (QatLw), .N (QatCores), .Slots (QatVc), .ActLines (QatActLines), .DelLines (QatDelLines),
    .WLines (QatWLines), .MaxDim (QatMaxDim), .MaxLayers (QatMaxLayers),
    .AdamLanes (QatAdamLanes), .TanhLanes (QatTanhLanes), .BMax (QatBMax), .Paper (QatPaper)
  ) u_state (
    .clk_i, .rst_ni,
    .register_req_i   (register_req),
    .register_rsp_o   (register_rsp),
    .half_o           (half),
    .watch_o          (watch),
    .sat_event_o      (sat_event),
    .paper_o          (paper),
    .noise_o          (noise_kind),
    .sigma_o          (sigma),
    .theta_o          (theta),
    .c1_o             (c1),
    .c2_o             (c2),
    .eps_o            (eps),
    .tau_o            (tau),
    .shifts_o         (shifts),
    .capture_i        (capture),
    .shifts_i         (seen_shifts),
    .partial_i        (partial),
    .due_o            (due),
    .due_next_o       (due_next),
    .trained_i        (trained),
    .count_i          (count),
    .sum_q_i          (sum_q),
    .sum_td_i         (sum_td),
    .low_o            (low),
    .high_o           (high),
    .seen_i           (seen),
    .low_i            (low_d),
    .high_i           (high_d),
    .generator_i      (generator),
    .ou_i             (ou),
    .job_i            (begins),
    .running_i        (running),
    .entry_i          (entry),
    .entry_alone_i    (entry_alone),
    .entry_pass_i     (entry_pass),
    .load_alone_i     (load_alone),
    .over_i           (over)
  );
  assign any_event = acted || (sat_event && serious != '0);

  // ---- Transfers
  logic                          load_idle, load_read, load_write, load_stop, load_done, load_moved;
  logic [39:0]                   load_address;
  logic [RowsW-1:0]              load_rows;
  logic [ROWS_W-1:0]             load_words;
  logic [1:0]                    load_response;
  logic                          in_valid, in_ready, out_valid, out_ready;
  logic [QatLw-1:0][WORD_W-1:0]  in_row, out_row;
  jd_qat_load #(.Lw (QatLw)) u_load (
    .clk_i, .rst_ni,
    .idle_o       (load_idle),
    .read_i       (load_read),
    .write_i      (load_write),
    .address_i    (load_address),
    .rows_i       (load_rows),
    .line_words_i (load_words),
    .stop_i       (load_stop),
    .row_valid_o  (in_valid),
    .row_ready_i  (in_ready),
    .row_data_o   (in_row),
    .line_valid_i (out_valid),
    .line_ready_o (out_ready),
    .line_data_i  (out_row),
    .done_o       (load_done),
    .response_o   (load_response),
    .moved_o      (load_moved),
    .mem_req_o    (client_req[0]),
    .mem_rsp_i    (client_rsp[0])
  );

  // ---- Jobs
  table_t                        networks;
  logic                          clear, weight_read, weight_ready, weight_write, weight_valid;
  logic                          moment_read, moment_write, moment_valid, second;
  logic [2:0]                    region;
  logic [LINE_W-1:0]             line;
  logic [QatLw-1:0][WORD_W-1:0]  weight_line, moment_row, memory_row, slot_line, mu;
  logic                          line_valid, line_ready, line_delta, line_odd, slot_all;
  logic [1:0]                    line_half;
  logic [QatCores-1:0][QatLw-1:0][WORD_W-1:0] line_data, slot_lines;
  logic                          batch_moved;
  logic                          slot_read, slot_delta, slot_odd, slot_valid, mu_valid;
  logic [QatCores-1:0]           line_cores;
  logic [CoreW-1:0]              slot_core;
  logic [ADDRESS_W-1:0]          slot_address, line_address;
  logic                          pass_valid, pass_ready, cores_idle, state_seen;
  pass_t                         pass;
  logic                          sweep, sweep_net, sweep_idle, update_idle, targets, seed;
  logic [25:0]                   rate;
  logic [255:0]                  seed_state;
  logic [QatLw-1:0][WORD_W-1:0]  seed_x;
  logic                          adam_next, adam_read, adam_write;
  logic                          noise_start, noise_ready, noise_in, noise_out;
  logic [ActionsW-1:0]           actions;
  logic [QatLw-1:0][WORD_W-1:0]  noise_line, action_line;
  jd_qat_job #(
    .Lw (QatLw), .N (QatCores), .Slots (QatVc), .ActLines (QatActLines), .DelLines (QatDelLines),
    .WLines (QatWLines), .MaxDim (QatMaxDim), .MaxLayers (QatMaxLayers),
    .BMax (QatBMax), .Paper (QatPaper)
  ) u_job (
    .clk_i, .rst_ni,
    .job_valid_i      (job_valid),
    .job_ready_o      (job_ready),
    .job_descriptor_i (descriptor),
    .job_number_i     (number[0]),
    .begins_o         (begins),
    .end_valid_o      (end_valid),
    .end_ready_i      (end_ready),
    .end_job_o        (end_job),
    .end_error_o      (end_error),
    .end_detail_o     (end_detail),
    .end_count_o      (end_count),
    .end_info0_o      (end_info0),
    .end_info1_o      (end_info1),
    .soft_reset_i     (soft_reset),
    .timeout_i        (timeout),
    .running_o        (running),
    .clear_o          (clear),
    .half_i           (half),
    .watch_i          (watch),
    .noise_kind_i     (noise_kind),
    .paper_i          (paper),
    .shifts_i         (shifts),
    .c1_i             (c1),
    .c2_i             (c2),
    .eps_i            (eps),
    .tau_i            (tau),
    .capture_o        (capture),
    .partial_o        (partial),
    .due_i            (due),
    .due_next_i       (due_next),
    .trained_o        (trained),
    .count_o          (count),
    .sum_q_o          (sum_q),
    .sum_td_o         (sum_td),
    .event_o          (acted),
    .table_o          (networks),
    .load_read_o      (load_read),
    .load_write_o     (load_write),
    .load_address_o   (load_address),
    .load_rows_o      (load_rows),
    .load_words_o     (load_words),
    .load_stop_o      (load_stop),
    .load_done_i      (load_done),
    .load_response_i  (load_response),
    .row_valid_i      (in_valid),
    .row_ready_o      (in_ready),
    .row_data_i       (in_row),
    .row_valid_o      (out_valid),
    .row_ready_i      (out_ready),
    .row_data_o       (out_row),
    .weight_read_o    (weight_read),
    .weight_ready_i   (weight_ready),
    .weight_write_o   (weight_write),
    .moment_read_o    (moment_read),
    .moment_write_o   (moment_write),
    .region_o         (region),
    .second_o         (second),
    .line_o           (line),
    .weight_valid_i   (weight_valid),
    .weight_line_i    (weight_line),
    .moment_valid_i   (moment_valid),
    .moment_row_i     (moment_row),
    .line_valid_o     (line_valid),
    .line_ready_i     (line_ready),
    .line_cores_o     (line_cores),
    .line_delta_o     (line_delta),
    .line_odd_o       (line_odd),
    .line_address_o   (line_address),
    .line_half_o      (line_half),
    .slot_read_o      (slot_read),
    .slot_all_o       (slot_all),
    .slot_core_o      (slot_core),
    .slot_delta_o     (slot_delta),
    .slot_odd_o       (slot_odd),
    .slot_address_o   (slot_address),
    .line_data_o      (line_data),
    .memory_row_o     (memory_row),
    .slot_valid_i     (slot_valid),
    .slot_line_i      (slot_line),
    .slot_lines_i     (slot_lines),
    .mu_valid_i       (mu_valid),
    .mu_i             (mu),
    .pass_valid_o     (pass_valid),
    .pass_ready_i     (pass_ready),
    .pass_o           (pass),
    .cores_idle_i     (cores_idle),
    .forward_i        (entry && entry_pass == PassFw),
    .sweep_o          (sweep),
    .sweep_net_o      (sweep_net),
    .rate_o           (rate),
    .targets_o        (targets),
    .updates_i        (adam_read),
    .update_idle_i    (update_idle && sweep_idle),
    .seed_o           (seed),
    .seed_state_o     (seed_state),
    .seed_x_o         (seed_x),
    .seen_o           (state_seen),
    .over_o           (over_state),
    .over_td_o        (over_td),
    .noise_start_o    (noise_start),
    .actions_o        (actions),
    .noise_ready_i    (noise_ready),
    .noise_valid_o    (noise_in),
    .noise_data_o     (noise_line),
    .noise_valid_i    (noise_out),
    .noise_data_i     (action_line),
    .batch_moved_o    (batch_moved),
    .mem_req_o        (client_req[1]),
    .mem_rsp_i        (client_rsp[1])
  );
  assign quiet     = !running && load_idle;
  assign busy      = entry;
  assign stall_mem = running && !load_idle && !load_moved;
  assign progress  = load_moved || batch_moved || entry || load_alone || adam_read;

  // ---- Memories and cores
  logic [QatCores-1:0]                            seen_valid;
  logic [QatCores-1:0][TENSOR_W-1:0]              seen_tensor;
  logic [QatCores-1:0][QatLw-1:0][WORD_W-1:0]     seen_line;
  logic                                           sweep_valid, sweep_ready;
  logic [LINE_W-1:0]                              sweep_line, sweep_count, sweep_columns;
  logic [ActionsW-1:0]                            sweep_words;
  logic [LINE_W-1:0]                              adam_read_line, adam_write_line;
  logic [1:0][QatLw-1:0][WORD_W-1:0]              adam_lines, adam_lines_new;
  // What dW drains, and its announcements
  logic                                           reserve, room, reserve_bias, bias_room;
  logic                                           reserve_update;
  logic [1:0]                                     reserve_layer, tile_layer;
  logic [LAYERS-1:0]                              updates;
  logic                                           drain_valid, drain_opens, bias_valid;
  logic [QatCores-1:0][QatLw-1:0][1:0][ACC_W-1:0] drain_sums;
  logic [QatCores-1:0][QatLw-1:0][DELTA_W-1:0]    bias_sums;
  logic [LINE_W-1:0]                              tile_line, tile_stride, bias_line;
  logic [ActionsW-1:0]                            reserve_rows, tile_words, bias_words;
  logic [SHIFT_W-1:0]                             tile_up;
  logic                                           tile_half, tile_first, tile_update;
  jd_qat_sweep #(.Lw (QatLw)) u_sweep (
    .clk_i, .rst_ni,
    .clear_i         (clear),
    .start_i         (sweep),
    .layers_i        (networks.layers[sweep_net]),
    .idle_o          (sweep_idle),
    .sweep_valid_o   (sweep_valid),
    .sweep_ready_i   (sweep_ready),
    .sweep_line_o    (sweep_line),
    .sweep_count_o   (sweep_count),
    .sweep_columns_o (sweep_columns),
    .sweep_words_o   (sweep_words)
  );
  jd_qat_update #(
    .Cores (QatCores), .Lw (QatLw), .WLines (QatWLines), .AdamLanes (QatAdamLanes)
  ) u_update (
    .clk_i, .rst_ni,
    .clear_i         (clear),
    .idle_o          (update_idle),
    .c1_i            (c1[23:0]),
    .c2_i            (c2[23:0]),
    .eps_i           (eps[23:0]),
    .rate_i          (rate),
    .tau_i           (targets ? tau : '0),
    .reserve_i       (reserve),
    .reserve_rows_i  (reserve_rows),
    .room_o          (room),
    .reserve_bias_i  (reserve_bias),
    .bias_room_o     (bias_room),
    .reserve_update_i (reserve_update),
    .reserve_layer_i  (reserve_layer),
    .updates_o        (updates),
    .drain_valid_i   (drain_valid),
    .drain_opens_i   (drain_opens),
    .drain_sums_i    (drain_sums),
    .tile_line_i     (tile_line),
    .tile_stride_i   (tile_stride),
    .tile_words_i    (tile_words),
    .tile_half_i     (tile_half),
    .tile_up_i       (tile_up),
    .tile_first_i    (tile_first),
    .tile_update_i   (tile_update),
    .tile_layer_i    (tile_layer),
    .bias_valid_i    (bias_valid),
    .bias_sums_i     (bias_sums),
    .bias_line_i     (bias_line),
    .bias_words_i    (bias_words),
    .bias_first_i    (tile_first),
    .bias_update_i   (tile_update),
    .sweep_valid_i   (sweep_valid),
    .sweep_ready_o   (sweep_ready),
    .sweep_line_i    (sweep_line),
    .sweep_count_i   (sweep_count),
    .sweep_columns_i (sweep_columns),
    .sweep_words_i   (sweep_words),
    .weight_next_o   (adam_next),
    .weight_read_o   (adam_read),
    .weight_line_o   (adam_read_line),
    .weight_data_i   (adam_lines[0]),
    .target_data_i   (adam_lines[1]),
    .weight_write_o  (adam_write),
    .write_line_o    (adam_write_line),
    .weight_data_o   (adam_lines_new[0]),
    .target_data_o   (adam_lines_new[1]),
    .host_region_i   (region),
    .host_second_i   (second),
    .host_line_i     (line),
    .host_write_i    (moment_write),
    .host_data_i     (memory_row),
    .host_read_i     (moment_read),
    .host_valid_o    (moment_valid),
    .host_data_o     (moment_row),
    .over_gradient_o (over_gradient),
    .over_sum_o      (over_sum),
    .over_w_o        (over_w)
  );
  jd_qat_cores #(
    .Lw (QatLw), .N (QatCores), .Slots (QatVc), .ActLines (QatActLines), .DelLines (QatDelLines),
    .WLines (QatWLines), .TanhLanes (QatTanhLanes)
  ) u_cores (
    .clk_i, .rst_ni,
    .clear_i          (clear),
    .idle_o           (cores_idle),
    .layers_i         (networks.layers),
    .shifts_i         (shifts),
    .pass_valid_i     (pass_valid),
    .pass_ready_o     (pass_ready),
    .pass_i           (pass),
    .weight_read_i    (weight_read),
    .weight_ready_o   (weight_ready),
    .weight_write_i   (weight_write),
    .weight_target_i  (region[0]),
    .weight_address_i (line),
    .weight_line_i    (memory_row),
    .weight_valid_o   (weight_valid),
    .weight_line_o    (weight_line),
    .adam_next_i      (adam_next),
    .adam_read_i      (adam_read),
    .adam_source_i    (adam_read_line),
    .adam_lines_o     (adam_lines),
    .adam_write_i     (adam_write),
    .adam_sink_i      (adam_write_line),
    .adam_lines_i     (adam_lines_new),
    .line_valid_i     (line_valid),
    .line_ready_o     (line_ready),
    .line_cores_i     (line_cores),
    .line_delta_i     (line_delta),
    .line_odd_i       (line_odd),
    .line_address_i   (line_address),
    .line_half_i      (line_half),
    .line_data_i      (line_data),
    .slot_read_i      (slot_read),
    .slot_all_i       (slot_all),
    .slot_core_i      (slot_core),
    .slot_delta_i     (slot_delta),
    .slot_odd_i       (slot_odd),
    .slot_address_i   (slot_address),
    .slot_valid_o     (slot_valid),
    .slot_line_o      (slot_line),
    .slot_lines_o     (slot_lines),
    .reserve_o        (reserve),
    .reserve_rows_o   (reserve_rows),
    .room_i           (room),
    .reserve_bias_o   (reserve_bias),
    .reserve_update_o (reserve_update),
    .reserve_layer_o  (reserve_layer),
    .updates_i        (updates),
    .bias_room_i      (bias_room),
    .drain_valid_o    (drain_valid),
    .drain_opens_o    (drain_opens),
    .drain_sums_o     (drain_sums),
    .tile_line_o      (tile_line),
    .tile_stride_o    (tile_stride),
    .tile_words_o     (tile_words),
    .tile_half_o      (tile_half),
    .tile_up_o        (tile_up),
    .tile_first_o     (tile_first),
    .tile_update_o    (tile_update),
    .tile_layer_o     (tile_layer),
    .bias_valid_o     (bias_valid),
    .bias_sums_o      (bias_sums),
    .bias_line_o      (bias_line),
    .bias_words_o     (bias_words),
    .mu_valid_o       (mu_valid),
    .mu_o             (mu),
    .seen_valid_o     (seen_valid),
    .seen_tensor_o    (seen_tensor),
    .seen_line_o      (seen_line),
    .over_z_o         (over_z),
    .over_delta_o     (over_delta),
    .over_quantized_o (over_quantized),
    .entry_valid_o    (entry),
    .entry_alone_o    (entry_alone),
    .entry_pass_o     (entry_pass),
    .load_alone_o     (load_alone),
    .waits_o          (waits),
    .full_o           (full)
  );

  // ---- Monitors: of cores, and of a line of X that is stored, which no core sees in that clock
  logic [QatCores-1:0]                        watched, watched_q;
  logic [QatCores-1:0][TENSOR_W-1:0]          watched_tensor, watched_tensor_q;
  logic [QatCores-1:0][QatLw-1:0][WORD_W-1:0] watched_line, watched_line_q;
  always_comb begin
    watched        = seen_valid;
    watched_tensor = seen_tensor;
    watched_line   = seen_line;
    for (int unsigned c = 0; c < QatCores; c++) begin
      if (state_seen && line_cores[c]) begin
        watched[c]        = 1'b1;
        watched_tensor[c] = '0;
        watched_line[c]   = line_data[c];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    watched_q        <= rst_ni ? watched : '0;
    watched_tensor_q <= watched_tensor;
    watched_line_q   <= watched_line;
  end
  jd_qat_monitor #(.Cores (QatCores), .Lw (QatLw)) u_monitor (
    .clk_i, .rst_ni,
    .line_valid_i  (watched_q),
    .line_tensor_i (watched_tensor_q),
    .line_data_i   (watched_line_q),
    .low_i         (low),
    .high_i        (high),
    .write_o       (seen),
    .low_o         (low_d),
    .high_o        (high_d),
    .shift_o       (seen_shifts)
  );

  // ---- Noise
  jd_qat_noise #(.Lw (QatLw)) u_noise (
    .clk_i, .rst_ni,
    .load_i       (seed),
    .load_state_i (seed_state),
    .load_x_i     (seed_x),
    .state_o      (generator),
    .x_o          (ou),
    .start_i      (noise_start),
    .kind_i       (noise_kind[1:0]),
    .actions_i    (actions),
    .sigma_i      (sigma),
    .theta_i      (theta),
    .ready_o      (noise_ready),
    .in_valid_i   (noise_in),
    .in_noise_i   (1'b1),
    .in_data_i    (noise_line),
    .out_valid_o  (noise_out),
    .out_data_o   (action_line)
  );

  logic unused;
  assign unused = ^{number[31:1], unused_idle};
  `JD_ASSERT_IF(StateAlone_A, state_seen, (seen_valid & line_cores) == '0)
endmodule : jd_qat_top
