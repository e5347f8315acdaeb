// SPDX-License-Identifier: Apache-2.0
//
// Delays a vector by a fixed number of clocks.
//
// Streams  none: out_o is what in_i was, every clock; a pipe's payload or its valid bit.
// Timing   latency Cycles; 0 is a wire.
// Numbers  bits, unchanged. With Clear the stages are zero after reset (valid bits need it);
//          without, they keep their data and a device may build them from shift register LUTs.
// Source   -
module jd_delay #(
  parameter int unsigned Width  = 1,     // bits, 1..4096
  parameter int unsigned Cycles = 1,     // 0..1024
  parameter bit          Clear  = 1'b1   // reset clears all stages
) (
  input  logic             clk_i,
  input  logic             rst_ni,
  input  logic [Width-1:0] in_i,
  output logic [Width-1:0] out_o
);
  if (Width < 1 || Width > 4096 || Cycles > 1024) begin : gen_bad_parameters
    $fatal(1, "jd_delay: Width=%0d, want 1..4096, Cycles=%0d, want 0..1024", Width, Cycles);
  end

  if (Cycles == 0) begin : gen_wire
    assign out_o = in_i;
  end else begin : gen_stages
    logic [Cycles*Width-1:0] stages_q;   // the youngest in the low bits
    always_ff @(posedge clk_i) begin
      if (Clear && !rst_ni) stages_q <= '0;
      else                  stages_q <= (Cycles*Width)'({stages_q, in_i});
    end
    assign out_o = stages_q[Cycles*Width-1 -: Width];
  end
endmodule : jd_delay
