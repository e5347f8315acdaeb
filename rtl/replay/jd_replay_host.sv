// SPDX-License-Identifier: Apache-2.0
//
// Ring 1: runs all jobs but sampling ones. Turns array elements into operations, checks each before
// it enters the tree and writes the responses.
//
// Streams  job_*, end_*: of jd_engine_control. item_*: elements of the input array. op_*, sample_*:
//          to the sequencer. word_*: responses, to memory.
// Timing   one operation a clock; a SAMPLE of a STREAM job waits until nothing else of the job is
//          in flight, and what follows it waits for it, so that all take effect in order.
// Numbers  UPDATE_DELTA of a pair is signed 32 bits.
// Source   onchip_replay 2.1.2. Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_host
  import jd_replay_pkg::*;
  import jd_replay_map_pkg::*;
  import jd_replay_job_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_engine_header_map_pkg::E_BUS_WR;
  import jd_engine_header_map_pkg::E_OPCODE;
  import jd_engine_header_map_pkg::E_RESERVED;
  import jd_engine_header_map_pkg::E_TIMEOUT;
#(
  parameter int unsigned NLog2 = 16,     // log2 of the most leaves, 2..20
  parameter int unsigned LeafW = 32      // bits of a leaf, 8..32
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               soft_reset_i,
  input  logic               job_valid_i,
  output logic               job_ready_o,
  input  logic [511:0]       job_descriptor_i,
  input  logic               timeout_i,
  output logic               end_valid_o,
  input  logic               end_ready_i,
  output logic [7:0]         end_error_o,
  output logic [31:0]        end_count_o,
  output logic [31:0]        end_info0_o,
  output logic [31:0]        end_info1_o,
  output logic               busy_o,            // a job is in hand
  output logic               fetching_o,        // it waits for batches to be fetched
  // Clear.
  input  logic               training_busy_i,   // ring 0 has a job
  input  logic               quiet_i,           // nothing in the lanes and the tree
  output logic               hold_o,            // level: let nothing else begin
  output logic               clear_o,           // pulse
  input  logic [31:0]        config_leaves_i,
  input  logic [31:0]        config_pmin_i,
  input  logic [31:0]        config_pclip_i,
  input  logic [31:0]        config_pinit_i,
  // State.
  input  logic [INDEX_W:0]   leaves_i,
  input  logic [INDEX_W-1:0] pointer_i,
  input  logic [INDEX_W:0]   reserved_i,
  input  logic               last_valid_i,      // the batch that was sampled last
  input  logic               last_bank_i,
  input  logic [SLOT_W:0]    last_size_i,
  output logic               mark_o,            // remember the batches to be fetched
  input  logic               fetched_i,         // they are
  // Input.
  output logic               read_start_o,
  output logic               read_abort_o,
  output logic [39:0]        read_address_o,
  output logic [COUNT_W-1:0] read_count_o,
  output logic [2:0]         read_size_log2_o,
  input  logic               item_valid_i,
  output logic               item_ready_o,
  input  logic [127:0]       item_data_i,
  input  logic               read_error_i,
  input  logic [1:0]         read_response_i,
  input  logic               read_idle_i,
  // Operations and their responses.
  output logic               sample_valid_o,
  input  logic               sample_ready_i,
  output sample_request_t    sample_request_o,
  input  logic               sampled_i,
  input  sample_response_t   sample_response_i,
  output logic               op_valid_o,
  input  logic               op_ready_i,
  output lane_op_t           op_o,
  input  logic               updated_i,
  input  update_response_t   update_response_i,
  // Output.
  output logic               write_start_o,
  output logic [39:0]        write_address_o,
  output logic               write_flush_o,
  output logic               word_valid_o,
  input  logic               word_ready_i,
  output logic [127:0]       word_data_o,
  input  logic               write_error_i,
  input  logic [1:0]         write_response_i,
  input  logic               write_idle_i
);
  localparam int unsigned DEPTH  = 64;     // responses on their way to memory
  localparam int unsigned CountW = $clog2(DEPTH + 1);
  localparam logic [31:0] LEAF_LARGEST = 32'((64'd1 << LeafW) - 64'd1);

  typedef enum logic [3:0] {
    StIdle, StCheck, StWait, StClear, StClearing, StRun, StDrain, StFetch, StEnd
  } state_e;
  state_e state_q;

  logic [511:0] descriptor_q;
  job_t         job;
  logic         reads;
  assign job   = job_of(descriptor_q);
  assign reads = job_reads(job);

  // ---- The descriptor
  logic [7:0]  bad;
  logic [31:0] pclip;
  logic        bad_config;
  assign pclip      = (64'(config_pclip_i) >> LeafW) != '0 ? LEAF_LARGEST : config_pclip_i;
  assign bad_config = config_leaves_i == '0 || config_leaves_i > (32'd1 << NLog2) ||
                      config_pinit_i == '0 || (64'(config_pinit_i) >> LeafW) != '0 ||
                      config_pmin_i > pclip;
  always_comb begin
    bad = '0;
    if (state_q == StCheck) begin
      bad = job_error(descriptor_q, 1'b1, leaves_i != '0, '0);
      if (bad == '0 && job.kind == JobClear) begin
        bad = training_busy_i ? E_BUSY : bad_config ? E_CFG : '0;
      end
    end
  end

  // ---- The next operation
  logic [COUNT_W-1:0] issued_q, back_q;
  logic [INDEX_W:0]   reserved_q;      // as the tree's, after what was issued
  logic               sampling_q;      // a sample of this ring is in flight
  lane_op_t           next;
  logic               host_x;
  logic [7:0]         wrong;           // why it may not enter
  logic [31:0]        wrong_index;
  logic [31:0]        word0, word1;
  logic               stream;
  assign word0  = item_data_i[31:0];
  assign word1  = item_data_i[63:32];
  assign stream = job.kind == JobStream;
  always_comb begin
    next          = '0;
    next.host     = 1'b1;
    next.bank     = last_bank_i;
    next.use_pmax = job.flags.use_pmax;
    next.fp32     = job.flags.fp32 && !job.flags.use_pmax;
    next.index    = word0[INDEX_W-1:0];
    next.value    = {{32{word1[31] && job.kind == JobUpdateDelta}}, word1};
    host_x        = 1'b0;
    wrong         = '0;
    wrong_index   = word0;
    case (job.kind)
      JobRetrieve:    next.op = OpRetrieve;
      JobUpdate:      next.op = job.flags.by_slot ? OpUpdateSlot : OpUpdate;
      JobUpdateDelta: next.op = OpUpdateDelta;
      JobInsert:      next.op = OpInsert;
      JobReserve:     next.op = OpReserve;
      JobCommit:      next.op = OpCommit;
      default: begin
        next.op       = op_e'(word0[3:0]);
        next.fp32     = word0[4] && !word0[5];
        next.use_pmax = word0[5];
        host_x        = word0[6];
        next.tag      = word0[23:8];
        next.index    = word1[INDEX_W-1:0];
        next.value    = item_data_i[127:64];
        wrong_index   = word1;
        if (next.op == OpUpdateSlot) next.index = INDEX_W'(word0[23:8]);
        if (word0[3:0] > OpCommit) wrong = E_OPCODE;
        else if (word0[31:24] != '0 || word0[7]) wrong = E_RESERVED;
        else if ((word0[4] && !(next.op inside {OpUpdate, OpUpdateSlot, OpInsert, OpCommit})) ||
                 (word0[5] && !(next.op inside {OpInsert, OpCommit})) ||
                 (word0[6] && next.op != OpSample)) wrong = E_OPCODE;
      end
    endcase
    if (wrong == '0) begin
      case (next.op)
        OpRetrieve, OpUpdate, OpUpdateDelta: begin
          if (wrong_index >= 32'(leaves_i)) wrong = E_INDEX;
        end
        OpUpdateSlot: begin
          if (stream) wrong_index = 32'(word0[23:8]);
          if (!last_valid_i || wrong_index >= 32'(last_size_i)) wrong = E_INDEX;
        end
        OpInsert:  if (reserved_q != '0) wrong = E_INSERT;
        OpCommit:  if (reserved_q == '0) wrong = E_INSERT;
        OpReserve: if (reserved_q >= (leaves_i >> 1)) wrong = E_INSERT;
        default: ;
      endcase
    end
  end

  // ---- Issue
  logic [COUNT_W-1:0] flight;
  logic [CountW-1:0]  word_count;
  logic               present, may, is_sample, issue, refuse, stop;
  assign flight         = issued_q - back_q;
  assign present        = issued_q != job.count && (!reads || item_valid_i);
  assign is_sample      = stream && next.op == OpSample;
  assign may            = state_q == StRun && present && !sampling_q &&
                          flight + COUNT_W'(word_count) < COUNT_W'(DEPTH - 2) &&
                          (!is_sample || flight == '0);
  assign op_valid_o     = may && wrong == '0 && !is_sample;
  assign sample_valid_o = may && wrong == '0 && is_sample;
  assign op_o           = next;
  assign issue          = (op_valid_o && op_ready_i) || (sample_valid_o && sample_ready_i);
  assign refuse         = state_q == StRun && present && !sampling_q && wrong != '0;
  assign item_ready_o   = issue && reads;
  assign stop           = soft_reset_i || timeout_i;
  always_comb begin
    sample_request_o        = '0;
    sample_request_o.tag    = {16'h8000, next.tag};
    sample_request_o.host_x = host_x;
    sample_request_o.x      = next.value[X_W-1:0];
  end

  // ---- Responses
  response_t response;
  logic      empty, respond, word_room;
  host_tag_t sample_tag, update_tag;
  assign sample_tag = sample_response_i.tag;
  assign update_tag = update_response_i.tag;
  assign empty      = sampled_i && sample_response_i.empty;
  assign respond    = updated_i || (sampled_i && !empty);
  always_comb begin
    response = '{status: '0, op: 8'(update_response_i.op), tag: update_tag.tag,
                 extra: update_response_i.old, priority_: update_response_i.priority_,
                 index: 32'(update_response_i.index)};
    if (update_response_i.op == OpNop) response = '{tag: update_tag.tag, default: '0};
    if (sampled_i) begin
      response = '{status: '0, op: 8'(OpSample), tag: sample_tag.tag, extra: ONE,
                   priority_: sample_response_i.priority_, index: sample_response_i.index};
    end
  end

  jd_stream_fifo #(
    .Width(128),
    .Depth(DEPTH)
  ) u_words (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (respond && job.flags.to_memory),
    .in_ready_o  (word_room),
    .in_data_i   (response),
    .out_valid_o (word_valid_o),
    .out_ready_i (word_ready_i),
    .out_data_o  (word_data_o),
    .count_o     (word_count)
  );

  // ---- The job
  logic starts, drained;
  logic [7:0] error_q;
  logic [31:0] count_q, info0_q, info1_q;
  assign drained          = flight == '0 && word_count == '0 && write_idle_i && read_idle_i;
  assign job_ready_o      = state_q == StIdle && !soft_reset_i;
  assign busy_o           = state_q != StIdle;
  assign fetching_o       = state_q == StFetch;
  assign hold_o           = state_q inside {StWait, StClear, StClearing};
  assign clear_o          = state_q == StClear;
  assign starts           = state_q == StCheck && bad == '0 && !soft_reset_i;
  assign read_start_o     = starts && reads;
  assign read_abort_o     = state_q == StDrain;
  assign read_address_o   = job.input_address;
  assign read_count_o     = job.count;
  assign read_size_log2_o = element_log2(job);
  assign write_start_o    = starts && job.flags.to_memory;
  assign write_address_o  = job.output_address;
  assign write_flush_o    = state_q == StDrain && flight == '0 && word_count == '0;
  assign mark_o           = state_q == StDrain && drained;
  assign end_valid_o      = state_q == StEnd && !soft_reset_i;
  assign end_error_o      = error_q;
  assign end_count_o      = count_q;
  assign end_info0_o      = info0_q;
  assign end_info1_o      = info1_q;

  logic finish_ok;                     // all operations done and written
  logic [7:0] finish_error;
  assign finish_ok    = error_q == '0 && !write_error_i;
  assign finish_error = error_q != '0 ? error_q : write_error_i ? E_BUS_WR : '0;

  // The leaf that INSERT or RESERVE would have used.
  logic [INDEX_W+1:0] head_sum, head;
  assign head_sum = {2'd0, pointer_i} + {1'b0, reserved_i};
  assign head     = head_sum >= {1'b0, leaves_i} ? head_sum - {1'b0, leaves_i} : head_sum;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q    <= StIdle;
      reserved_q <= '0;
      issued_q   <= '0;
      back_q     <= '0;
      sampling_q <= 1'b0;
    end else begin
      if (issue) issued_q <= issued_q + 1'b1;
      if (updated_i || sampled_i) back_q <= back_q + 1'b1;
      if (sampled_i) sampling_q <= 1'b0;
      else if (sample_valid_o && sample_ready_i) sampling_q <= 1'b1;
      if (clear_o) reserved_q <= '0;
      else if (issue && next.op == OpReserve) reserved_q <= reserved_q + 1'b1;
      else if (issue && next.op == OpCommit) reserved_q <= reserved_q - 1'b1;
      unique case (state_q)
        StIdle: begin
          if (job_valid_i && job_ready_o) state_q <= StCheck;
          issued_q <= '0;
          back_q   <= '0;
        end
        StCheck: begin
          state_q <= soft_reset_i ? StIdle : bad != '0 ? StEnd :
                     job.kind == JobClear ? StWait : StRun;
        end
        StWait: if (stop || quiet_i) state_q <= stop ? StEnd : StClear;
        StClear: state_q <= StClearing;
        StClearing: if (quiet_i) state_q <= StEnd;
        StRun: begin
          if (stop || refuse || empty || (issued_q == job.count && !sampling_q) ||
              (reads && read_error_i && !item_valid_i)) state_q <= StDrain;
        end
        StDrain: if (drained) begin
          state_q <= job.kind == JobReserve && finish_ok && !soft_reset_i ? StFetch : StEnd;
        end
        StFetch: if (fetched_i || stop) state_q <= StEnd;
        StEnd: if (soft_reset_i || end_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
    end
  end

  always_ff @(posedge clk_i) begin
    if (job_valid_i && job_ready_o) begin
      descriptor_q <= job_descriptor_i;
      count_q      <= '0;
      info0_q      <= '0;
      info1_q      <= '0;
    end
    if (state_q == StCheck) error_q <= bad;
    if (state_q == StRun) begin
      if (stop) error_q <= E_TIMEOUT;
      else if (refuse) begin
        error_q <= wrong;
        info1_q <= wrong_index;
      end else if (empty) begin
        error_q <= E_EMPTY;
        info1_q <= '1;
      end else if (issued_q != job.count && reads && read_error_i && !item_valid_i) begin
        error_q <= E_BUS_RD;
        info1_q <= 32'(read_response_i);
      end
    end
    if (state_q == StWait && stop) error_q <= E_TIMEOUT;
    if (state_q == StFetch && stop && !fetched_i) error_q <= E_TIMEOUT;
    if (state_q == StDrain && drained) begin
      error_q <= finish_error;
      // An empty sample came back, but was no operation done.
      count_q <= 32'(back_q) - (error_q == E_EMPTY ? 32'd1 : 32'd0);
      if (finish_error != '0) info0_q <= 32'(back_q) - (error_q == E_EMPTY ? 32'd1 : 32'd0);
      if (error_q == E_INSERT) info1_q <= 32'(head);
      if (error_q == '0 && write_error_i) info1_q <= 32'(write_response_i);
    end
  end

  `JD_ASSERT_IF(RoomForWords_A, respond && job.flags.to_memory, word_room)
  `JD_ASSERT_IF(ReservedAgree_A, state_q == StIdle && quiet_i, reserved_q == reserved_i)
  `JD_ASSERT_IF(NoneUnasked_A, updated_i || sampled_i, flight != '0)
endmodule : jd_replay_host
