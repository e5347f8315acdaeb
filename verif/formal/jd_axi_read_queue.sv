// SPDX-License-Identifier: Apache-2.0
//
// Stands for jd_axi_read_queue where a proof is about the commands that a block gives: mem_req_o.read
// shows each command as one request, and its beats pass through.
//
// Streams  as jd_axi_read_queue. A command is held until its request is taken, as jd_axi_split holds one.
// Timing   a request 1 clock after its command; beats in the same clock.
// Numbers  beats unchanged; commands up to 256 beats. out_last_o is 0.
// Source   rtl/lib/axi/jd_axi_read_queue.sv, whose movers have proofs of their own.
module jd_axi_read_queue
  import jd_axi_pkg::*;
#(
  parameter int unsigned Depth          = 128,
  parameter int unsigned MaxOutstanding = 4
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  output logic          idle_o,
  input  logic          cmd_valid_i,
  output logic          cmd_ready_o,
  input  logic [39:0]   cmd_address_i,
  input  logic [15:0]   cmd_beats_i,
  output logic          out_valid_o,
  input  logic          out_ready_i,
  output logic [511:0]  out_data_o,
  output logic          out_last_o,
  output logic [1:0]    out_resp_o,
  output axi_read_req_t mem_req_o,
  input  axi_read_rsp_t mem_rsp_i
);
  logic        held_q, takes, moves;
  logic [39:0] address_q;
  logic [7:0]  len_q;
  logic [17:0] owed_q;                          // beats of commands, not delivered
  assign takes       = cmd_valid_i && cmd_ready_o;
  assign moves       = out_valid_o && out_ready_i;
  assign idle_o      = owed_q == '0;
  assign cmd_ready_o = !held_q || mem_rsp_i.arready;
  assign out_valid_o = mem_rsp_i.rvalid;
  assign out_data_o  = mem_rsp_i.rdata;
  assign out_resp_o  = mem_rsp_i.rresp;
  assign out_last_o  = 1'b0;
  assign mem_req_o   = '{arvalid: held_q, araddr: address_q, arlen: len_q, arid: '0,
                         rready: out_ready_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q <= 1'b0;
      owed_q <= '0;
    end else begin
      if (cmd_ready_o) held_q <= cmd_valid_i;
      owed_q <= owed_q + (takes ? 18'(cmd_beats_i) : '0) - 18'(moves);
    end
    if (takes) begin
      address_q <= cmd_address_i;
      len_q     <= 8'(cmd_beats_i - 1'b1);
    end
  end
endmodule : jd_axi_read_queue
