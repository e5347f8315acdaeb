// SPDX-License-Identifier: Apache-2.0
//
// Importance weight of a sample: (smallest priority of the batch / its priority) ^ beta.
//
// Streams  in: priorities; out: weights, in the same order. A pipe: valid only, no stall; the
//          settings hold while words are inside.
// Timing   latency WEIGHT_LATENCY of jd_replay_pkg, one word per clock.
// Numbers  unsigned in, binary32 out: 1.0 for the smallest priority, otherwise below it, never
//          subnormal. Logarithm (of the upper 24 bits) and power are interpolated in 128 segments;
//          relative error below 1.2e-5. A beta above 1.0 counts as 1.0.
// Source   Schaul et al., Prioritized Experience Replay, 3.4; golden model:
//          models/replay/weights.py, weights.
`include "jd_assert.svh"
module jd_replay_weight
  import jd_replay_pkg::*;
  import jd_replay_tables_pkg::*;
#(
  parameter int unsigned LeafW = 32  // bits of a priority, 8..32
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [31:0]      beta_i,      // unsigned Q2.30, with valid_i as the minimum
  input  logic [LeafW-1:0] minimum_i,   // of the batch, not 0
  input  logic             valid_i,
  input  logic [LeafW-1:0] priority_i,  // minimum_i or more
  output logic             valid_o,
  output logic [31:0]      weight_o     // binary32
);
  localparam int unsigned Stages = WEIGHT_LATENCY;
  localparam int unsigned LogW   = 26;   // unsigned Q6.20: up to 32.0

  // Steps between the entries of the tables, as tables of their own: no difference on the way.
  function automatic logic [127:0][13:0] log2_steps();
    logic [127:0][13:0] steps;
    for (int unsigned i = 0; i < 128; i++) steps[i] = 14'(LOG2_TABLE[i+1] - LOG2_TABLE[i]);
    return steps;
  endfunction
  function automatic logic [127:0][17:0] exp2_steps();
    logic [127:0][17:0] steps;
    for (int unsigned i = 0; i < 128; i++) steps[i] = 18'(EXP2_TABLE[i+1] - EXP2_TABLE[i]);
    return steps;
  endfunction
  localparam logic [127:0][13:0] LOG2_STEPS = log2_steps();
  localparam logic [127:0][17:0] EXP2_STEPS = exp2_steps();

  logic [Stages-1:0] valid_q;
  assign valid_o = valid_q[Stages-1];

  // The same steps for the priority (0) and for the minimum (1): leading one, table, part of a step.
  logic [1:0]      bytes_q [2];     // leading bytes of zeros, at most 3
  logic [31:0]     upper [2];       // without them
  logic [3:0][2:0] zeros_q [2];     // leading zeros of each byte, from the upper one
  logic [2:0]      zeros [2];       // of the first byte that is not zero
  logic [4:0]      leading_q [2], leading_q2 [2];
  logic [22:0]     below_q [2];
  logic [20:0]     low_q [2];
  logic [13:0]     step_q [2];   // the largest step is 11773
  logic [15:0]     part_q [2];
  logic [14:0]     product_q [2];   // one bit more, to round by; so the power's
  logic [LogW-1:0] base_q [2];
  logic [LogW-1:0] log2 [2];
  logic [31:0]     number [2], number_q [2];
  assign number[0] = 32'(priority_i);
  assign number[1] = 32'(minimum_i);
  for (genvar i = 0; i < 2; i++) begin : gen_log2
    assign log2[i] = base_q[i] + LogW'(product_q[i][14:1]) + LogW'(product_q[i][0]);
  end

  logic [3:0][30:0] beta_line_q; // at most 1.0, beside its number
  logic [30:0]      beta_q;

  logic [LogW-1:0] distance_q;
  logic [LogW-1:0] times_low_q;   // times beta, by halves of beta; without what is lost below
  logic [39:0]     times_high_q;
  logic [LogW-1:0] power_q;       // -log2 of the weight, Q6.20
  logic [7:0]      exponent_q, exponent_q2;
  logic [22:0]     low_power_q;
  logic [17:0]     step_power_q;  // the largest step is 90611
  logic [12:0]     part_power_q;
  logic [18:0]     product_power_q;
  logic [22:0]     low_power_q2;
  logic [22:0]     mantissa;      // without the leading one, bit 23 of the power
  assign mantissa = low_power_q2 + 23'(product_power_q[18:1]) + 23'(product_power_q[0]);

  function automatic logic [1:0] zero_bytes(logic [23:0] upper_bytes);
    if (upper_bytes[23:16] != '0) return 2'd0;
    if (upper_bytes[15:8] != '0) return 2'd1;
    return upper_bytes[7:0] != '0 ? 2'd2 : 2'd3;
  endfunction
  function automatic logic [2:0] leading_zeros_8(logic [7:0] byte_);
    for (int unsigned k = 0; k < 7; k++) if (byte_[7-k]) return 3'(k);
    return 3'd7;
  endfunction
  for (genvar i = 0; i < 2; i++) begin : gen_leading
    assign upper[i] = number_q[i] << {bytes_q[i], 3'b0};
    assign zeros[i] = zeros_q[i][bytes_q[i]];
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= Stages'({valid_q, valid_i});
    beta_line_q <= {beta_line_q[2:0], beta_i > 32'h4000_0000 ? 31'h4000_0000 : beta_i[30:0]};

    for (int unsigned i = 0; i < 2; i++) begin
      if (valid_i) begin
        number_q[i] <= number[i];
        bytes_q[i]  <= zero_bytes(number[i][31:8]);
        for (int unsigned b = 0; b < 4; b++) begin
          zeros_q[i][b] <= leading_zeros_8(number[i][24-8*b+:8]);
        end
      end
      if (valid_q[0]) begin
        leading_q[i] <= 5'd31 - {bytes_q[i], zeros[i]};
        below_q[i]   <= 23'((upper[i] << zeros[i]) >> 8);
      end
      if (valid_q[1]) begin
        leading_q2[i] <= leading_q[i];
        low_q[i]      <= LOG2_TABLE[8'(below_q[i][22:16])];
        step_q[i]     <= LOG2_STEPS[below_q[i][22:16]];
        part_q[i]     <= below_q[i][15:0];
      end
      if (valid_q[2]) begin
        base_q[i]    <= {leading_q2[i], 20'd0} + LogW'(low_q[i]);
        product_q[i] <= 15'((30'(step_q[i]) * 30'(part_q[i])) >> 15);
      end
    end
    if (valid_q[3]) begin
      distance_q <= log2[0] - log2[1];
      beta_q     <= beta_line_q[3];
    end
    if (valid_q[4]) begin
      times_low_q  <= LogW'((43'(distance_q) * 43'(beta_q[16:0])) >> 17);
      times_high_q <= 40'(distance_q) * 40'(beta_q[30:17]);
    end
    if (valid_q[5]) power_q <= LogW'((times_high_q + 40'(times_low_q)) >> 13);
    if (valid_q[6]) begin
      automatic logic [LogW+1:0] minus = -(LogW + 2)'(power_q);   // signed Q8.20
      exponent_q   <= 8'd127 + minus[LogW+1:20];
      low_power_q  <= 23'(EXP2_TABLE[8'(minus[19:13])]);
      step_power_q <= EXP2_STEPS[minus[19:13]];
      part_power_q <= minus[12:0];
    end
    if (valid_q[7]) begin
      exponent_q2     <= exponent_q;
      low_power_q2    <= low_power_q;
      product_power_q <= 19'((31'(step_power_q) * 31'(part_power_q)) >> 12);
    end
    if (valid_q[8]) weight_o <= {1'b0, exponent_q2, mantissa};
  end

  `JD_ASSUME_IF(MinimumIsOne_M, valid_i, minimum_i != '0 && priority_i >= minimum_i)
  `JD_ASSERT_IF(AtMostOne_A, valid_o, weight_o <= 32'h3F80_0000)
endmodule : jd_replay_weight
