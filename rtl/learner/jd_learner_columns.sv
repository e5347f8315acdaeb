// SPDX-License-Identifier: Apache-2.0
//
// Writes the transposed copy of some columns of a network's first layer. A DOT stage reads this
// copy to take gradients to the inputs of these columns, for example to the actions.
//
// Streams  start_i gives the network's layout. done_o is high for one clock when the last word is
//          written. Data of master memory w are valid two clocks after the address. The words go to
//          the pipelines as a pipe.
// Timing   A word per clock, column by column, and 8 clocks more.
// Numbers  bits, unchanged. Word j of row c of the copy is weight (j, column + c). Rows of the copy
//          are packed like those of a layer with n_out inputs.
// Source   learner 5.2 (column copy WT). Golden model: models/learner/layout.py, scatter_columns.
`include "jd_assert.svh"
module jd_learner_columns #(
  parameter  int unsigned P       = 16,   // words of a memory row, power of two 8..128
  parameter  int unsigned LW      = 4,    // words of a group, power of two 1..16, <= P
  parameter  int unsigned MasterW = 12,   // bits of a master memory's address
  localparam int unsigned SubW    = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                start_i,
  // The network, held from start_i to done_o.
  input  logic [15:0]         n_in_i,           // of its first layer
  input  logic [15:0]         n_out_i,
  input  logic [15:0]         column_i,         // first column, and their number
  input  logic [15:0]         columns_i,
  input  logic [15:0]         column_row_i,     // first memory row of the copy
  input  logic [MasterW-1:0]  master_base_i,
  output logic                done_o,
  output logic                master_read_o,
  output logic [MasterW-1:0]  master_addr_o,
  input  logic [LW-1:0][31:0] master_data_i,
  output logic                weight_valid_o,
  output logic [15:0]         weight_row_o,
  output logic [SubW-1:0]     weight_sub_o,
  output logic [LW-1:0]       weight_mask_o,
  output logic [LW-1:0][31:0] weight_data_o
);
  localparam int unsigned LANE_L = $clog2(P);
  localparam int unsigned LW_L   = $clog2(LW);
  localparam int unsigned WordW  = MasterW + LW_L;   // bits of a word's number in its image
  localparam int unsigned CopyW  = 16 + LANE_L;      // and in the weight memory
  localparam int unsigned PickW  = LW_L > 0 ? LW_L : 1;

  // Words of a packed row: whole memory rows, or max(4, next power of two).
  function automatic logic [15:0] pitch_of(input logic [15:0] n_in);
    pitch_of = 16'd4;
    for (int unsigned k = 2; k < LANE_L; k++) if (n_in > 16'(1 << k)) pitch_of = 16'(2 << k);
    if (n_in > 16'(P)) pitch_of = (n_in + 16'(P - 1)) & ~16'(P - 1);
  endfunction

  logic             settle_q, active_q;
  logic [15:0]      pitch_q, copy_pitch_q;
  logic [15:0]      left_q, columns_left_q;          // words left in the column; columns left
  logic [WordW-1:0] word_q, first_q;                 // word of the image; the column's first
  logic [CopyW-1:0] copy_q, copy_first_q;
  logic             column_last, last;
  assign column_last = left_q == '0;
  assign last        = column_last && columns_left_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      settle_q <= 1'b0;
      active_q <= 1'b0;
    end else begin
      settle_q <= start_i;
      active_q <= settle_q || (active_q && !last);
    end
    pitch_q      <= pitch_of(n_in_i);
    copy_pitch_q <= pitch_of(n_out_i);
    if (settle_q) begin
      left_q         <= n_out_i - 16'd1;
      columns_left_q <= columns_i - 16'd1;
      word_q         <= WordW'(column_i);
      first_q        <= WordW'(column_i);
      copy_q         <= {column_row_i, LANE_L'(0)};
      copy_first_q   <= {column_row_i, LANE_L'(0)};
    end else if (active_q) begin
      left_q <= left_q - 16'd1;
      word_q <= word_q + WordW'(pitch_q);
      copy_q <= copy_q + 1'b1;
      if (column_last) begin
        left_q         <= n_out_i - 16'd1;
        columns_left_q <= columns_left_q - 16'd1;
        word_q         <= first_q + 1'b1;
        first_q        <= first_q + 1'b1;
        copy_q         <= copy_first_q + CopyW'(copy_pitch_q);
        copy_first_q   <= copy_first_q + CopyW'(copy_pitch_q);
      end
    end
  end

  // The address is a register. The word that it reads comes two clocks later.
  logic             read_q;
  logic [WordW-1:0] read_word_q;
  logic [CopyW-1:0] read_copy_q;
  logic [MasterW-1:0] address_q;
  logic             here, write_q, last_q, here_last;
  logic [PickW-1:0] pick;
  logic [CopyW-1:0] here_copy, write_copy_q;
  logic [31:0]      data_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) read_q <= 1'b0;
    else         read_q <= active_q;
    last_q      <= active_q && last;
    read_word_q <= word_q;
    read_copy_q <= copy_q;
    address_q   <= master_base_i + MasterW'(word_q >> LW_L);
  end
  assign master_read_o = read_q;
  assign master_addr_o = address_q;
  jd_delay #(.Width (2), .Cycles (2)) u_here (
    .clk_i, .rst_ni, .in_i ({read_q, last_q}), .out_o ({here, here_last})
  );
  jd_delay #(.Width (CopyW + PickW), .Cycles (2), .Clear (1'b0)) u_place (
    .clk_i, .rst_ni,
    .in_i  ({read_copy_q, PickW'(read_word_q & WordW'(LW - 1))}),
    .out_o ({here_copy, pick})
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_q <= 1'b0;
      done_o  <= 1'b0;
    end else begin
      write_q <= here;
      done_o  <= here_last;
    end
    data_q       <= master_data_i[pick];
    write_copy_q <= here_copy;
  end
  assign weight_valid_o = write_q;
  assign weight_row_o   = write_copy_q[LANE_L+:16];
  assign weight_sub_o   = SubW'(write_copy_q[LANE_L-1:0] >> LW_L);
  assign weight_mask_o  = LW'(1) << (write_copy_q[LANE_L-1:0] & LANE_L'(LW - 1));
  assign weight_data_o  = {LW{data_q}};
  `JD_ASSERT_IF(StartWhenIdle_A, start_i, !active_q && !settle_q)
endmodule : jd_learner_columns
