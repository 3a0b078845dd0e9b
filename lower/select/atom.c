/* Selection of atom, red and fences: PTX ISA 9.7.13.4 to 9.7.13.6. What the machine has no operation for
 * becomes a loop around compare-and-swap; the loop observes other threads, so that YIELD is put on its retry
 * edge. What is 16 bits wide is half of an aligned word: the loop is around that word and leaves its other
 * half as it finds it. What native machines refuse outside of global memory, though they have the operation
 * (docs/native.md "Atomics at generic addresses"), lanes do that were refused. SPDX-License-Identifier: MIT
 */
#include "lower/select/isel.h"

typedef struct {
    Sel *sel;
    const PtxInsn *in;
    PtxType t;
    unsigned bytes; /* that are swapped */
    Address address;
    Operand take, put; /* of 16 bits: selectors of PRMT for the half meant; OPK_NONE otherwise */
    bool wants_result;
    const PtxOperand *dst, *src; /* destination or NULL; operands behind the address */
} Atom;

static void mark_access(Sel *sel) {
    ir_inst(sel->f, sel_last(sel))->flags |= IF_MEMORY | IF_SIDE_EFFECT | IF_OBSERVING;
}

static bool native_type(const Atom *atom, unsigned *type) {
    bool shared = atom->address.space == SP_SHARED;
    bool sg = type_signed(atom->t);
    bool minmax = atom->in->atom == ATOM_MIN || atom->in->atom == ATOM_MAX;
    switch (atom->t) {
    case TY_U32:
    case TY_S32:
    case TY_B32: *type = sg ? AtomType_S32 : AtomType_U32; return true;
    case TY_U64:
    case TY_S64:
    case TY_B64:
        *type = sg && minmax ? AtomType_S64 : AtomType_U64;
        return !shared || atom->in->atom == ATOM_EXCH;
    case TY_B128: *type = AtomType_B128; return true;
    case TY_F32: *type = AtomType_F32; return !shared && atom->in->atom == ATOM_ADD;
    case TY_F64: *type = AtomType_F64; return !shared && atom->in->atom == ATOM_ADD;
    case TY_F16X2:
    case TY_BF16X2:
        *type = atom->t == TY_F16X2 ? AtomType_F16x2 : AtomType_BF16x2;
        return !shared && atom->in->atom == ATOM_ADD;
    default: return false;
    }
}

bool sel_atom_op(unsigned atom, unsigned *op) {
    static const uint8_t code[] = {
        [ATOM_ADD] = AtomOp_ADD, [ATOM_MIN] = AtomOp_MIN, [ATOM_MAX] = AtomOp_MAX,
        [ATOM_INC] = AtomOp_INC, [ATOM_DEC] = AtomOp_DEC, [ATOM_AND] = AtomOp_AND,
        [ATOM_OR] = AtomOp_OR,   [ATOM_XOR] = AtomOp_XOR, [ATOM_EXCH] = AtomOp_EXCH};
    if (atom == ATOM_NONE || atom == ATOM_CAS || atom > ATOM_CAS)
        return false;
    *op = code[atom];
    return true;
}

static unsigned order_of(const PtxInsn *in) {
    unsigned o = sel_mem_order(in);
    if (o != MemOrder_WEAK)
        return o;
    bool everywhere = in->op == PTX_MULTIMEM && in->scope == SCOPE_NONE;
    return in->scope == SCOPE_CTA                 ? MemOrder_STRONG_SM
           : in->scope == SCOPE_SYS || everywhere ? MemOrder_STRONG_SYS
                                                  : MemOrder_STRONG_GPU;
}

/* Where a generic operation may be refused. A compare-and-swap is as EXCH is: of 128 bits neither, as
 * ptxas 13.0 does not ask. */
typedef enum { REFUSED_NOWHERE, REFUSED_LOCAL, REFUSED_SHARED } Refusal;
static Refusal refusal(const Atom *atom, unsigned type) {
    bool always = atom->address.space != SP_NONE || !atom->sel->ti->atom_refuses;
    if (always || type == AtomType_U32 || type == AtomType_S32 || type == AtomType_B128)
        return REFUSED_NOWHERE;
    return atom->in->atom == ATOM_EXCH || atom->in->atom == ATOM_CAS ? REFUSED_LOCAL : REFUSED_SHARED;
}

