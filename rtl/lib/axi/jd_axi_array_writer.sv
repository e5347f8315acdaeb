// SPDX-License-Identifier: Apache-2.0
//
// Writes elements of 16 bytes to consecutive addresses of device memory, four per beat.
//
// Streams  in_*: the elements. mem_*: the port.
// Timing   start_i (a pulse, while idle_o) begins; one element per clock. One command writes four
//          beats. flush_i (level, after the last element) writes the rest; idle_o is high when the
//          memory has answered all of it. After an error, and while abort_i is high, everything
//          that is not requested yet is dropped.
// Numbers  bits, unchanged.
// Source   docs/interfaces.md, library.
`include "jd_assert.svh"
module jd_axi_array_writer
  import jd_axi_pkg::*;
(
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           start_i,
  input  logic [39:0]    address_i,
  input  logic           flush_i,
  input  logic           abort_i,
  input  logic           in_valid_i,
  output logic           in_ready_o,
  input  logic [127:0]   in_data_i,
  output logic           error_o,
  output logic [1:0]     response_o,
  output logic           idle_o,
  output axi_write_req_t mem_req_o,
  input  axi_write_rsp_t mem_rsp_i
);
  localparam int unsigned CHUNK = 4;    // beats of a command
  localparam int unsigned DEPTH = 16;   // beats held
  localparam int unsigned CountW = $clog2(DEPTH + 1);

  // ---- Four elements to a beat; a beat carries the number of its elements, less one.
  logic              push, push_ready;
  logic [511:0]      push_data;
  logic [2:0]        fill;             // elements of the next beat
  logic              beat_valid, beat_ready;
  logic [513:0]      beat_data;
  logic              flush_q;
  jd_stream_width #(
    .InW (128),
    .OutW(512)
  ) u_beat (
    .clk_i,
    .rst_ni,
    .clear_i     (start_i),
    .flush_i     (flush_q),
    .in_valid_i,
    .in_ready_o,
    .in_data_i,
    .in_count_i  (3'd1),
    .out_valid_o (push),
    .out_ready_i (push_ready),
    .out_data_o  (push_data),
    .out_count_o (fill)
  );

  logic [CountW-1:0] unused_count;
  logic              unused;
  assign unused = ^unused_count;

  jd_stream_fifo #(
    .Width(514),
    .Depth(DEPTH)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (push),
    .in_ready_o  (push_ready),
    .in_data_i   ({2'(fill - 3'd1), push_data}),
    .out_valid_o (beat_valid),
    .out_ready_i (beat_ready),
    .out_data_o  (beat_data),
    .count_o     (unused_count)
  );

  // ---- Commands: for beats that are in the buffer
  logic [CountW-1:0] waiting_q;        // beats without a command
  logic [CountW-1:0] sending_q;        // beats with one that have not gone to the mover
  logic [39:0]       address_q;
  logic              command_q, command_ready;
  logic [2:0]        beats_q;
  logic              mover_ready, mover_idle, done_valid;
  logic [1:0]        done_response;
  logic              ask, drop, halt, idle;
  logic [CountW-1:0] asked, with_push, without;   // of a command; what waiting_q gains
  logic [2:0]        ask_beats;
  assign halt      = error_o || abort_i;
  assign drop      = halt && !command_q && sending_q == '0 && waiting_q != '0 && beat_valid;
  assign ask_beats = waiting_q >= CountW'(CHUNK) ? 3'(CHUNK) : 3'(waiting_q);
  assign ask       = !command_q && !halt &&
                     (waiting_q >= CountW'(CHUNK) || (flush_q && fill == '0 && waiting_q != '0));
  assign asked      = ask ? CountW'(ask_beats) : '0;
  assign without    = ask ? -CountW'(ask_beats) : -CountW'(drop);
  assign with_push  = ask ? CountW'(1) - CountW'(ask_beats) : CountW'(!drop);
  assign beat_ready = sending_q != '0 ? mover_ready : drop;
  assign idle       = fill == '0 && waiting_q == '0 && sending_q == '0 &&
                      !command_q && mover_idle;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      flush_q   <= 1'b0;
      waiting_q <= '0;
      sending_q <= '0;
      command_q <= 1'b0;
      error_o   <= 1'b0;
      idle_o    <= 1'b1;
    end else begin
      idle_o    <= idle && !in_valid_i;   // it stays so until a word comes
      flush_q   <= flush_i;
      // One sum each, of a step that is chosen by then; beats are dropped only when none is asked
      // for.
      waiting_q <= waiting_q + (push && push_ready ? with_push : without);
      sending_q <= sending_q + (sending_q != '0 && beat_valid && mover_ready ? asked - CountW'(1)
                                                                             : asked);
      if (ask)                command_q <= 1'b1;
      else if (command_ready) command_q <= 1'b0;
      if (start_i)                              error_o <= 1'b0;
      else if (done_valid && done_response[1])  error_o <= 1'b1;
    end
    if (ask) beats_q <= ask_beats;
    if (start_i)                          address_q <= address_i;
    else if (command_q && command_ready)  address_q <= address_q + {31'd0, beats_q, 6'd0};
    if (done_valid && done_response[1] && !error_o) response_o <= done_response;
  end

  logic [63:0] strobes;
  assign strobes = ~(64'hFFFF_FFFF_FFFF_0000 << {beat_data[513:512], 4'd0});

  jd_axi_write_mover #(
    .MaxOutstanding(5)
  ) u_mover (
    .clk_i,
    .rst_ni,
    .cmd_valid_i    (command_q),
    .cmd_ready_o    (command_ready),
    .cmd_address_i  (address_q),
    .cmd_beats_i    (16'(beats_q)),
    .in_valid_i     (beat_valid && sending_q != '0),
    .in_ready_o     (mover_ready),
    .in_data_i      (beat_data[511:0]),
    .in_strb_i      (strobes),
    .done_valid_o   (done_valid),
    .done_ready_i   (1'b1),
    .done_resp_o    (done_response),
    .idle_o         (mover_idle),
    .mem_req_o,
    .mem_rsp_i
  );

  `JD_ASSERT_IF(Idle_A, idle_o, idle)
  `JD_ASSUME_IF(StartWhileIdle_M, start_i, idle_o && address_i[5:0] == '0)
endmodule : jd_axi_array_writer
