// SPDX-License-Identifier: Apache-2.0
//
// The mean of values: a sum divided by a count, rounded down.
//
// Streams  none: a pipe without a stall; a division may begin in each clock.
// Timing   12 clocks; two bits of the quotient each. The highest bit is 0 for any sum, so that the
//          first clock, which turns a negative sum over, has one to find.
// Numbers  sum signed with 40 bits, count 1..65535, quotient signed with 24; |sum| <= 2^23 * count.
//          For a negative sum floor(w / n) = ~floor(~w / n).
// Source   docs/mcts.md (numbers). Golden model: models/mcts/score.py, mean.
`include "jd_assert.svh"
module jd_mcts_divide
  import jd_mcts_pkg::*;
(
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      valid_i,
  input  logic signed [SUM_W-1:0]   sum_i,
  input  logic [VISITS_W-1:0]       count_i,
  output logic                      valid_o,
  output logic signed [VALUE_W-1:0] mean_o
);
  localparam int unsigned Steps = 12;
  typedef struct packed {
    logic                negative;
    logic [VISITS_W-1:0] count;
    logic [VISITS_W-1:0] remainder;     // below count
    logic [VALUE_W-1:0]  rest;          // bits of the dividend, then of the quotient
  } step_t;
  logic [Steps:0] valid;
  step_t          steps [Steps + 1];

  // The quotient has 24 bits, and its highest is 0; what is above the others is the first remainder,
  // which is below the count.
  logic [SUM_W-1:0] dividend;
  assign dividend = sum_i[SUM_W-1] ? ~sum_i : sum_i;
  assign valid[0] = valid_i;
  assign steps[0] = '{negative: sum_i[SUM_W-1], count: count_i,
                      remainder: dividend[SUM_W-2:VALUE_W-1],
                      rest: {dividend[VALUE_W-2:0], 1'b0}};
  for (genvar s = 0; s < Steps; s++) begin : gen_step
    step_t next, step_q;
    logic  valid_q;
    always_comb begin
      next = steps[s];
      for (int unsigned bits = s == 0 ? 1 : 0; bits < 2; bits++) begin
        logic [VISITS_W:0] grown;
        logic              fits;
        grown = {next.remainder, next.rest[VALUE_W-1]};
        fits  = grown >= {1'b0, next.count};
        next.remainder = VISITS_W'(fits ? grown - {1'b0, next.count} : grown);
        next.rest      = {next.rest[VALUE_W-2:0], fits};
      end
    end
    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q <= 1'b0;
      else         valid_q <= valid[s];
      if (valid[s]) step_q <= next;
    end
    assign valid[s+1] = valid_q;
    assign steps[s+1] = step_q;
  end
  assign valid_o = valid[Steps];
  assign mean_o  = steps[Steps].negative ? ~steps[Steps].rest : steps[Steps].rest;
  logic unused;
  assign unused = ^{steps[Steps].count, steps[Steps].remainder};

  `JD_ASSUME_IF(CountIsThere_M, valid_i, count_i != '0)
  `JD_ASSUME_IF(MeanFits_M, valid_i, dividend[SUM_W-1:VALUE_W-1] < (SUM_W-VALUE_W+1)'(count_i))
endmodule : jd_mcts_divide
