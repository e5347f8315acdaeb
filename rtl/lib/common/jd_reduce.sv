// SPDX-License-Identifier: Apache-2.0
//
// Reduces groups of items to one item each, by a tree of pairs.
//
// Streams  in: the items of all groups. out: one item per group, in the same order. A pipe: valid
//          only, no stall; without registers (Latency 0) it is combinational.
// Timing   latency Latency, a set of groups per clock. The levels of the tree are spread over the
//          clocks as evenly as possible.
// Numbers  unsigned; a sum is modulo 2**Width. A level combines items 0 and 1, 2 and 3 and so on;
//          if their number is odd, the last passes unchanged.
// Source   -
`include "jd_assert.svh"
module jd_reduce #(
  parameter  int unsigned Groups    = 1,    // 1..64
  parameter  int unsigned Items     = 8,    // of a group, 2..256
  parameter  int unsigned Width     = 32,   // bits of an item, 1..512
  parameter  int unsigned Operation = 0,    // 0 sum, 1 largest, 2 and, 3 or
  parameter  int unsigned Latency   = 3,    // 0..64
  localparam int unsigned Levels    = $clog2(Items)
) (
  input  logic                                     clk_i,
  input  logic                                     rst_ni,
  input  logic                                     valid_i,
  input  logic [Groups-1:0][Items-1:0][Width-1:0]  items_i,   // group 0, item 0 in the low bits
  output logic                                     valid_o,
  output logic [Groups-1:0][Width-1:0]             result_o
);
  if (Groups < 1 || Groups > 64 || Items < 2 || Items > 256 || Width < 1 ||
      Width > 512) begin : gen_bad_size
    $fatal(1, "jd_reduce: Groups=%0d, want 1..64, Items=%0d, want 2..256, Width=%0d, want 1..512",
           Groups, Items, Width);
  end
  if (Operation > 3 || Latency > 64) begin : gen_bad_operation
    $fatal(1, "jd_reduce: Operation=%0d, want 0..3, Latency=%0d, want 0..64", Operation, Latency);
  end
  localparam int unsigned SUM = 0, LARGEST = 1, AND = 2;

  function automatic logic [Width-1:0] combine(logic [Width-1:0] a, logic [Width-1:0] b);
    logic [Width-1:0] result;
    unique case (Operation)
      SUM:     result = a + b;
      LARGEST: result = (a < b) ? b : a;
      AND:     result = a & b;
      default: result = a | b;
    endcase
    return result;
  endfunction

  // Registers before the items of a level; before those of level Levels, which is the result, all.
  function automatic int unsigned registers(int unsigned level);
    return level * Latency / Levels;
  endfunction

  logic [Latency:0] valid;                 // after so many registers
  assign valid[0] = valid_i;
  assign valid_o  = valid[Latency];
  if (Latency > 0) begin : gen_valid
    always_ff @(posedge clk_i) begin
      if (!rst_ni) valid[Latency:1] <= '0;
      else         valid[Latency:1] <= valid[Latency-1:0];
    end
  end else begin : gen_no_valid
    logic unused;
    assign unused = ^{clk_i, rst_ni};
  end

  for (genvar l = 0; l < Levels; l++) begin : gen_level
    localparam int unsigned Count     = (Items + (1 << l) - 1) >> l;       // items, and after it
    localparam int unsigned Halves    = (Count + 1) / 2;
    localparam int unsigned First     = registers(l);
    localparam int unsigned Registers = registers(l + 1) - First;
    logic [Groups-1:0][Count-1:0][Width-1:0]  items;
    logic [Groups-1:0][Halves-1:0][Width-1:0] pairs, out;
    if (l == 0) begin : gen_first
      assign items = items_i;
    end else begin : gen_next
      assign items = gen_level[l-1].out;
    end
    for (genvar g = 0; g < Groups; g++) begin : gen_group
      for (genvar k = 0; k < Halves; k++) begin : gen_pair
        if (2 * k + 1 < Count) begin : gen_two
          assign pairs[g][k] = combine(items[g][2*k], items[g][2*k+1]);
        end else begin : gen_one
          assign pairs[g][k] = items[g][2*k];
        end
      end
    end
    if (Registers == 0) begin : gen_wires
      assign out = pairs;
    end else begin : gen_registers
      logic [Groups-1:0][Halves-1:0][Width-1:0] stages_q [Registers];
      always_ff @(posedge clk_i) begin
        if (valid[First]) stages_q[0] <= pairs;
        for (int unsigned stage = 1; stage < Registers; stage++) begin
          if (valid[First+stage]) stages_q[stage] <= stages_q[stage-1];
        end
      end
      assign out = stages_q[Registers-1];
    end
  end
  assign result_o = gen_level[Levels-1].out;
endmodule : jd_reduce
