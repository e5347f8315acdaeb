// SPDX-License-Identifier: Apache-2.0
//
// Weights and targets of all networks, in N groups. They serve the optimizer, the cores' tile
// loads, bias lines, and accesses of single lines.
//
// Streams  adam: reads a line of weights and of targets; writes both. load: a line of weights for
//          all cores, or in IL a line for each core; a pipe. bias: a line of biases, in the order
//          in which output tiles need them; it waits until its group is free. Bias lines queue at
//          bias_line_o until bias_pop_i. A clear waits until no bias line is on its way. read,
//          write: single lines; a read waits until its group is free.
// Timing   A loaded line shows 3 clocks after its request, one per clock; so does a line of a read.
//          The optimizer goes first, then loads, biases, reads. No load may come in the clock of an
//          optimizer's read, because neither can wait: jd_qat_sequencer holds loads back. A bias
//          line can be popped from 5 clocks after it was taken; bias_come_o tells when it reaches
//          the queue.
// Numbers  bits, unchanged. Line l is in group l mod N. In IL core c gets the line that is c after
//          core 0's, if there are so many columns; else it gets the old contents of its group. A
//          line that is being written must not be read.
// Source   FIXAR V-A (weight memory); docs/qat.md. Golden model: models/qat/layout.py.
`include "jd_assert.svh"
module jd_qat_wmem
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw     = 16,         // words of a line: 4, 8, 16
  parameter  int unsigned N      = 2,          // cores, and groups: 1, 2, 4
  parameter  int unsigned Lines  = 20480,      // of weights, and of targets; 64..65536
  parameter  int unsigned Biases = 32          // lines that may wait, 4..256
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,       // drops bias lines
  // Tile loads
  input  logic                             load_valid_i,
  input  weights_t                         load_i,
  output logic                             load_valid_o,
  output logic                             load_by_row_o,
  output logic [3:0]                       load_index_o,
  output logic                             load_opens_o,
  output logic [N-1:0][Lw-1:0][WORD_W-1:0] load_lines_o,  // of each core
  // Bias lines
  input  logic                             bias_valid_i,
  output logic                             bias_ready_o,
  input  logic                             bias_target_i,
  input  logic [LINE_W-1:0]                bias_address_i,
  output logic                             bias_come_o,
  input  logic                             bias_pop_i,
  output logic [Lw-1:0][WORD_W-1:0]        bias_line_o,
  // Single lines
  input  logic                             read_valid_i,
  output logic                             read_ready_o,
  input  logic                             read_target_i,
  input  logic [LINE_W-1:0]                read_address_i,
  output logic                             read_valid_o,
  output logic [Lw-1:0][WORD_W-1:0]        read_line_o,
  input  logic                             write_valid_i,
  input  logic                             write_target_i,
  input  logic [LINE_W-1:0]                write_address_i,
  input  logic [Lw-1:0][WORD_W-1:0]        write_line_i,
  // The optimizer's lines: weights, targets
  input  logic                             adam_read_i,
  input  logic [LINE_W-1:0]                adam_source_i,
  output logic [1:0][Lw-1:0][WORD_W-1:0]   adam_lines_o,
  input  logic                             adam_write_i,
  input  logic [LINE_W-1:0]                adam_sink_i,
  input  logic [1:0][Lw-1:0][WORD_W-1:0]   adam_lines_i
);
  localparam int unsigned GroupW = $clog2(N) > 0 ? $clog2(N) : 1;
  localparam int unsigned Depth  = (Lines + N - 1) / N;
  localparam int unsigned AddrW  = $clog2(Depth);
  localparam int unsigned CountW = $clog2(Biases + 1);
  if (!(N inside {1, 2, 4})) begin : gen_bad_n
    $fatal(1, "jd_qat_wmem: N=%0d, want 1, 2 or 4", N);
  end

  function automatic logic [GroupW-1:0] group_of(logic [LINE_W-1:0] line);
    return N == 1 ? '0 : GroupW'(line % LINE_W'(N));
  endfunction

  // ---- Who reads what: a request is of one memory (weights, targets) and one group
  logic [GroupW-1:0] load_group, bias_group, read_group, adam_group;
  logic [N-1:0]      adam_reads;                                            // [group]
  logic [1:0][N-1:0] loads, bias_wants, bias_reads, read_wants, reads;      // [target][group]
  logic              bias_room, bias_taken, read_taken;
  assign load_group = group_of(load_i.line);
  assign bias_group = group_of(bias_address_i);
  assign read_group = group_of(read_address_i);
  assign adam_group = group_of(adam_source_i);
  always_comb begin
    adam_reads = '0;
    loads      = '0;
    bias_wants = '0;
    read_wants = '0;
    if (adam_read_i) adam_reads[adam_group] = 1'b1;
    if (load_valid_i) begin
      for (int unsigned g = 0; g < N; g++) begin
        loads[load_i.target][g] = load_i.il
            ? TILES_W'(GroupW'(g) - load_group) % TILES_W'(N) < load_i.columns
            : load_group == GroupW'(g);
      end
    end
    if (bias_valid_i) bias_wants[bias_target_i][bias_group] = 1'b1;
    if (read_valid_i) read_wants[read_target_i][read_group] = 1'b1;
  end
  assign bias_ready_o = bias_room && (bias_wants & (loads | {2{adam_reads}})) == '0;
  assign bias_taken   = bias_valid_i && bias_ready_o;
  assign bias_reads   = bias_taken ? bias_wants : '0;
  assign read_ready_o = (read_wants & (loads | bias_reads | {2{adam_reads}})) == '0;
  assign read_taken   = read_valid_i && read_ready_o;
  assign reads        = read_taken ? read_wants : '0;

  // ---- Memories
  logic [1:0][N-1:0][Lw-1:0][WORD_W-1:0] data;
  for (genvar t = 0; t < 2; t++) begin : gen_memory
    for (genvar g = 0; g < N; g++) begin : gen_group
      logic [LINE_W-1:0] line, read_line;
      logic              writes;
      assign line      = load_i.il ? load_i.line + LINE_W'(GroupW'(g) - load_group) % LINE_W'(N)
                                   : load_i.line;
      assign read_line = adam_reads[g] ? adam_source_i : loads[t][g] ? line
                         : bias_reads[t][g] ? bias_address_i : read_address_i;
      assign writes    = write_valid_i && write_target_i == 1'(t)
                         && group_of(write_address_i) == GroupW'(g);
      jd_mem_1r1w #(
        .Depth       (Depth),
        .LaneW       (Lw * WORD_W),
        .ReadLatency (2),
        .Ultra       (t == 1)
      ) u_lines (
        .clk_i, .rst_ni,
        .write_en_i   (writes
                       || (adam_write_i && group_of(adam_sink_i) == GroupW'(g))),
        .write_addr_i (AddrW'((adam_write_i ? adam_sink_i : write_address_i)
                              / LINE_W'(N))),
        .write_mask_i (1'b1),
        .write_data_i (adam_write_i ? adam_lines_i[t] : write_line_i),
        .read_en_i    (adam_reads[g] || loads[t][g] || bias_reads[t][g] || reads[t][g]),
        .read_addr_i  (AddrW'(read_line / LINE_W'(N))),
        .read_data_o  (data[t][g])
      );
    end
  end

  // ---- Lines to their users
  typedef struct packed {
    logic              target;
    logic              il;
    logic              by_row;
    logic              opens;
    logic [3:0]        index;
    logic [GroupW-1:0] group;
  } load_t;
  typedef struct packed {
    logic              target;
    logic [GroupW-1:0] group;
  } single_t;
  load_t             load_q2;
  single_t           bias_q2, read_q2;
  logic [GroupW-1:0] adam_q2;
  logic              load_valid_q2, bias_valid_q2, read_valid_q2, adam_valid_q2;
  jd_delay #(.Width (4), .Cycles (2)) u_valid (
    .clk_i, .rst_ni,
    .in_i  ({load_valid_i, bias_taken, read_taken, adam_read_i}),
    .out_o ({load_valid_q2, bias_valid_q2, read_valid_q2, adam_valid_q2})
  );
  jd_delay #(.Width ($bits(load_t)), .Cycles (2), .Clear (1'b0)) u_load (
    .clk_i, .rst_ni,
    .in_i  ({load_i.target, load_i.il, load_i.by_row, load_i.opens, load_i.index, load_group}),
    .out_o (load_q2)
  );
  jd_delay #(.Width (2 * $bits(single_t) + GroupW), .Cycles (2), .Clear (1'b0)) u_single (
    .clk_i, .rst_ni,
    .in_i  ({bias_target_i, bias_group, read_target_i, read_group, adam_group}),
    .out_o ({bias_q2, read_q2, adam_q2})
  );
  logic                      bias_valid_q3;
  logic [Lw-1:0][WORD_W-1:0] bias_line_q3;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      load_valid_o  <= 1'b0;
      bias_valid_q3 <= 1'b0;
      read_valid_o  <= 1'b0;
    end else begin
      load_valid_o  <= load_valid_q2;
      bias_valid_q3 <= bias_valid_q2 && !clear_i;
      read_valid_o  <= read_valid_q2;
    end
    if (load_valid_q2) begin
      load_by_row_o <= load_q2.by_row;
      load_index_o  <= load_q2.index;
      load_opens_o  <= load_q2.opens;
      for (int unsigned c = 0; c < N; c++) begin
        load_lines_o[c] <= data[load_q2.target][GroupW'((32'(load_q2.group)
                                                + (load_q2.il ? c : 0)) % N)];
      end
    end
    if (bias_valid_q2) bias_line_q3 <= data[bias_q2.target][bias_q2.group];
    if (read_valid_q2) read_line_o  <= data[read_q2.target][read_q2.group];
    for (int unsigned t = 0; t < 2; t++) if (adam_valid_q2) adam_lines_o[t] <= data[t][adam_q2];
  end

  // ---- The queue of bias lines; a line counts from its request on
  logic [CountW-1:0] owed_q, unused_count;
  logic              queue_room, queue_valid;
  assign bias_room   = owed_q != CountW'(Biases);
  assign bias_come_o = bias_valid_q3;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) owed_q <= '0;
    else                    owed_q <= owed_q + CountW'(bias_taken) - CountW'(bias_pop_i);
  end
  jd_stream_fifo #(
    .Width (Lw * WORD_W),
    .Depth (Biases)
  ) u_biases (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (bias_valid_q3),
    .in_ready_o  (queue_room),
    .in_data_i   (bias_line_q3),
    .out_valid_o (queue_valid),
    .out_ready_i (bias_pop_i),
    .out_data_o  (bias_line_o),
    .count_o     (unused_count)
  );
  logic unused;
  assign unused = ^unused_count;

  `JD_ASSUME_IF(LoadInRange_M, load_valid_i, 32'(load_i.line) < Lines)
  `JD_ASSUME_IF(BiasInRange_M, bias_valid_i, 32'(bias_address_i) < Lines)
  `JD_ASSUME_IF(AdamInRange_M, adam_read_i, 32'(adam_source_i) < Lines)
  `JD_ASSUME_IF(AdamBeforeLoads_M, adam_read_i, !load_valid_i)
  `JD_ASSUME_IF(WriteAlone_M, adam_write_i, !write_valid_i)
  `JD_ASSUME_IF(PopOfLine_M, bias_pop_i, queue_valid)
  `JD_ASSERT_IF(BiasRoom_A, bias_valid_q3, queue_room)
endmodule : jd_qat_wmem
