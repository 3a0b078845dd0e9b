/* What PTX leaves to the compiler: products and sums without a rounding modifier may become fused operations
 * (PTX ISA 9.7.3, mul and add) and those of f16 need not be rounded before they become f32, .approx and .full
 * results have an error bound, not bits, and neg and abs make some NaN of a NaN (9.7.3.10 and 11). The
 * interpreter does nothing of the kind of its own accord; asked to, it runs a kernel as another compiler may
 * have made it, so that what another compiler's binary does can be told from an error. Operations asked for
 * by name are those of which the document leaves a latitude of its own, which is no column.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <math.h>

static bool may_contract(const PtxInsn *in, PtxOp op) { return in->op == op && in->flags & PF_CONTRACT; }
static bool is_sum(const PtxInsn *in) { return may_contract(in, PTX_ADD) || may_contract(in, PTX_SUB); }
static bool widens(const PtxInsn *in) {
    return in->op == PTX_CVT && in->type[0] == TY_F32 && in->type[1] == TY_F16 && !(in->flags & PF_SAT);
}
static bool is_approximate(const PtxInsn *in) { return (in->flags & (PF_APPROX | PF_FULL)) != 0; }
static bool changes_sign(const PtxInsn *in) {
    return (in->op == PTX_NEG || in->op == PTX_ABS) && in->type[0] == TY_F32;
}

unsigned interp_latitude(const PtxModule *module) {
    unsigned all = 0;
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t i = 0; i < module->funcs[f].ninsns; i++) {
            const PtxInsn *in = &module->funcs[f].insns[i];
            all |= is_sum(in) || widens(in) ? PTX_LATITUDE_FUSE : 0;
            all |= is_approximate(in) ? PTX_LATITUDE_APPROX : 0;
            all |= changes_sign(in) ? PTX_LATITUDE_SIGN : 0;
        }
    return all;
}

/* ---- fused products ---- */

static uint64_t signs(const PtxCode *code) {
    switch (code->type) {
    case TY_F64: return 1ull << 63;
    case TY_F32: return 1ull << 31;
    case TY_F16X2:
    case TY_BF16X2: return 0x80008000;
    default: return 0x8000;
    }
}
static uint64_t fused(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    if (code->fused & PTX_FUSED_QUOTIENT)
        interp_quotient((code->fused & PTX_FUSED_FULL) != 0, &a, &b, code);
    a ^= code->fused & PTX_FUSED_MINUS_PRODUCT ? signs(code) : 0;
    c ^= code->fused & PTX_FUSED_MINUS_ADDEND ? signs(code) : 0;
    return code->inner(a, b, c, code);
}

typedef struct {
    PtxProc *proc;
    uint32_t *ndefs, *last; /* by register: definitions in all; the last one + 1 in this block */
    uint32_t block;         /* first statement of it */
} Defs;

static void each_def(const PtxOperand *operand, void (*each)(Defs *, uint32_t, uint32_t), Defs *defs,
                     uint32_t at) {
    if (operand->kind == PO_REG)
        each(defs, operand->reg, at);
    for (unsigned i = 0; operand->kind == PO_VEC && i < operand->nvec; i++)
        if (operand->vec[i].kind == PO_REG)
            each(defs, operand->vec[i].reg, at);
}
static void count_def(Defs *defs, uint32_t reg, uint32_t at) {
    (void)at;
    defs->ndefs[reg]++;
}
static void note_def(Defs *defs, uint32_t reg, uint32_t at) { defs->last[reg] = at + 1; }

static bool here(const Defs *defs, uint32_t reg) { return defs->last[reg] > defs->block; }

/* Does the register still have the value that it had at statement `at`? */
static bool is_kept(const Defs *defs, const PtxOperand *operand, uint32_t at) {
    return operand->kind != PO_REG || defs->ndefs[operand->reg] <= 1 ||
           (at >= defs->block && (!here(defs, operand->reg) || defs->last[operand->reg] <= at));
}

/* div.approx.f32 is its dividend times a reciprocal (PTX ISA 9.7.3.8), which ptxas fuses like any product,
 * and so is its div.full.f32, of both scaled. */
static bool is_product(const PtxInsn *in) {
    return may_contract(in, PTX_MUL) || (in->op == PTX_DIV && in->type[0] == TY_F32 && is_approximate(in));
}

/* The operation of two operands that makes operand k of the statement, whatever is written in between; NULL
 * if it may be another, or its operands have other values now. */
