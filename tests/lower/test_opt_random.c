/* Optimisation passes on random integer programs: each stores the same values at the same addresses before
 * and after (an evaluator of this file executes both). SPDX-License-Identifier: MIT */
#include "lower/passes.h"
#include "tests/part.h"
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
    case OPK_CMEM:
        return hash32(
            op_cmem(op_cmem_bank(o), op_cmem_offset(o) + 4 * c).value); /* constant banks hold something */
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
    case OT_SHF: { /* left, by less than 32 */
        uint64_t x =
            (uint64_t)word(eval, *ir_src(f, i, SHF_rc), 0) << 32 | word(eval, *ir_src(f, i, SHF_ra), 0);
        x <<= word(eval, *ir_src(f, i, SHF_rb), 0);
        set(eval, i, 0, (uint32_t)(MGET(SHF, hi, i->mods) ? x >> 32 : x));
        break;
    }
    case OT_IMAD_WIDE: {
        uint32_t x = word(eval, *ir_src(f, i, IMAD_WIDE_ra), 0),
                 y = word(eval, *ir_src(f, i, IMAD_WIDE_rb), 0);
        uint64_t product = MGET(IMAD_WIDE, sign, i->mods) == ISign_S32
                               ? (uint64_t)((int64_t)(int32_t)x * (int32_t)y)
                               : (uint64_t)x * y;
        Operand rc = *ir_src(f, i, IMAD_WIDE_rc);
        product += (uint64_t)word(eval, rc, 1) << 32 | word(eval, rc, 0);
        Operand rd = *ir_dst(f, i, 0);
        for (unsigned c = 0; c < rd.count; c++)
            eval->v[ir_operand_value(f, rd, c).i] = (uint32_t)(product >> 32 * c);
        break;
    }
    case OT_LEA: {
        uint32_t low = word(eval, *ir_src(f, i, LEA_ra), 0), shift = word(eval, *ir_src(f, i, LEA_shift), 0);
        uint32_t high = MGET(LEA, sx32, i->mods) ? 0 - (low >> 31) : word(eval, *ir_src(f, i, LEA_rc), 0);
        uint64_t x = ((uint64_t)high << 32 | low) << shift;
        uint64_t sum = (uint64_t)(uint32_t)(MGET(LEA, hi, i->mods) ? x >> 32 : x) +
                       word(eval, *ir_src(f, i, LEA_rb), 0) +
                       (MGET(LEA, x, i->mods) && pred(eval, *ir_src(f, i, LEA_pp), false));
        set(eval, i, 0, (uint32_t)sum);
        set(eval, i, LEA_pu, sum >> 32 != 0);
        break;
    }
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

/* The words of a number that is shifted, or widened and multiplied by a power of two: what an address adds.
 * Now and then something does not fit: another amount, another low word, no power of two. */
static void shifted(Gen *gen, Operand out[2]) {
    uint32_t n = rnd(gen, 32), odd = rnd(gen, 3) ? 9 : rnd(gen, 3);
    Operand low = ir_val(gen->f, gen->r[rnd(gen, gen->nr)]), high = some(gen);
    if (rnd(gen, 2)) {
        InstId wide = emit(gen, OT_IMAD_WIDE, MSET(IMAD_WIDE, sign, rnd(gen, 2)));
        ValId word[2] = {ir_value_new(gen->f, RF_R), ir_value_new(gen->f, RF_R)};
        ir_set_src(gen->f, wide, IMAD_WIDE_ra, low);
        ir_set_src(gen->f, wide, IMAD_WIDE_rb, op_imm(odd == 0 ? 12 : 1u << n));
        ir_set_src(gen->f, wide, IMAD_WIDE_rc, op_rz());
        ir_set_dst(gen->f, wide, 0, ir_vec(gen->f, word, 2));
        for (unsigned c = 0; c < 2; c++) {
            ir_value(gen->f, word[c])->block = gen->b;
            gen->r[gen->nr++] = word[c];
            out[c] = ir_val(gen->f, word[c]);
        }
        return;
    }
    InstId first = emit(gen, OT_SHF, MSET(SHF, type, ShfType_U32) | MSET(SHF, dir, ShfDir_L));
    ir_set_src(gen->f, first, SHF_ra, low);
    ir_set_src(gen->f, first, SHF_rb, op_imm(n));
    ir_set_src(gen->f, first, SHF_rc, op_rz());
    out[0] = define(gen, first, 0, RF_R);
    InstId top =
        emit(gen, OT_SHF, MSET(SHF, type, ShfType_U64) | MSET(SHF, dir, ShfDir_L) | MSET(SHF, hi, 1));
    ir_set_src(gen->f, top, SHF_ra, odd == 1 ? ir_val(gen->f, gen->r[rnd(gen, gen->nr)]) : low);
    ir_set_src(gen->f, top, SHF_rb, op_imm(odd == 2 ? (n + 1) % 32 : n));
    ir_set_src(gen->f, top, SHF_rc, high);
    out[1] = define(gen, top, 0, RF_R);
}

