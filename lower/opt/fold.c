/* Copy propagation, constants into instructions, constant results of integer operations, masks that take
 * nothing away, signs of floating-point operands, address offsets into memory operands. In: SSA. Each operand
 * that is changed is kept only if an opcode takes it so (isa_select_opcode). Guarded definitions, values in
 * fixed registers, implicit operands of calls and the sources of phis stay as they are. Floating-point values
 * are not computed here. It asks by name for operations of which it knows a rule: where bits of a result come
 * from, what an address is the sum of. SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "ir/cfg.h"
#include "isa/lane/choose.h"
#include "lower/opt/fold.h"
#include "lower/passes.h"
#include <string.h>

/* ---- copies ---- */

static void copy(Fold *fold, uint32_t to, Operand src) {
    uint32_t from = opt_scalar(src);
    if (!from || src.mods || opt_fold_value(fold, to)->fixed_reg >= 0)
        return;
    from = opt_fold_same_as(fold, from);
    if (from == opt_fold_same_as(fold, to) || opt_fold_value(fold, from)->fixed_reg >= 0 ||
        opt_fold_value(fold, from)->file != opt_fold_value(fold, to)->file)
        return;
    fold->repl[to] = from;
    fold->changed = true;
}

/* A phi of one value, or of one value and itself. */
static void trivial_phi(Fold *fold, const Inst *i) {
    uint32_t to = opt_scalar(*ir_dst(fold->f, i, 0)), one = 0;
    for (unsigned k = 0; to && k < i->nsrc; k++) {
        Operand o = *ir_src(fold->f, i, k);
        uint32_t v = opt_scalar(o);
        if (!v || o.mods)
            return;
        v = opt_fold_same_as(fold, v);
        if (v == to || v == one)
            continue;
        if (one)
            return;
        one = v;
    }
    if (one)
        copy(fold, to, ir_val(fold->f, (ValId){one}));
}

/* ---- constants ---- */

static bool no_dst(const Fold *fold, const Inst *i, unsigned n) {
    return n >= i->ndst || ir_dst(fold->f, i, n)->kind != OPK_VAL;
}

static void know(Fold *fold, Operand dst, Operand what) {
    uint32_t v = opt_scalar(dst);
    if (!v || fold->known[v].kind != OPK_NONE || opt_fold_value(fold, v)->fixed_reg >= 0)
        return;
    fold->known[v] = what;
    fold->changed = true;
}

/* ---- predicates ---- */

static bool known_predicate(const Fold *fold, Operand o, bool *is) {
    if (opt_scalar(o)) {
        Operand k = fold->known[opt_fold_same_as(fold, o.value)];
        k.mods ^= o.mods;
        o = k;
    }
    *is = !(o.mods & OPM_NOT);
    return o.kind == OPK_REG && o.file == RF_P && o.value == REG_PT;
}

/* A table of predicates that depends on none of them, or is one of them. */
static void learn_logic(Fold *fold, const Inst *i) {
    uint32_t var[3] = {0};
    unsigned n = 0, slot[3], table = 0, lut = MGET(PLOP3, lut, i->mods);
    bool is[3];
    for (unsigned s = 0; s < 3; s++) {
        Operand o = *ir_src(fold->f, i, s);
        slot[s] = 3; /* known */
        if (known_predicate(fold, o, &is[s]))
            continue;
        if (!opt_scalar(o))
            return;
        for (slot[s] = 0; slot[s] < n && var[slot[s]] != opt_fold_same_as(fold, o.value);)
            slot[s]++;
        if (slot[s] == n)
            var[n++] = opt_fold_same_as(fold, o.value);
        is[s] = o.mods & OPM_NOT;
    }
    unsigned alike[3] = {0};
    for (unsigned x = 0; x < 1u << n; x++) {
        unsigned at = 0;
        for (unsigned s = 0; s < 3; s++)
            at = at << 1 | (slot[s] == 3 ? is[s] : (x >> slot[s] & 1) != is[s]);
        table |= (lut >> at & 1) << x;
        for (unsigned v = 0; v < n; v++)
            alike[v] |= (x >> v & 1) << x;
    }
    Operand dst = *ir_dst(fold->f, i, PLOP3_pu);
    if (table == 0 || table == (1u << (1u << n)) - 1)
        know(fold, dst, table ? op_pt() : op_with(op_pt(), OPM_NOT));
    for (unsigned v = 0; v < n && opt_scalar(dst); v++)
        if (table == alike[v])
            copy(fold, dst.value, ir_val(fold->f, (ValId){var[v]}));
}

