// SPDX-License-Identifier: Apache-2.0
//
// Saves rows of the feature-map buffer to memory.
//
// Streams  job: rows that are consecutive in the buffer and in memory, with the number of the
//          descriptor's word that holds the address (for errors). Up to JOBS jobs wait in a queue.
//          read: rows of the buffer; read_data_i is sampled exactly 2 clocks after a read.
//          error: a burst was answered with an error.
//          failed_i: drop all jobs, also the rest of the current one; bursts that have begun are
//          finished. It stays high until busy_o is low.
// Timing   A row per clock. A burst has at most 16 rows and is requested once all of them have been
//          read. busy_o: a job is waiting, running or not yet answered. After stop_i no burst
//          begins; idle_o says that no burst is outstanding.
// Numbers  bits, unchanged.
// Source   a3c 5.2, 7.8. Golden model: models/a3c/layout.py.
`include "jd_assert.svh"
module jd_a3c_map_save
  import jd_axi_pkg::*;
#(
  parameter int unsigned Jobs        = 4,      // that wait, 2..64
  parameter int unsigned Outstanding = 16      // bursts, 1..64
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           job_valid_i,
  output logic           job_ready_o,
  input  logic [39:0]    job_address_i,          // bytes, a multiple of 64
  input  logic [15:0]    job_row_i,
  input  logic [15:0]    job_rows_i,             // 1..65535
  input  logic [4:0]     job_word_i,
  output logic           busy_o,
  input  logic           stop_i,
  output logic           idle_o,
  input  logic           failed_i,
  output logic           error_valid_o,
  output logic [4:0]     error_word_o,
  output logic [1:0]     error_response_o,
  output logic           read_valid_o,
  input  logic           read_ready_i,
  output logic [15:0]    read_row_o,
  input  logic [511:0]   read_data_i,
  output axi_write_req_t mem_req_o,
  input  axi_write_rsp_t mem_rsp_i
);
  if (Jobs < 2 || Jobs > 64) begin : gen_bad_jobs
    $fatal(1, "jd_a3c_map_save: Jobs=%0d, want 2..64", Jobs);
  end
  localparam int unsigned PIECE  = 16;         // rows of the longest piece, which is a burst
  localparam int unsigned PIECES = 4;          // open pieces whose rows are not all read
  localparam int unsigned HELD   = 32;         // rows that are read and not yet sent
  localparam int unsigned HeldW  = $clog2(HELD + 1);
  localparam int unsigned OUT    = Outstanding + 2;  // pieces that are not yet answered

  typedef struct packed {
    logic [33:0] beat;
    logic [15:0] row;
    logic [15:0] rows;
    logic [4:0]  word;
  } job_t;
  typedef struct packed {
    logic [15:0] row;
    logic [4:0]  rows;
  } piece_t;

  // ---- Jobs, cut at multiples of a piece in memory
  job_t queued, job_q;
  logic [$clog2(Jobs+1)-1:0] queued_count;
  logic queued_valid, take, job_valid_q, cut, last_piece;
  logic unused_offset;
  assign unused_offset = |job_address_i[5:0];
  jd_stream_fifo #(.Width ($bits(job_t)), .Depth (Jobs)) u_jobs (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (job_valid_i),
    .in_ready_o  (job_ready_o),
    .in_data_i   ({job_address_i[39:6], job_row_i, job_rows_i, job_word_i}),
    .out_valid_o (queued_valid),
    .out_ready_i (take),
    .out_data_o  (queued),
    .count_o     (queued_count)
  );

  logic [4:0]  in_piece, rows;
  logic        piece_valid_q, piece_taken, command_ready, piece_ready, word_ready;
  logic [33:0] piece_beat_q;
  piece_t      piece_q, piece;
  logic [4:0]  piece_word_q;
  assign in_piece    = 5'(PIECE) - 5'(job_q.beat[3:0]);
  assign last_piece  = job_q.rows <= 16'(in_piece);
  assign rows        = last_piece ? job_q.rows[4:0] : in_piece;
  assign take        = !job_valid_q || failed_i || (cut && last_piece);
  assign piece_taken = piece_valid_q && command_ready && piece_ready && word_ready;
  assign cut         = job_valid_q && (!piece_valid_q || piece_taken) && !stop_i && !failed_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      job_valid_q   <= 1'b0;
      piece_valid_q <= 1'b0;
    end else begin
      if (take) job_valid_q <= queued_valid && !failed_i;
      if (cut)              piece_valid_q <= 1'b1;
      else if (piece_taken) piece_valid_q <= 1'b0;
    end
    if (take) begin
      job_q <= queued;
    end else if (cut) begin
      job_q.beat <= job_q.beat + 34'(rows);
      job_q.row  <= job_q.row + 16'(rows);
      job_q.rows <= job_q.rows - 16'(rows);
    end
    if (cut) begin
      piece_beat_q <= job_q.beat;
      piece_q      <= '{row: job_q.row, rows: rows};
      piece_word_q <= job_q.word;
    end
  end

  // ---- A piece goes to memory, to the reader of its rows, and to the queue of expected answers
  logic       piece_valid, piece_end, done_valid, queue_idle;
  logic [1:0] done_response;
  logic [4:0] word;
  logic       word_valid;
  jd_stream_fifo #(.Width ($bits(piece_t)), .Depth (PIECES)) u_pieces (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (piece_taken),
    .in_ready_o  (piece_ready),
    .in_data_i   (piece_q),
    .out_valid_o (piece_valid),
    .out_ready_i (piece_end),
    .out_data_o  (piece),
    .count_o     ()
  );
  jd_stream_fifo #(.Width (5), .Depth (OUT)) u_words (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (piece_taken),
    .in_ready_o  (word_ready),
    .in_data_i   (piece_word_q),
    .out_valid_o (word_valid),
    .out_ready_i (done_valid),
    .out_data_o  (word),
    .count_o     ()
  );

  // ---- Rows: no more are requested than the queue after the buffer can hold
  logic [4:0]       read_q;                    // rows of the piece requested so far
  logic [HeldW-1:0] held_q;                    // rows requested and not sent
  logic [1:0]       coming_q;                  // a row was requested one and two clocks ago
  logic             read, sent, row_room;
  assign read_valid_o = piece_valid && 32'(held_q) < HELD;
  assign read_row_o   = piece.row + 16'(read_q);
  assign read         = read_valid_o && read_ready_i;
  assign piece_end    = read && read_q + 5'd1 == piece.rows;
  assign sent         = mem_req_o.wvalid && mem_rsp_i.wready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q   <= '0;
      held_q   <= '0;
      coming_q <= '0;
    end else begin
      if (read) read_q <= piece_end ? '0 : read_q + 5'd1;
      if (read != sent) held_q <= read ? held_q + 1'b1 : held_q - 1'b1;
      coming_q <= {coming_q[0], read};
    end
  end
  jd_axi_write_queue #(.Burst (PIECE), .Depth (HELD), .MaxOutstanding (Outstanding)) u_queue (
    .clk_i, .rst_ni,
    .idle_o            (queue_idle),
    .cmd_valid_i       (piece_valid_q && piece_ready && word_ready),
    .cmd_ready_o       (command_ready),
    .cmd_address_i     ({piece_beat_q, 6'd0}),
    .cmd_beats_i       (16'(piece_q.rows)),
    .in_valid_i        (coming_q[1]),
    .in_ready_o        (row_room),
    .in_data_i         (read_data_i),
    .in_strb_i         ('1),
    .done_valid_o      (done_valid),
    .done_ready_i      (1'b1),
    .done_resp_o       (done_response),
    .mem_req_o,
    .mem_rsp_i
  );
  assign idle_o = queue_idle && !piece_valid_q;
  assign busy_o = !idle_o || job_valid_q || queued_count != '0 || error_valid_o;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) error_valid_o <= 1'b0;
    else         error_valid_o <= done_valid && done_response != '0;
    error_word_o     <= word;
    error_response_o <= done_response;
  end

  `JD_ASSUME_STREAM(JobStable_M, job_valid_i, job_ready_o,
                    {job_address_i, job_row_i, job_rows_i, job_word_i})
  `JD_ASSUME_IF(JobLegal_M, job_valid_i, job_rows_i != '0 && job_address_i[5:0] == '0)
  `JD_ASSERT_STREAM(ReadStable_A, read_valid_o, read_ready_i, read_row_o)
  `JD_ASSERT_IF(RowHasRoom_A, coming_q[1], row_room)
  `JD_ASSERT_IF(AnswerHasWord_A, done_valid, word_valid)
  `JD_ASSERT_IF(IdleIsEmpty_A, idle_o, !piece_valid && held_q == '0 && !word_valid)
endmodule : jd_a3c_map_save
