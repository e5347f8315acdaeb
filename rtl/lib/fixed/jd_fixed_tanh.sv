// SPDX-License-Identifier: Apache-2.0
//
// The hyperbolic tangent by linear segments.
//
// Streams  in: a value; out: its tangent, in the same order. A pipe: valid only, no stall.
// Timing   latency 4, a value per clock:  1 magnitude | 2 table | 3 product | 4 sum, rounded.
// Numbers  signed, 16 bits after the point, at most 3.15e-5 from the exact one. With T[k] the tangent
//          of k/64, 18 bits after the point, and x = min(|value|, 2^19 - 1), k = x >> 10 and
//          f = x mod 2^10:  R(T[k]*2^10 + (T[k+1] - T[k])*f, 12), halves up, with the value's sign.
// Source   docs/qat.md (numbers). Golden model: models/qat/ops.py, tanh.
`include "jd_assert.svh"
module jd_fixed_tanh
  import jd_fixed_tanh_tables_pkg::*;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               valid_i,
  input  logic signed [31:0] value_i,
  output logic               valid_o,
  output logic signed [31:0] result_o            // -65536..65536
);
  localparam int unsigned MagnitudeW = 19;       // of x: below 8
  localparam int unsigned SegmentW   = 10;       // of f
  localparam int unsigned ProductW   = STEP_W + SegmentW;
  localparam int unsigned SumW       = BASE_W + SegmentW;        // at most 2^28 + 2^11
  localparam int unsigned Drop       = 12;

  logic valid_q, valid_q2, valid_q3;
  logic minus_q, minus_q2, minus_q3;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) {valid_q, valid_q2, valid_q3, valid_o} <= '0;
    else         {valid_q, valid_q2, valid_q3, valid_o} <= {valid_i, valid_q, valid_q2, valid_q3};
  end

  logic [31:0]           magnitude;
  logic [MagnitudeW-1:0] x_q;
  assign magnitude = value_i < 0 ? -value_i : value_i;           // of -2^31: 2^31, as unsigned
  always_ff @(posedge clk_i) begin
    if (valid_i) begin
      minus_q <= value_i < 0;
      x_q     <= magnitude[31:MagnitudeW] != '0 ? '1 : magnitude[MagnitudeW-1:0];
    end
  end

  logic [STEP_W+BASE_W-1:0] segment_q2;          // {T[k+1] - T[k], T[k]}
  logic [SegmentW-1:0]      f_q2;
  always_ff @(posedge clk_i) begin
    if (valid_q) begin
      minus_q2   <= minus_q;
      segment_q2 <= TANH_TABLE[x_q[MagnitudeW-1:SegmentW]];
      f_q2       <= x_q[SegmentW-1:0];
    end
  end

  logic [ProductW-1:0] product_q3;
  logic [BASE_W-1:0]   base_q3;
  always_ff @(posedge clk_i) begin
    if (valid_q2) begin
      minus_q3   <= minus_q2;
      product_q3 <= ProductW'(segment_q2[BASE_W +: STEP_W]) * ProductW'(f_q2);
      base_q3    <= segment_q2[BASE_W-1:0];
    end
  end

  logic [SumW-1:0] sum;
  logic [31:0]     rounded;
  assign sum     = {base_q3, SegmentW'(0)} + SumW'(product_q3) + SumW'(1 << (Drop - 1));
  assign rounded = 32'(sum >> Drop);
  always_ff @(posedge clk_i) begin
    if (valid_q3) result_o <= minus_q3 ? -rounded : rounded;
  end
endmodule : jd_fixed_tanh
