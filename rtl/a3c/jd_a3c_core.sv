// SPDX-License-Identifier: Apache-2.0
//
// The computing part of a compute unit. Tiles pass through fetch, issue and drain, between the
// buffers of feature maps, parameters and gradients.
//
// Streams  go_i starts a task; finish_o says that all its tiles are under way, done_o that its last
//          tile is drained. layer_index_o asks for a layer. parameter, map: writes of the loaders.
//          map_read: rows for jd_a3c_map_save. chunk, gradient_read: gradients for jd_a3c_update.
// Timing   Tiles overlap: one is issued while the next is fetched and prepared and the previous one
//          is drained. Data of a map or gradient read are valid 2 clocks after the read is taken.
// Numbers  those of models/a3c/ops.py.
// Source   FA3C (ASPLOS 2019) section 4.2, 4.4, 4.5. a3c 6, 7.
`include "jd_assert.svh"
module jd_a3c_core
  import jd_a3c_pkg::*;
  import jd_a3c_tile_pkg::*;
  import jd_a3c_issue_pkg::*;
#(
  parameter  int unsigned Pes           = 16,     // processing elements: 16, 32, 64 or 128
  parameter  int unsigned MulLatency    = 3,      // 1..4
  parameter  int unsigned AddLatency    = 4,      // 2..8
  parameter  int unsigned MapRows       = 512,    // of the feature-map buffer
  parameter  int unsigned ParameterRows = 512,    // of the parameter buffer, a power of two
  parameter  int unsigned GradientRows  = 512,    // of the gradient buffer; 0: no trainings
  localparam int unsigned EntryW        = $clog2(ParameterRows),
  localparam int unsigned PositionW     = EntryW + 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  // Tasks
  input  logic                 go_i,
  input  task_t                task_i,
  input  logic                 slot_i,            // of the task in the unit
  input  logic [3:0]           convs_i,           // its convolutions
  input  logic [1:0][15:0]     resident_i,        // by slot: rows of gradients of convolutions
  output logic                 finish_o,
  output logic [3:0]           layer_index_o,
  input  unit_layer_t          layer_i,
  output logic                 done_o,
  output unit_clocks_t         clocks_o,          // busy is 0
  output logic                 progress_o,
  // Parameters
  input  logic                 parameter_valid_i,
  input  logic [EntryW-1:0]    parameter_entry_i,
  input  logic [511:0]         parameter_data_i,
  input  logic [PositionW-1:0] filled_i,
  output logic [PositionW-1:0] released_o,
  // Feature maps
  input  logic                 map_valid_i,
  output logic                 map_ready_o,
  input  logic [15:0]          map_row_i,
  input  logic [511:0]         map_data_i,
  input  logic [7:0]           loaded_i,
  output logic [7:0]           samples_o,
  input  logic                 map_read_valid_i,
  output logic                 map_read_ready_o,
  input  logic [15:0]          map_read_row_i,
  output logic [511:0]         map_read_data_o,
  output logic                 save_valid_o,
  input  logic                 save_ready_i,
  output logic                 save_slot_o,       // of the task
  output logic [2:0]           save_sample_o,
  output logic [22:0]          save_offset_o,
  output logic [15:0]          save_row_o,
  output logic [15:0]          save_rows_o,
  input  logic                 save_busy_i,
  // Gradients
  output logic                 chunk_valid_o,
  input  logic                 chunk_ready_i,
  output chunk_t               chunk_o,
  input  logic                 chunk_read_i,
  input  logic                 gradient_read_valid_i,
  output logic                 gradient_read_ready_o,
  input  logic [15:0]          gradient_read_row_i,
  output logic [511:0]         gradient_read_data_o
);
  localparam int unsigned SEGS  = Pes / 16;
  localparam int unsigned TileW = $clog2(TILES);
  localparam int unsigned SETTLE = MulLatency + AddLatency + 8;   // from an issue to its sum

  // ---- Tiles: written by the walk, passed by each part
  tile_t          tiles_q [TILES];
  logic [TileW:0] walk_q, fetch_q, prepare_q, issue_q, issued_q, drain_q;
  tile_t          walk_tile, fetch_tile, prepare_tile, issue_tile, drain_tile;
  logic           walk_valid, walk_ready;
  logic           fetch_done, prepare_done, issue_done, issued, drain_done;
  logic           prepare_valid, drain_valid;
  assign walk_ready    = (TileW + 1)'(walk_q - drain_q) != (TileW + 1)'(TILES);
  assign fetch_tile    = tiles_q[fetch_q[TileW-1:0]];
  assign prepare_tile  = tiles_q[prepare_q[TileW-1:0]];
  assign issue_tile    = tiles_q[issue_q[TileW-1:0]];
  assign drain_tile    = tiles_q[drain_q[TileW-1:0]];
  assign prepare_valid = prepare_q != walk_q && (TileW + 1)'(prepare_q - drain_q) < (TileW + 1)'(2);
  assign drain_valid   = drain_q != issued_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      walk_q    <= '0;
      fetch_q   <= '0;
      prepare_q <= '0;
      issue_q   <= '0;
      issued_q  <= '0;
      drain_q   <= '0;
    end else begin
      if (walk_valid && walk_ready) walk_q <= walk_q + 1'b1;
      if (fetch_done)   fetch_q   <= fetch_q + 1'b1;
      if (prepare_done) prepare_q <= prepare_q + 1'b1;
      if (issue_done)   issue_q   <= issue_q + 1'b1;
      if (issued)       issued_q  <= issued_q + 1'b1;
      if (drain_done)   drain_q   <= drain_q + 1'b1;
    end
    if (walk_valid && walk_ready) tiles_q[walk_q[TileW-1:0]] <= walk_tile;
  end
  jd_delay #(.Width (1), .Cycles (SETTLE), .Clear (1'b1)) u_issued (
    .clk_i, .rst_ni,
    .in_i  (issue_done),
    .out_o (issued)
  );
  assign done_o      = drain_done && drain_tile.task_last;
  assign save_slot_o = drain_tile.slot;

  jd_a3c_walk #(
    .Pes (Pes), .AddLatency (AddLatency), .ParameterRows (ParameterRows)
  ) u_walk (
    .clk_i, .rst_ni, .go_i, .task_i, .slot_i, .convs_i, .finish_o, .layer_index_o, .layer_i,
    .tile_valid_o (walk_valid),
    .tile_ready_i (walk_ready),
    .tile_o       (walk_tile)
  );

  // ---- Fetch
  logic            fetch_read_valid, fetch_read_ready;
  logic [15:0]     fetch_read_row;
  logic [511:0]    map_data;                      // rows read from the maps
  logic [SEGS-1:0] stitch_valid, lane_valid;
  logic            stitch_half, lane_half;
  logic [7:0]      stitch_offset;
  logic [511:0]    stitch_data, lane_data;
  logic [5:0]      lane_entry;
  logic [1:0]      line_full, lane_full;
  logic            line_free, lane_free;
  jd_a3c_fetch #(.Pes (Pes)) u_fetch (
    .clk_i, .rst_ni,
    .tile_valid_i    (fetch_q != walk_q),
    .tile_i          (fetch_tile),
    .tile_done_o     (fetch_done),
    .drained_i       (fetch_q == drain_q),
    .loaded_i, .samples_o,
    .read_valid_o    (fetch_read_valid),
    .read_ready_i    (fetch_read_ready),
    .read_row_o      (fetch_read_row),
    .read_data_i     (map_data),
    .stitch_valid_o  (stitch_valid),
    .stitch_half_o   (stitch_half),
    .stitch_offset_o (stitch_offset),
    .stitch_data_o   (stitch_data),
    .lane_valid_o    (lane_valid),
    .lane_half_o     (lane_half),
    .lane_entry_o    (lane_entry),
    .lane_data_o     (lane_data),
    .line_full_o     (line_full),
    .line_free_i     (line_free),
    .lane_full_o     (lane_full),
    .lane_free_i     (lane_free)
  );

  // ---- Issue
  issue_t                issue;
  logic [SEGS-1:0][7:0]  pointer;
  logic [SEGS-1:0][15:0] enable;
  logic                  lost_latency, lost_parameters, lost_maps;
  jd_a3c_issue #(
    .Pes (Pes), .AddLatency (AddLatency), .ParameterRows (ParameterRows)
  ) u_issue (
    .clk_i, .rst_ni,
    .tile_valid_i      (issue_q != prepare_q),
    .tile_i            (issue_tile),
    .tile_half_i       (issue_q[0]),
    .tile_done_o       (issue_done),
    .line_full_i       (line_full),
    .line_free_o       (line_free),
    .lane_full_i       (lane_full),
    .lane_free_o       (lane_free),
    .filled_i, .released_o,
    .issue_o           (issue),
    .pointer_o         (pointer),
    .enable_o          (enable),
    .lost_latency_o    (lost_latency),
    .lost_parameters_o (lost_parameters),
    .lost_maps_o       (lost_maps)
  );

  // ---- Elements
  logic                   sum_valid, sum_half, preload_half;
  logic [4:0]             sum, preload_sum;
  logic [SEGS-1:0][511:0] sum_data;
  logic [SEGS-1:0]        preload_valid;
  logic [511:0]           preload_data;
  jd_a3c_array #(
    .Pes (Pes), .MulLatency (MulLatency), .AddLatency (AddLatency), .ParameterRows (ParameterRows)
  ) u_array (
    .clk_i, .rst_ni,
    .issue_i         (issue),
    .pointer_i       (pointer),
    .enable_i        (enable),
    .drain_valid_i   (sum_valid),
    .drain_half_i    (sum_half),
    .drain_sum_i     (sum),
    .drain_data_o    (sum_data),
    .preload_valid_i (preload_valid),
    .preload_half_i  (preload_half),
    .preload_sum_i   (preload_sum),
    .preload_data_i  (preload_data),
    .stitch_valid_i  (stitch_valid),
    .stitch_half_i   (stitch_half),
    .stitch_offset_i (stitch_offset),
    .stitch_data_i   (stitch_data),
    .lane_valid_i    (lane_valid),
    .lane_half_i     (lane_half),
    .lane_entry_i    (lane_entry),
    .lane_data_i     (lane_data),
    .parameter_valid_i, .parameter_entry_i, .parameter_data_i
  );

  // ---- Drain
  logic         room_wait;
  logic         grad_write, grad_read;
  logic [15:0]  grad_row, grad_read_row;
  logic [511:0] grad_data, grad_read_data;
  logic         mask_read_valid, mask_read_ready;
  logic [15:0]  mask_read_row;
  logic         write_valid;
  logic [15:0]  write_row, write_mask;
  logic [511:0] write_data;
  jd_a3c_drain #(.Pes (Pes), .GradientRows (GradientRows)) u_drain (
    .clk_i, .rst_ni,
    .prepare_valid_i      (prepare_valid),
    .prepare_tile_i       (prepare_tile),
    .prepare_half_i       (prepare_q[0]),
    .prepare_oldest_i     (prepare_q == drain_q),
    .prepare_done_o       (prepare_done),
    .drain_valid_i        (drain_valid),
    .drain_tile_i         (drain_tile),
    .drain_half_i         (drain_q[0]),
    .drain_done_o         (drain_done),
    .resident_i           (resident_i[drain_tile.slot]),
    .room_o               (room_wait),
    .sum_valid_o          (sum_valid),
    .sum_half_o           (sum_half),
    .sum_o                (sum),
    .sum_data_i           (sum_data),
    .preload_valid_o      (preload_valid),
    .preload_half_o       (preload_half),
    .preload_sum_o        (preload_sum),
    .preload_data_o       (preload_data),
    .gradient_write_o     (grad_write),
    .gradient_row_o       (grad_row),
    .gradient_data_o      (grad_data),
    .gradient_read_o      (grad_read),
    .gradient_read_row_o  (grad_read_row),
    .gradient_read_data_i (grad_read_data),
    .chunk_valid_o, .chunk_ready_i, .chunk_o, .chunk_read_i,
    .read_valid_o         (mask_read_valid),
    .read_ready_i         (mask_read_ready),
    .read_row_o           (mask_read_row),
    .read_data_i          (map_data),
    .write_valid_o        (write_valid),
    .write_row_o          (write_row),
    .write_mask_o         (write_mask),
    .write_data_o         (write_data),
    .save_valid_o, .save_ready_i, .save_sample_o, .save_offset_o, .save_row_o, .save_rows_o,
    .save_busy_i
  );

  // ---- Feature maps: reads of fetch go first, then the drain's, then the saver's
  localparam int unsigned MapW = $clog2(MapRows);
  logic        map_read;
  logic [15:0] map_read_row;
  assign fetch_read_ready = 1'b1;
  assign mask_read_ready  = !fetch_read_valid;
  assign map_read_ready_o = !fetch_read_valid && !mask_read_valid;
  assign map_read         = fetch_read_valid || mask_read_valid || map_read_valid_i;
  assign map_read_row     = fetch_read_valid ? fetch_read_row
                            : mask_read_valid ? mask_read_row : map_read_row_i;
  assign map_read_data_o  = map_data;
  assign map_ready_o      = !write_valid;
  jd_mem_1r1w #(
    .Depth (MapRows), .Lanes (16), .LaneW (32), .ReadLatency (2), .Ultra (MapRows >= 4096)
  ) u_maps (
    .clk_i, .rst_ni,
    .write_en_i   (write_valid || map_valid_i),
    .write_addr_i (write_valid ? write_row[MapW-1:0] : map_row_i[MapW-1:0]),
    .write_mask_i (write_valid ? write_mask : '1),
    .write_data_i (write_valid ? write_data : map_data_i),
    .read_en_i    (map_read),
    .read_addr_i  (map_read_row[MapW-1:0]),
    .read_data_o  (map_data)
  );

  // ---- Gradients: reads of sums that continue go first
  assign gradient_read_ready_o = !grad_read;
  assign gradient_read_data_o  = grad_read_data;
  if (GradientRows > 0) begin : gen_gradients
    localparam int unsigned GradientW = $clog2(GradientRows);
    logic [15:0] row;
    logic        unused_rows;
    assign row = grad_read ? grad_read_row : gradient_read_row_i;
    assign unused_rows = ^{row, grad_row};
    jd_mem_1r1w #(
      .Depth (GradientRows), .Lanes (1), .LaneW (512), .ReadLatency (2),
      .Ultra (GradientRows >= 4096)
    ) u_gradients (
      .clk_i, .rst_ni,
      .write_en_i   (grad_write),
      .write_addr_i (grad_row[GradientW-1:0]),
      .write_mask_i (1'b1),
      .write_data_i (grad_data),
      .read_en_i    (grad_read || gradient_read_valid_i),
      .read_addr_i  (row[GradientW-1:0]),
      .read_data_o  (grad_read_data)
    );
    `JD_ASSERT_IF(GradientsApart_A, grad_write && (grad_read || gradient_read_valid_i),
                  row != grad_row)
  end else begin : gen_none
    logic unused_gradients;
    assign grad_read_data   = '0;
    assign unused_gradients = ^{grad_write, grad_row, grad_data, grad_read_row,
                                gradient_read_valid_i, gradient_read_row_i};
  end

  // ---- Clocks
  logic waits;                                    // a tile is there, its sums are not
  assign waits = issue_q != walk_q && issue_q == prepare_q;
  always_comb begin
    clocks_o            = '0;
    clocks_o.issue      = issue.valid;
    clocks_o.latency    = lost_latency;
    clocks_o.parameters = lost_parameters;
    clocks_o.maps       = lost_maps;
    clocks_o.gradients  = waits && room_wait;
    clocks_o.drain      = waits && !room_wait;
  end
  assign progress_o = issue.valid || drain_done || grad_write;
  logic [5:0] unused_stage;                       // of the clock, for simulators: see lint/a3c.vlt
  assign unused_stage = {issue_tile.kind, issue_tile.layer};

  logic unused_issue;
  assign unused_issue = ^{map_read_row, write_row, map_row_i};
  // A read of an UltraRAM word that is being written is undefined. The drain never does it: of a
  // row that it reads for its mask, it writes other words.
  `JD_ASSERT_IF(MapLoadApart_A, map_read && !write_valid && map_valid_i, map_read_row != map_row_i)
  `JD_ASSERT_IF(ChunkWanted_A, chunk_valid_o, GradientRows > 0)
endmodule : jd_a3c_core
