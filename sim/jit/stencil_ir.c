/* Not part of the program: what clang compiles to make stencils_v3.inc and stencils_v4.inc
 * (tests/sim/jit/stencils.sh): pieces of code that are copied one behind the other (stencil.h). Each does one
 * thing and goes on with NEXT, which is what is copied behind it, or with T0 or T1. Constants are the
 * addresses of symbols that are not there: A to H, for what is added to a base or is a number, 0 to 2^31, or
 * where only 32 bits of it are used, any; K0 to K8 are words of the lane function's constants. Nothing is
 * known here of the machine's structures but that.
 *
 * All state is in registers, as arguments: bases, masks, and eight vectors. A lane function takes its sources
 * from v0 to v5, two vectors each, and leaves its result in v6 and v7; the others stay as they are. The two
 * are two pieces of one row, or of 64-bit operands the lower words of some lanes and the upper ones of the
 * same. Functions of 64-bit operands do the even lanes, then the odd ones: the two words of a lane then meet
 * in one register without changing places. Which registers they are is another hole: the host's are allocated
 * where pieces are copied. Masks have the lanes of the vectors in their lowest bits: where several passes
 * make a row, they are turned between them. SPDX-License-Identifier: MIT */
#include "isa/lane/lane.h"
#include <immintrin.h>
#include <string.h>

#ifdef __AVX512F__
enum { VECTOR_BYTES = 64 };
#else
enum { VECTOR_BYTES = 32 };
#endif
enum { L = VECTOR_BYTES / 4, PIECE = 2 * L };
typedef uint32_t Vector __attribute__((vector_size(VECTOR_BYTES)));

#define STENCIL_CALL __attribute__((preserve_none))
#define TAIL __attribute__((musttail)) return
/* Calls leave only the first four, and what they return in m. */
#define FEW char *rows, char *warp, char *run, char *prog, uint32_t g, uint32_t p, uint32_t q, uint32_t m
#define FEW_ARGS rows, warp, run, prog, g, p, q, m
#define BESIDE_FEW                                                                                           \
    uint32_t n, Vector v0, Vector v1, Vector v2, Vector v3, Vector v4, Vector v5, Vector v6, Vector v7
#define ALL FEW, BESIDE_FEW
/* From where a place in memory is found until it is accessed p and q are addresses. */
#define WIDE                                                                                                 \
    char *rows, char *warp, char *run, char *prog, uint32_t g, char *p, char *q, uint32_t m, BESIDE_FEW
#define ALL_ARGS FEW_ARGS, n, v0, v1, v2, v3, v4, v5, v6, v7
#define STENCIL(name)                                                                                        \
    STENCIL_CALL int name(ALL);                                                                              \
    STENCIL_CALL int name(ALL)
#define STENCIL_FEW(name)                                                                                    \
    STENCIL_CALL int name(FEW);                                                                              \
    STENCIL_CALL int name(FEW)
#define STENCIL_WIDE(name)                                                                                   \
    STENCIL_CALL int name(WIDE);                                                                             \
    STENCIL_CALL int name(WIDE)
extern STENCIL_CALL int NEXT(ALL), T0(ALL), T1(ALL);
extern STENCIL_CALL int NEXT_FEW(FEW), T0_FEW(FEW);
extern STENCIL_CALL int NEXT_WIDE(WIDE), T0_WIDE(WIDE);
extern char A[], B[], C[], D[], E[], F[], G[], H[];
extern const uint32_t K0, K1, K2, K3, K4, K5, K6, K7, K8;
#define HOLE(x) ((intptr_t)(x))
#define WORD(base, x) (*(uint32_t *)(void *)((base) + HOLE(x)))
#define QUAD(base, x) (*(uint64_t *)(void *)((base) + HOLE(x)))
#define POINTER(base, x) (*(char **)(void *)((base) + HOLE(x)))
#define GO TAIL NEXT(ALL_ARGS)
#define GO_WIDE TAIL NEXT_WIDE(ALL_ARGS)
#define RARELY(x) __builtin_expect(x, 0)

