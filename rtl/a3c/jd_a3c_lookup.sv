// SPDX-License-Identifier: Apache-2.0
//
// Reads layers of the loaded networks: for the units, and for the register NET_DATA.
//
// Streams  lookup: a unit asks for a layer of its task's network. A unit has one question open at a
//          time; lookup_valid_o answers it. read: of jd_a3c_network.
// Timing   An answer comes two clocks after its question. The host's word comes 5 clocks after a
//          write of NET_SEL; the host goes before all units.
// Numbers  -
// Source   a3c 10.2. Golden model: models/a3c/network.py, constants.
`include "jd_assert.svh"
module jd_a3c_lookup
  import jd_a3c_pkg::*;
#(
  parameter  int unsigned Units = 2,
  parameter  int unsigned Slots = 4,
  localparam int unsigned SlotW = (Slots > 1) ? $clog2(Slots) : 1
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic                   clear_i,          // no unit waits for an answer any more
  input  logic [Units-1:0]       lookup_valid_i,
  output logic [Units-1:0]       lookup_ready_o,
  input  logic [Units-1:0][3:0]  lookup_slot_i,
  input  logic [Units-1:0][2:0]  lookup_layer_i,
  output logic [Units-1:0]       lookup_valid_o,
  output layer_t                 lookup_data_o,    // of them all
  input  network_t [Slots-1:0]   networks_i,
  output logic                   read_valid_o,
  output logic [SlotW-1:0]       read_slot_o,
  output logic [2:0]             read_layer_o,
  input  layer_t                 layer_i,
  // The host's word.
  input  logic                   loaded_i,         // a slot has another network
  input  logic [3:0]             net_i,            // NET_SEL
  input  logic [3:0]             index_i,
  input  logic [4:0]             constant_i,
  output logic [31:0]            constant_o        // NET_DATA
);
  // ---- Who reads: the host, if its choice or the networks changed; the units in turn
  localparam int unsigned UnitW = (Units > 1) ? $clog2(Units) : 1;
  logic [12:0]      chosen_q;
  logic             host, held, units_read;
  logic [Units-1:0] turn, asks, above;
  logic [UnitW-1:0] last_q, unit;
  logic             stale_q;
  network_t         network;
  logic             unused_network;
  assign unused_network = ^{network.theta_beats, network.map_rows, network.output_rows};
  always_comb begin
    network = '0;
    for (int unsigned s = 0; s < Slots; s++) if (net_i == 4'(s)) network = networks_i[s];
  end
  assign host = stale_q || chosen_q != {net_i, index_i, constant_i};
  assign held = network.valid && index_i < network.layers;
  assign asks = lookup_valid_i;
  always_comb begin
    for (int unsigned u = 0; u < Units; u++) above[u] = asks[u] && UnitW'(u) > last_q;
    turn = above != '0 ? above & (~above + 1'b1) : asks & (~asks + 1'b1);
    unit = '0;
    for (int unsigned u = 0; u < Units; u++) if (turn[u]) unit = UnitW'(u);
  end
  assign lookup_ready_o = host ? '0 : turn;
  assign units_read     = !host && asks != '0;
  assign read_valid_o   = host ? held : units_read;
  assign read_slot_o    = SlotW'(host ? net_i : lookup_slot_i[unit]);
  assign read_layer_o   = host ? index_i[2:0] : lookup_layer_i[unit];

  // ---- What comes two clocks later
  logic [Units-1:0] unit_q, unit_q2;
  logic [1:0]       host_q, host_held_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni || clear_i) begin
      unit_q  <= '0;
      unit_q2 <= '0;
    end else begin
      unit_q  <= units_read ? turn : '0;
      unit_q2 <= unit_q;
    end
    if (!rst_ni) begin
      last_q  <= '0;
      stale_q <= 1'b1;
      host_q  <= '0;
    end else begin
      if (units_read) last_q <= unit;
      stale_q <= loaded_i;
      host_q  <= {host_q[0], host};
    end
    chosen_q    <= {net_i, index_i, constant_i};
    host_held_q <= {host_held_q[0], held};
  end
  assign lookup_valid_o = unit_q2;
  assign lookup_data_o  = layer_i;

  // ---- The constants, in the order of their numbers
  logic [31:0] word;
  always_comb begin
    unique case (chosen_q[4:0])
      5'd0:    word = 32'(layer_i.rows);
      5'd1:    word = 32'(layer_i.columns);
      5'd2:    word = 32'(layer_i.taps);
      5'd3:    word = 32'(layer_i.padded_inputs);
      5'd4:    word = 32'(layer_i.terms);
      5'd5:    word = 32'(layer_i.padded_terms);
      5'd6:    word = 32'(layer_i.output_blocks);
      5'd7:    word = 32'(layer_i.row_blocks);
      5'd8:    word = 32'(layer_i.theta_offset);
      5'd9:    word = 32'(layer_i.map_offset);
      5'd10:   word = 32'(layer_i.buffer_base);
      5'd11:   word = 32'(layer_i.map_rows);
      5'd12:   word = 32'(layer_i.slots);
      default: word = '0;
    endcase
  end
  always_ff @(posedge clk_i) begin
    if (!rst_ni)        constant_o <= '0;
    else if (host_q[1]) constant_o <= host_held_q[1] ? word : '0;
  end

  for (genvar u = 0; u < Units; u++) begin : gen_unit
    `JD_ASSUME_IF(OneQuestion_M, lookup_valid_i[u], !unit_q[u] && !unit_q2[u])
  end
endmodule : jd_a3c_lookup
