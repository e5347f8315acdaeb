// SPDX-License-Identifier: Apache-2.0
//
// The gradient of an LSTM's step, of a neuron and a vector.
//
//   do = dh*tc; q = dh*o; dc = dcell + q*(1 - tc*tc); di = dc*g; dg = dc*i; df = dc*old
//   dzi = (di*i)*(1 - i); dzf = (df*f)*(1 - f); dzg = dg*(1 - g*g); dzo = (do*o)*(1 - o)
//   gradient of the old cell: dc*f
//
// Streams  in: the step's tensors and gradients; out: gradients by z and by the cell, in the same
//          order. A pipe: valid only, no stall.
// Timing   5 * MulLatency + 2 * AddLatency clocks, a neuron per clock.
// Numbers  FP16, each operation rounded on its own.
// Source   Hochreiter and Schmidhuber 1997. Golden model: models/sparse/lstm.py, backward.
module jd_sparse_lstm_back
  import jd_sparse_pkg::*;
#(
  parameter int unsigned MulLatency = 3,     // clocks of the FP16 units, 1..4
  parameter int unsigned AddLatency = 4
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   valid_i,
  input  logic [7:0][HALF_W-1:0] step_i,     // dh, old cell, tc, i, f, g, o, dcell
  output logic                   valid_o,
  output logic [4:0][HALF_W-1:0] grads_o     // by z of i, f, g and o; by the old cell
);
  /*verilator no_inline_module*/
  localparam logic [HALF_W-1:0] ONE = 16'h3C00;
  localparam int unsigned M      = MulLatency;
  localparam int unsigned A      = AddLatency;
  localparam int unsigned ToDc   = 2 * M + 2 * A;         // clocks to dc,
  localparam int unsigned ToDi   = ToDc + M;              // di, dg and df,
  localparam int unsigned ToLast = ToDi + M;              // and the factors of the last products
  logic [HALF_W-1:0] dh, old, tc, i, f, g, o, dcell;
  assign {dcell, o, g, f, i, tc, old, dh} = step_i;

  // ---- What does not wait for dc
  logic [3:0]             first_valid;
  logic [3:0][HALF_W-1:0] first, left, right;             // do, q, tc*tc, g*g
  logic [HALF_W-1:0]      o_first, doo, doo_last;         // do*o
  logic                   doo_valid;
  assign left  = {g, tc, dh, dh};
  assign right = {g, tc, o, tc};
  for (genvar k = 0; k < 4; k++) begin : gen_first
    jd_float_mul #(.ExpW (5), .ManW (10), .Latency (M)) u_product (
      .clk_i, .rst_ni, .valid_i, .a_i (left[k]), .b_i (right[k]),
      .valid_o (first_valid[k]), .result_o (first[k])
    );
  end
  jd_delay #(.Width (HALF_W), .Cycles (M), .Clear (1'b0)) u_o (
    .clk_i, .rst_ni, .in_i (o), .out_o (o_first)
  );
  jd_float_mul #(.ExpW (5), .ManW (10), .Latency (M)) u_doo (
    .clk_i, .rst_ni, .valid_i (first_valid[0]), .a_i (first[0]), .b_i (o_first),
    .valid_o (doo_valid), .result_o (doo)
  );
  jd_delay #(.Width (HALF_W), .Cycles (ToLast - 2 * M), .Clear (1'b0)) u_doo_last (
    .clk_i, .rst_ni, .in_i (doo), .out_o (doo_last)
  );

  logic [4:0]             rest_valid;
  logic [4:0][HALF_W-1:0] taken, rest;                    // 1 - tc*tc, 1 - g*g, 1 - i, 1 - f, 1 - o
  logic [HALF_W-1:0]      g_rest_di;
  logic [2:0][HALF_W-1:0] rest_last;                      // of i, f, o
  assign taken = {o, f, i, first[3], first[2]};
  for (genvar k = 0; k < 5; k++) begin : gen_rest
    jd_float_add #(.ExpW (5), .ManW (10), .Latency (A)) u_rest (
      .clk_i, .rst_ni,
      .valid_i    (k < 2 ? first_valid[2] : valid_i),
      .subtract_i (1'b1),
      .a_i        (ONE),
      .b_i        (taken[k]),
      .valid_o    (rest_valid[k]),
      .result_o   (rest[k])
    );
  end
  jd_delay #(.Width (HALF_W), .Cycles (ToDi - M - A), .Clear (1'b0)) u_g_rest (
    .clk_i, .rst_ni, .in_i (rest[1]), .out_o (g_rest_di)
  );
  jd_delay #(.Width (3 * HALF_W), .Cycles (ToLast - A), .Clear (1'b0)) u_rest_last (
    .clk_i, .rst_ni, .in_i (rest[4:2]), .out_o (rest_last)
  );

  // ---- dc, and what is its product
  logic                   p_valid, dc_valid;
  logic [HALF_W-1:0]      q_rest, p, dcell_p, dc;
  logic [3:0]             di_valid;
  logic [3:0][HALF_W-1:0] at_dc, di;                      // g, i, old, f; di, dg, df, dc*f
  logic [1:0][HALF_W-1:0] at_di;                          // i, f
  jd_delay #(.Width (HALF_W), .Cycles (A), .Clear (1'b0)) u_q (
    .clk_i, .rst_ni, .in_i (first[1]), .out_o (q_rest)
  );
  jd_float_mul #(.ExpW (5), .ManW (10), .Latency (M)) u_p (
    .clk_i, .rst_ni, .valid_i (rest_valid[0]), .a_i (q_rest), .b_i (rest[0]),
    .valid_o (p_valid), .result_o (p)
  );
  jd_delay #(.Width (HALF_W), .Cycles (2 * M + A), .Clear (1'b0)) u_dcell (
    .clk_i, .rst_ni, .in_i (dcell), .out_o (dcell_p)
  );
  jd_float_add #(.ExpW (5), .ManW (10), .Latency (A)) u_dc (
    .clk_i, .rst_ni, .valid_i (p_valid), .subtract_i (1'b0), .a_i (dcell_p), .b_i (p),
    .valid_o (dc_valid), .result_o (dc)
  );
  jd_delay #(.Width (4 * HALF_W), .Cycles (ToDc), .Clear (1'b0)) u_at_dc (
    .clk_i, .rst_ni, .in_i ({f, old, i, g}), .out_o (at_dc)
  );
  for (genvar k = 0; k < 4; k++) begin : gen_di
    jd_float_mul #(.ExpW (5), .ManW (10), .Latency (M)) u_product (
      .clk_i, .rst_ni, .valid_i (dc_valid), .a_i (dc), .b_i (at_dc[k]),
      .valid_o (di_valid[k]), .result_o (di[k])
    );
  end
  jd_delay #(.Width (2 * HALF_W), .Cycles (M), .Clear (1'b0)) u_at_di (
    .clk_i, .rst_ni, .in_i ({at_dc[3], at_dc[1]}), .out_o (at_di)
  );

  // ---- di*i, df*f, dg*(1 - g*g); then the last products
  logic [2:0]             third_valid, last_valid;
  logic [2:0][HALF_W-1:0] third, third_left, third_right, last_left, last;
  assign third_left  = {di[1], di[2], di[0]};
  assign third_right = {g_rest_di, at_di[1], at_di[0]};
  assign last_left   = {doo_last, third[1], third[0]};
  for (genvar k = 0; k < 3; k++) begin : gen_last
    jd_float_mul #(.ExpW (5), .ManW (10), .Latency (M)) u_third (
      .clk_i, .rst_ni, .valid_i (di_valid[0]), .a_i (third_left[k]), .b_i (third_right[k]),
      .valid_o (third_valid[k]), .result_o (third[k])
    );
    jd_float_mul #(.ExpW (5), .ManW (10), .Latency (M)) u_last (
      .clk_i, .rst_ni, .valid_i (third_valid[0]), .a_i (last_left[k]), .b_i (rest_last[k]),
      .valid_o (last_valid[k]), .result_o (last[k])
    );
  end
  logic [HALF_W-1:0] dzg, cells;
  jd_delay #(.Width (HALF_W), .Cycles (M), .Clear (1'b0)) u_dzg (
    .clk_i, .rst_ni, .in_i (third[2]), .out_o (dzg)
  );
  jd_delay #(.Width (HALF_W), .Cycles (2 * M), .Clear (1'b0)) u_cells (
    .clk_i, .rst_ni, .in_i (di[3]), .out_o (cells)
  );
  assign valid_o = last_valid[0];
  assign grads_o = {cells, last[2], dzg, last[1], last[0]};

  logic unused;
  assign unused = ^{first_valid[3], first_valid[1], rest_valid[4:1], doo_valid, di_valid[3:1],
                    third_valid[2:1], last_valid[2:1]};
endmodule : jd_sparse_lstm_back
