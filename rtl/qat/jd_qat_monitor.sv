// SPDX-License-Identifier: Apache-2.0
//
// Keeps the least and the largest value of each tensor, and derives the shift with which the tensor
// fits 16 bits.
//
// Streams  line: what each core writes into a tensor, with the tensor's number; a pipe: valid only,
//          no stall; cores are independent. Another block keeps the pairs (low_i, high_i) and takes
//          low_o and high_o where write_o is set.
// Timing   A line is part of the pairs 3 clocks after it came: 1 groups of four words | 2 lines | 3
//          pairs. A line per clock and core. shift_o follows one clock after the pairs.
// Numbers  signed, 32 bits. Every line counts as if it had a 0. Shift: with L the number of bits of
//          min(max(-low, high, 0), 2^31 - 1), the shift is max(0, L - 15). The larger of the two
//          magnitudes has as many bits as their bitwise or.
// Source   FIXAR IV (Algorithm 1); docs/qat.md (quantization). Golden model: models/qat/ops.py,
//          monitor and shift_of.
`include "jd_assert.svh"
module jd_qat_monitor #(
  parameter  int unsigned Cores   = 2,           // 1, 2, 4
  parameter  int unsigned Lw      = 16,          // words of a line: 4, 8, 16
  localparam int unsigned Tensors = 8
) (
  input  logic                            clk_i,
  input  logic                            rst_ni,
  input  logic [Cores-1:0]                line_valid_i,
  input  logic [Cores-1:0][2:0]           line_tensor_i,
  input  logic [Cores-1:0][Lw-1:0][31:0]  line_data_i,
  input  logic [Tensors-1:0][31:0]        low_i,
  input  logic [Tensors-1:0][31:0]        high_i,
  output logic [Tensors-1:0]              write_o,
  output logic [Tensors-1:0][31:0]        low_o,
  output logic [Tensors-1:0][31:0]        high_o,
  output logic [Tensors-1:0][4:0]         shift_o          // 0..16
);
  if (!(Cores inside {1, 2, 4}) || !(Lw inside {4, 8, 16})) begin : gen_bad_size
    $fatal(1, "jd_qat_monitor: Cores=%0d, want 1, 2 or 4, Lw=%0d, want 4, 8 or 16", Cores, Lw);
  end
  localparam int unsigned Groups = Lw / 4;

  function automatic logic [31:0] least(input logic [31:0] a, input logic [31:0] b);
    return $signed(a) < $signed(b) ? a : b;
  endfunction
  function automatic logic [31:0] largest(input logic [31:0] a, input logic [31:0] b);
    return $signed(a) > $signed(b) ? a : b;
  endfunction

  // Lines: a 0 is one of the values, as a pair never stands on one side of it after a line.
  logic [Cores-1:0]                   valid_q, valid_q2;
  logic [Cores-1:0][2:0]              tensor_q, tensor_q2;
  logic [Cores-1:0][31:0]             low_q2, high_q2;
  for (genvar c = 0; c < Cores; c++) begin : gen_core
    logic [Groups-1:0][31:0] low_d, high_d, low_q, high_q;
    logic [31:0]             line_low, line_high;
    always_comb begin
      line_low  = '0;
      line_high = '0;
      for (int unsigned g = 0; g < Groups; g++) begin
        low_d[g]  = least(least(line_data_i[c][4*g], line_data_i[c][4*g+1]),
                          least(line_data_i[c][4*g+2], line_data_i[c][4*g+3]));
        high_d[g] = largest(largest(line_data_i[c][4*g], line_data_i[c][4*g+1]),
                            largest(line_data_i[c][4*g+2], line_data_i[c][4*g+3]));
        line_low  = least(line_low, low_q[g]);
        line_high = largest(line_high, high_q[g]);
      end
    end
    always_ff @(posedge clk_i) begin
      valid_q[c]  <= rst_ni && line_valid_i[c];
      valid_q2[c] <= rst_ni && valid_q[c];
      if (line_valid_i[c]) begin
        tensor_q[c] <= line_tensor_i[c];
        low_q       <= low_d;
        high_q      <= high_d;
      end
      if (valid_q[c]) begin
        tensor_q2[c] <= tensor_q[c];
        low_q2[c]    <= line_low;
        high_q2[c]   <= line_high;
      end
    end
  end

  // Pairs: those of all cores that wrote into a tensor.
  always_comb begin
    for (int unsigned k = 0; k < Tensors; k++) begin
      write_o[k] = 1'b0;
      low_o[k]   = low_i[k];
      high_o[k]  = high_i[k];
      for (int unsigned c = 0; c < Cores; c++) begin
        if (valid_q2[c] && tensor_q2[c] == 3'(k)) begin
          write_o[k] = 1'b1;
          low_o[k]   = least(low_o[k], low_q2[c]);
          high_o[k]  = largest(high_o[k], high_q2[c]);
        end
      end
    end
  end

  // Shifts: the place of the leading one; from bit 30 on it is 16.
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < Tensors; k++) begin
      automatic logic [31:0] size;
      size = (low_i[k][31] ? -low_i[k] : '0) | (high_i[k][31] ? '0 : high_i[k]);
      shift_o[k] <= '0;
      for (int unsigned b = 15; b < 32; b++) begin
        if (size[b]) shift_o[k] <= b == 31 ? 5'd16 : 5'(b - 14);
      end
    end
  end
endmodule : jd_qat_monitor
