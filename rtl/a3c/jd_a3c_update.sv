// SPDX-License-Identifier: Apache-2.0
//
// Updates parameters and mean squares in memory with the gradients of a task, by RMSProp.
//
// Streams  go_i starts the task on task_i, which holds until finish_o.
//          chunk: rows of gradients that are consecutive both in the gradient buffer and in the
//          image of the parameters.
//          chunk_read_o: all rows of the oldest unreported chunk have been read.
//          read: rows of the gradient buffer; read_data_i is sampled exactly 2 clocks after a read.
//          order: asks whether the chunk's rows may be read from memory, by ticket, layer and the
//          row after the chunk's last one (order_behind_o). order_go_i allows it. It is looked at
//          from ORDER clocks after the question and stays high until the end of the chunk.
//          written_o: up to which row the current layer is written and acknowledged.
//          layer_done_o: all of a layer is.
//          error: a beat or a burst came back with an error. After an error, and while failed_i is
//          high, chunks are still reported as read and layers as done, but memory is neither read
//          nor written any more.
// Timing   A row takes max(2, 16/Units) clocks on memory that reads and writes one beat per clock.
//          Up to Rows rows are on their way before and after the RMSProp units. A piece has at most
//          Piece rows. It is read by one burst of parameters and one of mean squares, and written
//          by two bursts, which begin once all their rows are there, so W never waits.
//          finish_o comes 2 clocks after the last answer. After stop_i no burst begins; idle_o says
//          that no burst is outstanding.
//          Parameters that have a second image are written twice: the second time after the mean
//          squares.
// Numbers  those of jd_a3c_rmsprop.
// Source   a3c 7.6; FA3C (ASPLOS 2019) section 4.2.3. Golden model: models/a3c/rmsprop.py.
`include "jd_assert.svh"
module jd_a3c_update
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
#(
  parameter int unsigned Units       = 8,     // of RMSProp, power of two 1..16
  parameter int unsigned MulLatency  = 2,     // clocks, 1..4
  parameter int unsigned AddLatency  = 2,     // clocks, 1..6
  parameter int unsigned DivLatency  = 4,     // clocks, 2..28
  parameter int unsigned SqrtLatency = 4,     // clocks, 2..28
  parameter int unsigned Rows        = 256,   // on their way, 128..1024
  parameter int unsigned Piece       = 64,    // rows of a piece at most, power of two 4..64
  parameter bit          Second      = 1'b0,  // parameters may have a second image
  parameter int unsigned Outstanding = 16     // bursts each way, 1..64
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         go_i,
  input  task_t        task_i,
  output logic         finish_o,
  input  logic         stop_i,
  output logic         idle_o,
  input  logic         failed_i,
  output logic         error_valid_o,
  output logic [4:0]   error_word_o,
  output logic [1:0]   error_response_o,
  input  logic         chunk_valid_i,
  output logic         chunk_ready_o,
  input  chunk_t       chunk_i,
  output logic         chunk_read_o,
  output logic         read_valid_o,
  input  logic         read_ready_i,
  output logic [15:0]  read_row_o,
  input  logic [511:0] read_data_i,
  output logic         order_valid_o,
  output logic [31:0]  order_ticket_o,
  output logic [2:0]   order_layer_o,
  output logic [25:0]  order_behind_o,
  input  logic         order_go_i,
  output logic         layer_done_o,
  output logic [2:0]   layer_done_layer_o,
  output written_t     written_o,
  output axi_req_t     mem_req_o,
  input  axi_rsp_t     mem_rsp_i
);
  if (Rows < 128 || Rows > 1024 || !(Piece inside {4, 8, 16, 32, 64})) begin : gen_bad_rows
    $fatal(1, "jd_a3c_update: Rows=%0d, want 128..1024, Piece=%0d, want 4..64", Rows, Piece);
  end
  localparam int unsigned RoomW   = $clog2(Rows + 1);
  localparam int unsigned PIECES  = 32;              // pieces requested and not yet written
  localparam int unsigned SENDS   = 4;               // bursts whose rows are not all sent
  localparam int unsigned ANSWERS = 32;              // bursts without an answer so far
  localparam int unsigned HELD    = 8;               // rows of gradients before the units
  localparam int unsigned HeldW   = $clog2(HELD + 1);
  localparam logic [1:0]  ORDER   = 2'd3;

  logic unused_task;
  assign unused_task = ^task_i;

  // The failed task.
  logic bad_q, failed;
  assign failed = failed_i || bad_q;

  // ---- Chunks, cut into pieces at page boundaries of memory: both images begin at one
  typedef enum logic [1:0] {StChunk, StTheta, StSquare} ask_e;
  typedef struct packed {
    logic [15:0] row;
    logic [6:0]  rows;
    logic        dry;                                // the piece has no memory access
    logic        chunk_last;
  } gradients_t;
  typedef struct packed {
    logic [25:0] offset;
    logic [6:0]  rows;
    logic        dry;
    logic [2:0]  layer;
    logic        layer_last;
    logic        task_last;
  } write_t;
  ask_e       ask_q;
  chunk_t     chunk_q;
  logic       chunk_valid_q, ended_q;                // ended_q: the task's last chunk has come
  logic       more_q;                                // the chunk has more pieces
  logic [1:0] order_q;
  logic [6:0] in_page, rows;
  logic       last_piece, room, dry, wet, gradients_ready, writes_ready, piece;
  logic [RoomW-1:0] room_q;                          // rows that may be requested, before
  logic [6:0] taken_q;                               // rows requested one clock ago
  logic       read_give, read_free, read_command_valid_q, read_command_ready;
  logic [33:0] read_beat_q, square_beat_q;           // square: of the present piece
  logic [6:0]  read_beats_q;
  gradients_t gradients_in, gradients;
  write_t     write_in, write;
  logic       feed;                                  // a row goes to the units
  assign chunk_ready_o  = go_i && !chunk_valid_q && !ended_q;
  assign order_valid_o  = chunk_valid_q && ask_q == StChunk;
  assign order_ticket_o = task_i.ticket;
  assign order_layer_o  = chunk_q.layer;
  assign order_behind_o = chunk_q.offset + 26'(chunk_q.rows);
  assign in_page        = 7'(Piece) - (7'(chunk_q.offset[5:0]) & 7'(Piece - 1));
  assign last_piece     = chunk_q.rows <= 16'(in_page);
  assign rows           = last_piece ? chunk_q.rows[6:0] : in_page;
  assign room           = 32'(room_q) >= 32'(rows);
  // The rest of a failed task's chunk is one piece.
  assign dry       = chunk_valid_q && ask_q != StSquare && failed;
  assign wet       = ask_q == StTheta && !failed && room && !stop_i && read_free;
  assign piece     = (dry || wet) && gradients_ready && writes_ready;
  assign read_free = !read_command_valid_q || read_command_ready;
  assign read_give = (piece && wet) || (ask_q == StSquare && !stop_i && read_free);
  assign gradients_in = '{
    row: chunk_q.row, rows: rows, dry: dry, chunk_last: dry || last_piece
  };
  assign write_in = '{
    offset: chunk_q.offset, rows: rows, dry: dry, layer: chunk_q.layer,
    layer_last: chunk_q.layer_last && (dry || last_piece),
    task_last:  chunk_q.task_last && (dry || last_piece)
  };
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      ask_q                <= StChunk;
      chunk_valid_q        <= 1'b0;
      ended_q              <= 1'b0;
      order_q              <= '0;
      read_command_valid_q <= 1'b0;
      room_q               <= RoomW'(Rows);
      taken_q              <= '0;
    end else begin
      if (finish_o) ended_q <= 1'b0;
      order_q <= (order_valid_o && order_q != ORDER) ? order_q + 2'd1 :
                 order_valid_o                       ? order_q : '0;
      unique case (ask_q)
        StChunk:  if (order_valid_o && order_q == ORDER && order_go_i) ask_q <= StTheta;
        StTheta:  if (piece) ask_q <= StSquare;
        StSquare: if (read_give) ask_q <= more_q ? StTheta : StChunk;
        default:  ask_q <= StChunk;
      endcase
      if (piece && dry) ask_q <= StChunk;
      if (chunk_valid_i && chunk_ready_o) begin
        chunk_valid_q <= 1'b1;
        ended_q       <= chunk_i.task_last;
      end else if (piece && (dry || last_piece)) begin
        chunk_valid_q <= 1'b0;
      end
      if (read_give)               read_command_valid_q <= 1'b1;
      else if (read_command_ready) read_command_valid_q <= 1'b0;
      taken_q <= piece && wet ? rows : '0;
      room_q  <= room_q - RoomW'(taken_q) + RoomW'(feed);
    end
    if (chunk_valid_i && chunk_ready_o) begin
      chunk_q <= chunk_i;
    end else if (piece) begin
      chunk_q.offset <= chunk_q.offset + 26'(rows);
      chunk_q.row    <= chunk_q.row + 16'(rows);
      chunk_q.rows   <= chunk_q.rows - 16'(rows);
    end
    if (piece && wet) begin
      more_q        <= !last_piece;
      read_beat_q   <= task_i.source[39:6] + 34'(chunk_q.offset);
      read_beats_q  <= rows;                         // of both images
      square_beat_q <= task_i.g_source[39:6] + 34'(chunk_q.offset);
    end else if (read_give) begin
      read_beat_q <= square_beat_q;
    end
  end

  // ---- Rows from memory: parameters of a piece, then its mean squares
  logic         beat_valid, beat_ready, beat_last, read_idle, beat_square_q;
  logic [511:0] beat_data;
  logic [1:0]   beat_response;
  jd_axi_read_mover #(.MaxOutstanding (Outstanding)) u_read (
    .clk_i, .rst_ni,
    .idle_o        (read_idle),
    .cmd_valid_i   (read_command_valid_q),
    .cmd_ready_o   (read_command_ready),
    .cmd_address_i ({read_beat_q, 6'd0}),
    .cmd_beats_i   (16'(read_beats_q)),
    .out_valid_o   (beat_valid),
    .out_ready_i   (beat_ready),
    .out_data_o    (beat_data),
    .out_last_o    (beat_last),
    .out_resp_o    (beat_response),
    .mem_req_o     (mem_req_o.read),
    .mem_rsp_i     (mem_rsp_i.read)
  );
  logic theta_ready, square_ready, theta_valid, square_valid;
  logic [511:0] theta, square;
  assign beat_ready = beat_square_q ? square_ready : theta_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                                    beat_square_q <= 1'b0;
    else if (beat_valid && beat_ready && beat_last) beat_square_q <= !beat_square_q;
  end
  jd_stream_fifo #(.Width (512), .Depth (Rows)) u_theta (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (beat_valid && !beat_square_q),
    .in_ready_o  (theta_ready),
    .in_data_i   (beat_data),
    .out_valid_o (theta_valid),
    .out_ready_i (feed),
    .out_data_o  (theta),
    .count_o     ()
  );
  jd_stream_fifo #(.Width (512), .Depth (Rows)) u_square (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (beat_valid && beat_square_q),
    .in_ready_o  (square_ready),
    .in_data_i   (beat_data),
    .out_valid_o (square_valid),
    .out_ready_i (feed),
    .out_data_o  (square),
    .count_o     ()
  );

  // ---- Rows of gradients
  logic             gradients_valid, gradients_end, read, row_room, gradient_valid;
  logic [6:0]       read_q;                          // rows of the piece requested so far
  logic [HeldW-1:0] held_q;                          // rows requested and not yet in the units
  logic [1:0]       coming_q;                        // a row was requested one and two clocks ago
  logic [511:0]     gradient;
  jd_stream_fifo #(.Width ($bits(gradients_t)), .Depth (PIECES)) u_gradients (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (piece),
    .in_ready_o  (gradients_ready),
    .in_data_i   (gradients_in),
    .out_valid_o (gradients_valid),
    .out_ready_i (gradients_end),
    .out_data_o  (gradients),
    .count_o     ()
  );
  assign read_valid_o  = gradients_valid && !gradients.dry && 32'(held_q) < HELD;
  assign read_row_o    = gradients.row + 16'(read_q);
  assign read          = read_valid_o && read_ready_i;
  assign gradients_end = gradients_valid &&
                         (gradients.dry || (read && read_q + 7'd1 == gradients.rows));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_q       <= '0;
      held_q       <= '0;
      coming_q     <= '0;
      chunk_read_o <= 1'b0;
    end else begin
      if (read) read_q <= gradients_end ? '0 : read_q + 7'd1;
      if (read != feed) held_q <= read ? held_q + 1'b1 : held_q - 1'b1;
      coming_q     <= {coming_q[0], read};
      chunk_read_o <= gradients_end && gradients.chunk_last;
    end
  end
  jd_stream_fifo #(.Width (512), .Depth (HELD)) u_rows (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (coming_q[1]),
    .in_ready_o  (row_room),
    .in_data_i   (read_data_i),
    .out_valid_o (gradient_valid),
    .out_ready_i (feed),
    .out_data_o  (gradient),
    .count_o     ()
  );

  // ---- The units
  logic         units_busy, units_ready, new_valid, new_ready, new_theta_ready, new_square_ready;
  logic [511:0] new_theta, new_square;
  assign feed = theta_valid && square_valid && gradient_valid && units_ready;
  jd_a3c_rmsprop #(
    .Units (Units), .MulLatency (MulLatency), .AddLatency (AddLatency),
    .DivLatency (DivLatency), .SqrtLatency (SqrtLatency)
  ) u_units (
    .clk_i, .rst_ni,
    .eta_i       (task_i.settings[0]),
    .rho_i       (task_i.settings[1]),
    .rest_i      (task_i.settings[2]),
    .eps_i       (task_i.settings[3]),
    .busy_o      (units_busy),
    .in_valid_i  (theta_valid && square_valid && gradient_valid),
    .in_ready_o  (units_ready),
    .in_data_i   ({gradient, square, theta}),
    .out_valid_o (new_valid),
    .out_ready_i (new_ready),
    .out_data_o  ({new_square, new_theta})
  );

  // ---- Writes: the parameters of a piece, then its mean squares
  localparam logic [1:0] THETA = 2'd0, SQUARE = 2'd1, AGAIN = 2'd2;   // AGAIN: theta's second image
  typedef struct packed {
    logic [6:0] rows;
    logic [1:0] part;
    logic       drop;                                // the burst is dropped
  } send_t;
  typedef struct packed {
    logic [1:0]  part;
    logic        last;                               // of the piece
    logic        written;
    logic [25:0] offset;
    logic [6:0]  rows;
    logic [2:0]  layer;
    logic        layer_last;
    logic        task_last;
  } answer_t;
  logic [RoomW-1:0] ready_q;                         // finished rows of later pieces
  logic             write_valid, write_end, last_part, enough, begin_write, drop, put;
  logic [1:0]       part_q;
  logic             write_command_valid_q, write_command_ready, answer_ready;
  logic [33:0]      write_beat_q;
  logic [6:0]       write_beats_q;
  logic             send_in_ready, send_valid, send_end;
  logic [$clog2(SENDS+1)-1:0] sends_held;
  send_t            send_in, send;
  answer_t          answer_in, answer;
  logic             answer_valid, answer_end;
  jd_stream_fifo #(.Width ($bits(write_t)), .Depth (PIECES)) u_writes (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (piece),
    .in_ready_o  (writes_ready),
    .in_data_i   (write_in),
    .out_valid_o (write_valid),
    .out_ready_i (write_end),
    .out_data_o  (write),
    .count_o     ()
  );
  assign last_part   = part_q == (Second && task_i.second != '0 ? AGAIN : SQUARE);
  assign enough      = part_q != THETA || 32'(ready_q) >= 32'(write.rows);
  assign drop        = failed && enough && send_in_ready;
  assign begin_write = enough && send_in_ready && !stop_i &&
                       (!write_command_valid_q || write_command_ready);
  // A piece, or a part of it, is sent.
  assign put       = write_valid && answer_ready && (write.dry || drop || begin_write);
  assign write_end = put && (write.dry || last_part);
  assign send_in   = '{rows: write.rows, part: part_q, drop: failed};
  assign answer_in = '{
    part: part_q, last: last_part, written: !write.dry && !failed,
    offset: write.offset, rows: write.rows, layer: write.layer,
    layer_last: write_end && write.layer_last, task_last: write_end && write.task_last
  };
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      part_q                <= THETA;
      ready_q               <= '0;
      write_command_valid_q <= 1'b0;
    end else begin
      if (put && !write.dry) part_q <= last_part ? THETA : part_q + 2'd1;
      ready_q <= ready_q - ((put && !write.dry && part_q == THETA) ? RoomW'(write.rows) : '0) +
                 RoomW'(new_valid && new_ready);
      if (put && answer_in.written) write_command_valid_q <= 1'b1;
      else if (write_command_ready) write_command_valid_q <= 1'b0;
    end
    if (put && answer_in.written) begin              // but not in place of a waiting one
      write_beats_q <= write.rows;
      write_beat_q  <= (part_q == SQUARE ? task_i.g_target[39:6] : task_i.target[39:6]) +
                       34'(write.offset) + (part_q == AGAIN ? 34'(task_i.second) : '0);
    end
  end
  jd_stream_fifo #(.Width ($bits(send_t)), .Depth (SENDS)) u_sends (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (put && !write.dry),
    .in_ready_o  (send_in_ready),
    .in_data_i   (send_in),
    .out_valid_o (send_valid),
    .out_ready_i (send_end),
    .out_data_o  (send),
    .count_o     (sends_held)
  );
  jd_stream_fifo #(.Width ($bits(answer_t)), .Depth (ANSWERS)) u_answers (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (put),
    .in_ready_o  (answer_ready),
    .in_data_i   (answer_in),
    .out_valid_o (answer_valid),
    .out_ready_i (answer_end),
    .out_data_o  (answer),
    .count_o     ()
  );

  logic         kept_theta_valid, kept_square_valid, kept_again_valid, kept_valid;
  logic         new_again_ready, send_row, row_ready;
  logic [511:0] kept_theta, kept_square, kept_again, kept;
  logic [6:0]   sent_q;                              // rows of the burst
  assign new_ready  = new_theta_ready && new_square_ready && new_again_ready;
  always_comb begin
    unique case (send.part)
      THETA:   kept_valid = send_valid && kept_theta_valid;
      SQUARE:  kept_valid = send_valid && kept_square_valid;
      default: kept_valid = send_valid && kept_again_valid;
    endcase
    unique case (send.part)
      THETA:   kept = kept_theta;
      SQUARE:  kept = kept_square;
      default: kept = kept_again;
    endcase
  end
  assign send_row   = kept_valid && (send.drop || row_ready);
  assign send_end   = send_row && sent_q + 7'd1 == send.rows;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)       sent_q <= '0;
    else if (send_row) sent_q <= send_end ? '0 : sent_q + 7'd1;
  end
  jd_stream_fifo #(.Width (512), .Depth (Rows)) u_new_theta (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (new_valid && new_square_ready && new_again_ready),
    .in_ready_o  (new_theta_ready),
    .in_data_i   (new_theta),
    .out_valid_o (kept_theta_valid),
    .out_ready_i (send_row && send.part == THETA),
    .out_data_o  (kept_theta),
    .count_o     ()
  );
  jd_stream_fifo #(.Width (512), .Depth (Rows)) u_new_square (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (new_valid && new_theta_ready && new_again_ready),
    .in_ready_o  (new_square_ready),
    .in_data_i   (new_square),
    .out_valid_o (kept_square_valid),
    .out_ready_i (send_row && send.part == SQUARE),
    .out_data_o  (kept_square),
    .count_o     ()
  );
  if (Second) begin : gen_second
    jd_stream_fifo #(.Width (512), .Depth (Rows)) u_again (
      .clk_i, .rst_ni,
      .clear_i     (1'b0),
      .in_valid_i  (new_valid && new_theta_ready && new_square_ready && task_i.second != '0),
      .in_ready_o  (new_again_ready),
      .in_data_i   (new_theta),
      .out_valid_o (kept_again_valid),
      .out_ready_i (send_row && send.part == AGAIN),
      .out_data_o  (kept_again),
      .count_o     ()
    );
  end else begin : gen_no_second
    assign new_again_ready  = 1'b1;
    assign kept_again_valid = 1'b0;
    assign kept_again       = '0;
  end

  logic       done_valid, done_ready, write_idle;
  logic [1:0] done_response;
  jd_axi_write_mover #(.MaxOutstanding (Outstanding)) u_write (
    .clk_i, .rst_ni,
    .idle_o        (write_idle),
    .cmd_valid_i   (write_command_valid_q),
    .cmd_ready_o   (write_command_ready),
    .cmd_address_i ({write_beat_q, 6'd0}),
    .cmd_beats_i   (16'(write_beats_q)),
    .in_valid_i    (kept_valid && !send.drop),
    .in_ready_o    (row_ready),
    .in_data_i     (kept),
    .in_strb_i     ('1),
    .done_valid_o  (done_valid),
    .done_ready_i  (done_ready),
    .done_resp_o   (done_response),
    .mem_req_o     (mem_req_o.write),
    .mem_rsp_i     (mem_rsp_i.write)
  );
  assign idle_o = read_idle && write_idle && !read_command_valid_q && !write_command_valid_q;

  // ---- Answers, in the order of the pieces
  logic task_done_q, read_bad, write_bad;
  assign done_ready = answer_valid && answer.written;
  // A task's end waits until its dropped bursts are gone.
  assign answer_end = answer_valid && (answer.written ? done_valid :
                                       !answer.task_last || sends_held == '0);
  assign read_bad   = beat_valid && beat_ready && beat_response != '0;
  assign write_bad  = done_valid && done_ready && done_response != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      layer_done_o    <= 1'b0;
      written_o.valid <= 1'b0;
      task_done_q     <= 1'b0;
      finish_o        <= 1'b0;
      error_valid_o   <= 1'b0;
      bad_q           <= 1'b0;
    end else begin
      if (layer_done_o)                                     written_o.valid <= 1'b0;
      else if (answer_end && answer.written && answer.last) written_o.valid <= 1'b1;
      layer_done_o  <= answer_end && answer.layer_last;
      task_done_q   <= answer_end && answer.task_last;
      finish_o      <= task_done_q;
      error_valid_o <= read_bad || write_bad;
      if (finish_o) bad_q <= 1'b0;
      else          bad_q <= bad_q || read_bad || write_bad;
    end
    layer_done_layer_o <= answer.layer;
    // Rows of the layer that are written, counted from its first row to the first gap.
    if (answer_end && answer.written && answer.last
        && (!written_o.valid || written_o.behind == answer.offset)) begin
      written_o.layer  <= answer.layer;
      written_o.behind <= answer.offset + 26'(answer.rows);
    end
    if (write_bad) begin
      error_word_o     <= answer.part == SQUARE ? WORD_G_TARGET : WORD_TARGET;
      error_response_o <= done_response;
    end else begin
      error_word_o     <= beat_square_q ? WORD_G_SOURCE : WORD_SOURCE;
      error_response_o <= beat_response;
    end
  end

  `JD_ASSERT_IF(WrittenIsOfLayer_A, written_o.valid && answer_end && answer.written && answer.last,
                answer.layer == written_o.layer)
  `JD_ASSUME_IF(SecondLegal_M, go_i, Second || task_i.second == '0)
  `JD_ASSUME_STREAM(ChunkStable_M, chunk_valid_i, chunk_ready_o, chunk_i)
  `JD_ASSUME_IF(ChunkHasRows_M, chunk_valid_i, chunk_i.rows != '0)
  `JD_ASSUME_IF(LastOfTaskIsLastOfLayer_M, chunk_valid_i, chunk_i.layer_last || !chunk_i.task_last)
  `JD_ASSUME_STABLE(TaskStable_M, go_i && !finish_o, {go_i, task_i})
  `JD_ASSERT_IF(PieceHasChunk_A, ask_q == StTheta || piece, chunk_valid_q)
  `JD_ASSERT_STREAM(ReadStable_A, read_valid_o, read_ready_i, read_row_o)
  `JD_ASSERT_IF(ResponseNeverWaits_A, mem_rsp_i.read.rvalid, mem_req_o.read.rready)
  `JD_ASSERT_IF(RowHasRoom_A, coming_q[1], row_room)
  `JD_ASSERT_IF(DataNeverWait_A, send_valid, kept_valid)
  `JD_ASSERT_IF(FinishIsLast_A, finish_o, !layer_done_o && !error_valid_o)
  `JD_ASSERT_IF(FinishIsEmpty_A, finish_o, idle_o && !units_busy && !theta_valid &&
                !gradients_valid && !write_valid && !send_valid && !answer_valid)
endmodule : jd_a3c_update
