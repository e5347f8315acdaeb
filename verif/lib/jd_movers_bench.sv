// SPDX-License-Identifier: Apache-2.0
//
// Test bench: for each client a read and a write mover, all behind one jd_axi_mux (Queue: queues in
// place of the movers, their contract checked at the port); or, Direct, one
// client without it, with Slice behind a jd_axi_slice, with Limit behind a jd_axi_limit; or, Frame,
// behind jd_engine_frame, whose page nobody uses. Ports of clients are unpacked arrays, so that
// agents find each by its index.
// The movers' ID is 0 and they check that of their responses; each client's is another at the
// multiplexer, which must bring it back.
module jd_movers_bench #(
  parameter  int unsigned Clients        = 2,
  parameter  int unsigned MaxOutstanding = 4,
  parameter  int unsigned IdW            = 1,
  parameter  bit          Direct         = 1'b0,   // one client, without the multiplexer
  parameter  bit          Slice          = 1'b0,   // Direct, behind a slice
  parameter  int unsigned Forward        = 31,     // of the slice
  parameter  int unsigned Backward       = 31,
  parameter  int unsigned Limit          = 0,      // Direct, at most so many reads and writes out
  parameter  bit          Frame          = 1'b0,   // after the frame; the clients have no IDs
  parameter  int unsigned Queue          = 0,      // beats of each queue
  parameter  int unsigned Burst          = 64,     // of a queue's writes
  localparam int unsigned PortIdW        = Frame ? 4 : IdW + $clog2(Clients)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic [Clients-1:0] read_idle_o,
  output logic [Clients-1:0] write_idle_o,
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
  output logic [PortIdW-1:0] m_axi_arid_o,
  input  logic               m_axi_rvalid_i,
  output logic               m_axi_rready_o,
  input  logic [511:0]       m_axi_rdata_i,
  input  logic [1:0]         m_axi_rresp_i,
  input  logic               m_axi_rlast_i,
  input  logic [PortIdW-1:0] m_axi_rid_i,
  output logic               m_axi_awvalid_o,
  input  logic               m_axi_awready_i,
  output logic [39:0]        m_axi_awaddr_o,
  output logic [7:0]         m_axi_awlen_o,
  output logic [PortIdW-1:0] m_axi_awid_o,
  output logic               m_axi_wvalid_o,
  input  logic               m_axi_wready_i,
  output logic [511:0]       m_axi_wdata_o,
  output logic [63:0]        m_axi_wstrb_o,
  output logic               m_axi_wlast_o,
  input  logic               m_axi_bvalid_i,
  output logic               m_axi_bready_o,
  input  logic [1:0]         m_axi_bresp_i,
  input  logic [PortIdW-1:0] m_axi_bid_i
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
    localparam logic [IdW-1:0] Id = Frame ? '0 : IdW'(c + 1);
    logic [IdW-1:0] mover_arid, mover_awid;
    assign arid[c] = mover_arid ^ Id;
    assign awid[c] = mover_awid ^ Id;
    if (Queue != 0) begin : gen_queues
      jd_axi_pkg::axi_request_t  request;
      jd_axi_pkg::axi_response_t response;
      logic unused_ids;
      assign unused_ids = ^{rid[c], bid[c]};
      assign mover_arid = '0;
      assign mover_awid = '0;
      assign {arvalid[c], araddr[c], arlen[c], rready[c]} = request.read;
      assign {awvalid[c], awaddr[c], awlen[c], wvalid[c], wdata[c], wstrb[c], wlast[c], bready[c]}
          = request.write;
      assign response.read  = '{arready[c], rvalid[c], rdata[c], rresp[c], rlast[c]};
      assign response.write = '{awready[c], wready[c], bvalid[c], bresp[c]};
      jd_axi_read_queue #(.Depth(Queue), .MaxOutstanding(MaxOutstanding)) u_read (
        .clk_i             (clk_i),
        .rst_ni            (rst_ni),
        .idle_o            (read_idle_o[c]),
        .cmd_valid_i       (read_valid_i[c]),
        .cmd_ready_o       (read_ready_o[c]),
        .cmd_address_i     (read_address_i[c]),
        .cmd_beats_i       (read_beats_i[c]),
        .out_valid_o       (out_valid_o[c]),
        .out_ready_i       (out_ready_i[c]),
        .out_data_o        (out_data_o[c]),
        .out_last_o        (out_last_o[c]),
        .out_resp_o        (out_resp_o[c]),
        .memory_request_o  (request.read),
        .memory_response_i (response.read)
      );
      jd_axi_write_queue #(
        .Burst(Burst), .Depth(Queue), .MaxOutstanding(MaxOutstanding)
      ) u_write (
        .clk_i             (clk_i),
        .rst_ni            (rst_ni),
        .idle_o            (write_idle_o[c]),
        .cmd_valid_i       (write_valid_i[c]),
        .cmd_ready_o       (write_ready_o[c]),
        .cmd_address_i     (write_address_i[c]),
        .cmd_beats_i       (write_beats_i[c]),
        .in_valid_i        (in_valid_i[c]),
        .in_ready_o        (in_ready_o[c]),
        .in_data_i         (in_data_i[c]),
        .in_strb_i         (in_strb_i[c]),
        .done_valid_o      (done_valid_o[c]),
        .done_ready_i      (done_ready_i[c]),
        .done_resp_o       (done_resp_o[c]),
        .memory_request_o  (request.write),
        .memory_response_i (response.write)
      );
    end else begin : gen_movers
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
  end
  if (Queue != 0 && !Frame) begin : gen_prompt
    jd_axi_prompt u_prompt (
      .clk_i, .rst_ni,
      .rvalid_i  (m_axi_rvalid_i),
      .rready_i  (m_axi_rready_o),
      .awvalid_i (m_axi_awvalid_o),
      .awready_i (m_axi_awready_i),
      .wvalid_i  (m_axi_wvalid_o),
      .wready_i  (m_axi_wready_i),
      .wlast_i   (m_axi_wlast_o)
    );
  end
  if (Direct && Slice) begin : gen_slice
    jd_axi_slice #(.IdW(IdW), .Forward(5'(Forward)), .Backward(5'(Backward))) u_slice (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .s_axi_arvalid_i (arvalid),
      .s_axi_arready_o (arready),
      .s_axi_araddr_i  (araddr),
      .s_axi_arlen_i   (arlen),
      .s_axi_arid_i    (arid),
      .s_axi_rvalid_o  (rvalid),
      .s_axi_rready_i  (rready),
      .s_axi_rdata_o   (rdata),
      .s_axi_rresp_o   (rresp),
      .s_axi_rlast_o   (rlast),
      .s_axi_rid_o     (rid),
      .s_axi_awvalid_i (awvalid),
      .s_axi_awready_o (awready),
      .s_axi_awaddr_i  (awaddr),
      .s_axi_awlen_i   (awlen),
      .s_axi_awid_i    (awid),
      .s_axi_wvalid_i  (wvalid),
      .s_axi_wready_o  (wready),
      .s_axi_wdata_i   (wdata),
      .s_axi_wstrb_i   (wstrb),
      .s_axi_wlast_i   (wlast),
      .s_axi_bvalid_o  (bvalid),
      .s_axi_bready_i  (bready),
      .s_axi_bresp_o   (bresp),
      .s_axi_bid_o     (bid),
      .m_axi_arvalid_o (m_axi_arvalid_o),
      .m_axi_arready_i (m_axi_arready_i),
      .m_axi_araddr_o  (m_axi_araddr_o),
      .m_axi_arlen_o   (m_axi_arlen_o),
      .m_axi_arid_o    (m_axi_arid_o),
      .m_axi_rvalid_i  (m_axi_rvalid_i),
      .m_axi_rready_o  (m_axi_rready_o),
      .m_axi_rdata_i   (m_axi_rdata_i),
      .m_axi_rresp_i   (m_axi_rresp_i),
      .m_axi_rlast_i   (m_axi_rlast_i),
      .m_axi_rid_i     (m_axi_rid_i),
      .m_axi_awvalid_o (m_axi_awvalid_o),
      .m_axi_awready_i (m_axi_awready_i),
      .m_axi_awaddr_o  (m_axi_awaddr_o),
      .m_axi_awlen_o   (m_axi_awlen_o),
      .m_axi_awid_o    (m_axi_awid_o),
      .m_axi_wvalid_o  (m_axi_wvalid_o),
      .m_axi_wready_i  (m_axi_wready_i),
      .m_axi_wdata_o   (m_axi_wdata_o),
      .m_axi_wstrb_o   (m_axi_wstrb_o),
      .m_axi_wlast_o   (m_axi_wlast_o),
      .m_axi_bvalid_i  (m_axi_bvalid_i),
      .m_axi_bready_o  (m_axi_bready_o),
      .m_axi_bresp_i   (m_axi_bresp_i),
      .m_axi_bid_i     (m_axi_bid_i)
    );
  end else if (Direct) begin : gen_direct
    if (Limit != 0) begin : gen_limit
      jd_axi_limit #(.Reads(Limit), .Writes(Limit)) u_limit (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .s_axi_arvalid_i (arvalid),
        .s_axi_arready_o (arready),
        .s_axi_awvalid_i (awvalid),
        .s_axi_awready_o (awready),
        .m_axi_arvalid_o (m_axi_arvalid_o),
        .m_axi_arready_i (m_axi_arready_i),
        .m_axi_awvalid_o (m_axi_awvalid_o),
        .m_axi_awready_i (m_axi_awready_i),
        .read_end_i      (m_axi_rvalid_i && m_axi_rready_o && m_axi_rlast_i),
        .write_end_i     (m_axi_bvalid_i && m_axi_bready_o)
      );
    end else begin : gen_free
      assign m_axi_arvalid_o = arvalid;
      assign arready = m_axi_arready_i;
      assign m_axi_awvalid_o = awvalid;
      assign awready = m_axi_awready_i;
    end
    assign m_axi_araddr_o = araddr;
    assign m_axi_arlen_o = arlen;
    assign m_axi_arid_o = arid;
    assign rvalid = m_axi_rvalid_i;
    assign m_axi_rready_o = rready;
    assign rdata = m_axi_rdata_i;
    assign rresp = m_axi_rresp_i;
    assign rlast = m_axi_rlast_i;
    assign rid = m_axi_rid_i;
    assign m_axi_awaddr_o = awaddr;
    assign m_axi_awlen_o = awlen;
    assign m_axi_awid_o = awid;
    assign m_axi_wvalid_o = wvalid;
    assign wready = m_axi_wready_i;
    assign m_axi_wdata_o = wdata;
    assign m_axi_wstrb_o = wstrb;
    assign m_axi_wlast_o = wlast;
    assign bvalid = m_axi_bvalid_i;
    assign m_axi_bready_o = bready;
    assign bresp = m_axi_bresp_i;
    assign bid = m_axi_bid_i;
  end else if (Frame) begin : gen_frame
    jd_axi_pkg::axi_request_t  [Clients-1:0] request;
    jd_axi_pkg::axi_response_t [Clients-1:0] response;
    logic unused;
    assign unused = ^{arid, awid};
    for (genvar c = 0; c < Clients; c++) begin : gen_bundle
      assign request[c].read  = '{arvalid[c], araddr[c], arlen[c], rready[c]};
      assign request[c].write = '{awvalid[c], awaddr[c], awlen[c], wvalid[c], wdata[c], wstrb[c],
                                  wlast[c], bready[c]};
      assign {arready[c], rvalid[c], rdata[c], rresp[c], rlast[c]} = response[c].read;
      assign {awready[c], wready[c], bvalid[c], bresp[c]} = response[c].write;
    end
    assign rid = '0;
    assign bid = '0;
    // verilator lint_off PINCONNECTEMPTY
    jd_engine_frame #(.Clients(Clients)) u_frame (
      .clk_i               (clk_i),
      .rst_ni              (rst_ni),
      .time_i              ('0),
      .irq_o               (),
      .s_axil_awvalid_i    ('0),
      .s_axil_awready_o    (),
      .s_axil_awaddr_i     ('0),
      .s_axil_wvalid_i     ('0),
      .s_axil_wready_o     (),
      .s_axil_wdata_i      ('0),
      .s_axil_wstrb_i      ('0),
      .s_axil_bvalid_o     (),
      .s_axil_bready_i     (1'b1),
      .s_axil_bresp_o      (),
      .s_axil_arvalid_i    ('0),
      .s_axil_arready_o    (),
      .s_axil_araddr_i     ('0),
      .s_axil_rvalid_o     (),
      .s_axil_rready_i     (1'b1),
      .s_axil_rdata_o      (),
      .s_axil_rresp_o      (),
      .m_axi_arvalid_o     (m_axi_arvalid_o),
      .m_axi_arready_i     (m_axi_arready_i),
      .m_axi_araddr_o      (m_axi_araddr_o),
      .m_axi_arlen_o       (m_axi_arlen_o),
      .m_axi_arid_o        (m_axi_arid_o),
      .m_axi_rvalid_i      (m_axi_rvalid_i),
      .m_axi_rready_o      (m_axi_rready_o),
      .m_axi_rdata_i       (m_axi_rdata_i),
      .m_axi_rresp_i       (m_axi_rresp_i),
      .m_axi_rlast_i       (m_axi_rlast_i),
      .m_axi_rid_i         (m_axi_rid_i),
      .m_axi_awvalid_o     (m_axi_awvalid_o),
      .m_axi_awready_i     (m_axi_awready_i),
      .m_axi_awaddr_o      (m_axi_awaddr_o),
      .m_axi_awlen_o       (m_axi_awlen_o),
      .m_axi_awid_o        (m_axi_awid_o),
      .m_axi_wvalid_o      (m_axi_wvalid_o),
      .m_axi_wready_i      (m_axi_wready_i),
      .m_axi_wdata_o       (m_axi_wdata_o),
      .m_axi_wstrb_o       (m_axi_wstrb_o),
      .m_axi_wlast_o       (m_axi_wlast_o),
      .m_axi_bvalid_i      (m_axi_bvalid_i),
      .m_axi_bready_o      (m_axi_bready_o),
      .m_axi_bresp_i       (m_axi_bresp_i),
      .m_axi_bid_i         (m_axi_bid_i),
      .register_request_o  (),
      .register_response_i ('0),
      .memory_request_i    (request),
      .memory_response_o   (response),
      .job_valid_o         (),
      .job_ready_i         ('0),
      .job_descriptor_o    (),
      .job_number_o        (),
      .end_valid_i         ('0),
      .end_ready_o         (),
      .end_job_i           ('0),
      .end_error_i         ('0),
      .end_detail_i        ('0),
      .end_count_i         ('0),
      .end_info0_i         ('0),
      .end_info1_i         ('0),
      .timeout_o           (),
      .soft_reset_o        (),
      .quiet_i             (1'b1),
      .error_valid_i       ('0),
      .error_code_i        ('0),
      .event_i             ('0),
      .busy_i              ('0),
      .stall_mem_i         ('0),
      .stall_in_i          ('0),
      .stall_out_i         ('0),
      .progress_i          ('0),
      .idle_o              ()
    );
    // verilator lint_on PINCONNECTEMPTY
  end else begin : gen_mux
    jd_axi_mux #(.Clients(Clients), .IdW(IdW)) u_mux (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .s_axi_arvalid_i (arvalid),
      .s_axi_arready_o (arready),
      .s_axi_araddr_i  (araddr),
      .s_axi_arlen_i   (arlen),
      .s_axi_arid_i    (arid),
      .s_axi_rvalid_o  (rvalid),
      .s_axi_rready_i  (rready),
      .s_axi_rdata_o   (rdata),
      .s_axi_rresp_o   (rresp),
      .s_axi_rlast_o   (rlast),
      .s_axi_rid_o     (rid),
      .s_axi_awvalid_i (awvalid),
      .s_axi_awready_o (awready),
      .s_axi_awaddr_i  (awaddr),
      .s_axi_awlen_i   (awlen),
      .s_axi_awid_i    (awid),
      .s_axi_wvalid_i  (wvalid),
      .s_axi_wready_o  (wready),
      .s_axi_wdata_i   (wdata),
      .s_axi_wstrb_i   (wstrb),
      .s_axi_wlast_i   (wlast),
      .s_axi_bvalid_o  (bvalid),
      .s_axi_bready_i  (bready),
      .s_axi_bresp_o   (bresp),
      .s_axi_bid_o     (bid),
      .m_axi_arvalid_o (m_axi_arvalid_o),
      .m_axi_arready_i (m_axi_arready_i),
      .m_axi_araddr_o  (m_axi_araddr_o),
      .m_axi_arlen_o   (m_axi_arlen_o),
      .m_axi_arid_o    (m_axi_arid_o),
      .m_axi_rvalid_i  (m_axi_rvalid_i),
      .m_axi_rready_o  (m_axi_rready_o),
      .m_axi_rdata_i   (m_axi_rdata_i),
      .m_axi_rresp_i   (m_axi_rresp_i),
      .m_axi_rlast_i   (m_axi_rlast_i),
      .m_axi_rid_i     (m_axi_rid_i),
      .m_axi_awvalid_o (m_axi_awvalid_o),
      .m_axi_awready_i (m_axi_awready_i),
      .m_axi_awaddr_o  (m_axi_awaddr_o),
      .m_axi_awlen_o   (m_axi_awlen_o),
      .m_axi_awid_o    (m_axi_awid_o),
      .m_axi_wvalid_o  (m_axi_wvalid_o),
      .m_axi_wready_i  (m_axi_wready_i),
      .m_axi_wdata_o   (m_axi_wdata_o),
      .m_axi_wstrb_o   (m_axi_wstrb_o),
      .m_axi_wlast_o   (m_axi_wlast_o),
      .m_axi_bvalid_i  (m_axi_bvalid_i),
      .m_axi_bready_o  (m_axi_bready_o),
      .m_axi_bresp_i   (m_axi_bresp_i),
      .m_axi_bid_i     (m_axi_bid_i)
    );
  end
endmodule : jd_movers_bench
