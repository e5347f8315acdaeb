// SPDX-License-Identifier: Apache-2.0
//
// The learner's two clients of its memory port: queues of reads and writes, which its units share,
// and a reader of lists.
//
// Streams  read_*: PROGRAM, the image unit and fetch. write_*: the image unit, INFER and the TD
//          errors. list_*: fetch's list. Each has commands (address, beats of 64 bytes) and data,
//          in the order of the commands; a write command gets a response. client_*: the queues, and
//          the list.
//          PROGRAM, the image unit and INFER own the queues that they use while they are busy and
//          one clock longer; else fetch and the TD errors own them. Answers go to all units.
//          idle_o: no unit has anything under way.
// Timing   Reads as in jd_axi_read_queue; the ready signal of its commands passes a register.
//          Writes as in jd_axi_write_queue, two clocks after their command at the earliest. The
//          list as in jd_axi_read_mover; its reader takes each beat at once.
// Numbers  bits, unchanged.
// Source   design of this project; AMBA AXI and ACE protocol specification.
`include "jd_assert.svh"
module jd_learner_port
  import jd_axi_pkg::*;
  import jd_learner_engine_pkg::*;
(
  input  logic             clk_i,
  input  logic             rst_ni,
  // Units that begin or are at work.
  input  logic             program_busy_i,
  input  logic             image_busy_i,
  input  logic             infer_busy_i,
  input  logic             fetch_busy_i,
  input  logic             td_busy_i,
  output logic             image_owns_o,
  output logic             idle_o,             // but for the TD errors' command
  output logic             beat_o,             // read data moved
  input  read_req_t [2:0]  read_req_i,         // PROGRAM, image, fetch
  output read_rsp_t        read_rsp_o,
  input  read_req_t        list_req_i,
  output read_rsp_t        list_rsp_o,
  input  write_req_t [2:0] write_req_i,        // image, INFER, TD errors
  output write_rsp_t       write_rsp_o,
  output axi_req_t [1:0]   client_req_o,
  input  axi_rsp_t [1:0]   client_rsp_i
);
  // Owners. Fetch's reads may come beside INFER's results.
  logic       program_owns_q, infer_owns_q;
  read_req_t  read_req;
  write_req_t write_req;
  always_ff @(posedge clk_i) begin
    program_owns_q <= program_busy_i;
    image_owns_o   <= image_busy_i;
    infer_owns_q   <= infer_busy_i;
  end
  assign read_req  = read_req_i[program_owns_q ? 0 : image_owns_o ? 1 : 2];
  assign write_req = write_req_i[image_owns_o ? 0 : infer_owns_q ? 1 : 2];

  // Offers of the registers before the movers.
  logic         read_go, read_taken, write_go, write_taken;
  logic [39:0]  read_address, write_address;
  logic [15:0]  read_beats, write_beats;
  logic         reads_idle, writes_idle, list_idle;
  assign idle_o = reads_idle && !read_go && writes_idle && !write_go && list_idle
                  && !program_busy_i && !image_busy_i && !infer_busy_i && !fetch_busy_i;
  assign beat_o = (read_rsp_o.valid && read_req.ready) || (list_rsp_o.valid && list_req_i.ready);

  jd_stream_slice #(.Width (56), .Forward (1'b0)) u_read_command (
    .clk_i, .rst_ni,
    .in_valid_i  (read_req.cmd_valid),
    .in_ready_o  (read_rsp_o.cmd_ready),
    .in_data_i   ({read_req.cmd_beats, read_req.cmd_address}),
    .out_valid_o (read_go),
    .out_ready_i (read_taken),
    .out_data_o  ({read_beats, read_address})
  );
  jd_stream_skid #(.Width (56)) u_write_command (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (write_req.cmd_valid),
    .in_ready_o  (write_rsp_o.cmd_ready),
    .in_data_i   ({write_req.cmd_beats, write_req.cmd_address}),
    .out_valid_o (write_go),
    .out_ready_i (write_taken),
    .out_data_o  ({write_beats, write_address})
  );

  jd_axi_read_queue #(.Depth (128), .MaxOutstanding (16)) u_read (
    .clk_i, .rst_ni,
    .idle_o            (reads_idle),
    .cmd_valid_i       (read_go),
    .cmd_ready_o       (read_taken),
    .cmd_address_i     (read_address),
    .cmd_beats_i       (read_beats),
    .out_valid_o       (read_rsp_o.valid),
    .out_ready_i       (read_req.ready),
    .out_data_o        (read_rsp_o.data),
    .out_last_o        (read_rsp_o.last),
    .out_resp_o        (read_rsp_o.resp),
    .mem_req_o         (client_req_o[0].read),
    .mem_rsp_i         (client_rsp_i[0].read)
  );
  jd_axi_read_mover #(.MaxOutstanding (2)) u_list (
    .clk_i, .rst_ni,
    .idle_o          (list_idle),
    .cmd_valid_i     (list_req_i.cmd_valid),
    .cmd_ready_o     (list_rsp_o.cmd_ready),
    .cmd_address_i   (list_req_i.cmd_address),
    .cmd_beats_i     (list_req_i.cmd_beats),
    .out_valid_o     (list_rsp_o.valid),
    .out_ready_i     (list_req_i.ready),
    .out_data_o      (list_rsp_o.data),
    .out_last_o      (list_rsp_o.last),
    .out_resp_o      (list_rsp_o.resp),
    .mem_req_o       (client_req_o[1].read),
    .mem_rsp_i       (client_rsp_i[1].read)
  );
  // Beats come slowly: the shorter the bursts, the sooner the last one is written.
  jd_axi_write_queue #(.Burst (8), .Depth (16), .MaxOutstanding (16)) u_write (
    .clk_i, .rst_ni,
    .idle_o            (writes_idle),
    .cmd_valid_i       (write_go),
    .cmd_ready_o       (write_taken),
    .cmd_address_i     (write_address),
    .cmd_beats_i       (write_beats),
    .in_valid_i        (write_req.valid),
    .in_ready_o        (write_rsp_o.ready),
    .in_data_i         (write_req.data),
    .in_strb_i         (write_req.strb),
    .done_valid_o      (write_rsp_o.done_valid),
    .done_ready_i      (write_req.done_ready),
    .done_resp_o       (write_rsp_o.done_resp),
    .mem_req_o         (client_req_o[0].write),
    .mem_rsp_i         (client_rsp_i[0].write)
  );

  assign client_req_o[1].write = no_write();
  logic unused_response;
  assign unused_response = ^client_rsp_i[1].write;

  // Data that fetch gave up may still come. No other client reads before they are dropped.
  `JD_ASSERT_IF(OneOwner_A, program_owns_q || image_owns_o,
                !fetch_busy_i && !td_busy_i && !infer_owns_q && !(program_owns_q && image_owns_o))
  `JD_ASSERT_IF(OneWriter_A, infer_owns_q, !td_busy_i)
  `JD_ASSERT_IF(WriteOwned_A, write_rsp_o.done_valid, image_owns_o || infer_owns_q || td_busy_i)
  `JD_ASSERT_NEXT(NothingWhenIdle_A, reads_idle && !read_go && !read_req.cmd_valid,
                  !read_rsp_o.valid)
endmodule : jd_learner_port
