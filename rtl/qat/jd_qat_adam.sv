// SPDX-License-Identifier: Apache-2.0
//
// Adam for one slice of a line per clock: moments, weights, targets.
//
// Streams  in: a tag, and words of W, M, V, T and of the gradient. out: the tag and the new words,
//          in the same order. A pipe: valid only, no stall. The scalars hold while words are in it.
// Timing   latency 74, one slice per clock (jd_qat_adam_lane); 77 with 2 clocks of reading and 1 of
//          writing.
// Numbers  those of jd_qat_adam_lane. over_o: which weights of the slice on the output saturated.
// Source   FIXAR V (weight update); docs/qat.md (Adam). Golden model: models/qat/ops.py, adam.
module jd_qat_adam #(
  parameter  int unsigned Lanes  = 16,           // words of a slice: 4, 8, 16
  parameter  int unsigned TagW   = 17,           // bits of a tag, 1..4096
  localparam int unsigned CountW = $clog2(Lanes + 1)
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [23:0]             c1_i,          // 1 - beta1
  input  logic [23:0]             c2_i,          // 1 - beta2
  input  logic [23:0]             eps_i,
  input  logic [25:0]             rate_i,
  input  logic [24:0]             tau_i,         // 0: targets stay
  input  logic                    in_valid_i,
  input  logic [TagW-1:0]         in_tag_i,
  input  logic [Lanes-1:0][31:0]  in_w_i,
  input  logic [Lanes-1:0][31:0]  in_m_i,
  input  logic [Lanes-1:0][63:0]  in_v_i,
  input  logic [Lanes-1:0][31:0]  in_t_i,
  input  logic [Lanes-1:0][31:0]  in_g_i,
  output logic                    out_valid_o,
  output logic [TagW-1:0]         out_tag_o,
  output logic [Lanes-1:0][31:0]  out_w_o,
  output logic [Lanes-1:0][31:0]  out_m_o,
  output logic [Lanes-1:0][63:0]  out_v_o,
  output logic [Lanes-1:0][31:0]  out_t_o,
  output logic [CountW-1:0]       over_o,
  output logic                    idle_o         // nothing is in the pipe
);
  if (!(Lanes inside {4, 8, 16})) begin : gen_bad_lanes
    $fatal(1, "jd_qat_adam: Lanes=%0d, want 4, 8 or 16", Lanes);
  end
  localparam int unsigned LATENCY = 74;

  logic [Lanes-1:0] valid, over;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    jd_qat_adam_lane u_lane (
      .clk_i, .rst_ni, .c1_i, .c2_i, .eps_i, .rate_i, .tau_i,
      .in_valid_i,
      .in_w_i      (in_w_i[l]),
      .in_m_i      (in_m_i[l]),
      .in_v_i      (in_v_i[l]),
      .in_t_i      (in_t_i[l]),
      .in_g_i      (in_g_i[l]),
      .out_valid_o (valid[l]),
      .out_w_o     (out_w_o[l]),
      .out_m_o     (out_m_o[l]),
      .out_v_o     (out_v_o[l]),
      .out_t_o     (out_t_o[l]),
      .over_o      (over[l])
    );
  end
  assign out_valid_o = valid[0];
  jd_delay #(.Width (TagW), .Cycles (LATENCY), .Clear (1'b0)) u_tag (
    .clk_i, .rst_ni, .in_i (in_tag_i), .out_o (out_tag_o)
  );
  always_comb begin
    over_o = '0;
    for (int unsigned l = 0; l < Lanes; l++) over_o = over_o + CountW'(valid[l] && over[l]);
  end

  // Slices that are in the pipe.
  logic [6:0] inside_q;
  assign idle_o = inside_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) inside_q <= '0;
    else         inside_q <= inside_q + 7'(in_valid_i) - 7'(out_valid_o);
  end
endmodule : jd_qat_adam
