// SPDX-License-Identifier: Apache-2.0
//
// A tensor unit of a spatial pipeline, with the sequencer of its stages and the queue of its result
// rows.
//
// Streams  Stage table, steps and tokens as of jd_learner_sequencer; memory reads as of
//          jd_learner_tensor_unit. row_*: its results, a stream of whole rows of a frame with a
//          mask of the lanes that are results. row_done_o: with this row the sample has finished
//          stage row_stage_o. OUTER has no rows; its tokens are gradient_done_*.
// Timing   A row leaves the unit 3 clocks after its last word, or after the first word of the next
//          row. Nothing issues while the queue lacks room for all rows that may be under way.
// Numbers  as of jd_learner_tensor_unit.
// Source   onchip_replay 3.2.1 (tensor units of the stages, FIFOs between them). Golden model:
//          models/learner/mlp.py.
`include "jd_assert.svh"
module jd_learner_spatial_unit
  import jd_learner_pkg::*;
#(
  parameter  logic [3:0]  Unit       = UNIT_FORWARD,
  parameter  int unsigned P          = 16,      // 8..64
  parameter  int unsigned OB         = P / 4,
  parameter  int unsigned GI         = 8,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  parameter  int unsigned BMax       = 64,
  parameter  int unsigned DMax       = 64,
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                abort_i,
  input  logic                stage_write_i,
  input  logic [STAGE_L-1:0]  stage_index_i,
  input  stage_t              stage_data_i,
  input  logic                step_start_i,
  input  step_t               step_i,
  input  logic [SampleW:0]    samples_ready_i,
  input  logic [NET_MAX-1:0]  update_busy_i,
  input  logic [NET_MAX-1:0]  target_busy_i,
  output logic                ended_o,            // all is issued, done and handed on
  // Tokens of all units: rows that are in the frames, samples of OUTER.
  input  logic                done_valid_i,
  input  logic [5:0]          done_stage_i,
  input  logic                gradient_done_valid_i,
  input  logic [5:0]          gradient_done_stage_i,
  // Memories.
  output logic                w_read_o,
  output logic [15:0]         w_row_o,
  input  logic [P-1:0][31:0]  w_data_i,
  output logic                a_read_o,
  output logic [15:0]         a_row_o,
  input  logic [P-1:0][31:0]  a_data_i,
  output logic                b_read_o,
  output logic [15:0]         b_row_o,
  input  logic [P-1:0][31:0]  b_data_i,
  output logic                bias_read_o,
  output logic [15:0]         bias_row_o,
  input  logic [OB-1:0][31:0] bias_data_i,
  output logic                g_read_o,
  output logic [15:0]         g_row_o,
  input  logic [P-1:0][31:0]  g_data_i,
  output logic                g_write_o,
  output logic [15:0]         g_write_row_o,
  output logic [P-1:0][31:0]  g_write_data_o,
  output logic                gb_read_o,
  output logic [15:0]         gb_row_o,
  input  logic [OB-1:0][31:0] gb_data_i,
  output logic                gb_write_o,
  output logic [15:0]         gb_write_row_o,
  output logic [OB-1:0]       gb_write_mask_o,
  output logic [OB-1:0][31:0] gb_write_data_o,
  // Results.
  output logic                row_valid_o,
  input  logic                row_ready_i,
  output logic                row_done_o,
  output logic [5:0]          row_stage_o,
  output logic [15:0]         row_o,
  output logic [P-1:0]        row_mask_o,
  output logic [P-1:0][31:0]  row_data_o,
  output logic                gradient_done_valid_o,
  output logic [5:0]          gradient_done_stage_o,
  output logic                lanes_bad_o,
  output logic [5:0]          lanes_stage_o,
  output logic [8:0]          lanes_sample_o,
  output logic                bias_bad_o,
  output logic [5:0]          bias_stage_o,
  output logic [8:0]          bias_sample_o,
  // Loss unit.
  output logic                loss_start_o,
  input  logic                loss_ready_i,
  output stage_t              loss_stage_o,
  output logic [5:0]          loss_id_o,
  input  stage_t              loss_wait_i,
  input  logic [SampleW-1:0]  loss_sample_i,
  output logic                loss_go_o,
  // Counters.
  output logic                busy_o,
  output logic                stall_data_o,
  output logic                stall_token_o,
  output logic                stall_update_o
);
  localparam int unsigned LANE_L = $clog2(P);
  localparam int unsigned LADDER = (DMax > P) ? $clog2(DMax / P) : 0;
  // Rows that may still come after the queue has stopped the issue: one for every clock from an
  // operation to its row, the registers at both ends included.
  localparam int unsigned UNDER_WAY = MulLatency + AddLatency * (LANE_L + LADDER + 1) + 12;
  localparam int unsigned ROOM      = 8;                   // rows that wait without a stop
  localparam int unsigned DEPTH     = UNDER_WAY + ROOM;
  localparam int unsigned CountW    = $clog2(DEPTH + 1);
  localparam int unsigned PART      = P < 16 ? P : 16;     // lanes of a part of the queue

  logic       operation_valid, unit_empty, sequencer_ended, hold_q;
  operation_t operation;
  assign busy_o = operation_valid;
  jd_learner_sequencer #(
    .P (P), .OB (OB), .GI (GI), .MulLatency (MulLatency), .AddLatency (AddLatency), .BMax (BMax),
    .Spatial (1'b1), .Unit (Unit)
  ) u_sequencer (
    .clk_i, .rst_ni, .abort_i,
    .stage_write_i, .stage_index_i, .stage_data_i,
    .step_start_i, .step_i, .samples_ready_i, .update_busy_i, .target_busy_i,
    .ended_o           (sequencer_ended),
    .done_valid_i, .done_stage_i,
    .loss_done_valid_i (gradient_done_valid_i),
    .loss_done_stage_i (gradient_done_stage_i),
    .valid_o           (operation_valid),
    .operation_o       (operation),
    .loss_start_o, .loss_ready_i, .loss_stage_o, .loss_id_o, .loss_wait_i, .loss_sample_i,
    .loss_go_o,
    .hold_i            (hold_q),
    .stall_data_o, .stall_token_o, .stall_update_o
  );

  logic               result_valid, done_valid;
  logic [5:0]         done_stage;
  logic [15:0]        result_row;
  logic [P-1:0]       result_mask;
  logic [P-1:0][31:0] result_data;
  jd_learner_tensor_unit #(
    .P (P), .OB (OB), .GI (GI), .MulLatency (MulLatency), .AddLatency (AddLatency), .DMax (DMax)
  ) u_tensor_unit (
    .clk_i, .rst_ni,
    .clear_i       (step_start_i),
    .valid_i       (operation_valid),
    .operation_i   (operation),
    .empty_o       (unit_empty),
    .w_read_o, .w_row_o, .w_data_i,
    .a_read_o, .a_row_o, .a_data_i,
    .b_read_o, .b_row_o, .b_data_i,
    .bias_read_o, .bias_row_o, .bias_data_i,
    .g_read_o, .g_row_o, .g_data_i, .g_write_o, .g_write_row_o, .g_write_data_o,
    .gb_read_o, .gb_row_o, .gb_data_i, .gb_write_o, .gb_write_row_o, .gb_write_mask_o,
    .gb_write_data_o,
    .frame_write_o (result_valid),
    .frame_row_o   (result_row),
    .frame_mask_o  (result_mask),
    .frame_data_o  (result_data),
    .done_valid_o  (done_valid),
    .done_stage_o  (done_stage),
    .lanes_bad_o, .lanes_stage_o, .lanes_sample_o, .bias_bad_o, .bias_stage_o, .bias_sample_o
  );
  assign gradient_done_valid_o = done_valid && !result_valid;
  assign gradient_done_stage_o = done_stage;

  // --- A row is open from its first word on; it leaves with the sample's last word, else when a word
  // of another row comes.
  logic               open_q, last_q, push, same, row_ready;
  logic [5:0]         stage_q;
  logic [15:0]        row_q;
  logic [P-1:0]       mask_q;
  logic [P-1:0][31:0] data_q;
  assign same = open_q && !last_q && result_row == row_q;
  assign push = open_q && (last_q || (result_valid && !same));
  always_ff @(posedge clk_i) begin
    if (!rst_ni || step_start_i) open_q <= 1'b0;       // an abort may leave an open row
    else if (result_valid)       open_q <= 1'b1;
    else if (push)               open_q <= 1'b0;
    if (result_valid) begin
      last_q  <= done_valid;
      stage_q <= done_stage;
      row_q   <= result_row;
      mask_q  <= same ? mask_q | result_mask : result_mask;
      for (int unsigned l = 0; l < P; l++) if (result_mask[l]) data_q[l] <= result_data[l];
    end
  end

  // The queue, as wide as a row in parts that go in step.
  logic [CountW-1:0] count;
  jd_stream_fifo #(.Width (23), .Depth (DEPTH)) u_rows (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (push),
    .in_ready_o  (row_ready),
    .in_data_i   ({last_q, stage_q, row_q}),
    .out_valid_o (row_valid_o),
    .out_ready_i (row_ready_i),
    .out_data_o  ({row_done_o, row_stage_o, row_o}),
    .count_o     (count)
  );
  for (genvar k = 0; k < P / PART; k++) begin : gen_part
    jd_stream_fifo #(.Width (33 * PART), .Depth (DEPTH)) u_part (
      .clk_i, .rst_ni,
      .clear_i     (1'b0),
      .in_valid_i  (push),
      .in_ready_o  (),
      .in_data_i   ({mask_q[k*PART+:PART], data_q[k*PART+:PART]}),
      .out_valid_o (),
      .out_ready_i (row_ready_i),
      .out_data_o  ({row_mask_o[k*PART+:PART], row_data_o[k*PART+:PART]}),
      .count_o     ()
    );
  end
  always_ff @(posedge clk_i) hold_q <= count >= CountW'(ROOM);
  assign ended_o = sequencer_ended && !operation_valid && unit_empty && !(open_q && last_q)
                   && count == '0;

  `JD_ASSERT_IF(RowHasRoom_A, push, row_ready)
  `JD_ASSERT_IF(GradientsHaveNoRow_A, done_valid, result_valid == (Unit != UNIT_GRADIENT))
  logic unused_ready;
  assign unused_ready = row_ready;
endmodule : jd_learner_spatial_unit