/* *did: which lanes did it, where it may be refused. */
static Operand emit_native(const Atom *atom, unsigned op, unsigned type, Operand data, Operand *did) {
    Sel *sel = atom->sel;
    unsigned words = atom->bytes / 4, order = order_of(atom->in);
    Operand src[4] = {atom->address.base, op_none(), op_imm((uint32_t)atom->address.offset), data},
            d = op_none();
    /* RED is of global memory (sm_90 calls it REDG); ptxas 13.0 writes ATOM for generic addresses */
    if (!atom->wants_result && atom->address.space == SP_GLOBAL && op != AtomOp_EXCH) {
        sel_emit(sel, OT_RED,
                 MSET(RED, op, op) | MSET(RED, type, type) | MSET(RED, e, MemAddr_E) |
                     MSET(RED, order, order),
                 4, src);
        return d;
    }
    if (atom->address.space == SP_SHARED)
        d = sel_emit_dst(sel, OT_ATOMS, MSET(ATOMS, op, op) | MSET(ATOMS, type, type), 0, RF_R, words, 4,
                         src);
    else if (atom->address.space == SP_GLOBAL)
        d = sel_emit_dst(sel, OT_ATOMG,
                         MSET(ATOMG, op, op) | MSET(ATOMG, type, type) | MSET(ATOMG, e, MemAddr_E) |
                             MSET(ATOMG, order, order),
                         0, RF_R, words, 4, src);
    else
        d = sel_emit_dst(sel, OT_ATOM,
                         MSET(ATOM, op, op) | MSET(ATOM, type, type) | MSET(ATOM, e, MemAddr_E) |
                             MSET(ATOM, order, order),
                         0, RF_R, words, 4, src);
    if (refusal(atom, type) != REFUSED_NOWHERE)
        *did = sel_add_dst(sel, sel_last(sel), ATOM_pu, RF_P);
    mark_access(sel);
    return d;
}

/* did: NULL, or as above. */
static Operand emit_cas(const Atom *atom, Operand expected, Operand desired, Operand *did) {
    Sel *sel = atom->sel;
    unsigned words = atom->bytes / 4, order = order_of(atom->in),
             type = words == 4   ? CasType_B128
                    : words == 2 ? CasType_U64
                                 : CasType_U32;
    Operand src[5] = {atom->address.base, op_none(), op_imm((uint32_t)atom->address.offset), expected,
                      desired},
            d;
    if (atom->address.space == SP_SHARED)
        d = sel_emit_dst(sel, OT_ATOMS_CAS, MSET(ATOMS_CAS, type, type), 0, RF_R, words, 5, src);
    else if (atom->address.space == SP_GLOBAL)
        d = sel_emit_dst(sel, OT_ATOMG_CAS,
                         MSET(ATOMG_CAS, type, type) | MSET(ATOMG_CAS, e, MemAddr_E) |
                             MSET(ATOMG_CAS, order, order),
                         0, RF_R, words, 5, src);
    else
        d = sel_emit_dst(sel, OT_ATOM_CAS,
                         MSET(ATOM_CAS, type, type) | MSET(ATOM_CAS, e, MemAddr_E) |
                             MSET(ATOM_CAS, order, order),
                         0, RF_R, words, 5, src);
    if (did && words == 2 && refusal(atom, AtomType_U64) != REFUSED_NOWHERE)
        *did = sel_add_dst(sel, sel_last(sel), ATOM_CAS_pu, RF_P);
    mark_access(sel);
    return d;
}

