// SPDX-License-Identifier: Apache-2.0
//
// The square root of an unsigned integer, rounded down.
//
// Streams  in: a value; out: its root, in the same order. A pipe: valid only, no stall.
// Timing   latency RootW, a value per clock: each stage finds a bit of the root, the top one first.
// Numbers  unsigned, exact: result^2 <= value < (result + 1)^2. Not restoring: a rest below 0 stays,
//          and the next stage adds. After k bits it is within +-2^(k+1), so it has k + 2 bits.
// Source   docs/qat.md (Adam). Golden model: models/qat/ops.py, isqrt.
`include "jd_assert.svh"
module jd_fixed_sqrt #(
  parameter  int unsigned RootW  = 32,           // bits of a root, 2..32; a value has twice as many
  localparam int unsigned ValueW = 2 * RootW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              valid_i,
  input  logic [ValueW-1:0] value_i,
  output logic              valid_o,
  output logic [RootW-1:0]  result_o
);
  if (RootW < 2 || RootW > 32) begin : gen_bad_width
    $fatal(1, "jd_fixed_sqrt: RootW=%0d, want 2..32", RootW);
  end

  // Element k is after k stages: the bits of the value that no stage has seen yet, at the top; the
  // rest of those that were seen, with its sign; the root so far.
  localparam int unsigned RestW = RootW + 2;
  logic [RootW:0]    valid;
  logic [ValueW-1:0] value [RootW+1] /*verilator split_var*/;
  logic [RestW-1:0]  rest  [RootW+1] /*verilator split_var*/;
  logic [RootW-1:0]  root  [RootW+1] /*verilator split_var*/;
  assign valid[0] = valid_i;
  assign value[0] = value_i;
  assign rest[0]  = '0;
  assign root[0]  = '0;
  assign valid_o  = valid[RootW];
  assign result_o = root[RootW];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid[RootW:1] <= '0;
    else         valid[RootW:1] <= valid[RootW-1:0];
  end

  for (genvar k = 0; k < RootW; k++) begin : gen_stage
    // A one at the root's end fits if the rest, with the next two bits, is at least 4*root + 1. Of a
    // rest below 0 that was taken already, as 4*root + 4: what is added is 4*root + 3.
    localparam int unsigned NextW = k + 3;
    logic             below;
    logic [NextW-1:0] next, sum;
    logic [NextW-3:0] taken;
    assign below = rest[k][RestW-1];
    assign next  = NextW'({rest[k], value[k][ValueW-1 -: 2]});
    assign taken = (NextW - 2)'(root[k]) ^ {NextW-2{!below}};
    assign sum   = next + {taken, 2'b11};
    always_ff @(posedge clk_i) begin
      if (valid[k]) begin
        value[k+1] <= {value[k][ValueW-3:0], 2'b00};
        rest[k+1]  <= RestW'($signed(sum));
        root[k+1]  <= {root[k][RootW-2:0], !sum[NextW-1]};
      end
    end
  end
endmodule : jd_fixed_sqrt
