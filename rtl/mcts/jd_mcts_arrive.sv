// SPDX-License-Identifier: Apache-2.0
//
// The end of the way back into a level: notes what the worker's path did one level above, gives an
// unused slot back, and sends the token on, or out if it is done.
//
// Streams  in: tokens of nodes of level Level - 1. on: to the stage of this level. retire: done tokens,
//          with the edges that the selection took. note_*: for the memory of the stage above.
//          slot_*: a slot of this level comes back; used_o: one was used.
// Timing   combinational; in_ready_o follows retire_ready_i or on_ready_i.
// Numbers  none.
// Source   thesis 3.3 (shift register, memoization); docs/mcts.md. Golden model: models/mcts/tree.py.
`include "jd_assert.svh"
module jd_mcts_arrive
  import jd_mcts_pkg::*;
#(
  parameter int unsigned Level = 1    // 1..D
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  token_t               in_token_i,
  output logic                 on_valid_o,
  input  logic                 on_ready_i,
  output token_t               on_token_o,
  output logic                 retire_valid_o,
  input  logic                 retire_ready_i,
  output token_t               retire_token_o,    // level: edges taken
  output logic                 note_valid_o,
  output logic [WORKER_W:0]    note_row_o,        // {worker, parity}
  output logic [ACTION_W-1:0]  note_action_o,
  output logic [1:0]           note_kind_o,
  output logic                 slot_valid_o,
  output logic [ADDRESS_W-1:0] slot_o,
  output logic                 used_o
);
  select_t sel, on_sel;
  logic    moves, is_sel, over;
  assign sel    = select_t'(in_token_i.rest);
  assign is_sel = in_token_i.op == OP_SEL;
  assign moves  = in_valid_i && in_ready_o;
  assign in_ready_o     = in_token_i.done ? retire_ready_i : on_ready_i;
  assign on_valid_o     = in_valid_i && !in_token_i.done;
  assign retire_valid_o = in_valid_i && in_token_i.done;
  always_comb begin
    on_sel            = sel;
    on_sel.slot_valid = 1'b0;
    on_token_o        = in_token_i;
    on_token_o.level  = LEVEL_W'(Level);
    on_token_o.rest   = in_token_i.op == OP_UPD ? in_token_i.rest : 47'(on_sel);
    // NOINS and FULL took an edge from this node; an insertion took none.
    over = is_sel && (in_token_i.code == NOINS || in_token_i.code == FULL);
    retire_token_o       = in_token_i;
    retire_token_o.level = over ? LEVEL_W'(Level) : LEVEL_W'(Level - 1);
  end
  assign note_valid_o  = moves && in_token_i.op != OP_UPD;
  assign note_row_o    = {in_token_i.worker, in_token_i.parity};
  assign note_action_o = in_token_i.action;
  assign note_kind_o   = !in_token_i.done ? KIND_EDGE : over ? KIND_LAST : KIND_END;
  assign slot_valid_o  = moves && is_sel && sel.slot_valid;
  assign slot_o        = sel.slot;
  assign used_o        = moves && in_token_i.op == OP_INS && !in_token_i.done;

  `JD_ASSERT_IF(FromAbove_A, in_valid_i, 32'(in_token_i.level) == Level - 1)
endmodule : jd_mcts_arrive
