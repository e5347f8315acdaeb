// SPDX-License-Identifier: Apache-2.0
//
// What the floating-point blocks share: the class of a result, how the steps of an operation are
// spread over pipeline stages, and the count of leading zeros.
//
// Numbers  kind_e tells the results that need no arithmetic from the others; leading_zeros_* count
//          from the top bit and give the largest count for an operand of zero, too.
// Source   IEEE 754-2019, 3.4 and 6.
package jd_float_pkg;
  typedef enum logic [1:0] {
    KindNumber   = 2'd0,   // the result comes from the arithmetic
    KindZero     = 2'd1,
    KindInfinity = 2'd2,
    KindNan      = 2'd3    // leaves as the canonical quiet NaN: sign 0, only the top fraction bit
  } kind_e;

  // The first of `steps` steps that stage `stage` does; it does all before that of the next stage.
  // With more stages than steps, the surplus does nothing and comes after stage 0.
  function automatic int unsigned first_step(input int unsigned stage, input int unsigned steps,
                                             input int unsigned stages);
    int unsigned idle;
    int unsigned place;
    idle  = (stages > steps) ? stages - steps : 0;
    place = (stage > idle) ? stage - idle : 1;
    return (stage == 0) ? 0 : place * steps / (stages - idle);
  endfunction

  // Chooses the byte with the leading one by whether the bytes are empty, then counts in it.
  // Narrower operands are put at the top, and synthesis drops the empty bits.
  function automatic logic [4:0] leading_zeros_32(input logic [31:0] value);
    logic [4:0] count;
    logic [7:1] rest;   // of the byte
    count[4] = value[31:16] == '0;
    count[3] = count[4] ? value[15:8] == '0 : value[31:24] == '0;
    rest     = 7'(value >> {~count[4:3], 3'b001});
    count[2] = rest[7:4] == '0;
    count[1] = rest[7:6] == '0 && (rest[5:4] != '0 || rest[3:2] == '0);
    count[0] = !rest[7] & (rest[6] | (!rest[5] & (rest[4] | (!rest[3] & (rest[2] | !rest[1])))));
    return count;
  endfunction

  // The same in fewer levels and more logic: every byte is counted beside the choice.
  function automatic logic [4:0] leading_zeros_flat_32(input logic [31:0] value);
    logic [3:0][2:0] count;
    for (int i = 0; i < 4; i++) begin
      logic [7:1] rest;   // of the byte
      rest        = value[8*i+1+:7];
      count[i][2] = rest[7:4] == '0;
      count[i][1] = rest[7:6] == '0 && (rest[5:4] != '0 || rest[3:2] == '0);
      count[i][0] = !rest[7] & (rest[6] | (!rest[5] & (rest[4] | (!rest[3]
                    & (rest[2] | !rest[1])))));
    end
    if (value[31:24] != '0)      return {2'd0, count[3]};
    else if (value[23:16] != '0) return {2'd1, count[2]};
    else if (value[15:8] != '0)  return {2'd2, count[1]};
    else                         return {2'd3, count[0]};
  endfunction

  function automatic logic [5:0] leading_zeros_64(input logic [63:0] value);
    logic upper_empty;
    upper_empty = value[63:32] == '0;
    return {upper_empty, leading_zeros_32(upper_empty ? value[31:0] : value[63:32])};
  endfunction
endpackage : jd_float_pkg
