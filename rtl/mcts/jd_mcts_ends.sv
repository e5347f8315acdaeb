// SPDX-License-Identifier: Apache-2.0
//
// Ends jobs when all that they began is done: their tokens have retired, their responses are written.
//
// Streams  in: how lists and other jobs ended, in ring order. new_*, old_*: a token of a list begins,
//          ends. end: to the engine's frame. failed_i: a response could not be written; the next list that
//          ends says so.
// Timing   a job ends three clocks after its last response is written, if nothing waits before it.
// Numbers  begun_i, written_i: responses that begin, and whose write was answered, in this clock; as many
//          as are between them are out.
// Source   docs/mcts.md (jobs). Golden model: models/mcts/engine.py, job.
`include "jd_assert.svh"
module jd_mcts_ends
  import jd_mcts_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_WR, jd_engine_header_map_pkg::E_TIMEOUT;
#(
  parameter  int unsigned T       = 16,    // tokens in flight
  localparam int unsigned FlightW = $clog2(T + 1)
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              clear_i,
  input  logic              stop_i,      // all lists end with a time-out, and responses are dropped
  input  logic              quiet_i,       // no write is out
  input  logic              in_valid_i,
  output logic              in_ready_o,
  input  end_t              in_end_i,
  input  logic              new_valid_i,
  input  logic [LIST_W-1:0] new_list_i,
  input  logic              old_valid_i,
  input  logic [LIST_W-1:0] old_list_i,
  input  logic [1:0]        begun_i,
  input  logic [2:0]        written_i,
  input  logic              failed_i,
  input  logic [1:0]        failed_response_i,
  output logic              end_valid_o,
  input  logic              end_ready_i,
  output end_t              end_o,
  output logic              idle_o         // no job waits for its end
);
  logic               first_valid, first_take;
  end_t               first, end_q;
  logic [4:0]         unused_count;
  logic [15:0][FlightW-1:0] open_q;        // tokens of each list
  logic [31:0]        begun_q, written_q, wanted_q;
  logic               failed_q;
  logic [1:0]         failed_response_q;
  typedef enum logic [1:0] {StTokens, StWrites, StEnd} state_t;
  state_t             state_q;
  logic signed [31:0] missing;             // responses of the list and before, modulo 2^32
  assign missing = wanted_q - written_q;
  jd_stream_fifo #(.Width ($bits(end_t)), .Depth (16)) u_ends (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i, .in_ready_o,
    .in_data_i   (in_end_i),
    .out_valid_o (first_valid),
    .out_ready_i (first_take),
    .out_data_o  (first),
    .count_o     (unused_count)
  );
  assign first_take  = state_q == StTokens && open_q[first.job] == '0;
  assign end_valid_o = state_q == StEnd;
  assign end_o       = end_q;
  assign idle_o      = state_q == StTokens && !first_valid;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      state_q   <= StTokens;
      open_q    <= '0;
      begun_q   <= '0;
      written_q <= '0;
      failed_q  <= 1'b0;
    end else begin
      begun_q   <= begun_q + 32'(begun_i);
      written_q <= written_q + 32'(written_i);
      for (int unsigned k = 0; k < 16; k++) begin
        open_q[k] <= open_q[k] + FlightW'(new_valid_i && new_list_i == 4'(k))
                     - FlightW'(old_valid_i && old_list_i == 4'(k));
      end
      unique case (state_q)
        StTokens: if (first_valid && first_take) state_q <= StWrites;
        StWrites: if (stop_i ? quiet_i : missing <= 32'sd0) state_q <= StEnd;
        StEnd: if (end_ready_i) state_q <= StTokens;
        default: state_q <= StTokens;
      endcase
      if (failed_i) failed_q <= 1'b1;
      if (state_q == StWrites && failed_q && end_q.list) failed_q <= failed_i;
    end
    if (failed_i) failed_response_q <= failed_response_i;
    if (state_q == StTokens) begin
      end_q    <= first;
      wanted_q <= begun_q;
    end
    if (state_q == StWrites && end_q.list) begin
      if (failed_q && end_q.error == '0) begin
        end_q.error <= E_BUS_WR;
        end_q.info1 <= 32'(failed_response_q);
      end
      if (stop_i && end_q.error == '0) end_q.error <= E_TIMEOUT;
    end
  end
endmodule : jd_mcts_ends
