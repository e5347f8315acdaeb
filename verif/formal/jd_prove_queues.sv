// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_sparse_queues: of each queue, no word is lost, doubled, changed or overtaken; a queue has
// room until it has Depth words, and shows a word while it has one.
//
// Method       induction. A word that pick_i chooses freely, of any queue, is followed: its value, and
//              how many words of its queue are before it.
// Assumptions  no push to a full queue, no pop of an empty one (the block's). Reset and clear come at
//              any time.
`include "jd_assert.svh"
module jd_prove_queues #(
  parameter  int unsigned Queues = 3,
  parameter  int unsigned Depth  = 4,
  parameter  int unsigned Width  = 3,
  parameter  int unsigned HeadW  = 2,
  localparam int unsigned QueueW = $clog2(Queues),
  localparam int unsigned PlaceW = $clog2(Depth)
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              clear_i,
  input logic              push_i,
  input logic [QueueW-1:0] push_queue_i,
  input logic [Width-1:0]  push_word_i,
  input logic [HeadW-1:0]  push_head_i,
  input logic              read_i,
  input logic [QueueW-1:0] read_queue_i,
  input logic              pop_i,
  input logic [QueueW-1:0] pop_queue_i,
  input logic              pick_i,
  input logic [QueueW-1:0] watch_i
);
  logic [Queues-1:0]       full, valid;
  logic [Queues*HeadW-1:0] heads;
  logic [Width-1:0]        word;
  jd_sparse_queues #(.Queues (Queues), .Depth (Depth), .Width (Width), .HeadW (HeadW)) u_dut (
    .clk_i, .rst_ni, .clear_i, .push_i, .push_queue_i, .push_word_i, .push_head_i,
    .full_o  (full),
    .valid_o (valid),
    .heads_o (heads),
    .read_i, .read_queue_i,
    .word_o  (word),
    .pop_i, .pop_queue_i
  );
  logic              followed_q, push, pop;
  logic [Width-1:0]  value_q;
  logic [HeadW-1:0]  head_q;
  logic [PlaceW:0]   ahead_q, count_q, read_at;
  logic [PlaceW-1:0] place;
  assign push    = push_i && push_queue_i == watch_i;
  assign pop     = pop_i && pop_queue_i == watch_i;
  assign read_at = u_dut.read_q[watch_i];
  assign place   = PlaceW'(read_at + ahead_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      followed_q <= 1'b0;
      count_q    <= '0;
    end else begin
      count_q <= count_q + (PlaceW + 1)'(push) - (PlaceW + 1)'(pop);
      if (!followed_q) begin
        followed_q <= push && pick_i;
        value_q    <= push_word_i;
        head_q     <= push_head_i;
        ahead_q    <= count_q - (PlaceW + 1)'(pop);
      end else if (pop) begin
        if (ahead_q == '0) followed_q <= 1'b0;
        else               ahead_q    <= ahead_q - 1'b1;
      end
    end
  end

  WatchFixed_M : assume property (@(posedge clk_i) ($stable(watch_i)));
  `JD_ASSUME(QueueThere_M, 32'(watch_i) < Queues && 32'(push_queue_i) < Queues
             && 32'(pop_queue_i) < Queues && 32'(read_queue_i) < Queues)
  `JD_ASSERT(CountIsRight_A, 32'(count_q) <= Depth
             && (PlaceW + 1)'(u_dut.write_q[watch_i] - read_at) == count_q)
  `JD_ASSERT(RoomIsTold_A, full[watch_i] == (32'(count_q) == Depth))
  `JD_ASSERT(WordIsTold_A, valid[watch_i] == (count_q != '0))
  `JD_ASSERT_IF(NotLost_A, followed_q, ahead_q < count_q)
  `JD_ASSERT_IF(HeadShows_A, followed_q && ahead_q == '0,
                heads[32'(watch_i)*HeadW +: HeadW] == head_q)
  `JD_ASSERT_NEXT(WordIsRead_A, followed_q && ahead_q == '0 && read_i && read_queue_i == watch_i,
                  word == value_q)
  `JD_ASSERT_IF(Stored_A, followed_q, u_dut.u_words.mem[{watch_i, place}] == value_q)
  for (genvar k = 0; k < Queues; k++) begin : gen_queue
    `JD_ASSERT_IF(HeadStored_A, followed_q && 32'(watch_i) == k,
                  u_dut.gen_queue[k].u_heads.mem[place] == head_q)
  end
  FollowedLeaves_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (followed_q && pop && ahead_q == '0 && full[watch_i] && valid == '1));
endmodule : jd_prove_queues
