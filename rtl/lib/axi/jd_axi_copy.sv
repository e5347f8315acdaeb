// SPDX-License-Identifier: Apache-2.0
//
// Copies beats from one place in memory to another.
//
// Streams  job: source, target and number of beats. end: how it ended, in order: 0, or the bus's
//          answer of the first error and whether it answered a write.
// Timing   A beat per clock on memory that reads and writes one per clock, with up to Rows beats on
//          their way: enough for a latency of Rows - 136 clocks. A piece ends with a page of the
//          source. It is written once all its beats are here, so W never waits. After stop_i no
//          burst begins; idle_o says that no burst is outstanding.
// Numbers  bits, unchanged. After an error nothing more is read or written, and arriving data are
//          dropped, with the piece that had the error.
// Source   docs/interfaces.md, library.
`include "jd_assert.svh"
module jd_axi_copy
  import jd_axi_pkg::*;
#(
  parameter int unsigned Rows        = 256,    // beats on their way, 128..1024
  parameter int unsigned Outstanding = 16      // bursts each way, 1..64
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         job_valid_i,
  output logic         job_ready_o,
  input  logic [39:0]  job_source_i,           // bytes, multiples of 64
  input  logic [39:0]  job_target_i,
  input  logic [25:0]  job_beats_i,            // 1 or more
  output logic         end_valid_o,
  input  logic         end_ready_i,
  output logic [1:0]   end_response_o,
  output logic         end_write_o,
  input  logic         stop_i,
  output logic         idle_o,
  output axi_req_t     mem_req_o,
  input  axi_rsp_t     mem_rsp_i
);
  if (Rows < 128 || Rows > 1024) begin : gen_bad_rows
    $fatal(1, "jd_axi_copy: Rows=%0d, want 128..1024", Rows);
  end
  localparam int unsigned RoomW  = $clog2(Rows + 1);
  localparam int unsigned PIECES = 16;               // asked for and not yet written
  localparam int unsigned SENDS  = 4;                // pieces whose beats are not all sent

  logic [RoomW-1:0]             unused_beats;
  logic [$clog2(PIECES+1)-1:0]  unused_pieces;
  logic [$clog2(SENDS+1)-1:0]   unused_sends;
  logic                         unused;
  assign unused = ^{job_source_i[5:0], job_target_i[5:0], unused_beats, unused_pieces,
                    unused_sends};

  // ---- The job in hand, cut into pieces at the pages of its source
  logic        busy_q;
  logic [33:0] source_q, target_q;                   // beats
  logic [25:0] left_q;
  logic [RoomW-1:0] room_q;                          // beats that may be asked for
  logic [6:0]  in_page, rows;
  logic        bad_q;                                // an error came: read and write no more
  logic        read_give, read_valid_q, read_ready, piece_ready, move;
  logic [33:0] read_beat_q;
  logic [6:0]  read_beats_q;
  assign job_ready_o = !busy_q;
  assign in_page     = 7'd64 - {1'b0, source_q[5:0]};
  assign rows        = (left_q < 26'(in_page)) ? left_q[6:0] : in_page;
  assign read_give   = busy_q && left_q != '0 && !bad_q && !stop_i && piece_ready &&
                       32'(room_q) >= 32'(rows) && (!read_valid_q || read_ready);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q       <= 1'b0;
      read_valid_q <= 1'b0;
      room_q       <= RoomW'(Rows);
    end else begin
      busy_q <= busy_q ? !(end_valid_o && end_ready_i) : job_valid_i;
      if (read_give)       read_valid_q <= 1'b1;
      else if (read_ready) read_valid_q <= 1'b0;
      room_q <= room_q - (read_give ? RoomW'(rows) : '0) + RoomW'(move);
    end
    if (job_valid_i && job_ready_o) begin
      source_q <= job_source_i[39:6];
      left_q   <= job_beats_i;
    end else if (read_give) begin
      source_q <= source_q + 34'(rows);
      left_q   <= left_q - 26'(rows);
    end
    if (read_give) begin
      read_beat_q  <= source_q;
      read_beats_q <= rows;
    end
  end

  logic         beat_valid, beat_ready, beat_last, read_idle, read_bad;
  logic [511:0] beat_data;
  logic [1:0]   beat_response;
  jd_axi_read_mover #(.MaxOutstanding (Outstanding)) u_read (
    .clk_i, .rst_ni,
    .idle_o        (read_idle),
    .cmd_valid_i   (read_valid_q),
    .cmd_ready_o   (read_ready),
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
  assign read_bad = beat_valid && beat_ready && beat_response != '0;

  logic         kept_valid;
  logic [511:0] kept;
  jd_stream_fifo #(.Width (512), .Depth (Rows)) u_beats (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (beat_valid),
    .in_ready_o  (beat_ready),
    .in_data_i   (beat_data),
    .out_valid_o (kept_valid),
    .out_ready_i (move),
    .out_data_o  (kept),
    .count_o     (unused_beats)
  );

  // ---- A piece is written when its last beat has come, and dropped after an error
  typedef struct packed {
    logic [6:0] rows;
    logic       drop;
  } send_t;
  logic             piece_valid, put, write_valid_q, write_ready, send_ready, drop;
  logic             send_valid, send_end, row_ready, done_valid, write_idle;
  logic [6:0]       piece;                           // its beats
  logic [4:0]       whole_q;                         // pieces that are there
  logic [33:0]      write_beat_q;
  logic [6:0]       write_beats_q, sent_q;
  send_t            send;
  logic [1:0]       done_response;
  jd_stream_fifo #(.Width (7), .Depth (PIECES)) u_pieces (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (read_give),
    .in_ready_o  (piece_ready),
    .in_data_i   (rows),
    .out_valid_o (piece_valid),
    .out_ready_i (put),
    .out_data_o  (piece),
    .count_o     (unused_pieces)
  );
  // The last beat's error is known one clock after it.
  assign drop = bad_q;
  assign put  = piece_valid && whole_q != '0 && send_ready &&
                (drop || (!stop_i && (!write_valid_q || write_ready)));
  jd_stream_fifo #(.Width ($bits(send_t)), .Depth (SENDS)) u_sends (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (put),
    .in_ready_o  (send_ready),
    .in_data_i   ({piece, drop}),
    .out_valid_o (send_valid),
    .out_ready_i (send_end),
    .out_data_o  (send),
    .count_o     (unused_sends)
  );
  assign move     = send_valid && kept_valid && (send.drop || row_ready);
  assign send_end = move && sent_q + 7'd1 == send.rows;
  jd_axi_write_mover #(.MaxOutstanding (Outstanding)) u_write (
    .clk_i, .rst_ni,
    .idle_o        (write_idle),
    .cmd_valid_i   (write_valid_q),
    .cmd_ready_o   (write_ready),
    .cmd_address_i ({write_beat_q, 6'd0}),
    .cmd_beats_i   (16'(write_beats_q)),
    .in_valid_i    (send_valid && kept_valid && !send.drop),
    .in_ready_o    (row_ready),
    .in_data_i     (kept),
    .in_strb_i     ('1),
    .done_valid_o  (done_valid),
    .done_ready_i  (1'b1),
    .done_resp_o   (done_response),
    .mem_req_o     (mem_req_o.write),
    .mem_rsp_i     (mem_rsp_i.write)
  );

  logic arrive, begun, write_bad;
  assign arrive    = beat_valid && beat_ready && beat_last;
  assign begun     = put && !drop;
  assign write_bad = done_valid && done_response != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      whole_q       <= '0;
      sent_q        <= '0;
      write_valid_q <= 1'b0;
      bad_q         <= 1'b0;
    end else begin
      if (arrive != put) whole_q <= arrive ? whole_q + 5'd1 : whole_q - 5'd1;
      if (begun)            write_valid_q <= 1'b1;
      else if (write_ready) write_valid_q <= 1'b0;
      if (move) sent_q <= send_end ? '0 : sent_q + 7'd1;
      bad_q <= busy_q && (bad_q || read_bad || write_bad);
    end
    if (!busy_q) begin
      end_response_o <= '0;
      end_write_o    <= 1'b0;
    end else if ((read_bad || write_bad) && !bad_q) begin
      end_response_o <= read_bad ? beat_response : done_response;
      end_write_o    <= !read_bad;
    end
    if (job_valid_i && job_ready_o) target_q <= job_target_i[39:6];
    else if (put)                   target_q <= target_q + 34'(piece);
    if (begun) begin
      write_beat_q  <= target_q;
      write_beats_q <= piece;
    end
  end
  assign idle_o      = read_idle && write_idle && !read_valid_q && !write_valid_q;
  // All that was asked for is answered, written or dropped.
  assign end_valid_o = busy_q && (left_q == '0 || bad_q) && 32'(room_q) == Rows && idle_o;

  `JD_ASSUME_STREAM(JobStable_M, job_valid_i, job_ready_o,
                    {job_source_i, job_target_i, job_beats_i})
  `JD_ASSUME_IF(JobLegal_M, job_valid_i,
                job_beats_i != '0 && (job_source_i[5:0] | job_target_i[5:0]) == '0)
  `JD_ASSERT_STREAM(EndStable_A, end_valid_o, end_ready_i, {end_response_o, end_write_o})
  `JD_ASSERT_IF(ResponseNeverWaits_A, mem_rsp_i.read.rvalid, mem_req_o.read.rready)
  `JD_ASSERT_IF(DataNeverWait_A, send_valid, kept_valid)
  `JD_ASSERT_IF(EndOfError_A, end_valid_o, (end_response_o != '0) == bad_q)
  `JD_ASSERT_IF(EndIsEmpty_A, end_valid_o, !kept_valid && !piece_valid && whole_q == '0)
endmodule : jd_axi_copy
