// SPDX-License-Identifier: Apache-2.0
//
// Divides passes through layers into tiles, and says in each clock which line of weights is loaded
// and which entry is taken.
//
//   pass -> walk over layers, output tiles, inner tiles -> loads of a tile's lines -> its entries
//        -> walk over layers, output tiles of FW -> bias lines
//
// Streams  pass: taken when all tiles of the pass before it have been made. load, entry: pipes to
//          jd_qat_wmem and the cores. bias: requests of bias lines. written_i, whole_i: the first
//          line, or all lines, of an output tile can be read by tiles that wait for it. come_i: a
//          bias line has arrived. reserve: a tile of dW announces its drained lines, once there is
//          room. hold_i: no line may be requested, because the optimizer reads. updates_i: lines of
//          a layer are still to be updated; a pass of the acting vector alone does not load this
//          layer until they are. clear_i drops everything.
// Timing   load_*, entry_* and reserve_* follow a decision by one clock. A tile starts when
//          - its lines are loaded,
//          - the tile before it has taken its entries,
//          - the values that it reads are written,
//          - and, for the last inner tile of an output tile, the bias line has arrived.
//          The lines of the next tile load from this start on. So the tile period is max(lines,
//          entries); in dW, which loads no lines, max(LW, entries). Results are written DEPTH
//          clocks after the decision. A tile that waits for them starts DEPTH + 1 clocks after it;
//          in IL DEPTH + 2.
// Numbers  the inner tiles of an output tile follow one another. FW and dW go over outputs, then
//          inputs, from the first layer on. dX goes over inputs, then outputs, from the last layer
//          on; its results for layer l are the deltas of the outputs of layer l - 1.
//          A layer reads what the layer before it wrote: operands of tile t are there once output
//          tile t is written. In a pass with `waits` the first layer waits as well: FW with its
//          last tile of inputs and dX with all tiles, until all output tiles of the passes before
//          are written; dW with its output tile t, until the dX before has written output tile t,
//          in half mode all lines of it.
//          If all cores hold all vectors, dX computes the first layer completely, although only the
//          deltas of the action are kept, and the first layer of dW waits for all tiles before it.
// Source   FIXAR V-B (dataflow); docs/qat.md (cycle model). Golden models: models/qat/schedule.py
//          (tiles and their order), models/qat/timing.py (clocks).
`include "jd_assert.svh"
module jd_qat_sequencer
  import jd_qat_pkg::*;
#(
  parameter int unsigned Lw = 16,           // 4, 8, 16
  parameter int unsigned N  = 2             // cores: 1, 2, 4
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic                            clear_i,
  output logic                            idle_o,        // nothing is under way up to the writes
  input  layer_t [NETS-1:0][LAYERS-1:0]   layers_i,
  input  logic [TENSORS-1:0][SHIFT_W-1:0] shifts_i,
  input  logic                            pass_valid_i,
  output logic                            pass_ready_o,
  input  pass_t                           pass_i,
  input  logic                            hold_i,        // of loads, by the optimizer
  input  logic [LAYERS-1:0]               updates_i,     // of what was reserved two clocks ago
  output logic                            load_valid_o,
  output weights_t                        load_o,
  output logic                            entry_valid_o,
  output entry_t                          entry_o,
  output logic                            bias_valid_o,
  input  logic                            bias_ready_i,
  output logic                            bias_target_o,
  output logic [LINE_W-1:0]               bias_address_o,
  input  logic                            come_i,
  input  logic [1:0]                      written_i,     // output tiles of which a line is written
  input  logic [1:0]                      whole_i,       // of which all lines are
  output logic                            reserve_o,     // a tile of dW will drain lines,
  output logic [ROWS_W-1:0]               reserve_rows_o,   // so many,
  output logic                            reserve_bias_o,   // and one of biases,
  output logic                            reserve_update_o, // to be updated
  output logic [1:0]                      reserve_layer_o,
  input  logic                            room_i,
  input  logic                            bias_room_i,
  output logic                            waits_o,       // for operands or lines, with tiles to do
  output logic                            full_o         // for room
);
  localparam int unsigned CountW = 12;              // of output tiles, modulo
  localparam int unsigned LwLog2 = $clog2(Lw);
  localparam int unsigned NLog2  = $clog2(N);

  // ---- The walk: a tile per clock
  typedef struct packed {
    tile_t             tile;
    logic              waits;                       // for the output tiles before `need`
    logic [CountW-1:0] need;
  } step_t;

  logic               walk_q, biases_q;             // there is more to do of the pass
  pass_t              pass_q;
  logic [1:0]         layer_q, bias_layer_q;
  logic [TILES_W-1:0] q_tile_q, p_tile_q, bias_tile_q;
  logic [LINE_W-1:0]  row_line_q;                   // of the first line of the tiles of p_tile_q
  logic [CountW-1:0]  tiles_q, tiles_d, layer_base_q, before_base_q;
  layer_t             layer, lower, bias_layer;
  step_t              made;
  logic               made_valid, made_ready, made_taken, pass_taken;
  logic               dx, dw, begins, ends, p_ends, q_ends, inner_ends, layer_ends;
  logic [TILES_W-1:0] q_next;
  logic [ROWS_W-1:0]  p_words, q_words;             // of the tile
  logic [TENSOR_W-1:0] in_tensor, out_tensor;
  assign dx         = pass_q.pass == PassDx;
  assign dw         = pass_q.pass == PassDw;
  assign layer      = layers_i[pass_q.net][layer_q];
  assign lower      = layers_i[pass_q.net][layer_q-1'b1];
  assign bias_layer = layers_i[pass_q.net][bias_layer_q];
  assign begins     = layer_q == (dx ? pass_q.last_layer : pass_q.first_layer);
  assign ends       = layer_q == (dx ? pass_q.first_layer : pass_q.last_layer);
  assign q_next     = q_tile_q + (pass_q.il ? TILES_W'(N) : TILES_W'(1));
  assign q_ends     = q_next >= layer.q_lines;
  assign p_ends     = p_tile_q + 1'b1 == layer.p_lines;
  assign inner_ends = dx ? p_ends : q_ends;
  assign layer_ends = p_ends && q_ends;
  assign p_words    = p_ends ? last_words(layer.p) : ROWS_W'(Lw);
  assign q_words    = q_tile_q + 1'b1 == layer.q_lines ? last_words(layer.q) : ROWS_W'(Lw);
  assign in_tensor  = layer_q == '0 ? '0 : {pass_q.net, layer_q};
  // An action that is put into X or X' belongs to their tensor.
  assign out_tensor = layer.last && pass_q.joins ? '0 : {pass_q.net, layer_q} + 1'b1;
  assign made_valid = walk_q;
  assign made_taken = made_valid && made_ready;
  always_comb begin
    made                = '0;
    made.tile.pass      = pass_q.pass;
    made.tile.half      = pass_q.half;
    made.tile.il        = pass_q.il;
    made.tile.acting    = pass_q.acting;
    made.tile.common    = pass_q.common;
    made.tile.target    = pass_q.target;
    made.tile.first     = dx ? p_tile_q == '0 : q_tile_q == '0;
    made.tile.last      = inner_ends;
    made.tile.fresh     = pass_q.fresh;
    made.tile.update    = pass_q.update;
    made.tile.joins_only = pass_q.joins_only;
    made.tile.join_line  = pass_q.join_line;
    made.tile.join_word  = pass_q.word;
    made.tile.rows      = p_words;
    made.tile.words     = p_words;
    made.tile.line      = row_line_q + LINE_W'(q_tile_q);
    made.tile.bias_line = layer.bbase + LINE_W'(p_tile_q);
    made.tile.stride    = layer.q_lines;
    made.tile.columns   = layer.q_lines - q_tile_q;
    made.tile.entries   = entries_of(pass_q);
    made.tile.vectors   = pass_q.vectors;
    made.tile.source    = PLACE_W'(q_tile_q)
                          + (begins && !dx ? pass_q.source : lower.output_line);
    made.tile.state     = PLACE_W'(q_tile_q) + (begins ? pass_q.state : lower.output_line);
    made.tile.delta     = PLACE_W'(p_tile_q)
                          + (dx && begins ? pass_q.source
                             : dw && ends && pass_q.place ? pass_q.sink : layer.delta_line);
    made.tile.up        = pass_q.half ? SHIFT_W'(16) - shifts_i[in_tensor] : '0;
    made.tile.down      = shifts_i[out_tensor];
    made.tile.tensor    = out_tensor;
    made.tile.layer     = layer_q;
    made.waits          = begins ? pass_q.waits : 1'b1;
    made.need           = before_base_q + CountW'(p_tile_q) + 1'b1;
    unique case (pass_q.pass)
      PassDx: begin
        made.tile.words = q_words;
        made.tile.up    = '0;
        made.tile.act   = layer_q == '0 ? ActNone : lower.act;
        made.tile.sink  = PLACE_W'(q_tile_q)
                          + (ends && pass_q.place ? pass_q.sink : lower.delta_line);
        if (begins) made.need = layer_base_q;
        made.tile.drops = pass_q.common && layer_q == '0 && !(pass_q.action && q_ends);
        if (pass_q.action && layer_q == '0 && q_ends) begin
          made.tile.action = 1'b1;
          made.tile.act    = pass_q.tangent ? ActTanh : ActNone;
          made.tile.wide   = 1'b1;
          made.tile.word   = pass_q.word;
          made.tile.source = pass_q.mu;
          made.tile.sink   = pass_q.sink;
        end
      end
      PassDw: begin
        made.tile.words = q_words;
        made.tile.bias  = layer.bias && q_tile_q == '0;
        if (!begins)            made.waits = 1'b0;
        else if (pass_q.common) made.need  = layer_base_q;
      end
      default: begin
        made.tile.watch    = pass_q.watch && !pass_q.half
                             && (layer.last ? pass_q.joins : !pass_q.target);
        made.tile.wide     = layer.last && (pass_q.half || layer.act == ActTanh || pass_q.joins
                                            || pass_q.acting);
        made.tile.quantize = pass_q.half && !layer.last;
        made.tile.joins    = layer.last && pass_q.joins;
        made.tile.act      = layer.act;
        made.tile.bias     = layer.bias;
        made.tile.sink     = PLACE_W'(p_tile_q)
                             + (ends && pass_q.place ? pass_q.sink : layer.output_line);
        made.need          = before_base_q + CountW'(q_ends ? layer.q_lines : q_next);
        if (begins) begin
          made.waits = pass_q.waits && q_ends;
          made.need  = layer_base_q;
        end
      end
    endcase
  end

  // Words of a vector's last line.
  function automatic logic [ROWS_W-1:0] last_words(logic [DIM_W-1:0] words);
    return ROWS_W'(LwLog2'(words - 1'b1)) + 1'b1;
  endfunction

  // Entries of a core: the first core has the most vectors; pairs in half mode, but not of deltas; and
  // the acting slot's vector.
  function automatic logic [ENTRY_W-1:0] entries_of(pass_t pass);
    logic [VECTORS_W:0] vectors, mine;
    vectors = {1'b0, pass.vectors};
    if (pass.il)          mine = vectors;
    else if (pass.common) mine = (((vectors + (VECTORS_W + 1)'(2 * N - 1)) >> (NLog2 + 1)) << 1)
                                 - (VECTORS_W + 1)'(vectors[NLog2:0] == (NLog2 + 1)'(1));
    else                  mine = (vectors + (VECTORS_W + 1)'(N - 1)) >> NLog2;
    if (pass.half && pass.pass != PassDx) mine = (mine + 1'b1) >> 1;
    return ENTRY_W'(mine) + ENTRY_W'(pass.acting);
  endfunction

  logic   step_valid, step_taken;
  step_t  step;
  jd_stream_skid #(
    .Width ($bits(step_t))
  ) u_steps (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (made_valid),
    .in_ready_o  (made_ready),
    .in_data_i   (made),
    .out_valid_o (step_valid),
    .out_ready_i (step_taken),
    .out_data_o  (step)
  );

  // The layer that is entered: the pass's first, or the one after this one.
  pass_t      next_pass;
  logic [1:0] next_index;
  layer_t     next_layer;
  assign pass_ready_o = !walk_q && !biases_q;
  assign pass_taken   = pass_valid_i && pass_ready_o;
  assign next_pass    = pass_taken ? pass_i : pass_q;
  assign next_layer   = layers_i[next_pass.net][next_index];
  assign tiles_d      = tiles_q + CountW'(made_taken && inner_ends && !dw && !made.tile.drops);
  always_comb begin
    if (pass_taken) next_index = pass_i.pass == PassDx ? pass_i.last_layer : pass_i.first_layer;
    else            next_index = dx ? layer_q - 1'b1 : layer_q + 1'b1;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      walk_q  <= 1'b0;
      tiles_q <= '0;
    end else begin
      if (pass_taken)                              walk_q <= 1'b1;
      else if (made_taken && layer_ends && ends)   walk_q <= 1'b0;
      tiles_q <= tiles_d;
    end
    if (pass_taken) pass_q <= pass_i;
    if (pass_taken || (made_taken && layer_ends && !ends)) begin
      layer_q       <= next_index;
      p_tile_q      <= '0;
      q_tile_q      <= next_pass.action && !next_pass.common && next_index == '0
                       ? next_layer.q_lines - 1'b1 : '0;
      row_line_q    <= next_layer.wbase;
      before_base_q <= layer_base_q;
      layer_base_q  <= tiles_d;
    end else if (made_taken) begin
      if (!dx || p_ends) q_tile_q <= q_ends ? '0 : q_next;
      if (dx || q_ends) begin
        p_tile_q   <= p_ends ? '0 : p_tile_q + 1'b1;
        row_line_q <= p_ends ? layer.wbase : row_line_q + (LINE_W'(layer.q_lines) << LwLog2);
      end
    end
  end

  // ---- Bias lines, ahead of the tiles that want them; those of the acting vector alone when they are
  // updated, for which all tiles of dW before must have started
  logic       bias_layer_ends, bias_taken, starts_dw;
  logic [2:0] open_dw_q;                            // tiles of dW that have not
  assign bias_valid_o    = biases_q && bias_layer.bias
                           && !(pass_q.acting && pass_q.vectors == '0
                                && (open_dw_q != '0 || reserve_o || updates_i[bias_layer_q]));
  assign bias_taken      = bias_valid_o && bias_ready_i;
  assign bias_target_o   = pass_q.target;
  assign bias_address_o  = bias_layer.bbase + LINE_W'(bias_tile_q);
  assign bias_layer_ends = !bias_layer.bias
                           || (bias_taken && bias_tile_q + 1'b1 == bias_layer.p_lines);
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      biases_q <= 1'b0;
    end else if (pass_taken) begin
      biases_q <= pass_i.pass == PassFw;
    end else if (bias_layer_ends && bias_layer_q == pass_q.last_layer) begin
      biases_q <= 1'b0;
    end
    if (pass_taken) begin
      bias_layer_q <= pass_i.first_layer;
      bias_tile_q  <= '0;
    end else if (bias_layer_ends) begin
      bias_layer_q <= bias_layer_q + 1'b1;
      bias_tile_q  <= '0;
    end else if (bias_taken) begin
      bias_tile_q <= bias_tile_q + 1'b1;
    end
    if (!rst_ni || clear_i) open_dw_q <= '0;
    else                    open_dw_q <= open_dw_q + 3'(made_taken && dw) - 3'(starts_dw);
  end

  // ---- Loads: a tile's lines go into the shadow weights when the tile before has started. Those of
  // dW have none, so the first lines of the pass after load under its last tile.
  logic              has_lines, loads, load_ends, start, pend_q;
  logic [ROWS_W-1:0] row_q;
  logic [LINE_W-1:0] line, next_line_q;
  step_t             pend_step_q;                   // loaded, not started
  assign has_lines  = step.tile.pass != PassDw;
  assign loads      = step_valid && has_lines && (!pend_q || start) && !hold_i
                      && !(acts_alone(step.tile) && updates_i[step.tile.layer]);
  assign load_ends  = row_q + 1'b1 == step.tile.rows;
  assign step_taken = has_lines ? loads && load_ends : step_valid && (!pend_q || start);
  assign line       = row_q == '0 ? step.tile.line : next_line_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      row_q        <= '0;
      pend_q       <= 1'b0;
      load_valid_o <= 1'b0;
    end else begin
      load_valid_o <= loads;
      pend_q       <= step_taken || (pend_q && !start);
      if (loads) row_q <= load_ends ? '0 : row_q + 1'b1;
    end
    if (loads) begin
      next_line_q <= line + LINE_W'(step.tile.stride);
      load_o      <= '{target: step.tile.target, il: step.tile.il, alone: acts_alone(step.tile),
                       by_row: step.tile.pass == PassDx, index: 4'(row_q), opens: row_q == '0,
                       line: line, columns: step.tile.columns};
    end
    if (step_taken) pend_step_q <= step;
  end

  // ---- Entries
  localparam int unsigned FlightW = $clog2(DEPTH + 3);
  logic [ENTRY_W-1:0] left_q, index_q;              // entries to come; of the next one
  logic [ROWS_W-1:0]  rest_q;                       // clocks until a tile of dW may be followed
  logic [CountW-1:0]  written_q, written_q2, whole_q, apart;
  logic [8:0]         biases_there_q;
  logic               pend_dw, wants_bias, free, written_ok, bias_ok, room_ok;
  logic [FlightW-1:0] flight_q;                     // clocks until all entries are written
  tile_t              tile_q;
  assign pend_dw    = pend_step_q.tile.pass == PassDw;
  assign free       = left_q == '0 && rest_q == '0;
  // Pairs of deltas are read faster than they are written one by one.
  assign apart      = (pend_dw && pend_step_q.tile.half ? whole_q
                       : pend_step_q.tile.il ? written_q2 : written_q) - pend_step_q.need;
  assign written_ok = !pend_step_q.waits || !apart[CountW-1];
  assign wants_bias = pend_step_q.tile.pass == PassFw && pend_step_q.tile.last
                      && pend_step_q.tile.bias;
  assign bias_ok    = !wants_bias || biases_there_q != '0;
  assign room_ok    = !pend_dw || (room_i && (bias_room_i || !pend_step_q.tile.bias));
  assign start      = pend_q && free && written_ok && bias_ok && room_ok && !clear_i;
  assign starts_dw  = start && pend_dw;
  assign full_o     = pend_q && free && written_ok && !room_ok;
  assign waits_o    = (step_valid || pend_q) && free && !start && !full_o;
  assign idle_o     = !walk_q && !biases_q && !step_valid && !pend_q && left_q == '0
                      && flight_q == '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      left_q         <= '0;
      rest_q         <= '0;
      entry_valid_o  <= 1'b0;
      reserve_o      <= 1'b0;
      reserve_bias_o <= 1'b0;
      written_q      <= '0;
      written_q2     <= '0;
      whole_q        <= '0;
      biases_there_q <= '0;
    end else begin
      entry_valid_o  <= start || left_q != '0;
      reserve_o      <= starts_dw;
      reserve_bias_o <= starts_dw && pend_step_q.tile.bias;
      written_q      <= written_q + CountW'(written_i);
      written_q2     <= written_q;
      whole_q        <= whole_q + CountW'(whole_i);
      biases_there_q <= biases_there_q + 9'(come_i) - 9'(start && wants_bias);
      if (start)             left_q <= pend_step_q.tile.entries - 1'b1;
      else if (left_q != '0) left_q <= left_q - 1'b1;
      if (start)             rest_q <= pend_dw ? ROWS_W'(Lw - 1) : '0;
      else if (rest_q != '0) rest_q <= rest_q - 1'b1;
    end
    if (!rst_ni)                      flight_q <= '0;
    else if (start || left_q != '0)   flight_q <= FlightW'(DEPTH + 2);
    else if (flight_q != '0)          flight_q <= flight_q - 1'b1;
    if (start) begin
      tile_q         <= pend_step_q.tile;
      reserve_rows_o <= pend_step_q.tile.rows;
      reserve_update_o <= pend_step_q.tile.update;
      reserve_layer_o  <= pend_step_q.tile.layer;
      index_q        <= ENTRY_W'(1);
      entry_o        <= '{tile: pend_step_q.tile, index: '0, opens: 1'b1,
                          closes: pend_step_q.tile.entries == ENTRY_W'(1)};
    end else if (left_q != '0) begin
      index_q <= index_q + 1'b1;
      entry_o <= '{tile: tile_q, index: index_q, opens: 1'b0, closes: left_q == ENTRY_W'(1)};
    end
  end

  `JD_ASSUME_IF(EntriesInRange_M, pass_valid_i, pass_i.vectors != '0 || pass_i.acting)
  `JD_ASSUME_IF(PassKnown_M, pass_valid_i, pass_i.first_layer <= pass_i.last_layer
                && (pass_i.pass == PassFw || !pass_i.acting)
                && (pass_i.common || pass_i.vectors == '0 || !pass_i.il))
endmodule : jd_qat_sequencer
