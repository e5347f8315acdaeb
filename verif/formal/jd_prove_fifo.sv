// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_stream_fifo, at Depth 2 of the jd_stream_skid in it: no word is lost, doubled, changed
// or overtaken, and count_o is right.
//
// Method       induction. A word that pick_i chooses freely is followed: how many words are ahead of
//              it, and its value; the state of the buffer between input and output is tied to it.
// Assumptions  the input holds a word until it is taken (InStable_M of the block), as every stream
//              does. Reset and clear come at any time.
`include "jd_assert.svh"
module jd_prove_fifo #(
  parameter  int unsigned Width  = 4,
  parameter  int unsigned Depth  = 5,
  localparam int unsigned CountW = $clog2(Depth + 1)
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             clear_i,
  input logic             in_valid_i,
  input logic [Width-1:0] in_data_i,
  input logic             out_ready_i,
  input logic             pick_i
);
  logic              in_ready, out_valid;
  logic [Width-1:0]  out_data;
  logic [CountW-1:0] count;
  jd_stream_fifo #(.Width(Width), .Depth(Depth)) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .in_valid_i,
    .in_ready_o  (in_ready),
    .in_data_i,
    .out_valid_o (out_valid),
    .out_ready_i,
    .out_data_o  (out_data),
    .count_o     (count)
  );

  logic push, pop;
  assign push = in_valid_i && in_ready;
  assign pop  = out_valid && out_ready_i;

  logic              followed_q;
  logic [Width-1:0]  value_q;
  logic [CountW-1:0] ahead_q, count_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      followed_q <= 1'b0;
      count_q    <= '0;
    end else begin
      count_q <= count_q + CountW'(push) - CountW'(pop);
      if (!followed_q) begin
        followed_q <= push && pick_i;
        value_q    <= in_data_i;
        ahead_q    <= count - CountW'(pop);
      end else if (pop) begin
        if (ahead_q == '0) followed_q <= 1'b0;
        else               ahead_q <= ahead_q - CountW'(1);
      end
    end
  end

  `JD_ASSERT(CountIsRight_A, count == count_q)
  `JD_ASSERT_IF(NotLost_A, followed_q, ahead_q < count)
  `JD_ASSERT_IF(Unchanged_A, followed_q && out_valid && ahead_q == '0, out_data == value_q)
  `JD_ASSERT_IF(NothingFromEmpty_A, count_q == '0, !out_valid)
  `JD_ASSERT_IF(TakesWhenEmpty_A, count_q == '0, in_ready)

  if (Depth == 2) begin : gen_skid
    `JD_ASSERT_IF(Spare_A, followed_q && ahead_q == CountW'(1),
                  u_dut.gen_skid.u_skid.spare_q == value_q)
  end else if (Depth > 2) begin : gen_memory
    // The followed word is `behind` places after the read address, or in the output register.
    logic [31:0] behind, place, read_addr, write_addr, stored;
    assign stored     = 32'(u_dut.gen_memory.stored_q);
    assign read_addr  = 32'(u_dut.gen_memory.read_addr_q);
    assign write_addr = 32'(u_dut.gen_memory.write_addr_q);
    assign behind     = 32'(ahead_q) - 32'(out_valid);
    assign place      = (read_addr + behind >= Depth) ? read_addr + behind - Depth
                                                      : read_addr + behind;
    `JD_ASSERT(Addresses_A, read_addr < Depth && write_addr < Depth && stored <= Depth &&
               (read_addr + stored == write_addr || read_addr + stored == write_addr + Depth))
    `JD_ASSERT_IF(Stored_A, followed_q && !(out_valid && ahead_q == '0),
                  u_dut.gen_memory.u_words.mem[place] == value_q)
    `JD_ASSERT(OneCycleToOutput_A, stored <= 32'(count))
  end

  FollowedLeaves_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (followed_q && pop && ahead_q == '0 && count == CountW'(Depth)));
endmodule : jd_prove_fifo
