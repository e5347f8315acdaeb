// SPDX-License-Identifier: Apache-2.0
//
// The a3c engine: pairs of compute units for inference and training of A3C agents.
//
//   page -> jd_engine_control, jd_a3c_state      rings -> jd_a3c_tasks -+-> jd_a3c_unit[Units]
//                                                                       +-> jd_axi_copy[NPair]
//   memory port p <- jd_a3c_port: its units, its copy engine; port 0 also rings and descriptors
//
// Streams  axil_*: the page. mem_*: memory ports, one per unit (PortPerCu) or one per pair.
// Timing   docs/a3c.md. A soft reset ends when units, copy engines and readers have nothing in
//          flight. Units and copy engines are then reset; networks and the ticket count stay.
// Numbers  models/a3c.
// Source   a3c 2, 9; FA3C 4. Golden model: models/a3c/engine.py, A3cEngine; parameters:
//          models/a3c/network.py, Geometry.
`include "jd_assert.svh"
module jd_a3c_top
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
  import jd_a3c_tasks_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_BUS_WR;
#(
  parameter  int unsigned NPe         = 64,      // elements of a unit: 16, 32, 64, 128
  parameter  int unsigned NPair       = 2,       // pairs of an inference and a training unit
  parameter  bit          SingleCu    = 1'b0,    // a pair is one unit with both roles
  parameter  bit          PortPerCu   = 1'b1,    // a memory port for each unit, else for each pair
  parameter  bit          AltEn       = 1'b0,    // other layouts can be chosen; 0: there are none
  parameter  int unsigned Lm          = 3,       // latency of the multiplier
  parameter  int unsigned La          = 4,       // of the adder, 2..8
  parameter  int unsigned NRu         = 8,       // RMSProp units of a training unit
  parameter  int unsigned NbMax       = 8,       // largest batch, 1..8
  parameter  int unsigned NNet        = 4,       // network slots, 1..15
  parameter  int unsigned FmRows      = 8192,    // rows of 16 words: feature maps,
  parameter  int unsigned PbInference = 32768,   // parameters of an inference unit,
  parameter  int unsigned PbTraining  = 4096,    // of a training unit,
  parameter  int unsigned GbRows      = 16384,   // gradients
  parameter  int unsigned DivLatency  = 4,       // of RMSProp's operators
  parameter  int unsigned SqrtLatency = 4,
  localparam int unsigned Units = SingleCu ? NPair : 2 * NPair,
  localparam int unsigned Ports = PortPerCu ? Units : NPair
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic [63:0]          time_i,
  output logic                 irq_o,
  input  axil_req_t            axil_req_i,
  output axil_rsp_t            axil_rsp_o,
  output axi_req_t [Ports-1:0] mem_req_o,
  input  axi_rsp_t [Ports-1:0] mem_rsp_i
);
  if (!(NPe inside {16, 32, 64, 128}) || NPair < 1 || Units > 8 || Ports > 4) begin : gen_bad_units
    $fatal(1, "jd_a3c_top: NPe=%0d, want 16, 32, 64 or 128, NPair=%0d, want 1.. with at most 8 %s",
           NPe, NPair, "units and 4 ports");
  end
  if (SingleCu && PbInference != PbTraining) begin : gen_bad_parameters
    $fatal(1, "jd_a3c_top: PbInference=%0d, PbTraining=%0d, want the same in units of both roles",
           PbInference, PbTraining);
  end
  localparam int unsigned Workers    = Units + NPair;
  localparam int unsigned LINE_WORDS = 256;      // of a line buffer's half
  localparam int unsigned CONTEXTS   = 32;       // accumulation contexts of a half
  localparam int unsigned ENTRIES    = 64;       // of the lane buffer
  localparam logic [2*Units-1:0] CAPABLE = SingleCu ? '1 : (2*Units)'({8{4'b1001}});
  localparam logic [3:0] SETTLE_CLOCKS = 4'd4;   // until stop_i is seen everywhere

  // ---- Control and registers
  register_req_t register_req;
  register_rsp_t register_rsp;
  logic [RINGS-1:0]             job_valid, job_ready, end_valid, end_ready, timeout;
  logic [RINGS-1:0][1023:0]     job_descriptor;
  logic [RINGS-1:0][31:0]       job_number;
  logic [RINGS-1:0][JOB_W-1:0]  job_index, end_job;
  logic [RINGS-1:0][7:0]        end_error;
  logic [RINGS-1:0][15:0]       end_detail;
  logic [RINGS-1:0][31:0]       end_count, end_info0, end_info1;
  logic                         soft_reset, quiet_q, unused_number;
  logic [Ports-1:0]             rd_beats, wr_beats;
  logic                         busy, stall_mem, stall_out, progress_q;
  for (genvar r = 0; r < RINGS; r++) begin : gen_number
    assign job_index[r] = job_number[r][JOB_W-1:0];
  end
  assign unused_number = ^job_number;

  // The memory ports' clients: of each up to two units, and the blocks control, tasks, copy engine.
  axi_req_t [Ports-1:0][1:0] unit_req;
  axi_rsp_t [Ports-1:0][1:0] unit_rsp;
  axi_req_t [Ports-1:0][2:0] misc_req;
  axi_rsp_t [Ports-1:0][2:0] misc_rsp;

  jd_engine_page #(
    .Id       (jd_a3c_map_pkg::ENGINE_ID),
    .Version  (jd_a3c_map_pkg::ENGINE_VERSION),
    .IdleOnly (jd_a3c_map_pkg::IDLE_ONLY),
    .Rings    (RINGS),
    .Jobs     (JOBS),
    .Beats    (2),
    .Ports    (Ports)
  ) u_page (
    .clk_i, .rst_ni, .time_i, .irq_o,
    .axil_req_i, .axil_rsp_o,
    .register_req_o   (register_req),
    .register_rsp_i   (register_rsp),
    .mem_req_o        (misc_req[0][0]),
    .mem_rsp_i        (misc_rsp[0][0]),
    .job_valid_o      (job_valid),
    .job_ready_i      (job_ready),
    .job_descriptor_o (job_descriptor),
    .job_number_o     (job_number),
    .end_valid_i      (end_valid),
    .end_ready_o      (end_ready),
    .end_job_i        (end_job),
    .end_error_i      (end_error),
    .end_detail_i     (end_detail),
    .end_count_i      (end_count),
    .end_info0_i      (end_info0),
    .end_info1_i      (end_info1),
    .soft_reset_o     (soft_reset),
    .quiet_i          (quiet_q),
    .error_valid_i    (1'b0),
    .error_code_i     ('0),
    .event_i          (1'b0),
    .busy_i           (busy),
    .stall_mem_i      (stall_mem),
    .stall_in_i       (1'b0),
    .stall_out_i      (stall_out),
    .progress_i       (progress_q),
    .rd_beat_i        (rd_beats),
    .wr_beat_i        (wr_beats),
    .timeout_o        (timeout),
    .idle_o           ()
  );
  logic [Units-1:0][1:0]    roles, done;
  logic [39:0]              base;
  layout_e                  layout;
  logic [47:0]              limit;
  logic [3:0]               net, index;
  logic [4:0]               constant;
  logic [31:0]              constant_word;
  unit_clocks_t [Units-1:0] clocks;
  logic [Ports-1:0]         unit_reads, unit_writes;
  logic [RINGS-1:0]         good, good_bootstrap;
  logic [RINGS-1:0][3:0]    good_samples;
  jd_a3c_state #(
    .Units (Units), .Ports (Ports), .Capable (CAPABLE), .NPe (NPe), .NPair (NPair),
    .SingleCu (SingleCu), .PortPerCu (PortPerCu), .AltEn (AltEn), .Lm (Lm), .La (La), .NRu (NRu),
    .NbMax (NbMax), .NNet (NNet), .FmRows (FmRows), .PbInference (PbInference),
    .PbTraining (PbTraining), .GbRows (GbRows), .LineWords (LINE_WORDS), .Contexts (CONTEXTS),
    .LaneEntries (ENTRIES)
  ) u_state (
    .clk_i, .rst_ni,
    .register_req_i   (register_req),
    .register_rsp_o   (register_rsp),
    .roles_o          (roles),
    .base_o           (base),
    .limit_o          (limit),
    .layout_o         (layout),
    .net_o            (net),
    .index_o          (index),
    .constant_o       (constant),
    .constant_i       (constant_word),
    .clocks_i         (clocks),
    .done_i           (done),
    .read_i           (unit_reads),
    .write_i          (unit_writes),
    .good_i           (good),
    .good_samples_i   (good_samples),
    .good_bootstrap_i (good_bootstrap)
  );

  // ---- Soft reset, and a strike of the watchdog: all stop; when nothing is in flight, all are reset,
  // and then there is quiet
  logic [Units-1:0] unit_idle;
  logic [NPair-1:0] copy_idle;
  logic             tasks_idle, tasks_quiet, clear_q, reset_q, worker_rst_n;
  logic [3:0]       settle_q;
  logic             all_idle, dead, stop;
  assign stop = soft_reset || dead;
  assign all_idle = unit_idle == '1 && copy_idle == '1 && tasks_idle;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || !stop) begin
      settle_q <= '0;
      clear_q  <= 1'b0;
    end else begin
      if (settle_q != SETTLE_CLOCKS) settle_q <= settle_q + 4'd1;
      if (settle_q == SETTLE_CLOCKS && all_idle) clear_q <= 1'b1;
    end
    reset_q <= clear_q;
    quiet_q <= soft_reset ? clear_q && reset_q && !dead : tasks_quiet && all_idle && !dead;
  end

  assign worker_rst_n = rst_ni && !reset_q;

  // ---- Tasks
  logic [Units-1:0]          task_valid, task_ready;
  task_t [Units-1:0]         tasks;
  logic [Units-1:0]          lookup_valid, lookup_ready, answer_valid;
  logic [Units-1:0][3:0]     lookup_slot;
  logic [Units-1:0][2:0]     lookup_layer;
  layer_t                    answer;
  logic [Units-1:0]          order_valid, order_go, layer_done;
  logic [Units-1:0][31:0]    order_ticket;
  logic [Units-1:0][2:0]     order_layer, layer_done_layer;
  logic [Units-1:0][25:0]    order_behind;
  written_t [Units-1:0]      written;
  logic [NPair-1:0]          copy_valid, copy_ready;
  copy_t                     copy_job;
  logic [Workers-1:0]        worker_end_valid, worker_end_ready;
  end_t [Workers-1:0]        worker_end;
  logic [Units-1:0]          unit_progress;
  jd_a3c_tasks #(
    .Units (Units), .Copies (NPair), .SingleCu (SingleCu), .Slots (NNet), .Samples (NbMax),
    .Pes (NPe), .MapRows (FmRows), .ForwardRows (PbInference), .BackRows (PbTraining),
    .GradRows (GbRows), .LineRows (LINE_WORDS / 16)
  ) u_tasks (
    .clk_i, .rst_ni,
    .stop_i             (stop),
    .clear_i            (clear_q),
    .idle_o             (tasks_idle),
    .quiet_o            (tasks_quiet),
    .dead_o             (dead),
    .roles_i            (roles),
    .base_i             (base),
    .limit_i            (limit),
    .layout_i           (layout),
    .net_i              (net),
    .index_i            (index),
    .constant_i         (constant),
    .constant_o         (constant_word),
    .job_valid_i        (job_valid),
    .job_ready_o        (job_ready),
    .job_descriptor_i   (job_descriptor),
    .job_number_i       (job_index),
    .timeout_i          (timeout),
    .end_valid_o        (end_valid),
    .end_ready_i        (end_ready),
    .end_job_o          (end_job),
    .end_error_o        (end_error),
    .end_detail_o       (end_detail),
    .end_count_o        (end_count),
    .end_info0_o        (end_info0),
    .end_info1_o        (end_info1),
    .task_valid_o       (task_valid),
    .task_ready_i       (task_ready),
    .task_o             (tasks),
    .lookup_valid_i     (lookup_valid),
    .lookup_ready_o     (lookup_ready),
    .lookup_slot_i      (lookup_slot),
    .lookup_layer_i     (lookup_layer),
    .lookup_valid_o     (answer_valid),
    .lookup_data_o      (answer),
    .order_valid_i      (order_valid),
    .order_ticket_i     (order_ticket),
    .order_layer_i      (order_layer),
    .order_behind_i     (order_behind),
    .order_go_o         (order_go),
    .layer_done_i       (layer_done),
    .layer_done_layer_i (layer_done_layer),
    .written_i          (written),
    .copy_valid_o       (copy_valid),
    .copy_ready_i       (copy_ready),
    .copy_o             (copy_job),
    .worker_end_valid_i (worker_end_valid),
    .worker_end_ready_o (worker_end_ready),
    .worker_end_i       (worker_end),
    .done_o             (done),
    .good_o             (good),
    .good_samples_o     (good_samples),
    .good_bootstrap_o   (good_bootstrap),
    .mem_req_o          (misc_req[0][1].read),
    .mem_rsp_i          (misc_rsp[0][1].read)
  );

  // ---- Units: of a pair the even one infers, the odd one trains
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    localparam bit          Trains = SingleCu || u % 2 == 1;
    localparam int unsigned Port   = PortPerCu || SingleCu ? u : u / 2;
    localparam int unsigned Place  = PortPerCu || SingleCu ? 0 : u % 2;
    jd_a3c_unit #(
      .Pes (NPe), .MulLatency (Lm), .AddLatency (La), .DivLatency (DivLatency),
      .SqrtLatency (SqrtLatency), .MapRows (FmRows),
      .ParameterRows (Trains ? PbTraining : PbInference), .GradientRows (Trains ? GbRows : 0),
      .SecondImage (AltEn), .UpdateUnits (NRu)
    ) u_unit (
      .clk_i,
      .rst_ni             (worker_rst_n),
      .task_valid_i       (task_valid[u]),
      .task_ready_o       (task_ready[u]),
      .task_i             (tasks[u]),
      .lookup_valid_o     (lookup_valid[u]),
      .lookup_ready_i     (lookup_ready[u]),
      .lookup_slot_o      (lookup_slot[u]),
      .lookup_layer_o     (lookup_layer[u]),
      .lookup_valid_i     (answer_valid[u]),
      .lookup_data_i      (answer),
      .order_valid_o      (order_valid[u]),
      .order_ticket_o     (order_ticket[u]),
      .order_layer_o      (order_layer[u]),
      .order_behind_o     (order_behind[u]),
      .order_go_i         (order_go[u]),
      .layer_done_o       (layer_done[u]),
      .layer_done_layer_o (layer_done_layer[u]),
      .written_o          (written[u]),
      .end_valid_o        (worker_end_valid[u]),
      .end_ready_i        (worker_end_ready[u]),
      .end_o              (worker_end[u]),
      .clocks_o           (clocks[u]),
      .progress_o         (unit_progress[u]),
      .stop_i             (stop),
      .idle_o             (unit_idle[u]),
      .mem_req_o          (unit_req[Port][Place]),
      .mem_rsp_i          (unit_rsp[Port][Place])
    );
  end

  // ---- Copy engines, each beside its pair's training unit
  for (genvar c = 0; c < NPair; c++) begin : gen_copy
    localparam int unsigned Port = PortPerCu && !SingleCu ? 2 * c + 1 : c;
    logic [1:0] response;
    logic       writes;
    assign worker_end[Units+c] = response == '0 ? '0
        : writes ? end_t'{error: E_BUS_WR, word: WORD_TARGET, response: response}
                 : end_t'{error: E_BUS_RD, word: WORD_SOURCE, response: response};
    jd_axi_copy u_copy (
      .clk_i,
      .rst_ni          (worker_rst_n),
      .stop_i          (stop),
      .idle_o          (copy_idle[c]),
      .job_valid_i     (copy_valid[c]),
      .job_ready_o     (copy_ready[c]),
      .job_source_i    (copy_job.source),
      .job_target_i    (copy_job.target),
      .job_beats_i     (copy_job.beats),
      .end_valid_o     (worker_end_valid[Units+c]),
      .end_ready_i     (worker_end_ready[Units+c]),
      .end_response_o  (response),
      .end_write_o     (writes),
      .mem_req_o       (misc_req[Port][2]),
      .mem_rsp_i       (misc_rsp[Port][2])
    );
  end

  // ---- Memory ports, and the places that nothing has
  logic [Ports-1:0] moves;
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    localparam bit Copies = !PortPerCu || SingleCu || p % 2 == 1;
    localparam axi_req_t NONE = '0;
    logic unused_rsp;
    if (PortPerCu || SingleCu) begin : gen_one_unit
      assign unit_req[p][1] = NONE;
    end
    if (p != 0) begin : gen_no_control
      assign misc_req[p][1:0] = {2{NONE}};
      assign unused_rsp       = '0;
    end else begin : gen_control
      assign misc_req[p][1].write = NONE.write;
      assign unused_rsp           = ^misc_rsp[p][1].write;
    end
    if (!Copies) begin : gen_no_copy
      assign misc_req[p][2] = NONE;
    end
    jd_a3c_port u_port (
      .clk_i, .rst_ni,
      .unit_req_i   (unit_req[p]),
      .unit_rsp_o   (unit_rsp[p]),
      .misc_req_i   (misc_req[p]),
      .misc_rsp_o   (misc_rsp[p]),
      .mem_req_o    (mem_req_o[p]),
      .mem_rsp_i    (mem_rsp_i[p]),
      .unit_read_o  (unit_reads[p]),
      .unit_write_o (unit_writes[p])
    );
    assign rd_beats[p] = mem_rsp_i[p].read.rvalid && mem_req_o[p].read.rready;
    assign wr_beats[p] = mem_req_o[p].write.wvalid && mem_rsp_i[p].write.wready;
    assign moves[p]    = rd_beats[p] || wr_beats[p]
                         || (mem_rsp_i[p].write.bvalid && mem_req_o[p].write.bready);
  end

  // ---- Status
  always_comb begin
    busy      = 1'b0;
    stall_mem = 1'b0;
    stall_out = 1'b0;
    for (int unsigned u = 0; u < Units; u++) begin
      busy      = busy || clocks[u].issue;
      stall_mem = stall_mem || clocks[u].parameters || clocks[u].maps;
      stall_out = stall_out || clocks[u].drain || clocks[u].gradients;
    end
  end
  always_ff @(posedge clk_i) progress_q <= moves != '0 || unit_progress != '0;

  // ---- Checks
  `JD_ASSERT_IF(ResetWhenIdle_A, reset_q, all_idle && task_valid == '0 && copy_valid == '0)
  for (genvar u = 0; u < Units; u++) begin : gen_unit_check
    `JD_ASSERT_IF(Capable_A, task_valid[u], CAPABLE[2*u+32'(tasks[u].train)])
  end
  for (genvar p = 0; p < Ports; p++) begin : gen_port_check
    logic [7:0] reads_q, writes_q;               // out
    always_ff @(posedge clk_i) begin
      if (!rst_ni) begin
        reads_q  <= '0;
        writes_q <= '0;
      end else begin
        reads_q  <= reads_q + 8'(mem_req_o[p].read.arvalid && mem_rsp_i[p].read.arready)
                    - 8'(rd_beats[p] && mem_rsp_i[p].read.rlast);
        writes_q <= writes_q + 8'(mem_req_o[p].write.awvalid && mem_rsp_i[p].write.awready)
                    - 8'(mem_rsp_i[p].write.bvalid && mem_req_o[p].write.bready);
      end
    end
    `JD_ASSUME_IF(ReadOwed_M, mem_rsp_i[p].read.rvalid, reads_q != '0)
    `JD_ASSUME_IF(WriteOwed_M, mem_rsp_i[p].write.bvalid, writes_q != '0)
    `JD_ASSERT_NEXT(QuietReset_A, soft_reset && quiet_q,
                    soft_reset || (reads_q == '0 && writes_q == '0))
  end
endmodule : jd_a3c_top