/* ---- the region ---- */
#define STENCIL_ENTRY(name)                                                                                  \
    int name(char *warp);                                                                                    \
    int name(char *warp)
STENCIL_ENTRY(entry) {
    char *run = POINTER(warp, B);
    return NEXT_FEW(POINTER(warp, A), warp, run, POINTER(warp, C), 0, 0, 0, 0);
}
STENCIL(at) { /* is the warp at B? */
    if (WORD(warp, A) == (uint32_t)HOLE(B))
        TAIL T0(ALL_ARGS);
    GO;
}
STENCIL(leave) { return 0; }
STENCIL(leave_at) {
    WORD(warp, A) = (uint32_t)HOLE(B);
    return 0;
}
STENCIL(leave_with) {
    WORD(warp, A) = (uint32_t)HOLE(B);
    return (int)m;
}
STENCIL(jump) { TAIL T0(ALL_ARGS); }
STENCIL(head) { /* a block of B instructions: does the quota A have them, does the program? */
    char *slots = POINTER(POINTER(run, C), D);
    if (QUAD(run, A) < (uint64_t)HOLE(B) || !slots[HOLE(E)])
        TAIL T0(ALL_ARGS);
    QUAD(run, A) -= (uint64_t)HOLE(B);
    GO;
}

#define DOES(name, ...)                                                                                      \
    STENCIL(name) {                                                                                          \
        __VA_ARGS__;                                                                                         \
        GO;                                                                                                  \
    }
#define LANES_OF(mask) ((uint64_t)__builtin_popcount(mask))
DOES(add, QUAD(run, A) += (uint64_t)HOLE(B))
DOES(less, QUAD(run, A) -= (uint64_t)HOLE(B))
DOES(add_lanes, QUAD(run, A) += (uint64_t)HOLE(B) * LANES_OF(WORD(warp, C)))
DOES(less_lanes, QUAD(run, A) -= (uint64_t)HOLE(B) * LANES_OF(WORD(warp, C)))
DOES(off_all, QUAD(run, A) += LANES_OF(~g))
DOES(off_active, QUAD(run, A) += LANES_OF(WORD(warp, B) & ~g))

/* ---- masks ---- */
DOES(get_g, g = WORD(warp, A) ^ (uint32_t)HOLE(B))
DOES(get_p, p = WORD(warp, A) ^ (uint32_t)HOLE(B))
DOES(get_q, q = WORD(warp, A) ^ (uint32_t)HOLE(B))
DOES(active_g, g = WORD(warp, A))
DOES(and_active, g &= WORD(warp, A))
DOES(all_g, g = ~0u)
DOES(keep_g, q = g)
DOES(kept_g, g = q)
DOES(g_and_p, g &= p)
DOES(not_m, n = ~m)
DOES(m_and, m &= p)
DOES(m_or, m |= p)
DOES(m_xor, m ^= p)
DOES(n_and, n &= p)
DOES(n_or, n |= p)
DOES(n_xor, n ^= p)
DOES(set_m, WORD(warp, A) = m)
DOES(set_n, WORD(warp, A) = n)
DOES(set_some_m, WORD(warp, A) = blend(g, m, WORD(warp, A)))
DOES(set_some_n, WORD(warp, A) = blend(g, n, WORD(warp, A)))
static uint32_t turn(uint32_t mask, unsigned by) { return mask >> by | mask << (32 - by) % 32; }
#define TURN(name, by) DOES(name, g = turn(g, (by) % 32), p = turn(p, (by) % 32), q = turn(q, (by) % 32))
TURN(turn_1, L)
TURN(turn_2, PIECE)

