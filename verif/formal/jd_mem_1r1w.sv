// SPDX-License-Identifier: Apache-2.0
//
// Stands for jd_mem_1r1w where a proof needs no more of a word than one bit: it keeps bit 0, as no block
// under such a proof looks at the words that it moves. The other bits are 0.
//
// Streams  as jd_mem_1r1w, of one lane.
// Timing   as jd_mem_1r1w; a read of a word that is being written returns its complement, with or
//          without Ultra, so that a proof holds only where none relies on it.
// Numbers  bit 0, unchanged. Its ranges are checked alike.
// Source   rtl/lib/mem/jd_mem_1r1w.sv.
`include "jd_assert.svh"
module jd_mem_1r1w #(
  parameter  int unsigned Depth       = 16,
  parameter  int unsigned Lanes       = 1,
  parameter  int unsigned LaneW       = 8,
  parameter  int unsigned ReadLatency = 1,     // 1, 2
  parameter  bit          Ultra       = 1'b0,
  localparam int unsigned AddrW       = (Depth > 1) ? $clog2(Depth) : 1,
  localparam int unsigned DataW       = Lanes * LaneW
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             write_en_i,
  input  logic [AddrW-1:0] write_addr_i,
  input  logic [Lanes-1:0] write_mask_i,
  input  logic [DataW-1:0] write_data_i,
  input  logic             read_en_i,
  input  logic [AddrW-1:0] read_addr_i,
  output logic [DataW-1:0] read_data_o
);
  if (Lanes != 1 || ReadLatency < 1 || ReadLatency > 2) begin : gen_bad_size
    $fatal(1, "jd_mem_1r1w: Lanes=%0d, want 1, ReadLatency=%0d, want 1 or 2", Lanes, ReadLatency);
  end
  logic mem [Depth];
  logic bit_q, bit_q2, read_q, same;
  assign same = write_en_i && write_mask_i[0] && write_addr_i == read_addr_i;
  always_ff @(posedge clk_i) begin
    if (write_en_i && write_mask_i[0]) mem[write_addr_i] <= write_data_i[0];
    if (read_en_i) bit_q  <= same ? !write_data_i[0] : mem[read_addr_i];
    if (read_q)    bit_q2 <= bit_q;
    read_q <= rst_ni && read_en_i;
  end
  assign read_data_o = DataW'(ReadLatency == 1 ? bit_q : bit_q2);

  `JD_ASSUME_IF(WriteInRange_M, write_en_i, 32'(write_addr_i) < Depth)
  `JD_ASSUME_IF(ReadInRange_M, read_en_i, 32'(read_addr_i) < Depth)
endmodule : jd_mem_1r1w