/* The first read of a compare-and-swap loop. */
static Operand emit_first_load(const Atom *atom) {
    Sel *sel = atom->sel;
    unsigned words = atom->bytes / 4, size = words == 2 ? MemSz_64 : MemSz_32, order = order_of(atom->in);
    Operand src[3] = {atom->address.base, op_none(), op_imm((uint32_t)atom->address.offset)}, d;
    if (atom->address.space == SP_SHARED)
        d = sel_emit_dst(sel, OT_LDS, MSET(LDS, sz, size), 0, RF_R, words, 3, src);
    else if (atom->address.space == SP_GLOBAL)
        d = sel_emit_dst(sel, OT_LDG, MSET(LDG, sz, size) | MSET(LDG, e, MemAddr_E) | MSET(LDG, order, order),
                         0, RF_R, words, 3, src);
    else
        d = sel_emit_dst(sel, OT_LD, MSET(LD, sz, size) | MSET(LD, e, MemAddr_E) | MSET(LD, order, order), 0,
                         RF_R, words, 3, src);
    mark_access(sel);
    return d;
}

static Wide add_f64(Sel *sel, Wide a, Wide b) {
    Operand x = sel_wide_vec(sel, a), y = sel_wide_vec(sel, b);
    return sel_wide_pair(sel, EMIT_R2(sel, OT_DADD, MSET(DADD, rnd, Rnd_RN), x, y));
}

/* The address of a half becomes that of its word. What is not at a multiple of two stays misaligned. */
static void widen_half(Atom *atom) {
    Sel *sel = atom->sel;
    Address *address = &atom->address;
    Operand low;
    if (address->wide64) {
        Operand pair = address->base;
        pair.mods = 0;
        Wide at = sel_wide_pair(sel, pair);
        at = sel_add64(
            sel, at, wide2(op_imm((uint32_t)address->offset), op_imm(address->offset < 0 ? UINT32_MAX : 0)));
        low = at.w[0];
        at.w[0] = sel_and(sel, low, op_imm(~2u));
        address->base = op_with(sel_wide_vec(sel, at), OPM_WIDE64);
    } else {
        low = address->base.kind == OPK_NONE ? op_imm(0) : address->base;
        low = sel_value(sel, sel_iadd(sel, low, op_imm((uint32_t)address->offset)));
        address->base = sel_value(sel, sel_and(sel, low, op_imm(~2u)));
    }
    address->offset = 0;
    Operand second = sel_isetp(sel, false, ICmp_NE, sel_and(sel, low, op_imm(2)), op_imm(0));
    atom->take = sel_select(sel, second, op_imm(0x4432), op_imm(0x4410));
    atom->put = sel_select(sel, second, op_imm(0x5410), op_imm(0x3254));
    atom->bytes = 4;
}

/* The old value in what is in memory, and what is in memory with the new value. */
static Wide value_in(const Atom *atom, Wide memory) {
    return atom->take.kind == OPK_NONE ? memory
                                       : wide1(sel_prmt(atom->sel, memory.w[0], atom->take, op_imm(0)));
}
static Wide memory_with(const Atom *atom, Wide memory, Wide value) {
    return atom->put.kind == OPK_NONE ? value
                                      : wide1(sel_prmt(atom->sel, memory.w[0], atom->put, value.w[0]));
}

static bool is_half(PtxType t) { return t == TY_F16 || t == TY_F16X2 || t == TY_BF16 || t == TY_BF16X2; }

/* The lesser or the greater of halves. */
static bool least_half(const Atom *atom, Operand old, Operand b, Wide *wide) {
    Sel *sel = atom->sel;
    if (!isa_target_has(sel->t, OT_HMNMX2))
        return sel_error(sel, "minima of half precision need instructions of sm_80");
    bool bf16 = atom->t == TY_BF16 || atom->t == TY_BF16X2;
    Operand which = atom->in->atom == ATOM_MAX ? op_pf() : op_pt();
    *wide = wide1(EMIT_R(sel, OT_HMNMX2, MSET(HMNMX2, bf16, bf16), old, b, which));
    return true;
}

/* What the operation stores, given the old value; false if there is none for the type. `c` is the third
 * operand of a compare-and-swap. */
