/* Selection of mbarrier objects, PTX ISA 9.7.13.15, and of bulk copies, 9.7.9.25.4. What the 64 bits of an
 * object are is said in docs/ptx.md; that is how sm_90 keeps its objects where its programs look at them, and
 * so all targets do.
 *
 * sm_90 has a unit for them (SYNCS), at which its copies complete bytes; what else changes an object is to go
 * by it, or the unit does not see it (on an H100 a wait for a copy then never ends). The instructions are
 * those of ptxas 13.0. Elsewhere every change is a compare-and-swap loop on the object, and waiting reads it
 * once, as a strong load: a loop around it observes other threads. No fence stands behind it (ptxas 13.0 has
 * none for sm_80). Copies (cp.async) are done at once here, so that an arrival on their behalf is one of the
 * thread.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

enum {
    COUNT_MASK = 0xfffff,
    EXPECTED_LOW_BIT = 1, /* in the low word; what is left of 2^20 */
    TX_LOW_BIT = 22,      /* up to bit 10 of the high word */
    TX_MASK = 0x1fffff,
    PENDING_LOW_BIT = 11, /* in the high word; what is left of 2^20 */
};
#define PHASE_BIT 0x80000000u /* of the high word */

typedef struct { /* what a statement does, in registers */
    Operand arrivals, dropped, tx;
} Change;

/* ((old + step * 2^low) masked, or old without a step */
static Operand field_plus(Sel *sel, Operand old, Operand step, unsigned low_bit) {
    Operand mask = op_imm((uint32_t)COUNT_MASK << low_bit);
    if (step.kind != OPK_NONE)
        old = sel_iadd(sel, old, sel_shl(sel, step, op_imm(low_bit)));
    return sel_and(sel, old, mask);
}

static bool update_object(Sel *sel, const void *context, Wide old, Wide *now) {
    const Change *change = context;
    Operand expected = field_plus(sel, old.w[0], change->dropped, EXPECTED_LOW_BIT);
    Operand pending = field_plus(sel, old.w[1], change->arrivals, PENDING_LOW_BIT);
    Operand tx = sel_shr64(sel, false, old, op_imm(TX_LOW_BIT)).w[0];
    if (change->tx.kind != OPK_NONE)
        tx = sel_iadd(sel, tx, change->tx);
    tx = sel_and(sel, tx, op_imm(TX_MASK));
    Operand complete = sel_isetp(sel, false, ICmp_EQ, sel_or(sel, pending, tx), op_imm(0));
    Operand again = sel_shl(sel, expected, op_imm(PENDING_LOW_BIT - EXPECTED_LOW_BIT));
    Operand flip = sel_select(sel, complete, op_imm(PHASE_BIT), op_rz());
    Operand phase = sel_and(sel, sel_xor(sel, old.w[1], flip), op_imm(PHASE_BIT));
    Operand high = sel_or(sel, phase, sel_select(sel, complete, again, pending));
    Operand low = sel_or(sel, expected, sel_shl(sel, tx, op_imm(TX_LOW_BIT)));
    Operand tx_high = sel_shr(sel, false, tx, op_imm(32 - TX_LOW_BIT));
    *now = wide2(low, sel_or(sel, high, tx_high));
    return true;
}

static bool has_unit(const Sel *sel) { return isa_target_has(sel->t, OT_SYNCS_ARRIVE); }

/* The operand that is the address stands behind the destination; that of a bulk copy is the fourth. */
static const PtxOperand *object_of(const PtxInsn *in) {
    return in->op == PTX_CP && in->sub2 == SUB_BULK ? &in->operands[3]
           : in->sub2 == SUB_ASYNC                  ? &in->operands[2] /* st.async, red.async */
                                                    : &in->operands[in->ndst];
}

/* For the unit an address in the cluster, which is the low word of one in the window. */
static bool object_at(Sel *sel, const PtxInsn *in, Address *address) {
    PtxSpace space = in->sub2 == SUB_ASYNC ? SP_SHARED_CLUSTER : (PtxSpace)in->space;
    return has_unit(sel) ? sel_shared_address(sel, in, object_of(in), address)
                         : sel_address(sel, in, object_of(in), space, address);
}

