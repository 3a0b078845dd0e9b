/* Symbolic execution of decoded machine code for one lane: registers, predicates, spill slots, memory events.
 * What the machine does beyond one lane (convergence barriers, YIELD) is no effect here: the checker and the
 * model checker look after it.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach.h"
#include "sim/launch.h" /* number of environment registers */
#include "isa/machine/banks.h"
#include "isa/machine/windows.h"
#include <stdio.h>
#include <string.h>

/* ---- operands ---- */
Term *mach_get(Mach *mach, uint32_t loc) { return t_under(&mach->p->ts, mach->val[loc], mach->full); }

static void set(Mach *mach, uint32_t loc, Term *v) {
    Terms *ts = &mach->p->ts;
    mach->val[loc] = t_ite(ts, t_under(ts, mach->guard, mach->pc), v, mach->val[loc]);
}

Term *mach_pred(Mach *mach, Operand o) {
    Terms *ts = &mach->p->ts;
    Term *v = ts->truth;
    if (o.kind == OPK_REG && o.value != REG_PT)
        v = mach_get(mach, (o.file == RF_UP ? LOC_UP : LOC_P) + o.value);
    return o.mods & OPM_NOT ? t_not(ts, v) : v;
}

Term *mach_cmem(Mach *mach, uint32_t bank, uint32_t offset) {
    Prover *prover = mach->p;
    Terms *ts = &prover->ts;
    if (offset % 4) {
        mach_fault(mach, "a misaligned constant operand");
        return ts->zero;
    }
    const TargetInfo *ti = isa_target_info(prover->g->bin->target);
    if (bank == CONST_BANK_VARS)
        return prove_const3(prover, t_const(ts, 32, offset), 4, false);
    if (bank == CONST_BANK_JUMPS) {
        uint32_t v = 0;
        if (offset + 4 <= prover->bf->const_bank2_bytes)
            memcpy(&v, prover->bf->const_bank2 + offset, 4);
        else
            mach_fault(mach, "constant bank 2 is read out of range");
        return t_const(ts, 32, v);
    }
    if (bank != CONST_BANK_LAUNCH) {
        mach_fault(mach, "a constant bank is not modelled");
        return ts->zero;
    }
    if (offset >= ti->param_base_bytes)
        return prove_param(prover, offset - ti->param_base_bytes, 4);
    static const char xyz[] = "xyz";
    if (offset - ti->ntid_offset_bytes < 12 && offset % 4 == 0)
        return prove_input(prover, "ntid.%c", xyz[(offset - ti->ntid_offset_bytes) / 4]);
    if (offset - ti->nctaid_offset_bytes < 12 && offset % 4 == 0)
        return prove_input(prover, "nctaid.%c", xyz[(offset - ti->nctaid_offset_bytes) / 4]);
    if (offset == ti->stack_top_offset_bytes)
        return prove_sp(prover);
    if (offset == ti->dynamic_shared_offset_bytes)
        return prove_input(prover, "dynamic_smem_size");
    if (ti->shared_window_offset_bytes && offset - ti->shared_window_offset_bytes < 8)
        return t_const(ts, 32,
                       (uint32_t)(SIM_SHARED_WINDOW >> 8 * (offset - ti->shared_window_offset_bytes)));
    if (ti->local_window_offset_bytes && offset - ti->local_window_offset_bytes < 8)
        return t_const(ts, 32, (uint32_t)(SIM_LOCAL_WINDOW >> 8 * (offset - ti->local_window_offset_bytes)));
    if (ti->system_shared_offset_bytes && offset == ti->system_shared_offset_bytes)
        return t_const(ts, 32, ti->shared_base_bytes);
    if (offset - ti->gridid_offset_bytes < 8)
        return prove_input(prover, "gridid.%u", (offset - ti->gridid_offset_bytes) / 4);
    if (offset == ti->nsmid_offset_bytes)
        return prove_input(prover, "nsmid");
    if (offset - ti->envreg_offset_bytes < 4 * SIM_SREG_ENVREGS)
        return prove_input(prover, "envreg.%u", (offset - ti->envreg_offset_bytes) / 4);
    return prove_input(prover, "c0+0x%x", offset);
}

