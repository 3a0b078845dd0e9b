/* See random_ir.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "random_ir.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- programs ---- */

typedef struct {
    Function *f;
    RandomShape s;
    uint64_t rng;
    ValId **cur; /* by block: values of the variables at its end; vars first, then preds */
    BlockId b;
    StrTab *strings;
} Gen;

static unsigned below(Gen *gen, unsigned n) { return (unsigned)(rng_next(&gen->rng) % n); }
static ValId var(Gen *gen) { return gen->cur[gen->b.i][below(gen, gen->s.vars)]; }
static ValId pred(Gen *gen) { return gen->cur[gen->b.i][gen->s.vars + below(gen, gen->s.preds)]; }
static Operand reg(Gen *gen) { return ir_val(gen->f, var(gen)); }

static void set_var(Gen *gen, ValId v) { gen->cur[gen->b.i][below(gen, gen->s.vars)] = v; }
static void set_pred(Gen *gen, ValId v) { gen->cur[gen->b.i][gen->s.vars + below(gen, gen->s.preds)] = v; }

static InstId inst(Gen *gen, unsigned op) {
    return ir_inst_new(gen->f, op, isa_num_dst(op), isa_num_src(op));
}

static ValId result(Gen *gen, InstId i, unsigned n, RegFile file) {
    ValId v = ir_value_new(gen->f, file);
    ir_set_dst(gen->f, i, n, ir_val(gen->f, v));
    return v;
}

static void gen_add(Gen *gen, bool guarded) {
    InstId i = inst(gen, OT_IADD3);
    ir_set_src(gen->f, i, IADD3_ra, reg(gen));
    ir_set_src(gen->f, i, IADD3_rb, below(gen, 3) ? reg(gen) : op_imm((uint32_t)rng_next(&gen->rng)));
    ir_set_src(gen->f, i, IADD3_rc, reg(gen));
    ValId v = result(gen, i, 0, RF_R);
    if (guarded) {
        Operand p = ir_val(gen->f, pred(gen));
        if (below(gen, 2))
            p.mods = OPM_NOT;
        ir_set_guard(gen->f, i, p);
        *ir_tied(gen->f, ir_inst(gen->f, i), 0) = reg(gen);
    }
    ir_append(gen->f, gen->b, i);
    set_var(gen, v);
}

static void gen_logic(Gen *gen) {
    InstId i = inst(gen, OT_LOP3);
    ir_inst(gen->f, i)->mods = MSET(LOP3, lut, below(gen, 256));
    for (unsigned k = 0; k < 3; k++)
        ir_set_src(gen->f, i, k, reg(gen));
    ValId v = result(gen, i, 0, RF_R);
    ir_append(gen->f, gen->b, i);
    set_var(gen, v);
}

static void gen_mov(Gen *gen) {
    InstId i = inst(gen, OT_MOV);
    ir_set_src(gen->f, i, 0, op_imm((uint32_t)rng_next(&gen->rng)));
    ValId v = result(gen, i, 0, RF_R);
    ir_append(gen->f, gen->b, i);
    set_var(gen, v);
}

static void gen_compare(Gen *gen) {
    InstId i = inst(gen, OT_ISETP);
    ir_inst(gen->f, i)->mods = MSET(ISETP, cmp, below(gen, 8)) | MSET(ISETP, sign, below(gen, 2));
    ir_set_src(gen->f, i, ISETP_ra, reg(gen));
    ir_set_src(gen->f, i, ISETP_rb, reg(gen));
    ValId v = result(gen, i, 0, RF_P);
    ir_append(gen->f, gen->b, i);
    set_pred(gen, v);
}

static void gen_plop(Gen *gen) {
    InstId i = inst(gen, OT_PLOP3);
    ir_inst(gen->f, i)->mods = MSET(PLOP3, lut, below(gen, 256));
    for (unsigned k = 0; k < 3; k++)
        ir_set_src(gen->f, i, k, ir_val(gen->f, pred(gen)));
    ValId v = result(gen, i, 0, RF_P);
    ir_append(gen->f, gen->b, i);
    set_pred(gen, v);
}

