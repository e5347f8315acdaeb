// SPDX-License-Identifier: Apache-2.0
//
// The gradients of a bank: adds the sums of a unit of DW to them.
//
// Streams  unit_*: a unit whose sums are in the accumulators; taken when all are read, of the last
//          one of an operation when all are written. row_o, chunk_o: accumulators to look at, in the
//          same clock. read_*: a word for the optimizer, while no unit is there.
// Timing   OptLanes sums per clock, rank by rank, and one clock more for each unit. frees_o:
//          in no more than EARLY clocks all are read. A read shows READ_LATENCY clocks after read_en_i.
// Numbers  FP32: gradient + sum of FP16, rounded once. After clear_gradients_i gradients are +0: the
//          first operation of a layer writes all of its words. nonfinite_o: a gradient since then is
//          not finite.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/layer.py, weight_gradient.
`include "jd_assert.svh"
module jd_sparse_gradient
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Lanes        = 33,    // 2..264
  parameter  int unsigned Acc          = 64,    // 16, 32, 64
  parameter  int unsigned LMax         = 8,     // 1..8
  parameter  int unsigned GRows        = 1024,  // lines of Lanes gradients
  parameter  int unsigned OptLanes     = 6,     // gradients of a word, 1..8
  parameter  int unsigned Add32Latency = 4,     // 1..6
  localparam int unsigned Chunks       = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned ChunkW       = (Chunks > 1) ? $clog2(Chunks) : 1,
  localparam int unsigned Words        = GRows * Chunks,
  localparam int unsigned WordW        = $clog2(Words),
  localparam int unsigned RowW         = $clog2(Acc) - 2
) (
  input  logic                                            clk_i,
  input  logic                                            rst_ni,
  input  logic                                            clear_i,    // a unit under way is dropped
  input  logic                                            unit_valid_i,
  output logic                                            unit_ready_o,
  input  gradient_unit_t                                  unit_i,
  output logic                                            frees_o,
  output logic [RowW-1:0]                                 row_o,        // four ranks
  output logic [ChunkW-1:0]                               chunk_o,      // OptLanes lanes
  input  logic [OptLanes-1:0][VECTORS-1:0][HALF_W-1:0]    sums_i,
  input  logic                                            clear_gradients_i,
  output logic                                            nonfinite_o,
  input  logic                                            read_en_i,
  input  logic [LAYER_W-1:0]                              read_layer_i,
  input  logic [WordW-1:0]                                read_word_i,  // line * Chunks + chunk
  output logic [OptLanes-1:0][SINGLE_W-1:0]               read_data_o
);
  if (OptLanes < 1 || OptLanes > 8) begin : gen_bad_size
    $fatal(1, "jd_sparse_gradient: OptLanes=%0d, want 1..8", OptLanes);
  end
  localparam int unsigned EARLY  = 4;
  localparam int unsigned SUM    = 3;                  // clocks from a request to the addition
  localparam int unsigned RANK_W = $clog2(BLOCK);

  // ---- Walk: rank by rank, chunk by chunk
  logic              run_q, all_q, asks, last_chunk, last;
  logic [RANK_W-1:0] rank_q;
  logic [ChunkW-1:0] chunk_q;
  logic [LANE_W-1:0] lane_q;                           // first one of the chunk
  logic [WordW-1:0]  word_q;
  logic              empty;                            // no word on its way
  assign asks       = run_q && !all_q;
  assign last_chunk = 32'(lane_q) + OptLanes >= 32'(unit_i.lanes);
  assign last       = last_chunk && 6'(rank_q) + 1'b1 == unit_i.ranks;
  assign row_o      = {unit_i.half, (RowW - 1)'(rank_q >> 2)};
  assign chunk_o    = chunk_q;
  assign unit_ready_o = unit_i.none || (unit_i.ends ? all_q && empty : asks && last);
  assign frees_o    = asks && 6'(rank_q) + 1'b1 == unit_i.ranks
                      && (32'(lane_q) + EARLY * OptLanes >= 32'(unit_i.lanes));
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i || (unit_valid_i && unit_ready_o)) begin
      run_q <= 1'b0;
      all_q <= 1'b0;
    end else begin
      run_q <= unit_valid_i && !unit_i.none;
      all_q <= all_q || (asks && last);
    end
    if (!run_q) begin
      rank_q  <= '0;
      chunk_q <= '0;
      lane_q  <= '0;
      word_q  <= WordW'(32'(unit_i.line) * Chunks);
    end else if (asks) begin
      chunk_q <= last_chunk ? '0 : chunk_q + 1'b1;
      lane_q  <= last_chunk ? '0 : lane_q + LANE_W'(OptLanes);
      word_q  <= last_chunk ? word_q + WordW'(Chunks) - WordW'(chunk_q) : word_q + 1'b1;
      if (last_chunk) rank_q <= rank_q + 1'b1;
    end
  end

  // Which lanes of the chunk have the rank
  logic [OptLanes-1:0] has;
  always_comb begin
    for (int unsigned k = 0; k < OptLanes; k++) begin
      logic [LANE_W-1:0] bound;
      bound  = '0;
      has[k] = 1'b0;
      for (int unsigned s = 0; s < SLOTS; s++) begin
        if (32'(lane_q) + k >= 32'(bound) && 32'(lane_q) + k < 32'(bound + unit_i.slots[s].lanes))
          has[k] = 6'(rank_q) < unit_i.slots[s].ranks;
        bound = bound + unit_i.slots[s].lanes;
      end
    end
  end

  // ---- Gradients of a layer count when an operation has written them
  logic [LMax-1:0] fresh_q;
  logic            fresh;
  always_comb begin
    fresh = 1'b0;
    for (int unsigned l = 0; l < LMax; l++) begin
      if (unit_i.layer == LAYER_W'(l)) fresh = fresh_q[l];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_gradients_i) fresh_q <= '1;
    else if (unit_valid_i && unit_ready_o && unit_i.ends && !unit_i.none) begin
      for (int unsigned l = 0; l < LMax; l++) begin
        if (unit_i.layer == LAYER_W'(l)) fresh_q[l] <= 1'b0;
      end
    end
  end

  // ---- Request 0, sum chosen 1, gradient there 2, FP32 3, written
  logic [SUM:1]                              valid_q;
  logic [SUM:1][OptLanes-1:0]                has_q;
  logic [2:1]                                none_q;     // no gradient yet: +0
  logic [OptLanes-1:0][VECTORS-1:0][HALF_W-1:0] sums_q;
  logic [1:0]                                place_q;
  logic [OptLanes-1:0][HALF_W-1:0]           sum_q;
  logic [OptLanes-1:0][SINGLE_W-1:0]         single, gradient, gradient_q, total;
  logic [OptLanes-1:0]                       added, unused_valid;
  logic [SUM+Add32Latency:1]                 moves_q;
  logic [WordW-1:0]                          write_word;
  logic [OptLanes-1:0]                       wild;
  logic                                      nonfinite_q;
  always_ff @(posedge clk_i) begin
    valid_q <= rst_ni && !clear_i ? {valid_q[SUM-1:1], asks} : '0;
    moves_q <= rst_ni && !clear_i ? {moves_q[SUM+Add32Latency-1:1], asks} : '0;
    has_q   <= {has_q[SUM-1:1], has};
    none_q  <= {none_q[1], fresh};
    if (asks) begin
      sums_q  <= sums_i;
      place_q <= rank_q[1:0];
    end
    for (int unsigned k = 0; k < OptLanes; k++) begin
      if (valid_q[1]) sum_q[k]      <= sums_q[k][place_q];
      if (valid_q[2]) gradient_q[k] <= none_q[2] ? '0 : gradient[k];
    end
  end
  assign empty = moves_q == '0;
  for (genvar k = 0; k < OptLanes; k++) begin : gen_lane
    jd_float_convert #(
      .FromExpW (5), .FromManW (10), .ToExpW (8), .ToManW (23), .Latency (1)
    ) u_single (
      .clk_i, .rst_ni,
      .valid_i  (valid_q[2]),
      .value_i  (sum_q[k]),
      .valid_o  (unused_valid[k]),
      .result_o (single[k])
    );
    jd_float_add #(.Latency (Add32Latency)) u_add (
      .clk_i, .rst_ni,
      .valid_i    (valid_q[SUM] && has_q[SUM][k]),
      .subtract_i (1'b0),
      .a_i        (gradient_q[k]),
      .b_i        (single[k]),
      .valid_o    (added[k]),
      .result_o   (total[k])
    );
    assign wild[k] = added[k] && total[k][30:23] == '1;
  end
  jd_delay #(.Width (WordW), .Cycles (SUM + Add32Latency), .Clear (1'b0)) u_word (
    .clk_i, .rst_ni, .in_i (word_q), .out_o (write_word)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_gradients_i) nonfinite_q <= 1'b0;
    else if (wild != '0)              nonfinite_q <= 1'b1;
  end
  assign nonfinite_o = nonfinite_q;

  // A word is not read while it is written: those of an operation differ, and its last unit is not
  // taken before all are written.
  logic             reads;
  logic [WordW-1:0] read_word;
  assign reads     = asks || read_en_i;
  assign read_word = asks ? word_q : read_word_i;
  logic [READ_LATENCY:1] read_fresh_q;
  logic                  read_fresh;
  always_comb begin
    read_fresh = 1'b0;
    for (int unsigned l = 0; l < LMax; l++) begin
      if (read_layer_i == LAYER_W'(l)) read_fresh = fresh_q[l];
    end
  end
  always_ff @(posedge clk_i) read_fresh_q <= {read_fresh_q[READ_LATENCY-1:1], read_fresh};
  jd_mem_1r1w #(
    .Depth (Words), .Lanes (OptLanes), .LaneW (SINGLE_W), .ReadLatency (READ_LATENCY),
    .Ultra (1'b1)
  ) u_memory (
    .clk_i, .rst_ni,
    .write_en_i   (added != '0),
    .write_addr_i (write_word),
    .write_mask_i (added),
    .write_data_i (total),
    .read_en_i    (reads),
    .read_addr_i  (read_word),
    .read_data_o  (gradient)
  );
  assign read_data_o = read_fresh_q[READ_LATENCY] ? '0 : gradient;

  `JD_ASSUME_STABLE(UnitStable_M, unit_valid_i && !unit_ready_o && !clear_i, {unit_valid_i, unit_i})
  `JD_ASSERT(ReadOrWritten_A, !(reads && added != '0 && read_word == write_word))
  logic unused;
  assign unused = ^unused_valid;
endmodule : jd_sparse_gradient
