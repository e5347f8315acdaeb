// SPDX-License-Identifier: Apache-2.0
//
// Network of D rows: crossbar, or butterfly of log2 D layers that routes by the low bits first.
//
// Streams  in: a word and the row it goes to. out: what goes to each row; words from one row to
//          another stay in order.
// Timing   unloaded latency 1 (Xbar) or log2 D; a word per clock and output of a jd_mcts_switch.
// Numbers  bits, unchanged.
// Source   thesis 3.3, Algorithm 1; docs/mcts.md. Golden model: models/mcts/banks.py, route.
`include "jd_assert.svh"
module jd_mcts_net #(
  parameter  int unsigned D     = 4,      // rows, power of two 2..64
  parameter  int unsigned Width = 8,      // bits of a word
  parameter  bit          Xbar  = 1'b1,
  localparam int unsigned RowW  = $clog2(D)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [D-1:0]            in_valid_i,
  output logic [D-1:0]            in_ready_o,
  input  logic [D-1:0][RowW-1:0]  in_row_i,
  input  logic [D-1:0][Width-1:0] in_data_i,
  output logic [D-1:0]            out_valid_o,
  input  logic [D-1:0]            out_ready_i,
  output logic [D-1:0][Width-1:0] out_data_o
);
  if (D < 2 || D > 64 || D != 2 ** RowW) begin : gen_bad_rows
    $fatal(1, "jd_mcts_net: D=%0d, want a power of two 2..64", D);
  end
  if (Xbar) begin : gen_crossbar
    logic [D-1:0][D-1:0] wants, takes, takes_of;   // [out][in]; [in][out]
    for (genvar y = 0; y < D; y++) begin : gen_out
      for (genvar i = 0; i < D; i++) begin : gen_in
        assign wants[y][i]    = in_valid_i[i] && in_row_i[i] == RowW'(y);
        assign takes_of[i][y] = takes[y][i];
      end
      jd_mcts_switch #(.Inputs (D), .Width (Width)) u_switch (
        .clk_i, .rst_ni,
        .in_valid_i  (wants[y]),
        .in_ready_o  (takes[y]),
        .in_data_i   (in_data_i),
        .out_valid_o (out_valid_o[y]),
        .out_ready_i (out_ready_i[y]),
        .out_data_o  (out_data_o[y])
      );
    end
    for (genvar i = 0; i < D; i++) begin : gen_in_ready
      assign in_ready_o[i] = takes_of[i] != '0;
    end
  end else begin : gen_butterfly
    // Column x is the input of layer x, which sets bit x of the row.
    localparam int unsigned WordW = RowW + Width;
    logic [RowW:0][D-1:0]            valid, ready;
    logic [RowW:0][D-1:0][WordW-1:0] words;
    for (genvar y = 0; y < D; y++) begin : gen_row
      assign valid[0][y]    = in_valid_i[y];
      assign words[0][y]    = {in_row_i[y], in_data_i[y]};
      assign in_ready_o[y]  = ready[0][y];
      assign out_valid_o[y] = valid[RowW][y];
      assign out_data_o[y]  = words[RowW][y][Width-1:0];
      assign ready[RowW][y] = out_ready_i[y];
      logic unused_row;
      assign unused_row = ^words[RowW][y][Width+:RowW];
    end
    for (genvar x = 0; x < RowW; x++) begin : gen_layer
      for (genvar y = 0; y < D; y++) begin : gen_switch
        // Output y of this layer: inputs y and the one that differs in bit x.
        localparam int unsigned Other = y ^ (1 << x);
        localparam int unsigned Low   = y < Other ? y : Other;
        localparam int unsigned High  = y < Other ? Other : y;
        logic [1:0] wants, takes;
        assign wants[0] = valid[x][Low]  && words[x][Low][Width+x]  == 1'(y >> x);
        assign wants[1] = valid[x][High] && words[x][High][Width+x] == 1'(y >> x);
        jd_mcts_switch #(.Inputs (2), .Width (WordW)) u_switch (
          .clk_i, .rst_ni,
          .in_valid_i  (wants),
          .in_ready_o  (takes),
          .in_data_i   ({words[x][High], words[x][Low]}),
          .out_valid_o (valid[x+1][y]),
          .out_ready_i (ready[x+1][y]),
          .out_data_o  (words[x+1][y])
        );
      end
      for (genvar y = 0; y < D; y++) begin : gen_ready
        // An input goes to one of two outputs; at each it is the same one of the two.
        localparam int unsigned Other = y ^ (1 << x);
        localparam int unsigned Place = y < Other ? 0 : 1;
        assign ready[x][y] = gen_switch[y].takes[Place] || gen_switch[Other].takes[Place];
      end
    end
  end
endmodule : jd_mcts_net
