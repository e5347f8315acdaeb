// SPDX-License-Identifier: Apache-2.0
//
// Writes results that keep 32 bits to their slots, vector after vector: outputs of last layers,
// some with the tangent, some also as an action into X; and deltas of actions, with the tangent's
// derivative.
//
//   entries -> words in groups -+-> tangent ----+-> own line --------------------+-> out
//                               |               +-> quantizer -> joined line --+-+
//                               +-> derivative ----------------> deltas -------+
//
// Streams  in: the results of an entry, one vector or two; a pipe without stall. out: a line, a
//          mask of the words and halves that are written, and its place in ACT or DEL; it waits for
//          out_ready_i. An output with in_joins_i has two lines; with in_joins_only_i it has the
//          joined line alone. Lines of one kind keep their order. The line that closes a tile is
//          the last of the tile's lines. in_acting_i comes back with the own line.
// Timing   If no other line is before it, an own line is offered 8 clocks after its entry, a joined
//          line or deltas 10 clocks; in groups ceil(words / Lanes) - 1 clocks more. A vector per
//          clock; in groups (tangent, joined or deltas) one in ceil(words / Lanes) clocks. Entries
//          wait in a buffer that has room for all entries of a pass.
// Numbers  own line: 32 bits, unchanged or through jd_fixed_tanh; words without an output are 0.
//          joined: the same words, from word in_word_i of the line on; in full mode unchanged; in
//          half mode S16(R(word, in_down_i)) in the half of the vector's parity, and zeros in the
//          other half if the vector has no partner. The other words are not written, and show as 0.
//          deltas: words in_word_i..in_words_i - 1 of x become words 0.., the others are 0. With
//          the action a and the tangent: R(x*t, 16), t = 2^16 - R(a*a, 16); else x. Nothing
//          saturates, because t is 0..2^16.
// Source   docs/qat.md (numbers, tangent). Golden model: models/qat/ops.py, tanh, quantize,
//          derivative.
`include "jd_assert.svh"
module jd_qat_tail
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw      = 16,    // words of a line: 4, 8, 16
  parameter  int unsigned Entries = 65,    // that may wait, 2..129; with two vectors half as many
  parameter  int unsigned Lanes   = 4,     // tangents, 1..Lw
  localparam int unsigned OverW   = $clog2(Lw + 1)
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           clear_i,       // drops what is held
  output logic                           idle_o,
  input  logic                           in_valid_i,
  input  logic                           in_odd_i,      // there are two vectors
  input  logic                           in_tanh_i,
  input  logic                           in_delta_i,    // deltas, of one vector; else outputs
  input  logic                           in_joins_i,    // outputs: joined, too
  input  logic                           in_joins_only_i,
  input  logic                           in_half_i,     // joined: in 16 bits
  input  logic                           in_acting_i,   // of the acting slot
  input  logic                           in_watch_i,    // joined: a monitor sees it
  input  logic                           in_closes_i,   // the last entry of its tile
  input  logic [ROWS_W-1:0]              in_words_i,
  input  logic [ROWS_W-1:0]              in_word_i,
  input  logic [SHIFT_W-1:0]             in_down_i,     // 0..16
  input  logic [ADDRESS_W-1:0]           in_address_i,  // of the first vector's line
  input  logic [ADDRESS_W-1:0]           in_step_i,     // from it to the second's
  input  logic                           in_odd_slot_i, // deltas: half of DEL
  input  logic [ADDRESS_W-1:0]           in_join_i,     // joined: address, of both vectors
  input  logic [1:0][Lw-1:0][WORD_W-1:0] in_data_i,
  input  logic [Lw-1:0][WORD_W-1:0]      in_mu_i,       // deltas: actions; tangents: -2^16..2^16
  output logic                           out_valid_o,
  input  logic                           out_ready_i,
  output logic                           out_closes_o,  // the last line of its tile
  output logic                           out_delta_o,   // into DEL
  output logic                           out_odd_slot_o,
  output logic [ADDRESS_W-1:0]           out_address_o,
  output logic [Lw-1:0]                  out_mask_o,    // words that are written
  output logic [1:0]                     out_half_o,    // halves of them
  output logic [Lw-1:0][WORD_W-1:0]      out_data_o,
  output logic                           out_acting_o,  // of the acting slot
  output logic                           out_watch_o,   // a monitor sees the line
  output logic [OverW-1:0]               out_over_o     // words that were saturated
);
  localparam int unsigned TANH   = 4;                   // clocks of jd_fixed_tanh
  localparam int unsigned LATE   = 2;                   // more of the quantizer
  localparam int unsigned MU_W   = 18;                  // of an action by the tangent
  localparam int unsigned SLOPE_W = 17;                 // 0..2^16
  localparam int unsigned SLOPED_W = WORD_W + SLOPE_W + 1;
  localparam int unsigned LwLog2 = $clog2(Lw);
  localparam int unsigned Groups = Lw / Lanes;
  localparam int unsigned Odds   = (Entries + 1) / 2;
  localparam int unsigned GroupW = Groups > 1 ? $clog2(Groups) : 1;
  if (Lanes < 1 || Lanes > Lw || Lw % Lanes != 0) begin : gen_bad_lanes
    $fatal(1, "jd_qat_tail: Lanes=%0d, want a divisor of Lw=%0d", Lanes, Lw);
  end

  typedef struct packed {
    logic                 odd;
    logic                 tanh;
    logic                 delta;
    logic                 joins;
    logic                 own;        // has a line of its own
    logic                 acting;
    logic                 half;
    logic                 watch;
    logic                 closes;
    logic [ROWS_W-1:0]    words;      // that count
    logic [ROWS_W-1:0]    word;
    logic [SHIFT_W-1:0]   down;
    logic [ADDRESS_W-1:0] address;
    logic [ADDRESS_W-1:0] step;
    logic                 odd_slot;
    logic [ADDRESS_W-1:0] join_address;
  } control_t;
  typedef struct packed {
    control_t                  control;
    logic [Lw-1:0][WORD_W-1:0] data;
    logic [Lw-1:0][MU_W-1:0]   mu;
  } item_t;

  control_t                     control;
  item_t                        in_item, item;
  logic                         item_valid, item_taken, entry_room;
  logic [$clog2(Entries+1)-1:0] count;
  always_comb begin
    in_item.control = '{
      odd: in_odd_i, tanh: in_tanh_i, delta: in_delta_i, joins: in_joins_i,
      own: !in_delta_i && !(in_joins_i && in_joins_only_i), acting: in_acting_i,
      half: in_half_i, watch: in_watch_i,
      closes: in_closes_i, words: in_delta_i ? in_words_i - in_word_i : in_words_i,
      word: in_word_i, down: in_down_i, address: in_address_i, step: in_step_i,
      odd_slot: in_odd_slot_i, join_address: in_join_i
    };
    in_item.data = in_data_i[0];
    for (int unsigned j = 0; j < Lw; j++) in_item.mu[j] = in_mu_i[j][MU_W-1:0];
  end
  jd_stream_fifo #(
    .Width ($bits(item_t)),
    .Depth (Entries)
  ) u_entries (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (in_valid_i),
    .in_ready_o  (entry_room),
    .in_data_i   (in_item),
    .out_valid_o (item_valid),
    .out_ready_i (item_taken),
    .out_data_o  (item),
    .count_o     (count)
  );
  assign control = item.control;
  // Odd vectors apart: there are half as many.
  logic                      odd_valid, odd_taken, odd_room;
  logic [Lw-1:0][WORD_W-1:0] odd_vector;
  logic [$clog2(Odds+1)-1:0] unused_odds;
  jd_stream_fifo #(
    .Width (Lw * WORD_W),
    .Depth (Odds)
  ) u_odds (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (in_valid_i && in_odd_i),
    .in_ready_o  (odd_room),
    .in_data_i   (in_data_i[1]),
    .out_valid_o (odd_valid),
    .out_ready_i (odd_taken),
    .out_data_o  (odd_vector),
    .count_o     (unused_odds)
  );

  // ---- A vector per clock, or a group of its words
  typedef struct packed {
    logic                 tanh;
    logic                 delta;
    logic                 own;
    logic                 acting;
    logic                 late;       // has a joined line, or deltas
    logic                 half;
    logic [1:0]           halves;     // that are written
    logic                 watch;
    logic                 ends;       // of its vector
    logic                 closes;
    logic [GroupW-1:0]    group;
    logic [ROWS_W-1:0]    words;
    logic [ROWS_W-1:0]    word;
    logic [SHIFT_W-1:0]   down;
    logic [ADDRESS_W-1:0] address;
    logic                 odd_slot;
    logic [ADDRESS_W-1:0] late_address;
  } part_t;

  logic                         go, second_q, grouped, vector_ends, room;
  logic [GroupW-1:0]            group_q;
  logic [Lw-1:0][WORD_W-1:0]    vector;
  logic [Lanes-1:0][WORD_W-1:0] words;
  logic [Lanes-1:0][MU_W-1:0]   actions;
  part_t                        part;
  assign go          = item_valid && room;
  assign vector      = second_q ? odd_vector : item.data;
  assign grouped     = control.tanh || control.joins || control.delta;
  assign vector_ends = !grouped || (32'(group_q) + 1) * Lanes >= 32'(control.words);
  assign item_taken  = go && vector_ends && (second_q || !control.odd);
  assign odd_taken   = go && vector_ends && second_q;
  always_comb begin
    part = '{tanh: control.tanh, delta: control.delta, own: control.own, acting: control.acting,
             late: control.joins || control.delta, half: control.half && control.joins,
             halves: 2'b11, watch: control.watch && control.joins, ends: vector_ends,
             closes: control.closes && item_taken, group: group_q, words: control.words,
             word: control.word, down: control.down,
             address: second_q ? control.address + control.step : control.address,
             odd_slot: control.odd_slot,
             late_address: control.delta ? control.address : control.join_address};
    // Two vectors share the joined line.
    if (part.half && control.odd) part.halves = second_q ? 2'b10 : 2'b01;
    for (int unsigned k = 0; k < Lanes; k++) begin
      automatic logic [LwLog2-1:0] place;
      place      = LwLog2'(32'(group_q) * Lanes + k);
      words[k]   = vector[control.delta ? place + LwLog2'(control.word) : place];
      actions[k] = control.tanh ? item.mu[place] : '0;         // of 0 the slope is 1
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      second_q <= 1'b0;
      group_q  <= '0;
    end else if (go) begin
      group_q <= vector_ends ? '0 : group_q + 1'b1;
      if (vector_ends) second_q <= control.odd && !second_q;
    end
  end

  // ---- The tangents, and beside them what passes as it is: own lines
  logic                         valid_q4;
  part_t                        part_q4;
  logic [Lw-1:0][WORD_W-1:0]    plain_q4, line, line_q;
  logic [Lanes-1:0][WORD_W-1:0] words_q3, words_q4, tangent;
  logic [Lanes-1:0]             unused_valid;
  jd_delay #(.Width (1), .Cycles (TANH)) u_valid_q4 (
    .clk_i,
    .rst_ni (rst_ni && !clear_i),
    .in_i   (go),
    .out_o  (valid_q4)
  );
  jd_delay #(.Width ($bits(part_t)), .Cycles (TANH), .Clear (1'b0)) u_part_q4 (
    .clk_i, .rst_ni, .in_i (part), .out_o (part_q4)
  );
  jd_delay #(.Width (Lw * WORD_W), .Cycles (TANH), .Clear (1'b0)) u_plain_q4 (
    .clk_i, .rst_ni, .in_i (vector), .out_o (plain_q4)
  );
  jd_delay #(.Width (Lanes * WORD_W), .Cycles (TANH - 1), .Clear (1'b0)) u_words_q3 (
    .clk_i, .rst_ni, .in_i (words), .out_o (words_q3)
  );
  always_ff @(posedge clk_i) words_q4 <= words_q3;
  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    jd_fixed_tanh u_tanh (
      .clk_i, .rst_ni,
      .valid_i  (go && control.tanh && !control.delta),
      .value_i  (words[k]),
      .valid_o  (unused_valid[k]),
      .result_o (tangent[k])
    );
  end
  always_comb begin
    line = line_q;
    for (int unsigned k = 0; k < Lanes; k++) line[32'(part_q4.group) * Lanes + k] = tangent[k];
    if (!part_q4.tanh) line = plain_q4;
    for (int unsigned j = 0; j < Lw; j++) if (ROWS_W'(j) >= part_q4.words) line[j] = '0;
  end
  always_ff @(posedge clk_i) if (valid_q4) line_q <= line;

  // ---- Quantizers and derivatives: joined lines and deltas
  logic                         valid_q6;
  part_t                        part_q6;
  logic [Lanes-1:0][WORD_W-1:0] value_q6;
  logic [Lanes-1:0]             over_q6, unused_stored_valid;
  jd_delay #(.Width (1), .Cycles (LATE)) u_valid_q6 (
    .clk_i,
    .rst_ni (rst_ni && !clear_i),
    .in_i   (valid_q4 && part_q4.late),
    .out_o  (valid_q6)
  );
  jd_delay #(.Width ($bits(part_t)), .Cycles (LATE), .Clear (1'b0)) u_part_q6 (
    .clk_i, .rst_ni, .in_i (part_q4), .out_o (part_q6)
  );
  for (genvar k = 0; k < Lanes; k++) begin : gen_late
    logic [WORD_W-1:0]        full_q4, full_q5, full_q6;
    logic signed [HALF_W-1:0] stored;
    logic                     quantized_over;
    assign full_q4 = part_q4.tanh ? tangent[k] : words_q4[k];
    jd_fixed_round #(
      .InW      (WORD_W),
      .OutW     (HALF_W),
      .ShiftMax (16),
      .Latency  (LATE)
    ) u_quantizer (
      .clk_i, .rst_ni,
      .valid_i     (valid_q4 && part_q4.half),
      .value_i     (full_q4),
      .shift_i     (part_q4.down),
      .valid_o     (unused_stored_valid[k]),
      .result_o    (stored),
      .saturated_o (quantized_over)
    );
    assign over_q6[k] = part_q6.half && quantized_over
                        && ROWS_W'(32'(part_q6.group) * Lanes + k) < part_q6.words;

    //   1, 2 square | 3 slope | 4, 5 product | 6 rounded
    logic signed [MU_W-1:0]    action;
    logic signed [2*MU_W-1:0]  square_q, square_q2;
    logic [SLOPE_W-1:0]        slope_q3;
    logic signed [SLOPED_W-1:0] product_q4, product_q5;
    logic [WORD_W-1:0]         delta_q6;
    assign action = actions[k];
    always_ff @(posedge clk_i) begin
      square_q   <= action * action;
      square_q2  <= square_q;
      slope_q3   <= SLOPE_W'(1 << 16) - SLOPE_W'((square_q2 + (1 << 15)) >> 16);
      product_q4 <= $signed(words_q3[k]) * $signed({1'b0, slope_q3});
      product_q5 <= product_q4;
      delta_q6   <= WORD_W'((product_q5 + (1 << 15)) >>> 16);
      full_q5    <= full_q4;
      full_q6    <= full_q5;
    end
    always_comb begin
      value_q6[k] = part_q6.delta ? delta_q6 : full_q6;
      if (part_q6.half) begin
        value_q6[k] = part_q6.halves[0] ? {HALF_W'(0), stored} : {stored, HALF_W'(0)};
      end
    end
  end

  logic [Lw-1:0][WORD_W-1:0] late, late_q;
  logic [Lw-1:0]             mine;
  logic [OverW-1:0]          over, over_q;
  logic [ROWS_W-1:0]         first;
  assign first = part_q6.delta ? '0 : part_q6.word;
  always_comb begin
    late = late_q;
    over = part_q6.group == '0 ? '0 : over_q;
    for (int unsigned k = 0; k < Lanes; k++) over = over + OverW'(over_q6[k]);
    for (int unsigned j = 0; j < Lw; j++) begin
      automatic logic [LwLog2-1:0] place;
      place   = LwLog2'(j) - LwLog2'(first);
      mine[j] = ROWS_W'(j) >= first && ROWS_W'(place) < part_q6.words;
      if (32'(place) / Lanes == 32'(part_q6.group)) late[j] = value_q6[32'(place) % Lanes];
      if (!mine[j]) late[j] = '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (valid_q6) begin
      late_q <= late;
      over_q <= over;
    end
  end

  // ---- Lines that wait: no vector begins without room for its lines
  localparam int unsigned Room  = 12;
  localparam int unsigned RoomW = $clog2(Room + 1);
  typedef struct packed {
    logic                      closes;
    logic                      delta;
    logic                      odd_slot;
    logic                      watch;
    logic [OverW-1:0]          over;
    logic [1:0]                halves;
    logic [Lw-1:0]             mask;
    logic [ADDRESS_W-1:0]      address;
    logic [Lw-1:0][WORD_W-1:0] data;
  } late_t;
  late_t                     in_late, out_late;
  logic                      own_room, late_room, own_valid, late_valid, own_taken, late_taken;
  logic                      begins, own_turn, late_turn, own_held_q, late_held_q;
  logic                      own_closes, own_acting;
  logic [ADDRESS_W-1:0]      own_address;
  logic [Lw-1:0][WORD_W-1:0] own_data;
  logic [RoomW-1:0]          unused_own, unused_late, own_owed_q, late_owed_q;
  assign begins = go && group_q == '0;
  assign room   = group_q != '0 || (own_owed_q != RoomW'(Room) && late_owed_q != RoomW'(Room));
  jd_stream_fifo #(
    .Width (2 + ADDRESS_W + Lw * WORD_W),
    .Depth (Room)
  ) u_own (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (valid_q4 && part_q4.own && part_q4.ends),
    .in_ready_o  (own_room),
    .in_data_i   ({part_q4.closes && !part_q4.late, part_q4.acting, part_q4.address, line}),
    .out_valid_o (own_valid),
    .out_ready_i (own_taken),
    .out_data_o  ({own_closes, own_acting, own_address, own_data}),
    .count_o     (unused_own)
  );
  assign in_late = '{closes: part_q6.closes, delta: part_q6.delta, odd_slot: part_q6.odd_slot,
                     watch: part_q6.watch, over: over, halves: part_q6.halves,
                     mask: part_q6.delta ? '1 : mine, address: part_q6.late_address, data: late};
  jd_stream_fifo #(
    .Width ($bits(late_t)),
    .Depth (Room)
  ) u_late (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (valid_q6 && part_q6.ends),
    .in_ready_o  (late_room),
    .in_data_i   (in_late),
    .out_valid_o (late_valid),
    .out_ready_i (late_taken),
    .out_data_o  (out_late),
    .count_o     (unused_late)
  );

  // Own lines first, but one that closes its tile comes after all joined lines. A line that waits
  // stays.
  assign own_turn    = own_valid && (own_held_q || !own_closes || late_owed_q == '0);
  assign late_turn   = late_valid && (late_held_q || !own_turn);
  assign own_taken   = out_ready_i && own_turn && !late_turn;
  assign late_taken  = out_ready_i && late_turn;
  assign out_valid_o = own_turn || late_valid;
  always_comb begin
    out_closes_o   = own_closes;
    out_delta_o    = 1'b0;
    out_odd_slot_o = out_late.odd_slot;
    out_address_o  = own_address;
    out_mask_o     = '1;
    out_half_o     = '1;
    out_data_o     = own_data;
    out_acting_o   = own_acting;
    out_watch_o    = 1'b0;
    out_over_o     = '0;
    if (late_turn) begin
      out_closes_o  = out_late.closes;
      out_delta_o   = out_late.delta;
      out_address_o = out_late.address;
      out_mask_o    = out_late.mask;
      out_half_o    = out_late.halves;
      out_data_o    = out_late.data;
      out_acting_o  = 1'b0;
      out_watch_o   = out_late.watch;
      out_over_o    = out_late.over;
    end
  end
  logic entry_q;                                   // came in the clock before
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      own_owed_q  <= '0;
      late_owed_q <= '0;
      own_held_q  <= 1'b0;
      late_held_q <= 1'b0;
    end else begin
      own_owed_q  <= own_owed_q + RoomW'(begins && part.own) - RoomW'(own_taken);
      late_owed_q <= late_owed_q + RoomW'(begins && part.late) - RoomW'(late_taken);
      own_held_q  <= own_turn && !late_turn && !out_ready_i;
      late_held_q <= late_turn && !out_ready_i;
    end
    entry_q <= rst_ni && !clear_i && in_valid_i;
  end
  assign idle_o = !in_valid_i && !entry_q && count == '0 && own_owed_q == '0 && late_owed_q == '0;

  logic unused;
  assign unused = ^{unused_odds, unused_own, unused_late, unused_valid, unused_stored_valid};

  `JD_ASSERT_IF(EntryRoom_A, in_valid_i && !clear_i, entry_room && (!in_odd_i || odd_room))
  `JD_ASSERT_IF(OddThere_A, odd_taken, odd_valid)
  `JD_ASSERT_IF(LineRoom_A, valid_q4 && part_q4.own && part_q4.ends && !clear_i, own_room)
  `JD_ASSERT_IF(LateRoom_A, valid_q6 && part_q6.ends && !clear_i, late_room)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i || clear_i,
                    {out_closes_o, out_delta_o, out_address_o, out_mask_o, out_half_o, out_data_o})
  `JD_ASSUME_IF(WordsInRange_M, in_valid_i, in_words_i != '0 && 32'(in_words_i) <= Lw)
  `JD_ASSUME_IF(JoinedInLine_M, in_valid_i && in_joins_i, 32'(in_words_i) + 32'(in_word_i) <= Lw)
  `JD_ASSUME_IF(DeltasInLine_M, in_valid_i && in_delta_i,
                in_word_i < in_words_i && !in_odd_i && !in_joins_i)
  for (genvar j = 0; j < Lw; j++) begin : gen_mu_check
    `JD_ASSUME_IF(MuInRange_M, in_valid_i && in_delta_i && in_tanh_i
                  && ROWS_W'(j) < in_words_i - in_word_i,
                  $signed(in_mu_i[j]) >= -(1 << 16) && $signed(in_mu_i[j]) <= 1 << 16)
  end
endmodule : jd_qat_tail
