// SPDX-License-Identifier: Apache-2.0
//
// Test bench: jd_a3c_tasks with the ports of rings, units and workers as unpacked arrays, so that
// agents find each by its index, and with a memory port of both directions.
module jd_a3c_tasks_bench
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
  import jd_a3c_tasks_pkg::*;
#(
  parameter  int unsigned Units       = 2,
  parameter  int unsigned Copies      = 1,
  parameter  int unsigned Slots       = 4,
  parameter  int unsigned Samples     = 8,
  parameter  int unsigned Pes         = 16,
  parameter  int unsigned MapRows     = 1024,
  parameter  int unsigned ForwardRows = 2048,
  parameter  int unsigned BackRows    = 1024,
  parameter  int unsigned GradRows    = 1024,
  parameter  int unsigned LineRows    = 16,
  localparam int unsigned Workers     = Units + Copies
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                stop_i,
  input  logic                clear_i,
  output logic                idle_o,
  output logic                quiet_o,
  output logic                dead_o,
  input  logic [Units-1:0][1:0] roles_i,
  input  logic [47:0]         limit_i,
  input  logic [RINGS-1:0]    timeout_i,
  input  logic                job_valid_i         [RINGS],
  output logic                job_ready_o         [RINGS],
  input  logic [1023:0]       job_descriptor_i    [RINGS],
  input  logic [JOB_W-1:0]    job_number_i        [RINGS],
  output logic                end_valid_o         [RINGS],
  input  logic                end_ready_i         [RINGS],
  output logic [JOB_W-1:0]    end_job_o           [RINGS],
  output logic [7:0]          end_error_o         [RINGS],
  output logic [15:0]         end_detail_o        [RINGS],
  output logic [31:0]         end_count_o         [RINGS],
  output logic [31:0]         end_info0_o         [RINGS],
  output logic [31:0]         end_info1_o         [RINGS],
  output logic                task_valid_o        [Units],
  input  logic                task_ready_i        [Units],
  output logic [$bits(task_t)-1:0] task_data_o    [Units],
  input  logic                lookup_valid_i      [Units],
  output logic                lookup_ready_o      [Units],
  input  logic [3:0]          lookup_slot_i       [Units],
  input  logic [2:0]          lookup_layer_i      [Units],
  output logic                found_valid_o       [Units],
  output logic [$bits(layer_t)-1:0] found_data_o  [Units],
  input  logic                order_valid_i       [Units],
  input  logic [31:0]         order_ticket_i      [Units],
  input  logic [2:0]          order_layer_i       [Units],
  input  logic [25:0]         order_behind_i      [Units],
  output logic                order_go_o          [Units],
  input  logic                layer_done_i        [Units],
  input  logic [2:0]          layer_done_layer_i  [Units],
  input  logic [29:0]         written_i           [Units],
  output logic                copy_valid_o        [Copies],
  input  logic                copy_ready_i        [Copies],
  output logic [$bits(copy_t)-1:0] copy_data_o    [Copies],
  input  logic                worker_end_valid_i  [Workers],
  output logic                worker_end_ready_o  [Workers],
  input  logic [14:0]         worker_end_data_i   [Workers],
  output axi_req_t            mem_req_o,
  input  axi_rsp_t            mem_rsp_i
);
  logic [RINGS-1:0]             job_valid, job_ready, end_valid, end_ready;
  logic [RINGS-1:0][1023:0]     job_descriptor;
  logic [RINGS-1:0][JOB_W-1:0]  job_number, end_job;
  logic [RINGS-1:0][7:0]        end_error;
  logic [RINGS-1:0][15:0]       end_detail;
  logic [RINGS-1:0][31:0]       end_count, end_info0, end_info1;
  for (genvar r = 0; r < RINGS; r++) begin : gen_ring
    assign job_valid[r]      = job_valid_i[r];
    assign job_ready_o[r]    = job_ready[r];
    assign job_descriptor[r] = job_descriptor_i[r];
    assign job_number[r]     = job_number_i[r];
    assign end_valid_o[r]    = end_valid[r];
    assign end_ready[r]      = end_ready_i[r];
    assign end_job_o[r]      = end_job[r];
    assign end_error_o[r]    = end_error[r];
    assign end_detail_o[r]   = end_detail[r];
    assign end_count_o[r]    = end_count[r];
    assign end_info0_o[r]    = end_info0[r];
    assign end_info1_o[r]    = end_info1[r];
  end

  logic [Units-1:0]       task_valid, task_ready, lookup_valid, lookup_ready, found_valid;
  logic [Units-1:0]       order_valid, order_go, layer_done;
  task_t [Units-1:0]      tasks;
  logic [Units-1:0][3:0]  lookup_slot;
  logic [Units-1:0][2:0]  lookup_layer, order_layer, layer_done_layer;
  logic [Units-1:0][31:0] order_ticket;
  logic [Units-1:0][25:0] order_behind;
  written_t [Units-1:0]   written;
  layer_t                 layer;
  for (genvar u = 0; u < Units; u++) begin : gen_unit
    assign task_valid_o[u]     = task_valid[u];
    assign task_ready[u]       = task_ready_i[u];
    assign task_data_o[u]      = tasks[u];
    assign lookup_valid[u]     = lookup_valid_i[u];
    assign lookup_ready_o[u]   = lookup_ready[u];
    assign lookup_slot[u]      = lookup_slot_i[u];
    assign lookup_layer[u]     = lookup_layer_i[u];
    assign found_valid_o[u]    = found_valid[u];
    assign found_data_o[u]     = layer;
    assign order_valid[u]      = order_valid_i[u];
    assign order_ticket[u]     = order_ticket_i[u];
    assign order_layer[u]      = order_layer_i[u];
    assign order_behind[u]     = order_behind_i[u];
    assign order_go_o[u]       = order_go[u];
    assign layer_done[u]       = layer_done_i[u];
    assign layer_done_layer[u] = layer_done_layer_i[u];
    assign written[u]          = written_i[u];
  end

  logic [Copies-1:0]  copy_valid, copy_ready;
  copy_t              copy;
  for (genvar c = 0; c < Copies; c++) begin : gen_copy
    assign copy_valid_o[c] = copy_valid[c];
    assign copy_ready[c]   = copy_ready_i[c];
    assign copy_data_o[c]  = copy;
  end
  logic [Workers-1:0] worker_end_valid, worker_end_ready;
  end_t [Workers-1:0] worker_end;
  for (genvar w = 0; w < Workers; w++) begin : gen_worker
    assign worker_end_valid[w]   = worker_end_valid_i[w];
    assign worker_end_ready_o[w] = worker_end_ready[w];
    assign worker_end[w]         = worker_end_data_i[w];
  end

  jd_a3c_tasks #(
    .Units (Units), .Copies (Copies), .Slots (Slots), .Samples (Samples), .Pes (Pes),
    .MapRows (MapRows), .ForwardRows (ForwardRows), .BackRows (BackRows), .GradRows (GradRows),
    .LineRows (LineRows)
  ) u_tasks (
    .clk_i, .rst_ni, .stop_i, .clear_i, .idle_o, .quiet_o, .dead_o, .roles_i,
    .base_i             ('0),
    .limit_i,
    .layout_i           (LayoutFa3c),
    .net_i              ('0),
    .index_i            ('0),
    .constant_i         ('0),
    .constant_o         (),
    .job_valid_i        (job_valid),
    .job_ready_o        (job_ready),
    .job_descriptor_i   (job_descriptor),
    .job_number_i       (job_number),
    .timeout_i,
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
    .lookup_valid_o     (found_valid),
    .lookup_data_o      (layer),
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
    .copy_o             (copy),
    .worker_end_valid_i (worker_end_valid),
    .worker_end_ready_o (worker_end_ready),
    .worker_end_i       (worker_end),
    .done_o             (),
    .good_o             (),
    .good_samples_o     (),
    .good_bootstrap_o   (),
    .mem_req_o          (mem_req_o.read),
    .mem_rsp_i          (mem_rsp_i.read)
  );
  assign mem_req_o.write = no_write();
  logic unused_pins;
  assign unused_pins = ^mem_rsp_i;
endmodule : jd_a3c_tasks_bench
