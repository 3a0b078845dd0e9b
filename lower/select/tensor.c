/* Selection of copies of tensors, PTX ISA 9.7.9.25.5. The instructions take uniform registers one behind the
 * other, more of them than an operand has values; they are fixed ones, which are not allocated in a module
 * that has such copies (IrModule.fixed_ur). A loop lets each lane copy in its turn:
 *
 *     turn:  mine = no lane below is active       the lanes that come here lose one each time
 *            if (mine) { R2UR ...; UTMALDG ... }
 *            if (!mine) goto turn
 *
 * SPDX-License-Identifier: MIT */
#include "frontend/texture.h"
#include "isa/machine/tensormap.h"
#include "lower/select/isel.h"
#include "lower/select/matrix.h"

enum { FIRST_UR = IR_FIXED_UR, MAP_UR = FIRST_UR + 8, CHOICE_UR = FIRST_UR + 10, MOST_VALUES = 7 };

typedef struct {
    Operand values[MOST_VALUES]; /* what the instruction names first, in registers */
    unsigned n;
    Wide map;
    Operand choice; /* im2col's offsets and the blocks' mask; OPK_NONE: neither */
    unsigned op, mods;
    bool to_global;
} Copy;

void sel_to_fixed_ur(Sel *sel, unsigned ur, Operand value) {
    InstId id = sel_emit(sel, OT_R2UR, 0, 1, &value);
    ir_set_dst(sel->f, id, R2UR_urd, op_reg(RF_UR, ur, 1));
    ir_inst(sel->f, id)->flags |= IF_SIDE_EFFECT | IF_CONVERGENT;
}

/* Copies to global memory are waited for at once, so that commit_group and wait_group have nothing to do. */
static void wait_for_group(Sel *sel) {
    if (!isa_target_has(sel->t, OT_UTMACMDFLUSH)) /* bru1 does them at once */
        return;
    Operand src[2] = {op_none(), op_none()};
    sel_emit(sel, OT_UTMACMDFLUSH, 0, 0, NULL);
    src[0] = op_imm(0);
    sel_emit(sel, OT_DEPBAR, MSET(DEPBAR, sb, DepSb_SB0), 1, src);
    src[0] = op_rz(), src[1] = op_imm(0);
    sel_emit(sel, OT_CCTL, MSET(CCTL, op, CctlOp_IVALL), 2, src);
}

static void copy_of_one_lane(Sel *sel, const void *context) {
    const Copy *copy = context;
    for (unsigned k = 0; k < copy->n; k++)
        sel_to_fixed_ur(sel, FIRST_UR + k, copy->values[k]);
    for (unsigned k = 0; k < copy->map.n; k++)
        sel_to_fixed_ur(sel, MAP_UR + k, copy->map.w[k]);
    Operand src[4] = {op_reg(RF_UR, FIRST_UR, copy->n), op_reg(RF_UR, MAP_UR, copy->map.n), op_none(),
                      op_none()};
    if (!copy->n)
        src[0] = src[1], src[1] = op_none();
    if (copy->choice.kind != OPK_NONE) {
        sel_to_fixed_ur(sel, CHOICE_UR, copy->choice);
        src[2] = op_reg(RF_UR, CHOICE_UR, 1);
    }
    InstId id = sel_emit(sel, copy->op, copy->mods, isa_num_src(copy->op), src);
    ir_inst(sel->f, id)->flags |= IF_SIDE_EFFECT | IF_MEMORY | IF_CONVERGENT;
    if (copy->to_global)
        wait_for_group(sel);
}

bool sel_in_turns(Sel *sel, SelTurn *turn_of_lane, const void *context) {
    int below = isa_sreg_number(sel->t, "lanemask_lt");
    Operand lower = EMIT_R(sel, OT_S2R, 0, ((Operand){.kind = OPK_SREG, .value = (uint32_t)below}));
    Operand always = op_pt();
    BlockId turn = sel_block_new(sel), mine = sel_block_new(sel), rest = sel_block_new(sel),
            done = sel_block_new(sel);
    sel->m->fixed_ur = true;
    sel_jump(sel, turn);
    sel_begin(sel, turn);
    InstId vote = sel_emit_sync(sel, OT_VOTE, MSET(VOTE, op, VoteOp_ANY), 1, &always, op_none());
    Operand here = sel_add_dst(sel, vote, VOTE_rd, RF_R);
    Operand first = sel_isetp(sel, false, ICmp_EQ, sel_and(sel, here, lower), op_imm(0));
    sel_branch(sel, first, mine, rest);
    sel_seal(sel, mine);
    sel_begin(sel, mine);
    turn_of_lane(sel, context);
    sel_jump(sel, rest);
    sel_seal(sel, rest);
    sel_begin(sel, rest);
    sel_branch(sel, first, done, turn);
    sel_seal(sel, turn);
    sel_seal(sel, done);
    sel_begin(sel, done);
    return true;
}

