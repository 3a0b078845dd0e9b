/* Shared by the parts of the fuzzer.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_INT_H
#define HEDDLE_CHECK_FUZZ_INT_H
#include "check/fuzz.h"
#include "check/gen_int.h"

/* fuzz_check that adds runs, ptx_insns and machine_issues to `counts`. */
FuzzVerdict fuzz_check_counted(const GenProgram *p, const FuzzConfig *configs, unsigned n, unsigned *failed,
                               FuzzCounts *counts);
/* GenForms.usable: the front end, lowering and the interpreter take the module. */
bool fuzz_usable(void *user, const char *module, size_t size_bytes);
double fuzz_now(void); /* seconds */
#endif
