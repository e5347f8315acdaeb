// SPDX-License-Identifier: Apache-2.0
//
// Takes the words of TDE: turns TD errors into updates by slot of the oldest open batch. It knows
// which batches are open, which are not fetched yet, and whether an update has not reached the tree
// yet.
//
// Streams  tde_*: from the learner. op_*: updates by slot, to the sequencer.
// Timing   One word per clock, two clocks after it came; error_o comes one clock later. A batch is
//          open from begin_i (a pulse) until its last TD error is granted. Requests of the levels
//          and of cancel_i take effect one clock later.
// Numbers  counts of batches wrap; two counts differ by less than half of their range.
// Source   docs/replay.md, Corner cases. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_errors
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,          // close all batches
  input  logic                 drop_i,           // level: take words and drop them
  input  logic                 hold_i,           // level: take no words
  input  logic                 tde_valid_i,
  output logic                 tde_ready_o,
  input  logic [63:0]          tde_data_i,
  // Batches
  input  logic                 begin_i,          // one begins; its results go ...
  input  logic                 begin_stream_i,   // ... to SMP, TD errors come for it
  input  logic                 begin_memory_i,   // ... to memory
  input  logic [BATCH_W-1:0]   begin_batch_i,
  input  logic [PLACE_W-1:0]   begin_place_i,
  input  logic [SLOT_W:0]      size_i,           // of those that are not delivered
  input  logic                 delivered_i,      // the oldest that was not: all its words are sent
  input  logic                 cancel_i,         // those that are not delivered will not be
  input  logic                 stored_i,         // those that were delivered to memory are there
  input  logic [PLACE_W-1:0]   sent_place_i,     // of the next slot whose word is sent
  output logic [BATCH_W:0]     open_o,           // batches, delivered, whose TD errors are to come
  output logic                 closed_o,         // pulse: the oldest open one has all
  input  logic                 acknowledge_i,    // the host has fetched what is in memory
  input  logic                 no_fetch_i,       // level: it need not tell
  input  logic                 mark_i,           // remember what is to be fetched ...
  output logic                 fetched_o,        // ... and tell when it is
  output logic                 error_o,          // a word did not fit
  // Updates
  output logic                 op_valid_o,
  input  logic                 op_ready_i,
  output lane_op_t             op_o,
  input  logic                 updated_i,        // pulse: one of them passed the order point
  output logic                 updates_idle_o    // none is on its way there
);
  logic        offered, valid, ready, enter;
  tde_t        word, word_in, word_offered;
  logic        plain_in, plain_offered;   // a TD error with a slot of its width, and no other bit
  logic        fits_q;                    // the word in hand is one, for the next slot
  assign word_in  = tde_data_i;
  assign plain_in = word_in.kind == TDE_ERROR && word_in.zero == '0 &&
                    word_in.slot == 16'(word_in.slot[SLOT_W:0]);
  // An update that is offered stays until it is granted. One that is granted in the first clock of a
  // hold is counted in the second, the first in which it is asked whether there are any.
  logic        drop_q, hold_q, clear_q, cancel_q, forget_q;   // hold_q: also if drop_q
  logic        waits;                // an update is offered and not granted
  always_ff @(posedge clk_i) begin
    drop_q   <= drop_i && !waits;
    hold_q   <= (hold_i || drop_i) && !waits;
    clear_q  <= clear_i;
    cancel_q <= cancel_i;
    forget_q <= cancel_q;
  end
  jd_stream_skid #(
    .Width(65)
  ) u_skid (
    .clk_i,
    .rst_ni,
    .clear_i     (drop_q),
    .in_valid_i  (tde_valid_i),
    .in_ready_o  (tde_ready_o),
    .in_data_i   ({plain_in, tde_data_i}),
    .out_valid_o (offered),
    .out_ready_i (enter),
    .out_data_o  ({plain_offered, word_offered})
  );
  assign enter = !valid || ready;

  // ---- Updates on their way to the order point: an update counts as in the lane from here on.
  logic       op_valid, op_ready, step;
  lane_op_t   op;
  logic [7:0] flight_q;
  assign step = op_valid && op_ready;
  jd_stream_skid #(
    .Width($bits(lane_op_t))
  ) u_ops (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (op_valid),
    .in_ready_o  (op_ready),
    .in_data_i   (op),
    .out_valid_o (op_valid_o),
    .out_ready_i (op_ready_i),
    .out_data_o  (op_o)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      flight_q       <= '0;
      updates_idle_o <= 1'b1;
    end else if (step != updated_i) begin
      flight_q       <= step ? flight_q + 8'd1 : flight_q - 8'd1;
      updates_idle_o <= !step && flight_q == 8'd1;
    end
  end

  // ---- Batches that go to SMP: counted as they begin, are delivered and close.
  localparam int unsigned CountW = BATCH_W + 1;
  typedef logic [CountW-1:0] count_t;
  typedef struct packed {
    logic [BATCH_W-1:0] batch;
    logic [PLACE_W-1:0] place;
    logic [SLOT_W:0]    size;
    logic               single;      // it is 1
  } batch_t;
  count_t begun_q, delivered_q, closed_q, fetched_q, mark_q;
  count_t after_q;                   // closed_q + 1
  logic   stream_q;                  // the job's batches go to SMP
  // Whether count a is less than count b.
  function automatic logic behind(input count_t a, input count_t b);
    count_t distance;
    distance = a - b;
    return distance[CountW-1];
  endfunction

  // The oldest open one, where its next TD error belongs, and the one after it, which is read ahead.
  batch_t             head_q, next_q, first, second;
  logic [PLACE_W-1:0] next_after_q;           // next_q.place + 1
  logic               head_valid_q, next_valid_q;
  count_t             load_q, load_after_q;   // number of the next one; one more
  logic               load, one, two;         // one, two: so many are begun and not loaded
  logic [PLACE_W-1:0] place_q, place_after_q; // one more
  logic [SLOT_W:0]    slot_q, left_q;
  logic [SLOT_W:0]    slot_after_q;           // the slot after it, 0 if it is the last
  logic               last_q;                 // one is left
  logic               sent_q;                 // the word of this slot went out, and no hold,
  logic               sent, sent_after;       // and that of the slot after it
  logic               is_error, is_fetch, take, close, forget;
  assign is_error   = sent_q && fits_q;
  assign op_valid   = is_error;
  assign waits      = is_error && !op_ready;
  assign ready      = drop_q || (!hold_q && (!is_error || op_ready));
  assign take       = valid && !hold_q && (!is_error || op_ready);
  assign close      = step && last_q;
  assign closed_o   = close;
  assign open_o     = delivered_q - closed_q;
  assign one        = !(load_q == begun_q);
  assign two        = (load_after_q ^ begun_q) != '0;
  assign load       = (next_valid_q && !head_valid_q) || (step && next_valid_q && last_q);
  batch_t begun;
  assign begun = '{batch: begin_batch_i, place: begin_place_i, size: size_i,
                   single: size_i == (SLOT_W + 1)'(1)};
  jd_mem_lut #(.Depth (2 ** BATCH_W), .Width ($bits(batch_t)), .Reads (2)) u_batches (
    .clk_i, .rst_ni,
    .write_en_i   (begin_i && begin_stream_i),
    .write_addr_i (begun_q[BATCH_W-1:0]),
    .write_data_i (begun),
    .read_addr_i  ({load_after_q[BATCH_W-1:0], load_q[BATCH_W-1:0]}),
    .read_data_o  ({second, first})
  );
  always_comb begin
    op       = '0;
    op.op    = OpUpdateSlot;
    op.fp32  = 1'b1;
    op.batch = head_q.batch;
    op.index = INDEX_W'(place_q);
    op.value = 64'(word.value);
  end

  // The word in hand, and whether it is the next slot's: one of two, as the one before it goes.
  always_ff @(posedge clk_i) begin
    if (!rst_ni || drop_q) valid <= 1'b0;
    else if (enter)        valid <= offered;
    if (enter) begin
      word   <= word_offered;
      fits_q <= offered && plain_offered &&
                (step ? word_offered.slot[SLOT_W:0] == slot_after_q
                      : word_offered.slot[SLOT_W:0] == slot_q);
    end
    // No word of a batch after it is here yet.
    if (!rst_ni || drop_q || forget || clear_q) fits_q <= 1'b0;
  end

  // A closed batch counts as fetched: fetched_q is never less than closed_q.
  logic is_begun, is_fetching;
  assign is_begun    = fetched_q == begun_q;
  assign is_fetching = behind(fetched_q, delivered_q);
  assign is_fetch    = word.kind == TDE_FETCH_DONE && !is_begun;

  // A clock after a cancel: the oldest is forgotten if it is not delivered.
  assign forget = forget_q && closed_q == delivered_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_q) begin
      begun_q      <= '0;
      delivered_q  <= '0;
      closed_q     <= '0;
      after_q      <= count_t'(1);
      load_q       <= '0;
      load_after_q <= count_t'(1);
      fetched_q    <= '0;
      mark_q       <= '0;
      head_valid_q <= 1'b0;
      next_valid_q <= 1'b0;
    end else begin
      if (cancel_q)                       begun_q <= delivered_q;
      else if (begin_i && begin_stream_i) begun_q <= begun_q + 1'b1;
      if (delivered_i && stream_q) delivered_q <= delivered_q + 1'b1;
      if (close) begin
        closed_q <= after_q;
        after_q  <= after_q + 1'b1;
      end
      if (cancel_q && !is_fetching) fetched_q <= delivered_q;
      else if (take && is_fetch)    fetched_q <= fetched_q + 1'b1;
      else if (close && fetched_q == closed_q) fetched_q <= after_q;
      if (cancel_q && (mark_i || behind(delivered_q, mark_q))) mark_q <= delivered_q;
      else if (mark_i)                                         mark_q <= begun_q;
      if (forget) begin
        load_q       <= delivered_q;
        load_after_q <= delivered_q + 1'b1;
        head_valid_q <= 1'b0;
      end else begin
        if (load) begin
          load_q       <= load_after_q;
          load_after_q <= load_after_q + 1'b1;
        end
        if (load)       head_valid_q <= 1'b1;
        else if (close) head_valid_q <= 1'b0;
      end
      next_valid_q <= !cancel_q && !forget && (load ? two : one);
    end
    if (begin_i) stream_q <= begin_stream_i;
    next_q        <= load ? second : first;
    next_after_q  <= (load ? second.place : first.place) + 1'b1;
    if (load) begin
      head_q        <= next_q;
      place_q       <= next_q.place;
      place_after_q <= next_after_q;
      left_q        <= next_q.size;
      last_q        <= next_q.single;
    end else if (step) begin
      place_q       <= place_after_q;
      place_after_q <= place_after_q + 1'b1;
      left_q        <= left_q - 1'b1;
      last_q        <= left_q == (SLOT_W + 1)'(2);
    end
    if (close || !head_valid_q || forget) begin
      slot_q       <= '0;
      slot_after_q <= (SLOT_W + 1)'(!next_q.single);
    end else if (step) begin
      slot_q       <= slot_after_q;
      slot_after_q <= left_q == (SLOT_W + 1)'(2) ? '0 : slot_after_q + 1'b1;
    end
  end

  // A word that went out comes back two clocks later at the earliest.
  logic [PLACE_W-1:0] unsent, unsent_after, unsent_next;   // to the next slot that is sent
  assign unsent       = place_q - sent_place_i;
  assign unsent_after = place_after_q - sent_place_i;
  assign unsent_next  = next_q.place - sent_place_i;
  assign sent         = unsent[PLACE_W-1];
  assign sent_after   = unsent_after[PLACE_W-1];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_q || forget || ((hold_i || drop_i) && !waits)) sent_q <= 1'b0;
    else if (load) sent_q <= unsent_next[PLACE_W-1];
    else           sent_q <= step ? sent_after && !last_q : sent && head_valid_q;
  end

  // ---- Batches that go to memory
  logic [31:0] m_begun_q, m_delivered_q, m_stored_q, m_fetched_q, m_mark_q, m_distance, m_past;
  logic        memory_q;             // the job's do
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      m_begun_q     <= '0;
      m_delivered_q <= '0;
      m_stored_q    <= '0;
      m_fetched_q   <= '0;
      m_mark_q      <= '0;
      memory_q      <= 1'b0;
      error_o       <= 1'b0;
    end else begin
      error_o <= take && !is_error && !is_fetch;
      if (clear_q || cancel_q)              m_begun_q <= m_delivered_q;
      else if (begin_i && begin_memory_i)   m_begun_q <= m_begun_q + 1;
      if (delivered_i && memory_q)          m_delivered_q <= m_delivered_q + 1;
      if (stored_i || cancel_q || clear_q)  m_stored_q <= m_delivered_q;
      if (clear_q)                          m_fetched_q <= m_delivered_q;
      else if (acknowledge_i || no_fetch_i) m_fetched_q <= m_stored_q;
      if ((clear_q || cancel_q) && (mark_i || m_past[31])) m_mark_q <= m_delivered_q;
      else if (mark_i)                                     m_mark_q <= m_begun_q;
      if (begin_i) memory_q <= begin_memory_i;
    end
  end
  assign m_past     = m_delivered_q - m_mark_q;
  assign m_distance = m_fetched_q - m_mark_q;
  assign fetched_o  = !behind(fetched_q, mark_q) && !m_distance[31];

  logic unused_bits;
  assign unused_bits = ^{m_past[30:0], m_distance[30:0], head_q.place, head_q.size, head_q.single,
                         unsent, unsent_after, unsent_next};

  `JD_ASSERT(InOrder_A, !behind(begun_q, delivered_q) && !behind(delivered_q, closed_q)
                        && !behind(fetched_q, closed_q) && !behind(begun_q, fetched_q))
  `JD_ASSERT_IF(HeadIsOldest_A, head_valid_q, load_q == after_q)
  `JD_ASSERT_IF(HeadIsNone_A, !head_valid_q, load_q == closed_q)
  `JD_ASSERT_IF(SlotAfter_A, head_valid_q, slot_after_q == (last_q ? '0 : slot_q + 1'b1))
  `JD_ASSERT_IF(Fits_A, valid && head_valid_q && fits_q, word.slot[SLOT_W:0] == slot_q &&
                                                         word.kind == TDE_ERROR)
  `JD_ASSERT_IF(NoneInHold_A, hold_q, !op_valid)
  `JD_ASSERT_IF(OfAWord_A, fits_q, valid)
  `JD_ASSERT_IF(SentIfHead_A, sent_q, head_valid_q)
  `JD_ASSERT_IF(LastIsOne_A, head_valid_q, last_q == (left_q == (SLOT_W + 1)'(1)))
  `JD_ASSERT_IF(Owed_A, updated_i, flight_q != '0)
  `JD_ASSERT(UpdatesIdle_A, updates_idle_o == (flight_q == '0))
  `JD_ASSERT_IF(NoneLost_A, begin_i && begin_stream_i, count_t'(begun_q - closed_q) < 2**BATCH_W)
endmodule : jd_replay_errors