/* ---- rows ---- */
STENCIL_WIDE(load) { /* of the warp */
    memcpy(&v0, rows + HOLE(A), sizeof v0);
    GO_WIDE;
}
STENCIL_WIDE(same) { /* a word for all lanes */
    v0 = K0 - (Vector){0};
    GO_WIDE;
}
STENCIL_WIDE(bank) { /* a literal that the instruction A points to */
    memcpy(&v0, POINTER(prog, A) + HOLE(B), sizeof v0);
    GO_WIDE;
}
STENCIL_WIDE(warp_row) { /* words that the warp keeps of its lanes */
    memcpy(&v6, warp + HOLE(A), sizeof v6);
    memcpy(&v7, warp + HOLE(A) + VECTOR_BYTES, sizeof v7);
    GO_WIDE;
}
STENCIL_WIDE(block_word) { /* one that its block keeps, for all lanes */
    v6 = v7 = WORD(POINTER(warp, A), B) - (Vector){0};
    GO_WIDE;
}
STENCIL_WIDE(move) {
    v1 = v0;
    GO_WIDE;
}
DOES(put, memcpy(rows + HOLE(A), &v0, sizeof v0))
static Vector merged(uint32_t g, Vector v, Vector old) { /* v in the lanes of g */
#ifdef __AVX512F__
    return (Vector)_mm512_mask_mov_epi32((__m512i)old, (__mmask16)g, (__m512i)v);
#else
    const Vector bits = {1, 2, 4, 8, 16, 32, 64, 128};
    Vector mask = ((g - (Vector){0}) & bits) == bits;
    return (Vector)_mm256_blendv_epi8((__m256i)old, (__m256i)v, (__m256i)mask);
#endif
}
DOES(merge, v6 = merged(g, v0, v1))
DOES(merge_upper, v6 = merged(g >> L, v0, v1))

/* ---- lane functions ---- */
#ifdef __AVX512F__
static uint32_t sign_bits(Vector v) { return (uint32_t)_mm512_movepi32_mask((__m512i)v); }
static bool any_nan(Vector x, Vector y) { /* in either */
    return _mm512_cmp_ps_mask((__m512)x, (__m512)y, _CMP_UNORD_Q) != 0;
}
#else
static uint32_t sign_bits(Vector v) { return (uint32_t)_mm256_movemask_ps((__m256)v); }
static bool any_nan(Vector x, Vector y) {
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)x, (__m256)y, _CMP_UNORD_Q)) != 0;
}
#endif
static void split_row(uint32_t to[PIECE], Vector lo, Vector hi) {
    memcpy(to, &lo, sizeof lo);
    memcpy(to + L, &hi, sizeof hi);
}
#define JOIN(lo, hi, from) (memcpy(&(lo), from, VECTOR_BYTES), memcpy(&(hi), (from) + L, VECTOR_BYTES))
/* The next lanes of a mask; those before are in its upper bits. */
static uint32_t more_bits(uint32_t mask, const uint32_t condition[PIECE]) {
    Vector lo, hi;
    JOIN(lo, hi, condition);
    uint32_t bits = sign_bits(lo) | sign_bits(hi) << L;
    return PIECE == 32 ? bits : mask >> PIECE % 32 | bits << (32 - PIECE) % 32;
}
#define SOURCES                                                                                              \
    UNUSED uint32_t a[PIECE], b[PIECE], c[PIECE], r[PIECE];                                                  \
    split_row(a, v0, v1), split_row(b, v2, v3), split_row(c, v4, v5), split_row(r, v6, v7);
