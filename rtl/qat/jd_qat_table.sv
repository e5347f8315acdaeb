// SPDX-License-Identifier: Apache-2.0
//
// Checks a network table, and derives what jobs need to know of the networks.
//
// Streams  start_i: the table's words are valid, and hold until done_o. done_o is high for one
//          clock with the code of the first broken rule (0: none) and its place. table_o: the
//          networks of the last table, if it was legal. forget_i makes table_o invalid.
// Timing   Five clocks per layer in each of three walks, and one per pair of line ranges: at most
//          251 clocks.
// Numbers  place_o: 16 + the lowest word of the table that breaks the rule.
// Source   docs/qat.md (network table, vector slots). Golden models: models/qat/validate.py,
//          check_table; models/qat/layout.py, Slots.
`include "jd_assert.svh"
module jd_qat_table
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw        = 16,       // as jd_qat_top
  parameter  int unsigned ActLines  = 160,
  parameter  int unsigned DelLines  = 80,
  parameter  int unsigned WLines    = 20480,
  parameter  int unsigned MaxDim    = 512,
  parameter  int unsigned MaxLayers = 4,
  localparam int unsigned Words     = 16 + 8 * MaxLayers
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   forget_i,
  input  logic                   start_i,
  input  logic [Words-1:0][31:0] words_i,
  output logic                   done_o,
  output logic [7:0]             code_o,
  output logic [31:0]            place_o,
  output table_t                 table_o
);
  localparam logic [7:0] E_RESERVED = jd_engine_header_map_pkg::E_RESERVED;
  localparam logic [7:0] E_DIM      = jd_qat_map_pkg::E_DIM;
  localparam logic [7:0] E_RANGE    = jd_qat_map_pkg::E_RANGE;
  localparam logic [7:0] E_SLOT     = jd_qat_map_pkg::E_SLOT;
  localparam int unsigned LwLog2    = $clog2(Lw);
  localparam int unsigned MISC      = (6 + Lw - 1) / Lw;     // lines of a vector's own words
  localparam int unsigned RANGES    = 16;

  function automatic logic [16:0] lines(logic [16:0] count);  // that hold so many words
    return (count + 17'(Lw - 1)) >> LwLog2;
  endfunction

  typedef enum logic [2:0] {StIdle, StReserved, StSizes, StRanges, StSlots, StDone} state_t;
  state_t      state_q;
  logic        net_q;
  logic [1:0]  layer_q;
  logic        kind_q;                          // range: weights, biases
  logic [4:0]  used_q, other_q;                 // ranges; compared with this one
  logic [15:0] inputs_q;                        // what the next layer must have
  logic [12:0] act_q, delta_q, most_q;          // lines of a slot so far
  logic [RANGES-1:0][16:0] first_q, end_q;      // of ranges that lie in the memory
  table_t      table_q;
  assign table_o = table_q;

  // ---- The layer that is looked at: what is derived from its words settles in four clocks.
  logic                  layer_next;            // it is done
  logic [2:0]            age_q;                 // its clocks so far
  logic                  settled;
  logic [NETS-1:0][15:0] counts;
  logic [3:0][31:0]      w_q;
  logic [7:0]            at;                    // its first word
  logic [15:0]           p, q, states, actions;
  logic [7:0]            act;
  logic                  there, last, layer_last, all_last;
  assign counts  = {words_i[1][31:16], words_i[1][15:0]};
  assign states  = words_i[0][15:0];
  assign actions = words_i[0][31:16];
  assign at      = 8'd16 + 8'(net_q ? 4 * MaxLayers : 0) + {4'd0, layer_q, 2'b00};
  assign settled = age_q == 3'd4;
  always_ff @(posedge clk_i) begin
    if (state_q == StIdle || layer_next) age_q <= '0;
    else if (!settled)                   age_q <= age_q + 1'b1;
    for (int unsigned k = 0; k < 4; k++) w_q[k] <= words_i[at + 8'(k)];
  end
  assign p          = w_q[0][15:0];
  assign q          = w_q[0][31:16];
  assign act        = w_q[1][7:0];
  assign there      = 16'(layer_q) < counts[net_q];
  assign last       = 16'(layer_q) + 16'd1 == counts[net_q];
  assign layer_last = 32'(layer_q) == MaxLayers - 1;     // of the table's places
  assign all_last   = net_q && layer_last;

  // ---- Its rules
  logic       bad;
  logic [7:0] bad_word;                         // from `at`
  logic       head_bad;
  logic [7:0] head_word;
  always_comb begin
    bad      = 1'b0;
    bad_word = '0;
    for (int unsigned k = 4; k > 0; k--) begin
      if (!there ? w_q[k-1] != '0
          : (k == 2 && w_q[1][31:9] != '0) || (k == 4 && !w_q[1][8] && w_q[3] != '0)) begin
        {bad, bad_word} = {1'b1, 8'(k - 1)};
      end
    end
    head_bad  = 1'b0;
    head_word = '0;
    for (int unsigned k = 16; k > 2; k--) begin
      if (words_i[k-1] != '0) {head_bad, head_word} = {1'b1, 8'(k - 1)};
    end
  end
  logic        state_bad, count_bad, size_bad, act_bad;
  logic [16:0] place, wide_q;                   // A0; words of X
  assign place = 32'(states % 16'(Lw)) + 32'(actions) <= Lw ? 17'(states)
                 : lines(17'(states)) << LwLog2;
  always_ff @(posedge clk_i) wide_q <= place + 17'(actions);
  assign state_bad = states == '0 || 32'(states) > MaxDim || actions == '0
                     || 32'(actions) > Lw - 2;
  always_comb begin
    count_bad = 1'b0;
    for (int unsigned n = 0; n < NETS; n++) begin
      if (counts[n] < 16'd2 || 32'(counts[n]) > MaxLayers) count_bad = 1'b1;
    end
  end
  assign size_bad = p == '0 || 32'(p) > MaxDim || q == '0 || 32'(q) > MaxDim || q != inputs_q
                    || (last && p != (net_q ? 16'd1 : actions));
  assign act_bad  = !(act == 8'(ActNone) || (act == 8'(ActRelu) && !last)
                      || (act == 8'(ActTanh) && last && !net_q));

  // ---- Its lines
  logic [16:0] p_lines_q, q_lines_q;
  logic [26:0] product_q;
  logic [1:0][33:0] ends_q;                     // of weights, biases
  logic [31:0] base;
  logic [33:0] range_end;
  logic        outside, overlaps, compared;
  always_ff @(posedge clk_i) begin
    p_lines_q <= lines(17'(p));
    q_lines_q <= lines(17'(q));
    product_q <= 27'(p[10:0]) * 27'(q_lines_q);
    ends_q[0] <= 34'(w_q[2]) + 34'(product_q);
    ends_q[1] <= 34'(w_q[3]) + 34'(p_lines_q);
  end
  assign base      = kind_q ? w_q[3] : w_q[2];
  assign range_end = ends_q[kind_q];
  assign outside   = range_end > 34'(WLines);
  assign compared  = other_q == used_q;
  assign overlaps  = !compared && 17'(base) < end_q[other_q[3:0]]
                     && first_q[other_q[3:0]] < 17'(range_end);

  assign layer_next = settled && (state_q inside {StReserved, StSizes} || (state_q == StRanges
                      && (!there || (compared && (kind_q || !w_q[1][8])))));
  always_ff @(posedge clk_i) begin
    done_o <= state_q == StDone;
    if (!rst_ni || forget_i) begin
      state_q       <= StIdle;
      table_q.valid <= 1'b0;
      done_o        <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle: if (start_i) begin
          state_q <= StReserved;
          code_o  <= '0;
          place_o <= '0;
          net_q   <= 1'b0;
          layer_q <= '0;
        end
        StReserved: if (settled) begin
          if (head_bad || bad) begin
            code_o  <= E_RESERVED;
            place_o <= 32'd16 + (head_bad ? 32'(head_word) : 32'(at) + 32'(bad_word));
            state_q <= StDone;
          end else if (all_last) begin
            state_q <= StSizes;
          end
        end
        StSizes: if (settled) begin
          if (state_bad || count_bad) begin
            code_o  <= E_DIM;
            place_o <= 32'd16 + 32'(!state_bad);
            state_q <= StDone;
          end else if (there && (size_bad || act_bad)) begin
            code_o  <= E_DIM;
            place_o <= 32'd16 + 32'(at) + 32'(!size_bad);
            state_q <= StDone;
          end else if (all_last) begin
            state_q <= StRanges;
          end
        end
        StRanges: if (settled) begin
          if (there && (outside || overlaps)) begin
            code_o  <= E_RANGE;
            place_o <= 32'd16 + 32'(at) + (kind_q ? 32'd3 : 32'd2);
            state_q <= StDone;
          end else if (layer_next && all_last) begin
            state_q <= StSlots;
          end
        end
        StSlots: begin
          if (32'(act_q) > ActLines || 32'(most_q) > DelLines) begin
            code_o  <= E_SLOT;
            place_o <= 32'd16;
          end else begin
            table_q.valid <= 1'b1;
          end
          state_q <= StDone;
        end
        default: state_q <= StIdle;
      endcase
    end

    // Which layer: in each of three walks, net after net.
    if (layer_next) begin
      layer_q <= layer_last ? '0 : layer_q + 1'b1;
      net_q   <= net_q ^ layer_last;
      if (all_last)        inputs_q <= states;
      else if (layer_last) inputs_q <= 16'(wide_q);
      else                 inputs_q <= p;
    end

    // Ranges, each compared with those before it; lines of outputs and deltas.
    if (state_q == StSizes && settled) begin
      kind_q  <= 1'b0;
      used_q  <= '0;
      other_q <= '0;
      act_q   <= 13'({lines(wide_q), 1'b0} + 18'(MISC)) << 1;
      delta_q <= '0;
      most_q  <= '0;
      table_q.states      <= DIM_W'(states);
      table_q.actions     <= ROWS_W'(actions);
      table_q.counts      <= {counts[1][2:0], counts[0][2:0]};
      table_q.state_lines <= PLACE_W'(lines(17'(states)));
      table_q.input_lines <= PLACE_W'(lines(wide_q));
      table_q.action_line <= PLACE_W'(place >> LwLog2);
      table_q.action_word <= ROWS_W'(place % 17'(Lw));
      table_q.set_lines   <= PLACE_W'({lines(wide_q), 1'b0} + 18'(MISC));
      table_q.layers[net_q][layer_q].p       <= p[DIM_W-1:0];
      table_q.layers[net_q][layer_q].q       <= q[DIM_W-1:0];
      table_q.layers[net_q][layer_q].p_lines <= TILES_W'(p_lines_q);
      table_q.layers[net_q][layer_q].q_lines <= TILES_W'(q_lines_q);
      table_q.layers[net_q][layer_q].act     <= act_e'(act[1:0]);
      table_q.layers[net_q][layer_q].bias    <= w_q[1][8];
      table_q.layers[net_q][layer_q].last    <= last;
      table_q.layers[net_q][layer_q].wbase   <= LINE_W'(w_q[2]);
      table_q.layers[net_q][layer_q].bbase   <= LINE_W'(w_q[3]);
    end
    if (state_q == StRanges && settled) begin
      if (there && compared) begin
        first_q[used_q[3:0]] <= 17'(base);
        end_q[used_q[3:0]]   <= 17'(range_end);
        used_q               <= used_q + 1'b1;
        kind_q               <= w_q[1][8] && !kind_q;
        other_q              <= '0;
      end else if (there) begin
        other_q <= other_q + 1'b1;
      end
      if (layer_next) begin
        kind_q  <= 1'b0;
        other_q <= '0;
        if (there) begin
          table_q.layers[net_q][layer_q].output_line <= PLACE_W'(act_q);
          table_q.layers[net_q][layer_q].delta_line  <= PLACE_W'(delta_q);
          act_q   <= act_q + 13'(p_lines_q);
          delta_q <= delta_q + 13'(p_lines_q);
          if (last && delta_q + 13'(p_lines_q) > most_q) begin
            most_q <= delta_q + 13'(p_lines_q);
          end
        end
        if (layer_last) delta_q <= '0;
      end
    end
  end
endmodule : jd_qat_table
