// SPDX-License-Identifier: Apache-2.0
//
// Adds a tensor to columns of a tile, or none, and takes them to the activation store: LIN.
//
// Streams  start_i: an instruction, before its columns; done_o is high for one clock when all is
//          written. soon_i, columns_i: see jd_sparse_columns. read_*, write_*: client of
//          jd_sparse_store that never waits.
// Timing   Channels columns per clock. They are written READ_LATENCY + AddLatency + 1 clocks after
//          soon_i.
// Numbers  FP16, rounded once. With SECOND the columns from the split on go to tensor B.
// Source   LearningGroup III-A (aggregator). Golden model: models/sparse/machine.py, _elementwise.
`include "jd_assert.svh"
module jd_sparse_lin
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Channels   = 4,     // 1, 2, 4, 8
  parameter int unsigned AddLatency = 4      // 1..4
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  output logic                             done_o,
  input  logic                             soon_valid_i,
  input  columns_t                         soon_i,
  input  logic [Channels-1:0][TUPLE_W-1:0] columns_i,     // READ_LATENCY clocks later
  output logic [NEURONS-1:0]               read_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] read_line_o,
  input  logic [NEURONS-1:0][TUPLE_W-1:0]  read_data_i,
  output logic [NEURONS-1:0]               write_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] write_line_o,
  output logic [NEURONS-1:0][TUPLE_W-1:0]  write_data_o
);
  logic             addend_q, second_q;
  logic [2:0]       b_skew_q, d_skew_q;
  logic [DIM_W-1:0] split_q;
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      addend_q <= instruction_i.flags.addend;
      second_q <= instruction_i.flags.second;
      b_skew_q <= instruction_i.b.skew;
      d_skew_q <= instruction_i.d.skew;
      split_q  <= instruction_i.value;
    end
  end

  // ---- The addend, read as the columns come
  // Channel c of a column n is bank (n + skew) mod 8 of its line.
  function automatic logic [2:0] bank_of(input logic [DIM_W-1:0] column, input int unsigned c,
                                         input logic [2:0] skew);
    return 3'(column) + 3'(c) + skew;
  endfunction
  logic                             columns_valid, final_valid, end_valid;
  columns_t                         end_work;
  logic [Channels-1:0][TUPLE_W-1:0] addends, sums;
  logic [2:0]                       addend_bank_q, addend_bank_q2;
  always_comb begin
    read_en_o   = '0;
    read_line_o = {NEURONS{soon_i.other_line + A_LINE_W'(soon_i.column >> 3)}};
    for (int unsigned c = 0; c < Channels; c++) begin
      read_en_o[bank_of(soon_i.column, c, b_skew_q)] = soon_valid_i && addend_q && soon_i.mask[c];
    end
  end
  always_ff @(posedge clk_i) begin
    addend_bank_q  <= bank_of(soon_i.column, 0, b_skew_q);
    addend_bank_q2 <= addend_bank_q;
  end
  always_comb begin
    for (int unsigned c = 0; c < Channels; c++) begin
      logic [2:0] memory;
      memory     = addend_bank_q2 + 3'(c);
      addends[c] = read_data_i[memory];
    end
  end
  jd_delay #(.Width (1), .Cycles (READ_LATENCY)) u_valid (
    .clk_i, .rst_ni, .in_i (soon_valid_i), .out_o (columns_valid)
  );
  jd_sparse_halves #(.Channels (Channels), .Latency (AddLatency)) u_addend (
    .clk_i, .rst_ni,
    .valid_i  (columns_valid),
    .add_i    (addend_q),
    .a_i      (columns_i),
    .b_i      (addends),
    .valid_o  (final_valid),
    .result_o (sums)
  );

  // ---- To the store
  jd_delay #(
    .Width (1 + $bits(columns_t)), .Cycles (READ_LATENCY + AddLatency)
  ) u_to_end (
    .clk_i, .rst_ni, .in_i ({soon_valid_i, soon_i}), .out_o ({end_valid, end_work})
  );
  logic             to_b;
  logic [DIM_W-1:0] after_split;
  logic [2:0]       skew;
  assign to_b = second_q && end_work.column >= split_q;
  assign after_split = end_work.column - split_q;
  assign skew = to_b ? b_skew_q : d_skew_q;
  always_ff @(posedge clk_i) begin
    write_en_o <= '0;
    done_o     <= rst_ni && end_valid && end_work.last;
    for (int unsigned c = 0; c < Channels; c++) begin
      write_en_o[bank_of(end_work.column, c, skew)]   <= rst_ni && end_valid && end_work.mask[c];
      write_data_o[bank_of(end_work.column, c, skew)] <= sums[c];
    end
    write_line_o <= {NEURONS{to_b ? end_work.other_line + A_LINE_W'(after_split >> 3)
                                  : end_work.d_line + A_LINE_W'(end_work.column >> 3)}};
  end

  `JD_ASSERT(InStep_A, final_valid == end_valid)
endmodule : jd_sparse_lin
