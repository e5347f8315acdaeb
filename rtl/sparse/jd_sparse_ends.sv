// SPDX-License-Identifier: Apache-2.0
//
// Ends of operations that all of some parts do: an operation has ended when each part says so.
//
// Streams  done_i, done_o: high for one clock at an end, in order.
// Timing   done_o comes one clock after the last part's end.
// Numbers  A part is ahead of the others by up to 3 operations.
// Source   -
`include "jd_assert.svh"
module jd_sparse_ends #(
  parameter int unsigned Parts = 3
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             clear_i,
  input  logic [Parts-1:0] done_i,
  output logic             done_o
);
  logic [Parts-1:0]      ended;
  logic [Parts-1:0][1:0] ends_q;            // that are not told of
  assign done_o = &ended;
  always_comb for (int unsigned k = 0; k < Parts; k++) ended[k] = ends_q[k] != '0;
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < Parts; k++) begin
      if (!rst_ni || clear_i) ends_q[k] <= '0;
      else                    ends_q[k] <= ends_q[k] + 2'(done_i[k]) - 2'(done_o);
    end
  end
  for (genvar k = 0; k < Parts; k++) begin : gen_check
    `JD_ASSERT_IF(Counted_A, done_i[k], ends_q[k] != '1 || done_o)
  end
endmodule : jd_sparse_ends