#define LANES(count) _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = 0; i < (count); i++)
#define SRC32(x) x[i]
#define LANE_CALL(fn, aw, bw, cw, lane)                                                                      \
    fn(SRC##aw(a), SRC##bw(b), SRC##cw(c), p >> (lane)&1, q >> (lane)&1, K0, K1, K2, K3, K4, K5, K6, K7, K8)
#define ALL_32(fn) LANE_CALL(fn, 32, 32, 32, i)

/* Values of 64 bits, of the even lanes first. */
typedef uint64_t Wide __attribute__((vector_size(VECTOR_BYTES)));
#define LOWER_WORDS 0xffffffffu
static void split_wide(uint64_t to[L], Vector lo, Vector hi) {
    Wide even = ((Wide)lo & LOWER_WORDS) | (Wide)hi << 32,
         odd = (Wide)lo >> 32 | ((Wide)hi & ~(uint64_t)LOWER_WORDS);
    memcpy(to, &even, sizeof even);
    memcpy(to + L / 2, &odd, sizeof odd);
}
static void join_wide(Vector *lo, Vector *hi, const uint64_t from[L]) {
    Wide even, odd;
    memcpy(&even, from, sizeof even);
    memcpy(&odd, from + L / 2, sizeof odd);
    *lo = (Vector)((even & LOWER_WORDS) | odd << 32);
    *hi = (Vector)(even >> 32 | (odd & ~(uint64_t)LOWER_WORDS));
}
#define SRC64(x) x[i]
#define SPLIT32(x, lo, hi) split_wide(x, lo, (Vector){0})
#define SPLIT64(x, lo, hi) split_wide(x, lo, hi)
#define SRC_OF_WIDE32(x) (uint32_t) x[i]
#define SRC_OF_WIDE64(x) x[i]
#define WIDE_CALL(fn, aw, bw, cw, lane)                                                                      \
    fn(SRC_OF_WIDE##aw(a), SRC_OF_WIDE##bw(b), SRC_OF_WIDE##cw(c), p >> (lane)&1, q >> (lane)&1, K0, K1, K2, \
       K3, K4, K5, K6, K7, K8)
#define WIDE_BODY(fn, aw, bw, cw)                                                                            \
    uint64_t a[L], b[L], c[L], r[L];                                                                         \
    SPLIT##aw(a, v0, v1), SPLIT##bw(b, v2, v3), SPLIT##cw(c, v4, v5);                                        \
    LANES(L / 2) { r[i] = WIDE_CALL(fn, aw, bw, cw, 2 * i); }                                                \
    _Pragma("clang loop vectorize(assume_safety)") for (unsigned i = L / 2; i < L; i++) r[i] =               \
        WIDE_CALL(fn, aw, bw, cw, 2 * i - L + 1);                                                            \
    join_wide(&v6, &v7, r);
#define NARROW_BODY(fn)                                                                                      \
    SOURCES                                                                                                  \
    LANES(PIECE) { r[i] = (uint32_t)ALL_32(fn); }                                                            \
    JOIN(v6, v7, r);
/* What the host widens it takes from the lower half of a register. */
#define WIDENING_BODY(fn)                                                                                    \
    SOURCES                                                                                                  \
    LANES(L) {                                                                                               \
        uint64_t wide = ALL_32(fn);                                                                          \
        r[i] = (uint32_t)wide;                                                                               \
        r[i + L] = (uint32_t)(wide >> 32);                                                                   \
    }                                                                                                        \
    JOIN(v6, v7, r);

#define LANE(name, rw, aw, bw, cw, ks, expr)                                                                 \
    STENCIL(lane_of_##name) {                                                                                \
        if (((aw) | (bw) | (cw)) & 64) {                                                                     \
            WIDE_BODY(lane_##name, aw, bw, cw)                                                               \
        } else if ((rw)&64) {                                                                                \
            WIDENING_BODY(lane_##name)                                                                       \
        } else {                                                                                             \
            NARROW_BODY(lane_##name)                                                                         \
        }                                                                                                    \
        GO;                                                                                                  \
    }
/* T0 makes NaNs canonical. */
#define LANE_FLOAT(name, ks, expr)                                                                           \
    STENCIL(lane_of_##name) {                                                                                \
        SOURCES                                                                                              \
        LANES(PIECE) { r[i] = f32_bits(ALL_32(lane_raw_##name)); }                                           \
        JOIN(v6, v7, r);                                                                                     \
        if (RARELY(any_nan(v6, v7)))                                                                         \
            TAIL T0(ALL_ARGS);                                                                               \
        GO;                                                                                                  \
    }
#define LANE_CARRY(name, aw, bw, cw, ks, expr, carries)                                                      \
    STENCIL(lane_of_##name) {                                                                                \
        SOURCES                                                                                              \
        uint32_t one[PIECE], two[PIECE];                                                                     \
        LANES(PIECE) {                                                                                       \
            uint32_t over = LANE_CALL(lane_##name##_carries, aw, bw, cw, i);                                 \
            one[i] = over != 0 ? ~0u : 0;                                                                    \
            two[i] = over > 1 ? ~0u : 0;                                                                     \
            r[i] = LANE_CALL(lane_##name, aw, bw, cw, i);                                                    \
        }                                                                                                    \
        JOIN(v6, v7, r);                                                                                     \
        m = more_bits(m, one);                                                                               \
        n = more_bits(n, two);                                                                               \
        GO;                                                                                                  \
    }
#define LANE_LOGIC(name, ks, expr)                                                                           \
    STENCIL(lane_of_##name) {                                                                                \
        SOURCES                                                                                              \
        uint32_t holds[PIECE];                                                                               \
        LANES(PIECE) {                                                                                       \
            r[i] = ALL_32(lane_##name);                                                                      \
            holds[i] = r[i] != 0 ? ~0u : 0;                                                                  \
        }                                                                                                    \
        JOIN(v6, v7, r);                                                                                     \
        m = more_bits(m, holds);                                                                             \
        GO;                                                                                                  \
    }
#define LANE_SETP(name, ks, cond)                                                                            \
    STENCIL(lane_of_##name) {                                                                                \
        SOURCES                                                                                              \
        uint32_t holds[PIECE];                                                                               \
        LANES(PIECE) { holds[i] = ALL_32(lane_##name) ? ~0u : 0; }                                           \
        m = more_bits(m, holds);                                                                             \
        GO;                                                                                                  \
    }
#include "isa/lane/lanes.def"

/* It names as few vectors as can be: where it may be gone to, what they hold is lost. */
_Static_assert(F32_NAN == 0x7fffffffu, "all bits but the sign");
static Vector canonical(Vector v) {
#ifdef __AVX512F__
    return (Vector)_mm512_mask_set1_epi32((__m512i)v, _mm512_cmp_ps_mask((__m512)v, (__m512)v, _CMP_UNORD_Q),
                                          F32_NAN);
#else
    Vector nan; /* clang would compare with a vector of zeros */
    __asm__("vcmpunordps %1, %1, %0" : "=x"(nan) : "x"(v));
    return (v | nan) ^ nan << 31;
#endif
}
STENCIL(canon) {
    v6 = canonical(v6);
    v7 = canonical(v7);
    TAIL T0(ALL_ARGS);
}

/* ---- loads and stores of a word by all lanes ---- */
/* As the interpreter's fast path (ops/op_mem.c, `halves`): in each half of the warp the addresses are
 * consecutive or equal, aligned, and inside one place; whatever is not so is the handler's business, T0. One
 * piece finds that out and leaves in p and q where the halves are in the host, in n whether all lanes of each
 * are at one word. The next loads a row from there, or stores one. A row is in ROW vectors: of addresses the
 * lower words in the first, the upper ones in those behind them; what is stored in the first, what is loaded
 * in the last. A: what is added. */
enum { HALF = 16, HALF_BYTES = 4 * HALF, ROW = 32 / L };
#ifdef __AVX512F__
#define FIRST_ROW                                                                                            \
    { v0, v1 }
#define SECOND_ROW                                                                                           \
    { v2, v3 }
#define SET_LAST_ROW(row) (v6 = (row)[0], v7 = (row)[1])
static bool vector_is_zero(Vector v) { return !_mm512_test_epi32_mask((__m512i)v, (__m512i)v); }
static const Vector numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#else
#define FIRST_ROW                                                                                            \
    { v0, v1, v2, v3 }
#define SECOND_ROW                                                                                           \
    { v4, v5, v6, v7 }
#define SET_LAST_ROW(row) (v4 = (row)[0], v5 = (row)[1], v6 = (row)[2], v7 = (row)[3])
static bool vector_is_zero(Vector v) { return _mm256_testz_si256((__m256i)v, (__m256i)v); }
static const Vector numbers = {0, 1, 2, 3, 4, 5, 6, 7};
#endif
#define VECTORS _Pragma("clang loop unroll(full)") for (unsigned i = 0; i < ROW; i++)
#define IN_HALF(i) ((i)*L % HALF)
/* Differences from a row whose halves begin with x and y, `step` more from lane to lane. */
static Vector off_step(const Vector row[ROW], uint32_t x, uint32_t y, uint32_t step) {
    Vector differs = {0};
    VECTORS { differs |= row[i] ^ ((numbers + IN_HALF(i)) * step + (i * L < HALF ? x : y)); }
    return differs;
}
#define FREE __asm__("" : "=r"(p), "=r"(q), "=r"(m), "=r"(n)) /* nobody reads them behind an access */
#define SLOW                                                                                                 \
    do {                                                                                                     \
        FREE;                                                                                                \
        TAIL T0_WIDE(ALL_ARGS);                                                                              \
    } while (0)
/* x, y: what the first lanes of the halves have in their lower words; a, b: their addresses; `limit` bytes
 * from `start` on are at `data` in the host; above: differences of the upper words. */
#define FOUND(bytes)                                                                                         \
    {                                                                                                        \
        uint64_t lo = a - start, hi = b - start;                                                             \
        if (RARELY(x > 0u - (bytes) || y > 0u - (bytes) || ((a | b) & 3) || (bytes) > limit ||               \
                   lo > limit - (bytes) || hi > limit - (bytes)))                                            \
            SLOW;                                                                                            \
        p = data + lo;                                                                                       \
        q = data + hi;                                                                                       \
        GO_WIDE;                                                                                             \
    }
#define FIND(above)                                                                                          \
    n = 0;                                                                                                   \
    if (vector_is_zero((above) | off_step(lower, x, y, 4)))                                                  \
        FOUND(HALF_BYTES)                                                                                    \
    if (RARELY(!vector_is_zero((above) | off_step(lower, x, y, 0))))                                         \
        SLOW;                                                                                                \
    n = 1;                                                                                                   \
    FOUND(4)
#define LOWER_WORDS_OF_ROW                                                                                   \
    const Vector lower[ROW] = FIRST_ROW;                                                                     \
    uint32_t x = lower[0][0], y = lower[ROW / 2][0];
STENCIL_WIDE(place_shared) {
    LOWER_WORDS_OF_ROW
    uint32_t a = x + (uint32_t)HOLE(A), b = y + (uint32_t)HOLE(A), start = WORD(run, B);
    uint64_t limit = WORD(run, C) - start;
    char *data = POINTER(POINTER(warp, D), E) + start;
    FIND((Vector){0})
}
STENCIL_WIDE(place_global) {
    LOWER_WORDS_OF_ROW
    const Vector upper[ROW] = SECOND_ROW;
    char *place = POINTER(prog, B);
    if (RARELY(!place))
        SLOW;
    uint64_t by = pair((uint32_t)0, upper[0][0]) + (uint64_t)(int32_t)HOLE(A), a = x + by, b = y + by;
    uint64_t start = QUAD(place, C), limit = QUAD(place, D);
    char *data = POINTER(place, E);
    FIND(off_step(upper, upper[0][0], upper[0][0], 0))
}
STENCIL_WIDE(load_row) {
    Vector row[ROW];
    if (n) {
        VECTORS {
            uint32_t word;
            memcpy(&word, i * L < HALF ? p : q, sizeof word);
            row[i] = word - (Vector){0};
        }
    } else {
        VECTORS { memcpy(&row[i], (i * L < HALF ? p : q) + 4 * IN_HALF(i), sizeof row[i]); }
    }
    SET_LAST_ROW(row);
    FREE;
    GO_WIDE;
}
/* H counts stores of anything new. */
#define STORE_ROW                                                                                            \
    const Vector row[ROW] = FIRST_ROW;                                                                       \
    Vector differs[2] = {{0}, {0}};                                                                          \
    VECTORS {                                                                                                \
        Vector old;                                                                                          \
        char *at = (i * L < HALF ? p : q) + 4 * IN_HALF(i);                                                  \
        memcpy(&old, at, sizeof old);                                                                        \
        memcpy(at, &row[i], sizeof row[i]);                                                                  \
        differs[i * L / HALF] |= old ^ row[i];                                                               \
    }                                                                                                        \
    QUAD(run, H) += !vector_is_zero(differs[0]) | !vector_is_zero(differs[1]);
STENCIL_WIDE(store_shared) {
    if (RARELY(n))
        SLOW;
    STORE_ROW
    FREE;
    GO_WIDE;
}
STENCIL_WIDE(store_global) { /* G: bits for bytes that have been written; F: may they be? */
    char *place = POINTER(prog, B), *data = POINTER(place, E), *written = POINTER(place, G);
    uint64_t lo = (uint64_t)(p - data), hi = (uint64_t)(q - data);
    if (RARELY(n || (lo | hi) & 7 || place[HOLE(F)]))
        SLOW;
    STORE_ROW
    memset(written + lo / 8, 0xff, HALF_BYTES / 8);
    memset(written + hi / 8, 0xff, HALF_BYTES / 8);
    FREE;
    GO_WIDE;
}

/* ---- control ---- */
STENCIL(branch_all) { /* all of them go, some, or none */
    if (g == ~0u)
        TAIL T0(ALL_ARGS);
    if (g)
        TAIL T1(ALL_ARGS);
    GO;
}
STENCIL(branch_active) {
    if (g == WORD(warp, A))
        TAIL T0(ALL_ARGS);
    if (g)
        TAIL T1(ALL_ARGS);
    GO;
}
STENCIL(if_none) {
    if (!g)
        TAIL T0(ALL_ARGS);
    GO;
}
typedef int DataHandler(char *warp, char *dec, uint32_t g);
typedef int ControlHandler(char *warp, uint32_t pc, uint32_t g);
#define CONTROL_CALL (*(ControlHandler **)(void *)(POINTER(run, A) + HOLE(B)))(warp, (uint32_t)HOLE(C), 0)
#define LOST __asm__("" : "=r"(g), "=r"(p), "=r"(q)) /* nobody reads them behind a call */
#define DATA_CALL(handler) (*(DataHandler **)(void *)(prog + HOLE(A) + (handler)))(warp, prog + HOLE(A), g)
#define CALLS(name, handler)                                                                                 \
    STENCIL_FEW(name) {                                                                                      \
        m = (uint32_t)DATA_CALL(handler);                                                                    \
        LOST;                                                                                                \
        if (RARELY(m))                                                                                       \
            TAIL T0_FEW(FEW_ARGS);                                                                           \
        TAIL NEXT_FEW(FEW_ARGS);                                                                             \
    }
CALLS(call_data, HOLE(B))
CALLS(call_either, g == ~0u ? HOLE(B) : HOLE(C))
STENCIL_FEW(call_control) { /* goes on if the warp is behind it with the same lanes */
    uint32_t before = WORD(warp, E);
    int status = CONTROL_CALL;
    if ((uint32_t)status | (WORD(warp, D) ^ ((uint32_t)HOLE(C) + 1)) | (WORD(warp, E) ^ before))
        return status;
    LOST;
    __asm__("" : "=r"(m));
    TAIL NEXT_FEW(FEW_ARGS);
}
