// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_shell_directory with its generated registers: each access gets exactly one response and
// none comes without, in order and held until taken; an offset without register, or a write to one
// that is read only, answers SLVERR, reads then with data 0; the constants read as built; no access
// waits for anything but the host; a refused write changes nothing.
//
// Method       induction: the accesses in hand are kept beside the block, those not yet carried out
//              and those in its buffer of two responses.
// Assumptions  the host holds its requests until taken (AXI4-Lite). Reset at any time.
`include "jd_assert.svh"
module jd_prove_directory
  import jd_axi_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input logic        awvalid_i,
  input logic [11:0] awaddr_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [11:0] araddr_i,
  input logic        rready_i,
  input logic [1:0]  irq_i
);
  localparam logic [1:0][31:0] IDS    = {32'h1234_5678, 32'h9ABC_DEF0};
  localparam logic [1:0]       SLVERR = 2'd2;

  logic        awready, wready, bvalid, arready, rvalid, irq;
  logic [1:0]  bresp, rresp;
  logic [31:0] rdata;
  logic [63:0] now;
  axil_req_t   req;
  axil_rsp_t   rsp;
  assign req = '{awvalid: awvalid_i, awaddr: 20'(awaddr_i), wvalid: wvalid_i, wdata: wdata_i,
                 wstrb: wstrb_i, bready: bready_i, arvalid: arvalid_i, araddr: 20'(araddr_i),
                 rready: rready_i};
  assign {awready, wready, bvalid, bresp, arready, rvalid, rdata, rresp} = rsp;
  jd_shell_directory #(
    .Engines(2), .EngineIds(IDS), .ClockHz(250_000_000), .MemSizeLog2(34), .MemPorts(2),
    .BuildHash(32'hCAFE_F00D)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .axil_req_i (req),
    .axil_rsp_o (rsp),
    .irq_i,
    .time_o           (now),
    .irq_o            (irq)
  );

  // ---- Accesses that wait to be carried out
  logic        aw_q, w_q, ar_q;
  logic [11:0] waddress_q, raddress_q;
  logic        read, written, taken;   // carried out in this clock; a response is taken
  assign read    = u_dut.u_registers.axil_ar_accept;
  assign written = u_dut.u_registers.axil_aw_accept;
  assign taken   = (bvalid && bready_i) || (rvalid && rready_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {aw_q, w_q, ar_q} <= '0;
    end else begin
      if (written) {aw_q, w_q} <= '0;
      if (read)    ar_q <= 1'b0;
      if (awvalid_i && awready) aw_q <= 1'b1;
      if (wvalid_i && wready)   w_q  <= 1'b1;
      if (arvalid_i && arready) ar_q <= 1'b1;
    end
    if (awvalid_i && awready) waddress_q <= awaddr_i;
    if (arvalid_i && arready) raddress_q <= araddr_i;
  end

  // ---- Responses that wait to be taken, the oldest in element 0: {is a write, offset}
  logic [1:0][12:0] answers_q, answers_d;
  logic [1:0]       count_q;
  always_comb begin
    answers_d = answers_q;
    if (taken) answers_d[0] = answers_q[1];
    if (read || written) begin
      answers_d[(count_q - 2'(taken)) != '0] = {written, written ? waddress_q : raddress_q};
    end
  end
  always_ff @(posedge clk_i) begin
    answers_q <= answers_d;
    if (!rst_ni) count_q <= '0;
    else         count_q <= count_q + 2'(read || written) - 2'(taken);
  end

  // What an offset must answer.
  function automatic logic mapped(logic [12:0] access);
    logic [9:0] word;
    word = access[11:2];
    if (access[12]) return word inside {10'h009, 10'h00C};   // IRQ_ENABLE, SCRATCH
    return word <= 10'h00C || (word >= 10'h010 && word < 10'h010 + 10'd31);
  endfunction
  function automatic logic constant(logic [9:0] word);
    return word <= 10'h007 || word >= 10'h00D;
  endfunction
  function automatic logic [31:0] value(logic [9:0] word);
    unique case (word)
      10'h000: return 32'h574B_444A;
      10'h001: return 32'h0001_0000;
      10'h002: return 32'hCAFE_F00D;
      10'h003: return 32'd2;
      10'h004: return 32'd250_000_000;
      10'h005: return 32'd0;
      10'h006: return 32'd4;
      10'h007: return 32'd2;
      10'h010: return IDS[0];
      10'h011: return IDS[1];
      default: return 32'd0;
    endcase
  endfunction

  `JD_ASSUME_STREAM(WriteStable_M, awvalid_i, awready, awaddr_i)
  `JD_ASSUME_STREAM(WriteDataStable_M, wvalid_i, wready, {wdata_i, wstrb_i})
  `JD_ASSUME_STREAM(ReadStable_M, arvalid_i, arready, araddr_i)

  // ---- What is proved
  `JD_ASSERT(InOrder_A, bvalid == (count_q != '0 && answers_q[0][12]) &&
             rvalid == (count_q != '0 && !answers_q[0][12]))
  `JD_ASSERT_IF(WriteAnswer_A, bvalid, bresp == (mapped(answers_q[0]) ? 2'd0 : SLVERR))
  `JD_ASSERT_IF(ReadAnswer_A, rvalid, rresp == (mapped(answers_q[0]) ? 2'd0 : SLVERR))
  `JD_ASSERT_IF(Constants_A, rvalid && constant(answers_q[0][11:2]),
                rdata == value(answers_q[0][11:2]))
  `JD_ASSERT_STREAM(WriteAnswerStable_A, bvalid, bready_i, bresp)
  `JD_ASSERT_STREAM(ReadAnswerStable_A, rvalid, rready_i, {rresp, rdata})
  `JD_ASSERT(CarriedOutOnce_A, (!written || (aw_q && w_q)) && (!read || ar_q) &&
             !(read && written) && count_q <= 2'd2)
  `JD_ASSERT_IF(NoneLost_A, awvalid_i && awready, !aw_q || written)
  `JD_ASSERT_IF(NoReadLost_A, arvalid_i && arready, !ar_q || read)
  `JD_ASSERT_IF(NotStuck_A, ar_q || (aw_q && w_q), bvalid || rvalid || read || written)
  `JD_ASSERT_IF(ReadyWhenFree_A, !ar_q && !aw_q && !w_q, arready && awready && wready)
  logic [31:0] scratch, enable;
  assign scratch = u_dut.to_hw.SCRATCH.value.value;
  assign enable  = u_dut.to_hw.IRQ_ENABLE.value.value;
  `JD_ASSERT_NEXT(OnlyItsWrite_A, !written || waddress_q[11:2] != 10'h00C, $stable(scratch))
  `JD_ASSERT_NEXT(OnlyItsEnable_A, !written || waddress_q[11:2] != 10'h009, $stable(enable))
  `JD_ASSERT(Irq_A, irq == ((u_dut.pending_q & enable[1:0]) != '0))

  // ---- The block's registers
  logic [1:0] held;
  logic       first;
  assign held  = u_dut.u_registers.axil_resp_wptr - u_dut.u_registers.axil_resp_rptr;
  assign first = u_dut.u_registers.axil_resp_rptr[0];
  `JD_ASSERT(Waiting_A, u_dut.u_registers.axil_awvalid == aw_q &&
             u_dut.u_registers.axil_wvalid == w_q &&
             u_dut.u_registers.axil_arvalid == ar_q &&
             (!aw_q || u_dut.u_registers.axil_awaddr == waddress_q) &&
             (!ar_q || u_dut.u_registers.axil_araddr == raddress_q))
  `JD_ASSERT(Buffer_A, u_dut.u_registers.axil_n_in_flight == count_q && held == count_q)
  for (genvar n = 0; n < 2; n++) begin : gen_answer
    logic place;
    assign place = first ^ 1'(n);
    `JD_ASSERT_IF(Kept_A, 2'(n) < count_q,
                  u_dut.u_registers.axil_resp_buffer_is_wr[place] == answers_q[n][12] &&
                  u_dut.u_registers.axil_resp_buffer_err[place] == !mapped(answers_q[n]) &&
                  (answers_q[n][12] || !constant(answers_q[n][11:2]) ||
                   u_dut.u_registers.axil_resp_buffer_rdata[place] == value(answers_q[n][11:2])))
  end

  RefusedBehindEngineId_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (bvalid && bready_i && bresp == SLVERR && $past(rvalid && rready_i && rdata == IDS[1])));
  ScratchBack_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (rvalid && rready_i && answers_q[0][11:0] == 12'h030 && rdata == 32'h0000_AB00));
endmodule : jd_prove_directory
