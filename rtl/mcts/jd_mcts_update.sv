// SPDX-License-Identifier: Apache-2.0
//
// What follows an update of a node: the mean and the weight of the child that was counted, and then
// the scores of all children.
//
// Streams  in: a pipe without a stall, nodes in the order of their updates. With all_i the node is
//          made active: all children have no visits, and priors_i. scores_*: a whole row for the
//          node's entry. table_i: a write of G or R. peek_*: means and weights of an entry, shown one
//          clock later while nothing else is read.
// Timing   scores_valid_o 16 + ceil(F / Mu) - 1 clocks after valid_i; a node in ceil(F / Mu) clocks.
// Numbers  q = w / n rounded down; h = (P * R[n]) >> 16, with P = 1 unless puct_i. Without visits
//          q = fpu_i, h = P. Updates of one node may follow each other at once: each sees the means
//          and weights of those before it.
// Source   thesis 3.3 (updater); docs/mcts.md. Golden model: models/mcts/tree.py, _weigh, _score.
`include "jd_assert.svh"
module jd_mcts_update
  import jd_mcts_pkg::*;
#(
  parameter  int unsigned F      = 6,    // children, 2..32
  parameter  int unsigned Mu     = 6,    // multipliers for scores, 1..F
  parameter  int unsigned Depth  = 512,  // node entries, 2..16384
  localparam int unsigned EntryW = $clog2(Depth)
) (
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       puct_i,
  input  logic                       first_i,
  input  logic [VALUE_W-1:0]         fpu_i,
  input  table_write_t               table_i,
  input  logic                       valid_i,
  input  logic                       all_i,
  input  logic [EntryW-1:0]          entry_i,
  input  logic [ACTION_W-1:0]        action_i,
  input  logic [SUM_W-1:0]           sum_i,      // w and n of the child
  input  logic [VISITS_W-1:0]        visits_i,
  input  logic [TOTAL_W-1:0]         total_i,    // N of the node
  input  logic [F-1:0]               unvisited_i,
  input  logic [F-1:0][PRIOR_W-1:0]  priors_i,
  output logic                       scores_valid_o,
  output logic [EntryW-1:0]          scores_entry_o,
  output logic [F-1:0][SCORE_W-1:0]  scores_o,
  input  logic                       peek_i,
  input  logic [EntryW-1:0]          peek_entry_i,
  output logic [F-1:0][VALUE_W-1:0]  peek_means_o,
  output logic [F-1:0][WEIGHT_W-1:0] peek_weights_o
);
  localparam int unsigned DIVIDE = 12;           // clocks of the division
  localparam int unsigned LOOK   = 7;            // clock in which the tables are read
  localparam int unsigned LaneW  = VALUE_W + WEIGHT_W;
  localparam logic [WEIGHT_W-1:0] ONE = WEIGHT_W'(1) << 25;

  typedef struct packed {
    logic                      all;
    logic [EntryW-1:0]         entry;
    logic [ACTION_W-1:0]       action;
    logic [VISITS_W-1:0]       visits;
    logic [TOTAL_W-1:0]        total;
    logic [F-1:0]              unvisited;
    logic [F-1:0][PRIOR_W-1:0] priors;
  } item_t;

  // Bit c: a node is in clock c of the pipe.
  logic [DIVIDE:0] at_q;
  logic            at_score_q;
  assign at_q[0] = valid_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      at_q[DIVIDE:1] <= '0;
      at_score_q     <= 1'b0;
    end else begin
      at_q[DIVIDE:1] <= at_q[DIVIDE-1:0];
      at_score_q     <= at_q[DIVIDE];
    end
  end

  // ---- w / n; of an activation nothing that is used
  logic               mean_valid;
  logic [VALUE_W-1:0] mean;
  jd_mcts_divide u_divide (
    .clk_i, .rst_ni,
    .valid_i (valid_i && !all_i),
    .sum_i   (signed'(sum_i)),
    .count_i (visits_i),
    .valid_o (mean_valid),
    .mean_o  (mean)
  );

  // ---- What the division waits with
  item_t item;                                   // in clock 7
  jd_mem_hold #(.Width ($bits(item_t)), .Depth (16)) u_hold (
    .clk_i, .rst_ni,
    .push_i (valid_i),
    .data_i ({all_i, entry_i, action_i, visits_i, total_i, unvisited_i, priors_i}),
    .pop_i  (at_q[LOOK-1]),
    .data_o (item)
  );
  item_t item_q, item_q2, item_q3, item_q4, item_q5;   // in clocks 8 to 12
  always_ff @(posedge clk_i) begin
    if (at_q[LOOK])   item_q  <= item;
    if (at_q[LOOK+1]) item_q2 <= item_q;
    if (at_q[LOOK+2]) item_q3 <= item_q2;
    if (at_q[LOOK+3]) item_q4 <= item_q3;
    if (at_q[LOOK+4]) item_q5 <= item_q4;
  end

  // ---- Tables, and the weight of the child
  logic [TOTAL_W+SHIFT_W-1:0] g, g_q, g_q2, g_q3;
  logic [WEIGHT_W-1:0]        r, weight_q3;
  jd_mem_1r1w #(
    .Depth (2 ** INDEX_W), .Lanes (1), .LaneW (TOTAL_W + SHIFT_W), .ReadLatency (2)
  ) u_g (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.valid && !table_i.r),
    .write_addr_i (table_i.index),
    .write_mask_i (1'b1),
    .write_data_i (table_i.data[TOTAL_W+SHIFT_W-1:0]),
    .read_en_i    (at_q[LOOK]),
    .read_addr_i  (table_index(item.total)),
    .read_data_o  (g)
  );
  jd_mem_1r1w #(
    .Depth (2 ** INDEX_W), .Lanes (1), .LaneW (WEIGHT_W), .ReadLatency (2)
  ) u_r (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.valid && table_i.r),
    .write_addr_i (table_i.index),
    .write_mask_i (1'b1),
    .write_data_i (table_i.data),
    .read_en_i    (at_q[LOOK]),
    .read_addr_i  (table_index({1'b0, item.visits})),
    .read_data_o  (r)
  );
  logic [PRIOR_W-1:0]          prior_q;
  logic [PRIOR_W+WEIGHT_W-1:0] product_q, product_q2;
  logic unused_product;
  assign unused_product = ^product_q2[PRIOR_W-1:0];
  always_ff @(posedge clk_i) begin
    if (at_q[LOOK+1]) prior_q <= item_q.priors[item_q.action];
    if (at_q[LOOK+2]) begin
      product_q <= puct_i ? (PRIOR_W + WEIGHT_W)'(prior_q) * (PRIOR_W + WEIGHT_W)'(r)
                          : {r, PRIOR_W'(0)};
      g_q       <= g;
    end
    if (at_q[LOOK+3]) begin
      product_q2 <= product_q;
      g_q2       <= g_q;
    end
    if (at_q[LOOK+4]) begin
      weight_q3 <= product_q2[PRIOR_W+:WEIGHT_W];
      g_q3      <= g_q2;
    end
  end

  // ---- Means and weights of the node's other children
  logic [F-1:0][LaneW-1:0] kept, row, row_q, written_q;
  logic [F-1:0]            lanes, written_lanes_q;
  logic [EntryW-1:0]       written_entry_q;
  logic                    written_q_valid;      // in the clock before
  jd_mem_1r1w #(.Depth (Depth), .Lanes (F), .LaneW (LaneW)) u_means (
    .clk_i, .rst_ni,
    .write_en_i   (at_q[DIVIDE]),
    .write_addr_i (item_q5.entry),
    .write_mask_i (lanes),
    .write_data_i (row),
    .read_en_i    (at_q[DIVIDE-1] || (peek_i && !at_q[DIVIDE])),
    .read_addr_i  (at_q[DIVIDE-1] ? item_q4.entry : peek_entry_i),
    .read_data_o  (kept)
  );
  always_comb begin
    for (int unsigned a = 0; a < F; a++) begin
      lanes[a] = item_q5.all || item_q5.action == ACTION_W'(a);
      row[a]   = kept[a];
      if (written_q_valid && written_lanes_q[a] && written_entry_q == item_q5.entry) begin
        row[a] = written_q[a];
      end
      if (item_q5.all) begin
        row[a] = {fpu_i, puct_i ? {1'b0, item_q5.priors[a], 9'd0} : ONE};
      end else if (lanes[a]) begin
        row[a] = {mean, weight_q3};
      end
    end
  end
  logic [EntryW-1:0]          entry_q;
  logic [F-1:0]               first_q;
  logic [TOTAL_W+SHIFT_W-1:0] g_q4;
  logic [F-1:0][VALUE_W-1:0]  means;
  logic [F-1:0][WEIGHT_W-1:0] weights;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) written_q_valid <= 1'b0;
    else         written_q_valid <= at_q[DIVIDE];
    if (at_q[DIVIDE]) begin
      row_q           <= row;
      written_lanes_q <= lanes;
      entry_q         <= item_q5.entry;
      first_q         <= item_q5.unvisited & {F{first_i}};
      g_q4            <= g_q3;
    end
  end
  assign written_q       = row_q;
  assign written_entry_q = entry_q;
  for (genvar a = 0; a < F; a++) begin : gen_child
    assign {means[a], weights[a]} = row_q[a];
    assign {peek_means_o[a], peek_weights_o[a]} = kept[a];
  end

  // ---- Scores
  localparam int unsigned ScoreClocks = 3 + (F + Mu - 1) / Mu - 1;
  jd_mcts_score #(.F (F), .Mu (Mu)) u_score (
    .clk_i, .rst_ni,
    .valid_i    (at_score_q),
    .means_i    (means),
    .weights_i  (weights),
    .first_i    (first_q),
    .mantissa_i (g_q4[TOTAL_W-1:0]),
    .shift_i    (g_q4[TOTAL_W+:SHIFT_W]),
    .valid_o    (scores_valid_o),
    .scores_o
  );
  jd_delay #(.Width (EntryW), .Cycles (ScoreClocks), .Clear (1'b0)) u_entry (
    .clk_i, .rst_ni, .in_i (entry_q), .out_o (scores_entry_o)
  );
  logic unused;
  assign unused = mean_valid;

  `JD_ASSERT_IF(MeanInTime_A, mean_valid, at_q[DIVIDE] && !item_q5.all)
endmodule : jd_mcts_update
