// SPDX-License-Identifier: Apache-2.0
//
// Checks that the arrays which a job names lie wholly below 2^40.
//
// Streams  none: the descriptor and the program's sizes hold, and the answer follows them.
// Timing   The answer is valid six clocks after the descriptor; record_beats_i may come four clocks
//          after it.
// Numbers  exact: in beats of 64 bytes, 58 bits at most.
// Source   docs/learner.md, Jobs. Golden model: models/learner/engine.py, arrays.
module jd_learner_extents
  import jd_axi_pkg::beyond;
  import jd_learner_engine_pkg::*;
#(
  parameter int unsigned NetMax = 6
) (
  input  logic              clk_i,
  input  logic [15:0][31:0] words_i,             // the job's descriptor
  input  network_t          networks_i [NetMax],
  input  logic [15:0]       record_beats_i,      // of a record, or of an input vector
  input  logic [15:0]       result_words_i,      // INFER: of a result; one clock after words_i
  output logic              beyond_o,            // one does not
  output logic [3:0]        word_o               // the first one's address in the descriptor
);
  localparam int unsigned NetW = $clog2(NetMax + 1);

  // ---- The job, and the factors of its arrays
  logic [7:0]      opcode;
  logic            trains, grads_q, infers_q, images_q, lists_q, errors_q;
  logic [NetMax-1:0] nets;
  logic [31:0]     last_q;                       // record or vector
  logic [31:0]     steps_q;                      // TRAIN, GRADS; INFER: vectors
  logic [9:0]      batch_q;                      // samples of a step
  logic [6:0]      pitch_q;                      // beats of a step's TD errors, of a result
  logic [1:0][18:0] halves, halves_q;            // an image of each network, even and odd ones;
  logic [18:0]     nets_beats_q;                 // of all
  logic [NetW-1:0] nets_count_q;
  logic [2:0]      kinds, kinds_q;               // images of so many beats of each network,
  logic            scalars_q;                    // and one of a beat
  assign opcode = words_i[0][7:0];
  assign trains = opcode inside {JOB_TRAIN, JOB_GRADS};
  assign nets   = words_i[2][NetMax-1:0];
  assign kinds  = 3'($countones(words_i[2][8+KIND_WEIGHTS+:4]));
  always_comb begin
    halves = '0;
    for (int unsigned n = 0; n < NetMax; n++) begin
      if (nets[n]) halves[n % 2] = halves[n % 2] + 19'(networks_i[n].beats);
    end
  end

  // ---- Sizes: products, then sums. As in jd_learner_fetch, two multipliers give a record's place.
  //      A factor feeds nothing but multipliers, so its register can be theirs.
  logic [42:0] low_q;
  logic [40:0] high_q;
  logic [57:0] data_q, data_end_q;               // beats
  logic [41:0] list_q;                           // entries of 16 bytes
  logic [38:0] results_q;                        // beats of TD errors or results
  logic [22:0] images_beats_q;
  always_ff @(posedge clk_i) begin
    grads_q      <= opcode == JOB_GRADS;
    infers_q     <= opcode == JOB_INFER;
    images_q     <= opcode inside {JOB_LOAD, JOB_STORE, JOB_APPLY};
    lists_q      <= trains && words_i[0][8];
    errors_q     <= trains && words_i[0][9];
    last_q       <= words_i[7] - 32'd1;
    steps_q      <= opcode == JOB_GRADS ? 32'd1 : opcode == JOB_INFER ? words_i[7] : words_i[2];
    batch_q      <= words_i[3][9:0];
    pitch_q      <= 7'(((infers_q ? result_words_i : 16'(words_i[3][9:0])) + 16'd15) >> 4);
    halves_q     <= halves;
    nets_beats_q <= halves_q[0] + halves_q[1];
    nets_count_q <= NetW'($countones(nets));
    kinds_q      <= opcode inside {JOB_GRADS, JOB_APPLY} ? 3'd1 : kinds;
    scalars_q    <= opcode inside {JOB_LOAD, JOB_STORE} && words_i[2][8+KIND_SCALARS];
    low_q          <= 43'(last_q[16:0]) * 43'(words_i[6][31:6]);
    high_q         <= 41'(last_q[31:17]) * 41'(words_i[6][31:6]);
    list_q         <= 42'(steps_q) * 42'(batch_q);
    results_q      <= 39'(steps_q) * 39'(pitch_q);
    images_beats_q <= 23'(nets_beats_q) * 23'(kinds_q) + (scalars_q ? 23'(nets_count_q) : '0);
    data_q         <= 58'(low_q) + {high_q, 17'd0};
    data_end_q     <= data_q + 58'(record_beats_i);
  end

  // ---- Each array's end
  function automatic logic [39:0] address_of(logic [3:0] word);
    return {words_i[word+4'd1][7:0], words_i[word]};
  endfunction
  logic [63:0] first_bytes;                      // of the array that word 4 names
  logic [3:0]  bad_q;                            // words 4, 10, 12, 14
  assign first_bytes = images_q ? 64'(images_beats_q) << 6
                       : opcode == JOB_PROGRAM ? 64'(words_i[2]) : {data_end_q, 6'd0};
  always_ff @(posedge clk_i) begin
    bad_q[0] <= beyond(address_of(4'd4), first_bytes);
    bad_q[1] <= lists_q && beyond(address_of(4'd10), 64'(list_q) << 4);
    bad_q[2] <= (errors_q || infers_q) && beyond(address_of(4'd12), 64'(results_q) << 6);
    bad_q[3] <= grads_q && beyond(address_of(4'd14), 64'(images_beats_q) << 6);
  end
  assign beyond_o = bad_q != '0;
  assign word_o   = bad_q[0] ? 4'd4 : bad_q[1] ? 4'd10 : bad_q[2] ? 4'd12 : 4'd14;
endmodule : jd_learner_extents
