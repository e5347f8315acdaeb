// SPDX-License-Identifier: Apache-2.0
//
// Test bench: for each client of jd_a3c_port a queue of reads and one of writes. The ports are those
// of jd_movers_bench: clients 0 and 1 are the units, 2 to 4 the blocks. A unit's IDs are its own at
// the port, which must bring them back.
module jd_a3c_port_bench
  import jd_axi_pkg::*;
#(
  parameter int unsigned Clients        = 5,      // no other number
  parameter int unsigned MaxOutstanding = 16,
  parameter int unsigned Limit          = 16,     // reads, and writes, of the port
  parameter int unsigned Queue          = 128     // beats of each queue
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic [Clients-1:0] read_idle_o,
  output logic [Clients-1:0] write_idle_o,
  input  logic               read_valid_i   [Clients],
  output logic               read_ready_o   [Clients],
  input  logic [39:0]        read_address_i [Clients],
  input  logic [15:0]        read_beats_i   [Clients],
  output logic               out_valid_o    [Clients],
  input  logic               out_ready_i    [Clients],
  output logic [511:0]       out_data_o     [Clients],
  output logic               out_last_o     [Clients],
  output logic [1:0]         out_resp_o     [Clients],
  input  logic               write_valid_i  [Clients],
  output logic               write_ready_o  [Clients],
  input  logic [39:0]        write_address_i[Clients],
  input  logic [15:0]        write_beats_i  [Clients],
  input  logic               in_valid_i     [Clients],
  output logic               in_ready_o     [Clients],
  input  logic [511:0]       in_data_i      [Clients],
  input  logic [63:0]        in_strb_i      [Clients],
  output logic               done_valid_o   [Clients],
  input  logic               done_ready_i   [Clients],
  output logic [1:0]         done_resp_o    [Clients],
  output axi_req_t           mem_req_o,
  input  axi_rsp_t           mem_rsp_i
);
  axi_req_t [Clients-1:0] client_req, queue_req;
  axi_rsp_t [Clients-1:0] client_rsp, queue_rsp;
  for (genvar c = 0; c < Clients; c++) begin : gen_client
    localparam logic [7:0] Id = c < 2 ? 8'(c + 1) : '0;
    always_comb begin
      client_req[c]            = queue_req[c];
      client_req[c].read.arid  = queue_req[c].read.arid ^ Id;
      client_req[c].write.awid = queue_req[c].write.awid ^ Id;
      queue_rsp[c]             = client_rsp[c];
      queue_rsp[c].read.rid    = client_rsp[c].read.rid ^ Id;
      queue_rsp[c].write.bid   = client_rsp[c].write.bid ^ Id;
    end
    jd_axi_read_queue #(.Depth(Queue), .MaxOutstanding(MaxOutstanding)) u_read (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .idle_o          (read_idle_o[c]),
      .cmd_valid_i     (read_valid_i[c]),
      .cmd_ready_o     (read_ready_o[c]),
      .cmd_address_i   (read_address_i[c]),
      .cmd_beats_i     (read_beats_i[c]),
      .out_valid_o     (out_valid_o[c]),
      .out_ready_i     (out_ready_i[c]),
      .out_data_o      (out_data_o[c]),
      .out_last_o      (out_last_o[c]),
      .out_resp_o      (out_resp_o[c]),
      .mem_req_o       (queue_req[c].read),
      .mem_rsp_i       (queue_rsp[c].read)
    );
    jd_axi_write_queue #(
      .Depth(Queue), .MaxOutstanding(MaxOutstanding)
    ) u_write (
      .clk_i           (clk_i),
      .rst_ni          (rst_ni),
      .idle_o          (write_idle_o[c]),
      .cmd_valid_i     (write_valid_i[c]),
      .cmd_ready_o     (write_ready_o[c]),
      .cmd_address_i   (write_address_i[c]),
      .cmd_beats_i     (write_beats_i[c]),
      .in_valid_i      (in_valid_i[c]),
      .in_ready_o      (in_ready_o[c]),
      .in_data_i       (in_data_i[c]),
      .in_strb_i       (in_strb_i[c]),
      .done_valid_o    (done_valid_o[c]),
      .done_ready_i    (done_ready_i[c]),
      .done_resp_o     (done_resp_o[c]),
      .mem_req_o       (queue_req[c].write),
      .mem_rsp_i       (queue_rsp[c].write)
    );
  end
  logic unit_read, unit_write, unused;
  assign unused = unit_read ^ unit_write;
  jd_a3c_port #(.Reads (Limit), .Writes (Limit)) u_port (
    .clk_i, .rst_ni,
    .unit_req_i   (client_req[1:0]),
    .unit_rsp_o   (client_rsp[1:0]),
    .misc_req_i   (client_req[4:2]),
    .misc_rsp_o   (client_rsp[4:2]),
    .mem_req_o, .mem_rsp_i,
    .unit_read_o  (unit_read),
    .unit_write_o (unit_write)
  );
endmodule : jd_a3c_port_bench