static Term *address_word(Mach *mach, const BinFixup *fixup) {
    Terms *ts = &mach->p->ts;
    if (fixup->to_func || (fixup->kind != 1 && fixup->kind != 2)) {
        mach_fault(mach, "the address of a function is not modelled");
        return ts->zero;
    }
    Term *a = t_var(ts, 64, term_name(ts, "&%s", mach->p->g->bin->vars[fixup->target].name), 0);
    a = t_add(ts, a, t_const(ts, 64, (uint64_t)fixup->addend));
    return fixup->kind == 1 ? t_lo(ts, a) : t_hi(ts, a); /* RELOC_ABS32_LO, _HI */
}

/* Word `c` of source operand i as it is; the caller sees to the modifiers `mods`. */
Term *mach_plain(Mach *mach, unsigned i, unsigned c, unsigned mods) {
    Terms *ts = &mach->p->ts;
    Operand o = mach->in->src[i];
    mach->looked_src |= (uint16_t)(1u << i);
    if (o.mods & ~(mods | OPM_REUSE))
        mach_fault(mach, "a modifier of an operand is not modelled");
    switch (o.kind) {
    case OPK_NONE: return ts->zero;
    case OPK_IMM:
        return mach->p->fixup[mach->at] && mach->in->optype != OT_LDC
                   ? address_word(mach, mach->p->fixup[mach->at])
                   : t_const(ts, 32, o.value);
    case OPK_CMEM: return mach_cmem(mach, op_cmem_bank(o), op_cmem_offset(o) + 4 * c);
    case OPK_REG:
        if (o.file == RF_R)
            return o.value == REG_RZ || o.value + c >= REG_RZ ? ts->zero
                                                              : mach_get(mach, LOC_R + o.value + c);
        if (o.file == RF_UR)
            return o.value == REG_URZ ? ts->zero : mach_get(mach, LOC_UR + o.value + c);
        break;
    default: break;
    }
    mach_fault(mach, "an operand is not modelled");
    return ts->zero;
}
Term *mach_word(Mach *mach, unsigned i, unsigned c) { return mach_plain(mach, i, c, 0); }

void mach_fault(Mach *mach, const char *why) {
    if (!mach->r->fault) {
        mach->r->fault = why;
        mach->r->fault_at = mach->at;
    }
}

/* Integer source with its sign modifier; under .X it is a complement. */
Term *mach_int(Mach *mach, unsigned i, bool complement) {
    Terms *ts = &mach->p->ts;
    Term *v = mach_plain(mach, i, 0, OPM_NEG | OPM_NOT);
    uint8_t mods = mach->in->src[i].mods;
    if (mods & OPM_NEG)
        v = complement ? t_inv(ts, v) : t_scale(ts, v, ~0ull);
    if (mods & OPM_NOT)
        v = t_inv(ts, v);
    return v;
}
Term *mach_f32(Mach *mach, unsigned i) {
    Terms *ts = &mach->p->ts;
    Term *v = mach_plain(mach, i, 0, OPM_NEG | OPM_ABS);
    uint8_t mods = mach->in->src[i].mods;
    if (mods & OPM_ABS)
        v = t_land(ts, v, t_const(ts, 32, 0x7fffffff));
    if (mods & OPM_NEG)
        v = t_lxor(ts, v, t_const(ts, 32, 0x80000000));
    return v;
}
Term *mach_pair(Mach *mach, unsigned i, unsigned mods) {
    Terms *ts = &mach->p->ts;
    mach->looked_src |= (uint16_t)(1u << i);
    if (mach->in->src[i].kind == OPK_REG &&
        mach->in->src[i].value == (mach->in->src[i].file == RF_UR ? REG_URZ : REG_RZ))
        return t_const(ts, 64, 0);
    return t_pair(ts, mach_plain(mach, i, 0, mods), mach_plain(mach, i, 1, mods));
}
Term *mach_f64(Mach *mach, unsigned i) {
    Terms *ts = &mach->p->ts;
    Operand o = mach->in->src[i];
    if (o.kind == OPK_IMM) { /* the high word */
        mach->looked_src |= (uint16_t)(1u << i);
        return t_const(ts, 64, (uint64_t)o.value << 32);
    }
    Term *v = mach_pair(mach, i, OPM_NEG | OPM_ABS), *hi = t_hi(ts, v), *lo = t_lo(ts, v);
    if (o.mods & OPM_ABS)
        hi = t_land(ts, hi, t_const(ts, 32, 0x7fffffff));
    if (o.mods & OPM_NEG)
        hi = t_lxor(ts, hi, t_const(ts, 32, 0x80000000));
    return t_pair(ts, lo, hi);
}

