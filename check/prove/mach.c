/* Symbolic execution of decoded machine code for one lane: registers, predicates, spill slots, memory events.
 * What the machine does beyond one lane (convergence barriers, YIELD) is no effect here: the checker and the
 * model checker look after it.
 * SPDX-License-Identifier: MIT */
#include "check/prove/mach.h"
#include <stdio.h>
#include <string.h>

/* ---- operands ---- */
Term *mach_get(Mach *x, uint32_t loc) { return t_under(&x->p->ts, x->val[loc], x->full); }

static void set(Mach *x, uint32_t loc, Term *v) {
    Terms *ts = &x->p->ts;
    x->val[loc] = t_ite(ts, t_under(ts, x->guard, x->pc), v, x->val[loc]);
}

Term *mach_pred(Mach *x, Operand o) {
    Terms *ts = &x->p->ts;
    Term *v = ts->truth;
    if (o.kind == OPK_REG && o.value != REG_PT)
        v = mach_get(x, (o.file == RF_UP ? LOC_UP : LOC_P) + o.value);
    return o.mods & OPM_NOT ? t_not(ts, v) : v;
}

Term *mach_cmem(Mach *x, uint32_t bank, uint32_t offset) {
    Prover *p = x->p;
    Terms *ts = &p->ts;
    const TargetInfo *ti = isa_target_info(p->g->bin->target);
    if (bank == 3)
        return prove_const3(p, t_const(ts, 32, offset), 4, false);
    if (bank == 2) {
        uint32_t v = 0;
        if (offset + 4 <= p->bf->const_bank2_bytes)
            memcpy(&v, p->bf->const_bank2 + offset, 4);
        else
            mach_fault(x, "constant bank 2 is read out of range");
        return t_const(ts, 32, v);
    }
    if (bank != 0) {
        mach_fault(x, "a constant bank is not modelled");
        return ts->zero;
    }
    if (offset >= ti->param_base_bytes)
        return prove_param(p, offset - ti->param_base_bytes, 4);
    static const char xyz[] = "xyz";
    if (offset - ti->ntid_offset_bytes < 12 && offset % 4 == 0)
        return prove_input(p, "ntid.%c", xyz[(offset - ti->ntid_offset_bytes) / 4]);
    if (offset - ti->nctaid_offset_bytes < 12 && offset % 4 == 0)
        return prove_input(p, "nctaid.%c", xyz[(offset - ti->nctaid_offset_bytes) / 4]);
    if (offset == ti->stack_top_offset_bytes)
        return prove_sp(p);
    if (offset == ti->dynamic_shared_offset_bytes)
        return prove_input(p, "dynamic_smem_size");
    if (offset - ti->gridid_offset_bytes < 8)
        return prove_input(p, "gridid.%u", (offset - ti->gridid_offset_bytes) / 4);
    return prove_input(p, "c0+0x%x", offset);
}

static Term *address_word(Mach *x, const BinFixup *f) {
    Terms *ts = &x->p->ts;
    if (f->to_func || (f->kind != 1 && f->kind != 2)) {
        mach_fault(x, "the address of a function is not modelled");
        return ts->zero;
    }
    Term *a = t_var(ts, 64, term_name(ts, "&%s", x->p->g->bin->vars[f->target].name), 0);
    a = t_add(ts, a, t_const(ts, 64, (uint64_t)f->addend));
    return f->kind == 1 ? t_lo(ts, a) : t_hi(ts, a); /* RELOC_ABS32_LO, _HI */
}

/* Word `c` of source operand i, without modifiers. */
Term *mach_word(Mach *x, unsigned i, unsigned c) {
    Terms *ts = &x->p->ts;
    Operand o = x->in->src[i];
    switch (o.kind) {
    case OPK_NONE: return ts->zero;
    case OPK_IMM:
        return x->p->fixup[x->at] && x->in->optype != OT_LDC ? address_word(x, x->p->fixup[x->at])
                                                             : t_const(ts, 32, o.value);
    case OPK_CMEM: return mach_cmem(x, o.value >> 16, (o.value & 0xffff) + 4 * c);
    case OPK_REG:
        if (o.file == RF_R)
            return o.value == REG_RZ || o.value + c >= REG_RZ ? ts->zero : mach_get(x, LOC_R + o.value + c);
        if (o.file == RF_UR)
            return o.value == REG_URZ ? ts->zero : mach_get(x, LOC_UR + o.value + c);
        break;
    default: break;
    }
    mach_fault(x, "an operand is not modelled");
    return ts->zero;
}

