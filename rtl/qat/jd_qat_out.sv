// SPDX-License-Identifier: Apache-2.0
//
// Turns the sums of an entry into a line of activations or deltas: combines the lanes, adds the
// bias, rounds, applies ReLU or its derivative, and quantizes.
//
// Streams  in: the sums of an entry. line: the part that is stored. wide: outputs of a last layer,
//          for jd_qat_tail, which keep 32 bits (an entry may have two), and deltas of an action.
//          Pipes: valid only, no stall. An entry gives either a line or a wide result. in_* come
//          with the sums, but in_positive_i with the derivative, 4 clocks later.
// Timing   wide_* 4 clocks after the sums, line_* 6, one per clock:
//              1 combined | 2 bias | 3, 4 rounding | 5, 6 quantizer
//          over_*: saturations, of z 4 clocks after the sums, of the quantizer 6.
// Numbers  full: x = high + floor(low / 2^16), which loses only bits that no rounding sees; half:
//          each lane is a vector's sum. z = S32(R(x + bias * 2^up, 8 + up)), where up is 16 - shift
//          of the inputs in half mode, and 0 in full mode and for deltas. Then ReLU, or its
//          derivative by in_positive_i. Stored is z, or in half mode S16(R(z, down)) of both
//          vectors in a word. Words before in_word_i and from in_words_i on, and missing vectors,
//          are 0 and saturate nothing. The bias of deltas is 0.
// Source   docs/qat.md (numbers). Golden model: models/qat/ops.py, forward, backward, activate,
//          derivative, quantize.
`include "jd_assert.svh"
module jd_qat_out
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw     = 16,           // 4, 8, 16
  localparam int unsigned CountW = $clog2(2 * Lw + 1)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          in_valid_i,
  input  logic                          in_half_i,       // two vectors, not of dX
  input  logic                          in_odd_i,        // the second of them is there
  input  logic                          in_delta_i,      // of dX
  input  logic                          in_relu_i,       // ReLU, of dX its derivative
  input  logic                          in_wide_i,       // goes to the tail
  input  logic                          in_quantize_i,   // is stored in 16 bits
  input  logic [SHIFT_W-1:0]            in_up_i,         // 0..16
  input  logic [SHIFT_W-1:0]            in_down_i,       // 0..16
  input  logic [ROWS_W-1:0]             in_words_i,      // 1..Lw
  input  logic [ROWS_W-1:0]             in_word_i,       // the first that counts
  input  logic [Lw-1:0][WORD_W-1:0]     in_bias_i,
  input  logic [Lw-1:0][ACC_W-1:0]      in_low_i,
  input  logic [Lw-1:0][ACC_W-1:0]      in_high_i,
  input  logic [Lw-1:0]                 in_positive_i,   // dX: activations above 0, 4 clocks later
  output logic                          wide_valid_o,
  output logic [1:0][Lw-1:0][WORD_W-1:0] wide_data_o,    // even and odd vector
  output logic                          line_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]     line_data_o,
  output logic [CountW-1:0]             over_z_o,        // words that were saturated in this clock
  output logic [CountW-1:0]             over_quantized_o
);
  localparam int unsigned XW   = ACC_W + 1;       // combined
  localparam int unsigned ZW   = XW + 1;          // with the bias: at most 48 bits
  localparam int unsigned DROP = 8;               // bits that are rounded away in full mode
  localparam int unsigned MOST = DROP + 16;

  typedef struct packed {
    logic               half;
    logic               odd;
    logic               delta;
    logic               relu;
    logic               wide;
    logic               quantize;
    logic [SHIFT_W-1:0] up;
    logic [SHIFT_W-1:0] down;
    logic [ROWS_W-1:0]  words;
    logic [ROWS_W-1:0]  word;
  } control_t;

  control_t control, control_q, control_q2, control_q4, control_q6;
  logic     valid_q, valid_q2, valid_q4, valid_q6;
  assign control = '{half: in_half_i, odd: in_odd_i, delta: in_delta_i, relu: in_relu_i,
                     wide: in_wide_i, quantize: in_quantize_i, up: in_up_i, down: in_down_i,
                     words: in_words_i, word: in_word_i};
  always_ff @(posedge clk_i) begin
    valid_q  <= rst_ni && in_valid_i;
    valid_q2 <= rst_ni && valid_q;
    if (in_valid_i) control_q  <= control;
    if (valid_q)    control_q2 <= control_q;
  end
  jd_delay #(.Width (1), .Cycles (2)) u_valid_q4 (.clk_i, .rst_ni, .in_i (valid_q2),
                                                  .out_o (valid_q4));
  jd_delay #(.Width (1), .Cycles (2)) u_valid_q6 (.clk_i, .rst_ni, .in_i (valid_q4),
                                                  .out_o (valid_q6));
  jd_delay #(.Width ($bits(control_t)), .Cycles (2), .Clear (1'b0)) u_control_q4 (
    .clk_i, .rst_ni, .in_i (control_q2), .out_o (control_q4)
  );
  jd_delay #(.Width ($bits(control_t)), .Cycles (2), .Clear (1'b0)) u_control_q6 (
    .clk_i, .rst_ni, .in_i (control_q4), .out_o (control_q6)
  );

  // ---- Each word: lane 0 is the only vector or the even one, lane 1 the odd one
  logic [Lw-1:0][1:0] over_z, over_quantized;
  for (genvar j = 0; j < Lw; j++) begin : gen_word
    logic signed [1:0][XW-1:0] x_q;
    logic signed [WORD_W-1:0]  bias_q;
    logic [1:0]                there;             // the vector and the word, after rounding
    assign there = {control_q4.half && control_q4.odd, 1'b1}
                   & {2{ROWS_W'(j) < control_q4.words && ROWS_W'(j) >= control_q4.word}};
    always_ff @(posedge clk_i) begin
      if (in_valid_i) begin
        x_q[0] <= in_half_i ? XW'($signed(in_low_i[j]))
                  : XW'($signed(in_high_i[j])) + XW'($signed(in_low_i[j]) >>> HALF_W);
        x_q[1] <= XW'($signed(in_high_i[j]));
        bias_q <= in_delta_i ? '0 : in_bias_i[j];
      end
    end
    for (genvar k = 0; k < 2; k++) begin : gen_vector
      logic signed [ZW-1:0]     sum_q;
      logic signed [WORD_W-1:0] z, activated, quantized;
      logic                     rounded_over, quantized_over, unused_valid, unused_stored_valid;
      logic signed [HALF_W-1:0] stored;
      always_ff @(posedge clk_i) begin
        if (valid_q && (k == 0 || control_q.half)) begin
          sum_q <= ZW'($signed(x_q[k])) + (ZW'(bias_q) <<< control_q.up);
        end
      end
      jd_fixed_round #(
        .InW      (ZW),
        .OutW     (WORD_W),
        .ShiftMax (MOST),
        .Latency  (2)
      ) u_z (
        .clk_i, .rst_ni,
        .valid_i     (valid_q2 && (k == 0 || control_q2.half)),
        .value_i     (sum_q),
        .shift_i     (5'(DROP) + control_q2.up),
        .valid_o     (unused_valid),
        .result_o    (z),
        .saturated_o (rounded_over)
      );
      logic keeps;                                // ReLU or its derivative
      assign keeps     = !control_q4.relu
                         || (control_q4.delta ? in_positive_i[j] : !z[WORD_W-1]);
      assign activated = (there[k] && keeps) ? z : '0;
      assign wide_data_o[k][j] = activated;
      assign over_z[j][k]      = valid_q4 && there[k] && rounded_over;
      jd_fixed_round #(
        .InW      (WORD_W),
        .OutW     (HALF_W),
        .ShiftMax (16),
        .Latency  (2)
      ) u_quantizer (
        .clk_i, .rst_ni,
        .valid_i     (valid_q4 && control_q4.quantize),
        .value_i     (activated),
        .shift_i     (control_q4.down),
        .valid_o     (unused_stored_valid),
        .result_o    (stored),
        .saturated_o (quantized_over)
      );
      assign over_quantized[j][k] = valid_q6 && control_q6.quantize && quantized_over;
      assign quantized            = WORD_W'(stored);
      logic unused;
      assign unused = ^{unused_valid, unused_stored_valid, quantized[WORD_W-1:HALF_W]};
      if (k == 0) begin : gen_even
        logic signed [WORD_W-1:0] full_q, full_q2;
        always_ff @(posedge clk_i) begin
          if (valid_q4 && !control_q4.quantize) full_q <= activated;
          full_q2 <= full_q;
        end
        assign line_data_o[j][HALF_W-1:0] = control_q6.quantize ? quantized[HALF_W-1:0]
                                                                : full_q2[HALF_W-1:0];
      end else begin : gen_odd
        assign line_data_o[j][WORD_W-1:HALF_W] = control_q6.quantize ? quantized[HALF_W-1:0]
            : gen_word[j].gen_vector[0].gen_even.full_q2[WORD_W-1:HALF_W];
      end
    end
  end
  assign wide_valid_o = valid_q4 && control_q4.wide;
  assign line_valid_o = valid_q6 && !control_q6.wide;

  always_comb begin
    over_z_o         = '0;
    over_quantized_o = '0;
    for (int unsigned j = 0; j < Lw; j++) begin
      for (int unsigned k = 0; k < 2; k++) begin
        over_z_o         = over_z_o + CountW'(over_z[j][k]);
        over_quantized_o = over_quantized_o + CountW'(over_quantized[j][k]);
      end
    end
  end

  `JD_ASSUME_IF(UpInRange_M, in_valid_i, in_up_i <= SHIFT_W'(16) && in_down_i <= SHIFT_W'(16))
  `JD_ASSUME_IF(WordsInRange_M, in_valid_i, in_word_i < in_words_i && 32'(in_words_i) <= Lw)
  `JD_ASSUME_IF(DeltaIsFull_M, in_valid_i && in_delta_i, !in_half_i && !in_quantize_i)
endmodule : jd_qat_out
