// SPDX-License-Identifier: Apache-2.0
//
// The requests of one level: waits for their turn, looks up what a worker's path did here, and takes a
// slot along for a node that a selection may insert below.
//
// Streams  in: tokens of nodes of this level, at most T. out: to the node unit that has the node. note_*:
//          what a path did at its node of this level. slot_*: an entry for a node of the level below;
//          full_i: there will be none. d_act_i: levels in use.
// Timing   1 clock through when empty; a token per clock.
// Numbers  none.
// Source   thesis 3.3 (stage, memoization); docs/mcts.md. Golden model: models/mcts/tree.py.
`include "jd_assert.svh"
module jd_mcts_stage
  import jd_mcts_pkg::*;
#(
  parameter  int unsigned Level = 1,     // 0..63
  parameter  int unsigned T     = 16,    // tokens in flight, power of two 4..1024
  parameter  int unsigned WMax  = 4,     // workers, power of two 2..4096
  localparam int unsigned RowW  = $clog2(WMax) + 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [6:0]           d_act_i,
  input  logic                 in_valid_i,
  output logic                 in_ready_o,
  input  token_t               in_token_i,
  output logic                 out_valid_o,
  input  logic                 out_ready_i,
  output token_t               out_token_o,
  input  logic                 note_valid_i,
  input  logic [WORKER_W:0]    note_row_i,
  input  logic [ACTION_W-1:0]  note_action_i,
  input  logic [1:0]           note_kind_i,
  input  logic                 slot_valid_i,
  output logic                 slot_ready_o,
  input  logic [ADDRESS_W-1:0] slot_i,
  input  logic                 full_i
);
  if (T < 4 || T > 1024 || WMax < 2 || WMax > 4096 || Level > 63) begin : gen_bad_size
    $fatal(1, "jd_mcts_stage: T=%0d, want 4..1024, WMax=%0d, want 2..4096, Level=%0d, want 0..63",
           T, WMax, Level);
  end
  localparam int unsigned CountW = $clog2(T + 1);

  logic              stored_valid, straight, first_valid, take;
  token_t            stored, first, held_q;
  logic              held_valid_q;
  logic [CountW-1:0] count;
  jd_stream_fifo #(.Width (TOKEN_W), .Depth (T)) u_tokens (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (in_valid_i && !(straight && take)),
    .in_ready_o,
    .in_data_i   (in_token_i),
    .out_valid_o (stored_valid),
    .out_ready_i (take),
    .out_data_o  (stored),
    .count_o     (count)
  );
  // A token that finds none before it need not go through the memory.
  assign straight    = count == '0;
  assign first_valid = straight ? in_valid_i : stored_valid;
  assign first       = straight ? in_token_i : stored;

  // The worker's note: the node, and what was done there.
  logic [RowW-1:0]               row;
  logic [ADDRESS_W-1:0]          address;
  logic [ACTION_W-1:0]           action;
  logic [1:0]                    kind;
  logic                          update;
  assign row    = RowW'({first.worker, first.parity});
  assign update = first.op == OP_UPD;
  jd_mem_1r1w #(.Depth (2 * WMax), .Lanes (1), .LaneW (ADDRESS_W)) u_addresses (
    .clk_i, .rst_ni,
    .write_en_i   (take && !update),
    .write_addr_i (row),
    .write_mask_i (1'b1),
    .write_data_i (first.address),
    .read_en_i    (take && update),
    .read_addr_i  (row),
    .read_data_o  (address)
  );
  jd_mem_1r1w #(.Depth (2 * WMax), .Lanes (1), .LaneW (ACTION_W + 2)) u_actions (
    .clk_i, .rst_ni,
    .write_en_i   (note_valid_i),
    .write_addr_i (RowW'(note_row_i)),
    .write_mask_i (1'b1),
    .write_data_i ({note_kind_i, note_action_i}),
    .read_en_i    (take && update),
    .read_addr_i  (row),
    .read_data_o  ({kind, action})
  );

  assign take = first_valid && (!held_valid_q || (out_valid_o && out_ready_i));
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                          held_valid_q <= 1'b0;
    else if (take)                        held_valid_q <= 1'b1;
    else if (out_valid_o && out_ready_i)  held_valid_q <= 1'b0;
    if (take) held_q <= first;
  end

  select_t sel, held_sel;
  logic    wants;                                  // a slot
  assign held_sel = select_t'(held_q.rest);
  assign wants = held_q.op == OP_SEL && held_sel.new_id != NO_ID
                 && d_act_i > 7'(Level + 1);
  assign out_valid_o  = held_valid_q && (!wants || slot_valid_i || full_i);
  assign slot_ready_o = held_valid_q && wants && out_ready_i;
  always_comb begin
    out_token_o       = held_q;
    out_token_o.level = LEVEL_W'(Level);
    sel               = held_sel;
    sel.slot_valid    = wants && slot_valid_i;
    sel.slot          = slot_i;
    if (held_q.op == OP_SEL) out_token_o.rest = 47'(sel);
    if (held_q.op == OP_UPD && !held_q.done) begin
      out_token_o.address = address;
      out_token_o.action  = action;
      out_token_o.code    = {1'b0, kind};
    end
  end

  `JD_ASSERT_IF(TokensFit_A, in_valid_i, in_ready_o)
endmodule : jd_mcts_stage
