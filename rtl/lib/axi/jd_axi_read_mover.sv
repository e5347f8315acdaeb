// SPDX-License-Identifier: Apache-2.0
//
// Reads transfers from AXI4 memory into a stream.
//
// Streams  cmd: an address and a number of beats; out: the beats of all commands in order, last on
//          the last beat of each command, resp the beat's AXI response. Commands queue: the next
//          one's bursts are requested while the data of those before it still come.
// Timing   mem_req_o.arvalid one clock after the command, one burst per clock; R is passed through in
//          the same clock, so the rate is the memory's. At most MaxOutstanding bursts are out.
//          cmd_ready_o follows mem_rsp_i.arready, and mem_req_o.rready follows out_ready_i.
// Numbers  beats of 64 bytes. A bus error is reported with its beat (2 SLVERR, 3 DECERR) and
//          changes nothing else: all beats of the command come.
// Source   AMBA AXI and ACE protocol specification. All requests have ID 0.
`include "jd_assert.svh"
module jd_axi_read_mover
  import jd_axi_pkg::*;
#(
  parameter int unsigned MaxOutstanding = 16    // bursts, 1..64
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  output logic          idle_o,            // no command held, no burst out
  input  logic          cmd_valid_i,
  output logic          cmd_ready_o,
  input  logic [39:0]   cmd_address_i,     // bytes, a multiple of 64
  input  logic [15:0]   cmd_beats_i,       // 1..65535
  output logic          out_valid_o,
  input  logic          out_ready_i,
  output logic [511:0]  out_data_o,
  output logic          out_last_o,
  output logic [1:0]    out_resp_o,
  output axi_read_req_t mem_req_o,
  input  axi_read_rsp_t mem_rsp_i
);
  if (MaxOutstanding < 1 || MaxOutstanding > 64) begin : gen_bad_parameters
    $fatal(1, "jd_axi_read_mover: MaxOutstanding=%0d, want 1..64", MaxOutstanding);
  end
  localparam int unsigned CountW = $clog2(MaxOutstanding + 1);
  localparam int unsigned SlotW  = (MaxOutstanding > 1) ? $clog2(MaxOutstanding) : 1;
  localparam logic [SlotW-1:0] LastSlot = SlotW'(MaxOutstanding - 1);

  logic burst_valid, burst_final, unused_single;
  logic free_q;                             // fewer than MaxOutstanding bursts are out
  jd_axi_split u_split (
    .clk_i           (clk_i),
    .rst_ni          (rst_ni),
    .cmd_valid_i     (cmd_valid_i),
    .cmd_ready_o     (cmd_ready_o),
    .cmd_address_i   (cmd_address_i),
    .cmd_beats_i     (cmd_beats_i),
    .burst_valid_o   (burst_valid),
    .burst_ready_i   (mem_rsp_i.arready && free_q),
    .burst_address_o (mem_req_o.araddr),
    .burst_len_o     (mem_req_o.arlen),
    .burst_final_o   (burst_final),
    .burst_single_o  (unused_single)
  );

  // The bursts that are out, in a ring: is it the last one of its command?
  logic [MaxOutstanding-1:0] final_q;
  logic [SlotW-1:0]          issue_q, finish_q;
  logic [CountW-1:0]         outstanding_q;
  logic                      issue, finish;
  assign issue             = mem_req_o.arvalid && mem_rsp_i.arready;
  assign finish            = mem_rsp_i.rvalid && mem_req_o.rready && mem_rsp_i.rlast;
  assign idle_o            = !burst_valid && outstanding_q == '0;
  assign mem_req_o.arvalid = burst_valid && free_q;   // once free, it stays so until this one goes
  assign mem_req_o.arid    = '0;
  assign mem_req_o.rready  = out_ready_i;
  assign out_valid_o       = mem_rsp_i.rvalid;
  assign out_data_o        = mem_rsp_i.rdata;
  assign out_resp_o        = mem_rsp_i.rresp & {1'b1, mem_rsp_i.rresp[1]};   // EXOKAY is okay
  assign out_last_o        = mem_rsp_i.rlast && final_q[finish_q];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      issue_q       <= '0;
      finish_q      <= '0;
      outstanding_q <= '0;
      free_q        <= 1'b1;
    end else begin
      if (issue)  issue_q  <= (issue_q == LastSlot) ? '0 : issue_q + 1'b1;
      if (finish) finish_q <= (finish_q == LastSlot) ? '0 : finish_q + 1'b1;
      if (issue != finish) begin
        outstanding_q <= issue ? outstanding_q + 1'b1 : outstanding_q - 1'b1;
        free_q        <= !issue || outstanding_q != CountW'(MaxOutstanding - 1);
      end
    end
    if (issue) final_q[issue_q] <= burst_final;
  end

  `JD_ASSUME_STREAM(DataStable_M, mem_rsp_i.rvalid, mem_req_o.rready,
                    {mem_rsp_i.rdata, mem_rsp_i.rresp, mem_rsp_i.rlast, mem_rsp_i.rid})
  `JD_ASSUME_IF(DataExpected_M, mem_rsp_i.rvalid, outstanding_q != '0 && mem_rsp_i.rid == '0)
  `JD_ASSERT_STREAM(RequestStable_A, mem_req_o.arvalid, mem_rsp_i.arready,
                    {mem_req_o.araddr, mem_req_o.arlen})
  `JD_ASSERT(Free_A, free_q == (outstanding_q != CountW'(MaxOutstanding)))
  `JD_ASSERT(OutstandingInRange_A, 32'(outstanding_q) <= MaxOutstanding)
endmodule : jd_axi_read_mover
