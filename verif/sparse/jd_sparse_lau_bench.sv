// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_sparse_lau with a parameter memory that the test writes, a line of 64 words per clock.
//
// Streams  store_i writes the words of store_data_i, each to its bank, at store_line_i. second_*: the
//          memory's second port.
// Timing   the memory answers one clock later, as jd_sparse_params does.
// Numbers  bits, unchanged.
// Source   -
module jd_sparse_lau_bench
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned DMax   = 512,
  parameter  int unsigned LMax   = 8,
  parameter  int unsigned Cores  = 3,
  parameter  int unsigned Banks  = 8,
  parameter  int unsigned Lanes  = 33,
  parameter  int unsigned Slots  = 4,
  parameter  int unsigned Lines  = 4096
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                store_i,
  input  logic [P_LINE_W-1:0]                 store_line_i,
  input  logic [WORD_BANKS-1:0][SINGLE_W-1:0] store_data_i,
  input  layer_t                              plan_layer_i,
  input  table_t                              table_i,
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  logic [LAYER_W-1:0]                  in_number_i,
  input  layer_t                              in_layer_i,
  input  logic                                in_dx_i,
  input  logic                                in_row_i,
  input  logic                                in_policy_i,
  input  logic                                in_uncached_i,
  output logic [1:0]                          owner_o,
  output logic                                done_o,
  output logic [19:0]                         clocks_o,
  output weight_begin_t                       begin_o,
  output weight_write_t                       write_o,
  output logic [Lanes-1:0][HALF_W-1:0]        line_o,
  output logic [Cores-1:0]                    window_cores_o,
  output window_write_t                       window_o,
  output logic [Cores-1:0][18:0]              loads_o,
  output logic [WORD_BANKS-1:0]               second_en_o,   // what the second port asks for
  output logic [WORD_BANKS-1:0][P_LINE_W-1:0] second_line_o
);
  logic [1:0][WORD_BANKS-1:0]               en;
  logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] line;
  logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] data;
  localparam int unsigned LineW = $clog2(Lines);
  assign second_en_o   = en[1];
  assign second_line_o = line[1];
  for (genvar b = 0; b < WORD_BANKS; b++) begin : gen_bank
    logic [SINGLE_W-1:0] words [Lines];
    always_ff @(posedge clk_i) begin
      if (store_i) words[LineW'(store_line_i)] <= store_data_i[b];
      for (int unsigned k = 0; k < 2; k++) begin
        if (en[k][b]) data[k][b] <= words[LineW'(line[k][b])];
        else          data[k][b] <= ~data[k][b];
      end
    end
  end
  jd_sparse_lau #(
    .DMax (DMax), .LMax (LMax), .Cores (Cores), .Banks (Banks), .Lanes (Lanes), .Slots (Slots)
  ) u_dut (
    .clk_i, .rst_ni, .plan_layer_i, .table_i, .in_valid_i, .in_ready_o, .in_number_i, .in_layer_i,
    .in_dx_i, .in_row_i, .in_policy_i, .in_uncached_i, .owner_o, .done_o, .clocks_o,
    .gather_en_o   (en),
    .gather_line_o (line),
    .gather_data_i (data),
    .begin_o, .write_o, .line_o, .window_cores_o, .window_o, .loads_o
  );
endmodule : jd_sparse_lau_bench
