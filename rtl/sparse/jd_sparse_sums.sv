// SPDX-License-Identifier: Apache-2.0
//
// Sums of the grouping's gradients: of each row and of each column, in the words of their states.
//
// Streams  row, column: a number to add to the sum of a word. read_*: a sum, of a row or a column.
//          clear_i: all sums are +0.
// Timing   An addition per clock and stream; also to the same word in clocks one after the other. Two
//          clocks after it a read shows it. read_sum_o comes one clock after read_i. After clear_i and
//          reset busy_o is high for SWords clocks, in which nothing is added and nothing may be read.
// Numbers  signed integers of 64 bits, which wrap.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/machine.py, row_sums, column_sums.
`include "jd_assert.svh"
module jd_sparse_sums
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned SWords = 4096,          // states of the grouping, 2..4096
  localparam int unsigned WordW  = $clog2(SWords)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                clear_i,
  output logic                busy_o,
  input  logic                row_valid_i,
  output logic                row_ready_o,
  input  logic [S_WORD_W-1:0] row_word_i,
  input  logic [SUM_W-1:0]    row_sum_i,
  input  logic                column_valid_i,
  output logic                column_ready_o,
  input  logic [S_WORD_W-1:0] column_word_i,
  input  logic [SUM_W-1:0]    column_sum_i,
  input  logic                read_i,
  input  logic                read_columns_i,     // else rows
  input  logic [S_WORD_W-1:0] read_word_i,
  output logic [SUM_W-1:0]    read_sum_o
);
  if (SWords < 2 || SWords > 4096) begin : gen_bad_size
    $fatal(1, "jd_sparse_sums: SWords=%0d, want 2..4096", SWords);
  end

  // ---- All words become +0, one after the other
  logic [WordW-1:0] cleared_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      busy_o    <= 1'b1;
      cleared_q <= '0;
    end else if (busy_o) begin
      busy_o    <= cleared_q != WordW'(SWords - 1);
      cleared_q <= cleared_q + 1'b1;
    end
  end

  // ---- Of rows, of columns: a word is read, and with the summand written in the next clock. A
  // read in that clock shows the old word, so the next addition to the same word takes the sum here.
  typedef struct packed {
    logic             valid;
    logic [WordW-1:0] word;
    logic [SUM_W-1:0] sum;
  } add_t;
  logic                  read_columns_q;
  add_t [1:0]            in;                      // of rows, of columns
  logic [1:0][SUM_W-1:0] old;
  assign row_ready_o    = !busy_o;
  assign column_ready_o = !busy_o;
  assign in[0] = '{valid: row_valid_i && row_ready_o, word: WordW'(row_word_i), sum: row_sum_i};
  assign in[1] = '{valid: column_valid_i && column_ready_o, word: WordW'(column_word_i),
                   sum: column_sum_i};
  assign read_sum_o = old[read_columns_q];
  always_ff @(posedge clk_i) if (read_i) read_columns_q <= read_columns_i;
  for (genvar k = 0; k < 2; k++) begin : gen_side
    add_t             add_q;
    logic             again_q;                    // to the word of the addition before
    logic [SUM_W-1:0] sum, sum_q;
    assign sum = (again_q ? sum_q : old[k]) + add_q.sum;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) add_q <= '0;
      else         add_q <= in[k];
      again_q <= add_q.valid && add_q.word == in[k].word;
      sum_q   <= sum;
    end
    jd_mem_1r1w #(.Depth (SWords), .LaneW (SUM_W)) u_sums (
      .clk_i, .rst_ni,
      .write_en_i   (busy_o || add_q.valid),
      .write_addr_i (busy_o ? cleared_q : add_q.word),
      .write_mask_i (1'b1),
      .write_data_i (busy_o ? '0 : sum),
      .read_en_i    (in[k].valid || read_i),
      .read_addr_i  (in[k].valid ? in[k].word : WordW'(read_word_i)),
      .read_data_o  (old[k])
    );
  end

  `JD_ASSUME_IF(RowInRange_M, row_valid_i, 32'(row_word_i) < SWords)
  `JD_ASSUME_IF(ColumnInRange_M, column_valid_i, 32'(column_word_i) < SWords)
  `JD_ASSUME_IF(ReadInRange_M, read_i, 32'(read_word_i) < SWords)
  `JD_ASSUME_IF(ReadAlone_M, read_i, !row_valid_i && !column_valid_i && !busy_o)
endmodule : jd_sparse_sums