static void gen_select(Gen *gen) {
    InstId i = inst(gen, OT_SEL);
    ir_set_src(gen->f, i, SEL_ra, reg(gen));
    ir_set_src(gen->f, i, SEL_rb, reg(gen));
    ir_set_src(gen->f, i, SEL_pp, ir_val(gen->f, pred(gen)));
    ValId v = result(gen, i, 0, RF_R);
    ir_append(gen->f, gen->b, i);
    set_var(gen, v);
}

static Operand vec(Gen *gen, unsigned count) {
    ValId v[4] = {{0}};
    for (unsigned k = 0; k < count; k++)
        v[k] = var(gen);
    return ir_vec(gen->f, v, count);
}

static void set_vec(Gen *gen, InstId i, unsigned count) {
    ValId v[4] = {{0}};
    for (unsigned k = 0; k < count; k++)
        v[k] = ir_value_new(gen->f, RF_R);
    ir_set_dst(gen->f, i, 0, ir_vec(gen->f, v, count));
    for (unsigned k = 0; k < count; k++)
        set_var(gen, v[k]);
}

static void gen_wide(Gen *gen) {
    InstId i = inst(gen, OT_IMAD_WIDE);
    ir_set_src(gen->f, i, IMAD_WIDE_ra, reg(gen));
    ir_set_src(gen->f, i, IMAD_WIDE_rb, reg(gen));
    ir_set_src(gen->f, i, IMAD_WIDE_rc, vec(gen, 2));
    set_vec(gen, i, 2);
    ir_append(gen->f, gen->b, i);
}

static void gen_load(Gen *gen) {
    static const uint8_t count[] = {1, 2, 4};
    unsigned k = below(gen, 3);
    InstId i = inst(gen, OT_LDG);
    ir_inst(gen->f, i)->mods = MSET(LDG, sz, MemSz_32 + k) | MSET(LDG, e, 1);
    ir_set_src(gen->f, i, LDG_ra, op_with(vec(gen, 2), OPM_WIDE64));
    ir_set_src(gen->f, i, LDG_offset, op_imm(below(gen, 64) * 16));
    bool guarded = gen->s.guards && below(gen, 4) == 0;
    Operand old = vec(gen, count[k]);
    set_vec(gen, i, count[k]);
    if (guarded) {
        ir_set_guard(gen->f, i, ir_val(gen->f, pred(gen)));
        *ir_tied(gen->f, ir_inst(gen->f, i), 0) = old;
    }
    ir_append(gen->f, gen->b, i);
}

static void gen_store(Gen *gen) {
    static const uint8_t count[] = {1, 2, 4};
    unsigned k = gen->s.vectors ? below(gen, 3) : 0;
    InstId i = inst(gen, OT_STG);
    ir_inst(gen->f, i)->mods = MSET(STG, sz, MemSz_32 + k) | MSET(STG, e, 1);
    if (gen->s.vectors)
        ir_set_src(gen->f, i, STG_ra, op_with(vec(gen, 2), OPM_WIDE64));
    ir_set_src(gen->f, i, STG_offset, op_imm(below(gen, 64) * 16));
    ir_set_src(gen->f, i, STG_rb, vec(gen, count[k]));
    ir_append(gen->f, gen->b, i);
}

static ValId fixed(Gen *gen, int reg_number) {
    ValId v = ir_value_new(gen->f, RF_R);
    ir_value(gen->f, v)->fixed_reg = (int16_t)reg_number;
    return v;
}