static const PtxCode *maker_of(const Defs *defs, const PtxInsn *statement, unsigned k) {
    const PtxOperand *operand = &statement->operands[statement->ndst + k];
    uint32_t reg = operand->kind == PO_REG ? operand->reg : 0, at = reg ? defs->last[reg] : 0;
    if (!at || (!here(defs, reg) && defs->ndefs[reg] > 1))
        return NULL;
    const PtxInsn *in = &defs->proc->func->insns[at - 1];
    bool fits = (is_product(in) || is_sum(in)) && !in->guard_reg && is_kept(defs, &in->operands[1], at - 1) &&
                is_kept(defs, &in->operands[2], at - 1);
    return fits ? &defs->proc->code[at - 1] : NULL;
}

/* The product that operand k of the sum is, where it may be fused; NULL if there is none. */
static const PtxCode *factors_of(const Defs *defs, const PtxInsn *sum, unsigned k) {
    const PtxCode *product = maker_of(defs, sum, k);
    const PtxInsn *in = product ? product->insn : NULL;
    return in && is_product(in) && in->type[0] == sum->type[0] && !(in->flags & PF_SAT) &&
                   (in->flags & PF_FTZ) == (sum->flags & PF_FTZ)
               ? product
               : NULL;
}

static void fuse(const Defs *defs, PtxCode *code, unsigned first) {
    for (unsigned n = 0; n < 2; n++) {
        unsigned k = (first + n) & 1;
        const PtxCode *factors = factors_of(defs, code->insn, k);
        if (!factors || code->nsrc != 2)
            continue;
        PtxArg addend = code->src[1 - k];
        bool minus = code->insn->op == PTX_SUB, half = ptx_type_bytes((PtxType)code->type) == 2 ||
                                                       code->type == TY_F16X2 || code->type == TY_BF16X2;
        code->src[0] = factors->src[0], code->src[1] = factors->src[1], code->src[2] = addend;
        code->nsrc = 3;
        (half ? interp_bind_hfma : interp_bind_fma)(code);
        code->inner = code->pure;
        code->pure = fused;
        code->fused = (uint8_t)((factors->insn->op == PTX_DIV ? PTX_FUSED_QUOTIENT : 0) |
                                (factors->insn->flags & PF_FULL ? PTX_FUSED_FULL : 0) |
                                (!minus   ? 0
                                 : k == 1 ? PTX_FUSED_MINUS_PRODUCT
                                          : PTX_FUSED_MINUS_ADDEND));
        return;
    }
}

/* A sum or product of f16 that becomes f32 without having been rounded to f16. */
static uint64_t unrounded(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    uint16_t half[2] = {(uint16_t)a, (uint16_t)b};
    (void)c;
    for (unsigned i = 0; i < 2; i++)
        half[i] &= code->ftz && !(half[i] & 0x7c00) ? 0x8000 : 0xffff;
    double x = interp_half_value(FMT_F16, half[0]), y = interp_half_value(FMT_F16, half[1]);
    y = code->fused & PTX_FUSED_MINUS_ADDEND ? -y : y;
    double exact = code->fused & PTX_FUSED_WIDE_PRODUCT ? x * y : x + y;
    if (code->sat)
        exact = exact > 0 ? fmin(exact, 1) : 0;
    return isnan(exact) ? 0x7fffffff : interp_round_double(FMT_F32, exact, RND_RN);
}

/* ptxas 13.0 makes one HMUL2.F32 or HADD2.F32 of the two statements for sm_75. */
static void widen(const Defs *defs, PtxCode *code) {
    const PtxCode *maker = maker_of(defs, code->insn, 0);
    if (!maker || maker->insn->type[0] != TY_F16 || maker->nsrc != 2 || code->exec != interp_exec_pure)
        return;
    code->src[0] = maker->src[0], code->src[1] = maker->src[1];
    code->nsrc = 2;
    code->ftz = maker->ftz, code->sat = maker->sat;
    code->pure = unrounded;
    code->fused = maker->insn->op == PTX_MUL   ? PTX_FUSED_WIDE_PRODUCT
                  : maker->insn->op == PTX_SUB ? PTX_FUSED_MINUS_ADDEND
                                               : 0;
}

