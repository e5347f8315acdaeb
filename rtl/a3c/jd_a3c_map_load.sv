// SPDX-License-Identifier: Apache-2.0
//
// Loads the feature maps of tasks into the feature-map buffer, in the order in which the processing
// elements use them. The buffer has rows of 16 words.
//
// Streams  go_i starts the task on task_i, which holds until finish_o. layer_i is the layer whose
//          index was shown one clock before; the index after the last layer means the output of the
//          network.
//          write: a row for the buffer.
//          loaded_o: how many items are in the buffer, modulo 256. An item is one map of one
//          sample.
//          samples_i: how many samples have been computed, over all tasks, modulo 256.
//          free_i: all earlier tasks have been computed; it stays high until the end of the task.
//          error: a beat arrived with an error. Its data are written like any other, and failed_i
//          changes nothing, because this block writes no memory.
// Timing   A row per clock. A row is written three clocks after its beat, or later, when
//          write_ready_i allows; R never waits. A burst ends with its 4 KiB page. finish_o comes
//          when all rows are written. After stop_i no burst begins; idle_o says that no burst is
//          outstanding.
// Numbers  bits, unchanged.
// Source   a3c 5.2, 5.4, 7.8. Golden model: models/a3c/layout.py; verif/a3c/memory.py, map_items.
//
// The order of the items, and when they are loaded:
//   inference  Map 0 of each sample.
//   training   The output gradients of each sample. Then connected layers, last to first, each with
//              the maps of all samples. Then, sample by sample, the maps of the convolutions, last
//              to first.
// A convolution has two slots for its maps: sample n uses slot n mod 2 and is loaded once sample
// n - 2 has been computed. A connected layer has a slot for each sample of the task; its maps are
// loaded once free_i is high.
`include "jd_assert.svh"
module jd_a3c_map_load
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
#(
  parameter int unsigned Outstanding = 16      // reads, 1..64
) (
  input  logic          clk_i,
  input  logic          rst_ni,
  input  logic          go_i,
  input  task_t         task_i,
  output logic          finish_o,
  output logic [3:0]    layer_index_o,
  input  unit_layer_t   layer_i,
  input  logic          stop_i,
  output logic          idle_o,
  input  logic          failed_i,
  output logic          error_valid_o,
  output logic [4:0]    error_word_o,
  output logic [1:0]    error_response_o,
  output logic          write_valid_o,
  input  logic          write_ready_i,
  output logic [15:0]   write_row_o,
  output logic [511:0]  write_data_o,
  output logic [7:0]    loaded_o,
  input  logic [7:0]    samples_i,
  input  logic          free_i,
  output axi_read_req_t mem_req_o,
  input  axi_read_rsp_t mem_rsp_i
);
  localparam int unsigned ITEMS = 16;          // requested and not yet written

  // ---- The walk over items. An item is requested as soon as it may come, page by page.
  typedef enum logic [2:0] {StIdle, StFetch, StLayer, StWait, StItem, StDrain} state_e;
  state_e state_q, state_d;

  layer_t      layer;
  logic [3:0]  index_q, sample_q;
  logic [3:0]  top_q;                 // the last convolution
  logic [7:0]  first_q;               // number of the task's first sample
  logic [7:0]  number, ahead;         // of the sample; its distance from the samples in use
  logic [7:0]  asked_q;               // items
  logic        record, last_sample, item_done, task_done, may_come, item_ready;
  logic [15:0] row_q;                 // the item's first row in the buffer
  logic [33:0] beat_q;                // next beat of the item in memory, and beats from there
  logic [33:0] record_q;              // where the next sample's record is
  logic [15:0] left_q;
  logic [6:0]  in_page, piece;
  logic        give, command_valid_q, command_ready;
  logic [33:0] command_beat_q;
  logic [6:0]  command_beats_q;
  logic        unused_fields;
  assign layer         = layer_i.layer;
  assign layer_index_o = index_q;
  assign unused_fields = ^{task_i, layer_i, layer, failed_i};
  assign record        = index_q == task_i.layers;
  assign last_sample   = sample_q + 4'd1 == task_i.samples;
  assign number        = first_q + 8'(sample_q);
  assign ahead         = number - samples_i;
  assign may_come      = (!record && layer.convolves) ? ahead < 8'd2 : free_i;
  // After the item of sample_q and index_q, another layer of the sample may follow, another sample
  // of the layer, or both anew.
  logic item_convolves_q;
  assign task_done = last_sample && (!task_i.train || index_q == '0);

  assign in_page   = 7'd64 - {1'b0, beat_q[5:0]};
  assign piece     = (left_q < 16'(in_page)) ? left_q[6:0] : in_page;
  assign give      = state_q == StItem && (!command_valid_q || command_ready) && !stop_i;
  assign item_done = give && left_q == 16'(piece);
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:  if (go_i) state_d = StFetch;
      StFetch: state_d = StLayer;
      StLayer: state_d = StWait;
      StWait:  if (may_come && item_ready) state_d = StItem;
      StItem:  if (item_done) state_d = task_done ? StDrain : StFetch;
      StDrain: if (loaded_o == asked_q) state_d = StIdle;
      default: state_d = StIdle;
    endcase
  end
  assign finish_o = state_q == StDrain && loaded_o == asked_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q         <= StIdle;
      first_q         <= '0;
      asked_q         <= '0;
      command_valid_q <= 1'b0;
    end else begin
      state_q <= state_d;
      if (finish_o) first_q <= first_q + 8'(task_i.samples);
      if (state_q == StWait && state_d == StItem) asked_q <= asked_q + 8'd1;
      if (give)               command_valid_q <= 1'b1;
      else if (command_ready) command_valid_q <= 1'b0;
    end
    unique case (state_q)
      StIdle: begin
        index_q  <= task_i.train ? task_i.layers : '0;
        sample_q <= '0;
      end
      StLayer: begin
        item_convolves_q <= !record && layer.convolves;
        left_q           <= layer.map_rows[15:0];
        if (record) begin
          beat_q   <= (sample_q == '0) ? task_i.objective[39:6] + 34'd1 : record_q;
        end else begin
          beat_q   <= task_i.maps[sample_q[2:0]][39:6] + 34'(layer.map_offset);
        end
        if (!record && layer.convolves) begin
          row_q <= layer.buffer_base[15:0] + (number[0] ? layer.map_rows[15:0] : '0);
        end else begin
          row_q <= (sample_q == '0) ? layer.buffer_base[15:0] : row_q + layer.map_rows[15:0];
        end
      end
      StItem: begin
        if (give) begin
          beat_q   <= beat_q + 34'(piece);
          record_q <= beat_q + 34'(piece);
          left_q   <= left_q - 16'(piece);
        end
        if (item_done) begin
          if (task_i.train && item_convolves_q && index_q != '0) begin
            index_q <= index_q - 4'd1;
          end else if (!last_sample) begin
            sample_q <= sample_q + 4'd1;
            if (item_convolves_q && task_i.train) index_q <= top_q;
          end else begin
            sample_q <= '0;
            index_q  <= index_q - 4'd1;
            top_q    <= index_q - 4'd1;
          end
        end
      end
      default: ;
    endcase
    if (give) begin
      command_beat_q  <= beat_q;
      command_beats_q <= piece;
    end
  end

  logic         beat_valid, beat_ready, beat_last, queue_idle;
  logic [511:0] beat_data;
  logic [1:0]   beat_response;
  logic         unused_last;
  assign unused_last = beat_last;
  assign idle_o      = queue_idle && !command_valid_q;
  // The buffer's other writers go first. So beats wait in a queue here, and never hold up R. Its
  // depth allows half of a port's 16 reads to be maps, because a task begins with maps.
  jd_axi_read_queue #(.Depth (512), .MaxOutstanding (Outstanding)) u_queue (
    .clk_i, .rst_ni,
    .idle_o            (queue_idle),
    .cmd_valid_i       (command_valid_q),
    .cmd_ready_o       (command_ready),
    .cmd_address_i     ({command_beat_q, 6'd0}),
    .cmd_beats_i       (16'(command_beats_q)),
    .out_valid_o       (beat_valid),
    .out_ready_i       (beat_ready),
    .out_data_o        (beat_data),
    .out_last_o        (beat_last),
    .out_resp_o        (beat_response),
    .mem_req_o,
    .mem_rsp_i
  );

  // ---- Items in the order of their beats
  typedef struct packed {
    logic [15:0] row;
    logic [15:0] rows;
    logic [4:0]  word;
  } item_t;
  item_t item_in, item;
  logic  item_valid, item_end, move, row_last;
  assign item_in = '{
    row:  row_q,
    rows: left_q,
    word: record ? WORD_OBJECTIVE : WORD_MAPS + {sample_q, 1'b0}
  };
  jd_stream_fifo #(.Width ($bits(item_t)), .Depth (ITEMS)) u_items (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (state_q == StWait && may_come),
    .in_ready_o  (item_ready),
    .in_data_i   (item_in),
    .out_valid_o (item_valid),
    .out_ready_i (item_end),
    .out_data_o  (item),
    .count_o     ()
  );

  logic [15:0] done_q;                // rows of the item that are taken
  logic        last_q;                // the row being written is its item's last
  assign beat_ready = item_valid && (!write_valid_o || write_ready_i);
  assign move       = beat_valid && beat_ready;
  assign row_last   = done_q + 16'd1 == item.rows;
  assign item_end   = move && row_last;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      write_valid_o <= 1'b0;
      error_valid_o <= 1'b0;
      loaded_o      <= '0;
      done_q        <= '0;
    end else begin
      if (move)               write_valid_o <= 1'b1;
      else if (write_ready_i) write_valid_o <= 1'b0;
      error_valid_o <= move && beat_response != '0;
      if (write_valid_o && write_ready_i && last_q) loaded_o <= loaded_o + 8'd1;
      if (move) done_q <= row_last ? '0 : done_q + 16'd1;
    end
    if (move) begin
      write_row_o  <= item.row + done_q;
      write_data_o <= beat_data;
      last_q       <= row_last;
    end
    error_word_o     <= item.word;
    error_response_o <= beat_response;
  end

  `JD_ASSUME_IF(TaskLegal_M, go_i,
                task_i.samples != '0 && task_i.samples <= 4'd8 && task_i.layers != '0)
  `JD_ASSUME_STABLE(TaskStable_M, go_i && !finish_o, {go_i, task_i})
  `JD_ASSUME_STABLE(FreeStays_M, go_i && free_i && !finish_o, free_i)
  `JD_ASSERT_STREAM(WriteStable_A, write_valid_o, write_ready_i, {write_row_o, write_data_o})
  `JD_ASSERT_IF(BeatExpected_A, beat_valid, item_valid)
  `JD_ASSUME_IF(RegionHasRows_M, state_q == StWait, left_q != '0)
  `JD_ASSERT_IF(FinishIsEmpty_A, finish_o, idle_o && !write_valid_o && !item_valid)
endmodule : jd_a3c_map_load
