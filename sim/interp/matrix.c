/* Matrices that a warp has in its registers: ldmatrix, stmatrix, movmatrix, mma (PTX ISA 9.7.14.5), and the
 * products of wmma (9.7.14.4). The numbers are those of docs/numerics.md, "Products of matrices".
 * SPDX-License-Identifier: MIT */
#include "sim/interp/matrix.h"
#include <math.h>

enum { WARP = SIM_WARP_LANES, ROW_BYTES = 16, MOST_ADDED = 16 };

bool interp_is_whole(PtxWarp *warp, uint32_t lanes) {
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
    if (!interp_is_whole(warp, lanes))
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
    if (!interp_is_whole(warp, lanes))
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
    if (!interp_is_whole(warp, lanes))
        return;
    for (unsigned lane = 0; lane < WARP; lane++)
        tile_set(&tile, lane, (uint32_t)warp->threads[lane].wait_value[0], true);
    for (unsigned lane = 0; lane < WARP; lane++)
        interp_put(&warp->threads[lane], warp->threads[lane].wait->dst[0], tile_pair(&tile, lane, false));
}

/* ---- mma: fragments ---- */

unsigned interp_element_bits(PtxType type) {
    return type == TY_B1 ? 1 : type == TY_U4 || type == TY_S4 ? 4 : 8 * ptx_type_bytes(type);
}

FactorKind interp_factor_kind(PtxType type) {
    unsigned bits = interp_element_bits(type);
    return (FactorKind){type, bits, bits < 32 ? 32 / bits : 1};
}

static int64_t int_element(FactorKind kind, uint64_t reg, unsigned i) {
    uint64_t top = reg << (64 - kind.bits * (i + 1)); /* the element's highest bit at the top */
    return ptx_type_class(kind.type) == TC_SIGNED ? (int64_t)top >> (64 - kind.bits)
                                                  : (int64_t)(top >> (64 - kind.bits));
}

/* Of 8-bit floating point: the sign, an exponent with a bias of half its range, the mantissa. Of four
 * exponent bits the highest is one as any other, but for the greatest number, which is no number. */
static double byte_value(uint8_t byte, int mant_bits) {
    int greatest = 1 << (7 - mant_bits), bias = greatest / 2 - 1, exp = (byte & 127) >> mant_bits;
    int mant = byte & ((1 << mant_bits) - 1), whole = exp ? mant + (1 << mant_bits) : mant;
    double v = ldexp(whole, (exp ? exp : 1) - bias - mant_bits);
    if (exp == greatest - 1 && mant_bits == 3 && mant == 7)
        v = NAN;
    if (exp == greatest - 1 && mant_bits == 2)
        v = mant ? (double)NAN : (double)INFINITY;
    return byte & 128 ? -v : v;
}

static double float_element(FactorKind kind, uint64_t reg, unsigned i) {
    switch (kind.type) {
    case TY_F16: return interp_half_value(FMT_F16, (uint16_t)(reg >> 16 * i));
    case TY_BF16: return interp_half_value(FMT_BF16, (uint16_t)(reg >> 16 * i));
    case TY_TF32: return f32_of(reg & 0xffffe000u);
    case TY_E4M3:
    case TY_E5M2: return byte_value((uint8_t)(reg >> 8 * i), kind.type == TY_E4M3 ? 3 : 2);
    default: return f64_of(reg);
    }
}

/* Products of an element of the result, and the two factors of one. */
static unsigned num_products(const Factors *f) { return f->sparse ? f->k / 2 : f->k; }
static Element factor_a(const Factors *f, unsigned row, unsigned i) { return f->a[row][i]; }
static Element factor_b(const Factors *f, unsigned row, unsigned col, unsigned i) {
    return f->b[f->sparse ? f->place[row][i] : i][col];
}

Element interp_element(const Factors *f, FactorKind kind, uint64_t reg, unsigned i) {
    return f->is_float ? (Element){.f = float_element(kind, reg, i)}
                       : (Element){.i = int_element(kind, reg, i)};
}

