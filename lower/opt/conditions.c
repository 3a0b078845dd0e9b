/* A condition is made by the instruction that has what it asks for:
 *   LOP3; ISETP.NE (or .EQ) with zero      LOP3 with a predicate result: its bits are not all zero
 *   LOP3 of one bit; ISETP with that bit   the same: it is not zero
 *   ISETP (or another test); PLOP3 of two  the test, which combines its result with one more predicate
 *   PLOP3 that negates                     nothing: its uses do
 *   ISETP that says the contrary of one    nothing: its uses negate that one (x & 1 == 0: of x & 1 == 1, too)
 * In: SSA. The inner instruction stands in the same block and has no guard. "Equal to zero" is the complement
 * of what LOP3 says, so every use must be one that can negate it.
 * Runs behind predication, which adds guards to comparisons (LOP3 has no second, complementary result), and
 * keeps what uniformity found: every value that remains is computed from the same operands.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "lower/opt/opt.h"
#include "lower/passes.h"
#include <string.h>

typedef struct {
    Function *f;
    Arena a;
    uint32_t *uses; /* [value], of operands, guards and vectors */
    bool *
        negatable; /* [value] a predicate all of whose uses can read it negated, in the block that makes it */
    Operand *instead;  /* [value] what its uses read, all of which come later in the block; or OPK_NONE */
    Operand *contrary; /* [value] that of a test which says the contrary, earlier in the block; or OPK_NONE */
    uint32_t *place;   /* [inst] in its block */
} Conditions;

static void one_use(Conditions *conds, BlockId b, Operand o, bool can_negate) {
    uint32_t v = opt_scalar(o);
    conds->uses[v]++;
    if (!can_negate || conds->f->values.at[v].block.i != b.i)
        conds->negatable[v] = false;
}

static void count_uses(Conditions *conds) {
    Function *f = conds->f;
    for (uint32_t v = 1; v < f->values.n; v++)
        conds->negatable[v] = f->values.at[v].file == RF_P && f->values.at[v].fixed_reg < 0;
    for (uint32_t k = 0; k < f->vectors.n; k++) { /* stale vectors too: errs on the safe side */
        conds->uses[f->vectors.at[k]]++;
        conds->negatable[f->vectors.at[k]] = false;
    }
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id) {
            const Inst *i = ir_inst(f, id);
            conds->place[id.i] = AT(id);
            FOR_USES(f, i, o)
                one_use(conds, b, *o, /* what a slot takes is long to find */
                        conds->negatable[opt_scalar(*o)] && opt_own_src(i, AT(o)) &&
                            (isa_src_slot(f->module->target, i->op, AT(o)).mods & OPM_NOT));
            one_use(conds, b, i->guard, true);
        }
}

/* The unguarded machine instruction of block b whose only result is o, or NULL. It may move: none of its
 * operands sits in a register that the calling convention names, which a call in between would need. */
static Inst *made_by(Conditions *conds, BlockId b, Operand o) {
    uint32_t v = opt_scalar(o);
    if (!v || !conds->f->values.at[v].def.i || conds->f->values.at[v].block.i != b.i ||
        conds->f->values.at[v].fixed_reg >= 0)
        return NULL;
    Inst *i = ir_inst(conds->f, conds->f->values.at[v].def);
    if (ir_is_pseudo(i->op) || !op_is_always(i->guard) || (i->flags & IF_TIED))
        return NULL;
    FOR_DSTS(conds->f, i, dst)
        if (dst->kind != OPK_NONE && opt_scalar(*dst) != v)
            return NULL;
    FOR_SRCS(conds->f, i, src)
        if (opt_scalar(*src) && conds->f->values.at[src->value].fixed_reg >= 0)
            return NULL;
    return i;
}

static Operand negated(Operand predicate) {
    predicate.mods ^= OPM_NOT;
    return predicate;
}

/* The instruction `id` takes the place of the one at `at`, and leaves its own. */
static void move_to(Conditions *conds, BlockId b, unsigned at, InstId id) {
    InstIds *insts = &ir_block(conds->f, b)->insts;
    insts->at[conds->place[id.i]] = (InstId){0};
    insts->at[at] = id;
    conds->place[id.i] = at;
}

/* The predicate is its complement from now on, so it holds no PTX register's value any more. */
static void use_negated(Conditions *conds, Operand predicate) {
    conds->instead[predicate.value] = negated(predicate);
    conds->f->values.at[predicate.value].ptx_reg = 0;
}

static bool is_rz(Operand o) {
    return o.kind == OPK_NONE || (o.kind == OPK_IMM && o.value == 0) ||
           (o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ);
}

/* ---- the contrary of what another test says ---- */

enum { MOST_TESTS = 8 }; /* before it, that are looked at */

