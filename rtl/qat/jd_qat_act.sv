// SPDX-License-Identifier: Apache-2.0
//
// Chooses an action: moves a state from memory into the slot for acting, runs the actor, adds
// noise, and writes the action to memory.
//
//   fetch:  rows of the state -> quantizer -> X of the slot for acting, in all cores
//   choose: (pass) -> the actor's last line -> noise -> row of the action
//
// Streams  fetch_i, choose_i: high for one clock while idle_o, begin one of the two parts. The
//          settings hold until done_o, which is high for one clock with the first error response of
//          the part's transfer. x_line_i: the place of X, valid with fetch_i, and from choose_i to
//          the pass.
//          load_*: a transfer of jd_qat_load and its rows. line_*: lines into the slots of all
//          cores.
//          pass: to jd_qat_cores; with beside_i the acting vector is part of a pass of the user.
//          mu_*: the actor's last line. stop_i ends a part early: done_o comes when the transfer is
//          over. A pass that runs goes on, and the user clears the cores.
// Timing   A row of the state takes 3 clocks. The write of an action without noise is requested in
//          the clock after its line came.
// Numbers  the words of a state are stored unchanged, or in half mode as S16(R(x, shift 0)) in the
//          lower halves and 0 in the upper ones; other words of X are 0. over_o counts the words
//          that saturated.
// Source   FIXAR V-A (inference); docs/qat.md (INFER). Golden model: models/qat/engine.py, _infer.
`include "jd_assert.svh"
module jd_qat_act
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw       = 16,           // as jd_qat_top
  parameter  int unsigned Slots    = 64,
  parameter  int unsigned ActLines = 160,
  localparam int unsigned RowsW    = 18,
  localparam int unsigned CountW   = $clog2(Lw + 1)
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  output logic                      idle_o,
  input  logic                      fetch_i,
  input  logic                      choose_i,
  input  logic                      beside_i,       // no pass
  input  logic                      stop_i,
  output logic                      done_o,
  output logic [1:0]                response_o,
  // Settings
  input  logic [39:0]               state_i,        // addresses
  input  logic [39:0]               action_i,
  input  logic                      noisy_i,
  input  logic                      half_i,
  input  logic                      watch_i,
  input  logic                      paper_i,        // each core takes all columns
  input  logic [SHIFT_W-1:0]        shift_i,        // of tensor 0
  input  table_t                    table_i,
  input  logic [PLACE_W-1:0]        x_line_i,       // of the slot: X
  // Transfers
  output logic                      load_read_o,
  output logic                      load_write_o,
  output logic [39:0]               load_address_o,
  output logic [RowsW-1:0]          load_rows_o,
  output logic [ROWS_W-1:0]         load_words_o,
  input  logic                      load_done_i,
  input  logic [1:0]                load_response_i,
  input  logic                      row_valid_i,
  output logic                      row_ready_o,
  input  logic [Lw-1:0][WORD_W-1:0] row_data_i,
  output logic                      row_valid_o,
  output logic [Lw-1:0][WORD_W-1:0] row_data_o,
  // Slots
  output logic                      line_valid_o,
  input  logic                      line_ready_i,
  output logic                      seen_o,         // line_data_o is monitored
  output logic [CountW-1:0]         over_o,
  output logic [ADDRESS_W-1:0]      line_address_o,
  output logic [Lw-1:0][WORD_W-1:0] line_data_o,
  input  logic                      mu_valid_i,
  input  logic [Lw-1:0][WORD_W-1:0] mu_i,
  // Pass
  output logic                      pass_valid_o,
  input  logic                      pass_ready_i,
  output pass_t                     pass_o,
  // Noise
  output logic                      noise_start_o,
  input  logic                      noise_ready_i,
  output logic                      noise_valid_o,
  output logic [Lw-1:0][WORD_W-1:0] noise_data_o,
  input  logic                      noise_valid_i,
  input  logic [Lw-1:0][WORD_W-1:0] noise_data_i
);
  localparam logic [ADDRESS_W-1:0] ACTING = ADDRESS_W'(Slots * ActLines);

  typedef enum logic [2:0] {
    StIdle, StState, StQuantize, StStore, StPass, StLine, StNoise, StAction
  } state_t;
  state_t     state_q, state_d;
  logic       first_q, enters;                     // first clock of a state
  logic       failed_q;
  logic [1:0] response_q;

  // ---- The state: a row, its words beyond S and beyond the transfer 0; quantized; stored
  logic [Lw-1:0][WORD_W-1:0] row_q;
  logic [Lw-1:0][HALF_W-1:0] stored;
  logic [Lw-1:0]             over, unused_valid;
  logic [DIM_W-1:0]          left_q;               // words of the state from this row on
  logic [PLACE_W-1:0]        lines_q;              // of X to store
  logic                      loaded_q;             // the state's transfer is over
  for (genvar j = 0; j < Lw; j++) begin : gen_word
    jd_fixed_round #(
      .InW      (WORD_W),
      .OutW     (HALF_W),
      .ShiftMax (16),
      .Latency  (1)
    ) u_quantizer (
      .clk_i, .rst_ni,
      .valid_i     (state_q == StQuantize),
      .value_i     (row_q[j]),
      .shift_i     (shift_i),
      .valid_o     (unused_valid[j]),
      .result_o    (stored[j]),
      .saturated_o (over[j])
    );
    assign line_data_o[j] = half_i ? {HALF_W'(0), stored[j]} : row_q[j];
  end
  logic stores;
  assign stores       = state_q == StStore && line_ready_i;
  assign line_valid_o = state_q == StStore;
  assign row_ready_o  = state_q == StState;
  assign seen_o       = stores && watch_i && !half_i;
  always_comb begin
    over_o = '0;
    for (int unsigned j = 0; j < Lw; j++) over_o = over_o + CountW'(over[j] && stores && half_i);
  end

  // ---- The pass, and the action
  logic [ADDRESS_W-1:0]      address_q;
  logic [Lw-1:0][WORD_W-1:0] action_q;
  always_comb begin
    pass_o            = '0;
    pass_o.pass       = PassFw;
    pass_o.half       = half_i;
    pass_o.watch      = watch_i;
    pass_o.il         = !paper_i;
    pass_o.acting     = 1'b1;
    pass_o.state      = x_line_i;
    pass_o.last_layer = 2'(table_i.counts[0] - 1'b1);
  end
  assign pass_valid_o   = state_q == StPass && !stop_i;
  assign noise_start_o  = noisy_i && enters && state_d == StLine;
  assign line_address_o = address_q;
  assign noise_valid_o  = state_q == StNoise && first_q && noise_ready_i;
  assign noise_data_o   = action_q;
  assign row_valid_o    = state_q == StAction;
  assign row_data_o     = action_q;

  // ---- Its course
  assign enters         = state_d != state_q;
  assign idle_o         = state_q == StIdle;
  assign load_read_o    = idle_o && fetch_i;
  assign load_write_o   = enters && state_d == StAction;
  assign load_address_o = idle_o ? state_i : action_i;
  assign load_rows_o    = idle_o ? RowsW'(table_i.state_lines) : RowsW'(1);
  assign load_words_o   = idle_o ? ROWS_W'(Lw) : table_i.actions;
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle: if (fetch_i) state_d = StState;
              else if (choose_i) state_d = beside_i ? StLine : StPass;
      StState: begin                               // rows of the transfer, then zeros
        if (row_valid_i || (loaded_q && lines_q != '0 && !failed_q && !stop_i)) begin
          state_d = StQuantize;
        end else if (loaded_q) begin
          state_d = StIdle;
        end
      end
      StQuantize: state_d = StStore;
      StStore: if (line_ready_i) state_d = StState;
      StPass: if (stop_i) state_d = StIdle;
              else if (pass_ready_i) state_d = StLine;
      StLine: if (stop_i) state_d = StIdle;
              else if (mu_valid_i) state_d = noisy_i ? StNoise : StAction;
      StNoise: if (noise_valid_i) state_d = StAction;
      StAction: if (load_done_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    state_q <= rst_ni ? state_d : StIdle;
    done_o  <= rst_ni && state_q != StIdle && state_d == StIdle;
    first_q <= enters || (state_q == StNoise && first_q && !noise_valid_o);
    if (idle_o) begin
      left_q     <= table_i.states;
      lines_q    <= table_i.input_lines;
      loaded_q   <= 1'b0;
      failed_q   <= 1'b0;
      address_q  <= ACTING + ADDRESS_W'(x_line_i);
      if (fetch_i || choose_i) response_q <= '0;
    end else begin
      if (load_done_i) begin
        loaded_q   <= 1'b1;
        failed_q   <= load_response_i != '0;
        response_q <= load_response_i;
      end
      if (stores) begin
        lines_q   <= lines_q - 1'b1;
        left_q    <= 32'(left_q) > Lw ? left_q - DIM_W'(Lw) : '0;
        address_q <= address_q + 1'b1;
      end
    end
    if (state_q == StState) begin
      for (int unsigned j = 0; j < Lw; j++) begin
        row_q[j] <= row_valid_i && DIM_W'(j) < left_q ? row_data_i[j] : '0;
      end
    end
    if (state_q == StLine && mu_valid_i)     action_q <= mu_i;
    if (state_q == StNoise && noise_valid_i) action_q <= noise_data_i;
  end
  assign response_o = response_q;
  logic unused;
  assign unused = ^unused_valid;

  `JD_ASSUME_IF(OneAtATime_M, fetch_i || choose_i, idle_o && !(fetch_i && choose_i))
endmodule : jd_qat_act