static void take_factors(PtxWarp *warp, Factors *f) {
    PtxRun *run = warp->block->run;
    for (unsigned lane = 0; lane < WARP; lane++) {
        const PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        FactorKind a = interp_factor_kind((PtxType)code->insn->type[1]),
                   b = interp_factor_kind((PtxType)code->insn->type[2]);
        for (unsigned r = 0; r < code->fragment[1]; r++) {
            uint64_t reg = interp_arg(run, thread, &code->vec[r]);
            unsigned row = lane / 4 + r % (f->m / 8) * 8, col = (r / (f->m / 8) * 4 + lane % 4) * a.each;
            for (unsigned i = 0; i < a.each; i++)
                f->a[row][col + i] = interp_element(f, a, reg, i);
        }
        for (unsigned r = 0; r < code->fragment[2]; r++) {
            uint64_t reg = interp_arg(run, thread, &code->vec[code->fragment[1] + r]);
            for (unsigned i = 0; i < b.each; i++)
                f->b[(r * 4 + lane % 4) * b.each + i][lane / 4] = interp_element(f, b, reg, i);
        }
    }
}

/* Each group of four lanes has the places of two rows, in one, two or four lanes from that of the selector
 * on. A chunk of a row, 4 elements (tf32: 2; of 4 bits: 8), of which half are there, has four bits.
 */
