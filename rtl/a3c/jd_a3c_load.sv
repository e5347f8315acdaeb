// SPDX-License-Identifier: Apache-2.0
//
// Loads the parameters of tasks into the parameter buffer, in the order in which the processing
// elements use them. The buffer is a ring of entries of 16 words.
//
// Streams  go_i starts the task on task_i, which holds until finish_o. layer_i is the layer whose
//          index was shown one clock before.
//          write: an entry for the buffer; it is always taken.
//          filled_o, released_i: positions in the ring, modulo 2*Rows. Entries before filled_o are
//          loaded; entries before released_i may be overwritten.
//          error: a beat arrived with an error. Its data are written like any other, and failed_i
//          changes nothing, because this block writes no memory.
// Timing   A beat per clock. An entry is written one clock after its beat, an entry of a transposed
//          patch 20 clocks after the patch's last beat. filled_o moves one clock after the last
//          write of a block or of the biases.
//          Memory is asked only for entries that have room, so R never waits; in an inference for
//          at most AHEAD beats at a time. Consecutive rows of memory are one burst, up to the end
//          of the 4 KiB page.
//          finish_o comes when all entries are written; the next task's reads begin after it. After
//          stop_i no burst begins; idle_o says that no burst is outstanding.
// Numbers  bits, unchanged.
// Source   a3c 5.1, 5.5, 7.5; FA3C (ASPLOS 2019) sections 4.4.2, 4.4.3. Golden model:
//          models/a3c/layout.py, traffic.py; verif/a3c/memory.py, load_blocks.
//
// The order of the entries. Every segment begins at a multiple of SEGMENTS.
//   inference  Convolutions, first to last, once for each sample. Then connected layers, in passes
//              of at most 32 contexts. Each has its biases, then its patches, by blocks of 16
//              inputs. Input 16*block + j of output block k is entry block + j*N + k, where N is
//              the number of output blocks of the layer or pass.
//   training   Taken from the second image, if there is one. Connected layers, last to first, in
//              windows of inputs. Then convolutions, last to first, each in one window; layer 0 is
//              left out. Patches are transposed, by blocks of 16 outputs. Output 16*block + j of
//              input block k is entry block + j*N + k, where N is the number of input blocks of the
//              window. The last window is padded to whole lanes: entries after the last input block
//              are neither read nor written.
`include "jd_assert.svh"
module jd_a3c_load
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
#(
  parameter  int unsigned Pes         = 64,    // processing elements: 16, 32, 64 or 128
  parameter  int unsigned Rows        = 4096,  // entries, power of two 256..65536
  parameter  int unsigned AddLatency  = 4,     // clocks of the adders, 1..8
  parameter  int unsigned Outstanding = 16,    // reads, 1..64
  localparam int unsigned EntryW      = $clog2(Rows),
  localparam int unsigned PositionW   = EntryW + 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 go_i,
  input  task_t                task_i,
  output logic                 finish_o,
  output logic [3:0]           layer_index_o,
  input  unit_layer_t          layer_i,
  input  logic                 stop_i,
  output logic                 idle_o,
  input  logic                 failed_i,
  output logic                 error_valid_o,
  output logic [4:0]           error_word_o,
  output logic [1:0]           error_response_o,
  output logic                 write_valid_o,
  output logic [EntryW-1:0]    write_entry_o,
  output logic [511:0]         write_data_o,
  output logic [PositionW-1:0] filled_o,
  input  logic [PositionW-1:0] released_i,
  output axi_read_req_t        mem_req_o,
  input  axi_read_rsp_t        mem_rsp_i
);
  if (!(Pes inside {16, 32, 64, 128}) || Rows < 256 || Rows > 65536 || Rows != 1 << EntryW ||
      AddLatency < 1 || AddLatency > 8) begin : gen_bad_parameters
    $fatal(1, "jd_a3c_load: Pes=%0d, want 16..128, Rows=%0d, want 256..65536, AddLatency=%0d",
           Pes, Rows, AddLatency);
  end
  localparam int unsigned SEGMENTS = Pes / 16;
  localparam int unsigned BLOCKS   = 32;            // requested and not yet written
  localparam int unsigned BURST    = 64;            // beats of the longest burst
  localparam int unsigned AHEAD    = 192;           // beats that an inference may have requested

  // ---- The walk over blocks. A block is requested when all of it has room, patch by patch.
  typedef enum logic [2:0] {
    StIdle, StFetch, StLayer, StPart, StPlace, StRoom, StPatch, StDrain
  } state_e;
  state_e state_q, state_d;

  layer_t         layer;
  logic [3:0]     index_q, sample_q;
  logic [13:0]    blocks;              // QP/16
  logic [33:0]    head;                // beat of the layer's biases
  logic [33:0]    pitch;               // beats from one input block to the next: 16*OB
  logic           unused_inputs;
  assign layer         = layer_i.layer;
  assign blocks        = layer.padded_terms[17:4];
  assign head          = task_i.theta[39:6] + 34'(layer.theta_offset)
                         + (task_i.train ? 34'(task_i.second) : '0);
  assign pitch         = 34'({layer.output_blocks, 4'd0});
  assign layer_index_o = index_q;
  assign unused_inputs = ^{task_i, layer_i, layer, failed_i};

  // Output blocks of a pass: lane tiles for 32 contexts.
  logic [5:0] pass_tiles;
  always_comb begin
    unique case (task_i.samples)
      4'd1:    pass_tiles = 6'd32;
      4'd2:    pass_tiles = 6'd16;
      4'd3:    pass_tiles = 6'd10;
      4'd4:    pass_tiles = 6'd8;
      4'd5:    pass_tiles = 6'd6;
      4'd6:    pass_tiles = 6'd5;
      default: pass_tiles = 6'd4;
    endcase
  end

  // A part is a layer, a pass (some output blocks, in inferences) or a window (some input blocks,
  // in trainings).
  logic [13:0]          done_q;        // blocks of the layer in the parts before
  logic [13:0]          span_q;        // blocks of the part; and of these, those that exist
  logic [13:0]          present_q;
  logic [3:0]           tiles_q;       // of a window
  logic [13:0]          number_q;      // of the block in its part
  logic                 bias_q;        // the block is the part's biases
  logic [33:0]          bias_beat_q;   // of the part
  logic [33:0]          part_beat_q;   // the part's first patch
  logic [33:0]          next_beat_q;   // of the next window
  logic [33:0]          block_beat_q;  // the block's first patch
  logic [33:0]          patch_beat_q;  // the patch to be requested
  logic [13:0]          patches_q;     // after it in the block
  logic [PositionW-1:0] asked_q;       // position after everything requested
  logic [EntryW-1:0]    place_q;       // the block's first entry
  logic [PositionW-1:0] end_q;         // position after it
  logic [13:0]          limit, left, window;
  logic [13:0]          count;         // blocks of the part
  logic                 last_sample, next_sample, part_last, block_last, layer_last;
  logic                 has_room, run_ready, block_ready, ask;
  assign last_sample = sample_q + 4'd1 == task_i.samples;
  // The convolutions of the next sample follow those of this one.
  assign next_sample = !task_i.train && !layer.convolves && !last_sample;
  assign left        = (task_i.train ? blocks : 14'(layer.output_blocks)) - done_q;
  assign window      = 14'(tiles_q) * 14'(SEGMENTS);
  assign limit       = layer.convolves ? left :
                       task_i.train ? window : 14'(pass_tiles) << layer.lanes_forward;
  assign count       = task_i.train ? 14'(layer.output_blocks) : blocks;
  assign block_last  = number_q + 14'd1 == count;
  assign part_last   = left == present_q;
  assign layer_last  = task_i.train ? index_q == 4'd1 : index_q + 4'd1 == task_i.layers;
  assign has_room    = 32'(PositionW'(end_q - released_i)) <= Rows;

  assign ask         = state_q == StRoom && has_room && block_ready;

  logic [PositionW-1:0] place;
  // After biases: all other blocks end at a multiple of 16.
  assign place = (asked_q + PositionW'(SEGMENTS - 1)) & ~PositionW'(SEGMENTS - 1);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:  if (go_i) state_d = (task_i.train && task_i.layers == 4'd1) ? StDrain : StFetch;
      StFetch: state_d = StLayer;
      StLayer: state_d = next_sample ? StFetch : StPart;
      StPart:  state_d = StPlace;
      StPlace: state_d = StRoom;
      StRoom:  if (ask) state_d = StPatch;
      StPatch: begin
        if (run_ready && patches_q == '0) begin
          state_d = StPlace;
          if (!bias_q && block_last) begin
            state_d = !part_last ? StPart : layer_last ? StDrain : StFetch;
          end
        end
      end
      StDrain: if (filled_o == asked_q) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end
  assign finish_o = state_q == StDrain && filled_o == asked_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      asked_q <= '0;
    end else begin
      state_q <= state_d;
      if (ask) asked_q <= end_q;
    end
    unique case (state_q)
      StIdle: begin
        index_q  <= task_i.train ? task_i.layers - 4'd1 : '0;
        sample_q <= '0;
      end
      StLayer: begin
        if (next_sample) begin
          index_q  <= '0;
          sample_q <= sample_q + 4'd1;
        end
        done_q      <= '0;
        tiles_q     <= window_tiles(AddLatency, task_i.samples, layer.output_blocks, Pes, Rows);
        bias_beat_q <= head;
        part_beat_q <= head + 34'(layer.output_blocks);
      end
      StPart: begin
        span_q       <= (left < limit) ? left : limit;
        present_q    <= (left < limit) ? left : limit;
        if (task_i.train && !layer.convolves && left < limit) begin
          span_q <= (left + 14'(SEGMENTS - 1)) & ~14'(SEGMENTS - 1);
        end
        number_q     <= '0;
        bias_q       <= !task_i.train;
        block_beat_q <= part_beat_q;
      end
      StPlace: begin
        place_q      <= place[EntryW-1:0];
        end_q        <= place + (bias_q ? PositionW'(span_q) : PositionW'({span_q, 4'd0}));
        patch_beat_q <= bias_q ? bias_beat_q : block_beat_q;
        patches_q    <= bias_q ? '0 : present_q - 14'd1;
      end
      StPatch: begin
        if (run_ready) begin
          patch_beat_q <= patch_beat_q + (task_i.train ? pitch : 34'd16);
          patches_q    <= patches_q - 14'd1;
          if (patches_q == '0) begin
            bias_q <= 1'b0;
            if (!bias_q) begin
              number_q     <= number_q + 14'd1;
              block_beat_q <= block_beat_q + (task_i.train ? 34'd16 : pitch);
              // A window's first block ends where the next window begins.
              if (number_q == '0) next_beat_q <= patch_beat_q + pitch;
              if (block_last) begin
                done_q      <= done_q + present_q;
                bias_beat_q <= bias_beat_q + 34'(present_q);
                part_beat_q <= !task_i.train     ? part_beat_q + 34'({present_q, 4'd0}) :
                               number_q == '0    ? patch_beat_q + pitch : next_beat_q;
                if (part_last) index_q <= task_i.train ? index_q - 4'd1 : index_q + 4'd1;
              end
            end
          end
        end
      end
      default: ;
    endcase
  end

  // ---- Consecutive requests become one burst, up to the end of its page
  logic        run_valid, join_run, send, crosses, flush, command_ready, mover_idle;
  logic [33:0] run_end;
  logic        hold_valid_q, command_valid_q;
  logic [33:0] hold_beat_q, hold_end_q, command_beat_q;
  logic [6:0]  command_beats_q;
  assign run_valid = state_q == StPatch;
  assign run_end   = patch_beat_q + (bias_q ? 34'(span_q) : 34'd16);
  assign join_run  = hold_valid_q && run_valid && patch_beat_q == hold_end_q;
  assign crosses   = hold_beat_q[33:6] != hold_end_q[33:6];
  // The walk waits, perhaps for the requests that are held back here.
  assign flush     = state_q == StDrain || (state_q == StRoom && !ask);
  assign send      = hold_valid_q && (!command_valid_q || command_ready) && !stop_i &&
                     (crosses || (run_valid ? !join_run : flush));
  assign run_ready = !hold_valid_q || (!crosses && (join_run || send));
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      hold_valid_q    <= 1'b0;
      command_valid_q <= 1'b0;
    end else begin
      if (run_valid && run_ready) hold_valid_q <= 1'b1;
      else if (send)              hold_valid_q <= crosses && hold_end_q[5:0] != '0;
      if (send)               command_valid_q <= 1'b1;
      else if (command_ready) command_valid_q <= 1'b0;
    end
    if (run_valid && run_ready) begin
      hold_end_q <= run_end;
      if (!join_run) hold_beat_q <= patch_beat_q;
    end else if (send && crosses) begin
      hold_beat_q <= {hold_end_q[33:6], 6'd0};
    end
    if (send) begin
      command_beat_q  <= hold_beat_q;
      command_beats_q <= (crosses ? 7'd64 : {1'b0, hold_end_q[5:0]}) - {1'b0, hold_beat_q[5:0]};
    end
  end

  logic          beat_valid, beat_ready, beat_last;
  logic [511:0]  beat_data;
  logic [1:0]    beat_response;
  logic          unused_last;
  axi_read_req_t mover_req;
  axi_read_rsp_t mover_rsp;
  assign unused_last = beat_last;
  assign idle_o      = mover_idle && !command_valid_q;
  jd_axi_read_mover #(.MaxOutstanding (Outstanding)) u_mover (
    .clk_i, .rst_ni,
    .idle_o        (mover_idle),
    .cmd_valid_i   (command_valid_q),
    .cmd_ready_o   (command_ready),
    .cmd_address_i ({command_beat_q, 6'd0}),
    .cmd_beats_i   (16'(command_beats_q)),
    .out_valid_o   (beat_valid),
    .out_ready_i   (beat_ready),
    .out_data_o    (beat_data),
    .out_last_o    (beat_last),
    .out_resp_o    (beat_response),
    .mem_req_o     (mover_req),
    .mem_rsp_i     (mover_rsp)
  );

  // An inference begins with a whole map and few parameters. So it requests no more parameters than
  // a memory of latency 128 needs to send a beat per clock, and leaves most of the port to maps.
  logic [$clog2(BURST*Outstanding+1)-1:0] out_q;      // beats requested and not yet arrived
  logic          room_q, asks, comes;
  always_comb begin
    mem_req_o         = mover_req;
    mem_req_o.arvalid = mover_req.arvalid && room_q;
    mover_rsp         = mem_rsp_i;
    mover_rsp.arready = mem_rsp_i.arready && room_q;
  end
  assign asks  = mem_req_o.arvalid && mem_rsp_i.arready;
  assign comes = mem_rsp_i.rvalid && mem_req_o.rready;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      out_q  <= '0;
      room_q <= 1'b1;
    end else begin
      out_q  <= out_q + (asks ? $bits(out_q)'(mem_req_o.arlen) + 1'b1 : '0)
                - $bits(out_q)'(comes);
      room_q <= task_i.train || 32'(out_q) + (asks ? 2 * BURST : BURST) <= AHEAD;
    end
  end

  // ---- Blocks in the order of their beats. No read of a task is open when the next task begins.
  // So either all open beats go through the transposer, or none.
  typedef struct packed {
    logic [EntryW-1:0]    place;
    logic [PositionW-1:0] behind;
    logic [13:0]          stride;       // entries from beat to beat of a patch
    logic [13:0]          patches;      // and beats of each, minus 1
    logic [6:0]           beats;
  } block_t;
  block_t block_in, block;
  logic   block_valid, block_end;
  assign block_in = '{
    place:   place_q,
    behind:  end_q,
    stride:  bias_q ? 14'd1 : span_q,
    patches: patches_q,
    beats:   bias_q ? 7'(span_q - 14'd1) : 7'd15
  };
  jd_stream_fifo #(.Width ($bits(block_t)), .Depth (BLOCKS)) u_blocks (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (state_q == StRoom && has_room),
    .in_ready_o  (block_ready),
    .in_data_i   (block_in),
    .out_valid_o (block_valid),
    .out_ready_i (block_end),
    .out_data_o  (block),
    .count_o     ()
  );

  logic         turn_ready, turned_valid;
  logic [511:0] turned_data;
  jd_stream_transpose #(.Lanes (16), .WordW (32)) u_transpose (
    .clk_i, .rst_ni,
    .in_valid_i  (beat_valid && task_i.train),
    .in_ready_o  (turn_ready),
    .in_data_i   (beat_data),
    .out_valid_o (turned_valid),
    .out_ready_i (block_valid),
    .out_data_o  (turned_data)
  );

  logic                 put, patch_end, end_q2;
  logic [13:0]          patch_q;        // in the block
  logic [6:0]           beat_q;         // in the patch
  logic [EntryW-1:0]    offset_q;       // patch + beat*stride
  logic [PositionW-1:0] behind_q;
  assign beat_ready = task_i.train ? turn_ready : block_valid;
  assign put        = (task_i.train ? turned_valid : beat_valid) && block_valid;
  assign patch_end  = beat_q == block.beats;
  assign block_end  = put && patch_end && patch_q == block.patches;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_valid_o <= 1'b0;
      error_valid_o <= 1'b0;
      end_q2        <= 1'b0;
      filled_o      <= '0;
      patch_q       <= '0;
      beat_q        <= '0;
      offset_q      <= '0;
    end else begin
      write_valid_o <= put;
      error_valid_o <= beat_valid && beat_ready && beat_response != '0;
      end_q2        <= block_end;
      if (end_q2) filled_o <= behind_q;
      if (put) begin
        beat_q   <= patch_end ? '0 : beat_q + 7'd1;
        offset_q <= offset_q + EntryW'(block.stride);
        if (patch_end) begin
          patch_q  <= block_end ? '0 : patch_q + 14'd1;
          offset_q <= block_end ? '0 : EntryW'(patch_q) + EntryW'(1);
        end
      end
    end
    if (put) begin
      write_entry_o <= block.place + offset_q;
      write_data_o  <= task_i.train ? turned_data : beat_data;
      behind_q      <= block.behind;
    end
    error_response_o <= beat_response;
  end
  assign error_word_o = WORD_THETA;

  logic [PositionW-1:0] kept;
  assign kept = filled_o - released_i;
  `JD_ASSUME_IF(TaskLegal_M, go_i,
                task_i.samples != '0 && task_i.samples <= 4'd8 && task_i.layers != '0)
  `JD_ASSUME_STABLE(TaskStable_M, go_i && !finish_o, {go_i, task_i})
  // The reader's next segment may begin beyond the filled entries.
  `JD_ASSUME(ReleasedInRange_M, 32'(kept) <= Rows || 32'(PositionW'(-kept)) < SEGMENTS)
  `JD_ASSERT_IF(BeatExpected_A, beat_valid, block_valid || task_i.train)
  `JD_ASSERT_IF(ResponseNeverWaits_A, mem_rsp_i.rvalid, mem_req_o.rready)
  `JD_ASSERT_IF(RoomAsked_A, state_q == StPatch, 32'(PositionW'(asked_q - released_i)) <= Rows)
  `JD_ASSERT_IF(BurstInPage_A, command_valid_q, command_beats_q != '0 &&
                32'(command_beat_q[5:0]) + 32'(command_beats_q) <= 64)
  `JD_ASSERT_IF(AheadKept_A, go_i && !task_i.train, 32'(out_q) <= AHEAD)
  `JD_ASSERT_IF(FinishIsEmpty_A, finish_o, idle_o && !write_valid_o && !block_valid && out_q == '0)
endmodule : jd_a3c_load
