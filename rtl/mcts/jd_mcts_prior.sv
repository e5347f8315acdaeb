// SPDX-License-Identifier: Apache-2.0
//
// Legal children and priors that updates bring, a row for each worker and parity, for all node units.
//
// Streams  write_*: the row of a request. ask_*: a unit wants a row; done_o: it is here, for that unit.
// Timing   a row per clock; done_o two clocks after the unit was served, round robin.
// Numbers  bits, unchanged.
// Source   docs/mcts.md. Golden model: models/mcts/tree.py, _activate.
`include "jd_assert.svh"
module jd_mcts_prior
  import jd_mcts_pkg::*;
#(
  parameter  int unsigned F     = 6,     // children, 2..32
  parameter  int unsigned Units = 33,    // node units, 2..65
  parameter  int unsigned WMax  = 256,   // workers, power of two 2..4096
  localparam int unsigned RowW  = $clog2(WMax) + 1
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           write_i,
  input  logic [RowW-1:0]                write_row_i,
  input  logic [F-1:0]                   write_legal_i,
  input  logic [F-1:0][PRIOR_W-1:0]      write_priors_i,
  input  logic [Units-1:0]               ask_valid_i,
  output logic [Units-1:0]               ask_ready_o,
  input  logic [Units-1:0][RowW-1:0]     ask_row_i,
  output logic [Units-1:0]               done_o,
  output logic [F-1:0]                   legal_o,
  output logic [F-1:0][PRIOR_W-1:0]      priors_o
);
  logic [Units-1:0] above_q;                      // units above the last one served
  logic [Units-1:0] offered, granted;
  logic [Units-1:0] earlier;                      // a unit before it is offered
  logic [RowW-1:0]  row;
  assign offered = (ask_valid_i & above_q) != '0 ? ask_valid_i & above_q : ask_valid_i;
  always_comb begin
    earlier = '0;
    for (int unsigned k = 1; k < Units; k++) earlier[k] = earlier[k-1] || offered[k-1];
    granted = offered & ~earlier;
    row     = '0;
    for (int unsigned k = 0; k < Units; k++) begin
      if (granted[k]) row = row | ask_row_i[k];
    end
  end
  assign ask_ready_o = granted;
  logic            read_q;
  logic [RowW-1:0] row_q;
  logic [Units-1:0] granted_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      above_q   <= '0;
      read_q    <= 1'b0;
      granted_q <= '0;
      done_o    <= '0;
    end else begin
      if (ask_valid_i != '0) above_q <= earlier;
      read_q    <= ask_valid_i != '0;
      granted_q <= granted;
      done_o    <= granted_q;
    end
    row_q <= row;
  end
  jd_mem_1r1w #(.Depth (2 * WMax), .Lanes (1), .LaneW (F * (PRIOR_W + 1))) u_rows (
    .clk_i, .rst_ni,
    .write_en_i   (write_i),
    .write_addr_i (write_row_i),
    .write_mask_i (1'b1),
    .write_data_i ({write_legal_i, write_priors_i}),
    .read_en_i    (read_q),
    .read_addr_i  (row_q),
    .read_data_o  ({legal_o, priors_o})
  );

  `JD_ASSERT(OneServed_A, $onehot0(done_o))
endmodule : jd_mcts_prior
