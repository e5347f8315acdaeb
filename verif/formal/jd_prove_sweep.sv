// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_qat_sweep: after a start each line of each layer's weights, and of its biases if it has
// any, is sent to Adam once and in order, with the words that the line has; the command for a range
// comes 4 clocks after the last line of the one before was taken, the first one 3 after the start; idle_o
// comes in the place of a command after the last layer, so it never hangs and owes nothing.
//
// Method       induction. The harness takes commands as jd_qat_grad does, line by line, at any pace,
//              and keeps beside it which line of which range is next.
// Assumptions  layers are those of a table that passed its checks: words from 1 on, as many lines as
//              they need, one layer is the last. They hold until idle_o. Up to MaxP and MaxQ words
//              keep the product of a layer's lines small. Clear comes at any time, to the taker,
//              too, as does reset.
`include "jd_assert.svh"
module jd_prove_sweep
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw     = 4,
  parameter  int unsigned MaxP   = 7,
  parameter  int unsigned MaxQ   = 12,
  localparam int unsigned WordsW = $clog2(Lw + 1)
) (
  input logic                clk_i,
  input logic                rst_ni,
  input logic                clear_i,
  input logic                start_i,
  input layer_t [LAYERS-1:0] layers_i,
  input logic                take_i       // a line is taken, if there is one
);
  logic              idle, valid, ready;
  logic [LINE_W-1:0] line, count, columns;
  logic [WordsW-1:0] words;
  jd_qat_sweep #(.Lw (Lw)) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .start_i,
    .layers_i,
    .idle_o          (idle),
    .sweep_valid_o   (valid),
    .sweep_ready_i   (ready),
    .sweep_line_o    (line),
    .sweep_count_o   (count),
    .sweep_columns_o (columns),
    .sweep_words_o   (words)
  );

  // ---- The taker
  logic [LINE_W-1:0] left_q, line_q, column_q;
  logic              take, row_ends;
  assign ready    = left_q == '0;
  assign take     = take_i && !ready;
  assign row_ends = column_q == columns - 1'b1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i)  left_q <= '0;
    else if (valid && ready) left_q <= count;
    else if (take)           left_q <= left_q - 1'b1;
    if (ready) begin
      line_q   <= line;
      column_q <= '0;
    end else if (take) begin
      line_q   <= line_q + 1'b1;
      column_q <= row_ends ? '0 : column_q + 1'b1;
    end
  end

  // ---- The line that is next
  logic              sends_q, bias_q, range_ends;     // sends: there are lines to come
  logic [1:0]        layer_q;
  logic [LINE_W-1:0] offset_q, total;                 // of its range
  logic [TILES_W-1:0] place_q, lines;                 // of its row
  logic [DIM_W-1:0]  width;
  layer_t            layer;
  assign layer      = layers_i[layer_q];
  assign width      = bias_q ? layer.p : layer.q;
  assign lines      = bias_q ? layer.p_lines : layer.q_lines;
  assign total      = bias_q ? LINE_W'(layer.p_lines)
                             : LINE_W'(layer.p) * LINE_W'(layer.q_lines);
  assign range_ends = offset_q == total - 1'b1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      sends_q <= 1'b0;
    end else if (start_i) begin
      sends_q  <= 1'b1;
      bias_q   <= 1'b0;
      layer_q  <= '0;
      offset_q <= '0;
      place_q  <= '0;
    end else if (take) begin
      offset_q <= range_ends ? '0 : offset_q + 1'b1;
      place_q  <= range_ends || place_q == lines - 1'b1 ? '0 : place_q + 1'b1;
      if (range_ends) begin
        bias_q  <= !bias_q && layer.bias;
        layer_q <= layer_q + 2'(bias_q || !layer.bias);
        sends_q <= !(layer.last && (bias_q || !layer.bias));
      end
    end
  end

  function automatic logic as_checked(layer_t of);
    return of.p != '0 && 32'(of.p) <= MaxP && of.q != '0 && 32'(of.q) <= MaxQ
           && 32'(of.p) <= 32'(of.p_lines) * Lw && 32'(of.p) > (32'(of.p_lines) - 1) * Lw
           && 32'(of.q) <= 32'(of.q_lines) * Lw && 32'(of.q) > (32'(of.q_lines) - 1) * Lw;
  endfunction
  logic last_ahead;                                   // a last layer is there, or to come
  always_comb begin
    last_ahead = 1'b0;
    for (int unsigned k = 0; k < LAYERS; k++) begin
      if (2'(k) >= layer_q && layers_i[k].last) last_ahead = 1'b1;
    end
  end
  for (genvar k = 0; k < LAYERS; k++) begin : gen_layer
    `JD_ASSUME(Checked_M, as_checked(layers_i[k]))
  end
  `JD_ASSUME(OneIsLast_M, layers_i[0].last || layers_i[1].last || layers_i[2].last
             || layers_i[3].last)
  `JD_ASSUME_STABLE(LayersHold_M, !idle, layers_i)

  `JD_ASSERT_IF(InOrder_A, take,
                sends_q && line_q == (bias_q ? layer.bbase : layer.wbase) + offset_q)
  `JD_ASSERT_IF(WordsRight_A, take,
                (row_ends ? 32'(words) : Lw)
                == (place_q == lines - 1'b1 ? 32'(width) - (32'(lines) - 1) * Lw : Lw))
  `JD_ASSERT_IF(NoneBefore_A, valid, ready && sends_q && count == total)
  `JD_ASSERT_IF(AllAtIdle_A, idle, !sends_q && ready)
  `JD_ASSERT_NEXT(Begins_A, start_i && !clear_i, !valid && !idle)
  `JD_ASSERT_NEXT(Ends_A, take && left_q == LINE_W'(1) && !clear_i, ready && !valid && !idle)
  `JD_ASSERT_NEXT(Follows_A, !idle && ready && u_dut.runs_q && !clear_i,
                  !valid && idle == !sends_q)
  `JD_ASSERT_NEXT(Factors_A, !idle && !u_dut.runs_q && !u_dut.counted_q[0] && !clear_i,
                  u_dut.counted_q == 2'b01 && !valid && !idle)
  `JD_ASSERT_NEXT(Counted_A, !idle && !u_dut.runs_q && u_dut.counted_q == 2'b01 && !clear_i, valid)
  `JD_ASSERT_IF(InTurn_A, !idle && !u_dut.runs_q, u_dut.counted_q != 2'b10)
  `JD_ASSERT_IF(Those_A, !idle && !u_dut.runs_q && u_dut.counted_q[0],
                u_dut.rows_q == (bias_q ? DIM_W'(1) : layer.p) && u_dut.columns_q == LINE_W'(lines))
  `JD_ASSERT_IF(LastComes_A, sends_q, last_ahead)

  // The block's place equals the harness's of one clock before.
  logic [1:0] next_layer;
  logic       at_place, next_place;
  assign at_place   = u_dut.layer_q == layer_q && u_dut.bias_q == bias_q;
  assign next_layer = u_dut.layer_q + 2'(u_dut.bias_q || !u_dut.layer.bias);
  assign next_place = sends_q ? next_layer == layer_q
                                && bias_q == (!u_dut.bias_q && u_dut.layer.bias)
                                && !(u_dut.layer.last && (u_dut.bias_q || !u_dut.layer.bias))
                              : u_dut.layer.last && (u_dut.bias_q || !u_dut.layer.bias);
  `JD_ASSERT_IF(AtStart_A, !idle && !u_dut.runs_q, ready && sends_q && at_place
                && offset_q == '0 && place_q == '0)
  `JD_ASSERT_IF(Under_A, !ready, u_dut.runs_q && !idle && sends_q && at_place
                && line_q == (bias_q ? layer.bbase : layer.wbase) + offset_q
                && left_q == total - offset_q && column_q == LINE_W'(place_q)
                && place_q < lines && offset_q < total)
  `JD_ASSERT_IF(Between_A, u_dut.runs_q && ready, next_place && offset_q == '0 && place_q == '0)
  `JD_ASSERT_IF(Busy_A, u_dut.runs_q, !idle)

  TwoLayers_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (idle && $past(!idle && !clear_i) && layer_q == 2'd2 && layers_i[0].bias
       && layers_i[0].q_lines == 9'd2 && layers_i[0].p == 11'd2 && !layers_i[1].bias));
endmodule : jd_prove_sweep
