// SPDX-License-Identifier: Apache-2.0
//
// Issues the products of tiles: for every clock, which sum gets a product and where its two factors
// are.
//
// Streams  tile_i is the next tile to issue. tile_done_o takes it, in the clock of its last issue,
//          or at once if it has none. issue_o accompanies every product.
// Timing   One issue per clock, or one weight per clock if weights are gathered; two clocks between
//          tiles. A sum is issued again after AddLatency clocks at the earliest. issue_o is a
//          register.
// Numbers  positions of the parameter buffer modulo 2^PositionW.
// Source   FA3C (ASPLOS 2019) section 4.2.1 (accumulation frequency), 4.4. a3c 6.1 to 6.4. Golden
//          model: models/a3c/timing.py.
`include "jd_assert.svh"
module jd_a3c_issue
  import jd_a3c_tile_pkg::*;
  import jd_a3c_issue_pkg::*;
#(
  parameter  int unsigned Pes           = 16,     // processing elements: 16, 32, 64 or 128
  parameter  int unsigned AddLatency    = 4,      // 2..8
  parameter  int unsigned ParameterRows = 512,    // of the parameter buffer, a power of two
  localparam int unsigned SEGS          = Pes / 16,
  localparam int unsigned PositionW     = $clog2(ParameterRows) + 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  tile_valid_i,     // and its half is prepared
  input  tile_t                 tile_i,
  input  logic                  tile_half_i,      // of the sums
  output logic                  tile_done_o,
  input  logic [1:0]            line_full_i,
  output logic                  line_free_o,
  input  logic [1:0]            lane_full_i,
  output logic                  lane_free_o,
  input  logic [PositionW-1:0]  filled_i,         // of the parameter buffer
  output logic [PositionW-1:0]  released_o,
  output issue_t                issue_o,
  output logic [SEGS-1:0][7:0]  pointer_o,        // of each group's line buffer
  output logic [SEGS-1:0][15:0] enable_o,         // of each element
  // Why nothing is issued
  output logic                  lost_latency_o,
  output logic                  lost_parameters_o,
  output logic                  lost_maps_o
);
  // ---- Loops
  logic        run_q;                             // the tile in hand is loaded
  logic        bias_q;                            // its round of biases
  logic        extra_q;                           // GcConv: the bias's sum is in turn
  logic [5:0]  turn0_q, turn1_q;
  logic [6:0]  turn2_q;
  logic [12:0] turn3_q;
  logic [9:0]  turn4_q;
  logic [4:0]  sum_q;                             // context
  logic [7:0]  pointer_q, pointer1_q, pointer2_q;
  logic [15:0] weight_q, weight2_q, weight3_q, weight4_q;
  logic [5:0]  entry_q, entry2_q;
  logic [1:0]  phase_across_q, phase_down_q;      // of the kernel's column and row
  logic        line_use_q, lane_use_q;
  kind_e       kind;
  tile_t       tile_q;                            // in hand, while run_q
  assign kind = tile_q.kind;

  // BwConv: the sums that a tap meets.
  function automatic logic [5:0] first_sum(input logic [6:0] left, input logic [7:0] tap);
    first_sum = 8'(left) >= tap ? 6'd0 : 6'(tap - 8'(left));
  endfunction
  function automatic logic [7:0] first_word(input logic [6:0] left, input logic [7:0] tap);
    first_word = 8'(left) >= tap ? 8'(left) - tap : 8'd0;
  endfunction
  logic [7:0] tap, tap_down;                      // of the row, of the column
  logic [8:0] sums_end;                           // BwConv: after the last sum
  assign tap      = 8'(tile_q.tap_left) + 8'(turn2_q);
  assign tap_down = 8'(tile_q.tap_top) + 8'(turn3_q[4:0]);
  assign sums_end = 9'(tap) + 9'(tile_q.columns) - 9'(tile_q.left);

  logic end0, end1, round_end, end2, end3, end4, tile_end;
  logic [6:0] most2;
  assign most2 = turn3_q == tile_q.n3 - 13'd1 ? tile_q.n2_last : tile_q.n2;
  assign end0  = turn0_q == tile_q.n0 - 6'd1
                 || (kind == BwConv && 9'(sum_q) + 9'd1 == sums_end);
  assign end1  = turn1_q == tile_q.n1 - 6'd1;
  assign round_end = extra_q || (end0 && end1 && !(kind == GcConv && tile_q.biases));
  assign end2  = turn2_q == most2 - 7'd1;
  assign end3  = turn3_q == tile_q.n3 - 13'd1;
  assign end4  = turn4_q == tile_q.n4 - 10'd1;
  assign tile_end = round_end && !bias_q && end2 && end3 && end4;

  // ---- What an issue needs
  localparam int unsigned HISTORY = AddLatency - 1;
  localparam int unsigned PastW   = 6 * HISTORY;
  logic [HISTORY-1:0]      past_valid_q;
  logic [HISTORY-1:0][5:0] past_q;                // {half, sum} of the last issues
  logic                    conflict;
  always_comb begin
    conflict = 1'b0;
    for (int unsigned k = 0; k < HISTORY; k++) begin
      if (past_valid_q[k] && past_q[k] == {tile_half_i, sum_q}) conflict = 1'b1;
    end
  end
  logic [1:0] line_gone_q, lane_gone_q;
  logic uses_weights, uses_lines, uses_lanes, alone;
  assign alone        = kind == GcFc && tile_q.biases;
  assign uses_weights = kind != GcConv && kind != GcFc;
  assign uses_lanes   = !uses_weights;
  assign uses_lines   = !bias_q && !alone;
  logic [15:0]          position;
  logic [PositionW-1:0] ahead;                    // entries there from the position on
  logic                 parameters, maps, issue;
  logic [7:0]           gathered_q;               // weights of the next issues
  assign position   = bias_q ? tile_q.bias + (kind == FwFc ? weight_q : 16'd0) : weight_q;
  assign ahead      = filled_i - position[PositionW-1:0];
  assign parameters = (!uses_weights || (ahead != '0 && ahead <= PositionW'(ParameterRows)))
                      && (!tile_q.gather || turn0_q != '0 || gathered_q == 8'(Pes - 1));
  assign maps       = (!uses_lines || (line_full_i[line_use_q] && !line_gone_q[line_use_q]))
                      && (!uses_lanes || (lane_full_i[lane_use_q] && !lane_gone_q[lane_use_q]));
  assign issue      = run_q && !conflict && parameters && maps;
  assign lost_latency_o    = run_q && conflict;
  assign lost_parameters_o = run_q && !conflict && !parameters;
  assign lost_maps_o       = run_q && !conflict && parameters && !maps;

  logic none;                                     // the tile has no products
  assign none = tile_i.n2 == '0 || tile_i.n3 == '0;
  assign tile_done_o = run_q ? issue && tile_end : tile_valid_i && none;

  // Weights that come one per clock are gathered for all elements while the weights before them
  // are in use.
  always_ff @(posedge clk_i) begin
    if (!run_q || (issue && turn0_q == '0))  gathered_q <= '0;
    else if (gathered_q != 8'(Pes - 1))      gathered_q <= gathered_q + 8'd1;
  end

  // ---- Halves and room are given back after their last read
  logic line_end, lane_end;
  assign line_end = issue && round_end && !bias_q && end2 && !alone
                    && (kind != GcFc || tile_q.line_last);
  assign lane_end = issue && round_end && end2
                    && (kind == GcConv || (kind == GcFc && tile_q.lane_last && tile_end));
  jd_delay #(.Width (2), .Cycles (3), .Clear (1'b1)) u_free (
    .clk_i, .rst_ni,
    .in_i  ({line_end, lane_end}),
    .out_o ({line_free_o, lane_free_o})
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      line_use_q <= 1'b0;
      lane_use_q <= 1'b0;
    end else begin
      if (line_end) line_use_q <= !line_use_q;
      if (lane_end) lane_use_q <= !lane_use_q;
    end
  end
  // A half that is used up still counts as full for a moment.
  logic       line_back_q, lane_back_q;           // the next half to be given back
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      line_gone_q <= '0;
      lane_gone_q <= '0;
      line_back_q <= 1'b0;
      lane_back_q <= 1'b0;
    end else begin
      if (line_end) line_gone_q[line_use_q] <= 1'b1;
      if (lane_end) lane_gone_q[lane_use_q] <= 1'b1;
      if (line_free_o) begin
        line_gone_q[line_back_q] <= 1'b0;
        line_back_q <= !line_back_q;
      end
      if (lane_free_o) begin
        lane_gone_q[lane_back_q] <= 1'b0;
        lane_back_q <= !lane_back_q;
      end
    end
  end

  // A tile that ends with padding may finish before the padding is loaded: its room is given back
  // with the last.
  logic [PositionW-1:0] release_q;
  logic                 release_filled;
  assign release_filled = PositionW'(filled_i - release_q) <= PositionW'(ParameterRows);

  // ---- Steps
  logic [15:0] step2, step3;
  assign step2 = phase_across_q == 2'((3'd1 << tile_q.stride) - 3'd1) && kind == FwConv
                 ? tile_q.a2_wrap : tile_q.a2;
  assign step3 = phase_down_q == 2'((3'd1 << tile_q.stride) - 3'd1) && kind == FwConv
                 ? tile_q.a3_wrap : tile_q.a3;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      run_q        <= 1'b0;
      release_q    <= '0;
      released_o   <= '0;
      past_valid_q <= '0;
    end else begin
      past_valid_q <= HISTORY'({past_valid_q, issue});
      if (!run_q) run_q <= tile_valid_i && !none;
      else if (issue && tile_end) run_q <= 1'b0;
      if (tile_done_o && (run_q ? tile_q.free_end : tile_i.free_end)) begin
        release_q <= run_q ? tile_q.weight_end[PositionW-1:0] : tile_i.weight_end[PositionW-1:0];
      end else if (issue && round_end && !bias_q && end2 && tile_q.free_blocks) begin
        release_q <= weight3_q[PositionW-1:0] + tile_q.a3[PositionW-1:0];
      end
      if (release_filled) released_o <= release_q;
    end
    past_q <= PastW'({past_q, tile_half_i, sum_q});
    if (!run_q) begin
      tile_q     <= tile_i;
      bias_q     <= tile_i.biases && (tile_i.kind == FwConv || tile_i.kind == FwFc);
      extra_q    <= 1'b0;
      turn0_q    <= '0;
      turn1_q    <= '0;
      turn2_q    <= '0;
      turn3_q    <= '0;
      turn4_q    <= '0;
      sum_q      <= tile_i.kind == BwConv ? 5'(first_sum(tile_i.left, 8'(tile_i.tap_left))) : 5'd0;
      pointer_q  <= tile_i.kind == BwConv ? first_word(tile_i.left, 8'(tile_i.tap_left))
                                          : tile_i.pointer;
      pointer1_q <= tile_i.pointer;
      pointer2_q <= tile_i.pointer;
      weight_q   <= tile_i.biases && tile_i.kind == FwFc ? 16'd0 : tile_i.weight;
      weight2_q  <= tile_i.weight;
      weight3_q  <= tile_i.weight;
      weight4_q  <= tile_i.weight;
      entry_q    <= '0;
      entry2_q   <= '0;
      phase_across_q <= '0;
      phase_down_q   <= '0;
      if (tile_i.kind == BwConv) turn0_q <= first_sum(tile_i.left, 8'(tile_i.tap_left));
    end else if (issue) begin
      sum_q     <= sum_q + 5'd1;
      turn0_q   <= turn0_q + 6'd1;
      pointer_q <= pointer_q + tile_q.p0;
      entry_q   <= entry_q + 6'(tile_q.e0);
      if (end0) begin
        turn0_q    <= '0;
        turn1_q    <= turn1_q + 6'd1;
        pointer_q  <= pointer1_q + tile_q.p1;
        pointer1_q <= pointer1_q + tile_q.p1;
        weight_q   <= weight_q + tile_q.a1;
        entry_q    <= entry2_q;
        if (end1 && kind == GcConv && tile_q.biases) extra_q <= 1'b1;
      end
      if (round_end) begin
        extra_q    <= 1'b0;
        turn0_q    <= '0;
        turn1_q    <= '0;
        sum_q      <= '0;
        if (bias_q) begin
          bias_q     <= 1'b0;
          pointer_q  <= tile_q.pointer;
          pointer1_q <= tile_q.pointer;
          weight_q   <= tile_q.weight;
        end else begin
          turn2_q    <= turn2_q + 7'd1;
          pointer_q  <= pointer2_q + tile_q.p2;
          pointer1_q <= pointer2_q + tile_q.p2;
          pointer2_q <= pointer2_q + tile_q.p2;
          weight_q   <= weight2_q + step2;
          weight2_q  <= weight2_q + step2;
          entry_q    <= entry2_q + tile_q.e2[5:0];
          entry2_q   <= entry2_q + tile_q.e2[5:0];
          phase_across_q <= phase_across_q == 2'((3'd1 << tile_q.stride) - 3'd1)
                            ? 2'd0 : phase_across_q + 2'd1;
          if (kind == BwConv) begin
            turn0_q   <= first_sum(tile_q.left, tap + 8'd1);
            sum_q     <= 5'(first_sum(tile_q.left, tap + 8'd1));
            pointer_q <= first_word(tile_q.left, tap + 8'd1);
          end
          if (end2) begin
            turn2_q    <= '0;
            turn3_q    <= turn3_q + 13'd1;
            pointer_q  <= tile_q.pointer;
            pointer1_q <= tile_q.pointer;
            pointer2_q <= tile_q.pointer;
            weight_q   <= weight3_q + step3;
            weight2_q  <= weight3_q + step3;
            weight3_q  <= weight3_q + step3;
            entry_q    <= '0;
            entry2_q   <= '0;
            phase_across_q <= '0;
            phase_down_q   <= phase_down_q == 2'((3'd1 << tile_q.stride) - 3'd1)
                              ? 2'd0 : phase_down_q + 2'd1;
            if (kind == BwConv) begin
              turn0_q   <= first_sum(tile_q.left, 8'(tile_q.tap_left));
              sum_q     <= 5'(first_sum(tile_q.left, 8'(tile_q.tap_left)));
              pointer_q <= first_word(tile_q.left, 8'(tile_q.tap_left));
            end
            if (end3) begin
              turn3_q   <= '0;
              turn4_q   <= turn4_q + 10'd1;
              weight_q  <= weight4_q + tile_q.a4;
              weight2_q <= weight4_q + tile_q.a4;
              weight3_q <= weight4_q + tile_q.a4;
              weight4_q <= weight4_q + tile_q.a4;
              phase_down_q <= '0;
            end
          end
        end
      end
    end
  end

  // ---- Elements that add: all, except BwConv's elements whose tap does not exist
  logic [SEGS-1:0]       segment_on;
  logic [SEGS-1:0][15:0] lane_on;
  always_comb begin
    for (int unsigned s = 0; s < SEGS; s++) begin
      logic [2:0] group, place;
      logic [8:0] row;
      group = 3'(s >> tile_q.lanes);
      place = 3'(s) & ~(3'b111 << tile_q.lanes);
      row   = 9'(tile_q.top) + 9'(group) - 9'(tap_down);
      segment_on[s] = 4'(group) < tile_q.groups
                      && (kind != BwConv || (!row[8] && row[7:0] < tile_q.rows));
      for (int unsigned l = 0; l < 16; l++) begin
        logic [3:0] phase, across, down, mask;
        logic [9:0] channel;
        mask  = 4'((5'd1 << tile_q.stride) - 5'd1);
        phase = tile_q.phase[place];
        channel = tile_q.channel[place] + 10'(l);
        unique case (tile_q.padded_inputs)
          10'd1: begin
            phase   = phase + 4'(l);
            channel = '0;
          end
          10'd2: begin
            phase   = phase + 4'(l / 2);
            channel = 10'(l % 2);
          end
          10'd4: begin
            phase   = phase + 4'(l / 4);
            channel = 10'(l % 4);
          end
          10'd8: begin
            phase   = phase + 4'(l / 8);
            channel = 10'(l % 8);
          end
          default: ;
        endcase
        across = phase & mask;
        down   = phase >> tile_q.stride;
        lane_on[s][l] = kind != BwConv
            || (channel < tile_q.inputs
                && (tap << tile_q.stride | 8'(across)) < 8'(tile_q.kernel)
                && (tap_down << tile_q.stride) + 8'(down) < 8'(tile_q.kernel));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) issue_o.valid <= 1'b0;
    else         issue_o.valid <= issue;
    if (issue) begin
      issue_o.half      <= tile_half_i;
      issue_o.index     <= sum_q;
      issue_o.fresh     <= kind == FwConv || kind == FwFc
                           ? bias_q
                           : tile_q.start && turn2_q == '0 && turn3_q == '0 && turn4_q == '0;
      issue_o.one       <= bias_q || extra_q || alone;
      issue_o.lane      <= uses_lanes;
      issue_o.lanes     <= tile_q.lanes;
      issue_o.line_half <= line_use_q;
      issue_o.lane_half <= lane_use_q;
      issue_o.entry     <= extra_q ? entry2_q : entry_q;
      issue_o.position  <= position;
      for (int unsigned m = 0; m < SEGS; m++) begin
        logic [2:0] share;
        share = 3'(m) & ~(3'b111 << tile_q.split);
        pointer_o[m] <= pointer_q + (share[0] ? tile_q.split_step : 8'd0)
                        + (share[1] ? tile_q.split_step << 1 : 8'd0)
                        + (share[2] ? tile_q.split_step << 2 : 8'd0);
      end
      for (int unsigned s = 0; s < SEGS; s++) enable_o[s] <= segment_on[s] ? lane_on[s] : '0;
    end
  end

  `JD_ASSUME_STABLE(TileHeld_M, run_q && !tile_done_o, tile_i)
endmodule : jd_a3c_issue
