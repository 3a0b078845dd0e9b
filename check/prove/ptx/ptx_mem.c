/* Moves, memory, barriers, collectives and calls of PTX, for one thread. PTX ISA 9.7.9, 9.7.12, 9.7.13.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "check/prove/ptx/ptx.h"
#include "frontend/param_layout.h"
#include "frontend/sregs.h"
#include "frontend/system.h"
#include "sim/launch.h" /* address windows */

static Term *word_of(Ptx *ptx, Term *what, unsigned c) {
    return t_app(&ptx->prover->ts, TO_RESULT, 32, c, NULL, &what, 1);
}

/* ---- moves ---- */
static Term *pack_vector(Ptx *ptx, const PtxOperand *operand, unsigned total) {
    Terms *ts = &ptx->prover->ts;
    unsigned each = total / operand->nvec;
    PtxType t = each == 1 ? TY_B8 : each == 2 ? TY_B16 : TY_B32;
    Term *w[2] = {ts->zero, ts->zero};
    for (unsigned k = 0; k < operand->nvec; k++) {
        Term *v = pv_src(ptx, &operand->vec[k], t);
        unsigned at = k * each;
        w[at / 4] = t_lxor(ts, w[at / 4], t_shl(ts, v, pv_k32(ptx, 8 * (at % 4))));
    }
    return total == 8 ? t_pair(ts, w[0], w[1]) : w[0];
}
static void unpack(Ptx *ptx, const PtxOperand *operand, Term *term, unsigned total) {
    Terms *ts = &ptx->prover->ts;
    unsigned each = total / operand->nvec;
    PtxType t = each == 1 ? TY_B8 : each == 2 ? TY_B16 : TY_B32;
    for (unsigned k = 0; k < operand->nvec; k++) {
        unsigned at = k * each;
        Term *w = term->width == 64 ? (at < 4 ? t_lo(ts, term) : t_hi(ts, term)) : term;
        pv_dst(ptx, &operand->vec[k], t, t_zext_from(ts, t_lshr(ts, w, pv_k32(ptx, 8 * (at % 4))), 8 * each));
    }
}
/* mov.v2, mov.v4: all are read before one is written. */
static bool move_elements(Ptx *ptx, const PtxOperand *to, const PtxOperand *from) {
    Term *v[4];
    if (from->nvec > 4 || from->nvec != to->nvec)
        return false;
    for (unsigned k = 0; k < from->nvec; k++)
        v[k] = pv_src(ptx, &from->vec[k], pv_type(ptx));
    for (unsigned k = 0; k < to->nvec; k++)
        pv_dst(ptx, &to->vec[k], pv_type(ptx), v[k]);
    return true;
}
/* mov.b128: of a register, or of elements that make one up. */
static bool move_wide(Ptx *ptx, const PtxOperand *to, const PtxOperand *from) {
    Terms *ts = &ptx->prover->ts;
    unsigned nto = to->kind == PO_VEC ? to->nvec : 1, nfrom = from->kind == PO_VEC ? from->nvec : 1;
    Term *v[2], *part[4];
    if ((nto != 1 && nto != 2 && nto != 4) || (nfrom != 1 && nfrom != 2 && nfrom != 4) ||
        (nto > 1 && nfrom > 1))
        return false;
    for (unsigned k = 0; k < nfrom && nfrom > 1; k++)
        part[k] = pv_src(ptx, &from->vec[k], nfrom == 2 ? TY_B64 : TY_B32);
    for (unsigned half = 0; half < 2; half++)
        v[half] = nfrom == 1   ? pv_half_src(ptx, from, half)
                  : nfrom == 2 ? part[half]
                               : t_pair(ts, part[2 * half], part[2 * half + 1]);
    for (unsigned half = 0; half < 2; half++)
        if (nto == 1)
            pv_half_dst(ptx, to, half, v[half]);
        else if (nto == 2)
            pv_dst(ptx, &to->vec[half], TY_B64, v[half]);
        else {
            pv_dst(ptx, &to->vec[2 * half], TY_B32, t_lo(ts, v[half]));
            pv_dst(ptx, &to->vec[2 * half + 1], TY_B32, t_hi(ts, v[half]));
        }
    return true;
}
bool prove_ptx_mov(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxOperand *operand = pv_operand(ptx, 0), *ptx_operand = pv_operand(ptx, 1);
    unsigned bytes = pv_bytes(pv_type(ptx));
    if (bytes == 16)
        return move_wide(ptx, operand, ptx_operand);
    if (operand->kind == PO_VEC && ptx_operand->kind == PO_VEC)
        return move_elements(ptx, operand, ptx_operand);
    Term *v;
    if (sreg_varies(ptx_operand) == SREG_VARIES_TIME) {
        static const char *const names[SR_COUNT] = {[SR_CLOCK] = "clock.lo",
                                                    [SR_CLOCK_HI] = "clock.hi",
                                                    [SR_CLOCK64] = "clock.lo 64",
                                                    [SR_GLOBALTIMER] = "globaltimer.lo 64",
                                                    [SR_GLOBALTIMER_LO] = "globaltimer.lo",
                                                    [SR_GLOBALTIMER_HI] = "globaltimer.hi"};
        unsigned pm = ptx_operand->component;
        const char *name = ptx_operand->sreg == SR_PM ? term_name(ts, "pm%u%s", pm % 8, pm >= 8 ? " 64" : "")
                                                      : names[ptx_operand->sreg];
        if (!name) {
            pv_fault(ptx, "a special register is not modelled");
            return true;
        }
        Term *what = pv_event(ptx, 1u << MEM_WARP, term_name(ts, "%s", name), NULL, 0);
        v = bytes == 8 ? t_pair(ts, word_of(ptx, what, 0), word_of(ptx, what, 1)) : word_of(ptx, what, 0);
    } else {
        v = ptx_operand->kind == PO_VEC ? pack_vector(ptx, ptx_operand, bytes)
                                        : pv_src(ptx, ptx_operand, pv_type(ptx));
    }
    if (operand->kind == PO_VEC)
        unpack(ptx, operand, v, bytes);
    else
        pv_dst(ptx, operand, pv_type(ptx), v);
    return true;
}

