// SPDX-License-Identifier: Apache-2.0
//
// Registers a stream in both directions: no path from the output's ready to the input's.
//
// Streams  in, out: the same words in the same order. clear_i empties it; a word that is taken in
//          that clock is dropped too.
// Timing   latency 1, one word per clock; all outputs are registers or the inverse of one.
// Numbers  bits, unchanged.
// Source   -
`include "jd_assert.svh"
module jd_stream_skid #(
  parameter int unsigned Width = 8   // bits of a word, 1..4096
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
  if (Width < 1 || Width > 4096) begin : gen_bad_width
    $fatal(1, "jd_stream_skid: Width=%0d, want 1..4096", Width);
  end

  // The spare register takes the word that was accepted while the output did not move.
  logic             spare_valid_q;
  logic [Width-1:0] spare_q;
  logic             advance;
  assign in_ready_o = !spare_valid_q;
  assign advance    = !out_valid_o || out_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      out_valid_o   <= 1'b0;
      spare_valid_q <= 1'b0;
    end else if (advance) begin
      out_valid_o   <= spare_valid_q || in_valid_i;
      spare_valid_q <= 1'b0;
    end else if (in_valid_i) begin
      spare_valid_q <= 1'b1;
    end
    if (advance && (spare_valid_q || in_valid_i)) begin
      out_data_o <= spare_valid_q ? spare_q : in_data_i;
    end
    if (in_valid_i && in_ready_o) spare_q <= in_data_i;   // also what the output takes at once
  end

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o || clear_i, in_data_i)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i || clear_i, out_data_o)
  `JD_ASSERT_IF(SpareBehindOutput_A, spare_valid_q, out_valid_o)
  `JD_ASSERT_NEXT(LatencyOne_A, in_valid_i && in_ready_o && !clear_i, out_valid_o)
  `JD_ASSERT_NEXT(ClearEmpties_A, clear_i, !out_valid_o && in_ready_o)
endmodule : jd_stream_skid
