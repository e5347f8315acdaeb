// SPDX-License-Identifier: Apache-2.0
//
// Adds the products of weights and gradients: of each rank those of its slots, of each segment those of
// its lanes.
//
// Streams  in: the products of a turn, of its lanes in valid_i. A pipe: valid only, no stall.
//          contracted, produced: a sum of an index; rank_done_o, segment_done_o: all sums of a rank, of a
//          segment have left. lanes_*: the lanes of a chunk, in the same clock.
// Timing   a turn per clock. The sums of a rank leave one per clock, those of a segment, too. No more than
//          Ranks ranks and four segments may be in flight.
// Numbers  64 bits, exact: at most 512 products of 54 bits.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/machine.py, _update_weights.
`include "jd_assert.svh"
module jd_sparse_update_sums
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Lanes    = 33,         // of a bank, 2..264
  parameter  int unsigned OptLanes = 6,          // lanes of a chunk, 1..8
  parameter  int unsigned Ranks    = 32,         // 4..
  localparam int unsigned Chunks   = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned ChunkW   = (Chunks > 1) ? $clog2(Chunks) : 1
) (
  input  logic                               clk_i,
  input  logic                               rst_ni,
  output logic                               idle_o,         // no sum is here
  input  logic                               turn_valid_i,
  input  turn_t                              turn_i,
  input  logic [OptLanes-1:0][1:0]           slots_i,
  input  logic [OptLanes-1:0]                valid_i,
  input  logic [OptLanes-1:0][PRODUCT_W-1:0] products_i,
  output logic                               rank_done_o,
  output logic                               segment_done_o,
  output logic [BUFFER_W-1:0]                lanes_buffer_o,
  output logic [ChunkW-1:0]                  lanes_chunk_o,
  input  segment_lane_t [OptLanes-1:0]       lanes_i,
  output logic                               contracted_valid_o,
  input  logic                               contracted_ready_i,
  output logic [INDEX_W-1:0]                 contracted_index_o,
  output logic [SUM_W-1:0]                   contracted_sum_o,
  output logic                               produced_valid_o,
  input  logic                               produced_ready_i,
  output logic [INDEX_W-1:0]                 produced_index_o,
  output logic [SUM_W-1:0]                   produced_sum_o
);
  localparam int unsigned HALF  = 4;                     // lanes of a first sum
  localparam int unsigned LaneW = (OptLanes > 1) ? $clog2(OptLanes) : 1;
  localparam int unsigned CountW = $clog2(Ranks + 1);

  // ---- Ranks: sums of four lanes 1, of the rank so far 2
  typedef struct packed {
    logic [SLOTS-1:0]              live;
    logic [SLOTS-1:0][INDEX_W-1:0] indices;
    logic [SLOTS-1:0][SUM_W-1:0]   sums;
  } rank_t;
  logic [SLOTS-1:0][1:0][SUM_W-1:0] parts, parts_q;
  logic [SLOTS-1:0][SUM_W-1:0]      sum_q;
  logic                             turn_q, closes_q, opens_q;
  logic [SLOTS-1:0]                 live_q;
  logic [SLOTS-1:0][INDEX_W-1:0]    index_q;
  logic                             pushes_q, room, rank_valid, last_live, gives_rank;
  logic [SLOTS-1:0]                 pushed_live_q;
  logic [SLOTS-1:0][INDEX_W-1:0]    pushed_index_q;
  rank_t                            pushed, rank;
  logic [SLOTS-1:0]                 given_q, left, lowest;
  logic [CountW-1:0]                ranks;
  always_comb begin
    parts = '0;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      for (int unsigned k = 0; k < OptLanes; k++) begin
        if (valid_i[k] && slots_i[k] == 2'(s))
          parts[s][k/HALF] = parts[s][k/HALF] + SUM_W'($signed(products_i[k]));
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      turn_q   <= 1'b0;
      pushes_q <= 1'b0;
    end else begin
      turn_q   <= turn_valid_i;
      pushes_q <= turn_q && closes_q;
    end
    parts_q  <= parts;
    opens_q  <= turn_i.opens;
    closes_q <= turn_i.closes;
    live_q   <= turn_i.live;
    index_q  <= turn_i.contracted;
    if (turn_q) begin
      pushed_live_q  <= live_q;
      pushed_index_q <= index_q;
      for (int unsigned s = 0; s < SLOTS; s++)
        sum_q[s] <= (opens_q ? '0 : sum_q[s]) + parts_q[s][0] + parts_q[s][1];
    end
  end
  assign pushed = '{live: pushed_live_q, indices: pushed_index_q, sums: sum_q};
  jd_stream_fifo #(.Width ($bits(rank_t)), .Depth (Ranks)) u_ranks (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (pushes_q),
    .in_ready_o  (room),
    .in_data_i   (pushed),
    .out_valid_o (rank_valid),
    .out_ready_i (rank_done_o),
    .out_data_o  (rank),
    .count_o     (ranks)
  );
  assign left        = rank.live & ~given_q;
  assign lowest      = left & (~left + 1'b1);
  assign last_live   = left == lowest;
  assign gives_rank  = rank_valid && (!contracted_valid_o || contracted_ready_i);
  assign rank_done_o = gives_rank && last_live;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      contracted_valid_o <= 1'b0;
      given_q            <= '0;
    end else begin
      if (!contracted_valid_o || contracted_ready_i) contracted_valid_o <= rank_valid;
      if (gives_rank) given_q <= last_live ? '0 : given_q | lowest;
    end
    if (gives_rank) begin
      for (int unsigned s = 0; s < SLOTS; s++) begin
        if (lowest[s]) begin
          contracted_index_o <= rank.indices[s];
          contracted_sum_o   <= rank.sums[s];
        end
      end
    end
  end

  // ---- Segments: sums of lanes, which leave at the segment's end
  logic [OptLanes-1:0][SUM_W-1:0]   kept, so_far;
  logic [BUFFERS-1:0][LANE_W-1:0]   count_q;             // lanes of a buffer's segment
  logic [2:0]                       full_q;              // segments whose sums are there
  logic [BUFFER_W-1:0]              buffer_q;
  logic [ChunkW-1:0]                chunk_q;
  logic [LaneW-1:0]                 place_q;
  logic [LANE_W-1:0]                lane_q;
  logic                             completes, steps, last_lane, last_place;
  for (genvar k = 0; k < OptLanes; k++) begin : gen_lane
    jd_mem_lut #(.Depth (BUFFERS << ChunkW), .Width (SUM_W), .Reads (2)) u_sums (
      .clk_i, .rst_ni,
      .write_en_i   (turn_valid_i && valid_i[k]),
      .write_addr_i ({turn_i.buffer, ChunkW'(turn_i.chunk)}),
      .write_data_i ((turn_i.first ? '0 : so_far[k]) + SUM_W'($signed(products_i[k]))),
      .read_addr_i  ({buffer_q, chunk_q, turn_i.buffer, ChunkW'(turn_i.chunk)}),
      .read_data_o  ({kept[k], so_far[k]})
    );
  end
  assign completes      = turn_valid_i && turn_i.ends;
  assign steps          = full_q != '0 && (!produced_valid_o || produced_ready_i);
  assign last_lane      = lane_q + 1'b1 == count_q[buffer_q];
  assign last_place     = 32'(place_q) == OptLanes - 1;
  assign segment_done_o = steps && last_lane;
  assign lanes_buffer_o = buffer_q;
  assign lanes_chunk_o  = chunk_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      full_q           <= '0;
      buffer_q         <= '0;
      produced_valid_o <= 1'b0;
      chunk_q          <= '0;
      place_q          <= '0;
      lane_q           <= '0;
    end else begin
      full_q <= full_q + 3'(completes) - 3'(segment_done_o);
      if (completes && full_q == '0) buffer_q <= turn_i.buffer;   // a layer without sums skips some
      else if (segment_done_o)       buffer_q <= buffer_q + 1'b1;
      if (!produced_valid_o || produced_ready_i)
        produced_valid_o <= steps && lanes_i[place_q].live;
      if (steps) begin
        lane_q  <= last_lane ? '0 : lane_q + 1'b1;
        place_q <= (last_lane || last_place) ? '0 : place_q + 1'b1;
        if (last_lane)       chunk_q <= '0;
        else if (last_place) chunk_q <= chunk_q + 1'b1;
      end
    end
    if (completes) count_q[turn_i.buffer] <= turn_i.lanes;
    if (steps) begin
      produced_index_o <= lanes_i[place_q].index;
      produced_sum_o   <= kept[place_q];
    end
  end
  assign idle_o = full_q == '0 && !produced_valid_o && !turn_q && !pushes_q && ranks == '0
                  && !contracted_valid_o;

  `JD_ASSERT_IF(RankRoom_A, pushes_q, room)
  `JD_ASSERT_IF(RankLives_A, rank_valid, left != '0)
  `JD_ASSERT_STREAM(ContractedStable_A, contracted_valid_o, contracted_ready_i,
                    {contracted_index_o, contracted_sum_o})
  `JD_ASSERT_STREAM(ProducedStable_A, produced_valid_o, produced_ready_i,
                    {produced_index_o, produced_sum_o})
  logic unused;
  assign unused = ^turn_i;
endmodule : jd_sparse_update_sums