/* ---- addresses ---- */
/* Where there are clusters, their shared memory is reached by generic addresses. */
static bool is_windowed(const Ptx *ptx) {
    return ptx->in->space == SP_SHARED_CLUSTER &&
           isa_target_info(ptx->prover->flow->bin->target)->cluster_offset_bytes;
}
static Term *register_address(Ptx *ptx, uint32_t reg, bool windowed) {
    Terms *ts = &ptx->prover->ts;
    Term *v = pv_value(ptx, reg);
    if (windowed) /* 32 bits of it count */
        return t_pair(ts, v->width == 64 ? t_lo(ts, v) : v, t_const(ts, 32, SIM_SHARED_WINDOW >> 32));
    return v->width == 64 ? v : t_zext(ts, v);
}
Term *pv_address(Ptx *ptx, const PtxOperand *operand, unsigned width) {
    Terms *ts = &ptx->prover->ts;
    bool windowed = is_windowed(ptx);
    Term *a;
    if (operand->nvec)
        pv_fault(ptx, "this kind of address is not modelled");
    if (operand->reg) {
        a = t_add(ts, register_address(ptx, operand->reg, windowed), t_const(ts, 64, (uint64_t)operand->imm));
    } else {
        a = operand->sym ? pv_symbol(ptx, operand) : t_const(ts, 64, (uint64_t)operand->imm);
        if (windowed)
            a = t_add(ts, a, t_const(ts, 64, SIM_SHARED_WINDOW));
    }
    return width == 64 ? a : t_lo(ts, a);
}
/* A copy of what selection has, so that a proof does not take its word. */
unsigned pv_order(const PtxInsn *in) {
    switch (in->sem) {
    case SEM_VOLATILE: return MemOrder_STRONG_SYS;
    case SEM_MMIO: return MemOrder_MMIO_SYS;
    case SEM_NC: return MemOrder_CONSTANT;
    case SEM_RELAXED:
    case SEM_ACQUIRE:
    case SEM_RELEASE:
    case SEM_ACQ_REL:
    case SEM_SC:
        return in->scope == SCOPE_CTA   ? MemOrder_STRONG_SM
               : in->scope == SCOPE_SYS ? MemOrder_STRONG_SYS
                                        : MemOrder_STRONG_GPU;
    default: return in->cop == COP_CV ? MemOrder_STRONG_SYS : MemOrder_WEAK;
    }
}
static int list_of(PtxSpace s) {
    return s == SP_GLOBAL ? MEM_GLOBAL : s == SP_SHARED ? MEM_SHARED : s == SP_LOCAL ? MEM_LOCAL : -1;
}
/* What others may watch, or change between two loads: each access counts, also where a second one finds or
 * leaves the same. */
static bool is_event(const Ptx *ptx, int list, unsigned order) {
    return (list == MEM_GLOBAL && order != MemOrder_WEAK && order != MemOrder_CONSTANT) ||
           (list == MEM_SHARED && ptx->prover->watched >> MEM_SHARED & 1);
}
PtxSpace pv_space(const Ptx *ptx,
                  const PtxOperand *operand) { /* a generic access to a symbol is one to its space */
    PtxSpace s = (PtxSpace)ptx->in->space;
    if (s == SP_NONE && operand->sym && !(operand->sym & PTX_SYM_FUNC) && !operand->reg)
        s = ptx->prover->module->vars[operand->sym - 1].space;
    if (s == SP_SHARED_CLUSTER) /* of a machine without clusters it is the block's */
        return is_windowed(ptx) ? SP_NONE : SP_SHARED;
    return s;
}

/* An acquire is a strong access and a fence behind it, a release has one before: at least as strong as PTX
 * asks for (8.8), and what code for machines without either has. */
