// SPDX-License-Identifier: Apache-2.0
//
// Grouping matrices, and MaxIndex: the group of each row or column, the place of its greatest entry.
//
// Streams  scan: the first line of a matrix with its rows; index: their groups, in order. A wide word
//          has MaxW / G groups, over and over up to its top lane; a narrow one at most HitW, from lane
//          0 on, and their greatest entries. index_user_o: scan_user_i of its scan. write, read: other
//          users; read_ready_o is low while a scan reads.
// Timing   a word of groups per clock, the first 4 clocks after its scan was taken; read_data_o comes
//          one clock later than the read.
// Numbers  entries are signed bytes, 128 to a line; a row's G entries are neighbours, G = 2, 4 .. 32.
//          Of equal entries the one at the lowest place is the greatest.
// Source   LearningGroup III-B; docs/sparse.md (encoder). Golden model: models/sparse/osel.py,
//          max_index.
`include "jd_assert.svh"
module jd_sparse_grp
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned MRows = 512,                  // lines, 1..512
  parameter  int unsigned MaxW  = 128,                  // entries per clock: 32, 64 or 128
  parameter  int unsigned HitW  = 4,                    // groups of a narrow word: 1, 2 or 4
  localparam int unsigned Wide  = MaxW / 2,             // groups of a word
  localparam int unsigned LineW = 8 * GROUP_LINE
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         scan_valid_i,
  output logic                         scan_ready_o,
  input  logic [M_LINE_W-1:0]          scan_line_i,
  input  logic [DIM_W-1:0]             scan_rows_i,     // 1..
  input  logic [2:0]                   scan_log2_i,     // of G, 1..5
  input  logic                         scan_narrow_i,
  input  logic                         scan_user_i,
  output logic                         index_valid_o,
  input  logic                         index_ready_i,
  output logic [Wide-1:0][GROUP_W-1:0] index_o,
  output logic [HitW-1:0][ENTRY_W-1:0] index_entry_o,   // of a narrow word
  output logic                         index_user_o,
  input  logic                         write_valid_i,
  input  logic [M_LINE_W-1:0]          write_line_i,
  input  logic [GROUP_LINE-1:0]        write_mask_i,    // of entries
  input  logic [LineW-1:0]             write_data_i,
  input  logic                         read_valid_i,
  output logic                         read_ready_o,
  input  logic [M_LINE_W-1:0]          read_line_i,
  output logic [LineW-1:0]             read_data_o
);
  if (MRows < 1 || MRows > 512 || (MaxW != 32 && MaxW != 64 && MaxW != 128)
      || (HitW != 1 && HitW != 2 && HitW != 4)) begin : gen_bad_size
    $fatal(1, "jd_sparse_grp: MRows=%0d, want 1..512, MaxW=%0d, 32, 64 or 128, HitW=%0d, 1, 2 or 4",
           MRows, MaxW, HitW);
  end
  localparam int unsigned Parts   = GROUP_LINE / MaxW;  // of a line
  localparam int unsigned LinePartW = (Parts > 1) ? $clog2(Parts) : 1;
  localparam int unsigned Subs    = Wide / HitW;        // narrow words of the entries of a clock
  localparam int unsigned SubW    = $clog2(Subs);
  localparam int unsigned AddrW   = (MRows > 1) ? $clog2(MRows) : 1;
  localparam int unsigned MaxLog2 = $clog2(MaxW);
  localparam int unsigned HitLog2 = $clog2(HitW);
  localparam int unsigned Levels  = 5;                  // of the comparisons of a row

  // ---- Which entries: a word of groups per clock
  typedef struct packed {
    logic [LinePartW-1:0] part;            // of the line
    logic [SubW-1:0]  sub;             // narrow word of the part
    logic [2:0]       log2;
    logic             narrow;
    logic             user;
  } what_t;
  logic                busy_q, advance, last, last_sub;
  logic [M_LINE_W-1:0] line_q;
  logic [DIM_W-1:0]    left_q;         // words
  logic [SubW-1:0]     sub_last_q;
  what_t               what_q;
  logic [3:0]          rows_log2, row_log2, in_log2;    // rows of the entries of a clock, of a word
  assign rows_log2 = 4'(MaxLog2) - 4'(in_log2);
  assign in_log2   = {1'b0, scan_log2_i};
  assign row_log2  = (scan_narrow_i && rows_log2 > 4'(HitLog2)) ? 4'(HitLog2) : rows_log2;
  assign last      = left_q == DIM_W'(1);
  assign last_sub  = what_q.sub == sub_last_q;
  assign advance   = !index_valid_o || index_ready_i;
  assign scan_ready_o = !busy_q || (last && advance);
  always_ff @(posedge clk_i) begin
    if (!rst_ni)                            busy_q <= 1'b0;
    else if (scan_valid_i && scan_ready_o)  busy_q <= 1'b1;
    else if (last && advance)               busy_q <= 1'b0;
    if (scan_valid_i && scan_ready_o) begin
      line_q     <= scan_line_i;
      left_q     <= DIM_W'((13'(scan_rows_i) + (13'd1 << row_log2) - 13'd1) >> row_log2);
      sub_last_q <= SubW'((8'd1 << (rows_log2 - row_log2)) - 8'd1);
      what_q     <= '{part: '0, sub: '0, log2: scan_log2_i, narrow: scan_narrow_i,
                      user: scan_user_i};
    end else if (busy_q && advance) begin
      left_q     <= left_q - 1'b1;
      what_q.sub <= last_sub ? '0 : what_q.sub + 1'b1;
      if (last_sub) begin
        what_q.part <= (what_q.part == LinePartW'(Parts - 1)) ? '0 : what_q.part + 1'b1;
        if (what_q.part == LinePartW'(Parts - 1)) line_q <= line_q + 1'b1;
      end
    end
  end

  // ---- The memory
  logic             read_en;
  logic [AddrW-1:0] read_line;
  logic             valid_q, valid_q2;
  what_t            what_q2, what_q3;
  assign read_ready_o = !busy_q && !valid_q;            // valid_q: the data still wait
  assign read_en      = (busy_q && advance) || (read_valid_i && read_ready_o);
  assign read_line    = busy_q ? AddrW'(line_q) : AddrW'(read_line_i);
  jd_mem_1r1w #(.Depth (MRows), .Lanes (GROUP_LINE), .LaneW (8)) u_entries (
    .clk_i, .rst_ni,
    .write_en_i   (write_valid_i),
    .write_addr_i (AddrW'(write_line_i)),
    .write_mask_i (write_mask_i),
    .write_data_i (write_data_i),
    .read_en_i    (read_en),
    .read_addr_i  (read_line),
    .read_data_o  (read_data_o)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      valid_q       <= 1'b0;
      valid_q2      <= 1'b0;
      index_valid_o <= 1'b0;
    end else if (advance) begin
      valid_q       <= busy_q;
      valid_q2      <= valid_q;
      index_valid_o <= valid_q2;
    end
    if (advance) begin
      what_q2 <= what_q;
      what_q3 <= what_q2;
    end
  end

  // ---- Comparisons: node j of level k has 2**k entries from j * 2**k on
  logic [MaxW-1:0][7:0] part;
  assign part = read_data_o[32'(what_q2.part)*8*MaxW +: 8*MaxW];
  logic [MaxW-1:0][7:0]           low_value[3], high_value[Levels+1];   // of each level
  logic [MaxW-1:0][GROUP_W-1:0]   low_place[3], high_place[Levels+1];
  logic [MaxW/4-1:0][7:0]         value_q;
  logic [MaxW-1:0][7:0]           pairs;                // of level 1, from the narrow word on
  logic [HitW-1:0][7:0]           pairs_q;
  assign pairs = low_value[1] >> (32'(what_q2.sub) * HitW * 8);
  logic [MaxW-1:0][GROUP_W-1:0]   place_q[3];           // of the levels 1 and 2
  always_comb begin
    for (int unsigned k = 0; k < 3; k++) begin
      low_value[k] = part;
      low_place[k] = '0;
    end
    for (int unsigned k = 1; k < 3; k++) begin
      for (int unsigned j = 0; j < MaxW >> k; j++) begin
        logic right;
        right = $signed(low_value[k-1][2*j+1]) > $signed(low_value[k-1][2*j]);
        low_value[k][j] = low_value[k-1][2*j+32'(right)];
        low_place[k][j] = right ? low_place[k-1][2*j+1] | GROUP_W'(1 << (k - 1))
                                : low_place[k-1][2*j];
      end
    end
  end
  always_comb begin
    for (int unsigned k = 0; k <= Levels; k++) begin
      high_value[k] = (8*MaxW)'(value_q);
      high_place[k] = (k == 1 || k == 2) ? place_q[k] : '0;
    end
    for (int unsigned k = 3; k <= Levels; k++) begin
      for (int unsigned j = 0; j < MaxW >> k; j++) begin
        logic right;
        right = $signed(high_value[k-1][2*j+1]) > $signed(high_value[k-1][2*j]);
        high_value[k][j] = high_value[k-1][2*j+32'(right)];
        high_place[k][j] = right ? high_place[k-1][2*j+1] | GROUP_W'(1 << (k - 1))
                                 : high_place[k-1][2*j];
      end
    end
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      value_q <= low_value[2][MaxW/4-1:0];
      pairs_q <= pairs[HitW-1:0];
      place_q <= low_place;
    end
  end

  // ---- Words
  logic [Wide-1:0][GROUP_W-1:0] wide, word;
  logic [HitW-1:0][GROUP_W-1:0] narrow;
  logic [HitW-1:0][ENTRY_W-1:0] entries;                // of a narrow word
  for (genvar j = 0; j < Wide; j++) begin : gen_word
    always_comb begin
      unique case (what_q3.log2)
        3'd1:    wide[j] = high_place[1][j];
        3'd2:    wide[j] = high_place[2][j % (MaxW / 4)];
        3'd3:    wide[j] = high_place[3][j % (MaxW / 8)];
        3'd4:    wide[j] = high_place[4][j % (MaxW / 16)];
        default: wide[j] = high_place[5][j % (MaxW / 32)];
      endcase
    end
  end
  for (genvar j = 0; j < HitW; j++) begin : gen_entry
    logic [31:0] lane;
    assign lane = 32'(what_q3.sub) * HitW + j;
    always_comb begin
      unique case (what_q3.log2)
        3'd1: begin
          narrow[j]  = high_place[1][lane % (MaxW / 2)];
          entries[j] = pairs_q[j];
        end
        3'd2: begin
          narrow[j]  = high_place[2][lane % (MaxW / 4)];
          entries[j] = high_value[2][lane % (MaxW / 4)];
        end
        3'd3: begin
          narrow[j]  = high_place[3][lane % (MaxW / 8)];
          entries[j] = high_value[3][lane % (MaxW / 8)];
        end
        3'd4: begin
          narrow[j]  = high_place[4][lane % (MaxW / 16)];
          entries[j] = high_value[4][lane % (MaxW / 16)];
        end
        default: begin
          narrow[j]  = high_place[5][lane % (MaxW / 32)];
          entries[j] = high_value[5][lane % (MaxW / 32)];
        end
      endcase
    end
  end
  always_comb begin
    word = wide;
    if (what_q3.narrow) word[HitW-1:0] = narrow;
  end
  always_ff @(posedge clk_i) begin
    if (advance) begin
      index_o       <= word;
      index_entry_o <= entries;
      index_user_o  <= what_q3.user;
    end
  end

  `JD_ASSUME_IF(GroupsKnown_M, scan_valid_i, scan_log2_i >= 3'd1 && scan_log2_i <= 3'd5)
  `JD_ASSUME_IF(SomeRows_M, scan_valid_i, scan_rows_i != '0)
  `JD_ASSERT_STREAM(IndexStable_A, index_valid_o, index_ready_i, index_o)
endmodule : jd_sparse_grp
