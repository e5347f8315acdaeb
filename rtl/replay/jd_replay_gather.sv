// SPDX-License-Identifier: Apache-2.0
//
// Ring 2: runs GATHER jobs. A GATHER copies rows of the data storage, chosen by an array of
// indices, to one place in memory, one after the other.
//
//    indices -> address of the row -> reads of up to CHUNK beats -> pack -> beats -> writes
//
// Streams  job_*, end_*: of jd_engine_control. index_*, row_*: the memory.
// Timing   One read per clock: a row of 64 bytes or less per clock, or a beat per clock of larger
//          rows, read and written at the same time. Beats are requested only while there is room
//          for them, up to DEPTH, and written only once they are here, so the port is never held
//          up. After a failed write rows are still read and counted, but no more are written; nor
//          after a time-out.
// Numbers  address of a row = address of the storage + index * bytes of a row. A row has 16 or 32
//          bytes, or a multiple of 64 up to 2^20.
// Source   thesis 4.2 (data storage). Golden model: models/replay/engine.py.
`include "jd_assert.svh"
module jd_replay_gather
  import jd_axi_pkg::*;
  import jd_replay_pkg::*;
  import jd_replay_map_pkg::*;
  import jd_replay_job_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD;
  import jd_engine_header_map_pkg::E_BUS_WR;
  import jd_engine_header_map_pkg::E_TIMEOUT;
(
  input  logic               clk_i,
  input  logic               rst_ni,
  input  logic               soft_reset_i,
  input  logic               job_valid_i,
  output logic               job_ready_o,
  input  logic [511:0]       job_descriptor_i,
  input  logic               timeout_i,
  output logic               end_valid_o,
  input  logic               end_ready_i,
  output logic [7:0]         end_error_o,
  output logic [31:0]        end_count_o,
  output logic [31:0]        end_info0_o,
  output logic [31:0]        end_info1_o,
  output logic               busy_o,            // a job is in hand
  output logic               waiting_o,         // for memory
  input  logic [INDEX_W:0]   leaves_i,          // N
  output logic               idle_o,            // nothing of it is in flight at the memory
  // Memory: indices.
  output axi_read_req_t      index_req_o,
  input  axi_read_rsp_t      index_rsp_i,
  // Memory: rows, and where they are brought.
  output axi_req_t           row_req_o,
  input  axi_rsp_t           row_rsp_i
);
  localparam int unsigned CHUNK  = 16;     // beats of a command
  localparam int unsigned DEPTH  = 256;    // beats asked for and not written
  localparam int unsigned CountW = $clog2(DEPTH + 1);

  typedef enum logic [2:0] {StIdle, StCheck, StStart, StRun, StDrain, StEnd} state_e;
  state_e state_q;

  // ---- Memory
  logic               read_start, read_abort, item_valid, item_ready, read_error, read_idle;
  logic [39:0]        read_address;
  logic [COUNT_W-1:0] read_count;
  logic [2:0]         read_size_log2;
  logic [127:0]       item;
  logic [31:0]        item_index;           // in the register before the check
  logic [1:0]         read_response, row_response, write_response;
  logic               row_cmd_valid, row_cmd_ready, row_valid, row_ready, row_idle;
  logic [39:0]        row_cmd_address, write_cmd_address;
  logic [15:0]        row_cmd_beats, write_cmd_beats;
  logic [511:0]       row_data, write_data;
  logic               write_cmd_valid, write_cmd_ready, write_valid, write_ready, write_done;
  logic               write_idle;
  logic [63:0]        write_strobes;
  jd_axi_array_reader #(
    .CountW (COUNT_W)
  ) u_indices (
    .clk_i,
    .rst_ni,
    .start_i         (read_start),
    .address_i       (read_address),
    .count_i         (read_count),
    .size_log2_i     (read_size_log2),
    .abort_i         (read_abort),
    .item_valid_o    (item_valid),
    .item_ready_i    (item_ready),
    .item_data_o     (item),
    .error_o         (read_error),
    .response_o      (read_response),
    .idle_o          (read_idle),
    .mem_req_o       (index_req_o),
    .mem_rsp_i       (index_rsp_i)
  );
  jd_axi_read_mover #(
    .MaxOutstanding(16)
  ) u_rows (
    .clk_i,
    .rst_ni,
    .cmd_valid_i    (row_cmd_valid),
    .cmd_ready_o    (row_cmd_ready),
    .cmd_address_i  (row_cmd_address),
    .cmd_beats_i    (row_cmd_beats),
    .out_valid_o    (row_valid),
    .out_ready_i    (row_ready),
    .out_data_o     (row_data),
    .out_last_o     (),
    .out_resp_o     (row_response),
    .idle_o         (row_idle),
    .mem_req_o      (row_req_o.read),
    .mem_rsp_i      (row_rsp_i.read)
  );
  jd_axi_write_mover #(
    .MaxOutstanding(5)
  ) u_output (
    .clk_i,
    .rst_ni,
    .idle_o          (write_idle),
    .cmd_valid_i     (write_cmd_valid),
    .cmd_ready_o     (write_cmd_ready),
    .cmd_address_i   (write_cmd_address),
    .cmd_beats_i     (write_cmd_beats),
    .in_valid_i      (write_valid),
    .in_ready_o      (write_ready),
    .in_data_i       (write_data),
    .in_strb_i       (write_strobes),
    .done_valid_o    (write_done),
    .done_ready_i    (1'b1),
    .done_resp_o     (write_response),
    .mem_req_o       (row_req_o.write),
    .mem_rsp_i       (row_rsp_i.write)
  );
  assign idle_o = read_idle && row_idle && write_idle;

  // ---- The job
  gather_t     job_q;
  gather_checks_t checks_q;
  logic        cleared_q, stop;
  logic [7:0]  error_q;
  logic [31:0] info1_q;
  logic        small_q, half_q;            // a row is less than a beat: 16 bytes, or 32
  logic [14:0] beats_q;                    // of a row, 1..2^14
  logic [16:0] units_q;                    // 16 bytes of a row, 1..2^16
  assign stop             = soft_reset_i || timeout_i;
  assign job_ready_o      = state_q == StIdle && !soft_reset_i;
  assign busy_o           = state_q != StIdle;
  assign read_start     = state_q == StStart && error_q == '0 && !soft_reset_i;
  assign read_abort     = state_q == StDrain;
  assign read_address   = job_q.input_address;
  assign read_count     = job_q.count;
  assign read_size_log2 = job_q.responses ? 3'd4 : 3'd2;

  // ---- Addresses: an index is checked, multiplied and added, one clock each
  logic               walks;               // these stages move
  logic               index_valid_q, product_valid_q, row_valid_q;
  logic [INDEX_W-1:0] index_q;
  logic [35:0]        product_q;           // in units of 16 bytes
  logic [39:0]        row_q;               // the row's address
  logic [14:0]        left_q;              // beats of it that are not asked for
  logic               outside;             // no leaf has that index
  logic               held_valid, held_ready;   // an index before these stages
  logic               bad_q;               // such an index came: nothing is taken after it
  logic               cut_q;               // what is not asked for yet is not wanted any more
  logic               offers, offers_q;    // a command to the register after these stages
  logic               asks, last_ask, room_q, ask_ready;
  logic [COUNT_W-1:0] items_q;             // indices to come
  logic               more_q;              // some
  assign outside      = item_index[31:INDEX_W+1] != '0 || item_index[INDEX_W:0] >= leaves_i;
  assign walks        = !row_valid_q || (asks && last_ask);
  assign held_ready   = state_q == StRun && more_q && walks && !bad_q;
  assign last_ask     = left_q <= 15'(CHUNK);
  assign offers       = row_valid_q && (room_q || offers_q);   // once offered, it stays so
  assign asks         = offers && ask_ready;
  logic takes;
  assign takes        = held_valid && held_ready;
  jd_stream_skid #(
    .Width(32)
  ) u_index (
    .clk_i,
    .rst_ni,
    .clear_i     (state_q == StDrain),
    .in_valid_i  (item_valid),
    .in_ready_o  (item_ready),
    .in_data_i   (item[31:0]),
    .out_valid_o (held_valid),
    .out_ready_i (held_ready),
    .out_data_o  (item_index)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      index_valid_q   <= 1'b0;
      product_valid_q <= 1'b0;
      row_valid_q     <= 1'b0;
      offers_q        <= 1'b0;
    end else begin
      offers_q <= offers && !ask_ready;
      if (walks) begin
        index_valid_q   <= takes && !outside;
        product_valid_q <= index_valid_q;
        row_valid_q     <= product_valid_q;
      end
      if (cut_q) begin
        index_valid_q   <= 1'b0;
        product_valid_q <= 1'b0;
        if (!offers || ask_ready) row_valid_q <= 1'b0;
      end
    end
    cut_q <= rst_ni && stop && state_q inside {StRun, StDrain};
    if (walks) begin
      index_q   <= item_index[INDEX_W-1:0];
      product_q <= 36'(index_q) * 36'(units_q);
      row_q     <= job_q.storage_address + {product_q, 4'd0};
      left_q    <= beats_q;
    end else if (asks) begin
      row_q     <= row_q + 40'(CHUNK * 64);
      left_q    <= left_q - 15'(CHUNK);
    end
  end

  jd_stream_skid #(
    .Width(40 + 5)
  ) u_ask (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (offers),
    .in_ready_o  (ask_ready),
    .in_data_i   ({row_q[39:6], 6'd0, last_ask ? left_q[4:0] : 5'(CHUNK)}),
    .out_valid_o (row_cmd_valid),
    .out_ready_i (row_cmd_ready),
    .out_data_o  ({row_cmd_address, row_cmd_beats[4:0]})
  );
  assign row_cmd_beats[15:5] = '0;

  // Where in its beat a small row is.
  logic       lane_ready, lane_valid;
  logic [1:0] lane;
  logic       comes;                       // a beat of a row
  assign comes = row_valid && row_ready;
  jd_stream_fifo #(
    .Width(2),
    .Depth(DEPTH)
  ) u_lanes (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (asks && small_q),
    .in_ready_o  (lane_ready),
    .in_data_i   (row_q[5:4]),
    .out_valid_o (lane_valid),
    .out_ready_i (comes && small_q),
    .out_data_o  (lane),
    .count_o     ()
  );

  // ---- Pack: beats as they come, or small rows side by side
  logic [CountW-1:0]  owed_q;              // beats asked for that did not come
  logic               beat_last;           // the beat is its row's last
  logic [14:0]        rest_q;              // beats of the row after this one
  logic               failed_q;            // a beat was an error
  logic [31:0]        good_q;              // rows before it
  logic [1:0]         place_q;             // of the next small row
  logic [1:0]         place_last;
  logic [511:0]       pack_q;
  logic [3:0]         quarters_q;          // of it that are filled
  logic               packed_q;            // it goes to the queue
  logic               ended;               // all beats came, and none is asked for
  logic               flush;               // what is there of the last one, too
  logic               queue_ready;
  logic [CountW-1:0]  queued;
  assign row_ready = 1'b1;
  assign ended       = state_q == StDrain && owed_q == '0 && !index_valid_q && !product_valid_q &&
                       !row_valid_q && !packed_q;
  assign beat_last   = rest_q == '0;
  assign place_last  = half_q ? 2'd2 : 2'd3;
  assign flush       = ended && place_q != '0;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      owed_q   <= '0;
      room_q   <= 1'b0;
      packed_q <= 1'b0;
      place_q  <= '0;
    end else begin
      owed_q <= owed_q - CountW'(comes) +
                (asks ? (last_ask ? CountW'(left_q) : CountW'(CHUNK)) : '0);
      // Two clocks late: what is asked for between takes two commands' room more.
      room_q <= owed_q + queued <= CountW'(DEPTH - 4 * CHUNK);
      packed_q <= (comes && (!small_q || place_q == place_last)) || flush;
      if (flush)                place_q <= '0;
      else if (comes && small_q) place_q <= place_q + (half_q ? 2'd2 : 2'd1);
    end
    if (comes) begin
      if (!small_q) begin
        pack_q     <= row_data;
        quarters_q <= '1;
      end else begin
        if (place_q == '0) quarters_q <= '0;
        for (int unsigned q = 0; q < 4; q++) begin
          if (2'(q) == place_q) begin
            pack_q[128*q+:128] <= row_data[128*lane+:128];
            quarters_q[q]      <= 1'b1;
          end
          if (half_q && 2'(q) == place_q + 2'd1) begin
            pack_q[128*q+:128] <= row_data[128*{lane[1], 1'b1}+:128];
            quarters_q[q]      <= 1'b1;
          end
        end
      end
    end
    if (state_q == StStart) begin
      rest_q   <= beats_q - 15'd1;
      good_q   <= '0;
      failed_q <= 1'b0;
    end else begin
      if (comes) begin
        rest_q <= beat_last ? beats_q - 15'd1 : rest_q - 15'd1;
        if (row_response[1]) failed_q <= 1'b1;
        else if (beat_last && !failed_q) good_q <= good_q + 32'd1;
      end
    end
  end

  // ---- Write: beats that are here, up to a chunk at a time
  logic [CountW-1:0] promised_q;           // of the queued beats, those that a command counts
  logic [CountW-1:0] free;
  logic [4:0]        writes;               // beats of the next command
  logic              write_go, write_offer_q, write_new_q;   // new: not yet among the promised
  logic [4:0]        offer_q;
  logic [39:0]       write_address_q;
  logic              write_bad_q;
  logic [1:0]        write_worst_q;
  logic              beat_valid, sends, drops;
  logic              halt_q;               // no more is asked to be written: what is not is dropped
  logic [3:0]        quarters;
  jd_stream_fifo #(
    .Width(512 + 4),
    .Depth(DEPTH)
  ) u_beats (
    .clk_i,
    .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (packed_q),
    .in_ready_o  (queue_ready),
    .in_data_i   ({quarters_q, pack_q}),
    .out_valid_o (beat_valid),
    .out_ready_i (sends || drops),
    .out_data_o  ({quarters, write_data}),
    .count_o     (queued)
  );
  assign write_valid     = beat_valid && promised_q != '0;
  assign sends           = write_valid && write_ready;
  assign drops           = halt_q && promised_q == '0 && !write_offer_q && !write_new_q;
  assign free              = queued - promised_q;
  assign writes            = free >= CountW'(CHUNK) ? 5'(CHUNK) : free[4:0];
  assign write_go          = !write_offer_q && !halt_q &&
                             (writes == 5'(CHUNK) || (ended && place_q == '0 && writes != '0));
  assign write_cmd_valid   = write_offer_q;
  assign write_cmd_address = write_address_q;
  assign write_cmd_beats   = 16'(offer_q);
  for (genvar q = 0; q < 4; q++) begin : gen_strobes
    assign write_strobes[16*q+:16] = {16{quarters[q]}};
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      promised_q    <= '0;
      write_offer_q <= 1'b0;
      write_new_q   <= 1'b0;
    end else begin
      promised_q  <= promised_q + (write_new_q ? CountW'(offer_q) : '0) - CountW'(sends);
      write_new_q <= write_go;
      if (write_go)               write_offer_q <= 1'b1;
      else if (write_cmd_ready) write_offer_q <= 1'b0;
    end
    halt_q <= write_bad_q || soft_reset_i || (state_q == StDrain && error_q == E_TIMEOUT);
    if (write_go) offer_q <= writes;
    if (state_q == StStart) begin
      write_address_q  <= job_q.output_address;
      write_bad_q      <= 1'b0;
      write_worst_q <= '0;
    end else begin
      if (write_offer_q && write_cmd_ready) begin
        write_address_q <= write_address_q + {29'd0, offer_q, 6'd0};
      end
      if (write_done && write_response[1] && !write_bad_q) begin
        write_bad_q      <= 1'b1;
        write_worst_q <= write_response;
      end
    end
  end
  assign waiting_o = busy_o && owed_q != '0 && !row_valid;

  // ---- The job's course
  logic asked_all, broken, leaves, drained_q;
  logic [31:0] taken_q;                    // the index that was taken last
  assign asked_all = !more_q && !index_valid_q && !product_valid_q && !row_valid_q;
  assign broken    = more_q && read_error && !item_valid && !held_valid;
  assign leaves    = stop || bad_q || broken || asked_all || failed_q;
  assign end_valid_o = state_q == StEnd && !soft_reset_i;
  assign end_error_o = error_q;
  assign end_count_o = good_q;
  assign end_info0_o = error_q != '0 ? good_q : '0;
  assign end_info1_o = info1_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q <= StIdle;
      more_q  <= 1'b0;
    end else begin
      unique case (state_q)
        StIdle:  if (job_valid_i && job_ready_o) state_q <= StCheck;
        StCheck: state_q <= soft_reset_i ? StIdle : StStart;
        StStart: state_q <= soft_reset_i ? StIdle : error_q != '0 ? StEnd : StRun;
        StRun:   if (leaves) state_q <= StDrain;
        StDrain: if (drained_q) state_q <= StEnd;
        StEnd:   if (soft_reset_i || end_ready_i) state_q <= StIdle;
        default: state_q <= StIdle;
      endcase
      if (state_q == StStart) more_q <= read_start;
      else if (state_q == StDrain) more_q <= 1'b0;
      else if (takes) more_q <= items_q != COUNT_W'(1);
    end
    if (state_q == StStart) items_q <= job_q.count;
    else if (takes) items_q <= items_q - 1'b1;
    cleared_q <= leaves_i != '0;
    drained_q <= ended && place_q == '0 && queued == '0 && !write_offer_q && read_idle &&
                 write_idle;
    if (state_q == StStart) bad_q <= 1'b0;
    else if (takes && outside) bad_q <= 1'b1;
    if (takes) taken_q <= item_index;
    if (job_valid_i && job_ready_o) begin
      job_q    <= gather_of(job_descriptor_i);
      checks_q <= gather_checks_of(job_descriptor_i, leaves_i);
      info1_q  <= '0;
    end
    if (state_q == StCheck) begin
      error_q <= gather_error(checks_q, cleared_q);
      small_q <= job_q.row_bytes[20:6] == '0;
      half_q  <= job_q.row_bytes[5];
      beats_q <= job_q.row_bytes[20:6] == '0 ? 15'd1 : job_q.row_bytes[20:6];
      units_q <= job_q.row_bytes[20:4];
    end
    if (state_q == StRun && leaves) begin
      if (stop) begin
        error_q <= E_TIMEOUT;
      end else if (failed_q) begin
        error_q <= E_BUS_RD;
      end else if (bad_q) begin
        error_q <= E_INDEX;
        info1_q <= taken_q;
      end else if (broken) begin
        error_q <= E_BUS_RD;
        info1_q <= 32'(read_response);
      end
    end
    if (comes && row_response[1] && !failed_q) info1_q <= 32'(row_response);
    if (state_q == StDrain && drained_q) begin
      if ((error_q == '0 || error_q == E_INDEX) && failed_q) error_q <= E_BUS_RD;
      else if (error_q == '0 && write_bad_q) begin
        error_q <= E_BUS_WR;
        info1_q <= 32'(write_worst_q);
      end
    end
  end

  `JD_ASSERT_IF(RoomForBeats_A, packed_q, queue_ready)
  `JD_ASSERT_IF(RoomForLane_A, asks && small_q, lane_ready)
  `JD_ASSERT_IF(LaneIsThere_A, comes && small_q, lane_valid)
  `JD_ASSERT_IF(Owed_A, comes, owed_q != '0)
  `JD_ASSERT_IF(AllCame_A, end_valid_o && error_q == '0, good_q == 32'(job_q.count))
endmodule : jd_replay_gather
