// SPDX-License-Identifier: Apache-2.0
//
// Splits a transfer into AXI4 bursts that stay inside one 4 KiB page.
//
// Streams  cmd: an address and a number of beats; burst: its bursts in ascending order, the last
//          one marked final. A burst ends at the latest at a multiple of Burst beats; a page is 64.
// Timing   latency 1, one burst per clock, no clock lost between commands; burst_valid_o is a
//          register, the rest of the burst is computed from registers; cmd_ready_o follows
//          burst_ready_i in the same clock.
// Numbers  beats of 64 bytes; a transfer that passes the top of the memory wraps to 0.
// Source   AMBA AXI and ACE protocol specification, A3.4.1.
`include "jd_assert.svh"
module jd_axi_split #(
  parameter  int unsigned Burst = 64,    // beats of the longest, power of two 2..64
  localparam int unsigned LowW  = $clog2(Burst)
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        cmd_valid_i,
  output logic        cmd_ready_o,
  input  logic [39:0] cmd_address_i,     // bytes, a multiple of 64
  input  logic [15:0] cmd_beats_i,       // 1..65535
  output logic        burst_valid_o,
  input  logic        burst_ready_i,
  output logic [39:0] burst_address_o,
  output logic [7:0]  burst_len_o,       // beats - 1, 0..Burst - 1
  output logic        burst_final_o,     // the last burst of its command
  output logic        burst_single_o     // it has one beat
);
  if (Burst < 2 || Burst > 64 || Burst != 1 << LowW) begin : gen_bad_burst
    $fatal(1, "jd_axi_split: Burst=%0d, want a power of two 2..64", Burst);
  end
  logic [33:0] beat_q;        // address of the burst in beats
  logic [15:0] remaining_q;   // beats from there to the end of the command
  logic [6:0]  in_page;       // beats from there to the next multiple of Burst
  assign in_page         = 7'(Burst) - 7'(beat_q[LowW-1:0]);
  assign burst_final_o   = remaining_q <= 16'(in_page);
  assign burst_len_o     = (burst_final_o ? remaining_q[7:0] : 8'(in_page)) - 8'd1;
  assign burst_single_o  = remaining_q == 16'd1 || beat_q[LowW-1:0] == '1;
  assign burst_address_o = {beat_q, 6'd0};
  assign cmd_ready_o     = !burst_valid_o || (burst_ready_i && burst_final_o);
  always_ff @(posedge clk_i) begin
    if (!rst_ni)          burst_valid_o <= 1'b0;
    else if (cmd_ready_o) burst_valid_o <= cmd_valid_i;
    if (cmd_valid_i && cmd_ready_o) begin
      beat_q      <= cmd_address_i[39:6];
      remaining_q <= cmd_beats_i;
    end else if (burst_valid_o && burst_ready_i) begin
      beat_q      <= {beat_q[33:LowW] + 1'b1, LowW'(0)};
      remaining_q <= remaining_q - 16'(in_page);
    end
  end

  `JD_ASSUME_STREAM(CommandStable_M, cmd_valid_i, cmd_ready_o, {cmd_address_i, cmd_beats_i})
  `JD_ASSUME_IF(CommandLegal_M, cmd_valid_i, cmd_address_i[5:0] == '0 && cmd_beats_i != '0)
  `JD_ASSERT_STREAM(BurstStable_A, burst_valid_o, burst_ready_i,
                    {burst_address_o, burst_len_o, burst_final_o})
  `JD_ASSERT_IF(Single_A, burst_valid_o, burst_single_o == (burst_len_o == 8'd0))
  `JD_ASSERT_IF(InsideMultiple_A, burst_valid_o,
                32'(beat_q[LowW-1:0]) + 32'(burst_len_o) < Burst)
  `JD_ASSERT_NEXT(LatencyOne_A, cmd_valid_i && cmd_ready_o, burst_valid_o)
endmodule : jd_axi_split
