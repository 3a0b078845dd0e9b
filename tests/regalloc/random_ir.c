/* See random_ir.h.
 * SPDX-License-Identifier: MIT */
#include "random_ir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

/* ---- programs ---- */

typedef struct {
    Function *f;
    RandomShape s;
    uint64_t rng;
    ValId **cur; /* by block: values of the variables at its end; vars first, then preds */
    BlockId b;
    StrTab *strings;
} Gen;

static unsigned below(Gen *g, unsigned n) { return (unsigned)(random_next(&g->rng) % n); }
static ValId var(Gen *g) { return g->cur[g->b.i][below(g, g->s.vars)]; }
static ValId pred(Gen *g) { return g->cur[g->b.i][g->s.vars + below(g, g->s.preds)]; }
static Operand reg(Gen *g) { return ir_val(g->f, var(g)); }

static void set_var(Gen *g, ValId v) { g->cur[g->b.i][below(g, g->s.vars)] = v; }
static void set_pred(Gen *g, ValId v) { g->cur[g->b.i][g->s.vars + below(g, g->s.preds)] = v; }

static InstId inst(Gen *g, unsigned op) { return ir_inst_new(g->f, op, isa_num_dst(op), isa_num_src(op)); }

static ValId result(Gen *g, InstId i, unsigned n, RegFile file) {
    ValId v = ir_value_new(g->f, file);
    ir_set_dst(g->f, i, n, ir_val(g->f, v));
    return v;
}

static void gen_add(Gen *g, bool guarded) {
    InstId i = inst(g, OT_IADD3);
    ir_set_src(g->f, i, IADD3_ra, reg(g));
    ir_set_src(g->f, i, IADD3_rb, below(g, 3) ? reg(g) : op_imm((uint32_t)random_next(&g->rng)));
    ir_set_src(g->f, i, IADD3_rc, reg(g));
    ValId v = result(g, i, 0, RF_R);
    if (guarded) {
        Operand p = ir_val(g->f, pred(g));
        if (below(g, 2))
            p.mods = OPM_NOT;
        ir_set_guard(g->f, i, p);
        *ir_tied(g->f, ir_inst(g->f, i), 0) = reg(g);
    }
    ir_append(g->f, g->b, i);
    set_var(g, v);
}

static void gen_logic(Gen *g) {
    InstId i = inst(g, OT_LOP3);
    ir_inst(g->f, i)->mods = MSET(LOP3, lut, below(g, 256));
    for (unsigned k = 0; k < 3; k++)
        ir_set_src(g->f, i, k, reg(g));
    ValId v = result(g, i, 0, RF_R);
    ir_append(g->f, g->b, i);
    set_var(g, v);
}

static void gen_mov(Gen *g) {
    InstId i = inst(g, OT_MOV);
    ir_set_src(g->f, i, 0, op_imm((uint32_t)random_next(&g->rng)));
    ValId v = result(g, i, 0, RF_R);
    ir_append(g->f, g->b, i);
    set_var(g, v);
}

static void gen_compare(Gen *g) {
    InstId i = inst(g, OT_ISETP);
    ir_inst(g->f, i)->mods = MSET(ISETP, cmp, below(g, 8)) | MSET(ISETP, sign, below(g, 2));
    ir_set_src(g->f, i, ISETP_ra, reg(g));
    ir_set_src(g->f, i, ISETP_rb, reg(g));
    ValId v = result(g, i, 0, RF_P);
    ir_append(g->f, g->b, i);
    set_pred(g, v);
}

static void gen_plop(Gen *g) {
    InstId i = inst(g, OT_PLOP3);
    ir_inst(g->f, i)->mods = MSET(PLOP3, lut, below(g, 256));
    for (unsigned k = 0; k < 3; k++)
        ir_set_src(g->f, i, k, ir_val(g->f, pred(g)));
    ValId v = result(g, i, 0, RF_P);
    ir_append(g->f, g->b, i);
    set_pred(g, v);
}

static void gen_select(Gen *g) {
    InstId i = inst(g, OT_SEL);
    ir_set_src(g->f, i, SEL_ra, reg(g));
    ir_set_src(g->f, i, SEL_rb, reg(g));
    ir_set_src(g->f, i, SEL_pp, ir_val(g->f, pred(g)));
    ValId v = result(g, i, 0, RF_R);
    ir_append(g->f, g->b, i);
    set_var(g, v);
}

