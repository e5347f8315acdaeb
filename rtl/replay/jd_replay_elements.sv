// SPDX-License-Identifier: Apache-2.0
//
// The input of ring 1: reads a job's array and makes one operation of each element. It marks an
// element that is illegal by itself. A job without an array has as many operations as its count; a
// CHECK has one per leaf.
//
// Streams  out_*: operations, in order. mem_*: the array.
// Timing   One operation per clock, one clock after its element. take_i comes first, then load_i,
//          then start_i, at the same time or later. While abort_i is high no operation comes, and
//          data requested from memory are dropped.
// Numbers  the value of an UPDATE_DELTA is signed, 32 bits.
// Source   onchip_replay 2.1.2. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_elements
  import jd_axi_pkg::*;
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
  import jd_engine_header_map_pkg::E_OPCODE;
  import jd_engine_header_map_pkg::E_RESERVED;
#(
  parameter int unsigned NLog2 = 16      // log2 of the most leaves, 2..20
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  job_t             job_i,        // holds still from take_i on
  input  logic             take_i,       // pulse: look at it
  input  logic             load_i,       // pulse: read its array
  input  logic             start_i,      // pulse: operations may come
  input  logic             abort_i,      // level, until the next job
  input  logic [INDEX_W:0] leaves_i,     // N
  output logic             out_valid_o,
  input  logic             out_ready_i,
  output element_t         out_data_o,
  output logic             more_o,       // operations are left that did not come out
  output logic             broken_o,     // the next element could not be read;
  output logic [1:0]       response_o,   // what memory answered
  output logic             waiting_o,    // for memory
  output logic             idle_o,       // nothing is in flight at the memory
  output axi_read_req_t    mem_req_o,
  input  axi_read_rsp_t    mem_rsp_i
);
  // ---- What the job is
  op_e  kind_q;                        // operation of its elements, but for streams
  logic reads_q, stream_q, delta_q, check_q;
  op_e  kind;
  always_comb begin
    case (job_i.kind)
      JobRetrieve:    kind = OpRetrieve;
      JobUpdate:      kind = job_i.flags.by_slot ? OpUpdateSlot : OpUpdate;
      JobUpdateDelta: kind = OpUpdateDelta;
      JobInsert:      kind = OpInsert;
      JobReserve:     kind = OpReserve;
      JobCheck:       kind = OpCheck;
      default:        kind = OpCommit;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (take_i) begin
      kind_q   <= kind;
      reads_q  <= job_reads(job_i);
      stream_q <= job_i.kind == JobStream;
      delta_q  <= job_i.kind == JobUpdateDelta;
      check_q  <= job_i.kind == JobCheck;
    end
  end

  // ---- Elements
  logic         item_valid, item_ready, read_error;
  logic [127:0] item;
  jd_axi_array_reader #(
    .CountW (COUNT_W)
  ) u_items (
    .clk_i,
    .rst_ni,
    .start_i      (load_i && reads_q),
    .address_i    (job_i.input_address),
    .count_i      (job_i.count),
    .size_log2_i  (element_log2(job_i)),
    .abort_i,
    .item_valid_o (item_valid),
    .item_ready_i (item_ready),
    .item_data_o  (item),
    .error_o      (read_error),
    .response_o,
    .idle_o,
    .mem_req_o,
    .mem_rsp_i
  );
  assign waiting_o = !item_valid && !idle_o;

  // ---- Operations
  element_t           made;
  logic [COUNT_W-1:0] left_q;          // operations that are not made yet
  logic               more_q;          // not 0
  logic [31:0]        word0, word1;
  logic               outside0, outside1;   // no leaf has the index that they are
  assign word0 = item[31:0];
  assign word1 = item[63:32];
  always_comb begin
    made             = '0;
    made.op.op       = kind_q;
    made.op.host     = 1'b1;
    made.op.use_pmax = job_i.flags.use_pmax;
    made.op.fp32     = job_i.flags.fp32 && !job_i.flags.use_pmax;
    made.op.index    = word0[INDEX_W-1:0];
    made.op.value    = {{32{word1[31] && delta_q}}, word1};
    made.error_index = word0;
    if (check_q) made.op.index = INDEX_W'(NLog2'(-left_q));   // 0, 1, ...
    if (stream_q) begin
      made.op.op       = op_e'(word0[3:0]);
      made.op.fp32     = word0[4] && !word0[5];
      made.op.use_pmax = word0[5];
      made.op.tag      = word0[23:8];
      made.op.index    = word1[INDEX_W-1:0];
      made.op.value    = item[127:64];
      made.host_x      = word0[6];
      made.error_index = word1;
      if (made.op.op == OpUpdateSlot) made.op.index = INDEX_W'(word0[23:8]);
      if (word0[3:0] > OpCommit) made.error = E_OPCODE;
      else if (word0[31:24] != '0 || word0[7]) made.error = E_RESERVED;
      else if ((word0[4] && !(made.op.op inside {OpUpdate, OpUpdateSlot, OpInsert, OpCommit})) ||
               (word0[5] && !(made.op.op inside {OpInsert, OpCommit})) ||
               (word0[6] && made.op.op != OpSample)) made.error = E_OPCODE;
      else if (made.op.op == OpUpdateSlot) made.error_index = 32'(word0[23:8]);
    end
    made.sample  = stream_q && made.op.op == OpSample;
    made.slot    = made.op.op == OpUpdateSlot;
    made.insert  = made.op.op == OpInsert;
    made.commit  = made.op.op == OpCommit;
    made.reserve = made.op.op == OpReserve;
    made.beyond  = stream_q ? word0[23:8+SLOT_W] != '0 : word0[31:SLOT_W] != '0;
    outside0     = word0[31:INDEX_W+1] != '0 || word0[INDEX_W:0] >= leaves_i;
    outside1     = word1[31:INDEX_W+1] != '0 || word1[INDEX_W:0] >= leaves_i;
    made.outside = made.op.op inside {OpRetrieve, OpUpdate, OpUpdateDelta} &&
                   (stream_q ? outside1 : outside0);
    made.fine    = made.error == '0;
  end

  logic offered, room;
  assign offered    = more_q && (!reads_q || item_valid);
  assign item_ready = more_q && reads_q && room;
  assign more_o     = more_q || out_valid_o;
  assign broken_o   = reads_q && more_q && read_error && !item_valid && !out_valid_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)              more_q <= 1'b0;
    else if (start_i)         more_q <= 1'b1;
    else if (abort_i)         more_q <= 1'b0;
    else if (offered && room) more_q <= left_q != COUNT_W'(1);
    if (load_i)               left_q <= check_q ? COUNT_W'(1 << NLog2) : job_i.count;
    else if (offered && room) left_q <= left_q - 1'b1;
  end

  jd_stream_skid #(
    .Width($bits(element_t))
  ) u_skid (
    .clk_i,
    .rst_ni,
    .clear_i     (abort_i),
    .in_valid_i  (offered),
    .in_ready_o  (room),
    .in_data_i   (made),
    .out_valid_o,
    .out_ready_i,
    .out_data_o
  );

  `JD_ASSUME_IF(LoadWhileEmpty_M, load_i, !more_q && !out_valid_o && !abort_i)
  `JD_ASSERT_IF(Left_A, more_q, left_q != '0)
endmodule : jd_replay_elements