void mach_fault(Mach *x, const char *why) {
    if (!x->r->fault) {
        x->r->fault = why;
        x->r->fault_at = x->at;
    }
}

/* Integer source with its sign modifier; under .X it is a complement. */
Term *mach_int(Mach *x, unsigned i, bool complement) {
    Terms *ts = &x->p->ts;
    Term *v = mach_word(x, i, 0);
    uint8_t mods = x->in->src[i].mods;
    if (mods & OPM_NEG)
        v = complement ? t_inv(ts, v) : t_scale(ts, v, ~0ull);
    if (mods & OPM_NOT)
        v = t_inv(ts, v);
    return v;
}
Term *mach_f32(Mach *x, unsigned i) {
    Terms *ts = &x->p->ts;
    Term *v = mach_word(x, i, 0);
    uint8_t mods = x->in->src[i].mods;
    if (mods & OPM_ABS)
        v = t_land(ts, v, t_const(ts, 32, 0x7fffffff));
    if (mods & OPM_NEG)
        v = t_lxor(ts, v, t_const(ts, 32, 0x80000000));
    return v;
}
Term *mach_pair(Mach *x, unsigned i) {
    Terms *ts = &x->p->ts;
    if (x->in->src[i].kind == OPK_REG &&
        x->in->src[i].value == (x->in->src[i].file == RF_UR ? REG_URZ : REG_RZ))
        return t_const(ts, 64, 0);
    return t_pair(ts, mach_word(x, i, 0), mach_word(x, i, 1));
}
Term *mach_f64(Mach *x, unsigned i) {
    Terms *ts = &x->p->ts;
    Operand o = x->in->src[i];
    if (o.kind == OPK_IMM) /* the high word */
        return t_const(ts, 64, (uint64_t)o.value << 32);
    Term *v = mach_pair(x, i), *hi = t_hi(ts, v), *lo = t_lo(ts, v);
    if (o.mods & OPM_ABS)
        hi = t_land(ts, hi, t_const(ts, 32, 0x7fffffff));
    if (o.mods & OPM_NEG)
        hi = t_lxor(ts, hi, t_const(ts, 32, 0x80000000));
    return t_pair(ts, lo, hi);
}

void mach_put(Mach *x, unsigned i, unsigned c, Term *v) {
    Operand o = x->in->dst[i];
    if (o.kind != OPK_REG)
        return;
    if (o.file == RF_R && o.value + c < REG_RZ)
        set(x, LOC_R + o.value + c, v);
    if (o.file == RF_UR && o.value + c < REG_URZ)
        set(x, LOC_UR + o.value + c, v);
}
void mach_put64(Mach *x, unsigned i, Term *v) {
    mach_put(x, i, 0, t_lo(&x->p->ts, v));
    mach_put(x, i, 1, t_hi(&x->p->ts, v));
}
void mach_put_pred(Mach *x, unsigned i, Term *v) {
    Operand o = x->in->dst[i];
    if (o.kind == OPK_REG && o.value != REG_PT)
        set(x, (o.file == RF_UP ? LOC_UP : LOC_P) + o.value, v);
}

/* ---- stack slots ---- */
/* Slot of a local address, UINT32_MAX if it is none: behind the frame's variables, at a known offset. */
static uint32_t slot_of(Mach *x, Term *addr) {
    Prover *p = x->p;
    Terms *ts = &p->ts;
    Term *d = t_sub(ts, addr, t_sub(ts, prove_sp(p), t_const(ts, 32, p->bf->frame_bytes)));
    if (!t_is_const(d) || d->k % 4 || d->k < p->var_bytes || (d->k - p->var_bytes) / 4 >= MAX_SLOTS)
        return UINT32_MAX;
    uint32_t slot = (uint32_t)(d->k - p->var_bytes) / 4;
    return LOC_SLOT + slot < p->nloc ? LOC_SLOT + slot : UINT32_MAX;
}

/* ---- memory ---- */
unsigned mach_size(unsigned sz, bool *sign) {
    *sign = sz == MemSz_S8 || sz == MemSz_S16;
    return sz <= MemSz_S8 ? 1 : sz <= MemSz_S16 ? 2 : sz == MemSz_32 ? 4 : sz == MemSz_64 ? 8 : 16;
}

