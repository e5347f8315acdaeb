// SPDX-License-Identifier: Apache-2.0
//
// Runs lists: reads them ahead, cuts them into requests, and says how each ended.
//
// Streams  job: lists, and ends of other jobs, in ring order. cmd, beat: of the read queue. request: to
//          the front; with taken, refused_i and abort_i belong to it. end: in ring order.
// Timing   a request with its priors per clock; two clocks from list to list. Up to 16 lists wait; their
//          beats are asked for in pieces of 16, as soon as the read queue takes them.
// Numbers  a slot has 16 bytes; a list begins at a beat of four. A list that cannot be read ends with the
//          first slot that was not taken.
// Source   docs/mcts.md (jobs). Golden model: models/mcts/engine.py, _list.
`include "jd_assert.svh"
module jd_mcts_lists
  import jd_mcts_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_BUS_WR,
         jd_engine_header_map_pkg::E_TIMEOUT;
#(
  parameter int unsigned F = 3            // children, 2..32
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic                      clear_i,         // soft reset
  input  logic                      stop_i,          // end all lists
  input  logic                      job_valid_i,
  output logic                      job_ready_o,
  input  job_t                      job_i,
  output logic                      cmd_valid_o,
  input  logic                      cmd_ready_i,
  output logic [39:0]               cmd_address_o,
  output logic [15:0]               cmd_beats_o,
  input  logic                      beat_valid_i,
  output logic                      beat_ready_o,
  input  logic [511:0]              beat_i,
  input  logic [1:0]                beat_response_i,
  input  logic                      read_idle_i,
  output logic                      request_valid_o,
  input  logic                      request_ready_i,
  output logic [127:0]              request_o,
  output logic [F-1:0][PRIOR_W-1:0] request_priors_o,
  output logic                      request_cut_o,
  output logic [39:0]               request_root_o,
  output logic [LIST_W-1:0]         request_list_o,
  input  logic                      refused_i,
  input  logic                      abort_i,
  input  logic [1:0]                abort_response_i,
  output logic                      end_valid_o,
  input  logic                      end_ready_i,
  output end_t                      end_o,
  output logic                      waits_o,        // a list runs, and its next request is not here
  output logic                      idle_o
);
  localparam int unsigned PIECE = 16;                // beats
  localparam int unsigned JobW  = $bits(job_t);
  localparam logic [2:0]  EXT   = 3'((F + 7) / 8);   // slots of priors

  // ---- Jobs wait here, and lists beside them to be read
  logic       work_ready, fetch_ready, work_valid, work_take, fetch_valid, fetch_take;
  job_t       work;
  logic [4:0] unused_work_count, unused_fetch_count;
  logic [54:0] fetch;
  logic [14:0] job_beats;
  assign job_ready_o = work_ready && fetch_ready;
  assign job_beats   = 15'((job_i.slots + 17'd3) >> 2);
  jd_stream_fifo #(.Width (JobW), .Depth (16)) u_work (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (job_valid_i && fetch_ready),
    .in_ready_o  (work_ready),
    .in_data_i   (job_i),
    .out_valid_o (work_valid),
    .out_ready_i (work_take),
    .out_data_o  (work),
    .count_o     (unused_work_count)
  );
  jd_stream_fifo #(.Width (55), .Depth (16)) u_fetch (
    .clk_i, .rst_ni,
    .clear_i     (clear_i || stop_i),
    .in_valid_i  (job_valid_i && job_i.list && work_ready),
    .in_ready_o  (fetch_ready),
    .in_data_i   ({job_beats, job_i.address}),
    .out_valid_o (fetch_valid),
    .out_ready_i (fetch_take),
    .out_data_o  (fetch),
    .count_o     (unused_fetch_count)
  );

  // ---- Read ahead: a command is offered until it is taken
  logic        piece_valid_q;
  logic [39:0] address_q;
  logic [14:0] unread_q;
  logic        piece_goes;
  assign cmd_valid_o   = piece_valid_q;
  assign cmd_address_o = address_q;
  assign cmd_beats_o   = unread_q > 15'(PIECE) ? 16'(PIECE) : 16'(unread_q);
  assign piece_goes    = piece_valid_q && cmd_ready_i;
  assign fetch_take    = !piece_valid_q && !stop_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      piece_valid_q <= 1'b0;
    end else if (piece_valid_q) begin
      if (piece_goes) piece_valid_q <= unread_q > 15'(PIECE) && !stop_i && !clear_i;
    end else begin
      piece_valid_q <= fetch_valid && !stop_i && !clear_i;
    end
    if (!piece_valid_q) begin
      {unread_q, address_q} <= fetch;
    end else if (piece_goes) begin
      unread_q  <= unread_q - 15'(PIECE);
      address_q <= address_q + 40'(PIECE * 64);
    end
  end

  // ---- The list that runs
  typedef enum logic [1:0] {StIdle, StRun, StDrop, StEnd} state_t;
  state_t       state_q;
  job_t         job_q;
  logic [16:0]  left_q, at_q;               // slots
  logic [14:0]  beats_q;                    // of the list that the window has not had
  logic [31:0]  executed_q;
  logic [15:0]  refused_q;
  logic [7:0]   error_q;
  logic [1:0]   response_q;

  // A window of two beats; the next slot is in the first of them, or that one is spent.
  logic [1:0][511:0] window_q;
  logic [1:0][1:0]   faults_q;
  logic [1:0]        there_q;
  logic [3:0]        place_q;
  logic [2:0]        take, take_all;
  logic [3:0]        after, after_one, after_all, next_place;
  logic              has_ext, short_all, fits, spent, broken, offered, taken, shift, load, whole;
  logic [1:0]        fault;
  logic [1023:0]     aligned;
  assign aligned = 1024'({window_q[1], window_q[0]} >> {place_q[1:0], 7'd0});
  assign request_o        = aligned[127:0];
  assign request_priors_o = aligned[128+:F*PRIOR_W];
  assign request_root_o   = job_q.root;
  assign request_list_o   = job_q.job;
  // A request with priors and one without, side by side, while the request says which it is.
  assign has_ext    = aligned[7];
  assign short_all  = left_q[16:3] == '0 && left_q[2:0] < 3'd1 + EXT;
  assign take_all   = short_all ? left_q[2:0] : 3'd1 + EXT;
  assign after_one  = place_q + 4'd1;
  assign after_all  = place_q + 4'(take_all);
  assign request_cut_o = has_ext && short_all;
  assign take    = has_ext ? take_all : 3'd1;
  assign after   = has_ext ? after_all : after_one;
  assign fits    = !has_ext || after_all <= 4'd4;
  assign spent   = has_ext ? after_all >= 4'd4 : after_one >= 4'd4;
  assign offered = state_q == StRun && there_q[0] && place_q < 4'd4;
  assign whole   = fits || there_q[1];
  assign fault   = faults_q[0] != '0 ? faults_q[0] : faults_q[1];
  assign broken  = offered && (faults_q[0] != '0 || (!fits && there_q[1] && faults_q[1] != '0));
  assign request_valid_o = offered && whole && !broken && !stop_i;
  assign taken      = request_valid_o && request_ready_i;
  assign next_place = taken ? after : place_q;
  assign shift      = there_q[0] && (place_q >= 4'd4 || (taken && spent));
  assign load       = state_q == StRun && beats_q != '0 && (!there_q[1] || shift);
  assign beat_ready_o = load || (state_q == StDrop && beats_q != '0) || stop_i || clear_i;
  assign work_take  = state_q == StIdle;
  assign end_valid_o = state_q == StEnd;
  assign end_o = '{job: job_q.job, list: job_q.list, error: error_q, refused: refused_q,
                   executed: executed_q, info0: job_q.list ? 32'(at_q) : job_q.info0,
                   info1: job_q.list ? 32'(response_q) : job_q.info1};
  assign waits_o = state_q == StRun && !request_valid_o;
  assign idle_o  = state_q == StIdle && !work_valid && !piece_valid_q && !fetch_valid;

  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q <= StIdle;
      there_q <= '0;
    end else begin
      unique case (state_q)
        StIdle: if (work_valid) state_q <= !work.list || stop_i ? StEnd : StRun;
        StRun: begin
          if (taken && left_q == 17'(take)) state_q <= StEnd;
          if (broken || (taken && abort_i) || stop_i) state_q <= StDrop;
        end
        StDrop: if (stop_i ? read_idle_i && !piece_valid_q : beats_q == '0) state_q <= StEnd;
        StEnd: if (end_ready_i) state_q <= StIdle;
      endcase
      if (state_q == StRun) begin
        there_q <= shift ? {1'b0, there_q[1]} : there_q;
        if (load && beat_valid_i) begin
          if (shift ? there_q[1] : there_q[0]) there_q[1] <= 1'b1;
          else                                 there_q[0] <= 1'b1;
        end
      end else begin
        there_q <= '0;
      end
    end
    if (state_q == StIdle) begin
      job_q      <= work;
      left_q     <= work.slots;
      at_q       <= '0;
      beats_q    <= 15'((work.slots + 17'd3) >> 2);
      executed_q <= '0;
      refused_q  <= '0;
      error_q    <= !work.list ? work.error : stop_i ? E_TIMEOUT : '0;
      response_q <= '0;
      place_q    <= '0;
    end
    if (beat_ready_o && beat_valid_i && beats_q != '0) beats_q <= beats_q - 1'b1;
    if (state_q == StRun) begin
      place_q <= shift ? next_place - 4'd4 : next_place;
      if (shift) begin
        window_q[0] <= window_q[1];
        faults_q[0] <= faults_q[1];
      end
      if (load && beat_valid_i) begin
        if (shift ? there_q[1] : there_q[0]) begin
          window_q[1] <= beat_i;
          faults_q[1] <= beat_response_i;
        end else begin
          window_q[0] <= beat_i;
          faults_q[0] <= beat_response_i;
        end
      end
      if (taken) begin
        left_q     <= left_q - 17'(take);
        at_q       <= at_q + 17'(take);
        if (!refused_i)                executed_q <= executed_q + 1'b1;
        else if (refused_q != 16'hFFFF) refused_q <= refused_q + 1'b1;
      end
      if (broken) begin
        error_q    <= E_BUS_RD;
        response_q <= fault;
      end
      if (taken && abort_i) begin
        error_q    <= E_BUS_WR;
        response_q <= abort_response_i;
      end
      if (stop_i) error_q <= E_TIMEOUT;
    end
  end

  `JD_ASSERT_IF(AllWereRead_A, state_q == StEnd && job_q.list && error_q == '0, beats_q == '0)
endmodule : jd_mcts_lists
