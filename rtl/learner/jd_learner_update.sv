// SPDX-License-Identifier: Apache-2.0
//
// WU: updates the parameters of one network from its gradients, LW words per clock.
//
// Streams  start_i gives the network's layout, the optimizer slot and the scalar state. done_o is
//          high for one clock when the last word is written. Gradients come as a pipe: a read, then
//          valid with the words, after any fixed latency. Weights leave as a pipe to the pipelines.
//          Data of the master memories are valid two clocks after the address.
// Timing   The scalars (jd_learner_rate), then a group per clock, then the latency of the
//          optimizer.
// Numbers  binary32, RNE, every operation rounded:
//          SGD       w = w - lr*g
//          momentum  m = mu*m + g; w = w - lr*m
//          Adam      m = b1*m + (1-b1)*g; v = b2*v + (1-b2)*(g*g);
//                    w = w - rate*(m/(sqrt(v)*r2 + eps))
//          Padding words of the image stay +0.
// Source   learner 5.6 (CF 3.2: weight update). Golden model: models/learner/optim.py.
`include "jd_assert.svh"
module jd_learner_update #(
  parameter  int unsigned P           = 16,
  parameter  int unsigned OB          = 4,
  parameter  int unsigned LW          = 4,
  parameter  int unsigned LMax        = 4,
  parameter  int unsigned RowW        = 10,
  parameter  int unsigned BiasW       = 12,
  parameter  int unsigned MasterW     = 12,     // bits of a master memory's address
  parameter  int unsigned MulLatency  = 2,
  parameter  int unsigned AddLatency  = 2,
  parameter  int unsigned DivLatency  = 4,
  parameter  int unsigned SqrtLatency = 4,
  parameter  int unsigned GradientLatency = 2,   // clocks from grad_read_o to grad_valid_i
  localparam int unsigned SubW        = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  start_i,
  // The network and its optimizer, held until done_o.
  input  logic [LMax-1:0][31:0] layers_i,
  input  logic [7:0]            layer_count_i,
  input  logic [RowW-1:0]       row_base_i,
  input  logic [BiasW-1:0]      bias_base_i,
  input  logic [MasterW-1:0]    master_base_i,
  input  logic [8:0][31:0]      slot_i,
  input  logic [31:0]           c1_i,
  input  logic [31:0]           c2_i,
  input  logic [31:0]           lr_i,
  output logic [31:0]           c1_o,           // valid at done_o
  output logic [31:0]           c2_o,
  output logic [31:0]           lr_o,
  output logic                  done_o,
  // Gradients.
  output logic                  grad_read_o,
  output logic                  grad_bias_o,
  output logic [RowW-1:0]       grad_row_o,
  output logic [SubW-1:0]       grad_sub_o,
  output logic [BiasW-1:0]      grad_bias_index_o,
  input  logic                  grad_valid_i,
  input  logic [LW-1:0][31:0]   grad_data_i,
  // Master memories w, m, v: element 0, 1, 2.
  output logic [2:0]              master_read_o,
  output logic [2:0][MasterW-1:0] master_read_addr_o,
  input  logic [2:0][LW-1:0][31:0] master_data_i,
  output logic [2:0]              master_write_o,
  output logic [2:0][MasterW-1:0] master_write_addr_o,
  output logic [2:0][LW-1:0][31:0] master_write_data_o,
  // New weights, to the pipelines.
  output logic                  weight_valid_o,
  output logic                  weight_bias_o,
  output logic [RowW-1:0]       weight_row_o,
  output logic [SubW-1:0]       weight_sub_o,
  output logic [BiasW-1:0]      weight_bias_index_o,
  output logic [LW-1:0]         weight_mask_o,
  output logic [LW-1:0][31:0]   weight_data_o
);
  localparam int unsigned W = 0;
  localparam int unsigned M = 1;
  localparam int unsigned V = 2;
  localparam logic [31:0] ONE = 32'h3F80_0000;
  localparam int unsigned HoldDepth = 1 << $clog2(MulLatency * 2 + AddLatency + SqrtLatency + 8);

  logic adam, momentum;
  assign adam     = slot_i[0][1:0] == 2'd2;
  assign momentum = slot_i[0][1:0] == 2'd1;

  // Scalars first; both walkers start when they are ready.
  logic        rate_done;
  logic [31:0] rate, root;
  jd_learner_rate #(
    .MulLatency (MulLatency), .AddLatency (AddLatency),
    .DivLatency (DivLatency), .SqrtLatency (SqrtLatency)
  ) u_rate (
    .clk_i, .rst_ni,
    .start_i (start_i),
    .slot_i  (slot_i),
    .c1_i    (c1_i),
    .c2_i    (c2_i),
    .lr_i    (lr_i),
    .done_o  (rate_done),
    .rate_o  (rate),
    .root_o  (root),
    .c1_o    (c1_o),
    .c2_o    (c2_o),
    .lr_o    (lr_o)
  );

  // The walk over the gradients; its masks wait for the gradients of their groups.
  logic             read_active, read_bias;
  logic [RowW:0]    read_row;
  logic [BiasW:0]   read_bias_index;
  logic [LW-1:0]    read_mask, grad_mask;
  jd_learner_walk #(
    .P (P), .OB (OB), .LW (LW), .LMax (LMax), .RowW (RowW), .BiasW (BiasW)
  ) u_read_walk (
    .clk_i, .rst_ni,
    .start_i       (rate_done),
    .layers_i      (layers_i),
    .layer_count_i (layer_count_i),
    .row_base_i    (row_base_i),
    .bias_base_i   (bias_base_i),
    .next_i        (read_active),
    .active_o      (read_active),
    .last_o        (),
    .bias_o        (read_bias),
    .row_o         (read_row),
    .sub_o         (grad_sub_o),
    .bias_index_o  (read_bias_index),
    .mask_o        (read_mask),
    .row_end_o     (),
    .bias_end_o    ()
  );
  assign grad_read_o       = read_active;
  assign grad_bias_o       = read_bias;
  assign grad_row_o        = read_row[RowW-1:0];
  assign grad_bias_index_o = read_bias_index[BiasW-1:0];

  jd_mem_hold #(.Width (LW), .Depth (2 ** $clog2(GradientLatency + 4))) u_masks (
    .clk_i, .rst_ni,
    .push_i (read_active),
    .data_i (read_mask),
    .pop_i  (grad_valid_i),
    .data_o (grad_mask)
  );

  // Addresses: every access of a master memory passes the network's groups in the same order.
  logic [2:0][MasterW-1:0] read_addr_q, write_addr_q;
  logic                    out_valid, out_last;
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < 3; k++) begin
      if (start_i) begin
        read_addr_q[k]  <= master_base_i;
        write_addr_q[k] <= master_base_i;
      end else begin
        if (master_read_o[k])  read_addr_q[k]  <= read_addr_q[k] + 1'b1;
        if (master_write_o[k]) write_addr_q[k] <= write_addr_q[k] + 1'b1;
      end
    end
  end
  assign master_read_addr_o  = read_addr_q;
  assign master_write_addr_o = write_addr_q;

  // Gradients, registered, and again without their padding: m, which is read when they come, meets
  // them at the multipliers. v and w are read two clocks before their partners come.
  logic                grad_raw_valid_q, grad_valid_q, x_valid_q, square_soon, product_soon;
  logic [LW-1:0][31:0] grad_raw_q, grad_q;
  logic [31:0]         share_q;            // of the gradient in m
  jd_delay #(.Width (1), .Cycles (MulLatency - 1)) u_square_soon (
    .clk_i, .rst_ni,
    .in_i  (grad_valid_q && adam),
    .out_o (square_soon)
  );
  jd_delay #(.Width (1), .Cycles (MulLatency - 1)) u_product_soon (
    .clk_i, .rst_ni,
    .in_i  (x_valid_q),
    .out_o (product_soon)
  );

  logic [LW-1:0] square_valid, moment_mul_valid, moment_valid, variance_mul_valid,
                 variance_valid, sqrt_valid, scaled_valid, sum_valid, step_valid, product_valid,
                 new_valid;
  logic [LW-1:0][31:0] square, share, decayed, moment, variance_share, variance_decayed, variance,
                       deviation, scaled, sum, quotient, product, updated;
  logic                square_valid_q, sum_valid_q, product_valid_q;
  logic [LW-1:0][31:0] square_q, sum_q, x_q, product_q, moment_held;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      grad_raw_valid_q <= 1'b0;
      grad_valid_q     <= 1'b0;
      square_valid_q   <= 1'b0;
      sum_valid_q      <= 1'b0;
      x_valid_q        <= 1'b0;
      product_valid_q  <= 1'b0;
    end else begin
      grad_raw_valid_q <= grad_valid_i;
      grad_valid_q     <= grad_raw_valid_q;
      square_valid_q   <= square_valid[0];
      sum_valid_q      <= sum_valid[0];
      x_valid_q        <= adam ? step_valid[0] : momentum ? moment_valid[0] : grad_valid_q;
      product_valid_q  <= product_valid[0];
    end
    share_q <= adam ? slot_i[5] : ONE;
    if (grad_valid_i) grad_raw_q <= grad_data_i;
    if (grad_raw_valid_q) begin
      for (int unsigned l = 0; l < LW; l++) grad_q[l] <= grad_mask[l] ? grad_raw_q[l] : '0;
    end
    if (square_valid[0])  square_q   <= square;
    if (sum_valid[0])     sum_q      <= sum;
    if (product_valid[0]) product_q  <= product;
    if (adam) begin
      if (step_valid[0])  x_q <= quotient;
    end else if (momentum) begin
      if (moment_valid[0]) x_q <= moment;
    end else begin
      if (grad_valid_q)   x_q <= grad_q;
    end
  end

  jd_mem_hold #(.Width (LW * 32), .Depth (HoldDepth)) u_moments (
    .clk_i, .rst_ni,
    .push_i (moment_valid[0] && adam),
    .data_i (moment),
    .pop_i  (sum_valid[0]),
    .data_o (moment_held)
  );

  assign master_read_o[M]  = grad_valid_i && (adam || momentum);
  assign master_read_o[V]  = square_soon;
  assign master_read_o[W]  = product_soon;
  assign master_write_o[M] = moment_valid[0];
  assign master_write_o[V] = variance_valid[0];
  assign master_write_o[W] = out_valid;
  assign master_write_data_o[M] = moment;
  assign master_write_data_o[V] = variance;
  assign master_write_data_o[W] = weight_data_o;

  for (genvar l = 0; l < LW; l++) begin : gen_lane
    // m: the share of the gradient is multiplied by one for momentum, which changes no bit.
    jd_float_mul #(.Latency (MulLatency)) u_share (
      .clk_i, .rst_ni,
      .valid_i  (grad_valid_q && (adam || momentum)),
      .a_i      (share_q),
      .b_i      (grad_q[l]),
      .valid_o  (moment_mul_valid[l]),
      .result_o (share[l])
    );
    jd_float_mul #(.Latency (MulLatency)) u_decay (
      .clk_i, .rst_ni,
      .valid_i  (grad_valid_q && (adam || momentum)),
      .a_i      (slot_i[2]),
      .b_i      (master_data_i[M][l]),
      .valid_o  (),
      .result_o (decayed[l])
    );
    jd_float_add #(.Latency (AddLatency)) u_moment (
      .clk_i, .rst_ni,
      .valid_i    (moment_mul_valid[l]),
      .subtract_i (1'b0),
      .a_i        (decayed[l]),
      .b_i        (share[l]),
      .valid_o    (moment_valid[l]),
      .result_o   (moment[l])
    );
    // v
    jd_float_mul #(.Latency (MulLatency)) u_square (
      .clk_i, .rst_ni,
      .valid_i  (grad_valid_q && adam),
      .a_i      (grad_q[l]),
      .b_i      (grad_q[l]),
      .valid_o  (square_valid[l]),
      .result_o (square[l])
    );
    jd_float_mul #(.Latency (MulLatency)) u_variance_share (
      .clk_i, .rst_ni,
      .valid_i  (square_valid_q),
      .a_i      (slot_i[6]),
      .b_i      (square_q[l]),
      .valid_o  (variance_mul_valid[l]),
      .result_o (variance_share[l])
    );
    jd_float_mul #(.Latency (MulLatency)) u_variance_decay (
      .clk_i, .rst_ni,
      .valid_i  (square_valid_q),
      .a_i      (slot_i[3]),
      .b_i      (master_data_i[V][l]),
      .valid_o  (),
      .result_o (variance_decayed[l])
    );
    jd_float_add #(.Latency (AddLatency)) u_variance (
      .clk_i, .rst_ni,
      .valid_i    (variance_mul_valid[l]),
      .subtract_i (1'b0),
      .a_i        (variance_decayed[l]),
      .b_i        (variance_share[l]),
      .valid_o    (variance_valid[l]),
      .result_o   (variance[l])
    );
    // m / (sqrt(v) * r2 + eps)
    jd_float_sqrt #(.Latency (SqrtLatency)) u_deviation (
      .clk_i, .rst_ni,
      .valid_i  (variance_valid[l]),
      .a_i      (variance[l]),
      .valid_o  (sqrt_valid[l]),
      .result_o (deviation[l])
    );
    jd_float_mul #(.Latency (MulLatency)) u_scaled (
      .clk_i, .rst_ni,
      .valid_i  (sqrt_valid[l]),
      .a_i      (deviation[l]),
      .b_i      (root),
      .valid_o  (scaled_valid[l]),
      .result_o (scaled[l])
    );
    jd_float_add #(.Latency (AddLatency)) u_sum (
      .clk_i, .rst_ni,
      .valid_i    (scaled_valid[l]),
      .subtract_i (1'b0),
      .a_i        (scaled[l]),
      .b_i        (slot_i[4]),
      .valid_o    (sum_valid[l]),
      .result_o   (sum[l])
    );
    jd_float_div #(.Latency (DivLatency)) u_quotient (
      .clk_i, .rst_ni,
      .valid_i  (sum_valid_q),
      .a_i      (moment_held[l]),
      .b_i      (sum_q[l]),
      .valid_o  (step_valid[l]),
      .result_o (quotient[l])
    );
    // w
    jd_float_mul #(.Latency (MulLatency)) u_product (
      .clk_i, .rst_ni,
      .valid_i  (x_valid_q),
      .a_i      (rate),
      .b_i      (x_q[l]),
      .valid_o  (product_valid[l]),
      .result_o (product[l])
    );
    jd_float_add #(.Latency (AddLatency)) u_updated (
      .clk_i, .rst_ni,
      .valid_i    (product_valid_q),
      .subtract_i (1'b1),
      .a_i        (master_data_i[W][l]),
      .b_i        (product_q[l]),
      .valid_o    (new_valid[l]),
      .result_o   (updated[l])
    );
    assign weight_data_o[l] = weight_mask_o[l] ? updated[l] : '0;
  end

  // The walk over the new weights.
  logic [RowW:0]  out_row;
  logic [BiasW:0] out_bias_index;
  assign out_valid = new_valid[0];
  jd_learner_walk #(
    .P (P), .OB (OB), .LW (LW), .LMax (LMax), .RowW (RowW), .BiasW (BiasW)
  ) u_write_walk (
    .clk_i, .rst_ni,
    .start_i       (rate_done),
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

  `JD_ASSERT_NEXT(SquareSoon_A, square_soon, square_valid[0])
  `JD_ASSERT_NEXT(ProductSoon_A, product_soon, product_valid[0])
endmodule : jd_learner_update
