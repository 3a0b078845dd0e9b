/* What machine instructions compute, as terms. The words of isa/ *.isa; semantics as resolved in the ISA's
 * documents, written again here by name: the simulator's functions are not consulted. An operation that is
 * not here is not modelled, and what uses it is not proved. SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "isa/machine/banks.h"
#include "isa/machine/windows.h"
#include <string.h>

uint32_t mach_mods(Mach *mach, uint32_t looked) {
    mach->looked |= looked;
    return mach->in->mods;
}
Term *mach_pred_at(Mach *mach, unsigned i) {
    mach->looked_src |= 1u << i;
    return mach_pred(mach, mach->in->src[i]);
}
Term *mach_bool_op(Mach *mach, unsigned bop, Term *r, Term *pp) {
    Terms *ts = &mach->prover->ts;
    return bop == BoolOp_AND ? t_and(ts, r, pp) : bop == BoolOp_OR ? t_or(ts, r, pp) : t_xor1(ts, r, pp);
}
void mach_put_compare(Mach *mach, unsigned bop, Term *r, Term *pp) {
    mach_put_pred(mach, 0, mach_bool_op(mach, bop, r, pp));
    mach_put_pred(mach, 1, mach_bool_op(mach, bop, t_not(&mach->prover->ts, r), pp));
}

/* The operands of a comparison matter only where its result does: not where source 2 decides alone. */
void mach_cares(Mach *mach, unsigned bop) {
    Term *with = mach_pred_at(mach, 2);
    mach->care = bop == BoolOp_AND  ? with
                 : bop == BoolOp_OR ? t_not(&mach->prover->ts, with)
                                    : mach->prover->ts.truth;
}

