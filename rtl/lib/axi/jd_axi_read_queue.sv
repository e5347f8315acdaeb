// SPDX-License-Identifier: Apache-2.0
//
// Reads transfers from AXI4 memory into a buffer, whose reader may be slow.
//
// Streams  cmd, out: as of jd_axi_read_mover. mem_*: the port. idle_o: nothing is asked for, out
//          or in the buffer.
// Timing   that of jd_axi_read_mover; a burst is asked for only when there is room for 64 beats, so R
//          never waits. One burst per clock if there is room for 128, else every second clock. A
//          beat is offered two clocks after it came.
// Numbers  bits, unchanged.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_axi_read_queue
  import jd_axi_pkg::*;
#(
  parameter int unsigned Depth          = 128,  // beats of the buffer, 64..4096
  parameter int unsigned MaxOutstanding = 16    // bursts, 1..64
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic               idle_o,
  input  logic               cmd_valid_i,
  output logic               cmd_ready_o,
  input  logic [39:0]        cmd_address_i,     // bytes, a multiple of 64
  input  logic [15:0]        cmd_beats_i,       // 1..65535
  output logic               out_valid_o,
  input  logic               out_ready_i,
  output logic [511:0]       out_data_o,
  output logic               out_last_o,
  output logic [1:0]         out_resp_o,
  output axi_read_req_t      mem_req_o,
  input  axi_read_rsp_t      mem_rsp_i
);
  localparam int unsigned BURST  = 64;          // beats of the longest
  localparam int unsigned CountW = $clog2(Depth + 1);
  if (Depth < BURST || Depth > 4096) begin : gen_bad_depth
    $fatal(1, "jd_axi_read_queue: Depth=%0d, want 64..4096", Depth);
  end

  logic              ask, pop, mover_idle, beat_valid, beat_ready, beat_last;
  logic [511:0]      beat;
  logic [1:0]        beat_response;
  logic [CountW-1:0] reserved_q;                // beats asked for and not taken
  logic              room_q;                    // for the longest burst, until one is asked for
  axi_read_req_t     mover_req;
  axi_read_rsp_t     mover_rsp;
  always_comb begin
    mem_req_o         = mover_req;
    mem_req_o.arvalid = mover_req.arvalid && room_q;
    mover_rsp         = mem_rsp_i;
    mover_rsp.arready = mem_rsp_i.arready && room_q;
  end
  assign ask    = mem_req_o.arvalid && mem_rsp_i.arready;
  assign pop    = out_valid_o && out_ready_i;
  assign idle_o = mover_idle && reserved_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reserved_q <= '0;
      room_q     <= 1'b1;
    end else begin
      reserved_q <= reserved_q + (ask ? CountW'(mem_req_o.arlen) + CountW'(1) : '0)
                    - CountW'(pop);
      room_q     <= 32'(reserved_q) + (ask ? 2 * BURST : BURST) <= Depth;
    end
  end

  jd_axi_read_mover #(
    .MaxOutstanding (MaxOutstanding)
  ) u_mover (
    .clk_i,
    .rst_ni,
    .idle_o          (mover_idle),
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_address_i,
    .cmd_beats_i,
    .out_valid_o     (beat_valid),
    .out_ready_i     (beat_ready),
    .out_data_o      (beat),
    .out_last_o      (beat_last),
    .out_resp_o      (beat_response),
    .mem_req_o       (mover_req),
    .mem_rsp_i       (mover_rsp)
  );

  logic [CountW-1:0] held;
  jd_stream_fifo #(
    .Width (515),
    .Depth (Depth)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (beat_valid),
    .in_ready_o  (beat_ready),
    .in_data_i   ({beat_last, beat_response, beat}),
    .out_valid_o,
    .out_ready_i,
    .out_data_o  ({out_last_o, out_resp_o, out_data_o}),
    .count_o     (held)
  );

  `JD_ASSERT_IF(NeverWaits_A, mem_rsp_i.rvalid, mem_req_o.rready)
  `JD_ASSERT(Reserved_A, held <= reserved_q && 32'(reserved_q) <= Depth)
endmodule : jd_axi_read_queue
