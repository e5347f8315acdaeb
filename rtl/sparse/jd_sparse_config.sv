// SPDX-License-Identifier: Apache-2.0
//
// Checks a network table, and keeps the layers of the last one that was legal.
//
// Streams  start_i: a table comes, of lines_i lines. line: its lines, the header first; after an error
//          all others are taken, too. done_o is high for one clock after the last one, with the code of
//          the first broken rule (0: none) and its layer. take_i, then: the layers are the table's.
// Timing   A line waits 3 clocks, and 4 for each layer before it.
// Numbers  sizes and places, exact.
// Source   docs/sparse.md (jobs). Golden model: models/sparse/validate.py, check_table.
`include "jd_assert.svh"
module jd_sparse_config
  import jd_sparse_pkg::*;
#(
  parameter int unsigned GMax   = 32,          // as jd_sparse_top
  parameter int unsigned DMax   = 512,
  parameter int unsigned LMax   = 8,
  parameter int unsigned Lanes  = 33,
  parameter int unsigned Slots  = 4,
  parameter int unsigned PWords = 262144,
  parameter int unsigned BWords = 2048,
  parameter int unsigned SWords = 4096,
  parameter int unsigned MRows  = 512
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  input  logic [3:0]          lines_i,         // 2..LMax + 1
  input  logic                line_valid_i,
  output logic                line_ready_o,
  input  logic [15:0][31:0]   line_i,
  output logic                done_o,
  output logic [7:0]          code_o,
  output logic [LAYER_W-1:0]  number_o,
  input  logic                take_i,
  output logic [3:0]          count_o,         // layers
  output layer_t [LAYERS-1:0] layers_o
);
  localparam logic [7:0] E_RESERVED = jd_engine_header_map_pkg::E_RESERVED;
  localparam logic [7:0] E_DIM      = jd_sparse_map_pkg::E_DIM;
  localparam logic [7:0] E_PARAM    = jd_sparse_map_pkg::E_PARAM;
  localparam logic [7:0] E_PROGRAM  = jd_sparse_map_pkg::E_PROGRAM;
  localparam logic [31:0] MAGIC     = 32'h5350_5253;
  localparam int unsigned PLACES    = 4;       // weights, biases, lines of grouping, states
  localparam int unsigned EndW      = 33;      // of a place: its base is any word
  localparam logic [PLACES-1:0][31:0] SIZES = {32'(SWords), 32'(MRows), 32'(BWords), 32'(PWords)};
  // Bits of a layer's words that must be 0; of those above, all.
  localparam logic [6:0][31:0] ZERO = {32'hFFFF_FE00, 32'd0, 32'd0, 32'd0, 32'd0, 32'hFFF0_ECC0,
                                       32'hFC00_FC00};

  // ---- Lines
  typedef enum logic [2:0] {StIdle, StLine, StRules, StSizes, StPlaces, StTaken} state_t;
  state_t              state_q;
  logic [3:0]          left_q;                 // lines, with this one
  logic                header_q;
  logic [LAYER_W-1:0]  number_q;
  logic [15:0][31:0]   words_q;
  layer_t [LAYERS-1:0] new_q;
  logic [3:0]          new_count_q;
  logic [7:0]          code_q;
  logic                failed, compared;
  assign failed       = code_q != '0;
  assign line_ready_o = state_q == StLine;

  // ---- A layer's rules
  layer_t      layer_d;
  logic        reserved, bad_size;
  logic [11:0] split_lanes;                    // of all chains
  logic [31:0] groups, tiles, rows, columns;
  assign rows    = 32'(words_q[0][9:0]);
  assign columns = 32'(words_q[0][25:16]);
  assign groups  = 32'(words_q[1][5:0]);
  assign tiles   = 32'(words_q[1][19:16]);
  always_comb begin
    layer_d = '{m: words_q[0][9:0], n: words_q[0][25:16], groups: words_q[1][5:0],
                split_log2: words_q[1][9:8], tr: words_q[1][12], tiles: words_q[1][19:16],
                w_base: P_WORD_W'(words_q[2]), b_base: B_WORD_W'(words_q[3]),
                g_base: M_LINE_W'(words_q[4]), s_base: S_WORD_W'(words_q[5]),
                dx_from: words_q[6][8:0]};
    reserved = 1'b0;
    for (int unsigned k = 0; k < 16; k++) begin
      if ((words_q[k] & (k < 7 ? ZERO[k%7] : '1)) != '0) reserved = 1'b1;
    end
    split_lanes = 12'(columns) << words_q[1][9:8];
    bad_size    = rows == '0 || rows > DMax || columns == '0 || columns > DMax
                  || groups == '0 || (groups & (groups - 1)) != '0 || groups > GMax
                  || tiles == '0 || tiles > 8 || 32'(words_q[6][8:0]) >= rows;
    if (words_q[1][9:8] != '0) begin
      if (words_q[1][9:8] == 2'd3 || 32'd1 << words_q[1][9:8] > Slots || groups != 32'd1
          || 32'(split_lanes) > Lanes || rows < 32'd1 << words_q[1][9:8]) bad_size = 1'b1;
    end
  end

  // ---- Its places, each compared with those of the layers before
  logic [PLACES-1:0][EndW-1:0] base_q, count_q, end_q;
  logic [PLACES-1:0][EndW-1:0] old_base, old_end;
  logic [LAYERS-1:0][PLACES-1:0][19:0] counts_q;      // of the layers before
  logic [LAYER_W-1:0]          other_q;
  logic                        beyond, overlaps;
  logic [4:0]                  pitch;                 // lines of 64 words of a row
  logic [15:0]                 group_lines;
  function automatic logic [15:0] lines_of(input logic [31:0] count, input logic [31:0] g);
    return (16'(count) * 16'(g) + 16'(GROUP_LINE - 1)) >> $clog2(GROUP_LINE);
  endfunction
  assign pitch       = 5'((columns + 32'(WORD_BANKS - 1)) >> $clog2(WORD_BANKS));
  assign group_lines = (groups == 32'd1) ? '0 : lines_of(rows, groups) + lines_of(columns, groups);
  assign compared    = other_q == number_q;
  always_comb begin
    layer_t other;
    other    = new_q[other_q];
    old_base = {EndW'(other.s_base), EndW'(other.g_base), EndW'(other.b_base),
                EndW'(other.w_base)};
    beyond   = base_q[0][5:0] != '0;
    overlaps = 1'b0;
    for (int unsigned k = 0; k < PLACES; k++) begin
      old_end[k] = old_base[k] + EndW'(counts_q[other_q][k]);
      if (end_q[k] > EndW'(SIZES[k])) beyond = 1'b1;
      if (count_q[k] != '0 && counts_q[other_q][k] != '0 && base_q[k] < old_end[k]
          && old_base[k] < end_q[k]) overlaps = 1'b1;
    end
  end
  always_ff @(posedge clk_i) begin
    if (state_q == StRules) begin
      base_q  <= {EndW'(words_q[5]), EndW'(words_q[4]), EndW'(words_q[3]), EndW'(words_q[2])};
      count_q <= {EndW'(groups == 32'd1 ? '0 : rows + columns), EndW'(group_lines),
                  EndW'(columns), EndW'(14'(rows) * 14'(pitch)) << $clog2(WORD_BANKS)};
    end
    for (int unsigned k = 0; k < PLACES; k++) end_q[k] <= base_q[k] + count_q[k];
  end

  // ---- The course of a table
  logic       ends_line;
  logic [7:0] code;
  always_comb begin
    code      = '0;
    ends_line = 1'b0;
    unique case (state_q)
      StRules: begin
        if (failed) begin
          ends_line = 1'b1;
        end else if (header_q) begin
          ends_line = 1'b1;
          if (words_q[0] != MAGIC)                                code = E_PROGRAM;
          else if (words_q[1][31:4] != '0 || words_q[15:2] != '0) code = E_RESERVED;
          else if (words_q[1][3:0] + 4'd1 != left_q)              code = E_DIM;
        end else if (reserved || bad_size) begin
          ends_line = 1'b1;
          code      = reserved ? E_RESERVED : E_DIM;
        end
      end
      StPlaces: begin
        ends_line = compared;
        if (beyond || (overlaps && !compared)) begin
          ends_line = 1'b1;
          code      = E_PARAM;
        end
      end
      default: ;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StLine:   if (line_valid_i) state_q <= StRules;
        StRules:  state_q <= ends_line ? StTaken : StSizes;
        StSizes:  state_q <= StPlaces;
        StPlaces: if (ends_line) state_q <= StTaken;
        StTaken:  state_q <= left_q == 4'd1 ? StIdle : StLine;
        default:  state_q <= StIdle;
      endcase
      if (start_i) state_q <= StLine;
    end
    done_o <= rst_ni && !start_i && state_q == StTaken && left_q == 4'd1;
    if (start_i) begin
      left_q   <= lines_i;
      header_q <= 1'b1;
      code_q   <= '0;
      number_q <= '0;
    end else if (state_q == StTaken) begin
      left_q   <= left_q - 1'b1;
      header_q <= 1'b0;
      if (!header_q && !failed) begin
        new_q[number_q] <= layer_d;
        for (int unsigned k = 0; k < PLACES; k++) counts_q[number_q][k] <= 20'(count_q[k]);
        number_q        <= number_q + 1'b1;
      end
    end else if (!failed && ends_line) begin
      code_q <= code;
    end
    if (state_q == StLine && line_valid_i) words_q <= line_i;
    if (state_q == StTaken && header_q)    new_count_q <= words_q[1][3:0];
    other_q <= (state_q == StPlaces) ? other_q + 1'b1 : '0;
    if (!rst_ni)     count_o <= '0;
    else if (take_i) count_o <= new_count_q;
    if (take_i) layers_o <= new_q;
  end
  assign code_o   = code_q;
  assign number_o = number_q;

  `JD_ASSUME_IF(LinesInRange_M, start_i, lines_i >= 4'd2 && 32'(lines_i) <= LMax + 1)
endmodule : jd_sparse_config
