// SPDX-License-Identifier: Apache-2.0
//
// The course of a job: checks its descriptor, has its work done, and says how it ended.
//
//   CONFIG       jd_sparse_mover -> jd_sparse_config
//   LOAD, STORE  jd_sparse_mover <-> jd_sparse_image
//   RUN          jd_sparse_fetch -> jd_sparse_sched, which has jd_sparse_mover for its DMA
//
// Streams  job, end: of jd_engine_frame. mover_*, config_*, image_*, run_*: those blocks. timeout_i,
//          soft_reset_i: the job ends as soon as the memory has answered.
// Timing   4 clocks before the work.
// Numbers  -
// Source   docs/sparse.md (jobs). Golden model: models/sparse/engine.py.
`include "jd_assert.svh"
module jd_sparse_job
  import jd_axi_pkg::*;
  import jd_sparse_pkg::*;
#(
  parameter int unsigned LMax = 8                // layers
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               job_valid_i,
  output logic               job_ready_o,
  input  descriptor_t        job_descriptor_i,
  output logic               end_valid_o,
  input  logic               end_ready_i,
  output logic [7:0]         end_error_o,
  output logic [15:0]        end_detail_o,
  output logic [31:0]        end_count_o,
  output logic [31:0]        end_info0_o,
  output logic [31:0]        end_info1_o,
  input  logic               timeout_i,
  input  logic               soft_reset_i,
  output logic               idle_o,
  output logic               working_o,          // without waiting for memory
  input  settings_t          settings_i,
  input  logic [3:0]         layers_i,           // of the network
  output logic [LAYERS-1:0]  forget_o,           // layers whose encodings and plans are stale
  // Transfers
  output logic               mover_read_o,
  output logic               mover_write_o,
  output logic [39:0]        mover_address_o,
  output logic [BEATS_W-1:0] mover_lines_o,
  output logic               stop_o,
  input  logic               mover_idle_i,
  input  logic               mover_done_i,
  input  logic [1:0]         mover_response_i,
  // CONFIG
  output logic               config_o,           // lines come
  output logic               config_start_o,
  output logic [3:0]         config_lines_o,
  input  logic               config_done_i,
  input  logic [7:0]         config_code_i,
  input  logic [LAYER_W-1:0] config_number_i,
  output logic               config_take_o,
  // LOAD and STORE
  output logic               image_start_o,
  output logic               image_load_o,
  output logic [LAYERS-1:0]  image_mask_o,
  output logic [PARTS-1:0]   image_kinds_o,
  input  logic               image_sized_i,
  input  logic [BEATS_W-1:0] image_lines_i,
  output logic               image_go_o,
  output logic               image_clear_o,
  input  logic               image_idle_i,
  // RUN
  output logic               run_o,
  output logic               run_start_o,
  output logic [39:0]        run_address_o,
  output logic [15:0]        run_count_o,
  output logic               run_clear_o,        // what is under way is dropped
  input  logic               run_done_i,
  input  logic [7:0]         run_code_i,
  input  logic               run_fetch_error_i,
  input  logic [15:0]        run_at_i,
  input  logic [1:0]         run_response_i,
  input  logic [15:0]        run_ended_i,
  input  logic               fetch_idle_i
);
  localparam logic [7:0] E_OPCODE   = jd_engine_header_map_pkg::E_OPCODE;
  localparam logic [7:0] E_RESERVED = jd_engine_header_map_pkg::E_RESERVED;
  localparam logic [7:0] E_ALIGN    = jd_engine_header_map_pkg::E_ALIGN;
  localparam logic [7:0] E_ADDR     = jd_engine_header_map_pkg::E_ADDR;
  localparam logic [7:0] E_BUS_RD   = jd_engine_header_map_pkg::E_BUS_RD;
  localparam logic [7:0] E_BUS_WR   = jd_engine_header_map_pkg::E_BUS_WR;
  localparam logic [7:0] E_TIMEOUT  = jd_engine_header_map_pkg::E_TIMEOUT;
  localparam logic [7:0] E_DIM      = jd_sparse_map_pkg::E_DIM;
  localparam logic [7:0] E_PROGRAM  = jd_sparse_map_pkg::E_PROGRAM;
  localparam logic [7:0] E_HPARAM   = jd_sparse_map_pkg::E_HPARAM;
  localparam int unsigned SIZE      = 2;         // words of a descriptor
  localparam int unsigned ADDRESS   = 4;
  localparam int unsigned DROP      = 32;        // clocks until nothing is under way in the units

  typedef enum logic [3:0] {
    StIdle, StCheck, StSize, StPlace, StTable, StMove, StRun, StRest, StDrop, StEnd
  } state_t;
  state_t      state_q, state_d;
  descriptor_t words_q;
  logic [7:0]  opcode;
  logic [39:0] address;
  logic        stop, moves, enters;
  assign opcode      = words_q[0][7:0];
  assign address     = {words_q[ADDRESS+1][7:0], words_q[ADDRESS]};
  assign moves       = opcode == LOAD || opcode == STORE;
  assign stop        = timeout_i || soft_reset_i;
  assign enters      = state_d != state_q;
  assign job_ready_o = state_q == StIdle && !stop;
  assign idle_o      = state_q == StIdle;
  assign working_o   = state_q inside {StCheck, StSize, StPlace, StDrop};

  // ---- The descriptor's own rules
  logic [15:0][31:0] zero;                       // bits that must be 0
  logic [6:0][SINGLE_W-1:0] numbers;
  logic [7:0]        code_d, code;               // of its rules; of this clock
  logic [31:0]       place_d, place, info1;
  logic              hyper_bad, layers_bad;
  always_comb begin
    zero            = '1;
    zero[0]         = 32'h0000_FF00;
    zero[1]         = '0;
    zero[SIZE]      = (opcode == CONFIG) ? '0 : (opcode == RUN) ? 32'hFFFF_0000 : 32'hFFFF_E000;
    zero[ADDRESS]   = '0;
    zero[ADDRESS+1] = 32'hFFFF_FF00;
    hyper_bad       = settings_i.eps[31] || settings_i.eps == '0;
    numbers         = {settings_i.rate, settings_i.alpha, settings_i.one_minus_alpha,
                       settings_i.eps, settings_i.gscale, settings_i.group_rate,
                       settings_i.inverse};
    for (int unsigned k = 0; k < 7; k++) if (numbers[k][30:23] == '1) hyper_bad = 1'b1;
    layers_bad = words_q[SIZE][7:0] == '0 || words_q[SIZE][12:8] == '0;
    for (int unsigned k = 0; k < LAYERS; k++) begin
      if (words_q[SIZE][k] && 4'(k) >= layers_i) layers_bad = 1'b1;
    end
    {code_d, place_d} = '0;
    if (opcode == CONFIG) begin
      if (words_q[SIZE][5:0] != '0) {code_d, place_d} = {E_ALIGN, 32'(SIZE)};
      else if (words_q[SIZE] < 32'd128 || words_q[SIZE] > 32'(64 * (LMax + 1)))
        {code_d, place_d} = {E_DIM, 32'(SIZE)};
    end else if (opcode == RUN) begin
      if (layers_i == '0)                   {code_d, place_d} = {E_PROGRAM, 32'd0};
      else if (hyper_bad)                   {code_d, place_d} = {E_HPARAM, 32'd0};
      else if (words_q[SIZE][15:0] == '0)   {code_d, place_d} = {E_DIM, 32'(SIZE)};
    end else if (layers_bad) begin
      {code_d, place_d} = {E_DIM, 32'(SIZE)};
    end
    for (int unsigned k = 16; k > 0; k--) begin
      if ((words_q[k-1] & zero[k-1]) != '0) {code_d, place_d} = {E_RESERVED, 32'(k - 1)};
    end
    if (!(opcode inside {CONFIG, LOAD, STORE, RUN})) {code_d, place_d} = {E_OPCODE, 32'd0};
  end

  // ---- The course
  logic        table_done_q, moved_q;
  logic [31:0] bytes_q;                          // of the image, table or program
  logic [5:0]  drop_q;
  logic        table_ends;
  assign table_ends = config_done_i || table_done_q;
  always_comb begin
    state_d = state_q;
    code    = '0;
    place   = '0;
    info1   = '0;
    unique case (state_q)
      StIdle: if (job_valid_i && job_ready_o) state_d = StCheck;
      StCheck: begin
        {code, place} = {code_d, place_d};
        state_d = (code != '0) ? StEnd : moves ? StSize : StPlace;
      end
      StSize: if (image_sized_i) state_d = StPlace;
      StPlace: begin
        if (address[5:0] != '0)                  {code, place} = {E_ALIGN, 32'(ADDRESS)};
        else if (beyond(address, 64'(bytes_q)))  {code, place} = {E_ADDR, 32'(ADDRESS)};
        state_d = (code != '0) ? StEnd : (opcode == RUN) ? StRun
                  : (opcode == CONFIG) ? StTable : StMove;
      end
      StTable, StMove: begin
        if (mover_done_i && mover_response_i != '0) begin
          {code, place} = {opcode == STORE ? E_BUS_WR : E_BUS_RD, 32'(ADDRESS)};
          info1         = 32'(mover_response_i);
        end else if (mover_done_i && stop) begin
          code = E_TIMEOUT;
        end else if (moved_q && state_q == StTable && table_ends) begin
          code  = config_code_i;
          place = 32'(config_number_i);
        end
        if (code != '0 || (moved_q && (state_q == StTable ? table_ends : image_idle_i)))
          state_d = StEnd;
      end
      StRun: begin
        if (stop)            state_d = StDrop;
        else if (run_done_i) state_d = StRest;
      end
      StRest: begin
        code  = run_code_i;
        place = run_fetch_error_i ? 32'(ADDRESS) : 32'(run_at_i);
        info1 = 32'(run_response_i);
        if (mover_idle_i && fetch_idle_i) state_d = StEnd;
      end
      StDrop: begin
        code = E_TIMEOUT;
        if (drop_q == '0 && mover_idle_i && fetch_idle_i) state_d = StEnd;
      end
      StEnd:   if (end_ready_i) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) state_q <= StIdle;
    else         state_q <= state_d;
    if (state_q == StIdle) words_q <= job_descriptor_i;
    bytes_q <= (opcode == CONFIG) ? words_q[SIZE]
               : (opcode == RUN)  ? {11'd0, words_q[SIZE][15:0], 5'd0} : 32'({image_lines_i, 6'd0});
    table_done_q <= state_q == StTable && table_ends;
    moved_q      <= state_q inside {StTable, StMove} && (moved_q || mover_done_i);
    drop_q       <= (state_q == StDrop) ? drop_q - 6'(drop_q != '0) : 6'(DROP);
    if (state_d == StEnd && state_q != StEnd) begin
      end_error_o  <= code;
      end_info0_o  <= (code != '0) ? place : '0;
      end_info1_o  <= (code != '0) ? info1 : '0;
      end_detail_o <= (code != '0 && state_q == StRest && !run_fetch_error_i) ? run_at_i : '0;
      end_count_o  <= (state_q == StRest) ? 32'(run_ended_i) : (code != '0) ? '0
                      : moves ? 32'(image_lines_i) : 32'(config_lines_o - 1'b1);
    end
  end
  assign end_valid_o = state_q == StEnd;

  // ---- The work
  assign mover_read_o    = enters && (state_d == StTable || (state_d == StMove && opcode == LOAD));
  assign mover_write_o   = enters && state_d == StMove && opcode == STORE;
  assign mover_address_o = address;
  assign mover_lines_o   = BEATS_W'(bytes_q >> 6);
  assign stop_o          = stop && state_q != StIdle;
  assign config_o        = state_q == StTable;
  assign config_start_o  = enters && state_d == StTable;
  assign config_lines_o  = words_q[SIZE][9:6];
  assign config_take_o   = state_q == StTable && enters && code == '0;
  assign image_start_o   = enters && state_d == StSize;
  assign image_load_o    = opcode == LOAD;
  assign image_mask_o    = words_q[SIZE][7:0];
  assign image_kinds_o   = words_q[SIZE][12:8];
  assign image_go_o      = enters && state_d == StMove;
  assign image_clear_o   = state_q == StEnd;
  assign run_o           = state_q inside {StRun, StRest, StDrop};
  assign run_start_o     = enters && state_d == StRun;
  assign run_address_o   = address;
  assign run_count_o     = words_q[SIZE][15:0];
  assign run_clear_o     = state_q == StDrop;
  always_comb begin
    forget_o = '0;
    if (image_go_o && opcode == LOAD)                       forget_o = image_mask_o;
    if (config_take_o || soft_reset_i || state_q == StDrop) forget_o = '1;
  end
endmodule : jd_sparse_job
