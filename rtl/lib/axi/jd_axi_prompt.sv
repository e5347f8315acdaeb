// SPDX-License-Identifier: Apache-2.0
//
// Checks at an engine's memory port that the engine never holds up others that share the port with
// it.
//
// Streams  mem_*: the port; the handshakes of R, AW and W are watched.
// Timing   RREADY is high whenever RVALID is. From the clock after an address of AW was taken until
//          the last beat of its burst is taken, WVALID is high.
// Numbers  none.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_axi_prompt
  import jd_axi_pkg::*;
(
  input logic     clk_i,
  input logic     rst_ni,
  input axi_req_t mem_req_i,
  input axi_rsp_t mem_rsp_i
);
  logic unused;
  assign unused = ^{mem_req_i, mem_rsp_i};

  // Bursts whose address was taken and whose last beat was not; below 0 where data go first.
  logic signed [6:0] owed_q;
  logic              taken, sent;
  assign taken = mem_req_i.write.awvalid && mem_rsp_i.write.awready;
  assign sent  = mem_req_i.write.wvalid && mem_rsp_i.write.wready && mem_req_i.write.wlast;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)            owed_q <= '0;
    else if (taken != sent) owed_q <= taken ? owed_q + 7'sd1 : owed_q - 7'sd1;
  end

  `JD_ASSERT_IF(ReadNeverWaits_A, mem_rsp_i.read.rvalid, mem_req_i.read.rready)
  `JD_ASSERT_IF(DataAtHand_A, owed_q > 7'sd0, mem_req_i.write.wvalid)
endmodule : jd_axi_prompt
