// SPDX-License-Identifier: Apache-2.0
//
// Holds words of a pipe until a slower branch of it has caught up: first in, first out.
//
// Streams  push_i stores data_i; pop_i shows the oldest word on data_o one clock later. Both are
//          pipes: the user knows that there is room and that there is a word.
// Timing   a word can be popped from the clock after its push.
// Numbers  bits, unchanged.
// Source   -
`include "jd_assert.svh"
module jd_mem_hold #(
  parameter  int unsigned Width = 128,    // bits of a word, 1..4096
  parameter  int unsigned Depth = 16,     // words, power of two 2..4096
  localparam int unsigned PtrW  = $clog2(Depth)
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             push_i,
  input  logic [Width-1:0] data_i,
  input  logic             pop_i,
  output logic [Width-1:0] data_o
);
  if (Width < 1 || Width > 4096 || Depth < 2 || Depth > 4096 || Depth != 2 ** PtrW)
  begin : gen_bad_parameters
    $fatal(1, "jd_mem_hold: Width=%0d, want 1..4096, Depth=%0d, want a power of two 2..4096", Width,
           Depth);
  end
  logic [PtrW:0] head_q, tail_q;

  jd_mem_1r1w #(
    .Depth       (Depth),
    .Lanes       (1),
    .LaneW       (Width),
    .ReadLatency (1)
  ) u_words (
    .clk_i        (clk_i),
    .rst_ni       (rst_ni),
    .write_en_i   (push_i),
    .write_addr_i (tail_q[PtrW-1:0]),
    .write_mask_i (1'b1),
    .write_data_i (data_i),
    .read_en_i    (pop_i),
    .read_addr_i  (head_q[PtrW-1:0]),
    .read_data_o  (data_o)
  );

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      head_q <= '0;
      tail_q <= '0;
    end else begin
      if (push_i) tail_q <= tail_q + 1'b1;
      if (pop_i)  head_q <= head_q + 1'b1;
    end
  end

  `JD_ASSERT_IF(PopOfWord_A, pop_i, head_q != tail_q)
  `JD_ASSERT_IF(PushHasRoom_A, push_i, tail_q - head_q != (PtrW + 1)'(Depth) || pop_i)
endmodule : jd_mem_hold
