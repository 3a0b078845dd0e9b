/* Atomic operations of PTX, 9.7.13.5 and 9.7.13.6: one event each, which gives the old value. What machines
 * have no operation for is a loop around compare-and-swap in their code (check/prove/mach/cas_loop.c): an
 * event that names what is stored as a function of the old value. Native machines refuse what they have an
 * operation for in some spaces, at generic addresses: there it is that, or such a loop, or in local memory a
 * load and a store, whichever the address asks for. SPDX-License-Identifier: MIT */
#include "check/prove/ptx/ptx.h"

static Term *word_of(Ptx *ptx, Term *what, unsigned c) {
    return t_app(&ptx->prover->ts, TO_RESULT, 32, c, NULL, &what, 1);
}

/* The operation's number for machines that have it for this type and space, by what they are documented to
 * have: sums of f32, f64 and two halves outside of shared memory, 64 bits outside of shared memory. */
static bool is_one_operation(const PtxInsn *in, PtxType t, PtxSpace space, unsigned *type) {
    bool minmax = in->atom == ATOM_MIN || in->atom == ATOM_MAX, shared = space == SP_SHARED,
         add = in->atom == ATOM_ADD, sign = pv_signed(t) && minmax;
    switch (t) {
    case TY_F32: *type = AtomType_F32; return add && !shared;
    case TY_F64: *type = AtomType_F64; return add && !shared;
    case TY_F16X2: *type = AtomType_F16x2; return add && !shared;
    case TY_BF16X2: *type = AtomType_BF16x2; return add && !shared;
    default: break;
    }
    if (pv_bytes(t) == 16) {
        *type = in->atom == ATOM_CAS ? (unsigned)CasType_B128 : (unsigned)AtomType_B128;
        return true;
    }
    if (pv_bytes(t) == 8) {
        *type = sign ? AtomType_S64 : AtomType_U64;
        return !shared || in->atom == ATOM_EXCH || in->atom == ATOM_CAS;
    }
    *type = sign ? AtomType_S32 : AtomType_U32;
    return true;
}

/* What is stored where `old` was; false: no such operation. */
static bool stored(Ptx *ptx, PtxType t, Term *const *old, Term *const *b, Term **out) {
    Terms *ts = &ptx->prover->ts;
    unsigned atom = ptx->in->atom, n = pv_bytes(t) / 4;
    bool sign = pv_signed(t);
    if (atom == ATOM_EXCH || atom == ATOM_CAS) {
        Term *same = ts->truth; /* b: what is expected, then what is put */
        for (unsigned c = 0; c < n && atom == ATOM_CAS; c++)
            same = t_and(ts, same, t_eq(ts, old[c], b[c]));
        for (unsigned c = 0; c < n; c++)
            out[c] = atom == ATOM_EXCH ? b[c] : t_ite(ts, same, b[n + c], old[c]);
        return true;
    }
    if (ptx_type_class(t) == TC_FLOAT) {
        if (atom != ATOM_ADD)
            return false;
        if (t == TY_F32)
            out[0] = prove_uf_sorted(ptx->prover, 32, term_name(ts, "fadd.%u", Rnd_RN), old[0], b[0]);
        else if (t == TY_F64) {
            Term *sum = prove_uf_sorted(ptx->prover, 64, term_name(ts, "dadd.%u", Rnd_RN),
                                        t_pair(ts, old[0], old[1]), t_pair(ts, b[0], b[1]));
            out[0] = t_lo(ts, sum);
            out[1] = t_hi(ts, sum);
        } else
            out[0] = pv_half_sums(ptx, t == TY_BF16X2, old[0], b[0]);
        return true;
    }
    if (n != 2)
        return false;
    if (atom == ATOM_ADD) {
        Term *sum = t_add(ts, t_pair(ts, old[0], old[1]), t_pair(ts, b[0], b[1]));
        out[0] = t_lo(ts, sum);
        out[1] = t_hi(ts, sum);
        return true;
    }
    Term *(*high)(Terms *, Term *, Term *) = sign ? t_slt : t_ult;
    Term *equal = t_eq(ts, old[1], b[1]),
         *less = t_or(ts, high(ts, old[1], b[1]), t_and(ts, equal, t_ult(ts, old[0], b[0]))),
         *more = t_or(ts, high(ts, b[1], old[1]), t_and(ts, equal, t_ult(ts, b[0], old[0])));
    for (unsigned c = 0; c < 2; c++)
        switch (atom) {
        case ATOM_MIN: out[c] = t_ite(ts, less, old[c], b[c]); break;
        case ATOM_MAX: out[c] = t_ite(ts, more, old[c], b[c]); break;
        case ATOM_AND: out[c] = t_land(ts, old[c], b[c]); break;
        case ATOM_OR: out[c] = t_lor(ts, old[c], b[c]); break;
        case ATOM_XOR: out[c] = t_lxor(ts, old[c], b[c]); break;
        default: return false;
        }
    return true;
}

