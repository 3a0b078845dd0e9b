/* The pass `colour`: physical registers for every value of a function. See regalloc.h for the steps.
 * SPDX-License-Identifier: MIT */
#include "regalloc/regalloc.h"
#include "ir/pass.h"

/* Operations that only told the allocator something. */
static void strip(Function *f) {
    FOR_BLOCKS(f, block_id) {
        Block *b = ir_block(f, block_id);
        unsigned n = 0;
        for (unsigned p = 0; p < b->insts.n; p++) {
            InstId id = b->insts.at[p];
            unsigned op = ir_inst(f, id)->op;
            if (op != IR_ENTRY && op != IR_UNDEF)
                b->insts.at[n++] = id;
        }
        b->insts.n = n;
    }
}

bool pass_colour(Function *f, Diags *d) {
    if (!f->entry.i)
        return true; /* declaration only */
    Arena a = {0};
    RaRecord rec = {0};
    bool ok =
        ra_prepare(f, d) && ra_spill(f, &a, &rec, d) && ra_colour(f, &a, &rec, d) && ra_check(f, &rec, d);
    arena_free(&a);
    if (!ok)
        return false;
    strip(f);
    ra_summarise(f);
    return true;
}
