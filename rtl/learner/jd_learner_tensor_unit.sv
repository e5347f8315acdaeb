// SPDX-License-Identifier: Apache-2.0
//
// Tensor unit: P multipliers and P adders that work as a dot product, a scaled row or an outer
// product.
//
// Streams  operations come one per clock, a pipe without stalls; memories are read and written by
//          pipes, too. Between operations of different modes the sequencer leaves the clocks that
//          the adders need (jd_learner_sequencer: turn-around).
// Timing   with M, A the latencies of multiplier and adder: DOT has its result in the frame memory
//          M + A*(log2 pitch + ladder + 1) + 6 clocks after the operation, AXPY M + A + 4 after
//          the last; OUTER in the gradient memory M + A + 3.
//              clock 0 memories | 1 operands | 2 multiply | 3+M add | 3+M+A lanes written
//          DOT: 3+M+k*A level k of the tree and the ladder | +2 bias | +A activation | write
//          With a tangent an output per clock leaves, 6 + 2*M + 3*A clocks later than without; the
//          sequencer keeps operations as far apart as they have outputs.
// Numbers  binary32, each operation rounded.
//          DOT    products padded with +0, added pairwise, level by level; chunks of P lanes join
//                 by a ladder that continues the tree, a missing chunk being +0; plus the bias.
//          AXPY   for j ascending: sum = sum + d[j]*W[j], from +0.
//          OUTER  for samples ascending: G = G + d*x, from +0; bias gradients likewise.
//          Lanes without an input multiply +0 by +0. Tangents: jd_learner_tanh.
// Source   onchip_replay 3.2.1 (tensor unit). Golden model: models/learner/mlp.py.
`include "jd_assert.svh"
module jd_learner_tensor_unit
  import jd_learner_pkg::*;
#(
  parameter  int unsigned P          = 16,
  parameter  int unsigned OB         = P / 4,
  parameter  int unsigned GI         = 8,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  parameter  int unsigned DMax       = 64,
  parameter  bit          ActorCritic = 1'b0     // there is a tangent
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                clear_i,            // with empty_o: forget an unfinished row
  input  logic                valid_i,
  input  operation_t          operation_i,
  output logic                empty_o,            // nothing in flight
  // Memories: rows of P words, biases of OB; data one clock after the read.
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
  output logic                gb_read_o,          // bias gradients
  output logic [15:0]         gb_row_o,
  input  logic [OB-1:0][31:0] gb_data_i,
  output logic                gb_write_o,
  output logic [15:0]         gb_write_row_o,
  output logic [OB-1:0]       gb_write_mask_o,
  output logic [OB-1:0][31:0] gb_write_data_o,
  output logic                frame_write_o,      // registers
  output logic [15:0]         frame_row_o,
  output logic [P-1:0]        frame_mask_o,
  output logic [P-1:0][31:0]  frame_data_o,
  // A sample has passed a stage; a NaN or infinity in an AXPY or OUTER result.
  output logic                done_valid_o,
  output logic [5:0]          done_stage_o,
  output logic                lanes_bad_o,
  output logic [5:0]          lanes_stage_o,
  output logic [8:0]          lanes_sample_o,
  output logic                bias_bad_o,
  output logic [5:0]          bias_stage_o,
  output logic [8:0]          bias_sample_o
);
  localparam int unsigned LANE_L = $clog2(P);
  localparam int unsigned LADDER = (DMax > P) ? $clog2(DMax / P) : 0;   // levels above the tree
  localparam int unsigned LADDERS = (LADDER == 0) ? 1 : LADDER;
  localparam int unsigned ADD    = MulLatency + 1;                      // entry of the adders
  localparam int unsigned LINE   = ADD + AddLatency * LANE_L;           // last entry of the line
  localparam int unsigned SUM    = ADD + AddLatency;                    // entry of a lane's result
  localparam int unsigned TAGS   = 64;
  localparam int unsigned TagW   = $clog2(TAGS);
  localparam int unsigned MASKS  = 16;
  localparam int unsigned MaskW  = $clog2(MASKS);
  localparam int unsigned SlotW  = $clog2(GI);
  localparam int unsigned ObW    = (OB > 1) ? $clog2(OB) : 1;
  localparam logic [31:0] MINUS_ZERO = 32'h8000_0000;

  if (P < 8 || P > 128 || P != 1 << LANE_L) begin : gen_bad_p
    $fatal(1, "jd_learner_tensor_unit: P=%0d, want a power of two 8..128", P);
  end
  if (OB != P / 4) begin : gen_bad_ob
    $fatal(1, "jd_learner_tensor_unit: OB=%0d, want P/4", OB);
  end
  if (GI < AddLatency + 2 || GI < 8 || GI > 16) begin : gen_bad_gi
    $fatal(1, "jd_learner_tensor_unit: GI=%0d, want AddLatency + 2 and 8..16", GI);
  end
  if (DMax > 32 * P) begin : gen_bad_dmax
    $fatal(1, "jd_learner_tensor_unit: DMax=%0d, want at most 32*P", DMax);
  end

  // --- Clock 0: memories. Results that will come leave their tag.
  logic has_tag;
  assign has_tag   = valid_i && (operation_i.mode == ModeOuter || operation_i.last);
  assign w_read_o = valid_i && operation_i.w_read;
  assign w_row_o  = operation_i.w_row;
  assign a_read_o = valid_i && operation_i.a_read;
  assign a_row_o  = operation_i.a_row;
  assign b_read_o = valid_i && operation_i.b_read;
  assign b_row_o  = operation_i.b_row;

  // Tags are read twice, by pointers of their own: when a bias or a gradient is read, and when the
  // result is there.
  logic [TagW-1:0] tag_in_q, tag_early_q, tag_late_q;
  logic            pop_early, pop_late;
  tag_t            early, late, late_d;               // late: read one clock ahead
  logic [TagW-1:0] tag_late_d, tag_after_q;           // tag_after_q: tag_late_q + 1
  logic            tag_fresh;                         // the late tag of the next clock comes now
  jd_mem_lut #(.Depth (TAGS), .Width ($bits(tag_t)), .Reads (2)) u_tags (
    .clk_i, .rst_ni,
    .write_en_i   (has_tag),
    .write_addr_i (tag_in_q),
    .write_data_i (operation_i.tag),
    .read_addr_i  ({tag_late_d, tag_early_q}),
    .read_data_o  ({late_d, early})
  );
  assign tag_late_d = pop_late ? tag_after_q : tag_late_q;
  assign tag_fresh  = has_tag && (pop_late ? tag_in_q == tag_after_q : tag_in_q == tag_late_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      tag_in_q    <= '0;
      tag_early_q <= '0;
      tag_late_q  <= '0;
      tag_after_q <= TagW'(1);
    end else begin
      if (has_tag)   tag_in_q    <= tag_in_q + 1'b1;
      if (pop_early) tag_early_q <= tag_early_q + 1'b1;
      tag_late_q <= tag_late_d;
      if (pop_late) tag_after_q <= tag_after_q + 1'b1;
    end
    late <= tag_fresh ? operation_i.tag : late_d;
  end

  // --- Clock 1: operands, from the memories' words; where they lie was found one clock before.
  logic                       take_q;
  operation_t                 op_q;
  logic                       axpy_q, outer_q;
  logic [LANE_L-1:0]          pitch_q;          // one-hot: bit k of pitch 2**k; of whole rows none
  logic [P-1:0][LANE_L-1:0]   b_lane_q;         // of each lane: its word of port b
  logic [P-1:0]               lanes_q;          // lanes that hold an input

  // Lane l gets word l modulo the pitch.
  function automatic logic [P-1:0][31:0] repeated(input logic [P-1:0][31:0] row,
                                                  input logic [LANE_L-1:0] pitch);
    logic [P-1:0][31:0] out;
    out = row;
    for (int unsigned level = 2; level < LANE_L; level++) begin
      if (pitch[level]) begin
        for (int unsigned l = 0; l < P; l++) out[l] = row[l & ((1 << level) - 1)];
      end
    end
    return out;
  endfunction
  // Lanes that hold an input.
  function automatic logic [P-1:0] valid_lanes(input logic [2:0] pitch, input logic [7:0] inner,
                                               input logic [7:0] outer);
    logic [P-1:0] lanes;
    for (int unsigned l = 0; l < P; l++) begin
      lanes[l] = (8'(l) & ((8'd1 << pitch) - 8'd1)) < inner && (8'(l) >> pitch) < outer;
    end
    return lanes;
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) take_q <= 1'b0;
    else         take_q <= valid_i;
    if (valid_i) begin
      op_q    <= operation_i;
      axpy_q  <= operation_i.mode == ModeAxpy;
      outer_q <= operation_i.mode == ModeOuter;
      for (int unsigned k = 0; k < LANE_L; k++) begin
        pitch_q[k] <= operation_i.mode != ModeAxpy && operation_i.pitch == 3'(k);
      end
      // OUTER: the gradients of P/pitch outputs, one for each packed row; b_lane is a multiple.
      for (int unsigned l = 0; l < P; l++) begin
        b_lane_q[l] <= operation_i.b_lane[LANE_L-1:0]
                       | (operation_i.mode == ModeOuter ? LANE_L'(8'(l) >> operation_i.pitch) : '0);
        // A tangent's operands may begin at any lane.
        if (ActorCritic && l < OB && operation_i.mode == ModeDot) begin
          b_lane_q[l] <= operation_i.b_lane[LANE_L-1:0] + LANE_L'(l);
        end
      end
      lanes_q <= valid_lanes(operation_i.pitch, operation_i.inner, operation_i.outer)
                 | {P{operation_i.full}};
    end
  end

  logic [P-1:0][31:0]  mul_a_q, mul_b_q;
  logic [OB-1:0][31:0] grad_q;                  // OUTER: gradients for the bias adders
  logic [P-1:0]        mask_in, mask;           // AXPY: activation > 0
  logic [MaskW-1:0]    mask_in_q, mask_out_q;
  always_comb begin
    mask_in = '0;
    if (axpy_q) for (int unsigned l = 0; l < P; l++) mask_in[l] = greater(a_data_i[l], '0);
  end
  jd_mem_lut #(.Depth (MASKS), .Width (P)) u_masks (
    .clk_i, .rst_ni,
    .write_en_i   (take_q && axpy_q && op_q.last),
    .write_addr_i (mask_in_q),
    .write_data_i (mask_in),
    .read_addr_i  (mask_out_q),
    .read_data_o  (mask)
  );

  always_ff @(posedge clk_i) begin
    logic [P-1:0][31:0] inputs, weights;
    if (take_q) begin
      inputs  = repeated(a_data_i, pitch_q);
      weights = w_data_i >> {op_q.w_lane[LANE_L-1:2], 7'd0};
      for (int unsigned l = 0; l < P; l++) begin
        mul_a_q[l] <= !lanes_q[l] ? '0 : outer_q ? b_data_i[b_lane_q[l]] : weights[l];
        mul_b_q[l] <= !lanes_q[l] ? '0 : axpy_q ? b_data_i[b_lane_q[l]] : inputs[l];
      end
      for (int unsigned k = 0; k < OB; k++) grad_q[k] <= b_data_i[b_lane_q[0]|LANE_L'(k)];
    end
  end

  logic mask_push, mask_pop;
  assign mask_push = take_q && axpy_q && op_q.last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      mask_in_q  <= '0;
      mask_out_q <= '0;
    end else begin
      if (mask_push) mask_in_q  <= mask_in_q + 1'b1;
      if (mask_pop)  mask_out_q <= mask_out_q + 1'b1;
    end
  end

  // --- Clock 2 and on: the operation's description travels beside the arithmetic. Entry k is k
  // clocks after the multipliers' entrance.
  typedef struct packed {
    mode_e       mode;
    logic        first;
    logic        last;
    logic [2:0]  pitch;
    logic [2:0]  ladder;
    logic [3:0]  slot;
  } line_t;
  line_t [LINE:0] line_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      line_q <= '0;
    end else begin
      line_q[LINE:1] <= line_q[LINE-1:0];
      line_q[0]      <= take_q ? line_t'{op_q.mode, op_q.first, op_q.last, op_q.pitch, op_q.ladder,
                                         op_q.slot}
                               : line_t'('0);
    end
  end

  // Multipliers.
  logic [P-1:0][31:0] product;
  for (genvar l = 0; l < P; l++) begin : gen_mul
    logic unused_valid;
    jd_float_mul #(.Latency (MulLatency)) u_mul (
      .clk_i, .rst_ni,
      .valid_i  (line_q[0].mode != ModeIdle),
      .a_i      (mul_a_q[l]),
      .b_i      (mul_b_q[l]),
      .valid_o  (unused_valid),
      .result_o (product[l])
    );
  end

  // Adders, one clock after the products. As a tree, adder P - P/2^(k-1) + n is node n of level k; as
  // lanes, adder l adds product l to an accumulator. The leaves choose before their registers; a
  // node of a higher level is at work as a lane if it is not as a node.
  line_t              at_addend;
  logic               lane, lane_q;
  logic [P-1:0][31:0] product_q, addend, addend_q, sum;
  logic [P/2-1:0][31:0] leaf_a_q, leaf_b_q;
  logic [P-1:0][31:0] sum_so_far;               // AXPY: accumulators of a group
  logic [LANE_L:1]    level_valid_q;
  assign at_addend = line_q[MulLatency];
  assign lane      = at_addend.mode == ModeAxpy || at_addend.mode == ModeOuter;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) lane_q <= 1'b0;
    else         lane_q <= lane;
    product_q <= product;
    addend_q  <= addend;
    for (int unsigned n = 0; n < P / 2; n++) begin
      leaf_a_q[n] <= lane ? product[n] : product[2*n];
      leaf_b_q[n] <= lane ? addend[n] : product[2*n+1];
    end
  end
  always_comb begin
    addend = '0;
    if (!at_addend.first) begin
      addend = at_addend.mode == ModeAxpy ? sum_so_far : g_data_i;
    end
  end
  for (genvar k = 1; k <= LANE_L; k++) begin : gen_level
    localparam int unsigned AT    = ADD + (k - 1) * AddLatency;
    localparam int unsigned BASE  = P - (P >> (k - 1));
    localparam int unsigned UNDER = (k == 1) ? 0 : P - (P >> (k - 2));
    always_ff @(posedge clk_i) begin
      level_valid_q[k] <= rst_ni && line_q[AT-1].mode == ModeDot && line_q[AT-1].pitch >= 3'(k);
    end
    for (genvar n = 0; n < (P >> k); n++) begin : gen_node
      logic [31:0] a, b;
      logic        unused_valid;
      if (k == 1) begin : gen_leaf
        assign a = leaf_a_q[n];
        assign b = leaf_b_q[n];
      end else begin : gen_inner
        assign a = level_valid_q[k] ? sum[UNDER+2*n] : product_q[BASE+n];
        assign b = level_valid_q[k] ? sum[UNDER+2*n+1] : addend_q[BASE+n];
      end
      jd_float_add #(.Latency (AddLatency)) u_add (
        .clk_i, .rst_ni,
        .valid_i    (lane_q || level_valid_q[k]),
        .subtract_i (1'b0),
        .a_i        (a),
        .b_i        (b),
        .valid_o    (unused_valid),
        .result_o   (sum[BASE+n])
      );
    end
  end
  logic unused_last_valid;
  jd_float_add #(.Latency (AddLatency)) u_last_lane (
    .clk_i, .rst_ni,
    .valid_i    (lane_q),
    .subtract_i (1'b0),
    .a_i        (product_q[P-1]),
    .b_i        (addend_q[P-1]),
    .valid_o    (unused_last_valid),
    .result_o   (sum[P-1])
  );

  // --- Lanes: accumulators and gradients.
  line_t at_sum;
  logic  axpy_result, outer_result;
  assign at_sum         = line_q[SUM];
  assign axpy_result    = at_sum.mode == ModeAxpy && at_sum.last;
  assign outer_result   = at_sum.mode == ModeOuter;
  assign g_read_o       = line_q[MulLatency-1].mode == ModeOuter;
  assign g_row_o        = early.row;
  assign g_write_o      = outer_result;
  assign g_write_row_o  = late.row;
  assign g_write_data_o = sum;
  assign mask_pop       = axpy_result;
  jd_mem_lut #(.Depth (GI), .Width (32 * P)) u_sums (
    .clk_i, .rst_ni,
    .write_en_i   (at_sum.mode == ModeAxpy && !at_sum.last),
    .write_addr_i (at_sum.slot[SlotW-1:0]),
    .write_data_i (sum),
    .read_addr_i  (at_addend.slot[SlotW-1:0]),
    .read_data_o  (sum_so_far)
  );
  always_comb begin
    lanes_bad_o = 1'b0;
    if (axpy_result || outer_result) begin
      for (int unsigned l = 0; l < P; l++) lanes_bad_o |= not_finite(sum[l]);
    end
  end
  assign lanes_stage_o  = late.stage;
  assign lanes_sample_o = late.sample;

  // --- The tree's roots, and the ladder that joins the chunks of a long row.
  logic                tap_valid, root_valid, result_valid;
  logic [OB-1:0][31:0] tap, result;
  always_comb begin
    tap_valid  = 1'b0;
    root_valid = 1'b0;
    tap        = '0;
    for (int unsigned k = 2; k <= LANE_L; k++) begin
      if (line_q[ADD+k*AddLatency].mode == ModeDot
          && line_q[ADD+k*AddLatency].pitch == 3'(k)) begin
        tap_valid = line_q[ADD+k*AddLatency].ladder == '0;
        for (int unsigned n = 0; n < (P >> k); n++) tap[n] = sum[P-(P>>(k-1))+n];
      end
    end
    root_valid = line_q[LINE].mode == ModeDot && line_q[LINE].ladder != '0;
  end

  // Rung k adds the terms of the rung below it. The even terms wait for the odd ones; a last term
  // without partner is added to +0, which is held while no term waits.
  logic [LADDERS:1]       top_valid;              // the last rung for its operation
  logic [LADDERS:1][31:0] top;
  for (genvar k = 1; k <= LADDERS; k++) begin : gen_rung
    logic        in_valid, in_last, out_valid, out_last, odd_q, start;
    logic [2:0]  in_height, out_height;
    logic [31:0] in, out, held_q;
    logic [AddLatency-1:0]      last_line_q;
    logic [AddLatency-1:0][2:0] height_line_q;
    if (k == 1) begin : gen_root
      assign in_valid  = root_valid;
      assign in_last   = line_q[LINE].last;
      assign in_height = line_q[LINE].ladder;
      assign in        = sum[P-2];
    end else begin : gen_inner
      assign in_valid  = gen_rung[k-1].out_valid && gen_rung[k-1].out_height >= 3'(k);
      assign in_last   = gen_rung[k-1].out_last;
      assign in_height = gen_rung[k-1].out_height;
      assign in        = gen_rung[k-1].out;
    end
    assign start = in_valid && (odd_q || in_last);
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) begin
        odd_q  <= 1'b0;
        held_q <= '0;
      end else if (in_valid) begin
        odd_q  <= !odd_q && !in_last;
        held_q <= start ? '0 : in;
      end
      last_line_q   <= AddLatency'({last_line_q, in_last});
      height_line_q <= (3 * AddLatency)'({height_line_q, in_height});
    end
    jd_float_add #(.Latency (AddLatency)) u_add (
      .clk_i, .rst_ni,
      .valid_i    (start),
      .subtract_i (1'b0),
      .a_i        (held_q),
      .b_i        (in),
      .valid_o    (out_valid),
      .result_o   (out)
    );
    assign out_last     = last_line_q[AddLatency-1];
    assign out_height   = height_line_q[AddLatency-1];
    assign top_valid[k] = out_valid && out_last && out_height == 3'(k);
    assign top[k]       = out;
  end
  always_comb begin
    result_valid = tap_valid;
    result       = tap;
    for (int unsigned k = 1; k <= LADDERS; k++) begin
      if (top_valid[k]) begin
        result_valid = 1'b1;
        result[0]    = top[k];
      end
    end
  end

  // --- Bias adders: outputs of DOT, or the bias gradients of OUTER.
  typedef struct packed {
    logic [15:0]    row;
    logic [ObW-1:0] lane;
    logic [7:0]     count;
    logic [5:0]     stage;
    logic [8:0]     sample;
  } bias_t;
  logic                result_valid_q;
  logic [OB-1:0][31:0] result_q;
  logic [ObW-1:0]      bias_lane_q;
  logic                no_bias_q;
  logic [7:0]          bias_count_q;
  assign bias_read_o = result_valid;
  assign bias_row_o  = early.bias_row;
  assign pop_early   = result_valid || g_read_o || axpy_result;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) result_valid_q <= 1'b0;
    else         result_valid_q <= result_valid;
    if (result_valid) begin
      result_q     <= result;
      bias_lane_q  <= early.bias_lane[ObW-1:0];
      no_bias_q    <= early.no_bias;
      bias_count_q <= early.count;
    end
  end

  logic  grad_valid_q;
  bias_t grad_bias_q;
  assign gb_read_o = take_q && outer_q && op_q.biased;
  assign gb_row_o  = op_q.tag.bias_row;
  logic grad_first_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) grad_valid_q <= 1'b0;
    else         grad_valid_q <= gb_read_o;
    if (gb_read_o) begin
      grad_first_q <= op_q.first;
      grad_bias_q  <= '{row: op_q.tag.bias_row, lane: op_q.tag.bias_lane[ObW-1:0],
                        count: op_q.outer, stage: op_q.tag.stage, sample: op_q.tag.sample};
    end
  end

  logic [OB-1:0]       bias_valid_q;
  logic [OB-1:0][31:0] bias_a_q, bias_b_q, bias_sum;
  always_ff @(posedge clk_i) begin
    bias_valid_q <= '0;
    bias_a_q     <= result_q;
    bias_b_q     <= '0;
    if (grad_valid_q) begin
      bias_a_q <= grad_q;
      if (!grad_first_q) bias_b_q <= gb_data_i >> {grad_bias_q.lane, 5'd0};
      for (int unsigned k = 0; k < OB; k++) bias_valid_q[k] <= 8'(k) < grad_bias_q.count;
    end else if (result_valid_q) begin
      bias_b_q <= no_bias_q ? {OB{MINUS_ZERO}} : bias_data_i >> {bias_lane_q, 5'd0};
      for (int unsigned k = 0; k < OB; k++) bias_valid_q[k] <= 8'(k) < bias_count_q;
    end
  end
  for (genvar k = 0; k < OB; k++) begin : gen_bias
    logic unused_valid;
    jd_float_add #(.Latency (AddLatency)) u_add (
      .clk_i, .rst_ni,
      .valid_i    (bias_valid_q[k]),
      .subtract_i (1'b0),
      .a_i        (bias_a_q[k]),
      .b_i        (bias_b_q[k]),
      .valid_o    (unused_valid),
      .result_o   (bias_sum[k])
    );
  end

  // Results of the bias adders.
  logic [AddLatency:0]  output_line_q, grad_line_q;
  bias_t [AddLatency:0] bias_line_q;
  bias_t                written;
  assign written = bias_line_q[AddLatency];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      output_line_q <= '0;
      grad_line_q   <= '0;
    end else begin
      output_line_q <= (AddLatency + 1)'({output_line_q, result_valid_q});
      grad_line_q   <= (AddLatency + 1)'({grad_line_q, grad_valid_q});
    end
    bias_line_q <= ((AddLatency + 1) * $bits(bias_t))'({bias_line_q, grad_bias_q});
  end
  assign gb_write_o      = grad_line_q[AddLatency];
  assign gb_write_row_o  = written.row;
  assign gb_write_data_o = bias_sum << {written.lane, 5'd0};
  assign bias_stage_o    = written.stage;
  assign bias_sample_o   = written.sample;
  always_comb begin
    gb_write_mask_o = '0;
    bias_bad_o      = 1'b0;
    if (gb_write_o) begin
      for (int unsigned k = 0; k < OB; k++) begin
        if (8'(k) < written.count) begin
          gb_write_mask_o[ObW'(k)+written.lane] = 1'b1;
          bias_bad_o |= not_finite(bias_sum[k]);
        end
      end
    end
  end

  // --- Tangents. The outputs of a DOT pass one by one. The words of the frame that they need were
  // read with the operands and wait for them.
  localparam int unsigned LaneW = LANE_L;
  localparam int unsigned TANH  = 5 + 2 * MulLatency + 3 * AddLatency;
  typedef struct packed {
    logic [15:0]      row;
    logic [LaneW-1:0] lane;
    logic             done;
    logic [5:0]       stage;
  } place_t;
  logic        dot_result;
  logic        tangent_result;                   // a word leaves
  logic        tangent_empty;
  place_t      tangent_place;
  logic [31:0] tangent;
  assign dot_result = output_line_q[AddLatency];
  if (ActorCritic) begin : gen_tangent
    logic                others_push_q, serial_q, serial_last, word_valid_q, slope_q, noise_q;
    logic                word_slope_q, word_noise_q;
    logic [OB-1:0][31:0] others_q, others, serial_data_q;
    logic [ObW-1:0]      index_q, last_q;
    logic [31:0]         word_q, other_q;
    place_t              place_q, word_place_q;
    logic [TANH:0]       valid_line_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) others_push_q <= 1'b0;
      else         others_push_q <= take_q && op_q.mode == ModeDot && op_q.last
                                    && op_q.tag.tangent;
      if (take_q) begin
        for (int unsigned k = 0; k < OB; k++) others_q[k] <= b_data_i[b_lane_q[k]];
      end
    end
    logic [TagW:0] others_in_q, others_out_q;
    jd_mem_1r1w #(.Depth (TAGS), .Lanes (1), .LaneW (OB * 32)) u_others (
      .clk_i, .rst_ni,
      .write_en_i   (others_push_q),
      .write_addr_i (others_in_q[TagW-1:0]),
      .write_mask_i (1'b1),
      .write_data_i (others_q),
      .read_en_i    (dot_result && late.tangent),
      .read_addr_i  (others_out_q[TagW-1:0]),
      .read_data_o  (others)
    );
    assign serial_last = index_q == last_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        others_in_q  <= '0;
        others_out_q <= '0;
        serial_q     <= 1'b0;
        word_valid_q <= 1'b0;
        valid_line_q <= '0;
      end else begin
        if (others_push_q)              others_in_q  <= others_in_q + 1'b1;
        if (dot_result && late.tangent) others_out_q <= others_out_q + 1'b1;
        serial_q     <= (dot_result && late.tangent) || (serial_q && !serial_last);
        word_valid_q <= serial_q;
        valid_line_q <= {valid_line_q[TANH-1:0], serial_q};
      end
      if (dot_result && late.tangent) begin
        serial_data_q <= bias_sum;
        index_q       <= '0;
        last_q        <= ObW'(late.count - 8'd1);
        slope_q       <= late.slope;
        noise_q       <= late.noise;
        place_q       <= '{row: late.row, lane: late.lane[LANE_L-1:0], done: late.done,
                           stage: late.stage};
      end else begin
        index_q <= index_q + 1'b1;
      end
      word_q            <= serial_data_q[index_q];
      other_q           <= others[index_q];
      word_slope_q      <= slope_q;
      word_noise_q      <= noise_q;
      word_place_q      <= place_q;
      word_place_q.lane <= place_q.lane + LaneW'(index_q);
      word_place_q.done <= place_q.done && serial_last;
    end
    jd_learner_tanh #(.MulLatency (MulLatency), .AddLatency (AddLatency)) u_tanh (
      .clk_i, .rst_ni,
      .valid_i  (word_valid_q),
      .slope_i  (word_slope_q),
      .noise_i  (word_noise_q),
      .x_i      (word_q),
      .other_i  (other_q),
      .valid_o  (tangent_result),
      .result_o (tangent)
    );
    jd_delay #(.Width ($bits(place_t)), .Cycles (TANH), .Clear (1'b0)) u_place (
      .clk_i, .rst_ni, .in_i (word_place_q), .out_o (tangent_place)
    );
    assign tangent_empty = !serial_q && valid_line_q == '0;

    `JD_ASSERT_IF(OneWordAClock_A, dot_result && late.tangent, !serial_q || serial_last)
    `JD_ASSERT_IF(OthersAreThere_A, dot_result && late.tangent, others_in_q != others_out_q)
    `JD_ASSERT_IF(OthersHaveRoom_A, others_push_q,
                  others_in_q - others_out_q != (TagW + 1)'(TAGS))
    `JD_ASSERT_IF(OneWriter_A, tangent_result,
                  !axpy_result && !outer_result && !(dot_result && !late.tangent))
  end else begin : gen_no_tangent
    assign tangent_result = 1'b0;
    assign tangent_empty  = 1'b1;
    assign tangent_place  = '0;
    assign tangent        = '0;
  end

  // --- Results to the frame memory.
  logic direct;                                  // a result that is no tangent's operand
  assign pop_late   = dot_result || axpy_result || outer_result;
  assign direct     = !(ActorCritic && dot_result && late.tangent);
  assign empty_o    = !valid_i && !take_q && tag_in_q == tag_late_q && !frame_write_o
                      && tangent_empty;
  always_ff @(posedge clk_i) begin
    logic [P-1:0][31:0] data;
    logic [P-1:0]       lanes;
    if (!rst_ni) begin
      frame_write_o <= 1'b0;
      done_valid_o  <= 1'b0;
    end else begin
      frame_write_o <= (dot_result && direct) || axpy_result || tangent_result;
      done_valid_o  <= (pop_late && direct && late.done) || (tangent_result && tangent_place.done);
    end
    if (pop_late) done_stage_o <= late.stage;
    if (dot_result || axpy_result) begin
      data  = '0;
      lanes = '0;
      if (dot_result) begin
        // Word k goes to lane late.lane + k, if there is one. ReLU keeps NaN, whose sign is 0 after
        // an adder, and what is greater than zero.
        for (int unsigned l = 0; l < P; l++) begin
          for (int unsigned k = 0; k < OB && k <= l; k++) begin
            if (late.lane[LANE_L-1:0] == LANE_L'(l - k)) begin
              lanes[l] = 8'(k) < late.count;
              if (!late.act || !bias_sum[k][31]) data[l] = bias_sum[k];
            end
          end
        end
      end else begin
        for (int unsigned l = 0; l < P; l++) begin
          lanes[l] = 8'(l) < late.count;
          data[l]  = (!late.act || mask[l]) ? sum[l] : '0;
        end
      end
      frame_row_o  <= late.row;
      frame_mask_o <= lanes;
      frame_data_o <= data;
    end
    if (tangent_result) begin
      done_stage_o <= tangent_place.stage;
      frame_row_o  <= tangent_place.row;
      frame_mask_o <= P'(1) << tangent_place.lane;
      frame_data_o <= {P{tangent}};
    end
  end

  `JD_ASSUME_IF(ClearWhenEmpty_M, clear_i, empty_o)
  `JD_ASSERT_IF(TagOfResult_A, pop_late, tag_late_q != tag_in_q)
  `JD_ASSERT_IF(TagRoom_A, has_tag, tag_in_q - tag_late_q != TagW'(TAGS - 1))
  `JD_ASSERT(OneResult_A, !(dot_result && (axpy_result || outer_result)))
  `JD_ASSERT(OneUserOfBiasAdders_A, !(grad_valid_q && result_valid_q))
  `JD_ASSERT_IF(LanesOrTree_A, lane_q, level_valid_q == '0)
  for (genvar k = 0; k < OB; k++) begin : gen_canonical
    `JD_ASSERT_IF(CanonicalNan_A, dot_result && nan(bias_sum[k]), !bias_sum[k][31])
  end
  `JD_ASSERT(OneTag_A, 2'(result_valid) + 2'(g_read_o) + 2'(axpy_result) < 2'd2)
endmodule : jd_learner_tensor_unit
