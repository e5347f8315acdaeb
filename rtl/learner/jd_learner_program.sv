// SPDX-License-Identifier: Apache-2.0
//
// PROGRAM: reads a program image, checks it, and keeps what the engine needs of it.
//
// Streams  start_i with the image's address and size; records arrive beat by beat; done_o for one
//          clock with the first rule that is broken. Stages go to the pipelines' tables as they
//          pass. After an error the program is not usable.
// Timing   a network: the groups of its image; a stage: 5 clocks and a clock a row
//          of its result.
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
  output logic               cmd_valid_o,
  input  logic               cmd_ready_i,
  output logic [39:0]        cmd_address_o,
  output logic [15:0]        cmd_beats_o,
  input  logic               beat_valid_i,
  output logic               beat_ready_o,
  input  logic [511:0]       beat_data_i,
  input  logic [1:0]         beat_resp_i,
  input  logic               beat_last_i,
  // Stage tables of the pipelines.
  output logic               stage_write_o,
  output logic [STAGE_L-1:0] stage_index_o,
  output stage_t             stage_o,
  // The program.
  output logic [7:0]         stages_o,
  output logic [NetMax-1:0]  nets_o,           // networks it has
  output logic [NetMax-1:0]  targets_o,        // and those with a target
  output network_t           networks_o [NetMax],
  output slot_t              slots_o [NetMax],
  output logic [15:0]        state_words_o,    // S
  output logic [7:0]         state_rows_o,
  output logic [7:0]         state_o,          // vectors
  output logic [7:0]         next_state_o,
  output logic [7:0]         frame_rows_o,
  output logic [4:0]         updates_o,
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

  typedef enum logic [3:0] {
    StIdle, StCommand, StBeat, StHeader, StNet, StWalk, StOverlap, StSlot, StLook, StStage, StMark,
    StKeep, StDrain, StDone
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

  // Number of memory rows of n_out packed rows of n_in weights.
  function automatic logic [31:0] weight_rows(input logic [15:0] n_in, input logic [15:0] n_out);
    logic [4:0] log2_pitch;
    log2_pitch = 5'd2;
    for (int unsigned k = 2; k < 8; k++) if (n_in > (16'd1 << k)) log2_pitch = 5'(k + 1);
    if (n_in > 16'(P)) weight_rows = 32'(n_out) * ((32'(n_in) + 32'(P - 1)) >> LANE_L);
    else weight_rows = ((32'(n_out) << log2_pitch) + 32'(P - 1)) >> LANE_L;
  endfunction
  function automatic logic [15:0] vector_rows(input logic [15:0] words);
    return (words + 16'(P - 1)) >> LANE_L;
  endfunction
  function automatic logic bad_size(input logic [15:0] words);
    return words == '0 || words > 16'(DMax);
  endfunction

  // Header.
  logic [7:0]  header_error;
  logic [15:0] header_rows;
  logic [16:0] header_s_end, header_n_end;
  logic [31:0] want_bytes;
  always_comb begin
    header_rows  = vector_rows(beat_q[1][15:0]);
    header_s_end = 17'(beat_q[2][7:0]) + (17'(header_rows) << 1);
    header_n_end = 17'(beat_q[2][15:8]) + (17'(header_rows) << 1);
    want_bytes   = 32'd64 * (32'd1 + 32'(beat_q[0][15:8]) + 32'(beat_q[0][23:16]))
                   + 32'd32 * 32'(beat_q[0][7:0]);
    header_error = '0;
    if (beat_q[0][31:24] != '0 || beat_q[2][31:24] != '0 || beat_q[15:4] != '0) begin
      header_error = E_RESERVED;
    end else if (beat_q[0][7:0] == '0 || beat_q[0][7:0] > 8'(StMax) || beat_q[0][15:8] == '0
                 || beat_q[0][15:8] > 8'(NetMax) || beat_q[0][23:16] > 8'(NetMax)
                 || bad_size(beat_q[1][15:0]) || beat_q[1][31:16] != 16'd1
                 || beat_q[2][23:16] != 8'hFF || bytes_q != want_bytes) begin
      header_error = E_DIM;
    end else if (beat_q[3] > 32'd255 || beat_q[3] > 32'(ARows)
                 || 32'(header_s_end) > beat_q[3] || 32'(header_n_end) > beat_q[3]
                 || (header_s_end > 17'(beat_q[2][15:8]) && header_n_end > 17'(beat_q[2][7:0])))
    begin
      header_error = E_ROWS;
    end
  end

  // Network: what its record says, then the walk over its image says the rest.
  network_t    net_q;
  logic [7:0]  net_error;
  logic [1:0]  copies;                         // banks beside the online one
  logic [31:0] row_end, bias_end;
  assign copies   = beat_q[0][8] ? 2'd2 : 2'd0;
  assign row_end  = 32'(beat_q[1][15:0]) + 32'(beat_q[1][31:16]) * (32'(copies) + 32'd1);
  assign bias_end = 32'(beat_q[2][15:0]) + 32'(beat_q[2][31:16]) * (32'(copies) + 32'd1);
  always_comb begin
    net_error = '0;
    if (beat_q[0][31:9] != '0 || beat_q[3] != '0 || beat_q[15:10] != '0) begin
      net_error = E_RESERVED;
    end else if (beat_q[0][7:0] == '0 || beat_q[0][7:0] > 8'(LMax)) begin
      net_error = E_DIM;
    end
    for (int unsigned l = 0; l < LAYERS; l++) begin
      if (net_error == '0) begin
        if (8'(l) >= beat_q[0][7:0]) begin
          if (beat_q[4+l] != '0) net_error = E_RESERVED;
        end else if (bad_size(beat_q[4+l][15:0]) || bad_size(beat_q[4+l][31:16])) begin
          net_error = E_DIM;
        end
      end
    end
    if (net_error == '0) begin
      if (((beat_q[2][15:0] | beat_q[2][31:16]) & 16'(OB - 1)) != '0) net_error = E_ALIGN;
      else if (row_end > 32'(WRows) || bias_end > 32'(Biases))        net_error = E_ROWS;
    end
  end

  logic        walk_active, walk_last, unused_bias;
  logic [16:0] unused_row, walk_row_end, walk_bias_end, unused_bias_index;
  logic [($clog2(P / LW) > 0 ? $clog2(P / LW) : 1)-1:0] unused_sub;
  logic [LW-1:0] unused_mask;
  jd_learner_walk #(
    .P (P), .OB (OB), .LW (LW), .LMax (LAYERS), .RowW (16), .BiasW (16)
  ) u_walk (
    .clk_i, .rst_ni,
    .start_i       (state_q == StNet && net_error == 8'd0),
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

  logic [31:0]     groups_q, master_q;         // of this network; of all before it
  logic [NetW-1:0] other_q;
  logic            overlap;
  network_t        other;
  logic [31:0]     other_row_end, other_bias_end;
  assign other          = networks_o[other_q];
  assign other_row_end  = 32'(other.row_base)
                          + 32'(other.rows) * (other.has_target ? 32'd3 : 32'd1);
  assign other_bias_end = 32'(other.bias_base)
                          + 32'(other.biases) * (other.has_target ? 32'd3 : 32'd1);
  assign overlap = (32'(beat_q[1][15:0]) < other_row_end && 32'(other.row_base) < row_end)
                   || (32'(beat_q[2][15:0]) < other_bias_end && 32'(other.bias_base) < bias_end);

  // Slot.
  logic [7:0] slot_error;
  assign slot_error = beat_q[15:9] != '0 ? E_RESERVED : beat_q[0] > 32'd2 ? E_DIM : 8'd0;

  // Stage.
  stage_t       stage_q;
  network_t     stage_net_q;
  loss_param_t  loss;
  logic [7:0]   stage_error;
  logic         product, computes, updates, biased, update_seen_q, chain_q;
  logic [31:0]  stage_row_end;
  assign loss          = loss_param_t'(stage_q.param);
  assign product       = stage_q.op inside {OpDot, OpAxpy, OpOuter};
  assign computes      = product || stage_q.op == OpLossQ;
  assign updates       = stage_q.op inside {OpUpdate, OpTarget};
  assign biased        = stage_q.op inside {OpDot, OpOuter} && !stage_q.no_bias;
  assign stage_row_end = 32'(stage_q.row) + weight_rows(stage_q.n_in, stage_q.n_out);

  // The vectors of a stage: up to three that it reads, and its result.
  logic [3:0][7:0]  vector_row;
  logic [3:0][15:0] vector_words;
  logic             vector_outside;
  always_comb begin
    vector_row   = {stage_q.dst, 8'd0, stage_q.aux, stage_q.src};
    vector_words = '0;
    unique case (stage_q.op)
      OpDot:   vector_words = {stage_q.n_out + 16'(stage_q.offset), 32'd0, stage_q.n_in};
      OpAxpy:  vector_words = {stage_q.n_in, 16'd0, stage_q.act == ActRelu ? stage_q.n_in : 16'd0,
                               stage_q.n_out};
      OpOuter: vector_words = {32'd0, stage_q.n_in, stage_q.n_out};
      OpLossQ: begin
        vector_row   = {stage_q.dst, loss.chooser, loss.next, loss.value};
        vector_words = {stage_q.n_out, loss.mode == LOSS_DOUBLE ? stage_q.n_out : 16'd0,
                        stage_q.n_out, stage_q.n_out};
      end
      default: begin end
    endcase
    vector_outside = 1'b0;
    for (int unsigned v = 0; v < 4; v++) begin
      if (vector_words[v] != '0
          && 17'(vector_row[v]) + 17'(vector_rows(vector_words[v])) > 17'(frame_rows_o)) begin
        vector_outside = 1'b1;
      end
    end
  end

  function automatic logic bad_dependency(input logic [7:0] stage, input logic [7:0] id);
    return stage != NO_STAGE && stage >= id;
  endfunction

  always_comb begin
    stage_error = '0;
    if (!computes && !updates) begin
      stage_error = E_OPCODE;
    end else if (stage_q.reserved != '0 || stage_q.column
                 || (stage_q.chain && stage_q.op != OpOuter)
                 || (stage_q.op == OpLossQ && (loss.reserved != '0 || loss.mode > LOSS_DOUBLE))
                 || (stage_q.op == OpUpdate && stage_q.param[31:4] != '0)
                 || (stage_q.op == OpTarget && stage_q.param[31:17] != '0)) begin
      stage_error = E_RESERVED;
    end else if (stage_q.unit != '0 || stage_q.act > ActRelu
                 || (stage_q.op != OpLossQ && 8'(stage_q.net) >= nets_q)
                 || (product && bad_size(stage_q.n_in))
                 || (computes && bad_size(stage_q.n_out))
                 || (stage_q.op == OpLossQ && stage_q.n_out > 16'(P))
                 || (product && stage_q.target
                     && (stage_q.op == OpOuter || !stage_net_q.has_target))
                 || (stage_q.op == OpUpdate && 8'(stage_q.param[3:0]) >= slots_q)
                 || (stage_q.op == OpTarget
                     && (!stage_net_q.has_target || stage_q.param[16:0] == '0))
                 || (updates && updates_o == 5'(UpdateMax))) begin
      stage_error = E_DIM;
    end else if (bad_dependency(stage_q.dep_a, index_q) || bad_dependency(stage_q.dep_b, index_q)
                 || bad_dependency(stage_q.dep_c, index_q) || (computes && update_seen_q)
                 || (chain_q && stage_q.op != OpOuter)
                 || (stage_q.chain && index_q + 8'd1 == stages_o)) begin
      stage_error = E_DEP;
    end else if (biased && (stage_q.bias & 16'(OB - 1)) != '0) begin
      stage_error = E_ALIGN;
    end else if (product && (stage_q.row < stage_net_q.row_base
                 || stage_row_end > 32'(stage_net_q.row_base) + 32'(stage_net_q.rows))) begin
      stage_error = E_ROWS;
    end else if (biased && (stage_q.bias < stage_net_q.bias_base
                 || 32'(stage_q.bias) + 32'(stage_q.n_out)
                    > 32'(stage_net_q.bias_base) + 32'(stage_net_q.biases))) begin
      stage_error = E_ROWS;
    end else if (vector_outside
                 || (stage_q.offset != '0 && (stage_q.op inside {OpAxpy, OpLossQ}
                     || (stage_q.op == OpDot
                         && 16'(stage_q.offset[LANE_L-1:0]) + stage_q.n_out > 16'(P))))) begin
      stage_error = E_ROWS;
    end
  end

  // Rows of a frame that hold s, s' or the result of an earlier stage: a result may take none of
  // them. A result with an offset lies in one row.
  logic [255:0] written_q;
  logic [7:0]   mark_q, mark_left_q, result_first, result_rows;
  logic         clash;
  assign clash = mark_left_q != '0 && written_q[mark_q];
  always_comb begin
    result_first = stage_q.dst + (stage_q.op == OpDot ? 8'(stage_q.offset >> LANE_L) : 8'd0);
    unique case (stage_q.op)
      OpDot:   result_rows = stage_q.offset != '0 ? 8'd1 : 8'(vector_rows(stage_q.n_out));
      OpAxpy:  result_rows = 8'(vector_rows(stage_q.n_in));
      OpLossQ: result_rows = 8'd1;
      default: result_rows = 8'd0;
    endcase
  end

  logic kind_done;                             // the record was the last of its kind
  always_comb begin
    unique case (kind_q)
      KindHeader: kind_done = 1'b1;
      KindNet:    kind_done = index_q + 8'd1 == nets_q;
      KindSlot:   kind_done = index_q + 8'd1 == slots_q;
      default:    kind_done = index_q + 8'd1 == stages_o;
    endcase
  end

  always_comb begin
    state_d = state_q;
    error   = '0;
    unique case (state_q)
      StIdle: if (start_i) begin
        if (bytes_i < 32'd64 || bytes_i > 32'(MAX_BYTES)) begin
          error   = E_DIM;
          state_d = StDone;
        end else begin
          state_d = StCommand;
        end
      end
      StCommand: if (cmd_ready_i) state_d = StBeat;
      StBeat: if (beat_valid_i) begin
        if (beat_resp_i != 2'd0) begin
          error   = E_BUS_RD;
          state_d = beat_last_i ? StDone : StDrain;
        end else begin
          unique case (kind_q)
            KindHeader: state_d = StHeader;
            KindNet:    state_d = StNet;
            KindSlot:   state_d = StSlot;
            default:    state_d = StLook;
          endcase
        end
      end
      StHeader: begin
        error   = header_error;
        state_d = StBeat;
      end
      StNet: begin
        error   = net_error;
        state_d = StWalk;
      end
      StWalk: if (walk_active && walk_last) state_d = StOverlap;
      StOverlap: begin
        if (other_q == index_q[NetW-1:0]) begin
          if (walk_row_end > 17'(net_q.rows) || walk_bias_end > 17'(net_q.biases)
              || master_q + groups_q > 32'(Groups)) begin
            error = E_ROWS;
          end
          state_d = StBeat;
        end else if (overlap) begin
          error = E_ROWS;
        end
      end
      StSlot: begin
        error   = slot_error;
        state_d = StBeat;
      end
      StLook: state_d = StStage;
      StStage: begin
        error   = stage_error;
        state_d = StMark;
      end
      StMark: begin
        if (clash)                  error   = E_ROWS;
        else if (mark_left_q == '0) state_d = StKeep;
      end
      StKeep: state_d = kind_done ? StDone : half_q ? StBeat : StLook;
      StDrain: if (beat_valid_i && beat_last_i) state_d = StDone;
      default: state_d = StIdle;
    endcase
    if (error != '0 && state_q != StBeat && state_q != StIdle) state_d = last_q ? StDone : StDrain;
  end

  assign beat_ready_o  = state_q == StBeat || state_q == StDrain;
  assign cmd_valid_o   = state_q == StCommand;
  assign cmd_address_o = address_q;
  assign cmd_beats_o   = 16'((bytes_q + 32'd63) >> 6);
  assign busy_o        = state_q != StIdle;
  assign done_o        = state_q == StDone;
  assign error_o       = error_q;
  assign stage_write_o = state_q == StKeep;
  assign stage_index_o = index_q[STAGE_L-1:0];
  assign stage_o       = stage_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    if (state_q == StIdle && start_i) begin
      address_q     <= address_i;
      bytes_q       <= bytes_i;
      kind_q        <= KindHeader;
      index_q       <= '0;
      half_q        <= 1'b0;
      last_q        <= 1'b0;
      error_q       <= error;
      info0_o       <= '0;
      info1_o       <= '0;
      nets_o        <= '0;
      targets_o     <= '0;
      updates_o     <= '0;
      written_q     <= '0;
      update_seen_q <= 1'b0;
      chain_q       <= 1'b0;
      master_q      <= '0;
    end else if (error != '0) begin
      error_q <= error;
      info0_o <= error == E_BUS_RD ? '0 : 32'(index_q);
      info1_o <= error == E_BUS_RD ? 32'(beat_resp_i) : 32'(kind_q);
    end
    if (state_q == StBeat && beat_valid_i) begin
      beat_q <= beat_data_i;
      last_q <= beat_last_i;
      half_q <= 1'b0;
    end
    // The next record of the same kind, or the first of the next kind that has any.
    if (error == '0 && (state_q inside {StHeader, StSlot, StKeep}
                        || (state_q == StOverlap && state_d == StBeat))) begin
      index_q <= kind_done ? '0 : index_q + 8'd1;
      if (kind_done) begin
        unique case (kind_q)
          KindHeader: kind_q <= KindNet;
          KindNet:    kind_q <= slots_q == '0 ? KindStage : KindSlot;
          default:    kind_q <= KindStage;
        endcase
      end
    end
    if (state_q == StHeader) begin
      stages_o      <= beat_q[0][7:0];
      nets_q        <= beat_q[0][15:8];
      slots_q       <= beat_q[0][23:16];
      state_words_o <= beat_q[1][15:0];
      state_rows_o  <= header_rows[7:0];
      state_o       <= beat_q[2][7:0];
      next_state_o  <= beat_q[2][15:8];
      frame_rows_o  <= beat_q[3][7:0];
      for (int unsigned r = 0; r < 256; r++) begin
        written_q[r] <= (17'(r) >= 17'(beat_q[2][7:0]) && 17'(r) < header_s_end)
                        || (17'(r) >= 17'(beat_q[2][15:8]) && 17'(r) < header_n_end);
      end
    end
    if (state_q == StBeat) begin
      net_q.layers      <= beat_data_i[32*4+:32*LAYERS];
      net_q.layer_count <= beat_data_i[7:0];
      net_q.has_target  <= beat_data_i[8];
      net_q.row_base    <= beat_data_i[47:32];
      net_q.rows        <= beat_data_i[63:48];
      net_q.bias_base   <= beat_data_i[79:64];
      net_q.biases      <= beat_data_i[95:80];
      net_q.slot        <= '0;
      net_q.beats       <= '0;
      net_q.master_base <= '0;
    end
    if (state_q == StNet) begin
      groups_q <= '0;
      other_q  <= '0;
    end
    if (state_q == StWalk && walk_active) groups_q <= groups_q + 32'd1;
    if (state_q == StOverlap) begin
      if (other_q != index_q[NetW-1:0]) begin
        other_q <= other_q + 1'b1;
      end else begin
        networks_o[other_q]             <= net_q;
        networks_o[other_q].beats       <= 16'(groups_q / FILL);
        networks_o[other_q].master_base <= master_q[23:0];
        nets_o[other_q]                 <= 1'b1;
        targets_o[other_q]              <= net_q.has_target;
        master_q                        <= master_q + groups_q;
      end
    end
    if (state_q == StSlot) slots_o[index_q[NetW-1:0]] <= beat_q[8:0];
    if (state_q == StLook) begin
      stage_q     <= half_q ? beat_q[15:8] : beat_q[7:0];
      stage_net_q <= networks_o[half_q ? beat_q[8][5+:NetW] : beat_q[0][5+:NetW]];
    end
    if (state_q == StStage) begin
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
      update_seen_q <= update_seen_q || updates;
      if (updates) begin
        updates_o <= updates_o + 5'd1;
        update_o[updates_o[3:0]] <= '{
          is_target: stage_q.op == OpTarget,
          net:       stage_q.net,
          slot:      stage_q.param[3:0],
          polyak:    stage_q.param[16],
          period:    stage_q.param[15:0],
          tau:       stage_q.tau
        };
      end
      if (stage_q.op == OpUpdate) networks_o[NetW'(stage_q.net)].slot <= stage_q.param[3:0];
    end
  end
endmodule : jd_learner_program