void mach_put(Mach *mach, unsigned i, unsigned c, Term *v) {
    Operand o = mach->in->dst[i];
    mach->written |= (uint16_t)(1u << i);
    if (o.kind != OPK_REG)
        return;
    if (o.file == RF_R && o.value + c < REG_RZ)
        set(mach, LOC_R + o.value + c, v);
    if (o.file == RF_UR && o.value + c < REG_URZ)
        set(mach, LOC_UR + o.value + c, v);
}
void mach_put64(Mach *mach, unsigned i, Term *v) {
    mach_put(mach, i, 0, t_lo(&mach->p->ts, v));
    mach_put(mach, i, 1, t_hi(&mach->p->ts, v));
}
void mach_put_pred(Mach *mach, unsigned i, Term *v) {
    Operand o = mach->in->dst[i];
    mach->written |= (uint16_t)(1u << i);
    if (o.kind == OPK_REG && o.value != REG_PT)
        set(mach, (o.file == RF_UP ? LOC_UP : LOC_P) + o.value, v);
}

/* ---- stack slots ---- */
/* Slot of a local address, UINT32_MAX if it is none: behind the frame's variables, at a known offset. */
static uint32_t slot_of(Mach *mach, Term *addr) {
    Prover *prover = mach->p;
    Terms *ts = &prover->ts;
    Term *term = t_sub(ts, addr, t_sub(ts, prove_sp(prover), t_const(ts, 32, prover->bf->frame_bytes)));
    if (!t_is_const(term) || term->k % 4 || term->k < prover->var_bytes ||
        (term->k - prover->var_bytes) / 4 >= MAX_SLOTS)
        return UINT32_MAX;
    uint32_t slot = (uint32_t)(term->k - prover->var_bytes) / 4;
    return LOC_SLOT + slot < prover->nloc ? LOC_SLOT + slot : UINT32_MAX;
}

/* The stack pointer is a multiple of 16. */
static void check_slot(Mach *mach, uint32_t slot, unsigned bytes) {
    uint32_t offset = mach->p->var_bytes + 4 * (slot - LOC_SLOT);
    if ((offset - mach->p->bf->frame_bytes) % bytes)
        mach_fault(mach, "a misaligned access of the frame");
}

/* ---- memory ---- */
unsigned mach_size(unsigned sz, bool *sign) {
    *sign = sz == MemSz_S8 || sz == MemSz_S16;
    return sz <= MemSz_S8 ? 1 : sz <= MemSz_S16 ? 2 : sz == MemSz_32 ? 4 : sz == MemSz_64 ? 8 : 16;
}

/* Is a global or generic address computed in 64 bits, though its register may be one of 32; does the uniform
 * register hold a memory descriptor, which adds nothing? */
static bool is_extended(Mach *mach, bool *desc) {
#define EXTENDED(OP)                                                                                         \
    mach->looked |= OP##_e_MASK << OP##_e_LO | OP##_desc_MASK << OP##_desc_LO;                               \
    *desc = MGET(OP, desc, mach->in->mods);                                                                  \
    return MGET(OP, e, mach->in->mods)
    *desc = false;
    switch (mach->in->optype) {
    case OT_LDG: EXTENDED(LDG);
    case OT_STG: EXTENDED(STG);
    case OT_LD: EXTENDED(LD);
    case OT_ST: EXTENDED(ST);
    case OT_ATOMG: EXTENDED(ATOMG);
    case OT_ATOM: EXTENDED(ATOM);
    case OT_RED: EXTENDED(RED);
    case OT_ATOMG_CAS:
        mach->looked |= ATOMG_CAS_e_MASK << ATOMG_CAS_e_LO;
        return MGET(ATOMG_CAS, e, mach->in->mods);
    case OT_ATOM_CAS:
        mach->looked |= ATOM_CAS_e_MASK << ATOM_CAS_e_LO;
        return MGET(ATOM_CAS, e, mach->in->mods);
    default: return false;
    }
#undef EXTENDED
}