/* ---- floats: uninterpreted, named alike on both sides ---- */
static void f2(Mach *mach, const char *op, unsigned rnd, bool ftz, bool sat, bool is64) {
    Terms *ts = &mach->prover->ts;
    const char *name = term_name(ts, "%s.%u%s%s", op, rnd, ftz ? ".ftz" : "", sat ? ".sat" : "");
    Term *a = is64 ? mach_f64(mach, 0) : mach_f32(mach, 0), *b = is64 ? mach_f64(mach, 1) : mach_f32(mach, 1);
    Term *r = prove_uf_sorted(mach->prover, is64 ? 64 : 32, name, a, b);
    if (is64)
        mach_put64(mach, 0, r);
    else
        mach_put(mach, 0, 0, r);
}
static void f3(Mach *mach, const char *op, unsigned rnd, bool ftz, bool sat, bool is64) {
    Terms *ts = &mach->prover->ts;
    const char *name = term_name(ts, "%s.%u%s%s", op, rnd, ftz ? ".ftz" : "", sat ? ".sat" : "");
    Term *a[3];
    for (unsigned i = 0; i < 3; i++)
        a[i] = is64 ? mach_f64(mach, i) : mach_f32(mach, i);
    if (a[0]->id > a[1]->id) {
        Term *swap = a[0];
        a[0] = a[1];
        a[1] = swap;
    }
    Term *r = prove_uf(mach->prover, is64 ? 64 : 32, name, a, 3);
    prove_note(mach->prover, &mach->prover->fused, t_unclamped(r));
    if (is64)
        mach_put64(mach, 0, r);
    else
        mach_put(mach, 0, 0, r);
}
static Term *f1(Mach *mach, const char *name, bool from64, bool to64, bool half) {
    Term *a = from64 ? mach_f64(mach, 0) : mach_f32(mach, 0);
    if (half && mach->in->src[0].mods & (OPM_NEG | OPM_ABS))
        mach_fault(mach, "the sign of a half is not modelled");
    if (half) /* the upper half is not looked at */
        a = t_zext_from(&mach->prover->ts, a, 16);
    Term *r = prove_uf(mach->prover, to64 ? 64 : 32, name, &a, 1);
    if (to64)
        mach_put64(mach, 0, r);
    else
        mach_put(mach, 0, 0, r);
    return r;
}
static void fmnmx(Mach *mach, bool ftz, bool nan) {
    Terms *ts = &mach->prover->ts;
    Term *a = mach_f32(mach, 0), *b = mach_f32(mach, 1);
    Term *min = prove_uf_sorted(mach->prover, 32,
                                term_name(ts, "fmin%s%s", ftz ? ".ftz" : "", nan ? ".nan" : ""), a, b);
    Term *max = prove_uf_sorted(mach->prover, 32,
                                term_name(ts, "fmax%s%s", ftz ? ".ftz" : "", nan ? ".nan" : ""), a, b);
    mach_put(mach, 0, 0, t_ite(ts, mach_pred_at(mach, 2), min, max));
}
static void convert(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    switch (mach->in->optype) {
    case OT_F2F: {
        unsigned d = MOD(F2F, dst), s = MOD(F2F, src);
        if (MOD(F2F, half))
            mach_fault(mach, "the upper half of F2F is not modelled");
        f1(mach, term_name(ts, "f2f.%u.%u.%u%s", d, s, MOD(F2F, rnd), MOD(F2F, ftz) ? ".ftz" : ""),
           s == FSize_F64, d == FSize_F64, s == FSize_F16);
        return;
    }
    case OT_FRND: {
        unsigned s = MOD(FRND, src), d = MOD(FRND, dst);
        f1(mach, term_name(ts, "frnd.%u.%u%s", d, MOD(FRND, rnd), MOD(FRND, ftz) ? ".ftz" : ""),
           s == FSize_F64, d == FSize_F64, s == FSize_F16);
        return;
    }
    case OT_F2I: {
        unsigned s = MOD(F2I, src), d = MOD(F2I, dst);
        if (MOD(F2I, half))
            mach_fault(mach, "the upper half of F2I is not modelled");
        bool zero = s != FSize_F64 && d != ISize_B64; /* what PTX makes of a NaN, else the sign bit alone */
        Term *r = f1(mach,
                     term_name(ts, "f2i.%u.%u.%u.%u%s%s", MOD(F2I, sign), d, s, MOD(F2I, rnd),
                               MOD(F2I, ftz) ? ".ftz" : "", MOD(F2I, ntz) == zero ? "" : ".nan"),
                     s == FSize_F64, d == ISize_B64, s == FSize_F16);
        prove_note(mach->prover, &mach->prover->estimates, r);
        return;
    }
    default: {
        unsigned s = MOD(I2F, src), d = MOD(I2F, dst);
        bool sign = MOD(I2F, sign) == CvtSign_S;
        Term *a = s == ISize_B64 ? mach_f64(mach, 0) : mach_word(mach, 0, 0);
        if (s < ISize_B32) {
            unsigned bits = s == ISize_B8 ? 8 : 16, part = MOD(I2F, part);
            a = t_lshr(ts, a, t_const(ts, 32, part == PartSel_H1 ? 16 : 8 * (part - PartSel_B0)));
            a = sign ? t_sext_from(ts, a, bits) : t_zext_from(ts, a, bits);
            s = ISize_B32;
        }
        const char *name = term_name(ts, "i2f.%u.%u.%u.%u", MOD(I2F, sign), s, d, MOD(I2F, rnd));
        Term *r = prove_uf(mach->prover, d == FSize_F64 ? 64 : 32, name, &a, 1);
        if (d == FSize_F64)
            mach_put64(mach, 0, r);
        else
            mach_put(mach, 0, 0, r);
    }
    }
}

