// SPDX-License-Identifier: Apache-2.0
//
// The on-chip sparse data encoder: makes of a layer's groups the lists of its mask and keeps them.
//
// Streams  in: an encoding to make, ENC or ENCT; done_o pulses when its lists are kept. scan, index: a
//          matrix's groups from jd_sparse_grp. peek_*: a word of each list of a layer. directory_o:
//          the groups of the layer peek_layer_i.
// Timing   max_index + rows + misses + lists clocks, as clocks_o has them, and 10 (of a layer with one
//          group 6) from the clock in which the encoding is taken to done_o; uncached, as many as the
//          rows' places need besides. peek_* comes one clock later than its address, directory_o in the same.
// Numbers  indices, exact. The streamed side, in ENC the rows, leaves in index order each one's group
//          and place in the list sorted by group. The compared side leaves tuples, its indices by
//          group, in the order of creation. ENCT exchanges the sides.
// Source   LearningGroup III-B, figure 5; docs/sparse.md (encoder). Golden model:
//          models/sparse/osel.py, encode.
`include "jd_assert.svh"
module jd_sparse_osel
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned GMax   = 32,                  // groups, power of two 1..32
  parameter  int unsigned DMax   = 512,                 // rows or columns, 8..512
  parameter  int unsigned LMax   = 8,                   // layers, 1..8
  parameter  int unsigned MaxW   = 128,                 // grouping entries per clock
  parameter  int unsigned CmpW   = 64,                  // comparisons per clock: 8, 16, 32 or 64
  parameter  int unsigned HitW   = 4,                   // rows per clock: 1, 2 or 4
  parameter  bit          KeepBv = 1'b0,                // keeps the tuples' bitvectors, too
  localparam int unsigned Wide   = MaxW / 2
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         in_valid_i,
  output logic                         in_ready_o,
  input  logic [LAYER_W-1:0]           in_number_i,
  input  layer_t                       in_layer_i,
  input  logic                         in_exchanged_i,  // ENCT
  input  logic                         in_uncached_i,   // NOCACHE
  output logic                         done_o,
  output encoder_clocks_t              clocks_o,        // of the last encoding, with done_o
  output logic                         scan_valid_o,
  input  logic                         scan_ready_i,
  output logic [M_LINE_W-1:0]          scan_line_o,
  output logic [DIM_W-1:0]             scan_rows_o,
  output logic [2:0]                   scan_log2_o,
  output logic                         scan_narrow_o,
  input  logic                         index_valid_i,
  output logic                         index_ready_o,
  input  logic [Wide-1:0][GROUP_W-1:0] index_i,
  input  logic [LAYER_W-1:0]           peek_layer_i,
  input  logic [INDEX_W-1:0]           peek_index_i,    // of the streamed side
  output place_of_t                    peek_place_o,
  input  logic [INDEX_W-1:0]           peek_entry_i,    // of the tuples
  output logic [INDEX_W-1:0]           peek_tuple_o,
  output directory_t                   directory_o,
  input  logic [GROUP_W-1:0]           peek_group_i,    // with KeepBv: a slice of its bitvector
  input  logic [INDEX_W-1:0]           peek_slice_i,
  output logic [CmpW-1:0]              peek_bits_o
);
  if (DMax < 8 || DMax > 512 || LMax < 1 || LMax > 8
      || (CmpW != 8 && CmpW != 16 && CmpW != 32 && CmpW != 64)) begin : gen_bad_size
    $fatal(1, "jd_sparse_osel: DMax=%0d, want 8..512, LMax=%0d, want 1..8, CmpW=%0d, want 8 .. 64",
           DMax, LMax, CmpW);
  end
  localparam int unsigned GroupW   = (GMax > 1) ? $clog2(GMax) : 1;
  localparam int unsigned MaxLog2  = $clog2(MaxW);
  localparam int unsigned HitLog2  = $clog2(HitW);
  localparam int unsigned CmpLog2  = $clog2(CmpW);
  localparam int unsigned Slices   = (DMax + CmpW - 1) / CmpW;
  localparam int unsigned SliceW   = (Slices > 1) ? $clog2(Slices) : 1;
  localparam int unsigned Words    = (DMax + HitW - 1) / HitW;   // of the streamed side
  localparam int unsigned WordW    = $clog2(Words);
  localparam int unsigned LayerW   = (LMax > 1) ? $clog2(LMax) : 1;
  localparam int unsigned PlaceW   = $clog2(LMax << WordW);
  localparam int unsigned OgLanes  = (CmpW > Wide) ? CmpW : Wide;
  localparam int unsigned OgWords  = (DMax + OgLanes - 1) / OgLanes;
  localparam int unsigned OgW      = (OgWords > 1) ? $clog2(OgWords) : 1;
  localparam int unsigned OgParts  = OgLanes / CmpW;
  localparam int unsigned CountW   = CmpLog2 + 1;                // ones of a slice

  // ---- Control
  typedef enum logic [2:0] {StIdle, StCompared, StRows, StPrefix, StSums, StLists, StEnd} state_t;
  state_t              state_q, state_d;
  layer_t              layer_q;
  logic [LAYER_W-1:0]  number_q;
  logic                exchanged_q, uncached_q, grouped_q, begin_rows;
  logic [DIM_W-1:0]    streamed_q, compared_q;          // rows, or columns, of each side
  logic [2:0]          log2_q;                          // of G
  logic                taken, in_dense, misses_busy, compared_last, lists_last;
  encoder_clocks_t     clocks_q;
  assign in_dense   = in_layer_i.groups == GROUPS_W'(1);
  assign in_ready_o = state_q == StIdle;
  assign taken      = in_valid_i && in_ready_o;
  assign done_o     = state_q == StEnd;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:     if (in_valid_i) state_d = in_dense ? StRows : StCompared;
      StCompared: if (compared_last) state_d = StRows;
      StRows:     if (!misses_busy && !begin_rows) state_d = StPrefix;
      StPrefix:   state_d = StSums;
      StSums:     state_d = StLists;
      StLists:    if (lists_last) state_d = StEnd;
      StEnd:      state_d = StIdle;
      default:    state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      begin_rows <= 1'b0;
    end else begin
      state_q    <= state_d;
      begin_rows <= state_d == StRows && state_q != StRows;
    end
    if (taken) begin
      layer_q     <= in_layer_i;
      number_q    <= in_number_i;
      exchanged_q <= in_exchanged_i;
      uncached_q  <= in_uncached_i;
      grouped_q   <= !in_dense;
      log2_q      <= log2_of(in_layer_i.groups);
      streamed_q  <= in_exchanged_i ? in_layer_i.n : in_layer_i.m;
      compared_q  <= in_exchanged_i ? in_layer_i.m : in_layer_i.n;
    end
  end

  // ---- Matrices: the compared side's groups, then the streamed side's. OG follows IG.
  logic [M_LINE_W-1:0] og_line;
  logic [1:0]          scan_q;                          // scans to ask for
  assign og_line = columns_line_of(layer_q);
  assign scan_valid_o  = scan_q != '0;
  assign scan_narrow_o = scan_q == 2'd1;
  assign scan_line_o   = (scan_narrow_o == exchanged_q) ? og_line : layer_q.g_base;
  assign scan_rows_o   = scan_narrow_o ? streamed_q : compared_q;
  assign scan_log2_o   = log2_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                           scan_q <= '0;
    else if (taken)                        scan_q <= in_dense ? 2'd0 : 2'd2;
    else if (scan_valid_o && scan_ready_i) scan_q <= scan_q - 1'b1;
  end

  // ---- The compared side's groups: MaxW / G per clock
  logic [3:0]                      wide_log2_q, in_wide_log2;   // groups of a word
  logic [DIM_W-1:0]                stored_q;            // compared words that came
  logic [OgLanes-1:0]              og_mask;
  logic [OgLanes-1:0][GroupW-1:0]  og_write, og_read;
  logic [DIM_W-1:0]                og_first;
  assign in_wide_log2  = 4'(MaxLog2) - 4'(log2_of(in_layer_i.groups));
  assign og_first      = DIM_W'(stored_q << wide_log2_q);
  assign compared_last = index_valid_i && 14'(og_first) + (14'd1 << wide_log2_q) >= 14'(compared_q);
  for (genvar j = 0; j < OgLanes; j++) begin : gen_og
    assign og_mask[j]  = (DIM_W'(j) >> wide_log2_q)
                         == ((og_first & DIM_W'(OgLanes - 1)) >> wide_log2_q);
    assign og_write[j] = GroupW'(index_i[j % Wide]);
  end
  always_ff @(posedge clk_i) begin
    if (taken)                                          wide_log2_q <= in_wide_log2;
    if (taken)                                          stored_q <= '0;
    else if (state_q == StCompared && index_valid_i)    stored_q <= stored_q + 1'b1;
  end
  logic              slice_valid, slice_again, slice_late;
  logic [GroupW-1:0] slice_group;
  logic [SliceW-1:0] slice_number;
  jd_mem_1r1w #(.Depth (OgWords), .Lanes (OgLanes), .LaneW (GroupW)) u_og (
    .clk_i, .rst_ni,
    .write_en_i   (state_q == StCompared && index_valid_i),
    .write_addr_i (OgW'(32'(og_first) / OgLanes)),
    .write_mask_i (og_mask),
    .write_data_i (og_write),
    .read_en_i    (slice_valid),
    .read_addr_i  (OgW'(32'(slice_number) / OgParts)),
    .read_data_o  (og_read)
  );

  // ---- Rows
  logic [DIM_W-1:0]              row_q, left_q, beat_rows;   // lane 0's; rows from it on; of a beat
  logic [2:0]                    beat_log2_q;           // rows of a beat
  logic [HitW-1:0]               lanes;
  logic [HitW-1:0][GroupW-1:0]   groups;
  logic                          beat_valid, beat_ready, beat_last;
  logic [GMax-1:0]               groups_present;
  assign beat_valid = state_q == StRows && (grouped_q ? index_valid_i : left_q != '0);
  assign beat_rows  = DIM_W'(1) << beat_log2_q;
  assign beat_last  = left_q <= beat_rows;
  assign index_ready_o = state_q == StCompared || (state_q == StRows && beat_ready);
  for (genvar k = 0; k < HitW; k++) begin : gen_lane
    assign lanes[k]  = left_q > DIM_W'(k) && 3'(k) >> beat_log2_q == '0;
    assign groups[k] = grouped_q ? GroupW'(index_i[k]) : '0;
  end
  for (genvar g = 0; g < GMax; g++) begin : gen_present
    assign groups_present[g] = 6'(g) >> log2_q == '0;
  end
  jd_sparse_miss #(.GMax (GMax), .HitW (HitW), .SliceW (SliceW)) u_miss (
    .clk_i, .rst_ni,
    .start_i        (begin_rows),
    .busy_o         (misses_busy),
    .uncached_i     (uncached_q),
    .groups_i       (groups_present),
    .slice_last_i   (SliceW'((32'(compared_q) - 1) >> CmpLog2)),
    .beat_valid_i   (beat_valid),
    .beat_ready_o   (beat_ready),
    .beat_groups_i  (groups),
    .beat_lanes_i   (lanes),
    .beat_last_i    (beat_last),
    .slice_valid_o  (slice_valid),
    .slice_group_o  (slice_group),
    .slice_number_o (slice_number),
    .slice_again_o  (slice_again),
    .slice_late_o   (slice_late)
  );

  // Ranks within the groups; rows below the first that dX produces are counted on their own.
  logic [GMax-1:0][DIM_W-1:0]  streamed_count_q, streamed_below_q;
  logic [HitW-1:0][DIM_W-1:0]  rank;
  logic                        accepted;
  assign accepted = beat_valid && beat_ready;
  always_comb begin
    for (int k = 0; k < int'(HitW); k++) begin
      logic [2:0] earlier;                               // lanes of the group
      earlier = '0;
      for (int i = 0; i < k; i++) earlier = earlier + 3'(groups[i] == groups[k]);
      rank[k] = streamed_count_q[groups[k]] + DIM_W'(earlier);
    end
  end
  always_ff @(posedge clk_i) begin
    if (taken) begin
      beat_log2_q      <= (!in_dense && HitW >> in_wide_log2 > 1) ? 3'(in_wide_log2)
                                                                  : 3'(HitLog2);
      row_q            <= '0;
      left_q           <= in_exchanged_i ? in_layer_i.n : in_layer_i.m;
      streamed_count_q <= '0;
      streamed_below_q <= '0;
    end else if (accepted) begin
      row_q  <= row_q + beat_rows;
      left_q <= beat_last ? '0 : left_q - beat_rows;
      for (int unsigned g = 0; g < GMax; g++) begin
        logic [2:0] more, below;
        more  = '0;
        below = '0;
        for (int unsigned k = 0; k < HitW; k++) begin
          if (lanes[k] && groups[k] == GroupW'(g)) begin
            more = more + 1'b1;
            if (row_q + DIM_W'(k) < DIM_W'(layer_q.dx_from)) below = below + 1'b1;
          end
        end
        streamed_count_q[g] <= streamed_count_q[g] + DIM_W'(more);
        streamed_below_q[g] <= streamed_below_q[g] + DIM_W'(below);
      end
    end
  end

  // ---- Ranks, in words of HitW; in the end places
  typedef struct packed {
    logic [GroupW-1:0]  group;
    logic [DIM_W-1:0]   rank;
  } rank_t;
  logic [HitW-1:0]            rank_mask;
  rank_t [HitW-1:0]           rank_write, rank_read;
  logic [DIM_W-1:0]           word_q;                   // to read
  logic                       read_ranks, ranked_q;
  logic [WordW-1:0]           word_q2;
  for (genvar k = 0; k < HitW; k++) begin : gen_rank
    logic [1:0] of;                                     // the lane of the beat
    assign of            = 2'(k) & 2'((3'd1 << beat_log2_q) - 3'd1);
    assign rank_mask[k]  = 3'(k) >> beat_log2_q == 3'(32'(row_q) % HitW) >> beat_log2_q;
    assign rank_write[k] = '{group: groups[of], rank: rank[of]};
  end
  jd_mem_1r1w #(.Depth (Words), .Lanes (HitW), .LaneW (GroupW + DIM_W)) u_ranks (
    .clk_i, .rst_ni,
    .write_en_i   (accepted),
    .write_addr_i (WordW'(32'(row_q) / HitW)),
    .write_mask_i (rank_mask),
    .write_data_i (rank_write),
    .read_en_i    (read_ranks),
    .read_addr_i  (WordW'(word_q)),
    .read_data_o  (rank_read)
  );
  // Starts of the groups: sums within blocks of eight, then over the blocks before.
  localparam int unsigned Blocks = (GMax + 7) / 8;
  logic [GMax-1:0][DIM_W-1:0]   within_q, start_q;
  logic [Blocks-1:0][DIM_W-1:0] block_q;
  always_ff @(posedge clk_i) begin
    if (state_q == StPrefix) begin
      for (int unsigned b = 0; b < Blocks; b++) begin
        logic [7:0][DIM_W-1:0] counts;
        logic [3:0][DIM_W-1:0] pairs, sums;            // sums: of the pairs below
        counts = '0;
        for (int unsigned k = 0; k < 8 && 8 * b + k < GMax; k++)
          counts[k] = streamed_count_q[8*b+k];
        for (int unsigned j = 0; j < 4; j++) pairs[j] = counts[2*j] + counts[2*j+1];
        sums[0] = '0;
        sums[1] = pairs[0];
        sums[2] = pairs[0] + pairs[1];
        sums[3] = sums[2] + pairs[2];
        for (int unsigned k = 0; k < 8 && 8 * b + k < GMax; k++)
          within_q[8*b+k] <= (k % 2 == 0) ? sums[k/2] : sums[k/2] + counts[k-1];
        block_q[b] <= sums[2] + (pairs[2] + pairs[3]);
      end
    end
    if (state_q == StSums) begin
      for (int unsigned g = 0; g < GMax; g++) begin
        logic [DIM_W-1:0] sum;
        sum = within_q[g];
        for (int unsigned b = 0; b < g / 8; b++) sum = sum + block_q[b];
        start_q[g] <= sum;
      end
    end
  end
  assign read_ranks = state_q == StLists;
  assign lists_last = (32'(word_q) + 1) * HitW >= 32'(streamed_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) ranked_q <= 1'b0;
    else         ranked_q <= read_ranks;
    if (taken)           word_q <= '0;
    else if (read_ranks) word_q <= word_q + 1'b1;
    word_q2 <= WordW'(word_q);
  end
  place_of_t [HitW-1:0] places, peek_word;
  for (genvar k = 0; k < HitW; k++) begin : gen_place
    assign places[k] = '{group: GROUP_W'(rank_read[k].group),
                         place: INDEX_W'(start_q[rank_read[k].group] + rank_read[k].rank)};
  end
  logic [INDEX_W-1:0] peek_index_q;
  jd_mem_1r1w #(.Depth (LMax << WordW), .Lanes (1), .LaneW (HitW * $bits(place_of_t))) u_places (
    .clk_i, .rst_ni,
    .write_en_i   (ranked_q),
    .write_addr_i (PlaceW'({number_q, word_q2})),
    .write_mask_i (1'b1),
    .write_data_i (places),
    .read_en_i    (1'b1),
    .read_addr_i  (PlaceW'({peek_layer_i, WordW'(32'(peek_index_i) / HitW)})),
    .read_data_o  (peek_word)
  );
  always_ff @(posedge clk_i) peek_index_q <= peek_index_i;
  assign peek_place_o = peek_word[32'(peek_index_q) % HitW];

  // ---- Tuples. Stage 1 compares, 2 counts, 3 compacts, 4 writes.
  typedef struct packed {
    logic              valid;
    logic [GroupW-1:0] group;
    logic [SliceW-1:0] number;
    logic              again;
  } slice_t;
  slice_t slice_q, slice_q2, slice_q3;
  logic [CmpW-1:0]             ones_q2, ones, left_out; // what dX does not produce
  logic [CmpW-1:0][CountW-1:0] zeros_q3;                // below each place
  logic [CmpW-1:0]             ones_q3;
  logic [CountW-1:0]           count_q3, below_q3;
  logic [CmpW-1:0][GroupW-1:0] og_slice;
  if (OgParts > 1) begin : gen_og_part
    localparam int unsigned OgPartW = $clog2(OgParts);
    assign og_slice = og_read[32'(OgPartW'(slice_q.number))*CmpW +: CmpW];
  end else begin : gen_og_whole
    assign og_slice = og_read;
  end
  for (genvar j = 0; j < CmpW; j++) begin : gen_compare
    assign ones[j] = (!grouped_q || og_slice[j] == slice_q.group)
                     && 32'(slice_q.number) * CmpW + j < 32'(compared_q);
    assign left_out[j] = ones[j] && 32'(slice_q.number) * CmpW + j < 32'(layer_q.dx_from);
  end
  jd_sparse_prefix #(.Width (CmpW)) u_counts (
    .clk_i,
    .ones_i   (ones),
    .marked_i (left_out),
    .zeros_o  (zeros_q3),
    .count_o  (count_q3),
    .marked_o (below_q3)
  );
  // Ones move down by the zeros below them, one bit of that number per step: none collide.
  // Arrays of words: for elements of packed vectors, assigned one by one, Verilator needs 20 GB.
  logic [CmpLog2-1:0] sources[CmpW], ways[CmpW];
  logic               moved[CmpW];
  always_comb begin
    for (int unsigned j = 0; j < CmpW; j++) begin
      moved[j]   = ones_q3[j];
      sources[j] = CmpLog2'(j);
      ways[j]    = CmpLog2'(zeros_q3[j]);
    end
    for (int unsigned s = 0; s < CmpLog2; s++) begin
      for (int unsigned j = 0; j < CmpW; j++) begin
        moved[j] = moved[j] && !ways[j][s];
        if (j + (1 << s) < CmpW && moved[j + (1 << s)] && ways[j + (1 << s)][s]) begin
          moved[j]   = 1'b1;
          sources[j] = sources[j + (1 << s)];
          ways[j]    = ways[j + (1 << s)];
        end
      end
    end
  end
  logic [GMax-1:0][DIM_W-1:0]   base_q, compared_count_q, compared_below_q;
  logic [DIM_W-1:0]             top_q, at_q, at;        // end of the tuples; of the tuple so far
  logic                         write_q4;
  logic [DIM_W-1:0]             at_q4;
  logic [CountW-1:0]            count_q4;
  logic [SliceW-1:0]            number_q4;
  logic [CmpW-1:0][CmpLog2-1:0] packed_q4;
  assign at = (slice_q3.number == '0) ? (slice_q3.again ? base_q[slice_q3.group] : top_q) : at_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      slice_q  <= '0;
      slice_q2 <= '0;
      slice_q3 <= '0;
      write_q4 <= 1'b0;
    end else begin
      slice_q  <= '{valid: slice_valid, group: slice_group, number: slice_number,
                    again: slice_again};
      slice_q2 <= slice_q;
      slice_q3 <= slice_q2;
      write_q4 <= slice_q3.valid;
    end
    ones_q2 <= ones;
    ones_q3 <= ones_q2;
    for (int unsigned j = 0; j < CmpW; j++) packed_q4[j] <= sources[j];
    at_q4     <= at;
    count_q4  <= count_q3;
    number_q4 <= slice_q3.number;
    if (taken) begin
      top_q            <= '0;
      base_q           <= '0;
      compared_count_q <= '0;
      compared_below_q <= '0;
    end else if (slice_q3.valid) begin
      at_q <= at + DIM_W'(count_q3);
      if (!slice_q3.again) begin
        top_q <= top_q + DIM_W'(count_q3);
        if (slice_q3.number == '0) base_q[slice_q3.group] <= at;
        compared_count_q[slice_q3.group] <= compared_count_q[slice_q3.group] + DIM_W'(count_q3);
        compared_below_q[slice_q3.group] <= compared_below_q[slice_q3.group] + DIM_W'(below_q3);
      end
    end
  end
  // A bank for each place modulo CmpW: a slice's ones are neighbours.
  localparam int unsigned BankDepth = (LMax << SliceW) > 1 ? LMax << SliceW : 2;
  localparam int unsigned BankAddrW = $clog2(BankDepth);
  logic [CmpW-1:0][INDEX_W-1:0] entry;
  logic [BankAddrW-1:0]         peek_addr;
  logic [SliceW-1:0]            write_word, next_word;
  assign peek_addr  = BankAddrW'({peek_layer_i, SliceW'(32'(peek_entry_i) >> CmpLog2)});
  assign write_word = SliceW'(32'(at_q4) >> CmpLog2);
  assign next_word  = write_word + 1'b1;
  for (genvar b = 0; b < CmpW; b++) begin : gen_bank
    logic [CmpLog2-1:0] of;                             // the one that this bank gets
    logic               in_next;                        // it is in the next word
    assign of     = CmpLog2'(b) - CmpLog2'(at_q4);
    assign in_next = CountW'(b) < CountW'(CmpLog2'(at_q4));
    jd_mem_lut #(.Depth (BankDepth), .Width (INDEX_W)) u_entries (
      .clk_i, .rst_ni,
      .write_en_i   (write_q4 && CountW'(of) < count_q4),
      .write_addr_i (BankAddrW'({number_q, in_next ? next_word : write_word})),
      .write_data_i (INDEX_W'(32'(number_q4) * CmpW + 32'(packed_q4[of]))),
      .read_addr_i  (peek_addr),
      .read_data_o  (entry[b])
    );
  end
  always_ff @(posedge clk_i) peek_tuple_o <= entry[CmpLog2'(peek_entry_i)];

  // ---- The groups of each layer
  directory_t directory_d;
  always_comb begin
    directory_d           = '0;
    directory_d.exchanged = exchanged_q;
    for (int unsigned g = 0; g < GMax; g++) begin
      directory_d.base[g]    = base_q[g];
      directory_d.rows[g]    = exchanged_q ? compared_count_q[g] : streamed_count_q[g];
      directory_d.below[g]   = exchanged_q ? compared_below_q[g] : streamed_below_q[g];
      directory_d.columns[g] = exchanged_q ? streamed_count_q[g] : compared_count_q[g];
    end
  end
  jd_mem_lut #(.Depth (LMax > 1 ? LMax : 2), .Width ($bits(directory_t))) u_directory (
    .clk_i, .rst_ni,
    .write_en_i   (state_q == StEnd),
    .write_addr_i (LayerW'(number_q)),
    .write_data_i (directory_d),
    .read_addr_i  (LayerW'(peek_layer_i)),
    .read_data_o  (directory_o)
  );
  if (KeepBv) begin : gen_bitvectors
    localparam int unsigned BitsW = $clog2(LMax << (GroupW + SliceW));
    jd_mem_1r1w #(.Depth (LMax << (GroupW + SliceW)), .Lanes (1), .LaneW (CmpW)) u_bits (
      .clk_i, .rst_ni,
      .write_en_i   (slice_q2.valid),
      .write_addr_i (BitsW'({number_q, slice_q2.group, slice_q2.number})),
      .write_mask_i (1'b1),
      .write_data_i (ones_q2),
      .read_en_i    (1'b1),
      .read_addr_i  (BitsW'({peek_layer_i, GroupW'(peek_group_i), SliceW'(peek_slice_i)})),
      .read_data_o  (peek_bits_o)
    );
  end else begin : gen_no_bitvectors
    logic unused_peek;
    assign unused_peek = ^{peek_group_i, peek_slice_i};
    assign peek_bits_o = '0;
  end

  // ---- Clocks
  assign clocks_o = clocks_q;
  always_ff @(posedge clk_i) begin
    if (taken) begin
      clocks_q <= '0;
    end else begin
      if (state_q == StCompared && index_valid_i) clocks_q.max_index <= clocks_q.max_index + 1'b1;
      if (accepted && !uncached_q)                clocks_q.rows      <= clocks_q.rows + 1'b1;
      if (slice_valid)                            clocks_q.misses    <= clocks_q.misses + 1'b1;
      if (read_ranks && !uncached_q)              clocks_q.lists     <= clocks_q.lists + 1'b1;
      if (slice_valid && slice_number == '0) begin
        clocks_q.tuples <= clocks_q.tuples + 1'b1;
        if (!slice_late) clocks_q.missed <= clocks_q.missed + 1'b1;
      end
    end
  end

  `JD_ASSUME_IF(LayerFits_M, in_valid_i && in_ready_o,
                in_layer_i.m != '0 && 32'(in_layer_i.m) <= DMax && in_layer_i.n != '0
                && 32'(in_layer_i.n) <= DMax && 32'(in_layer_i.groups) <= GMax
                && in_layer_i.groups != '0 && 32'(in_number_i) < LMax)
  `JD_ASSERT_IF(TuplesAreAll_A, done_o, top_q == compared_q)
endmodule : jd_sparse_osel
