// SPDX-License-Identifier: Apache-2.0
//
// Reads a vector, multiplies and adds, writes the result: 16 words per clock.
//
// Streams  start: a job that was checked. done: the job ended, with its first failure. memory_*:
//          the client of the memory port.
// Timing   A beat per clock. Reads are requested only with room for their data, so R never waits;
//          a write only with its burst's data at hand. Bursts have 16 beats; the last one may be
//          shorter.
// Numbers  FP32, multiplied and then added, each rounded; words beyond the count are not written.
// Source   docs/new-engine.md. Golden model: examples/engine_scale/engine_scale/model.py.
`include "jd_assert.svh"
module jd_scale_work
  import jd_axi_pkg::*;
#(
  parameter int unsigned MulLatency = 2,     // clocks, 1..4
  parameter int unsigned AddLatency = 2,     // 1..6
  parameter int unsigned Depth      = 128    // beats between reading and writing: 32, 64, 128, 256
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          start_valid_i,       // while idle
  input  logic [19:0]   count_i,             // words, 1..2^19
  input  logic [31:0]   a_i,
  input  logic [31:0]   b_i,
  input  logic [39:0]   source_i,            // multiples of 64
  input  logic [39:0]   target_i,
  input  logic          stop_i,              // ask for nothing more; done when nothing is out
  output logic          idle_o,
  output logic          done_valid_o,        // one clock
  output logic          read_failed_o,       // with done: at error_address_o
  output logic          write_failed_o,
  output logic [39:0]   error_address_o,     // of the beat read, or of the burst written
  output logic [1:0]    error_response_o,
  output logic          moved_o,             // a beat was read or written
  output axi_req_t      mem_req_o,
  input  axi_rsp_t      mem_rsp_i
);
  localparam int unsigned Lanes   = 16;
  localparam logic [15:0] BURST   = 16'd16;                   // beats
  localparam int unsigned CountW  = $clog2(Depth + 1);
  if (!(Depth inside {32, 64, 128, 256})) begin : gen_bad_depth
    $fatal(1, "jd_scale_work: Depth=%0d, want 32, 64, 128 or 256", Depth);
  end

  // Beats: still to be asked for, still to be written; a burst is as long as what is left allows.
  logic        running_q;
  logic [15:0] read_left_q, write_left_q, answers_left_q;
  logic [39:0] read_address_q, write_address_q, answered_q, beat_address_q;
  logic [31:0] a_q, b_q;
  logic [3:0]  last_words_q;                                  // of the last beat, 0: 16
  logic        failed_q;
  logic [4:0]  read_beats, write_beats;
  assign read_beats  = read_left_q  > BURST ? 5'(BURST) : read_left_q[4:0];
  assign write_beats = write_left_q > BURST ? 5'(BURST) : write_left_q[4:0];

  // ---- Reading: room is reserved before a burst is asked for
  logic [CountW-1:0] reserved_q;                              // beats in the buffer or on their way
  logic        read_valid, read_ready, beat_valid, read_idle, popped, halt, unused_last;
  logic [511:0] beat;
  logic [1:0]  beat_response;
  assign halt = stop_i || failed_q;
  logic read_taken, read_offered_q;                           // what is offered stays until taken
  assign read_valid = read_offered_q || (running_q && !halt && read_left_q != '0
                      && 32'(reserved_q) + 32'(read_beats) <= Depth);
  assign read_taken = read_valid && read_ready;
  jd_axi_read_mover #(
    .MaxOutstanding (16)
  ) u_read (
    .clk_i,
    .rst_ni,
    .idle_o          (read_idle),
    .cmd_valid_i     (read_valid),
    .cmd_ready_o     (read_ready),
    .cmd_address_i   (read_address_q),
    .cmd_beats_i     (16'(read_beats)),
    .out_valid_o     (beat_valid),
    .out_ready_i     (1'b1),
    .out_data_o      (beat),
    .out_last_o      (unused_last),
    .out_resp_o      (beat_response),
    .mem_req_o       (mem_req_o.read),
    .mem_rsp_i       (mem_rsp_i.read)
  );

  // ---- Arithmetic: pipes that never stall
  logic [Lanes-1:0] scaled;
  logic [511:0] result;
  for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lane
    logic product_valid;
    logic [31:0] product;
    jd_float_mul #(
      .Latency (MulLatency)
    ) u_mul (
      .clk_i,
      .rst_ni,
      .valid_i  (beat_valid),
      .a_i      (beat[32*lane+:32]),
      .b_i      (a_q),
      .valid_o  (product_valid),
      .result_o (product)
    );
    jd_float_add #(
      .Latency (AddLatency)
    ) u_add (
      .clk_i,
      .rst_ni,
      .valid_i    (product_valid),
      .subtract_i (1'b0),
      .a_i        (product),
      .b_i        (b_q),
      .valid_o    (scaled[lane]),
      .result_o   (result[32*lane+:32])
    );
  end

  // ---- The buffer
  logic         held, unused_room, clear;
  logic [511:0] oldest;
  logic [CountW-1:0] held_count;
  jd_stream_fifo #(
    .Width (512),
    .Depth (Depth)
  ) u_buffer (
    .clk_i,
    .rst_ni,
    .clear_i     (clear),
    .in_valid_i  (scaled[0]),
    .in_ready_o  (unused_room),
    .in_data_i   (result),
    .out_valid_o (held),
    .out_ready_i (popped),
    .out_data_o  (oldest),
    .count_o     (held_count)
  );
  // ---- Writing: a burst is asked for when its beats are in the buffer
  logic [CountW-1:0] granted_q;  // beats of bursts asked for, not taken
  logic [15:0] beats_left_q;                                  // not yet given to the writer
  logic        write_valid, write_ready, word_ready, answer_valid, write_idle;
  logic [1:0]  answer;
  logic [63:0] strobes;
  logic write_taken, write_offered_q;
  assign write_valid = write_offered_q || (running_q && !halt && write_left_q != '0
                       && 32'(held_count) >= 32'(granted_q) + 32'(write_beats));
  assign write_taken = write_valid && write_ready;
  assign popped = held && granted_q != '0 && word_ready;
  always_comb begin
    strobes = '1;
    if (beats_left_q == 16'd1 && last_words_q != '0) begin
      for (int unsigned word = 0; word < Lanes; word++) begin
        strobes[4*word+:4] = {4{word < 32'(last_words_q)}};
      end
    end
  end
  jd_axi_write_mover #(
    .MaxOutstanding (16)
  ) u_write (
    .clk_i,
    .rst_ni,
    .idle_o          (write_idle),
    .cmd_valid_i     (write_valid),
    .cmd_ready_o     (write_ready),
    .cmd_address_i   (write_address_q),
    .cmd_beats_i     (16'(write_beats)),
    .in_valid_i      (held && granted_q != '0),
    .in_ready_o      (word_ready),
    .in_data_i       (oldest),
    .in_strb_i       (strobes),
    .done_valid_o    (answer_valid),
    .done_ready_i    (1'b1),
    .done_resp_o     (answer),
    .mem_req_o       (mem_req_o.write),
    .mem_rsp_i       (mem_rsp_i.write)
  );
  logic unused;
  assign unused = ^{scaled[Lanes-1:1], unused_last};

  // ---- The job
  localparam int unsigned PIPE = MulLatency + AddLatency;
  logic [$clog2(PIPE+2)-1:0] settle_q;                        // clocks until the pipes are empty
  logic drained, ended;
  assign drained = read_idle && !beat_valid && settle_q == '0 && granted_q == '0 && write_idle
                   && !answer_valid && !read_offered_q && !write_offered_q;
  assign ended   = running_q && (answers_left_q == '0 || (halt && drained));
  assign clear   = ended;
  assign idle_o  = !running_q && drained;
  assign moved_o = beat_valid || popped;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      running_q       <= 1'b0;
      read_offered_q  <= 1'b0;
      write_offered_q <= 1'b0;
      done_valid_o    <= 1'b0;
      granted_q    <= '0;
      reserved_q   <= '0;
      settle_q     <= '0;
    end else begin
      running_q       <= start_valid_i || (running_q && !ended);
      read_offered_q  <= read_valid && !read_ready;
      write_offered_q <= write_valid && !write_ready;
      done_valid_o    <= ended;
      granted_q    <= granted_q + (write_taken ? CountW'(write_beats) : '0) - CountW'(popped);
      reserved_q   <= ended ? '0 : reserved_q + (read_taken ? CountW'(read_beats) : '0)
                                   - CountW'(popped);
      if (beat_valid) settle_q <= ($bits(settle_q))'(PIPE + 1);
      else if (settle_q != '0) settle_q <= settle_q - 1'b1;
    end
    if (read_taken) begin
      read_left_q    <= read_left_q - 16'(read_beats);
      read_address_q <= read_address_q + 40'({read_beats, 6'd0});
    end
    if (write_taken) begin
      write_left_q    <= write_left_q - 16'(write_beats);
      write_address_q <= write_address_q + 40'({write_beats, 6'd0});
    end
    if (popped) beats_left_q <= beats_left_q - 16'd1;
    if (beat_valid) begin
      beat_address_q <= beat_address_q + 40'd64;
      if (beat_response[1] && !failed_q) begin
        failed_q         <= 1'b1;
        read_failed_o    <= 1'b1;
        error_address_o  <= beat_address_q;
        error_response_o <= beat_response;
      end
    end
    if (answer_valid) begin
      answers_left_q <= answers_left_q > BURST ? answers_left_q - BURST : '0;
      answered_q     <= answered_q + 40'({BURST, 6'd0});
      if (answer[1] && !failed_q && !(beat_valid && beat_response[1])) begin
        failed_q         <= 1'b1;
        write_failed_o   <= 1'b1;
        error_address_o  <= answered_q;
        error_response_o <= answer;
      end
    end
    if (start_valid_i) begin
      a_q             <= a_i;
      b_q             <= b_i;
      read_address_q  <= source_i;
      beat_address_q  <= source_i;
      write_address_q <= target_i;
      answered_q      <= target_i;
      read_left_q     <= count_i[19:4] + 16'(count_i[3:0] != '0);
      write_left_q    <= count_i[19:4] + 16'(count_i[3:0] != '0);
      beats_left_q    <= count_i[19:4] + 16'(count_i[3:0] != '0);
      answers_left_q  <= count_i[19:4] + 16'(count_i[3:0] != '0);
      last_words_q    <= count_i[3:0];
      failed_q        <= 1'b0;
      read_failed_o   <= 1'b0;
      write_failed_o  <= 1'b0;
    end
  end

  `JD_ASSUME_IF(StartWhileIdle_M, start_valid_i, idle_o)
  `JD_ASSERT_IF(Room_A, scaled[0], unused_room)
  `JD_ASSERT_IF(NeverHoldsUpRead_A, mem_rsp_i.read.rvalid, mem_req_o.read.rready)
  `JD_ASSERT(DataAtHand_A, granted_q <= held_count)
endmodule : jd_scale_work
