// SPDX-License-Identifier: Apache-2.0
//
// Cuts the paths through a stream: valid and data, ready, or both, by registers.
//
// Streams  in, out: the same words in the same order.
// Timing   one word per clock. Forward: latency 1, else 0; out_valid_o and out_data_o are registers.
//          Backward: in_ready_o is the inverse of a register; without Forward a word that is offered
//          while the output waits is kept, and later ones wait at the input. With neither the block
//          is wires.
// Numbers  bits, unchanged.
// Source   -
`include "jd_assert.svh"
module jd_stream_slice #(
  parameter int unsigned Width    = 8,      // bits of a word, 1..4096
  parameter bit          Forward  = 1'b1,   // no path from in_valid_i, in_data_i to the output
  parameter bit          Backward = 1'b1    // no path from out_ready_i to in_ready_o
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             in_valid_i,
  output logic             in_ready_o,
  input  logic [Width-1:0] in_data_i,
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output logic [Width-1:0] out_data_o
);
  if (Width < 1 || Width > 4096) begin : gen_bad_width
    $fatal(1, "jd_stream_slice: Width=%0d, want 1..4096", Width);
  end

  if (Forward && Backward) begin : gen_both
    jd_stream_skid #(.Width(Width)) u_skid (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .clear_i     (1'b0),
      .in_valid_i  (in_valid_i),
      .in_ready_o  (in_ready_o),
      .in_data_i   (in_data_i),
      .out_valid_o (out_valid_o),
      .out_ready_i (out_ready_i),
      .out_data_o  (out_data_o)
    );
  end else if (Forward) begin : gen_forward
    assign in_ready_o = !out_valid_o || out_ready_i;
    always_ff @(posedge clk_i) begin
      if (!rst_ni)         out_valid_o <= 1'b0;
      else if (in_ready_o) out_valid_o <= in_valid_i;
      if (in_valid_i && in_ready_o) out_data_o <= in_data_i;
    end
  end else if (Backward) begin : gen_backward
    logic             spare_valid_q;
    logic [Width-1:0] spare_q;
    assign in_ready_o  = !spare_valid_q;
    assign out_valid_o = spare_valid_q || in_valid_i;
    assign out_data_o  = spare_valid_q ? spare_q : in_data_i;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) spare_valid_q <= 1'b0;
      else         spare_valid_q <= out_valid_o && !out_ready_i;
      if (in_valid_i && in_ready_o) spare_q <= in_data_i;   // also what the output takes at once
    end
  end else begin : gen_wires
    logic unused;
    assign unused      = ^{clk_i, rst_ni};
    assign in_ready_o  = out_ready_i;
    assign out_valid_o = in_valid_i;
    assign out_data_o  = in_data_i;
  end

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o, in_data_i)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i, out_data_o)
endmodule : jd_stream_slice
