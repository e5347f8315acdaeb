// SPDX-License-Identifier: Apache-2.0
//
// Communication of a core's agents: CF, what an agent hears of the others, and CB, the gradient of it.
//
//   CF   c = ((sum of u over the episode) - u) * inverse,  u = h where the gate is open, else +0
//   CB   dh = dh + ((sum of d over the episode) - d) * inverse, where the gate is open
//
//   tensor -> vector -> FP32 -> sum, then sum - own -> * inverse -> FP16 -> + dh -> lines of a tile
//
// Streams  start_i: an instruction, while idle_o; done_o is high for one clock when all is written.
//          read_*, write_*: client of jd_sparse_store.
// Timing   Two clocks per vector and line of 8 neurons, four lines side by side, if the store serves at
//          once; of CB one more per tile of an episode and line. A gate tensor is read before.
// Numbers  The sum is FP32, from +0, in the order of the agents; (sum - own) * inverse is FP32, rounded
//          to FP16; dh + it is FP16. Vectors after the last episode get +0, of CB they keep dh.
// Source   Singh, Jain, Sukhbaatar 2019 (IC3Net); docs/sparse.md (numbers). Golden model:
//          models/sparse/comm.py.
`include "jd_assert.svh"
module jd_sparse_comm
  import jd_sparse_pkg::*;
#(
  parameter int unsigned AddLatency   = 4,       // clocks of the FP16 adder, 1..4
  parameter int unsigned Mul32Latency = 3        // clocks of the FP32 multiplier, 1..4
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,      // what is under way is dropped
  output logic                             idle_o,
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic [TILES_W-1:0]               tiles_i,      // of this core
  input  logic [15:0]                      vectors_i,    // of this core, from tile 0 on
  input  logic [7:0]                       agents_i,     // of an episode, 1..
  input  logic [SINGLE_W-1:0]              inverse_i,
  output logic                             done_o,
  output logic [NEURONS-1:0]               read_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] read_line_o,
  input  logic                             read_ready_i,
  input  logic [NEURONS-1:0][TUPLE_W-1:0]  read_data_i,
  output logic [NEURONS-1:0]               write_en_o,
  output logic [NEURONS-1:0][A_LINE_W-1:0] write_line_o,
  output logic [NEURONS-1:0][TUPLE_W-1:0]  write_data_o,
  input  logic                             write_ready_i
);
  localparam int unsigned Side    = 4;           // lines side by side: the adder's clocks
  localparam int unsigned SideW   = 2;
  localparam int unsigned VectorW = 6;           // vectors of up to 8 tiles, 0..32
  localparam int unsigned LinesW  = 7;
  localparam int unsigned Held    = 8;           // written lines that wait for the store
  localparam int unsigned Add32Latency = 4;
  localparam logic [HALF_W-1:0] MINUS_ZERO = 16'h8000;   // x + -0 is x, and a NaN the canonical one

  // ---- Control: four lines, all vectors of an episode for its sum, then again for the results
  typedef enum logic [2:0] {StIdle, StGates, StWait, StSum, StOld, StOut} state_t;
  state_t              state_q;
  logic                back_q;                   // CB
  tensor_t             a_q, b_q, d_q;
  logic [LinesW-1:0]   lines_q, line_q;          // of a tile; the first of the four
  logic [DIM_W-1:0]    neurons_q;
  logic [VectorW-1:0]  all_q, end_q;             // vectors, and those of episodes
  logic [VectorW-1:0]  vector_q, first_q, last;  // this one, the episode's first and last
  logic [SideW-1:0]    side_q;
  logic [7:0]          agents_q;
  logic [31:0]         gates_q;
  logic                rest, fresh, reads, issues, last_side, last_vector, ends_line, room, there;
  logic [LinesW-1:0]   line;
  logic [2:0]          tile;
  logic [VectorW-1:0]  after;
  tensor_t             from;
  assign rest        = first_q >= end_q;
  assign last        = rest ? all_q - 1'b1 : VectorW'(32'(first_q) + 32'(agents_q) - 1);
  assign after       = last + 1'b1;
  assign last_vector = vector_q == last;
  assign fresh       = vector_q == first_q || vector_q[1:0] == '0;
  assign last_side   = side_q == '1;
  assign line        = line_q + LinesW'(side_q);
  assign there       = line < lines_q;
  assign tile        = vector_q[4:2];
  assign ends_line   = state_q == StOut && vector_q[1:0] == '1 && there;
  assign from        = (state_q == StGates) ? b_q : (state_q == StOld) ? d_q : a_q;
  assign reads       = state_q == StGates
                       || (there && (state_q == StOld || ((state_q == StSum || state_q == StOut)
                                                          && fresh && !rest)));
  assign issues      = state_q != StIdle && state_q != StWait && (!reads || read_ready_i)
                       && (!ends_line || room);
  always_comb begin
    for (int unsigned n = 0; n < NEURONS; n++) begin
      read_en_o[n]   = reads && (!ends_line || room)
                       && (state_q != StGates || 3'(n) == b_q.skew);
      read_line_o[n] = from.line + A_LINE_W'(tile) * A_LINE_W'(from.stride)
                       + (state_q == StGates ? '0 : A_LINE_W'(line));
    end
  end
  logic [3:0]          gates_on_way;             // gate tensors that were asked for
  logic                done_issuing, begin_vector;
  state_t              vector_state;             // where a vector begins its results
  assign vector_state = back_q ? StOld : StOut;
  assign begin_vector = vector_q[1:0] == '1 && back_q;
  assign done_issuing = issues && state_q == StOut && last_side && last_vector && after == all_q
                        && 32'(line_q) + Side >= 32'(lines_q);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q <= StIdle;
    end else begin
      unique case (state_q)
        StIdle:  if (start_i && tiles_i != '0) state_q <= StGates;
        StGates: if (issues && vector_q + VectorW'(VECTORS) == all_q) state_q <= StWait;
        StWait:  if (gates_on_way == '0) state_q <= (end_q == '0) ? vector_state : StSum;
        StSum:   if (issues && last_side && last_vector) state_q <= vector_state;
        StOld:   if (issues && last_side) state_q <= StOut;
        StOut:   if (issues && last_side) begin
          if (done_issuing)     state_q <= StIdle;
          else if (last_vector) state_q <= ((after == all_q ? '0 : after) < end_q) ? StSum
                                                                                   : vector_state;
          else if (begin_vector) state_q <= StOld;
        end
        default: state_q <= StIdle;
      endcase
    end
    if (start_i) begin
      back_q    <= instruction_i.op == CB;
      a_q       <= instruction_i.a;
      b_q       <= instruction_i.b;
      d_q       <= instruction_i.d;
      neurons_q <= instruction_i.neurons;
      lines_q   <= LinesW'((instruction_i.neurons + DIM_W'(NEURONS - 1)) >> 3);
      agents_q  <= agents_i;
      all_q     <= {tiles_i, 2'b00};
      end_q     <= (32'(vectors_i) <= 4 * 32'(instruction_i.value)) ? '0
                   : (32'(vectors_i) - 4 * 32'(instruction_i.value) >= 4 * 32'(tiles_i))
                     ? {tiles_i, 2'b00}
                     : VectorW'(32'(vectors_i) - 4 * 32'(instruction_i.value));
      line_q    <= '0;
      vector_q  <= '0;
      first_q   <= '0;
      side_q    <= '0;
    end else if (issues && state_q == StGates) begin
      vector_q <= (vector_q + VectorW'(VECTORS) == all_q) ? '0 : vector_q + VectorW'(VECTORS);
    end else if (issues) begin
      side_q <= side_q + 1'b1;
      if (last_side && state_q != StOld) begin
        if (!last_vector)          vector_q <= vector_q + 1'b1;
        else if (state_q == StSum) vector_q <= first_q;
        else begin
          vector_q <= (after == all_q) ? '0 : after;
          first_q  <= (after == all_q) ? '0 : after;
          if (after == all_q) line_q <= line_q + LinesW'(Side);
        end
      end
    end
  end

  // ---- What was asked for, on its way
  typedef struct packed {
    logic                valid;
    logic                gates;
    logic                sum;
    logic                old;
    logic                begins;                 // the first agent of the sum
    logic                fresh;                  // with data of the store
    logic                active;                 // of an episode
    logic                there;
    logic [SideW-1:0]    side;
    logic [VectorW-2:0]  vector;
    logic [LinesW-1:0]   line;
  } step_t;
  step_t                    slot;
  step_t [READ_LATENCY:1]   slots_q;
  step_t                    s0, s1;             // with the data; in FP32
  assign slot = '{valid: issues, gates: state_q == StGates, sum: state_q == StSum,
                  old: state_q == StOld, begins: vector_q == first_q, fresh: fresh && !rest,
                  active: !rest, there: there, side: side_q, vector: (VectorW-1)'(vector_q),
                  line: line};
  assign s0 = slots_q[READ_LATENCY];
  always_comb begin
    gates_on_way = '0;
    for (int unsigned k = 1; k <= READ_LATENCY; k++)
      gates_on_way = gates_on_way + 4'(slots_q[k].valid && slots_q[k].gates);
  end

  // ---- Tuples of the four lines; a vector of one of them
  logic [Side-1:0][NEURONS-1:0][TUPLE_W-1:0] heard_q, old_q;
  logic [NEURONS-1:0][TUPLE_W-1:0]           tuples, data;
  logic [NEURONS-1:0][HALF_W-1:0]            own, own_old;
  logic [NEURONS-1:0][2:0]                   banks_q;     // of the neurons of s0
  assign tuples = s0.fresh ? data : heard_q[s0.side];
  for (genvar n = 0; n < NEURONS; n++) begin : gen_own
    assign data[n]    = read_data_i[banks_q[n]];
    assign own[n]     = (!back_q && !gates_q[s0.vector])
                        ? '0 : tuples[n][32'(s0.vector[1:0])*HALF_W +: HALF_W];
    assign own_old[n] = old_q[s0.side][n][32'(s0.vector[1:0])*HALF_W +: HALF_W];
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) slots_q <= '0;
    else                    slots_q <= {slots_q[READ_LATENCY-1:1], slot};
    for (int unsigned n = 0; n < NEURONS; n++)
      banks_q[n] <= 3'(n) + (slots_q[READ_LATENCY-1].old ? d_q.skew : a_q.skew);
    if (s0.valid && s0.gates) begin
      for (int unsigned p = 0; p < VECTORS; p++)
        gates_q[{s0.vector[4:2], 2'(p)}] <= read_data_i[b_q.skew][p*HALF_W +: HALF_W - 1] != '0;
    end
    if (s0.valid && !s0.gates && s0.old)                            old_q[s0.side] <= data;
    if (s0.valid && !s0.gates && !s0.old && s0.fresh)   heard_q[s0.side] <= data;
  end

  // ---- Arithmetic
  localparam int unsigned ToMul    = 1 + Add32Latency;            // clocks from s0
  localparam int unsigned ToHalf   = ToMul + Mul32Latency;
  localparam int unsigned ToAdd    = ToHalf + 1;
  localparam int unsigned ToEnd    = ToAdd + AddLatency;
  step_t [ToEnd:1]     pipe_q;
  step_t               summed, added, ended;
  logic                 adds;
  assign s1     = pipe_q[1];
  assign summed = pipe_q[ToMul];
  assign added  = pipe_q[ToAdd];
  assign ended  = pipe_q[ToEnd];
  assign adds   = s0.valid && !s0.gates && !s0.old;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      pipe_q <= '0;
    end else begin
      pipe_q          <= {pipe_q[ToEnd-1:1], s0};
      pipe_q[1].valid <= adds;
    end
  end
  logic [NEURONS-1:0][HALF_W-1:0] olds, results;
  logic [Side-1:0]                sum_now;
  for (genvar k = 0; k < Side; k++) begin : gen_side
    assign sum_now[k] = summed.valid && summed.sum && summed.side == SideW'(k);
  end
  for (genvar n = 0; n < NEURONS; n++) begin : gen_lane
    logic [SINGLE_W-1:0]           single, sum, total, scaled;
    logic [Side-1:0][SINGLE_W-1:0] sums_q;
    logic [HALF_W-1:0]             heard, first, second;
    logic [5:0]                    unused_valid;
    jd_float_convert #(
      .FromExpW (5), .FromManW (10), .ToExpW (8), .ToManW (23), .Latency (1)
    ) u_widen (
      .clk_i, .rst_ni, .valid_i (adds), .value_i (own[n]), .valid_o (unused_valid[0]),
      .result_o (single)
    );
    // A sum is needed again four clocks after its last summand came, or later.
    assign total = sum_now[s1.side] ? sum : sums_q[s1.side];
    jd_float_add #(.Latency (Add32Latency)) u_add (
      .clk_i, .rst_ni, .valid_i (s1.valid), .subtract_i (!s1.sum),
      .a_i (s1.sum && s1.begins ? '0 : total), .b_i (single), .valid_o (unused_valid[1]),
      .result_o (sum)
    );
    always_ff @(posedge clk_i) begin
      if (summed.valid && summed.sum) sums_q[summed.side] <= sum;
    end
    jd_float_mul #(.Latency (Mul32Latency)) u_mul (
      .clk_i, .rst_ni, .valid_i (summed.valid && !summed.sum), .a_i (sum), .b_i (inverse_i),
      .valid_o (unused_valid[2]), .result_o (scaled)
    );
    jd_float_convert #(.Latency (1)) u_narrow (
      .clk_i, .rst_ni, .valid_i (pipe_q[ToHalf].valid), .value_i (scaled),
      .valid_o (unused_valid[3]), .result_o (heard)
    );
    jd_delay #(.Width (HALF_W), .Cycles (ToAdd), .Clear (1'b0)) u_old (
      .clk_i, .rst_ni, .in_i (own_old[n]), .out_o (olds[n])
    );
    assign first  = back_q ? olds[n] : added.active ? MINUS_ZERO : '0;
    assign second = (added.active && (!back_q || gates_q[added.vector])) ? heard : MINUS_ZERO;
    jd_float_add #(.ExpW (5), .ManW (10), .Latency (AddLatency)) u_old_add (
      .clk_i, .rst_ni, .valid_i (added.valid && !added.sum), .subtract_i (1'b0),
      .a_i (first), .b_i (second), .valid_o (unused_valid[4]), .result_o (results[n])
    );
    assign unused_valid[5] = ^unused_valid[4:0];
  end

  // ---- Lines of a tile, when their four vectors are there
  logic [Side-1:0][NEURONS-1:0][3*HALF_W-1:0] kept_q;            // the first three
  logic                            full, out_valid;
  logic [3:0]                      waiting_q;                     // lines that will be written
  typedef struct packed {
    logic [2:0]                      tile;
    logic [LinesW-1:0]               line;
    logic [NEURONS-1:0][TUPLE_W-1:0] tuples;
  } written_t;
  written_t                        in, out;
  assign full = ended.valid && !ended.sum && ended.there && ended.vector[1:0] == '1;
  always_comb begin
    in.tile = ended.vector[4:2];
    in.line = ended.line;
    for (int unsigned n = 0; n < NEURONS; n++) in.tuples[n] = {results[n], kept_q[ended.side][n]};
  end
  always_ff @(posedge clk_i) begin
    if (ended.valid && !ended.sum) begin
      for (int unsigned n = 0; n < NEURONS; n++) begin
        for (int unsigned p = 0; p < 3; p++) begin
          if (ended.vector[1:0] == 2'(p)) kept_q[ended.side][n][p*HALF_W +: HALF_W] <= results[n];
        end
      end
    end
  end
  logic unused_ready;
  logic [$clog2(Held+1)-1:0] unused_count;
  jd_stream_fifo #(.Width ($bits(written_t)), .Depth (Held)) u_written (
    .clk_i, .rst_ni,
    .clear_i     (clear_i),
    .in_valid_i  (full),
    .in_ready_o  (unused_ready),
    .in_data_i   (in),
    .out_valid_o (out_valid),
    .out_ready_i (write_ready_i),
    .out_data_o  (out),
    .count_o     (unused_count)
  );
  for (genvar b = 0; b < NEURONS; b++) begin : gen_write
    logic [2:0] n;
    assign n               = 3'(b) - d_q.skew;
    assign write_en_o[b]   = out_valid && {out.line, n} < neurons_q;
    assign write_line_o[b] = d_q.line + A_LINE_W'(out.tile) * A_LINE_W'(d_q.stride)
                             + A_LINE_W'(out.line);
    assign write_data_o[b] = out.tuples[n];
  end

  // ---- The end
  logic run_q, ends;
  assign room = 32'(waiting_q) < Held;
  assign ends = run_q && state_q == StIdle && waiting_q == '0;
  assign idle_o = !run_q && state_q == StIdle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      run_q     <= 1'b0;
      done_o    <= 1'b0;
      waiting_q <= '0;
    end else begin
      if (start_i)   run_q <= 1'b1;
      else if (ends) run_q <= 1'b0;
      done_o    <= ends;
      waiting_q <= waiting_q + 4'(issues && ends_line) - 4'(out_valid && write_ready_i);
    end
  end

  `JD_ASSUME_IF(OneAtATime_M, start_i, idle_o)
  `JD_ASSUME_IF(Agents_M, start_i, agents_i != '0 && instruction_i.neurons != '0)
  `JD_ASSERT_IF(RoomForLines_A, full && !clear_i, unused_ready)
endmodule : jd_sparse_comm