/* [lo hi] = [lo hi] + [x y], or minus */
static void add64(Gen *gen, Operand *lo, Operand *hi, Operand x, Operand y, Operand third) {
    Operand f = op_with(op_pt(), OPM_NOT);
    if (x.kind == OPK_VAL && y.kind == OPK_VAL && rnd(gen, 4) == 0)
        x.mods = y.mods = OPM_NEG;
    InstId a = emit(gen, OT_IADD3, 0), b;
    ir_set_src(gen->f, a, 0, *lo);
    ir_set_src(gen->f, a, 1, x);
    ir_set_src(gen->f, a, 2, third);
    ir_set_src(gen->f, a, 3, f);
    ir_set_src(gen->f, a, 4, f);
    *lo = define(gen, a, 0, RF_R);
    Operand c = define(gen, a, IADD3_pu, RF_P);
    gen->np--; /* a carry is no plain predicate */
    b = emit(gen, OT_IADD3, MSET(IADD3, x, 1));
    ir_set_src(gen->f, b, 0, *hi);
    ir_set_src(gen->f, b, 1, y);
    ir_set_src(gen->f, b, 2, op_rz());
    ir_set_src(gen->f, b, 3, c);
    ir_set_src(gen->f, b, 4, f);
    *hi = define(gen, b, 0, RF_R);
}

static void add64_and_store(Gen *gen) {
    Operand lo = some(gen), hi = some(gen);
    ValId pair[2];
    if (rnd(gen, 2)) {
        Operand x[2];
        shifted(gen, x);
        if (rnd(gen, 2))
            add64(gen, &lo, &hi, x[0], x[1], op_rz());
        else {
            Operand y = lo, z = hi;
            lo = x[0], hi = x[1];
            add64(gen, &lo, &hi, y, z, op_rz());
        }
    }
    for (unsigned k = 0; k < 1 + rnd(gen, 3); k++) {
        uint32_t imm = small(gen);
        Operand third = rnd(gen, 6) ? op_rz() : some(gen);
        add64(gen, &lo, &hi, op_imm(imm), rnd(gen, 4) ? op_imm(imm >> 31 ? UINT32_MAX : 0) : op_rz(), third);
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

/* Every second program; predication comes next. */
static bool meld(Function *f, Diags *d) {
    static unsigned odd;
    f->module->reconv_opts = RO_GIVEN | (odd++ & 1 ? RO_MELD : 0);
    return pass_uniformity(f->module, d) && pass_meld(f->module, d);
}

static void test_random(void **state) {
    (void)state;
    unsigned before = 0, after = 0, stores = 0, converted = 0, melded = 0;
    for (uint64_t seed = 1; seed <= 3000; seed += test_part()) {
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
        static PassFn *const passes[] = {pass_fold,    pass_branches,   pass_cse,     pass_reload, pass_join,
                                         pass_combine, pass_dce,        pass_address, pass_sink,   meld,
                                         NULL,         pass_conditions, pass_legalise};
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
        for (unsigned k = 0; k < module->melded.n; k++)
            melded += module->melded.at[k].reason == PR_CONVERTED;
        stores += a[0].n;
        after += size_of(f);
        free(text);
        ir_module_free(module);
        str_free(&strings);
    }
    printf("%u instructions became %u; %u branches became guards, %u were melded; %u stores compared\n",
           before, after, converted, melded, stores);
    assert_true(melded > 0 || test_part() > 1); /* two of all */
    assert_true(converted > 3000 / test_part());
    assert_true(after < before * 3 / 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
