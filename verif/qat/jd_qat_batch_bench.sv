// SPDX-License-Identifier: Apache-2.0
//
// The transfers of a batch on one memory port: records and lists in, pairs of TD errors out.
//
// Streams  those of the blocks; pairs_*: of jd_qat_pairs.
// Timing   that of the blocks. What an engine's port must keep is checked.
// Numbers  those of the blocks.
// Source   docs/qat.md.
module jd_qat_batch_bench
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter int unsigned Lw       = 4,
  parameter int unsigned N        = 2,
  parameter int unsigned Slots    = 16,
  parameter int unsigned ActLines = 64
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  output logic                          idle_o,
  input  logic                          start_i,
  input  logic                          stop_i,
  input  logic [39:0]                   records_i,
  input  logic [31:0]                   stride_i,
  input  logic                          list_i,
  input  logic                          weights_i,
  input  logic [39:0]                   list_address_i,
  input  logic [31:0]                   places_i,
  input  logic [15:0]                   first_i,
  input  logic [VECTORS_W-1:0]          vectors_i,
  input  logic                          whole_i,
  input  logic                          common_i,
  input  logic [PLACE_W-1:0]            x_line_i,
  input  logic [PLACE_W-1:0]            following_line_i,
  input  logic [PLACE_W-1:0]            misc_line_i,
  input  logic [DIM_W-1:0]              states_i,
  input  logic [PLACE_W-1:0]            state_lines_i,
  input  logic [ROWS_W-1:0]             actions_i,
  input  logic [DIM_W-1:0]              place_i,
  input  logic                          half_i,
  input  logic                          watch_i,
  input  logic [SHIFT_W-1:0]            shift_i,
  output logic                          line_valid_o,
  input  logic                          line_ready_i,
  output logic [N-1:0]                  line_cores_o,
  output logic [ADDRESS_W-1:0]          line_address_o,
  output logic [1:0]                    line_half_o,
  output logic [Lw-1:0][WORD_W-1:0]     line_data_o,
  output logic                          seen_o,
  output logic [$clog2(Lw+1)-1:0]       over_o,
  output logic                          done_o,
  output logic [7:0]                    code_o,
  output logic [31:0]                   info0_o,
  output logic [31:0]                   info1_o,
  output logic                          moved_o,
  output logic                          pairs_idle_o,
  input  logic                          pairs_start_i,
  input  logic [39:0]                   pairs_address_i,
  input  logic [15:0]                   pairs_first_i,
  input  logic [VECTORS_W-1:0]          pairs_vectors_i,
  input  logic                          td_valid_i,
  input  logic [N-1:0][WORD_W-1:0]      td_data_i,
  output logic                          pairs_done_o,
  output logic [1:0]                    pairs_response_o,
  output logic                          pairs_moved_o,
  output axi_req_t                      mem_req_o,
  input  axi_rsp_t                      mem_rsp_i
);
  jd_qat_batch #(.Lw (Lw), .N (N), .Slots (Slots), .ActLines (ActLines)) u_batch (
    .clk_i, .rst_ni, .idle_o, .start_i, .stop_i, .records_i, .stride_i, .list_i, .weights_i,
    .list_address_i, .places_i, .first_i, .vectors_i, .whole_i, .common_i, .x_line_i,
    .following_line_i, .misc_line_i, .states_i, .state_lines_i, .actions_i, .place_i, .half_i,
    .watch_i, .shift_i,
    .line_valid_o, .line_ready_i, .line_cores_o, .line_address_o, .line_half_o, .line_data_o,
    .seen_o, .over_o, .done_o, .code_o, .info0_o, .info1_o, .moved_o,
    .mem_req_o (mem_req_o.read),
    .mem_rsp_i (mem_rsp_i.read)
  );
  jd_qat_pairs #(.N (N), .Slots (Slots)) u_pairs (
    .clk_i, .rst_ni, .stop_i,
    .idle_o     (pairs_idle_o),
    .start_i    (pairs_start_i),
    .address_i  (pairs_address_i),
    .first_i    (pairs_first_i),
    .vectors_i  (pairs_vectors_i),
    .td_valid_i,
    .td_data_i,
    .done_o     (pairs_done_o),
    .response_o (pairs_response_o),
    .moved_o    (pairs_moved_o),
    .mem_req_o  (mem_req_o.write),
    .mem_rsp_i  (mem_rsp_i.write)
  );
  jd_axi_prompt u_prompt (
    .clk_i, .rst_ni,
    .mem_req_i (mem_req_o),
    .mem_rsp_i
  );
endmodule : jd_qat_batch_bench