Term *mach_address(Mach *x, bool wide, unsigned stride) {
    Terms *ts = &x->p->ts;
    const MachInst *in = x->in;
    Term *off = t_const(ts, 32, in->src[2].kind == OPK_IMM ? in->src[2].value : 0);
    if (!wide) {
        Term *a = t_scale(ts, mach_word(x, 0, 0), 1ull << stride);
        return t_add(ts, t_add(ts, a, mach_word(x, 1, 0)), off);
    }
    bool pair = in->src[0].mods & OPM_WIDE64;
    bool ur = in->src[1].kind == OPK_REG && in->src[1].value != REG_URZ;
    Term *a = pair || !ur ? mach_pair(x, 0) : t_zext(ts, mach_word(x, 0, 0));
    if (ur)
        a = t_add(ts, a, mach_pair(x, 1));
    return t_add(ts, a, t_const(ts, 64, (uint64_t)(int64_t)(int32_t)(uint32_t)off->k));
}

static void note_load(Mach *x, Term *addr, unsigned bytes, unsigned space) {
    VEC_ADD(&x->p->arena, &x->r->loads,
            ((Access){x->full, t_under(&x->p->ts, addr, x->full), space, bytes, x->at}));
}

void mach_load(Mach *x, unsigned space, Term *addr, unsigned sz, unsigned order) {
    Prover *p = x->p;
    Terms *ts = &p->ts;
    bool sign;
    unsigned bytes = mach_size(sz, &sign), each = bytes < 4 ? bytes : 4;
    uint32_t slot = space == MEM_LOCAL ? slot_of(x, addr) : UINT32_MAX;
    if (slot != UINT32_MAX && bytes >= 4) {
        Term *word[4] = {0};
        for (unsigned c = 0; c < bytes / 4; c++)
            word[c] = slot + c < p->nloc ? mach_get(x, slot + c) : ts->zero;
        for (unsigned c = 0; c < bytes / 4; c++)
            mach_put(x, 0, c, word[c]);
        return;
    }
    note_load(x, addr, bytes, space);
    Term *word[4];
    if (order != MemOrder_WEAK && order != MemOrder_CONSTANT) {
        Term *what, *arg[1] = {addr};
        x->mem[space] = t_event(ts, x->mem[space], x->full, term_name(ts, "ld.order%u", order),
                                bytes | space << 8, arg, 1, &what);
        for (unsigned c = 0; c * 4 < bytes; c++)
            word[c] = t_zext_from(ts, t_app(ts, TO_RESULT, 32, c, NULL, &what, 1), 8 * each);
    } else {
        for (unsigned c = 0; c * 4 < bytes; c++)
            word[c] = t_read(ts, x->mem[space], x->full, t_add(ts, addr, t_const(ts, addr->width, 4 * c)),
                             each, space);
    }
    if (sign)
        word[0] = t_sext_from(ts, word[0], 8 * bytes);
    for (unsigned c = 0; c * 4 < bytes; c++)
        mach_put(x, 0, c, word[c]);
}

void mach_store(Mach *x, unsigned space, Term *addr, unsigned sz, unsigned order) {
    Prover *p = x->p;
    Terms *ts = &p->ts;
    bool sign;
    unsigned bytes = mach_size(sz, &sign), each = bytes < 4 ? bytes : 4;
    uint32_t slot = space == MEM_LOCAL ? slot_of(x, addr) : UINT32_MAX;
    Term *arg[5] = {addr};
    unsigned n = (bytes + 3) / 4;
    for (unsigned c = 0; c < n; c++)
        arg[c + 1] = mach_word(x, 3, c);
    if (slot != UINT32_MAX && bytes >= 4) {
        for (unsigned c = 0; c < n && slot + c < p->nloc; c++)
            set(x, slot + c, arg[c + 1]);
        return;
    }
    if (order != MemOrder_WEAK) {
        if (bytes < 4)
            arg[1] = t_zext_from(ts, arg[1], 8 * bytes);
        x->mem[space] = t_event(ts, x->mem[space], x->full, term_name(ts, "st.order%u", order),
                                bytes | space << 8, arg, n + 1, NULL);
        return;
    }
    for (unsigned c = 0; c < n; c++)
        x->mem[space] = t_store(ts, x->mem[space], x->full, t_add(ts, addr, t_const(ts, addr->width, 4 * c)),
                                each, space, arg[c + 1]);
}