/* The loop reads the place once before it begins. */
static void first_read(Ptx *ptx, PtxSpace space, Term *at, unsigned bytes, unsigned order) {
    Terms *ts = &ptx->prover->ts;
    if (space == SP_NONE) {
        pv_event(ptx, 7, term_name(ts, "ld.generic.%u.o%u", bytes, order), &at, 1);
        return;
    }
    unsigned list = space == SP_SHARED ? MEM_SHARED : MEM_GLOBAL;
    VEC_ADD(ptx->prover->run_arena, &ptx->run->accesses,
            ((Access){ptx->full, t_under(ts, at, ptx->full), list, bytes, ptx->at, false}));
    if (space == SP_GLOBAL) {
        Term *what;
        ptx->mem[list] = t_event(ts, ptx->mem[list], ptx->full, term_name(ts, "ld.order%u", order),
                                 bytes | (uint64_t)list << 8, &at, 1, &what);
    }
}

/* A loop around compare-and-swap. arg: the address, then words of the operands; the event, NULL: none. */
static Term *loop_event(Ptx *ptx, PtxType t, PtxSpace space, unsigned order, Term *const *arg) {
    unsigned words = pv_bytes(t) / 4, lists = space == SP_GLOBAL   ? 1u << MEM_GLOBAL
                                              : space == SP_SHARED ? 1u << MEM_SHARED
                                                                   : 7;
    Term *old[2], *stores[3] = {arg[0]};
    first_read(ptx, space, arg[0], 4 * words, order);
    for (unsigned c = 0; c < words; c++)
        old[c] = prove_old_word(ptx->prover, c);
    if (!stored(ptx, t, old, arg + 1, stores + 1))
        return NULL;
    prove_assume(ptx->prover, ptx->at, ASSUME_LOOP);
    return pv_event(ptx, lists, prove_loop_name(ptx->prover, 4 * words, space == SP_SHARED ? 0 : order),
                    stores, 1 + words);
}

/* A copy of what selection has, so that a proof does not take its word. */
static Refusal refusal(const Ptx *ptx, PtxType t, PtxSpace space) {
    unsigned atom = ptx->in->atom;
    bool refuses = isa_target_info(ptx->prover->flow->bin->target)->atom_refuses;
    if (!refuses || space != SP_NONE || pv_bytes(t) == 16 ||
        (pv_bytes(t) == 4 && ptx_type_class(t) != TC_FLOAT))
        return REFUSED_NOWHERE;
    return t == TY_F32 || t == TY_F64              ? REFUSED_CLUSTER
           : atom == ATOM_EXCH || atom == ATOM_CAS ? REFUSED_LOCAL
                                                   : REFUSED_SHARED;
}

/* The thread's own memory: a weak load and a weak store. */
static bool update_own(Ptx *ptx, PtxType t, Term *const *arg, Term **old) {
    Terms *ts = &ptx->prover->ts;
    unsigned bytes = pv_bytes(t), words = bytes / 4;
    Term *stored_words[2];
    VEC_ADD(ptx->prover->run_arena, &ptx->run->accesses,
            ((Access){ptx->full, t_under(ts, arg[0], ptx->full), MEM_GENERIC, bytes, ptx->at, false}));
    for (unsigned c = 0; c < words; c++)
        old[c] =
            prove_generic(ptx->prover, ptx->mem, ptx->full, t_add(ts, arg[0], t_const(ts, 64, 4 * c)), 4);
    if (!stored(ptx, t, old, arg + 1, stored_words))
        return false;
    prove_generic_store(ptx->prover, ptx->mem, ptx->full, arg[0], bytes, stored_words);
    return true;
}

