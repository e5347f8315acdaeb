// SPDX-License-Identifier: Apache-2.0
//
// Test bench: a read and a write mover for each client, which share the memory port.
//
//   default  all clients at one jd_axi_mux
//   Queue    queues in place of the movers; jd_axi_prompt checks their contract at the port
//   Direct   one client without a multiplexer; with Slice at a jd_axi_slice, with Limit at a
//            jd_axi_limit
//   Frame    at jd_engine_frame, whose page nobody uses
//
// Ports of clients are unpacked arrays, so that agents find each by its index. The movers use ID 0
// and check it in their responses. The bench gives each client another ID at the multiplexer,
// which must bring it back.
module jd_movers_bench
  import jd_axi_pkg::*;
#(
  parameter int unsigned Clients        = 2,
  parameter int unsigned MaxOutstanding = 4,
  parameter int unsigned IdW            = 1,
  parameter bit          Direct         = 1'b0,   // one client, without the multiplexer
  parameter bit          Slice          = 1'b0,   // Direct, at a slice
  parameter int unsigned Forward        = 31,     // of the slice
  parameter int unsigned Backward       = 31,
  parameter int unsigned Limit          = 0,      // Direct, at most so many reads and writes out
  parameter bit          Frame          = 1'b0,   // after the frame; the clients have no IDs
  parameter int unsigned Queue          = 0,      // beats of each queue
  parameter int unsigned Burst          = 64      // of a queue's writes
) (
  input  logic               clk_i,
  input  logic               rst_ni,
  output logic [Clients-1:0] read_idle_o,
  output logic [Clients-1:0] write_idle_o,
  input  logic               read_valid_i   [Clients],
  output logic               read_ready_o   [Clients],
  input  logic [39:0]        read_address_i [Clients],
  input  logic [15:0]        read_beats_i   [Clients],
  output logic               out_valid_o    [Clients],
  input  logic               out_ready_i    [Clients],
  output logic [511:0]       out_data_o     [Clients],
  output logic               out_last_o     [Clients],
  output logic [1:0]         out_resp_o     [Clients],
  input  logic               write_valid_i  [Clients],
  output logic               write_ready_o  [Clients],
  input  logic [39:0]        write_address_i[Clients],
  input  logic [15:0]        write_beats_i  [Clients],
  input  logic               in_valid_i     [Clients],
  output logic               in_ready_o     [Clients],
  input  logic [511:0]       in_data_i      [Clients],
  input  logic [63:0]        in_strb_i      [Clients],
  output logic               done_valid_o   [Clients],
  input  logic               done_ready_i   [Clients],
  output logic [1:0]         done_resp_o    [Clients],
  output axi_req_t           mem_req_o,
  input  axi_rsp_t           mem_rsp_i
);
  axi_req_t [Clients-1:0] client_req, mover_req;
  axi_rsp_t [Clients-1:0] client_rsp, mover_rsp;
  for (genvar c = 0; c < Clients; c++) begin : gen_client
    localparam logic [7:0] Id = Frame ? '0 : 8'((c + 1) % 2**IdW);
    always_comb begin
      client_req[c]            = mover_req[c];
      client_req[c].read.arid  = mover_req[c].read.arid ^ Id;
      client_req[c].write.awid = mover_req[c].write.awid ^ Id;
      mover_rsp[c]             = client_rsp[c];
      mover_rsp[c].read.rid    = client_rsp[c].read.rid ^ Id;
      mover_rsp[c].write.bid   = client_rsp[c].write.bid ^ Id;
    end
    if (Queue != 0) begin : gen_queues
      jd_axi_read_queue #(.Depth(Queue), .MaxOutstanding(MaxOutstanding)) u_read (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .idle_o          (read_idle_o[c]),
        .cmd_valid_i     (read_valid_i[c]),
        .cmd_ready_o     (read_ready_o[c]),
        .cmd_address_i   (read_address_i[c]),
        .cmd_beats_i     (read_beats_i[c]),
        .out_valid_o     (out_valid_o[c]),
        .out_ready_i     (out_ready_i[c]),
        .out_data_o      (out_data_o[c]),
        .out_last_o      (out_last_o[c]),
        .out_resp_o      (out_resp_o[c]),
        .mem_req_o       (mover_req[c].read),
        .mem_rsp_i       (mover_rsp[c].read)
      );
      jd_axi_write_queue #(
        .Burst(Burst), .Depth(Queue), .MaxOutstanding(MaxOutstanding)
      ) u_write (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .idle_o          (write_idle_o[c]),
        .cmd_valid_i     (write_valid_i[c]),
        .cmd_ready_o     (write_ready_o[c]),
        .cmd_address_i   (write_address_i[c]),
        .cmd_beats_i     (write_beats_i[c]),
        .in_valid_i      (in_valid_i[c]),
        .in_ready_o      (in_ready_o[c]),
        .in_data_i       (in_data_i[c]),
        .in_strb_i       (in_strb_i[c]),
        .done_valid_o    (done_valid_o[c]),
        .done_ready_i    (done_ready_i[c]),
        .done_resp_o     (done_resp_o[c]),
        .mem_req_o       (mover_req[c].write),
        .mem_rsp_i       (mover_rsp[c].write)
      );
    end else begin : gen_movers
      jd_axi_read_mover #(.MaxOutstanding(MaxOutstanding)) u_read (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .idle_o          (read_idle_o[c]),
        .cmd_valid_i     (read_valid_i[c]),
        .cmd_ready_o     (read_ready_o[c]),
        .cmd_address_i   (read_address_i[c]),
        .cmd_beats_i     (read_beats_i[c]),
        .out_valid_o     (out_valid_o[c]),
        .out_ready_i     (out_ready_i[c]),
        .out_data_o      (out_data_o[c]),
        .out_last_o      (out_last_o[c]),
        .out_resp_o      (out_resp_o[c]),
        .mem_req_o       (mover_req[c].read),
        .mem_rsp_i       (mover_rsp[c].read)
      );
      jd_axi_write_mover #(.MaxOutstanding(MaxOutstanding)) u_write (
        .clk_i           (clk_i),
        .rst_ni          (rst_ni),
        .idle_o          (write_idle_o[c]),
        .cmd_valid_i     (write_valid_i[c]),
        .cmd_ready_o     (write_ready_o[c]),
        .cmd_address_i   (write_address_i[c]),
        .cmd_beats_i     (write_beats_i[c]),
        .in_valid_i      (in_valid_i[c]),
        .in_ready_o      (in_ready_o[c]),
        .in_data_i       (in_data_i[c]),
        .in_strb_i       (in_strb_i[c]),
        .done_valid_o    (done_valid_o[c]),
        .done_ready_i    (done_ready_i[c]),
        .done_resp_o     (done_resp_o[c]),
        .mem_req_o       (mover_req[c].write),
        .mem_rsp_i       (mover_rsp[c].write)
      );
    end
  end
  if (Queue != 0 && !Frame) begin : gen_prompt
    jd_axi_prompt u_prompt (
      .clk_i, .rst_ni,
      .mem_req_i (mem_req_o),
      .mem_rsp_i
    );
  end
  if (Direct && Slice) begin : gen_slice
    jd_axi_slice #(.Forward(5'(Forward)), .Backward(5'(Backward))) u_slice (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .client_req_i (client_req),
      .client_rsp_o (client_rsp),
      .mem_req_o    (mem_req_o),
      .mem_rsp_i    (mem_rsp_i)
    );
  end else if (Direct && Limit != 0) begin : gen_limit
    jd_axi_limit #(.Reads(Limit), .Writes(Limit)) u_limit (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .client_req_i (client_req),
      .client_rsp_o (client_rsp),
      .mem_req_o    (mem_req_o),
      .mem_rsp_i    (mem_rsp_i)
    );
  end else if (Direct) begin : gen_direct
    assign mem_req_o  = client_req;
    assign client_rsp = mem_rsp_i;
  end else if (Frame) begin : gen_frame
    // verilator lint_off PINCONNECTEMPTY
    jd_engine_frame #(.Clients(Clients)) u_frame (
      .clk_i            (clk_i),
      .rst_ni           (rst_ni),
      .time_i           ('0),
      .irq_o            (),
      .axil_req_i       ('{bready: 1'b1, rready: 1'b1, default: '0}),
      .axil_rsp_o       (),
      .mem_req_o        (mem_req_o),
      .mem_rsp_i        (mem_rsp_i),
      .register_req_o   (),
      .register_rsp_i   ('0),
      .client_req_i     (client_req),
      .client_rsp_o     (client_rsp),
      .job_valid_o      (),
      .job_ready_i      ('0),
      .job_descriptor_o (),
      .job_number_o     (),
      .end_valid_i      ('0),
      .end_ready_o      (),
      .end_job_i        ('0),
      .end_error_i      ('0),
      .end_detail_i     ('0),
      .end_count_i      ('0),
      .end_info0_i      ('0),
      .end_info1_i      ('0),
      .timeout_o        (),
      .soft_reset_o     (),
      .quiet_i          (1'b1),
      .error_valid_i    ('0),
      .error_code_i     ('0),
      .event_i          ('0),
      .busy_i           ('0),
      .stall_mem_i      ('0),
      .stall_in_i       ('0),
      .stall_out_i      ('0),
      .progress_i       ('0),
      .idle_o           ()
    );
    // verilator lint_on PINCONNECTEMPTY
  end else begin : gen_mux
    jd_axi_mux #(.Clients(Clients), .IdW(IdW)) u_mux (
      .clk_i        (clk_i),
      .rst_ni       (rst_ni),
      .client_req_i (client_req),
      .client_rsp_o (client_rsp),
      .mem_req_o    (mem_req_o),
      .mem_rsp_i    (mem_rsp_i)
    );
  end
endmodule : jd_movers_bench