/* An event that several lists see. */
Term *mach_event(Mach *x, unsigned lists, const char *name, Term *const *args, uint32_t n) {
    Term *what = NULL;
    for (unsigned s = NMEM; s-- > 0;)
        if (lists >> s & 1)
            x->mem[s] = t_event(&x->p->ts, x->mem[s], x->full, name, 0, args, n, &what);
    return what;
}

/* ---- control ---- */
static void call(Mach *x) {
    Prover *p = x->p;
    Terms *ts = &p->ts;
    uint32_t callee = BINFLOW_NONE;
    for (uint32_t i = 0; i < p->ff->ncalls; i++)
        if (p->ff->calls[i].inst == x->at)
            callee = p->ff->calls[i].callee;
    if (callee == BINFLOW_NONE) {
        mach_fault(x, "an indirect call is not modelled");
        return;
    }
    const char *name = p->g->bin->funcs[callee].name;
    uint32_t user = ptx_find_func(p->m, name);
    Term *arg[24], *what = NULL;
    uint32_t n = 0;
    AbiPlan in = {0}, out = {0};
    if (user) {
        const PtxFunc *f = &p->m->funcs[user - 1];
        prove_abi(p, f->params, f->nparams, &in);
        prove_abi(p, f->rets, f->nrets, &out);
        if (in.stack || out.stack) {
            mach_fault(x, "a call passes arguments on the stack");
            return;
        }
        for (uint32_t k = 0; k < in.n; k++)
            for (unsigned c = 0; c < in.at[k].words && n < 24; c++)
                arg[n++] = mach_get(x, LOC_R + (uint32_t)in.at[k].reg + c);
        what = mach_event(x, 15, term_name(ts, "call %s", name), arg, n);
    } else if (!prove_builtin(name, &in, &out)) {
        mach_fault(x, "a function that is not in the PTX is called");
        return;
    } else {
        for (uint32_t k = 0; k < in.n; k++)
            for (unsigned c = 0; c < in.at[k].words; c++)
                arg[n++] = mach_get(x, LOC_R + (uint32_t)in.at[k].reg + c);
    }
    const bool *written = p->clobbers + (size_t)callee * LOC_SLOT;
    for (uint32_t l = 0; l < LOC_SLOT; l++)
        if (written[l])
            set(x, l, t_var(ts, prove_loc_width(l), term_name(ts, "~%u", l), 0xfff00000u + x->at));
    uint32_t w = 0;
    for (uint32_t k = 0; k < out.n; k++)
        for (unsigned c = 0; c < out.at[k].words; c++, w++)
            set(x, LOC_R + (uint32_t)out.at[k].reg + c,
                what ? t_app(ts, TO_RESULT, 32, w, NULL, &what, 1)
                     : t_app(ts, TO_UF, 32, w << 8, term_name(ts, "%s", name), arg, n));
}

static Exit *leave(Mach *x, ExitKind kind, uint32_t target, Term *cond) {
    Exit e = {kind, target, x->at, cond, NULL};
    e.val = arena_copy(&x->p->arena, x->val, x->p->nloc * sizeof *x->val);
    VEC_ADD(&x->p->arena, &x->r->exits, e);
    return &x->r->exits.at[x->r->exits.n - 1];
}

/* Executes one instruction that is no branch; false: control does not go on. */
static bool step(Mach *x) {
    const MachInst *in = x->in;
    Terms *ts = &x->p->ts;
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
        mach_put(x, 0, 0, t_var(ts, 32, term_name(ts, "B"), 0xfff00000u + x->at));
        return true;
    case BK_EXIT:
    case BK_RET:
    case BK_TRAP: {
        Term *pp =
            bin_kind(in) == BK_TRAP || in->src[0].kind != OPK_REG ? ts->truth : mach_pred(x, in->src[0]);
        Term *g = t_and(ts, x->guard, pp);
        Term *cond = t_and(ts, x->pc, g);
        if (cond != ts->falsity)
            leave(x, bin_kind(in) == BK_EXIT ? EX_END : bin_kind(in) == BK_RET ? EX_RET : EX_TRAP, 0, cond);
        x->pc = t_and(ts, x->pc, t_not(ts, g));
        return x->pc != ts->falsity;
    }
    case BK_CALL: call(x); return true;
    default: mach_data(x); return true;
    }
}