/* It compares two numbers and does nothing else. */
static bool is_plain_test(Conditions *conds, const Inst *i) {
    return i->op == OT_ISETP && op_is_always(i->guard) && !(i->flags & IF_TIED) &&
           !MGET(ISETP, ex, i->mods) && MGET(ISETP, bop, i->mods) == BoolOp_AND &&
           op_is_always(*ir_src(conds->f, i, ISETP_pp)) && opt_scalar(*ir_dst(conds->f, i, ISETP_pu)) &&
           ir_dst(conds->f, i, ISETP_pv)->kind == OPK_NONE;
}

/* Is `bits`, what the table makes, one bit of a number, and o that bit? Then "equal" is "not zero". */
static bool is_its_bit(Conditions *conds, BlockId b, Operand bits, Operand o) {
    const Inst *table =
        o.kind == OPK_IMM && o.value && !(o.value & (o.value - 1)) ? made_by(conds, b, bits) : NULL;
    if (!table || table->op != OT_LOP3 || MGET(LOP3, lut, table->mods) != LUT_AND)
        return false;
    Operand x = *ir_src(conds->f, table, LOP3_ra), y = *ir_src(conds->f, table, LOP3_rb);
    return (x.kind == OPK_IMM && !x.mods && x.value == o.value) ||
           (y.kind == OPK_IMM && !y.mods && y.value == o.value);
}

/* Which bits it compares with zero, or with the one that they may have; *set: it says that they are not zero.
 * NONE: it does not. */
static Operand tested_bits(Conditions *conds, BlockId b, const Inst *i, bool *set) {
    unsigned cmp = MGET(ISETP, cmp, i->mods);
    Operand x = *ir_src(conds->f, i, ISETP_ra), y = *ir_src(conds->f, i, ISETP_rb);
    bool with_bit = is_its_bit(conds, b, x, y);
    *set = cmp == (with_bit ? ICmp_EQ : ICmp_NE);
    return (cmp == ICmp_EQ || cmp == ICmp_NE) && opt_scalar(x) && !x.mods && (with_bit || is_rz(y))
               ? x
               : (Operand){0};
}

static bool is_contrary(Conditions *conds, BlockId b, const Inst *i, const Inst *of) {
    const Operand *one = ir_src(conds->f, i, 0), *other = ir_src(conds->f, of, 0);
    bool set, other_set;
    Operand bits = tested_bits(conds, b, i, &set), other_bits = tested_bits(conds, b, of, &other_set);
    if (bits.kind != OPK_NONE && other_bits.kind != OPK_NONE && bits.value == other_bits.value)
        return set != other_set;
    return of->mods == MPUT(ISETP, cmp, i->mods, ICmp_T - MGET(ISETP, cmp, i->mods)) &&
           !memcmp(one + ISETP_ra, other + ISETP_ra, sizeof *one) &&
           !memcmp(one + ISETP_rb, other + ISETP_rb, sizeof *one);
}

static void find_contraries(Conditions *conds, BlockId b) {
    Function *f = conds->f;
    InstId tests[MOST_TESTS];
    unsigned n = 0;
    for (unsigned at = 0; at < ir_num_insts(f, b); at++) {
        InstId id = ir_inst_at(f, b, at);
        const Inst *i = ir_inst(f, id);
        if (!is_plain_test(conds, i))
            continue;
        uint32_t result = ir_dst(f, i, ISETP_pu)->value, k = n < MOST_TESTS ? n : MOST_TESTS;
        while (k-- > 0 && !is_contrary(conds, b, i, ir_inst(f, tests[k])))
            ;
        if (k != UINT32_MAX && conds->negatable[result]) {
            conds->contrary[result] = *ir_dst(f, ir_inst(f, tests[k]), ISETP_pu);
            conds->uses[conds->contrary[result].value] += conds->uses[result];
        } else {
            tests[n++ % MOST_TESTS] = id;
        }
    }
}

/* ---- bits that are compared with zero, or one with itself ---- */

