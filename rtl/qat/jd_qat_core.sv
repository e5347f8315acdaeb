// SPDX-License-Identifier: Apache-2.0
//
// An adaptive array core: the activations and deltas of its vectors, the array, the accumulators,
// and the output stage that writes results back.
//
//   FW  entry -> ACT -> array -> accumulator -> sums of other cores (IL) -> output stage -+-> ACT
//       weights ----------^                                                               +-> tail -> ACT
//   dX  entry -> DEL -> array -> accumulator -> output stage -+-> DEL
//           \-> ACT -> positive ------------------^           +-> tail, of the action -> DEL
//   dW  entry -> ACT, DEL -> array -> drained columns
//                     DEL -> sums of deltas
//
// Streams  entry_*: entries of tiles. load_*: lines of weights, 3 clocks after their request.
//          line_*, read_*: lines that are moved into and out of slots. seen_*: for the monitors.
//          drain_*, bias_*: results of dW, for jd_qat_grad. Entries, weights and the results of dW
//          are pipes: none of their receivers can stall.
// Timing   as in jd_qat_pkg: a result is in ACT or DEL 19 clocks after its entry. written_o counts
//          the output tiles that can be read: it moves with a tile's first line, or for the tail
//          with the line of its last vector; whole_o moves with a tile's last line. After the entry
//          that closes a tile of dW, the sums of deltas show 5 clocks later, the first column 7
//          clocks later, and then one column per clock. A line that is read from a slot shows 3
//          clocks after read_valid_i, in whose clock no entry may come.
// Numbers  those of its blocks.
//          Vector v of a pass is in core v mod N, slot v / N. If all cores hold all vectors, it is
//          in slot v, and core p mod N computes dX and dW of pair p. In half mode two slots share
//          the line of the even slot, but not for deltas. All cores hold the acting slot's vector.
//          In IL all cores take the same vectors and different columns in turn, and their lanes are
//          added before rounding. Else each core computes the acting slot completely.
//          The derivative of ReLU is 1 where the stored activation is positive. bias_sums_o: exact
//          sums of all deltas of a tile with `bias`. Missing vectors count as 0 in dW.
// Source   FIXAR V-A (adaptive array processing core); docs/qat.md. Golden models:
//          models/qat/array.py, models/qat/ops.py.
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
  output logic [1:0]                      whole_o,
  // Bias lines, for all cores alike
  input  logic [Lw-1:0][WORD_W-1:0]       bias_line_i,
  output logic                            bias_pop_o,
  // Lanes: this core's, and the sum of all
  output logic [Lw-1:0][1:0][ACC_W-1:0]   lanes_o,
  input  logic [Lw-1:0][1:0][ACC_W-1:0]   lanes_i,
  // dW: columns that are drained, and sums of deltas
  output logic                            drain_valid_o,
  output logic                            drain_opens_o,   // the first of its tile
  output logic [Lw-1:0][1:0][ACC_W-1:0]   drain_sums_o,
  output logic                            bias_valid_o,
  output logic [Lw-1:0][DELTA_W-1:0]      bias_sums_o,
  // The actor's last line of the acting slot
  output logic                            mu_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]       mu_o,
  // Monitor and saturations
  output logic                            seen_valid_o,
  output logic [TENSOR_W-1:0]             seen_tensor_o,
  output logic [Lw-1:0][WORD_W-1:0]       seen_line_o,
  output logic [CountW-1:0]               over_z_o,
  output logic [CountW-1:0]               over_delta_o,
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
    .clk_i, .rst_ni, .in_i (valid_q4 && entry_q4.tile.pass != PassDw), .out_o (valid_q10)
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
  // and a step. Two slots share a line of DEL, one in each half, and in half mode one of ACT.
  function automatic logic [ADDRESS_W-1:0] step_of(entry_t entry);
    logic [ADDRESS_W-1:0] pair;
    pair = ADDRESS_W'(has_pairs(entry.tile) ? 2 * N * ActLines : 2 * ActLines);
    if (!entry.tile.half || entry.tile.action) begin
      return entry.index[0] ? ADDRESS_W'(ActLines) : pair - ADDRESS_W'(ActLines);
    end
    return paired(entry.tile) || !entry.index[0] ? pair : '0;
  endfunction
  function automatic logic [ADDRESS_W-1:0] delta_step_of(entry_t entry);
    if (!paired(entry.tile) && entry.index[0]) return '0;
    return ADDRESS_W'(has_pairs(entry.tile) ? N * DelLines : DelLines);
  endfunction
  function automatic logic [ADDRESS_W-1:0] base_of(tile_t tile);
    return ADDRESS_W'(has_pairs(tile) ? 2 * Index * ActLines : 0);
  endfunction
  function automatic logic [ADDRESS_W-1:0] delta_base_of(tile_t tile);
    return ADDRESS_W'(has_pairs(tile) ? Index * DelLines : 0);
  endfunction
  // The acting slot's entry, which all cores have: a vector, never one of a pair.
  function automatic logic is_acting(entry_t entry);
    return entry.tile.acting && entry.closes;
  endfunction
  // The core has the vector: of an entry the only or the even one, or the odd one.
  function automatic logic has(entry_t entry, logic odd);
    logic [VECTORS_W:0] mine, vector;
    mine = paired(entry.tile) ? {2'b0, entry.index, odd} : {3'b0, entry.index};
    if (entry.tile.il)              vector = mine;
    else if (has_pairs(entry.tile)) vector = (VECTORS_W + 1)'(32'(mine[VECTORS_W:1]) * 2 * N
                                                              + 2 * Index + 32'(mine[0]));
    else                            vector = (VECTORS_W + 1)'(32'(mine) * N + Index);
    return is_acting(entry) ? !odd
           : vector < {1'b0, entry.tile.vectors} && (!odd || paired(entry.tile));
  endfunction

  // ---- Operands: 1 addresses | 3 lines | 4 operands
  logic                           dx, dw, odd_slot;
  logic [ADDRESS_W-1:0]           column, source, source_q, delta, delta_q;
  logic                           takes_part, reads_act;
  logic [1:0]                     reads_del;
  logic [Lw-1:0][WORD_W-1:0]      act_line, operand_q;
  logic [1:0][Lw-1:0][WORD_W-1:0] del_line, deltas_q;
  assign dx       = entry_i.tile.pass == PassDx;
  assign dw       = entry_i.tile.pass == PassDw;
  assign odd_slot = entry_i.index[0];
  assign column   = entry_i.tile.il ? ADDRESS_W'(Index) : '0;
  assign source = is_acting(entry_i) ? ACTING + ADDRESS_W'(entry_i.tile.state) + column
                  : entry_i.opens ? base_of(entry_i.tile) + ADDRESS_W'(entry_i.tile.source) + column
                                  : source_q + step_of(entry_i);
  assign delta  = entry_i.opens ? delta_base_of(entry_i.tile) + ADDRESS_W'(entry_i.tile.delta)
                                : delta_q + delta_step_of(entry_i);
  always_ff @(posedge clk_i) begin
    if (entry_valid_i) begin
      source_q <= source;
      delta_q  <= delta;
    end
  end
  // Of dX the line of ACT is read with the last inner tile: it decides the derivative.
  assign takes_part = !entry_i.tile.il || TILES_W'(Index) < entry_i.tile.columns;
  assign reads_act  = dx ? entry_i.tile.last && (entry_i.tile.act == ActRelu || entry_i.tile.action)
                         : takes_part;
  always_comb begin
    reads_del = '0;
    if (entry_valid_i && (dx || dw)) begin
      reads_del = paired(entry_i.tile) ? 2'b11 : {odd_slot, !odd_slot};
    end else if (read_valid_i && read_delta_i) begin
      reads_del = {read_odd_i, !read_odd_i};
    end
  end
  typedef struct packed {
    logic       takes_part;
    logic       dx;
    logic       dw;
    logic       half;
    logic       odd_slot;
    logic [1:0] has;
    logic       read_delta;
    logic       read_odd;
  } operand_t;
  operand_t operand, operand_q3;
  logic     valid_q3, read_q3;
  assign operand = '{takes_part: takes_part, dx: dx, dw: dw, half: entry_i.tile.half,
                     odd_slot: odd_slot, has: {has(entry_i, 1'b1), has(entry_i, 1'b0)},
                     read_delta: read_delta_i, read_odd: read_odd_i};
  jd_delay #(.Width (2), .Cycles (2)) u_valid_q3 (
    .clk_i, .rst_ni, .in_i ({entry_valid_i, read_valid_i}), .out_o ({valid_q3, read_q3})
  );
  jd_delay #(.Width ($bits(operand_t)), .Cycles (2), .Clear (1'b0)) u_operand_q3 (
    .clk_i, .rst_ni, .in_i (operand), .out_o (operand_q3)
  );
  always_ff @(posedge clk_i) begin
    read_valid_o <= rst_ni && read_q3;
    if (valid_q3) begin
      operand_q <= operand_q3.dx ? del_line[operand_q3.odd_slot]
                   : operand_q3.takes_part ? act_line : '0;
    end
    // dW: deltas of both lanes; of vectors that are not there 0.
    if (valid_q3 && operand_q3.dw) begin
      if (operand_q3.half) begin
        for (int unsigned k = 0; k < 2; k++) deltas_q[k] <= operand_q3.has[k] ? del_line[k] : '0;
      end else begin
        deltas_q <= operand_q3.has[0] ? {2{del_line[operand_q3.odd_slot]}} : '0;
      end
    end
    if (read_q3) read_data_o <= operand_q3.read_delta ? del_line[operand_q3.read_odd] : act_line;
  end

  // dX: whether stored activations are positive, and the stored action, when their results are rounded
  localparam int unsigned RESULT_STAGE = OUT_STAGE + 4;
  logic [Lw-1:0]             positive_q3, positive_q17;
  logic [Lw-1:0][WORD_W-1:0] mu_q17;
  always_comb begin
    for (int unsigned j = 0; j < Lw; j++) begin
      automatic logic signed [WORD_W-1:0] word;
      word = act_line[j];
      if (operand_q3.half) begin                   // of two vectors
        word = operand_q3.odd_slot ? WORD_W'($signed(act_line[j][WORD_W-1:HALF_W]))
                                   : WORD_W'($signed(act_line[j][HALF_W-1:0]));
      end
      positive_q3[j] = word > 0;
    end
  end
  jd_delay #(.Width (Lw), .Cycles (RESULT_STAGE - 3), .Clear (1'b0)) u_positive (
    .clk_i, .rst_ni, .in_i (positive_q3), .out_o (positive_q17)
  );
  jd_delay #(.Width (Lw * WORD_W), .Cycles (RESULT_STAGE - 3), .Clear (1'b0)) u_mu (
    .clk_i, .rst_ni, .in_i (act_line), .out_o (mu_q17)
  );

  // dW: sums of a tile's deltas
  logic                               pair_valid_q5, opens_q5, closes_q5;
  logic [Lw-1:0][WORD_W:0]            pair_q5;
  always_ff @(posedge clk_i) begin
    pair_valid_q5 <= rst_ni && valid_q4 && entry_q4.tile.pass == PassDw && entry_q4.tile.bias;
    opens_q5      <= entry_q4.opens;
    closes_q5     <= entry_q4.closes;
    bias_valid_o  <= rst_ni && pair_valid_q5 && closes_q5;
    for (int unsigned j = 0; j < Lw; j++) begin
      pair_q5[j] <= (WORD_W + 1)'($signed(deltas_q[0][j]))
                    + (entry_q4.tile.half ? (WORD_W + 1)'($signed(deltas_q[1][j])) : '0);
      if (pair_valid_q5) begin
        bias_sums_o[j] <= (opens_q5 ? '0 : bias_sums_o[j]) + DELTA_W'($signed(pair_q5[j]));
      end
    end
  end

  // ---- Array and accumulator
  logic [Lw-1:0][SumW-1:0]  sums_low, sums_high;
  logic [Lw-1:0][ACC_W-1:0] total_low, total_high;
  logic                     unused_sums_valid, total_valid;
  logic [$clog2(Lw)-1:0]    drain_index;
  jd_qat_array #(.Lw (Lw)) u_array (
    .clk_i, .rst_ni,
    .load_valid_i,
    .load_by_row_i,
    .load_index_i     ($clog2(Lw)'(load_index_i)),
    .load_opens_i,
    .load_line_i,
    .entry_valid_i    (valid_q4),
    .entry_swap_i     (entry_q4.opens && entry_q4.tile.pass != PassDw),
    .entry_half_i     (paired(entry_q4.tile)),
    .entry_gradient_i (entry_q4.tile.pass == PassDw),
    .entry_opens_i    (entry_q4.opens),
    .entry_closes_i   (entry_q4.closes),
    .entry_row_i      (operand_q),
    .entry_column_i   (deltas_q),
    .sums_valid_o     (unused_sums_valid),
    .sums_low_o       (sums_low),
    .sums_high_o      (sums_high),
    .drain_rows_i     (($clog2(Lw) + 1)'(entry_q4.tile.rows)),
    .drain_valid_o,
    .drain_index_o    (drain_index),
    .drain_o          (drain_sums_o)
  );
  assign drain_opens_o = drain_index == '0;
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
  logic                 delta_q13, odd_there;
  logic [ADDRESS_W-1:0] sink, sink_base, sink_q, join_address, join_q;
  assign tile_q13  = entry_q13.tile;
  assign delta_q13 = tile_q13.pass == PassDx;
  assign odd_there = has(entry_q13, 1'b1);
  assign sink_base = delta_q13 ? delta_base_of(tile_q13) : base_of(tile_q13);
  assign sink      = is_acting(entry_q13) ? ACTING + ADDRESS_W'(tile_q13.sink)
                     : entry_q13.opens ? sink_base + ADDRESS_W'(tile_q13.sink)
                     : sink_q + (delta_q13 ? delta_step_of(entry_q13) : step_of(entry_q13));
  assign join_address = entry_q13.opens ? ADDRESS_W'(tile_q13.join_line)
                                        : join_q + step_of(entry_q13);
  always_ff @(posedge clk_i) begin
    if (valid_q13) begin
      sink_q <= sink;
      join_q <= join_address;
    end
  end
  assign bias_pop_o = valid_q13 && tile_q13.bias && entry_q13.closes && !clear_i;

  typedef struct packed {
    logic                 counts;     // what it saturates; of what all cores make, in the first
    logic                 acting;
    logic                 odd;        // there are two vectors
    logic                 delta;      // of dX
    logic                 odd_slot;
    logic                 tanh;
    logic                 joins;
    logic                 joins_only;
    logic                 half;
    logic                 watch;
    logic                 opens;
    logic                 closes;
    logic [ROWS_W-1:0]    words;
    logic [ROWS_W-1:0]    word;       // of the line, at which an action begins
    logic [SHIFT_W-1:0]   down;
    logic [TENSOR_W-1:0]  tensor;
    logic [ADDRESS_W-1:0] sink;
    logic [ADDRESS_W-1:0] join_address;
  } result_t;
  result_t                        result, result_q4, result_q6;
  logic                           wide_valid, line_valid, tail_valid, tail_ready, tail_closes;
  logic                           tail_delta, tail_odd_slot, tail_watch, tail_seen, tail_acting;
  logic                           act_tail_ready, del_tail_ready, joined_counts_q;
  logic [Lw-1:0]                  tail_mask;
  logic [1:0]                     tail_half;
  logic [$clog2(Lw+1)-1:0]        tail_over;
  logic [1:0][Lw-1:0][WORD_W-1:0] wide_data;
  logic [Lw-1:0][WORD_W-1:0]      line_data, tail_data;
  logic [ADDRESS_W-1:0]           tail_address;
  logic [CountW-1:0]              over_z, over_quantized;
  assign result = '{counts: !(is_acting(entry_q13) || tile_q13.il) || Index == 0,
                    acting: is_acting(entry_q13), odd: odd_there, delta: delta_q13,
                    odd_slot: entry_q13.index[0], tanh: tile_q13.act == ActTanh,
                    joins: tile_q13.joins && !is_acting(entry_q13),
                    joins_only: tile_q13.joins_only, half: tile_q13.half,
                    watch: tile_q13.watch, opens: entry_q13.opens, closes: entry_q13.closes,
                    words: tile_q13.words, word: delta_q13 ? tile_q13.word : tile_q13.join_word,
                    down: tile_q13.down, tensor: tile_q13.tensor, sink: sink,
                    join_address: join_address};
  jd_delay #(.Width ($bits(result_t)), .Cycles (4), .Clear (1'b0)) u_result_q4 (
    .clk_i, .rst_ni, .in_i (result), .out_o (result_q4)
  );
  jd_delay #(.Width ($bits(result_t)), .Cycles (OUT_CLOCKS - 4), .Clear (1'b0)) u_result_q6 (
    .clk_i, .rst_ni, .in_i (result_q4), .out_o (result_q6)
  );
  jd_qat_out #(.Lw (Lw)) u_out (
    .clk_i, .rst_ni,
    .in_valid_i       (valid_q13 && has(entry_q13, 1'b0) && !tile_q13.drops),
    .in_half_i        (paired(tile_q13)),
    .in_odd_i         (odd_there),
    .in_delta_i       (delta_q13),
    .in_relu_i        (tile_q13.act == ActRelu),
    .in_wide_i        (tile_q13.wide),
    .in_quantize_i    (tile_q13.quantize),
    .in_up_i          (tile_q13.up),
    .in_down_i        (tile_q13.down),
    .in_words_i       (tile_q13.words),
    .in_word_i        (tile_q13.word),
    .in_bias_i        (tile_q13.bias ? bias_line_i : '0),
    .in_low_i         (low_q13),
    .in_high_i        (high_q13),
    .in_positive_i    (positive_q17),
    .wide_valid_o     (wide_valid),
    .wide_data_o      (wide_data),
    .line_valid_o     (line_valid),
    .line_data_o      (line_data),
    .over_z_o         (over_z),
    .over_quantized_o (over_quantized)
  );
  assign over_z_o         = result_q4.counts && !result_q4.delta ? over_z : '0;
  assign over_delta_o     = result_q4.delta ? over_z : '0;
  assign over_quantized_o = (result_q6.counts ? over_quantized : '0)
                            + (tail_valid && tail_ready && joined_counts_q ? CountW'(tail_over)
                                                                           : '0);
  // Joined lines of a job are all alike.
  always_ff @(posedge clk_i) begin
    if (wide_valid && result_q4.joins) joined_counts_q <= result_q4.counts;
  end
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
    .in_acting_i     (result_q4.acting),
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
    .in_mu_i         (mu_q17),
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
    .out_over_o      (tail_over),
    .out_acting_o    (tail_acting)
  );
  assign tail_ready = tail_delta ? del_tail_ready : act_tail_ready;
  assign tail_seen  = tail_valid && tail_ready && tail_watch;
  assign mu_valid_o = tail_valid && tail_ready && tail_acting;
  assign mu_o       = tail_data;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      written_o <= '0;
      whole_o   <= '0;
    end else begin
      written_o <= 2'(line_valid && result_q6.opens) + 2'(tail_valid && tail_ready && tail_closes);
      whole_o   <= 2'(line_valid && result_q6.closes)
                   + 2'(tail_valid && tail_ready && tail_closes);
    end
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
    .read_en_i       (entry_valid_i ? reads_act : read_valid_i && !read_delta_i),
    .read_address_i  (entry_valid_i ? source : read_address_i),
    .read_data_o     (act_line),
    .entry_valid_i   (line_valid && !result_q6.delta),
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
    .read_en_i       (reads_del),
    .read_address_i  ({2{entry_valid_i ? delta : read_address_i}}),
    .read_data_o     (del_line),
    .entry_valid_i   (line_valid && result_q6.delta),
    .entry_half_i    (result_q6.odd_slot),
    .entry_address_i (result_q6.sink),
    .entry_data_i    (line_data),
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
  assign unused = unused_sums_valid;
  `JD_ASSUME_IF(ReadAlone_M, read_valid_i, !entry_valid_i)
  `JD_ASSERT_NEXT(SumsOnTime_A, total_valid, valid_q13)
endmodule : jd_qat_core
