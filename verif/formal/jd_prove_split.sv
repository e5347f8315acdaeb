// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_axi_split: bursts follow each other without gap or overlap from the command's address,
// together have the command's beats, stay inside a 4 KiB page, and the last one is marked final.
//
// Method       induction, for all addresses and lengths: next_q and left_q are what is still to come
//              of the command in hand.
// Assumptions  commands are legal and stay until taken (CommandLegal_M, CommandStable_M of the
//              block). Reset at any time.
`include "jd_assert.svh"
module jd_prove_split (
  input logic        clk_i,
  input logic        rst_ni,
  input logic        cmd_valid_i,
  input logic [39:0] cmd_address_i,
  input logic [15:0] cmd_beats_i,
  input logic        burst_ready_i
);
  logic        cmd_ready, burst_valid, burst_final;
  logic [39:0] burst_address;
  logic [7:0]  burst_len;
  jd_axi_split u_dut (
    .clk_i,
    .rst_ni,
    .cmd_valid_i,
    .cmd_ready_o     (cmd_ready),
    .cmd_address_i,
    .cmd_beats_i,
    .burst_valid_o   (burst_valid),
    .burst_ready_i,
    .burst_address_o (burst_address),
    .burst_len_o     (burst_len),
    .burst_final_o   (burst_final),
    .burst_single_o  ()
  );

  logic [39:0] next_q;
  logic [15:0] left_q;
  logic [16:0] beats;
  assign beats = 17'(burst_len) + 17'd1;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
    end else if (cmd_valid_i && cmd_ready) begin
      next_q <= cmd_address_i;
      left_q <= cmd_beats_i;
    end else if (burst_valid && burst_ready_i) begin
      next_q <= next_q + 40'({beats, 6'd0});
      left_q <= left_q - 16'(beats);
    end
  end

  `JD_ASSERT(OfferedWhileLeft_A, burst_valid == (left_q != '0))
  `JD_ASSERT_IF(Contiguous_A, burst_valid, burst_address == next_q)
  `JD_ASSERT_IF(NotTooLong_A, burst_valid, beats <= 17'(left_q) && burst_len < 8'd64)
  `JD_ASSERT_IF(PageKept_A, burst_valid,
                13'(burst_address[11:0]) + 13'({beats[6:0], 6'd0}) <= 13'd4096)
  `JD_ASSERT_IF(FinalIsLast_A, burst_valid, burst_final == (beats == 17'(left_q)))
  `JD_ASSERT_IF(InHand_A, burst_valid, u_dut.remaining_q == left_q)
  `JD_ASSERT_IF(NoneDropped_A, cmd_valid_i && cmd_ready,
                left_q == '0 || (burst_ready_i && beats == 17'(left_q)))

  ThreeBursts_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (burst_valid && burst_final && $past(burst_valid && burst_ready_i && burst_len == 8'd63)
       && $past(burst_valid && burst_ready_i && burst_len == 8'd2, 2)));
endmodule : jd_prove_split