/* ---- special registers, collectives ---- */
static void mach_sreg(Mach *mach) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    const char *name = isa_sreg_name(prover->flow->bin->target, mach->in->src[0].value);
    mach->looked_src |= 1u << 0;
    bool pair = mach->in->optype == OT_CS2R && MOD(CS2R, sz) == Cs2rSz_B64,
         changes = isa_sreg_varies(prover->flow->bin->target, mach->in->src[0].value) == ISA_VARIES_TIME;
    if (!name) {
        mach_fault(mach, "an unknown special register");
    } else if (mach->in->optype == OT_S2UR &&
               isa_sreg_varies(prover->flow->bin->target, mach->in->src[0].value) == ISA_VARIES_LANE) {
        mach_fault(mach, "a uniform register gets what differs among lanes");
    } else if (strcmp(name, "zero") == 0) {
        mach_put(mach, 0, 0, ts->zero);
        if (pair)
            mach_put(mach, 0, 1, ts->zero);
    } else if (pair && !changes) {
        mach_fault(mach, "a 64-bit special register is not modelled");
    } else if (strcmp(name, "swinlo") == 0) {
        mach_put(mach, 0, 0, t_const(ts, 32, SIM_SHARED_WINDOW & UINT32_MAX));
    } else if (strcmp(name, "swinhi") == 0) {
        mach_put(mach, 0, 0, t_const(ts, 32, SIM_SHARED_WINDOW >> 32));
    } else if (strcmp(name, "total_smem_size") == 0) { /* the program's, and the system's */
        mach_put(mach, 0, 0, mach_shared_size(mach));
    } else if (changes) { /* two reads are two values */
        Term *what =
            mach_event(mach, 1u << MEM_WARP, term_name(ts, "%s%s", name, pair ? " 64" : ""), NULL, 0);
        mach_put(mach, 0, 0, t_app(ts, TO_RESULT, 32, 0, NULL, &what, 1));
        if (pair)
            mach_put(mach, 0, 1, t_app(ts, TO_RESULT, 32, 1, NULL, &what, 1));
    } else {
        mach_put(mach, 0, 0, prove_input(prover, "%s", name));
    }
}

/* Behind a WARPSYNC with a mask in a register lanes of other masks may be there as well, and where a branch
 * has asked for those of such a mask. lanes: of the mask */
static bool others_take_part(const Mach *mach, Term *lanes) {
    const BinFlow *flow = mach->prover->flow;
    uint32_t first = flow->blocks[flow->block_of[mach->at]].first, i = mach->at;
    lanes = t_under(&mach->prover->ts, lanes, mach->full);
    if (t_is_const(lanes) && lanes->k == UINT32_MAX)
        return false;
    while (i > first && bin_kind(&flow->insts[i]) != BK_WARPSYNC)
        i--;
    const MachInst *in = &flow->insts[i];
    if (bin_kind(in) != BK_WARPSYNC)
        return mach->with_others || mach->prover->joins_masks;
    const Sync *sync = mach->run->syncs.n ? &mach->run->syncs.at[mach->run->syncs.n - 1] : NULL;
    if (sync && sync->at == i && t_is_const(sync->mask) && sync->mask->k == UINT32_MAX)
        return false;
    return mach->with_others || prove_joins_masks(flow, i);
}

static void only_of_the_mask(Mach *mach, Term *lanes) {
    if (others_take_part(mach, lanes))
        mach_fault(mach, "lanes of other masks may take part, which WARPSYNC lets go on with these");
}

/* Does the instruction ask whether all lanes of a mask are here, or whether one lane's are not? Its answer is
 * anything. */
static bool asks_for_mask(Mach *mach) {
    const BinFlow *flow = mach->prover->flow;
    const BinBlock *block = &flow->blocks[flow->block_of[mach->at]];
    Terms *ts = &mach->prover->ts;
    BinQuestion question;
    if (!bin_question(flow, block->first + block->ninsts - 1, &question) ||
        (question.who != mach->at && question.answer != mach->at))
        return false;
    (void)mach_mods(mach, ~0u);
    mach->looked_src = ~0u;
    if (question.who == mach->at)
        mach_put(mach, 0, 0, t_var(ts, 32, term_name(ts, "here"), 0xffc00000u + mach->at));
    else
        mach_put_pred(mach, 1, t_var(ts, 1, term_name(ts, "missing"), 0xffc00000u + mach->at));
    return true;
}

