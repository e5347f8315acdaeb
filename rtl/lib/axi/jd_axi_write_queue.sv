// SPDX-License-Identifier: Apache-2.0
//
// Writes transfers into AXI4 memory from a buffer, whose writer may be slow.
//
// Streams  cmd, in, done: as of jd_axi_write_mover; words may come before their command. mem_*: the
//          port. idle_o: no command held, no burst out, no done pending.
// Timing   that of jd_axi_write_mover; a burst is asked for only when its beats are in the buffer, so
//          W has a beat in each clock from the one after AW to the burst's end. A beat counts in the
//          clock after it was taken. Word per clock if Depth is two bursts.
// Numbers  bits, unchanged.
// Source   docs/shell.md, memory.
`include "jd_assert.svh"
module jd_axi_write_queue
  import jd_axi_pkg::*;
#(
  parameter int unsigned Burst          = 16,   // beats of the longest, power of two 2..64
  parameter int unsigned Depth          = 32,   // beats of the buffer, Burst..4096
  parameter int unsigned MaxOutstanding = 16    // bursts, 1..64
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  output logic                idle_o,
  input  logic                cmd_valid_i,
  output logic                cmd_ready_o,
  input  logic [39:0]         cmd_address_i,    // bytes, a multiple of 64
  input  logic [15:0]         cmd_beats_i,      // 1..65535
  input  logic                in_valid_i,
  output logic                in_ready_o,
  input  logic [511:0]        in_data_i,
  input  logic [63:0]         in_strb_i,
  output logic                done_valid_o,
  input  logic                done_ready_i,
  output logic [1:0]          done_resp_o,
  output axi_write_req_t      mem_req_o,
  input  axi_write_rsp_t      mem_rsp_i
);
  localparam int unsigned CountW = $clog2(Depth + 1);
  if (Depth < Burst || Depth > 4096) begin : gen_bad_depth
    $fatal(1, "jd_axi_write_queue: Depth=%0d, want Burst=%0d..4096", Depth, Burst);
  end

  logic              at_hand, ask, push, pop, word_valid, word_ready;
  logic [511:0]      word;
  logic [63:0]       word_strobes;
  logic [CountW-1:0] free_q;                    // words in the buffer that no burst has
  logic [CountW-1:0] owed_q;                    // words in the buffer of bursts that were asked for
  logic [CountW-1:0] asked;
  axi_write_req_t    mover_req;
  axi_write_rsp_t    mover_rsp;
  always_comb begin
    mem_req_o         = mover_req;
    mem_req_o.awvalid = mover_req.awvalid && at_hand;
    mover_rsp         = mem_rsp_i;
    mover_rsp.awready = mem_rsp_i.awready && at_hand;
  end
  assign at_hand = CountW'(mover_req.awlen) < free_q;   // it stays so until a burst is asked
  assign ask   = mem_req_o.awvalid && mem_rsp_i.awready;
  assign asked = ask ? CountW'(mem_req_o.awlen) + CountW'(1) : '0;
  assign push  = in_valid_i && in_ready_o;
  assign pop   = mem_req_o.wvalid && mem_rsp_i.wready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      free_q <= '0;
      owed_q <= '0;
    end else begin
      free_q <= free_q + CountW'(push) - asked;
      owed_q <= owed_q + asked - CountW'(pop);
    end
  end

  logic [CountW-1:0] held;
  jd_stream_fifo #(
    .Width (576),
    .Depth (Depth)
  ) u_words (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i,
    .in_ready_o,
    .in_data_i   ({in_strb_i, in_data_i}),
    .out_valid_o (word_valid),
    .out_ready_i (word_ready && owed_q != '0),
    .out_data_o  ({word_strobes, word}),
    .count_o     (held)
  );

  jd_axi_write_mover #(
    .MaxOutstanding (MaxOutstanding),
    .Burst          (Burst)
  ) u_mover (
    .clk_i,
    .rst_ni,
    .idle_o,
    .cmd_valid_i,
    .cmd_ready_o,
    .cmd_address_i,
    .cmd_beats_i,
    .in_valid_i      (word_valid && owed_q != '0),
    .in_ready_o      (word_ready),
    .in_data_i       (word),
    .in_strb_i       (word_strobes),
    .done_valid_o,
    .done_ready_i,
    .done_resp_o,
    .mem_req_o       (mover_req),
    .mem_rsp_i       (mover_rsp)
  );

  `JD_ASSERT_IF(NeverWaits_A, owed_q != '0, mem_req_o.wvalid)
  `JD_ASSERT(Counts_A, held == free_q + owed_q)
endmodule : jd_axi_write_queue
