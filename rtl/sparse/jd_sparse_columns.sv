// SPDX-License-Identifier: Apache-2.0
//
// Reads a core's results, Channels columns of a tile at once, and adds the bias.
//
//   column -> place -> unit, bank -> results of Channels columns -> chains added -> + bias
//
// Streams  start_i: an instruction, LIN or LSTMF, when no columns are on their way. table_i, bias_i:
//          writes. result_*: read ports of the banks' results. sums_o: to jd_sparse_rows, in ROW split;
//          rows_i: from there. soon_o tells of columns READ_LATENCY clocks before columns_o has them.
//          A pipe: valid only.
// Timing   Channels columns of a tile per clock and chain, of LSTMF at most 4. Channels whose results
//          are in the same memory wait for each other. soon_o comes 5 + 3 * AddLatency clocks after
//          the columns were looked up, in ROW split 2 + 2 * AddLatency later. All cores with the same
//          tables go in step.
//          Of LIN columns come in their order, of LSTMF those of the gates i, f, g and o of the first
//          neurons, then those of the next.
// Numbers  FP16. With KSPLIT 2 p0 + p1, with 4 (p0 + p1) + (p2 + p3); cores; + bias; each sum rounded.
// Source   LearningGroup III-A (aggregator). Golden model: models/sparse/machine.py, _elementwise.
`include "jd_assert.svh"
module jd_sparse_columns
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Banks      = 8,     // 1..8
  parameter  int unsigned Lanes      = 33,    // 2..264
  parameter  int unsigned DMax       = 512,   // 8..512
  parameter  int unsigned LMax       = 8,     // 1..8
  parameter  int unsigned RRows      = 4096,
  parameter  int unsigned BWords     = 2048,
  parameter  int unsigned DrainW     = 4,     // 1, 2, 4
  parameter  int unsigned Channels   = 4,     // 1, 2, 4, 8
  parameter  int unsigned AddLatency = 4,     // 1..4
  localparam int unsigned RW         = $clog2(RRows)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  table_t                           table_i,
  input  bias_t                            bias_i,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic                             dx_i,          // the results are those of a DX
  input  logic                             set_i,
  input  logic [TILES_W-1:0]               tiles_i,       // of this core
  output logic [Banks-1:0][DrainW-1:0]           result_en_o,
  output logic [Banks-1:0][DrainW-1:0][RW-1:0]   result_address_o,
  input  logic [Banks-1:0][DrainW-1:0][TUPLE_W-1:0] result_data_i,   // one clock later
  output logic                             sums_valid_o,
  output logic [Channels-1:0][TUPLE_W-1:0] sums_o,        // of this core
  input  logic                             rows_valid_i,
  input  logic [Channels-1:0][TUPLE_W-1:0] rows_i,        // of all cores
  output logic                             soon_valid_o,
  output columns_t                         soon_o,
  output logic [Channels-1:0][TUPLE_W-1:0] columns_o
);
  localparam int unsigned ChannelLog = $clog2(Channels);
  localparam int unsigned ChannelW   = ChannelLog > 0 ? ChannelLog : 1;
  localparam int unsigned BankW      = Banks > 1 ? $clog2(Banks) : 1;
  localparam int unsigned DrainLog   = $clog2(DrainW);
  localparam int unsigned SubW       = DrainLog > 0 ? DrainLog : 1;
  localparam int unsigned LineW      = DMax > Channels ? $clog2(DMax) - ChannelLog : 1;
  localparam int unsigned PlacesW    = $clog2(2 * LMax << LineW);
  localparam int unsigned PlaceW     = WINDOW_W + LANE_W;
  localparam int unsigned BiasLines  = (BWords + Channels - 1) / Channels;
  localparam int unsigned BiasW      = BiasLines > 1 ? $clog2(BiasLines) : 1;
  localparam int unsigned RHalf      = RRows / 2;
  localparam int unsigned SumLatency = 2 * AddLatency;    // of the chains
  localparam int unsigned GateStep   = Channels < VECTORS ? Channels : VECTORS;

  // ---- The instruction; the walk through tiles and columns
  logic                run_q, dx_q, set_q, row_q, bias_q, gates_q;   // gates: of LSTMF
  logic [LAYER_W-1:0]  number_q;
  layer_t              layer_q;
  tensor_t             other_q, d_q;         // lines of the tile
  logic [1:0]          split_log2_q;
  logic [DIM_W-1:0]    count_q, first_q;     // columns, or neurons; the first one of the next
  logic [DIM_W-1:0]    column_q, column_d;   // first_q, in the gate
  logic [DIM_W-1:0]    next;
  logic [INDEX_W-1:0]  index_q, from_q;      // of the column; of the first one
  logic [1:0]          gate_q;
  logic [TILES_W-1:0]  tile_q, tiles_q;
  logic                advance, asks, last_gate, last_column, last_tile;
  assign last_gate   = !gates_q || gate_q == '1;
  assign next        = first_q + (gates_q ? DIM_W'(GateStep) : DIM_W'(Channels));
  assign column_d    = last_gate ? next : column_q + count_q;
  assign last_column = last_gate && next >= count_q;
  assign last_tile   = tile_q == tiles_q - 1'b1;
  assign asks        = run_q && advance;

  columns_t work_d;
  always_comb begin
    work_d = '{column: column_q, other_line: other_q.line, d_line: d_q.line,
               last: last_column && last_tile, default: '0};
    for (int unsigned c = 0; c < Channels; c++) begin
      work_d.mask[c] = first_q + DIM_W'(c) < count_q && (!gates_q || c < GateStep);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                                run_q <= 1'b0;
    else if (start_i)                           run_q <= tiles_i != '0;
    else if (asks && last_column && last_tile)  run_q <= 1'b0;
    if (start_i) begin
      number_q     <= instruction_i.number;
      layer_q      <= instruction_i.layer;
      dx_q         <= dx_i;
      set_q        <= set_i;
      row_q        <= instruction_i.flags.row;
      bias_q       <= instruction_i.flags.bias;
      gates_q      <= instruction_i.op == LSTMF;
      other_q      <= instruction_i.op == LSTMF ? instruction_i.a : instruction_i.b;
      d_q          <= instruction_i.d;
      split_log2_q <= dx_i ? '0 : instruction_i.layer.split_log2;
      count_q      <= dx_i ? instruction_i.layer.m - DIM_W'(instruction_i.layer.dx_from)
                      : instruction_i.op == LSTMF ? instruction_i.layer.n >> 2
                      : instruction_i.layer.n;
      from_q       <= dx_i ? instruction_i.layer.dx_from : '0;
      index_q      <= dx_i ? instruction_i.layer.dx_from : '0;
      first_q      <= '0;
      column_q     <= '0;
      gate_q       <= '0;
      tile_q       <= '0;
      tiles_q      <= tiles_i;
    end else if (asks) begin
      gate_q   <= gates_q ? gate_q + 1'b1 : '0;
      column_q <= column_d;
      index_q  <= gates_q ? INDEX_W'(column_d) : index_q + INDEX_W'(Channels);
      if (last_gate) first_q <= next;
      if (last_column) begin
        first_q      <= '0;
        column_q     <= '0;
        index_q      <= from_q;
        tile_q       <= tile_q + 1'b1;
        other_q.line <= other_q.line + A_LINE_W'(other_q.stride);
        d_q.line     <= d_q.line + A_LINE_W'(d_q.stride);
      end
    end
  end

  // ---- Stages: place read 1, place 2, unit 3, unit in its bank 4; then the address
  localparam int unsigned FINDS = 4;
  logic     [FINDS:1]              stage_q;
  columns_t [FINDS:1]              works_q;
  logic     [2:1][TILES_W-1:0]     tiles_of_q;
  logic [ChannelW-1:0]             turn_q;               // memory of channel 0
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      stage_q <= '0;
    else if (advance) stage_q <= {stage_q[FINDS-1:1], run_q};
    if (advance) begin
      works_q    <= {works_q[FINDS-1:1], work_d};
      tiles_of_q <= {tiles_of_q[1], tile_q};
      turn_q     <= ChannelW'(index_q);
    end
  end

  // Places of Channels indices in a row, from any index on.
  logic [Channels-1:0][PlaceW-1:0] places, place_q;      // by memory; by channel
  for (genvar k = 0; k < Channels; k++) begin : gen_places
    logic [LineW-1:0] line;                              // of the index that is in this memory
    assign line = LineW'((index_q + INDEX_W'(Channels - 1 - k)) >> ChannelLog);
    jd_mem_1r1w #(.Depth (2 * LMax << LineW), .LaneW (PlaceW)) u_memory (
      .clk_i, .rst_ni,
      .write_en_i   (table_i.place.valid
                     && (ChannelLog == 0 || ChannelW'(table_i.place.index) == ChannelW'(k))),
      .write_addr_i (PlacesW'({table_i.place.layer, table_i.place.dx,
                               LineW'(table_i.place.index >> ChannelLog)})),
      .write_mask_i (1'b1),
      .write_data_i ({table_i.place.window, table_i.place.lane}),
      .read_en_i    (asks),
      .read_addr_i  (PlacesW'({number_q, dx_q, line})),
      .read_data_o  (places[k])
    );
  end

  // First unit of each bank; how units go through the windows.
  typedef struct packed {
    logic                paired;
    logic [WINDOW_W-1:0] windows;
  } order_t;
  order_t                       order, order_q;
  logic [Banks-1:0]             empty, empty_q;
  logic [Banks-1:0][UNIT_W-1:0] first_unit, first_unit_q;
  for (genvar b = 0; b < Banks; b++) begin : gen_ranges
    jd_mem_lut #(.Depth (2 * LMax), .Width (1 + UNIT_W)) u_first (
      .clk_i, .rst_ni,
      .write_en_i   (table_i.range.valid && table_i.range.pass != PassDw
                     && 32'(table_i.range.bank) == b),
      .write_addr_i ($clog2(2 * LMax)'(32'(table_i.range.layer) * 2
                                       + 32'(table_i.range.pass == PassDx))),
      .write_data_i ({table_i.range.range.empty, table_i.range.range.first_unit}),
      .read_addr_i  ($clog2(2 * LMax)'(32'(number_q) * 2 + 32'(dx_q))),
      .read_data_o  ({empty[b], first_unit[b]})
    );
  end
  jd_mem_lut #(.Depth (2 * LMax), .Width ($bits(order_t))) u_order (
    .clk_i, .rst_ni,
    .write_en_i   (table_i.range.valid && table_i.range.pass != PassDw),
    .write_addr_i ($clog2(2 * LMax)'(32'(table_i.range.layer) * 2
                                     + 32'(table_i.range.pass == PassDx))),
    .write_data_i ({table_i.range.range.paired, table_i.range.range.windows}),
    .read_addr_i  ($clog2(2 * LMax)'(32'(number_q) * 2 + 32'(dx_q))),
    .read_data_o  (order)
  );
  always_ff @(posedge clk_i) begin
    order_q      <= order;
    empty_q      <= empty;
    first_unit_q <= first_unit;
  end

  // Units, their banks, and where the sums are in them.
  typedef struct packed {
    logic [BankW-1:0] bank;
    logic [RW-1:0]    address;
  } sum_t;
  typedef struct packed {
    logic [BankW-1:0]  bank;
    logic [UNIT_W-1:0] unit;                             // of the bank
  } held_t;
  logic  [Channels-1:0][UNIT_W-1:0]      unit_q;
  logic  [FINDS:3][Channels-1:0][LANE_W-1:0] lane_q;
  held_t [Channels-1:0]                  held_d, unit_held_q;
  sum_t  [Channels-1:0]                  sums_q;
  function automatic logic [UNIT_W-1:0] unit_of(input order_t                walk,
                                                input logic [WINDOW_W-1:0]   window,
                                                input logic [TILES_W-1:0]    tiles,
                                                input logic [TILES_W-1:0]    tile);
    logic [WINDOW_W-1:0] first;                          // of the pair
    logic [TILES_W:0]    nth;
    first = window;
    nth   = {1'b0, tile};
    if (walk.paired) begin
      first[0] = 1'b0;
      if (first + 1'b1 != walk.windows) nth = {tile, window[0]};
    end
    return UNIT_W'(UNIT_W'(first) * UNIT_W'(tiles) + UNIT_W'(nth));
  endfunction
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      held_d[c] = '0;
      for (int unsigned b = 0; b < Banks; b++) begin
        if (!empty_q[b] && first_unit_q[b] <= unit_q[c])
          held_d[c] = '{bank: BankW'(b), unit: unit_q[c] - first_unit_q[b]};
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      for (int unsigned c = 0; c < Channels; c++) begin
        logic [ChannelW-1:0] memory;
        memory     = ChannelLog > 0 ? ChannelW'(c) + turn_q : '0;
        place_q[c] <= places[memory];
        unit_q[c]  <= unit_of(order_q, place_q[c][LANE_W +: WINDOW_W], layer_q.tiles,
                              tiles_of_q[2]);
        lane_q[3][c] <= place_q[c][LANE_W-1:0];
      end
      lane_q[4]   <= lane_q[3];
      unit_held_q <= held_d;
    end
  end

  // ---- Reading them: chain by chain, those of one memory after each other
  logic                           found_q;               // sums_q has columns to read
  columns_t                       work_q2;
  logic [Channels-1:0]            left_q, takes;         // columns that are not read
  logic [1:0]                     chain_q;
  logic                           chain_ends, last_chain;
  logic [Channels-1:0][SubW-1:0]  subs;
  assign last_chain = chain_q == 2'((3'd1 << split_log2_q) - 1'b1);
  assign chain_ends = found_q && left_q == takes;
  assign advance    = !found_q || (chain_ends && last_chain);
  always_comb begin
    result_en_o      = '0;
    result_address_o = '0;
    for (int unsigned c = 0; c < Channels; c++) begin
      subs[c]  = DrainLog > 0 ? SubW'(sums_q[c].address) : '0;
      takes[c] = found_q && left_q[c];
      for (int unsigned j = 0; j < c; j++) begin
        if (left_q[j] && sums_q[j].bank == sums_q[c].bank && subs[j] == subs[c]) takes[c] = 1'b0;
      end
    end
    for (int unsigned b = 0; b < Banks; b++) begin
      for (int unsigned k = 0; k < DrainW; k++) begin
        for (int unsigned c = 0; c < Channels; c++) begin
          if (takes[c] && sums_q[c].bank == BankW'(b) && subs[c] == SubW'(k)) begin
            result_en_o[b][k]      = 1'b1;
            result_address_o[b][k] = result_address_o[b][k] | sums_q[c].address;
          end
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      found_q <= 1'b0;
    else if (advance) found_q <= stage_q[FINDS];
    if (advance) begin
      for (int unsigned c = 0; c < Channels; c++) begin
        sums_q[c].bank    <= unit_held_q[c].bank;
        sums_q[c].address <= RW'((set_q ? RHalf : 0) + 32'(unit_held_q[c].unit) * Lanes
                                 + 32'(lane_q[FINDS][c]));
      end
      work_q2 <= works_q[FINDS];
      left_q  <= works_q[FINDS].mask[Channels-1:0];
      chain_q <= '0;
    end else if (chain_ends) begin
      left_q  <= work_q2.mask[Channels-1:0];
      chain_q <= chain_q + 1'b1;
      for (int unsigned c = 0; c < Channels; c++) begin
        sums_q[c].address <= sums_q[c].address + RW'(layer_q.n);
      end
    end else begin
      left_q <= left_q & ~takes;
    end
  end

  // ---- What was read, when all columns of a chain are there
  typedef logic [Channels-1:0][VECTORS-1:0][HALF_W-1:0] halves_t;
  logic                           whole_q, last_chain_q;   // the last columns come
  logic [Channels-1:0]            takes_q;
  logic [Channels-1:0][BankW-1:0] banks_q;
  logic [Channels-1:0][SubW-1:0]  subs_q;
  logic [1:0]                     chain_q2;
  columns_t                       work_q3;
  halves_t                        held_q, read, values_q;
  logic                           values_valid_q, values_last_q;
  logic [1:0]                     values_chain_q;
  columns_t                       work_q4;
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      read[c] = takes_q[c] ? result_data_i[banks_q[c]][subs_q[c]] : held_q[c];
    end
  end
  always_ff @(posedge clk_i) begin
    whole_q        <= rst_ni && chain_ends;
    takes_q        <= takes;
    subs_q         <= subs;
    chain_q2       <= chain_q;
    last_chain_q   <= last_chain;
    work_q3        <= work_q2;
    held_q         <= read;
    for (int unsigned c = 0; c < Channels; c++) banks_q[c] <= sums_q[c].bank;
    values_valid_q <= rst_ni && whole_q;
    if (whole_q) begin
      values_q       <= read;
      values_chain_q <= chain_q2;
      values_last_q  <= last_chain_q;
      work_q4        <= work_q3;
    end
  end

  // ---- Chains: pairs, then pairs of pairs
  logic    pairs, quads, pair_valid, pair_first_q;
  halves_t low_q, pair, low_pair_q, quad;
  logic    first_valid, second_valid;
  assign pairs = split_log2_q != '0;
  assign quads = split_log2_q == 2'd2;
  always_ff @(posedge clk_i) begin
    if (values_valid_q && !values_chain_q[0]) low_q <= values_q;
    if (!rst_ni || start_i) pair_first_q <= 1'b1;
    else if (pair_valid)   pair_first_q <= !pair_first_q;
    if (pair_valid)        low_pair_q   <= pair;
  end
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_pairs (
    .clk_i, .rst_ni,
    .valid_i  (values_valid_q && (values_chain_q[0] || !pairs)),
    .add_i    (pairs),
    .a_i      (pairs ? low_q : values_q),
    .b_i      (values_q),
    .valid_o  (pair_valid),
    .result_o (pair)
  );
  assign first_valid = pair_valid && (!quads || !pair_first_q);
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_quads (
    .clk_i, .rst_ni,
    .valid_i  (first_valid),
    .add_i    (quads),
    .a_i      (quads ? low_pair_q : pair),
    .b_i      (pair),
    .valid_o  (second_valid),
    .result_o (quad)
  );

  // ---- In ROW split sums of other cores come in
  assign sums_valid_o = second_valid && row_q;
  assign sums_o       = quad;

  // ---- Bias, read as the sums come
  columns_t bias_work, alone_work, rows_work;
  logic     bias_valid, alone_valid, rows_valid, biased_valid;
  halves_t  biases;
  jd_delay #(.Width (1 + $bits(columns_t)), .Cycles (SumLatency - 1)) u_to_sums (
    .clk_i, .rst_ni,
    .in_i  ({values_valid_q && values_last_q, work_q4}),
    .out_o ({alone_valid, alone_work})
  );
  jd_delay #(.Width (1 + $bits(columns_t)), .Cycles (2 + 2 * AddLatency)) u_to_rows (
    .clk_i, .rst_ni, .in_i ({alone_valid && row_q, alone_work}), .out_o ({rows_valid, rows_work})
  );
  assign bias_valid = row_q ? rows_valid : alone_valid;
  assign bias_work  = row_q ? rows_work : alone_work;
  jd_delay #(.Width (1 + $bits(columns_t)), .Cycles (AddLatency + 1 - READ_LATENCY)) u_to_soon (
    .clk_i, .rst_ni, .in_i ({bias_valid, bias_work}), .out_o ({soon_valid_o, soon_o})
  );
  logic [B_WORD_W-1:0]               bias_word;
  logic [ChannelW-1:0]               bias_turn_q;
  logic [Channels-1:0][HALF_W-1:0]   bias_data;          // by memory
  assign bias_word = layer_q.b_base + B_WORD_W'(bias_work.column);
  for (genvar k = 0; k < Channels; k++) begin : gen_bias
    logic [ChannelW-1:0] ahead;
    logic [B_WORD_W-1:0] mine;
    logic                there;
    assign ahead = ChannelLog > 0 ? ChannelW'(k) - ChannelW'(bias_word) : '0;
    assign mine  = bias_word + B_WORD_W'(ahead);
    assign there = 32'(mine) < BWords && mine >= bias_word;
    jd_mem_1r1w #(.Depth (BiasLines), .LaneW (HALF_W)) u_memory (
      .clk_i, .rst_ni,
      .write_en_i   (bias_i.valid && (ChannelLog == 0 || ChannelW'(bias_i.word) == ChannelW'(k))),
      .write_addr_i (BiasW'(bias_i.word >> ChannelLog)),
      .write_mask_i (1'b1),
      .write_data_i (bias_i.value),
      .read_en_i    (bias_valid && bias_q && there),
      .read_addr_i  (BiasW'(mine >> ChannelLog)),
      .read_data_o  (bias_data[k])
    );
  end
  always_ff @(posedge clk_i) bias_turn_q <= ChannelW'(bias_word);
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      logic [ChannelW-1:0] memory;
      memory    = ChannelLog > 0 ? ChannelW'(c) + bias_turn_q : '0;
      biases[c] = {VECTORS{bias_data[memory]}};
    end
  end
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_bias (
    .clk_i, .rst_ni,
    .valid_i  (row_q ? rows_valid_i : second_valid),
    .add_i    (bias_q),
    .a_i      (row_q ? rows_i : quad),
    .b_i      (biases),
    .valid_o  (biased_valid),
    .result_o (columns_o)
  );

  logic soon_valid_q;
  jd_delay #(.Width (1), .Cycles (READ_LATENCY)) u_in_step (
    .clk_i, .rst_ni, .in_i (soon_valid_o), .out_o (soon_valid_q)
  );
  `JD_ASSERT(InStep_A, biased_valid == soon_valid_q)
  `JD_ASSUME_IF(GatesOfFw_M, start_i, !(instruction_i.op == LSTMF && dx_i))

endmodule : jd_sparse_columns
