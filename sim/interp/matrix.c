/* Matrices that a warp has in its registers: ldmatrix, stmatrix, movmatrix, mma (PTX ISA 9.7.14.5). The
 * numbers are those of docs/numerics.md, "Products of matrices". SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <math.h>

enum { WARP = SIM_WARP_LANES, ROW_BYTES = 16, MOST_M = 16, MOST_N = 8, MOST_K = 64 };

/* All lanes of a full warp, or a trap. */
static bool is_whole(PtxWarp *warp, uint32_t lanes) {
    if (lanes == UINT32_MAX)
        return true;
    PtxThread *thread = &warp->threads[__builtin_ctz(lanes)];
    interp_trap(warp->block->run, thread, thread->wait, TRAP_COLLECTIVE,
                "not all lanes of the warp take part");
    return false;
}

/* ---- 8 by 8 matrices of 16-bit elements: lane 4r + c has elements 2c and 2c + 1 of row r ---- */

typedef struct {
    uint16_t at[8][8];
} Tile;

static uint32_t tile_pair(const Tile *tile, unsigned lane, bool transposed) {
    unsigned row = lane >> 2, col = (lane & 3) << 1;
    uint16_t low = transposed ? tile->at[col][row] : tile->at[row][col];
    uint16_t high = transposed ? tile->at[col + 1][row] : tile->at[row][col + 1];
    return (uint32_t)high << 16 | low;
}

static void tile_set(Tile *tile, unsigned lane, uint32_t pair, bool transposed) {
    unsigned row = lane >> 2, col = (lane & 3) << 1;
    for (unsigned i = 0; i < 2; i++) {
        uint16_t element = (uint16_t)(pair >> 16 * i);
        if (transposed)
            tile->at[col + i][row] = element;
        else
            tile->at[row][col + i] = element;
    }
}

/* Row r of matrix m is where lane 8m + r says. */
static void load_tiles(PtxWarp *warp, uint32_t lanes) {
    Tile tiles[4];
    if (!is_whole(warp, lanes))
        return;
    unsigned n = warp->threads[0].wait->insn->vec;
    for (unsigned lane = 0; lane < 8 * n; lane++) {
        PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        const uint8_t *row = interp_memory(warp->block->run, thread, code, code->space, thread->wait_value[0],
                                           ROW_BYTES, false);
        if (!row)
            return;
        interp_race_load(warp->block->run, thread, code);
        memcpy(tiles[lane / 8].at[lane % 8], row, ROW_BYTES);
    }
    for (unsigned lane = 0; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        for (unsigned k = 0; k < n; k++)
            interp_put(thread, code->vec_dst ? code->vec_dst[k] : code->dst[0],
                       tile_pair(&tiles[k], lane, (code->insn->flags & PF_TRANS) != 0));
    }
}

static void store_tiles(PtxWarp *warp, uint32_t lanes) {
    Tile tiles[4];
    PtxRun *run = warp->block->run;
    if (!is_whole(warp, lanes))
        return;
    unsigned n = warp->threads[0].wait->insn->vec;
    for (unsigned lane = 0; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        for (unsigned k = 0; k < n; k++)
            tile_set(&tiles[k], lane,
                     (uint32_t)interp_arg(run, thread, code->vec ? &code->vec[k] : &code->src[1]),
                     (code->insn->flags & PF_TRANS) != 0);
    }
    for (unsigned lane = 0; lane < 8 * n; lane++) {
        PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        const uint16_t *row = tiles[lane / 8].at[lane % 8];
        uint8_t *to = interp_memory(run, thread, code, code->space, thread->wait_value[0], ROW_BYTES, true);
        if (!to)
            return;
        interp_race_store(run, thread, code, to, (const uint8_t *)row);
        memcpy(to, row, ROW_BYTES);
    }
}

static void transpose_tile(PtxWarp *warp, uint32_t lanes) {
    Tile tile;
    if (!is_whole(warp, lanes))
        return;
    for (unsigned lane = 0; lane < WARP; lane++)
        tile_set(&tile, lane, (uint32_t)warp->threads[lane].wait_value[0], true);
    for (unsigned lane = 0; lane < WARP; lane++)
        interp_put(&warp->threads[lane], warp->threads[lane].wait->dst[0], tile_pair(&tile, lane, false));
}

/* ---- mma: fragments ---- */

/* The element type of a factor, and how its elements lie in registers. */
typedef struct {
    PtxType type;
    unsigned bits, each; /* of an element; elements of a register */
} FactorKind;