static bool test_of_table(Conditions *conds, BlockId b, unsigned at, const Inst *test) {
    Function *f = conds->f;
    unsigned cmp = MGET(ISETP, cmp, test->mods), bop = MGET(ISETP, bop, test->mods);
    Operand x = *ir_src(f, test, ISETP_ra), y = *ir_src(f, test, ISETP_rb), g = *ir_src(f, test, ISETP_pp);
    Operand result = *ir_dst(f, test, ISETP_pu);
    bool with_bit = is_its_bit(conds, b, x, y) || is_its_bit(conds, b, y, x);
    bool equal = cmp == (with_bit ? ICmp_NE : ICmp_EQ), alone = op_is_always(g) && bop == BoolOp_AND;
    if ((cmp != ICmp_NE && cmp != ICmp_EQ) || MGET(ISETP, ex, test->mods) || bop == BoolOp_XOR || x.mods ||
        y.mods || !opt_scalar(result) || ir_dst(f, test, ISETP_pv)->kind != OPK_NONE ||
        !op_is_always(test->guard))
        return false;
    bool first = with_bit ? y.kind == OPK_IMM : is_rz(y);
    Inst *table = made_by(conds, b, first ? x : with_bit || is_rz(x) ? y : (Operand){0});
    if (!table || table->op != OT_LOP3 || MGET(LOP3, pand, table->mods) ||
        (equal && !conds->negatable[result.value]))
        return false;
    Operand bits = *ir_dst(f, table, LOP3_rd);
    InstId id = ir_value(f, (ValId){bits.value})->def;
    bool only = conds->uses[bits.value] == 1;
    if (!only && !alone) /* the other predicate need not be there yet */
        return false;
    /* NE: (bits != 0) bop g.   EQ: !((bits != 0) bop' !g) */
    bool conjunction = (bop == BoolOp_AND) != equal;
    if (equal)
        g = negated(g);
    table->mods = MPUT(LOP3, pand, table->mods, conjunction && !alone);
    ir_set_src(f, id, LOP3_pp, alone ? op_with(op_pt(), OPM_NOT) : g);
    ir_set_dst(f, id, LOP3_pu, result);
    if (only)
        ir_set_dst(f, id, LOP3_rd, (Operand){0});
    if (equal)
        use_negated(conds, result);
    if (alone)
        ir_block(f, b)->insts.at[at] = (InstId){0};
    else
        move_to(conds, b, at, id);
    return true;
}

/* ---- combinations of two predicates ---- */

/* Which functions of (test, other) a test makes: table bit 2 * test + other; as bop, with its result or the
 * complement of that, of the other predicate or its negation. */
static const struct {
    uint8_t table, bop;
    bool complement, negate;
} combinations[] = {
    {0x8, BoolOp_AND, false, false}, {0x4, BoolOp_AND, false, true}, {0x2, BoolOp_AND, true, false},
    {0x1, BoolOp_AND, true, true},   {0xe, BoolOp_OR, false, false}, {0xd, BoolOp_OR, false, true},
    {0xb, BoolOp_OR, true, false},   {0x7, BoolOp_OR, true, true},   {0x6, BoolOp_XOR, false, false},
    {0x9, BoolOp_XOR, false, true},
};

/* Table of (value of p, value of other), both without their modifiers. */
static unsigned table_of(unsigned lut, bool p_first, Operand p, Operand other) {
    unsigned table = 0;
    for (unsigned x = 0; x < 4; x++) {
        unsigned in = (x >> 1) ^ ((p.mods & OPM_NOT) != 0), out = (x & 1) ^ ((other.mods & OPM_NOT) != 0);
        table |= (lut >> (p_first ? in << 2 | out << 1 | 1 : out << 2 | in << 1 | 1) & 1) << x;
    }
    return table;
}

/* The instruction that makes p combines it with `other`, and gives `result`. */
static bool into_test(Conditions *conds, InstId id, unsigned k, Operand other, Operand result) {
    Inst *test = ir_inst(conds->f, id);
    const OpTraits *traits = isa_traits(test->op);
    if (traits->combines_dst == ISA_NO_SLOT || traits->lanes != ISA_LANES_EACH ||
        isa_combine_op(test->op, test->mods) != BoolOp_AND ||
        !op_is_always(*ir_src(conds->f, test, traits->combines_src)))
        return false;
    bool second = ir_dst(conds->f, test, 0)->kind == OPK_NONE; /* p is the complement already */
    bool complement = combinations[k].complement != second;
    test->mods = isa_with_combine_op(test->op, test->mods, combinations[k].bop);
    ir_set_src(conds->f, id, traits->combines_src, combinations[k].negate ? negated(other) : other);
    ir_set_dst(conds->f, id, 0, complement ? (Operand){0} : result);
    ir_set_dst(conds->f, id, traits->combines_dst, complement ? result : (Operand){0});
    return true;
}

static bool into_table(Conditions *conds, InstId id, unsigned k, Operand other, Operand result) {
    Inst *table = ir_inst(conds->f, id);
    bool complement = combinations[k].complement; /* !p and g is !(p or !g) */
    if (MGET(LOP3, pand, table->mods) || !op_is_always(negated(*ir_src(conds->f, table, LOP3_pp))) ||
        combinations[k].bop == BoolOp_XOR || (complement && !conds->negatable[result.value]))
        return false;
    table->mods = MPUT(LOP3, pand, table->mods, (combinations[k].bop == BoolOp_AND) != complement);
    ir_set_src(conds->f, id, LOP3_pp, combinations[k].negate != complement ? negated(other) : other);
    ir_set_dst(conds->f, id, LOP3_pu, result);
    if (complement)
        use_negated(conds, result);
    return true;
}

