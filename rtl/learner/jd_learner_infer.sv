// SPDX-License-Identifier: Apache-2.0
//
// Writes the results of a round of INFER from the sample frames to memory.
//
// Streams  job_start_i takes the address. start_i begins a round; done_o is high for one clock when
//          the write of the round has been answered. Rounds are consecutive in memory. Rows of the
//          frames are read while the pipelines rest; their words come RESULT_LATENCY clocks later.
// Timing   A vector takes 5 clocks, one per word, and one for each lane before its first word; each
//          further row takes RESULT_LATENCY + 1 more, each further beat 1 more. Then the memory
//          answers.
// Numbers  bits, unchanged. A vector is padded with +0 to a multiple of 16 words.
// Source   learner 4.1. Golden model: models/learner/engine.py, _infer.
`include "jd_assert.svh"
module jd_learner_infer
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned P      = 16,    // words of a frame row
  parameter  int unsigned DP     = 1,     // pipelines: sample b is in b % DP, there it is b / DP
  localparam int unsigned LANE_L = $clog2(P),
  localparam int unsigned PipeW  = $clog2(DP) > 0 ? $clog2(DP) : 1
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               job_start_i,
  input  logic [39:0]        address_i,       // with job_start_i, a multiple of 64
  // A round; held until done_o.
  input  logic               start_i,
  input  logic [15:0]        count_i,         // with start_i: vectors, 1..BMax
  input  logic [7:0]         row_i,           // with start_i: of the first sample's result
  input  logic [LANE_L-1:0]  lane_i,          // of its first word
  input  logic [15:0]        words_i,         // of a vector, 1..DMax
  input  logic [7:0]         frame_rows_i,    // of a sample
  output logic               busy_o,
  output logic               done_o,
  output logic [1:0]         response_o,      // with done_o: 0, or the bus's error
  // Frames.
  output logic               read_o,
  output logic [PipeW-1:0]   read_pipe_o,
  output logic [15:0]        read_row_o,
  input  logic [P-1:0][31:0] data_i,
  // Memory.
  output write_req_t         write_req_o,
  input  write_rsp_t         write_rsp_i
);
  typedef enum logic [3:0] {
    StIdle, StStart, StCommand, StRead, StWait, StWord, StSend, StAnswer, StDone
  } state_e;
  state_e                    state_q, state_d;
  logic [39:0]               address_q;
  logic [15:0]               left_q;          // vectors left, the present one included
  logic [15:0]               vector_beats_q, beats_q;
  logic [15:0]               frame_q;         // row of the result in the present frame
  logic [15:0]               row_q;           // row of it that is read
  logic [PipeW-1:0]          pipe_q;
  logic [15:0]               words_q;         // of the vector, not yet in a beat
  logic [LANE_L-1:0]         skip_q;          // lanes before the vector's first word
  logic [LANE_L:0]           lanes_q;         // of the present row
  logic [P-1:0][31:0]        lane_q;          // the row, moved down by a word per clock
  logic [15:0][31:0]         beat_q;
  logic [3:0]                word_q;
  logic [RESULT_LATENCY-1:0] wait_q;
  logic                      sent, take, row_over, vector_over, beat_over;

  assign sent        = state_q == StSend && write_rsp_i.ready;
  assign take        = state_q == StWord && skip_q == '0;
  assign row_over    = lanes_q == (LANE_L + 1)'(1);
  assign vector_over = words_q == 16'd1;
  assign beat_over   = vector_over || word_q == 4'd15;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:    if (start_i) state_d = StStart;
      StStart:   state_d = StCommand;
      StCommand: if (write_rsp_i.cmd_ready) state_d = StRead;
      StRead:    state_d = StWait;
      StWait:    if (wait_q[RESULT_LATENCY-1]) state_d = StWord;
      StWord: begin
        if (take && beat_over) state_d = StSend;
        else if (row_over)     state_d = StRead;
      end
      StSend: begin
        if (write_rsp_i.ready) begin
          if (words_q == '0 && left_q == 16'd1)     state_d = StAnswer;
          else if (words_q == '0 || lanes_q == '0) state_d = StRead;
          else                                     state_d = StWord;
        end
      end
      StAnswer: if (write_rsp_i.done_valid) state_d = StDone;
      default:  state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    vector_beats_q <= (words_i + 16'd15) >> 4;
    beats_q        <= 16'(left_q[9:0] * vector_beats_q[5:0]);
    wait_q         <= state_q == StWait ? wait_q << 1 : RESULT_LATENCY'(1);
    if (job_start_i) begin
      address_q <= address_i;
    end else if (state_q == StCommand && write_rsp_i.cmd_ready) begin
      address_q <= address_q + {18'd0, beats_q, 6'd0};
    end
    if (state_q == StIdle && start_i) begin
      left_q  <= count_i;
      frame_q <= 16'(row_i);
      row_q   <= 16'(row_i);
      pipe_q  <= '0;
    end else if (sent && words_q == '0) begin
      left_q <= left_q - 16'd1;
      pipe_q <= PipeW'((32'(pipe_q) + 32'd1) % DP);
      row_q  <= frame_q;
      if (pipe_q == PipeW'(DP - 1)) begin
        frame_q <= frame_q + 16'(frame_rows_i);
        row_q   <= frame_q + 16'(frame_rows_i);
      end
    end else if (state_q == StRead) begin
      row_q <= row_q + 16'd1;
    end
    if (state_q == StStart || (sent && words_q == '0)) begin
      words_q <= words_i;
      skip_q  <= lane_i;
    end else if (take) begin
      words_q <= words_q - 16'd1;
    end else if (state_q == StWord) begin
      skip_q <= skip_q - 1'b1;
    end
    if (state_q == StWait) begin
      lane_q  <= data_i;
      lanes_q <= (LANE_L + 1)'(P);
    end else if (state_q == StWord) begin
      lane_q  <= lane_q >> 32;
      lanes_q <= lanes_q - 1'b1;
    end
    if (state_q == StStart || sent) begin
      beat_q <= '0;
      word_q <= '0;
    end else if (take) begin
      beat_q[word_q] <= lane_q[0];
      word_q         <= word_q + 4'd1;
    end
    if (state_q == StAnswer) response_o <= write_rsp_i.done_resp;   // that of the last clock stays
  end

  assign busy_o                  = state_q != StIdle;
  assign done_o                  = state_q == StDone;
  assign read_o                  = state_q == StRead;
  assign read_pipe_o             = pipe_q;
  assign read_row_o              = row_q;
  assign write_req_o.cmd_valid   = state_q == StCommand;
  assign write_req_o.cmd_address = address_q;
  assign write_req_o.cmd_beats   = beats_q;
  assign write_req_o.valid       = state_q == StSend;
  assign write_req_o.data        = beat_q;
  assign write_req_o.strb        = '1;
  assign write_req_o.done_ready  = state_q == StAnswer;

  `JD_ASSERT_IF(StartWhenIdle_A, start_i, !busy_o && count_i != '0 && words_i != '0)
  `JD_ASSERT_STREAM(CommandStable_A, write_req_o.cmd_valid, write_rsp_i.cmd_ready,
                    {write_req_o.cmd_address, write_req_o.cmd_beats})
  `JD_ASSERT_STREAM(BeatStable_A, write_req_o.valid, write_rsp_i.ready, write_req_o.data)
endmodule : jd_learner_infer
