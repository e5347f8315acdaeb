// SPDX-License-Identifier: Apache-2.0
//
// Test bench: jd_a3c_unit with its structures as plain vectors, so that agents find its streams, and
// with its clocks counted by stage.
module jd_a3c_unit_bench
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
#(
  parameter  int unsigned Pes           = 16,
  parameter  int unsigned MulLatency    = 3,
  parameter  int unsigned AddLatency    = 4,
  parameter  int unsigned DivLatency    = 8,
  parameter  int unsigned SqrtLatency   = 8,
  parameter  int unsigned MapRows       = 512,
  parameter  int unsigned ParameterRows = 512,
  parameter  int unsigned GradientRows  = 512,
  parameter  int unsigned UpdateUnits   = 4,
  localparam int unsigned Stages        = 64,   // kind and layer
  localparam int unsigned Clocks        = $bits(unit_clocks_t)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      task_valid_i,
  output logic                      task_ready_o,
  input  logic [$bits(task_t)-1:0]  task_data_i,
  output logic                      lookup_valid_o,
  input  logic                      lookup_ready_i,
  output logic [3:0]                lookup_slot_o,
  output logic [2:0]                lookup_layer_o,
  input  logic                      found_valid_i,
  input  logic [$bits(layer_t)-1:0] found_data_i,
  output logic                      end_valid_o,
  input  logic                      end_ready_i,
  output logic [7:0]                end_error_o,
  output logic [4:0]                end_word_o,
  output logic [1:0]                end_response_o,
  output logic                      order_valid_o,
  output logic [31:0]               order_ticket_o,
  output logic [2:0]                order_layer_o,
  output logic [25:0]               order_behind_o,
  input  logic                      order_go_i,
  output logic                      layer_done_o,
  output logic [2:0]                layer_done_layer_o,
  output logic                      written_valid_o,
  output logic [2:0]                written_layer_o,
  output logic [25:0]               written_behind_o,
  output logic [31:0]               counted_o [Stages*Clocks],
  input  logic                      stop_i,
  output logic                      idle_o,
  output axi_req_t                  mem_req_o,
  input  axi_rsp_t                  mem_rsp_i
);
  end_t         ended;
  written_t     written;
  unit_clocks_t clocks;
  logic         progress, unused_progress;
  assign {end_error_o, end_word_o, end_response_o} = ended;
  assign written_valid_o  = written.valid;
  assign written_layer_o  = written.layer;
  assign written_behind_o = written.behind;
  assign unused_progress  = progress;

  jd_a3c_unit #(
    .Pes (Pes), .MulLatency (MulLatency), .AddLatency (AddLatency), .DivLatency (DivLatency),
    .SqrtLatency (SqrtLatency), .MapRows (MapRows), .ParameterRows (ParameterRows),
    .GradientRows (GradientRows), .UpdateUnits (UpdateUnits)
  ) u_unit (
    .clk_i, .rst_ni, .task_valid_i, .task_ready_o,
    .task_i         (task_data_i),
    .lookup_valid_o, .lookup_ready_i, .lookup_slot_o, .lookup_layer_o,
    .lookup_valid_i (found_valid_i),
    .lookup_data_i  (found_data_i),
    .end_valid_o, .end_ready_i,
    .end_o          (ended),
    .order_valid_o, .order_ticket_o, .order_layer_o, .order_behind_o, .order_go_i,
    .layer_done_o, .layer_done_layer_o,
    .written_o      (written),
    .clocks_o       (clocks),
    .progress_o     (progress),
    .stop_i, .idle_o, .mem_req_o, .mem_rsp_i
  );

  // Clocks by stage, in the order of unit_clocks_t, since the reset. An issue is seen in the clock
  // after its tile's.
  localparam int unsigned ISSUE = 1;
  logic [5:0] stage, before_q;
  assign stage = u_unit.u_core.unused_stage;
  always_ff @(posedge clk_i) begin
    before_q <= stage;
    for (int unsigned n = 0; n < Clocks; n++) begin
      if (clocks[Clocks-1-n]) begin
        counted_o[32'(n == ISSUE ? before_q : stage) * Clocks + n] <=
            counted_o[32'(n == ISSUE ? before_q : stage) * Clocks + n] + 32'd1;
      end
    end
    if (!rst_ni) counted_o <= '{default: '0};
  end
endmodule : jd_a3c_unit_bench
