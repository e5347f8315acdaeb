// SPDX-License-Identifier: Apache-2.0
//
// jd_mcts_net, and at which of its switches several inputs want the output in this clock.
//
// Streams  those of jd_mcts_net. contend_o: layer by layer, of each row; a crossbar has one layer.
// Timing   that of jd_mcts_net; contend_o belongs to the clock.
// Numbers  bits, unchanged.
// Source   docs/mcts.md. Test: tests/mcts/test_mcts_blocks.py.
module jd_mcts_net_bench #(
  parameter  int unsigned D     = 4,
  parameter  int unsigned Width = 8,
  parameter  bit          Xbar  = 1'b1,
  localparam int unsigned RowW  = $clog2(D),
  localparam int unsigned Layers = Xbar ? 1 : RowW
) (
  input  logic                    clk_i,
  input  logic                    rst_ni,
  input  logic [D-1:0]            in_valid_i,
  output logic [D-1:0]            in_ready_o,
  input  logic [D-1:0][RowW-1:0]  in_row_i,
  input  logic [D-1:0][Width-1:0] in_data_i,
  output logic [D-1:0]            out_valid_o,
  input  logic [D-1:0]            out_ready_i,
  output logic [D-1:0][Width-1:0] out_data_o,
  output logic [Layers-1:0][D-1:0] contend_o
);
  jd_mcts_net #(.D (D), .Width (Width), .Xbar (Xbar)) u_dut (
    .clk_i, .rst_ni,
    .in_valid_i, .in_ready_o, .in_row_i, .in_data_i,
    .out_valid_o, .out_ready_i, .out_data_o
  );
  for (genvar y = 0; y < D; y++) begin : gen_row
    if (Xbar) begin : gen_crossbar
      assign contend_o[0][y] = $countones(u_dut.gen_crossbar.wants[y]) > 1;
    end else begin : gen_butterfly
      for (genvar x = 0; x < RowW; x++) begin : gen_layer
        assign contend_o[x][y] = u_dut.gen_butterfly.gen_layer[x].gen_switch[y].wants == 2'b11;
      end
    end
  end
endmodule : jd_mcts_net_bench
