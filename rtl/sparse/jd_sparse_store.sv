// SPDX-License-Identifier: Apache-2.0
//
// The activation store of a core: eight banks of a neuron of a tile each.
//
// Streams  read_*, write_*: clients ask for some banks, each at a line of its own, and get all of
//          them or none: a client waits while one before it asks for one of its banks. Client 0
//          never waits.
// Timing   A request per client and clock. What was read shows READ_LATENCY clocks after the request
//          was taken.
// Numbers  bits, unchanged. Contents are undefined until written.
// Source   docs/sparse.md (programs). Golden model: models/sparse/kernels.py, take and put.
`include "jd_assert.svh"
module jd_sparse_store
  import jd_sparse_pkg::*;
#(
  parameter int unsigned ARows   = 65536,   // lines, 16..65536
  parameter int unsigned Readers = 3,       // 1..4
  parameter int unsigned Writers = 2        // 1..4
) (
  input  logic                                         clk_i,
  input  logic                                         rst_ni,
  input  logic [Readers-1:0][NEURONS-1:0]               read_en_i,
  input  logic [Readers-1:0][NEURONS-1:0][A_LINE_W-1:0] read_line_i,
  output logic [Readers-1:0]                            read_ready_o,
  output logic [NEURONS-1:0][TUPLE_W-1:0]               read_data_o,     // by bank
  input  logic [Writers-1:0][NEURONS-1:0]               write_en_i,
  input  logic [Writers-1:0][NEURONS-1:0][A_LINE_W-1:0] write_line_i,
  input  logic [Writers-1:0][NEURONS-1:0][TUPLE_W-1:0]  write_data_i,
  output logic [Writers-1:0]                            write_ready_o
);
  localparam int unsigned LineW = $clog2(ARows);

  logic [NEURONS-1:0]               read, write;
  logic [NEURONS-1:0][A_LINE_W-1:0] read_line, write_line;
  logic [NEURONS-1:0][TUPLE_W-1:0]  write_data;
  always_comb begin
    read       = '0;
    read_line  = '0;
    write      = '0;
    write_line = '0;
    write_data = '0;
    for (int unsigned k = 0; k < Readers; k++) begin
      logic [NEURONS-1:0] earlier;
      earlier = '0;
      for (int unsigned j = 0; j < k; j++) earlier = earlier | read_en_i[j];
      read_ready_o[k] = (earlier & read_en_i[k]) == '0;
      for (int unsigned b = 0; b < NEURONS; b++) begin
        if (read_en_i[k][b] && read_ready_o[k]) begin
          read[b]      = 1'b1;
          read_line[b] = read_line_i[k][b];
        end
      end
    end
    for (int unsigned k = 0; k < Writers; k++) begin
      logic [NEURONS-1:0] earlier;
      earlier = '0;
      for (int unsigned j = 0; j < k; j++) earlier = earlier | write_en_i[j];
      write_ready_o[k] = (earlier & write_en_i[k]) == '0;
      for (int unsigned b = 0; b < NEURONS; b++) begin
        if (write_en_i[k][b] && write_ready_o[k]) begin
          write[b]      = 1'b1;
          write_line[b] = write_line_i[k][b];
          write_data[b] = write_data_i[k][b];
        end
      end
    end
  end
  for (genvar b = 0; b < NEURONS; b++) begin : gen_bank
    jd_mem_1r1w #(
      .Depth (ARows), .LaneW (TUPLE_W), .ReadLatency (READ_LATENCY), .Ultra (1'b1)
    ) u_memory (
      .clk_i, .rst_ni,
      .write_en_i   (write[b]),
      .write_addr_i (LineW'(write_line[b])),
      .write_mask_i (1'b1),
      .write_data_i (write_data[b]),
      .read_en_i    (read[b]),
      .read_addr_i  (LineW'(read_line[b])),
      .read_data_o  (read_data_o[b])
    );
  end
endmodule : jd_sparse_store
