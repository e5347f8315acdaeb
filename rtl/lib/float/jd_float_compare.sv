// SPDX-License-Identifier: Apache-2.0
//
// Compares two floating-point numbers.
//
// Streams  none.
// Timing   combinational: one comparison of magnitudes and a few levels after it.
// Numbers  IEEE 754 binary format of ExpW and ManW; +0 equals -0; of a < b, a = b, a > b and
//          unordered exactly one holds, the last if any operand is a NaN.
// Source   IEEE 754-2019, 5.11. Golden model: models/float, less and equal.
module jd_float_compare #(
  parameter  int unsigned ExpW   = 8,                  // exponent bits, 2..
  parameter  int unsigned ManW   = 23,                 // fraction bits, 1..
  localparam int unsigned FloatW = 1 + ExpW + ManW
) (
  input  logic [FloatW-1:0] a_i,
  input  logic [FloatW-1:0] b_i,
  output logic              less_o,
  output logic              equal_o,
  output logic              unordered_o
);
  localparam logic [ExpW-1:0]   EXP_MAX   = '1;
  localparam logic [FloatW-2:0] INFINITE  = {EXP_MAX, ManW'(0)};

  logic [FloatW-2:0] a_size, b_size;
  logic              a_minus, b_minus, both_zero;

  assign {a_minus, a_size} = a_i;
  assign {b_minus, b_size} = b_i;
  assign both_zero   = (a_size | b_size) == '0;
  assign unordered_o = a_size > INFINITE || b_size > INFINITE;
  assign equal_o     = !unordered_o && (a_i == b_i || both_zero);

  always_comb begin
    less_o = a_minus;                                  // if the signs differ
    if (a_minus == b_minus) less_o = a_minus ? b_size < a_size : a_size < b_size;
    if (unordered_o || both_zero) less_o = 1'b0;
  end
endmodule : jd_float_compare
