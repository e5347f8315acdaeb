// SPDX-License-Identifier: Apache-2.0
//
// The random number generator xoshiro256++.
//
// Streams  none: next_i asks for a number, which comes a fixed time later.
// Timing   next_i steps the state, and value_o is the output of the state before that step two
//          clocks after it; value_o holds until the next one. One number per clock. state_o shows
//          the state of the number that comes next. load_i takes effect in the next clock, and
//          numbers that were asked for before or with it are still those of the old state.
// Numbers  64-bit words modulo 2**64, exact. An all-zero seed, and reset, give the state 1,0,0,0.
// Source   Blackman and Vigna, Scrambled linear pseudorandom number generators, ACM TOMS 47(4).
`include "jd_assert.svh"
module jd_random_xoshiro (
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         load_i,
  input  logic [255:0] seed_i,     // word 0 in the low bits
  input  logic         next_i,
  output logic [63:0]  value_o,
  output logic [255:0] state_o     // word 0 in the low bits
);
  // One step: only xor, shift and rotate, so the loop is short.
  function automatic logic [255:0] step(logic [255:0] state);
    logic [3:0][63:0] s;
    logic [63:0]      t;
    s    = state;
    t    = s[1] << 17;
    s[2] = s[2] ^ s[0];
    s[3] = s[3] ^ s[1];
    s[1] = s[1] ^ s[2];
    s[0] = s[0] ^ s[3];
    s[2] = s[2] ^ t;
    s[3] = {s[3][18:0], s[3][63:19]};   // rotate left by 45
    return s;
  endfunction

  // The output, rotate_left(s0 + s3, 23) + s0, is one addition per clock.
  logic        next_q;
  logic [63:0] sum_q, s0_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni)     state_o <= 256'd1;
    else if (load_i) state_o <= (seed_i == '0) ? 256'd1 : seed_i;
    else if (next_i) state_o <= step(state_o);

    if (!rst_ni) next_q <= 1'b0;
    else         next_q <= next_i;
    if (next_i) begin
      sum_q <= state_o[63:0] + state_o[255:192];
      s0_q  <= state_o[63:0];
    end
    if (next_q) value_o <= {sum_q[40:0], sum_q[63:41]} + s0_q;
  end

  `JD_ASSERT(NotZero_A, state_o != '0)
endmodule : jd_random_xoshiro