static void gen_call(Gen *gen) {
    unsigned nargs = 1 + below(gen, 4), nrets = 1 + below(gen, 2);
    InstId pc = ir_inst_new(gen->f, IR_PARCOPY, nargs, nargs);
    InstId call = ir_inst_new(gen->f, OT_CALL, nrets, isa_num_src(OT_CALL) + nargs + 1);
    InstId lepc = inst(gen, OT_LEPC), back = ir_inst_new(gen->f, IR_PARCOPY, nrets, nrets);
    for (unsigned k = 0; k < nargs; k++) {
        ValId v = fixed(gen, 4 + (int)k);
        ir_set_dst(gen->f, pc, k, ir_val(gen->f, v));
        ir_set_src(gen->f, pc, k, reg(gen));
        ir_set_src(gen->f, call, isa_num_src(OT_CALL) + k, ir_val(gen->f, v));
    }
    ValId ra[2] = {fixed(gen, 20), fixed(gen, 21)};
    Operand pair = ir_vec(gen->f, ra, 2);
    ir_set_dst(gen->f, lepc, 0, pair);
    ir_set_src(gen->f, call, isa_num_src(OT_CALL) + nargs, pair);
    ir_set_src(gen->f, call, CALL_offset,
               ir_sym(gen->f, str_intern_z(gen->strings, "callee"), 0, RELOC_CALL_REL));
    ir_set_src(gen->f, call, CALL_ra, op_rz());
    ValId out[2];
    for (unsigned k = 0; k < nrets; k++) {
        ValId v = fixed(gen, 4 + (int)k);
        ir_set_dst(gen->f, call, k, ir_val(gen->f, v));
        ir_set_src(gen->f, back, k, ir_val(gen->f, v));
        out[k] = ir_value_new(gen->f, RF_R);
        ir_set_dst(gen->f, back, k, ir_val(gen->f, out[k]));
    }
    ir_append(gen->f, gen->b, pc);
    ir_append(gen->f, gen->b, lepc);
    ir_append(gen->f, gen->b, call);
    ir_append(gen->f, gen->b, back);
    for (unsigned k = 0; k < nrets; k++)
        set_var(gen, out[k]);
}

static void gen_inst(Gen *gen) {
    switch (below(gen, 12)) {
    case 0:
    case 1: gen_add(gen, false); break;
    case 2: gen_add(gen, gen->s.guards); break;
    case 3: gen_logic(gen); break;
    case 4: gen_mov(gen); break;
    case 5: gen_compare(gen); break;
    case 6: gen_plop(gen); break;
    case 7: gen_select(gen); break;
    case 8: gen->s.vectors ? gen_wide(gen) : gen_add(gen, false); break;
    case 9: gen->s.vectors ? gen_load(gen) : gen_logic(gen); break;
    case 10: gen_store(gen); break;
    default:
        if (gen->s.calls && below(gen, 3) == 0)
            gen_call(gen);
        else
            gen_compare(gen);
    }
}

static void gen_edges(Gen *gen, BlockId *ids) {
    unsigned n = gen->s.blocks;
    for (unsigned k = 0; k + 1 < n; k++) {
        BlockId other = ids[1 + below(gen, n - 1)]; /* not the entry */
        if (below(gen, 3) && other.i != ids[k + 1].i)
            ir_add_edge(gen->f, ids[k], other);
        ir_add_edge(gen->f, ids[k], ids[k + 1]);
    }
}

static void gen_end(Gen *gen, BlockId b, bool last) {
    Function *f = gen->f;
    if (last) {
        for (unsigned k = 0; k < gen->s.vars; k += 3) { /* so that values live to the end */
            InstId st = inst(gen, OT_STG);
            ir_inst(f, st)->mods = MSET(STG, sz, MemSz_32);
            ir_set_src(f, st, STG_offset, op_imm(k * 4));
            ir_set_src(f, st, STG_rb, ir_val(f, gen->cur[b.i][k]));
            ir_append(f, b, st);
        }
        ir_append(f, b, inst(gen, OT_EXIT));
        return;
    }
    if (ir_block(f, b)->succs.n == 2) {
        InstId bra = ir_branch_new(f, ir_block(f, b)->succs.at[0]);
        ir_set_guard(f, bra, ir_val(f, pred(gen)));
        ir_append(f, b, bra);
    }
    BlockId to = ir_block(f, b)->succs.at[ir_block(f, b)->succs.n - 1];
    ir_append(f, b, ir_branch_new(f, to));
}

