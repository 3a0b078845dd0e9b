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
/* From where a place in memory is found until p and q are masks again they are addresses. */
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
STENCIL(exit_warp) { /* if that is all: all its lanes that live end, and nobody waits for warps to end */
    char *block = POINTER(warp, A);
    if (g != WORD(warp, B) || *(uint16_t *)(void *)(block + HOLE(C)))
        TAIL T0(ALL_ARGS);
    QUAD(warp, B) = 0; /* valid, active */
    QUAD(warp, D) = 0; /* yield, sleep, blocked */
    *(uint32_t *)(void *)(warp + HOLE(D) + 8) = 0;
    warp[HOLE(E)] = (char)HOLE(F);
    WORD(block, G) += 1;
    return (int)HOLE(H);
}
STENCIL(jump) { TAIL T0(ALL_ARGS); }
STENCIL(head) { /* a block of B instructions: does the quota A have them, does the program (C)? */
    if (RARELY(QUAD(run, A) < (uint64_t)HOLE(B)))
        TAIL T0(ALL_ARGS);
    if (RARELY(!prog[HOLE(C)]))
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
#define DOES_WIDE(name, ...)                                                                                 \
    STENCIL_WIDE(name) {                                                                                     \
        __VA_ARGS__;                                                                                         \
        GO_WIDE;                                                                                             \
    }
DOES_WIDE(put, memcpy(rows + HOLE(A), &v0, sizeof v0))
DOES_WIDE(shifted, v6 = v0 << K0)
DOES_WIDE(plus_word, v6 = v0 + WORD(rows, A))            /* a word of the warp's for all lanes */
static Vector merged(uint32_t g, Vector v, Vector old) { /* v in the lanes of g */
#ifdef __AVX512F__
    return (Vector)_mm512_mask_mov_epi32((__m512i)old, (__mmask16)g, (__m512i)v);
#else
    const Vector bits = {1, 2, 4, 8, 16, 32, 64, 128};
    Vector mask = ((g - (Vector){0}) & bits) == bits;
    return (Vector)_mm256_blendv_epi8((__m256i)old, (__m256i)v, (__m256i)mask);
#endif
}
DOES_WIDE(merge, v6 = merged(g, v0, v1))
DOES_WIDE(merge_upper, v6 = merged(g >> L, v0, v1))
DOES_WIDE(turn_half, g = turn(g, 16))

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
#define MASK(p) ((uint32_t)(uintptr_t)(p))
#define LANE_CALL(fn, aw, bw, cw, lane)                                                                      \
    fn(SRC##aw(a), SRC##bw(b), SRC##cw(c), MASK(p) >> (lane)&1, MASK(q) >> (lane)&1, K0, K1, K2, K3, K4, K5, \
       K6, K7, K8)
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
    fn(SRC_OF_WIDE##aw(a), SRC_OF_WIDE##bw(b), SRC_OF_WIDE##cw(c), MASK(p) >> (lane)&1, MASK(q) >> (lane)&1, \
       K0, K1, K2, K3, K4, K5, K6, K7, K8)
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
    STENCIL_WIDE(lane_of_##name) {                                                                           \
        if (((aw) | (bw) | (cw)) & 64) {                                                                     \
            WIDE_BODY(lane_##name, aw, bw, cw)                                                               \
        } else if ((rw)&64) {                                                                                \
            WIDENING_BODY(lane_##name)                                                                       \
        } else {                                                                                             \
            NARROW_BODY(lane_##name)                                                                         \
        }                                                                                                    \
        GO_WIDE;                                                                                             \
    }
/* T0 makes NaNs canonical. */
#define LANE_FLOAT(name, ks, expr)                                                                           \
    STENCIL_WIDE(lane_of_##name) {                                                                           \
        SOURCES                                                                                              \
        LANES(PIECE) { r[i] = f32_bits(ALL_32(lane_raw_##name)); }                                           \
        JOIN(v6, v7, r);                                                                                     \
        if (RARELY(any_nan(v6, v7)))                                                                         \
            TAIL T0_WIDE(ALL_ARGS);                                                                          \
        GO_WIDE;                                                                                             \
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
STENCIL_WIDE(canon) {
    v6 = canonical(v6);
    v7 = canonical(v7);
    TAIL T0_WIDE(ALL_ARGS);
}

/* ---- loads and stores ---- */
/* As the interpreter's fast path (ops/op_mem.c, `halves`): in each half of the warp the addresses are
 * consecutive or equal, aligned, and inside one place; whatever is not so is the handler's business, T0. One
 * piece finds that out and leaves in p and q where the halves are in the host, in n whether all lanes of each
 * are at one item. Pieces behind it load rows from there, or say what is written and store them. A row is in
 * ROW vectors: of addresses the lower words in the first, the upper ones in those behind them; what is stored
 * in the first, what is loaded in the last. Of items of several words half a warp's are moved at once, each
 * word in PARTS vectors. A: what is added. */
enum { HALF = 16, HALF_BYTES = 4 * HALF, ROW = 32 / L, PARTS = HALF / L };
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
#define HALF_OF(i) ((i)*L < HALF ? p : q)
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
 * from `start` on are at `data` in the host; above: differences of the upper words. That no lower word is
 * carried from, and that items are aligned, is asked of the bits that either has, and offsets not less are
 * below 2^63: it is the handler's business more often than it need be, but hardly ever. */
#define FOUND(size, bytes)                                                                                   \
    {                                                                                                        \
        uint64_t lo = a - start, hi = b - start, room = limit - (bytes);                                     \
        uint32_t both = x | y;                                                                               \
        if (RARELY(both > 0u - (bytes) || (both | (uint32_t)HOLE(A)) & ((size)-1)))                          \
            SLOW;                                                                                            \
        if (RARELY((int64_t)(lo | hi | room | (room - lo) | (room - hi)) < 0))                               \
            SLOW;                                                                                            \
        p = data + lo;                                                                                       \
        q = data + hi;                                                                                       \
        GO_WIDE;                                                                                             \
    }
#define FIND(size, above)                                                                                    \
    n = 0;                                                                                                   \
    if (vector_is_zero((above) | off_step(lower, x, y, size)))                                               \
        FOUND(size, HALF *(size))                                                                            \
    if (RARELY(!vector_is_zero((above) | off_step(lower, x, y, 0))))                                         \
        SLOW;                                                                                                \
    n = 1;                                                                                                   \
    FOUND(size, size)
#define LOWER_WORDS_OF_ROW                                                                                   \
    const Vector lower[ROW] = FIRST_ROW;                                                                     \
    uint32_t x = lower[0][0], y = lower[ROW / 2][0];
#define PLACES(size)                                                                                         \
    STENCIL_WIDE(place_shared_##size) {                                                                      \
        LOWER_WORDS_OF_ROW                                                                                   \
        uint32_t a = x + (uint32_t)HOLE(A), b = y + (uint32_t)HOLE(A), start = WORD(run, B);                 \
        uint64_t limit = WORD(run, C) - start;                                                               \
        char *data = POINTER(POINTER(warp, D), E) + start;                                                   \
        FIND(size, (Vector){0})                                                                              \
    }                                                                                                        \
    STENCIL_WIDE(place_global_##size) {                                                                      \
        LOWER_WORDS_OF_ROW                                                                                   \
        const Vector upper[ROW] = SECOND_ROW;                                                                \
        char *place = POINTER(prog, B);                                                                      \
        if (RARELY(!place))                                                                                  \
            SLOW;                                                                                            \
        uint64_t by = pair((uint32_t)0, upper[0][0]) + (uint64_t)(int32_t)HOLE(A), a = x + by, b = y + by;   \
        uint64_t start = QUAD(place, C), limit = QUAD(place, D);                                             \
        char *data = POINTER(place, E);                                                                      \
        FIND(size, off_step(upper, upper[0][0], upper[0][0], 0))                                             \
    }
PLACES(1)
PLACES(2)
PLACES(4)
PLACES(8)
PLACES(16)
/* Local memory has a row for each word, and all lanes are at one. Of that row the halves are found. B: bytes
 * of an item, E: B - 1; m: the address. */
STENCIL_WIDE(place_local) {
    LOWER_WORDS_OF_ROW
    uint32_t a = x + (uint32_t)HOLE(A);
    uint64_t limit = WORD(run, C), bytes = (uint64_t)HOLE(B);
    (void)y;
    if (RARELY(!vector_is_zero(off_step(lower, x, x, 0)) || a & (uint32_t)HOLE(E) || bytes > limit ||
               a > limit - bytes))
        SLOW;
    p = POINTER(warp, D) + (uint64_t)a * 32;
    q = p + HALF_BYTES;
    m = a;
    n = 0;
    GO_WIDE;
}
STENCIL_WIDE(not_found) { /* for writes_N and may_write */
    FREE;
    n = 1;
    GO_WIDE;
}
STENCIL_WIDE(next_row) {
    p += 2 * HALF_BYTES;
    q += 2 * HALF_BYTES;
    GO_WIDE;
}

/* An item is read and written at once: another thread of the host may read or write it meanwhile. Of vectors
 * that are not volatile clang accesses parts. */
typedef uint64_t Pair __attribute__((aligned(1)));
typedef uint32_t Quad __attribute__((vector_size(16), aligned(1)));
typedef uint32_t HalfRow __attribute__((vector_size(HALF_BYTES)));
typedef uint32_t GuestVector __attribute__((vector_size(VECTOR_BYTES), aligned(1)));
#define AT(type, at) (*(volatile type *)(void *)(at))

STENCIL_WIDE(load_4) {
    Vector row[ROW];
    if (n) {
        VECTORS {
            uint32_t word;
            memcpy(&word, HALF_OF(i), sizeof word);
            row[i] = word - (Vector){0};
        }
    } else {
        VECTORS { memcpy(&row[i], HALF_OF(i) + 4 * IN_HALF(i), sizeof row[i]); }
    }
    SET_LAST_ROW(row);
    GO_WIDE;
}
#define LOAD_PART(name, part, word)                                                                          \
    STENCIL_WIDE(load_##name) {                                                                              \
        typedef part Parts __attribute__((vector_size(L * sizeof(part)), aligned(1)));                       \
        typedef word Words __attribute__((vector_size(VECTOR_BYTES)));                                       \
        Vector row[ROW];                                                                                     \
        if (n) {                                                                                             \
            VECTORS { row[i] = (uint32_t)AT(part, HALF_OF(i)) - (Vector){0}; }                               \
        } else {                                                                                             \
            VECTORS {                                                                                        \
                Parts parts = AT(Parts, HALF_OF(i) + sizeof(part) * IN_HALF(i));                             \
                row[i] = (Vector) __builtin_convertvector(parts, Words);                                     \
            }                                                                                                \
        }                                                                                                    \
        SET_LAST_ROW(row);                                                                                   \
        GO_WIDE;                                                                                             \
    }
LOAD_PART(u8, uint8_t, uint32_t)
LOAD_PART(s8, int8_t, int32_t)
LOAD_PART(u16, uint16_t, uint32_t)
LOAD_PART(s16, int16_t, int32_t)

/* Words of 16 lanes, and the vectors that have them. */
#define EVEN_WORDS(x, y)                                                                                     \
    __builtin_shufflevector(x, y, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30)
#define ODD_WORDS(x, y)                                                                                      \
    __builtin_shufflevector(x, y, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31)
#define LOWER_LANES(x, y)                                                                                    \
    __builtin_shufflevector(x, y, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define UPPER_LANES(x, y)                                                                                    \
    __builtin_shufflevector(x, y, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#ifdef __AVX512F__
#define SET_2(x, y) (v0 = (x), v1 = (y))
#define SET_4(x, y, z, w) (v0 = (x), v1 = (y), v2 = (z), v3 = (w))
#define GET_2                                                                                                \
    { v0, v1 }
#define GET_4                                                                                                \
    { v0, v1, v2, v3 }
#define PART(x, i) (x)
#else
#define LOWER_PART(x) __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7)
#define UPPER_PART(x) __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15)
#define BOTH_PARTS(x, y) __builtin_shufflevector(x, y, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
#define SET_2(x, y) (v0 = LOWER_PART(x), v1 = UPPER_PART(x), v2 = LOWER_PART(y), v3 = UPPER_PART(y))
#define SET_4(x, y, z, w)                                                                                    \
    (SET_2(x, y), v4 = LOWER_PART(z), v5 = UPPER_PART(z), v6 = LOWER_PART(w), v7 = UPPER_PART(w))
#define GET_2                                                                                                \
    { BOTH_PARTS(v0, v1), BOTH_PARTS(v2, v3) }
#define GET_4                                                                                                \
    { BOTH_PARTS(v0, v1), BOTH_PARTS(v2, v3), BOTH_PARTS(v4, v5), BOTH_PARTS(v6, v7) }
#define PART(x, i) ((i) ? UPPER_PART(x) : LOWER_PART(x))
#endif
#ifdef __AVX512F__
#define ITEMS_AT(at) AT(GuestVector, at)
#else
#define ITEMS_AT(at) BOTH_PARTS(AT(GuestVector, at), AT(GuestVector, (at) + VECTOR_BYTES))
#endif
#define LOADS(which, at)                                                                                     \
    STENCIL_WIDE(load_8_##which) {                                                                           \
        HalfRow x, y;                                                                                        \
        if (n) {                                                                                             \
            uint64_t item = AT(Pair, at);                                                                    \
            x = (uint32_t)item - (HalfRow){0};                                                               \
            y = (uint32_t)(item >> 32) - (HalfRow){0};                                                       \
        } else {                                                                                             \
            HalfRow first = ITEMS_AT(at), second = ITEMS_AT((at) + HALF_BYTES);                              \
            x = EVEN_WORDS(first, second);                                                                   \
            y = ODD_WORDS(first, second);                                                                    \
        }                                                                                                    \
        SET_2(x, y);                                                                                         \
        GO_WIDE;                                                                                             \
    }                                                                                                        \
    STENCIL_WIDE(load_16_##which) {                                                                          \
        HalfRow x, y, z, w;                                                                                  \
        if (n) {                                                                                             \
            Quad item = AT(Quad, at);                                                                        \
            x = item[0] - (HalfRow){0};                                                                      \
            y = item[1] - (HalfRow){0};                                                                      \
            z = item[2] - (HalfRow){0};                                                                      \
            w = item[3] - (HalfRow){0};                                                                      \
        } else {                                                                                             \
            HalfRow a = ITEMS_AT(at), b = ITEMS_AT((at) + HALF_BYTES), c = ITEMS_AT((at) + 2 * HALF_BYTES),  \
                    d = ITEMS_AT((at) + 3 * HALF_BYTES);                                                     \
            HalfRow ab = EVEN_WORDS(a, b), cd = EVEN_WORDS(c, d);                                            \
            x = EVEN_WORDS(ab, cd);                                                                          \
            z = ODD_WORDS(ab, cd);                                                                           \
            ab = ODD_WORDS(a, b);                                                                            \
            cd = ODD_WORDS(c, d);                                                                            \
            y = EVEN_WORDS(ab, cd);                                                                          \
            w = ODD_WORDS(ab, cd);                                                                           \
        }                                                                                                    \
        SET_4(x, y, z, w);                                                                                   \
        GO_WIDE;                                                                                             \
    }
LOADS(lower, p)
LOADS(upper, q)

/* Stores. Before them, of shared memory: are the halves consecutive? */
STENCIL_WIDE(may_write) {
    if (RARELY(n))
        SLOW;
    GO_WIDE;
}
/* Of global memory also, may it be written (F)? What is, is marked: G has a bit for each byte. */
#define MAY_WRITE                                                                                            \
    char *place = POINTER(prog, B), *data = POINTER(place, E), *written = POINTER(place, G);                 \
    uint64_t lo = (uint64_t)(p - data), hi = (uint64_t)(q - data);                                           \
    if (RARELY(n || (lo | hi) & 7 || place[HOLE(F)]))                                                        \
        SLOW;
static void mark_half(char *at, unsigned size) {
    if (size < 4)
        memset(at, 0xff, HALF * size / 8);
    _Pragma("clang loop unroll(full)") for (unsigned i = 0; i < size / 4; i++) AT(Pair, at + 8 * i) = ~0ull;
}
#define WRITES(size)                                                                                         \
    STENCIL_WIDE(writes_##size) {                                                                            \
        MAY_WRITE                                                                                            \
        mark_half(written + lo / 8, size);                                                                   \
        mark_half(written + hi / 8, size);                                                                   \
        GO_WIDE;                                                                                             \
    }
WRITES(1)
WRITES(2)
WRITES(4)
WRITES(8)
WRITES(16)
/* Each of the lowest bits becomes `each` bits. */
static uint64_t spread_bits(uint32_t bits, unsigned each) {
    uint64_t lowest = ~0ull / ((1ull << each) - 1);
    return _pdep_u64(bits, lowest) * ((1ull << each) - 1);
}
/* Bytes that some lanes write, not in whole groups of eight, and that have no marks yet. */
static uint64_t unmarked(const char *at, uint32_t lanes, unsigned size) {
    uint64_t none = 0;
    _Pragma("clang loop unroll(full)") for (unsigned i = 0; i < size / 4; i++) none |=
        spread_bits(lanes >> i * (64 / size), size) & ~AT(Pair, at + 8 * i);
    return none;
}
#define WRITES_SOME(size)                                                                                    \
    STENCIL_WIDE(writes_some_##size) {                                                                       \
        MAY_WRITE                                                                                            \
        if (g == ~0u) {                                                                                      \
            mark_half(written + lo / 8, size);                                                               \
            mark_half(written + hi / 8, size);                                                               \
        } else if (RARELY(unmarked(written + lo / 8, g & 0xffff, size) |                                     \
                          unmarked(written + hi / 8, g >> HALF, size))) {                                    \
            SLOW;                                                                                            \
        }                                                                                                    \
        GO_WIDE;                                                                                             \
    }
WRITES_SOME(4)
WRITES_SOME(8)
WRITES_SOME(16)
STENCIL_WIDE(writes_local) { /* words from m on, F of them */
    uint32_t word = m / 4, end = word + (uint32_t)HOLE(F);
    WORD(warp, G) = word < WORD(warp, G) ? word : WORD(warp, G);
    WORD(warp, H) = end > WORD(warp, H) ? end : WORD(warp, H);
    GO_WIDE;
}

/* A vector of words, all or those of the lowest bits; *differs: from what there was. */
static void store_all(char *at, Vector v, Vector *differs) {
    *differs |= AT(GuestVector, at) ^ v;
    AT(GuestVector, at) = v;
}
static void store_some(char *at, Vector v, uint32_t bits, Vector *differs) {
    Vector old = AT(GuestVector, at);
    *differs |= merged(bits, v, old) ^ old;
#ifdef __AVX512F__
    _mm512_mask_storeu_epi32(at, (__mmask16)bits, (__m512i)v);
#else
    const Vector each = {1, 2, 4, 8, 16, 32, 64, 128};
    _mm256_maskstore_epi32((int *)(void *)at, (__m256i)(((bits - (Vector){0}) & each) == each), (__m256i)v);
#endif
}
/* H counts stores of anything new. */
#define STORE(name, width, ...)                                                                              \
    STENCIL_WIDE(store_##name) {                                                                             \
        const Vector row[ROW] = FIRST_ROW;                                                                   \
        Vector differs[2] = {{0}, {0}};                                                                      \
        VECTORS {                                                                                            \
            Vector v = row[i], *changed = &differs[i * L / HALF];                                            \
            char *at = HALF_OF(i) + (width)*IN_HALF(i);                                                      \
            __VA_ARGS__                                                                                      \
        }                                                                                                    \
        QUAD(run, H) += !vector_is_zero(differs[0]) | !vector_is_zero(differs[1]);                           \
        GO_WIDE;                                                                                             \
    }
#define STORE_PART(part)                                                                                     \
    typedef part Parts __attribute__((vector_size(L * sizeof(part)), aligned(1)));                           \
    Parts parts = __builtin_convertvector(v, Parts), old = AT(Parts, at);                                    \
    *changed |= __builtin_convertvector(parts ^ old, Vector);                                                \
    AT(Parts, at) = parts;
STORE(1, 1, STORE_PART(uint8_t))
STORE(2, 2, STORE_PART(uint16_t))
STORE(4, 4, store_all(at, v, changed);)
STORE(some_4, 4, store_some(at, v, g >> i * L, changed);)

/* What 16 lanes have in n rows, as it lies in memory. */
#define ITEMS_2                                                                                              \
    const HalfRow row[2] = GET_2, items[2] = {LOWER_LANES(row[0], row[1]), UPPER_LANES(row[0], row[1])};
#define LOWER_PAIRS(x, y)                                                                                    \
    __builtin_shufflevector(x, y, 0, 1, 16, 17, 2, 3, 18, 19, 4, 5, 20, 21, 6, 7, 22, 23)
#define UPPER_PAIRS(x, y)                                                                                    \
    __builtin_shufflevector(x, y, 8, 9, 24, 25, 10, 11, 26, 27, 12, 13, 28, 29, 14, 15, 30, 31)
#define ITEMS_4                                                                                              \
    const HalfRow row[4] = GET_4, xy[2] = {LOWER_LANES(row[0], row[1]), UPPER_LANES(row[0], row[1])},        \
                  zw[2] = {LOWER_LANES(row[2], row[3]), UPPER_LANES(row[2], row[3])},                        \
                  items[4] = {LOWER_PAIRS(xy[0], zw[0]), UPPER_PAIRS(xy[0], zw[0]),                          \
                              LOWER_PAIRS(xy[1], zw[1]), UPPER_PAIRS(xy[1], zw[1])};
#define STORE_HALF(name, at, n, bits, store)                                                                 \
    STENCIL_WIDE(store_##name) {                                                                             \
        ITEMS_##n UNUSED uint64_t lanes = spread_bits(bits, n);                                              \
        Vector differs = {0};                                                                                \
        _Pragma("clang loop unroll(full)") for (unsigned i = 0; i < (n)*PARTS; i++) {                        \
            Vector v = PART(items[i / PARTS], i % PARTS);                                                    \
            store((at) + i * VECTOR_BYTES);                                                                  \
        }                                                                                                    \
        QUAD(run, H) += !vector_is_zero(differs);                                                            \
        GO_WIDE;                                                                                             \
    }
#define IN_ALL(to) store_all(to, v, &differs)
#define IN_SOME(to) store_some(to, v, (uint32_t)(lanes >> i * L), &differs)
STORE_HALF(8_lower, p, 2, g, IN_ALL)
STORE_HALF(8_upper, q, 2, g >> HALF, IN_ALL)
STORE_HALF(16_lower, p, 4, g, IN_ALL)
STORE_HALF(16_upper, q, 4, g >> HALF, IN_ALL)
STORE_HALF(some_8_lower, p, 2, g, IN_SOME)
STORE_HALF(some_8_upper, q, 2, g >> HALF, IN_SOME)
STORE_HALF(some_16_lower, p, 4, g, IN_SOME)
STORE_HALF(some_16_upper, q, 4, g >> HALF, IN_SOME)

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
