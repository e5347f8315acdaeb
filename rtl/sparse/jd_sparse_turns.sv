// SPDX-License-Identifier: Apache-2.0
//
// Walks through the segments of a layer, rank by rank and chunk by chunk, then through its biases, and
// says which weights are updated in which clock.
//
// Streams  table_i: the lists. segment: see jd_sparse_segments; all_taken_i: no more will come. lanes_*:
//          the lanes of a chunk, in the same clock. out: a pipe, valid only, no stall. rank_done_i: the
//          sums of a rank have left.
// Timing   a turn per clock. A chunk has one turn; lanes whose weights are in one bank of the parameter
//          memory need one each. While RANKS ranks have sums that did not leave, nothing begins.
// Numbers  indices. Word (m, n) is in bank (m + n) mod 64, line base + m * pitch + n / 64.
// Source   docs/sparse.md (load allocation). Golden model: models/sparse/optim.py, rmsprop: the order of
//          weights does not matter.
`include "jd_assert.svh"
module jd_sparse_turns
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Lanes    = 33,         // of a bank, 2..264
  parameter  int unsigned DMax     = 512,        // rows or columns, 8..512
  parameter  int unsigned LMax     = 8,          // layers, 1..8
  parameter  int unsigned GRows    = 1024,       // lines of Lanes gradients
  parameter  int unsigned OptLanes = 6,          // lanes of a chunk, 1..8
  parameter  int unsigned Ranks    = 32,         // whose sums are on their way, at most
  localparam int unsigned Chunks   = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned ChunkW   = (Chunks > 1) ? $clog2(Chunks) : 1,
  localparam int unsigned WordW    = $clog2(GRows * Chunks)
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  table_t                              table_i,
  output logic                                idle_o,
  input  logic                                start_i,
  input  logic [LAYER_W-1:0]                  number_i,      // of the layer, held from start_i on
  input  layer_t                              layer_i,
  input  logic                                all_taken_i,
  input  logic                                segment_valid_i,
  output logic                                segment_ready_o,
  input  segment_t                            segment_i,
  output logic [BUFFER_W-1:0]                 lanes_buffer_o,
  output logic [ChunkW-1:0]                   lanes_chunk_o,
  input  segment_lane_t [OptLanes-1:0]        lanes_i,
  input  logic                                rank_done_i,   // of layers with groups
  output logic                                valid_o,
  output turn_t                               turn_o,
  output logic [2:0]                          bank_o,        // of the gradients
  output logic [WordW-1:0]                    word_o,
  output word_place_t [OptLanes-1:0]          places_o,      // of a bias line 0 is its word
  output logic [OptLanes-1:0][1:0]            slots_o
);
  localparam int unsigned PlacesW = $clog2(2 * LMax * DMax);
  localparam int unsigned BankW   = $clog2(WORD_BANKS);
  localparam int unsigned TurnW   = $clog2(OptLanes) + 1;
  localparam int unsigned RanksW  = $clog2(Ranks + 1);

  // ---- Walk
  typedef enum logic [1:0] {StIdle, StWeights, StBiases} state_e;
  state_e              state_q;
  segment_t            segment_q;
  logic                active_q, takes, advance, moves, last_chunk, last_rank, last_bias;
  logic [DIM_W-1:0]    rank_q;
  logic [LANE_W-1:0]   lane_q, chunk_q, past;    // lane: first one of the chunk
  logic [WordW-1:0]    word_q;
  logic [SLOTS-1:0]    live;
  logic [DIM_W-1:0]    neuron_q;
  logic [RanksW-1:0]   ranks_q;
  logic                sums, begins;             // there are sums; a rank begins
  logic                valid_q1, valid_q2, valid_q3, valid_q4;
  assign sums       = layer_i.groups > GROUPS_W'(1);
  assign idle_o     = state_q == StIdle && !valid_q1 && !valid_q2 && !valid_q3 && !valid_q4;
  assign begins     = active_q && chunk_q == '0;
  assign moves      = advance && (state_q == StBiases
                                  || (active_q && (!begins || !sums || 32'(ranks_q) != Ranks)));
  assign last_chunk = 32'(lane_q) + OptLanes >= 32'(past);
  assign last_rank  = rank_q + 1'b1 == segment_q.past;
  assign last_bias  = neuron_q + 1'b1 == layer_i.n;
  assign segment_ready_o = !active_q || (moves && last_chunk && last_rank);
  assign takes      = segment_valid_i && segment_ready_o;
  assign lanes_buffer_o = segment_q.buffer;
  assign lanes_chunk_o  = ChunkW'(chunk_q);
  always_comb begin
    past = '0;                                   // lanes up to the last slot with the rank
    for (int unsigned s = 0; s < SLOTS; s++) begin
      live[s] = rank_q < segment_q.slots[s].depth;
      if (live[s]) past = segment_q.slots[s].past;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q  <= StIdle;
      active_q <= 1'b0;
      ranks_q  <= '0;
    end else begin
      unique case (state_q)
        StIdle:    if (start_i) state_q <= StWeights;
        StWeights: if (all_taken_i && !active_q) state_q <= StBiases;
        StBiases:  if (moves && last_bias) state_q <= StIdle;
        default:   state_q <= StIdle;
      endcase
      if (segment_ready_o) active_q <= segment_valid_i;
      ranks_q <= ranks_q + RanksW'(moves && begins && sums) - RanksW'(rank_done_i);
    end
    if (takes) begin
      segment_q <= segment_i;
      rank_q    <= segment_i.first;
      chunk_q   <= '0;
      lane_q    <= '0;
      word_q    <= WordW'(32'(segment_i.line) * Chunks);
    end else if (moves && active_q) begin
      chunk_q <= last_chunk ? '0 : chunk_q + 1'b1;
      lane_q  <= last_chunk ? '0 : lane_q + LANE_W'(OptLanes);
      word_q  <= last_chunk ? word_q + WordW'(Chunks) - WordW'(chunk_q) : word_q + 1'b1;
      if (last_chunk) rank_q <= rank_q + 1'b1;
    end
    if (state_q != StBiases) neuron_q <= '0;
    else if (moves)          neuron_q <= neuron_q + 1'b1;
  end

  // ---- Stages: indices there 1, parts of lines 2, words 3, turns 4
  typedef struct packed {
    turn_t            turn;
    logic [2:0]       bank;
    logic [WordW-1:0] word;
  } what_t;
  what_t                         what_q1, what_q2, what_q3, what_q4;
  segment_lane_t [OptLanes-1:0]  lanes_q1, lanes_q2;
  logic [SLOTS-1:0][INDEX_W-1:0] index;
  logic [SLOTS-1:0][P_LINE_W-1:0] part_q;
  logic [3:0]                    pitch_q;
  logic [P_LINE_W-1:0]           base_q;
  word_place_t [OptLanes-1:0]    place_q3, place_q4;
  logic [OptLanes-1:0][1:0]      slot_q3, slot_q4;
  logic [OptLanes-1:0][TurnW-1:0] turns, turn_q4;
  logic [TurnW-1:0]              last_turn, last_turn_q4, sub_q;
  for (genvar s = 0; s < SLOTS; s++) begin : gen_slot
    logic [INDEX_W-1:0] place;
    assign place = segment_q.slots[s].first + INDEX_W'(rank_q);
    jd_mem_1r1w #(.Depth (2 * LMax * DMax), .LaneW (INDEX_W)) u_list (
      .clk_i, .rst_ni,
      .write_en_i   (table_i.list.valid),
      .write_addr_i (PlacesW'((32'(table_i.list.columns) * LMax + 32'(table_i.list.layer)) * DMax
                              + 32'(table_i.list.place))),
      .write_mask_i (1'b1),
      .write_data_i (table_i.list.index),
      .read_en_i    (moves && live[s]),
      .read_addr_i  (PlacesW'((32'(layer_i.tr) * LMax + 32'(number_i)) * DMax + 32'(place))),
      .read_data_o  (index[s])
    );
  end
  always_ff @(posedge clk_i) begin
    pitch_q <= 4'((13'(layer_i.n) + 13'(WORD_BANKS - 1)) >> BankW);
    base_q  <= P_LINE_W'(layer_i.w_base >> BankW);
    if (!rst_ni) begin
      valid_q1 <= 1'b0;
      valid_q2 <= 1'b0;
      valid_q3 <= 1'b0;
      valid_q4 <= 1'b0;
    end else if (advance) begin
      valid_q1 <= moves;
      valid_q2 <= valid_q1;
      valid_q3 <= valid_q2;
      valid_q4 <= valid_q3;
    end
    if (advance) begin
      what_q1 <= '{bank: segment_q.bank, word: word_q,
                   turn: '{bias: state_q == StBiases, buffer: segment_q.buffer, chunk: chunk_q,
                           lanes: segment_q.lanes, first: rank_q == segment_q.first,
                           opens: chunk_q == '0, closes: last_chunk,
                           ends: last_chunk && last_rank, live: live,
                           contracted: {SLOTS{INDEX_W'(neuron_q)}}}};
      lanes_q1 <= lanes_i;
      what_q2  <= what_q1;
      lanes_q2 <= lanes_q1;
      for (int unsigned s = 0; s < SLOTS; s++) begin
        if (!what_q1.turn.bias) what_q2.turn.contracted[s] <= index[s];
        part_q[s] <= layer_i.tr ? P_LINE_W'(index[s] >> BankW)
                                : P_LINE_W'(index[s]) * P_LINE_W'(pitch_q);
      end
      what_q3 <= what_q2;
      for (int unsigned k = 0; k < OptLanes; k++) begin
        slot_q3[k]  <= lanes_q2[k].slot;
        place_q3[k] <= '{valid: !what_q2.turn.bias && lanes_q2[k].live
                                && what_q2.turn.live[lanes_q2[k].slot],
                         bank: lanes_q2[k].index[BankW-1:0]
                               + what_q2.turn.contracted[lanes_q2[k].slot][BankW-1:0],
                         line: lanes_q2[k].line + part_q[lanes_q2[k].slot] + base_q};
      end
      if (what_q2.turn.bias) begin
        place_q3[0] <= '{valid: 1'b1, bank: '0,
                         line: P_LINE_W'(layer_i.b_base + B_WORD_W'(what_q2.turn.contracted[0]))};
      end
      what_q4      <= what_q3;
      place_q4     <= place_q3;
      slot_q4      <= slot_q3;
      turn_q4      <= turns;
      last_turn_q4 <= last_turn;
    end
    sub_q <= (!valid_q4 || advance) ? '0 : sub_q + 1'b1;
  end
  // How many lanes below a lane ask its bank.
  always_comb begin
    last_turn = '0;
    for (int i = 0; i < int'(OptLanes); i++) begin
      turns[i] = '0;
      for (int j = 0; j < i; j++) begin
        if (place_q3[j].valid && place_q3[j].bank == place_q3[i].bank)
          turns[i] = turns[i] + 1'b1;
      end
      if (place_q3[i].valid && turns[i] > last_turn) last_turn = turns[i];
    end
  end
  assign advance = !valid_q4 || sub_q == last_turn_q4;

  // ---- A turn
  always_ff @(posedge clk_i) begin
    valid_o <= rst_ni && valid_q4;
    turn_o  <= what_q4.turn;
    turn_o.opens  <= what_q4.turn.opens && sub_q == '0;
    turn_o.closes <= what_q4.turn.closes && advance;
    turn_o.ends   <= what_q4.turn.ends && advance;
    bank_o  <= what_q4.bank;
    word_o  <= what_q4.word;
    slots_o <= slot_q4;
    for (int unsigned k = 0; k < OptLanes; k++) begin
      places_o[k]       <= place_q4[k];
      places_o[k].valid <= valid_q4 && place_q4[k].valid && turn_q4[k] == sub_q;
    end
  end

  `JD_ASSUME_IF(StartsWhileIdle_M, start_i, idle_o)
  `JD_ASSERT_IF(RanksInUse_A, rank_done_i, ranks_q != '0)
  logic unused;
  assign unused = ^{segment_i, layer_i};
endmodule : jd_sparse_turns
