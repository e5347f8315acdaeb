// SPDX-License-Identifier: Apache-2.0
//
// Proof of jd_qat_load: the requests of a transfer follow each other without gap or overlap from its
// address on, and have all beats of its rows and none beyond; a write's strobes are those of its rows and
// of the last row's words, so no other byte is written. A transfer that nothing stops moves all of its rows; none
// is given from an error's beat on; done_o comes once, when all that was asked for is answered, with the
// first error. After a stop or an error at most the command on offer is asked for. A transfer that is
// not over waits for memory or for its user, never for itself.
//
// Method       induction. The harness is the memory: it takes requests and words and answers when it
//              likes; what is still to be asked, moved and answered is kept beside the block.
// Assumptions  a beat of a read stays until taken and comes only if it was asked for; an answer comes
//              only after request and words. Rows and words are as the header says, up to MaxRows rows
//              keep counts small; a read is then one command, a write several. stop_i holds until
//              done_o. The copies of jd_axi_read_queue and jd_axi_write_queue in verif/formal stand for
//              those. Reset at any time, of both sides.
`include "jd_assert.svh"
module jd_prove_load
  import jd_axi_pkg::*;
  import jd_qat_pkg::*;
#(
  parameter  int unsigned Lw      = 4,
  parameter  int unsigned MaxRows = 127,
  localparam int unsigned RowsW   = 18
) (
  input logic              clk_i,
  input logic              rst_ni,
  input logic              read_i,
  input logic              write_i,
  input logic [39:0]       address_i,
  input logic [RowsW-1:0]  rows_i,
  input logic [ROWS_W-1:0] line_words_i,
  input logic              stop_i,
  input logic              row_ready_i,
  input logic              line_valid_i,
  input logic              m_axi_arready_i,
  input logic              m_axi_rvalid_i,
  input logic [1:0]        m_axi_rresp_i,
  input logic              m_axi_awready_i,
  input logic              m_axi_wready_i,
  input logic              m_axi_bvalid_i,
  input logic [1:0]        m_axi_bresp_i
);
  localparam int unsigned Units = 16 / Lw;       // rows of a beat

  logic                      idle, row_valid, line_ready, done, moved;
  logic [Lw-1:0][WORD_W-1:0] row_data;
  logic [1:0]                response;
  axi_req_t                  req;
  axi_rsp_t                  rsp;
  always_comb begin
    rsp               = '0;
    rsp.read.arready  = m_axi_arready_i;
    rsp.read.rvalid   = m_axi_rvalid_i;
    rsp.read.rresp    = m_axi_rresp_i;
    rsp.write.awready = m_axi_awready_i;
    rsp.write.wready  = m_axi_wready_i;
    rsp.write.bvalid  = m_axi_bvalid_i;
    rsp.write.bresp   = m_axi_bresp_i;
  end
  jd_qat_load #(.Lw (Lw)) u_dut (
    .clk_i,
    .rst_ni,
    .idle_o       (idle),
    .read_i,
    .write_i,
    .address_i,
    .rows_i,
    .line_words_i,
    .stop_i,
    .row_valid_o  (row_valid),
    .row_ready_i,
    .row_data_o   (row_data),
    .line_valid_i,
    .line_ready_o (line_ready),
    .line_data_i  ('0),
    .done_o       (done),
    .response_o   (response),
    .moved_o      (moved),
    .mem_req_o    (req),
    .mem_rsp_i    (rsp)
  );

  // ---- The transfer: what is still to come of it
  logic              active_q, reads_q, halted, halted_q;
  logic [39:0]       next_q;                       // address of the next request
  logic [RowsW-1:0]  left_q, rows_q, total;        // beats not requested, rows not moved
  logic [RowsW-1:0]  words_q;                      // beats not given to write
  logic [RowsW-1:0]  owed_q;                       // beats requested, not read
  logic [15:0]       requested_q, sent_q;          // writes not answered: asked, all words given
  logic [ROWS_W-1:0] last_q;                       // words of the last row
  logic [1:0]        error_q;
  logic              extra_q, begins, asks, request, beat, word, answer, valid;
  logic [39:0]       at;
  logic [8:0]        beats;
  assign total   = RowsW'((32'(rows_i) + Units - 1) / Units);
  assign begins  = read_i || write_i;
  assign valid   = req.read.arvalid || req.write.awvalid;
  assign at      = req.read.arvalid ? req.read.araddr : req.write.awaddr;
  assign beats   = 9'(req.read.arvalid ? req.read.arlen : req.write.awlen) + 9'd1;
  assign request = (req.read.arvalid && m_axi_arready_i)
                   || (req.write.awvalid && m_axi_awready_i);
  assign beat    = m_axi_rvalid_i && req.read.rready;
  assign word    = req.write.wvalid && m_axi_wready_i;
  assign answer  = m_axi_bvalid_i;
  assign halted  = halted_q || stop_i || (m_axi_rvalid_i && m_axi_rresp_i[1]);
  assign asks    = u_dut.asked;                    // a command is taken
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      active_q    <= 1'b0;
      owed_q      <= '0;
      requested_q <= '0;
      sent_q      <= '0;
    end else begin
      active_q    <= begins || (active_q && !done);
      owed_q      <= owed_q + (request && reads_q ? RowsW'(beats) : '0) - RowsW'(beat);
      requested_q <= requested_q + 16'(request && !reads_q) - 16'(answer);
      sent_q      <= sent_q + 16'(word && u_dut.owed_q == 7'd1) - 16'(answer);
    end
    if (begins) begin
      reads_q  <= read_i;
      halted_q <= 1'b0;
      next_q   <= address_i;
      left_q   <= total;
      words_q  <= total;
      rows_q   <= rows_i;
      last_q   <= line_words_i;
      error_q  <= '0;
      extra_q  <= 1'b0;
    end else begin
      halted_q <= halted || (answer && m_axi_bresp_i[1]);
      extra_q  <= extra_q || (asks && halted);
      if (request) begin
        next_q <= next_q + 40'({beats, 6'd0});
        left_q <= left_q - RowsW'(beats);
      end
      if (word) words_q <= words_q - 1'b1;
      if ((row_valid && row_ready_i) || (line_valid_i && line_ready)) rows_q <= rows_q - 1'b1;
      if (error_q == '0) begin
        if (m_axi_rvalid_i && m_axi_rresp_i[1]) error_q <= m_axi_rresp_i;
        if (answer && m_axi_bresp_i[1])         error_q <= m_axi_bresp_i;
      end
    end
  end

  // ---- Requests
  `JD_ASSERT_IF(InRange_A, valid, active_q && at == next_q && RowsW'(beats) <= left_q
                && beats <= (reads_q ? 9'd64 : 9'd16)
                && req.read.arvalid == reads_q && req.write.awvalid == !reads_q)
  `JD_ASSERT_IF(OneMore_A, extra_q, !asks)
  // ---- Words and rows
  for (genvar k = 0; k < Units; k++) begin : gen_row
    for (genvar j = 0; j < Lw; j++) begin : gen_word
      `JD_ASSERT_IF(Strobes_A, req.write.wvalid,
                    req.write.wstrb[4*(Lw*k+j) +: 4]
                    == ((k < u_dut.unit_q || (k == u_dut.unit_q && (rows_q != RowsW'(1)
                         || ROWS_W'(j) < last_q))) ? 4'hf : 4'h0))
    end
  end
  `JD_ASSERT_IF(WholeBeat_A, req.write.wvalid,
                32'(u_dut.unit_q) == Units - 1 || rows_q == RowsW'(1))
  `JD_ASSERT_IF(OnlyAsked_A, req.write.wvalid, !reads_q && words_q > u_dut.beats_q)
  `JD_ASSERT_IF(NoRowAfterError_A, row_valid, active_q && !halted && rows_q != '0)
  `JD_ASSERT(Moved_A, moved == ((row_valid && row_ready_i) || (line_valid_i && line_ready)))
  // ---- The end
  `JD_ASSERT(Idle_A, idle == (!active_q || done))
  `JD_ASSERT_IF(DoneOnce_A, done, active_q)
  `JD_ASSERT_IF(NothingOpen_A, idle, !valid && owed_q == '0 && requested_q == '0 && sent_q == '0)
  `JD_ASSERT_IF(AllMoved_A, done && !halted_q, left_q == '0 && rows_q == '0)
  `JD_ASSERT_IF(AskedIsWritten_A, done && !reads_q, words_q == left_q)
  `JD_ASSERT_IF(FirstError_A, active_q, response == error_q)
  `JD_ASSERT_IF(NoHang_A, !idle, u_dut.over || u_dut.ask || valid || owed_q != '0
                || requested_q != '0 || (!reads_q && words_q > u_dut.beats_q))

  // ---- The block beside the harness
  logic [RowsW-1:0] held;                          // beats of the command that is held
  assign held = valid ? RowsW'(beats) : '0;
  `JD_ASSERT_IF(State_A, !idle, u_dut.reading_q == reads_q && u_dut.writing_q == !reads_q
                && u_dut.rows_q == rows_q && u_dut.words_q == last_q
                && u_dut.beats_q + held == left_q && 32'(left_q) <= MaxRows
                && u_dut.address_q == next_q + 40'({held, 6'd0})
                && 32'(rows_q) <= MaxRows && 32'(words_q) <= MaxRows
                && (u_dut.response_q == '0 || halted_q))
  `JD_ASSERT_IF(Unit_A, !idle, 32'(u_dut.unit_q) < Units && (rows_q != '0 || u_dut.unit_q == '0))
  `JD_ASSERT_IF(ReadLeft_A, !idle && reads_q && !halted_q,
                (32'(rows_q) + 32'(u_dut.unit_q) + Units - 1) / Units
                == 32'(left_q + owed_q))
  `JD_ASSERT_IF(ReadOwed_A, !idle && reads_q, 18'(u_dut.u_read.owed_q) == owed_q + held
                && 32'(owed_q) + 32'(left_q) <= MaxRows && requested_q == '0 && sent_q == '0
                && u_dut.open_q == '0 && u_dut.owed_q == '0)
  `JD_ASSERT_IF(ReadNone_A, !reads_q || idle, owed_q == '0 && u_dut.u_read.owed_q == '0)
  `JD_ASSERT_IF(WriteNone_A, idle, u_dut.open_q == '0 && u_dut.owed_q == '0)
  `JD_ASSERT_IF(WriteLeft_A, !idle && !reads_q,
                (32'(rows_q) + 32'(u_dut.unit_q) + Units - 1) / Units == 32'(words_q)
                && 32'(words_q) == 32'(u_dut.beats_q) + 32'(u_dut.owed_q)
                && u_dut.owed_q <= 7'd16)
  `JD_ASSERT_IF(WriteOpen_A, !idle && !reads_q, u_dut.open_q == requested_q + 16'(valid)
                && u_dut.open_q == sent_q + 16'(u_dut.owed_q != '0)
                && 32'(u_dut.open_q) + 32'(u_dut.beats_q) <= MaxRows
                && 32'(requested_q) <= MaxRows && 32'(sent_q) <= MaxRows)
  `JD_ASSERT_IF(Offered_A, u_dut.offered_q, valid && !idle && u_dut.beats_q != '0 && !extra_q)
  for (genvar k = 0; k < Units; k++) begin : gen_strobes
    `JD_ASSERT_IF(Kept_A, !idle && !reads_q && u_dut.unit_q != '0,
                  u_dut.strobes_q[k] == (k < u_dut.unit_q ? '1 : '0))
  end
  `JD_ASSERT_IF(Extra_A, active_q && extra_q, halted_q)
  `JD_ASSERT_IF(HaltedIsSeen_A, !idle && halted_q, stop_i || error_q != '0)

  // ---- Rules of memory and user
  `JD_ASSUME_IF(RowsInRange_M, begins, 32'(rows_i) <= MaxRows && line_words_i != '0
                && 32'(line_words_i) <= Lw)
  `JD_ASSUME_NEXT(StopHolds_M, stop_i && !idle, stop_i || done)
  `JD_ASSUME_IF(BeatAsked_M, m_axi_rvalid_i, owed_q != '0)
  `JD_ASSUME_STREAM(BeatStays_M, m_axi_rvalid_i, req.read.rready, m_axi_rresp_i)
  `JD_ASSUME_IF(AnswerDue_M, m_axi_bvalid_i, requested_q != '0 && sent_q != '0)

  logic unused;
  assign unused = ^{row_data, response};
  WriteOfTwo_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (done && !reads_q && !halted_q && last_q == ROWS_W'(3) && $past(rows_q == '0, 2)
       && next_q[7:6] == 2'd2));
  ErrorEnds_C : cover property (@(posedge clk_i) disable iff (!rst_ni)
      (done && reads_q && error_q == 2'd3 && rows_q == RowsW'(1)));
endmodule : jd_prove_load
