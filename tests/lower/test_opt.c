/* Optimisation passes: random integer programs store the same values at the same addresses before and after
 * (an evaluator of this file executes both), and hand-written cases show that each pass does its work.
 * SPDX-License-Identifier: MIT */
#include "lower/passes.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- evaluator: one thread ---- */

typedef struct {
    uint64_t address;
    uint32_t value;
} Store;
typedef struct {
    Function *f;
    uint32_t *v; /* [value] */
    Store stores[512];
    unsigned n;
    uint32_t tid;
} Eval;

static uint32_t hash32(uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ x >> 16;
}

static uint32_t word(Eval *eval, Operand o, unsigned c) {
    switch (o.kind) {
    case OPK_VAL: return eval->v[ir_operand_value(eval->f, o, c).i];
    case OPK_IMM: return o.value;
    case OPK_CMEM: return hash32(o.value); /* constant banks hold something */
    case OPK_REG: return o.file == RF_P ? 1 : 0;
    default: return 0;
    }
}

static bool pred(Eval *e, Operand o, bool absent) {
    if (o.kind == OPK_NONE)
        return absent;
    return (word(e, o, 0) != 0) != ((o.mods & OPM_NOT) != 0);
}

static void set(Eval *eval, const Inst *i, unsigned n, uint32_t x) {
    Operand o = *ir_dst(eval->f, i, n);
    if (o.kind == OPK_VAL)
        eval->v[ir_operand_value(eval->f, o, 0).i] = x;
}

static void add3(Eval *eval, const Inst *i) {
    bool x = MGET(IADD3, x, i->mods);
    uint64_t sum = 0;
    for (unsigned k = 0; k < 3; k++) {
        Operand o = *ir_src(eval->f, i, k);
        uint32_t w = word(eval, o, 0);
        if (o.mods & OPM_NEG)
            w = ~w, sum += !x; /* plain: two's complement, whose +1 may carry */
        sum += w;
    }
    if (x)
        sum += pred(eval, *ir_src(eval->f, i, IADD3_pp), false);
    set(eval, i, 0, (uint32_t)sum);
    set(eval, i, IADD3_pu, sum >> 32 != 0);
}

static void lop3(Eval *eval, const Inst *i) {
    uint32_t r = 0, lut = MGET(LOP3, lut, i->mods);
    for (unsigned bit = 0; bit < 32; bit++) {
        unsigned k = (word(eval, *ir_src(eval->f, i, 0), 0) >> bit & 1) << 2 |
                     (word(eval, *ir_src(eval->f, i, 1), 0) >> bit & 1) << 1 |
                     (word(eval, *ir_src(eval->f, i, 2), 0) >> bit & 1);
        r |= (lut >> k & 1) << bit;
    }
    bool third = pred(eval, *ir_src(eval->f, i, LOP3_pp), false);
    set(eval, i, 0, r);
    set(eval, i, LOP3_pu, MGET(LOP3, pand, i->mods) ? r != 0 && third : r != 0 || third);
}

static bool combined(unsigned bop, bool test, bool third) {
    return bop == BoolOp_AND ? test && third : bop == BoolOp_OR ? test || third : test != third;
}

static void setp(Eval *eval, const Inst *i) {
    uint32_t a = word(eval, *ir_src(eval->f, i, 0), 0), b = word(eval, *ir_src(eval->f, i, 1), 0);
    int64_t x = MGET(ISETP, sign, i->mods) ? (int32_t)a : (int64_t)a,
            y = MGET(ISETP, sign, i->mods) ? (int32_t)b : (int64_t)b;
    static const uint8_t table[8] = {0, 1, 2, 3, 4, 5, 6, 7}; /* bit 0 less, 1 equal, 2 greater */
    unsigned way = x < y ? 1 : x == y ? 2 : 4;
    bool is = (table[MGET(ISETP, cmp, i->mods)] & way) != 0,
         third = pred(eval, *ir_src(eval->f, i, ISETP_pp), true);
    set(eval, i, 0, combined(MGET(ISETP, bop, i->mods), is, third));
    set(eval, i, 1, combined(MGET(ISETP, bop, i->mods), !is, third));
}

/* A lane whose guard is false keeps the tied values; without one, anything may be there. */
static void keep(Eval *eval, const Inst *i) {
    for (unsigned n = 0; n < i->ndst; n++) {
        Operand o = *ir_dst(eval->f, i, n), old = *ir_tied(eval->f, i, n);
        for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
            eval->v[ir_operand_value(eval->f, o, c).i] =
                old.kind == OPK_VAL ? word(eval, old, c) : hash32(o.value);
    }
}

static void plop3(Eval *eval, const Inst *i) {
    unsigned k = 0;
    for (unsigned n = 0; n < 3; n++)
        k = k << 1 | (pred(eval, *ir_src(eval->f, i, n), true) ? 1u : 0u);
    set(eval, i, 0, MGET(PLOP3, lut, i->mods) >> k & 1);
    set(eval, i, 1, MGET(PLOP3, lut2, i->mods) >> k & 1);
}

static void execute(Eval *eval, const Inst *i) {
    Function *f = eval->f;
    if (!pred(eval, i->guard, true)) {
        keep(eval, i);
        return;
    }
    switch (i->op) {
    case OT_PLOP3: plop3(eval, i); break;
    case OT_S2R: set(eval, i, 0, eval->tid); break;
    case OT_MOV:
    case IR_COPY: set(eval, i, 0, word(eval, *ir_src(f, i, 0), 0)); break;
    case OT_IADD3: add3(eval, i); break;
    case OT_LOP3: lop3(eval, i); break;
    case OT_IMAD: {
        uint32_t c = word(eval, *ir_src(f, i, 2), 0);
        set(eval, i, 0,
            word(eval, *ir_src(f, i, 0), 0) * word(eval, *ir_src(f, i, 1), 0) +
                (ir_src(f, i, 2)->mods & OPM_NEG ? 0 - c : c));
        break;
    }
    case OT_SHF: /* left, by less than 32 */
        set(eval, i, 0, word(eval, *ir_src(f, i, 0), 0) << word(eval, *ir_src(f, i, 1), 0));
        break;
    case OT_LEA:
        set(eval, i, 0,
            (word(eval, *ir_src(f, i, 0), 0) << word(eval, *ir_src(f, i, LEA_shift), 0)) +
                word(eval, *ir_src(f, i, 1), 0));
        break;
    case OT_ISETP: setp(eval, i); break;
    case OT_SEL:
        set(eval, i, 0, word(eval, *ir_src(f, i, pred(eval, *ir_src(f, i, SEL_pp), true) ? 0 : 1), 0));
        break;
    case OT_STG: {
        Operand ra = *ir_src(f, i, STG_ra);
        uint64_t base = (uint64_t)word(eval, ra, 1) << 32 | word(eval, ra, 0);
        base += (uint64_t)(int64_t)(int32_t)word(eval, *ir_src(f, i, STG_offset), 0);
        assert_true(eval->n < 512);
        eval->stores[eval->n++] = (Store){base, word(eval, *ir_src(f, i, STG_rb), 0)};
        break;
    }
    default: fail_msg("evaluator lacks %s", ir_op_name(i->op));
    }
}

