// SPDX-License-Identifier: Apache-2.0
//
// The learner's two clients of its memory port: queues of reads and of writes, and a reader of lists.
//
// Streams  read_*, write_*, list_*: commands (address, beats of 64 bytes) and data, in order of the
//          commands; write_done_*: the response of a write command. mover_*, list_*: the clients.
//          A mover is idle when nothing of it is under way.
// Timing   reads as of jd_axi_read_queue, whose commands pass a register of their ready signal; writes
//          as of jd_axi_write_queue, two clocks after their command at the earliest; the list as of
//          jd_axi_read_mover, and its reader takes each beat at once.
// Numbers  bits, unchanged.
// Source   design of this project; AMBA AXI and ACE protocol specification.
`include "jd_assert.svh"
module jd_learner_port
  import jd_axi_pkg::*;
(
  input  logic          clk_i,
  input  logic          rst_ni,
  output logic          read_idle_o,
  output logic          list_idle_o,
  output logic          write_idle_o,
  input  logic          read_cmd_valid_i,
  output logic          read_cmd_ready_o,
  input  logic [39:0]   read_cmd_address_i,
  input  logic [15:0]   read_cmd_beats_i,
  output logic          read_valid_o,
  input  logic          read_ready_i,
  output logic [511:0]  read_data_o,
  output logic          read_last_o,
  output logic [1:0]    read_resp_o,
  input  logic          list_cmd_valid_i,
  output logic          list_cmd_ready_o,
  input  logic [39:0]   list_cmd_address_i,
  input  logic [15:0]   list_cmd_beats_i,
  output logic          list_valid_o,
  input  logic          list_ready_i,
  output logic [511:0]  list_data_o,
  output logic [1:0]    list_resp_o,
  input  logic          write_cmd_valid_i,
  output logic          write_cmd_ready_o,
  input  logic [39:0]   write_cmd_address_i,
  input  logic [15:0]   write_cmd_beats_i,
  input  logic          write_valid_i,
  output logic          write_ready_o,
  input  logic [511:0]  write_data_i,
  input  logic [63:0]   write_strb_i,
  output logic          write_done_valid_o,
  input  logic          write_done_ready_i,
  output logic [1:0]    write_done_resp_o,
  output axi_req_t      mem_req_o,
  input  axi_rsp_t      mem_rsp_i,
  output axi_read_req_t list_req_o,
  input  axi_read_rsp_t list_rsp_i
);
  // What the registers before the movers offer.
  logic         read_go, read_taken, write_go, write_taken;
  logic [39:0]  read_address, write_address;
  logic [15:0]  read_beats, write_beats;
  logic         reads_idle, writes_idle, unused_list_last;
  assign read_idle_o  = reads_idle && !read_go;
  assign write_idle_o = writes_idle && !write_go;

  jd_stream_slice #(.Width (56), .Forward (1'b0)) u_read_command (
    .clk_i, .rst_ni,
    .in_valid_i  (read_cmd_valid_i),
    .in_ready_o  (read_cmd_ready_o),
    .in_data_i   ({read_cmd_beats_i, read_cmd_address_i}),
    .out_valid_o (read_go),
    .out_ready_i (read_taken),
    .out_data_o  ({read_beats, read_address})
  );
  jd_stream_skid #(.Width (56)) u_write_command (
    .clk_i, .rst_ni,
    .clear_i     (1'b0),
    .in_valid_i  (write_cmd_valid_i),
    .in_ready_o  (write_cmd_ready_o),
    .in_data_i   ({write_cmd_beats_i, write_cmd_address_i}),
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
    .out_valid_o       (read_valid_o),
    .out_ready_i       (read_ready_i),
    .out_data_o        (read_data_o),
    .out_last_o        (read_last_o),
    .out_resp_o        (read_resp_o),
    .mem_req_o         (mem_req_o.read),
    .mem_rsp_i         (mem_rsp_i.read)
  );
  jd_axi_read_mover #(.MaxOutstanding (2)) u_list (
    .clk_i, .rst_ni,
    .idle_o          (list_idle_o),
    .cmd_valid_i     (list_cmd_valid_i),
    .cmd_ready_o     (list_cmd_ready_o),
    .cmd_address_i   (list_cmd_address_i),
    .cmd_beats_i     (list_cmd_beats_i),
    .out_valid_o     (list_valid_o),
    .out_ready_i     (list_ready_i),
    .out_data_o      (list_data_o),
    .out_last_o      (unused_list_last),
    .out_resp_o      (list_resp_o),
    .mem_req_o       (list_req_o),
    .mem_rsp_i       (list_rsp_i)
  );
  // Beats come slowly: the shorter the bursts, the sooner the last one is written.
  jd_axi_write_queue #(.Burst (8), .Depth (16), .MaxOutstanding (16)) u_write (
    .clk_i, .rst_ni,
    .idle_o            (writes_idle),
    .cmd_valid_i       (write_go),
    .cmd_ready_o       (write_taken),
    .cmd_address_i     (write_address),
    .cmd_beats_i       (write_beats),
    .in_valid_i        (write_valid_i),
    .in_ready_o        (write_ready_o),
    .in_data_i         (write_data_i),
    .in_strb_i         (write_strb_i),
    .done_valid_o      (write_done_valid_o),
    .done_ready_i      (write_done_ready_i),
    .done_resp_o       (write_done_resp_o),
    .mem_req_o         (mem_req_o.write),
    .mem_rsp_i         (mem_rsp_i.write)
  );

  `JD_ASSERT_NEXT(NothingWhenIdle_A, read_idle_o && !read_cmd_valid_i, !read_valid_o)
endmodule : jd_learner_port