static void gen_body(Gen *gen, BlockId *ids) {
    Function *f = gen->f;
    unsigned n = gen->s.blocks, nvars = gen->s.vars + gen->s.preds;
    for (unsigned k = 0; k < n; k++) {
        BlockId b = gen->b = ids[k];
        gen->cur[b.i] = ARENA_ARRAY(f->arena, ValId, nvars);
        for (unsigned v = 0; v < nvars; v++) {
            RegFile file = v < gen->s.vars ? RF_R : RF_P;
            if (k == 0) {
                InstId i = inst(gen, file == RF_R ? OT_MOV : OT_ISETP);
                if (file == RF_R) {
                    ir_set_src(f, i, 0, v % 2 ? op_imm(v * 77) : op_cmem(0, 0x160 + v * 4));
                } else {
                    ir_inst(f, i)->mods = MSET(ISETP, cmp, ICmp_NE);
                    ir_set_src(f, i, 0, ir_val(f, gen->cur[b.i][v % gen->s.vars]));
                    ir_set_src(f, i, 1, op_imm(v));
                }
                gen->cur[b.i][v] = result(gen, i, 0, file);
                ir_append(f, b, i);
            } else { /* a phi even where there is one predecessor */
                InstId i = ir_inst_new(f, IR_PHI, 1, ir_block(f, b)->preds.n);
                gen->cur[b.i][v] = result(gen, i, 0, file);
                ir_append(f, b, i);
            }
        }
        for (unsigned i = 0; i < gen->s.insts; i++)
            gen_inst(gen);
        gen_end(gen, b, k + 1 == n);
    }
    for (unsigned k = 1; k < n; k++)
        for (unsigned v = 0; v < nvars; v++) {
            InstId phi = ir_block(f, ids[k])->insts.at[v];
            for (unsigned p = 0; p < ir_block(f, ids[k])->preds.n; p++)
                ir_set_src(f, phi, p, ir_val(f, gen->cur[ir_block(f, ids[k])->preds.at[p].i][v]));
        }
}

IrModule *random_module(const Target *t, StrTab *strings, RandomShape shape) {
    IrModule *module = ir_module_new(t, strings);
    module->opt_level = 2;
    if (shape.calls) { /* as if it had been compiled already */
        Function *function = ir_function_new(module, str_intern_z(strings, "callee"), false);
        static const uint32_t size[RF_COUNT] = {REG_RZ, REG_PT, NUM_UR, REG_UPT, 16};
        for (unsigned k = 0; k < RF_COUNT; k++)
            function->summary.clobbers[k] = bs_new(function->arena, size[k]);
        for (uint32_t r = 0; r < 40; r++)
            if (r != 1)
                bs_add(&function->summary.clobbers[RF_R], r);
        for (uint32_t r = 0; r < 4; r++)
            bs_add(&function->summary.clobbers[RF_P], r);
    }
    Function *f = ir_function_new(module, str_intern_z(strings, "k"), true);
    Gen g = {.f = f, .s = shape, .rng = shape.seed, .strings = strings};
    BlockId ids[256];
    for (unsigned k = 0; k < shape.blocks; k++)
        ids[k] = ir_block_new(f);
    g.cur = ARENA_ARRAY(f->arena, ValId *, f->blocks.n);
    gen_edges(&g, ids);
    gen_body(&g, ids);
    ir_renumber(f);
    return module;
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
    return (uint32_t)rng_next(&s);
}

static uint32_t get(Eval *eval, Operand o, unsigned c) {
    uint32_t x = 0;
    static const uint32_t zero[RF_COUNT] = {REG_RZ, REG_PT, REG_URZ, REG_UPT, 99};
    switch (o.kind) {
    case OPK_VAL: x = eval->values[ir_operand_value(eval->f, o, c).i]; break;
    case OPK_REG:
        x = o.value == zero[o.file] ? (o.file == RF_P || o.file == RF_UP) : eval->reg[o.file][o.value + c];
        break;
    case OPK_IMM: x = o.value; break;
    case OPK_CMEM:
        x = o.value == isa_target_info(eval->f->module->target)->stack_top_offset_bytes ? STACK_TOP
                                                                                        : mix(o.value, 3);
        break;
    default: break;
    }
    if (o.mods & OPM_NOT)
        x = !x;
    return x;
}

static bool pget(Eval *e, Operand o) { return o.kind == OPK_NONE ? true : get(e, o, 0) != 0; }

static void set(Eval *eval, Operand o, unsigned c, uint32_t x) {
    if (o.kind == OPK_VAL)
        eval->values[ir_operand_value(eval->f, o, c).i] = x;
    else if (o.kind == OPK_REG)
        eval->reg[o.file][o.value + c] = x;
}

