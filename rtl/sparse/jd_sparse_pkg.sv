// SPDX-License-Identifier: Apache-2.0
//
// What blocks of the sparse engine share: formats, the network table, instructions, and what the
// planner tells the banks.
//
//   jd_sparse_grp, jd_sparse_osel   grouping entries -> list_t, one list of rows and one of columns
//   jd_sparse_plan                  lists -> window_write_t, range_write_t, place_t, list_t
//   jd_sparse_lau                   tables, parameter memory -> weight_begin_t, weight_write_t
//   jd_sparse_bank                  keeps lists, windows and its range; needs nothing else
//
// Numbers  Fields have the width of the largest build. A *list* has the rows or the columns of a
//          layer, those of group 0 first, ascending in a group; a *place* is an entry of it. A pass
//          has contracted indices, whose products are summed, and produced ones, which have a lane
//          each: see models/sparse/plan.py. A *window* is produced indices side by side on the lanes
//          of a bank; *rank* r of a window's slot is its r-th contracted index.
// Source   docs/sparse.md. Golden models: models/sparse/formats.py, models/sparse/plan.py.
package jd_sparse_pkg;
  localparam int unsigned HALF_W    = 16;   // bits of FP16
  localparam int unsigned SINGLE_W  = 32;   // bits of FP32
  localparam int unsigned VECTORS   = 4;    // of a tile
  localparam int unsigned NEURONS   = 8;    // of an activation line
  localparam int unsigned TUPLE_W   = VECTORS * HALF_W;   // a neuron of a tile
  localparam int unsigned LINE_W    = NEURONS * TUPLE_W;  // an activation line, a beat of memory
  localparam int unsigned SLOTS     = 4;    // of a window, at most
  localparam int unsigned CORES     = 3;    // at most
  localparam int unsigned BANKS     = 8;    // of a core, at most
  localparam int unsigned LAYERS    = 8;    // at most
  localparam int unsigned UNITS     = 8;
  localparam int unsigned SEMAPHORES = 16;
  localparam int unsigned QUEUE     = 8;    // instructions that a unit's queue holds
  localparam int unsigned WORD_BANKS = 64;  // of the parameter memory
  localparam int unsigned GROUP_LINE = 128; // grouping entries of a line
  localparam int unsigned READ_LATENCY = 2; // clocks of the activation store
  localparam int unsigned BLOCK     = 32;   // ranks of a unit of DW, at most
  localparam int unsigned CURVE_LATENCY = 10;   // clocks of a sigmoid or tangent
  localparam int unsigned UPDATE_LATENCY = 3;   // clocks of the parameter memory, of the update

  localparam int unsigned LAYER_W   = 3;    // a layer's number
  localparam int unsigned DIM_W     = 10;   // rows or columns of a layer, 1..512
  localparam int unsigned INDEX_W   = 9;    // a row or a column
  localparam int unsigned GROUPS_W  = 6;    // G, 1..32
  localparam int unsigned GROUP_W   = 5;    // a group
  localparam int unsigned TILES_W   = 4;    // tiles, 0..8
  localparam int unsigned TILE_W    = 3;    // a tile
  localparam int unsigned WINDOW_W  = 5;    // a window, 0..30
  localparam int unsigned LANE_W    = 9;    // a lane, and lanes, 0..264
  localparam int unsigned UNIT_W    = 8;    // a unit of FW or DX: window * NT + tile, 0..248
  localparam int unsigned W_LINE_W  = 15;   // a weight line of a bank
  localparam int unsigned G_LINE_W  = 13;   // a gradient line of a bank
  localparam int unsigned A_LINE_W  = 16;   // an activation line
  localparam int unsigned STRIDE_W  = 10;   // activation lines from tile to tile
  localparam int unsigned P_WORD_W  = 18;   // a word of the parameter memory
  localparam int unsigned P_LINE_W  = 12;   // a line of 64 words of it
  localparam int unsigned B_WORD_W  = 11;   // a bias
  localparam int unsigned M_LINE_W  = 9;    // a line of grouping entries
  localparam int unsigned S_WORD_W  = 12;   // a grouping state
  localparam int unsigned ENTRY_W   = 8;    // a grouping entry
  localparam int unsigned SUM_W     = 64;   // a gradient of one, with 40 bits of fraction
  localparam int unsigned DRAWN_W   = 16;   // a number that is drawn to round its step
  localparam int unsigned PRODUCT_W = 54;   // a weight times its gradient
  localparam int unsigned SUM_FRACTION = 40;  // bits of both

  // ---- The network table: a layer that passed its checks.
  typedef struct packed {
    logic [DIM_W-1:0]    m;            // rows, inputs
    logic [DIM_W-1:0]    n;            // columns, outputs
    logic [GROUPS_W-1:0] groups;
    logic [1:0]          split_log2;   // chains of a forward sum
    logic                tr;           // DW contracts columns
    logic [TILES_W-1:0]  tiles;        // at most
    logic [P_WORD_W-1:0] w_base;       // a multiple of 64
    logic [B_WORD_W-1:0] b_base;
    logic [M_LINE_W-1:0] g_base;
    logic [S_WORD_W-1:0] s_base;
    logic [INDEX_W-1:0]  dx_from;      // first row that DX produces
  } layer_t;

  function automatic logic [2:0] log2_of(input logic [GROUPS_W-1:0] groups);
    logic [2:0] found;
    found = '0;
    for (int unsigned k = 1; k < GROUPS_W; k++) begin
      if (groups[k]) found = 3'(k);
    end
    return found;
  endfunction
  // The first line of the columns' grouping entries, which follow those of the rows.
  function automatic logic [M_LINE_W-1:0] columns_line_of(input layer_t layer);
    return layer.g_base + M_LINE_W'(((16'(layer.m) << log2_of(layer.groups))
                                     + 16'(GROUP_LINE - 1)) >> $clog2(GROUP_LINE));
  endfunction

  // ---- Jobs
  localparam logic [7:0] CONFIG = 8'd1;
  localparam logic [7:0] LOAD   = 8'd2;
  localparam logic [7:0] STORE  = 8'd3;
  localparam logic [7:0] RUN    = 8'd4;
  typedef enum logic [2:0] {PartW, PartV, PartBias, PartGroup, PartState} part_e;   // of an image
  localparam int unsigned PARTS = 5;
  typedef logic [15:0][31:0] descriptor_t;
  localparam int unsigned BEATS_W = 18;      // lines of 64 bytes of a transfer
  localparam int unsigned BEAT_WORDS = 16;
  typedef enum logic [1:0] {WordBias, WordBiasSquare, WordState} word_e;

  // Settings, from registers.
  typedef struct packed {
    logic [SINGLE_W-1:0] rate;
    logic [SINGLE_W-1:0] alpha;
    logic [SINGLE_W-1:0] one_minus_alpha;
    logic [SINGLE_W-1:0] eps;
    logic [SINGLE_W-1:0] gscale;
    logic [SINGLE_W-1:0] group_rate;
    logic [SINGLE_W-1:0] inverse;
    logic [7:0]          agents;
    logic [15:0]         episodes;
  } settings_t;

  // ---- Instructions
  localparam logic [7:0] END    = 8'h00;
  localparam logic [7:0] LOADA  = 8'h10;
  localparam logic [7:0] STOREA = 8'h11;
  localparam logic [7:0] ZEROA  = 8'h12;
  localparam logic [7:0] ENC    = 8'h20;
  localparam logic [7:0] ENCT   = 8'h21;
  localparam logic [7:0] PLAN   = 8'h30;
  localparam logic [7:0] COMP   = 8'h31;
  localparam logic [7:0] COMPT  = 8'h32;
  localparam logic [7:0] FX     = 8'h40;
  localparam logic [7:0] FY     = 8'h41;
  localparam logic [7:0] FW     = 8'h50;
  localparam logic [7:0] DX     = 8'h51;
  localparam logic [7:0] DW     = 8'h52;
  localparam logic [7:0] LIN    = 8'h60;
  localparam logic [7:0] LSTMF  = 8'h61;
  localparam logic [7:0] LSTMB  = 8'h62;
  localparam logic [7:0] CF     = 8'h70;
  localparam logic [7:0] CB     = 8'h71;
  localparam logic [7:0] UPD    = 8'h80;
  localparam logic [7:0] UPDG   = 8'h81;
  localparam logic [7:0] CLRG   = 8'h82;
  typedef enum logic [2:0] {
    UnitDma, UnitOsel, UnitLau, UnitFill, UnitVpu, UnitElem, UnitComm, UnitOpt
  } unit_e;                            // bits 7:4 of the op, less 1

  typedef struct packed {              // bits 24:16 of word 0
    logic gates;
    logic plain;
    logic bsum;
    logic second;
    logic addend;
    logic bias;
    logic nocache;
    logic policy;
    logic row;
  } flags_t;

  typedef struct packed {
    logic [A_LINE_W-1:0] line;         // of tile 0
    logic [2:0]          skew;         // bank of neuron 0
    logic [STRIDE_W-1:0] stride;       // lines from a tile to the next
  } tensor_t;

  // An instruction as a unit gets it, with its layer.
  typedef struct packed {
    logic [7:0]                    op;
    flags_t                        flags;
    logic [LAYER_W-1:0]            number;    // of the layer
    layer_t                        layer;
    logic [CORES-1:0][TILES_W-1:0] tiles;     // of each core; 0: it rests
    tensor_t                       a;
    tensor_t                       b;
    tensor_t                       d;
    logic [39:0]                   address;   // of LOADA and STOREA
    logic [9:0]                    value;     // neurons of the first tensor, first tile, or lines
    logic [9:0]                    neurons;   // of the operand or of the message
  } instruction_t;

  // ---- Inside the scheduler
  // Whether results fit where a LIN puts them, which depends on what they are.
  typedef enum logic [1:0] {Fits, FitsNot, BeyondStore} fit_e;
  // An instruction that passed its checks.
  typedef struct packed {
    logic [15:0]                   at;        // its number in the program
    logic [1:0]                    stage;
    logic [SEMAPHORES-1:0]         waits;
    logic [SEMAPHORES-1:0]         posts;
    fit_e                          forward;   // LIN after FW
    fit_e                          backward;  // LIN after DX
    logic [7:0]                    op;
    flags_t                        flags;
    logic [LAYER_W-1:0]            number;
    logic [CORES-1:0][TILES_W-1:0] tiles;
    tensor_t                       a;
    tensor_t                       b;
    tensor_t                       d;
    logic [39:0]                   address;
    logic [9:0]                    value;
    logic [9:0]                    neurons;
  } entry_t;
  // What is kept of an instruction that runs.
  typedef struct packed {
    logic [15:0]                   at;
    logic [1:0]                    stage;
    logic [SEMAPHORES-1:0]         posts;
    logic [7:0]                    op;
    logic                          row;
    logic [LAYER_W-1:0]            number;
  } running_t;
  // Vectors and episodes of a RUN.
  localparam int unsigned VECTORS_W = 16;
  typedef struct packed {
    logic                           nothing;   // no agents or no episodes
    logic [7:0]                     period;    // tiles after which one begins with an episode
    logic [8:1]                     whole;     // so many tiles are whole episodes
    logic [VECTORS_W-1:0]           all;       // vectors, at most 65,535
    logic [CORES-1:0][VECTORS_W-1:0] cores;    // of each core, if episodes are over cores
  } episodes_t;

  // ---- What the encoder keeps of a layer
  // The list of the streamed side: each index's group, and its place in the list sorted by group.
  typedef struct packed {
    logic [GROUP_W-1:0] group;
    logic [INDEX_W-1:0] place;
  } place_of_t;
  // Its groups. Tuples are indices of the compared side, columns or, with `exchanged`, rows.
  localparam int unsigned GROUPS = 32;                  // at most
  typedef struct packed {
    logic                         exchanged;
    logic [GROUPS-1:0][DIM_W-1:0] base;                 // where the group's tuple begins
    logic [GROUPS-1:0][DIM_W-1:0] rows;                 // how many the group has
    logic [GROUPS-1:0][DIM_W-1:0] below;                // of them below dx_from
    logic [GROUPS-1:0][DIM_W-1:0] columns;
  } directory_t;
  // Clocks of the steps of an encoding, and tuples: of misses, and all that were made.
  typedef struct packed {
    logic [DIM_W-1:0] max_index;
    logic [DIM_W-1:0] rows;
    logic [15:0]      misses;
    logic [DIM_W-1:0] lists;
    logic [DIM_W-1:0] missed;
    logic [DIM_W-1:0] tuples;
  } encoder_clocks_t;

  // ---- What the planner tells all banks of all cores
  typedef enum logic [1:0] {PassFw, PassDx, PassDw} pass_e;

  // An entry of a list. Each entry is written once per ENC or PLAN of its layer.
  typedef struct packed {
    logic               valid;
    logic               columns;     // else of the rows
    logic [LAYER_W-1:0] layer;
    logic [INDEX_W-1:0] place;
    logic [INDEX_W-1:0] index;
    logic               mine;        // a row that the core has if it has a range of rows
  } list_t;

  // A slot of a window. In FW rank r of a slot is the row at place `first` + r * (`step` + 1) * KSPLIT
  // of the list of rows, lane i of it the column at place `produced` + i of the list of columns. In DX
  // rows and columns are exchanged; in DW too if the layer has `tr`. With KSPLIT every slot has all
  // columns. The planner's windows have all ranks; jd_sparse_lau writes those of a core in ROW split.
  typedef struct packed {
    logic [INDEX_W-1:0] first;
    logic [DIM_W-1:0]   depth;       // contracted indices; 0: its sums are +0
    logic [INDEX_W-1:0] produced;
    logic [LANE_W-1:0]  lanes;       // 0: the slot is not used, nor are those above
  } slot_t;
  typedef struct packed {
    logic [1:0]        step;
    logic [DIM_W-1:0]  depth;        // the largest of the slots': weight lines
    logic [LANE_W-1:0] lanes;        // of all slots
    slot_t [SLOTS-1:0] slots;        // slot 0 has lanes 0, 1 ...
  } window_t;
  typedef struct packed {
    logic                valid;
    logic [LAYER_W-1:0]  layer;
    pass_e               pass;
    logic [WINDOW_W-1:0] number;
    window_t             window;
  } window_write_t;

  // A rank of a window, as its lanes want it. In ROW split a slot may skip it, or some of its lanes.
  typedef struct packed {
    logic [SLOTS-1:0][LANE_W-1:0] ends;     // the lane after the last one of a slot
    logic [SLOTS-1:0]             has;      // slots that have the rank
    logic [SLOTS-1:0]             none;     // slots whose sums are +0, if this is their first rank
    logic [LANE_W-1:0]            useful;   // lanes that multiply
  } lane_slots_t;
  function automatic lane_slots_t lane_slots_of(
      input window_t window, input logic [DIM_W-1:0] rank, input logic [SLOTS-1:0] skips,
      input logic [SLOTS-1:0][LANE_W-1:0] takes);          // lanes of a slot that do not skip
    lane_slots_t                  found;
    logic [LANE_W-1:0]            place;
    logic [SLOTS-1:0][LANE_W-1:0] part;
    found = '0;
    place = '0;
    for (int unsigned s = 0; s < SLOTS; s++) begin
      place         = place + window.slots[s].lanes;
      found.ends[s] = place;
      found.has[s]  = rank < window.slots[s].depth && !skips[s];
      found.none[s] = window.slots[s].depth == '0 || skips[s];
      part[s]       = found.has[s] ? takes[s] : '0;
    end
    found.useful = (part[0] + part[1]) + (part[2] + part[3]);
    return found;
  endfunction

  // The units of a bank in a pass, which are consecutive. Of FW and DX they are the tiles of a window,
  // then of the next; if `paired` the tiles of windows 2k and 2k+1, each of both, then of the next
  // pair. Of DW they are the blocks of `block` ranks of a window, then of the next. The last unit is
  // in the range. Banks without units have `empty` and, in FW and DX, `first_unit` as if their units
  // came there. A bank has the weight lines of all windows from the first to the last, and of their
  // partners.
  typedef struct packed {
    logic                empty;
    logic [WINDOW_W-1:0] first_window;
    logic [6:0]          first_step;   // tile, of DW block
    logic [WINDOW_W-1:0] last_window;
    logic [6:0]          last_step;
    logic [UNIT_W-1:0]   first_unit;   // FW and DX
    logic [1:0]          block;        // DW: 4 << block ranks of a unit
    logic [W_LINE_W-1:0] base;         // first weight line, of DW gradient line
    logic                paired;       // FW and DX
    logic [WINDOW_W-1:0] windows;      // FW and DX: of the pass
  } range_t;
  typedef struct packed {
    logic               valid;
    logic [LAYER_W-1:0] layer;
    pass_e              pass;
    logic [2:0]         bank;
    range_t             range;
  } range_write_t;

  // Where a produced index of FW (a column) or DX (a row) has its sums. With KSPLIT the lane is that
  // of chain 0; chain j is N lanes further.
  typedef struct packed {
    logic                valid;
    logic [LAYER_W-1:0]  layer;
    logic                dx;
    logic [INDEX_W-1:0]  index;    // the column, or the row
    logic [WINDOW_W-1:0] window;
    logic [LANE_W-1:0]   lane;
  } place_t;

  // What jd_sparse_plan gives, one word of each kind per clock.
  typedef struct packed {
    list_t         list;
    window_write_t window;
    range_write_t  range;
    place_t        place;
  } table_t;

  // An operation of the array, as all banks get it.
  typedef struct packed {
    logic               row;           // ROW split
    logic               contiguous;    // of ranges of rows; else by their places
    pass_e              pass;
    logic [LAYER_W-1:0] number;        // of the layer
    logic [TILES_W-1:0] layer_tiles;   // its NT
    logic [1:0]         split_log2;    // of FW; else 0
    logic [6:0]         x_lines;       // lines of 8 neurons of a tile of X
    logic               x_set;
    logic               r_set;         // of results
    logic               tr;            // of DW: contracts columns
    logic [6:0]         y_lines;       // of DW, as x_lines
    logic               y_set;
  } operation_t;

  // The core that has a place of a list, in ROW split with POLICY.
  function automatic logic [1:0] owner_of(input logic [INDEX_W-1:0] place,
                                          input int unsigned cores);
    logic [3:0] digits;                  // their sum is the place modulo 3
    digits = 4'(place[1:0]) + 4'(place[3:2]) + 4'(place[5:4]) + 4'(place[7:6]) + 4'(place[8]);
    return (cores == 3) ? 2'(digits % 4'd3) : (cores == 2) ? {1'b0, place[0]} : 2'd0;
  endfunction

  // A unit of DW whose sums are in the accumulators: those of rank r in number r of a half.
  typedef struct packed {
    logic [LANE_W-1:0] lanes;
    logic [5:0]        ranks;          // of the unit, 0..32
  } gradient_slot_t;
  typedef struct packed {
    logic                       half;
    logic                       none;  // an operation without units
    logic                       ends;  // its operation
    logic [LAYER_W-1:0]         layer;
    logic [G_LINE_W-1:0]        line;  // of rank 0
    logic [5:0]                 ranks;
    logic [LANE_W-1:0]          lanes;
    gradient_slot_t [SLOTS-1:0] slots;
  } gradient_unit_t;
  // Consecutive columns of a tile on their way to the store.
  localparam int unsigned CHANNELS = 8;  // at most
  typedef struct packed {
    logic [CHANNELS-1:0] mask;           // columns that there are
    logic [DIM_W-1:0]    column;         // the first one
    logic [A_LINE_W-1:0] other_line;     // of the tile: of tensor B, of LSTMF A
    logic [A_LINE_W-1:0] d_line;
    logic                last;           // of the instruction
  } columns_t;

  // A bias that was written: FP16, for the cores.
  typedef struct packed {
    logic                valid;
    logic [B_WORD_W-1:0] word;
    logic [HALF_W-1:0]   value;
  } bias_t;

  // A word of the parameter memory, to read or to write.
  typedef struct packed {
    logic                valid;
    logic [5:0]          bank;
    logic [P_LINE_W-1:0] line;
  } word_place_t;

  // ---- Inside the update of weights: a *segment* is the ranks of a window that a bank has
  // gradients of. Its lanes' produced indices are in one of four buffers.
  localparam int unsigned BUFFERS  = 4;
  localparam int unsigned BUFFER_W = 2;
  typedef struct packed {
    logic [INDEX_W-1:0] first;           // place of its first contracted index
    logic [DIM_W-1:0]   depth;           // 0: the slot is not used
    logic [LANE_W-1:0]  past;            // lanes of this slot and of those below
  } segment_slot_t;
  typedef struct packed {
    logic [2:0]                bank;
    logic [BUFFER_W-1:0]       buffer;
    logic [G_LINE_W-1:0]       line;     // gradients of its first rank
    logic [DIM_W-1:0]          first;    // rank
    logic [DIM_W-1:0]          past;     // rank after its last
    logic [LANE_W-1:0]         lanes;
    segment_slot_t [SLOTS-1:0] slots;
  } segment_t;
  typedef struct packed {
    logic                live;           // its slot has the segment's first rank
    logic [1:0]          slot;
    logic [INDEX_W-1:0]  index;          // produced
    logic [P_LINE_W-1:0] line;           // its part of a word's line
  } segment_lane_t;
  // A *turn*: lanes of a word of gradients whose weights are in different banks. Or a bias.
  typedef struct packed {
    logic                          bias;
    logic [BUFFER_W-1:0]           buffer;
    logic [LANE_W-1:0]             chunk;        // of the lanes, OptLanes each
    logic [LANE_W-1:0]             lanes;        // of the segment
    logic                          first;        // rank of the segment
    logic                          opens;        // the rank begins
    logic                          closes;       // the rank ends
    logic                          ends;         // the segment ends
    logic [SLOTS-1:0]              live;         // slots that have the rank
    logic [SLOTS-1:0][INDEX_W-1:0] contracted;   // index of each; of a bias its neuron in 0
  } turn_t;

  // ---- Inside the planner
  localparam int unsigned COST_W  = 20;                 // clocks of all units of a pass
  localparam int unsigned LINES_W = 16;                 // lines of a bank
  // What a bank takes at most, tried side by side: so many 32nds of an equal share of the clocks.
  localparam int unsigned EQUAL   = 32;
  localparam int unsigned LIMITS [8] = '{32, 33, 34, 35, 36, 39, 43, 48};
  localparam int unsigned LIMIT_W = COST_W + 9;         // of clocks times EQUAL times banks
  typedef struct packed {                               // of a window of DW
    logic [DIM_W-1:0]             depth;
    logic [LANE_W-1:0]            lanes;
  } depths_t;
  typedef struct packed {                               // a bank's units of DW
    logic                empty;
    logic [WINDOW_W-1:0] first_window;
    logic [6:0]          first_step;
    logic [WINDOW_W-1:0] last_window;
    logic [6:0]          last_step;
    logic [LINES_W-1:0]  lines;
  } blocks_t;

  // ---- Weight lines: `begin` sets every bank's pointer to the base of its range; a write stores the
  // line (Lanes FP16 words beside this struct) at the pointer of each bank in the mask and counts it
  // up. Lines come window by window, rank by rank, each for the banks that have units of the window.
  typedef struct packed {
    logic               valid;
    logic [LAYER_W-1:0] layer;
    logic               dx;
  } weight_begin_t;
  typedef struct packed {
    logic             valid;
    logic [CORES-1:0] cores;
    logic [BANKS-1:0] banks;
  } weight_write_t;
endpackage : jd_sparse_pkg