static void evaluate(Eval *eval) {
    BlockId b = eval->f->entry, from = {0};
    for (unsigned steps = 0; steps < 200; steps++) {
        const Block *blk = ir_block(eval->f, b);
        unsigned edge = 0, p = 0;
        while (from.i && blk->preds.at[edge].i != from.i)
            edge++;
        uint32_t phis[64];
        for (; ir_inst(eval->f, blk->insts.at[p])->op == IR_PHI; p++)
            phis[p] = word(eval, *ir_src(eval->f, ir_inst(eval->f, blk->insts.at[p]), edge), 0);
        for (unsigned k = 0; k < p; k++)
            set(eval, ir_inst(eval->f, blk->insts.at[k]), 0, phis[k]);
        for (;; p++) {
            const Inst *i = ir_inst(eval->f, blk->insts.at[p]);
            if (i->op == OT_EXIT && pred(eval, i->guard, true))
                return;
            if (i->op == OT_EXIT)
                continue;
            if (i->op == OT_BRA && pred(eval, i->guard, true))
                break;
            if (i->op != OT_BRA)
                execute(eval, i);
        }
        from = b;
        b.i = ir_src(eval->f, ir_inst(eval->f, blk->insts.at[p]), IR_BRA_TARGET_SLOT)->value;
    }
    fail_msg("program does not end");
}

/* ---- random programs ---- */

typedef struct {
    Function *f;
    BlockId b;
    uint64_t s;
    ValId r[400], p[200];
    unsigned nr, np;
} Gen;

static uint32_t rnd(Gen *gen, uint32_t n) {
    gen->s = gen->s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(gen->s >> 33) % n;
}

static Operand some(Gen *gen) {
    if (rnd(gen, 8) == 0)
        return op_rz();
    return ir_val(gen->f, gen->r[rnd(gen, 2) && gen->nr > 6 ? gen->nr - 1 - rnd(gen, 6) : rnd(gen, gen->nr)]);
}

static Operand some_pred(Gen *gen) {
    if (gen->np == 0 || rnd(gen, 8) == 0)
        return op_with(op_pt(), rnd(gen, 2) ? 0 : OPM_NOT);
    ValId v = gen->p[rnd(gen, 2) && gen->np > 2 ? gen->np - 1 - rnd(gen, 2) : rnd(gen, gen->np)];
    return op_with(ir_val(gen->f, v), rnd(gen, 3) ? 0 : OPM_NOT);
}

static InstId emit(Gen *gen, unsigned op, uint32_t mods) {
    InstId i = ir_inst_new(gen->f, op, isa_num_dst(op), isa_num_src(op));
    ir_inst(gen->f, i)->mods = mods;
    ir_append(gen->f, gen->b, i);
    return i;
}

static Operand define(Gen *gen, InstId i, unsigned n, RegFile file) {
    ValId v = ir_value_new(gen->f, file);
    ir_set_dst(gen->f, i, n, ir_val(gen->f, v));
    ir_value(gen->f, v)->block = gen->b;
    if (file == RF_R)
        gen->r[gen->nr++] = v;
    else
        gen->p[gen->np++] = v;
    return ir_val(gen->f, v);
}

static uint32_t small(Gen *g) {
    return rnd(g, 3) ? rnd(g, 9) : rnd(g, 2) ? 0 - rnd(g, 64) : hash32(rnd(g, 1000));
}

static void add64_and_store(Gen *gen) {
    Operand lo = some(gen), hi = some(gen), f = op_with(op_pt(), OPM_NOT);
    ValId pair[2];
    for (unsigned k = 0; k < 1 + rnd(gen, 3); k++) {
        uint32_t imm = small(gen);
        InstId a = emit(gen, OT_IADD3, 0), b;
        ir_set_src(gen->f, a, 0, lo);
        ir_set_src(gen->f, a, 1, op_imm(imm));
        ir_set_src(gen->f, a, 2, rnd(gen, 6) ? op_rz() : some(gen));
        ir_set_src(gen->f, a, 3, f);
        ir_set_src(gen->f, a, 4, f);
        lo = define(gen, a, 0, RF_R);
        Operand c = define(gen, a, IADD3_pu, RF_P);
        gen->np--; /* a carry is no plain predicate */
        b = emit(gen, OT_IADD3, MSET(IADD3, x, 1));
        ir_set_src(gen->f, b, 0, hi);
        ir_set_src(gen->f, b, 1, rnd(gen, 4) ? op_imm(imm >> 31 ? UINT32_MAX : 0) : op_rz());
        ir_set_src(gen->f, b, 2, op_rz());
        ir_set_src(gen->f, b, 3, c);
        ir_set_src(gen->f, b, 4, f);
        hi = define(gen, b, 0, RF_R);
    }
    pair[0].i = lo.value;
    pair[1].i = hi.value;
    InstId st = emit(gen, OT_STG, MSET(STG, e, MemAddr_E));
    ir_set_src(gen->f, st, STG_ra, ir_vec(gen->f, pair, 2));
    ir_set_src(gen->f, st, STG_offset, op_imm(small(gen) & 0xfff));
    Operand v = some(gen);
    ir_set_src(gen->f, st, STG_rb, v);
}

