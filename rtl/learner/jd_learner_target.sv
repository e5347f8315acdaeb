// SPDX-License-Identifier: Apache-2.0
//
// TSM: writes a network's target parameters into the idle target bank, LW words per clock.
//
// Streams  start_i gives the network's layout. done_o is high for one clock when the last word is
//          written. Data of master memories w and t are valid two clocks after the address. The new
//          target goes to memory t and, as a pipe, to the pipelines.
// Timing   A group per clock; Polyak adds the latency of its three operators.
// Numbers  hard: t = w. Polyak: t = t + tau*(w - t), binary32, RNE, each operation rounded.
// Source   learner 5.6 D10 (CF 3.2: Target Synchronization Module). Golden model:
//          models/learner/optim.py.
`include "jd_assert.svh"
module jd_learner_target #(
  parameter  int unsigned P          = 16,
  parameter  int unsigned OB         = 4,
  parameter  int unsigned LW         = 4,
  parameter  int unsigned LMax       = 4,
  parameter  int unsigned RowW       = 10,
  parameter  int unsigned BiasW      = 12,
  parameter  int unsigned MasterW    = 12,
  parameter  int unsigned MulLatency = 2,
  parameter  int unsigned AddLatency = 2,
  localparam int unsigned SubW       = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  start_i,
  input  logic                  polyak_i,        // held until done_o, as the rest
  input  logic [31:0]           tau_i,
  input  logic [LMax-1:0][31:0] layers_i,
  input  logic [7:0]            layer_count_i,
  input  logic [RowW-1:0]       row_base_i,      // of the bank that is written
  input  logic [BiasW-1:0]      bias_base_i,
  input  logic [MasterW-1:0]    master_base_i,
  output logic                  done_o,
  output logic                  master_read_o,   // of w and t
  output logic [MasterW-1:0]    master_read_addr_o,
  input  logic [LW-1:0][31:0]   master_weight_i,
  input  logic [LW-1:0][31:0]   master_target_i,
  output logic                  master_write_o,  // of t
  output logic [MasterW-1:0]    master_write_addr_o,
  output logic                  weight_valid_o,
  output logic                  weight_bias_o,
  output logic [RowW-1:0]       weight_row_o,
  output logic [SubW-1:0]       weight_sub_o,
  output logic [BiasW-1:0]      weight_bias_index_o,
  output logic [LW-1:0]         weight_mask_o,
  output logic [LW-1:0][31:0]   weight_data_o    // also what memory t gets
);
  localparam int unsigned HoldDepth = 1 << $clog2(MulLatency + AddLatency + 4);

  // Reads: one group per clock, as many as the walk has.
  logic               read_active, read_valid_q, read_valid_q2;
  logic [MasterW-1:0] read_addr_q, write_addr_q;
  jd_learner_walk #(
    .P (P), .OB (OB), .LW (LW), .LMax (LMax), .RowW (RowW), .BiasW (BiasW)
  ) u_read_walk (
    .clk_i, .rst_ni,
    .start_i       (start_i),
    .layers_i      (layers_i),
    .layer_count_i (layer_count_i),
    .row_base_i    (row_base_i),
    .bias_base_i   (bias_base_i),
    .next_i        (read_active),
    .active_o      (read_active),
    .last_o        (),
    .bias_o        (),
    .row_o         (),
    .sub_o         (),
    .bias_index_o  (),
    .mask_o        (),
    .row_end_o     (),
    .bias_end_o    ()
  );

  logic [LW-1:0]       difference_valid, product_valid, sum_valid;
  logic [LW-1:0][31:0] difference, product, sum, held;
  logic                product_valid_q, out_valid, out_last;
  logic [LW-1:0][31:0] product_q;

  assign master_read_o       = read_active;
  assign master_read_addr_o  = read_addr_q;
  assign master_write_o      = out_valid;
  assign master_write_addr_o = write_addr_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      read_valid_q    <= 1'b0;
      read_valid_q2   <= 1'b0;
      product_valid_q <= 1'b0;
    end else begin
      read_valid_q    <= read_active;
      read_valid_q2   <= read_valid_q;
      product_valid_q <= product_valid[0];
    end
    if (product_valid[0]) product_q <= product;
    if (start_i)          read_addr_q <= master_base_i;
    else if (read_active) read_addr_q <= read_addr_q + 1'b1;
    if (start_i)          write_addr_q <= master_base_i;
    else if (out_valid)   write_addr_q <= write_addr_q + 1'b1;
  end

  // The old target waits for its step.
  jd_mem_hold #(.Width (LW * 32), .Depth (HoldDepth)) u_targets (
    .clk_i, .rst_ni,
    .push_i (read_valid_q2 && polyak_i),
    .data_i (master_target_i),
    .pop_i  (product_valid[0]),
    .data_o (held)
  );

  for (genvar l = 0; l < LW; l++) begin : gen_lane
    jd_float_add #(.Latency (AddLatency)) u_difference (
      .clk_i, .rst_ni,
      .valid_i    (read_valid_q2 && polyak_i),
      .subtract_i (1'b1),
      .a_i        (master_weight_i[l]),
      .b_i        (master_target_i[l]),
      .valid_o    (difference_valid[l]),
      .result_o   (difference[l])
    );
    jd_float_mul #(.Latency (MulLatency)) u_product (
      .clk_i, .rst_ni,
      .valid_i  (difference_valid[l]),
      .a_i      (tau_i),
      .b_i      (difference[l]),
      .valid_o  (product_valid[l]),
      .result_o (product[l])
    );
    jd_float_add #(.Latency (AddLatency)) u_sum (
      .clk_i, .rst_ni,
      .valid_i    (product_valid_q),
      .subtract_i (1'b0),
      .a_i        (held[l]),
      .b_i        (product_q[l]),
      .valid_o    (sum_valid[l]),
      .result_o   (sum[l])
    );
    assign weight_data_o[l] =
        !weight_mask_o[l] ? '0 : polyak_i ? sum[l] : master_weight_i[l];
  end

  logic [RowW:0]  out_row;
  logic [BiasW:0] out_bias_index;
  assign out_valid = polyak_i ? sum_valid[0] : read_valid_q2;
  jd_learner_walk #(
    .P (P), .OB (OB), .LW (LW), .LMax (LMax), .RowW (RowW), .BiasW (BiasW)
  ) u_write_walk (
    .clk_i, .rst_ni,
    .start_i       (start_i),
    .layers_i      (layers_i),
    .layer_count_i (layer_count_i),
    .row_base_i    (row_base_i),
    .bias_base_i   (bias_base_i),
    .next_i        (out_valid),
    .active_o      (),
    .last_o        (out_last),
    .bias_o        (weight_bias_o),
    .row_o         (out_row),
    .sub_o         (weight_sub_o),
    .bias_index_o  (out_bias_index),
    .mask_o        (weight_mask_o),
    .row_end_o     (),
    .bias_end_o    ()
  );
  assign weight_valid_o      = out_valid;
  assign weight_row_o        = out_row[RowW-1:0];
  assign weight_bias_index_o = out_bias_index[BiasW-1:0];

  logic done_q;
  assign done_o = done_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) done_q <= 1'b0;
    else         done_q <= out_valid && out_last;
  end

  `JD_ASSUME_IF(StartWhenIdle_M, start_i, !read_active && !out_valid)
  `JD_ASSERT_IF(AllIsWritten_A, done_q, !read_active && write_addr_q == read_addr_q)
  `JD_ASSERT(LanesTogether_A, sum_valid == '0 || sum_valid == '1)
endmodule : jd_learner_target
