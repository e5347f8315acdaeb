// SPDX-License-Identifier: Apache-2.0
//
// The array of a core: LW x LW processing elements, and a tree of adders for each column.
//
//            column j: weights, deltas
//                 v
//   row i ->  PE(i,j)          forward: PE(i,j) has the weight of output j and input i
//                 v            dX:      of output i and input j
//            tree of lane sums dW:      sums delta j times activation i, and shifts out along row i
//
// Streams  entry_*: the operands of an entry. load_*: a line of weights. sums_*: the column sums of
//          an entry of a forward pass or of dX. drain_*: columns of dW, one output of the tile
//          after another. Pipes: valid only, no stall.
// Timing   Column sums come 7 clocks after their entry: operands 1, products 2, tree 4. One entry
//          per clock in any mode. Weights that were loaded before an entry with entry_swap_i are
//          active from that entry on; a line that is loaded in the same clock belongs to the next
//          tile. The first drained column shows in the 4th clock after the entry that closes a tile
//          of dW, then one column per clock, drain_rows_i in all. Tiles of dW close at least LW
//          clocks apart.
// Numbers  see jd_qat_pe; the lane sums of a column are exact in 48 bits and log2(LW) more. Lines
//          of a tile that are not loaded count as 0.
// Source   FIXAR V-A, V-B (adaptive array processing core); docs/qat.md. Golden model:
//          models/qat/ops.py.
`include "jd_assert.svh"
module jd_qat_array
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw     = 16,       // rows and columns: 4, 8, 16
  localparam int unsigned IndexW = $clog2(Lw),
  localparam int unsigned SumW   = PRODUCT_W + IndexW
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  // Weights
  input  logic                        load_valid_i,
  input  logic                        load_by_row_i,    // row load_index_i takes the line
  input  logic [IndexW-1:0]           load_index_i,
  input  logic                        load_opens_i,     // of its tile: the others become 0
  input  logic [Lw-1:0][WORD_W-1:0]   load_line_i,
  // Entries
  input  logic                        entry_valid_i,
  input  logic                        entry_swap_i,     // it is the first with the weights loaded
  input  logic                        entry_half_i,
  input  logic                        entry_gradient_i, // of dW
  input  logic                        entry_opens_i,    // dW: first of its tile
  input  logic                        entry_closes_i,   // dW: last of its tile
  input  logic [Lw-1:0][WORD_W-1:0]   entry_row_i,
  input  logic [1:0][Lw-1:0][WORD_W-1:0] entry_column_i,   // dW: deltas of both lanes
  output logic                        sums_valid_o,
  output logic [Lw-1:0][SumW-1:0]     sums_low_o,
  output logic [Lw-1:0][SumW-1:0]     sums_high_o,
  // Gradients
  input  logic [IndexW:0]             drain_rows_i,     // with entry_closes_i: columns of the tile
  output logic                        drain_valid_o,
  output logic [IndexW-1:0]           drain_index_o,    // of the column
  output logic [Lw-1:0][1:0][ACC_W-1:0] drain_o           // of row i: low and high sum
);
  if (!(Lw inside {4, 8, 16})) begin : gen_bad_lw
    $fatal(1, "jd_qat_array: Lw=%0d, want 4, 8 or 16", Lw);
  end

  // ---- Operands
  logic                           valid_q, swap, half_q, gradient_q, opens_q;
  logic [Lw-1:0][WORD_W-1:0]      row_q;
  logic [1:0][Lw-1:0][WORD_W-1:0] column_q;
  assign swap = entry_valid_i && entry_swap_i;
  always_ff @(posedge clk_i) begin
    valid_q <= rst_ni && entry_valid_i;
    if (entry_valid_i) begin
      half_q     <= entry_half_i;
      gradient_q <= entry_gradient_i;
      opens_q    <= entry_opens_i;
      row_q      <= entry_row_i;
    end
    if (entry_valid_i && entry_gradient_i) column_q <= entry_column_i;
  end

  // ---- Drain: the sums of a closed tile are moved when they are whole
  localparam int unsigned WholeAfter = 3;       // clocks after the entry
  logic            move, shift_q;
  logic [IndexW:0] rows, left_q;
  jd_delay #(.Width (1), .Cycles (WholeAfter)) u_move (
    .clk_i, .rst_ni,
    .in_i  (entry_valid_i && entry_gradient_i && entry_closes_i),
    .out_o (move)
  );
  jd_delay #(.Width (IndexW + 1), .Cycles (WholeAfter), .Clear (1'b0)) u_rows (
    .clk_i, .rst_ni,
    .in_i  (drain_rows_i),
    .out_o (rows)
  );
  assign shift_q       = left_q != '0;
  assign drain_valid_o = shift_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      left_q <= '0;
    end else begin
      if (move)         left_q <= rows;
      else if (shift_q) left_q <= left_q - 1'b1;
    end
    if (move)         drain_index_o <= '0;
    else if (shift_q) drain_index_o <= drain_index_o + 1'b1;
  end

  // ---- Elements
  logic [Lw-1:0][Lw-1:0][1:0][PRODUCT_W-1:0] product;      // [column][row]
  logic [Lw:0][Lw-1:0][1:0][ACC_W-1:0]       drained;      // [column][row]
  assign drained[Lw] = '0;
  assign drain_o     = drained[0];
  for (genvar j = 0; j < Lw; j++) begin : gen_column
    for (genvar i = 0; i < Lw; i++) begin : gen_row
      logic taken;
      assign taken = load_by_row_i ? load_index_i == IndexW'(i) : load_index_i == IndexW'(j);
      jd_qat_pe u_pe (
        .clk_i, .rst_ni,
        .load_i      (load_valid_i && (taken || load_opens_i)),
        .load_word_i (!taken ? '0 : load_by_row_i ? load_line_i[j] : load_line_i[i]),
        .swap_i      (swap),
        .valid_i     (valid_q),
        .half_i      (half_q),
        .gradient_i  (gradient_q),
        .opens_i     (opens_q),
        .row_i       (row_q[i]),
        .column_i    ({column_q[1][j], column_q[0][j]}),
        .product_o   (product[j][i]),
        .move_i      (move),
        .shift_i     (shift_q),
        .drain_i     (drained[j+1][i]),
        .drain_o     (drained[j][i])
      );
    end
  end

  // ---- Column trees
  logic                                    product_valid;
  logic [2*Lw-1:0][Lw-1:0][SumW-1:0]       terms;
  logic [2*Lw-1:0][SumW-1:0]               sums;
  jd_delay #(.Width (1), .Cycles (2)) u_products (
    .clk_i, .rst_ni,
    .in_i  (valid_q && !gradient_q),
    .out_o (product_valid)
  );
  always_comb begin
    for (int unsigned j = 0; j < Lw; j++) begin
      for (int unsigned i = 0; i < Lw; i++) begin
        terms[j][i]      = SumW'($signed(product[j][i][0]));
        terms[Lw + j][i] = SumW'($signed(product[j][i][1]));
      end
    end
  end
  jd_reduce #(
    .Groups    (2 * Lw),
    .Items     (Lw),
    .Width     (SumW),
    .Operation (0),
    .Latency   (4)
  ) u_trees (
    .clk_i, .rst_ni,
    .valid_i  (product_valid),
    .items_i  (terms),
    .valid_o  (sums_valid_o),
    .result_o (sums)
  );
  assign {sums_high_o, sums_low_o} = sums;

  `JD_ASSUME_IF(RowsInRange_M, entry_valid_i && entry_gradient_i && entry_closes_i,
                drain_rows_i != '0 && 32'(drain_rows_i) <= Lw)
  `JD_ASSERT_IF(Drained_A, move, left_q <= (IndexW + 1)'(1))
endmodule : jd_qat_array
