// SPDX-License-Identifier: Apache-2.0
//
// Bias gradients of a core: adds the vectors of an operand's neurons, tile by tile (BSUM).
//
// Streams  start_i: an instruction of jd_sparse_fill begins; line_*: its lines, in order, as they are
//          written to the operand. done_i is its end, done_o comes when its sums are written too.
//          read_*: the sums of 8 neurons for the optimizer, while no operation is under way.
// Timing   A line per clock; a neuron again after PERIOD clocks at the earliest, which fill sees to.
//          done_o is 3 + 3 * Add32Latency clocks after done_i; without BSUM it is done_i. A read
//          shows READ_LATENCY clocks after read_en_i.
// Numbers  FP32: sum + ((d0 + d1) + (d2 + d3)), each rounded. After clear_gradients_i sums are +0: the
//          first tile of a layer writes all of them. nonfinite_o: a sum since then is not finite.
// Source   docs/sparse.md (numbers). Golden model: models/sparse/layer.py, bias_gradient.
`include "jd_assert.svh"
module jd_sparse_bsum
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned DMax         = 512,   // 8..512
  parameter  int unsigned LMax         = 8,     // 1..8
  parameter  int unsigned Add32Latency = 4,     // 1..6
  localparam int unsigned Lines        = (DMax + NEURONS - 1) / NEURONS,
  localparam int unsigned LineW        = (Lines > 1) ? $clog2(Lines) : 1
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,      // what is under way is dropped
  input  logic                             start_i,
  input  instruction_t                     instruction_i,
  input  logic                             line_valid_i,
  input  logic [LINE_W-1:0]                line_i,
  input  logic                             done_i,
  output logic                             done_o,
  output logic                             idle_o,
  input  logic                             clear_gradients_i,
  output logic                             nonfinite_o,
  input  logic                             read_en_i,
  input  logic [LAYER_W-1:0]               read_layer_i,
  input  logic [LineW-1:0]                 read_line_i,
  output logic [NEURONS-1:0][SINGLE_W-1:0] read_data_o
);
  localparam int unsigned Words  = LMax * Lines;
  localparam int unsigned WordW  = $clog2(Words);
  localparam int unsigned ASKS   = 2 * Add32Latency;   // clocks from a line to the read of sums
  localparam int unsigned ENDS   = 1 + 3 * Add32Latency;    // to their write
  function automatic logic [WordW-1:0] word_of(
      input logic [LAYER_W-1:0] layer, input logic [LineW-1:0] line);
    return WordW'(32'(layer) * Lines + 32'(line));
  endfunction
  function automatic logic has(input logic [LMax-1:0] flags, input logic [LAYER_W-1:0] layer);
    has = 1'b0;
    for (int unsigned l = 0; l < LMax; l++) begin
      if (layer == LAYER_W'(l)) has = flags[l];
    end
  endfunction

  // ---- Where a line's sums are
  logic               run_q, first_q, any_q, ends_q, takes, last_line;
  logic [LAYER_W-1:0] layer_q;
  logic [DIM_W-1:0]   left_q, neurons_q;             // neurons of the tile from this line on
  logic [LineW-1:0]   line_q;
  logic [LMax-1:0]    fresh_q;
  logic [ENDS:1]      moves_q;
  assign takes     = line_valid_i && run_q;
  assign last_line = left_q <= DIM_W'(NEURONS);
  assign done_o    = run_q ? ends_q && moves_q == '0 : done_i;
  assign idle_o    = !run_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      run_q   <= 1'b0;
      ends_q  <= 1'b0;
      moves_q <= '0;
    end else begin
      if (start_i)     run_q <= instruction_i.flags.bsum;
      else if (done_o) run_q <= 1'b0;
      ends_q  <= run_q && !done_o && (ends_q || done_i);
      moves_q <= {moves_q[ENDS-1:1], takes};
    end
    if (start_i) begin
      layer_q   <= instruction_i.number;
      neurons_q <= instruction_i.neurons;
      left_q    <= instruction_i.neurons;
      line_q    <= '0;
      first_q   <= 1'b1;
      any_q     <= 1'b0;
    end else if (takes) begin
      line_q <= last_line ? '0 : line_q + 1'b1;
      left_q <= last_line ? neurons_q : left_q - DIM_W'(NEURONS);
      any_q  <= 1'b1;
      if (last_line) first_q <= 1'b0;
    end
    if (!rst_ni || clear_gradients_i) fresh_q <= '1;
    else if (run_q && done_o && any_q) begin
      for (int unsigned l = 0; l < LMax; l++) begin
        if (layer_q == LAYER_W'(l)) fresh_q[l] <= 1'b0;
      end
    end
  end

  // ---- Sums
  typedef struct packed {
    logic [WordW-1:0]   word;
    logic               fresh;
    logic [NEURONS-1:0] used;
  } place_t;
  place_t                           place, asked, written;
  logic                             fresh_q1, nonfinite_q;
  logic [NEURONS-1:0]               sum_valid, wild;
  logic [NEURONS-1:0][SINGLE_W-1:0] kept, sums;
  always_comb begin
    place.word  = word_of(layer_q, line_q);
    place.fresh = first_q && has(fresh_q, layer_q);
    for (int unsigned n = 0; n < NEURONS; n++) place.used[n] = DIM_W'(n) < left_q;
  end
  jd_delay #(.Width ($bits(place_t)), .Cycles (ASKS), .Clear (1'b0)) u_asked (
    .clk_i, .rst_ni, .in_i (place), .out_o (asked)
  );
  jd_delay #(.Width ($bits(place_t)), .Cycles (ENDS - ASKS), .Clear (1'b0)) u_written (
    .clk_i, .rst_ni, .in_i (asked), .out_o (written)
  );
  always_ff @(posedge clk_i) fresh_q1 <= asked.fresh;
  for (genvar n = 0; n < NEURONS; n++) begin : gen_neuron
    logic [VECTORS-1:0]               single_valid;
    logic [VECTORS-1:0][SINGLE_W-1:0] single;
    logic [1:0]                       pair_valid;
    logic [1:0][SINGLE_W-1:0]         pair;
    logic                             tile_valid;
    logic [SINGLE_W-1:0]              tile;
    for (genvar v = 0; v < VECTORS; v++) begin : gen_vector
      jd_float_convert #(
        .FromExpW (5), .FromManW (10), .ToExpW (8), .ToManW (23), .Latency (1)
      ) u_single (
        .clk_i, .rst_ni,
        .valid_i  (takes),
        .value_i  (line_i[(n*VECTORS+v)*HALF_W +: HALF_W]),
        .valid_o  (single_valid[v]),
        .result_o (single[v])
      );
    end
    for (genvar k = 0; k < 2; k++) begin : gen_pair
      jd_float_add #(.Latency (Add32Latency)) u_pair (
        .clk_i, .rst_ni,
        .valid_i    (single_valid[2*k]),
        .subtract_i (1'b0),
        .a_i        (single[2*k]),
        .b_i        (single[2*k+1]),
        .valid_o    (pair_valid[k]),
        .result_o   (pair[k])
      );
    end
    jd_float_add #(.Latency (Add32Latency)) u_tile (
      .clk_i, .rst_ni,
      .valid_i    (pair_valid[0]),
      .subtract_i (1'b0),
      .a_i        (pair[0]),
      .b_i        (pair[1]),
      .valid_o    (tile_valid),
      .result_o   (tile)
    );
    jd_float_add #(.Latency (Add32Latency)) u_sum (
      .clk_i, .rst_ni,
      .valid_i    (tile_valid),
      .subtract_i (1'b0),
      .a_i        (fresh_q1 ? '0 : kept[n]),
      .b_i        (tile),
      .valid_o    (sum_valid[n]),
      .result_o   (sums[n])
    );
    assign wild[n] = moves_q[ENDS] && written.used[n] && sums[n][30:23] == '1;
    logic unused;
    assign unused = ^{single_valid, pair_valid};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_gradients_i) nonfinite_q <= 1'b0;
    else if (wild != '0)              nonfinite_q <= 1'b1;
  end
  assign nonfinite_o = nonfinite_q;
  jd_mem_1r1w #(.Depth (Words), .LaneW (NEURONS * SINGLE_W)) u_memory (
    .clk_i, .rst_ni,
    .write_en_i   (moves_q[ENDS]),
    .write_addr_i (written.word),
    .write_mask_i (1'b1),
    .write_data_i (sums),
    .read_en_i    (moves_q[ASKS] || read_en_i),
    .read_addr_i  (moves_q[ASKS] ? asked.word : word_of(read_layer_i, read_line_i)),
    .read_data_o  (kept)
  );
  logic read_fresh_q;
  always_ff @(posedge clk_i) begin
    read_fresh_q <= has(fresh_q, read_layer_i);
    read_data_o  <= read_fresh_q ? '0 : kept;
  end

  `JD_ASSERT_IF(SumThere_A, moves_q[ENDS], sum_valid == '1)
  `JD_ASSUME_IF(LinesFit_M, takes, 32'(line_q) < Lines)
endmodule : jd_sparse_bsum