static bool emit_atom_op(const Atom *atom, Wide old, Wide b, Wide c, Wide *wide) {
    Sel *sel = atom->sel;
    unsigned what = atom->in->atom;
    bool sg = type_signed(atom->t);
    if (what == ATOM_CAS)
        *wide = sel_select64(sel, sel_isetp64(sel, false, ICmp_EQ, old, b), c, old);
    else if (what == ATOM_EXCH)
        *wide = b;
    else if (atom->t == TY_F32 && what == ATOM_ADD)
        *wide = wide1(EMIT_R(sel, OT_FADD, MSET(FADD, rnd, Rnd_RN), old.w[0], b.w[0]));
    else if (atom->t == TY_F64 && what == ATOM_ADD)
        *wide = add_f64(sel, old, b);
    else if (is_half(atom->t) && what != ATOM_ADD)
        return least_half(atom, old.w[0], b.w[0], wide);
    else if ((atom->t == TY_F16 || atom->t == TY_F16X2) && what == ATOM_ADD)
        *wide = wide1(EMIT_R(sel, OT_HADD2, 0, old.w[0], b.w[0]));
    else if ((atom->t == TY_BF16 || atom->t == TY_BF16X2) && what == ATOM_ADD && sel_has_bf16(sel))
        *wide = wide1(sel_bf16_add(sel, false, old.w[0], b.w[0]));
    else if (atom->t == TY_BF16 || atom->t == TY_BF16X2)
        return sel_error(sel, "bf16 needs instructions of sm_80");
    else if (what == ATOM_ADD)
        *wide = sel_add64(sel, old, b);
    else if (what == ATOM_MIN || what == ATOM_MAX)
        *wide = sel_select64(sel, sel_isetp64(sel, sg, what == ATOM_MAX ? ICmp_GT : ICmp_LT, old, b), old, b);
    else if (what == ATOM_AND)
        *wide = sel_both(sel, sel_and, old, b);
    else if (what == ATOM_OR)
        *wide = sel_both(sel, sel_or, old, b);
    else if (what == ATOM_XOR)
        *wide = sel_both(sel, sel_xor, old, b);
    else
        return false;
    return true;
}

/* old = load; do { want = update(old); got = cas(old, want); fail = got != old; old = got; } while (fail) */
static bool cas_loop(const Atom *atom, SelUpdate *update, const void *context, Wide *result) {
    Sel *sel = atom->sel;
    Wide r;
    unsigned n = atom->bytes / 4;
    uint32_t var = sel_ssa_var_new(&sel->ssa, RF_R, 0, 0);
    if (n == 2)
        sel_ssa_var_new(&sel->ssa, RF_R, 0, 1);
    Operand first = emit_first_load(atom);
    for (unsigned c = 0; c < n; c++)
        sel_ssa_write(&sel->ssa, var + c, sel->cur, (ValId){sel_part(sel, first, c).value});
    BlockId loop = sel_block_new(sel), done = sel_block_new(sel);
    sel_jump(sel, loop);
    sel_begin(sel, loop);
    Wide old = {.n = n};
    for (unsigned c = 0; c < n; c++)
        old.w[c] = ir_val(sel->f, sel_ssa_read(&sel->ssa, var + c, sel->cur));
    if (!update(sel, context, old, &r))
        return false;
    Operand expected = sel_wide_vec(sel, old), desired = sel_wide_vec(sel, r);
    Operand got = emit_cas(atom, expected, desired, NULL);
    Wide now = {.n = n};
    for (unsigned c = 0; c < n; c++) {
        now.w[c] = sel_part(sel, got, c);
        sel_ssa_write(&sel->ssa, var + c, sel->cur, (ValId){now.w[c].value});
    }
    Operand retry = sel_isetp(sel, false, ICmp_NE, now.w[0], old.w[0]);
    if (n == 2)
        retry = sel_por(sel, retry, sel_isetp(sel, false, ICmp_NE, now.w[1], old.w[1]));
    sel_branch(sel, retry, loop, done);
    sel_seal(sel, loop);
    sel_seal(sel, done);
    sel_begin(sel, done);
    *result = now;
    return true;
}

