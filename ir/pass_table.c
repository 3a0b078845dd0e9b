/* The rows of passes.def as a table. In a library of its own, because it names functions of every folder.
 * SPDX-License-Identifier: MIT */
#include "ir/pass.h"

#define PASS_FN_FUNC(name) .func = pass_##name
#define PASS_FN_MODULE(name) .module = pass_##name
#define PASS(id, kind, min, text, need, give)                                                                \
    {.name = #id,                                                                                            \
     .what = (text),                                                                                         \
     PASS_FN_##kind(id),                                                                                     \
     .min_opt_level = (min),                                                                                 \
     .needs = (need),                                                                                        \
     .gives = (give)},
static const PassDesc table[] = {
#include "ir/passes.def"
    {0} /* so that the table is never empty */
};
#undef PASS

const PassDesc *ir_passes(unsigned *n) {
    *n = sizeof table / sizeof *table - 1;
    return table;
}

bool ir_run_passes(IrModule *m, const PassOptions *opt, Diags *d) {
    unsigned n;
    const PassDesc *t = ir_passes(&n);
    return ir_run_pass_table(m, t, n, opt, d);
}
