// SPDX-License-Identifier: Apache-2.0
//
// Sends the TD errors of a step to the replay engine (TDE), to memory, or to both.
//
// Streams  TD errors come as a pipe, in ascending order of slots. The tokens FETCH_DONE and ABORT
//          come as pulses. TDE words keep that order. The memory copy of a batch is written by one
//          command, once memory_go_i says that the step has no error.
// Timing   One word per clock. room_o, a register, says that a whole batch and its tokens fit.
//          Eight words are kept for tokens, including those that come in the clock by which room_o
//          is late.
// Numbers  TD errors pass unchanged. TDE word: delta 31:0, slot 47:32, kind 49:48 (0 TD error,
//          1 FETCH_DONE, 2 ABORT).
// Source   shell 2.1; learner 7. Golden model: models/learner/engine.py.
`include "jd_assert.svh"
module jd_learner_tde
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned BMax = 64,            // samples of a batch
  localparam int unsigned Depth  = 2 * BMax + 16,
  localparam int unsigned CountW = $clog2(Depth + 1)
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         link_clear_i,     // empties the TDE queue
  input  logic         memory_clear_i,   // drops deltas that wait for memory
  input  logic [15:0]  batch_i,
  input  logic         to_stream_i,
  input  logic         to_memory_i,
  input  logic         memory_go_i,      // level: the step is without error, its copy may go
  input  logic [39:0]  address_i,        // of the step's TD errors, held until memory_done_o
  input  logic         step_start_i,
  input  logic         delta_valid_i,
  input  logic [15:0]  delta_slot_i,
  input  logic [31:0]  delta_i,
  input  logic         fetch_done_i,
  input  logic         abort_i,
  output logic         room_o,
  output logic         empty_o,          // nothing waited for TDE one clock ago
  output logic         memory_done_o,    // the step's copy is written, or none is wanted
  output logic [1:0]   memory_resp_o,
  output logic         memory_busy_o,    // a command is out
  // TDE.
  output logic         tde_valid_o,
  input  logic         tde_ready_i,
  output logic [63:0]  tde_data_o,
  // Memory.
  output write_req_t   write_req_o,
  input  write_rsp_t   write_rsp_i
);
  // TDE: the tokens wait at most one clock for a delta that comes with them.
  logic              fetch_done_q, abort_q, push, in_ready;
  logic [63:0]       word;
  logic [CountW-1:0] count;
  always_comb begin
    push = 1'b1;
    word = {14'd0, 2'd0, delta_slot_i, delta_i};
    if (delta_valid_i && to_stream_i) word[49:48] = 2'd0;
    else if (fetch_done_q)            word = 64'd1 << 48;
    else if (abort_q)                 word = 64'd2 << 48;
    else                              push = 1'b0;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || link_clear_i) begin
      fetch_done_q <= 1'b0;
      abort_q      <= 1'b0;
    end else if (!(delta_valid_i && to_stream_i) && in_ready) begin
      fetch_done_q <= fetch_done_i;
      abort_q      <= abort_i || (abort_q && fetch_done_q);
    end else begin
      fetch_done_q <= fetch_done_q || fetch_done_i;
      abort_q      <= abort_q || abort_i;
    end
  end
  jd_stream_fifo #(.Width (64), .Depth (Depth)) u_tde (
    .clk_i, .rst_ni,
    .clear_i     (link_clear_i),
    .in_valid_i  (push),
    .in_ready_o  (in_ready),
    .in_data_i   (word),
    .out_valid_o (tde_valid_o),
    .out_ready_i (tde_ready_i),
    .out_data_o  (tde_data_o),
    .count_o     (count)
  );
  // A batch is no larger than the queue, less the tokens, while there is one.
  logic [15:0] room_limit_q;
  always_ff @(posedge clk_i) begin
    room_limit_q <= 16'(Depth - 8) - batch_i;
    room_o       <= 16'(count) <= room_limit_q;
    empty_o      <= !tde_valid_o && count == '0 && !fetch_done_q && !abort_q;
  end

  // Memory: deltas are gathered to beats in a queue of their own.
  typedef enum logic [2:0] { StIdle, StGather, StCommand, StData, StAnswer, StDone } state_e;
  state_e       state_q;
  logic [15:0]  left_q;                        // words to send
  logic         word_last_q, all_sent_q;       // one, none
  logic         offer, pop, word_valid, word_ready, beat_valid, sending;
  logic [31:0]  queue_data;
  logic [4:0]   words;                         // of the beat that goes out next

  logic                        unused_ready;
  logic [$clog2(BMax + 1)-1:0] unused_count;
  jd_stream_fifo #(.Width (32), .Depth (BMax)) u_memory (
    .clk_i, .rst_ni,
    .clear_i     (memory_clear_i || step_start_i),
    .in_valid_i  (delta_valid_i && to_memory_i),
    .in_ready_o  (unused_ready),
    .in_data_i   (delta_i),
    .out_valid_o (word_valid),
    .out_ready_i (pop),
    .out_data_o  (queue_data),
    .count_o     (unused_count)
  );

  // The first beat is gathered before the step is judged.
  assign offer   = state_q inside {StGather, StCommand, StData} && word_valid && !all_sent_q;
  assign pop     = offer && word_ready;
  assign sending = state_q inside {StData, StAnswer};
  jd_stream_width #(.InW (32), .OutW (512)) u_beat (
    .clk_i, .rst_ni,
    .clear_i     (step_start_i || memory_clear_i),
    .flush_i     (all_sent_q),
    .in_valid_i  (offer),
    .in_ready_o  (word_ready),
    .in_data_i   (queue_data),
    .in_count_i  (5'd1),
    .out_valid_o (beat_valid),
    .out_ready_i (write_rsp_i.ready && sending),
    .out_data_o  (write_req_o.data),
    .out_count_o (words)
  );

  assign write_req_o.cmd_valid   = state_q == StCommand;
  assign write_req_o.cmd_address = address_i;
  assign write_req_o.cmd_beats   = (batch_i + 16'd15) >> 4;
  assign write_req_o.valid       = beat_valid && sending;
  assign write_req_o.strb        = ~(~64'd0 << {words, 2'd0});
  assign write_req_o.done_ready  = state_q == StAnswer;
  assign memory_done_o           = state_q == StDone;
  assign memory_busy_o           = state_q inside {StCommand, StData, StAnswer};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: begin end
        StGather: begin
          if (memory_clear_i) state_q <= StIdle;
          else if (!to_memory_i) state_q <= StDone;
          else if (memory_go_i) state_q <= StCommand;
        end
        StCommand: if (write_rsp_i.cmd_ready) state_q <= StData;
        StData: if (all_sent_q) state_q <= StAnswer;
        StAnswer: if (write_rsp_i.done_valid) state_q <= StDone;
        default: if (memory_clear_i) state_q <= StIdle;
      endcase
      if (step_start_i) state_q <= StGather;
    end
    if (step_start_i) begin
      left_q        <= batch_i;
      word_last_q   <= batch_i == 16'd1;
      all_sent_q    <= 1'b0;
      memory_resp_o <= '0;
    end else begin
      if (pop) begin
        left_q      <= left_q - 16'd1;
        word_last_q <= left_q == 16'd2;
        all_sent_q  <= word_last_q;
      end
      if (state_q == StAnswer) memory_resp_o <= write_rsp_i.done_resp; // the last clock's stays
    end
  end

  `JD_ASSERT_IF(DeltaHasRoom_A, push && delta_valid_i, in_ready)
  `JD_ASSERT_IF(LastWord_A, state_q inside {StGather, StData},
                word_last_q == (left_q == 16'd1) && all_sent_q == (left_q == '0))
  `JD_ASSERT_IF(MemoryHasRoom_A, delta_valid_i && to_memory_i, unused_ready)
endmodule : jd_learner_tde
