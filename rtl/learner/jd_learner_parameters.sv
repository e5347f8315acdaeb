// SPDX-License-Identifier: Apache-2.0
//
// The parameters of the networks: their master copies, and the units that change or move them.
//
//   images <-> jd_learner_image -+-> jd_learner_master (w, m, v, target)
//   gradients -> jd_learner_update, masters -> jd_learner_target, jd_learner_columns -> weights
//
// Streams  req_*, rsp_*: requests of jd_learner_job and their results, as pulses. read_*, write_*:
//          images in memory. weight_*: LW words per clock to the pipelines, as a pipe, from the
//          owner (req_i.owner). gradient_*: words from the pipelines, as a pipe: a read, then valid
//          with the words. The image unit has this port while it needs it, else WU.
// Timing   that of the units; weight_* are registers. Values that depend on the current network are
//          registers, and so are values that follow from them: a stage waits longer for its
//          registers, an image sets them one clock before it uses them.
// Numbers  those of jd_learner_update and jd_learner_target.
// Source   learner 5.6, 4.1. Golden model: models/learner/engine.py.
module jd_learner_parameters
  import jd_learner_engine_pkg::*;
#(
  parameter  int unsigned DP          = 1,       // as jd_learner_top
  parameter  int unsigned P           = 16,
  parameter  int unsigned OB          = P / 4,
  parameter  int unsigned LW          = 4,
  parameter  int unsigned MulLatency  = 2,
  parameter  int unsigned AddLatency  = 2,
  parameter  int unsigned DivLatency  = 4,
  parameter  int unsigned SqrtLatency = 4,
  parameter  int unsigned NetMax      = 6,
  parameter  int unsigned WRows       = 1024,
  parameter  bit          ActorCritic = 1'b0,
  localparam int unsigned SubW        = $clog2(P / LW) > 0 ? $clog2(P / LW) : 1,
  localparam int unsigned NetW        = $clog2(NetMax),
  localparam int unsigned Groups      = WRows * P / LW,       // of a master memory
  localparam int unsigned MasterW     = $clog2(Groups)
) (
  input  logic                clk_i,
  input  logic                rst_ni,
  // The job.
  input  logic [15:0][31:0]   words_i,           // its descriptor
  input  logic                infers_i,          // it is INFER
  input  logic                stop_i,            // level: an image ends after its command
  input  logic                due_i,             // delayed stages run in this step
  input  parameters_req_t     req_i,
  output parameters_rsp_t     rsp_o,
  // The program, and each network's current target bank.
  input  plan_t               plan_i,
  input  network_t            networks_i [NetMax],
  input  slot_t               slots_i [NetMax],
  input  logic [NetMax-1:0]   banks_i,
  output pass_t               forward_o,         // of the present network
  // Images in memory.
  input  logic                owns_port_i,       // jd_learner_port: the image unit is at work
  output read_req_t           read_req_o,
  input  read_rsp_t           read_rsp_i,
  output write_req_t          write_req_o,
  input  write_rsp_t          write_rsp_i,
  // The pipelines.
  output logic                weight_valid_o,
  output logic                weight_gradient_o, // a gradient instead
  output place_t              weight_place_o,
  output logic [LW-1:0]       weight_mask_o,
  output logic [LW-1:0][31:0] weight_data_o,
  output logic                gradient_read_o,
  output place_t              gradient_place_o,
  input  logic                gradient_valid_i,
  input  logic [LW-1:0][31:0] gradient_data_i,
  output logic                moves_o            // a weight or a read of a gradient moves
);
  // As place_t, in this build's width.
  typedef struct packed {
    logic            bias;
    logic [15:0]     row;
    logic [SubW-1:0] sub;
    logic [15:0]     bias_index;
  } group_t;
  typedef struct packed {
    logic                valid;
    group_t              group;
    logic [LW-1:0]       mask;
    logic [LW-1:0][31:0] data;
  } weight_t;
  function automatic place_t place_of(input group_t group);
    return '{bias: group.bias, row: group.row, sub: 7'(group.sub), bias_index: group.bias_index};
  endfunction

  // ---- The present network: of an image, of INFER or of the stage
  network_t        network_q;
  slot_t           slot_q;
  logic [15:0]     target_row_q, target_bias_q;
  logic [NetW-1:0] net, image_net;
  logic            bank;
  assign net  = owns_port_i ? image_net : req_i.columns_busy ? NetW'(req_i.columns_net)
                : infers_i ? words_i[2][NetW-1:0] : NetW'(req_i.update.net);
  assign bank = banks_i[NetW'(req_i.update.net)];
  always_ff @(posedge clk_i) begin
    network_q     <= networks_i[net];
    slot_q        <= slots_i[NetW'(req_i.update.slot)];
    target_row_q  <= network_q.row_base + (bank ? network_q.rows : network_q.rows << 1);
    target_bias_q <= network_q.bias_base + (bank ? network_q.biases : network_q.biases << 1);
  end
  assign forward_o = network_q.forward;

  // ---- Masters and weights: of WU and the copies of columns (0), of TSM (1), of the image unit (2)
  logic [2:0][3:0]               master_read, master_write;
  logic [2:0][3:0][MasterW-1:0]  master_read_addr, master_write_addr;
  logic [2:0][3:0][LW-1:0][31:0] master_write_data;
  logic [3:0][LW-1:0][31:0]      master_data;
  weight_t [2:0]                 weights;
  weight_t                       weight;         // the owner's
  logic                          image_gradient; // the image unit loads gradients
  jd_learner_master #(.LW (LW), .Groups (Groups)) u_master (
    .clk_i, .rst_ni,
    .owner_i      (req_i.owner),
    .read_i       (master_read),
    .read_addr_i  (master_read_addr),
    .read_data_o  (master_data),
    .write_i      (master_write),
    .write_addr_i (master_write_addr),
    .write_data_i (master_write_data)
  );
  assign weight = weights[req_i.owner];
  always_ff @(posedge clk_i) begin
    weight_valid_o    <= rst_ni && weight.valid;
    weight_gradient_o <= rst_ni && image_gradient;
    weight_place_o    <= place_of(weight.group);
    weight_mask_o     <= weight.mask;
    weight_data_o     <= weight.data;
  end

  // ---- Gradients: to WU (0), to the image unit (1)
  logic [1:0]   gradient_read;
  group_t [1:0] gradient_group;
  assign gradient_read_o  = gradient_read != '0;
  assign gradient_place_o = place_of(gradient_group[owns_port_i]);

  assign moves_o = weights[0].valid || weights[1].valid || weights[2].valid || gradient_read_o;

  // ---- WU
  logic [2:0]              update_master_read;
  logic [2:0][MasterW-1:0] update_master_read_addr;
  weight_t                 update_weight;
  jd_learner_update #(
    .P (P), .OB (OB), .LW (LW), .LMax (LAYERS), .RowW (16), .BiasW (16), .MasterW (MasterW),
    .MulLatency (MulLatency), .AddLatency (AddLatency), .DivLatency (DivLatency),
    .SqrtLatency (SqrtLatency), .GradientLatency (2 + $clog2(DP) * AddLatency)
  ) u_update (
    .clk_i, .rst_ni,
    .start_i             (req_i.update_start),
    .layers_i            (network_q.layers),
    .layer_count_i       (network_q.layer_count),
    .row_base_i          (network_q.row_base),
    .bias_base_i         (network_q.bias_base),
    .master_base_i       (network_q.master_base[MasterW-1:0]),
    .slot_i              (slot_q),
    .c1_i                (req_i.scalars.c1),
    .c2_i                (req_i.scalars.c2),
    .lr_i                (req_i.scalars.lr),
    .c1_o                (rsp_o.updated.c1),
    .c2_o                (rsp_o.updated.c2),
    .lr_o                (rsp_o.updated.lr),
    .done_o              (rsp_o.update_done),
    .grad_read_o         (gradient_read[0]),
    .grad_bias_o         (gradient_group[0].bias),
    .grad_row_o          (gradient_group[0].row),
    .grad_sub_o          (gradient_group[0].sub),
    .grad_bias_index_o   (gradient_group[0].bias_index),
    .grad_valid_i        (gradient_valid_i && !owns_port_i),
    .grad_data_i         (gradient_data_i),
    .master_read_o       (update_master_read),
    .master_read_addr_o  (update_master_read_addr),
    .master_data_i       (master_data[2:0]),
    .master_write_o      (master_write[0][2:0]),
    .master_write_addr_o (master_write_addr[0][2:0]),
    .master_write_data_o (master_write_data[0][2:0]),
    .weight_valid_o      (update_weight.valid),
    .weight_bias_o       (update_weight.group.bias),
    .weight_row_o        (update_weight.group.row),
    .weight_sub_o        (update_weight.group.sub),
    .weight_bias_index_o (update_weight.group.bias_index),
    .weight_mask_o       (update_weight.mask),
    .weight_data_o       (update_weight.data)
  );
  assign rsp_o.updated.since     = req_i.scalars.since;
  assign rsp_o.updated.waited    = req_i.scalars.waited;
  assign master_read[0][3]       = 1'b0;
  assign master_read_addr[0][3]  = '0;
  assign master_write[0][3]      = 1'b0;
  assign master_write_addr[0][3] = '0;
  assign master_write_data[0][3] = '0;

  // ---- The copies of columns: they use the way of WU, which is idle then
  logic               columns_read;
  logic [MasterW-1:0] columns_addr;
  weight_t            columns_weight;
  if (ActorCritic) begin : gen_columns
    jd_learner_columns #(.P (P), .LW (LW), .MasterW (MasterW)) u_columns (
      .clk_i, .rst_ni,
      .start_i        (req_i.columns_start),
      .n_in_i         (network_q.layers[0][15:0]),
      .n_out_i        (network_q.layers[0][31:16]),
      .column_i       (network_q.column),
      .columns_i      (network_q.columns),
      .column_row_i   (network_q.column_row),
      .master_base_i  (network_q.master_base[MasterW-1:0]),
      .done_o         (rsp_o.columns_done),
      .master_read_o  (columns_read),
      .master_addr_o  (columns_addr),
      .master_data_i  (master_data[0]),
      .weight_valid_o (columns_weight.valid),
      .weight_row_o   (columns_weight.group.row),
      .weight_sub_o   (columns_weight.group.sub),
      .weight_mask_o  (columns_weight.mask),
      .weight_data_o  (columns_weight.data)
    );
    assign columns_weight.group.bias       = 1'b0;
    assign columns_weight.group.bias_index = '0;
  end else begin : gen_no_columns
    assign rsp_o.columns_done = 1'b0;
    assign columns_read       = 1'b0;
    assign columns_addr       = '0;
    assign columns_weight     = '0;
  end
  logic [NetMax-1:0] columns_q;                  // networks that have a copy
  always_ff @(posedge clk_i) begin
    for (int unsigned n = 0; n < NetMax; n++) begin
      columns_q[n] <= ActorCritic && plan_i.nets[n] && networks_i[n].columns != '0;
    end
  end
  assign rsp_o.columns = 8'(columns_q);
  assign master_read[0][2:0]      = update_master_read | {2'b00, columns_read};
  assign master_read_addr[0][2:1] = update_master_read_addr[2:1];
  assign master_read_addr[0][0]   = req_i.columns_busy ? columns_addr : update_master_read_addr[0];
  always_comb begin
    weights[0]       = req_i.columns_busy ? columns_weight : update_weight;
    weights[0].valid = update_weight.valid || columns_weight.valid;
  end

  // ---- TSM
  logic               target_read, target_write;
  logic [MasterW-1:0] target_read_addr, target_write_addr;
  jd_learner_target #(
    .P (P), .OB (OB), .LW (LW), .LMax (LAYERS), .RowW (16), .BiasW (16), .MasterW (MasterW),
    .MulLatency (MulLatency), .AddLatency (AddLatency)
  ) u_target (
    .clk_i, .rst_ni,
    .start_i             (req_i.target_start),
    .polyak_i            (req_i.update.polyak),
    .tau_i               (req_i.update.tau),
    .layers_i            (network_q.layers),
    .layer_count_i       (network_q.layer_count),
    .row_base_i          (target_row_q),
    .bias_base_i         (target_bias_q),
    .master_base_i       (network_q.master_base[MasterW-1:0]),
    .done_o              (rsp_o.target_done),
    .master_read_o       (target_read),
    .master_read_addr_o  (target_read_addr),
    .master_weight_i     (master_data[0]),
    .master_target_i     (master_data[3]),
    .master_write_o      (target_write),
    .master_write_addr_o (target_write_addr),
    .weight_valid_o      (weights[1].valid),
    .weight_bias_o       (weights[1].group.bias),
    .weight_row_o        (weights[1].group.row),
    .weight_sub_o        (weights[1].group.sub),
    .weight_bias_index_o (weights[1].group.bias_index),
    .weight_mask_o       (weights[1].mask),
    .weight_data_o       (weights[1].data)
  );
  assign master_read[1]       = {target_read, 2'b00, target_read};
  assign master_read_addr[1]  = {4{target_read_addr}};
  assign master_write[1]      = {target_write, 3'b000};
  assign master_write_addr[1] = {4{target_write_addr}};
  assign master_write_data[1] = {4{weights[1].data}};

  // ---- Images
  logic [MasterW-1:0] image_master_addr;
  jd_learner_image #(
    .P (P), .OB (OB), .LW (LW), .NetMax (NetMax), .MasterW (MasterW)
  ) u_image (
    .clk_i, .rst_ni,
    .start_i             (req_i.image_start),
    .store_i             (words_i[0][1]),
    .gradient_i          (req_i.gradient_image),
    .due_mask_i          (plan_i.prompt | 8'({NetMax{due_i}})),
    .net_mask_i          (words_i[2][7:0]),
    .kind_mask_i         (req_i.gradient_image ? 5'd1 : words_i[2][12:8]),
    .address_i           (req_i.gradient_image && words_i[0][1] ? {words_i[15][7:0], words_i[14]}
                                                                : {words_i[5][7:0], words_i[4]}),
    .stop_i              (stop_i),
    .busy_o              (rsp_o.image_busy),
    .done_o              (rsp_o.image_done),
    .response_o          (rsp_o.image_response),
    .net_o               (image_net),
    .network_i           (network_q),
    .start_lr_i          (slots_i[NetW'(network_q.slot)][1]),
    .bank_i              (banks_i[image_net]),
    .counts_i            (ActorCritic && plan_i.delay != '0),
    .scalars_i           (req_i.scalars),
    .scalars_write_o     (rsp_o.image_scalars_write),
    .scalars_o           (rsp_o.image_scalars),
    .read_req_o          (read_req_o),
    .read_rsp_i          (read_rsp_i),
    .write_req_o         (write_req_o),
    .write_rsp_i         (write_rsp_i),
    .master_read_o       (master_read[2]),
    .master_addr_o       (image_master_addr),
    .master_data_i       (master_data),
    .master_write_o      (master_write[2]),
    .master_write_data_o (master_write_data[2]),
    .grad_read_o         (gradient_read[1]),
    .grad_bias_o         (gradient_group[1].bias),
    .grad_row_o          (gradient_group[1].row),
    .grad_sub_o          (gradient_group[1].sub),
    .grad_bias_index_o   (gradient_group[1].bias_index),
    .grad_valid_i        (gradient_valid_i),
    .grad_data_i         (gradient_data_i),
    .weight_gradient_o   (image_gradient),
    .weight_valid_o      (weights[2].valid),
    .weight_bias_o       (weights[2].group.bias),
    .weight_row_o        (weights[2].group.row),
    .weight_sub_o        (weights[2].group.sub),
    .weight_bias_index_o (weights[2].group.bias_index),
    .weight_mask_o       (weights[2].mask),
    .weight_data_o       (weights[2].data)
  );
  assign rsp_o.image_net      = 3'(image_net);
  assign master_read_addr[2]  = {4{image_master_addr}};
  assign master_write_addr[2] = {4{image_master_addr}};
endmodule : jd_learner_parameters