/* One operation of the machine and what is done where it refuses; the old words. */
static bool one_operation(Ptx *ptx, PtxType t, PtxSpace space, const char *name, unsigned order,
                          Term *const *arg, unsigned n, Term **old) {
    Terms *ts = &ptx->prover->ts;
    Refusal where = refusal(ptx, t, space);
    unsigned lists = space == SP_GLOBAL ? 1u << MEM_GLOBAL : space == SP_SHARED ? 1u << MEM_SHARED : 7;
    Term *full = ptx->full, *did = prove_atom_did(ptx->prover, where, arg[0]);
    bool good = true;
    ptx->full = t_and(ts, full, did);
    Term *what = pv_event(ptx, lists, name, arg, n);
    for (unsigned c = 0; c < pv_bytes(t) / 4; c++)
        old[c] = word_of(ptx, what, c);
    if (where != REFUSED_NOWHERE) {
        Term *refused = t_and(ts, full, t_not(ts, did)), *own = ts->truth, *other[2] = {0}, *loop = NULL;
        if (where != REFUSED_LOCAL) {
            own = prove_space(ptx->prover, QspcSpace_L, arg[0]);
            ptx->full = t_and(ts, refused, t_not(ts, own));
            loop = loop_event(ptx, t, space, order, arg);
            good = loop != NULL;
        }
        ptx->full = t_and(ts, refused, own);
        good = good && update_own(ptx, t, arg, other);
        for (unsigned c = 0; good && c < pv_bytes(t) / 4; c++)
            old[c] =
                t_ite(ts, did, old[c], loop ? t_ite(ts, own, other[c], word_of(ptx, loop, c)) : other[c]);
    }
    ptx->full = full;
    return good;
}

enum { MOST_ELEMENTS = 8, MOST_WORDS = 4 };

/* The operand of element k; the only one without a vector. */
static const PtxOperand *element(const PtxOperand *o, unsigned k) {
    return o->kind == PO_VEC ? &o->vec[k] : o;
}

/* Element k, at its own place; the old words. */
static bool one_element(Ptx *ptx, PtxType t, PtxSpace space, const PtxOperand *a, unsigned k, Term **old) {
    static const char *const ops[] = {
        [ATOM_ADD] = "add", [ATOM_MIN] = "min", [ATOM_MAX] = "max", [ATOM_INC] = "inc",   [ATOM_DEC] = "dec",
        [ATOM_AND] = "and", [ATOM_OR] = "or",   [ATOM_XOR] = "xor", [ATOM_EXCH] = "exch", [ATOM_CAS] = "cas"};
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    unsigned bytes = pv_bytes(t), type = 0, n = 0, width = space == SP_SHARED ? 32 : 64,
             order = in->sem == SEM_NONE ? MemOrder_STRONG_GPU : pv_order(in);
    Term *arg[1 + 2 * MOST_WORDS] = {0};
    arg[n++] = t_add(ts, pv_address(ptx, a, width), t_const(ts, width, (uint64_t)k * bytes));
    for (const PtxOperand *s = a + 1; s <= a + (in->atom == ATOM_CAS ? 2 : 1); s++) {
        for (unsigned half = 0; half < (bytes + 7) / 8; half++) {
            Term *v = bytes == 16 ? pv_half_src(ptx, s, half) : pv_src(ptx, element(s, k), t);
            arg[n++] = bytes >= 8 ? t_lo(ts, v) : v;
            if (bytes >= 8)
                arg[n++] = t_hi(ts, v);
        }
    }
    if (is_one_operation(in, t, space, &type)) {
        const char *name =
            term_name(ts, "atom.%s.%u.o%u", ops[in->atom], type, space == SP_SHARED ? 0 : order);
        return one_operation(ptx, t, space, name, order, arg, n, old);
    }
    Term *what = loop_event(ptx, t, space, order, arg);
    for (unsigned c = 0; what && c < bytes / 4; c++)
        old[c] = word_of(ptx, what, c);
    return what != NULL;
}

/* Of a vector each element is updated for itself, in an order that PTX leaves open: here the first one first.
 */
bool prove_ptx_atom(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    bool red = in->op == PTX_RED;
    const PtxOperand *a = pv_operand(ptx, red ? 0 : 1);
    PtxSpace space = pv_space(ptx, a);
    PtxType t = pv_type(ptx);
    unsigned bytes = pv_bytes(t), n = in->vec > 1 ? in->vec : 1;
    if ((bytes != 4 && bytes != 8 && bytes != 16) || n > MOST_ELEMENTS || in->atom == ATOM_NONE ||
        in->atom > ATOM_CAS || (space != SP_GLOBAL && space != SP_SHARED && space != SP_NONE))
        return false;
    Term *old[MOST_ELEMENTS][MOST_WORDS];
    pv_fence(ptx, pv_releases(in));
    for (unsigned k = 0; k < n; k++)
        if (!one_element(ptx, t, space, a, k, old[k]))
            return false;
    pv_acquire(ptx, pv_acquires(in));
    for (unsigned half = 0; half < 2 && bytes == 16; half++)
        pv_half_dst(ptx, pv_operand(ptx, 0), half,
                    t_pair(&ptx->prover->ts, old[0][2 * half], old[0][2 * half + 1]));
    for (unsigned k = 0; k < n && !red && bytes < 16; k++) /* results may be operands */
        pv_dst(ptx, element(pv_operand(ptx, 0), k), t,
               bytes == 8 ? t_pair(&ptx->prover->ts, old[k][0], old[k][1]) : old[k][0]);
    return true;
}
