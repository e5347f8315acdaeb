// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_axi_read_mover: every beat of every command is asked for once and delivered once,
// last marks exactly the last beat of each command, no burst leaves its page, no more bursts are out
// than allowed, requests stay until taken, and idle means that nothing is owed.
//
// Method       induction. The harness is the memory: it keeps the length of each burst that is out
//              and answers in order, whenever it likes. A command that pick_i chooses freely is
//              followed by the beats owed up to its end.
// Assumptions  R answers the requests in order, with last on each burst's last beat, and stays until
//              taken (AXI4); commands are legal (those of the blocks). Commands up to CmdMax beats
//              keep the sums of owed beats in 16 bits. Reset at any time, of both sides.
`include "jd_assert.svh"
module jd_prove_read_mover
  import jd_axi_pkg::*;
#(
  parameter int unsigned MaxOutstanding = 3
) (
  input logic         clk_i,
  input logic         rst_ni,
  input logic         cmd_valid_i,
  input logic [39:0]  cmd_address_i,
  input logic [15:0]  cmd_beats_i,
  input logic         out_ready_i,
  input logic         m_axi_arready_i,
  input logic         m_axi_rvalid_i,
  input logic [511:0] m_axi_rdata_i,
  input logic [1:0]   m_axi_rresp_i,
  input logic         m_axi_rlast_i,
  input logic         pick_i
);
  localparam int unsigned CmdMax = 16384;

  logic         idle, cmd_ready, out_valid, out_last, arvalid, rready;
  logic [511:0] out_data;
  logic [1:0]   out_resp;
  logic [39:0]  araddr;
  logic [7:0]   arlen;
  axi_read_req_t req;
  axi_read_rsp_t rsp;
  assign {arvalid, araddr, arlen, rready} = {req.arvalid, req.araddr, req.arlen, req.rready};
  assign rsp = '{arready: m_axi_arready_i, rvalid: m_axi_rvalid_i, rdata: m_axi_rdata_i,
                 rresp: m_axi_rresp_i, rlast: m_axi_rlast_i, rid: '0};
  jd_axi_read_mover #(.MaxOutstanding(MaxOutstanding)) u_dut (
    .clk_i,
    .rst_ni,
    .idle_o          (idle),
    .cmd_valid_i,
    .cmd_ready_o     (cmd_ready),
    .cmd_address_i,
    .cmd_beats_i,
    .out_valid_o     (out_valid),
    .out_ready_i,
    .out_data_o      (out_data),
    .out_last_o      (out_last),
    .out_resp_o      (out_resp),
    .mem_req_o       (req),
    .mem_rsp_i       (rsp)
  );

  // The memory: beats of each burst that is out, the oldest in element 0.
  logic [MaxOutstanding-1:0][15:0] out_q, out_d;
  logic [31:0]                     bursts_q, slot;
  logic                            ask, beat, finish;
  assign ask    = arvalid && m_axi_arready_i;
  assign beat   = m_axi_rvalid_i && rready;
  assign finish = beat && m_axi_rlast_i;
  assign slot   = bursts_q - 32'(finish);
  always_comb begin
    out_d = out_q;
    if (beat) out_d[0] = out_q[0] - 16'd1;
    if (finish) begin
      out_d = '0;
      for (int unsigned n = 1; n < MaxOutstanding; n++) out_d[n-1] = out_q[n];
    end
    for (int unsigned n = 0; n < MaxOutstanding; n++) begin
      if (ask && slot == n) out_d[n] = 16'(arlen) + 16'd1;
    end
  end

  // What is owed: in all, of bursts that are out, and up to the end of the followed command.
  logic [15:0] owed_q, owed_out, until_q;
  logic        followed_q, accept;
  assign accept = cmd_valid_i && cmd_ready;
  always_comb begin
    owed_out = '0;
    for (int unsigned n = 0; n < MaxOutstanding; n++) owed_out = owed_out + out_q[n];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_q      <= '0;
      bursts_q   <= '0;
      owed_q     <= '0;
      followed_q <= 1'b0;
    end else begin
      out_q    <= out_d;
      bursts_q <= bursts_q + 32'(ask) - 32'(finish);
      owed_q   <= owed_q + (accept ? cmd_beats_i : '0) - 16'(beat);
      if (!followed_q) begin
        followed_q <= accept && pick_i;
        until_q    <= owed_q + cmd_beats_i - 16'(beat);
      end else if (beat) begin
        until_q    <= until_q - 16'd1;
        followed_q <= until_q != 16'd1;
      end
    end
  end

  `JD_ASSUME_IF(AnswersRequests_M, m_axi_rvalid_i,
                bursts_q != '0 && m_axi_rlast_i == (out_q[0] == 16'd1))
  `JD_ASSUME_IF(CommandLegal_M, cmd_valid_i, cmd_address_i[5:0] == '0 && cmd_beats_i != '0 &&
                32'(cmd_beats_i) <= CmdMax)
  `JD_ASSUME_STREAM(CommandStable_M, cmd_valid_i, cmd_ready, {cmd_address_i, cmd_beats_i})

  logic [15:0] to_ask;   // beats of the command in hand that are not asked for yet
  assign to_ask = u_dut.u_split.burst_valid_o ? u_dut.u_split.remaining_q : '0;
  `JD_ASSERT(LimitKept_A, bursts_q <= MaxOutstanding)
  `JD_ASSERT_IF(PageKept_A, arvalid,
                13'(araddr[11:0]) + 13'({7'(arlen[5:0]) + 7'd1, 6'd0}) <= 13'd4096 &&
                arlen < 8'd64 && req.arid == '0)
  `JD_ASSERT(AllAccounted_A, owed_q == owed_out + to_ask)
  `JD_ASSERT_IF(IdleOwesNothing_A, idle, owed_q == '0)
  `JD_ASSERT_IF(OwedIsNotIdle_A, owed_q != '0, !idle)
  `JD_ASSERT_IF(NothingMore_A, out_valid, owed_q != '0)
  `JD_ASSERT_IF(LastOfFollowed_A, followed_q && out_valid && until_q == 16'd1, out_last)
  `JD_ASSERT(PassedThrough_A, out_valid == m_axi_rvalid_i && out_data == m_axi_rdata_i &&
             out_resp == (m_axi_rresp_i == 2'd1 ? 2'd0 : m_axi_rresp_i) && rready == out_ready_i)

  // The block's ring beside the memory's queue.
  `JD_ASSERT(Counts_A, 32'(u_dut.outstanding_q) == bursts_q &&
             (32'(u_dut.finish_q) + bursts_q == 32'(u_dut.issue_q) ||
              32'(u_dut.finish_q) + bursts_q == 32'(u_dut.issue_q) + MaxOutstanding) &&
             32'(u_dut.issue_q) < MaxOutstanding && 32'(u_dut.finish_q) < MaxOutstanding)
  `JD_ASSERT(Bounds_A, to_ask <= 16'(CmdMax) &&
             (!u_dut.u_split.burst_valid_o || to_ask != '0))
  // The sum of beats up to the end of each burst; a marked burst ends a command, and only there.
  logic [MaxOutstanding-1:0][15:0] sum;
  logic [MaxOutstanding-1:0]       marked;
  logic                            ends;
  always_comb begin
    ends = 1'b0;
    for (int unsigned n = 0; n < MaxOutstanding; n++) begin
      sum[n]    = (n == 0) ? out_q[0] : sum[(n+MaxOutstanding-1)%MaxOutstanding] + out_q[n];
      marked[n] = u_dut.final_q[(32'(u_dut.finish_q) + n) % MaxOutstanding];
      if (n < bursts_q && sum[n] == until_q) ends = marked[n];
    end
    // Or the command in hand: it is the youngest.
    if (u_dut.u_split.burst_valid_o && until_q == owed_out + to_ask) ends = 1'b1;
  end
  for (genvar n = 0; n < MaxOutstanding; n++) begin : gen_burst
    `JD_ASSERT(Length_A, (n < bursts_q) ? out_q[n] >= 16'd1 && out_q[n] <= 16'd64
                                        : out_q[n] == '0)
  end
  `JD_ASSERT_IF(FollowedEnds_A, followed_q, ends && until_q != '0 && until_q <= owed_q)

  // Last on no other beat: commands end as often as they are accepted.
  logic [7:0] commands_q, open;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) commands_q <= '0;
    else         commands_q <= commands_q + 8'(accept) - 8'(beat && out_last);
  end
  always_comb begin
    open = 8'(u_dut.u_split.burst_valid_o);
    for (int unsigned n = 0; n < MaxOutstanding; n++) open = open + 8'(n < bursts_q && marked[n]);
  end
  `JD_ASSERT(OneLastEach_A, commands_q == open)

  FollowedEnds_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (followed_q && beat && out_last && until_q == 16'd1 && bursts_q == 32'(MaxOutstanding)));
endmodule : jd_prove_read_mover
