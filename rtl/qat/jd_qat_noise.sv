// SPDX-License-Identifier: Apache-2.0
//
// Draws the noise of an action and adds it.
//
// Streams  start_i draws the noise of the next action, before it is needed. in, out: a line of the
//          actor's outputs, and the action with or without noise. A pipe: valid only, no stall. A
//          line with noise may come only while ready_o is high.
// Timing   ready_o falls in the clock after start_i and rises 6 + W*actions clocks later; W is the
//          number of words of the kind: 1 uniform, 3 the others. Without noise it stays high. A
//          line takes 2 clocks. load_i comes while ready_o is high and takes effect in the next
//          clock.
// Numbers  signed, 16 bits after the point; u are words of the generator, actions in ascending
//          order:
//              uniform            n = (u >> 47) - 2^16
//              Gaussian           n = the sum of the twelve 16-bit parts of three words - 6*2^16
//              Ornstein-Uhlenbeck n Gaussian; x = S(x - R(x*theta, 16) + R(n*sigma, 16))
//          noise = S(R(n*sigma, 16)), for Ornstein-Uhlenbeck x; action = output + noise, clipped to
//          -2^16..2^16. R rounds halves up, S saturates to 32 bits.
// Source   FIXAR V (PRNG); docs/qat.md (numbers). Golden model: models/qat/noise.py.
`include "jd_assert.svh"
module jd_qat_noise #(
  parameter  int unsigned Lw     = 16,           // words of a line: 4, 8, 16
  localparam int unsigned CountW = $clog2(Lw + 1)
) (
  input  logic                 clk_i,
  input  logic                 rst_ni,
  input  logic                 load_i,           // generator and x
  input  logic [255:0]         load_state_i,
  input  logic [Lw-1:0][31:0]  load_x_i,
  output logic [255:0]         state_o,
  output logic [Lw-1:0][31:0]  x_o,              // of each action
  input  logic                 start_i,
  input  logic [1:0]           kind_i,           // 0 none, 1 uniform, 2 Gaussian, 3 with x; held
  input  logic [CountW-1:0]    actions_i,        // 1..Lw; held
  input  logic signed [31:0]   sigma_i,          // held
  input  logic signed [31:0]   theta_i,          // held
  output logic                 ready_o,
  input  logic                 in_valid_i,
  input  logic                 in_noise_i,
  input  logic [Lw-1:0][31:0]  in_data_i,
  output logic                 out_valid_o,
  output logic [Lw-1:0][31:0]  out_data_o
);
  if (!(Lw inside {4, 8, 16})) begin : gen_bad_lw
    $fatal(1, "jd_qat_noise: Lw=%0d, want 4, 8 or 16", Lw);
  end
  localparam int unsigned       IndexW   = $clog2(Lw);
  localparam int unsigned       NumberW  = 20;   // n: within +-6*2^16
  localparam logic signed [32:0] ONE     = 33'sd65536;
  localparam logic [1:0] NONE = 2'd0, UNIFORM = 2'd1, ORNSTEIN = 2'd3;

  // ---- Words: which action and which of its words each is
  typedef struct packed {
    logic [IndexW-1:0] index;
    logic              first;
    logic              last;
  } word_t;
  logic       asks_q;                            // a word in each clock
  logic [1:0] part_q;
  word_t      word, word_q, word_q2;
  logic [IndexW-1:0] index_q3, index_q4, index_q5, index_q6;
  logic       valid_q, valid_q2;                 // of a word
  logic       valid_q3, valid_q4, valid_q5, valid_q6;  // of an action
  logic       whole;
  logic [63:0] value;
  jd_random_xoshiro u_random (
    .clk_i, .rst_ni,
    .load_i,
    .seed_i  (load_state_i),
    .next_i  (asks_q),
    .value_o (value),
    .state_o
  );
  assign word.first = part_q == '0;
  assign word.last  = kind_i == UNIFORM || part_q == 2'd2;
  assign whole      = word.last && CountW'(word.index) == actions_i - 1'b1;
  assign ready_o    = !(asks_q || valid_q || valid_q2 || valid_q3 || valid_q4 || valid_q5
                        || valid_q6);
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      asks_q     <= 1'b0;
      part_q     <= '0;
      word.index <= '0;
    end else if (start_i) begin
      asks_q     <= kind_i != NONE;
      part_q     <= '0;
      word.index <= '0;
    end else if (asks_q) begin
      asks_q     <= !whole;
      part_q     <= word.last ? '0 : part_q + 1'b1;
      word.index <= word.index + IndexW'(word.last);
    end
    valid_q  <= rst_ni && asks_q;
    valid_q2 <= rst_ni && valid_q;
    valid_q3 <= rst_ni && valid_q2 && word_q2.last;
    valid_q4 <= rst_ni && valid_q3;
    valid_q5 <= rst_ni && valid_q4;
    valid_q6 <= rst_ni && valid_q5;
    word_q   <= word;
    word_q2  <= word_q;
    index_q3 <= word_q2.index;
    index_q4 <= index_q3;
    index_q5 <= index_q4;
    index_q6 <= index_q5;
  end

  // ---- A number, 2 clocks after its words were asked for
  logic signed [NumberW-1:0] parts, number_q3;
  always_comb begin
    parts = '0;
    for (int unsigned part = 0; part < 4; part++) parts = parts + NumberW'(value[16*part +: 16]);
    // A word's share of the middle: 2^16 of a uniform number, 2 * 2^16 of a third of a Gaussian one.
    if (kind_i == UNIFORM) parts = NumberW'(value[63:47]) - NumberW'(1 << 16);
    else                   parts = parts - NumberW'(2 << 16);
  end
  always_ff @(posedge clk_i) begin
    if (valid_q2) number_q3 <= word_q2.first ? parts : number_q3 + parts;
  end

  // ---- Noise: products, rounded, sum
  logic signed [NumberW-1:0]  number_q4;
  logic signed [31:0]         x_q4;
  logic signed [NumberW+31:0] step_q5;
  logic signed [63:0]         pull_q5, step_q6, pull_q6, sum;
  logic [31:0]                noise;
  logic [Lw-1:0][31:0]        noise_q, x_q;
  assign x_o = x_q;
  always_ff @(posedge clk_i) begin
    if (valid_q3) begin
      number_q4 <= number_q3;
      x_q4      <= x_q[index_q3];
    end
    if (valid_q4) begin
      step_q5 <= number_q4 * sigma_i;
      pull_q5 <= x_q4 * theta_i;
    end
    if (valid_q5) begin
      step_q6 <= (64'(step_q5) + 64'sd32768) >>> 16;
      pull_q6 <= (pull_q5 + 64'sd32768) >>> 16;
    end
  end
  assign sum   = (kind_i == ORNSTEIN ? 64'($signed(x_q[index_q6])) - pull_q6 : '0) + step_q6;
  assign noise = sum[63:31] == '0 || sum[63:31] == '1 ? sum[31:0] : {sum[63], {31{!sum[63]}}};
  always_ff @(posedge clk_i) begin
    if (!rst_ni || start_i) noise_q <= '0;
    else if (valid_q6)      noise_q[index_q6] <= noise;
    if (!rst_ni)                                x_q <= '0;
    else if (load_i)                            x_q <= load_x_i;
    else if (valid_q6 && kind_i == ORNSTEIN) x_q[index_q6] <= noise;
  end

  // ---- Actions
  logic                       line_valid_q;
  logic [Lw-1:0][32:0]        line_q;
  always_ff @(posedge clk_i) begin
    line_valid_q <= rst_ni && in_valid_i;
    out_valid_o  <= rst_ni && line_valid_q;
    for (int unsigned k = 0; k < Lw; k++) begin
      if (in_valid_i) begin
        line_q[k] <= 33'($signed(in_data_i[k])) + 33'($signed(in_noise_i ? noise_q[k] : '0));
      end
      if (line_valid_q) begin
        if ($signed(line_q[k]) > ONE)       out_data_o[k] <= ONE[31:0];
        else if ($signed(line_q[k]) < -ONE) out_data_o[k] <= -ONE[31:0];
        else                                out_data_o[k] <= line_q[k][31:0];
      end
    end
  end

  `JD_ASSUME_IF(StartWhenReady_M, start_i || load_i, ready_o)
  `JD_ASSUME_IF(NoiseIsThere_M, in_valid_i && in_noise_i, ready_o)
  `JD_ASSUME_STABLE(SettingsHeld_M, !ready_o, {kind_i, actions_i, sigma_i, theta_i})
  `JD_ASSUME_IF(ActionsFitLine_M, start_i, actions_i != '0 && 32'(actions_i) <= Lw)
endmodule : jd_qat_noise
