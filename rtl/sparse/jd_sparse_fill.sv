// SPDX-License-Identifier: Apache-2.0
//
// Copies a tensor from the activation store of a core to an operand of all its banks: FX and FY.
//
// Streams  start_i: an instruction, while idle_o; done_o is high for one clock when all is written.
//          read_*: client of jd_sparse_store. write_*: a line of 8 neurons to all banks.
// Timing   A line per clock, if the store gives one; 4 clocks more. With BSUM a tile takes PERIOD
//          clocks at least, so that the sums of one tile are there for the next.
// Numbers  bits, unchanged. In an operand neuron n of a tile is in line n / 8, at place n mod 8; the
//          tiles' lines follow each other.
// Source   docs/sparse.md (programs). Golden model: models/sparse/machine.py, _fill.
`include "jd_assert.svh"
module jd_sparse_fill
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned XRows  = 8192,
  parameter  int unsigned YRows  = 8192,
  localparam int unsigned XLines = (XRows + NEURONS - 1) / NEURONS,
  localparam int unsigned YLines = (YRows + NEURONS - 1) / NEURONS,
  localparam int unsigned XW     = $clog2(XLines > YLines ? XLines : YLines)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,      // what is under way is dropped
  output logic                             idle_o,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic [TILES_W-1:0]               tiles_i,      // of this core
  input  logic                             set_i,
  output logic                             done_o,
  output logic [NEURONS-1:0]               read_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] read_line_o,
  input  logic                             read_ready_i,
  input  logic [NEURONS-1:0][TUPLE_W-1:0]  read_data_i,
  output logic                             write_o,
  output logic                             write_y_o,
  output logic [XW-1:0]                    write_address_o,
  output logic [LINE_W-1:0]                write_line_o
);
  function automatic logic [2:0] bank_of(input int unsigned neuron, input logic [2:0] skew);
    return 3'(neuron) + skew;
  endfunction
  localparam int unsigned XHalf  = XLines / 2;
  localparam int unsigned YHalf  = YLines / 2;
  localparam int unsigned LinesW = 7;                    // lines of a tile: 1..64

  localparam int unsigned PERIOD = 8;

  logic                run_q, y_q, gates_q, second_q, bsum_q;
  logic [3:0]          hold_q;                           // clocks to wait
  tensor_t             a_q, b_q;                         // lines of the tile
  logic [TILES_W-1:0]  left_q;                           // tiles
  logic [LinesW-1:0]   lines_q, line_q, split_q, part_q, part_line_q;
  logic [2:0]          gate_q;
  logic                asks, last_line, of_b;
  logic [A_LINE_W-1:0] line;
  logic [2:0]          skew;
  assign asks      = run_q && hold_q == '0;
  assign last_line = line_q == lines_q - 1'b1;
  assign of_b      = second_q && line_q >= split_q;
  assign line      = of_b ? b_q.line + A_LINE_W'(line_q - split_q) : a_q.line + A_LINE_W'(line_q);
  assign skew      = of_b ? b_q.skew : a_q.skew + gate_q;
  assign read_en_o   = {NEURONS{asks}};
  assign read_line_o = {NEURONS{line}};

  // What was asked for, on its way.
  logic [READ_LATENCY:1]      pipe_q;
  logic [READ_LATENCY:1][2:0] skews_q;
  logic                       moves;
  assign moves  = asks && read_ready_i;
  assign idle_o = !run_q && pipe_q == '0;
  always_ff @(posedge clk_i) begin
    done_o  <= 1'b0;
    write_o <= 1'b0;
    if (!rst_ni || clear_i) begin
      run_q  <= 1'b0;
      pipe_q <= '0;
    end else begin
      if (start_i) run_q <= tiles_i != '0;
      if (moves && last_line && left_q == TILES_W'(1)) run_q <= 1'b0;
      pipe_q <= {pipe_q[READ_LATENCY-1:1], moves};
      write_o <= pipe_q[READ_LATENCY];
      done_o  <= (start_i && tiles_i == '0) || (pipe_q[READ_LATENCY] && !moves && !run_q
                                                && pipe_q[READ_LATENCY-1:1] == '0);
    end
    skews_q <= {skews_q[READ_LATENCY-1:1], skew};
    if (start_i) hold_q <= '0;
    else if (moves && last_line && bsum_q && lines_q < LinesW'(PERIOD))
      hold_q <= 4'(PERIOD - 32'(lines_q));
    else if (hold_q != '0) hold_q <= hold_q - 1'b1;
    if (start_i) begin
      a_q         <= instruction_i.a;
      b_q         <= instruction_i.b;
      left_q      <= tiles_i;
      lines_q     <= LinesW'((instruction_i.neurons + DIM_W'(NEURONS - 1)) >> 3);
      split_q     <= LinesW'(instruction_i.value >> 3);
      part_q      <= LinesW'(instruction_i.neurons >> 5);
      y_q         <= instruction_i.op == FY;
      gates_q     <= instruction_i.flags.gates;
      second_q    <= instruction_i.flags.second;
      bsum_q      <= instruction_i.flags.bsum;
      line_q      <= '0;
      part_line_q <= '0;
      gate_q      <= '0;
    end else if (moves) begin
      line_q      <= line_q + 1'b1;
      part_line_q <= part_line_q + 1'b1;
      if (gates_q && part_line_q == part_q - 1'b1) begin
        part_line_q <= '0;
        gate_q      <= gate_q + 1'b1;
      end
      if (last_line) begin
        line_q      <= '0;
        part_line_q <= '0;
        gate_q      <= '0;
        left_q      <= left_q - 1'b1;
        a_q.line    <= a_q.line + A_LINE_W'(a_q.stride);
        b_q.line    <= b_q.line + A_LINE_W'(b_q.stride);
      end
    end
    if (start_i)
      write_address_o <= XW'((!set_i ? 0 : instruction_i.op == FY ? YHalf : XHalf) - 1);
    else if (pipe_q[READ_LATENCY]) write_address_o <= write_address_o + 1'b1;
    if (pipe_q[READ_LATENCY]) begin
      for (int unsigned n = 0; n < NEURONS; n++) begin
        write_line_o[n*TUPLE_W +: TUPLE_W] <= read_data_i[bank_of(n, skews_q[READ_LATENCY])];
      end
    end
  end
  assign write_y_o = y_q;

  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
endmodule : jd_sparse_fill
