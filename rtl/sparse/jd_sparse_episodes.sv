// SPDX-License-Identifier: Apache-2.0
//
// Vectors of each core, and where tiles begin with an episode.
//
// Streams  start_i: agents and episodes are there, and stay; ready_o: episodes_o is of them.
// Timing   8 clocks.
// Numbers  exact, but vectors above 65,535 are 65,535. Core c has the episodes from
//          c * episodes / Cores on, rounded down.
// Source   docs/sparse.md (programs). Golden model: models/sparse/validate.py, Context.vectors.
`include "jd_assert.svh"
module jd_sparse_episodes
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores = 3               // 1..3
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic        start_i,
  input  logic [7:0]  agents_i,
  input  logic [15:0] episodes_i,
  output logic        ready_o,
  output episodes_t   episodes_o
);
  if (Cores < 1 || Cores > 3) begin : gen_bad_cores
    $fatal(1, "jd_sparse_episodes: Cores=%0d, want 1..3", Cores);
  end
  localparam int unsigned THIRD   = 43691;       // 2**17 / 3, rounded up: right for 16 bits
  localparam int unsigned THIRD_W = 17;
  localparam int unsigned ProductW = 24;

  // Clock 1: a third of the episodes; 2: borders; 3, 4, 5, 6: a core's episodes, or all, times agents.
  logic [2:0]          step_q;
  logic [15:0]         third_q, count_q;
  logic [2:0][15:0]    first_q;                  // episode of cores 1 and 2, and the end
  logic [ProductW-1:0] product;
  logic [VECTORS_W-1:0] vectors;
  assign product = ProductW'(count_q) * ProductW'(agents_i);
  assign vectors = (product >> VECTORS_W) != '0 ? '1 : VECTORS_W'(product);
  always_ff @(posedge clk_i) begin
    if (!rst_ni)             {step_q, ready_o} <= '0;
    else if (start_i)        {step_q, ready_o} <= {3'd1, 1'b0};
    else if (step_q == 3'd7) {step_q, ready_o} <= {3'd0, 1'b1};
    else if (step_q != '0)   step_q <= step_q + 1'b1;
    third_q <= 16'((33'(episodes_i) * 33'(THIRD)) >> THIRD_W);
    unique case (Cores)
      1: first_q <= {3{episodes_i}};
      2: first_q <= {{2{episodes_i}}, episodes_i >> 1};
      default: first_q <= {episodes_i, third_q + third_q + 16'(episodes_i - 3 * third_q == 16'd2),
                           third_q};
    endcase
    unique case (step_q)
      3'd3: count_q <= first_q[0];
      3'd4: count_q <= first_q[1] - first_q[0];
      3'd5: count_q <= first_q[2] - first_q[1];
      default: count_q <= episodes_i;
    endcase
    if (step_q == 3'd4) episodes_o.cores[0] <= vectors;
    if (step_q == 3'd5) episodes_o.cores[1] <= vectors;
    if (step_q == 3'd6) episodes_o.cores[2] <= vectors;
    if (step_q == 3'd7) episodes_o.all      <= vectors;
    episodes_o.nothing <= agents_i == '0 || episodes_i == '0;
    episodes_o.period  <= agents_i[0] ? agents_i : agents_i[1] ? agents_i >> 1 : agents_i >> 2;
    for (int unsigned tiles = 1; tiles <= 8; tiles++) begin
      episodes_o.whole[tiles] <= 1'b0;
      for (int unsigned count = 1; count <= VECTORS * tiles; count++) begin
        if ((VECTORS * tiles) % count == 0 && agents_i == 8'(count)) begin
          episodes_o.whole[tiles] <= 1'b1;
        end
      end
    end
  end

  `JD_ASSUME_NEXT(Stays_M, !ready_o && step_q != '0 && !start_i,
                  $stable(agents_i) && $stable(episodes_i))
endmodule : jd_sparse_episodes
