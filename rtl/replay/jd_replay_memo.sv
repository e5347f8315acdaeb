// SPDX-License-Identifier: Apache-2.0
//
// Remembers two sampled batches: leaf and priority of every slot, so that TD errors need not name
// leaves, and what has to be known to tell whether a leaf was replaced since.
//
// Streams  none. begin_i empties a bank; write_*: samples; read_*: for the results; lookup_*: for
//          updates by slot.
// Timing   read and lookup: data one clock after the enable. written_o, lowest_o: one clock after
//          the write.
// Numbers  bits. As the fan-out is a power of two, a leaf's index holds its whole path.
// Source   onchip_replay 3.1 (memoization buffer). Golden model: models/replay/rmm.py, Batch.
`include "jd_assert.svh"
module jd_replay_memo
  import jd_replay_pkg::*;
#(
  parameter int unsigned BatchLog2 = 9   // log2 of the largest batch, 3..10
) (
  input  logic                        clk_i,
  input  logic                        rst_ni,
  input  logic                        begin_i,
  input  logic                        begin_bank_i,
  input  logic                        write_en_i,
  input  logic                        write_bank_i,
  input  logic [SLOT_W-1:0]           write_slot_i,
  input  sample_response_t            write_sample_i,
  input  logic                        order_valid_i,     // slot 0 passes the order point
  input  logic                        order_bank_i,
  input  logic [INDEX_W-1:0]          order_head_i,
  input  logic [31:0]                 order_moves_i,
  input  logic                        read_en_i,
  input  logic                        read_bank_i,
  input  logic [SLOT_W-1:0]           read_slot_i,
  output logic                        read_empty_o,
  output logic [INDEX_W-1:0]          read_index_o,
  output logic [LEAF_MAX_W-1:0]       read_priority_o,
  input  logic                        lookup_en_i,
  input  logic                        lookup_bank_i,
  input  logic [SLOT_W-1:0]           lookup_slot_i,
  output logic [INDEX_W-1:0]          lookup_index_o,
  output logic [INDEX_W-1:0]          lookup_head_o,
  output logic [31:0]                 lookup_moves_o,
  output logic [1:0][SLOT_W:0]        written_o,         // slots written, from 0 on
  output logic [1:0][LEAF_MAX_W-1:0]  lowest_o           // smallest priority written
);
  if (BatchLog2 < 3 || BatchLog2 > SLOT_W) begin : gen_bad_batch
    $fatal(1, "jd_replay_memo: BatchLog2=%0d, want 3..10", BatchLog2);
  end
  localparam int unsigned EntryW = 1 + INDEX_W + LEAF_MAX_W;
  localparam int unsigned AddrW  = BatchLog2 + 1;

  logic [AddrW-1:0] write_address, read_address, lookup_address;
  assign write_address  = {write_bank_i, write_slot_i[BatchLog2-1:0]};
  assign read_address   = {read_bank_i, read_slot_i[BatchLog2-1:0]};
  assign lookup_address = {lookup_bank_i, lookup_slot_i[BatchLog2-1:0]};

  jd_mem_1r1w #(
    .Depth(2 ** AddrW),
    .Lanes(1),
    .LaneW(EntryW),
    .ReadLatency(1)
  ) u_entries (
    .clk_i,
    .rst_ni,
    .write_en_i,
    .write_addr_i (write_address),
    .write_mask_i (1'b1),
    .write_data_i ({write_sample_i.empty, write_sample_i.index[INDEX_W-1:0],
                    write_sample_i.priority_}),
    .read_en_i,
    .read_addr_i  (read_address),
    .read_data_o  ({read_empty_o, read_index_o, read_priority_o})
  );

  jd_mem_1r1w #(
    .Depth(2 ** AddrW),
    .Lanes(1),
    .LaneW(INDEX_W),
    .ReadLatency(1)
  ) u_indices (
    .clk_i,
    .rst_ni,
    .write_en_i,
    .write_addr_i (write_address),
    .write_mask_i (1'b1),
    .write_data_i (write_sample_i.index[INDEX_W-1:0]),
    .read_en_i    (lookup_en_i),
    .read_addr_i  (lookup_address),
    .read_data_o  (lookup_index_o)
  );

  logic [1:0][INDEX_W-1:0] head_q;
  logic [1:0][31:0]        moves_q;

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      written_o <= '0;
    end else begin
      if (write_en_i) written_o[write_bank_i] <= {1'b0, write_slot_i} + 1'b1;
      if (begin_i)    written_o[begin_bank_i] <= '0;
    end
    if (begin_i) lowest_o[begin_bank_i] <= '1;
    if (write_en_i && write_sample_i.priority_ < lowest_o[write_bank_i]) begin
      lowest_o[write_bank_i] <= write_sample_i.priority_;
    end
    if (order_valid_i) begin
      head_q[order_bank_i]  <= order_head_i;
      moves_q[order_bank_i] <= order_moves_i;
    end
    if (lookup_en_i) begin
      lookup_head_o  <= head_q[lookup_bank_i];
      lookup_moves_o <= moves_q[lookup_bank_i];
    end
  end

  `JD_ASSERT_IF(SlotsInOrder_A, write_en_i, written_o[write_bank_i] == {1'b0, write_slot_i})
endmodule : jd_replay_memo
