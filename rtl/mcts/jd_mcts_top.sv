// SPDX-License-Identifier: Apache-2.0
//
// The mcts engine: in-tree operations of Monte-Carlo tree search, for many workers.
//
// Streams  axil_*: the page. mem_*: the memory port. One ring, opcodes 1 LIST and 2 TABLES; up to 16 jobs
//          are with the engine.
// Timing   docs/mcts.md, clocks. After a time-out all lists end with it, until a soft reset. A soft reset
//          lasts until the memory has answered what was asked for.
// Numbers  docs/mcts.md, numbers.
// Source   thesis 3.3, 5.1; docs/mcts.md. Golden model: models/mcts/engine.py.
`include "jd_assert.svh"
module jd_mcts_top
  import jd_axi_pkg::*;
  import jd_mcts_pkg::*;
  import jd_mcts_map_pkg::*;
#(
  parameter int unsigned MctsD    = 32,           // levels, stages, ports; power of two 2..64
  parameter int unsigned MctsF    = 6,            // children of a node, 2..32
  parameter int unsigned MctsY    = 128,          // banks, power of two, a multiple of MctsD
  parameter int unsigned MctsCap  = 128,          // entries of a bank, power of two; 16384 in all
  parameter int unsigned MctsX    = 10000,        // node ids
  parameter int unsigned MctsFr   = MctsF,   // comparison-lookup factor of the root unit, 2..MctsF
  parameter int unsigned MctsFp   = MctsF,        // and of the ports
  parameter bit          MctsXbar = 1'b1,         // crossbars, else butterflies
  parameter int unsigned MctsWMax = 256,          // workers, power of two 2..4096
  parameter int unsigned MctsT    = 16 * MctsD,   // tokens in flight, power of two 4..1024
  parameter int unsigned MctsSf   = 32,           // slots that a level keeps ready, 1..128
  parameter int unsigned MctsMu   = MctsF         // multipliers for scores of a unit, 1..MctsF
) (
  input  logic        clk_i,
  input  logic        rst_ni,
  input  logic [63:0] time_i,
  output logic        irq_o,
  input  axil_req_t   axil_req_i,
  output axil_rsp_t   axil_rsp_o,
  output axi_req_t    mem_req_o,
  input  axi_rsp_t    mem_rsp_i
);
  if (MctsX > MctsY * MctsCap - (MctsD - 1) * (MctsCap - 1 + MctsSf)) begin : gen_bad_ids
    $fatal(1, "jd_mcts_top: MctsX=%0d, want at most Y*Cap - (D-1)*(Cap-1+Sf)", MctsX);
  end
  localparam int unsigned IndexW  = $clog2(MctsWMax);
  localparam int unsigned FlightW = $clog2(MctsT + 1);

  // ---- The frame: rings, register access, memory port
  register_req_t     register_req;
  register_rsp_t     register_rsp;
  axi_req_t          client_req;
  axi_rsp_t          client_rsp;
  logic              job_valid, job_ready, end_valid, end_ready, timeout, soft_reset, idle, quiet;
  logic [15:0][31:0] words;
  logic [31:0]       number;
  end_t              ended;
  logic              stray, wakes, busy, stall_mem, stall_in, stall_out, progress;
  jd_engine_frame #(
    .Id       (ENGINE_ID),
    .Version  (ENGINE_VERSION),
    .IdleOnly (IDLE_ONLY),
    .Jobs     (16)
  ) u_frame (
    .clk_i, .rst_ni, .time_i, .irq_o, .axil_req_i, .axil_rsp_o, .mem_req_o, .mem_rsp_i,
    .register_req_o   (register_req),
    .register_rsp_i   (register_rsp),
    .client_req_i     (client_req),
    .client_rsp_o     (client_rsp),
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_descriptor_o (words),
    .job_number_o     (number),
    .end_valid_i      (end_valid),
    .end_ready_o      (end_ready),
    .end_job_i        (ended.job),
    .end_error_i      (ended.error),
    .end_detail_i     (ended.refused),
    .end_count_i      (ended.executed),
    .end_info0_i      (ended.error != '0 ? ended.info0 : '0),
    .end_info1_i      (ended.error != '0 ? ended.info1 : '0),
    .timeout_o        (timeout),
    .soft_reset_o     (soft_reset),
    .quiet_i          (quiet),
    .error_valid_i    (stray),
    .error_code_i     (E_CQ),
    .event_i          (wakes),
    .busy_i           (busy),
    .stall_mem_i      (stall_mem),
    .stall_in_i       (stall_in),
    .stall_out_i      (stall_out),
    .progress_i       (progress),
    .idle_o           (idle)
  );

  // ---- After a time-out no list goes on. Under a soft reset nothing does.
  logic dead_q, stop, clear;
  assign stop  = timeout || dead_q || soft_reset;
  assign clear = soft_reset;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || soft_reset) dead_q <= 1'b0;
    else if (timeout)          dead_q <= 1'b1;
  end

  // ---- Registers
  settings_t            settings, tree_settings;
  logic [39:0]          queue_base;
  logic [4:0]           queue_size;
  logic [31:0]          queue_head, queue_tail, queue_number;
  logic                 queue_set;
  logic [2:0]           written;
  logic [1:0]           done_response;
  logic                 host_peek_root, select, update, insert, tree_full, refused, root_busy;
  logic [ADDRESS_W-1:0] host_peek_address;
  logic [8:0]           host_peek_word;
  logic [31:0]          peek_data;
  logic [MctsD:0]       hazard;
  logic [MctsD-1:0]     port_busy;
  logic [FlightW-1:0]   flight;
  logic                 search, sat, request_taken, still, respond_idle, response_valid;
  jd_mcts_state #(
    .D (MctsD), .F (MctsF), .Y (MctsY), .Cap (MctsCap), .X (MctsX), .Fr (MctsFr), .Fp (MctsFp),
    .Xbar (MctsXbar), .WMax (MctsWMax), .T (MctsT), .Sf (MctsSf), .Mu (MctsMu)
  ) u_state (
    .clk_i, .rst_ni,
    .clear_i        (clear),
    .time_i         (time_i[31:0]),
    .register_req_i (register_req),
    .register_rsp_o (register_rsp),
    .settings_o     (settings),
    .queue_base_o   (queue_base),
    .queue_size_o   (queue_size),
    .queue_head_o   (queue_head),
    .queue_tail_o   (queue_tail),
    .queue_set_o    (queue_set),
    .queue_number_o (queue_number),
    .written_i      (written),
    .failed_i       (done_response != '0),
    .still_i        (still && respond_idle && !response_valid),
    .event_o        (wakes),
    .error_o        (stray),
    .peek_root_o    (host_peek_root),
    .peek_address_o (host_peek_address),
    .peek_word_o    (host_peek_word),
    .peek_data_i    (peek_data),
    .select_i       (select),
    .update_i       (update),
    .insert_i       (insert),
    .root_i         (root_busy),
    .hazard_i       (hazard),
    .port_busy_i    (port_busy),
    .flight_i       (flight),
    .search_i       (search),
    .sat_i          (sat),
    .full_i         (tree_full),
    .static_i       (tree_settings.policy == 2'd2),
    .refused_i      (request_taken && refused)
  );

  // ---- Reading: lists, and tables when nothing else is under way
  logic         cmd_valid, cmd_ready, beat_valid, beat_ready, unused_last, read_idle;
  logic [39:0]  cmd_address, list_address, table_address;
  logic [15:0]  cmd_beats, list_beats, table_beats;
  logic [511:0] beat;
  logic [1:0]   beat_response;
  logic         loading, list_cmd, table_cmd, list_takes, table_takes;
  assign cmd_valid   = loading ? table_cmd     : list_cmd;
  assign cmd_address = loading ? table_address : list_address;
  assign cmd_beats   = loading ? table_beats   : list_beats;
  assign beat_ready  = loading ? table_takes   : list_takes;
  jd_axi_read_queue #(.Depth (128)) u_read (
    .clk_i, .rst_ni,
    .idle_o        (read_idle),
    .cmd_valid_i   (cmd_valid),
    .cmd_ready_o   (cmd_ready),
    .cmd_address_i (cmd_address),
    .cmd_beats_i   (cmd_beats),
    .out_valid_o   (beat_valid),
    .out_ready_i   (beat_ready),
    .out_data_o    (beat),
    .out_last_o    (unused_last),
    .out_resp_o    (beat_response),
    .mem_req_o     (client_req.read),
    .mem_rsp_i     (client_rsp.read)
  );

  logic         check_valid, check_ready, check_idle, lists_idle, ends_idle;
  job_t         checked;
  table_write_t table_write;
  assign still = lists_idle && ends_idle && flight == '0;
  jd_mcts_check #(.F (MctsF), .D (MctsD), .WMax (MctsWMax)) u_check (
    .clk_i, .rst_ni,
    .clear_i         (clear),
    .stop_i          (stop),
    .still_i         (still),
    .settings_i      (settings),
    .queue_base_i    (queue_base),
    .queue_size_i    (queue_size),
    .job_valid_i     (job_valid),
    .job_ready_o     (job_ready),
    .job_words_i     (words),
    .job_number_i    (number[3:0]),
    .out_valid_o     (check_valid),
    .out_ready_i     (check_ready),
    .out_job_o       (checked),
    .loading_o       (loading),
    .cmd_valid_o     (table_cmd),
    .cmd_ready_i     (cmd_ready),
    .cmd_address_o   (table_address),
    .cmd_beats_o     (table_beats),
    .beat_valid_i    (beat_valid),
    .beat_ready_o    (table_takes),
    .beat_i          (beat),
    .beat_response_i (beat_response),
    .read_idle_i     (read_idle),
    .table_o         (table_write),
    .idle_o          (check_idle)
  );

  // ---- Lists and requests
  logic                          request_valid, request_ready, cut, aborts, list_waits;
  logic [127:0]                  request;
  logic [MctsF-1:0][PRIOR_W-1:0] request_priors;
  logic [39:0]                   root_address;
  logic [LIST_W-1:0]             request_list;
  logic                          list_end_valid, list_end_ready;
  end_t                          list_end;
  logic [1:0]                    root_response;
  assign request_taken = request_valid && request_ready;
  jd_mcts_lists #(.F (MctsF)) u_lists (
    .clk_i, .rst_ni,
    .clear_i          (clear),
    .stop_i           (stop),
    .job_valid_i      (check_valid),
    .job_ready_o      (check_ready),
    .job_i            (checked),
    .cmd_valid_o      (list_cmd),
    .cmd_ready_i      (cmd_ready && !loading),
    .cmd_address_o    (list_address),
    .cmd_beats_o      (list_beats),
    .beat_valid_i     (beat_valid && !loading),
    .beat_ready_o     (list_takes),
    .beat_i           (beat),
    .beat_response_i  (beat_response),
    .read_idle_i      (read_idle),
    .request_valid_o  (request_valid),
    .request_ready_i  (request_ready),
    .request_o        (request),
    .request_priors_o (request_priors),
    .request_cut_o    (cut),
    .request_root_o   (root_address),
    .request_list_o   (request_list),
    .refused_i        (refused),
    .abort_i          (aborts),
    .abort_response_i (root_response),
    .end_valid_o      (list_end_valid),
    .end_ready_i      (list_end_ready),
    .end_o            (list_end),
    .waits_o          (list_waits),
    .idle_o           (lists_idle)
  );

  // The next response's number, if every request taken so far has been answered.
  logic [31:0] reserved_q;
  logic        room, reserve;
  assign room = reserved_q - queue_head < 32'd1 << queue_size;
  always_ff @(posedge clk_i) begin
    if (queue_set)    reserved_q <= queue_number;
    else if (reserve) reserved_q <= reserved_q + 1'b1;
  end

  logic                          token_valid, token_ready, retire_valid, retire_ready, silent;
  token_t                        token, retired;
  logic                          prior_write, new_tree, response_ready;
  logic [IndexW:0]               prior_row;
  logic [MctsF-1:0]              prior_legal;
  logic [MctsF-1:0][PRIOR_W-1:0] priors;
  response_t                     response;
  logic [1:0]                    begun;
  logic                          root_start, root_done, new_token, old_token;
  logic [LIST_W-1:0]             old_list;
  jd_mcts_front #(.F (MctsF), .X (MctsX), .WMax (MctsWMax), .T (MctsT)) u_front (
    .clk_i, .rst_ni,
    .clear_i          (clear),
    .stop_i           (stop),
    .settings_i       (settings),
    .settings_o       (tree_settings),
    .room_i           (room),
    .request_valid_i  (request_valid),
    .request_ready_o  (request_ready),
    .request_i        (request),
    .request_priors_i (request_priors),
    .request_cut_i    (cut),
    .request_root_i   (root_address != '0),
    .request_list_i   (request_list),
    .refused_o        (refused),
    .abort_o          (aborts),
    .out_valid_o      (token_valid),
    .out_ready_i      (token_ready),
    .out_token_o      (token),
    .prior_write_o    (prior_write),
    .prior_row_o      (prior_row),
    .prior_legal_o    (prior_legal),
    .priors_o         (priors),
    .new_tree_o       (new_tree),
    .retire_valid_i   (retire_valid),
    .retire_ready_o   (retire_ready),
    .retire_token_i   (retired),
    .silent_i         (silent),
    .response_valid_o (response_valid),
    .response_ready_i (response_ready || stop),
    .response_o       (response),
    .responses_o      (begun),
    .reserve_o        (reserve),
    .root_start_o     (root_start),
    .root_done_i      (root_done),
    .root_failed_i    (root_response != '0),
    .new_token_o      (new_token),
    .old_token_o      (old_token),
    .old_list_o       (old_list),
    .flight_o         (flight),
    .select_o         (select),
    .update_o         (update),
    .insert_o         (insert),
    .full_o           (tree_full)
  );

  // ---- The tree
  logic       root_peek, tree_peek_root;
  logic [8:0] root_peek_word;
  assign tree_peek_root = root_peek || host_peek_root;
  jd_mcts_tree #(
    .D (MctsD), .F (MctsF), .Y (MctsY), .Cap (MctsCap), .Fr (MctsFr), .Fp (MctsFp),
    .Xbar (MctsXbar), .WMax (MctsWMax), .T (MctsT), .Sf (MctsSf), .Mu (MctsMu)
  ) u_tree (
    .clk_i,
    .rst_ni         (rst_ni && !clear),
    .clear_i        (new_tree),
    .settings_i     (tree_settings),
    .table_i        (table_write),
    .in_valid_i     (token_valid),
    .in_ready_o     (token_ready),
    .in_token_i     (token),
    .retire_valid_o (retire_valid),
    .retire_ready_i (retire_ready),
    .retire_token_o (retired),
    .silent_o       (silent),
    .prior_write_i  (prior_write),
    .prior_row_i    (prior_row),
    .prior_legal_i  (prior_legal),
    .priors_i       (priors),
    .peek_i         (root_peek || idle),
    .peek_root_i    (tree_peek_root),
    .peek_address_i (host_peek_address),
    .peek_word_i    (root_peek ? root_peek_word : host_peek_word),
    .peek_data_o    (peek_data),
    .root_busy_o    (root_busy),
    .port_busy_o    (port_busy),
    .hazard_o       (hazard),
    .sat_o          (sat),
    .search_o       (search)
  );

  // ---- Writing: responses, and what READ_ROOT asks for
  logic         root_beat_valid, root_beat_ready, root_written;
  logic [39:0]  root_beat_address;
  logic [511:0] root_beat;
  logic [63:0]  root_strb;
  jd_mcts_root u_root (
    .clk_i, .rst_ni,
    .clear_i            (stop),
    .start_i            (root_start),
    .address_i          (root_address),
    .children_i         (tree_settings.f_act),
    .peek_o             (root_peek),
    .peek_word_o        (root_peek_word),
    .peek_data_i        (peek_data),
    .beat_valid_o       (root_beat_valid),
    .beat_ready_i       (root_beat_ready),
    .beat_address_o     (root_beat_address),
    .beat_o             (root_beat),
    .strb_o             (root_strb),
    .written_i          (root_written),
    .written_response_i (done_response),
    .done_o             (root_done),
    .response_o         (root_response)
  );
  logic         write_cmd, write_cmd_ready, write_beat, write_beat_ready, write_done, write_idle;
  logic [39:0]  write_address;
  logic [511:0] write_data;
  logic [63:0]  write_strb;
  logic [1:0]   write_response;
  jd_mcts_respond #(.T (MctsT)) u_respond (
    .clk_i, .rst_ni,
    .clear_i         (stop),
    .time_i          (time_i[31:0]),
    .base_i          (queue_base),
    .size_i          (queue_size),
    .set_i           (queue_set),
    .number_i        (queue_number),
    .in_valid_i      (response_valid && !stop),
    .in_ready_o      (response_ready),
    .in_response_i   (response),
    .root_valid_i    (root_beat_valid),
    .root_ready_o    (root_beat_ready),
    .root_address_i  (root_beat_address),
    .root_data_i     (root_beat),
    .root_strb_i     (root_strb),
    .root_done_o     (root_written),
    .written_o       (written),
    .done_response_o (done_response),
    .cmd_valid_o     (write_cmd),
    .cmd_ready_i     (write_cmd_ready),
    .cmd_address_o   (write_address),
    .beat_valid_o    (write_beat),
    .beat_ready_i    (write_beat_ready),
    .beat_o          (write_data),
    .strb_o          (write_strb),
    .done_valid_i    (write_done),
    .done_response_i (write_response),
    .idle_o          (respond_idle)
  );
  jd_axi_write_queue #(.Burst (2), .Depth (8)) u_write (
    .clk_i, .rst_ni,
    .idle_o        (write_idle),
    .cmd_valid_i   (write_cmd),
    .cmd_ready_o   (write_cmd_ready),
    .cmd_address_i (write_address),
    .cmd_beats_i   (16'd1),
    .in_valid_i    (write_beat),
    .in_ready_o    (write_beat_ready),
    .in_data_i     (write_data),
    .in_strb_i     (write_strb),
    .done_valid_o  (write_done),
    .done_ready_i  (1'b1),
    .done_resp_o   (write_response),
    .mem_req_o     (client_req.write),
    .mem_rsp_i     (client_rsp.write)
  );

  // ---- Ends
  jd_mcts_ends #(.T (MctsT)) u_ends (
    .clk_i, .rst_ni,
    .clear_i           (clear),
    .stop_i            (stop),
    .quiet_i           (respond_idle && write_idle),
    .in_valid_i        (list_end_valid),
    .in_ready_o        (list_end_ready),
    .in_end_i          (list_end),
    .new_valid_i       (new_token),
    .new_list_i        (request_list),
    .old_valid_i       (old_token),
    .old_list_i        (old_list),
    .begun_i           (begun),
    .written_i         (written),
    .failed_i          (written != '0 && done_response != '0),
    .failed_response_i (done_response),
    .end_valid_o       (end_valid),
    .end_ready_i       (end_ready),
    .end_o             (ended),
    .idle_o            (ends_idle)
  );

  // ---- Status
  logic held;
  assign held      = request_valid && !room;
  assign busy      = root_busy;
  assign stall_out = held;
  assign stall_mem = list_waits || loading;
  assign stall_in  = flight != '0 && lists_idle;
  assign progress  = root_busy || port_busy != '0 || old_token || held || write_done
                     || (beat_valid && beat_ready) || request_taken || root_peek;
  assign quiet     = read_idle && write_idle && respond_idle && check_idle && lists_idle
                     && ends_idle && flight == '0;
  logic unused;
  assign unused = ^{number[31:4], unused_last, queue_tail, ended.list, time_i[63:32]};
endmodule : jd_mcts_top