/* A word with a bit for each lane that took part, of which `lanes` are those of the mask: what it has for
 * others that may take part is not known. */
static Term *word_of_lanes(Mach *mach, Term *what, Term *lanes) {
    enum { OF_OTHERS = 15, LUT_OTHERS = 0x30, LUT_EITHER = 0x3c };
    Terms *ts = &mach->prover->ts;
    Term *word = prove_voted(ts, what, lanes);
    if (!others_take_part(mach, lanes))
        return word;
    Term *others = t_app(ts, TO_RESULT, 32, OF_OTHERS, NULL, &what, 1);
    others = t_lop3(ts, LUT_OTHERS, others, lanes, ts->zero);
    return t_lop3(ts, LUT_EITHER, word, others, ts->zero);
}

/* The lanes that execute a collective: those of the last WARPSYNC, or those that a VOTE of true in the block
 * has told, since which the machine has changed none. (Any choice would be sound: only one that makes the
 * events of both sides equal proves anything.) */
static Term *lanes_here(Mach *mach) {
    const BinFlow *flow = mach->prover->flow;
    if (!mach->active || mach->active_at >= mach->at ||
        flow->block_of[mach->active_at] != flow->block_of[mach->at])
        return mach->together;
    for (uint32_t i = mach->active_at + 1; i < mach->at; i++)
        if (isa_has_effect(flow->insts[i].optype, ISA_EFFECT_SWITCH | ISA_EFFECT_CALL))
            return mach->together;
    return mach->active;
}

/* MATCH.ALL is what MATCH.ANY and a vote of true say: whether a lane is here whose value is another. */
static void match_all(Mach *mach, unsigned type) {
    Terms *ts = &mach->prover->ts;
    bool wide = isa_src_regs(mach->prover->flow->bin->target, mach->in, 0) == 2;
    Term *lanes = lanes_here(mach), *low = mach_word(mach, 0, 0),
         *arg[3] = {low, wide ? mach_word(mach, 0, 1) : lanes, lanes}, *who[2] = {ts->truth, lanes};
    Term *alike = mach_event(mach, 1u << MEM_WARP, term_name(ts, "match.%u.%u", MatchOp_ANY, type), arg,
                             wide ? 3 : 2),
         *here = mach_event(mach, 1u << MEM_WARP, "vote", who, 2);
    alike = prove_voted(ts, alike, lanes);
    Term *same = prove_all_alike(ts, alike, prove_voted(ts, here, lanes));
    mach_put(mach, 0, 0, t_ite(ts, same, alike, ts->zero));
    mach_put_pred(mach, 1, same);
}

static bool is_match_any(const MachInst *in) {
    return in->optype == OT_MATCH && MGET(MATCH, op, in->mods) == MatchOp_ANY;
}

static void collective(Mach *mach, const char *name, unsigned nargs, bool has_word, bool has_pred) {
    Terms *ts = &mach->prover->ts;
    Term *arg[5];
    for (unsigned i = 0; i < nargs; i++)
        arg[i] = mach_word(mach, i, 0);
    if (nargs == 1 && isa_src_regs(mach->prover->flow->bin->target, mach->in, 0) == 2) /* MATCH.U64 */
        arg[nargs++] = mach_word(mach, 0, 1);
    Term *lanes = arg[nargs++] = lanes_here(mach);
    Term *what = mach_event(mach, 1u << MEM_WARP, name, arg, nargs);
    if (has_word)
        mach_put(mach, 0, 0,
                 is_match_any(mach->in) ? word_of_lanes(mach, what, lanes)
                                        : t_app(ts, TO_RESULT, 32, 0, NULL, &what, 1));
    if (has_pred)
        mach_put_pred(mach, 1, t_app(ts, TO_RESULT, 1, 1, NULL, &what, 1));
}

