// SPDX-License-Identifier: Apache-2.0
//
// What every engine is built in: rings and records, register access, and one memory port that the
// engine's blocks share. An engine adds its register block and its work.
//
// Streams  s_axil_*: the page. m_axi_*: the memory port. job: a descriptor that the engine takes and
//          then owes an end. register_*: accesses to the engine's own words, from 0x100.
//          memory_*: the engine's clients of the port, in turn, a whole burst each.
// Timing   a client's AR and AW are at the port two clocks later; R, W and B pass through. At most
//          16 reads and 16 writes are out. A client takes R at once and has the data of a burst when
//          it asks for it: jd_axi_prompt checks that at the port.
// Numbers  IDs at the port are the client's number from 1 on, 0 for rings and records.
// Source   docs/interfaces.md, the engine's frame.
`include "jd_assert.svh"
module jd_engine_frame
  import jd_axi_pkg::*;
#(
  parameter  logic [31:0]   Id       = '0,
  parameter  logic [31:0]   Version  = '0,
  parameter  logic [1023:0] IdleOnly = '0,   // bit i: word i of the page is written only while idle
  parameter  int unsigned   Rings    = 1,    // 1..4
  parameter  int unsigned   Jobs     = 1,    // of a ring side by side, power of two 1..16
  parameter  int unsigned   Beats    = 1,    // of a descriptor, power of two 1..4; 1 if Jobs is
  parameter  int unsigned   Clients  = 1,    // of the memory port, 1..7
  localparam int unsigned   JobW     = Jobs > 1 ? $clog2(Jobs) : 1,
  localparam int unsigned   DescriptorW = 512 * Beats
) (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  output logic         irq_o,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [11:0]  s_axil_awaddr_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  output logic [1:0]   s_axil_bresp_o,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  input  logic [11:0]  s_axil_araddr_i,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,
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
  input  logic [3:0]   m_axi_bid_i,
  output register_request_t       register_request_o,
  input  register_response_t      register_response_i,
  input  axi_request_t  [Clients-1:0] memory_request_i,
  output axi_response_t [Clients-1:0] memory_response_o,
  // Jobs and their ends, as in jd_engine_control
  output logic [Rings-1:0]        job_valid_o,
  input  logic [Rings-1:0]        job_ready_i,
  output logic [Rings-1:0][DescriptorW-1:0] job_descriptor_o,
  output logic [Rings-1:0][31:0]  job_number_o,
  input  logic [Rings-1:0]        end_valid_i,
  output logic [Rings-1:0]        end_ready_o,
  input  logic [Rings-1:0][JobW-1:0] end_job_i,
  input  logic [Rings-1:0][7:0]   end_error_i,
  input  logic [Rings-1:0][15:0]  end_detail_i,
  input  logic [Rings-1:0][31:0]  end_count_i,
  input  logic [Rings-1:0][31:0]  end_info0_i,
  input  logic [Rings-1:0][31:0]  end_info1_i,
  output logic [Rings-1:0]        timeout_o,
  // Status
  output logic                    soft_reset_o,
  input  logic                    quiet_i,
  input  logic                    error_valid_i,
  input  logic [7:0]              error_code_i,
  input  logic                    event_i,
  input  logic                    busy_i,
  input  logic                    stall_mem_i,
  input  logic                    stall_in_i,
  input  logic                    stall_out_i,
  input  logic                    progress_i,
  output logic                    idle_o
);
  localparam int unsigned All = Clients + 1;        // of the port: rings and records are 0
  localparam int unsigned IdW = 1 + $clog2(All);    // of the multiplexer: below the number one bit
  if (Clients < 1 || Clients > 7) begin : gen_bad_clients
    $fatal(1, "jd_engine_frame: Clients=%0d, want 1..7", Clients);
  end

  // ---- The page
  axi_request_t  [All-1:0] request;
  axi_response_t [All-1:0] response;
  assign request[All-1:1]  = memory_request_i;
  assign memory_response_o = response[All-1:1];

  jd_engine_page #(
    .Id       (Id),
    .Version  (Version),
    .IdleOnly (IdleOnly),
    .Rings    (Rings),
    .Jobs     (Jobs),
    .Beats    (Beats)
  ) u_page (
    .clk_i, .rst_ni, .time_i, .irq_o,
    .s_axil_awvalid_i, .s_axil_awready_o, .s_axil_awaddr_i, .s_axil_wvalid_i, .s_axil_wready_o,
    .s_axil_wdata_i, .s_axil_wstrb_i, .s_axil_bvalid_o, .s_axil_bready_i, .s_axil_bresp_o,
    .s_axil_arvalid_i, .s_axil_arready_o, .s_axil_araddr_i, .s_axil_rvalid_o, .s_axil_rready_i,
    .s_axil_rdata_o, .s_axil_rresp_o,
    .register_request_o, .register_response_i,
    .memory_request_o  (request[0]),
    .memory_response_i (response[0]),
    .rd_beat_i         (m_axi_rvalid_i && m_axi_rready_o),
    .wr_beat_i         (m_axi_wvalid_o && m_axi_wready_i),
    .job_valid_o, .job_ready_i, .job_descriptor_o, .job_number_o, .end_valid_i, .end_ready_o,
    .end_job_i, .end_error_i, .end_detail_i, .end_count_i, .end_info0_i, .end_info1_i, .timeout_o,
    .soft_reset_o, .quiet_i, .error_valid_i, .error_code_i, .event_i, .busy_i, .stall_mem_i,
    .stall_in_i, .stall_out_i, .progress_i, .idle_o
  );

  // ---- The memory port: bundles into arrays, client c in element c
  logic [All-1:0] c_arvalid;
  logic [All-1:0] c_arready;
  logic [All-1:0][39:0] c_araddr;
  logic [All-1:0][7:0] c_arlen;
  logic [All-1:0] c_rvalid;
  logic [All-1:0] c_rready;
  logic [All-1:0][511:0] c_rdata;
  logic [All-1:0][1:0] c_rresp;
  logic [All-1:0] c_rlast;
  logic [All-1:0] c_awvalid;
  logic [All-1:0] c_awready;
  logic [All-1:0][39:0] c_awaddr;
  logic [All-1:0][7:0] c_awlen;
  logic [All-1:0] c_wvalid;
  logic [All-1:0] c_wready;
  logic [All-1:0][511:0] c_wdata;
  logic [All-1:0][63:0] c_wstrb;
  logic [All-1:0] c_wlast;
  logic [All-1:0] c_bvalid;
  logic [All-1:0] c_bready;
  logic [All-1:0][1:0] c_bresp;
  for (genvar c = 0; c < All; c++) begin : gen_client
    assign c_arvalid[c] = request[c].read.arvalid;
    assign response[c].read.arready = c_arready[c];
    assign c_araddr[c] = request[c].read.araddr;
    assign c_arlen[c] = request[c].read.arlen;
    assign response[c].read.rvalid = c_rvalid[c];
    assign c_rready[c] = request[c].read.rready;
    assign response[c].read.rdata = c_rdata[c];
    assign response[c].read.rresp = c_rresp[c];
    assign response[c].read.rlast = c_rlast[c];
    assign c_awvalid[c] = request[c].write.awvalid;
    assign response[c].write.awready = c_awready[c];
    assign c_awaddr[c] = request[c].write.awaddr;
    assign c_awlen[c] = request[c].write.awlen;
    assign c_wvalid[c] = request[c].write.wvalid;
    assign response[c].write.wready = c_wready[c];
    assign c_wdata[c] = request[c].write.wdata;
    assign c_wstrb[c] = request[c].write.wstrb;
    assign c_wlast[c] = request[c].write.wlast;
    assign response[c].write.bvalid = c_bvalid[c];
    assign c_bready[c] = request[c].write.bready;
    assign response[c].write.bresp = c_bresp[c];
  end

  logic arvalid, arready, awvalid, awready;
  jd_axi_limit u_limit (
    .clk_i,
    .rst_ni,
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

  logic [IdW-1:0] arid, awid;
  logic [All-1:0] client_rid, client_bid;
  assign m_axi_arid_o = 4'(arid[IdW-1:1]);
  assign m_axi_awid_o = 4'(awid[IdW-1:1]);

  jd_axi_mux #(
    .Clients (All),
    .IdW     (1)
  ) u_mux (
    .clk_i,
    .rst_ni,
    .s_axi_arvalid_i (c_arvalid),
    .s_axi_arready_o (c_arready),
    .s_axi_araddr_i (c_araddr),
    .s_axi_arlen_i (c_arlen),
    .s_axi_arid_i ('0),
    .s_axi_rvalid_o (c_rvalid),
    .s_axi_rready_i (c_rready),
    .s_axi_rdata_o (c_rdata),
    .s_axi_rresp_o (c_rresp),
    .s_axi_rlast_o (c_rlast),
    .s_axi_rid_o (client_rid),
    .s_axi_awvalid_i (c_awvalid),
    .s_axi_awready_o (c_awready),
    .s_axi_awaddr_i (c_awaddr),
    .s_axi_awlen_i (c_awlen),
    .s_axi_awid_i ('0),
    .s_axi_wvalid_i (c_wvalid),
    .s_axi_wready_o (c_wready),
    .s_axi_wdata_i (c_wdata),
    .s_axi_wstrb_i (c_wstrb),
    .s_axi_wlast_i (c_wlast),
    .s_axi_bvalid_o (c_bvalid),
    .s_axi_bready_i (c_bready),
    .s_axi_bresp_o (c_bresp),
    .s_axi_bid_o (client_bid),
    .m_axi_arvalid_o (arvalid),
    .m_axi_arready_i (arready),
    .m_axi_araddr_o,
    .m_axi_arlen_o,
    .m_axi_arid_o (arid),
    .m_axi_rvalid_i,
    .m_axi_rready_o,
    .m_axi_rdata_i,
    .m_axi_rresp_i,
    .m_axi_rlast_i,
    .m_axi_rid_i ({m_axi_rid_i[IdW-2:0], 1'b0}),
    .m_axi_awvalid_o (awvalid),
    .m_axi_awready_i (awready),
    .m_axi_awaddr_o,
    .m_axi_awlen_o,
    .m_axi_awid_o (awid),
    .m_axi_wvalid_o,
    .m_axi_wready_i,
    .m_axi_wdata_o,
    .m_axi_wstrb_o,
    .m_axi_wlast_o,
    .m_axi_bvalid_i,
    .m_axi_bready_o,
    .m_axi_bresp_i,
    .m_axi_bid_i ({m_axi_bid_i[IdW-2:0], 1'b0})
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

  logic unused_id;                                  // a client's own bit is 0, its data in order
  assign unused_id = ^{client_rid, client_bid, arid[0], awid[0], m_axi_rid_i[3:IdW-1],
                       m_axi_bid_i[3:IdW-1]};

  logic [4:0] reads_q, writes_q;                    // out, for the checks
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reads_q  <= '0;
      writes_q <= '0;
    end else begin
      reads_q  <= reads_q + 5'(m_axi_arvalid_o && m_axi_arready_i)
                  - 5'(m_axi_rvalid_i && m_axi_rready_o && m_axi_rlast_i);
      writes_q <= writes_q + 5'(m_axi_awvalid_o && m_axi_awready_i)
                  - 5'(m_axi_bvalid_i && m_axi_bready_o);
    end
  end
  `JD_ASSUME_IF(ReadOwed_M, m_axi_rvalid_i, reads_q != '0)
  `JD_ASSUME_IF(WriteOwed_M, m_axi_bvalid_i, writes_q != '0)
  `JD_ASSERT_NEXT(QuietReset_A, soft_reset_o && quiet_i,
                  soft_reset_o || (reads_q == '0 && writes_q == '0))
  `JD_ASSUME_IF(ReadId_M, m_axi_rvalid_i, m_axi_rid_i < 4'(All))
  `JD_ASSUME_IF(WriteId_M, m_axi_bvalid_i, m_axi_bid_i < 4'(All))
endmodule : jd_engine_frame