bool sel_atomic_update(Sel *sel, const PtxInsn *in, const Address *address, unsigned bytes, SelUpdate *update,
                       const void *context, Wide *old) {
    Atom atom = {.sel = sel, .in = in, .bytes = bytes, .address = *address};
    return cas_loop(&atom, update, context, old);
}

typedef struct {
    const Atom *atom;
    Wide b, c;
} AtomStep;

static bool update_atom(Sel *sel, const void *context, Wide old, Wide *now) {
    const AtomStep *op = context;
    Wide value;
    (void)sel;
    if (!emit_atom_op(op->atom, value_in(op->atom, old), op->b, op->c, &value))
        return false;
    *now = memory_with(op->atom, old, value);
    return true;
}

static bool select_loop(Atom *atom, Wide b, Wide c, Wide *result) {
    for (unsigned k = 0; k < b.n; k++)
        b.w[k] = sel_value(atom->sel, b.w[k]);
    for (unsigned k = 0; k < c.n; k++)
        c.w[k] = sel_value(atom->sel, c.w[k]);
    if (!cas_loop(atom, update_atom, &(AtomStep){atom, b, c}, result))
        return false;
    *result = value_in(atom, *result);
    return true;
}

/* In local memory, which is the thread's own, without an atomic operation. */
static bool update_own(const Atom *atom, Wide b, Wide c, Wide *old) {
    Sel *sel = atom->sel;
    unsigned words = atom->bytes / 4, size = words == 2 ? MemSz_64 : MemSz_32;
    Operand place[4] = {atom->address.base, op_none(), op_imm((uint32_t)atom->address.offset)};
    Operand was =
        sel_emit_dst(sel, OT_LD, MSET(LD, sz, size) | MSET(LD, e, MemAddr_E), 0, RF_R, words, 3, place);
    Wide now;
    *old = (Wide){.n = words};
    for (unsigned k = 0; k < words; k++)
        old->w[k] = sel_part(sel, was, k);
    if (!emit_atom_op(atom, *old, b, c, &now))
        return false;
    place[3] = sel_wide_vec(sel, now);
    sel_emit(sel, OT_ST, MSET(ST, sz, size) | MSET(ST, e, MemAddr_E), 4, place);
    return true;
}

static void write_old(Sel *sel, uint32_t var, Wide old) {
    for (unsigned k = 0; k < old.n; k++)
        sel_ssa_write(&sel->ssa, var + k, sel->cur, (ValId){sel_value(sel, old.w[k]).value});
}

/* Lanes that ATOM has refused do the operation as machines do that have none: those in shared memory by a
 * loop, those in local memory by a load and a store. `old`: the other lanes' old value, then that of all. */
static bool do_refused(Atom *atom, Refusal where, Operand did, Wide b, Wide c, Wide *old) {
    Sel *sel = atom->sel;
    uint32_t var = sel_ssa_var_new(&sel->ssa, RF_R, 0, 0);
    Wide other;
    if (old->n == 2)
        sel_ssa_var_new(&sel->ssa, RF_R, 0, 1);
    for (unsigned k = 0; k < b.n; k++)
        b.w[k] = sel_value(sel, b.w[k]);
    write_old(sel, var, *old);
    BlockId refused = sel_block_new(sel), done = sel_block_new(sel);
    sel_branch(sel, did, done, refused);
    sel_seal(sel, refused);
    sel_begin(sel, refused);
    if (where == REFUSED_SHARED) {
        BlockId own = sel_block_new(sel), shared = sel_block_new(sel);
        Operand place[3] = {atom->address.base, op_none(), op_imm((uint32_t)atom->address.offset)};
        uint32_t mods = MSET(QSPC, e, MemAddr_E) | MSET(QSPC, space, QspcSpace_L);
        sel_branch(sel, sel_emit_dst(sel, OT_QSPC, mods, QSPC_pu, RF_P, 1, 3, place), own, shared);
        sel_seal(sel, shared);
        sel_begin(sel, shared);
        if (!select_loop(atom, b, c, &other))
            return false;
        write_old(sel, var, other);
        sel_jump(sel, done);
        sel_seal(sel, own);
        sel_begin(sel, own);
    }
    if (!update_own(atom, b, c, &other))
        return false;
    write_old(sel, var, other);
    sel_jump(sel, done);
    sel_seal(sel, done);
    sel_begin(sel, done);
    for (unsigned k = 0; k < old->n; k++)
        old->w[k] = ir_val(sel->f, sel_ssa_read(&sel->ssa, var + k, sel->cur));
    return true;
}