static void jump(Gen *gen, BlockId from, BlockId to) {
    ir_append(gen->f, from, ir_branch_new(gen->f, to));
    ir_add_edge(gen->f, from, to);
}

static void random_inst(Gen *gen);

/* A definition, a store or an exit under a guard. */
static void guarded(Gen *gen) {
    if (!gen->np)
        return;
    Operand p = op_with(ir_val(gen->f, gen->p[rnd(gen, gen->np)]), rnd(gen, 2) ? OPM_NOT : 0);
    if (rnd(gen, 12) == 0) {
        ir_set_guard(gen->f, emit(gen, OT_EXIT, 0), p);
        return;
    }
    ValId old = gen->r[rnd(gen, gen->nr)];
    InstId i = emit(gen, OT_MOV, 0);
    ir_set_src(gen->f, i, 0, op_imm(small(gen)));
    define(gen, i, 0, RF_R);
    ir_set_guard(gen->f, i, p);
    *ir_tied(gen->f, ir_inst(gen->f, i), 0) = ir_val(gen->f, old);
}

static void random_inst(Gen *gen) {
    InstId i;
    Operand f = op_with(op_pt(), OPM_NOT), bits, bit;
    switch (rnd(gen, 13)) {
    case 0:
        i = emit(gen, OT_MOV, 0);
        ir_set_src(gen->f, i, 0, rnd(gen, 3) ? op_imm(small(gen)) : op_cmem(0, 0x160 + 4 * rnd(gen, 8)));
        define(gen, i, 0, RF_R);
        break;
    case 1:
    case 2:
        i = emit(gen, OT_IADD3, 0);
        for (unsigned k = 0; k < 3; k++)
            ir_set_src(gen->f, i, k, op_with(some(gen), rnd(gen, 4) ? 0 : OPM_NEG));
        ir_set_src(gen->f, i, 3, f);
        ir_set_src(gen->f, i, 4, f);
        define(gen, i, 0, RF_R);
        break;
    case 3:
        i = emit(gen, OT_LOP3, MSET(LOP3, lut, rnd(gen, 256)));
        for (unsigned k = 0; k < 3; k++)
            ir_set_src(gen->f, i, k, some(gen));
        define(gen, i, 0, RF_R);
        break;
    case 4:
        i = emit(gen, OT_IMAD, 0);
        for (unsigned k = 0; k < 3; k++)
            ir_set_src(gen->f, i, k, some(gen));
        define(gen, i, 0, RF_R);
        break;
    case 5:
        i = emit(gen, OT_ISETP, MSET(ISETP, cmp, rnd(gen, 8)) | MSET(ISETP, sign, rnd(gen, 2)));
        ir_set_src(gen->f, i, 0, some(gen));
        ir_set_src(gen->f, i, 1, some(gen));
        define(gen, i, rnd(gen, 3) ? ISETP_pu : ISETP_pv, RF_P);
        break;
    case 6:
        i = emit(gen, OT_SEL, 0);
        ir_set_src(gen->f, i, 0, some(gen));
        ir_set_src(gen->f, i, 1, some(gen));
        if (gen->np)
            ir_set_src(gen->f, i, SEL_pp,
                       op_with(ir_val(gen->f, gen->p[rnd(gen, gen->np)]), rnd(gen, 2) ? OPM_NOT : 0));
        define(gen, i, 0, RF_R);
        break;
    case 7:
        i = emit(gen, OT_MOV, 0);
        ir_set_src(gen->f, i, 0, ir_val(gen->f, gen->r[rnd(gen, gen->nr)]));
        define(gen, i, 0, RF_R);
        break;
    case 8:
        i = emit(gen, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L));
        ir_set_src(gen->f, i, 0, ir_val(gen->f, gen->r[rnd(gen, gen->nr)]));
        ir_set_src(gen->f, i, 1, op_imm(rnd(gen, 32)));
        ir_set_src(gen->f, i, 2, op_rz());
        define(gen, i, 0, RF_R);
        break;
    case 9: /* a sum or a table with a constant, in any place that takes one */
        i = emit(gen, rnd(gen, 2) ? OT_IADD3 : OT_LOP3, 0);
        if (ir_inst(gen->f, i)->op == OT_LOP3)
            ir_inst(gen->f, i)->mods = MSET(LOP3, lut, rnd(gen, 256));
        ir_set_src(gen->f, i, 0, some(gen));
        ir_set_src(gen->f, i, 1,
                   rnd(gen, 2) ? op_imm(rnd(gen, 4) ? small(gen) : UINT32_MAX)
                               : op_cmem(0, 0x160 + 4 * rnd(gen, 8)));
        ir_set_src(gen->f, i, 2, some(gen));
        ir_set_src(gen->f, i, 3, f);
        if (ir_inst(gen->f, i)->op == OT_IADD3)
            ir_set_src(gen->f, i, 4, f);
        define(gen, i, 0, RF_R);
        break;
    case 10: /* bits compared with zero, or with one of them */
        i = emit(gen, OT_LOP3, MSET(LOP3, lut, rnd(gen, 2) ? 0xc0 : rnd(gen, 256)));
        bit = op_imm(1u << rnd(gen, 6));
        for (unsigned k = 0; k < 3; k++)
            ir_set_src(gen->f, i, k, k == 1 ? bit : some(gen));
        ir_set_src(gen->f, i, LOP3_pp, f);
        bits = define(gen, i, 0, RF_R);
        gen->nr -= rnd(gen, 3) != 0; /* or with no other use */
        i = emit(gen, OT_ISETP,
                 MSET(ISETP, cmp, rnd(gen, 2) ? ICmp_NE : ICmp_EQ) | MSET(ISETP, bop, rnd(gen, 3)));
        ir_set_src(gen->f, i, 0, rnd(gen, 2) ? bits : op_rz());
        if (ir_src(gen->f, ir_inst(gen->f, i), 0)->kind != OPK_VAL)
            ir_set_src(gen->f, i, 1, bits);
        else
            ir_set_src(gen->f, i, 1, rnd(gen, 2) ? op_rz() : rnd(gen, 4) ? bit : op_imm(3));
        ir_set_src(gen->f, i, ISETP_pp, rnd(gen, 2) ? op_pt() : some_pred(gen));
        define(gen, i, 0, RF_P);
        break;
    case 11: /* any function of two predicates, the last ones rather than others */
        i = emit(gen, OT_PLOP3, MSET(PLOP3, lut, rnd(gen, 256)));
        for (unsigned k = 0; k < 3; k++)
            ir_set_src(gen->f, i, k, k < 2 ? some_pred(gen) : op_pt());
        define(gen, i, 0, RF_P);
        break;
    default: add64_and_store(gen);
    }
}

