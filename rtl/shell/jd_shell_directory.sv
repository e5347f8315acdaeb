// SPDX-License-Identifier: Apache-2.0
//
// Page 0 of the device: the list of engines in the build, TIME, and the interrupt.
//
// Streams  axil_*: AXI4-Lite, 12-bit offsets.
// Timing   time_o counts every clock from reset, beginning with TimeStart. irq_o is a level; it
//          follows irq_i by one register.
// Numbers  TIME is 64 bits.
// Source   docs/shell.md, directory; registers: jd_directory.rdl.
`include "jd_assert.svh"
module jd_shell_directory
  import jd_axi_pkg::*;
#(
  parameter int unsigned             Engines     = 1,            // 1..31
  parameter logic [Engines-1:0][31:0] EngineIds  = '0,           // engine 0 in the low bits
  parameter int unsigned             ClockHz     = 250_000_000,  // Hz
  parameter int unsigned             MemSizeLog2 = 20,           // 12..40
  parameter int unsigned             MemPorts    = 1,            // 1..16
  parameter logic [31:0]             BuildHash   = '0,
  parameter logic [63:0]             TimeStart   = '0            // TIME in reset; not 0 in tests
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  axil_req_t          axil_req_i,
  output axil_rsp_t          axil_rsp_o,
  input  logic [Engines-1:0] irq_i,           // engine n asks
  output logic [63:0]        time_o,
  output logic               irq_o
);
  if (Engines < 1 || Engines > 31 || MemSizeLog2 < 12 || MemSizeLog2 > 40) begin : gen_bad_sizes
    $fatal(1, "jd_shell_directory: Engines=%0d, want 1..31, MemSizeLog2=%0d, want 12..40", Engines,
           MemSizeLog2);
  end

  localparam logic [63:0] MEM_BYTES = 64'd1 << MemSizeLog2;

  jd_directory_regs_pkg::jd_directory__in_t from_hw;
  jd_directory_regs_pkg::jd_directory__out_t to_hw;

  jd_directory_regs u_registers (
    .clk            (clk_i),
    .rst_n          (rst_ni),
    .s_axil_awready (axil_rsp_o.awready),
    .s_axil_awvalid (axil_req_i.awvalid),
    .s_axil_awaddr  (axil_req_i.awaddr[11:0]),
    .s_axil_awprot  (3'd0),
    .s_axil_wready  (axil_rsp_o.wready),
    .s_axil_wvalid  (axil_req_i.wvalid),
    .s_axil_wdata   (axil_req_i.wdata),
    .s_axil_wstrb   (axil_req_i.wstrb),
    .s_axil_bready  (axil_req_i.bready),
    .s_axil_bvalid  (axil_rsp_o.bvalid),
    .s_axil_bresp   (axil_rsp_o.bresp),
    .s_axil_arready (axil_rsp_o.arready),
    .s_axil_arvalid (axil_req_i.arvalid),
    .s_axil_araddr  (axil_req_i.araddr[11:0]),
    .s_axil_arprot  (3'd0),
    .s_axil_rready  (axil_req_i.rready),
    .s_axil_rvalid  (axil_rsp_o.rvalid),
    .s_axil_rdata   (axil_rsp_o.rdata),
    .s_axil_rresp   (axil_rsp_o.rresp),
    .hwif_in        (from_hw),
    .hwif_out       (to_hw)
  );

  logic unused_address;                      // the page is chosen
  assign unused_address = ^{axil_req_i.awaddr[19:12], axil_req_i.araddr[19:12]};

  logic [Engines-1:0] pending_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) time_o <= TimeStart;
    else         time_o <= time_o + 64'd1;
    pending_q <= irq_i;
  end

  assign irq_o = (pending_q & to_hw.IRQ_ENABLE.value.value[Engines-1:0]) != '0;
  always_comb begin
    from_hw.BUILD.value.next = BuildHash;
    from_hw.N_ENGINE.value.next = Engines;
    from_hw.CLOCK_HZ.value.next = ClockHz;
    from_hw.MEM_SIZE_LO.value.next = MEM_BYTES[31:0];
    from_hw.MEM_SIZE_HI.value.next = MEM_BYTES[63:32];
    from_hw.MEM_PORTS.value.next = MemPorts;
    from_hw.IRQ_PENDING.value.next = 32'(pending_q);
    from_hw.TIME.value.next = time_o;
    for (int unsigned n = 0; n < 31; n++) from_hw.ENGINE[n].value.next = '0;
    for (int unsigned n = 0; n < Engines; n++) from_hw.ENGINE[n].value.next = EngineIds[n];
  end

  `JD_ASSERT_NEXT(IrqFollows_A, irq_i == '0, !irq_o)
endmodule : jd_shell_directory
