// SPDX-License-Identifier: Apache-2.0
//
// Gathers a line of FP16 weights from the parameter memory: a word for each lane that asks.
//
// Streams  word_i: the word that a lane asks for, by port_i; no two lanes ask a port of a bank at once.
//          A line's words come in the clocks from first_i to last_i. gather_*: two words from each
//          bank of the memory per clock, one clock later. write_o, line_o: the line, for the cores and
//          banks that came with its words. dense_i: all second ports read dense_*; nobody takes that.
// Timing   a set of words per clock; gather_en_o, gather_line_o are registers. A line leaves 4 clocks
//          after last_i. busy_o: a line is on its way.
// Numbers  FP32 to FP16, rounded once; a lane without a word gets +0. Of the last 12 bits of a fraction
//          it matters only whether all are 0, so a lane chooses among words of 21 bits.
// Source   LearningGroup III-C. Golden model: models/sparse/numbers.py, half.
module jd_sparse_gather
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores  = 3,             // 1..3
  parameter int unsigned Banks  = 8,             // of a core, 1..8
  parameter int unsigned Lanes  = 33             // of a bank, 2..264
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  input  word_place_t [Lanes-1:0]                  word_i,
  input  logic [Lanes-1:0]                         port_i,
  input  logic                                     first_i,
  input  logic                                     last_i,
  input  logic [Cores-1:0]                         cores_i,
  input  logic [Banks-1:0]                         banks_i,
  input  logic                                     dense_i,
  input  logic [WORD_BANKS-1:0]                    dense_en_i,
  input  logic [WORD_BANKS-1:0][P_LINE_W-1:0]      dense_line_i,
  output logic [1:0][WORD_BANKS-1:0]               gather_en_o,
  output logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] gather_line_o,
  input  logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] gather_data_i,
  output logic                                     busy_o,
  output weight_write_t                            write_o,
  output logic [Lanes-1:0][HALF_W-1:0]             line_o
);
  localparam int unsigned BankW   = $clog2(WORD_BANKS);
  localparam int unsigned ManW    = 12;          // 10 bits of FP16, a round bit and a sticky bit
  localparam int unsigned NarrowW = 1 + 8 + ManW;
  localparam int unsigned STAGES  = 4;           // request, memory, lane, FP16

  // ---- Requests
  logic [Lanes-1:0][WORD_BANKS-1:0] asks_bank;
  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++)
      asks_bank[i] = WORD_BANKS'(word_i[i].valid) << word_i[i].bank;
  end
  for (genvar p = 0; p < 2; p++) begin : gen_port
    for (genvar b = 0; b < WORD_BANKS; b++) begin : gen_bank
      logic [Lanes-1:0]    asks;                 // at most one
      logic [P_LINE_W-1:0] line;
      always_comb begin
        line = '0;
        for (int unsigned i = 0; i < Lanes; i++) begin
          asks[i] = asks_bank[i][b] && port_i[i] == 1'(p);
          line    = line | ({P_LINE_W{asks[i]}} & word_i[i].line);
        end
      end
      always_ff @(posedge clk_i) begin
        if (!rst_ni) gather_en_o[p][b] <= 1'b0;
        else         gather_en_o[p][b] <= (p == 1 && dense_i) ? dense_en_i[b] : |asks;
        gather_line_o[p][b] <= (p == 1 && dense_i) ? dense_line_i[b] : line;
      end
    end
  end

  // ---- Words
  logic [1:0][WORD_BANKS-1:0][NarrowW-1:0] words;
  logic [Lanes-1:0]               asked_q1, asked_q2, asked_q3, asked_q4;
  logic [Lanes-1:0]               port_q1, port_q2;
  logic [Lanes-1:0][BankW-1:0]    bank_q1, bank_q2;
  logic [Lanes-1:0][NarrowW-1:0]  word_q3;
  logic [Lanes-1:0][HALF_W-1:0]   half_q4, line_q;
  logic [STAGES-1:0]              first_q, last_q;
  logic [STAGES-1:0][Cores-1:0]   cores_q;
  logic [STAGES-1:0][Banks-1:0]   banks_q;
  always_comb begin
    for (int unsigned p = 0; p < 2; p++) begin
      for (int unsigned b = 0; b < WORD_BANKS; b++)
        words[p][b] = {gather_data_i[p][b][SINGLE_W-1 -: NarrowW-1],
                       |gather_data_i[p][b][SINGLE_W-NarrowW:0]};
    end
  end
  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    jd_float_convert #(.FromManW (ManW), .Latency (1)) u_half (
      .clk_i, .rst_ni,
      .valid_i  (asked_q3[i]),
      .value_i  (word_q3[i]),
      .valid_o  (asked_q4[i]),
      .result_o (half_q4[i])
    );
    assign line_o[i] = asked_q4[i] ? half_q4[i] : (first_q[STAGES-1] ? '0 : line_q[i]);
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asked_q1 <= '0;
      asked_q2 <= '0;
      asked_q3 <= '0;
      last_q   <= '0;
    end else begin
      for (int unsigned i = 0; i < Lanes; i++) asked_q1[i] <= word_i[i].valid;
      asked_q2 <= asked_q1;
      asked_q3 <= asked_q2;
      last_q   <= {last_q[STAGES-2:0], last_i};
    end
    first_q <= {first_q[STAGES-2:0], first_i};
    cores_q <= {cores_q[STAGES-2:0], cores_i};
    banks_q <= {banks_q[STAGES-2:0], banks_i};
    port_q1 <= port_i;
    port_q2 <= port_q1;
    bank_q2 <= bank_q1;
    for (int unsigned i = 0; i < Lanes; i++) begin
      bank_q1[i] <= word_i[i].bank;
      if (asked_q2[i]) word_q3[i] <= words[port_q2[i]][bank_q2[i]];
    end
    line_q <= line_o;
  end
  assign busy_o  = last_q != '0;
  assign write_o = '{valid: last_q[STAGES-1], cores: CORES'(cores_q[STAGES-1]),
                     banks: BANKS'(banks_q[STAGES-1])};
endmodule : jd_sparse_gather
