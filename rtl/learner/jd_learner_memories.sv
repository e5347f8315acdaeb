// SPDX-License-Identifier: Apache-2.0
//
// The memories of a pipeline: weights, biases, their gradients, sample frames and scalars.
//
// Streams  All ports are pipes: a write takes one clock, and a read answers one clock later (of
//          gradients for the weight update two). Each read port of weights, biases and frames has a
//          copy of the memory.
// Timing   A read of a word that is written in the same clock gives the old word.
// Numbers  bits, unchanged.
// Source   onchip_replay 3.2 (weight buffers and scratchpads).
`include "jd_assert.svh"
module jd_learner_memories
  import jd_learner_pkg::*;
#(
  parameter  int unsigned P       = 16,
  parameter  int unsigned OB      = P / 4,
  parameter  int unsigned LW      = 4,
  parameter  int unsigned WRows   = 1024,
  parameter  int unsigned ARows   = 2048,
  parameter  int unsigned BMax    = 64,
  parameter  int unsigned WPorts  = 1,           // read ports of the weights, of the biases, of
  parameter  int unsigned BiasPorts  = 1,        // the frames
  parameter  int unsigned FramePorts = 2,
  localparam int unsigned RowW    = $clog2(WRows),
  localparam int unsigned FrameW  = $clog2(ARows),
  localparam int unsigned BiasW   = RowW + $clog2(OB),
  localparam int unsigned SubW    = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1,
  localparam int unsigned SampleW = $clog2(BMax) > 0 ? $clog2(BMax) : 1
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // Weights and biases: groups of LW words in, rows out.
  input  logic                weight_valid_i,
  input  logic                weight_gradient_i,   // to the gradients instead, while none works
  input  logic                weight_bias_i,
  input  logic [RowW-1:0]     weight_row_i,
  input  logic [SubW-1:0]     weight_sub_i,
  input  logic [BiasW-1:0]    weight_bias_index_i,
  input  logic [LW-1:0]       weight_mask_i,
  input  logic [LW-1:0][31:0] weight_data_i,
  input  logic [WPorts-1:0]                  w_read_i,
  input  logic [WPorts-1:0][RowW-1:0]        w_row_i,
  output logic [WPorts-1:0][P-1:0][31:0]     w_data_o,
  input  logic [BiasPorts-1:0]               bias_read_i,
  input  logic [BiasPorts-1:0][RowW-1:0]     bias_row_i,
  output logic [BiasPorts-1:0][OB-1:0][31:0] bias_data_o,
  // Gradients: rows in and out, and groups of LW words out.
  input  logic                g_read_i,
  input  logic [RowW-1:0]     g_row_i,
  output logic [P-1:0][31:0]  g_data_o,
  input  logic                g_write_i,
  input  logic [RowW-1:0]     g_write_row_i,
  input  logic [P-1:0][31:0]  g_write_data_i,
  input  logic                gb_read_i,
  input  logic [RowW-1:0]     gb_row_i,
  output logic [OB-1:0][31:0] gb_data_o,
  input  logic                gb_write_i,
  input  logic [RowW-1:0]     gb_write_row_i,
  input  logic [OB-1:0]       gb_write_mask_i,
  input  logic [OB-1:0][31:0] gb_write_data_i,
  input  logic                gradient_read_i,
  input  logic                gradient_bias_i,
  input  logic [RowW-1:0]     gradient_row_i,
  input  logic [SubW-1:0]     gradient_sub_i,
  input  logic [BiasW-1:0]    gradient_bias_index_i,
  output logic                gradient_valid_o,
  output logic [LW-1:0][31:0] gradient_data_o,
  // Frames and scalars.
  input  logic                frame_write_i,
  input  logic [FrameW-1:0]   frame_row_i,
  input  logic [P-1:0]        frame_mask_i,
  input  logic [P-1:0][31:0]  frame_data_i,
  input  logic [FramePorts-1:0]              read_i,
  input  logic [FramePorts-1:0][FrameW-1:0]  read_row_i,
  output logic [FramePorts-1:0][P-1:0][31:0] read_data_o,
  input  logic                scalars_write_i,
  input  logic [SampleW:0]    scalars_address_i,   // {parity, sample}
  input  scalars_t            scalars_i,
  input  logic                scalars_read_i,
  input  logic [SampleW:0]    scalars_read_address_i,
  output scalars_t            scalars_o
);
  localparam int unsigned OB_L   = $clog2(OB);
  localparam int unsigned LW_L   = $clog2(LW);
  localparam int unsigned GROUPS = P / LW;             // groups of a row
  localparam int unsigned BIASES = OB / LW;            // groups of a bias row

  if (LW > OB || OB % LW != 0) begin : gen_bad_lw
    $fatal(1, "jd_learner_memories: LW=%0d, want a divisor of OB=%0d", LW, OB);
  end

  logic [GROUPS-1:0][LW-1:0] weight_mask;
  logic [BIASES-1:0][LW-1:0] bias_mask;
  always_comb begin
    for (int unsigned g = 0; g < GROUPS; g++) begin
      weight_mask[g] = (SubW'(g) == weight_sub_i) ? weight_mask_i : '0;
    end
    for (int unsigned g = 0; g < BIASES; g++) begin
      bias_mask[g] = '0;
      if ((weight_bias_index_i & BiasW'(OB - 1)) >> LW_L == BiasW'(g)) bias_mask[g] = weight_mask_i;
    end
  end
  for (genvar port = 0; port < WPorts; port++) begin : gen_weights
    jd_mem_1r1w #(.Depth (WRows), .Lanes (P), .LaneW (32)) u_weights (
      .clk_i, .rst_ni,
      .write_en_i   (weight_valid_i && !weight_gradient_i && !weight_bias_i),
      .write_addr_i (weight_row_i),
      .write_mask_i (weight_mask),
      .write_data_i ({GROUPS{weight_data_i}}),
      .read_en_i    (w_read_i[port]),
      .read_addr_i  (w_row_i[port]),
      .read_data_o  (w_data_o[port])
    );
  end
  for (genvar port = 0; port < BiasPorts; port++) begin : gen_biases
    jd_mem_1r1w #(.Depth (WRows), .Lanes (OB), .LaneW (32)) u_biases (
      .clk_i, .rst_ni,
      .write_en_i   (weight_valid_i && !weight_gradient_i && weight_bias_i),
      .write_addr_i (RowW'(weight_bias_index_i >> OB_L)),
      .write_mask_i (bias_mask),
      .write_data_i ({BIASES{weight_data_i}}),
      .read_en_i    (bias_read_i[port]),
      .read_addr_i  (bias_row_i[port]),
      .read_data_o  (bias_data_o[port])
    );
  end

  // Gradients. The update reads only while no stage adds to them.
  logic            from_bias_q, reading_q;
  logic [SubW-1:0] sub_q;
  logic [BiasW-1:0] bias_index_q;
  jd_mem_1r1w #(.Depth (WRows), .Lanes (P), .LaneW (32)) u_gradients (
    .clk_i, .rst_ni,
    .write_en_i   (g_write_i || (weight_valid_i && weight_gradient_i && !weight_bias_i)),
    .write_addr_i (weight_gradient_i ? weight_row_i : g_write_row_i),
    .write_mask_i (weight_gradient_i ? weight_mask : {P{1'b1}}),
    .write_data_i (weight_gradient_i ? {GROUPS{weight_data_i}} : g_write_data_i),
    .read_en_i    (g_read_i || (gradient_read_i && !gradient_bias_i)),
    .read_addr_i  (g_read_i ? g_row_i : gradient_row_i),
    .read_data_o  (g_data_o)
  );
  jd_mem_1r1w #(.Depth (WRows), .Lanes (OB), .LaneW (32)) u_bias_gradients (
    .clk_i, .rst_ni,
    .write_en_i   (gb_write_i || (weight_valid_i && weight_gradient_i && weight_bias_i)),
    .write_addr_i (weight_gradient_i ? RowW'(weight_bias_index_i >> OB_L) : gb_write_row_i),
    .write_mask_i (weight_gradient_i ? bias_mask : gb_write_mask_i),
    .write_data_i (weight_gradient_i ? {BIASES{weight_data_i}} : gb_write_data_i),
    .read_en_i    (gb_read_i || (gradient_read_i && gradient_bias_i)),
    .read_addr_i  (gb_read_i ? gb_row_i : RowW'(gradient_bias_index_i >> OB_L)),
    .read_data_o  (gb_data_o)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      reading_q        <= 1'b0;
      gradient_valid_o <= 1'b0;
    end else begin
      reading_q        <= gradient_read_i;
      gradient_valid_o <= reading_q;
    end
    if (gradient_read_i) begin
      from_bias_q  <= gradient_bias_i;
      sub_q        <= gradient_sub_i;
      bias_index_q <= gradient_bias_index_i;
    end
    if (reading_q) begin
      for (int unsigned k = 0; k < LW; k++) begin
        gradient_data_o[k] <= from_bias_q
            ? gb_data_o[(bias_index_q & BiasW'(OB - LW)) + BiasW'(k)]
            : g_data_o[32'(sub_q) * LW + k];
      end
    end
  end

  for (genvar port = 0; port < FramePorts; port++) begin : gen_frames
    jd_mem_1r1w #(.Depth (ARows), .Lanes (P), .LaneW (32)) u_frames (
      .clk_i, .rst_ni,
      .write_en_i   (frame_write_i),
      .write_addr_i (frame_row_i),
      .write_mask_i (frame_mask_i),
      .write_data_i (frame_data_i),
      .read_en_i    (read_i[port]),
      .read_addr_i  (read_row_i[port]),
      .read_data_o  (read_data_o[port])
    );
  end

  jd_mem_1r1w #(.Depth (2 << SampleW), .Lanes (1), .LaneW ($bits(scalars_t))) u_scalars (
    .clk_i, .rst_ni,
    .write_en_i   (scalars_write_i),
    .write_addr_i (scalars_address_i),
    .write_mask_i (1'b1),
    .write_data_i (scalars_i),
    .read_en_i    (scalars_read_i),
    .read_addr_i  (scalars_read_address_i),
    .read_data_o  (scalars_o)
  );
  `JD_ASSERT_IF(GradientAlone_A, gradient_read_i, !g_read_i && !g_write_i)
  `JD_ASSERT_IF(LoadedAlone_A, weight_gradient_i, !g_write_i && !gb_write_i)
endmodule : jd_learner_memories
