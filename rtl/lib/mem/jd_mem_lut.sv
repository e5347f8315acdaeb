// SPDX-License-Identifier: Apache-2.0
//
// A small memory with one write port and read ports that answer in the same clock.
//
// Streams  none: a write takes one clock.
// Timing   read_data_o follows read_addr_i in the same clock; what is written can be read from the
//          next clock on.
// Numbers  bits, unchanged. The contents are undefined until written; reset does not touch them.
// Source   -
`include "jd_assert.svh"
module jd_mem_lut #(
  parameter  int unsigned Depth = 16,   // words, 2..512
  parameter  int unsigned Width = 32,   // bits of a word, 1..4096
  parameter  int unsigned Reads = 1,    // read ports, 1..4
  localparam int unsigned AddrW = $clog2(Depth)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   write_en_i,
  input  logic [AddrW-1:0]       write_addr_i,
  input  logic [Width-1:0]       write_data_i,
  input  logic [Reads*AddrW-1:0] read_addr_i,   // port 0 in the low bits
  output logic [Reads*Width-1:0] read_data_o
);
  if (Depth < 2 || Depth > 512 || Width < 1 || Width > 4096 || Reads < 1 || Reads > 4)
  begin : gen_bad_size
    $fatal(1, "jd_mem_lut: Depth=%0d, want 2..512, Width=%0d, want 1..4096, Reads=%0d, want 1..4",
           Depth, Width, Reads);
  end

`ifndef FORMAL   // a proof looks into the memory
  (* ram_style = "distributed" *)
`endif
  logic [Width-1:0] mem [Depth];
  always_ff @(posedge clk_i) begin
    if (write_en_i) mem[write_addr_i] <= write_data_i;
  end
  for (genvar port = 0; port < Reads; port++) begin : gen_read
    assign read_data_o[port*Width +: Width] = mem[read_addr_i[port*AddrW +: AddrW]];
  end

  `JD_ASSUME_IF(WriteInRange_M, write_en_i, 32'(write_addr_i) < Depth)
endmodule : jd_mem_lut
