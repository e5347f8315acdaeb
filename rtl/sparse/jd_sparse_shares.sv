// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a window's slots that each core has: all, or in ROW split a share of them.
//
// Streams  start_i: begins with window_i, which holds from the next clock on; shared_o: firsts_o, ranks_o
//          and depths_o are there until the next start_i. place_o: a place of the contracted list, whose
//          owner_i comes one clock later. window_o: the window as the cores' banks get it. clear_i:
//          loads_o begin at 0.
// Timing   ROW split by places: Slots * Cores + Cores + 7 clocks; contiguous: the ranks of all slots,
//          2 * Slots + Cores + 2. Else one clock.
// Numbers  exact. By places, place p of a list is of core p mod Cores: those of a slot, which are 1, 2 or
//          4 apart (KSPLIT), are Cores times as far apart in a core, or, where Cores divides the
//          distance, all of one core. Contiguous, owners ascend in a slot.
// Source   LearningGroup III-C; docs/sparse.md (numbers). Golden model: models/sparse/plan.py, owners.
module jd_sparse_shares
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores = 3,             // 1..3
  parameter int unsigned Slots = 4              // of a window, 2 or 4
) (
  input  logic                                   clk_i,
  input  logic                                   rst_ni,
  input  logic                                   clear_i,
  input  logic                                   row_i,           // ROW split
  input  logic                                   contiguous_i,    // ranges of indices, or by places
  input  logic [1:0]                             split_log2_i,
  input  logic [LAYER_W-1:0]                     layer_i,
  input  logic                                   dx_i,
  input  logic                                   start_i,
  input  logic [WINDOW_W-1:0]                    number_i,        // of the window
  input  window_t                                window_i,
  output logic [INDEX_W-1:0]                     place_o,
  input  logic [1:0]                             owner_i,
  output logic                                   shared_o,
  output logic [1:0]                             step_o,          // as in window_t
  output logic [Cores-1:0][Slots-1:0][INDEX_W-1:0] firsts_o,      // of core 0, or of each
  output logic [Cores-1:0][Slots-1:0][DIM_W-1:0] ranks_o,
  output logic [Cores-1:0][DIM_W-1:0]            depths_o,        // the largest of the slots'
  output logic [Cores-1:0]                       window_cores_o,
  output window_write_t                          window_o,
  output logic [Cores-1:0][18:0]                 loads_o          // ROW split: weights so far
);
  localparam int unsigned CoreW = (Cores > 1) ? $clog2(Cores) : 1;
  localparam int unsigned SlotW = $clog2(Slots);
  localparam int unsigned STAGES = 5;           // slot, owner, ranks before, count, written
  typedef struct packed {
    logic [CoreW-1:0]   core;
    logic               all;                    // the last slot of the last core
    logic [SlotW-1:0]   slot;
    logic [INDEX_W-1:0] first;
    logic [DIM_W-1:0]   depth;
    logic [LANE_W-1:0]  lanes;
  } share_t;
  logic                walk_q, begun_q, uneven; // uneven: a slot is of one core
  logic [CoreW-1:0]    core_q;
  logic [SlotW-1:0]    slot_q;
  logic                last_slot, last_core;
  logic [WINDOW_W-1:0] number_q;
  slot_t               slot;
  assign uneven    = Cores == 2 && split_log2_i != '0;
  assign step_o    = (row_i && !contiguous_i && !uneven) ? 2'(Cores - 1) : 2'd0;
  assign slot      = window_i.slots[slot_q];
  assign last_slot = 32'(slot_q) == Slots - 1;
  assign last_core = 32'(core_q) == Cores - 1;

  // ---- By places: a slot of a core per clock
  logic [1:0]        skip;                      // ranks before the core's first
  logic [STAGES:1]   valid_q;
  share_t            share_q1, share_q2, share_d, share_q3, share_q4, share_q5;
  slot_t             slot_q1, slot_q2;
  logic [1:0]        owner_q2;                  // of the slot's first rank
  function automatic logic [DIM_W-1:0] over_cores(input logic [DIM_W-1:0] count);
    return (Cores == 3) ? DIM_W'((21'(count) * 21'd683) >> 11) : count >> (Cores - 1);
  endfunction
  always_comb begin
    logic [1:0] owner, core;
    owner = owner_q2;
    core  = 2'(share_q2.core);
    // The owner of the next rank is the next core, or with places 2 apart the one before.
    if (Cores == 3 && split_log2_i == 2'd1)
      skip = owner >= core ? owner - core : owner + 2'd3 - core;
    else if (Cores == 3)
      skip = core >= owner ? core - owner : core + 2'd3 - owner;
    else
      skip = {1'b0, core[0] ^ owner[0]};
    share_d       = share_q2;
    share_d.first = slot_q2.first + (INDEX_W'(skip) << split_log2_i);
    share_d.depth = '0;
    share_d.lanes = slot_q2.lanes;
    if (uneven) share_d.depth = skip == '0 ? slot_q2.depth << 1 : '0;
    else if (slot_q2.depth > DIM_W'(skip))
      share_d.depth = slot_q2.depth + DIM_W'(Cores - 1) - DIM_W'(skip);
  end

  // ---- Contiguous: the owners of a slot's ranks, one per clock
  logic                        asks, asked_q, slot_ends;
  logic [DIM_W-1:0]            rank_q;
  logic [Cores-1:0][DIM_W-1:0] counts_q;
  assign place_o   = slot.first + INDEX_W'(rank_q << split_log2_i);
  assign asks      = walk_q && contiguous_i && rank_q < slot.depth;
  assign slot_ends = walk_q && contiguous_i && !asks && !asked_q;

  // ---- The walk, then a window for each core
  logic emit_q, ends;
  assign ends = contiguous_i ? slot_ends && last_slot : valid_q[STAGES] && share_q5.all;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      walk_q  <= rst_ni && row_i;
      begun_q <= rst_ni && !row_i;
      valid_q <= '0;
      emit_q  <= 1'b0;
      asked_q <= 1'b0;
    end else begin
      if (contiguous_i ? slot_ends && last_slot : last_slot && last_core) walk_q <= 1'b0;
      begun_q <= 1'b0;
      valid_q <= {valid_q[STAGES-1:1], walk_q && !contiguous_i};
      if (ends)                     emit_q <= 1'b1;
      else if (emit_q && last_core) emit_q <= 1'b0;
      asked_q <= asks;
    end
    if (start_i) number_q <= number_i;
    if (start_i || slot_ends)                slot_q <= start_i ? '0 : slot_q + 1'b1;
    else if (walk_q && !contiguous_i)        slot_q <= slot_q + 1'b1;
    if (start_i || ends)                     core_q <= '0;
    else if (emit_q || (walk_q && !contiguous_i && last_slot)) core_q <= core_q + 1'b1;
    if (start_i || slot_ends) rank_q <= '0;
    else if (asks)            rank_q <= rank_q + 1'b1;
    if (slot_ends || start_i) counts_q <= '0;
    else if (asked_q) begin
      for (int unsigned c = 0; c < Cores; c++)
        if (owner_i == 2'(c)) counts_q[c] <= counts_q[c] + 1'b1;
    end
    share_q1       <= '{core: core_q, slot: slot_q, all: last_slot && last_core, default: '0};
    slot_q1        <= slot;
    share_q2       <= share_q1;
    slot_q2        <= slot_q1;
    owner_q2       <= owner_of(slot_q1.first, Cores);
    share_q3       <= share_d;
    share_q4       <= share_q3;
    share_q4.depth <= over_cores(share_q3.depth);
    share_q5       <= share_q4;
  end

  // ---- What each core has
  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i)                          shared_o <= 1'b0;
    else if (begun_q || (emit_q && last_core))       shared_o <= 1'b1;
    if (begun_q) begin
      for (int unsigned s = 0; s < Slots; s++) begin
        firsts_o[0][s] <= window_i.slots[s].first;
        ranks_o[0][s]  <= window_i.slots[s].depth;
      end
      depths_o[0] <= window_i.depth;
    end
    for (int unsigned c = 0; c < Cores; c++) begin
      if (start_i) depths_o[c] <= '0;
      if (valid_q[4] && share_q4.core == CoreW'(c)) begin
        firsts_o[c][share_q4.slot] <= share_q4.first;
        ranks_o[c][share_q4.slot]  <= share_q4.depth;
        if (share_q4.depth > depths_o[c]) depths_o[c] <= share_q4.depth;
      end
      if (slot_ends) begin
        logic [DIM_W-1:0] below;
        below = '0;
        for (int unsigned j = 0; j < c; j++) below = below + counts_q[j];
        firsts_o[c][slot_q] <= slot.first + INDEX_W'(below << split_log2_i);
        ranks_o[c][slot_q]  <= counts_q[c];
        if (counts_q[c] > depths_o[c]) depths_o[c] <= counts_q[c];
      end
      if (clear_i) loads_o[c] <= '0;
      else if (slot_ends) loads_o[c] <= loads_o[c] + 19'(counts_q[c]) * 19'(slot.lanes);
      else if (valid_q[STAGES] && share_q5.core == CoreW'(c))
        loads_o[c] <= loads_o[c] + 19'(share_q5.depth) * 19'(share_q5.lanes);
    end
  end

  // ---- To the banks
  always_ff @(posedge clk_i) begin
    window_o.valid  <= rst_ni && (begun_q || emit_q);
    window_o.layer  <= layer_i;
    window_o.pass   <= dx_i ? PassDx : PassFw;
    window_o.number <= number_q;
    window_o.window <= window_i;
    window_cores_o  <= row_i ? Cores'(1) << core_q : '1;
    if (row_i) begin
      window_o.window.step <= step_o;
      for (int unsigned c = 0; c < Cores; c++) begin
        if (core_q == CoreW'(c)) begin
          window_o.window.depth <= depths_o[c];
          for (int unsigned s = 0; s < Slots; s++) begin
            window_o.window.slots[s].first <= firsts_o[c][s];
            window_o.window.slots[s].depth <= ranks_o[c][s];
          end
        end
      end
    end
  end
endmodule : jd_sparse_shares
