// SPDX-License-Identifier: Apache-2.0
//
// Takes tasks from the three rings, checks them, gives them to compute units and copy engines, and
// ends them.
//
//   ring -> jd_a3c_check -> INF ---------------------------> unit --+
//                           TRAIN -> hyper-parameters -----> unit --+-> jd_a3c_ends -> ring
//                           SYNC --> (its ticket's turn) --> copy --+
//                           NET_LOAD -> nothing runs -> jd_a3c_network
//
// Streams  job, end: those of jd_engine_control. task, copy: to a unit or a copy engine.
//          worker_end: how a worker's oldest task ended, units first. lookup: layers of a task's
//          network. order: to jd_a3c_tickets. mem_*: reads of network descriptors and
//          hyper-parameters.
// Timing   A task is checked when it is the first of its ring, and then waits outside the ring, so
//          that the ring can fetch the next one. It goes to the unit of its role with the fewest
//          tasks; a unit holds two at most.
// Numbers  a TRAIN gets its ticket when it is given to a unit or its hyper-parameters are refused;
//          an ordered SYNC gets its ticket when it is next.
// Source   a3c 10. Golden model: models/a3c/engine.py, A3cEngine.job.
//
// stop_i: no job and no read begins. A network that is being loaded is loaded to its end. clear_i,
// which comes once idle_o is high and the units are idle, forgets all jobs. dead_o: the watchdog
// struck; clear_i then ends all jobs with E_TIMEOUT, and the engine is as after a reset.
`include "jd_assert.svh"
module jd_a3c_tasks
  import jd_axi_pkg::*;
  import jd_a3c_pkg::*;
  import jd_a3c_map_pkg::*;
  import jd_a3c_tasks_pkg::*;
  import jd_engine_header_map_pkg::E_BUS_RD;
#(
  parameter  int unsigned Units       = 2,     // 1..8
  parameter  int unsigned Copies      = 1,     // 1..8
  parameter  bit          SingleCu    = 1'b0,  // copy engine c is at unit c, else at unit 2c+1
  parameter  int unsigned Slots       = 4,     // networks, 1..15
  parameter  int unsigned Samples     = 8,     // largest batch, 1..8
  parameter  int unsigned Pes         = 64,    // these: see jd_a3c_capacity
  parameter  int unsigned MapRows     = 8192,
  parameter  int unsigned ForwardRows = 32768,
  parameter  int unsigned BackRows    = 4096,
  parameter  int unsigned GradRows    = 16384,
  parameter  int unsigned LineRows    = 16,
  localparam int unsigned Workers     = Units + Copies
) (
  input  logic                         clk_i,
  input  logic                         rst_ni,
  input  logic                         stop_i,
  input  logic                         clear_i,
  output logic                         idle_o,          // no open read, no network being loaded
  output logic                         quiet_o,         // and no task
  output logic                         dead_o,
  // Registers.
  input  logic [Units-1:0][1:0]        roles_i,         // inference, training
  input  logic [39:0]                  base_i,
  input  logic [47:0]                  limit_i,
  input  layout_e                      layout_i,
  input  logic [3:0]                   net_i,           // NET_SEL
  input  logic [3:0]                   index_i,
  input  logic [4:0]                   constant_i,
  output logic [31:0]                  constant_o,
  // Jobs.
  input  logic [RINGS-1:0]             job_valid_i,
  output logic [RINGS-1:0]             job_ready_o,
  input  logic [RINGS-1:0][1023:0]     job_descriptor_i,
  input  logic [RINGS-1:0][JOB_W-1:0]  job_number_i,
  input  logic [RINGS-1:0]             timeout_i,
  output logic [RINGS-1:0]             end_valid_o,
  input  logic [RINGS-1:0]             end_ready_i,
  output logic [RINGS-1:0][JOB_W-1:0]  end_job_o,
  output logic [RINGS-1:0][7:0]        end_error_o,
  output logic [RINGS-1:0][15:0]       end_detail_o,
  output logic [RINGS-1:0][31:0]       end_count_o,
  output logic [RINGS-1:0][31:0]       end_info0_o,
  output logic [RINGS-1:0][31:0]       end_info1_o,
  // Units.
  output logic [Units-1:0]             task_valid_o,
  input  logic [Units-1:0]             task_ready_i,
  output task_t [Units-1:0]            task_o,
  input  logic [Units-1:0]             lookup_valid_i,
  output logic [Units-1:0]             lookup_ready_o,
  input  logic [Units-1:0][3:0]        lookup_slot_i,
  input  logic [Units-1:0][2:0]        lookup_layer_i,
  output logic [Units-1:0]             lookup_valid_o,
  output layer_t                       lookup_data_o,
  input  logic [Units-1:0]             order_valid_i,
  input  logic [Units-1:0][31:0]       order_ticket_i,
  input  logic [Units-1:0][2:0]        order_layer_i,
  input  logic [Units-1:0][25:0]       order_behind_i,
  output logic [Units-1:0]             order_go_o,
  input  logic [Units-1:0]             layer_done_i,
  input  logic [Units-1:0][2:0]        layer_done_layer_i,
  input  written_t [Units-1:0]         written_i,
  output logic [Copies-1:0]            copy_valid_o,
  input  logic [Copies-1:0]            copy_ready_i,
  output copy_t                        copy_o,          // of all copy engines
  input  logic [Workers-1:0]           worker_end_valid_i,
  output logic [Workers-1:0]           worker_end_ready_o,
  input  end_t [Workers-1:0]           worker_end_i,
  // Ended tasks.
  output logic [Units-1:0][1:0]        done_o,          // tasks of a unit
  output logic [RINGS-1:0]             good_o,          // without an error, and
  output logic [RINGS-1:0][3:0]        good_samples_o,
  output logic [RINGS-1:0]             good_bootstrap_o,
  // Memory.
  output axi_read_req_t                mem_req_o,
  input  axi_read_rsp_t                mem_rsp_i
);
  localparam int unsigned SlotW = (Slots > 1) ? $clog2(Slots) : 1;
  localparam int unsigned UnitW = (Units > 1) ? $clog2(Units) : 1;
  localparam int unsigned CopyW = (Copies > 1) ? $clog2(Copies) : 1;

  // Progress of a ring's next job. It leaves its ring after StTake.
  typedef enum logic [3:0] {
    StNew,        // no job, or not checked yet
    StCheck,
    StTake,       // checked
    StSettings,   // TRAIN: its hyper-parameters are to be read,
    StRead,       // and are being read
    StFail,       // TRAIN: they are wrong; it wants a ticket
    StTicket,     // SYNC, ordered: it wants a ticket,
    StOrder,      // and waits for the earlier ones
    StReady,      // to be given to a unit or a copy engine
    StGive,       // offered to it
    StDrain,      // NET_LOAD: nothing may run
    StLoad,
    StOver        // it ends
  } state_e;
  state_e [RINGS-1:0] state_q;
  over_t [RINGS-1:0]  over_q;                // the job, and how it would end
  task_t [RINGS-1:0]  task_q;
  copy_t              copy_q;
  logic               dead_q, ends_none;
  assign dead_o = dead_q;

  // ---- The check: one job at a time, the rings in turn. While a network waits to be loaded, the
  // next jobs of the other rings wait for it.
  logic             check_start_q, check_busy, check_done, loading;
  logic [1:0]       check_ring_q;
  logic [7:0]       check_error;
  logic [31:0]      check_info0, check_info1;
  logic [1:0]       roles;
  network_t [Slots-1:0] networks;
  logic [RINGS-1:0] wants;
  logic [1:0]       next_ring;
  assign loading = state_q[RING_ADM] inside {StDrain, StLoad};
  always_comb begin
    roles = '0;
    for (int unsigned u = 0; u < Units; u++) roles = roles | roles_i[u];
    for (int unsigned r = 0; r < RINGS; r++) begin
      wants[r] = state_q[r] == StNew && job_valid_i[r] && !stop_i
                 && (!loading || 2'(r) == RING_ADM);
    end
    next_ring = check_ring_q;
    for (int unsigned k = RINGS; k > 0; k--) begin
      for (int unsigned r = 0; r < RINGS; r++) begin
        if ((32'(check_ring_q) + k) % RINGS == r && wants[r]) next_ring = 2'(r);
      end
    end
  end
  logic check_next;
  assign check_next = wants != '0 && !check_busy && !check_start_q && !check_done;
  jd_a3c_check #(.Slots (Slots), .Samples (Samples)) u_check (
    .clk_i,
    .rst_ni       (rst_ni && !clear_i),
    .start_i      (check_start_q),
    .ring_i       (check_ring_q),
    .descriptor_i (job_descriptor_i[check_ring_q]),
    .networks_i   (networks),
    .base_i, .limit_i,
    .roles_i      (roles),
    .layout_i,
    .busy_o       (check_busy),
    .done_o       (check_done),
    .error_o      (check_error),
    .info0_o      (check_info0),
    .info1_o      (check_info1)
  );

  // ---- Networks and hyper-parameters share a reader
  logic             net_start, net_busy, net_done;
  logic [7:0]       net_error;
  logic [31:0]      net_info0, net_info1;
  logic             net_cmd_valid, cmd_ready, beat_valid, net_beat_ready, beat_last, reader_idle;
  logic [39:0]      net_cmd_address;
  logic [15:0]      net_cmd_beats;
  logic [511:0]     beat;
  logic [1:0]       response;
  logic             read_valid, settings_valid;
  logic [SlotW-1:0] read_slot;
  logic [2:0]       read_layer;
  layer_t           layer;
  assign net_start = state_q[RING_ADM] == StDrain && quiet_o && !stop_i;
  assign settings_valid = state_q[RING_TRN] == StSettings && !net_busy;
  jd_a3c_network #(
    .Slots (Slots), .Pes (Pes), .Samples (Samples), .MapRows (MapRows),
    .ForwardRows (ForwardRows), .BackRows (BackRows), .GradRows (GradRows), .LineRows (LineRows)
  ) u_network (
    .clk_i, .rst_ni,
    .start_i       (net_start),
    .slot_i        (task_q[RING_ADM].slot[SlotW-1:0]),
    .address_i     (task_q[RING_ADM].theta),
    .busy_o        (net_busy),
    .done_o        (net_done),
    .error_o       (net_error),
    .info0_o       (net_info0),
    .info1_o       (net_info1),
    .cmd_valid_o   (net_cmd_valid),
    .cmd_ready_i   (cmd_ready),
    .cmd_address_o (net_cmd_address),
    .cmd_beats_o   (net_cmd_beats),
    .beat_valid_i  (beat_valid && net_busy),
    .beat_ready_o  (net_beat_ready),
    .beat_data_i   (beat),
    .beat_resp_i   (response),
    .beat_last_i   (beat_last),
    .networks_o    (networks),
    .read_valid_i  (read_valid),
    .read_slot_i   (read_slot),
    .read_layer_i  (read_layer),
    .layer_o       (layer)
  );
  jd_axi_read_mover #(.MaxOutstanding (1)) u_reader (
    .clk_i, .rst_ni,
    .idle_o        (reader_idle),
    .cmd_valid_i   (net_busy ? net_cmd_valid : settings_valid),
    .cmd_ready_o   (cmd_ready),
    .cmd_address_i (net_busy ? net_cmd_address : task_q[RING_TRN].objective),
    .cmd_beats_i   (net_busy ? net_cmd_beats : 16'd1),
    .out_valid_o   (beat_valid),
    .out_ready_i   (!net_busy || net_beat_ready),
    .out_data_o    (beat),
    .out_last_o    (beat_last),
    .out_resp_o    (response),
    .mem_req_o,
    .mem_rsp_i
  );
  logic settings_legal;
  always_comb begin
    settings_legal = !beat[127] && beat[126:96] != '0;      // eps is above 0
    for (int unsigned k = 0; k < 4; k++) begin
      if (beat[32*k+23+:8] == '1) settings_legal = 1'b0;
    end
  end
  jd_a3c_lookup #(.Units (Units), .Slots (Slots)) u_lookup (
    .clk_i, .rst_ni, .clear_i,
    .lookup_valid_i, .lookup_ready_o, .lookup_slot_i, .lookup_layer_i, .lookup_valid_o,
    .lookup_data_o,
    .networks_i    (networks),
    .read_valid_o  (read_valid),
    .read_slot_o   (read_slot),
    .read_layer_o  (read_layer),
    .layer_i       (layer),
    .loaded_i      (net_done),
    .net_i, .index_i, .constant_i, .constant_o
  );

  // ---- Tickets: an ordered SYNC's before a TRAIN's
  logic        ticket_ready, take_sync, take_train, order_turn;
  logic [31:0] ticket, first_ticket;
  logic [TICKETS-1:0] ended;
  logic [Workers-1:0][1:0] count;
  // A unit has passed all layers of a task before it asks for those of the next task, but the end
  // of the first task may not have arrived here.
  logic [Units-1:0][TICKET_W-1:0] asked, asked_q;
  for (genvar u = 0; u < Units; u++) begin : gen_ticket
    assign asked[u] = order_ticket_i[u][TICKET_W-1:0];
    always_ff @(posedge clk_i) if (order_valid_i[u]) asked_q[u] <= asked[u];
    `JD_ASSUME_IF(OrderOut_M, order_valid_i[u] && !dead_q && !clear_i,
                  order_ticket_i[u] - first_ticket < ticket - first_ticket)
  end
  logic               unused_info;
  assign unused_info = ^{check_info0, check_info1, net_info0, net_info1};
  logic [RINGS-1:0] picks;                   // the ring's task is given away from the next clock on
  assign take_sync  = state_q[RING_ADM] == StTicket && ticket_ready && !clear_i;
  assign take_train = (picks[RING_TRN] || state_q[RING_TRN] == StFail) && ticket_ready
                      && !take_sync && !clear_i;
  assign order_turn = first_ticket == over_q[RING_ADM].job.ticket;
  jd_a3c_tickets #(.Units (Units)) u_tickets (
    .clk_i, .rst_ni, .clear_i,
    .take_i         (take_sync || take_train),
    .ready_o        (ticket_ready),
    .number_o       (ticket),
    .first_o        (first_ticket),
    .done_valid_i   (layer_done_i & {Units{!dead_q}}),
    .done_ticket_i  (asked_q),
    .done_layer_i   (layer_done_layer_i),
    .ended_i        (ended),
    .written_i,
    .written_ticket_i (asked_q),
    .order_ticket_i (asked),
    .order_layer_i,
    .order_behind_i,
    .order_go_o     (order_go_o)
  );

  // ---- A task goes to the unit of its role that has the fewest tasks, or to a free copy engine.
  // One ring picks per clock, and it picks no unit that the other ring is offering to.
  logic [1:0][UnitW-1:0]   best, unit_q;
  logic [1:0]              found;
  logic [CopyW-1:0]        copy_best, copy_unit_q;
  logic                    copy_found;
  always_comb begin
    found      = '0;
    best       = '0;
    copy_found = 1'b0;
    copy_best  = '0;
    for (int unsigned r = 0; r < 2; r++) begin
      for (int unsigned n = 2; n > 0; n--) begin
        for (int unsigned u = Units; u > 0; u--) begin
          if (roles_i[u-1][r] && count[u-1] == 2'(n - 1)) begin
            found[r] = 1'b1;
            best[r]  = UnitW'(u - 1);
          end
        end
      end
    end
    for (int unsigned c = Copies; c > 0; c--) begin
      if (count[Units+c-1] == '0) begin
        copy_found = 1'b1;
        copy_best  = CopyW'(c - 1);
      end
    end
    picks = '0;
    picks[RING_ADM] = state_q[RING_ADM] == StReady && copy_found && !stop_i;
    picks[RING_TRN] = state_q[RING_TRN] == StReady && found[1] && ticket_ready
                      && state_q[RING_ADM] != StTicket && !stop_i
                      && !(state_q[RING_INF] == StGive && unit_q[0] == best[1]);
    picks[RING_INF] = state_q[RING_INF] == StReady && found[0] && !picks[RING_TRN] && !stop_i
                      && !(state_q[RING_TRN] == StGive && unit_q[1] == best[0]);
  end
  logic [RINGS-1:0] given;                   // the worker takes it
  assign given[RING_INF] = state_q[RING_INF] == StGive && task_ready_i[unit_q[0]];
  assign given[RING_TRN] = state_q[RING_TRN] == StGive && task_ready_i[unit_q[1]];
  assign given[RING_ADM] = state_q[RING_ADM] == StGive && copy_ready_i[copy_unit_q];
  assign copy_o = copy_q;
  always_comb begin
    task_valid_o = '0;
    copy_valid_o = '0;
    for (int unsigned u = 0; u < Units; u++) begin
      task_o[u] = task_q[RING_INF];
      if (state_q[RING_TRN] == StGive && unit_q[1] == UnitW'(u)) begin
        task_valid_o[u] = 1'b1;
        task_o[u]       = task_q[RING_TRN];
      end
      if (state_q[RING_INF] == StGive && unit_q[0] == UnitW'(u)) task_valid_o[u] = 1'b1;
    end
    if (state_q[RING_ADM] == StGive) copy_valid_o[copy_unit_q] = 1'b1;
  end

  // ---- Fields of the next jobs
  logic [RINGS-1:0][15:0][39:0] places;      // pairs of words
  logic [RINGS-1:0][31:0]       heads;
  logic                         copies, ordered;   // the job of ring 2 is a SYNC; an ordered SYNC
  for (genvar r = 0; r < RINGS; r++) begin : gen_job
    assign heads[r] = job_descriptor_i[r][31:0];
    for (genvar p = 0; p < 16; p++) begin : gen_place
      assign places[r][p] = job_descriptor_i[r][64*p+:40];
    end
  end
  assign copies  = heads[RING_ADM][7:0] == OP_SYNC;
  assign ordered = heads[RING_ADM][11];

  // ---- Steps
  logic [RINGS-1:0] takes, over_ready;
  always_comb begin
    for (int unsigned r = 0; r < RINGS; r++) begin
      takes[r] = job_valid_i[r] && !stop_i && state_q[r] == StTake;
    end
  end
  assign job_ready_o = takes;
  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < RINGS; r++) begin
      unique case (state_q[r])
        StNew: if (check_next && next_ring == 2'(r)) state_q[r] <= StCheck;
        StCheck: if (check_done && check_ring_q == 2'(r)) state_q[r] <= StTake;
        StTake: begin
          if (takes[r]) begin
            if (over_q[r].error != '0)      state_q[r] <= StOver;
            else if (2'(r) == RING_INF)     state_q[r] <= StReady;
            else if (2'(r) == RING_TRN)     state_q[r] <= StSettings;
            else if (!copies)               state_q[r] <= StDrain;
            else                            state_q[r] <= ordered ? StTicket : StReady;
          end
        end
        StSettings: if (cmd_ready && settings_valid) state_q[r] <= StRead;
        StRead: begin
          if (beat_valid) state_q[r] <= response != '0 || !settings_legal ? StFail : StReady;
        end
        StFail:   if (take_train) state_q[r] <= StOver;
        StTicket: if (take_sync) state_q[r] <= StOrder;
        StOrder:  if (order_turn) state_q[r] <= StReady;
        StReady:  if (picks[r]) state_q[r] <= StGive;
        StGive:   if (given[r]) state_q[r] <= StNew;
        StDrain:  if (net_start) state_q[r] <= StLoad;
        StLoad:   if (net_done) state_q[r] <= StOver;
        default:  if (over_ready[r]) state_q[r] <= StNew;
      endcase
      if (!rst_ni || clear_i) state_q[r] <= StNew;
    end
    check_start_q <= rst_ni && !clear_i && check_next;
    if (!rst_ni || (clear_i && ends_none && timeout_i == '0)) dead_q <= 1'b0;
    else if (timeout_i != '0 && !clear_i) dead_q <= 1'b1;
    if (!rst_ni) check_ring_q <= '0;
    else if (check_next) check_ring_q <= next_ring;
  end

  // ---- Fields of a job that are kept
  always_ff @(posedge clk_i) begin
    for (int unsigned r = 0; r < RINGS; r++) begin
      if (check_done && check_ring_q == 2'(r)) begin
        over_q[r].error <= check_error;
        over_q[r].info0 <= check_info0[7:0];
        over_q[r].info1 <= check_info1[15:0];
      end
      if (takes[r]) begin
        over_q[r].job <= '{
          number: job_number_i[r], samples: heads[r][23:20],
          bootstrap: heads[r][10], ticketed: 1'b0, ticket: '0};
        task_q[r] <= '{
          train: 2'(r) == RING_TRN, save: heads[r][8], slot: heads[r][19:16],
          layers: '0, samples: heads[r][23:20], ticket: '0,
          gather: layout_i == LayoutAlt1, second: '0,
          theta: places[r][1], source: places[r][2], target: places[r][3],
          g_source: places[r][4], g_target: places[r][5], objective: places[r][6],
          maps: places[r][15:8], settings: '0};
        for (int unsigned s = 0; s < Slots; s++) begin
          if (heads[r][19:16] == 4'(s)) begin
            task_q[r].layers <= networks[s].layers;
            if (layout_i == LayoutAlt2) begin
              task_q[r].second <= 26'(second_beats(networks[s].theta_beats));
            end
          end
        end
      end
    end
    if (takes[RING_ADM]) begin
      copy_q.source <= places[RING_ADM][2];
      copy_q.target <= places[RING_ADM][3];
      for (int unsigned s = 0; s < Slots; s++) begin
        if (heads[RING_ADM][19:16] == 4'(s)) begin
          copy_q.beats <= networks[s].theta_beats
              + (layout_i == LayoutAlt2 ? 26'(second_beats(networks[s].theta_beats)) : '0);
        end
      end
    end
    // The end of a NET_LOAD: from its check or from the network.
    if (state_q[RING_ADM] == StLoad && net_done) begin
      over_q[RING_ADM].error <= net_error;
      over_q[RING_ADM].info0 <= net_info0[7:0];
      over_q[RING_ADM].info1 <= net_info1[15:0];
    end
    // Hyper-parameters.
    if (state_q[RING_TRN] == StRead && beat_valid) begin
      task_q[RING_TRN].settings <= beat[127:0];
      over_q[RING_TRN].error    <= response != '0 ? E_BUS_RD : E_HPARAM;
      over_q[RING_TRN].info0    <= 8'(WORD_OBJECTIVE);
      over_q[RING_TRN].info1    <= 16'(response);
    end
    if (take_train) begin
      task_q[RING_TRN].ticket       <= ticket;
      over_q[RING_TRN].job.ticketed <= 1'b1;
      over_q[RING_TRN].job.ticket   <= ticket;
    end
    if (take_sync) begin
      over_q[RING_ADM].job.ticketed <= 1'b1;
      over_q[RING_ADM].job.ticket   <= ticket;
    end
    for (int unsigned r = 0; r < 2; r++) if (picks[r]) unit_q[r] <= best[r];
    if (picks[RING_ADM]) copy_unit_q <= copy_best;
  end

  // ---- Ends. A worker owes an end from the clock in which it is picked.
  logic [Workers-1:0]            give_valid;
  job_t [Workers-1:0]            give_job;
  logic [Workers-1:0][1:0]       give_ring;
  logic [RINGS-1:0]              over_valid;
  job_t                          train_job;
  always_comb begin
    train_job          = over_q[RING_TRN].job;
    train_job.ticketed = 1'b1;
    train_job.ticket   = ticket;
    give_valid = '0;
    for (int unsigned w = 0; w < Workers; w++) begin
      give_job[w]  = over_q[RING_ADM].job;
      give_ring[w] = RING_ADM;
    end
    for (int unsigned u = 0; u < Units; u++) begin
      give_job[u]  = over_q[RING_INF].job;
      give_ring[u] = RING_INF;
      if (picks[RING_INF] && best[0] == UnitW'(u)) give_valid[u] = 1'b1;
      if (picks[RING_TRN] && best[1] == UnitW'(u)) begin
        give_valid[u] = 1'b1;
        give_job[u]   = train_job;
        give_ring[u]  = RING_TRN;
      end
    end
    for (int unsigned c = 0; c < Copies; c++) begin
      if (picks[RING_ADM] && copy_best == CopyW'(c)) give_valid[Units+c] = 1'b1;
    end
    for (int unsigned r = 0; r < RINGS; r++) over_valid[r] = state_q[r] == StOver && !dead_q;
  end
  jd_a3c_ends #(.Units (Units), .Copies (Copies), .SingleCu (SingleCu)) u_ends (
    .clk_i, .rst_ni, .clear_i,
    .dead_i             (dead_q),
    .none_o             (ends_none),
    .give_valid_i       (give_valid),
    .give_job_i         (give_job),
    .give_ring_i        (give_ring),
    .count_o            (count),
    .worker_end_valid_i, .worker_end_ready_o, .worker_end_i,
    .taken_i            (takes),
    .taken_number_i     (job_number_i),
    .over_valid_i       (over_valid),
    .over_ready_o       (over_ready),
    .over_i             (over_q),
    .end_valid_o, .end_ready_i, .end_job_o, .end_error_o, .end_detail_o, .end_count_o,
    .end_info0_o, .end_info1_o,
    .ended_o            (ended),
    .done_o, .good_o, .good_samples_o, .good_bootstrap_o
  );

  // ---- Quiet: no worker has a task, and no task waits for a worker, but for networks to be loaded
  logic none;
  always_comb begin
    none = state_q[RING_INF] == StNew && state_q[RING_TRN] == StNew;
    for (int unsigned w = 0; w < Workers; w++) if (count[w] != '0) none = 1'b0;
  end
  assign quiet_o = none && reader_idle && !net_busy;
  assign idle_o  = reader_idle && !net_busy && !settings_valid;

  `JD_ASSERT_IF(OneReads_A, net_busy, state_q[RING_TRN] != StRead)
  `JD_ASSUME_IF(ClearIdle_M, clear_i, idle_o)
endmodule : jd_a3c_tasks
