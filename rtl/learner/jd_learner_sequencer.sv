// SPDX-License-Identifier: Apache-2.0
//
// Goes through the stage table and issues the operations of a step, one per clock.
//
// Streams  A stage is read from the table while the stage before it runs. LOSS goes to the loss
//          unit as soon as it is read and runs beside the tensor unit. WU, TSM and delayed stages
//          that are not due are skipped. The walk begins at the first stage of the step.
//          A stage issues sample b when all its dependencies have finished b and b is in the frame
//          memory. A stage begins when the weights that it reads are those of the step: after the
//          update of its network and of the networks in its wait mask, for a target after its copy,
//          and for OUTER after all updates, because they read gradients.
//          In a spatial pipeline a sequencer takes only the stages of its unit. The sequencer of
//          the gradients takes them in this order; the others go group after group: all their
//          stages for GI samples, then for the next GI. LOSS goes to the loss unit with the first
//          group, for all samples. hold_i (spatial): nothing issues in this clock.
// Timing   Operations follow each other without a gap: within a stage, from stage to stage, and in
//          a chain of OUTER stages from layer to layer and sample to sample. There are gaps only
//          - for dependencies,
//          - for AXPY groups that are not full,
//          - between the samples of a chain shorter than AddLatency + 3,
//          - for the turn-around: an operation waits until those before it have left the adders and
//            result registers that it needs; a DOT stage waits one clock at least,
//          - after visits of one clock: one visit every other clock at most.
//          A DOT with a tangent issues an operation every P/p clocks, one for each of its outputs;
//          a stage without a tangent waits until these have left. A stage sees a sample's token
//          three clocks after the sample has passed, and a new sample after one. A stage begins
//          three clocks after the end of the update for which it waits.
// Numbers  none.
// Source   onchip_replay 3.2.1. Golden model: models/learner/learner.py; clocks: timing.py.
`include "jd_assert.svh"
module jd_learner_sequencer
  import jd_learner_pkg::*;
#(
  parameter  int unsigned P          = 16,
  parameter  int unsigned OB         = P / 4,
  parameter  int unsigned GI         = 8,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  parameter  int unsigned BMax       = 64,
  parameter  bit          ActorCritic = 1'b0,     // phases, delayed stages and tangents
  parameter  bit          Spatial    = 1'b0,      // the stages of a unit alone
  parameter  logic [3:0]  Unit       = 4'd0,      // UNIT_*
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                abort_i,
  // Stage table.
  input  logic                stage_write_i,
  input  logic [STAGE_L-1:0]  stage_index_i,
  input  stage_t              stage_data_i,
  // The step.
  input  logic                step_start_i,
  input  step_t               step_i,
  input  logic [SampleW:0]    samples_ready_i,
  input  logic [NET_MAX-1:0]  update_busy_i,      // networks whose weights will change; the bits
  input  logic [NET_MAX-1:0]  target_busy_i,      // and those of targets only fall during a step
  output logic                ended_o,            // every stage was issued; the adders are done
  // Tokens: samples that have passed a stage.
  input  logic                done_valid_i,       // of the tensor unit
  input  logic [5:0]          done_stage_i,
  input  logic                loss_done_valid_i,
  input  logic [5:0]          loss_done_stage_i,
  // Tensor unit.
  output logic                valid_o,            // registers
  output operation_t          operation_o,
  // Loss unit.
  output logic                loss_start_o,
  input  logic                loss_ready_i,
  output stage_t              loss_stage_o,
  output logic [5:0]          loss_id_o,
  input  stage_t              loss_wait_i,        // the stage in the loss unit
  input  logic [SampleW-1:0]  loss_sample_i,      // and the sample for which it waits
  output logic                loss_go_o,          // that sample's dependencies are done
  input  logic                hold_i,
  // Counters.
  output logic                stall_data_o,
  output logic                stall_token_o,
  output logic                stall_update_o
);
  localparam int unsigned LANE_L = $clog2(P);
  localparam int unsigned OB_L   = $clog2(OB);
  localparam int unsigned PERIOD = AddLatency + 3;     // clocks between uses of a gradient word
  localparam int unsigned PeriodW = $clog2(PERIOD + 1);
  localparam int unsigned TurnW  = 8;
  localparam bit          GROUPED = Spatial && Unit != UNIT_GRADIENT;
  localparam int unsigned TANH   = 7 + 2 * MulLatency + 3 * AddLatency;   // clocks of a tangent
  function automatic logic passed(input logic [7:0] dep);   // there is nothing to wait for
    return dep == NO_STAGE || dep < step_i.first;
  endfunction

  // --- Tokens.
  logic [STAGE_MAX-1:0][SampleW:0] done_q;
  always_ff @(posedge clk_i) begin
    if (step_start_i) begin
      done_q <= '0;
    end else if (done_valid_i || loss_done_valid_i) begin
      // Each counter counts by itself: no selection before the sum.
      for (int unsigned k = 0; k < STAGE_MAX; k++) begin
        if ((done_valid_i && done_stage_i == 6'(k))
            || (loss_done_valid_i && loss_done_stage_i == 6'(k))) done_q[k] <= done_q[k] + 1'b1;
      end
    end
  end
  function automatic logic [SampleW:0] count_of(input logic [7:0] stage);
    return done_q[stage[STAGE_L-1:0]];
  endfunction

  // Progress, one clock ago, of the stages that the loss unit's stage depends on. The unit looks at
  // it from its second clock with the stage on.
  logic [2:0][SampleW:0] loss_counts_q;
  logic [2:0]            loss_free_q, loss_passed;
  always_ff @(posedge clk_i) begin
    loss_counts_q <= {count_of(loss_wait_i.dep_c), count_of(loss_wait_i.dep_b),
                      count_of(loss_wait_i.dep_a)};
    loss_free_q   <= {passed(loss_wait_i.dep_c), passed(loss_wait_i.dep_b),
                      passed(loss_wait_i.dep_a)};
  end
  always_comb begin
    for (int unsigned k = 0; k < 3; k++) begin
      loss_passed[k] = loss_free_q[k] || loss_counts_q[k] > {1'b0, loss_sample_i};
    end
  end

  // --- The walk: the stage table's next entry, and the sample for which a chain comes by. The
  // entry after it is read ahead; it is taken one clock after it came, when it was checked.
  logic               next_valid_q, next_checked_q, next_take, walk_on, ahead_valid_q, ahead_take;
  stage_t             next, ahead;
  logic [7:0]         id_q, chain_id_q, id_d;
  logic [SampleW-1:0] walk_sample_q, sample_d, last_sample_q;
  logic [15:0]        walk_frame_q;                    // first row of that sample's frame
  logic [7:0]         id_after, last_id_q;
  logic               chain_back, table_read;
  logic               walk_last_q, walk_last_d;                 // walk_sample_q is the last sample
  logic               walk_next_last_q, single_q;               // the next one is; there is one
  logic               next_unit_q, next_loss_q;                 // its unit
  logic               next_end_q, next_inner_q;                 // it ends a chain; it does not
  logic               next_clear_q;                             // its weights are there
  logic [NET_MAX-1:0] next_net, next_waits;
  assign next_net   = NET_MAX'(1) << next.net;
  assign next_waits = next.wait_update | (next.op == OpOuter ? '1 : next.target ? '0 : next_net);
  jd_mem_1r1w #(
    .Depth       (STAGE_MAX),
    .Lanes       (1),
    .LaneW       (STAGE_W),
    .ReadLatency (1)
  ) u_table (
    .clk_i, .rst_ni,
    .write_en_i   (stage_write_i),
    .write_addr_i (stage_index_i),
    .write_mask_i (1'b1),
    .write_data_i (stage_data_i),
    .read_en_i    (table_read),
    .read_addr_i  (step_start_i ? step_i.first[STAGE_L-1:0] : id_after[STAGE_L-1:0]),
    .read_data_o  (ahead)
  );

  logic take_unit, take_loss, take_none;
  logic skipped;                      // a delayed stage that is not due, a stage of another unit

  // The samples of the walk: all, or those of a group.
  logic               again;          // after this stage the first stage comes with the next group
  logic               later;          // the entry taken from the table is not of the first group
  logic [SampleW-1:0] first_sample;
  logic [15:0]        first_frame;    // first row of that sample's frame
  if (GROUPED) begin : gen_groups
    logic [SampleW:0]   next_first_q, next_last_q;     // of the next group
    logic               more_q, later_q;               // there is a next group
    logic [SampleW-1:0] first_q;
    logic [15:0]        frame_q, group_rows_q;
    assign again        = more_q && id_q == last_id_q;
    assign later        = later_q || (next_take && again);
    assign first_sample = first_q;
    assign first_frame  = frame_q;
    always_ff @(posedge clk_i) begin
      group_rows_q <= 16'(GI) * 16'(step_i.frame_rows);
      next_first_q <= {1'b0, first_q} + (SampleW + 1)'(GI);
      next_last_q  <= {1'b0, first_q} + (SampleW + 1)'(2 * GI - 1);
      more_q       <= 16'(first_q) + 16'(GI) < step_i.batch;
      if (step_start_i) begin
        first_q       <= '0;
        frame_q       <= '0;
        later_q       <= 1'b0;
        more_q        <= step_i.batch > 16'(GI);
        last_sample_q <= step_i.batch > 16'(GI) ? SampleW'(GI - 1) : SampleW'(step_i.batch - 16'd1);
      end else if (next_take && again) begin
        first_q       <= next_first_q[SampleW-1:0];
        frame_q       <= frame_q + group_rows_q;
        later_q       <= 1'b1;
        more_q        <= 16'(next_last_q) + 16'd1 < step_i.batch;
        last_sample_q <= 16'(next_last_q) < step_i.batch ? next_last_q[SampleW-1:0]
                                                         : SampleW'(step_i.batch - 16'd1);
      end
    end
  end else begin : gen_whole
    assign again        = 1'b0;
    assign later        = 1'b0;
    assign first_sample = '0;
    assign first_frame  = '0;
    always_ff @(posedge clk_i) last_sample_q <= SampleW'(step_i.batch - 16'd1);
  end
  assign skipped    = (ActorCritic && ahead.delayed && !step_i.due)
                      || (Spatial && ahead.unit != Unit);
  assign chain_back = next_end_q && !walk_last_q;
  assign next_take  = take_unit || take_loss || take_none;
  always_comb begin
    id_d     = id_q;
    sample_d = walk_sample_q;
    if (step_start_i) begin
      id_d     = step_i.first;
      sample_d = '0;
    end else if (next_take) begin
      id_d = id_after;
      if (chain_back) begin
        sample_d = walk_sample_q + 1'b1;
      end else begin
        if (!next_inner_q) sample_d = '0;
      end
    end
  end
  // The successor of an entry is known before the entry is taken.
  assign id_after   = chain_back ? chain_id_q : again ? step_i.first : id_q + 8'd1;
  assign walk_last_d = chain_back ? walk_next_last_q : next_inner_q ? walk_last_q : single_q;
  assign walk_on    = chain_back || again || id_q != last_id_q;
  assign table_read = step_start_i || (next_valid_q && !ahead_valid_q && walk_on);
  assign ahead_take = ahead_valid_q && (!next_valid_q || next_take);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i) begin
      next_valid_q  <= 1'b0;
      ahead_valid_q <= 1'b0;
    end else begin
      next_valid_q  <= !step_start_i && (ahead_take || (next_valid_q && !next_take));
      ahead_valid_q <= table_read || (ahead_valid_q && !ahead_take);
    end
    next_checked_q <= next_valid_q && !next_take && !abort_i && !step_start_i;
    next_clear_q   <= (update_busy_i & next_waits) == '0
                      && (!next.target || (target_busy_i & next_net) == '0);
    if (ahead_take) begin
      next         <= ahead;
      next_unit_q  <= ahead.op inside {OpDot, OpAxpy, OpOuter} && !skipped;
      next_loss_q  <= (ahead.op == OpLossQ
                       || (ActorCritic && ahead.op inside {OpLossTd, OpLossPi})) && !skipped
                      && !later;
      next_end_q   <= ahead.op == OpOuter && !ahead.chain && !skipped;
      next_inner_q <= ahead.op == OpOuter && ahead.chain && !skipped;
    end
    last_id_q        <= step_i.stages - 8'd1;
    walk_next_last_q <= walk_sample_q + 1'b1 == last_sample_q;
    single_q         <= last_sample_q == '0;
    walk_last_q      <= (next_take && walk_last_d)
                        || (!next_take && (step_start_i ? step_i.batch == 16'd1 : walk_last_q));
    id_q          <= id_d;
    walk_sample_q <= sample_d;
    if (step_start_i) chain_id_q <= step_i.first;
    else if (next_take && !chain_back && !next_inner_q) begin
      chain_id_q <= id_after;
    end
    if (step_start_i) walk_frame_q <= '0;
    else if (next_take && chain_back) walk_frame_q <= walk_frame_q + 16'(step_i.frame_rows);
    else if (next_take && !next_inner_q) walk_frame_q <= '0;
  end

  // --- The visit: a DOT or AXPY stage with all samples, or an OUTER stage with one.
  logic               valid_q;
  stage_t             stage_q;
  logic [5:0]         stage_id_q;
  logic [2:0]         pitch_q;              // log2 of min(p, P)
  logic [2:0]         ladder_q;
  logic               exact_q;              // a packed row has no padding
  logic [8:0]         chunks_q;             // memory rows of a weight row; 1 if p < P
  logic               chain_start_q;        // first stage of a chain
  logic [15:0]        base_row_q, base_bias_q;
  logic [7:0]         src_q, aux_q, dst_q;  // with the parity's copy of what a record fills
  logic [7:0]         other_q;              // of a tangent: noise, or the slope's place
  logic [7:0]         dst_offset_q, other_offset_q;
  logic               tangent_q, slope_q, noise_q;
  logic [SampleW-1:0] visit_last;           // its last sample, of all

  // Counters of the visit.
  logic [SampleW-1:0] group_q;              // AXPY: first sample of the group
  logic [SampleW-1:0] wait_q;               // the sample; AXPY: the group's last one
  logic [15:0]        frame_q, group_frame_q;   // first rows of the frames: sample, group's first
  logic               last_wait_q;          // OUTER; wait_q is the last sample
  logic               at_start_q;           // the first operation of a sample or group
  logic [3:0]         slot_q;
  logic               last_slot_q;          // slot_q is the last one; not AXPY
  logic [8:0]         chunk_q;
  logic [15:0]        j_q, next_j_q;        // first output of the operation, of the next ones
  logic               last_chunk_q;         // chunk_q + 1 == chunks_q
  logic               last_j_q;             // next_j_q >= stage_q.n_out
  logic [15:0]        per_row_q;            // outputs of a weight row: P/p, or 1
  logic [15:0]        advance_q;            // outputs of an operation
  logic [15:0]        row_q;                // weight row, from the stage's first

  function automatic logic [2:0] log2_pitch(input logic [15:0] n_in);
    logic [2:0] log2;
    log2 = 3'd2;
    for (int unsigned k = 2; k < LANE_L; k++) if (n_in > 16'(1 << k)) log2 = 3'(k + 1);
    return log2;
  endfunction
  function automatic logic [7:0] copy_of(input logic [7:0] vector);
    logic parted;
    parted = vector == step_i.state || vector == step_i.next_state;
    if (ActorCritic && step_i.action != NO_VECTOR && vector == step_i.action) parted = 1'b1;
    if (ActorCritic && step_i.noise != '0 && vector == step_i.noise)          parted = 1'b1;
    parted = parted && step_i.parity;
    return vector + (parted ? step_i.state_rows : 8'd0);
  endfunction

  logic [7:0]        next_src_q, next_aux_q, next_dst_q, next_other_q;
  logic [7:0]        noise_copy_q;          // of the step
  logic [15:0]       next_chunks, next_per_row, next_advance;
  logic [2:0]        next_pitch, next_ladder;
  logic [TurnW-1:0]  next_leaves, next_needs;
  logic              next_tangent, next_slope;
  assign next_slope   = ActorCritic && next.op == OpDot && next.act == ActSlope;
  assign next_tangent = ActorCritic && next.op == OpDot && next.act inside {ActTanh, ActSlope};
  assign next_chunks  = (next.n_in + 16'(P - 1)) >> LANE_L;
  always_ff @(posedge clk_i) begin
    next_src_q   <= copy_of(next.src);
    next_aux_q   <= copy_of(next.aux);
    next_dst_q   <= ActorCritic ? copy_of(next.dst) : next.dst;
    noise_copy_q <= copy_of(step_i.noise);
    next_other_q <= next_slope ? copy_of(next.aux) : noise_copy_q;
    next_pitch  <= log2_pitch(next.n_in);
    next_ladder <= '0;
    for (int unsigned k = 0; k < 5; k++) if (next.n_in > 16'(P << k)) next_ladder <= 3'(k + 1);
  end
  assign next_per_row = 16'(P) >> next_pitch;
  assign next_advance = next.op == OpAxpy ? 16'd1 : next_per_row;
  always_comb begin
    // Clocks from here to the last use of a shared register, and to the first one.
    next_leaves = '0;
    next_needs  = '0;
    if (next.op == OpDot) begin
      for (int unsigned k = 2; k < LANE_L + 6; k++) begin
        if (4'(next_pitch) + 4'(next_ladder) == 4'(k)) begin
          next_leaves = TurnW'(2 + MulLatency + AddLatency * k);
        end
      end
      next_needs = next_leaves;
      // Its last output is so much later.
      if (next_tangent) next_leaves = next_leaves + TurnW'(next_per_row) - 1'b1;
    end else if (next.op == OpAxpy) begin
      next_leaves = TurnW'(2 + AddLatency);
      next_needs  = TurnW'(MulLatency);
    end
  end

  // The operation of this clock.
  logic               dot, axpy, outer;
  logic               last_chunk, last_j, last_slot, last_wait, visit_end;
  logic [SampleW-1:0] slot_sample;
  logic [15:0]        next_frame;
  logic [15:0]        after_j;
  logic               slot_valid, packed_row;
  always_ff @(posedge clk_i) begin
    if (take_unit) begin
      dot   <= next.op == OpDot;
      axpy  <= next.op == OpAxpy;
      outer <= next.op == OpOuter;
    end
  end
  assign packed_row  = pitch_q != 3'(LANE_L);
  assign last_chunk  = last_chunk_q;
  assign last_j      = last_j_q;
  assign after_j     = next_j_q + advance_q;
  assign last_slot   = last_slot_q;
  assign last_wait   = last_wait_q;
  assign next_frame  = frame_q + 16'(step_i.frame_rows);
  assign slot_sample = axpy ? group_q + SampleW'(slot_q) : wait_q;
  assign slot_valid  = !axpy
                       || {1'b0, group_q} + (SampleW + 1)'(slot_q) <= {1'b0, visit_last};
  if (GROUPED) begin : gen_visit_last
    logic [SampleW-1:0] visit_last_q;
    assign visit_last = visit_last_q;
    always_ff @(posedge clk_i) if (take_unit) visit_last_q <= last_sample_q;
  end else begin : gen_batch_last
    assign visit_last = last_sample_q;
  end
  assign visit_end   = last_chunk && last_j && last_wait && last_slot;

  // --- May it issue?
  logic [TurnW-1:0]   turn_q, leaves_q, needs_q;
  logic [PeriodW-1:0] period_q;
  logic               after_axpy_q, here_q, go_q, turned_q, spaced, ready, issue;
  logic               period_over_q;        // period_q is 0
  assign spaced  = !chain_start_q || period_over_q;
  assign ready   = go_q && turned_q && spaced;
  logic               pacing, tail_over;    // see below
  logic [TurnW-1:0]   tail_less;
  assign issue   = valid_q && !pacing && !(Spatial && hold_i) && (!at_start_q || ready);

  // A tangent's outputs pass one by one. So the next operation waits for them, and the first
  // operation of a stage without a tangent waits until its results will come after theirs.
  if (ActorCritic) begin : gen_pace
    logic             pacing_q, paced_q;
    logic [TurnW-1:0] pace_q, tail_q;
    assign pacing    = pacing_q;
    assign tail_less = tail_q == '0 ? '0 : tail_q - 1'b1;
    assign tail_over = tail_less <= needs_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        pacing_q <= 1'b0;
        tail_q   <= '0;
      end else begin
        if (issue && paced_q) pacing_q <= 1'b1;
        else if (pace_q == '0) pacing_q <= 1'b0;
        if (issue && tangent_q) tail_q <= leaves_q + TurnW'(TANH);
        else                    tail_q <= tail_less;
      end
      if (issue) pace_q <= TurnW'(per_row_q) - TurnW'(2);
      else       pace_q <= pace_q - 1'b1;
      if (take_unit) paced_q <= next_tangent && next_per_row > 16'd1;
    end
  end else begin : gen_no_pace
    assign pacing    = 1'b0;
    assign tail_less = '0;
    assign tail_over = 1'b1;
  end

  // What a sample waits for: the sample for which the visit waits in the next clock, and the first
  // sample of the next entry. Counts only grow while a step runs, so it is safe to use the counts
  // of one clock before.
  typedef logic [2:0][SampleW:0] counts_t;
  counts_t            counts_q, next_counts_q;      // samples that have passed its dependencies
  logic               advance;              // the visit goes to its next sample or group
  logic [2:0]         free_q, next_free_q;  // there is no dep_a, b, c
  logic               next_here_q, here, here_next;
  logic [SampleW-1:0] wait_first, wait_first_q, wait_next_q;
  function automatic counts_t counts_of(input stage_t stage);
    return {count_of(stage.dep_c), count_of(stage.dep_b), count_of(stage.dep_a)};
  endfunction
  function automatic logic [2:0] each_passed(input counts_t counts, input logic [2:0] free,
                                             input logic [SampleW-1:0] sample);
    for (int unsigned d = 0; d < 3; d++) each_passed[d] = free[d] || counts[d] > {1'b0, sample};
  endfunction
  assign advance = issue && last_chunk && last_j && !outer && last_slot;
  always_comb begin
    unique case (next.op)
      OpOuter: wait_first = walk_sample_q;
      OpAxpy:  wait_first = GROUPED || 16'(last_sample_q) < 16'(GI) ? last_sample_q
                                                                   : SampleW'(GI - 1);
      default: wait_first = first_sample;
    endcase
  end
  assign here    = samples_ready_i > {1'b0, wait_q};
  assign here_next = samples_ready_i > {1'b0, wait_next_q};
  always_ff @(posedge clk_i) begin
    wait_first_q   <= wait_first;
    next_free_q    <= {passed(next.dep_c), passed(next.dep_b), passed(next.dep_a)};
    next_counts_q  <= counts_of(next);
    next_here_q    <= samples_ready_i > {1'b0, wait_first};
    counts_q  <= take_unit ? next_counts_q : counts_of(stage_q);
    here_q    <= take_unit ? next_here_q : advance ? here_next : here;
    if (take_unit) begin
      free_q <= next_free_q;
      go_q   <= each_passed(next_counts_q, next_free_q, wait_first_q) == '1 && next_here_q;
    end else if (advance) begin
      go_q   <= each_passed(counts_q, free_q, wait_next_q) == '1 && here_next;
    end else begin
      go_q   <= each_passed(counts_q, free_q, wait_q) == '1 && here;
    end
    // The sample after that, not beyond the last one.
    if (take_unit) begin
      wait_next_q <= next.op == OpAxpy ? after_of(SampleW'(GI - 1), 1'b1, last_sample_q)
                                       : after_of(first_sample, 1'b0, last_sample_q);
    end else if (advance) begin
      wait_next_q <= after_of(wait_next_q, axpy, visit_last);
    end
  end
  function automatic logic [SampleW-1:0] after_of(input logic [SampleW-1:0] sample,
                                                  input logic group,
                                                  input logic [SampleW-1:0] last);
    logic [SampleW:0] after;
    after = {1'b0, sample} + (group ? (SampleW + 1)'(GI) : (SampleW + 1)'(1));
    return after > {1'b0, last} ? last : after[SampleW-1:0];
  endfunction

  // A visit has turned once its first operation may issue: a stage needs no more of itself. That is
  // known as it is taken for OUTER and for AXPY after AXPY, else one clock later.
  logic [TurnW-1:0] turn_less;
  assign turn_less = turn_q == '0 ? '0 : turn_q - 1'b1;
  always_ff @(posedge clk_i) begin
    turned_q <= turned_q || (turn_less <= needs_q && (tangent_q || tail_over));
    if (take_unit) begin
      unique case (next.op)
        OpAxpy:  turned_q <= issue ? axpy : after_axpy_q;
        OpOuter: turned_q <= turn_less == '0 && (!issue || leaves_q == '0)
                             && (!ActorCritic || tail_less == '0);
        default: turned_q <= 1'b0;
      endcase
    end
  end

  assign stall_data_o   = valid_q && at_start_q && !here_q;
  assign stall_token_o  = valid_q && !issue && !stall_data_o;
  assign stall_update_o = !valid_q && next_checked_q && next_unit_q && !next_clear_q;

  // Beside AXPY an OUTER stage may wait in the midst of its chain: the next sample keeps its distance
  // from there.
  logic waited;
  if (Spatial) begin : gen_waited
    logic waited_q;
    assign waited = waited_q;
    always_ff @(posedge clk_i) waited_q <= !take_unit && (waited_q || (valid_q && !issue));
  end else begin : gen_never_waited
    assign waited = 1'b0;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q        <= '0;
      period_q      <= '0;
      period_over_q <= 1'b1;
      after_axpy_q  <= 1'b0;
    end else begin
      if (issue && leaves_q >= turn_q) turn_q <= leaves_q;
      else                             turn_q <= turn_less;
      if (issue) after_axpy_q <= axpy;
      if (issue && at_start_q && (chain_start_q || (outer && waited))) begin
        period_q      <= PeriodW'(PERIOD - 1);
        period_over_q <= 1'b0;
      end else begin
        if (!period_over_q) period_q <= period_q - 1'b1;
        period_over_q <= period_q <= PeriodW'(1);
      end
    end
  end

  // --- Taking the next entry.
  logic visit_done;
  assign visit_done = issue && visit_end;
  assign take_unit  = next_checked_q && next_clear_q && !abort_i && next_unit_q
                      && (!valid_q || visit_done);
  assign take_loss  = next_valid_q && !abort_i && next_loss_q && loss_ready_i;
  assign take_none  = next_valid_q && !abort_i && !next_unit_q && !next_loss_q;
  assign loss_start_o = take_loss;
  assign loss_stage_o = next;
  assign loss_id_o    = id_q[5:0];
  assign loss_go_o    = samples_ready_i > {1'b0, loss_sample_i} && loss_passed == '1;
  // An abort may leave a row without its last chunk. So the adders have to empty first.
  assign ended_o      = !next_valid_q && !ahead_valid_q && !valid_q && turn_q == '0;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i) valid_q <= 1'b0;
    else if (take_unit)     valid_q <= 1'b1;
    else if (visit_done)    valid_q <= 1'b0;
    if (take_unit) begin
      stage_q       <= next;
      stage_id_q    <= id_q[5:0];
      pitch_q       <= next_pitch;
      ladder_q      <= next_ladder;
      exact_q       <= next.n_in == 16'd1 << next_pitch;
      chunks_q      <= (next.n_in > 16'(P)) ? next_chunks[8:0] : 9'd1;
      chain_start_q <= next.op == OpOuter && id_q == chain_id_q;
      base_row_q    <= next.row + (next.target ? step_i.target_row[next.net] : 16'd0);
      base_bias_q   <= next.bias + (next.target ? step_i.target_bias[next.net] : 16'd0);
      src_q         <= next_src_q;
      aux_q         <= next_aux_q;
      dst_q         <= next_dst_q;
      other_q       <= next_other_q;
      dst_offset_q  <= next_slope ? '0 : next.offset;
      other_offset_q <= next_slope ? next.offset : '0;
      tangent_q     <= next_tangent;
      slope_q       <= next_slope;
      noise_q       <= next.noise;
      per_row_q     <= next_per_row;
      advance_q     <= next_advance;
      leaves_q      <= next_leaves;
      needs_q       <= next_needs;
      frame_q       <= next.op == OpOuter ? walk_frame_q : first_frame;
      group_frame_q <= first_frame;
      at_start_q    <= 1'b1;
      wait_q        <= wait_first_q;
      last_wait_q   <= last_sample_q == first_sample;
      if (next.op == OpOuter) last_wait_q <= 1'b1;
      if (next.op == OpAxpy)  last_wait_q <= GROUPED || 16'(last_sample_q) < 16'(GI);
      group_q       <= first_sample;
      slot_q        <= '0;
      last_slot_q   <= next.op != OpAxpy;
      chunk_q       <= '0;
      j_q           <= '0;
      next_j_q      <= next_advance;
      last_j_q      <= next_advance >= next.n_out;
      last_chunk_q  <= next.n_in <= 16'(P);
      row_q         <= '0;
    end else if (issue) begin
      // DOT: chunks innermost, then outputs, then samples. AXPY: samples of the group, outputs,
      // chunks, groups. OUTER: outputs, then chunks.
      at_start_q <= last_chunk && last_j && last_slot;
      last_slot_q <= !axpy || slot_q == 4'(GI - 2);
      if (!last_slot) begin
        slot_q  <= slot_q + 4'd1;
        frame_q <= next_frame;
      end else begin
        slot_q <= '0;
        if (axpy) frame_q <= group_frame_q;
        if (last_chunk && last_j && !outer) begin
          frame_q       <= next_frame;
          group_frame_q <= next_frame;
          group_q       <= group_q + SampleW'(GI);
          wait_q        <= wait_next_q;
          last_wait_q   <= wait_next_q == visit_last;
        end
        if (!dot || last_chunk) begin
          j_q      <= last_j ? '0 : next_j_q;
          next_j_q <= last_j ? advance_q : after_j;
          last_j_q <= (last_j ? advance_q : after_j) >= stage_q.n_out;
        end
        if (dot || last_j) begin
          last_chunk_q <= last_chunk ? chunks_q == 9'd1 : chunk_q + 9'd2 == chunks_q;
        end
        if (dot) begin
          chunk_q <= last_chunk ? '0 : chunk_q + 9'd1;
          row_q   <= last_chunk && last_j ? '0 : row_q + 16'd1;
        end else begin
          if (last_j) begin
            chunk_q <= last_chunk ? '0 : chunk_q + 9'd1;
            row_q   <= last_chunk ? '0 : 16'(chunk_q) + 16'd1;
          end else if (!axpy || !packed_row || (next_j_q & (per_row_q - 16'd1)) == '0) begin
            row_q <= row_q + 16'(chunks_q);
          end
        end
      end
    end
  end

  // --- The operation.
  logic [15:0] output_index, other_index, bias_index, inner_left, outer_left;
  assign output_index = j_q + 16'(dst_offset_q);
  assign other_index  = dot ? j_q + 16'(other_offset_q) : j_q;
  assign bias_index   = base_bias_q + j_q;
  assign inner_left   = stage_q.n_in - (16'(chunk_q) << LANE_L);
  assign outer_left   = stage_q.n_out - j_q;
  logic        long_left;                   // P inputs are left, or more
  assign long_left = inner_left[15:LANE_L] != '0;
  operation_t operation_d;
  always_comb begin
    operation_d        = '0;
    operation_d.mode   = dot ? ModeDot : axpy ? ModeAxpy : ModeOuter;
    operation_d.w_read = dot || (axpy && slot_q == '0);
    operation_d.w_row  = base_row_q + row_q;
    operation_d.b_read = !dot || (tangent_q && (slope_q || noise_q) && last_chunk);
    operation_d.b_row  = frame_q + 16'(ActorCritic && dot ? other_q : src_q)
                         + ((ActorCritic ? other_index : j_q) >> LANE_L);
    operation_d.b_lane = 7'(LANE_L'(ActorCritic ? other_index : j_q));
    operation_d.a_row  = frame_q + 16'(dot ? src_q : aux_q) + 16'(chunk_q);
    operation_d.pitch  = axpy ? 3'(LANE_L) : pitch_q;
    operation_d.inner  = long_left ? 8'(P) : inner_left[7:0];
    operation_d.outer  = 8'd1;
    operation_d.slot   = slot_q;
    operation_d.ladder = dot ? ladder_q : '0;
    operation_d.tag.bias_row  = bias_index >> OB_L;
    operation_d.tag.bias_lane = 5'(bias_index & 16'(OB - 1));
    operation_d.tag.no_bias   = stage_q.no_bias;
    operation_d.tag.act       = stage_q.act == ActRelu;
    operation_d.tag.stage     = stage_id_q;
    operation_d.tag.sample    = 9'(slot_sample);
    operation_d.tag.done      = last_chunk && last_j;
    operation_d.tag.tangent   = tangent_q;
    operation_d.tag.slope     = slope_q;
    operation_d.tag.noise     = noise_q;
    if (!axpy) operation_d.outer = (outer_left > per_row_q) ? per_row_q[7:0] : outer_left[7:0];
    operation_d.full = (axpy || !packed_row ? long_left : exact_q)
                       && (axpy || outer_left >= per_row_q);
    unique case (operation_d.mode)
      ModeDot: begin
        operation_d.a_read    = !(j_q != '0 && chunks_q == 9'd1);
        operation_d.last      = last_chunk;
        operation_d.tag.row   = frame_q + 16'(dst_q) + (output_index >> LANE_L);
        operation_d.tag.lane  = 7'(output_index[LANE_L-1:0]);
        operation_d.tag.count = operation_d.outer;
      end
      ModeAxpy: begin
        operation_d.a_read    = last_j;
        operation_d.first     = j_q == '0;
        operation_d.last      = last_j;
        operation_d.w_lane    = 7'((j_q & (per_row_q - 16'd1)) << pitch_q);
        operation_d.tag.row   = frame_q + 16'(dst_q) + 16'(chunk_q);
        operation_d.tag.count = operation_d.inner;
      end
      default: begin
        operation_d.a_read  = j_q == '0;
        operation_d.first   = wait_q == '0;
        operation_d.biased  = chunk_q == '0;
        operation_d.tag.row = base_row_q + row_q;
      end
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_o <= 1'b0;
    else         valid_o <= issue && slot_valid && !abort_i;
    if (issue) operation_o <= operation_d;
  end

  logic unused_stage;
  assign unused_stage = ^{stage_q, next, loss_wait_i, hold_i};
  `JD_ASSERT_IF(PassedAtMostBatch_A, done_valid_i, 16'(done_q[done_stage_i]) < step_i.batch)
  `JD_ASSERT(OneState_A, 2'(issue) + 2'(stall_data_o) + 2'(stall_token_o) == 2'(valid_q))
  `JD_ASSERT_IF(Clear_A, take_unit, (update_busy_i & next_waits) == '0
                && (!next.target || (target_busy_i & next_net) == '0))
  `JD_ASSERT_IF(SampleInBatch_A, issue && slot_valid, 16'(slot_sample) < step_i.batch)
endmodule : jd_learner_sequencer
