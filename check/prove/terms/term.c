/* Terms: hash consing, decision diagrams, applications. See check/prove/terms/term.h.
 * SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/rng.h"
#include "base/scope.h"
#include "check/prove/terms/rewrite.h"
#include "check/prove/terms/term_internal.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEMO_SIZE = 1 << 16, MAX_NAME = 160 /* most are shorter */ };

static uint32_t mix(uint32_t h, uint64_t v) {
    uint64_t x = (h ^ v) * RNG_STEP;
    return (uint32_t)(x >> 32) ^ (uint32_t)x;
}

void term_init(Terms *ts) {
    *ts = (Terms){.size = 1 << 12, .next_id = 1, .max_steps = 4000000, .max_terms = UINT32_MAX};
    ts->table = mem_zeroed(ts->size, sizeof *ts->table);
    ts->memo = mem_zeroed(MEMO_SIZE, sizeof *ts->memo);
    ts->under_memo = mem_zeroed(MEMO_SIZE, sizeof *ts->under_memo);
    ts->truth = t_const(ts, 1, 1);
    ts->falsity = t_const(ts, 1, 0);
    ts->zero = t_const(ts, 32, 0);
}

void term_free(Terms *ts) {
    mem_free(ts->table);
    mem_free(ts->memo);
    mem_free(ts->under_memo);
    mem_free(ts->names);
    arena_free(&ts->arena);
    *ts = (Terms){0};
}

void term_recover(Terms *ts) {
    memset(ts->memo, 0, MEMO_SIZE * sizeof *ts->memo);
    memset(ts->under_memo, 0, MEMO_SIZE * sizeof *ts->under_memo);
    ts->steps = 0;
    ts->overflow = false;
}