static void region(Gen *gen, unsigned depth);

/* One side: what it computes is not used behind it but through the phi. Ends in `*end`. */
static Operand side(Gen *gen, BlockId start, unsigned depth) {
    unsigned nr = gen->nr, np = gen->np;
    gen->b = start;
    for (unsigned k = 0; k < (rnd(gen, 3) ? 4u : 0u); k++)
        if (rnd(gen, 5))
            random_inst(gen);
        else
            guarded(gen);
    if (depth && rnd(gen, 3) == 0)
        region(gen, depth - 1);
    Operand last = ir_val(gen->f, gen->r[gen->nr - 1]);
    gen->nr = nr;
    gen->np = np;
    return last;
}

/* A triangle or diamond with a phi where it closes; a side may hold others, or exit. */
static void region(Gen *gen, unsigned depth) {
    if (!gen->np || gen->nr > 300)
        return;
    bool triangle = rnd(gen, 2), exits = rnd(gen, 8) == 0;
    BlockId head = gen->b, yes = ir_block_new(gen->f), no = {0}, join = ir_block_new(gen->f);
    no = triangle ? join : ir_block_new(gen->f);
    Operand value[2] = {{0}, ir_val(gen->f, gen->r[gen->nr - 1])};
    InstId br = ir_branch_new(gen->f, yes);
    ir_append(gen->f, head, br);
    ir_set_guard(gen->f, br, op_with(ir_val(gen->f, gen->p[rnd(gen, gen->np)]), rnd(gen, 2) ? OPM_NOT : 0));
    ir_add_edge(gen->f, head, yes);
    jump(gen, head, no);
    if (triangle) { /* the phi's first operand is the head's */
        value[0] = value[1];
        value[1] = side(gen, yes, depth);
    } else {
        value[0] = side(gen, no, depth);
        jump(gen, gen->b, join);
        value[1] = side(gen, yes, depth);
    }
    if (exits)
        emit(gen, OT_EXIT, 0);
    else
        jump(gen, gen->b, join);
    gen->b = join;
    InstId phi = ir_inst_new(gen->f, IR_PHI, 1, exits ? 1 : 2);
    ir_append(gen->f, join, phi);
    ir_set_src(gen->f, phi, 0, value[0]);
    if (!exits)
        ir_set_src(gen->f, phi, 1, value[1]);
    define(gen, phi, 0, RF_R);
    add64_and_store(gen);
}

static void generate(Gen *gen) {
    gen->b = ir_block_new(gen->f);
    InstId t = emit(gen, OT_S2R, 0);
    ir_set_src(gen->f, t, 0,
               (Operand){OPK_SREG, 0, 0, 0, (uint32_t)isa_sreg_number(gen->f->module->target, "tid.x")});
    define(gen, t, 0, RF_R);
    for (unsigned d = 0; d < 4; d++) {
        for (unsigned k = 0; k < 8; k++)
            random_inst(gen);
        region(gen, 2);
    }
    emit(gen, OT_EXIT, 0);
}

static unsigned size_of(Function *f) {
    unsigned n = 0;
    for (unsigned k = 0; k < f->layout.n; k++)
        n += ir_block(f, f->layout.at[k])->insts.n;
    return n;
}

static void run(Function *f, Eval *eval, uint32_t tid) {
    memset(eval, 0, sizeof *eval);
    eval->f = f;
    eval->tid = tid;
    eval->v = calloc(f->values.n, sizeof *eval->v);
    evaluate(eval);
    free(eval->v);
}

static void test_random(void **state) {
    (void)state;
    unsigned before = 0, after = 0, stores = 0, converted = 0;
    for (uint64_t seed = 1; seed <= 3000; seed++) {
        StrTab strings = {0};
        Diags d = {.sink = diag_print_sink, .user = stderr};
        IrModule *module = ir_module_new(isa_targets[seed % 2 ? 0 : 5], &strings);
        Function *f = ir_function_new(module, str_intern_z(&strings, "k"), true);
        Gen *gen = calloc(1, sizeof *gen);
        gen->f = f;
        gen->s = seed;
        generate(gen);
        free(gen);
        assert_true(ir_verify(f, &d, "generate"));
        static Eval a[3], b;
        for (uint32_t t = 0; t < 3; t++)
            run(f, &a[t], t * 7);
        before += size_of(f);
        char *text = ir_print(module, NULL);
        static PassFn *const passes[] = {pass_fold, pass_branches, pass_cse,        pass_combine,
                                         pass_dce,  NULL,          pass_conditions, pass_legalise};
        module->predicate = seed % 3 ? PREDICATE_MAX : PREDICATE_AUTO;
        for (unsigned p = 0; p < sizeof passes / sizeof *passes; p++) {
            assert_true(passes[p] ? passes[p](f, &d)
                                  : pass_uniformity(module, &d) && pass_predicate(module, &d));
            for (unsigned k = 0; !passes[p] && k < module->predicated.n; k++)
                converted += module->predicated.at[k].reason == PR_CONVERTED;
            assert_true(ir_verify(f, &d, "pass"));
            for (uint32_t t = 0; t < 3; t++) {
                run(f, &b, t * 7);
                bool same = b.n == a[t].n;
                for (unsigned k = 0; same && k < b.n; k++)
                    same = b.stores[k].address == a[t].stores[k].address &&
                           b.stores[k].value == a[t].stores[k].value;
                if (!same) {
                    char *now = ir_print(module, NULL);
                    printf("seed %llu pass %u\n%s\nafter\n%s", (unsigned long long)seed, p, text, now);
                    fail();
                }
            }
        }
        stores += a[0].n;
        after += size_of(f);
        free(text);
        ir_module_free(module);
        str_free(&strings);
    }
    printf("%u instructions became %u; %u branches became guards; %u stores compared\n", before, after,
           converted, stores);
    assert_true(converted > 3000);
    assert_true(after < before * 3 / 4);
}

