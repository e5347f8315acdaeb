// SPDX-License-Identifier: Apache-2.0
//
// Takes a core's results to its activation store: LIN.
//
//   column -> place -> unit, bank -> results of Channels columns -> chains added -> + bias
//          -> + addend -> store
//
// Streams  start_i: an instruction, while idle_o; done_o is high for one clock when all is written.
//          table_i, bias_i: writes. result_*: read ports of the banks' results. read_*, write_*:
//          client of jd_sparse_store that never waits.
// Timing   Channels columns of a tile per clock and chain. Channels whose results are in the same
//          memory wait for each other. A column is stored 8 + 4 * AddLatency clocks after it was
//          looked up.
// Numbers  FP16. With KSPLIT 2 p0 + p1, with 4 (p0 + p1) + (p2 + p3); + bias; + addend; each sum
//          rounded.
// Source   LearningGroup III-A (aggregator). Golden model: models/sparse/machine.py, _elementwise.
`include "jd_assert.svh"
module jd_sparse_elem
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
  input  logic                             clear_i,       // what is under way is dropped
  input  table_t                           table_i,
  input  bias_t                            bias_i,
  output logic                             idle_o,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic                             dx_i,          // the results are those of a DX
  input  logic                             set_i,
  input  logic [TILES_W-1:0]               tiles_i,       // of this core
  output logic                             done_o,
  output logic [Banks-1:0][DrainW-1:0]           result_en_o,
  output logic [Banks-1:0][DrainW-1:0][RW-1:0]   result_address_o,
  input  logic [Banks-1:0][DrainW-1:0][TUPLE_W-1:0] result_data_i,   // a clock later
  output logic [NEURONS-1:0]               read_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] read_line_o,
  input  logic [NEURONS-1:0][TUPLE_W-1:0]  read_data_i,
  output logic [NEURONS-1:0]               write_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] write_line_o,
  output logic [NEURONS-1:0][TUPLE_W-1:0]  write_data_o
);
  localparam int unsigned ChannelLog = $clog2(Channels);
  localparam int unsigned ChannelW   = ChannelLog > 0 ? ChannelLog : 1;
  localparam int unsigned BankW      = Banks > 1 ? $clog2(Banks) : 1;
  localparam int unsigned DrainLog   = $clog2(DrainW);
  localparam int unsigned SubW       = DrainLog > 0 ? DrainLog : 1;
  localparam int unsigned PlaceLines = (DMax + Channels - 1) / Channels;
  localparam int unsigned PlacesD    = 2 * LMax * PlaceLines;
  localparam int unsigned PlacesW    = $clog2(PlacesD);
  localparam int unsigned PlaceW     = WINDOW_W + LANE_W;
  localparam int unsigned BiasLines  = (BWords + Channels - 1) / Channels;
  localparam int unsigned BiasW      = BiasLines > 1 ? $clog2(BiasLines) : 1;
  localparam int unsigned RHalf      = RRows / 2;
  localparam int unsigned SumLatency = 2 * AddLatency;    // of the chains

  function automatic logic [PlacesW-1:0] place_line(
      input logic dx, input logic [LAYER_W-1:0] layer, input logic [INDEX_W-1:0] index);
    return PlacesW'((32'(dx) * LMax + 32'(layer)) * PlaceLines + 32'(index >> ChannelLog));
  endfunction
  logic rst_n;
  assign rst_n = rst_ni && !clear_i;

  // ---- The instruction; the walk through tiles and columns
  logic                busy_q, run_q, dx_q, set_q, bias_q, addend_q, second_q;
  logic [LAYER_W-1:0]  number_q;
  layer_t              layer_q;
  tensor_t             b_q, d_q;             // lines of the tile
  logic [9:0]          split_q;
  logic [1:0]          split_log2_q;
  logic [DIM_W-1:0]    count_q, column_q;    // columns, the first one of the next
  logic [TILES_W-1:0]  tile_q, tiles_q;
  logic                asks, last_column, last_tile;
  assign last_column = column_q + DIM_W'(Channels) >= count_q;
  assign last_tile   = tile_q == tiles_q - 1'b1;

  // What goes with the columns of a clock.
  typedef struct packed {
    logic [Channels-1:0] mask;      // columns that there are
    logic [DIM_W-1:0]    column;
    logic [A_LINE_W-1:0] b_line;    // of the tile
    logic [A_LINE_W-1:0] d_line;
    logic                last;
  } work_t;
  work_t                 work_d, work_q, work_q2;
  logic [TILES_W-1:0]    tile_q2;            // of work_q
  logic                  looked_q, ready;    // work_q looks up its places
  always_comb begin
    work_d = '{column: column_q, b_line: b_q.line, d_line: d_q.line,
               last: last_column && last_tile, default: '0};
    for (int unsigned c = 0; c < Channels; c++) begin
      work_d.mask[c] = column_q + DIM_W'(c) < count_q;
    end
  end
  assign asks = run_q && (!looked_q || ready);
  always_ff @(posedge clk_i) begin
    if (!rst_n) begin
      run_q    <= 1'b0;
      looked_q <= 1'b0;
    end else begin
      if (start_i)                                run_q <= tiles_i != '0;
      else if (asks && last_column && last_tile)  run_q <= 1'b0;
      if (asks || ready) looked_q <= asks;
    end
    if (asks) begin
      work_q  <= work_d;
      tile_q2 <= tile_q;
    end
    if (start_i) begin
      number_q     <= instruction_i.number;
      layer_q      <= instruction_i.layer;
      dx_q         <= dx_i;
      set_q        <= set_i;
      bias_q       <= instruction_i.flags.bias;
      addend_q     <= instruction_i.flags.addend;
      second_q     <= instruction_i.flags.second;
      b_q          <= instruction_i.b;
      d_q          <= instruction_i.d;
      split_q      <= instruction_i.value;
      split_log2_q <= dx_i ? '0 : instruction_i.layer.split_log2;
      count_q      <= dx_i ? instruction_i.layer.m - DIM_W'(instruction_i.layer.dx_from)
                      : instruction_i.layer.n;
      column_q     <= '0;
      tile_q       <= '0;
      tiles_q      <= tiles_i;
    end else if (asks) begin
      column_q <= column_q + DIM_W'(Channels);
      if (last_column) begin
        column_q <= '0;
        tile_q   <= tile_q + 1'b1;
        b_q.line <= b_q.line + A_LINE_W'(b_q.stride);
        d_q.line <= d_q.line + A_LINE_W'(d_q.stride);
      end
    end
  end

  // ---- Places: of Channels indices in a row, from any index on
  logic [Channels-1:0][PlaceW-1:0] places;      // by memory
  logic [INDEX_W-1:0]              index;
  assign index = INDEX_W'(column_q) + (dx_q ? layer_q.dx_from : '0);
  for (genvar k = 0; k < Channels; k++) begin : gen_places
    logic [ChannelW-1:0] ahead;
    logic [INDEX_W-1:0]  mine;                  // the index that is in this memory
    assign ahead = ChannelLog > 0 ? ChannelW'(k) - ChannelW'(index) : '0;
    assign mine  = index + INDEX_W'(ahead);
    jd_mem_1r1w #(.Depth (PlacesD), .LaneW (PlaceW)) u_memory (
      .clk_i, .rst_ni,
      .write_en_i   (table_i.place.valid
                     && (ChannelLog == 0 || ChannelW'(table_i.place.index) == ChannelW'(k))),
      .write_addr_i (place_line(table_i.place.dx, table_i.place.layer, table_i.place.index)),
      .write_mask_i (1'b1),
      .write_data_i ({table_i.place.window, table_i.place.lane}),
      .read_en_i    (asks && mine >= index && 32'(mine) < DMax),
      .read_addr_i  (place_line(dx_q, number_q, mine)),
      .read_data_o  (places[k])
    );
  end

  // First unit of each bank.
  logic [Banks-1:0]             empty;
  logic [Banks-1:0][UNIT_W-1:0] first_unit;
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

  // ---- Where the sums are
  typedef struct packed {
    logic [BankW-1:0] bank;
    logic [RW-1:0]    address;
  } sum_t;
  logic [ChannelW-1:0]   turn;                 // memory of channel 0
  sum_t [Channels-1:0]   sums_d, sums_q;
  assign turn = ChannelW'(work_q.column) + (dx_q ? ChannelW'(layer_q.dx_from) : '0);
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      logic [ChannelW-1:0] memory;
      logic [WINDOW_W-1:0] window;
      logic [LANE_W-1:0]   lane;
      logic [UNIT_W-1:0]   unit;
      logic [UNIT_W-1:0]   base;
      memory         = ChannelLog > 0 ? ChannelW'(c) + turn : '0;
      {window, lane} = places[memory];
      unit           = UNIT_W'(32'(window) * 32'(layer_q.tiles) + 32'(tile_q2));
      sums_d[c].bank = '0;
      base           = '0;
      for (int unsigned b = 0; b < Banks; b++) begin
        if (!empty[b] && first_unit[b] <= unit) begin
          sums_d[c].bank = BankW'(b);
          base           = first_unit[b];
        end
      end
      sums_d[c].address = RW'((set_q ? RHalf : 0) + 32'(unit - base) * Lanes + 32'(lane));
    end
  end

  // ---- Reading them: chain by chain, those of one memory after each other
  logic                           found_q;               // sums_q has columns to read
  logic [Channels-1:0]            left_q, takes;         // columns that are not read
  logic [1:0]                     chain_q;
  logic                           chain_ends, last_chain;
  logic [Channels-1:0][SubW-1:0]  subs;
  assign last_chain = chain_q == 2'((3'd1 << split_log2_q) - 1'b1);
  assign chain_ends = found_q && left_q == takes;
  assign ready      = !found_q || (chain_ends && last_chain);
  always_comb begin
    takes            = '0;
    result_en_o      = '0;
    result_address_o = '0;
    for (int unsigned c = 0; c < Channels; c++) begin
      subs[c] = DrainLog > 0 ? SubW'(sums_q[c].address) : '0;
      if (found_q && left_q[c] && !result_en_o[sums_q[c].bank][subs[c]]) begin
        takes[c]                                    = 1'b1;
        result_en_o[sums_q[c].bank][subs[c]]        = 1'b1;
        result_address_o[sums_q[c].bank][subs[c]]   = sums_q[c].address;
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_n)             found_q <= 1'b0;
    else if (ready)         found_q <= looked_q;
    if (ready) begin
      sums_q  <= sums_d;
      work_q2 <= work_q;
      left_q  <= work_q.mask;
      chain_q <= '0;
    end else if (chain_ends) begin
      left_q  <= work_q2.mask;
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
  work_t                          work_q3;
  halves_t                        held_q, read, values_q;
  logic                           values_valid_q, values_last_q;
  logic [1:0]                     values_chain_q;
  work_t                          work_q4;
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      read[c] = takes_q[c] ? result_data_i[banks_q[c]][subs_q[c]] : held_q[c];
    end
  end
  always_ff @(posedge clk_i) begin
    whole_q        <= rst_n && chain_ends;
    takes_q        <= takes;
    subs_q         <= subs;
    chain_q2       <= chain_q;
    last_chain_q   <= last_chain;
    work_q3        <= work_q2;
    held_q         <= read;
    for (int unsigned c = 0; c < Channels; c++) banks_q[c] <= sums_q[c].bank;
    values_valid_q <= rst_n && whole_q;
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
    if (!rst_n || start_i) pair_first_q <= 1'b1;
    else if (pair_valid)   pair_first_q <= !pair_first_q;
    if (pair_valid)        low_pair_q   <= pair;
  end
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_pairs (
    .clk_i,
    .rst_ni   (rst_n),
    .valid_i  (values_valid_q && (values_chain_q[0] || !pairs)),
    .add_i    (pairs),
    .a_i      (pairs ? low_q : values_q),
    .b_i      (values_q),
    .valid_o  (pair_valid),
    .result_o (pair)
  );
  assign first_valid = pair_valid && (!quads || !pair_first_q);
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_quads (
    .clk_i,
    .rst_ni   (rst_n),
    .valid_i  (first_valid),
    .add_i    (quads),
    .a_i      (quads ? low_pair_q : pair),
    .b_i      (pair),
    .valid_o  (second_valid),
    .result_o (quad)
  );

  // ---- Bias and addend, read as the sums come
  work_t   bias_work, addend_work, end_work;
  logic    bias_valid, addend_valid, end_valid;
  logic    values_whole;
  halves_t biases, biased, addends, final_sums;
  logic    biased_valid, final_valid;
  assign values_whole = values_valid_q && values_last_q;
  jd_delay #(.Width (1 + $bits(work_t)), .Cycles (SumLatency - 1)) u_to_bias (
    .clk_i, .rst_ni (rst_n), .in_i ({values_whole, work_q4}), .out_o ({bias_valid, bias_work})
  );
  jd_delay #(.Width (1 + $bits(work_t)), .Cycles (AddLatency + 1 - READ_LATENCY)) u_to_addend (
    .clk_i, .rst_ni (rst_n), .in_i ({bias_valid, bias_work}), .out_o ({addend_valid, addend_work})
  );
  jd_delay #(
    .Width (1 + $bits(work_t)), .Cycles (READ_LATENCY + AddLatency)
  ) u_to_end (
    .clk_i, .rst_ni (rst_n), .in_i ({addend_valid, addend_work}), .out_o ({end_valid, end_work})
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
    .clk_i,
    .rst_ni   (rst_n),
    .valid_i  (second_valid),
    .add_i    (bias_q),
    .a_i      (quad),
    .b_i      (biases),
    .valid_o  (biased_valid),
    .result_o (biased)
  );

  // Channel c of a column n is bank (n + skew) mod 8 of its line.
  function automatic logic [2:0] bank_of(input logic [DIM_W-1:0] column, input int unsigned c,
                                         input logic [2:0] skew);
    return 3'(column) + 3'(c) + skew;
  endfunction
  logic [2:0] addend_bank_q, addend_bank_q2;
  always_comb begin
    read_en_o   = '0;
    read_line_o = {NEURONS{addend_work.b_line + A_LINE_W'(addend_work.column >> 3)}};
    for (int unsigned c = 0; c < Channels; c++) begin
      read_en_o[bank_of(addend_work.column, c, b_q.skew)] =
          addend_valid && addend_q && addend_work.mask[c];
    end
  end
  always_ff @(posedge clk_i) begin
    addend_bank_q  <= bank_of(addend_work.column, 0, b_q.skew);
    addend_bank_q2 <= addend_bank_q;
  end
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      logic [2:0] memory;
      memory     = addend_bank_q2 + 3'(c);
      addends[c] = read_data_i[memory];
    end
  end
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_addend (
    .clk_i,
    .rst_ni   (rst_n),
    .valid_i  (biased_valid),
    .add_i    (addend_q),
    .a_i      (biased),
    .b_i      (addends),
    .valid_o  (final_valid),
    .result_o (final_sums)
  );

  // ---- To the store
  logic             to_b;
  logic [DIM_W-1:0] after_split;
  logic [2:0]       skew;
  assign to_b = second_q && end_work.column >= split_q;
  assign after_split = end_work.column - split_q;
  assign skew = to_b ? b_q.skew : d_q.skew;
  always_ff @(posedge clk_i) begin
    write_en_o <= '0;
    done_o     <= rst_n && ((start_i && tiles_i == '0) || (end_valid && end_work.last));
    for (int unsigned c = 0; c < Channels; c++) begin
      write_en_o[bank_of(end_work.column, c, skew)]   <= rst_n && end_valid && end_work.mask[c];
      write_data_o[bank_of(end_work.column, c, skew)] <= final_sums[c];
    end
    write_line_o <= {NEURONS{to_b
        ? end_work.b_line + A_LINE_W'(after_split >> 3)
        : end_work.d_line + A_LINE_W'(end_work.column >> 3)}};
    if (!rst_n || done_o) busy_q <= 1'b0;
    else if (start_i)     busy_q <= 1'b1;
  end
  assign idle_o = !busy_q;

  `JD_ASSERT(InStep_A, final_valid == end_valid)
  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
  `JD_ASSUME_IF(LinOnly_M, start_i, instruction_i.op == LIN && !instruction_i.flags.row)
endmodule : jd_sparse_elem
