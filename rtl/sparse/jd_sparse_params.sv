// SPDX-License-Identifier: Apache-2.0
//
// The parameter memory: weights with their mean squares, in 64 banks.
//
//   word (m, n) of a layer: bank (m + n) mod 64, line (base + m * pitch + n) / 64
//
// Streams  put_*: a beat of an image, up to 16 words from bank put_first_i on, around the end of the
//          line; get_*: the same to read. gather_*: two words of each bank for jd_sparse_lau, which
//          nothing else may read meanwhile.
// Timing   A beat per clock. get_data_o comes two clocks after get_i, gather_data_o one.
// Numbers  bits, unchanged. put_weights_i writes weights, and mean squares +0; else the words are mean
//          squares.
// Source   LearningGroup III-C; docs/sparse.md (load allocation). Golden model:
//          models/sparse/machine.py, weights.
`include "jd_assert.svh"
module jd_sparse_params
  import jd_sparse_pkg::*;
#(
  parameter int unsigned PWords = 262144         // a multiple of 64
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  input  logic                                     put_i,
  input  logic                                     put_weights_i,
  input  logic [P_LINE_W-1:0]                      put_line_i,
  input  logic [5:0]                               put_first_i,     // bank of word 0
  input  logic [4:0]                               put_count_i,     // words, 1..16
  input  logic [BEAT_WORDS-1:0][SINGLE_W-1:0]      put_data_i,
  input  logic                                     get_i,
  input  logic                                     get_weights_i,
  input  logic [P_LINE_W-1:0]                      get_line_i,
  input  logic [5:0]                               get_first_i,
  output logic [BEAT_WORDS-1:0][SINGLE_W-1:0]      get_data_o,
  input  logic [1:0][WORD_BANKS-1:0]               gather_en_i,
  input  logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] gather_line_i,
  output logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] gather_data_o
);
  localparam int unsigned Lines = PWords / WORD_BANKS;
  localparam int unsigned LineW = Lines > 1 ? $clog2(Lines) : 1;
  if (PWords < WORD_BANKS || PWords % WORD_BANKS != 0 || PWords > 262144) begin : gen_bad_size
    $fatal(1, "jd_sparse_params: PWords=%0d, want a multiple of 64 up to 262144", PWords);
  end

  // ---- A beat to write: word i goes to bank first + i, so to lane (first + i) mod 16 of four
  logic                                put_q, put_weights_q;
  logic [P_LINE_W-1:0]                 put_line_q;
  logic [WORD_BANKS-1:0]               put_banks_q;
  logic [BEAT_WORDS-1:0][SINGLE_W-1:0] put_data_q;
  always_ff @(posedge clk_i) begin
    put_q         <= rst_ni && put_i;
    put_weights_q <= put_weights_i;
    put_line_q    <= put_line_i;
    for (int unsigned lane = 0; lane < BEAT_WORDS; lane++) begin
      put_data_q[lane] <= put_data_i[4'(lane) - put_first_i[3:0]];
    end
    for (int unsigned b = 0; b < WORD_BANKS; b++) begin
      put_banks_q[b] <= 6'(b) - put_first_i < 6'(put_count_i);
    end
  end

  // ---- A beat that is read: one bank of each four
  logic                                          get_weights_q;
  logic [5:0]                                    get_first_q;
  logic [3:0]                                    get_turn_q;
  logic [BEAT_WORDS-1:0][SINGLE_W-1:0]           lanes_q;
  logic [WORD_BANKS-1:0][1:0][SINGLE_W-1:0]      first;       // mean square, weight
  logic [WORD_BANKS-1:0][SINGLE_W-1:0]           second;
  always_ff @(posedge clk_i) begin
    get_weights_q <= get_weights_i;
    get_first_q   <= get_first_i;
    get_turn_q    <= get_first_q[3:0];
    for (int unsigned lane = 0; lane < BEAT_WORDS; lane++) begin
      logic [1:0] high;
      high = get_first_q[5:4] + 2'(4'(lane) < get_first_q[3:0]);
      lanes_q[lane] <= first[{high, 4'(lane)}][!get_weights_q];
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < BEAT_WORDS; i++) get_data_o[i] = lanes_q[4'(i) + get_turn_q];
  end

  // ---- Banks, weights twice for two read ports
  for (genvar b = 0; b < WORD_BANKS; b++) begin : gen_bank
    logic             write;
    logic [LineW-1:0] read_line;
    assign write     = put_q && put_banks_q[b];
    assign read_line = get_i ? LineW'(get_line_i) : LineW'(gather_line_i[0][b]);
    jd_mem_1r1w #(.Depth (Lines), .Lanes (2), .LaneW (SINGLE_W), .Ultra (1'b1)) u_first (
      .clk_i, .rst_ni,
      .write_en_i   (write),
      .write_addr_i (LineW'(put_line_q)),
      .write_mask_i ({1'b1, put_weights_q}),
      .write_data_i ({put_weights_q ? '0 : put_data_q[b%BEAT_WORDS], put_data_q[b%BEAT_WORDS]}),
      .read_en_i    (get_i || gather_en_i[0][b]),
      .read_addr_i  (read_line),
      .read_data_o  (first[b])
    );
    jd_mem_1r1w #(.Depth (Lines), .LaneW (SINGLE_W), .Ultra (1'b1)) u_second (
      .clk_i, .rst_ni,
      .write_en_i   (write && put_weights_q),
      .write_addr_i (LineW'(put_line_q)),
      .write_mask_i (1'b1),
      .write_data_i (put_data_q[b%BEAT_WORDS]),
      .read_en_i    (gather_en_i[1][b]),
      .read_addr_i  (LineW'(gather_line_i[1][b])),
      .read_data_o  (second[b])
    );
    assign gather_data_o[0][b] = first[b][0];
    assign gather_data_o[1][b] = second[b];
  end

  `JD_ASSUME_IF(OneReader_M, get_i, gather_en_i[0] == '0)
endmodule : jd_sparse_params
