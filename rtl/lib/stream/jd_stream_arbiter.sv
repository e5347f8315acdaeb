// SPDX-License-Identifier: Apache-2.0
//
// Merges several streams into one, round robin.
//
// Streams  in: Streams inputs, each in order. out: their words, with the number of the input that
//          each came from. An input that offers a word waits for at most one word of every other.
// Timing   latency 1, one word per clock; out_* are registers. in_ready_o follows out_ready_i and
//          in_valid_i in the same clock (a jd_stream_skid at the output cuts the path from ready).
// Numbers  bits, unchanged.
// Source   -
`include "jd_assert.svh"
module jd_stream_arbiter #(
  parameter  int unsigned Streams = 2,   // 1..64
  parameter  int unsigned Width   = 8,   // bits of a word, 1..4096
  localparam int unsigned IndexW  = (Streams > 1) ? $clog2(Streams) : 1
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  logic [Streams-1:0]       in_valid_i,
  output logic [Streams-1:0]       in_ready_o,
  input  logic [Streams*Width-1:0] in_data_i,     // stream 0 in the low bits
  output logic                     out_valid_o,
  input  logic                     out_ready_i,
  output logic [Width-1:0]         out_data_o,
  output logic [IndexW-1:0]        out_index_o
);
  if (Streams < 1 || Streams > 64 || Width < 1 || Width > 4096) begin : gen_bad_parameters
    $fatal(1, "jd_stream_arbiter: Streams=%0d, want 1..64, Width=%0d, want 1..4096", Streams,
           Width);
  end

  // The first that offers a word above the one served last; if there is none, the first of all.
  // out_index_o keeps the one served last.
  logic [Streams-1:0] above_q;                    // streams above the one served last
  logic [Streams-1:0] offered, granted, behind;   // behind: above the granted one
  logic [IndexW-1:0]  index_d;
  logic [Width-1:0]   data_d;
  logic               advance, found;
  assign offered = (in_valid_i & above_q) != '0 ? in_valid_i & above_q : in_valid_i;
  assign found   = in_valid_i != '0;
  assign advance = !out_valid_o || out_ready_i;
  always_comb begin
    behind = '0;
    for (int unsigned s = 1; s < Streams; s++) behind[s] = behind[s-1] || offered[s-1];
    granted = offered & ~behind;
    index_d = '0;
    data_d  = '0;
    for (int unsigned s = 0; s < Streams; s++) begin
      if (granted[s]) begin
        index_d = index_d | IndexW'(s);
        data_d  = data_d | in_data_i[s*Width +: Width];
      end
    end
  end

  assign in_ready_o = advance ? granted : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_valid_o <= 1'b0;
      out_index_o <= IndexW'(Streams - 1);
      above_q     <= '0;
    end else if (advance) begin
      out_valid_o <= found;
      if (found) begin
        out_index_o <= index_d;
        above_q     <= behind;
      end
    end
    if (advance && found) out_data_o <= data_d;
  end

  for (genvar s = 0; s < Streams; s++) begin : gen_check
    `JD_ASSUME_STREAM(InStable_M, in_valid_i[s], in_ready_o[s], in_data_i[s*Width +: Width])
  end
  `JD_ASSERT(Above_A, above_q == ({Streams{1'b1}} << out_index_o) << 1)
  `JD_ASSERT(OneTaken_A, $onehot0(in_ready_o) && (in_ready_o & ~in_valid_i) == '0)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i, {out_index_o, out_data_o})
  `JD_ASSERT_NEXT(LatencyOne_A, in_ready_o != '0, out_valid_o)
endmodule : jd_stream_arbiter
