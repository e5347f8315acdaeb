// SPDX-License-Identifier: Apache-2.0
//
// One ring: the next descriptor, the job that the engine has, its completion record, HEAD.
//
// Streams  fetch: asks for a descriptor; one fetched_i answers. job: the descriptor, to the engine;
//          it is withdrawn only under hold_i. end: how the job ended. record: the completion
//          record; one recorded_i answers.
// Timing   A job is offered in the clock after fetched_i, or after recorded_i of the job before if
//          its descriptor was prefetched. One descriptor is prefetched while a job runs, unless
//          that job has the STOP flag, so after a halt no descriptor is held.
// Numbers  job numbers count modulo 2^32; slot = number modulo 2^size_i; times are TIME.
// Source   docs/shell.md, rings. Golden model: verif/engine_control/model.py.
`include "jd_assert.svh"
module jd_engine_ring
  import jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_RESERVED;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic [63:0]  time_i,
  input  logic [39:0]  base_i,            // descriptors, 4 KiB aligned
  input  logic [39:0]  cpl_i,             // records, 4 KiB aligned
  input  logic [3:0]   size_i,            // log2 of the slots
  input  logic [31:0]  tail_i,
  output logic [31:0]  head_o,
  input  logic         doorbell_i,        // TAIL is written in this clock
  input  logic         hold_i,            // soft reset: start nothing
  input  logic         drop_i,            // its last clock: HEAD becomes TAIL
  output logic         fetch_valid_o,
  input  logic         fetch_ready_i,
  output logic [39:0]  fetch_address_o,
  input  logic         fetched_i,
  input  logic [511:0] fetched_data_i,
  input  logic [1:0]   fetched_resp_i,
  output logic         job_valid_o,
  input  logic         job_ready_i,
  output logic [511:0] job_descriptor_o,
  output logic [31:0]  job_number_o,
  output logic         running_o,         // the engine owes an end
  input  logic         end_valid_i,
  output logic         end_ready_o,
  input  logic [7:0]   end_error_i,
  input  logic [15:0]  end_detail_i,
  input  logic [31:0]  end_count_i,
  input  logic [31:0]  end_info0_i,
  input  logic [31:0]  end_info1_i,
  output logic         record_valid_o,
  input  logic         record_ready_i,
  output logic [39:0]  record_address_o,
  output logic [255:0] record_data_o,
  input  logic         recorded_i,
  output logic         ended_irq_o,       // of the job whose record is written: the IRQ flag,
  output logic [7:0]   ended_error_o,     // its error,
  output logic [31:0]  ended_info0_o,     // ERR_INFO0,
  output logic [31:0]  ended_info1_o,     // ERR_INFO1,
  output logic [63:0]  ended_since_o,     // and when its descriptor became the next one
  output logic         quiet_o            // HEAD = TAIL
);
  typedef enum logic [1:0] {
    StNext,    // no job; the descriptor of job HEAD is on its way or held
    StRun,     // job HEAD is with the engine
    StEnd,     // it ended; its record waits
    StRecord   // its record is being written
  } state_e;

  state_e state_q, state_d;
  logic [31:0] head_q, behind_q;          // HEAD, and the job after it
  logic halted_q;
  logic fetching_q;
  logic held_q;                           // descriptor_q holds the next descriptor
  logic [511:0] descriptor_q;
  logic [1:0] response_q;
  logic stop_q, irq_q;
  logic [31:0] tag_q;
  logic [7:0] opcode_q, error_q;
  logic [15:0] detail_q;
  logic [31:0] count_q, info0_q, info1_q;
  logic [63:0] since_q, start_q, end_q;

  // Where the next descriptor and the record are.
  logic [11:0] fetch_number, slot_mask_q;   // numbers of jobs modulo the largest ring
  assign fetch_number = state_q == StNext ? head_q[11:0] : behind_q[11:0];
  always_ff @(posedge clk_i) slot_mask_q <= 12'((13'd1 << size_i) - 13'd1);   // long before a job
  assign fetch_address_o = base_i + {22'd0, fetch_number & slot_mask_q, 6'd0};
  assign record_address_o = cpl_i + {23'd0, head_q[11:0] & slot_mask_q, 5'd0};
  // Whether job HEAD was submitted, and the one after it; one clock late to see a doorbell. The one
  // after is not asked for in the two clocks after HEAD moved.
  logic head_submitted_q, behind_submitted_q;
  always_ff @(posedge clk_i) begin
    head_submitted_q <= rst_ni && !drop_i && (recorded_i ? behind_q != tail_i : head_q != tail_i);
    behind_submitted_q <= behind_q != tail_i;
  end
  assign fetch_valid_o = !held_q && !fetching_q && !halted_q && !hold_i &&
                         (state_q == StNext ? head_submitted_q : behind_submitted_q && !stop_q);

  // A descriptor that could not be read and a NOP end here; all others are the engine's.
  logic present, unread, own, ends_q;     // ends_q: it is one of these
  assign present = state_q == StNext && held_q && !hold_i;
  assign unread = response_q[1];
  assign own = present && ends_q;
  assign job_valid_o = present && !ends_q;
  assign job_descriptor_o = descriptor_q;
  assign job_number_o = head_q;
  assign running_o = state_q == StRun;
  assign end_ready_o = state_q == StRun;
  assign record_valid_o = state_q == StEnd && !hold_i;
  assign record_data_o = {end_q, start_q, head_q, count_q, detail_q, opcode_q, error_q, tag_q};
  assign ended_irq_o = irq_q;
  assign ended_error_o = error_q;
  assign ended_info0_o = info0_q;
  assign ended_info1_o = info1_q;
  assign ended_since_o = since_q;
  assign head_o = head_q;
  assign quiet_o = !head_submitted_q;

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StNext: begin
        if (own) state_d = StEnd;
        else if (job_valid_o && job_ready_i) state_d = StRun;
      end
      StRun: if (end_valid_i) state_d = StEnd;
      StEnd: if (record_valid_o && record_ready_i) state_d = StRecord;
      StRecord: if (recorded_i) state_d = StNext;
      default: state_d = StNext;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StNext;
      head_q <= '0;
      behind_q <= 32'd1;
      halted_q <= 1'b0;
      fetching_q <= 1'b0;
      held_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (fetch_valid_o && fetch_ready_i) fetching_q <= 1'b1;
      if (fetched_i) begin
        fetching_q <= 1'b0;
        held_q <= 1'b1;                   // under hold_i nothing uses it, and drop_i forgets it
      end
      if (own || (job_valid_o && job_ready_i)) held_q <= 1'b0;
      if (recorded_i) begin
        head_q <= behind_q;
        behind_q <= behind_q + 1;
        halted_q <= stop_q && error_q != '0;
      end
      if (doorbell_i) halted_q <= 1'b0;
      if (drop_i) begin
        state_q <= StNext;
        head_q <= tail_i;                 // the next doorbell ends a halt
        behind_q <= tail_i + 1;
        held_q <= 1'b0;
      end
    end
  end

  always_ff @(posedge clk_i) begin
    if (fetched_i) begin
      descriptor_q <= fetched_data_i;
      response_q <= fetched_resp_i;
      ends_q <= fetched_resp_i[1] || fetched_data_i[7:0] == '0;
    end
    if (own || (job_valid_o && job_ready_i)) begin
      opcode_q <= unread ? '0 : descriptor_q[7:0];
      stop_q <= !unread && descriptor_q[30];
      irq_q <= !unread && descriptor_q[31];
      tag_q <= unread ? '0 : descriptor_q[63:32];
      start_q <= time_i;
    end
    if (own) begin
      error_q <= unread ? E_BUS_RD :
                 descriptor_q[511:64] != '0 || descriptor_q[29:8] != '0 ? E_RESERVED : '0;
      detail_q <= '0;
      count_q <= '0;
      info0_q <= unread ? fetch_address_o[31:0] : '0;
      info1_q <= unread ? 32'(response_q) : '0;
      end_q <= time_i;
    end
    if (end_valid_i && end_ready_o) begin
      error_q <= end_error_i;
      detail_q <= end_detail_i;
      count_q <= end_count_i;
      info0_q <= end_info0_i;
      info1_q <= end_info1_i;
      end_q <= time_i;
    end
    if (recorded_i || (doorbell_i && (quiet_o || halted_q))) since_q <= time_i;
  end

  `JD_ASSUME_IF(FetchedAsked_M, fetched_i, fetching_q)
  `JD_ASSUME_IF(RecordedAsked_M, recorded_i, state_q == StRecord)
  `JD_ASSUME_IF(EndOwed_M, end_valid_i && !hold_i, state_q == StRun)
  `JD_ASSUME_IF(DropQuiet_M, drop_i, hold_i && !fetching_q && state_q != StRecord)
  `JD_ASSERT_NEXT(JobStable_A, job_valid_o && !job_ready_i && !hold_i, job_valid_o || hold_i)
  `JD_ASSERT_STABLE(DescriptorStable_A, job_valid_o && !job_ready_i, job_descriptor_o)
  `JD_ASSERT_IF(BusyPending_A, state_q != StNext, head_q != tail_i)
  `JD_ASSERT_IF(HeadSubmitted_A, head_submitted_q, head_q != tail_i)
  `JD_ASSERT_IF(FetchSubmitted_A, fetch_valid_o, (state_q == StNext ? head_q : behind_q) != tail_i)
endmodule : jd_engine_ring
