// SPDX-License-Identifier: Apache-2.0
//
// Writes a stream into AXI4 memory by transfers.
//
// Streams  cmd: an address and a number of beats; in: the beats of all commands in order; done: one
//          word a command, in order, when all its write responses are in. Commands queue.
// Timing   mem_req_o.awvalid and the first mem_req_o.wvalid two clocks after the command, one burst
//          per clock; W never waits for AW, and its data pass through in the same clock, so the rate
//          is the memory's. At most MaxOutstanding bursts are out. in_ready_o follows
//          mem_rsp_i.wready, mem_req_o.bready follows done_ready_i; AW and done are registers.
// Numbers  beats of 64 bytes. done_resp_o is the worst response of the command's bursts (0 okay,
//          2 SLVERR, 3 DECERR); an error changes nothing else: all beats are written.
// Source   AMBA AXI and ACE protocol specification. All requests have ID 0.
`include "jd_assert.svh"
module jd_axi_write_mover
  import jd_axi_pkg::*;
#(
  parameter int unsigned MaxOutstanding = 16,   // bursts, 1..64
  parameter int unsigned Burst          = 64    // beats of the longest, power of two 2..64
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  output logic           idle_o,            // no command held, no burst out, no done pending
  input  logic           cmd_valid_i,
  output logic           cmd_ready_o,
  input  logic [39:0]    cmd_address_i,     // bytes, a multiple of 64
  input  logic [15:0]    cmd_beats_i,       // 1..65535
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
  if (MaxOutstanding < 1 || MaxOutstanding > 64) begin : gen_bad_parameters
    $fatal(1, "jd_axi_write_mover: MaxOutstanding=%0d, want 1..64", MaxOutstanding);
  end
  localparam int unsigned CountW = $clog2(MaxOutstanding + 1);
  localparam int unsigned SlotW  = (MaxOutstanding > 1) ? $clog2(MaxOutstanding) : 1;
  localparam logic [SlotW-1:0] LastSlot = SlotW'(MaxOutstanding - 1);

  function automatic logic [SlotW-1:0] after(logic [SlotW-1:0] slot);
    return (slot == LastSlot) ? '0 : slot + 1'b1;
  endfunction

  logic        burst_valid, burst_ready, burst_final, burst_single;
  logic [39:0] burst_address;
  logic [7:0]  burst_len;
  jd_axi_split #(.Burst (Burst)) u_split (
    .clk_i           (clk_i),
    .rst_ni          (rst_ni),
    .cmd_valid_i     (cmd_valid_i),
    .cmd_ready_o     (cmd_ready_o),
    .cmd_address_i   (cmd_address_i),
    .cmd_beats_i     (cmd_beats_i),
    .burst_valid_o   (burst_valid),
    .burst_ready_i   (burst_ready),
    .burst_address_o (burst_address),
    .burst_len_o     (burst_len),
    .burst_final_o   (burst_final),
    .burst_single_o  (burst_single)
  );

  // The bursts that are out, in a ring: issued at issue_q, their data sent at send_q, answered at
  // finish_q. A burst enters the ring with its address register, so its data need not wait for
  // the address to be taken.
  logic [MaxOutstanding-1:0]      final_q;
  logic [MaxOutstanding-1:0][5:0] len_q;
  logic [SlotW-1:0]               issue_q, send_q, finish_q;
  logic [CountW-1:0]              outstanding_q;    // issued, not answered
  logic [CountW-1:0]              unsent_q;         // issued, data not sent
  logic [5:0]                     sent_beats_q;     // of the burst at send_q
  logic [1:0]                     worst_q, worst;   // of the command's bursts so far
  logic [1:0]                     answer;           // EXOKAY is okay
  logic                           issue, move, send, finish;
  logic                           awvalid_q;
  logic [39:0]                    awaddr_q;
  logic [7:0]                     awlen_q;
  // Whether the next beat is the last of its burst, known before: if nothing moves, if a beat moves
  // and if the last one does. If no burst waits for its data, the next to be issued counts.
  logic                           last_q, last_held, last_moved, last_sent;
  assign last_held  = unsent_q == '0 ? burst_single : sent_beats_q == len_q[send_q];
  assign last_moved = sent_beats_q + 6'd1 == len_q[send_q];
  assign last_sent  = unsent_q == CountW'(1) ? burst_single : len_q[after(send_q)] == '0;
  assign burst_ready = outstanding_q != CountW'(MaxOutstanding) &&
                       (!awvalid_q || mem_rsp_i.awready);
  assign issue       = burst_valid && burst_ready;
  assign move        = mem_req_o.wvalid && mem_rsp_i.wready;
  assign send        = move && last_q;
  assign finish      = mem_rsp_i.bvalid && mem_req_o.bready;
  assign answer      = mem_rsp_i.bresp & {1'b1, mem_rsp_i.bresp[1]};
  assign worst       = (answer > worst_q) ? answer : worst_q;
  assign idle_o      = !burst_valid && outstanding_q == '0 && !done_valid_o;
  assign in_ready_o  = mem_rsp_i.wready && unsent_q != '0;
  assign mem_req_o   = '{
    awvalid: awvalid_q, awaddr: awaddr_q, awlen: awlen_q, awid: '0,
    wvalid: in_valid_i && unsent_q != '0, wdata: in_data_i, wstrb: in_strb_i, wlast: last_q,
    bready: !done_valid_o || done_ready_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      awvalid_q       <= 1'b0;
      done_valid_o    <= 1'b0;
      issue_q         <= '0;
      send_q          <= '0;
      finish_q        <= '0;
      outstanding_q   <= '0;
      unsent_q        <= '0;
      sent_beats_q    <= '0;
      worst_q         <= '0;
    end else begin
      if (issue)                  awvalid_q <= 1'b1;
      else if (mem_rsp_i.awready) awvalid_q <= 1'b0;
      if (mem_req_o.bready) done_valid_o <= finish && final_q[finish_q];
      if (issue)  issue_q  <= after(issue_q);
      if (send)   send_q   <= after(send_q);
      if (finish) finish_q <= after(finish_q);
      if (issue != finish) begin
        outstanding_q <= issue ? outstanding_q + 1'b1 : outstanding_q - 1'b1;
      end
      if (issue != send) unsent_q <= issue ? unsent_q + 1'b1 : unsent_q - 1'b1;
      if (move)   sent_beats_q <= send ? '0 : sent_beats_q + 6'd1;
      if (finish) worst_q <= final_q[finish_q] ? '0 : worst;
    end
    if (issue) begin
      awaddr_q         <= burst_address;
      awlen_q          <= burst_len;
      final_q[issue_q] <= burst_final;
      len_q[issue_q]   <= burst_len[5:0];
    end
    if (finish) done_resp_o <= worst;
    last_q <= send ? last_sent : move ? last_moved : last_held;
  end

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o, {in_data_i, in_strb_i})
  `JD_ASSUME_STREAM(ResponseStable_M, mem_rsp_i.bvalid, mem_req_o.bready,
                    {mem_rsp_i.bresp, mem_rsp_i.bid})
  `JD_ASSUME_IF(ResponseExpected_M, mem_rsp_i.bvalid,
                outstanding_q != unsent_q && mem_rsp_i.bid == '0)
  `JD_ASSERT_STREAM(RequestStable_A, awvalid_q, mem_rsp_i.awready, {awaddr_q, awlen_q})
  `JD_ASSERT_STREAM(DataStable_A, mem_req_o.wvalid, mem_rsp_i.wready,
                    {mem_req_o.wdata, mem_req_o.wstrb, mem_req_o.wlast})
  `JD_ASSERT_STREAM(DoneStable_A, done_valid_o, done_ready_i, done_resp_o)
  `JD_ASSERT_IF(LastIsLast_A, mem_req_o.wvalid, last_q == (sent_beats_q == len_q[send_q]))
  `JD_ASSERT(OutstandingInRange_A,
             32'(outstanding_q) <= MaxOutstanding && unsent_q <= outstanding_q)
endmodule : jd_axi_write_mover
