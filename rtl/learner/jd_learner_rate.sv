// SPDX-License-Identifier: Apache-2.0
//
// Computes the scalars of one weight update: bias corrections, rate, next learning rate.
//
// Streams  start_i gives the optimizer slot and the network's state. done_o is high for one clock;
//          the results hold.
// Timing   One operation at a time: for Adam 2 mul + 2 add + 2 div + sqrt + add, else one add.
// Numbers  binary32, RNE: c1 = b1*c1 + rest1, c2 = b2*c2 + rest2, rate = lr/c1, r2 = 1/sqrt(c2),
//          lr = lr - decrement, not below the floor. SGD and momentum: rate = lr. The corrections
//          1 - b^t are summed like the moments, because a difference loses its bits at small t.
// Source   learner 5.6. Golden model: models/learner/optim.py.
`include "jd_assert.svh"
module jd_learner_rate #(
  parameter int unsigned MulLatency  = 2,
  parameter int unsigned AddLatency  = 2,
  parameter int unsigned DivLatency  = 4,
  parameter int unsigned SqrtLatency = 4
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             start_i,
  input  logic [8:0][31:0] slot_i,     // the optimizer slot's words; held until done_o
  input  logic [31:0]      c1_i,       // state before the step; held until done_o
  input  logic [31:0]      c2_i,
  input  logic [31:0]      lr_i,
  output logic             done_o,
  output logic [31:0]      rate_o,
  output logic [31:0]      root_o,     // r2
  output logic [31:0]      c1_o,       // state after the step
  output logic [31:0]      c2_o,
  output logic [31:0]      lr_o
);
  localparam logic [31:0] ONE = 32'h3F80_0000;

  typedef enum logic [3:0] {
    StIdle, StProduct1, StProduct2, StSum1, StSum2, StRate, StSqrt, StRoot, StLower, StDone
  } state_e;
  state_e state_q, state_d;
  logic   issue_q;                      // first clock of a state: start its operator

  logic        adam, mul_valid, add_valid, div_valid, sqrt_valid, below;
  logic [31:0] mul, sum, quotient, square_root;
  logic [31:0] first_q, second_q;

  assign adam = slot_i[0][1:0] == 2'd2;

  jd_float_mul #(.Latency (MulLatency)) u_mul (
    .clk_i, .rst_ni,
    .valid_i  (issue_q && state_q inside {StProduct1, StProduct2}),
    .a_i      (first_q),
    .b_i      (second_q),
    .valid_o  (mul_valid),
    .result_o (mul)
  );
  jd_float_add #(.Latency (AddLatency)) u_add (
    .clk_i, .rst_ni,
    .valid_i    (issue_q && state_q inside {StSum1, StSum2, StLower}),
    .subtract_i (state_q == StLower),
    .a_i        (first_q),
    .b_i        (second_q),
    .valid_o    (add_valid),
    .result_o   (sum)
  );
  jd_float_div #(.Latency (DivLatency)) u_div (
    .clk_i, .rst_ni,
    .valid_i  (issue_q && state_q inside {StRate, StRoot}),
    .a_i      (first_q),
    .b_i      (second_q),
    .valid_o  (div_valid),
    .result_o (quotient)
  );
  jd_float_sqrt #(.Latency (SqrtLatency)) u_sqrt (
    .clk_i, .rst_ni,
    .valid_i  (issue_q && state_q == StSqrt),
    .a_i      (c2_o),
    .valid_o  (sqrt_valid),
    .result_o (square_root)
  );
  jd_float_compare u_compare (
    .a_i         (sum),
    .b_i         (slot_i[8]),
    .less_o      (below),
    .equal_o     (),
    .unordered_o ()
  );

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:     if (start_i)    state_d = adam ? StProduct1 : StLower;
      StProduct1: if (mul_valid)  state_d = StProduct2;
      StProduct2: if (mul_valid)  state_d = StSum1;
      StSum1:     if (add_valid)  state_d = StSum2;
      StSum2:     if (add_valid)  state_d = StRate;
      StRate:     if (div_valid)  state_d = StSqrt;
      StSqrt:     if (sqrt_valid) state_d = StRoot;
      StRoot:     if (div_valid)  state_d = StLower;
      StLower:    if (add_valid)  state_d = StDone;
      default:    state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      issue_q <= 1'b0;
      done_o  <= 1'b0;
    end else begin
      done_o  <= state_d == StDone;
      state_q <= state_d;
      issue_q <= state_d != state_q;
    end
    // The operands of the next state, with its first clock; that of StSqrt is c2_o.
    if (state_d != state_q) begin
      unique case (state_q)
        StIdle:         first_q <= adam ? c1_i : lr_i;
        StProduct1:     first_q <= c2_i;
        StProduct2:     first_q <= c1_o;
        StSum1:         first_q <= c2_o;
        StSum2, StRoot: first_q <= lr_i;
        default:        first_q <= ONE;
      endcase
      unique case (state_q)
        StIdle:     second_q <= adam ? slot_i[2] : slot_i[7];
        StProduct1: second_q <= slot_i[3];
        StProduct2: second_q <= slot_i[5];
        StSum1:     second_q <= slot_i[6];
        StSum2:     second_q <= c1_o;
        StSqrt:     second_q <= square_root;
        default:    second_q <= slot_i[7];
      endcase
    end
    if (state_q == StIdle && start_i) begin
      c1_o   <= c1_i;
      c2_o   <= c2_i;
      rate_o <= lr_i;
      root_o <= ONE;
    end
    // In c1_o and c2_o the products wait for their sums.
    if (state_q == StProduct1 && mul_valid) c1_o   <= mul;
    if (state_q == StProduct2 && mul_valid) c2_o   <= mul;
    if (state_q == StSum1 && add_valid)     c1_o   <= sum;
    if (state_q == StSum2 && add_valid)     c2_o   <= sum;
    if (state_q == StRate && div_valid)     rate_o <= quotient;
    if (state_q == StRoot && div_valid)     root_o <= quotient;
    if (state_q == StLower && add_valid)    lr_o   <= below ? slot_i[8] : sum;
  end

  `JD_ASSUME_IF(StartWhenIdle_M, start_i, state_q == StIdle)
endmodule : jd_learner_rate
