// SPDX-License-Identifier: Apache-2.0
//
// Fetches the records of one batch and writes them into the sample frames, a word per clock.
//
// Streams  req_i.start begins a batch. Its indices come from SMP or from a list in memory. Each
//          index starts a read of its record, up to the movers' limit in flight; the words return
//          in order. rsp_o.done is high for one clock, two clocks after the last word: all records
//          are in the frames, or rsp_o.error says why not.
//          While req_i.flush is high, the block takes no input, drops returning data and empties
//          itself.
//          A record is [s][a][r][d][s'], with [noise] after it if the program has noise. An action
//          of A words is written after a second copy of s. With linear_i the records are taken in
//          order from the job's first record on, and only the first vector of each.
// Timing   max(words of a record, bus) clocks per record, after one memory latency. With an action
//          of A words, s takes two clocks per word.
// Numbers  address = base + index * stride, below 2^40. The stride is a multiple of 64.
// Source   learner 5.7, 4.3. Golden model: models/learner/engine.py.
`include "jd_assert.svh"
module jd_learner_fetch
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned P       = 16,   // words of a frame row
  parameter  int unsigned BMax    = 64,   // largest batch
  parameter  int unsigned SampleW = 6,    // bits of a sample's number in the batch
  parameter  int unsigned DP      = 1,    // pipelines: sample b is in b % DP, there it is b / DP
  parameter  bit          ActorCritic = 1'b0,   // actions of several words, and noise
  localparam int unsigned LaneW   = $clog2(P),
  localparam int unsigned PipeW   = $clog2(DP) > 0 ? $clog2(DP) : 1
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  // The job, held while it runs.
  input  logic               linear_i,        // the records follow each other
  input  logic               list_i,          // indices from memory, else from SMP
  input  logic [39:0]        data_base_i,
  input  logic [31:0]        stride_i,        // bytes, multiple of 64
  input  logic [31:0]        limit_i,         // N: an index is below
  input  logic [39:0]        list_base_i,
  input  plan_t              plan_i,          // of the program
  input  pass_t              forward_i,       // with linear_i: its input vectors are read
  // The job's fetches, a batch each.
  input  fetch_req_t         req_i,
  output fetch_rsp_t         rsp_o,
  // Indices.
  input  logic               smp_valid_i,
  output logic               smp_ready_o,
  input  logic [127:0]       smp_data_i,
  input  logic               smp_last_i,
  output read_req_t          list_req_o,
  input  read_rsp_t          list_rsp_i,
  // Records.
  output read_req_t          read_req_o,
  input  read_rsp_t          read_rsp_i,
  // Frames: a word of a vector, and with a record's last word its scalars.
  output logic               frame_valid_o,
  input  logic               frame_ready_i,
  output logic [PipeW-1:0]   frame_pipe_o,
  output logic [15:0]        frame_row_o,     // of the frame memory
  output logic [P-1:0]       frame_mask_o,
  output logic [P-1:0][31:0] frame_data_o,
  output logic               scalars_valid_o,
  output logic               scalars_parity_o,
  output logic [SampleW-1:0] scalars_sample_o,
  output scalars_t           scalars_o
);
  import jd_learner_map_pkg::E_INDEX;
  import jd_learner_map_pkg::E_STREAM;
  import jd_engine_header_map_pkg::E_BUS_RD;

  typedef struct packed {
    logic        failed;                 // error != 0
    logic [7:0]  error;
    logic [1:0]  response;
    logic [31:0] weight;
  } entry_t;

  logic [15:0] state_words;              // of the first vector of a record, and its row
  logic [7:0]  state_row;
  assign state_words = linear_i ? forward_i.n_in : plan_i.state_words;
  assign state_row   = linear_i ? forward_i.source : plan_i.state;

  logic        active_q, parity_q, stopped_q;
  logic        ends;                     // the batch, in this clock
  logic [15:0] slot_q;                   // next index to take
  logic        source_last_q, source_end_q;    // the index is the batch's last; no index is left
  logic [15:0] sample_q;                 // record whose words arrive
  logic        sample_last_q;            // it is the batch's last
  logic        one_sample_q, one_word_q; // of the job: a batch, a vector of one
  logic        list_pending_q;           // the list's read is to be asked for
  logic [39:0] list_address_q;
  logic [1:0]  list_lane_q;
  logic [15:0] list_bytes_q;             // of a batch
  logic [31:0] linear_q;                 // next record

  // The list of a batch is taken as it comes. If a beat waited on the bus for the records of
  // earlier beats, it would hold up the data of these records.
  logic                          list_ready, beat_valid, beat_pop;
  logic [1:0]                    beat_resp;
  logic [511:0]                  beat_data;
  logic [$clog2(BMax/4+3)-1:0]   unused_beats;
  jd_stream_fifo #(.Width (514), .Depth (BMax / 4 + 2)) u_list (
    .clk_i, .rst_ni,
    .clear_i     (req_i.flush),
    .in_valid_i  (list_rsp_i.valid && !req_i.flush),
    .in_ready_o  (list_ready),
    .in_data_i   ({list_rsp_i.resp, list_rsp_i.data}),
    .out_valid_o (beat_valid),
    .out_ready_i (beat_pop),
    .out_data_o  ({beat_resp, beat_data}),
    .count_o     (unused_beats)
  );
  assign list_req_o.ready = req_i.flush || list_ready;

  // Source: one index per clock, from SMP or from the list.
  logic [127:0] source_word;
  logic [31:0]  source_index;
  logic         source_valid, source_ready;
  logic [7:0]   source_error;
  always_comb begin
    source_word  = list_i ? beat_data[128*list_lane_q+:128] : smp_data_i;
    source_index = linear_i ? linear_q : source_word[31:0];
    source_valid = active_q && !req_i.flush && !stopped_q && !source_end_q
                   && (linear_i || (list_i ? beat_valid : smp_valid_i));
    source_error = '0;
    if (source_index >= limit_i) source_error = E_INDEX;
    if (list_i) begin
      if (beat_resp != 2'd0) source_error = E_BUS_RD;
    end else if (!linear_i && (source_word[111:96] != slot_q || source_word[127:112] != 16'd1
                               || smp_last_i != source_last_q)) begin
      source_error = E_STREAM;
    end
  end

  // Two stages: the index, then its address.
  logic        index_valid_q, address_valid_q;
  logic        address_take, address_leave;
  logic [31:0] index_q;
  logic [39:0] address_base_q, address_low_q, address_high_q;   // the address is their sum
  entry_t      index_entry_q, address_entry_q, head;
  logic        entry_push, head_valid, head_pop;
  // Room for the entry of an index that enters the address stage. The count is one clock late, so
  // it keeps room for three more: that index, the one before it, and one pushed in the meantime.
  localparam int unsigned ENTRIES = 32;
  logic        room_q;

  assign source_ready = !index_valid_q || address_take;
  assign smp_ready_o  = source_valid && source_ready && !list_i && !linear_i;
  assign beat_pop     = list_i && source_valid && source_ready
                        && (list_lane_q == 2'd3 || source_last_q);

  // A command once offered stays, also under req_i.flush; its entry is then not kept.
  assign read_req_o.cmd_valid   = address_valid_q && !address_entry_q.failed;
  assign read_req_o.cmd_address = address_base_q + address_low_q + address_high_q;
  assign entry_push             = address_leave && !req_i.flush;
  assign address_leave          = address_valid_q
                                  && (address_entry_q.failed || read_rsp_i.cmd_ready);
  assign address_take           = room_q && (!address_valid_q || address_leave);

  logic [15:0] record_words;
  logic        acts_q, noisy_q;          // of a record: A is not 0; there is noise
  always_ff @(posedge clk_i) begin
    acts_q  <= ActorCritic && plan_i.action_words != '0 && !linear_i;
    noisy_q <= ActorCritic && plan_i.noise != '0 && !linear_i;
  end
  if (ActorCritic) begin : gen_record
    logic [15:0] words_q, extra_q;       // of the job
    always_ff @(posedge clk_i) begin
      extra_q <= (acts_q ? plan_i.action_words : 16'd1) + (noisy_q ? plan_i.action_words : 16'd0);
      words_q <= linear_i ? state_words : (state_words << 1) + 16'd2 + extra_q;
    end
    assign record_words = words_q;
  end else begin : gen_fixed_record
    assign record_words = linear_i ? state_words : (state_words << 1) + 16'd3;
  end
  assign read_req_o.cmd_beats   = (record_words + 16'd15) >> 4;
  assign list_bytes_q           = req_i.batch << 4;
  assign list_req_o.cmd_valid   = list_pending_q;
  assign list_req_o.cmd_address = {list_address_q[39:6], 6'd0};
  assign list_req_o.cmd_beats   = 16'((17'(list_address_q[5:0]) + 17'(list_bytes_q)
                                      + 17'd63) >> 6);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q        <= 1'b0;
      stopped_q       <= 1'b0;
      list_pending_q  <= 1'b0;
      index_valid_q   <= 1'b0;
      address_valid_q <= 1'b0;
    end else begin
      if (req_i.start)              active_q <= 1'b1;
      else if (ends || req_i.flush) active_q <= 1'b0;
      if (req_i.start)              stopped_q <= 1'b0;
      else if (source_valid && source_ready && source_error != 8'd0) stopped_q <= 1'b1;
      if (req_i.start && list_i)                       list_pending_q <= 1'b1;
      else if (list_pending_q && list_rsp_i.cmd_ready) list_pending_q <= 1'b0;
      if (source_ready || req_i.flush) index_valid_q <= source_valid;
      if (address_take)       address_valid_q <= index_valid_q && !req_i.flush;
      else if (address_leave) address_valid_q <= 1'b0;
    end
    if (req_i.job_start) begin
      list_address_q <= list_base_i;
    end else if (list_pending_q && list_rsp_i.cmd_ready) begin
      list_address_q <= list_address_q + 40'(list_bytes_q);
    end
    if (req_i.job_start)                               linear_q <= '0;
    else if (source_valid && source_ready && linear_i) linear_q <= linear_q + 32'd1;
    if (req_i.start) begin
      slot_q        <= '0;
      source_last_q <= one_sample_q;
      source_end_q  <= 1'b0;
      parity_q      <= req_i.parity;
      list_lane_q   <= list_address_q[5:4];
    end else if (source_valid && source_ready) begin
      slot_q        <= slot_q + 16'd1;
      source_last_q <= slot_q + 16'd2 == req_i.batch;
      source_end_q  <= source_last_q;
      list_lane_q   <= list_lane_q + 2'd1;
    end
    if (source_valid && source_ready) begin
      index_q       <= source_index;
      index_entry_q <= '{failed: source_error != 8'd0, error: source_error, response: beat_resp,
                         weight: source_word[95:64]};
    end
    if (index_valid_q && address_take) begin
      // One multiplier each: the six low bits of the stride are zero.
      address_base_q  <= data_base_i;
      address_low_q   <= {34'(43'(index_q[16:0]) * 43'(stride_i[31:6])), 6'd0};
      address_high_q  <= {17'(41'(index_q[31:17]) * 41'(stride_i[31:6])), 23'd0};
      address_entry_q <= index_entry_q;
    end
  end

  logic                         entry_ready;
  logic [$clog2(ENTRIES+1)-1:0] entries;
  always_ff @(posedge clk_i) room_q <= 32'(entries) <= ENTRIES - 4;
  jd_stream_fifo #(.Width ($bits(entry_t)), .Depth (ENTRIES)) u_entries (
    .clk_i, .rst_ni,
    .clear_i     (req_i.flush),
    .in_valid_i  (entry_push),
    .in_ready_o  (entry_ready),
    .in_data_i   (address_entry_q),
    .out_valid_o (head_valid),
    .out_ready_i (head_pop),
    .out_data_o  (head),
    .count_o     (entries)
  );
  // Words of the record at the head: s, a, r, d, s', noise. An int32 a is a scalar as r and d.
  typedef enum logic [2:0] { PartState, PartScalar, PartNext, PartAction, PartNoise } part_e;
  part_e       part_q;
  part_e       last_part_q;              // of the job: the last part of a record
  logic [15:0] left_q;                   // position in the part
  logic [15:0] rest_q;                   // words of the vector from there on
  logic [3:0]  word_q;                   // position in the beat
  logic [31:0] action_q, reward_q, discount_q;
  logic        part_last_q;              // left_q is the part's last
  logic        again_q, advance;         // s: the word goes to a second place; the word is finished
  logic        one_action_q;             // of the job: A is 1
  // Properties of the present word, in registers because the records' ready depends on them: an
  // int32; the record's last; the last of its beat; finished when it is taken.
  logic        scalar_q, word_last_q, beat_last_q, once_q;
  logic        vector_ready;
  logic        word_valid, take, bad;

  // The words of a beat with an error go to frames and scalars that no step will read.
  assign bad        = head_valid && (head.failed
                                     || (read_rsp_i.valid && read_rsp_i.resp != 2'd0));
  assign word_valid       = active_q && !req_i.flush && head_valid && !head.failed
                            && read_rsp_i.valid;
  assign advance          = take && once_q;
  assign take             = word_valid && (vector_ready || scalar_q);
  assign read_req_o.ready = req_i.flush || (advance && beat_last_q);
  assign head_pop         = take && word_last_q;

  logic [31:0] word;
  logic [15:0] state_base_q, next_base_q;      // rows of the sample's s and s'
  logic [15:0] action_base_q, noise_base_q, base;
  logic [1:0][7:0] state_first_q, next_first_q;  // of the first sample's, by parity
  logic [1:0][7:0] action_first_q, noise_first_q;
  always_comb begin
    unique case (part_q)
      PartState:  base = ActorCritic && again_q ? action_base_q : state_base_q;
      PartAction: base = action_base_q;
      PartNoise:  base = noise_base_q;
      default:    base = next_base_q;
    endcase
  end
  assign word       = read_rsp_i.data[32*word_q+:32];
  // The next word.
  part_e      next_part;
  logic       next_part_last, next_last;
  logic [3:0] next_word;
  always_comb begin
    next_part      = part_q;
    next_part_last = scalar_q ? left_q[1:0] == 2'd1 : rest_q == 16'd2;
    if (word_last_q) begin
      next_part      = PartState;
      next_part_last = one_word_q;
    end else if (part_last_q) begin
      unique case (part_q)
        PartState: begin
          next_part      = acts_q ? PartAction : PartScalar;
          next_part_last = acts_q && one_action_q;
        end
        PartAction: begin
          next_part      = PartScalar;
          next_part_last = 1'b0;
        end
        PartScalar: begin
          next_part      = PartNext;
          next_part_last = one_word_q;
        end
        default: begin                         // s', with noise after
          next_part      = PartNoise;
          next_part_last = one_action_q;
        end
      endcase
    end
    next_word = word_last_q ? 4'd0 : word_q + 4'd1;
    next_last = next_part == last_part_q && next_part_last;
  end
  // The words pass a skid, so that the records' ready does not depend on the pipeline's writes.
  // Words in it at the end of a batch are written before its step can begin, also under
  // req_i.flush.
  logic [LaneW-1:0] lane;
  logic [31:0]      lane_word;
  logic [PipeW-1:0] pipe;                // of the sample
  assign pipe = PipeW'(sample_q & 16'(DP - 1));
  jd_stream_skid #(.Width (PipeW + 16 + LaneW + 32)) u_frame (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (take && !scalar_q),
    .in_ready_o  (vector_ready),
    .in_data_i   ({pipe, base + (left_q >> LaneW), left_q[LaneW-1:0], word}),
    .out_valid_o (frame_valid_o),
    .out_ready_i (frame_ready_i),
    .out_data_o  ({frame_pipe_o, frame_row_o, lane, lane_word})
  );
  assign frame_mask_o     = P'(1) << lane;
  assign frame_data_o     = {P{lane_word}};
  assign scalars_valid_o  = head_pop;
  assign scalars_parity_o = parity_q;
  assign scalars_sample_o = sample_q[SampleW-1:0];
  assign scalars_o = '{action: action_q, reward: reward_q, discount: discount_q,
                       weight: head.weight};

  assign ends = active_q && !req_i.flush && ((take && word_last_q && sample_last_q) || bad);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) rsp_o.done <= 1'b0;
    else         rsp_o.done <= ends;
    rsp_o.error    <= !bad ? 8'd0 : head.failed ? head.error : E_BUS_RD;
    rsp_o.response <= head.failed ? head.response : read_rsp_i.resp;
    rsp_o.slot     <= 32'(sample_q);
  end

  always_ff @(posedge clk_i) begin
    one_sample_q  <= req_i.batch == 16'd1;
    last_part_q   <= linear_i ? PartState : noisy_q ? PartNoise : PartNext;
    one_word_q    <= state_words == 16'd1;
    state_first_q <= {state_row + plan_i.state_rows, state_row};
    next_first_q  <= {plan_i.next_state + plan_i.state_rows, plan_i.next_state};
    if (ActorCritic) begin
      one_action_q   <= plan_i.action_words == 16'd1;
      action_first_q <= {plan_i.action + plan_i.state_rows, plan_i.action};
      noise_first_q  <= {plan_i.noise + plan_i.state_rows, plan_i.noise};
    end
    if (req_i.start) begin
      scalar_q      <= 1'b0;
      word_last_q   <= last_part_q == PartState && one_word_q;
      beat_last_q   <= last_part_q == PartState && one_word_q;
      once_q        <= !acts_q;
      sample_q      <= '0;
      sample_last_q <= one_sample_q;
      state_base_q  <= 16'(state_first_q[req_i.parity]);
      next_base_q   <= 16'(next_first_q[req_i.parity]);
      action_base_q <= 16'(action_first_q[req_i.parity]);
      noise_base_q  <= 16'(noise_first_q[req_i.parity]);
      again_q       <= 1'b0;
      part_q        <= PartState;
      part_last_q   <= one_word_q;
      left_q        <= '0;
      rest_q        <= state_words;
      word_q        <= '0;
    end else if (take && !advance) begin
      again_q <= 1'b1;
      once_q  <= 1'b1;
    end else if (advance) begin
      again_q     <= 1'b0;
      word_q      <= next_word;
      part_q      <= next_part;
      part_last_q <= next_part_last;
      scalar_q    <= next_part == PartScalar;
      word_last_q <= next_last;
      beat_last_q <= next_last || next_word == 4'd15;
      once_q      <= !(acts_q && next_part == PartState);
      left_q      <= part_last_q ? '0 : left_q + 16'd1;
      rest_q      <= part_last_q ? state_words : rest_q - 16'd1;
      if (word_last_q) begin
        sample_q      <= sample_q + 16'd1;
        sample_last_q <= sample_q + 16'd2 == req_i.batch;
        if (pipe == PipeW'(DP - 1)) begin
          state_base_q  <= state_base_q + 16'(plan_i.frame_rows);
          next_base_q   <= next_base_q + 16'(plan_i.frame_rows);
          action_base_q <= action_base_q + 16'(plan_i.frame_rows);
          noise_base_q  <= noise_base_q + 16'(plan_i.frame_rows);
        end
      end else begin
        if (part_q == PartState && part_last_q && acts_q) begin   // a follows s
          left_q <= left_q + 16'd1;
          rest_q <= plan_i.action_words;
        end
        if (part_q == PartAction && part_last_q) left_q <= 16'd1;
        if (part_q == PartNext && part_last_q)   rest_q <= plan_i.action_words;
        if (scalar_q) begin
          if (left_q[1:0] == 2'd0) action_q   <= word;
          if (left_q[1:0] == 2'd1) reward_q   <= word;
          if (part_last_q)         discount_q <= word;
        end
      end
    end
  end

  assign rsp_o.busy       = active_q || index_valid_q || address_valid_q || list_pending_q;
  assign rsp_o.wait_index = active_q && !list_i && !linear_i && !source_end_q && !smp_valid_i
                            && !stopped_q;

  `JD_ASSERT_STREAM(CommandStable_A, read_req_o.cmd_valid, read_rsp_i.cmd_ready,
                    {read_req_o.cmd_address, read_req_o.cmd_beats})
  `JD_ASSERT_IF(StrideOfBeats_A, req_i.start, stride_i[5:0] == '0)
  `JD_ASSERT_IF(EntryHasRoom_A, entry_push, entry_ready)
  `JD_ASSERT_IF(SourceLast_A, active_q, source_last_q == (slot_q + 16'd1 == req_i.batch)
                                        && source_end_q == (slot_q == req_i.batch))
  `JD_ASSERT_IF(SampleLast_A, active_q, sample_last_q == (sample_q + 16'd1 == req_i.batch))
  `JD_ASSERT_IF(WordInHand_A, active_q && !req_i.start,
                scalar_q == (part_q == PartScalar)
                && word_last_q == (part_q == last_part_q && part_last_q)
                && beat_last_q == (word_last_q || word_q == 4'd15)
                && once_q == !(acts_q && part_q == PartState && !again_q))
  logic [15:0] part_end;
  always_comb begin
    unique case (part_q)
      PartScalar: part_end = 16'd3;
      PartAction: part_end = state_words + plan_i.action_words;
      PartNoise:  part_end = plan_i.action_words;
      default:    part_end = state_words;
    endcase
  end
  `JD_ASSERT_IF(PartLast_A, active_q, part_last_q == (left_q + 16'd1 == part_end))
  `JD_ASSERT_IF(StartWhenIdle_A, req_i.start, !rsp_o.busy && !req_i.flush)
endmodule : jd_learner_fetch
