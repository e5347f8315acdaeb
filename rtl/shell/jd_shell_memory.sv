// SPDX-License-Identifier: Apache-2.0
//
// Connects the engines' memory ports, its clients, to the device's ports by a table. It adds the
// AXI4 signals that are constant here: 64-byte beats, INCR, normal access.
//
// Streams  client_*: client c in element c, on memory port PortOf[c]. m_axi_*: the device's ports.
// Timing   that of jd_axi_mux: round robin, whole bursts; addresses two clocks later. At the
//          device's ports RREADY and BREADY are registers, so one more beat or response is taken
//          while the client waits. W depends on the clients' W in the same clock. No other output
//          depends on any input in the same clock.
// Numbers  a client's ID has 4 bits; its number goes above it.
// Source   docs/shell.md, memory.
module jd_shell_memory
  import jd_axi_pkg::*;
#(
  parameter  int unsigned             Clients  = 2,    // 1..16
  parameter  int unsigned             MemPorts = 1,    // 1..16
  parameter  logic [Clients-1:0][3:0] PortOf   = '0,   // memory port of each client
  localparam int unsigned             IdW      = 4,
  localparam int unsigned             PortIdW  = IdW + $clog2(Clients)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  axi_req_t [Clients-1:0]    client_req_i,
  output axi_rsp_t [Clients-1:0]    client_rsp_o,
  output logic                      m_axi_arvalid_o [MemPorts],
  input  logic                      m_axi_arready_i [MemPorts],
  output logic [PortIdW-1:0]        m_axi_arid_o    [MemPorts],
  output logic [39:0]               m_axi_araddr_o  [MemPorts],
  output logic [7:0]                m_axi_arlen_o   [MemPorts],
  output logic [2:0]                m_axi_arsize_o  [MemPorts],
  output logic [1:0]                m_axi_arburst_o [MemPorts],
  output logic                      m_axi_arlock_o  [MemPorts],
  output logic [3:0]                m_axi_arcache_o [MemPorts],
  output logic [2:0]                m_axi_arprot_o  [MemPorts],
  input  logic                      m_axi_rvalid_i  [MemPorts],
  output logic                      m_axi_rready_o  [MemPorts],
  input  logic [PortIdW-1:0]        m_axi_rid_i     [MemPorts],
  input  logic [511:0]              m_axi_rdata_i   [MemPorts],
  input  logic [1:0]                m_axi_rresp_i   [MemPorts],
  input  logic                      m_axi_rlast_i   [MemPorts],
  output logic                      m_axi_awvalid_o [MemPorts],
  input  logic                      m_axi_awready_i [MemPorts],
  output logic [PortIdW-1:0]        m_axi_awid_o    [MemPorts],
  output logic [39:0]               m_axi_awaddr_o  [MemPorts],
  output logic [7:0]                m_axi_awlen_o   [MemPorts],
  output logic [2:0]                m_axi_awsize_o  [MemPorts],
  output logic [1:0]                m_axi_awburst_o [MemPorts],
  output logic                      m_axi_awlock_o  [MemPorts],
  output logic [3:0]                m_axi_awcache_o [MemPorts],
  output logic [2:0]                m_axi_awprot_o  [MemPorts],
  output logic                      m_axi_wvalid_o  [MemPorts],
  input  logic                      m_axi_wready_i  [MemPorts],
  output logic [511:0]              m_axi_wdata_o   [MemPorts],
  output logic [63:0]               m_axi_wstrb_o   [MemPorts],
  output logic                      m_axi_wlast_o   [MemPorts],
  input  logic                      m_axi_bvalid_i  [MemPorts],
  output logic                      m_axi_bready_o  [MemPorts],
  input  logic [PortIdW-1:0]        m_axi_bid_i     [MemPorts],
  input  logic [1:0]                m_axi_bresp_i   [MemPorts]
);
  localparam logic [2:0] BYTES_64 = 3'd6;
  localparam logic [1:0] INCR = 2'b01;
  // Modifiable, not cached and not bufferable: B says that the memory has the data, and engines
  // order their accesses by it.
  localparam logic [3:0] NORMAL = 4'b0010;

  if (Clients < 1 || Clients > 16 || MemPorts < 1 || MemPorts > 16) begin : gen_bad_sizes
    $fatal(1, "jd_shell_memory: Clients=%0d, want 1..16, MemPorts=%0d, want 1..16", Clients,
           MemPorts);
  end
  for (genvar c = 0; c < Clients; c++) begin : gen_table
    if (32'(PortOf[c]) >= MemPorts) begin : gen_bad_port
      $fatal(1, "jd_shell_memory: PortOf[%0d]=%0d, want 0..%0d", c, PortOf[c], MemPorts - 1);
    end
  end

  for (genvar p = 0; p < MemPorts; p++) begin : gen_port
    assign m_axi_arsize_o[p]  = BYTES_64;
    assign m_axi_arburst_o[p] = INCR;
    assign m_axi_arlock_o[p]  = 1'b0;
    assign m_axi_arcache_o[p] = NORMAL;
    assign m_axi_arprot_o[p]  = '0;
    assign m_axi_awsize_o[p]  = BYTES_64;
    assign m_axi_awburst_o[p] = INCR;
    assign m_axi_awlock_o[p]  = 1'b0;
    assign m_axi_awcache_o[p] = NORMAL;
    assign m_axi_awprot_o[p]  = '0;

    axi_req_t [Clients-1:0] here_req;
    axi_rsp_t [Clients-1:0] here_rsp;
    axi_req_t               mux_req, port_req;
    axi_rsp_t               mux_rsp, port_rsp;
    for (genvar c = 0; c < Clients; c++) begin : gen_client
      if (32'(PortOf[c]) == p) begin : gen_here
        assign here_req[c]     = client_req_i[c];
        assign client_rsp_o[c] = here_rsp[c];
      end else begin : gen_elsewhere
        logic unused_rsp;
        assign here_req[c] = '0;
        assign unused_rsp  = ^here_rsp[c];
      end
    end
    jd_axi_mux #(
      .Clients(Clients),
      .IdW    (IdW)
    ) u_mux (
      .clk_i,
      .rst_ni,
      .client_req_i (here_req),
      .client_rsp_o (here_rsp),
      .mem_req_o    (mux_req),
      .mem_rsp_i    (mux_rsp)
    );
    // The multiplexer's requests are registers. Its RREADY and BREADY follow RID and BID, so they need
    // one here. W passes from the engine, where it follows no input of the port.
    jd_axi_slice #(
      .Forward  ('0),
      .Backward (5'b01001)
    ) u_slice (
      .clk_i,
      .rst_ni,
      .client_req_i (mux_req),
      .client_rsp_o (mux_rsp),
      .mem_req_o    (port_req),
      .mem_rsp_i    (port_rsp)
    );
    assign m_axi_arvalid_o[p] = port_req.read.arvalid;
    assign m_axi_arid_o[p]    = port_req.read.arid[PortIdW-1:0];
    assign m_axi_araddr_o[p]  = port_req.read.araddr;
    assign m_axi_arlen_o[p]   = port_req.read.arlen;
    assign m_axi_rready_o[p]  = port_req.read.rready;
    assign m_axi_awvalid_o[p] = port_req.write.awvalid;
    assign m_axi_awid_o[p]    = port_req.write.awid[PortIdW-1:0];
    assign m_axi_awaddr_o[p]  = port_req.write.awaddr;
    assign m_axi_awlen_o[p]   = port_req.write.awlen;
    assign m_axi_wvalid_o[p]  = port_req.write.wvalid;
    assign m_axi_wdata_o[p]   = port_req.write.wdata;
    assign m_axi_wstrb_o[p]   = port_req.write.wstrb;
    assign m_axi_wlast_o[p]   = port_req.write.wlast;
    assign m_axi_bready_o[p]  = port_req.write.bready;
    assign port_rsp.read = '{
      arready: m_axi_arready_i[p], rvalid: m_axi_rvalid_i[p], rdata: m_axi_rdata_i[p],
      rresp: m_axi_rresp_i[p], rlast: m_axi_rlast_i[p], rid: 8'(m_axi_rid_i[p])};
    assign port_rsp.write = '{
      awready: m_axi_awready_i[p], wready: m_axi_wready_i[p], bvalid: m_axi_bvalid_i[p],
      bresp: m_axi_bresp_i[p], bid: 8'(m_axi_bid_i[p])};
    logic unused_id;                                 // above those of the clients
    assign unused_id = ^{port_req.read.arid >> PortIdW, port_req.write.awid >> PortIdW};
  end
endmodule : jd_shell_memory
