// SPDX-License-Identifier: Apache-2.0
//
// Which networks' weights, and which targets, the updates of a step will still change.
//
// Streams  none: the list of the program's WU and TSM stages, which of them is in hand, and a bit a
//          network of those that are left. With two phases, those of the phase in hand.
// Timing   two clocks behind the inputs.
// Numbers  none.
// Source   onchip_replay 3.2 (WU serialised with FW..WA); here a step begins beside the updates of
//          the one before it, as far as it does not read what they write.
module jd_learner_pending
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter int unsigned UpdateMax = 16         // entries of the list
) (
  input  logic               clk_i,
  input  logic               active_i,          // updates of a step are made
  input  logic               first_i,           // those of the first of two phases
  input  logic [4:0]         index_i,           // the one in hand; those before it are done
  input  logic [4:0]         count_i,           // entries that are used
  input  update_t            list_i [UpdateMax],
  output logic [NET_MAX-1:0] update_busy_o,
  output logic [NET_MAX-1:0] target_busy_o
);
  logic [UpdateMax-1:0] left_q;
  always_ff @(posedge clk_i) begin
    for (int unsigned k = 0; k < UpdateMax; k++) begin
      left_q[k] <= active_i && 5'(k) >= index_i && 5'(k) < count_i
                   && !(first_i && list_i[k].second);
    end
    for (int unsigned n = 0; n < NET_MAX; n++) begin
      update_busy_o[n] <= 1'b0;
      target_busy_o[n] <= 1'b0;
      for (int unsigned k = 0; k < UpdateMax; k++) begin
        if (left_q[k] && list_i[k].net == 3'(n)) begin
          if (list_i[k].is_target) target_busy_o[n] <= 1'b1;
          else                     update_busy_o[n] <= 1'b1;
        end
      end
    end
  end

  logic unused_list;
  always_comb begin
    unused_list = 1'b0;
    for (int unsigned k = 0; k < UpdateMax; k++) unused_list = unused_list ^ (^list_i[k]);
  end
endmodule : jd_learner_pending
