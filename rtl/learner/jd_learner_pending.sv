// SPDX-License-Identifier: Apache-2.0
//
// Tells which networks' weights, and which targets, the updates of a step will still change.
//
// Streams  none. In: the list of the program's WU and TSM stages and the stage that is running.
//          Out: a bit for each network whose weights or target are still to change. A program with
//          two phases counts the current phase. After restart_i a scan of the list removes the
//          stages that this step skips: delayed stages, and hard copies whose period is not over.
// Timing   Outputs follow inputs after two clocks. The scan takes three clocks per entry; an entry
//          that it has not reached counts as still to be done.
// Numbers  none.
// Source   onchip_replay 3.2 (WU serialised with FW..WA). Here a step begins beside the updates of
//          the step before it, as far as it does not read what they write.
module jd_learner_pending
  import jd_learner_pkg::*;
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned UpdateMax = 16,       // entries of the list
  parameter  int unsigned NetMax    = 6,
  localparam int unsigned NetW      = $clog2(NetMax),
  localparam int unsigned IndexW    = $clog2(UpdateMax)
) (
  input  logic                    clk_i,
  input  update_t                 list_i [UpdateMax],
  input  logic [4:0]              count_i,      // entries that are used
  // The scan, for the step to come.
  input  logic                    restart_i,
  input  logic                    due_i,        // delayed stages run in it
  input  logic [NetMax-1:0][31:0] since_i,      // steps since each target's last copy
  // The updates.
  input  logic                    active_i,     // updates of a step are made
  input  logic                    first_i,      // those of the first of two phases
  input  logic [4:0]              index_i,      // the one in hand; those before it are done
  output logic [NET_MAX-1:0]      update_busy_o,
  output logic [NET_MAX-1:0]      target_busy_o
);
  // The scan: an entry, its target's age with this step, whether it is made.
  logic [UpdateMax-1:0]    made_q;
  logic [NetMax-1:0][31:0] since_q;             // with the entries that the scan has passed
  logic [IndexW:0]         at_q;
  logic [1:0]              beat_q;
  update_t                 entry_q;
  logic [31:0]             age_q;
  logic                    copies, made;
  assign copies = !entry_q.is_target || entry_q.polyak || age_q >= 32'(entry_q.period);
  assign made   = copies && (due_i || !entry_q.delayed);
  always_ff @(posedge clk_i) begin
    entry_q <= list_i[at_q[IndexW-1:0]];
    age_q   <= since_q[NetW'(entry_q.net)] + 32'd1;
    if (restart_i) begin
      made_q  <= '1;
      since_q <= since_i;
      at_q    <= '0;
      beat_q  <= '0;
    end else if (!at_q[IndexW]) begin
      beat_q <= beat_q == 2'd2 ? '0 : beat_q + 2'd1;
      if (beat_q == 2'd2) begin
        at_q                       <= at_q + 1'b1;
        made_q[at_q[IndexW-1:0]] <= made;
        if (entry_q.is_target && !entry_q.polyak && (due_i || !entry_q.delayed)) begin
          since_q[NetW'(entry_q.net)] <= copies ? '0 : age_q;
        end
      end
    end
  end

  // Nothing is left most of the time; simulation then passes over the list.
  logic [UpdateMax-1:0] left_q;
  always_ff @(posedge clk_i) begin
    left_q        <= '0;
    update_busy_o <= '0;
    target_busy_o <= '0;
    if (active_i) begin
      for (int unsigned k = 0; k < UpdateMax; k++) begin
        left_q[k] <= made_q[k] && 5'(k) >= index_i && 5'(k) < count_i
                     && !(first_i && list_i[k].second);
      end
    end
    if (left_q != '0) begin
      for (int unsigned k = 0; k < UpdateMax; k++) begin
        if (left_q[k] && list_i[k].is_target)  target_busy_o[list_i[k].net] <= 1'b1;
        if (left_q[k] && !list_i[k].is_target) update_busy_o[list_i[k].net] <= 1'b1;
      end
    end
  end
endmodule : jd_learner_pending