/* ---- hand-written ---- */

typedef struct {
    StrTab strings;
    Diags d;
    IrModule *m;
    Function *f;
    char *text;
} Loaded;

static void load(Loaded *loaded, const char *body) {
    memset(loaded, 0, sizeof *loaded);
    loaded->d = (Diags){.sink = diag_print_sink, .user = stderr};
    char text[4096];
    snprintf(text, sizeof text,
             "module bru1 opt=2 const=0\nfunc @k entry ssa var=0 spill=0 barriers=0 bbase=0 "
             "start=bb1 {\n%s}\n",
             body);
    Source s = {"t.mir", text, strlen(text)};
    loaded->m = ir_load(&s, &loaded->strings, &loaded->d);
    assert_non_null(loaded->m);
    loaded->f = loaded->m->funcs.at[0];
}

static void expect(Loaded *loaded, const char *has, const char *has_not) {
    assert_true(ir_verify(loaded->f, &loaded->d, "pass"));
    char *text = ir_print_function(loaded->f, NULL);
    if ((has && !strstr(text, has)) || (has_not && strstr(text, has_not))) {
        printf("%s\n", text);
        fail();
    }
    free(text);
}

static void unload(Loaded *loaded) {
    ir_module_free(loaded->m);
    str_free(&loaded->strings);
}

static void test_fold_and_branches(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1 = MOV 0x4\n  %r2, _, _ = IADD3 %r1, 0x3, RZ, !PT, !PT\n"
             "  %p3, _ = ISETP(cmp=GT) %r2, 0x6, PT, _\n"
             "  @%p3 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs(bb4)\n  BRA _, _, bb4\n"
             "bb3: preds(bb1) succs(bb4)\n  STG _, _, 0x8, %r1\n  BRA _, _, bb4\n"
             "bb4: preds(bb2 bb3) succs()\n  STG _, _, 0x4, %r2\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_branches(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r2 = MOV 0x7", "BRA"); /* 4 + 3 > 6 is true: one block remains */
    expect(&l, "STG _, _, 0x4, %r2", "0x8");
    unload(&l);
}

static void test_address(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %r3, %p4, _ = IADD3 %r1, 0xfffffffc, RZ, !PT, !PT\n"
             "  %r5, _, _ = IADD3(x=0x1) %r2, 0xffffffff, RZ, %p4, !PT\n"
             "  %r6, _ = LDG(e=E) [%r3 %r5].64, _, 0x10, _\n"
             "  STG(e=E) [%r3 %r5].64, _, 0x0, %r6\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "[%r1 %r2].64, _, 0xc", "IADD3");
    expect(&l, "[%r1 %r2].64, _, 0xfffffffc", NULL);
    unload(&l);
}

static void test_constant_bank(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = MOV c[0x0][0x160]\n"
             "  %r3 = IMAD %r2, %r1, RZ, _\n  STG _, _, 0x0, %r3\n  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "IMAD %r1, c[0x0][0x160]", "MOV"); /* the factors change places */
    unload(&l);
}

static void test_cse(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[clock.lo]\n  %r3 = S2R SR[clock.lo]\n"
             "  %r4 = IMAD %r1, %r1, %r2, _\n  %p5, _ = ISETP %r1, %r2, PT, _\n"
             "  @%p5 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs(bb3)\n  %r6 = IMAD %r1, %r1, %r2, _\n  %r7 = IMAD %r1, %r1, %r3, _\n"
             "  STG _, _, 0x0, %r6\n  STG _, _, 0x4, %r7\n  BRA _, _, bb3\n"
             "bb3: preds(bb1 bb2) succs()\n  %r8 = IMAD %r1, %r1, %r3, _\n  STG _, _, 0x8, %r8\n"
             "  STG _, _, 0xc, %r4\n  EXIT _\n");
    assert_true(pass_cse(l.f, &l.d));
    expect(&l, "STG _, _, 0x0, %r4", "%r6");
    expect(&l, "%r7 = IMAD %r1, %r1, %r3", NULL); /* another clock value */
    expect(&l, "%r8 = IMAD %r1, %r1, %r3", NULL); /* bb2 does not dominate bb3 */
    unload(&l);
}