static Operand vec(Gen *g, unsigned count) {
    ValId v[4] = {{0}};
    for (unsigned k = 0; k < count; k++)
        v[k] = var(g);
    return ir_vec(g->f, v, count);
}

static void set_vec(Gen *g, InstId i, unsigned count) {
    ValId v[4] = {{0}};
    for (unsigned k = 0; k < count; k++)
        v[k] = ir_value_new(g->f, RF_R);
    ir_set_dst(g->f, i, 0, ir_vec(g->f, v, count));
    for (unsigned k = 0; k < count; k++)
        set_var(g, v[k]);
}

static void gen_wide(Gen *g) {
    InstId i = inst(g, OT_IMAD_WIDE);
    ir_set_src(g->f, i, IMAD_WIDE_ra, reg(g));
    ir_set_src(g->f, i, IMAD_WIDE_rb, reg(g));
    ir_set_src(g->f, i, IMAD_WIDE_rc, vec(g, 2));
    set_vec(g, i, 2);
    ir_append(g->f, g->b, i);
}

static void gen_load(Gen *g) {
    static const uint8_t count[] = {1, 2, 4};
    unsigned k = below(g, 3);
    InstId i = inst(g, OT_LDG);
    ir_inst(g->f, i)->mods = MSET(LDG, sz, MemSz_32 + k) | MSET(LDG, e, 1);
    ir_set_src(g->f, i, LDG_ra, op_with(vec(g, 2), OPM_WIDE64));
    ir_set_src(g->f, i, LDG_offset, op_imm(below(g, 64) * 16));
    bool guarded = g->s.guards && below(g, 4) == 0;
    Operand old = vec(g, count[k]);
    set_vec(g, i, count[k]);
    if (guarded) {
        ir_set_guard(g->f, i, ir_val(g->f, pred(g)));
        *ir_tied(g->f, ir_inst(g->f, i), 0) = old;
    }
    ir_append(g->f, g->b, i);
}

static void gen_store(Gen *g) {
    static const uint8_t count[] = {1, 2, 4};
    unsigned k = g->s.vectors ? below(g, 3) : 0;
    InstId i = inst(g, OT_STG);
    ir_inst(g->f, i)->mods = MSET(STG, sz, MemSz_32 + k) | MSET(STG, e, 1);
    if (g->s.vectors)
        ir_set_src(g->f, i, STG_ra, op_with(vec(g, 2), OPM_WIDE64));
    ir_set_src(g->f, i, STG_offset, op_imm(below(g, 64) * 16));
    ir_set_src(g->f, i, STG_rb, vec(g, count[k]));
    ir_append(g->f, g->b, i);
}

static ValId fixed(Gen *g, int reg_number) {
    ValId v = ir_value_new(g->f, RF_R);
    ir_value(g->f, v)->fixed_reg = (int16_t)reg_number;
    return v;
}

static void gen_call(Gen *g) {
    unsigned nargs = 1 + below(g, 4), nrets = 1 + below(g, 2);
    InstId pc = ir_inst_new(g->f, IR_PARCOPY, nargs, nargs);
    InstId call = ir_inst_new(g->f, OT_CALL, nrets, isa_num_src(OT_CALL) + nargs + 1);
    InstId lepc = inst(g, OT_LEPC), back = ir_inst_new(g->f, IR_PARCOPY, nrets, nrets);
    for (unsigned k = 0; k < nargs; k++) {
        ValId v = fixed(g, 4 + (int)k);
        ir_set_dst(g->f, pc, k, ir_val(g->f, v));
        ir_set_src(g->f, pc, k, reg(g));
        ir_set_src(g->f, call, isa_num_src(OT_CALL) + k, ir_val(g->f, v));
    }
    ValId ra[2] = {fixed(g, 20), fixed(g, 21)};
    Operand pair = ir_vec(g->f, ra, 2);
    ir_set_dst(g->f, lepc, 0, pair);
    ir_set_src(g->f, call, isa_num_src(OT_CALL) + nargs, pair);
    ir_set_src(g->f, call, CALL_offset, ir_sym(g->f, str_intern_z(g->strings, "callee"), 0, RELOC_CALL_REL));
    ir_set_src(g->f, call, CALL_ra, op_rz());
    ValId out[2];
    for (unsigned k = 0; k < nrets; k++) {
        ValId v = fixed(g, 4 + (int)k);
        ir_set_dst(g->f, call, k, ir_val(g->f, v));
        ir_set_src(g->f, back, k, ir_val(g->f, v));
        out[k] = ir_value_new(g->f, RF_R);
        ir_set_dst(g->f, back, k, ir_val(g->f, out[k]));
    }
    ir_append(g->f, g->b, pc);
    ir_append(g->f, g->b, lepc);
    ir_append(g->f, g->b, call);
    ir_append(g->f, g->b, back);
    for (unsigned k = 0; k < nrets; k++)
        set_var(g, out[k]);
}

