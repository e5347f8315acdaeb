// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_sparse_instruction and jd_sparse_episodes.
//
// Streams  start_i: agents and episodes; the rest as jd_sparse_instruction.
// Timing   theirs.
// Numbers  bits, unchanged.
// Source   -
module jd_sparse_instruction_bench
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores = 3,
  parameter int unsigned DMax  = 512,
  parameter int unsigned XRows = 8192,
  parameter int unsigned YRows = 8192,
  parameter int unsigned ARows = 65536
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  input  logic [7:0]          agents_i,
  input  logic [15:0]         episodes_i,
  output logic                ready_o,
  output logic [CORES-1:0][VECTORS_W-1:0] vectors_o,
  output logic [VECTORS_W-1:0] all_o,
  input  logic                clear_i,
  input  layer_t [LAYERS-1:0] layers_i,
  input  logic [3:0]          layer_count_i,
  input  logic                in_valid_i,
  output logic                in_ready_o,
  input  logic [7:0][31:0]    in_words_i,
  input  logic [15:0]         in_at_i,
  output logic                out_valid_o,
  input  logic                out_ready_i,
  output logic [7:0]          out_code_o,
  output entry_t              out_entry_o
);
  episodes_t episodes;
  jd_sparse_episodes #(.Cores (Cores)) u_episodes (
    .clk_i, .rst_ni, .start_i, .agents_i, .episodes_i, .ready_o,
    .episodes_o (episodes)
  );
  assign vectors_o = episodes.cores;
  assign all_o     = episodes.all;
  jd_sparse_instruction #(
    .Cores (Cores), .DMax (DMax), .XRows (XRows), .YRows (YRows), .ARows (ARows)
  ) u_dut (
    .clk_i, .rst_ni, .clear_i, .layers_i, .layer_count_i,
    .episodes_i (episodes),
    .in_valid_i, .in_ready_o, .in_words_i, .in_at_i, .out_valid_o, .out_ready_i, .out_code_o,
    .out_entry_o
  );
endmodule : jd_sparse_instruction_bench