static bool copy_in_turns(Sel *sel, const Copy *copy) { return sel_in_turns(sel, copy_of_one_lane, copy); }

/* Offsets of one dimension have 16 bits, of two 8 each, of three 5 each; the mask stands above them. */
static Operand choice_of(Sel *sel, const PtxOperand *offsets, const PtxOperand *mask) {
    Operand choice = op_none();
    unsigned n = !offsets                  ? 0
                 : offsets->kind == PO_VEC ? offsets->nvec
                                           : 1,
             bits = n == 1   ? 16
                    : n == 2 ? 8
                             : 5;
    for (unsigned k = 0; k < n; k++) {
        Operand v = sel_src_ext(sel, offsets->kind == PO_VEC ? &offsets->vec[k] : offsets, TY_U16);
        v = sel_shl(sel, sel_and(sel, sel_value(sel, v), op_imm((1u << bits) - 1)), op_imm(bits * k));
        choice = k ? sel_or(sel, choice, v) : v;
    }
    if (mask) {
        Operand blocks = sel_shl(sel, sel_value(sel, sel_src_ext(sel, mask, TY_U16)), op_imm(16));
        choice = n ? sel_or(sel, choice, blocks) : blocks;
    }
    return choice.kind == OPK_NONE ? choice : sel_value(sel, choice);
}

/* A generic address, or one in global memory, in registers. */
static bool map_address(Sel *sel, const PtxInsn *in, const PtxOperand *place, Wide *out) {
    PtxOperand plain = *place;
    Address address;
    plain.nvec = 0;
    if (!sel_address(sel, in, &plain, plain.sym ? SP_NONE : SP_GLOBAL, &address) || !address.wide64)
        return sel_error(sel, "the address of this tensor map is not compiled");
    Wide offset = wide2(op_imm((uint32_t)address.offset), op_imm(address.offset < 0 ? ~0u : 0));
    *out = sel_wide_pair(sel, address.base);
    if (address.offset)
        *out = sel_add64(sel, *out, offset);
    for (unsigned k = 0; k < 2; k++)
        out->w[k] = sel_value(sel, out->w[k]);
    return true;
}

/* An address in the cluster's shared memory. */
static bool shared_address(Sel *sel, const PtxInsn *in, const PtxOperand *operand, Operand *out) {
    Address address;
    if (!sel_address(sel, in, operand, SP_SHARED, &address))
        return false;
    Operand base = address.base.kind == OPK_NONE ? op_imm(0) : address.base;
    if (address.offset)
        base = sel_iadd(sel, base, op_imm((uint32_t)address.offset));
    *out = sel_value(sel, base);
    return true;
}

static bool begin_copy(Sel *sel, const PtxInsn *in, const PtxOperand *place, Copy *copy) {
    if (!isa_target_has(sel->t, OT_UTMALDG))
        return sel_error(sel, "copies of tensors need instructions of sm_90");
    if (!map_address(sel, in, place, &copy->map))
        return false;
    for (unsigned k = 0; k < in->vec; k++)
        copy->values[copy->n++] = sel_value(sel, sel_src32(sel, &place->vec[0].vec[k]));
    return true;
}

bool isel_tensor_load(Sel *sel, const PtxInsn *in) {
    const PtxOperand *operand = in->operands;
    bool im2col = in->flags & PF_IM2COL, several = in->flags & PF_MULTICAST;
    Copy copy = {.op = OT_UTMALDG,
                 .mods = MSET(UTMALDG, dim, in->vec - 1u) | MSET(UTMALDG, im2col, im2col) |
                         MSET(UTMALDG, multicast, several),
                 .n = 2};
    if (!shared_address(sel, in, &operand[0], &copy.values[0]) ||
        !shared_address(sel, in, &operand[2], &copy.values[1]) || !begin_copy(sel, in, &operand[1], &copy))
        return false;
    copy.choice = choice_of(sel, im2col ? &operand[3] : NULL, several ? &operand[im2col ? 4 : 3] : NULL);
    return copy_in_turns(sel, &copy);
}

bool isel_tensor_store(Sel *sel, const PtxInsn *in) {
    unsigned op;
    bool im2col = in->flags & PF_IM2COL, reduces = sel_atom_op(in->atom, &op);
    Copy copy = {.op = reduces ? OT_UTMAREDG : OT_UTMASTG, .n = 1, .to_global = true};
    if (reduces)
        copy.mods =
            MSET(UTMAREDG, dim, in->vec - 1u) | MSET(UTMAREDG, im2col, im2col) | MSET(UTMAREDG, op, op);
    else
        copy.mods = MSET(UTMASTG, dim, in->vec - 1u) | MSET(UTMASTG, im2col, im2col);
    return shared_address(sel, in, &in->operands[1], &copy.values[0]) &&
           begin_copy(sel, in, &in->operands[0], &copy) && copy_in_turns(sel, &copy);
}