static void gen_inst(Gen *g) {
    switch (below(g, 12)) {
    case 0:
    case 1: gen_add(g, false); break;
    case 2: gen_add(g, g->s.guards); break;
    case 3: gen_logic(g); break;
    case 4: gen_mov(g); break;
    case 5: gen_compare(g); break;
    case 6: gen_plop(g); break;
    case 7: gen_select(g); break;
    case 8: g->s.vectors ? gen_wide(g) : gen_add(g, false); break;
    case 9: g->s.vectors ? gen_load(g) : gen_logic(g); break;
    case 10: gen_store(g); break;
    default:
        if (g->s.calls && below(g, 3) == 0)
            gen_call(g);
        else
            gen_compare(g);
    }
}

static void gen_edges(Gen *g, BlockId *ids) {
    unsigned n = g->s.blocks;
    for (unsigned k = 0; k + 1 < n; k++) {
        BlockId other = ids[1 + below(g, n - 1)]; /* not the entry */
        if (below(g, 3) && other.i != ids[k + 1].i)
            ir_add_edge(g->f, ids[k], other);
        ir_add_edge(g->f, ids[k], ids[k + 1]);
    }
}

static void gen_end(Gen *g, BlockId b, bool last) {
    Function *f = g->f;
    if (last) {
        for (unsigned k = 0; k < g->s.vars; k += 3) { /* so that values live to the end */
            InstId st = inst(g, OT_STG);
            ir_inst(f, st)->mods = MSET(STG, sz, MemSz_32);
            ir_set_src(f, st, STG_offset, op_imm(k * 4));
            ir_set_src(f, st, STG_rb, ir_val(f, g->cur[b.i][k]));
            ir_append(f, b, st);
        }
        ir_append(f, b, inst(g, OT_EXIT));
        return;
    }
    if (ir_block(f, b)->succs.n == 2) {
        InstId bra = ir_branch_new(f, ir_block(f, b)->succs.at[0]);
        ir_set_guard(f, bra, ir_val(f, pred(g)));
        ir_append(f, b, bra);
    }
    BlockId to = ir_block(f, b)->succs.at[ir_block(f, b)->succs.n - 1];
    ir_append(f, b, ir_branch_new(f, to));
}

static void gen_body(Gen *g, BlockId *ids) {
    Function *f = g->f;
    unsigned n = g->s.blocks, nvars = g->s.vars + g->s.preds;
    for (unsigned k = 0; k < n; k++) {
        BlockId b = g->b = ids[k];
        g->cur[b.i] = ARENA_ARRAY(f->arena, ValId, nvars);
        for (unsigned v = 0; v < nvars; v++) {
            RegFile file = v < g->s.vars ? RF_R : RF_P;
            if (k == 0) {
                InstId i = inst(g, file == RF_R ? OT_MOV : OT_ISETP);
                if (file == RF_R) {
                    ir_set_src(f, i, 0, v % 2 ? op_imm(v * 77) : op_cmem(0, 0x160 + v * 4));
                } else {
                    ir_inst(f, i)->mods = MSET(ISETP, cmp, ICmp_NE);
                    ir_set_src(f, i, 0, ir_val(f, g->cur[b.i][v % g->s.vars]));
                    ir_set_src(f, i, 1, op_imm(v));
                }
                g->cur[b.i][v] = result(g, i, 0, file);
                ir_append(f, b, i);
            } else { /* a phi even where there is one predecessor */
                InstId i = ir_inst_new(f, IR_PHI, 1, ir_block(f, b)->preds.n);
                g->cur[b.i][v] = result(g, i, 0, file);
                ir_append(f, b, i);
            }
        }
        for (unsigned i = 0; i < g->s.insts; i++)
            gen_inst(g);
        gen_end(g, b, k + 1 == n);
    }
    for (unsigned k = 1; k < n; k++)
        for (unsigned v = 0; v < nvars; v++) {
            InstId phi = ir_block(f, ids[k])->insts.at[v];
            for (unsigned p = 0; p < ir_block(f, ids[k])->preds.n; p++)
                ir_set_src(f, phi, p, ir_val(f, g->cur[ir_block(f, ids[k])->preds.at[p].i][v]));
        }
}