/* x ^ true, as compilers write "not" of a comparison; a table that is one of its inputs, or none. */
static void test_fold_predicates(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %p3, _ = PLOP3(lut=0xf0) !PT, PT, PT\n  %p4, _ = ISETP(cmp=EQ bop=XOR) %r1, %r2, %p3, _\n"
             "  %r5 = SEL %r1, %r2, %p4\n  STG _, _, 0x0, %r5\n"
             "  %p6, _ = PLOP3(lut=0xf) %p3, PT, PT\n  %p7, _ = ISETP(cmp=LT bop=XOR) %r1, %r2, %p6, _\n"
             "  %r8 = SEL %r1, %r2, %p7\n  STG _, _, 0x4, %r8\n"
             "  %p9, _ = PLOP3(lut=0xfc) %p4, %p3, PT\n  %r10 = SEL %r1, %r2, %p9\n  STG _, _, 0x8, %r10\n"
             "  %p11, _ = PLOP3(lut=0xc0) %p4, !%p4, PT\n  %r12 = SEL %r1, %r2, %p11\n  STG _, _, 0xc, %r12\n"
             "  EXIT _\n");
    assert_true(pass_fold(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%p4, _ = ISETP(cmp=EQ) %r1, %r2, PT", "PLOP3");
    expect(&l, "_, %p7 = ISETP(cmp=LT) %r1, %r2, PT", NULL);
    expect(&l, "%r10 = SEL %r1, %r2, %p4", NULL);
    expect(&l, "%r12 = SEL %r1, %r2, !PT", NULL);
    unload(&l);
}

static void test_combine(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n"
         "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %r3 = S2R SR[tid.z]\n"
         "  %r4, _, _ = IADD3 %r1, 0x5, RZ, !PT, !PT\n  %r5, _, _ = IADD3 %r4, %r2, 0x0, !PT, !PT\n"
         "  STG _, _, 0x0, %r5\n"
         "  %r6 = SHF(type=U32 dir=L) %r1, 0x3, RZ\n  %r7, _, _ = IADD3 %r2, %r6, RZ, !PT, !PT\n"
         "  STG _, _, 0x4, %r7\n"
         "  %r8 = IMAD %r1, 0x1f, RZ, _\n  %r9, _, _ = IADD3 %r8, %r3, RZ, !PT, !PT\n  STG _, _, 0x8, %r9\n"
         "  %r10, _ = LOP3(lut=0x3c) %r1, %r2, RZ, !PT\n  %r11, _ = LOP3(lut=0x3c) %r3, %r10, RZ, !PT\n"
         "  STG _, _, 0xc, %r11\n"
         "  %r12, _, _ = IADD3 %r2, %r3, RZ, !PT, !PT\n  %r13, _, _ = IADD3 %r12, %r1, RZ, !PT, !PT\n"
         "  STG _, _, 0x10, %r12\n  STG _, _, 0x14, %r13\n"
         "  %r14, %p15, _ = IADD3 %r2, %r3, RZ, !PT, !PT\n  %r16, _, _ = IADD3(x=0x1) %r14, %r1, RZ, %p15, "
         "!PT\n"
         "  STG _, _, 0x18, %r16\n"
         "  %r17, _, _ = IADD3 RZ, %r3, RZ, !PT, !PT\n  STG _, _, 0x1c, %r17\n  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d) && pass_dce(l.f, &l.d));
    expect(&l, "%r5, _, _ = IADD3 %r2, 0x5, %r1", "%r4");
    expect(&l, "%r7, _ = LEA %r1, %r2, RZ, 0x3", "%r6");
    expect(&l, "%r9 = IMAD %r1, 0x1f, %r3", "%r8");
    expect(&l, "%r11, _ = LOP3(lut=0x96)", "%r10");     /* parity of three */
    expect(&l, "%r13, _, _ = IADD3 %r12, %r1", NULL);   /* %r12 has another use */
    expect(&l, "%r16, _, _ = IADD3(x=0x1) %r14", NULL); /* carries are left alone */
    expect(&l, "STG _, _, 0x1c, %r3", "%r17");
    unload(&l);
}

/* Addresses: 64-bit sums of shifted numbers, whether by a wide product, signed or not, or by two shifts. A
 * product by three stays, and so do a carry that somebody else reads and a sum of which a part is negated. */
static void test_combine_addresses(void **state) {
    (void)state;
    Loaded l;
    load(&l,
         "bb1: preds() succs()\n"
         "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
         "  [%r3 %r4], _ = IMAD_WIDE(sign=U32) %r1, 0x4, RZ, !PT\n"
         "  %r5, %p6, _ = IADD3 %r3, c[0x0][0x160], RZ, !PT, !PT\n"
         "  %r7, _, _ = IADD3(x=0x1) %r4, c[0x0][0x164], RZ, %p6, !PT\n  STG [%r5 %r7].64, _, 0x0, %r2\n"
         "  [%r8 %r9], _ = IMAD_WIDE %r1, 0x8, RZ, !PT\n"
         "  %r10, %p11, _ = IADD3 %r2, %r8, RZ, !PT, !PT\n"
         "  %r12, _, _ = IADD3(x=0x1) %r1, %r9, RZ, %p11, !PT\n  STG [%r10 %r12].64, _, 0x0, %r2\n"
         "  %r13 = SHF %r1, 0x3, RZ\n  %r14 = SHF(type=U64 hi=0x1) %r1, 0x3, %r2\n"
         "  %r15, %p16, _ = IADD3 %r13, c[0x0][0x168], RZ, !PT, !PT\n"
         "  %r17, _, _ = IADD3(x=0x1) %r14, c[0x0][0x16c], RZ, %p16, !PT\n  STG [%r15 %r17].64, _, 0x0, %r2\n"
         "  [%r18 %r19], _ = IMAD_WIDE(sign=U32) %r1, 0x3, RZ, !PT\n"
         "  %r20, %p21, _ = IADD3 %r18, c[0x0][0x160], RZ, !PT, !PT\n"
         "  %r22, _, _ = IADD3(x=0x1) %r19, c[0x0][0x164], RZ, %p21, !PT\n  STG [%r20 %r22].64, _, 0x0, %r2\n"
         "  %r23, %p24, _ = IADD3 %r3, c[0x0][0x170], RZ, !PT, !PT\n"
         "  %r25, _, _ = IADD3(x=0x1) %r4, c[0x0][0x174], RZ, %p24, !PT\n  STG [%r23 %r25].64, _, 0x0, %r2\n"
         "  %r26 = SEL %r1, %r2, %p24\n  STG _, _, 0x4, %r26\n"
         "  %r27, %p28, _ = IADD3 -%r3, c[0x0][0x178], RZ, !PT, !PT\n"
         "  %r29, _, _ = IADD3(x=0x1) %r4, c[0x0][0x17c], RZ, %p28, !PT\n  STG [%r27 %r29].64, _, 0x0, %r2\n"
         "  EXIT _\n");
    assert_true(pass_combine(l.f, &l.d));
    expect(&l, "%r5, %p6 = LEA %r1, c[0x0][0x160], RZ, 0x2, !PT", "%r5, %p6, _ = IADD3");
    expect(&l, "%r7, _ = LEA(x=0x1 hi=0x1) %r1, c[0x0][0x164], RZ, 0x2, %p6", NULL);
    expect(&l, "%r10, %p11 = LEA %r1, %r2, RZ, 0x3, !PT", NULL);
    expect(&l, "%r12, _ = LEA(sx32=0x1 x=0x1 hi=0x1) %r1, %r1, _, 0x3, %p11", NULL);
    expect(&l, "%r15, %p16 = LEA %r1, c[0x0][0x168], RZ, 0x3, !PT", NULL);
    expect(&l, "%r17, _ = LEA(x=0x1 hi=0x1) %r1, c[0x0][0x16c], %r2, 0x3, %p16", NULL);
    expect(&l, "%r20, %p21, _ = IADD3 %r18", NULL);
    expect(&l, "%r23, %p24, _ = IADD3 %r3", NULL);
    expect(&l, "%r27, %p28, _ = IADD3 -%r3", NULL);
    unload(&l);
}

static void test_conditions(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %r3, _ = LOP3(lut=0xc0) %r1, 0x1, RZ, !PT\n  %p4, _ = ISETP(cmp=NE) %r3, RZ, _, _\n"
             "  %r5 = SEL %r1, %r2, %p4\n  STG _, _, 0x0, %r5\n" /* not zero */
             "  %r6, _ = LOP3(lut=0xc0) %r1, 0x2, RZ, !PT\n  %p7, _ = ISETP(cmp=EQ) %r6, RZ, _, _\n"
             "  %r8 = SEL %r1, %r2, %p7\n  STG _, _, 0x4, %r8\n" /* zero: the use is negated */
             "  %r9, _ = LOP3(lut=0xc0) %r1, 0x4, RZ, !PT\n  %p10, _ = ISETP(cmp=EQ) %r9, RZ, _, _\n"
             "  %p11, _ = ISETP(cmp=LT) %r1, %r2, _, _\n"
             "  %p12, _ = PLOP3(lut=0xc0) %p10, %p11, PT\n" /* both: the comparison takes the other one */
             "  %r13 = SEL %r1, %r2, %p12\n  STG _, _, 0x8, %r13\n"
             "  %p14, _ = ISETP(cmp=LT) %r1, 0x7, _, _\n  %p15, _ = ISETP(cmp=LT) %r2, 0x7, _, _\n"
             "  %p16, _ = PLOP3(lut=0xfc) %p14, !%p15, PT\n" /* or not: the second result */
             "  %r17 = SEL %r1, %r2, %p16\n  STG _, _, 0xc, %r17\n"
             "  %r18, _ = LOP3(lut=0xc0) %r1, 0x8, RZ, !PT\n  %p19, _ = ISETP(cmp=NE) %r18, RZ, _, _\n"
             "  %r20 = SEL %r1, %r18, %p19\n  STG _, _, 0x10, %r20\n" /* the bits have a use of their own */
             "  %p21, _ = PLOP3(lut=0xf) %p19, PT, PT\n"
             "  %r22 = SEL %r1, %r2, %p21\n  STG _, _, 0x14, %r22\n"
             "  %r23, _ = LOP3(lut=0xc0) %r1, 0x10, RZ, !PT\n  %p24, _ = ISETP(cmp=EQ) %r23, 0x10, _, _\n"
             "  %r25 = SEL %r1, %r2, %p24\n  STG _, _, 0x18, %r25\n" /* one bit: it is there */
             "  %r26, _ = LOP3(lut=0xc0) %r1, 0x20, RZ, !PT\n  %p27, _ = ISETP(cmp=NE) %r26, 0x20, _, _\n"
             "  %r28 = SEL %r1, %r2, %p27\n  STG _, _, 0x1c, %r28\n" /* it is not */
             "  %r29, _ = LOP3(lut=0xc0) %r1, 0x3, RZ, !PT\n  %p30, _ = ISETP(cmp=EQ) %r29, 0x3, _, _\n"
             "  %r41 = SEL %r1, %r2, %p30\n  STG _, _, 0x20, %r41\n  EXIT _\n"); /* two bits: stays */
    assert_true(pass_conditions(l.f, &l.d));
    expect(&l, "_, %p24 = LOP3(lut=0xc0) %r1, 0x10, RZ, !PT", "%r23");
    expect(&l, "_, %p27 = LOP3(lut=0xc0) %r1, 0x20, RZ, !PT", "%r26");
    expect(&l, "%r28 = SEL %r1, %r2, !%p27", NULL);
    expect(&l, "%p30, _ = ISETP(cmp=EQ) %r29, 0x3", NULL);
    expect(&l, "_, %p4 = LOP3(lut=0xc0) %r1, 0x1, RZ, !PT", "%r3");
    expect(&l, "_, %p7 = LOP3(lut=0xc0) %r1, 0x2, RZ, !PT", "%r6");
    expect(&l, "%r8 = SEL %r1, %r2, !%p7", NULL);
    expect(&l, "%p12, _ = ISETP(cmp=LT) %r1, %r2, !%p10", "%p11");
    expect(&l, "_, %p16 = ISETP(bop=OR cmp=LT) %r2, 0x7, %p14", "PLOP3(lut=0xfc)");
    expect(&l, "%r18, %p19 = LOP3(lut=0xc0) %r1, 0x8, RZ, !PT", "%p19, _");
    expect(&l, "%r22 = SEL %r1, %r2, !%p19", "PLOP3");
    unload(&l);
}

