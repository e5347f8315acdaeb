// SPDX-License-Identifier: Apache-2.0
//
// Shares one memory port of the a3c engine between up to two compute units and three blocks that
// need little bandwidth: the rings, the descriptor reader and the copy engine.
//
// The second unit trains and the first one infers. Training limits the rate of a pair, so reads of
// the second unit go first. A read of the first unit waits for at most Patience reads of the second
// one, and for the reads that are already in the port's registers.
//
// Streams  unit_*: the two units. misc_*: the three blocks. mem_*: the port. unit_read_o,
//          unit_write_o: a beat of a unit or of the copy engine (block 2) moved.
// Timing   that of jd_axi_mux; the three blocks pass two of them.
//          unit_rsp_o[0].read.arready depends on unit_req_i[1].read.arvalid in the same clock. At
//          most Reads reads and Writes writes are outstanding. All clients accept R at once and
//          have the data of a write ready when they request it; jd_axi_prompt checks that at the
//          port.
// Numbers  an ID is {client, ID of the client}, with two bits of a unit's ID or the block's number.
// Source   shell 2.
module jd_a3c_port
  import jd_axi_pkg::*;
#(
  parameter int unsigned Reads    = 16,            // 1..31
  parameter int unsigned Writes   = 16,            // 1..31
  parameter int unsigned Patience = 15             // 1..15
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  axi_req_t [1:0] unit_req_i,
  output axi_rsp_t [1:0] unit_rsp_o,
  input  axi_req_t [2:0] misc_req_i,
  output axi_rsp_t [2:0] misc_rsp_o,
  output axi_req_t       mem_req_o,
  input  axi_rsp_t       mem_rsp_i,
  output logic           unit_read_o,
  output logic           unit_write_o
);
  if (Reads < 1 || Reads > 31 || Writes < 1 || Writes > 31 || Patience < 1 || Patience > 15)
  begin : gen_bad_parameters
    $fatal(1, "jd_a3c_port: Reads=%0d, Writes=%0d, want 1..31, Patience=%0d, want 1..15", Reads,
           Writes, Patience);
  end
  // ---- The blocks, with a multiplexer of their own: two bits of ID are enough for them all
  axi_req_t blocks_req;
  axi_rsp_t blocks_rsp;
  jd_axi_mux #(.Clients (3)) u_blocks (
    .clk_i, .rst_ni,
    .client_req_i (misc_req_i),
    .client_rsp_o (misc_rsp_o),
    .mem_req_o    (blocks_req),
    .mem_rsp_i    (blocks_rsp)
  );

  // ---- The port: client 0 is the blocks, 1 and 2 are the units. The multiplexer sees a read of
  // the first unit in the clock in which it is taken.
  axi_req_t [1:0] unit_req;
  axi_rsp_t [1:0] unit_rsp;
  axi_req_t       port_req;
  axi_rsp_t       port_rsp;
  logic [3:0]     passed_q;                      // reads of unit 2 that overtook unit 1
  logic           wait_for_second;
  assign wait_for_second = unit_req_i[1].read.arvalid && passed_q != 4'(Patience);
  always_comb begin
    unit_req                   = unit_req_i;
    unit_req[0].read.arvalid   = unit_req_i[0].read.arvalid && unit_rsp[0].read.arready
                                 && !wait_for_second;
    unit_rsp_o                 = unit_rsp;
    unit_rsp_o[0].read.arready = unit_rsp[0].read.arready && !wait_for_second;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !unit_req_i[0].read.arvalid || unit_rsp_o[0].read.arready) passed_q <= '0;
    else if (unit_req_i[1].read.arvalid && unit_rsp[1].read.arready && wait_for_second) begin
      passed_q <= passed_q + 4'd1;
    end
  end
  jd_axi_mux #(.Clients (3), .IdW (2)) u_port (
    .clk_i, .rst_ni,
    .client_req_i ({unit_req, blocks_req}),
    .client_rsp_o ({unit_rsp, blocks_rsp}),
    .mem_req_o    (port_req),
    .mem_rsp_i    (port_rsp)
  );
  jd_axi_limit #(.Reads (Reads), .Writes (Writes)) u_limit (
    .clk_i, .rst_ni,
    .client_req_i (port_req),
    .client_rsp_o (port_rsp),
    .mem_req_o,
    .mem_rsp_i
  );

  jd_axi_prompt u_prompt (
    .clk_i, .rst_ni,
    .mem_req_i (mem_req_o),
    .mem_rsp_i
  );

  // ---- Beats of tasks
  always_comb begin
    unit_read_o  = misc_rsp_o[2].read.rvalid && misc_req_i[2].read.rready;
    unit_write_o = misc_req_i[2].write.wvalid && misc_rsp_o[2].write.wready;
    for (int unsigned u = 0; u < 2; u++) begin
      unit_read_o  = unit_read_o || (unit_rsp_o[u].read.rvalid && unit_req_i[u].read.rready);
      unit_write_o = unit_write_o || (unit_req_i[u].write.wvalid && unit_rsp_o[u].write.wready);
    end
  end
endmodule : jd_a3c_port
