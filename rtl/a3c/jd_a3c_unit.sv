// SPDX-License-Identifier: Apache-2.0
//
// A compute unit: takes up to two tasks at a time and runs them, from memory and to memory.
//
// Streams  task: a task. end: how it ended, in the order of the tasks. lookup: asks for a layer of
//          the task's network; lookup_valid_i answers. order: asks whether the gradients of a layer
//          may be applied. mem_*: memory.
// Timing   Parameters and feature maps of a task are loaded while the task before it is computed.
//          After stop_i no access to memory begins; idle_o says that none is outstanding.
// Numbers  those of models/a3c/ops.py and models/a3c/rmsprop.py.
// Source   FA3C (ASPLOS 2019) section 4.1, 4.2. a3c 7, 9. Golden model: models/a3c/engine.py.
//
// The parts of a unit go through the tasks side by side, each at its own pace: the loaders of
// parameters and feature maps, the core, the update. If a task fails, they still go through it to
// its end, but write nothing of it to memory any more. So the next task finds everything in order.
`include "jd_assert.svh"
module jd_a3c_unit
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
#(
  parameter  int unsigned Pes           = 16,     // processing elements: 16, 32, 64 or 128
  parameter  int unsigned MulLatency    = 3,      // 1..4
  parameter  int unsigned AddLatency    = 4,      // 2..6
  parameter  int unsigned DivLatency    = 8,      // of the update, 2..28
  parameter  int unsigned SqrtLatency   = 8,      // 2..28
  parameter  int unsigned MapRows       = 512,    // of the feature-map buffer
  parameter  int unsigned ParameterRows = 512,    // of the parameter buffer, a power of two
  parameter  int unsigned GradientRows  = 512,    // of the gradient buffer; 0: no trainings
  parameter  bit          SecondImage   = 1'b0,   // tasks may have a second image of parameters
  parameter  int unsigned UpdateUnits   = 4       // words of an update per clock, 2**k, 1..16
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           task_valid_i,
  output logic           task_ready_o,
  input  task_t          task_i,
  output logic           lookup_valid_o,
  input  logic           lookup_ready_i,
  output logic [3:0]     lookup_slot_o,
  output logic [2:0]     lookup_layer_o,
  input  logic           lookup_valid_i,
  input  layer_t         lookup_data_i,
  output logic           end_valid_o,
  input  logic           end_ready_i,
  output end_t           end_o,
  output logic           order_valid_o,
  output logic [31:0]    order_ticket_o,
  output logic [2:0]     order_layer_o,
  output logic [25:0]    order_behind_o,
  input  logic           order_go_i,
  output logic           layer_done_o,
  output logic [2:0]     layer_done_layer_o,
  output written_t       written_o,
  output unit_clocks_t   clocks_o,
  output logic           progress_o,
  input  logic           stop_i,
  output logic           idle_o,
  output axi_req_t       mem_req_o,
  input  axi_rsp_t       mem_rsp_i
);
  localparam int unsigned EntryW    = $clog2(ParameterRows);
  localparam int unsigned PositionW = EntryW + 1;

  // ---- Up to two tasks, and the task that each part works on
  logic        fill_slot_q;
  task_t [1:0]       task_q;
  logic [1:0]        used_q;                      // the slot has a task,
  logic [1:0]        ready_q;                     // and its layers
  logic [1:0]        load_q, map_q, walk_q, core_q, update_q;   // the part has not finished it
  logic [1:0]        save_q;                      // its maps may still be on their way
  logic              in_q, out_q;                 // slot of the next task; of the next end
  logic              load_slot_q, map_slot_q, walk_slot_q, core_slot_q, update_slot_q, save_slot_q;
  logic              load_finish, map_finish, walk_finish, core_done, update_finish;
  logic              task_take, task_end, launch;
  logic              save_busy;
  assign task_ready_o = !used_q[in_q];
  assign task_take    = task_valid_i && task_ready_o;
  assign end_valid_o  = ready_q[out_q] && !load_q[out_q] && !map_q[out_q] && !core_q[out_q]
                        && !update_q[out_q] && !save_q[out_q];
  assign task_end     = end_valid_o && end_ready_i;
  logic              update_none;                 // no update: an inference
  assign update_none  = update_q[update_slot_q] && ready_q[update_slot_q]
                        && !task_q[update_slot_q].train;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      {used_q, ready_q, load_q, map_q, walk_q, core_q, update_q, save_q} <= '0;
      {in_q, out_q, load_slot_q, map_slot_q, walk_slot_q, core_slot_q, update_slot_q} <= '0;
    end else begin
      if (!save_busy) save_q <= save_q & core_q;
      if (task_take) begin
        used_q[in_q] <= 1'b1;
        in_q         <= !in_q;
      end
      if (launch) begin
        ready_q[fill_slot_q]  <= 1'b1;
        load_q[fill_slot_q]   <= 1'b1;
        map_q[fill_slot_q]    <= 1'b1;
        walk_q[fill_slot_q]   <= 1'b1;
        core_q[fill_slot_q]   <= 1'b1;
        update_q[fill_slot_q] <= 1'b1;
        save_q[fill_slot_q]   <= 1'b1;
      end
      if (load_finish) begin
        load_q[load_slot_q] <= 1'b0;
        load_slot_q         <= !load_slot_q;
      end
      if (map_finish) begin
        map_q[map_slot_q] <= 1'b0;
        map_slot_q        <= !map_slot_q;
      end
      if (walk_finish) begin
        walk_q[walk_slot_q] <= 1'b0;
        walk_slot_q         <= !walk_slot_q;
      end
      if (core_done) begin
        core_q[core_slot_q] <= 1'b0;
        core_slot_q         <= !core_slot_q;
      end
      if (update_finish || update_none) begin
        update_q[update_slot_q] <= 1'b0;
        update_slot_q           <= !update_slot_q;
      end
      if (task_end) begin
        used_q[out_q]  <= 1'b0;
        ready_q[out_q] <= 1'b0;
        out_q          <= !out_q;
      end
    end
    if (task_take) task_q[in_q] <= task_i;
  end

  // ---- Layers of a task's network are looked up one by one; the output counts as one more
  logic        fill_q;                            // a task's layers are looked up
  logic        asked_q;                           // an answer is awaited
  logic [3:0]  fill_index_q;
  logic        tail_q;                            // the output is written
  unit_layer_t before_q, entry;                   // the layer before
  logic        entry_write;
  logic [1:0][3:0]  convs_q;
  logic [1:0][15:0] resident_q;
  logic [7:0] output_rows;
  assign lookup_valid_o = fill_q && !asked_q && !tail_q;
  assign lookup_slot_o  = task_q[fill_slot_q].slot;
  assign lookup_layer_o = fill_index_q[2:0];
  assign entry_write    = (lookup_valid_i && asked_q) || tail_q;
  assign launch         = tail_q;
  assign output_rows    = 8'((12'(before_q.layer.outputs) + 12'd15) >> 4);
  always_comb begin
    entry       = '0;
    entry.layer = lookup_data_i;
    entry.last  = fill_index_q + 4'd1 == task_q[fill_slot_q].layers;
    entry.line  = lookup_data_i.convolves ? 17'(lookup_data_i.width)
                  : fill_index_q != '0 && before_q.layer.convolves
                    ? 17'(before_q.layer.columns) : lookup_data_i.inputs;
    if (tail_q) begin
      entry = '0;
      entry.layer.map_rows    = 20'(output_rows);
      entry.layer.map_offset  = before_q.layer.map_offset + 23'(before_q.layer.map_rows);
      entry.layer.buffer_base = before_q.layer.buffer_base
                                + 24'(before_q.layer.slots) * 24'(before_q.layer.map_rows);
      entry.layer.slots       = before_q.layer.slots;
    end
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fill_q      <= 1'b0;
      fill_slot_q <= 1'b0;
      asked_q     <= 1'b0;
      tail_q      <= 1'b0;
    end else begin
      tail_q <= 1'b0;
      if (!fill_q && used_q[fill_slot_q] && !ready_q[fill_slot_q]) fill_q <= 1'b1;
      if (lookup_valid_o && lookup_ready_i) asked_q <= 1'b1;
      if (lookup_valid_i && asked_q) begin
        asked_q <= 1'b0;
        tail_q  <= entry.last;
      end
      if (tail_q) begin
        fill_q      <= 1'b0;
        fill_slot_q <= !fill_slot_q;
      end
    end
    if (!fill_q) begin
      fill_index_q <= '0;
    end else if (entry_write) begin
      fill_index_q <= fill_index_q + 4'd1;
      before_q     <= entry;
      if (!tail_q) begin
        // The convolutions come first. Their gradients lie in the order of the image.
        if (fill_index_q == '0) begin
          convs_q[fill_slot_q]    <= '0;
          resident_q[fill_slot_q] <= '0;
        end
        if (lookup_data_i.convolves) convs_q[fill_slot_q] <= fill_index_q + 4'd1;
        else if (fill_index_q == '0 || before_q.layer.convolves) begin
          resident_q[fill_slot_q] <= lookup_data_i.theta_offset[15:0];
        end
      end
    end
  end

  logic [3:0]  load_index, map_index, walk_index;
  unit_layer_t load_layer, map_layer, walk_layer;
  for (genvar r = 0; r < 3; r++) begin : gen_reader
    logic [4:0]  address;
    unit_layer_t layer;
    jd_mem_1r1w #(.Depth (32), .Lanes (1), .LaneW ($bits(unit_layer_t))) u_layers (
      .clk_i, .rst_ni,
      .write_en_i   (entry_write),
      .write_addr_i ({fill_slot_q, fill_index_q}),
      .write_mask_i (1'b1),
      .write_data_i (entry),
      .read_en_i    (1'b1),
      .read_addr_i  (address),
      .read_data_o  (layer)
    );
  end
  assign gen_reader[0].address = {load_slot_q, load_index};
  assign gen_reader[1].address = {map_slot_q, map_index};
  assign gen_reader[2].address = {walk_slot_q, walk_index};
  assign load_layer = gen_reader[0].layer;
  assign map_layer  = gen_reader[1].layer;
  assign walk_layer = gen_reader[2].layer;

  // ---- Failures; the first failure of a task is kept
  localparam int unsigned PARTS = 4;
  localparam int unsigned LOAD = 0, MAP = 1, SAVE = 2, UPDATE = 3;
  end_t [1:0]              failed_q;
  logic [PARTS-1:0]        error, error_slot, error_write;
  logic [PARTS-1:0][4:0]   error_word;
  logic [PARTS-1:0][1:0]   error_response;
  assign error_slot  = {update_slot_q, save_slot_q, map_slot_q, load_slot_q};
  assign end_o       = failed_q[out_q];
  always_ff @(posedge clk_i) begin
    for (int unsigned p = 0; p < PARTS; p++) begin
      if (error[p] && failed_q[error_slot[p]].error == '0) begin
        failed_q[error_slot[p]] <= '{
          error: error_write[p] ? jd_engine_header_map_pkg::E_BUS_WR
                                : jd_engine_header_map_pkg::E_BUS_RD,
          word: error_word[p], response: error_response[p]};
      end
    end
    if (task_take) failed_q[in_q] <= '0;
    if (!rst_ni)   failed_q <= '0;
  end

  // ---- Parts
  logic                 parameter_valid;
  logic [EntryW-1:0]    parameter_entry;
  logic [511:0]         parameter_data;
  logic [PositionW-1:0] filled, released;
  logic [PARTS-1:0]     part_idle;
  logic                 map_valid, map_ready;
  logic [15:0]          map_row;
  logic [511:0]         map_data;
  logic [7:0]           loaded, samples;
  logic                 map_read_valid, map_read_ready;
  logic [15:0]          map_read_row;
  logic [511:0]         map_read_data;
  logic                 save_valid, save_ready, save_slot;
  logic [2:0]           save_sample;
  logic [22:0]          save_offset;
  logic [15:0]          save_row, save_rows;
  logic                 chunk_valid, chunk_ready, chunk_read;
  chunk_t               chunk;
  logic                 gradient_read_valid, gradient_read_ready;
  logic [15:0]          gradient_read_row;
  logic [511:0]         gradient_read_data;
  unit_clocks_t         core_clocks;

  // The port's clients: load, map_load, save, update.
  axi_req_t [PARTS-1:0] client_req;
  axi_rsp_t [PARTS-1:0] client_rsp;

  jd_a3c_load #(.Pes (Pes), .Rows (ParameterRows), .AddLatency (AddLatency)) u_load (
    .clk_i, .rst_ni,
    .go_i             (load_q[load_slot_q]),
    .task_i           (task_q[load_slot_q]),
    .finish_o         (load_finish),
    .layer_index_o    (load_index),
    .layer_i          (load_layer),
    .stop_i,
    .idle_o           (part_idle[LOAD]),
    .failed_i         (failed_q[load_slot_q].error != '0),
    .error_valid_o    (error[LOAD]),
    .error_word_o     (error_word[LOAD]),
    .error_response_o (error_response[LOAD]),
    .write_valid_o    (parameter_valid),
    .write_entry_o    (parameter_entry),
    .write_data_o     (parameter_data),
    .filled_o         (filled),
    .released_i       (released),
    .mem_req_o        (client_req[LOAD].read),
    .mem_rsp_i        (client_rsp[LOAD].read)
  );

  // No earlier task is in the core, and none of its maps waits to be saved.
  logic map_free;
  assign map_free = map_slot_q == core_slot_q && !(save_q[!map_slot_q] && !core_q[!map_slot_q]);
  // Maps are loaded while the task before is in the core, unless that task has another network,
  // whose maps lie elsewhere.
  logic map_go;
  assign map_go = map_q[map_slot_q]
                  && (map_free || task_q[!map_slot_q].slot == task_q[map_slot_q].slot);
  jd_a3c_map_load u_map_load (
    .clk_i, .rst_ni,
    .go_i             (map_go),
    .task_i           (task_q[map_slot_q]),
    .finish_o         (map_finish),
    .layer_index_o    (map_index),
    .layer_i          (map_layer),
    .stop_i,
    .idle_o           (part_idle[MAP]),
    .failed_i         (failed_q[map_slot_q].error != '0),
    .error_valid_o    (error[MAP]),
    .error_word_o     (error_word[MAP]),
    .error_response_o (error_response[MAP]),
    .write_valid_o    (map_valid),
    .write_ready_i    (map_ready),
    .write_row_o      (map_row),
    .write_data_o     (map_data),
    .loaded_o         (loaded),
    .samples_i        (samples),
    .free_i           (map_free),
    .mem_req_o        (client_req[MAP].read),
    .mem_rsp_i        (client_rsp[MAP].read)
  );

  jd_a3c_core #(
    .Pes (Pes), .MulLatency (MulLatency), .AddLatency (AddLatency), .MapRows (MapRows),
    .ParameterRows (ParameterRows), .GradientRows (GradientRows)
  ) u_core (
    .clk_i, .rst_ni,
    .go_i                  (walk_q[walk_slot_q]),
    .task_i                (task_q[walk_slot_q]),
    .slot_i                (walk_slot_q),
    .convs_i               (convs_q[walk_slot_q]),
    .resident_i            (resident_q),
    .finish_o              (walk_finish),
    .layer_index_o         (walk_index),
    .layer_i               (walk_layer),
    .done_o                (core_done),
    .clocks_o              (core_clocks),
    .progress_o            (progress_o),
    .parameter_valid_i     (parameter_valid),
    .parameter_entry_i     (parameter_entry),
    .parameter_data_i      (parameter_data),
    .filled_i              (filled),
    .released_o            (released),
    .map_valid_i           (map_valid),
    .map_ready_o           (map_ready),
    .map_row_i             (map_row),
    .map_data_i            (map_data),
    .loaded_i              (loaded),
    .samples_o             (samples),
    .map_read_valid_i      (map_read_valid),
    .map_read_ready_o      (map_read_ready),
    .map_read_row_i        (map_read_row),
    .map_read_data_o       (map_read_data),
    .save_valid_o          (save_valid),
    .save_ready_i          (save_ready),
    .save_slot_o           (save_slot),
    .save_sample_o         (save_sample),
    .save_offset_o         (save_offset),
    .save_row_o            (save_row),
    .save_rows_o           (save_rows),
    .save_busy_i           (save_busy),
    .chunk_valid_o         (chunk_valid),
    .chunk_ready_i         (chunk_ready),
    .chunk_o               (chunk),
    .chunk_read_i          (chunk_read),
    .gradient_read_valid_i (gradient_read_valid),
    .gradient_read_ready_o (gradient_read_ready),
    .gradient_read_row_i   (gradient_read_row),
    .gradient_read_data_o  (gradient_read_data)
  );

  always_ff @(posedge clk_i) begin
    if (save_valid && save_ready) save_slot_q <= save_slot;
  end
  jd_a3c_map_save u_map_save (
    .clk_i, .rst_ni,
    .job_valid_i      (save_valid),
    .job_ready_o      (save_ready),
    .job_address_i    (task_q[save_slot].maps[save_sample] + {11'd0, save_offset, 6'd0}),
    .job_row_i        (save_row),
    .job_rows_i       (save_rows),
    .job_word_i       (WORD_MAPS + {1'b0, save_sample, 1'b0}),
    .read_valid_o     (map_read_valid),
    .read_ready_i     (map_read_ready),
    .read_row_o       (map_read_row),
    .read_data_i      (map_read_data),
    .busy_o           (save_busy),
    .stop_i,
    .idle_o           (part_idle[SAVE]),
    .failed_i         (failed_q[save_valid ? save_slot : save_slot_q].error != '0),
    .error_valid_o    (error[SAVE]),
    .error_word_o     (error_word[SAVE]),
    .error_response_o (error_response[SAVE]),
    .mem_req_o        (client_req[SAVE].write),
    .mem_rsp_i        (client_rsp[SAVE].write)
  );

  if (GradientRows > 0) begin : gen_update
    // As many chunks as the drain can leave in the gradient buffer.
    logic   wait_valid, wait_ready;
    chunk_t wait_chunk;
    jd_stream_fifo #(.Width ($bits(chunk_t)), .Depth (64)) u_chunks (
      .clk_i, .rst_ni,
      .clear_i     (1'b0),
      .in_valid_i  (chunk_valid),
      .in_ready_o  (chunk_ready),
      .in_data_i   (chunk),
      .out_valid_o (wait_valid),
      .out_ready_i (wait_ready),
      .out_data_o  (wait_chunk),
      .count_o     ()
    );
    // Its bursts are as short as those of the parameters, so that both get the same share of reads.
    jd_a3c_update #(
      .Piece (16), .Second (SecondImage), .Units (UpdateUnits), .MulLatency (MulLatency),
      .AddLatency (AddLatency), .DivLatency (DivLatency), .SqrtLatency (SqrtLatency)
    ) u_update (
      .clk_i, .rst_ni,
      .go_i               (update_q[update_slot_q] && ready_q[update_slot_q]
                           && task_q[update_slot_q].train),
      .task_i             (task_q[update_slot_q]),
      .finish_o           (update_finish),
      .stop_i,
      .idle_o             (part_idle[UPDATE]),
      .failed_i           (failed_q[update_slot_q].error != '0),
      .error_valid_o      (error[UPDATE]),
      .error_word_o       (error_word[UPDATE]),
      .error_response_o   (error_response[UPDATE]),
      .chunk_valid_i      (wait_valid),
      .chunk_ready_o      (wait_ready),
      .chunk_i            (wait_chunk),
      .chunk_read_o       (chunk_read),
      .read_valid_o       (gradient_read_valid),
      .read_ready_i       (gradient_read_ready),
      .read_row_o         (gradient_read_row),
      .read_data_i        (gradient_read_data),
      .order_valid_o, .order_ticket_o, .order_layer_o, .order_behind_o, .order_go_i,
      .layer_done_o, .layer_done_layer_o, .written_o,
      .mem_req_o          (client_req[UPDATE]),
      .mem_rsp_i          (client_rsp[UPDATE])
    );
  end else begin : gen_no_update
    logic unused_update;
    assign unused_update = ^{order_go_i, chunk_valid, chunk, gradient_read_ready,
                             gradient_read_data, 32'(DivLatency), 32'(SqrtLatency),
                             32'(UpdateUnits), client_rsp[UPDATE]};
    assign update_finish = 1'b0;
    assign part_idle[UPDATE] = 1'b1;
    assign error[UPDATE] = 1'b0;
    assign error_word[UPDATE] = '0;
    assign error_response[UPDATE] = '0;
    assign chunk_ready = 1'b1;
    assign chunk_read = 1'b0;
    assign gradient_read_valid = 1'b0;
    assign gradient_read_row = '0;
    assign order_valid_o = 1'b0;
    assign order_ticket_o = '0;
    assign order_layer_o = '0;
    assign order_behind_o = '0;
    assign layer_done_o = 1'b0;
    assign layer_done_layer_o = '0;
    assign written_o = '0;
    assign client_req[UPDATE] = '{read: no_read(), write: no_write()};
  end
  assign error_write[LOAD] = 1'b0;
  assign error_write[MAP]  = 1'b0;
  assign error_write[SAVE] = 1'b1;
  assign error_write[UPDATE] = error_word[UPDATE] == WORD_TARGET
                               || error_word[UPDATE] == WORD_G_TARGET;

  // ---- The port
  assign client_req[SAVE].read  = no_read();
  assign client_req[LOAD].write = no_write();
  assign client_req[MAP].write  = no_write();
  logic unused_port;
  assign unused_port = ^{client_rsp[SAVE].read, client_rsp[LOAD].write, client_rsp[MAP].write};
  jd_axi_mux #(.Clients (PARTS)) u_port (
    .clk_i, .rst_ni,
    .client_req_i (client_req),
    .client_rsp_o (client_rsp),
    .mem_req_o,
    .mem_rsp_i
  );
  assign idle_o = part_idle == '1;

  always_comb begin
    clocks_o      = core_clocks;
    clocks_o.busy = used_q != '0;
  end

  `JD_ASSERT_IF(EndHasTask_A, end_valid_o, used_q[out_q])
  `JD_ASSERT_IF(TrainsHere_A, task_take && task_i.train, GradientRows > 0)
endmodule : jd_a3c_unit
