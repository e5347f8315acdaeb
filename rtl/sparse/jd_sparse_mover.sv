// SPDX-License-Identifier: Apache-2.0
//
// Moves lines of 64 bytes between memory and the engine, a transfer at a time.
//
// Streams  read_i, write_i: begin a transfer while idle_o. out: lines that were read, in order. in:
//          lines to write. done_o is high for one clock at the end of a transfer, with its first
//          error response. stop_i: no burst is asked for but the one on offer.
// Timing   A line per clock. A read asks for at most 64 lines at a time, a write for 16; each write
//          request takes one clock more. After an error, and under stop_i, a requested write is
//          finished with lines of which no byte is written.
// Numbers  bits, unchanged. Lines from that of an error on are not given.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_sparse_mover
  import jd_axi_pkg::*;
  import jd_sparse_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic               idle_o,
  input  logic               read_i,
  input  logic               write_i,
  input  logic [39:0]        address_i,     // a multiple of 64; with read_i or write_i
  input  logic [BEATS_W-1:0] lines_i,       // 1..
  input  logic               stop_i,
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [511:0]       out_data_o,
  input  logic               in_valid_i,
  output logic               in_ready_o,
  input  logic [511:0]       in_data_i,
  output logic               done_o,
  output logic [1:0]         response_o,    // 0 if all went well
  output logic               moved_o,       // a line was moved
  output axi_req_t           mem_req_o,
  input  axi_rsp_t           mem_rsp_i
);
  localparam logic [6:0] READ  = 7'd64;     // lines of a command
  localparam logic [6:0] WRITE = 7'd16;

  logic               reading_q, writing_q, halt;
  logic [39:0]        address_q;
  logic [BEATS_W-1:0] asks_q, left_q;       // lines not asked for, not moved
  logic [6:0]         lines;                // of the next command
  logic [1:0]         response_q;
  logic               ask, asked, offered_q;
  assign halt  = stop_i || response_q != '0;
  assign lines = asks_q < BEATS_W'(reading_q ? READ : WRITE) ? 7'(asks_q)
                 : reading_q ? READ : WRITE;

  // ---- Reading
  logic       read_ready, line_valid, line_taken, unused_last, read_idle, drops;
  logic [1:0] line_response;
  jd_axi_read_queue #(.Depth (128), .MaxOutstanding (4)) u_read (
    .clk_i, .rst_ni,
    .idle_o        (read_idle),
    .cmd_valid_i   (reading_q && ask),
    .cmd_ready_o   (read_ready),
    .cmd_address_i (address_q),
    .cmd_beats_i   (16'(lines)),
    .out_valid_o   (line_valid),
    .out_ready_i   (line_taken),
    .out_data_o,
    .out_last_o    (unused_last),
    .out_resp_o    (line_response),
    .mem_req_o     (mem_req_o.read),
    .mem_rsp_i     (mem_rsp_i.read)
  );
  assign drops       = halt || line_response[1];
  assign out_valid_o = reading_q && line_valid && !drops;
  assign line_taken  = drops || out_ready_i;

  // ---- Writing: a command first, and then its lines
  logic       write_ready, word_valid, word_ready, answer_valid, unused_idle;
  logic [1:0] answer;
  logic [6:0] owed_q;                       // lines asked for, not given
  logic [2:0] open_q;                       // commands not answered
  assign in_ready_o = writing_q && owed_q != '0 && word_ready && !halt;
  assign word_valid = writing_q && owed_q != '0 && (in_valid_i || halt);
  jd_axi_write_queue #(.Burst (16), .Depth (32), .MaxOutstanding (4)) u_write (
    .clk_i, .rst_ni,
    .idle_o        (unused_idle),
    .cmd_valid_i   (writing_q && ask),
    .cmd_ready_o   (write_ready),
    .cmd_address_i (address_q),
    .cmd_beats_i   (16'(lines)),
    .in_valid_i    (word_valid),
    .in_ready_o    (word_ready),
    .in_data_i,
    .in_strb_i     (halt ? '0 : '1),
    .done_valid_o  (answer_valid),
    .done_ready_i  (1'b1),
    .done_resp_o   (answer),
    .mem_req_o     (mem_req_o.write),
    .mem_rsp_i     (mem_rsp_i.write)
  );

  // ---- The transfer
  logic over, word_moves;
  assign ask        = asks_q != '0 && (!halt || offered_q)
                      && (reading_q || (writing_q && owed_q == '0 && open_q < 3'd4));
  assign asked      = ask && (reading_q ? read_ready : write_ready);
  assign word_moves = word_valid && word_ready;
  assign moved_o    = (out_valid_o && out_ready_i) || word_moves;
  assign over       = !ask && (reading_q ? read_idle && (halt || left_q == '0)
                               : owed_q == '0 && open_q == '0 && (halt || left_q == '0));
  assign idle_o     = !reading_q && !writing_q;
  assign response_o = response_q;
  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    if (!rst_ni) begin
      reading_q <= 1'b0;
      writing_q <= 1'b0;
      owed_q    <= '0;
      open_q    <= '0;
      offered_q <= 1'b0;
    end else begin
      offered_q <= ask && !asked;
      if (read_i)  reading_q <= 1'b1;
      if (write_i) writing_q <= 1'b1;
      if (!idle_o && over) begin
        reading_q <= 1'b0;
        writing_q <= 1'b0;
        done_o    <= 1'b1;
      end
      owed_q <= owed_q + (asked && writing_q ? lines : 7'd0) - 7'(word_moves);
      open_q <= open_q + 3'(asked && writing_q) - 3'(answer_valid);
    end
    if (read_i || write_i) begin
      address_q  <= address_i;
      asks_q     <= lines_i;
      left_q     <= lines_i;
      response_q <= '0;
    end else begin
      if (asked) begin
        address_q <= address_q + 40'({lines, 6'd0});
        asks_q    <= asks_q - BEATS_W'(lines);
      end
      if (moved_o) left_q <= left_q - 1'b1;
      if (response_q == '0) begin
        if (reading_q && line_valid && line_response[1]) response_q <= line_response;
        if (answer_valid && answer[1])                   response_q <= answer;
      end
    end
  end
  logic unused;
  assign unused = ^{unused_last, unused_idle};

  `JD_ASSUME_IF(OneAtATime_M, read_i || write_i, idle_o && !(read_i && write_i) && lines_i != '0)
endmodule : jd_sparse_mover