Term *mach_address(Mach *mach, bool wide, unsigned stride) {
    Terms *ts = &mach->p->ts;
    const MachInst *in = mach->in;
    Term *off = t_const(ts, 32, in->src[2].kind == OPK_IMM ? in->src[2].value : 0);
    mach->looked_src |= 1u << 2;
    if (in->src[2].kind != OPK_IMM && in->src[2].kind != OPK_NONE)
        mach_fault(mach, "an address is not modelled");
    if (!wide) {
        Term *a = t_scale(ts, mach_word(mach, 0, 0), 1ull << stride);
        return t_add(ts, t_add(ts, a, mach_word(mach, 1, 0)), off);
    }
    bool desc, pair = in->src[0].mods & OPM_WIDE64, extended = is_extended(mach, &desc);
    bool ur = !desc && in->src[1].kind == OPK_REG && in->src[1].value != REG_URZ;
    mach->looked_src |= 1u << 1;
    if (!extended) /* .E is what makes an address one of 64 bits */
        mach_fault(mach, "a global address of 32 bits is not modelled");
    Term *a = pair ? mach_pair(mach, 0, OPM_WIDE64) : t_zext(ts, mach_word(mach, 0, 0));
    if (ur)
        a = t_add(ts, a, mach_pair(mach, 1, 0));
    return t_add(ts, a, t_const(ts, 64, (uint64_t)(int64_t)(int32_t)(uint32_t)off->k));
}

static void note_access(Mach *mach, Term *addr, unsigned bytes, unsigned space, bool store) {
    VEC_ADD(&mach->p->arena, &mach->r->accesses,
            ((Access){mach->full, t_under(&mach->p->ts, addr, mach->full), space, bytes, mach->at, store}));
}

void mach_load(Mach *mach, unsigned space, Term *addr, unsigned sz, unsigned order) {
    Prover *prover = mach->p;
    Terms *ts = &prover->ts;
    bool sign;
    unsigned bytes = mach_size(sz, &sign), each = bytes < 4 ? bytes : 4;
    uint32_t slot = space == MEM_LOCAL ? slot_of(mach, addr) : UINT32_MAX;
    if (slot != UINT32_MAX && bytes >= 4) {
        Term *word[4] = {0};
        check_slot(mach, slot, bytes);
        for (unsigned c = 0; c < bytes / 4; c++)
            word[c] = slot + c < prover->nloc ? mach_get(mach, slot + c) : ts->zero;
        for (unsigned c = 0; c < bytes / 4; c++)
            mach_put(mach, 0, c, word[c]);
        return;
    }
    note_access(mach, addr, bytes, space, false);
    Term *word[4];
    if (order != MemOrder_WEAK && order != MemOrder_CONSTANT) {
        Term *what, *arg[1] = {addr};
        mach->mem[space] = t_event(ts, mach->mem[space], mach->full, term_name(ts, "ld.order%u", order),
                                   bytes | space << 8, arg, 1, &what);
        for (unsigned c = 0; c * 4 < bytes; c++)
            word[c] = t_zext_from(ts, t_app(ts, TO_RESULT, 32, c, NULL, &what, 1), 8 * each);
    } else {
        for (unsigned c = 0; c * 4 < bytes; c++)
            word[c] = t_read(ts, mach->mem[space], mach->full,
                             t_add(ts, addr, t_const(ts, addr->width, 4 * c)), each, space);
    }
    if (sign)
        word[0] = t_sext_from(ts, word[0], 8 * bytes);
    for (unsigned c = 0; c * 4 < bytes; c++)
        mach_put(mach, 0, c, word[c]);
}

void mach_store(Mach *mach, unsigned space, Term *addr, unsigned sz, unsigned order) {
    Prover *prover = mach->p;
    Terms *ts = &prover->ts;
    bool sign;
    unsigned bytes = mach_size(sz, &sign), each = bytes < 4 ? bytes : 4;
    uint32_t slot = space == MEM_LOCAL ? slot_of(mach, addr) : UINT32_MAX;
    Term *arg[5] = {addr};
    unsigned n = (bytes + 3) / 4;
    for (unsigned c = 0; c < n; c++)
        arg[c + 1] = mach_word(mach, 3, c);
    if (slot != UINT32_MAX && bytes >= 4) {
        check_slot(mach, slot, bytes);
        for (unsigned c = 0; c < n && slot + c < prover->nloc; c++)
            set(mach, slot + c, arg[c + 1]);
        return;
    }
    note_access(mach, addr, bytes, space, true);
    if (order != MemOrder_WEAK) {
        if (bytes < 4)
            arg[1] = t_zext_from(ts, arg[1], 8 * bytes);
        mach->mem[space] = t_event(ts, mach->mem[space], mach->full, term_name(ts, "st.order%u", order),
                                   bytes | space << 8, arg, n + 1, NULL);
        return;
    }
    for (unsigned c = 0; c < n; c++)
        mach->mem[space] = t_store(ts, mach->mem[space], mach->full,
                                   t_add(ts, addr, t_const(ts, addr->width, 4 * c)), each, space, arg[c + 1]);
}

