// SPDX-License-Identifier: Apache-2.0
//
// Semaphores.
//
// Streams  take_i: those that count down, each only while it is above 0. post_i: those that count up.
// Timing   What is said shows in the next clock. A take comes before a post of the same clock.
// Numbers  0..2**Bits - 1. A post of a semaphore that is at its greatest is lost: over_o.
// Source   LearningGroup III (instruction scheduler). Golden model: models/sparse/program.py.
`include "jd_assert.svh"
module jd_sparse_semaphores #(
  parameter int unsigned Count = 16,             // semaphores
  parameter int unsigned Bits  = 4               // of each
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic [Count-1:0] take_i,
  input  logic [Count-1:0] post_i,
  output logic [Count-1:0] above_o,              // 0
  output logic             over_o                // this post passes the greatest number
);
  logic [Count-1:0]           over;
  logic [Count-1:0][Bits-1:0] count_q;
  assign over_o = over != '0;
  for (genvar k = 0; k < Count; k++) begin : gen_semaphore
    assign above_o[k] = count_q[k] != '0;
    assign over[k]    = post_i[k] && !take_i[k] && count_q[k] == '1;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i)                       count_q[k] <= '0;
      else if (take_i[k] && !post_i[k])             count_q[k] <= count_q[k] - 1'b1;
      else if (post_i[k] && !take_i[k] && !over[k]) count_q[k] <= count_q[k] + 1'b1;
    end
    `JD_ASSUME_IF(TakeAboveZero_M, take_i[k] && !clear_i, above_o[k])
  end
endmodule : jd_sparse_semaphores
