// SPDX-License-Identifier: Apache-2.0
//
// Connects several AXI4 masters to one memory port.
//
// Streams  s_axi_*: the clients; m_axi_*: the port. AR and AW are granted round robin; the write
//          data of a burst follow its grant, in whole bursts. Responses go to the client whose
//          number is in the high bits of their ID; the client's own ID is below it.
// Timing   AR and AW: latency 2, one per clock, registers, also their ready signals. W: passed through
//          in the same clock, from the third clock after its AW was taken, and not waiting for
//          m_axi_awready_i; a client that holds back its data holds up the write data of all. R and
//          B: passed through. Their ready signals follow those of the other side in the same clock.
// Numbers  bits, unchanged.
// Source   AMBA AXI and ACE protocol specification.
`include "jd_assert.svh"
module jd_axi_mux #(
  parameter  int unsigned Clients = 2,   // 1..16
  parameter  int unsigned IdW     = 1,   // bits of a client's ID, 1..8
  localparam int unsigned PortIdW = IdW + $clog2(Clients)
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [Clients-1:0]              s_axi_arvalid_i,
  output logic [Clients-1:0]              s_axi_arready_o,
  input  logic [Clients-1:0][39:0]        s_axi_araddr_i,
  input  logic [Clients-1:0][7:0]         s_axi_arlen_i,
  input  logic [Clients-1:0][IdW-1:0]     s_axi_arid_i,
  output logic [Clients-1:0]              s_axi_rvalid_o,
  input  logic [Clients-1:0]              s_axi_rready_i,
  output logic [Clients-1:0][511:0]       s_axi_rdata_o,
  output logic [Clients-1:0][1:0]         s_axi_rresp_o,
  output logic [Clients-1:0]              s_axi_rlast_o,
  output logic [Clients-1:0][IdW-1:0]     s_axi_rid_o,
  input  logic [Clients-1:0]              s_axi_awvalid_i,
  output logic [Clients-1:0]              s_axi_awready_o,
  input  logic [Clients-1:0][39:0]        s_axi_awaddr_i,
  input  logic [Clients-1:0][7:0]         s_axi_awlen_i,
  input  logic [Clients-1:0][IdW-1:0]     s_axi_awid_i,
  input  logic [Clients-1:0]              s_axi_wvalid_i,
  output logic [Clients-1:0]              s_axi_wready_o,
  input  logic [Clients-1:0][511:0]       s_axi_wdata_i,
  input  logic [Clients-1:0][63:0]        s_axi_wstrb_i,
  input  logic [Clients-1:0]              s_axi_wlast_i,
  output logic [Clients-1:0]              s_axi_bvalid_o,
  input  logic [Clients-1:0]              s_axi_bready_i,
  output logic [Clients-1:0][1:0]         s_axi_bresp_o,
  output logic [Clients-1:0][IdW-1:0]     s_axi_bid_o,
  output logic                            m_axi_arvalid_o,
  input  logic                            m_axi_arready_i,
  output logic [39:0]                     m_axi_araddr_o,
  output logic [7:0]                      m_axi_arlen_o,
  output logic [PortIdW-1:0]              m_axi_arid_o,
  input  logic                            m_axi_rvalid_i,
  output logic                            m_axi_rready_o,
  input  logic [511:0]                    m_axi_rdata_i,
  input  logic [1:0]                      m_axi_rresp_i,
  input  logic                            m_axi_rlast_i,
  input  logic [PortIdW-1:0]              m_axi_rid_i,
  output logic                            m_axi_awvalid_o,
  input  logic                            m_axi_awready_i,
  output logic [39:0]                     m_axi_awaddr_o,
  output logic [7:0]                      m_axi_awlen_o,
  output logic [PortIdW-1:0]              m_axi_awid_o,
  output logic                            m_axi_wvalid_o,
  input  logic                            m_axi_wready_i,
  output logic [511:0]                    m_axi_wdata_o,
  output logic [63:0]                     m_axi_wstrb_o,
  output logic                            m_axi_wlast_o,
  input  logic                            m_axi_bvalid_i,
  output logic                            m_axi_bready_o,
  input  logic [1:0]                      m_axi_bresp_i,
  input  logic [PortIdW-1:0]              m_axi_bid_i
);
  if (Clients < 1 || Clients > 16 || IdW < 1 || IdW > 8) begin : gen_bad_parameters
    $fatal(1, "jd_axi_mux: Clients=%0d, want 1..16, IdW=%0d, want 1..8", Clients, IdW);
  end
  localparam int unsigned ClientW  = (Clients > 1) ? $clog2(Clients) : 1;
  localparam int unsigned RequestW = 40 + 8 + IdW;   // {address, len, id}

  logic [Clients-1:0][RequestW-1:0] ar_requests, aw_requests;
  logic [RequestW-1:0]              ar_request, aw_request;
  logic [ClientW-1:0]               ar_client, aw_client, w_client, r_client, b_client;
  always_comb begin
    for (int unsigned c = 0; c < Clients; c++) begin
      ar_requests[c] = {s_axi_araddr_i[c], s_axi_arlen_i[c], s_axi_arid_i[c]};
      aw_requests[c] = {s_axi_awaddr_i[c], s_axi_awlen_i[c], s_axi_awid_i[c]};
    end
  end

  // A register before each arbiter: what a client is told does not depend on the others' requests.
  logic [Clients-1:0]               ar_valid, ar_ready, aw_offered, aw_ready;
  logic [Clients-1:0][RequestW-1:0] ar_held, aw_held;
  for (genvar c = 0; c < Clients; c++) begin : gen_client
    jd_stream_skid #(.Width(RequestW)) u_ar (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .clear_i     (1'b0),
      .in_valid_i  (s_axi_arvalid_i[c]),
      .in_ready_o  (s_axi_arready_o[c]),
      .in_data_i   (ar_requests[c]),
      .out_valid_o (ar_valid[c]),
      .out_ready_i (ar_ready[c]),
      .out_data_o  (ar_held[c])
    );
    jd_stream_skid #(.Width(RequestW)) u_aw (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .clear_i     (1'b0),
      .in_valid_i  (s_axi_awvalid_i[c]),
      .in_ready_o  (s_axi_awready_o[c]),
      .in_data_i   (aw_requests[c]),
      .out_valid_o (aw_offered[c]),
      .out_ready_i (aw_ready[c]),
      .out_data_o  (aw_held[c])
    );
  end

  // Reads.
  jd_stream_arbiter #(.Streams(Clients), .Width(RequestW)) u_ar (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (ar_valid),
    .in_ready_o  (ar_ready),
    .in_data_i   (ar_held),
    .out_valid_o (m_axi_arvalid_o),
    .out_ready_i (m_axi_arready_i),
    .out_data_o  (ar_request),
    .out_index_o (ar_client)
  );
  assign {m_axi_araddr_o, m_axi_arlen_o} = ar_request[RequestW-1:IdW];
  assign m_axi_arid_o   = PortIdW'({ar_client, ar_request[IdW-1:0]});
  assign r_client       = ClientW'(m_axi_rid_i >> IdW);
  assign s_axi_rvalid_o = Clients'(m_axi_rvalid_i) << r_client;
  assign s_axi_rdata_o  = {Clients{m_axi_rdata_i}};
  assign s_axi_rresp_o  = {Clients{m_axi_rresp_i}};
  assign s_axi_rlast_o  = {Clients{m_axi_rlast_i}};
  assign s_axi_rid_o    = {Clients{m_axi_rid_i[IdW-1:0]}};
  assign m_axi_rready_o = s_axi_rready_i[r_client];

  // Writes: a granted request goes to the port and into the order in which data are passed on; it
  // leaves the arbiter when both have it.
  logic aw_valid, aw_taken, order_valid, order_ready, w_valid;
  jd_stream_arbiter #(.Streams(Clients), .Width(RequestW)) u_aw (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (aw_offered),
    .in_ready_o  (aw_ready),
    .in_data_i   (aw_held),
    .out_valid_o (aw_valid),
    .out_ready_i (aw_taken),
    .out_data_o  (aw_request),
    .out_index_o (aw_client)
  );
  jd_stream_fork u_granted (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (aw_valid),
    .in_ready_o  (aw_taken),
    .out_valid_o ({order_valid, m_axi_awvalid_o}),
    .out_ready_i ({order_ready, m_axi_awready_i})
  );
  assign {m_axi_awaddr_o, m_axi_awlen_o} = aw_request[RequestW-1:IdW];
  assign m_axi_awid_o    = PortIdW'({aw_client, aw_request[IdW-1:0]});
  jd_stream_skid #(.Width(ClientW)) u_order (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .clear_i     (1'b0),
    .in_valid_i  (order_valid),
    .in_ready_o  (order_ready),
    .in_data_i   (aw_client),
    .out_valid_o (w_valid),
    .out_ready_i (m_axi_wvalid_o && m_axi_wready_i && m_axi_wlast_o),
    .out_data_o  (w_client)
  );
  assign m_axi_wvalid_o = w_valid && s_axi_wvalid_i[w_client];
  assign m_axi_wdata_o  = s_axi_wdata_i[w_client];
  assign m_axi_wstrb_o  = s_axi_wstrb_i[w_client];
  assign m_axi_wlast_o  = s_axi_wlast_i[w_client];
  assign s_axi_wready_o = Clients'(w_valid && m_axi_wready_i) << w_client;
  assign b_client       = ClientW'(m_axi_bid_i >> IdW);
  assign s_axi_bvalid_o = Clients'(m_axi_bvalid_i) << b_client;
  assign s_axi_bresp_o  = {Clients{m_axi_bresp_i}};
  assign s_axi_bid_o    = {Clients{m_axi_bid_i[IdW-1:0]}};
  assign m_axi_bready_o = s_axi_bready_i[b_client];

  `JD_ASSUME_STREAM(DataStable_M, m_axi_rvalid_i, m_axi_rready_o,
                    {m_axi_rdata_i, m_axi_rresp_i, m_axi_rlast_i, m_axi_rid_i})
  `JD_ASSUME_STREAM(ResponseStable_M, m_axi_bvalid_i, m_axi_bready_o,
                    {m_axi_bresp_i, m_axi_bid_i})
  `JD_ASSUME_IF(DataToClient_M, m_axi_rvalid_i, 32'(r_client) < Clients)
  `JD_ASSUME_IF(ResponseToClient_M, m_axi_bvalid_i, 32'(b_client) < Clients)
  `JD_ASSERT_STREAM(ReadStable_A, m_axi_arvalid_o, m_axi_arready_i,
                    {m_axi_araddr_o, m_axi_arlen_o, m_axi_arid_o})
  `JD_ASSERT_STREAM(WriteStable_A, m_axi_awvalid_o, m_axi_awready_i,
                    {m_axi_awaddr_o, m_axi_awlen_o, m_axi_awid_o})
  `JD_ASSERT_STREAM(WriteDataStable_A, m_axi_wvalid_o, m_axi_wready_i,
                    {m_axi_wdata_o, m_axi_wstrb_o, m_axi_wlast_o})
endmodule : jd_axi_mux
