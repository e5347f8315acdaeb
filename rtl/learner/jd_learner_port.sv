// SPDX-License-Identifier: Apache-2.0
//
// The learner's two clients of its memory port: movers of reads and of writes, and a reader of lists.
//
// Streams  read_*, write_*, list_*: commands (address, beats of 64 bytes) and data, in order of the
//          commands; write_done_*: the response of a write command. mover_*, list_*: the clients.
//          A mover is idle when nothing of it is under way.
// Timing   registers between commands and movers, read data and their reader, write data and their
//          writer; write data at most every second clock. Else as jd_axi_read_mover, _write_mover.
// Numbers  bits, unchanged.
// Source   design of this project; AMBA AXI and ACE protocol specification.
`include "jd_assert.svh"
module jd_learner_port
  import jd_axi_pkg::*;
(
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
  output axi_request_t       mover_request_o,
  input  axi_response_t      mover_response_i,
  output axi_read_request_t  list_request_o,
  input  axi_read_response_t list_response_i
);
  logic [2:0] unused_id;
  logic       unused;
  assign unused = ^unused_id;

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
    .m_axi_arvalid_o (mover_request_o.read.arvalid),
    .m_axi_arready_i (mover_response_i.read.arready),
    .m_axi_araddr_o  (mover_request_o.read.araddr),
    .m_axi_arlen_o   (mover_request_o.read.arlen),
    .m_axi_arid_o    (unused_id[0]),
    .m_axi_rvalid_i  (mover_response_i.read.rvalid),
    .m_axi_rready_o  (mover_request_o.read.rready),
    .m_axi_rdata_i   (mover_response_i.read.rdata),
    .m_axi_rresp_i   (mover_response_i.read.rresp),
    .m_axi_rlast_i   (mover_response_i.read.rlast),
    .m_axi_rid_i     ('0)
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
    .m_axi_arvalid_o (list_request_o.arvalid),
    .m_axi_arready_i (list_response_i.arready),
    .m_axi_araddr_o  (list_request_o.araddr),
    .m_axi_arlen_o   (list_request_o.arlen),
    .m_axi_arid_o    (unused_id[1]),
    .m_axi_rvalid_i  (list_response_i.rvalid),
    .m_axi_rready_o  (list_request_o.rready),
    .m_axi_rdata_i   (list_response_i.rdata),
    .m_axi_rresp_i   (list_response_i.rresp),
    .m_axi_rlast_i   (list_response_i.rlast),
    .m_axi_rid_i     ('0)
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
    .m_axi_awvalid_o (mover_request_o.write.awvalid),
    .m_axi_awready_i (mover_response_i.write.awready),
    .m_axi_awaddr_o  (mover_request_o.write.awaddr),
    .m_axi_awlen_o   (mover_request_o.write.awlen),
    .m_axi_awid_o    (unused_id[2]),
    .m_axi_wvalid_o  (mover_request_o.write.wvalid),
    .m_axi_wready_i  (mover_response_i.write.wready),
    .m_axi_wdata_o   (mover_request_o.write.wdata),
    .m_axi_wstrb_o   (mover_request_o.write.wstrb),
    .m_axi_wlast_o   (mover_request_o.write.wlast),
    .m_axi_bvalid_i  (mover_response_i.write.bvalid),
    .m_axi_bready_o  (mover_request_o.write.bready),
    .m_axi_bresp_i   (mover_response_i.write.bresp),
    .m_axi_bid_i     ('0)
  );
  `JD_ASSERT_NEXT(NothingWhenIdle_A, read_idle_o && !read_cmd_valid_i, !read_valid_o)
endmodule : jd_learner_port
