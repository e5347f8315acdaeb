// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_axi_write_mover: every beat of every command is written once, WLAST is on the last
// beat of each burst and only there, no burst leaves its page, no more bursts are out than allowed,
// requests and data stay until taken, and each command is reported done once, after its last
// response, with the worst of its responses.
//
// Method       induction. The harness keeps a list of the bursts that are out: beats not yet sent,
//              and whether the burst ends its command; and answers whenever it likes.
// Assumptions  B comes only for bursts whose data were sent (ResponseExpected_M), valid words stay
//              until taken, commands are legal (those of the blocks). Commands up to CmdMax beats
//              keep the sums of owed beats in 16 bits. Reset at any time, of both sides.
`include "jd_assert.svh"
module jd_prove_write_mover
  import jd_axi_pkg::*;
#(
  parameter int unsigned MaxOutstanding = 3
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         cmd_valid_i,
  input logic [39:0]  cmd_address_i,
  input logic [15:0]  cmd_beats_i,
  input logic         in_valid_i,
  input logic [511:0] in_data_i,
  input logic [63:0]  in_strb_i,
  input logic         done_ready_i,
  input logic         m_axi_awready_i,
  input logic         m_axi_wready_i,
  input logic         m_axi_bvalid_i,
  input logic [1:0]   m_axi_bresp_i
);
  localparam int unsigned CmdMax = 16384;

  logic         idle, cmd_ready, in_ready, done_valid, awvalid, wvalid, wlast, bready;
  logic [1:0]   done_resp;
  logic [39:0]  awaddr;
  logic [7:0]   awlen;
  logic [511:0] wdata;
  logic [63:0]  wstrb;
  logic [7:0]     awid;
  axi_write_req_t req;
  axi_write_rsp_t rsp;
  assign {awvalid, awaddr, awlen, awid, wvalid, wdata, wstrb, wlast, bready} = req;
  assign rsp = '{awready: m_axi_awready_i, wready: m_axi_wready_i, bvalid: m_axi_bvalid_i,
                 bresp: m_axi_bresp_i, bid: '0};
  jd_axi_write_mover #(.MaxOutstanding(MaxOutstanding)) u_dut (
    .clk_i,
    .rst_ni,
    .idle_o          (idle),
    .cmd_valid_i,
    .cmd_ready_o     (cmd_ready),
    .cmd_address_i,
    .cmd_beats_i,
    .in_valid_i,
    .in_ready_o      (in_ready),
    .in_data_i,
    .in_strb_i,
    .done_valid_o    (done_valid),
    .done_ready_i,
    .done_resp_o     (done_resp),
    .mem_req_o       (req),
    .mem_rsp_i       (rsp)
  );

  // Bursts that are out, the oldest in element 0: beats to send, end of a command.
  logic [MaxOutstanding-1:0][15:0] out_q, out_d;
  logic [MaxOutstanding-1:0]       final_q, final_d;
  logic [31:0]                     bursts_q, sent_q, slot, place;   // sent_q: of them, data sent
  logic [15:0]                     to_ask, owed_q, owed_out, left;
  logic                            accept, issue, beat, sent, answer;
  assign accept = cmd_valid_i && cmd_ready;
  assign issue  = u_dut.issue;   // the burst is in the AW register from the next clock on
  assign beat   = wvalid && m_axi_wready_i;
  assign sent   = beat && left == 16'd1;
  assign answer = m_axi_bvalid_i && bready;
  assign slot   = bursts_q - 32'(answer);
  assign place  = sent_q - 32'(answer);
  assign to_ask = u_dut.u_split.burst_valid_o ? u_dut.u_split.remaining_q : '0;
  always_comb begin
    left = '0;
    for (int unsigned n = 0; n < MaxOutstanding; n++) if (n == sent_q) left = out_q[n];
    out_d   = out_q;
    final_d = final_q;
    if (answer) begin
      out_d   = '0;
      final_d = '0;
      for (int unsigned n = 1; n < MaxOutstanding; n++) begin
        out_d[n-1]   = out_q[n];
        final_d[n-1] = final_q[n];
      end
    end
    for (int unsigned n = 0; n < MaxOutstanding; n++) begin
      if (beat && place == n) out_d[n] = left - 16'd1;
      if (issue && slot == n) begin
        out_d[n]   = 16'(u_dut.burst_len) + 16'd1;
        final_d[n] = 16'(u_dut.burst_len) + 16'd1 == to_ask;
      end
    end
    owed_out = '0;
    for (int unsigned n = 0; n < MaxOutstanding; n++) owed_out = owed_out + out_q[n];
  end

  // Commands in hand, and what done must say.
  logic [7:0]  commands_q, open;
  logic        done_q;
  logic [1:0]  worst_q, worst, done_worst_q;
  logic [39:0] address_q;
  logic [7:0]  len_q;
  // EXOKAY is okay.
  assign worst = (m_axi_bresp_i > 2'd1 && m_axi_bresp_i > worst_q) ? m_axi_bresp_i : worst_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_q      <= '0;
      final_q    <= '0;
      bursts_q   <= '0;
      sent_q     <= '0;
      owed_q     <= '0;
      commands_q <= '0;
      done_q     <= 1'b0;
      worst_q    <= '0;
    end else begin
      out_q      <= out_d;
      final_q    <= final_d;
      bursts_q   <= bursts_q + 32'(issue) - 32'(answer);
      sent_q     <= sent_q + 32'(sent) - 32'(answer);
      owed_q     <= owed_q + (accept ? cmd_beats_i : '0) - 16'(beat);
      commands_q <= commands_q + 8'(accept) - 8'(done_valid && done_ready_i);
      if (answer) worst_q <= final_q[0] ? '0 : worst;
      if (answer && final_q[0]) done_q <= 1'b1;
      else if (done_ready_i)    done_q <= 1'b0;
    end
    if (answer && final_q[0]) done_worst_q <= worst;
    if (issue) begin
      address_q <= u_dut.burst_address;
      len_q     <= u_dut.burst_len;
    end
  end

  `JD_ASSUME_IF(CommandLegal_M, cmd_valid_i, cmd_address_i[5:0] == '0 && cmd_beats_i != '0 &&
                32'(cmd_beats_i) <= CmdMax)
  `JD_ASSUME_STREAM(CommandStable_M, cmd_valid_i, cmd_ready, {cmd_address_i, cmd_beats_i})

  `JD_ASSERT(LimitKept_A, bursts_q <= MaxOutstanding && sent_q <= bursts_q)
  `JD_ASSERT_IF(PageKept_A, awvalid,
                13'(awaddr[11:0]) + 13'({7'(awlen[5:0]) + 7'd1, 6'd0}) <= 13'd4096 &&
                awlen < 8'd64 && awid == '0)
  `JD_ASSERT_IF(RequestIsBurst_A, awvalid, awaddr == address_q && awlen == len_q)
  `JD_ASSERT_NEXT(RequestFollows_A, issue, awvalid)
  `JD_ASSERT_IF(NoneLost_A, issue, !awvalid || m_axi_awready_i)
  `JD_ASSERT_IF(DataExpected_A, wvalid, sent_q < bursts_q && left != '0)
  `JD_ASSERT_IF(LastIsRight_A, wvalid, wlast == (left == 16'd1))
  `JD_ASSERT(PassedThrough_A, wdata == in_data_i && wstrb == in_strb_i &&
             (in_valid_i && in_ready) == beat)
  `JD_ASSERT(AllAccounted_A, owed_q == owed_out + to_ask)
  `JD_ASSERT(DoneInTime_A, done_valid == done_q)
  `JD_ASSERT_IF(DoneIsWorst_A, done_valid, done_resp == done_worst_q)
  `JD_ASSERT(OneDoneEach_A, commands_q == open)
  `JD_ASSERT(IdleIsEmpty_A, idle == (commands_q == '0))

  // The block's ring beside the list.
  always_comb begin
    open = 8'(u_dut.u_split.burst_valid_o) + 8'(done_valid);
    for (int unsigned n = 0; n < MaxOutstanding; n++) open = open + 8'(n < bursts_q && final_q[n]);
  end
  function automatic logic apart(int unsigned from, int unsigned to, int unsigned distance);
    return from < MaxOutstanding && to < MaxOutstanding &&
           (from + distance == to || from + distance == to + MaxOutstanding);
  endfunction
  `JD_ASSERT(Counts_A, 32'(u_dut.outstanding_q) == bursts_q &&
             32'(u_dut.unsent_q) + sent_q == bursts_q)
  `JD_ASSERT(Ring_A, apart(32'(u_dut.finish_q), 32'(u_dut.issue_q), bursts_q) &&
             apart(32'(u_dut.finish_q), 32'(u_dut.send_q), sent_q))
  `JD_ASSERT(Worst_A, u_dut.worst_q == worst_q)
  `JD_ASSERT(Bounds_A, to_ask <= 16'(CmdMax) &&
             (!u_dut.u_split.burst_valid_o || to_ask != '0))
  // A command that is answered in part has bursts to come: its final one is out or to be asked for.
  `JD_ASSERT_IF(CommandEnds_A, bursts_q != '0 && !u_dut.u_split.burst_valid_o,
                final_q[2'(bursts_q-32'd1)])
  for (genvar n = 0; n < MaxOutstanding; n++) begin : gen_burst
    logic [31:0] index;
    assign index = (32'(u_dut.finish_q) + n) % MaxOutstanding;
    `JD_ASSERT(Left_A, (n < sent_q || n >= bursts_q) ? out_q[n] == '0 :
               16'(u_dut.len_q[index]) + 16'd1 ==
               out_q[n] + (n == sent_q ? 16'(u_dut.sent_beats_q) : '0) &&
               out_q[n] != '0 && out_q[n] <= 16'd64)
    `JD_ASSERT_IF(Final_A, n < bursts_q, u_dut.final_q[index] == final_q[n])
  end
  `JD_ASSERT_IF(NoneBegun_A, sent_q == bursts_q, u_dut.sent_beats_q == '0)

  WorstReported_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (done_valid && done_ready_i && done_resp == 2'd3 && bursts_q == 32'(MaxOutstanding) &&
       $past(m_axi_bvalid_i && m_axi_bresp_i == 2'd0)));
endmodule : jd_prove_write_mover
