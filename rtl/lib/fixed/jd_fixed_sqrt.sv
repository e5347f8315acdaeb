// SPDX-License-Identifier: Apache-2.0
//
// The square root of an unsigned integer, rounded down.
//
// Streams  in: a value; out: its root, in the same order. A pipe: valid only, no stall.
// Timing   latency RootW, a value per clock: each stage finds a bit of the root, the top one first.
// Numbers  unsigned, exact: result^2 <= value < (result + 1)^2. Restoring: what is left of the value
//          after k bits is at most twice the root so far, so it has k + 1 bits.
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
  // rest of those that were seen; the root so far.
  localparam int unsigned RestW = RootW + 1;
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
    // A one at the root's end fits if the rest is at least 4*root + 1 with the next two bits.
    logic [RestW+1:0] next, trial;
    assign next  = {rest[k], value[k][ValueW-1 -: 2]};
    assign trial = next - (RestW + 2)'({root[k], 2'b01});
    always_ff @(posedge clk_i) begin
      if (valid[k]) begin
        value[k+1] <= {value[k][ValueW-3:0], 2'b00};
        rest[k+1]  <= trial[RestW+1] ? next[RestW-1:0] : trial[RestW-1:0];
        root[k+1]  <= {root[k][RootW-2:0], !trial[RestW+1]};
      end
    end
  end
endmodule : jd_fixed_sqrt
