// SPDX-License-Identifier: Apache-2.0
//
// An array of one arithmetic block, for measuring what an operation costs in simulation.
//
// Streams  in: an operand pair for each element; out: the results. Pipes: valid only.
// Timing   that of the block.
// Numbers  those of the block; Operation 0 mul, 1 add.
// Source   docs/float.md.
module jd_float_array #(
  parameter int unsigned Operation = 0,
  parameter int unsigned Latency   = 2,
  parameter int unsigned Count     = 64
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        valid_i,
  input  logic        subtract_i,
  input  logic [31:0] a_i     [Count],
  input  logic [31:0] b_i     [Count],
  output logic        valid_o [Count],
  output logic [31:0] result_o[Count]
);
  for (genvar i = 0; i < Count; i++) begin : gen_element
    if (Operation == 0) begin : gen_mul
      jd_float_mul #(.Latency) u_mul (
        .clk_i, .rst_ni, .valid_i, .a_i(a_i[i]), .b_i(b_i[i]), .valid_o(valid_o[i]),
        .result_o(result_o[i])
      );
    end else begin : gen_add
      jd_float_add #(.Latency) u_add (
        .clk_i, .rst_ni, .valid_i, .subtract_i, .a_i(a_i[i]), .b_i(b_i[i]),
        .valid_o(valid_o[i]), .result_o(result_o[i])
      );
    end
  end
  if (Operation == 0) begin : gen_no_subtract
    logic unused_subtract;
    assign unused_subtract = subtract_i;
  end
endmodule : jd_float_array
