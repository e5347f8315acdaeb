// SPDX-License-Identifier: Apache-2.0
//
// A stream link between two engines: a small buffer that a soft reset of either end empties.
//
// Streams  in: words from the source. out: the same words, in order, to the sink. While clear_i is
//          high, words are accepted and dropped, and none is offered. An end that is being reset
//          may then withdraw a word.
// Timing   latency 2, one word per clock.
// Numbers  bits, unchanged.
// Source   docs/shell.md, streams between engines.
`include "jd_assert.svh"
module jd_shell_link #(
  parameter int unsigned Width = 64,      // bits of a word, 1..4096
  parameter int unsigned Depth = 16       // words, 3..1024
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);
  if (Depth < 3 || Depth > 1024) begin : gen_bad_depth
    $fatal(1, "jd_shell_link: Depth=%0d, want 3..1024", Depth);
  end

  logic held_ready, held_valid;
  logic [$clog2(Depth+1)-1:0] count;
  jd_stream_fifo #(
    .Width(Width),
    .Depth(Depth)
  ) u_fifo (
    .clk_i,
    .rst_ni,
    .clear_i,
    .in_valid_i  (in_valid_i && held_ready && !clear_i),
    .in_ready_o  (held_ready),
    .in_data_i,
    .out_valid_o (held_valid),
    .out_ready_i (out_ready_i && !clear_i),
    .out_data_o,
    .count_o     (count)
  );
  assign in_ready_o  = held_ready || clear_i;
  assign out_valid_o = held_valid && !clear_i;

  `JD_ASSERT_NEXT(ClearEmpties_A, clear_i, count == '0)
endmodule : jd_shell_link
