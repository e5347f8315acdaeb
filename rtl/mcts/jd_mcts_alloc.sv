// SPDX-License-Identifier: Apache-2.0
//
// Gives entries for new nodes: keeps Sf slots for each level, and looks for banks (Algorithm 2).
//
// Streams  slot_*: for each level 1..D-1 entries that its nodes may take. back_*: an entry comes back
//          unused. used_i: an entry of the level was used. full_o: the level has no entry left.
//          clear_i empties all banks. search_o: a search for a bank begins.
// Timing   A slot per clock for one of the levels, round robin, of one level every other clock; a
//          search takes D + 4 clocks, one at a time, while other levels get slots. An entry that comes
//          back goes before the level's next slot.
// Numbers  a slot is bank * Cap + index. A bank holds nodes of one level. Policy 0 takes the bank whose
//          port's way meets those of the fewest other levels in the network, 1 the lowest empty one,
//          2 the lowest with bank mod D = level. Of equal ones the lowest. In a crossbar ways meet at
//          ports alone.
// Source   thesis 3.3, Algorithm 2; docs/mcts.md (banks). Golden model: models/mcts/banks.py.
`include "jd_assert.svh"
module jd_mcts_alloc
  import jd_mcts_pkg::*;
#(
  parameter int unsigned D   = 4,     // levels, power of two 2..64
  parameter int unsigned Y   = 8,     // banks, power of two, a multiple of D
  parameter int unsigned Cap = 4,     // entries of a bank, power of two
  parameter int unsigned Sf  = 2,     // slots that a level keeps ready, 1..128
  parameter bit          Xbar = 1'b0  // crossbars, else butterflies
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
  logic [D-1:1]            wants, can, can_q, must, offered, above, above_q;
  logic [D-1:1]            granted, granted_q, pushed;
  logic [BankW-1:0]        grant_bank;
  logic [NextW-1:0]        grant_next;
  for (genvar l = 1; l < D; l++) begin : gen_want
    assign wants[l] = !spent_q[l] && 32'(held_q[l]) < Sf && 7'(l) < d_act_i;
    // With the slot that is on its way to its FIFO.
    assign can[l]   = wants[l] && 32'(held_q[l]) + 32'(granted_q[l]) < Sf
                      && 32'(next_q[l]) + 32'(granted_q[l]) < Cap;
    assign must[l]  = wants[l] && 32'(next_q[l]) == Cap;
    assign full_o[l] = spent_q[l] && held_q[l] == '0;
  end
  // A slot in three clocks: levels that can get one, the level that does, its FIFO. A level is not
  // offered right after a slot, as can_q is from before it. A slot that meets an entry that comes back
  // is not counted, and is given again.
  function automatic logic [D-1:1] later(input logic [D-1:1] levels);    // one of them is earlier
    logic [D-1:1] found;
    found = '0;
    for (int unsigned l = 2; l < D; l++) found[l] = found[l-1] || levels[l-1];
    return found;
  endfunction
  assign pushed  = granted_q & ~back_valid_i;
  assign offered = can_q & ~granted_q;
  assign above   = offered & above_q;
  always_comb begin
    granted    = above != '0 ? above & ~later(above) : offered & ~later(offered);
    grant_bank = '0;
    grant_next = '0;
    for (int unsigned l = 1; l < D; l++) begin
      if (granted_q[l]) begin
        grant_bank = grant_bank | bank_q[l];
        grant_next = grant_next | next_q[l];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    can_q <= can;
    if (!rst_ni || clear_i) begin
      can_q     <= '0;
      granted_q <= '0;
      above_q   <= '0;
    end else begin
      granted_q <= granted;
      if (granted_q != '0) above_q <= later(granted_q);
    end
  end
  logic [ADDRESS_W-1:0] slot;
  assign slot = ADDRESS_W'((32'(grant_bank) * Cap) | 32'(grant_next));

  // ---- Search: a port per clock, in three steps: the levels that it meets, their number, the better
  // one. Then the best one's lowest empty bank.
  typedef enum logic [1:0] {StIdle, StSearch, StGive, StDrain} state_t;
  typedef struct packed {
    logic [PortW-1:0] port;
    logic [RowW-1:0]  rows;                                     // of it that are taken
    logic             allowed;
  } place_t;
  state_t            state_q;
  logic [PortW-1:0]  level_q, port_q, best_q, level;
  logic [RowW-1:0]   best_rows_q;
  logic [CostW-1:0]  least_q, cost, cost_q;
  logic [D-1:0][RowW-1:0] rows_q;                               // banks of each port that are taken
  // [level][h][r]: the level has a bank on a port whose low h + 1 bits are r. The ways of two levels
  // whose highest different bit is h meet in a butterfly if those bits of their ports are equal.
  logic [D-1:0][PortW-1:0][D-1:0] in_use_q;
  logic [D-1:0]      meets, meets_q;                            // levels that a port's way meets
  place_t            place, place_q, place_q2;
  logic              look_q, count_q;                    // a port is in the second, third step
  logic              some_q, better;
  always_comb begin
    level = '0;
    for (int unsigned l = D - 1; l > 0; l--) begin
      if (must[l]) level = PortW'(l);
    end
    meets = '0;
    for (int unsigned s = 1; s < D; s++) begin
      logic [PortW-1:0] differ;
      differ = PortW'(s) ^ level_q;
      for (int unsigned h = 0; h < PortW; h++) begin
        if (differ[h]) meets[s] = in_use_q[s][h][port_q & PortW'((2 << h) - 1)];
      end
      if (Xbar) meets[s] = differ != '0 && in_use_q[s][PortW-1][port_q];
    end
  end
  // Their number: a tree of adders bit by bit, which a mapper does not make chains of. Sum k is that
  // of the sums 2k and 2k + 1; those from D on are single bits.
  logic [2*D-1:1][CostW-1:0] sums;
  always_comb begin
    sums = '0;
    for (int unsigned s = 1; s < D; s++) begin
      sums[D+s][0] = meets_q[s] && policy_i == ALGORITHM_2;
    end
    for (int unsigned k = D - 1; k > 0; k--) begin
      logic carry, both, one;
      carry = 1'b0;
      for (int unsigned b = 0; b < CostW; b++) begin
        both       = sums[2*k][b] && sums[2*k+1][b];
        one        = sums[2*k][b] ^ sums[2*k+1][b];
        sums[k][b] = one ^ carry;
        carry      = both || (carry && one);
      end
    end
    cost = sums[1];
  end
  assign place = '{
    port:    port_q,
    rows:    rows_q[port_q],
    allowed: 32'(rows_q[port_q]) < Rows && (policy_i != STATIC || port_q == level_q)
  };
  // Ports come in ascending order: of equal cost the bank with fewer rows below it is lower.
  assign better = count_q && place_q2.allowed
                  && (!some_q || cost_q < least_q
                      || (cost_q == least_q && place_q2.rows < best_rows_q));
  assign search_o = state_q == StIdle && must != '0 && !clear_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q  <= StIdle;
      look_q   <= 1'b0;
      count_q  <= 1'b0;
      rows_q   <= '0;
      in_use_q <= '0;
      spent_q  <= '0;
      held_q   <= '0;
      next_q   <= {(D-1){NextW'(Cap)}};
    end else begin
      unique case (state_q)
        StIdle: if (must != '0) state_q <= StSearch;
        StSearch: if (port_q == PortW'(D - 1)) state_q <= StDrain;
        StDrain: if (!look_q) state_q <= StGive;
        StGive: begin
          state_q <= StIdle;
          for (int unsigned l = 1; l < D; l++) begin
            if (level_q == PortW'(l)) begin
              if (some_q) next_q[l] <= '0;
              else        spent_q[l] <= 1'b1;
            end
          end
          if (some_q) begin
            rows_q[best_q] <= best_rows_q + 1'b1;
            for (int unsigned h = 0; h < PortW; h++) begin
              in_use_q[level_q][h][best_q & PortW'((2 << h) - 1)] <= 1'b1;
            end
          end
        end
        default: state_q <= StIdle;
      endcase
      look_q  <= state_q == StSearch;
      count_q <= look_q;
      for (int unsigned l = 1; l < D; l++) begin
        if (pushed[l]) next_q[l] <= next_q[l] + 1'b1;
        if (pushed[l] && !used_i[l])      held_q[l] <= held_q[l] + 1'b1;
        else if (!pushed[l] && used_i[l]) held_q[l] <= held_q[l] - 1'b1;
      end
    end
    if (state_q == StIdle) begin
      level_q <= level;
      port_q  <= '0;
      some_q  <= 1'b0;
    end
    if (state_q == StSearch) port_q <= port_q + 1'b1;
    meets_q  <= meets;
    place_q  <= place;
    cost_q   <= cost;
    place_q2 <= place_q;
    if (better) begin
      some_q      <= 1'b1;
      best_q      <= place_q2.port;
      best_rows_q <= place_q2.rows;
      least_q     <= cost_q;
    end
    if (state_q == StGive) begin
      for (int unsigned l = 1; l < D; l++) begin
        if (level_q == PortW'(l)) bank_q[l] <= BankW'(32'(best_rows_q) * D + 32'(best_q));
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
      .in_valid_i  (back_valid_i[l] || granted_q[l]),
      .in_ready_o  (ready),
      .in_data_i   (back_valid_i[l] ? back_i[l] : slot),
      .out_valid_o (slot_valid_o[l]),
      .out_ready_i (slot_ready_i[l]),
      .out_data_o  (slot_o[l]),
      .count_o     (unused_count)
    );
    `JD_ASSERT_IF(SlotsFit_A, (back_valid_i[l] || granted_q[l]) && !clear_i, ready)
    `JD_ASSERT_IF(UsedIsOut_A, used_i[l] && !clear_i, held_q[l] != '0)
  end
  `JD_ASSERT(OneGranted_A, $onehot0(granted))
endmodule : jd_mcts_alloc
