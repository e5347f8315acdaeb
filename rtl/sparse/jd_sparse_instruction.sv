// SPDX-License-Identifier: Apache-2.0
//
// Checks and decodes an instruction.
//
// Streams  in: the words of an instruction and its number. out: what they say, with the code of an
//          error or 0. What layers and vectors there are stays from in to out. A word that is offered may
//          be withdrawn.
// Timing   5 clocks; an instruction every 6 clocks.
// Numbers  exact. The first of these that is wrong is the error: op, reserved bits, alignment, address,
//          sizes, lines of the store.
// Source   docs/sparse.md (programs). Golden model: models/sparse/validate.py, check_instruction.
`include "jd_assert.svh"
module jd_sparse_instruction
  import jd_sparse_pkg::*;
  import jd_sparse_map_pkg::E_DIM, jd_sparse_map_pkg::E_RANGE;
  import jd_engine_header_map_pkg::E_OPCODE, jd_engine_header_map_pkg::E_RESERVED,
         jd_engine_header_map_pkg::E_ALIGN, jd_engine_header_map_pkg::E_ADDR;
#(
  parameter int unsigned Cores = 3,              // 1..3
  parameter int unsigned DMax  = 512,            // 8..512
  parameter int unsigned XRows = 8192,           // 16..8192
  parameter int unsigned YRows = 8192,           // 16..8192
  parameter int unsigned ARows = 65536           // 16..65536
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                clear_i,
  input  layer_t [LAYERS-1:0] layers_i,
  input  logic [3:0]          layer_count_i,
  input  episodes_t           episodes_i,
  input  logic                in_valid_i,
  output logic                in_ready_o,
  input  logic [7:0][31:0]    in_words_i,
  input  logic [15:0]         in_at_i,
  output logic                out_valid_o,
  input  logic                out_ready_i,
  output logic [7:0]          out_code_o,
  output entry_t              out_entry_o
);
  if (Cores < 1 || Cores > 3 || DMax < 8 || DMax > 512 || XRows < 16 || XRows > 8192 || YRows < 16
      || YRows > 8192 || ARows < 16 || ARows > 65536) begin : gen_bad_size
    $fatal(1, "jd_sparse_instruction: Cores=%0d DMax=%0d XRows=%0d YRows=%0d ARows=%0d",
           Cores, DMax, XRows, YRows, ARows);
  end
  localparam int unsigned LinesW  = 10;          // lines of a tile, 0..1023
  localparam int unsigned LastW   = A_LINE_W + 1;
  localparam int unsigned BlocksW = 16;          // lines of a DMA: 45 tiles of 1023 lines at most
  localparam int unsigned BlockW  = 34;          // a line of device memory
  localparam int unsigned FillW   = DIM_W + TILES_W;

  // What an op has besides wait, post and stage.
  typedef struct packed {
    logic   known;
    logic   layer;
    logic   tiles;
    logic   address;
    logic   a;
    logic   b;
    logic   d;
    logic   lines;                               // in the last word
    logic   neurons;
    logic   tile;
    flags_t flags;
  } use_t;
  function automatic use_t use_of(input logic [7:0] op);
    use_t found;
    found       = '0;
    found.known = 1'b1;
    unique case (op)
      LOADA, STOREA, ZEROA: begin
        found.tiles     = 1'b1;
        found.address   = op != ZEROA;
        found.a         = 1'b1;
        found.lines     = 1'b1;
        found.flags.row = op != ZEROA;
      end
      ENC:  found.flags.nocache = 1'b1;
      PLAN: found.flags.plain   = 1'b1;
      COMP, COMPT: begin
        found.flags.row     = 1'b1;
        found.flags.policy  = 1'b1;
        found.flags.nocache = op == COMP;
      end
      FX, FY: begin
        found.tiles        = 1'b1;
        found.a            = 1'b1;
        found.neurons      = 1'b1;
        found.flags.second = op == FX;
        found.flags.bsum   = 1'b1;
        found.flags.gates  = 1'b1;
      end
      FW, DX, DW: {found.tiles, found.flags.row} = '1;
      LIN: begin
        {found.tiles, found.d} = '1;
        found.flags.row    = 1'b1;
        found.flags.bias   = 1'b1;
        found.flags.addend = 1'b1;
        found.flags.second = 1'b1;
      end
      LSTMF: begin
        {found.tiles, found.a, found.d} = '1;
        found.flags.row  = 1'b1;
        found.flags.bias = 1'b1;
      end
      LSTMB: {found.tiles, found.a, found.b, found.d} = '1;
      CF, CB: begin
        {found.tiles, found.a, found.b, found.d, found.neurons, found.tile} = '1;
        found.flags.row = 1'b1;
      end
      UPD: found.flags.row = 1'b1;
      END, ENCT, UPDG, CLRG: ;
      default: found.known = 1'b0;
    endcase
    found.layer = found.known && (op[7:4] == 4'h2 || op[7:4] == 4'h3 || op[7:4] == 4'h4
                                  || op[7:4] == 4'h5 || op[7:4] == 4'h6
                                  || (op[7:4] == 4'h8 && op != CLRG));
    return found;
  endfunction
  function automatic logic [LinesW-1:0] lines_of(input logic [DIM_W-1:0] neurons);
    return LinesW'((11'(neurons) + 11'(NEURONS - 1)) >> 3);
  endfunction

  // ---- Steps: 0 idle, 1..4 work, 5 the result
  localparam int unsigned Steps = 6;
  logic [Steps-1:0] step_q;
  assign in_ready_o  = step_q[0];
  assign out_valid_o = step_q[Steps-1];
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) step_q <= Steps'(1);
    else if (step_q[0] ? in_valid_i : !step_q[Steps-1] || out_ready_i) begin
      step_q <= {step_q[Steps-2:0], step_q[Steps-1]};
    end
  end
  logic [7:0][31:0] w_q;
  logic [15:0]      at_q;
  always_ff @(posedge clk_i) begin
    if (step_q[0]) {w_q, at_q} <= {in_words_i, in_at_i};
  end
  logic [7:0]                    op;
  flags_t                        flag;
  logic [CORES-1:0][TILES_W-1:0] tiles;
  tensor_t                       a, b, d;
  logic [39:0]                   address;
  logic [9:0]                    value, neurons;
  assign op      = w_q[0][7:0];
  assign flag    = w_q[0][24:16];
  assign tiles   = w_q[2][19:8];
  assign a       = '{line: w_q[3][15:0], skew: w_q[3][18:16], stride: w_q[6][9:0]};
  assign b       = '{line: w_q[4][15:0], skew: w_q[4][18:16], stride: w_q[6][19:10]};
  assign d       = '{line: w_q[5][15:0], skew: w_q[5][18:16], stride: w_q[6][29:20]};
  assign address = {w_q[5][7:0], w_q[4]};
  assign value   = w_q[7][9:0];
  assign neurons = w_q[7][25:16];

  // ---- Step 1: what the op has; its layer; its tiles
  use_t             use_d, use_q;
  logic             has_b;
  logic [7:0][31:0] allowed;
  assign use_d = use_of(op);
  assign has_b = use_d.b || flag.second || flag.addend;
  always_comb begin
    allowed    = '0;
    allowed[0] = {7'd0, use_d.flags, 6'd0, 2'b11, 8'hFF};
    allowed[1] = '1;
    allowed[2] = {12'd0, {12{use_d.tiles}}, 5'd0, {3{use_d.layer}}};
    allowed[3] = {13'd0, {19{use_d.a}}};
    allowed[4] = {{13{use_d.address}}, {19{has_b || use_d.address}}};
    allowed[5] = {13'd0, {19{use_d.d}}} | {24'd0, {8{use_d.address}}};
    allowed[6] = {2'd0, {10{use_d.d}}, {10{has_b}}, {10{use_d.a}}};
    allowed[7] = {6'd0, {10{use_d.neurons}}, 6'd0, {2{use_d.lines || flag.second}},
                  {8{use_d.lines || flag.second || use_d.tile}}};
  end
  logic [7:0]         bad_q;                     // words with reserved bits
  logic               both_q;                    // flags that exclude each other
  layer_t             layer_q;
  logic               layer_there_q;
  logic [TILES_W-1:0] most, most_q, last_q;      // tiles; the number of the last
  logic [5:0]         sum_q;
  logic               tiles_bad_q;               // none, or of cores that are not there, or unequal
  logic               unequal, beyond_cores;
  always_comb begin
    most         = '0;
    unequal      = 1'b0;
    beyond_cores = 1'b0;
    for (int unsigned c = 0; c < CORES; c++) begin
      if (tiles[c] > most) most = tiles[c];
      if (c < Cores) unequal = unequal || tiles[c] != tiles[0];
      else           beyond_cores = beyond_cores || tiles[c] != '0;
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_q[1]) begin
      use_q         <= use_d;
      for (int unsigned k = 0; k < 8; k++) bad_q[k] <= (w_q[k] & ~allowed[k]) != '0;
      both_q        <= flag.second && (flag.addend || flag.gates);
      layer_q       <= layers_i[w_q[2][LAYER_W-1:0]];
      layer_there_q <= 4'(w_q[2][LAYER_W-1:0]) < layer_count_i;
      most_q        <= most;
      last_q        <= most - 1'b1;
      sum_q         <= flag.row ? 6'(tiles[0]) : 6'(tiles[0]) + 6'(tiles[1]) + 6'(tiles[2]);
      tiles_bad_q   <= most == '0 || beyond_cores || (flag.row && unequal);
    end
  end

  // ---- Whether the first tile of a CF begins with an episode: the rest of value / period
  logic [8:0] rest_q, rest;
  logic [7:0] left_q;
  always_comb begin
    rest = rest_q;
    for (int unsigned k = 0; k < 2; k++) begin
      rest = {rest[7:0], left_q[7-k]};
      if (rest >= 9'(episodes_i.period)) rest = rest - 9'(episodes_i.period);
    end
  end
  always_ff @(posedge clk_i) begin
    if (step_q[0]) {rest_q, left_q} <= {9'd0, in_words_i[7][7:0]};
    else if (!step_q[Steps-1]) {rest_q, left_q} <= {rest, left_q[5:0], 2'd0};
  end

  // ---- Step 2: products, and what a LIN writes
  logic               reserved_q, fill_size_q, tiles_over_q;
  logic [DIM_W-1:0]   backward_q, rest_of_q;     // rows of dX; neurons after the first tensor
  logic [FillW-1:0]   filled_q;
  logic [BlocksW-1:0] blocks_q;
  logic [12:0]        step_a_q, step_b_q, step_d_q;   // lines from the first tile to the last
  function automatic logic [12:0] step_of(input logic [TILES_W-1:0] last,
                                          input logic [STRIDE_W-1:0] stride);
    return 13'(last[2:0]) * 13'(stride);
  endfunction
  always_ff @(posedge clk_i) begin
    if (step_q[2]) begin
      reserved_q   <= bad_q != '0 || both_q;
      backward_q   <= layer_q.m - DIM_W'(layer_q.dx_from);
      rest_of_q    <= neurons - value;
      fill_size_q  <= (neurons == layer_q.m || neurons == layer_q.n)
                      && !(flag.bsum && neurons != layer_q.n)
                      && !(flag.gates && neurons[4:0] != '0)
                      && !(flag.second && (value[2:0] != '0 || value == '0 || value >= neurons));
      tiles_over_q <= most_q > (use_q.layer && !(op inside {FX, FY, DW}) ? layer_q.tiles
                                                                         : TILES_W'(8));
      filled_q     <= FillW'(neurons) * FillW'(most_q);
      blocks_q     <= BlocksW'(sum_q) * BlocksW'(value);
      step_a_q     <= step_of(last_q, a.stride);
      step_b_q     <= step_of(last_q, b.stride);
      step_d_q     <= step_of(last_q, d.stride);
    end
  end

  // ---- Step 3: the last tile's line, and lines of a tile, of each tensor
  logic [DIM_W-1:0]  least;
  logic [LastW-1:0]  last_a_q, last_b_q, last_d_q;
  logic [LinesW-1:0] lines_a_q, lines_b_q, lines_d_q;
  logic [LinesW-1:0] forward_b_q, forward_d_q, backward_b_q, backward_d_q;   // of a LIN
  logic              forward_none_q, backward_none_q;   // nothing is left for the second tensor
  logic              beyond_q, size_q;
  logic [LinesW-1:0] hidden;
  assign least  = layer_q.n < backward_q ? layer_q.n : backward_q;
  assign hidden = LinesW'(layer_q.n >> 2);
  always_ff @(posedge clk_i) begin
    if (step_q[3]) begin
      last_a_q  <= LastW'(a.line) + LastW'(step_a_q);
      last_b_q  <= LastW'(b.line) + LastW'(step_b_q);
      last_d_q  <= LastW'(d.line) + LastW'(step_d_q);
      lines_b_q <= LinesW'(1);
      unique case (op)
        LOADA, STOREA, ZEROA: lines_a_q <= value;
        LSTMF, LSTMB: begin
          lines_a_q <= hidden;
          lines_d_q <= hidden;
          lines_b_q <= LinesW'(layer_q.n >> 5);
        end
        LIN: begin
          lines_d_q <= flag.second ? LinesW'(value >> 3) : lines_of(least);
          if (!flag.second) lines_b_q <= lines_of(least);
        end
        FX, FY: begin
          lines_a_q <= flag.second ? LinesW'(value >> 3) : lines_of(neurons);
          lines_b_q <= lines_of(rest_of_q);
        end
        default: begin
          lines_a_q <= lines_of(neurons);
          lines_d_q <= lines_of(neurons);
        end
      endcase
      forward_d_q     <= flag.second ? LinesW'(value >> 3) : lines_of(layer_q.n);
      backward_d_q    <= flag.second ? LinesW'(value >> 3) : lines_of(backward_q);
      forward_b_q     <= lines_of(flag.second ? layer_q.n - value : layer_q.n);
      backward_b_q    <= lines_of(flag.second ? backward_q - value : backward_q);
      forward_none_q  <= flag.second && value >= layer_q.n;
      backward_none_q <= flag.second && value >= backward_q;
      beyond_q        <= (BlockW + 1)'(address[39:6]) + (BlockW + 1)'(blocks_q)
                         > {1'b1, BlockW'(0)};
      unique case (op)
        FX, FY:       size_q <= !fill_size_q
                                || 32'(filled_q) > (op == FX ? XRows / 2 : YRows / 2);
        LIN:          size_q <= flag.second && (value[2:0] != '0 || value == '0
                                                || (value >= layer_q.n && value >= backward_q));
        LSTMF, LSTMB: size_q <= layer_q.n[4:0] != '0;
        CF, CB:       size_q <= episodes_i.nothing || neurons == '0 || 32'(neurons) > DMax;
        UPDG:         size_q <= layer_q.groups <= GROUPS_W'(1);
        LOADA, STOREA, ZEROA: size_q <= value == '0;
        default:      size_q <= 1'b0;
      endcase
    end
  end

  // ---- Step 4: the store; borders of episodes
  function automatic logic over(input logic [LastW-1:0] last, input logic [LinesW-1:0] lines);
    return 32'(last) + 32'(lines) > ARows;
  endfunction
  logic [CORES-1:0] cut;                         // an episode is
  for (genvar c = 0; c < CORES; c++) begin : gen_core
    logic [VECTORS_W-1:0] there;
    logic [9:0]           ends;
    assign there  = flag.row ? episodes_i.all : episodes_i.cores[c];
    assign ends   = 10'(value[7:0]) + 10'(tiles[c]);
    assign cut[c] = c < Cores && tiles[c] != '0
                    && (rest != '0 || (32'(ends) * VECTORS < 32'(there)
                                       && !(tiles[c] <= TILES_W'(8)
                                            && episodes_i.whole[4'(tiles[c])])));
  end
  logic forward_over, backward_over;
  assign forward_over  = over(last_d_q, forward_d_q)
                         || ((flag.second || flag.addend) && over(last_b_q, forward_b_q));
  assign backward_over = over(last_d_q, backward_d_q)
                         || ((flag.second || flag.addend) && over(last_b_q, backward_b_q));
  logic dim_q, range_q;
  fit_e forward_fit_q, backward_fit_q;
  always_ff @(posedge clk_i) begin
    if (step_q[4]) begin
      dim_q   <= size_q || (use_q.layer && !layer_there_q)
                 || (use_q.tiles && (tiles_bad_q || tiles_over_q))
                 || ((op == CF || op == CB) && cut != '0);
      range_q <= (use_q.a && over(last_a_q, lines_a_q))
                 || ((use_q.b || flag.second || flag.addend) && over(last_b_q, lines_b_q))
                 || (use_q.d && over(last_d_q, lines_d_q));
      forward_fit_q  <= forward_none_q  ? FitsNot : forward_over  ? BeyondStore : Fits;
      backward_fit_q <= backward_none_q ? FitsNot : backward_over ? BeyondStore : Fits;
    end
  end

  // ---- Step 5: the result
  always_comb begin
    if (!use_q.known)                               out_code_o = E_OPCODE;
    else if (reserved_q)                            out_code_o = E_RESERVED;
    else if (use_q.address && address[5:0] != '0)   out_code_o = E_ALIGN;
    else if (use_q.address && beyond_q)             out_code_o = E_ADDR;
    else if (dim_q)                                 out_code_o = E_DIM;
    else if (range_q)                               out_code_o = E_RANGE;
    else                                            out_code_o = '0;
    out_entry_o = '{
      at: at_q, stage: w_q[0][9:8], waits: w_q[1][15:0], posts: w_q[1][31:16],
      forward: forward_fit_q, backward: backward_fit_q, op: op, flags: flag,
      number: w_q[2][LAYER_W-1:0], tiles: tiles, a: a, b: use_q.address ? '0 : b,
      d: use_q.address ? '0 : d, address: use_q.address ? address : '0, value: value,
      neurons: neurons
    };
  end

  `JD_ASSERT(OneStep_A, step_q != '0 && (step_q & (step_q - 1'b1)) == '0)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i || clear_i, out_code_o)
endmodule : jd_sparse_instruction
