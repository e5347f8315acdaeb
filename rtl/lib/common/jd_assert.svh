// SPDX-License-Identifier: Apache-2.0
//
// The checks of Jackdaw's RTL: boolean properties, clocked by clk_i and off while rst_ni is low, in
// a form that Verilator simulates and Yosys (read_slang) proves. The suffix of a name says what it
// is: _A assertion, _M assumption about inputs. In a proof (FORMAL) assumptions constrain the
// inputs; in simulation they are asserted like the rest.
//
//   JD_ASSERT(name, expression)             holds in every clock
//   JD_ASSERT_IF(name, when, expression)    holds in every clock in which `when` does
//   JD_ASSERT_NEXT(name, when, expression)  holds in the clock after one in which `when` did
//   JD_ASSERT_STABLE(name, when, payload)   is as it was, in the clock after one in which `when` held
//   JD_ASSERT_STREAM(name, valid, ready, payload)
//                                           a word that is offered and not taken stays as it is
//
// and the same five as JD_ASSUME. A line needs no semicolon.
`ifndef JD_ASSERT_SVH
`define JD_ASSERT_SVH

// Registers and inputs start random in simulation, which makes clock edges at time 0 that are none.
`ifdef FORMAL
`define JD_CHECK_CLOCKING @(posedge clk_i) disable iff (!rst_ni)
`else
`define JD_CHECK_CLOCKING @(posedge clk_i) disable iff (!rst_ni || $time == 0)
`endif

`ifdef VERILATOR
// Statements, which see at the edge what registers see. A property would cost a copy of every signal
// in it each clock, and would compare payloads also when nothing waits.
`define JD_CHECKED(body) \
  /*verilator coverage_off*/ /*verilator lint_off CMPCONST*/ \
  always_ff @(posedge clk_i) body \
  /*verilator lint_on CMPCONST*/ /*verilator coverage_on*/

`define JD_CHECK(name, broken) \
  if (broken) begin \
    if (rst_ni && $time != 0) name : assert (1'b0) else $error(`"name`"); \
  end

`define JD_ASSERT(name, expression) \
  `JD_CHECKED(`JD_CHECK(name, !(expression)))

`define JD_ASSERT_IF(name, when, expression) \
  `JD_CHECKED(if (when) `JD_CHECK(name, !(expression)))

`define JD_ASSERT_NEXT(name, when, expression) \
  `JD_CHECKED(begin : name``_check \
    logic was; \
    if (was) `JD_CHECK(name, !(expression)) \
    was = rst_ni && (when); \
  end)

`define JD_ASSERT_STABLE(name, when, payload) \
  `JD_CHECKED(begin : name``_check \
    logic was; \
    logic [$bits(payload)-1:0] held; \
    if (was) `JD_CHECK(name, held != (payload)) \
    was = rst_ni && (when); \
    if (was) held = payload; \
  end)

`define JD_ASSERT_STREAM(name, valid, ready, payload) \
  `JD_CHECKED(begin : name``_check \
    logic was; \
    logic [$bits(payload)-1:0] held; \
    if (was) `JD_CHECK(name, !(valid) || held != (payload)) \
    was = rst_ni && (valid) && !(ready); \
    if (was) held = payload; \
  end)

`else

`define JD_ASSERT(name, expression) \
  name : assert property (`JD_CHECK_CLOCKING (expression)) else $error(`"name`");

`define JD_ASSERT_IF(name, when, expression) \
  name : assert property (`JD_CHECK_CLOCKING ((when) -> (expression))) else $error(`"name`");

`define JD_ASSERT_NEXT(name, when, expression) \
  name : assert property (`JD_CHECK_CLOCKING ($past(rst_ni && (when)) -> (expression))) \
    else $error(`"name`");

`define JD_ASSERT_STABLE(name, when, payload) `JD_ASSERT_NEXT(name, when, $stable(payload))

`define JD_ASSERT_STREAM(name, valid, ready, payload) \
  name : assert property (`JD_CHECK_CLOCKING \
      ($past(rst_ni && (valid) && !(ready)) -> ((valid) && $stable(payload)))) else $error(`"name`");

`endif

`ifdef FORMAL

`define JD_ASSUME(name, expression) \
  name : assume property (`JD_CHECK_CLOCKING (expression));

`define JD_ASSUME_IF(name, when, expression) \
  name : assume property (`JD_CHECK_CLOCKING ((when) -> (expression)));

`define JD_ASSUME_NEXT(name, when, expression) \
  name : assume property (`JD_CHECK_CLOCKING ($past(rst_ni && (when)) -> (expression)));

`define JD_ASSUME_STABLE(name, when, payload) `JD_ASSUME_NEXT(name, when, $stable(payload))

`define JD_ASSUME_STREAM(name, valid, ready, payload) \
  name : assume property (`JD_CHECK_CLOCKING \
      ($past(rst_ni && (valid) && !(ready)) -> ((valid) && $stable(payload))));

`else

`define JD_ASSUME(name, expression) `JD_ASSERT(name, expression)
`define JD_ASSUME_IF(name, when, expression) `JD_ASSERT_IF(name, when, expression)
`define JD_ASSUME_NEXT(name, when, expression) `JD_ASSERT_NEXT(name, when, expression)
`define JD_ASSUME_STABLE(name, when, payload) `JD_ASSERT_STABLE(name, when, payload)
`define JD_ASSUME_STREAM(name, valid, ready, payload) \
  `JD_ASSERT_STREAM(name, valid, ready, payload)

`endif
`endif