/* ---- sm_90 ---- */

static void mark_unit(Sel *sel, InstId id) {
    ir_inst(sel->f, id)->flags |= IF_MEMORY | IF_SIDE_EFFECT | IF_OBSERVING;
}

/* An arrival or a change of the bytes to come. Another block's object tells nothing back (.RED). */
static bool arrive_at_unit(Sel *sel, const PtxInsn *in, unsigned count, bool drops, bool tells, Operand n) {
    Address address;
    if (!object_at(sel, in, &address))
        return false;
    if (in->sem == SEM_RELEASE && in->scope != SCOPE_CTA) /* accesses of the block stay before it */
        sel_fence(sel, in, false);
    bool wanted = tells && in->ndst && in->operands[0].kind != PO_SINK,
         red = !tells || in->space == SP_SHARED_CLUSTER;
    Operand src[4] = {address.base, op_none(), op_imm((uint32_t)address.offset), n};
    InstId id = sel_emit(sel, OT_SYNCS_ARRIVE,
                         MSET(SYNCS_ARRIVE, count, count) | MSET(SYNCS_ARRIVE, optout, drops) |
                             MSET(SYNCS_ARRIVE, red, red),
                         4, src);
    mark_unit(sel, id);
    if (wanted) {
        Operand old = sel_add_dsts(sel, id, SYNCS_ARRIVE_rd, RF_R, 2);
        sel_write(sel, &in->operands[0], TY_B64, sel_wide_pair(sel, old));
    }
    return true;
}

typedef struct {
    Operand place;
    Wide object;
} Init;

static void init_of_one_lane(Sel *sel, const void *context) {
    const Init *init = context;
    enum { PLACE_UR = IR_FIXED_UR, OBJECT_UR = PLACE_UR + 2 };
    sel_to_fixed_ur(sel, PLACE_UR, init->place);
    for (unsigned k = 0; k < 2; k++)
        sel_to_fixed_ur(sel, OBJECT_UR + k, init->object.w[k]);
    Operand src[3] = {op_reg(RF_UR, PLACE_UR, 1), op_imm(0), op_reg(RF_UR, OBJECT_UR, 2)};
    sel_emit(sel, OT_FENCE_VIEW_ASYNC, MSET(FENCE_VIEW_ASYNC, space, ViewSpace_S), 0, NULL);
    InstId id = sel_emit(sel, OT_SYNCS_EXCH, 0, 3, src);
    mark_unit(sel, id);
    ir_inst(sel->f, id)->flags |= IF_CONVERGENT;
}

static Operand whole_address(Sel *sel, const Address *address) {
    Operand place = address->base.kind == OPK_NONE ? op_imm(0) : address->base;
    if (address->offset)
        place = sel_iadd(sel, place, op_imm((uint32_t)address->offset));
    return sel_value(sel, place);
}

static bool init_at_unit(Sel *sel, const Address *address, Operand low, Operand high) {
    Init init = {whole_address(sel, address), wide2(sel_value(sel, low), sel_value(sel, high))};
    return sel_in_turns(sel, init_of_one_lane, &init);
}

/* A store or reduction whose bytes the unit completes: the addresses of both are one operand. */
static bool store_by_unit(Sel *sel, const PtxInsn *in, unsigned op, uint32_t mods, Wide data) {
    Address to, object;
    if (!sel_shared_address(sel, in, &in->operands[0], &to) || !object_at(sel, in, &object))
        return false;
    Operand places = sel_pair(sel, whole_address(sel, &to), whole_address(sel, &object));
    Operand src[4] = {op_with(places, OPM_WIDE64), op_none(), op_imm(0), sel_wide_vec(sel, data)};
    mark_unit(sel, sel_emit(sel, op, mods, 4, src));
    return true;
}