/* The vote of all lanes about a constant, as a uniform predicate. */
static void learn_vote(Fold *fold, const Inst *i) {
    bool is;
    if (MGET(VOTEU, op, i->mods) == VoteOp_ANY && known_predicate(fold, *ir_src(fold->f, i, VOTEU_pp), &is))
        know(fold, *ir_dst(fold->f, i, VOTEU_upu), op_with(op_reg(RF_UP, REG_UPT, 1), is ? 0 : OPM_NOT));
}

/* A test that is combined with a constant: with PT by "and", or not at all, or its complement. */
static void fold_combination(Fold *fold, Inst *i) {
    const OpTraits *traits = ir_is_pseudo(i->op) ? isa_traits(OT_NONE) : isa_traits(i->op);
    bool is;
    if (traits->combines_src == ISA_NO_SLOT || (i->flags & IF_TIED))
        return;
    Operand *third = ir_src(fold->f, i, traits->combines_src);
    int how = isa_combine_op(i->op, i->mods);
    if (how == BoolOp_AND || !known_predicate(fold, *third, &is) || (how == BoolOp_OR && is))
        return;
    if (is) { /* exclusive or */
        if (traits->combines_dst == ISA_NO_SLOT)
            return;
        Operand *p = ir_dst(fold->f, i, 0), *q = ir_dst(fold->f, i, traits->combines_dst), t = *p;
        *p = *q;
        *q = t;
    }
    *third = op_pt();
    i->mods = isa_with_combine_op(i->op, i->mods, BoolOp_AND);
    fold->changed = true;
}

/* ---- results ---- */

typedef struct {
    uint32_t bits[MACH_MAX_SRC]; /* of a register before its modifiers, of a predicate behind them */
    unsigned unknown[MACH_MAX_SRC], nunknown; /* predicates that it does not name, or that may be either */
} Sources;

/* The optype's own sources; false if one is not known. */
static bool known_sources(const Fold *fold, const Inst *i, const MachInst *in, Sources *out) {
    *out = (Sources){0};
    for (unsigned k = 0; k < in->nsrc; k++) {
        Operand o = *ir_src(fold->f, i, k);
        LaneSource is = lane_source(fold->f->module->target, in, k);
        bool predicate = false;
        if (is == LANE_SRC_PREDICATE) {
            if (o.kind == OPK_NONE || /* PT or !PT */
                (opt_scalar(o) && !known_predicate(fold, o, &predicate)))
                out->unknown[out->nunknown++] = k;
            else if (!known_predicate(fold, o, &predicate))
                return false;
            out->bits[k] = predicate;
            continue;
        }
        o.mods = 0;
        if (is == LANE_SRC_BARRIER || (is == LANE_SRC_NUMBER && o.kind != OPK_IMM) ||
            !opt_fold_known_bits(fold, o, &out->bits[k]))
            return false;
    }
    return true;
}

static bool same_result(const LaneResult *a, const LaneResult *b) {
    return (!a->has_value || a->value == b->value) &&
           (!a->has_predicates || (a->predicate[0] == b->predicate[0] && a->predicate[1] == b->predicate[1]));
}

/* What the operation's lane function makes of constants, whatever the predicates are. */
static bool computed(const Fold *fold, const Inst *i, LaneResult *result) {
    const Target *target = fold->f->module->target;
    Sources sources;
    bool predicates = false, same = true;
    if (ir_is_pseudo(i->op) || i->ndst == 0 || !op_is_always(i->guard))
        return false;
    for (unsigned k = 0; k < isa_num_src(i->op); k++) { /* most often there is one, and no more to ask */
        Operand o = *ir_src(fold->f, i, k);
        if (o.kind == OPK_VAL && o.file == RF_R &&
            fold->known[opt_fold_same_as(fold, opt_scalar(o))].kind != OPK_IMM)
            return false;
    }
    MachInst in = opt_mach(fold->f, i);
    if (!known_sources(fold, i, &in, &sources))
        return false;
    for (unsigned k = 0; k < in.ndst; k++)
        predicates |= !no_dst(fold, i, k) && ir_dst(fold->f, i, k)->file == RF_P;
    for (unsigned x = 0; same && x < 1u << sources.nunknown; x++) {
        LaneResult one;
        for (unsigned k = 0; k < sources.nunknown; k++)
            sources.bits[sources.unknown[k]] = x >> k & 1;
        if (!lane_compute(target, &in, predicates, sources.bits, &one))
            return false;
        same = x == 0 || same_result(result, &one);
        *result = one;
    }
    return same;
}

