// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the copy engine: a beat at a time.
//
// Streams  those of jd_a3c_copy.
// Timing   one access at a time.
// Numbers  -
// Source   -
`include "jd_assert.svh"
module jd_a3c_copy
  import jd_a3c_pkg::*;
(
  input  logic         clk_i,
  input  logic         rst_ni,
  input  logic         stop_i,
  output logic         idle_o,
  input  logic         job_valid_i,
  output logic         job_ready_o,
  input  logic [39:0]  job_source_i,
  input  logic [39:0]  job_target_i,
  input  logic [25:0]  job_beats_i,
  output logic         end_valid_o,
  input  logic         end_ready_i,
  output end_t         end_o,
  output logic         m_axi_arvalid_o,
  input  logic         m_axi_arready_i,
  output logic [39:0]  m_axi_araddr_o,
  output logic [7:0]   m_axi_arlen_o,
  output logic         m_axi_arid_o,
  input  logic         m_axi_rvalid_i,
  output logic         m_axi_rready_o,
  input  logic [511:0] m_axi_rdata_i,
  input  logic [1:0]   m_axi_rresp_i,
  input  logic         m_axi_rlast_i,
  input  logic         m_axi_rid_i,
  output logic         m_axi_awvalid_o,
  input  logic         m_axi_awready_i,
  output logic [39:0]  m_axi_awaddr_o,
  output logic [7:0]   m_axi_awlen_o,
  output logic         m_axi_awid_o,
  output logic         m_axi_wvalid_o,
  input  logic         m_axi_wready_i,
  output logic [511:0] m_axi_wdata_o,
  output logic [63:0]  m_axi_wstrb_o,
  output logic         m_axi_wlast_o,
  input  logic         m_axi_bvalid_i,
  output logic         m_axi_bready_o,
  input  logic [1:0]   m_axi_bresp_i,
  input  logic         m_axi_bid_i
);
  typedef enum logic [2:0] {StIdle, StNext, StRead, StData, StWrite, StResponse, StEnd} state_e;
  state_e       state_q;
  logic [39:0]  source_q, target_q;
  logic [25:0]  left_q;
  logic [511:0] data_q;
  logic         aw_q, w_q;
  end_t         end_q;
  always_ff @(posedge clk_i) begin
    unique case (state_q)
      StIdle: if (job_valid_i) begin
        source_q <= job_source_i;
        target_q <= job_target_i;
        left_q   <= job_beats_i;
        end_q    <= '0;
        state_q  <= StNext;
      end
      StNext: begin
        aw_q <= 1'b0;
        w_q  <= 1'b0;
        if (!stop_i) state_q <= left_q == '0 || end_q.error != '0 ? StEnd : StRead;
      end
      StRead:  if (m_axi_arready_i) state_q <= StData;
      StData:  if (m_axi_rvalid_i) begin
        data_q  <= m_axi_rdata_i;
        state_q <= StWrite;
        if (m_axi_rresp_i != '0) begin
          end_q   <= '{error: jd_engine_header_map_pkg::E_BUS_RD, word: WORD_SOURCE,
                       response: m_axi_rresp_i};
          state_q <= StNext;
        end
      end
      StWrite: begin
        if (m_axi_awvalid_o && m_axi_awready_i) aw_q <= 1'b1;
        if (m_axi_wvalid_o && m_axi_wready_i)   w_q  <= 1'b1;
        if (aw_q && w_q) state_q <= StResponse;
      end
      StResponse: if (m_axi_bvalid_i) begin
        if (m_axi_bresp_i != '0) end_q <= '{
          error: jd_engine_header_map_pkg::E_BUS_WR, word: WORD_TARGET, response: m_axi_bresp_i};
        source_q <= source_q + 40'd64;
        target_q <= target_q + 40'd64;
        left_q   <= left_q - 26'd1;
        state_q  <= StNext;
      end
      default: if (end_ready_i) state_q <= StIdle;
    endcase
    if (!rst_ni) state_q <= StIdle;
  end
  assign idle_o          = !(state_q inside {StRead, StData, StWrite, StResponse});
  assign job_ready_o     = state_q == StIdle;
  assign end_valid_o     = state_q == StEnd;
  assign end_o           = end_q;
  assign m_axi_arvalid_o = state_q == StRead;
  assign m_axi_araddr_o  = source_q;
  assign m_axi_arlen_o   = '0;
  assign m_axi_arid_o    = 1'b0;
  assign m_axi_rready_o  = state_q == StData;
  assign m_axi_awvalid_o = state_q == StWrite && !aw_q;
  assign m_axi_awaddr_o  = target_q;
  assign m_axi_awlen_o   = '0;
  assign m_axi_awid_o    = 1'b0;
  assign m_axi_wvalid_o  = state_q == StWrite && !w_q;
  assign m_axi_wdata_o   = data_q;
  assign m_axi_wstrb_o   = '1;
  assign m_axi_wlast_o   = 1'b1;
  assign m_axi_bready_o  = state_q == StResponse;
  logic unused;
  assign unused = ^{m_axi_rlast_i, m_axi_rid_i, m_axi_bid_i};
endmodule : jd_a3c_copy