static unsigned scope_of(const PtxInsn *in) {
    return in->scope == SCOPE_CTA   ? MembarScope_CTA
           : in->scope == SCOPE_SYS ? MembarScope_SYS
                                    : MembarScope_GPU;
}
void pv_fence(Ptx *ptx, bool wanted) {
    if (wanted)
        pv_event(ptx, 7, term_name(&ptx->prover->ts, "membar.%u.%u", scope_of(ptx->in), MembarKind_ALL), NULL,
                 0);
}
/* Behind an acquire or a fence wider than the block nothing may be read from a copy made before. */
static void forget_copies(Ptx *ptx, bool wanted) {
    if (wanted && ptx->in->scope != SCOPE_CTA && isa_target_has(ptx->prover->flow->bin->target, OT_CCTL))
        pv_event(ptx, 1u << MEM_GLOBAL, "copies forgotten", NULL, 0);
}
void pv_acquire(Ptx *ptx, bool wanted) {
    pv_fence(ptx, wanted);
    forget_copies(ptx, wanted);
}
bool pv_releases(const PtxInsn *in) { return in->sem == SEM_RELEASE || in->sem == SEM_ACQ_REL; }
bool pv_acquires(const PtxInsn *in) { return in->sem == SEM_ACQUIRE || in->sem == SEM_ACQ_REL; }

/* ---- loads and stores ---- */
/* Hands `total` bytes, in words, to the destination or the elements of it. */
void pv_give(Ptx *ptx, const PtxOperand *operand, PtxType t, Term *const *w) {
    Terms *ts = &ptx->prover->ts;
    unsigned each = pv_bytes(t), n = operand->kind == PO_VEC ? operand->nvec : 1;
    for (unsigned k = 0; k < n; k++) {
        unsigned at = k * each;
        const PtxOperand *element = operand->kind == PO_VEC ? &operand->vec[k] : operand;
        if (each == 16) {
            for (unsigned half = 0; half < 2; half++)
                pv_half_dst(ptx, element, half, t_pair(ts, w[at / 4 + 2 * half], w[at / 4 + 2 * half + 1]));
            continue;
        }
        Term *v = each == 8 ? t_pair(ts, w[at / 4], w[at / 4 + 1]) : w[at / 4];
        if (each < 4)
            v = t_zext_from(ts, t_lshr(ts, v, pv_k32(ptx, 8 * (at % 4))), 8 * each);
        pv_dst(ptx, element, t, v);
    }
}
unsigned pv_take(Ptx *ptx, const PtxOperand *operand, PtxType t, Term **w) { /* number of bytes */
    Terms *ts = &ptx->prover->ts;
    unsigned each = pv_bytes(t), n = operand->kind == PO_VEC ? operand->nvec : 1;
    for (unsigned i = 0; i < 4; i++)
        w[i] = ts->zero;
    for (unsigned k = 0; k < n; k++) {
        unsigned at = k * each;
        const PtxOperand *element = operand->kind == PO_VEC ? &operand->vec[k] : operand;
        if (each == 16) {
            for (unsigned half = 0; half < 2 && at + 16 <= 16; half++) {
                Term *v = pv_half_src(ptx, element, half);
                w[at / 4 + 2 * half] = t_lo(ts, v);
                w[at / 4 + 2 * half + 1] = t_hi(ts, v);
            }
            continue;
        }
        Term *v = pv_src(ptx, element, t);
        if (each == 8) {
            w[at / 4] = t_lo(ts, v);
            w[at / 4 + 1] = t_hi(ts, v);
        } else {
            w[at / 4] = t_lxor(ts, w[at / 4], t_shl(ts, v, pv_k32(ptx, 8 * (at % 4))));
        }
    }
    return each * n;
}

static bool param_access(Ptx *ptx, const PtxOperand *operand, Term **w, unsigned bytes, bool store) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    if (operand->reg || !operand->sym)
        return false;
    uint32_t index = operand->sym - 1, first = prover->param_word[index];
    if (!first && prover->pf->is_entry && !store) {
        const PtxVar *var = &prover->module->vars[index];
        uint64_t offset = prove_param_offset(prover, var) + (uint64_t)operand->imm,
                 end = ptx_param_bytes(prover->module, prover->pf,
                                       isa_target_info(prover->flow->bin->target)->param_base_bytes);
        if (offset + bytes > end)
            pv_fault(ptx, "a load past the end of the parameters is not modelled");
        for (unsigned c = 0; c * 4 < bytes; c++)
            w[c] = prove_param(prover, offset + 4 * c, bytes < 4 ? bytes : 4);
        return true;
    }
    if (!first || operand->imm < 0 ||
        (uint64_t)operand->imm + bytes > ((prover->module->vars[index].size_bytes + 3) & ~3ull))
        return false;
    uint32_t at = (uint32_t)operand->imm, word = first - 1 + at / 4;
    for (unsigned c = 0; c * 4 < bytes; c++) {
        if (!store) {
            w[c] = pv_value(ptx, word + c);
            if (bytes < 4)
                w[c] = t_zext_from(ts, t_lshr(ts, w[c], pv_k32(ptx, 8 * (at % 4))), 8 * bytes);
        } else if (bytes < 4 && prover->module->vars[index].size_bytes > bytes) {
            Term *m = pv_k32(ptx, ((1ull << 8 * bytes) - 1) << 8 * (at % 4)), *old = pv_value(ptx, word);
            pv_set(
                ptx, word,
                t_lxor(ts, old, t_land(ts, m, t_lxor(ts, old, t_shl(ts, w[0], pv_k32(ptx, 8 * (at % 4)))))));
        } else {
            pv_set(ptx, word + c, w[c]);
        }
    }
    return true;
}