void interp_take_places(PtxWarp *warp, unsigned selector, Factors *f) {
    const PtxCode *code = warp->threads[0].wait;
    PtxType type = (PtxType)code->insn->type[1];
    unsigned bits = interp_element_bits(type), chunk = bits == 32 ? 2 : bits == 4 ? 8 : 4;
    unsigned contributing = f->k / chunk / 4, each = chunk / 2;
    unsigned first = selector * contributing;
    for (unsigned group = 0; group < 8; group++)
        for (unsigned n = 0; n < 8 * contributing; n++) { /* of four bits */
            const PtxThread *thread = &warp->threads[4 * group + first + n / 8];
            const PtxArg *last = &thread->wait->vec[thread->wait->nread - 1];
            unsigned said = (unsigned)(interp_arg(warp->block->run, thread, last) >> 4 * (n % 8)) & 15;
            unsigned row = group, number = n / 8 * 4 + n % 4;
            if (bits >= 16 ? n & 4 : n & 8)
                row += 8;
            if (bits < 16)
                number = n / 16 * 8 + n % 8;
            uint16_t *place = &f->place[row][number * each];
            if (bits == 32) /* 0b0100: the first, 0b1110: the second */
                place[0] = (uint16_t)(number * chunk + (said & 2 ? 1 : 0));
            for (unsigned i = 0; bits < 32 && i < each; i++) {
                unsigned which = i < each / 2 ? said & 3 : said >> 2;
                place[i] = (uint16_t)(number * chunk + (bits == 4 ? which * 2 + i % 2 : which));
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

static double cut(double v, int highest, int bits) { return trunc(ldexp(v, bits - highest)); }
static int kept_bits(PtxSums sums) { return sums.bits ? sums.bits : 24; }
/* Elements of so many bytes that are added at once, of n. */
static unsigned block_of(PtxSums sums, unsigned bytes, unsigned n) {
    unsigned most = (sums.bytes ? sums.bytes : 16u) / bytes;
    return n < most ? n : most;
}

/* c plus the products of a block, each cut off so many bits below the highest exponent among them. */
static double block_sum(double c, PtxType c_type, const double *x, const double *y, unsigned n, PtxType type,
                        int bits) {
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
    total = cut(c, highest, bits);
    for (unsigned i = 0; i < n; i++)
        total += cut(x[i] * y[i], highest, bits);
    return ldexp(total, highest - bits);
}

static uint64_t rounded(double v, PtxType type) {
    PtxFormat format = type == TY_F16 ? FMT_F16 : FMT_F32;
    if (isnan(v))
        return type == TY_F16 ? F16_NAN : F32_NAN;
    if (type != TY_F16 && fabs(v) >= 0x1p128)
        return v < 0 ? 0xff800000u : 0x7f800000u;
    uint64_t sign = (uint64_t)1 << (type == TY_F16 ? 15 : 31),
             bits = interp_round_double(format, v, type == TY_F16 ? RND_RN : RND_RZ);
    return bits == sign ? 0 : bits; /* no sum is -0, nor what rounds to it */
}

/* Of D, A, B and C: wmma of f16 factors says those of D and C only. */
typedef struct {
    PtxType d, a, b, c;
} Types;

static Types types_of(const PtxInsn *insn) {
    if (insn->ntypes == 2)
        return (Types){(PtxType)insn->type[0], TY_F16, TY_F16, (PtxType)insn->type[1]};
    return (Types){(PtxType)insn->type[0], (PtxType)insn->type[1], (PtxType)insn->type[2],
                   (PtxType)insn->type[insn->ntypes == 3 ? 0 : 3]}; /* wgmma: D, A and B */
}

static uint64_t float_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, Types types,
                          PtxSums sums) {
    /* the sum is f32 where D or C is, and becomes f16 when it is complete */
    PtxType from = types.a, to = types.d == types.c ? types.d : TY_F32, c_type = to;
    unsigned block = block_of(sums, from == TY_TF32 ? 4 : 2, num_products(f));
    double sum = types.c == TY_F16 ? interp_half_value(FMT_F16, (uint16_t)c) : (double)f32_of(c);
    for (unsigned first = 0; first < num_products(f); first += block) {
        double x[MOST_ADDED], y[MOST_ADDED];
        for (unsigned i = 0; i < block; i++)
            x[i] = factor_a(f, row, first + i).f, y[i] = factor_b(f, row, col, first + i).f;
        if (first && sums.half && to == TY_F16) {
            sum = interp_half_value(FMT_F16, (uint16_t)rounded(sum, TY_F16));
        } else if (first) { /* what goes from block to block is f32 */
            sum = f32_of(rounded(sum, TY_F32));
            c_type = TY_F32;
        }
        sum = block_sum(sum, c_type, x, y, block, from, kept_bits(sums));
    }
    uint64_t bits = rounded(sum, to);
    return to == types.d ? bits : rounded(f32_of(bits), types.d);
}

/* Elements of 8 bits: those at 0 and 1 of each four in blocks, then those at 2 and 3; C at last. */
static uint64_t byte_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, Types types,
                         PtxSums sums) {
    double sum = 0;
    unsigned block = block_of(sums, 2, num_products(f) / 2);
    for (unsigned half = 0; half < 2; half++) {
        PtxType carried = types.d;
        for (unsigned first = 0; first < num_products(f); first += 2 * block) {
            double x[MOST_ADDED], y[MOST_ADDED];
            for (unsigned i = 0; i < block; i++) {
                unsigned at = first + i / 2 * 4 + half * 2 + i % 2;
                x[i] = factor_a(f, row, at).f, y[i] = factor_b(f, row, col, at).f;
            }
            sum = f32_of(rounded(block_sum(sum, carried, x, y, block, TY_F16, kept_bits(sums)), TY_F32));
            carried = TY_F32;
        }
        if (types.d == TY_F16)
            sum = interp_half_value(FMT_F16, (uint16_t)rounded(sum, TY_F16));
    }
    if (types.d == TY_F32) {
        float all = (float)sum + f32_of(c);
        return isnan(all) ? F32_NAN : f32_bits(all);
    }
    double all = sum + interp_half_value(FMT_F16, (uint16_t)c);
    return all == 0 && signbit(all) ? 0x8000 : rounded(all, TY_F16);
}

/* The same of a warp group: C and all products at once; an f32 sum has no more bits than they kept. */
static uint64_t group_byte_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, Types types) {
    enum { KEPT = 13 };
    unsigned n = num_products(f);
    double x[MOST_K], y[MOST_K];
    for (unsigned i = 0; i < n; i++)
        x[i] = factor_a(f, row, i).f, y[i] = factor_b(f, row, col, i).f;
    double start = types.d == TY_F16 ? interp_half_value(FMT_F16, (uint16_t)c) : (double)f32_of(c);
    uint64_t bits = rounded(block_sum(start, types.d, x, y, n, TY_F16, KEPT), types.d);
    bool cut_off = types.d == TY_F32 && !isnan(f32_of(bits));
    return cut_off ? bits & ~((1ull << (23 - KEPT)) - 1) : bits;
}

static uint64_t double_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, unsigned rnd) {
    uint64_t sum = c;
    for (unsigned i = 0; i < f->k; i++)
        sum = interp_f64_op(MATH_FMA, f64_bits(f->a[row][i].f), f64_bits(f->b[i][col].f), sum,
                            rnd ? rnd : RND_RN);
    return sum;
}

