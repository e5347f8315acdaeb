// SPDX-License-Identifier: Apache-2.0
//
// The control bus of an engine's page: one access at a time, to the common header (0x000..0x0FF) or
// to the engine's own registers, where a write to an idle-only word needs an idle engine.
//
// Streams  s_axil_*: AXI4-Lite in. e_axil_*: AXI4-Lite to the engine's registers, offsets of the
//          page. header_*: one clock an access, answered in the next; a write's address, data and
//          strobes are there (write_address_o, header_data_o, header_strb_o) a clock and more before.
// Timing   a header access is answered four clocks after its last address or data came; writes
//          and reads alternate when both wait.
// Numbers  none.
// Source   docs/shell.md, address map.
`include "jd_assert.svh"
module jd_engine_bus #(
  parameter logic [1023:0] IdleOnly = '0   // bit i: word i of the page is written only while idle
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        idle_i,
  input  logic        s_axil_awvalid_i,
  output logic        s_axil_awready_o,
  input  logic [11:0] s_axil_awaddr_i,
  input  logic        s_axil_wvalid_i,
  output logic        s_axil_wready_o,
  input  logic [31:0] s_axil_wdata_i,
  input  logic [3:0]  s_axil_wstrb_i,
  output logic        s_axil_bvalid_o,
  input  logic        s_axil_bready_i,
  output logic [1:0]  s_axil_bresp_o,
  input  logic        s_axil_arvalid_i,
  output logic        s_axil_arready_o,
  input  logic [11:0] s_axil_araddr_i,
  output logic        s_axil_rvalid_o,
  input  logic        s_axil_rready_i,
  output logic [31:0] s_axil_rdata_o,
  output logic [1:0]  s_axil_rresp_o,
  output logic        e_axil_awvalid_o,
  input  logic        e_axil_awready_i,
  output logic [11:0] e_axil_awaddr_o,
  output logic        e_axil_wvalid_o,
  input  logic        e_axil_wready_i,
  output logic [31:0] e_axil_wdata_o,
  output logic [3:0]  e_axil_wstrb_o,
  input  logic        e_axil_bvalid_i,
  output logic        e_axil_bready_o,
  input  logic [1:0]  e_axil_bresp_i,
  output logic        e_axil_arvalid_o,
  input  logic        e_axil_arready_i,
  output logic [11:0] e_axil_araddr_o,
  input  logic        e_axil_rvalid_i,
  output logic        e_axil_rready_o,
  input  logic [31:0] e_axil_rdata_i,
  input  logic [1:0]  e_axil_rresp_i,
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
  assign answered = is_header ? header_done_q : (write_q ? e_axil_bvalid_i : e_axil_rvalid_i);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if ((aw_held_q && w_held_q) || ar_held_q) state_d = StDecide;
      StDecide: state_d = denied ? StAnswer : StEngine;
      StEngine: if (answered) state_d = StAnswer;
      StAnswer: if (write_q ? s_axil_bready_i : s_axil_rready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end

  assign s_axil_awready_o = !aw_held_q;
  assign s_axil_wready_o = !w_held_q;
  assign s_axil_arready_o = !ar_held_q;
  assign s_axil_bvalid_o = state_q == StAnswer && write_q;
  assign s_axil_rvalid_o = state_q == StAnswer && !write_q;
  assign s_axil_bresp_o = error_q ? SLVERR : '0;
  assign s_axil_rresp_o = error_q ? SLVERR : '0;
  assign s_axil_rdata_o = error_q ? '0 : data_q;

  assign header_valid_o = header_valid_q;
  assign header_write_o = write_q;
  assign header_address_o = address_q[7:0];
  assign write_address_o = aw_q[7:2];
  assign header_data_o = wdata_q;
  assign header_strb_o = wstrb_q;

  assign e_axil_awvalid_o = e_aw_q;
  assign e_axil_awaddr_o = aw_q;
  assign e_axil_wvalid_o = e_w_q;
  assign e_axil_wdata_o = wdata_q;
  assign e_axil_wstrb_o = wstrb_q;
  assign e_axil_arvalid_o = e_ar_q;
  assign e_axil_araddr_o = ar_q;
  assign e_axil_bready_o = state_q == StEngine && write_q && !is_header;
  assign e_axil_rready_o = state_q == StEngine && !write_q && !is_header;

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
      if (s_axil_awvalid_i) aw_held_q <= 1'b1;
      if (s_axil_wvalid_i) w_held_q <= 1'b1;
      if (s_axil_arvalid_i) ar_held_q <= 1'b1;
      if (state_q == StIdle) write_q <= write_next;
      if (state_q == StDecide && state_d == StEngine && !is_header) begin
        e_aw_q <= write_q;
        e_w_q <= write_q;
        e_ar_q <= !write_q;
      end else begin
        if (e_axil_awready_i) e_aw_q <= 1'b0;
        if (e_axil_wready_i) e_w_q <= 1'b0;
        if (e_axil_arready_i) e_ar_q <= 1'b0;
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
    if (s_axil_awvalid_i && s_axil_awready_o) aw_q <= s_axil_awaddr_i;
    if (s_axil_arvalid_i && s_axil_arready_o) ar_q <= s_axil_araddr_i;
    if (s_axil_wvalid_i && s_axil_wready_o) begin
      wdata_q <= s_axil_wdata_i;
      wstrb_q <= s_axil_wstrb_i;
    end
    if (state_q == StIdle) begin
      address_q <= next_address;
      is_header <= next_address[11:8] == '0;
    end
    header_done_q <= header_valid_q;
    if (state_q == StDecide) error_q <= 1'b1;              // stays so if it is denied
    if (state_q == StEngine && answered) begin
      error_q <= is_header ? header_error_i :
                 write_q ? e_axil_bresp_i != '0 : e_axil_rresp_i != '0;
      data_q <= is_header ? header_data_i : e_axil_rdata_i;
    end
  end

  `JD_ASSERT_IF(AddressOfAccess_A, state_q != StIdle, address_q == (write_q ? aw_q : ar_q) &&
                is_header == (address_q[11:8] == '0))
  `JD_ASSUME_STREAM(WriteAddressStable_M, s_axil_awvalid_i, s_axil_awready_o, s_axil_awaddr_i)
  `JD_ASSUME_STREAM(WriteDataStable_M, s_axil_wvalid_i, s_axil_wready_o,
                    {s_axil_wdata_i, s_axil_wstrb_i})
  `JD_ASSUME_STREAM(ReadAddressStable_M, s_axil_arvalid_i, s_axil_arready_o, s_axil_araddr_i)
  `JD_ASSERT_STREAM(WriteAnswerStable_A, s_axil_bvalid_o, s_axil_bready_i, s_axil_bresp_o)
  `JD_ASSERT_STREAM(ReadAnswerStable_A, s_axil_rvalid_o, s_axil_rready_i,
                    {s_axil_rdata_o, s_axil_rresp_o})
  `JD_ASSUME_IF(EngineWriteAnswer_M, e_axil_bvalid_i,
                state_q == StEngine && write_q && !is_header)
  `JD_ASSUME_IF(EngineReadAnswer_M, e_axil_rvalid_i,
                state_q == StEngine && !write_q && !is_header)
endmodule : jd_engine_bus
