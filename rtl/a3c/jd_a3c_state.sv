// SPDX-License-Identifier: Apache-2.0
//
// The a3c engine's own registers and counters.
//
// Streams  register_*: accesses from the engine's page, one at a time.
// Timing   A counter shows an event two clocks later.
// Numbers  counters are 64 bits, run from hard reset and wrap.
// Source   a3c 10.2; jd_a3c.rdl.
`include "jd_assert.svh"
module jd_a3c_state
  import jd_axi_pkg::*;
  import jd_a3c_pkg::unit_clocks_t, jd_a3c_pkg::layout_e, jd_a3c_pkg::LayoutFa3c,
         jd_a3c_pkg::LayoutNone;
  import jd_a3c_tasks_pkg::RINGS;
#(
  parameter int unsigned        Units       = 2,       // 1..8
  parameter int unsigned        Ports       = 1,       // 1..4
  parameter logic [2*Units-1:0] Capable     = 4'b1001, // roles that each unit has the hardware for
  parameter int unsigned        NPe         = 64,      // these: jd_a3c_top
  parameter int unsigned        NPair       = 1,
  parameter bit                 SingleCu    = 1'b0,
  parameter bit                 PortPerCu   = 1'b0,
  parameter bit                 AltEn       = 1'b0,
  parameter int unsigned        Lm          = 3,
  parameter int unsigned        La          = 4,
  parameter int unsigned        NRu         = 8,
  parameter int unsigned        NbMax       = 8,
  parameter int unsigned        NNet        = 4,
  parameter int unsigned        FmRows      = 8192,
  parameter int unsigned        PbInference = 32768,
  parameter int unsigned        PbTraining  = 4096,
  parameter int unsigned        GbRows      = 16384,
  parameter int unsigned        LineWords   = 256,
  parameter int unsigned        Contexts    = 32,
  parameter int unsigned        LaneEntries = 64
) (
  input  logic                     clk_i,
  input  logic                     rst_ni,
  input  register_req_t            register_req_i,
  output register_rsp_t            register_rsp_o,
  output logic [Units-1:0][1:0]    roles_o,
  output logic [39:0]              base_o,           // of the window that tasks may name,
  output logic [47:0]              limit_o,          // and first byte after
  output layout_e                  layout_o,
  output logic [3:0]               net_o,            // NET_SEL
  output logic [3:0]               index_o,
  output logic [4:0]               constant_o,
  input  logic [31:0]              constant_i,
  // What is counted.
  input  unit_clocks_t [Units-1:0] clocks_i,
  input  logic [Units-1:0][1:0]    done_i,           // tasks
  input  logic [Ports-1:0]         read_i,           // beats of tasks
  input  logic [Ports-1:0]         write_i,
  input  logic [RINGS-1:0]         good_i,           // a ring's task ended well: its samples
  input  logic [RINGS-1:0][3:0]    good_samples_i,
  input  logic [RINGS-1:0]         good_bootstrap_i
);
  jd_a3c_regs_pkg::jd_a3c__in_t from_hw;
  jd_a3c_regs_pkg::jd_a3c__out_t to_hw;
  logic        request, write;
  logic [11:0] address;
  logic        stall_write, stall_read;
  assign request = register_req_i.valid;
  assign write   = register_req_i.write;
  assign address = register_req_i.address;
  logic        unused;
  assign unused = ^{good_samples_i[2:1], good_bootstrap_i[2:1]};
  jd_a3c_regs u_registers (
    .clk                  (clk_i),
    .rst_n                (rst_ni),
    .s_cpuif_req          (request),
    .s_cpuif_req_is_wr    (write),
    .s_cpuif_addr         (address),
    .s_cpuif_wr_data      (register_req_i.data),
    .s_cpuif_wr_biten     (register_req_i.mask),
    .s_cpuif_req_stall_wr (stall_write),
    .s_cpuif_req_stall_rd (stall_read),
    .s_cpuif_rd_ack       (register_rsp_o.read_done),
    .s_cpuif_rd_err       (register_rsp_o.read_error),
    .s_cpuif_rd_data      (register_rsp_o.read_data),
    .s_cpuif_wr_ack       (register_rsp_o.write_done),
    .s_cpuif_wr_err       (register_rsp_o.write_error),
    .hwif_in              (from_hw),
    .hwif_out             (to_hw)
  );

  // ---- Configuration. Roles begin as what the units can do, and never go beyond it.
  localparam logic [31:0] CAPABLE = 32'(Capable);
  logic reset_q, roles_q;
  always_ff @(posedge clk_i) begin
    reset_q <= !rst_ni;
    roles_q <= rst_ni && to_hw.CU_ROLE.roles.swmod;
  end
  for (genvar u = 0; u < Units; u++) begin : gen_role
    assign roles_o[u] = to_hw.CU_ROLE.roles.value[2*u+:2];
  end
  assign base_o     = {to_hw.MEM_BASE_HI.value.value, to_hw.MEM_BASE_LO.value.value};
  assign limit_o    = {to_hw.MEM_LIMIT_HI.value.value, to_hw.MEM_LIMIT_LO.value.value};
  assign layout_o   = AltEn || to_hw.CFG.layout_mode.value == LayoutFa3c
                      ? layout_e'(to_hw.CFG.layout_mode.value) : LayoutNone;
  assign net_o      = to_hw.NET_SEL.net.value;
  assign index_o    = to_hw.NET_SEL.layer.value;
  assign constant_o = to_hw.NET_SEL.constant.value;

  // ---- Counters; what they count is seen one clock late
  logic [Units-1:0][7:0][63:0] unit_q;           // in the order of their offsets
  logic [Ports-1:0][1:0][63:0] port_q;
  logic [63:0]                 inferred_q, booted_q, trained_q, copied_q;
  unit_clocks_t [Units-1:0]    clocks_q;
  logic [Units-1:0][1:0]       done_q;
  logic [Ports-1:0]            read_q, write_q;
  logic [3:0]                  infer_q, boot_q;
  logic                        train_q, copy_q;
  always_ff @(posedge clk_i) begin
    if (!rst_ni) begin
      clocks_q <= '0;
      done_q   <= '0;
      read_q   <= '0;
      write_q  <= '0;
      infer_q  <= '0;
      boot_q   <= '0;
      train_q  <= 1'b0;
      copy_q   <= 1'b0;
      unit_q   <= '0;
      port_q   <= '0;
      {inferred_q, booted_q, trained_q, copied_q} <= '0;
    end else begin
      clocks_q <= clocks_i;
      done_q   <= done_i;
      read_q   <= read_i;
      write_q  <= write_i;
      infer_q  <= good_i[0] && !good_bootstrap_i[0] ? good_samples_i[0] : '0;
      boot_q   <= good_i[0] && good_bootstrap_i[0] ? good_samples_i[0] : '0;
      train_q  <= good_i[1];
      copy_q   <= good_i[2];
      for (int unsigned u = 0; u < Units; u++) begin
        if (clocks_q[u].busy)       unit_q[u][0] <= unit_q[u][0] + 64'd1;
        if (clocks_q[u].issue)      unit_q[u][1] <= unit_q[u][1] + 64'd1;
        if (clocks_q[u].parameters) unit_q[u][2] <= unit_q[u][2] + 64'd1;
        if (clocks_q[u].maps)       unit_q[u][3] <= unit_q[u][3] + 64'd1;
        if (clocks_q[u].drain)      unit_q[u][4] <= unit_q[u][4] + 64'd1;
        if (clocks_q[u].gradients)  unit_q[u][5] <= unit_q[u][5] + 64'd1;
        if (clocks_q[u].latency)    unit_q[u][6] <= unit_q[u][6] + 64'd1;
        unit_q[u][7] <= unit_q[u][7] + 64'(done_q[u]);
      end
      for (int unsigned p = 0; p < Ports; p++) begin
        if (read_q[p])  port_q[p][0] <= port_q[p][0] + 64'd1;
        if (write_q[p]) port_q[p][1] <= port_q[p][1] + 64'd1;
      end
      inferred_q <= inferred_q + 64'(infer_q);
      booted_q   <= booted_q + 64'(boot_q);
      trained_q  <= trained_q + 64'(train_q);
      copied_q   <= copied_q + 64'(copy_q);
    end
  end

  always_comb begin
    from_hw.CAP_CU.n_pe.next        = 8'(NPe);
    from_hw.CAP_CU.n_pair.next      = 4'(NPair);
    from_hw.CAP_CU.single_cu.next   = SingleCu;
    from_hw.CAP_CU.port_per_cu.next = PortPerCu;
    from_hw.CAP_CU.alt_en.next      = AltEn;
    from_hw.CAP_UNIT.lm.next        = 4'(Lm);
    from_hw.CAP_UNIT.la.next        = 4'(La);
    from_hw.CAP_UNIT.n_ru.next      = 8'(NRu);
    from_hw.CAP_UNIT.nb_max.next    = 4'(NbMax);
    from_hw.CAP_UNIT.n_net.next     = 4'(NNet);
    from_hw.CAP_FM.value.next       = 32'(FmRows);
    from_hw.CAP_PB_I.value.next     = 32'(PbInference);
    from_hw.CAP_PB_T.value.next     = 32'(PbTraining);
    from_hw.CAP_GB.value.next       = 32'(GbRows);
    from_hw.CAP_LB.lbw.next         = 16'(LineWords);
    from_hw.CAP_LB.nctx.next        = 8'(Contexts);
    from_hw.CAP_LB.dl.next          = 8'(LaneEntries);
    from_hw.CU_ROLE.roles.next      = reset_q ? CAPABLE : to_hw.CU_ROLE.roles.value & CAPABLE;
    from_hw.CU_ROLE.roles.we        = reset_q || roles_q;
    from_hw.NET_DATA.value.next     = constant_i;
    for (int unsigned u = 0; u < 8; u++) begin
      from_hw.CU[u].BUSY.value.next     = '0;
      from_hw.CU[u].ISSUE.value.next    = '0;
      from_hw.CU[u].ST_PARAM.value.next = '0;
      from_hw.CU[u].ST_FM.value.next    = '0;
      from_hw.CU[u].ST_DRAIN.value.next = '0;
      from_hw.CU[u].ST_GB.value.next    = '0;
      from_hw.CU[u].ST_CTX.value.next   = '0;
      from_hw.CU[u].TASKS.value.next    = '0;
    end
    for (int unsigned u = 0; u < Units; u++) begin
      from_hw.CU[u].BUSY.value.next     = unit_q[u][0];
      from_hw.CU[u].ISSUE.value.next    = unit_q[u][1];
      from_hw.CU[u].ST_PARAM.value.next = unit_q[u][2];
      from_hw.CU[u].ST_FM.value.next    = unit_q[u][3];
      from_hw.CU[u].ST_DRAIN.value.next = unit_q[u][4];
      from_hw.CU[u].ST_GB.value.next    = unit_q[u][5];
      from_hw.CU[u].ST_CTX.value.next   = unit_q[u][6];
      from_hw.CU[u].TASKS.value.next    = unit_q[u][7];
    end
    for (int unsigned p = 0; p < 4; p++) begin
      from_hw.PORT[p].READ_BEATS.value.next  = '0;
      from_hw.PORT[p].WRITE_BEATS.value.next = '0;
    end
    for (int unsigned p = 0; p < Ports; p++) begin
      from_hw.PORT[p].READ_BEATS.value.next  = port_q[p][0];
      from_hw.PORT[p].WRITE_BEATS.value.next = port_q[p][1];
    end
    from_hw.INF.value.next   = inferred_q;
    from_hw.BOOT.value.next  = booted_q;
    from_hw.TRAIN.value.next = trained_q;
    from_hw.SYNC.value.next  = copied_q;
  end

  `JD_ASSERT_IF(NoStall_A, request,
                write ? register_rsp_o.write_done && !stall_write : !stall_read)
endmodule : jd_a3c_state
