// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_axil_demux: every accepted access gets exactly one response, and none comes without;
// it reaches the target of its page, once, with its address and data, and no other; the target's
// answer goes back unchanged; an access to a page without target answers SLVERR with data 0 and
// reaches none; only a target can delay a response; valid stays until ready on every side.
//
// The slices in front of the writes are proved by themselves; a write is accepted after them.
//
// Method       induction: the access in hand is kept beside the block, read and write apart.
// Assumptions  the host holds its requests until taken (those of the block). A target answers only
//              what it was asked, once, and holds its answer until taken (AXI4-Lite). Reset at any
//              time, of both sides.
`include "jd_assert.svh"
module jd_prove_demux
  import jd_axi_pkg::*;
#(
  parameter int unsigned Targets  = 3,
  parameter int unsigned PageBits = 4
) (
  input logic                     clk_i,
  input logic                     rst_ni,
  input logic                     awvalid_i,
  input logic [19:0]         awaddr_i,
  input logic                     wvalid_i,
  input logic [31:0]              wdata_i,
  input logic [3:0]               wstrb_i,
  input logic                     bready_i,
  input logic                     arvalid_i,
  input logic [19:0]         araddr_i,
  input logic                     rready_i,
  input logic [Targets-1:0]       m_awready_i,
  input logic [Targets-1:0]       m_wready_i,
  input logic [Targets-1:0]       m_bvalid_i,
  input logic [Targets-1:0][1:0]  m_bresp_i,
  input logic [Targets-1:0]       m_arready_i,
  input logic [Targets-1:0]       m_rvalid_i,
  input logic [Targets-1:0][31:0] m_rdata_i,
  input logic [Targets-1:0][1:0]  m_rresp_i
);
  logic                          awready, wready, bvalid, arready, rvalid;
  logic [1:0]                    bresp, rresp;
  logic [31:0]                   rdata;
  logic [Targets-1:0]            m_awvalid, m_wvalid, m_bready, m_arvalid, m_rready;
  logic [Targets-1:0][19:0] m_awaddr, m_araddr;
  logic [Targets-1:0][31:0]      m_wdata;
  logic [Targets-1:0][3:0]       m_wstrb;
  axil_req_t               req;
  axil_rsp_t               rsp;
  axil_req_t [Targets-1:0] page_req;
  axil_rsp_t [Targets-1:0] page_rsp;
  assign req = '{awvalid: awvalid_i, awaddr: awaddr_i, wvalid: wvalid_i, wdata: wdata_i,
                 wstrb: wstrb_i, bready: bready_i, arvalid: arvalid_i, araddr: araddr_i,
                 rready: rready_i};
  assign {awready, wready, bvalid, bresp, arready, rvalid, rdata, rresp} = rsp;
  for (genvar t = 0; t < Targets; t++) begin : gen_page
    assign {m_awvalid[t], m_awaddr[t], m_wvalid[t], m_wdata[t], m_wstrb[t], m_bready[t],
            m_arvalid[t], m_araddr[t], m_rready[t]} = page_req[t];
    assign page_rsp[t] = '{awready: m_awready_i[t], wready: m_wready_i[t], bvalid: m_bvalid_i[t],
                           bresp: m_bresp_i[t], arready: m_arready_i[t], rvalid: m_rvalid_i[t],
                           rdata: m_rdata_i[t], rresp: m_rresp_i[t]};
  end
  jd_axil_demux #(
    .Targets(Targets), .PageBits(PageBits)
  ) u_dut (
    .clk_i,
    .rst_ni,
    .axil_req_i (req),
    .axil_rsp_o (rsp),
    .page_req_o (page_req),
    .page_rsp_i (page_rsp)
  );

  localparam logic [1:0] SLVERR = 2'd2;

  // Targets that may see an access: one, or none.
  function automatic logic [Targets-1:0] targets(logic [19:0] address);
    for (int unsigned t = 0; t < Targets; t++) begin
      targets[t] = 32'(address) >> PageBits == t;
    end
  endfunction

  // ---- Reads
  logic               r_open_q;                  // accepted, not answered
  logic [19:0]   r_address_q;
  logic [Targets-1:0] r_asked_q, r_owed_q;       // asked ever for this access; owes its answer
  logic [33:0]        r_answer_q;                // the target's {resp, data}
  logic [Targets-1:0] r_ask, r_answer;
  assign r_ask    = m_arvalid & m_arready_i;
  assign r_answer = m_rvalid_i & m_rready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      r_open_q  <= 1'b0;
      r_asked_q <= '0;
      r_owed_q  <= '0;
    end else begin
      if (arvalid_i && arready)    r_open_q <= 1'b1;
      else if (rvalid && rready_i) r_open_q <= 1'b0;
      r_asked_q <= (arvalid_i && arready) ? '0 : r_asked_q | r_ask;
      r_owed_q  <= (r_owed_q | r_ask) & ~r_answer;
    end
    if (arvalid_i && arready) begin
      r_address_q <= araddr_i;
      r_answer_q  <= {SLVERR, 32'd0};
    end
    for (int unsigned t = 0; t < Targets; t++) begin
      if (r_answer[t]) r_answer_q <= {m_rresp_i[t], m_rdata_i[t]};
    end
  end
  `JD_ASSERT_IF(ReadAlone_A, r_open_q, !arready)
  `JD_ASSERT_IF(ReadAnswerOwed_A, rvalid, r_open_q && r_owed_q == '0 && m_arvalid == '0)
  `JD_ASSERT_IF(ReadAnswer_A, rvalid, {rresp, rdata} == r_answer_q)
  `JD_ASSERT_IF(ReadReachedTarget_A, rvalid, r_asked_q == targets(r_address_q))
  `JD_ASSERT(ReadOnlyOfPage_A, ((m_arvalid | r_asked_q) & ~targets(r_address_q)) == '0 ||
             (!r_open_q && m_arvalid == '0))
  `JD_ASSERT(ReadOnce_A, (m_arvalid & r_asked_q) == '0)
  `JD_ASSERT_IF(ReadNotStuck_A, r_open_q && !rvalid,
                targets(r_address_q) != '0 && m_rready == targets(r_address_q) &&
                (m_arvalid ^ r_owed_q) == targets(r_address_q) &&
                (m_arvalid & r_owed_q) == '0 && r_asked_q == r_owed_q)
  `JD_ASSERT_IF(ReadNothingOpen_A, !r_open_q, m_arvalid == '0 && r_owed_q == '0 && !rvalid)
  for (genvar t = 0; t < Targets; t++) begin : gen_read
    `JD_ASSERT_IF(ReadAddress_A, m_arvalid[t], m_araddr[t] == r_address_q)
    `JD_ASSERT_STREAM(ReadRequestStable_A, m_arvalid[t], m_arready_i[t], m_araddr[t])
    `JD_ASSUME_IF(ReadAnswerAsked_M, m_rvalid_i[t], r_owed_q[t])
    `JD_ASSUME_STREAM(ReadAnswerStable_M, m_rvalid_i[t], m_rready[t],
                      {m_rdata_i[t], m_rresp_i[t]})
  end

  // ---- Writes: a target owes its answer from the second of address and data on
  logic               w_open_q;
  logic [19:0]   w_address_q;
  logic [35:0]        w_data_q;
  logic [Targets-1:0] aw_asked_q, w_asked_q, w_answered_q, w_owed;
  logic [1:0]         w_answer_q;
  logic [Targets-1:0] w_answer;
  logic               w_accept;
  assign w_accept = u_dut.w_accept;
  assign w_owed   = aw_asked_q & w_asked_q & ~w_answered_q;
  assign w_answer = m_bvalid_i & m_bready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_open_q     <= 1'b0;
      aw_asked_q   <= '0;
      w_asked_q    <= '0;
      w_answered_q <= '0;
    end else begin
      if (w_accept)    w_open_q <= 1'b1;
      else if (bvalid && bready_i) w_open_q <= 1'b0;
      if (w_accept) begin
        aw_asked_q   <= '0;
        w_asked_q    <= '0;
        w_answered_q <= '0;
      end else begin
        aw_asked_q   <= aw_asked_q | (m_awvalid & m_awready_i);
        w_asked_q    <= w_asked_q | (m_wvalid & m_wready_i);
        w_answered_q <= w_answered_q | w_answer;
      end
    end
    if (w_accept) begin
      w_address_q <= u_dut.aw_address;
      w_data_q    <= {u_dut.w_strobes, u_dut.w_data};
      w_answer_q  <= SLVERR;
    end
    for (int unsigned t = 0; t < Targets; t++) if (w_answer[t]) w_answer_q <= m_bresp_i[t];
  end
  `JD_ASSERT(WriteOpen_A, w_open_q == (u_dut.w_state_q != 2'd0))
  `JD_ASSERT(WriteTaken_A, w_accept == (u_dut.aw_valid && u_dut.w_valid && !w_open_q))
  `JD_ASSERT(WriteAddressOffered_A, u_dut.aw_valid == (awvalid_i || !awready))
  `JD_ASSERT(WriteDataOffered_A, u_dut.w_valid == (wvalid_i || !wready))
  `JD_ASSERT_IF(WriteAnswerOwed_A, bvalid, w_open_q && w_owed == '0 && m_awvalid == '0 &&
                m_wvalid == '0)
  `JD_ASSERT_IF(WriteAnswer_A, bvalid, bresp == w_answer_q)
  `JD_ASSERT_IF(WriteReachedTarget_A, bvalid, aw_asked_q == targets(w_address_q) &&
                w_asked_q == targets(w_address_q) && w_answered_q == targets(w_address_q))
  `JD_ASSERT_IF(WriteOnlyOfPage_A, w_open_q,
                ((m_awvalid | m_wvalid | aw_asked_q | w_asked_q | w_answered_q) &
                 ~targets(w_address_q)) == '0)
  `JD_ASSERT(WriteOnce_A, (m_awvalid & aw_asked_q) == '0 && (m_wvalid & w_asked_q) == '0)
  `JD_ASSERT_IF(WriteNotStuck_A, w_open_q && !bvalid,
                targets(w_address_q) != '0 && m_bready == targets(w_address_q) &&
                (m_awvalid | aw_asked_q) == targets(w_address_q) &&
                (m_wvalid | w_asked_q) == targets(w_address_q) && w_answered_q == '0)
  `JD_ASSERT_IF(WriteNothingOpen_A, !w_open_q, m_awvalid == '0 && m_wvalid == '0 &&
                w_owed == '0 && !bvalid)
  for (genvar t = 0; t < Targets; t++) begin : gen_write
    `JD_ASSERT_IF(WriteAddress_A, m_awvalid[t], m_awaddr[t] == w_address_q)
    `JD_ASSERT_IF(WriteData_A, m_wvalid[t], {m_wstrb[t], m_wdata[t]} == w_data_q)
    `JD_ASSERT_STREAM(WriteRequestStable_A, m_awvalid[t], m_awready_i[t], m_awaddr[t])
    `JD_ASSERT_STREAM(WriteDataStable_A, m_wvalid[t], m_wready_i[t], {m_wstrb[t], m_wdata[t]})
    `JD_ASSUME_IF(WriteAnswerAsked_M, m_bvalid_i[t], w_owed[t])
    `JD_ASSUME_STREAM(WriteAnswerStable_M, m_bvalid_i[t], m_bready[t], m_bresp_i[t])
  end

  LastPageRead_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (rvalid && rready_i && &r_address_q && rresp == SLVERR));
  WriteWhileReading_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (bvalid && bready_i && bresp == 2'd0 && r_owed_q != '0));
endmodule : jd_prove_demux