bool prove_ptx_ld(Ptx *ptx) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    const PtxInsn *in = ptx->in;
    const PtxOperand *a = pv_operand(ptx, 1);
    PtxSpace space = pv_space(ptx, a);
    PtxType t = pv_type(ptx);
    unsigned n = pv_operand(ptx, 0)->kind == PO_VEC ? pv_operand(ptx, 0)->nvec : 1, bytes = pv_bytes(t) * n,
             each = bytes < 4 ? bytes : 4, o = pv_order(in);
    Term *w[8];
    if (!bytes || bytes > 16 || in->sem == SEM_SC)
        return false;
    if (space == SP_PARAM && prover->pf->is_entry && a->reg) {
        Term *at = pv_address(ptx, a, 32);
        VEC_ADD(prover->run_arena, &ptx->run->accesses,
                ((Access){ptx->full, t_under(ts, at, ptx->full), MEM_PARAM, bytes, ptx->at, false}));
        for (unsigned c = 0; c * 4 < bytes; c++)
            w[c] = prove_param_at(prover, t_add(ts, at, pv_k32(ptx, 4 * c)), each);
        pv_give(ptx, pv_operand(ptx, 0), t, w);
        return true;
    }
    if (space == SP_PARAM || space == SP_PARAM_FUNC) {
        if (!param_access(ptx, a, w, bytes, false))
            return false;
        pv_give(ptx, pv_operand(ptx, 0), t, w);
        return true;
    }
    if (space == SP_CONST) {
        Term *at = pv_address(ptx, a, 32);
        VEC_ADD(prover->run_arena, &ptx->run->accesses,
                ((Access){ptx->full, t_under(ts, at, ptx->full), MEM_CONST, bytes, ptx->at, false}));
        for (unsigned c = 0; c * 4 < bytes; c++)
            w[c] = prove_const3(prover, t_add(ts, at, pv_k32(ptx, 4 * c)), each, false);
    } else if (space == SP_NONE) {
        Term *at = pv_address(ptx, a, 64), *what = NULL;
        if (o != MemOrder_WEAK)
            what = pv_event(ptx, 7, term_name(ts, "ld.generic.%u.o%u", bytes, o), &at, 1);
        else
            VEC_ADD(prover->run_arena, &ptx->run->accesses,
                    ((Access){ptx->full, t_under(ts, at, ptx->full), MEM_GENERIC, bytes, ptx->at, false}));
        for (unsigned c = 0; c * 4 < bytes; c++)
            w[c] = what ? t_zext_from(ts, word_of(ptx, what, c), 8 * each)
                        : prove_generic(prover, ptx->mem, ptx->full, t_add(ts, at, t_const(ts, 64, 4 * c)),
                                        each);
    } else {
        int list = list_of(space);
        if (list < 0)
            return false;
        Term *at = pv_address(ptx, a, list == MEM_GLOBAL ? 64 : 32);
        VEC_ADD(prover->run_arena, &ptx->run->accesses,
                ((Access){ptx->full, t_under(ts, at, ptx->full), (uint32_t)list, bytes, ptx->at, false}));
        if (o == MemOrder_CONSTANT)
            VEC_ADD(prover->run_arena, &ptx->run->accesses,
                    ((Access){ptx->full, t_under(ts, at, ptx->full), MEM_READ_ONLY, bytes, ptx->at, false}));
        if (is_event(ptx, list, o)) {
            Term *what;
            ptx->mem[list] = t_event(ts, ptx->mem[list], ptx->full,
                                     term_name(ts, "ld.order%u", list == MEM_SHARED ? MemOrder_WEAK : o),
                                     bytes | (uint64_t)list << 8, &at, 1, &what);
            for (unsigned c = 0; c * 4 < bytes; c++)
                w[c] = t_zext_from(ts, word_of(ptx, what, c), 8 * each);
        } else {
            for (unsigned c = 0; c * 4 < bytes; c++)
                w[c] = t_read(ts, o == MemOrder_CONSTANT ? ptx->first_mem[list] : ptx->mem[list], ptx->full,
                              t_add(ts, at, t_const(ts, at->width, 4 * c)), each, (unsigned)list);
        }
    }
    pv_acquire(ptx, pv_acquires(in));
    pv_give(ptx, pv_operand(ptx, 0), t, w);
    return true;
}

