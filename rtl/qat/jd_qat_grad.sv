// SPDX-License-Identifier: Apache-2.0
//
// Makes gradients of the sums that the arrays drain, adds those of chunks in the gradient memory G,
// and sends those of an update to Adam.
//
//     columns of all cores -> sum, lanes combined, rounding -> FIFO -+        +-> G
//     delta sums of all cores ------> sum, rounding ---------> FIFO -+-> sum -+
//     sweep of G ----------------------------------------------------+        +-> Adam
//
// Streams  drain: columns of a tile of dW; each is the lane sums of a line of weights, from all
//          cores at once. The fields of a tile come with its first column. bias: sums of deltas, a
//          line of biases. Both are pipes without stall: reserve_i, which waits for room_o, and
//          reserve_bias_i, which waits for bias_room_o, announce the lines.
//          adam: a line's number, for the other memories, and its gradient. sweep: lines of G to
//          Adam, while no other line comes. host: reads and writes of G while idle_o is high.
//          clear_i drops all announced lines.
// Timing   If nothing waits, a line is at adam_valid_o 9 clocks after its column and in G after 10;
//          its number is at adam_read_o 2 clocks before adam_valid_o. One line per clock leaves the
//          FIFOs, to Adam one in AdamClocks: drained lines first, then bias lines in the remaining
//          clocks, then the sweep. A host's read takes 2 clocks.
// Numbers  sums are exact. x = high + floor(low / 2^16), or in half mode high + low. Gradient:
//          S(R(x, 4 + up)), where up is 0 in full mode and 16 - shift of the inputs in half mode;
//          of biases S(R(sum, 4)). R rounds halves up, S saturates to 32 bits. Then S(G +
//          gradient); for the first chunk the gradient alone. Words beyond tile_words_i are 0 for
//          Adam and unchanged in G.
// Source   FIXAR V-A, V-B (gradient memory); docs/qat.md (numbers, Adam). Golden model:
//          models/qat/ops.py, drain and bias_gradient; models/qat/timestep.py, gradients.
`include "jd_assert.svh"
module jd_qat_grad #(
  parameter  int unsigned Cores      = 2,        // 1, 2, 4
  parameter  int unsigned Lw         = 16,       // words of a line: 4, 8, 16
  parameter  int unsigned WLines     = 20480,    // lines of G, at most 2^17
  parameter  int unsigned Lines      = 64,       // drained lines that may be announced, from 2*Lw
  parameter  int unsigned BiasLines  = 64,       // bias lines that may be
  parameter  int unsigned AdamClocks = 1,        // from a line to Adam to the next: 1, 2, 4
  localparam int unsigned AccW       = 60,       // of a lane's sum
  localparam int unsigned DeltaW     = 42,       // of a sum of deltas
  localparam int unsigned LineW      = 17,
  localparam int unsigned WordsW     = $clog2(Lw + 1),
  localparam int unsigned CountW     = $clog2(2 * Lw + 1)
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  logic                                    clear_i,
  output logic                                    idle_o,
  // Announced lines
  input  logic                                    reserve_i,
  input  logic [WordsW-1:0]                       reserve_rows_i,   // columns of the tile, 1..Lw
  output logic                                    room_o,           // for any tile
  input  logic                                    reserve_bias_i,
  output logic                                    bias_room_o,
  // Drained columns
  input  logic                                    drain_valid_i,
  input  logic                                    drain_opens_i,    // first of its tile
  input  logic [Cores-1:0][Lw-1:0][1:0][AccW-1:0] drain_sums_i,     // low, high lane
  input  logic [LineW-1:0]                        tile_line_i,      // of the first column
  input  logic [LineW-1:0]                        tile_stride_i,    // lines to the next column's
  input  logic [WordsW-1:0]                       tile_words_i,     // of a line, 1..Lw
  input  logic                                    tile_half_i,
  input  logic [4:0]                              tile_up_i,        // 0..16
  input  logic                                    tile_first_i,     // of the first chunk
  input  logic                                    tile_update_i,    // to Adam
  input  logic [1:0]                              tile_layer_i,     // of biases, too
  // Sums of deltas
  input  logic                                    bias_valid_i,
  input  logic [Cores-1:0][Lw-1:0][DeltaW-1:0]    bias_sums_i,
  input  logic [LineW-1:0]                        bias_line_i,
  input  logic [WordsW-1:0]                       bias_words_i,
  input  logic                                    bias_first_i,
  input  logic                                    bias_update_i,
  // Lines to Adam
  output logic                                    adam_next_o,      // a read in the next clock
  output logic                                    adam_read_o,
  output logic [LineW-1:0]                        adam_line_o,
  output logic [1:0]                              adam_layer_o,     // 0 of a sweep
  output logic                                    adam_valid_o,
  output logic [Lw-1:0][31:0]                     adam_data_o,
  // Sweep: rows of lines, the last of each with fewer words
  input  logic                                    sweep_valid_i,
  output logic                                    sweep_ready_o,
  input  logic [LineW-1:0]                        sweep_line_i,
  input  logic [LineW-1:0]                        sweep_count_i,    // lines in all, from 1 on
  input  logic [LineW-1:0]                        sweep_columns_i,  // lines of a row
  input  logic [WordsW-1:0]                       sweep_words_i,    // of a row's last line
  // Host
  input  logic                                    host_write_i,
  input  logic                                    host_read_i,
  input  logic [LineW-1:0]                        host_line_i,
  input  logic [Lw-1:0][31:0]                     host_data_i,
  output logic [Lw-1:0][31:0]                     host_data_o,
  // Words that were saturated
  output logic [CountW-1:0]                       over_gradient_o,
  output logic [CountW-1:0]                       over_sum_o
);
  if (!(Cores inside {1, 2, 4}) || !(Lw inside {4, 8, 16})) begin : gen_bad_size
    $fatal(1, "jd_qat_grad: Cores=%0d, want 1, 2 or 4, Lw=%0d, want 4, 8 or 16", Cores, Lw);
  end
  if (Lines < 2 * Lw || BiasLines < 2) begin : gen_bad_depth
    $fatal(1, "jd_qat_grad: Lines=%0d, want %0d or more, BiasLines=%0d, want 2 or more",
           Lines, 2 * Lw, BiasLines);
  end
  if (WLines < 2 || WLines > 2 ** LineW || !(AdamClocks inside {1, 2, 4})) begin : gen_bad_memory
    $fatal(1, "jd_qat_grad: WLines=%0d, want 2..%0d, AdamClocks=%0d, want 1, 2 or 4",
           WLines, 2 ** LineW, AdamClocks);
  end

  typedef struct packed {
    logic                first;        // what G has does not count
    logic                update;       // to Adam
    logic [1:0]          layer;
    logic [LineW-1:0]    line;
    logic [Lw-1:0]       mask;         // words that there are
    logic [Lw-1:0][31:0] data;
  } line_t;

  function automatic logic [Lw-1:0] mask_of(input logic [WordsW-1:0] words);
    logic [Lw-1:0] mask;
    for (int unsigned k = 0; k < Lw; k++) mask[k] = WordsW'(k) < words;
    return mask;
  endfunction

  // ---- Drained columns: 1 sum of the cores | 2 lanes combined | 3, 4 rounded
  localparam int unsigned SumW = AccW + $clog2(Cores);
  localparam int unsigned XW   = SumW + 1;
  typedef struct packed {
    logic             first;
    logic             update;
    logic [1:0]       layer;
    logic             half;
    logic [4:0]       up;
    logic [Lw-1:0]    mask;
    logic [LineW-1:0] stride;
    logic [LineW-1:0] line;
  } column_t;
  logic                       drain_q, drain_q2, drain_q3, drain_q4;
  column_t                    column, column_q;
  logic [Lw-1:0][SumW-1:0]    low_d, high_d, low_q, high_q;
  logic signed [SumW-1:0]     lower [Lw];
  logic [Lw-1:0][XW-1:0]      x_d, x_q2;
  logic [4:0]                 shift_q2;
  line_t                      drained;
  logic [Lw-1:0]              drained_over;
  always_comb begin
    column = column_q;
    column.line = column_q.line + column_q.stride;
    if (drain_opens_i) begin
      column = '{first: tile_first_i, update: tile_update_i, layer: tile_layer_i,
                 half: tile_half_i, up: tile_up_i, mask: mask_of(tile_words_i),
                 stride: tile_stride_i, line: tile_line_i};
    end
    for (int unsigned i = 0; i < Lw; i++) begin
      low_d[i]  = '0;
      high_d[i] = '0;
      for (int unsigned c = 0; c < Cores; c++) begin
        low_d[i]  = low_d[i] + SumW'($signed(drain_sums_i[c][i][0]));
        high_d[i] = high_d[i] + SumW'($signed(drain_sums_i[c][i][1]));
      end
      // In full mode the low bits of the low lane lie below what rounding sees.
      lower[i] = low_q[i];
      if (!column_q.half) lower[i] = lower[i] >>> 16;
      x_d[i] = column_q.mask[i] ? XW'($signed(high_q[i])) + XW'(lower[i]) : '0;
    end
  end
  always_ff @(posedge clk_i) begin
    drain_q  <= rst_ni && !clear_i && drain_valid_i;
    drain_q2 <= rst_ni && !clear_i && drain_q;
    drain_q3 <= rst_ni && !clear_i && drain_q2;
    drain_q4 <= rst_ni && !clear_i && drain_q3;
    if (drain_valid_i) begin
      column_q <= column;
      low_q    <= low_d;
      high_q   <= high_d;
    end
    if (drain_q) begin
      shift_q2 <= 5'd4 + (column_q.half ? column_q.up : 5'd0);
      x_q2     <= x_d;
    end
  end
  jd_delay #(.Width (4 + LineW + Lw), .Cycles (3), .Clear (1'b0)) u_drained (
    .clk_i, .rst_ni,
    .in_i  ({column_q.first, column_q.update, column_q.layer, column_q.line, column_q.mask}),
    .out_o ({drained.first, drained.update, drained.layer, drained.line, drained.mask})
  );
  for (genvar i = 0; i < Lw; i++) begin : gen_word
    logic unused_valid;
    jd_fixed_round #(.InW (XW), .OutW (32), .ShiftMax (20), .Latency (2)) u_round (
      .clk_i, .rst_ni,
      .valid_i     (drain_q2),
      .value_i     (x_q2[i]),
      .shift_i     (shift_q2),
      .valid_o     (unused_valid),
      .result_o    (drained.data[i]),
      .saturated_o (drained_over[i])
    );
  end

  // ---- Sums of deltas: 1 sum of the cores | 2, 3 rounded
  localparam int unsigned BiasW = DeltaW + $clog2(Cores);
  logic                     bias_q, bias_q2, bias_q3;
  logic [Lw-1:0][BiasW-1:0] bias_d, bias_sum_q;
  line_t                    bias;
  logic [Lw-1:0]            bias_mask, bias_over;
  assign bias_mask = mask_of(bias_words_i);
  always_comb begin
    for (int unsigned j = 0; j < Lw; j++) begin
      bias_d[j] = '0;
      for (int unsigned c = 0; c < Cores; c++) begin
        if (bias_mask[j]) bias_d[j] = bias_d[j] + BiasW'($signed(bias_sums_i[c][j]));
      end
    end
  end
  always_ff @(posedge clk_i) begin
    bias_q  <= rst_ni && !clear_i && bias_valid_i;
    bias_q2 <= rst_ni && !clear_i && bias_q;
    bias_q3 <= rst_ni && !clear_i && bias_q2;
    if (bias_valid_i) bias_sum_q <= bias_d;
  end
  jd_delay #(.Width (4 + LineW + Lw), .Cycles (3), .Clear (1'b0)) u_bias (
    .clk_i, .rst_ni,
    .in_i  ({bias_first_i, bias_update_i, tile_layer_i, bias_line_i, bias_mask}),
    .out_o ({bias.first, bias.update, bias.layer, bias.line, bias.mask})
  );
  for (genvar j = 0; j < Lw; j++) begin : gen_bias
    logic unused_valid;
    jd_fixed_round #(.InW (BiasW), .OutW (32), .ShiftMax (4), .Latency (2)) u_round (
      .clk_i, .rst_ni,
      .valid_i     (bias_q),
      .value_i     (bias_sum_q[j]),
      .shift_i     (3'd4),
      .valid_o     (unused_valid),
      .result_o    (bias.data[j]),
      .saturated_o (bias_over[j])
    );
  end
  always_comb begin
    over_gradient_o = '0;
    for (int unsigned k = 0; k < Lw; k++) begin
      over_gradient_o = over_gradient_o + CountW'(drain_q4 && drained_over[k])
                                        + CountW'(bias_q3 && bias_over[k]);
    end
  end

  // ---- FIFOs, with room for what was announced
  localparam int unsigned OwedW     = $clog2(Lines + 1);
  localparam int unsigned BiasOwedW = $clog2(BiasLines + 1);
  logic                  lines_in_ready, lines_valid, lines_take, biases_in_ready, biases_valid,
                         biases_take;
  line_t                 lines_line, biases_line;
  logic [OwedW-1:0]      owed_q, unused_lines_count;
  logic [BiasOwedW-1:0]  bias_owed_q, unused_biases_count;
  assign room_o      = owed_q <= OwedW'(Lines - Lw);
  assign bias_room_o = bias_owed_q != BiasOwedW'(BiasLines);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      owed_q      <= '0;
      bias_owed_q <= '0;
    end else begin
      owed_q      <= owed_q + (reserve_i ? OwedW'(reserve_rows_i) : '0) - OwedW'(lines_take);
      bias_owed_q <= bias_owed_q + BiasOwedW'(reserve_bias_i) - BiasOwedW'(biases_take);
    end
  end
  jd_stream_fifo #(.Width ($bits(line_t)), .Depth (Lines)) u_lines (
    .clk_i, .rst_ni,
    .clear_i,
    .in_valid_i  (drain_q4),
    .in_ready_o  (lines_in_ready),
    .in_data_i   (drained),
    .out_valid_o (lines_valid),
    .out_ready_i (lines_take),
    .out_data_o  (lines_line),
    .count_o     (unused_lines_count)
  );
  jd_stream_fifo #(.Width ($bits(line_t)), .Depth (BiasLines)) u_biases (
    .clk_i, .rst_ni,
    .clear_i,
    .in_valid_i  (bias_q3),
    .in_ready_o  (biases_in_ready),
    .in_data_i   (bias),
    .out_valid_o (biases_valid),
    .out_ready_i (biases_take),
    .out_data_o  (biases_line),
    .count_o     (unused_biases_count)
  );

  // ---- Sweep
  logic              sweep_take;
  logic [LineW-1:0]  sweep_left_q, sweep_line_q, sweep_column_q;
  logic              sweep_ends;                 // a row
  line_t             sweep_line;
  assign sweep_ready_o = sweep_left_q == '0;
  assign sweep_ends    = sweep_column_q == sweep_columns_i - 1'b1;
  assign sweep_line    = '{first: 1'b0, update: 1'b1, layer: '0, line: sweep_line_q, data: '0,
                           mask: sweep_ends ? mask_of(sweep_words_i) : '1};
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i)                  sweep_left_q <= '0;
    else if (sweep_valid_i && sweep_ready_o) sweep_left_q <= sweep_count_i;
    else if (sweep_take)                     sweep_left_q <= sweep_left_q - 1'b1;
    if (sweep_ready_o) begin
      sweep_line_q   <= sweep_line_i;
      sweep_column_q <= '0;
    end else if (sweep_take) begin
      sweep_line_q   <= sweep_line_q + 1'b1;
      sweep_column_q <= sweep_ends ? '0 : sweep_column_q + 1'b1;
    end
  end

  // ---- A line per clock: 0 G is asked | 1 the number to Adam | 2 G answers | 3 sum to G or Adam
  logic                take, goes;
  line_t               chosen, taken_q, taken_q2;
  logic                sum_update_q3;
  logic [LineW-1:0]    sum_line_q3;
  logic [Lw-1:0]       sum_mask_q3;
  logic [Lw-1:0][31:0] sum_data_q3;
  logic                taken_valid_q, taken_valid_q2, sum_valid_q3;
  logic [Lw-1:0][31:0] stored;
  logic [Lw-1:0]       sum_over_q3;
  if (AdamClocks > 1) begin : gen_pace
    logic [$clog2(AdamClocks)-1:0] rest_q;       // clocks in which Adam is busy
    assign goes = rest_q == '0;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i)         rest_q <= '0;
      else if (take && chosen.update) rest_q <= $clog2(AdamClocks)'(AdamClocks - 1);
      else if (!goes)                 rest_q <= rest_q - 1'b1;
    end
  end else begin : gen_every_clock
    assign goes = 1'b1;
  end
  assign lines_take  = lines_valid && goes;
  assign biases_take = biases_valid && !lines_valid && goes;
  assign sweep_take  = !sweep_ready_o && !lines_valid && !biases_valid && goes;
  assign take        = lines_take || biases_take || sweep_take;
  always_comb begin
    chosen = sweep_line;
    if (lines_valid)       chosen = lines_line;
    else if (biases_valid) chosen = biases_line;
  end

  localparam int unsigned AddressW = $clog2(WLines);
  logic                read, write;
  logic [AddressW-1:0] read_line, write_line;
  logic [Lw-1:0]       write_mask;
  logic [Lw-1:0][31:0] write_data;
  assign read       = take ? !chosen.first : host_read_i;
  assign read_line  = AddressW'(take ? chosen.line : host_line_i);
  assign write      = host_write_i || (sum_valid_q3 && !sum_update_q3);
  assign write_line = AddressW'(host_write_i ? host_line_i : sum_line_q3);
  assign write_mask = host_write_i ? '1 : sum_mask_q3;
  assign write_data = host_write_i ? host_data_i : sum_data_q3;
  jd_mem_1r1w #(.Depth (WLines), .Lanes (Lw), .LaneW (32), .ReadLatency (2)) u_memory (
    .clk_i, .rst_ni,
    .write_en_i   (write),
    .write_addr_i (write_line),
    .write_mask_i (write_mask),
    .write_data_i (write_data),
    .read_en_i    (read),
    .read_addr_i  (read_line),
    .read_data_o  (stored)
  );
  assign host_data_o = stored;

  always_ff @(posedge clk_i) begin
    taken_valid_q  <= rst_ni && !clear_i && take;
    taken_valid_q2 <= rst_ni && !clear_i && taken_valid_q;
    sum_valid_q3   <= rst_ni && !clear_i && taken_valid_q2;
    if (take)          taken_q  <= chosen;
    if (taken_valid_q) taken_q2 <= taken_q;
    if (taken_valid_q2) begin
      sum_update_q3 <= taken_q2.update;
      sum_line_q3   <= taken_q2.line;
      sum_mask_q3   <= taken_q2.mask;
      for (int unsigned k = 0; k < Lw; k++) begin
        automatic logic [32:0] sum;
        sum = 33'($signed(taken_q2.data[k]))
            + (taken_q2.first ? '0 : 33'($signed(stored[k])));
        if (!taken_q2.mask[k]) sum = '0;
        sum_over_q3[k] <= sum[32] != sum[31];
        sum_data_q3[k] <= sum[32] == sum[31] ? sum[31:0] : {sum[32], {31{!sum[32]}}};
      end
    end
  end
  always_comb begin
    over_sum_o = '0;
    for (int unsigned k = 0; k < Lw; k++) begin
      over_sum_o = over_sum_o + CountW'(sum_valid_q3 && sum_over_q3[k]);
    end
  end
  assign adam_next_o  = take && chosen.update;
  assign adam_read_o  = taken_valid_q && taken_q.update;
  assign adam_line_o  = taken_q.line;
  assign adam_layer_o = taken_q.layer;
  assign adam_valid_o = sum_valid_q3 && sum_update_q3;
  assign adam_data_o  = sum_data_q3;

  assign idle_o = owed_q == '0 && bias_owed_q == '0 && sweep_ready_o &&
                  !(taken_valid_q || taken_valid_q2 || sum_valid_q3);

  `JD_ASSERT_IF(LineHasRoom_A, drain_q4, lines_in_ready)
  `JD_ASSERT_IF(BiasHasRoom_A, bias_q3, biases_in_ready)
  `JD_ASSUME_IF(Announced_M, reserve_i, room_o && reserve_rows_i != '0)
  `JD_ASSUME_IF(BiasAnnounced_M, reserve_bias_i, bias_room_o)
  `JD_ASSUME_IF(HostWhenIdle_M, host_read_i || host_write_i, idle_o)
  `JD_ASSUME_STABLE(SweepHeld_M, !sweep_ready_o, {sweep_columns_i, sweep_words_i})
  // G answers with what was there before the clock: a line comes again only when its sum is stored.
  `JD_ASSERT_IF(NotWhileSummed_A, take && !chosen.first,
                !(taken_valid_q && !taken_q.update && taken_q.line == chosen.line) &&
                !(taken_valid_q2 && !taken_q2.update && taken_q2.line == chosen.line) &&
                !(sum_valid_q3 && !sum_update_q3 && sum_line_q3 == chosen.line))
endmodule : jd_qat_grad
