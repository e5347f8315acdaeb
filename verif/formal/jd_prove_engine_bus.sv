// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_engine_bus, the page of every engine: each access gets exactly one response and none
// comes without; an access to the header reaches the header once, any other the engine's registers
// once, with its address and data; a write to an idle-only word of a busy engine reaches nothing and
// answers SLVERR; errors come back as SLVERR, reads then with data 0; an access that waits for
// nobody else is answered within WaitMax clocks.
//
// Method       induction: what the access in hand has reached is kept beside the block.
// Assumptions  the host holds its requests until taken (those of the block). The engine's registers
//              answer what they were asked, once, and hold the answer until taken (AXI4-Lite). The
//              header answers in the clock after an access, as jd_engine_control asserts. Reset at
//              any time.
`include "jd_assert.svh"
module jd_prove_engine_bus
  import jd_axi_pkg::*;
(
  input logic        clk_i,
  input logic        rst_ni,
  input logic        idle_i,
  input logic        awvalid_i,
  input logic [11:0] awaddr_i,
  input logic        wvalid_i,
  input logic [31:0] wdata_i,
  input logic [3:0]  wstrb_i,
  input logic        bready_i,
  input logic        arvalid_i,
  input logic [11:0] araddr_i,
  input logic        rready_i,
  input logic        e_awready_i,
  input logic        e_wready_i,
  input logic        e_bvalid_i,
  input logic [1:0]  e_bresp_i,
  input logic        e_arready_i,
  input logic        e_rvalid_i,
  input logic [31:0] e_rdata_i,
  input logic [1:0]  e_rresp_i,
  input logic        header_error_i,
  input logic [31:0] header_data_i
);
  localparam logic [1023:0] IDLE_ONLY = {24'h8A5A01, 936'd0, 64'hA5A5_5A5A_0000_0000};
  localparam int unsigned   WaitMax   = 4;
  localparam logic [1:0]    SLVERR    = 2'd2;

  logic        awready, wready, bvalid, arready, rvalid;
  logic [1:0]  bresp, rresp;
  logic [31:0] rdata, e_wdata, header_wdata;
  logic        e_awvalid, e_wvalid, e_bready, e_arvalid, e_rready;
  logic [19:0] e_awaddr, e_araddr;
  logic [3:0]  e_wstrb, header_strb;
  logic        header_valid, header_write;
  logic [7:0]  header_address;
  axil_req_t   req, e_req;
  axil_rsp_t   rsp, e_rsp;
  assign req = '{awvalid: awvalid_i, awaddr: 20'(awaddr_i), wvalid: wvalid_i, wdata: wdata_i,
                 wstrb: wstrb_i, bready: bready_i, arvalid: arvalid_i, araddr: 20'(araddr_i),
                 rready: rready_i};
  assign {awready, wready, bvalid, bresp, arready, rvalid, rdata, rresp} = rsp;
  assign {e_awvalid, e_awaddr, e_wvalid, e_wdata, e_wstrb, e_bready, e_arvalid, e_araddr,
          e_rready} = e_req;
  assign e_rsp = '{awready: e_awready_i, wready: e_wready_i, bvalid: e_bvalid_i,
                   bresp: e_bresp_i, arready: e_arready_i, rvalid: e_rvalid_i, rdata: e_rdata_i,
                   rresp: e_rresp_i};
  jd_engine_bus #(.IdleOnly(IDLE_ONLY)) u_dut (
    .clk_i,
    .rst_ni,
    .idle_i,
    .axil_req_i       (req),
    .axil_rsp_o       (rsp),
    .engine_req_o     (e_req),
    .engine_rsp_i     (e_rsp),
    .header_valid_o   (header_valid),
    .header_write_o   (header_write),
    .write_address_o  (),
    .header_address_o (header_address),
    .header_data_o    (header_wdata),
    .header_strb_o    (header_strb),
    .header_error_i,
    .header_data_i
  );

  // ---- The accesses in hand, what they have reached, and what the answer must be
  logic        aw_q, w_q, ar_q;                       // accepted, not answered
  logic [11:0] waddress_q, raddress_q;
  logic [35:0] wdata_q;
  logic        w_header_q, e_aw_q, e_w_q, e_b_q;      // reached the header; engine: asked, answered
  logic        r_header_q, e_ar_q, e_r_q;
  logic        asked_q;                               // the header, the clock before
  logic [1:0]  b_q;
  logic [33:0] r_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {aw_q, w_q, ar_q}                <= '0;
      {w_header_q, e_aw_q, e_w_q, e_b_q} <= '0;
      {r_header_q, asked_q, e_ar_q, e_r_q} <= '0;
    end else begin
      asked_q <= header_valid;
      if (bvalid && bready_i) begin
        {aw_q, w_q, w_header_q, e_aw_q, e_w_q, e_b_q} <= '0;
      end else begin
        if (awvalid_i && awready)         aw_q       <= 1'b1;
        if (wvalid_i && wready)           w_q        <= 1'b1;
        if (header_valid && header_write) w_header_q <= 1'b1;
        if (e_awvalid && e_awready_i)     e_aw_q     <= 1'b1;
        if (e_wvalid && e_wready_i)       e_w_q      <= 1'b1;
        if (e_bvalid_i && e_bready)       e_b_q      <= 1'b1;
      end
      if (rvalid && rready_i) begin
        {ar_q, r_header_q, e_ar_q, e_r_q} <= '0;
      end else begin
        if (arvalid_i && arready)          ar_q       <= 1'b1;
        if (header_valid && !header_write) r_header_q <= 1'b1;
        if (e_arvalid && e_arready_i)      e_ar_q     <= 1'b1;
        if (e_rvalid_i && e_rready)        e_r_q      <= 1'b1;
      end
    end
    if (awvalid_i && awready) begin
      waddress_q <= awaddr_i;
      b_q        <= SLVERR;                           // unless something else is reached
    end
    if (wvalid_i && wready) wdata_q <= {wstrb_i, wdata_i};
    if (arvalid_i && arready) raddress_q <= araddr_i;
    if (asked_q && header_write)  b_q <= header_error_i ? SLVERR : 2'd0;
    if (asked_q && !header_write) r_q <= header_error_i ? {SLVERR, 32'd0} : {2'd0, header_data_i};
    if (e_bvalid_i && e_bready) b_q <= (e_bresp_i != '0) ? SLVERR : 2'd0;
    if (e_rvalid_i && e_rready) r_q <= (e_rresp_i != '0) ? {SLVERR, 32'd0} : {2'd0, e_rdata_i};
  end

  // Clocks in which a whole access waits, and neither host nor engine keeps it.
  logic [3:0] wait_q;
  logic       engine_busy;
  assign engine_busy = e_awvalid || e_wvalid || e_arvalid || e_bready || e_rready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !((aw_q && w_q) || ar_q) || (bvalid && bready_i) || (rvalid && rready_i)) begin
      wait_q <= '0;
    end else if (!engine_busy && !bvalid && !rvalid) begin
      wait_q <= wait_q + 4'd1;
    end
  end

  logic w_to_header, r_to_header, idle_only;
  assign w_to_header = waddress_q[11:8] == '0;
  assign r_to_header = raddress_q[11:8] == '0;
  assign idle_only   = IDLE_ONLY[waddress_q[11:2]];
  `JD_ASSUME_IF(WriteAnswerAsked_M, e_bvalid_i, e_aw_q && e_w_q && !e_b_q)
  `JD_ASSUME_IF(ReadAnswerAsked_M, e_rvalid_i, e_ar_q && !e_r_q)
  `JD_ASSUME_STREAM(WriteAnswerStable_M, e_bvalid_i, e_bready, e_bresp_i)
  `JD_ASSUME_STREAM(ReadAnswerStable_M, e_rvalid_i, e_rready, {e_rdata_i, e_rresp_i})

  `JD_ASSERT(OneEach_A, awready == !aw_q && wready == !w_q && arready == !ar_q)
  `JD_ASSERT_IF(WriteAnswerOwed_A, bvalid, aw_q && w_q && !rvalid)
  `JD_ASSERT_IF(ReadAnswerOwed_A, rvalid, ar_q)
  `JD_ASSERT_IF(WriteAnswer_A, bvalid, bresp == b_q)
  `JD_ASSERT_IF(ReadAnswer_A, rvalid, {rresp, rdata} == r_q)
  `JD_ASSERT_IF(WriteReached_A, bvalid, w_header_q == w_to_header &&
                (!w_to_header && e_b_q ? e_aw_q && e_w_q : !e_aw_q && !e_w_q) &&
                (w_to_header || e_b_q || idle_only))
  `JD_ASSERT_IF(ReadReached_A, rvalid, r_header_q == r_to_header &&
                e_ar_q == !r_to_header && e_r_q == !r_to_header)
  `JD_ASSERT_IF(HeaderOnce_A, header_valid,
                header_write ? aw_q && w_q && w_to_header && !w_header_q : ar_q && r_to_header &&
                !r_header_q)
  `JD_ASSERT_IF(HeaderAccess_A, header_valid, header_address == (header_write ? waddress_q[7:0]
                : raddress_q[7:0]) && (!header_write || {header_strb, header_wdata} == wdata_q))
  `JD_ASSERT_IF(EngineWrite_A, e_awvalid || e_wvalid, aw_q && w_q && !w_to_header &&
                e_awaddr == 20'(waddress_q) && {e_wstrb, e_wdata} == wdata_q)
  `JD_ASSERT_IF(EngineRead_A, e_arvalid, ar_q && !r_to_header && e_araddr == 20'(raddress_q))
  `JD_ASSERT(EngineOnce_A, !(e_awvalid && e_aw_q) && !(e_wvalid && e_w_q) && !(e_arvalid && e_ar_q))
  `JD_ASSERT_IF(IdleOnlyKept_A, e_awvalid && !$past(e_awvalid) && idle_only, $past(idle_i))
  `JD_ASSERT_STREAM(EngineAddressStable_A, e_awvalid, e_awready_i, e_awaddr)
  `JD_ASSERT_STREAM(EngineDataStable_A, e_wvalid, e_wready_i, {e_wdata, e_wstrb})
  `JD_ASSERT_STREAM(EngineReadStable_A, e_arvalid, e_arready_i, e_araddr)
  `JD_ASSERT(AnsweredInTime_A, 32'(wait_q) <= WaitMax)

  // ---- The block's state
  logic idle, decide, engine, answer, write, to_header;
  assign idle   = 2'(u_dut.state_q) == 2'd0;
  assign decide = 2'(u_dut.state_q) == 2'd1;
  assign engine = 2'(u_dut.state_q) == 2'd2;
  assign answer = 2'(u_dut.state_q) == 2'd3;
  assign write  = u_dut.write_q;
  assign to_header = write ? w_to_header : r_to_header;
  `JD_ASSERT_IF(InHand_A, !idle, write ? aw_q && w_q : ar_q)
  `JD_ASSERT(Held_A, (!aw_q || u_dut.aw_q == waddress_q) && (!ar_q || u_dut.ar_q == raddress_q) &&
             (!w_q || {u_dut.wstrb_q, u_dut.wdata_q} == wdata_q))
  `JD_ASSERT_IF(NothingYetWrite_A, !write || idle || decide, !w_header_q && !e_aw_q && !e_w_q &&
                !e_b_q && !e_awvalid && !e_wvalid)
  `JD_ASSERT_IF(NothingYetRead_A, write || idle || decide, !r_header_q && !e_ar_q && !e_r_q &&
                !e_arvalid)
  `JD_ASSERT_IF(Fresh_A, aw_q && (!write || idle || decide), b_q == SLVERR)
  `JD_ASSERT_IF(AtEngine_A, engine, write ?
                !e_b_q && e_aw_q == (!w_to_header && !e_awvalid) &&
                w_header_q == (w_to_header && !header_valid) &&
                e_w_q == (!w_to_header && !e_wvalid) && (!w_to_header || (!e_awvalid && !e_wvalid))
                : !e_r_q && e_ar_q == (!r_to_header && !e_arvalid) &&
                r_header_q == (r_to_header && !header_valid) && (!r_to_header || !e_arvalid))
  `JD_ASSERT_IF(HeaderInTurn_A, header_valid, engine && to_header)
  `JD_ASSERT(Asked_A, asked_q == (engine && to_header && !header_valid))
  `JD_ASSERT_IF(HeaderDone_A, !idle, u_dut.header_done_q == asked_q)
  `JD_ASSERT_IF(AnswerIsReady_A, answer, !e_awvalid && !e_wvalid && !e_arvalid)
  `JD_ASSERT(WaitIs_A, 32'(wait_q) <= (idle ? 32'd0 : decide ? 32'd1 : engine && !asked_q ? 32'd2
                                       : engine || !to_header ? 32'd3 : 32'd4))

  RefusedThenRead_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (bvalid && bready_i && bresp == SLVERR && idle_only && !w_to_header && ar_q && !r_to_header));
  EngineRead_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (rvalid && rready_i && rresp == 2'd0 && rdata == 32'd7 && e_r_q));
endmodule : jd_prove_engine_bus
