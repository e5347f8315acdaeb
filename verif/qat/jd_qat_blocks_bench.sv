// SPDX-License-Identifier: Apache-2.0
//
// Monitor, loss, noise and Adam side by side, so that one simulator has them all.
//
// Streams  a prefix for each block; of what a block leaves undefined, zeros.
// Timing   that of the blocks, which is checked; the monitor's pairs come a clock later, with shifts.
// Numbers  those of the blocks.
// Source   docs/qat.md.
`include "jd_assert.svh"
module jd_qat_blocks_bench #(
  parameter int unsigned Cores = 2,
  parameter int unsigned Lw    = 4,
  parameter int unsigned Lanes = 4
) (
  input  logic                           clk_i,
  input  logic                           rst_ni,
  input  logic                           monitor_in_valid_i,
  input  logic [Cores-1:0]               monitor_in_cores_i,
  input  logic [Cores-1:0][2:0]          monitor_in_tensor_i,
  input  logic [Cores-1:0][Lw-1:0][31:0] monitor_in_data_i,
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
  output logic [3:0]                     adam_out_over_m_o,
  output logic [3:0]                     adam_out_over_w_o,
  output logic                           adam_idle_o
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
    .over_m_o    (adam_out_over_m_o),
    .over_w_o    (adam_out_over_w_o),
    .idle_o      (adam_idle_o)
  );
  jd_delay #(.Width (1), .Cycles (74)) u_adam_valid (
    .clk_i, .rst_ni, .in_i (adam_in_valid_i), .out_o (adam_valid)
  );
  `JD_ASSERT(AdamLatency_A, adam_valid == adam_out_valid_o)
endmodule : jd_qat_blocks_bench