static bool combine_into(Conditions *conds, BlockId b, unsigned at, const Inst *logic, unsigned which) {
    Function *f = conds->f;
    Operand p = *ir_src(f, logic, which), other = *ir_src(f, logic, !which),
            result = *ir_dst(f, logic, PLOP3_pu);
    const Inst *test = made_by(conds, b, p);
    if (!test || conds->uses[p.value] != 1)
        return false;
    unsigned table = table_of(MGET(PLOP3, lut, logic->mods), which == PLOP3_pp, p, other), k = 0;
    while (k < sizeof combinations / sizeof *combinations && combinations[k].table != table)
        k++;
    if (k == sizeof combinations / sizeof *combinations)
        return false;
    InstId id = ir_value(f, (ValId){p.value})->def;
    other.mods = 0;
    if (test->op == OT_LOP3 ? !into_table(conds, id, k, other, result)
                            : !into_test(conds, id, k, other, result))
        return false;
    move_to(conds, b, at, id);
    return true;
}

/* Only two of its inputs count, and it has one result. */
static bool plain_logic(Conditions *conds, const Inst *i) {
    return op_is_always(i->guard) && !(i->flags & IF_TIED) && opt_scalar(*ir_dst(conds->f, i, PLOP3_pu)) &&
           ir_dst(conds->f, i, PLOP3_pv)->kind == OPK_NONE && op_is_always(*ir_src(conds->f, i, PLOP3_pr));
}

/* !p: its uses read p. */
static bool negation(Conditions *conds, const Inst *i) {
    Operand p = *ir_src(conds->f, i, PLOP3_pp), result = *ir_dst(conds->f, i, PLOP3_pu);
    unsigned lut = MGET(PLOP3, lut, i->mods);
    if ((lut != LUT_A && lut != (LUT_A ^ 0xff)) || !opt_scalar(p) || !conds->negatable[result.value])
        return false;
    conds->instead[result.value] = lut == LUT_A ? p : negated(p);
    conds->uses[p.value] += conds->uses[result.value] - 1;
    return true;
}

/* ---- the pass ---- */

static void read_instead(Conditions *conds, Operand *o) {
    Operand now = conds->instead[opt_scalar(*o)];
    now.mods ^= o->mods;
    if (now.kind != OPK_NONE)
        *o = now;
}

/* What is read for the result of a test with a contrary, which has its final form by now. */
static bool read_contrary(Conditions *conds, Operand result) {
    Operand contrary = conds->contrary[opt_scalar(result)];
    if (contrary.kind == OPK_NONE)
        return false;
    read_instead(conds, &contrary);
    conds->instead[result.value] = negated(contrary);
    return true;
}

static void find_conditions(Conditions *conds, BlockId b) {
    Function *f = conds->f;
    find_contraries(conds, b);
    for (unsigned at = 0; at < ir_num_insts(f, b); at++) {
        if (!ir_inst_at(f, b, at).i)
            continue;
        Inst *i = ir_inst(f, ir_inst_at(f, b, at));
        FOR_SRCS(f, i, o)
            read_instead(conds, o);
        read_instead(conds, &i->guard);
        if (i->op == OT_ISETP && read_contrary(conds, *ir_dst(f, i, ISETP_pu)))
            ir_block(f, b)->insts.at[at] = (InstId){0};
        else if (i->op == OT_ISETP)
            test_of_table(conds, b, at, i);
        else if (i->op == OT_PLOP3 && plain_logic(conds, i)) {
            if (negation(conds, i))
                ir_block(f, b)->insts.at[at] = (InstId){0};
            else
                (void)(combine_into(conds, b, at, i, PLOP3_pq) || combine_into(conds, b, at, i, PLOP3_pp));
        }
    }
    InstIds *insts = &ir_block(f, b)->insts;
    unsigned to = 0;
    for (unsigned at = 0; at < insts->n; at++)
        if (insts->at[at].i)
            insts->at[to++] = insts->at[at];
    insts->n = to;
}

bool pass_conditions(Function *f, Diags *d) {
    (void)d;
    if (f->blocks.n <= 1)
        return true;
    ir_renumber(f); /* Value.def and .block */
    Conditions c = {.f = f};
    c.uses = ARENA_ARRAY(&c.a, uint32_t, f->values.n);
    c.negatable = ARENA_ARRAY(&c.a, bool, f->values.n);
    c.instead = ARENA_ARRAY(&c.a, Operand, f->values.n);
    c.contrary = ARENA_ARRAY(&c.a, Operand, f->values.n);
    c.place = ARENA_ARRAY(&c.a, uint32_t, f->insts.n);
    count_uses(&c);
    FOR_BLOCKS(f, b)
        find_conditions(&c, b);
    arena_free(&c.a);
    return true;
}
