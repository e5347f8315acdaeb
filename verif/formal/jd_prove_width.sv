// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_stream_width: no unit is lost, doubled, changed or overtaken; a word has as many as
// its count says, and is not whole only under flush_i.
//
// Method       induction. A unit that pick_i chooses freely is followed: how many units are ahead of
//              it, and its value; the held units are tied to it.
// Assumptions  the input holds a word until it is taken, its count is in range, and nothing comes
//              while a flush is owed (those of the block). flush_i stays until the word is taken.
//              Reset and clear come at any time.
`include "jd_assert.svh"
module jd_prove_width #(
  parameter  int unsigned InW    = 2,
  parameter  int unsigned OutW   = 6,
  localparam int unsigned UnitW  = (InW < OutW) ? InW : OutW,
  localparam int unsigned Units  = (InW < OutW) ? OutW / InW : InW / OutW,
  localparam bit          Wider  = InW < OutW,
  localparam int unsigned CountW = $clog2(Units + 1)
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              clear_i,
  input logic              flush_i,
  input logic              in_valid_i,
  input logic [InW-1:0]    in_data_i,
  input logic [CountW-1:0] in_count_i,
  input logic              out_ready_i,
  input logic              pick_i,
  input logic [CountW-1:0] unit_i      // the one of the word that is followed
);
  logic              in_ready, out_valid;
  logic [OutW-1:0]   out_data;
  logic [CountW-1:0] out_count;
  jd_stream_width #(.InW(InW), .OutW(OutW)) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .flush_i,
    .in_valid_i,
    .in_ready_o  (in_ready),
    .in_data_i,
    .in_count_i,
    .out_valid_o (out_valid),
    .out_ready_i,
    .out_data_o  (out_data),
    .out_count_o (out_count)
  );

  logic              push, pop;
  logic [CountW-1:0] comes, goes, unit;      // units that move in this clock
  assign push  = in_valid_i && in_ready;
  assign pop   = out_valid && out_ready_i;
  assign comes = !push ? '0 : Wider ? CountW'(1) : in_count_i;
  assign goes  = !pop ? '0 : out_count;
  assign unit  = Wider ? '0 : unit_i;

  // The followed unit; one that leaves in the clock in which it comes is compared at once.
  logic              followed_q, starts, passes;
  logic [UnitW-1:0]  value_q, value;
  logic [CountW-1:0] ahead_q, ahead, held_q;
  assign value  = UnitW'(in_data_i >> (32'(unit) * UnitW));
  assign starts = !followed_q && push && pick_i && unit < comes;
  assign ahead  = held_q + unit;
  assign passes = Wider && starts && pop;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      followed_q <= 1'b0;
      held_q     <= '0;
    end else begin
      held_q <= CountW'(held_q + comes - goes);
      if (starts) begin
        followed_q <= !passes;
        value_q    <= value;
        ahead_q    <= Wider ? ahead : ahead - goes;
      end else if (followed_q && pop) begin
        if (ahead_q < goes) followed_q <= 1'b0;
        else                ahead_q <= ahead_q - goes;
      end
    end
  end

  `JD_ASSUME_NEXT(FlushStays_M, flush_i && out_valid && !out_ready_i && !clear_i, flush_i)
  `JD_ASSERT(Held_A, u_dut.held_q == held_q)
  `JD_ASSERT_IF(Counted_A, out_valid, out_count != '0 && 32'(out_count) <= Units)
  `JD_ASSERT_IF(NotLost_A, followed_q, ahead_q < held_q)
  `JD_ASSERT_IF(Passes_A, passes,
                UnitW'(out_data >> (32'(ahead) * UnitW)) == value && 32'(ahead) == Units - 1)
  `JD_ASSERT_IF(Unchanged_A, followed_q && out_valid && ahead_q < out_count,
                UnitW'(out_data >> (32'(ahead_q) * UnitW)) == value_q)
  `JD_ASSERT_IF(TakesWhenEmpty_A, held_q == '0, in_ready)
  if (Wider) begin : gen_wider
    `JD_ASSERT_IF(Whole_A, out_valid && !flush_i, 32'(out_count) == Units && in_valid_i)
    `JD_ASSERT_IF(Flushed_A, flush_i && held_q != '0, out_valid && out_count == held_q)
    for (genvar k = 0; k < Units - 1; k++) begin : gen_unit
      `JD_ASSERT_IF(Kept_A, followed_q && 32'(ahead_q) == k,
                    u_dut.gen_wider.units_q[k] == value_q)
    end
  end else begin : gen_narrower
    `JD_ASSERT(Offered_A, out_valid == (held_q != '0))
    `JD_ASSERT_IF(Kept_A, followed_q,
                  UnitW'(u_dut.gen_narrower.word_q >> (32'(ahead_q) * UnitW)) == value_q)
  end

  FollowedLeaves_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (followed_q && pop && ahead_q != '0));
  LastLeaves_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (Wider ? passes : followed_q && pop && ahead_q == '0 && held_q == CountW'(1)));
endmodule : jd_prove_width
