// SPDX-License-Identifier: Apache-2.0
//
// Types that the blocks around the compute units of the a3c engine share.
package jd_a3c_tasks_pkg;
  localparam int unsigned RINGS    = 3;
  localparam int unsigned JOBS     = 8;             // of a ring with the engine at once
  localparam int unsigned JOB_W    = $clog2(JOBS);
  localparam int unsigned TICKETS  = 16;            // that are out at once
  localparam int unsigned TICKET_W = $clog2(TICKETS);

  // A job that the engine owes an end.
  typedef struct packed {
    logic [JOB_W-1:0] number;      // in its ring, low bits
    logic [3:0]       samples;     // 0 of a task without any
    logic             bootstrap;   // an inference that counts apart
    logic             ticketed;
    logic [31:0]      ticket;      // 0 without
  } job_t;

  // How a job ends that no unit has had.
  typedef struct packed {
    job_t        job;
    logic [7:0]  error;
    logic [7:0]  info0;            // ERR_INFO0 and 1
    logic [15:0] info1;
  } over_t;

  // A copy of parameters.
  typedef struct packed {
    logic [39:0] source;
    logic [39:0] target;
    logic [25:0] beats;
  } copy_t;
endpackage : jd_a3c_tasks_pkg
