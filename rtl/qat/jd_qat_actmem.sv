// SPDX-License-Identifier: Apache-2.0
//
// The activation memory of a core: lines of its vector slots and of the slot for acting.
//
// Streams  read_*: a line. entry_*: a line of the output stage, which is taken at once. tail_*,
//          load_*: lines that may wait; the output stage goes first, then the tail, then loads.
// Timing   read_data_o is valid two clocks after read_en_i, a line per clock. A line is written in
//          the clock after it was taken, one per clock, and can be read one clock later.
// Numbers  bits, unchanged. tail_mask_i chooses the words of a tail line that are written.
//          tail_half_i and load_half_i choose halves of words, because two vectors share a line in
//          half mode. A line that is being written must not be read.
// Source   docs/qat.md. Golden model: models/qat/engine.py, act.
`include "jd_assert.svh"
module jd_qat_actmem
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw    = 16,             // words of a line: 4, 8, 16
  parameter  int unsigned Lines = 65 * 160        // of all slots, up to 2^18
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      read_en_i,
  input  logic [ADDRESS_W-1:0]      read_address_i,
  output logic [Lw-1:0][WORD_W-1:0] read_data_o,
  input  logic                      entry_valid_i,
  input  logic [ADDRESS_W-1:0]      entry_address_i,
  input  logic [Lw-1:0][WORD_W-1:0] entry_data_i,
  input  logic                      tail_valid_i,
  output logic                      tail_ready_o,
  input  logic [ADDRESS_W-1:0]      tail_address_i,
  input  logic [Lw-1:0]             tail_mask_i,
  input  logic [1:0]                tail_half_i,
  input  logic [Lw-1:0][WORD_W-1:0] tail_data_i,
  input  logic                      load_valid_i,
  output logic                      load_ready_o,
  input  logic [ADDRESS_W-1:0]      load_address_i,
  input  logic [1:0]                load_half_i,
  input  logic [Lw-1:0][WORD_W-1:0] load_data_i
);
  localparam int unsigned AddrW = $clog2(Lines);
  logic                      write_q;
  logic [AddrW-1:0]          address_q;
  logic [Lw-1:0]             words_q;
  logic [1:0]                half_q;
  logic [Lw-1:0][1:0]        mask;
  logic [Lw-1:0][WORD_W-1:0] data_q;
  assign tail_ready_o = !entry_valid_i;
  assign load_ready_o = !entry_valid_i && !tail_valid_i;
  always_comb begin
    for (int unsigned j = 0; j < Lw; j++) mask[j] = words_q[j] ? half_q : '0;
  end
  always_ff @(posedge clk_i) begin
    write_q <= rst_ni && (entry_valid_i || tail_valid_i || load_valid_i);
    words_q <= '1;
    half_q  <= '1;
    if (entry_valid_i) begin
      address_q <= AddrW'(entry_address_i);
      data_q    <= entry_data_i;
    end else if (tail_valid_i) begin
      address_q <= AddrW'(tail_address_i);
      data_q    <= tail_data_i;
      words_q   <= tail_mask_i;
      half_q    <= tail_half_i;
    end else if (load_valid_i) begin
      address_q <= AddrW'(load_address_i);
      data_q    <= load_data_i;
      half_q    <= load_half_i;
    end
  end
  jd_mem_1r1w #(
    .Depth       (Lines),
    .Lanes       (2 * Lw),
    .LaneW       (HALF_W),
    .ReadLatency (2),
    .Ultra       (1'b1)
  ) u_lines (
    .clk_i, .rst_ni,
    .write_en_i   (write_q),
    .write_addr_i (address_q),
    .write_mask_i (mask),
    .write_data_i (data_q),
    .read_en_i,
    .read_addr_i  (AddrW'(read_address_i)),
    .read_data_o
  );
  `JD_ASSERT_IF(NotWhileWritten_A, read_en_i && write_q, AddrW'(read_address_i) != address_q)
endmodule : jd_qat_actmem
