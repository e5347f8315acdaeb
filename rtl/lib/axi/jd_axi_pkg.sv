// SPDX-License-Identifier: Apache-2.0
//
// Bundles of a bus, one struct each way: AXI4-Lite of control, AXI4 of memory, and accesses to a
// register block; and where memory ends.
//
// Numbers  AXI4-Lite: 20 bits of address, of which an engine looks at 12. AXI4: 512 bits of data, 40
//          of address, 8 of ID, each multiplexer's bits above those of its clients; an engine's port
//          has 4. A block whose data come in order has the ID 0.
// Source   docs/interfaces.md; AMBA AXI and ACE protocol specification.
package jd_axi_pkg;
  typedef struct packed {
    logic         awvalid;
    logic [19:0]  awaddr;
    logic         wvalid;
    logic [31:0]  wdata;
    logic [3:0]   wstrb;
    logic         bready;
    logic         arvalid;
    logic [19:0]  araddr;
    logic         rready;
  } axil_req_t;

  typedef struct packed {
    logic         awready;
    logic         wready;
    logic         bvalid;
    logic [1:0]   bresp;
    logic         arready;
    logic         rvalid;
    logic [31:0]  rdata;
    logic [1:0]   rresp;
  } axil_rsp_t;

  typedef struct packed {
    logic         arvalid;
    logic [39:0]  araddr;
    logic [7:0]   arlen;
    logic [7:0]   arid;
    logic         rready;
  } axi_read_req_t;

  typedef struct packed {
    logic         arready;
    logic         rvalid;
    logic [511:0] rdata;
    logic [1:0]   rresp;
    logic         rlast;
    logic [7:0]   rid;
  } axi_read_rsp_t;

  typedef struct packed {
    logic         awvalid;
    logic [39:0]  awaddr;
    logic [7:0]   awlen;
    logic [7:0]   awid;
    logic         wvalid;
    logic [511:0] wdata;
    logic [63:0]  wstrb;
    logic         wlast;
    logic         bready;
  } axi_write_req_t;

  typedef struct packed {
    logic         awready;
    logic         wready;
    logic         bvalid;
    logic [1:0]   bresp;
    logic [7:0]   bid;
  } axi_write_rsp_t;

  typedef struct packed {
    axi_read_req_t  read;
    axi_write_req_t write;
  } axi_req_t;

  typedef struct packed {
    axi_read_rsp_t  read;
    axi_write_rsp_t write;
  } axi_rsp_t;

  // What a client drives that never reads, or never writes.
  function automatic axi_read_req_t no_read();
    return '{rready: 1'b1, default: '0};
  endfunction
  function automatic axi_write_req_t no_write();
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
  } register_req_t;

  typedef struct packed {
    logic         write_done;
    logic         write_error;
    logic         read_done;
    logic         read_error;
    logic [31:0]  read_data;
  } register_rsp_t;
endpackage : jd_axi_pkg
