// SPDX-License-Identifier: Apache-2.0
//
// Runs NET_LOAD: reads a network descriptor, checks it rule by rule, and keeps its layers with all
// derived values for the units.
//
// Streams  start_i gives a slot and the descriptor's address. The descriptor is one read of three
//          beats, each taken at once. done_o, for one clock, says how it ended. Layers of any slot
//          that holds a network can be read at any time.
// Timing   About 20 clocks per layer and those of its multiplications (jd_a3c_layer). layer_o is
//          valid 2 clocks after its read and holds until the data of the next read.
// Numbers  those of jd_a3c_layer and jd_a3c_capacity.
// Source   a3c 10.3. Golden model: models/a3c/engine.py, _load; models/a3c/validate.py.
//
// A slot keeps its old network until the new one has passed all checks. There is one bank of layers
// more than there are slots, and a new network goes into the bank that no slot uses.
`include "jd_assert.svh"
module jd_a3c_network
  import jd_a3c_pkg::*;
  import jd_a3c_map_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD, jd_engine_header_map_pkg::E_RESERVED;
#(
  parameter  int unsigned Slots       = 4,      // networks, 1..15
  parameter  int unsigned Pes         = 64,     // these: see jd_a3c_capacity
  parameter  int unsigned Samples     = 8,
  parameter  int unsigned MapRows     = 8192,
  parameter  int unsigned ForwardRows = 32768,
  parameter  int unsigned BackRows    = 4096,
  parameter  int unsigned GradRows    = 16384,
  parameter  int unsigned LineRows    = 16,
  localparam int unsigned SlotW       = (Slots > 1) ? $clog2(Slots) : 1
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,           // all slots are empty after it
  input  logic                 start_i,
  input  logic [SlotW-1:0]     slot_i,           // with start_i
  input  logic [39:0]          address_i,
  output logic                 busy_o,
  output logic                 done_o,
  output logic [7:0]           error_o,          // with done_o; 0: the slot has the network
  output logic [31:0]          info0_o,          // ERR_INFO0 and 1 of the error
  output logic [31:0]          info1_o,
  // Memory.
  output logic                 cmd_valid_o,
  input  logic                 cmd_ready_i,
  output logic [39:0]          cmd_address_o,
  output logic [15:0]          cmd_beats_o,
  input  logic                 beat_valid_i,
  output logic                 beat_ready_o,
  input  logic [511:0]         beat_data_i,
  input  logic [1:0]           beat_resp_i,
  input  logic                 beat_last_i,
  // What is loaded.
  output network_t [Slots-1:0] networks_o,
  input  logic                 read_valid_i,
  input  logic [SlotW-1:0]     read_slot_i,
  input  logic [2:0]           read_layer_i,
  output layer_t               layer_o
);
  if (Slots < 1 || Slots > 15) begin : gen_bad_slots
    $fatal(1, "jd_a3c_network: Slots=%0d, want 1..15", Slots);
  end

  localparam logic [15:0] BEATS        = 16'd3;    // that hold the longest descriptor
  localparam logic [15:0] MAGIC        = 16'hA3C0;
  localparam logic [31:0] ADDRESS_WORD = 32'd2;    // of the task's descriptor
  localparam logic [31:0] FROM_NETWORK = 32'd4;    // ERR_INFO0 is the layer
  localparam logic [3:0]  WHOLE        = 4'd8;     // or no single one
  localparam int unsigned BankW        = $clog2(Slots + 1);

  typedef enum logic [3:0] {
    StIdle, StCommand, StWord, StHead, StLayer, StAdd, StSum, StWhole, StDrain, StDone
  } state_e;
  state_e           state_q, state_d;
  logic [39:0]      address_q;
  logic [SlotW-1:0] slot_q;
  logic             beat_last_q;          // all beats are here
  logic [1:0]       response_q;           // the first that is an error
  logic             head_q;               // the next word is the head
  logic [1:0]       part_q;               // words of a layer that are there
  logic [127:0]     words_q;              // the last four
  logic [3:0]       index_q;              // layer in hand
  logic [7:0]       error_q;
  logic [3:0]       where_q;              // it is in

  // ---- The descriptor waits here until its layers are done with
  logic         held_valid, held_ready, held_last;
  logic [1:0]   held_response;
  logic [511:0] held_data;
  jd_stream_fifo #(.Width (515), .Depth (32'(BEATS))) u_beats (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (beat_valid_i),
    .in_ready_o  (beat_ready_o),
    .in_data_i   ({beat_last_i, beat_resp_i, beat_data_i}),
    .out_valid_o (held_valid),
    .out_ready_i (held_ready),
    .out_data_o  ({held_last, held_response, held_data}),
    .count_o     ()
  );

  // ---- The head
  logic [15:0] magic, layers;
  logic [7:0]  head_error;
  assign {magic, layers} = words_q[127:96];
  always_comb begin
    head_error = '0;
    if (layers > 16'(LAYERS)) head_error = E_MAX;
    if (layers == '0)         head_error = E_ZERO;
    if (magic != MAGIC)       head_error = E_RESERVED;
  end

  // ---- Layers and their sums
  logic        layer_busy, layer_done, layer_start_q;
  logic [7:0]  layer_error, whole_error;
  logic [22:0] layer_beats;
  layer_t      layer, placed;
  network_t    network;
  logic [3:0]  layers_q;
  jd_a3c_layer #(.Pes (Pes)) u_layer (
    .clk_i, .rst_ni,
    .start_i (layer_start_q),
    .first_i (index_q == '0),
    .words_i (words_q),
    .busy_o  (layer_busy),
    .done_o  (layer_done),
    .error_o (layer_error),
    .layer_o (layer),
    .beats_o (layer_beats)
  );
  jd_a3c_capacity #(
    .Pes (Pes), .Samples (Samples), .MapRows (MapRows), .ForwardRows (ForwardRows),
    .BackRows (BackRows), .GradRows (GradRows), .LineRows (LineRows)
  ) u_capacity (
    .clk_i, .rst_ni,
    .clear_i   (state_q == StHead),
    .add_i     (state_q == StAdd),
    .layer_i   (layer),
    .beats_i   (layer_beats),
    .layer_o   (placed),
    .network_o (network),
    .error_o   (whole_error)
  );

  // ---- Words, one after the other; in StDrain beats are dropped
  logic        word_valid, take;
  logic [31:0] word;
  assign take = state_q == StWord && word_valid;
  jd_stream_width #(.InW (512), .OutW (32)) u_words (
    .clk_i, .rst_ni,
    .clear_i     (state_q == StDrain),
    .flush_i     (1'b0),
    .in_valid_i  (held_valid),
    .in_ready_o  (held_ready),
    .in_data_i   (held_data),
    .in_count_i  (5'd16),
    .out_valid_o (word_valid),
    .out_ready_i (take),
    .out_data_o  (word),
    .out_count_o ()
  );

  // ---- Steps
  always_comb begin
    state_d = state_q;
    unique case (state_q)
      StIdle:    if (start_i) state_d = StCommand;
      StCommand: if (cmd_ready_i) state_d = StWord;
      StWord: begin
        if (take && head_q)              state_d = StHead;
        else if (take && part_q == 2'd3) state_d = StLayer;
      end
      StHead:    state_d = head_error != '0 ? StDrain : StWord;
      StLayer: begin
        if (layer_done) state_d = layer_error != '0 ? StDrain : StAdd;
      end
      StAdd:     state_d = index_q + 4'd1 == layers_q ? StSum : StWord;
      StSum:     state_d = StWhole;
      StWhole:   state_d = StDrain;
      StDrain:   if (beat_last_q) state_d = StDone;
      default:   state_d = StIdle;
    endcase
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q       <= StIdle;
      layer_start_q <= 1'b0;
    end else begin
      state_q       <= state_d;
      layer_start_q <= state_q == StWord && state_d == StLayer;
    end
    if (state_q == StIdle && start_i) begin
      address_q   <= address_i;
      slot_q      <= slot_i;
      beat_last_q <= 1'b0;
      response_q  <= 2'd0;
      head_q      <= 1'b1;
      part_q      <= 2'd0;
      index_q     <= '0;
      error_q     <= '0;
    end
    if (held_valid && held_ready) begin
      beat_last_q <= held_last;
      if (response_q == 2'd0) response_q <= held_response;
    end
    if (take) begin
      words_q <= {word, words_q[127:32]};
      head_q  <= 1'b0;
      if (!head_q) part_q <= part_q + 2'd1;
    end
    if (state_q == StHead) begin
      layers_q <= layers[3:0];
      error_q  <= head_error;
      where_q  <= WHOLE;
    end
    if (state_q == StLayer && layer_done) begin
      error_q <= layer_error;
      where_q <= index_q;
    end
    if (state_q == StAdd) index_q <= index_q + 4'd1;
    if (state_q == StWhole) begin
      error_q <= whole_error;
      where_q <= WHOLE;
    end
  end

  // ---- How it ended: what the bus says comes first, as if all had been read before any check
  logic unread, good;
  assign unread  = response_q != 2'd0;
  assign good    = done_o && error_o == '0;
  assign busy_o  = state_q != StIdle;
  assign done_o  = state_q == StDone;
  assign error_o = unread ? E_BUS_RD : error_q;
  assign info0_o = unread ? ADDRESS_WORD : 32'(where_q);
  assign info1_o = unread ? 32'(response_q) : FROM_NETWORK;
  assign cmd_valid_o   = state_q == StCommand;
  assign cmd_address_o = address_q;
  assign cmd_beats_o   = BEATS;

  // ---- Slots and banks
  network_t [Slots-1:0]        networks_q;
  logic [Slots-1:0][BankW-1:0] banks_q;
  logic [BankW-1:0]            free_q;
  assign networks_o = networks_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      free_q <= BankW'(Slots);
      for (int unsigned s = 0; s < Slots; s++) begin
        banks_q[s]          <= BankW'(s);
        networks_q[s].valid <= 1'b0;
      end
    end else if (good) begin
      networks_q[slot_q] <= network;
      banks_q[slot_q]    <= free_q;
      free_q             <= banks_q[slot_q];
    end
  end
  jd_mem_1r1w #(
    .Depth ((Slots + 1) * LAYERS), .Lanes (1), .LaneW ($bits(layer_t)), .ReadLatency (2)
  ) u_layers (
    .clk_i, .rst_ni,
    .write_en_i   (state_q == StAdd),
    .write_addr_i ({free_q, index_q[2:0]}),
    .write_mask_i (1'b1),
    .write_data_i (placed),
    .read_en_i    (read_valid_i),
    .read_addr_i  ({banks_q[read_slot_i], read_layer_i}),
    .read_data_o  (layer_o)
  );

  `JD_ASSUME_IF(StartsFree_M, start_i, !busy_o)
  `JD_ASSUME_IF(SlotInRange_M, start_i, 32'(slot_i) < Slots)
  `JD_ASSUME_IF(ReadHeld_M, read_valid_i, 32'(read_slot_i) < Slots && networks_q[read_slot_i].valid)
  `JD_ASSERT_IF(LayerOnce_A, layer_start_q, !layer_busy)
endmodule : jd_a3c_network
