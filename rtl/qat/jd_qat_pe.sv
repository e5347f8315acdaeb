// SPDX-License-Identifier: Apache-2.0
//
// A processing element: two multipliers of 32 by 16 bits with a double-buffered weight. For weight
// gradients it keeps two sums.
//
// Streams  none: the array gives operands and takes products.
// Timing   A product is valid two clocks after its operands, one per clock. load_i loads the shadow
//          weight. swap_i makes it the active weight for the operands of the next clock; a load in
//          the same clock belongs to the tile after. In dW the sums are complete two clocks after
//          the operands of the last entry. move_i then copies them to the drain register, even
//          while the first product of the next tile replaces them.
// Numbers  low lane: weight times the operand's lower half, which is the unsigned part of a full
//          operand or a signed half operand. High lane: weight times its upper half, signed. For a
//          full operand x, weight * x = (high << 16) + low. In dW the columns' deltas take the
//          place of the weight. Exact: 48 bits hold a product, 60 a sum of 4,096 products.
// Source   FIXAR V-A (adaptive parallelism); docs/qat.md. Golden model: models/qat/ops.py,
//          products.
`include "jd_assert.svh"
module jd_qat_pe
  import jd_qat_pkg::*;
(
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        load_i,
  input  logic [WORD_W-1:0]           load_word_i,
  input  logic                        swap_i,
  // Operands
  input  logic                        valid_i,
  input  logic                        half_i,
  input  logic                        gradient_i,    // dW
  input  logic                        opens_i,       // dW: sums begin anew
  input  logic [WORD_W-1:0]           row_i,
  input  logic [1:0][WORD_W-1:0]      column_i,      // dW: deltas of low and high lane
  output logic [1:0][PRODUCT_W-1:0]   product_o,     // low, high
  // Drain: what the neighbour shows, and what this one shows
  input  logic                        move_i,
  input  logic                        shift_i,
  input  logic [1:0][ACC_W-1:0]       drain_i,
  output logic [1:0][ACC_W-1:0]       drain_o
);
  logic [WORD_W-1:0] shadow_q, active_q;
  always_ff @(posedge clk_i) begin
    if (load_i) shadow_q <= load_word_i;
    if (swap_i) active_q <= shadow_q;
  end

  // The products, in two registers.
  logic signed [1:0][WORD_W-1:0]    factor;
  logic signed [HALF_W:0]           low;
  logic signed [HALF_W-1:0]         high;
  logic signed [1:0][PRODUCT_W-1:0] product_q, product_q2;
  logic                             valid_q, gradient_q, opens_q;
  assign factor = gradient_i ? column_i : {active_q, active_q};
  assign low    = {half_i && row_i[HALF_W-1], row_i[HALF_W-1:0]};
  assign high   = row_i[WORD_W-1:HALF_W];
  always_ff @(posedge clk_i) begin
    valid_q <= rst_ni && valid_i;
    if (valid_i) begin
      product_q[0] <= PRODUCT_W'($signed(factor[0])) * PRODUCT_W'(low);
      product_q[1] <= PRODUCT_W'($signed(factor[1])) * PRODUCT_W'(high);
      gradient_q   <= gradient_i;
      opens_q      <= opens_i;
    end
    if (valid_q) product_q2 <= product_q;
  end
  assign product_o = product_q2;

  // The sums of dW.
  logic signed [1:0][ACC_W-1:0] sum_q, drain_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned lane = 0; lane < 2; lane++) begin
      if (valid_q && gradient_q) begin
        sum_q[lane] <= (opens_q ? ACC_W'(0) : sum_q[lane]) + ACC_W'($signed(product_q[lane]));
      end
    end
    if (move_i)       drain_q <= sum_q;
    else if (shift_i) drain_q <= drain_i;
  end
  assign drain_o = drain_q;
endmodule : jd_qat_pe
