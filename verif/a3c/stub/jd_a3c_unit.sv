// SPDX-License-Identifier: Apache-2.0
//
// Stands in for a compute unit where only what is around units is tested. Of an inference it reads
// the first beat of theta and writes the network's output as zeros; of a training it adds 1 to the
// first word of every layer's parameters, in the order of tickets.
//
// Streams  those of jd_a3c_unit.
// Timing   one access at a time.
// Numbers  -
// Source   -
`include "jd_assert.svh"
module jd_a3c_unit
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
#(
  parameter int unsigned Pes           = 64,
  parameter int unsigned MulLatency    = 3,
  parameter int unsigned AddLatency    = 4,
  parameter int unsigned DivLatency    = 4,
  parameter int unsigned SqrtLatency   = 4,
  parameter int unsigned MapRows       = 8192,
  parameter int unsigned ParameterRows = 32768,
  parameter int unsigned GradientRows  = 0,
  parameter bit          SecondImage   = 1'b0,
  parameter int unsigned UpdateUnits   = 4
) (
  input  logic           clk_i,
  input  logic           rst_ni,
  input  logic           task_valid_i,
  output logic           task_ready_o,
  input  task_t          task_i,
  output logic           lookup_valid_o,
  input  logic           lookup_ready_i,
  output logic [3:0]     lookup_slot_o,
  output logic [2:0]     lookup_layer_o,
  input  logic           lookup_valid_i,
  input  layer_t         lookup_data_i,
  output logic           order_valid_o,
  output logic [31:0]    order_ticket_o,
  output logic [2:0]     order_layer_o,
  output logic [25:0]    order_behind_o,
  input  logic           order_go_i,
  output logic           layer_done_o,
  output logic [2:0]     layer_done_layer_o,
  output written_t       written_o,
  output logic           end_valid_o,
  input  logic           end_ready_i,
  output end_t           end_o,
  output unit_clocks_t   clocks_o,
  output logic           progress_o,
  input  logic           stop_i,
  output logic           idle_o,
  output axi_req_t       mem_req_o,
  input  axi_rsp_t       mem_rsp_i
);
  localparam bit Trains = GradientRows != 0;

  typedef enum logic [3:0] {
    StNext, StAsk, StAnswer, StOrder, StRead, StData, StWrite, StSent, StResponse, StEnd
  } state_e;
  state_e       state_q;
  task_t [1:0]  tasks_q;                    // the oldest first
  logic [1:0]   count_q;
  logic         push, pop;
  task_t        job;
  logic [2:0]   layer_q;
  layer_t       found_q;
  logic [511:0] data_q;
  logic         aw_q, w_q;                  // StWrite: address and data are gone
  end_t         end_q;
  logic         done_q;
  assign job          = tasks_q[0];
  assign task_ready_o = count_q != 2'd2;
  assign push         = task_valid_i && task_ready_o;
  assign pop          = end_valid_o && end_ready_i;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) count_q <= '0;
    else         count_q <= count_q + 2'(push) - 2'(pop);
    if (pop) tasks_q[0] <= tasks_q[1];
    if (push) begin
      if (count_q - 2'(pop) == 2'd0) tasks_q[0] <= task_i;
      else                           tasks_q[1] <= task_i;
    end
  end

  logic [2:0] last_layer;
  assign last_layer = 3'(job.layers - 4'd1);
  always_ff @(posedge clk_i) begin
    done_q <= 1'b0;
    unique case (state_q)
      StNext: begin
        layer_q <= last_layer;
        end_q   <= '0;
        if (count_q != '0 && !stop_i) state_q <= StAsk;
      end
      StAsk:    if (lookup_ready_i) state_q <= StAnswer;
      StAnswer: if (lookup_valid_i) begin
        found_q <= lookup_data_i;
        state_q <= StOrder;
      end
      StOrder:  if ((order_go_i || !job.train) && !stop_i) state_q <= StRead;
      StRead:   if (mem_rsp_i.read.arready && mem_req_o.read.arvalid) state_q <= StData;
      StData:   if (mem_rsp_i.read.rvalid) begin
        data_q  <= !job.train ? '0
                   : {mem_rsp_i.read.rdata[511:32], mem_rsp_i.read.rdata[31:0] + 32'd1};
        state_q <= StWrite;
        if (mem_rsp_i.read.rresp != '0) begin
          if (end_q.error == '0) end_q <= '{
            error: jd_engine_header_map_pkg::E_BUS_RD,
            word: job.train ? WORD_SOURCE : WORD_THETA, response: mem_rsp_i.read.rresp};
          state_q <= StSent;
        end else if (end_q.error != '0) begin
          state_q <= StSent;
        end
      end
      StWrite: begin
        if (mem_req_o.write.awvalid && mem_rsp_i.write.awready) aw_q <= 1'b1;
        if (mem_req_o.write.wvalid && mem_rsp_i.write.wready)   w_q  <= 1'b1;
        if (aw_q && w_q) state_q <= StResponse;
      end
      StResponse: if (mem_rsp_i.write.bvalid) begin
        if (mem_rsp_i.write.bresp != '0 && end_q.error == '0) begin
          end_q <= '{error: jd_engine_header_map_pkg::E_BUS_WR,
                     word: job.train ? WORD_TARGET : WORD_MAPS, response: mem_rsp_i.write.bresp};
        end
        state_q <= StSent;
      end
      StSent: begin
        aw_q    <= 1'b0;
        w_q     <= 1'b0;
        done_q  <= job.train;
        layer_q <= layer_q - 3'd1;
        state_q <= job.train && layer_q != '0 ? StAsk : StEnd;
      end
      default: if (end_ready_i) state_q <= StNext;
    endcase
    if (!rst_ni) begin
      state_q <= StNext;
      aw_q    <= 1'b0;
      w_q     <= 1'b0;
      done_q  <= 1'b0;
    end
  end
  assign lookup_valid_o     = state_q == StAsk;
  assign lookup_slot_o      = job.slot;
  assign lookup_layer_o     = layer_q;
  assign order_valid_o      = state_q == StOrder && job.train;
  assign order_ticket_o     = job.ticket;
  assign order_layer_o      = layer_q;
  assign layer_done_o       = done_q;
  assign layer_done_layer_o = layer_q + 3'd1;
  assign order_behind_o     = '0;
  assign written_o          = '0;                // layer by layer
  assign end_valid_o        = state_q == StEnd && !done_q;
  assign end_o              = end_q;
  assign progress_o         = state_q inside {StAsk, StSent};
  assign idle_o             = !(state_q inside {StData, StWrite, StResponse})
                              && !(state_q == StRead && mem_req_o.read.arvalid);
  logic [39:0] place;
  assign place = 40'(found_q.theta_offset) << 6;
  assign mem_req_o.read = '{
    arvalid: state_q == StRead, araddr: job.train ? job.source + place : job.theta,
    arlen: '0, arid: 8'd2,
    rready: state_q == StData};
  assign mem_req_o.write = '{
    awvalid: state_q == StWrite && !aw_q, awaddr: job.train ? job.target + place : job.maps[0],
    awlen: '0, awid: 8'd2,
    wvalid: state_q == StWrite && !w_q, wdata: data_q, wstrb: '1, wlast: 1'b1,
    bready: state_q == StResponse};
  always_comb begin
    clocks_o       = '0;
    clocks_o.busy  = count_q != '0;
    clocks_o.issue = state_q == StSent;
    clocks_o.maps  = state_q == StData;
  end

  logic unused;
  assign unused = ^{mem_rsp_i.read.rlast, mem_rsp_i.read.rid, mem_rsp_i.write.bid, found_q, job,
                    Pes, MulLatency, AddLatency, DivLatency, SqrtLatency, MapRows, ParameterRows,
                    SecondImage, UpdateUnits};
  `JD_ASSUME_STREAM(TaskStable_M, task_valid_i, task_ready_o, task_i)
  `JD_ASSUME_IF(Able_M, task_valid_i && task_i.train, Trains)
  `JD_ASSERT_IF(TicketRead_A, state_q == StRead && job.train, found_q.outputs != '0)
endmodule : jd_a3c_unit
