// SPDX-License-Identifier: Apache-2.0
//
// The sparse engine: multi-agent training with learnable weight groups.
//
//   page -> jd_engine_frame -> jd_sparse_state (registers)
//                           -> jd_sparse_job -> jd_sparse_config (network table)
//   memory <- jd_sparse_mover <-> jd_sparse_image <-> jd_sparse_params, _words, _encode
//
// Streams  axil_*: the page. mem_*: the memory port. One ring.
// Timing   a line of 64 bytes per clock to and from memory.
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
  if (SparseYRows < 16 || SparseYRows > 8192 || SparseMulLatency < 1 || SparseMulLatency > 8)
  begin : gen_bad_size
    $fatal(1, "jd_sparse_top: SparseYRows=%0d, want 16..8192, SparseMulLatency=%0d, want 1..8",
           SparseYRows, SparseMulLatency);
  end

  // ---- The frame
  register_req_t register_req;
  register_rsp_t register_rsp;
  axi_req_t      client_req;
  axi_rsp_t      client_rsp;
  logic          job_valid, job_ready, end_valid, end_ready, timeout, soft_reset, quiet;
  logic          unused_idle, stall_mem, progress;
  descriptor_t   descriptor;
  logic [31:0]   unused_number, end_count, end_info0, end_info1;
  logic [15:0]   end_detail;
  logic [7:0]    end_error;
  jd_engine_frame #(
    .Id       (jd_sparse_map_pkg::ENGINE_ID),
    .Version  (jd_sparse_map_pkg::ENGINE_VERSION),
    .IdleOnly (jd_sparse_map_pkg::IDLE_ONLY)
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
    .busy_i           (1'b0),
    .stall_mem_i      (stall_mem),
    .stall_in_i       (1'b0),
    .stall_out_i      (1'b0),
    .progress_i       (progress),
    .idle_o           (unused_idle)
  );

  // ---- Registers
  settings_t   settings;
  logic [63:0] unused_value;
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
    .next_i              (1'b0),
    .value_o             (unused_value),
    .stage_busy_i        ('0),
    .unit_busy_i         ('0),
    .busy_i              (1'b0),
    .useful_i            ('0),
    .op_done_i           (1'b0),
    .encoded_i           (1'b0),
    .encoder_clocks_i    ('0),
    .encoded_rows_i      ('0),
    .compressed_i        (1'b0),
    .compressor_clocks_i ('0),
    .weights_i           ('0),
    .ended_i             ('0)
  );

  // ---- Jobs
  logic                mover_idle, mover_read, mover_write, mover_done, mover_moved, stop;
  logic [39:0]         mover_address, unused_address;
  logic [BEATS_W-1:0]  mover_lines, image_lines;
  logic [1:0]          mover_response;
  logic                config_runs, config_start, config_done, config_take;
  logic [3:0]          config_lines, layer_count;
  logic [7:0]          config_code;
  logic [LAYER_W-1:0]  config_number;
  logic                image_start, image_load, image_sized, image_go, image_clear, image_idle;
  logic [LAYERS-1:0]   image_mask, unused_forget;
  logic [PARTS-1:0]    image_kinds;
  logic                working, run_start, run_q, unused_run, unused_clear, job_idle;
  logic [15:0]         unused_count;
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
    .forget_o          (unused_forget),
    .mover_read_o      (mover_read),
    .mover_write_o     (mover_write),
    .mover_address_o   (mover_address),
    .mover_lines_o     (mover_lines),
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
    .run_o             (unused_run),
    .run_start_o       (run_start),
    .run_address_o     (unused_address),
    .run_count_o       (unused_count),
    .run_clear_o       (unused_clear),
    .run_done_i        (run_q),
    .run_code_i        (jd_engine_header_map_pkg::E_OPCODE),
    .run_fetch_error_i (1'b0),
    .run_at_i          ('0),
    .run_response_i    ('0),
    .run_ended_i       ('0),
    .fetch_idle_i      (1'b1)
  );
  // No unit runs programs yet: their first instruction has no hardware.
  always_ff @(posedge clk_i) run_q <= rst_ni && run_start;
  assign quiet     = job_idle && mover_idle;
  assign progress  = mover_moved || working;
  assign stall_mem = !mover_idle && !mover_moved;

  // ---- Transfers
  logic              line_valid, line_ready, config_ready, image_ready, out_valid, out_ready;
  logic [LINE_W-1:0] line, out_line;
  assign line_ready = config_runs ? config_ready : image_ready;
  jd_sparse_mover u_mover (
    .clk_i, .rst_ni,
    .idle_o      (mover_idle),
    .read_i      (mover_read),
    .write_i     (mover_write),
    .address_i   (mover_address),
    .lines_i     (mover_lines),
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
    .mem_req_o   (client_req),
    .mem_rsp_i   (client_rsp)
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

  // ---- Images
  logic                               put, get, of_weights;
  logic [P_LINE_W-1:0]                weight_line;
  logic [5:0]                         weight_first;
  logic [4:0]                         weight_count;
  logic [BEAT_WORDS-1:0][SINGLE_W-1:0] weights;
  logic                               word_write, word_read;
  word_e                              word_kind;
  logic [S_WORD_W-1:0]                word;
  logic [SINGLE_W-1:0]                word_new, word_old;
  logic                               group_write, group_read;
  logic [M_LINE_W-1:0]                group_line;
  logic [GROUP_LINE-1:0]              group_mask;
  logic [8*GROUP_LINE-1:0]            group_new, group_old;
  jd_sparse_image u_image (
    .clk_i, .rst_ni,
    .clear_i       (image_clear),
    .idle_o        (image_idle),
    .start_i       (image_start),
    .load_i        (image_load),
    .mask_i        (image_mask),
    .kinds_i       (image_kinds),
    .layers_i      (layers),
    .sized_o       (image_sized),
    .lines_o       (image_lines),
    .go_i          (image_go),
    .in_valid_i    (line_valid && !config_runs),
    .in_ready_o    (image_ready),
    .in_data_i     (line),
    .out_valid_o   (out_valid),
    .out_ready_i   (out_ready),
    .out_data_o    (out_line),
    .put_o         (put),
    .get_o         (get),
    .weights_o     (of_weights),
    .line_o        (weight_line),
    .first_o       (weight_first),
    .count_o       (weight_count),
    .get_data_i    (weights),
    .word_write_o  (word_write),
    .word_read_o   (word_read),
    .word_kind_o   (word_kind),
    .word_o        (word),
    .word_data_o   (word_new),
    .word_data_i   (word_old),
    .group_write_o (group_write),
    .group_read_o  (group_read),
    .group_line_o  (group_line),
    .group_mask_o  (group_mask),
    .group_data_o  (group_new),
    .group_data_i  (group_old)
  );

  // ---- Parameters
  logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] unused_gather;
  bias_t                                    unused_bias;
  jd_sparse_params #(.PWords (SparsePWords)) u_params (
    .clk_i, .rst_ni,
    .put_i         (put),
    .put_weights_i (of_weights),
    .put_line_i    (weight_line),
    .put_first_i   (weight_first),
    .put_count_i   (weight_count),
    .put_data_i    (line),
    .get_i         (get),
    .get_weights_i (of_weights),
    .get_line_i    (weight_line),
    .get_first_i   (weight_first),
    .get_data_o    (weights),
    .gather_en_i   ('0),
    .gather_line_i ('0),
    .gather_data_o (unused_gather)
  );
  jd_sparse_words #(.BWords (SparseBWords), .SWords (SparseSWords)) u_words (
    .clk_i, .rst_ni,
    .write_i (word_write),
    .read_i  (word_read),
    .kind_i  (word_kind),
    .word_i  (word),
    .data_i  (word_new),
    .data_o  (word_old),
    .bias_o  (unused_bias)
  );
  logic encode_ready, encode_done, group_ready;
  encoder_clocks_t unused_clocks;
  place_of_t unused_place;
  logic [INDEX_W-1:0] unused_tuple;
  directory_t unused_directory;
  logic [SparseCmpW-1:0] unused_bits;
  jd_sparse_encode #(
    .GMax (SparseGMax), .DMax (SparseDMax), .LMax (SparseLMax), .MRows (SparseMRows),
    .MaxW (SparseMaxW), .CmpW (SparseCmpW), .HitW (SparseHitW), .KeepBv (SparseKeepBv)
  ) u_encode (
    .clk_i, .rst_ni,
    .in_valid_i     (1'b0),
    .in_ready_o     (encode_ready),
    .in_number_i    ('0),
    .in_layer_i     (layers[0]),
    .in_exchanged_i (1'b0),
    .in_uncached_i  (1'b0),
    .done_o         (encode_done),
    .clocks_o       (unused_clocks),
    .write_valid_i  (group_write),
    .write_line_i   (group_line),
    .write_mask_i   (group_mask),
    .write_data_i   (group_new),
    .read_valid_i   (group_read),
    .read_ready_o   (group_ready),
    .read_line_i    (group_line),
    .read_data_o    (group_old),
    .peek_layer_i   ('0),
    .peek_index_i   ('0),
    .peek_place_o   (unused_place),
    .peek_entry_i   ('0),
    .peek_tuple_o   (unused_tuple),
    .directory_o    (unused_directory),
    .peek_group_i   ('0),
    .peek_slice_i   ('0),
    .peek_bits_o    (unused_bits)
  );
  logic unused;
  assign unused = ^{unused_idle, unused_number, unused_value, unused_address, unused_forget,
                    unused_run, unused_clear, unused_count, unused_gather, unused_bias,
                    encode_ready, encode_done, group_ready, unused_clocks, unused_place,
                    unused_tuple, unused_directory, unused_bits};
endmodule : jd_sparse_top
