// SPDX-License-Identifier: Apache-2.0
//
// Adds columns of FP16 numbers, or lets them pass.
//
// Streams  in: Channels columns of a tile each; out: a + b, or a without add_i, in the same order. A
//          pipe: valid only, no stall.
// Timing   Latency clocks, one set of columns per clock.
// Numbers  FP16, rounded once.
// Source   docs/sparse.md (numbers). Golden model: models/float, add.
`include "jd_assert.svh"
module jd_sparse_halves
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Channels = 4,   // 1..8
  parameter int unsigned Latency  = 4    // 1..4
) (
  input  logic                                         clk_i,
  input  logic                                         rst_ni,
  input  logic                                         valid_i,
  input  logic                                         add_i,      // holds while numbers are inside
  input  logic [Channels-1:0][VECTORS-1:0][HALF_W-1:0] a_i,
  input  logic [Channels-1:0][VECTORS-1:0][HALF_W-1:0] b_i,
  output logic                                         valid_o,
  output logic [Channels-1:0][VECTORS-1:0][HALF_W-1:0] result_o
);
  logic                                         alone_valid;
  logic [Channels-1:0][VECTORS-1:0]             sum_valid;
  logic [Channels-1:0][VECTORS-1:0][HALF_W-1:0] alone, sums;
  jd_delay #(.Width (1), .Cycles (Latency)) u_valid (
    .clk_i, .rst_ni, .in_i (valid_i && !add_i), .out_o (alone_valid)
  );
  jd_delay #(.Width ($bits(a_i)), .Cycles (Latency), .Clear (1'b0)) u_alone (
    .clk_i, .rst_ni, .in_i (a_i), .out_o (alone)
  );
  for (genvar c = 0; c < Channels; c++) begin : gen_channel
    for (genvar v = 0; v < VECTORS; v++) begin : gen_vector
      jd_float_add #(.ExpW (5), .ManW (10), .Latency (Latency)) u_add (
        .clk_i, .rst_ni,
        .valid_i    (valid_i && add_i),
        .subtract_i (1'b0),
        .a_i        (a_i[c][v]),
        .b_i        (b_i[c][v]),
        .valid_o    (sum_valid[c][v]),
        .result_o   (sums[c][v])
      );
    end
  end
  assign valid_o  = alone_valid || sum_valid[0][0];
  assign result_o = add_i ? sums : alone;

  `JD_ASSERT(OneWay_A, !(alone_valid && sum_valid[0][0]))
  logic unused;
  assign unused = ^sum_valid;
endmodule : jd_sparse_halves