/* Bits that are set in both, or in one of them. */
static uint64_t bit_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, unsigned bop) {
    uint32_t sum = (uint32_t)c;
    for (unsigned i = 0; i < f->k; i++) {
        bool a = f->a[row][i].i & 1, b = f->b[i][col].i & 1;
        sum += bop == BOP_AND ? a && b : a != b;
    }
    return sum;
}

static uint64_t int_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, bool saturate) {
    int64_t sum = (int32_t)c;
    for (unsigned i = 0; i < num_products(f); i++)
        sum += factor_a(f, row, i).i * factor_b(f, row, col, i).i;
    if (saturate && sum != (int32_t)sum)
        sum = sum < 0 ? INT32_MIN : INT32_MAX;
    return (uint32_t)sum;
}

uint64_t interp_one_sum(const Factors *f, unsigned row, unsigned col, uint64_t c, const PtxInsn *insn,
                        PtxSums sums) {
    Types types = types_of(insn);
    if (types.a == TY_B1)
        return bit_sum(f, row, col, c, insn->bop);
    if (!f->is_float)
        return int_sum(f, row, col, c, (insn->flags & PF_SATFINITE) != 0);
    if (types.a == TY_E4M3 || types.a == TY_E5M2)
        return insn->op == PTX_WGMMA ? group_byte_sum(f, row, col, c, types)
                                     : byte_sum(f, row, col, c, types, sums);
    return types.d == TY_F64 ? double_sum(f, row, col, c, insn->rnd) : float_sum(f, row, col, c, types, sums);
}

/* Rows lane / 4 and eight below, columns 2 (lane % 4) and the next: an element each register, or both columns
 * in one. */
static void multiply(PtxWarp *warp, uint32_t lanes) {
    if (!interp_is_whole(warp, lanes))
        return;
    const PtxInsn *insn = warp->threads[0].wait->insn;
    Factors f = {.m = insn->shape[0], .n = insn->shape[1], .k = insn->shape[2]};
    f.is_float = ptx_type_class((PtxType)insn->type[1]) == TC_FLOAT;
    f.sparse = insn->flags & PF_SPARSE;
    take_factors(warp, &f);
    if (f.sparse)
        interp_take_places(warp, (unsigned)insn->operands[5].imm, &f);
    for (unsigned lane = 0; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        const PtxCode *code = thread->wait;
        const PtxArg *c = &code->vec[code->fragment[1] + code->fragment[2]];
        uint64_t sums[4] = {0};
        for (unsigned i = 0; i < f.m / 4; i++) {
            bool packed = code->fragment[3] < f.m / 4;
            uint64_t old = interp_arg(warp->block->run, thread, &c[packed ? i / 2 : i]);
            sums[i] = interp_one_sum(&f, lane / 4 + i / 2 * 8, lane % 4 * 2 + i % 2,
                                     packed ? old >> 16 * (i % 2) & 0xffff : old, code->insn,
                                     warp->block->run->opt.sums);
        }
        for (unsigned i = 0; i < code->fragment[0]; i++)
            interp_put(thread, code->vec_dst[i],
                       code->fragment[0] < f.m / 4 ? sums[2 * i] | sums[2 * i + 1] << 16 : sums[i]);
    }
}

/* ---- mma.m8n8k4 of f16: four products, one by the lanes 4p .. 4p + 3 and those 16 above ---- */

typedef struct {
    double a[8][4], b[4][8], c[8][8];
    uint64_t d[8][8];
} QuadProduct;

/* What the two halves of register i / 2 of a factor stand for. */
static void quad_factors(PtxWarp *warp, unsigned lane, QuadProduct *quad) {
    const PtxThread *thread = &warp->threads[lane];
    const PtxCode *code = thread->wait;
    unsigned upper = lane < 16 ? 0 : 4, own = lane % 4;
    for (unsigned i = 0; i < 4; i++) {
        uint64_t a = interp_arg(warp->block->run, thread, &code->vec[i / 2]) >> (i & 1 ? 16 : 0);
        uint64_t b = interp_arg(warp->block->run, thread, &code->vec[2 + i / 2]) >> (i & 1 ? 16 : 0);
        double x = interp_half_value(FMT_F16, (uint16_t)a), y = interp_half_value(FMT_F16, (uint16_t)b);
        if (code->insn->sub == SUB_COL)
            quad->a[i + upper][own] = x;
        else
            quad->a[own + upper][i] = x;
        if (code->insn->sub2 == SUB_COL)
            quad->b[i][own + upper] = y;
        else
            quad->b[own][i + upper] = y;
    }
}