IrModule *random_module(const Target *t, StrTab *strings, RandomShape shape) {
    IrModule *m = ir_module_new(t, strings);
    m->opt_level = 2;
    if (shape.calls) { /* as if it had been compiled already */
        Function *c = ir_function_new(m, str_intern_z(strings, "callee"), false);
        static const uint32_t size[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, 16};
        for (unsigned k = 0; k < RF_COUNT; k++)
            c->summary.clobbers[k] = bs_new(c->arena, size[k]);
        for (uint32_t r = 0; r < 40; r++)
            if (r != 1)
                bs_add(&c->summary.clobbers[RF_R], r);
        for (uint32_t r = 0; r < 4; r++)
            bs_add(&c->summary.clobbers[RF_P], r);
    }
    Function *f = ir_function_new(m, str_intern_z(strings, "k"), true);
    Gen g = {.f = f, .s = shape, .rng = shape.seed, .strings = strings};
    BlockId ids[256];
    for (unsigned k = 0; k < shape.blocks; k++)
        ids[k] = ir_block_new(f);
    g.cur = ARENA_ARRAY(f->arena, ValId *, f->blocks.n);
    gen_edges(&g, ids);
    gen_body(&g, ids);
    ir_renumber(f);
    return m;
}

/* ---- evaluation ---- */

enum { LOCAL_BYTES = 1 << 16, STACK_TOP = 1 << 15 };

typedef struct {
    const Function *f;
    uint32_t *values;
    uint32_t reg[RF_COUNT][256];
    uint8_t *local;
    StoreLog *log;
    const char *unknown;
} Eval;

static uint32_t mix(uint32_t a, uint32_t b) {
    uint64_t s = (uint64_t)a << 32 | b;
    return (uint32_t)random_next(&s);
}

static uint32_t get(Eval *e, Operand o, unsigned c) {
    uint32_t x = 0;
    static const uint32_t zero[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, 99};
    switch (o.kind) {
    case OPK_VAL: x = e->values[ir_operand_value(e->f, o, c).i]; break;
    case OPK_REG:
        x = o.value == zero[o.file] ? (o.file == RF_P || o.file == RF_UP) : e->reg[o.file][o.value + c];
        break;
    case OPK_IMM: x = o.value; break;
    case OPK_CMEM:
        x = o.value == isa_target_info(e->f->module->target)->stack_top_offset_bytes ? STACK_TOP
                                                                                     : mix(o.value, 3);
        break;
    default: break;
    }
    if (o.mods & OPM_NOT)
        x = !x;
    return x;
}

static bool pget(Eval *e, Operand o) { return o.kind == OPK_NONE ? true : get(e, o, 0) != 0; }

static void set(Eval *e, Operand o, unsigned c, uint32_t x) {
    if (o.kind == OPK_VAL)
        e->values[ir_operand_value(e->f, o, c).i] = x;
    else if (o.kind == OPK_REG)
        e->reg[o.file][o.value + c] = x;
}

static void log_store(Eval *e, uint64_t x) { VEC_ADD(&e->log->a, &e->log->at, x); }

static uint32_t lut3(unsigned lut, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t r = 0;
    for (unsigned k = 0; k < 8; k++)
        if (lut >> k & 1)
            r |= (k & 4 ? a : ~a) & (k & 2 ? b : ~b) & (k & 1 ? c : ~c);
    return r;
}

