// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_sparse_pair: a set is filled only when it is free and used only when it is full, in turn;
// one that is free can be filled and one that is full used at once; what was said of it stays.
//
// Method       induction. Each set is free, being filled, full, or in use; the block's counts are those
//              of the sets.
// Assumptions  fill and take only while the block allows them; a filling that ended had begun, and a
//              use too, each in order. Reset and clear come at any time.
`include "jd_assert.svh"
module jd_prove_pair #(
  parameter int unsigned Width = 2
) (
  input logic             clk_i,
  input logic             rst_ni,
  input logic             clear_i,
  input logic             fill_i,
  input logic [Width-1:0] fill_about_i,
  input logic             filled_i,
  input logic             take_i,
  input logic             freed_i
);
  typedef enum logic [1:0] {Free, Filling, Full, InUse} set_e;
  logic             can_fill, fill_set, can_take, take_set;
  logic [Width-1:0] about;
  jd_sparse_pair #(.Width (Width)) u_dut (
    .clk_i, .rst_ni, .clear_i,
    .can_fill_o (can_fill),
    .fill_i, .fill_about_i,
    .fill_set_o (fill_set),
    .filled_i,
    .can_take_o (can_take),
    .take_i,
    .take_set_o (take_set),
    .about_o    (about),
    .freed_i
  );
  logic [1:0]            set_q [2];
  logic [1:0][Width-1:0] about_q;
  logic                  filled_q, freed_q;        // the set that is full next, and free next
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      set_q[0] <= Free;
      set_q[1] <= Free;
      filled_q <= 1'b0;
      freed_q  <= 1'b0;
    end else begin
      if (fill_i) begin
        set_q[fill_set]   <= Filling;
        about_q[fill_set] <= fill_about_i;
      end
      if (filled_i) begin
        set_q[filled_q] <= Full;
        filled_q        <= !filled_q;
      end
      if (take_i) set_q[take_set] <= InUse;
      if (freed_i) begin
        set_q[freed_q] <= Free;
        freed_q        <= !freed_q;
      end
    end
  end
  `JD_ASSUME_IF(FilledHasBegun_M, filled_i, set_q[filled_q] == Filling)
  `JD_ASSUME_IF(FreedIsInUse_M, freed_i, set_q[freed_q] == InUse)

  `JD_ASSERT(FillsWhatIsFree_A, can_fill == (set_q[fill_set] == Free))
  `JD_ASSERT(TakesWhatIsFull_A, can_take == (set_q[take_set] == Full))
  `JD_ASSERT_IF(About_A, can_take, about == about_q[take_set])
  // The block's registers are those of the sets, which come in turn.
  logic [1:0] used, ready, taken;
  assign used  = 2'(set_q[0] != Free) + 2'(set_q[1] != Free);
  assign ready = 2'(set_q[0] == Full) + 2'(set_q[1] == Full);
  assign taken = 2'(set_q[0] == InUse) + 2'(set_q[1] == InUse);
  `JD_ASSERT(Counts_A, u_dut.used_q == used && u_dut.ready_q == ready)
  `JD_ASSERT(Turns_A, (fill_set ^ freed_q) == used[0] && (filled_q ^ take_set) == ready[0]
             && (take_set ^ freed_q) == taken[0])
  for (genvar k = 0; k < 2; k++) begin : gen_set
    `JD_ASSERT_IF(FilledInTurn_A, set_q[k] == Filling, set_q[filled_q] == Filling)
    `JD_ASSERT_IF(FreedInTurn_A, set_q[k] == InUse, set_q[freed_q] == InUse)
    `JD_ASSERT_IF(Kept_A, set_q[k] != Free, u_dut.about_q[k] == about_q[k])
  end
  Both_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (set_q[0] == Filling && set_q[1] == InUse && freed_i && filled_i));
endmodule : jd_prove_pair
