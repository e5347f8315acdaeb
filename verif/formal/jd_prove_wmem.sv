// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_qat_wmem: loads, bias lines, single reads and the optimizer get the line that they asked
// for as it was in the clock of their request, 3 clocks after it (of loads: the line of each core); no
// two of them read one memory of a group in the same clock, and bias lines and reads wait for nothing
// else but room. A bias line counts from its request on: never more than Biases are owed, the queue has room for
// each (BiasRoom_A), none is lost, doubled or overtaken, and each can be popped 5 clocks after it was taken
// or when those before it are.
//
// Method       induction. watched_line_i of watched_target_i is any line, what was written there last is
//              kept; a bias line that pick_i chooses freely is followed: how many are ahead of it. Five
//              clocks of induction span the way from a request to the queue.
// Assumptions  no line is read in the clock in which it is written; all lines are there; those of the
//              block. A clear is held until bias lines under way have come to their end (ClearLasts_M).
//              Reset at any time.
`include "jd_assert.svh"
module jd_prove_wmem
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw     = 1,
  parameter  int unsigned N      = 2,
  parameter  int unsigned Lines  = 5,
  parameter  int unsigned Biases = 3,
  localparam int unsigned CountW = $clog2(Biases + 1)
) (
  input logic                             clk_i,
  input logic                             rst_ni,
  input logic                             clear_i,
  input logic                             load_valid_i,
  input weights_t                         load_i,
  input logic                             bias_valid_i,
  input logic                             bias_target_i,
  input logic [LINE_W-1:0]                bias_address_i,
  input logic                             bias_pop_i,
  input logic                             read_valid_i,
  input logic                             read_target_i,
  input logic [LINE_W-1:0]                read_address_i,
  input logic                             write_valid_i,
  input logic                             write_target_i,
  input logic [LINE_W-1:0]                write_address_i,
  input logic [Lw-1:0][WORD_W-1:0]        write_line_i,
  input logic                             adam_read_i,
  input logic [LINE_W-1:0]                adam_source_i,
  input logic                             adam_write_i,
  input logic [LINE_W-1:0]                adam_sink_i,
  input logic [1:0][Lw-1:0][WORD_W-1:0]   adam_lines_i,
  input logic                             watched_target_i,
  input logic [LINE_W-1:0]                watched_line_i,
  input logic                             pick_i
);
  logic                             load_valid, load_by_row, load_opens, bias_ready, bias_come;
  logic [3:0]                       load_index;
  logic [N-1:0][Lw-1:0][WORD_W-1:0] load_lines;
  logic [Lw-1:0][WORD_W-1:0]        bias_line, read_line;
  logic                             read_ready, read_valid;
  logic [1:0][Lw-1:0][WORD_W-1:0]   adam_lines;
  jd_qat_wmem #(.Lw (Lw), .N (N), .Lines (Lines), .Biases (Biases)) u_dut (
    .clk_i,
    .rst_ni,
    .clear_i,
    .load_valid_i,
    .load_i,
    .load_valid_o  (load_valid),
    .load_by_row_o (load_by_row),
    .load_index_o  (load_index),
    .load_opens_o  (load_opens),
    .load_lines_o  (load_lines),
    .bias_valid_i,
    .bias_ready_o  (bias_ready),
    .bias_target_i,
    .bias_address_i,
    .bias_come_o   (bias_come),
    .bias_pop_i,
    .bias_line_o   (bias_line),
    .read_valid_i,
    .read_ready_o  (read_ready),
    .read_target_i,
    .read_address_i,
    .read_valid_o  (read_valid),
    .read_line_o   (read_line),
    .write_valid_i,
    .write_target_i,
    .write_address_i,
    .write_line_i,
    .adam_read_i,
    .adam_source_i,
    .adam_lines_o  (adam_lines),
    .adam_write_i,
    .adam_sink_i,
    .adam_lines_i
  );

  // ---- Requests as they are at the ports
  logic              bias_taken, read_taken, bias_waits, read_waits;
  logic [CountW-1:0] owed_q;
  logic [N-1:0]      core_loads;                   // this core's line is read
  assign bias_taken = bias_valid_i && bias_ready;
  assign read_taken = read_valid_i && read_ready;
  function automatic logic same_group(logic [LINE_W-1:0] a, logic [LINE_W-1:0] b);
    return a % LINE_W'(N) == b % LINE_W'(N);
  endfunction
  always_comb begin
    bias_waits = adam_read_i && same_group(adam_source_i, bias_address_i);
    read_waits = adam_read_i && same_group(adam_source_i, read_address_i);
    for (int unsigned c = 0; c < N; c++) begin
      core_loads[c] = load_valid_i && (!load_i.il || TILES_W'(c) < load_i.columns);
      if (core_loads[c]) begin
        bias_waits |= load_i.target == bias_target_i
                      && same_group(load_i.line + (load_i.il ? c : 0), bias_address_i);
        read_waits |= load_i.target == read_target_i
                      && same_group(load_i.line + (load_i.il ? c : 0), read_address_i);
      end
    end
    read_waits |= bias_taken && bias_target_i == read_target_i
                  && same_group(bias_address_i, read_address_i);
  end
  `JD_ASSERT_IF(BiasReady_A, bias_valid_i,
                bias_ready == (!bias_waits && owed_q != CountW'(Biases)))
  `JD_ASSERT_IF(ReadReady_A, read_valid_i, read_ready == !read_waits)
  for (genvar t = 0; t < 2; t++) begin : gen_target
    for (genvar g = 0; g < N; g++) begin : gen_group
      `JD_ASSERT(OneReader_A, 3'(u_dut.adam_reads[g]) + 3'(u_dut.loads[t][g])
                 + 3'(u_dut.bias_reads[t][g]) + 3'(u_dut.reads[t][g]) <= 3'd1)
    end
  end

  // ---- The watched line
  logic                      known_q, writes, bias_hits, read_hits, adam_hits;
  logic [N-1:0]              load_hits;
  logic                      value_q;
  assign writes    = adam_write_i ? adam_sink_i == watched_line_i
                     : write_valid_i && write_target_i == watched_target_i
                       && write_address_i == watched_line_i;
  assign bias_hits = bias_taken && bias_target_i == watched_target_i
                     && bias_address_i == watched_line_i;
  assign read_hits = read_taken && read_target_i == watched_target_i
                     && read_address_i == watched_line_i;
  assign adam_hits = adam_read_i && adam_source_i == watched_line_i;
  for (genvar c = 0; c < N; c++) begin : gen_hits
    assign load_hits[c] = core_loads[c] && load_i.target == watched_target_i
                          && load_i.line + (load_i.il ? c : 0) == watched_line_i;
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)     known_q <= 1'b0;
    else if (writes) known_q <= 1'b1;
    if (writes) value_q <= adam_write_i ? adam_lines_i[watched_target_i][0][0] : write_line_i[0][0];
  end
  for (genvar t = 0; t < 2; t++) begin : gen_memory
    for (genvar g = 0; g < N; g++) begin : gen_group
      `JD_ASSERT_IF(Held_A, known_q && watched_target_i == 1'(t)
                    && watched_line_i % LINE_W'(N) == LINE_W'(g),
                    u_dut.gen_memory[t].gen_group[g].u_lines.mem[watched_line_i / LINE_W'(N)]
                    == value_q)
    end
  end

  // What is due 3 clocks after a request.
  typedef struct packed {
    logic                      load;
    logic                      bias;
    logic                      read;
    logic [3:0]                index;
    logic                      by_row;
    logic                      opens;
    logic [N-1:0]              load_hits;      // the watched line, known
    logic                      read_hits;
    logic                      adam_hits;
    logic                      value;
  } due_t;
  due_t due_q, due_q2, due_q3;
  always_ff @(posedge clk_i) begin
    due_q  <= '{load: load_valid_i, bias: bias_taken, read: read_taken, index: load_i.index,
                by_row: load_i.by_row, opens: load_i.opens,
                load_hits: known_q ? load_hits : '0, read_hits: read_hits && known_q,
                adam_hits: adam_hits && known_q, value: value_q};
    due_q2 <= due_q;
    due_q3 <= due_q2;
    if (!rst_ni) begin
      due_q  <= '0;
      due_q2 <= '0;
      due_q3 <= '0;
    end else if (clear_i) begin
      due_q3.bias <= 1'b0;
    end
  end
  `JD_ASSERT(InTime_A, load_valid == due_q3.load && read_valid == due_q3.read
             && bias_come == due_q3.bias)
  `JD_ASSERT_IF(LoadTold_A, load_valid, load_index == due_q3.index
                && load_by_row == due_q3.by_row && load_opens == due_q3.opens)
  for (genvar c = 0; c < N; c++) begin : gen_core
    `JD_ASSERT_IF(Loaded_A, due_q3.load_hits[c], load_lines[c][0][0] == due_q3.value)
  end
  `JD_ASSERT_IF(Read_A, due_q3.read_hits, read_line[0][0] == due_q3.value)
  `JD_ASSERT_IF(AdamRead_A, due_q3.adam_hits, adam_lines[watched_target_i][0][0] == due_q3.value)

  // ---- Bias lines; followed: one of them
  logic [CountW-1:0]         ahead_q, queued;
  logic                      followed_q, hits_q, cleared_q;   // cleared: in the clock before
  logic [2:0]                age_q;                // clocks from its request on, at most 5
  logic                      bias_value_q;
  assign queued = u_dut.unused_count;
  always_ff @(posedge clk_i) cleared_q <= rst_ni && clear_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      owed_q     <= '0;
      followed_q <= 1'b0;
    end else begin
      owed_q <= owed_q + CountW'(bias_taken) - CountW'(bias_pop_i);
      if (!followed_q) begin
        followed_q   <= bias_taken && pick_i;
        hits_q       <= bias_hits && known_q;
        bias_value_q <= value_q;
        ahead_q      <= owed_q - CountW'(bias_pop_i);
        age_q        <= 3'd1;
      end else begin
        if (age_q != 3'd5) age_q <= age_q + 1'b1;
        if (bias_pop_i) begin
          if (ahead_q == '0) followed_q <= 1'b0;
          else               ahead_q <= ahead_q - 1'b1;
        end
      end
    end
  end
  `JD_ASSERT(NotMore_A, 32'(owed_q) <= Biases)
  `JD_ASSERT_IF(Popped_A, followed_q && bias_pop_i && ahead_q == '0 && hits_q,
                bias_line[0][0] == bias_value_q)
  `JD_ASSERT_IF(ThereInTime_A, followed_q && ahead_q == '0 && age_q == 3'd5, u_dut.queue_valid)
  `JD_ASSERT_IF(NotLost_A, followed_q, ahead_q < owed_q)

  // The queue between them.
  logic [31:0] read_addr, write_addr, stored, late, place;
  assign read_addr  = 32'(u_dut.u_biases.gen_memory.read_addr_q);
  assign write_addr = 32'(u_dut.u_biases.gen_memory.write_addr_q);
  assign stored     = 32'(u_dut.u_biases.gen_memory.stored_q);
  assign late       = 32'(ahead_q) - 32'(u_dut.queue_valid);
  assign place      = read_addr + late >= Biases ? read_addr + late - Biases : read_addr + late;
  `JD_ASSERT(Owed_A, u_dut.owed_q == owed_q)
  `JD_ASSERT_IF(UnderWay_A, !cleared_q, 32'(owed_q) == 32'(queued) + 32'(due_q.bias)
                + 32'(due_q2.bias) + 32'(due_q3.bias))
  `JD_ASSERT(Addresses_A, read_addr < Biases && write_addr < Biases && stored <= Biases
             && (read_addr + stored == write_addr || read_addr + stored == write_addr + Biases))
  `JD_ASSERT_IF(ItsPlace_A, followed_q, age_q != '0 && age_q <= 3'd5
                && (age_q >= 3'd4 ? ahead_q < queued
                    : 32'(ahead_q) == 32'(queued) + (age_q < 3'd3 ? 32'(due_q3.bias) : 0)
                                      + (age_q < 3'd2 ? 32'(due_q2.bias) : 0)))
  `JD_ASSERT_IF(Stored_A, followed_q && hits_q && age_q >= 3'd4
                && !(u_dut.queue_valid && ahead_q == '0),
                u_dut.u_biases.gen_memory.u_words.mem[place] == bias_value_q)
  `JD_ASSERT_IF(Offered_A, followed_q && hits_q && u_dut.queue_valid && ahead_q == '0,
                bias_line[0][0] == bias_value_q)

  // ---- Rules of the users
  `JD_ASSUME_IF(ClearLasts_M, cleared_q && (due_q.bias || due_q2.bias), clear_i)
  `JD_ASSUME_IF(NotBeingWritten_M, writes, !bias_hits && !read_hits && !adam_hits
                && load_hits == '0)
  `JD_ASSUME_IF(WriteInRange_M, write_valid_i, 32'(write_address_i) < Lines)
  `JD_ASSUME_IF(SinkInRange_M, adam_write_i, 32'(adam_sink_i) < Lines)
  `JD_ASSUME_IF(ReadInRange_M, read_valid_i, 32'(read_address_i) < Lines)
  for (genvar c = 0; c < N; c++) begin : gen_range
    `JD_ASSUME_IF(ColumnInRange_M, core_loads[c] && load_i.il, 32'(load_i.line) + c < Lines)
  end
  WatchedFixed_M : assume property (@(posedge clk_i)
      $stable({watched_target_i, watched_line_i}) && 32'(watched_line_i) < Lines);

  FullAndPopped_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (followed_q && hits_q && bias_pop_i && ahead_q == '0 && owed_q == CountW'(Biases)
       && bias_valid_i && load_valid && load_i.il && adam_write_i));
endmodule : jd_prove_wmem