/* Numbers of 64 bits whose upper halves are equal compare as the lower ones do. */
static void learn_extended(Fold *fold, const Inst *i) {
    uint32_t a, b, cmp = MGET(ISETP, cmp, i->mods);
    bool is;
    Operand lower = *ir_src(fold->f, i, ISETP_pq), dst = *ir_dst(fold->f, i, ISETP_pu);
    if (MGET(ISETP, ex, i->mods) && cmp != ICmp_F && cmp != ICmp_T && opt_scalar(lower) && opt_scalar(dst) &&
        MGET(ISETP, bop, i->mods) == BoolOp_AND &&
        opt_fold_known_bits(fold, *ir_src(fold->f, i, ISETP_ra), &a) &&
        opt_fold_known_bits(fold, *ir_src(fold->f, i, ISETP_rb), &b) && a == b &&
        known_predicate(fold, *ir_src(fold->f, i, ISETP_pp), &is) && is)
        copy(fold, dst.value, lower);
}

static void know_result(Fold *fold, const Inst *i, const LaneResult *result) {
    unsigned n = 0;
    for (unsigned k = 0; k < isa_num_dst(i->op); k++) {
        Operand dst = *ir_dst(fold->f, i, k);
        unsigned file = isa_dst_slot(fold->f->module->target, i->op, k).file;
        if (file == RF_R && result->has_value)
            know(fold, dst, op_imm(result->value));
        else if (file == RF_P && result->has_predicates && n < 2)
            know(fold, dst, result->predicate[n++] ? op_pt() : op_with(op_pt(), OPM_NOT));
    }
}

/* Nothing is added to the third operand. */
static bool is_addend(const Fold *fold, const Inst *i) {
    uint32_t a = 1, b = 1;
    return i->op == OT_IMAD && !MGET(IMAD, x, i->mods) &&
           ((opt_fold_known_bits(fold, *ir_src(fold->f, i, IMAD_ra), &a) && !a) ||
            (opt_fold_known_bits(fold, *ir_src(fold->f, i, IMAD_rb), &b) && !b));
}

void opt_fold_learn(Fold *fold, InstId id) {
    Inst *i = ir_inst(fold->f, id);
    LaneResult result;
    if (!op_is_always(i->guard) || i->ndst == 0)
        return;
    if (i->op == IR_PHI) {
        trivial_phi(fold, i);
        return;
    }
    Operand dst = *ir_dst(fold->f, i, 0);
    if (i->op == OT_MOV || i->op == IR_COPY) {
        Operand o = *ir_src(fold->f, i, 0);
        if (dst.count != 1 || dst.file != RF_R) {
            if (i->op == IR_COPY && dst.count == 1)
                copy(fold, dst.value, o);
            return;
        }
        if (o.kind == OPK_IMM || (o.kind == OPK_CMEM && !o.mods))
            know(fold, dst, o);
        else if (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ)
            know(fold, dst, op_imm(0));
        else if (opt_scalar(o) && !o.mods && fold->known[opt_fold_same_as(fold, o.value)].kind != OPK_NONE)
            know(fold, dst, fold->known[opt_fold_same_as(fold, o.value)]);
        else if (o.file == RF_R && opt_scalar(dst))
            copy(fold, dst.value, o);
    } else if (i->op == OT_PLOP3 && no_dst(fold, i, PLOP3_pv))
        learn_logic(fold, i);
    else if (i->op == OT_VOTEU)
        learn_vote(fold, i);
    else if (computed(fold, i, &result))
        know_result(fold, i, &result);
    else if (i->op == OT_ISETP)
        learn_extended(fold, i);
    else if (opt_scalar(dst) && dst.file == RF_R) {
        if (i->op == OT_LOP3 && !MGET(LOP3, pand, i->mods))
            copy(fold, dst.value, opt_fold_lop3_same(fold, i));
        if (i->op == OT_PRMT)
            copy(fold, dst.value, opt_fold_permuted_same(fold, i));
        if (is_addend(fold, i))
            copy(fold, dst.value, *ir_src(fold->f, i, IMAD_rc));
        fold->zero[dst.value] = opt_fold_zeros_of(fold, i);
        if (fold->zero[dst.value] == UINT32_MAX)
            know(fold, dst, op_imm(0));
    }
}