static bool keeps(Operand dst) {
    uint32_t nothing = dst.file == RF_R    ? REG_RZ
                       : dst.file == RF_UR ? REG_URZ
                       : dst.file == RF_UP ? REG_UPT
                                           : REG_PT;
    return dst.kind == OPK_REG && dst.value != nothing;
}

static void mach_vote(Mach *mach, unsigned op) {
    Terms *ts = &mach->prover->ts;
    if (mach->prover->entered[mach->at]) { /* of the compiler's own: some lanes, and this one */
        (void)mach_pred_at(mach, 0);
        mach_put(mach, 0, 0, t_var(ts, 32, term_name(ts, "entered"), 0xffe00000u + mach->at));
        mach_put_pred(mach, 1, ts->truth);
        return;
    }
    Term *says = mach_pred_at(mach, 0);
    bool asks = says == ts->truth && op == VoteOp_ANY && bin_guard(mach->in) == BG_ALWAYS &&
                !others_take_part(mach, mach->together),
         of_all = op == VoteOp_ALL && !keeps(mach->in->dst[0]); /* asks who says no */
    Term *arg[2] = {of_all ? t_not(ts, says) : says, asks ? mach->together : lanes_here(mach)};
    if (keeps(mach->in->dst[1]))
        only_of_the_mask(mach, arg[1]);
    if (arg[0] == ts->truth)
        VEC_ADD(mach->prover->run_arena, &mach->run->asked,
                ((Sync){.guard = mach->full, .mask = arg[1], .at = mach->at}));
    Term *what = mach_event(mach, 1u << MEM_WARP, "vote", arg, 2);
    if (asks) {
        mach->active = t_app(ts, TO_RESULT, 32, 0, NULL, &what, 1);
        mach->active_at = mach->at;
    }
    mach_put(mach, 0, 0, asks ? mach->active : word_of_lanes(mach, what, arg[1]));
    Term *nobody = t_eq(ts, prove_voted(ts, what, arg[1]), ts->zero);
    if (op == VoteOp_EQ) { /* nobody says yes, or nobody no */
        arg[0] = t_not(ts, says);
        what = mach_event(mach, 1u << MEM_WARP, "vote", arg, 2);
        mach_put_pred(mach, 1, t_or(ts, nobody, t_eq(ts, prove_voted(ts, what, arg[1]), ts->zero)));
        return;
    }
    mach_put_pred(mach, 1,
                  op == VoteOp_ANY ? t_not(ts, nobody)
                  : of_all         ? nobody
                                   : t_app(ts, TO_RESULT, 1, 1 + op, NULL, &what, 1));
}

/* Any other instruction that computes words from words, alike on both sides or not at all. */
static void unmodelled(Mach *mach) {
    mach_fault(mach, term_name(&mach->prover->ts, "%s is not modelled", isa_optype_name(mach->in->optype)));
}

