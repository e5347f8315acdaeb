// SPDX-License-Identifier: Apache-2.0
//
// The instruction scheduler: takes a program, checks its instructions, queues them for their units,
// and starts them when semaphores, operands and results allow it.
//
//   beats -> check -> eight queues -> heads -> start -> unit -> end -> semaphores
//
// Streams  start_i: a RUN of count_i instructions, while busy_o is low. beat_*: the program, two
//          instructions each; a beat that comes while no RUN is under way is dropped. done_o: high for
//          one clock at the end, with code_o (0: none), at_o, info1_o, ended_o; all units rest.
//          unit_start_o: high for one clock for one unit, with instruction_o and what stands beside
//          it, which hold until the next start; only while unit_ready_i. The VPU is a stream: its
//          start stays until unit_ready_i. unit_done_i: an end, in order, with the code of an error.
// Timing   An instruction is dispatched in at most 8 clocks. One starts every few clocks.
// Numbers  -
// Source   LearningGroup III (instruction scheduler); docs/sparse.md (programs). Golden model:
//          models/sparse/program.py.
`include "jd_assert.svh"
module jd_sparse_sched
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores = 3,              // 1..3
  parameter int unsigned DMax  = 512,            // rows or columns, 8..512
  parameter int unsigned XRows = 8192,           // 16..8192
  parameter int unsigned YRows = 8192,           // 16..8192
  parameter int unsigned ARows = 65536           // 16..65536
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clear_i,            // what is under way is dropped
  // The RUN
  input  logic                    start_i,
  input  logic [15:0]             count_i,            // 1..
  output logic                    busy_o,
  output logic                    done_o,
  output logic [7:0]              code_o,
  output logic                    fetch_error_o,      // E_BUS_RD is of the program
  output logic [15:0]             at_o,               // the instruction at fault
  output logic [1:0]              response_o,         // of the bus, for ERR_INFO1
  output logic [15:0]             ended_o,            // instructions that ended
  // The program
  input  logic                    beat_valid_i,
  output logic                    beat_ready_o,
  input  logic [LINE_W-1:0]       beat_i,
  input  logic [1:0]              beat_response_i,    // not 0: it was not read
  // Network and registers, which do not change during a RUN
  input  layer_t [LAYERS-1:0]     layers_i,
  input  logic [3:0]              layer_count_i,
  input  logic [7:0]              agents_i,
  input  logic [15:0]             episodes_i,
  // Layers
  input  logic [LAYERS-1:0]       forget_i,           // LOAD; all of them: CONFIG, reset
  output logic [LAYERS-1:0]       planned_o,          // have a plan
  // Units
  input  logic [UNITS-1:0]        unit_ready_i,
  output logic [UNITS-1:0]        unit_start_o,
  input  logic [UNITS-1:0]        unit_done_i,
  input  logic [7:0]              dma_code_i,         // with its done: 0, E_BUS_RD, E_BUS_WR
  input  logic [1:0]              dma_response_i,
  input  logic                    plan_failed_i,      // with LAU's done
  output instruction_t            instruction_o,      // of all units but the VPU
  output logic [CORES-1:0][15:0]  vectors_o,          // of each core from tile 0 on; at most 65,535
  output logic                    fill_set_o,
  output logic                    elem_set_o,
  output logic                    elem_dx_o,          // the results are those of a DX
  output operation_t              op_o,               // of the VPU
  output logic                    op_y_set_o,
  output logic                    op_row_o,           // in ROW split
  output logic [CORES-1:0][TILES_W-1:0] op_tiles_o,
  // Counters
  output logic [3:0]              stage_busy_o,       // an instruction of the stage runs
  output logic [UNITS-1:0]        unit_busy_o,        // a unit has an instruction
  output logic                    stall_in_o          // the next VPU operation waits for one of them
);
  logic unused;
  assign unused = ^{clk_i, rst_ni, clear_i, start_i, count_i, beat_valid_i, beat_i, beat_response_i,
                    layers_i, layer_count_i, agents_i, episodes_i, forget_i, unit_ready_i,
                    unit_done_i, dma_code_i, dma_response_i, plan_failed_i,
                    Cores, DMax, XRows, YRows, ARows};
  assign busy_o        = 1'b0;
  assign done_o        = 1'b0;
  assign code_o        = '0;
  assign fetch_error_o = 1'b0;
  assign at_o          = '0;
  assign response_o    = '0;
  assign ended_o       = '0;
  assign beat_ready_o  = 1'b1;
  assign planned_o     = '0;
  assign unit_start_o  = '0;
  assign instruction_o = '0;
  assign vectors_o     = '0;
  assign fill_set_o    = 1'b0;
  assign elem_set_o    = 1'b0;
  assign elem_dx_o     = 1'b0;
  assign op_o          = '0;
  assign op_y_set_o    = 1'b0;
  assign op_row_o      = 1'b0;
  assign op_tiles_o    = '0;
  assign stage_busy_o  = '0;
  assign unit_busy_o   = '0;
  assign stall_in_o    = 1'b0;
endmodule : jd_sparse_sched
