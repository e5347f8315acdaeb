// SPDX-License-Identifier: Apache-2.0
//
// Computes RMSProp for rows of 16 parameters, with several units side by side.
//
// Streams  in: a row of parameters, mean squares and gradients. out: the row's new parameters and
//          mean squares, in the same order. The hyper-parameters hold while busy_o is high.
//              in_data_i   gradients 1535:1024 | mean squares 1023:512 | parameters 511:0
//              out_data_o  mean squares 1023:512 | parameters 511:0        word 0 in the low bits
// Timing   A row takes 16/Units clocks. Rows follow each other without a gap as long as the output
//          is taken. A row leaves LATENCY + 16/Units + 3 clocks after it came, where LATENCY is
//          that of jd_a3c_rmsprop_unit. in_ready_o depends on registers alone.
// Numbers  those of jd_a3c_rmsprop_unit, word by word.
// Source   FA3C (ASPLOS 2019) section 4.2.3 (four units match a memory of 16 words per clock,
//          because a row is four beats there). Golden model: models/a3c/rmsprop.py.
`include "jd_assert.svh"
module jd_a3c_rmsprop #(
  parameter  int unsigned Units       = 4,    // words per clock, power of two 1..16
  parameter  int unsigned MulLatency  = 2,    // clocks, 1..4
  parameter  int unsigned AddLatency  = 2,    // clocks, 1..6
  parameter  int unsigned DivLatency  = 4,    // clocks, 2..28
  parameter  int unsigned SqrtLatency = 4,    // clocks, 2..28
  localparam int unsigned RowW        = 16 * 32
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [31:0]       eta_i,
  input  logic [31:0]       rho_i,
  input  logic [31:0]       rest_i,
  input  logic [31:0]       eps_i,
  output logic              busy_o,          // rows are inside
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [3*RowW-1:0] in_data_i,
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [2*RowW-1:0] out_data_o
);
  if (Units < 1 || Units > 16 || 16 % Units != 0) begin : gen_bad_units
    $fatal(1, "jd_a3c_rmsprop: Units=%0d, want a power of two 1..16", Units);
  end

  localparam int unsigned SLICES  = 16 / Units;                  // of a row, one per clock
  localparam int unsigned SliceW  = (SLICES > 1) ? $clog2(SLICES) : 1;
  localparam int unsigned PartW   = Units * 32;
  localparam int unsigned LATENCY = 2 * MulLatency + 3 * AddLatency + DivLatency + SqrtLatency;
  // Rows that are inside at full rate: those in the units, and those before and after them.
  localparam int unsigned ROWS    = (LATENCY + SLICES - 1) / SLICES + 8;
  localparam int unsigned CountW  = $clog2(ROWS + 1);
  localparam logic [SliceW-1:0] LAST = SliceW'(SLICES - 1);

  // Every row inside has its place at the output, because the units do not stall.
  logic [CountW-1:0] rows_q;
  logic              load, leave;
  assign load   = in_valid_i && in_ready_o;
  assign leave  = out_valid_o && out_ready_i;
  assign busy_o = rows_q != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)            rows_q <= '0;
    else if (load != leave) rows_q <= load ? rows_q + 1'b1 : rows_q - 1'b1;
  end

  // The row that goes to the units, its next slice in the low bits.
  logic              row_valid_q;
  logic [SliceW-1:0] slice_q;
  logic [RowW-1:0]   theta_q, square_q, gradient_q;
  assign in_ready_o = (!row_valid_q || slice_q == LAST) && rows_q != CountW'(ROWS);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      row_valid_q <= 1'b0;
      slice_q     <= '0;
    end else begin
      row_valid_q <= load || (row_valid_q && slice_q != LAST);
      if (row_valid_q) slice_q <= (slice_q == LAST) ? '0 : slice_q + 1'b1;
    end
    if (load) begin
      {gradient_q, square_q, theta_q} <= in_data_i;
    end else if (row_valid_q) begin
      gradient_q <= gradient_q >> PartW;
      square_q   <= square_q >> PartW;
      theta_q    <= theta_q >> PartW;
    end
  end

  logic [Units-1:0]       new_valid;
  logic [Units-1:0][31:0] new_theta, new_square;
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    jd_a3c_rmsprop_unit #(
      .MulLatency (MulLatency), .AddLatency (AddLatency),
      .DivLatency (DivLatency), .SqrtLatency (SqrtLatency)
    ) u_unit (
      .clk_i, .rst_ni, .eta_i, .rho_i, .rest_i, .eps_i,
      .valid_i    (row_valid_q),
      .theta_i    (theta_q[32*u+:32]),
      .square_i   (square_q[32*u+:32]),
      .gradient_i (gradient_q[32*u+:32]),
      .valid_o    (new_valid[u]),
      .theta_o    (new_theta[u]),
      .square_o   (new_square[u])
    );
  end

  // The row that comes from them, its last slice in the high bits.
  logic              push_q, push_ready;
  logic [SliceW-1:0] new_slice_q;
  logic [RowW-1:0]   new_theta_q, new_square_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      push_q      <= 1'b0;
      new_slice_q <= '0;
    end else begin
      push_q <= new_valid[0] && new_slice_q == LAST;
      if (new_valid[0]) new_slice_q <= (new_slice_q == LAST) ? '0 : new_slice_q + 1'b1;
    end
    if (new_valid[0]) begin
      new_theta_q  <= RowW'({new_theta, new_theta_q} >> PartW);
      new_square_q <= RowW'({new_square, new_square_q} >> PartW);
    end
  end
  jd_stream_fifo #(.Width (2 * RowW), .Depth (ROWS)) u_rows (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (push_q),
    .in_ready_o  (push_ready),
    .in_data_i   ({new_square_q, new_theta_q}),
    .out_valid_o (out_valid_o),
    .out_ready_i (out_ready_i),
    .out_data_o  (out_data_o),
    .count_o     ()
  );

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o, in_data_i)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i, out_data_o)
  `JD_ASSERT_IF(PushHasRoom_A, push_q, push_ready)
  `JD_ASSERT(UnitsInStep_A, new_valid == '0 || new_valid == '1)
  `JD_ASSERT_IF(OutIsInside_A, out_valid_o, busy_o)
endmodule : jd_a3c_rmsprop