/* Names are few: a list sorted by text. */
const char *term_name_of(Terms *ts, const char *fmt, va_list ap) {
    char most[MAX_NAME], *text = most;
    va_list again;
    va_copy(again, ap);
    size_t bytes = (size_t)vsnprintf(most, sizeof most, fmt, ap) + 1;
    if (bytes > sizeof most) { /* of C++, say: names that begin alike are not one */
        text = arena_alloc(&ts->arena, bytes);
        vsnprintf(text, bytes, fmt, again);
    }
    va_end(again);
    uint32_t lo = 0, hi = ts->nnames;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        int order = strcmp(ts->names[mid], text);
        if (order == 0)
            return ts->names[mid];
        if (order < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (ts->nnames == ts->names_size) {
        ts->names_size = ts->names_size ? 2 * ts->names_size : 64;
        ts->names = mem_resize(ts->names, ts->names_size * sizeof *ts->names);
    }
    memmove(ts->names + lo + 1, ts->names + lo, (ts->nnames - lo) * sizeof *ts->names);
    ts->nnames++;
    return ts->names[lo] = arena_copy(&ts->arena, text, strlen(text) + 1);
}
const char *term_name(Terms *ts, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    const char *name = term_name_of(ts, fmt, ap);
    va_end(ap);
    return name;
}

static bool same(const Term *term, const Term *y) {
    return term->hash == y->hash && term->kind == y->kind && term->width == y->width && term->op == y->op &&
           term->n == y->n && term->k == y->k && term->name == y->name && !term->c == !y->c &&
           (!term->n || memcmp(term->a, y->a, term->n * sizeof *term->a) == 0) &&
           (!term->c || memcmp(term->c, y->c, term->n * sizeof *term->c) == 0);
}

static void grow_table(Terms *ts) {
    uint32_t size = ts->size * 2;
    Term **table = mem_zeroed(size, sizeof *table);
    for (uint32_t i = 0; i < ts->size; i++)
        if (ts->table[i]) {
            uint32_t at = ts->table[i]->hash & (size - 1);
            while (table[at])
                at = (at + 1) & (size - 1);
            table[at] = ts->table[i];
        }
    mem_free(ts->table);
    ts->table = table;
    ts->size = size;
}

/* Is a decision in it that t_under can reach; of a diagram: in its atoms and leaves? */
static bool decides_below(const Term *term) {
    bool found = false;
    for (uint32_t i = 0; term->kind != TK_EVENT && i < term->n; i++)
        found |= i && term->kind == TK_ITE && term->a[i]->kind == TK_ITE ? term->a[i]->decides_below
                                                                         : term->a[i]->decides;
    return found;
}

/* Places by their number, modulo; the last bit is of variables that no place defines, but the function, or an
 * instruction whenever it is executed. */
enum { PLACES = 63 };
static const uint64_t first_of_none = 0xffe00000;
static uint64_t places_of(const Term *term) {
    uint64_t places = 0;
    if (term->kind == TK_VAR && term->k)
        places = term->k < first_of_none ? 1ull << (term->k % PLACES) : 1ull << PLACES;
    for (uint32_t i = 0; i < term->n; i++)
        places |= term->a[i]->places;
    return places;
}
bool term_depends(const Term *term, uint32_t cut) {
    return (term->places & (1ull << (cut % PLACES) | 1ull << PLACES)) != 0;
}

Term *term_make(Terms *ts, Term key) {
    uint32_t h =
        mix(mix(key.kind | (uint32_t)key.width << 8 | (uint32_t)key.op << 16, key.k), (uintptr_t)key.name);
    for (uint32_t i = 0; i < key.n; i++)
        h = mix(mix(h, key.a[i]->id), key.c ? key.c[i] : 0);
    key.hash = h;
    uint32_t at = h & (ts->size - 1);
    for (; ts->table[at]; at = (at + 1) & (ts->size - 1))
        if (same(ts->table[at], &key))
            return ts->table[at];
    Term *t = ARENA_NEW(&ts->arena, Term);
    if (key.n)
        key.a = arena_copy(&ts->arena, key.a, key.n * sizeof *key.a);
    if (key.c)
        key.c = arena_copy(&ts->arena, key.c, key.n * sizeof *key.c);
    key.id = ts->next_id++;
    key.possible = term_possible_of(&key);
    key.decides_below = decides_below(&key);
    key.places = places_of(&key);
    key.decides = key.kind == TK_ITE || key.decides_below;
    ts->overflow |= ts->next_id > ts->max_terms;
    if (ts->next_id % 4096 == 0) {
        scope_poll();
        ts->overflow |= ts->deadline > 0 && clock_cpu_seconds() > ts->deadline;
    }
    *t = key;
    ts->table[at] = t;
    if (++ts->used * 2 > ts->size)
        grow_table(ts);
    return t;
}

uint64_t term_mask(unsigned width) { return width >= 64 ? ~0ull : (1ull << width) - 1; }

Term *t_const(Terms *ts, unsigned width, uint64_t v) {
    return term_make(ts, (Term){.kind = TK_CONST, .width = (uint8_t)width, .k = v & term_mask(width)});
}
Term *t_bool(Terms *ts, bool v) { return v ? ts->truth : ts->falsity; }

/* Variables of width 1 are atoms of diagrams. */
static Term *as_bool(Terms *ts, Term *atom) {
    return term_make(
        ts, (Term){.kind = TK_ITE, .width = 1, .n = 3, .a = (Term *[]){atom, ts->truth, ts->falsity}});
}
Term *term_decision(Terms *ts, Term *atom) { return as_bool(ts, atom); }
Term *t_var(Terms *ts, unsigned width, const char *name, uint32_t cut) {
    Term *v = term_make(ts, (Term){.kind = TK_VAR, .width = (uint8_t)width, .name = name, .k = cut});
    return width == 1 ? as_bool(ts, v) : v;
}

/* ---- diagrams ---- */
static const Term *top(const Term *best,
                       const Term *term) { /* the smaller of `best` and the first atom of t */
    return term->kind == TK_ITE && (!best || term->a[0]->id < best->id) ? term->a[0] : best;
}
static Term *term_branch(Term *term, const Term *atom, bool v) {
    return term->kind == TK_ITE && term->a[0] == atom ? term->a[v ? 1 : 2] : term;
}

static TermMemo *memo(Terms *ts, const Term *term, const Term *g, const Term *h) {
    return &ts->memo[mix(mix(mix(1, term->id), g->id), h ? h->id : 0) & (MEMO_SIZE - 1)];
}

bool term_spent(Terms *ts) {
    if (++ts->steps > ts->max_steps)
        ts->overflow = true;
    return ts->overflow;
}

TermMemo *term_under_memo(Terms *ts, const Term *term, const Term *cond) {
    return &ts->under_memo[mix(mix(2, term->id), cond->id) & (MEMO_SIZE - 1)];
}

/* Of `x == 0 ? yes : no`: is yes what no is where x is 0, a sum of the number of x's highest one, ~0 of 0? */
static bool is_that_of_zero(const Term *atom, const Term *yes, const Term *no) {
    if (atom->kind != TK_APP || atom->op != TO_EQZ || yes->kind != TK_CONST)
        return false;
    bool sum = no->kind == TK_SUM && no->width == 32 && no->n == 1;
    const Term *highest = sum ? no->a[0] : no;
    return highest->kind == TK_APP && highest->op == TO_FLO && highest->a[0] == atom->a[0] &&
           yes->k == ((sum ? no->k - no->c[0] : ~0ull) & term_mask(32));
}

static Term *node(Terms *ts, const Term *atom, Term *yes, Term *no) {
    if (yes == no || is_that_of_zero(atom, yes, no))
        return no;
    return term_make(
        ts, (Term){.kind = TK_ITE, .width = yes->width, .n = 3, .a = (Term *[]){(Term *)atom, yes, no}});
}

Term *term_choice(Terms *ts, Term *f, Term *g, Term *h) {
    if (f == ts->truth || g == h)
        return g;
    if (f == ts->falsity)
        return h;
    if (g == ts->truth && h == ts->falsity)
        return f;
    TermMemo *term_memo = memo(ts, f, g, h);
    if (term_memo->f == f && term_memo->g == g && term_memo->h == h)
        return term_memo->result;
    if (term_spent(ts))
        return g;
    const Term *v = top(top(top(NULL, f), g), h);
    Term *r = node(
        ts, v, term_choice(ts, term_branch(f, v, true), term_branch(g, v, true), term_branch(h, v, true)),
        term_choice(ts, term_branch(f, v, false), term_branch(g, v, false), term_branch(h, v, false)));
    *term_memo = (TermMemo){f, g, h, r};
    return r;
}

Term *t_ite(Terms *ts, Term *p, Term *x, Term *y) {
    if (x == y || p == ts->truth)
        return x;
    if (p == ts->falsity)
        return y;
    if (x->width == 64)
        return t_pair(ts, t_ite(ts, p, t_lo(ts, x), t_lo(ts, y)), t_ite(ts, p, t_hi(ts, x), t_hi(ts, y)));
    /* what stands on a side is what it is there: as if it had been computed behind a branch */
    return term_choice(ts, p, x->decides_below ? t_under(ts, x, p) : x,
                       y->decides_below ? t_under(ts, y, t_not(ts, p)) : y);
}
Term *t_not(Terms *ts, Term *p) { return term_choice(ts, p, ts->falsity, ts->truth); }
Term *t_and(Terms *ts, Term *p, Term *q) { return term_choice(ts, p, q, ts->falsity); }
Term *t_or(Terms *ts, Term *p, Term *q) { return term_choice(ts, p, ts->truth, q); }
Term *t_xor1(Terms *ts, Term *p, Term *q) { return term_choice(ts, p, t_not(ts, q), q); }

Term *t_table3(Terms *ts, unsigned lut, Term *x, Term *y, Term *z) {
    Term *row[4];
    for (unsigned i = 0; i < 4; i++)
        row[i] = term_choice(ts, z, t_bool(ts, lut >> (2 * i + 1) & 1), t_bool(ts, lut >> (2 * i) & 1));
    return term_choice(ts, x, term_choice(ts, y, row[3], row[2]), term_choice(ts, y, row[1], row[0]));
}

/* The generalised cofactor: equal for any two functions that agree wherever `c` holds. */
Term *term_cofactor(Terms *ts, Term *term, Term *c) {
    if (c == ts->truth || term->kind != TK_ITE)
        return term;
    TermMemo *term_memo = memo(ts, term, c, NULL);
    if (term_memo->f == term && term_memo->g == c && !term_memo->h)
        return term_memo->result;
    if (term_spent(ts))
        return term;
    const Term *v = top(top(NULL, term), c);
    Term *c1 = term_branch(c, v, true), *c0 = term_branch(c, v, false), *r;
    if (c1 == ts->falsity)
        r = term_cofactor(ts, term_branch(term, v, false), c0);
    else if (c0 == ts->falsity)
        r = term_cofactor(ts, term_branch(term, v, true), c1);
    else
        r = node(ts, v, term_cofactor(ts, term_branch(term, v, true), c1),
                 term_cofactor(ts, term_branch(term, v, false), c0));
    *term_memo = (TermMemo){term, c, NULL, r};
    return r;
}

bool term_const_leaves(const Term *term, unsigned *budget) {
    if (term->kind == TK_CONST)
        return true;
    if (term->kind != TK_ITE || !*budget)
        return false;
    --*budget;
    return term_const_leaves(term->a[1], budget) && term_const_leaves(term->a[2], budget);
}

/* f(x, y) decided before it is computed, where one is a decision between constants and the other a constant;
 * NULL otherwise. */
Term *term_lift(Terms *ts, TermFn2 *f, Term *x, Term *y) {
    Term *term = x->kind == TK_ITE ? x : y, *k = term == x ? y : x;
    unsigned budget = 32;
    if (term->kind != TK_ITE || k->kind != TK_CONST || !term_const_leaves(term, &budget))
        return NULL;
    Term *atom = as_bool(ts, term->a[0]);
    Term *yes = term == x ? f(ts, term->a[1], k) : f(ts, k, term->a[1]);
    Term *no = term == x ? f(ts, term->a[2], k) : f(ts, k, term->a[2]);
    return t_ite(ts, atom, yes, no);
}

/* ---- applications ---- */
/* A count of ones, or the word the other way round. */
static Term *of_number(Terms *ts, TermOp op, uint64_t k) {
    uint64_t reversed = 0;
    for (unsigned i = 0; i < 32; i++)
        reversed |= (k >> i & 1) << (31 - i);
    return t_const(ts, 32, op == TO_BREV ? reversed : (uint64_t)__builtin_popcountll(k));
}

Term *t_app(Terms *ts, TermOp op, unsigned width, uint64_t k, const char *name, Term *const *a, uint32_t n) {
    if ((op == TO_BREV || op == TO_POPC) && t_is_const(a[0]))
        return of_number(ts, op, a[0]->k);
    Term *t = term_make(ts, (Term){.kind = TK_APP,
                                   .width = (uint8_t)width,
                                   .op = (uint16_t)op,
                                   .k = k,
                                   .name = name,
                                   .a = a,
                                   .n = n});
    return width == 1 ? as_bool(ts, t) : t;
}

/* The sign of an f32 is changed, or taken away, and nothing else. */
static bool is_signed_copy(const Term *term) {
    enum { MAGNITUDE = 0x7fffffff };
    return term->kind == TK_XOR && term->n == 1 && term->a[0]->kind != TK_AND &&
           (term->c[0] & MAGNITUDE) == MAGNITUDE && !(term->k & MAGNITUDE);
}

/* x of x + -0, which makes a NaN canonical; with another sign of that it is as good. */
Term *t_plain(Terms *ts, Term *term) {
    if (is_signed_copy(term)) {
        Term *inner = t_plain(ts, term->a[0]);
        return inner == term->a[0]
                   ? term
                   : t_lxor(ts, t_land(ts, inner, t_const(ts, 32, term->c[0])), t_const(ts, 32, term->k));
    }
    if (term->kind == TK_APP && term->op == TO_UF && term->n == 2 &&
        (strcmp(term->name, "fadd.0") == 0 || strcmp(term->name, "dadd.0") == 0)) {
        Term *zero = term->width == 64 ? t_const(ts, 64, 1ull << 63) : t_const(ts, 32, 0x80000000);
        for (unsigned i = 0; i < 2; i++)
            if (term->a[i] == zero)
                return term->a[1 - i];
    }
    return term;
}

/* A number that is made a whole one by some rounding mode and cut off then is rounded by that mode. */
static Term *rounded_once(Terms *ts, unsigned width, const char *name, const Term *whole) {
    enum { CUT_OFF = 3 }; /* IRnd_TRUNC */
    unsigned sign, to, from, mode, format, first;
    int end = 0, end_of_first = 0;
    if (whole->kind != TK_APP || whole->op != TO_UF || whole->n != 1 ||
        sscanf(name, "f2i.%u.%u.%u.%u%n", &sign, &to, &from, &mode, &end) != 4 || mode != CUT_OFF ||
        sscanf(whole->name, "frnd.%u.%u%n", &format, &first, &end_of_first) != 2 || format != from ||
        whole->name[end_of_first] || name[end])
        return NULL;
    return t_uf(ts, width, term_name(ts, "f2i.%u.%u.%u.%u", sign, to, from, first), whole->a, 1);
}

/* Clamped to 0 and 1, as the last step of an operation: -0 and a NaN are 0. */
static const char saturated[] = "fadd.0.sat";
static Term *clamped(Terms *ts, const char *name, Term *const *a, uint32_t n) {
    static const char suffix[] = ".sat";
    size_t length = strlen(name) - (sizeof suffix - 1);
    Term *zero = t_const(ts, 32, 0x80000000), *what = NULL;
    for (uint32_t i = 0; i < 2 && strcmp(name, saturated) == 0; i++)
        if (t_is_const(a[i]) && !(a[i]->k & 0x7fffffff))
            what = t_plain(ts, a[1 - i]);
    what = what ? what : t_uf(ts, 32, term_name(ts, "%.*s", (int)length, name), a, n);
    Term *arg[2] = {zero->id < what->id ? zero : what, zero->id < what->id ? what : zero};
    return t_app(ts, TO_UF, 32, 0, term_name(ts, saturated), arg, 2);
}

Term *t_unclamped(Term *term) {
    bool is = term->kind == TK_APP && term->op == TO_UF && term->n == 2 && strcmp(term->name, saturated) == 0;
    return is ? term->a[t_is_const(term->a[0])] : term;
}

/* Of numbers that are known, rounded to nearest; NULL: they are not, or no number comes out. */
static Term *computed(Terms *ts, unsigned width, const char *name, Term *const *a, uint32_t n) {
    uint64_t bits[3] = {0}, result;
    for (uint32_t i = 0; i < n; i++) {
        unsigned budget = 8;
        if (a[i]->kind == TK_ITE && term_const_leaves(a[i], &budget)) {
            Term *yes[3], *no[3];
            for (uint32_t k = 0; k < n; k++) {
                yes[k] = k == i ? a[k]->a[1] : a[k];
                no[k] = k == i ? a[k]->a[2] : a[k];
            }
            Term *x = computed(ts, width, name, yes, n), *y = x ? computed(ts, width, name, no, n) : NULL;
            return y ? t_ite(ts, term_decision(ts, a[i]->a[0]), x, y) : NULL;
        }
        if (!t_is_const(a[i]))
            return NULL;
        bits[i] = a[i]->k;
    }
    bool is_number = term_float_op(name, width, bits, &result) &&
                     (width == 32 ? (result & 0x7fffffff) <= 0x7f800000
                                  : (result & 0x7fffffffffffffff) <= 0x7ff0000000000000);
    return is_number ? t_const(ts, width, result) : NULL;
}

/* Two halves that are rounded together are rounded each for itself. */
static Term *two_halves(Terms *ts, const char *name, Term *const *a) {
    Term *high = t_app(ts, TO_UF, 32, 0, name, (Term *[]){ts->zero, a[0], ts->zero}, 3),
         *low = t_app(ts, TO_UF, 32, 0, name, (Term *[]){ts->zero, a[1], ts->zero}, 3);
    return t_lor(ts, t_scale(ts, high, 1 << 16), t_land(ts, low, t_const(ts, 32, 0xffff)));
}

Term *t_uf(Terms *ts, unsigned width, const char *name, Term *const *a, uint32_t n) {
    Term *once = n == 1 && strncmp(name, "f2i.", 4) == 0 ? rounded_once(ts, width, name, a[0]) : NULL;
    if (once)
        return once;
    static const char *const arithmetic[] = {"fadd.", "fmul.", "ffma.", "dadd.", "dmul.", "dfma."};
    Term *arg[3];
    if (n == 3 && strncmp(name, "f2fp.", 5) == 0 && a[0] != ts->zero && a[2] == ts->zero)
        return two_halves(ts, name, a);
    for (unsigned k = 0; k < sizeof arithmetic / sizeof *arithmetic && n <= 3; k++)
        if (strncmp(name, arithmetic[k], 5) == 0) {
            for (uint32_t i = 0; i < n; i++)
                arg[i] = t_plain(ts, a[i]);
            if (arg[0]->id > arg[1]->id) { /* the first two commute */
                Term *swap = arg[0];
                arg[0] = arg[1];
                arg[1] = swap;
            }
            if (strstr(name, ".sat"))
                return clamped(ts, name, arg, n);
            Term *number = computed(ts, width, name, arg, n);
            return number ? number : t_app(ts, TO_UF, width, 0, name, arg, n);
        }
    return t_app(ts, TO_UF, width, 0, name, a, n);
}

Term *t_fcmp(Terms *ts, unsigned bits, unsigned outcomes, Term *term, Term *y) {
    if ((bits & 255) >= 32) /* no halves of a word */
        term = t_plain(ts, term), y = t_plain(ts, y);
    if (term->id > y->id) { /* one order of the operands */
        Term *swap = term;
        term = y;
        y = swap;
        outcomes = (outcomes & 10) | (outcomes & 1) << 2 | (outcomes & 4) >> 2;
    }
    Term *arg[2] = {term, y};
    Term *lt = t_app(ts, TO_FLT, 1, bits, NULL, arg, 2), *eq = t_app(ts, TO_FEQ, 1, bits, NULL, arg, 2),
         *gt = t_app(ts, TO_FGT, 1, bits, NULL, arg, 2);
    return term_choice(ts, lt, t_bool(ts, outcomes & 1),
                       term_choice(ts, eq, t_bool(ts, outcomes & 2),
                                   term_choice(ts, gt, t_bool(ts, outcomes & 4), t_bool(ts, outcomes & 8))));
}

/* x == 0 */
static Term *eqz(Terms *ts, Term *term, Term *unused) {
    (void)unused;
    Term *made = t_is_const(term) ? term_rewrite(ts, RW_EQZ, term, NULL) : term_lift(ts, eqz, term, ts->zero);
    if (made)
        return made;
    if (term->kind == TK_XOR && term->n == 1 && term->c[0] == 0xffffffff && term->a[0]->kind != TK_AND)
        term = t_sub(ts, term->a[0], t_const(ts, 32, term->k));
    if (term->kind == TK_XOR && term->n == 2 && !term->k && term->c[0] == 0xffffffff &&
        term->c[1] == 0xffffffff && term->a[0]->kind != TK_AND && term->a[1]->kind != TK_AND)
        term = t_sub(ts, term->a[0], term->a[1]);
    if (term->kind == TK_SUM) {
        if (term->c[0] >> 31 & 1) /* of x and -x the one whose first coefficient is positive */
            term = t_scale(ts, term, ~0ull);
        if (term->kind == TK_SUM && term->n == 1 && (term->c[0] & 1) && term->k == 0)
            term = term->a[0];
        made = term_rewrite(ts, RW_EQZ, term, NULL);
        if (made)
            return made;
    }
    return t_app1(ts, TO_EQZ, 1, term);
}

Term *t_eq(Terms *ts, Term *term, Term *y) {
    if (term == y)
        return ts->truth;
    if (term->width == 1)
        return t_not(ts, t_xor1(ts, term, y));
    if (term->width == 64)
        return t_and(ts, t_eq(ts, t_lo(ts, term), t_lo(ts, y)), t_eq(ts, t_hi(ts, term), t_hi(ts, y)));
    Term *lifted = term_lift(ts, t_eq, term, y);
    return lifted ? lifted : eqz(ts, t_sub(ts, term, y), NULL);
}

/* Numbers of leading zeros that a decision chooses from, 31 - that of the highest one, and constants. */
static bool are_leading_zeros(const Term *term, unsigned *budget) {
    if (term->kind == TK_ITE && *budget) {
        --*budget;
        return are_leading_zeros(term->a[1], budget) && are_leading_zeros(term->a[2], budget);
    }
    return term->kind == TK_CONST ||
           (term->kind == TK_SUM && term->width == 32 && term->n == 1 && term->k == 31 &&
            term->c[0] == term_mask(32) && term->a[0]->kind == TK_APP && term->a[0]->op == TO_FLO);
}

/* Are they fewer than 32? All are of what is not 0, which has 32. */
static Term *has_a_one(Terms *ts, Term *term) {
    if (term->kind == TK_ITE)
        return t_ite(ts, as_bool(ts, term->a[0]), has_a_one(ts, term->a[1]), has_a_one(ts, term->a[2]));
    return term->kind == TK_CONST ? t_bool(ts, term->k < 32)
                                  : t_not(ts, t_eq(ts, term->a[0]->a[0], ts->zero));
}

/* x < y with constants on the right only. */
static Term *less(Terms *ts, TermOp op, TermFn2 *self, Term *term, Term *y) {
    unsigned budget = 32;
    if (op == TO_ULT && t_is_const(y) && y->k == 32 && are_leading_zeros(term, &budget))
        return has_a_one(ts, term);
    Term *made = term_rewrite(ts, op == TO_SLT ? RW_SLT : RW_ULT, term, y);
    if (!made)
        made = term_lift(ts, self, term, y);
    return made ? made : t_app(ts, op, 1, 0, NULL, (Term *[]){term, y}, 2);
}

Term *t_ult(Terms *ts, Term *term, Term *y) {
    if (term->width == 64)
        return t_or(ts, t_ult(ts, t_hi(ts, term), t_hi(ts, y)),
                    t_and(ts, t_eq(ts, t_hi(ts, term), t_hi(ts, y)), t_ult(ts, t_lo(ts, term), t_lo(ts, y))));
    return less(ts, TO_ULT, t_ult, term, y);
}
Term *t_slt(Terms *ts, Term *term, Term *y) {
    if (term->width == 64)
        return t_or(ts, t_slt(ts, t_hi(ts, term), t_hi(ts, y)),
                    t_and(ts, t_eq(ts, t_hi(ts, term), t_hi(ts, y)), t_ult(ts, t_lo(ts, term), t_lo(ts, y))));
    return less(ts, TO_SLT, t_slt, term, y);
}

/* The lesser and the greater ask one question, whatever the order of their operands: a constant goes second.
 */
static Term *is_first_less(Terms *ts, bool sign, Term **x, Term **y) {
    if (t_is_const(*x) || (!t_is_const(*y) && (*y)->id < (*x)->id)) {
        Term *first = *y;
        *y = *x;
        *x = first;
    }
    return sign ? t_slt(ts, *x, *y) : t_ult(ts, *x, *y);
}
Term *t_min(Terms *ts, bool sign, Term *x, Term *y) {
    Term *less = is_first_less(ts, sign, &x, &y);
    return t_ite(ts, less, x, y);
}
Term *t_max(Terms *ts, bool sign, Term *x, Term *y) {
    Term *less = is_first_less(ts, sign, &x, &y);
    return t_ite(ts, less, y, x);
}

Term *t_flo(Terms *ts, Term *term, bool shift_amount) {
    if (t_is_const(term)) {
        uint32_t v = (uint32_t)term->k, n = v ? 31 - (uint32_t)__builtin_clz(v) : UINT32_MAX;
        return t_const(ts, 32, v && shift_amount ? 31 - n : n);
    }
    Term *n = t_app1(ts, TO_FLO, 32, term);
    if (!shift_amount)
        return n;
    return t_ite(ts, t_eq(ts, term, ts->zero), t_const(ts, 32, ~0u), t_sub(ts, t_const(ts, 32, 31), n));
}

/* The x of a predicate that says x != 0; NULL. */
static Term *nonzero_of(Terms *ts, Term *term) {
    if (term->kind != TK_ITE || term->a[1] != ts->falsity || term->a[2] != ts->truth ||
        term->a[0]->kind != TK_APP || term->a[0]->op != TO_EQZ)
        return NULL;
    return term->a[0]->a[0];
}
Term *t_b2i(Terms *ts, Term *p) {
    Term *x = nonzero_of(ts, p);
    for (unsigned sign = 0; x && sign < 2; sign++, x = t_scale(ts, x, ~0ull))
        if (term_at_most(x, 1))
            return x;
    return term_choice(ts, p, t_const(ts, 32, 1), ts->zero);
}
Term *t_carry(Terms *ts, Term *p, Term *q) {
    if (q == ts->falsity)
        return t_b2i(ts, p);
    Term *x = nonzero_of(ts, p);
    for (unsigned sign = 0; x && sign < 2; sign++, x = t_scale(ts, x, ~0ull))
        if (term_at_most(x, 2) && q == t_not(ts, t_ult(ts, x, t_const(ts, 32, 2))))
            return x;
    return t_add(ts, t_b2i(ts, p), t_b2i(ts, q));
}
