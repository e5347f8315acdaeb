// SPDX-License-Identifier: Apache-2.0
//
// The parameter memory: weights with their mean squares, in 64 banks.
//
//   word (m, n) of a layer: bank (m + n) mod 64, line (base + m * pitch + n) / 64
//
// Streams  put_*: a beat of an image, up to 16 words from bank put_first_i on, around the end of the
//          line; get_*: the same to read. gather_*: two words of each bank for jd_sparse_lau.
//          update_*: words of different banks for jd_sparse_update, {mean square, weight}. Only one of
//          them uses the memory at a time.
// Timing   A beat per clock. get_data_o comes two clocks after get_i, gather_data_o one, update_data_o
//          UPDATE_LATENCY clocks after its request. A word of an update is written in two clocks.
// Numbers  bits, unchanged. put_weights_i writes weights, and mean squares +0; else the words are mean
//          squares.
// Source   LearningGroup III-C; docs/sparse.md (load allocation). Golden model:
//          models/sparse/machine.py, weights.
`include "jd_assert.svh"
module jd_sparse_params
  import jd_sparse_pkg::*;
#(
  parameter int unsigned PWords   = 262144,      // a multiple of 64
  parameter int unsigned OptLanes = 6            // words of an update per clock, 1..8
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  input  logic                                     put_i,
  input  logic                                     put_weights_i,
  input  logic [P_LINE_W-1:0]                      put_line_i,
  input  logic [5:0]                               put_first_i,     // bank of word 0
  input  logic [4:0]                               put_count_i,     // words, 1..16
  input  logic [BEAT_WORDS-1:0][SINGLE_W-1:0]      put_data_i,
  input  logic                                     get_i,
  input  logic                                     get_weights_i,
  input  logic [P_LINE_W-1:0]                      get_line_i,
  input  logic [5:0]                               get_first_i,
  output logic [BEAT_WORDS-1:0][SINGLE_W-1:0]      get_data_o,
  input  logic [1:0][WORD_BANKS-1:0]               gather_en_i,
  input  logic [1:0][WORD_BANKS-1:0][P_LINE_W-1:0] gather_line_i,
  output logic [1:0][WORD_BANKS-1:0][SINGLE_W-1:0] gather_data_o,
  input  word_place_t [OptLanes-1:0]               update_read_i,
  output logic [OptLanes-1:0][1:0][SINGLE_W-1:0]   update_data_o,
  input  word_place_t [OptLanes-1:0]               update_write_i,
  input  logic [OptLanes-1:0][1:0][SINGLE_W-1:0]   update_new_i
);
  localparam int unsigned Lines = PWords / WORD_BANKS;
  localparam int unsigned LineW = Lines > 1 ? $clog2(Lines) : 1;
  if (PWords < WORD_BANKS || PWords % WORD_BANKS != 0 || PWords > 262144) begin : gen_bad_size
    $fatal(1, "jd_sparse_params: PWords=%0d, want a multiple of 64 up to 262144", PWords);
  end

  // ---- A beat to write: word i goes to bank first + i, so to lane (first + i) mod 16 of four
  logic                                put_q, put_weights_q;
  logic [P_LINE_W-1:0]                 put_line_q;
  logic [WORD_BANKS-1:0]               put_banks_q;
  logic [BEAT_WORDS-1:0][SINGLE_W-1:0] put_data_q;
  always_ff @(posedge clk_i) begin
    put_q         <= rst_ni && put_i;
    put_weights_q <= put_weights_i;
    put_line_q    <= put_line_i;
    for (int unsigned lane = 0; lane < BEAT_WORDS; lane++) begin
      put_data_q[lane] <= put_data_i[4'(lane) - put_first_i[3:0]];
    end
    for (int unsigned b = 0; b < WORD_BANKS; b++) begin
      put_banks_q[b] <= 6'(b) - put_first_i < 6'(put_count_i);
    end
  end

  // ---- A beat that is read: one bank of each four
  logic                                          get_weights_q;
  logic [5:0]                                    get_first_q;
  logic [3:0]                                    get_turn_q;
  logic [BEAT_WORDS-1:0][SINGLE_W-1:0]           lanes_q;
  logic [WORD_BANKS-1:0][1:0][SINGLE_W-1:0]      first;       // mean square, weight
  logic [WORD_BANKS-1:0][SINGLE_W-1:0]           second;
  always_ff @(posedge clk_i) begin
    get_weights_q <= get_weights_i;
    get_first_q   <= get_first_i;
    get_turn_q    <= get_first_q[3:0];
    for (int unsigned lane = 0; lane < BEAT_WORDS; lane++) begin
      logic [1:0] high;
      high = get_first_q[5:4] + 2'(4'(lane) < get_first_q[3:0]);
      lanes_q[lane] <= first[{high, 4'(lane)}][!get_weights_q];
    end
  end
  always_comb begin
    for (int unsigned i = 0; i < BEAT_WORDS; i++) get_data_o[i] = lanes_q[4'(i) + get_turn_q];
  end

  // ---- Words of an update: which lane at which bank 1, read 2, chosen 3
  localparam int unsigned LaneW = (OptLanes > 1) ? $clog2(OptLanes) : 1;
  logic [WORD_BANKS-1:0]                    read_q, write_q;
  logic [WORD_BANKS-1:0][LaneW-1:0]         read_lane_q, write_lane_q;
  logic [OptLanes-1:0][P_LINE_W-1:0]        read_line_q, write_line_q;
  logic [OptLanes-1:0][1:0][SINGLE_W-1:0]   new_q;
  logic [UPDATE_LATENCY-1:1][OptLanes-1:0][5:0] bank_q;
  logic                                     updates, clash;
  always_ff @(posedge clk_i) begin
    for (int unsigned b = 0; b < WORD_BANKS; b++) begin
      read_q[b]  <= 1'b0;
      write_q[b] <= 1'b0;
      for (int unsigned k = 0; k < OptLanes; k++) begin
        if (update_read_i[k].valid && update_read_i[k].bank == 6'(b)) begin
          read_q[b]      <= rst_ni;
          read_lane_q[b] <= LaneW'(k);
        end
        if (update_write_i[k].valid && update_write_i[k].bank == 6'(b)) begin
          write_q[b]      <= rst_ni;
          write_lane_q[b] <= LaneW'(k);
        end
      end
    end
    new_q <= update_new_i;
    for (int unsigned k = 0; k < OptLanes; k++) begin
      read_line_q[k]  <= update_read_i[k].line;
      write_line_q[k] <= update_write_i[k].line;
      bank_q[1][k]    <= update_read_i[k].bank;
      for (int unsigned t = 2; t < UPDATE_LATENCY; t++) bank_q[t][k] <= bank_q[t-1][k];
      update_data_o[k] <= first[bank_q[UPDATE_LATENCY-1][k]];
    end
  end
  always_comb begin
    clash   = 1'b0;
    updates = read_q != '0 || write_q != '0;
    for (int unsigned k = 0; k < OptLanes; k++) begin
      updates = updates || update_read_i[k].valid || update_write_i[k].valid;
      for (int unsigned j = 0; j < k; j++) begin
        clash = clash
                || (update_read_i[j].valid && update_read_i[k].valid
                    && update_read_i[j].bank == update_read_i[k].bank)
                || (update_write_i[j].valid && update_write_i[k].valid
                    && update_write_i[j].bank == update_write_i[k].bank);
      end
    end
  end

  // ---- Banks, weights twice for two read ports
  for (genvar b = 0; b < WORD_BANKS; b++) begin : gen_bank
    logic                     write;
    logic [1:0]               write_mask;
    logic [LineW-1:0]         read_line, write_line;
    logic [1:0][SINGLE_W-1:0] word;
    assign write      = write_q[b] || (put_q && put_banks_q[b]);
    assign write_mask = {1'b1, put_weights_q || write_q[b]};
    assign write_line = write_q[b] ? LineW'(write_line_q[write_lane_q[b]]) : LineW'(put_line_q);
    assign read_line  = read_q[b] ? LineW'(read_line_q[read_lane_q[b]])
                                  : get_i ? LineW'(get_line_i) : LineW'(gather_line_i[0][b]);
    always_comb begin
      word = {put_weights_q ? '0 : put_data_q[b%BEAT_WORDS], put_data_q[b%BEAT_WORDS]};
      if (write_q[b]) word = new_q[write_lane_q[b]];
    end
    jd_mem_1r1w #(.Depth (Lines), .Lanes (2), .LaneW (SINGLE_W), .Ultra (1'b1)) u_first (
      .clk_i, .rst_ni,
      .write_en_i   (write),
      .write_addr_i (write_line),
      .write_mask_i (write_mask),
      .write_data_i (word),
      .read_en_i    (read_q[b] || get_i || gather_en_i[0][b]),
      .read_addr_i  (read_line),
      .read_data_o  (first[b])
    );
    jd_mem_1r1w #(.Depth (Lines), .LaneW (SINGLE_W), .Ultra (1'b1)) u_second (
      .clk_i, .rst_ni,
      .write_en_i   (write && write_mask[0]),
      .write_addr_i (write_line),
      .write_mask_i (1'b1),
      .write_data_i (word[0]),
      .read_en_i    (gather_en_i[1][b]),
      .read_addr_i  (LineW'(gather_line_i[1][b])),
      .read_data_o  (second[b])
    );
    assign gather_data_o[0][b] = first[b][0];
    assign gather_data_o[1][b] = second[b];
  end

  `JD_ASSUME_IF(OneReader_M, get_i, gather_en_i[0] == '0)
  `JD_ASSUME_IF(UpdateAlone_M, updates, !get_i && !put_i && !put_q && gather_en_i == '0)
  `JD_ASSUME(UpdateBanks_M, !clash)
endmodule : jd_sparse_params