static bool floating(Mach *mach) {
    const MachInst *in = mach->in;
    Terms *ts = &mach->prover->ts;
    switch (in->optype) {
    case OT_FADD: f2(mach, "fadd", MOD(FADD, rnd), MOD(FADD, ftz), MOD(FADD, sat), false); return true;
    case OT_FMUL:
        if (MOD(FMUL, scale) != FmulScale_NONE || MOD(FMUL, fmz))
            return false;
        f2(mach, "fmul", MOD(FMUL, rnd), MOD(FMUL, ftz), MOD(FMUL, sat), false);
        return true;
    case OT_FFMA:
        if (MOD(FFMA, fmz))
            return false;
        f3(mach, "ffma", MOD(FFMA, rnd), MOD(FFMA, ftz), MOD(FFMA, sat), false);
        return true;
    case OT_DADD: f2(mach, "dadd", MOD(DADD, rnd), false, false, true); return true;
    case OT_DMUL: f2(mach, "dmul", MOD(DMUL, rnd), false, false, true); return true;
    case OT_DFMA: f3(mach, "dfma", MOD(DFMA, rnd), false, false, true); return true;
    case OT_FMNMX: fmnmx(mach, MOD(FMNMX, ftz), MOD(FMNMX, nan)); return true;
    case OT_FSEL:
        if (MOD(FSEL, ftz))
            return false;
        mach_put(mach, 0, 0, t_ite(ts, mach_pred_at(mach, 2), mach_f32(mach, 0), mach_f32(mach, 1)));
        return true;
    case OT_FSETP:
        mach_cares(mach, MOD(FSETP, bop));
        mach_put_compare(mach, MOD(FSETP, bop),
                         t_fcmp(ts, 32 | (MOD(FSETP, ftz) ? 256 : 0), MOD(FSETP, cmp), mach_f32(mach, 0),
                                mach_f32(mach, 1)),
                         mach_pred_at(mach, 2));
        return true;
    case OT_DSETP: {
        unsigned cmp = MOD(DSETP, cmp);
        if (cmp == DCmp_MIN || cmp == DCmp_MAX)
            return false;
        mach_cares(mach, MOD(DSETP, bop));
        mach_put_compare(mach, MOD(DSETP, bop), t_fcmp(ts, 64, cmp, mach_f64(mach, 0), mach_f64(mach, 1)),
                         mach_pred_at(mach, 2));
        return true;
    }
    case OT_FCHK:
        mach_put_pred(mach, 0, prove_fchk(mach->prover, mach_f32(mach, 0), mach_f32(mach, 1)));
        return true;
    case OT_MUFU: f1(mach, term_name(ts, "mufu.%u", MOD(MUFU, func)), false, false, false); return true;
    case OT_F2F:
    case OT_FRND:
    case OT_F2I:
    case OT_I2F: convert(mach); return true;
    case OT_F2FP: {
        Term *arg[3] = {mach_f32(mach, 0), mach_f32(mach, 1), mach_word(mach, 2, 0)};
        mach_put(mach, 0, 0,
                 prove_uf(mach->prover, 32,
                          term_name(ts, "f2fp.%u.%u.%u%s", MOD(F2FP, type), MOD(F2FP, rnd), MOD(F2FP, relu),
                                    MOD(F2FP, satfinite) ? ".satfinite" : ""),
                          arg, 3));
        return true;
    }
    case OT_F2FP_TF32: {
        Term *arg = mach_word(mach, 0, 0);
        const char *name = term_name(ts, "tf32.%u.%u.%u", MOD(F2FP_TF32, rnd), MOD(F2FP_TF32, relu),
                                     MOD(F2FP_TF32, satfinite));
        mach_put(mach, 0, 0, prove_uf(mach->prover, 32, name, &arg, 1));
        return true;
    }
    case OT_F2FP8: {
        Term *arg[3] = {mach_f32(mach, 0), mach_f32(mach, 1), mach_word(mach, 2, 0)};
        const char *name = term_name(ts, "fp8.%u.%u", MOD(F2FP8, type), MOD(F2FP8, relu));
        mach_put(mach, 0, 0, prove_uf(mach->prover, 32, name, arg, 3));
        return true;
    }
    case OT_F2FP8_HALVES: {
        Term *arg[2] = {mach_word(mach, 0, 0), mach_word(mach, 1, 0)};
        const char *name =
            term_name(ts, "fp8.halves.%u.%u", MOD(F2FP8_HALVES, type), MOD(F2FP8_HALVES, relu));
        mach_put(mach, 0, 0, prove_uf(mach->prover, 32, name, arg, 2));
        return true;
    }
    case OT_F2FP_UNPACK: { /* of one half */
        Term *word = mach_word(mach, 0, 0);
        if (MOD(F2FP_UNPACK, part))
            word = t_lshr(ts, word, t_const(ts, 32, 16));
        Term *arg = t_zext_from(ts, word, 16);
        bool e4m3 = MOD(F2FP_UNPACK, from) == F2fpFrom_E4M3;
        const char *name =
            term_name(ts, "fp8.unpack.%u.%u", e4m3 ? Fp8Type_E4M3 : Fp8Type_E5M2, MOD(F2FP_UNPACK, relu));
        mach_put(mach, 0, 0, prove_uf(mach->prover, 32, name, &arg, 1));
        return true;
    }
    default: return false;
    }
}

