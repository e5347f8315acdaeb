// SPDX-License-Identifier: Apache-2.0
//
// Proof of the credits of jd_mcts_front: tokens in flight are those that went into the tree and have not
// left, never more than T; each request that keeps a place in the queue has one response; of a worker
// there is at most one selection in the tree, and at most one update of each parity.
//
// Method       induction. Tokens in the tree are counted by kind, and those of any worker, watch_i.
// Assumptions  only tokens that are in the tree come out of it: those of a ROOT silently, others retire
//              as what they went in, a selection also as an insertion. The worker and the parity stay.
//              Requests, stops, resets and clear_i at any time.
`include "jd_assert.svh"
module jd_prove_mcts_front
  import jd_mcts_pkg::*;
#(
  parameter  int unsigned F       = 2,
  parameter  int unsigned X       = 4,
  parameter  int unsigned WMax    = 2,
  parameter  int unsigned T       = 4,
  localparam int unsigned IndexW  = $clog2(WMax),
  localparam int unsigned FlightW = $clog2(T + 1)
) (
  input logic                      clk_i,
  input logic                      rst_ni,
  input logic                      clear_i,
  input logic                      stop_i,
  input settings_t                 settings_i,
  input logic                      room_i,
  input logic                      request_valid_i,
  input logic [127:0]              request_i,
  input logic [F-1:0][PRIOR_W-1:0] request_priors_i,
  input logic                      request_cut_i,
  input logic                      request_root_i,
  input logic [LIST_W-1:0]         request_list_i,
  input logic                      out_ready_i,
  input logic                      retire_valid_i,
  input token_t                    retire_token_i,
  input logic                      silent_i,
  input logic                      response_ready_i,
  input logic                      root_done_i,
  input logic                      root_failed_i,
  input logic [IndexW-1:0]         watch_i
);
  settings_t                 settings;
  logic                      request_ready, refused, abort, out_valid, prior_write, new_tree,
                             retire_ready, response_valid, reserve, root_start, new_token,
                             old_token, select, update, insert, full;
  token_t                    out_token;
  logic [IndexW:0]           prior_row;
  logic [F-1:0]              prior_legal;
  logic [F-1:0][PRIOR_W-1:0] priors;
  response_t                 response;
  logic [1:0]                responses;
  logic [LIST_W-1:0]         old_list;
  logic [FlightW-1:0]        flight;
  jd_mcts_front #(.F (F), .X (X), .WMax (WMax), .T (T)) u_dut (
    .clk_i, .rst_ni, .clear_i, .stop_i, .settings_i,
    .settings_o       (settings),
    .room_i, .request_valid_i,
    .request_ready_o  (request_ready),
    .request_i, .request_priors_i, .request_cut_i, .request_root_i, .request_list_i,
    .refused_o        (refused),
    .abort_o          (abort),
    .out_valid_o      (out_valid),
    .out_ready_i,
    .out_token_o      (out_token),
    .prior_write_o    (prior_write),
    .prior_row_o      (prior_row),
    .prior_legal_o    (prior_legal),
    .priors_o         (priors),
    .new_tree_o       (new_tree),
    .retire_valid_i,
    .retire_ready_o   (retire_ready),
    .retire_token_i, .silent_i,
    .response_valid_o (response_valid),
    .response_ready_i,
    .response_o       (response),
    .responses_o      (responses),
    .reserve_o        (reserve),
    .root_start_o     (root_start),
    .root_done_i, .root_failed_i,
    .new_token_o      (new_token),
    .old_token_o      (old_token),
    .old_list_o       (old_list),
    .flight_o         (flight),
    .select_o         (select),
    .update_o         (update),
    .insert_o         (insert),
    .full_o           (full)
  );

  // ---- Tokens in the tree, by kind; responses that are owed
  localparam int unsigned CountW = FlightW + 2;
  logic              sends, leaves, late, late_selects, of_root, retires_update;
  logic [CountW-1:0] roots_q, selections_q, updates_q, owed_q, listed_q;
  assign sends          = out_valid && out_ready_i;
  assign leaves         = retire_valid_i && retire_ready;
  assign of_root        = out_token.done;
  assign retires_update = retire_token_i.op == OP_UPD;
  assign late           = u_dut.late_valid_q;
  assign late_selects   = late && u_dut.late_q.op != OP_UPD;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      roots_q      <= '0;
      selections_q <= '0;
      updates_q    <= '0;
      owed_q       <= '0;
      listed_q     <= '0;
    end else begin
      roots_q      <= roots_q + CountW'(sends && of_root) - CountW'(silent_i);
      selections_q <= selections_q + CountW'(sends && !of_root && out_token.op != OP_UPD)
                      - CountW'(leaves && !retires_update);
      updates_q    <= updates_q + CountW'(sends && !of_root && out_token.op == OP_UPD)
                      - CountW'(leaves && retires_update);
      owed_q       <= owed_q + CountW'(reserve) - CountW'(responses);
      listed_q     <= listed_q + CountW'(new_token) - CountW'(old_token);
    end
  end
  `JD_ASSUME_IF(RootsAreIn_M, silent_i, roots_q != '0)
  `JD_ASSUME_IF(SelectionsAreIn_M, retire_valid_i && !retires_update, selections_q != '0)
  `JD_ASSUME_IF(UpdatesAreIn_M, retire_valid_i && retires_update, updates_q != '0)
  `JD_ASSERT(FlightIsWhatIsOut_A,
             CountW'(flight) == roots_q + selections_q + updates_q + CountW'(late))
  `JD_ASSERT(AtMostT_A, 32'(flight) <= T && 32'(roots_q) <= T && 32'(selections_q) <= T
             && 32'(updates_q) <= T)
  `JD_ASSERT_IF(OnlyWithACredit_A, out_valid, 32'(flight) < T)
  `JD_ASSERT(OfLists_A, listed_q == selections_q + updates_q + CountW'(late))
  `JD_ASSERT(Owed_A, owed_q == selections_q + CountW'(late_selects))
  `JD_ASSERT_IF(NotWithout_A, reserve, room_i)

  // ---- Tokens of a worker
  logic       mine_out, mine_back, mine_late, selection_q;
  logic [1:0] update_q;                       // by parity
  assign mine_out  = sends && !of_root && out_token.worker[IndexW-1:0] == watch_i;
  assign mine_back = leaves && retire_token_i.worker[IndexW-1:0] == watch_i;
  assign mine_late = late && u_dut.late_q.worker[IndexW-1:0] == watch_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      selection_q <= 1'b0;
      update_q    <= '0;
    end else begin
      if (mine_back && !retires_update) selection_q <= 1'b0;
      if (mine_back && retires_update)  update_q[retire_token_i.parity] <= 1'b0;
      if (mine_out && out_token.op != OP_UPD) selection_q <= 1'b1;
      if (mine_out && out_token.op == OP_UPD) update_q[out_token.parity] <= 1'b1;
    end
  end
  WatchFixed_M : assume property (@(posedge clk_i) ($stable(watch_i)));
  `JD_ASSUME_IF(MySelectionIsIn_M, retire_valid_i && !retires_update
                && retire_token_i.worker[IndexW-1:0] == watch_i, selection_q)
  `JD_ASSUME_IF(MyUpdateIsIn_M, retire_valid_i && retires_update
                && retire_token_i.worker[IndexW-1:0] == watch_i, update_q[retire_token_i.parity])
  logic       late_selection;
  logic [1:0] late_update;
  assign late_selection = mine_late && u_dut.late_q.op != OP_UPD;
  for (genvar p = 0; p < 2; p++) begin : gen_parity
    assign late_update[p] = mine_late && u_dut.late_q.op == OP_UPD
                            && u_dut.late_q.parity == 1'(p);
    `JD_ASSERT(UpdateIsKnown_A,
               u_dut.updating_q[p][watch_i] == (update_q[p] || late_update[p]))
    `JD_ASSERT(OneUpdateIsIn_A, !(update_q[p] && late_update[p]))
    `JD_ASSERT_IF(NoUpdateOfIt_A, mine_out && out_token.parity == 1'(p),
                  !update_q[p] && !late_update[p])
  end
  `JD_ASSERT(SelectionIsKnown_A, u_dut.selecting_q[watch_i] == (selection_q || late_selection))
  `JD_ASSERT(OneSelectionIsIn_A, !(selection_q && late_selection))
  `JD_ASSERT_IF(NoSelection_A, mine_out, !selection_q && !late_selection)
  `JD_ASSERT_IF(ItIsOut_A, u_dut.selecting_q[watch_i], u_dut.out_q[watch_i])
  `JD_ASSERT_IF(ItsParityIsFree_A, u_dut.out_q[watch_i],
                !u_dut.updating_q[u_dut.parity_q[watch_i]][watch_i])

  AllCredits_C : cover property (@(posedge clk_i) disable iff (!rst_ni) (32'(flight) == T));
  BothParities_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (selection_q && update_q != '0));
endmodule : jd_prove_mcts_front
