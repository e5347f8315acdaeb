// SPDX-License-Identifier: Apache-2.0
//
// Reads all weights of a layer, masked or not: what compression costs without lists.
//
// Streams  start_i: begins with layer_i; runs_o until the last line. en_o, line_o: to a port of the
//          parameter memory, whose words nobody takes.
// Timing   a line of Lanes words per clock, or of 64 if a bank has more.
// Numbers  Word (m, n) is in bank m + n modulo 64, and in line n / 64 of row m.
// Source   LearningGroup IV-B, figure 10 (baseline). Golden model: models/sparse/machine.py, _allocate.
module jd_sparse_dense
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Lanes = 33             // of a bank, 2..264
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                start_i,
  input  layer_t                              layer_i,
  output logic                                runs_o,
  output logic [WORD_BANKS-1:0]               en_o,
  output logic [WORD_BANKS-1:0][P_LINE_W-1:0] line_o
);
  localparam int unsigned BankW = $clog2(WORD_BANKS);
  localparam int unsigned Words = (Lanes < WORD_BANKS) ? Lanes : WORD_BANKS;   // of a line
  logic [DIM_W-1:0]    m_q, n_q, row_q, column_q;
  logic [3:0]          pitch_q;                 // lines of a row
  logic [P_LINE_W-1:0] first_q;                 // line of the row
  logic                last_part;
  assign last_part = column_q + DIM_W'(Words) >= n_q;
  always_comb begin
    for (int unsigned b = 0; b < WORD_BANKS; b++) begin
      logic [BankW-1:0] ahead;
      logic [DIM_W-1:0] column;
      ahead     = BankW'(b) - BankW'(row_q) - BankW'(column_q);
      column    = column_q + DIM_W'(ahead);
      en_o[b]   = runs_o && 32'(ahead) < Words && column < n_q;
      line_o[b] = first_q + P_LINE_W'(column >> BankW);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      runs_o <= 1'b0;
    else if (start_i) runs_o <= 1'b1;
    else if (last_part && row_q + 1'b1 == m_q) runs_o <= 1'b0;
    if (start_i) begin
      m_q      <= layer_i.m;
      n_q      <= layer_i.n;
      pitch_q  <= 4'((13'(layer_i.n) + 13'(WORD_BANKS - 1)) >> BankW);
      first_q  <= P_LINE_W'(layer_i.w_base >> BankW);
      row_q    <= '0;
      column_q <= '0;
    end else if (runs_o) begin
      column_q <= last_part ? '0 : column_q + DIM_W'(Words);
      if (last_part) begin
        row_q   <= row_q + 1'b1;
        first_q <= first_q + P_LINE_W'(pitch_q);
      end
    end
  end
endmodule : jd_sparse_dense
