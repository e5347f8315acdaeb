// SPDX-License-Identifier: Apache-2.0
//
// Monitor, loss, noise, Adam and the gradient memory side by side, so that one simulator has them all.
//
// Streams  a prefix for each block; of what a block leaves undefined, zeros. A line to Adam comes with
//          its number; grad_total_*: all words that were saturated.
// Timing   that of the blocks, which is checked; the monitor's pairs come with its shifts, one clock later.
// Numbers  those of the blocks.
// Source   docs/qat.md.
`include "jd_assert.svh"
module jd_qat_blocks_bench #(
  parameter int unsigned Cores = 2,
  parameter int unsigned Lw    = 4,
  parameter int unsigned Lanes = 4,
  parameter int unsigned AdamClocks = 1
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           monitor_in_valid_i,
  input  logic [Cores-1:0]               monitor_in_cores_i,
  input  logic [Cores-1:0][2:0]          monitor_in_tensor_i,
  input  logic [Cores-1:0][Lw-1:0][31:0] monitor_in_data_i,
  input  logic                           monitor_set_i,
  input  logic [31:0]                    monitor_set_low_i,
  input  logic [31:0]                    monitor_set_high_i,
  output logic                           monitor_out_valid_o,
  output logic [7:0][31:0]               monitor_out_low_o,
  output logic [7:0][31:0]               monitor_out_high_o,
  output logic [7:0][4:0]                monitor_out_shift_o,
  input  logic                           loss_in_valid_i,
  input  logic [Lanes-1:0]               loss_in_lanes_i,
  input  logic                           loss_in_error_i,
  input  logic                           loss_in_weighted_i,
  input  logic [3:0]                     loss_in_scale_i,
  input  logic [Lanes-1:0][31:0]         loss_in_q_i,
  input  logic [Lanes-1:0][31:0]         loss_in_y_i,
  input  logic [Lanes-1:0][24:0]         loss_in_weight_i,
  input  logic [Lanes-1:0][31:0]         loss_in_reward_i,
  input  logic [Lanes-1:0][31:0]         loss_in_discount_i,
  output logic                           loss_out_valid_o,
  output logic [Lanes-1:0]               loss_out_lanes_o,
  output logic                           loss_out_error_o,
  output logic [Lanes-1:0][31:0]         loss_out_result_o,
  output logic [Lanes-1:0][31:0]         loss_out_td_o,
  output logic [Lanes-1:0][31:0]         loss_out_float_o,
  output logic [3:0]                     loss_out_saturated_o,
  input  logic                           loss_clear_i,
  output logic [63:0]                    loss_sum_q_o,
  output logic [63:0]                    loss_sum_td_o,
  output logic [31:0]                    loss_count_o,
  input  logic [2:0]                     loss_actor_scale_i,
  output logic [31:0]                    loss_actor_seed_o,
  input  logic                           noise_load_i,
  input  logic [255:0]                   noise_load_state_i,
  input  logic [Lw-1:0][31:0]            noise_load_x_i,
  output logic [255:0]                   noise_state_o,
  output logic [Lw-1:0][31:0]            noise_x_o,
  input  logic                           noise_start_i,
  input  logic [1:0]                     noise_kind_i,
  input  logic [2:0]                     noise_actions_i,
  input  logic [31:0]                    noise_sigma_i,
  input  logic [31:0]                    noise_theta_i,
  output logic                           noise_ready_o,
  input  logic                           noise_in_valid_i,
  input  logic                           noise_in_noise_i,
  input  logic [Lw-1:0][31:0]            noise_in_data_i,
  output logic                           noise_out_valid_o,
  output logic [Lw-1:0][31:0]            noise_out_data_o,
  input  logic [23:0]                    adam_c1_i,
  input  logic [23:0]                    adam_c2_i,
  input  logic [23:0]                    adam_eps_i,
  input  logic [25:0]                    adam_rate_i,
  input  logic [24:0]                    adam_tau_i,
  input  logic                           adam_in_valid_i,
  input  logic [16:0]                    adam_in_tag_i,
  input  logic [Lw-1:0][31:0]            adam_in_w_i,
  input  logic [Lw-1:0][31:0]            adam_in_m_i,
  input  logic [Lw-1:0][63:0]            adam_in_v_i,
  input  logic [Lw-1:0][31:0]            adam_in_t_i,
  input  logic [Lw-1:0][31:0]            adam_in_g_i,
  output logic                           adam_out_valid_o,
  output logic [16:0]                    adam_out_tag_o,
  output logic [Lw-1:0][31:0]            adam_out_w_o,
  output logic [Lw-1:0][31:0]            adam_out_m_o,
  output logic [Lw-1:0][63:0]            adam_out_v_o,
  output logic [Lw-1:0][31:0]            adam_out_t_o,
  output logic [2:0]                     adam_out_over_o,
  output logic                           adam_idle_o,
  input  logic                           grad_clear_i,
  output logic                           grad_idle_o,
  input  logic                           grad_reserve_i,
  input  logic [2:0]                     grad_reserve_rows_i,
  output logic                           grad_room_o,
  input  logic                           grad_reserve_bias_i,
  output logic                           grad_bias_room_o,
  input  logic                           drain_valid_i,
  input  logic                           drain_opens_i,
  input  logic [Cores*Lw*120-1:0]        drain_sums_i,
  input  logic [16:0]                    drain_line_i,
  input  logic [16:0]                    drain_stride_i,
  input  logic [2:0]                     drain_words_i,
  input  logic                           drain_half_i,
  input  logic [4:0]                     drain_up_i,
  input  logic                           drain_first_i,
  input  logic                           drain_update_i,
  input  logic                           bias_valid_i,
  input  logic [Cores*Lw*42-1:0]         bias_sums_i,
  input  logic [16:0]                    bias_line_i,
  input  logic [2:0]                     bias_words_i,
  input  logic                           bias_first_i,
  input  logic                           bias_update_i,
  output logic                           grad_out_valid_o,
  output logic [16:0]                    grad_out_line_o,
  output logic [Lw-1:0][31:0]            grad_out_data_o,
  input  logic                           grad_sweep_valid_i,
  output logic                           grad_sweep_ready_o,
  input  logic [16:0]                    grad_sweep_line_i,
  input  logic [16:0]                    grad_sweep_count_i,
  input  logic [16:0]                    grad_sweep_columns_i,
  input  logic [2:0]                     grad_sweep_words_i,
  input  logic                           grad_host_write_i,
  input  logic                           grad_host_read_i,
  input  logic [16:0]                    grad_host_line_i,
  input  logic [Lw-1:0][31:0]            grad_host_data_i,
  output logic [Lw-1:0][31:0]            grad_host_data_o,
  output logic [31:0]                    grad_total_gradient_o,
  output logic [31:0]                    grad_total_sum_o
);
  // ---- Monitor, with its pairs
  logic [7:0]       write;
  logic [7:0][31:0] low_q, high_q, low, high;
  jd_qat_monitor #(.Cores (Cores), .Lw (Lw)) u_monitor (
    .clk_i, .rst_ni,
    .line_valid_i  (monitor_in_valid_i ? monitor_in_cores_i : '0),
    .line_tensor_i (monitor_in_tensor_i),
    .line_data_i   (monitor_in_data_i),
    .low_i         (low_q),
    .high_i        (high_q),
    .write_o       (write),
    .low_o         (low),
    .high_o        (high),
    .shift_o       (monitor_out_shift_o)
  );
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < 8; k++) begin
      if (!rst_ni) begin
        low_q[k]  <= '0;
        high_q[k] <= '0;
      end else if (monitor_set_i) begin
        low_q[k]  <= monitor_set_low_i;
        high_q[k] <= monitor_set_high_i;
      end else if (write[k]) begin
        low_q[k]  <= low[k];
        high_q[k] <= high[k];
      end
    end
    monitor_out_low_o  <= low_q;
    monitor_out_high_o <= high_q;
  end
  jd_delay #(.Width (1), .Cycles (4)) u_monitor_valid (
    .clk_i, .rst_ni, .in_i (monitor_in_valid_i), .out_o (monitor_out_valid_o)
  );

  // ---- Loss
  logic [Lanes-1:0][31:0] result, td, float;
  logic                   loss_valid;
  jd_qat_loss #(.Lanes (Lanes)) u_loss (
    .clk_i, .rst_ni,
    .in_valid_i      (loss_in_valid_i ? loss_in_lanes_i : '0),
    .in_error_i      (loss_in_error_i),
    .in_weighted_i   (loss_in_weighted_i),
    .in_scale_i      (loss_in_scale_i),
    .in_q_i          (loss_in_q_i),
    .in_y_i          (loss_in_y_i),
    .in_weight_i     (loss_in_weight_i),
    .in_reward_i     (loss_in_reward_i),
    .in_discount_i   (loss_in_discount_i),
    .out_valid_o     (loss_out_lanes_o),
    .out_error_o     (loss_out_error_o),
    .out_result_o    (result),
    .out_td_o        (td),
    .out_td_float_o  (float),
    .out_saturated_o (loss_out_saturated_o),
    .clear_i         (loss_clear_i),
    .sum_q_o         (loss_sum_q_o),
    .sum_td_o        (loss_sum_td_o),
    .count_o         (loss_count_o),
    .actor_scale_i   (loss_actor_scale_i),
    .actor_seed_o    (loss_actor_seed_o)
  );
  assign loss_out_valid_o = loss_out_lanes_o != '0;
  for (genvar l = 0; l < Lanes; l++) begin : gen_lane
    logic error;
    assign error                = loss_out_lanes_o[l] && loss_out_error_o;
    assign loss_out_result_o[l] = loss_out_lanes_o[l] ? result[l] : '0;
    assign loss_out_td_o[l]     = error ? td[l] : '0;
    assign loss_out_float_o[l]  = error ? float[l] : '0;
  end
  jd_delay #(.Width (1), .Cycles (6)) u_loss_valid (
    .clk_i, .rst_ni, .in_i (loss_in_valid_i), .out_o (loss_valid)
  );
  `JD_ASSERT(LossLatency_A, loss_valid == loss_out_valid_o)

  // ---- Noise
  logic noise_valid;
  jd_qat_noise #(.Lw (Lw)) u_noise (
    .clk_i, .rst_ni,
    .load_i       (noise_load_i),
    .load_state_i (noise_load_state_i),
    .load_x_i     (noise_load_x_i),
    .state_o      (noise_state_o),
    .x_o          (noise_x_o),
    .start_i      (noise_start_i),
    .kind_i       (noise_kind_i),
    .actions_i    (noise_actions_i),
    .sigma_i      (noise_sigma_i),
    .theta_i      (noise_theta_i),
    .ready_o      (noise_ready_o),
    .in_valid_i   (noise_in_valid_i),
    .in_noise_i   (noise_in_noise_i),
    .in_data_i    (noise_in_data_i),
    .out_valid_o  (noise_out_valid_o),
    .out_data_o   (noise_out_data_o)
  );
  jd_delay #(.Width (1), .Cycles (2)) u_noise_valid (
    .clk_i, .rst_ni, .in_i (noise_in_valid_i), .out_o (noise_valid)
  );
  `JD_ASSERT(NoiseLatency_A, noise_valid == noise_out_valid_o)

  // ---- Adam
  logic adam_valid;
  jd_qat_adam #(.Lanes (Lw), .TagW (17)) u_adam (
    .clk_i, .rst_ni,
    .c1_i        (adam_c1_i),
    .c2_i        (adam_c2_i),
    .eps_i       (adam_eps_i),
    .rate_i      (adam_rate_i),
    .tau_i       (adam_tau_i),
    .in_valid_i  (adam_in_valid_i),
    .in_tag_i    (adam_in_tag_i),
    .in_w_i      (adam_in_w_i),
    .in_m_i      (adam_in_m_i),
    .in_v_i      (adam_in_v_i),
    .in_t_i      (adam_in_t_i),
    .in_g_i      (adam_in_g_i),
    .out_valid_o (adam_out_valid_o),
    .out_tag_o   (adam_out_tag_o),
    .out_w_o     (adam_out_w_o),
    .out_m_o     (adam_out_m_o),
    .out_v_o     (adam_out_v_o),
    .out_t_o     (adam_out_t_o),
    .over_o      (adam_out_over_o),
    .idle_o      (adam_idle_o)
  );
  jd_delay #(.Width (1), .Cycles (74)) u_adam_valid (
    .clk_i, .rst_ni, .in_i (adam_in_valid_i), .out_o (adam_valid)
  );
  `JD_ASSERT(AdamLatency_A, adam_valid == adam_out_valid_o)

  // ---- Gradient memory
  logic        next, read_valid, was_read;
  logic [16:0] read_line;
  logic [1:0]  unused_layer;
  logic [3:0]  over_gradient, over_sum;
  jd_qat_grad #(
    .Cores (Cores), .Lw (Lw), .WLines (128), .Lines (4 * Lw), .BiasLines (2),
    .AdamClocks (AdamClocks)
  ) u_grad (
    .clk_i, .rst_ni,
    .clear_i         (grad_clear_i),
    .idle_o          (grad_idle_o),
    .reserve_i       (grad_reserve_i),
    .reserve_rows_i  (grad_reserve_rows_i),
    .room_o          (grad_room_o),
    .reserve_bias_i  (grad_reserve_bias_i),
    .bias_room_o     (grad_bias_room_o),
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
    .tile_layer_i    ('0),
    .bias_valid_i,
    .bias_sums_i,
    .bias_line_i,
    .bias_words_i,
    .bias_first_i,
    .bias_update_i,
    .adam_read_o     (read_valid),
    .adam_line_o     (read_line),
    .adam_layer_o    (unused_layer),
    .adam_valid_o    (grad_out_valid_o),
    .adam_next_o     (next),
    .adam_data_o     (grad_out_data_o),
    .sweep_valid_i   (grad_sweep_valid_i),
    .sweep_ready_o   (grad_sweep_ready_o),
    .sweep_line_i    (grad_sweep_line_i),
    .sweep_count_i   (grad_sweep_count_i),
    .sweep_columns_i (grad_sweep_columns_i),
    .sweep_words_i   (grad_sweep_words_i),
    .host_write_i    (grad_host_write_i),
    .host_read_i     (grad_host_read_i),
    .host_line_i     (grad_host_line_i),
    .host_data_i     (grad_host_data_i),
    .host_data_o     (grad_host_data_o),
    .over_gradient_o (over_gradient),
    .over_sum_o      (over_sum)
  );
  jd_delay #(.Width (1), .Cycles (2)) u_read (
    .clk_i, .rst_ni, .in_i (read_valid), .out_o (was_read)
  );
  jd_delay #(.Width (17), .Cycles (2)) u_line (
    .clk_i, .rst_ni, .in_i (read_line), .out_o (grad_out_line_o)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      grad_total_gradient_o <= '0;
      grad_total_sum_o      <= '0;
    end else begin
      grad_total_gradient_o <= grad_total_gradient_o + 32'(over_gradient);
      grad_total_sum_o      <= grad_total_sum_o + 32'(over_sum);
    end
  end
  `JD_ASSERT_NEXT(ToldOf_A, next && !grad_clear_i, read_valid)
  `JD_ASSERT_NEXT(OnlyToldOf_A, !next, !read_valid)
  `JD_ASSERT_IF(AdamAfterRead_A, !grad_clear_i, was_read == grad_out_valid_o)
endmodule : jd_qat_blocks_bench
