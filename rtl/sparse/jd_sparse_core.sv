// SPDX-License-Identifier: Apache-2.0
//
// A core: banks, activation store, and the units that move tensors between them.
//
//   dma <-> store -> fill -> banks -> elem -> store
//                         -> bsum, banks -> optimizer
//           store <-> comm
//
// Streams  table_i, bias_i, weight_*: writes to all banks. fill_*, op_*, elem_*, comm_*: instructions,
//          with the tiles of this core; each unit's done is high for one clock at an end, in order.
//          dma_*: client of the store, after elem, comm and fill. gradient_*, bias_sum_*: words for
//          the optimizer, READ_LATENCY clocks later, while no DW and no BSUM is under way.
// Timing   that of the blocks.
// Numbers  FP16; see the blocks.
// Source   LearningGroup III-A, figure 3. Golden model: models/sparse/machine.py.
`include "jd_assert.svh"
module jd_sparse_core
  import jd_sparse_pkg::*;
#(
  parameter int unsigned Core       = 0,     // of Cores
  parameter int unsigned Cores      = 3,     // as jd_sparse_top
  parameter int unsigned Banks      = 8,
  parameter int unsigned Lanes      = 33,
  parameter int unsigned Slots      = 4,
  parameter int unsigned Acc        = 64,
  parameter int unsigned DMax       = 512,
  parameter int unsigned LMax       = 8,
  parameter int unsigned WinMax     = 24,
  parameter int unsigned WRows      = 4096,
  parameter int unsigned XRows      = 8192,
  parameter int unsigned YRows      = 8192,
  parameter int unsigned RRows      = 4096,
  parameter int unsigned GRows      = 1024,
  parameter int unsigned ARows      = 65536,
  parameter int unsigned BWords     = 2048,
  parameter int unsigned DrainW     = 4,
  parameter int unsigned OptLanes   = 6,
  parameter int unsigned Channels   = 4,
  parameter int unsigned MulLatency = 3,
  parameter int unsigned AddLatency = 4,
  parameter int unsigned Add32Latency = 4,
  localparam int unsigned GWordW    = $clog2(GRows * ((Lanes + OptLanes - 1) / OptLanes)),
  localparam int unsigned SumLines  = (DMax + NEURONS - 1) / NEURONS,
  localparam int unsigned SumLineW  = (SumLines > 1) ? $clog2(SumLines) : 1
) (
  input  logic                             clk_i,
  input  logic                             rst_ni,
  input  logic                             clear_i,        // what is under way is dropped
  input  table_t                           table_i,
  input  bias_t                            bias_i,
  input  weight_begin_t                    weight_begin_i,
  input  logic [Banks-1:0]                 weight_write_i,
  input  logic [Lanes-1:0][HALF_W-1:0]     weight_line_i,
  // FX, FY
  output logic                             fill_idle_o,
  input  logic                             fill_start_i,
  input  instruction_t                     fill_i,
  input  logic [TILES_W-1:0]               fill_tiles_i,
  input  logic                             fill_set_i,
  output logic                             fill_done_o,
  // FW, DX, DW
  output logic                             op_ready_o,
  input  logic                             op_valid_i,
  input  operation_t                       op_i,
  input  logic [TILES_W-1:0]               op_tiles_i,
  output logic                             op_done_o,
  output logic                             busy_o,         // a bank multiplies
  output logic [LANE_W+2:0]                useful_o,       // lanes that do
  // LIN, LSTMF, LSTMB
  output logic                             elem_idle_o,
  input  logic                             elem_start_i,
  input  instruction_t                     elem_i,
  input  logic                             elem_dx_i,
  input  logic                             elem_set_i,
  input  logic [TILES_W-1:0]               elem_tiles_i,
  output logic                             elem_done_o,
  output logic                             sums_valid_o,   // to jd_sparse_rows, and back
  output logic [Channels-1:0][TUPLE_W-1:0] sums_o,
  input  logic                             rows_valid_i,
  input  logic [Channels-1:0][TUPLE_W-1:0] rows_i,
  // CF, CB
  output logic                             comm_idle_o,
  input  logic                             comm_start_i,
  input  instruction_t                     comm_i,
  input  logic [TILES_W-1:0]               comm_tiles_i,
  input  logic [15:0]                      comm_vectors_i,   // of this core, from tile 0 on
  input  logic [7:0]                       agents_i,
  input  logic [SINGLE_W-1:0]              inverse_i,
  output logic                             comm_done_o,
  // The DMA's lines
  input  logic                             dma_read_i,
  input  logic [A_LINE_W-1:0]              dma_read_line_i,
  output logic                             dma_read_ready_o,
  output logic [LINE_W-1:0]                dma_read_data_o,   // READ_LATENCY clocks later, by bank
  input  logic                             dma_write_i,
  input  logic [A_LINE_W-1:0]              dma_write_line_i,
  input  logic [LINE_W-1:0]                dma_write_data_i,
  output logic                             dma_write_ready_o,
  // The optimizer's words
  input  logic                             clear_gradients_i,
  output logic                             nonfinite_o,    // a gradient or a bias sum
  input  logic                             gradient_en_i,
  input  logic [2:0]                       gradient_bank_i,
  input  logic [LAYER_W-1:0]               gradient_layer_i,
  input  logic [GWordW-1:0]                gradient_word_i,
  output logic [OptLanes-1:0][SINGLE_W-1:0] gradient_data_o,
  input  logic                             bias_sum_en_i,
  input  logic [LAYER_W-1:0]               bias_sum_layer_i,
  input  logic [SumLineW-1:0]              bias_sum_line_i,
  output logic [NEURONS-1:0][SINGLE_W-1:0] bias_sum_data_o
);
  localparam int unsigned XLines = (XRows + NEURONS - 1) / NEURONS;
  localparam int unsigned YLines = (YRows + NEURONS - 1) / NEURONS;
  localparam int unsigned XW     = $clog2(XLines);
  localparam int unsigned YW     = $clog2(YLines);
  localparam int unsigned LineW  = (XW > YW) ? XW : YW;
  localparam int unsigned RW     = $clog2(RRows);

  // ---- The store. A step waits for comm, which asks seldom: it goes before fill, which always asks.
  logic [NEURONS-1:0]               fill_read, elem_read, elem_write, comm_read, comm_write;
  logic [NEURONS-1:0][A_LINE_W-1:0] fill_line, elem_read_line, elem_write_line;
  logic [NEURONS-1:0][A_LINE_W-1:0] comm_read_line, comm_write_line;
  logic [NEURONS-1:0][TUPLE_W-1:0]  elem_data, comm_data, store_data;
  logic                             fill_ready, unused_read, unused_write;
  logic                             comm_read_ready, comm_write_ready;
  jd_sparse_store #(.ARows (ARows), .Readers (4), .Writers (3)) u_store (
    .clk_i, .rst_ni,
    .read_en_i     ({{NEURONS{dma_read_i}}, fill_read, comm_read, elem_read}),
    .read_line_i   ({{NEURONS{dma_read_line_i}}, fill_line, comm_read_line, elem_read_line}),
    .read_ready_o  ({dma_read_ready_o, fill_ready, comm_read_ready, unused_read}),
    .read_data_o   (store_data),
    .write_en_i    ({{NEURONS{dma_write_i}}, comm_write, elem_write}),
    .write_line_i  ({{NEURONS{dma_write_line_i}}, comm_write_line, elem_write_line}),
    .write_data_i  ({dma_write_data_i, comm_data, elem_data}),
    .write_ready_o ({dma_write_ready_o, comm_write_ready, unused_write})
  );
  assign dma_read_data_o = store_data;

  // ---- Operands
  logic              x_write, x_of_y, fill_idle, fill_done, sum_idle, sum_wild;
  logic [LineW-1:0]  x_address;
  logic [LINE_W-1:0] x_line;
  jd_sparse_fill #(.XRows (XRows), .YRows (YRows)) u_fill (
    .clk_i, .rst_ni, .clear_i,
    .idle_o          (fill_idle),
    .start_i         (fill_start_i),
    .instruction_i   (fill_i),
    .tiles_i         (fill_tiles_i),
    .set_i           (fill_set_i),
    .done_o          (fill_done),
    .read_en_o       (fill_read),
    .read_line_o     (fill_line),
    .read_ready_i    (fill_ready),
    .read_data_i     (store_data),
    .write_o         (x_write),
    .write_y_o       (x_of_y),
    .write_address_o (x_address),
    .write_line_o    (x_line)
  );
  jd_sparse_bsum #(.DMax (DMax), .LMax (LMax), .Add32Latency (Add32Latency)) u_bsum (
    .clk_i, .rst_ni, .clear_i,
    .start_i       (fill_start_i),
    .instruction_i (fill_i),
    .line_valid_i  (x_write),
    .line_i        (x_line),
    .done_i        (fill_done),
    .done_o        (fill_done_o),
    .idle_o        (sum_idle),
    .clear_gradients_i,
    .nonfinite_o   (sum_wild),
    .read_en_i     (bias_sum_en_i),
    .read_layer_i  (bias_sum_layer_i),
    .read_line_i   (bias_sum_line_i),
    .read_data_o   (bias_sum_data_o)
  );
  assign fill_idle_o = fill_idle && sum_idle;

  // ---- Banks: an operation begins in all of them, and ends with the last
  logic [Banks-1:0]                            ready, done, busy, idle, wild;
  logic [Banks-1:0][OptLanes-1:0][SINGLE_W-1:0] gradients;
  logic [READ_LATENCY:1][2:0]                  gradient_banks_q;
  logic [Banks-1:0][LANE_W-1:0]                useful;
  logic [Banks-1:0][1:0]                       ends_q;      // operations that ended here
  logic [Banks-1:0]                            ended;
  logic [Banks-1:0][DrainW-1:0]                result_en;
  logic [Banks-1:0][DrainW-1:0][RW-1:0]        result_address;
  logic [Banks-1:0][DrainW-1:0][TUPLE_W-1:0]   result_data;
  assign op_ready_o = &ready;
  for (genvar b = 0; b < Banks; b++) begin : gen_bank
    jd_sparse_bank #(
      .Index (b), .Core (Core), .Cores (Cores), .Lanes (Lanes), .Slots (Slots), .Acc (Acc),
      .DMax (DMax), .LMax (LMax),
      .WinMax (WinMax), .WRows (WRows), .XRows (XRows), .YRows (YRows), .RRows (RRows),
      .GRows (GRows), .DrainW (DrainW), .OptLanes (OptLanes), .MulLatency (MulLatency),
      .AddLatency (AddLatency), .Add32Latency (Add32Latency)
    ) u_bank (
      .clk_i, .rst_ni, .clear_i, .table_i, .weight_begin_i,
      .weight_write_i (weight_write_i[b]),
      .weight_line_i,
      .x_write_i      (x_write && !x_of_y),
      .x_address_i    (XW'(x_address)),
      .x_line_i       (x_line),
      .y_write_i      (x_write && x_of_y),
      .y_address_i    (YW'(x_address)),
      .y_line_i       (x_line),
      .op_valid_i     (op_valid_i && op_ready_o),
      .op_ready_o     (ready[b]),
      .op_i, .op_tiles_i,
      .done_o         (done[b]),
      .busy_o         (busy[b]),
      .useful_o       (useful[b]),
      .idle_o         (idle[b]),
      .read_en_i      (result_en[b]),
      .read_address_i (result_address[b]),
      .read_data_o    (result_data[b]),
      .clear_gradients_i,
      .nonfinite_o    (wild[b]),
      .gradient_en_i  (gradient_en_i && gradient_bank_i == 3'(b)),
      .gradient_layer_i, .gradient_word_i,
      .gradient_data_o (gradients[b])
    );
    assign ended[b] = ends_q[b] != '0;
    always_ff @(posedge clk_i) begin
      if (!rst_ni || clear_i) ends_q[b] <= '0;
      else                    ends_q[b] <= ends_q[b] + 2'(done[b]) - 2'(op_done_o);
    end
  end
  assign nonfinite_o = sum_wild || wild != '0;
  always_ff @(posedge clk_i)
    gradient_banks_q <= {gradient_banks_q[READ_LATENCY-1:1], gradient_bank_i};
  always_comb begin
    gradient_data_o = '0;
    for (int unsigned b = 0; b < Banks; b++) begin
      if (gradient_banks_q[READ_LATENCY] == 3'(b)) gradient_data_o = gradients[b];
    end
  end
  assign op_done_o = &ended;
  assign busy_o    = |busy;
  always_comb begin
    useful_o = '0;
    for (int unsigned b = 0; b < Banks; b++) useful_o = useful_o + (LANE_W + 3)'(useful[b]);
  end

  // ---- Results
  jd_sparse_elem #(
    .Banks (Banks), .Lanes (Lanes), .DMax (DMax), .LMax (LMax), .RRows (RRows), .BWords (BWords),
    .DrainW (DrainW), .Channels (Channels), .MulLatency (MulLatency), .AddLatency (AddLatency)
  ) u_elem (
    .clk_i, .rst_ni, .clear_i, .table_i, .bias_i,
    .idle_o           (elem_idle_o),
    .start_i          (elem_start_i),
    .instruction_i    (elem_i),
    .dx_i             (elem_dx_i),
    .set_i            (elem_set_i),
    .tiles_i          (elem_tiles_i),
    .done_o           (elem_done_o),
    .result_en_o      (result_en),
    .result_address_o (result_address),
    .result_data_i    (result_data),
    .sums_valid_o, .sums_o, .rows_valid_i, .rows_i,
    .read_en_o        (elem_read),
    .read_line_o      (elem_read_line),
    .read_data_i      (store_data),
    .write_en_o       (elem_write),
    .write_line_o     (elem_write_line),
    .write_data_o     (elem_data)
  );

  // ---- What agents hear
  jd_sparse_comm #(.AddLatency (AddLatency)) u_comm (
    .clk_i, .rst_ni, .clear_i,
    .idle_o        (comm_idle_o),
    .start_i       (comm_start_i),
    .instruction_i (comm_i),
    .tiles_i       (comm_tiles_i),
    .vectors_i     (comm_vectors_i),
    .agents_i, .inverse_i,
    .done_o        (comm_done_o),
    .read_en_o     (comm_read),
    .read_line_o   (comm_read_line),
    .read_ready_i  (comm_read_ready),
    .read_data_i   (store_data),
    .write_en_o    (comm_write),
    .write_line_o  (comm_write_line),
    .write_data_o  (comm_data),
    .write_ready_i (comm_write_ready)
  );
  logic unused;
  assign unused = ^{unused_read, unused_write, idle};
endmodule : jd_sparse_core
