// SPDX-License-Identifier: Apache-2.0
//
// What accompanies a product from jd_a3c_issue to the processing elements.
package jd_a3c_issue_pkg;
  typedef struct packed {
    logic        valid;
    logic        half;          // of the sums
    logic [4:0]  index;         // of the sum
    logic        fresh;         // the sum begins at +0
    logic        one;           // the factor of a group is 1
    logic        lane;          // that of a lane is from the lane buffer, else a parameter
    logic [1:0]  lanes;         // log2 of lanes/16
    logic        line_half;     // of the line buffers
    logic        lane_half;     // of the lane buffer,
    logic [5:0]  entry;         // its entry
    logic [15:0] position;      // in the parameter buffer
  } issue_t;
endpackage : jd_a3c_issue_pkg
