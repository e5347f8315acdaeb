// SPDX-License-Identifier: Apache-2.0
//
// Moves activations between memory and the stores of the cores: LOADA, STOREA, ZEROA.
//
// Streams  start_i: an instruction, while idle_o; done_o is high for one clock at its end, with code_o
//          (0: none) and the bus's response. mover_*: jd_sparse_mover. read_*, write_*: clients of the
//          cores' stores.
// Timing   A line per clock if memory and store serve at once, and 2 clocks per core and per tile.
// Numbers  bits, unchanged. Neuron n of a line is in bank (n + skew) mod 8. In memory lines lie core
//          by core, tile by tile; in ROW split there is one image for all cores.
// Source   docs/sparse.md (programs). Golden model: models/sparse/machine.py, _dma.
`include "jd_assert.svh"
module jd_sparse_dma
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Cores = 3
) (
  input  logic                                clk_i,
  input  logic                                rst_ni,
  input  logic                                clear_i,      // what is under way is dropped
  output logic                                idle_o,
  input  logic                                start_i,
  input  instruction_t                        instruction_i,
  output logic                                done_o,
  output logic [7:0]                          code_o,
  output logic [1:0]                          response_o,
  // Memory
  output logic                                mover_read_o,
  output logic                                mover_write_o,
  output logic [39:0]                         mover_address_o,
  output logic [BEATS_W-1:0]                  mover_lines_o,
  input  logic                                mover_done_i,
  input  logic [1:0]                          mover_response_i,
  input  logic                                in_valid_i,
  output logic                                in_ready_o,
  input  logic [LINE_W-1:0]                   in_data_i,
  output logic                                out_valid_o,
  input  logic                                out_ready_i,
  output logic [LINE_W-1:0]                   out_data_o,
  // Stores
  output logic [Cores-1:0]                    read_o,
  input  logic [Cores-1:0]                    read_ready_i,
  input  logic [Cores-1:0][LINE_W-1:0]        read_data_i,  // READ_LATENCY clocks later
  output logic [Cores-1:0]                    write_o,
  input  logic [Cores-1:0]                    write_ready_i,
  output logic [A_LINE_W-1:0]                 line_o,
  output logic [LINE_W-1:0]                   write_data_o
);
  localparam int unsigned CoreW = (Cores > 1) ? $clog2(Cores) : 1;
  localparam int unsigned Queue = 8;
  localparam int unsigned OwedW = $clog2(Queue + 1);
  function automatic logic [LINE_W-1:0] turned(input logic [LINE_W-1:0] line, input logic [2:0] by);
    logic [LINE_W-1:0] found;
    for (int unsigned b = 0; b < NEURONS; b++) begin
      logic [2:0] from;
      from = 3'(b) - by;
      found[b*TUPLE_W +: TUPLE_W] = line[32'(from)*TUPLE_W +: TUPLE_W];
    end
    return found;
  endfunction

  // ---- The walk: cores, tiles, lines
  typedef enum logic [2:0] {StIdle, StBegin, StTile, StLines, StNext, StWait} state_t;
  state_t              state_q;
  instruction_t        one_q;
  logic [CoreW-1:0]    core_q;
  logic [TILES_W-1:0]  tile_q;                  // tiles of the core that are left
  logic [9:0]          left_q;                  // lines of the tile
  logic [A_LINE_W-1:0] tile_line_q, line_q;
  logic                load, store, row, step, last_core, moved_q;
  logic [TILES_W+1:0]  all_tiles;
  logic [3:0][TILES_W-1:0] tiles;               // of each core
  logic [Cores-1:0]    wanted, takes, taken_q;  // cores that a line goes to, that have it
  assign load      = one_q.op == LOADA;
  assign store     = one_q.op == STOREA;
  assign row       = one_q.flags.row;
  assign tiles     = {TILES_W'(0), one_q.tiles};
  assign last_core = row || 32'(core_q) == Cores - 1;
  assign idle_o    = state_q == StIdle;
  assign line_o    = line_q;
  assign wanted    = (row && load) ? '1 : Cores'(1) << core_q;
  always_comb begin
    all_tiles = '0;
    for (int unsigned c = 0; c < CORES; c++) begin
      if (c == 0 || !one_q.flags.row) all_tiles = all_tiles + (TILES_W + 2)'(one_q.tiles[c]);
    end
  end
  assign mover_read_o    = state_q == StBegin && load;
  assign mover_write_o   = state_q == StBegin && store;
  assign mover_address_o = one_q.address;
  assign mover_lines_o   = BEATS_W'(all_tiles) * BEATS_W'(one_q.value);

  // ---- Lines to the stores
  logic room;
  assign write_o      = (state_q == StLines && !store && (!load || in_valid_i)) ? wanted & ~taken_q
                        : '0;
  assign takes        = taken_q | (write_o & write_ready_i);
  assign write_data_o = load ? turned(in_data_i, one_q.a.skew) : '0;
  assign in_ready_o   = state_q == StLines && load && step;
  assign read_o       = (state_q == StLines && store && room) ? wanted : '0;
  assign step         = store ? (read_o & read_ready_i) != '0
                        : (!load || in_valid_i) && (takes & wanted) == wanted;

  // ---- Lines from them
  logic [READ_LATENCY:1]            pipe_q;
  logic [READ_LATENCY:1][CoreW-1:0] from_q;
  logic [OwedW-1:0]                 owed_q;     // read, not given
  logic [OwedW-1:0]                 unused_count;
  logic                             queue_ready, reads;
  assign reads = read_o != '0 && step;
  assign room  = owed_q != OwedW'(Queue);
  jd_stream_fifo #(.Width (LINE_W), .Depth (Queue)) u_lines (
    .clk_i, .rst_ni,
    .clear_i     (clear_i || start_i),
    .in_valid_i  (pipe_q[READ_LATENCY]),
    .in_ready_o  (queue_ready),
    .in_data_i   (turned(read_data_i[from_q[READ_LATENCY]], -one_q.a.skew)),
    .out_valid_o, .out_ready_i, .out_data_o,
    .count_o     (unused_count)
  );

  // ---- The course
  logic ends_line, failed;
  assign ends_line = left_q == 10'd1;
  assign failed    = state_q != StIdle && moved_q && response_o != '0;
  always_ff @(posedge clk_i) begin
    done_o <= 1'b0;
    if (!rst_ni || clear_i) begin
      state_q <= StIdle;
      pipe_q  <= '0;
      owed_q  <= '0;
    end else begin
      unique case (state_q)
        StIdle:  if (start_i) state_q <= StBegin;
        StBegin: state_q <= StTile;
        StTile:  state_q <= (tile_q == '0) ? StNext : StLines;
        StLines: if (step && ends_line) state_q <= StTile;
        StNext:  state_q <= last_core ? StWait : StTile;
        StWait:  if (moved_q || one_q.op == ZEROA) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      if (failed) state_q <= StIdle;
      done_o <= failed || (state_q == StWait && (moved_q || one_q.op == ZEROA));
      pipe_q <= {pipe_q[READ_LATENCY-1:1], reads};
      owed_q <= owed_q + OwedW'(reads) - OwedW'(out_valid_o && out_ready_i);
      if (failed) begin
        pipe_q <= '0;
        owed_q <= '0;
      end
    end
    from_q <= {from_q[READ_LATENCY-1:1], core_q};
    if (state_q == StIdle)                          moved_q <= 1'b0;
    else if (mover_done_i && one_q.op != ZEROA) moved_q <= 1'b1;
    if (mover_done_i) response_o <= mover_response_i;
    else if (state_q == StIdle && start_i) response_o <= '0;
    if (state_q == StIdle) one_q <= instruction_i;
    taken_q <= (state_q == StLines && !step) ? takes : '0;
    if (state_q == StBegin) core_q <= '0;
    else if (state_q == StNext) core_q <= core_q + 1'b1;
    if (state_q inside {StBegin, StNext}) begin
      tile_line_q <= one_q.a.line;
      tile_q      <= tiles[state_q == StBegin ? 2'd0 : 2'(core_q) + 2'd1];
    end else if (state_q == StTile) begin
      tile_q      <= tile_q - 1'b1;
      tile_line_q <= tile_line_q + A_LINE_W'(one_q.a.stride);
    end
    if (state_q == StTile) begin
      line_q <= tile_line_q;
      left_q <= one_q.value;
    end else if (step) begin
      line_q <= line_q + 1'b1;
      left_q <= left_q - 1'b1;
    end
  end
  assign code_o = (response_o == '0) ? '0
                  : store ? jd_engine_header_map_pkg::E_BUS_WR : jd_engine_header_map_pkg::E_BUS_RD;
  logic unused;
  assign unused = ^unused_count;

  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
  `JD_ASSERT_IF(Room_A, pipe_q[READ_LATENCY], queue_ready)
endmodule : jd_sparse_dma
