// SPDX-License-Identifier: Apache-2.0
//
// Stands for jd_axi_write_queue where a proof is about the commands that a block gives: mem_req_o.write
// shows each command as one request, and words and answers pass through.
//
// Streams  as jd_axi_write_queue. A command is held until its request is taken, as jd_axi_split holds one.
// Timing   a request 1 clock after its command; words and answers in the same clock.
// Numbers  words unchanged; commands up to 256 beats. wlast is 0.
// Source   rtl/lib/axi/jd_axi_write_queue.sv, whose movers have proofs of their own.
module jd_axi_write_queue
  import jd_axi_pkg::*;
#(
  parameter int unsigned Burst          = 16,
  parameter int unsigned Depth          = 32,
  parameter int unsigned MaxOutstanding = 16
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  output logic           idle_o,
  input  logic           cmd_valid_i,
  output logic           cmd_ready_o,
  input  logic [39:0]    cmd_address_i,
  input  logic [15:0]    cmd_beats_i,
  input  logic           in_valid_i,
  output logic           in_ready_o,
  input  logic [511:0]   in_data_i,
  input  logic [63:0]    in_strb_i,
  output logic           done_valid_o,
  input  logic           done_ready_i,
  output logic [1:0]     done_resp_o,
  output axi_write_req_t mem_req_o,
  input  axi_write_rsp_t mem_rsp_i
);
  logic        held_q, takes;
  logic [39:0] address_q;
  logic [7:0]  len_q;
  assign takes        = cmd_valid_i && cmd_ready_o;
  assign idle_o       = 1'b0;
  assign cmd_ready_o  = !held_q || mem_rsp_i.awready;
  assign in_ready_o   = mem_rsp_i.wready;
  assign done_valid_o = mem_rsp_i.bvalid;
  assign done_resp_o  = mem_rsp_i.bresp;
  assign mem_req_o    = '{awvalid: held_q, awaddr: address_q, awlen: len_q, awid: '0,
                          wvalid: in_valid_i, wdata: in_data_i, wstrb: in_strb_i, wlast: 1'b0,
                          bready: done_ready_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni)          held_q <= 1'b0;
    else if (cmd_ready_o) held_q <= cmd_valid_i;
    if (takes) begin
      address_q <= cmd_address_i;
      len_q     <= 8'(cmd_beats_i - 1'b1);
    end
  end
endmodule : jd_axi_write_queue
