// SPDX-License-Identifier: Apache-2.0
//
// The control bus of an engine's page: one access at a time, to the common header (0x000..0x0FF) or
// to the engine's own registers. A write to an idle-only word needs an idle engine.
//
// Streams  axil_*: AXI4-Lite in. engine_*: AXI4-Lite to the engine's registers, with offsets of the
//          page. header_*: high for one clock per access, answered in the next. The address, data
//          and strobes of a write (write_address_o, header_data_o, header_strb_o) are valid at
//          least one clock earlier.
// Timing   A header access is answered four clocks after the last of its address and data; writes
//          and reads alternate when both wait.
// Numbers  none.
// Source   docs/shell.md, address map.
`include "jd_assert.svh"
module jd_engine_bus
  import jd_axi_pkg::*;
#(
  parameter logic [1023:0] IdleOnly = '0   // bit i: word i of the page is written only while idle
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        idle_i,
  input  axil_req_t   axil_req_i,
  output axil_rsp_t   axil_rsp_o,
  output axil_req_t   engine_req_o,
  input  axil_rsp_t   engine_rsp_i,
  output logic [7:2]  write_address_o,
  output logic        header_valid_o,
  output logic        header_write_o,
  output logic [7:0]  header_address_o,
  output logic [31:0] header_data_o,
  output logic [3:0]  header_strb_o,
  input  logic        header_error_i,
  input  logic [31:0] header_data_i
);
  localparam logic [1:0] SLVERR = 2'b10;

  typedef enum logic [1:0] {
    StIdle,    // waits for an access
    StDecide,  // an access starts here
    StEngine,  // waits for the engine's registers, or two clocks for the header and its answer
    StAnswer   // waits for the master
  } state_e;

  state_e state_q, state_d;
  logic write_q;                          // the access is a write
  logic aw_held_q, w_held_q, ar_held_q;
  logic [11:0] aw_q, ar_q;
  logic [11:0] address_q;                 // of the access
  // A write goes first; after it a waiting read does, as no further write is held then.
  logic write_next;
  assign write_next = aw_held_q && w_held_q;
  logic [31:0] wdata_q, data_q;
  logic [3:0] wstrb_q;
  logic error_q;
  logic e_aw_q, e_w_q, e_ar_q;            // offered to the engine's registers

  logic is_header, denied, answered;      // is_header: address_q is in the common header
  logic header_valid_q, header_done_q;    // its clock, and the one after
  logic [11:0] next_address;
  assign next_address = write_next ? aw_q : ar_q;
  assign denied = write_q && !is_header && !idle_i && IdleOnly[address_q[11:2]];
  assign answered = is_header ? header_done_q
                    : write_q ? engine_rsp_i.bvalid : engine_rsp_i.rvalid;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if ((aw_held_q && w_held_q) || ar_held_q) state_d = StDecide;
      StDecide: state_d = denied ? StAnswer : StEngine;
      StEngine: if (answered) state_d = StAnswer;
      StAnswer: if (write_q ? axil_req_i.bready : axil_req_i.rready) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  assign axil_rsp_o = '{
    awready: !aw_held_q, wready: !w_held_q,
    bvalid: state_q == StAnswer && write_q, bresp: error_q ? SLVERR : '0,
    arready: !ar_held_q,
    rvalid: state_q == StAnswer && !write_q, rresp: error_q ? SLVERR : '0,
    rdata: error_q ? '0 : data_q};

  assign header_valid_o = header_valid_q;
  assign header_write_o = write_q;
  assign header_address_o = address_q[7:0];
  assign write_address_o = aw_q[7:2];
  assign header_data_o = wdata_q;
  assign header_strb_o = wstrb_q;

  assign engine_req_o = '{
    awvalid: e_aw_q, awaddr: 20'(aw_q), wvalid: e_w_q, wdata: wdata_q, wstrb: wstrb_q,
    bready: state_q == StEngine && write_q && !is_header,
    arvalid: e_ar_q, araddr: 20'(ar_q),
    rready: state_q == StEngine && !write_q && !is_header};
  logic unused_address;                   // the page is chosen
  assign unused_address = ^{axil_req_i.awaddr[19:12], axil_req_i.araddr[19:12]};

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      write_q <= 1'b0;
      aw_held_q <= 1'b0;
      w_held_q <= 1'b0;
      ar_held_q <= 1'b0;
      e_aw_q <= 1'b0;
      e_w_q <= 1'b0;
      e_ar_q <= 1'b0;
      header_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      header_valid_q <= state_q == StDecide && is_header;
      if (axil_req_i.awvalid) aw_held_q <= 1'b1;
      if (axil_req_i.wvalid) w_held_q <= 1'b1;
      if (axil_req_i.arvalid) ar_held_q <= 1'b1;
      if (state_q == StIdle) write_q <= write_next;
      if (state_q == StDecide && state_d == StEngine && !is_header) begin
        e_aw_q <= write_q;
        e_w_q <= write_q;
        e_ar_q <= !write_q;
      end else begin
        if (engine_rsp_i.awready) e_aw_q <= 1'b0;
        if (engine_rsp_i.wready) e_w_q <= 1'b0;
        if (engine_rsp_i.arready) e_ar_q <= 1'b0;
      end
      if (state_q == StAnswer && state_d == StIdle) begin
        if (write_q) begin
          aw_held_q <= 1'b0;
          w_held_q <= 1'b0;
        end else begin
          ar_held_q <= 1'b0;
        end
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (axil_req_i.awvalid && axil_rsp_o.awready) aw_q <= axil_req_i.awaddr[11:0];
    if (axil_req_i.arvalid && axil_rsp_o.arready) ar_q <= axil_req_i.araddr[11:0];
    if (axil_req_i.wvalid && axil_rsp_o.wready) begin
      wdata_q <= axil_req_i.wdata;
      wstrb_q <= axil_req_i.wstrb;
    end
    if (state_q == StIdle) begin
      address_q <= next_address;
      is_header <= next_address[11:8] == '0;
    end
    header_done_q <= header_valid_q;
    if (state_q == StDecide) error_q <= 1'b1;              // stays so if it is denied
    if (state_q == StEngine && answered) begin
      error_q <= is_header ? header_error_i :
                 write_q ? engine_rsp_i.bresp != '0 : engine_rsp_i.rresp != '0;
      data_q <= is_header ? header_data_i : engine_rsp_i.rdata;
    end
  end

  `JD_ASSERT_IF(AddressOfAccess_A, state_q != StIdle, address_q == (write_q ? aw_q : ar_q) &&
                is_header == (address_q[11:8] == '0))
  `JD_ASSUME_STREAM(WriteAddressStable_M, axil_req_i.awvalid, axil_rsp_o.awready, axil_req_i.awaddr)
  `JD_ASSUME_STREAM(WriteDataStable_M, axil_req_i.wvalid, axil_rsp_o.wready,
                    {axil_req_i.wdata, axil_req_i.wstrb})
  `JD_ASSUME_STREAM(ReadAddressStable_M, axil_req_i.arvalid, axil_rsp_o.arready, axil_req_i.araddr)
  `JD_ASSERT_STREAM(WriteAnswerStable_A, axil_rsp_o.bvalid, axil_req_i.bready, axil_rsp_o.bresp)
  `JD_ASSERT_STREAM(ReadAnswerStable_A, axil_rsp_o.rvalid, axil_req_i.rready,
                    {axil_rsp_o.rdata, axil_rsp_o.rresp})
  `JD_ASSUME_IF(EngineWriteAnswer_M, engine_rsp_i.bvalid,
                state_q == StEngine && write_q && !is_header)
  `JD_ASSUME_IF(EngineReadAnswer_M, engine_rsp_i.rvalid,
                state_q == StEngine && !write_q && !is_header)
endmodule : jd_engine_bus