static void log_store(Eval *eval, uint64_t x) { VEC_ADD(&eval->log->a, &eval->log->at, x); }

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

static void eval_call(Eval *eval, const Inst *i) {
    const Function *callee = ir_callee(eval->f, i);
    uint32_t h = 5;
    for (unsigned k = isa_num_src(OT_CALL); k + 1 < i->nsrc; k++) /* not the return address */
        h = mix(h, get(eval, eval->f->operands.at[i->operand + i->ndst + k], 0));
    for (unsigned file = 0; file < RF_B; file++)
        for (uint32_t r = 0; r < callee->summary.clobbers[file].nbits; r++)
            if (bs_has(&callee->summary.clobbers[file], r))
                eval->reg[file][r] = file == RF_P ? 1 : 0xdead0000 + r;
    for (unsigned k = 0; k < i->ndst; k++)
        set(eval, eval->f->operands.at[i->operand + k], 0, mix(h, k));
}

static void eval_moves(Eval *eval, const Inst *i) {
    uint32_t temp[256];
    for (unsigned k = 0; k < i->ndst; k++) /* what follows are scratch registers */
        temp[k] = get(eval, eval->f->operands.at[i->operand + i->ndst + k], 0);
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand d = eval->f->operands.at[i->operand + k];
        set(eval, d, 0, d.file == RF_P ? temp[k] != 0 : temp[k]);
    }
}

static void eval_wide(Eval *e, Operand dst, const Operand *src) {
    uint64_t c = (uint64_t)get(e, src[IMAD_WIDE_rc], 1) << 32 | get(e, src[IMAD_WIDE_rc], 0);
    uint64_t x = (uint64_t)((int64_t)(int32_t)get(e, src[0], 0) * (int32_t)get(e, src[1], 0)) + c;
    set(e, dst, 0, (uint32_t)x);
    set(e, dst, 1, (uint32_t)(x >> 32));
}

static void eval_inst(Eval *eval, const Inst *i) {
    Operand *dst = &eval->f->operands.at[i->operand], *src = dst + i->ndst;
    if (!pget(eval, i->guard)) {
        for (unsigned k = 0; (i->flags & IF_TIED) && k < i->ndst; k++)
            for (unsigned c = 0; dst[k].kind == OPK_VAL && c < dst[k].count; c++)
                set(eval, dst[k], c, get(eval, src[i->nsrc + k], c));
        return;
    }
    switch (i->op) {
    case OT_IADD3:
        set(eval, dst[0], 0, get(eval, src[0], 0) + get(eval, src[1], 0) + get(eval, src[2], 0));
        break;
    case OT_LOP3:
        set(eval, dst[0], 0,
            lut3(MGET(LOP3, lut, i->mods), get(eval, src[0], 0), get(eval, src[1], 0), get(eval, src[2], 0)));
        break;
    case OT_MOV: set(eval, dst[0], 0, get(eval, src[0], 0)); break;
    case OT_UMOV:
    case OT_R2UR: set(eval, dst[0], 0, get(eval, src[0], 0)); break;
    case OT_UIADD3:
        set(eval, dst[0], 0, get(eval, src[0], 0) + get(eval, src[1], 0) + get(eval, src[2], 0));
        break;
    case OT_USEL:
        set(eval, dst[0], 0, pget(eval, src[2]) ? get(eval, src[0], 0) : get(eval, src[1], 0));
        break;
    case OT_UISETP:
        set(eval, dst[0], 0,
            compare(MGET(UISETP, cmp, i->mods), MGET(UISETP, sign, i->mods), get(eval, src[0], 0),
                    get(eval, src[1], 0)));
        break;
    case OT_LDC: set(eval, dst[0], 0, get(eval, src[LDC_cb], 0)); break;
    case OT_ISETP:
        set(eval, dst[0], 0,
            compare(MGET(ISETP, cmp, i->mods), MGET(ISETP, sign, i->mods), get(eval, src[0], 0),
                    get(eval, src[1], 0)));
        break;
    case OT_PLOP3:
        set(eval, dst[0], 0,
            lut3(MGET(PLOP3, lut, i->mods), pget(eval, src[0]), pget(eval, src[1]), pget(eval, src[2])) & 1);
        break;
    case OT_SEL:
        set(eval, dst[0], 0, pget(eval, src[2]) ? get(eval, src[0], 0) : get(eval, src[1], 0));
        break;
    case OT_IMAD_WIDE: eval_wide(eval, dst[0], src); break;
    case OT_LDG: {
        uint32_t h =
            mix(get(eval, src[LDG_ra], 0) + get(eval, src[LDG_offset], 0), get(eval, src[LDG_ra], 1));
        for (unsigned c = 0; c < dst[0].count; c++)
            set(eval, dst[0], c, mix(h, c));
        break;
    }
    case OT_STG:
        log_store(eval, (uint64_t)get(eval, src[STG_ra], 1) << 32 | get(eval, src[STG_ra], 0));
        for (unsigned c = 0; c < src[STG_rb].count; c++)
            log_store(eval, get(eval, src[STG_rb], c));
        break;
    case OT_STL:
    case OT_LDL: {
        uint32_t at = get(eval, src[0], 0) + get(eval, src[2], 0), x = 0;
        if (at > LOCAL_BYTES - 4) {
            eval->unknown = "local address";
        } else if (i->op == OT_STL) {
            x = get(eval, src[STL_rb], 0);
            memcpy(eval->local + at, &x, 4);
        } else {
            memcpy(&x, eval->local + at, 4);
            set(eval, dst[0], 0, x);
        }
        break;
    }
    case OT_CALL: eval_call(eval, i); break;
    case IR_COPY:
    case IR_PARCOPY: eval_moves(eval, i); break;
    case OT_LEPC:
        set(eval, dst[0], 0, 0);
        set(eval, dst[0], 1, 0);
        break;
    case OT_NOP:
    case OT_EXIT: break;
    default: eval->unknown = ir_op_name(i->op);
    }
}

