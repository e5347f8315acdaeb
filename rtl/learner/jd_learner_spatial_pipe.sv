// SPDX-License-Identifier: Apache-2.0
//
// A spatial pipeline of the learner, which can stand in place of jd_learner_pipe. It has a tensor
// unit for each of the target's forward pass, the forward pass, BW and WA.
//
//     samples ----+-------------+--------------+-------------+--------- frames, a copy per reader
//                 v             v              v             v
//            unit 0: DOT   unit 1: DOT    unit 2: AXPY  unit 3: OUTER -> gradients
//              target        online            |
//                 |             |   LOSS       |
//                 +--> rows <---+----+---------+   one per clock, written to all frames: tokens
//
// Streams  as of jd_learner_pipe. The units work side by side, each on the stages whose unit field
//          names it. Units 0, 1 and 2 work on groups of GI samples, stage after stage; unit 3 works
//          sample after sample. A row of results waits in its unit's queue and is written to all
//          copies of the frames; from then on it counts as a token. The unit nearest to the
//          gradients goes first, then the other units, then LOSS, then fetch.
// Timing   Units 0 and 1 take, for a group, the sum of DOT ceil(n_out*p/P) per sample, and the
//          clocks that a stage waits for the one before it. Unit 2: AXPY n_out*ceil(p/P). Unit 3:
//          OUTER max(2, ceil(n_out*p/P)). A step takes the slowest of them over all groups, and the
//          way of one group through the others. A token comes 4 clocks later than in
//          jd_learner_pipe. The counters are those of unit 1.
// Numbers  as of jd_learner_pipe, to the bit. The program must obey the rules of that module, and:
//          each stage's unit is unit_of; there is at most one LOSS. PROGRAM checks these rules.
// Source   onchip_replay 3.2.1 (pipeline of tensor units). Golden model: models/learner/program.py;
//          clocks: models/learner/timing.py, spatial_step.
`include "jd_assert.svh"
module jd_learner_spatial_pipe
  import jd_learner_pkg::*;
#(
  parameter  int unsigned P          = 16,      // lanes of a unit, power of two 8..64
  parameter  int unsigned OB         = P / 4,   // words of a bias row: P/4
  parameter  int unsigned GI         = 8,       // samples of a group, 8..16, >= AddLatency+2
  parameter  int unsigned LW         = 4,       // words of a weight write, divides OB
  parameter  int unsigned MulLatency = 2,       // 1..4
  parameter  int unsigned AddLatency = 2,       // 1..6
  parameter  int unsigned WRows      = 1024,    // rows of P weights; also of OB biases
  parameter  int unsigned ARows      = 2048,    // rows of P words for frames
  parameter  int unsigned BMax       = 64,      // samples of a step, 1..512
  parameter  int unsigned DMax       = 64,      // largest layer, power of two P..512
  parameter  bit          ActorCritic = 1'b0,   // must be 0
  localparam int unsigned RowW       = $clog2(WRows),
  localparam int unsigned BiasW      = RowW + $clog2(OB),
  localparam int unsigned SubW       = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1,
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                abort_i,            // level: drop the step; step_done_o still comes
  // Stage table; written between steps.
  input  logic                stage_write_i,
  input  logic [STAGE_L-1:0]  stage_index_i,
  input  stage_t              stage_data_i,
  // Steps.
  input  logic                step_start_i,       // only if !step_busy_o
  input  step_t               step_i,             // held until step_done_o; frame_rows always
  input  logic [SampleW:0]    samples_ready_i,    // samples 0.. of the step that are complete
  input  logic [NET_MAX-1:0]  update_busy_i,      // networks whose update is not finished
  input  logic [NET_MAX-1:0]  target_busy_i,      // networks whose target's update is not
  output logic                step_busy_o,
  output logic                step_done_o,
  output logic                step_nonfinite_o,   // a NaN or infinity in delta, g, BW or WA
  output logic [STAGE_L-1:0]  nonfinite_stage_o,  // of the smallest {stage, sample}
  output logic [SampleW-1:0]  nonfinite_sample_o,
  output logic                step_index_o,       // an action outside 0..n_a-1
  output logic [SampleW-1:0]  index_sample_o,     // the smallest sample
  // Samples from fetch.
  input  logic                frame_valid_i,
  output logic                frame_ready_o,
  input  logic [15:0]         frame_row_i,        // row of the frame memory
  input  logic [P-1:0]        frame_mask_i,
  input  logic [P-1:0][31:0]  frame_data_i,
  input  logic                scalars_valid_i,
  input  logic                scalars_parity_i,
  input  logic [SampleW-1:0]  scalars_sample_i,
  input  scalars_t            scalars_i,
  // Parameters from WU, TSM and LOAD.
  input  logic                weight_valid_i,
  input  logic                weight_gradient_i,  // a gradient instead, between steps
  input  logic                weight_bias_i,      // biases, else weights
  input  logic [RowW-1:0]     weight_row_i,       // weights: memory row, and group of LW words
  input  logic [SubW-1:0]     weight_sub_i,
  input  logic [BiasW-1:0]    weight_bias_index_i,  // biases: index of word 0, a multiple of LW
  input  logic [LW-1:0]       weight_mask_i,
  input  logic [LW-1:0][31:0] weight_data_i,
  // Gradients to WU.
  input  logic                gradient_read_i,
  input  logic                gradient_bias_i,
  input  logic [RowW-1:0]     gradient_row_i,
  input  logic [SubW-1:0]     gradient_sub_i,
  input  logic [BiasW-1:0]    gradient_bias_index_i,
  output logic                gradient_valid_o,
  output logic [LW-1:0][31:0] gradient_data_o,
  // TD errors.
  output logic                delta_valid_o,
  output logic [SampleW-1:0]  delta_sample_o,
  output logic [31:0]         delta_o,
  // Rows of the frames to INFER, between steps; data one clock later.
  input  logic                result_read_i,
  input  logic [15:0]         result_row_i,
  output logic [P-1:0][31:0]  result_data_o,
  // Counters: per clock, while a step runs.
  output logic                tensor_busy_o,      // the tensor unit starts an operation
  output logic                stall_data_o,       // it waits for samples
  output logic                stall_token_o,      // for an earlier stage, or a turn-around
  output logic                stall_update_o      // for a weight update
);
  localparam int unsigned FrameW  = $clog2(ARows);
  localparam int unsigned READERS = 7;           // of frames: port a of all units, b of 2, 3, LOSS
  localparam int unsigned FORWARD  = 32'(UNIT_FORWARD);
  localparam int unsigned BACKWARD = 32'(UNIT_BACKWARD);
  localparam int unsigned GRADIENT = 32'(UNIT_GRADIENT);
  localparam int unsigned PRODUCERS = 3;         // of rows: units 0 to 2

  if (P < 8 || P > 64) begin : gen_bad_p
    $fatal(1, "jd_learner_spatial_pipe: P=%0d, want 8..64", P);
  end
  if (ActorCritic) begin : gen_bad_actor_critic
    $fatal(1, "jd_learner_spatial_pipe: ActorCritic=1, want 0");
  end
  if (BMax < 1 || BMax > 512) begin : gen_bad_bmax
    $fatal(1, "jd_learner_spatial_pipe: BMax=%0d, want 1..512", BMax);
  end
  if (DMax < P || DMax > 512) begin : gen_bad_dmax
    $fatal(1, "jd_learner_spatial_pipe: DMax=%0d, want P..512", DMax);
  end
  if (WRows < 2 || WRows > 65536 || ARows < 2 || ARows > 65536) begin : gen_bad_rows
    $fatal(1, "jd_learner_spatial_pipe: WRows=%0d ARows=%0d, want 2..65536", WRows, ARows);
  end

  // Units.
  logic [UNITS-1:0]               ended, busy, stall_data, stall_token, stall_update;
  logic [UNITS-1:0]               w_read, a_read, b_read, bias_read, g_read, g_write, gb_read;
  logic [UNITS-1:0]               gb_write;
  logic [UNITS-1:0][15:0]         w_row, a_row, b_row, bias_row, g_row, g_write_row, gb_row;
  logic [UNITS-1:0][15:0]         gb_write_row;
  logic [UNITS-1:0][P-1:0][31:0]  w_data, a_data, b_data, g_data, g_write_data;
  logic [UNITS-1:0][OB-1:0]       gb_write_mask;
  logic [UNITS-1:0][OB-1:0][31:0] bias_data, gb_data, gb_write_data;
  logic [UNITS-1:0]               row_valid, row_ready, row_done;
  logic [UNITS-1:0][5:0]          row_stage;
  logic [UNITS-1:0][15:0]         row;
  logic [UNITS-1:0][P-1:0]        row_mask;
  logic [UNITS-1:0][P-1:0][31:0]  row_data;
  logic [UNITS-1:0]               gradient_done, lanes_bad, bias_bad, loss_starts, loss_goes;
  logic [UNITS-1:0][5:0]          gradient_stage, lanes_stage, bias_stage, loss_new_ids;
  logic [UNITS-1:0][8:0]          lanes_sample, bias_sample;
  stage_t [UNITS-1:0]             loss_news;

  // Loss unit.
  logic                loss_ready, loss_idle, loss_read, loss_write;
  logic                loss_write_grant, loss_done, loss_bad, index_bad, scalars_read;
  stage_t              loss_stage;
  logic [5:0]          loss_id;
  logic [SampleW-1:0]  loss_sample, bad_sample, index_sample, scalars_sample;
  logic [15:0]         loss_read_row, loss_write_row;
  logic [P-1:0]        loss_mask;
  logic [P-1:0][31:0]  loss_data, loss_read_data;
  scalars_t            scalars;

  // --- Rows to the frames: one per clock, through a register.
  logic               write_q, result_q, done_q;
  logic [5:0]         done_stage_q;
  logic [FrameW-1:0]  write_row_q;
  logic [P-1:0]       write_mask_q;
  logic [P-1:0][31:0] write_data_q;
  logic               unit_row;              // a unit has a row; the highest one's is taken
  always_comb begin
    row_ready = '1;
    for (int unsigned u = 1; u < PRODUCERS; u++) begin
      for (int unsigned v = 0; v < u; v++) if (row_valid[u]) row_ready[v] = 1'b0;
    end
  end
  assign unit_row         = row_valid[PRODUCERS-1:0] != '0;
  assign loss_write_grant = !unit_row;
  assign frame_ready_o    = !unit_row && !loss_write;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q  <= 1'b0;
      result_q <= 1'b0;
      done_q   <= 1'b0;
    end else begin
      write_q  <= unit_row || loss_write || frame_valid_i;
      result_q <= unit_row || loss_write;
      done_q   <= !unit_row && loss_done;
      for (int unsigned u = 0; u < PRODUCERS; u++) begin
        if (row_valid[u] && row_ready[u]) done_q <= row_done[u];
      end
    end
    done_stage_q <= loss_id;
    write_row_q  <= loss_write ? FrameW'(loss_write_row) : FrameW'(frame_row_i);
    write_mask_q <= loss_write ? loss_mask : frame_mask_i;
    write_data_q <= loss_write ? loss_data : frame_data_i;
    for (int unsigned u = 0; u < PRODUCERS; u++) begin
      if (row_valid[u]) begin                // the last one counts
        done_stage_q <= row_stage[u];
        write_row_q  <= FrameW'(row[u]);
        write_mask_q <= row_mask[u];
        write_data_q <= row_data[u];
      end
    end
  end

  for (genvar u = 0; u < UNITS; u++) begin : gen_unit
    jd_learner_spatial_unit #(
      .Unit (4'(u)), .P (P), .OB (OB), .GI (GI), .MulLatency (MulLatency),
      .AddLatency (AddLatency), .BMax (BMax), .DMax (DMax)
    ) u_unit (
      .clk_i, .rst_ni, .abort_i,
      .stage_write_i, .stage_index_i, .stage_data_i,
      .step_start_i, .step_i, .samples_ready_i, .update_busy_i, .target_busy_i,
      .ended_o               (ended[u]),
      .done_valid_i          (done_q),
      .done_stage_i          (done_stage_q),
      .gradient_done_valid_i (gradient_done[GRADIENT]),
      .gradient_done_stage_i (gradient_stage[GRADIENT]),
      .w_read_o              (w_read[u]),
      .w_row_o               (w_row[u]),
      .w_data_i              (w_data[u]),
      .a_read_o              (a_read[u]),
      .a_row_o               (a_row[u]),
      .a_data_i              (a_data[u]),
      .b_read_o              (b_read[u]),
      .b_row_o               (b_row[u]),
      .b_data_i              (b_data[u]),
      .bias_read_o           (bias_read[u]),
      .bias_row_o            (bias_row[u]),
      .bias_data_i           (bias_data[u]),
      .g_read_o              (g_read[u]),
      .g_row_o               (g_row[u]),
      .g_data_i              (g_data[u]),
      .g_write_o             (g_write[u]),
      .g_write_row_o         (g_write_row[u]),
      .g_write_data_o        (g_write_data[u]),
      .gb_read_o             (gb_read[u]),
      .gb_row_o              (gb_row[u]),
      .gb_data_i             (gb_data[u]),
      .gb_write_o            (gb_write[u]),
      .gb_write_row_o        (gb_write_row[u]),
      .gb_write_mask_o       (gb_write_mask[u]),
      .gb_write_data_o       (gb_write_data[u]),
      .row_valid_o           (row_valid[u]),
      .row_ready_i           (row_ready[u]),
      .row_done_o            (row_done[u]),
      .row_stage_o           (row_stage[u]),
      .row_o                 (row[u]),
      .row_mask_o            (row_mask[u]),
      .row_data_o            (row_data[u]),
      .gradient_done_valid_o (gradient_done[u]),
      .gradient_done_stage_o (gradient_stage[u]),
      .lanes_bad_o           (lanes_bad[u]),
      .lanes_stage_o         (lanes_stage[u]),
      .lanes_sample_o        (lanes_sample[u]),
      .bias_bad_o            (bias_bad[u]),
      .bias_stage_o          (bias_stage[u]),
      .bias_sample_o         (bias_sample[u]),
      .loss_start_o          (loss_starts[u]),
      .loss_ready_i          (loss_ready && u == FORWARD),
      .loss_stage_o          (loss_news[u]),
      .loss_id_o             (loss_new_ids[u]),
      .loss_wait_i           (u == FORWARD ? loss_stage : stage_t'('0)),
      .loss_sample_i         (u == FORWARD ? loss_sample : '0),
      .loss_go_o             (loss_goes[u]),
      .busy_o                (busy[u]),
      .stall_data_o          (stall_data[u]),
      .stall_token_o         (stall_token[u]),
      .stall_update_o        (stall_update[u])
    );
  end
  assign tensor_busy_o  = busy[FORWARD];
  assign stall_data_o   = stall_data[FORWARD];
  assign stall_token_o  = stall_token[FORWARD];
  assign stall_update_o = stall_update[FORWARD];

  jd_learner_loss #(
    .P (P), .MulLatency (MulLatency), .AddLatency (AddLatency), .BMax (BMax)
  ) u_loss (
    .clk_i, .rst_ni, .abort_i,
    .start_i          (loss_starts[FORWARD]),
    .ready_o          (loss_ready),
    .stage_i          (loss_news[FORWARD]),
    .id_i             (loss_new_ids[FORWARD]),
    .step_i           (step_i),
    .stage_o          (loss_stage),
    .sample_o         (loss_sample),
    .go_i             (loss_goes[FORWARD]),
    .idle_o           (loss_idle),
    .read_o           (loss_read),
    .read_grant_i     (1'b1),
    .read_row_o       (loss_read_row),
    .read_data_i      (loss_read_data),
    .scalars_read_o   (scalars_read),
    .scalars_sample_o (scalars_sample),
    .scalars_i        (scalars),
    .write_o          (loss_write),
    .write_grant_i    (loss_write_grant),
    .write_row_o      (loss_write_row),
    .write_mask_o     (loss_mask),
    .write_data_o     (loss_data),
    .done_valid_o     (loss_done),
    .id_o             (loss_id),
    .delta_valid_o    (delta_valid_o),
    .delta_sample_o   (delta_sample_o),
    .delta_o          (delta_o),
    .bad_o            (loss_bad),
    .bad_sample_o     (bad_sample),
    .index_bad_o      (index_bad),
    .index_sample_o   (index_sample)
  );
  assign result_data_o = loss_read_data;

  // --- Steps.
  logic running_q, told;                     // told: where_q includes everything found
  assign step_busy_o = running_q;
  assign step_done_o = running_q && ended == '1 && loss_idle && !result_q && told;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)           running_q <= 1'b0;
    else if (step_start_i) running_q <= 1'b1;
    else if (step_done_o)  running_q <= 1'b0;
  end

  // The smallest {stage, sample} with a NaN or infinity, and the smallest sample with a bad action.
  // Findings of the units are held for one clock, then compared in pairs, and the smallest is kept.
  // The highest bit is set if nothing was found.
  localparam int unsigned WhereW = STAGE_L + SampleW;
  typedef logic [WhereW:0] where_t;
  where_t where_q, backward_q, gradient_q, bias_q, loss_q, lanes_q, others_q;
  function automatic where_t smaller(input where_t a, input where_t b);
    return a < b ? a : b;
  endfunction
  assign {nonfinite_stage_o, nonfinite_sample_o} = where_q[WhereW-1:0];
  assign step_nonfinite_o = !where_q[WhereW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || step_start_i) begin
      backward_q   <= '1;
      gradient_q   <= '1;
      bias_q       <= '1;
      loss_q       <= '1;
      lanes_q      <= '1;
      others_q     <= '1;
      where_q      <= '1;
      step_index_o <= 1'b0;
    end else begin
      backward_q <= {!lanes_bad[BACKWARD], lanes_stage[BACKWARD], SampleW'(lanes_sample[BACKWARD])};
      gradient_q <= {!lanes_bad[GRADIENT], lanes_stage[GRADIENT], SampleW'(lanes_sample[GRADIENT])};
      bias_q     <= {!bias_bad[GRADIENT], bias_stage[GRADIENT], SampleW'(bias_sample[GRADIENT])};
      loss_q     <= {!loss_bad, loss_id, bad_sample};
      lanes_q    <= smaller(backward_q, gradient_q);
      others_q   <= smaller(bias_q, loss_q);
      where_q    <= smaller(where_q, smaller(lanes_q, others_q));
      if (index_bad) step_index_o <= 1'b1;
    end
    if (index_bad && (!step_index_o || index_sample < index_sample_o)) begin
      index_sample_o <= index_sample;
    end
  end
  assign told = backward_q[WhereW] && gradient_q[WhereW] && bias_q[WhereW] && loss_q[WhereW]
                && lanes_q[WhereW] && others_q[WhereW];

  // --- Memories: a copy of the weights for units 0 to 2, of the biases for 0 and 1, of the frames
  // for each reader.
  logic [2:0][RowW-1:0]               w_rows;
  logic [1:0][RowW-1:0]               bias_rows;
  logic [UNITS-1:0][FrameW-1:0]       a_rows;
  logic [1:0][P-1:0][31:0]            b_pair;
  always_comb begin
    for (int unsigned u = 0; u < 3; u++) w_rows[u] = RowW'(w_row[u]);
    for (int unsigned u = 0; u < 2; u++) bias_rows[u] = RowW'(bias_row[u]);
    for (int unsigned u = 0; u < UNITS; u++) a_rows[u] = FrameW'(a_row[u]);
  end
  assign w_data[GRADIENT]       = '0;
  assign bias_data[GRADIENT:2]  = '0;
  assign b_data                 = {b_pair, {(2 * P * 32){1'b0}}};
  assign g_data[BACKWARD:0]     = '0;
  assign gb_data[BACKWARD:0]    = '0;
  jd_learner_memories #(
    .P (P), .OB (OB), .LW (LW), .WRows (WRows), .ARows (ARows), .BMax (BMax),
    .WPorts (3), .BiasPorts (2), .FramePorts (READERS)
  ) u_memories (
    .clk_i, .rst_ni,
    .weight_valid_i, .weight_gradient_i, .weight_bias_i, .weight_row_i, .weight_sub_i,
    .weight_bias_index_i, .weight_mask_i, .weight_data_i,
    .w_read_i               (w_read[2:0]),
    .w_row_i                (w_rows),
    .w_data_o               (w_data[2:0]),
    .bias_read_i            (bias_read[1:0]),
    .bias_row_i             (bias_rows),
    .bias_data_o            (bias_data[1:0]),
    .g_read_i               (g_read[GRADIENT]),
    .g_row_i                (RowW'(g_row[GRADIENT])),
    .g_data_o               (g_data[GRADIENT]),
    .g_write_i              (g_write[GRADIENT]),
    .g_write_row_i          (RowW'(g_write_row[GRADIENT])),
    .g_write_data_i         (g_write_data[GRADIENT]),
    .gb_read_i              (gb_read[GRADIENT]),
    .gb_row_i               (RowW'(gb_row[GRADIENT])),
    .gb_data_o              (gb_data[GRADIENT]),
    .gb_write_i             (gb_write[GRADIENT]),
    .gb_write_row_i         (RowW'(gb_write_row[GRADIENT])),
    .gb_write_mask_i        (gb_write_mask[GRADIENT]),
    .gb_write_data_i        (gb_write_data[GRADIENT]),
    .gradient_read_i, .gradient_bias_i, .gradient_row_i, .gradient_sub_i, .gradient_bias_index_i,
    .gradient_valid_o, .gradient_data_o,
    .frame_write_i          (write_q),
    .frame_row_i            (write_row_q),
    .frame_mask_i           (write_mask_q),
    .frame_data_i           (write_data_q),
    .read_i                 ({loss_read || result_read_i, b_read[GRADIENT:BACKWARD], a_read}),
    .read_row_i             ({FrameW'(result_read_i ? result_row_i : loss_read_row),
                              FrameW'(b_row[GRADIENT]), FrameW'(b_row[BACKWARD]), a_rows}),
    .read_data_o            ({loss_read_data, b_pair, a_data}),
    .scalars_write_i        (scalars_valid_i),
    .scalars_address_i      ({scalars_parity_i, scalars_sample_i}),
    .scalars_i,
    .scalars_read_i         (scalars_read),
    .scalars_read_address_i ({step_i.parity, scalars_sample}),
    .scalars_o              (scalars)
  );

  logic unused_bits;
  assign unused_bits = ^{w_row, a_row, b_row, bias_row, g_row, g_write_row, gb_row, gb_write_row,
                         row, loss_read_row, loss_write_row, frame_row_i, result_row_i,
                         lanes_bad, lanes_stage, lanes_sample, bias_bad, bias_stage, bias_sample,
                         loss_starts, loss_news, loss_new_ids, loss_goes, gradient_done,
                         gradient_stage, g_read, g_write, g_write_data, gb_read, gb_write,
                         gb_write_mask, gb_write_data, w_read, bias_read, b_read, row_valid,
                         row_done, row_stage, row_mask, row_data, busy, stall_data, stall_token,
                         stall_update};

  `JD_ASSUME_IF(StartWhenIdle_M, step_start_i, !step_busy_o)
  `JD_ASSUME_IF(TableBetweenSteps_M, stage_write_i, !step_busy_o)
  `JD_ASSUME_STREAM(FrameStable_M, frame_valid_i, frame_ready_o,
                    {frame_row_i, frame_mask_i, frame_data_i})
  `JD_ASSUME_IF(GradientsBetweenSteps_M, weight_gradient_i, !step_busy_o)
  `JD_ASSUME_IF(ResultsBetweenSteps_M, result_read_i, !step_busy_o)
  `JD_ASSERT_IF(DeltaInBatch_A, delta_valid_o, 16'(delta_sample_o) < step_i.batch)
  `JD_ASSERT(Readers_A, !w_read[GRADIENT] && bias_read[GRADIENT:2] == '0 && b_read[1:0] == '0)
  `JD_ASSERT(OneOfGradients_A, g_write[BACKWARD:0] == '0 && gb_write[BACKWARD:0] == '0
                               && !row_valid[GRADIENT])
endmodule : jd_learner_spatial_pipe