static void fuse_all(PtxRun *run, PtxProc *proc) {
    const PtxFunc *f = proc->func;
    Defs defs = {.proc = proc};
    defs.ndefs = ARENA_ARRAY(&run->arena, uint32_t, f->nregs + 1);
    defs.last = ARENA_ARRAY(&run->arena, uint32_t, f->nregs + 1);
    uint8_t *leader = ARENA_ARRAY(&run->arena, uint8_t, f->ninsns + 1);
    for (uint32_t i = 0; i < f->nlabels; i++)
        leader[f->labels[i].insn] = 1;
    for (uint32_t i = 0; i < f->ninsns; i++)
        for (unsigned k = 0; k < f->insns[i].ndst; k++)
            each_def(&f->insns[i].operands[k], count_def, &defs, i);
    for (uint32_t i = 0; i < f->ninsns; i++) {
        defs.block = leader[i] ? i : defs.block;
        if (is_sum(&f->insns[i]))
            fuse(&defs, &proc->code[i], run->opt.fuse - 1u);
        else if (widens(&f->insns[i]))
            widen(&defs, &proc->code[i]);
        for (unsigned k = 0; k < f->insns[i].ndst; k++)
            each_def(&f->insns[i].operands[k], note_def, &defs, i);
    }
}

/* ---- approximations ---- */

/* Bounds of PTX ISA 9.7.3: sin and cos absolute, and beyond two pi of the argument's size; tanh and f64
 * relative; others two units in the last place. */
static float moved(float value, float argument, unsigned op, float direction) {
    float relative = op == PTX_TANH ? 0x1p-11f : 0x1p-22f, turns = fabsf(argument) / 6.2831853f;
    float absolute = op == PTX_SIN || op == PTX_COS ? 0x1.6ap-21f * (turns > 1 ? turns : 1)
                     : op == PTX_LG2                ? 0x1p-22f
                                                    : 0;
    float by = fabsf(value) * relative;
    return value + direction * (by > absolute ? by : absolute);
}

static uint64_t approximate(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    uint64_t bits = code->inner(a, b, c, code);
    float direction = code->direction;
    if (code->type == TY_F32) {
        float value = f32_of((uint32_t)bits);
        return isfinite(value) && value != 0
                   ? f32_bits(moved(value, f32_of((uint32_t)a), code->insn->op, direction))
                   : bits;
    }
    if (code->type == TY_F64) {
        double value;
        memcpy(&value, &bits, 8);
        value += isfinite(value) ? value * 0x1p-20 * (double)direction : 0;
        memcpy(&bits, &value, 8);
    }
    return bits;
}

/* rsqrt.approx.f64 as ptxas 13.0 makes it: a step of Newton's from what MUFU says of the high word. */
static uint64_t rsqrt_by_steps(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    bool small = a >> 52 == 0 && a != 0;
    if (a == 0 || a >> 52 >= 0x7ff)
        return code->inner(a, b, c, code);
    double x = f64_of(a) * (small ? 0x1p54 : 1), y = f64_of(interp_rsqrt64h(f64_bits(x)));
    double error = fma(x, -(y * y), 1);
    return f64_bits(fma(fma(error, 0.375, 0.5), y * error, y) * (small ? 0x1p27 : 1));
}

static void take_approx(PtxCode *code, PtxApprox approx, uint32_t at) {
    bool steps = approx == PTX_APPROX_STEPS;
    if (!is_approximate(code->insn) || code->exec != interp_exec_pure ||
        (steps && (code->insn->op != PTX_RSQRT || code->type != TY_F64 || code->ftz)))
        return;
    code->inner = code->pure;
    code->pure = steps ? rsqrt_by_steps : approximate;
    code->direction = approx == PTX_APPROX_MIXED ? (at * 7 / 3 & 1 ? 1 : -1)
                      : approx == PTX_APPROX_UP  ? 1
                                                 : -1;
}

/* ---- signs ---- */

/* As where ptxas makes it a sign of an operand that is chosen or moved, not computed with. */
static uint64_t sign_alone(uint64_t a, uint64_t b, uint64_t c, const PtxCode *code) {
    uint64_t sign = signs(code);
    if (!isnan(f32_of((uint32_t)a)))
        return code->inner(a, b, c, code);
    return code->insn->op == PTX_NEG ? (uint32_t)a ^ sign : (uint32_t)a & ~sign;
}

static void take_sign(PtxCode *code) {
    if (!changes_sign(code->insn) || code->exec != interp_exec_pure)
        return;
    code->inner = code->pure;
    code->pure = sign_alone;
}

void interp_take_latitude(PtxRun *run, PtxProc *proc) {
    if (run->opt.fuse)
        fuse_all(run, proc);
    for (uint32_t i = 0; run->opt.approx && i < proc->func->ninsns; i++)
        take_approx(&proc->code[i], (PtxApprox)run->opt.approx, i);
    for (uint32_t i = 0; run->opt.sign_alone && i < proc->func->ninsns; i++)
        take_sign(&proc->code[i]);
}