/* An event that several lists see. */
Term *mach_event(Mach *mach, unsigned lists, const char *name, Term *const *args, uint32_t n) {
    Term *what = NULL;
    for (unsigned s = NMEM; s-- > 0;)
        if (lists >> s & 1)
            mach->mem[s] = t_event(&mach->p->ts, mach->mem[s], mach->full, name, 0, args, n, &what);
    return what;
}

/* ---- control ---- */
enum { RETURN_REG = 20 }; /* of the calling convention: lower/select/abi.c */

static Term *return_address(Mach *mach, Term *const *val) {
    return t_under(&mach->p->ts, t_pair(&mach->p->ts, val[LOC_R + RETURN_REG], val[LOC_R + RETURN_REG + 1]),
                   mach->full);
}

/* The callee comes back to the next instruction: what a proof of both takes for granted. */
static void check_return_address(Mach *mach) {
    Terms *ts = &mach->p->ts;
    if (return_address(mach, mach->val) != t_const(ts, 64, bin_address(mach->p->g, mach->at + 1)))
        mach_fault(mach, "the return address is not that of the instruction behind the call");
}

static void check_return(Mach *mach) {
    Terms *ts = &mach->p->ts;
    const MachInst *in = mach->in;
    if (mach->p->pf->is_entry)
        return;
    Term *to = t_add(ts, t_pair(ts, mach_word(mach, RET_ra, 0), mach_word(mach, RET_ra, 1)),
                     t_const(ts, 64, (uint64_t)in->wide));
    if (MGET(RET, mode, in->mods) != BasePCMode_ABS ||
        t_under(ts, to, mach->full) !=
            t_pair(ts, mach->p->entry_val[LOC_R + RETURN_REG], mach->p->entry_val[LOC_R + RETURN_REG + 1]))
        mach_fault(mach, "the function may return to another place than its caller's");
}

static void mach_call(Mach *mach) {
    Prover *prover = mach->p;
    Terms *ts = &prover->ts;
    uint32_t callee = BINFLOW_NONE;
    for (uint32_t i = 0; i < prover->ff->ncalls; i++)
        if (prover->ff->calls[i].inst == mach->at)
            callee = prover->ff->calls[i].callee;
    if (callee == BINFLOW_NONE) {
        mach_fault(mach, "an indirect call is not modelled");
        return;
    }
    check_return_address(mach);
    const char *name = prover->g->bin->funcs[callee].name;
    uint32_t user = ptx_find_func(prover->m, name);
    Term *arg[24], *what = NULL;
    uint32_t n = 0;
    AbiPlan in = {0}, out = {0};
    if (user) {
        const PtxFunc *f = &prover->m->funcs[user - 1];
        prove_abi(prover, f->params, f->nparams, &in);
        prove_abi(prover, f->rets, f->nrets, &out);
        if (in.stack || out.stack) {
            mach_fault(mach, "a call passes arguments on the stack");
            return;
        }
        for (uint32_t k = 0; k < in.n; k++)
            for (unsigned c = 0; c < in.at[k].words && n < 24; c++)
                arg[n++] = mach_get(mach, LOC_R + (uint32_t)in.at[k].reg + c);
        what = mach_event(mach, 15, term_name(ts, "call %s", name), arg, n);
    } else if (!prove_builtin(name, &in, &out)) {
        mach_fault(mach, "a function that is not in the PTX is called");
        return;
    } else {
        for (uint32_t k = 0; k < in.n; k++)
            for (unsigned c = 0; c < in.at[k].words; c++)
                arg[n++] = mach_get(mach, LOC_R + (uint32_t)in.at[k].reg + c);
    }
    const bool *written = prover->clobbers + (size_t)callee * LOC_SLOT;
    for (uint32_t l = 0; l < LOC_SLOT; l++)
        if (written[l])
            set(mach, l, t_var(ts, prove_loc_width(l), term_name(ts, "~%u", l), 0xfff00000u + mach->at));
    uint32_t w = 0;
    for (uint32_t k = 0; k < out.n; k++)
        for (unsigned c = 0; c < out.at[k].words; c++, w++)
            set(mach, LOC_R + (uint32_t)out.at[k].reg + c,
                what ? t_app(ts, TO_RESULT, 32, w, NULL, &what, 1)
                     : t_app(ts, TO_UF, 32, w << 8, term_name(ts, "%s", name), arg, n));
}