static bool select(Atom *atom, Wide *result) {
    Sel *sel = atom->sel;
    unsigned op, type = AtomType_U64; /* of compare-and-swap */
    bool swaps = atom->in->atom == ATOM_CAS;
    Wide b = sel_src(sel, &atom->src[0], atom->bytes), c = {0};
    *result = (Wide){0};
    Operand d, did = op_none();
    if (swaps)
        c = sel_src(sel, &atom->src[1], atom->bytes);
    if (atom->bytes == 2) {
        if (swaps)
            b = wide1(sel_extend(sel, b.w[0], 2, false));
        widen_half(atom);
        return select_loop(atom, b, c, result);
    }
    if (swaps) {
        Operand expected = sel_wide_vec(sel, b), desired = sel_wide_vec(sel, c);
        d = emit_cas(atom, expected, desired, &did);
    } else if (native_type(atom, &type) && sel_atom_op(atom->in->atom, &op))
        d = emit_native(atom, op, type, sel_wide_vec(sel, b), &did);
    else
        return select_loop(atom, b, c, result);
    result->n = atom->bytes / 4;
    for (unsigned k = 0; k < result->n; k++)
        result->w[k] = sel_part(sel, d, k);
    return did.kind == OPK_NONE || do_refused(atom, refusal(atom, type), did, b, c, result);
}

/* Element k of a vector, each of which is accessed for itself; the only one otherwise. */
static bool select_element(const Atom *all, unsigned k, Wide *old) {
    Atom one = *all;
    if (k)
        one.address = sel_address_behind(all->sel, &all->address, k * all->bytes);
    if (all->src->kind == PO_VEC)
        one.src = &all->src->vec[k];
    if (all->dst && all->dst->kind == PO_VEC)
        one.dst = &all->dst->vec[k];
    one.wants_result = one.dst && one.dst->kind != PO_SINK;
    return select(&one, old);
}

/* ---- fences ---- */

static unsigned fence_scope(const PtxInsn *in) {
    return in->scope == SCOPE_CTA   ? MembarScope_CTA
           : in->scope == SCOPE_SYS ? MembarScope_SYS
                                    : MembarScope_GPU;
}

void sel_fence(Sel *sel, const PtxInsn *in, bool guarded) {
    uint32_t mods = MSET(MEMBAR, scope, fence_scope(in)) | MSET(MEMBAR, kind, MembarKind_ALL);
    InstId id = sel_emit(sel, OT_MEMBAR, mods, 0, NULL);
    if (guarded && sel->guard.kind != OPK_NONE)
        ir_set_guard(sel->f, id, sel->guard);
}

/* Weak loads go by a cache of the multiprocessor, which the stores of others do not reach: behind an acquire
 * or a fence wider than the block it must not answer with what it had before. ptxas 13.0 empties it there,
 * always, and without a guard before sm_90. */
void sel_forget_copies(Sel *sel, const PtxInsn *in) {
    if (in->scope != SCOPE_CTA && isa_target_has(sel->t, OT_CCTL))
        sel_emit(sel, OT_CCTL, MSET(CCTL, op, CctlOp_IVALL), 0, NULL);
}

void sel_acquire(Sel *sel, const PtxInsn *in, bool guarded) {
    sel_fence(sel, in, guarded);
    sel_forget_copies(sel, in);
}

