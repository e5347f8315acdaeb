// SPDX-License-Identifier: Apache-2.0
//
// What happens to the sums of a bank's units: results of FW and DX, gradients of DW.
//
//   ends of units -> queue -> lanes -> results -> elem
//                                   -> jd_sparse_gradient -> optimizer
//
// Streams  end_*, dw_*: units whose last multiply-add was asked for; due_o: one of the former is in the
//          queue. done_o is high for one clock when an operation's last word is written, in order.
//          row_o, lane_o, chunk_o: accumulators to look at, in the same clock. read_*: results, by
//          address modulo DrainW. gradient_*: see jd_sparse_gradient.
// Timing   DrainW lanes per clock of a unit of FW or DX. frees_o, once a unit: its half of the
//          accumulators is read before the next unit's sums come. Results show one clock after
//          read_en_i.
// Numbers  bits, unchanged; gradients as in jd_sparse_gradient.
// Source   docs/sparse.md. Golden model: models/sparse/layer.py.
`include "jd_assert.svh"
module jd_sparse_drain
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Lanes        = 33,    // 2..264
  parameter  int unsigned Acc          = 64,    // 16, 32, 64
  parameter  int unsigned LMax         = 8,     // 1..8
  parameter  int unsigned RRows        = 4096,
  parameter  int unsigned GRows        = 1024,
  parameter  int unsigned DrainW       = 4,     // 1, 2, 4
  parameter  int unsigned OptLanes     = 6,     // 1..8
  parameter  int unsigned ToDrain      = 15,    // clocks from end_i to the last sum
  parameter  int unsigned DwDrain      = 10,    // clocks from dw_i to the last sum
  parameter  int unsigned Add32Latency = 4,     // 1..6
  localparam int unsigned RW           = $clog2(RRows),
  localparam int unsigned RowW         = $clog2(Acc) - 2,
  localparam int unsigned Chunks       = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned ChunkW       = (Chunks > 1) ? $clog2(Chunks) : 1,
  localparam int unsigned WordW        = $clog2(GRows * Chunks)
) (
  input  logic                              clk_i,
  input  logic                              rst_ni,
  input  logic                              clear_i,
  input  logic                              end_i,
  input  logic                              end_half_i,
  input  logic [LANE_W-1:0]                 end_lanes_i,     // 0: the operation has no unit
  input  logic [RW-1:0]                     end_address_i,
  input  logic                              end_last_i,      // of its operation
  output logic                              due_o,
  input  logic                              dw_i,
  input  gradient_unit_t                    dw_unit_i,
  output logic                              frees_o,
  output logic                              done_o,
  output logic                              idle_o,
  output logic [LANE_W-1:0]                 lane_o,
  output logic [RowW-1:0]                   row_o,
  output logic [ChunkW-1:0]                 chunk_o,
  input  logic [DrainW-1:0][TUPLE_W-1:0]    tuples_i,
  input  logic [OptLanes-1:0][TUPLE_W-1:0]  sums_i,
  input  logic [DrainW-1:0]                 read_en_i,
  input  logic [DrainW-1:0][RW-1:0]         read_address_i,
  output logic [DrainW-1:0][TUPLE_W-1:0]    read_data_o,
  input  logic                              clear_gradients_i,
  output logic                              nonfinite_o,
  input  logic                              gradient_en_i,
  input  logic [LAYER_W-1:0]                gradient_layer_i,
  input  logic [WordW-1:0]                  gradient_word_i,
  output logic [OptLanes-1:0][SINGLE_W-1:0] gradient_data_o
);
  localparam int unsigned DrainLog = $clog2(DrainW);
  localparam int unsigned RDepth   = (RRows + DrainW - 1) / DrainW;
  localparam int unsigned RLineW   = $clog2(RDepth);
  localparam int unsigned EARLY    = 8;   // groups that may still be read when their half is free
  typedef struct packed {
    logic              half;
    logic [LANE_W-1:0] lanes;
    logic [RW-1:0]     address;
    logic              last;
  } result_t;
  typedef struct packed {
    logic           gradient;      // of DW: this unit
    result_t        result;
    gradient_unit_t unit;
  } drain_t;
  logic rst_n;
  assign rst_n = rst_ni && !clear_i;

  // ---- Ends, in order
  result_t           due;
  gradient_unit_t    dw_due_unit;
  logic              dw_due, queue_ready, drain_valid, drain_ends;
  drain_t            queued, drain;
  logic [3:0]        unused_count;
  jd_delay #(.Width (1 + $bits(result_t)), .Cycles (ToDrain)) u_due (
    .clk_i,
    .rst_ni (rst_n),
    .in_i   ({end_i, end_half_i, end_lanes_i, end_address_i, end_last_i}),
    .out_o  ({due_o, due})
  );
  jd_delay #(.Width (1 + $bits(gradient_unit_t)), .Cycles (DwDrain)) u_dw_due (
    .clk_i,
    .rst_ni (rst_n),
    .in_i   ({dw_i, dw_unit_i}),
    .out_o  ({dw_due, dw_due_unit})
  );
  assign queued = '{gradient: dw_due, result: due, unit: dw_due_unit};
  jd_stream_fifo #(.Width ($bits(drain_t)), .Depth (8)) u_drains (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (due_o || dw_due),
    .in_ready_o  (queue_ready),
    .in_data_i   (queued),
    .out_valid_o (drain_valid),
    .out_ready_i (drain_ends),
    .out_data_o  (drain),
    .count_o     (unused_count)
  );

  // ---- Sums of a unit: results, DrainW lanes per clock, or gradients
  logic                           drains, group_ends, gradient_ends, gradient_frees, freed_q, last;
  logic [LANE_W-1:0]              lane_q, left;
  logic [RowW-1:0]                gradient_row;
  logic                           write_q;
  logic [RW-1:0]                  write_address_q;
  logic [LANE_W-1:0]              write_left_q;
  logic [DrainW-1:0][TUPLE_W-1:0] write_data_q;
  logic [1:0]                     done_q;
  assign drains     = drain_valid && !drain.gradient;
  assign left       = drain.result.lanes - lane_q;
  assign group_ends = left <= LANE_W'(DrainW);
  assign drain_ends = drain.gradient ? gradient_ends : group_ends;
  assign last       = drain.gradient ? drain.unit.ends : drain.result.last;
  assign frees_o    = !freed_q && (drains ? drain.result.lanes != '0
                                            && 32'(left) <= EARLY * DrainW : gradient_frees);
  assign lane_o     = lane_q;
  assign row_o      = drains ? {drain.result.half, (RowW - 1)'(0)} : gradient_row;
  always_ff @(posedge clk_i) begin
    if (!rst_n || !drains || group_ends) lane_q <= '0;
    else                                 lane_q <= lane_q + LANE_W'(DrainW);
    freed_q <= rst_n && drain_valid && !drain_ends && (freed_q || frees_o);
    write_q <= rst_n && drains;
    done_q  <= rst_n ? {done_q[0], drain_valid && drain_ends && last} : '0;
    if (drains) begin
      write_address_q <= drain.result.address + RW'(lane_q);
      write_left_q    <= left;
      write_data_q    <= tuples_i;
    end
  end
  assign done_o = done_q[1];
  assign idle_o = !drain_valid && !write_q;
  jd_sparse_gradient #(
    .Lanes (Lanes), .Acc (Acc), .LMax (LMax), .GRows (GRows), .OptLanes (OptLanes),
    .Add32Latency (Add32Latency)
  ) u_gradient (
    .clk_i, .rst_ni, .clear_i,
    .unit_valid_i (drain_valid && drain.gradient),
    .unit_ready_o (gradient_ends),
    .unit_i       (drain.unit),
    .frees_o      (gradient_frees),
    .row_o        (gradient_row),
    .chunk_o,
    .sums_i, .clear_gradients_i, .nonfinite_o,
    .read_en_i    (gradient_en_i),
    .read_layer_i (gradient_layer_i),
    .read_word_i  (gradient_word_i),
    .read_data_o  (gradient_data_o)
  );

  // ---- Results, in memories by the low bits of the address
  for (genvar k = 0; k < DrainW; k++) begin : gen_results
    localparam int unsigned TurnW = DrainLog > 0 ? DrainLog : 1;
    logic [TurnW-1:0] turn;                 // which of the lanes comes here
    logic [RW-1:0]    address;
    assign turn    = DrainLog > 0 ? TurnW'(k) - TurnW'(write_address_q) : '0;
    assign address = write_address_q + RW'(turn);
    jd_mem_1r1w #(.Depth (RDepth), .LaneW (TUPLE_W)) u_memory (
      .clk_i, .rst_ni,
      .write_en_i   (write_q && LANE_W'(turn) < write_left_q),
      .write_addr_i (RLineW'(address >> DrainLog)),
      .write_mask_i (1'b1),
      .write_data_i (write_data_q[turn]),
      .read_en_i    (read_en_i[k]),
      .read_addr_i  (RLineW'(read_address_i[k] >> DrainLog)),
      .read_data_o  (read_data_o[k])
    );
  end

  `JD_ASSERT_IF(DrainRoom_A, due_o || dw_due, queue_ready && !(due_o && dw_due))
endmodule : jd_sparse_drain
