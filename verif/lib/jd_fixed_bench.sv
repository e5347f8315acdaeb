// SPDX-License-Identifier: Apache-2.0
//
// The fixed-point blocks side by side, so that one simulator has them all.
//
// Streams  of each block: valid, operands -> valid, result.
// Timing   that of the blocks.
// Numbers  those of the blocks.
// Source   docs/qat.md.
module jd_fixed_bench (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        wide_valid_i,
  input  logic [61:0] wide_value_i,
  input  logic [4:0]  wide_shift_i,
  output logic        wide_valid_o,
  output logic [31:0] wide_result_o,
  output logic        wide_saturated_o,
  input  logic        narrow_valid_i,
  input  logic [31:0] narrow_value_i,
  input  logic [4:0]  narrow_shift_i,
  output logic        narrow_valid_o,
  output logic [15:0] narrow_result_o,
  output logic        narrow_saturated_o,
  output logic        direct_valid_o,
  output logic [15:0] direct_result_o,
  output logic        direct_saturated_o,
  input  logic        sqrt_valid_i,
  input  logic [63:0] sqrt_value_i,
  output logic        sqrt_valid_o,
  output logic [31:0] sqrt_result_o,
  input  logic        div_valid_i,
  input  logic [31:0] div_dividend_i,
  input  logic [32:0] div_divisor_i,
  output logic        div_valid_o,
  output logic [26:0] div_result_o,
  input  logic        tanh_valid_i,
  input  logic [31:0] tanh_value_i,
  output logic        tanh_valid_o,
  output logic [31:0] tanh_result_o
);
  jd_fixed_round #(.InW (62), .OutW (32), .ShiftMax (24), .Latency (2)) u_wide (
    .clk_i, .rst_ni,
    .valid_i     (wide_valid_i),
    .value_i     (wide_value_i),
    .shift_i     (wide_shift_i),
    .valid_o     (wide_valid_o),
    .result_o    (wide_result_o),
    .saturated_o (wide_saturated_o)
  );
  jd_fixed_round #(.InW (32), .OutW (16), .ShiftMax (16), .Latency (1)) u_narrow (
    .clk_i, .rst_ni,
    .valid_i     (narrow_valid_i),
    .value_i     (narrow_value_i),
    .shift_i     (narrow_shift_i),
    .valid_o     (narrow_valid_o),
    .result_o    (narrow_result_o),
    .saturated_o (narrow_saturated_o)
  );
  jd_fixed_round #(.InW (32), .OutW (16), .ShiftMax (16), .Latency (0)) u_direct (
    .clk_i, .rst_ni,
    .valid_i     (narrow_valid_i),
    .value_i     (narrow_value_i),
    .shift_i     (narrow_shift_i),
    .valid_o     (direct_valid_o),
    .result_o    (direct_result_o),
    .saturated_o (direct_saturated_o)
  );
  jd_fixed_sqrt u_sqrt (
    .clk_i, .rst_ni,
    .valid_i  (sqrt_valid_i),
    .value_i  (sqrt_value_i),
    .valid_o  (sqrt_valid_o),
    .result_o (sqrt_result_o)
  );
  jd_fixed_div u_div (
    .clk_i, .rst_ni,
    .valid_i    (div_valid_i),
    .dividend_i (div_dividend_i),
    .divisor_i  (div_divisor_i),
    .valid_o    (div_valid_o),
    .result_o   (div_result_o)
  );
  jd_fixed_tanh u_tanh (
    .clk_i, .rst_ni,
    .valid_i  (tanh_valid_i),
    .value_i  (tanh_value_i),
    .valid_o  (tanh_valid_o),
    .result_o (tanh_result_o)
  );
endmodule : jd_fixed_bench