static Exit *mach_leave(Mach *mach, ExitKind kind, uint32_t target, Term *cond) {
    Exit e = {kind, target, mach->at, cond, NULL};
    e.val = arena_copy(&mach->p->arena, mach->val, mach->p->nloc * sizeof *mach->val);
    VEC_ADD(&mach->p->arena, &mach->r->exits, e);
    return &mach->r->exits.at[mach->r->exits.n - 1];
}

/* Executes one instruction that is no branch; false: control does not go on. */
static bool mach_step(Mach *mach) {
    const MachInst *in = mach->in;
    Terms *ts = &mach->p->ts;
    switch (bin_kind(in)) {
    case BK_NOP:
    case BK_BSSY:
    case BK_BSYNC:
    case BK_BREAK:
    case BK_YIELD:
    case BK_WARPSYNC:
    case BK_BMOV_TO_B: return true;
    case BK_NANOSLEEP: return true;
    case BK_BMOV_FROM_B:
        mach_put(mach, 0, 0, t_var(ts, 32, term_name(ts, "B"), 0xfff00000u + mach->at));
        return true;
    case BK_EXIT:
    case BK_RET:
    case BK_TRAP: {
        Term *pp =
            bin_kind(in) == BK_TRAP || in->src[0].kind != OPK_REG ? ts->truth : mach_pred(mach, in->src[0]);
        Term *g = t_and(ts, mach->guard, pp);
        Term *cond = t_and(ts, mach->pc, g);
        if (bin_kind(in) == BK_RET && cond != ts->falsity)
            check_return(mach);
        if (cond != ts->falsity)
            mach_leave(mach,
                       bin_kind(in) == BK_EXIT  ? EX_END
                       : bin_kind(in) == BK_RET ? EX_RET
                                                : EX_TRAP,
                       0, cond);
        mach->pc = t_and(ts, mach->pc, t_not(ts, g));
        return mach->pc != ts->falsity;
    }
    case BK_CALL:
        if (in->src[0].kind == OPK_REG) { /* the second guard */
            mach->guard = t_and(ts, mach->guard, mach_pred(mach, in->src[0]));
            mach->full = t_and(ts, mach->pc, mach->guard);
        }
        mach_call(mach);
        return true;
    default: mach_data(mach); return true;
    }
}

static void mach_arrive(Mach *mach, uint32_t b, Term *cond) {
    Terms *ts = &mach->p->ts;
    if (cond == ts->falsity)
        return;
    uint32_t k = b - mach->p->ff->first_block;
    if (mach->stop[k] || mach->p->rpo_of[k] <= mach->rpo) {
        if (!mach->stop[k])
            mach_fault(mach, "a loop has no counterpart in the PTX");
        else
            mach_leave(mach, EX_CUT, b, cond);
        return;
    }
    if (!mach->reach[k]) {
        mach->reach[k] = cond;
        mach->in_val[k] = arena_copy(&mach->p->arena, mach->val, mach->p->nloc * sizeof *mach->val);
        return;
    }
    Term *both = t_or(ts, mach->reach[k], cond), *first = t_under(ts, cond, both);
    mach->r->guarded = true;
    mach->reach[k] = both;
    for (uint32_t l = 0; l < mach->p->nloc; l++)
        mach->in_val[k][l] = t_ite(ts, first, mach->val[l], mach->in_val[k][l]);
}

static void edges(Mach *mach, const BinBlock *b) {
    Terms *ts = &mach->p->ts;
    const MachInst *in = mach->in;
    if (bin_kind(in) == BK_BRANCH_INDIRECT) {
        mach_fault(mach, "an indirect branch is not modelled");
        return;
    }
    Term *taken = ts->falsity;
    if (bin_kind(in) == BK_BRANCH) {
        if (MGET(BRA, cond, in->mods) != BRACond_NoCond && in->optype == OT_BRA) {
            mach_fault(mach, "a branch that looks at other lanes is not modelled");
            return;
        }
        taken = t_and(ts, mach->guard, mach_pred(mach, in->src[0]));
    }
    for (uint32_t i = 0; i < b->nsuccs; i++)
        mach_arrive(mach, b->succs[i].block,
                    t_and(ts, mach->pc, b->succs[i].kind == BE_TAKEN ? taken : t_not(ts, taken)));
    if (b->ends & (BX_OFF_END | BX_BAD_TARGET | BX_UNKNOWN))
        mach_fault(mach, "control flow that is not known");
}

