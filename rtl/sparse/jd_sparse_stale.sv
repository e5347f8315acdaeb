// SPDX-License-Identifier: Apache-2.0
//
// What is there of each layer: its encoding, its plan, its compressed weights; and whether gradients
// are zero. Of an instruction that is to start, whether something that it needs is not there.
//
// Streams  start_i: an instruction starts; end_i: one ended well. forget_i: layers that a LOAD, a
//          CONFIG or a reset changes. op_i, flags_i, number_i: what is asked about, and what starts.
// Timing   stale_o in the same clock; a change shows in the next one.
// Numbers  -
// Source   docs/sparse.md (stale). Golden model: models/sparse/machine.py.
`include "jd_assert.svh"
module jd_sparse_stale
  import jd_sparse_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [LAYERS-1:0]  forget_i,
  input  logic [7:0]         op_i,
  input  flags_t             flags_i,
  input  logic [LAYER_W-1:0] number_i,
  output logic               stale_o,
  input  logic               start_i,
  input  logic               end_i,
  input  running_t           ended_i,
  output logic [LAYERS-1:0]  planned_o
);
  // Compressed weights of FW and of DX, and whether they are in ROW split.
  logic [LAYERS-1:0] encoded_q, planned_q, forward_q, backward_q, forward_row_q, backward_row_q;
  logic              zero_q;                     // all gradients
  logic              no_encoding, no_plan, no_forward, no_backward;
  assign planned_o   = planned_q;
  assign no_encoding = !encoded_q[number_i];
  assign no_plan     = !planned_q[number_i];
  assign no_forward  = !forward_q[number_i]  || forward_row_q[number_i]  != flags_i.row;
  assign no_backward = !backward_q[number_i] || backward_row_q[number_i] != flags_i.row;
  always_comb begin
    unique case (op_i)
      PLAN:        stale_o = no_encoding || !zero_q;
      COMP, COMPT: stale_o = no_encoding || no_plan;
      FW, DW:      stale_o = no_forward;
      DX:          stale_o = no_backward;
      UPD:         stale_o = no_encoding || no_forward;
      UPDG:        stale_o = no_encoding;
      default:     stale_o = 1'b0;
    endcase
  end

  // A start forgets what its instruction makes anew, or makes wrong.
  logic [LAYERS-1:0] one, from, drop_encoding, drop_plan, drop_weights, ended;
  assign one   = LAYERS'(1) << number_i;
  assign from  = ~(one - 1'b1);                  // higher layers follow in the tables
  assign ended = LAYERS'(1) << ended_i.number;
  always_comb begin
    {drop_encoding, drop_plan, drop_weights} = {3{forget_i}};
    if (start_i) begin
      if (op_i == ENC || op_i == ENCT || op_i == UPDG) begin
        drop_encoding = drop_encoding | one;
        drop_plan     = drop_plan | one;
        drop_weights  = drop_weights | one;
      end
      if (op_i == PLAN) begin
        drop_plan    = drop_plan | from;
        drop_weights = drop_weights | from;
      end
      if (op_i == UPD) drop_weights = drop_weights | one;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      encoded_q  <= '0;
      planned_q  <= '0;
      forward_q  <= '0;
      backward_q <= '0;
      zero_q     <= 1'b0;
    end else begin
      encoded_q  <= (encoded_q
                     | (end_i && (ended_i.op == ENC || ended_i.op == ENCT) ? ended : '0))
                    & ~drop_encoding;
      planned_q  <= (planned_q | (end_i && ended_i.op == PLAN ? ended : '0)) & ~drop_plan;
      forward_q  <= ((start_i && op_i == COMP ? forward_q & ~one : forward_q)
                     | (end_i && ended_i.op == COMP ? ended : '0)) & ~drop_weights;
      backward_q <= ((start_i && op_i == COMPT ? backward_q & ~one : backward_q)
                     | (end_i && ended_i.op == COMPT ? ended : '0)) & ~drop_weights;
      if (end_i && ended_i.op == CLRG) zero_q <= 1'b1;
      if (start_i && (op_i == DW || ((op_i == FX || op_i == FY) && flags_i.bsum))) zero_q <= 1'b0;
    end
    if (end_i && ended_i.op == COMP)  forward_row_q[ended_i.number]  <= ended_i.row;
    if (end_i && ended_i.op == COMPT) backward_row_q[ended_i.number] <= ended_i.row;
  end
endmodule : jd_sparse_stale
