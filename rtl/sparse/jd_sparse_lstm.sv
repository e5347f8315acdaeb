// SPDX-License-Identifier: Apache-2.0
//
// The step of an LSTM and its gradient: LSTMF and LSTMB.
//
//   LSTMF  columns of gates -> neurons ---> 4 x forward -> block D
//          cell of block A ----------------'
//   LSTMB  blocks A and D, dh -> neurons -> 4 x back -> gates of block D, gradient in block A
//
// Streams  start_i: an instruction, before its columns; done_o is high for one clock when all is
//          written. soon_i, columns_i: see jd_sparse_columns. read_*, write_*: client of
//          jd_sparse_store that never waits.
// Timing   A neuron of a tile per clock. LSTMF takes four clocks for the gates of GateStep neurons,
//          more if their results share a memory, and reads the store once for eight neurons. LSTMB
//          needs skews with which the eight tensors of a neuron are in different banks, as those of
//          blocks and dh of equal skew; else a neuron takes three clocks.
// Numbers  FP16; see jd_sparse_lstm_forward and jd_sparse_lstm_back.
// Source   Hochreiter and Schmidhuber 1997. Golden model: models/sparse/machine.py, _elementwise.
`include "jd_assert.svh"
module jd_sparse_lstm
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned Channels   = 4,    // 1, 2, 4, 8
  parameter  int unsigned MulLatency = 3,    // 1..4
  parameter  int unsigned AddLatency = 4     // 1..4
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic [TILES_W-1:0]               tiles_i,       // of this core
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
  localparam int unsigned GateStep = Channels < VECTORS ? Channels : VECTORS;
  localparam int unsigned TurnW    = GateStep > 1 ? $clog2(GateStep) : 1;
  localparam int unsigned ToRead   = 2 + READ_LATENCY;    // clocks from a neuron to its tensors
  localparam int unsigned ToEndF   = 2 * (CURVE_LATENCY + MulLatency) + AddLatency;
  localparam int unsigned ToEndB   = 5 * MulLatency + 2 * AddLatency;
  typedef enum logic [2:0] {TnH, TnCell, TnTc, TnI, TnF, TnG, TnO, TnDcell} tensor_e;  // of a block

  // ---- The instruction
  logic                              back_q;
  logic [NEURONS-1:0][A_LINE_W-1:0]  offsets_q;           // first line of a tensor in its block
  logic [INDEX_W-1:0]                hidden_q;            // neurons
  logic [2:0]                        a_skew_q, b_skew_q, d_skew_q;
  logic                              apart_q, late_q;     // LSTMB: reads or writes share a bank
  logic [2:0]                        a_ahead, b_ahead;    // of D's skew
  assign a_ahead = instruction_i.a.skew - instruction_i.d.skew;
  assign b_ahead = instruction_i.b.skew - instruction_i.d.skew;
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      back_q   <= instruction_i.op == LSTMB;
      hidden_q <= INDEX_W'(instruction_i.layer.n >> 2);
      a_skew_q <= instruction_i.a.skew;
      b_skew_q <= instruction_i.b.skew;
      d_skew_q <= instruction_i.d.skew;
      for (int unsigned k = 0; k < NEURONS; k++) begin
        offsets_q[k] <= A_LINE_W'(k) * A_LINE_W'(instruction_i.layer.n >> 5);
      end
      // Of D six tensors are read, those from tc on: banks 0 and 1 from D's skew on are free.
      apart_q <= a_ahead + TnCell > 3'd1 || b_ahead > 3'd1 || a_ahead + TnCell == b_ahead;
      late_q  <= a_ahead + TnDcell >= TnI && a_ahead + TnDcell <= TnO;
    end
  end

  // A neuron of a tile.
  typedef struct packed {
    logic [INDEX_W-1:0]  number;
    logic [A_LINE_W-1:0] a_line;                          // of the tile
    logic [A_LINE_W-1:0] d_line;
    logic                last;                            // of the instruction
  } neuron_t;

  // ---- LSTMF: columns of four gates, then the neurons of them
  logic                                    column_valid;
  columns_t                                work;
  logic [1:0]                              gate_q;
  logic                                    parity_q, out_parity_q, out_q;
  logic [TurnW-1:0]                        turn_q;
  logic [INDEX_W-1:0]                      first_q;
  neuron_t                                 out_first_q, z_neuron_q;
  logic                                    z_valid_q;
  logic [3:0][GateStep-1:0][TUPLE_W-1:0]   gates;
  logic [3:0][TUPLE_W-1:0]                 z_q;           // of i, f, g, o
  logic                                    last_turn;
  assign last_turn = 32'(turn_q) == GateStep - 1;
  jd_delay #(.Width (1 + $bits(columns_t)), .Cycles (READ_LATENCY)) u_work (
    .clk_i, .rst_ni, .in_i ({soon_valid_i, soon_i}), .out_o ({column_valid, work})
  );
  for (genvar k = 0; k < 4; k++) begin : gen_gate
    jd_mem_lut #(.Depth (2), .Width (GateStep * TUPLE_W)) u_memory (
      .clk_i, .rst_ni,
      .write_en_i   (column_valid && 32'(gate_q) == k),
      .write_addr_i (parity_q),
      .write_data_i (columns_i[GateStep-1:0]),
      .read_addr_i  (out_parity_q),
      .read_data_o  (gates[k])
    );
  end
  always_ff @(posedge clk_i) begin
    if (start_i) begin
      gate_q   <= '0;
      parity_q <= 1'b0;
    end else if (column_valid) begin
      gate_q   <= gate_q + 1'b1;
      parity_q <= parity_q ^ (gate_q == '1);
    end
    if (column_valid && gate_q == '0) first_q <= INDEX_W'(work.column);
    if (!rst_ni)                              out_q <= 1'b0;
    else if (column_valid && gate_q == '1)    out_q <= 1'b1;
    else if (last_turn)                       out_q <= 1'b0;
    if (column_valid && gate_q == '1) begin
      turn_q       <= '0;
      out_parity_q <= parity_q;
      out_first_q  <= '{number: first_q, a_line: work.other_line, d_line: work.d_line,
                        last: work.last};
    end else begin
      turn_q <= turn_q + 1'b1;
    end
    z_valid_q <= rst_ni && out_q;
    if (out_q) begin
      for (int unsigned k = 0; k < 4; k++) z_q[k] <= gates[k][turn_q];
      z_neuron_q        <= out_first_q;
      z_neuron_q.number <= out_first_q.number + INDEX_W'(turn_q);
      z_neuron_q.last   <= out_first_q.last && last_turn;
    end
  end

  // ---- LSTMB: the walk through tiles and neurons
  logic                walk_q, last_share, last_number, last_tile;
  logic [1:0]          share_q;                           // of the reads of a neuron
  logic [INDEX_W-1:0]  number_q;
  logic [TILES_W-1:0]  tile_q, tiles_q;
  tensor_t             a_q, b_q, d_q;                     // lines of the tile
  neuron_t             walked;
  assign last_share  = !(apart_q || late_q) || share_q == 2'd2;
  assign last_number = number_q == hidden_q - 1'b1;
  assign last_tile   = tile_q == tiles_q - 1'b1;
  assign walked      = '{number: number_q, a_line: a_q.line, d_line: d_q.line,
                         last: last_number && last_tile};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) walk_q <= 1'b0;
    else if (start_i) walk_q <= instruction_i.op == LSTMB && tiles_i != '0;
    else if (last_share && last_number && last_tile) walk_q <= 1'b0;
    if (start_i) begin
      share_q  <= '0;
      number_q <= '0;
      tile_q   <= '0;
      tiles_q  <= tiles_i;
      a_q      <= instruction_i.a;
      b_q      <= instruction_i.b;
      d_q      <= instruction_i.d;
    end else if (walk_q) begin
      share_q <= last_share ? '0 : share_q + 1'b1;
      if (last_share) number_q <= last_number ? '0 : number_q + 1'b1;
      if (last_share && last_number) begin
        tile_q   <= tile_q + 1'b1;
        a_q.line <= a_q.line + A_LINE_W'(a_q.stride);
        b_q.line <= b_q.line + A_LINE_W'(b_q.stride);
        d_q.line <= d_q.line + A_LINE_W'(d_q.stride);
      end
    end
  end

  // ---- Tensors of a neuron: dh, cell of A, then those of D from tc on
  typedef struct packed {
    logic [NEURONS-1:0] mask;                             // tensors that are read
    logic [2:0]         bank;                             // of neuron 0's, without skew
    logic               whole;                            // all of LSTMB are there
    neuron_t            neuron;
  } read_t;
  logic                             cell_valid, all_valid_q;
  neuron_t                          cell_neuron, at, all_neuron_q;
  read_t                            read_d, read_q, arrived;
  logic                             line_read;            // LSTMF: cells of eight neurons
  logic [NEURONS-1:0][TUPLE_W-1:0]  cells_q, cells;
  logic [NEURONS-1:0][2:0]          skews, read_bank, arrived_bank;
  logic [NEURONS-1:0][A_LINE_W-1:0] read_lines;
  logic [NEURONS-1:0][TUPLE_W-1:0]  tensors_q;
  jd_delay #(.Width (1 + $bits(neuron_t)), .Cycles (CURVE_LATENCY - ToRead)) u_cell (
    .clk_i, .rst_ni, .in_i ({z_valid_q, z_neuron_q}), .out_o ({cell_valid, cell_neuron})
  );
  assign at        = back_q ? walked : cell_neuron;
  assign line_read = cell_valid && at.number[2:0] == '0;
  assign cells     = arrived.neuron.number[2:0] == '0 ? read_data_i : cells_q;
  always_comb begin
    read_d = '{bank: 3'(at.number), whole: back_q && walk_q && last_share, neuron: at, default: '0};
    if (cell_valid) read_d.mask[TnCell] = 1'b1;
    if (walk_q) begin
      read_d.mask[TnDcell:TnTc] = {6{share_q == 2'd0}};
      read_d.mask[TnCell]       = share_q == (apart_q ? 2'd1 : 2'd0);
      read_d.mask[TnH]          = share_q == (apart_q ? 2'd2 : 2'd0);
    end
    for (int unsigned k = 0; k < NEURONS; k++) begin
      skews[k]        = 3'(k) + ((k == 0) ? b_skew_q : (k == 1) ? a_skew_q : d_skew_q);
      read_bank[k]    = read_d.bank + skews[k];
      arrived_bank[k] = arrived.bank + skews[k];
      read_lines[k]   = ((k == 0) ? b_q.line : offsets_q[k] + ((k == 1) ? at.a_line : at.d_line))
                        + A_LINE_W'(at.number >> 3);
    end
  end
  always_ff @(posedge clk_i) begin
    read_en_o <= '0;
    for (int unsigned k = 0; k < NEURONS; k++) begin
      if (read_d.mask[k] && walk_q) begin
        read_en_o[read_bank[k]]   <= rst_ni;
        read_line_o[read_bank[k]] <= read_lines[k];
      end
      if (arrived.mask[k]) tensors_q[k] <= read_data_i[arrived_bank[k]];
    end
    // LSTMF leaves the store to others: a line serves eight neurons.
    if (line_read) begin
      read_en_o   <= {NEURONS{rst_ni}};
      read_line_o <= {NEURONS{read_lines[TnCell]}};
    end
    if (!back_q && arrived.mask[TnCell]) begin
      cells_q           <= cells;
      tensors_q[TnCell] <= cells[arrived_bank[TnCell]];
    end
    if (!rst_ni) {read_q.mask, read_q.whole} <= '0;
    else         {read_q.mask, read_q.whole} <= {read_d.mask, read_d.whole};
    {read_q.bank, read_q.neuron} <= {read_d.bank, read_d.neuron};
    all_valid_q  <= rst_ni && arrived.whole;
    all_neuron_q <= arrived.neuron;
  end
  jd_delay #(.Width ($bits(read_t)), .Cycles (READ_LATENCY)) u_arrived (
    .clk_i, .rst_ni, .in_i (read_q), .out_o (arrived)
  );

  // ---- Arithmetic, a vector each
  logic [VECTORS-1:0]               end_f_valid, end_b_valid;
  logic [NEURONS-1:0][TUPLE_W-1:0]  end_f, end_b;         // tensors of a block
  neuron_t                          end_f_neuron, end_b_neuron;
  for (genvar v = 0; v < VECTORS; v++) begin : gen_vector
    logic [3:0][HALF_W-1:0] z;
    logic [6:0][HALF_W-1:0] step;
    logic [7:0][HALF_W-1:0] tensors;
    logic [4:0][HALF_W-1:0] grads;
    for (genvar k = 0; k < 4; k++) begin : gen_z
      assign z[k] = z_q[k][v*HALF_W +: HALF_W];
    end
    for (genvar k = 0; k < NEURONS; k++) begin : gen_tensor
      assign tensors[k] = tensors_q[k][v*HALF_W +: HALF_W];
      assign end_f[k][v*HALF_W +: HALF_W] = k < NEURONS - 1 ? step[k < 7 ? k : 0] : '0;
      assign end_b[k][v*HALF_W +: HALF_W] = k >= 3 ? grads[k >= 3 ? k - 3 : 0] : '0;
    end
    jd_sparse_lstm_forward #(.MulLatency (MulLatency), .AddLatency (AddLatency)) u_forward (
      .clk_i, .rst_ni,
      .valid_i (z_valid_q),
      .z_i     (z),
      .cell_i  (tensors[TnCell]),
      .valid_o (end_f_valid[v]),
      .step_o  (step)
    );
    jd_sparse_lstm_back #(.MulLatency (MulLatency), .AddLatency (AddLatency)) u_back (
      .clk_i, .rst_ni,
      .valid_i (all_valid_q),
      .step_i  (tensors),
      .valid_o (end_b_valid[v]),
      .grads_o (grads)
    );
  end
  jd_delay #(.Width ($bits(neuron_t)), .Cycles (ToEndF), .Clear (1'b0)) u_end_f (
    .clk_i, .rst_ni, .in_i (z_neuron_q), .out_o (end_f_neuron)
  );
  jd_delay #(.Width ($bits(neuron_t)), .Cycles (ToEndB), .Clear (1'b0)) u_end_b (
    .clk_i, .rst_ni, .in_i (all_neuron_q), .out_o (end_b_neuron)
  );

  // ---- To the store: h to o of D, or gates of D and, at once or one clock later, dcell of A
  logic                             end_valid, late_valid_q, last_q, done_q;
  neuron_t                          end_neuron;
  logic [NEURONS-1:0]               write_d, write_q;     // by tensor
  logic [NEURONS-1:0][A_LINE_W-1:0] write_lines_d, write_lines_q;
  logic [NEURONS-1:0][TUPLE_W-1:0]  write_data_d, write_data_q;
  logic [2:0]                       write_bank_q;         // of neuron 0's, without skew
  logic [NEURONS-1:0][2:0]          write_bank;
  assign end_valid  = back_q ? end_b_valid[0] : end_f_valid[0];
  assign end_neuron = back_q ? end_b_neuron : end_f_neuron;
  always_comb begin
    write_d      = '0;
    write_data_d = back_q ? end_b : end_f;
    if (end_valid) begin
      write_d[TnO:TnI]  = '1;
      write_d[TnTc:TnH] = {3{!back_q}};
      write_d[TnDcell]  = back_q && !late_q;
    end
    for (int unsigned k = 0; k < NEURONS; k++) begin
      write_lines_d[k] = offsets_q[k] + A_LINE_W'(end_neuron.number >> 3)
                         + ((k == NEURONS - 1) ? end_neuron.a_line : end_neuron.d_line);
      write_bank[k]    = write_bank_q + 3'(k) + ((k == NEURONS - 1) ? a_skew_q : d_skew_q);
    end
    if (late_valid_q) begin                               // what the neuron before left
      write_d[TnDcell]       = 1'b1;
      write_lines_d[TnDcell] = write_lines_q[TnDcell];
      write_data_d[TnDcell]  = write_data_q[TnDcell];
    end
  end
  always_ff @(posedge clk_i) begin
    late_valid_q  <= rst_ni && end_valid && back_q && late_q;
    last_q        <= rst_ni && end_valid && end_neuron.last;
    done_q        <= rst_ni && last_q;
    done_o        <= rst_ni && done_q;
    write_q       <= rst_ni ? write_d : '0;
    write_lines_q <= write_lines_d;
    write_data_q  <= write_data_d;
    write_bank_q  <= late_valid_q ? write_bank_q : 3'(end_neuron.number);
    write_en_o    <= '0;
    for (int unsigned k = 0; k < NEURONS; k++) begin
      if (write_q[k]) begin
        write_en_o[write_bank[k]]   <= rst_ni;
        write_line_o[write_bank[k]] <= write_lines_q[k];
        write_data_o[write_bank[k]] <= write_data_q[k];
      end
    end
  end

  `JD_ASSERT(OneWay_A, !(walk_q && cell_valid) && !(end_f_valid[0] && end_b_valid[0]))
  `JD_ASSERT(NotTooFast_A, !(late_valid_q && end_valid))
  `JD_ASSUME_IF(WholeLines_M, start_i, instruction_i.layer.n[4:0] == '0)
  logic unused;
  assign unused = ^{end_f_valid[VECTORS-1:1], end_b_valid[VECTORS-1:1], work.mask};
endmodule : jd_sparse_lstm
