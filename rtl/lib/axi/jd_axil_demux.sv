// SPDX-License-Identifier: Apache-2.0
//
// Passes AXI4-Lite accesses to one of several targets, chosen by page.
//
// Streams  axil_*: the host's side; page_*: page p is target p. An access to a page without
//          target answers SLVERR (read data 0) and reaches no target. Targets get the whole address.
// Timing   one read and one write at a time, independent of each other; a target's request one
//          clock after the host's, the host's response one clock after the target's. All
//          outputs follow registers only. The address and the data of a write come in any order,
//          and those of the next one may come while one is under way.
// Numbers  bits, unchanged.
// Source   AMBA AXI and ACE protocol specification, part B.
`include "jd_assert.svh"
module jd_axil_demux
  import jd_axi_pkg::*;
#(
  parameter  int unsigned Targets  = 2,      // 1..64
  parameter  int unsigned PageBits = 12,     // log2 of the bytes of a page, 2..20
  localparam int unsigned TargetW  = (Targets > 1) ? $clog2(Targets) : 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  axil_req_t               axil_req_i,
  output axil_rsp_t               axil_rsp_o,
  output axil_req_t [Targets-1:0] page_req_o,
  input  axil_rsp_t [Targets-1:0] page_rsp_i
);
  if (Targets < 1 || Targets > 64 || PageBits < 2 || PageBits > 20) begin : gen_bad_parameters
    $fatal(1, "jd_axil_demux: Targets=%0d, want 1..64, PageBits=%0d, want 2..20", Targets,
           PageBits);
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

  function automatic decode_t decode(logic [19:0] address);
    decode_t     result;
    logic [31:0] page;
    page          = 32'(address) >> PageBits;
    result.hit    = page < Targets;
    result.target = (page < Targets) ? TargetW'(page) : TargetW'(Targets - 1);
    return result;
  endfunction

  logic [Targets-1:0] page_awvalid_q, page_awready, page_wvalid_q, page_wready;
  logic [Targets-1:0] page_arvalid_q, page_arready;

  // Writes.
  state_e             w_state_q;
  decode_t            w_decode;
  logic [TargetW-1:0] w_target_q;
  logic [19:0]        awaddr_q;
  logic [31:0]        wdata_q;
  logic [3:0]         wstrb_q;
  logic               w_accept;
  logic               aw_valid, aw_ready, w_valid, w_ready;
  logic [1:0]         bresp_q;
  logic [19:0]        aw_address;
  logic [31:0]        w_data;
  logic [3:0]         w_strobes;
  jd_stream_slice #(.Width(20), .Forward(1'b0)) u_aw (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (axil_req_i.awvalid),
    .in_ready_o  (aw_ready),
    .in_data_i   (axil_req_i.awaddr),
    .out_valid_o (aw_valid),
    .out_ready_i (w_accept),
    .out_data_o  (aw_address)
  );
  jd_stream_slice #(.Width(36), .Forward(1'b0)) u_w (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (axil_req_i.wvalid),
    .in_ready_o  (w_ready),
    .in_data_i   ({axil_req_i.wstrb, axil_req_i.wdata}),
    .out_valid_o (w_valid),
    .out_ready_i (w_accept),
    .out_data_o  ({w_strobes, w_data})
  );
  assign w_decode = decode(aw_address);
  assign w_accept = w_state_q == StIdle && aw_valid && w_valid;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      w_state_q      <= StIdle;
      page_awvalid_q <= '0;
      page_wvalid_q  <= '0;
    end else begin
      page_awvalid_q <= page_awvalid_q & ~page_awready;
      page_wvalid_q  <= page_wvalid_q & ~page_wready;
      unique case (w_state_q)
        StIdle: if (w_accept) begin
          w_state_q      <= w_decode.hit ? StWait : StAnswer;
          page_awvalid_q <= Targets'(w_decode.hit) << w_decode.target;
          page_wvalid_q  <= Targets'(w_decode.hit) << w_decode.target;
        end
        StWait: if (page_rsp_i[w_target_q].bvalid) w_state_q <= StAnswer;
        StAnswer: if (axil_req_i.bready) w_state_q <= StIdle;
        default: w_state_q <= StIdle;
      endcase
    end
    if (w_accept) begin
      w_target_q <= w_decode.target;
      awaddr_q   <= aw_address;
      wdata_q    <= w_data;
      wstrb_q    <= w_strobes;
      bresp_q    <= SLVERR;
    end
    if (w_state_q == StWait) bresp_q <= page_rsp_i[w_target_q].bresp;
  end

  // Reads.
  state_e             r_state_q;
  decode_t            r_decode;
  logic [TargetW-1:0] r_target_q;
  logic [19:0]        araddr_q;
  logic               r_accept;
  logic [31:0]        rdata_q;
  logic [1:0]         rresp_q;
  assign r_decode = decode(axil_req_i.araddr);
  assign r_accept = r_state_q == StIdle && axil_req_i.arvalid;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      r_state_q      <= StIdle;
      page_arvalid_q <= '0;
    end else begin
      page_arvalid_q <= page_arvalid_q & ~page_arready;
      unique case (r_state_q)
        StIdle: if (r_accept) begin
          r_state_q      <= r_decode.hit ? StWait : StAnswer;
          page_arvalid_q <= Targets'(r_decode.hit) << r_decode.target;
        end
        StWait: if (page_rsp_i[r_target_q].rvalid) r_state_q <= StAnswer;
        StAnswer: if (axil_req_i.rready) r_state_q <= StIdle;
        default: r_state_q <= StIdle;
      endcase
    end
    if (r_accept) begin
      r_target_q <= r_decode.target;
      araddr_q   <= axil_req_i.araddr;
      rdata_q    <= '0;
      rresp_q    <= SLVERR;
    end
    if (r_state_q == StWait) begin
      rdata_q <= page_rsp_i[r_target_q].rdata;
      rresp_q <= page_rsp_i[r_target_q].rresp;
    end
  end

  assign axil_rsp_o = '{
    awready: aw_ready, wready: w_ready, bvalid: w_state_q == StAnswer, bresp: bresp_q,
    arready: r_state_q == StIdle, rvalid: r_state_q == StAnswer, rdata: rdata_q, rresp: rresp_q};
  for (genvar t = 0; t < Targets; t++) begin : gen_page
    assign page_req_o[t] = '{
      awvalid: page_awvalid_q[t], awaddr: awaddr_q,
      wvalid: page_wvalid_q[t], wdata: wdata_q, wstrb: wstrb_q,
      bready: w_state_q == StWait && w_target_q == TargetW'(t),
      arvalid: page_arvalid_q[t], araddr: araddr_q,
      rready: r_state_q == StWait && r_target_q == TargetW'(t)};
    assign page_awready[t] = page_rsp_i[t].awready;
    assign page_wready[t]  = page_rsp_i[t].wready;
    assign page_arready[t] = page_rsp_i[t].arready;
  end

  `JD_ASSUME_STREAM(WriteStable_M, axil_req_i.awvalid, axil_rsp_o.awready, axil_req_i.awaddr)
  `JD_ASSUME_STREAM(WriteDataStable_M, axil_req_i.wvalid, axil_rsp_o.wready,
                    {axil_req_i.wdata, axil_req_i.wstrb})
  `JD_ASSUME_STREAM(ReadStable_M, axil_req_i.arvalid, axil_rsp_o.arready, axil_req_i.araddr)
  `JD_ASSERT_STREAM(WriteResponseStable_A, axil_rsp_o.bvalid, axil_req_i.bready, axil_rsp_o.bresp)
  `JD_ASSERT_STREAM(ReadResponseStable_A, axil_rsp_o.rvalid, axil_req_i.rready,
                    {axil_rsp_o.rdata, axil_rsp_o.rresp})
  `JD_ASSERT(OneTarget_A, $onehot0(page_awvalid_q) && $onehot0(page_arvalid_q))
endmodule : jd_axil_demux
