// SPDX-License-Identifier: Apache-2.0
//
// Adds the column sums of all inner tiles of an output tile, for each entry.
//
// Streams  ahead_*: an entry, one clock before its sums. out: the sums over all inner tiles, with
//          the last inner tile. Pipes: valid only, no stall.
// Timing   out_* one clock after the sums, two after ahead_*. One entry per clock. An entry may
//          return after any number of clocks: a sum that is not in the memory yet comes from one of
//          the two registers before the memory.
// Numbers  exact: two lanes of 60 bits. The first inner tile starts a new sum.
// Source   docs/qat.md. Golden model: models/qat/ops.py, products.
`include "jd_assert.svh"
module jd_qat_accum
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw      = 16,    // columns: 4, 8, 16
  parameter  int unsigned Entries = 65,    // vector slots and one for acting, 2..129
  localparam int unsigned IndexW  = $clog2(Entries),
  localparam int unsigned SumW    = PRODUCT_W + $clog2(Lw)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       ahead_valid_i,
  input  logic [IndexW-1:0]          ahead_index_i,    // of the entry
  input  logic                       ahead_first_i,    // inner tile
  input  logic                       ahead_last_i,
  input  logic [Lw-1:0][SumW-1:0]    sums_low_i,       // one clock later
  input  logic [Lw-1:0][SumW-1:0]    sums_high_i,
  output logic                       out_valid_o,
  output logic [Lw-1:0][ACC_W-1:0]   out_low_o,
  output logic [Lw-1:0][ACC_W-1:0]   out_high_o
);
  typedef logic [Lw-1:0][1:0][ACC_W-1:0] lanes_t;      // low, high

  // The sum so far is 0, in the memory, or in one of two registers that are still to be written.
  logic              valid_q, first_q, last_q, held_q, held_q2;
  logic [IndexW-1:0] index_q, index_q2, index_q3;
  lanes_t            stored, earlier, total_d, total_q, total_q2;
  for (genvar j = 0; j < Lw; j++) begin : gen_column
    jd_mem_1r1w #(
      .Depth (Entries),
      .LaneW (2 * ACC_W)
    ) u_sums (
      .clk_i, .rst_ni,
      .write_en_i   (held_q),
      .write_addr_i (index_q2),
      .write_mask_i (1'b1),
      .write_data_i (total_q[j]),
      .read_en_i    (ahead_valid_i && !ahead_first_i),
      .read_addr_i  (ahead_index_i),
      .read_data_o  (stored[j])
    );
  end

  assign earlier = (held_q && index_q2 == index_q)   ? total_q
                  : (held_q2 && index_q3 == index_q) ? total_q2 : stored;
  always_comb begin
    for (int unsigned j = 0; j < Lw; j++) begin
      for (int unsigned lane = 0; lane < 2; lane++) begin
        total_d[j][lane] = (first_q ? ACC_W'(0) : earlier[j][lane])
                           + ACC_W'($signed(lane == 0 ? sums_low_i[j] : sums_high_i[j]));
      end
      out_low_o[j]  = total_q[j][0];
      out_high_o[j] = total_q[j][1];
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q     <= 1'b0;
      held_q      <= 1'b0;
      held_q2     <= 1'b0;
      out_valid_o <= 1'b0;
    end else begin
      valid_q     <= ahead_valid_i;
      held_q      <= valid_q && !last_q;
      held_q2     <= held_q;
      out_valid_o <= valid_q && last_q;
    end
    if (ahead_valid_i) begin
      index_q <= ahead_index_i;
      first_q <= ahead_first_i;
      last_q  <= ahead_last_i;
    end
    if (valid_q) begin
      total_q  <= total_d;
      index_q2 <= index_q;
    end
    if (held_q) begin
      total_q2 <= total_q;
      index_q3 <= index_q2;
    end
  end
endmodule : jd_qat_accum