static void ask_unit(Sel *sel, const PtxInsn *in, const Address *address, Operand phase) {
    bool tries = in->sub == SUB_TRY_WAIT;
    Operand src[4] = {address->base, op_none(), op_imm((uint32_t)address->offset), sel_value(sel, phase)};
    InstId id = sel_emit(sel, OT_SYNCS_PHASECHK, MSET(SYNCS_PHASECHK, trywait, tries), 4, src);
    mark_unit(sel, id);
    Operand complete = sel_add_dst(sel, id, SYNCS_PHASECHK_pu, RF_P);
    if (in->sem == SEM_ACQUIRE)
        sel_forget_copies(sel, in);
    sel_write_pred(sel, &in->operands[0], complete);
}

/* ---- other targets ---- */

/* What stands behind the address, in a register; 1 if nothing does. */
static Operand count_of(Sel *sel, const PtxInsn *in) {
    return in->noperands > in->ndst + 1u ? sel_value(sel, sel_src32(sel, &in->operands[in->ndst + 1]))
                                         : sel_value(sel, op_imm(1));
}

static bool change_object(Sel *sel, const PtxInsn *in, Change change) {
    Address address;
    Wide old;
    if (!object_at(sel, in, &address))
        return false;
    if (in->sem == SEM_RELEASE)
        sel_fence(sel, in, false);
    if (!sel_atomic_update(sel, in, &address, 8, update_object, &change, &old))
        return false;
    if (in->ndst && in->operands[0].kind != PO_SINK)
        sel_write(sel, &in->operands[0], TY_B64, old);
    return true;
}

bool isel_mbarrier_init(Sel *sel, const PtxInsn *in) {
    Address address;
    if (!object_at(sel, in, &address))
        return false;
    Operand left = sel_isub(sel, op_imm(COUNT_MASK + 1), sel_src32(sel, &in->operands[1]));
    left = sel_and(sel, left, op_imm(COUNT_MASK));
    Operand low = sel_shl(sel, left, op_imm(EXPECTED_LOW_BIT));
    Operand high = sel_shl(sel, left, op_imm(PENDING_LOW_BIT));
    if (has_unit(sel))
        return init_at_unit(sel, &address, low, high);
    sel_store_words(sel, in, &address, 8, sel_pair(sel, low, high));
    return true;
}

/* The unit forgets the object, so that its memory is free for others. */
bool isel_mbarrier_inval(Sel *sel, const PtxInsn *in) {
    Address address;
    if (!has_unit(sel))
        return true;
    if (!object_at(sel, in, &address))
        return false;
    Operand src[3] = {address.base, op_none(), op_imm((uint32_t)address.offset)};
    mark_unit(sel, sel_emit(sel, OT_SYNCS_CCTL, MSET(SYNCS_CCTL, op, SyncsCache_IV), 3, src));
    return true;
}

bool isel_mbarrier_arrive(Sel *sel, const PtxInsn *in) {
    bool one = in->noperands <= in->ndst + 1u;
    if (has_unit(sel))
        return arrive_at_unit(sel, in, one ? SyncsCount_A1T0 : SyncsCount_ART0, in->sub == SUB_ARRIVE_DROP,
                              true, one ? op_rz() : count_of(sel, in));
    Operand n = count_of(sel, in);
    return change_object(sel, in,
                         (Change){.arrivals = n, .dropped = in->sub == SUB_ARRIVE_DROP ? n : op_none()});
}

bool isel_mbarrier_arrive_tx(Sel *sel, const PtxInsn *in) {
    Operand tx = count_of(sel, in), one;
    if (has_unit(sel))
        return arrive_at_unit(sel, in, SyncsCount_A1TR, in->sub == SUB_ARRIVE_DROP, true, tx);
    one = sel_value(sel, op_imm(1));
    return change_object(
        sel, in,
        (Change){.arrivals = one, .dropped = in->sub == SUB_ARRIVE_DROP ? one : op_none(), .tx = tx});
}

