// SPDX-License-Identifier: Apache-2.0
//
// Reads a program from memory, two instructions in a line.
//
// Streams  start_i: a program of count_i instructions, while idle_o. line: its lines, with the bus's
//          response. stop_i: no more is asked for; lines that were asked for still come.
// Timing   A line per clock. Up to 64 lines are asked for before they are taken.
// Numbers  -
// Source   docs/shell.md, memory; docs/sparse.md (programs).
`include "jd_assert.svh"
module jd_sparse_fetch
  import jd_axi_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  output logic          idle_o,
  input  logic          start_i,
  input  logic [39:0]   address_i,      // a multiple of 64
  input  logic [15:0]   count_i,        // 1..
  input  logic          stop_i,
  output logic          line_valid_o,
  input  logic          line_ready_i,
  output logic [511:0]  line_o,
  output logic [1:0]    response_o,     // 0 if it was read
  output axi_read_req_t mem_req_o,
  input  axi_read_rsp_t mem_rsp_i
);
  localparam int unsigned MOST = 64;    // lines of a command
  logic        queue_idle, ask_valid, ask_ready, offered_q, unused_last;
  logic [39:0] address_q;
  logic [15:0] left_q;                  // lines that were not asked for
  logic [6:0]  lines;
  logic [1:0]  response;
  assign lines      = (left_q < 16'(MOST)) ? 7'(left_q) : 7'(MOST);
  assign ask_valid  = left_q != '0 && (!stop_i || offered_q);
  assign idle_o     = queue_idle && left_q == '0;
  assign response_o = response[1] ? response : '0;
  always_ff @(posedge clk_i) begin
    offered_q <= rst_ni && ask_valid && !ask_ready;
    if (start_i) address_q <= address_i;
    else if (ask_valid && ask_ready) address_q <= address_q + 40'({lines, 6'd0});
    if (!rst_ni)                     left_q <= '0;
    else if (start_i)                left_q <= (count_i >> 1) + 16'(count_i[0]);
    else if (ask_valid)              left_q <= ask_ready ? left_q - 16'(lines) : left_q;
    else if (stop_i)                 left_q <= '0;
  end
  jd_axi_read_queue #(.Depth (MOST), .MaxOutstanding (2)) u_lines (
    .clk_i, .rst_ni,
    .idle_o        (queue_idle),
    .cmd_valid_i   (ask_valid),
    .cmd_ready_o   (ask_ready),
    .cmd_address_i (address_q),
    .cmd_beats_i   (16'(lines)),
    .out_valid_o   (line_valid_o),
    .out_ready_i   (line_ready_i),
    .out_data_o    (line_o),
    .out_last_o    (unused_last),
    .out_resp_o    (response),
    .mem_req_o,
    .mem_rsp_i
  );
  logic unused;
  assign unused = unused_last;

  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o && count_i != '0)
endmodule : jd_sparse_fetch
