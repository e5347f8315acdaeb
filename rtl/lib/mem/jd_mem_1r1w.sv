// SPDX-License-Identifier: Apache-2.0
//
// A memory with one write port and one read port, written by lanes.
//
// Streams  none: a write takes one clock; a read's data come a fixed time after it.
// Timing   read_data_o shows a word ReadLatency clocks after its read_en_i and holds it until the
//          next read's data; one read and one write per clock. A read of the word that is being
//          written in the same clock returns the old word. With Ultra it returns the old word in
//          the lanes that are not written; the others are undefined, because an UltraRAM has no
//          such mode: it serves its port A before its port B, and which of them reads is the
//          tool's choice. The simulation returns the complement of what is written.
// Numbers  bits, unchanged. The contents are undefined until written; reset does not touch them.
//          Block RAM and UltraRAM have a write enable for every 8 or every 9 bits. A lane is
//          therefore kept in the least multiple of 8 or of 9 bits; what fills it up is 0.
// Source   -
`include "jd_assert.svh"
module jd_mem_1r1w #(
  parameter  int unsigned Depth       = 16,   // words, 1..2**24
  parameter  int unsigned Lanes       = 1,    // lanes of a word, each with its write mask, 1..128
  parameter  int unsigned LaneW       = 8,    // bits of a lane, 1..1024
  parameter  int unsigned ReadLatency = 1,    // clocks, 1..8; more than 1 adds output registers
  parameter  bit          Ultra       = 1'b0, // in UltraRAM, where the device has it
  localparam int unsigned AddrW       = (Depth > 1) ? $clog2(Depth) : 1,
  localparam int unsigned DataW       = Lanes * LaneW
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic             write_en_i,
  input  logic [AddrW-1:0] write_addr_i,
  input  logic [Lanes-1:0] write_mask_i,
  input  logic [DataW-1:0] write_data_i,   // lane 0 in the low bits
  input  logic             read_en_i,
  input  logic [AddrW-1:0] read_addr_i,
  output logic [DataW-1:0] read_data_o
);
  if (Depth < 1 || Depth > 2 ** 24) begin : gen_bad_depth
    $fatal(1, "jd_mem_1r1w: Depth=%0d, want 1..2**24", Depth);
  end
  if (Lanes < 1 || Lanes > 128 || LaneW < 1 || LaneW > 1024) begin : gen_bad_width
    $fatal(1, "jd_mem_1r1w: Lanes=%0d, want 1..128, LaneW=%0d, want 1..1024", Lanes, LaneW);
  end
  if (ReadLatency < 1 || ReadLatency > 8) begin : gen_bad_latency
    $fatal(1, "jd_mem_1r1w: ReadLatency=%0d, want 1..8", ReadLatency);
  end

  // The bits that a lane is kept in. A word of one lane has one write enable.
  localparam int unsigned By8W  = 8 * ((LaneW + 7) / 8);
  localparam int unsigned By9W  = 9 * ((LaneW + 8) / 9);
  localparam int unsigned KeptW = (Lanes == 1) ? LaneW : (By8W < By9W) ? By8W : By9W;

`ifndef FORMAL   // a proof looks into the memory
  (* ram_style = Ultra ? "ultra" : "auto" *)
`endif
  logic [Lanes*KeptW-1:0] mem [Depth];
  logic [Lanes*KeptW-1:0] kept_q;
  always_ff @(posedge clk_i) begin
    if (write_en_i) begin
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        if (write_mask_i[lane]) begin
          mem[write_addr_i][lane*KeptW +: KeptW] <= KeptW'(write_data_i[lane*LaneW +: LaneW]);
        end
      end
    end
    if (read_en_i) kept_q <= mem[read_addr_i];
`ifndef SYNTHESIS
    if (Ultra && read_en_i && write_en_i && read_addr_i == write_addr_i) begin
      for (int unsigned lane = 0; lane < Lanes; lane++) begin
        if (write_mask_i[lane]) begin
          kept_q[lane*KeptW +: KeptW] <= KeptW'(~write_data_i[lane*LaneW +: LaneW]);
        end
      end
    end
`endif
  end

  logic [DataW-1:0] data_q;
  if (KeptW == LaneW) begin : gen_as_kept
    assign data_q = kept_q;
  end else begin : gen_lanes
    logic unused_filling;
    assign unused_filling = ^kept_q;
    for (genvar lane = 0; lane < Lanes; lane++) begin : gen_lane
      assign data_q[lane*LaneW +: LaneW] = kept_q[lane*KeptW +: LaneW];
    end
  end

  if (ReadLatency == 1) begin : gen_direct
    assign read_data_o = data_q;
  end else begin : gen_registers
    localparam int unsigned Extra = ReadLatency - 1;
    logic [Extra-1:0]            load_q;     // stage s takes the word of the stage before it
    logic [Extra-1:0][DataW-1:0] stages_q;
    always_ff @(posedge clk_i) begin
      if (!rst_ni) load_q <= '0;
      else         load_q <= Extra'({load_q, read_en_i});
    end
    for (genvar stage = 0; stage < Extra; stage++) begin : gen_stage
      logic [DataW-1:0] taken;
      if (stage == 0) begin : gen_first
        assign taken = data_q;
      end else begin : gen_later
        assign taken = stages_q[stage-1];
      end
      always_ff @(posedge clk_i) begin
        if (load_q[stage]) stages_q[stage] <= taken;
      end
    end
    assign read_data_o = stages_q[Extra-1];
  end

  `JD_ASSUME_IF(WriteInRange_M, write_en_i, 32'(write_addr_i) < Depth)
  `JD_ASSUME_IF(ReadInRange_M, read_en_i, 32'(read_addr_i) < Depth)
endmodule : jd_mem_1r1w
