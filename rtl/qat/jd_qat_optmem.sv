// SPDX-License-Identifier: Apache-2.0
//
// Gradients, and first and second moments, of all weights.
//
// Streams  read, write: single rows; a row is a line of G or M, or half a line of V.
// Timing   a row shows 3 clocks after read_valid_i, one per clock; one is written per clock.
// Numbers  bits, unchanged. region_i: 2 G, 3 M, 4 V, as in LOAD and STORE. A row that is being written
//          must not be read.
// Source   docs/qat.md. Golden model: models/qat/timestep.py, g, m, v.
`include "jd_assert.svh"
module jd_qat_optmem
  import jd_qat_pkg::*;
#(
  parameter int unsigned Lw    = 16,               // words of a row: 4, 8, 16
  parameter int unsigned Lines = 20480             // of each, 64..65536
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [2:0]                region_i,
  input  logic                      second_i,      // half of a line of V
  input  logic [LINE_W-1:0]         address_i,
  input  logic                      write_valid_i,
  input  logic [Lw-1:0][WORD_W-1:0] write_row_i,
  input  logic                      read_valid_i,
  output logic                      read_valid_o,
  output logic [Lw-1:0][WORD_W-1:0] read_row_o
);
  localparam int unsigned AddrW = $clog2(Lines);
  localparam int unsigned G = 2;                   // region of the first memory

  logic [2:0][1:0][Lw-1:0][WORD_W-1:0] data;       // G, M with one half; V
  for (genvar k = 0; k < 3; k++) begin : gen_memory
    localparam int unsigned Halves = k == 2 ? 2 : 1;
    logic             here;
    logic [Halves-1:0] half;
    assign here = region_i == 3'(G + k);
    assign half = k == 2 && second_i ? Halves'(2) : Halves'(1);
    jd_mem_1r1w #(
      .Depth       (Lines),
      .Lanes       (Halves),
      .LaneW       (Lw * WORD_W),
      .ReadLatency (2),
      .Ultra       (k != 0)
    ) u_lines (
      .clk_i, .rst_ni,
      .write_en_i   (write_valid_i && here),
      .write_addr_i (AddrW'(address_i)),
      .write_mask_i (half),
      .write_data_i ({Halves{write_row_i}}),
      .read_en_i    (read_valid_i && here),
      .read_addr_i  (AddrW'(address_i)),
      .read_data_o  (data[k][Halves-1:0])
    );
    if (Halves == 1) begin : gen_one
      assign data[k][1] = '0;
    end
  end
  logic       valid_q2, second_q2;
  logic [2:0] region_q2;
  jd_delay #(.Width (1), .Cycles (2)) u_valid (
    .clk_i, .rst_ni, .in_i (read_valid_i), .out_o (valid_q2)
  );
  jd_delay #(.Width (4), .Cycles (2), .Clear (1'b0)) u_region (
    .clk_i, .rst_ni, .in_i ({region_i, second_i}), .out_o ({region_q2, second_q2})
  );
  always_ff @(posedge clk_i) begin
    read_valid_o <= rst_ni && valid_q2;
    for (int unsigned k = 0; k < 3; k++) begin
      if (valid_q2 && region_q2 == 3'(G + k)) read_row_o <= data[k][second_q2 && k == 2];
    end
  end
  `JD_ASSUME_IF(InRange_M, read_valid_i || write_valid_i, 32'(address_i) < Lines)
endmodule : jd_qat_optmem
