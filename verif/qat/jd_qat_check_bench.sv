// SPDX-License-Identifier: Apache-2.0
//
// The checks of descriptors and of network tables, and the sweeps of a network, side by side.
//
// Streams  those of the blocks; net_*: of jd_qat_table. table_i: the networks that a descriptor is checked
//          against, and that are swept.
// Timing   that of the blocks.
// Numbers  those of the blocks.
// Source   docs/qat.md.
module jd_qat_check_bench
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw        = 16,
  parameter  int unsigned N         = 2,
  parameter  int unsigned Slots     = 8,
  parameter  int unsigned ActLines  = 32,
  parameter  int unsigned DelLines  = 10,
  parameter  int unsigned WLines    = 1024,
  parameter  int unsigned MaxDim    = 80,
  parameter  int unsigned MaxLayers = 4,
  parameter  int unsigned BMax      = 50,
  parameter  bit          Paper     = 1'b0,
  localparam int unsigned Words     = 16 + 8 * MaxLayers
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  input  descriptor_t                     words_i,
  input  table_t                          table_i,
  input  logic                            half_i,
  input  logic [3:0]                      noise_i,
  input  logic                            paper_i,
  input  logic [TENSORS-1:0][SHIFT_W-1:0] shifts_i,
  input  logic [31:0]                     c1_i,
  input  logic [31:0]                     c2_i,
  input  logic [31:0]                     eps_i,
  input  logic [24:0]                     tau_i,
  output logic                            done_o,
  output logic [7:0]                      code_o,
  output logic [31:0]                     place_o,
  input  logic                            net_forget_i,
  input  logic                            net_start_i,
  input  logic [Words-1:0][31:0]          net_words_i,
  output logic                            net_done_o,
  output logic [7:0]                      net_code_o,
  output logic [31:0]                     net_place_o,
  output table_t                          net_table_o,
  input  logic                            sweep_clear_i,
  input  logic                            sweep_start_i,
  input  logic                            sweep_net_i,
  output logic                            sweep_idle_o,
  output logic                            sweep_valid_o,
  input  logic                            sweep_ready_i,
  output logic [LINE_W-1:0]               sweep_line_o,
  output logic [LINE_W-1:0]               sweep_count_o,
  output logic [LINE_W-1:0]               sweep_columns_o,
  output logic [$clog2(Lw+1)-1:0]         sweep_words_o
);
  jd_qat_check #(
    .Lw (Lw), .N (N), .Slots (Slots), .ActLines (ActLines), .DelLines (DelLines),
    .WLines (WLines), .MaxLayers (MaxLayers), .BMax (BMax), .Paper (Paper)
  ) u_check (
    .clk_i, .rst_ni, .start_i, .words_i, .table_i, .half_i, .noise_i, .paper_i, .shifts_i, .c1_i,
    .c2_i, .eps_i, .tau_i, .done_o, .code_o, .place_o
  );
  jd_qat_table #(
    .Lw (Lw), .ActLines (ActLines), .DelLines (DelLines), .WLines (WLines), .MaxDim (MaxDim),
    .MaxLayers (MaxLayers)
  ) u_table (
    .clk_i, .rst_ni,
    .forget_i (net_forget_i),
    .start_i  (net_start_i),
    .words_i  (net_words_i),
    .done_o   (net_done_o),
    .code_o   (net_code_o),
    .place_o  (net_place_o),
    .table_o  (net_table_o)
  );
  jd_qat_sweep #(.Lw (Lw)) u_sweep (
    .clk_i, .rst_ni,
    .clear_i  (sweep_clear_i),
    .start_i  (sweep_start_i),
    .layers_i (table_i.layers[sweep_net_i]),
    .idle_o   (sweep_idle_o),
    .sweep_valid_o, .sweep_ready_i, .sweep_line_o, .sweep_count_o, .sweep_columns_o, .sweep_words_o
  );
endmodule : jd_qat_check_bench
