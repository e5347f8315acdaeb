// SPDX-License-Identifier: Apache-2.0
//
// Moves rows of LW words between memory and the engine.
//
// Streams  read_i, write_i: begin a transfer while idle_o, one at a time. row_*: rows that were
//          read, in order. line_*: rows to write. done_o is high for one clock at the end of a
//          transfer, with its first error response. stop_i: no burst is requested but the one on
//          offer.
// Timing   A row per clock. A read requests at most 64 beats at a time, a write 16; each write
//          request takes one clock more. A requested write is finished under stop_i too, with rows
//          that the user still gives.
// Numbers  bits, unchanged. Rows from the beat of an error on are not given. line_words_i words of
//          the last row are written.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_qat_load
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw    = 16,              // words of a row: 4, 8, 16
  localparam int unsigned RowsW = 18
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic                      idle_o,
  input  logic                      read_i,
  input  logic                      write_i,
  input  logic [39:0]               address_i,     // a multiple of 64; with read_i or write_i
  input  logic [RowsW-1:0]          rows_i,        // 1..2^17
  input  logic [ROWS_W-1:0]         line_words_i,  // 1..Lw
  input  logic                      stop_i,
  output logic                      row_valid_o,
  input  logic                      row_ready_i,
  output logic [Lw-1:0][WORD_W-1:0] row_data_o,
  input  logic                      line_valid_i,
  output logic                      line_ready_o,
  input  logic [Lw-1:0][WORD_W-1:0] line_data_i,
  output logic                      done_o,
  output logic [1:0]                response_o,    // 0 if all went well
  output logic                      moved_o,       // a row was moved
  output axi_req_t                  mem_req_o,
  input  axi_rsp_t                  mem_rsp_i
);
  localparam int unsigned Units    = 16 / Lw;      // rows of a beat
  localparam int unsigned UnitW    = Units > 1 ? $clog2(Units) : 1;
  localparam int unsigned BeatsW   = RowsW;
  localparam logic [6:0]  READ     = 7'd64;        // beats of a command
  localparam logic [6:0]  WRITE    = 7'd16;

  logic              reading_q, writing_q, halt, begins;
  logic [39:0]       address_q;
  logic [BeatsW-1:0] beats_q;                      // not asked for
  logic [RowsW-1:0]  rows_q;                       // not moved
  logic [ROWS_W-1:0] words_q;
  logic [6:0]        beats;                        // of the next command
  logic [1:0]        response_q;
  logic [UnitW-1:0]  unit_q;                       // of the beat that is taken apart or made
  logic              ask, asked, last_unit;
  logic              offered_q;                    // a command, not taken: it stays
  assign begins    = read_i || write_i;
  assign halt      = stop_i || response_q != '0;
  assign beats     = beats_q < BeatsW'(reading_q ? READ : WRITE) ? 7'(beats_q)
                     : reading_q ? READ : WRITE;
  assign last_unit = 32'(unit_q) == Units - 1 || rows_q == RowsW'(1);

  // ---- Reading
  logic         read_ready, beat_valid, beat_taken, beat_last, read_idle;
  logic [511:0] beat;
  logic [1:0]   beat_response;
  jd_axi_read_queue #(
    .Depth          (128),
    .MaxOutstanding (4)
  ) u_read (
    .clk_i, .rst_ni,
    .idle_o        (read_idle),
    .cmd_valid_i   (reading_q && ask),
    .cmd_ready_o   (read_ready),
    .cmd_address_i (address_q),
    .cmd_beats_i   (16'(beats)),
    .out_valid_o   (beat_valid),
    .out_ready_i   (beat_taken),
    .out_data_o    (beat),
    .out_last_o    (beat_last),
    .out_resp_o    (beat_response),
    .mem_req_o     (mem_req_o.read),
    .mem_rsp_i     (mem_rsp_i.read)
  );
  logic drops;                                     // beats that nobody wants
  assign drops       = halt || beat_response[1];
  assign row_valid_o = reading_q && beat_valid && !drops;
  assign row_data_o  = beat[32'(unit_q) * Lw * WORD_W +: Lw * WORD_W];
  assign beat_taken  = drops || (row_ready_i && last_unit);

  // ---- Writing: a command first, and then its rows
  logic              write_ready, word_valid, word_ready, answer_valid, write_idle;
  logic [1:0]        answer;
  logic [6:0]        owed_q;                       // beats asked for, not given
  logic [15:0]       open_q;                       // commands not answered
  logic [Units-1:0][Lw-1:0][WORD_W-1:0] word_q, word;
  logic [Units-1:0][Lw-1:0][3:0]        strobes_q, strobes;
  assign line_ready_o = writing_q && owed_q != '0 && (!last_unit || word_ready);
  assign word_valid   = line_valid_i && writing_q && owed_q != '0 && last_unit;
  always_comb begin
    word    = word_q;
    strobes = unit_q == '0 ? '0 : strobes_q;
    word[unit_q] = line_data_i;
    for (int unsigned k = 0; k < Lw; k++) begin
      strobes[unit_q][k] = {4{rows_q != RowsW'(1) || ROWS_W'(k) < words_q}};
    end
  end
  jd_axi_write_queue #(
    .Burst          (16),
    .Depth          (32),
    .MaxOutstanding (4)
  ) u_write (
    .clk_i, .rst_ni,
    .idle_o        (write_idle),
    .cmd_valid_i   (writing_q && ask),
    .cmd_ready_o   (write_ready),
    .cmd_address_i (address_q),
    .cmd_beats_i   (16'(beats)),
    .in_valid_i    (word_valid),
    .in_ready_o    (word_ready),
    .in_data_i     (word),
    .in_strb_i     (strobes),
    .done_valid_o  (answer_valid),
    .done_ready_i  (1'b1),
    .done_resp_o   (answer),
    .mem_req_o     (mem_req_o.write),
    .mem_rsp_i     (mem_rsp_i.write)
  );

  // ---- The transfer
  logic row_moves, line_moves, over;
  assign ask        = beats_q != '0 && (!halt || offered_q)
                      && (reading_q || (writing_q && owed_q == '0));
  assign asked      = ask && (reading_q ? read_ready : write_ready);
  assign row_moves  = row_valid_o && row_ready_i;
  assign line_moves = line_valid_i && line_ready_o;
  assign moved_o    = row_moves || line_moves;
  assign over       = reading_q ? read_idle && (halt || rows_q == '0)
                      : owed_q == '0 && open_q == '0 && (halt || rows_q == '0);
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
      owed_q <= owed_q + (asked && writing_q ? beats : 7'd0) - 7'(word_valid && word_ready);
      open_q <= open_q + 16'(asked && writing_q) - 16'(answer_valid);
    end
    if (begins) begin
      address_q  <= address_i;
      rows_q     <= rows_i;
      beats_q    <= BeatsW'((32'(rows_i) + Units - 1) / Units);
      words_q    <= line_words_i;
      response_q <= '0;
      unit_q     <= '0;
    end else begin
      if (asked) begin
        address_q <= address_q + 40'({beats, 6'd0});
        beats_q   <= beats_q - BeatsW'(beats);
      end
      if (moved_o) begin
        rows_q <= rows_q - 1'b1;
        unit_q <= last_unit ? '0 : unit_q + 1'b1;
      end
      if (response_q == '0) begin
        if (reading_q && beat_valid && beat_response[1]) response_q <= beat_response;
        if (answer_valid && answer[1])                   response_q <= answer;
      end
    end
    if (line_moves) begin
      word_q    <= word;
      strobes_q <= strobes;
    end
  end
  logic unused;
  assign unused = ^{beat_last, write_idle};

  `JD_ASSUME_IF(OneAtATime_M, begins, idle_o && !(read_i && write_i) && rows_i != '0)
endmodule : jd_qat_load