static void quad_place(PtxType type, unsigned lane, unsigned i, unsigned *row, unsigned *col) {
    *row = (type == TY_F16 ? lane % 4 : (lane & 1) | (i & 2)) + (lane < 16 ? 0 : 4);
    *col = type == TY_F16 ? i : (i & 4) | (lane & 2) | (i & 1);
}

static void quad_sums(QuadProduct *quad, Types types, PtxSums sums) {
    for (unsigned row = 0; row < 8; row++)
        for (unsigned col = 0; col < 8; col++) {
            double y[4];
            for (unsigned k = 0; k < 4; k++)
                y[k] = quad->b[k][col];
            quad->d[row][col] = rounded(
                block_sum(quad->c[row][col], types.d, quad->a[row], y, 4, TY_F16, kept_bits(sums)), types.d);
        }
}

static void multiply_quads(PtxWarp *warp, uint32_t lanes) {
    if (!interp_is_whole(warp, lanes))
        return;
    Types types = types_of(warp->threads[0].wait->insn);
    QuadProduct quads[4];
    for (unsigned lane = 0; lane < WARP; lane++) {
        const PtxThread *thread = &warp->threads[lane];
        quad_factors(warp, lane, &quads[lane / 4 % 4]);
        for (unsigned i = 0; i < 8; i++) {
            unsigned row, col, reg = 4 + (types.c == TY_F16 ? i / 2 : i);
            uint64_t word = interp_arg(warp->block->run, thread, &thread->wait->vec[reg]);
            quad_place(types.c, lane, i, &row, &col);
            quads[lane / 4 % 4].c[row][col] =
                types.c == TY_F16 ? interp_half_value(FMT_F16, (uint16_t)(word >> 16 * (i % 2)))
                                  : (double)f32_of(word);
        }
    }
    for (unsigned p = 0; p < 4; p++)
        quad_sums(&quads[p], types, warp->block->run->opt.sums);
    for (unsigned lane = 0; lane < WARP; lane++) {
        PtxThread *thread = &warp->threads[lane];
        uint64_t words[8] = {0};
        for (unsigned i = 0; i < 8; i++) {
            unsigned row, col;
            quad_place(types.d, lane, i, &row, &col);
            uint64_t bits = quads[lane / 4 % 4].d[row][col];
            if (types.d == TY_F16)
                words[i / 2] |= bits << 16 * (i % 2);
            else
                words[i] = bits;
        }
        for (unsigned i = 0; i < thread->wait->fragment[0]; i++)
            interp_put(thread, thread->wait->vec_dst[i], words[i]);
    }
}

/* ---- wmma ---- */

/* Element (row, column) of a matrix in the registers of the warp, or what becomes of it. */
typedef void EachElement(void *user, PtxThread *thread, unsigned reg, unsigned low_bit, unsigned bits,
                         unsigned row, unsigned col);

static void each_element(PtxWarp *warp, unsigned matrix, PtxType type, unsigned nregs, EachElement *each,
                         void *user) {
    const uint16_t *shape = warp->threads[0].wait->insn->shape;
    unsigned bits = interp_element_bits(type), per = bits < 32 ? 32 / bits : 1;
    unsigned rows = matrix == SUB_B ? shape[2] : shape[0], cols = matrix == SUB_A ? shape[2] : shape[1];
    unsigned n = rows * cols / WARP; /* a lane's; what is in registers behind them repeats some of these */
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned i = 0; i < nregs * per && i < n; i++) {
            unsigned row, col;
            interp_wmma_place(warp->threads[0].wait->insn, matrix, bits, lane, i, &row, &col);
            each(user, &warp->threads[lane], i / per, i % per * bits, bits, row, col);
        }
}

typedef struct {
    PtxRun *run;
    Factors f;
    uint64_t c[MOST_M][MOST_N], d[MOST_M][MOST_N];
    uint64_t word[SIM_WARP_LANES][8]; /* of D */
} Product;