bool isel_membar(Sel *s, const PtxInsn *in) {
    bool sc = in->op == PTX_MEMBAR || in->sem == SEM_SC || in->sem == SEM_NONE;
    uint32_t kind = sc ? MembarKind_SC : MembarKind_ALL;
    sel_emit(s, OT_MEMBAR, MSET(MEMBAR, scope, fence_scope(in)) | MSET(MEMBAR, kind, kind), 0, NULL);
    sel_forget_copies(s, in);
    if (!(in->flags & PF_PROXY) || !isa_target_has(s->t, OT_FENCE_VIEW_ASYNC))
        return true;
    if (in->space != SP_GLOBAL)
        sel_emit(s, OT_FENCE_VIEW_ASYNC, MSET(FENCE_VIEW_ASYNC, space, ViewSpace_S), 0, NULL);
    if (in->space == SP_GLOBAL || in->space == SP_NONE)
        sel_emit(s, OT_FENCE_VIEW_ASYNC, MSET(FENCE_VIEW_ASYNC, space, ViewSpace_G), 0, NULL);
    return true;
}

/* At the address of a multicast object: the machine's operations alone, for a loop around a compare-and-swap
 * knows what one replica held. Halves go two at a time. */
bool isel_multimem_red(Sel *sel, const PtxInsn *in) {
    Atom atom = {.sel = sel, .in = in, .t = sel_type(in)};
    unsigned op, type, n = in->vec, together = 1;
    Address first;
    if (!sel_address(sel, in, &in->operands[0], SP_GLOBAL, &first) || !sel_atom_op(in->atom, &op))
        return false;
    if (atom.t == TY_F16 || atom.t == TY_BF16) {
        atom.t = atom.t == TY_F16 ? TY_F16X2 : TY_BF16X2;
        together = 2;
    }
    atom.bytes = ptx_type_bytes(atom.t);
    native_type(&atom,
                &type); /* minima and maxima of halves too, which other addresses do not have everywhere */
    if (in->sem == SEM_RELEASE)
        sel_fence(sel, in, false);
    const PtxOperand *source = &in->operands[1];
    for (unsigned k = 0; k < n / together; k++) {
        const PtxOperand *element = source->kind == PO_VEC ? &source->vec[together * k] : source;
        Wide data = sel_src(sel, element, atom.bytes / together);
        if (together == 2)
            data.w[0] = sel_prmt(sel, sel_value(sel, data.w[0]), op_imm(0x5410),
                                 sel_value(sel, sel_src(sel, element + 1, 2).w[0]));
        atom.address = k ? sel_address_behind(sel, &first, k * atom.bytes) : first;
        emit_native(&atom, op, type, sel_wide_vec(sel, data), NULL);
    }
    return true;
}

bool isel_atom(Sel *sel, const PtxInsn *in) {
    Atom a = {.sel = sel, .in = in, .t = sel_type(in)};
    a.bytes = ptx_type_bytes(a.t);
    bool red = in->op == PTX_RED;
    const PtxOperand *addr = &in->operands[red ? 0 : 1];
    a.dst = red ? NULL : &in->operands[0];
    a.src = addr + 1;
    if (!sel_address(sel, in, addr, (PtxSpace)in->space, &a.address))
        return false;
    if (a.address.space != SP_GLOBAL && a.address.space != SP_SHARED && a.address.space != SP_NONE)
        return sel_error(sel, "atomics of this state space are not compiled");
    bool release = in->sem == SEM_RELEASE || in->sem == SEM_ACQ_REL,
         acquire = in->sem == SEM_ACQUIRE || in->sem == SEM_ACQ_REL;
    if (release)
        sel_fence(sel, in, false);
    Wide old[8];
    for (unsigned k = 0; k < in->vec; k++)
        if (!select_element(&a, k, &old[k]))
            return false;
    if (acquire)
        sel_acquire(sel, in, false);
    for (unsigned k = 0; a.dst && k < in->vec; k++) { /* results may be operands */
        const PtxOperand *dst = a.dst->kind == PO_VEC ? &a.dst->vec[k] : a.dst;
        if (dst->kind != PO_SINK)
            sel_write(sel, dst, a.t, old[k]);
    }
    return true;
}
