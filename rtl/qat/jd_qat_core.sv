// SPDX-License-Identifier: Apache-2.0
//
// An adaptive array core: activations and deltas of its vectors, the array, accumulators, and the output
// stage that brings results back.
//
//   entry -> ACT -> array -> accumulator -> sums of other cores (IL) -> output stage -+-> ACT
//   weights ----------^                                                               +-> tail -> ACT
//
// Streams  entry_*: entries of tiles; load_*: lines of weights, 3 clocks after their request; line_*,
//          read_*: lines that are moved to and from slots. seen_*: what a monitor sees. Entries and
//          weights are pipes: they never wait, as nothing after them can stall.
// Timing   as in jd_qat_pkg: a result is in ACT 19 clocks after its entry. written_o counts output tiles
//          that can be read: with a tile's first line, or of the tail its last vector's. What is read of
//          a slot shows 3 clocks after read_valid_i, at which no entry may come.
// Numbers  those of its blocks. Vector v of a pass is in core v mod N, slot v / N; in half mode two slots
//          share the line of the even one. In IL all cores have the vector and take columns in turn, and
//          their lanes are added before anything is rounded.
// Source   FIXAR V-A (adaptive array processing core); docs/qat.md. Golden models: models/qat/array.py,
//          models/qat/ops.py.
`include "jd_assert.svh"
module jd_qat_core
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw        = 16,          // 4, 8, 16
  parameter  int unsigned N         = 2,           // cores
  parameter  int unsigned Index     = 0,           // of this one
  parameter  int unsigned Slots     = 64,          // for vectors, even; one more is for acting
  parameter  int unsigned ActLines  = 160,         // of a slot
  parameter  int unsigned DelLines  = 80,
  parameter  int unsigned TanhLanes = 4,
  localparam int unsigned CountW    = $clog2(2 * Lw + 1)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            clear_i,       // drops what is in the tail
  output logic                            idle_o,        // the tail is empty
  input  logic                            load_valid_i,
  input  logic                            load_by_row_i,
  input  logic [3:0]                      load_index_i,
  input  logic                            load_opens_i,
  input  logic [Lw-1:0][WORD_W-1:0]       load_line_i,
  input  logic                            entry_valid_i,
  input  entry_t                          entry_i,
  output logic [1:0]                      written_o,     // output tiles, 0..2
  // Bias lines, for all cores alike
  input  logic [Lw-1:0][WORD_W-1:0]       bias_line_i,
  output logic                            bias_pop_o,
  // Lanes: this core's, and the sum of all
  output logic [Lw-1:0][1:0][ACC_W-1:0]   lanes_o,
  input  logic [Lw-1:0][1:0][ACC_W-1:0]   lanes_i,
  // Monitor and saturations
  output logic                            seen_valid_o,
  output logic [TENSOR_W-1:0]             seen_tensor_o,
  output logic [Lw-1:0][WORD_W-1:0]       seen_line_o,
  output logic [CountW-1:0]               over_z_o,
  output logic [CountW-1:0]               over_quantized_o,
  // Lines of slots
  input  logic                            line_valid_i,
  output logic                            line_ready_o,
  input  logic                            line_delta_i,  // in DEL
  input  logic                            line_odd_i,    // DEL: half of odd slots
  input  logic [ADDRESS_W-1:0]            line_address_i,
  input  logic [1:0]                      line_half_i,   // ACT: halves of words
  input  logic [Lw-1:0][WORD_W-1:0]       line_data_i,
  input  logic                            read_valid_i,
  input  logic                            read_delta_i,
  input  logic                            read_odd_i,
  input  logic [ADDRESS_W-1:0]            read_address_i,
  output logic                            read_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]       read_data_o
);
  localparam int unsigned NLog2   = $clog2(N);
  localparam int unsigned Lanes   = TanhLanes < Lw ? TanhLanes : Lw;
  localparam int unsigned EntryW  = $clog2(Slots + 1);
  localparam int unsigned SumW    = PRODUCT_W + $clog2(Lw);
  localparam logic [ADDRESS_W-1:0] ACTING = ADDRESS_W'(Slots * ActLines);
  if (Slots % 2 != 0 || Slots < 2 || Slots > 128) begin : gen_bad_slots
    $fatal(1, "jd_qat_core: Slots=%0d, want an even number to 128", Slots);
  end

  // ---- Entries down the pipeline: at the operands, before the accumulator, at the output stage
  localparam int unsigned AHEAD_STAGE = OPERAND_STAGE + ARRAY_CLOCKS - 1;
  entry_t entry_q4, entry_q10, entry_q13;
  logic   valid_q4, valid_q10, valid_q13;
  jd_delay #(.Width (1), .Cycles (OPERAND_STAGE - 1)) u_valid_q4 (
    .clk_i, .rst_ni, .in_i (entry_valid_i), .out_o (valid_q4)
  );
  jd_delay #(.Width (1), .Cycles (AHEAD_STAGE - OPERAND_STAGE)) u_valid_q10 (
    .clk_i, .rst_ni, .in_i (valid_q4), .out_o (valid_q10)
  );
  jd_delay #(.Width (1), .Cycles (OUT_STAGE - AHEAD_STAGE)) u_valid_q13 (
    .clk_i, .rst_ni, .in_i (valid_q10 && entry_q10.tile.last), .out_o (valid_q13)
  );
  jd_delay #(.Width ($bits(entry_t)), .Cycles (OPERAND_STAGE - 1), .Clear (1'b0)) u_entry_q4 (
    .clk_i, .rst_ni, .in_i (entry_i), .out_o (entry_q4)
  );
  jd_delay #(.Width ($bits(entry_t)), .Cycles (AHEAD_STAGE - OPERAND_STAGE), .Clear (1'b0))
  u_entry_q10 (
    .clk_i, .rst_ni, .in_i (entry_q4), .out_o (entry_q10)
  );
  jd_delay #(.Width ($bits(entry_t)), .Cycles (OUT_STAGE - AHEAD_STAGE), .Clear (1'b0))
  u_entry_q13 (
    .clk_i, .rst_ni, .in_i (entry_q10), .out_o (entry_q13)
  );

  // Lines of a slot follow those of the slot before: the address of an entry is that of the one before
  // and a step.
  function automatic logic [ADDRESS_W-1:0] step_of(tile_t tile);
    return tile.half ? ADDRESS_W'(2 * ActLines) : ADDRESS_W'(ActLines);
  endfunction
  function automatic logic [ADDRESS_W-1:0] base_of(tile_t tile);
    return tile.acting ? ACTING : '0;
  endfunction

  // ---- Operands
  logic [ADDRESS_W-1:0]      source, source_q;
  logic                      takes_part;
  logic [Lw-1:0][WORD_W-1:0] act_line, operand_q;
  assign source = !entry_i.opens ? source_q + step_of(entry_i.tile)
                  : base_of(entry_i.tile) + ADDRESS_W'(entry_i.tile.source)
                    + (entry_i.tile.il ? ADDRESS_W'(Index) : '0);
  always_ff @(posedge clk_i) if (entry_valid_i) source_q <= source;
  logic valid_q3, taken_q3, read_q3, read_delta_q3, read_odd_q3;
  assign takes_part = !entry_i.tile.il || TILES_W'(Index) < entry_i.tile.columns;
  jd_delay #(.Width (2), .Cycles (2)) u_valid_q3 (
    .clk_i, .rst_ni, .in_i ({entry_valid_i, read_valid_i}), .out_o ({valid_q3, read_q3})
  );
  jd_delay #(.Width (3), .Cycles (2), .Clear (1'b0)) u_taken_q3 (
    .clk_i, .rst_ni, .in_i ({takes_part, read_delta_i, read_odd_i}),
    .out_o ({taken_q3, read_delta_q3, read_odd_q3})
  );
  logic [1:0][Lw-1:0][WORD_W-1:0] del_line;
  always_ff @(posedge clk_i) begin
    read_valid_o <= rst_ni && read_q3;
    if (valid_q3) operand_q   <= taken_q3 ? act_line : '0;
    if (read_q3)  read_data_o <= read_delta_q3 ? del_line[read_odd_q3] : act_line;
  end

  // ---- Array and accumulator
  logic [Lw-1:0][SumW-1:0]  sums_low, sums_high;
  logic [Lw-1:0][ACC_W-1:0] total_low, total_high;
  logic                     unused_sums_valid, total_valid, unused_drain_valid;
  logic [$clog2(Lw)-1:0]    unused_drain_index;
  logic [Lw-1:0][1:0][ACC_W-1:0] unused_drain;
  jd_qat_array #(.Lw (Lw)) u_array (
    .clk_i, .rst_ni,
    .load_valid_i,
    .load_by_row_i,
    .load_index_i     ($clog2(Lw)'(load_index_i)),
    .load_opens_i,
    .load_line_i,
    .entry_valid_i    (valid_q4),
    .entry_swap_i     (entry_q4.opens && entry_q4.tile.pass != PassDw),
    .entry_half_i     (entry_q4.tile.half),
    .entry_gradient_i (1'b0),
    .entry_opens_i    (entry_q4.opens),
    .entry_closes_i   (entry_q4.closes),
    .entry_row_i      (operand_q),
    .entry_column_i   ('0),
    .sums_valid_o     (unused_sums_valid),
    .sums_low_o       (sums_low),
    .sums_high_o      (sums_high),
    .drain_rows_i     (($clog2(Lw) + 1)'(entry_q4.tile.rows)),
    .drain_valid_o    (unused_drain_valid),
    .drain_index_o    (unused_drain_index),
    .drain_o          (unused_drain)
  );
  jd_qat_accum #(.Lw (Lw), .Entries (Slots + 1)) u_accum (
    .clk_i, .rst_ni,
    .ahead_valid_i (valid_q10),
    .ahead_index_i (EntryW'(entry_q10.index)),
    .ahead_first_i (entry_q10.tile.first),
    .ahead_last_i  (entry_q10.tile.last),
    .sums_low_i    (sums_low),
    .sums_high_i   (sums_high),
    .out_valid_o   (total_valid),
    .out_low_o     (total_low),
    .out_high_o    (total_high)
  );

  // ---- Lanes of all cores
  logic [Lw-1:0][ACC_W-1:0] low_q13, high_q13;
  logic                     il_q12;
  jd_delay #(.Width (1), .Cycles (2), .Clear (1'b0)) u_il (
    .clk_i, .rst_ni, .in_i (entry_q10.tile.il), .out_o (il_q12)
  );
  always_comb begin
    for (int unsigned j = 0; j < Lw; j++) lanes_o[j] = {total_high[j], total_low[j]};
  end
  always_ff @(posedge clk_i) begin
    if (total_valid) begin
      for (int unsigned j = 0; j < Lw; j++) begin
        {high_q13[j], low_q13[j]} <= il_q12 ? lanes_i[j] : lanes_o[j];
      end
    end
  end

  // ---- Output stage
  tile_t                tile_q13;
  logic [VECTORS_W:0]   mine;                       // vectors of this core
  logic                 there, odd_there;
  logic [ADDRESS_W-1:0] sink, sink_q, join_address, join_q;
  assign tile_q13  = entry_q13.tile;
  assign mine      = tile_q13.il ? (VECTORS_W + 1)'(1)
                     : ((VECTORS_W + 1)'(tile_q13.vectors) + (VECTORS_W + 1)'(N - 1 - Index))
                       >> NLog2;
  assign there     = (VECTORS_W + 1)'(entry_q13.index) << tile_q13.half < mine;
  assign odd_there = {2'b0, entry_q13.index, 1'b1} < mine && tile_q13.half;
  assign sink      = entry_q13.opens ? base_of(tile_q13) + ADDRESS_W'(tile_q13.sink)
                                     : sink_q + step_of(tile_q13);
  assign join_address = entry_q13.opens ? ADDRESS_W'(tile_q13.join_line)
                                        : join_q + step_of(tile_q13);
  always_ff @(posedge clk_i) begin
    if (valid_q13) begin
      sink_q <= sink;
      join_q <= join_address;
    end
  end
  assign bias_pop_o = valid_q13 && tile_q13.bias && entry_q13.closes && !clear_i;

  typedef struct packed {
    logic                 counts;     // what it saturates; in IL all cores have the same
    logic                 odd;
    logic                 tanh;
    logic                 delta;
    logic                 joins;
    logic                 joins_only;
    logic                 half;
    logic                 watch;
    logic                 opens;
    logic                 closes;
    logic [ROWS_W-1:0]    words;
    logic [ROWS_W-1:0]    word;
    logic [SHIFT_W-1:0]   down;
    logic [TENSOR_W-1:0]  tensor;
    logic [ADDRESS_W-1:0] sink;
    logic                 odd_slot;
    logic [ADDRESS_W-1:0] join_address;
  } result_t;
  result_t                        result, result_q4, result_q6;
  logic                           wide_valid, line_valid, tail_valid, tail_ready, tail_closes;
  logic                           tail_delta, tail_odd_slot, tail_watch, act_tail_ready;
  logic                           del_tail_ready, tail_seen;
  logic [Lw-1:0]                  tail_mask;
  logic [1:0]                     tail_half;
  logic [$clog2(Lw+1)-1:0]        tail_over;
  logic [1:0][Lw-1:0][WORD_W-1:0] wide_data;
  logic [Lw-1:0][WORD_W-1:0]      line_data, tail_data;
  logic [ADDRESS_W-1:0]           tail_address;
  logic [CountW-1:0]              over_z, over_quantized;
  assign result = '{counts: !tile_q13.il || Index == 0, odd: odd_there,
                    tanh: tile_q13.act == ActTanh, delta: tile_q13.pass == PassDx,
                    joins: tile_q13.joins, joins_only: tile_q13.joins_only, half: tile_q13.half,
                    watch: tile_q13.watch, opens: entry_q13.opens, closes: entry_q13.closes,
                    words: tile_q13.rows, word: tile_q13.word, down: tile_q13.down,
                    tensor: tile_q13.tensor, sink: sink, odd_slot: entry_q13.index[0],
                    join_address: join_address};
  jd_delay #(.Width ($bits(result_t)), .Cycles (4), .Clear (1'b0)) u_result_q4 (
    .clk_i, .rst_ni, .in_i (result), .out_o (result_q4)
  );
  jd_delay #(.Width ($bits(result_t)), .Cycles (OUT_CLOCKS - 4), .Clear (1'b0)) u_result_q6 (
    .clk_i, .rst_ni, .in_i (result_q4), .out_o (result_q6)
  );
  jd_qat_out #(.Lw (Lw)) u_out (
    .clk_i, .rst_ni,
    .in_valid_i       (valid_q13 && there),
    .in_half_i        (tile_q13.half),
    .in_odd_i         (odd_there),
    .in_delta_i       (tile_q13.pass == PassDx),
    .in_relu_i        (tile_q13.act == ActRelu),
    .in_wide_i        (tile_q13.wide),
    .in_quantize_i    (tile_q13.quantize),
    .in_up_i          (tile_q13.up),
    .in_down_i        (tile_q13.down),
    .in_words_i       (tile_q13.rows),
    .in_bias_i        (tile_q13.bias ? bias_line_i : '0),
    .in_low_i         (low_q13),
    .in_high_i        (high_q13),
    .in_positive_i    ('0),
    .wide_valid_o     (wide_valid),
    .wide_data_o      (wide_data),
    .line_valid_o     (line_valid),
    .line_data_o      (line_data),
    .over_z_o         (over_z),
    .over_quantized_o (over_quantized)
  );
  assign over_z_o         = result_q4.counts ? over_z : '0;
  assign over_quantized_o = (result_q6.counts ? over_quantized : '0)
                            + (tail_valid && tail_ready ? CountW'(tail_over) : '0);
  jd_qat_tail #(.Lw (Lw), .Entries (Slots + 1), .Lanes (Lanes)) u_tail (
    .clk_i, .rst_ni,
    .clear_i,
    .idle_o,
    .in_valid_i      (wide_valid),
    .in_odd_i        (result_q4.odd),
    .in_tanh_i       (result_q4.tanh),
    .in_delta_i      (result_q4.delta),
    .in_joins_i      (result_q4.joins),
    .in_joins_only_i (result_q4.joins_only),
    .in_half_i       (result_q4.half),
    .in_watch_i      (result_q4.watch),
    .in_closes_i     (result_q4.closes),
    .in_words_i      (result_q4.words),
    .in_word_i       (result_q4.word),
    .in_down_i       (result_q4.down),
    .in_address_i    (result_q4.sink),
    .in_step_i       (ADDRESS_W'(ActLines)),
    .in_odd_slot_i   (result_q4.odd_slot),
    .in_join_i       (result_q4.join_address),
    .in_data_i       (wide_data),
    .in_mu_i         ('0),
    .out_valid_o     (tail_valid),
    .out_ready_i     (tail_ready),
    .out_closes_o    (tail_closes),
    .out_delta_o     (tail_delta),
    .out_odd_slot_o  (tail_odd_slot),
    .out_address_o   (tail_address),
    .out_mask_o      (tail_mask),
    .out_half_o      (tail_half),
    .out_data_o      (tail_data),
    .out_watch_o     (tail_watch),
    .out_over_o      (tail_over)
  );
  assign tail_ready = tail_delta ? del_tail_ready : act_tail_ready;
  assign tail_seen  = tail_valid && tail_ready && tail_watch;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) written_o <= '0;
    else written_o <= 2'(line_valid && result_q6.opens)
                      + 2'(tail_valid && tail_ready && tail_closes);
  end
  // Lines that a monitor sees have the write port of ACT in turn.
  assign seen_valid_o  = tail_seen || (line_valid && result_q6.watch);
  assign seen_tensor_o = tail_seen ? '0 : result_q6.tensor;
  assign seen_line_o   = tail_seen ? tail_data : line_data;

  // ---- Memories
  logic act_ready, del_ready;
  assign line_ready_o = line_delta_i ? del_ready : act_ready;
  jd_qat_actmem #(.Lw (Lw), .Lines ((Slots + 1) * ActLines)) u_act (
    .clk_i, .rst_ni,
    .read_en_i       (entry_valid_i ? takes_part : read_valid_i && !read_delta_i),
    .read_address_i  (entry_valid_i ? source : read_address_i),
    .read_data_o     (act_line),
    .entry_valid_i   (line_valid),
    .entry_address_i (result_q6.sink),
    .entry_data_i    (line_data),
    .tail_valid_i    (tail_valid && !tail_delta),
    .tail_ready_o    (act_tail_ready),
    .tail_address_i  (tail_address),
    .tail_mask_i     (tail_mask),
    .tail_half_i     (tail_half),
    .tail_data_i     (tail_data),
    .load_valid_i    (line_valid_i && !line_delta_i),
    .load_ready_o    (act_ready),
    .load_address_i  (line_address_i),
    .load_half_i     (line_half_i),
    .load_data_i     (line_data_i)
  );
  jd_qat_delmem #(.Lw (Lw), .Lines (Slots / 2 * DelLines)) u_del (
    .clk_i, .rst_ni,
    .read_en_i       ({read_odd_i, !read_odd_i} & {2{read_valid_i && read_delta_i}}),
    .read_address_i  ({read_address_i, read_address_i}),
    .read_data_o     (del_line),
    .entry_valid_i   (1'b0),
    .entry_half_i    (1'b0),
    .entry_address_i ('0),
    .entry_data_i    ('0),
    .tail_valid_i    (tail_valid && tail_delta),
    .tail_ready_o    (del_tail_ready),
    .tail_half_i     (tail_odd_slot),
    .tail_address_i  (tail_address),
    .tail_data_i     (tail_data),
    .load_valid_i    (line_valid_i && line_delta_i),
    .load_ready_o    (del_ready),
    .load_half_i     (line_odd_i),
    .load_address_i  (line_address_i),
    .load_data_i     (line_data_i)
  );

  logic unused;
  assign unused = ^{unused_sums_valid, unused_drain_valid, unused_drain_index, unused_drain};
  `JD_ASSUME_IF(ReadAlone_M, read_valid_i, !entry_valid_i)
  `JD_ASSERT_NEXT(SumsOnTime_A, total_valid, valid_q13)
endmodule : jd_qat_core