static bool compare(unsigned cmp, bool sign, uint32_t a, uint32_t b) {
    int64_t x = sign ? (int64_t)(int32_t)a : (int64_t)a, y = sign ? (int64_t)(int32_t)b : (int64_t)b;
    switch (cmp) {
    case ICmp_F: return false;
    case ICmp_LT: return x < y;
    case ICmp_EQ: return x == y;
    case ICmp_LE: return x <= y;
    case ICmp_GT: return x > y;
    case ICmp_NE: return x != y;
    case ICmp_GE: return x >= y;
    default: return true;
    }
}

static void eval_call(Eval *e, const Inst *i) {
    const Function *callee = ir_callee(e->f, i);
    uint32_t h = 5;
    for (unsigned k = isa_num_src(OT_CALL); k + 1 < i->nsrc; k++) /* not the return address */
        h = mix(h, get(e, e->f->operands.at[i->operand + i->ndst + k], 0));
    for (unsigned file = 0; file < RF_B; file++)
        for (uint32_t r = 0; r < callee->summary.clobbers[file].nbits; r++)
            if (bs_has(&callee->summary.clobbers[file], r))
                e->reg[file][r] = file == RF_P ? 1 : 0xdead0000 + r;
    for (unsigned k = 0; k < i->ndst; k++)
        set(e, e->f->operands.at[i->operand + k], 0, mix(h, k));
}

static void eval_moves(Eval *e, const Inst *i) {
    uint32_t temp[256];
    for (unsigned k = 0; k < i->nsrc; k++)
        temp[k] = get(e, e->f->operands.at[i->operand + i->ndst + k], 0);
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand d = e->f->operands.at[i->operand + k];
        set(e, d, 0, d.file == RF_P ? temp[k] != 0 : temp[k]);
    }
}

static void eval_wide(Eval *e, Operand dst, const Operand *src) {
    uint64_t c = (uint64_t)get(e, src[IMAD_WIDE_rc], 1) << 32 | get(e, src[IMAD_WIDE_rc], 0);
    uint64_t x = (uint64_t)((int64_t)(int32_t)get(e, src[0], 0) * (int32_t)get(e, src[1], 0)) + c;
    set(e, dst, 0, (uint32_t)x);
    set(e, dst, 1, (uint32_t)(x >> 32));
}

