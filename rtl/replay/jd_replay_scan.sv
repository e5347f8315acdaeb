// SPDX-License-Identifier: Apache-2.0
//
// One level of the sequential sum tree: one operation at a time, one child per clock, as published.
//
// Streams  in, out: slots in order, each a sample, an update, or both (the sample sees the state
//          before the update). The slot of an empty tree passes with `empty`. An update that is a
//          check changes nothing; its leaves come in order, from the first of a node to its last.
//          One clock after the last leaf of a node, the level reports a node that is not the sum of
//          its leaves.
// Timing   A sample that chooses child c takes Lm + c + 1 clocks; an update or a check Lm + 2 (a
//          new leaf: 1); every slot one clock more on its way through. Lm is the memory's latency.
//          A clear writes one node per clock.
// Numbers  unsigned integers, exact, as in jd_replay_level.
// Source   onchip_replay 3.1, figure 5 (the samplers' scan); thesis Eq. 4.2, 4.3.
//          Golden model: models/replay/tree.py.
`include "jd_assert.svh"
module jd_replay_scan
  import jd_replay_pkg::*;
#(
  parameter  int unsigned Level   = 2,    // 1..levels(NLog2, KLog2)
  parameter  int unsigned KLog2   = 4,    // log2 of the fan-out, 1..6
  parameter  int unsigned NLog2   = 16,   // log2 of the leaves, 2..20
  parameter  int unsigned LeafW   = 32,   // bits of a leaf, 8..32
  parameter  int unsigned LatLut  = 1,    // read latencies, 1..6
  parameter  int unsigned LatBram = 2,
  parameter  int unsigned LatUram = 4,
  localparam int unsigned NodesLog2 = nodes_log2(NLog2, KLog2, Level),
  localparam int unsigned FanLog2   = fan_log2(NLog2, KLog2, Level),
  localparam int unsigned NodeW     = node_w(NLog2, KLog2, LeafW, Level),
  localparam int unsigned TargetW   = NodeW + FanLog2
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  clear_i,          // node clear_index_i becomes 0
  input  logic [NLog2-1:0]      clear_index_i,
  input  logic                  check_start_i,    // forget what was found
  output logic                  check_bad_o,      // a node is wrong: the first of them
  output logic [NLog2-1:0]      check_node_o,
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic                  in_sample_i,
  input  logic                  in_empty_i,       // the total was 0
  input  logic [NLog2-1:0]      in_row_i,         // the node of the level above
  input  logic [TargetW-1:0]    in_target_i,      // 1..its value
  input  logic                  in_update_i,
  input  logic                  in_check_i,       // of an update
  input  logic [NLog2-1:0]      in_index_i,       // leaf
  input  logic signed [LeafW:0] in_delta_i,
  input  logic [LeafW-1:0]      in_new_i,
  output logic                  out_valid_o,
  input  logic                  out_ready_i,
  output logic                  out_sample_o,
  output logic                  out_empty_o,
  output logic [NLog2-1:0]      out_row_o,        // the node chosen
  output logic [NodeW-1:0]      out_target_o,     // 1..its value
  output logic [NodeW-1:0]      out_value_o,
  output logic                  out_update_o,
  output logic                  out_check_o,
  output logic [NLog2-1:0]      out_index_o,
  output logic signed [LeafW:0] out_delta_o,
  output logic [LeafW-1:0]      out_new_o
);
  localparam bit          IsLeaf = Level == levels(NLog2, KLog2);
  localparam int unsigned Lm     = ram_latency(NodesLog2, LatLut, LatBram, LatUram);

  typedef enum logic [1:0] {StIdle, StScan, StRead, StSend} state_e;
  state_e state_q;

  // ---- The slot in hand
  logic [NLog2-1:0]   row_q;
  logic [TargetW-1:0] rest_q;
  logic               take;
  assign out_valid_o = state_q == StSend;
  assign in_ready_o  = state_q == StIdle || (out_valid_o && out_ready_i);
  assign take        = in_valid_i && in_ready_o;

  // ---- Memory: children are asked for one per clock, and come Lm clocks later.
  logic [FanLog2:0]     asked_q;             // children asked for
  logic [FanLog2-1:0]   child_q;             // the child that comes next
  logic [Lm-1:0]        coming_q;            // element k: data of this slot come in k clocks
  logic                 ask, came, write;
  logic [NodesLog2-1:0] ask_node;
  logic [NodeW-1:0]     value, write_value;
  logic [NodesLog2-1:0] update_node;
  assign update_node = NodesLog2'(out_index_o >> (NLog2 - NodesLog2));
  assign came        = coming_q[0];
  always_comb begin
    ask      = 1'b0;
    ask_node = update_node;
    unique case (state_q)
      StScan: begin
        ask      = !asked_q[FanLog2];
        ask_node = NodesLog2'({row_q, asked_q[FanLog2-1:0]});
      end
      StRead:  ask = (!IsLeaf || out_check_o) && asked_q == '0;
      default: ;
    endcase
  end

  jd_mem_1r1w #(
    .Depth(2 ** NodesLog2), .Lanes(1), .LaneW(NodeW), .ReadLatency(Lm), .Ultra(in_uram(NodesLog2))
  ) u_nodes (
    .clk_i, .rst_ni,
    .write_en_i  (clear_i || write),
    .write_addr_i(clear_i ? NodesLog2'(clear_index_i) : update_node),
    .write_mask_i(1'b1),
    .write_data_i(clear_i ? '0 : write_value),
    .read_en_i   (ask),
    .read_addr_i (ask_node),
    .read_data_o (value)
  );

  // ---- Sample: the first child whose value reaches what is left of the target.
  logic chosen;
  assign chosen = rest_q <= TargetW'(value);

  // ---- Update: a leaf is written without being read; a check only reads.
  logic done;
  assign done        = state_q == StRead && ((IsLeaf && !out_check_o) || came);
  assign write       = done && !out_check_o;
  assign write_value = IsLeaf ? NodeW'(out_new_o) : value + NodeW'(out_delta_o);

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      state_q  <= StIdle;
      coming_q <= '0;
    end else begin
      coming_q <= Lm'({ask, coming_q} >> 1);
      unique case (state_q)
        StScan: if (came && chosen) begin
          state_q  <= out_update_o ? StRead : StSend;
          coming_q <= '0;                        // what was asked too much is nobody's
        end
        StRead:  if (done) state_q <= StSend;
        default: begin
          if (take) state_q <= in_sample_i && !in_empty_i ? StScan : in_update_i ? StRead : StSend;
          else if (out_ready_i) state_q <= StIdle;
        end
      endcase
    end
    if (ask) asked_q <= asked_q + 1'b1;
    if (state_q == StScan && came) begin
      child_q <= child_q + 1'b1;
      if (chosen) begin
        asked_q      <= '0;
        out_row_o    <= NLog2'({row_q, child_q});
        out_target_o <= NodeW'(rest_q);
        out_value_o  <= value;
      end else begin
        rest_q <= rest_q - TargetW'(value);
      end
    end
    if (take) begin
      asked_q      <= '0;
      child_q      <= '0;
      row_q        <= in_row_i;
      rest_q       <= in_target_i;
      out_sample_o <= in_sample_i;
      out_empty_o  <= in_empty_i;
      out_update_o <= in_update_i;
      out_check_o  <= in_check_i;
      out_index_o  <= in_index_i;
      out_delta_o  <= in_delta_i;
      out_new_o    <= in_new_i;
    end
  end

  // ---- Check: a leaf against the front's, another node against the sum of its leaves
  localparam int unsigned UnderLog2 = NLog2 - NodesLog2;   // log2 of the leaves of a node
  logic             check_q, last_q, wrong;
  logic [NLog2-1:0] node_q;
  logic [NodeW-1:0] value_q, sum_q;
  if (IsLeaf) begin : gen_leaf_check
    assign last_q = 1'b1;
    always_ff @(posedge clk_i) if (done) sum_q <= out_new_o;
  end else begin : gen_node_check
    always_ff @(posedge clk_i) begin
      if (done) begin
        last_q <= out_index_o[UnderLog2-1:0] == '1;
        sum_q  <= (out_index_o[UnderLog2-1:0] == '0 ? '0 : sum_q) + NodeW'(out_new_o);
      end
    end
  end
  assign wrong = check_q && last_q && sum_q != value_q;
  always_ff @(posedge clk_i) begin
    check_q <= done && out_check_o;
    if (done) begin
      value_q <= value;
      node_q  <= NLog2'(update_node);
    end
    if (check_start_i) check_bad_o <= 1'b0;
    else if (wrong) check_bad_o <= 1'b1;
    if (wrong && !check_bad_o) check_node_o <= node_q;
  end

  `JD_ASSERT(ReadApart_A, !(ask && write))   // so the order of UltraRAM's ports does not matter
  `JD_ASSERT_IF(SomeChild_A, state_q == StScan && came && child_q == '1, chosen)
  `JD_ASSUME_IF(ClearAlone_M, clear_i, state_q == StIdle && !in_valid_i)
  `JD_ASSUME_IF(SlotNotVoid_M, in_valid_i, in_sample_i || in_update_i)
endmodule : jd_replay_scan
