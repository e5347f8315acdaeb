// SPDX-License-Identifier: Apache-2.0
//
// Writes the TD errors of a chunk to memory after the list: a pair of slot and magnitude per
// vector.
//
// Streams  start_i, while idle_o, begins a chunk. Its description holds until done_o, which is high
//          for one clock. td: magnitudes in binary32 of N vectors side by side, the first in lane
//          0; in the last word only lanes with a vector count. A pipe: there is room for a chunk.
//          mem_*: writes of the memory port. stop_i: no more beats are requested; done_o comes when
//          all requested beats are answered.
// Timing   A pair per clock. A beat holds 8 pairs; up to 16 beats are under way.
// Numbers  a pair is two words: the vector's number in the batch, and its magnitude. Pair k is at
//          address_i + 8*k. Other bytes are not written. After an error response no more beats are
//          requested; response_o is the worst response.
// Source   docs/qat.md (jobs, list). Golden model: models/qat/engine.py, _deliver.
`include "jd_assert.svh"
module jd_qat_pairs
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter int unsigned N     = 2,                // cores: 1, 2, 4
  parameter int unsigned Slots = 64                // of a core
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  output logic                     idle_o,
  input  logic                     start_i,
  input  logic                     stop_i,
  input  logic [39:0]              address_i,      // of the batch's first pair, a multiple of 64
  input  logic [15:0]              first_i,        // vector of the batch
  input  logic [VECTORS_W-1:0]     vectors_i,      // 1..N*Slots
  input  logic                     td_valid_i,
  input  logic [N-1:0][WORD_W-1:0] td_data_i,
  output logic                     done_o,
  output logic [1:0]               response_o,     // 0 if all went well
  output logic                     moved_o,        // a beat was given
  output axi_write_req_t           mem_req_o,
  input  axi_write_rsp_t           mem_rsp_i
);
  localparam int unsigned PAIRS = 8;               // of a beat
  localparam int unsigned LaneW = $clog2(N) > 0 ? $clog2(N) : 1;

  typedef enum logic [1:0] {StIdle, StPairs, StEnd} state_e;
  state_e     state_q;
  logic       stopped_q, halt;
  logic [1:0] response_q;
  assign halt       = stop_i || stopped_q || response_q != '0;
  assign idle_o     = state_q == StIdle;
  assign done_o     = state_q == StEnd;
  assign response_o = response_q;

  // ---- Magnitudes
  logic                     word_room, word_valid, word_taken;
  logic [N-1:0][WORD_W-1:0] word;
  logic [$clog2(Slots+1)-1:0] unused_words;
  jd_stream_fifo #(
    .Width (N * WORD_W),
    .Depth (Slots)
  ) u_words (
    .clk_i, .rst_ni,
    .clear_i     (idle_o),
    .in_valid_i  (td_valid_i),
    .in_ready_o  (word_room),
    .in_data_i   (td_data_i),
    .out_valid_o (word_valid),
    .out_ready_i (word_taken),
    .out_data_o  (word),
    .count_o     (unused_words)
  );

  // ---- Pairs, to their places in a beat
  logic [VECTORS_W-1:0]             left_q;        // pairs
  logic [15:0]                      vector_q;
  logic [LaneW-1:0]                 lane_q;
  logic [PAIRS-1:0][1:0][WORD_W-1:0] beat_q, beat_d, out_q;
  logic [PAIRS-1:0]                 have_q, have, out_have_q;
  logic [39:0]                      out_address_q;
  logic                             command_q, data_q, command_ready, data_ready;
  logic                             pushes, full;
  assign full       = left_q == VECTORS_W'(1) || vector_q[2:0] == '1;
  assign pushes     = state_q == StPairs && left_q != '0 && word_valid && !halt
                      && (!full || !(command_q || data_q));
  assign word_taken = pushes && (left_q == VECTORS_W'(1) || 32'(lane_q) == N - 1);
  always_comb begin
    beat_d                  = beat_q;
    have                    = have_q;
    beat_d[vector_q[2:0]]   = {word[lane_q], 16'd0, vector_q};
    have[vector_q[2:0]]     = 1'b1;
  end

  // ---- Beats: a command for each
  logic       answer_valid, unused_write_idle;
  logic [1:0] answer;
  logic [4:0] open_q;                              // commands that are not answered
  logic       asked, over;
  assign asked   = command_q && command_ready;
  assign moved_o = data_q && data_ready;
  logic [PAIRS-1:0][7:0] strobes;
  always_comb begin
    for (int unsigned k = 0; k < PAIRS; k++) strobes[k] = {8{out_have_q[k]}};
  end
  jd_axi_write_mover #(
    .MaxOutstanding (16),
    .Burst          (2)
  ) u_write (
    .clk_i, .rst_ni,
    .idle_o        (unused_write_idle),
    .cmd_valid_i   (command_q),
    .cmd_ready_o   (command_ready),
    .cmd_address_i (out_address_q),
    .cmd_beats_i   (16'd1),
    .in_valid_i    (data_q),
    .in_ready_o    (data_ready),
    .in_data_i     (out_q),
    .in_strb_i     (strobes),
    .done_valid_o  (answer_valid),
    .done_ready_i  (1'b1),
    .done_resp_o   (answer),
    .mem_req_o,
    .mem_rsp_i
  );
  assign over = (halt || left_q == '0) && !command_q && !data_q && open_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q   <= StIdle;
      command_q <= 1'b0;
      data_q    <= 1'b0;
      open_q    <= '0;
    end else begin
      unique case (state_q)
        StIdle:  if (start_i) state_q <= StPairs;
        StPairs: if (over) state_q <= StEnd;
        default: state_q <= StIdle;
      endcase
      if (pushes && full) begin
        command_q <= 1'b1;
        data_q    <= 1'b1;
      end else begin
        if (asked)   command_q <= 1'b0;
        if (moved_o) data_q    <= 1'b0;
      end
      open_q <= open_q + 5'(asked) - 5'(answer_valid);
    end
    if (idle_o) begin
      stopped_q <= 1'b0;
      have_q    <= '0;
      lane_q    <= '0;
      left_q    <= vectors_i;
      vector_q  <= first_i;
      if (start_i) response_q <= '0;
    end else begin
      stopped_q <= stopped_q || stop_i;
      if (answer_valid && answer > response_q) response_q <= answer;
      if (pushes) begin
        beat_q   <= beat_d;
        have_q   <= full ? '0 : have;
        left_q   <= left_q - 1'b1;
        vector_q <= vector_q + 1'b1;
        lane_q   <= word_taken ? '0 : lane_q + 1'b1;
      end
      if (pushes && full) begin
        out_q         <= beat_d;
        out_have_q    <= have;
        out_address_q <= address_i + 40'({vector_q[15:3], 6'd0});
      end
    end
  end
  logic unused;
  assign unused = ^{unused_write_idle, unused_words};

  `JD_ASSUME_IF(StartsIdle_M, start_i, idle_o)
  `JD_ASSUME_IF(VectorsInRange_M, start_i, vectors_i != '0 && 32'(vectors_i) <= N * Slots)
  `JD_ASSUME_IF(Room_M, td_valid_i && state_q == StPairs, word_room)
endmodule : jd_qat_pairs
