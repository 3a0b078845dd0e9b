/* Terms: memory as a list of guarded events, and loads from it. Neighbours that commute are kept in one
 * order, so that programs that issue them in another order get the same list.
 * SPDX-License-Identifier: MIT */
#include "check/prove/terms/term_internal.h"
#include <string.h>

/* Whether [x, x + nx) and [y, y + ny) share no byte, for any values of the variables in the addresses. */
static bool disjoint(Terms *ts, Term *x, unsigned nx, Term *y, unsigned ny) {
    if (x->width != y->width)
        return false;
    Term *term = t_sub(ts, x, y);
    if (!t_is_const(term))
        return false;
    uint64_t mask = term_mask(x->width), up = term->k & mask, down = (0 - term->k) & mask;
    return up >= ny && down >= nx;
}

static unsigned zeros_of(uint64_t value) {
    enum { MOST = 16 };
    unsigned n = value ? (unsigned)__builtin_ctzll(value) : MOST;
    return n < MOST ? n : MOST;
}
static unsigned zeros_below(const Term *term, unsigned depth) {
    unsigned least = 0, n;
    if (!depth--)
        return 0;
    switch (term->kind) {
    case TK_CONST: return zeros_of(term->k);
    case TK_SUM:
    case TK_XOR: /* of masked terms */
        least = zeros_of(term->k);
        for (uint32_t i = 0; i < term->n; i++) {
            n = zeros_of(term->c[i]) + (term->kind == TK_SUM && least ? zeros_below(term->a[i], depth) : 0);
            least = n < least ? n : least;
        }
        return least;
    case TK_ITE:
        least = zeros_below(term->a[1], depth);
        n = least ? zeros_below(term->a[2], depth) : 0;
        return n < least ? n : least;
    case TK_SEXT:
    case TK_LO: return zeros_below(term->a[0], depth);
    default: return 0;
    }
}
unsigned t_zeros(const Term *term) {
    enum { DEPTH = 6 };
    return zeros_below(term, DEPTH);
}

static bool exclusive(Terms *ts, Term *g, Term *h) { return t_and(ts, g, h) == ts->falsity; }

static bool commute(Terms *ts, const Term *term, const Term *f) {
    if (exclusive(ts, term->a[1], f->a[1]))
        return true;
    return term->op == EV_STORE && f->op == EV_STORE &&
           disjoint(ts, term->a[2], (unsigned)(term->k & 255), f->a[2], (unsigned)(f->k & 255));
}

/* A total order of events without regard to the memory before them. */
static bool before(const Term *term, const Term *f) {
    if (term->k != f->k)
        return term->k < f->k;
    if (term->n != f->n)
        return term->n < f->n;
    if (term->name != f->name)
        return strcmp(term->name ? term->name : "", f->name ? f->name : "") < 0;
    for (uint32_t i = 1; i < term->n; i++)
        if (term->a[i] != f->a[i])
            return term->a[i]->id < f->a[i]->id;
    return false;
}

static Term *with_memory(Terms *ts, const Term *term, Term *mem) {
    Term *a[24];
    memcpy(a, term->a, term->n * sizeof *a);
    a[0] = mem;
    Term key = *term;
    key.a = a;
    return term_make(ts, key);
}

enum { FARTHEST = 48 }; /* events that are looked at, of what may be thousands */

static Term *insert_below(Terms *ts, Term *mem, Term *e, unsigned events) {
    if (!events)
        return with_memory(ts, e, mem);
    return with_memory(ts, mem, insert_below(ts, mem->a[0], e, events - 1));
}

/* In front of the first event that comes after it and that it can reach, past all that commute with it: what
 * two sides of a branch do stands in one order, whichever side comes first in the code. */
static Term *insert(Terms *ts, Term *mem, Term *e) {
    unsigned below = 0, passed = 0;
    for (const Term *m = mem; m->kind == TK_EVENT && passed < FARTHEST && commute(ts, e, m); m = m->a[0]) {
        passed++;
        below = before(e, m) ? passed : below;
    }
    return insert_below(ts, mem, e, below);
}

/* Memory without the latest events that do not happen where `guard` holds. */
static Term *happened(Terms *ts, Term *mem, Term *guard, unsigned events) {
    if (mem->kind != TK_EVENT || !events)
        return mem;
    Term *rest = happened(ts, mem->a[0], guard, events - 1);
    return exclusive(ts, mem->a[1], guard) ? rest : rest == mem->a[0] ? mem : with_memory(ts, mem, rest);
}

Term *t_met(Terms *ts, Term *mem, Term *guard) { return happened(ts, mem, guard, FARTHEST); }