static void watched(Mach *mach) {
    Prover *prover = mach->p;
    Term **before = arena_copy(&prover->arena, mach->val, prover->nloc * sizeof *before),
         *words[2 * MACH_MAX_SRC] = {0};
    for (unsigned i = 0; i < mach->in->nsrc; i++)
        if (mach->in->src[i].kind == OPK_CMEM ||
            (mach->in->src[i].kind == OPK_IMM && prover->fixup[mach->at]))
            for (unsigned c = 0; c < 2; c++)
                words[2 * i + c] = mach_word(mach, i, c);
    uint32_t nuf = prover->nuf;
    mach_data(mach);
    prover->watch(prover->watch_user, mach->in, mach->at, prover->nuf == nuf, mach->full, before, mach->val,
                  words);
}

static void mach_block(Mach *mach, uint32_t block) {
    const BinBlock *b = &mach->p->g->blocks[block];
    Terms *ts = &mach->p->ts;
    for (uint32_t i = 0; i < b->ninsts && !mach->r->fault; i++) {
        mach->at = b->first + i;
        mach->in = &mach->p->g->insts[mach->at];
        if (mach->at < mach->r->first)
            mach->r->first = mach->at;
        if (mach->at > mach->r->last)
            mach->r->last = mach->at;
        mach->full = mach->pc;
        mach->guard = mach_pred(mach, mach->in->guard);
        mach->full = t_and(ts, mach->pc, mach->guard);
        BinKind kind = bin_kind(mach->in);
        bool last = i + 1 == b->ninsts;
        if (mach->guard != ts->truth && kind != BK_BRANCH)
            mach->r->guarded = true;
        if (last && (kind == BK_BRANCH || kind == BK_BRANCH_INDIRECT)) {
            edges(mach, b);
            return;
        }
        if (mach->p->watch && kind == BK_PLAIN)
            watched(mach);
        else if (!mach_step(mach))
            return;
    }
    if (b->ends & (BX_OFF_END | BX_BAD_TARGET | BX_UNKNOWN))
        mach_fault(mach, "control runs into a word that is no instruction, or off the function's end");
    if (!mach->r->fault)
        for (uint32_t i = 0; i < b->nsuccs; i++)
            mach_arrive(mach, b->succs[i].block, mach->pc);
}

void prove_mach_run(Prover *prover, uint32_t block, Term *const *val, Term *const *mem, const bool *stop,
                    Run *run) {
    uint32_t nb = prover->ff->nblocks;
    Mach x = {.p = prover, .r = run, .stop = stop, .rpo = 0};
    *run = (Run){.first = UINT32_MAX};
    x.mem = run->mem;
    memcpy(run->mem, mem, sizeof run->mem);
    x.reach = ARENA_ARRAY(&prover->arena, Term *, nb);
    x.in_val = ARENA_ARRAY(&prover->arena, Term **, nb);
    uint32_t start = block - prover->ff->first_block;
    x.reach[start] = prover->ts.truth;
    x.in_val[start] = arena_copy(&prover->arena, val, prover->nloc * sizeof *val);
    for (uint32_t k = prover->rpo_of[start]; k < prover->ff->nrpo && !run->fault && !prover->ts.overflow;
         k++) {
        uint32_t b = prover->ff->rpo[k] - prover->ff->first_block;
        if (!x.reach[b])
            continue;
        x.rpo = k;
        x.pc = x.reach[b];
        x.val = x.in_val[b];
        mach_block(&x, prover->ff->rpo[k]);
    }
}

/* ---- set-up ---- */
uint32_t prove_loc_width(uint32_t loc) {
    return (loc >= LOC_P && loc < LOC_UR) || (loc >= LOC_UP && loc < LOC_SLOT) ? 1 : 32;
}
void prove_loc_name(uint32_t loc, char out[24]) {
    if (loc < LOC_P)
        snprintf(out, 24, "R%u", loc);
    else if (loc < LOC_UR)
        snprintf(out, 24, "P%u", loc - LOC_P);
    else if (loc < LOC_UP)
        snprintf(out, 24, "UR%u", loc - LOC_UR);
    else if (loc < LOC_SLOT)
        snprintf(out, 24, "UP%u", loc - LOC_UP);
    else
        snprintf(out, 24, "[frame slot %u]", loc - LOC_SLOT);
}

