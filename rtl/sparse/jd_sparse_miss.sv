// SPDX-License-Identifier: Apache-2.0
//
// Streams rows past the row memory's status bits: a row of a group without tuple misses and has it
// made, in slices of the compared side; others hit. Groups that no row selects come at the end.
//
// Streams  beat: groups of up to HitW rows, in lanes; taken when they all hit. slice: a part of a
//          tuple to make, a pipe. start_i begins an encoding while busy_o is low.
// Timing   one clock per beat, and one per slice of each miss; busy_o falls one clock later than the
//          last of them. With uncached_i every row has its tuple made, and a beat is taken with the
//          last slice of its last row.
// Numbers  indices, exact. Rows of a beat miss in the order of their lanes; late groups ascend.
// Source   LearningGroup III-B, figure 5; docs/sparse.md (encoder). Golden model:
//          models/sparse/osel.py, encode. verif/formal/jd_prove_miss.sv proves one tuple a group.
`include "jd_assert.svh"
module jd_sparse_miss #(
  parameter  int unsigned GMax   = 32,                  // groups, power of two 1..32
  parameter  int unsigned HitW   = 4,                   // rows of a beat, 1..4
  parameter  int unsigned SliceW = 5,                   // bits of a slice's number, 1..6
  localparam int unsigned GroupW = (GMax > 1) ? $clog2(GMax) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   start_i,
  output logic                   busy_o,
  input  logic                   uncached_i,            // as the two below: fixed while busy
  input  logic [GMax-1:0]        groups_i,              // that there are
  input  logic [SliceW-1:0]      slice_last_i,          // of a tuple
  input  logic                   beat_valid_i,
  output logic                   beat_ready_o,
  input  logic [HitW*GroupW-1:0] beat_groups_i,         // lane 0 in the low bits
  input  logic [HitW-1:0]        beat_lanes_i,          // with a row; at least lane 0
  input  logic                   beat_last_i,
  output logic                   slice_valid_o,
  output logic [GroupW-1:0]      slice_group_o,
  output logic [SliceW-1:0]      slice_number_o,
  output logic                   slice_again_o,         // the group has its tuple already
  output logic                   slice_late_o           // no row selects the group
);
  if (GMax < 1 || GMax > 32 || HitW < 1 || HitW > 4 || SliceW < 1 || SliceW > 6)
  begin : gen_bad_size
    $fatal(1, "jd_sparse_miss: GMax=%0d, want 1..32, HitW=%0d, want 1..4, SliceW=%0d, want 1..6",
           GMax, HitW, SliceW);
  end
  typedef enum logic [1:0] {StIdle, StRows, StLate} state_t;
  state_t          state_q;
  logic [GMax-1:0] status_q;                            // groups with a tuple
  logic [HitW-1:0] made_q;                              // lanes whose tuples were made again
  logic [HitW-1:0] pending, first;
  logic [GMax-1:0] missing;
  logic            slice_last, rows, late;
  assign rows = state_q == StRows && beat_valid_i;
  assign late = state_q == StLate && missing != '0;
  for (genvar k = 0; k < HitW; k++) begin : gen_lane
    assign pending[k] = beat_lanes_i[k]
                        && !(uncached_i ? made_q[k] : status_q[beat_groups_i[k*GroupW +: GroupW]]);
  end
  assign first   = pending & (~pending + 1'b1);         // the lowest
  assign missing = groups_i & ~status_q;
  always_comb begin
    slice_group_o = '0;
    if (state_q == StLate) begin
      for (int unsigned g = GMax; g > 0; g--) begin
        if (missing[g-1]) slice_group_o = GroupW'(g - 1);
      end
    end else begin
      for (int unsigned k = 0; k < HitW; k++) begin
        if (first[k]) slice_group_o = slice_group_o | beat_groups_i[k*GroupW +: GroupW];
      end
    end
  end
  assign slice_last    = slice_number_o == slice_last_i;
  assign slice_valid_o = (rows && pending != '0) || late;
  assign slice_again_o = status_q[slice_group_o];
  assign slice_late_o  = state_q == StLate;
  assign beat_ready_o  = state_q == StRows
                         && (uncached_i ? slice_last && pending == first : pending == '0);
  assign busy_o        = state_q != StIdle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q        <= StIdle;
      status_q       <= '0;
      made_q         <= '0;
      slice_number_o <= '0;
    end else begin
      unique case (state_q)
        StIdle: begin
          status_q <= '0;
          if (start_i) state_q <= StRows;
        end
        StRows: if (beat_valid_i && beat_ready_o && beat_last_i) state_q <= StLate;
        StLate: if (missing == '0) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      if (slice_valid_o) begin
        slice_number_o <= slice_last ? '0 : slice_number_o + 1'b1;
        if (slice_last) begin
          status_q[slice_group_o] <= 1'b1;
          if (rows && uncached_i) made_q <= made_q | first;
        end
      end
      if (beat_valid_i && beat_ready_o) made_q <= '0;
    end
  end

  `JD_ASSUME_STREAM(BeatStable_M, beat_valid_i, beat_ready_o,
                    {beat_groups_i, beat_lanes_i, beat_last_i})
  `JD_ASSUME_IF(SomeLane_M, beat_valid_i, beat_lanes_i[0])
  `JD_ASSUME_IF(StartIdle_M, start_i, !busy_o)
  `JD_ASSERT_IF(SliceInRange_A, slice_valid_o, slice_number_o <= slice_last_i)
endmodule : jd_sparse_miss
