// SPDX-License-Identifier: Apache-2.0
//
// The sparse data encoder: the grouping matrices and the lists that are made of them.
//
// Streams  in: an encoding to make; done_o pulses at its end. write, read: the grouping matrices.
//          scan, index: groups of a matrix with their greatest entries, narrow words for the
//          optimizer. peek_*: the lists of a layer.
// Timing   see jd_sparse_osel and jd_sparse_grp, which this connects. An encoding scans first.
// Numbers  indices, exact.
// Source   LearningGroup III-B; docs/sparse.md (encoder). Golden model: models/sparse/osel.py.
`include "jd_assert.svh"
module jd_sparse_encode
  import jd_sparse_pkg::*;
#(
  parameter  int unsigned GMax   = 32,                  // groups, power of two 1..32
  parameter  int unsigned DMax   = 512,                 // rows or columns, 8..512
  parameter  int unsigned LMax   = 8,                   // layers, 1..8
  parameter  int unsigned MRows  = 512,                 // lines of grouping entries, 1..512
  parameter  int unsigned MaxW   = 128,                 // grouping entries per clock: 32, 64 or 128
  parameter  int unsigned CmpW   = 64,                  // comparisons per clock: 8, 16, 32 or 64
  parameter  int unsigned HitW   = 4,                   // rows per clock: 1, 2 or 4
  parameter  bit          KeepBv = 1'b0,                // keeps bitvectors
  localparam int unsigned LineW  = 8 * GROUP_LINE
) (
  input  logic                  clk_i,
  input  logic                  rst_ni,
  input  logic                  in_valid_i,
  output logic                  in_ready_o,
  input  logic [LAYER_W-1:0]    in_number_i,
  input  layer_t                in_layer_i,
  input  logic                  in_exchanged_i,         // ENCT
  input  logic                  in_uncached_i,          // NOCACHE
  output logic                  done_o,
  output encoder_clocks_t       clocks_o,
  input  logic                  write_valid_i,
  input  logic [M_LINE_W-1:0]   write_line_i,
  input  logic [GROUP_LINE-1:0] write_mask_i,
  input  logic [LineW-1:0]      write_data_i,
  input  logic                  read_valid_i,
  output logic                  read_ready_o,
  input  logic [M_LINE_W-1:0]   read_line_i,
  output logic [LineW-1:0]      read_data_o,
  input  logic                  scan_valid_i,
  output logic                  scan_ready_o,
  input  logic [M_LINE_W-1:0]   scan_line_i,
  input  logic [DIM_W-1:0]      scan_rows_i,
  input  logic [2:0]            scan_log2_i,
  output logic                  index_valid_o,
  input  logic                  index_ready_i,
  output logic [HitW-1:0][GROUP_W-1:0] index_o,
  output logic [HitW-1:0][ENTRY_W-1:0] index_entry_o,
  input  logic [LAYER_W-1:0]    peek_layer_i,
  input  logic [INDEX_W-1:0]    peek_index_i,
  output place_of_t             peek_place_o,
  input  logic [INDEX_W-1:0]    peek_entry_i,
  output logic [INDEX_W-1:0]    peek_tuple_o,
  output directory_t            directory_o,
  input  logic [GROUP_W-1:0]    peek_group_i,
  input  logic [INDEX_W-1:0]    peek_slice_i,
  output logic [CmpW-1:0]       peek_bits_o
);
  logic                scan_valid, scan_ready, scan_narrow, index_valid, index_ready, index_user;
  logic [M_LINE_W-1:0] scan_line;
  logic [DIM_W-1:0]    scan_rows;
  logic [2:0]          scan_log2;
  logic [MaxW/2-1:0][GROUP_W-1:0] index;
  assign scan_ready_o  = scan_ready && !scan_valid;
  assign index_valid_o = index_valid && index_user;
  assign index_o       = index[HitW-1:0];
  jd_sparse_grp #(.MRows (MRows), .MaxW (MaxW), .HitW (HitW)) u_grp (
    .clk_i, .rst_ni,
    .scan_valid_i  (scan_valid || scan_valid_i),
    .scan_ready_o  (scan_ready),
    .scan_line_i   (scan_valid ? scan_line : scan_line_i),
    .scan_rows_i   (scan_valid ? scan_rows : scan_rows_i),
    .scan_log2_i   (scan_valid ? scan_log2 : scan_log2_i),
    .scan_narrow_i (!scan_valid || scan_narrow),
    .scan_user_i   (!scan_valid),
    .index_valid_o (index_valid),
    .index_ready_i (index_user ? index_ready_i : index_ready),
    .index_o       (index),
    .index_entry_o,
    .index_user_o  (index_user),
    .write_valid_i, .write_line_i, .write_mask_i, .write_data_i,
    .read_valid_i, .read_ready_o, .read_line_i, .read_data_o
  );
  jd_sparse_osel #(
    .GMax (GMax), .DMax (DMax), .LMax (LMax), .MaxW (MaxW), .CmpW (CmpW), .HitW (HitW),
    .KeepBv (KeepBv)
  ) u_osel (
    .clk_i, .rst_ni,
    .in_valid_i, .in_ready_o, .in_number_i, .in_layer_i, .in_exchanged_i, .in_uncached_i,
    .done_o, .clocks_o,
    .scan_valid_o  (scan_valid),
    .scan_ready_i  (scan_ready),
    .scan_line_o   (scan_line),
    .scan_rows_o   (scan_rows),
    .scan_log2_o   (scan_log2),
    .scan_narrow_o (scan_narrow),
    .index_valid_i (index_valid && !index_user),
    .index_ready_o (index_ready),
    .index_i       (index),
    .peek_layer_i, .peek_index_i, .peek_place_o, .peek_entry_i, .peek_tuple_o, .directory_o,
    .peek_group_i, .peek_slice_i, .peek_bits_o
  );
endmodule : jd_sparse_encode
