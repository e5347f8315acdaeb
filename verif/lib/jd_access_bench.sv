// SPDX-License-Identifier: Apache-2.0
//
// Bench of jd_engine_access: 16 words at its register port, answered as PeakRDL's registers do; a word above
// them is an error.
module jd_access_bench
  import jd_axi_pkg::*;
(
  input  logic      clk_i,
  input  logic      rst_ni,
  input  axil_req_t axil_req_i,
  output axil_rsp_t axil_rsp_o,
  output logic      request_o
);
  register_req_t register_req;
  register_rsp_t register_rsp;
  logic          read_done_q, read_error_q, outside;
  logic [31:0]   read_data_q;
  logic [31:0]   words_q [16];
  logic [3:0]    place;
  assign request_o = register_req.valid;
  assign outside   = register_req.address[11:6] != '0;
  assign place     = register_req.address[5:2];
  always_ff @(posedge clk_i) begin
    read_done_q <= rst_ni && request_o && !register_req.write;
    if (request_o && !register_req.write) begin
      read_error_q <= outside;
      read_data_q  <= outside ? '0 : words_q[place];
    end
    if (request_o && register_req.write && !outside) begin
      words_q[place] <= (words_q[place] & ~register_req.mask)
                        | (register_req.data & register_req.mask);
    end
  end
  assign register_rsp = '{
    write_done: request_o && register_req.write, write_error: outside,
    read_done: read_done_q, read_error: read_error_q, read_data: read_data_q};
  logic unused;
  assign unused = ^register_req.address[1:0];

  jd_engine_access u_dut (
    .clk_i, .rst_ni, .axil_req_i, .axil_rsp_o,
    .register_req_o (register_req),
    .register_rsp_i (register_rsp)
  );
endmodule : jd_access_bench
