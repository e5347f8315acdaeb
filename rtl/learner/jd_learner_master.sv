// SPDX-License-Identifier: Apache-2.0
//
// The results of training: master copies of weights, moments and targets. They survive a soft
// reset.
//
// Streams  One client at a time (owner_i): WU, TSM or the image unit. Data of a read are valid two
//          clocks after its address; a write can be read one clock after it came. Memories 0..3 are
//          w, m, v and the target. An address is a group of LW words of the parameter images,
//          network after network.
// Timing   One read and one write per clock in each memory.
// Numbers  bits, unchanged.
// Source   learner 5.2, 5.6. Golden model: models/learner/engine.py.
`include "jd_assert.svh"
module jd_learner_master #(
  parameter  int unsigned LW      = 4,
  parameter  int unsigned Groups  = 4096,       // of LW words in each memory
  localparam int unsigned MasterW = $clog2(Groups)
) (
  input  logic                          clk_i,
  input  logic                          rst_ni,
  input  logic [1:0]                    owner_i,      // 0 WU, 1 TSM, 2 image
  input  logic [2:0][3:0]               read_i,       // [client][memory]
  input  logic [2:0][3:0][MasterW-1:0]  read_addr_i,
  output logic [3:0][LW-1:0][31:0]      read_data_o,
  input  logic [2:0][3:0]               write_i,
  input  logic [2:0][3:0][MasterW-1:0]  write_addr_i,
  input  logic [2:0][3:0][LW-1:0][31:0] write_data_i
);
  for (genvar k = 0; k < 4; k++) begin : gen_memory
    logic                write_q;
    logic [MasterW-1:0]  write_addr_q;
    logic [LW-1:0][31:0] write_data_q;
    always_ff @(posedge clk_i) begin
      write_q      <= rst_ni && write_i[owner_i][k];
      write_addr_q <= write_addr_i[owner_i][k];
      write_data_q <= write_data_i[owner_i][k];
    end
    jd_mem_1r1w #(
      .Depth       (Groups),
      .Lanes       (1),
      .LaneW       (LW * 32),
      .ReadLatency (2)
    ) u_master (
      .clk_i,
      .rst_ni,
      .write_en_i   (write_q),
      .write_addr_i (write_addr_q),
      .write_mask_i (1'b1),
      .write_data_i (write_data_q),
      .read_en_i    (read_i[owner_i][k]),
      .read_addr_i  (read_addr_i[owner_i][k]),
      .read_data_o  (read_data_o[k])
    );
  end

  `JD_ASSERT(OwnerInRange_A, owner_i != 2'd3)
endmodule : jd_learner_master
