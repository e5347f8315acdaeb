// SPDX-License-Identifier: Apache-2.0
//
// The update of a layer's grouping: the selected entry of each row, then of each column.
//
//   groups, entries -> draw, word -> sum, state, drawn number -> jd_sparse_regroup -> state, entry
//
// Streams  start_i: a layer, while ready_o; done_o pulses after its last write. scan, index: see
//          jd_sparse_encode. read_o: a sum and a state, which come in the next clock. draw_o: a number,
//          which comes two clocks later. write_o: a state and an entry. The settings are held.
// Timing   an entry per clock; LATENCY clocks from an entry to its write.
// Numbers  see jd_sparse_regroup. A draw for each entry, rows before columns, both ascending.
// Source   LearningGroup III-A; docs/sparse.md (numbers). Golden model: models/sparse/machine.py,
//          _update_grouping.
`include "jd_assert.svh"
module jd_sparse_group_update
  import jd_sparse_pkg::*;
#(
  parameter int unsigned MaxW         = 128,   // grouping entries per clock: 32, 64 or 128
  parameter int unsigned HitW         = 4,     // groups of a word: 1, 2 or 4
  parameter int unsigned MulLatency   = 3,     // clocks, 1..4
  parameter int unsigned AddLatency   = 4,     // clocks, 1..6
  parameter int unsigned DivLatency   = 16,    // clocks, 2..28
  parameter int unsigned SqrtLatency  = 16,    // clocks, 2..28
  parameter int unsigned FixedLatency = 3      // of a conversion, 1..4
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         start_i,
  output logic                         ready_o,
  output logic                         done_o,
  input  layer_t                       layer_i,         // with start_i; of more than one group
  input  settings_t                    settings_i,
  // Groups
  output logic                         scan_valid_o,
  input  logic                         scan_ready_i,
  output logic [M_LINE_W-1:0]          scan_line_o,
  output logic [DIM_W-1:0]             scan_rows_o,
  output logic [2:0]                   scan_log2_o,
  input  logic                         index_valid_i,
  output logic                         index_ready_o,
  input  logic [HitW-1:0][GROUP_W-1:0] index_i,
  input  logic [HitW-1:0][ENTRY_W-1:0] index_entry_i,
  // Sums, states, draws
  output logic                         read_o,
  output logic                         read_columns_o,  // a column's sum, else a row's
  output logic [S_WORD_W-1:0]          read_word_o,
  input  logic [SUM_W-1:0]             sum_i,
  input  logic [SINGLE_W-1:0]          state_i,
  output logic                         draw_o,
  input  logic [DRAWN_W-1:0]           drawn_i,
  // What becomes of them
  output logic                         write_o,
  output logic [S_WORD_W-1:0]          write_word_o,
  output logic [SINGLE_W-1:0]          write_state_o,
  output logic [M_LINE_W-1:0]          write_line_o,
  output logic [GROUP_LINE-1:0]        write_mask_o,    // of entries
  output logic [8*GROUP_LINE-1:0]      write_entries_o
);
  localparam int unsigned MaxLog2  = $clog2(MaxW);
  localparam int unsigned HitLog2  = $clog2(HitW);
  localparam int unsigned LaneW    = HitW > 1 ? HitLog2 : 1;
  localparam int unsigned PlaceW   = $clog2(GROUP_LINE);
  localparam int unsigned PIPE     = 2 * (MulLatency + FixedLatency) + 3 * AddLatency + DivLatency
                                     + SqrtLatency + 1;
  localparam int unsigned LATENCY  = 2 + PIPE;

  // ---- Scans: of the rows' matrix, then of the columns'
  layer_t          layer_q;
  logic            run_q;
  logic [1:0]      scans_q;                    // to ask for
  logic [2:0]      log2_q;                     // of G
  logic [M_LINE_W-1:0] columns_line;
  assign ready_o      = !run_q;
  assign columns_line = columns_line_of(layer_q);
  assign scan_valid_o = scans_q != '0;
  assign scan_line_o  = scans_q[1] ? layer_q.g_base : columns_line;
  assign scan_rows_o  = scans_q[1] ? layer_q.m : layer_q.n;
  assign scan_log2_o  = log2_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q   <= 1'b0;
      scans_q <= '0;
    end else begin
      run_q <= start_i || (run_q && !done_o);
      if (start_i)                           scans_q <= 2'd2;
      else if (scan_valid_o && scan_ready_i) scans_q <= scans_q - 1'b1;
    end
    if (start_i) begin
      layer_q <= layer_i;
      log2_q  <= log2_of(layer_i.groups);
    end
  end

  // ---- Entry by entry
  typedef struct packed {
    logic                last;
    logic [S_WORD_W-1:0] word;                 // of its sum and its state
    logic [M_LINE_W-1:0] line;
    logic [PlaceW-1:0]   place;                // in its line
  } target_t;
  logic             columns_q, last_lane, last_entry;
  logic [LaneW-1:0] lane_q;
  logic [DIM_W-1:0] number_q;                  // of the row or column
  logic [3:0]       rows_log2;                 // of a word of the scan
  logic [2:0]       words_log2;
  logic [M_LINE_W+PlaceW-1:0] first_q;         // entry of the row or column
  target_t          target;
  assign rows_log2  = 4'(MaxLog2) - 4'(log2_q);
  assign words_log2 = rows_log2 > 4'(HitLog2) ? 3'(HitLog2) : 3'(rows_log2);
  assign last_lane  = 4'(lane_q) == (4'd1 << words_log2) - 4'd1;
  assign last_entry = number_q == (columns_q ? layer_q.n : layer_q.m) - 1'b1;
  assign index_ready_o = last_lane || last_entry;
  assign target = '{
    last: last_entry && columns_q,
    word: layer_q.s_base + S_WORD_W'(number_q) + (columns_q ? S_WORD_W'(layer_q.m) : '0),
    line: first_q[M_LINE_W+PlaceW-1:PlaceW],
    place: first_q[PlaceW-1:0] | PlaceW'(index_i[lane_q])
  };
  assign draw_o = index_valid_i;
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      columns_q <= 1'b0;
      lane_q    <= '0;
      number_q  <= '0;
      first_q   <= {layer_i.g_base, PlaceW'(0)};
    end else if (index_valid_i) begin
      lane_q   <= index_ready_o ? '0 : lane_q + 1'b1;
      number_q <= last_entry ? '0 : number_q + 1'b1;
      first_q  <= last_entry ? {columns_line, PlaceW'(0)}
                             : first_q + (M_LINE_W + PlaceW)'(layer_q.groups);
      if (last_entry) columns_q <= 1'b1;
    end
  end

  // ---- Sum, state and drawn number meet the entry
  target_t             target_q, target_late;
  logic [ENTRY_W-1:0]  entry_q, entry_q2, new_entry;
  logic                valid_q2;
  always_ff @(posedge clk_i) begin
    read_o         <= rst_ni && index_valid_i;
    valid_q2       <= rst_ni && read_o;
    read_columns_o <= columns_q;
    target_q       <= target;
    entry_q        <= index_entry_i[lane_q];
    entry_q2       <= entry_q;
  end
  assign read_word_o = target_q.word;
  jd_sparse_regroup #(
    .MulLatency (MulLatency), .AddLatency (AddLatency), .DivLatency (DivLatency),
    .SqrtLatency (SqrtLatency), .FixedLatency (FixedLatency)
  ) u_regroup (
    .clk_i, .rst_ni,
    .rate_i   (settings_i.group_rate),
    .alpha_i  (settings_i.alpha),
    .rest_i   (settings_i.one_minus_alpha),
    .eps_i    (settings_i.eps),
    .valid_i  (valid_q2),
    .sum_i,
    .square_i (state_i),
    .entry_i  (entry_q2),
    .drawn_i,
    .valid_o  (write_o),
    .entry_o  (new_entry),
    .square_o (write_state_o)
  );
  jd_delay #(.Width ($bits(target_t)), .Cycles (LATENCY - 1), .Clear (1'b0)) u_target (
    .clk_i, .rst_ni, .in_i (target_q), .out_o (target_late)
  );
  assign write_word_o    = target_late.word;
  assign write_line_o    = target_late.line;
  assign write_mask_o    = GROUP_LINE'(1) << target_late.place;
  assign write_entries_o = {GROUP_LINE{new_entry}};
  always_ff @(posedge clk_i) done_o <= rst_ni && write_o && target_late.last;

  `JD_ASSUME_IF(StartWhenReady_M, start_i, ready_o)
  `JD_ASSUME_IF(Groups_M, start_i, layer_i.groups > GROUPS_W'(1))
  `JD_ASSUME_IF(IndexOfScan_M, index_valid_i, run_q)
endmodule : jd_sparse_group_update
