// SPDX-License-Identifier: Apache-2.0
//
// The judge of a chunk on the memories of its cores, which a test fills and reads beside it.
//
// Streams  those of jd_qat_judge; put_*: a line of the chosen cores, get_*: a line of all cores, shown 3
//          clocks later; not while the judge is at work.
// Timing   that of the block.
// Numbers  those of the block.
// Source   docs/qat.md.
module jd_qat_judge_bench
  import jd_qat_pkg::*;
#(
  parameter int unsigned Lw       = 4,
  parameter int unsigned N        = 2,
  parameter int unsigned Slots    = 8,
  parameter int unsigned ActLines = 12,
  parameter int unsigned DelLines = 5
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,
  input  logic                             start_i,
  output logic                             idle_o,
  input  logic                             actor_i,
  input  logic [2:0]                       actor_scale_i,
  input  logic [3:0]                       scale_i,
  input  logic                             weighted_i,
  input  logic [VECTORS_W-1:0]             vectors_i,
  input  logic                             common_i,
  input  logic [PLACE_W-1:0]               next_line_i,
  input  logic [PLACE_W-1:0]               q_line_i,
  input  logic [PLACE_W-1:0]               misc_line_i,
  input  logic [PLACE_W-1:0]               delta_line_i,
  output logic                             read_valid_o,
  output logic                             line_valid_o,
  input  logic                             line_ready_i,
  output logic                             td_valid_o,
  input  logic                             td_ready_i,
  output logic [WORD_W-1:0]                td_data_o,
  output logic [$clog2(3*N+1)-1:0]         over_o,
  input  logic                             sums_clear_i,
  output logic [63:0]                      sum_q_o,
  output logic [63:0]                      sum_td_o,
  output logic [31:0]                      count_o,
  input  logic                             put_valid_i,
  input  logic [N-1:0]                     put_cores_i,
  input  logic                             put_delta_i,
  input  logic                             put_odd_i,
  input  logic [ADDRESS_W-1:0]             put_address_i,
  input  logic [Lw-1:0][WORD_W-1:0]        put_data_i,
  input  logic                             get_valid_i,
  input  logic                             get_delta_i,
  input  logic                             get_odd_i,
  input  logic [ADDRESS_W-1:0]             get_address_i,
  output logic [N-1:0][Lw-1:0][WORD_W-1:0] get_data_o
);
  logic                             delta, odd, valid;
  logic [ADDRESS_W-1:0]             read_address, address;
  logic [N-1:0]                     cores;
  logic [N-1:0][Lw-1:0][WORD_W-1:0] data;
  jd_qat_judge #(.Lw (Lw), .N (N), .ActLines (ActLines), .DelLines (DelLines)) u_judge (
    .clk_i, .rst_ni, .clear_i, .start_i, .idle_o, .actor_i, .actor_scale_i, .scale_i, .weighted_i,
    .vectors_i, .common_i, .next_line_i, .q_line_i, .misc_line_i, .delta_line_i, .read_valid_o,
    .read_address_o (read_address),
    .lines_i        (get_data_o),
    .line_valid_o, .line_ready_i,
    .line_cores_o   (cores),
    .line_delta_o   (delta),
    .line_odd_o     (odd),
    .line_address_o (address),
    .line_data_o    (data),
    .td_valid_o, .td_ready_i, .td_data_o, .over_o, .sums_clear_i, .sum_q_o, .sum_td_o, .count_o
  );
  assign valid = line_valid_o && line_ready_i;

  logic get_delta_q2, get_odd_q2;
  jd_delay #(.Width (2), .Cycles (2), .Clear (1'b0)) u_get (
    .clk_i, .rst_ni, .in_i ({get_valid_i && get_delta_i, get_odd_i}),
    .out_o ({get_delta_q2, get_odd_q2})
  );
  for (genvar c = 0; c < N; c++) begin : gen_core
    logic [Lw-1:0][WORD_W-1:0]      act_line, line;
    logic [1:0][Lw-1:0][WORD_W-1:0] del_line;
    logic                           takes, into_delta, unused_ready, unused_tail, unused_del_tail;
    logic                           unused_del_ready;
    assign takes      = put_valid_i ? put_cores_i[c] : valid && cores[c];
    assign into_delta = put_valid_i ? put_delta_i : delta;
    assign line       = put_valid_i ? put_data_i : data[c];
    jd_qat_actmem #(.Lw (Lw), .Lines (Slots * ActLines)) u_act (
      .clk_i, .rst_ni,
      .read_en_i       (read_valid_o || (get_valid_i && !get_delta_i)),
      .read_address_i  (read_valid_o ? read_address : get_address_i),
      .read_data_o     (act_line),
      .entry_valid_i   (1'b0),
      .entry_address_i ('0),
      .entry_data_i    ('0),
      .tail_valid_i    (1'b0),
      .tail_ready_o    (unused_tail),
      .tail_address_i  ('0),
      .tail_mask_i     ('0),
      .tail_half_i     ('0),
      .tail_data_i     ('0),
      .load_valid_i    (takes && !into_delta),
      .load_ready_o    (unused_ready),
      .load_address_i  (put_valid_i ? put_address_i : address),
      .load_half_i     (2'b11),
      .load_data_i     (line)
    );
    jd_qat_delmem #(.Lw (Lw), .Lines (Slots / 2 * DelLines)) u_del (
      .clk_i, .rst_ni,
      .read_en_i       ({get_odd_i, !get_odd_i} & {2{get_valid_i && get_delta_i}}),
      .read_address_i  ({get_address_i, get_address_i}),
      .read_data_o     (del_line),
      .entry_valid_i   (1'b0),
      .entry_half_i    (1'b0),
      .entry_address_i ('0),
      .entry_data_i    ('0),
      .tail_valid_i    (1'b0),
      .tail_ready_o    (unused_del_tail),
      .tail_half_i     (1'b0),
      .tail_address_i  ('0),
      .tail_data_i     ('0),
      .load_valid_i    (takes && into_delta),
      .load_ready_o    (unused_del_ready),
      .load_half_i     (put_valid_i ? put_odd_i : odd),
      .load_address_i  (put_valid_i ? put_address_i : address),
      .load_data_i     (line)
    );
    always_ff @(posedge clk_i) get_data_o[c] <= get_delta_q2 ? del_line[get_odd_q2] : act_line;
  end
endmodule : jd_qat_judge_bench
