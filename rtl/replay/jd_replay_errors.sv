// SPDX-License-Identifier: Apache-2.0
//
// Takes the words of TDE: TD errors become updates by slot of the oldest open batch. Knows which
// batches are open, and which were not fetched yet.
//
// Streams  tde_*: from the learner. op_*: updates by slot, to the sequencer.
// Timing   one word a clock; error_o comes a clock after its word was taken. A bank is open from
//          open_i (a pulse) until its last TD error is granted.
// Numbers  counts of batches that go to memory wrap; the distance of two is below 2^31.
// Source   docs/replay.md, Corner cases. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_errors
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
(
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 clear_i,          // close all batches
  input  logic                 empty_i,          // drop the word that is held
  input  logic                 drop_i,           // level: take words and drop them
  input  logic                 hold_i,           // level: take no words
  input  logic                 tde_valid_i,
  output logic                 tde_ready_o,
  input  logic [63:0]          tde_data_i,
  // Batches
  input  logic                 open_i,           // a batch begins; its results go ...
  input  logic                 open_bank_i,
  input  logic [SLOT_W:0]      open_size_i,
  input  logic                 open_stream_i,    // ... to SMP, TD errors come for it
  input  logic                 open_memory_i,    // ... to memory
  input  logic                 cancel_i,         // it was not sampled
  input  logic                 delivered_i,      // it is in memory
  input  logic [1:0][SLOT_W:0] written_i,        // slots of each bank that were sampled
  output logic [1:0]           open_o,
  input  logic                 acknowledge_i,    // the host has fetched what is in memory
  input  logic                 no_fetch_i,       // level: it need not tell
  input  logic                 mark_i,           // remember what is to be fetched ...
  output logic                 fetched_o,        // ... and tell when it is
  output logic                 error_o,          // a word did not fit
  // Updates
  output logic                 op_valid_o,
  input  logic                 op_ready_i,
  output lane_op_t             op_o
);
  logic        valid, ready;
  logic [63:0] data;
  tde_t        word, word_in;
  logic        plain, plain_in;      // a TD error with a slot of its width, and no other bit
  assign word_in  = tde_data_i;
  assign plain_in = word_in.kind == TDE_ERROR && word_in.zero == '0 &&
                    word_in.slot == 16'(word_in.slot[SLOT_W:0]);
  jd_stream_skid #(
    .Width(65)
  ) u_skid (
    .clk_i,
    .rst_ni,
    .clear_i     (empty_i),
    .in_valid_i  (tde_valid_i),
    .in_ready_o  (tde_ready_o),
    .in_data_i   ({plain_in, tde_data_i}),
    .out_valid_o (valid),
    .out_ready_i (ready),
    .out_data_o  ({plain, data})
  );
  assign word = data;

  logic [1:0][SLOT_W:0] size_q;
  logic [SLOT_W:0]      next_q;      // slot that comes next, of the oldest open batch
  logic                 oldest_q;
  logic [1:0]           due_q;       // banks whose FETCH_DONE is to come; only open ones
  logic                 due_bank;    // the oldest of them
  logic                 is_error, is_fetch, take, last;

  assign due_bank   = due_q[oldest_q] ? oldest_q : !oldest_q;
  assign is_error   = plain && open_o[oldest_q] && word.slot[SLOT_W:0] == next_q &&
                      next_q < written_i[oldest_q];
  assign is_fetch   = word.kind == TDE_FETCH_DONE && due_q != '0;
  assign op_valid_o = valid && is_error && !hold_i && !drop_i;
  assign ready      = drop_i || (!hold_i && (!is_error || op_ready_i));
  assign take       = valid && ready && !drop_i;
  assign last       = next_q + 1'b1 == size_q[oldest_q];
  always_comb begin
    op_o       = '0;
    op_o.op    = OpUpdateSlot;
    op_o.fp32  = 1'b1;
    op_o.bank  = oldest_q;
    op_o.index = INDEX_W'(next_q);
    op_o.value = 64'(word.value);
  end

  logic [1:0]  open_d, due_d, mark_q;
  logic [31:0] begun_q, delivered_q, fetched_q, begun_mark_q, distance;   // batches to memory
  logic        newest_q, memory_q;    // of the batch that began last
  always_comb begin
    open_d = open_o;
    due_d  = due_q;
    if (take && is_fetch) due_d[due_bank] = 1'b0;
    if (take && is_error && last) begin
      open_d[oldest_q] = 1'b0;
      due_d[oldest_q]  = 1'b0;
    end
    if (cancel_i) begin
      open_d[newest_q] = 1'b0;
      due_d[newest_q]  = 1'b0;
    end
    if (clear_i) begin
      open_d = '0;
      due_d  = '0;
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      open_o      <= '0;
      due_q       <= '0;
      mark_q      <= '0;
      error_o     <= 1'b0;
      oldest_q    <= 1'b0;
      next_q      <= '0;
      memory_q    <= 1'b0;
      begun_q     <= '0;
      delivered_q <= '0;
      fetched_q   <= '0;
    end else begin
      error_o <= take && !is_error && !is_fetch;
      open_o <= open_d;
      due_q  <= due_d;
      mark_q <= (mark_i ? due_q : mark_q) & due_d;
      if (open_d == '0) next_q <= '0;
      else if (take && is_error) next_q <= last ? '0 : next_q + 1'b1;
      if (take && is_error && last) oldest_q <= !oldest_q;
      if (open_i) begin
        if (open_stream_i) begin
          open_o[open_bank_i] <= 1'b1;
          due_q[open_bank_i]  <= 1'b1;
          if (open_d == '0) oldest_q <= open_bank_i;
        end
        if (open_memory_i) begun_q <= begun_q + 1;
        memory_q <= open_memory_i;
      end
      if (delivered_i || (cancel_i && memory_q)) delivered_q <= begun_q;
      if (clear_i) begin
        delivered_q <= begun_q;
        fetched_q   <= begun_q;
      end else if (acknowledge_i || no_fetch_i) begin
        fetched_q <= delivered_q;
      end else if (cancel_i && memory_q && fetched_q + 1 == begun_q) begin
        fetched_q <= begun_q;   // nothing but the batch that was not sampled was to be fetched
      end
    end
    if (open_i) begin
      size_q[open_bank_i] <= open_size_i;
      newest_q            <= open_bank_i;
    end
    if (mark_i) begun_mark_q <= begun_q;
  end
  assign distance  = fetched_q - begun_mark_q;
  assign fetched_o = mark_q == '0 && !distance[31];

  `JD_ASSERT_IF(OpensFreeBank_A, open_i, !open_o[open_bank_i])
  `JD_ASSERT(DueIsOpen_A, (due_q & ~open_o) == '0)
endmodule : jd_replay_errors
