// SPDX-License-Identifier: Apache-2.0
//
// A first-in first-out buffer of any depth.
//
// Streams  in, out: the same words in the same order. clear_i empties it; a word that is taken in
//          that clock is dropped too.
// Timing   latency 1 at Depth 1 and 2, 2 above (the words are in a RAM whose read register is the
//          output). One word per clock; at Depth 1 one word every two clocks. No path from any
//          input to in_ready_o, out_* or count_o.
// Numbers  bits, unchanged; count_o is the words held, the offered one included.
// Source   -
`include "jd_assert.svh"
module jd_stream_fifo #(
  parameter  int unsigned Width  = 8,    // bits of a word, 1..4096
  parameter  int unsigned Depth  = 16,   // words, 1..2**20
  localparam int unsigned CountW = $clog2(Depth + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  logic [Width-1:0]  in_data_i,
  output logic              out_valid_o,
  input  logic              out_ready_i,
  output logic [Width-1:0]  out_data_o,
  output logic [CountW-1:0] count_o
);
  if (Width < 1 || Width > 4096 || Depth < 1 || Depth > 2 ** 20) begin : gen_bad_parameters
    $fatal(1, "jd_stream_fifo: Width=%0d, want 1..4096, Depth=%0d, want 1..2**20", Width, Depth);
  end

  if (Depth == 1) begin : gen_register
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) out_valid_o <= 1'b0;
      else                    out_valid_o <= out_valid_o ? !out_ready_i : in_valid_i;
      if (in_valid_i && in_ready_o) out_data_o <= in_data_i;
    end
    assign in_ready_o = !out_valid_o;
    assign count_o    = out_valid_o;
  end else if (Depth == 2) begin : gen_skid
    jd_stream_skid #(.Width(Width)) u_skid (
      .clk_i       (clk_i),
      .rst_ni      (rst_ni),
      .clear_i     (clear_i),
      .in_valid_i  (in_valid_i),
      .in_ready_o  (in_ready_o),
      .in_data_i   (in_data_i),
      .out_valid_o (out_valid_o),
      .out_ready_i (out_ready_i),
      .out_data_o  (out_data_o)
    );
    assign count_o = CountW'(out_valid_o) + CountW'(!in_ready_o);
  end else begin : gen_memory
    localparam int unsigned AddrW = $clog2(Depth);
    logic [AddrW-1:0]  write_addr_q, read_addr_q;
    logic [CountW-1:0] stored_q;    // words in the memory that are not yet in its read register
    logic              write, read;

    assign in_ready_o = count_o != CountW'(Depth);
    assign count_o    = stored_q + CountW'(out_valid_o);
    assign write      = in_valid_i && in_ready_o;
    assign read       = stored_q != '0 && (!out_valid_o || out_ready_i);
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) begin
        write_addr_q <= '0;
        read_addr_q  <= '0;
        stored_q     <= '0;
        out_valid_o  <= 1'b0;
      end else begin
        if (write) write_addr_q <= (write_addr_q == AddrW'(Depth - 1)) ? '0 : write_addr_q + 1'b1;
        if (read)  read_addr_q  <= (read_addr_q == AddrW'(Depth - 1)) ? '0 : read_addr_q + 1'b1;
        if (write != read) stored_q <= write ? stored_q + 1'b1 : stored_q - 1'b1;
        if (read)             out_valid_o <= 1'b1;
        else if (out_ready_i) out_valid_o <= 1'b0;
      end
    end

    jd_mem_1r1w #(.Depth(Depth), .Lanes(1), .LaneW(Width), .ReadLatency(1)) u_words (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .write_en_i   (write),
      .write_addr_i (write_addr_q),
      .write_mask_i (1'b1),
      .write_data_i (in_data_i),
      .read_en_i    (read),
      .read_addr_i  (read_addr_q),
      .read_data_o  (out_data_o)
    );
    `JD_ASSERT_IF(FullStopsInput_A, 32'(count_o) == Depth, !in_ready_o)
  end

  `JD_ASSUME_STREAM(InStable_M, in_valid_i, in_ready_o || clear_i, in_data_i)
  `JD_ASSERT_STREAM(OutStable_A, out_valid_o, out_ready_i || clear_i, out_data_o)
  `JD_ASSERT(CountInRange_A, 32'(count_o) <= Depth)
  `JD_ASSERT_IF(OfferedIsCounted_A, out_valid_o, count_o != '0)
  `JD_ASSERT_NEXT(ClearEmpties_A, clear_i, count_o == '0)
endmodule : jd_stream_fifo
