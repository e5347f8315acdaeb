// SPDX-License-Identifier: Apache-2.0
//
// Brings outputs of last layers to their slots, vector after vector, some of them by the tangent.
//
// Streams  in: outputs of an entry, one vector or two; a pipe without stall. out: a vector's line and
//          its place, in their order; it waits for out_ready_i.
// Timing   a line is offered 8 clocks after its entry came, by the tangent ceil(words / Lanes) - 1
//          more, if none is before it. A vector per clock; by the tangent one in ceil(words / Lanes)
//          clocks. Entries wait in a buffer with room for all that a pass can have.
// Numbers  32 bits, unchanged or by jd_fixed_tanh. Words of no output are 0.
// Source   docs/qat.md (numbers, tangent). Golden model: models/qat/ops.py, tanh.
`include "jd_assert.svh"
module jd_qat_tail
  import jd_qat_pkg::*;
#(
  parameter int unsigned Lw      = 16,     // words of a line: 4, 8, 16
  parameter int unsigned Entries = 65,     // that may wait, 2..129; with two vectors half as many
  parameter int unsigned Lanes   = 4       // tangents, 1..Lw
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           clear_i,       // drops what is held
  output logic                           idle_o,
  input  logic                           in_valid_i,
  input  logic                           in_odd_i,      // there are two vectors
  input  logic                           in_tanh_i,
  input  logic                           in_closes_i,   // the last entry of its tile
  input  logic [ROWS_W-1:0]              in_words_i,
  input  logic [ADDRESS_W-1:0]           in_address_i,  // of the first vector's line
  input  logic [ADDRESS_W-1:0]           in_step_i,     // from it to the second's
  input  logic [1:0][Lw-1:0][WORD_W-1:0] in_data_i,
  output logic                           out_valid_o,
  input  logic                           out_ready_i,
  output logic                           out_closes_o,  // the last vector of its tile
  output logic [ADDRESS_W-1:0]           out_address_o,
  output logic [Lw-1:0][WORD_W-1:0]      out_data_o
);
  localparam int unsigned TANH = 4;                  // clocks of jd_fixed_tanh
  localparam int unsigned Groups = Lw / Lanes;
  localparam int unsigned Odds = (Entries + 1) / 2;
  localparam int unsigned GroupW = Groups > 1 ? $clog2(Groups) : 1;
  if (Lanes < 1 || Lanes > Lw || Lw % Lanes != 0) begin : gen_bad_lanes
    $fatal(1, "jd_qat_tail: Lanes=%0d, want a divisor of Lw=%0d", Lanes, Lw);
  end

  typedef struct packed {
    logic                      odd;
    logic                      tanh;
    logic                      closes;
    logic [ROWS_W-1:0]         words;
    logic [ADDRESS_W-1:0]      address;
    logic [ADDRESS_W-1:0]      step;
    logic [Lw-1:0][WORD_W-1:0] data;
  } item_t;

  item_t in_item, item;
  logic  item_valid, item_taken, entry_room;
  assign in_item = '{odd: in_odd_i, tanh: in_tanh_i, closes: in_closes_i, words: in_words_i,
                     address: in_address_i, step: in_step_i, data: in_data_i[0]};
  logic [$clog2(Entries+1)-1:0] count;
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
    logic                 ends;       // of its vector
    logic                 closes;
    logic [GroupW-1:0]    group;
    logic [ROWS_W-1:0]    words;
    logic [ADDRESS_W-1:0] address;
  } part_t;

  logic                         go, second_q, vector_ends, room;
  logic [GroupW-1:0]            group_q;
  logic [Lw-1:0][WORD_W-1:0]    vector;
  logic [Lanes-1:0][WORD_W-1:0] words;
  part_t                        part;
  assign go          = item_valid && room;
  assign vector      = second_q ? odd_vector : item.data;
  assign vector_ends = !item.tanh || (32'(group_q) + 1) * Lanes >= 32'(item.words);
  assign item_taken  = go && vector_ends && (second_q || !item.odd);
  assign odd_taken   = go && vector_ends && second_q;
  assign part        = '{tanh: item.tanh, ends: vector_ends, closes: item.closes && item_taken,
                         group: group_q, words: item.words,
                         address: second_q ? item.address + item.step : item.address};
  always_comb begin
    for (int unsigned k = 0; k < Lanes; k++) words[k] = vector[32'(group_q) * Lanes + k];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      second_q <= 1'b0;
      group_q  <= '0;
    end else if (go) begin
      group_q <= vector_ends ? '0 : group_q + 1'b1;
      if (vector_ends) second_q <= item.odd && !second_q;
    end
  end

  // ---- The tangents, and beside them what passes as it is
  logic                         part_valid_q;
  part_t                        part_q;
  logic [Lw-1:0][WORD_W-1:0]    plain_q, line, line_q;
  logic [Lanes-1:0][WORD_W-1:0] tangent;
  logic [Lanes-1:0]             unused_valid;
  jd_delay #(.Width (1), .Cycles (TANH)) u_valid (
    .clk_i,
    .rst_ni (rst_ni && !clear_i),
    .in_i   (go),
    .out_o  (part_valid_q)
  );
  jd_delay #(.Width ($bits(part_t)), .Cycles (TANH), .Clear (1'b0)) u_part (
    .clk_i, .rst_ni, .in_i (part), .out_o (part_q)
  );
  jd_delay #(.Width (Lw * WORD_W), .Cycles (TANH), .Clear (1'b0)) u_plain (
    .clk_i, .rst_ni, .in_i (vector), .out_o (plain_q)
  );
  for (genvar k = 0; k < Lanes; k++) begin : gen_lane
    jd_fixed_tanh u_tanh (
      .clk_i, .rst_ni,
      .valid_i  (go && item.tanh),
      .value_i  (words[k]),
      .valid_o  (unused_valid[k]),
      .result_o (tangent[k])
    );
  end
  always_comb begin
    line = line_q;
    for (int unsigned k = 0; k < Lanes; k++) line[32'(part_q.group) * Lanes + k] = tangent[k];
    if (!part_q.tanh) line = plain_q;
    for (int unsigned j = 0; j < Lw; j++) if (ROWS_W'(j) >= part_q.words) line[j] = '0;
  end
  always_ff @(posedge clk_i) if (part_valid_q) line_q <= line;

  // ---- Lines that wait: no vector begins without room for it
  localparam int unsigned Room  = 8;
  localparam int unsigned RoomW = $clog2(Room + 1);
  logic             line_room, begins;
  logic [RoomW-1:0] unused_lines, owed_q;
  assign begins = go && group_q == '0;
  assign room   = group_q != '0 || owed_q != RoomW'(Room);
  jd_stream_fifo #(
    .Width (1 + ADDRESS_W + Lw * WORD_W),
    .Depth (Room)
  ) u_lines (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (part_valid_q && part_q.ends),
    .in_ready_o  (line_room),
    .in_data_i   ({part_q.closes, part_q.address, line}),
    .out_valid_o (out_valid_o),
    .out_ready_i (out_ready_i),
    .out_data_o  ({out_closes_o, out_address_o, out_data_o}),
    .count_o     (unused_lines)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) owed_q <= '0;
    else owed_q <= owed_q + RoomW'(begins) - RoomW'(out_valid_o && out_ready_i);
  end
  logic entry_q;                                   // came in the clock before
  always_ff @(posedge clk_i) entry_q <= rst_ni && !clear_i && in_valid_i;
  assign idle_o = !in_valid_i && !entry_q && count == '0 && owed_q == '0;

  `JD_ASSERT_IF(EntryRoom_A, in_valid_i && !clear_i, entry_room && (!in_odd_i || odd_room))
  `JD_ASSERT_IF(OddThere_A, odd_taken, odd_valid)
  `JD_ASSERT_IF(LineRoom_A, part_valid_q && part_q.ends && !clear_i, line_room)
  `JD_ASSUME_IF(WordsInRange_M, in_valid_i, in_words_i != '0 && 32'(in_words_i) <= Lw)
endmodule : jd_qat_tail