static BlockId eval_block(Eval *eval, BlockId b, BlockId from, bool *exits) {
    const Function *f = eval->f;
    const Block *blk = &f->blocks.at[b.i];
    unsigned p = 0, pred = 0;
    while (pred < blk->preds.n && blk->preds.at[pred].i != from.i)
        pred++;
    uint32_t *phis = malloc(sizeof *phis * (blk->insts.n + 1));
    for (; p < blk->insts.n && f->insts.at[blk->insts.at[p].i].op == IR_PHI; p++) {
        const Inst *i = &f->insts.at[blk->insts.at[p].i];
        phis[p] = get(eval, f->operands.at[i->operand + 1 + pred], 0);
    }
    for (unsigned q = 0; q < p; q++)
        set(eval, f->operands.at[f->insts.at[blk->insts.at[q].i].operand], 0, phis[q]);
    free(phis);
    for (; p < blk->insts.n && !eval->unknown; p++) {
        const Inst *i = &f->insts.at[blk->insts.at[p].i];
        if (i->op == OT_BRA) {
            if (pget(eval, i->guard))
                return (BlockId){f->operands.at[i->operand + i->ndst + IR_BRA_TARGET_SLOT].value};
            continue;
        }
        eval_inst(eval, i);
        *exits |= i->op == OT_EXIT;
    }
    return blk->succs.n ? blk->succs.at[blk->succs.n - 1] : (BlockId){0};
}

bool eval_function(const Function *f, uint32_t first_new, unsigned visits, StoreLog *log) {
    Eval *eval = calloc(1, sizeof *eval);
    eval->f = f;
    eval->log = log;
    eval->values = calloc(f->values.n, sizeof *eval->values);
    eval->local = calloc(1, LOCAL_BYTES);
    BlockId b = f->entry, from = {0};
    bool exits = false;
    while (!exits && !eval->unknown && b.i) {
        if ((b.i < first_new || !first_new) && visits-- == 0)
            break;
        BlockId next = eval_block(eval, b, from, &exits);
        from = b;
        b = next;
    }
    if (eval->unknown)
        fprintf(stderr, "evaluator: %s\n", eval->unknown);
    bool ok = !eval->unknown;
    free(eval->values);
    free(eval->local);
    free(eval);
    return ok;
}
