// SPDX-License-Identifier: Apache-2.0
//
// The tree: the root's node unit, a stage for each level, D ports with their banks, the networks
// between stages and ports, and the bank assignment.
//
// Streams  in: tokens of requests, in list order, at most T in flight. retire: what became of them, in
//          any order; level: edges of a selection. silent_o: a token of a ROOT request has ended.
//          prior_*: a row for an update that evaluates. clear_i: a new tree. table_i: a write of the
//          tables. peek_*: a word of an entry, address as in the tree, or the root's; shown 4 clocks
//          later while the tree is idle.
// Timing   a token per clock from in to the root. A level takes 8 clocks with crossbars, when nothing
//          waits: stage 1, network 1, node unit 5, network 1.
// Numbers  bank b is on port b mod D.
// Source   thesis 3.3; docs/mcts.md. Golden model: models/mcts/tree.py, one request at a time.
`include "jd_assert.svh"
module jd_mcts_tree
  import jd_mcts_pkg::*;
#(
  parameter  int unsigned D    = 4,      // levels, ports; power of two 2..64
  parameter  int unsigned F    = 3,      // children, 2..32
  parameter  int unsigned Y    = 8,      // banks, power of two, a multiple of D
  parameter  int unsigned Cap  = 4,      // entries of a bank, power of two
  parameter  int unsigned Fr   = 3,      // comparison-lookup factor of the root unit, 2..F
  parameter  int unsigned Fp   = 2,      // and of the ports
  parameter  bit          Xbar = 1'b1,   // crossbars, else butterflies
  parameter  int unsigned WMax = 4,      // workers, power of two 2..4096
  parameter  int unsigned T    = 16,     // tokens in flight, power of two 4..1024
  parameter  int unsigned Sf   = 2,      // slots that a level keeps ready, 1..128
  parameter  int unsigned Mu   = 3,      // multipliers for scores of a unit, 1..F
  localparam int unsigned WorkRowW = $clog2(WMax) + 1
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         clear_i,
  input  settings_t                    settings_i,
  input  table_write_t                 table_i,
  input  logic                         in_valid_i,
  output logic                         in_ready_o,
  input  token_t                       in_token_i,
  output logic                         retire_valid_o,
  input  logic                         retire_ready_i,
  output token_t                       retire_token_o,
  output logic                         silent_o,
  input  logic                         prior_write_i,
  input  logic [WorkRowW-1:0]          prior_row_i,
  input  logic [F-1:0]                 prior_legal_i,
  input  logic [F-1:0][PRIOR_W-1:0]    priors_i,
  input  logic                         peek_i,
  input  logic                         peek_root_i,
  input  logic [ADDRESS_W-1:0]         peek_address_i,
  input  logic [8:0]                   peek_word_i,
  output logic [31:0]                  peek_data_o,
  output logic                         root_busy_o,
  output logic [D-1:0]                 port_busy_o,
  output logic [D:0]                   hazard_o,
  output logic                         sat_o,
  output logic                         search_o
);
  localparam int unsigned PortW   = $clog2(D);
  localparam int unsigned CapW    = Cap > 1 ? $clog2(Cap) : 0;
  localparam int unsigned Depth   = Y / D * Cap > 1 ? Y / D * Cap : 2;   // entries of a port
  localparam int unsigned EntryW  = $clog2(Depth);
  localparam int unsigned Units   = D + 1;                               // ports, then the root

  function automatic logic [EntryW-1:0] entry_of(logic [ADDRESS_W-1:0] address);
    return EntryW'(32'(address >> (CapW + PortW)) << CapW) | EntryW'(32'(address) & (Cap - 1));
  endfunction

  // ---- Levels: what arrives, stages. Arrival D takes what is done on the last level.
  logic [D:1]                   arrive_valid, arrive_ready, on_valid, on_ready;
  token_t [D:1]                 arrive_token, on_token;
  logic [D-1:0]                 retire_valid, retire_ready;
  logic [D-1:0][TOKEN_W-1:0]    retire_token;
  logic [D:1]                   note_valid, back_valid, used;
  logic [D:1][WORKER_W:0]       note_row;
  logic [D:1][ACTION_W-1:0]     note_action;
  logic [D:1][1:0]              note_kind;
  logic [D:1][ADDRESS_W-1:0]    back;
  logic [D-1:0]                 stage_valid, stage_ready;
  token_t [D-1:0]               stage_token;
  logic [D-1:1]                 slot_valid, slot_ready, full;
  logic [D-1:1][ADDRESS_W-1:0]  slot;
  logic                         unused_last;
  assign unused_last = ^{on_valid[D], on_token[D], back_valid[D], back[D], used[D]};
  assign on_ready[D] = 1'b1;
  for (genvar l = 1; l <= D; l++) begin : gen_arrive
    jd_mcts_arrive #(.Level (l)) u_arrive (
      .clk_i, .rst_ni,
      .in_valid_i     (arrive_valid[l]),
      .in_ready_o     (arrive_ready[l]),
      .in_token_i     (arrive_token[l]),
      .on_valid_o     (on_valid[l]),
      .on_ready_i     (on_ready[l]),
      .on_token_o     (on_token[l]),
      .retire_valid_o (retire_valid[l-1]),
      .retire_ready_i (retire_ready[l-1]),
      .retire_token_o (retire_token[l-1]),
      .note_valid_o   (note_valid[l]),
      .note_row_o     (note_row[l]),
      .note_action_o  (note_action[l]),
      .note_kind_o    (note_kind[l]),
      .slot_valid_o   (back_valid[l]),
      .slot_o         (back[l]),
      .used_o         (used[l])
    );
  end
  for (genvar l = 0; l < D; l++) begin : gen_stage
    logic   in_valid, in_ready, out_slot_ready;
    token_t in_token;
    if (l == 0) begin : gen_first
      assign in_valid   = in_valid_i;
      assign in_token   = in_token_i;
      assign in_ready_o = in_ready;
    end else begin : gen_next
      assign in_valid    = on_valid[l];
      assign in_token    = on_token[l];
      assign on_ready[l] = in_ready;
    end
    logic                 below_valid, below_full;
    logic [ADDRESS_W-1:0] below;
    if (l < D - 1) begin : gen_below
      assign below_valid     = slot_valid[l+1];
      assign below           = slot[l+1];
      assign below_full      = full[l+1];
      assign slot_ready[l+1] = out_slot_ready;
    end else begin : gen_last
      assign below_valid = 1'b0;
      assign below       = '0;
      assign below_full  = 1'b0;
      logic unused_ready;
      assign unused_ready = out_slot_ready;
    end
    jd_mcts_stage #(.Level (l), .T (T), .WMax (WMax)) u_stage (
      .clk_i, .rst_ni,
      .d_act_i       (settings_i.d_act),
      .in_valid_i    (in_valid),
      .in_ready_o    (in_ready),
      .in_token_i    (in_token),
      .out_valid_o   (stage_valid[l]),
      .out_ready_i   (stage_ready[l]),
      .out_token_o   (stage_token[l]),
      .note_valid_i  (note_valid[l+1]),
      .note_row_i    (note_row[l+1]),
      .note_action_i (note_action[l+1]),
      .note_kind_i   (note_kind[l+1]),
      .slot_valid_i  (below_valid),
      .slot_ready_o  (out_slot_ready),
      .slot_i        (below),
      .full_i        (below_full)
    );
  end
  jd_mcts_alloc #(.D (D), .Y (Y), .Cap (Cap), .Sf (Sf), .Xbar (Xbar)) u_alloc (
    .clk_i, .rst_ni, .clear_i,
    .policy_i     (settings_i.policy),
    .d_act_i      (settings_i.d_act),
    .slot_valid_o (slot_valid),
    .slot_ready_i (slot_ready),
    .slot_o       (slot),
    .full_o       (full),
    .back_valid_i (back_valid[D-1:1]),
    .back_i       (back[D-1:1]),
    .used_i       (used[D-1:1]),
    .search_o
  );
  jd_mcts_switch #(.Inputs (D), .Width (TOKEN_W)) u_retire (
    .clk_i, .rst_ni,
    .in_valid_i  (retire_valid),
    .in_ready_o  (retire_ready),
    .in_data_i   (retire_token),
    .out_valid_o (retire_valid_o),
    .out_ready_i (retire_ready_i),
    .out_data_o  (retire_token_o)
  );

  // ---- Networks. Row 0 is free: stage 0 has the root unit, and nothing comes back to it.
  logic [D-1:0]              forth_valid, forth_ready, port_valid, port_ready, port_out_valid,
                             port_out_ready, home_valid, home_ready;
  logic [D-1:0][PortW-1:0]   forth_row, home_row;
  logic [D-1:0][TOKEN_W-1:0] forth_token, port_token, port_out_token, home_token;
  for (genvar l = 0; l < D; l++) begin : gen_rows
    token_t sent, result;
    assign sent   = token_t'(forth_token[l]);
    assign result = token_t'(port_out_token[l]);
    assign forth_row[l] = PortW'(sent.address >> CapW);
    assign home_row[l]  = PortW'(result.level + 1'b1);
    if (l == 0) begin : gen_root
      assign forth_valid[l] = 1'b0;
      assign forth_token[l] = '0;
      logic unused_ready;
      assign unused_ready = forth_ready[l];
    end else begin : gen_level
      assign forth_valid[l] = stage_valid[l];
      assign forth_token[l] = stage_token[l];
      assign stage_ready[l] = forth_ready[l];
    end
    // Level l + 1 comes home at row l + 1, level D at row 0; level 1 comes from the root unit.
    if (l != 1) begin : gen_home
      assign arrive_valid[l == 0 ? D : l] = home_valid[l];
      assign arrive_token[l == 0 ? D : l] = token_t'(home_token[l]);
      assign home_ready[l]                = arrive_ready[l == 0 ? D : l];
    end else begin : gen_no_home
      assign home_ready[l] = 1'b1;
      logic unused_home;
      assign unused_home = ^{home_valid[l], home_token[l]};
    end
  end
  jd_mcts_net #(.D (D), .Width (TOKEN_W), .Xbar (Xbar)) u_forth (
    .clk_i, .rst_ni,
    .in_valid_i  (forth_valid),
    .in_ready_o  (forth_ready),
    .in_row_i    (forth_row),
    .in_data_i   (forth_token),
    .out_valid_o (port_valid),
    .out_ready_i (port_ready),
    .out_data_o  (port_token)
  );
  jd_mcts_net #(.D (D), .Width (TOKEN_W), .Xbar (Xbar)) u_back (
    .clk_i, .rst_ni,
    .in_valid_i  (port_out_valid),
    .in_ready_o  (port_out_ready),
    .in_row_i    (home_row),
    .in_data_i   (port_out_token),
    .out_valid_o (home_valid),
    .out_ready_i (home_ready),
    .out_data_o  (home_token)
  );

  // ---- Node units
  logic [Units-1:0]       sat, unused_silent;
  logic [Units-1:0][31:0] peek_data;
  for (genvar p = 0; p < D; p++) begin : gen_port
    token_t token;
    assign token = token_t'(port_token[p]);
    jd_mcts_node #(
      .F (F), .Fs (Fp), .Mu (Mu), .Depth (Depth), .WMax (WMax)
    ) u_node (
      .clk_i, .rst_ni, .settings_i, .table_i,
      .in_valid_i    (port_valid[p]),
      .in_ready_o    (port_ready[p]),
      .in_token_i    (token),
      .in_entry_i    (entry_of(token.address)),
      .out_valid_o   (port_out_valid[p]),
      .out_ready_i   (port_out_ready[p]),
      .out_token_o   (port_out_token[p]),
      .silent_o      (unused_silent[p]),
      .row_write_i   (prior_write_i),
      .row_i         (prior_row_i),
      .row_legal_i   (prior_legal_i),
      .row_priors_i  (priors_i),
      .hazard_o      (hazard_o[p]),
      .busy_o        (port_busy_o[p]),
      .sat_o         (sat[p]),
      .peek_i        (peek_i && !peek_root_i && PortW'(peek_address_i >> CapW) == PortW'(p)),
      .peek_entry_i  (entry_of(peek_address_i)),
      .peek_word_i,
      .peek_data_o   (peek_data[p])
    );
    `JD_ASSERT_IF(OnItsPort_A, port_valid[p], PortW'(token.address >> CapW) == PortW'(p))
  end
  jd_mcts_node #(.F (F), .Fs (Fr), .Mu (Mu), .Depth (2), .WMax (WMax)) u_root (
    .clk_i, .rst_ni, .settings_i, .table_i,
    .in_valid_i    (stage_valid[0]),
    .in_ready_o    (stage_ready[0]),
    .in_token_i    (stage_token[0]),
    .in_entry_i    (1'b0),
    .out_valid_o   (arrive_valid[1]),
    .out_ready_i   (arrive_ready[1]),
    .out_token_o   (arrive_token[1]),
    .silent_o,
    .row_write_i   (prior_write_i),
    .row_i         (prior_row_i),
    .row_legal_i   (prior_legal_i),
    .row_priors_i  (priors_i),
    .hazard_o      (hazard_o[D]),
    .busy_o        (root_busy_o),
    .sat_o         (sat[D]),
    .peek_i        (peek_i && peek_root_i),
    .peek_entry_i  (1'b0),
    .peek_word_i,
    .peek_data_o   (peek_data[D])
  );
  assign unused_silent[D] = 1'b0;
  assign sat_o  = sat != '0;
  always_ff @(posedge clk_i) begin
    peek_data_o <= peek_root_i ? peek_data[D] : peek_data[PortW'(peek_address_i >> CapW)];
  end

  `JD_ASSERT_IF(NoneHomeToTheRoot_A, 1'b1, D < 2 || !home_valid[1])
endmodule : jd_mcts_tree
