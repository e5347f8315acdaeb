// SPDX-License-Identifier: Apache-2.0
//
// The processing elements of a compute unit and the buffers that feed them: line buffers, lane
// buffer, parameter buffer.
//
// Streams  none: an issue, drain, preload or write takes one clock, and nothing stalls.
// Timing   A product is part of its sum 6 + MulLatency + AddLatency + 1 clocks after issue_i.
//          drain_data_o is valid one clock after its drain and holds.
//          clock 0 pointers | 1 memories | 3 parameters, lanes | 4 words | 5 factors | 6 elements
// Numbers  those of jd_a3c_pe. Element 16*s + k has lane 16*(s mod lanes/16) + k of group
//          s / (lanes/16).
// Source   FA3C (ASPLOS 2019) section 4.2 (compute unit), 4.5. a3c 6.1, 7.2.
`include "jd_assert.svh"
module jd_a3c_array
  import jd_a3c_tile_pkg::ONE;
  import jd_a3c_issue_pkg::*;
#(
  parameter  int unsigned Pes           = 16,     // processing elements: 16, 32, 64 or 128
  parameter  int unsigned MulLatency    = 3,      // 1..4
  parameter  int unsigned AddLatency    = 4,      // 2..8
  parameter  int unsigned ParameterRows = 512,    // of the parameter buffer, a power of two
  localparam int unsigned SEGS          = Pes / 16,
  localparam int unsigned EntryW        = $clog2(ParameterRows)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  issue_t                 issue_i,
  input  logic [SEGS-1:0][7:0]   pointer_i,       // with it
  input  logic [SEGS-1:0][15:0]  enable_i,
  // Sums
  input  logic                   drain_valid_i,
  input  logic                   drain_half_i,
  input  logic [4:0]             drain_sum_i,
  output logic [SEGS-1:0][511:0] drain_data_o,
  input  logic [SEGS-1:0]        preload_valid_i,
  input  logic                   preload_half_i,
  input  logic [4:0]             preload_sum_i,
  input  logic [511:0]           preload_data_i,
  // Buffers
  input  logic [SEGS-1:0]        stitch_valid_i,
  input  logic                   stitch_half_i,
  input  logic [7:0]             stitch_offset_i,
  input  logic [511:0]           stitch_data_i,
  input  logic [SEGS-1:0]        lane_valid_i,
  input  logic                   lane_half_i,
  input  logic [5:0]             lane_entry_i,
  input  logic [511:0]           lane_data_i,
  input  logic                   parameter_valid_i,
  input  logic [EntryW-1:0]      parameter_entry_i,
  input  logic [511:0]           parameter_data_i
);
  localparam int unsigned SegsLog2 = $clog2(SEGS);

  // ---- Issues on their way; element k is k clocks old
  issue_t                issue_q [1:5];
  logic [SEGS-1:0][15:0] enable_q [1:5];
  always_ff @(posedge clk_i) begin
    issue_q[1]  <= issue_i;
    enable_q[1] <= enable_i;
    for (int unsigned k = 2; k <= 5; k++) begin
      issue_q[k]  <= issue_q[k-1];
      enable_q[k] <= enable_q[k-1];
    end
    if (!rst_ni) for (int unsigned k = 1; k <= 5; k++) issue_q[k].valid <= 1'b0;
  end

  // ---- Line buffers, one a group
  logic [SEGS-1:0][31:0] words;
  for (genvar m = 0; m < SEGS; m++) begin : gen_line
    jd_mem_line_buffer u_line (
      .clk_i, .rst_ni,
      .stitch_valid_i  (stitch_valid_i[m]),
      .stitch_half_i   (stitch_half_i),
      .stitch_offset_i (stitch_offset_i),
      .stitch_data_i   (stitch_data_i),
      .load_i          (issue_i.valid && !issue_i.one),
      .pointer_i       (pointer_i[m]),
      .shift_i         ('0),
      .read_valid_i    (issue_q[1].valid && !issue_q[1].one),
      .read_half_i     (issue_q[1].line_half),
      .word_o          (words[m])
    );
  end

  // ---- Lane buffer and parameter buffer: banks of 16 words
  logic [SEGS-1:0][511:0] lane_words, parameters;
  logic                   parameter_read, lane_read;
  assign parameter_read = issue_q[1].valid && !issue_q[1].lane;
  assign lane_read      = issue_q[1].valid && issue_q[1].lane;
  localparam int unsigned BANK_ROWS = ParameterRows / SEGS;
  for (genvar s = 0; s < SEGS; s++) begin : gen_bank
    jd_mem_1r1w #(.Depth (128), .Lanes (1), .LaneW (512), .ReadLatency (2)) u_lanes (
      .clk_i, .rst_ni,
      .write_en_i   (lane_valid_i[s]),
      .write_addr_i ({lane_half_i, lane_entry_i}),
      .write_mask_i (1'b1),
      .write_data_i (lane_data_i),
      .read_en_i    (lane_read),
      .read_addr_i  ({issue_q[1].lane_half, issue_q[1].entry}),
      .read_data_o  (lane_words[s])
    );
    logic write;
    if (SEGS > 1) begin : gen_choice
      assign write = parameter_valid_i && parameter_entry_i[SegsLog2-1:0] == SegsLog2'(s);
    end else begin : gen_one
      assign write = parameter_valid_i;
    end
    jd_mem_1r1w #(
      .Depth (BANK_ROWS), .Lanes (1), .LaneW (512), .ReadLatency (2), .Ultra (BANK_ROWS >= 2048)
    ) u_parameters (
      .clk_i, .rst_ni,
      .write_en_i   (write),
      .write_addr_i (parameter_entry_i[EntryW-1:SegsLog2]),
      .write_mask_i (1'b1),
      .write_data_i (parameter_data_i),
      .read_en_i    (parameter_read),
      .read_addr_i  (issue_q[1].position[EntryW-1:SegsLog2]),
      .read_data_o  (parameters[s])
    );
  end

  // ---- Factors: of lanes, of groups
  logic [SEGS-1:0][511:0] a_q4, a_q5;
  logic [SEGS-1:0][31:0]  b_q5;
  always_ff @(posedge clk_i) begin
    for (int unsigned s = 0; s < SEGS; s++) begin
      logic [2:0] place, bank, group;
      place = 3'(s) & ~(3'b111 << issue_q[3].lanes);
      bank  = (3'(issue_q[3].position) & 3'(SEGS - 1)) | place;
      if (issue_q[3].valid) begin
        a_q4[s] <= issue_q[3].lane ? lane_words[place[(SegsLog2 > 0 ? SegsLog2 - 1 : 0):0]]
                                   : parameters[bank[(SegsLog2 > 0 ? SegsLog2 - 1 : 0):0]];
      end
      group = 3'(s >> issue_q[4].lanes);
      if (issue_q[4].valid) begin
        a_q5[s] <= a_q4[s];
        b_q5[s] <= issue_q[4].one ? ONE : words[group[(SegsLog2 > 0 ? SegsLog2 - 1 : 0):0]];
      end
    end
  end

  // ---- Elements
  for (genvar s = 0; s < SEGS; s++) begin : gen_segment
    for (genvar k = 0; k < 16; k++) begin : gen_element
      jd_a3c_pe #(
        .Contexts (32), .MulLatency (MulLatency), .AddLatency (AddLatency)
      ) u_pe (
        .clk_i, .rst_ni,
        .valid_i           (issue_q[5].valid),
        .enable_i          (enable_q[5][s][k]),
        .first_i           (issue_q[5].fresh),
        .half_i            (issue_q[5].half),
        .context_i         (issue_q[5].index),
        .a_i               (a_q5[s][32*k+:32]),
        .b_i               (b_q5[s]),
        .drain_valid_i     (drain_valid_i),
        .drain_half_i      (drain_half_i),
        .drain_context_i   (drain_sum_i),
        .drain_data_o      (drain_data_o[s][32*k+:32]),
        .preload_valid_i   (preload_valid_i[s]),
        .preload_half_i    (preload_half_i),
        .preload_context_i (preload_sum_i),
        .preload_data_i    (preload_data_i[32*k+:32])
      );
    end
  end

  // ---- Checks
  logic [EntryW-1:0] read_entry;
  assign read_entry = issue_q[1].position[EntryW-1:0];
  `JD_ASSUME_IF(LanesFit_M, issue_i.valid, issue_i.lanes <= 2'(SegsLog2))
  `JD_ASSUME_IF(LaneHalvesApart_M, lane_valid_i != '0 && lane_read,
                lane_half_i != issue_q[1].lane_half)
  // UltraRAM does not tell a word that is being written.
  `JD_ASSUME_IF(ParameterApart_M, parameter_valid_i && parameter_read,
                (parameter_entry_i >> issue_q[1].lanes) != (read_entry >> issue_q[1].lanes))
endmodule : jd_a3c_array
