// SPDX-License-Identifier: Apache-2.0
//
// Holds back the addresses of an AXI4 port while as many transactions as allowed are out.
//
// Streams  s_axi_*: the side of the master; m_axi_*: the side of the memory, of AR and AW only. The
//          ends of transactions are watched: R and B pass beside the block.
// Timing   AR and AW are passed through in the same clock. Once free, a channel stays so until its
//          next address goes; an end counts from the next clock on.
// Numbers  at most Reads reads and Writes writes are out.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_axi_limit #(
  parameter int unsigned Reads  = 16,   // 1..31
  parameter int unsigned Writes = 16    // 1..31
) (
  input  logic clk_i,
  input  logic rst_ni,
  input  logic s_axi_arvalid_i,
  output logic s_axi_arready_o,
  input  logic s_axi_awvalid_i,
  output logic s_axi_awready_o,
  output logic m_axi_arvalid_o,
  input  logic m_axi_arready_i,
  output logic m_axi_awvalid_o,
  input  logic m_axi_awready_i,
  input  logic read_end_i,              // the last beat of a read moves
  input  logic write_end_i              // a response moves
);
  if (Reads < 1 || Reads > 31 || Writes < 1 || Writes > 31) begin : gen_bad_parameters
    $fatal(1, "jd_axi_limit: Reads=%0d, Writes=%0d, want 1..31", Reads, Writes);
  end

  logic       reads_free_q, writes_free_q, read_begin, write_begin;
  logic [4:0] reads_q, writes_q;
  assign m_axi_arvalid_o = s_axi_arvalid_i && reads_free_q;
  assign m_axi_awvalid_o = s_axi_awvalid_i && writes_free_q;
  assign s_axi_arready_o = m_axi_arready_i && reads_free_q;
  assign s_axi_awready_o = m_axi_awready_i && writes_free_q;
  assign read_begin      = m_axi_arvalid_o && m_axi_arready_i;
  assign write_begin     = m_axi_awvalid_o && m_axi_awready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reads_q       <= '0;
      reads_free_q  <= 1'b1;
      writes_q      <= '0;
      writes_free_q <= 1'b1;
    end else begin
      if (read_begin != read_end_i) begin
        reads_q      <= read_begin ? reads_q + 5'd1 : reads_q - 5'd1;
        reads_free_q <= !read_begin || reads_q != 5'(Reads - 1);
      end
      if (write_begin != write_end_i) begin
        writes_q      <= write_begin ? writes_q + 5'd1 : writes_q - 5'd1;
        writes_free_q <= !write_begin || writes_q != 5'(Writes - 1);
      end
    end
  end

  `JD_ASSUME_IF(ReadOut_M, read_end_i, reads_q != '0)
  `JD_ASSUME_IF(WriteOut_M, write_end_i, writes_q != '0)
  `JD_ASSERT(Reads_A, reads_q <= 5'(Reads) && reads_free_q == (reads_q != 5'(Reads)))
  `JD_ASSERT(Writes_A, writes_q <= 5'(Writes) && writes_free_q == (writes_q != 5'(Writes)))
endmodule : jd_axi_limit
