// SPDX-License-Identifier: Apache-2.0
//
// Bundles of AXI4: what a client of an engine's memory port drives and what it gets; and where its
// memory ends.
//
// Numbers  512 bits of data, 40 bits of address; no IDs: a client's data come in order.
// Source   docs/interfaces.md; AMBA AXI and ACE protocol specification.
package jd_axi_pkg;
  typedef struct packed {
    logic         arvalid;
    logic [39:0]  araddr;
    logic [7:0]   arlen;
    logic         rready;
  } axi_read_request_t;

  typedef struct packed {
    logic         arready;
    logic         rvalid;
    logic [511:0] rdata;
    logic [1:0]   rresp;
    logic         rlast;
  } axi_read_response_t;

  typedef struct packed {
    logic         awvalid;
    logic [39:0]  awaddr;
    logic [7:0]   awlen;
    logic         wvalid;
    logic [511:0] wdata;
    logic [63:0]  wstrb;
    logic         wlast;
    logic         bready;
  } axi_write_request_t;

  typedef struct packed {
    logic         awready;
    logic         wready;
    logic         bvalid;
    logic [1:0]   bresp;
  } axi_write_response_t;

  typedef struct packed {
    axi_read_request_t  read;
    axi_write_request_t write;
  } axi_request_t;

  typedef struct packed {
    axi_read_response_t  read;
    axi_write_response_t write;
  } axi_response_t;

  // What a client drives that never writes.
  function automatic axi_write_request_t no_write();
    return '{bready: 1'b1, default: '0};
  endfunction

  // Whether an array does not lie wholly below 2^40. Golden model: models/engine.py, beyond.
  function automatic logic beyond(logic [39:0] address, logic [63:0] bytes);
    return 65'(address) + 65'(bytes) > 65'd1 << 40;
  endfunction

  // An access to a register block without a bus of its own (PeakRDL's passthrough interface): a
  // write is answered in the clock of the request, a read in the next.
  typedef struct packed {
    logic         valid;
    logic         write;
    logic [11:0]  address;   // offset in the page
    logic [31:0]  data;
    logic [31:0]  mask;      // bits that are written
  } register_request_t;

  typedef struct packed {
    logic         write_done;
    logic         write_error;
    logic         read_done;
    logic         read_error;
    logic [31:0]  read_data;
  } register_response_t;
endpackage : jd_axi_pkg
