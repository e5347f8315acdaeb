// SPDX-License-Identifier: Apache-2.0
//
// The step of an LSTM, of a neuron and a vector.
//
//   i, f, o = sigmoid(z), g = tanh(z); cell' = f*cell + i*g; tc = tanh(cell'); h = o*tc
//
// Streams  in: z of the gates, and CURVE_LATENCY clocks later the cell of the step before; out: the
//          tensors of the step, in the same order. A pipe: valid only, no stall.
// Timing   2 * (CURVE_LATENCY + MulLatency) + AddLatency clocks, a neuron per clock.
// Numbers  FP16, each operation rounded on its own.
// Source   Hochreiter and Schmidhuber 1997. Golden model: models/sparse/lstm.py, forward.
module jd_sparse_lstm_forward
  import jd_sparse_pkg::*;
#(
  parameter int unsigned MulLatency = 3,     // clocks of the FP16 units, 1..4
  parameter int unsigned AddLatency = 4
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   valid_i,
  input  logic [3:0][HALF_W-1:0] z_i,        // of i, f, g, o
  input  logic [HALF_W-1:0]      cell_i,
  output logic                   valid_o,
  output logic [6:0][HALF_W-1:0] step_o      // h, cell, tc, i, f, g, o
);
  /*verilator no_inline_module*/
  localparam int unsigned ToEnd = CURVE_LATENCY + 2 * MulLatency + AddLatency;  // from the gates on

  logic [3:0]             gate_valid;
  logic [3:0][HALF_W-1:0] gates, gates_end;
  for (genvar k = 0; k < 4; k++) begin : gen_gate
    jd_sparse_curve #(.Sigmoid (k != 2)) u_curve (
      .clk_i, .rst_ni, .valid_i, .x_i (z_i[k]), .valid_o (gate_valid[k]), .result_o (gates[k])
    );
  end
  jd_delay #(.Width (4 * HALF_W), .Cycles (ToEnd), .Clear (1'b0)) u_gates (
    .clk_i, .rst_ni, .in_i (gates), .out_o (gates_end)
  );

  logic              kept_valid, new_valid, cell_valid, tc_valid;
  logic [HALF_W-1:0] kept, news, cells, cells_end, tc, tc_end, o;
  jd_float_mul #(.ExpW (5), .ManW (10), .Latency (MulLatency)) u_kept (
    .clk_i, .rst_ni, .valid_i (gate_valid[1]), .a_i (gates[1]), .b_i (cell_i),
    .valid_o (kept_valid), .result_o (kept)
  );
  jd_float_mul #(.ExpW (5), .ManW (10), .Latency (MulLatency)) u_new (
    .clk_i, .rst_ni, .valid_i (gate_valid[0]), .a_i (gates[0]), .b_i (gates[2]),
    .valid_o (new_valid), .result_o (news)
  );
  jd_float_add #(.ExpW (5), .ManW (10), .Latency (AddLatency)) u_cell (
    .clk_i, .rst_ni, .valid_i (kept_valid), .subtract_i (1'b0), .a_i (kept), .b_i (news),
    .valid_o (cell_valid), .result_o (cells)
  );
  jd_sparse_curve u_tc (
    .clk_i, .rst_ni, .valid_i (cell_valid), .x_i (cells), .valid_o (tc_valid), .result_o (tc)
  );
  jd_delay #(.Width (HALF_W), .Cycles (ToEnd - MulLatency), .Clear (1'b0)) u_o (
    .clk_i, .rst_ni, .in_i (gates[3]), .out_o (o)
  );
  jd_float_mul #(.ExpW (5), .ManW (10), .Latency (MulLatency)) u_h (
    .clk_i, .rst_ni, .valid_i (tc_valid), .a_i (o), .b_i (tc),
    .valid_o, .result_o (step_o[0])
  );
  jd_delay #(.Width (HALF_W), .Cycles (CURVE_LATENCY + MulLatency), .Clear (1'b0)) u_cells (
    .clk_i, .rst_ni, .in_i (cells), .out_o (cells_end)
  );
  jd_delay #(.Width (HALF_W), .Cycles (MulLatency), .Clear (1'b0)) u_tangent (
    .clk_i, .rst_ni, .in_i (tc), .out_o (tc_end)
  );
  assign step_o[6:1] = {gates_end, tc_end, cells_end};

  logic unused;
  assign unused = ^{gate_valid[3:2], new_valid};
endmodule : jd_sparse_lstm_forward
