// SPDX-License-Identifier: Apache-2.0
//
// The learner's way to its memory port: a mover of reads, a mover of writes and a reader of lists,
// beside the shared control, whose bursts pass unchanged.
//
// Streams  read_*, write_*, list_*: commands (address, beats of 64 bytes) and data, in order of the
//          commands; write_done_*: the response of a write command. control_*: AXI4 of the control,
//          without IDs. m_axi_*: the port. A mover is idle when nothing of it is under way.
// Timing   registers between commands and movers, read data and their reader, write data and their
//          writer; write data at most every second clock. Else as jd_axi_read_mover, _write_mover,
//          _mux.
// Numbers  bits, unchanged.
// Source   design of this project; AMBA AXI and ACE protocol specification.
`include "jd_assert.svh"
module jd_learner_port (
  input  logic         clk_i,
  input  logic         rst_ni,
  output logic         read_idle_o,
  output logic         list_idle_o,
  output logic         write_idle_o,
  input  logic         read_cmd_valid_i,
  output logic         read_cmd_ready_o,
  input  logic [39:0]  read_cmd_address_i,
  input  logic [15:0]  read_cmd_beats_i,
  output logic         read_valid_o,
  input  logic         read_ready_i,
  output logic [511:0] read_data_o,
  output logic         read_last_o,
  output logic [1:0]   read_resp_o,
  input  logic         list_cmd_valid_i,
  output logic         list_cmd_ready_o,
  input  logic [39:0]  list_cmd_address_i,
  input  logic [15:0]  list_cmd_beats_i,
  output logic         list_valid_o,
  input  logic         list_ready_i,
  output logic [511:0] list_data_o,
  output logic [1:0]   list_resp_o,
  input  logic         write_cmd_valid_i,
  output logic         write_cmd_ready_o,
  input  logic [39:0]  write_cmd_address_i,
  input  logic [15:0]  write_cmd_beats_i,
  input  logic         write_valid_i,
  output logic         write_ready_o,
  input  logic [511:0] write_data_i,
  input  logic [63:0]  write_strb_i,
  output logic         write_done_valid_o,
  input  logic         write_done_ready_i,
  output logic [1:0]   write_done_resp_o,
  input  logic         control_arvalid_i,
  output logic         control_arready_o,
  input  logic [39:0]  control_araddr_i,
  input  logic [7:0]   control_arlen_i,
  output logic         control_rvalid_o,
  input  logic         control_rready_i,
  output logic [511:0] control_rdata_o,
  output logic [1:0]   control_rresp_o,
  output logic         control_rlast_o,
  input  logic         control_awvalid_i,
  output logic         control_awready_o,
  input  logic [39:0]  control_awaddr_i,
  input  logic [7:0]   control_awlen_i,
  input  logic         control_wvalid_i,
  output logic         control_wready_o,
  input  logic [511:0] control_wdata_i,
  input  logic [63:0]  control_wstrb_i,
  input  logic         control_wlast_i,
  output logic         control_bvalid_o,
  input  logic         control_bready_i,
  output logic [1:0]   control_bresp_o,
  output logic         m_axi_arvalid_o,
  input  logic         m_axi_arready_i,
  output logic [39:0]  m_axi_araddr_o,
  output logic [7:0]   m_axi_arlen_o,
  output logic [3:0]   m_axi_arid_o,
  input  logic         m_axi_rvalid_i,
  output logic         m_axi_rready_o,
  input  logic [511:0] m_axi_rdata_i,
  input  logic [1:0]   m_axi_rresp_i,
  input  logic         m_axi_rlast_i,
  input  logic [3:0]   m_axi_rid_i,
  output logic         m_axi_awvalid_o,
  input  logic         m_axi_awready_i,
  output logic [39:0]  m_axi_awaddr_o,
  output logic [7:0]   m_axi_awlen_o,
  output logic [3:0]   m_axi_awid_o,
  output logic         m_axi_wvalid_o,
  input  logic         m_axi_wready_i,
  output logic [511:0] m_axi_wdata_o,
  output logic [63:0]  m_axi_wstrb_o,
  output logic         m_axi_wlast_o,
  input  logic         m_axi_bvalid_i,
  output logic         m_axi_bready_o,
  input  logic [1:0]   m_axi_bresp_i,
  input  logic [3:0]   m_axi_bid_i
);
  localparam int unsigned CONTROL = 0;
  localparam int unsigned MOVERS  = 1;
  localparam int unsigned LISTS   = 2;
  localparam int unsigned CLIENTS = 3;

  logic [CLIENTS-1:0]        c_arvalid, c_arready, c_rvalid, c_rready, c_rlast;
  logic [CLIENTS-1:0][39:0]  c_araddr, c_awaddr;
  logic [CLIENTS-1:0][7:0]   c_arlen, c_awlen;
  logic [CLIENTS-1:0][0:0]   c_arid, c_rid, c_awid, c_bid;
  logic [CLIENTS-1:0][1:0]   c_rresp, c_bresp;
  logic [2:0]                port_arid, port_awid;    // the shell shares the port: 3 bits here
  logic [CLIENTS-1:0][511:0] c_rdata, c_wdata;
  logic [CLIENTS-1:0]        c_awvalid, c_awready, c_wvalid, c_wready, c_wlast, c_bvalid, c_bready;
  logic [CLIENTS-1:0][63:0]  c_wstrb;

  assign c_arvalid[CONTROL] = control_arvalid_i;
  assign c_araddr[CONTROL]  = control_araddr_i;
  assign c_arlen[CONTROL]   = control_arlen_i;
  assign c_arid[CONTROL]    = '0;
  assign c_rready[CONTROL]  = control_rready_i;
  assign c_awvalid[CONTROL] = control_awvalid_i;
  assign c_awaddr[CONTROL]  = control_awaddr_i;
  assign c_awlen[CONTROL]   = control_awlen_i;
  assign c_awid[CONTROL]    = '0;
  assign c_wvalid[CONTROL]  = control_wvalid_i;
  assign c_wdata[CONTROL]   = control_wdata_i;
  assign c_wstrb[CONTROL]   = control_wstrb_i;
  assign c_wlast[CONTROL]   = control_wlast_i;
  assign c_bready[CONTROL]  = control_bready_i;
  assign control_arready_o  = c_arready[CONTROL];
  assign control_rvalid_o   = c_rvalid[CONTROL];
  assign control_rdata_o    = c_rdata[CONTROL];
  assign control_rresp_o    = c_rresp[CONTROL];
  assign control_rlast_o    = c_rlast[CONTROL];
  assign control_awready_o  = c_awready[CONTROL];
  assign control_wready_o   = c_wready[CONTROL];
  assign control_bvalid_o   = c_bvalid[CONTROL];
  assign control_bresp_o    = c_bresp[CONTROL];
  assign c_awvalid[LISTS]   = 1'b0;
  assign c_awaddr[LISTS]    = '0;
  assign c_awlen[LISTS]     = '0;
  assign c_awid[LISTS]      = '0;
  assign c_wvalid[LISTS]    = 1'b0;
  assign c_wdata[LISTS]     = '0;
  assign c_wstrb[LISTS]     = '0;
  assign c_wlast[LISTS]     = 1'b0;
  assign c_bready[LISTS]    = 1'b1;

  // What the registers before and behind the movers offer: commands, and data as they come.
  logic         read_go, read_taken, write_go, write_taken;
  logic [39:0]  read_address, write_address;
  logic [15:0]  read_beats, write_beats;
  logic         data_valid, data_ready, data_last, wdata_valid, wdata_ready, unused_wdata;
  logic         unused_list_last, mover_read_idle, mover_write_idle;
  logic [511:0] data, wdata;
  logic [63:0]  wdata_strobes;
  logic [1:0]   data_resp;
  // Words that wait in a register are under way, too.
  assign read_idle_o  = mover_read_idle && !read_go && !read_valid_o;
  assign write_idle_o = mover_write_idle && !write_go;

  jd_stream_skid #(.Width (56)) u_read_command (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (read_cmd_valid_i),
    .in_ready_o  (read_cmd_ready_o),
    .in_data_i   ({read_cmd_beats_i, read_cmd_address_i}),
    .out_valid_o (read_go),
    .out_ready_i (read_taken),
    .out_data_o  ({read_beats, read_address})
  );
  jd_stream_skid #(.Width (56)) u_write_command (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (write_cmd_valid_i),
    .in_ready_o  (write_cmd_ready_o),
    .in_data_i   ({write_cmd_beats_i, write_cmd_address_i}),
    .out_valid_o (write_go),
    .out_ready_i (write_taken),
    .out_data_o  ({write_beats, write_address})
  );
  // Beats are gathered for longer than the two clocks that one passes here in.
  jd_stream_fifo #(.Width (576), .Depth (1)) u_write_data (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (write_valid_i),
    .in_ready_o  (write_ready_o),
    .in_data_i   ({write_strb_i, write_data_i}),
    .out_valid_o (wdata_valid),
    .out_ready_i (wdata_ready),
    .out_data_o  ({wdata_strobes, wdata}),
    .count_o     (unused_wdata)
  );
  jd_stream_skid #(.Width (515)) u_read_data (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (data_valid),
    .in_ready_o  (data_ready),
    .in_data_i   ({data_last, data_resp, data}),
    .out_valid_o (read_valid_o),
    .out_ready_i (read_ready_i),
    .out_data_o  ({read_last_o, read_resp_o, read_data_o})
  );

  jd_axi_read_mover #(.MaxOutstanding (16), .IdW (1)) u_read (
    .clk_i, .rst_ni,
    .idle_o          (mover_read_idle),
    .cmd_valid_i     (read_go),
    .cmd_ready_o     (read_taken),
    .cmd_address_i   (read_address),
    .cmd_beats_i     (read_beats),
    .out_valid_o     (data_valid),
    .out_ready_i     (data_ready),
    .out_data_o      (data),
    .out_last_o      (data_last),
    .out_resp_o      (data_resp),
    .m_axi_arvalid_o (c_arvalid[MOVERS]),
    .m_axi_arready_i (c_arready[MOVERS]),
    .m_axi_araddr_o  (c_araddr[MOVERS]),
    .m_axi_arlen_o   (c_arlen[MOVERS]),
    .m_axi_arid_o    (c_arid[MOVERS]),
    .m_axi_rvalid_i  (c_rvalid[MOVERS]),
    .m_axi_rready_o  (c_rready[MOVERS]),
    .m_axi_rdata_i   (c_rdata[MOVERS]),
    .m_axi_rresp_i   (c_rresp[MOVERS]),
    .m_axi_rlast_i   (c_rlast[MOVERS]),
    .m_axi_rid_i     (c_rid[MOVERS])
  );
  jd_axi_read_mover #(.MaxOutstanding (2), .IdW (1)) u_list (
    .clk_i, .rst_ni,
    .idle_o          (list_idle_o),
    .cmd_valid_i     (list_cmd_valid_i),
    .cmd_ready_o     (list_cmd_ready_o),
    .cmd_address_i   (list_cmd_address_i),
    .cmd_beats_i     (list_cmd_beats_i),
    .out_valid_o     (list_valid_o),
    .out_ready_i     (list_ready_i),
    .out_data_o      (list_data_o),
    .out_last_o      (unused_list_last),
    .out_resp_o      (list_resp_o),
    .m_axi_arvalid_o (c_arvalid[LISTS]),
    .m_axi_arready_i (c_arready[LISTS]),
    .m_axi_araddr_o  (c_araddr[LISTS]),
    .m_axi_arlen_o   (c_arlen[LISTS]),
    .m_axi_arid_o    (c_arid[LISTS]),
    .m_axi_rvalid_i  (c_rvalid[LISTS]),
    .m_axi_rready_o  (c_rready[LISTS]),
    .m_axi_rdata_i   (c_rdata[LISTS]),
    .m_axi_rresp_i   (c_rresp[LISTS]),
    .m_axi_rlast_i   (c_rlast[LISTS]),
    .m_axi_rid_i     (c_rid[LISTS])
  );
  jd_axi_write_mover #(.MaxOutstanding (16), .IdW (1)) u_write (
    .clk_i, .rst_ni,
    .idle_o          (mover_write_idle),
    .cmd_valid_i     (write_go),
    .cmd_ready_o     (write_taken),
    .cmd_address_i   (write_address),
    .cmd_beats_i     (write_beats),
    .in_valid_i      (wdata_valid),
    .in_ready_o      (wdata_ready),
    .in_data_i       (wdata),
    .in_strb_i       (wdata_strobes),
    .done_valid_o    (write_done_valid_o),
    .done_ready_i    (write_done_ready_i),
    .done_resp_o     (write_done_resp_o),
    .m_axi_awvalid_o (c_awvalid[MOVERS]),
    .m_axi_awready_i (c_awready[MOVERS]),
    .m_axi_awaddr_o  (c_awaddr[MOVERS]),
    .m_axi_awlen_o   (c_awlen[MOVERS]),
    .m_axi_awid_o    (c_awid[MOVERS]),
    .m_axi_wvalid_o  (c_wvalid[MOVERS]),
    .m_axi_wready_i  (c_wready[MOVERS]),
    .m_axi_wdata_o   (c_wdata[MOVERS]),
    .m_axi_wstrb_o   (c_wstrb[MOVERS]),
    .m_axi_wlast_o   (c_wlast[MOVERS]),
    .m_axi_bvalid_i  (c_bvalid[MOVERS]),
    .m_axi_bready_o  (c_bready[MOVERS]),
    .m_axi_bresp_i   (c_bresp[MOVERS]),
    .m_axi_bid_i     (c_bid[MOVERS])
  );
  jd_axi_mux #(.Clients (CLIENTS), .IdW (1)) u_mux (
    .clk_i, .rst_ni,
    .s_axi_arvalid_i (c_arvalid),
    .s_axi_arready_o (c_arready),
    .s_axi_araddr_i  (c_araddr),
    .s_axi_arlen_i   (c_arlen),
    .s_axi_arid_i    (c_arid),
    .s_axi_rvalid_o  (c_rvalid),
    .s_axi_rready_i  (c_rready),
    .s_axi_rdata_o   (c_rdata),
    .s_axi_rresp_o   (c_rresp),
    .s_axi_rlast_o   (c_rlast),
    .s_axi_rid_o     (c_rid),
    .s_axi_awvalid_i (c_awvalid),
    .s_axi_awready_o (c_awready),
    .s_axi_awaddr_i  (c_awaddr),
    .s_axi_awlen_i   (c_awlen),
    .s_axi_awid_i    (c_awid),
    .s_axi_wvalid_i  (c_wvalid),
    .s_axi_wready_o  (c_wready),
    .s_axi_wdata_i   (c_wdata),
    .s_axi_wstrb_i   (c_wstrb),
    .s_axi_wlast_i   (c_wlast),
    .s_axi_bvalid_o  (c_bvalid),
    .s_axi_bready_i  (c_bready),
    .s_axi_bresp_o   (c_bresp),
    .s_axi_bid_o     (c_bid),
    .m_axi_arvalid_o, .m_axi_arready_i, .m_axi_araddr_o, .m_axi_arlen_o,
    .m_axi_arid_o    (port_arid),
    .m_axi_rvalid_i, .m_axi_rready_o, .m_axi_rdata_i, .m_axi_rresp_i, .m_axi_rlast_i,
    .m_axi_rid_i     (m_axi_rid_i[2:0]),
    .m_axi_awvalid_o, .m_axi_awready_i, .m_axi_awaddr_o, .m_axi_awlen_o,
    .m_axi_awid_o    (port_awid),
    .m_axi_wvalid_o, .m_axi_wready_i, .m_axi_wdata_o, .m_axi_wstrb_o, .m_axi_wlast_o,
    .m_axi_bvalid_i, .m_axi_bready_o, .m_axi_bresp_i,
    .m_axi_bid_i     (m_axi_bid_i[2:0])
  );
  assign m_axi_arid_o = {1'b0, port_arid};
  assign m_axi_awid_o = {1'b0, port_awid};
  `JD_ASSERT_NEXT(NothingWhenIdle_A, read_idle_o && !read_cmd_valid_i, !read_valid_o)
endmodule : jd_learner_port
