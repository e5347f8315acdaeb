// SPDX-License-Identifier: Apache-2.0
//
// Checks whether a write to a ring's registers follows the rules. An illegal write is refused with
// an error and changes nothing.
//
// Streams  none.
// Timing   refusal_o and far_o judge the write of the clock before against the ring's state in this
//          clock. A write, and the registers that it changes, must hold for two clocks.
// Numbers  TAIL and HEAD are compared modulo 2^32, as distances.
// Source   docs/shell.md, rings.
`include "jd_assert.svh"
module jd_engine_guard
  import jd_engine_header_map_pkg::*;
(
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,            // a write to this ring
  input  logic [2:0]  offset_i,           // word in the ring's registers
  input  logic [31:0] data_i,
  input  logic [31:0] mask_i,             // bits that are written
  input  logic [11:0] base_lo_i,          // the registers before the write, their low bits
  input  logic [11:0] cpl_lo_i,
  input  logic [3:0]  size_i,
  input  logic [31:0] tail_i,
  input  logic [31:0] head_i,
  input  logic        busy_i,             // TAIL is not HEAD
  input  logic [31:0] full_i,             // 2^size - 1 has none of these bits, all else has one
  input  logic        reset_i,            // a soft reset is under way
  input  logic        beyond_i,           // an array of the ring does not lie wholly below 2^40
  output logic [7:0]  refusal_o,          // 0: the write may go on, if far_o is 0
  output logic [3:0]  far_o               // not 0: TAIL beyond the ring's room, which is E_RING
);
  localparam logic [2:0] BASE_LO = RING_BASE_LO_OFFSET[4:2];
  localparam logic [2:0] BASE_HI = RING_BASE_HI_OFFSET[4:2];
  localparam logic [2:0] CPL_LO  = RING_CPL_LO_OFFSET[4:2];
  localparam logic [2:0] CPL_HI  = RING_CPL_HI_OFFSET[4:2];
  localparam logic [2:0] SIZE    = RING_SIZE_OFFSET[4:2];
  localparam logic [2:0] TAIL    = RING_TAIL_OFFSET[4:2];
  localparam logic [3:0] SIZE_MAX = 4'd12;

  // Each register as the write would leave it, one clock after the write came.
  logic [31:0] written;
  logic        high_q;                    // bits above an address's 40 are written
  logic [11:0] base, cpl;
  logic [31:0] size, tail;
  logic [31:0] last;                      // jobs ahead of HEAD, less one
  // TAIL would move back. It moves by at most 2^12 if it is not beyond: a ring never has more.
  logic        back;
  assign written = data_i & mask_i;
  always_ff @(posedge clk_i) begin
    high_q <= written[31:8] != '0;
    base <= (base_lo_i & ~mask_i[11:0]) | written[11:0];
    cpl <= (cpl_lo_i & ~mask_i[11:0]) | written[11:0];
    size <= ({28'd0, size_i} & ~mask_i) | written;
    tail <= (tail_i & ~mask_i) | written;
  end
  assign back = 1'((14'(tail) - 14'(tail_i)) >> 13);
  assign last = tail + ~head_i;

  always_comb begin
    refusal_o = '0;
    far_o = '0;
    if (valid_i) begin
      unique case (offset_i)
        BASE_LO: if (base != '0) refusal_o = E_RING;
        CPL_LO: if (cpl != '0) refusal_o = E_RING;
        BASE_HI, CPL_HI: if (high_q) refusal_o = E_RESERVED;
        SIZE: if (size > {28'd0, SIZE_MAX}) refusal_o = E_RING;
        TAIL: begin
          if (size_i == '0 || back) refusal_o = E_RING;
          else if (beyond_i) refusal_o = E_ADDR;
          // Byte by byte: what is left to be put together is short enough for the next clock.
          for (int unsigned b = 0; b < 4; b++) begin
            far_o[b] = tail != head_i && (last[8*b+:8] & full_i[8*b+:8]) != '0;
          end
        end
        default: ;
      endcase
      if (reset_i && offset_i <= TAIL) refusal_o = E_RING;
      if (busy_i && offset_i <= SIZE) refusal_o = E_RING;
    end
  end

  // What goes on leaves the ring as the rules want it. The registers stay for one clock before.
  localparam int unsigned WriteW = 1 + 3 + 32 + 32 + 4 + 32;
  logic [WriteW-1:0] write, write_q;
  logic              stays, goes_on;
  assign write   = {valid_i, offset_i, data_i, mask_i, size_i, tail_i};
  assign stays   = valid_i && write == write_q;
  assign goes_on = stays && refusal_o == '0 && far_o == '0;
  always_ff @(posedge clk_i) write_q <= write;
  `JD_ASSUME_IF(SizeInRange_M, valid_i, size_i <= SIZE_MAX)
  `JD_ASSUME_IF(FullIsSize_M, stays, full_i == 32'hFFFF_FFFF << size_i)
  `JD_ASSUME_IF(RoomKept_M, stays && size_i != '0, tail_i - head_i <= 32'd1 << size_i)
  `JD_ASSERT_IF(FarIsTail_A, far_o != '0, valid_i && offset_i == TAIL)
  `JD_ASSERT_IF(TailFits_A, goes_on && offset_i == TAIL, tail - head_i <= 32'd1 << size_i)
  `JD_ASSERT_IF(SizeFits_A, goes_on && offset_i == SIZE, size <= 32'(SIZE_MAX))
  `JD_ASSERT_IF(Aligned_A, goes_on, (offset_i != BASE_LO || base == '0)
                                    && (offset_i != CPL_LO || cpl == '0))
endmodule : jd_engine_guard
