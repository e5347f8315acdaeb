// SPDX-License-Identifier: Apache-2.0
//
// Connects several AXI4 masters to one memory port.
//
// Streams  client_*: the masters; mem_*: the port. AR and AW are granted round robin; the write data
//          of a burst follow its grant, in whole bursts. Responses go to the client whose number is
//          in the high bits of their ID; the client's own ID is below it.
// Timing   AR and AW: latency 2, one per clock, registers, also their ready signals. W: passed through
//          in the same clock, from the third clock after its AW was taken, and not waiting for
//          awready; a client that holds back its data holds up the write data of all. R and B:
//          passed through. Their ready signals follow those of the other side in the same clock.
// Numbers  bits, unchanged. An ID at the port is {client, IdW bits of the client's ID}.
// Source   AMBA AXI and ACE protocol specification.
`include "jd_assert.svh"
module jd_axi_mux
  import jd_axi_pkg::*;
#(
  parameter int unsigned Clients = 2,   // 1..16
  parameter int unsigned IdW     = 0    // bits of a client's ID, 0..4; its other bits are 0
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  axi_req_t [Clients-1:0] client_req_i,
  output axi_rsp_t [Clients-1:0] client_rsp_o,
  output axi_req_t               mem_req_o,
  input  axi_rsp_t               mem_rsp_i
);
  if (Clients < 1 || Clients > 16 || IdW > 4) begin : gen_bad_parameters
    $fatal(1, "jd_axi_mux: Clients=%0d, want 1..16, IdW=%0d, want 0..4", Clients, IdW);
  end
  localparam int unsigned ClientW = (Clients > 1) ? $clog2(Clients) : 1;
  localparam logic [7:0]  OWN_ID  = (8'd1 << IdW) - 8'd1;    // the client's bits
  typedef struct packed {
    logic [39:0] address;
    logic [7:0]  len;
    logic [7:0]  id;
  } request_t;

  // A register before each arbiter: what a client is told does not depend on the others' requests.
  request_t [Clients-1:0] ar_held, aw_held;
  request_t               ar_request, aw_request;
  logic [ClientW-1:0]     ar_client, aw_client, w_client, r_client, b_client;
  logic [Clients-1:0]     ar_valid, ar_ready, ar_free, aw_offered, aw_ready, aw_free;
  for (genvar c = 0; c < Clients; c++) begin : gen_client
    request_t ar, aw;
    assign ar = '{client_req_i[c].read.araddr, client_req_i[c].read.arlen,
                  client_req_i[c].read.arid};
    assign aw = '{client_req_i[c].write.awaddr, client_req_i[c].write.awlen,
                  client_req_i[c].write.awid};
    jd_stream_skid #(.Width($bits(request_t))) u_ar (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .clear_i     (1'b0),
      .in_valid_i  (client_req_i[c].read.arvalid),
      .in_ready_o  (ar_free[c]),
      .in_data_i   (ar),
      .out_valid_o (ar_valid[c]),
      .out_ready_i (ar_ready[c]),
      .out_data_o  (ar_held[c])
    );
    jd_stream_skid #(.Width($bits(request_t))) u_aw (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .clear_i     (1'b0),
      .in_valid_i  (client_req_i[c].write.awvalid),
      .in_ready_o  (aw_free[c]),
      .in_data_i   (aw),
      .out_valid_o (aw_offered[c]),
      .out_ready_i (aw_ready[c]),
      .out_data_o  (aw_held[c])
    );
    `JD_ASSUME_IF(ReadId_M, client_req_i[c].read.arvalid,
                  (client_req_i[c].read.arid & ~OWN_ID) == '0)
    `JD_ASSUME_IF(WriteId_M, client_req_i[c].write.awvalid,
                  (client_req_i[c].write.awid & ~OWN_ID) == '0)
  end

  // Reads.
  logic arvalid;
  jd_stream_arbiter #(.Streams(Clients), .Width($bits(request_t))) u_ar (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (ar_valid),
    .in_ready_o  (ar_ready),
    .in_data_i   (ar_held),
    .out_valid_o (arvalid),
    .out_ready_i (mem_rsp_i.read.arready),
    .out_data_o  (ar_request),
    .out_index_o (ar_client)
  );
  assign r_client = ClientW'(mem_rsp_i.read.rid >> IdW);

  // Writes: a granted request goes to the port and into the order in which data are passed on; it
  // leaves the arbiter when both have it.
  logic aw_valid, aw_taken, awvalid, order_valid, order_ready, w_valid;
  jd_stream_arbiter #(.Streams(Clients), .Width($bits(request_t))) u_aw (
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
    .out_valid_o ({order_valid, awvalid}),
    .out_ready_i ({order_ready, mem_rsp_i.write.awready})
  );
  jd_stream_skid #(.Width(ClientW)) u_order (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .clear_i     (1'b0),
    .in_valid_i  (order_valid),
    .in_ready_o  (order_ready),
    .in_data_i   (aw_client),
    .out_valid_o (w_valid),
    .out_ready_i (mem_req_o.write.wvalid && mem_rsp_i.write.wready && mem_req_o.write.wlast),
    .out_data_o  (w_client)
  );
  assign b_client = ClientW'(mem_rsp_i.write.bid >> IdW);

  // What is chosen by different numbers stays apart: W follows neither RID nor BID.
  typedef struct packed {
    logic         valid;
    logic [511:0] data;
    logic [63:0]  strb;
    logic         last;
  } beat_t;
  beat_t [Clients-1:0] beats;
  logic  [Clients-1:0] r_ready, b_ready;
  assign mem_req_o.read = '{
    arvalid: arvalid, araddr: ar_request.address, arlen: ar_request.len,
    arid: ar_request.id & OWN_ID | 8'(ar_client) << IdW,
    rready: r_ready[r_client]};
  assign mem_req_o.write = '{
    awvalid: awvalid, awaddr: aw_request.address, awlen: aw_request.len,
    awid: aw_request.id & OWN_ID | 8'(aw_client) << IdW,
    wvalid: w_valid && beats[w_client].valid, wdata: beats[w_client].data,
    wstrb: beats[w_client].strb, wlast: beats[w_client].last, bready: b_ready[b_client]};
  for (genvar c = 0; c < Clients; c++) begin : gen_response
    assign r_ready[c] = client_req_i[c].read.rready;
    assign b_ready[c] = client_req_i[c].write.bready;
    assign beats[c]   = '{
      valid: client_req_i[c].write.wvalid, data: client_req_i[c].write.wdata,
      strb: client_req_i[c].write.wstrb, last: client_req_i[c].write.wlast};
    assign client_rsp_o[c].read = '{
      arready: ar_free[c], rvalid: mem_rsp_i.read.rvalid && r_client == ClientW'(c),
      rdata: mem_rsp_i.read.rdata, rresp: mem_rsp_i.read.rresp, rlast: mem_rsp_i.read.rlast,
      rid: mem_rsp_i.read.rid & OWN_ID};
    assign client_rsp_o[c].write = '{
      awready: aw_free[c], wready: w_valid && mem_rsp_i.write.wready && w_client == ClientW'(c),
      bvalid: mem_rsp_i.write.bvalid && b_client == ClientW'(c), bresp: mem_rsp_i.write.bresp,
      bid: mem_rsp_i.write.bid & OWN_ID};
  end

  `JD_ASSUME_STREAM(DataStable_M, mem_rsp_i.read.rvalid, mem_req_o.read.rready,
                    {mem_rsp_i.read.rdata, mem_rsp_i.read.rresp, mem_rsp_i.read.rlast,
                     mem_rsp_i.read.rid})
  `JD_ASSUME_STREAM(ResponseStable_M, mem_rsp_i.write.bvalid, mem_req_o.write.bready,
                    {mem_rsp_i.write.bresp, mem_rsp_i.write.bid})
  `JD_ASSUME_IF(DataToClient_M, mem_rsp_i.read.rvalid, 32'(mem_rsp_i.read.rid) >> IdW < Clients)
  `JD_ASSUME_IF(ResponseToClient_M, mem_rsp_i.write.bvalid,
                32'(mem_rsp_i.write.bid) >> IdW < Clients)
  `JD_ASSERT_STREAM(ReadStable_A, mem_req_o.read.arvalid, mem_rsp_i.read.arready,
                    {mem_req_o.read.araddr, mem_req_o.read.arlen, mem_req_o.read.arid})
  `JD_ASSERT_STREAM(WriteStable_A, mem_req_o.write.awvalid, mem_rsp_i.write.awready,
                    {mem_req_o.write.awaddr, mem_req_o.write.awlen, mem_req_o.write.awid})
  `JD_ASSERT_STREAM(WriteDataStable_A, mem_req_o.write.wvalid, mem_rsp_i.write.wready,
                    {mem_req_o.write.wdata, mem_req_o.write.wstrb, mem_req_o.write.wlast})
endmodule : jd_axi_mux
