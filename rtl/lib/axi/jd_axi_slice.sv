// SPDX-License-Identifier: Apache-2.0
//
// Cuts the paths through the five channels of an AXI4 port by registers.
//
// Streams  client_*: the side of the master; mem_*: the side of the memory. Each channel apart, in
//          order.
// Timing   a jd_stream_slice a channel, so one beat per clock: latency 1 with its bit of Forward, else
//          0. With all bits set, the default, each output is a register or the inverse of one, and
//          no output depends on an input in the same clock.
// Numbers  bits, unchanged.
// Source   AMBA AXI and ACE protocol specification: no combinational paths from input to output.
module jd_axi_slice
  import jd_axi_pkg::*;
#(
  parameter logic [4:0] Forward  = 5'b11111,    // {AR, R, AW, W, B}: register valid and payload
  parameter logic [4:0] Backward = 5'b11111     // {AR, R, AW, W, B}: register ready
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  input  axi_req_t client_req_i,
  output axi_rsp_t client_rsp_o,
  output axi_req_t mem_req_o,
  input  axi_rsp_t mem_rsp_i
);
  localparam int unsigned RequestW = 40 + 8 + 8;        // {address, len, id}
  localparam int unsigned ReadW    = 512 + 2 + 1 + 8;   // {data, resp, last, id}
  localparam int unsigned WriteW   = 512 + 64 + 1;      // {data, strobes, last}
  localparam int unsigned AnswerW  = 2 + 8;             // {resp, id}

  jd_stream_slice #(.Width(RequestW), .Forward(Forward[4]), .Backward(Backward[4])) u_ar (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (client_req_i.read.arvalid),
    .in_ready_o  (client_rsp_o.read.arready),
    .in_data_i   ({client_req_i.read.araddr, client_req_i.read.arlen, client_req_i.read.arid}),
    .out_valid_o (mem_req_o.read.arvalid),
    .out_ready_i (mem_rsp_i.read.arready),
    .out_data_o  ({mem_req_o.read.araddr, mem_req_o.read.arlen, mem_req_o.read.arid})
  );
  jd_stream_slice #(.Width(ReadW), .Forward(Forward[3]), .Backward(Backward[3])) u_r (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (mem_rsp_i.read.rvalid),
    .in_ready_o  (mem_req_o.read.rready),
    .in_data_i   ({mem_rsp_i.read.rdata, mem_rsp_i.read.rresp, mem_rsp_i.read.rlast,
                   mem_rsp_i.read.rid}),
    .out_valid_o (client_rsp_o.read.rvalid),
    .out_ready_i (client_req_i.read.rready),
    .out_data_o  ({client_rsp_o.read.rdata, client_rsp_o.read.rresp, client_rsp_o.read.rlast,
                   client_rsp_o.read.rid})
  );
  jd_stream_slice #(.Width(RequestW), .Forward(Forward[2]), .Backward(Backward[2])) u_aw (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (client_req_i.write.awvalid),
    .in_ready_o  (client_rsp_o.write.awready),
    .in_data_i   ({client_req_i.write.awaddr, client_req_i.write.awlen, client_req_i.write.awid}),
    .out_valid_o (mem_req_o.write.awvalid),
    .out_ready_i (mem_rsp_i.write.awready),
    .out_data_o  ({mem_req_o.write.awaddr, mem_req_o.write.awlen, mem_req_o.write.awid})
  );
  jd_stream_slice #(.Width(WriteW), .Forward(Forward[1]), .Backward(Backward[1])) u_w (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (client_req_i.write.wvalid),
    .in_ready_o  (client_rsp_o.write.wready),
    .in_data_i   ({client_req_i.write.wdata, client_req_i.write.wstrb, client_req_i.write.wlast}),
    .out_valid_o (mem_req_o.write.wvalid),
    .out_ready_i (mem_rsp_i.write.wready),
    .out_data_o  ({mem_req_o.write.wdata, mem_req_o.write.wstrb, mem_req_o.write.wlast})
  );
  jd_stream_slice #(.Width(AnswerW), .Forward(Forward[0]), .Backward(Backward[0])) u_b (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (mem_rsp_i.write.bvalid),
    .in_ready_o  (mem_req_o.write.bready),
    .in_data_i   ({mem_rsp_i.write.bresp, mem_rsp_i.write.bid}),
    .out_valid_o (client_rsp_o.write.bvalid),
    .out_ready_i (client_req_i.write.bready),
    .out_data_o  ({client_rsp_o.write.bresp, client_rsp_o.write.bid})
  );
endmodule : jd_axi_slice
