// SPDX-License-Identifier: Apache-2.0
//
// Types that the learner's modules share: the stage program, and the modes of the tensor unit.
//
// Numbers  structs are packed in the order of the program image, word 0 in the low bits.
// Source   onchip_replay 3.2 (stages FW, LOSS, BW, WA, WU). Model: models/learner/program.py.
package jd_learner_pkg;
  localparam int unsigned STAGE_W   = 256;   // bits of a stage descriptor
  localparam int unsigned NET_MAX   = 8;     // networks that a stage can name
  localparam int unsigned STAGE_MAX = 64;    // stages of a program
  localparam int unsigned STAGE_L   = 6;
  localparam logic [7:0]  NO_STAGE  = 8'hFF; // dependency: none
  localparam int unsigned RESULT_LATENCY = 3; // clocks from the read of a result in the frames

  // Tensor units of a spatial pipeline, by their stages.
  localparam int unsigned UNITS         = 4;
  localparam logic [3:0]  UNIT_TARGET   = 4'd0;   // DOT of a target
  localparam logic [3:0]  UNIT_FORWARD  = 4'd1;   // DOT of online weights; hands LOSS on
  localparam logic [3:0]  UNIT_BACKWARD = 4'd2;   // AXPY
  localparam logic [3:0]  UNIT_GRADIENT = 4'd3;   // OUTER

  typedef enum logic [4:0] {
    OpNone  = 5'd0,
    OpDot   = 5'd1,     // forward: dst = act(W * src + b)
    OpAxpy  = 5'd2,     // backward: dst = (W^T * src) masked by aux > 0
    OpOuter = 5'd3,     // gradient: G += src (deltas) x aux (activations)
    OpLossQ = 5'd4,     // dst = gradient of the Q loss
    OpLossTd = 5'd5,    // dst = gradient of a critic's loss
    OpLossPi = 5'd6,    // dst = gradient of an actor's loss
    OpUpdate = 5'd7,    // WU
    OpTarget = 5'd8     // TSM
  } op_e;

  typedef enum logic [1:0] {
    ActNone  = 2'd0,
    ActRelu  = 2'd1,
    ActTanh  = 2'd2,    // DOT: the tangent of the result
    ActSlope = 2'd3     // DOT: the result times the tangent's slope at aux
  } act_e;

  localparam logic [7:0] NO_VECTOR   = 8'hFF;  // of the action: it is one int32
  localparam logic [1:0] LOSS_MAX    = 2'd0;   // LOSS_Q: y from the largest q2; LOSS_TD: from q2
  localparam logic [1:0] LOSS_DOUBLE = 2'd1;   // y from q2 at the largest qd
  localparam logic [1:0] LOSS_TWIN   = 2'd2;   // y from the smaller of q2 and qd

  // A stage descriptor; vectors are named by their first row in a sample's frame.
  typedef struct packed {
    logic [31:0] tau;            // word 7
    logic [31:0] kappa;          // word 6
    logic [31:0] param;          // word 5: see loss_param_t; WU slot 3:0; TSM period 15:0,
                                 //         Polyak 16
    logic [7:0]  wait_update;    // word 4, 31:24: networks whose update must have ended
    logic [7:0]  dep_c;
    logic [7:0]  dep_b;
    logic [7:0]  dep_a;
    logic [7:0]  offset;         // word 3, 31:24: lane of dst's first element; ActSlope: of aux's
    logic [7:0]  aux;
    logic [7:0]  dst;
    logic [7:0]  src;
    logic [15:0] bias;           // word 2, 31:16: first bias, a multiple of OB
    logic [15:0] row;            //         15:0:  first weight row, online bank
    logic [15:0] n_out;          // word 1
    logic [15:0] n_in;
    logic [11:0] reserved;       // word 0, 31:20
    logic        noise;          // ActTanh: the record's noise is added
    logic        delayed;        // runs in every d-th step only
    logic [3:0]  unit;           // of a spatial pipeline: unit_of; else 0
    logic        column;         // DOT: the weights are the copy of the network's columns
    logic        chain;          // the next descriptor belongs to this stage
    logic        no_bias;
    logic [1:0]  act;            // act_e; of AXPY: ActRelu masks by aux > 0
    logic        target;         // the current target bank
    logic [2:0]  net;
    logic [4:0]  op;             // op_e
  } stage_t;

  typedef struct packed {
    logic [4:0] reserved;
    logic       quiet;           // LOSS_TD: its TD errors stay here
    logic [1:0] mode;            // LOSS_*
    logic [7:0] chooser;         // vector qd; LOSS_TWIN: the second q2
    logic [7:0] next;            // vector q2
    logic [7:0] value;           // vector q
  } loss_param_t;

  // What a running step needs beside the stages; held from its start to its end.
  typedef struct packed {
    logic                     due;            // delayed stages run
    logic [7:0]               first;          // first stage: of the phase, of a forward pass
    logic [7:0]               noise;          // vector of the record's noise; 0: there is none
    logic [7:0]               action;         // vector of s and a; NO_VECTOR: there is none
    logic [NET_MAX-1:0][15:0] target_bias;    // added to a stage's bias, row: (1 + bank) * size
    logic [NET_MAX-1:0][15:0] target_row;
    logic [31:0]              inverse_batch;  // binary32
    logic [15:0]              batch;          // samples, 1..BMax
    logic                     parity;         // which copy of what a record fills
    logic [7:0]               stages;         // after the last stage
    logic [7:0]               frame_rows;     // rows of a sample's frame
    logic [7:0]               state_rows;     // of a copy of a vector that a record fills: two each
    logic [7:0]               next_state;     // vector s'
    logic [7:0]               state;          // vector s
  } step_t;

  typedef struct packed {
    logic [31:0] weight;         // importance-sampling weight w
    logic [31:0] discount;
    logic [31:0] reward;
    logic [31:0] action;         // int32
  } scalars_t;

  // Modes of the tensor unit.
  typedef enum logic [1:0] {
    ModeIdle  = 2'd0,
    ModeDot   = 2'd1,
    ModeAxpy  = 2'd2,
    ModeOuter = 2'd3
  } mode_e;

  // Where the result of an operation goes; it waits beside the arithmetic.
  typedef struct packed {
    logic        tangent;        // DOT: through jd_learner_tanh,
    logic        slope;          // for its slope, else the tangent,
    logic        noise;          // with noise
    logic [15:0] row;            // DOT, AXPY: frame memory row; OUTER: gradient row
    logic [6:0]  lane;           // DOT: of the first output
    logic [7:0]  count;          // outputs (DOT) or lanes (AXPY)
    logic [15:0] bias_row;       // DOT
    logic [4:0]  bias_lane;
    logic        no_bias;
    logic        act;            // DOT: ReLU; AXPY: mask
    logic        done;           // the sample's last result of this stage
    logic [5:0]  stage;
    logic [8:0]  sample;
  } tag_t;

  // One clock of work for the tensor unit.
  typedef struct packed {
    mode_e       mode;
    logic        w_read;         // read the weight row; else the one before holds
    logic        a_read;         // frame memory, port a: inputs (DOT, OUTER), activations (AXPY)
    logic        b_read;         // port b: gradients of the outputs (AXPY, OUTER); DOT: what
                                 //         the tangent needs
    logic [15:0] w_row;
    logic [15:0] a_row;
    logic [15:0] b_row;
    logic [6:0]  w_lane;         // AXPY: where the packed row begins
    logic [6:0]  b_lane;         // first of them in its row
    logic [2:0]  pitch;          // log2 of the lanes of a packed row, 2..log2 P
    logic [7:0]  inner;          // valid lanes of a packed row
    logic [7:0]  outer;          // valid packed rows
    logic        full;           // all lanes are valid
    logic        first;          // AXPY: j = 0; OUTER: first sample. Add to +0
    logic        last;           // DOT: last chunk; AXPY: last j. There is a result
    logic [2:0]  ladder;         // DOT: levels above the P-lane tree
    logic [3:0]  slot;           // AXPY: sample of the group
    logic        biased;         // OUTER: add to the bias gradients, too
    tag_t        tag;
  } operation_t;

  // The unit of a stage in a spatial pipeline; WU and TSM have none, which is 0.
  function automatic logic [3:0] unit_of(input stage_t stage);
    unique case (stage.op)
      OpDot:   return stage.target ? UNIT_TARGET : UNIT_FORWARD;
      OpAxpy:  return UNIT_BACKWARD;
      OpOuter: return UNIT_GRADIENT;
      OpLossQ, OpLossTd, OpLossPi: return UNIT_FORWARD;
      default: return 4'd0;
    endcase
  endfunction
  function automatic logic not_finite(input logic [31:0] value);
    return value[30:23] == 8'hFF;
  endfunction
  function automatic logic nan(input logic [31:0] value);
    return value[30:23] == 8'hFF && value[22:0] != '0;
  endfunction

  // a > b as IEEE 754 has it: zeros are equal, a NaN is never greater.
  function automatic logic greater(input logic [31:0] a, input logic [31:0] b);
    if (a[30:0] > 31'h7F80_0000 || b[30:0] > 31'h7F80_0000) greater = 1'b0;
    else if (a[30:0] == '0 && b[30:0] == '0) greater = 1'b0;
    else if (a[31] != b[31]) greater = b[31];
    else greater = a[31] ? a[30:0] < b[30:0] : a[30:0] > b[30:0];
  endfunction
endpackage : jd_learner_pkg
