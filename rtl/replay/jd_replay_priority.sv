// SPDX-License-Identifier: Apache-2.0
//
// Converts a TD error into a priority: (|error| + eps) ^ alpha.
//
// Streams  in: errors; out: priorities, in the same order. A pipe: valid only, no stall; the
//          settings hold while words are inside.
// Timing   latency PRIORITY_LATENCY of jd_replay_pkg, one word per clock.
// Numbers  binary32 in, unsigned with fraction_bits_i fraction bits out, rounded half up and
//          clipped to smallest_i..largest_i. NaN and infinity, after the addition, give
//          largest_i and raise nonfinite_o; 0 gives smallest_i. Logarithm and power are
//          interpolated in 128 segments: within 1.5e-5 of the exact value, plus half a unit.
// Source   Schaul et al., Prioritized Experience Replay, 3.3; golden model:
//          models/replay/priority.py, priorities.
`include "jd_assert.svh"
module jd_replay_priority
  import jd_replay_pkg::*;
  import jd_replay_tables_pkg::*;
#(
  parameter int unsigned LeafW = 32  // bits of a priority, 8..32
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [15:0]      alpha_i,          // unsigned Q1.15
  input  logic [31:0]      eps_i,            // binary32
  input  logic [4:0]       fraction_bits_i,  // 0..24
  input  logic [LeafW-1:0] smallest_i,       // not above largest_i
  input  logic [LeafW-1:0] largest_i,
  input  logic             valid_i,
  input  logic [31:0]      error_i,          // binary32
  output logic             valid_o,
  output logic [LeafW-1:0] priority_o,
  output logic             nonfinite_o
);
  localparam int unsigned LogW    = 29;   // signed Q9.20: up to 128.0
  localparam int unsigned ScaledW = 30;   // signed Q10.20: alpha is below 2
  localparam int unsigned Stages  = PRIORITY_LATENCY - 5;

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

  logic        sum_valid;
  logic [31:0] sum;
  jd_float_add #(.ExpW(8), .ManW(23), .Latency(5)) u_add (
    .clk_i, .rst_ni,
    .valid_i, .subtract_i(1'b0), .a_i({1'b0, error_i[30:0]}), .b_i(eps_i),
    .valid_o(sum_valid), .result_o(sum)
  );

  logic [Stages-1:0] valid_q;
  assign valid_o = valid_q[Stages-1];

  // Special values travel beside the others.
  logic [1:0] special_q [Stages-1];   // {not finite, zero}

  // 1: table. 2: part of a step. 3: logarithm. 4, 5: times alpha. 6: table. 7: part of a step.
  // 8: power of two. 9: shift. 10: clip.
  logic [7:0]                exponent_q;
  logic [20:0]               log_low_q;
  logic [13:0]               log_step_q;     // the largest step is 11773
  logic [15:0]               log_part_q;
  logic [14:0]               log_product_q;  // one bit more, to round by; so the power's
  logic [LogW-1:0]           log_base_q;
  logic signed [LogW-1:0]    log_q;
  logic signed [ScaledW-1:0] scaled_high_q, scaled_q;
  logic [15:0]               scaled_low_q;
  logic signed [9:0]         whole_q, shift_q, shift_q2;
  logic [24:0]               power_low_q, power_low_q2;
  logic [17:0]               power_step_q;   // the largest step is 90611
  logic [12:0]               power_part_q;
  logic [18:0]               power_product_q;
  logic [24:0]               power_q;
  logic [LeafW:0]            value_q;        // saturated at 2^LeafW

  // power * 2^shift, rounded half up.
  function automatic logic [LeafW:0] round_shift(logic [24:0] power, logic signed [9:0] shift);
    logic [33:0] wide;
    logic [24:0] part;
    logic [9:0]  right;
    if (shift >= 0) begin
      wide = (shift > 9) ? '1 : 34'(power) << shift[3:0];
    end else begin
      right = 10'(-shift);
      part  = (right > 25) ? '0 : power >> (right[4:0] - 5'd1);
      wide  = (34'(part) + 34'd1) >> 1;
    end
    return (wide[33:LeafW] != '0) ? {1'b1, LeafW'(0)} : {1'b0, wide[LeafW-1:0]};
  endfunction

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= Stages'({valid_q, sum_valid});

    if (sum_valid) begin
      special_q[0] <= {sum[30:23] == 8'd255, sum[30:0] == '0};
      exponent_q   <= (sum[30:23] == '0) ? 8'd1 : sum[30:23];
      log_low_q    <= (sum[30:23] == '0) ? LOG2_TABLE[0] : LOG2_TABLE[8'(sum[22:16])];
      log_step_q   <= LOG2_STEPS[sum[22:16]];
      log_part_q   <= (sum[30:23] == '0) ? '0 : sum[15:0];
    end
    if (valid_q[0]) begin
      special_q[1]  <= special_q[0];
      log_base_q    <= {9'(exponent_q) - 9'd127, 20'd0} + LogW'(log_low_q);
      log_product_q <= 15'((30'(log_step_q) * 30'(log_part_q)) >> 15);
    end
    if (valid_q[1]) begin
      special_q[2] <= special_q[1];
      log_q        <= log_base_q + LogW'(log_product_q[14:1]) + LogW'(log_product_q[0]);
    end
    if (valid_q[2]) begin
      special_q[3]  <= special_q[2];
      // Two products that each fit a multiplier; of the lower one the shift drops 15 bits.
      scaled_high_q <= ScaledW'($signed(log_q[LogW-1:15])) * ScaledW'($signed({1'b0, alpha_i}));
      scaled_low_q  <= 16'((31'(log_q[14:0]) * 31'(alpha_i)) >> 15);
    end
    if (valid_q[3]) begin
      special_q[4] <= special_q[3];
      scaled_q     <= scaled_high_q + ScaledW'($signed({1'b0, scaled_low_q}));
    end
    if (valid_q[4]) begin
      special_q[5] <= special_q[4];
      whole_q      <= scaled_q[ScaledW-1:20];
      power_low_q  <= EXP2_TABLE[8'(scaled_q[19:13])];
      power_step_q <= EXP2_STEPS[scaled_q[19:13]];
      power_part_q <= scaled_q[12:0];
    end
    if (valid_q[5]) begin
      special_q[6]    <= special_q[5];
      shift_q         <= whole_q + $signed({5'd0, fraction_bits_i}) - 10'sd23;
      power_low_q2    <= power_low_q;
      power_product_q <= 19'((31'(power_step_q) * 31'(power_part_q)) >> 12);
    end
    if (valid_q[6]) begin
      special_q[7] <= special_q[6];
      shift_q2     <= shift_q;
      power_q      <= power_low_q2 + 25'(power_product_q[18:1]) + 25'(power_product_q[0]);
    end
    if (valid_q[7]) begin
      special_q[8] <= special_q[7];
      value_q      <= round_shift(power_q, shift_q2);
    end
    if (valid_q[8]) begin
      nonfinite_o <= special_q[8][1];
      if (special_q[8][1] || (value_q > {1'b0, largest_i} && !special_q[8][0])) begin
        priority_o <= largest_i;
      end else if (special_q[8][0] || value_q < {1'b0, smallest_i}) begin
        priority_o <= smallest_i;
      end else begin
        priority_o <= LeafW'(value_q);
      end
    end
  end

  `JD_ASSERT_IF(InRange_A, valid_o, priority_o >= smallest_i && priority_o <= largest_i)
endmodule : jd_replay_priority
