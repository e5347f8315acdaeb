// SPDX-License-Identifier: Apache-2.0
//
// The delta memory of a core: lines of its vector slots, one half for even and one for odd vectors.
//
// Streams  read_*: a line of each half. entry_*: a line of the output stage, which is taken at
//          once.
//          tail_*, load_*: lines that may wait; the output stage goes first, then the tail, then
//          loads.
// Timing   read_data_o is valid two clocks after read_en_i, a line of each half per clock. A line
//          is written in the clock after it was taken, one per clock, and can be read one clock
//          later.
// Numbers  bits, unchanged. Line k of slot s is line (s / 2) * lines of a slot + k of half s mod 2.
//          A line that is being written must not be read.
// Source   docs/qat.md. Golden model: models/qat/engine.py, delta.
`include "jd_assert.svh"
module jd_qat_delmem
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw    = 16,             // words of a line: 4, 8, 16
  parameter  int unsigned Lines = 32 * 80,        // of a half, up to 2^17
  localparam int unsigned AddrW = $clog2(Lines)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic [1:0]                     read_en_i,
  input  logic [1:0][ADDRESS_W-1:0]      read_address_i,
  output logic [1:0][Lw-1:0][WORD_W-1:0] read_data_o,
  input  logic                           entry_valid_i,
  input  logic                           entry_half_i,
  input  logic [ADDRESS_W-1:0]           entry_address_i,
  input  logic [Lw-1:0][WORD_W-1:0]      entry_data_i,
  input  logic                           tail_valid_i,
  output logic                           tail_ready_o,
  input  logic                           tail_half_i,
  input  logic [ADDRESS_W-1:0]           tail_address_i,
  input  logic [Lw-1:0][WORD_W-1:0]      tail_data_i,
  input  logic                           load_valid_i,
  output logic                           load_ready_o,
  input  logic                           load_half_i,
  input  logic [ADDRESS_W-1:0]           load_address_i,
  input  logic [Lw-1:0][WORD_W-1:0]      load_data_i
);
  logic                      write_q, half_q;
  logic [AddrW-1:0]          address_q;
  logic [Lw-1:0][WORD_W-1:0] data_q;
  assign tail_ready_o = !entry_valid_i;
  assign load_ready_o = !entry_valid_i && !tail_valid_i;
  always_ff @(posedge clk_i) begin
    write_q <= rst_ni && (entry_valid_i || tail_valid_i || load_valid_i);
    if (entry_valid_i) begin
      half_q    <= entry_half_i;
      address_q <= AddrW'(entry_address_i);
      data_q    <= entry_data_i;
    end else if (tail_valid_i) begin
      half_q    <= tail_half_i;
      address_q <= AddrW'(tail_address_i);
      data_q    <= tail_data_i;
    end else if (load_valid_i) begin
      half_q    <= load_half_i;
      address_q <= AddrW'(load_address_i);
      data_q    <= load_data_i;
    end
  end
  for (genvar k = 0; k < 2; k++) begin : gen_half
    jd_mem_1r1w #(
      .Depth       (Lines),
      .LaneW       (Lw * WORD_W),
      .ReadLatency (2)
    ) u_lines (
      .clk_i, .rst_ni,
      .write_en_i   (write_q && half_q == 1'(k)),
      .write_addr_i (address_q),
      .write_mask_i (1'b1),
      .write_data_i (data_q),
      .read_en_i    (read_en_i[k]),
      .read_addr_i  (AddrW'(read_address_i[k])),
      .read_data_o  (read_data_o[k])
    );
    `JD_ASSERT_IF(NotWhileWritten_A, read_en_i[k] && write_q && half_q == 1'(k),
                  AddrW'(read_address_i[k]) != address_q)
  end
endmodule : jd_qat_delmem