/* CCTL.IVALL: later loads find what the fence before it let them find. Where that fence is guarded it is an
 * event under the guard only: more often does no harm. */
static void forget_copies(Mach *mach) {
    Terms *ts = &mach->prover->ts;
    Term **mem = &mach->mem[MEM_GLOBAL];
    bool behind_event =
        (*mem)->kind == TK_EVENT && t_and(ts, (*mem)->a[1], t_not(ts, mach->full)) == ts->falsity;
    *mem = t_event(ts, *mem, behind_event ? (*mem)->a[1] : mach->full, "copies forgotten", 0, NULL, 0, NULL);
}

static bool other(Mach *mach) {
    const MachInst *in = mach->in;
    Terms *ts = &mach->prover->ts;
    switch (in->optype) {
    case OT_MOV:
    case OT_UMOV:
    case OT_R2UR: mach_put(mach, 0, 0, mach_word(mach, 0, 0)); return true;
    case OT_SEL:
    case OT_USEL:
        mach_put(mach, 0, 0, t_ite(ts, mach_pred_at(mach, 2), mach_word(mach, 0, 0), mach_word(mach, 1, 0)));
        mach->run->guarded = true;
        return true;
    case OT_S2R:
    case OT_S2UR:
    case OT_CS2R: mach_sreg(mach); return true;
    case OT_ERRBAR:
    case OT_CGAERRBAR: return true;
    case OT_ACQBULK: mach_event(mach, 15, term_name(ts, "griddepcontrol.wait"), NULL, 0); return true;
    case OT_PREEXIT:
        mach_event(mach, 15, term_name(ts, "griddepcontrol.launch_dependents"), NULL, 0);
        return true;
    case OT_CCTL: forget_copies(mach); return MOD(CCTL, op) == CctlOp_IVALL;
    case OT_LEPC:
        mach->looked_src |= 1u << LEPC_offset;
        mach_put64(mach, 0, t_const(ts, 64, bin_address(mach->prover->flow, mach->at) + (uint64_t)in->wide));
        return true;
    case OT_SHFL: collective(mach, term_name(ts, "shfl.%u", MOD(SHFL, mode)), 3, true, true); return true;
    case OT_VOTE:
        if (!asks_for_mask(mach))
            mach_vote(mach, MOD(VOTE, op));
        return true;
    case OT_VOTEU: mach_vote(mach, MOD(VOTEU, op)); return true;
    case OT_MATCH:
        if (asks_for_mask(mach))
            return true;
        if (!is_match_any(in) || keeps(in->dst[1]))
            only_of_the_mask(mach, lanes_here(mach));
        if (MOD(MATCH, op) == MatchOp_ALL) {
            match_all(mach, MOD(MATCH, type));
            return true;
        }
        collective(mach, term_name(ts, "match.%u.%u", MOD(MATCH, op), MOD(MATCH, type)), 1, true, true);
        return true;
    case OT_REDUX:
        only_of_the_mask(mach, lanes_here(mach));
        collective(mach, term_name(ts, "redux.%u.%u", MOD(REDUX, op), MOD(REDUX, sign)), 1, true, false);
        return true;
    case OT_BAR: {
        Term *arg[2] = {mach_word(mach, 0, 0), mach_word(mach, 1, 0)};
        (void)MOD(BAR, defer); /* when, not whether */
        mach->reduced = NULL;
        mach_event(mach, 15, term_name(ts, "bar.%u", MOD(BAR, mode)), arg, 2);
        return true;
    }
    case OT_BAR_RED: {
        Term *arg[3] = {mach_word(mach, 0, 0), mach_word(mach, 1, 0), mach_pred_at(mach, BAR_RED_pp)};
        (void)MOD(BAR_RED, defer);
        mach->reduced = mach_event(mach, 15, term_name(ts, "bar.red.%u", MOD(BAR_RED, redop)), arg, 3);
        mach->reduced_when = mach->full;
        return true;
    }
    case OT_DEPBAR: /* waits for results, which the static checker looks at */
        (void)MOD(DEPBAR, sb);
        mach->looked_src |= 1u << DEPBAR_count | 1u << DEPBAR_set;
        return true;
    case OT_B2R_RESULT:
        /* of the reduction before it, under the same condition */
        if (!mach->reduced || t_and(ts, mach->full, t_not(ts, mach->reduced_when)) != ts->falsity)
            mach_fault(mach, "the result of no reduction of a barrier");
        else {
            mach_put(mach, B2R_RESULT_rd, 0, t_app(ts, TO_RESULT, 32, 0, NULL, &mach->reduced, 1));
            mach_put_pred(mach, B2R_RESULT_pu, t_app(ts, TO_RESULT, 1, 1, NULL, &mach->reduced, 1));
        }
        return true;
    default: return false;
    }
}

