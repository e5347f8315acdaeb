// SPDX-License-Identifier: Apache-2.0
//
// Transposes square patches of words: rows in, columns out.
//
// Streams  in: the rows of a patch, then of the next; out: its columns, word r of column c being
//          word c of row r. A patch is Lanes beats both ways.
// Timing   one beat per clock: there is room for two patches, one comes while the other leaves. The
//          first column shows 3 clocks after the last row moved; out_* are registers, and
//          in_ready_o depends on registers alone.
// Numbers  bits, unchanged.
// Source   FA3C (ASPLOS 2019) section 4.4.3 (transpose load unit). The published unit is an array
//          of registers; this one is Lanes memories. Word c of row r lies in memory (r + c) mod
//          Lanes at address r, so no two words of a row or of a column lie in one memory:
//              rows turn by r on their way in, columns by c on their way out.
`include "jd_assert.svh"
module jd_stream_transpose #(
  parameter  int unsigned Lanes  = 16,            // words of a beat, beats of a patch; 2**k, 4..32
  parameter  int unsigned WordW  = 32,            // bits of a word, 1..64
  localparam int unsigned LaneW  = $clog2(Lanes),
  localparam int unsigned DataW  = Lanes * WordW
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [DataW-1:0] in_data_i,             // word 0 in the low bits
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [DataW-1:0] out_data_o
);
  if (Lanes < 4 || Lanes > 32 || Lanes != 1 << LaneW) begin : gen_bad_lanes
    $fatal(1, "jd_stream_transpose: Lanes=%0d, want a power of two 4..32", Lanes);
  end
  if (WordW < 1 || WordW > 64) begin : gen_bad_word
    $fatal(1, "jd_stream_transpose: WordW=%0d, want 1..64", WordW);
  end

  typedef logic [Lanes-1:0][WordW-1:0] beat_t;

  // Word k of what comes out is word k + places of what goes in.
  function automatic beat_t turn(input beat_t beat, input logic [LaneW-1:0] places);
    beat_t out;
    out = beat;
    for (int unsigned level = 0; level < LaneW; level++) begin
      beat_t was;
      was = out;
      if (places[level]) begin
        for (int unsigned k = 0; k < Lanes; k++) out[k] = was[LaneW'(k + (1 << level))];
      end
    end
    return out;
  endfunction

  // Where rows go and columns come from: {patch, row} and {patch, column}.
  logic [LaneW:0] write_q, read_q;
  logic [1:0]     full_q;                 // patches that are in the memories
  logic           write, read;
  assign in_ready_o = !full_q[write_q[LaneW]];
  assign write      = in_valid_i && in_ready_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= '0;
      read_q  <= '0;
      full_q  <= '0;
    end else begin
      if (write) write_q <= write_q + 1'b1;
      if (read)  read_q  <= read_q + 1'b1;
      if (write && (&write_q[LaneW-1:0])) full_q[write_q[LaneW]] <= 1'b1;
      if (read && (&read_q[LaneW-1:0]))   full_q[read_q[LaneW]]  <= 1'b0;
    end
  end

  // Two stages: the memories' read registers, then the output.
  logic             fetched_q, advance;
  logic [LaneW-1:0] column_q;
  assign advance = !out_valid_o || out_ready_i;
  assign read    = full_q[read_q[LaneW]] && (!fetched_q || advance);
  beat_t turned, words;
  assign turned = turn(in_data_i, -write_q[LaneW-1:0]);
  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    logic [LaneW-1:0] row;
    assign row = LaneW'(k) - read_q[LaneW-1:0];
    jd_mem_1r1w #(.Depth (2 * Lanes), .Lanes (1), .LaneW (WordW)) u_words (
      .clk_i, .rst_ni,
      .write_en_i   (write),
      .write_addr_i (write_q),
      .write_mask_i (1'b1),
      .write_data_i (turned[k]),
      .read_en_i    (read),
      .read_addr_i  ({read_q[LaneW], row}),
      .read_data_o  (words[k])
    );
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fetched_q   <= 1'b0;
      out_valid_o <= 1'b0;
    end else begin
      fetched_q   <= read || (fetched_q && !advance);
      out_valid_o <= fetched_q || (out_valid_o && !out_ready_i);
    end
    if (read)                 column_q   <= read_q[LaneW-1:0];
    if (fetched_q && advance) out_data_o <= turn(words, column_q);
  end

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o, in_data_i)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i, out_data_o)
  `JD_ASSERT_IF(PatchesApart_A, write && full_q != '0, write_q[LaneW] != read_q[LaneW])
  `JD_ASSERT_IF(OnePatchReads_A, read, full_q[read_q[LaneW]])
endmodule : jd_stream_transpose
