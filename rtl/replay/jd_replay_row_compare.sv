// SPDX-License-Identifier: Apache-2.0
//
// Finds the child of a node whose running sum is the first to reach the target.
//
// Streams  in: the node's children (a row) and a target. out: the child's index and value, and the
//          rest of the target inside the child. A pipe: valid only, no stall.
// Timing   latency compare_latency(FanLog2) of jd_replay_pkg, one row per clock. Each stage has one
//          adder, one compare, or one selection with a subtraction. Rows of more than 4 children
//          are compared in two steps, groups first, to keep the selections narrow.
//          A forced row chooses the given child; its target and rest have no meaning.
// Numbers  unsigned integers, exact. The target is 1 to the sum of the row. The rest is 1 to the
//          child's value, so this value is not 0.
// Source   onchip_replay 3.1, figure 5 (sampler). Golden model: models/replay/tree.py, find.
`include "jd_assert.svh"
module jd_replay_row_compare
  import jd_replay_pkg::*;
#(
  parameter  int unsigned FanLog2 = 4,                 // log2 of the children, 1..6
  parameter  int unsigned ChildW  = 32,                // bits of a child, 1..52
  localparam int unsigned Fan     = 2 ** FanLog2,
  localparam int unsigned SumW    = ChildW + FanLog2   // the sum of a row
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         valid_i,
  input  logic [Fan-1:0][ChildW-1:0]   row_i,      // child 0 in the low bits
  input  logic [SumW-1:0]              target_i,
  input  logic                         force_i,
  input  logic [FanLog2-1:0]           child_i,    // where it is
  output logic                         valid_o,
  output logic [FanLog2-1:0]           index_o,
  output logic [ChildW-1:0]            value_o,
  output logic [ChildW-1:0]            rest_o
);
  if (FanLog2 < 1 || FanLog2 > 6) begin : gen_bad_fan
    $fatal(1, "jd_replay_row_compare: FanLog2=%0d, want 1..6", FanLog2);
  end

  localparam int unsigned ItemsLog2  = group_log2(FanLog2);      // children of a group
  localparam int unsigned Items      = 2 ** ItemsLog2;
  localparam int unsigned GroupsLog2 = FanLog2 - ItemsLog2;
  localparam int unsigned Groups     = 2 ** GroupsLog2;
  localparam int unsigned GroupW     = ChildW + ItemsLog2;       // the sum of a group
  localparam int unsigned NumberW    = (GroupsLog2 > 0) ? GroupsLog2 : 1;
  localparam int unsigned ItemStages = ItemsLog2 + 2;

  // ---- Choose the group ----
  logic                         group_valid;
  logic [Items-1:0][ChildW-1:0] group;          // its children
  logic [NumberW-1:0]           group_number;
  logic [SumW-1:0]              group_target;   // the target, and the sum of the groups before it
  logic [SumW-1:0]              group_base;
  logic                         group_force;
  logic [ItemsLog2-1:0]         group_child;

  if (GroupsLog2 == 0) begin : gen_one_group
    assign group_valid  = valid_i;
    assign group        = row_i;
    assign group_number = '0;
    assign group_target = target_i;
    assign group_base   = '0;
    assign group_force  = force_i;
    assign group_child  = ItemsLog2'(child_i);
  end else begin : gen_groups
    localparam int unsigned Stages = ItemsLog2 + GroupsLog2 + 1;   // before the selection
    logic [Stages-1:0]          valid_q;      // bit s: the registers after stage s are loaded
    logic [Fan-1:0][ChildW-1:0] row_q [Stages];
    logic [SumW-1:0]            target_q [Stages];
    logic [Stages-1:0]          force_q;
    logic [FanLog2-1:0]         child_q [Stages];
    logic [Groups-2:0]          reached_q;    // the running sum up to this group is enough

    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid_q <= '0;
      else         valid_q <= Stages'({valid_q, valid_i});
      if (valid_i) begin
        row_q[0]    <= row_i;
        target_q[0] <= target_i;
        force_q[0]  <= force_i;
        child_q[0]  <= child_i;
      end
      if (valid_q != '0) begin
        for (int unsigned stage = 1; stage < Stages; stage++) begin
          if (valid_q[stage-1]) begin
            row_q[stage]    <= row_q[stage-1];
            target_q[stage] <= target_q[stage-1];
            force_q[stage]  <= force_q[stage-1];
            child_q[stage]  <= child_q[stage-1];
          end
        end
      end
    end

    // Sums of the groups.
    logic [Groups-1:0][Items-1:0][GroupW-1:0] children;
    logic [Groups-1:0][GroupW-1:0]            sums;
    logic                                     sums_valid;
    always_comb begin
      for (int unsigned g = 0; g < Groups; g++) children[g] = widen(row_i[g*Items +: Items]);
    end
    jd_reduce #(
      .Groups(Groups), .Items(Items), .Width(GroupW), .Latency(ItemsLog2)
    ) u_sums (
      .clk_i, .rst_ni, .valid_i, .items_i(children), .valid_o(sums_valid), .result_o(sums)
    );

    // Running sums over the groups: after stage s each covers 2^(s+1) groups.
    for (genvar stage = 0; stage < GroupsLog2; stage++) begin : gen_run
      logic [Groups-1:0][SumW-1:0] terms;
      logic [Groups-1:0][SumW-1:0] sums_q;
      for (genvar g = 0; g < Groups; g++) begin : gen_terms
        if (stage == 0) begin : gen_first
          assign terms[g] = SumW'(sums[g]);
        end else begin : gen_next
          assign terms[g] = gen_run[stage-1].sums_q[g];
        end
      end
      always_ff @(posedge clk_i) begin
        if (valid_q[ItemsLog2+stage-1]) begin
          for (int unsigned g = 0; g < Groups; g++) begin
            if (g >= 2 ** stage) sums_q[g] <= terms[g] + terms[g-2**stage];
            else                 sums_q[g] <= terms[g];
          end
        end
      end
    end

    logic [Groups-1:0][SumW-1:0] run_q;   // beside reached_q
    always_ff @(posedge clk_i) begin
      if (valid_q[Stages-2]) begin
        for (int unsigned g = 0; g < Groups - 1; g++) begin
          reached_q[g] <= force_q[Stages-2]
              ? NumberW'(child_q[Stages-2] >> ItemsLog2) <= NumberW'(g)
              : gen_run[GroupsLog2-1].sums_q[g] >= target_q[Stages-2];
        end
        run_q <= gen_run[GroupsLog2-1].sums_q;
      end
    end

    // The first group that is enough; the last one if none before it is.
    always_ff @(posedge clk_i) begin
      if (!rst_ni) group_valid <= 1'b0;
      else         group_valid <= valid_q[Stages-1];
      if (valid_q[Stages-1]) begin
        group        <= row_q[Stages-1][Fan-1 -: Items];
        group_number <= NumberW'(Groups - 1);
        group_base   <= run_q[Groups-2];
        for (int unsigned k = 0; k < Groups - 1; k++) begin
          if (reached_q[Groups-2-k]) begin
            group        <= row_q[Stages-1][(Groups-2-k)*Items +: Items];
            group_number <= NumberW'(Groups - 2 - k);
            group_base   <= (k == Groups - 2) ? '0 : run_q[(Groups-3-k) % Groups];
          end
        end
        group_target <= target_q[Stages-1];
        group_force  <= force_q[Stages-1];
        group_child  <= ItemsLog2'(child_q[Stages-1]);
      end
    end
    `JD_ASSERT(SumsInStep_A, sums_valid == valid_q[ItemsLog2-1])
    `JD_ASSERT_IF(SomeGroup_A, valid_q[Stages-1] && !force_q[Stages-1],
                  run_q[Groups-1] >= target_q[Stages-1])
  end

  // ---- Choose the child ----
  // Running sums by steps of powers of two; the target loses its base beside the first of them.
  logic [ItemStages-1:0]        valid_q;
  logic [Items-1:0][ChildW-1:0] items_q [ItemsLog2+1];
  logic [NumberW-1:0]           number_q [ItemsLog2+1];
  logic [Items-1:0][GroupW-1:0] sums_q [ItemsLog2+1];
  logic [GroupW-1:0]            target_q [ItemsLog2+1];
  logic [Items-1:0]             reached_q;
  logic [ItemsLog2:0]           force_q;
  logic [ItemsLog2-1:0]         child_q [ItemsLog2+1];

  function automatic logic [Items-1:0][GroupW-1:0] add_run(logic [Items-1:0][GroupW-1:0] sums,
                                                           int unsigned distance);
    for (int unsigned i = 0; i < Items; i++) begin
      add_run[i] = sums[i];
      if (i >= distance) add_run[i] = sums[i] + sums[(i-distance)%Items];
    end
  endfunction

  function automatic logic [Items-1:0][GroupW-1:0] widen(logic [Items-1:0][ChildW-1:0] items);
    for (int unsigned i = 0; i < Items; i++) widen[i] = GroupW'(items[i]);
  endfunction

  logic [ItemsLog2-1:0] child;
  logic [GroupW-1:0]    base;
  always_comb begin
    child = ItemsLog2'(Items - 1);
    base  = sums_q[ItemsLog2][Items-2];
    for (int unsigned k = 1; k < Items; k++) begin
      if (reached_q[Items-1-k]) begin
        child = ItemsLog2'(Items - 1 - k);
        base  = (k == Items - 1) ? '0 : sums_q[ItemsLog2][(Items-2-k)%Items];
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) valid_q <= '0;
    else         valid_q <= ItemStages'({valid_q, group_valid});
    if (group_valid) begin
      items_q[0]  <= group;
      number_q[0] <= group_number;
      sums_q[0]   <= add_run(widen(group), 1);
      target_q[0] <= GroupW'(group_target - group_base);
      force_q[0]  <= group_force;
      child_q[0]  <= group_child;
    end
    if (valid_q != '0) begin
      for (int unsigned stage = 1; stage <= ItemsLog2; stage++) begin
        if (valid_q[stage-1]) begin
          items_q[stage]  <= items_q[stage-1];
          number_q[stage] <= number_q[stage-1];
          target_q[stage] <= target_q[stage-1];
          force_q[stage]  <= force_q[stage-1];
          child_q[stage]  <= child_q[stage-1];
          sums_q[stage]   <= (stage < ItemsLog2) ? add_run(sums_q[stage-1], 2 ** stage)
                                                 : sums_q[stage-1];
        end
      end
      if (valid_q[ItemsLog2-1]) begin
        for (int unsigned i = 0; i < Items; i++) begin
          reached_q[i] <= force_q[ItemsLog2-1] ? child_q[ItemsLog2-1] <= ItemsLog2'(i)
                                               : sums_q[ItemsLog2-1][i] >= target_q[ItemsLog2-1];
        end
      end
      if (valid_q[ItemsLog2]) begin
        index_o <= FanLog2'({number_q[ItemsLog2], child});
        value_o <= items_q[ItemsLog2][child];
        rest_o  <= ChildW'(target_q[ItemsLog2] - base);
      end
    end
  end
  assign valid_o = valid_q[ItemStages-1];

  logic forced_q;                       // what leaves is
  always_ff @(posedge clk_i) if (valid_q[ItemsLog2]) forced_q <= force_q[ItemsLog2];
  `JD_ASSUME_IF(TargetNotZero_M, valid_i && !force_i, target_i != '0)
  `JD_ASSERT_IF(SomeChild_A, valid_q[ItemsLog2], reached_q[Items-1])
  `JD_ASSERT_IF(RestInChild_A, valid_o && !forced_q, rest_o != '0 && rest_o <= value_o)
endmodule : jd_replay_row_compare
