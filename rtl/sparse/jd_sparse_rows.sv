// SPDX-License-Identifier: Apache-2.0
//
// Adds the cores' sums of the same columns, in ROW split: (c0 + c1) + c2.
//
// Streams  in: columns of all cores, in the same clock; out: their sums, in the same order. A pipe:
//          valid only, no stall.
// Timing   2 + 2 * AddLatency clocks, one set of columns per clock.
// Numbers  FP16, each sum rounded.
// Source   LearningGroup III-A (aggregator). Golden model: models/sparse/machine.py, _elementwise.
module jd_sparse_rows
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores      = 3,       // 1..3
  parameter int unsigned Channels   = 4,       // 1, 2, 4, 8
  parameter int unsigned AddLatency = 4        // 1..4
) (
  input  logic                                      clk_i,
  input  logic                                      rst_ni,
  input  logic                                      valid_i,
  input  logic [Cores-1:0][Channels-1:0][TUPLE_W-1:0] columns_i,
  output logic                                      valid_o,
  output logic [Channels-1:0][TUPLE_W-1:0]          columns_o
);
  logic                                        valid_q, two_valid, three_valid;
  logic [2:0][Channels-1:0][TUPLE_W-1:0]       columns_d, columns_q;
  logic [Channels-1:0][TUPLE_W-1:0]            two, third, three;
  always_comb begin
    columns_d = '0;
    for (int unsigned c = 0; c < Cores; c++) columns_d[c] = columns_i[c];
  end
  always_ff @(posedge clk_i) begin
    valid_q   <= rst_ni && valid_i;
    columns_q <= columns_d;
    valid_o   <= rst_ni && three_valid;
    columns_o <= three;
  end
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_two (
    .clk_i, .rst_ni,
    .valid_i  (valid_q),
    .add_i    (Cores > 1),
    .a_i      (columns_q[0]),
    .b_i      (columns_q[1]),
    .valid_o  (two_valid),
    .result_o (two)
  );
  jd_delay #(.Width (Channels * TUPLE_W), .Cycles (AddLatency), .Clear (1'b0)) u_third (
    .clk_i, .rst_ni, .in_i (columns_q[2]), .out_o (third)
  );
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_three (
    .clk_i, .rst_ni,
    .valid_i  (two_valid),
    .add_i    (Cores > 2),
    .a_i      (two),
    .b_i      (third),
    .valid_o  (three_valid),
    .result_o (three)
  );
endmodule : jd_sparse_rows
