// SPDX-License-Identifier: Apache-2.0
//
// Gives entries for new nodes: keeps Sf slots for each level, and looks for banks (Algorithm 2).
//
// Streams  slot_*: for each level 1..D-1 entries that its nodes may take. back_*: an entry comes back
//          unused. used_i: an entry of the level was used. full_o: the level has no entry left.
//          clear_i empties all banks. search_o: a search for a bank begins.
// Timing   A slot per clock for one of the levels, round robin; a search takes D + 2 clocks, one at a
//          time, while other levels get slots.
// Numbers  a slot is bank * Cap + index. A bank holds nodes of one level. Policy 0 takes the bank whose
//          port's way meets those of the fewest other levels in the butterfly, 1 the lowest empty one,
//          2 the lowest with bank mod D = level. Of equal ones the lowest.
// Source   thesis 3.3, Algorithm 2; docs/mcts.md (banks). Golden model: models/mcts/banks.py.
`include "jd_assert.svh"
module jd_mcts_alloc
  import jd_mcts_pkg::*;
#(
  parameter int unsigned D   = 4,     // levels, power of two 2..64
  parameter int unsigned Y   = 8,     // banks, power of two, a multiple of D
  parameter int unsigned Cap = 4,     // entries of a bank, power of two
  parameter int unsigned Sf  = 2      // slots that a level keeps ready, 1..128
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           clear_i,
  input  logic [1:0]                     policy_i,
  input  logic [6:0]                     d_act_i,
  output logic [D-1:1]                   slot_valid_o,
  input  logic [D-1:1]                   slot_ready_i,
  output logic [D-1:1][ADDRESS_W-1:0]    slot_o,
  output logic [D-1:1]                   full_o,
  input  logic [D-1:1]                   back_valid_i,
  input  logic [D-1:1][ADDRESS_W-1:0]    back_i,
  input  logic [D-1:1]                   used_i,
  output logic                           search_o
);
  if (D < 2 || D > 64 || Y < D || Y % D != 0 || Y * Cap > 16384 || Sf < 1 || Sf > 128)
  begin : gen_bad_size
    $fatal(1, "jd_mcts_alloc: D=%0d, want 2..64, Y=%0d, a multiple, Cap=%0d, Sf=%0d, want 1..128",
           D, Y, Cap, Sf);
  end
  localparam int unsigned PortW  = $clog2(D);
  localparam int unsigned Rows   = Y / D;                       // banks of a port
  localparam int unsigned RowW   = $clog2(Rows + 1);
  localparam int unsigned BankW  = $clog2(Y);
  localparam int unsigned NextW  = $clog2(Cap + 1);
  localparam int unsigned HeldW  = $clog2(Sf + 1);
  localparam int unsigned CostW  = $clog2(D + 1);
  localparam logic [1:0] ALGORITHM_2 = 2'd0, STATIC = 2'd2;

  // ---- Levels: the bank being filled, slots that are out
  logic [D-1:1][BankW-1:0] bank_q;
  logic [D-1:1][NextW-1:0] next_q;                              // Cap: full, or no bank
  logic [D-1:1][HeldW-1:0] held_q;                              // in the FIFO, or with a token
  logic [D-1:1]            spent_q;                             // no bank is left
  logic [D-1:1]            wants, can, must, offered, granted, above_q;
  logic [D-1:1]            earlier;                             // a level before it is offered
  logic [BankW-1:0]        grant_bank;
  logic [NextW-1:0]        grant_next;
  logic                    found;
  for (genvar l = 1; l < D; l++) begin : gen_want
    assign wants[l] = !spent_q[l] && 32'(held_q[l]) < Sf && 7'(l) < d_act_i;
    assign can[l]   = wants[l] && 32'(next_q[l]) < Cap && !back_valid_i[l];
    assign must[l]  = wants[l] && 32'(next_q[l]) == Cap;
    assign full_o[l] = spent_q[l] && held_q[l] == '0;
  end
  assign offered = (can & above_q) != '0 ? can & above_q : can;
  assign found   = can != '0;
  always_comb begin
    earlier = '0;
    for (int unsigned l = 2; l < D; l++) earlier[l] = earlier[l-1] || offered[l-1];
    granted    = offered & ~earlier;
    grant_bank = '0;
    grant_next = '0;
    for (int unsigned l = 1; l < D; l++) begin
      if (granted[l]) begin
        grant_bank = grant_bank | bank_q[l];
        grant_next = grant_next | next_q[l];
      end
    end
  end
  logic [ADDRESS_W-1:0] slot;
  assign slot = ADDRESS_W'(32'(grant_bank) * Cap + 32'(grant_next));

  // ---- Search: a port per clock, then the best one's lowest empty bank
  typedef enum logic [1:0] {StIdle, StSearch, StGive} state_t;
  state_t            state_q;
  logic [PortW-1:0]  level_q, port_q, best_q, level;
  logic [CostW-1:0]  least_q, cost;
  logic [D-1:0][RowW-1:0] rows_q;                               // banks of each port that are taken
  logic [D-1:0][D-1:0]    in_use_q;                             // [level][port]
  logic              some_q, better, allowed;
  always_comb begin
    level = '0;
    for (int unsigned l = D - 1; l > 0; l--) begin
      if (must[l]) level = PortW'(l);
    end
    cost = '0;
    for (int unsigned s = 1; s < D; s++) begin
      logic [PortW-1:0] differ, mask;
      logic             meets;
      // Low bits that decide: up to the highest in which the levels differ.
      differ = PortW'(s) ^ level_q;
      mask   = '0;
      for (int unsigned k = 0; k < PortW; k++) begin
        if (differ[k]) mask = PortW'((2 << k) - 1);
      end
      meets = 1'b0;
      for (int unsigned e = 0; e < D; e++) begin
        if (in_use_q[s][e] && ((PortW'(e) ^ port_q) & mask) == '0) meets = 1'b1;
      end
      if (meets && differ != '0) cost = cost + 1'b1;
    end
    if (policy_i != ALGORITHM_2) cost = '0;
  end
  assign allowed = 32'(rows_q[port_q]) < Rows && (policy_i != STATIC || port_q == level_q);
  // Ports come in ascending order: of equal cost the bank with fewer rows below it is lower.
  assign better = allowed && (!some_q || cost < least_q
                              || (cost == least_q && rows_q[port_q] < rows_q[best_q]));
  assign search_o = state_q == StIdle && must != '0 && !clear_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q  <= StIdle;
      rows_q   <= '0;
      in_use_q <= '0;
      spent_q  <= '0;
      held_q   <= '0;
      above_q  <= '0;
      next_q   <= {(D-1){NextW'(Cap)}};
    end else begin
      unique case (state_q)
        StIdle: if (must != '0) state_q <= StSearch;
        StSearch: if (port_q == PortW'(D - 1)) state_q <= StGive;
        StGive: begin
          state_q <= StIdle;
          for (int unsigned l = 1; l < D; l++) begin
            if (level_q == PortW'(l)) begin
              if (some_q) next_q[l] <= '0;
              else        spent_q[l] <= 1'b1;
            end
          end
          if (some_q) begin
            rows_q[best_q]            <= rows_q[best_q] + 1'b1;
            in_use_q[level_q][best_q] <= 1'b1;
          end
        end
        default: state_q <= StIdle;
      endcase
      if (found) above_q <= earlier;
      for (int unsigned l = 1; l < D; l++) begin
        if (granted[l]) next_q[l] <= next_q[l] + 1'b1;
        if (granted[l] && !used_i[l])      held_q[l] <= held_q[l] + 1'b1;
        else if (!granted[l] && used_i[l]) held_q[l] <= held_q[l] - 1'b1;
      end
    end
    if (state_q == StIdle) begin
      level_q <= level;
      port_q  <= '0;
      some_q  <= 1'b0;
    end
    if (state_q == StSearch) begin
      port_q <= port_q + 1'b1;
      if (better) begin
        some_q  <= 1'b1;
        best_q  <= port_q;
        least_q <= cost;
      end
    end
    if (state_q == StGive) begin
      for (int unsigned l = 1; l < D; l++) begin
        if (level_q == PortW'(l)) bank_q[l] <= BankW'(32'(rows_q[best_q]) * D + 32'(best_q));
      end
    end
  end

  // ---- Slots
  for (genvar l = 1; l < D; l++) begin : gen_slots
    logic             ready;
    logic [HeldW-1:0] unused_count;
    jd_stream_fifo #(.Width (ADDRESS_W), .Depth (Sf)) u_slots (
      .clk_i, .rst_ni,
      .clear_i,
      .in_valid_i  (back_valid_i[l] || granted[l]),
      .in_ready_o  (ready),
      .in_data_i   (back_valid_i[l] ? back_i[l] : slot),
      .out_valid_o (slot_valid_o[l]),
      .out_ready_i (slot_ready_i[l]),
      .out_data_o  (slot_o[l]),
      .count_o     (unused_count)
    );
    `JD_ASSERT_IF(SlotsFit_A, (back_valid_i[l] || granted[l]) && !clear_i, ready)
    `JD_ASSERT_IF(UsedIsOut_A, used_i[l] && !clear_i, held_q[l] != '0)
  end
  `JD_ASSERT(OneGranted_A, $onehot0(granted))
endmodule : jd_mcts_alloc
