/* Runs PTX text in the interpreter for tests.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_TESTS_SIM_PTX_HARNESS_H
#define HEDDLE_TESTS_SIM_PTX_HARNESS_H
#include "sim/interp/interp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

typedef struct {
    PtxRunResult res;
    char diags[2000]; /* everything reported */
    bool parsed, ran;
} TestRun;

/* Module header + `body` (whole functions); kernel `k` with the 64-bit parameters `params`. */
TestRun run_ptx(const char *text, const char *kernel, const uint32_t grid[3], const uint32_t block[3],
                uint32_t dynamic_shared_bytes, const uint64_t *params, unsigned nparams, SimMemory *mem,
                const PtxRunOptions *opt);
/* "kernel `k` with two pointer parameters in, out" around a body for one-dimensional launches: %tid, block
 * and grid index in %t (0 .. n-1), its output address in %o (8 bytes each). Free the result. */
char *wrap_kernel(const char *declarations, const char *body);
/* Runs a wrapped kernel on `n` threads of blocks of `block`; out[n] holds what the threads stored at [%o].
 * Fails the test on any diagnostic or trap. */
void run_wrapped(const char *declarations, const char *body, unsigned n, unsigned block, const uint64_t *in,
                 unsigned nin, uint64_t *out, uint64_t seed);
#endif
