/* SPDX-License-Identifier: MIT */
#include "check/prove_int.h"
struct ProveZ3 *prove_z3_open(void) { return NULL; }
void prove_z3_close(struct ProveZ3 *z) { (void)z; }
ZqResult prove_z3_equal(struct ProveZ3 *z, Terms *ts, Term *cond, Term *x, Term *y, bool b, double s) {
    (void)z; (void)ts; (void)cond; (void)x; (void)y; (void)b; (void)s;
    return ZQ_UNKNOWN;
}
