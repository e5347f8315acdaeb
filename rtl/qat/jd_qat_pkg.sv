// SPDX-License-Identifier: Apache-2.0
//
// What blocks of the qat engine share: formats, the network table, passes, tiles and entries.
//
// Numbers  an *entry* is what the array of a core takes in one clock: a vector, or a pair of
//          vectors in half mode forward and in dW. A *tile* is a block of LW x LW weights and the
//          work with it for all entries. Fields have the width of the largest build.
// Source   docs/qat.md.
package jd_qat_pkg;
  localparam int unsigned WORD_W    = 32;   // bits of a word of a line
  localparam int unsigned HALF_W    = 16;   // of a quantized activation
  localparam int unsigned PRODUCT_W = 48;   // of a lane's product
  localparam int unsigned ACC_W     = 60;   // of a lane's sum: 48, 10 for 1,024 terms, 2 spare
  localparam int unsigned DELTA_W   = 42;   // of a sum of deltas: 32, 10 for 1,024 vectors
  localparam int unsigned LINE_W    = 17;   // a line of W, and one past the last
  localparam int unsigned PLACE_W   = 11;   // a line of a slot, and one past the last
  localparam int unsigned ADDRESS_W = 18;   // a line of ACT: 129 slots of 1,024
  localparam int unsigned DIM_W     = 11;   // words of a layer, 1..1024
  localparam int unsigned TILES_W   = 9;    // lines of a layer's vector, 1..256
  localparam int unsigned ENTRY_W   = 8;    // entries of a tile, 1..129
  localparam int unsigned VECTORS_W = 10;   // vectors of a pass, all cores, 1..512
  localparam int unsigned ROWS_W    = 5;    // words of a tile, 1..16
  localparam int unsigned SHIFT_W   = 5;    // 0..16
  localparam int unsigned TENSOR_W  = 3;
  localparam int unsigned NETS      = 2;
  localparam int unsigned LAYERS    = 4;    // of a network
  localparam int unsigned TENSORS   = 8;
  localparam int unsigned STAGES    = 8;    // of which saturated values are counted

  // Clocks from the issue of an entry to the write of its result in ACT:
  //   1 address | 2,3 memory | 4 line buffer | 5 operands | 6,7 product | 8..11 column tree |
  //   12 accumulator | 13 other cores | 14 lanes combined | 15 bias | 16,17 rounding |
  //   18,19 quantizer | 20 write
  localparam int unsigned OPERAND_STAGE = 4;    // line buffer, the array's input
  localparam int unsigned ARRAY_CLOCKS  = 7;    // to its column sums
  localparam int unsigned OUT_STAGE     = 13;   // input of jd_qat_out
  localparam int unsigned OUT_CLOCKS    = 6;
  localparam int unsigned DEPTH         = 20;
  localparam int unsigned CHECK_LATENCY = 8;    // clocks from the start of jd_qat_check to its end

  typedef enum logic [2:0] {
    StageZ, StageActq, StageDx, StageG, StageGacc, StageM, StageW, StageTd
  } stage_e;
  typedef enum logic [1:0] {PassFw, PassDx, PassDw} pass_e;
  typedef enum logic [1:0] {ActNone, ActRelu, ActTanh} act_e;   // as in the network table

  // A layer of a network that passed its checks.
  typedef struct packed {
    logic [DIM_W-1:0]   p;          // outputs
    logic [DIM_W-1:0]   q;          // inputs
    logic [TILES_W-1:0] p_lines;    // of a vector of outputs
    logic [TILES_W-1:0] q_lines;
    act_e               act;
    logic               bias;
    logic               last;       // of its network: outputs have 32 bits
    logic [LINE_W-1:0]  wbase;
    logic [LINE_W-1:0]  bbase;
    logic [PLACE_W-1:0] output_line;
    logic [PLACE_W-1:0] delta_line;
  } layer_t;

  // The network table.
  typedef struct packed {
    logic                          valid;
    logic [DIM_W-1:0]              states;        // S
    logic [ROWS_W-1:0]             actions;       // A
    logic [NETS-1:0][2:0]          counts;        // layers
    layer_t [NETS-1:0][LAYERS-1:0] layers;
    logic [PLACE_W-1:0]            state_lines;   // of a state
    logic [PLACE_W-1:0]            input_lines;   // of X
    logic [PLACE_W-1:0]            action_line;   // of X: the action begins here,
    logic [ROWS_W-1:0]             action_word;   // at this word
    logic [PLACE_W-1:0]            set_lines;     // of X, X' and a vector's own words
  } table_t;

  // Jobs.
  localparam logic [7:0] NET   = 8'h01;
  localparam logic [7:0] LOAD  = 8'h02;
  localparam logic [7:0] STORE = 8'h03;
  localparam logic [7:0] INFER = 8'h10;
  localparam logic [7:0] TRAIN = 8'h11;
  localparam logic [7:0] FW    = 8'h20;
  localparam logic [7:0] DX    = 8'h21;
  localparam logic [7:0] DW    = 8'h22;
  localparam logic [7:0] ADAM  = 8'h23;
  localparam logic [7:0] PUTX  = 8'h24;
  localparam logic [7:0] GETX  = 8'h25;
  localparam logic [7:0] QUANT = 8'h30;
  localparam logic [7:0] SEED  = 8'h31;
  localparam logic [2:0] REGIONS       = 3'd5;   // memories of LOAD and STORE
  localparam logic [2:0] SECOND_REGION = 3'd4;   // V, whose lines are twice as long
  typedef logic [15:0][31:0] descriptor_t;
  // Flags: bits of word 0.
  localparam int unsigned NOISE    = 8;
  localparam int unsigned CRITIC   = 9;           // is updated
  localparam int unsigned ACTOR    = 10;
  localparam int unsigned TARGETS  = 11;          // move
  localparam int unsigned AFTER    = 12;          // the updates an action is chosen
  localparam int unsigned WITH     = 13;          // the batch
  localparam int unsigned LISTED   = 14;
  localparam int unsigned WEIGHTED = 15;

  // A pass through some layers of a network.
  typedef struct packed {
    pass_e                pass;
    logic                 half;
    logic                 il;       // all cores have the vectors, and each has columns of its own
    logic                 acting;   // the last entry of a tile is the acting slot's vector
    logic                 common;   // each core has all vectors: in IL it takes all, else every
                                    // N-th pair; of dX the first layer is taken whole
    logic                 watch;    // monitors see what is stored
    logic                 net;
    logic                 target;   // with the weights of T
    logic [1:0]           first_layer;
    logic [1:0]           last_layer;
    logic [VECTORS_W-1:0] vectors;
    logic                 waits;    // for operands of passes before: see jd_qat_sequencer
    logic [PLACE_W-1:0]   source;   // line of the first operands: of inputs, of dX of deltas
    logic [PLACE_W-1:0]   state;    // line of the first inputs in the acting slot
    logic                 place;    // last results, of dW last deltas: in `sink`
    logic [PLACE_W-1:0]   sink;
    logic                 joins;      // FW: the actor's outputs go into X or X', too
    logic                 joins_only; // and not to a line of their own
    logic [PLACE_W-1:0]   join_line;  // line of X or X' with the action
    logic                 action;   // dX: of layer index 0 only the tile column with the action
    logic [ROWS_W-1:0]    word;     // of that column or line, at which the action begins
    logic [PLACE_W-1:0]   mu;       // line of the action's 32 bits in ACT
    logic                 tangent;  // the action came by it
    logic                 fresh;    // dW: of the first chunk, what G has does not count
    logic                 update;   // dW: to Adam
  } pass_t;

  // A tile.
  typedef struct packed {
    pass_e                pass;
    logic                 half;
    logic                 il;
    logic                 acting;
    logic                 common;
    logic                 drops;      // results are not kept
    logic                 watch;
    logic                 target;
    logic                 first;      // of the inner loop: sums begin
    logic                 last;       // sums end
    logic                 wide;       // outputs go to the tail
    logic                 quantize;   // outputs are stored in 16 bits
    logic                 joins;      // the tail puts them into X or X', too
    logic                 joins_only; // and not to `sink`
    logic                 action;     // deltas of the action
    act_e                 act;        // of dX that of the layer before
    logic                 bias;       // is added; of dW the deltas' sums are a line of biases
    logic                 fresh;
    logic                 update;
    logic [ROWS_W-1:0]    rows;       // lines to load; of dW columns that are drained
    logic [ROWS_W-1:0]    words;      // of a result, or of a drained line
    logic [ROWS_W-1:0]    word;       // from which on they count
    logic [LINE_W-1:0]    line;       // of row 0
    logic [LINE_W-1:0]    bias_line;  // dW
    logic [TILES_W-1:0]   stride;     // lines from a row to the next
    logic [TILES_W-1:0]   columns;    // lines of inputs from here on
    logic [ENTRY_W-1:0]   entries;
    logic [VECTORS_W-1:0] vectors;
    logic [PLACE_W-1:0]   source;     // line of ACT: operands, of dX for the derivative
    logic [PLACE_W-1:0]   state;      // line of the acting slot: operands
    logic [PLACE_W-1:0]   delta;      // line of DEL: operands of dX and dW
    logic [PLACE_W-1:0]   sink;       // results: in ACT, of dX in DEL
    logic [PLACE_W-1:0]   join_line;  // of X or X'
    logic [ROWS_W-1:0]    join_word;
    logic [SHIFT_W-1:0]   up;         // bits by which a bias is shifted; 0 in full mode
    logic [SHIFT_W-1:0]   down;       // shift of what is stored in half mode
    logic [TENSOR_W-1:0]  tensor;     // of what is stored
    logic [1:0]           layer;
  } tile_t;

  // An entry of a tile.
  typedef struct packed {
    tile_t              tile;
    logic [ENTRY_W-1:0] index;
    logic               opens;      // the tile's first entry
    logic               closes;     // its last one
  } entry_t;

  // The acting slot's vector is the only entry.
  function automatic logic acts_alone(tile_t tile);
    return tile.acting && tile.vectors == '0;
  endfunction

  // An entry is a pair of vectors: deltas are never paired.
  function automatic logic paired(tile_t tile);
    return tile.half && tile.pass != PassDx;
  endfunction

  // A core has every N-th pair of the vectors that all cores have.
  function automatic logic has_pairs(tile_t tile);
    return tile.common && !tile.il;
  endfunction

  // A line of weights to be loaded.
  typedef struct packed {
    logic               target;
    logic               il;
    logic               alone;      // of the acting slot
    logic               by_row;     // row k of the array takes it; else column k does
    logic [3:0]         index;      // k
    logic               opens;      // the tile's first line
    logic [LINE_W-1:0]  line;       // of core 0
    logic [TILES_W-1:0] columns;    // in IL a core beyond takes none
  } weights_t;
endpackage : jd_qat_pkg
