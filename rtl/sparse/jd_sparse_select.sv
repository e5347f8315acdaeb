// SPDX-License-Identifier: Apache-2.0
//
// Selects in turns the lanes whose words are read: in each turn no two lanes have the same port of the
// same bank, and every lane that is active comes in one turn.
//
// Streams  valid_i, active_i, bank_i: a rank's lanes with the banks of their words, taken with ready_o.
//          now_o, port_o: lanes of this turn with their ports, from the clock after that on; first_o,
//          last_o: the first and the last turn of a rank. valid_o: there is a rank.
// Timing   a turn per clock, one for a rank without lanes; the next rank comes with the last turn.
// Numbers  A lane's turn is half of the number of active lanes below it that have its bank, its port
//          that number modulo 2. With one_port_i all have port 0, and the turn is that number.
// Source   LearningGroup III-C. Golden model: models/sparse/plan.py, line_clocks.
`include "jd_assert.svh"
module jd_sparse_select #(
  parameter  int unsigned Lanes = 33,            // 2..264
  parameter  int unsigned Banks = 64             // of the memory, a power of two from 2 on
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                one_port_i,
  input  logic                                valid_i,
  output logic                                ready_o,
  input  logic [Lanes-1:0]                    active_i,
  input  logic [Lanes-1:0][$clog2(Banks)-1:0] bank_i,
  output logic                                valid_o,
  output logic                                first_o,
  output logic                                last_o,
  output logic [Lanes-1:0]                    now_o,
  output logic [Lanes-1:0]                    port_o
);
  localparam int unsigned TurnW = $clog2(Lanes) + 1;
  localparam int unsigned Fours = 1 << $clog2((Lanes + 3) / 4);
  localparam logic [15:0][2:0] Ones = 48'o4332_3221_3221_2110;    // in a number of four bits
  logic [Lanes-1:0]            active_q, later;
  logic [Lanes-1:0][TurnW-1:0] below, below_q;   // active lanes below with the bank, still to come
  function automatic logic [TurnW-1:0] ones_of(input logic [Lanes-1:0] bits);
    logic [4*Fours-1:0]          padded;
    logic [Fours-1:0][TurnW-1:0] sums;
    padded = (4 * Fours)'(bits);
    for (int unsigned k = 0; k < Fours; k++) sums[k] = TurnW'(Ones[padded[4*k +: 4]]);
    for (int unsigned n = Fours / 2; n > 0; n = n / 2) begin
      for (int unsigned k = 0; k < n; k++) sums[k] = sums[2*k] + sums[2*k+1];
    end
    return sums[0];
  endfunction
  always_comb begin
    for (int i = 0; i < int'(Lanes); i++) begin
      logic [Lanes-1:0] same;
      same = '0;
      for (int j = 0; j < i; j++) same[j] = active_i[j] && bank_i[j] == bank_i[i];
      below[i]  = ones_of(same);
      now_o[i]  = valid_o && active_q[i] && below_q[i][TurnW-1:1] == '0
                  && !(one_port_i && below_q[i][0]);
      later[i]  = active_q[i] && !now_o[i];
      port_o[i] = !one_port_i && below_q[i][0];
    end
  end
  assign ready_o = !valid_o || later == '0;
  assign last_o  = valid_o && later == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      valid_o <= 1'b0;
    else if (ready_o) valid_o <= valid_i;
    first_o <= ready_o;
    if (ready_o) begin
      active_q <= active_i;
      below_q  <= below;
    end else begin
      active_q <= later;
      for (int unsigned i = 0; i < Lanes; i++)
        below_q[i] <= below_q[i] - (one_port_i ? TurnW'(1) : TurnW'(2));
    end
  end

  `JD_ASSUME_NEXT(OnePortFixed_M, valid_o, $stable(one_port_i))
endmodule : jd_sparse_select