/* ---- bulk copies to several blocks, reductions by bulk copies ---- */

/* Sixteenths of the bytes, the blocks' mask above them. */
static Operand size_of(Sel *sel, const PtxInsn *in) {
    Operand size = sel_shr(sel, false, sel_value(sel, sel_src32(sel, &in->operands[2])), op_imm(4));
    if (in->flags & PF_MULTICAST) {
        Operand blocks = sel_value(sel, sel_src_ext(sel, &in->operands[4], TY_U16));
        size = sel_and(sel, size, op_imm(0xffff));
        blocks = sel_shl(sel, blocks, op_imm(16));
        size = sel_or(sel, size, blocks);
    }
    return sel_value(sel, size);
}

/* The address of one end: a pair in global memory, else in the cluster. */
static bool end_of(Sel *sel, const PtxInsn *in, const PtxOperand *operand, unsigned space, Wide *out) {
    *out = (Wide){.n = 1};
    return space == SP_GLOBAL ? map_address(sel, in, operand, out)
                              : shared_address(sel, in, operand, &out->w[0]);
}

bool sel_bulk_engine(Sel *sel, const PtxInsn *in, unsigned op, unsigned mods) {
    Copy copy = {.op = op, .mods = mods, .n = 2, .to_global = in->space == SP_GLOBAL};
    Wide to, from;
    if (!isa_target_has(sel->t, op))
        return sel_error(sel, "these bulk copies need instructions of sm_90");
    if (!end_of(sel, in, &in->operands[0], in->space, &to) ||
        !end_of(sel, in, &in->operands[1], in->space2, &from))
        return false;
    for (unsigned k = 0; k < to.n; k++)
        copy.values[k] = to.w[k];
    if (in->space != SP_GLOBAL && !shared_address(sel, in, &in->operands[3], &copy.values[1]))
        return false;
    copy.map = from;
    copy.choice = size_of(sel, in);
    return copy_in_turns(sel, &copy);
}

bool isel_bulk_reduce(Sel *sel, const PtxInsn *in) {
    unsigned type = in->type[0] == TY_S32                            ? BulkRedType_S32
                    : in->type[0] == TY_U64 || in->type[0] == TY_B64 ? BulkRedType_U64
                    : in->type[0] == TY_S64                          ? BulkRedType_S64
                    : in->type[0] == TY_F16                          ? BulkRedType_F16
                    : in->type[0] == TY_BF16                         ? BulkRedType_BF16
                    : in->type[0] == TY_F32                          ? BulkRedType_F32
                    : in->type[0] == TY_F64                          ? BulkRedType_F64
                                                                     : BulkRedType_U32;
    unsigned op;
    if (!sel_atom_op(in->atom, &op))
        return sel_error(sel, "copies have no such reduction");
    return sel_bulk_engine(sel, in, OT_UBLKRED,
                           MSET(UBLKRED, way, in->space == SP_GLOBAL ? BulkWay_G_S : BulkWay_S_S) |
                               MSET(UBLKRED, type, type) | MSET(UBLKRED, op, op));
}

/* ---- tensormap ---- */

static Address word_at(Sel *sel, const Address *map, unsigned bit) {
    enum { BITS = 32, BYTES = 4 };
    return bit < BITS ? *map : sel_address_behind(sel, map, bit / BITS * BYTES);
}

/* Bits of the value from `part->from` on, at their place in the word. */
static Operand part_of(Sel *sel, const TensorPart *part, Wide value, unsigned low_bit) {
    Operand bits = op_imm(0);
    if (value.n == 1 || part->from < 32)
        bits = value.n == 1 ? sel_shr(sel, false, value.w[0], op_imm(part->from))
                            : sel_shr64(sel, false, value, op_imm(part->from)).w[0];
    else if (part->from < 63)
        bits = sel_shr(sel, false, value.w[1], op_imm(part->from - 32));
    return low_bit ? sel_shl(sel, bits, op_imm(low_bit)) : bits;
}