/* ---- constants into operands ---- */

static bool try_operand(Fold *fold, InstId id, unsigned k, Operand o) {
    Inst *i = ir_inst(fold->f, id);
    Operand old = *ir_src(fold->f, i, k);
    *ir_src(fold->f, i, k) = o;
    if (opt_selectable(fold->f, i)) {
        fold->changed = true;
        return true;
    }
    *ir_src(fold->f, i, k) = old;
    return false;
}

/* The comparison that says of its operands in the other order what `cmp` says (ICmp, FCmp, DCmp). */
static uint32_t other_order(uint32_t cmp) {
    enum { LESS = 1, GREATER = 4 };
    return (cmp & ~(uint32_t)(LESS | GREATER)) | (cmp & LESS ? GREATER : 0) | (cmp & GREATER ? LESS : 0);
}

/* Sources that may change places do, so that a constant comes to the slot that takes it. */
static bool try_swapped(Fold *fold, InstId id, unsigned k, Operand o) {
    Inst *i = ir_inst(fold->f, id);
    uint32_t mods = i->mods;
    if (ir_is_pseudo(i->op))
        return false;
    unsigned a = isa_traits(i->op)->commutes[0], b = isa_traits(i->op)->commutes[1];
    switch (i->op) {
#define COMPARISON(op)                                                                                       \
    case OT_##op:                                                                                            \
        a = op##_ra, b = op##_rb, mods = MPUT(op, cmp, mods, other_order(MGET(op, cmp, mods)));              \
        break
        COMPARISON(ISETP);
        COMPARISON(FSETP);
        COMPARISON(DSETP);
#undef COMPARISON
    default: break;
    }
    if (a != k)
        return false;
    Operand x = *ir_src(fold->f, i, a), y = *ir_src(fold->f, i, b);
    if (y.kind != OPK_VAL && y.kind != OPK_REG) /* one constant is there already */
        return false;
    *ir_src(fold->f, i, a) = y;
    *ir_src(fold->f, i, b) = o;
    Inst turned = *i;
    turned.mods = mods;
    if (opt_selectable(fold->f, &turned)) {
        i->mods = mods;
        fold->changed = true;
        return true;
    }
    *ir_src(fold->f, i, a) = x;
    *ir_src(fold->f, i, b) = y;
    return false;
}

static bool is_jump(unsigned op) { return isa_has_effect(op, ISA_EFFECT_BRANCH); }

/* The operand that says the same without the value; OPK_NONE if there is none. */
static Operand as_constant(const Fold *fold, const Inst *i, Operand o) {
    Operand k = fold->known[opt_fold_same_as(fold, o.value)];
    if (o.file == RF_P || o.file == RF_UP) {
        if (k.kind == OPK_REG)
            k.mods ^= o.mods & OPM_NOT;
        return k;
    }
    /* with a carry out, -0 is not 0: it carries */
    if (k.kind == OPK_IMM && o.mods == OPM_NEG && i->op == OT_IADD3 && !i->mods && no_dst(fold, i, IADD3_pu))
        return op_imm(0 - k.value);
    if (o.mods) /* what a modifier means for a constant depends on the operation */
        return (Operand){0};
    bool rz = k.kind == OPK_IMM && k.value == 0 && isa_traits(i->op)->zero == ISA_ZERO_RZ;
    return rz ? op_rz() : k;
}

static bool is_address(const Inst *i, unsigned k) {
    for (unsigned n = 0; n < sizeof isa_traits(i->op)->address; n++)
        if (isa_traits(i->op)->address[n] == k)
            return true;
    return false;
}

