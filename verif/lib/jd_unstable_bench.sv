// SPDX-License-Identifier: Apache-2.0
//
// Test bench that breaks the rule of streams on purpose: it offers a word to a jd_stream_skid whose
// output is blocked and, with Break, changes it while it waits.
module jd_unstable_bench #(
  parameter bit Break = 1'b1
) (
  input  logic       clk_i,
  input  logic       rst_ni,
  output logic [7:0] out_data_o,
  output logic       out_valid_o,
  output logic       in_ready_o
);
  logic [7:0] clocks_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) clocks_q <= '0;
    else         clocks_q <= clocks_q + 8'd1;
  end
  jd_stream_skid #(.Width(8)) u_skid (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .clear_i     (1'b0),
    .in_valid_i  (1'b1),
    .in_ready_o  (in_ready_o),
    .in_data_i   (Break ? clocks_q : 8'd1),
    .out_valid_o (out_valid_o),
    .out_ready_i (1'b0),
    .out_data_o  (out_data_o)
  );
endmodule : jd_unstable_bench
