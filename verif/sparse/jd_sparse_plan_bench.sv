// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_sparse_plan: the lists of one encoding stand in memories that the test writes.
//
// Streams  place_write_i writes place_i and tuple_i at place_at_i; else those of jd_sparse_plan.
// Timing   the lists answer a clock after their address, as those of jd_sparse_osel do.
// Numbers  bits, unchanged.
// Source   -
module jd_sparse_plan_bench
  import jd_sparse_pkg::*;
#(
  parameter int unsigned GMax   = 32,
  parameter int unsigned LMax   = 8,
  parameter int unsigned Banks  = 8,
  parameter int unsigned Lanes  = 33,
  parameter int unsigned Slots  = 4,
  parameter int unsigned WinMax = 24,
  parameter int unsigned DrainW = 4,
  parameter int unsigned WRows  = 4096,
  parameter int unsigned RRows  = 4096,
  parameter int unsigned GRows  = 1024
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [LAYER_W-1:0] in_number_i,
  input  layer_t             in_layer_i,
  input  logic               in_plain_i,
  input  logic [LAYERS-1:0]  in_planned_i,
  output logic               done_o,
  output logic               failed_o,
  input  logic               place_write_i,
  input  logic [INDEX_W-1:0] place_at_i,
  input  place_of_t          place_i,
  input  logic [INDEX_W-1:0] tuple_i,
  input  directory_t         directory_i,
  output table_t             table_o
);
  logic [LAYER_W-1:0] peek_layer;
  logic [INDEX_W-1:0] peek_index, peek_entry, tuple_q;
  place_of_t          place_q;
  place_of_t          places [512];
  logic [INDEX_W-1:0] tuples [512];
  always_ff @(posedge clk_i) begin
    if (place_write_i) begin
      places[place_at_i] <= place_i;
      tuples[place_at_i] <= tuple_i;
    end
    place_q <= places[peek_index];
    tuple_q <= tuples[peek_entry];
  end
  logic unused_layer;
  assign unused_layer = ^peek_layer;
  jd_sparse_plan #(
    .GMax (GMax), .LMax (LMax), .Banks (Banks), .Lanes (Lanes), .Slots (Slots), .WinMax (WinMax),
    .DrainW (DrainW), .WRows (WRows), .RRows (RRows), .GRows (GRows)
  ) u_dut (
    .clk_i, .rst_ni, .in_valid_i, .in_ready_o, .in_number_i, .in_layer_i, .in_plain_i,
    .in_planned_i, .done_o, .failed_o,
    .peek_layer_o (peek_layer),
    .peek_index_o (peek_index),
    .peek_place_i (place_q),
    .peek_entry_o (peek_entry),
    .peek_tuple_i (tuple_q),
    .directory_i, .table_o
  );
endmodule : jd_sparse_plan_bench