static void eval_inst(Eval *e, const Inst *i) {
    Operand *dst = &e->f->operands.at[i->operand], *src = dst + i->ndst;
    if (!pget(e, i->guard)) {
        for (unsigned k = 0; (i->flags & IF_TIED) && k < i->ndst; k++)
            for (unsigned c = 0; dst[k].kind == OPK_VAL && c < dst[k].count; c++)
                set(e, dst[k], c, get(e, src[i->nsrc + k], c));
        return;
    }
    switch (i->op) {
    case OT_IADD3: set(e, dst[0], 0, get(e, src[0], 0) + get(e, src[1], 0) + get(e, src[2], 0)); break;
    case OT_LOP3:
        set(e, dst[0], 0,
            lut3(MGET(LOP3, lut, i->mods), get(e, src[0], 0), get(e, src[1], 0), get(e, src[2], 0)));
        break;
    case OT_MOV: set(e, dst[0], 0, get(e, src[0], 0)); break;
    case OT_UMOV:
    case OT_R2UR: set(e, dst[0], 0, get(e, src[0], 0)); break;
    case OT_UIADD3: set(e, dst[0], 0, get(e, src[0], 0) + get(e, src[1], 0) + get(e, src[2], 0)); break;
    case OT_USEL: set(e, dst[0], 0, pget(e, src[2]) ? get(e, src[0], 0) : get(e, src[1], 0)); break;
    case OT_UISETP:
        set(e, dst[0], 0,
            compare(MGET(UISETP, cmp, i->mods), MGET(UISETP, sign, i->mods), get(e, src[0], 0),
                    get(e, src[1], 0)));
        break;
    case OT_LDC: set(e, dst[0], 0, get(e, src[LDC_cb], 0)); break;
    case OT_ISETP:
        set(e, dst[0], 0,
            compare(MGET(ISETP, cmp, i->mods), MGET(ISETP, sign, i->mods), get(e, src[0], 0),
                    get(e, src[1], 0)));
        break;
    case OT_PLOP3:
        set(e, dst[0], 0,
            lut3(MGET(PLOP3, lut, i->mods), pget(e, src[0]), pget(e, src[1]), pget(e, src[2])) & 1);
        break;
    case OT_SEL: set(e, dst[0], 0, pget(e, src[2]) ? get(e, src[0], 0) : get(e, src[1], 0)); break;
    case OT_IMAD_WIDE: eval_wide(e, dst[0], src); break;
    case OT_LDG: {
        uint32_t h = mix(get(e, src[LDG_ra], 0) + get(e, src[LDG_offset], 0), get(e, src[LDG_ra], 1));
        for (unsigned c = 0; c < dst[0].count; c++)
            set(e, dst[0], c, mix(h, c));
        break;
    }
    case OT_STG:
        log_store(e, (uint64_t)get(e, src[STG_ra], 1) << 32 | get(e, src[STG_ra], 0));
        for (unsigned c = 0; c < src[STG_rb].count; c++)
            log_store(e, get(e, src[STG_rb], c));
        break;
    case OT_STL:
    case OT_LDL: {
        uint32_t at = get(e, src[0], 0) + get(e, src[2], 0), x = 0;
        if (at > LOCAL_BYTES - 4) {
            e->unknown = "local address";
        } else if (i->op == OT_STL) {
            x = get(e, src[STL_rb], 0);
            memcpy(e->local + at, &x, 4);
        } else {
            memcpy(&x, e->local + at, 4);
            set(e, dst[0], 0, x);
        }
        break;
    }
    case OT_CALL: eval_call(e, i); break;
    case IR_COPY:
    case IR_PARCOPY: eval_moves(e, i); break;
    case OT_LEPC:
        set(e, dst[0], 0, 0);
        set(e, dst[0], 1, 0);
        break;
    case OT_NOP:
    case OT_EXIT: break;
    default: e->unknown = ir_op_name(i->op);
    }
}

static BlockId eval_block(Eval *e, BlockId b, BlockId from, bool *exits) {
    const Function *f = e->f;
    const Block *blk = &f->blocks.at[b.i];
    unsigned p = 0, pred = 0;
    while (pred < blk->preds.n && blk->preds.at[pred].i != from.i)
        pred++;
    uint32_t *phis = malloc(sizeof *phis * (blk->insts.n + 1));
    for (; p < blk->insts.n && f->insts.at[blk->insts.at[p].i].op == IR_PHI; p++) {
        const Inst *i = &f->insts.at[blk->insts.at[p].i];
        phis[p] = get(e, f->operands.at[i->operand + 1 + pred], 0);
    }
    for (unsigned q = 0; q < p; q++)
        set(e, f->operands.at[f->insts.at[blk->insts.at[q].i].operand], 0, phis[q]);
    free(phis);
    for (; p < blk->insts.n && !e->unknown; p++) {
        const Inst *i = &f->insts.at[blk->insts.at[p].i];
        if (i->op == OT_BRA) {
            if (pget(e, i->guard))
                return (BlockId){f->operands.at[i->operand + i->ndst + IR_BRA_TARGET_SLOT].value};
            continue;
        }
        eval_inst(e, i);
        *exits |= i->op == OT_EXIT;
    }
    return blk->succs.n ? blk->succs.at[blk->succs.n - 1] : (BlockId){0};
}

bool eval_function(const Function *f, uint32_t first_new, unsigned visits, StoreLog *log) {
    Eval *e = calloc(1, sizeof *e);
    e->f = f;
    e->log = log;
    e->values = calloc(f->values.n, sizeof *e->values);
    e->local = calloc(1, LOCAL_BYTES);
    BlockId b = f->entry, from = {0};
    bool exits = false;
    while (!exits && !e->unknown && b.i) {
        if ((b.i < first_new || !first_new) && visits-- == 0)
            break;
        BlockId next = eval_block(e, b, from, &exits);
        from = b;
        b = next;
    }
    if (e->unknown)
        fprintf(stderr, "evaluator: %s\n", e->unknown);
    bool ok = !e->unknown;
    free(e->values);
    free(e->local);
    free(e);
    return ok;
}