static void take_a(void *user, PtxThread *thread, unsigned reg, unsigned low, unsigned bits, unsigned row,
                   unsigned col) {
    Product *p = (Product *)user;
    FactorKind kind = interp_factor_kind(types_of(thread->wait->insn).a);
    p->f.a[row][col] =
        interp_element(&p->f, kind, interp_arg(p->run, thread, &thread->wait->vec[reg]), low / bits);
}

static void take_b(void *user, PtxThread *thread, unsigned reg, unsigned low, unsigned bits, unsigned row,
                   unsigned col) {
    Product *p = (Product *)user;
    FactorKind kind = interp_factor_kind(types_of(thread->wait->insn).b);
    reg += thread->wait->fragment[1];
    p->f.b[row][col] =
        interp_element(&p->f, kind, interp_arg(p->run, thread, &thread->wait->vec[reg]), low / bits);
}

static void take_c(void *user, PtxThread *thread, unsigned reg, unsigned low, unsigned bits, unsigned row,
                   unsigned col) {
    Product *p = (Product *)user;
    reg += thread->wait->fragment[1] + thread->wait->fragment[2];
    uint64_t word = interp_arg(p->run, thread, &thread->wait->vec[reg]) >> low;
    p->c[row][col] = bits == 16 ? word & 0xffff : word;
}

static void give_d(void *user, PtxThread *thread, unsigned reg, unsigned low, unsigned bits, unsigned row,
                   unsigned col) {
    Product *p = (Product *)user;
    (void)bits;
    p->word[thread->lane][reg] |= p->d[row][col] << low;
}

static void multiply_wmma(PtxWarp *warp, uint32_t lanes) {
    static const uint8_t matrices[] = {SUB_D, SUB_A, SUB_B, SUB_C};
    if (!interp_is_whole(warp, lanes))
        return;
    const PtxCode *code = warp->threads[0].wait;
    const PtxInsn *insn = code->insn;
    Types types = types_of(insn);
    Product p = {.run = warp->block->run,
                 .f = {.m = insn->shape[0], .n = insn->shape[1], .k = insn->shape[2]}};
    p.f.is_float = ptx_type_class(types.a) == TC_FLOAT;
    each_element(warp, matrices[1], types.a, code->fragment[1], take_a, &p);
    each_element(warp, matrices[2], types.b, code->fragment[2], take_b, &p);
    each_element(warp, matrices[3], types.c, code->fragment[3], take_c, &p);
    for (unsigned row = 0; row < p.f.m; row++)
        for (unsigned col = 0; col < p.f.n; col++)
            p.d[row][col] = interp_one_sum(&p.f, row, col, p.c[row][col], insn, p.run->opt.sums);
    each_element(warp, matrices[0], types.d, code->fragment[0], give_d, &p);
    for (unsigned lane = 0; lane < WARP; lane++)
        for (unsigned r = 0; r < code->fragment[0]; r++)
            interp_put(&warp->threads[lane], warp->threads[lane].wait->vec_dst[r], p.word[lane][r]);
}

/* ---- binding ---- */

static PtxStep exec_whole(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    if (thread->warp->alive != UINT32_MAX)
        return interp_trap(run, thread, code, TRAP_COLLECTIVE, "not all lanes of the warp take part");
    return interp_meet(
        run, thread, code, UINT32_MAX,
        code->nsrc ? interp_address(run, thread, code, code->insn->op == PTX_WMMA ? code->space : SP_SHARED)
                   : 0);
}

bool interp_bind_whole(PtxCode *code, PtxGather *gather) {
    code->key = (uint32_t)code->insn->op << 22 | (code->insn->mods_text.i & ((1u << 22) - 1));
    code->exec = exec_whole;
    code->gather = gather;
    return true;
}
bool interp_bind_ldmatrix(PtxCode *code) { return interp_bind_whole(code, load_tiles) && code->nsrc == 1; }
bool interp_bind_stmatrix(PtxCode *code) { return interp_bind_whole(code, store_tiles) && code->nsrc >= 1; }
bool interp_bind_movmatrix(PtxCode *code) {
    return interp_bind_whole(code, transpose_tile) && code->nsrc == 1;
}
bool interp_bind_mma(PtxCode *code) {
    bool quads = code->insn->type[1] == TY_F16 && code->insn->shape[0] == 8;
    return interp_bind_whole(code, quads ? multiply_quads : multiply);
}
bool interp_bind_wmma_mma(PtxCode *code) { return interp_bind_whole(code, multiply_wmma); }
