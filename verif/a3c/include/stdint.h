// SPDX-License-Identifier: Apache-2.0
//
// The design's package has a constant of the name of a macro of the C library. Verilator writes the
// constants of packages into headers when signals are public, so the macro must go.
#include_next <stdint.h>
#undef SIZE_MAX
