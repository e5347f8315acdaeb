// SPDX-License-Identifier: Apache-2.0
//
// Checks a task descriptor before the task reads or writes memory. It reports the first broken
// rule.
//
// Streams  start_i begins a check. The descriptor and all other inputs hold until done_o, which is
//          high for one clock with the result.
// Timing   35 clocks for the words, then 3 for each address range of the task (in two passes) and 3
//          for each pair of ranges: 440 for a training of eight samples.
// Numbers  addresses are bytes, 40 bits; a range may end at 2^40, so ends have 41 bits.
// Source   a3c 10.1, 10.4. Golden model: models/a3c/descriptor.py, check.
`include "jd_assert.svh"
module jd_a3c_check
  import jd_a3c_pkg::*;
  import jd_a3c_map_pkg::*;
  import jd_axi_pkg::beyond;
  import jd_engine_header_map_pkg::E_ADDR, jd_engine_header_map_pkg::E_ALIGN,
         jd_engine_header_map_pkg::E_OPCODE, jd_engine_header_map_pkg::E_RESERVED;
#(
  parameter int unsigned Slots   = 4,             // of networks, 1..15
  parameter int unsigned Samples = 8              // largest batch, 1..8
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 start_i,
  input  logic [1:0]           ring_i,            // where the task comes from
  input  logic [1023:0]        descriptor_i,      // word 0 in the low bits
  input  network_t [Slots-1:0] networks_i,
  input  logic [39:0]          base_i,            // first byte that a task may name,
  input  logic [47:0]          limit_i,           // and first byte after
  input  logic [1:0]           roles_i,           // that some unit has: inference, training
  input  layout_e              layout_i,          // of the parameters
  output logic                 busy_o,
  output logic                 done_o,
  output logic [7:0]           error_o,           // 0: the task may run
  output logic [31:0]          info0_o,           // the descriptor's word,
  output logic [31:0]          info1_o            // and above bit 7 that of the other range
);
  // ---- Fields
  logic [7:0]     opcode;
  logic [3:0]     slot, samples;
  logic           batch;                          // the task has samples
  logic [15:0][31:0] lows, highs;                 // even and odd words: addresses
  network_t       network;                        // in the task's slot
  logic           unused_layers;
  assign opcode  = descriptor_i[7:0];
  assign slot    = descriptor_i[19:16];
  assign samples = descriptor_i[23:20];
  assign batch   = opcode == OP_INF || opcode == OP_TRAIN;
  assign unused_layers = ^network.layers;
  for (genvar w = 0; w < 16; w++) begin : gen_word
    assign lows[w]  = descriptor_i[64*w+:32];
    assign highs[w] = descriptor_i[64*w+32+:32];
  end
  always_comb begin
    network = '0;
    for (int unsigned s = 0; s < Slots; s++) if (slot == 4'(s)) network = networks_i[s];
  end

  // ---- Meaning of a pair of words: an address of the task, or reserved
  localparam logic [3:0] PAIR_THETA     = 4'd1;
  localparam logic [3:0] PAIR_SOURCE    = 4'd2;
  localparam logic [3:0] PAIR_TARGET    = 4'd3;
  localparam logic [3:0] PAIR_G_SOURCE  = 4'd4;
  localparam logic [3:0] PAIR_G_TARGET  = 4'd5;
  localparam logic [3:0] PAIR_OBJECTIVE = 4'd6;
  localparam logic [3:0] PAIR_MAPS      = 4'd8;
  function automatic logic named(input logic [3:0] pair, input logic [7:0] op,
                                 input logic [3:0] count);
    unique case (op)
      OP_INF:   named = pair == PAIR_THETA;
      OP_TRAIN: named = pair >= PAIR_THETA && pair <= PAIR_OBJECTIVE;
      OP_SYNC:  named = pair == PAIR_SOURCE || pair == PAIR_TARGET;
      default:  named = pair == PAIR_THETA;
    endcase
    if (pair >= PAIR_MAPS) begin
      named = (op == OP_INF || op == OP_TRAIN) && {1'b0, pair[2:0]} < count;
    end
  endfunction

  typedef enum logic [3:0] {
    StIdle, StWords, StSlot, StPick, StEnd, StTest, StRole, StDone
  } state_e;
  typedef enum logic [1:0] {PassAlign, PassWindow, PassPairs} pass_e;
  state_e     state_q;
  pass_e      pass_q;
  logic [4:0] word_q;                             // StWords: the word in hand
  logic [3:0] pair_q, first_q;                    // the present range; the first of PassPairs
  logic       hold_q;                             // PassPairs: the first range is present
  logic [7:0] error_q;
  logic [4:0] where_q, other_q;                   // words of ERR_INFO

  // ---- Words: bits that must be 0
  logic [31:0] word, reserved;
  logic [7:0]  flags;                             // legal for the task
  logic        known;                             // the ring takes the opcode
  assign word = word_q[0] ? highs[word_q[4:1]] : lows[word_q[4:1]];
  always_comb begin
    unique case (opcode)
      OP_INF:  flags = 8'h05;
      OP_SYNC: flags = 8'h08;
      default: flags = 8'h00;
    endcase
    unique case (ring_i)
      RING_INF: known = opcode == OP_INF;
      RING_TRN: known = opcode == OP_TRAIN;
      default:  known = ring_i == RING_ADM && (opcode == OP_SYNC || opcode == OP_NET_LOAD);
    endcase
    reserved = '1;
    if (named(word_q[4:1], opcode, samples)) reserved = word_q[0] ? 32'hFFFF_FF00 : '0;
    if (word_q == 5'd0) reserved = {8'h3F, batch ? 4'h0 : 4'hF, 4'h0, ~flags, 8'h00};
    if (word_q == 5'd1) reserved = '0;
  end

  // ---- The range in hand: a pair's address, its size, whether the task writes there
  logic [39:0] start_q, first_start_q;
  logic [34:0] size, size_q;
  logic [40:0] end_q, first_end_q;
  logic        written, written_q, first_written_q;
  logic        whole;                             // parameters: a slot of 4 KiB
  logic [10:0] records_q;                         // rows of the gradients, long before their range
  assign whole = pair_q < PAIR_OBJECTIVE && opcode != OP_NET_LOAD;
  always_ff @(posedge clk_i) records_q <= 11'(samples) * 11'(network.output_rows);
  always_comb begin
    size = {3'd0, network.theta_beats, 6'd0};
    if (layout_i == LayoutAlt2 && pair_q <= PAIR_TARGET) begin  // and the second image
      size = {2'd0, second_beats(network.theta_beats), 6'd0} + {3'd0, network.theta_beats, 6'd0};
    end
    if (pair_q == PAIR_OBJECTIVE) size = {18'd0, records_q + 11'd1, 6'd0};
    if (pair_q >= PAIR_MAPS)      size = {6'd0, network.map_rows, 6'd0};
    if (opcode == OP_NET_LOAD)    size = 35'd192;
    written = pair_q == PAIR_TARGET || pair_q == PAIR_G_TARGET
              || (pair_q >= PAIR_MAPS && opcode == OP_INF);
  end

  // ---- Rules of a range, and of a pair of them
  logic misplaced, outside, in_place, meets;
  logic below_q, beyond_q;                        // it starts before the window, ends after memory
  assign misplaced = (whole ? start_q[11:0] : {6'd0, start_q[5:0]}) != '0;
  assign outside   = below_q || beyond_q || 48'(end_q) > limit_i;
  assign in_place  = start_q == first_start_q
                     && ((first_q == PAIR_SOURCE && pair_q == PAIR_TARGET)
                         || (first_q == PAIR_G_SOURCE && pair_q == PAIR_G_TARGET));
  assign meets     = (written_q || first_written_q) && !in_place
                     && 41'(start_q) < first_end_q && 41'(first_start_q) < end_q;

  logic [7:0] broken;                             // error of the range in hand
  always_comb begin
    unique case (pass_q)
      PassAlign:  broken = misplaced ? E_ALIGN : '0;
      PassWindow: broken = outside ? E_ADDR : '0;
      default:    broken = hold_q && meets ? E_OVERLAP : '0;
    endcase
  end

  // ---- Steps. A pass goes through all pairs of words. The last pass takes each range in turn and
  // compares it with all ranges after it.
  logic is_named, last, last_first;
  assign is_named   = named(pair_q, opcode, samples);
  assign last       = pair_q == 4'd15;
  assign last_first = first_q == 4'd15;
  logic over;                                     // this range completes the last pass
  logic wrong_slot, wrong_samples, wrong_layout, wrong_role;
  assign over          = pass_q == PassPairs && last && (hold_q ? first_q == 4'd14 : last_first);
  assign wrong_slot    = 32'(slot) >= Slots || (!network.valid && opcode != OP_NET_LOAD);
  assign wrong_samples = batch && (samples == '0 || 32'(samples) > Samples);
  assign wrong_layout  = layout_i == LayoutNone && opcode != OP_NET_LOAD;
  assign wrong_role    = (opcode == OP_INF && !roles_i[0]) || (opcode == OP_TRAIN && !roles_i[1]);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) state_q <= known ? StWords : StDone;
        StWords: begin
          if ((word & reserved) != '0) state_q <= StDone;
          else if (word_q == 5'd31)    state_q <= StSlot;
        end
        StSlot: state_q <= wrong_slot || wrong_samples || wrong_layout ? StDone : StPick;
        StPick: state_q <= is_named ? StEnd : over ? StRole : StPick;
        StEnd:  state_q <= StTest;
        StTest: state_q <= broken != '0 ? StDone : over ? StRole : StPick;
        StRole: state_q <= StDone;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: begin
        error_q <= known ? '0 : E_OPCODE;
        where_q <= '0;
        other_q <= '0;
        word_q  <= '0;
        pass_q  <= PassAlign;
        pair_q  <= PAIR_THETA;
        hold_q  <= 1'b0;
      end
      StWords: begin
        word_q <= word_q + 5'd1;
        if ((word & reserved) != '0) begin
          error_q <= E_RESERVED;
          where_q <= word_q;
        end
      end
      StSlot: begin
        if (wrong_layout)  error_q <= E_LAYOUT;
        if (wrong_samples) error_q <= E_NB;
        if (wrong_slot)    error_q <= E_NET;
      end
      StPick: begin
        start_q   <= {highs[pair_q][7:0], lows[pair_q]};
        size_q    <= size;
        written_q <= written;
        if (pass_q == PassPairs && !hold_q) first_q <= is_named ? pair_q : pair_q + 4'd1;
      end
      StEnd: begin
        end_q    <= 41'(start_q) + 41'(size_q);
        below_q  <= start_q < base_i;
        beyond_q <= beyond(start_q, 64'(size_q));
      end
      StTest: begin
        if (broken != '0) begin
          error_q <= broken;
          where_q <= {pair_q, 1'b0};
          if (pass_q == PassPairs) other_q <= {first_q, 1'b0};
        end
        if (!hold_q) begin
          first_start_q   <= start_q;
          first_end_q     <= end_q;
          first_written_q <= written_q;
        end
      end
      StRole: if (wrong_role) error_q <= E_ROLE;
      default: ;
    endcase
    // The next range.
    if (state_q == StTest || (state_q == StPick && !is_named)) begin
      pair_q <= pair_q + 4'd1;
      if (pass_q == PassPairs) begin
        if (!hold_q && state_q == StTest) hold_q <= 1'b1;
        if (hold_q && last) begin
          hold_q <= 1'b0;
          pair_q <= first_q + 4'd1;
        end
      end else if (last) begin
        pass_q <= pass_q == PassAlign ? PassWindow : PassPairs;
        pair_q <= PAIR_THETA;
      end
    end
  end

  assign busy_o  = state_q != StIdle;
  assign done_o  = state_q == StDone;
  assign error_o = error_q;
  assign info0_o = 32'(where_q);
  assign info1_o = {19'd0, other_q, 8'd0};

  `JD_ASSUME_IF(StartsFree_M, start_i, !busy_o)
  `JD_ASSUME_STABLE(DescriptorHeld_M, start_i || (busy_o && !done_o), {ring_i, descriptor_i})
endmodule : jd_a3c_check
