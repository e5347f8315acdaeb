// SPDX-License-Identifier: Apache-2.0
//
// Test bench: for each client of jd_a3c_port a read and a write mover. The ports are those of
// jd_movers_bench: clients 0 and 1 are the units, 2 to 4 the blocks. A unit's IDs are its own at the
// port, which must bring them back.
module jd_a3c_port_bench #(
  parameter  int unsigned MaxOutstanding = 16,
  parameter  int unsigned Limit          = 16,   // reads, and writes, of the port
  parameter  int unsigned Clients        = 5,    // no other number
  localparam int unsigned IdW            = 4
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic [Clients-1:0] read_idle_o,
  output logic [Clients-1:0] write_idle_o,
  output logic               unit_read_o,
  output logic               unit_write_o,
  input  logic               read_valid_i   [Clients],
  output logic               read_ready_o   [Clients],
  input  logic [39:0]        read_address_i [Clients],
  input  logic [15:0]        read_beats_i   [Clients],
  output logic               out_valid_o    [Clients],
  input  logic               out_ready_i    [Clients],
  output logic [511:0]       out_data_o     [Clients],
  output logic               out_last_o     [Clients],
  output logic [1:0]         out_resp_o     [Clients],
  input  logic               write_valid_i  [Clients],
  output logic               write_ready_o  [Clients],
  input  logic [39:0]        write_address_i[Clients],
  input  logic [15:0]        write_beats_i  [Clients],
  input  logic               in_valid_i     [Clients],
  output logic               in_ready_o     [Clients],
  input  logic [511:0]       in_data_i      [Clients],
  input  logic [63:0]        in_strb_i      [Clients],
  output logic               done_valid_o   [Clients],
  input  logic               done_ready_i   [Clients],
  output logic [1:0]         done_resp_o    [Clients],
  output logic               m_axi_arvalid_o,
  input  logic               m_axi_arready_i,
  output logic [39:0]        m_axi_araddr_o,
  output logic [7:0]         m_axi_arlen_o,
  output logic [IdW-1:0] m_axi_arid_o,
  input  logic               m_axi_rvalid_i,
  output logic               m_axi_rready_o,
  input  logic [511:0]       m_axi_rdata_i,
  input  logic [1:0]         m_axi_rresp_i,
  input  logic               m_axi_rlast_i,
  input  logic [IdW-1:0] m_axi_rid_i,
  output logic               m_axi_awvalid_o,
  input  logic               m_axi_awready_i,
  output logic [39:0]        m_axi_awaddr_o,
  output logic [7:0]         m_axi_awlen_o,
  output logic [IdW-1:0] m_axi_awid_o,
  output logic               m_axi_wvalid_o,
  input  logic               m_axi_wready_i,
  output logic [511:0]       m_axi_wdata_o,
  output logic [63:0]        m_axi_wstrb_o,
  output logic               m_axi_wlast_o,
  input  logic               m_axi_bvalid_i,
  output logic               m_axi_bready_o,
  input  logic [1:0]         m_axi_bresp_i,
  input  logic [IdW-1:0] m_axi_bid_i
);
  logic [Clients-1:0]          arvalid, arready, rvalid, rready, rlast, awvalid, awready;
  logic [Clients-1:0]          wvalid, wready, wlast, bvalid, bready;
  logic [Clients-1:0][39:0]    araddr, awaddr;
  logic [Clients-1:0][7:0]     arlen, awlen;
  logic [Clients-1:0][IdW-1:0] arid, rid, awid, bid;
  logic [Clients-1:0][511:0]   rdata, wdata;
  logic [Clients-1:0][63:0]    wstrb;
  logic [Clients-1:0][1:0]     rresp, bresp;
  for (genvar c = 0; c < Clients; c++) begin : gen_client
    localparam logic [IdW-1:0] Id = c < 2 ? IdW'(2 * (c + 1)) : '0;
    logic [IdW-1:0] mover_arid, mover_awid;
    assign arid[c] = mover_arid ^ Id;
    assign awid[c] = mover_awid ^ Id;
    jd_axi_read_mover #(.MaxOutstanding(MaxOutstanding), .IdW(IdW)) u_read (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .idle_o          (read_idle_o[c]),
      .cmd_valid_i     (read_valid_i[c]),
      .cmd_ready_o     (read_ready_o[c]),
      .cmd_address_i   (read_address_i[c]),
      .cmd_beats_i     (read_beats_i[c]),
      .out_valid_o     (out_valid_o[c]),
      .out_ready_i     (out_ready_i[c]),
      .out_data_o      (out_data_o[c]),
      .out_last_o      (out_last_o[c]),
      .out_resp_o      (out_resp_o[c]),
      .m_axi_arvalid_o (arvalid[c]),
      .m_axi_arready_i (arready[c]),
      .m_axi_araddr_o  (araddr[c]),
      .m_axi_arlen_o   (arlen[c]),
      .m_axi_arid_o    (mover_arid),
      .m_axi_rvalid_i  (rvalid[c]),
      .m_axi_rready_o  (rready[c]),
      .m_axi_rdata_i   (rdata[c]),
      .m_axi_rresp_i   (rresp[c]),
      .m_axi_rlast_i   (rlast[c]),
      .m_axi_rid_i     (rid[c] ^ Id)
    );
    jd_axi_write_mover #(.MaxOutstanding(MaxOutstanding), .IdW(IdW)) u_write (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .idle_o          (write_idle_o[c]),
      .cmd_valid_i     (write_valid_i[c]),
      .cmd_ready_o     (write_ready_o[c]),
      .cmd_address_i   (write_address_i[c]),
      .cmd_beats_i     (write_beats_i[c]),
      .in_valid_i      (in_valid_i[c]),
      .in_ready_o      (in_ready_o[c]),
      .in_data_i       (in_data_i[c]),
      .in_strb_i       (in_strb_i[c]),
      .done_valid_o    (done_valid_o[c]),
      .done_ready_i    (done_ready_i[c]),
      .done_resp_o     (done_resp_o[c]),
      .m_axi_awvalid_o (awvalid[c]),
      .m_axi_awready_i (awready[c]),
      .m_axi_awaddr_o  (awaddr[c]),
      .m_axi_awlen_o   (awlen[c]),
      .m_axi_awid_o    (mover_awid),
      .m_axi_wvalid_o  (wvalid[c]),
      .m_axi_wready_i  (wready[c]),
      .m_axi_wdata_o   (wdata[c]),
      .m_axi_wstrb_o   (wstrb[c]),
      .m_axi_wlast_o   (wlast[c]),
      .m_axi_bvalid_i  (bvalid[c]),
      .m_axi_bready_o  (bready[c]),
      .m_axi_bresp_i   (bresp[c]),
      .m_axi_bid_i     (bid[c] ^ Id)
    );
  end
  jd_a3c_port #(.Reads (Limit), .Writes (Limit)) u_port (
    .clk_i, .rst_ni,
    .unit_axi_arvalid_i (arvalid[1:0]),
    .misc_axi_arvalid_i (arvalid[4:2]),
    .unit_axi_araddr_i (araddr[1:0]),
    .misc_axi_araddr_i (araddr[4:2]),
    .unit_axi_arlen_i (arlen[1:0]),
    .misc_axi_arlen_i (arlen[4:2]),
    .unit_axi_rready_i (rready[1:0]),
    .misc_axi_rready_i (rready[4:2]),
    .unit_axi_awvalid_i (awvalid[1:0]),
    .misc_axi_awvalid_i (awvalid[4:2]),
    .unit_axi_awaddr_i (awaddr[1:0]),
    .misc_axi_awaddr_i (awaddr[4:2]),
    .unit_axi_awlen_i (awlen[1:0]),
    .misc_axi_awlen_i (awlen[4:2]),
    .unit_axi_wvalid_i (wvalid[1:0]),
    .misc_axi_wvalid_i (wvalid[4:2]),
    .unit_axi_wdata_i (wdata[1:0]),
    .misc_axi_wdata_i (wdata[4:2]),
    .unit_axi_wstrb_i (wstrb[1:0]),
    .misc_axi_wstrb_i (wstrb[4:2]),
    .unit_axi_wlast_i (wlast[1:0]),
    .misc_axi_wlast_i (wlast[4:2]),
    .unit_axi_bready_i (bready[1:0]),
    .misc_axi_bready_i (bready[4:2]),
    .unit_axi_arready_o (arready[1:0]),
    .misc_axi_arready_o (arready[4:2]),
    .unit_axi_rvalid_o (rvalid[1:0]),
    .misc_axi_rvalid_o (rvalid[4:2]),
    .unit_axi_rdata_o (rdata[1:0]),
    .misc_axi_rdata_o (rdata[4:2]),
    .unit_axi_rresp_o (rresp[1:0]),
    .misc_axi_rresp_o (rresp[4:2]),
    .unit_axi_rlast_o (rlast[1:0]),
    .misc_axi_rlast_o (rlast[4:2]),
    .unit_axi_awready_o (awready[1:0]),
    .misc_axi_awready_o (awready[4:2]),
    .unit_axi_wready_o (wready[1:0]),
    .misc_axi_wready_o (wready[4:2]),
    .unit_axi_bvalid_o (bvalid[1:0]),
    .misc_axi_bvalid_o (bvalid[4:2]),
    .unit_axi_bresp_o (bresp[1:0]),
    .misc_axi_bresp_o (bresp[4:2]),
    .unit_axi_arid_i (arid[1:0]),
    .unit_axi_awid_i (awid[1:0]),
    .unit_axi_rid_o (rid[1:0]),
    .unit_axi_bid_o (bid[1:0]),
    .m_axi_arvalid_o, .m_axi_arready_i, .m_axi_araddr_o, .m_axi_arlen_o, .m_axi_arid_o,
    .m_axi_rvalid_i, .m_axi_rready_o, .m_axi_rdata_i, .m_axi_rresp_i, .m_axi_rlast_i,
    .m_axi_rid_i, .m_axi_awvalid_o, .m_axi_awready_i, .m_axi_awaddr_o, .m_axi_awlen_o,
    .m_axi_awid_o, .m_axi_wvalid_o, .m_axi_wready_i, .m_axi_wdata_o, .m_axi_wstrb_o,
    .m_axi_wlast_o, .m_axi_bvalid_i, .m_axi_bready_o, .m_axi_bresp_i, .m_axi_bid_i,
    .unit_read_o, .unit_write_o
  );
  assign rid[4:2] = '0;
  assign bid[4:2] = '0;
  logic unused_id;
  assign unused_id = ^{arid[4:2], awid[4:2]};
endmodule : jd_a3c_port_bench
