/* Terms of the prover: hash-consed, so that equal pointers are equal values, and normalised when they are
 * made, so that most equal values are equal pointers. width 1   ordered binary decision diagrams over atoms
 * (comparisons, variables): equal functions, equal pointers width 32  linear sums mod 2^32 over atoms;
 * bitwise functions as exclusive or of masked products; decisions (ITE) width 64  linear sums mod 2^64 over
 * 64-bit atoms and zero-extended 32-bit ones; a register pair is lo + 2^32 * hi, and carries are the high
 * words of sums, so that pairs of 32-bit additions become one 64-bit sum again width 0   memory: what it held
 * at a cut point, then guarded events in order. Rules that fit one are rows of rewrite.def.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_PROVE_TERM_H
#define HEDDLE_CHECK_PROVE_TERM_H
#include "base/arena.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum {
    TK_CONST, /* k */
    TK_VAR,   /* name; k: cut point that defines it + 1, 0 = input of the function */
    TK_ITE,   /* a[0] atom of width 1, a[1] if true, a[2] if false */
    TK_APP,   /* op */
    TK_SUM,   /* k + sum of c[i] * a[i] */
    TK_XOR,   /* k ^ xor of (c[i] & a[i]), width 32 */
    TK_AND,   /* product of a[], only inside of TK_XOR */
    TK_LO,
    TK_HI,   /* words of a 64-bit term */
    TK_SEXT, /* 32 to 64 bits */
    TK_EVENT /* op, k: kind; a[0] memory before, a[1] guard, arguments */
} TermKind;

// clang-format off
typedef enum { /* TK_APP; `k` is a parameter */
    TO_MUL,              /* width 32, or 64 of two zero-extended words */
    TO_SHL, TO_LSHR, TO_ASHR, /* amounts are clamped */
    TO_SHL64, TO_LSHR64, TO_ASHR64, /* 64 bits by a 32-bit amount, clamped */
    TO_EQZ, TO_ULT, TO_SLT,
    TO_FLT, TO_FEQ, TO_FGT, /* k: bits of the format */
    TO_POPC, TO_BREV, TO_FLO, /* FLO: number of the highest one, ~0 of 0 */
    TO_PRMT,             /* (low, high, selector) by index */
    TO_READ,             /* (memory, address); k: bytes | space << 8; zero-extended */
    TO_RESULT,           /* (event); k: word */
    TO_UF                /* name, k */
} TermOp;
// clang-format on

typedef struct Term {
    uint32_t id, hash;
    uint8_t kind, width;
    uint16_t op;
    uint32_t n;
    uint64_t k;
    /* found when it is made: bits that may be one, of width 32 (else all); whether t_under finds a decision
     * in it; of a diagram: in its atoms and leaves */
    uint32_t possible;
    bool decides, decides_below;
    uint64_t places;  /* those whose variables are in it: see term_depends */
    const char *name; /* interned: compare pointers */
    struct Term *const *a;
    const uint64_t *c;
} Term;

typedef struct TermPair {
    Term *t;
    uint64_t c;
} TermPair;
typedef struct Terms {
    Arena arena;
    Term **table;
    uint32_t size, used, next_id;
    struct TermMemo *memo, *under_memo;
    const char **names;
    uint32_t names_size, nnames;
    Term *truth, *falsity, *zero;
    uint64_t steps, max_steps; /* of diagrams; beyond, `overflow` */
    uint32_t max_terms;        /* likewise */
    double deadline;           /* of clock_cpu_seconds, 0: none; likewise */
    bool overflow;             /* something became too large; terms made since may not be used */
} Terms;

