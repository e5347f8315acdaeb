// SPDX-License-Identifier: Apache-2.0
//
// Takes jobs in ring order, checks them, and loads tables.
//
// Streams  job: descriptors. out: lists that may run, and ends of all other jobs. cmd, beat: of the read
//          queue, for tables. table_o: a write of the tables of all units.
// Timing   three clocks a job. TABLES waits until everything before it is done (still_i).
// Numbers  the order of checks is that of docs/mcts.md. Tables that are wrong or cannot be read leave none.
// Source   docs/mcts.md (jobs). Golden model: models/mcts/engine.py, _check and _load.
`include "jd_assert.svh"
module jd_mcts_check
  import jd_axi_pkg::*;
  import jd_mcts_pkg::*;
  import jd_mcts_map_pkg::*;
  import jd_engine_header_map_pkg::E_OPCODE, jd_engine_header_map_pkg::E_RESERVED,
         jd_engine_header_map_pkg::E_ALIGN, jd_engine_header_map_pkg::E_ADDR,
         jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_TIMEOUT;
#(
  parameter int unsigned F    = 3,
  parameter int unsigned D    = 4,
  parameter int unsigned WMax = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               clear_i,
  input  logic               stop_i,
  input  logic               still_i,        // no list runs, nothing is in flight
  input  settings_t          settings_i,
  input  logic [39:0]        queue_base_i,
  input  logic [4:0]         queue_size_i,
  input  logic               job_valid_i,
  output logic               job_ready_o,
  input  logic [15:0][31:0]  job_words_i,
  input  logic [3:0]         job_number_i,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output job_t               out_job_o,
  output logic               loading_o,      // the read queue is for tables
  output logic               cmd_valid_o,
  input  logic               cmd_ready_i,
  output logic [39:0]        cmd_address_o,
  output logic [15:0]        cmd_beats_o,
  input  logic               beat_valid_i,
  output logic               beat_ready_o,
  input  logic [511:0]       beat_i,
  input  logic [1:0]         beat_response_i,
  input  logic               read_idle_i,
  output table_write_t       table_o,
  output logic               idle_o
);
  localparam logic [7:0]  LIST = 8'd1, TABLES = 8'd2;
  localparam logic [63:0] TABLE_BYTES = 64'd8192;
  localparam int unsigned WORDS = 2048;
  localparam logic [31:0] SIZE_OFFSET = 32'(CQ_SIZE_OFFSET), BASE_OFFSET = 32'(CQ_BASE_LO_OFFSET);

  typedef enum logic [2:0] {StIdle, StCheck, StDrain, StAsk, StLoad, StSkip, StGive} state_t;
  state_t            state_q;
  logic [15:0][31:0] words_q;
  logic [3:0]        number_q;
  logic [7:0]        error, error_q;
  logic [31:0]       info, info0_q, info1_q;
  logic              list, loaded_q;
  logic [39:0]       address, root;
  assign list    = words_q[0][7:0] == LIST;
  assign address = {words_q[5][7:0], words_q[4]};
  assign root    = {words_q[7][7:0], words_q[6]};

  // ---- Checks, the last rule first
  always_comb begin
    error = '0;
    info  = '0;
    if (list) begin
      if (beyond(queue_base_i, 64'd16 << queue_size_i) || queue_base_i[11:0] != '0) begin
        error = E_CQ;
        info  = BASE_OFFSET;
      end
      if (queue_size_i < 5'd4 || queue_size_i > 5'd16) begin
        error = E_CQ;
        info  = SIZE_OFFSET;
      end
      if (!loaded_q) begin
        error = E_TABLE;
        info  = '0;
      end
      if (settings_i.policy > 2'd2) begin
        error = E_CFG;
        info  = 32'(POLICY_OFFSET);
      end
      if (64'(settings_i.vl) * 64'(2 * WMax) >= 64'd1 << 31) begin
        error = E_CFG;
        info  = 32'(VL_OFFSET);
      end
      if (settings_i.d_act < 7'd2 || 32'(settings_i.d_act) > D) begin
        error = E_CFG;
        info  = 32'(D_ACT_OFFSET);
      end
      if (settings_i.f_act < 6'd2 || 32'(settings_i.f_act) > F) begin
        error = E_CFG;
        info  = 32'(F_ACT_OFFSET);
      end
      if (root != '0 && beyond(root, 64'(8 + 8 * F))) begin
        error = E_ADDR;
        info  = 32'd6;
      end
    end
    if (beyond(address, list ? {28'd0, words_q[2], 4'd0} : TABLE_BYTES)) begin
      error = E_ADDR;
      info  = 32'd4;
    end
    if (list && root[5:0] != '0) begin
      error = E_ALIGN;
      info  = 32'd6;
    end
    if (address[5:0] != '0) begin
      error = E_ALIGN;
      info  = 32'd4;
    end
    if (list && (words_q[2] == '0 || words_q[2] > 32'd65536)) begin
      error = E_COUNT;
      info  = 32'd2;
    end
    for (int w = 15; w >= 0; w--) begin
      logic [31:0] keep;
      unique case (w)
        0:       keep = 32'hC000_00FF;
        1, 4:    keep = '1;
        5:       keep = 32'hFF;
        2, 6:    keep = list ? '1 : '0;
        7:       keep = list ? 32'hFF : '0;
        default: keep = '0;
      endcase
      if ((words_q[w] & ~keep) != '0) begin
        error = E_RESERVED;
        info  = 32'(w);
      end
    end
    if (words_q[0][7:0] != LIST && words_q[0][7:0] != TABLES) begin
      error = E_OPCODE;
      info  = '0;
    end
  end

  // ---- Tables: a word per clock
  logic [10:0]        word_q;
  logic [31:0]        word;
  logic               wrong, last_of_beat;
  assign word = beat_i[{word_q[3:0], 5'd0}+:32];
  assign last_of_beat = word_q[3:0] == 4'hF;
  assign wrong = word_q[10] ? word[31:WEIGHT_W] != '0
                            : word[31:24] != '0 || word[21:20] != '0 || word[19:17] != '0;
  assign loading_o     = state_q == StAsk || state_q == StLoad || state_q == StSkip;
  assign cmd_valid_o   = state_q == StAsk;
  assign cmd_address_o = address;
  assign cmd_beats_o   = 16'(WORDS / 16);
  assign beat_ready_o  = state_q == StSkip || (state_q == StLoad && last_of_beat);
  // G has the exponents 0, 4, 8 and 12: m * 2^(exponent - 16), so the shift is 21 - exponent.
  assign table_o = '{valid: state_q == StLoad && beat_valid_i, r: word_q[10],
                     index: word_q[INDEX_W-1:0],
                     data: word_q[10] ? word[WEIGHT_W-1:0]
                           : WEIGHT_W'({5'd21 - {1'b0, word[23:20]}, word[TOTAL_W-1:0]})};
  assign job_ready_o = state_q == StIdle && !clear_i;
  assign out_valid_o = state_q == StGive;
  assign out_job_o   = '{job: number_q, list: list && error_q == '0, error: error_q, info0: info0_q,
                         info1: info1_q, slots: words_q[2][16:0], address: address, root: root};
  assign idle_o      = state_q == StIdle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || (clear_i && !loading_o)) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle:  if (job_valid_i && job_ready_o) state_q <= StCheck;
        StCheck: state_q <= error == '0 && !list ? StDrain : StGive;
        StDrain: if (stop_i) state_q <= StGive;
                 else if (still_i) state_q <= StAsk;
        StAsk:   if (cmd_ready_i) state_q <= StLoad;
        StLoad: begin
          if (stop_i || (beat_valid_i && (beat_response_i != '0 || wrong))) state_q <= StSkip;
          else if (beat_valid_i && word_q == '1) state_q <= StGive;
        end
        StSkip:  if (read_idle_i) state_q <= StGive;
        StGive:  if (out_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
    if (!rst_ni) loaded_q <= 1'b0;
    else if (state_q == StAsk) loaded_q <= 1'b0;
    else if (state_q == StLoad && !stop_i && beat_valid_i && beat_response_i == '0 && !wrong
             && word_q == '1)
      loaded_q <= 1'b1;
    if (job_valid_i && job_ready_o) begin
      words_q  <= job_words_i;
      number_q <= job_number_i;
    end
    if (state_q == StCheck) begin
      error_q <= error;
      info0_q <= info;
      info1_q <= '0;
      word_q  <= '0;
    end
    if (state_q == StLoad && beat_valid_i) word_q <= word_q + 1'b1;
    if ((state_q == StLoad || (state_q == StSkip && error_q == E_TABLE)) && beat_valid_i
        && beat_response_i != '0) begin
      error_q <= E_BUS_RD;
      info0_q <= 32'd4;
      info1_q <= 32'(beat_response_i);
    end else if (state_q == StLoad && beat_valid_i && wrong) begin
      error_q <= E_TABLE;
      info0_q <= 32'(word_q);
    end
    if (stop_i && (state_q == StDrain || state_q == StLoad)) error_q <= E_TIMEOUT;
  end
  logic unused;
  assign unused = ^{words_q[1], settings_i};
endmodule : jd_mcts_check
