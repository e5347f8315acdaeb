// SPDX-License-Identifier: Apache-2.0
//
// Takes the accesses of an AXI4-Lite port, one at a time, to a generated register block.
//
// Streams  axil_*: from jd_engine_control, one access at a time; SLVERR passes on the registers'
//          error.
//          register_*: high for one clock with an access (PeakRDL's interface without a bus); the
//          registers answer a write in that clock, a read in the next.
// Timing   A write is answered two clocks after it came, a read three. All outputs but awready,
//          wready and arready are registers.
// Numbers  bits, unchanged; a byte lane's strobe is copied to its eight bits.
// Source   shell 1.
`include "jd_assert.svh"
module jd_engine_access
  import jd_axi_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  input  axil_req_t     axil_req_i,
  output axil_rsp_t     axil_rsp_o,
  output register_req_t register_req_o,
  input  register_rsp_t register_rsp_i
);
  localparam logic [1:0] SLVERR = 2'b10;
  logic        begins, ends;
  logic        busy_q, valid_q, write_q, bvalid_q, rvalid_q, write_error_q, read_error_q;
  logic [11:2] address_q;
  logic [31:0] data_q, mask_q, rdata_q;
  assign axil_rsp_o = '{
    awready: begins && !axil_req_i.arvalid, wready: begins && !axil_req_i.arvalid,
    bvalid: bvalid_q, bresp: write_error_q ? SLVERR : '0,
    arready: !busy_q, rvalid: rvalid_q, rdata: rdata_q, rresp: read_error_q ? SLVERR : '0};
  assign register_req_o = '{
    valid: valid_q, write: write_q, address: {address_q, 2'b00}, data: data_q, mask: mask_q};
  assign begins = !busy_q
                  && (axil_req_i.arvalid || (axil_req_i.awvalid && axil_req_i.wvalid));
  assign ends   = (bvalid_q && axil_req_i.bready) || (rvalid_q && axil_req_i.rready);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q   <= 1'b0;
      valid_q  <= 1'b0;
      bvalid_q <= 1'b0;
      rvalid_q <= 1'b0;
    end else begin
      valid_q  <= begins;
      busy_q   <= begins || (busy_q && !ends);
      bvalid_q <= register_rsp_i.write_done || (bvalid_q && !axil_req_i.bready);
      rvalid_q <= register_rsp_i.read_done || (rvalid_q && !axil_req_i.rready);
    end
    if (begins) begin
      write_q   <= !axil_req_i.arvalid;
      address_q <= axil_req_i.arvalid ? axil_req_i.araddr[11:2] : axil_req_i.awaddr[11:2];
      data_q    <= axil_req_i.wdata;
      for (int unsigned lane = 0; lane < 4; lane++) begin
        mask_q[8*lane+:8] <= {8{axil_req_i.wstrb[lane]}};
      end
    end
    if (register_rsp_i.write_done) write_error_q <= register_rsp_i.write_error;
    if (register_rsp_i.read_done) begin
      read_error_q <= register_rsp_i.read_error;
      rdata_q      <= register_rsp_i.read_data;
    end
  end
  logic unused_address;                 // words of a page, as the registers are
  assign unused_address = ^{axil_req_i.awaddr[19:12], axil_req_i.awaddr[1:0],
                            axil_req_i.araddr[19:12], axil_req_i.araddr[1:0]};

  `JD_ASSUME_IF(OneAccess_M, axil_req_i.arvalid, !axil_req_i.awvalid && !axil_req_i.wvalid)
  `JD_ASSUME_IF(OneAtATime_M, axil_req_i.arvalid || axil_req_i.awvalid || axil_req_i.wvalid,
                !busy_q)
  `JD_ASSUME_IF(WriteAnswers_M, valid_q && write_q, register_rsp_i.write_done)
  `JD_ASSUME_NEXT(ReadAnswers_M, valid_q && !write_q, register_rsp_i.read_done)
  `JD_ASSERT_STREAM(WriteAnswerStable_A, bvalid_q, axil_req_i.bready, axil_rsp_o.bresp)
  `JD_ASSERT_STREAM(ReadAnswerStable_A, rvalid_q, axil_req_i.rready,
                    {axil_rsp_o.rdata, axil_rsp_o.rresp})
  `JD_ASSERT_NEXT(RequestIsOneClock_A, valid_q, !valid_q)
endmodule : jd_engine_access
