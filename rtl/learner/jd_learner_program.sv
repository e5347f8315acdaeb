// SPDX-License-Identifier: Apache-2.0
//
// Runs PROGRAM: reads a program image, checks it, and keeps what the engine needs of it.
//
// Streams  start_i gives the address and size of the image; records arrive beat by beat. done_o,
//          for one clock, shows the first broken rule, if there is one. Stages go to the pipelines'
//          tables as they pass. After an error the program cannot be used.
// Timing   A network takes one clock per group of its image, 12 clocks, and 5 for each network before
//          it. A stage takes 9 clocks and one per row of its result.
// Numbers  none.
// Source   learner 4.2, 4.4. Golden model: models/learner/program.py, validate.
`include "jd_assert.svh"
module jd_learner_program
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned P         = 16,
  parameter  int unsigned OB        = 4,
  parameter  int unsigned LW        = 4,
  parameter  int unsigned WRows     = 1024,
  parameter  int unsigned ARows     = 2048,
  parameter  int unsigned DMax      = 64,
  parameter  int unsigned LMax      = 4,
  parameter  int unsigned NetMax    = 6,
  parameter  int unsigned StMax     = 64,
  parameter  int unsigned UpdateMax = 16,      // WU and TSM stages
  parameter  bit          ActorCritic = 1'b0,  // takes programs of DDPG and TD3
  parameter  int unsigned NTU       = 1,       // tensor units of a pipeline: 1, or 4 (spatial)
  localparam int unsigned NetW      = $clog2(NetMax)
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               start_i,
  input  logic [39:0]        address_i,        // with start_i, as the size
  input  logic [31:0]        bytes_i,
  output logic               busy_o,
  output logic               done_o,
  output logic [7:0]         error_o,
  output logic [31:0]        info0_o,          // number of the record in error, within its kind
  output logic [31:0]        info1_o,          // its kind; of E_BUS_RD: the bus's answer
  // Memory.
  output read_req_t          read_req_o,
  input  read_rsp_t          read_rsp_i,
  // Stage tables of the pipelines.
  output logic               stage_write_o,
  output logic [STAGE_L-1:0] stage_index_o,
  output stage_t             stage_o,
  // The program.
  output plan_t              plan_o,
  output network_t           networks_o [NetMax],
  output slot_t              slots_o [NetMax],
  output update_t            update_o [UpdateMax]
);
  import jd_learner_map_pkg::E_DIM;
  import jd_learner_map_pkg::E_ROWS;
  import jd_learner_map_pkg::E_DEP;
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_engine_header_map_pkg::E_ALIGN;
  import jd_engine_header_map_pkg::E_OPCODE;
  import jd_engine_header_map_pkg::E_RESERVED;

  localparam int unsigned LANE_L    = $clog2(P);
  localparam int unsigned Groups    = WRows * P / LW;      // of a master memory
  localparam int unsigned Biases    = WRows * OB;          // of the bias memory
  localparam int unsigned MAX_BYTES = 64 + 128 * NetMax + 32 * StMax;
  localparam int unsigned FILL      = 16 / LW;
  localparam int unsigned SizeW     = $clog2(DMax + 1);

  typedef enum logic [3:0] {
    StIdle, StSize, StCommand, StBeat, StHeader, StNet, StWalk, StOverlap, StSlot, StLook, StStage,
    StMark, StKeep, StDrain, StDone
  } state_e;
  typedef enum logic [1:0] {KindHeader, KindNet, KindSlot, KindStage} kind_e;

  state_e            state_q, state_d;
  kind_e             kind_q;
  logic [7:0]        index_q;                  // record within its kind
  logic [39:0]       address_q;
  logic [31:0]       bytes_q;
  logic [15:0][31:0] beat_q;
  logic              half_q, last_q;
  logic [7:0]        nets_q, slots_q;
  logic [7:0]        error, error_q;
  logic [31:0]       info0_q, info1_q;         // of a beat, or of the present record
  logic              sized_q, size_bad_q;      // in StSize: whether bytes_q is wrong is known

  // A record is held while it is checked. Its checks are a pipe of four registers, the last of which
  // is the error: it is decided in the fifth clock. They move only while something is checked, which
  // saves the power, and the simulator's time, of checks that nobody reads.
  logic [2:0] check_q;
  logic       checking, checked, bad_q;
  logic [7:0] check_error_q;
  assign checking = state_q inside {StHeader, StNet, StOverlap, StSlot, StStage};
  assign checked  = check_q == 3'd4;
  always_ff @(posedge clk_i) check_q <= checking && !checked ? check_q + 3'd1 : '0;

  function automatic logic [15:0] vector_rows(input logic [15:0] words);
    return (words + 16'(P - 1)) >> LANE_L;
  endfunction
  function automatic logic [2:0] log2_lanes(input logic [15:0] n_in);
    log2_lanes = 3'd2;
    for (int unsigned k = 2; k < LANE_L; k++) if (n_in > 16'(1 << k)) log2_lanes = 3'(k + 1);
  endfunction
  function automatic logic bad_size(input logic [15:0] words);
    return words == '0 || words > 16'(DMax);
  endfunction

  // Header. The vectors that a record fills are s, s', [s][a] and noise, the last two if there are.
  localparam int unsigned VECTORS = ActorCritic ? 4 : 2;
  logic [7:0]  header_error_q;
  logic [15:0] header_rows_q;
  logic [16:0] header_words_q;
  logic [31:0] want_bytes_q;
  logic        header_reserved_q, header_dim_q, header_rows_bad_q, header_words_bad_q;
  logic        continuous;                     // the record's action is a vector
  logic        header_overlap, header_outside;
  logic [VECTORS-1:0]       header_has;        // the program has that vector
  logic [VECTORS-1:0][7:0]  header_first;
  logic [VECTORS-1:0][16:0] header_end_q;
  assign continuous = ActorCritic && beat_q[2][23:16] != NO_VECTOR;
  always_comb begin
    for (int unsigned v = 0; v < VECTORS; v++) begin
      header_first[v] = beat_q[2][8*v+:8];
      header_has[v]   = v < 2 || (v == 2 ? continuous : header_first[v] != '0);
    end
    header_overlap = 1'b0;
    header_outside = 1'b0;
    for (int unsigned v = 0; v < VECTORS; v++) begin
      if (header_has[v] && 32'(header_end_q[v]) > beat_q[3]) header_outside = 1'b1;
      for (int unsigned w = 0; w < v; w++) begin
        if (header_has[v] && header_has[w] && header_end_q[v] > 17'(header_first[w])
            && header_end_q[w] > 17'(header_first[v])) header_overlap = 1'b1;
      end
    end
  end
  always_ff @(posedge clk_i) if (checking) begin
    header_words_q     <= 17'(beat_q[1][15:0]) + (continuous ? 17'(beat_q[1][31:16]) : 17'd0);
    header_rows_q      <= vector_rows(beat_q[1][15:0] + (continuous ? beat_q[1][31:16] : 16'd0));
    header_words_bad_q <= header_words_q > 17'(DMax);
    for (int unsigned v = 0; v < VECTORS; v++) begin
      header_end_q[v] <= 17'(header_first[v]) + (17'(header_rows_q) << 1);
    end
    want_bytes_q      <= 32'd64 * (32'd1 + 32'(beat_q[0][15:8]) + 32'(beat_q[0][23:16]))
                         + 32'd32 * 32'(beat_q[0][7:0]);
    header_reserved_q <= beat_q[0][31:24] != '0 || beat_q[15:5] != '0
                         || (ActorCritic ? beat_q[4][31:16] != '0
                                         : beat_q[2][31:24] != '0 || beat_q[4] != '0);
    header_dim_q      <= beat_q[0][7:0] == '0 || beat_q[0][7:0] > 8'(StMax)
                         || beat_q[0][15:8] == '0 || beat_q[0][15:8] > 8'(NetMax)
                         || beat_q[0][23:16] > 8'(NetMax) || bad_size(beat_q[1][15:0])
                         || (continuous ? beat_q[1][31:16] == '0
                             : beat_q[1][31:16] != 16'd1 || beat_q[2][31:24] != '0
                               || beat_q[2][23:16] != NO_VECTOR);
    header_rows_bad_q <= beat_q[3] > 32'd255 || beat_q[3] > 32'(ARows);
    header_error_q    <= '0;
    if (header_reserved_q) begin
      header_error_q <= E_RESERVED;
    end else if (header_dim_q || header_words_bad_q || bytes_q != want_bytes_q) begin
      header_error_q <= E_DIM;
    end else if (header_rows_bad_q || header_outside || header_overlap) begin
      header_error_q <= E_ROWS;
    end
  end

  // Network: first what its record says, then the sizes that the walk over its image finds.
  network_t          net_q;
  logic [7:0]        net_error_q;
  logic [17:0]       row_end_q, bias_end_q;    // after all of its banks
  logic              net_reserved_q, net_count_q, net_align_q;
  logic [LAYERS-1:0] layer_reserved_q, layer_dim_q;
  logic              columns_dim_q, copy_bad_q;    // of its copy of columns, below
  logic [16:0]       copy_end_q;
  function automatic logic [17:0] banks_end(input logic [15:0] base, input logic [15:0] size,
                                            input logic three);
    return 18'(base) + 18'(size) + (three ? 18'(size) << 1 : 18'd0);
  endfunction
  always_ff @(posedge clk_i) if (checking) begin
    row_end_q      <= banks_end(net_q.row_base, net_q.rows, net_q.has_target);
    bias_end_q     <= banks_end(net_q.bias_base, net_q.biases, net_q.has_target);
    net_reserved_q <= beat_q[0][31:9] != '0 || beat_q[3] != '0 || beat_q[15:12] != '0
                      || beat_q[11][31:16] != '0
                      || (!(ActorCritic && beat_q[10][31:16] != '0) && beat_q[11:10] != '0);
    net_count_q    <= beat_q[0][7:0] == '0 || beat_q[0][7:0] > 8'(LMax);
    net_align_q    <= ((net_q.bias_base | net_q.biases) & 16'(OB - 1)) != '0;
    for (int unsigned l = 0; l < LAYERS; l++) begin
      layer_reserved_q[l] <= 8'(l) >= beat_q[0][7:0] && beat_q[4+l] != '0;
      layer_dim_q[l]      <= 8'(l) < beat_q[0][7:0]
                             && (bad_size(beat_q[4+l][15:0]) || bad_size(beat_q[4+l][31:16]));
    end
    net_error_q <= '0;
    if (net_reserved_q)                           net_error_q <= E_RESERVED;
    else if (net_count_q || layer_dim_q != '0)    net_error_q <= E_DIM;
    else if (layer_reserved_q != '0)              net_error_q <= E_RESERVED;
    else if (columns_dim_q)                       net_error_q <= E_DIM;
    else if (net_align_q)                         net_error_q <= E_ALIGN;
    else if (row_end_q > 18'(WRows) || 32'(bias_end_q) > 32'(Biases)) net_error_q <= E_ROWS;
  end

  // The copy of columns is packed as a layer with an output for each column. Its place is checked
  // with the overlaps.
  if (ActorCritic) begin : gen_copy
    logic [16:0] columns_end_q;
    logic [2:0]  copy_pitch_q;
    logic [15:0] copy_chunks_q;                // memory rows of a row of whole ones, else 0
    logic [31:0] copy_rows_q;
    always_ff @(posedge clk_i) if (checking) begin
      columns_end_q <= 17'(net_q.column) + 17'(net_q.columns);
      columns_dim_q <= net_q.columns != '0 && columns_end_q > 17'(net_q.layers[0][15:0]);
      copy_pitch_q  <= log2_lanes(net_q.layers[0][31:16]);
      copy_chunks_q <= net_q.layers[0][31:16] > 16'(P) ? vector_rows(net_q.layers[0][31:16]) : '0;
      copy_rows_q   <= copy_chunks_q != '0
                       ? 32'(SizeW'(net_q.columns)) * 32'(SizeW'(copy_chunks_q))
                       : ((32'(SizeW'(net_q.columns)) << copy_pitch_q) + 32'(P - 1)) >> LANE_L;
      copy_end_q    <= 17'(net_q.column_row) + 17'(copy_rows_q);
      copy_bad_q    <= net_q.columns != '0
                       && (copy_end_q > 17'(WRows)
                           || (18'(net_q.row_base) < 18'(copy_end_q)
                               && 18'(net_q.column_row) < row_end_q));
    end
  end else begin : gen_no_copy
    assign columns_dim_q = 1'b0;
    assign copy_bad_q    = 1'b0;
    assign copy_end_q    = '0;
  end

  logic        walk_start_q, walk_active, walk_last, unused_bias;
  logic [16:0] unused_row, walk_row_end, walk_bias_end, unused_bias_index;
  logic [($clog2(P / LW) > 0 ? $clog2(P / LW) : 1)-1:0] unused_sub;
  logic [LW-1:0] unused_mask;
  jd_learner_walk #(
    .P (P), .OB (OB), .LW (LW), .LMax (LAYERS), .RowW (16), .BiasW (16)
  ) u_walk (
    .clk_i, .rst_ni,
    .start_i       (walk_start_q),
    .layers_i      (net_q.layers),
    .layer_count_i (net_q.layer_count),
    .row_base_i    (16'd0),
    .bias_base_i   (16'd0),
    .next_i        (walk_active),
    .active_o      (walk_active),
    .last_o        (walk_last),
    .bias_o        (unused_bias),
    .row_o         (unused_row),
    .sub_o         (unused_sub),
    .bias_index_o  (unused_bias_index),
    .mask_o        (unused_mask),
    .row_end_o     (walk_row_end),
    .bias_end_o    (walk_bias_end)
  );

  logic [31:0]     groups_q;                   // of this network
  logic [31:0]     master_q, master_end_q;     // of all networks before it; and of this
  logic [NetW-1:0] other_q;
  logic            image_bad_q, overlap_q;
  logic            last_other;                 // it was compared with all networks before it
  logic [15:0]     other_row_q, other_bias_q;
  logic [17:0]     other_row_end_q, other_bias_end_q;
  logic            copy_overlap_q;             // of a copy of columns with the other network
  if (ActorCritic) begin : gen_copies
    logic        other_copies_q;               // the other network has a copy
    logic [15:0] other_copy_q;
    logic [16:0] other_copy_end_q;
    logic [16:0] other_copy_end;
    jd_mem_lut #(.Depth (NetMax), .Width (17)) u_copy_ends (
      .clk_i, .rst_ni,
      .write_en_i   (state_q == StOverlap && last_other),
      .write_addr_i (other_q),
      .write_data_i (copy_end_q),
      .read_addr_i  (other_q),
      .read_data_o  (other_copy_end)
    );
    always_ff @(posedge clk_i) if (checking) begin
      other_copies_q   <= networks_o[other_q].columns != '0;
      other_copy_q     <= networks_o[other_q].column_row;
      other_copy_end_q <= other_copy_end;
      copy_overlap_q   <= (net_q.columns != '0 && 18'(net_q.column_row) < other_row_end_q
                           && 17'(other_row_q) < copy_end_q)
                          || (other_copies_q && 18'(other_copy_q) < row_end_q
                              && 17'(net_q.row_base) < other_copy_end_q)
                          || (net_q.columns != '0 && other_copies_q
                              && 17'(net_q.column_row) < other_copy_end_q
                              && 17'(other_copy_q) < copy_end_q);
    end
  end else begin : gen_no_copies
    logic [16:0] unused_copy_end;
    assign unused_copy_end = copy_end_q;
    assign copy_overlap_q  = 1'b0;
  end
  logic [17:0] other_row_end, other_bias_end;
  jd_mem_lut #(.Depth (NetMax), .Width (36)) u_ends (
    .clk_i, .rst_ni,
    .write_en_i   (state_q == StOverlap && checked && last_other),
    .write_addr_i (other_q),
    .write_data_i ({row_end_q, bias_end_q}),
    .read_addr_i  (other_q),
    .read_data_o  ({other_row_end, other_bias_end})
  );
  always_ff @(posedge clk_i) if (checking) begin
    other_row_q      <= networks_o[other_q].row_base;
    other_bias_q     <= networks_o[other_q].bias_base;
    other_row_end_q  <= other_row_end;
    other_bias_end_q <= other_bias_end;
    overlap_q <= (18'(net_q.row_base) < other_row_end_q && 18'(other_row_q) < row_end_q)
                 || (18'(net_q.bias_base) < other_bias_end_q && 18'(other_bias_q) < bias_end_q);
    image_bad_q <= walk_row_end > 17'(net_q.rows) || walk_bias_end > 17'(net_q.biases)
                   || master_end_q > 32'(Groups);
  end

  // Slot.
  logic [7:0] slot_error_q;
  always_ff @(posedge clk_i) if (checking) begin
    slot_error_q <= beat_q[15:9] != '0 ? E_RESERVED : beat_q[0] > 32'd2 ? E_DIM : 8'd0;
  end

  // Stage.
  stage_t       stage_q;
  network_t     stage_net_q;
  loss_param_t  loss;
  logic         product, losses, computes, updates, biased, chain_q;
  logic         slope;                         // DOT times a tangent's slope
  assign loss     = loss_param_t'(stage_q.param);
  assign product  = stage_q.op inside {OpDot, OpAxpy, OpOuter};
  assign slope    = ActorCritic && stage_q.op == OpDot && stage_q.act == ActSlope;
  assign losses   = stage_q.op == OpLossQ
                    || (ActorCritic && stage_q.op inside {OpLossTd, OpLossPi});
  assign computes = product || losses;
  assign updates  = stage_q.op inside {OpUpdate, OpTarget};
  assign biased   = stage_q.op inside {OpDot, OpOuter} && !stage_q.no_bias;

  // Memory rows of its n_out packed rows of n_in weights.
  logic [2:0]  log2_pitch_q;
  logic        long_q;                         // a packed row takes whole memory rows
  logic [31:0] weight_rows_q;
  logic [15:0] in_rows_q, out_rows_q, dot_rows_q;      // of vectors: n_in; n_out; with the offset
  always_ff @(posedge clk_i) if (checking) begin
    log2_pitch_q  <= log2_lanes(stage_q.n_in);
    long_q        <= stage_q.n_in > 16'(P);
    in_rows_q     <= vector_rows(stage_q.n_in);
    out_rows_q    <= vector_rows(stage_q.n_out);
    dot_rows_q    <= vector_rows(stage_q.n_out + 16'(stage_q.offset));
    weight_rows_q <= long_q ? 32'(SizeW'(stage_q.n_out)) * 32'(SizeW'(in_rows_q))
                            : ((32'(SizeW'(stage_q.n_out)) << log2_pitch_q) + 32'(P - 1)) >> LANE_L;
  end

  // The vectors of a stage: where the three that it reads, and its result, end.
  logic [3:0][16:0] vector_end, vector_end_q;
  always_comb begin
    vector_end = '0;
    unique case (stage_q.op)
      OpDot: begin
        vector_end[0] = 17'(stage_q.src) + 17'(in_rows_q);
        vector_end[3] = 17'(stage_q.dst) + 17'(slope ? out_rows_q : dot_rows_q);
        if (slope) vector_end[1] = 17'(stage_q.aux) + 17'(dot_rows_q);
      end
      OpAxpy: begin
        vector_end[0] = 17'(stage_q.src) + 17'(out_rows_q);
        if (stage_q.act == ActRelu) vector_end[1] = 17'(stage_q.aux) + 17'(in_rows_q);
        vector_end[3] = 17'(stage_q.dst) + 17'(in_rows_q);
      end
      OpOuter: begin
        vector_end[0] = 17'(stage_q.src) + 17'(out_rows_q);
        vector_end[1] = 17'(stage_q.aux) + 17'(in_rows_q);
      end
      OpLossQ, OpLossTd, OpLossPi: begin
        vector_end[0] = 17'(loss.value) + 17'(out_rows_q);
        if (stage_q.op != OpLossPi) vector_end[1] = 17'(loss.next) + 17'(out_rows_q);
        if (loss.mode != LOSS_MAX) vector_end[2] = 17'(loss.chooser) + 17'(out_rows_q);
        vector_end[3] = 17'(stage_q.dst) + 17'(out_rows_q);
      end
      default: begin end
    endcase
  end

  // Phases: compute stages, then WU and TSM. The losses that use the records stand in the first.
  logic after_update_q, second_q;              // the stage before is WU or TSM; phase 2 has begun
  logic first_only, begins;                    // the stage begins a phase
  assign begins     = computes && after_update_q;
  assign first_only = stage_q.op inside {OpLossQ, OpLossTd};

  // Delayed stages: others do not wait for them.
  logic [STAGE_MAX-1:0] delayed_q;
  logic                 chain_delayed_q, reported_q;   // a LOSS_TD before tells its TD errors
  logic                 lost_q;                        // there was a LOSS
  logic                 bad_delay_q;
  function automatic logic late(input logic [7:0] dep);
    return dep != NO_STAGE && delayed_q[dep[STAGE_L-1:0]];
  endfunction

  // An action right after s or s': at most one each.
  logic       action_state_q, action_next_q;   // there was one
  logic [1:0] actions_q;                       // after s, s'
  logic       columns_bad_q, columns_row_q, noise_bad_q;
  if (ActorCritic) begin : gen_actor_critic
    logic behind_q, at_state_q, at_next_q;
    always_ff @(posedge clk_i) if (checking) begin
      behind_q       <= stage_q.op == OpDot && stage_q.act != ActSlope && plan_o.action_words != '0
                        && 16'(stage_q.offset) == plan_o.state_words
                        && stage_q.n_out == plan_o.action_words;
      at_state_q     <= stage_q.dst == plan_o.state;
      at_next_q      <= stage_q.dst == plan_o.next_state;
      action_state_q <= behind_q && at_state_q;
      action_next_q  <= behind_q && at_next_q;
      columns_bad_q  <= product && stage_q.column
                        && (stage_q.target || !stage_q.no_bias
                            || stage_q.n_in != stage_net_q.layers[0][31:16]
                            || stage_q.n_out != stage_net_q.columns);
      columns_row_q  <= stage_q.row != stage_net_q.column_row;
      noise_bad_q    <= product && stage_q.noise
                        && (plan_o.noise == '0 || stage_q.n_out != plan_o.action_words);
      bad_delay_q    <= !stage_q.delayed && (late(stage_q.dep_a) || late(stage_q.dep_b)
                                             || late(stage_q.dep_c));
    end
  end else begin : gen_no_actor_critic
    assign action_state_q = 1'b0;
    assign action_next_q  = 1'b0;
    assign columns_bad_q  = 1'b0;
    assign columns_row_q  = 1'b0;
    assign noise_bad_q    = 1'b0;
    assign bad_delay_q    = 1'b0;
  end

  // Forward passes: chains of DOT stages of a network's online weights. The first stage reads a
  // vector that a record fills, except the noise. Each later stage reads the result of the stage
  // before it.
  logic        online_q, starts_q, follows_q;  // the stage may be in a chain; begins, continues it
  logic [15:0] input_words_q;                  // of a vector that a record fills
  logic        observed_q;                     // the stage reads such a vector
  logic [7:0]  length_q;                       // stages of the chain so far
  logic [7:0]  length_d, length_after_q;       // with this stage
  logic [7:0]  chain_first_q, chain_source_q;
  logic [15:0] chain_n_in_q, chain_n_out_q;
  logic [7:0]  chain_dst_q;
  logic [2:0]  chain_net_q;
  logic        chain_open_q;                   // the last stage's result begins at lane 0
  logic        pass_ends_q;                    // the stage is the last of its network's pass
  pass_t       pass;
  assign length_d  = !online_q ? 8'd0 : follows_q ? length_q + 8'd1 : starts_q ? 8'd1 : 8'd0;
  assign pass      = '{
    first:  follows_q ? chain_first_q : index_q,
    behind: index_q + 8'd1,
    source: follows_q ? chain_source_q : stage_q.src,
    n_in:   follows_q ? chain_n_in_q : stage_q.n_in,
    result: stage_q.dst + 8'(stage_q.offset >> LANE_L),
    lane:   7'(stage_q.offset[LANE_L-1:0]),
    parted: action_state_q || action_next_q,
    n_out:  stage_q.n_out
  };
  always_ff @(posedge clk_i) begin
    if (checking) begin
      online_q      <= stage_q.op == OpDot && !stage_q.target
                       && !(ActorCritic && (stage_q.column || stage_q.noise
                                            || stage_q.act == ActSlope));
      input_words_q <= plan_o.state_words + plan_o.action_words;
      observed_q    <= stage_q.src == plan_o.state || stage_q.src == plan_o.next_state
                       || (plan_o.action_words != '0 && stage_q.src == plan_o.action);
      starts_q      <= observed_q && stage_q.n_in <= input_words_q;
      follows_q     <= length_q != '0 && chain_open_q && stage_q.net == chain_net_q
                       && stage_q.src == chain_dst_q && stage_q.n_in == chain_n_out_q;
      length_after_q <= length_d;
      pass_ends_q    <= length_after_q != '0 && length_after_q == stage_net_q.layer_count
                        && !plan_o.passes[stage_q.net];
    end
    if (state_q == StIdle) begin
      length_q <= '0;
    end else if (state_q == StKeep) begin
      length_q       <= length_after_q;
      chain_first_q  <= pass.first;
      chain_source_q <= pass.source;
      chain_n_in_q   <= pass.n_in;
      chain_n_out_q  <= stage_q.n_out;
      chain_dst_q    <= stage_q.dst;
      chain_net_q    <= stage_q.net;
      chain_open_q   <= stage_q.offset == '0;
    end
  end

  function automatic logic bad_dependency(input logic [7:0] stage, input logic [7:0] id);
    return stage != NO_STAGE && stage >= id;
  endfunction

  logic        bad_opcode_q, bad_field_q, bad_param_q, bad_unit_q, bad_n_in_q, bad_n_out_q;
  logic        bad_bank_q, bad_dim_q, bad_dep_q, bad_order_q, bad_align_q;
  logic        row_before_q, bias_before_q, bad_lanes_q, bias_behind_q;
  logic [16:0] net_row_end_q, net_bias_end_q, stage_bias_end_q;
  logic [7:0]  stage_error_q;
  always_ff @(posedge clk_i) if (checking) begin
    bad_opcode_q  <= !computes && !updates;
    bad_field_q   <= stage_q.reserved != '0
                     || (!ActorCritic && (stage_q.delayed || stage_q.noise))
                     || (stage_q.column && !(ActorCritic && stage_q.op == OpDot))
                     || (stage_q.noise && !(stage_q.op == OpDot && stage_q.act == ActTanh))
                     || (stage_q.chain && stage_q.op != OpOuter);
    bad_param_q   <= (stage_q.op == OpLossQ && ({loss.reserved, loss.quiet} != '0
                                               || loss.mode > LOSS_DOUBLE))
                     || (stage_q.op == OpLossTd && (loss.reserved != '0 || loss.mode[0]))
                     || (stage_q.op == OpLossPi && stage_q.param[31:8] != '0)
                     || (stage_q.op == OpUpdate && stage_q.param[31:4] != '0)
                     || (stage_q.op == OpTarget && stage_q.param[31:17] != '0);
    bad_unit_q    <= stage_q.unit != (NTU > 1 ? unit_of(stage_q) : 4'd0)
                     || (stage_q.act > ActRelu && !(ActorCritic && stage_q.op == OpDot))
                     || (!losses && 8'(stage_q.net) >= nets_q);
    bad_n_in_q    <= product && bad_size(stage_q.n_in);
    bad_n_out_q   <= (computes && bad_size(stage_q.n_out))
                     || (stage_q.op == OpLossQ
                         && (stage_q.n_out > 16'(P) || plan_o.action_words != '0))
                     || (ActorCritic && stage_q.op inside {OpLossTd, OpLossPi}
                         && (stage_q.n_out != 16'd1 || plan_o.action_words == '0));
    bad_bank_q    <= (product && stage_q.target
                      && (stage_q.op == OpOuter || !stage_net_q.has_target))
                     || (stage_q.op == OpUpdate && 8'(stage_q.param[3:0]) >= slots_q)
                     || (stage_q.op == OpTarget
                         && (!stage_net_q.has_target || stage_q.param[16:0] == '0))
                     || (updates && plan_o.updates == 5'(UpdateMax))
                     || (stage_q.delayed && plan_o.delay == '0);
    bad_dim_q     <= bad_unit_q || bad_n_in_q || bad_n_out_q || bad_bank_q || columns_bad_q
                     || noise_bad_q;
    bad_dep_q     <= bad_dependency(stage_q.dep_a, index_q)
                     || bad_dependency(stage_q.dep_b, index_q)
                     || bad_dependency(stage_q.dep_c, index_q);
    bad_order_q   <= (begins && (!ActorCritic || second_q || first_only))
                     || (computes && second_q && first_only)
                     || (NTU > 1 && losses && lost_q)
                     || (chain_q && (stage_q.op != OpOuter
                                     || (ActorCritic && stage_q.delayed != chain_delayed_q)))
                     || (stage_q.chain && index_q + 8'd1 == plan_o.stages)
                     || (stage_q.op == OpLossTd
                         && (stage_q.delayed || (reported_q && !loss.quiet)));
    bad_align_q   <= biased && (stage_q.bias & 16'(OB - 1)) != '0;
    row_before_q  <= stage_q.row < stage_net_q.row_base;
    bias_before_q <= stage_q.bias < stage_net_q.bias_base;
    bad_lanes_q   <= stage_q.offset != '0
                     && (stage_q.op == OpAxpy || losses
                         || (stage_q.op == OpDot
                             && 16'(stage_q.offset[LANE_L-1:0]) + stage_q.n_out > 16'(P)));
    net_row_end_q    <= 17'(stage_net_q.row_base) + 17'(stage_net_q.rows);
    net_bias_end_q   <= 17'(stage_net_q.bias_base) + 17'(stage_net_q.biases);
    stage_bias_end_q <= 17'(stage_q.bias) + 17'(stage_q.n_out);
    bias_behind_q    <= stage_bias_end_q > net_bias_end_q;
    vector_end_q     <= vector_end;
    stage_error_q    <= '0;
    if (bad_opcode_q)                    stage_error_q <= E_OPCODE;
    else if (bad_field_q || bad_param_q) stage_error_q <= E_RESERVED;
    else if (bad_dim_q)                  stage_error_q <= E_DIM;
    else if (bad_dep_q || bad_delay_q || bad_order_q) stage_error_q <= E_DEP;
    else if (bad_align_q)                stage_error_q <= E_ALIGN;
    else if ((product && (stage_q.column ? columns_row_q
                          : row_before_q
                            || 32'(stage_q.row) + weight_rows_q > 32'(net_row_end_q)))
             || (biased && (bias_before_q || bias_behind_q)) || bad_lanes_q
             || (action_state_q && actions_q[0]) || (action_next_q && actions_q[1])) begin
      stage_error_q <= E_ROWS;
    end else begin
      for (int unsigned v = 0; v < 4; v++) begin
        if (vector_end_q[v] > 17'(plan_o.frame_rows)) stage_error_q <= E_ROWS;
      end
    end
  end

  // Rows of a frame that hold s, s' or the result of an earlier stage. No result may lie in them. A
  // result with an offset lies in one row.
  logic [255:0] written_q;
  logic [7:0]   mark_q, mark_left_q, result_first, result_rows;
  logic         clash_q;                       // of the row that was marked one clock ago
  // The rows below a row, found by its two digits: all rows with a lower high digit, and rows with
  // the same high digit and a lower low digit.
  typedef struct packed {
    logic [15:0] higher;                       // [k]: the high digit is above k
    logic [15:0] same;                         // it is k
    logic [15:0] lower;                        // the low digit is above k
  } bound_t;
  bound_t [VECTORS-1:0] first_q, end_q;        // of the vectors that a record fills, in a frame
  function automatic bound_t bound_of(input logic [7:0] row);
    for (int unsigned k = 0; k < 16; k++) begin
      bound_of.higher[k] = row[7:4] > 4'(k);
      bound_of.same[k]   = row[7:4] == 4'(k);
      bound_of.lower[k]  = row[3:0] > 4'(k);
    end
  endfunction
  function automatic logic [255:0] rows_below(input bound_t bound);
    for (int unsigned r = 0; r < 256; r++) begin
      rows_below[r] = bound.higher[r/16] || (bound.same[r/16] && bound.lower[r%16]);
    end
  endfunction
  always_ff @(posedge clk_i) if (checking) begin
    for (int unsigned v = 0; v < VECTORS; v++) begin
      first_q[v] <= bound_of(header_first[v]);
      end_q[v]   <= bound_of(header_end_q[v][7:0]);
    end
  end
  function automatic logic [255:0] given();      // their rows
    given = '0;
    for (int unsigned v = 0; v < VECTORS; v++) begin
      if (header_has[v]) given = given | (rows_below(end_q[v]) & ~rows_below(first_q[v]));
    end
  endfunction
  always_comb begin
    result_first = stage_q.dst
                   + (stage_q.op == OpDot && !slope ? 8'(stage_q.offset >> LANE_L) : 8'd0);
    unique case (stage_q.op)
      OpDot: begin
        result_rows = stage_q.offset != '0 && !slope ? 8'd1 : out_rows_q[7:0];
        if (action_state_q || action_next_q) result_rows = 8'd0;
      end
      OpAxpy:  result_rows = in_rows_q[7:0];
      OpLossQ, OpLossTd, OpLossPi: result_rows = 8'd1;
      default: result_rows = 8'd0;
    endcase
  end

  // The result of the record's checks.
  logic [7:0] check_error;
  assign last_other = other_q == index_q[NetW-1:0];
  always_comb begin
    unique case (state_q)
      StHeader: check_error = header_error_q;
      StNet:    check_error = net_error_q;
      StSlot:   check_error = slot_error_q;
      StStage:  check_error = stage_error_q;
      default: begin
        check_error = (last_other ? image_bad_q || copy_bad_q : overlap_q || copy_overlap_q)
                      ? E_ROWS : 8'd0;
      end
    endcase
  end
  always_ff @(posedge clk_i) if (checking) begin
    check_error_q <= check_error;
    bad_q         <= check_error != '0;
  end

  logic kind_last, kind_last_q;                // the record is the last of its kind
  always_comb begin
    unique case (kind_q)
      KindHeader: kind_last = 1'b1;
      KindNet:    kind_last = index_q + 8'd1 == nets_q;
      KindSlot:   kind_last = index_q + 8'd1 == slots_q;
      default:    kind_last = index_q + 8'd1 == plan_o.stages;
    endcase
  end

  logic failed, accepted;                      // the record, but for a stage's rows; all of it
  assign failed   = checked ? bad_q : state_q == StMark && clash_q;
  assign accepted = state_q == StKeep
                    || (checked && !bad_q && (state_q inside {StHeader, StSlot}
                                              || (state_q == StOverlap && last_other)));
  always_comb begin
    state_d = state_q;
    error   = checked ? check_error_q : state_q == StMark && clash_q ? E_ROWS : 8'd0;
    unique case (state_q)
      StIdle: if (start_i) state_d = StSize;
      StSize: if (sized_q) begin
        error   = size_bad_q ? E_DIM : 8'd0;
        state_d = size_bad_q ? StDone : StCommand;
      end
      StCommand: if (read_rsp_i.cmd_ready) state_d = StBeat;
      StBeat: if (read_rsp_i.valid) begin
        if (read_rsp_i.resp != 2'd0) begin
          error   = E_BUS_RD;
          state_d = read_rsp_i.last ? StDone : StDrain;
        end else begin
          unique case (kind_q)
            KindHeader: state_d = StHeader;
            KindNet:    state_d = StNet;
            KindSlot:   state_d = StSlot;
            default:    state_d = StLook;
          endcase
        end
      end
      StHeader, StSlot: if (checked) state_d = StBeat;
      StNet: if (checked) state_d = StWalk;
      StWalk: if (walk_last) state_d = StOverlap;
      StOverlap: if (checked && last_other) state_d = StBeat;
      StLook: state_d = StStage;
      StStage: if (checked) state_d = StMark;
      StMark: if (mark_left_q == '0) state_d = StKeep;
      StKeep: state_d = kind_last_q ? StDone : half_q ? StBeat : StLook;
      StDrain: if (read_rsp_i.valid && read_rsp_i.last) state_d = StDone;
      default: state_d = StIdle;
    endcase
    if (failed) state_d = last_q ? StDone : StDrain;
  end

  assign read_req_o.ready       = state_q == StBeat || state_q == StDrain;
  assign read_req_o.cmd_valid   = state_q == StCommand;
  assign read_req_o.cmd_address = address_q;
  assign read_req_o.cmd_beats   = 16'((bytes_q + 32'd63) >> 6);
  assign busy_o                 = state_q != StIdle;
  assign done_o                 = state_q == StDone;
  assign error_o                = error_q;
  assign info0_o                = error_q == '0 ? '0 : info0_q;
  assign info1_o                = error_q == '0 ? '0 : info1_q;
  assign stage_write_o          = state_q == StKeep;
  assign stage_index_o          = index_q[STAGE_L-1:0];
  assign stage_o                = stage_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    walk_start_q <= state_q == StNet && checked && !bad_q;
    sized_q      <= state_q == StSize;
    size_bad_q   <= bytes_q < 32'd64 || bytes_q > 32'(MAX_BYTES);
    clash_q      <= state_q == StMark && written_q[mark_q];   // after the last row, unseen
    kind_last_q  <= kind_last;
    if (state_q == StIdle && start_i) begin
      address_q      <= address_i;
      bytes_q        <= bytes_i;
      kind_q         <= KindHeader;
      index_q        <= '0;
      half_q         <= 1'b0;
      last_q         <= 1'b0;
      error_q        <= '0;
      plan_o.nets    <= '0;
      plan_o.targets <= '0;
      plan_o.passes  <= '0;
      plan_o.trained <= '0;
      plan_o.prompt  <= '0;
      plan_o.updates <= '0;
      written_q      <= '0;
      after_update_q <= 1'b0;
      second_q       <= 1'b0;
      plan_o.phases  <= 1'b0;
      plan_o.second  <= '0;
      reported_q     <= 1'b0;
      lost_q         <= 1'b0;
      actions_q      <= '0;
      chain_q        <= 1'b0;
      master_q       <= '0;
    end else if (error_q == '0) begin
      error_q <= error;
      info0_q <= state_q == StBeat ? '0 : 32'(index_q);
      info1_q <= state_q == StBeat ? 32'(read_rsp_i.resp) : 32'(kind_q);
    end
    if (state_q == StBeat && read_rsp_i.valid) begin
      beat_q <= read_rsp_i.data;
      last_q <= read_rsp_i.last;
      half_q <= 1'b0;
    end
    // The next record of the same kind, or the first of the next kind that has any.
    if (accepted) begin
      index_q <= kind_last_q ? '0 : index_q + 8'd1;
      if (kind_last_q) begin
        unique case (kind_q)
          KindHeader: kind_q <= KindNet;
          KindNet:    kind_q <= slots_q == '0 ? KindStage : KindSlot;
          default:    kind_q <= KindStage;
        endcase
      end
    end
    if (state_q == StHeader && checked) begin
      plan_o.stages       <= beat_q[0][7:0];
      nets_q              <= beat_q[0][15:8];
      slots_q             <= beat_q[0][23:16];
      plan_o.state_words  <= beat_q[1][15:0];
      plan_o.state_rows   <= header_rows_q[7:0];
      plan_o.state        <= beat_q[2][7:0];
      plan_o.next_state   <= beat_q[2][15:8];
      plan_o.frame_rows   <= beat_q[3][7:0];
      written_q           <= given();
      plan_o.action_words <= continuous ? beat_q[1][31:16] : '0;
      plan_o.action       <= continuous ? beat_q[2][23:16] : '0;
      plan_o.noise        <= ActorCritic ? beat_q[2][31:24] : '0;
      plan_o.delay        <= ActorCritic ? beat_q[4][15:0] : '0;
    end
    if (state_q == StBeat) begin
      net_q.layers      <= read_rsp_i.data[32*4+:32*LAYERS];
      net_q.layer_count <= read_rsp_i.data[7:0];
      net_q.has_target  <= read_rsp_i.data[8];
      net_q.row_base    <= read_rsp_i.data[47:32];
      net_q.rows        <= read_rsp_i.data[63:48];
      net_q.bias_base   <= read_rsp_i.data[79:64];
      net_q.biases      <= read_rsp_i.data[95:80];
      net_q.column      <= ActorCritic ? read_rsp_i.data[335:320] : '0;
      net_q.columns     <= ActorCritic ? read_rsp_i.data[351:336] : '0;
      net_q.column_row  <= ActorCritic ? read_rsp_i.data[367:352] : '0;
      net_q.slot        <= '0;
      net_q.beats       <= '0;
      net_q.master_base <= '0;
      net_q.forward     <= '0;
    end
    if (state_q == StNet) begin
      groups_q     <= '0;
      master_end_q <= master_q;
      other_q      <= '0;
    end
    if (state_q == StWalk && walk_active) begin
      groups_q     <= groups_q + 32'd1;
      master_end_q <= master_end_q + 32'd1;
    end
    if (state_q == StOverlap && checked) begin
      if (!last_other) begin
        other_q <= other_q + 1'b1;
      end else begin
        networks_o[other_q]             <= net_q;
        networks_o[other_q].beats       <= 16'(groups_q / FILL);
        networks_o[other_q].master_base <= master_q[23:0];
        plan_o.nets[3'(other_q)]        <= 1'b1;
        plan_o.targets[3'(other_q)]     <= net_q.has_target;
        master_q                        <= master_end_q;
      end
    end
    if (state_q == StSlot) slots_o[index_q[NetW-1:0]] <= beat_q[8:0];
    if (state_q == StLook) begin
      stage_q     <= half_q ? beat_q[15:8] : beat_q[7:0];
      stage_net_q <= networks_o[half_q ? beat_q[8][5+:NetW] : beat_q[0][5+:NetW]];
    end
    if (state_q == StStage && checked) begin
      mark_q      <= result_first;
      mark_left_q <= result_rows;
    end
    if (state_q == StMark && mark_left_q != '0) begin
      written_q[mark_q] <= 1'b1;
      mark_q            <= mark_q + 8'd1;
      mark_left_q       <= mark_left_q - 8'd1;
    end
    if (state_q == StKeep) begin
      half_q        <= 1'b1;
      chain_q       <= stage_q.chain;
      after_update_q <= updates;
      if (losses) lost_q <= 1'b1;
      if (ActorCritic) begin
        chain_delayed_q                 <= stage_q.delayed;
        delayed_q[index_q[STAGE_L-1:0]] <= stage_q.delayed;
        actions_q                       <= actions_q | {action_next_q, action_state_q};
        if (stage_q.op == OpLossTd && !loss.quiet) reported_q <= 1'b1;
        if (begins) begin
          second_q <= 1'b1;
          plan_o.phases <= 1'b1;
          plan_o.second <= index_q;
        end
      end
      if (updates) begin
        plan_o.updates <= plan_o.updates + 5'd1;
        update_o[plan_o.updates[3:0]] <= '{
          delayed:   stage_q.delayed,
          second:    second_q,
          is_target: stage_q.op == OpTarget,
          net:       stage_q.net,
          slot:      stage_q.param[3:0],
          polyak:    stage_q.param[16],
          period:    stage_q.param[15:0],
          tau:       stage_q.tau
        };
      end
      if (pass_ends_q) begin
        plan_o.passes[stage_q.net]             <= 1'b1;
        networks_o[NetW'(stage_q.net)].forward <= pass;
      end
      if (stage_q.op == OpUpdate) begin
        networks_o[NetW'(stage_q.net)].slot <= stage_q.param[3:0];
        plan_o.trained[stage_q.net]         <= 1'b1;
        if (!(ActorCritic && stage_q.delayed)) plan_o.prompt[stage_q.net] <= 1'b1;
      end
    end
  end

  // ---- Checks
  logic [15:0] beats_q;                        // of the image, still to come
  logic        taken;
  assign taken = read_rsp_i.valid && read_req_o.ready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                        beats_q <= '0;
    else if (read_req_o.cmd_valid && read_rsp_i.cmd_ready) beats_q <= read_req_o.cmd_beats;
    else if (taken)                     beats_q <= beats_q - 16'd1;
  end
  `JD_ASSUME_IF(StartWhenIdle_M, start_i, state_q == StIdle)
  `JD_ASSERT_STREAM(CommandStable_A, read_req_o.cmd_valid, read_rsp_i.cmd_ready,
                    {read_req_o.cmd_address, read_req_o.cmd_beats})
  `JD_ASSERT_IF(CommandFits_A, read_req_o.cmd_valid, read_req_o.cmd_beats != '0
                                            && 32'(read_req_o.cmd_beats) <= (MAX_BYTES + 63) / 64)
  `JD_ASSUME_IF(BeatOwed_M, taken, beats_q != '0 && read_rsp_i.last == (beats_q == 16'd1))
  `JD_ASSERT_IF(NoneLeft_A, done_o, beats_q == '0)
  `JD_ASSERT_IF(DoneOnce_A, done_o, state_d == StIdle)
  `JD_ASSERT_IF(OfKind_A, accepted && kind_q != KindHeader,
                index_q < (kind_q == KindNet ? nets_q
                           : kind_q == KindSlot ? slots_q : plan_o.stages))
  `JD_ASSERT_IF(InTables_A, accepted && kind_q != KindHeader,
                32'(nets_q) <= NetMax && 32'(slots_q) <= NetMax && 32'(plan_o.stages) <= StMax)
  `JD_ASSERT_IF(NoErrorKept_A, accepted || stage_write_o, error_q == '0 && error == '0)
  `JD_ASSERT_IF(UpdateFits_A, stage_write_o && updates, 32'(plan_o.updates) < UpdateMax)
  `JD_ASSERT_IF(NetOfProgram_A, stage_write_o && !losses, plan_o.nets[stage_q.net])
  `JD_ASSERT_IF(MarkInFrame_A, state_q == StMark && mark_left_q != '0, mark_q < plan_o.frame_rows)
endmodule : jd_learner_program
