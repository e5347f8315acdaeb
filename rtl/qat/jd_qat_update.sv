// SPDX-License-Identifier: Apache-2.0
//
// Gradients, moments and Adam: makes gradients from the drained sums of the arrays, and keeps them
// or updates weights and targets with them. It holds the memories G, M and V; W and T are in
// jd_qat_wmem.
//
//     drained columns, delta sums -> jd_qat_grad (G) -> jd_qat_adam -> W, T
//                                                        ^      |
//                                                        M, V <-+
//
// Streams  reserve, drain, tile, bias, sweep: see jd_qat_grad. weight_read: asks for a line of W
//          and T, which come on weight_data_i and target_data_i. weight_write: the new W and T.
//          Pipes: valid only, no stall. host: single rows of the memories while idle_o is high; a
//          row is a line of G or M, or half a line of V. clear_i, held until idle_o, drops lines
//          that have not reached Adam; lines that have are written. updates_o: a line of the
//          reserved layer is not written yet; a sweep does not count.
// Timing   A line takes Lw / AdamLanes clocks. W and T come ReadClocks after weight_read_o and hold
//          for the time of a line; they are written ReadClocks + 74 + Lw / AdamLanes clocks after
//          it. A host's row shows 3 clocks after host_read_i.
// Numbers  those of jd_qat_grad and jd_qat_adam. host_region_i: 2 G, 3 M, 4 V, as in LOAD and
//          STORE.
// Source   FIXAR V (weight update); docs/qat.md (Adam). Golden model: models/qat/timestep.py,
//          gradients and update.
`include "jd_assert.svh"
module jd_qat_update #(
  parameter  int unsigned Cores      = 2,        // 1, 2, 4
  parameter  int unsigned Lw         = 16,       // words of a line: 4, 8, 16
  parameter  int unsigned WLines     = 20480,    // lines of each memory, at most 2^17
  parameter  int unsigned Lines      = 64,       // drained lines that may be announced, from 2*Lw
  parameter  int unsigned BiasLines  = 64,       // bias lines that may be
  parameter  int unsigned ReadClocks = 3,        // of W and T, 2..8
  parameter  int unsigned AdamLanes  = Lw,       // words of a slice that Adam takes: 4, 8, 16
  localparam int unsigned AccW       = 60,       // of a lane's sum
  localparam int unsigned DeltaW     = 42,       // of a sum of deltas
  localparam int unsigned LineW      = 17,
  localparam int unsigned Layers     = 4,
  localparam int unsigned WordsW     = $clog2(Lw + 1),
  localparam int unsigned CountW     = $clog2(2 * Lw + 1)
) (
  input  logic                                    clk_i,
  input  logic                                    rst_ni,
  input  logic                                    clear_i,
  output logic                                    idle_o,
  // Scalars, held while lines are on their way to Adam or in it
  input  logic [23:0]                             c1_i,
  input  logic [23:0]                             c2_i,
  input  logic [23:0]                             eps_i,
  input  logic [25:0]                             rate_i,
  input  logic [24:0]                             tau_i,
  // Announced lines
  input  logic                                    reserve_i,
  input  logic [WordsW-1:0]                       reserve_rows_i,
  output logic                                    room_o,
  input  logic                                    reserve_bias_i,
  output logic                                    bias_room_o,
  input  logic                                    reserve_update_i, // they go to Adam
  input  logic [1:0]                              reserve_layer_i,
  output logic [Layers-1:0]                       updates_o,
  // Drained columns
  input  logic                                    drain_valid_i,
  input  logic                                    drain_opens_i,
  input  logic [Cores-1:0][Lw-1:0][1:0][AccW-1:0] drain_sums_i,
  input  logic [LineW-1:0]                        tile_line_i,
  input  logic [LineW-1:0]                        tile_stride_i,
  input  logic [WordsW-1:0]                       tile_words_i,
  input  logic                                    tile_half_i,
  input  logic [4:0]                              tile_up_i,
  input  logic                                    tile_first_i,
  input  logic                                    tile_update_i,
  input  logic [1:0]                              tile_layer_i,
  // Sums of deltas
  input  logic                                    bias_valid_i,
  input  logic [Cores-1:0][Lw-1:0][DeltaW-1:0]    bias_sums_i,
  input  logic [LineW-1:0]                        bias_line_i,
  input  logic [WordsW-1:0]                       bias_words_i,
  input  logic                                    bias_first_i,
  input  logic                                    bias_update_i,
  // Sweep of G
  input  logic                                    sweep_valid_i,
  output logic                                    sweep_ready_o,
  input  logic [LineW-1:0]                        sweep_line_i,
  input  logic [LineW-1:0]                        sweep_count_i,
  input  logic [LineW-1:0]                        sweep_columns_i,
  input  logic [WordsW-1:0]                       sweep_words_i,
  // Weights and targets
  output logic                                    weight_next_o,    // a read in the next clock
  output logic                                    weight_read_o,
  output logic [LineW-1:0]                        weight_line_o,
  input  logic [Lw-1:0][31:0]                     weight_data_i,
  input  logic [Lw-1:0][31:0]                     target_data_i,
  output logic                                    weight_write_o,
  output logic [LineW-1:0]                        write_line_o,
  output logic [Lw-1:0][31:0]                     weight_data_o,
  output logic [Lw-1:0][31:0]                     target_data_o,
  // Host
  input  logic [2:0]                              host_region_i,
  input  logic                                    host_second_i,    // half of a line of V
  input  logic [LineW-1:0]                        host_line_i,
  input  logic                                    host_write_i,
  input  logic [Lw-1:0][31:0]                     host_data_i,
  input  logic                                    host_read_i,
  output logic                                    host_valid_o,
  output logic [Lw-1:0][31:0]                     host_data_o,
  // Words that were saturated
  output logic [CountW-1:0]                       over_gradient_o,
  output logic [CountW-1:0]                       over_sum_o,
  output logic [WordsW-1:0]                       over_w_o
);
  if (ReadClocks < 2 || ReadClocks > 8) begin : gen_bad_clocks
    $fatal(1, "jd_qat_update: ReadClocks=%0d, want 2..8", ReadClocks);
  end
  if (AdamLanes > Lw) begin : gen_bad_lanes
    $fatal(1, "jd_qat_update: AdamLanes=%0d, want at most Lw=%0d", AdamLanes, Lw);
  end
  localparam logic [2:0] REGION_G = 3'd2, REGION_M = 3'd3, REGION_V = 3'd4;
  localparam int unsigned AddressW = $clog2(WLines);
  localparam int unsigned HostClocks = 2;        // of a memory, where ReadClocks are for Adam
  localparam int unsigned Slices = Lw / AdamLanes;
  localparam int unsigned SliceW = Slices > 1 ? $clog2(Slices) : 1;

  logic                host_g, host_m, host_v;
  logic                grad_idle, gradient_valid, adam_idle, adam_valid;
  logic [Lw-1:0][31:0] gradient, gradient_late, host_gradient;
  logic [1:0]          adam_layer, layer_late, write_layer;
  assign host_g = host_region_i == REGION_G;
  assign host_m = host_region_i == REGION_M;
  assign host_v = host_region_i == REGION_V;
  jd_qat_grad #(
    .Cores (Cores), .Lw (Lw), .WLines (WLines), .Lines (Lines), .BiasLines (BiasLines),
    .AdamClocks (Slices)
  ) u_grad (
    .clk_i, .rst_ni,
    .clear_i,
    .idle_o       (grad_idle),
    .reserve_i, .reserve_rows_i, .room_o, .reserve_bias_i, .bias_room_o,
    .drain_valid_i, .drain_opens_i, .drain_sums_i,
    .tile_line_i, .tile_stride_i, .tile_words_i, .tile_half_i, .tile_up_i, .tile_first_i,
    .tile_update_i, .tile_layer_i,
    .bias_valid_i, .bias_sums_i, .bias_line_i, .bias_words_i, .bias_first_i, .bias_update_i,
    .adam_next_o  (weight_next_o),
    .adam_read_o  (weight_read_o),
    .adam_line_o  (weight_line_o),
    .adam_layer_o (adam_layer),
    .adam_valid_o (gradient_valid),
    .adam_data_o  (gradient),
    .sweep_valid_i, .sweep_ready_o, .sweep_line_i, .sweep_count_i, .sweep_columns_i,
    .sweep_words_i,
    .host_write_i (host_write_i && host_g),
    .host_read_i  (host_read_i && host_g),
    .host_line_i,
    .host_data_i,
    .host_data_o  (host_gradient),
    .over_gradient_o, .over_sum_o
  );

  // ---- Moments: V in two halves
  logic [LineW-1:0]    line_late;
  logic [AddressW-1:0] moment_read, moment_write;
  logic [Lw-1:0][31:0] m, m_new;
  logic [Lw-1:0][63:0] v, v_new;
  logic                from_host, write;
  assign from_host    = host_write_i || host_read_i;
  assign moment_read  = AddressW'(from_host ? host_line_i : weight_line_o);
  assign moment_write = AddressW'(from_host ? host_line_i : write_line_o);
  jd_mem_1r1w #(.Depth (WLines), .Lanes (1), .LaneW (Lw * 32), .ReadLatency (HostClocks),
                .Ultra (1'b1)) u_m (
    .clk_i, .rst_ni,
    .write_en_i   (write || (host_write_i && host_m)),
    .write_addr_i (moment_write),
    .write_mask_i (1'b1),
    .write_data_i (from_host ? host_data_i : m_new),
    .read_en_i    (weight_read_o || (host_read_i && host_m)),
    .read_addr_i  (moment_read),
    .read_data_o  (m)
  );
  jd_mem_1r1w #(.Depth (WLines), .Lanes (2), .LaneW (Lw * 32), .ReadLatency (HostClocks),
                .Ultra (1'b1)) u_v (
    .clk_i, .rst_ni,
    .write_en_i   (write || (host_write_i && host_v)),
    .write_addr_i (moment_write),
    .write_mask_i (from_host ? {host_second_i, !host_second_i} : 2'b11),
    .write_data_i (from_host ? {2{host_data_i}} : v_new),
    .read_en_i    (weight_read_o || (host_read_i && host_v)),
    .read_addr_i  (moment_read),
    .read_data_o  (v)
  );

  // ---- Adam: all that it takes comes with W and T, and stays for a line's slices
  logic [Lw-1:0][31:0] m_late;
  logic [Lw-1:0][63:0] v_late;
  logic [ReadClocks-2:0] waits;                  // element k: a gradient came k clocks ago
  logic                  opens, takes;           // the first slice of a line; any
  logic [SliceW-1:0]     slice_q;                // that is taken
  assign waits[0] = gradient_valid;
  assign opens    = waits[ReadClocks-2];
  assign takes    = opens || slice_q != '0;
  for (genvar k = 1; k < ReadClocks - 1; k++) begin : gen_wait
    always_ff @(posedge clk_i) waits[k] <= rst_ni && waits[k-1];
  end
  jd_delay #(.Width (128 * Lw), .Cycles (ReadClocks - 2), .Clear (1'b0)) u_late (
    .clk_i, .rst_ni,
    .in_i  ({gradient, m, v}),
    .out_o ({gradient_late, m_late, v_late})
  );
  jd_delay #(.Width (2 + LineW), .Cycles (ReadClocks), .Clear (1'b0)) u_line (
    .clk_i, .rst_ni, .in_i ({adam_layer, weight_line_o}), .out_o ({layer_late, line_late})
  );
  typedef struct packed {
    logic [AdamLanes-1:0][31:0] w;
    logic [AdamLanes-1:0][31:0] m;
    logic [AdamLanes-1:0][63:0] v;
    logic [AdamLanes-1:0][31:0] t;
  } slice_t;
  localparam int unsigned OverW = $clog2(AdamLanes + 1);
  logic [OverW-1:0]           over;
  logic [SliceW-1:0]          out_slice_q;       // that comes out
  logic [AdamLanes-1:0][31:0] g_in;
  slice_t                     slice_in, slice_out;
  slice_t [Slices-1:0]        line_q, line_new;
  always_comb begin
    slice_in.w = weight_data_i[32'(slice_q) * AdamLanes +: AdamLanes];
    slice_in.m = m_late[32'(slice_q) * AdamLanes +: AdamLanes];
    slice_in.v = v_late[32'(slice_q) * AdamLanes +: AdamLanes];
    slice_in.t = target_data_i[32'(slice_q) * AdamLanes +: AdamLanes];
    g_in       = gradient_late[32'(slice_q) * AdamLanes +: AdamLanes];
    line_new              = line_q;
    line_new[out_slice_q] = slice_out;
    for (int unsigned s = 0; s < Slices; s++) begin
      weight_data_o[s*AdamLanes +: AdamLanes] = line_new[s].w;
      m_new[s*AdamLanes +: AdamLanes]         = line_new[s].m;
      v_new[s*AdamLanes +: AdamLanes]         = line_new[s].v;
      target_data_o[s*AdamLanes +: AdamLanes] = line_new[s].t;
    end
  end
  jd_qat_adam #(.Lanes (AdamLanes), .TagW (2 + LineW)) u_adam (
    .clk_i, .rst_ni, .c1_i, .c2_i, .eps_i, .rate_i, .tau_i,
    .in_valid_i  (takes),
    .in_tag_i    ({layer_late, line_late}),
    .in_w_i      (slice_in.w),
    .in_m_i      (slice_in.m),
    .in_v_i      (slice_in.v),
    .in_t_i      (slice_in.t),
    .in_g_i      (g_in),
    .out_valid_o (adam_valid),
    .out_tag_o   ({write_layer, write_line_o}),
    .out_w_o     (slice_out.w),
    .out_m_o     (slice_out.m),
    .out_v_o     (slice_out.v),
    .out_t_o     (slice_out.t),
    .over_o      (over),
    .idle_o      (adam_idle)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni)    slice_q <= '0;
    else if (takes) slice_q <= 32'(slice_q) == Slices - 1 ? '0 : slice_q + 1'b1;
    if (!rst_ni)         out_slice_q <= '0;
    else if (adam_valid) out_slice_q <= 32'(out_slice_q) == Slices - 1 ? '0 : out_slice_q + 1'b1;
    if (adam_valid) line_q <= line_new;
  end
  assign over_w_o       = WordsW'(over);
  assign write          = adam_valid && 32'(out_slice_q) == Slices - 1;
  assign weight_write_o = write;
  assign idle_o = grad_idle && adam_idle && waits == '0;

  // ---- Lines of each layer that were reserved and are not written
  localparam int unsigned OwedW = $clog2(Lines + BiasLines + 96);   // in FIFOs, and in Adam
  logic [Layers-1:0][OwedW-1:0] owed_q;
  for (genvar l = 0; l < Layers; l++) begin : gen_owed
    logic mine, writes;
    assign mine         = reserve_update_i && reserve_layer_i == 2'(l);
    assign writes       = write && write_layer == 2'(l) && owed_q[l] != '0;
    assign updates_o[l] = owed_q[l] != '0;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) begin
        owed_q[l] <= '0;
      end else begin
        owed_q[l] <= owed_q[l] + (mine && reserve_i ? OwedW'(reserve_rows_i) : '0)
                     + OwedW'(mine && reserve_bias_i) - OwedW'(writes);
      end
    end
  end
  `JD_ASSERT_IF(AllCounted_A, idle_o, updates_o == '0)

  // ---- Host
  logic       read_q2, second_q2;
  logic [2:0] region_q2;
  jd_delay #(.Width (1), .Cycles (HostClocks)) u_read (
    .clk_i, .rst_ni, .in_i (host_read_i), .out_o (read_q2)
  );
  jd_delay #(.Width (4), .Cycles (HostClocks), .Clear (1'b0)) u_region (
    .clk_i, .rst_ni, .in_i ({host_region_i, host_second_i}), .out_o ({region_q2, second_q2})
  );
  always_ff @(posedge clk_i) begin
    host_valid_o <= rst_ni && read_q2;
    if (read_q2) begin
      if (region_q2 == REGION_G)      host_data_o <= host_gradient;
      else if (region_q2 == REGION_M) host_data_o <= m;
      else                            host_data_o <= second_q2 ? v[Lw/2 +: Lw/2] : v[0 +: Lw/2];
    end
  end

  `JD_ASSERT_IF(LineAfterLine_A, opens, slice_q == '0)
  `JD_ASSUME_IF(HostWhenIdle_M, from_host, idle_o)
  `JD_ASSUME_IF(HostRegion_M, from_host, host_g || host_m || host_v)
endmodule : jd_qat_update
