// SPDX-License-Identifier: Apache-2.0
//
// Queues in one memory, of which all heads show a part.
//
// Streams  push_i: a word to the queue push_queue_i, only if it is not full_o. valid_o: there is a word;
//          heads_o: the part of it that shows. read_i: asks for the first word of read_queue_i, which
//          stays there. pop_i: the first word of pop_queue_i leaves, if there is one.
// Timing   a word can be read from the clock after its push on; word_o follows read_i by one clock and
//          stays until the next read.
// Numbers  bits, unchanged.
// Source   -
`include "jd_assert.svh"
module jd_sparse_queues #(
  parameter  int unsigned Queues = 8,            // 2..16
  parameter  int unsigned Depth  = 8,            // words of each, power of two 2..64
  parameter  int unsigned Width  = 32,           // bits of a word
  parameter  int unsigned HeadW  = 8,            // of them those that show
  localparam int unsigned QueueW = $clog2(Queues),
  localparam int unsigned PlaceW = $clog2(Depth)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    clear_i,
  input  logic                    push_i,
  input  logic [QueueW-1:0]       push_queue_i,
  input  logic [Width-1:0]        push_word_i,
  input  logic [HeadW-1:0]        push_head_i,
  output logic [Queues-1:0]       full_o,
  output logic [Queues-1:0]       valid_o,
  output logic [Queues*HeadW-1:0] heads_o,       // queue 0 in the low bits
  input  logic                    read_i,
  input  logic [QueueW-1:0]       read_queue_i,
  output logic [Width-1:0]        word_o,
  input  logic                    pop_i,
  input  logic [QueueW-1:0]       pop_queue_i
);
  if (Queues < 2 || Queues > 16 || Depth < 2 || Depth > 64 || Depth != 1 << PlaceW) begin : gen_bad
    $fatal(1, "jd_sparse_queues: Queues=%0d, want 2..16, Depth=%0d, want a power of two 2..64",
           Queues, Depth);
  end
  logic [Queues-1:0][PlaceW:0] write_q, read_q;   // places, with a bit for the turn
  for (genvar k = 0; k < Queues; k++) begin : gen_queue
    logic pushed, popped;
    assign pushed     = push_i && push_queue_i == QueueW'(k);
    assign popped     = pop_i && pop_queue_i == QueueW'(k);
    assign valid_o[k] = write_q[k] != read_q[k];
    assign full_o[k]  = write_q[k] == (read_q[k] ^ {1'b1, PlaceW'(0)});
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) {write_q[k], read_q[k]} <= '0;
      else begin
        write_q[k] <= write_q[k] + (PlaceW + 1)'(pushed);
        read_q[k]  <= read_q[k] + (PlaceW + 1)'(popped);
      end
    end
    jd_mem_lut #(.Depth (Depth), .Width (HeadW)) u_heads (
      .clk_i, .rst_ni,
      .write_en_i   (pushed),
      .write_addr_i (write_q[k][PlaceW-1:0]),
      .write_data_i (push_head_i),
      .read_addr_i  (read_q[k][PlaceW-1:0]),
      .read_data_o  (heads_o[k*HeadW +: HeadW])
    );
    `JD_ASSUME_IF(PushWithRoom_M, pushed && !clear_i, !full_o[k])
    `JD_ASSUME_IF(PopWithWord_M, popped && !clear_i, valid_o[k])
  end
  jd_mem_1r1w #(.Depth (Queues * Depth), .Lanes (1), .LaneW (Width), .ReadLatency (1)) u_words (
    .clk_i, .rst_ni,
    .write_en_i   (push_i),
    .write_addr_i ({push_queue_i, write_q[push_queue_i][PlaceW-1:0]}),
    .write_mask_i (1'b1),
    .write_data_i (push_word_i),
    .read_en_i    (read_i),
    .read_addr_i  ({read_queue_i, read_q[read_queue_i][PlaceW-1:0]}),
    .read_data_o  (word_o)
  );
endmodule : jd_sparse_queues
