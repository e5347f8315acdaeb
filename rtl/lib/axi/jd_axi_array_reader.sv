// SPDX-License-Identifier: Apache-2.0
//
// Reads an array of device memory and hands out its elements, one per clock.
//
// Streams  item_*: the elements in order, in the low bits. mem_*: the port.
// Timing   start_i (a pulse, while idle_o) begins. Beats are requested only when there is room for
//          them, so the memory port is never held up. abort_i (level) drops all data that are still
//          to come; idle_o is high again when the memory owes nothing.
// Numbers  count_i elements of 2^size_log2_i bytes, from an address that is a multiple of 64. An
//          answer of SLVERR or DECERR ends the array: error_o and response_o, and no more elements.
// Source   docs/interfaces.md, library.
`include "jd_assert.svh"
module jd_axi_array_reader
  import jd_axi_pkg::*;
#(
  parameter int unsigned CountW = 21    // bits of a number of elements, 5..32
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              start_i,
  input  logic [39:0]       address_i,
  input  logic [CountW-1:0] count_i,
  input  logic [2:0]        size_log2_i,   // 2..4
  input  logic              abort_i,
  output logic              item_valid_o,
  input  logic              item_ready_i,
  output logic [127:0]      item_data_o,
  output logic              error_o,       // the next element was answered with an error
  output logic [1:0]        response_o,
  output logic              idle_o,
  output axi_read_req_t     mem_req_o,
  input  axi_read_rsp_t     mem_rsp_i
);
  localparam int unsigned CHUNK  = 8;             // beats of a command
  localparam int unsigned AHEAD  = 32;            // beats asked for and not used
  localparam int unsigned BeatW  = CountW - 1;    // a beat has four of the largest elements
  localparam int unsigned AheadW = $clog2(AHEAD + 1);
  if (CountW < 5 || CountW > 32) begin : gen_bad_count
    $fatal(1, "jd_axi_array_reader: CountW=%0d, want 5..32", CountW);
  end

  // ---- Commands
  logic [39:0]        address_q;
  logic [BeatW-1:0]   beats_q;       // not yet asked for
  logic [AheadW-1:0]  ahead_q;
  logic               command_valid, command_ready, mover_idle;
  logic               asked_q;       // the mover took a command one clock ago: it is counted now
  logic [15:0]        command_beats;
  logic               memory_valid, memory_ready;
  logic [511:0]       memory_data;
  logic [1:0]         memory_response;
  logic               beat_valid, beat_ready;
  logic [511:0]       beat_data;
  logic [1:0]         beat_response;
  logic               stop;          // nothing more is wanted of this array
  assign stop          = abort_i || error_o;
  assign command_beats = beats_q > BeatW'(CHUNK) ? 16'(CHUNK) : 16'(beats_q);
  assign command_valid = beats_q != '0 && ahead_q <= AheadW'(AHEAD - CHUNK) && !asked_q;

  logic [CountW+4:0] bytes;
  assign bytes = (CountW + 5)'(count_i) << size_log2_i;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      beats_q <= '0;
      ahead_q <= '0;
      asked_q <= 1'b0;
    end else begin
      asked_q <= command_valid && command_ready;
      // An offered command stays until the mover takes it.
      if (start_i) begin
        beats_q <= BeatW'((bytes + (CountW + 5)'(63)) >> 6);
      end else if (asked_q) begin
        beats_q <= stop ? '0 : beats_q - BeatW'(command_beats);
      end else if (stop && !command_valid) begin
        beats_q <= '0;
      end
      case ({asked_q, beat_valid && beat_ready})
        2'b01:   ahead_q <= ahead_q - 1'b1;
        2'b10:   ahead_q <= ahead_q + AheadW'(command_beats);
        2'b11:   ahead_q <= ahead_q + AheadW'(command_beats) - 1'b1;
        default: ahead_q <= ahead_q;
      endcase
    end
    if (start_i) address_q <= address_i;
    else if (asked_q) address_q <= address_q + 40'(CHUNK * 64);
  end

  logic              unused_last;
  logic [AheadW-1:0] unused_count;
  logic              unused;
  assign unused = ^{unused_last, unused_count};

  jd_axi_read_mover #(
    .MaxOutstanding(4)
  ) u_mover (
    .clk_i,
    .rst_ni,
    .cmd_valid_i    (command_valid),
    .cmd_ready_o    (command_ready),
    .cmd_address_i  (address_q),
    .cmd_beats_i    (command_beats),
    .out_valid_o    (memory_valid),
    .out_ready_i    (memory_ready),
    .out_data_o     (memory_data),
    .out_last_o     (unused_last),
    .out_resp_o     (memory_response),
    .idle_o         (mover_idle),
    .mem_req_o,
    .mem_rsp_i
  );

  jd_stream_fifo #(
    .Width(514),
    .Depth(AHEAD)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (memory_valid),
    .in_ready_o  (memory_ready),
    .in_data_i   ({memory_response, memory_data}),
    .out_valid_o (beat_valid),
    .out_ready_i (beat_ready),
    .out_data_o  ({beat_response, beat_data}),
    .count_o     (unused_count)
  );

  // ---- Elements
  logic [511:0]       beat_q;        // the next element in the low bits
  logic [3:0]         left_q;        // elements of the beat after the next one
  logic               held_q;
  logic               last_q;        // the next one is the beat's or the array's last
  logic [CountW-1:0] items_q;       // elements not yet handed out
  logic [2:0]         size_q;
  logic               take;
  assign item_valid_o = held_q;
  assign item_data_o  = beat_q[127:0];
  assign take         = held_q && item_ready_i;
  assign beat_ready   = stop || !held_q || (take && last_q);
  assign idle_o       = beats_q == '0 && ahead_q == '0 && mover_idle && !held_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      held_q  <= 1'b0;
      error_o <= 1'b0;
      items_q <= '0;
    end else if (start_i) begin
      held_q  <= 1'b0;
      error_o <= 1'b0;
      items_q <= count_i;
    end else begin
      if (take) items_q <= items_q - 1'b1;
      if (abort_i) begin
        held_q <= 1'b0;
      end else if (beat_valid && beat_ready && !stop) begin
        held_q  <= !beat_response[1];
        error_o <= beat_response[1];
      end else if (take && last_q) begin
        held_q <= 1'b0;
      end
    end
    if (start_i) size_q <= size_log2_i;
    if (beat_valid && beat_ready) begin
      if (!stop) response_o <= beat_response;
      beat_q <= beat_data;
      left_q <= 4'((7'd64 >> size_q) - 7'd1);
      last_q <= items_q == (take ? CountW'(2) : CountW'(1));
    end else if (take) begin
      last_q <= left_q == 4'd1 || items_q == CountW'(2);
      beat_q <= size_q == 3'd2 ? beat_q >> 32 : size_q == 3'd3 ? beat_q >> 64 : beat_q >> 128;
      left_q <= left_q - 1'b1;
    end
  end

  `JD_ASSUME_IF(StartWhileIdle_M, start_i, idle_o && address_i[5:0] == '0 && count_i != '0
                                          && size_log2_i inside {[3'd2:3'd4]})
  `JD_ASSERT_IF(RoomForBeats_A, memory_valid, memory_ready)
  `JD_ASSERT_IF(ItemsLeft_A, held_q, items_q != '0)
  `JD_ASSERT_IF(Last_A, held_q, last_q == (left_q == '0 || items_q == CountW'(1)))
endmodule : jd_axi_array_reader
