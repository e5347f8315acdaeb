// SPDX-License-Identifier: Apache-2.0
//
// The sparse engine: multi-agent training with learnable weight groups.
//
//   page -> jd_engine_frame -> jd_sparse_state (registers)
//                           -> jd_sparse_job -> jd_sparse_config (network table)
//   memory <- jd_sparse_mover <-> jd_sparse_parameters (images) -> jd_sparse_units
//             jd_sparse_mover <-> jd_sparse_units (activations)
//   memory -> jd_sparse_fetch -> jd_sparse_sched <-> jd_sparse_units (encoder, planner, cores)
//
// Streams  axil_*: the page. mem_*: the memory port. One ring.
// Timing   a line of 64 bytes per clock to and from memory; see the units.
// Numbers  see docs/sparse.md.
// Source   LearningGroup; docs/sparse.md. Golden model: models/sparse/engine.py.
`include "jd_assert.svh"
module jd_sparse_top
  import jd_axi_pkg::*;
  import jd_sparse_pkg::*;
#(
  parameter int unsigned SparseCores      = 3,        // 1..3
  parameter int unsigned SparseBanks      = 8,        // of a core, 1..8
  parameter int unsigned SparseLanes      = 33,       // of a bank, 2..264
  parameter int unsigned SparseSlots      = 4,        // activations that a bank sends, 2, 4
  parameter int unsigned SparseAcc        = 64,       // accumulators of a lane: 16, 32, 64
  parameter int unsigned SparseGMax       = 32,       // groups, power of two 1..32
  parameter int unsigned SparseDMax       = 512,      // rows or columns, 8..512
  parameter int unsigned SparseLMax       = 8,        // layers, 1..8
  parameter int unsigned SparseWinMax     = 24,       // windows of a plan, 1..31
  parameter int unsigned SparseWRows      = 4096,     // lines of a bank: weights,
  parameter int unsigned SparseXRows      = 8192,     // operands X and Y,
  parameter int unsigned SparseYRows      = 8192,
  parameter int unsigned SparseRRows      = 4096,     // results,
  parameter int unsigned SparseGRows      = 1024,     // gradients
  parameter int unsigned SparseARows      = 65536,    // activation lines of a core
  parameter int unsigned SparsePWords     = 262144,   // weights with mean squares
  parameter int unsigned SparseBWords     = 2048,     // biases with mean squares
  parameter int unsigned SparseSWords     = 4096,     // states of the grouping
  parameter int unsigned SparseMRows      = 512,      // lines of 128 grouping entries
  parameter int unsigned SparseMaxW       = 128,      // grouping entries per clock: 32, 64, 128
  parameter int unsigned SparseCmpW       = 64,       // comparisons per clock: 16, 32, 64
  parameter int unsigned SparseHitW       = 4,        // rows per clock: 1, 2, 4
  parameter bit          SparseKeepBv     = 1'b0,     // keeps bitvectors
  parameter int unsigned SparseDrainW     = 4,        // result lanes drained per clock: 1, 2, 4
  parameter int unsigned SparseOptLanes   = 6,        // weights updated per clock, 1..8
  parameter int unsigned SparseChannels   = 4,        // elementwise channels: 1, 2, 4, 8
  parameter int unsigned SparseMulLatency = 3,        // of the FP16 multiplier
  parameter int unsigned SparseAddLatency = 4         // of the FP16 adder, 1..4
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
  // ---- The frame
  register_req_t register_req;
  register_rsp_t register_rsp;
  axi_req_t [1:0] client_req;                          // transfers, programs
  axi_rsp_t [1:0] client_rsp;
  logic          job_valid, job_ready, end_valid, end_ready, timeout, soft_reset, quiet;
  logic          unused_idle, busy, stall_mem, stall_in, progress;
  descriptor_t   descriptor;
  logic [31:0]   unused_number, end_count, end_info0, end_info1;
  logic [15:0]   end_detail;
  logic [7:0]    end_error;
  jd_engine_frame #(
    .Id       (jd_sparse_map_pkg::ENGINE_ID),
    .Version  (jd_sparse_map_pkg::ENGINE_VERSION),
    .IdleOnly (jd_sparse_map_pkg::IDLE_ONLY),
    .Clients  (2)
  ) u_frame (
    .clk_i, .rst_ni, .time_i, .irq_o, .axil_req_i, .axil_rsp_o, .mem_req_o, .mem_rsp_i,
    .register_req_o   (register_req),
    .register_rsp_i   (register_rsp),
    .client_req_i     (client_req),
    .client_rsp_o     (client_rsp),
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_descriptor_o (descriptor),
    .job_number_o     (unused_number),
    .end_valid_i      (end_valid),
    .end_ready_o      (end_ready),
    .end_job_i        (1'b0),
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
    .event_i          (1'b0),
    .busy_i           (busy),
    .stall_mem_i      (stall_mem),
    .stall_in_i       (stall_in),
    .stall_out_i      (1'b0),
    .progress_i       (progress),
    .idle_o           (unused_idle)
  );

  // ---- Registers
  settings_t                         settings;
  logic [63:0]                       drawn;
  logic [3:0]                        stage_busy;
  logic [UNITS-1:0]                  unit_ready, unit_start, unit_done, unit_busy;
  logic [SparseCores-1:0][LANE_W+2:0] useful;
  encoder_clocks_t                   encoder_clocks;
  logic [DIM_W-1:0]                  encoded_rows;
  logic                              compressed, compressed_row, nonfinite, skipped, draw;
  logic [SparseCores-1:0][18:0]      loads;
  logic [19:0]                       compressor_clocks;
  logic [18:0]                       weights;
  logic [15:0]                       run_ended;
  jd_sparse_state #(
    .Cores (SparseCores), .Banks (SparseBanks), .Lanes (SparseLanes), .Slots (SparseSlots),
    .Acc (SparseAcc), .GMax (SparseGMax), .DMax (SparseDMax), .LMax (SparseLMax),
    .WinMax (SparseWinMax), .WRows (SparseWRows), .XRows (SparseXRows), .RRows (SparseRRows),
    .GRows (SparseGRows), .ARows (SparseARows), .PWords (SparsePWords), .BWords (SparseBWords),
    .SWords (SparseSWords), .MRows (SparseMRows), .MaxW (SparseMaxW), .CmpW (SparseCmpW),
    .HitW (SparseHitW), .KeepBv (SparseKeepBv), .DrainW (SparseDrainW),
    .OptLanes (SparseOptLanes), .Channels (SparseChannels), .AddLatency (SparseAddLatency)
  ) u_state (
    .clk_i, .rst_ni,
    .register_req_i      (register_req),
    .register_rsp_o      (register_rsp),
    .settings_o          (settings),
    .next_i              (draw),
    .value_o             (drawn),
    .stage_busy_i        (stage_busy),
    .unit_busy_i         (unit_busy),
    .busy_i              (busy),
    .useful_i            (useful),
    .op_done_i           (unit_done[UnitVpu]),
    .nonfinite_i         (nonfinite),
    .skipped_i           (skipped),
    .encoded_i           (unit_done[UnitOsel]),
    .encoder_clocks_i    (encoder_clocks),
    .encoded_rows_i      (encoded_rows),
    .compressed_i        (compressed),
    .compressor_clocks_i (compressor_clocks),
    .compressed_row_i    (compressed_row),
    .weights_i           (weights),
    .loads_i             (loads),
    .ended_i             (run_ended)
  );

  // ---- Jobs
  logic                job_idle, working, stop, mover_idle, mover_done, mover_moved;
  logic                program_valid, program_ready;
  logic                job_read, job_write, dma_read, dma_write;
  logic [39:0]         job_address, dma_address;
  logic [BEATS_W-1:0]  job_lines, dma_lines, image_lines;
  logic [1:0]          mover_response;
  logic                config_runs, config_start, config_done, config_take;
  logic [3:0]          config_lines, layer_count;
  logic [7:0]          config_code;
  logic [LAYER_W-1:0]  config_number;
  logic                image_start, image_load, image_sized, image_go, image_clear, image_idle;
  logic [LAYERS-1:0]   image_mask, forget;
  logic [PARTS-1:0]    image_kinds;
  logic                runs, run_start, run_clear, run_busy, run_done, run_fetch_error, fetch_idle;
  logic [39:0]         run_address;
  logic [15:0]         run_count, run_at;
  logic [7:0]          run_code;
  logic [1:0]          run_response;
  layer_t [LAYERS-1:0] layers;
  jd_sparse_job #(.LMax (SparseLMax)) u_job (
    .clk_i, .rst_ni,
    .job_valid_i       (job_valid),
    .job_ready_o       (job_ready),
    .job_descriptor_i  (descriptor),
    .end_valid_o       (end_valid),
    .end_ready_i       (end_ready),
    .end_error_o       (end_error),
    .end_detail_o      (end_detail),
    .end_count_o       (end_count),
    .end_info0_o       (end_info0),
    .end_info1_o       (end_info1),
    .timeout_i         (timeout),
    .soft_reset_i      (soft_reset),
    .idle_o            (job_idle),
    .working_o         (working),
    .settings_i        (settings),
    .layers_i          (layer_count),
    .forget_o          (forget),
    .mover_read_o      (job_read),
    .mover_write_o     (job_write),
    .mover_address_o   (job_address),
    .mover_lines_o     (job_lines),
    .stop_o            (stop),
    .mover_idle_i      (mover_idle),
    .mover_done_i      (mover_done),
    .mover_response_i  (mover_response),
    .config_o          (config_runs),
    .config_start_o    (config_start),
    .config_lines_o    (config_lines),
    .config_done_i     (config_done),
    .config_code_i     (config_code),
    .config_number_i   (config_number),
    .config_take_o     (config_take),
    .image_start_o     (image_start),
    .image_load_o      (image_load),
    .image_mask_o      (image_mask),
    .image_kinds_o     (image_kinds),
    .image_sized_i     (image_sized),
    .image_lines_i     (image_lines),
    .image_go_o        (image_go),
    .image_clear_o     (image_clear),
    .image_idle_i      (image_idle),
    .run_o             (runs),
    .run_start_o       (run_start),
    .run_address_o     (run_address),
    .run_count_o       (run_count),
    .run_clear_o       (run_clear),
    .run_done_i        (run_done),
    .run_code_i        (run_code),
    .run_fetch_error_i (run_fetch_error),
    .run_at_i          (run_at),
    .run_response_i    (run_response),
    .run_ended_i       (run_ended),
    .fetch_idle_i      (fetch_idle)
  );
  // Units but the DMA end by themselves.
  assign quiet     = job_idle && mover_idle && fetch_idle;
  assign progress  = mover_moved || working || (program_valid && program_ready)
                     || (unit_busy & ~(UNITS'(1) << UnitDma)) != '0;
  assign stall_mem = !mover_idle && !mover_moved;

  // ---- Transfers: of a table, an image, or a DMA
  logic              line_valid, line_ready, config_ready, image_ready, units_ready;
  logic              out_valid, out_ready, image_out_valid, units_out_valid;
  logic [LINE_W-1:0] line, out_line, image_out_line, units_out_line;
  assign line_ready = runs ? units_ready : config_runs ? config_ready : image_ready;
  assign out_valid  = runs ? units_out_valid : image_out_valid;
  assign out_line   = runs ? units_out_line : image_out_line;
  jd_sparse_mover u_mover (
    .clk_i, .rst_ni,
    .idle_o      (mover_idle),
    .read_i      (job_read || dma_read),
    .write_i     (job_write || dma_write),
    .address_i   (runs ? dma_address : job_address),
    .lines_i     (runs ? dma_lines : job_lines),
    .stop_i      (stop),
    .out_valid_o (line_valid),
    .out_ready_i (line_ready),
    .out_data_o  (line),
    .in_valid_i  (out_valid),
    .in_ready_o  (out_ready),
    .in_data_i   (out_line),
    .done_o      (mover_done),
    .response_o  (mover_response),
    .moved_o     (mover_moved),
    .mem_req_o   (client_req[0]),
    .mem_rsp_i   (client_rsp[0])
  );

  // ---- The network table
  jd_sparse_config #(
    .GMax (SparseGMax), .DMax (SparseDMax), .LMax (SparseLMax), .Lanes (SparseLanes),
    .Slots (SparseSlots), .PWords (SparsePWords), .BWords (SparseBWords), .SWords (SparseSWords),
    .MRows (SparseMRows)
  ) u_config (
    .clk_i, .rst_ni,
    .start_i      (config_start),
    .lines_i      (config_lines),
    .line_valid_i (line_valid && config_runs),
    .line_ready_o (config_ready),
    .line_i       (line),
    .done_o       (config_done),
    .code_o       (config_code),
    .number_o     (config_number),
    .take_i       (config_take),
    .count_o      (layer_count),
    .layers_o     (layers)
  );

  // ---- Parameters
  logic                                     group_write, group_read;
  logic [M_LINE_W-1:0]                      group_line;
  logic [GROUP_LINE-1:0]                    group_mask;
  logic [8*GROUP_LINE-1:0]                  group_new, group_old;
  logic [1:0][WORD_BANKS-1:0]               gather_en;
  logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] gather_line;
  logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] gather_data;
  logic                                     word_read, word_read_state;
  logic                                     word_write, word_write_state;
  logic [S_WORD_W-1:0]                      word_read_word, word_write_word;
  logic [1:0][SINGLE_W-1:0]                 word_old, word_new;
  bias_t                                    bias;
  word_place_t [SparseOptLanes-1:0]             param_read, param_write;
  logic [SparseOptLanes-1:0][1:0][SINGLE_W-1:0] param_old, param_new;
  jd_sparse_parameters #(
    .PWords (SparsePWords), .BWords (SparseBWords), .SWords (SparseSWords),
    .OptLanes (SparseOptLanes)
  ) u_parameters (
    .clk_i, .rst_ni,
    .clear_i            (image_clear),
    .idle_o             (image_idle),
    .start_i            (image_start),
    .load_i             (image_load),
    .mask_i             (image_mask),
    .kinds_i            (image_kinds),
    .layers_i           (layers),
    .sized_o            (image_sized),
    .lines_o            (image_lines),
    .go_i               (image_go),
    .in_valid_i         (line_valid && !config_runs && !runs),
    .in_ready_o         (image_ready),
    .in_data_i          (line),
    .out_valid_o        (image_out_valid),
    .out_ready_i        (out_ready && !runs),
    .out_data_o         (image_out_line),
    .group_write_o      (group_write),
    .group_read_o       (group_read),
    .group_line_o       (group_line),
    .group_mask_o       (group_mask),
    .group_data_o       (group_new),
    .group_data_i       (group_old),
    .gather_en_i        (gather_en),
    .gather_line_i      (gather_line),
    .gather_data_o      (gather_data),
    .opt_read_i         (word_read),
    .opt_read_state_i   (word_read_state),
    .opt_read_word_i    (word_read_word),
    .opt_data_o         (word_old),
    .opt_write_i        (word_write),
    .opt_write_state_i  (word_write_state),
    .opt_write_word_i   (word_write_word),
    .opt_data_i         (word_new),
    .bias_o             (bias),
    .update_read_i      (param_read),
    .update_data_o      (param_old),
    .update_write_i     (param_write),
    .update_new_i       (param_new)
  );

  // ---- Programs
  logic [LINE_W-1:0] program_line;
  logic [1:0]        program_response;
  jd_sparse_fetch u_fetch (
    .clk_i, .rst_ni,
    .idle_o       (fetch_idle),
    .start_i      (run_start),
    .address_i    (run_address),
    .count_i      (run_count),
    .stop_i       (stop || !run_busy),
    .line_valid_o (program_valid),
    .line_ready_i (program_ready),
    .line_o       (program_line),
    .response_o   (program_response),
    .mem_req_o    (client_req[1].read),
    .mem_rsp_i    (client_rsp[1].read)
  );
  assign client_req[1].write = no_write();
  instruction_t                  instruction;
  operation_t                    operation;
  logic [CORES-1:0][15:0]        vectors;
  logic [CORES-1:0][TILES_W-1:0] op_tiles;
  logic [LAYERS-1:0]             planned;
  logic                          fill_set, elem_set, elem_dx, plan_failed;
  logic [7:0]                    dma_code;
  logic [1:0]                    dma_response;
  jd_sparse_sched #(
    .Cores (SparseCores), .DMax (SparseDMax), .XRows (SparseXRows), .YRows (SparseYRows),
    .ARows (SparseARows)
  ) u_sched (
    .clk_i, .rst_ni,
    .clear_i         (run_clear),
    .start_i         (run_start),
    .count_i         (run_count),
    .busy_o          (run_busy),
    .done_o          (run_done),
    .code_o          (run_code),
    .fetch_error_o   (run_fetch_error),
    .at_o            (run_at),
    .response_o      (run_response),
    .ended_o         (run_ended),
    .beat_valid_i    (program_valid),
    .beat_ready_o    (program_ready),
    .beat_i          (program_line),
    .beat_response_i (program_response),
    .layers_i        (layers),
    .layer_count_i   (layer_count),
    .agents_i        (settings.agents),
    .episodes_i      (settings.episodes),
    .forget_i        (forget),
    .planned_o       (planned),
    .unit_ready_i    (unit_ready),
    .unit_start_o    (unit_start),
    .unit_done_i     (unit_done),
    .dma_code_i      (dma_code),
    .dma_response_i  (dma_response),
    .plan_failed_i   (plan_failed),
    .instruction_o   (instruction),
    .vectors_o       (vectors),
    .fill_set_o      (fill_set),
    .elem_set_o      (elem_set),
    .elem_dx_o       (elem_dx),
    .op_o            (operation),
    .op_tiles_o      (op_tiles),
    .stage_busy_o    (stage_busy),
    .unit_busy_o     (unit_busy),
    .stall_in_o      (stall_in)
  );
  jd_sparse_units #(
    .Cores (SparseCores), .Banks (SparseBanks), .Lanes (SparseLanes), .Slots (SparseSlots),
    .Acc (SparseAcc), .GMax (SparseGMax), .DMax (SparseDMax), .LMax (SparseLMax),
    .WinMax (SparseWinMax), .WRows (SparseWRows), .XRows (SparseXRows), .YRows (SparseYRows),
    .RRows (SparseRRows), .GRows (SparseGRows), .ARows (SparseARows), .BWords (SparseBWords),
    .SWords (SparseSWords), .MRows (SparseMRows), .MaxW (SparseMaxW), .CmpW (SparseCmpW),
    .HitW (SparseHitW), .KeepBv (SparseKeepBv), .DrainW (SparseDrainW),
    .OptLanes (SparseOptLanes), .Channels (SparseChannels), .MulLatency (SparseMulLatency),
    .AddLatency (SparseAddLatency)
  ) u_units (
    .clk_i, .rst_ni,
    .clear_i             (run_clear),
    .ready_o             (unit_ready),
    .start_i             (unit_start),
    .done_o              (unit_done),
    .instruction_i       (instruction),
    .vectors_i           (vectors),
    .fill_set_i          (fill_set),
    .elem_set_i          (elem_set),
    .elem_dx_i           (elem_dx),
    .op_i                (operation),
    .op_tiles_i          (op_tiles),
    .planned_i           (planned),
    .dma_code_o          (dma_code),
    .dma_response_o      (dma_response),
    .plan_failed_o       (plan_failed),
    .settings_i          (settings),
    .mover_read_o        (dma_read),
    .mover_write_o       (dma_write),
    .mover_address_o     (dma_address),
    .mover_lines_o       (dma_lines),
    .mover_done_i        (mover_done),
    .mover_response_i    (mover_response),
    .in_valid_i          (line_valid && runs),
    .in_ready_o          (units_ready),
    .in_data_i           (line),
    .out_valid_o         (units_out_valid),
    .out_ready_i         (out_ready && runs),
    .out_data_o          (units_out_line),
    .bias_i              (bias),
    .gather_en_o         (gather_en),
    .gather_line_o       (gather_line),
    .gather_data_i       (gather_data),
    .group_write_i       (group_write),
    .group_read_i        (group_read),
    .group_line_i        (group_line),
    .group_mask_i        (group_mask),
    .group_data_i        (group_new),
    .group_data_o        (group_old),
    .param_read_o        (param_read),
    .param_data_i        (param_old),
    .param_write_o       (param_write),
    .param_new_o         (param_new),
    .word_read_o         (word_read),
    .word_read_state_o   (word_read_state),
    .word_read_word_o    (word_read_word),
    .word_data_i         (word_old),
    .word_write_o        (word_write),
    .word_write_state_o  (word_write_state),
    .word_write_word_o   (word_write_word),
    .word_data_o         (word_new),
    .clear_sums_i        (config_take),
    .draw_o              (draw),
    .drawn_i             (drawn[63 -: DRAWN_W]),
    .busy_o              (busy),
    .useful_o            (useful),
    .nonfinite_o         (nonfinite),
    .skipped_o           (skipped),
    .encoder_clocks_o    (encoder_clocks),
    .encoded_rows_o      (encoded_rows),
    .compressed_o        (compressed),
    .compressor_clocks_o (compressor_clocks),
    .compressed_row_o    (compressed_row),
    .weights_o           (weights),
    .loads_o             (loads)
  );
  logic unused;
  assign unused = ^{unused_idle, unused_number, drawn[63-DRAWN_W:0]};
endmodule : jd_sparse_top
