// SPDX-License-Identifier: Apache-2.0
//
// The two sets of an operand or of results: which is filled and which is taken next.
//
// Streams  fill_i: a filling starts, of fill_set_o, only while can_fill_o; filled_i: it ended. take_i:
//          a use starts, of take_set_o, only while can_take_o; freed_i: it ended. Fillings end in their
//          order, and so do uses. about_o: what was said at the start of take_set_o's filling.
// Timing   What is said shows in the next clock.
// Numbers  -
// Source   docs/sparse.md (programs). Golden model: models/sparse/machine.py, can_start.
`include "jd_assert.svh"
module jd_sparse_pair #(
  parameter int unsigned Width = 8               // bits about a set
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  output logic             can_fill_o,
  input  logic             fill_i,
  input  logic [Width-1:0] fill_about_i,
  output logic             fill_set_o,
  input  logic             filled_i,
  output logic             can_take_o,
  input  logic             take_i,
  output logic             take_set_o,
  output logic [Width-1:0] about_o,
  input  logic             freed_i
);
  logic [1:0]            used_q, ready_q;        // sets: filled, or being so; filled and not taken
  logic [1:0][Width-1:0] about_q;
  assign can_fill_o = !used_q[1];
  assign can_take_o = ready_q != '0;
  assign about_o    = about_q[take_set_o];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      used_q     <= '0;
      ready_q    <= '0;
      fill_set_o <= 1'b0;
      take_set_o <= 1'b0;
    end else begin
      used_q  <= used_q + 2'(fill_i) - 2'(freed_i);
      ready_q <= ready_q + 2'(filled_i) - 2'(take_i);
      if (fill_i) fill_set_o <= !fill_set_o;
      if (take_i) take_set_o <= !take_set_o;
    end
    if (fill_i) about_q[fill_set_o] <= fill_about_i;
  end

  `JD_ASSUME_IF(FillWhenFree_M, fill_i && !clear_i, can_fill_o)
  `JD_ASSUME_IF(TakeWhenReady_M, take_i && !clear_i, can_take_o)
  `JD_ASSERT(AtMostTwo_A, used_q <= 2'd2 && ready_q <= used_q)
endmodule : jd_sparse_pair
