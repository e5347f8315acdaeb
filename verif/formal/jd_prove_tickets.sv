// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_a3c_tickets: rows may be read for an update only when any earlier ticket that is out is
// through with its layer or has ended, or has written those rows; the first ticket never waits; a
// ticket is passed only when it has ended; tickets are given away one after the other, at most 16.
//
// Method       induction. watched_i is any ticket; over_q and layer_q are what became of it.
// Assumptions  units tell only of tickets that are out, a layer once and from the last one down
//              (LayersFall_M of the block), and no two of the same ticket in one clock.
//              Tickets are taken as the block says (TakesFree_M). Reset and clear at any time.
`include "jd_assert.svh"
module jd_prove_tickets
  import jd_a3c_pkg::*;
  import jd_a3c_tasks_pkg::*;
#(
  parameter int unsigned Units = 2
) (
  input logic                           clk_i,
  input logic                           rst_ni,
  input logic                           clear_i,
  input logic                           take_i,
  input logic [Units-1:0]               done_valid_i,
  input logic [Units-1:0][TICKET_W-1:0] done_ticket_i,
  input logic [Units-1:0][2:0]          done_layer_i,
  input logic [TICKETS-1:0]             ended_i,
  input written_t [Units-1:0]           written_i,
  input logic [Units-1:0][TICKET_W-1:0] written_ticket_i,
  input logic [Units-1:0][TICKET_W-1:0] order_ticket_i,
  input logic [Units-1:0][2:0]          order_layer_i,
  input logic [Units-1:0][25:0]         order_behind_i,
  input logic [31:0]                    watched_i
);
  logic             ready;
  logic [31:0]      number, first;
  logic [Units-1:0] go;
  jd_a3c_tickets #(.Units (Units)) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .take_i,
    .ready_o          (ready),
    .number_o         (number),
    .first_o          (first),
    .done_valid_i,
    .done_ticket_i,
    .done_layer_i,
    .ended_i,
    .written_i,
    .written_ticket_i,
    .order_ticket_i,
    .order_layer_i,
    .order_behind_i,
    .order_go_o       (go)
  );

  // The ticket of some low bits, if it is out.
  function automatic logic is_out(logic [TICKET_W-1:0] low, logic [31:0] from, logic [31:0] to);
    return 32'(TICKET_W'(low - from[TICKET_W-1:0])) < to - from;
  endfunction

  // ---- The watched ticket
  logic [TICKET_W-1:0] low;
  logic                out, over_q, out_q, cleared_q;
  logic [3:0]          layer_q;                    // it is through with this one and those above
  assign low = watched_i[TICKET_W-1:0];
  assign out = watched_i - first < number - first;
  always_ff @(posedge clk_i) begin
    out_q     <= rst_ni && out;
    cleared_q <= !rst_ni || clear_i;
    if (take_i && number == watched_i) begin
      over_q  <= ended_i[low];
      layer_q <= 4'd8;
    end else begin
      over_q <= over_q || ended_i[low];
      for (int unsigned u = 0; u < Units; u++) begin
        if (done_valid_i[u] && done_ticket_i[u] == low) layer_q <= {1'b0, done_layer_i[u]};
      end
    end
  end

  // ---- Questions of the clock before, and what was written then
  logic [Units-1:0] wrote_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned u = 0; u < Units; u++) begin
      wrote_q[u] <= 1'b0;
      for (int unsigned v = 0; v < Units; v++) begin
        if (written_i[v].valid && written_ticket_i[v] == low && out
            && written_i[v].layer == order_layer_i[u]
            && written_i[v].behind >= order_behind_i[u]) wrote_q[u] <= 1'b1;
      end
    end
  end

  WatchedFixed_M : assume property (@(posedge clk_i) $stable(watched_i));
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    `JD_ASSUME_IF(DoneIsOut_M, done_valid_i[u], is_out(done_ticket_i[u], first, number))
    `JD_ASSUME_IF(WrittenIsOut_M, written_i[u].valid, is_out(written_ticket_i[u], first, number))
    for (genvar v = 0; v < u; v++) begin : gen_other
      `JD_ASSUME_IF(OneTells_M, done_valid_i[u] && done_valid_i[v],
                    done_ticket_i[u] != done_ticket_i[v])
    end

    logic [31:0] asked;                            // the ticket that asks
    assign asked = first + 32'(TICKET_W'(order_ticket_i[u] - first[TICKET_W-1:0]));
    `JD_ASSERT_IF(InOrder_A, go[u] && out && watched_i - first < asked - first,
                  over_q || layer_q <= {1'b0, order_layer_i[u]} || wrote_q[u])
    `JD_ASSERT_IF(FirstGoes_A, order_ticket_i[u] == first[TICKET_W-1:0], go[u])
  end
  `JD_ASSERT_IF(Known_A, out, u_dut.ended_q[low] == over_q && u_dut.through_q[low] == layer_q)
  `JD_ASSERT(Limit_A, number - first <= 32'(TICKETS) && ready == (number - first < 32'(TICKETS)))
  `JD_ASSERT_IF(Passed_A, out_q && !out && !cleared_q, over_q)
  `JD_ASSERT_NEXT(Counts_A, take_i, number == $past(number) + 32'd1)

  Follows_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (go[0] && wrote_q[0] && out && !over_q && layer_q > {1'b0, order_layer_i[0]}
       && order_ticket_i[0] != low));
endmodule : jd_prove_tickets