/* What must stay as it is: a predicate that a phi takes, a comparison with a guard, three inputs. */
static void test_conditions_keeps(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n  %p3, _ = ISETP(cmp=LT) %r1, %r2, _, _\n"
             "  %r4, _ = LOP3(lut=0xc0) %r1, 0x1, RZ, !PT\n  %p5, _ = ISETP(cmp=EQ) %r4, RZ, _, _\n"
             "  @%p3 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs(bb3)\n"
             "  %p6, _ = ISETP(cmp=LT) %r1, 0x5, _, _\n  %p7, _ = ISETP(cmp=LT) %r1, 0x6, _, _\n"
             "  %p8, _ = PLOP3(lut=0x80) %p6, %p7, %p3\n  %r9 = SEL %r1, %r2, %p8\n  STG _, _, 0x4, %r9\n"
             "  BRA _, _, bb3\n"
             "bb3: preds(bb1 bb2) succs()\n"
             "  %p10 = phi %p5, %p6\n  %r11 = SEL %r1, %r2, %p10\n  STG _, _, 0x0, %r11\n"
             "  EXIT _\n");
    assert_true(pass_conditions(l.f, &l.d));
    expect(&l, "%p5, _ = ISETP(cmp=EQ) %r4, RZ", NULL);
    expect(&l, "%p8, _ = PLOP3(lut=0x80) %p6, %p7, %p3", NULL);
    unload(&l);
}

