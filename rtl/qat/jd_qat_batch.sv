// SPDX-License-Identifier: Apache-2.0
//
// Loads a chunk of a batch into the vector slots: reads the list, then the records, and makes lines
// of them.
//
//   list -> indices --> addresses -> records -> rows -> joined -> quantized -> lines of slots
//       \-> weights ---------------------------^
//
// Streams  start_i, while idle_o, begins a chunk. Its description holds until done_o, which is high
//          for one clock. line_*: lines of slots, as jd_qat_cores takes them. seen_o: this line is
//          taken, and a monitor counts it for tensor 0. mem_*: reads of the memory port, which
//          never wait.
//          stop_i: no more records are requested and no more rows are used; done_o comes when all
//          requested beats have arrived.
// Timing   One entry of the list per clock. Records are requested as soon as their entry is there,
//          but none is used before the whole list has arrived. One read per record, up to 16 at a
//          time. A row of a record per clock while no line has to wait; an action with a line of
//          its own takes one clock more in X and in X'. A line is offered 2 clocks after its row
//          came.
// Numbers  a record is a row of action, reward and discount (its last two words), the rows of s,
//          and the rows of s'. Misc is reward, discount, weight and zeros, in 32 bits. X is s and
//          the action, which begins at word place_i. X' is s' alone. Other words are 0. In half
//          mode X and X' are S16(R(x, shift_i)), in the halves of the vector's parity, in the line
//          of the even slot; an even vector writes zeros into the other halves. over_o: words of
//          the taken line that saturated. A weight is unsigned, 24 bits after the point, rounded to
//          nearest even from binary32.
//          info0_o says where an error was: for an index or a record the vector's number in the
//          batch, for a list the word of its address. An error of the list goes before errors of
//          indices, and these before errors of records.
// Source   docs/qat.md (jobs, errors). Golden model: models/qat/engine.py, _load;
//          models/qat/records.py.
`include "jd_assert.svh"
module jd_qat_batch
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw       = 16,           // words of a line: 4, 8, 16
  parameter  int unsigned N        = 2,            // cores: 1, 2, 4
  parameter  int unsigned Slots    = 64,           // of a core
  parameter  int unsigned ActLines = 160,          // of a slot
  localparam int unsigned OverW    = $clog2(Lw + 1)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic                      idle_o,
  input  logic                      start_i,
  input  logic                      stop_i,
  // The chunk
  input  logic [39:0]               records_i,        // address; a multiple of 64, as stride_i
  input  logic [31:0]               stride_i,
  input  logic                      list_i,           // there is one
  input  logic                      weights_i,        // and it has weights
  input  logic [39:0]               list_address_i,   // of the batch's, a multiple of 64
  input  logic [31:0]               places_i,         // records in the storage
  input  logic [15:0]               first_i,          // vector of the batch
  input  logic [VECTORS_W-1:0]      vectors_i,        // 1..N*Slots
  input  logic                      whole_i,          // X' and misc, too, not X alone
  input  logic                      common_i,         // vectors go to all cores
  // Where it goes
  input  logic [PLACE_W-1:0]        x_line_i,
  input  logic [PLACE_W-1:0]        following_line_i,
  input  logic [PLACE_W-1:0]        misc_line_i,
  input  logic [DIM_W-1:0]          states_i,
  input  logic [PLACE_W-1:0]        state_lines_i,    // of a state
  input  logic [ROWS_W-1:0]         actions_i,
  input  logic [DIM_W-1:0]          place_i,          // word of X at which an action begins
  input  logic                      half_i,
  input  logic                      watch_i,
  input  logic [SHIFT_W-1:0]        shift_i,          // of tensor 0
  output logic                      line_valid_o,
  input  logic                      line_ready_i,
  output logic [N-1:0]              line_cores_o,     // one of them, or all
  output logic [ADDRESS_W-1:0]      line_address_o,
  output logic [1:0]                line_half_o,
  output logic [Lw-1:0][WORD_W-1:0] line_data_o,
  output logic                      seen_o,
  output logic [OverW-1:0]          over_o,
  // The end
  output logic                      done_o,
  output logic [7:0]                code_o,           // E_INDEX, E_BUS_RD, or 0
  output logic [31:0]               info0_o,
  output logic [31:0]               info1_o,          // response
  output logic                      moved_o,          // a beat was taken
  output axi_read_req_t             mem_req_o,
  input  axi_read_rsp_t             mem_rsp_i
);
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_qat_map_pkg::E_INDEX;
  localparam logic [31:0] LIST     = 32'd10;       // word of its address
  localparam int unsigned ENTRIES  = 4;            // of a list in a beat
  localparam int unsigned ENTRY_B  = 128;          // bits
  localparam int unsigned WEIGHT_W = 25;
  localparam int unsigned Units    = 16 / Lw;      // rows of a beat
  localparam int unsigned UnitW    = Units > 1 ? $clog2(Units) : 1;
  localparam int unsigned WordW    = $clog2(Lw);
  localparam int unsigned CoreW    = $clog2(N) > 0 ? $clog2(N) : 1;
  if (!(Lw inside {4, 8, 16}) || !(N inside {1, 2, 4})) begin : gen_bad_size
    $fatal(1, "jd_qat_batch: Lw=%0d, want 4, 8 or 16, N=%0d, want 1, 2 or 4", Lw, N);
  end

  typedef enum logic [1:0] {StIdle, StList, StRecords, StEnd} state_e;
  state_e state_q, state_d;
  logic   stopped_q, failed_q, halt;               // nothing new is begun
  assign halt   = stop_i || stopped_q || failed_q;
  assign idle_o = state_q == StIdle;
  assign done_o = state_q == StEnd;

  // ---- Memory
  logic         list_ask_q, address_valid_q, command_ready, read_idle;
  logic         beat_valid, beat_taken, unused_beat_last;
  logic [1:0]   beat_response;
  logic [15:0]  list_beats, record_beats;
  logic [39:0]  list_address, address_q;
  logic [511:0] beat;
  jd_axi_read_queue #(
    .Depth          (256),                         // 64 beats are kept free, 192 are under way
    .MaxOutstanding (16)
  ) u_read (
    .clk_i, .rst_ni,
    .idle_o        (read_idle),
    .cmd_valid_i   (list_ask_q || address_valid_q),
    .cmd_ready_o   (command_ready),
    .cmd_address_i (list_ask_q ? list_address : address_q),
    .cmd_beats_i   (list_ask_q ? list_beats : record_beats),
    .out_valid_o   (beat_valid),
    .out_ready_i   (beat_taken),
    .out_data_o    (beat),
    .out_last_o    (unused_beat_last),
    .out_resp_o    (beat_response),
    .mem_req_o,
    .mem_rsp_i
  );
  assign moved_o = beat_valid && beat_taken;

  // ---- The list: indices and weights of the chunk
  logic [1:0]           entry_q;                   // of a beat
  logic [VECTORS_W-1:0] listed_q;                  // entries that came
  logic                 listing, last_entry, list_beat_taken;
  logic                 weight_come, weight_valid, weight_taken;
  logic [ENTRY_B-1:0]   entry;
  logic [WEIGHT_W-1:0]  weight_in, weight;
  logic [1:0]           worst_q, worst;            // response
  logic                 bad_q, bad;                // an index
  logic                 keeps_none;                // entries of the chunk before
  logic                 index_room, index_valid, index_taken, weight_room;
  logic [31:0]          index;
  logic [$clog2(N*Slots+1)-1:0] unused_indices, unused_weights;
  assign list_address    = list_address_i + 40'({first_i[15:2], 6'd0});
  assign list_beats      = 16'((32'(first_i[1:0]) + 32'(vectors_i) + ENTRIES - 1) / ENTRIES);
  assign entry           = beat[32'(entry_q) * ENTRY_B +: ENTRY_B];
  assign listing         = state_q == StList && beat_valid && !halt;
  assign last_entry      = listed_q == vectors_i - 1'b1;
  assign list_beat_taken = last_entry || 32'(entry_q) == ENTRIES - 1;
  assign worst           = beat_response > worst_q ? beat_response : worst_q;
  assign bad             = bad_q || entry[31:0] >= places_i;
  assign keeps_none      = idle_o || (state_q == StList && !beat_valid && listed_q == '0);
  jd_stream_fifo #(
    .Width (32),
    .Depth (N * Slots)
  ) u_indices (
    .clk_i, .rst_ni,
    .clear_i     (keeps_none),
    .in_valid_i  (listing && worst == '0 && !bad),
    .in_ready_o  (index_room),
    .in_data_i   (entry[31:0]),
    .out_valid_o (index_valid),
    .out_ready_i (index_taken),
    .out_data_o  (index),
    .count_o     (unused_indices)
  );
  jd_float_to_fixed #(
    .IntW   (WEIGHT_W - 24),
    .FracW  (24),
    .Signed (1'b0)
  ) u_weight (
    .clk_i, .rst_ni,
    .valid_i  (listing && weights_i),
    .value_i  (entry[95:64]),
    .valid_o  (weight_come),
    .result_o (weight_in)
  );
  jd_stream_fifo #(
    .Width (WEIGHT_W),
    .Depth (N * Slots)
  ) u_weights (
    .clk_i, .rst_ni,
    .clear_i     (keeps_none),
    .in_valid_i  (weight_come),
    .in_ready_o  (weight_room),
    .in_data_i   (weight_in),
    .out_valid_o (weight_valid),
    .out_ready_i (weight_taken),
    .out_data_o  (weight),
    .count_o     (unused_weights)
  );

  // ---- Addresses of records
  logic                 asks, moves, index_valid_q, product_valid_q, product_valid_q2;
  logic [VECTORS_W-1:0] asked_q;                   // records
  logic [31:0]          index_q;
  logic [39:0]          product_q, product_q2;
  logic [PLACE_W:0]     rows;                      // of a record that are wanted
  assign rows         = (whole_i ? {state_lines_i, 1'b0} : {1'b0, state_lines_i}) + 1'b1;
  assign record_beats = 16'((32'(rows) + Units - 1) / Units);
  assign moves        = !address_valid_q || command_ready;
  assign asks         = state_q != StIdle && !halt && asked_q != vectors_i
                        && (!list_i || index_valid);
  assign index_taken  = asks && moves;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || idle_o) begin
      {address_valid_q, product_valid_q2, product_valid_q, index_valid_q} <= '0;
    end else if (moves) begin
      {address_valid_q, product_valid_q2, product_valid_q, index_valid_q} <=
          {{product_valid_q2, product_valid_q, index_valid_q} & {3{!halt}}, asks};
    end
    if (idle_o)           asked_q <= '0;
    else if (index_taken) asked_q <= asked_q + 1'b1;
    if (moves) begin
      index_q    <= list_i ? index : 32'(first_i) + 32'(asked_q);
      product_q  <= 40'(index_q) * 40'(stride_i);
      product_q2 <= product_q;
      address_q  <= records_i + product_q2;
    end
  end

  // ---- Rows of records
  typedef enum logic [2:0] {StepHead, StepState, StepPlace, StepFollowing, StepZero} step_e;
  step_e                     step_q, step_d;
  logic [PLACE_W-1:0]        left_q;               // rows of this step, this one included
  logic [UnitW-1:0]          unit_q;               // of a beat
  logic [VECTORS_W-1:0]      vectors_q;            // to come
  logic [Lw-3:0][WORD_W-1:0] action_q;
  logic                      own, takes, fails, there, goes, ends, row_ends, a_ready;
  logic [Lw-1:0][WORD_W-1:0] row;
  assign own       = place_i[DIM_W-1:WordW] == (DIM_W - WordW)'(state_lines_i);
  assign takes     = step_q inside {StepHead, StepState, StepFollowing};
  assign row       = beat[32'(unit_q) * Lw * WORD_W +: Lw * WORD_W];
  assign fails     = state_q == StRecords && takes && beat_valid && beat_response[1] && !halt;
  assign there     = !takes || (beat_valid && !beat_response[1]
                                && (step_q != StepHead || !weights_i || !whole_i || weight_valid));
  assign goes      = state_q == StRecords && vectors_q != '0 && !halt && there && a_ready;
  assign row_ends  = left_q == PLACE_W'(1);
  assign weight_taken = goes && step_q == StepHead && whole_i;
  always_comb begin
    step_d = step_q;
    unique case (step_q)
      StepHead:      step_d = StepState;
      StepState:     if (row_ends) step_d = own ? StepPlace : whole_i ? StepFollowing : StepHead;
      StepPlace:     step_d = whole_i ? StepFollowing : StepHead;
      StepFollowing: if (row_ends) step_d = own ? StepZero : StepHead;
      StepZero:      step_d = StepHead;
      default:       step_d = StepHead;
    endcase
  end
  assign ends = goes && step_q != StepHead && step_d == StepHead;   // a vector
  logic last_row;                                  // of a record
  assign last_row   = row_ends && step_q == (whole_i ? StepFollowing : StepState);
  assign beat_taken = halt || fails || (state_q == StList ? list_beat_taken
                      : goes && takes && (last_row || 32'(unit_q) == Units - 1));

  // Places: of the vector, and in half mode of the pair that it belongs to.
  logic [CoreW-1:0]     core_q;
  logic                 odd_q;                     // slot
  logic [ADDRESS_W-1:0] slot_q, pair_q;
  logic [PLACE_W-1:0]   line_q;
  always_ff @(posedge clk_i) begin
    if (state_q != StRecords) begin
      step_q    <= StepHead;
      unit_q    <= '0;
      vectors_q <= vectors_i;
      core_q    <= '0;
      odd_q     <= 1'b0;
      slot_q    <= '0;
      pair_q    <= '0;
    end else if (goes) begin
      step_q <= step_d;
      left_q <= step_d != step_q ? state_lines_i : left_q - 1'b1;
      line_q <= step_q == StepHead ? x_line_i
                : step_d == StepFollowing && step_q != StepFollowing ? following_line_i
                : line_q + 1'b1;
      if (takes) unit_q <= beat_taken ? '0 : unit_q + 1'b1;
      if (step_q == StepHead) action_q <= row[Lw-3:0];
      if (ends) begin
        vectors_q <= vectors_q - 1'b1;
        core_q    <= core_q + 1'b1;
        if (common_i || 32'(core_q) == N - 1) begin
          core_q <= '0;
          odd_q  <= !odd_q;
          slot_q <= slot_q + ADDRESS_W'(ActLines);
          if (odd_q) pair_q <= slot_q + ADDRESS_W'(ActLines);
        end
      end
    end
  end

  // ---- Lines: the row and the action
  logic [WordW-1:0]          last_words, offset;   // of a state's last line, 0 is all; of an action
  logic [Lw-1:0][WORD_W-1:0] state, placed, joined, a_row_q;
  logic                      a_valid_q, a_misc_q, a_odd_q, b_valid_q, b_ready;
  logic [ADDRESS_W-1:0]      a_address_q;
  logic [CoreW-1:0]          a_core_q;
  assign last_words = states_i[WordW-1:0];
  assign offset     = place_i[WordW-1:0];
  always_comb begin
    for (int unsigned j = 0; j < Lw; j++) begin
      state[j]  = row_ends && last_words != '0 && WordW'(j) >= last_words ? '0 : row[j];
      placed[j] = '0;
      for (int unsigned k = 0; k < Lw - 2; k++) begin
        if (ROWS_W'(k) < actions_i && j == 32'(offset) + k) placed[j] = action_q[k];
      end
      unique case (step_q)
        StepHead:      joined[j] = j == 0 ? row[Lw-2] : j == 1 ? row[Lw-1]
                                   : j == 2 && weights_i ? WORD_W'(weight) : '0;
        StepState:     joined[j] = row_ends && !own ? state[j] | placed[j] : state[j];
        StepPlace:     joined[j] = placed[j];
        StepFollowing: joined[j] = state[j];
        default:       joined[j] = '0;
      endcase
    end
  end
  assign a_ready = !a_valid_q || b_ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      a_valid_q <= 1'b0;
    else if (a_ready) a_valid_q <= goes && (step_q != StepHead || whole_i);
    if (goes) begin
      a_row_q     <= joined;
      a_misc_q    <= step_q == StepHead;
      a_odd_q     <= odd_q;
      a_core_q    <= core_q;
      a_address_q <= (half_i && step_q != StepHead ? pair_q : slot_q)
                     + ADDRESS_W'(step_q == StepHead ? misc_line_i : line_q);
    end
  end

  // ---- Lines, quantized
  logic [Lw-1:0][HALF_W-1:0] stored;
  logic [Lw-1:0]             over, over_q, unused_valid;
  logic                      x_q;                  // a line of X or X'
  for (genvar j = 0; j < Lw; j++) begin : gen_word
    jd_fixed_round #(
      .InW      (WORD_W),
      .OutW     (HALF_W),
      .ShiftMax (16),
      .Latency  (0)
    ) u_quantizer (
      .clk_i, .rst_ni,
      .valid_i     (a_valid_q),
      .value_i     (a_row_q[j]),
      .shift_i     (half_i ? shift_i : '0),
      .valid_o     (unused_valid[j]),
      .result_o    (stored[j]),
      .saturated_o (over[j])
    );
  end
  assign b_ready      = !b_valid_q || line_ready_i;
  assign line_valid_o = b_valid_q;
  assign seen_o       = line_valid_o && line_ready_i && x_q && watch_i && !half_i;
  always_comb begin
    over_o = '0;
    for (int unsigned j = 0; j < Lw; j++) begin
      over_o = over_o + OverW'(over_q[j] && line_valid_o && line_ready_i);
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)      b_valid_q <= 1'b0;
    else if (b_ready) b_valid_q <= a_valid_q;
    if (b_ready && a_valid_q) begin
      line_cores_o   <= common_i ? '1 : N'(1) << a_core_q;
      line_address_o <= a_address_q;
      line_half_o    <= {1'b1, !half_i || a_misc_q || !a_odd_q};
      x_q            <= !a_misc_q;
      over_q         <= half_i && !a_misc_q ? over : '0;
      for (int unsigned j = 0; j < Lw; j++) begin
        line_data_o[j] <= !half_i || a_misc_q ? a_row_q[j]
                          : {a_odd_q ? stored[j] : HALF_W'(0), stored[j]};
      end
    end
  end

  // ---- The course of a chunk
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (start_i) state_d = list_i ? StList : StRecords;
      StList: begin
        if (listing && last_entry) state_d = StRecords;
        else if (halt && read_idle && !list_ask_q && !address_valid_q) state_d = StEnd;
      end
      StRecords: begin
        if ((halt || vectors_q == '0) && read_idle && !address_valid_q && !a_valid_q && !b_valid_q)
          state_d = StEnd;
      end
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      list_ask_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (idle_o)             list_ask_q <= start_i && list_i;
      else if (command_ready) list_ask_q <= 1'b0;
    end
    if (idle_o) begin
      stopped_q <= 1'b0;
      failed_q  <= 1'b0;
      entry_q   <= first_i[1:0];
      listed_q  <= '0;
      worst_q   <= '0;
      bad_q     <= 1'b0;
      if (start_i) code_o <= '0;
    end else begin
      stopped_q <= stopped_q || stop_i;
      if (listing) begin
        entry_q  <= entry_q + 1'b1;
        listed_q <= listed_q + 1'b1;
        worst_q  <= worst;
        bad_q    <= bad;
        if (!bad_q) info0_o <= 32'(first_i) + 32'(listed_q);
        info1_o <= '0;
        if (last_entry && (worst != '0 || bad)) begin
          failed_q <= 1'b1;
          code_o   <= worst != '0 ? E_BUS_RD : E_INDEX;
        end
        if (last_entry && worst != '0) begin
          info0_o <= LIST;
          info1_o <= 32'(worst);
        end
      end
      if (fails) begin
        failed_q <= 1'b1;
        code_o   <= E_BUS_RD;
        info0_o  <= 32'(first_i) + 32'(vectors_i - vectors_q);
        info1_o  <= 32'(beat_response);
      end
    end
  end
  logic unused;
  assign unused = ^{unused_beat_last, unused_valid, unused_indices, unused_weights, entry};

  `JD_ASSUME_IF(StartsIdle_M, start_i, idle_o)
  `JD_ASSUME_IF(VectorsInRange_M, start_i, vectors_i != '0 && 32'(vectors_i) <= N * Slots)
  `JD_ASSUME_IF(WeightsInList_M, start_i && weights_i, list_i)
  `JD_ASSERT_STREAM(LineStable_A, line_valid_o, line_ready_i,
                    {line_cores_o, line_address_o, line_half_o, line_data_o})
  `JD_ASSERT_IF(ListRoom_A, listing, index_room && weight_room)
endmodule : jd_qat_batch
