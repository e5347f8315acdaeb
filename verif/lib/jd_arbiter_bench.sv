// SPDX-License-Identifier: Apache-2.0
//
// Test bench: a jd_stream_arbiter whose inputs are unpacked arrays, so that agents find each by its
// index.
module jd_arbiter_bench #(
  parameter  int unsigned Streams = 2,
  parameter  int unsigned Width   = 8,
  localparam int unsigned IndexW  = (Streams > 1) ? $clog2(Streams) : 1
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              in_valid_i [Streams],
  output logic              in_ready_o [Streams],
  input  logic [Width-1:0]  in_data_i  [Streams],
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [Width-1:0]  out_data_o,
  output logic [IndexW-1:0] out_index_o
);
  logic [Streams-1:0]            valid, ready;
  logic [Streams-1:0][Width-1:0] data;
  for (genvar s = 0; s < Streams; s++) begin : gen_stream
    assign valid[s]      = in_valid_i[s];
    assign data[s]       = in_data_i[s];
    assign in_ready_o[s] = ready[s];
  end
  jd_stream_arbiter #(.Streams(Streams), .Width(Width)) u_arbiter (
    .clk_i       (clk_i),
    .rst_ni      (rst_ni),
    .in_valid_i  (valid),
    .in_ready_o  (ready),
    .in_data_i   (data),
    .out_valid_o (out_valid_o),
    .out_ready_i (out_ready_i),
    .out_data_o  (out_data_o),
    .out_index_o (out_index_o)
  );
endmodule : jd_arbiter_bench
