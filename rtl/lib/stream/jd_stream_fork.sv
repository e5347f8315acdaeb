// SPDX-License-Identifier: Apache-2.0
//
// Gives each word of a stream to several takers, each in its own time.
//
// Streams  in: words, whose data go to the takers beside this block; out: one bit per taker. A taker
//          sees a word until it takes it, once; the word leaves when all have it.
// Timing   latency 0, one word per clock. in_ready_o follows out_ready_i in the same clock; no taker
//          waits for another, but for the next word.
// Numbers  -
// Source   -
`include "jd_assert.svh"
module jd_stream_fork #(
  parameter int unsigned Takers = 2   // 1..64
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  output logic [Takers-1:0] out_valid_o,
  input  logic [Takers-1:0] out_ready_i
);
  if (Takers < 1 || Takers > 64) begin : gen_bad_takers
    $fatal(1, "jd_stream_fork: Takers=%0d, want 1..64", Takers);
  end

  logic [Takers-1:0] have, have_q;   // takers that have the word with this clock, and before it
  assign have        = have_q | out_ready_i;
  assign out_valid_o = in_valid_i ? ~have_q : '0;
  assign in_ready_o  = &have;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !in_valid_i || in_ready_o) have_q <= '0;
    else                                      have_q <= have;
  end

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o, 1'b0)
  for (genvar t = 0; t < Takers; t++) begin : gen_check
    `JD_ASSERT_STREAM(OutStable_A, out_valid_o[t], out_ready_i[t], 1'b0)
  end
  `JD_ASSERT_IF(NobodyIsLeft_A, in_valid_i && in_ready_o, (out_valid_o & ~out_ready_i) == '0)
endmodule : jd_stream_fork
