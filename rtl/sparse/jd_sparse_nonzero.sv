// SPDX-License-Identifier: Apache-2.0
//
// Counts the weights of a layer that its mask leaves.
//
// Streams  start_i: begins; idle_o: weights_o is the count. directory_i: the layer's groups, until then.
// Timing   GMax clocks.
// Numbers  exact.
// Source   docs/sparse.md (encoder). Golden model: models/sparse/osel.py, nnz.
module jd_sparse_nonzero
  import jd_sparse_pkg::*;
#(
  parameter int unsigned GMax = 32            // groups, power of two 1..32
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  output logic        idle_o,
  input  layer_t      layer_i,                // with start_i
  input  directory_t  directory_i,
  output logic [18:0] weights_o
);
  logic                busy_q;
  logic [GROUP_W-1:0]  group_q;
  logic [GROUPS_W-1:0] groups_q;
  assign idle_o = !busy_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      busy_q <= 1'b0;
    else if (start_i) busy_q <= 1'b1;
    else if (GROUPS_W'(group_q) + 1'b1 == groups_q) busy_q <= 1'b0;
    if (start_i) begin
      groups_q  <= layer_i.groups;
      group_q   <= '0;
      weights_o <= '0;
    end else if (busy_q) begin
      group_q   <= group_q + 1'b1;
      weights_o <= weights_o + 19'(directory_i.rows[32'(group_q) % GMax])
                               * 19'(directory_i.columns[32'(group_q) % GMax]);
    end
  end
endmodule : jd_sparse_nonzero
