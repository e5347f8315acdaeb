// SPDX-License-Identifier: Apache-2.0
//
// A memory port of the a3c engine: up to two units, and three blocks that move little.
//
// Reads of the second unit go first: it trains, and trainings bound a pair's rate, while the first
// one only runs ahead. A read of the first unit waits for at most Patience of the second's, and
// those in the registers.
//
// Streams  unit_axi_*: the units; misc_axi_*: the blocks. m_axi_*: the port. unit_read_o,
//          unit_write_o: a beat of the units' or of block 2, the copy engine, moved.
// Timing   that of jd_axi_mux, for the blocks twice; unit_axi_arready_o[0] follows
//          unit_axi_arvalid_i[1] in the same clock. At most Reads reads and Writes writes are out.
//          Clients take R at once and have the data of a burst when they ask for it: jd_axi_prompt
//          checks that at the port.
// Numbers  an ID is {client, ID of the client}: a unit's bits 2:1, the block's number.
// Source   shell 2.
`include "jd_assert.svh"
module jd_a3c_port #(
  parameter int unsigned Reads    = 16,            // 1..31
  parameter int unsigned Writes   = 16,            // 1..31
  parameter int unsigned Patience = 15             // 1..15
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [1:0]        unit_axi_arvalid_i,
  output logic [1:0]        unit_axi_arready_o,
  input  logic [1:0][39:0]  unit_axi_araddr_i,
  input  logic [1:0][7:0]   unit_axi_arlen_i,
  input  logic [1:0][3:0]   unit_axi_arid_i,
  output logic [1:0]        unit_axi_rvalid_o,
  input  logic [1:0]        unit_axi_rready_i,
  output logic [1:0][511:0] unit_axi_rdata_o,
  output logic [1:0][1:0]   unit_axi_rresp_o,
  output logic [1:0]        unit_axi_rlast_o,
  output logic [1:0][3:0]   unit_axi_rid_o,
  input  logic [1:0]        unit_axi_awvalid_i,
  output logic [1:0]        unit_axi_awready_o,
  input  logic [1:0][39:0]  unit_axi_awaddr_i,
  input  logic [1:0][7:0]   unit_axi_awlen_i,
  input  logic [1:0][3:0]   unit_axi_awid_i,
  input  logic [1:0]        unit_axi_wvalid_i,
  output logic [1:0]        unit_axi_wready_o,
  input  logic [1:0][511:0] unit_axi_wdata_i,
  input  logic [1:0][63:0]  unit_axi_wstrb_i,
  input  logic [1:0]        unit_axi_wlast_i,
  output logic [1:0]        unit_axi_bvalid_o,
  input  logic [1:0]        unit_axi_bready_i,
  output logic [1:0][1:0]   unit_axi_bresp_o,
  output logic [1:0][3:0]   unit_axi_bid_o,
  input  logic [2:0]        misc_axi_arvalid_i,
  output logic [2:0]        misc_axi_arready_o,
  input  logic [2:0][39:0]  misc_axi_araddr_i,
  input  logic [2:0][7:0]   misc_axi_arlen_i,
  output logic [2:0]        misc_axi_rvalid_o,
  input  logic [2:0]        misc_axi_rready_i,
  output logic [2:0][511:0] misc_axi_rdata_o,
  output logic [2:0][1:0]   misc_axi_rresp_o,
  output logic [2:0]        misc_axi_rlast_o,
  input  logic [2:0]        misc_axi_awvalid_i,
  output logic [2:0]        misc_axi_awready_o,
  input  logic [2:0][39:0]  misc_axi_awaddr_i,
  input  logic [2:0][7:0]   misc_axi_awlen_i,
  input  logic [2:0]        misc_axi_wvalid_i,
  output logic [2:0]        misc_axi_wready_o,
  input  logic [2:0][511:0] misc_axi_wdata_i,
  input  logic [2:0][63:0]  misc_axi_wstrb_i,
  input  logic [2:0]        misc_axi_wlast_i,
  output logic [2:0]        misc_axi_bvalid_o,
  input  logic [2:0]        misc_axi_bready_i,
  output logic [2:0][1:0]   misc_axi_bresp_o,
  output logic              m_axi_arvalid_o,
  input  logic              m_axi_arready_i,
  output logic [39:0]       m_axi_araddr_o,
  output logic [7:0]        m_axi_arlen_o,
  output logic [3:0]        m_axi_arid_o,
  input  logic              m_axi_rvalid_i,
  output logic              m_axi_rready_o,
  input  logic [511:0]      m_axi_rdata_i,
  input  logic [1:0]        m_axi_rresp_i,
  input  logic              m_axi_rlast_i,
  input  logic [3:0]        m_axi_rid_i,
  output logic              m_axi_awvalid_o,
  input  logic              m_axi_awready_i,
  output logic [39:0]       m_axi_awaddr_o,
  output logic [7:0]        m_axi_awlen_o,
  output logic [3:0]        m_axi_awid_o,
  output logic              m_axi_wvalid_o,
  input  logic              m_axi_wready_i,
  output logic [511:0]      m_axi_wdata_o,
  output logic [63:0]       m_axi_wstrb_o,
  output logic              m_axi_wlast_o,
  input  logic              m_axi_bvalid_i,
  output logic              m_axi_bready_o,
  input  logic [1:0]        m_axi_bresp_i,
  input  logic [3:0]        m_axi_bid_i,
  output logic              unit_read_o,
  output logic              unit_write_o
);
  if (Reads < 1 || Reads > 31 || Writes < 1 || Writes > 31 || Patience < 1 || Patience > 15)
  begin : gen_bad_parameters
    $fatal(1, "jd_a3c_port: Reads=%0d, Writes=%0d, want 1..31, Patience=%0d, want 1..15", Reads,
           Writes, Patience);
  end
  // ---- The blocks, behind a multiplexer of their own: two bits of ID are enough for them all
  logic         s_arvalid, s_arready, s_rvalid, s_rready, s_rlast;
  logic         s_awvalid, s_awready, s_wvalid, s_wready, s_wlast, s_bvalid, s_bready;
  logic [39:0]  s_araddr, s_awaddr;
  logic [7:0]   s_arlen, s_awlen;
  logic [2:0]   s_arid, s_awid;
  logic [1:0]   s_rid, s_bid, s_rresp, s_bresp;
  logic [511:0] s_rdata, s_wdata;
  logic [63:0]  s_wstrb;
  jd_axi_mux #(.Clients (3), .IdW (1)) u_blocks (
    .clk_i, .rst_ni,
    .s_axi_arvalid_i (misc_axi_arvalid_i),
    .s_axi_arready_o (misc_axi_arready_o),
    .s_axi_araddr_i  (misc_axi_araddr_i),
    .s_axi_arlen_i   (misc_axi_arlen_i),
    .s_axi_arid_i    ('0),
    .s_axi_rvalid_o  (misc_axi_rvalid_o),
    .s_axi_rready_i  (misc_axi_rready_i),
    .s_axi_rdata_o   (misc_axi_rdata_o),
    .s_axi_rresp_o   (misc_axi_rresp_o),
    .s_axi_rlast_o   (misc_axi_rlast_o),
    .s_axi_rid_o     (),
    .s_axi_awvalid_i (misc_axi_awvalid_i),
    .s_axi_awready_o (misc_axi_awready_o),
    .s_axi_awaddr_i  (misc_axi_awaddr_i),
    .s_axi_awlen_i   (misc_axi_awlen_i),
    .s_axi_awid_i    ('0),
    .s_axi_wvalid_i  (misc_axi_wvalid_i),
    .s_axi_wready_o  (misc_axi_wready_o),
    .s_axi_wdata_i   (misc_axi_wdata_i),
    .s_axi_wstrb_i   (misc_axi_wstrb_i),
    .s_axi_wlast_i   (misc_axi_wlast_i),
    .s_axi_bvalid_o  (misc_axi_bvalid_o),
    .s_axi_bready_i  (misc_axi_bready_i),
    .s_axi_bresp_o   (misc_axi_bresp_o),
    .s_axi_bid_o     (),
    .m_axi_arvalid_o (s_arvalid),
    .m_axi_arready_i (s_arready),
    .m_axi_araddr_o  (s_araddr),
    .m_axi_arlen_o   (s_arlen),
    .m_axi_arid_o    (s_arid),
    .m_axi_rvalid_i  (s_rvalid),
    .m_axi_rready_o  (s_rready),
    .m_axi_rdata_i   (s_rdata),
    .m_axi_rresp_i   (s_rresp),
    .m_axi_rlast_i   (s_rlast),
    .m_axi_rid_i     ({s_rid, 1'b0}),
    .m_axi_awvalid_o (s_awvalid),
    .m_axi_awready_i (s_awready),
    .m_axi_awaddr_o  (s_awaddr),
    .m_axi_awlen_o   (s_awlen),
    .m_axi_awid_o    (s_awid),
    .m_axi_wvalid_o  (s_wvalid),
    .m_axi_wready_i  (s_wready),
    .m_axi_wdata_o   (s_wdata),
    .m_axi_wstrb_o   (s_wstrb),
    .m_axi_wlast_o   (s_wlast),
    .m_axi_bvalid_i  (s_bvalid),
    .m_axi_bready_o  (s_bready),
    .m_axi_bresp_i   (s_bresp),
    .m_axi_bid_i     ({s_bid, 1'b0})
  );

  logic         unused_id;
  assign unused_id = ^{s_arid[0], s_awid[0]};    // the blocks' own

  // ---- The port: client 0 the blocks, 1 and 2 the units
  logic [2:0][1:0]   arid, awid, rid, bid;
  logic [2:0][511:0] rdata;
  logic [2:0][1:0]   rresp, bresp;
  logic [2:0]        rlast;
  logic              arvalid, arready, awvalid, awready;
  assign arid = {unit_axi_arid_i[1][2:1], unit_axi_arid_i[0][2:1], s_arid[2:1]};
  assign awid = {unit_axi_awid_i[1][2:1], unit_axi_awid_i[0][2:1], s_awid[2:1]};
  for (genvar u = 0; u < 2; u++) begin : gen_unit
    assign unit_axi_rid_o[u]   = {1'b0, rid[1+u], 1'b0};
    assign unit_axi_bid_o[u]   = {1'b0, bid[1+u], 1'b0};
    assign unit_axi_rdata_o[u] = rdata[1+u];
    assign unit_axi_rresp_o[u] = rresp[1+u];
    assign unit_axi_rlast_o[u] = rlast[1+u];
    assign unit_axi_bresp_o[u] = bresp[1+u];
    `JD_ASSUME_IF(ReadId_M, unit_axi_arvalid_i[u],
                  !unit_axi_arid_i[u][3] && !unit_axi_arid_i[u][0])
    `JD_ASSUME_IF(WriteId_M, unit_axi_awvalid_i[u],
                  !unit_axi_awid_i[u][3] && !unit_axi_awid_i[u][0])
  end

  // Of the first unit a read is seen by the multiplexer in the clock in which it is taken.
  logic [1:0] unit_arvalid, unit_arready;
  logic [3:0] passed_q;                          // reads of the second unit before the first's
  logic       wait_for_second;
  assign wait_for_second = unit_axi_arvalid_i[1] && passed_q != 4'(Patience);
  assign unit_arvalid[0] = unit_axi_arvalid_i[0] && unit_arready[0] && !wait_for_second;
  assign unit_arvalid[1] = unit_axi_arvalid_i[1];
  assign unit_axi_arready_o[0] = unit_arready[0] && !wait_for_second;
  assign unit_axi_arready_o[1] = unit_arready[1];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !unit_axi_arvalid_i[0] || unit_axi_arready_o[0]) passed_q <= '0;
    else if (unit_arvalid[1] && unit_arready[1] && wait_for_second) passed_q <= passed_q + 4'd1;
  end
  assign s_rid   = rid[0];
  assign s_bid   = bid[0];
  assign s_rdata = rdata[0];
  assign s_rresp = rresp[0];
  assign s_rlast = rlast[0];
  assign s_bresp = bresp[0];
  jd_axi_mux #(.Clients (3), .IdW (2)) u_port (
    .clk_i, .rst_ni,
    .s_axi_arvalid_i ({unit_arvalid, s_arvalid}),
    .s_axi_arready_o ({unit_arready, s_arready}),
    .s_axi_araddr_i  ({unit_axi_araddr_i, s_araddr}),
    .s_axi_arlen_i   ({unit_axi_arlen_i, s_arlen}),
    .s_axi_arid_i    (arid),
    .s_axi_rvalid_o  ({unit_axi_rvalid_o, s_rvalid}),
    .s_axi_rready_i  ({unit_axi_rready_i, s_rready}),
    .s_axi_rdata_o   (rdata),
    .s_axi_rresp_o   (rresp),
    .s_axi_rlast_o   (rlast),
    .s_axi_rid_o     (rid),
    .s_axi_awvalid_i ({unit_axi_awvalid_i, s_awvalid}),
    .s_axi_awready_o ({unit_axi_awready_o, s_awready}),
    .s_axi_awaddr_i  ({unit_axi_awaddr_i, s_awaddr}),
    .s_axi_awlen_i   ({unit_axi_awlen_i, s_awlen}),
    .s_axi_awid_i    (awid),
    .s_axi_wvalid_i  ({unit_axi_wvalid_i, s_wvalid}),
    .s_axi_wready_o  ({unit_axi_wready_o, s_wready}),
    .s_axi_wdata_i   ({unit_axi_wdata_i, s_wdata}),
    .s_axi_wstrb_i   ({unit_axi_wstrb_i, s_wstrb}),
    .s_axi_wlast_i   ({unit_axi_wlast_i, s_wlast}),
    .s_axi_bvalid_o  ({unit_axi_bvalid_o, s_bvalid}),
    .s_axi_bready_i  ({unit_axi_bready_i, s_bready}),
    .s_axi_bresp_o   (bresp),
    .s_axi_bid_o     (bid),
    .m_axi_arvalid_o (arvalid),
    .m_axi_arready_i (arready),
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arid_o,
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_rlast_i,
    .m_axi_rid_i,
    .m_axi_awvalid_o (awvalid),
    .m_axi_awready_i (awready),
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awid_o,
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bresp_i,
    .m_axi_bid_i
  );

  jd_axi_limit #(.Reads (Reads), .Writes (Writes)) u_limit (
    .clk_i, .rst_ni,
    .s_axi_arvalid_i (arvalid),
    .s_axi_arready_o (arready),
    .s_axi_awvalid_i (awvalid),
    .s_axi_awready_o (awready),
    .m_axi_arvalid_o,
    .m_axi_arready_i,
    .m_axi_awvalid_o,
    .m_axi_awready_i,
    .read_end_i      (m_axi_rvalid_i && m_axi_rready_o && m_axi_rlast_i),
    .write_end_i     (m_axi_bvalid_i && m_axi_bready_o)
  );

  jd_axi_prompt u_prompt (
    .clk_i,
    .rst_ni,
    .rvalid_i  (m_axi_rvalid_i),
    .rready_i  (m_axi_rready_o),
    .awvalid_i (m_axi_awvalid_o),
    .awready_i (m_axi_awready_i),
    .wvalid_i  (m_axi_wvalid_o),
    .wready_i  (m_axi_wready_i),
    .wlast_i   (m_axi_wlast_o)
  );

  // ---- Beats of tasks
  assign unit_read_o  = |(unit_axi_rvalid_o & unit_axi_rready_i)
                        || (misc_axi_rvalid_o[2] && misc_axi_rready_i[2]);
  assign unit_write_o = |(unit_axi_wvalid_i & unit_axi_wready_o)
                        || (misc_axi_wvalid_i[2] && misc_axi_wready_o[2]);

  `JD_ASSUME_IF(ReadClient_M, m_axi_rvalid_i, m_axi_rid_i[3:2] != 2'd3)
  `JD_ASSUME_IF(WriteClient_M, m_axi_bvalid_i, m_axi_bid_i[3:2] != 2'd3)
endmodule : jd_a3c_port