static bool complete_bytes(Sel *sel, const PtxInsn *in, Operand bytes) {
    if (has_unit(sel))
        return arrive_at_unit(sel, in, SyncsCount_A0TX, false, false, bytes);
    return change_object(sel, in, (Change){.tx = sel_isub(sel, op_rz(), bytes)});
}

bool isel_mbarrier_tx(Sel *sel, const PtxInsn *in) {
    Operand tx = count_of(sel, in);
    if (in->sub == SUB_COMPLETE_TX)
        return complete_bytes(sel, in, tx);
    if (has_unit(sel))
        return arrive_at_unit(sel, in, SyncsCount_A0TR, false, false, tx);
    return change_object(sel, in, (Change){.tx = tx});
}

/* Without .noinc the arrival is one more that is pending, and arrives: no change of the counts, but what is
 * complete with it ends its phase. */
bool isel_mbarrier_copies(Sel *sel, const PtxInsn *in) {
    Change change = {0};
    bool arrives = in->flags & PF_NOINC;
    if (has_unit(sel)) /* one more byte to come, which comes */
        return arrives ? arrive_at_unit(sel, in, SyncsCount_A1T0, false, false, op_rz())
                       : arrive_at_unit(sel, in, SyncsCount_A0T1, false, false, op_rz()) &&
                             complete_bytes(sel, in, count_of(sel, in));
    if (arrives)
        change.arrivals = count_of(sel, in);
    return change_object(sel, in, change);
}

/* ---- cp.async.bulk ---- */

enum { BULK_BYTES = 16 }; /* what a round copies; sizes and addresses are multiples of it */

static Address address_plus(Sel *sel, Address address, Operand bytes) {
    if (!address.wide64) {
        address.base = address.base.kind == OPK_NONE ? bytes : sel_iadd(sel, address.base, bytes);
        return address;
    }
    Wide base = sel_wide_pair(sel, address.base);
    Wide sum = sel_add64(sel, base, wide2(bytes, op_rz()));
    address.base = op_with(sel_pair(sel, sum.w[0], sum.w[1]), OPM_WIDE64);
    return address;
}

/* The engine's are those that bytes are completed of by the unit, and those to several blocks. Else a loop of
 * the thread copies at once, one of the moments that PTX leaves open; then the bytes are complete at the
 * mbarrier object. So nothing is ever left for a bulk group to wait for. */
bool isel_bulk_copy(Sel *sel, const PtxInsn *in) {
    Address to, from;
    bool several = in->flags & PF_MULTICAST;
    unsigned way = in->space2 == SP_GLOBAL ? BulkWay_S_G : BulkWay_S_S;
    if (several || (has_unit(sel) && in->space != SP_GLOBAL))
        return sel_bulk_engine(sel, in, OT_UBLKCP, MSET(UBLKCP, way, way) | MSET(UBLKCP, multicast, several));
    if (!sel_address(sel, in, &in->operands[0], (PtxSpace)in->space, &to) ||
        !sel_address(sel, in, &in->operands[1], (PtxSpace)in->space2, &from))
        return false;
    Operand size = sel_value(sel, sel_src32(sel, &in->operands[2]));
    uint32_t var = sel_ssa_var_new(&sel->ssa, RF_R, 0, 0);
    Operand none_yet = sel_value(sel, op_imm(0));
    sel_ssa_write(&sel->ssa, var, sel->cur, (ValId){none_yet.value});
    BlockId loop = sel_block_new(sel), done = sel_block_new(sel);
    sel_branch(sel, sel_isetp(sel, false, ICmp_NE, size, op_imm(0)), loop, done);
    sel_begin(sel, loop);
    Operand at = ir_val(sel->f, sel_ssa_read(&sel->ssa, var, sel->cur));
    Address source = address_plus(sel, from, at);
    Address target = address_plus(sel, to, at);
    Operand data = sel_load_words(sel, in, &source, BULK_BYTES);
    sel_store_words(sel, in, &target, BULK_BYTES, data);
    Operand next = sel_iadd(sel, at, op_imm(BULK_BYTES));
    sel_ssa_write(&sel->ssa, var, sel->cur, (ValId){next.value});
    sel_branch(sel, sel_isetp(sel, false, ICmp_LT, next, size), loop, done);
    sel_seal(sel, loop);
    sel_seal(sel, done);
    sel_begin(sel, done);
    return in->space == SP_GLOBAL || complete_bytes(sel, in, size);
}