/* The same of two or four words (zeros; of stores alone: ptxas has no HMMA of RZ), f64 numbers, a bank's. */
static Operand as_constant_words(const Fold *fold, const Inst *i, unsigned k, Operand o) {
    const OpTraits *traits = isa_traits(i->op);
    bool zero = traits->zero == ISA_ZERO_RZ && (o.count == 2 || traits->effects == ISA_EFFECT_WRITE);
    Operand w[4] = {0};
    if (o.kind != OPK_VAL || (o.count != 2 && o.count != 4) || o.mods || o.file != RF_R || is_address(i, k))
        return w[0];
    for (unsigned c = 0; c < o.count; c++) {
        w[c] = fold->known[opt_fold_same_as(fold, ir_operand_value(fold->f, o, c).i)];
        zero = zero && w[c].kind == OPK_IMM && !w[c].value;
    }
    if (zero || o.count > 2)
        return zero ? op_rz() : (Operand){0};
    if (w[0].kind == OPK_CMEM && w[1].kind == OPK_CMEM && op_cmem_offset(w[0]) % 8 == 0 &&
        w[1].value == op_cmem(op_cmem_bank(w[0]), op_cmem_offset(w[0]) + 4).value)
        return w[0];
    bool f64 = opt_is_f64(i->op) && w[0].kind == OPK_IMM && w[1].kind == OPK_IMM && !w[0].value;
    return f64 ? w[1] : (Operand){0};
}

static void fold_operands(Fold *fold, InstId id) {
    Inst *i = ir_inst(fold->f, id);
    unsigned n = ir_is_pseudo(i->op) || i->op == OT_MOV || is_jump(i->op) ? 0 : isa_num_src(i->op);
    MachInst m = {.optype = OT_NONE}; /* made when a constant is found, which is seldom */
    for (unsigned k = 0; k < n; k++) {
        Operand o = *ir_src(fold->f, i, k);
        Operand c = opt_scalar(o) ? as_constant(fold, i, o) : as_constant_words(fold, i, k, o);
        if (c.kind == OPK_NONE)
            continue;
        m = m.optype == OT_NONE ? opt_mach(fold->f, i) : m;
        unsigned regs = isa_src_regs(fold->f->module->target, &m, k);
        bool fits = regs == o.count || (!regs && o.count == 1);
        if (fits && !try_operand(fold, id, k, c) && o.file == RF_R && try_swapped(fold, id, k, c))
            k--; /* there is another one here now */
    }
    /* an EXIT in the middle of a block keeps its guard */
    if (i->op != OT_EXIT && opt_scalar(i->guard) &&
        fold->known[opt_fold_same_as(fold, i->guard.value)].kind == OPK_REG) {
        Operand g = fold->known[opt_fold_same_as(fold, i->guard.value)];
        g.mods ^= i->guard.mods & OPM_NOT;
        if (!(i->flags & IF_TIED) && (i->op == OT_BRA || op_is_always(g))) {
            i->guard =
                op_is_always(g) && i->op != OT_BRA ? (Operand){0} : g; /* branch cleanup does the rest */
            fold->changed = true;
        }
    }
}

/* The member mask of a collective stands behind the optype's own sources: reconvergence asks whether it is a
 * constant, which decides whether lanes with different masks may meet. */
static void fold_members(Fold *fold, InstId id) {
    Inst *i = ir_inst(fold->f, id);
    unsigned own = ir_is_pseudo(i->op) ? 0 : isa_num_src(i->op);
    if (!(i->flags & IF_SYNC) || i->nsrc <= own || !opt_scalar(*ir_src(fold->f, i, own)))
        return;
    Operand mask = fold->known[opt_fold_same_as(fold, ir_src(fold->f, i, own)->value)];
    if (mask.kind == OPK_IMM) {
        *ir_src(fold->f, i, own) = mask;
        fold->changed = true;
    }
}

/* A MOV whose source was a value that turned out constant. */
static void fold_mov(Fold *fold, InstId id) {
    Inst *i = ir_inst(fold->f, id);
    Operand o = i->op == OT_MOV ? *ir_src(fold->f, i, 0) : (Operand){0};
    if (!opt_scalar(o) || o.mods || o.file != RF_R)
        return;
    Operand k = fold->known[opt_fold_same_as(fold, o.value)];
    if (k.kind != OPK_NONE)
        try_operand(fold, id, 0, k);
}

