// SPDX-License-Identifier: Apache-2.0
//
// The floating-point blocks of one format beside each other, each with its latency: the unit under
// test of the in-process regression.
//
// Streams  in: two operands for one lane; out: its result. Lane i has valid_i[i] and valid_o[i].
// Timing   that of each lane; lane_o says what lane i is.
// Numbers  those of the blocks; operands and results are in the low bits.
// Source   docs/float.md.
module jd_float_lanes #(
  parameter  int unsigned ExpW   = 8,
  parameter  int unsigned ManW   = 23,
  parameter  int unsigned Lanes  = 34,          // how many of LANES, from the first
  localparam int unsigned FloatW = 1 + ExpW + ManW
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic [Lanes-1:0]  valid_i,
  input  logic              subtract_i,
  input  logic [63:0]       a_i,
  input  logic [FloatW-1:0] b_i,
  output logic [Lanes-1:0]  valid_o,
  output logic [63:0]       result_o[Lanes],
  output logic [31:0]       lane_o  [Lanes]     // OPERATION, latency, IntW, FracW: a byte each
);
  // {operation, latency, IntW, FracW}; bit 7 of the operation: unsigned.
  localparam logic [7:0] MUL  = 8'd0;
  localparam logic [7:0] ADD  = 8'd1;
  localparam logic [7:0] DIV  = 8'd2;
  localparam logic [7:0] SQRT = 8'd3;
  localparam logic [7:0] COMP = 8'd4;
  localparam logic [7:0] FROM = 8'd5;
  localparam logic [7:0] TO   = 8'd6;
  localparam logic [7:0] UNSIGNED = 8'h80;
  localparam logic [31:0] LANES [34] = '{
    {MUL, 24'h020000}, {MUL, 24'h010000}, {MUL, 24'h030000}, {MUL, 24'h040000},
    {ADD, 24'h020000}, {ADD, 24'h010000}, {ADD, 24'h030000}, {ADD, 24'h050000},
    {ADD, 24'h060000},
    {DIV, 24'h040000}, {DIV, 24'h020000}, {DIV, 24'h0d0000}, {DIV, 24'h1c0000},
    {SQRT, 24'h040000}, {SQRT, 24'h020000}, {SQRT, 24'h0d0000}, {SQRT, 24'h1c0000},
    {COMP, 24'h010000},
    {FROM, 24'h022000}, {FROM | UNSIGNED, 24'h032000}, {FROM, 24'h044000},
    {FROM | UNSIGNED, 24'h014000}, {FROM, 24'h020810}, {FROM | UNSIGNED, 24'h020040},
    {FROM, 24'h010a00}, {FROM | UNSIGNED, 24'h040010},
    {TO, 24'h022000}, {TO | UNSIGNED, 24'h032000}, {TO, 24'h044000},
    {TO | UNSIGNED, 24'h014000}, {TO, 24'h020810}, {TO | UNSIGNED, 24'h020040},
    {TO, 24'h010a00}, {TO | UNSIGNED, 24'h040010}
  };

  logic unused_inputs;  // a build of few lanes
  assign unused_inputs = ^{subtract_i, a_i, b_i};

  for (genvar i = 0; i < Lanes; i++) begin : gen_lane
    localparam logic [7:0]  OP = LANES[i][31:24] & ~UNSIGNED;
    localparam int unsigned Latency = int'(LANES[i][23:16]);
    localparam int unsigned IntW    = int'(LANES[i][15:8]);
    localparam int unsigned FracW   = int'(LANES[i][7:0]);
    localparam bit          Signed  = !LANES[i][31];
    localparam int unsigned FixedW  = (IntW + FracW == 0) ? 2 : IntW + FracW;
    assign lane_o[i] = LANES[i];

    if (OP == MUL) begin : gen_mul
      logic [FloatW-1:0] result;
      assign result_o[i] = 64'(result);
      jd_float_mul #(.ExpW, .ManW, .Latency) u_mul (
        .clk_i, .rst_ni, .valid_i(valid_i[i]), .a_i(a_i[FloatW-1:0]), .b_i,
        .valid_o(valid_o[i]), .result_o(result)
      );
    end
    if (OP == ADD) begin : gen_add
      logic [FloatW-1:0] result;
      assign result_o[i] = 64'(result);
      jd_float_add #(.ExpW, .ManW, .Latency) u_add (
        .clk_i, .rst_ni, .valid_i(valid_i[i]), .subtract_i, .a_i(a_i[FloatW-1:0]),
        .b_i, .valid_o(valid_o[i]), .result_o(result)
      );
    end
    if (OP == DIV) begin : gen_div
      logic [FloatW-1:0] result;
      assign result_o[i] = 64'(result);
      jd_float_div #(.ExpW, .ManW, .Latency) u_div (
        .clk_i, .rst_ni, .valid_i(valid_i[i]), .a_i(a_i[FloatW-1:0]), .b_i,
        .valid_o(valid_o[i]), .result_o(result)
      );
    end
    if (OP == SQRT) begin : gen_sqrt
      logic [FloatW-1:0] result;
      assign result_o[i] = 64'(result);
      jd_float_sqrt #(.ExpW, .ManW, .Latency) u_sqrt (
        .clk_i, .rst_ni, .valid_i(valid_i[i]), .a_i(a_i[FloatW-1:0]), .valid_o(valid_o[i]),
        .result_o(result)
      );
    end
    if (OP == COMP) begin : gen_compare
      logic less, equal, unordered;
      logic [FloatW-1:0] result;
      assign result_o[i] = 64'(result);
      jd_float_compare #(.ExpW, .ManW) u_compare (
        .a_i(a_i[FloatW-1:0]), .b_i, .less_o(less), .equal_o(equal),
        .unordered_o(unordered)
      );
      always_ff @(posedge clk_i) begin
        valid_o[i] <= rst_ni && valid_i[i];
        result     <= FloatW'({unordered, equal, less});
      end
    end
    if (OP == FROM) begin : gen_from_fixed
      logic [FloatW-1:0] result;
      assign result_o[i] = 64'(result);
      jd_float_from_fixed #(.ExpW, .ManW, .IntW, .FracW, .Signed, .Latency) u_from_fixed (
        .clk_i, .rst_ni, .valid_i(valid_i[i]), .value_i(a_i[FixedW-1:0]), .valid_o(valid_o[i]),
        .result_o(result)
      );
    end
    if (OP == TO) begin : gen_to_fixed
      logic [FixedW-1:0] fixed;
      assign result_o[i] = 64'(fixed);
      jd_float_to_fixed #(.ExpW, .ManW, .IntW, .FracW, .Signed, .Latency) u_to_fixed (
        .clk_i, .rst_ni, .valid_i(valid_i[i]), .value_i(a_i[FloatW-1:0]), .valid_o(valid_o[i]),
        .result_o(fixed)
      );
    end
  end
endmodule : jd_float_lanes