bool prove_ptx_st(Ptx *ptx) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    const PtxOperand *a = pv_operand(ptx, 0);
    PtxSpace space = pv_space(ptx, a);
    unsigned o = pv_order(ptx->in);
    Term *arg[9];
    if (ptx->in->sem == SEM_SC || !pv_bytes(pv_type(ptx)))
        return false;
    unsigned bytes = pv_take(ptx, pv_operand(ptx, 1), pv_type(ptx), arg + 1), n = (bytes + 3) / 4,
             each = bytes < 4 ? bytes : 4;
    if (bytes > 16)
        return false;
    if (space == SP_PARAM || space == SP_PARAM_FUNC)
        return param_access(ptx, a, arg + 1, bytes, true);
    pv_fence(ptx, pv_releases(ptx->in));
    if (space == SP_NONE) {
        arg[0] = pv_address(ptx, a, 64);
        if (o == MemOrder_WEAK)
            prove_generic_store(ptx->prover, ptx->mem, ptx->full, arg[0], bytes, arg + 1);
        else
            pv_event(ptx, 7, term_name(ts, "st.generic.%u.o%u", bytes, o), arg, n + 1);
        return true;
    }
    int list = list_of(space);
    if (list < 0)
        return false;
    arg[0] = pv_address(ptx, a, list == MEM_GLOBAL ? 64 : 32);
    VEC_ADD(prover->run_arena, &ptx->run->accesses,
            ((Access){ptx->full, t_under(ts, arg[0], ptx->full), (uint32_t)list, bytes, ptx->at, true}));
    if (is_event(ptx, list, o)) {
        ptx->mem[list] = t_event(ts, ptx->mem[list], ptx->full,
                                 term_name(ts, "st.order%u", list == MEM_SHARED ? MemOrder_WEAK : o),
                                 bytes | (uint64_t)list << 8, arg, n + 1, NULL);
        return true;
    }
    for (unsigned c = 0; c < n; c++)
        ptx->mem[list] =
            t_store(ts, ptx->mem[list], ptx->full, t_add(ts, arg[0], t_const(ts, arg[0]->width, 4 * c)), each,
                    (unsigned)list, arg[c + 1]);
    return true;
}

/* The word at `from`, byte `first` of what is copied: the bytes below byte n of all, the others zero. */
static Term *read_wanted(Ptx *ptx, Term *from, Term *n, uint32_t first) {
    Terms *ts = &ptx->prover->ts;
    Term *some = t_ult(ts, pv_k32(ptx, first), n), *when = t_and(ts, ptx->full, some),
         *left = t_max(ts, true, t_sub(ts, n, pv_k32(ptx, first)), ts->zero);
    VEC_ADD(ptx->prover->run_arena, &ptx->run->accesses,
            ((Access){when, t_under(ts, from, when), MEM_GLOBAL, 4, ptx->at, false}));
    Term *word = t_read(ts, ptx->mem[MEM_GLOBAL], when, from, 4, MEM_GLOBAL);
    Term *mask = t_ones(ts, t_scale(ts, t_min(ts, true, left, pv_k32(ptx, 4)), 8));
    return t_land(ts, t_ite(ts, some, word, ts->zero), mask);
}

/* cp.async, done when it is issued: one of the moments that PTX leaves open. Waiting for it is then nothing.
 */
bool prove_ptx_cp(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    if (in->sub2 == SUB_COMMIT_GROUP || in->sub2 == SUB_WAIT_GROUP || in->sub2 == SUB_WAIT_ALL)
        return true;
    unsigned hint = in->flags & PF_CACHE_HINT ? 1 : 0, bytes = (unsigned)pv_operand(ptx, 2)->imm;
    bool part = in->noperands > 3 + hint; /* so many bytes are read, the others are zero */
    if (bytes != 4 && bytes != 8 && bytes != 16)
        return false;
    Term *to = pv_address(ptx, pv_operand(ptx, 0), 32), *from = pv_address(ptx, pv_operand(ptx, 1), 64),
         *n = NULL, *w[4];
    if (part && ptx_has_ignore(ptx->prover->pf, in)) {
        ptx->run->guarded = true;
        n = t_ite(ts, pv_src(ptx, pv_operand(ptx, 3), TY_PRED), ts->zero, pv_k32(ptx, bytes));
    } else if (part)
        n = pv_src(ptx, pv_operand(ptx, 3), TY_U32);
    if (!part)
        VEC_ADD(ptx->prover->run_arena, &ptx->run->accesses,
                ((Access){ptx->full, t_under(ts, from, ptx->full), MEM_GLOBAL, bytes, ptx->at, false}));
    VEC_ADD(ptx->prover->run_arena, &ptx->run->accesses,
            ((Access){ptx->full, t_under(ts, to, ptx->full), MEM_SHARED, bytes, ptx->at, true}));
    for (unsigned c = 0; c * 4 < bytes; c++)
        w[c] = part ? read_wanted(ptx, t_add(ts, from, t_const(ts, 64, 4 * c)), n, 4 * c)
                    : t_read(ts, ptx->mem[MEM_GLOBAL], ptx->full, t_add(ts, from, t_const(ts, 64, 4 * c)), 4,
                             MEM_GLOBAL);
    for (unsigned c = 0; c * 4 < bytes; c++)
        ptx->mem[MEM_SHARED] = t_store(ts, ptx->mem[MEM_SHARED], ptx->full,
                                       t_add(ts, to, t_const(ts, 32, 4 * c)), 4, MEM_SHARED, w[c]);
    return true;
}

