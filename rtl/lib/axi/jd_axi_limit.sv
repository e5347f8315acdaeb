// SPDX-License-Identifier: Apache-2.0
//
// Holds back the addresses of an AXI4 port while as many transactions as allowed are outstanding.
//
// Streams  client_*: the side of the master. mem_*: the side of the memory.
// Timing   Everything passes in the same clock. Once an address channel is free, it stays free
//          until its next address goes. The end of a transaction counts from the next clock on.
// Numbers  at most Reads reads and Writes writes are outstanding.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_axi_limit
  import jd_axi_pkg::*;
#(
  parameter int unsigned Reads  = 16,   // 1..31
  parameter int unsigned Writes = 16    // 1..31
) (
  input  logic     clk_i,
  input  logic     rst_ni,
  input  axi_req_t client_req_i,
  output axi_rsp_t client_rsp_o,
  output axi_req_t mem_req_o,
  input  axi_rsp_t mem_rsp_i
);
  if (Reads < 1 || Reads > 31 || Writes < 1 || Writes > 31) begin : gen_bad_parameters
    $fatal(1, "jd_axi_limit: Reads=%0d, Writes=%0d, want 1..31", Reads, Writes);
  end

  logic       reads_free_q, writes_free_q, read_begin, write_begin, read_end, write_end;
  logic [4:0] reads_q, writes_q;
  always_comb begin
    mem_req_o                  = client_req_i;
    mem_req_o.read.arvalid     = client_req_i.read.arvalid && reads_free_q;
    mem_req_o.write.awvalid    = client_req_i.write.awvalid && writes_free_q;
    client_rsp_o               = mem_rsp_i;
    client_rsp_o.read.arready  = mem_rsp_i.read.arready && reads_free_q;
    client_rsp_o.write.awready = mem_rsp_i.write.awready && writes_free_q;
  end
  assign read_begin  = mem_req_o.read.arvalid && mem_rsp_i.read.arready;
  assign write_begin = mem_req_o.write.awvalid && mem_rsp_i.write.awready;
  assign read_end    = mem_rsp_i.read.rvalid && mem_req_o.read.rready && mem_rsp_i.read.rlast;
  assign write_end   = mem_rsp_i.write.bvalid && mem_req_o.write.bready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reads_q       <= '0;
      reads_free_q  <= 1'b1;
      writes_q      <= '0;
      writes_free_q <= 1'b1;
    end else begin
      if (read_begin != read_end) begin
        reads_q      <= read_begin ? reads_q + 5'd1 : reads_q - 5'd1;
        reads_free_q <= !read_begin || reads_q != 5'(Reads - 1);
      end
      if (write_begin != write_end) begin
        writes_q      <= write_begin ? writes_q + 5'd1 : writes_q - 5'd1;
        writes_free_q <= !write_begin || writes_q != 5'(Writes - 1);
      end
    end
  end

  `JD_ASSUME_IF(ReadOut_M, read_end, reads_q != '0)
  `JD_ASSUME_IF(WriteOut_M, write_end, writes_q != '0)
  `JD_ASSERT(Reads_A, reads_q <= 5'(Reads) && reads_free_q == (reads_q != 5'(Reads)))
  `JD_ASSERT(Writes_A, writes_q <= 5'(Writes) && writes_free_q == (writes_q != 5'(Writes)))
endmodule : jd_axi_limit
