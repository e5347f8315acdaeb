// SPDX-License-Identifier: Apache-2.0
//
// Goes through a network's parameter image, one group of LW words at a time, and says where each
// group belongs.
//
// Streams  start_i loads a network. From the next clock on a group is shown while active_o is high,
//          and next_i moves on. The image holds, layer by layer, the packed weight rows and then
//          the biases; each section is padded to 16 words. Padding groups have an empty mask.
// Timing   One group per clock; outputs are functions of registers only.
// Numbers  a row of n_in <= P inputs takes p = max(4, next power of two) words, so P/p rows share a
//          memory row; a longer row takes whole memory rows.
// Source   Golden model: models/learner/program.py (image layout).
`include "jd_assert.svh"
module jd_learner_walk #(
  parameter  int unsigned P      = 16,    // words of a memory row, power of two 8..128
  parameter  int unsigned OB     = 4,     // biases of a bias row, power of two, >= LW
  parameter  int unsigned LW     = 4,     // words of a group, power of two 1..16, <= P
  parameter  int unsigned LMax   = 4,     // layers, 1..6
  parameter  int unsigned RowW   = 10,    // bits of a weight row
  parameter  int unsigned BiasW  = 12,    // bits of a bias word's index
  localparam int unsigned SubW   = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  start_i,
  input  logic [LMax-1:0][31:0] layers_i,      // n_in 15:0, n_out 31:16; held from start_i on
  input  logic [7:0]            layer_count_i, // 1..LMax
  input  logic [RowW-1:0]       row_base_i,
  input  logic [BiasW-1:0]      bias_base_i,
  input  logic                  next_i,
  output logic                  active_o,
  output logic                  last_o,        // the last group of the image
  output logic                  bias_o,        // a group of biases, else of weights
  output logic [RowW:0]         row_o,         // weight row of the group
  output logic [SubW-1:0]       sub_o,         // place in that row, in groups
  output logic [BiasW:0]        bias_index_o,  // bias of the group's first word
  output logic [LW-1:0]         mask_o,        // words that are no padding
  output logic [RowW:0]         row_end_o,     // after the last group: first row not used
  output logic [BiasW:0]        bias_end_o     // and first bias not used
);
  localparam int unsigned LANE_L = $clog2(P);
  localparam int unsigned GROUPS = P / LW;             // groups of a memory row
  localparam int unsigned FILL   = 16 / LW;            // groups of a 64-byte beat
  localparam int unsigned FillW  = $clog2(FILL) > 0 ? $clog2(FILL) : 1;

  if (LW < 1 || LW > 16 || LW > OB || (1 << $clog2(LW)) != LW) begin : gen_bad_lw
    $fatal(1, "jd_learner_walk: LW=%0d, want a power of two 1..16, not above OB=%0d", LW, OB);
  end

  // Lanes of a row less one, at most P - 1.
  function automatic logic [LANE_L-1:0] lanes_of(input logic [15:0] n_in);
    logic [LANE_L-1:0] result;
    result = LANE_L'(3);
    for (int unsigned k = 2; k < LANE_L; k++) result[k] = n_in > 16'(1 << k);
    return result;
  endfunction
  // log2 of a row's lanes, where a group has several rows.
  function automatic logic [2:0] log2_of(input logic [LANE_L-1:0] lanes);
    logic [2:0] result;
    result = 3'd2;
    if (lanes[2]) result = 3'd3;
    return result;
  endfunction

  logic             active_q, bias_q;
  logic [2:0]       layer_q;
  logic [15:0]      i_q;                   // input of the group's first word, a multiple of LW
  logic [16:0]      j_q, next_j_q;         // output of the group's first word, of the next row's
  logic [FillW-1:0] fill_q;                // group within a beat
  logic             fill_last_q;           // it is the beat's last
  logic             layer_last_q;          // layer_q is the last, one clock late: see below
  logic [RowW:0]    row_q, row_end_q;
  logic [SubW-1:0]  sub_q;
  logic [BiasW:0]   bias_base_q;

  // The section's sizes are registers. A layer has two sections of one clock at least, so that the
  // layer after it is there, too, when its biases end.
  logic [15:0]       n_in_q, n_out_q;
  logic [LANE_L-1:0] lanes_q;              // lanes of a row less one: below LW several a group
  logic [2:0]        log2_lanes_q;         // of a narrow section
  logic [4:0]        step_q;               // rows of a group, or 1
  logic              narrow_q, single_q;   // a group has several rows; a row has one group
  logic              row_last_q;           // the group is its row's last
  logic              past_q, next_past_q;  // j_q, next_j_q are after the last output
  logic [31:0]       next_layer_q, layer;
  logic [LANE_L-1:0] lanes;
  logic [4:0]        step;
  logic              narrow, single;
  assign layer  = start_i ? layers_i[0] : next_layer_q;
  assign lanes  = lanes_of(layer[15:0]);
  assign narrow = LW > 1 && (lanes & LANE_L'(LW / 2)) == '0;
  assign single = (lanes & ~LANE_L'(LW - 1)) == '0 && layer[15:0] <= 16'(P);
  assign step   = narrow ? 5'(5'(LW) >> log2_of(lanes)) : 5'd1;

  logic           section_end, row_full;
  logic [15:0]    after_next_i;
  logic [16:0]    after_next_j;
  logic [RowW:0]  row_end_d;
  logic [BiasW:0] bias_end;
  always_comb begin
    // Multiples of LW, and of a group's rows, have zeros where a word's number is put.
    for (int unsigned l = 0; l < LW; l++) begin
      mask_o[l] = (i_q | 16'(l)) < n_in_q && !past_q;
      if (narrow_q) begin
        mask_o[l] = 16'(LANE_L'(l) & lanes_q) < n_in_q
                    && (j_q | 17'(l >> log2_lanes_q)) < 17'(n_out_q);
      end
    end
    section_end  = (row_last_q ? next_past_q : past_q) && fill_last_q;
    row_full     = sub_q == SubW'(GROUPS - 1);
    row_end_d    = !past_q && !bias_q ? row_q + 1'b1 : row_end_q;   // no row begins with padding
    bias_end     = bias_base_q
                   + (((BiasW + 1)'(n_out_q) + (BiasW + 1)'(OB - 1)) & ~(BiasW + 1)'(OB - 1));
    after_next_i = i_q + 16'(2 * LW);
    after_next_j = next_j_q + 17'(step_q);
  end

  assign active_o     = active_q;
  assign bias_o       = bias_q;
  assign row_o        = row_q;
  assign sub_o        = sub_q;
  assign bias_index_o = bias_base_q + (BiasW + 1)'(j_q);
  assign row_end_o    = row_end_q;
  assign bias_end_o   = bias_base_q;
  assign last_o       = active_q && bias_q && section_end && layer_last_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
    end else if (start_i) begin
      active_q <= 1'b1;
    end else if (next_i && last_o) begin
      active_q <= 1'b0;
    end
    next_layer_q <= layers_i[layer_q + 3'd1];
    layer_last_q <= 8'(layer_q) + 8'd1 == layer_count_i;
    if (start_i || (next_i && section_end && bias_q)) begin
      n_in_q       <= layer[15:0];
      n_out_q      <= layer[31:16];
      lanes_q      <= lanes;
      log2_lanes_q <= log2_of(lanes);
      step_q       <= step;
      narrow_q     <= narrow;
      single_q     <= single;
      row_last_q   <= single;
      next_j_q     <= 17'(step);
      past_q       <= 1'b0;
      next_past_q  <= layer[31:16] <= 16'(step);
    end else if (next_i && section_end) begin
      n_in_q       <= 16'd1;
      lanes_q      <= '0;
      log2_lanes_q <= '0;
      step_q       <= 5'(LW);
      narrow_q     <= LW > 1;
      single_q     <= 1'b1;
      row_last_q   <= 1'b1;
      next_j_q     <= 17'(LW);
      past_q       <= 1'b0;
      next_past_q  <= n_out_q <= 16'(LW);
    end else if (next_i && row_last_q) begin
      row_last_q   <= single_q;
      next_j_q     <= after_next_j;
      past_q       <= next_past_q;
      next_past_q  <= after_next_j >= 17'(n_out_q);
    end else if (next_i) begin
      row_last_q   <= (after_next_i & 16'(lanes_q)) == '0 && after_next_i >= n_in_q;
    end
    if (start_i) begin
      bias_q      <= 1'b0;
      layer_q     <= '0;
      i_q         <= '0;
      j_q         <= '0;
      fill_q      <= '0;
      fill_last_q <= FILL == 1;
      row_q       <= {1'b0, row_base_i};
      row_end_q   <= {1'b0, row_base_i};
      sub_q       <= '0;
      bias_base_q <= {1'b0, bias_base_i};
    end else if (next_i) begin
      row_end_q   <= row_end_d;
      fill_q      <= fill_last_q ? '0 : fill_q + 1'b1;
      fill_last_q <= FILL == 1 || fill_q == FillW'(FILL - 2);
      if (section_end) begin
        i_q    <= '0;
        j_q    <= '0;
        sub_q  <= '0;
        row_q  <= row_end_d;
        bias_q <= !bias_q;
        if (bias_q) begin
          bias_base_q <= bias_end;
          layer_q     <= layer_q + 3'd1;
        end
      end else begin
        i_q <= row_last_q ? '0 : i_q + 16'(LW);
        if (row_last_q) j_q <= next_j_q;
        if (!bias_q) begin
          sub_q <= row_full ? '0 : sub_q + 1'b1;
          row_q <= row_q + (RowW + 1)'(row_full);
        end
      end
    end
  end

  `JD_ASSERT_IF(FillLast_A, active_q, fill_last_q == (fill_q == FillW'(FILL - 1)))
  `JD_ASSERT_IF(LayerLast_A, active_q && bias_q,
                layer_last_q == (8'(layer_q) + 8'd1 == layer_count_i))
  `JD_ASSERT_IF(NextOfActive_A, next_i && !start_i, active_q)
endmodule : jd_learner_walk
