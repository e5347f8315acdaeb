// SPDX-License-Identifier: Apache-2.0
//
// Compresses a layer's weights: gathers, for each window and rank, the weights of its lanes from the
// parameter memory, and writes them as FP16 lines to the banks that have units of the window.
//
// Streams  table_i: lists, windows and ranges, with plan_layer_i the layer that they are of. in: a
//          compression to make, COMP or COMPT; done_o pulses with its end. gather_*: of
//          jd_sparse_gather, for the parameter memory. begin_o, write_o, line_o: to the banks of
//          cores. window_o: their windows, whole or with the ranks of a core.
// Timing   a rank takes as many clocks as half of the words that its busiest memory bank is asked for,
//          rounded up (clocks_o counts them). A window's lanes are fetched during the window before it,
//          in 2 clocks and one per slot and 64 lanes, in ROW split not before jd_sparse_shares is done.
//          Uncached, the second port reads all weights meanwhile; clocks_o counts its lines.
// Numbers  FP32 to FP16, rounded once; a lane without a weight gets +0. In ROW split each core has
//          lines of its own ranks, window by window core by core. Contiguous, core c has the indices
//          from c * M / Cores on, else the places c modulo Cores of the lists.
// Source   LearningGroup III-C; docs/sparse.md (load allocation). Golden model: models/sparse/plan.py,
//          line_clocks.
`include "jd_assert.svh"
module jd_sparse_lau
  import jd_sparse_pkg::*;
#(
  parameter int unsigned DMax   = 512,           // rows or columns, 8..512
  parameter int unsigned LMax   = 8,             // layers, 1..8
  parameter int unsigned Cores  = 3,             // 1..3
  parameter int unsigned Banks  = 8,             // of a core, 1..8
  parameter int unsigned Lanes  = 33,            // of a bank, 2..264
  parameter int unsigned Slots  = 4              // of a window, 2 or 4
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  input  layer_t                                   plan_layer_i,
  input  table_t                                   table_i,
  input  logic                                     in_valid_i,
  output logic                                     in_ready_o,
  input  logic [LAYER_W-1:0]                       in_number_i,
  input  layer_t                                   in_layer_i,
  input  logic                                     in_dx_i,         // COMPT
  input  logic                                     in_row_i,        // ROW split
  input  logic                                     in_policy_i,     // POLICY: by places
  input  logic                                     in_uncached_i,   // NOCACHE
  output logic [1:0]                               owner_o,         // of table_i's list, contiguous
  output logic                                     done_o,
  output logic [19:0]                              clocks_o,        // of the last one, with done_o
  output logic [1:0][WORD_BANKS-1:0]               gather_en_o,
  output logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] gather_line_o,
  input  logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] gather_data_i,
  output weight_begin_t                            begin_o,
  output weight_write_t                            write_o,
  output logic [Lanes-1:0][HALF_W-1:0]             line_o,
  output logic [Cores-1:0]                         window_cores_o,
  output window_write_t                            window_o,
  output logic [Cores-1:0][18:0]                   loads_o          // weights of each, if ROW
);
  if (DMax < 8 || DMax > 512 || LMax < 1 || LMax > 8 || Cores < 1 || Cores > 3 || Banks < 1
      || Banks > 8 || Lanes < 2 || Lanes > 264 || (Slots != 2 && Slots != 4)) begin : gen_bad_size
    $fatal(1, "jd_sparse_lau: DMax=%0d LMax=%0d Cores=%0d Banks=%0d Lanes=%0d Slots=%0d",
           DMax, LMax, Cores, Banks, Lanes, Slots);
  end
  localparam int unsigned BankW   = $clog2(WORD_BANKS);
  localparam int unsigned PlaceW  = $clog2(DMax);
  localparam int unsigned Sides   = 2 * LMax;                      // lists: of rows, of columns
  localparam int unsigned SideW   = $clog2(Sides);
  localparam int unsigned WordsOf = (DMax + WORD_BANKS - 1) / WORD_BANKS;  // of a list, in a bank
  localparam int unsigned WordW   = (WordsOf > 1) ? $clog2(WordsOf) : 1;
  localparam int unsigned SlotW   = $clog2(Slots);
  localparam int unsigned Chunks  = (Lanes + WORD_BANKS - 1) / WORD_BANKS;
  localparam int unsigned ChunkW  = (Chunks > 1) ? $clog2(Chunks) : 1;

  // A row or a column as a part of a word's place: word (m, n) is in line m * pitch + n / 64, and in
  // bank m + n modulo 64.
  typedef struct packed {
    logic [P_LINE_W-1:0] line;
    logic [BankW-1:0]    low;
  } part_t;

  // ---- Lists
  logic                list_write_q;
  logic [SideW-1:0]    list_side_q;
  logic [INDEX_W-1:0]  list_place_q;
  logic [1:0]          list_owner_q;
  part_t               list_part_q;
  logic [3:0]          pitch;
  logic [1:0][2:1][DIM_W-1:0] bounds_q;          // rows, columns: first ones of cores 1 and 2
  assign pitch = 4'((13'(plan_layer_i.n) + 13'(WORD_BANKS - 1)) >> BankW);
  function automatic logic [DIM_W-1:0] part_of(input logic [DIM_W-1:0] count, input int unsigned c);
    logic [DIM_W:0] times;
    times = (c == 2) ? {count, 1'b0} : {1'b0, count};
    return (c >= Cores) ? '1
           : (Cores == 3) ? DIM_W'((22'(times) * 22'd683) >> 11) : DIM_W'(times >> 1);
  endfunction
  assign owner_o = 2'(DIM_W'(table_i.list.index) >= bounds_q[table_i.list.columns][1])
                   + 2'(DIM_W'(table_i.list.index) >= bounds_q[table_i.list.columns][2]);
  always_ff @(posedge clk_i) begin
    for (int unsigned c = 1; c < 3; c++)
      {bounds_q[1][c], bounds_q[0][c]} <= {part_of(plan_layer_i.n, c), part_of(plan_layer_i.m, c)};
    list_owner_q <= owner_o;
    if (!rst_ni) list_write_q <= 1'b0;
    else         list_write_q <= table_i.list.valid;
    list_side_q      <= SideW'({table_i.list.layer, table_i.list.columns});
    list_place_q     <= table_i.list.place;
    list_part_q.low  <= table_i.list.index[BankW-1:0];
    list_part_q.line <= table_i.list.columns ? P_LINE_W'(table_i.list.index >> BankW)
                                             : P_LINE_W'(table_i.list.index) * P_LINE_W'(pitch);
  end

  // ---- Windows and ranges
  typedef struct packed {
    logic                empty;
    logic [WINDOW_W-1:0] first;
    logic [WINDOW_W-1:0] last;
  } span_t;
  logic                             busy_q, dx_q, row_q, contiguous_q, uncached_q, taken;
  logic [LAYER_W-1:0]               number_q;
  logic [1:0]                       split_q;
  logic [P_LINE_W-1:0]              base_q;
  logic [Sides-1:0][WINDOW_W-1:0]   windows_q;                     // how many, of FW and DX
  logic [SideW-1:0]                 side;                          // of this compression
  logic                             window_read;
  logic [WINDOW_W-1:0]              ask_q;                         // next window
  window_t                          window;
  span_t                            span;                          // whole pairs
  span_t [Banks-1:0]                spans;
  logic                             of_pass, of_range;
  assign in_ready_o = !busy_q;
  assign taken      = in_valid_i && in_ready_o;
  assign side       = SideW'({number_q, dx_q});
  assign of_pass    = table_i.window.valid && table_i.window.pass != PassDw;
  assign of_range   = table_i.range.valid && table_i.range.pass != PassDw;
  always_comb begin
    span = '{empty: table_i.range.range.empty, first: table_i.range.range.first_window,
             last: table_i.range.range.last_window};
    if (table_i.range.range.paired) {span.first[0], span.last[0]} = 2'b01;
  end
  always_ff @(posedge clk_i) begin
    if (of_range)
      windows_q[SideW'({table_i.range.layer, table_i.range.pass == PassDx})]
          <= table_i.range.range.windows;
    if (taken) begin
      number_q   <= in_number_i;
      dx_q       <= in_dx_i;
      row_q      <= in_row_i && Cores > 1;
      contiguous_q <= !in_policy_i;
      uncached_q <= in_uncached_i;
      split_q    <= in_dx_i ? '0 : in_layer_i.split_log2;
      base_q     <= P_LINE_W'(in_layer_i.w_base >> BankW);
    end
  end
  jd_mem_1r1w #(.Depth (Sides << WINDOW_W), .LaneW ($bits(window_t))) u_windows (
    .clk_i, .rst_ni,
    .write_en_i   (of_pass),
    .write_addr_i ((SideW+WINDOW_W)'({table_i.window.layer, table_i.window.pass == PassDx,
                                      table_i.window.number})),
    .write_mask_i (1'b1),
    .write_data_i (table_i.window.window),
    .read_en_i    (window_read),
    .read_addr_i  ({side, ask_q}),
    .read_data_o  (window)
  );
  jd_mem_1r1w #(.Depth (Sides), .Lanes (Banks), .LaneW ($bits(span_t))) u_ranges (
    .clk_i, .rst_ni,
    .write_en_i   (of_range),
    .write_addr_i (SideW'({table_i.range.layer, table_i.range.pass == PassDx})),
    .write_mask_i (Banks'(1) << table_i.range.bank),
    .write_data_i ({Banks{span}}),
    .read_en_i    (1'b1),
    .read_addr_i  (side),
    .read_data_o  (spans)
  );

  // ---- Fetch of a window's lanes, while the window before it is gathered
  typedef enum logic [1:0] {StNone, StRead, StSlots, StFull} fetch_t;
  fetch_t                       fetch_q;
  logic [SlotW-1:0]             slot_q;
  logic [ChunkW-1:0]            chunk_q;
  logic [LANE_W-1:0]            lane_q;                            // first one of the chunk
  part_t [Lanes-1:0]            next_part_q, part_q;
  logic [Lanes-1:0][SlotW-1:0]  next_slot_q, lane_slot_q;
  logic [Lanes-1:0]             next_used_q, used_q;
  logic [Banks-1:0]             next_banks_q;
  slot_t                        slot_now;
  logic [INDEX_W-1:0]           produced;                          // place of the chunk's first
  logic [LANE_W-1:0]            left, many, lane_q1, end_q1;       // lanes of the chunk read before
  logic                         chunk_q1;
  logic [SlotW-1:0]             slot_q1;
  logic                         last_chunk, last_slot, has_ranks, moves, swap_lanes;
  logic                         fetched_q, shared;                 // lanes; the cores' ranks
  part_t [WORD_BANKS-1:0]       stored, stored_q1, turned;
  logic [BankW-1:0]             turn_q1;                           // lane i has bank i + turn
  assign slot_now   = window.slots[slot_q];
  assign produced   = slot_now.produced + INDEX_W'(32'(chunk_q) * WORD_BANKS);
  assign left       = slot_now.lanes - LANE_W'(32'(chunk_q) * WORD_BANKS);
  assign many       = (left > LANE_W'(WORD_BANKS)) ? LANE_W'(WORD_BANKS) : left;
  assign last_chunk = left <= LANE_W'(WORD_BANKS);
  assign last_slot  = last_chunk && (slot_q == SlotW'(Slots - 1)
                                     || window.slots[slot_q + 1'b1].lanes == '0);
  assign has_ranks  = window.depth != '0;
  assign window_read = fetch_q == StRead;
  for (genvar b = 0; b < WORD_BANKS; b++) begin : gen_list_bank
    logic [WordW-1:0] word;
    assign word = WordW'(produced >> BankW)
                  + WordW'((BankW+1)'(b) < (BankW+1)'(produced[BankW-1:0]));
    jd_mem_lut #(.Depth (Sides << WordW), .Width ($bits(part_t))) u_parts (
      .clk_i, .rst_ni,
      .write_en_i   (list_write_q && list_place_q[BankW-1:0] == BankW'(b)),
      .write_addr_i ({list_side_q, WordW'(list_place_q >> BankW)}),
      .write_data_i (list_part_q),
      .read_addr_i  ({SideW'({number_q, !dx_q}), word}),            // FW produces columns
      .read_data_o  (stored[b])
    );
  end
  always_comb begin                                // rotated by each bit of `turn_q1`
    turned = stored_q1;
    for (int unsigned s = 0; s < BankW; s++) begin
      part_t [WORD_BANKS-1:0] rotated;
      for (int unsigned b = 0; b < WORD_BANKS; b++)
        rotated[b] = turned[(b + (1 << s)) % WORD_BANKS];
      if (turn_q1[s]) turned = rotated;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fetch_q <= StNone;
    end else begin
      unique case (fetch_q)
        StNone:  if (busy_q && !taken && ask_q != windows_q[side]) fetch_q <= StRead;
        StRead:  fetch_q <= StSlots;
        StSlots: if (!has_ranks) fetch_q <= StNone;
                 else if ((last_slot || fetched_q) && (shared || !row_q)) fetch_q <= StFull;
        StFull:  if (swap_lanes)     fetch_q <= StNone;
        default: fetch_q <= StNone;
      endcase
    end
    if (taken) ask_q <= '0;
    else if (fetch_q == StRead) ask_q <= ask_q + 1'b1;
    if (fetch_q != StSlots) begin
      slot_q      <= '0;
      chunk_q     <= '0;
      lane_q      <= '0;
      fetched_q   <= 1'b0;
    end else begin
      fetched_q <= fetched_q || last_slot;
      chunk_q <= last_chunk ? '0 : chunk_q + 1'b1;
      if (last_chunk) slot_q <= slot_q + 1'b1;
      lane_q  <= lane_q + many;
    end
    if (fetch_q == StRead) begin
      next_used_q <= '0;
      for (int unsigned b = 0; b < Banks; b++)
        next_banks_q[b] <= !spans[b].empty && ask_q >= spans[b].first && ask_q <= spans[b].last;
    end
    // What is read is rotated one clock later; the lanes are taken after that.
    chunk_q1  <= rst_ni && fetch_q == StSlots && !fetched_q;
    slot_q1   <= slot_q;
    lane_q1   <= lane_q;
    end_q1    <= lane_q + many;
    turn_q1   <= BankW'(produced) - BankW'(lane_q);
    stored_q1 <= stored;
    if (chunk_q1) begin
      for (int unsigned i = 0; i < Lanes; i++) begin
        if (LANE_W'(i) >= lane_q1 && LANE_W'(i) < end_q1) begin
          next_part_q[i] <= turned[BankW'(i)];
          next_slot_q[i] <= slot_q1;
          next_used_q[i] <= 1'b1;
        end
      end
    end
  end

  // ---- Ranks of each core
  logic [1:0]                               step;
  logic [Cores-1:0][Slots-1:0][INDEX_W-1:0] next_firsts, firsts_q;
  logic [Cores-1:0][Slots-1:0][DIM_W-1:0]   next_ranks, ranks_q;
  logic [Cores-1:0][DIM_W-1:0]              next_depths, depths_q; // of this core, and those after
  logic [INDEX_W-1:0]                       owner_place;
  logic [1:0]                               owner;
  jd_mem_1r1w #(.Depth (Sides << PlaceW), .LaneW (2)) u_owners (
    .clk_i, .rst_ni,
    .write_en_i   (list_write_q),
    .write_addr_i ({list_side_q, PlaceW'(list_place_q)}),
    .write_mask_i (1'b1),
    .write_data_i (list_owner_q),
    .read_en_i    (1'b1),
    .read_addr_i  ({side, PlaceW'(owner_place)}),
    .read_data_o  (owner)
  );
  jd_sparse_shares #(.Cores (Cores), .Slots (Slots)) u_shares (
    .clk_i, .rst_ni,
    .clear_i        (taken),
    .row_i          (row_q),
    .contiguous_i   (contiguous_q),
    .place_o        (owner_place),
    .owner_i        (owner),
    .split_log2_i   (split_q),
    .layer_i        (number_q),
    .dx_i           (dx_q),
    .start_i        (fetch_q == StRead),
    .number_i       (ask_q),
    .window_i       (window),
    .shared_o       (shared),
    .step_o         (step),
    .firsts_o       (next_firsts),
    .ranks_o        (next_ranks),
    .depths_o       (next_depths),
    .window_cores_o, .window_o, .loads_o
  );

  // ---- Ranks: the slots' rows (of DX columns), then the words' banks, then their turns
  localparam int unsigned CoreW = (Cores > 1) ? $clog2(Cores) : 1;
  logic [CoreW-1:0]             core_q;
  logic [Cores-1:0]             cores_q1, cores_q2, cores_q3;
  logic                         last_core;
  logic [DIM_W-1:0]             rank_q;
  logic [INDEX_W-1:0]           offset_q;                          // of the rank's place
  logic                         window_q, swap_q;                  // has ranks left; lanes to take
  logic [Banks-1:0]             banks_q, banks_q1, banks_q2, banks_q3;
  logic                         advance, last_rank, take_window;
  logic                         valid_q1, valid_q2, valid_q3;
  logic [Slots-1:0]             there_q1;
  part_t [Slots-1:0]            rows;
  logic [Lanes-1:0]             active_q2, now, port;              // now: lanes of this turn
  logic [Lanes-1:0][BankW-1:0]  low_q2;
  part_t [Lanes-1:0]            word_q2, word_q3;
  logic                         first, last;                       // turns
  assign last_rank   = rank_q + 1'b1 >= depths_q[0];
  assign last_core   = last_rank && (!row_q || 32'(core_q) == Cores - 1);
  assign take_window = fetch_q == StFull && !swap_q && (!window_q || (last_core && advance));
  assign moves       = window_q && advance;
  assign swap_lanes  = swap_q && advance;
  for (genvar s = 0; s < Slots; s++) begin : gen_slot
    logic [INDEX_W-1:0] place;
    assign place = firsts_q[0][s] + offset_q;
    jd_mem_1r1w #(.Depth (Sides << PlaceW), .LaneW ($bits(part_t))) u_rows (
      .clk_i, .rst_ni,
      .write_en_i   (list_write_q),
      .write_addr_i ({list_side_q, PlaceW'(list_place_q)}),
      .write_mask_i (1'b1),
      .write_data_i (list_part_q),
      .read_en_i    (moves),
      .read_addr_i  ({side, PlaceW'(place)}),
      .read_data_o  (rows[s])
    );
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      window_q <= 1'b0;
      swap_q   <= 1'b0;
      valid_q1 <= 1'b0;
      valid_q2 <= 1'b0;
    end else begin
      if (take_window)             window_q <= 1'b1;
      else if (moves && last_core) window_q <= 1'b0;
      if (take_window)     swap_q <= 1'b1;
      else if (swap_lanes) swap_q <= 1'b0;
      if (advance) begin
        valid_q1 <= window_q && depths_q[0] != '0;
        valid_q2 <= valid_q1;
      end
    end
    if (take_window) begin
      firsts_q <= next_firsts;
      ranks_q  <= next_ranks;
      depths_q <= next_depths;
      banks_q  <= next_banks_q;
      core_q   <= '0;
    end else if (moves && last_rank) begin
      for (int unsigned c = 0; c + 1 < Cores; c++) begin
        firsts_q[c] <= firsts_q[c+1];
        ranks_q[c]  <= ranks_q[c+1];
        depths_q[c] <= depths_q[c+1];
      end
      core_q <= core_q + 1'b1;
    end
    if (take_window || (moves && last_rank)) begin
      rank_q   <= '0;
      offset_q <= '0;
    end else if (moves) begin
      rank_q   <= rank_q + 1'b1;
      offset_q <= offset_q + ((INDEX_W'(step) + 1'b1) << split_q);
    end
    if (swap_lanes) begin
      part_q      <= next_part_q;
      lane_slot_q <= next_slot_q;
      used_q      <= next_used_q;
    end
    if (advance) begin
      for (int unsigned s = 0; s < Slots; s++) there_q1[s] <= rank_q < ranks_q[0][s];
      cores_q1 <= row_q ? Cores'(1) << core_q : '1;
      cores_q2 <= cores_q1;
      cores_q3 <= cores_q2;
      banks_q1 <= banks_q;
      banks_q2 <= banks_q1;
      banks_q3 <= banks_q2;
      for (int unsigned i = 0; i < Lanes; i++) begin
        active_q2[i]    <= used_q[i] && there_q1[lane_slot_q[i]];
        word_q2[i].line <= part_q[i].line + rows[lane_slot_q[i]].line + base_q;
        word_q2[i].low  <= part_q[i].low + rows[lane_slot_q[i]].low;
      end
      word_q3 <= word_q2;
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) low_q2[i] = word_q2[i].low;
  end
  jd_sparse_select #(.Lanes (Lanes), .Banks (WORD_BANKS)) u_select (
    .clk_i, .rst_ni,
    .one_port_i (uncached_q),
    .valid_i    (valid_q2),
    .ready_o    (advance),
    .active_i   (active_q2),
    .bank_i     (low_q2),
    .valid_o    (valid_q3),
    .first_o    (first),
    .last_o     (last),
    .now_o      (now),
    .port_o     (port)
  );

  // ---- Words
  logic                                dense, gathers;             // the second port is taken
  logic [WORD_BANKS-1:0]               dense_en;
  logic [WORD_BANKS-1:0][P_LINE_W-1:0] dense_line;
  word_place_t [Lanes-1:0]             word;
  jd_sparse_dense #(.Lanes (Lanes)) u_dense (
    .clk_i, .rst_ni,
    .start_i (taken && in_uncached_i),
    .layer_i (in_layer_i),
    .runs_o  (dense),
    .en_o    (dense_en),
    .line_o  (dense_line)
  );
  always_comb begin
    for (int unsigned i = 0; i < Lanes; i++) begin
      word[i] = '{valid: now[i], bank: word_q3[i].low, line: word_q3[i].line};
    end
  end
  jd_sparse_gather #(.Cores (Cores), .Banks (Banks), .Lanes (Lanes)) u_gather (
    .clk_i, .rst_ni,
    .word_i       (word),
    .port_i       (port),
    .first_i      (first),
    .last_i       (last),
    .cores_i      (cores_q3),
    .banks_i      (banks_q3),
    .dense_i      (dense),
    .dense_en_i   (dense_en),
    .dense_line_i (dense_line),
    .gather_en_o, .gather_line_o, .gather_data_i,
    .busy_o       (gathers),
    .write_o, .line_o
  );

  // ---- Begin and end
  logic begin_q, idle;
  assign begin_o = '{valid: begin_q, layer: number_q, dx: dx_q};
  assign idle    = fetch_q == StNone && ask_q == windows_q[side] && !window_q && !swap_q
                   && !valid_q1 && !valid_q2 && !valid_q3 && !gathers && !dense;
  assign done_o  = busy_q && !begin_q && idle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      busy_q  <= 1'b0;
      begin_q <= 1'b0;
    end else begin
      if (taken)       busy_q <= 1'b1;
      else if (done_o) busy_q <= 1'b0;
      begin_q <= taken;
    end
    if (taken) clocks_o <= '0;
    else if (uncached_q ? dense : valid_q3) clocks_o <= clocks_o + 1'b1;
  end

  `JD_ASSUME_IF(NumberInRange_M, in_valid_i, 32'(in_number_i) < LMax)
endmodule : jd_sparse_lau
