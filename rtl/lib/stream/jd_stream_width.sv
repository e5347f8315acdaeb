// SPDX-License-Identifier: Apache-2.0
//
// Converts a stream to wider or to narrower words, by a whole factor.
//
// Streams  in, out: the same units in the same order. A unit has the bits of the narrower word;
//          unit 0 of a word is in the low bits. in_count_i and out_count_o say how many units of a
//          word count; the units above have no meaning. To wider words: a word leaves with its last
//          unit. flush_i, which comes after the last unit, sends a word with fewer units. clear_i
//          drops held units.
// Timing   A word of the narrower side per clock. To wider words: latency 0 for the last unit,
//          which alone waits for out_ready_i, in the same clock. To narrower words: latency 1;
//          in_ready_o follows out_ready_i in the clock of a word's last unit.
// Numbers  bits, unchanged.
// Source   -
`include "jd_assert.svh"
module jd_stream_width #(
  parameter  int unsigned InW    = 32,    // bits of a word in, 1..4096
  parameter  int unsigned OutW   = 512,   // and out, 2..64 times as many, or such a part of them
  localparam int unsigned UnitW  = (InW < OutW) ? InW : OutW,
  localparam int unsigned Units  = (InW < OutW) ? OutW / InW : InW / OutW,
  localparam int unsigned CountW = $clog2(Units + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic              flush_i,       // to wider words: level, until what is held is taken
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [InW-1:0]    in_data_i,
  input  logic [CountW-1:0] in_count_i,    // to narrower words: 1..Units
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [OutW-1:0]   out_data_o,
  output logic [CountW-1:0] out_count_o    // to wider words: units of the word that goes out next
);
  if (InW < 1 || InW > 4096 || OutW < 1 || OutW > 4096 || Units < 2 || Units > 64 ||
      UnitW * Units != ((InW < OutW) ? OutW : InW)) begin : gen_bad_width
    $fatal(1, "jd_stream_width: InW=%0d, OutW=%0d, want 1..4096, the one 2..64 times the other",
           InW, OutW);
  end

  logic [CountW-1:0] held_q;               // units
  logic              push, pop;
  assign push = in_valid_i && in_ready_o;
  assign pop  = out_valid_o && out_ready_i;
  if (InW < OutW) begin : gen_wider
    logic [Units-2:0][UnitW-1:0] units_q;
    logic                        last;     // the unit at the input is the word's last
    assign last        = held_q == CountW'(Units - 1);
    assign in_ready_o  = !last || out_ready_i;
    assign out_valid_o = (last && in_valid_i) || (flush_i && held_q != '0);
    assign out_data_o  = {in_valid_i ? in_data_i : UnitW'(0), units_q};
    assign out_count_o = (last && in_valid_i) ? CountW'(Units) : held_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i || pop) held_q <= '0;
      else if (push)                 held_q <= held_q + 1'b1;
      for (int unsigned k = 0; k < Units - 1; k++) begin
        if (push && held_q == CountW'(k)) units_q[k] <= in_data_i;
      end
    end
    logic unused;
    assign unused = ^in_count_i;
    `JD_ASSUME_IF(FlushIsLast_M, flush_i && held_q != '0, !in_valid_i)
  end else begin : gen_narrower
    logic [InW-1:0] word_q;                // the next unit in the low bits
    assign in_ready_o  = held_q == '0 || (held_q == CountW'(1) && out_ready_i);
    assign out_valid_o = held_q != '0;
    assign out_data_o  = word_q[UnitW-1:0];
    assign out_count_o = CountW'(1);
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) held_q <= '0;
      else if (push)          held_q <= in_count_i;
      else if (pop)           held_q <= held_q - 1'b1;
      if (push)     word_q <= in_data_i;
      else if (pop) word_q <= word_q >> UnitW;
    end
    logic unused;
    assign unused = flush_i;
    `JD_ASSUME_IF(CountInRange_M, in_valid_i, in_count_i != '0 && in_count_i <= CountW'(Units))
  end

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o || clear_i, {in_count_i, in_data_i})
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i || clear_i, {out_count_o, out_data_o})
  `JD_ASSERT(HeldInRange_A, held_q <= CountW'((InW < OutW) ? Units - 1 : Units))
  `JD_ASSERT_NEXT(ClearEmpties_A, clear_i, held_q == '0)
endmodule : jd_stream_width
