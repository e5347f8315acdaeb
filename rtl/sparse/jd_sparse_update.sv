// SPDX-License-Identifier: Apache-2.0
//
// UPD: updates the unmasked weights of a layer by their gradients, then its biases, and gives the
// gradients of its grouping.
//
//   jd_sparse_segments -> jd_sparse_turns -> gradients -> jd_sparse_update_lane x OptLanes -> weights
//                                            weights   ->                                  -> sums
//
// Streams  table_i: what the planner tells. start_i: a layer, while ready_o; done_o pulses when all is
//          written and all sums are taken. gradient_*, bias_sum_*: words of all cores, READ_LATENCY clocks
//          later. param_*: weights with their mean squares, to read UPDATE_LATENCY clocks later, and to
//          write. bias_*: biases, one clock later. row, column: sums, each to add to what the word has.
// Timing   OptLanes weights per clock at best: a chunk that is not full takes as long as a full one, and
//          weights in one bank of the parameter memory go one by one. A bias per clock. The first
//          segment's lanes and the stages add some 100 clocks. A sum that is not taken stops the walk,
//          not what is under way.
// Numbers  FP32; see jd_sparse_update_lane. With row_i the biases' gradients of core 0 are all there is;
//          of a weight's the other cores have +0. Layers with one group have no sums. Each weight is read
//          and written once.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/machine.py, _update_weights.
`include "jd_assert.svh"
module jd_sparse_update
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Cores        = 3,      // as jd_sparse_top
  parameter  int unsigned Banks        = 8,
  parameter  int unsigned Lanes        = 33,
  parameter  int unsigned DMax         = 512,
  parameter  int unsigned LMax         = 8,
  parameter  int unsigned WinMax       = 24,
  parameter  int unsigned GRows        = 1024,
  parameter  int unsigned OptLanes     = 6,
  parameter  int unsigned Mul32Latency = 3,      // 1..4, at least 2 with one core
  parameter  int unsigned Add32Latency = 4,      // 1..6
  parameter  int unsigned DivLatency   = 16,     // 2..28
  parameter  int unsigned SqrtLatency  = 16,     // 2..28
  localparam int unsigned Chunks       = (Lanes + OptLanes - 1) / OptLanes,
  localparam int unsigned GWordW       = $clog2(GRows * Chunks),
  localparam int unsigned SumLines     = (DMax + NEURONS - 1) / NEURONS,
  localparam int unsigned SumLineW     = (SumLines > 1) ? $clog2(SumLines) : 1
) (
  input  logic                                          clk_i,
  input  logic                                          rst_ni,
  input  table_t                                        table_i,
  output logic                                          ready_o,
  input  logic                                          start_i,
  input  logic [LAYER_W-1:0]                            number_i,   // of the layer
  input  layer_t                                        layer_i,
  input  logic                                          row_i,      // ROW
  input  settings_t                                     settings_i, // held
  output logic                                          done_o,
  // Gradients
  output logic                                          gradient_en_o,
  output logic [2:0]                                    gradient_bank_o,
  output logic [LAYER_W-1:0]                            gradient_layer_o,
  output logic [GWordW-1:0]                             gradient_word_o,
  input  logic [Cores-1:0][OptLanes-1:0][SINGLE_W-1:0]  gradient_data_i,
  output logic                                          bias_sum_en_o,
  output logic [LAYER_W-1:0]                            bias_sum_layer_o,
  output logic [SumLineW-1:0]                           bias_sum_line_o,
  input  logic [Cores-1:0][NEURONS-1:0][SINGLE_W-1:0]   bias_sum_data_i,
  // Parameters: {mean square, value}
  output word_place_t [OptLanes-1:0]                    param_read_o,
  input  logic [OptLanes-1:0][1:0][SINGLE_W-1:0]        param_data_i,
  output word_place_t [OptLanes-1:0]                    param_write_o,
  output logic [OptLanes-1:0][1:0][SINGLE_W-1:0]        param_new_o,
  output logic                                          bias_read_o,
  output logic [B_WORD_W-1:0]                           bias_word_o,
  input  logic [1:0][SINGLE_W-1:0]                      bias_data_i,
  output logic                                          bias_write_o,
  output logic [B_WORD_W-1:0]                           bias_write_word_o,
  output logic [1:0][SINGLE_W-1:0]                      bias_write_data_o,
  // Gradients of the grouping: of row m word s_base + m, of column n word s_base + M + n
  output logic                                          row_valid_o,
  input  logic                                          row_ready_i,
  output logic [S_WORD_W-1:0]                           row_word_o,
  output logic [SUM_W-1:0]                              row_sum_o,
  output logic                                          column_valid_o,
  input  logic                                          column_ready_i,
  output logic [S_WORD_W-1:0]                           column_word_o,
  output logic [SUM_W-1:0]                              column_sum_o
);
  localparam int unsigned ChunkW  = (Chunks > 1) ? $clog2(Chunks) : 1;
  localparam int unsigned RANKS   = 32;          // whose sums are on their way, at most
  // Clocks from a turn on
  localparam int unsigned SUMMED  = READ_LATENCY + 1;                        // gradients are there
  localparam int unsigned SCALED  = SUMMED + (Cores - 1) * Add32Latency + Mul32Latency;
  localparam int unsigned ASKED   = SCALED - UPDATE_LATENCY - 1;             // values are asked for
  localparam int unsigned PRODUCT = SCALED + Mul32Latency + 4;
  localparam int unsigned WRITTEN = SCALED + 2 * Mul32Latency + 3 * Add32Latency + DivLatency
                                    + SqrtLatency;
  localparam int unsigned REST    = (PRODUCT > WRITTEN ? PRODUCT : WRITTEN) + 4;
  localparam int unsigned RestW   = $clog2(REST + 1);
  if (SCALED < UPDATE_LATENCY + 1 || GRows > 1 << G_LINE_W) begin : gen_bad_size
    $fatal(1, "jd_sparse_update: Cores=%0d Mul32Latency=%0d GRows=%0d", Cores, Mul32Latency, GRows);
  end

  // ---- The layer
  logic               busy_q, row_q, sums, segments_idle, turns_idle, sums_idle;
  logic [LAYER_W-1:0] number_q;
  layer_t             layer_q;
  logic [RestW-1:0]   rest_q;                    // clocks that a turn may still be under way
  logic               turn_valid, starts, start_q;
  turn_t              turn;
  assign ready_o = !busy_q;
  assign starts  = start_i && ready_o;
  assign sums    = layer_q.groups > GROUPS_W'(1);
  assign done_o  = busy_q && !start_q && segments_idle && turns_idle && !turn_valid && rest_q == '0
                   && sums_idle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      start_q <= 1'b0;
      rest_q  <= '0;
    end else begin
      if (starts)      busy_q <= 1'b1;
      else if (done_o) busy_q <= 1'b0;
      start_q <= starts;
      if (turn_valid)        rest_q <= RestW'(REST);
      else if (rest_q != '0) rest_q <= rest_q - 1'b1;
    end
    if (starts) begin
      number_q <= number_i;
      layer_q  <= layer_i;
      row_q    <= row_i;
    end
  end

  // ---- Which weights
  logic                               segment_valid, segment_ready, segment_done, rank_done, frees;
  segment_t                           segment;
  logic [1:0][BUFFER_W-1:0]           lanes_buffer;
  logic [1:0][ChunkW-1:0]             lanes_chunk;
  segment_lane_t [1:0][OptLanes-1:0]  lanes;     // of the walk, of the sums
  logic [2:0]                         bank;
  logic [GWordW-1:0]                  word;
  word_place_t [OptLanes-1:0]         places;
  logic [OptLanes-1:0][1:0]           slots;
  assign frees = sums ? segment_done : turn_valid && turn.ends && !turn.bias;
  jd_sparse_segments #(
    .Banks (Banks), .Lanes (Lanes), .DMax (DMax), .LMax (LMax), .WinMax (WinMax),
    .OptLanes (OptLanes)
  ) u_segments (
    .clk_i, .rst_ni, .table_i,
    .idle_o          (segments_idle),
    .start_i         (start_q),
    .number_i        (number_q),
    .layer_i         (layer_q),
    .segment_valid_o (segment_valid),
    .segment_ready_i (segment_ready),
    .segment_o       (segment),
    .free_i          (frees),
    .lanes_buffer_i  (lanes_buffer),
    .lanes_chunk_i   (lanes_chunk),
    .lanes_o         (lanes)
  );
  jd_sparse_turns #(
    .Lanes (Lanes), .DMax (DMax), .LMax (LMax), .GRows (GRows), .OptLanes (OptLanes),
    .Ranks (RANKS)
  ) u_turns (
    .clk_i, .rst_ni, .table_i,
    .idle_o          (turns_idle),
    .start_i         (start_q),
    .number_i        (number_q),
    .layer_i         (layer_q),
    .all_taken_i     (segments_idle),
    .segment_valid_i (segment_valid),
    .segment_ready_o (segment_ready),
    .segment_i       (segment),
    .lanes_buffer_o  (lanes_buffer[0]),
    .lanes_chunk_o   (lanes_chunk[0]),
    .lanes_i         (lanes[0]),
    .rank_done_i     (rank_done),
    .valid_o         (turn_valid),
    .turn_o          (turn),
    .bank_o          (bank),
    .word_o          (word),
    .places_o        (places),
    .slots_o         (slots)
  );

  // ---- Gradients
  logic [READ_LATENCY:1][2:0]                    neuron_q;
  logic [SUMMED:1]                               bias_q;
  logic [OptLanes-1:0]                           valid, summed, asked_valid;
  logic [OptLanes-1:0][Cores-1:0][SINGLE_W-1:0]  gradients_q;
  assign gradient_en_o    = turn_valid && !turn.bias;
  assign gradient_bank_o  = bank;
  assign gradient_layer_o = number_q;
  assign gradient_word_o  = word;
  assign bias_sum_en_o    = turn_valid && turn.bias;
  assign bias_sum_layer_o = number_q;
  assign bias_sum_line_o  = SumLineW'(turn.contracted[0] >> $clog2(NEURONS));
  for (genvar k = 0; k < OptLanes; k++) begin : gen_valid
    assign valid[k] = places[k].valid;
  end
  jd_delay #(.Width (OptLanes), .Cycles (SUMMED)) u_summed (
    .clk_i, .rst_ni, .in_i (valid), .out_o (summed)
  );
  jd_delay #(.Width (OptLanes), .Cycles (ASKED)) u_asked_valid (
    .clk_i, .rst_ni, .in_i (valid), .out_o (asked_valid)
  );
  always_ff @(posedge clk_i) begin
    neuron_q <= {neuron_q[READ_LATENCY-1:1], turn.contracted[0][2:0]};
    bias_q   <= {bias_q[SUMMED-1:1], turn.bias};
    for (int unsigned k = 0; k < OptLanes; k++) begin
      for (int unsigned c = 0; c < Cores; c++) begin
        gradients_q[k][c] <= gradient_data_i[c][k];
        if (k == 0 && bias_q[READ_LATENCY])
          gradients_q[k][c] <= bias_sum_data_i[c][neuron_q[READ_LATENCY]];
        if (k == 0 && bias_q[READ_LATENCY] && row_q && c != 0) gradients_q[k][c] <= '0;
      end
    end
  end

  // ---- Values, and what becomes of them
  localparam int unsigned PlaceW = $bits(word_place_t) - 1;               // bank, line
  logic [OptLanes-1:0][PlaceW-1:0]        asked, written;
  logic                                   asked_bias, given_bias, written_bias;
  logic [1:0][SINGLE_W-1:0]               bias_late;
  logic [OptLanes-1:0][1:0][SINGLE_W-1:0] values_q, results;
  logic [OptLanes-1:0]                    done, products_valid;
  logic [OptLanes-1:0][PRODUCT_W-1:0]     products;
  jd_delay #(.Width (1), .Cycles (ASKED)) u_asked_bias (
    .clk_i, .rst_ni, .in_i (turn_valid && turn.bias), .out_o (asked_bias)
  );
  jd_delay #(.Width (1), .Cycles (UPDATE_LATENCY)) u_given_bias (
    .clk_i, .rst_ni, .in_i (asked_bias), .out_o (given_bias)
  );
  jd_delay #(.Width (1), .Cycles (WRITTEN - ASKED - UPDATE_LATENCY)) u_written_bias (
    .clk_i, .rst_ni, .in_i (given_bias), .out_o (written_bias)
  );
  jd_delay #(.Width (2 * SINGLE_W), .Cycles (UPDATE_LATENCY - 1), .Clear (1'b0)) u_bias_late (
    .clk_i, .rst_ni, .in_i (bias_data_i), .out_o (bias_late)
  );
  always_ff @(posedge clk_i) begin
    values_q <= param_data_i;
    if (given_bias) values_q[0] <= bias_late;
  end
  for (genvar k = 0; k < OptLanes; k++) begin : gen_lane
    jd_sparse_update_lane #(
      .Cores (Cores), .Mul32Latency (Mul32Latency), .Add32Latency (Add32Latency),
      .DivLatency (DivLatency), .SqrtLatency (SqrtLatency)
    ) u_lane (
      .clk_i, .rst_ni, .settings_i,
      .valid_i         (summed[k]),
      .gradients_i     (gradients_q[k]),
      .value_i         (values_q[k][0]),
      .square_i        (values_q[k][1]),
      .valid_o         (done[k]),
      .value_o         (results[k][0]),
      .square_o        (results[k][1]),
      .product_valid_o (products_valid[k]),
      .product_o       (products[k])
    );
    jd_delay #(.Width (PlaceW), .Cycles (ASKED), .Clear (1'b0)) u_asked (
      .clk_i, .rst_ni, .in_i ({places[k].bank, places[k].line}), .out_o (asked[k])
    );
    jd_delay #(.Width (PlaceW), .Cycles (WRITTEN - ASKED), .Clear (1'b0)) u_written (
      .clk_i, .rst_ni, .in_i (asked[k]), .out_o (written[k])
    );
    assign param_read_o[k]  = '{valid: asked_valid[k] && !asked_bias,
                                bank: asked[k][PlaceW-1:P_LINE_W], line: asked[k][P_LINE_W-1:0]};
    assign param_write_o[k] = '{valid: done[k] && !written_bias,
                                bank: written[k][PlaceW-1:P_LINE_W],
                                line: written[k][P_LINE_W-1:0]};
  end
  assign param_new_o       = results;
  assign bias_read_o       = asked_bias;
  assign bias_word_o       = B_WORD_W'(asked[0]);
  assign bias_write_o      = done[0] && written_bias;
  assign bias_write_word_o = B_WORD_W'(written[0]);
  assign bias_write_data_o = results[0];

  // ---- Sums of the products
  logic                     summing, contracted_valid, contracted_ready, produced_valid;
  logic                     produced_ready;
  turn_t                    turn_late;
  logic [OptLanes-1:0][1:0] slots_late;
  logic [INDEX_W-1:0]       contracted_index, produced_index, row_index, column_index;
  logic [SUM_W-1:0]         contracted_sum, produced_sum;
  jd_delay #(.Width (1), .Cycles (PRODUCT)) u_summing (
    .clk_i, .rst_ni, .in_i (turn_valid && !turn.bias && sums), .out_o (summing)
  );
  jd_delay #(.Width ($bits(turn_t) + 2 * OptLanes), .Cycles (PRODUCT), .Clear (1'b0)) u_turn_late (
    .clk_i, .rst_ni, .in_i ({turn, slots}), .out_o ({turn_late, slots_late})
  );
  jd_sparse_update_sums #(.Lanes (Lanes), .OptLanes (OptLanes), .Ranks (RANKS)) u_sums (
    .clk_i, .rst_ni,
    .idle_o             (sums_idle),
    .turn_valid_i       (summing),
    .turn_i             (turn_late),
    .slots_i            (slots_late),
    .valid_i            (products_valid),
    .products_i         (products),
    .rank_done_o        (rank_done),
    .segment_done_o     (segment_done),
    .lanes_buffer_o     (lanes_buffer[1]),
    .lanes_chunk_o      (lanes_chunk[1]),
    .lanes_i            (lanes[1]),
    .contracted_valid_o (contracted_valid),
    .contracted_ready_i (contracted_ready),
    .contracted_index_o (contracted_index),
    .contracted_sum_o   (contracted_sum),
    .produced_valid_o   (produced_valid),
    .produced_ready_i   (produced_ready),
    .produced_index_o   (produced_index),
    .produced_sum_o     (produced_sum)
  );
  assign row_valid_o      = layer_q.tr ? produced_valid : contracted_valid;
  assign row_index        = layer_q.tr ? produced_index : contracted_index;
  assign row_sum_o        = layer_q.tr ? produced_sum : contracted_sum;
  assign column_valid_o   = layer_q.tr ? contracted_valid : produced_valid;
  assign column_index     = layer_q.tr ? contracted_index : produced_index;
  assign column_sum_o     = layer_q.tr ? contracted_sum : produced_sum;
  assign contracted_ready = layer_q.tr ? column_ready_i : row_ready_i;
  assign produced_ready   = layer_q.tr ? row_ready_i : column_ready_i;
  assign row_word_o       = layer_q.s_base + S_WORD_W'(row_index);
  assign column_word_o    = layer_q.s_base + S_WORD_W'(layer_q.m) + S_WORD_W'(column_index);

  `JD_ASSUME_IF(StartsWhileReady_M, start_i, ready_o)
  `JD_ASSERT_STREAM(RowStable_A, row_valid_o, row_ready_i, {row_word_o, row_sum_o})
  `JD_ASSERT_STREAM(ColumnStable_A, column_valid_o, column_ready_i, {column_word_o, column_sum_o})
  logic unused;
  assign unused = bias_q[SUMMED];
endmodule : jd_sparse_update
