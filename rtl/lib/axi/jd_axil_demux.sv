// SPDX-License-Identifier: Apache-2.0
//
// Passes AXI4-Lite accesses to one of several targets, chosen by page.
//
// Streams  s_axil_*: the host's side; m_axil_*: page p is target p. An access to a page without
//          target answers SLVERR (read data 0) and reaches no target; with Rest, the last target
//          has all pages from its own up. Targets get the whole address.
// Timing   one read and one write at a time, independent of each other; a target's request one
//          clock after the host's, the host's response one clock after the target's. All
//          outputs follow registers only. The address and the data of a write come in any order,
//          and those of the next one may come while one is under way.
// Numbers  bits, unchanged.
// Source   AMBA AXI and ACE protocol specification, part B.
`include "jd_assert.svh"
module jd_axil_demux #(
  parameter  int unsigned Targets  = 2,      // 1..64
  parameter  int unsigned PageBits = 12,     // log2 of the bytes of a page, 2..AddrW
  parameter  int unsigned AddrW    = 20,     // bits of an address, 3..32
  parameter  bit          Rest     = 1'b0,   // the last target has all pages above
  localparam int unsigned TargetW  = (Targets > 1) ? $clog2(Targets) : 1
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          s_axil_awvalid_i,
  output logic                          s_axil_awready_o,
  input  logic [AddrW-1:0]              s_axil_awaddr_i,
  input  logic                          s_axil_wvalid_i,
  output logic                          s_axil_wready_o,
  input  logic [31:0]                   s_axil_wdata_i,
  input  logic [3:0]                    s_axil_wstrb_i,
  output logic                          s_axil_bvalid_o,
  input  logic                          s_axil_bready_i,
  output logic [1:0]                    s_axil_bresp_o,
  input  logic                          s_axil_arvalid_i,
  output logic                          s_axil_arready_o,
  input  logic [AddrW-1:0]              s_axil_araddr_i,
  output logic                          s_axil_rvalid_o,
  input  logic                          s_axil_rready_i,
  output logic [31:0]                   s_axil_rdata_o,
  output logic [1:0]                    s_axil_rresp_o,
  output logic [Targets-1:0]            m_axil_awvalid_o,
  input  logic [Targets-1:0]            m_axil_awready_i,
  output logic [Targets-1:0][AddrW-1:0] m_axil_awaddr_o,
  output logic [Targets-1:0]            m_axil_wvalid_o,
  input  logic [Targets-1:0]            m_axil_wready_i,
  output logic [Targets-1:0][31:0]      m_axil_wdata_o,
  output logic [Targets-1:0][3:0]       m_axil_wstrb_o,
  input  logic [Targets-1:0]            m_axil_bvalid_i,
  output logic [Targets-1:0]            m_axil_bready_o,
  input  logic [Targets-1:0][1:0]       m_axil_bresp_i,
  output logic [Targets-1:0]            m_axil_arvalid_o,
  input  logic [Targets-1:0]            m_axil_arready_i,
  output logic [Targets-1:0][AddrW-1:0] m_axil_araddr_o,
  input  logic [Targets-1:0]            m_axil_rvalid_i,
  output logic [Targets-1:0]            m_axil_rready_o,
  input  logic [Targets-1:0][31:0]      m_axil_rdata_i,
  input  logic [Targets-1:0][1:0]       m_axil_rresp_i
);
  if (Targets < 1 || Targets > 64 || AddrW < 3 || AddrW > 32 || PageBits < 2 ||
      PageBits > AddrW) begin : gen_bad_parameters
    $fatal(1, "jd_axil_demux: Targets=%0d, want 1..64, PageBits=%0d, want 2..AddrW, AddrW=%0d",
           Targets, PageBits, AddrW);
  end
  localparam logic [1:0] SLVERR = 2'd2;

  typedef enum logic [1:0] {
    StIdle,
    StWait,     // the target has the access or will
    StAnswer    // the host's response is out
  } state_e;

  typedef struct packed {
    logic               hit;
    logic [TargetW-1:0] target;
  } decode_t;

  function automatic decode_t decode(logic [AddrW-1:0] address);
    decode_t     result;
    logic [31:0] page;
    page          = 32'(address) >> PageBits;
    result.hit    = Rest || page < Targets;
    result.target = (page < Targets) ? TargetW'(page) : TargetW'(Targets - 1);
    return result;
  endfunction

  // Writes.
  state_e             w_state_q;
  decode_t            w_decode;
  logic [TargetW-1:0] w_target_q;
  logic [AddrW-1:0]   awaddr_q;
  logic [31:0]        wdata_q;
  logic [3:0]         wstrb_q;
  logic               w_accept;
  logic               aw_valid, w_valid;
  logic [AddrW-1:0]   aw_address;
  logic [31:0]        w_data;
  logic [3:0]         w_strobes;
  jd_stream_slice #(.Width(AddrW), .Forward(1'b0)) u_aw (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (s_axil_awvalid_i),
    .in_ready_o  (s_axil_awready_o),
    .in_data_i   (s_axil_awaddr_i),
    .out_valid_o (aw_valid),
    .out_ready_i (w_accept),
    .out_data_o  (aw_address)
  );
  jd_stream_slice #(.Width(36), .Forward(1'b0)) u_w (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (s_axil_wvalid_i),
    .in_ready_o  (s_axil_wready_o),
    .in_data_i   ({s_axil_wstrb_i, s_axil_wdata_i}),
    .out_valid_o (w_valid),
    .out_ready_i (w_accept),
    .out_data_o  ({w_strobes, w_data})
  );
  assign w_decode         = decode(aw_address);
  assign w_accept         = w_state_q == StIdle && aw_valid && w_valid;
  assign s_axil_bvalid_o  = w_state_q == StAnswer;
  assign m_axil_awaddr_o  = {Targets{awaddr_q}};
  assign m_axil_wdata_o   = {Targets{wdata_q}};
  assign m_axil_wstrb_o   = {Targets{wstrb_q}};
  assign m_axil_bready_o  = Targets'(w_state_q == StWait) << w_target_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_state_q        <= StIdle;
      m_axil_awvalid_o <= '0;
      m_axil_wvalid_o  <= '0;
    end else begin
      m_axil_awvalid_o <= m_axil_awvalid_o & ~m_axil_awready_i;
      m_axil_wvalid_o  <= m_axil_wvalid_o & ~m_axil_wready_i;
      unique case (w_state_q)
        StIdle: if (w_accept) begin
          w_state_q        <= w_decode.hit ? StWait : StAnswer;
          m_axil_awvalid_o <= Targets'(w_decode.hit) << w_decode.target;
          m_axil_wvalid_o  <= Targets'(w_decode.hit) << w_decode.target;
        end
        StWait: if (m_axil_bvalid_i[w_target_q]) w_state_q <= StAnswer;
        StAnswer: if (s_axil_bready_i) w_state_q <= StIdle;
        default: w_state_q <= StIdle;
      endcase
    end
    if (w_accept) begin
      w_target_q     <= w_decode.target;
      awaddr_q       <= aw_address;
      wdata_q        <= w_data;
      wstrb_q        <= w_strobes;
      s_axil_bresp_o <= SLVERR;
    end
    if (w_state_q == StWait) s_axil_bresp_o <= m_axil_bresp_i[w_target_q];
  end

  // Reads.
  state_e             r_state_q;
  decode_t            r_decode;
  logic [TargetW-1:0] r_target_q;
  logic [AddrW-1:0]   araddr_q;
  logic               r_accept;
  assign r_decode         = decode(s_axil_araddr_i);
  assign r_accept         = r_state_q == StIdle && s_axil_arvalid_i;
  assign s_axil_arready_o = r_state_q == StIdle;
  assign s_axil_rvalid_o  = r_state_q == StAnswer;
  assign m_axil_araddr_o  = {Targets{araddr_q}};
  assign m_axil_rready_o  = Targets'(r_state_q == StWait) << r_target_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      r_state_q        <= StIdle;
      m_axil_arvalid_o <= '0;
    end else begin
      m_axil_arvalid_o <= m_axil_arvalid_o & ~m_axil_arready_i;
      unique case (r_state_q)
        StIdle: if (r_accept) begin
          r_state_q        <= r_decode.hit ? StWait : StAnswer;
          m_axil_arvalid_o <= Targets'(r_decode.hit) << r_decode.target;
        end
        StWait: if (m_axil_rvalid_i[r_target_q]) r_state_q <= StAnswer;
        StAnswer: if (s_axil_rready_i) r_state_q <= StIdle;
        default: r_state_q <= StIdle;
      endcase
    end
    if (r_accept) begin
      r_target_q     <= r_decode.target;
      araddr_q       <= s_axil_araddr_i;
      s_axil_rdata_o <= '0;
      s_axil_rresp_o <= SLVERR;
    end
    if (r_state_q == StWait) begin
      s_axil_rdata_o <= m_axil_rdata_i[r_target_q];
      s_axil_rresp_o <= m_axil_rresp_i[r_target_q];
    end
  end

  `JD_ASSUME_STREAM(WriteStable_M, s_axil_awvalid_i, s_axil_awready_o, s_axil_awaddr_i)
  `JD_ASSUME_STREAM(WriteDataStable_M, s_axil_wvalid_i, s_axil_wready_o,
                    {s_axil_wdata_i, s_axil_wstrb_i})
  `JD_ASSUME_STREAM(ReadStable_M, s_axil_arvalid_i, s_axil_arready_o, s_axil_araddr_i)
  `JD_ASSERT_STREAM(WriteResponseStable_A, s_axil_bvalid_o, s_axil_bready_i, s_axil_bresp_o)
  `JD_ASSERT_STREAM(ReadResponseStable_A, s_axil_rvalid_o, s_axil_rready_i,
                    {s_axil_rdata_o, s_axil_rresp_o})
  `JD_ASSERT(OneTarget_A, $onehot0(m_axil_awvalid_o) && $onehot0(m_axil_arvalid_o))
endmodule : jd_axil_demux
