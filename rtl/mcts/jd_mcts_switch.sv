// SPDX-License-Identifier: Apache-2.0
//
// An output of a network: one of several inputs at a time, round robin, and two words of room.
//
// Streams  in: Inputs streams, each in order. out: their words.
// Timing   latency 1, one word per clock. in_ready_o follows in_valid_i in the same clock; no path
//          from out_ready_i.
// Numbers  bits, unchanged.
// Source   thesis 3.3 (interconnection); docs/mcts.md. Golden model: models/mcts/banks.py, route.
`include "jd_assert.svh"
module jd_mcts_switch #(
  parameter int unsigned Inputs = 2,   // 1..64
  parameter int unsigned Width  = 8    // bits of a word, 1..4096
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic [Inputs-1:0]            in_valid_i,
  output logic [Inputs-1:0]            in_ready_o,
  input  logic [Inputs-1:0][Width-1:0] in_data_i,
  output logic                         out_valid_o,
  input  logic                         out_ready_i,
  output logic [Width-1:0]             out_data_o
);
  if (Inputs < 1 || Inputs > 64) begin : gen_bad_inputs
    $fatal(1, "jd_mcts_switch: Inputs=%0d, want 1..64", Inputs);
  end
  logic [Inputs-1:0] above_q;                     // inputs above the last one served
  logic [Inputs-1:0] offered, granted;
  logic [Inputs-1:0] earlier;                     // an input before it is offered
  logic [Width-1:0]  word;
  logic              ready;
  assign offered = (in_valid_i & above_q) != '0 ? in_valid_i & above_q : in_valid_i;
  always_comb begin
    earlier = '0;
    for (int unsigned k = 1; k < Inputs; k++) earlier[k] = earlier[k-1] || offered[k-1];
    granted = offered & ~earlier;
    word    = '0;
    for (int unsigned k = 0; k < Inputs; k++) begin
      if (granted[k]) word = word | in_data_i[k];
    end
  end
  assign in_ready_o = ready ? granted : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                         above_q <= '0;
    else if (ready && in_valid_i != '0)  above_q <= earlier;
  end
  jd_stream_skid #(.Width (Width)) u_room (
    .clk_i, .rst_ni,
    .clear_i    (1'b0),
    .in_valid_i (ready && in_valid_i != '0),
    .in_ready_o (ready),
    .in_data_i  (word),
    .out_valid_o, .out_ready_i, .out_data_o
  );

  `JD_ASSERT(OneTaken_A, $onehot0(in_ready_o) && (in_ready_o & ~in_valid_i) == '0)
endmodule : jd_mcts_switch
