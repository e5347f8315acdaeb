// SPDX-License-Identifier: Apache-2.0
//
// jd_qat_update with memories of weights and targets, its ports named as those of the gradient memory in
// jd_qat_blocks_bench.
//
// Streams  grad_out: what weights and targets become; the others as in jd_qat_update. side: writes of
//          single lines of W and T.
// Timing   W and T answer after 3 clocks. A read is told of one clock before it.
// Numbers  those of the block; grad_update_i, grad_layer_i: of a reservation and of its lines; grad_total_*: all words that were saturated.
// Source   docs/qat.md.
`include "jd_assert.svh"
module jd_qat_update_bench #(
  parameter  int unsigned Cores     = 2,
  parameter  int unsigned Lw        = 4,
  parameter  int unsigned AdamLanes = Lw,
  localparam int unsigned WordsW    = $clog2(Lw + 1)
) (
  input  logic                   clk_i,
  input  logic                   rst_ni,
  input  logic [23:0]            adam_c1_i,
  input  logic [23:0]            adam_c2_i,
  input  logic [23:0]            adam_eps_i,
  input  logic [25:0]            adam_rate_i,
  input  logic [24:0]            adam_tau_i,
  input  logic                   grad_clear_i,
  output logic                   grad_idle_o,
  input  logic                   grad_reserve_i,
  input  logic [WordsW-1:0]      grad_reserve_rows_i,
  output logic                   grad_room_o,
  input  logic                   grad_reserve_bias_i,
  output logic                   grad_bias_room_o,
  input  logic                   grad_update_i,
  input  logic [1:0]             grad_layer_i,
  output logic [3:0]             grad_updates_o,
  input  logic                   drain_valid_i,
  input  logic                   drain_opens_i,
  input  logic [Cores*Lw*120-1:0] drain_sums_i,
  input  logic [16:0]            drain_line_i,
  input  logic [16:0]            drain_stride_i,
  input  logic [WordsW-1:0]      drain_words_i,
  input  logic                   drain_half_i,
  input  logic [4:0]             drain_up_i,
  input  logic                   drain_first_i,
  input  logic                   drain_update_i,
  input  logic                   bias_valid_i,
  input  logic [Cores*Lw*42-1:0] bias_sums_i,
  input  logic [16:0]            bias_line_i,
  input  logic [WordsW-1:0]      bias_words_i,
  input  logic                   bias_first_i,
  input  logic                   bias_update_i,
  output logic                   grad_out_valid_o,
  output logic [16:0]            grad_out_line_o,
  output logic [Lw-1:0][31:0]    grad_out_w_o,
  output logic [Lw-1:0][31:0]    grad_out_t_o,
  input  logic                   grad_sweep_valid_i,
  output logic                   grad_sweep_ready_o,
  input  logic [16:0]            grad_sweep_line_i,
  input  logic [16:0]            grad_sweep_count_i,
  input  logic [16:0]            grad_sweep_columns_i,
  input  logic [WordsW-1:0]      grad_sweep_words_i,
  input  logic [2:0]             grad_host_region_i,
  input  logic                   grad_host_second_i,
  input  logic                   grad_host_write_i,
  input  logic                   grad_host_read_i,
  input  logic [16:0]            grad_host_line_i,
  input  logic [Lw-1:0][31:0]    grad_host_data_i,
  output logic                   grad_host_valid_o,
  output logic [Lw-1:0][31:0]    grad_host_data_o,
  input  logic                   side_write_i,
  input  logic [Lw-1:0][31:0]    side_w_i,
  input  logic [Lw-1:0][31:0]    side_t_i,
  output logic [31:0]            grad_total_gradient_o,
  output logic [31:0]            grad_total_sum_o,
  output logic [31:0]            grad_total_w_o
);
  logic                next, read;
  logic [16:0]         read_line;
  logic [Lw-1:0][31:0] w, t;
  logic [WordsW:0]     over_gradient, over_sum;
  logic [WordsW-1:0]   over_w;
  jd_qat_update #(
    .Cores (Cores), .Lw (Lw), .WLines (128), .Lines (4 * Lw), .BiasLines (2), .ReadClocks (3),
    .AdamLanes (AdamLanes)
  ) u_update (
    .clk_i, .rst_ni,
    .clear_i         (grad_clear_i),
    .idle_o          (grad_idle_o),
    .c1_i            (adam_c1_i),
    .c2_i            (adam_c2_i),
    .eps_i           (adam_eps_i),
    .rate_i          (adam_rate_i),
    .tau_i           (adam_tau_i),
    .reserve_i       (grad_reserve_i),
    .reserve_rows_i  (grad_reserve_rows_i),
    .room_o          (grad_room_o),
    .reserve_bias_i  (grad_reserve_bias_i),
    .bias_room_o     (grad_bias_room_o),
    .reserve_update_i (grad_update_i),
    .reserve_layer_i (grad_layer_i),
    .updates_o       (grad_updates_o),
    .drain_valid_i,
    .drain_opens_i,
    .drain_sums_i,
    .tile_line_i     (drain_line_i),
    .tile_stride_i   (drain_stride_i),
    .tile_words_i    (drain_words_i),
    .tile_half_i     (drain_half_i),
    .tile_up_i       (drain_up_i),
    .tile_first_i    (drain_first_i),
    .tile_update_i   (drain_update_i),
    .tile_layer_i    (grad_layer_i),
    .bias_valid_i,
    .bias_sums_i,
    .bias_line_i,
    .bias_words_i,
    .bias_first_i,
    .bias_update_i,
    .sweep_valid_i   (grad_sweep_valid_i),
    .sweep_ready_o   (grad_sweep_ready_o),
    .sweep_line_i    (grad_sweep_line_i),
    .sweep_count_i   (grad_sweep_count_i),
    .sweep_columns_i (grad_sweep_columns_i),
    .sweep_words_i   (grad_sweep_words_i),
    .weight_next_o   (next),
    .weight_read_o   (read),
    .weight_line_o   (read_line),
    .weight_data_i   (w),
    .target_data_i   (t),
    .weight_write_o  (grad_out_valid_o),
    .write_line_o    (grad_out_line_o),
    .weight_data_o   (grad_out_w_o),
    .target_data_o   (grad_out_t_o),
    .host_region_i   (grad_host_region_i),
    .host_second_i   (grad_host_second_i),
    .host_line_i     (grad_host_line_i),
    .host_write_i    (grad_host_write_i),
    .host_data_i     (grad_host_data_i),
    .host_read_i     (grad_host_read_i),
    .host_valid_o    (grad_host_valid_o),
    .host_data_o     (grad_host_data_o),
    .over_gradient_o (over_gradient),
    .over_sum_o      (over_sum),
    .over_w_o        (over_w)
  );
  jd_mem_1r1w #(.Depth (128), .LaneW (64 * Lw), .ReadLatency (3)) u_weights (
    .clk_i, .rst_ni,
    .write_en_i   (grad_out_valid_o || side_write_i),
    .write_addr_i (7'(side_write_i ? grad_host_line_i : grad_out_line_o)),
    .write_mask_i (1'b1),
    .write_data_i (side_write_i ? {side_w_i, side_t_i} : {grad_out_w_o, grad_out_t_o}),
    .read_en_i    (read),
    .read_addr_i  (7'(read_line)),
    .read_data_o  ({w, t})
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      grad_total_gradient_o <= '0;
      grad_total_sum_o      <= '0;
      grad_total_w_o        <= '0;
    end else begin
      grad_total_gradient_o <= grad_total_gradient_o + 32'(over_gradient);
      grad_total_sum_o      <= grad_total_sum_o + 32'(over_sum);
      grad_total_w_o        <= grad_total_w_o + 32'(over_w);
    end
  end

  `JD_ASSERT_NEXT(ToldOf_A, next && !grad_clear_i, read)
  `JD_ASSERT_NEXT(OnlyToldOf_A, !next, !read)
endmodule : jd_qat_update_bench
