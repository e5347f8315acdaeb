// SPDX-License-Identifier: Apache-2.0
//
// Checks at an engine's memory port that the engine holds up nobody who shares the port with it.
//
// Streams  the handshakes of R, AW and W, watched.
// Timing   RREADY is high whenever RVALID is. From the clock after an address of AW was taken until
//          the last beat of its burst is, WVALID is high.
// Numbers  none.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_axi_prompt (
  input logic clk_i,
  input logic rst_ni,
  input logic rvalid_i,
  input logic rready_i,
  input logic awvalid_i,
  input logic awready_i,
  input logic wvalid_i,
  input logic wready_i,
  input logic wlast_i
);
  // Bursts whose address was taken and whose last beat was not; below 0 where data go first.
  logic signed [6:0] owed_q;
  logic              taken, sent;
  assign taken = awvalid_i && awready_i;
  assign sent  = wvalid_i && wready_i && wlast_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)            owed_q <= '0;
    else if (taken != sent) owed_q <= taken ? owed_q + 7'sd1 : owed_q - 7'sd1;
  end

  `JD_ASSERT_IF(ReadNeverWaits_A, rvalid_i, rready_i)
  `JD_ASSERT_IF(DataAtHand_A, owed_q > 7'sd0, wvalid_i)
endmodule : jd_axi_prompt
