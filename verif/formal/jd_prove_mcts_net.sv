// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_mcts_net: a token that is followed comes out once, at the row that it was sent to, and
// nowhere else; every word comes out at its row. If all outputs are ready from some clock on, the
// followed token comes out within Most clocks of it.
//
// Method       induction. mark_i chooses the followed token; a word's data are the row that it goes to
//              and whether it is followed. For each switch: words in it belong on its way.
// Assumptions  inputs hold a word until it is taken, as every stream does. Reset at any time.
`include "jd_assert.svh"
module jd_prove_mcts_net #(
  parameter  int unsigned D    = 4,
  parameter  int unsigned Most = 0,     // 0: when it comes out is not looked at
  localparam int unsigned RowW = $clog2(D),
  localparam int unsigned Width = RowW + 1
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic [D-1:0]      in_valid_i,
  input logic [D*RowW-1:0] in_row_i,
  input logic [D-1:0]      out_ready_i,
  input logic [D-1:0]      mark_i
);
  logic [D-1:0]       in_ready, out_valid, marks;
  logic [D*Width-1:0] in_data, out_data;
  jd_mcts_net #(.D (D), .Width (Width), .Xbar (1'b0)) u_dut (
    .clk_i, .rst_ni,
    .in_valid_i,
    .in_ready_o  (in_ready),
    .in_row_i,
    .in_data_i   (in_data),
    .out_valid_o (out_valid),
    .out_ready_i,
    .out_data_o  (out_data)
  );
  logic             sent_q, came_q;
  logic [RowW-1:0]  row_q;
  logic [D-1:0]     sends, comes;
  assign marks = sent_q ? '0 : mark_i & ~(mark_i - 1'b1);       // one of them
  assign sends = in_valid_i & in_ready & marks;
  for (genvar y = 0; y < D; y++) begin : gen_row
    assign in_data[y*Width +: Width] = {marks[y], in_row_i[y*RowW +: RowW]};
    assign comes[y] = out_valid[y] && out_ready_i[y] && out_data[y*Width + RowW];
    `JD_ASSERT_IF(AtItsRow_A, out_valid[y], out_data[y*Width +: RowW] == RowW'(y))
    `JD_ASSUME_STREAM(InStable_M, in_valid_i[y], in_ready[y],
                      {marks[y], in_row_i[y*RowW +: RowW]})
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      sent_q <= 1'b0;
      came_q <= 1'b0;
    end else begin
      if (sends != '0) sent_q <= 1'b1;
      if (comes != '0) came_q <= 1'b1;
    end
    for (int unsigned y = 0; y < D; y++) begin
      if (sends[y]) row_q <= in_row_i[y*RowW +: RowW];
    end
  end

  // Words in the switches, two each: output and spare register.
  localparam int unsigned Places = 2 * RowW * D;
  logic [Places-1:0] followed;
  for (genvar x = 0; x < RowW; x++) begin : gen_layer
    for (genvar y = 0; y < D; y++) begin : gen_switch
      localparam int unsigned At = 2 * (x * D + y);
      localparam logic [RowW-1:0] Set = RowW'((2 << x) - 1);    // bits of the row that are set
      for (genvar k = 0; k < 2; k++) begin : gen_word
        logic                  there;
        logic [RowW+Width-1:0] word;
        if (k == 0) begin : gen_first
          assign there = u_dut.gen_butterfly.gen_layer[x].gen_switch[y].u_switch.u_room.out_valid_o;
          assign word  = u_dut.gen_butterfly.gen_layer[x].gen_switch[y].u_switch.u_room.out_data_o;
        end else begin : gen_spare
          assign there =
              u_dut.gen_butterfly.gen_layer[x].gen_switch[y].u_switch.u_room.spare_valid_q;
          assign word = u_dut.gen_butterfly.gen_layer[x].gen_switch[y].u_switch.u_room.spare_q;
        end
        assign followed[At+k] = there && word[RowW];
        `JD_ASSERT_IF(OnItsWay_A, there, (word[RowW-1:0] & Set) == (RowW'(y) & Set))
        `JD_ASSERT_IF(RowIsData_A, there, word[Width+:RowW] == word[RowW-1:0])
        `JD_ASSERT_IF(Followed_A, there && word[RowW], word[RowW-1:0] == row_q)
      end
    end
  end
  `JD_ASSERT(Once_A, $countones(followed) == 32'(sent_q && !came_q))
  `JD_ASSERT_IF(CameAfterSent_A, came_q, sent_q)
  `JD_ASSERT_IF(OnlyThere_A, comes != '0, sent_q && !came_q && comes == D'(1) << row_q)

  if (Most != 0) begin : gen_time
    localparam int unsigned AgeW = $clog2(Most + 2);
    logic [AgeW-1:0] age_q;                       // clocks in which all outputs were ready
    always_ff @(posedge clk_i) begin
      if (!rst_ni || !sent_q || came_q || !(&out_ready_i)) age_q <= '0;
      else                                                 age_q <= age_q + 1'b1;
    end
    `JD_ASSERT(InTime_A, 32'(age_q) <= Most)
  end

  Comes_C : cover property (@(posedge clk_i) disable iff (!rst_ni) came_q);
endmodule : jd_prove_mcts_net
