// SPDX-License-Identifier: Apache-2.0
//
// Checks a descriptor.
//
// Streams  start_i: the descriptor and all that it is checked against are valid, and hold until
//          done_o. done_o is high for one clock with the code of the first broken rule (0: none)
//          and its place.
// Timing   done_o CHECK_LATENCY clocks after start_i:
//            1 words | 2 rules, factors | 3 partial products | 4 their middle | 5 product
//            | 6 bytes of the records | 7 the place of each rule | 8 the first rule
// Numbers  code_o: as in the completion record. place_o: the lowest word of the descriptor, or the
//          lowest offset of a register, that breaks this rule.
// Source   docs/qat.md (jobs). Golden model: models/qat/validate.py, check.
`include "jd_assert.svh"
module jd_qat_check
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter int unsigned Lw        = 16,       // as jd_qat_top
  parameter int unsigned N         = 2,
  parameter int unsigned Slots     = 64,
  parameter int unsigned ActLines  = 160,
  parameter int unsigned DelLines  = 80,
  parameter int unsigned WLines    = 20480,
  parameter int unsigned MaxLayers = 4,
  parameter int unsigned BMax      = 4096,
  parameter bit          Paper     = 1'b0         // has the published schedule
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            start_i,
  input  descriptor_t                     words_i,
  input  table_t                          table_i,
  input  logic                            half_i,        // jobs run in half mode
  input  logic [3:0]                      noise_i,       // its kind
  input  logic                            paper_i,       // the published schedule is wanted
  input  logic [TENSORS-1:0][SHIFT_W-1:0] shifts_i,
  input  logic [31:0]                     c1_i,          // of Adam
  input  logic [31:0]                     c2_i,
  input  logic [31:0]                     eps_i,
  input  logic [24:0]                     tau_i,
  output logic                            done_o,
  output logic [7:0]                      code_o,
  output logic [31:0]                     place_o
);
  import jd_engine_header_map_pkg::*;
  localparam logic [7:0] E_BATCH  = jd_qat_map_pkg::E_BATCH;
  localparam logic [7:0] E_STRIDE = jd_qat_map_pkg::E_STRIDE;
  localparam logic [7:0] E_RANGE  = jd_qat_map_pkg::E_RANGE;
  localparam logic [7:0] E_SLOT   = jd_qat_map_pkg::E_SLOT;
  localparam logic [7:0] E_NO_NET = jd_qat_map_pkg::E_NO_NET;
  localparam logic [7:0] E_VALUE  = jd_qat_map_pkg::E_VALUE;
  localparam int unsigned LINE_BYTES  = 4 * Lw;
  localparam int unsigned TABLE_BYTES = 64 + 32 * MaxLayers;
  localparam logic [31:0] HIGH = 32'hFFFF_FF00;  // of the upper word of an address
  localparam logic [31:0] RATE_MOST   = 32'h03FF_FFFF;
  localparam logic [31:0] SCALAR_MOST = 32'h00FF_FFFF;
  localparam logic [24:0] TAU_MOST    = 25'h100_0000;

  typedef logic [15:0] places_t;                 // a bit a word

  descriptor_t words_q;
  always_ff @(posedge clk_i) words_q <= words_i;

  logic [7:0] opcode;
  logic       moves, of_lines, of_slots, of_layer, infers, updates, seeds, trains, known;
  logic       acts, noisy, learns, listed, weighted;
  assign opcode   = words_q[0][7:0];
  assign of_lines = opcode == LOAD || opcode == STORE;
  assign of_slots = opcode == PUTX || opcode == GETX;
  assign of_layer = opcode inside {FW, DX, DW};
  assign infers   = opcode == INFER;
  assign updates  = opcode == ADAM;
  assign seeds    = opcode == SEED;
  assign trains   = opcode == TRAIN;
  assign acts     = infers || (trains && (words_q[0][AFTER] || words_q[0][WITH]));
  assign noisy    = acts && words_q[0][NOISE];
  assign learns   = updates || (trains && (words_q[0][CRITIC] || words_q[0][ACTOR]));
  assign listed   = trains && words_q[0][LISTED];
  assign weighted = listed && words_q[0][WEIGHTED];
  assign moves    = opcode == NET || of_lines || of_slots || (seeds && words_q[0][8]);
  assign known    = moves || of_layer || infers || updates || seeds || opcode == QUANT || trains;

  // ---- Bits that must be 0
  places_t reserved, unaligned;
  always_comb begin
    descriptor_t free;                           // bits that may be anything
    free    = '0;
    free[0] = 32'hC000_00FF;
    if (trains)  free[0][15:9] = '1;
    if (updates) free[0][TARGETS] = 1'b1;
    free[0][8] = acts || seeds;
    free[1] = '1;
    if (moves || trains) {free[3], free[2]} = {~HIGH, 32'hFFFF_FFFF};
    if (acts) begin
      {free[5], free[4]} = {~HIGH, 32'hFFFF_FFFF};
      {free[7], free[6]} = {~HIGH, 32'hFFFF_FFFF};
    end
    if (of_lines) free[8] = 32'h7;
    if (of_slots) free[8] = 32'h1F;
    if (of_layer) free[8] = opcode == FW ? 32'h1F1 : 32'hF1;
    if (updates)  free[8] = 32'h1;
    if (updates)  free[9] = '1;
    if (trains) begin
      free[8] = {32{words_q[0][CRITIC]}};
      free[9] = {32{words_q[0][ACTOR]}};
      if (listed) {free[12], free[11], free[10]} = {32'hFFFF_FFFF, ~HIGH, 32'hFFFF_FFFF};
      {free[15], free[14], free[13]} = {32'h1F1F, 64'hFFFF_FFFF_FFFF_FFFF};
    end
    if (seeds)    free[11:4] = '1;
    if (of_lines || of_slots || of_layer) {free[10], free[9]} = '1;
    if (of_slots || of_layer) free[11] = '1;
    for (int unsigned k = 0; k < 16; k++) reserved[k] = (words_q[k] & ~free[k]) != '0;
    unaligned    = '0;
    unaligned[2]  = (moves || trains) && words_q[2][5:0] != '0;
    unaligned[4]  = acts && words_q[4][5:0] != '0;
    unaligned[6]  = acts && words_q[6][5:0] != '0;
    unaligned[10] = listed && words_q[10][5:0] != '0;
    unaligned[13] = trains && words_q[13][5:0] != '0;
  end

  // ---- Counts, lines, slots, layers
  places_t            batch, stride, range, slot, no_net;
  logic [31:0]        record_bytes;
  layer_t             layer;
  logic               net, has_layer;
  logic [32:0]        last_line, last_slot_line, last_first, last_second;
  logic [31:0]        most_lines;
  assign net       = words_q[8][0];
  assign layer     = table_i.layers[net][words_q[8][5:4]];
  assign has_layer = table_i.valid && words_q[8][7:4] < {1'b0, table_i.counts[net]};
  assign last_line      = {1'b0, words_q[9]} + {1'b0, words_q[10]};
  assign last_slot_line = {1'b0, words_q[10]} + {1'b0, words_q[11]};
  assign last_first     = {1'b0, words_q[10]} + 33'(opcode == DX ? layer.p_lines : layer.q_lines);
  assign last_second    = {1'b0, words_q[11]} + 33'(opcode == DX ? layer.q_lines : layer.p_lines);
  assign record_bytes   = ((32'(table_i.state_lines) << 1) + 32'd1) * LINE_BYTES;
  assign most_lines     = words_q[8][4] ? DelLines : ActLines;
  always_comb begin
    {batch, stride, range, slot, no_net} = '0;
    batch[14] = trains && (words_q[14][15:0] == '0 || 32'(words_q[14][15:0]) > BMax
                           || words_q[14][31:16] == '0 || words_q[14][16]
                           || 32'(words_q[14][31:16]) > (paper_i ? Slots : N * Slots));
    stride[13] = trains && table_i.valid && words_q[13] < record_bytes;
    batch[9]  = of_layer && (words_q[9] == '0 || words_q[9] > N * Slots);
    batch[10] = of_lines && words_q[10] == '0;
    batch[11] = of_slots && words_q[11] == '0;
    range[8]  = of_lines && words_q[8] >= 32'(REGIONS);
    range[9]  = of_lines && words_q[9] >= WLines;
    range[10] = of_lines && last_line > 33'(WLines);
    if (of_slots) begin
      slot[8]  = 32'(words_q[8][3:0]) >= N;
      slot[9]  = words_q[9] >= Slots + (words_q[8][4] ? 32'd0 : 32'd1);
      slot[10] = words_q[10] >= most_lines;
      slot[11] = last_slot_line > 33'(most_lines);
    end
    if (of_layer && has_layer) begin
      slot[10] = last_first > 33'(opcode == DX ? DelLines : ActLines);
      slot[11] = last_second > 33'(opcode == FW ? ActLines : DelLines);
    end
    no_net[0] = (infers || of_layer || updates || trains) && !table_i.valid;
    no_net[8] = of_layer && !has_layer;
  end

  // ---- Values of words and of registers, and arrays
  logic               noise_bad, c1_bad, c2_bad, eps_bad, tau_bad;
  logic [TENSORS-1:0] shift_bad;
  places_t            value, address;
  logic [63:0]        moved, state_bytes, action_bytes, pair_bytes;
  assign noise_bad = (noisy && noise_i > 4'd3) || (trains && paper_i && !Paper);
  assign c1_bad    = learns && (c1_i == '0 || c1_i > SCALAR_MOST);
  assign c2_bad    = learns && (c2_i == '0 || c2_i > SCALAR_MOST);
  assign eps_bad   = learns && (eps_i == '0 || eps_i > SCALAR_MOST);
  assign tau_bad   = learns && tau_i > TAU_MOST;
  always_comb begin
    value    = '0;
    value[4] = seeds && words_q[11:4] == '0;
    value[9] = (updates || trains) && words_q[9] > RATE_MOST;
    if (trains) begin
      value[0]  = (words_q[0][AFTER] && words_q[0][WITH])
                  || (words_q[0][WEIGHTED] && !words_q[0][LISTED]);
      value[8]  = words_q[8] > RATE_MOST;
      value[15] = words_q[15][4] != words_q[15][3] || words_q[15][12:8] > 5'd6;
    end
    for (int unsigned k = 0; k < TENSORS; k++) begin
      shift_bad[k] = half_i && (infers || trains || of_layer) && shifts_i[k] > SHIFT_W'(16);
    end
    moved = opcode == NET ? 64'(TABLE_BYTES) : seeds ? 64'(LINE_BYTES)
            : of_slots ? 64'(words_q[11]) * 64'(LINE_BYTES)
            : (64'(words_q[10]) * 64'(LINE_BYTES)) << (words_q[8][2:0] == SECOND_REGION);
    state_bytes  = 64'(table_i.states) << 2;
    action_bytes = 64'(table_i.actions) << 2;
    pair_bytes   = (64'(words_q[14][15:0]) * 64'd16 + 64'd63) & ~64'd63;    // of the list
    if (weighted) pair_bytes = pair_bytes + 64'(words_q[14][15:0]) * 64'd8;
  end
  // Bytes of the records: the stride times all places but one, and a record
  logic [31:0]            places, last_q, stride_q;
  logic [1:0][1:0][31:0]  partial_q3;              // products of halves: of the stride, of the last
  logic [63:0]            outer_q4, product_q5, bytes_q6;
  logic [32:0]            middle_q4;
  assign places = listed ? words_q[12] : 32'(words_q[14][15:0]);
  always_ff @(posedge clk_i) begin
    stride_q <= words_q[13];
    last_q   <= places - 32'd1;
    for (int unsigned i = 0; i < 2; i++) begin
      for (int unsigned j = 0; j < 2; j++) begin
        partial_q3[i][j] <= 32'(stride_q[16*i +: 16]) * 32'(last_q[16*j +: 16]);
      end
    end
    outer_q4   <= {partial_q3[1][1], partial_q3[0][0]};
    middle_q4  <= {1'b0, partial_q3[1][0]} + {1'b0, partial_q3[0][1]};
    product_q5 <= outer_q4 + (64'(middle_q4) << 16);
    bytes_q6   <= product_q5 + 64'(record_bytes);
  end
  always_comb begin
    address     = '0;
    address[2]  = (moves && beyond({words_q[3][7:0], words_q[2]}, moved))
                  || (trains && places != '0 && beyond({words_q[3][7:0], words_q[2]}, bytes_q6));
    address[4]  = acts && beyond({words_q[5][7:0], words_q[4]}, state_bytes);
    address[6]  = acts && beyond({words_q[7][7:0], words_q[6]}, action_bytes);
    address[10] = listed && beyond({words_q[11][7:0], words_q[10]}, pair_bytes);
  end

  // ---- The first of each rule, and of all
  function automatic logic [4:0] lowest(places_t at);
    logic [4:0] found;
    found = '0;
    for (int unsigned k = 16; k > 0; k--) if (at[k-1]) found = {1'b1, 4'(k - 1)};
    return found;                                // there is one, and where
  endfunction

  localparam int unsigned RULES = 8;        // reserved, alignment, batch, stride, range, slot, net,
  places_t [RULES-1:0]     rules_q;         // value
  logic                    known_q, noise_bad_q, c1_bad_q, c2_bad_q, eps_bad_q, tau_bad_q;
  logic [TENSORS-1:0]      shift_bad_q;
  logic [RULES:0][4:0]     found_q2;        // and addresses
  logic                    known_q2;
  logic [11:0]             register_q2;     // the first that is at fault; 0: none is
  logic [CHECK_LATENCY-1:0] step_q;
  logic [7:0]              code;
  logic [31:0]             place;
  assign done_o = step_q[CHECK_LATENCY-1];
  always_comb begin
    code  = '0;
    place = '0;
    if (!known_q2) code = E_OPCODE;
    else if (found_q2[0][4]) {code, place} = {E_RESERVED, 32'(found_q2[0][3:0])};
    else if (found_q2[1][4]) {code, place} = {E_ALIGN, 32'(found_q2[1][3:0])};
    else if (found_q2[2][4]) {code, place} = {E_BATCH, 32'(found_q2[2][3:0])};
    else if (found_q2[3][4]) {code, place} = {E_STRIDE, 32'(found_q2[3][3:0])};
    else if (found_q2[4][4]) {code, place} = {E_RANGE, 32'(found_q2[4][3:0])};
    else if (found_q2[5][4]) {code, place} = {E_SLOT, 32'(found_q2[5][3:0])};
    else if (found_q2[6][4]) {code, place} = {E_NO_NET, 32'(found_q2[6][3:0])};
    else if (found_q2[7][4]) {code, place} = {E_VALUE, 32'(found_q2[7][3:0])};
    else if (register_q2 != '0) {code, place} = {E_VALUE, 32'(register_q2)};
    else if (found_q2[8][4]) {code, place} = {E_ADDR, 32'(found_q2[8][3:0])};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) step_q <= '0;
    else         step_q <= {step_q[CHECK_LATENCY-2:0], start_i};
    rules_q     <= {value, no_net, slot, range, stride, batch, unaligned, reserved};
    known_q     <= known;
    noise_bad_q <= noise_bad;
    c1_bad_q    <= c1_bad;
    c2_bad_q    <= c2_bad;
    eps_bad_q   <= eps_bad;
    tau_bad_q   <= tau_bad;
    shift_bad_q <= shift_bad;
    for (int unsigned k = 0; k < RULES; k++) found_q2[k] <= lowest(rules_q[k]);
    found_q2[RULES] <= lowest(address);
    known_q2 <= known_q;
    if (noise_bad_q)    register_q2 <= jd_qat_map_pkg::CFG_OFFSET;
    else if (c1_bad_q)  register_q2 <= jd_qat_map_pkg::B1C_OFFSET;
    else if (c2_bad_q)  register_q2 <= jd_qat_map_pkg::B2C_OFFSET;
    else if (eps_bad_q) register_q2 <= jd_qat_map_pkg::EPS_OFFSET;
    else if (tau_bad_q) register_q2 <= jd_qat_map_pkg::TAU_OFFSET;
    else if (shift_bad_q != '0) begin
      register_q2 <= jd_qat_map_pkg::SHIFT_OFFSET
                     + 12'({lowest({8'd0, shift_bad_q})[3:0], 2'b00});
    end else begin
      register_q2 <= '0;
    end
    code_o  <= code;
    place_o <= place;
  end
endmodule : jd_qat_check
