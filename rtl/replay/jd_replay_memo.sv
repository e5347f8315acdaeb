// SPDX-License-Identifier: Apache-2.0
//
// Remembers the batches that were sampled last: the leaf and the priority of every slot. So TD
// errors can name slots, and the tree can tell whether a leaf was replaced since it was sampled.
//
//    places   ... | kept: errors to come, or the last | sampled, read | begun |    free    | ...
//                 ^ oldest                     delivered_end      write   begin_end
//
// It is a ring of 8 times the places of the largest batch, at least 512, filled batch after batch
// without a gap, and of 2^BATCH_W batches. A batch is begun, sampled, read for the results, and
// delivered. It is forgotten when its TD errors have arrived and a later batch was delivered.
//
// Streams  none. begin_i: a batch of size_i slots. write_*: samples. read_*: for the results.
//          lookup_*: for updates by slot.
// Timing   Data of reads and look-ups are valid one clock after the enable. room_o sees a forgotten
//          batch three clocks late.
// Numbers  bits. The fan-out is a power of two, so the index of a leaf holds its whole path.
// Source   onchip_replay 3.1 (memoization buffer). Golden model: models/replay/rmm.py, Batch.
`include "jd_assert.svh"
module jd_replay_memo
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
#(
  parameter int unsigned BatchLog2 = 9   // log2 of the largest batch, 3..10
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  clear_i,           // forget everything, while nothing is sampled
  // Batches
  input  logic [SLOT_W:0]       size_i,            // of those not delivered, and of the next
  input  logic                  begin_i,
  input  logic                  begin_stream_i,    // TD errors come for it
  output logic [BATCH_W-1:0]    begin_batch_o,     // its number
  output logic [PLACE_W-1:0]    begin_place_o,     // and its first place
  output logic                  room_o,            // for it
  input  logic                  delivered_i,       // the oldest that was not
  input  logic                  cancel_i,          // forget those that were not delivered
  input  logic                  closed_i,          // the TD errors of the oldest are in
  output last_t                 last_o,            // the batch that was delivered last
  // Samples, in order
  input  logic                  write_en_i,
  input  sample_response_t      write_sample_i,
  input  logic                  order_valid_i,     // a sample, of any ring, passes the order point
  input  order_t                order_i,
  // Results, in order
  input  logic                  whole_i,           // read a batch when all of it is there
  output logic                  read_valid_o,      // the next slot can be read
  input  logic                  read_en_i,
  output logic                  read_empty_o,
  output logic                  read_void_o,       // whole_i: the next slot is of a batch in which
                                                   // one found no leaf
  output logic [INDEX_W-1:0]    read_index_o,
  output logic [LEAF_MAX_W-1:0] read_priority_o,
  output logic [LEAF_MAX_W-1:0] read_lowest_o,     // smallest priority of the batch, if it is whole
  input  logic                  sent_i,            // the word of one went out, in order
  output logic [PLACE_W-1:0]    sent_place_o,      // of the next one
  // Updates by slot
  input  logic                  lookup_en_i,
  input  lookup_t               lookup_i,
  output found_t                found_o
);
  if (BatchLog2 < 3 || BatchLog2 > SLOT_W) begin : gen_bad_batch
    $fatal(1, "jd_replay_memo: BatchLog2=%0d, want 3..10", BatchLog2);
  end
  localparam int unsigned EntryW  = 1 + INDEX_W + LEAF_MAX_W;
  localparam int unsigned AddrW   = BatchLog2 + PLACES_W < 9 ? 9 : BatchLog2 + PLACES_W;
  localparam int unsigned BATCHES = 2 ** BATCH_W;
  localparam int unsigned CountW  = BATCH_W + 1;   // as places, with one bit more

  // ---- Places
  logic [PLACE_W-1:0] begin_end_q, delivered_end_q, write_q, read_q, sent_q, oldest_place_q;
  logic [SLOT_W:0]    write_left_q, read_left_q;   // slots of the batch, after the next one
  logic               fresh_write_q, fresh_read_q; // the next one is slot 0
  logic               write_last, read_last;
  assign begin_place_o = begin_end_q;
  assign sent_place_o  = sent_q;
  assign write_last    = fresh_write_q ? size_i == (SLOT_W + 1)'(1)
                                       : write_left_q == (SLOT_W + 1)'(1);
  assign read_last     = fresh_read_q ? size_i == (SLOT_W + 1)'(1)
                                      : read_left_q == (SLOT_W + 1)'(1);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      begin_end_q     <= '0;
      delivered_end_q <= '0;
      write_q         <= '0;
      read_q          <= '0;
      sent_q          <= '0;
      fresh_write_q   <= 1'b1;
      fresh_read_q    <= 1'b1;
    end else if (cancel_i) begin
      begin_end_q   <= delivered_end_q;
      write_q       <= delivered_end_q;
      read_q        <= delivered_end_q;
      sent_q        <= delivered_end_q;
      fresh_write_q <= 1'b1;
      fresh_read_q  <= 1'b1;
    end else begin
      if (begin_i)     begin_end_q     <= begin_end_q + PLACE_W'(size_i);
      if (delivered_i) delivered_end_q <= delivered_end_q + PLACE_W'(size_i);
      if (sent_i)      sent_q          <= sent_q + 1'b1;
      if (write_en_i) begin
        write_q       <= write_q + 1'b1;
        fresh_write_q <= write_last;
      end
      if (read_en_i) begin
        read_q       <= read_q + 1'b1;
        fresh_read_q <= read_last;
      end
    end
    if (write_en_i) write_left_q <= (fresh_write_q ? size_i : write_left_q) - 1'b1;
    if (read_en_i)  read_left_q  <= (fresh_read_q ? size_i : read_left_q) - 1'b1;
  end

  // ---- Batches
  logic [CountW-1:0]       begun_q, delivered_q, closed_q, oldest_q, kept_q;
  logic [BATCHES-1:0]      stream_q;               // TD errors come for it
  logic [PLACE_W-1:0]      oldest_place;           // its first place
  logic                    skip;                   // the oldest that is not closed has no errors
  assign begin_batch_o = begun_q[BATCH_W-1:0];
  assign skip          = closed_q != delivered_q && !stream_q[closed_q[BATCH_W-1:0]];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      begun_q      <= '0;
      delivered_q  <= '0;
      closed_q     <= '0;
      oldest_q     <= '0;
      last_o.valid <= 1'b0;
    end else begin
      if (cancel_i)     begun_q <= delivered_q;
      else if (begin_i) begun_q <= begun_q + 1'b1;
      if (delivered_i) begin
        delivered_q  <= delivered_q + 1'b1;
        last_o.valid <= 1'b1;
      end
      if (closed_i || skip) closed_q <= closed_q + 1'b1;
      // The last one is kept for updates by slot of the host.
      if (oldest_q != closed_q && CountW'(oldest_q + 1'b1) != delivered_q) begin
        oldest_q <= oldest_q + 1'b1;
      end
    end
    if (begin_i) stream_q[begun_q[BATCH_W-1:0]] <= begin_stream_i;
    if (delivered_i) begin
      last_o.batch <= delivered_q[BATCH_W-1:0];
      last_o.place <= delivered_end_q;
      last_o.size  <= size_i;
    end
  end

  jd_mem_lut #(.Depth (BATCHES), .Width (PLACE_W)) u_places (
    .clk_i, .rst_ni,
    .write_en_i   (begin_i),
    .write_addr_i (begun_q[BATCH_W-1:0]),
    .write_data_i (begin_end_q),
    .read_addr_i  (oldest_q[BATCH_W-1:0]),
    .read_data_o  (oldest_place)
  );

  // Room for two: that the batch before begins now is known one clock late.
  logic [PLACE_W-1:0] used_q;
  logic               begin_q;
  logic               fits_two, fits_three;
  logic [PLACE_W:0]   with_two, with_three;
  assign with_two   = (PLACE_W + 1)'(used_q) + ((PLACE_W + 1)'(size_i) << 1);
  assign with_three = with_two + (PLACE_W + 1)'(size_i);
  assign fits_two   = with_two <= (PLACE_W + 1)'(1 << AddrW);
  assign fits_three = with_three <= (PLACE_W + 1)'(1 << AddrW);
  always_ff @(posedge clk_i) begin
    oldest_place_q <= oldest_q == begun_q ? begin_end_q : oldest_place;
    used_q         <= begin_end_q - oldest_place_q;     // without what begins now:
    kept_q         <= begun_q - oldest_q;
    begin_q        <= begin_i;
    room_o         <= begin_q ? fits_three && kept_q < CountW'(BATCHES - 3)
                              : fits_two && kept_q < CountW'(BATCHES - 2);
  end

  // ---- Entries
  jd_mem_1r1w #(
    .Depth(2 ** AddrW),
    .Lanes(1),
    .LaneW(EntryW),
    .ReadLatency(1)
  ) u_entries (
    .clk_i,
    .rst_ni,
    .write_en_i,
    .write_addr_i (write_q[AddrW-1:0]),
    .write_mask_i (1'b1),
    .write_data_i ({write_sample_i.empty, write_sample_i.index[INDEX_W-1:0],
                    write_sample_i.priority_}),
    .read_en_i,
    .read_addr_i  (read_q[AddrW-1:0]),
    .read_data_o  ({read_empty_o, read_index_o, read_priority_o})
  );
  jd_mem_1r1w #(
    .Depth(2 ** AddrW),
    .Lanes(1),
    .LaneW(INDEX_W),
    .ReadLatency(1)
  ) u_indices (
    .clk_i,
    .rst_ni,
    .write_en_i,
    .write_addr_i (write_q[AddrW-1:0]),
    .write_mask_i (1'b1),
    .write_data_i (write_sample_i.index[INDEX_W-1:0]),
    .read_en_i    (lookup_en_i),
    .read_addr_i  (lookup_i.place[AddrW-1:0]),
    .read_data_o  (found_o.index)
  );
  batch_tag_t first_tag;
  assign first_tag = order_i.tag;
  jd_mem_1r1w #(
    .Depth(BATCHES),
    .Lanes(1),
    .LaneW(INDEX_W + 32),
    .ReadLatency(1)
  ) u_orders (
    .clk_i,
    .rst_ni,
    .write_en_i   (order_valid_i && !first_tag.host && first_tag.first),
    .write_addr_i (first_tag.batch),
    .write_mask_i (1'b1),
    .write_data_i ({order_i.head, order_i.moves}),
    .read_en_i    (lookup_en_i),
    .read_addr_i  (lookup_i.batch),
    .read_data_o  ({found_o.head, found_o.moves})
  );

  // ---- What can be read: a batch when it is whole, or a slot when it is there.
  logic [LEAF_MAX_W-1:0] lowest_q, lowest, first_lowest;
  logic                  whole_valid, whole_ready;
  logic                  void_q, void_now, first_void;   // one slot found no leaf
  logic [PLACE_W-1:0]    unread_q;             // slots
  logic                  unread_some_q;
  assign lowest = fresh_write_q || write_sample_i.priority_ < lowest_q ? write_sample_i.priority_
                                                                       : lowest_q;
  assign void_now = write_sample_i.empty || (void_q && !fresh_write_q);
  jd_stream_fifo #(
    .Width(1 + LEAF_MAX_W),
    .Depth(BATCHES)
  ) u_lowest (
    .clk_i,
    .rst_ni,
    .clear_i     (clear_i || cancel_i),
    .in_valid_i  (whole_i && write_en_i && write_last),
    .in_ready_o  (whole_ready),
    .in_data_i   ({void_now, lowest}),
    .out_valid_o (whole_valid),
    .out_ready_i (whole_i && read_en_i && fresh_read_q),
    .out_data_o  ({first_void, first_lowest}),
    .count_o     ()
  );
  assign read_void_o  = whole_i && fresh_read_q && first_void;
  assign read_valid_o = unread_some_q && (!whole_i || !fresh_read_q || whole_valid);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i || cancel_i) begin
      unread_q      <= '0;
      unread_some_q <= 1'b0;
    end else if (write_en_i != read_en_i) begin
      unread_q      <= write_en_i ? unread_q + 1'b1 : unread_q - 1'b1;
      unread_some_q <= write_en_i || unread_q != PLACE_W'(1);
    end
    if (write_en_i)                lowest_q      <= lowest;
    if (write_en_i)                void_q        <= void_now;
    if (read_en_i && fresh_read_q) read_lowest_o <= first_lowest;
  end

  logic unused_bits;
  assign unused_bits = ^lookup_i.place;          // places count on over the ring's end

  `JD_ASSERT_IF(ReadsWritten_A, read_en_i, read_q != write_q)
  `JD_ASSERT_IF(WritesBegun_A, write_en_i, write_q != begin_end_q)
  `JD_ASSERT_IF(RoomForLowest_A, whole_i && write_en_i && write_last, whole_ready)
  `JD_ASSERT_IF(ClosesOldest_A, closed_i, closed_q != begun_q && stream_q[closed_q[BATCH_W-1:0]])
  `JD_ASSERT(InOrder_A, CountW'(begun_q - closed_q) >= CountW'(begun_q - delivered_q)
                        && CountW'(begun_q - oldest_q) <= CountW'(BATCHES)
                        && 32'(PLACE_W'(begin_end_q - delivered_end_q)) <= 32'd1 << AddrW)
endmodule : jd_replay_memo