void term_init(Terms *ts);
void term_free(Terms *ts);
/* Behind an overflow: no result of an operation is remembered, and what was made since must not be used. */
void term_recover(Terms *ts);
/* The same text is the same pointer, of any length. */
const char *term_name(Terms *ts, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
const char *term_name_of(Terms *ts, const char *fmt, va_list ap);

Term *t_const(Terms *ts, unsigned width, uint64_t v);
Term *t_var(Terms *ts, unsigned width, const char *name, uint32_t cut);
static inline bool t_is_const(const Term *term) { return term->kind == TK_CONST; }

/* width 1 */
Term *t_bool(Terms *ts, bool v);
Term *t_not(Terms *ts, Term *term);
Term *t_and(Terms *ts, Term *term, Term *q);
Term *t_or(Terms *ts, Term *term, Term *q);
Term *t_xor1(Terms *ts, Term *term, Term *q);
Term *t_table3(Terms *ts, unsigned lut, Term *term, Term *y, Term *z); /* x 0xf0, y 0xcc, z 0xaa */
Term *t_eq(Terms *ts, Term *x, Term *y);
Term *t_ult(Terms *ts, Term *term, Term *y);
Term *t_slt(Terms *ts, Term *term, Term *y);
/* Float comparison; outcomes: 1 less, 2 equal, 4 greater, 8 unordered. */
Term *t_fcmp(Terms *ts, unsigned bits, unsigned outcomes, Term *term, Term *y);

/* any width */
Term *term_decision(Terms *ts, Term *atom); /* the diagram of an atom of a TK_ITE */
Term *t_ite(Terms *ts, Term *p, Term *x, Term *y);
Term *t_under(Terms *ts, Term *term, Term *cond); /* x, where it may be anything if cond is false */
/* x and y; false, too, where one is false wherever the other holds and the diagrams do not say so: an atom
 * of one has a decision that the other makes. */
Term *t_both(Terms *ts, Term *one, Term *two);

/* width 32 and 64 alike */
Term *t_add(Terms *ts, Term *term, Term *y);
Term *t_sub(Terms *ts, Term *term, Term *y);
Term *t_scale(Terms *ts, Term *term, uint64_t c);
Term *t_mul(Terms *ts, Term *term, Term *y);

/* width 32 */
Term *t_inv(Terms *ts, Term *term); /* ~x */
Term *t_land(Terms *ts, Term *x, Term *term);
Term *t_lor(Terms *ts, Term *term, Term *y);
Term *t_lxor(Terms *ts, Term *term, Term *y);
Term *t_lop3(Terms *ts, unsigned lut, Term *term, Term *y, Term *z);
Term *t_shl(Terms *ts, Term *x, Term *term);
Term *t_lshr(Terms *ts, Term *x, Term *term);
Term *t_ashr(Terms *ts, Term *x, Term *term);
Term *t_b2i(Terms *ts, Term *term);                      /* 1 or 0 */
Term *t_sext_from(Terms *ts, Term *term, unsigned bits); /* low `bits` of x, sign-extended to 32 */
Term *t_zext_from(Terms *ts, Term *x, unsigned bits);
Term *t_ones(Terms *ts, Term *term);                   /* the lowest n bits */
Term *t_field(Terms *ts, bool sign, Term *x, Term *n); /* the lowest n bits of x, extended */
Term *t_min(Terms *ts, bool sign, Term *x, Term *term);
Term *t_max(Terms *ts, bool sign, Term *term, Term *y);
Term *t_flo(Terms *ts, Term *term, bool shift_amount); /* highest one, or its distance from bit 31; ~0 of 0 */
Term *t_carry(Terms *ts, Term *term,
              Term *q); /* b2i(p) + b2i(q), seen as the carry of the sum that made them, if so */
Term *t_prmt(Terms *ts, Term *lo, Term *hi, Term *sel);

/* width 64 */
Term *t_pair(Terms *ts, Term *lo, Term *hi);
Term *t_zext(Terms *ts, Term *term);
Term *t_sext(Terms *ts, Term *term);
Term *t_lo(Terms *ts, Term *term);
Term *t_hi(Terms *ts, Term *term);
Term *t_shift64(Terms *ts, TermOp op, Term *x, Term *term);
/* The high word of hi:lo << n, or (left false) the low word of hi:lo >> n; n at most 32. Of different words
 * and by a number it is each of them shifted, as compilers write it where they have no such operation. */
Term *t_funnel(Terms *ts, bool left, Term *lo, Term *hi, Term *n);

/* applications */
Term *t_app(Terms *ts, TermOp op, unsigned width, uint64_t k, const char *name, Term *const *a, uint32_t n);
static inline Term *t_app1(Terms *ts, TermOp op, unsigned width, Term *x) {
    return t_app(ts, op, width, 0, NULL, &x, 1);
}

/* An uninterpreted function; sums and products of floating-point numbers commute, and do not tell NaNs apart.
 */
Term *t_uf(Terms *ts, unsigned width, const char *name, Term *const *a, uint32_t n);
/* x of x + -0, which makes a NaN canonical: for what does not tell NaNs apart. Else the term itself. */
Term *t_plain(Terms *ts, Term *term);
Term *t_unclamped(Term *term); /* x of x clamped to 0 and 1; any other as it is */

/* memory */
enum { EV_STORE, EV_STORE_GENERIC, EV_OTHER }; /* Term.op of an event; its space is k >> 8, bytes k & 255 */
Term *t_store(Terms *ts, Term *mem, Term *guard, Term *addr, unsigned bytes, unsigned space, Term *data);
/* A weak store at a generic address: of each memory that it may reach it is an event. words: as many as the
 * bytes fill */
Term *t_store_generic(Terms *ts, Term *mem, Term *guard, Term *addr, unsigned bytes, Term *const *words);
/* What such a store left at a generic address, if it is the latest event of all n memories but for stores
 * like it beside the address; NULL: that is not known. mem: of t_met, all that the load may see */
Term *t_read_generic(Terms *ts, Term *const *mem, uint32_t n, Term *guard, Term *addr, unsigned bytes);
/* *what, if not NULL, is the event with what it found: results depend on it. */
Term *t_event(Terms *ts, Term *mem, Term *guard, const char *name, uint64_t k, Term *const *args, uint32_t n,
              Term **what);
/* Memory as something under `guard` finds it, less the events that cannot have happened then. */
Term *t_met(Terms *ts, Term *mem, Term *guard);
Term *t_read(Terms *ts, Term *mem, Term *guard, Term *addr, unsigned bytes, unsigned space);

/* May the term have a variable of this `cut`, or one that is of none? (False is certain.) */
bool term_depends(const Term *term, uint32_t cut);
unsigned t_zeros(const Term *term); /* that many of its lowest bits are known to be 0, at most 16 */

/* Concrete value under an assignment of variables that follows from `seed`. */
typedef struct TermEval TermEval;
TermEval *term_eval_new(const Terms *ts, uint64_t seed);
void term_eval_free(TermEval *eval);
void term_eval_set(TermEval *eval, const Term *var, uint64_t value);
uint64_t term_eval(TermEval *eval, const Term *term);

/* Readable form, cut after some depth; malloc'ed. */
char *term_text(const Term *term, unsigned depth);
#endif
