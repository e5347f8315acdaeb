// SPDX-License-Identifier: Apache-2.0
//
// Adam for one weight per clock: its moments, the weight, and its target.
//
// Streams  in: a weight, its moments, its target, its gradient; out: the four new ones, in the same
//          order. A pipe: valid only, no stall. Scalars are held while weights are in it.
// Timing   latency 74, a weight per clock. With 2 clocks of reading and 1 of writing: 77.
//              1..6 moments | 7..38 root | 39..66 quotient | 67..69 step | 70 weight
//              | 71..74 target
// Numbers  signed, bits after the point: w, t 24; g, m 20; v 40, unsigned; c1, c2, tau 24, eps 20,
//          rate 32. A rounds away from zero, R halves up, S saturates to 32 bits:
//              m' = m + A((g - m)*c1, 24)              v' = v + A((g*g - v)*c2, 24)
//              r  = min(floor(|m'|*2^24 / (floor(sqrt(v')) + eps)), 2^27 - 1), with the sign of m'
//              w' = S(w - R(r*rate, 32))               t' = t + R((w' - t)*tau, 24)
//          m' lies between m and g, v' between v and g*g, t' between t and w', so they need no
//          saturation. A constant gradient is reached, so a weight whose gradient has ended stands
//          still. With tau 0 a target stays. A weight of 0 with gradient and moments of 0 stays
//          0, and so do they: padding.
//          A DSP slice multiplies 27 by 18 bits, so the wider factor of a product is cut into pieces
//          of 17 bits, the top one signed: 14 slices.
// Source   FIXAR V (weight update); docs/qat.md (Adam). Golden model: models/qat/ops.py, adam.
`include "jd_assert.svh"
module jd_qat_adam_lane (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic [23:0]        c1_i,               // 1 - beta1
  input  logic [23:0]        c2_i,               // 1 - beta2
  input  logic [23:0]        eps_i,              // from 1 on
  input  logic [25:0]        rate_i,
  input  logic [24:0]        tau_i,              // at most 2^24
  input  logic               in_valid_i,
  input  logic signed [31:0] in_w_i,
  input  logic signed [31:0] in_m_i,
  input  logic [63:0]        in_v_i,
  input  logic signed [31:0] in_t_i,
  input  logic signed [31:0] in_g_i,
  output logic               out_valid_o,
  output logic signed [31:0] out_w_o,
  output logic signed [31:0] out_m_o,
  output logic [63:0]        out_v_o,
  output logic signed [31:0] out_t_o,
  output logic               over_o              // w' was saturated
);
  // Clocks after in_valid_i.
  localparam int unsigned MOMENTS  = 6;
  localparam int unsigned ROOT     = MOMENTS + 32;
  localparam int unsigned QUOTIENT = ROOT + 28;
  localparam int unsigned STEP     = QUOTIENT + 3;
  localparam int unsigned WEIGHT   = STEP + 1;
  localparam int unsigned LATENCY  = WEIGHT + 4;

  localparam int unsigned RatioW   = 27;
  localparam int unsigned PieceW   = 17;
  localparam int unsigned DownW    = 33 + 25;    // difference times a factor

  // Element k: a weight came k clocks ago.
  logic [LATENCY:0] valid;
  logic [LATENCY:1] valid_q;
  assign valid       = {valid_q, in_valid_i};
  assign out_valid_o = valid[LATENCY];
  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= valid[LATENCY-1:0];
  end

  // ---- First moment: 1 difference | 2 products of pieces | 3, 4 their sum | 5 rounded | 6 sum
  logic signed [32:0]      apart_q;
  logic signed [41:0]      low_q2, high_q2;
  logic signed [DownW-1:0] share_q3, share_q4, share_q5;
  logic signed [31:0]      m_q5, m_q6;
  always_ff @(posedge clk_i) begin
    if (valid[0]) apart_q  <= 33'(in_g_i) - 33'(in_m_i);
    if (valid[1]) begin
      low_q2  <= $signed({1'b0, apart_q[PieceW-1:0]}) * $signed({1'b0, c1_i});
      high_q2 <= $signed(apart_q[32:PieceW]) * $signed({1'b0, c1_i});
    end
    if (valid[2]) share_q3 <= DownW'(low_q2) + (DownW'(high_q2) <<< PieceW);
    if (valid[3]) share_q4 <= share_q3;
    if (valid[4]) share_q5 <= share_q4 + DownW'({24{!share_q4[DownW-1]}});  // away from zero
    if (valid[5]) m_q6     <= m_q5 + 32'(share_q5 >>> 24);
  end
  jd_delay #(.Width (32), .Cycles (5), .Clear (1'b0)) u_m (
    .clk_i, .rst_ni, .in_i (in_m_i), .out_o (m_q5)
  );

  // ---- Second moment: 1, 2 square | 3 difference | 4 products of pieces | 5 their sum | 6 sum
  logic signed [63:0] square_q, square_q2;
  logic [63:0]        v_q2, v_q5, v_q6;
  logic signed [64:0] away_q3;                   // g*g - v
  logic signed [3:0][41:0] piece_q4;
  logic signed [89:0] even, odd, change_q5;
  // Every other piece: products of 41 bits, 34 apart. The top piece has the sign of the product, so
  // rounding away from zero adds to positive ones.
  assign even = 90'($signed(piece_q4[0])) + (90'($signed(piece_q4[2])) <<< 2 * PieceW);
  assign odd  = (90'($signed(piece_q4[1])) <<< PieceW) + (90'($signed(piece_q4[3])) <<< 3 * PieceW)
              + 90'({24{!piece_q4[3][41]}});
  always_ff @(posedge clk_i) begin
    if (valid[0]) square_q  <= in_g_i * in_g_i;
    if (valid[1]) square_q2 <= square_q;
    if (valid[2]) away_q3   <= 65'(square_q2) - $signed({1'b0, v_q2});
    if (valid[3]) begin
      for (int unsigned k = 0; k < 3; k++) begin
        piece_q4[k] <= $signed({1'b0, away_q3[k*PieceW +: PieceW]}) * $signed({1'b0, c2_i});
      end
      piece_q4[3] <= $signed(away_q3[64:3*PieceW]) * $signed({1'b0, c2_i});
    end
    if (valid[4]) change_q5 <= even + odd;
    if (valid[5]) v_q6      <= v_q5 + 64'(change_q5 >>> 24);
  end
  jd_delay #(.Width (64), .Cycles (2), .Clear (1'b0)) u_v2 (
    .clk_i, .rst_ni, .in_i (in_v_i), .out_o (v_q2)
  );
  jd_delay #(.Width (64), .Cycles (3), .Clear (1'b0)) u_v5 (
    .clk_i, .rst_ni, .in_i (v_q2), .out_o (v_q5)
  );

  // ---- Ratio
  logic        root_valid, ratio_valid, minus;
  logic [31:0] root, size;
  logic signed [31:0] m_root;
  logic [RatioW-1:0]  ratio;
  jd_fixed_sqrt #(.RootW (32)) u_root (
    .clk_i, .rst_ni,
    .valid_i  (valid[MOMENTS]),
    .value_i  (v_q6),
    .valid_o  (root_valid),
    .result_o (root)
  );
  jd_delay #(.Width (32), .Cycles (ROOT - MOMENTS), .Clear (1'b0)) u_m_root (
    .clk_i, .rst_ni, .in_i (m_q6), .out_o (m_root)
  );
  assign size = m_root[31] ? -m_root : m_root;
  jd_fixed_div #(.DividendW (32), .DivisorW (33), .FracW (24), .QuotientW (RatioW)) u_ratio (
    .clk_i, .rst_ni,
    .valid_i    (root_valid),
    .dividend_i (size),
    .divisor_i  (33'(root) + 33'(eps_i)),
    .valid_o    (ratio_valid),
    .result_o   (ratio)
  );
  jd_delay #(.Width (1), .Cycles (QUOTIENT - ROOT), .Clear (1'b0)) u_minus (
    .clk_i, .rst_ni, .in_i (m_root[31]), .out_o (minus)
  );

  // ---- Weight: products of pieces, their sum, rounded, difference
  logic [42:0]        low_q;
  logic [35:0]        high_q;
  logic [52:0]        product_q2;
  logic               minus_q, minus_q2;
  logic [53:0]        magnitude;
  logic signed [22:0] step_q3;
  logic signed [31:0] w_step, w_new_q;
  logic signed [32:0] w_sum;
  logic               over_q;
  // Halves up: those of a negative product come nearer to 0.
  assign magnitude = 54'(product_q2) + (minus_q2 ? 54'h7FFF_FFFF : 54'h8000_0000);
  always_ff @(posedge clk_i) begin
    if (valid[QUOTIENT]) begin
      low_q   <= 43'(ratio[PieceW-1:0]) * 43'(rate_i);
      high_q  <= 36'(ratio[RatioW-1:PieceW]) * 36'(rate_i);
      minus_q <= minus;
    end
    if (valid[QUOTIENT+1]) begin
      product_q2 <= 53'(low_q) + {high_q, {PieceW{1'b0}}};
      minus_q2   <= minus_q;
    end
    if (valid[QUOTIENT+2]) step_q3 <= minus_q2 ? -23'(magnitude >> 32) : 23'(magnitude >> 32);
  end
  jd_delay #(.Width (32), .Cycles (STEP), .Clear (1'b0)) u_w (
    .clk_i, .rst_ni, .in_i (in_w_i), .out_o (w_step)
  );
  assign w_sum = 33'(w_step) - 33'(step_q3);
  always_ff @(posedge clk_i) begin
    if (valid[STEP]) begin
      over_q  <= w_sum[32] != w_sum[31];
      w_new_q <= w_sum[32] == w_sum[31] ? w_sum[31:0] : {w_sum[32], {31{!w_sum[32]}}};
    end
  end

  // ---- Target: difference, products of pieces, their sum with half, sum
  logic signed [31:0] t_weight, t_sum_in;
  logic signed [32:0] lag_q;
  logic signed [42:0]      near_q2, far_q2;
  logic signed [DownW-1:0] move_q3;
  always_ff @(posedge clk_i) begin
    if (valid[WEIGHT])   lag_q   <= 33'(w_new_q) - 33'(t_weight);
    if (valid[WEIGHT+1]) begin
      near_q2 <= $signed({1'b0, lag_q[PieceW-1:0]}) * $signed({1'b0, tau_i});
      far_q2  <= $signed(lag_q[32:PieceW]) * $signed({1'b0, tau_i});
    end
    if (valid[WEIGHT+2]) begin
      move_q3 <= DownW'(near_q2) + (DownW'(far_q2) <<< PieceW) + DownW'(1 << 23);
    end
    if (valid[WEIGHT+3]) out_t_o <= t_sum_in + 32'(move_q3 >>> 24);
  end
  jd_delay #(.Width (32), .Cycles (WEIGHT), .Clear (1'b0)) u_t (
    .clk_i, .rst_ni, .in_i (in_t_i), .out_o (t_weight)
  );
  jd_delay #(.Width (32), .Cycles (3), .Clear (1'b0)) u_t_sum (
    .clk_i, .rst_ni, .in_i (t_weight), .out_o (t_sum_in)
  );

  // ---- Out
  jd_delay #(.Width (33), .Cycles (LATENCY - WEIGHT), .Clear (1'b0)) u_out_w (
    .clk_i, .rst_ni, .in_i ({over_q, w_new_q}), .out_o ({over_o, out_w_o})
  );
  jd_delay #(.Width (96), .Cycles (LATENCY - MOMENTS), .Clear (1'b0)) u_out_moments (
    .clk_i, .rst_ni, .in_i ({m_q6, v_q6}), .out_o ({out_m_o, out_v_o})
  );

  `JD_ASSUME_IF(EpsFromOneOn_M, in_valid_i, eps_i != '0)
  `JD_ASSUME_STABLE(ScalarsHeld_M, valid[LATENCY-1:0] != '0, {c1_i, c2_i, eps_i, rate_i, tau_i})
  `JD_ASSERT(InTime_A, root_valid == valid[ROOT] && ratio_valid == valid[QUOTIENT])
endmodule : jd_qat_adam_lane
