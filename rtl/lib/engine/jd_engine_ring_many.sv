// SPDX-License-Identifier: Apache-2.0
//
// One ring whose jobs run side by side: the next descriptor, the jobs that the engine has, their
// completion records, HEAD.
//
// Streams  fetch: asks for a descriptor; one fetched_i answers. job: the descriptor, to the engine;
//          it is withdrawn only under hold_i or pause_i. end: which job ended, and how; ends come
//          in any order. record: a completion record; one recorded_i answers.
// Timing   A job is offered in the clock after fetched_i if the engine has room for it. One
//          descriptor is prefetched, unless the job before it has the STOP flag; then nothing is
//          fetched until the record of that job is written. Records are written in the order of
//          their jobs; a job that ended early waits. HEAD follows two clocks after a record.
// Numbers  job numbers count modulo 2^32; slot = number modulo 2^size_i; times are TIME.
// Source   docs/shell.md, rings. Golden model: verif/engine_control/model.py.
`include "jd_assert.svh"
module jd_engine_ring_many
  import jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_RESERVED;
#(
  parameter  int unsigned Jobs        = 4,  // with the engine at once, power of two 2..16
  parameter  int unsigned Beats       = 1,  // of a descriptor, power of two 1..4
  localparam int unsigned JobW        = $clog2(Jobs),
  localparam int unsigned DescriptorW = 512 * Beats
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [63:0]            time_i,
  input  logic [39:0]            base_i,            // descriptors, 4 KiB aligned
  input  logic [39:0]            cpl_i,             // records, 4 KiB aligned
  input  logic [3:0]             size_i,            // log2 of the slots
  input  logic [31:0]            tail_i,
  output logic [31:0]            head_o,
  input  logic                   doorbell_i,        // TAIL is written in this clock
  input  logic                   hold_i,            // soft reset: start nothing
  input  logic                   drop_i,            // its last clock: HEAD becomes TAIL
  input  logic                   pause_i,           // start no job
  output logic                   fetch_valid_o,
  input  logic                   fetch_ready_i,
  output logic [39:0]            fetch_address_o,
  input  logic                   fetched_i,
  input  logic [DescriptorW-1:0] fetched_data_i,
  input  logic [1:0]             fetched_resp_i,
  output logic                   job_valid_o,
  input  logic                   job_ready_i,
  output logic [DescriptorW-1:0] job_descriptor_o,
  output logic [31:0]            job_number_o,
  output logic                   running_o,         // the engine owes an end
  input  logic                   end_valid_i,
  output logic                   end_ready_o,
  input  logic [JobW-1:0]        end_job_i,         // low bits of its number
  input  logic [7:0]             end_error_i,
  input  logic [15:0]            end_detail_i,
  input  logic [31:0]            end_count_i,
  input  logic [31:0]            end_info0_i,
  input  logic [31:0]            end_info1_i,
  output logic                   record_valid_o,
  input  logic                   record_ready_i,
  output logic [39:0]            record_address_o,
  output logic [255:0]           record_data_o,
  input  logic                   recorded_i,
  output logic [31:0]            ended_number_o,    // of the job whose record is written,
  output logic                   ended_irq_o,       // its IRQ flag,
  output logic [7:0]             ended_error_o,     // its error,
  output logic [31:0]            ended_info0_o,     // ERR_INFO0,
  output logic [31:0]            ended_info1_o,     // ERR_INFO1,
  output logic [63:0]            ended_since_o,     // and when its descriptor became the next one
  output logic                   quiet_o            // HEAD = TAIL
);
  if (!(Jobs inside {2, 4, 8, 16}) || !(Beats inside {1, 2, 4})) begin : gen_bad_parameters
    $fatal(1, "jd_engine_ring_many: Jobs=%0d, want 2, 4, 8 or 16, Beats=%0d, want 1, 2 or 4",
           Jobs, Beats);
  end

  localparam int unsigned BeatsLog2 = $clog2(Beats);

  // What is kept of a job from its start and from its end.
  typedef struct packed {
    logic [31:0] number;
    logic        irq;
    logic        stop;
    logic [7:0]  opcode;
    logic [31:0] tag;
    logic [63:0] start;
    logic [63:0] since;
  } start_t;
  typedef struct packed {
    logic [7:0]  error;
    logic [15:0] detail;
    logic [31:0] count;
    logic [31:0] info0;
    logic [31:0] info1;
    logic [63:0] at;
  } end_t;
  typedef enum logic [1:0] {
    JobFree,
    JobRuns,     // with the engine
    JobEnded,    // its record waits
    JobDone      // its record is written; HEAD has not passed it
  } job_e;
  typedef enum logic [1:0] {
    RecordNone,  // none chosen
    RecordRead,  // what is kept of it is being read
    RecordOffer,
    RecordWait   // it is being written
  } record_e;

  job_e [Jobs-1:0]        jobs_q;
  record_e                record_q;
  logic [31:0]            head_q;
  logic [31:0]            next_q, behind_q;   // the job to start next, and the one after it
  logic                   halted_q;
  logic                   barrier_q;          // a job with the STOP flag is not recorded yet
  logic                   fetching_q;
  logic                   held_q;             // descriptor_q holds the next descriptor
  logic [DescriptorW-1:0] descriptor_q;
  logic [1:0]             response_q;
  logic                   ends_q;             // the descriptor held needs no engine
  logic                   odd_q;              // it has bits set that a NOP must not
  logic [63:0]            since_q;
  logic [JobW-1:0]        next_job, record_job_q;
  start_t                 started;            // what is kept of the job whose record is written
  end_t                   finished;
  assign next_job = next_q[JobW-1:0];

  // ---- Descriptors. Whether a job was submitted is seen one clock late.
  logic        more_q, pending_q;         // job NEXT, and job HEAD
  logic [11:0] slot_mask_q;               // numbers of jobs modulo the largest ring
  logic        start, own;                // the held descriptor leaves; it ends here
  always_ff @(posedge clk_i) begin
    slot_mask_q <= 12'((13'd1 << size_i) - 13'd1);   // long before a job
    more_q      <= rst_ni && !drop_i && (start ? behind_q != tail_i : next_q != tail_i);
    pending_q   <= rst_ni && !drop_i && head_q != tail_i;
  end
  assign fetch_address_o = base_i + (40'({28'd0, next_q[11:0] & slot_mask_q}) << (6 + BeatsLog2));
  assign fetch_valid_o = !held_q && !fetching_q && !halted_q && !barrier_q && !hold_i && more_q;

  // ---- Jobs. A descriptor that could not be read and a NOP end here; the rest are the engine's.
  logic present, unread;
  assign unread  = response_q[1];
  assign present = held_q && !hold_i && !pause_i && jobs_q[next_job] == JobFree;
  assign own     = present && ends_q;
  assign start   = own || (job_valid_o && job_ready_i);
  assign job_valid_o      = present && !ends_q;
  assign job_descriptor_o = descriptor_q;
  assign job_number_o     = next_q;
  assign end_ready_o      = running_o && !own;      // one end per clock is kept
  always_comb begin
    running_o = 1'b0;
    for (int unsigned j = 0; j < Jobs; j++) running_o = running_o || jobs_q[j] == JobRuns;
  end

  // ---- HEAD passes the jobs that are done, up to the first that is not
  logic [JobW:0]   passed;
  logic [Jobs-1:0] passes;
  always_comb begin
    passed = '0;
    passes = '0;
    for (int unsigned k = 0; k < Jobs; k++) begin
      if (passed == (JobW+1)'(k) && jobs_q[JobW'(head_q[JobW-1:0] + JobW'(k))] == JobDone) begin
        passed = (JobW+1)'(k + 1);
        passes[JobW'(head_q[JobW-1:0] + JobW'(k))] = 1'b1;
      end
    end
  end

  // ---- Records: the first job from HEAD on that ended
  logic            ended;
  logic [JobW-1:0] ended_job;
  always_comb begin
    ended     = 1'b0;
    ended_job = head_q[JobW-1:0];
    for (int unsigned k = Jobs; k > 0; k--) begin
      if (jobs_q[JobW'(head_q[JobW-1:0] + JobW'(k - 1))] == JobEnded) begin
        ended     = 1'b1;
        ended_job = JobW'(head_q[JobW-1:0] + JobW'(k - 1));
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      record_q   <= RecordNone;
      head_q     <= '0;
      next_q     <= '0;
      behind_q   <= 32'd1;
      halted_q   <= 1'b0;
      barrier_q  <= 1'b0;
      fetching_q <= 1'b0;
      held_q     <= 1'b0;
      for (int unsigned j = 0; j < Jobs; j++) jobs_q[j] <= JobFree;
    end else begin
      if (fetch_valid_o && fetch_ready_i) fetching_q <= 1'b1;
      if (fetched_i) begin
        fetching_q <= 1'b0;
        held_q     <= 1'b1;               // under hold_i nothing uses it, and drop_i forgets it
      end
      for (int unsigned j = 0; j < Jobs; j++) if (passes[j]) jobs_q[j] <= JobFree;
      head_q <= head_q + 32'(passed);
      if (start) begin
        held_q           <= 1'b0;
        next_q           <= behind_q;
        behind_q         <= behind_q + 32'd1;
        jobs_q[next_job] <= own ? JobEnded : JobRuns;
        barrier_q        <= !unread && descriptor_q[30];
      end
      if (end_valid_i && end_ready_o) jobs_q[end_job_i] <= JobEnded;
      unique case (record_q)
        RecordNone:  if (ended && !hold_i) record_q <= RecordRead;
        RecordRead:  record_q <= RecordOffer;
        RecordOffer: if (record_valid_o && record_ready_i) record_q <= RecordWait;
        default: begin
          if (recorded_i) begin
            record_q             <= RecordNone;
            jobs_q[record_job_q] <= JobDone;
            if (started.stop) begin
              barrier_q <= 1'b0;
              halted_q  <= finished.error != '0;
            end
          end
        end
      endcase
      if (doorbell_i) halted_q <= 1'b0;
      if (drop_i) begin
        record_q  <= RecordNone;
        head_q    <= tail_i;              // the next doorbell ends a halt
        next_q    <= tail_i;
        behind_q  <= tail_i + 32'd1;
        barrier_q <= 1'b0;
        held_q    <= 1'b0;
        for (int unsigned j = 0; j < Jobs; j++) jobs_q[j] <= JobFree;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetched_i) begin
      descriptor_q <= fetched_data_i;
      response_q   <= fetched_resp_i;
      ends_q       <= fetched_resp_i[1] || fetched_data_i[7:0] == '0;
      odd_q        <= fetched_data_i[DescriptorW-1:64] != '0 || fetched_data_i[29:8] != '0;
    end
    if (record_q == RecordNone) record_job_q <= ended_job;
    if (start || (doorbell_i && (!more_q || halted_q))) since_q <= time_i;
  end

  // ---- What is kept of the jobs
  start_t started_d;
  end_t   finished_d;
  always_comb begin
    started_d = '{
      number: next_q, irq: !unread && descriptor_q[31], stop: !unread && descriptor_q[30],
      opcode: unread ? '0 : descriptor_q[7:0], tag: unread ? '0 : descriptor_q[63:32],
      start: time_i, since: since_q};
    if (own) begin
      finished_d = '{
        error: unread ? E_BUS_RD : odd_q ? E_RESERVED : '0, detail: '0, count: '0,
        info0: unread ? fetch_address_o[31:0] : '0, info1: unread ? 32'(response_q) : '0,
        at: time_i};
    end else begin
      finished_d = '{
        error: end_error_i, detail: end_detail_i, count: end_count_i, info0: end_info0_i,
        info1: end_info1_i, at: time_i};
    end
  end
  jd_mem_1r1w #(.Depth (Jobs), .Lanes (1), .LaneW ($bits(start_t))) u_starts (
    .clk_i, .rst_ni,
    .write_en_i   (start),
    .write_addr_i (next_job),
    .write_mask_i (1'b1),
    .write_data_i (started_d),
    .read_en_i    (record_q == RecordRead),
    .read_addr_i  (record_job_q),
    .read_data_o  (started)
  );
  jd_mem_1r1w #(.Depth (Jobs), .Lanes (1), .LaneW ($bits(end_t))) u_ends (
    .clk_i, .rst_ni,
    .write_en_i   (own || (end_valid_i && end_ready_o)),
    .write_addr_i (own ? next_job : end_job_i),
    .write_mask_i (1'b1),
    .write_data_i (finished_d),
    .read_en_i    (record_q == RecordRead),
    .read_addr_i  (record_job_q),
    .read_data_o  (finished)
  );

  assign record_valid_o   = record_q == RecordOffer && !hold_i;
  assign record_address_o = cpl_i + {23'd0, started.number[11:0] & slot_mask_q, 5'd0};
  assign record_data_o    = {finished.at, started.start, started.number, finished.count,
                             finished.detail, started.opcode, finished.error, started.tag};
  assign ended_number_o   = started.number;
  assign ended_irq_o      = started.irq;
  assign ended_error_o    = finished.error;
  assign ended_info0_o    = finished.info0;
  assign ended_info1_o    = finished.info1;
  assign ended_since_o    = started.since;
  assign head_o           = head_q;
  assign quiet_o          = !pending_q;

  `JD_ASSUME_IF(FetchedAsked_M, fetched_i, fetching_q)
  `JD_ASSUME_IF(RecordedAsked_M, recorded_i, record_q == RecordWait)
  `JD_ASSUME_IF(EndOwed_M, end_valid_i && !hold_i, jobs_q[end_job_i] == JobRuns)
  `JD_ASSUME_IF(DropQuiet_M, drop_i, hold_i && !fetching_q && record_q != RecordWait)
  `JD_ASSERT_NEXT(JobStable_A, job_valid_o && !job_ready_i && !hold_i && !pause_i,
                  job_valid_o || hold_i || pause_i)
  `JD_ASSERT_STABLE(DescriptorStable_A, job_valid_o && !job_ready_i, job_descriptor_o)
  `JD_ASSERT_IF(StartSubmitted_A, start, next_q != tail_i)
  `JD_ASSERT_IF(FetchSubmitted_A, fetch_valid_o, next_q != tail_i)
  `JD_ASSERT(PassSubmitted_A, 32'(passed) <= next_q - head_q)
  `JD_ASSERT_IF(OneKept_A, own, !(end_valid_i && end_ready_o))
endmodule : jd_engine_ring_many