static void test_dce_keeps(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1, _ = LDG RZ, _, 0x0, _\n  %r2, _ = LDG RZ, _, 0x4, _ flags[observing memory]\n"
             "  %r3, %p4, _ = IADD3 %r1, %r1, RZ, !PT, !PT\n  %r5, %p6, _ = IADD3 %r2, %r2, RZ, !PT, !PT\n"
             "  STG _, _, 0x0, %r5\n  EXIT _\n");
    assert_true(pass_dce(l.f, &l.d));
    expect(&l, "%r2, _ = LDG", "%r1");
    expect(&l, "%r5, _, _ = IADD3", "%p6"); /* nobody reads the carry */
    unload(&l);
}

/* Is an instruction of `op` still there when dead code is gone, though nobody reads a result of it? */
static bool survives(unsigned op) {
    Loaded l;
    load(&l, "bb1: preds() succs()\n  EXIT _\n");
    InstId id = ir_inst_new(l.f, op, isa_num_dst(op), isa_num_src(op));
    ir_insert(l.f, l.f->entry, 0, id);
    assert_true(pass_dce(l.f, &l.d));
    unsigned left = ir_block(l.f, l.f->entry)->insts.n;
    unload(&l);
    return left == 2;
}

/* Every operation of every target. One without a result is there for its effect; those that have a result and
 * an effect, or look at other lanes, are listed here, apart from the table that the pass reads. */
static void test_dce_keeps_effects(void **state) {
    (void)state;
    static const uint16_t both[] = {
        OT_ATOMG, OT_ATOMG_CAS,  OT_ATOM, OT_ATOM_CAS, OT_ATOMS, OT_ATOMS_CAS, OT_ATOMS_POPC_INC, OT_BMOV,
        OT_B2R,   OT_B2R_RESULT, OT_LEPC, OT_SHFL,     OT_VOTE,  OT_VOTEU,     OT_MATCH,          OT_REDUX,
        OT_ELECT, OT_LDSM,       OT_MOVM, OT_HMMA,     OT_IMMA,  OT_DMMA};
    unsigned kept = 0;
    for (unsigned op = 1; op < OT_COUNT; op++) {
        bool stays = isa_num_dst(op) == 0 && op != OT_NOP;
        for (unsigned k = 0; k < sizeof both / sizeof *both; k++)
            stays |= both[k] == op;
        if (survives(op) != stays)
            fail_msg("%s %s", isa_optype_name(op), stays ? "was deleted" : "was kept");
        kept += stays;
    }
    assert_true(kept > 50 && kept < OT_COUNT - 60);
}

static void test_reduction(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2 = S2R SR[tid.y]\n"
             "  %r3, _ = ATOMG(order=STRONG_GPU e=E op=MAX) [%r1 %r2].64, _, 0x8, %r1\n"
             "  %r4, _ = ATOMG(order=STRONG_GPU e=E op=EXCH) [%r1 %r2].64, _, 0x8, %r1\n"
             "  %r5, _ = ATOMG(order=STRONG_GPU e=E op=ADD) [%r1 %r2].64, _, 0x8, %r1\n"
             "  STG(e=E) [%r1 %r2].64, _, 0x0, %r5\n  EXIT _\n");
    assert_true(pass_dce(l.f, &l.d));
    expect(&l, "  RED(order=STRONG_GPU e=E op=MAX) [%r1 %r2].64, _, 0x8, %r1\n", "observing");
    expect(&l, "ATOMG(order=STRONG_GPU e=E op=EXCH)", "op=ADD"); /* ADD is the default */
    expect(&l, "%r5, _ = ATOMG(order=STRONG_GPU e=E)", NULL);
    unload(&l);
}

static void test_legalise(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs()\n"
             "  %r1 = S2R SR[tid.x]\n  %r2, _, _ = IADD3 0x5, 0x6, %r1, !PT, !PT\n"
             "  %r3 = IMAD c[0x0][0x160], 0x7, %r1, _\n  STG _, _, 0x0, %r2\n  STG _, _, 0x0, %r3\n"
             "  STG _, _, 0x0, 0x9\n  EXIT _\n");
    assert_true(pass_legalise(l.f, &l.d));
    expect(&l, "MOV 0x9", "STG _, _, 0x0, 0x9");
    expect(&l, "= MOV", "IADD3 0x5, 0x6");
    unload(&l);
}

/* Two returns with results: one block returns, the results meet in a phi. */
static void test_returns(void **state) {
    (void)state;
    Loaded l;
    load(&l, "bb1: preds() succs(bb2 bb3)\n"
             "  %r1{fixed=4}, %r2{fixed=20}, %r3{fixed=21} = entry\n  %r4, %r5, %r6 = parcopy %r1, %r2, %r3\n"
             "  %p7, _ = ISETP %r4, RZ, PT, _\n  @%p7 BRA _, _, bb2\n  BRA _, _, bb3\n"
             "bb2: preds(bb1) succs()\n  %r8{fixed=4} = parcopy %r4\n  RET PT, [%r5 %r6], 0x0, %r8\n"
             "bb3: preds(bb1) succs()\n  %r9{fixed=4} = parcopy RZ\n  RET PT, [%r5 %r6], 0x0, %r9\n");
    l.f->is_entry = false;
    assert_true(pass_returns(l.f, &l.d));
    expect(&l, "bb4: preds(bb2 bb3) succs()\n  %r11 = phi %r4, %r10\n",
           NULL); /* numbers as the pass makes them */
    char *text = ir_print_function(l.f, NULL), *one = strstr(text, "RET");
    assert_non_null(one);
    assert_null(strstr(one + 1, "RET"));
    assert_non_null(strstr(text, "fixed=4} = parcopy"));
    free(text);
    unload(&l);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fold_and_branches), cmocka_unit_test(test_address),
        cmocka_unit_test(test_constant_bank),     cmocka_unit_test(test_cse),
        cmocka_unit_test(test_fold_predicates),   cmocka_unit_test(test_combine),
        cmocka_unit_test(test_combine_addresses), cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_conditions_keeps),  cmocka_unit_test(test_dce_keeps),
        cmocka_unit_test(test_legalise),          cmocka_unit_test(test_returns),
        cmocka_unit_test(test_reduction),         cmocka_unit_test(test_random),
        cmocka_unit_test(test_dce_keeps_effects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
