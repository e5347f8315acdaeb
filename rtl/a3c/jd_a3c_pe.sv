// SPDX-License-Identifier: Apache-2.0
//
// A processing element: a multiplier and an adder that accumulates into many sums in turn.
//
// Streams  none: an issue (two factors and the context of their sum), a drain or a preload takes
//          one clock, at any time, and nothing stalls. A context is the place of one sum. There are
//          two halves of Contexts sums each: one accumulates while the other is drained and
//          preloaded.
// Timing   With M and A the latencies of multiplier and adder: the sum of an issue is in its memory
//          M + A + 1 clocks later and can be drained from then on. drain_data_o shows it one clock
//          after drain_valid_i and holds it. A context is issued again after A clocks at the
//          earliest.
//              clock 0 factors | M-1 sum read | M product, sum meet | M+A sum written
//          Drains and preloads must not touch a half from its first issue until its last sum is in
//          the memory. Issues and drains see a preload from the next clock on.
// Numbers  binary32, each operation rounded to nearest even, subnormals kept, one canonical NaN:
//          sum = sum + a * b in the order of the issues; the sum before a first issue is +0. An
//          issue without its enable leaves the sum as it is.
// Source   FA3C (ASPLOS 2019) section 4.2.1 (PE: multiplier, accumulator and their accumulation
//          frequency). Golden model: models/a3c/ops.py.
`include "jd_assert.svh"
module jd_a3c_pe #(
  parameter  int unsigned Contexts   = 32,   // sums of a half, power of two 2..64
  parameter  int unsigned MulLatency = 3,    // clocks, 1..4
  parameter  int unsigned AddLatency = 4,    // clocks, 2..8
  localparam int unsigned ContextW   = $clog2(Contexts)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  input  logic                valid_i,
  input  logic                enable_i,            // of this element, with valid_i
  input  logic                first_i,             // the sum starts from +0
  input  logic                half_i,
  input  logic [ContextW-1:0] context_i,
  input  logic [31:0]         a_i,
  input  logic [31:0]         b_i,
  input  logic                drain_valid_i,
  input  logic                drain_half_i,
  input  logic [ContextW-1:0] drain_context_i,
  output logic [31:0]         drain_data_o,
  input  logic                preload_valid_i,
  input  logic                preload_half_i,
  input  logic [ContextW-1:0] preload_context_i,
  input  logic [31:0]         preload_data_i
);
  /*verilator no_inline_module*/
  if (Contexts < 2 || Contexts > 64 || Contexts != 1 << ContextW) begin : gen_bad_contexts
    $fatal(1, "jd_a3c_pe: Contexts=%0d, want a power of two 2..64", Contexts);
  end
  if (MulLatency < 1 || MulLatency > 4) begin : gen_bad_mul_latency
    $fatal(1, "jd_a3c_pe: MulLatency=%0d, want 1..4", MulLatency);
  end
  if (AddLatency < 2 || AddLatency > 8) begin : gen_bad_add_latency
    $fatal(1, "jd_a3c_pe: AddLatency=%0d, want 2..8", AddLatency);
  end

  localparam int unsigned EXTRA = (AddLatency > 6) ? AddLatency - 6 : 0;  // clocks before the adder
  localparam int unsigned READ  = MulLatency - 1;                        // clocks after the issue
  localparam int unsigned WRITE = MulLatency + AddLatency;

  // What was issued; element k is k clocks old. An issue without its enable does not run.
  typedef struct packed {
    logic                half;
    logic [ContextW-1:0] index;
  } sum_t;
  sum_t [WRITE:0] place;
  sum_t [WRITE:1] place_q;
  logic [WRITE:0] run;
  logic [WRITE:1] run_q;
  logic           first;             // of the issue whose sum is read
  assign place = {place_q, half_i, context_i};
  assign run   = {run_q, valid_i && enable_i};
  always_ff @(posedge clk_i) begin
    if (!rst_ni) run_q <= '0;
    else         run_q <= run[WRITE-1:0];
    place_q <= place[WRITE-1:0];
  end
  jd_delay #(.Width (1), .Cycles (READ), .Clear (1'b0)) u_first (
    .clk_i, .rst_ni,
    .in_i  (first_i),
    .out_o (first)
  );

  // Memories. A drain has the port of a half that no issue reads.
  logic [31:0]      sum;
  logic             sum_valid;
  logic [1:0][31:0] word;
  for (genvar h = 0; h < 2; h++) begin : gen_half
    logic                drain, preload, write;
    logic [ContextW-1:0] write_context;
    assign drain         = drain_valid_i && drain_half_i == 1'(h);
    assign preload       = preload_valid_i && preload_half_i == 1'(h);
    assign write         = preload || (run[WRITE] && place[WRITE].half == 1'(h));
    assign write_context = preload ? preload_context_i : place[WRITE].index;
    jd_mem_lut #(.Depth (Contexts), .Width (32)) u_sums (
      .clk_i, .rst_ni,
      .write_en_i   (write),
      .write_addr_i (write_context),
      .write_data_i (preload ? preload_data_i : sum),
      .read_addr_i  (drain ? drain_context_i : place[READ].index),
      .read_data_o  (word[h])
    );
  end
  always_ff @(posedge clk_i) begin
    if (drain_valid_i) drain_data_o <= word[drain_half_i];
  end

  // The sum that the product meets. One that leaves the adder is not in the memory yet: in the
  // clock of the read it goes into the register, in the next clock straight to the adder.
  logic        bypass_q;
  logic [31:0] before_q, product;
  always_ff @(posedge clk_i) begin
    bypass_q <= !first && run[WRITE-1] && place[WRITE-1] == place[READ];
    if (run[READ]) begin
      if (first)                                           before_q <= '0;
      else if (run[WRITE] && place[WRITE] == place[READ]) before_q <= sum;
      else                                                 before_q <= word[place[READ].half];
    end
  end

  jd_float_mul #(.Latency (MulLatency)) u_mul (
    .clk_i, .rst_ni,
    .valid_i  (run[0]),
    .a_i      (a_i),
    .b_i      (b_i),
    .valid_o  (),
    .result_o (product)
  );
  logic [31:0] before_add, product_add;
  jd_delay #(.Width (64), .Cycles (EXTRA), .Clear (1'b0)) u_extra (
    .clk_i, .rst_ni,
    .in_i  ({bypass_q ? sum : before_q, product}),
    .out_o ({before_add, product_add})
  );
  jd_float_add #(.Latency (AddLatency - EXTRA)) u_add (
    .clk_i, .rst_ni,
    .valid_i    (run[MulLatency+EXTRA]),
    .subtract_i (1'b0),
    .a_i        (before_add),
    .b_i        (product_add),
    .valid_o    (sum_valid),
    .result_o   (sum)
  );

  // The rules, which hold for issues without their enable, too: element k issued k clocks ago.
  logic [WRITE:1] issued_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) issued_q <= '0;
    else         issued_q <= {issued_q[WRITE-1:1], valid_i};
  end
  function automatic logic in_use(input logic half);
    in_use = valid_i && half_i == half;
    for (int unsigned k = 1; k <= WRITE; k++) begin
      if (issued_q[k] && place_q[k].half == half) in_use = 1'b1;
    end
  endfunction
  function automatic logic too_soon();
    too_soon = 1'b0;
    for (int unsigned k = 1; k < AddLatency; k++) begin
      if (issued_q[k] && place_q[k] == place[0]) too_soon = 1'b1;
    end
  endfunction
  `JD_ASSUME_IF(ContextRested_M, valid_i, !too_soon())
  `JD_ASSUME_IF(DrainIdleHalf_M, drain_valid_i, !in_use(drain_half_i))
  `JD_ASSUME_IF(PreloadIdleHalf_M, preload_valid_i, !in_use(preload_half_i))
  `JD_ASSERT(SumInStep_A, sum_valid == run[WRITE])
endmodule : jd_a3c_pe
