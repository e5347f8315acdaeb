// SPDX-License-Identifier: Apache-2.0
//
// Writes results into a line of a feature map, each word to its own place, after a ReLU or its
// derivative.
//
// Streams  in: 16 results of a line and their places. write: rows of the feature-map buffer, always
//          taken. read: the rows that are there now, for the derivative; data are valid 2 clocks
//          after a row is taken.
// Timing   A row of the line per clock. A row is written 2 clocks after its turn; busy_o is high
//          until then.
// Numbers  result k goes to word x + k*S of the line; only results first to first + count - 1 are
//          written. ReLU keeps NaN and values above 0; all others become +0. Its derivative keeps
//          a result if the word that it replaces is a NaN or above 0; else the result is +0. fill_i
//          sets the words after the last result in its row to +0.
// Source   FA3C (ASPLOS 2019) section 4.5 (scattering). a3c 7.4. Golden model: models/a3c/ops.py,
//          relu and relu_gradient.
`include "jd_assert.svh"
module jd_a3c_scatter (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic               busy_o,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [511:0]       in_data_i,
  input  logic [15:0]        in_row_i,            // of the line's first 16 words
  input  logic signed [9:0]  in_x_i,              // of result 0
  input  logic [3:0]         in_first_i,
  input  logic [4:0]         in_count_i,          // 1..16
  input  logic [1:0]         in_stride_i,         // log2 of S
  input  logic               in_fill_i,
  input  logic               in_relu_i,
  input  logic               in_mask_i,           // under the derivative
  output logic               read_valid_o,
  input  logic               read_ready_i,
  output logic [15:0]        read_row_o,
  input  logic [511:0]       read_data_i,
  output logic               write_valid_o,
  output logic [15:0]        write_row_o,
  output logic [15:0]        write_mask_o,
  output logic [511:0]       write_data_o
);
  // ---- The line in hand and the row in turn
  logic               valid_q;
  logic [15:0][31:0]  data_q;
  logic [15:0]        row_q;
  logic signed [9:0]  x_q;
  logic [3:0]         first_q, last_q;
  logic [1:0]         stride_q;
  logic               fill_q, relu_q, mask_q;
  logic [4:0]         block_q, block_last_q;
  logic               turn;                       // the row goes on
  logic signed [9:0]  begin_x, end_x;             // words of the first and the last result
  logic [3:0]         last;
  assign last    = 4'(5'(in_first_i) + in_count_i - 5'd1);
  assign begin_x = in_x_i + $signed(10'({6'd0, in_first_i} << in_stride_i));
  assign end_x   = in_x_i + $signed(10'({6'd0, last} << in_stride_i));
  assign read_valid_o = valid_q && mask_q;
  assign read_row_o   = row_q + 16'(block_q);
  assign turn         = valid_q && (!mask_q || read_ready_i);
  assign in_ready_o   = !valid_q || (turn && block_q == block_last_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni)         valid_q <= 1'b0;
    else if (in_ready_o) valid_q <= in_valid_i;
    if (in_ready_o) begin
      data_q       <= in_data_i;
      row_q        <= in_row_i;
      x_q          <= in_x_i;
      first_q      <= in_first_i;
      last_q       <= last;
      stride_q     <= in_stride_i;
      fill_q       <= in_fill_i;
      relu_q       <= in_relu_i;
      mask_q       <= in_mask_i;
      block_q      <= begin_x[8:4];
      block_last_q <= end_x[8:4];
    end else if (turn) begin
      block_q <= block_q + 5'd1;
    end
  end

  // ---- Words of the row
  logic [15:0][31:0] words;
  logic [15:0]       mask;
  always_comb begin
    for (int unsigned w = 0; w < 16; w++) begin
      logic signed [9:0] distance, index;
      logic              meets;
      distance = $signed({1'b0, block_q, 4'(w)}) - x_q;
      index    = distance >>> stride_q;
      meets    = (index <<< stride_q) == distance && index >= $signed({6'd0, first_q})
                 && index <= $signed({6'd0, last_q});
      mask[w]  = meets || (fill_q && index > $signed({6'd0, last_q}) && block_q == block_last_q);
      words[w] = meets ? data_q[index[3:0]] : '0;
    end
  end

  // ---- Two clocks for what is there now
  logic [15:0][31:0] words_q1, words_q2;
  logic [15:0]       mask_q1, mask_q2, write_row_q1, write_row_q2;
  logic              valid_q1, valid_q2, relu_q1, relu_q2, under_q1, under_q2;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q1 <= 1'b0;
      valid_q2 <= 1'b0;
    end else begin
      valid_q1 <= turn;
      valid_q2 <= valid_q1;
    end
    if (turn) begin
      words_q1     <= words;
      mask_q1      <= mask;
      write_row_q1 <= row_q + 16'(block_q);
      relu_q1      <= relu_q;
      under_q1     <= mask_q;
    end
    words_q2     <= words_q1;
    mask_q2      <= mask_q1;
    write_row_q2 <= write_row_q1;
    relu_q2      <= relu_q1;
    under_q2     <= under_q1;
  end
  function automatic logic passes(input logic [31:0] word);    // a NaN, or above 0
    passes = (word[30:0] > 31'h7F80_0000) || (!word[31] && word[30:0] != '0);
  endfunction
  logic [15:0][31:0] there;
  assign there = read_data_i;
  always_comb begin
    for (int unsigned w = 0; w < 16; w++) begin
      write_data_o[32*w+:32] = words_q2[w];
      if ((relu_q2 && !passes(words_q2[w])) || (under_q2 && !passes(there[w]))) begin
        write_data_o[32*w+:32] = '0;
      end
    end
  end
  assign write_valid_o = valid_q2;
  assign write_row_o   = write_row_q2;
  assign write_mask_o  = mask_q2;
  assign busy_o        = valid_q || valid_q1 || valid_q2;

  `JD_ASSUME_IF(CountInRange_M, in_valid_i,
                in_count_i != '0 && 5'(in_first_i) + in_count_i <= 5'd16)
endmodule : jd_a3c_scatter
