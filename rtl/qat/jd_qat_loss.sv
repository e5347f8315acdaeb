// SPDX-License-Identifier: Apache-2.0
//
// The critic's loss: targets from q', then TD errors and seeds from q, and their sums.
//
// Streams  in: values of the critic, in some lanes or in all, of two kinds. With in_error_i low: q'
//          of the target network; the result is y. With in_error_i high: q; the results are the TD
//          error, its magnitude in binary32, and the seed. out: the same lanes. Pipes: valid only,
//          no stall.
// Timing   latency 6, one value per clock and lane, kinds in any order:
//              1 error | 2, 3 product | 4, 5 rounded | 6 reward added, or scaled
//          A q is part of the sums 4 clocks after it came. clear_i sets the sums to 0; no q may
//          come in that clock or in the 3 clocks before it.
// Numbers  q, reward, y, td: signed, 16 bits after the point; discount 32, weight 24 after the
//          point, unsigned, weight below 2; seed signed, 24 after the point; R rounds halves up, S
//          saturates:
//              y = S(reward + S(R(q' * discount, 32)))      td = S(q - y)
//              seed = S(S(R(td * weight, 24)) * 2^(8 + scale)); without weights td itself
//          td_float_o: |td|, rounded to nearest even. Sums are modulo 2^64. The seed by which the
//          actor climbs is -2^(24 + actor_scale_i).
// Source   docs/qat.md (numbers, loss). Golden model: models/qat/ops.py, loss and actor_seed.
`include "jd_assert.svh"
module jd_qat_loss #(
  parameter  int unsigned Lanes  = 4,            // 1..8
  localparam int unsigned CountW = $clog2(3 * Lanes + 1)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [Lanes-1:0]        in_valid_i,
  input  logic                    in_error_i,       // q, else q'
  input  logic                    in_weighted_i,    // q: in_weight_i counts
  input  logic signed [3:0]       in_scale_i,       // q: log2 of the loss scale, -8..7
  input  logic [Lanes-1:0][31:0]  in_q_i,           // q or q'
  input  logic [Lanes-1:0][31:0]  in_y_i,           // q
  input  logic [Lanes-1:0][24:0]  in_weight_i,      // q
  input  logic [Lanes-1:0][31:0]  in_reward_i,      // q'
  input  logic [Lanes-1:0][31:0]  in_discount_i,    // q'
  output logic [Lanes-1:0]        out_valid_o,
  output logic                    out_error_o,
  output logic [Lanes-1:0][31:0]  out_result_o,     // y or seed
  output logic [Lanes-1:0][31:0]  out_td_o,
  output logic [Lanes-1:0][31:0]  out_td_float_o,
  output logic [CountW-1:0]       out_saturated_o,  // values of the lanes that come out
  input  logic                    clear_i,
  output logic [63:0]             sum_q_o,
  output logic [63:0]             sum_td_o,         // of |td|
  output logic [31:0]             count_o,
  input  logic [2:0]              actor_scale_i,    // 0..6
  output logic [31:0]             actor_seed_o
);
  if (Lanes < 1 || Lanes > 8) begin : gen_bad_lanes
    $fatal(1, "jd_qat_loss: Lanes=%0d, want 1..8", Lanes);
  end
  localparam int unsigned Latency  = 6;
  localparam int unsigned ProductW = 66;         // 32 bits signed by 33 bits, both signed
  localparam int unsigned ScaledW  = 32 + 15;
  localparam logic [32:0] ONE      = 33'h1 << 24;

  assign actor_seed_o = -(32'h1 << (5'd24 + 5'(actor_scale_i)));

  // What goes along with the lanes; element k came k clocks ago.
  logic [Lanes-1:0]       valid [Latency+1];
  logic [Latency:0]       error;
  logic [Latency:0][3:0]  up;                    // 8 + scale
  assign valid[0] = in_valid_i;
  assign error[0] = in_error_i;
  assign up[0]    = {!in_scale_i[3], in_scale_i[2:0]};
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < Latency; k++) begin
      valid[k+1] <= rst_ni ? valid[k] : '0;
      if (valid[k] != '0) begin
        error[k+1] <= error[k];
        up[k+1]    <= up[k];
      end
    end
  end
  assign out_valid_o = valid[Latency];
  assign out_error_o = error[Latency];

  // A value's upper bits tell whether it fits 32.
  function automatic logic over_32(input logic [ScaledW:31] upper);
    return upper != '0 && upper != '1;
  endfunction
  function automatic logic [31:0] saturate_32(input logic [ScaledW:0] value);
    return over_32(value[ScaledW:31]) ? {value[ScaledW], {31{!value[ScaledW]}}} : value[31:0];
  endfunction

  logic [Lanes-1:0][1:0]  over;
  logic [Lanes-1:0][31:0] q_q2, size_q2;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    // 1: the error, and the factors.
    logic [ScaledW:0] difference;
    logic [31:0]      factor_q, q_q, reward_q, td, td_q;
    logic [32:0]      weight_q;
    logic             over_td_q;
    assign difference = (ScaledW + 1)'($signed(in_q_i[l])) - (ScaledW + 1)'($signed(in_y_i[l]));
    assign td         = saturate_32(difference);
    always_ff @(posedge clk_i) begin
      if (valid[0][l]) begin
        q_q       <= in_q_i[l];
        reward_q  <= in_reward_i[l];
        td_q      <= td;
        over_td_q <= in_error_i && over_32(difference[ScaledW:31]);
        factor_q  <= in_error_i ? td : in_q_i[l];
        if (!in_error_i)        weight_q <= {1'b0, in_discount_i[l]};
        else if (in_weighted_i) weight_q <= 33'(in_weight_i[l]);
        else                    weight_q <= ONE;
      end
    end

    // 2, 3: the product.
    logic signed [ProductW-1:0] product_q2, product_q3;
    always_ff @(posedge clk_i) begin
      if (valid[1][l]) product_q2 <= $signed(factor_q) * $signed({1'b0, weight_q});
      if (valid[2][l]) product_q3 <= product_q2;
      if (valid[1][l]) begin
        q_q2[l]    <= q_q;
        size_q2[l] <= td_q[31] ? -td_q : td_q;
      end
    end

    // 4, 5: rounded.
    logic               rounded_valid, over_rounded;
    logic signed [31:0] rounded;
    jd_fixed_round #(.InW (ProductW), .OutW (32), .ShiftMax (32), .Latency (2)) u_round (
      .clk_i, .rst_ni,
      .valid_i     (valid[3][l]),
      .value_i     (product_q3),
      .shift_i     (error[3] ? 6'd24 : 6'd32),
      .valid_o     (rounded_valid),
      .result_o    (rounded),
      .saturated_o (over_rounded)
    );

    // 6: y or seed.
    logic [31:0]      reward_q5, td_q5;
    logic             over_td_q5;
    logic [ScaledW:0] sum;
    jd_delay #(.Width (65), .Cycles (4), .Clear (1'b0)) u_late (
      .clk_i, .rst_ni,
      .in_i  ({reward_q, td_q, over_td_q}),
      .out_o ({reward_q5, td_q5, over_td_q5})
    );
    assign sum = error[5] ? (ScaledW + 1)'(rounded) << up[5]
                          : (ScaledW + 1)'($signed(reward_q5)) + (ScaledW + 1)'(rounded);
    always_ff @(posedge clk_i) begin
      if (valid[5][l]) begin
        out_result_o[l] <= saturate_32(sum);
        out_td_o[l]     <= td_q5;
      end
      if (!valid[5][l]) over[l] <= '0;
      else over[l] <= 2'(over_td_q5) + 2'(over_rounded) + 2'(over_32(sum[ScaledW:31]));
    end

    logic float_valid;
    jd_float_from_fixed #(.IntW (16), .FracW (16), .Signed (1'b0), .Latency (4)) u_float (
      .clk_i, .rst_ni,
      .valid_i  (valid[2][l]),
      .value_i  (size_q2[l]),
      .valid_o  (float_valid),
      .result_o (out_td_float_o[l])
    );
    `JD_ASSERT(RoundedInTime_A, rounded_valid == valid[5][l] && float_valid == valid[6][l])
  end
  always_comb begin
    out_saturated_o = '0;
    for (int unsigned l = 0; l < Lanes; l++) out_saturated_o += CountW'(over[l]);
  end

  // Sums: of the lanes, then of all.
  localparam int unsigned CarryW = $clog2(Lanes + 1);
  logic [31+CarryW:0] lanes_q_d, lanes_td_d, lanes_q_q3, lanes_td_q3;
  logic [CarryW-1:0]  lanes_count_d, lanes_count_q3;
  always_comb begin
    lanes_q_d     = '0;
    lanes_td_d    = '0;
    lanes_count_d = '0;
    for (int unsigned l = 0; l < Lanes; l++) begin
      if (valid[2][l] && error[2]) begin
        lanes_q_d     = lanes_q_d + (32 + CarryW)'($signed(q_q2[l]));
        lanes_td_d    = lanes_td_d + (32 + CarryW)'(size_q2[l]);
        lanes_count_d = lanes_count_d + 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    lanes_q_q3     <= lanes_q_d;
    lanes_td_q3    <= lanes_td_d;
    lanes_count_q3 <= lanes_count_d;
    if (!rst_ni || clear_i) begin
      sum_q_o  <= '0;
      sum_td_o <= '0;
      count_o  <= '0;
    end else begin
      sum_q_o  <= sum_q_o + 64'($signed(lanes_q_q3));
      sum_td_o <= sum_td_o + 64'(lanes_td_q3);
      count_o  <= count_o + 32'(lanes_count_q3);
    end
  end

  for (genvar k = 0; k < 4; k++) begin : gen_clear_check
    `JD_ASSUME_IF(NoErrorWhileCleared_M, clear_i, valid[k] == '0 || !error[k])
  end
endmodule : jd_qat_loss