/* A source as its row of the encoding has it where the text names none: PT here, !PT there. */
static bool is_as_unnamed(const Target *target, const MachInst *in, unsigned slot) {
    MachInst unnamed = *in;
    uint64_t word[2], other[2];
    char error[ISA_ERROR_BYTES];
    unnamed.src[slot] = (Operand){.kind = OPK_NONE};
    return isa_encode(target, in, word, error) && isa_encode(target, &unnamed, other, error) &&
           memcmp(word, other, sizeof word) == 0;
}

static bool says_nothing(Operand operand) {
    switch (operand.kind) {
    case OPK_NONE: return true;
    case OPK_IMM: return operand.value == 0;
    case OPK_REG:
        return operand.value == (operand.file == RF_R    ? REG_RZ
                                 : operand.file == RF_UR ? REG_URZ
                                 : operand.file == RF_UP ? REG_UPT
                                                         : REG_PT);
    default: return false;
    }
}
static bool is_default(const Target *target, const MachInst *in, unsigned slot) {
    Operand operand = in->src[slot];
    bool predicate = operand.kind == OPK_REG && (operand.file == RF_P || operand.file == RF_UP);
    return says_nothing(operand) && (!predicate || is_as_unnamed(target, in, slot));
}

/* What no model looked at must say nothing: modifiers and sources have their defaults, and a result that
 * nobody wrote goes nowhere. */
void mach_check_unlooked(Mach *mach) {
    const MachInst *in = mach->in;
    if (in->mods & ~(mach->looked | isa_traits(in->optype)->hints))
        mach_fault(mach, term_name(&mach->prover->ts, "a modifier of %s is not modelled",
                                   isa_optype_name(in->optype)));
    for (unsigned i = 0; i < in->nsrc; i++)
        if (!(mach->looked_src >> i & 1) && !is_default(mach->prover->flow->bin->target, in, i))
            mach_fault(mach, term_name(&mach->prover->ts, "an operand of %s is not modelled",
                                       isa_optype_name(in->optype)));
    for (unsigned i = 0; i < in->ndst; i++)
        if (!(mach->written >> i & 1) && !says_nothing(in->dst[i]))
            mach_fault(mach, term_name(&mach->prover->ts, "a result of %s is not modelled",
                                       isa_optype_name(in->optype)));
}

void mach_data(Mach *mach) {
    mach->looked = 0;
    mach->looked_src = mach->written = 0;
    mach->care = NULL;
    if (!mach->prover->flow->decoded[mach->at])
        mach_fault(mach, "a word that is no instruction");
    else if (!mach_integer(mach) && !floating(mach) && !mach_halves(mach) && !mach_bits(mach) &&
             !mach_memory(mach) && !mach_matrix(mach) && !mach_texture(mach) && !other(mach))
        unmodelled(mach);
    else
        mach_check_unlooked(mach);
}