static void arrive(Mach *x, uint32_t b, Term *cond) {
    Terms *ts = &x->p->ts;
    if (cond == ts->falsity)
        return;
    uint32_t k = b - x->p->ff->first_block;
    if (x->stop[k] || x->p->rpo_of[k] <= x->rpo) {
        if (!x->stop[k])
            mach_fault(x, "a loop has no counterpart in the PTX");
        else
            leave(x, EX_CUT, b, cond);
        return;
    }
    if (!x->reach[k]) {
        x->reach[k] = cond;
        x->in_val[k] = arena_copy(&x->p->arena, x->val, x->p->nloc * sizeof *x->val);
        return;
    }
    Term *both = t_or(ts, x->reach[k], cond), *first = t_under(ts, cond, both);
    x->r->guarded = true;
    x->reach[k] = both;
    for (uint32_t l = 0; l < x->p->nloc; l++)
        x->in_val[k][l] = t_ite(ts, first, x->val[l], x->in_val[k][l]);
}

static void edges(Mach *x, const BinBlock *b) {
    Terms *ts = &x->p->ts;
    const MachInst *in = x->in;
    if (bin_kind(in) == BK_BRANCH_INDIRECT) {
        mach_fault(x, "an indirect branch is not modelled");
        return;
    }
    Term *taken = ts->falsity;
    if (bin_kind(in) == BK_BRANCH) {
        if (MGET(BRA, cond, in->mods) != BRACond_NoCond && in->optype == OT_BRA) {
            mach_fault(x, "a branch that looks at other lanes is not modelled");
            return;
        }
        taken = t_and(ts, x->guard, mach_pred(x, in->src[0]));
    }
    for (uint32_t i = 0; i < b->nsuccs; i++)
        arrive(x, b->succs[i].block,
               t_and(ts, x->pc, b->succs[i].kind == BE_TAKEN ? taken : t_not(ts, taken)));
    if (b->ends & (BX_OFF_END | BX_BAD_TARGET | BX_UNKNOWN))
        mach_fault(x, "control flow that is not known");
}

static void watched(Mach *x) {
    Prover *p = x->p;
    Term **before = arena_copy(&p->arena, x->val, p->nloc * sizeof *before), *words[2 * MACH_MAX_SRC] = {0};
    for (unsigned i = 0; i < x->in->nsrc; i++)
        if (x->in->src[i].kind == OPK_CMEM || (x->in->src[i].kind == OPK_IMM && p->fixup[x->at]))
            for (unsigned c = 0; c < 2; c++)
                words[2 * i + c] = mach_word(x, i, c);
    mach_data(x);
    p->watch(p->watch_user, x->in, x->at, x->full, before, x->val, words);
}

static void run_block(Mach *x, uint32_t block) {
    const BinBlock *b = &x->p->g->blocks[block];
    Terms *ts = &x->p->ts;
    for (uint32_t i = 0; i < b->ninsts && !x->r->fault; i++) {
        x->at = b->first + i;
        x->in = &x->p->g->insts[x->at];
        if (x->at < x->r->first)
            x->r->first = x->at;
        if (x->at > x->r->last)
            x->r->last = x->at;
        x->full = x->pc;
        x->guard = mach_pred(x, x->in->guard);
        x->full = t_and(ts, x->pc, x->guard);
        BinKind kind = bin_kind(x->in);
        bool last = i + 1 == b->ninsts;
        if (x->guard != ts->truth && kind != BK_BRANCH)
            x->r->guarded = true;
        if (last && (kind == BK_BRANCH || kind == BK_BRANCH_INDIRECT)) {
            edges(x, b);
            return;
        }
        if (x->p->watch && kind == BK_PLAIN)
            watched(x);
        else if (!step(x))
            return;
    }
    if (!x->r->fault)
        for (uint32_t i = 0; i < b->nsuccs; i++)
            arrive(x, b->succs[i].block, x->pc);
}

