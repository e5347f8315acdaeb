// SPDX-License-Identifier: Apache-2.0
//
// Takes the accesses of an AXI4-Lite port one at a time to a generated register block.
//
// Streams  s_axil_*: behind jd_engine_control, one access at a time; SLVERR is what the registers
//          report. request_o is one clock with an access; the registers answer a write in that
//          clock, a read in the next.
// Timing   a write is answered two clocks after it came, a read three. All outputs but awready,
//          wready and arready are registers.
// Numbers  bits, unchanged; a byte lane's strobe is put on its eight bits.
// Source   shell 1.
`include "jd_assert.svh"
module jd_engine_access (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        s_axil_awvalid_i,
  output logic        s_axil_awready_o,
  input  logic [11:2] s_axil_awaddr_i,  // words, as the registers are
  input  logic        s_axil_wvalid_i,
  output logic        s_axil_wready_o,
  input  logic [31:0] s_axil_wdata_i,
  input  logic [3:0]  s_axil_wstrb_i,
  output logic        s_axil_bvalid_o,
  input  logic        s_axil_bready_i,
  output logic [1:0]  s_axil_bresp_o,
  input  logic        s_axil_arvalid_i,
  output logic        s_axil_arready_o,
  input  logic [11:2] s_axil_araddr_i,
  output logic        s_axil_rvalid_o,
  input  logic        s_axil_rready_i,
  output logic [31:0] s_axil_rdata_o,
  output logic [1:0]  s_axil_rresp_o,
  // The registers (PeakRDL's interface without a bus).
  output logic        request_o,
  output logic        write_o,
  output logic [11:0] address_o,
  output logic [31:0] data_o,
  output logic [31:0] mask_o,           // bits that are written
  input  logic        read_done_i,
  input  logic        read_error_i,
  input  logic [31:0] read_data_i,
  input  logic        write_done_i,
  input  logic        write_error_i
);
  localparam logic [1:0] SLVERR = 2'b10;
  logic        begins, ends;
  logic        busy_q, write_error_q, read_error_q;
  logic [11:2] address_q;
  assign s_axil_awready_o = begins && !s_axil_arvalid_i;
  assign s_axil_wready_o  = begins && !s_axil_arvalid_i;
  assign s_axil_arready_o = !busy_q;
  assign s_axil_bresp_o   = write_error_q ? SLVERR : '0;
  assign s_axil_rresp_o   = read_error_q ? SLVERR : '0;
  assign address_o        = {address_q, 2'b00};
  assign begins = !busy_q && (s_axil_arvalid_i || (s_axil_awvalid_i && s_axil_wvalid_i));
  assign ends   = (s_axil_bvalid_o && s_axil_bready_i) || (s_axil_rvalid_o && s_axil_rready_i);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q          <= 1'b0;
      request_o       <= 1'b0;
      s_axil_bvalid_o <= 1'b0;
      s_axil_rvalid_o <= 1'b0;
    end else begin
      request_o       <= begins;
      busy_q          <= begins || (busy_q && !ends);
      s_axil_bvalid_o <= write_done_i || (s_axil_bvalid_o && !s_axil_bready_i);
      s_axil_rvalid_o <= read_done_i || (s_axil_rvalid_o && !s_axil_rready_i);
    end
    if (begins) begin
      write_o   <= !s_axil_arvalid_i;
      address_q <= s_axil_arvalid_i ? s_axil_araddr_i : s_axil_awaddr_i;
      data_o    <= s_axil_wdata_i;
      for (int unsigned lane = 0; lane < 4; lane++) begin
        mask_o[8*lane+:8] <= {8{s_axil_wstrb_i[lane]}};
      end
    end
    if (write_done_i) write_error_q <= write_error_i;
    if (read_done_i) begin
      read_error_q   <= read_error_i;
      s_axil_rdata_o <= read_data_i;
    end
  end

  `JD_ASSUME_IF(OneAccess_M, s_axil_arvalid_i, !s_axil_awvalid_i && !s_axil_wvalid_i)
  `JD_ASSUME_IF(OneAtATime_M, s_axil_arvalid_i || s_axil_awvalid_i || s_axil_wvalid_i, !busy_q)
  `JD_ASSUME_IF(WriteAnswers_M, request_o && write_o, write_done_i)
  `JD_ASSUME_NEXT(ReadAnswers_M, request_o && !write_o, read_done_i)
  `JD_ASSERT_STREAM(WriteAnswerStable_A, s_axil_bvalid_o, s_axil_bready_i, s_axil_bresp_o)
  `JD_ASSERT_STREAM(ReadAnswerStable_A, s_axil_rvalid_o, s_axil_rready_i,
                    {s_axil_rdata_o, s_axil_rresp_o})
  `JD_ASSERT_NEXT(RequestIsOneClock_A, request_o, !request_o)
endmodule : jd_engine_access