/* ---- st.async, red.async ---- */

/* At once, too; whoever sees the bytes complete sees them. */
static bool complete_stored(Sel *sel, const PtxInsn *in) {
    uint32_t bytes = ptx_type_bytes(sel_type(in)) * (in->vec > 1 ? in->vec : 1);
    sel_fence(sel, in, false);
    return complete_bytes(sel, in, sel_value(sel, op_imm(bytes)));
}

bool isel_st_async(Sel *sel, const PtxInsn *in) {
    const PtxOperand *from = &in->operands[1];
    unsigned n = in->vec > 1 ? in->vec : 1, bytes = ptx_type_bytes(sel_type(in));
    Wide data = {0};
    if (!has_unit(sel))
        return isel_st(sel, in) && complete_stored(sel, in);
    for (unsigned k = 0; k < n; k++) {
        Wide element = sel_src(sel, n > 1 ? &from->vec[k] : from, bytes);
        for (unsigned c = 0; c < element.n && data.n < 4; c++)
            data.w[data.n++] = sel_value(sel, element.w[c]);
    }
    unsigned size = data.n == 1 ? AsyncSz_32 : data.n == 2 ? AsyncSz_64 : AsyncSz_128;
    return store_by_unit(sel, in, OT_STAS, MSET(STAS, sz, size), data);
}

bool isel_red_async(Sel *sel, const PtxInsn *in) {
    PtxType type = sel_type(in);
    unsigned op, as = type == TY_S32   ? AsyncRedType_S32
                      : type == TY_U64 ? AsyncRedType_U64
                                       : AsyncRedType_U32;
    if (!has_unit(sel) || !sel_atom_op(in->atom, &op))
        return isel_atom(sel, in) && complete_stored(sel, in);
    Wide data = sel_src(sel, &in->operands[1], ptx_type_bytes(type));
    for (unsigned c = 0; c < data.n; c++)
        data.w[c] = sel_value(sel, data.w[c]);
    return store_by_unit(sel, in, OT_REDAS, MSET(REDAS, op, op) | MSET(REDAS, type, as), data);
}

/* The phase whose parity is the highest bit of `phase` is complete: the object is in one of the other. */
static bool test_phase(Sel *sel, const PtxInsn *in, Operand phase) {
    Address address;
    if (!object_at(sel, in, &address))
        return false;
    if (has_unit(sel)) {
        ask_unit(sel, in, &address, phase);
        return true;
    }
    Operand object = sel_load_words(sel, in, &address, 8);
    Operand differs = sel_xor(sel, sel_part(sel, object, 1), phase);
    sel_write_pred(sel, &in->operands[0], sel_isetp(sel, true, ICmp_LT, differs, op_imm(0)));
    return true;
}

bool isel_mbarrier_wait(Sel *sel, const PtxInsn *in) {
    return test_phase(sel, in, sel_src(sel, &in->operands[2], 8).w[1]);
}

bool isel_mbarrier_wait_parity(Sel *sel, const PtxInsn *in) {
    return test_phase(sel, in, sel_shl(sel, sel_src32(sel, &in->operands[2]), op_imm(31)));
}

bool isel_mbarrier_pending(Sel *sel, const PtxInsn *in) {
    Operand high = sel_src(sel, &in->operands[1], 8).w[1];
    Operand left = sel_shr(sel, false, high, op_imm(PENDING_LOW_BIT));
    Operand count = sel_and(sel, sel_isub(sel, op_rz(), left), op_imm(COUNT_MASK));
    sel_write32(sel, &in->operands[0], TY_U32, count);
    return true;
}
