// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_axi_mux with its clients' skid buffers (proved by themselves): every request that is
// granted reaches the port once, unchanged, with its client in the high bits of the ID; responses go
// to the client that the ID names and to no other; write data come from the client of the oldest
// granted burst that is not finished, in whole bursts and in the order of the grants; requests and
// data stay until taken.
//
// Method       induction. The grants of AW are kept in a list: those not yet at the port, and those
//              whose data are not finished.
// Assumptions  clients hold their requests and data until taken (AXI4); the port answers only the
//              IDs of clients and holds its responses (those of the block). Reset at any time.
`include "jd_assert.svh"
module jd_prove_mux
  import jd_axi_pkg::*;
#(
  parameter  int unsigned Clients = 2,
  parameter  int unsigned IdW     = 1,
  localparam int unsigned ClientW = $clog2(Clients),
  localparam int unsigned PortIdW = IdW + ClientW
) (
  input logic                      clk_i,
  input logic                      rst_ni,
  input logic [Clients-1:0]        arvalid_i,
  input logic [Clients-1:0][39:0]  araddr_i,
  input logic [Clients-1:0][7:0]   arlen_i,
  input logic [Clients-1:0][IdW-1:0] arid_i,
  input logic [Clients-1:0]        rready_i,
  input logic [Clients-1:0]        awvalid_i,
  input logic [Clients-1:0][39:0]  awaddr_i,
  input logic [Clients-1:0][7:0]   awlen_i,
  input logic [Clients-1:0][IdW-1:0] awid_i,
  input logic [Clients-1:0]        wvalid_i,
  input logic [Clients-1:0][511:0] wdata_i,
  input logic [Clients-1:0][63:0]  wstrb_i,
  input logic [Clients-1:0]        wlast_i,
  input logic [Clients-1:0]        bready_i,
  input logic                      m_arready_i,
  input logic                      m_rvalid_i,
  input logic [511:0]              m_rdata_i,
  input logic [1:0]                m_rresp_i,
  input logic                      m_rlast_i,
  input logic [PortIdW-1:0]        m_rid_i,
  input logic                      m_awready_i,
  input logic                      m_wready_i,
  input logic                      m_bvalid_i,
  input logic [1:0]                m_bresp_i,
  input logic [PortIdW-1:0]        m_bid_i
);
  logic [Clients-1:0]          arready, rvalid, rlast, awready, wready, bvalid;
  logic [Clients-1:0][511:0]   rdata;
  logic [Clients-1:0][1:0]     rresp, bresp;
  logic [Clients-1:0][IdW-1:0] rid, bid;
  logic                        m_arvalid, m_rready, m_awvalid, m_wvalid, m_wlast, m_bready;
  logic [39:0]                 m_araddr, m_awaddr;
  logic [7:0]                  m_arlen, m_awlen;
  logic [PortIdW-1:0]          m_arid, m_awid;
  logic [511:0]                m_wdata;
  logic [63:0]                 m_wstrb;
  axi_req_t [Clients-1:0] client_req;
  axi_rsp_t [Clients-1:0] client_rsp;
  axi_req_t               mem_req;
  axi_rsp_t               mem_rsp;
  logic [7:0]             port_arid, port_awid;
  for (genvar c = 0; c < Clients; c++) begin : gen_bundle
    logic [7:0] own_rid, own_bid;
    assign client_req[c].read = '{
      arvalid: arvalid_i[c], araddr: araddr_i[c], arlen: arlen_i[c], arid: 8'(arid_i[c]),
      rready: rready_i[c]};
    assign client_req[c].write = '{
      awvalid: awvalid_i[c], awaddr: awaddr_i[c], awlen: awlen_i[c], awid: 8'(awid_i[c]),
      wvalid: wvalid_i[c], wdata: wdata_i[c], wstrb: wstrb_i[c], wlast: wlast_i[c],
      bready: bready_i[c]};
    assign {arready[c], rvalid[c], rdata[c], rresp[c], rlast[c], own_rid} = client_rsp[c].read;
    assign {awready[c], wready[c], bvalid[c], bresp[c], own_bid} = client_rsp[c].write;
    assign rid[c] = own_rid[IdW-1:0];
    assign bid[c] = own_bid[IdW-1:0];
    `JD_ASSERT(OwnId_A, own_rid == 8'(rid[c]) && own_bid == 8'(bid[c]))
  end
  assign {m_arvalid, m_araddr, m_arlen, port_arid, m_rready} = mem_req.read;
  assign {m_awvalid, m_awaddr, m_awlen, port_awid, m_wvalid, m_wdata, m_wstrb, m_wlast, m_bready} =
      mem_req.write;
  assign m_arid = port_arid[PortIdW-1:0];
  assign m_awid = port_awid[PortIdW-1:0];
  assign mem_rsp.read = '{
    arready: m_arready_i, rvalid: m_rvalid_i, rdata: m_rdata_i, rresp: m_rresp_i,
    rlast: m_rlast_i, rid: 8'(m_rid_i)};
  assign mem_rsp.write = '{
    awready: m_awready_i, wready: m_wready_i, bvalid: m_bvalid_i, bresp: m_bresp_i,
    bid: 8'(m_bid_i)};
  jd_axi_mux #(.Clients(Clients), .IdW(IdW)) u_dut (
    .clk_i,
    .rst_ni,
    .client_req_i (client_req),
    .client_rsp_o (client_rsp),
    .mem_req_o    (mem_req),
    .mem_rsp_i    (mem_rsp)
  );
  `JD_ASSERT_IF(ReadId_A, m_arvalid, port_arid == 8'(m_arid))
  `JD_ASSERT_IF(WriteId_A, m_awvalid, port_awid == 8'(m_awid))

  localparam int unsigned RequestW = PortIdW + 48;
  logic [RequestW-1:0] ar_granted, aw_granted, ar_q, aw_q;   // {id at the port, address, len}
  logic [ClientW-1:0]  aw_client;
  logic                ar_grant, aw_grant, ar_open_q, aw_open_q, finish;
  assign ar_grant = (u_dut.ar_valid & u_dut.ar_ready) != '0;
  assign aw_grant = (u_dut.aw_offered & u_dut.aw_ready) != '0;
  assign finish   = m_wvalid && m_wready_i && m_wlast;
  always_comb begin
    ar_granted = '0;
    aw_granted = '0;
    aw_client  = '0;
    for (int unsigned c = 0; c < Clients; c++) begin
      if (u_dut.ar_ready[c]) begin
        ar_granted = {ClientW'(c), u_dut.ar_held[c][IdW-1:0], u_dut.ar_held[c][8+:48]};
      end
      if (u_dut.aw_ready[c]) begin
        aw_granted = {ClientW'(c), u_dut.aw_held[c][IdW-1:0], u_dut.aw_held[c][8+:48]};
        aw_client  = ClientW'(c);
      end
    end
  end

  // Granted bursts whose data are not finished, the oldest in element 0: at most three.
  logic [3:0][ClientW-1:0] order_q, order_d;
  logic [2:0]              bursts_q;
  always_comb begin
    order_d = order_q;
    if (finish) order_d = {ClientW'(0), order_q[3:1]};
    if (aw_grant) order_d[2'(bursts_q - 3'(finish))] = aw_client;
  end
  always_ff @(posedge clk_i) begin
    order_q <= order_d;
    if (!rst_ni) begin
      ar_open_q <= 1'b0;
      aw_open_q <= 1'b0;
      bursts_q  <= '0;
    end else begin
      if (ar_grant)         ar_open_q <= 1'b1;
      else if (m_arready_i) ar_open_q <= 1'b0;
      if (aw_grant)                      aw_open_q <= 1'b1;
      else if (m_awvalid && m_awready_i) aw_open_q <= 1'b0;
      bursts_q <= bursts_q + 3'(aw_grant) - 3'(finish);
    end
    if (ar_grant) ar_q <= ar_granted;
    if (aw_grant) aw_q <= aw_granted;
  end

  for (genvar c = 0; c < Clients; c++) begin : gen_client
    `JD_ASSUME_STREAM(ReadStable_M, arvalid_i[c], arready[c], {araddr_i[c], arlen_i[c], arid_i[c]})
    `JD_ASSUME_STREAM(WriteStable_M, awvalid_i[c], awready[c],
                      {awaddr_i[c], awlen_i[c], awid_i[c]})
    `JD_ASSUME_STREAM(DataStable_M, wvalid_i[c], wready[c], {wdata_i[c], wstrb_i[c], wlast_i[c]})

    // Responses: to the client of the ID, and only while it is ready does the port see ready.
    `JD_ASSERT(ReadData_A, rvalid[c] == (m_rvalid_i && m_rid_i[PortIdW-1:IdW] == ClientW'(c)) &&
               (!rvalid[c] || (m_rready == rready_i[c] && rdata[c] == m_rdata_i &&
                rresp[c] == m_rresp_i && rlast[c] == m_rlast_i && rid[c] == m_rid_i[IdW-1:0])))
    `JD_ASSERT(WriteResponse_A, bvalid[c] == (m_bvalid_i && m_bid_i[PortIdW-1:IdW] == ClientW'(c))
               && (!bvalid[c] || (m_bready == bready_i[c] && bresp[c] == m_bresp_i &&
                                  bid[c] == m_bid_i[IdW-1:0])))
    // Data: only from the client whose turn it is.
    `JD_ASSERT_IF(OnlyInTurn_A, wready[c], m_wready_i && bursts_q != '0 &&
                  order_q[0] == ClientW'(c))
    `JD_ASSERT_IF(DataOfTurn_A, m_wvalid && order_q[0] == ClientW'(c), wvalid_i[c] &&
                  wready[c] == m_wready_i && m_wdata == wdata_i[c] && m_wstrb == wstrb_i[c] &&
                  m_wlast == wlast_i[c])
  end
  `JD_ASSERT(OneGrant_A, $onehot0(u_dut.ar_valid & u_dut.ar_ready) &&
                         $onehot0(u_dut.aw_offered & u_dut.aw_ready))
  `JD_ASSERT(ReadOffered_A, m_arvalid == ar_open_q)
  `JD_ASSERT_IF(ReadUnchanged_A, m_arvalid, {m_arid, m_araddr, m_arlen} == ar_q)
  `JD_ASSERT(WriteOffered_A, m_awvalid == aw_open_q)
  `JD_ASSERT_IF(WriteUnchanged_A, m_awvalid, {m_awid, m_awaddr, m_awlen} == aw_q)
  `JD_ASSERT_IF(ReadNotLost_A, ar_grant, !ar_open_q || m_arready_i)
  `JD_ASSERT_IF(WriteNotLost_A, aw_grant, !aw_open_q || m_awready_i)
  `JD_ASSERT_IF(DataAfterGrant_A, m_wvalid, bursts_q != '0)
  `JD_ASSERT(Bursts_A, bursts_q <= 3'd3)

  // ---- The block's order buffer (two places), and the request before it
  logic       held, first, second;
  assign held   = u_dut.aw_valid && !u_dut.u_granted.have_q[1];
  assign first  = u_dut.u_order.out_valid_o;
  assign second = u_dut.u_order.spare_valid_q;
  `JD_ASSERT(Counted_A, bursts_q == 3'(first) + 3'(second) + 3'(held))
  `JD_ASSERT_IF(First_A, first, u_dut.u_order.out_data_o == order_q[0])
  `JD_ASSERT_IF(Second_A, second, first && u_dut.u_order.spare_q == order_q[1])
  `JD_ASSERT_IF(HeldClient_A, held, u_dut.aw_client == order_q[2'(first)+2'(second)])
  `JD_ASSERT(Open_A, aw_open_q == (u_dut.aw_valid && !u_dut.u_granted.have_q[0]))

  SecondInTurn_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (finish && order_q[0] == '0 && bursts_q == 3'd3 && order_q[1] == ClientW'(1)));
endmodule : jd_prove_mux
