// SPDX-License-Identifier: Apache-2.0
//
// The memory side of the rings: reads descriptors and writes completion records, one of each at a
// time, round robin over the rings.
//
// Streams  fetch: a ring asks for the descriptor at an address; fetched_o answers. record: a ring
//          gives a record for an address; recorded_o answers after the write response.
// Timing   One descriptor and one record in flight. The payload is captured when it is taken. A
//          descriptor is complete with its last beat.
// Numbers  a record is half a beat: the strobes choose the half.
// Source   docs/shell.md, rings.
`include "jd_assert.svh"
module jd_engine_memory
  import jd_axi_pkg::*;
#(
  parameter  int unsigned Rings = 1,      // 1..4
  parameter  int unsigned Beats = 1,      // of a descriptor, 1..4
  localparam int unsigned DescriptorW = 512 * Beats
) (
  input  logic                      clk_i,
  input  logic                      rst_ni,
  input  logic [Rings-1:0]          fetch_valid_i,
  output logic [Rings-1:0]          fetch_ready_o,
  input  logic [Rings-1:0][39:0]    fetch_address_i,
  output logic [Rings-1:0]          fetched_o,
  output logic [DescriptorW-1:0]    fetched_data_o,
  output logic [1:0]                fetched_resp_o,
  input  logic [Rings-1:0]          record_valid_i,
  output logic [Rings-1:0]          record_ready_o,
  input  logic [Rings-1:0][39:0]    record_address_i,
  input  logic [Rings-1:0][255:0]   record_data_i,
  output logic [Rings-1:0]          recorded_o,
  output logic [1:0]                recorded_resp_o,
  output logic [31:0]               recorded_address_o,  // low bits
  output logic                      idle_o,
  output axi_req_t                  mem_req_o,
  input  axi_rsp_t                  mem_rsp_i
);
  localparam int unsigned RingW = Rings > 1 ? $clog2(Rings) : 1;

  // The next ring after the last one served that asks.
  function automatic logic [RingW-1:0] choose(logic [Rings-1:0] ask, logic [RingW-1:0] last);
    choose = last;
    for (int unsigned r = Rings; r > 0; r--) begin
      if (ask[r-1]) choose = RingW'(r - 1);                              // the first,
    end
    for (int unsigned r = Rings; r > 0; r--) begin
      if (ask[r-1] && RingW'(r - 1) > last) choose = RingW'(r - 1);      // but for one after it
    end
  endfunction

  // Descriptors.
  logic fetch_busy_q, fetch_command_q;
  logic [RingW-1:0] fetch_ring_q;
  logic [39:0] fetch_address_q;
  logic read_ready, read_valid, read_last, read_idle;
  logic [511:0] read_data;
  logic [1:0] read_resp;
  logic fetched;
  assign fetched = read_valid && read_last;
  if (Beats == 1) begin : gen_beat
    assign fetched_data_o = read_data;
    assign fetched_resp_o = read_resp;
  end else begin : gen_beats
    logic [DescriptorW-513:0] before_q;   // the beats before the last
    logic [1:0] before_resp_q;            // the first of them that is an error
    always_ff @(posedge clk_i) begin
      if (!fetch_busy_q) begin
        before_resp_q <= '0;
      end else if (read_valid) begin
        before_q <= (DescriptorW-512)'({read_data, before_q} >> 512);
        if (before_resp_q == '0) before_resp_q <= read_resp;
      end
    end
    assign fetched_data_o = {read_data, before_q};
    assign fetched_resp_o = before_resp_q != '0 ? before_resp_q : read_resp;
  end

  always_comb begin
    fetch_ready_o = '0;
    if (!fetch_busy_q && fetch_valid_i != '0) begin
      fetch_ready_o[choose(fetch_valid_i, fetch_ring_q)] = 1'b1;
    end
    fetched_o = '0;
    fetched_o[fetch_ring_q] = fetched;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      fetch_busy_q <= 1'b0;
      fetch_command_q <= 1'b0;
      fetch_ring_q <= '0;
    end else if (!fetch_busy_q) begin
      if (fetch_valid_i != '0) begin
        fetch_busy_q <= 1'b1;
        fetch_command_q <= 1'b1;
        fetch_ring_q <= choose(fetch_valid_i, fetch_ring_q);
      end
    end else begin
      if (read_ready) fetch_command_q <= 1'b0;
      if (fetched) fetch_busy_q <= 1'b0;
    end
    if (!fetch_busy_q && fetch_valid_i != '0) begin
      fetch_address_q <= fetch_address_i[choose(fetch_valid_i, fetch_ring_q)];
    end
  end

  jd_axi_read_mover #(
    .MaxOutstanding(1)
  ) u_read (
    .clk_i,
    .rst_ni,
    .cmd_valid_i    (fetch_command_q),
    .cmd_ready_o    (read_ready),
    .cmd_address_i  (fetch_address_q),
    .cmd_beats_i    (16'(Beats)),
    .out_valid_o    (read_valid),
    .out_ready_i    (1'b1),
    .out_data_o     (read_data),
    .out_last_o     (read_last),
    .out_resp_o     (read_resp),
    .mem_req_o      (mem_req_o.read),
    .mem_rsp_i      (mem_rsp_i.read),
    .idle_o         (read_idle)
  );

  // Records.
  logic record_busy_q, record_command_q, record_data_valid_q;
  logic [RingW-1:0] record_ring_q;
  logic [39:0] record_address_q;
  logic [255:0] record_q;
  logic write_ready, write_data_ready, write_done, write_idle;
  logic high_half;
  assign high_half = record_address_q[5];
  assign recorded_address_o = record_address_q[31:0];

  always_comb begin
    record_ready_o = '0;
    if (!record_busy_q && record_valid_i != '0) begin
      record_ready_o[choose(record_valid_i, record_ring_q)] = 1'b1;
    end
    recorded_o = '0;
    recorded_o[record_ring_q] = write_done;
  end

  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      record_busy_q <= 1'b0;
      record_command_q <= 1'b0;
      record_data_valid_q <= 1'b0;
      record_ring_q <= '0;
    end else if (!record_busy_q) begin
      if (record_valid_i != '0) begin
        record_busy_q <= 1'b1;
        record_command_q <= 1'b1;
        record_data_valid_q <= 1'b1;
        record_ring_q <= choose(record_valid_i, record_ring_q);
      end
    end else begin
      if (write_ready) record_command_q <= 1'b0;
      if (write_data_ready) record_data_valid_q <= 1'b0;
      if (write_done) record_busy_q <= 1'b0;
    end
    if (!record_busy_q && record_valid_i != '0) begin
      record_address_q <= record_address_i[choose(record_valid_i, record_ring_q)];
      record_q <= record_data_i[choose(record_valid_i, record_ring_q)];
    end
  end

  jd_axi_write_mover #(
    .MaxOutstanding(1)
  ) u_write (
    .clk_i,
    .rst_ni,
    .cmd_valid_i    (record_command_q),
    .cmd_ready_o    (write_ready),
    .cmd_address_i  ({record_address_q[39:6], 6'd0}),
    .cmd_beats_i    (16'd1),
    .in_valid_i     (record_data_valid_q),
    .in_ready_o     (write_data_ready),
    .in_data_i      ({2{record_q}}),
    .in_strb_i      ({{32{high_half}}, {32{!high_half}}}),
    .done_valid_o   (write_done),
    .done_ready_i   (1'b1),
    .done_resp_o    (recorded_resp_o),
    .mem_req_o      (mem_req_o.write),
    .mem_rsp_i      (mem_rsp_i.write),
    .idle_o         (write_idle)
  );

  assign idle_o = !fetch_busy_q && !record_busy_q && read_idle && write_idle;

  `JD_ASSERT_IF(FetchAsked_A, read_valid, fetch_busy_q && !fetch_command_q)
  `JD_ASSERT_IF(RecordTaken_A, record_command_q, write_ready)
  `JD_ASSERT_IF(RecordAsked_A, write_done, record_busy_q && !record_command_q)
endmodule : jd_engine_memory
