// SPDX-License-Identifier: Apache-2.0
//
// READ_ROOT: reads N, and n and w of the root's children, word by word, and gives them as beats.
//
// Streams  start_i: with the address and the children in use. peek_*: of the tree, which is idle.
//          beat_*: to the writer; written_i: one is in memory. done_o: all are, until the next start.
// Timing   8 clocks for a word of the tree.
// Numbers  8 bytes each: N; then for each child n in 15:0 and w in 63:24.
// Source   docs/mcts.md (requests). Golden model: models/mcts/engine.py, _write_root.
`include "jd_assert.svh"
module jd_mcts_root
  import jd_mcts_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         clear_i,
  input  logic         start_i,
  input  logic [39:0]  address_i,
  input  logic [5:0]   children_i,
  output logic         peek_o,
  output logic [8:0]   peek_word_o,
  input  logic [31:0]  peek_data_i,
  output logic         beat_valid_o,
  input  logic         beat_ready_i,
  output logic [39:0]  beat_address_o,
  output logic [511:0] beat_o,
  output logic [63:0]  strb_o,
  input  logic         written_i,
  input  logic [1:0]   written_response_i,
  output logic         done_o,
  output logic [1:0]   response_o
);
  localparam logic [2:0] LAST = 3'd7;         // clock in which a word has come
  typedef enum logic [1:0] {StIdle, StRead, StSend, StWait} state_t;
  state_t            state_q;
  logic [5:0]        item_q;                  // 0: N; then children
  logic [1:0]        part_q;
  logic [2:0]        clock_q, out_q;
  logic [7:0][63:0]  words_q;
  logic [7:0]        there_q;
  logic [39:0]       address_q;
  logic              last_part, sends;
  assign last_part = item_q == '0 || part_q == 2'd2;
  assign peek_o    = state_q == StRead;
  always_comb begin
    peek_word_o = 9'd1;
    if (item_q != '0) begin
      // n, then w
      peek_word_o = 9'd2 + {item_q - 6'd1, 3'd0}
                    + (part_q == 2'd0 ? 9'd5 : part_q == 2'd1 ? 9'd3 : 9'd4);
    end
  end
  assign beat_valid_o   = state_q == StSend;
  assign beat_address_o = address_q;
  assign beat_o         = words_q;
  for (genvar k = 0; k < 8; k++) begin : gen_strobes
    assign strb_o[8*k+:8] = {8{there_q[k]}};
  end
  assign sends = beat_valid_o && beat_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q <= StIdle;
      done_o  <= 1'b0;
    end else begin
      if (start_i)                                done_o <= 1'b0;
      else if (state_q == StWait && out_q == '0)  done_o <= 1'b1;
      unique case (state_q)
        StIdle: if (start_i) state_q <= StRead;
        StRead: begin
          if (clock_q == LAST && last_part && (item_q[2:0] == 3'd7 || item_q == children_i))
            state_q <= StSend;
        end
        StSend: if (beat_ready_i) state_q <= item_q > children_i ? StWait : StRead;
        StWait: if (out_q == '0) state_q <= StIdle;
      endcase
    end
    if (!rst_ni) out_q <= '0;
    else         out_q <= out_q + 3'(sends) - 3'(written_i);
    if (start_i) begin
      item_q     <= '0;
      part_q     <= '0;
      clock_q    <= '0;
      there_q    <= '0;
      address_q  <= address_i;
      response_o <= '0;
    end else if (state_q == StRead) begin
      clock_q <= clock_q + 1'b1;
      if (clock_q == LAST) begin
        part_q <= last_part ? '0 : part_q + 1'b1;
        if (last_part) begin
          item_q               <= item_q + 1'b1;
          there_q[item_q[2:0]] <= 1'b1;
        end
        if (item_q == '0)         words_q[0] <= 64'(peek_data_i);
        else if (part_q == 2'd0)  words_q[item_q[2:0]][23:0]  <= {8'd0, peek_data_i[15:0]};
        else if (part_q == 2'd1)  words_q[item_q[2:0]][55:24] <= peek_data_i;
        else                      words_q[item_q[2:0]][63:56] <= peek_data_i[7:0];
      end
    end
    if (sends) begin
      there_q   <= '0;
      address_q <= address_q + 40'd64;
    end
    if (written_i && written_response_i > response_o) response_o <= written_response_i;
  end
endmodule : jd_mcts_root
