// SPDX-License-Identifier: Apache-2.0
//
// Counts in a word of bits: the zeros below each place, all ones, and those ones that are marked.
//
// Streams  ones_i, marked_i: a word; zeros_o, count_o, marked_o: its counts. A pipe without valid.
// Timing   Two clocks, a word per clock. The first counts in eights of places; the second adds
//          them in log2(Width / 8) steps, and what is below a place in its four.
// Numbers  Counts of 0 to Width.
// Source   Sklansky 1960, adders of conditional sums. Golden model: models/sparse/osel.py.
module jd_sparse_prefix #(
  parameter  int unsigned Width  = 64,              // a power of two, 8..64
  localparam int unsigned CountW = $clog2(Width + 1)
) (
  input  logic                         clk_i,
  input  logic [Width-1:0]             ones_i,
  input  logic [Width-1:0]             marked_i,    // of the ones
  output logic [Width-1:0][CountW-1:0] zeros_o,     // below each place
  output logic [CountW-1:0]            count_o,
  output logic [CountW-1:0]            marked_o
);
  if (Width != 8 && Width != 16 && Width != 32 && Width != 64) begin : gen_bad_size
    $fatal(1, "jd_sparse_prefix: Width=%0d, want 8, 16, 32 or 64", Width);
  end
  localparam int unsigned Fours = Width / 4;
  localparam int unsigned Steps = $clog2(Fours);
  localparam logic [15:0][2:0] Ones = 48'o4332_3221_3221_2110;  // in a number of four bits
  logic [Width-1:0]             ones_q;
  logic [Fours-1:0][2:0]        zeros, marked;
  logic [Fours-1:0][CountW-1:0] zeros_q, marked_q;   // in the fours up to this one, of its eight
  logic [Fours-1:0][CountW-1:0] zeros_up, marked_up; // of the word
  always_comb begin
    zeros_up  = zeros_q;
    marked_up = marked_q;
    for (int unsigned s = 1; s < Steps; s++) begin
      for (int unsigned k = 0; k < Fours; k++) begin
        if (((k >> s) & 1) == 1) begin
          zeros_up[k]  = zeros_up[k] + zeros_up[((k >> s) << s) - 1];
          marked_up[k] = marked_up[k] + marked_up[((k >> s) << s) - 1];
        end
      end
    end
  end
  for (genvar k = 0; k < Fours; k++) begin : gen_four
    assign zeros[k]  = Ones[~ones_i[4*k +: 4]];
    assign marked[k] = Ones[marked_i[4*k +: 4]];
    logic [CountW-1:0] below;
    if (k == 0) begin : gen_first
      assign below = '0;
    end else begin : gen_later
      assign below = zeros_up[k-1];
    end
    always_ff @(posedge clk_i) begin
      zeros_q[k]     <= CountW'(zeros[k]) + CountW'((k % 2 == 1) ? zeros[k-k%2] : 3'd0);
      marked_q[k]    <= CountW'(marked[k]) + CountW'((k % 2 == 1) ? marked[k-k%2] : 3'd0);
      zeros_o[4*k]   <= below;
      zeros_o[4*k+1] <= below + CountW'(!ones_q[4*k]);
      zeros_o[4*k+2] <= below + CountW'(Ones[{2'b0, ~ones_q[4*k +: 2]}]);
      zeros_o[4*k+3] <= below + CountW'(Ones[{1'b0, ~ones_q[4*k +: 3]}]);
    end
  end
  always_ff @(posedge clk_i) begin
    ones_q   <= ones_i;
    count_o  <= CountW'(Width) - zeros_up[Fours-1];
    marked_o <= marked_up[Fours-1];
  end
endmodule : jd_sparse_prefix