bool prove_ptx_cvta(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    uint64_t base = 0;
    switch (ptx->in->space) {
    case SP_GLOBAL: break;
    case SP_SHARED:
    case SP_SHARED_CLUSTER: base = SIM_SHARED_WINDOW; break;
    case SP_LOCAL: base = SIM_LOCAL_WINDOW; break;
    case SP_CONST: base = SIM_CONST_WINDOW; break;
    case SP_PARAM:
    case SP_PARAM_ENTRY: /* a parameter's address is its offset in bank 0 */
        if (!ptx->prover->pf->is_entry)
            return false;
        base = SIM_PARAM_WINDOW - isa_target_info(ptx->prover->flow->bin->target)->param_window_origin_bytes;
        break;
    default: return false;
    }
    Term *a = pv_src(ptx, pv_operand(ptx, 1), pv_type(ptx));
    if (a->width != 64 && base)
        return false;
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx),
           t_add(ts, a, t_const(ts, a->width, ptx->in->sub == SUB_TO ? 0 - base : base)));
    return true;
}

bool prove_ptx_griddepcontrol(Ptx *ptx) {
    bool waits = ptx->in->sub == SUB_WAIT;
    if (isa_target_has(ptx->prover->flow->bin->target, waits ? OT_ACQBULK : OT_PREEXIT))
        pv_event(ptx, 15,
                 term_name(&ptx->prover->ts, "griddepcontrol.%s", waits ? "wait" : "launch_dependents"), NULL,
                 0);
    return true;
}

/* ---- barriers and collectives ---- */
Term *pv_together(Ptx *ptx, unsigned operand) {
    Terms *ts = &ptx->prover->ts;
    Term *mask = ptx->in->noperands > operand ? pv_src(ptx, pv_operand(ptx, operand), TY_B32)
                                              : pv_k32(ptx, UINT32_MAX);
    VEC_ADD(ptx->prover->run_arena, &ptx->run->syncs,
            ((Sync){.guard = ptx->full, .mask = mask, .at = ptx->at}));
    ptx->together = t_ite(ts, ptx->full, mask, ptx->together);
    return mask;
}
/* Lanes wait for each other (the checkers look after that), and memory is ordered between them. */
bool prove_ptx_warp_barrier(Ptx *ptx) {
    Term *mask = pv_together(ptx, 0);
    pv_event(ptx, LISTS_OF_A_WARP, "warpsync", &mask, 1);
    return true;
}
bool prove_ptx_bar(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    if (in->sub != SUB_SYNC && in->sub != SUB_ARRIVE)
        return false;
    Term *arg[2] = {pv_src(ptx, pv_operand(ptx, 0), TY_U32),
                    in->noperands > 1 ? pv_src(ptx, pv_operand(ptx, 1), TY_U32) : ts->zero};
    pv_event(ptx, 15, term_name(ts, "bar.%u", in->sub == SUB_ARRIVE ? BARMode_ARV : BARMode_SYNC), arg, 2);
    return true;
}
bool prove_ptx_bar_red(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    unsigned n = in->noperands - in->ndst, op = in->bop == BOP_AND  ? BARREDOp_AND
                                                : in->bop == BOP_OR ? BARREDOp_OR
                                                                    : BARREDOp_POPC;
    const PtxOperand *first = pv_operand(ptx, in->ndst);
    Term *arg[3] = {pv_src(ptx, first, TY_U32), n > 2 ? pv_src(ptx, first + 1, TY_U32) : ts->zero,
                    pv_src(ptx, first + n - 1, TY_PRED)};
    Term *what = pv_event(ptx, 15, term_name(ts, "bar.red.%u", op), arg, 3);
    if (op == BARREDOp_POPC)
        pv_dst(ptx, pv_operand(ptx, 0), TY_U32, word_of(ptx, what, 0));
    else
        pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, t_app(ts, TO_RESULT, 1, 1, NULL, &what, 1));
    return true;
}
bool prove_ptx_membar(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    if (in->flags & PF_PROXY)
        return false;
    bool sc = in->op == PTX_MEMBAR || in->sem == SEM_SC || in->sem == SEM_NONE;
    pv_event(ptx, 7,
             term_name(&ptx->prover->ts, "membar.%u.%u", scope_of(in), sc ? MembarKind_SC : MembarKind_ALL),
             NULL, 0);
    forget_copies(ptx, true);
    return true;
}
Term *prove_voted(Terms *ts, Term *what, Term *lanes) {
    return t_lop3(ts, LUT_AND, t_app(ts, TO_RESULT, 32, 0, NULL, &what, 1), lanes, ts->zero);
}
Term *prove_all_alike(Terms *ts, Term *alike, Term *here) {
    return t_eq(ts, t_lop3(ts, LUT_LACKS, alike, here, ts->zero), ts->zero);
}
static Term *vote(Ptx *ptx, Term *says, Term *lanes) {
    Term *arg[2] = {says, lanes};
    return pv_event(ptx, 1u << MEM_WARP, "vote", arg, 2);
}
/* Which lanes run together PTX leaves to the machine (9.7.13.11): those that a WARPSYNC has brought together
 * before it asks under the same condition. */