/* An operation whose result is known becomes a MOV; unneeded ones go later. */
static void fold_result(Fold *fold, BlockId b, unsigned at) {
    InstId id = ir_block(fold->f, b)->insts.at[at];
    Inst *i = ir_inst(fold->f, id);
    LaneResult result;
    Operand dst = i->ndst ? *ir_dst(fold->f, i, 0) : (Operand){0};
    if (i->op == OT_MOV || !opt_scalar(dst) || dst.file != RF_R || fold->known[dst.value].kind != OPK_IMM ||
        !computed(fold, i, &result) || !result.has_value)
        return;
    for (unsigned k = 1; k < i->ndst; k++)
        if (!no_dst(fold, i, k)) /* phis may still have it */
            return;
    InstId mov = ir_inst_new(fold->f, OT_MOV, isa_num_dst(OT_MOV), isa_num_src(OT_MOV));
    ir_set_src(fold->f, mov, MOV_rb, op_imm(result.value));
    ir_inst(fold->f, mov)->loc = ir_inst(fold->f, id)->loc;
    ir_set_dst(fold->f, mov, 0, dst);
    ir_replace_at(fold->f, b, at, mov);
    fold->changed = true;
}

/* The instruction that defines a scalar value, if it is op and unguarded. */
static const Inst *defined_by(const Fold *fold, uint32_t v, unsigned op) {
    InstId d = opt_fold_value(fold, v)->def;
    const Inst *i = d.i ? ir_inst(fold->f, d) : NULL;
    return i && i->op == op && op_is_always(i->guard) ? i : NULL;
}

/* A mask of what another mask has let through, none of whose bits it takes away: (x & 0xffff) & 0xff. */
static void fold_mask(Fold *fold, InstId id) {
    Inst *i = ir_inst(fold->f, id);
    uint32_t keeps, inner_keeps;
    if (i->op != OT_LOP3 || MGET(LOP3, lut, i->mods) != LUT_AND || MGET(LOP3, pand, i->mods) ||
        !opt_fold_known_bits(fold, *ir_src(fold->f, i, LOP3_rb), &keeps))
        return;
    Operand o = *ir_src(fold->f, i, LOP3_ra);
    const Inst *inner =
        opt_scalar(o) && !o.mods ? defined_by(fold, opt_fold_same_as(fold, o.value), OT_LOP3) : NULL;
    if (!inner || MGET(LOP3, lut, inner->mods) != LUT_AND || MGET(LOP3, pand, inner->mods) ||
        !opt_fold_known_bits(fold, *ir_src(fold->f, inner, LOP3_rb), &inner_keeps) || (keeps & ~inner_keeps))
        return;
    Operand x = *ir_src(fold->f, inner, LOP3_ra);
    if (opt_scalar(x) && !x.mods && x.file == RF_R && opt_fold_value(fold, x.value)->fixed_reg < 0)
        try_operand(fold, id, LOP3_ra, x);
}

/* ---- signs ---- */

/* The number that an instruction gives but for a NaN, which it makes canonical: it adds -0 to x, exactly. */
static bool plain_number(const Fold *fold, const Inst *i, Operand *x) {
    bool single = i->op == OT_FADD && i->mods == MSET(FADD, rnd, Rnd_RN),
         wide = i->op == OT_DADD && i->mods == MSET(DADD, rnd, Rnd_RN);
    if ((!single && !wide) || !op_is_always(i->guard) || (i->flags & IF_TIED))
        return false;
    Operand zero = *ir_src(fold->f, i, 1);
    *x = *ir_src(fold->f, i, 0);
    if (zero.kind != OPK_IMM || zero.value != 0x80000000u || zero.mods || x->kind != OPK_VAL ||
        x->file != RF_R || x->count != (single ? 1 : 2))
        return false;
    for (unsigned c = 0; c < x->count; c++)
        if (opt_fold_value(fold, ir_operand_value(fold->f, *x, c).i)->fixed_reg >= 0)
            return false;
    return true;
}

