// SPDX-License-Identifier: Apache-2.0
//
// Jobs of the replay engine: their descriptors, what is legal, and the words of its streams.
// Source: docs/replay.md, Jobs. Golden model: models/replay/engine.py.
package jd_replay_job_pkg;
  import jd_replay_pkg::*;
  import jd_replay_map_pkg::*;
  import jd_axi_pkg::beyond;
  import jd_engine_header_map_pkg::E_ADDR;
  import jd_engine_header_map_pkg::E_ALIGN;
  import jd_engine_header_map_pkg::E_OPCODE;
  import jd_engine_header_map_pkg::E_RESERVED;

  localparam int unsigned COUNT_W = 21;  // bits of a descriptor's count, up to 2^20

  // The memo is a ring of places, one a sampled slot, and of batches. Places count on over its end
  // and over one bit more, so that of two it is known which comes first.
  localparam int unsigned BATCH_W  = 7;           // 2^7 batches
  localparam int unsigned PLACES_W = 3;           // 2^3 of the largest batch, or more
  localparam int unsigned PLACE_W  = SLOT_W + PLACES_W + 1;

  typedef enum logic [7:0] {
    JobClear       = 8'd1,
    JobSample      = 8'd2,
    JobRetrieve    = 8'd3,
    JobUpdate      = 8'd4,
    JobUpdateDelta = 8'd5,
    JobInsert      = 8'd6,
    JobReserve     = 8'd7,
    JobCommit      = 8'd8,
    JobStream      = 8'd9,
    JobTrainLoop   = 8'd10,
    JobCheck       = 8'd11,
    JobGather      = 8'd12   // of ring 2 alone
  } job_e;

  // Flags, word 0 15:8 of a descriptor.
  typedef struct packed {
    logic weights;     // 7
    logic by_slot;     // 6: the index of an update is a slot of the batch sampled last
    logic to_stream;   // 5: samples go to SMP
    logic to_memory;   // 4: responses go to memory
    logic stratified;  // 3
    logic host_x;      // 2
    logic use_pmax;    // 1
    logic fp32;        // 0
  } flags_t;

  typedef struct packed {
    job_e               kind;
    flags_t             flags;
    logic [COUNT_W-1:0] count;
    logic [31:0]        batches;
    logic [39:0]        input_address;
    logic [39:0]        output_address;
    logic [31:0]        beta;             // 0: keep
  } job_t;

  // A GATHER.
  typedef struct packed {
    logic               responses;        // the indices are in responses, of 16 bytes
    logic [COUNT_W-1:0] count;
    logic [39:0]        input_address;
    logic [39:0]        output_address;
    logic [39:0]        storage_address;
    logic [20:0]        row_bytes;        // 16, 32 or a multiple of 64, at most 2^20
  } gather_t;

  // Tags of the tree core: who asked, and for what.
  typedef struct packed {
    logic               host;    // an operation of ring 1
    logic [22:0]        zero;
    logic               first;   // of ring 0: slot 0 of this batch
    logic [BATCH_W-1:0] batch;
  } batch_tag_t;

  typedef struct packed {
    logic        host;
    logic [14:0] zero;
    logic [15:0] tag;            // of the request
  } host_tag_t;

  // A word of TDE.
  typedef struct packed {
    logic [13:0] zero;
    logic [1:0]  kind;
    logic [15:0] slot;
    logic [31:0] value;          // FP32 TD error
  } tde_t;
  localparam logic [1:0] TDE_ERROR      = 2'd0;
  localparam logic [1:0] TDE_FETCH_DONE = 2'd1;

  // A response, and a word of SMP.
  typedef struct packed {
    logic [7:0]  status;
    logic [7:0]  op;
    logic [15:0] tag;
    logic [31:0] extra;          // SAMPLE: FP32 weight; else the old priority
    logic [31:0] priority_;
    logic [31:0] index;
  } response_t;

  localparam logic [31:0] ONE = 32'h3F800000;  // FP32 1.0

  // An operation of the update lane before its value is a priority.
  typedef struct packed {
    logic               host;      // of ring 1, else a word of TDE
    logic [15:0]        tag;
    op_e                op;
    logic               use_pmax;
    logic               fp32;      // the value is a TD error
    logic [BATCH_W-1:0] batch;     // UPDATE_SLOT: where the leaf is looked up
    logic [INDEX_W-1:0] index;     // leaf, or place
    logic [63:0]        value;
  } lane_op_t;

  // An operation of ring 1 and what is wrong with it by itself.
  typedef struct packed {
    lane_op_t    op;
    logic        host_x;
    logic        fine;           // nothing is, but perhaps
    logic        outside;        // no leaf has that index
    logic [7:0]  error;          // why it may not enter, if it is not fine
    logic [31:0] error_index;
    logic        beyond;         // no batch has so many slots
    logic        sample, slot, insert, commit, reserve;   // what has to be looked at in its turn
  } element_t;

  // Configuration, as the host wrote it.
  typedef struct packed {
    logic [31:0] leaves;         // N of the next CLEAR
    logic [31:0] pinit;
    logic [31:0] pmin;
    logic [31:0] largest;        // CFG_PCLIP, at most a leaf's largest value
    logic [31:0] eps;
    logic [15:0] alpha;
    logic [4:0]  fraction_bits;
    logic        relaxed;
    logic        no_fetch;
  } config_t;

  // The memo: a slot that is looked up, and what is found, one clock later; the last batch.
  typedef struct packed {
    logic [BATCH_W-1:0] batch;
    logic [PLACE_W-1:0] place;
  } lookup_t;

  typedef struct packed {
    logic [INDEX_W-1:0] index;   // the slot's leaf
    logic [INDEX_W-1:0] head;    // of order_t, for the batch's first sample
    logic [31:0]        moves;
  } found_t;

  typedef struct packed {
    logic               valid;   // there is one
    logic [BATCH_W-1:0] batch;
    logic [PLACE_W-1:0] place;   // of its first slot
    logic [SLOT_W:0]    size;
  } last_t;

  function automatic job_t job_of(logic [511:0] words);
    job_t job;
    job.kind           = job_e'(words[7:0]);
    job.flags          = words[15:8];
    job.count          = words[64+:COUNT_W];
    job.batches        = words[96+:32];
    job.input_address  = words[128+:40];
    job.output_address = words[192+:40];
    job.beta           = words[256+:32];
    return job;
  endfunction

  function automatic flags_t legal_flags(job_e kind);
    case (kind)
      JobSample:                        legal_flags = 8'b1011_1100;
      JobTrainLoop:                     legal_flags = 8'b1010_1000;
      JobUpdate:                        legal_flags = 8'b0101_0001;
      JobGather:                        legal_flags = 8'b0100_0000;
      JobInsert, JobCommit:             legal_flags = 8'b0001_0011;
      JobRetrieve, JobUpdateDelta, JobReserve, JobStream: legal_flags = 8'b0001_0000;
      default:                          legal_flags = 8'b0000_0000;
    endcase
  endfunction

  // Whether the job reads an array, and log2 of the bytes of one element.
  function automatic logic job_reads(job_t job);
    case (job.kind)
      JobSample:            job_reads = job.flags.host_x;
      JobInsert, JobCommit: job_reads = !job.flags.use_pmax;
      JobRetrieve, JobUpdate, JobUpdateDelta, JobStream: job_reads = 1'b1;
      default:              job_reads = 1'b0;
    endcase
  endfunction

  function automatic logic [2:0] element_log2(job_t job);
    return job.kind == JobRetrieve ? 3'd2 : job.kind == JobStream ? 3'd4 : 3'd3;
  endfunction

  function automatic logic is_pow2(logic [COUNT_W-1:0] value);
    return (value & (value - 1'b1)) == '0;
  endfunction

  // What is wrong with a descriptor by itself, each apart from the others.
  typedef struct packed {
    logic opcode;
    logic reserved;
    logic align;
    logic count;
    logic strat;
    logic clear;       // no error: the job needs no leaves
    logic input_beyond;
    logic [39:0] output_address;
    logic [35:0] output_bytes;
  } checks_t;

  // `host` is ring 1.
  function automatic checks_t checks_of(logic [511:0] words, logic host,
                                        logic [COUNT_W-1:0] batch_max);
    job_t job;
    logic sampling, reads, loop;
    logic [31:0] count;
    checks_t checks;
    job      = job_of(words);
    sampling = job.kind == JobSample || job.kind == JobTrainLoop;
    loop     = job.kind == JobTrainLoop;
    reads    = job_reads(job);
    count    = words[64+:32];
    checks.opcode   = words[7:0] == '0 || words[7:0] > JobCheck || sampling == host ||
                      (job.flags & ~legal_flags(job.kind)) != '0;
    checks.reserved = words[29:16] != '0 || words[168+:24] != '0 || words[232+:24] != '0 ||
                      words[511:288] != '0 || (words[256+:32] != '0 && !sampling) ||
                      (words[96+:32] != '0 && !sampling) || (words[128+:40] != '0 && !reads) ||
                      (words[192+:40] != '0 && !job.flags.to_memory);
    checks.align    = (reads && (job.input_address == '0 || job.input_address[5:0] != '0)) ||
                      (job.flags.to_memory &&
                       (job.output_address == '0 || job.output_address[5:0] != '0));
    checks.clear    = job.kind == JobClear;
    checks.count    = checks.clear || job.kind == JobCheck
                          ? count != '0
                          : count == '0 || (loop && words[96+:32] == '0) ||
                            (reads && sampling && words[97+:31] != '0) ||
                            (sampling && !loop && words[96+:32] > 32'd1 << 20) ||
                            count > (sampling ? 32'(batch_max) : 32'd1 << 20);
    checks.strat    = job.flags.stratified && !is_pow2(job.count);
    checks.input_beyond   = reads && beyond(job.input_address, 64'(job.count) << element_log2(job));
    checks.output_address = job.output_address;
    // Of 16 bytes each: a SAMPLE's of all its batches, all others' are counted.
    checks.output_bytes   = '0;
    if (job.flags.to_memory) begin
      checks.output_bytes[35:4] = host || job.batches == '0 ? 32'(job.count)
                                  : 32'(job.count[SLOT_W:0]) * 32'(job.batches[COUNT_W-1:0]);
    end
    return checks;
  endfunction

  // Whether an array does not lie wholly below 2^40.
  function automatic logic job_beyond(checks_t checks);
    return checks.input_beyond || beyond(checks.output_address, 64'(checks.output_bytes));
  endfunction

  // The first of it; 0 if nothing is.
  function automatic logic [7:0] job_error(checks_t checks, logic cleared);
    logic [7:0] error;
    if (checks.opcode) error = E_OPCODE;
    else if (checks.reserved) error = E_RESERVED;
    else if (checks.align) error = E_ALIGN;
    else if (checks.count) error = E_COUNT;
    else if (checks.strat) error = E_STRAT;
    else if (!checks.clear && !cleared) error = E_NOTCLEAR;
    else error = job_beyond(checks) ? E_ADDR : '0;
    return error;
  endfunction

  // Whether there is none.
  function automatic logic job_fine(checks_t checks, logic cleared);
    return !checks.opcode && !checks.reserved && !checks.align && !checks.count && !checks.strat &&
           (checks.clear || cleared) && !job_beyond(checks);
  endfunction

  function automatic gather_t gather_of(logic [511:0] words);
    gather_t job;
    job.responses       = words[14];
    job.count           = words[64+:COUNT_W];
    job.input_address   = words[128+:40];
    job.output_address  = words[192+:40];
    job.row_bytes       = words[288+:21];
    job.storage_address = words[320+:40];
    return job;
  endfunction

  // What is wrong with the descriptor of a GATHER, each apart from the others.
  typedef struct packed {
    logic opcode;
    logic reserved;
    logic align;
    logic count;
    logic input_beyond;
    logic [39:0] output_address;
    logic [41:0] output_bytes;
    logic [39:0] storage_address;
    logic [41:0] storage_bytes;
  } gather_checks_t;

  function automatic gather_checks_t gather_checks_of(logic [511:0] words,
                                                      logic [INDEX_W:0] leaves);
    gather_t job;
    gather_checks_t checks;
    logic [31:0] count, bytes;
    job   = gather_of(words);
    count = words[64+:32];
    bytes = words[288+:32];
    checks.opcode   = words[7:0] != JobGather || (words[15:8] & ~legal_flags(JobGather)) != '0;
    checks.reserved = words[29:16] != '0 || words[96+:32] != '0 || words[168+:24] != '0 ||
                      words[232+:24] != '0 || words[256+:32] != '0 || words[360+:24] != '0 ||
                      words[511:384] != '0;
    checks.align    = job.input_address == '0 || job.input_address[5:0] != '0 ||
                      job.output_address == '0 || job.output_address[5:0] != '0 ||
                      job.storage_address[5:0] != '0 || bytes > 32'd1 << 20 ||
                      !(bytes inside {32'd16, 32'd32} || (bytes[5:0] == '0 && bytes != '0));
    checks.count    = count == '0 || count > 32'd1 << 20;
    checks.input_beyond    = beyond(job.input_address,
                                    64'(job.count) << (job.responses ? 3'd4 : 3'd2));
    checks.output_address  = job.output_address;
    checks.output_bytes    = {38'(job.count) * 38'(job.row_bytes[20:4]), 4'd0};
    checks.storage_address = job.storage_address;
    checks.storage_bytes   = {38'(leaves) * 38'(job.row_bytes[20:4]), 4'd0};
    return checks;
  endfunction

  // The first of it; 0 if nothing is.
  function automatic logic [7:0] gather_error(gather_checks_t checks, logic cleared);
    logic [7:0] error;
    if (checks.opcode) error = E_OPCODE;
    else if (checks.reserved) error = E_RESERVED;
    else if (checks.align) error = E_ALIGN;
    else if (checks.count) error = E_COUNT;
    else if (!cleared) error = E_NOTCLEAR;
    else if (checks.input_beyond || beyond(checks.output_address, 64'(checks.output_bytes)) ||
             beyond(checks.storage_address, 64'(checks.storage_bytes))) error = E_ADDR;
    else error = '0;
    return error;
  endfunction
endpackage : jd_replay_job_pkg
