/* Atomic operations of PTX, 9.7.13.5 and 9.7.13.6: one event each, which gives the old value. What machines
 * have no operation for is a loop around compare-and-swap in their code (check/prove/cas_loop.c): an event
 * that names what is stored as a function of the old value. SPDX-License-Identifier: MIT */
#include "check/prove/ptx.h"

static Term *word_of(Ptx *ptx, Term *what, unsigned c) {
    return t_app(&ptx->prover->ts, TO_RESULT, 32, c, NULL, &what, 1);
}

/* The operation's number for machines that have it for this type and space, by what they are documented to
 * have: sums of f32 and f64 outside of shared memory, of two halves in global memory, 64 bits outside of
 * shared memory. */
static bool is_one_operation(const PtxInsn *in, PtxType t, PtxSpace space, unsigned *type) {
    bool minmax = in->atom == ATOM_MIN || in->atom == ATOM_MAX, shared = space == SP_SHARED,
         add = in->atom == ATOM_ADD, sign = pv_signed(t) && minmax;
    switch (t) {
    case TY_F32: *type = AtomType_F32; return add && !shared;
    case TY_F64: *type = AtomType_F64; return add && !shared;
    case TY_F16X2: *type = AtomType_F16x2; return add && space == SP_GLOBAL;
    case TY_BF16X2: return false;
    default: break;
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

bool prove_ptx_atom(Ptx *ptx) {
    Terms *ts = &ptx->prover->ts;
    const PtxInsn *in = ptx->in;
    bool red = in->op == PTX_RED;
    const PtxOperand *a = pv_operand(ptx, red ? 0 : 1);
    PtxSpace space = pv_space(ptx, a);
    PtxType t = pv_type(ptx);
    unsigned bytes = pv_bytes(t), words = bytes / 4, type = 0, n = 0;
    static const char *const ops[] = {
        [ATOM_ADD] = "add", [ATOM_MIN] = "min", [ATOM_MAX] = "max", [ATOM_INC] = "inc",   [ATOM_DEC] = "dec",
        [ATOM_AND] = "and", [ATOM_OR] = "or",   [ATOM_XOR] = "xor", [ATOM_EXCH] = "exch", [ATOM_CAS] = "cas"};
    if ((bytes != 4 && bytes != 8) || in->vec > 1 || in->atom == ATOM_NONE || in->atom > ATOM_CAS ||
        (space != SP_GLOBAL && space != SP_SHARED && space != SP_NONE))
        return false;
    unsigned order = in->sem == SEM_NONE ? MemOrder_STRONG_GPU : pv_order(in);
    unsigned lists = space == SP_GLOBAL ? 1u << MEM_GLOBAL : space == SP_SHARED ? 1u << MEM_SHARED : 7;
    Term *arg[8] = {0}, *old[2], *what;
    arg[n++] = pv_address(ptx, a, space == SP_SHARED ? 32 : 64);
    for (const PtxOperand *s = a + 1; s <= a + (in->atom == ATOM_CAS ? 2 : 1); s++) {
        Term *v = pv_src(ptx, s, t);
        arg[n++] = bytes == 8 ? t_lo(ts, v) : v;
        if (bytes == 8)
            arg[n++] = t_hi(ts, v);
    }
    pv_fence(ptx, pv_releases(in));
    if (is_one_operation(in, t, space, &type))
        what = pv_event(ptx, lists,
                        term_name(ts, "atom.%s.%u.o%u", ops[in->atom], type, space == SP_SHARED ? 0 : order),
                        arg, n);
    else {
        Term *b[2] = {arg[1], arg[2]};
        first_read(ptx, space, arg[0], bytes, order);
        for (unsigned c = 0; c < words; c++)
            old[c] = prove_old_word(ptx->prover, c);
        if (!stored(ptx, t, old, b, arg + 1))
            return false;
        prove_assume(ptx->prover, ptx->at, ASSUME_LOOP);
        what = pv_event(ptx, lists, prove_loop_name(ptx->prover, bytes, space == SP_SHARED ? 0 : order), arg,
                        1 + words);
    }
    pv_acquire(ptx, pv_acquires(in));
    if (!red)
        pv_dst(ptx, pv_operand(ptx, 0), t,
               bytes == 8 ? t_pair(ts, word_of(ptx, what, 0), word_of(ptx, what, 1)) : word_of(ptx, what, 0));
    return true;
}
