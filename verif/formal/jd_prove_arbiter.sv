// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_stream_arbiter: at most one grant; what comes out is the granted input's word, with
// its number, and stays until it is taken; an input that waits sees each other input served at most
// once, and something is served whenever the output is free and any input offers.
//
// Method       induction. victim_i is any input; overtook_q are the inputs served since it waits.
//              The rotation: whoever overtook is not nearer to the victim than the last served.
// Assumptions  inputs hold a word until it is taken (InStable_M of the block). Reset at any time.
`include "jd_assert.svh"
module jd_prove_arbiter #(
  parameter  int unsigned Streams = 3,
  parameter  int unsigned Width   = 4,
  localparam int unsigned IndexW  = (Streams > 1) ? $clog2(Streams) : 1
) (
  input logic                     clk_i,
  input logic                     rst_ni,
  input logic [Streams-1:0]       in_valid_i,
  input logic [Streams*Width-1:0] in_data_i,
  input logic                     out_ready_i,
  input logic [IndexW-1:0]        victim_i
);
  logic [Streams-1:0] in_ready, taken;
  logic               out_valid;
  logic [Width-1:0]   out_data;
  logic [IndexW-1:0]  out_index;
  jd_stream_arbiter #(.Streams(Streams), .Width(Width)) u_dut (
    .clk_i,
    .rst_ni,
    .in_valid_i,
    .in_ready_o  (in_ready),
    .in_data_i,
    .out_valid_o (out_valid),
    .out_ready_i,
    .out_data_o  (out_data),
    .out_index_o (out_index)
  );
  assign taken = in_valid_i & in_ready;

  // The granted word, as it was taken.
  logic [Width-1:0]   word_q;
  logic [IndexW-1:0]  from_q;
  logic               held_q;
  logic [Streams-1:0] overtook_q;
  logic               waits;
  assign waits = in_valid_i[victim_i] && !in_ready[victim_i];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q     <= 1'b0;
      overtook_q <= '0;
    end else begin
      if (taken != '0)      held_q <= 1'b1;
      else if (out_ready_i) held_q <= 1'b0;
      overtook_q <= waits ? overtook_q | taken : '0;
    end
    for (int unsigned s = 0; s < Streams; s++) begin
      if (taken[s]) begin
        word_q <= in_data_i[s*Width +: Width];
        from_q <= IndexW'(s);
      end
    end
  end

  // Places from stream s round to the victim, 1..Streams.
  function automatic int unsigned places(logic [IndexW-1:0] s, logic [IndexW-1:0] to);
    return (s < to) ? 32'(to) - 32'(s) : 32'(to) + Streams - 32'(s);
  endfunction

  VictimFixed_M : assume property (@(posedge clk_i) (32'(victim_i) < Streams && $stable(victim_i)));
  `JD_ASSERT(IndexInRange_A, 32'(out_index) < Streams)
  `JD_ASSERT(OfferedIsTaken_A, out_valid == held_q)
  `JD_ASSERT_IF(Unchanged_A, held_q, out_data == word_q && out_index == from_q)
  `JD_ASSERT_IF(OnceEach_A, in_valid_i[victim_i], (taken & overtook_q) == '0)
  `JD_ASSERT_IF(Works_A, in_valid_i != '0 && (!out_valid || out_ready_i), taken != '0)
  `JD_ASSERT_IF(OnlyWhileWaiting_A, overtook_q != '0, in_valid_i[victim_i])
  for (genvar s = 0; s < Streams; s++) begin : gen_order
    `JD_ASSERT_IF(Rotates_A, overtook_q[s],
                  IndexW'(s) != victim_i && out_index != victim_i &&
                  places(IndexW'(s), victim_i) >= places(out_index, victim_i))
  end

  AllOvertook_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      ($countones(overtook_q) == 32'(Streams - 1) && in_ready[victim_i]));
endmodule : jd_prove_arbiter
