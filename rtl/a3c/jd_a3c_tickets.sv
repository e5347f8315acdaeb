// SPDX-License-Identifier: Apache-2.0
//
// Keeps the order in which tasks update parameters. Every updating task has a ticket. A task may
// read rows of a layer for its update once every earlier ticket has written these rows, has
// finished the layer, or has ended. Tasks go through the layers from the last to the first. So
// units that train the same network follow each other row by row.
//
// Streams  take_i takes the ticket number_o; only while ready_o is high. done: a unit's task has
//          finished a layer. written: how far a unit's task has written its current layer. ended_i:
//          tickets that end, by their low bits. go_o answers a unit's question from 2 clocks on and
//          stays high.
// Timing   first_o passes an ended ticket in the next clock, one per clock.
// Numbers  tickets count modulo 2^32. At most TICKETS are open, so their low bits are distinct.
// Source   a3c 3 (D11), 9.
`include "jd_assert.svh"
module jd_a3c_tickets
  import jd_a3c_pkg::*;
  import jd_a3c_tasks_pkg::*;
#(
  parameter int unsigned Units = 2               // 1..8
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,       // none is out; the number stays
  input  logic                             take_i,
  output logic                             ready_o,
  output logic [31:0]                      number_o,      // the next ticket
  output logic [31:0]                      first_o,       // of those that are out, or the next
  input  logic [Units-1:0]                 done_valid_i,
  input  logic [Units-1:0][TICKET_W-1:0]   done_ticket_i,
  input  logic [Units-1:0][2:0]            done_layer_i,
  input  logic [TICKETS-1:0]               ended_i,
  input  written_t [Units-1:0]             written_i,
  input  logic [Units-1:0][TICKET_W-1:0]   written_ticket_i,
  input  logic [Units-1:0][TICKET_W-1:0]   order_ticket_i,
  input  logic [Units-1:0][2:0]            order_layer_i,
  input  logic [Units-1:0][25:0]           order_behind_i,  // the row after those asked for
  output logic [Units-1:0]                 order_go_o
);
  localparam logic [3:0] NONE = 4'd8;            // above every layer

  logic [31:0]              next_q, first_q;
  logic [TICKETS-1:0]       ended_q;
  logic [TICKETS-1:0][3:0]  through_q;           // layers from this one on are done with
  logic [TICKET_W-1:0]      next, first;
  assign next     = next_q[TICKET_W-1:0];
  assign first    = first_q[TICKET_W-1:0];
  assign ready_o  = next_q - first_q < TICKETS;
  assign number_o = next_q;
  assign first_o  = first_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      next_q  <= 32'd1;
      first_q <= 32'd1;
    end else begin
      if (take_i) next_q <= next_q + 32'd1;
      if (clear_i) first_q <= next_q;
      else if (first_q != next_q && ended_q[first]) first_q <= first_q + 32'd1;
    end
    ended_q <= ended_q | ended_i;
    for (int unsigned u = 0; u < Units; u++) begin
      if (done_valid_i[u]) through_q[done_ticket_i[u]] <= {1'b0, done_layer_i[u]};
    end
    if (take_i) begin
      ended_q[next]   <= ended_i[next];
      through_q[next] <= NONE;
    end
  end

  // A ticket is in the way if it is out and earlier, has not finished the layer, and has not
  // written the layer's rows up to the requested row.
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    logic [TICKET_W-1:0] place;                  // of the asking ticket, counted from the first
    logic [TICKETS-1:0]  ahead_q;                // tickets whose rows are written so far
    assign place = order_ticket_i[u] - first;
    always_ff @(posedge clk_i) begin
      ahead_q <= '0;
      for (int unsigned v = 0; v < Units; v++) begin
        if (written_i[v].valid && written_i[v].layer == order_layer_i[u]
            && written_i[v].behind >= order_behind_i[u]) ahead_q[written_ticket_i[v]] <= 1'b1;
      end
    end
    always_comb begin
      order_go_o[u] = 1'b1;
      for (int unsigned t = 0; t < TICKETS; t++) begin
        if (TICKET_W'(t) - first < place && !ended_q[t] && !ahead_q[t]
            && through_q[t] > {1'b0, order_layer_i[u]}) order_go_o[u] = 1'b0;
      end
    end
    `JD_ASSUME_IF(LayersFall_M, done_valid_i[u],
                  {1'b0, done_layer_i[u]} < through_q[done_ticket_i[u]])
  end

  `JD_ASSUME_IF(TakesFree_M, take_i, ready_o && !clear_i)
  `JD_ASSERT(Window_A, next_q - first_q <= TICKETS)
endmodule : jd_a3c_tickets
