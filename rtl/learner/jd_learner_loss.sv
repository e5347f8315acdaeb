// SPDX-License-Identifier: Apache-2.0
//
// The loss unit: TD error and gradient of the Q loss, of a critic's loss or of an actor's loss,
// sample after sample.
//
// Streams  start_i gives it a stage. It waits for go_i with each sample, reads the sample's vectors
//          through port b of the frame memory when that is free, and writes the gradient when the
//          write port is free. delta_*: TD errors in ascending order of samples, a pipe; LOSS_PI
//          and a quiet LOSS_TD give none. A stage is taken when the stage before it has left.
// Timing   A sample every max(5, n_a + 1) clocks. From its start to its TD error about
//          n_a + 7 + M + 2*A clocks, to its gradient M + 3 more.
// Numbers  binary32, each operation rounded: m = the first of the largest q2 (a later one replaces
//          it only if strictly greater), or q2 where qd is so; y = r + d*m; delta = q[a] - y;
//          g[a] = clamp(delta, -kappa, kappa) * (w*invB), the other entries +0. If the action is
//          outside 0..n_a-1, q[a] counts as +0 and no entry gets a gradient.
//          LOSS_TD: a = 0; m = q2, or with twins the smaller of q2 and qd, both of which must be
//          finite. LOSS_PI: g = -invB, as -1 * (1*invB); q must be finite.
// Source   onchip_replay 3.2 (LOSS). Golden model: models/learner/loss.py, q_loss.
`include "jd_assert.svh"
module jd_learner_loss
  import jd_learner_pkg::*;
#(
  parameter  int unsigned P          = 16,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  parameter  int unsigned BMax       = 64,
  parameter  bit          ActorCritic = 1'b0,     // there are LOSS_TD and LOSS_PI
  localparam int unsigned SampleW    = $clog2(BMax) > 0 ? $clog2(BMax) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                abort_i,
  // The stage.
  input  logic                start_i,
  output logic                ready_o,
  input  stage_t              stage_i,
  input  logic [5:0]          id_i,
  input  step_t               step_i,
  output stage_t              stage_o,            // the stage in work
  output logic [SampleW-1:0]  sample_o,           // the sample for which it waits
  input  logic                go_i,
  output logic                idle_o,
  // Frame memory and scalars, data one clock after a granted read.
  output logic                read_o,
  input  logic                read_grant_i,
  output logic [15:0]         read_row_o,
  input  logic [P-1:0][31:0]  read_data_i,
  output logic                scalars_read_o,
  output logic [SampleW-1:0]  scalars_sample_o,
  input  scalars_t            scalars_i,
  output logic                write_o,
  input  logic                write_grant_i,
  output logic [15:0]         write_row_o,
  output logic [P-1:0]        write_mask_o,
  output logic [P-1:0][31:0]  write_data_o,
  // Results.
  output logic                done_valid_o,       // the sample's gradient is written
  output logic [5:0]          id_o,
  output logic                delta_valid_o,
  output logic [SampleW-1:0]  delta_sample_o,
  output logic [31:0]         delta_o,
  output logic                bad_o,              // delta or the gradient is not finite
  output logic [SampleW-1:0]  bad_sample_o,
  output logic                index_bad_o,        // the action is out of range
  output logic [SampleW-1:0]  index_sample_o
);
  localparam int unsigned LANE_L  = $clog2(P);
  localparam int unsigned RECORDS = 8;                 // samples between scan and write
  localparam int unsigned RecW    = $clog2(RECORDS);
  localparam logic [31:0] INFINITY = 32'h7F80_0000;
  localparam logic [31:0] ONE       = 32'h3F80_0000;
  localparam logic [31:0] MINUS_ONE = 32'hBF80_0000;

  // --- Reader: a sample's vectors into registers.
  typedef enum logic [2:0] {StIdle, StLook, StWait, StNext, StChoose, StValue, StHand} state_e;
  state_e             state_q, state_d;
  stage_t             stage_q;
  logic [5:0]         id_q;
  logic [SampleW-1:0] sample_q;
  loss_param_t        param;
  logic               got_next_q, got_chooser_q, got_value_q, hand, scan_free, last;
  logic [RecW:0]      in_q, write_q;                   // records: see below
  logic               scanning_q;
  logic               drained_q;                       // nothing is left after the reader
  logic               chooses;                         // there is a vector qd
  logic               twin_q, critic_q, actor_q, quiet_q;   // of the stage
  logic [15:0]        frame_q;                         // first row of the sample's frame
  logic [P-1:0][31:0] next_row_q, chooser_row_q, value_row_q;

  assign param   = loss_param_t'(stage_q.param);
  assign chooses = ActorCritic ? param.mode != LOSS_MAX : param.mode == LOSS_DOUBLE;
  assign last    = 16'(sample_q) + 16'd1 == step_i.batch;
  assign ready_o = state_q == StIdle && drained_q && !abort_i;
  assign stage_o = stage_q;
  assign id_o    = id_q;
  assign sample_o = sample_q;
  assign scalars_read_o   = state_q == StWait;           // the last time as it starts
  assign scalars_sample_o = sample_q;
  always_comb begin
    state_d    = state_q;
    read_o     = 1'b0;
    read_row_o = frame_q + 16'(param.next);
    hand       = 1'b0;
    unique case (state_q)
      StIdle:  if (start_i) state_d = StLook;
      StLook:  state_d = StWait;                 // go_i knows the stage from the next clock on
      StWait:  if (go_i) state_d = StNext;
      StNext: begin
        read_o = 1'b1;
        if (read_grant_i) state_d = chooses ? StChoose : StValue;
      end
      StChoose: begin
        read_o     = 1'b1;
        read_row_o = frame_q + 16'(param.chooser);
        if (read_grant_i) state_d = StValue;
      end
      StValue: begin
        read_o     = 1'b1;
        read_row_o = frame_q + 16'(param.value);
        if (read_grant_i) state_d = StHand;
      end
      StHand: if (scan_free && !got_value_q) begin
        hand    = 1'b1;
        state_d = last ? StIdle : StWait;
      end
      default: state_d = StIdle;
    endcase
    if (abort_i) state_d = StIdle;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q       <= StIdle;
      got_next_q    <= 1'b0;
      got_chooser_q <= 1'b0;
      got_value_q   <= 1'b0;
    end else begin
      state_q       <= state_d;
      got_next_q    <= state_q == StNext && read_grant_i;
      got_chooser_q <= state_q == StChoose && read_grant_i;
      got_value_q   <= state_q == StValue && read_grant_i;
    end
    drained_q <= !hand && !scanning_q && in_q == write_q;
    if (start_i && state_q == StIdle) begin
      stage_q  <= stage_i;
      critic_q <= ActorCritic && stage_i.op == OpLossTd;
      actor_q  <= ActorCritic && stage_i.op == OpLossPi;
      twin_q   <= ActorCritic && stage_i.op == OpLossTd && stage_i.param[25];
      quiet_q  <= ActorCritic && (stage_i.op == OpLossPi
                                  || (stage_i.op == OpLossTd && stage_i.param[26]));
      id_q     <= id_i;
      sample_q <= '0;
      frame_q  <= '0;
    end else if (hand) begin
      sample_q <= sample_q + 1'b1;
      frame_q  <= frame_q + 16'(step_i.frame_rows);
    end
    if (got_next_q)                          next_row_q    <= read_data_i;
    if (chooses ? got_chooser_q : got_next_q) chooser_row_q <= read_data_i;
    if (got_value_q)                         value_row_q   <= read_data_i;
  end

  // --- Scanner: an action per clock; the rows move down by a word.
  logic               scan_last, replace;
  logic [P-1:0][31:0] next_scan_q, chooser_scan_q, value_scan_q;
  logic [LANE_L:0]    action_q;
  scalars_t           scalars_q;
  logic [SampleW-1:0] scan_sample_q;
  logic [15:0]        scan_frame_q;
  logic [31:0]        best_q, largest_q, value_q;
  logic [31:0]        largest, value;
  logic               chosen, in_range, feed, room, bad_input;
  assign chosen    = scalars_q.action == 32'(action_q);
  assign replace   = action_q == '0 || greater(chooser_scan_q[0], best_q);
  assign largest   = twin_q && greater(next_scan_q[0], chooser_scan_q[0]) ? chooser_scan_q[0]
                     : replace ? next_scan_q[0] : largest_q;
  assign value     = chosen ? value_scan_q[0] : action_q == '0 ? '0 : value_q;
  assign scan_last = 16'(action_q) + 16'd1 == stage_q.n_out;
  assign in_range  = scalars_q.action < 32'(stage_q.n_out);
  assign bad_input = (twin_q && (not_finite(next_scan_q[0]) || not_finite(chooser_scan_q[0])))
                     || (actor_q && not_finite(value_scan_q[0]));
  assign feed      = scanning_q && scan_last && room;
  assign scan_free = !scanning_q || feed;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || abort_i) scanning_q <= 1'b0;
    else if (hand)          scanning_q <= 1'b1;
    else if (feed)          scanning_q <= 1'b0;
    if (hand) begin
      next_scan_q    <= next_row_q;
      chooser_scan_q <= chooser_row_q;
      value_scan_q   <= value_row_q;
      scalars_q      <= scalars_i;
      if (critic_q || actor_q) scalars_q.action <= '0;
      if (actor_q)             scalars_q.weight <= ONE;
      scan_sample_q  <= sample_q;
      scan_frame_q   <= frame_q;
      action_q       <= '0;
    end else if (scanning_q && (!scan_last || room)) begin
      next_scan_q    <= next_scan_q >> 32;
      chooser_scan_q <= chooser_scan_q >> 32;
      value_scan_q   <= value_scan_q >> 32;
      action_q       <= action_q + 1'b1;
    end
    if (scanning_q) begin        // without room it repeats the last: no change
      largest_q <= largest;
      value_q   <= value;
      if (replace) best_q <= chooser_scan_q[0];
    end
  end

  // --- Arithmetic, from the clock after the scan. Records hold what a sample needs later; each step
  // has its own pointer.
  typedef struct packed {
    logic [SampleW-1:0] sample;
    logic [15:0]        row;                // of the gradient
    logic [LANE_L-1:0]  action;
    logic               in_range;
    logic               bad;                // an input that must be finite is not
  } record_t;
  record_t         record_in, at_delta, at_gradient, at_write;
  logic [31:0]     at_delta_scale;          // w*invB
  logic [31:0]     at_write_gradient;
  logic            at_gradient_bad;
  logic [RecW:0]   gradient_at_q;
  logic [RecW-1:0] product_q, delta_q;
  logic            delta_valid;
  logic            full_q, feed_q, product_valid, unused_scale_valid, target_valid, clamped_valid_q;
  logic            gradient_valid;
  logic [31:0]     discount_q, weight_q, reward_q, reward, value_late;
  logic [31:0]     product, scale, target, clamped_q, clamped_scale_q, gradient;
  assign room = !full_q;
  always_comb begin
    record_in = '{
      sample:   scan_sample_q,
      row:      scan_frame_q + 16'(stage_q.dst),
      action:   scalars_q.action[LANE_L-1:0],
      in_range: in_range,
      bad:      bad_input
    };
  end
  jd_mem_lut #(.Depth (RECORDS), .Width ($bits(record_t)), .Reads (3)) u_records (
    .clk_i, .rst_ni,
    .write_en_i   (feed),
    .write_addr_i (in_q[RecW-1:0]),
    .write_data_i (record_in),
    .read_addr_i  ({write_q[RecW-1:0], gradient_at_q[RecW-1:0], delta_q}),
    .read_data_o  ({at_write, at_gradient, at_delta})
  );
  jd_mem_lut #(.Depth (RECORDS), .Width (32)) u_scales (
    .clk_i, .rst_ni,
    .write_en_i   (product_valid),
    .write_addr_i (product_q),
    .write_data_i (scale),
    .read_addr_i  (delta_q),
    .read_data_o  (at_delta_scale)
  );
  jd_mem_lut #(.Depth (RECORDS), .Width (1)) u_bad (
    .clk_i, .rst_ni,
    .write_en_i   (delta_valid),
    .write_addr_i (delta_q),
    .write_data_i (at_delta.bad || (!actor_q && not_finite(delta_o))),
    .read_addr_i  (gradient_at_q[RecW-1:0]),
    .read_data_o  (at_gradient_bad)
  );
  jd_mem_lut #(.Depth (RECORDS), .Width (32)) u_gradients (
    .clk_i, .rst_ni,
    .write_en_i   (gradient_valid),
    .write_addr_i (gradient_at_q[RecW-1:0]),
    .write_data_i (gradient),
    .read_addr_i  (write_q[RecW-1:0]),
    .read_data_o  (at_write_gradient)
  );

  // An operand waits here for the adder's other operand. Cleared, so that the last stage is a
  // register.
  jd_delay #(.Width (32), .Cycles (MulLatency)) u_reward (
    .clk_i, .rst_ni, .in_i (reward_q), .out_o (reward)
  );
  jd_delay #(.Width (32), .Cycles (MulLatency + AddLatency)) u_value (
    .clk_i, .rst_ni, .in_i (value_q), .out_o (value_late)
  );

  jd_float_mul #(.Latency (MulLatency)) u_product (
    .clk_i, .rst_ni,
    .valid_i  (feed_q),
    .a_i      (discount_q),
    .b_i      (largest_q),
    .valid_o  (product_valid),
    .result_o (product)
  );
  jd_float_mul #(.Latency (MulLatency)) u_scale (
    .clk_i, .rst_ni,
    .valid_i  (feed_q),
    .a_i      (weight_q),
    .b_i      (step_i.inverse_batch),
    .valid_o  (unused_scale_valid),
    .result_o (scale)
  );
  jd_float_add #(.Latency (AddLatency)) u_target (
    .clk_i, .rst_ni,
    .valid_i    (product_valid),
    .subtract_i (1'b0),
    .a_i        (reward),
    .b_i        (product),
    .valid_o    (target_valid),
    .result_o   (target)
  );
  jd_float_add #(.Latency (AddLatency)) u_delta (
    .clk_i, .rst_ni,
    .valid_i    (target_valid),
    .subtract_i (1'b1),
    .a_i        (value_late),
    .b_i        (target),
    .valid_o    (delta_valid),
    .result_o   (delta_o)
  );
  // kappa is positive or +infinity.
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clamped_valid_q <= 1'b0;
    else         clamped_valid_q <= delta_valid;
    if (delta_valid) begin
      clamped_q       <= delta_o;
      clamped_scale_q <= at_delta_scale;
      if (delta_o[30:0] <= INFINITY[30:0] && delta_o[30:0] > stage_q.kappa[30:0]) begin
        clamped_q <= {delta_o[31], stage_q.kappa[30:0]};
      end
      if (actor_q) clamped_q <= MINUS_ONE;
    end
  end
  jd_float_mul #(.Latency (MulLatency)) u_gradient (
    .clk_i, .rst_ni,
    .valid_i  (clamped_valid_q),
    .a_i      (clamped_q),
    .b_i      (clamped_scale_q),
    .valid_o  (gradient_valid),
    .result_o (gradient)
  );
  assign delta_valid_o  = delta_valid && !quiet_q;
  assign delta_sample_o = at_delta.sample;
  assign index_bad_o    = feed && !in_range;
  assign index_sample_o = scan_sample_q;
  assign bad_o          = gradient_valid
                          && (at_gradient_bad || not_finite(gradient));
  assign bad_sample_o   = at_gradient.sample;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_q          <= '0;
      product_q     <= '0;
      feed_q        <= 1'b0;
      full_q        <= 1'b0;
      delta_q       <= '0;
      gradient_at_q <= '0;
      write_q       <= '0;
    end else begin
      feed_q <= feed;
      if (feed != (write_o && write_grant_i)) begin
        full_q <= feed && in_q - write_q == (RecW + 1)'(RECORDS - 1);
      end
      if (feed)                     in_q          <= in_q + 1'b1;
      if (product_valid)            product_q     <= product_q + 1'b1;
      if (delta_valid)            delta_q       <= delta_q + 1'b1;
      if (gradient_valid)           gradient_at_q <= gradient_at_q + 1'b1;
      if (write_o && write_grant_i) write_q       <= write_q + 1'b1;
    end
    if (feed) begin
      discount_q <= scalars_q.discount;
      weight_q   <= scalars_q.weight;
      reward_q   <= scalars_q.reward;
    end
  end

  // --- Writer.
  assign write_o     = write_q != gradient_at_q;
  assign write_row_o = at_write.row;
  always_comb begin
    write_mask_o = '0;
    write_data_o = '0;
    if (write_o) begin
      for (int unsigned l = 0; l < P; l++) write_mask_o[l] = 16'(l) < stage_q.n_out;
      if (at_write.in_range) write_data_o[at_write.action] = at_write_gradient;
    end
  end
  assign done_valid_o = write_o && write_grant_i;
  assign idle_o       = state_q == StIdle && !scanning_q && in_q == write_q;

  logic unused_bits;
  assign unused_bits = ^{stage_q, step_i, param, INFINITY[31]};
  `JD_ASSERT_IF(SmallEnough_A, start_i, stage_i.n_out <= 16'(P) && stage_i.n_out != '0)
endmodule : jd_learner_loss