/* The instruction whose first result an operand is, all of it. */
static const Inst *maker(const Fold *fold, Operand o) {
    if (o.kind != OPK_VAL || o.file != RF_R || o.count > 2)
        return NULL;
    InstId def = opt_fold_value(fold, ir_operand_value(fold->f, o, 0).i)->def;
    const Inst *i = def.i ? ir_inst(fold->f, def) : NULL;
    Operand dst = i && i->ndst ? *ir_dst(fold->f, i, 0) : (Operand){0};
    if (dst.kind != OPK_VAL || dst.count != o.count)
        return NULL;
    for (unsigned c = 0; c < o.count; c++)
        if (ir_operand_value(fold->f, dst, c).i != ir_operand_value(fold->f, o, c).i)
            return NULL;
    return i;
}

/* Sums, products and comparisons do not tell NaNs apart: they read the sign and the magnitude of a number
 * from where it comes. What flushes subnormals stays, and so does what reads the bits. */
static void fold_signs(Fold *fold, InstId id) {
    Inst *i = ir_inst(fold->f, id);
    bool tests = i->op == OT_FSETP || i->op == OT_DSETP;
    if (ir_is_pseudo(i->op) || (!tests && isa_traits(i->op)->exact != ISA_EXACT_ROUNDED))
        return;
    for (unsigned k = 0; k < isa_num_src(i->op); k++) {
        Operand o = *ir_src(fold->f, i, k), x;
        const Inst *sum = maker(fold, o);
        if (!sum || !plain_number(fold, sum, &x) ||
            (!tests && isa_traits(i->op)->unit != isa_traits(sum->op)->unit))
            continue;
        x.mods = o.mods & OPM_ABS ? o.mods : (uint8_t)(o.mods ^ x.mods);
        try_operand(fold, id, k, x);
    }
}

/* ---- addresses ---- */

/* Splits a + b + c into one plain value and a constant. */
static bool value_plus(const Fold *fold, const Inst *add, Operand *base, uint32_t *offset) {
    bool found = false;
    *offset = 0;
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(fold->f, add, k);
        uint32_t c;
        if (opt_fold_known_bits(fold, o, &c))
            *offset += c;
        else if (found || o.mods || !(opt_scalar(o) && o.file == RF_R))
            return false;
        else
            *base = o, found = true;
    }
    return found;
}

static bool uses_carry_of(const Fold *fold, const Inst *hi, const Inst *lo) {
    Operand pu = *ir_dst(fold->f, lo, IADD3_pu), pp = *ir_src(fold->f, hi, IADD3_pp),
            pq = *ir_src(fold->f, hi, IADD3_pq);
    bool pq_false = pq.kind == OPK_REG && pq.value == REG_PT && (pq.mods & OPM_NOT);
    return opt_scalar(pu) && opt_scalar(pp) && opt_fold_same_as(fold, pp.value) == pu.value && !pp.mods &&
           pq_false && no_dst(fold, lo, IADD3_pv);
}

/* [lo hi] = [x y] + constant, as IADD3 with carry and IADD3.X: exact in 64 bits, as is the address sum. */
static bool pair_plus(const Fold *fold, Operand pair, ValId base[2], int64_t *offset) {
    const Inst *lo = defined_by(fold, opt_fold_same_as(fold, ir_operand_value(fold->f, pair, 0).i), OT_IADD3);
    const Inst *hi = defined_by(fold, opt_fold_same_as(fold, ir_operand_value(fold->f, pair, 1).i), OT_IADD3);
    Operand b0, b1;
    uint32_t k0, k1;
    if (!lo || !hi || lo->mods || hi->mods != MSET(IADD3, x, 1) || !uses_carry_of(fold, hi, lo))
        return false;
    for (unsigned k = 0; k < 3; k++) /* a negated zero is not zero in .X, and carries in the low half */
        if (ir_src(fold->f, lo, k)->mods || ir_src(fold->f, hi, k)->mods)
            return false;
    if (!value_plus(fold, lo, &b0, &k0) || !value_plus(fold, hi, &b1, &k1))
        return false;
    uint32_t one_lo = 0;
    for (unsigned k = 0; k < 3; k++) { /* two constants could carry twice */
        uint32_t c;
        one_lo += opt_fold_known_bits(fold, *ir_src(fold->f, lo, k), &c) && c != 0;
    }
    if (one_lo > 1)
        return false;
    base[0].i = opt_fold_same_as(fold, b0.value);
    base[1].i = opt_fold_same_as(fold, b1.value);
    *offset = (int64_t)((uint64_t)k1 << 32 | k0);
    return true;
}

