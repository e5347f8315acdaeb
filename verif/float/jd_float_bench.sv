// SPDX-License-Identifier: Apache-2.0
//
// One arithmetic block with prefixed ports, for the pyuvm environment.
//
// Streams  in: operands; out: the result. Pipes: valid only.
// Timing   that of the block.
// Numbers  those of the block; Operation 0 mul, 1 add, 2 div, 3 sqrt.
// Source   docs/float.md.
module jd_float_bench #(
  parameter  int unsigned Operation = 0,
  parameter  int unsigned ExpW      = 8,
  parameter  int unsigned ManW      = 23,
  parameter  int unsigned Latency   = 2,
  localparam int unsigned FloatW    = 1 + ExpW + ManW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              in_valid_i,
  input  logic              in_subtract_i,
  input  logic [FloatW-1:0] in_a_i,
  input  logic [FloatW-1:0] in_b_i,
  output logic              out_valid_o,
  output logic [FloatW-1:0] out_result_o
);
  if (Operation == 0) begin : gen_mul
    jd_float_mul #(.ExpW, .ManW, .Latency) u_mul (
      .clk_i, .rst_ni, .valid_i(in_valid_i), .a_i(in_a_i), .b_i(in_b_i), .valid_o(out_valid_o),
      .result_o(out_result_o)
    );
  end
  if (Operation == 1) begin : gen_add
    jd_float_add #(.ExpW, .ManW, .Latency) u_add (
      .clk_i, .rst_ni, .valid_i(in_valid_i), .subtract_i(in_subtract_i), .a_i(in_a_i),
      .b_i(in_b_i), .valid_o(out_valid_o), .result_o(out_result_o)
    );
  end
  if (Operation == 2) begin : gen_div
    jd_float_div #(.ExpW, .ManW, .Latency) u_div (
      .clk_i, .rst_ni, .valid_i(in_valid_i), .a_i(in_a_i), .b_i(in_b_i), .valid_o(out_valid_o),
      .result_o(out_result_o)
    );
  end
  if (Operation == 3) begin : gen_sqrt
    jd_float_sqrt #(.ExpW, .ManW, .Latency) u_sqrt (
      .clk_i, .rst_ni, .valid_i(in_valid_i), .a_i(in_a_i), .valid_o(out_valid_o),
      .result_o(out_result_o)
    );
  end
  if (Operation != 1) begin : gen_no_subtract
    logic unused_subtract;
    assign unused_subtract = in_subtract_i;
  end
  if (Operation == 3) begin : gen_no_b
    logic unused_b;
    assign unused_b = ^in_b_i;
  end
endmodule : jd_float_bench
