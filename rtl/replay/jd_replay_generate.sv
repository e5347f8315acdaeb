// SPDX-License-Identifier: Apache-2.0
//
// Turns a sample request into a target inside the total: a uniform number times the total.
//
// Streams  in: requests; order_*: a request at the order point, where the total is read; out: the
//          target of each request for which the total was not 0. A pipe: valid only, no stall.
// Timing   in to order SAMPLE_ORDER clocks, order to out LatMul+2; one request per clock. The
//          generator steps once for each request without a number of its own.
// Numbers  target = 1 + floor(x * total / 2^48), or with (slot * 2^48 + x) / 2^slots_log2 for x
//          when stratified; exact. 1 to the total.
// Source   onchip_replay 2.1.2, Eq. (1). Golden model: models/replay/flat.py, target.
`include "jd_assert.svh"
module jd_replay_generate
  import jd_replay_pkg::*;
#(
  parameter int unsigned TotalW    = 48,  // bits of the total, 10..52
  parameter int unsigned SlotsLog2 = 9,   // log2 of the largest batch, 3..10
  parameter int unsigned LatMul    = 6    // 3..8
) (
  input  logic              clk_i,
  input  logic              rst_ni,
  input  logic              seed_load_i,
  input  logic [255:0]      seed_i,
  output logic [255:0]      seed_o,
  input  logic              valid_i,
  input  sample_request_t   request_i,
  output logic              order_valid_o,
  output logic [TAG_W-1:0]  order_tag_o,
  input  logic [TotalW-1:0] total_i,        // at the order point
  output logic              valid_o,
  output logic [TotalW-1:0] target_o
);
  localparam int unsigned PositionW = X_W + SlotsLog2;   // position in the batch's whole range
  localparam int unsigned ProductW  = PositionW + TotalW;

  logic [63:0] number;
  jd_random_xoshiro u_random (
    .clk_i, .rst_ni,
    .load_i(seed_load_i), .seed_i, .state_o(seed_o),
    .next_i(valid_i && !request_i.host_x), .value_o(number)
  );

  // The request, until the number is there.
  logic            drawn_valid;
  sample_request_t drawn;
  jd_replay_pipe #(.Width($bits(sample_request_t)), .Cycles(2)) u_wait (
    .clk_i, .rst_ni,
    .valid_i, .data_i(request_i), .valid_o(drawn_valid), .data_o(drawn)
  );

  // x = slot and number side by side, then both moved to the top of the position.
  logic                 x_valid_q;
  logic [PositionW-1:0] x_q;
  logic [3:0]           shift_q;
  logic [TAG_W-1:0]     x_tag_q;
  logic [PositionW-1:0] position_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      x_valid_q     <= 1'b0;
      order_valid_o <= 1'b0;
    end else begin
      x_valid_q     <= drawn_valid;
      order_valid_o <= x_valid_q;
    end
    if (drawn_valid) begin
      x_q     <= {drawn.stratified ? SlotsLog2'(drawn.slot) : SlotsLog2'(0),
                  drawn.host_x ? drawn.x : number[63:16]};
      shift_q <= 4'(SlotsLog2) - (drawn.stratified ? drawn.slots_log2 : 4'd0);
      x_tag_q <= drawn.tag;
    end
    if (x_valid_q) begin
      position_q  <= x_q << shift_q;
      order_tag_o <= x_tag_q;
    end
  end

  // The multiplier: parts of the position times parts of the total, each product one DSP slice,
  // then their sum, spread over the other clocks.
  localparam int unsigned POSITION_PART = 17;   // bits of the unsigned factors of a slice
  localparam int unsigned TOTAL_PART    = 26;
  localparam int unsigned PositionParts = (PositionW + POSITION_PART - 1) / POSITION_PART;  // 3, 4
  localparam int unsigned TotalParts    = (TotalW + TOTAL_PART - 1) / TOTAL_PART;           // 1, 2
  localparam int unsigned Terms         = PositionParts * TotalParts;                       // 3..8
  typedef logic [Terms-1:0][ProductW-1:0] terms_t;

  logic                 factors_valid_q;
  logic [PositionW-1:0] factor_q;
  logic [TotalW-1:0]    total_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) factors_valid_q <= 1'b0;
    else         factors_valid_q <= order_valid_o && total_i != '0;
    if (order_valid_o) begin
      factor_q <= position_q;
      total_q  <= total_i;
    end
  end
  function automatic terms_t products(logic [PositionW-1:0] factor, logic [TotalW-1:0] total);
    terms_t terms;
    for (int unsigned i = 0; i < PositionParts; i++) begin
      for (int unsigned j = 0; j < TotalParts; j++) begin
        logic [POSITION_PART-1:0] a;
        logic [TOTAL_PART-1:0]    b;
        a = POSITION_PART'(factor >> (i * POSITION_PART));
        b = TOTAL_PART'(total >> (j * TOTAL_PART));
        terms[i*TotalParts+j] = ProductW'((POSITION_PART + TOTAL_PART)'(a) * b)
                                << (i * POSITION_PART + j * TOTAL_PART);
      end
    end
    return terms;
  endfunction

  logic                terms_valid_q, product_valid;
  terms_t              terms_q;
  logic [ProductW-1:0] product;
  jd_reduce #(.Items(Terms), .Width(ProductW), .Latency(LatMul - 1)) u_sum (
    .clk_i, .rst_ni,
    .valid_i(terms_valid_q), .items_i(terms_q), .valid_o(product_valid), .result_o(product)
  );
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      terms_valid_q <= 1'b0;
      valid_o       <= 1'b0;
    end else begin
      terms_valid_q <= factors_valid_q;
      valid_o       <= product_valid;
    end
    if (factors_valid_q) terms_q  <= products(factor_q, total_q);
    if (product_valid)   target_o <= TotalW'(product >> PositionW) + TotalW'(1);
  end

  `JD_ASSUME_IF(SlotInBatch_M, valid_i && request_i.stratified,
                32'(request_i.slots_log2) <= SlotsLog2 &&
                (request_i.slot >> request_i.slots_log2) == '0)
endmodule : jd_replay_generate
