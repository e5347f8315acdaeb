// SPDX-License-Identifier: Apache-2.0
//
// The units that execute instructions, and the cores that they work on.
//
//   OSEL  jd_sparse_encode -> lists -> LAU  jd_sparse_plan, jd_sparse_lau -> tables, weights -> cores
//   DMA   jd_sparse_dma <-> stores          FILL, VPU, ELEM, COMM  in the cores
//   OPT   jd_sparse_opt <-> jd_sparse_parameters, jd_sparse_encode
//
// Streams  ready_o, start_i, done_o: of each unit, as in jd_sparse_sched; the VPU's start waits for its
//          ready_o. LAU and the update of weights wait for each other. mover_*, in, out:
//          jd_sparse_mover. gather_*, param_*, word_*, bias_i: jd_sparse_parameters. group_*: the
//          grouping's entries, while no instruction runs. draw_o: see jd_random_xoshiro.
// Timing   that of the blocks. What all cores do has ended one clock after the last one.
// Numbers  see the blocks.
// Source   LearningGroup III, figure 3. Golden model: models/sparse/machine.py.
`include "jd_assert.svh"
module jd_sparse_units
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores      = 3,         // as jd_sparse_top
  parameter int unsigned Banks      = 8,
  parameter int unsigned Lanes      = 33,
  parameter int unsigned Slots      = 4,
  parameter int unsigned Acc        = 64,
  parameter int unsigned GMax       = 32,
  parameter int unsigned DMax       = 512,
  parameter int unsigned LMax       = 8,
  parameter int unsigned WinMax     = 24,
  parameter int unsigned WRows      = 4096,
  parameter int unsigned XRows      = 8192,
  parameter int unsigned YRows      = 8192,
  parameter int unsigned RRows      = 4096,
  parameter int unsigned GRows      = 1024,
  parameter int unsigned ARows      = 65536,
  parameter int unsigned BWords     = 2048,
  parameter int unsigned SWords     = 4096,
  parameter int unsigned MRows      = 512,
  parameter int unsigned MaxW       = 128,
  parameter int unsigned CmpW       = 64,
  parameter int unsigned HitW       = 4,
  parameter bit          KeepBv     = 1'b0,
  parameter int unsigned DrainW     = 4,
  parameter int unsigned OptLanes   = 6,
  parameter int unsigned Channels   = 4,
  parameter int unsigned MulLatency = 3,
  parameter int unsigned AddLatency = 4
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,        // what is under way is dropped
  // Instructions
  output logic [UNITS-1:0]                 ready_o,
  input  logic [UNITS-1:0]                 start_i,
  output logic [UNITS-1:0]                 done_o,
  input  instruction_t                     instruction_i,
  input  logic [CORES-1:0][15:0]           vectors_i,
  input  logic                             fill_set_i,
  input  logic                             elem_set_i,
  input  logic                             elem_dx_i,
  input  operation_t                       op_i,
  input  logic [CORES-1:0][TILES_W-1:0]    op_tiles_i,
  input  logic [LAYERS-1:0]                planned_i,
  output logic [7:0]                       dma_code_o,     // with the DMA's done
  output logic [1:0]                       dma_response_o,
  output logic                             plan_failed_o,  // with LAU's done
  input  settings_t                        settings_i,
  // Memory
  output logic                             mover_read_o,
  output logic                             mover_write_o,
  output logic [39:0]                      mover_address_o,
  output logic [BEATS_W-1:0]               mover_lines_o,
  input  logic                             mover_done_i,
  input  logic [1:0]                       mover_response_i,
  input  logic                             in_valid_i,
  output logic                             in_ready_o,
  input  logic [LINE_W-1:0]                in_data_i,
  output logic                             out_valid_o,
  input  logic                             out_ready_i,
  output logic [LINE_W-1:0]                out_data_o,
  // Parameters
  input  bias_t                            bias_i,
  output logic [1:0][WORD_BANKS-1:0]               gather_en_o,
  output logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] gather_line_o,
  input  logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] gather_data_i,
  input  logic                             group_write_i,
  input  logic                             group_read_i,
  input  logic [M_LINE_W-1:0]              group_line_i,
  input  logic [GROUP_LINE-1:0]            group_mask_i,
  input  logic [8*GROUP_LINE-1:0]          group_data_i,
  output logic [8*GROUP_LINE-1:0]          group_data_o,
  output word_place_t [OptLanes-1:0]       param_read_o,
  input  logic [OptLanes-1:0][1:0][SINGLE_W-1:0] param_data_i,
  output word_place_t [OptLanes-1:0]       param_write_o,
  output logic [OptLanes-1:0][1:0][SINGLE_W-1:0] param_new_o,
  output logic                             word_read_o,
  output logic                             word_read_state_o,
  output logic [S_WORD_W-1:0]              word_read_word_o,
  input  logic [1:0][SINGLE_W-1:0]         word_data_i,
  output logic                             word_write_o,
  output logic                             word_write_state_o,
  output logic [S_WORD_W-1:0]              word_write_word_o,
  output logic [1:0][SINGLE_W-1:0]         word_data_o,
  input  logic                             clear_sums_i,   // of the grouping: a network is taken
  output logic                             draw_o,
  input  logic [DRAWN_W-1:0]               drawn_i,
  // Counters
  output logic                             busy_o,         // the array multiplies
  output logic [Cores-1:0][LANE_W+2:0]     useful_o,       // lanes of each core that do
  output logic                             nonfinite_o,    // a gradient since the last CLRG
  output logic                             skipped_o,      // updates, the first time since then
  output encoder_clocks_t                  encoder_clocks_o,
  output logic [DIM_W-1:0]                 encoded_rows_o, // of the streamed side
  output logic                             compressed_o,   // a COMP ends
  output logic [19:0]                      compressor_clocks_o,
  output logic                             compressed_row_o,
  output logic [18:0]                      weights_o,      // of its layer
  output logic [Cores-1:0][18:0]           loads_o         // of them each core's, in ROW split
);
  logic rst_n;
  assign rst_n = rst_ni && !clear_i;

  // ---- OSEL
  logic [LAYER_W-1:0] peek_layer;
  logic [INDEX_W-1:0] peek_index, peek_entry, peek_tuple;
  place_of_t          peek_place;
  directory_t         directory;
  logic               unused_group_ready;
  logic [CmpW-1:0]    unused_bits;
  logic                         scan_valid, scan_ready, index_valid, index_ready, entry_write;
  logic [M_LINE_W-1:0]          scan_line, entry_line;
  logic [DIM_W-1:0]             scan_rows;
  logic [2:0]                   scan_log2;
  logic [HitW-1:0][GROUP_W-1:0] index;
  logic [HitW-1:0][ENTRY_W-1:0] index_entry;
  logic [GROUP_LINE-1:0]        entry_mask;
  logic [8*GROUP_LINE-1:0]      entry_data;
  jd_sparse_encode #(
    .GMax (GMax), .DMax (DMax), .LMax (LMax), .MRows (MRows), .MaxW (MaxW), .CmpW (CmpW),
    .HitW (HitW), .KeepBv (KeepBv)
  ) u_encode (
    .clk_i,
    .rst_ni         (rst_n),
    .in_valid_i     (start_i[UnitOsel]),
    .in_ready_o     (ready_o[UnitOsel]),
    .in_number_i    (instruction_i.number),
    .in_layer_i     (instruction_i.layer),
    .in_exchanged_i (instruction_i.op == ENCT),
    .in_uncached_i  (instruction_i.flags.nocache),
    .done_o         (done_o[UnitOsel]),
    .clocks_o       (encoder_clocks_o),
    .write_valid_i  (group_write_i || entry_write),
    .write_line_i   (entry_write ? entry_line : group_line_i),
    .write_mask_i   (entry_write ? entry_mask : group_mask_i),
    .write_data_i   (entry_write ? entry_data : group_data_i),
    .read_valid_i   (group_read_i),
    .read_ready_o   (unused_group_ready),
    .read_line_i    (group_line_i),
    .read_data_o    (group_data_o),
    .scan_valid_i   (scan_valid),
    .scan_ready_o   (scan_ready),
    .scan_line_i    (scan_line),
    .scan_rows_i    (scan_rows),
    .scan_log2_i    (scan_log2),
    .index_valid_o  (index_valid),
    .index_ready_i  (index_ready),
    .index_o        (index),
    .index_entry_o  (index_entry),
    .peek_layer_i   (peek_layer),
    .peek_index_i   (peek_index),
    .peek_place_o   (peek_place),
    .peek_entry_i   (peek_entry),
    .peek_tuple_o   (peek_tuple),
    .directory_o    (directory),
    .peek_group_i   ('0),
    .peek_slice_i   ('0),
    .peek_bits_o    (unused_bits)
  );
  always_ff @(posedge clk_i) begin
    if (start_i[UnitOsel]) begin
      encoded_rows_o <= (instruction_i.op == ENCT) ? instruction_i.layer.n : instruction_i.layer.m;
    end
  end

  // ---- LAU: plans, and compression, which ends when the weights are counted, too
  logic                         plan_ready, plan_done, plan_starts, lau_ready, lau_done;
  logic                         comp_starts, comp_runs_q, comp_over_q, comp_q, counted, lau_rests;
  logic [Cores-1:0]             window_cores;
  logic [1:0]                   list_owner;
  logic [LMax-1:0]              contiguous_q;   // layers whose COMP had no POLICY
  operation_t                   operation;
  window_write_t                window;
  logic                         updates, opt_ready;
  logic [LAYER_W-1:0]           plan_peek, comp_number_q;
  layer_t                       plan_layer_q;
  table_t                       plan_table;
  weight_begin_t                weight_begin;
  weight_write_t                weight_write;
  logic [Lanes-1:0][HALF_W-1:0] weight_line;
  assign plan_starts       = start_i[UnitLau] && instruction_i.op == PLAN;
  assign comp_starts       = start_i[UnitLau] && instruction_i.op != PLAN;
  assign lau_rests         = plan_ready && lau_ready && !comp_runs_q;
  assign ready_o[UnitLau]  = lau_rests && !updates;
  assign done_o[UnitLau]   = plan_done || (comp_over_q && counted);
  assign compressed_o      = comp_over_q && counted && comp_q;
  assign peek_layer        = plan_ready ? comp_number_q : plan_peek;
  jd_sparse_plan #(
    .GMax (GMax), .LMax (LMax), .Banks (Banks), .Lanes (Lanes), .Slots (Slots), .WinMax (WinMax),
    .DrainW (DrainW), .WRows (WRows), .RRows (RRows), .GRows (GRows)
  ) u_plan (
    .clk_i,
    .rst_ni       (rst_n),
    .in_valid_i   (plan_starts),
    .in_ready_o   (plan_ready),
    .in_number_i  (instruction_i.number),
    .in_layer_i   (instruction_i.layer),
    .in_plain_i   (instruction_i.flags.plain),
    .in_planned_i (planned_i),
    .done_o       (plan_done),
    .failed_o     (plan_failed_o),
    .peek_layer_o (plan_peek),
    .peek_index_o (peek_index),
    .peek_place_i (peek_place),
    .peek_entry_o (peek_entry),
    .peek_tuple_i (peek_tuple),
    .directory_i  (directory),
    .table_o      (plan_table)
  );
  jd_sparse_lau #(
    .DMax (DMax), .LMax (LMax), .Cores (Cores), .Banks (Banks), .Lanes (Lanes), .Slots (Slots)
  ) u_lau (
    .clk_i,
    .rst_ni        (rst_n),
    .plan_layer_i  (plan_layer_q),
    .table_i       (plan_table),
    .in_valid_i    (comp_starts),
    .in_ready_o    (lau_ready),
    .in_number_i   (instruction_i.number),
    .in_layer_i    (instruction_i.layer),
    .in_dx_i       (instruction_i.op == COMPT),
    .in_row_i      (instruction_i.flags.row),
    .in_policy_i   (instruction_i.flags.policy),
    .owner_o       (list_owner),
    .in_uncached_i (instruction_i.flags.nocache),
    .done_o        (lau_done),
    .clocks_o      (compressor_clocks_o),
    .gather_en_o, .gather_line_o, .gather_data_i,
    .begin_o       (weight_begin),
    .write_o       (weight_write),
    .line_o        (weight_line),
    .window_cores_o (window_cores),
    .window_o      (window),
    .loads_o
  );
  jd_sparse_nonzero #(.GMax (GMax)) u_nonzero (
    .clk_i,
    .rst_ni      (rst_n),
    .start_i     (comp_starts),
    .idle_o      (counted),
    .layer_i     (instruction_i.layer),
    .directory_i (directory),
    .weights_o
  );
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      comp_runs_q <= 1'b0;
      comp_over_q <= 1'b0;
    end else begin
      if (comp_starts)                 comp_runs_q <= 1'b1;
      else if (comp_over_q && counted) comp_runs_q <= 1'b0;
      comp_over_q <= lau_done || (comp_over_q && !counted);
    end
    if (plan_starts) plan_layer_q <= instruction_i.layer;
    if (comp_starts) begin
      comp_number_q <= instruction_i.number;
      comp_q        <= instruction_i.op == COMP;
      compressed_row_o <= instruction_i.flags.row;
    end
    for (int unsigned l = 0; l < LMax; l++) begin
      if (comp_starts && instruction_i.op == COMP && instruction_i.number == LAYER_W'(l))
        contiguous_q[l] <= !instruction_i.flags.policy;
    end
  end

  // ---- DMA
  logic [Cores-1:0]             dma_read, dma_read_ready, dma_write, dma_write_ready;
  logic [Cores-1:0][LINE_W-1:0] dma_read_data;
  logic [A_LINE_W-1:0]          dma_line;
  logic [LINE_W-1:0]            dma_write_data;
  jd_sparse_dma #(.Cores (Cores)) u_dma (
    .clk_i, .rst_ni, .clear_i,
    .idle_o        (ready_o[UnitDma]),
    .start_i       (start_i[UnitDma]),
    .instruction_i,
    .done_o        (done_o[UnitDma]),
    .code_o        (dma_code_o),
    .response_o    (dma_response_o),
    .mover_read_o, .mover_write_o, .mover_address_o, .mover_lines_o, .mover_done_i,
    .mover_response_i, .in_valid_i, .in_ready_o, .in_data_i, .out_valid_o, .out_ready_i,
    .out_data_o,
    .read_o        (dma_read),
    .read_ready_i  (dma_read_ready),
    .read_data_i   (dma_read_data),
    .write_o       (dma_write),
    .write_ready_i (dma_write_ready),
    .line_o        (dma_line),
    .write_data_o  (dma_write_data)
  );

  // ---- Cores
  logic [Cores-1:0] fill_idle, fill_done, op_ready, op_done, busy, elem_idle, elem_done;
  logic [Cores-1:0] comm_idle, comm_done, wild;
  logic             clears;
  logic [Cores-1:0]                              sums_valid;
  logic [Cores-1:0][Channels-1:0][TUPLE_W-1:0]   sums;
  logic                                          rows_valid;
  logic [Channels-1:0][TUPLE_W-1:0]              rows;
  localparam int unsigned Chunks   = (Lanes + OptLanes - 1) / OptLanes;
  localparam int unsigned GWordW   = $clog2(GRows * Chunks);
  localparam int unsigned SumLines = (DMax + NEURONS - 1) / NEURONS;
  localparam int unsigned SumLineW = (SumLines > 1) ? $clog2(SumLines) : 1;
  logic                gradient_en, bias_sum_en;
  logic [2:0]          gradient_bank;
  logic [LAYER_W-1:0]  gradient_layer, bias_sum_layer;
  logic [GWordW-1:0]   gradient_word;
  logic [SumLineW-1:0] bias_sum_line;
  logic [Cores-1:0][OptLanes-1:0][SINGLE_W-1:0] gradients;
  logic [Cores-1:0][NEURONS-1:0][SINGLE_W-1:0]  bias_sums;
  jd_sparse_rows #(.Cores (Cores), .Channels (Channels), .AddLatency (AddLatency)) u_rows (
    .clk_i,
    .rst_ni    (rst_n),
    .valid_i   (sums_valid[0]),
    .columns_i (sums),
    .valid_o   (rows_valid),
    .columns_o (rows)
  );
  for (genvar c = 0; c < Cores; c++) begin : gen_core
    table_t core_table_q;                  // a window comes from the planner or the compressor
    always_ff @(posedge clk_i) begin
      core_table_q <= plan_table;
      core_table_q.list.mine <= list_owner == 2'(c);
      if (window.valid && window_cores[c]) core_table_q.window <= window;
    end
    jd_sparse_core #(
      .Core (c), .Cores (Cores), .Banks (Banks), .Lanes (Lanes), .Slots (Slots), .Acc (Acc),
      .DMax (DMax), .LMax (LMax),
      .WinMax (WinMax), .WRows (WRows), .XRows (XRows), .YRows (YRows), .RRows (RRows),
      .GRows (GRows), .ARows (ARows), .BWords (BWords), .DrainW (DrainW), .OptLanes (OptLanes),
      .Channels (Channels), .MulLatency (MulLatency), .AddLatency (AddLatency)
    ) u_core (
      .clk_i, .rst_ni, .clear_i,
      .table_i           (core_table_q),
      .bias_i,
      .weight_begin_i    (weight_begin),
      .weight_write_i    ((weight_write.valid && weight_write.cores[c])
                          ? Banks'(weight_write.banks) : '0),
      .weight_line_i     (weight_line),
      .fill_idle_o       (fill_idle[c]),
      .fill_start_i      (start_i[UnitFill]),
      .fill_i            (instruction_i),
      .fill_tiles_i      (instruction_i.tiles[c]),
      .fill_set_i,
      .fill_done_o       (fill_done[c]),
      .op_ready_o        (op_ready[c]),
      .op_valid_i        (start_i[UnitVpu] && ready_o[UnitVpu]),
      .op_i              (operation),
      .op_tiles_i        (op_tiles_i[c]),
      .op_done_o         (op_done[c]),
      .busy_o            (busy[c]),
      .useful_o          (useful_o[c]),
      .elem_idle_o       (elem_idle[c]),
      .elem_start_i      (start_i[UnitElem]),
      .elem_i            (instruction_i),
      .elem_dx_i,
      .elem_set_i,
      .elem_tiles_i      (instruction_i.tiles[c]),
      .elem_done_o       (elem_done[c]),
      .sums_valid_o      (sums_valid[c]),
      .sums_o            (sums[c]),
      .rows_valid_i      (rows_valid),
      .rows_i            (rows),
      .comm_idle_o       (comm_idle[c]),
      .comm_start_i      (start_i[UnitComm]),
      .comm_i            (instruction_i),
      .comm_tiles_i      (instruction_i.tiles[c]),
      .comm_vectors_i    (vectors_i[c]),
      .agents_i          (settings_i.agents),
      .inverse_i         (settings_i.inverse),
      .comm_done_o       (comm_done[c]),
      .dma_read_i        (dma_read[c]),
      .dma_read_line_i   (dma_line),
      .dma_read_ready_o  (dma_read_ready[c]),
      .dma_read_data_o   (dma_read_data[c]),
      .dma_write_i       (dma_write[c]),
      .dma_write_line_i  (dma_line),
      .dma_write_data_i  (dma_write_data),
      .dma_write_ready_o (dma_write_ready[c]),
      .clear_gradients_i (clears),
      .nonfinite_o       (wild[c]),
      .gradient_en_i     (gradient_en),
      .gradient_bank_i   (gradient_bank),
      .gradient_layer_i  (gradient_layer),
      .gradient_word_i   (gradient_word),
      .gradient_data_o   (gradients[c]),
      .bias_sum_en_i     (bias_sum_en),
      .bias_sum_layer_i  (bias_sum_layer),
      .bias_sum_line_i   (bias_sum_line),
      .bias_sum_data_o   (bias_sums[c])
    );
  end
  always_comb begin
    operation            = op_i;
    operation.contiguous = 1'b0;
    for (int unsigned l = 0; l < LMax; l++) begin
      if (op_i.number == LAYER_W'(l)) operation.contiguous = contiguous_q[l];
    end
  end
  assign busy_o            = |busy;
  assign ready_o[UnitFill] = &fill_idle;
  assign ready_o[UnitVpu]  = &op_ready;
  assign ready_o[UnitElem] = &elem_idle;
  assign ready_o[UnitComm] = &comm_idle;
  jd_sparse_ends #(.Parts (Cores)) u_fill_ends (
    .clk_i, .rst_ni, .clear_i, .done_i (fill_done), .done_o (done_o[UnitFill])
  );
  jd_sparse_ends #(.Parts (Cores)) u_op_ends (
    .clk_i, .rst_ni, .clear_i, .done_i (op_done), .done_o (done_o[UnitVpu])
  );
  jd_sparse_ends #(.Parts (Cores)) u_elem_ends (
    .clk_i, .rst_ni, .clear_i, .done_i (elem_done), .done_o (done_o[UnitElem])
  );
  jd_sparse_ends #(.Parts (Cores)) u_comm_ends (
    .clk_i, .rst_ni, .clear_i, .done_i (comm_done), .done_o (done_o[UnitComm])
  );

  // ---- OPT
  assign nonfinite_o      = wild != '0;
  assign ready_o[UnitOpt] = opt_ready && lau_rests;
  jd_sparse_opt #(
    .Cores (Cores), .Banks (Banks), .Lanes (Lanes), .DMax (DMax), .LMax (LMax), .WinMax (WinMax),
    .GRows (GRows), .OptLanes (OptLanes), .SWords (SWords), .MaxW (MaxW), .HitW (HitW)
  ) u_opt (
    .clk_i, .rst_ni, .clear_i,
    .ready_o            (opt_ready),
    .start_i            (start_i[UnitOpt]),
    .instruction_i,
    .done_o             (done_o[UnitOpt]),
    .settings_i, .clear_sums_i,
    .updates_o          (updates),
    .table_i            (plan_table),
    .clear_gradients_o  (clears),
    .nonfinite_i        (nonfinite_o),
    .skipped_o,
    .gradient_en_o      (gradient_en),
    .gradient_bank_o    (gradient_bank),
    .gradient_layer_o   (gradient_layer),
    .gradient_word_o    (gradient_word),
    .gradient_data_i    (gradients),
    .bias_sum_en_o      (bias_sum_en),
    .bias_sum_layer_o   (bias_sum_layer),
    .bias_sum_line_o    (bias_sum_line),
    .bias_sum_data_i    (bias_sums),
    .param_read_o, .param_data_i, .param_write_o, .param_new_o,
    .scan_valid_o       (scan_valid),
    .scan_ready_i       (scan_ready),
    .scan_line_o        (scan_line),
    .scan_rows_o        (scan_rows),
    .scan_log2_o        (scan_log2),
    .index_valid_i      (index_valid),
    .index_ready_o      (index_ready),
    .index_i            (index),
    .index_entry_i      (index_entry),
    .entry_write_o      (entry_write),
    .entry_line_o       (entry_line),
    .entry_mask_o       (entry_mask),
    .entry_data_o       (entry_data),
    .word_read_o, .word_read_state_o, .word_read_word_o, .word_data_i, .word_write_o,
    .word_write_state_o, .word_write_word_o, .word_data_o, .draw_o, .drawn_i
  );

  `JD_ASSERT(InStep_A, sums_valid == '0 || sums_valid == '1)
  logic unused;
  assign unused = ^{unused_group_ready, unused_bits};
endmodule : jd_sparse_units
