// SPDX-License-Identifier: Apache-2.0
//
// Judges a chunk: computes targets, TD errors and seeds of its vectors, one slot of all cores at a
// time. For the actor it writes the seed by which the actor climbs into each vector.
//
//   slots -> q', misc, q -> jd_qat_loss: y -> jd_qat_loss: error, seed -+-> misc, DEL
//                                                                      +-> |td|, vector after vector
//
// Streams  start_i: the ports from actor_i to delta_line_i describe the work and hold until idle_o.
//          read_*: a line of each core's slot; lines_i shows it 3 clocks later. No entry may run
//          then.
//          line_*: a line of each chosen core, into ACT or DEL. Only the seeds of an actor may have
//          to wait. td_*: if weighted_i, |td| of each vector in binary32, in the order of the
//          vectors: a stream. over_o: values that saturated. clear_i drops everything but the sums.
// Timing   Reads begin in the clock after start_i. A slot takes 3 clocks, or N if its |td| take
//          longer to leave. Its lines are written 18 clocks after its first read: misc, seed, and
//          with Lw = 4 the second line of misc. A slot begins only if there is room for its |td|.
//          An actor's seeds are written one slot per clock.
// Numbers  those of jd_qat_loss. Vector v is in core v mod N, slot v / N, or in slot v of all
//          cores. In misc y, q and td are written; reward, discount and weight stay; words after td
//          become 0. A seed is word 0; the other words are 0. Missing vectors are neither summed
//          nor written.
// Source   docs/qat.md (numbers, loss; a vector's slot). Golden model: models/qat/timestep.py.
`include "jd_assert.svh"
module jd_qat_judge
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw       = 16,          // words of a line: 4, 8, 16
  parameter  int unsigned N        = 2,           // cores: 1, 2, 4
  parameter  int unsigned ActLines = 160,         // lines of a slot in ACT
  parameter  int unsigned DelLines = 80,          // in DEL
  localparam int unsigned OverW    = $clog2(3 * N + 1)
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,
  input  logic                             start_i,
  output logic                             idle_o,         // all is read and written
  input  logic                             actor_i,        // the actor's seeds
  input  logic [2:0]                       actor_scale_i,  // 0..6
  input  logic signed [3:0]                scale_i,        // log2 of the critic's loss scale
  input  logic                             weighted_i,     // weights count, |td| are sent
  input  logic [VECTORS_W-1:0]             vectors_i,      // of all cores, 1 or more
  input  logic                             common_i,       // each core has all of them
  input  logic [PLACE_W-1:0]               next_line_i,    // of a slot in ACT: q'
  input  logic [PLACE_W-1:0]               q_line_i,
  input  logic [PLACE_W-1:0]               misc_line_i,
  input  logic [PLACE_W-1:0]               delta_line_i,   // in DEL: the seed
  output logic                             read_valid_o,
  output logic [ADDRESS_W-1:0]             read_address_o,
  input  logic [N-1:0][Lw-1:0][WORD_W-1:0] lines_i,
  output logic                             line_valid_o,
  input  logic                             line_ready_i,
  output logic [N-1:0]                     line_cores_o,
  output logic                             line_delta_o,   // into DEL
  output logic                             line_odd_o,     // half of odd slots
  output logic [ADDRESS_W-1:0]             line_address_o,
  output logic [N-1:0][Lw-1:0][WORD_W-1:0] line_data_o,
  output logic                             td_valid_o,
  input  logic                             td_ready_i,
  output logic [WORD_W-1:0]                td_data_o,
  output logic [OverW-1:0]                 over_o,
  input  logic                             sums_clear_i,   // with nothing under way
  output logic [63:0]                      sum_q_o,
  output logic [63:0]                      sum_td_o,
  output logic [31:0]                      count_o
);
  localparam int unsigned SHOW   = 3;             // clocks from a read to its line
  localparam int unsigned TARGET = 7;             // from reward and discount to the issue of q
  localparam int unsigned ERROR  = 6;             // from there to its results
  localparam int unsigned Misc   = 8;             // words of misc, with those after td
  localparam int unsigned Writes = Lw < Misc ? 3 : 2;   // of a slot
  if (!(N inside {1, 2, 4}) || !(Lw inside {4, 8, 16})) begin : gen_bad_size
    $fatal(1, "jd_qat_judge: N=%0d, want 1, 2 or 4, Lw=%0d, want 4, 8 or 16", N, Lw);
  end
  logic alive;                                    // out of reset, and nothing is dropped
  assign alive = rst_ni && !clear_i;

  // The cores that have a vector of their own in a slot from which on there are so many.
  logic [VECTORS_W-1:0] wide;                     // vectors of a slot
  assign wide = common_i ? VECTORS_W'(1) : VECTORS_W'(N);
  function automatic logic [N-1:0] cores_of(logic [VECTORS_W-1:0] left);
    for (int unsigned c = 0; c < N; c++) cores_of[c] = VECTORS_W'(c) < (left < wide ? left : wide);
  endfunction
  function automatic logic [VECTORS_W-1:0] after_slot(logic [VECTORS_W-1:0] left);
    return left > wide ? left - wide : '0;
  endfunction

  // ---- Reads: q', misc, q of a slot; a slot begins in each third clock, if at all, so that targets and
  // errors never want the loss in the same clock
  typedef enum logic [1:0] {ReadNext, ReadMisc, ReadQ} read_e;
  read_e                read_q, shown;
  logic                 slot_q, takes_slot, room, shows;   // slot_q: this slot is read
  logic [VECTORS_W-1:0] left_q;                   // vectors to be read from this slot on
  logic [ADDRESS_W-1:0] slot_line_q;
  logic [N-1:0]         shown_cores;
  assign takes_slot   = read_q == ReadNext ? left_q != '0 && room : slot_q;
  assign read_valid_o = takes_slot;
  always_comb begin
    unique case (read_q)
      ReadMisc: read_address_o = slot_line_q + ADDRESS_W'(misc_line_i);
      ReadQ:    read_address_o = slot_line_q + ADDRESS_W'(q_line_i);
      default:  read_address_o = slot_line_q + ADDRESS_W'(next_line_i);
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!alive) begin
      left_q <= '0;
      read_q <= ReadNext;
    end else if (start_i) begin
      left_q <= actor_i ? '0 : vectors_i;
      read_q <= ReadNext;
    end else begin
      read_q <= read_q == ReadNext ? ReadMisc : read_q == ReadMisc ? ReadQ : ReadNext;
      if (takes_slot && read_q == ReadQ) left_q <= after_slot(left_q);
    end
    if (read_q == ReadNext) slot_q <= takes_slot;
    if (start_i) slot_line_q <= '0;
    else if (takes_slot && read_q == ReadQ) slot_line_q <= slot_line_q + ADDRESS_W'(ActLines);
  end
  jd_delay #(.Width (1), .Cycles (SHOW)) u_shows (
    .clk_i, .rst_ni (alive), .in_i (takes_slot), .out_o (shows)
  );
  logic [1:0] shown_bits;
  jd_delay #(.Width (2 + N), .Cycles (SHOW), .Clear (1'b0)) u_shown (
    .clk_i, .rst_ni, .in_i ({read_q, cores_of(left_q)}), .out_o ({shown_bits, shown_cores})
  );
  assign shown = read_e'(shown_bits);

  // ---- Targets, then errors: what goes with a slot from its misc on
  logic                                      judges, errs, ends;    // misc shows; q is due; results
  logic [N-1:0]                              err_cores;
  logic [N-1:0][WORD_W-1:0]                  next_q, q, q_end, y_q, y_end, result, td, td_float;
  logic [N-1:0][2:0][WORD_W-1:0]             misc, misc_due, misc_end;   // reward, discount, weight
  logic [N-1:0][24:0]                        weights;
  logic [N-1:0][WORD_W-1:0]                  rewards, discounts, firsts;
  logic [N-1:0]                              found;
  logic                                      found_error;
  assign judges = shows && shown == ReadMisc;
  always_comb begin
    for (int unsigned c = 0; c < N; c++) begin
      misc[c]      = lines_i[c][2:0];
      firsts[c]    = lines_i[c][0];
      rewards[c]   = lines_i[c][0];
      discounts[c] = lines_i[c][1];
      weights[c]   = misc_due[c][2][24:0];
    end
  end
  always_ff @(posedge clk_i) begin
    if (shows && shown == ReadNext) next_q <= firsts;
    y_q <= result;
  end
  jd_delay #(.Width (1), .Cycles (TARGET)) u_errs (
    .clk_i, .rst_ni (alive), .in_i (judges), .out_o (errs)
  );
  jd_delay #(.Width (N), .Cycles (TARGET), .Clear (1'b0)) u_err_cores (
    .clk_i, .rst_ni, .in_i (shown_cores), .out_o (err_cores)
  );
  jd_delay #(.Width (N * 3 * WORD_W), .Cycles (TARGET), .Clear (1'b0)) u_misc_due (
    .clk_i, .rst_ni, .in_i (misc), .out_o (misc_due)
  );
  jd_delay #(.Width (N * WORD_W), .Cycles (TARGET - 1), .Clear (1'b0)) u_q (
    .clk_i, .rst_ni, .in_i (firsts), .out_o (q)
  );
  jd_delay #(.Width (1), .Cycles (ERROR)) u_ends (
    .clk_i, .rst_ni (alive), .in_i (errs), .out_o (ends)
  );
  jd_delay #(.Width (N * 5 * WORD_W), .Cycles (ERROR), .Clear (1'b0)) u_end (
    .clk_i, .rst_ni, .in_i ({misc_due, q, y_q}), .out_o ({misc_end, q_end, y_end})
  );
  logic [WORD_W-1:0] actor_seed;
  jd_qat_loss #(.Lanes (N)) u_loss (
    .clk_i, .rst_ni,
    .in_valid_i      (judges ? shown_cores : errs ? err_cores : '0),
    .in_error_i      (errs),
    .in_weighted_i   (weighted_i),
    .in_scale_i      (scale_i),
    .in_q_i          (errs ? q : next_q),
    .in_y_i          (y_q),
    .in_weight_i     (weights),
    .in_reward_i     (rewards),
    .in_discount_i   (discounts),
    .out_valid_o     (found),
    .out_error_o     (found_error),
    .out_result_o    (result),
    .out_td_o        (td),
    .out_td_float_o  (td_float),
    .out_saturated_o (over_o),
    .clear_i         (sums_clear_i),
    .sum_q_o, .sum_td_o, .count_o, .actor_scale_i,
    .actor_seed_o    (actor_seed)
  );

  // ---- Writes of a slot: misc, seed, what is left of misc
  logic                                writes_q, slot_ends;
  logic [1:0]                          write_q;
  logic [VECTORS_W-1:0]                write_left_q;      // vectors to be written from this slot on
  logic [ADDRESS_W-1:0]                act_line_q, del_line_q;
  logic                                odd_q;
  logic [N-1:0][Misc-1:0][WORD_W-1:0]  misc_q;
  logic [N-1:0][WORD_W-1:0]            seed_q;
  assign line_valid_o   = actor_i ? write_left_q != '0 : writes_q;
  assign line_cores_o   = common_i ? '1 : cores_of(write_left_q);
  assign line_delta_o   = actor_i || write_q == 2'd1;
  assign line_odd_o     = odd_q;
  assign line_address_o = line_delta_o ? del_line_q + ADDRESS_W'(delta_line_i)
                          : act_line_q + ADDRESS_W'(misc_line_i) + ADDRESS_W'(write_q[1]);
  assign slot_ends      = line_valid_o && line_ready_i
                          && (actor_i || write_q == 2'(Writes - 1));
  assign idle_o         = write_left_q == '0;
  always_comb begin
    line_data_o = '0;
    for (int unsigned c = 0; c < N; c++) begin
      if (line_delta_o) begin
        line_data_o[c][0] = actor_i ? actor_seed : seed_q[common_i ? 0 : c];
      end else begin
        for (int unsigned j = 0; j < Lw; j++) begin
          if (j < Misc) line_data_o[c][j] = misc_q[common_i ? 0 : c][3'(j + (write_q[1] ? Lw : 0))];
        end
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (!alive) begin
      writes_q     <= 1'b0;
      write_q      <= '0;
      write_left_q <= '0;
    end else if (start_i) begin
      write_left_q <= vectors_i;
    end else begin
      writes_q <= ends || (writes_q && !slot_ends);
      if (writes_q)  write_q      <= slot_ends ? '0 : write_q + 1'b1;
      if (slot_ends) write_left_q <= after_slot(write_left_q);
    end
    if (start_i) begin
      act_line_q <= '0;
      del_line_q <= '0;
      odd_q      <= 1'b0;
    end else if (slot_ends) begin
      act_line_q <= act_line_q + ADDRESS_W'(ActLines);
      if (odd_q) del_line_q <= del_line_q + ADDRESS_W'(DelLines);
      odd_q      <= !odd_q;
    end
    if (ends) begin
      for (int unsigned c = 0; c < N; c++) begin
        misc_q[c] <= {WORD_W'(0), WORD_W'(0), td[c], q_end[c], y_end[c], misc_end[c]};
      end
      seed_q <= result;
    end
  end

  // ---- |td|: slots that wait, then vector after vector
  localparam int unsigned Room  = 12;
  localparam int unsigned RoomW = $clog2(Room + 1);
  localparam int unsigned CoreW = N > 1 ? $clog2(N) : 1;
  logic                     tds_room, last_core, begins;
  logic [N-1:0]             td_cores;
  logic [N-1:0][WORD_W-1:0] tds;
  logic [RoomW-1:0]         owed_q, unused_tds;
  logic [CoreW-1:0]         core_q;
  assign begins = takes_slot && read_q == ReadNext && weighted_i;
  assign room   = !weighted_i || owed_q != RoomW'(Room);
  jd_stream_fifo #(
    .Width (N + N * WORD_W),
    .Depth (Room)
  ) u_tds (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (ends && weighted_i),
    .in_ready_o  (tds_room),
    .in_data_i   ({found, td_float}),
    .out_valid_o (td_valid_o),
    .out_ready_i (td_ready_i && last_core),
    .out_data_o  ({td_cores, tds}),
    .count_o     (unused_tds)
  );
  assign td_data_o = tds[core_q];
  assign last_core = 32'(core_q) == N - 1 || !td_cores[core_q+1'b1];
  always_ff @(posedge clk_i) begin
    if (!alive) begin
      owed_q <= '0;
      core_q <= '0;
    end else begin
      owed_q <= owed_q + RoomW'(begins) - RoomW'(td_valid_o && td_ready_i && last_core);
      if (td_valid_o && td_ready_i) core_q <= last_core ? '0 : core_q + 1'b1;
    end
  end
  logic unused;
  assign unused = ^unused_tds;

  `JD_ASSUME_IF(StartsIdle_M, start_i, idle_o && vectors_i != '0)
  `JD_ASSUME_STABLE(Held_M, !idle_o, {actor_i, actor_scale_i, scale_i, weighted_i, common_i,
                                      next_line_i, q_line_i, misc_line_i, delta_line_i})
  `JD_ASSUME_IF(LineReady_M, line_valid_o && !actor_i, line_ready_i)
  `JD_ASSERT(OneKind_A, !(judges && errs))
  `JD_ASSERT_IF(EndsInTime_A, ends, found != '0 && found_error)
  `JD_ASSERT_IF(TdRoom_A, ends && weighted_i && !clear_i, tds_room)
  `JD_ASSERT_IF(WritesDone_A, ends, !writes_q || slot_ends)
  `JD_ASSERT_STREAM(TdStable_A, td_valid_o, td_ready_i || clear_i, td_data_o)
endmodule : jd_qat_judge
