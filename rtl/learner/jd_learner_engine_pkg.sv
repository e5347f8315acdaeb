// SPDX-License-Identifier: Apache-2.0
//
// Types of the learner engine outside its pipelines: networks, optimizers, jobs.
package jd_learner_engine_pkg;
  localparam int unsigned LAYERS = 6;           // most layers that a program image can state

  typedef logic [8:0][31:0] slot_t;             // an optimizer slot's words 0..8

  // A network's forward pass: a chain of DOT stages.
  typedef struct packed {
    logic [7:0]  first;                         // its first stage
    logic [7:0]  behind;                        // after its last stage
    logic [7:0]  source;                        // vector of the input, one that a record fills
    logic [15:0] n_in;                          // words of it
    logic [7:0]  result;                        // row of the output
    logic [6:0]  lane;                          // of its first word
    logic        parted;                        // a copy of it for each parity, as of the input
    logic [15:0] n_out;
  } pass_t;

  // A network of the program, with where its parameters are.
  typedef struct packed {
    logic [LAYERS-1:0][31:0] layers;            // n_in 15:0, n_out 31:16
    logic [7:0]              layer_count;
    logic                    has_target;
    logic [15:0]             row_base;          // weights, in rows of P words, of the online bank
    logic [15:0]             rows;              // a bank
    logic [15:0]             bias_base;         // biases, of the online bank
    logic [15:0]             biases;            // a bank
    logic [15:0]             beats;             // 64-byte beats of its parameter image
    logic [23:0]             master_base;       // first group in the master memories
    logic [3:0]              slot;              // optimizer slot of its last WU
    logic [15:0]             column;            // first input whose column is kept twice,
    logic [15:0]             columns;           // number of these, 0 for none,
    logic [15:0]             column_row;        // and first memory row of the copy
    pass_t                   forward;           // what INFER runs, if the program has it
  } network_t;

  // The scalars `t` of a network.
  typedef struct packed {
    logic [31:0] waited;                        // network 0: steps since the delayed stages ran
    logic [31:0] c1;                            // 1 - beta1 to the power of the steps, FP32
    logic [31:0] c2;                            // the same of beta2
    logic [31:0] lr;                            // learning rate now, FP32
    logic [31:0] since;                         // steps since the last target copy
  } update_state_t;

  // A WU or TSM stage of the program.
  typedef struct packed {
    logic        delayed;                       // runs in every d-th step only
    logic        second;                        // ends the second phase, not the first
    logic        is_target;                     // TSM, else WU
    logic [2:0]  net;
    logic [3:0]  slot;                          // WU
    logic        polyak;                        // TSM
    logic [15:0] period;
    logic [31:0] tau;
  } update_t;

  // The job's fetches, a batch each; see jd_learner_fetch.
  typedef struct packed {
    logic        job_start;                     // a job begins: takes its addresses
    logic        start;
    logic        parity;
    logic [15:0] batch;                         // samples, held until done
    logic        flush;
  } fetch_req_t;

  typedef struct packed {
    logic        busy;
    logic        done;
    logic [7:0]  error;                         // with done; 0 ok
    logic [31:0] slot;                          // with an error
    logic [1:0]  response;                      // with E_BUS_RD
    logic        wait_index;                    // no word from SMP
  } fetch_rsp_t;

  // Requests to the pipelines; see jd_learner_pipes.
  typedef struct packed {
    logic        start;
    logic        drop;                          // what they do
    logic        parity;
    logic        phase;                         // the second one
    logic        due;                           // delayed stages run
    logic [15:0] batch;                         // samples
  } step_req_t;

  typedef struct packed {
    logic        busy;
    logic        done;
    logic        nonfinite;                     // a NaN or an infinity: the first stage, sample
    logic [7:0]  nonfinite_stage;
    logic [15:0] nonfinite_sample;
    logic        index;                         // an action out of range: the first sample
    logic [15:0] index_sample;
  } step_rsp_t;

  // Requests about a step's results; see jd_learner_results.
  typedef struct packed {
    logic        job_start;                     // as of fetch
    logic        running;                       // deltas count
    logic        td_clear;
    logic        td_fetch_done;
    logic        td_abort;
    logic        td_go;                         // the step is without error,
    logic        accept;                        // and its updates begin
    logic [39:0] td_address;
    logic        infer_start;                   // with parity and batch of the round
  } results_req_t;

  typedef struct packed {
    logic        td_room;
    logic        td_empty;
    logic        td_memory_done;
    logic [1:0]  td_memory_resp;
    logic        td_memory_busy;
    logic        stats_ready;
    logic        infer_busy;
    logic        infer_done;
    logic [1:0]  infer_response;
  } results_rsp_t;

  // Requests about parameters, for WU, TSM, jd_learner_columns and the image unit.
  typedef struct packed {
    logic [1:0]    owner;                       // of masters and weights: 0 WU, 1 TSM, 2 image
    update_t       update;                      // the present stage
    update_state_t scalars;                     // of the present network
    logic          update_start;
    logic          target_start;
    logic          columns_start;
    logic          columns_busy;                // a copy of columns is made, of this network
    logic [2:0]    columns_net;
    logic          image_start;
    logic          gradient_image;              // of gradients: GRADS, APPLY
  } parameters_req_t;

  typedef struct packed {
    logic          update_done;
    update_state_t updated;                     // with it: scalars after WU
    logic          target_done;
    logic          columns_done;
    logic [7:0]    columns;                     // networks with a copy of columns
    logic          image_busy;
    logic          image_done;
    logic [1:0]    image_response;              // with it
    logic [2:0]    image_net;                   // the present network
    logic          image_scalars_write;
    update_state_t image_scalars;
  } parameters_rsp_t;

  // Where LW words of a parameter image lie in the pipelines' memories.
  typedef struct packed {
    logic        bias;                          // in that of biases, else of weights
    logic [15:0] row;                           // weights: row of P words,
    logic [6:0]  sub;                           // and group of LW in it
    logic [15:0] bias_index;                    // biases: first one
  } place_t;

  // A client of the engine's memory port: a command, then its beats of 64 bytes, in order. An answer
  // goes to all clients; the client that has the port waits for it.
  typedef struct packed {
    logic         cmd_valid;
    logic [39:0]  cmd_address;                  // a multiple of 64
    logic [15:0]  cmd_beats;
    logic         ready;                        // takes a beat
  } read_req_t;

  typedef struct packed {
    logic         cmd_ready;
    logic         valid;
    logic [511:0] data;
    logic         last;                         // of the command
    logic [1:0]   resp;
  } read_rsp_t;

  typedef struct packed {
    logic         cmd_valid;
    logic [39:0]  cmd_address;
    logic [15:0]  cmd_beats;
    logic         valid;
    logic [511:0] data;
    logic [63:0]  strb;
    logic         done_ready;                   // takes a command's response
  } write_req_t;

  typedef struct packed {
    logic         cmd_ready;
    logic         ready;
    logic         done_valid;
    logic [1:0]   done_resp;
  } write_rsp_t;

  // Progress of the engine, for the registers.
  typedef struct packed {
    logic [31:0] steps;                         // gradient steps done
    logic [31:0] version;                       // of the weights
    logic [31:0] nonfinite_count;               // steps that ended with a NaN or an infinity,
    logic [7:0]  nonfinite_stage;               // and the stage of the first of these
    logic [15:0] nonfinite_sample;
  } progress_t;

  // Records, sample frames and stages, as the program defines them.
  typedef struct packed {
    logic [7:0]  nets;                          // networks that it has,
    logic [7:0]  targets;                       // those with a target,
    logic [7:0]  passes;                        // with a forward pass,
    logic [7:0]  trained;                       // with a WU,
    logic [7:0]  prompt;                        // with a WU that is not delayed
    logic [7:0]  stages;
    logic [15:0] state_words;                   // S
    logic [15:0] action_words;                  // A, of binary32; 0: the action is one int32
    logic [7:0]  frame_rows;                    // of a sample
    logic [7:0]  state_rows;                    // of a copy of a vector that a record fills
    logic [7:0]  state;                         // these vectors: s,
    logic [7:0]  next_state;                    // s',
    logic [7:0]  action;                        // s and a, if A is not 0,
    logic [7:0]  noise;                         // noise; 0: records have none
    logic [15:0] delay;                         // delayed stages run in every d-th step; 0: none
    logic        phases;                        // there are two phases
    logic [7:0]  second;                        // first stage of the second
    logic [4:0]  updates;                       // WU and TSM stages
  } plan_t;

  // Opcodes.
  localparam logic [7:0] JOB_LOAD    = 8'd1;
  localparam logic [7:0] JOB_STORE   = 8'd2;
  localparam logic [7:0] JOB_PROGRAM = 8'd3;
  localparam logic [7:0] JOB_TRAIN   = 8'd4;
  localparam logic [7:0] JOB_INFER   = 8'd5;
  localparam logic [7:0] JOB_GRADS   = 8'd7;
  localparam logic [7:0] JOB_APPLY   = 8'd8;

  // Contents of an image: bit numbers of the descriptor's mask.
  localparam int unsigned KIND_WEIGHTS = 0;
  localparam int unsigned KIND_MOMENT  = 1;
  localparam int unsigned KIND_VARIANCE = 2;
  localparam int unsigned KIND_TARGET  = 3;
  localparam int unsigned KIND_SCALARS = 4;
endpackage : jd_learner_engine_pkg
