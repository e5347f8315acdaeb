// SPDX-License-Identifier: Apache-2.0
//
// Multiplies two numbers, one bit per clock.
//
// Streams  start_i takes the factors; product_o is their product while busy_o is low.
// Timing   busy_o is high for as many clocks as the second factor has bits up to its highest 1, at
//          least one.
// Numbers  unsigned, modulo 2**ProductW.
// Source   -
`include "jd_assert.svh"
module jd_multiply #(
  parameter int unsigned FirstW   = 22,   // bits of the first factor, 1..ProductW
  parameter int unsigned SecondW  = 18,   // and of the second, 1 or more
  parameter int unsigned ProductW = 26
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  input  logic [FirstW-1:0]   first_i,
  input  logic [SecondW-1:0]  second_i,
  output logic                busy_o,
  output logic [ProductW-1:0] product_o
);
  if (FirstW < 1 || FirstW > ProductW || SecondW < 1) begin : gen_bad_width
    $fatal(1, "jd_multiply: FirstW=%0d, want 1..%0d, SecondW=%0d, want 1 or more", FirstW, ProductW,
           SecondW);
  end

  logic [ProductW-1:0] first_q;
  logic [SecondW-1:0]  second_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) busy_o <= 1'b0;
    else         busy_o <= start_i || (busy_o && second_q >> 1 != '0);
    if (start_i) begin
      first_q   <= ProductW'(first_i);
      second_q  <= second_i;
      product_o <= '0;
    end else if (busy_o) begin
      first_q  <= first_q << 1;
      second_q <= second_q >> 1;
      if (second_q[0]) product_o <= product_o + first_q;
    end
  end

  `JD_ASSUME_IF(StartsFree_M, start_i, !busy_o)
endmodule : jd_multiply
