// SPDX-License-Identifier: Apache-2.0
//
// A line buffer: rows of a feature map, stitched together, that are read word by word.
//
// Streams  none: a stitch writes Lanes words from any word on, a read takes the word at the
//          pointer; each takes one clock, at any time, and nothing stalls. There are two halves, so
//          that one fills while the other is read.
// Timing   the word of a read shows on word_o 3 clocks later and stays until that of the next. The
//          pointer that load_i or shift_i makes is that of the next clock. What a stitch writes can
//          be read from the next clock on.
//              clock 0 pointer | 1 memories | 2 bank chosen | 3 word_o
// Numbers  bits, unchanged. Pointers count words; a read does not go beyond the end of a half, a
//          stitch goes on at its begin. The contents are undefined until written.
// Source   FA3C (ASPLOS 2019) section 4.5 (line buffers, buffer control unit). The
//          published buffer is a shift register; this one is Lanes memories and a pointer, word w
//          being in memory w mod Lanes, so that a shift of any number of words moves no data.
`include "jd_assert.svh"
module jd_mem_line_buffer #(
  parameter  int unsigned Lanes    = 16,             // words of a row, power of two 4..32
  parameter  int unsigned Rows     = 16,             // rows of a half, power of two 2..32
  parameter  int unsigned WordW    = 32,             // bits of a word, 1..64
  localparam int unsigned LaneW    = $clog2(Lanes),
  localparam int unsigned RowW     = $clog2(Rows),
  localparam int unsigned PointerW = LaneW + RowW,
  localparam int unsigned DataW    = Lanes * WordW
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                stitch_valid_i,
  input  logic                stitch_half_i,
  input  logic [PointerW-1:0] stitch_offset_i,       // of the first word
  input  logic [DataW-1:0]    stitch_data_i,         // word 0 in the low bits
  input  logic                load_i,                // the pointer becomes pointer_i
  input  logic [PointerW-1:0] pointer_i,
  input  logic [PointerW-1:0] shift_i,               // else it moves on by so many words
  input  logic                read_valid_i,
  input  logic                read_half_i,
  output logic [WordW-1:0]    word_o
);
  if (Lanes < 4 || Lanes > 32 || Lanes != 1 << LaneW) begin : gen_bad_lanes
    $fatal(1, "jd_mem_line_buffer: Lanes=%0d, want a power of two 4..32", Lanes);
  end
  if (Rows < 2 || Rows > 32 || Rows != 1 << RowW) begin : gen_bad_rows
    $fatal(1, "jd_mem_line_buffer: Rows=%0d, want a power of two 2..32", Rows);
  end
  if (WordW < 1 || WordW > 64) begin : gen_bad_word
    $fatal(1, "jd_mem_line_buffer: WordW=%0d, want 1..64", WordW);
  end

  typedef logic [Lanes-1:0][WordW-1:0] row_t;

  // Word k of what comes out is word k - places of what goes in.
  function automatic row_t turn(input row_t row, input logic [LaneW-1:0] places);
    row_t out;
    out = row;
    for (int unsigned level = 0; level < LaneW; level++) begin
      row_t was;
      was = out;
      if (places[level]) begin
        for (int unsigned k = 0; k < Lanes; k++) out[k] = was[LaneW'(k - (1 << level))];
      end
    end
    return out;
  endfunction

  // The pointer.
  logic [PointerW-1:0] pointer_q;
  always_ff @(posedge clk_i) begin
    pointer_q <= load_i ? pointer_i : pointer_q + shift_i;
  end

  // A row that does not begin with memory 0 goes on in the next address of the memories before it.
  logic [LaneW-1:0] first;
  logic [RowW-1:0]  address;
  logic [Lanes-1:0] wrapped;                   // memories that come before the first word's
  row_t             turned, words;
  assign first   = stitch_offset_i[LaneW-1:0];
  assign address = stitch_offset_i[PointerW-1:LaneW];
  assign wrapped = ~({Lanes{1'b1}} << first);
  assign turned  = turn(stitch_data_i, first);
  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    jd_mem_1r1w #(.Depth (2 * Rows), .Lanes (1), .LaneW (WordW)) u_words (
      .clk_i, .rst_ni,
      .write_en_i   (stitch_valid_i),
      .write_addr_i ({stitch_half_i, address + RowW'(wrapped[k])}),
      .write_mask_i (1'b1),
      .write_data_i (turned[k]),
      .read_en_i    (read_valid_i),
      .read_addr_i  ({read_half_i, pointer_q[PointerW-1:LaneW]}),
      .read_data_o  (words[k])
    );
  end

  // The choice of the word in two steps: by the high half of the lane, then by the low one.
  localparam int unsigned LowW = LaneW / 2;
  localparam int unsigned Lows = 1 << LowW;
  logic [LaneW-1:0]           lane_q;
  logic [LowW-1:0]            low_q;
  logic [Lows-1:0][WordW-1:0] group_q;
  always_ff @(posedge clk_i) begin
    if (read_valid_i) lane_q <= pointer_q[LaneW-1:0];   // as the memories' registers: holds
    low_q <= lane_q[LowW-1:0];
    for (int unsigned k = 0; k < Lows; k++) begin
      group_q[k] <= words[{lane_q[LaneW-1:LowW], LowW'(k)}];
    end
    word_o <= group_q[low_q];
  end

  `JD_ASSUME_IF(HalvesApart_M, stitch_valid_i && read_valid_i, stitch_half_i != read_half_i)
  `JD_ASSUME_IF(ShiftInRange_M, !load_i && shift_i != '0,
                32'(pointer_q) + 32'(shift_i) < Rows * Lanes)
endmodule : jd_mem_line_buffer
