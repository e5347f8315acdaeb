// SPDX-License-Identifier: Apache-2.0
//
// Walks a network's parameter image: one group of LW words at a time, and where each belongs.
//
// Streams  start_i loads a network; from the next clock a group is shown while active_o, and
//          next_i moves on. The image holds, layer by layer, the packed weight rows and then the
//          biases, each section padded to 16 words; padding groups have an empty mask.
// Timing   one group a clock; outputs are functions of registers only.
// Numbers  a row of n_in <= P inputs takes p = max(4, next power of two) words, so that P/p rows
//          share a memory row; a longer one takes whole memory rows.
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
  input  logic [LMax-1:0][31:0] layers_i,      // n_in 15:0, n_out 31:16 of each; held while active
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
  output logic [RowW:0]         row_end_o,     // behind the last group: first row not used
  output logic [BiasW:0]        bias_end_o     // and first bias not used
);
  localparam int unsigned GROUPS = P / LW;             // groups of a memory row
  localparam int unsigned FILL   = 16 / LW;            // groups of a 64-byte beat
  localparam int unsigned FillW  = $clog2(FILL) > 0 ? $clog2(FILL) : 1;

  if (LW < 1 || LW > 16 || LW > OB || (1 << $clog2(LW)) != LW) begin : gen_bad_lw
    $fatal(1, "jd_learner_walk: LW=%0d, want a power of two 1..16, not above OB=%0d", LW, OB);
  end

  function automatic logic [4:0] log2_up(input logic [15:0] value);
    logic [4:0] result;
    result = 5'd2;
    for (int unsigned k = 2; k < 8; k++) if (value > (16'd1 << k)) result = 5'(k + 1);
    return result;
  endfunction

  logic             active_q, bias_q;
  logic [2:0]       layer_q;
  logic [15:0]      i_q;                   // input of the group's first word
  logic [16:0]      j_q;                   // output of the group's first word
  logic [FillW-1:0] fill_q;                // group within a beat
  logic [RowW:0]    row_q, row_end_q;
  logic [SubW-1:0]  sub_q;
  logic [BiasW:0]   bias_base_q;

  logic [15:0]   n_in, n_out, pitch, i_d;
  logic [4:0]    log2_pitch;
  logic [16:0]   j_d;
  logic          narrow, section_end, row_full;
  logic [RowW:0] row_end_d;
  logic [BiasW:0] bias_end;

  assign n_in  = bias_q ? 16'd1 : layers_i[layer_q][15:0];
  assign n_out = layers_i[layer_q][31:16];

  always_comb begin
    if (bias_q) begin
      log2_pitch = 5'd0;
      pitch      = 16'd1;
    end else if (n_in <= 16'(P)) begin
      log2_pitch = log2_up(n_in);
      pitch      = 16'd1 << log2_pitch;
    end else begin
      log2_pitch = 5'd16;
      pitch      = (n_in + 16'(P - 1)) & ~16'(P - 1);
    end
    narrow = pitch < 16'(LW);
    if (narrow) begin
      i_d = '0;
      j_d = j_q + 17'(17'(LW) >> log2_pitch);
    end else if (i_q + 16'(LW) == pitch) begin
      i_d = '0;
      j_d = j_q + 17'd1;
    end else begin
      i_d = i_q + 16'(LW);
      j_d = j_q;
    end
    for (int unsigned l = 0; l < LW; l++) begin
      mask_o[l] = narrow
          ? (16'(l) & (pitch - 16'd1)) < n_in && j_q + (17'(l) >> log2_pitch) < 17'(n_out)
          : i_q + 16'(l) < n_in && j_q < 17'(n_out);
    end
    section_end = j_d >= 17'(n_out) && fill_q == FillW'(FILL - 1);
    row_full    = sub_q == SubW'(GROUPS - 1);
    row_end_d   = |mask_o && !bias_q ? row_q + 1'b1 : row_end_q;
    bias_end    = bias_base_q
                  + (((BiasW + 1)'(n_out) + (BiasW + 1)'(OB - 1)) & ~(BiasW + 1)'(OB - 1));
  end

  assign active_o     = active_q;
  assign bias_o       = bias_q;
  assign row_o        = row_q;
  assign sub_o        = sub_q;
  assign bias_index_o = bias_base_q + (BiasW + 1)'(j_q);
  assign row_end_o    = row_end_q;
  assign bias_end_o   = bias_base_q;
  assign last_o       = active_q && bias_q && section_end && 8'(layer_q) + 8'd1 == layer_count_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
    end else if (start_i) begin
      active_q <= 1'b1;
    end else if (next_i && last_o) begin
      active_q <= 1'b0;
    end
    if (start_i) begin
      bias_q      <= 1'b0;
      layer_q     <= '0;
      i_q         <= '0;
      j_q         <= '0;
      fill_q      <= '0;
      row_q       <= {1'b0, row_base_i};
      row_end_q   <= {1'b0, row_base_i};
      sub_q       <= '0;
      bias_base_q <= {1'b0, bias_base_i};
    end else if (next_i) begin
      row_end_q <= row_end_d;
      fill_q    <= fill_q == FillW'(FILL - 1) ? '0 : fill_q + 1'b1;
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
        i_q <= i_d;
        j_q <= j_d;
        if (!bias_q) begin
          sub_q <= row_full ? '0 : sub_q + 1'b1;
          row_q <= row_q + (RowW + 1)'(row_full);
        end
      end
    end
  end

  `JD_ASSERT_IF(NextOfActive_A, next_i && !start_i, active_q)
endmodule : jd_learner_walk