void prove_mach_run(Prover *p, uint32_t block, Term *const *val, Term *const *mem, const bool *stop, Run *r) {
    uint32_t nb = p->ff->nblocks;
    Mach x = {.p = p, .r = r, .stop = stop, .rpo = 0};
    *r = (Run){.first = UINT32_MAX};
    x.mem = r->mem;
    memcpy(r->mem, mem, sizeof r->mem);
    x.reach = ARENA_ARRAY(&p->arena, Term *, nb);
    x.in_val = ARENA_ARRAY(&p->arena, Term **, nb);
    uint32_t start = block - p->ff->first_block;
    x.reach[start] = p->ts.truth;
    x.in_val[start] = arena_copy(&p->arena, val, p->nloc * sizeof *val);
    for (uint32_t k = p->rpo_of[start]; k < p->ff->nrpo && !r->fault && !p->ts.overflow; k++) {
        uint32_t b = p->ff->rpo[k] - p->ff->first_block;
        if (!x.reach[b])
            continue;
        x.rpo = k;
        x.pc = x.reach[b];
        x.val = x.in_val[b];
        run_block(&x, p->ff->rpo[k]);
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

static void writes_of(const BinFlow *g, uint32_t func, bool *w) {
    const BinFuncFlow *ff = &g->funcs[func];
    for (uint32_t i = ff->first_inst; i < ff->first_inst + ff->ninsts; i++) {
        const MachInst *in = &g->insts[i];
        if (!g->decoded[i])
            continue;
        if (isa_optype_flags(in->optype) & ISA_FLAG_WRITES_ALL_P)
            for (uint32_t l = 0; l < 7; l++)
                w[LOC_P + l] = true;
        for (unsigned d = 0; d < in->ndst; d++) {
            Operand o = in->dst[d];
            unsigned n = isa_dst_regs(g->bin->target, in, d);
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

bool prove_mach_setup(Prover *p) {
    const BinFlow *g = p->g;
    uint32_t nf = g->bin->nfuncs,
             slots = p->bf->frame_bytes > p->var_bytes ? (p->bf->frame_bytes - p->var_bytes) / 4 : 0;
    p->nloc = LOC_SLOT + (slots < MAX_SLOTS ? slots : MAX_SLOTS);
    p->rpo_of = ARENA_ARRAY(&p->arena, uint32_t, p->ff->nblocks + 1);
    memset(p->rpo_of, 0xff, p->ff->nblocks * sizeof *p->rpo_of);
    for (uint32_t k = 0; k < p->ff->nrpo; k++)
        p->rpo_of[p->ff->rpo[k] - p->ff->first_block] = k;
    p->clobbers = ARENA_ARRAY(&p->arena, bool, (size_t)nf *LOC_SLOT);
    for (uint32_t f = 0; f < nf; f++)
        writes_of(g, f, p->clobbers + (size_t)f * LOC_SLOT);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t f = 0; f < nf; f++)
            for (uint32_t c = 0; c < g->funcs[f].ncalls; c++) {
                uint32_t callee = g->funcs[f].calls[c].callee;
                for (uint32_t l = 0; l < LOC_SLOT && callee != BINFLOW_NONE; l++)
                    if (p->clobbers[(size_t)callee * LOC_SLOT + l] && !p->clobbers[(size_t)f * LOC_SLOT + l])
                        changed = p->clobbers[(size_t)f * LOC_SLOT + l] = true;
            }
    }
    /* R1 is lowered on entry and raised before every RET; the frame pass makes that so and a function's own
     * proof shows it */
    for (uint32_t f = 0; f < nf; f++)
        p->clobbers[(size_t)f * LOC_SLOT + LOC_R + 1] = false;
    return true;
}

void prove_mach_entry(Prover *p, Term **val) {
    Terms *ts = &p->ts;
    for (uint32_t l = 0; l < p->nloc; l++) {
        char name[24];
        prove_loc_name(l, name);
        val[l] = t_var(ts, prove_loc_width(l), term_name(ts, "initial %s", name), 0);
    }
    if (p->pf->is_entry)
        return;
    val[LOC_R + 1] = prove_sp(p);
    AbiPlan in;
    prove_abi(p, p->pf->params, p->pf->nparams, &in);
    for (uint32_t k = 0; k < in.n; k++)
        for (unsigned c = 0; c < in.at[k].words && in.at[k].reg >= 0; c++)
            val[LOC_R + (uint32_t)in.at[k].reg + c] = prove_input(p, "arg%u.%u", k, c);
}