static FactorKind factor_kind(PtxType type) {
    unsigned bits = type == TY_U4 || type == TY_S4 ? 4 : 8 * ptx_type_bytes(type);
    return (FactorKind){type, bits, bits < 32 ? 32 / bits : 1};
}

static int64_t int_element(FactorKind kind, uint64_t reg, unsigned i) {
    uint64_t top = reg << (64 - kind.bits * (i + 1)); /* the element's highest bit at the top */
    return ptx_type_class(kind.type) == TC_SIGNED ? (int64_t)top >> (64 - kind.bits)
                                                  : (int64_t)(top >> (64 - kind.bits));
}

static double float_element(FactorKind kind, uint64_t reg, unsigned i) {
    switch (kind.type) {
    case TY_F16: return interp_half_value(FMT_F16, (uint16_t)(reg >> 16 * i));
    case TY_BF16: return interp_half_value(FMT_BF16, (uint16_t)(reg >> 16 * i));
    case TY_TF32: return f32_of(reg & 0xffffe000u);
    default: return f64_of(reg);
    }
}

typedef union {
    int64_t i;
    double f;
} Element;

typedef struct {
    unsigned m, n, k;
    bool is_float;
    Element a[MOST_M][MOST_K], b[MOST_K][MOST_N];
} Factors;

static Element element(const Factors *f, FactorKind kind, uint64_t reg, unsigned i) {
    return f->is_float ? (Element){.f = float_element(kind, reg, i)}
                       : (Element){.i = int_element(kind, reg, i)};
}

static void take_factors(PtxWarp *warp, Factors *f) {
    PtxRun *run = warp->block->run;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        FactorKind a = factor_kind((PtxType)code->insn->type[1]),
                   b = factor_kind((PtxType)code->insn->type[2]);
        for (unsigned r = 0; r < code->fragment[1]; r++) {
            uint64_t reg = interp_arg(run, thread, &code->vec[r]);
            unsigned row = lane / 4 + r % (f->m / 8) * 8, col = (r / (f->m / 8) * 4 + lane % 4) * a.each;
            for (unsigned i = 0; i < a.each; i++)
                f->a[row][col + i] = element(f, a, reg, i);
        }
        for (unsigned r = 0; r < code->fragment[2]; r++) {
            uint64_t reg = interp_arg(run, thread, &code->vec[code->fragment[1] + r]);
            for (unsigned i = 0; i < b.each; i++)
                f->b[(r * 4 + lane % 4) * b.each + i][lane / 4] = element(f, b, reg, i);
        }
    }
}

/* ---- mma: sums ---- */

/* The exponent by which a number is aligned with others: that of its format, so a subnormal number has the
 * least. */
static int scale_of(double v, PtxType type) {
    int least = type == TY_F16 ? -14 : -126, e;
    frexp(v, &e);
    return e - 1 > least ? e - 1 : least;
}

static double cut(double v, int highest) { return trunc(ldexp(v, 24 - highest)); }

/* c plus the products of a block, each cut off 24 bits below the highest exponent among them. */
static double block_sum(double c, PtxType c_type, const double *x, const double *y, unsigned n,
                        PtxType type) {
    double special = c, total = 0;
    int highest = c != 0 && isfinite(c) ? scale_of(c, c_type) : INT32_MIN;
    for (unsigned i = 0; i < n; i++) {
        double product = x[i] * y[i];
        special += isfinite(product) ? 0 : product;
        if (product != 0 && isfinite(product)) {
            int e = scale_of(x[i], type) + scale_of(y[i], type);
            highest = e > highest ? e : highest;
        }
    }
    if (!isfinite(special))
        return special;
    if (highest == INT32_MIN)
        return 0;
    total = cut(c, highest);
    for (unsigned i = 0; i < n; i++)
        total += cut(x[i] * y[i], highest);
    return ldexp(total, highest - 24);
}

static uint64_t rounded(double v, PtxType type) {
    PtxFormat format = type == TY_F16 ? FMT_F16 : FMT_F32;
    if (isnan(v))
        return type == TY_F16 ? F16_NAN : F32_NAN;
    if (type != TY_F16 && fabs(v) >= 0x1p128)
        return v < 0 ? 0xff800000u : 0x7f800000u;
    return v == 0 ? 0 : interp_round_double(format, v, type == TY_F16 ? RND_RN : RND_RZ);
}

