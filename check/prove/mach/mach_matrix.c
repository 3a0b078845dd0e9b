/* Matrices of a warp, the machine's side: see ptx_matrix.c. It asks for operations by name, since which
 * modifiers tell one product from another, and by which name, is no column of the rows.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"

/* A word of operand `i` of a product. A minus is of all elements of a factor: of tf32 that is the word's
 * sign. */
static Term *fragment_word(Mach *mach, unsigned i, unsigned c) {
    const MachInst *in = mach->in;
    Terms *ts = &mach->prover->ts;
    _Static_assert((int)HMMA_rc == (int)HMMA_SP_rc && HMMA_ra < HMMA_rc && HMMA_rb < HMMA_rc, "factors");
    bool tf32 = i < HMMA_rc && ((in->optype == OT_HMMA && MOD(HMMA, src) == HmmaSrc_TF32) ||
                                (in->optype == OT_HMMA_SP && MOD(HMMA_SP, src) == HmmaSrc_TF32));
    if (!tf32)
        return mach_word(mach, i, c);
    Term *word = mach_plain(mach, i, c, OPM_NEG);
    if (in->src[i].mods & OPM_NEG)
        word = t_lxor(ts, word, t_const(ts, 32, 0x80000000));
    return prove_tf32_factor(ts, word);
}

/* A function of fragments in the registers of all lanes; the event's first argument is `at` if that is not
 * NULL. */
static void matrices(Mach *mach, unsigned lists, const char *name, Term *at, unsigned first, unsigned nsrc,
                     unsigned ndst) {
    Terms *ts = &mach->prover->ts;
    const Target *target = mach->prover->flow->bin->target;
    Term *arg[13] = {at};
    unsigned n = at != NULL;
    for (unsigned i = first; i < first + nsrc; i++)
        for (unsigned c = 0; c < isa_src_regs(target, mach->in, i) && n < sizeof arg / sizeof *arg; c++)
            arg[n++] = fragment_word(mach, i, c);
    Term *what = mach_event(mach, lists, name, arg, n);
    for (unsigned c = 0; ndst && c < isa_dst_regs(target, mach->in, 0); c++)
        mach_put(mach, 0, c, t_app(ts, TO_RESULT, 32, c, NULL, &what, 1));
}

/* Which lanes say where the elements of a sparse A stand. */
static unsigned lanes_of(Mach *mach, unsigned slot) {
    mach->looked_src |= 1u << slot;
    return mach->in->src[slot].value;
}

bool mach_matrix(Mach *mach) {
    const MachInst *in = mach->in;
    Terms *ts = &mach->prover->ts;
    enum { WARP = 1u << MEM_WARP, ROWS = 1u << MEM_WARP | 1u << MEM_SHARED };
    switch (in->optype) {
    case OT_HMMA:
        matrices(mach, WARP, term_name(ts, "hmma.%u.%u.%u", MOD(HMMA, shape), MOD(HMMA, acc), MOD(HMMA, src)),
                 NULL, 0, 3, 1);
        return true;
    case OT_HMMA_SP:
        matrices(mach, WARP,
                 term_name(ts, "hmma.sp.%u.%u.%u.%u", MOD(HMMA_SP, shape), MOD(HMMA_SP, acc),
                           MOD(HMMA_SP, src), lanes_of(mach, HMMA_SP_lanes)),
                 NULL, 0, 4, 1);
        return true;
    case OT_IMMA_SP:
        matrices(mach, WARP,
                 term_name(ts, "imma.sp.%u.%u.%u.%u.%u", MOD(IMMA_SP, shape), MOD(IMMA_SP, atype),
                           MOD(IMMA_SP, btype), MOD(IMMA_SP, sat), lanes_of(mach, IMMA_SP_lanes)),
                 NULL, 0, 4, 1);
        return true;
    case OT_QMMA:
        matrices(mach, WARP,
                 term_name(ts, "qmma.%u.%u.%u.%u", MOD(QMMA, shape), MOD(QMMA, acc), MOD(QMMA, atype),
                           MOD(QMMA, btype)),
                 NULL, 0, 3, 1);
        return true;
    case OT_QMMA_SP:
        matrices(mach, WARP,
                 term_name(ts, "qmma.sp.%u.%u.%u.%u.%u", MOD(QMMA_SP, shape), MOD(QMMA_SP, acc),
                           MOD(QMMA_SP, atype), MOD(QMMA_SP, btype), lanes_of(mach, QMMA_SP_lanes)),
                 NULL, 0, 4, 1);
        return true;
    case OT_IMMA:
        matrices(mach, WARP,
                 term_name(ts, "imma.%u.%u.%u.%u", MOD(IMMA, shape), MOD(IMMA, atype), MOD(IMMA, btype),
                           MOD(IMMA, sat)),
                 NULL, 0, 3, 1);
        return true;
    case OT_BMMA:
        matrices(mach, WARP, term_name(ts, "bmma.%u.%u", MOD(BMMA, shape), MOD(BMMA, op)), NULL, 0, 3, 1);
        return true;
    case OT_DMMA:
        if (isa_src_regs(mach->prover->flow->bin->target, in, DMMA_ra) > 2)
            return false;
        matrices(mach, WARP, term_name(ts, "dmma.%u", MOD(DMMA, rnd)), NULL, 0, 3, 1);
        return true;
    case OT_MOVM: matrices(mach, WARP, "movm", NULL, 0, 1, 1); return true;
    case OT_LDSM: {
        Term *at = mach_address(mach, false, 0);
        matrices(mach, ROWS, term_name(ts, "ldsm.%u.%u", 1u << MOD(LDSM, num), MOD(LDSM, trans)), at, 0, 0,
                 1);
        return true;
    }
    case OT_STSM: {
        Term *at = t_add(ts, mach_word(mach, STSM_ra, 0), t_const(ts, 32, in->src[STSM_offset].value));
        mach->looked_src |= 1u << STSM_offset;
        if (in->src[STSM_offset].kind != OPK_IMM)
            mach_fault(mach, "an address is not modelled");
        matrices(mach, ROWS, term_name(ts, "stsm.%u.%u", 1u << MOD(STSM, num), MOD(STSM, trans)), at, STSM_rb,
                 1, 0);
        return true;
    }
    default: return false;
    }
}
