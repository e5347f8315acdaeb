// SPDX-License-Identifier: Apache-2.0
//
// The a3c engine: pairs of compute units for inference and training of A3C agents.
//
//   page -> jd_engine_control, jd_a3c_state      rings -> jd_a3c_tasks -+-> jd_a3c_unit[Units]
//                                                                       +-> jd_axi_copy[NPair]
//   memory port p <- jd_a3c_port: its units, its copy engine; port 0 also rings and descriptors
//
// Streams  s_axil_*: the page. m_axi_*: a memory port a unit (PortPerCu), or a pair.
// Timing   docs/a3c.md. A soft reset ends when units, copy engines and readers have nothing in
//          flight; units and copy engines are then reset, networks and the number of tickets stay.
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
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  output logic         irq_o,
  input  logic         s_axil_awvalid_i,
  output logic         s_axil_awready_o,
  input  logic [11:0]  s_axil_awaddr_i,
  input  logic         s_axil_wvalid_i,
  output logic         s_axil_wready_o,
  input  logic [31:0]  s_axil_wdata_i,
  input  logic [3:0]   s_axil_wstrb_i,
  output logic         s_axil_bvalid_o,
  input  logic         s_axil_bready_i,
  output logic [1:0]   s_axil_bresp_o,
  input  logic         s_axil_arvalid_i,
  output logic         s_axil_arready_o,
  input  logic [11:0]  s_axil_araddr_i,
  output logic         s_axil_rvalid_o,
  input  logic         s_axil_rready_i,
  output logic [31:0]  s_axil_rdata_o,
  output logic [1:0]   s_axil_rresp_o,
  output logic         m_axi_arvalid_o  [Ports],
  input  logic         m_axi_arready_i  [Ports],
  output logic [39:0]  m_axi_araddr_o   [Ports],
  output logic [7:0]   m_axi_arlen_o    [Ports],
  output logic [3:0]   m_axi_arid_o     [Ports],
  input  logic         m_axi_rvalid_i   [Ports],
  output logic         m_axi_rready_o   [Ports],
  input  logic [511:0] m_axi_rdata_i    [Ports],
  input  logic [1:0]   m_axi_rresp_i    [Ports],
  input  logic         m_axi_rlast_i    [Ports],
  input  logic [3:0]   m_axi_rid_i      [Ports],
  output logic         m_axi_awvalid_o  [Ports],
  input  logic         m_axi_awready_i  [Ports],
  output logic [39:0]  m_axi_awaddr_o   [Ports],
  output logic [7:0]   m_axi_awlen_o    [Ports],
  output logic [3:0]   m_axi_awid_o     [Ports],
  output logic         m_axi_wvalid_o   [Ports],
  input  logic         m_axi_wready_i   [Ports],
  output logic [511:0] m_axi_wdata_o    [Ports],
  output logic [63:0]  m_axi_wstrb_o    [Ports],
  output logic         m_axi_wlast_o    [Ports],
  input  logic         m_axi_bvalid_i   [Ports],
  output logic         m_axi_bready_o   [Ports],
  input  logic [1:0]   m_axi_bresp_i    [Ports],
  input  logic [3:0]   m_axi_bid_i      [Ports]
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
  register_request_t  register_request;
  register_response_t register_response;
  axi_request_t       page_request;       // descriptors and records
  axi_response_t      page_response;
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

  // The memory ports' clients: of port p the units 2p and 2p+1 of this list, and the blocks 3p to
  // 3p+2: control, tasks, copy engine.
  localparam int unsigned UnitPlaces = 2 * Ports;
  localparam int unsigned Blocks     = 3 * Ports;
  logic [UnitPlaces-1:0] u_arvalid;
  logic [UnitPlaces-1:0] u_arready;
  logic [UnitPlaces-1:0][39:0] u_araddr;
  logic [UnitPlaces-1:0][7:0] u_arlen;
  logic [UnitPlaces-1:0][3:0] u_arid;
  logic [UnitPlaces-1:0] u_rvalid;
  logic [UnitPlaces-1:0] u_rready;
  logic [UnitPlaces-1:0][511:0] u_rdata;
  logic [UnitPlaces-1:0][1:0] u_rresp;
  logic [UnitPlaces-1:0] u_rlast;
  logic [UnitPlaces-1:0][3:0] u_rid;
  logic [UnitPlaces-1:0] u_awvalid;
  logic [UnitPlaces-1:0] u_awready;
  logic [UnitPlaces-1:0][39:0] u_awaddr;
  logic [UnitPlaces-1:0][7:0] u_awlen;
  logic [UnitPlaces-1:0][3:0] u_awid;
  logic [UnitPlaces-1:0] u_wvalid;
  logic [UnitPlaces-1:0] u_wready;
  logic [UnitPlaces-1:0][511:0] u_wdata;
  logic [UnitPlaces-1:0][63:0] u_wstrb;
  logic [UnitPlaces-1:0] u_wlast;
  logic [UnitPlaces-1:0] u_bvalid;
  logic [UnitPlaces-1:0] u_bready;
  logic [UnitPlaces-1:0][1:0] u_bresp;
  logic [UnitPlaces-1:0][3:0] u_bid;
  logic [Blocks-1:0] b_arvalid;
  logic [Blocks-1:0] b_arready;
  logic [Blocks-1:0][39:0] b_araddr;
  logic [Blocks-1:0][7:0] b_arlen;
  logic [Blocks-1:0] b_rvalid;
  logic [Blocks-1:0] b_rready;
  logic [Blocks-1:0][511:0] b_rdata;
  logic [Blocks-1:0][1:0] b_rresp;
  logic [Blocks-1:0] b_rlast;
  logic [Blocks-1:0] b_awvalid;
  logic [Blocks-1:0] b_awready;
  logic [Blocks-1:0][39:0] b_awaddr;
  logic [Blocks-1:0][7:0] b_awlen;
  logic [Blocks-1:0] b_wvalid;
  logic [Blocks-1:0] b_wready;
  logic [Blocks-1:0][511:0] b_wdata;
  logic [Blocks-1:0][63:0] b_wstrb;
  logic [Blocks-1:0] b_wlast;
  logic [Blocks-1:0] b_bvalid;
  logic [Blocks-1:0] b_bready;
  logic [Blocks-1:0][1:0] b_bresp;

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
    .s_axil_awvalid_i, .s_axil_awready_o, .s_axil_awaddr_i, .s_axil_wvalid_i, .s_axil_wready_o,
    .s_axil_wdata_i, .s_axil_wstrb_i, .s_axil_bvalid_o, .s_axil_bready_i, .s_axil_bresp_o,
    .s_axil_arvalid_i, .s_axil_arready_o, .s_axil_araddr_i, .s_axil_rvalid_o, .s_axil_rready_i,
    .s_axil_rdata_o, .s_axil_rresp_o,
    .register_request_o  (register_request),
    .register_response_i (register_response),
    .memory_request_o    (page_request),
    .memory_response_i   (page_response),
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
  assign b_arvalid[0] = page_request.read.arvalid;
  assign page_response.read.arready = b_arready[0];
  assign b_araddr[0] = page_request.read.araddr;
  assign b_arlen[0] = page_request.read.arlen;
  assign page_response.read.rvalid = b_rvalid[0];
  assign b_rready[0] = page_request.read.rready;
  assign page_response.read.rdata = b_rdata[0];
  assign page_response.read.rresp = b_rresp[0];
  assign page_response.read.rlast = b_rlast[0];
  assign b_awvalid[0] = page_request.write.awvalid;
  assign page_response.write.awready = b_awready[0];
  assign b_awaddr[0] = page_request.write.awaddr;
  assign b_awlen[0] = page_request.write.awlen;
  assign b_wvalid[0] = page_request.write.wvalid;
  assign page_response.write.wready = b_wready[0];
  assign b_wdata[0] = page_request.write.wdata;
  assign b_wstrb[0] = page_request.write.wstrb;
  assign b_wlast[0] = page_request.write.wlast;
  assign page_response.write.bvalid = b_bvalid[0];
  assign b_bready[0] = page_request.write.bready;
  assign page_response.write.bresp = b_bresp[0];

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
    .register_request_i  (register_request),
    .register_response_o (register_response),
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
    .m_axi_arvalid_o    (b_arvalid[1]),
    .m_axi_arready_i    (b_arready[1]),
    .m_axi_araddr_o     (b_araddr[1]),
    .m_axi_arlen_o      (b_arlen[1]),
    .m_axi_rvalid_i     (b_rvalid[1]),
    .m_axi_rready_o     (b_rready[1]),
    .m_axi_rdata_i      (b_rdata[1]),
    .m_axi_rresp_i      (b_rresp[1]),
    .m_axi_rlast_i      (b_rlast[1])
  );

  // ---- Units: of a pair the even one infers, the odd one trains
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    localparam bit          Trains = SingleCu || u % 2 == 1;
    localparam int unsigned Place  = PortPerCu || SingleCu ? 2 * u : u;
    jd_a3c_unit #(
      .Pes (NPe), .MulLatency (Lm), .AddLatency (La), .DivLatency (DivLatency),
      .SqrtLatency (SqrtLatency), .MapRows (FmRows),
      .ParameterRows (Trains ? PbTraining : PbInference), .GradientRows (Trains ? GbRows : 0),
      .SecondImage (AltEn), .UpdateUnits (NRu), .IdW (4)
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
      .m_axi_arvalid_o (u_arvalid[Place]),
      .m_axi_arready_i (u_arready[Place]),
      .m_axi_araddr_o (u_araddr[Place]),
      .m_axi_arlen_o (u_arlen[Place]),
      .m_axi_arid_o (u_arid[Place]),
      .m_axi_rvalid_i (u_rvalid[Place]),
      .m_axi_rready_o (u_rready[Place]),
      .m_axi_rdata_i (u_rdata[Place]),
      .m_axi_rresp_i (u_rresp[Place]),
      .m_axi_rlast_i (u_rlast[Place]),
      .m_axi_rid_i (u_rid[Place]),
      .m_axi_awvalid_o (u_awvalid[Place]),
      .m_axi_awready_i (u_awready[Place]),
      .m_axi_awaddr_o (u_awaddr[Place]),
      .m_axi_awlen_o (u_awlen[Place]),
      .m_axi_awid_o (u_awid[Place]),
      .m_axi_wvalid_o (u_wvalid[Place]),
      .m_axi_wready_i (u_wready[Place]),
      .m_axi_wdata_o (u_wdata[Place]),
      .m_axi_wstrb_o (u_wstrb[Place]),
      .m_axi_wlast_o (u_wlast[Place]),
      .m_axi_bvalid_i (u_bvalid[Place]),
      .m_axi_bready_o (u_bready[Place]),
      .m_axi_bresp_i (u_bresp[Place]),
      .m_axi_bid_i (u_bid[Place])
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
      .m_axi_arvalid_o (b_arvalid[3*Port+2]),
      .m_axi_arready_i (b_arready[3*Port+2]),
      .m_axi_araddr_o (b_araddr[3*Port+2]),
      .m_axi_arlen_o (b_arlen[3*Port+2]),
      .m_axi_arid_o (),
      .m_axi_rvalid_i (b_rvalid[3*Port+2]),
      .m_axi_rready_o (b_rready[3*Port+2]),
      .m_axi_rdata_i (b_rdata[3*Port+2]),
      .m_axi_rresp_i (b_rresp[3*Port+2]),
      .m_axi_rlast_i (b_rlast[3*Port+2]),
      .m_axi_rid_i (1'b0),
      .m_axi_awvalid_o (b_awvalid[3*Port+2]),
      .m_axi_awready_i (b_awready[3*Port+2]),
      .m_axi_awaddr_o (b_awaddr[3*Port+2]),
      .m_axi_awlen_o (b_awlen[3*Port+2]),
      .m_axi_awid_o (),
      .m_axi_wvalid_o (b_wvalid[3*Port+2]),
      .m_axi_wready_i (b_wready[3*Port+2]),
      .m_axi_wdata_o (b_wdata[3*Port+2]),
      .m_axi_wstrb_o (b_wstrb[3*Port+2]),
      .m_axi_wlast_o (b_wlast[3*Port+2]),
      .m_axi_bvalid_i (b_bvalid[3*Port+2]),
      .m_axi_bready_o (b_bready[3*Port+2]),
      .m_axi_bresp_i (b_bresp[3*Port+2]),
      .m_axi_bid_i (1'b0)
    );
  end

  // ---- Memory ports, and the places that nothing has
  logic [Ports-1:0] moves;
  for (genvar p = 0; p < Ports; p++) begin : gen_port
    localparam bit Copies = !PortPerCu || SingleCu || p % 2 == 1;
    if (PortPerCu || SingleCu) begin : gen_one_unit
      assign u_arvalid[2*p+1] = '0;
      assign u_araddr[2*p+1] = '0;
      assign u_arlen[2*p+1] = '0;
      assign u_arid[2*p+1] = '0;
      assign u_rready[2*p+1] = '0;
      assign u_awvalid[2*p+1] = '0;
      assign u_awaddr[2*p+1] = '0;
      assign u_awlen[2*p+1] = '0;
      assign u_awid[2*p+1] = '0;
      assign u_wvalid[2*p+1] = '0;
      assign u_wdata[2*p+1] = '0;
      assign u_wstrb[2*p+1] = '0;
      assign u_wlast[2*p+1] = '0;
      assign u_bready[2*p+1] = '0;
    end
    if (p != 0) begin : gen_no_control
      assign b_arvalid[3*p] = '0;
      assign b_araddr[3*p] = '0;
      assign b_arlen[3*p] = '0;
      assign b_rready[3*p] = '0;
      assign b_awvalid[3*p] = '0;
      assign b_awaddr[3*p] = '0;
      assign b_awlen[3*p] = '0;
      assign b_wvalid[3*p] = '0;
      assign b_wdata[3*p] = '0;
      assign b_wstrb[3*p] = '0;
      assign b_wlast[3*p] = '0;
      assign b_bready[3*p] = '0;
    end
    if (p != 0) begin : gen_no_tasks
      assign b_arvalid[3*p+1] = '0;
      assign b_araddr[3*p+1] = '0;
      assign b_arlen[3*p+1] = '0;
      assign b_rready[3*p+1] = '0;
    end
    assign b_awvalid[3*p+1] = '0;
    assign b_awaddr[3*p+1] = '0;
    assign b_awlen[3*p+1] = '0;
    assign b_wvalid[3*p+1] = '0;
    assign b_wdata[3*p+1] = '0;
    assign b_wstrb[3*p+1] = '0;
    assign b_wlast[3*p+1] = '0;
    assign b_bready[3*p+1] = '0;
    if (!Copies) begin : gen_no_copy
      assign b_arvalid[3*p+2] = '0;
      assign b_araddr[3*p+2] = '0;
      assign b_arlen[3*p+2] = '0;
      assign b_rready[3*p+2] = '0;
      assign b_awvalid[3*p+2] = '0;
      assign b_awaddr[3*p+2] = '0;
      assign b_awlen[3*p+2] = '0;
      assign b_wvalid[3*p+2] = '0;
      assign b_wdata[3*p+2] = '0;
      assign b_wstrb[3*p+2] = '0;
      assign b_wlast[3*p+2] = '0;
      assign b_bready[3*p+2] = '0;
    end
    jd_a3c_port u_port (
      .clk_i, .rst_ni,
      .unit_axi_arvalid_i (u_arvalid[2*p+:2]),
      .unit_axi_arready_o (u_arready[2*p+:2]),
      .unit_axi_araddr_i (u_araddr[2*p+:2]),
      .unit_axi_arlen_i (u_arlen[2*p+:2]),
      .unit_axi_arid_i (u_arid[2*p+:2]),
      .unit_axi_rvalid_o (u_rvalid[2*p+:2]),
      .unit_axi_rready_i (u_rready[2*p+:2]),
      .unit_axi_rdata_o (u_rdata[2*p+:2]),
      .unit_axi_rresp_o (u_rresp[2*p+:2]),
      .unit_axi_rlast_o (u_rlast[2*p+:2]),
      .unit_axi_rid_o (u_rid[2*p+:2]),
      .unit_axi_awvalid_i (u_awvalid[2*p+:2]),
      .unit_axi_awready_o (u_awready[2*p+:2]),
      .unit_axi_awaddr_i (u_awaddr[2*p+:2]),
      .unit_axi_awlen_i (u_awlen[2*p+:2]),
      .unit_axi_awid_i (u_awid[2*p+:2]),
      .unit_axi_wvalid_i (u_wvalid[2*p+:2]),
      .unit_axi_wready_o (u_wready[2*p+:2]),
      .unit_axi_wdata_i (u_wdata[2*p+:2]),
      .unit_axi_wstrb_i (u_wstrb[2*p+:2]),
      .unit_axi_wlast_i (u_wlast[2*p+:2]),
      .unit_axi_bvalid_o (u_bvalid[2*p+:2]),
      .unit_axi_bready_i (u_bready[2*p+:2]),
      .unit_axi_bresp_o (u_bresp[2*p+:2]),
      .unit_axi_bid_o (u_bid[2*p+:2]),
      .misc_axi_arvalid_i (b_arvalid[3*p+:3]),
      .misc_axi_arready_o (b_arready[3*p+:3]),
      .misc_axi_araddr_i (b_araddr[3*p+:3]),
      .misc_axi_arlen_i (b_arlen[3*p+:3]),
      .misc_axi_rvalid_o (b_rvalid[3*p+:3]),
      .misc_axi_rready_i (b_rready[3*p+:3]),
      .misc_axi_rdata_o (b_rdata[3*p+:3]),
      .misc_axi_rresp_o (b_rresp[3*p+:3]),
      .misc_axi_rlast_o (b_rlast[3*p+:3]),
      .misc_axi_awvalid_i (b_awvalid[3*p+:3]),
      .misc_axi_awready_o (b_awready[3*p+:3]),
      .misc_axi_awaddr_i (b_awaddr[3*p+:3]),
      .misc_axi_awlen_i (b_awlen[3*p+:3]),
      .misc_axi_wvalid_i (b_wvalid[3*p+:3]),
      .misc_axi_wready_o (b_wready[3*p+:3]),
      .misc_axi_wdata_i (b_wdata[3*p+:3]),
      .misc_axi_wstrb_i (b_wstrb[3*p+:3]),
      .misc_axi_wlast_i (b_wlast[3*p+:3]),
      .misc_axi_bvalid_o (b_bvalid[3*p+:3]),
      .misc_axi_bready_i (b_bready[3*p+:3]),
      .misc_axi_bresp_o (b_bresp[3*p+:3]),
      .m_axi_arvalid_o (m_axi_arvalid_o[p]),
      .m_axi_arready_i (m_axi_arready_i[p]),
      .m_axi_araddr_o (m_axi_araddr_o[p]),
      .m_axi_arlen_o (m_axi_arlen_o[p]),
      .m_axi_arid_o (m_axi_arid_o[p]),
      .m_axi_rvalid_i (m_axi_rvalid_i[p]),
      .m_axi_rready_o (m_axi_rready_o[p]),
      .m_axi_rdata_i (m_axi_rdata_i[p]),
      .m_axi_rresp_i (m_axi_rresp_i[p]),
      .m_axi_rlast_i (m_axi_rlast_i[p]),
      .m_axi_rid_i (m_axi_rid_i[p]),
      .m_axi_awvalid_o (m_axi_awvalid_o[p]),
      .m_axi_awready_i (m_axi_awready_i[p]),
      .m_axi_awaddr_o (m_axi_awaddr_o[p]),
      .m_axi_awlen_o (m_axi_awlen_o[p]),
      .m_axi_awid_o (m_axi_awid_o[p]),
      .m_axi_wvalid_o (m_axi_wvalid_o[p]),
      .m_axi_wready_i (m_axi_wready_i[p]),
      .m_axi_wdata_o (m_axi_wdata_o[p]),
      .m_axi_wstrb_o (m_axi_wstrb_o[p]),
      .m_axi_wlast_o (m_axi_wlast_o[p]),
      .m_axi_bvalid_i (m_axi_bvalid_i[p]),
      .m_axi_bready_o (m_axi_bready_o[p]),
      .m_axi_bresp_i (m_axi_bresp_i[p]),
      .m_axi_bid_i (m_axi_bid_i[p]),
      .unit_read_o  (unit_reads[p]),
      .unit_write_o (unit_writes[p])
    );
    assign rd_beats[p] = m_axi_rvalid_i[p] && m_axi_rready_o[p];
    assign wr_beats[p] = m_axi_wvalid_o[p] && m_axi_wready_i[p];
    assign moves[p]    = rd_beats[p] || wr_beats[p] || (m_axi_bvalid_i[p] && m_axi_bready_o[p]);
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
        reads_q  <= reads_q + 8'(m_axi_arvalid_o[p] && m_axi_arready_i[p])
                    - 8'(m_axi_rvalid_i[p] && m_axi_rready_o[p] && m_axi_rlast_i[p]);
        writes_q <= writes_q + 8'(m_axi_awvalid_o[p] && m_axi_awready_i[p])
                    - 8'(m_axi_bvalid_i[p] && m_axi_bready_o[p]);
      end
    end
    `JD_ASSUME_IF(ReadOwed_M, m_axi_rvalid_i[p], reads_q != '0)
    `JD_ASSUME_IF(WriteOwed_M, m_axi_bvalid_i[p], writes_q != '0)
    `JD_ASSERT_NEXT(QuietReset_A, soft_reset && quiet_q,
                    soft_reset || (reads_q == '0 && writes_q == '0))
  end
endmodule : jd_a3c_top
