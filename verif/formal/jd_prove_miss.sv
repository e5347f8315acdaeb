// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_sparse_miss: one tuple a group. Of each group that there is, exactly one tuple is made
// in an encoding, its slices one after the other and in order; a row is taken only when its group has
// the tuple; a group's tuple is made late only if no row has the group. Uncached, each row has the
// tuple made once.
//
// Method       induction. One group is followed, watch_i: tuples of it, and rows with it in the beats
//              that were taken and in the lanes of this beat that are through.
// Assumptions  what is fixed while busy stays; rows have groups that there are; the stream's rules
//              (BeatStable_M of the block); lanes fill up from lane 0. Reset at any time.
`include "jd_assert.svh"
module jd_prove_miss #(
  parameter  int unsigned GMax   = 4,
  parameter  int unsigned HitW   = 2,
  parameter  int unsigned SliceW = 2,
  localparam int unsigned GroupW = $clog2(GMax)
) (
  input logic                   clk_i,
  input logic                   rst_ni,
  input logic                   start_i,
  input logic                   uncached_i,
  input logic [GMax-1:0]        groups_i,
  input logic [SliceW-1:0]      slice_last_i,
  input logic                   beat_valid_i,
  input logic [HitW*GroupW-1:0] beat_groups_i,
  input logic [HitW-1:0]        beat_lanes_i,
  input logic                   beat_last_i,
  input logic [GroupW-1:0]      watch_i
);
  localparam int unsigned CountW = 4;
  logic              busy, ready, valid, again, late, taken, last, here;
  logic [GroupW-1:0] group;
  logic [SliceW-1:0] number;
  jd_sparse_miss #(.GMax (GMax), .HitW (HitW), .SliceW (SliceW)) u_dut (
    .clk_i, .rst_ni, .start_i,
    .busy_o         (busy),
    .uncached_i, .groups_i, .slice_last_i, .beat_valid_i,
    .beat_ready_o   (ready),
    .beat_groups_i, .beat_lanes_i, .beat_last_i,
    .slice_valid_o  (valid),
    .slice_group_o  (group),
    .slice_number_o (number),
    .slice_again_o  (again),
    .slice_late_o   (late)
  );
  assign taken = beat_valid_i && ready;
  assign last  = number == slice_last_i;
  assign here  = valid && group == watch_i;

  logic              open_q, made_q, seen_q;     // a tuple is being made; the group's; its rows
  logic [GroupW-1:0] group_q;
  logic [SliceW-1:0] number_q;
  logic [CountW-1:0] tuples_q, rows_q;           // uncached, modulo 2**CountW
  logic [CountW-1:0] rows_here, through_here;    // of the beat
  logic [HitW-1:0]   watched;
  for (genvar k = 0; k < HitW; k++) begin : gen_lane
    assign watched[k] = beat_lanes_i[k] && beat_groups_i[k*GroupW +: GroupW] == watch_i;
    `JD_ASSUME_IF(GroupThere_M, beat_valid_i && beat_lanes_i[k],
                  groups_i[beat_groups_i[k*GroupW +: GroupW]])
    `JD_ASSERT_IF(HitHasTuple_A, taken && watched[k] && !uncached_i, made_q)
    `JD_ASSERT_IF(OnlyLanes_A, u_dut.made_q[k], uncached_i && beat_valid_i && beat_lanes_i[k])
    `JD_ASSERT_IF(AgainIsMade_A, u_dut.made_q[k] && watched[k], made_q)
  end
  always_comb begin
    rows_here    = '0;
    through_here = '0;
    for (int unsigned k = 0; k < HitW; k++) begin
      rows_here    = rows_here + CountW'(watched[k]);
      through_here = through_here + CountW'(watched[k] && u_dut.made_q[k]);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) begin
      made_q   <= 1'b0;
      seen_q   <= 1'b0;
      tuples_q <= '0;
      rows_q   <= '0;
    end else begin
      if (here && last) begin
        made_q   <= 1'b1;
        tuples_q <= tuples_q + 1'b1;
      end
      if (taken && watched != '0) seen_q <= 1'b1;
      if (taken) rows_q <= rows_q + rows_here;
    end
    open_q   <= rst_ni && valid && !last;
    group_q  <= group;
    number_q <= number;
  end
  logic ended_q;                                 // the encoding ended in the clock before
  always_ff @(posedge clk_i) ended_q <= rst_ni && 2'(u_dut.state_q) == 2'd2;
  logic started_q;                               // since reset
  always_ff @(posedge clk_i) started_q <= rst_ni && (started_q || start_i);

  WatchFixed_M : assume property (@(posedge clk_i) ($stable(watch_i)));
  `JD_ASSUME_NEXT(Fixed_M, busy, $stable(uncached_i) && $stable(groups_i) && $stable(slice_last_i))
  `JD_ASSUME_NEXT(FixedFromStart_M, start_i,
                  $stable(uncached_i) && $stable(groups_i) && $stable(slice_last_i))
  `JD_ASSUME(LanesFromZero_M, (beat_lanes_i & (beat_lanes_i + 1'b1)) == '0)
  `JD_ASSUME_IF(SomeGroup_M, start_i, groups_i != '0)

  `JD_ASSERT_IF(OneTuple_A, here && !uncached_i, !made_q)
  `JD_ASSERT_IF(LateHasNoRows_A, here && late, !made_q && !seen_q)
  `JD_ASSERT_IF(OfThoseThere_A, here, groups_i[watch_i])
  `JD_ASSERT_IF(SlicesFollow_A, open_q, valid && group == group_q && number == number_q + 1'b1)
  `JD_ASSERT_IF(FirstSlice_A, !open_q, number == '0)
  `JD_ASSERT_IF(InRange_A, open_q, number <= slice_last_i && busy)
  `JD_ASSERT_IF(Again_A, here, again == made_q)
  `JD_ASSERT_IF(AllAtTheEnd_A, started_q && !busy && !start_i && groups_i[watch_i] && ended_q,
                made_q)
  `JD_ASSERT_IF(Status_A, busy, u_dut.status_q[watch_i] == made_q && started_q)
  `JD_ASSERT_IF(SeenHasTuple_A, seen_q && busy, made_q)
  `JD_ASSERT(State_A, 2'(u_dut.state_q) != 2'd3)
  `JD_ASSERT_IF(MadeInRows_A, u_dut.made_q != '0, 2'(u_dut.state_q) == 2'd1)
  // Uncached: a tuple for each row, and a late one.
  `JD_ASSERT_IF(OneForEachRow_A, busy && uncached_i && 2'(u_dut.state_q) == 2'd1,
                tuples_q == rows_q + through_here)
  `JD_ASSERT_IF(AndALateOne_A, busy && uncached_i && 2'(u_dut.state_q) == 2'd2,
                tuples_q == rows_q + CountW'(made_q && !seen_q))
  `JD_ASSERT_IF(MadeInThisBeat_A, busy && uncached_i && 2'(u_dut.state_q) == 2'd1 && made_q
                && !seen_q, through_here != '0)
  `JD_ASSERT_IF(SeenIsRows_A, busy && !made_q, rows_q == '0 && tuples_q == '0 && !seen_q)

  AllKinds_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (ended_q && !busy && seen_q && groups_i == '1 && slice_last_i == SliceW'(1)));
  Late_C : cover property (@(posedge clk_i) disable iff (!rst_ni) (here && late && last));
endmodule : jd_prove_miss
