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
  parameter int unsigned Width  = 8,   // bits of a word, 1..4096
  parameter int unsigned Group  = 8    // inputs of a group, 1..64
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
  if (Inputs < 1 || Inputs > 64 || Group < 1 || Group > 64) begin : gen_bad_inputs
    $fatal(1, "jd_mcts_switch: Inputs=%0d, Group=%0d, want 1..64", Inputs, Group);
  end
  // In groups, so that each of them chooses a word while the group is chosen.
  localparam int unsigned Size   = Inputs < Group ? Inputs : Group;
  localparam int unsigned Groups = (Inputs + Size - 1) / Size;
  localparam int unsigned SizeW  = Size > 1 ? $clog2(Size) : 1;
  localparam int unsigned GroupW = Groups > 1 ? $clog2(Groups) : 1;
  logic [Inputs-1:0]           above_q;           // inputs above the last one served
  logic [Groups-1:0][Size-1:0] valid, above, granted, next_above;
  logic [Groups-1:0]           some, some_above, offered, chosen, earlier_group;
  logic [Groups-1:0][Size-1:0] first, earlier;    // of its group; an input before it is offered
  logic [Width-1:0]            word;
  logic                        ready, any;
  assign valid = (Groups * Size)'(in_valid_i);
  assign above = (Groups * Size)'(above_q);
  always_comb begin
    for (int unsigned g = 0; g < Groups; g++) begin
      logic [Size-1:0] mine;
      some[g]       = valid[g] != '0;
      some_above[g] = (valid[g] & above[g]) != '0;
      mine          = some_above[g] ? valid[g] & above[g] : valid[g];
      earlier[g]    = '0;
      for (int unsigned k = 1; k < Size; k++) earlier[g][k] = earlier[g][k-1] || mine[k-1];
      first[g] = mine & ~earlier[g];
    end
    offered       = some_above != '0 ? some_above : some;
    earlier_group = '0;
    for (int unsigned g = 1; g < Groups; g++) begin
      earlier_group[g] = earlier_group[g-1] || offered[g-1];
    end
    chosen = offered & ~earlier_group;
    for (int unsigned g = 0; g < Groups; g++) begin
      granted[g]    = {Size{chosen[g]}} & first[g];
      next_above[g] = {Size{earlier_group[g]}} | ({Size{chosen[g]}} & earlier[g]);
    end
  end
  // The words' multiplexers take numbers, which cost them fewer inputs than a bit for each word.
  logic [Groups-1:0][SizeW-1:0] place;
  logic [GroupW-1:0]            group;
  logic [Groups-1:0][Width-1:0] part;
  always_comb begin
    place = '0;
    group = '0;
    for (int unsigned g = 0; g < Groups; g++) begin
      for (int unsigned k = 0; k < Size; k++) begin
        if (first[g][k]) place[g] = place[g] | SizeW'(k);
      end
      if (chosen[g]) group = group | GroupW'(g);
    end
  end
  for (genvar g = 0; g < Groups; g++) begin : gen_part
    logic [Size-1:0][Width-1:0] words;
    for (genvar k = 0; k < Size; k++) begin : gen_word
      if (g * Size + k < Inputs) begin : gen_there
        assign words[k] = in_data_i[g*Size+k];
      end else begin : gen_none
        assign words[k] = '0;
      end
    end
    assign part[g] = words[place[g]];
  end
  assign word       = part[group];
  assign any        = in_valid_i != '0;
  assign in_ready_o = ready ? Inputs'(granted) : '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)           above_q <= '0;
    else if (ready && any) above_q <= Inputs'(next_above);
  end
  jd_stream_skid #(.Width (Width)) u_room (
    .clk_i, .rst_ni,
    .clear_i    (1'b0),
    .in_valid_i (ready && any),
    .in_ready_o (ready),
    .in_data_i  (word),
    .out_valid_o, .out_ready_i, .out_data_o
  );

  `JD_ASSERT(OneTaken_A, $onehot0(in_ready_o) && (in_ready_o & ~in_valid_i) == '0)
endmodule : jd_mcts_switch
