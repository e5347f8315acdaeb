// SPDX-License-Identifier: Apache-2.0
//
// Multiplies two binary32 or binary16 numbers: the simulator's stand-in for
// rtl/lib/float/jd_float_mul.sv, whose product the processor computes.
//
// Streams  as of that module.
// Timing   as of that module.
// Numbers  binary32, binary16, the same bits as of that module (arithmetic.cpp).
// Source   -
module jd_float_mul #(
  parameter  int unsigned ExpW    = 8,                 // 8 or 5
  parameter  int unsigned ManW    = 23,                // 23 or, with 5, 10
  parameter  int unsigned Latency = 4,                 // clocks, 1..4
  localparam int unsigned FloatW  = 1 + ExpW + ManW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic [FloatW-1:0] a_i,
  input  logic [FloatW-1:0] b_i,
  output logic              valid_o,
  output logic [FloatW-1:0] result_o
);
  if (!(ExpW == 8 && ManW == 23) && !(ExpW == 5 && ManW == 10)) begin : gen_bad_format
    $fatal(1, "jd_float_mul: ExpW=%0d ManW=%0d, want 8 and 23, or 5 and 10", ExpW, ManW);
  end
  if (Latency < 1 || Latency > 4) begin : gen_bad_latency
    $fatal(1, "jd_float_mul: Latency=%0d, want 1..4", Latency);
  end
  import "DPI-C" pure function int unsigned jd_compiled_mul(input int unsigned a,
                                                            input int unsigned b);
  import "DPI-C" pure function int unsigned jd_compiled_mul_half(input int unsigned a,
                                                                 input int unsigned b);
  function automatic logic [FloatW-1:0] compute(input logic [FloatW-1:0] a,
                                                input logic [FloatW-1:0] b);
    return FloatW'(ExpW == 8 ? jd_compiled_mul(32'(a), 32'(b))
                             : jd_compiled_mul_half(32'(a), 32'(b)));
  endfunction

  // Element k is at the entrance of stage k; each stage loads only under its own valid bit.
  logic [Latency:1]  valid;
  logic [FloatW-1:0] result [Latency:1] /*verilator split_var*/;
  always_ff @(posedge clk_i) begin
    valid[1] <= rst_ni && valid_i;
    if (valid_i) result[1] <= compute(a_i, b_i);
  end
  for (genvar k = 1; k < Latency; k++) begin : gen_stage
    always_ff @(posedge clk_i) begin
      valid[k+1] <= rst_ni && valid[k];
      if (valid[k]) result[k+1] <= result[k];
    end
  end
  assign valid_o  = valid[Latency];
  assign result_o = result[Latency];
endmodule : jd_float_mul
