// SPDX-License-Identifier: Apache-2.0
//
// Takes the image of a LOAD apart into the memories of its layers, and makes that of a STORE.
//
// Streams  start_i: an image, which is measured; sized_o is high for one clock with lines_o. go_i,
//          then: it is moved. in, out: its lines. put_*, get_*: jd_sparse_params. word_*:
//          jd_sparse_words. group_*: jd_sparse_encode, which must not scan.
// Timing   Three clocks per layer and kind, twice. A line of weights, mean squares or groups per clock,
//          a word of biases and states.
// Numbers  bits, unchanged; padding of a STORE is 0. A LOAD of groups without their states clears
//          these.
// Source   docs/sparse.md (jobs). Golden model: models/sparse/machine.py, load and save.
`include "jd_assert.svh"
module jd_sparse_image
  import jd_sparse_pkg::*;
(
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            clear_i,        // what is under way is dropped
  output logic                            idle_o,         // queued lines of a STORE may be left
  input  logic                            start_i,
  input  logic                            load_i,         // LOAD, else STORE
  input  logic [LAYERS-1:0]               mask_i,         // layers
  input  logic [PARTS-1:0]                kinds_i,
  input  layer_t [LAYERS-1:0]             layers_i,
  output logic                            sized_o,
  output logic [BEATS_W-1:0]              lines_o,
  input  logic                            go_i,
  input  logic                            in_valid_i,
  output logic                            in_ready_o,
  input  logic [BEAT_WORDS-1:0][SINGLE_W-1:0] in_data_i,
  output logic                            out_valid_o,
  input  logic                            out_ready_i,
  output logic [LINE_W-1:0]               out_data_o,
  // Weights
  output logic                            put_o,
  output logic                            get_o,
  output logic                            weights_o,      // else mean squares
  output logic [P_LINE_W-1:0]             line_o,
  output logic [5:0]                      first_o,
  output logic [4:0]                      count_o,
  input  logic [BEAT_WORDS-1:0][SINGLE_W-1:0] get_data_i, // two clocks after get_o
  // Biases and states
  output logic                            word_write_o,
  output logic                            word_read_o,
  output word_e                           word_kind_o,
  output logic [S_WORD_W-1:0]             word_o,
  output logic [SINGLE_W-1:0]             word_data_o,
  input  logic [SINGLE_W-1:0]             word_data_i,    // a clock after word_read_o
  // Groups
  output logic                            group_write_o,
  output logic                            group_read_o,
  output logic [M_LINE_W-1:0]             group_line_o,
  output logic [GROUP_LINE-1:0]           group_mask_o,
  output logic [8*GROUP_LINE-1:0]         group_data_o,
  input  logic [8*GROUP_LINE-1:0]         group_data_i    // a clock after group_read_o
);
  localparam int unsigned Queue  = 8;
  localparam int unsigned OwedW  = $clog2(Queue + 1);
  localparam int unsigned Half   = GROUP_LINE / 2;        // bytes of a line
  localparam int unsigned WordsW = DIM_W + 1;             // of a row, 1..1024
  localparam int unsigned EntriesW = 15;                  // of a matrix, up to 512 * 32

  // ---- Layers and their parts, twice: the lines are counted, then moved
  typedef enum logic [2:0] {StIdle, StLayer, StSizes, StCount, StWait, StMove} state_t;
  state_t              state_q;
  logic                moving_q, load_q;
  logic [LAYERS-1:0]   mask_q;
  logic [PARTS-1:0]    kinds_q;
  logic [LAYER_W-1:0]  number_q;
  logic [2:0]          part_q;
  layer_t              layer_q;
  logic [BEATS_W-1:0]  total_q;
  logic [OwedW-1:0]    owed_q;            // lines under way or in the queue
  logic                last_part, clears, there, serial, grouped, ends_part;
  assign last_part = number_q == '1 && part_q == 3'(PartState);
  assign grouped   = layer_q.groups != GROUPS_W'(1);
  assign serial    = part_q == 3'(PartBias) || part_q == 3'(PartState);
  assign clears    = load_q && part_q == 3'(PartState) && kinds_q[PartGroup] && !kinds_q[PartState];
  assign there     = mask_q[number_q] && (kinds_q[part_q] || (clears && moving_q))
                     && (grouped || part_q < 3'(PartGroup));
  assign idle_o    = state_q == StIdle;
  assign lines_o   = total_q;

  // Rows of the part, and words of a row.
  logic [2:0]          groups_log2;
  logic [EntriesW-1:0] row_entries, column_entries;
  logic [7:0]          row_lines, column_lines;           // of IG, of OG
  logic [DIM_W-1:0]    rows_d, rows_q, row_q;
  logic [WordsW-1:0]   words_d, words_q, left_q;          // of the row, that are left of it
  logic [6:0]          row_beats;
  assign row_beats = 7'((words_q + WordsW'(BEAT_WORDS - 1)) >> $clog2(BEAT_WORDS));
  always_comb begin
    groups_log2 = '0;
    for (int unsigned k = 1; k < GROUPS_W; k++) if (layer_q.groups[k]) groups_log2 = 3'(k);
    row_entries    = EntriesW'(layer_q.m) << groups_log2;
    column_entries = EntriesW'(layer_q.n) << groups_log2;
    row_lines      = 8'((row_entries + EntriesW'(GROUP_LINE - 1)) >> $clog2(GROUP_LINE));
    column_lines   = 8'((column_entries + EntriesW'(GROUP_LINE - 1)) >> $clog2(GROUP_LINE));
    unique case (part_q)
      3'(PartBias):  {rows_d, words_d} = {DIM_W'(2), WordsW'(layer_q.n)};
      3'(PartGroup): {rows_d, words_d} = {DIM_W'(row_lines) + DIM_W'(column_lines),
                                          WordsW'(GROUP_LINE / 4)};
      3'(PartState): {rows_d, words_d} = {DIM_W'(1), WordsW'(layer_q.m) + WordsW'(layer_q.n)};
      default:       {rows_d, words_d} = {layer_q.m, WordsW'(layer_q.n)};
    endcase
  end

  // ---- A step: a line, or of biases and states a word
  logic                step, room, last_lane, last_beat, ends_row;
  logic [3:0]          lane_q;
  logic [5:0]          beat_q;
  logic [P_LINE_W-1:0] line_q;                            // of the row
  logic [EntriesW-1:0] entries_q;                         // of the matrix that are left
  logic [4:0]          pitch;
  assign pitch     = 5'((layer_q.n + DIM_W'(WORD_BANKS - 1)) >> $clog2(WORD_BANKS));
  assign last_beat = left_q <= WordsW'(serial ? 1 : BEAT_WORDS);
  assign last_lane = !serial || lane_q == '1 || last_beat;
  assign step      = state_q == StMove && there && (load_q ? clears || in_valid_i : room);
  assign ends_row  = step && last_beat;
  assign ends_part = ends_row && row_q + 1'b1 == rows_q;
  assign in_ready_o = state_q == StMove && there && load_q && !clears && last_lane;
  always_ff @(posedge clk_i) begin
    sized_o <= 1'b0;
    if (!rst_ni || clear_i) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle:  if (start_i) state_q <= StLayer;
        StLayer: state_q <= StSizes;
        StSizes: state_q <= moving_q ? StMove : StCount;
        StCount: begin
          state_q <= last_part ? StWait : StLayer;
          sized_o <= last_part;
        end
        StWait:  if (go_i) state_q <= StLayer;
        StMove:  if (ends_part || !there) state_q <= last_part ? StIdle : StLayer;
        default: state_q <= StIdle;
      endcase
    end
    if (state_q == StIdle) begin
      moving_q <= 1'b0;
      load_q   <= load_i;
      mask_q   <= mask_i;
      kinds_q  <= kinds_i;
      if (start_i) total_q <= '0;
      number_q <= '0;
      part_q   <= '0;
    end else if (state_q == StWait) begin
      moving_q <= go_i;
      number_q <= '0;
      part_q   <= '0;
    end else if (state_q == StCount || (state_q == StMove && (ends_part || !there))) begin
      part_q <= (part_q == 3'(PartState)) ? '0 : part_q + 1'b1;
      if (part_q == 3'(PartState)) number_q <= number_q + 1'b1;
    end
    layer_q <= layers_i[number_q];
    if (state_q == StCount && there) begin
      total_q <= total_q + BEATS_W'(rows_q) * BEATS_W'(row_beats);
    end
    if (state_q == StSizes) begin
      rows_q    <= rows_d;
      words_q   <= words_d;
      left_q    <= words_d;
      row_q     <= '0;
      beat_q    <= '0;
      lane_q    <= '0;
      line_q    <= P_LINE_W'(layer_q.w_base >> $clog2(WORD_BANKS));
      entries_q <= row_entries;
    end else if (step) begin
      left_q    <= left_q - WordsW'(serial ? 1 : BEAT_WORDS);
      lane_q    <= (serial && !last_lane) ? lane_q + 1'b1 : '0;
      beat_q    <= beat_q + 6'(last_lane);
      entries_q <= (entries_q > EntriesW'(Half)) ? entries_q - EntriesW'(Half) : '0;
      if (ends_row) begin
        left_q <= words_q;
        beat_q <= '0;
        row_q  <= row_q + 1'b1;
        line_q <= line_q + P_LINE_W'(pitch);
        if (row_q + 1'b1 == DIM_W'(row_lines)) entries_q <= column_entries;
      end
    end
  end

  // ---- The memories
  logic of_weights, of_groups;
  assign of_weights    = part_q <= 3'(PartV);
  assign of_groups     = part_q == 3'(PartGroup);
  assign put_o         = step && load_q && of_weights;
  assign get_o         = step && !load_q && of_weights;
  assign weights_o     = part_q == 3'(PartW);
  assign line_o        = line_q + P_LINE_W'(beat_q >> 2);
  assign first_o       = 6'(row_q) + {beat_q[1:0], 4'd0};
  assign count_o       = (left_q > WordsW'(BEAT_WORDS)) ? 5'(BEAT_WORDS) : 5'(left_q);
  assign word_write_o  = step && load_q && serial;
  assign word_read_o   = step && !load_q && serial;
  assign word_kind_o   = (part_q == 3'(PartState)) ? WordState
                         : row_q[0] ? WordBiasSquare : WordBias;
  assign word_o        = ((part_q == 3'(PartState)) ? layer_q.s_base : S_WORD_W'(layer_q.b_base))
                         + S_WORD_W'(words_q - left_q);
  assign word_data_o   = clears ? '0 : in_data_i[lane_q];
  assign group_write_o = step && load_q && of_groups;
  assign group_read_o  = step && !load_q && of_groups;
  assign group_line_o  = layer_q.g_base + M_LINE_W'(row_q);
  assign group_mask_o  = {{Half{beat_q[0]}}, {Half{!beat_q[0]}}};
  assign group_data_o  = {2{in_data_i}};

  // ---- What a STORE reads: a line of words or of groups is put together while weights come
  typedef struct packed {
    logic       valid;                                    // ends a line
    logic       reads;
    logic       weights;
    logic       groups;
    logic       half;
    logic [3:0] lane;
    logic [4:0] count;
    logic [6:0] bytes;
  } read_t;
  read_t                               read_d, read_q, read_q2;
  logic [BEAT_WORDS-1:0][SINGLE_W-1:0] line, words_line_q;
  logic [OwedW-1:0]                    unused_count;
  logic                                queue_ready;
  assign room   = owed_q != OwedW'(Queue);
  assign read_d = '{valid: step && !load_q && last_lane, reads: step && !load_q,
                    weights: of_weights, groups: of_groups, half: beat_q[0], lane: lane_q,
                    count: count_o,
                    bytes: (entries_q > EntriesW'(Half)) ? 7'(Half) : 7'(entries_q)};
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      read_q  <= '0;
      read_q2 <= '0;
      owed_q  <= '0;
    end else begin
      read_q  <= read_d;
      read_q2 <= read_q;
      owed_q  <= owed_q + OwedW'(read_d.valid) - OwedW'(out_valid_o && out_ready_i);
    end
    if (read_q.reads && read_q.groups) begin
      for (int unsigned j = 0; j < Half; j++) begin
        words_line_q[j/4][8*(j%4) +: 8] <= (7'(j) < read_q.bytes)
            ? group_data_i[8*(32'(read_q.half)*Half + j) +: 8] : '0;
      end
    end else if (read_q.reads) begin
      for (int unsigned j = 0; j < BEAT_WORDS; j++) begin
        if (4'(j) == read_q.lane)   words_line_q[j] <= word_data_i;
        else if (read_q.lane == '0) words_line_q[j] <= '0;
      end
    end
  end
  always_comb begin
    line = words_line_q;
    if (read_q2.weights) begin
      for (int unsigned j = 0; j < BEAT_WORDS; j++) begin
        line[j] = (5'(j) < read_q2.count) ? get_data_i[j] : '0;
      end
    end
  end
  jd_stream_fifo #(.Width (LINE_W), .Depth (Queue)) u_lines (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (read_q2.valid),
    .in_ready_o  (queue_ready),
    .in_data_i   (line),
    .out_valid_o, .out_ready_i, .out_data_o,
    .count_o     (unused_count)
  );
  logic unused;
  assign unused = ^unused_count;

  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
  `JD_ASSERT_IF(Room_A, read_q2.valid, queue_ready)
endmodule : jd_sparse_image