/* A load or store at a 64-bit address, whose offset can take what was added to it. */
static bool takes_offset(unsigned op) {
    const OpTraits *traits = isa_traits(op);
    bool plain = !(traits->effects & ~(uint32_t)(ISA_EFFECT_READ | ISA_EFFECT_WRITE));
    return traits->space & ISA_SPACE_GLOBAL && plain && traits->address[2] != ISA_NO_SLOT;
}

static void fold_address(Fold *fold, InstId id) {
    Inst *i = ir_inst(fold->f, id);
    if (!takes_offset(i->op))
        return;
    unsigned base_slot = isa_traits(i->op)->address[0], slot = isa_traits(i->op)->address[2];
    Operand ra = *ir_src(fold->f, i, base_slot), off = *ir_src(fold->f, i, slot);
    if (ra.kind != OPK_VAL || ra.count != 2 || (off.kind != OPK_IMM && off.kind != OPK_NONE))
        return;
    Operand pair = ra;
    int64_t sum = off.kind == OPK_IMM ? (int32_t)off.value : 0, add;
    for (ValId base[2]; pair_plus(fold, pair, base, &add); sum += add) { /* of sums of sums */
        if (opt_fold_value(fold, base[0].i)->fixed_reg >= 0 ||
            opt_fold_value(fold, base[1].i)->fixed_reg >= 0 || sum + add < -(1 << 23) || sum + add >= 1 << 23)
            break;
        pair = op_with(ir_vec(fold->f, base, 2), ra.mods);
    }
    if (pair.value == ra.value)
        return;
    *ir_src(fold->f, i, base_slot) = pair;
    if (!try_operand(fold, id, slot, op_imm((uint32_t)(int32_t)sum)))
        *ir_src(fold->f, i, base_slot) = ra;
}

/* ---- the pass ---- */

static void each_block(Fold *fold, const GraphOrder *graph_order, void (*visit)(Fold *, BlockId, unsigned)) {
    for (uint32_t k = 0; k < graph_order->count; k++) {
        BlockId b = {graph_order->order[k]};
        for (unsigned p = 0; b.i && p < ir_block(fold->f, b)->insts.n; p++)
            visit(fold, b, p);
    }
}

static void visit_learn(Fold *fold, BlockId b, unsigned p) {
    opt_fold_learn(fold, ir_block(fold->f, b)->insts.at[p]);
}

static void visit_phi(Fold *fold, BlockId b, unsigned p) {
    const Inst *i = ir_inst(fold->f, ir_block(fold->f, b)->insts.at[p]);
    if (i->op == IR_PHI)
        trivial_phi(fold, i);
}

/* What makes its operands has been visited before; of phis nothing is asked here. */
static void visit_change(Fold *fold, BlockId b, unsigned p) {
    for (unsigned round = 0; round < 8 && (round == 0 || fold->changed); round++) {
        fold->changed = false;
        fold_result(fold, b, p);
        InstId id = ir_block(fold->f, b)->insts.at[p];
        fold_operands(fold, id);
        fold_members(fold, id);
        fold_combination(fold, ir_inst(fold->f, id));
        fold_mov(fold, id);
        fold_mask(fold, id);
        fold_signs(fold, id);
        fold_address(fold, id);
    }
}

bool pass_fold(Function *f, Diags *d) {
    (void)d;
    if (f->blocks.n <= 1)
        return true;
    Fold s = {.f = f};
    Graph g = cfg_graph(&s.a, f);
    GraphOrder o = graph_order(&s.a, &g, f->entry.i);
    s.repl = ARENA_ARRAY(&s.a, uint32_t, f->values.n);
    s.known = ARENA_ARRAY(&s.a, Operand, f->values.n);
    s.zero = ARENA_ARRAY(&s.a, uint32_t, f->values.n);
    for (unsigned round = 0; round < 8 && (round == 0 || s.changed); round++) {
        each_block(&s, &o, visit_learn);
        s.changed = false; /* of what comes round a loop more is known now */
        each_block(&s, &o, visit_phi);
    }
    opt_rename(f, s.repl);
    each_block(&s, &o, visit_change);
    arena_free(&s.a);
    return true;
}