static uint64_t float_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, const PtxInsn *insn) {
    PtxType from = (PtxType)insn->type[1], to = (PtxType)insn->type[0], c_type = (PtxType)insn->type[3];
    unsigned block = from == TY_TF32 ? 4 : 8;
    double sum = c_type == TY_F16 ? interp_half_value(FMT_F16, (uint16_t)c) : (double)f32_of(c);
    for (unsigned first = 0; first < f->k; first += block) {
        double x[8], y[8];
        for (unsigned i = 0; i < block; i++)
            x[i] = f->a[row][first + i].f, y[i] = f->b[first + i][col].f;
        if (first) { /* what goes from block to block is f32 */
            sum = f32_of(rounded(sum, TY_F32));
            c_type = TY_F32;
        }
        sum = block_sum(sum, c_type, x, y, block, from);
    }
    return rounded(sum, to);
}

static uint64_t double_sum(const Factors *f, unsigned row, unsigned col, uint64_t c) {
    uint64_t sum = c;
    for (unsigned i = 0; i < f->k; i++)
        sum = interp_f64_op(MATH_FMA, f64_bits(f->a[row][i].f), f64_bits(f->b[i][col].f), sum, RND_RN);
    return sum;
}

static uint64_t int_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, bool saturate) {
    int64_t sum = (int32_t)c;
    for (unsigned i = 0; i < f->k; i++)
        sum += f->a[row][i].i * f->b[i][col].i;
    if (saturate && sum != (int32_t)sum)
        sum = sum < 0 ? INT32_MIN : INT32_MAX;
    return (uint32_t)sum;
}

static uint64_t one_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, const PtxInsn *insn) {
    if (!f->is_float)
        return int_sum(f, row, col, c, (insn->flags & PF_SATFINITE) != 0);
    return insn->type[0] == TY_F64 ? double_sum(f, row, col, c) : float_sum(f, row, col, c, insn);
}

/* Rows lane / 4 and eight below, columns 2 (lane % 4) and the next: an element each register, or both columns
 * in one. */
static void multiply(PtxWarp *warp, uint32_t lanes) {
    if (!is_whole(warp, lanes))
        return;
    const PtxInsn *insn = warp->threads[0].wait->insn;
    Factors f = {.m = insn->shape[0], .n = insn->shape[1], .k = insn->shape[2]};
    f.is_float = ptx_type_class((PtxType)insn->type[1]) == TC_FLOAT;
    take_factors(warp, &f);
    for (unsigned lane = 0; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        const PtxArg *c = &code->vec[code->fragment[1] + code->fragment[2]];
        uint64_t sums[4];
        for (unsigned i = 0; i < f.m / 4; i++) {
            bool packed = code->fragment[3] < f.m / 4;
            uint64_t old = interp_arg(warp->block->run, thread, &c[packed ? i / 2 : i]);
            sums[i] = one_sum(&f, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2,
                              packed ? old >> 16 * (i % 2) & 0xffff : old, code->insn);
        }
        for (unsigned i = 0; i < code->fragment[0]; i++)
            interp_put(thread, code->vec_dst[i],
                       code->fragment[0] < f.m / 4 ? sums[2 * i] | sums[2 * i + 1] << 16 : sums[i]);
    }
}

/* ---- binding ---- */

static PtxStep exec_whole(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    if (thread->warp->alive != UINT32_MAX)
        return interp_trap(run, thread, code, TRAP_COLLECTIVE, "not all lanes of the warp take part");
    return interp_meet(run, thread, code, UINT32_MAX,
                       code->nsrc ? interp_address(run, thread, code, SP_SHARED) : 0);
}

static bool whole(PtxCode *code, PtxGather *gather) {
    code->key = (uint32_t)code->insn->op << 22 | (uint32_t)code->insn->form << 2 |
                (code->insn->flags & PF_SATFINITE ? 2u : 0) | (code->insn->flags & PF_TRANS ? 1u : 0);
    code->exec = exec_whole;
    code->gather = gather;
    return true;
}
bool interp_bind_ldmatrix(PtxCode *code) { return whole(code, load_tiles) && code->nsrc == 1; }
bool interp_bind_stmatrix(PtxCode *code) { return whole(code, store_tiles) && code->nsrc >= 1; }
bool interp_bind_movmatrix(PtxCode *code) { return whole(code, transpose_tile) && code->nsrc == 1; }
bool interp_bind_mma(PtxCode *code) { return whole(code, multiply); }
