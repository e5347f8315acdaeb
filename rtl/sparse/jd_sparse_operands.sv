// SPDX-License-Identifier: Apache-2.0
//
// Operands and results of the array: which sets there are, which comes next, and whether the
// instruction that is to start fits them.
//
// Streams  entry_i, layer_i: the instruction that is to start; code_o: why it must not, or 0. start_i:
//          it starts. end_i: one ended well. *_room_o: a set can be filled; *_there_o: one can be used.
//          *_set_o, operation_o: of the instruction that is to start.
// Timing   code_o in the same clock; a change shows in the next one.
// Numbers  -
// Source   docs/sparse.md (programs). Golden model: models/sparse/machine.py, can_start, _compute,
//          _elementwise.
`include "jd_assert.svh"
module jd_sparse_operands
  import jd_sparse_pkg::*;
  import jd_sparse_map_pkg::E_DIM, jd_sparse_map_pkg::E_RANGE, jd_sparse_map_pkg::E_STALE;
(
  input  logic       clk_i,
  input  logic       rst_ni,
  input  logic       clear_i,
  input  entry_t     entry_i,
  input  layer_t     layer_i,
  input  logic       stale_i,
  output logic [7:0] code_o,
  input  logic       start_i,
  input  logic       end_i,
  input  running_t   ended_i,
  output logic       x_room_o,
  output logic       y_room_o,
  output logic       r_room_o,
  output logic       x_there_o,
  output logic       y_there_o,
  output logic       r_there_o,
  output logic       fill_set_o,
  output logic       elem_set_o,
  output logic       elem_dx_o,
  output operation_t operation_o
);
  typedef struct packed {
    logic [DIM_W-1:0]              neurons;
    logic [CORES-1:0][TILES_W-1:0] tiles;
  } operand_t;
  typedef struct packed {
    logic [LAYER_W-1:0]            number;
    logic [CORES-1:0][TILES_W-1:0] tiles;
    logic                          dx;
    logic                          row;
  } result_t;
  operand_t x, y, filled;
  result_t  result;
  logic     x_fill_set, x_set, y_fill_set, y_set, r_fill_set;
  assign filled = '{neurons: entry_i.neurons, tiles: entry_i.tiles};
  jd_sparse_pair #(.Width ($bits(operand_t))) u_x (
    .clk_i, .rst_ni, .clear_i,
    .can_fill_o   (x_room_o),
    .fill_i       (start_i && entry_i.op == FX),
    .fill_about_i (filled),
    .fill_set_o   (x_fill_set),
    .filled_i     (end_i && ended_i.op == FX),
    .can_take_o   (x_there_o),
    .take_i       (start_i && entry_i.op[7:4] == FW[7:4]),
    .take_set_o   (x_set),
    .about_o      (x),
    .freed_i      (end_i && ended_i.op[7:4] == FW[7:4])
  );
  jd_sparse_pair #(.Width ($bits(operand_t))) u_y (
    .clk_i, .rst_ni, .clear_i,
    .can_fill_o   (y_room_o),
    .fill_i       (start_i && entry_i.op == FY),
    .fill_about_i (filled),
    .fill_set_o   (y_fill_set),
    .filled_i     (end_i && ended_i.op == FY),
    .can_take_o   (y_there_o),
    .take_i       (start_i && entry_i.op == DW),
    .take_set_o   (y_set),
    .about_o      (y),
    .freed_i      (end_i && ended_i.op == DW)
  );
  jd_sparse_pair #(.Width ($bits(result_t))) u_r (
    .clk_i, .rst_ni, .clear_i,
    .can_fill_o   (r_room_o),
    .fill_i       (start_i && (entry_i.op == FW || entry_i.op == DX)),
    .fill_about_i ({entry_i.number, entry_i.tiles, entry_i.op == DX,
                    entry_i.flags.row}),
    .fill_set_o   (r_fill_set),
    .filled_i     (end_i && (ended_i.op == FW || ended_i.op == DX)),
    .can_take_o   (r_there_o),
    .take_i       (start_i && (entry_i.op == LIN || entry_i.op == LSTMF)),
    .take_set_o   (elem_set_o),
    .about_o      (result),
    .freed_i      (end_i && (ended_i.op == LIN || ended_i.op == LSTMF))
  );

  // ---- Whether operands and results fit the instruction
  logic [DIM_W-1:0] x_neurons, y_neurons;             // that an operation takes
  assign {x_neurons, y_neurons} =
      (entry_i.op == DX || (entry_i.op == DW && layer_i.tr)) ? {layer_i.n, layer_i.m}
                                                                       : {layer_i.m, layer_i.n};
  fit_e fit;
  assign fit = result.dx ? entry_i.backward : entry_i.forward;
  always_comb begin
    code_o = '0;
    unique case (entry_i.op)
      FW, DX, DW: begin
        if (stale_i) code_o = E_STALE;
        else if (x.neurons != x_neurons || x.tiles != entry_i.tiles) code_o = E_DIM;
        else if (entry_i.op == DW
                 && (y.neurons != y_neurons || y.tiles != entry_i.tiles)) code_o = E_DIM;
      end
      LIN, LSTMF: begin
        if (result.number != entry_i.number || result.tiles != entry_i.tiles) begin
          code_o = E_DIM;
        end else if (result.row != entry_i.flags.row) code_o = E_STALE;
        else if (result.dx && (entry_i.op == LSTMF || entry_i.flags.bias)) code_o = E_DIM;
        else if (entry_i.op == LIN && fit == FitsNot)     code_o = E_DIM;
        else if (entry_i.op == LIN && fit == BeyondStore) code_o = E_RANGE;
      end
      default: if (stale_i) code_o = E_STALE;
    endcase
  end

  assign fill_set_o = entry_i.op == FX ? x_fill_set : y_fill_set;
  assign elem_dx_o  = result.dx;
  assign operation_o = '{
    row: entry_i.flags.row, contiguous: 1'b0,
    pass: entry_i.op == FW ? PassFw : entry_i.op == DX ? PassDx : PassDw,
    number: entry_i.number, layer_tiles: layer_i.tiles,
    split_log2: entry_i.op == FW ? layer_i.split_log2 : '0,
    x_lines: 7'((11'(x_neurons) + 11'(NEURONS - 1)) >> 3), x_set: x_set,
    r_set: r_fill_set, tr: layer_i.tr,
    y_lines: entry_i.op == DW ? 7'((11'(y_neurons) + 11'(NEURONS - 1)) >> 3) : '0, y_set: y_set
  };
endmodule : jd_sparse_operands
