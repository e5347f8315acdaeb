// SPDX-License-Identifier: Apache-2.0
//
// All blocks that compute: the sequencer, the memories of weights and targets, and the cores.
//
//   pass -> sequencer -> entries ------> cores, in step
//                    \-> wmem, weights --^  ^ lanes of all cores (IL)
//                         \-> bias lines ---/
//
// Streams  pass: as in jd_qat_sequencer. weight_*: single lines of W and T. adam_*: the optimizer's
//          lines of W and T; adam_next_i comes one clock before they are read. line_*: a line into
//          slots of the chosen cores, a different line for each. slot_*: reads a line of a slot,
//          from one core or from all. seen_*: for the monitor of each core. mu_*: the actor's last
//          line of the acting slot. reserve, drain, tile, bias: results of dW, as jd_qat_update
//          takes them; first, update and layer of biases are those of the tile.
// Timing   those of its blocks. Entries come to all cores in the same clock, and so do seen lines.
// Numbers  those of its blocks. over_*: words of all cores that saturated in this clock.
// Source   FIXAR V (architecture); docs/qat.md.
`include "jd_assert.svh"
module jd_qat_cores
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw        = 16,          // 4, 8, 16
  parameter  int unsigned N         = 2,           // cores: 1, 2, 4
  parameter  int unsigned Slots     = 64,          // of a core
  parameter  int unsigned ActLines  = 160,
  parameter  int unsigned DelLines  = 80,
  parameter  int unsigned WLines    = 20480,
  parameter  int unsigned TanhLanes = 4,
  localparam int unsigned CoreW     = $clog2(N) > 0 ? $clog2(N) : 1,
  localparam int unsigned OverW     = $clog2(2 * Lw * N + 1),
  localparam int unsigned WordsW    = $clog2(Lw + 1)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,
  output logic                             idle_o,
  input  layer_t [NETS-1:0][LAYERS-1:0]    layers_i,
  input  logic [TENSORS-1:0][SHIFT_W-1:0]  shifts_i,
  input  logic                             pass_valid_i,
  output logic                             pass_ready_o,
  input  pass_t                            pass_i,
  // Lines of W and T
  input  logic                             weight_read_i,
  output logic                             weight_ready_o,
  input  logic                             weight_write_i,
  input  logic                             weight_target_i,
  input  logic [LINE_W-1:0]                weight_address_i,
  input  logic [Lw-1:0][WORD_W-1:0]        weight_line_i,
  output logic                             weight_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]        weight_line_o,
  // Lines of W and T, in this order, for the optimizer
  input  logic                             adam_next_i,
  input  logic                             adam_read_i,
  input  logic [LINE_W-1:0]                adam_source_i,
  output logic [1:0][Lw-1:0][WORD_W-1:0]   adam_lines_o,   // 3 clocks later
  input  logic                             adam_write_i,
  input  logic [LINE_W-1:0]                adam_sink_i,
  input  logic [1:0][Lw-1:0][WORD_W-1:0]   adam_lines_i,
  // Lines of slots
  input  logic                             line_valid_i,
  output logic                             line_ready_o,
  input  logic [N-1:0]                     line_cores_i,
  input  logic                             line_delta_i,
  input  logic                             line_odd_i,
  input  logic [ADDRESS_W-1:0]             line_address_i,
  input  logic [1:0]                       line_half_i,
  input  logic [N-1:0][Lw-1:0][WORD_W-1:0] line_data_i,
  input  logic                             slot_read_i,
  input  logic                             slot_all_i,     // cores
  input  logic [CoreW-1:0]                 slot_core_i,    // till the line shows
  input  logic                             slot_delta_i,
  input  logic                             slot_odd_i,
  input  logic [ADDRESS_W-1:0]             slot_address_i,
  output logic                             slot_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]        slot_line_o,
  output logic [N-1:0][Lw-1:0][WORD_W-1:0] slot_lines_o,   // of all cores
  // dW, for jd_qat_grad: what is announced, columns of a tile with its fields, sums of deltas
  output logic                             reserve_o,
  output logic [WordsW-1:0]                reserve_rows_o,
  input  logic                             room_i,
  output logic                             reserve_bias_o,
  output logic                             reserve_update_o,
  output logic [1:0]                       reserve_layer_o,
  input  logic                             bias_room_i,
  input  logic [LAYERS-1:0]                updates_i,      // of layers that are to be updated
  output logic                             drain_valid_o,
  output logic                             drain_opens_o,
  output logic [N-1:0][Lw-1:0][1:0][ACC_W-1:0] drain_sums_o,
  output logic [LINE_W-1:0]                tile_line_o,
  output logic [LINE_W-1:0]                tile_stride_o,
  output logic [WordsW-1:0]                tile_words_o,
  output logic                             tile_half_o,
  output logic [SHIFT_W-1:0]               tile_up_o,
  output logic                             tile_first_o,
  output logic                             tile_update_o,
  output logic [1:0]                       tile_layer_o,
  output logic                             bias_valid_o,
  output logic [N-1:0][Lw-1:0][DELTA_W-1:0] bias_sums_o,
  output logic [LINE_W-1:0]                bias_line_o,
  output logic [WordsW-1:0]                bias_words_o,
  output logic                             mu_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]        mu_o,
  // What is seen and counted
  output logic [N-1:0]                     seen_valid_o,
  output logic [N-1:0][TENSOR_W-1:0]       seen_tensor_o,
  output logic [N-1:0][Lw-1:0][WORD_W-1:0] seen_line_o,
  output logic [OverW-1:0]                 over_z_o,
  output logic [OverW-1:0]                 over_delta_o,
  output logic [OverW-1:0]                 over_quantized_o,
  output logic                             entry_valid_o,   // each core takes an entry
  output logic                             entry_alone_o,
  output pass_e                            entry_pass_o,
  output logic                             load_alone_o,    // one loads for the acting vector alone
  output logic                             waits_o,
  output logic                             full_o           // waits for room of jd_qat_grad
);
  localparam int unsigned CountW = $clog2(2 * Lw + 1);

  logic                             load_valid, entry_valid, bias_valid, bias_ready, bias_target;
  logic                             come, sequencer_idle;
  weights_t                         load;
  entry_t                           entry;
  logic [LINE_W-1:0]                bias_address;
  logic [N-1:0][1:0]                written, whole;
  logic [ROWS_W-1:0]                reserve_rows;
  jd_qat_sequencer #(.Lw (Lw), .N (N)) u_sequencer (
    .clk_i, .rst_ni, .clear_i,
    .idle_o         (sequencer_idle),
    .layers_i, .shifts_i, .pass_valid_i, .pass_ready_o, .pass_i,
    .hold_i         (adam_next_i),
    .load_valid_o   (load_valid),
    .load_o         (load),
    .entry_valid_o  (entry_valid),
    .entry_o        (entry),
    .bias_valid_o   (bias_valid),
    .bias_ready_i   (bias_ready),
    .bias_target_o  (bias_target),
    .bias_address_o (bias_address),
    .come_i         (come),
    .written_i      (written[0]),
    .whole_i        (whole[0]),
    .reserve_o,
    .reserve_rows_o (reserve_rows),
    .reserve_bias_o, .reserve_update_o, .reserve_layer_o, .updates_i,
    .room_i, .bias_room_i, .waits_o, .full_o
  );
  assign entry_valid_o = entry_valid;
  assign entry_alone_o = acts_alone(entry.tile);
  assign entry_pass_o  = entry.tile.pass;
  assign load_alone_o  = load_valid && load.alone;

  logic                             line_valid, line_by_row, line_opens;
  logic [3:0]                       line_index;
  logic [N-1:0][Lw-1:0][WORD_W-1:0] lines;
  logic [Lw-1:0][WORD_W-1:0]        bias_line;
  logic [N-1:0]                     bias_pop;
  jd_qat_wmem #(.Lw (Lw), .N (N), .Lines (WLines)) u_weights (
    .clk_i, .rst_ni, .clear_i,
    .load_valid_i    (load_valid),
    .load_i          (load),
    .load_valid_o    (line_valid),
    .load_by_row_o   (line_by_row),
    .load_index_o    (line_index),
    .load_opens_o    (line_opens),
    .load_lines_o    (lines),
    .bias_valid_i    (bias_valid),
    .bias_ready_o    (bias_ready),
    .bias_target_i   (bias_target),
    .bias_address_i  (bias_address),
    .bias_come_o     (come),
    .bias_pop_i      (bias_pop[0]),
    .bias_line_o     (bias_line),
    .read_valid_i    (weight_read_i),
    .read_ready_o    (weight_ready_o),
    .read_target_i   (weight_target_i),
    .read_address_i  (weight_address_i),
    .read_valid_o    (weight_valid_o),
    .read_line_o     (weight_line_o),
    .write_valid_i   (weight_write_i),
    .write_target_i  (weight_target_i),
    .write_address_i (weight_address_i),
    .write_line_i    (weight_line_i),
    .adam_read_i, .adam_source_i, .adam_lines_o,
    .adam_write_i, .adam_sink_i, .adam_lines_i
  );

  // ---- dW: the fields of the tile that has closed, until the next one has
  typedef struct packed {
    logic               half;
    logic               fresh;
    logic               update;
    logic [1:0]         layer;
    logic [SHIFT_W-1:0] up;
    logic [ROWS_W-1:0]  rows;
    logic [ROWS_W-1:0]  words;
    logic [TILES_W-1:0] stride;
    logic [LINE_W-1:0]  line;
    logic [LINE_W-1:0]  bias_line;
  } gradient_t;
  gradient_t gradient, gradient_q4, gradient_q5;
  logic      closes_q4;
  assign gradient = '{half: entry.tile.half, fresh: entry.tile.fresh, update: entry.tile.update,
                      layer: entry.tile.layer, up: entry.tile.up, rows: entry.tile.rows,
                      words: entry.tile.words,
                      stride: entry.tile.stride, line: entry.tile.line,
                      bias_line: entry.tile.bias_line};
  jd_delay #(.Width ($bits(gradient_t)), .Cycles (OPERAND_STAGE - 1), .Clear (1'b0)) u_gradient (
    .clk_i, .rst_ni, .in_i (gradient), .out_o (gradient_q4)
  );
  jd_delay #(.Width (1), .Cycles (OPERAND_STAGE - 1)) u_closes (
    .clk_i, .rst_ni,
    .in_i  (entry_valid && entry.closes && entry.tile.pass == PassDw),
    .out_o (closes_q4)
  );
  always_ff @(posedge clk_i) if (closes_q4) gradient_q5 <= gradient_q4;
  assign reserve_rows_o = WordsW'(reserve_rows);
  assign tile_line_o    = gradient_q5.line;
  assign tile_stride_o  = LINE_W'(gradient_q5.stride);
  assign tile_words_o   = WordsW'(gradient_q5.words);
  assign tile_half_o    = gradient_q5.half;
  assign tile_up_o      = gradient_q5.up;
  assign tile_first_o   = gradient_q5.fresh;
  assign tile_update_o  = gradient_q5.update;
  assign tile_layer_o   = gradient_q5.layer;
  assign bias_line_o    = gradient_q5.bias_line;
  assign bias_words_o   = WordsW'(gradient_q5.rows);

  // ---- Cores
  logic [N-1:0]                         drain_valid, drain_opens, bias_sums_valid;
  logic [N-1:0]                         core_idle, line_ready, slot_valid, mu_valid;
  logic [N-1:0][Lw-1:0][WORD_W-1:0]     mu;
  logic [N-1:0][Lw-1:0][1:0][ACC_W-1:0] lanes;
  logic [Lw-1:0][1:0][ACC_W-1:0]        lane_sums;
  logic [N-1:0][CountW-1:0]             over_z, over_delta, over_quantized;
  always_comb begin
    lane_sums        = '0;
    over_z_o         = '0;
    over_delta_o     = '0;
    over_quantized_o = '0;
    for (int unsigned c = 0; c < N; c++) begin
      for (int unsigned j = 0; j < Lw; j++) begin
        for (int unsigned lane = 0; lane < 2; lane++) begin
          lane_sums[j][lane] = lane_sums[j][lane] + lanes[c][j][lane];
        end
      end
      over_z_o         = over_z_o + OverW'(over_z[c]);
      over_delta_o     = over_delta_o + OverW'(over_delta[c]);
      over_quantized_o = over_quantized_o + OverW'(over_quantized[c]);
    end
  end
  assign line_ready_o  = (line_cores_i & ~line_ready) == '0;
  assign slot_valid_o  = slot_valid[slot_core_i];
  assign slot_line_o   = slot_lines_o[slot_core_i];
  assign idle_o        = sequencer_idle && core_idle[0];
  assign mu_valid_o    = mu_valid[0];
  assign mu_o          = mu[0];
  assign drain_valid_o = drain_valid[0];
  assign drain_opens_o = drain_opens[0];
  assign bias_valid_o  = bias_sums_valid[0];
  for (genvar c = 0; c < N; c++) begin : gen_core
    jd_qat_core #(
      .Lw (Lw), .N (N), .Index (c), .Slots (Slots), .ActLines (ActLines), .DelLines (DelLines),
      .TanhLanes (TanhLanes)
    ) u_core (
      .clk_i, .rst_ni, .clear_i,
      .idle_o           (core_idle[c]),
      .load_valid_i     (line_valid),
      .load_by_row_i    (line_by_row),
      .load_index_i     (line_index),
      .load_opens_i     (line_opens),
      .load_line_i      (lines[c]),
      .entry_valid_i    (entry_valid),
      .entry_i          (entry),
      .written_o        (written[c]),
      .whole_o          (whole[c]),
      .bias_line_i      (bias_line),
      .bias_pop_o       (bias_pop[c]),
      .lanes_o          (lanes[c]),
      .lanes_i          (lane_sums),
      .drain_valid_o    (drain_valid[c]),
      .drain_opens_o    (drain_opens[c]),
      .drain_sums_o     (drain_sums_o[c]),
      .bias_valid_o     (bias_sums_valid[c]),
      .bias_sums_o      (bias_sums_o[c]),
      .mu_valid_o       (mu_valid[c]),
      .mu_o             (mu[c]),
      .seen_valid_o     (seen_valid_o[c]),
      .seen_tensor_o    (seen_tensor_o[c]),
      .seen_line_o      (seen_line_o[c]),
      .over_z_o         (over_z[c]),
      .over_delta_o     (over_delta[c]),
      .over_quantized_o (over_quantized[c]),
      .line_valid_i     (line_valid_i && line_ready_o && line_cores_i[c]),
      .line_ready_o     (line_ready[c]),
      .line_delta_i, .line_odd_i, .line_address_i, .line_half_i,
      .line_data_i      (line_data_i[c]),
      .read_valid_i     (slot_read_i && (slot_all_i || slot_core_i == CoreW'(c))),
      .read_delta_i     (slot_delta_i),
      .read_odd_i       (slot_odd_i),
      .read_address_i   (slot_address_i),
      .read_valid_o     (slot_valid[c]),
      .read_data_o      (slot_lines_o[c])
    );
  end
  if (N > 1) begin : gen_unused
    logic unused;
    assign unused = ^{written[N-1:1], whole[N-1:1], bias_pop[N-1:1], core_idle[N-1:1],
                      drain_valid[N-1:1], drain_opens[N-1:1], mu_valid[N-1:1], mu[N-1:1],
                      bias_sums_valid[N-1:1]};
  end
endmodule : jd_qat_cores
