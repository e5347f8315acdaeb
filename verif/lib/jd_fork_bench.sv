// SPDX-License-Identifier: Apache-2.0
//
// Test bench: a jd_stream_fork with the data beside it, and its takers as unpacked arrays, so that
// agents find each by its index.
module jd_fork_bench #(
  parameter int unsigned Takers = 2,
  parameter int unsigned Width  = 8
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,
  output logic             out_valid_o [Takers],
  input  logic             out_ready_i [Takers],
  output logic [Width-1:0] out_data_o  [Takers]
);
  logic [Takers-1:0] valid, ready;
  for (genvar t = 0; t < Takers; t++) begin : gen_taker
    assign out_valid_o[t] = valid[t];
    assign ready[t]       = out_ready_i[t];
    assign out_data_o[t]  = in_data_i;
  end
  jd_stream_fork #(.Takers(Takers)) u_fork (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (in_valid_i),
    .in_ready_o  (in_ready_o),
    .out_valid_o (valid),
    .out_ready_i (ready)
  );
endmodule : jd_fork_bench