Term *t_event(Terms *ts, Term *mem, Term *guard, const char *name, uint64_t k, Term *const *args, uint32_t n,
              Term **what) {
    enum { MAX = 24 };
    Term *a[MAX] = {mem, guard};
    if (n > MAX - 2) {
        ts->overflow = true;
        n = MAX - 2;
    }
    for (uint32_t i = 0; i < n; i++)
        a[i + 2] = t_under(ts, args[i], guard);
    /* names are compared by their place: both sides may have literals of one text */
    Term e = {
        .kind = TK_EVENT, .op = EV_OTHER, .k = k, .name = term_name(ts, "%s", name), .a = a, .n = n + 2};
    if (what)
        *what = with_memory(ts, &e, t_met(ts, mem, guard));
    return guard == ts->falsity ? mem : insert(ts, mem, &e);
}

Term *t_store(Terms *ts, Term *mem, Term *guard, Term *addr, unsigned bytes, unsigned space, Term *data) {
    if (guard == ts->falsity)
        return mem;
    if (bytes < 4) /* bits that are not stored do not matter */
        data = t_zext_from(ts, data, 8 * bytes);
    Term *a[4] = {mem, guard, t_under(ts, addr, guard), t_under(ts, data, guard)};
    Term e = {.kind = TK_EVENT, .op = EV_STORE, .k = bytes | space << 8, .a = a, .n = 4};
    return insert(ts, mem, &e);
}

Term *t_store_generic(Terms *ts, Term *mem, Term *guard, Term *addr, unsigned bytes, Term *const *words) {
    enum { MOST_WORDS = 4 };
    if (guard == ts->falsity)
        return mem;
    uint32_t n = (bytes + 3) / 4;
    Term *a[3 + MOST_WORDS] = {mem, guard, t_under(ts, addr, guard)};
    for (uint32_t i = 0; i < n; i++)
        a[3 + i] = t_under(ts, bytes < 4 ? t_zext_from(ts, words[i], 8 * bytes) : words[i], guard);
    Term e = {.kind = TK_EVENT,
              .op = EV_STORE_GENERIC,
              .k = bytes,
              .name = term_name(ts, "st.generic"),
              .a = a,
              .n = 3 + n};
    return insert(ts, mem, &e);
}

static bool same_event(const Term *one, const Term *two) {
    bool same = one->kind == TK_EVENT && two->kind == TK_EVENT && one->op == two->op && one->k == two->k &&
                one->name == two->name && one->n == two->n;
    for (uint32_t i = 1; same && i < one->n; i++)
        same = one->a[i] == two->a[i];
    return same;
}

Term *t_read_generic(Terms *ts, Term *const *mem, uint32_t n, Term *guard, Term *addr, unsigned bytes) {
    enum { MOST = 4, NEAR = 1 << 16 }; /* farther away may be another name of one place in shared memory */
    Term *at[MOST];
    memcpy(at, mem, n * sizeof *at);
    addr = t_under(ts, addr, guard);
    for (;;) {
        const Term *e = at[0];
        bool latest = e->kind == TK_EVENT && e->op == EV_STORE_GENERIC;
        for (uint32_t i = 1; latest && i < n; i++)
            latest = same_event(e, at[i]);
        Term *offset = latest ? t_sub(ts, addr, e->a[2]) : NULL;
        if (!offset || !t_is_const(offset))
            return NULL;
        uint64_t up = offset->k, down = 0 - offset->k;
        bool whole = e->k < 4 ? up == 0 && bytes == e->k : up < e->k && up % 4 == 0 && bytes == 4;
        if (whole && exclusive(ts, t_not(ts, e->a[1]), guard))
            return e->a[3 + up / 4];
        if (up < e->k || down < bytes || (up >= NEAR && down >= NEAR))
            return NULL;
        for (uint32_t i = 0; i < n; i++)
            at[i] = at[i]->a[0];
    }
}

/* Memory as a load under `guard` at this address sees it: without what it cannot see. */
static Term *seen(Terms *ts, Term *mem, Term *guard, Term *addr, unsigned bytes) {
    mem = t_met(ts, mem, guard);
    while (mem->kind == TK_EVENT &&
           (exclusive(ts, mem->a[1], guard) ||
            (mem->op == EV_STORE && disjoint(ts, mem->a[2], (unsigned)(mem->k & 255), addr, bytes))))
        mem = mem->a[0];
    return mem;
}

Term *t_read(Terms *ts, Term *mem, Term *guard, Term *addr, unsigned bytes, unsigned space) {
    addr = t_under(ts, addr, guard);
    mem = seen(ts, mem, guard, addr, bytes);
    bool stored_here = mem->kind == TK_EVENT && mem->op == EV_STORE && mem->k == (bytes | space << 8) &&
                       mem->a[2] == addr && exclusive(ts, t_not(ts, mem->a[1]), guard);
    if (stored_here)
        return mem->a[3];
    Term *a[2] = {mem, addr};
    return t_app(ts, TO_READ, 32, bytes | space << 8, NULL, a, 2);
}