static void writes_of(const BinFlow *flow, uint32_t func, bool *w) {
    const BinFuncFlow *ff = &flow->funcs[func];
    for (uint32_t i = ff->first_inst; i < ff->first_inst + ff->ninsts; i++) {
        const MachInst *in = &flow->insts[i];
        if (!flow->decoded[i])
            continue;
        if (isa_has_effect(in->optype, ISA_EFFECT_WRITES_ALL_P))
            for (uint32_t l = 0; l < 7; l++)
                w[LOC_P + l] = true;
        for (unsigned d = 0; d < in->ndst; d++) {
            Operand o = in->dst[d];
            unsigned n = isa_dst_regs(flow->bin->target, in, d);
            static const uint32_t base[] = {
                [RF_R] = LOC_R, [RF_P] = LOC_P, [RF_UR] = LOC_UR, [RF_UP] = LOC_UP};
            static const uint32_t size[] = {[RF_R] = 255, [RF_P] = 7, [RF_UR] = 63, [RF_UP] = 7};
            if (o.kind == OPK_REG && o.file < RF_B)
                for (unsigned c = 0; c < (n ? n : 1); c++)
                    if (o.value + c < size[o.file])
                        w[base[o.file] + o.value + c] = true;
        }
    }
}

bool prove_mach_setup(Prover *prover) {
    const BinFlow *flow = prover->g;
    uint32_t nf = flow->bin->nfuncs, slots = prover->bf->frame_bytes > prover->var_bytes
                                                 ? (prover->bf->frame_bytes - prover->var_bytes) / 4
                                                 : 0;
    prover->nloc = LOC_SLOT + (slots < MAX_SLOTS ? slots : MAX_SLOTS);
    prover->rpo_of = ARENA_ARRAY(&prover->arena, uint32_t, prover->ff->nblocks + 1);
    memset(prover->rpo_of, 0xff, prover->ff->nblocks * sizeof *prover->rpo_of);
    for (uint32_t k = 0; k < prover->ff->nrpo; k++)
        prover->rpo_of[prover->ff->rpo[k] - prover->ff->first_block] = k;
    prover->clobbers = ARENA_ARRAY(&prover->arena, bool, (size_t)nf *LOC_SLOT);
    for (uint32_t f = 0; f < nf; f++)
        writes_of(flow, f, prover->clobbers + (size_t)f * LOC_SLOT);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < nf; f++)
            for (uint32_t c = 0; c < flow->funcs[f].ncalls; c++) {
                uint32_t callee = flow->funcs[f].calls[c].callee;
                for (uint32_t l = 0; l < LOC_SLOT && callee != BINFLOW_NONE; l++)
                    if (prover->clobbers[(size_t)callee * LOC_SLOT + l] &&
                        !prover->clobbers[(size_t)f * LOC_SLOT + l])
                        changed = prover->clobbers[(size_t)f * LOC_SLOT + l] = true;
            }
    }
    /* R1 is lowered on entry and raised before every RET; the frame pass makes that so and a function's own
     * proof shows it */
    for (uint32_t f = 0; f < nf; f++)
        prover->clobbers[(size_t)f * LOC_SLOT + LOC_R + 1] = false;
    return true;
}

void prove_mach_entry(Prover *prover, Term **val) {
    Terms *ts = &prover->ts;
    prover->entry_val = val;
    for (uint32_t l = 0; l < prover->nloc; l++) {
        char name[24];
        prove_loc_name(l, name);
        val[l] = t_var(ts, prove_loc_width(l), term_name(ts, "initial %s", name), 0);
    }
    if (prover->pf->is_entry)
        return;
    val[LOC_R + 1] = prove_sp(prover);
    AbiPlan in;
    prove_abi(prover, prover->pf->params, prover->pf->nparams, &in);
    for (uint32_t k = 0; k < in.n; k++)
        for (unsigned c = 0; c < in.at[k].words && in.at[k].reg >= 0; c++)
            val[LOC_R + (uint32_t)in.at[k].reg + c] = prove_input(prover, "arg%u.%u", k, c);
}
