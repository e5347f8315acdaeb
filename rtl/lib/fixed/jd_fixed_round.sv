// SPDX-License-Identifier: Apache-2.0
//
// Divides an integer by a power of two, rounds half up, and saturates to fewer bits.
//
// Streams  in: a value and its shift; out: the result, in the same order. A pipe: valid only, no
//          stall. Without registers (Latency 0) it is combinational.
// Timing   latency Latency, a value per clock. Registers: 1 after all; 2 after the shift, too.
// Numbers  result = S(R(value, shift)): R(x, s) = floor((x + 2^(s-1)) / 2^s), and R(x, 0) = x; S is
//          the nearest signed integer of OutW bits, saturated_o whether S changed it. Exact, as
//          R(x, s) is floor(x / 2^s) plus the last bit that was shifted out: nothing wraps.
//          A shift that is a constant costs no shifter.
// Source   docs/qat.md (numbers). Golden model: models/qat/ops.py, round_shift and saturate.
`include "jd_assert.svh"
module jd_fixed_round #(
  parameter  int unsigned InW      = 64,         // bits of a value, above OutW, at most 128
  parameter  int unsigned OutW     = 32,         // bits of a result, from 2 on
  parameter  int unsigned ShiftMax = 24,         // largest shift, 1..InW-1
  parameter  int unsigned Latency  = 2,          // clocks, 0..2
  localparam int unsigned ShiftW   = $clog2(ShiftMax + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   valid_i,
  input  logic signed [InW-1:0]  value_i,
  input  logic [ShiftW-1:0]      shift_i,        // 0..ShiftMax
  output logic                   valid_o,
  output logic signed [OutW-1:0] result_o,
  output logic                   saturated_o
);
  if (OutW < 2 || InW <= OutW || InW > 128) begin : gen_bad_width
    $fatal(1, "jd_fixed_round: OutW=%0d, want 2 or more, InW=%0d, want above OutW, to 128",
           OutW, InW);
  end
  if (ShiftMax < 1 || ShiftMax >= InW || Latency > 2) begin : gen_bad_shift
    $fatal(1, "jd_fixed_round: ShiftMax=%0d, want 1..%0d, Latency=%0d, want 0..2",
           ShiftMax, InW - 1, Latency);
  end

  // The floor, and below it the last bit that was shifted out.
  localparam int unsigned KeptW = InW + 1;
  logic signed [KeptW-1:0] kept_d, kept;
  logic                    kept_valid;
  assign kept_d = $signed({value_i, 1'b0}) >>> shift_i;
  if (Latency == 2) begin : gen_kept
    always_ff @(posedge clk_i) begin
      kept_valid <= rst_ni && valid_i;
      if (valid_i) kept <= kept_d;
    end
  end else begin : gen_no_kept
    assign kept_valid = valid_i;
    assign kept       = kept_d;
  end

  // The sum has one bit more than the result. A floor that needs more does not fit, and what is
  // lost of its sum has no meaning.
  logic                   minus, fits, saturated_d;
  logic [OutW:0]          sum;
  logic signed [OutW-1:0] result_d;
  assign minus       = kept[KeptW-1];
  assign fits        = kept[KeptW-1:OutW+1] == {(KeptW - OutW - 1){minus}};
  assign sum         = kept[OutW+1:1] + (OutW + 1)'(kept[0]);
  assign saturated_d = !fits || sum[OutW] != sum[OutW-1];
  assign result_d    = saturated_d ? {minus, {(OutW - 1){!minus}}} : sum[OutW-1:0];
  if (Latency >= 1) begin : gen_result
    always_ff @(posedge clk_i) begin
      valid_o <= rst_ni && kept_valid;
      if (kept_valid) begin
        result_o    <= result_d;
        saturated_o <= saturated_d;
      end
    end
  end else begin : gen_no_result
    assign valid_o     = kept_valid;
    assign result_o    = result_d;
    assign saturated_o = saturated_d;
    logic unused;
    assign unused = ^{clk_i, rst_ni};
  end

  `JD_ASSUME_IF(ShiftInRange_M, valid_i, 32'(shift_i) <= ShiftMax)
endmodule : jd_fixed_round
