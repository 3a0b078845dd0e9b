/* The pass `groups`: WARPGROUP.ARRIVE in front of products of warp groups and WARPGROUP.DEPBAR behind them. A
 * product runs on while others issue, and reads and writes its registers meanwhile; nothing in between may
 * touch them, so each is waited for at once. Done when registers and order are final: what spills or copies a
 * result comes behind the wait. In, out: physical instructions in final order. Products are what the table
 * says has their pace. SPDX-License-Identifier: MIT */
#include "emit/emit.h"
#include "ir/pass.h"

static bool is_group_product(unsigned op) { return isa_traits(op)->pace == ISA_PACE_PRODUCT; }

bool pass_groups(Function *f, Diags *diags) {
    (void)diags;
    if (!f->entry.i)
        return true;
    FOR_BLOCKS(f, b)
        for (unsigned at = 0; at < ir_block(f, b)->insts.n; at++) {
            InstId product = ir_inst_at(f, b, at);
            if (!is_group_product(ir_inst(f, product)->op))
                continue;
            InstId before = ir_inst_new(f, OT_WARPGROUP_ARRIVE, 0, 0);
            InstId behind = ir_inst_new(f, OT_WARPGROUP_DEPBAR, 0, 1);
            ir_inst(f, before)->loc = ir_inst(f, behind)->loc = ir_inst(f, product)->loc;
            ir_set_src(f, behind, 0, op_imm(0));
            ir_insert(f, b, at + 1, behind);
            ir_insert(f, b, at, before);
            at += 2;
        }
    return true;
}
