// SPDX-License-Identifier: Apache-2.0
//
// Delays the words of a pipe by a fixed number of clocks.
//
// Streams  in: words under a valid bit; out: the same. Valid only, no stall.
// Timing   latency Cycles; 0 is a wire. A stage loads only when a word enters it.
// Numbers  bits, unchanged.
// Source   -
`include "jd_assert.svh"
module jd_replay_pipe #(
  parameter int unsigned Width  = 8,  // bits, 1..512
  parameter int unsigned Cycles = 1   // 1..64
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             valid_i,
  input  logic [Width-1:0] data_i,
  output logic             valid_o,
  output logic [Width-1:0] data_o
);
  if (Width < 1 || Width > 512 || Cycles < 1 || Cycles > 64) begin : gen_bad_parameters
    $fatal(1, "jd_replay_pipe: Width=%0d, want 1..512, Cycles=%0d, want 1..64", Width, Cycles);
  end

  logic [Cycles-1:0] valid_q;
  logic [Width-1:0]  data_q [Cycles];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= Cycles'({valid_q, valid_i});
    if (valid_i) data_q[0] <= data_i;
    if (valid_q != '0) begin
      for (int unsigned stage = 1; stage < Cycles; stage++) begin
        if (valid_q[stage-1]) data_q[stage] <= data_q[stage-1];
      end
    end
  end
  assign valid_o = valid_q[Cycles-1];
  assign data_o  = data_q[Cycles-1];
endmodule : jd_replay_pipe
