// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_sparse_sched: a program in a memory, and units that take as long as the test says.
//
// Streams  load_i writes beat_i at load_at_i. A RUN reads from beat 0 on; give_i: a beat may come.
//          ends_i: bit k lets unit k end in this clock. The array has an operation in its first half and
//          one in its second; walks_i lets it leave the first one. loose_i: units are
//          always ready. fail_*: which end of DMA or LAU
//          fails, from 1 on; 0: none. bad_beat_i: which beat is not read, likewise.
// Timing   a unit ends one clock or more after its start.
// Numbers  -
// Source   -
module jd_sparse_sched_bench
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
  input  logic                clear_i,
  input  logic                load_i,
  input  logic [9:0]          load_at_i,
  input  logic [LINE_W-1:0]   beat_i,
  input  logic                start_i,
  input  logic [15:0]         count_i,
  input  logic                give_i,
  input  logic [UNITS-1:0]    ends_i,
  input  logic                walks_i,
  input  logic                loose_i,
  input  logic [7:0]          fail_dma_i,
  input  logic [7:0]          dma_code_i,
  input  logic [1:0]          response_i,
  input  logic [7:0]          fail_plan_i,
  input  logic [7:0]          bad_beat_i,
  input  layer_t [LAYERS-1:0] layers_i,
  input  logic [3:0]          layer_count_i,
  input  logic [7:0]          agents_i,
  input  logic [15:0]         episodes_i,
  input  logic [LAYERS-1:0]   forget_i,
  output logic                busy_o,
  output logic                done_o,
  output logic [7:0]          code_o,
  output logic                fetch_error_o,
  output logic [15:0]         at_o,
  output logic [1:0]          response_o,
  output logic [15:0]         ended_o,
  output logic [LAYERS-1:0]   planned_o,
  output logic [UNITS-1:0]    starts_o,          // the VPU's: taken
  output logic [UNITS-1:0]    dones_o,
  output instruction_t        instruction_o,
  output logic [CORES-1:0][VECTORS_W-1:0] vectors_o,
  output logic                fill_set_o,
  output logic                elem_set_o,
  output logic                elem_dx_o,
  output operation_t          op_o,
  output logic [CORES-1:0][TILES_W-1:0] op_tiles_o,
  output logic [3:0]          stage_busy_o,
  output logic [UNITS-1:0]    unit_busy_o,
  output logic                stall_in_o
);
  logic [LINE_W-1:0] beats [1024];
  logic [9:0]        at_q;
  logic              beat_valid, beat_ready, given_q;
  logic [UNITS-1:0]  ready, start, done_q, works_q;
  logic              first_q, second_q;          // halves of the array
  logic [7:0]        dma_q, plan_q;              // ends
  assign beat_valid = busy_o && (given_q || give_i);
  always_ff @(posedge clk_i) begin
    if (load_i) beats[load_at_i] <= beat_i;
    if (!rst_ni || start_i || clear_i) {at_q, given_q, dma_q, plan_q} <= '0;
    else begin
      if (beat_valid && beat_ready) at_q <= at_q + 1'b1;
      given_q <= beat_valid && !beat_ready;
      dma_q   <= dma_q + 8'(done_q[UnitDma]);
      plan_q  <= plan_q + 8'(done_q[UnitLau]);
    end
    if (!rst_ni || clear_i) {works_q, done_q, first_q, second_q} <= '0;
    else begin
      done_q  <= works_q & ends_i;
      works_q <= (works_q & ~ends_i) | start;
      done_q[UnitVpu]  <= second_q && ends_i[UnitVpu];
      works_q[UnitVpu] <= 1'b0;
      first_q  <= starts_o[UnitVpu] || (first_q && (second_q || !walks_i));
      second_q <= (first_q && walks_i && !second_q) || (second_q && !ends_i[UnitVpu]);
    end
  end
  always_comb begin
    ready             = loose_i ? '1 : ~works_q;
    ready[UnitVpu]    = !first_q;
    starts_o          = start;
    starts_o[UnitVpu] = start[UnitVpu] && !first_q;
  end
  assign dones_o = done_q;
  jd_sparse_sched #(
    .Cores (Cores), .DMax (DMax), .XRows (XRows), .YRows (YRows), .ARows (ARows)
  ) u_dut (
    .clk_i, .rst_ni, .clear_i, .start_i, .count_i, .busy_o, .done_o, .code_o, .fetch_error_o,
    .at_o, .response_o, .ended_o,
    .beat_valid_i    (beat_valid),
    .beat_ready_o    (beat_ready),
    .beat_i          (beats[at_q]),
    .beat_response_i (bad_beat_i != '0 && 10'(bad_beat_i) == at_q + 1'b1 ? response_i : '0),
    .layers_i, .layer_count_i, .agents_i, .episodes_i, .forget_i, .planned_o,
    .unit_ready_i    (ready),
    .unit_start_o    (start),
    .unit_done_i     (done_q),
    .dma_code_i      (fail_dma_i != '0 && dma_q + 1'b1 == fail_dma_i ? dma_code_i : '0),
    .dma_response_i  (response_i),
    .plan_failed_i   (fail_plan_i != '0 && plan_q + 1'b1 == fail_plan_i),
    .instruction_o, .vectors_o, .fill_set_o, .elem_set_o, .elem_dx_o, .op_o, .op_tiles_o,
    .stage_busy_o, .unit_busy_o, .stall_in_o
  );
endmodule : jd_sparse_sched_bench