static void replace_part(Sel *sel, const PtxInsn *in, const Address *map, const TensorPart *part,
                         unsigned ordinal, Wide value) {
    unsigned bit = part->at + part->each * ordinal, low_bit = bit % 32;
    Address word = word_at(sel, map, bit);
    uint32_t mask = part->bits < 32 ? ((1u << part->bits) - 1) << low_bit : ~0u;
    if (part->bits == 64) {
        sel_store_words(sel, in, &word, 8, sel_wide_vec(sel, value));
        return;
    }
    Operand bits = part_of(sel, part, value, low_bit);
    if (part->bits < 32) {
        Operand old = sel_and(sel, sel_load_words(sel, in, &word, 4), op_imm(~mask));
        bits = sel_or(sel, old, sel_and(sel, bits, op_imm(mask)));
    }
    sel_store_words(sel, in, &word, 4, sel_value(sel, bits));
}

bool isel_tensormap_replace(Sel *sel, const PtxInsn *in) {
    TensorField field = ptx_tensor_field(in);
    bool dims = tensor_fields[field].dims;
    const PtxOperand *operand = &in->operands[dims ? 2 : 1];
    unsigned ordinal = dims ? (unsigned)in->operands[1].imm : 0;
    Address map;
    if (!sel_address(sel, in, &in->operands[0], (PtxSpace)in->space, &map))
        return false;
    uint32_t number = field == TENSOR_ELEMTYPE ? tensor_type_bits((uint32_t)operand->imm) : 0;
    Wide value = number ? wide1(op_imm(number)) : sel_src(sel, operand, ptx_type_bytes(sel_type(in)));
    for (unsigned k = 0; k < value.n; k++)
        value.w[k] = sel_value(sel, value.w[k]);
    if (tensor_fields[field].less)
        value.w[0] = sel_iadd(sel, value.w[0], op_imm(0u - tensor_fields[field].less));
    for (unsigned k = 0; k < TENSOR_PARTS; k++)
        if (tensor_parts[k].field == field && (!tensor_parts[k].ones || number >> tensor_parts[k].from))
            replace_part(sel, in, &map, &tensor_parts[k], ordinal, value);
    return true;
}

/* Each lane copies a word, by an exchange as in ptxas 13.0's code: the copy is there for whom the scope says.
 */
bool isel_tensormap_copy(Sel *sel, const PtxInsn *in) {
    enum { WHOLE_WARP = ~0 };
    Address from, to;
    if (!sel_address(sel, in, &in->operands[0], SP_GLOBAL, &to) ||
        !sel_address(sel, in, &in->operands[1], SP_SHARED, &from))
        return false;
    unsigned order = in->scope == SCOPE_SYS ? MemOrder_STRONG_SYS : MemOrder_STRONG_GPU;
    Operand lane = sel_lane(sel), offset = sel_value(sel, sel_shl(sel, lane, op_imm(2)));
    Operand base = from.base.kind == OPK_NONE ? offset : sel_iadd(sel, from.base, offset);
    Operand place[3] = {sel_value(sel, base), op_none(), op_imm((uint32_t)from.offset)};
    InstId id = sel_emit_sync(sel, OT_LDS, MSET(LDS, sz, MemSz_32), 3, place, op_imm((uint32_t)WHOLE_WARP));
    Operand word = sel_add_dst(sel, id, LDS_rd, RF_R);
    ir_inst(sel->f, id)->flags |= IF_MEMORY | IF_SIDE_EFFECT;
    Operand pair = to.base;
    pair.mods = 0;
    Wide at = sel_add64(sel, sel_wide_pair(sel, pair), wide2(offset, op_imm(0)));
    Operand src[4] = {op_with(sel_wide_vec(sel, at), OPM_WIDE64), op_none(), op_imm((uint32_t)to.offset),
                      word};
    sel_emit_dst(sel, OT_ATOMG,
                 MSET(ATOMG, op, AtomOp_EXCH) | MSET(ATOMG, type, AtomType_U32) | MSET(ATOMG, e, MemAddr_E) |
                     MSET(ATOMG, order, order),
                 0, RF_R, 1, 4, src);
    ir_inst(sel->f, sel_last(sel))->flags |= IF_MEMORY | IF_SIDE_EFFECT | IF_OBSERVING;
    return true;
}

/* ptxas 13.0 has a fence of the device at least for a release, and for an acquire forgets the map alone. */
bool isel_fence_tensormap(Sel *sel, const PtxInsn *in) {
    unsigned scope = in->scope == SCOPE_SYS ? MembarScope_SYS : MembarScope_GPU;
    sel_emit(sel, OT_MEMBAR, MSET(MEMBAR, scope, scope) | MSET(MEMBAR, kind, MembarKind_ALL), 0, NULL);
    Copy copy = {.op = OT_UTMACCTL, .mods = MSET(UTMACCTL, op, TmaCache_IV)};
    if (in->sem != SEM_ACQUIRE || !isa_target_has(sel->t, OT_UTMACCTL))
        return true;
    return map_address(sel, in, &in->operands[0], &copy.map) && copy_in_turns(sel, &copy);
}
