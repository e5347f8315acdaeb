// SPDX-License-Identifier: Apache-2.0
//
// Moves parameter images between memory and the master memories (LOAD, STORE), and gradient images
// between memory and the pipelines' gradient memories (APPLY, GRADS).
//
// Streams  start_i begins a job over the networks and kinds of the masks: network by network, and
//          each kind is a transfer of its own. done_o, for one clock, says how the job ended.
//          Loaded weights and targets also go to the pipelines, as a pipe. Gradients come as a
//          pipe: a read, then valid with the words, after any fixed latency.
// Timing   LOAD: two clocks per group of LW words. STORE: two clocks per group and one more per
//          beat. Gradients: one clock per group, and the pipe's latency and three clocks more per
//          beat. One transfer at a time.
// Numbers  bits, unchanged; padding words become +0. A LOAD of weights also initialises the kinds
//          that are not in its mask: m = v = +0, scalars to their start, target to the weights.
// Source   learner 4.1. Golden model: models/learner/engine.py.
`include "jd_assert.svh"
module jd_learner_image
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned P       = 16,
  parameter  int unsigned OB      = 4,
  parameter  int unsigned LW      = 4,
  parameter  int unsigned NetMax  = 6,
  parameter  int unsigned MasterW = 12,
  localparam int unsigned NetW    = $clog2(NetMax),
  localparam int unsigned SubW    = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic                    start_i,
  input  logic                    store_i,          // held until done_o, as the masks
  input  logic                    gradient_i,       // of gradients; the kinds' mask is 1
  input  logic [7:0]              due_mask_i,       // networks that have some; others store +0
  input  logic [7:0]              net_mask_i,
  input  logic [4:0]              kind_mask_i,
  input  logic [39:0]             address_i,        // with start_i
  input  logic                    stop_i,           // level: end after the command that runs
  output logic                    busy_o,
  output logic                    done_o,
  output logic [1:0]              response_o,       // with done_o: 0, or the bus's error
  // The present network.
  output logic [NetW-1:0]         net_o,
  input  network_t                network_i,
  input  logic [31:0]             start_lr_i,       // the rate in its optimizer slot
  input  logic                    bank_i,           // its current target bank
  input  logic                    counts_i,         // the program has delayed stages
  input  update_state_t                scalars_i,
  output logic                    scalars_write_o,
  output update_state_t                scalars_o,
  // Memory.
  output read_req_t               read_req_o,
  input  read_rsp_t               read_rsp_i,
  output write_req_t              write_req_o,
  input  write_rsp_t              write_rsp_i,
  // Master memories.
  output logic [3:0]              master_read_o,
  output logic [MasterW-1:0]      master_addr_o,    // of reads and writes
  input  logic [3:0][LW-1:0][31:0] master_data_i,
  output logic [3:0]              master_write_o,
  output logic [3:0][LW-1:0][31:0] master_write_data_o,
  // Gradients, from the pipelines.
  output logic                    grad_read_o,
  output logic                    grad_bias_o,
  output logic [15:0]             grad_row_o,
  output logic [SubW-1:0]         grad_sub_o,
  output logic [15:0]             grad_bias_index_o,
  input  logic                    grad_valid_i,
  input  logic [LW-1:0][31:0]     grad_data_i,
  // Weights, to the pipelines.
  output logic                    weight_valid_o,
  output logic                    weight_gradient_o,
  output logic                    weight_bias_o,
  output logic [15:0]             weight_row_o,
  output logic [SubW-1:0]         weight_sub_o,
  output logic [15:0]             weight_bias_index_o,
  output logic [LW-1:0]           weight_mask_o,
  output logic [LW-1:0][31:0]     weight_data_o
);
  localparam int unsigned FILL  = 16 / LW;      // groups of a beat
  localparam int unsigned FillW = $clog2(FILL) > 0 ? $clog2(FILL) : 1;

  typedef enum logic [3:0] {
    StIdle, StNext, StCommand, StBeat, StGroup, StTarget, StRead, StTake, StSend, StAnswer, StDone,
    StGather
  } state_e;
  state_e           state_q, state_d;
  logic [NetW-1:0]  net_q;
  logic [2:0]       kind_q;
  logic [39:0]      address_q;
  logic [MasterW-1:0] master_q;
  logic [15:0]      beats_left_q;
  logic [FillW-1:0] fill_q;
  logic [FILL-1:0]  take_q;                     // STORE: this group of the beat comes now
  logic [1:0]       response_q;
  logic [511:0]     beat_q;
  logic             beat_last_q;

  logic        wanted, answered, last_net, last_kind, beat_done;
  logic        group_done;                      // a register: the present group is taken
  logic        copy_target, scalars;            // registers: a kind is present for one clock before
  state_e      fill;                            // STORE: where a beat is filled
  logic [15:0] beats;
  assign wanted      = net_mask_i[3'(net_q)] && kind_mask_i[kind_q];
  assign answered    = state_q == StAnswer && (!store_i || write_rsp_i.done_valid);
  assign last_net    = net_q == NetW'(NetMax - 1);
  assign last_kind   = kind_q == 3'(KIND_SCALARS);
  assign beats       = scalars ? 16'd1 : network_i.beats;
  assign fill        = gradient_i ? StGather : StRead;
  assign beat_done   = fill_q == FillW'(FILL - 1);

  // STORE of gradients: reads of a beat's groups, and the groups that return.
  logic                    asking_q, ask, gathered;
  logic [FillW-1:0]        gather_q;
  logic [FILL-1:0][LW-1:0] masks_q;
  logic                    due_q;

  // The walk gives masks and places; it moves with the groups.
  logic          walk_start_q, walk_active, walk_last, walk_bias;
  logic [16:0]   walk_row, walk_bias_index, unused_row_end, unused_bias_end;
  logic [LW-1:0] walk_mask;
  always_ff @(posedge clk_i) begin
    walk_start_q <= state_q == StCommand && !scalars
                    && (store_i ? write_rsp_i.cmd_ready : read_rsp_i.cmd_ready);
  end
  jd_learner_walk #(
    .P (P), .OB (OB), .LW (LW), .LMax (LAYERS), .RowW (16), .BiasW (16)
  ) u_walk (
    .clk_i, .rst_ni,
    .start_i       (walk_start_q),
    .layers_i      (network_i.layers),
    .layer_count_i (network_i.layer_count),
    .row_base_i    (network_i.row_base),
    .bias_base_i   (network_i.bias_base),
    .next_i        ((group_done || ask) && walk_active),
    .active_o      (walk_active),
    .last_o        (walk_last),
    .bias_o        (walk_bias),
    .row_o         (walk_row),
    .sub_o         (weight_sub_o),
    .bias_index_o  (walk_bias_index),
    .mask_o        (walk_mask),
    .row_end_o     (unused_row_end),
    .bias_end_o    (unused_bias_end)
  );

  assign ask      = asking_q && walk_active;
  assign gathered = state_q == StGather && grad_valid_i && gather_q == FillW'(FILL - 1);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (start_i) state_d = StNext;
      StNext: begin
        if (response_q != 2'd0 || stop_i) state_d = StDone;
        else if (wanted)                  state_d = StCommand;
        else if (last_net && last_kind)   state_d = StDone;
      end
      StCommand: begin
        if (store_i && write_rsp_i.cmd_ready)     state_d = scalars ? StSend : fill;
        else if (!store_i && read_rsp_i.cmd_ready) state_d = StBeat;
      end
      // LOAD: a beat, then its groups; the rest of a command after an error is dropped.
      StBeat: begin
        if (read_rsp_i.valid) begin
          if (read_rsp_i.resp != 2'd0 || response_q != 2'd0) begin
            if (read_rsp_i.last) state_d = StAnswer;
          end else begin
            state_d = scalars ? StAnswer : StGroup;
          end
        end
      end
      StGroup: begin
        if (copy_target) state_d = StTarget;
        else             state_d = !beat_done ? StGroup : beat_last_q ? StAnswer : StBeat;
      end
      StTarget: state_d = !beat_done ? StGroup : beat_last_q ? StAnswer : StBeat;
      // STORE: groups of a beat, then the beat.
      StRead: state_d = StTake;
      StTake: state_d = beat_done ? StSend : StRead;
      StGather: if (gathered) state_d = StSend;
      StSend: begin
        if (write_req_o.valid && write_rsp_i.ready) begin
          state_d = beats_left_q == 16'd1 ? StAnswer : fill;
        end
      end
      StAnswer: if (answered) state_d = last_net && last_kind ? StDone : StNext;
      default: state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    group_done  <= rst_ni && (state_q == StRead || (state_q == StGroup && copy_target)
                              || (state_q == StBeat && read_rsp_i.valid && !copy_target && !scalars
                                  && read_rsp_i.resp == 2'd0 && response_q == 2'd0)
                              || (state_q inside {StGroup, StTarget} && !copy_target
                                  && !beat_done));
    scalars     <= kind_q == 3'(KIND_SCALARS);
    copy_target <= kind_q == 3'(KIND_WEIGHTS) && !kind_mask_i[KIND_TARGET] && network_i.has_target
                   && !gradient_i;
    if (state_q == StIdle && start_i) begin
      net_q      <= '0;
      kind_q     <= '0;
      address_q  <= address_i;
      response_q <= 2'd0;
    end
    if ((state_q == StNext && !wanted) || answered) begin
      kind_q <= last_kind ? 3'd0 : kind_q + 3'd1;
      if (last_kind && !last_net) net_q <= net_q + 1'b1;
    end
    if (state_q == StCommand && state_d != StCommand) begin
      address_q    <= address_q + {18'd0, beats, 6'd0};
      beats_left_q <= beats;
      master_q     <= network_i.master_base[MasterW-1:0];
      fill_q       <= '0;
    end
    if (state_q == StBeat && read_rsp_i.valid) begin
      beat_q      <= read_rsp_i.data;
      beat_last_q <= read_rsp_i.last;
      if (read_rsp_i.resp != 2'd0 && response_q == 2'd0) response_q <= read_rsp_i.resp;
    end
    if (state_q == StCommand) begin   // STORE overwrites it with the groups of other kinds
      beat_q <= 512'({scalars_i.waited, scalars_i.since, scalars_i.lr, scalars_i.c2,
                      scalars_i.c1});
    end
    for (int unsigned f = 0; f < FILL; f++) begin
      take_q[f] <= state_q == StTake && fill_q == FillW'(f);
      for (int unsigned k = 0; k < 4; k++) begin
        if (take_q[f] && kind_q == 3'(k)) beat_q[32*LW*f+:32*LW] <= master_data_i[k];
      end
    end
    due_q <= due_mask_i[3'(net_q)];
    if (state_q != StGather) begin
      gather_q <= '0;
    end else begin
      if (grad_valid_i) gather_q <= gather_q + 1'b1;
    end
    if (state_d != StGather)       asking_q <= 1'b0;
    else if (state_q != StGather)  asking_q <= 1'b1;
    else if (ask && beat_done)     asking_q <= 1'b0;
    if (ask) masks_q[fill_q] <= walk_mask & {LW{due_q}};
    if (state_q == StGather && grad_valid_i) begin
      for (int unsigned l = 0; l < LW; l++) begin
        beat_q[32*(LW*32'(gather_q)+l)+:32] <= masks_q[gather_q][l] ? grad_data_i[l] : '0;
      end
    end
    if (write_req_o.valid && write_rsp_i.ready) beats_left_q <= beats_left_q - 16'd1;
    if (state_q == StAnswer && store_i && write_rsp_i.done_valid
        && write_rsp_i.done_resp != 2'd0) begin
      response_q <= write_rsp_i.done_resp;
    end
    if (group_done || ask) begin
      fill_q   <= beat_done ? '0 : fill_q + 1'b1;
      master_q <= master_q + 1'b1;
    end
  end

  // A group of the beat, without its padding.
  logic [LW-1:0][31:0] group;
  always_comb begin
    for (int unsigned l = 0; l < LW; l++) begin
      group[l] = walk_mask[l] ? beat_q[32*(LW*32'(fill_q)+l)+:32] : '0;
    end
  end
  always_comb begin
    master_write_o      = '0;
    master_write_data_o = '0;
    for (int unsigned k = 0; k < 4; k++) begin
      if (kind_q == 3'(k)) begin
        master_write_o[k]      = state_q == StGroup && !gradient_i;
        master_write_data_o[k] = group;
      end else if (kind_q == 3'(KIND_WEIGHTS)) begin
        master_write_o[k]      = state_q == StGroup && !kind_mask_i[k] && !gradient_i;
        master_write_data_o[k] = k == KIND_TARGET ? group : '0;
      end
    end
  end
  assign master_read_o = {4{state_q == StRead}};
  assign master_addr_o = master_q;

  // Row and bias of the bank: online, or the current target's.
  logic        target;
  logic [15:0] bank_rows, bank_biases;
  assign target      = state_q == StTarget || kind_q == 3'(KIND_TARGET);
  assign bank_rows   = !target ? '0 : bank_i ? network_i.rows << 1 : network_i.rows;
  assign bank_biases = !target ? '0 : bank_i ? network_i.biases << 1 : network_i.biases;
  assign weight_valid_o = state_q == StTarget
      || (state_q == StGroup && (kind_q == 3'(KIND_WEIGHTS) || kind_q == 3'(KIND_TARGET)));
  assign weight_gradient_o   = weight_valid_o && gradient_i;
  assign grad_read_o         = ask;
  assign grad_bias_o         = walk_bias;
  assign grad_row_o          = walk_row[15:0];
  assign grad_sub_o          = weight_sub_o;
  assign grad_bias_index_o   = walk_bias_index[15:0];
  assign weight_bias_o       = walk_bias;
  assign weight_row_o        = walk_row[15:0] + bank_rows;
  assign weight_bias_index_o = walk_bias_index[15:0] + bank_biases;
  assign weight_mask_o       = walk_mask;
  assign weight_data_o       = group;

  assign scalars_write_o = (state_q == StBeat && read_rsp_i.valid && read_rsp_i.resp == 2'd0
                            && scalars)
      || (walk_start_q && !store_i && !gradient_i && kind_q == 3'(KIND_WEIGHTS)
          && !kind_mask_i[KIND_SCALARS]);
  assign scalars_o = scalars
      ? '{c1: read_rsp_i.data[31:0], c2: read_rsp_i.data[63:32], lr: read_rsp_i.data[95:64],
          since: read_rsp_i.data[127:96],
          waited: counts_i && net_q == '0 ? read_rsp_i.data[159:128] : '0}
      : '{c1: '0, c2: '0, lr: start_lr_i, since: '0,
          waited: '0};

  assign busy_o                  = state_q != StIdle;
  assign done_o                  = state_q == StDone;
  assign response_o              = response_q;
  assign net_o                   = net_q;
  assign read_req_o.cmd_valid    = state_q == StCommand && !store_i;
  assign write_req_o.cmd_valid   = state_q == StCommand && store_i;
  assign read_req_o.cmd_address  = address_q;
  assign read_req_o.cmd_beats    = beats;
  assign write_req_o.cmd_address = address_q;
  assign write_req_o.cmd_beats   = beats;
  assign write_req_o.strb        = '1;
  assign read_req_o.ready        = state_q == StBeat;
  assign write_req_o.valid       = state_q == StSend && take_q == '0;
  assign write_req_o.data        = beat_q;
  assign write_req_o.done_ready  = state_q == StAnswer && store_i;

  `JD_ASSERT(GroupDone_A, group_done == (state_q inside {StTarget, StTake}
                                         || (state_q == StGroup && !copy_target)))
  `JD_ASSERT_IF(WalkMatchesBeats_A, group_done, walk_active)
  `JD_ASSERT_IF(WalkEndsWithImage_A, group_done && walk_last, beat_done)
endmodule : jd_learner_image
