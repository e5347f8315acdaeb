// SPDX-License-Identifier: Apache-2.0
//
// Delivers sampled batches: reads the memo, computes the weight of every sample, and sends the
// words to SMP, to memory, or to both.
//
// Streams  smp_*: to the learner. word_*: to memory. Words come in the order of slots; the last
//          word of a batch has `last`.
// Timing   start_i (a pulse) begins a job. A slot is read as soon as the memo has it; batches
//          follow one another without a gap. One word per clock. delivered_o comes when the last
//          word of a batch enters the buffers; drained_o (level) is high when all words have left
//          them.
// Numbers  weights are (p_min / p)^beta in FP32, or 1.0 without weights.
// Source   onchip_replay 3.1. Golden model: models/replay/weights.py.
`include "jd_assert.svh"
module jd_replay_results
  import jd_replay_pkg::*;
  import jd_replay_job_pkg::*;
(
  input  logic                       clk_i,
  input  logic                       rst_ni,
  input  logic                       start_i,
  input  logic [SLOT_W:0]            size_i,         // of the job's batches
  input  logic                       weights_i,
  input  logic                       to_stream_i,
  input  logic                       to_memory_i,
  input  logic [31:0]                beta_i,
  output logic                       beta_step_o,    // pulse: the samples after have the next beta
  input  logic                       stop_i,         // level: read no more
  input  logic                       fail_i,         // pulse, while nothing is read: send one word,
                                                     // unless the buffer is full
  input  logic [7:0]                 fail_status_i,
  input  logic                       link_clear_i,   // empty SMP
  output logic                       sent_o,         // pulse: a word goes into the buffers
  output logic                       delivered_o,    // it is a batch's last
  output logic                       empty_o,        // a sample found a total of 0: send no more
  output logic                       quiet_o,        // nothing is read or on its way
  output logic                       drained_o,
  output logic                       stored_o,       // as drained_o, of memory alone
  output logic                       duplicate_o,    // the leaf of the slot before came again
  // Memo
  input  logic                       read_valid_i,
  output logic                       read_en_o,
  input  logic                       read_empty_i,
  input  logic                       read_void_i,    // with read_valid_i: drop its batch
  input  logic [INDEX_W-1:0]         read_index_i,
  input  logic [LEAF_MAX_W-1:0]      read_priority_i,
  input  logic [LEAF_MAX_W-1:0]      read_lowest_i,
  // Words
  output logic                       smp_valid_o,
  input  logic                       smp_ready_i,
  output logic [127:0]               smp_data_o,
  output logic                       smp_last_o,
  output logic                       word_valid_o,
  input  logic                       word_ready_i,
  output logic [127:0]               word_data_o
);
  localparam int unsigned DEPTH  = 32;    // words of a buffer; one place is for the failing word
  localparam int unsigned CountW = $clog2(DEPTH + 1);

  typedef struct packed {
    logic [SLOT_W-1:0]     slot;
    logic                  last;
    logic [INDEX_W-1:0]    index;
    logic [LEAF_MAX_W-1:0] priority_;
  } sample_t;

  // ---- Reads
  logic              active_q, weights_q, stream_q, memory_q;
  logic [SLOT_W:0]   size_q, next_q;
  logic [4:0]        flight_q;     // slots read whose word is not in a buffer
  logic [CountW-1:0] smp_count, word_count, fullest;
  logic              read, last, data_q, data_last_q, direct_q, weigh_q, room_q;
  logic [SLOT_W-1:0] data_slot_q;
  logic              push, taken;
  assign fullest     = smp_count > word_count ? smp_count : word_count;
  assign read        = active_q && !stop_i && !empty_o && read_valid_i && room_q;
  assign last        = next_q + 1'b1 == size_q;
  assign read_en_o   = read;
  assign taken       = data_q && !read_empty_i && !empty_o;   // goes on as a word
  assign quiet_o     = !data_q && flight_q == '0;
  assign beta_step_o = taken && data_last_q && weights_q;

  // A leaf drawn twice in a row.
  logic [INDEX_W-1:0] index_q;
  always_ff @(posedge clk_i) begin
    duplicate_o <= rst_ni && taken && data_slot_q != '0 && read_index_i == index_q;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q <= 1'b0;
      empty_o  <= 1'b0;
      data_q   <= 1'b0;
      direct_q <= 1'b0;
      weigh_q  <= 1'b0;
      room_q   <= 1'b0;
      flight_q <= '0;
    end else begin
      if (start_i)     active_q <= 1'b1;
      else if (stop_i) active_q <= 1'b0;
      if (start_i)                                                empty_o <= 1'b0;
      else if ((data_q && read_empty_i) || (read && read_void_i)) empty_o <= 1'b1;
      data_q   <= read;
      direct_q <= read && !weights_q;
      weigh_q  <= read && weights_q;
      // A clock late: the read of the clock between takes one place more.
      room_q   <= 6'(fullest) + 6'(flight_q) < 6'(DEPTH - 2);
      // One comes in; a word leaves, a slot that was read ends.
      unique case ({read, push, data_q && !taken})
        3'b100:         flight_q <= flight_q + 5'd1;
        3'b010, 3'b001: flight_q <= flight_q - 5'd1;
        3'b011:         flight_q <= flight_q - 5'd2;
        3'b111:         flight_q <= flight_q - 5'd1;
        default:        ;
      endcase
    end
    if (start_i) begin
      size_q    <= size_i;
      weights_q <= weights_i;
      stream_q  <= to_stream_i;
      memory_q  <= to_memory_i;
      next_q    <= '0;
    end else if (read) begin
      next_q <= last ? '0 : next_q + 1'b1;
    end
    if (read) begin
      data_slot_q <= next_q[SLOT_W-1:0];
      data_last_q <= last;
    end
    if (taken) index_q <= read_index_i;
  end

  // ---- Weights; without them the samples go past the unit.
  sample_t     sample, waiting;
  logic        weigh;
  logic        weight_valid, waiting_valid, waiting_ready;
  logic [31:0] weight;
  assign weigh  = weigh_q && !read_empty_i && !empty_o;
  assign sample = '{slot: data_slot_q, last: data_last_q, index: read_index_i,
                    priority_: read_priority_i};

  jd_stream_fifo #(
    .Width($bits(sample_t)),
    .Depth(16)
  ) u_waiting (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (weigh),
    .in_ready_o  (waiting_ready),
    .in_data_i   (sample),
    .out_valid_o (waiting_valid),
    .out_ready_i (weight_valid),
    .out_data_o  (waiting),
    .count_o     ()
  );

  jd_replay_weight u_weight (
    .clk_i,
    .rst_ni,
    .beta_i,
    .minimum_i  (read_lowest_i),
    .valid_i    (weigh),
    .priority_i (read_priority_i),
    .valid_o    (weight_valid),
    .weight_o   (weight)
  );

  // ---- Words
  sample_t   sent;
  response_t word;
  logic      smp_ready, word_ready, smp_push, word_push, smp_empty_q;
  assign push = weight_valid || (direct_q && !read_empty_i && !empty_o);
  assign sent = weights_q ? waiting : sample;
  assign sent_o      = push;
  assign delivered_o = push && sent.last;
  assign smp_push  = (push && stream_q) || (fail_i && smp_ready);
  assign word_push = push && memory_q;
  always_comb begin
    word = '{status: '0, op: 8'(OpSample), tag: 16'(sent.slot),
             extra: weights_q ? weight : ONE, priority_: sent.priority_, index: 32'(sent.index)};
    if (fail_i) begin
      word = '{status: fail_status_i, op: 8'(OpSample), tag: '0, extra: '0, priority_: '0,
               index: '1};
    end
  end

  jd_stream_fifo #(
    .Width(129),
    .Depth(DEPTH)
  ) u_smp (
    .clk_i,
    .rst_ni,
    .clear_i     (link_clear_i),
    .in_valid_i  (smp_push),
    .in_ready_o  (smp_ready),
    .in_data_i   ({fail_i || sent.last, word}),
    .out_valid_o (smp_valid_o),
    .out_ready_i (smp_ready_i),
    .out_data_o  ({smp_last_o, smp_data_o}),
    .count_o     (smp_count)
  );

  jd_stream_fifo #(
    .Width(128),
    .Depth(DEPTH)
  ) u_words (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (word_push),
    .in_ready_o  (word_ready),
    .in_data_i   (word),
    .out_valid_o (word_valid_o),
    .out_ready_i (word_ready_i),
    .out_data_o  (word_data_o),
    .count_o     (word_count)
  );

  // The buffers are empty, found in the clock before.
  assign drained_o = smp_empty_q && stored_o;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      smp_empty_q <= 1'b1;
      stored_o    <= 1'b1;
    end else begin
      smp_empty_q <= link_clear_i ||
                     (!smp_push && (smp_count == '0 ||
                                    (smp_count == CountW'(1) && smp_valid_o && smp_ready_i)));
      stored_o    <= !word_push && (word_count == '0 ||
                                    (word_count == CountW'(1) && word_valid_o && word_ready_i));
    end
  end

  `JD_ASSUME_IF(StartWhileQuiet_M, start_i, quiet_o)
  `JD_ASSUME_IF(FailWhileQuiet_M, fail_i, quiet_o && !active_q)
  `JD_ASSERT(Drained_A, drained_o == (smp_count == '0 && word_count == '0))
  `JD_ASSERT(Stored_A, stored_o == (word_count == '0))
  `JD_ASSERT(Direct_A, direct_q == (data_q && !weights_q) && weigh_q == (data_q && weights_q))
  `JD_ASSERT_IF(RoomForSmp_A, push && stream_q, smp_ready)
  `JD_ASSERT_IF(RoomForWords_A, push && memory_q, word_ready)
  `JD_ASSERT_IF(RoomBesideWeights_A, weigh, waiting_ready)
  `JD_ASSERT_IF(InStep_A, weight_valid, waiting_valid)
endmodule : jd_replay_results
