// SPDX-License-Identifier: Apache-2.0
//
// Writes responses into the completion queue, and what READ_ROOT asks for into memory.
//
// Streams  in: responses. root_*: beats for another place; root_done_o: one was written. written_o:
//          responses whose write has been answered, in this clock. cmd, beat, done: of the write queue.
// Timing   a response per clock. Those of one beat that wait are written together.
// Numbers  response number i goes to entry i mod 2^size_i with the phase NOT bit size_i of i; a beat has
//          four. The time is that in which it came in.
// Source   docs/mcts.md (requests). Golden model: models/mcts/formats.py, pack_responses.
`include "jd_assert.svh"
module jd_mcts_respond
  import jd_mcts_pkg::*;
#(
  parameter int unsigned T = 16           // responses that wait, 4..1024
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          clear_i,          // soft reset, or the end of all lists: drop what waits
  input  logic [31:0]   time_i,
  input  logic [39:0]   base_i,
  input  logic [4:0]    size_i,           // log2 of the entries
  input  logic          set_i,            // the next response has this number
  input  logic [31:0]   number_i,
  input  logic          in_valid_i,
  output logic          in_ready_o,
  input  response_t     in_response_i,
  input  logic          root_valid_i,
  output logic          root_ready_o,
  input  logic [39:0]   root_address_i,
  input  logic [511:0]  root_data_i,
  input  logic [63:0]   root_strb_i,
  output logic          root_done_o,
  output logic [2:0]    written_o,
  output logic [1:0]    done_response_o,
  output logic          cmd_valid_o,
  input  logic          cmd_ready_i,
  output logic [39:0]   cmd_address_o,
  output logic          beat_valid_o,
  input  logic          beat_ready_i,
  output logic [511:0]  beat_o,
  output logic [63:0]   strb_o,
  input  logic          done_valid_i,
  input  logic [1:0]    done_response_i,
  output logic          idle_o            // all beats are with the write queue or answered
);
  localparam int unsigned CountW = $clog2(T + 1);
  localparam int unsigned OUT    = 32;    // beats that are out: the write queue has fewer
  localparam int unsigned OutW   = $clog2(OUT + 1);

  logic              first_valid, first_take, room;
  response_t         first;
  logic [31:0]       first_time;
  logic [CountW-1:0] unused_count;
  jd_stream_fifo #(.Width (RESPONSE_W + 32), .Depth (T)) u_waiting (
    .clk_i, .rst_ni, .clear_i,
    .in_valid_i  (in_valid_i && room),      // the time goes on while a response waits for room
    .in_ready_o  (room),
    .in_data_i   ({time_i, in_response_i}),
    .out_valid_o (first_valid),
    .out_ready_i (first_take),
    .out_data_o  ({first_time, first}),
    .count_o     (unused_count)
  );

  assign in_ready_o = room;

  // ---- Gather those of one beat
  logic [31:0]       number_q;
  logic [3:0]        filled_q;
  logic [3:0][127:0] gathered_q;
  logic [31:0]       mask, place;
  logic              leaves, out_free;
  logic [39:0]       gathered_address_q;
  assign mask       = (32'd1 << size_i) - 32'd1;
  assign place      = number_q & mask;
  assign leaves     = filled_q != '0 && (filled_q[3] || !first_valid) && out_free;
  assign first_take = !filled_q[3] || leaves;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      filled_q <= '0;
    end else begin
      if (leaves) filled_q <= '0;
      if (first_valid && first_take) filled_q[place[1:0]] <= 1'b1;
    end
    if (set_i)                          number_q <= number_i;
    else if (first_valid && first_take) number_q <= number_q + 1'b1;
    if (first_valid && first_take) begin
      gathered_q[place[1:0]] <= {first_time, first.tag, first.parent, first.new_id, first.node,
                                 1'b0, first.action, first.depth, first.worker, first.code,
                                 !1'(number_q >> size_i)};
      gathered_address_q     <= base_i + {6'd0, place[31:2], 4'd0} * 40'd4;
    end
  end

  // ---- One beat on its way to the write queue: a command and its data
  logic              out_valid_q, cmd_done_q, beat_done_q, out_root_q, out_goes;
  logic [39:0]       out_address_q;
  logic [511:0]      out_data_q;
  logic [63:0]       out_strb_q, gathered_strb;
  logic [2:0]        out_count_q;
  logic [OutW-1:0]   out_q;
  for (genvar k = 0; k < 4; k++) begin : gen_strobes
    assign gathered_strb[16*k+:16] = {16{filled_q[k]}};
  end
  assign cmd_valid_o   = out_valid_q && !cmd_done_q;
  assign cmd_address_o = out_address_q;
  assign beat_valid_o  = out_valid_q && !beat_done_q;
  assign beat_o        = out_data_q;
  assign strb_o        = out_strb_q;
  assign out_goes      = out_valid_q && (cmd_done_q || cmd_ready_i)
                         && (beat_done_q || beat_ready_i);
  assign out_free      = (!out_valid_q || out_goes) && !root_valid_i;
  assign root_ready_o  = !out_valid_q || out_goes;
  logic enters;
  assign enters = leaves || (root_valid_i && root_ready_o);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_valid_q <= 1'b0;
      cmd_done_q  <= 1'b0;
      beat_done_q <= 1'b0;
      out_q       <= '0;
    end else begin
      if (enters)        out_valid_q <= 1'b1;
      else if (out_goes) out_valid_q <= 1'b0;
      cmd_done_q  <= !out_goes && (cmd_done_q || (cmd_valid_o && cmd_ready_i));
      beat_done_q <= !out_goes && (beat_done_q || (beat_valid_o && beat_ready_i));
      out_q       <= out_q + OutW'(enters) - OutW'(done_valid_i);
    end
    if (enters) begin
      out_root_q    <= root_valid_i;
      out_address_q <= root_valid_i ? root_address_i : gathered_address_q;
      out_data_q    <= root_valid_i ? root_data_i : gathered_q;
      out_strb_q    <= root_valid_i ? root_strb_i : gathered_strb;
    end
  end
  always_comb begin
    out_count_q = '0;
    for (int unsigned k = 0; k < 4; k++) out_count_q = out_count_q + 3'(out_strb_q[16 * k]);
  end

  // ---- What was answered
  logic                   done_root;
  logic [2:0]             done_count;
  logic [$clog2(OUT)-1:0] in_at_q, out_at_q;
  jd_mem_lut #(.Depth (OUT), .Width (4)) u_out (
    .clk_i, .rst_ni,
    .write_en_i   (out_goes),
    .write_addr_i (in_at_q),
    .write_data_i ({out_root_q, out_count_q}),
    .read_addr_i  (out_at_q),
    .read_data_o  ({done_root, done_count})
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      in_at_q  <= '0;
      out_at_q <= '0;
    end else begin
      if (out_goes)     in_at_q  <= in_at_q + 1'b1;
      if (done_valid_i) out_at_q <= out_at_q + 1'b1;
    end
  end
  assign root_done_o     = done_valid_i && done_root;
  assign written_o       = done_valid_i && !done_root ? done_count : '0;
  assign done_response_o = done_response_i;
  assign idle_o          = out_q == '0 && filled_q == '0 && !first_valid;

  `JD_ASSERT(OutFit_A, 32'(out_q) < OUT)
  `JD_ASSERT_IF(OneBeat_A, first_valid && first_take && filled_q != '0 && !leaves,
                place[1:0] != 2'd0)
endmodule : jd_mcts_respond
