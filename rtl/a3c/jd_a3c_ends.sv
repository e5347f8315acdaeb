// SPDX-License-Identifier: Apache-2.0
//
// Keeps the jobs that the workers (compute units and copy engines) are running. Turns the end of a
// task into the completion record of its job.
//
// Streams  give: a worker receives a task; allowed only while count_o shows room for it.
//          worker_end: how the worker's oldest task ended.
//          over: ends of jobs that were never given to a worker, such as refused ones.
//          taken_i: a job arrived from its ring.
//          dead_i: the watchdog struck. Ends of workers are then ignored, and clear_i ends every
//          open job with E_TIMEOUT. Without dead_i, clear_i forgets all open jobs.
//          end: the completion records, to jd_engine_control.
// Timing   A record leaves two clocks after the end of its task. A ring gets one every second
//          clock.
// Numbers  count is the ticket. detail is {samples[7:4], unit[3:0]}; of a failed task with a ticket
//          the samples alone, of a failed task without a ticket 0.
// Source   a3c 10.1, 10.4. Golden model: models/a3c/engine.py.
`include "jd_assert.svh"
module jd_a3c_ends
  import jd_a3c_pkg::end_t;
  import jd_a3c_tasks_pkg::*;
  import jd_engine_header_map_pkg::E_TIMEOUT;
#(
  parameter  int unsigned              Units     = 2,
  parameter  int unsigned              Copies    = 1,
  parameter  bit                       SingleCu  = 1'b0,   // copy engine c is at unit c
  localparam int unsigned              Workers   = Units + Copies   // units, then copy engines
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic                          clear_i,
  input  logic                          dead_i,
  output logic                          none_o,           // no job has not ended
  // Workers.
  input  logic [Workers-1:0]            give_valid_i,
  input  job_t [Workers-1:0]            give_job_i,
  input  logic [Workers-1:0][1:0]       give_ring_i,
  output logic [Workers-1:0][1:0]       count_o,          // tasks that it has
  input  logic [Workers-1:0]            worker_end_valid_i,
  output logic [Workers-1:0]            worker_end_ready_o,
  input  end_t [Workers-1:0]            worker_end_i,
  // Jobs.
  input  logic [RINGS-1:0]              taken_i,
  input  logic [RINGS-1:0][JOB_W-1:0]   taken_number_i,
  input  logic [RINGS-1:0]              over_valid_i,
  output logic [RINGS-1:0]              over_ready_o,
  input  over_t [RINGS-1:0]             over_i,
  output logic [RINGS-1:0]              end_valid_o,
  input  logic [RINGS-1:0]              end_ready_i,
  output logic [RINGS-1:0][JOB_W-1:0]   end_job_o,
  output logic [RINGS-1:0][7:0]         end_error_o,
  output logic [RINGS-1:0][15:0]        end_detail_o,
  output logic [RINGS-1:0][31:0]        end_count_o,
  output logic [RINGS-1:0][31:0]        end_info0_o,
  output logic [RINGS-1:0][31:0]        end_info1_o,
  // Tasks and tickets that ended in this clock.
  output logic [TICKETS-1:0]            ended_o,          // tickets
  output logic [Units-1:0][1:0]         done_o,           // tasks of a unit without an error
  output logic [RINGS-1:0]              good_o,           // a task of the ring ended well:
  output logic [RINGS-1:0][3:0]         good_samples_o,   // its samples
  output logic [RINGS-1:0]              good_bootstrap_o
);
  typedef struct packed {
    logic [1:0] ring;
    job_t       job;
  } held_t;

  // ---- Jobs of each worker, the oldest first
  held_t [Workers-1:0][1:0] held_q;
  logic [Workers-1:0][1:0]  count_q;
  logic [Workers-1:0]       pops;
  assign count_o = count_q;
  for (genvar w = 0; w < Workers; w++) begin : gen_worker
    held_t given;
    assign given       = '{ring: give_ring_i[w], job: give_job_i[w]};
    assign pops[w]     = worker_end_valid_i[w] && worker_end_ready_o[w] && count_q[w] != '0;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) count_q[w] <= '0;
      else count_q[w] <= count_q[w] + 2'(give_valid_i[w]) - 2'(pops[w]);
      if (pops[w]) held_q[w][0] <= held_q[w][1];
      if (give_valid_i[w]) begin
        if (count_q[w] - 2'(pops[w]) == 2'd0) held_q[w][0] <= given;
        else                                  held_q[w][1] <= given;
      end
    end
    `JD_ASSUME_IF(Room_M, give_valid_i[w], count_q[w] < 2'd2)
    `JD_ASSUME_IF(EndOwed_M, worker_end_valid_i[w] && !dead_i && !clear_i, count_q[w] != '0)
  end

  // ---- The end that a ring takes: a job that no worker has goes first, then the lowest worker
  logic [RINGS-1:0]              chosen, free;
  over_t [RINGS-1:0]             pick;
  logic [RINGS-1:0][3:0]         unit;
  logic [RINGS-1:0][Workers-1:0] from;
  always_comb begin
    for (int unsigned r = 0; r < RINGS; r++) begin
      chosen[r] = over_valid_i[r];
      pick[r]   = over_i[r];
      unit[r]   = '0;
      from[r]   = '0;
      for (int unsigned w = 0; w < Workers; w++) begin
        if (!chosen[r] && worker_end_valid_i[w] && count_q[w] != '0
            && held_q[w][0].ring == 2'(r)) begin
          chosen[r]  = 1'b1;
          from[r][w] = 1'b1;
          pick[r]    = '{
            job: held_q[w][0].job, error: worker_end_i[w].error,
            info0: 8'(worker_end_i[w].word), info1: 16'(worker_end_i[w].response)};
          unit[r] = w < Units ? 4'(w) : SingleCu ? 4'(w - Units) : 4'(2 * (w - Units) + 1);
        end
      end
    end
  end
  always_comb begin
    worker_end_ready_o = dead_i ? '1 : '0;
    for (int unsigned w = 0; w < Workers; w++) begin
      for (int unsigned r = 0; r < RINGS; r++) begin
        if (free[r] && from[r][w] && !dead_i) worker_end_ready_o[w] = 1'b1;
      end
    end
  end
  assign over_ready_o = dead_i ? '0 : free & over_valid_i;

  // ---- Ends. After the watchdog struck and all was cleared, jobs still open end, one per clock.
  logic [RINGS-1:0][JOBS-1:0]  live_q;           // jobs of the ring that have not ended
  logic [RINGS-1:0][JOB_W-1:0] oldest;           // one of these
  logic [RINGS-1:0]            loads;
  always_comb begin
    for (int unsigned r = 0; r < RINGS; r++) begin
      oldest[r] = '0;
      for (int unsigned j = 0; j < JOBS; j++) if (live_q[r][j]) oldest[r] = JOB_W'(j);
    end
  end
  assign none_o = live_q == '0 && end_valid_o == '0;
  for (genvar r = 0; r < RINGS; r++) begin : gen_load
    assign free[r]  = !end_valid_o[r] || end_ready_i[r];
    assign loads[r] = free[r] && (dead_i ? clear_i && live_q[r] != '0 : chosen[r]);
  end
  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < RINGS; r++) begin
      if (!rst_ni || (clear_i && !dead_i)) begin
        end_valid_o[r] <= 1'b0;
        live_q[r]      <= '0;
      end else begin
        if (loads[r]) begin
          end_valid_o[r]          <= 1'b1;
          live_q[r][dead_i ? oldest[r] : pick[r].job.number] <= 1'b0;
        end else if (end_ready_i[r]) begin
          end_valid_o[r] <= 1'b0;
        end
        if (taken_i[r]) live_q[r][taken_number_i[r]] <= 1'b1;
      end
      if (loads[r]) begin
        end_job_o[r]    <= dead_i ? oldest[r] : pick[r].job.number;
        end_error_o[r]  <= dead_i ? E_TIMEOUT : pick[r].error;
        end_detail_o[r] <= '0;
        end_count_o[r]  <= '0;
        end_info0_o[r]  <= '0;
        end_info1_o[r]  <= '0;
        if (!dead_i) begin
          end_detail_o[r][3:0] <= pick[r].error == '0 ? unit[r] : '0;
          end_detail_o[r][7:4] <= pick[r].error == '0 || pick[r].job.ticketed
                                  ? pick[r].job.samples : '0;
          end_count_o[r] <= pick[r].job.ticket;
          end_info0_o[r] <= 32'(pick[r].info0);
          end_info1_o[r] <= 32'(pick[r].info1);
        end
      end
    end
  end

  // ---- Reports of ended tasks
  always_comb begin
    ended_o = '0;
    done_o  = '0;
    for (int unsigned r = 0; r < RINGS; r++) begin
      if (loads[r] && !dead_i && pick[r].job.ticketed) begin
        ended_o[pick[r].job.ticket[TICKET_W-1:0]] = 1'b1;
      end
      good_o[r]           = loads[r] && !dead_i && from[r] != '0 && pick[r].error == '0;
      good_samples_o[r]   = pick[r].job.samples;
      good_bootstrap_o[r] = pick[r].job.bootstrap;
      for (int unsigned u = 0; u < Units; u++) begin
        if (good_o[r] && unit[r] == 4'(u)) done_o[u] = done_o[u] + 2'd1;
      end
    end
  end

  for (genvar r = 0; r < RINGS; r++) begin : gen_ring
    `JD_ASSERT_IF(EndsLive_A, loads[r] && !dead_i, live_q[r][pick[r].job.number])
    `JD_ASSUME_IF(TakenOnce_M, taken_i[r], !live_q[r][taken_number_i[r]])
    `JD_ASSERT_STREAM(EndStable_A, end_valid_o[r] && (!clear_i || dead_i),
                      end_ready_i[r] || (clear_i && !dead_i),
                      {end_job_o[r], end_error_o[r], end_detail_o[r], end_count_o[r]})
  end
endmodule : jd_a3c_ends