static Term *lanes_that_run(Ptx *ptx) {
    const Run *machine = ptx->prover->machine;
    if (machine && !ptx->asked)
        ptx->asked = ARENA_ARRAY(ptx->prover->run_arena, bool, machine->asked.n + 1);
    for (uint32_t k = 0; machine && k < machine->asked.n; k++)
        if (machine->asked.at[k].guard == ptx->full && !ptx->asked[k]) {
            ptx->asked[k] = true;
            return machine->asked.at[k].mask;
        }
    return ptx->together;
}
bool prove_ptx_activemask(Ptx *ptx) {
    Term *what = vote(ptx, ptx->prover->ts.truth, lanes_that_run(ptx));
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, word_of(ptx, what, 0));
    return true;
}
bool prove_ptx_vote(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    Terms *ts = &ptx->prover->ts;
    Term *lanes = pv_together(ptx, 2), *says = pv_src(ptx, pv_operand(ptx, 1), TY_PRED),
         *what = vote(ptx, in->sub == SUB_ALL ? t_not(ts, says) : says, lanes),
         *nobody = t_eq(ts, prove_voted(ts, what, lanes), ts->zero);
    if (in->sub == SUB_BALLOT)
        pv_dst(ptx, pv_operand(ptx, 0), TY_B32,
               says == ts->truth ? word_of(ptx, what, 0) : prove_voted(ts, what, lanes));
    else if (in->sub == SUB_UNI) /* nobody says yes, or nobody no */
        pv_dst(
            ptx, pv_operand(ptx, 0), TY_PRED,
            t_or(ts, nobody, t_eq(ts, prove_voted(ts, vote(ptx, t_not(ts, says), lanes), lanes), ts->zero)));
    else
        pv_dst(ptx, pv_operand(ptx, 0), TY_PRED, in->sub == SUB_ALL ? nobody : t_not(ts, nobody));
    return true;
}
bool prove_ptx_match(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    PtxType t = pv_type(ptx);
    bool all = in->sub == SUB_ALL, wide = pv_bytes(t) == 8;
    Term *v = pv_src(ptx, pv_operand(ptx, in->ndst), t), *lanes = pv_together(ptx, in->ndst + 1);
    Term *arg[3] = {wide ? t_lo(ts, v) : v, wide ? t_hi(ts, v) : lanes, lanes};
    Term *what = pv_event(ptx, 1u << MEM_WARP,
                          term_name(ts, "match.%u.%u", MatchOp_ANY, wide ? MatchType_U64 : MatchType_U32),
                          arg, wide ? 3 : 2);
    Term *alike = prove_voted(ts, what, lanes), *same = NULL;
    if (all)
        same = prove_all_alike(ts, alike, prove_voted(ts, vote(ptx, ts->truth, lanes), lanes));
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, all ? t_ite(ts, same, alike, ts->zero) : alike);
    if (all && in->ndst > 1)
        pv_dst(ptx, pv_operand(ptx, 1), TY_PRED, same);
    return true;
}
bool prove_ptx_redux(Ptx *ptx) {
    static const uint8_t ops[] = {
        [ATOM_ADD] = ReduxOp_SUM, [ATOM_MIN] = ReduxOp_MIN, [ATOM_MAX] = ReduxOp_MAX,
        [ATOM_AND] = ReduxOp_AND, [ATOM_OR] = ReduxOp_OR,   [ATOM_XOR] = ReduxOp_XOR};
    const PtxInsn *in = ptx->in;
    unsigned atom = in->atom != ATOM_NONE ? in->atom
                    : in->bop == BOP_AND  ? ATOM_AND
                    : in->bop == BOP_OR   ? ATOM_OR
                    : in->bop == BOP_XOR  ? ATOM_XOR
                                          : ATOM_NONE;
    if (atom == ATOM_NONE || atom == ATOM_INC || atom == ATOM_DEC || atom > ATOM_XOR)
        return false;
    Term *arg[2] = {pv_src(ptx, pv_operand(ptx, 1), pv_type(ptx)), pv_together(ptx, 2)};
    Term *what = pv_event(ptx, 1u << MEM_WARP,
                          term_name(&ptx->prover->ts, "redux.%u.%u", ops[atom],
                                    pv_signed(pv_type(ptx)) ? ReduxSign_S32 : ReduxSign_U32),
                          arg, 2);
    pv_dst(ptx, pv_operand(ptx, 0), pv_type(ptx), word_of(ptx, what, 0));
    return true;
}
bool prove_ptx_shfl(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    unsigned first = in->ndst;
    Term *arg[4], *what;
    unsigned mode = in->sub == SUB_IDX    ? ShflMode_IDX
                    : in->sub == SUB_UP   ? ShflMode_UP
                    : in->sub == SUB_DOWN ? ShflMode_DOWN
                                          : ShflMode_BFLY;
    for (unsigned i = 0; i < 3; i++)
        arg[i] = pv_src(ptx, pv_operand(ptx, first + i), TY_B32);
    if (t_is_const(arg[1]))
        arg[1] = pv_k32(ptx, arg[1]->k & 31);
    if (t_is_const(arg[2]))
        arg[2] = pv_k32(ptx, arg[2]->k & 0x1fff);
    arg[3] = pv_together(ptx, first + 3);
    what = pv_event(ptx, 1u << MEM_WARP, term_name(ts, "shfl.%u", mode), arg, 4);
    pv_dst(ptx, pv_operand(ptx, 0), TY_B32, word_of(ptx, what, 0));
    if (in->ndst > 1)
        pv_dst(ptx, pv_operand(ptx, 1), TY_PRED, t_app(ts, TO_RESULT, 1, 1, NULL, &what, 1));
    return true;
}

