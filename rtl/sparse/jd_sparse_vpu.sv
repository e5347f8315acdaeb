// SPDX-License-Identifier: Apache-2.0
//
// A vector processing unit, one lane of a bank: an FP16 multiplier, an FP16 adder, accumulators.
//
// Streams  in: a multiply-add, of one of Slots broadcast operands. A pipe: valid only, no stall.
//          read_row_i: four accumulators to look at, 4 * read_row_i and on.
// Timing   Accumulator and first_i are given MulLatency clocks after the operands. The sum is in its
//          accumulator MulLatency + AddLatency + 1 clocks after the operands, and can be added to
//          one clock earlier: an accumulator is used again after AddLatency clocks at the earliest.
// Numbers  FP16. acc = acc + x * w, product and sum rounded; with first_i acc = +0 + x * w. zero_i
//          makes both factors +0.
// Source   LearningGroup III-D, figure 6. Golden model: models/sparse/numbers.py, multiply_add.
`include "jd_assert.svh"
module jd_sparse_vpu
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Slots      = 4,    // 2, 4
  parameter  int unsigned Acc        = 64,   // accumulators: 16, 32, 64
  parameter  int unsigned MulLatency = 3,    // 1..4
  parameter  int unsigned AddLatency = 4,    // 1..4
  localparam int unsigned AccW       = $clog2(Acc),
  localparam int unsigned RowW       = AccW - 2
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           valid_i,
  input  logic                           zero_i,
  input  logic [$clog2(Slots)-1:0]       select_i,
  input  logic [Slots-1:0][HALF_W-1:0]   x_i,
  input  logic [HALF_W-1:0]              w_i,
  input  logic [AccW-1:0]                accumulator_i,   // of the product
  input  logic                           first_i,
  input  logic [AccW-1:0]                sink_i,          // AddLatency clocks after accumulator_i
  input  logic [RowW-1:0]                read_row_i,
  output logic [VECTORS-1:0][HALF_W-1:0] read_data_o
);
  /*verilator no_inline_module*/
  if (!(Slots inside {2, 4}) || !(Acc inside {16, 32, 64})) begin : gen_bad_size
    $fatal(1, "jd_sparse_vpu: Slots=%0d, want 2 or 4, Acc=%0d, want 16, 32 or 64", Slots, Acc);
  end

  logic              product_valid, sum_valid;
  logic [HALF_W-1:0] product, sum, term;
  jd_float_mul #(.ExpW (5), .ManW (10), .Latency (MulLatency)) u_mul (
    .clk_i, .rst_ni,
    .valid_i,
    .a_i      (zero_i ? '0 : x_i[select_i]),
    .b_i      (zero_i ? '0 : w_i),
    .valid_o  (product_valid),
    .result_o (product)
  );
  jd_float_add #(.ExpW (5), .ManW (10), .Latency (AddLatency)) u_add (
    .clk_i, .rst_ni,
    .valid_i    (product_valid),
    .subtract_i (1'b0),
    .a_i        (term),
    .b_i        (product),
    .valid_o    (sum_valid),
    .result_o   (sum)
  );

  // Accumulators, in four memories by the low bits of their number.
  logic [VECTORS-1:0][HALF_W-1:0] source;
  for (genvar k = 0; k < VECTORS; k++) begin : gen_accumulators
    jd_mem_lut #(.Depth (Acc / VECTORS), .Width (HALF_W), .Reads (2)) u_memory (
      .clk_i, .rst_ni,
      .write_en_i   (sum_valid && sink_i[1:0] == 2'(k)),
      .write_addr_i (sink_i[AccW-1:2]),
      .write_data_i (sum),
      .read_addr_i  ({read_row_i, accumulator_i[AccW-1:2]}),
      .read_data_o  ({read_data_o[k], source[k]})
    );
  end
  always_comb begin
    term = source[accumulator_i[1:0]];
    if (sum_valid && sink_i == accumulator_i) term = sum;
    if (first_i) term = '0;
  end
endmodule : jd_sparse_vpu