/* ---- calls ---- */
static bool call_function(Ptx *ptx, const PtxFunc *f) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    const PtxInsn *in = ptx->in;
    AbiPlan ins, outs;
    prove_abi(prover, f->params, f->nparams, &ins);
    prove_abi(prover, f->rets, f->nrets, &outs);
    Term *arg[24];
    uint32_t n = 0, w = 0;
    for (uint32_t k = 0; k < in->nargs && k < ins.n; k++) {
        const PtxOperand *operand = &in->args[k];
        PtxType t = prover->module->vars[f->params[k]].type;
        if (n + ins.at[k].words > 22)
            return false;
        if (operand->kind == PO_SYM && !(operand->sym & PTX_SYM_FUNC) &&
            prover->param_word[operand->sym - 1]) {
            uint64_t bytes = prover->module->vars[f->params[k]].size_bytes;
            for (unsigned c = 0; c < ins.at[k].words; c++) {
                Term *word = pv_value(ptx, prover->param_word[operand->sym - 1] - 1 + c);
                arg[n++] =
                    !ins.at[k].pred && bytes && bytes < 4 ? t_zext_from(ts, word, 8 * (unsigned)bytes) : word;
            }
            continue;
        }
        Term *term = pv_src(ptx, operand, t);
        if (term->width == 1)
            term = t_b2i(ts, term);
        arg[n++] = term->width == 64 ? t_lo(ts, term) : term;
        if (term->width == 64)
            arg[n++] = t_hi(ts, term);
    }
    Term *what =
        pv_event(ptx, 15, term_name(ts, "call %s", str_text(&prover->module->strings, f->name)), arg, n);
    ptx->together = t_ite(ts, ptx->full, prover->anyone, ptx->together);
    for (uint32_t k = 0; k < in->nrets && k < outs.n; k++) {
        const PtxOperand *operand = &in->rets[k];
        if (operand->kind == PO_SYM && prover->param_word[operand->sym - 1]) {
            for (unsigned c = 0; c < outs.at[k].words; c++)
                pv_set(ptx, prover->param_word[operand->sym - 1] - 1 + c, word_of(ptx, what, w + c));
        } else if (operand->kind == PO_REG) {
            PtxType t = prover->module->vars[f->rets[k]].type;
            Term *term = outs.at[k].words == 2 ? t_pair(ts, word_of(ptx, what, w), word_of(ptx, what, w + 1))
                                               : word_of(ptx, what, w);
            if (t == TY_PRED)
                term = t_not(ts, t_eq(ts, term, ts->zero));
            pv_dst(ptx, operand, t, term);
        } else if (operand->kind != PO_SINK) {
            return false;
        }
        w += outs.at[k].words;
    }
    if (ptx_never_returns(prover->module, f)) { /* nothing is said of one that does */
        pv_leave(ptx, EX_ANY, 0, ptx->full);
        ptx->pc = t_and(ts, ptx->pc, t_not(ts, ptx->full));
        ptx->gone = ptx->pc == ts->falsity;
    }
    return true;
}

/* A call through a register: of the one function whose address it holds. Of another nothing is said. */
static bool call_one_of(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    uint32_t func[PROVE_MOST_CALLEES], n;
    if (!prove_ptx_callees(ptx->prover, ptx->in, func, &n))
        return false;
    Term *guard = ptx->guard, *full = ptx->full, *left = full,
         *target = pv_src(ptx, pv_operand(ptx, 0), TY_U64);
    bool good = true;
    for (uint32_t k = 0; k < n && good; k++) {
        Term *is = t_eq(ts, target, prove_function_address(ptx->prover, func[k]));
        ptx->full = t_and(ts, left, is);
        ptx->guard = t_under(ts, ptx->full, ptx->pc);
        left = t_and(ts, left, t_not(ts, is));
        good = call_function(ptx, &ptx->prover->module->funcs[func[k]]);
    }
    ptx->guard = guard;
    ptx->full = full;
    if (left != ts->falsity)
        pv_leave(ptx, EX_ANY, 0, left);
    ptx->pc = t_and(ts, ptx->pc, t_not(ts, left));
    ptx->gone = ptx->pc == ts->falsity;
    return good;
}

bool prove_ptx_call(Ptx *ptx) {
    if (!ptx->in->callee)
        return call_one_of(ptx);
    const PtxFunc *f = &ptx->prover->module->funcs[ptx->in->callee - 1];
    return call_function(ptx, f->alias_of ? &ptx->prover->module->funcs[f->alias_of - 1] : f);
}

/* What one thread cannot see. */
bool prove_ptx_nothing(Ptx *ptx) {
    (void)ptx;
    return true;
}
