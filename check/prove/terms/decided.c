/* Terms: decided constants as entries of a sum. c * (p ? 3 : 7) + d * (p ? 1 : 0) is one decision between
 * constants, and the words of a pair have decisions of their own; so that a sum has one form, however it was
 * put together, entries whose decisions look at the same atoms, or at some of them, are added leaf by leaf.
 * Those that look at different atoms stay apart: their sum would have a leaf for each combination.
 * SPDX-License-Identifier: MIT */
#include "check/prove/terms/term_internal.h"

enum { MOST_LEAVES = 32, MOST_ATOMS = 2 * MOST_LEAVES };
#define LOW 0xffffffffull

typedef struct { /* of a sum of 64 bits both words, of one of 32 bits the low one */
    Term *low, *high;
} Decided;

bool term_is_decided(const Term *term) {
    unsigned budget = MOST_LEAVES;
    return term->kind == TK_ITE && term->width == 32 && term_const_leaves(term, &budget);
}

/* Atoms of the decision, each once, behind the n that are there. */
static unsigned atoms_of(const Term *term, const Term **out, unsigned n) {
    unsigned k = 0;
    if (term->kind != TK_ITE)
        return n;
    while (k < n && out[k] != term->a[0])
        k++;
    if (k == n && n < MOST_ATOMS)
        out[n++] = term->a[0];
    return atoms_of(term->a[2], out, atoms_of(term->a[1], out, n));
}

/* Does one look at no atom that the other does not look at? */
static bool nested(const Decided *one, const Decided *two) {
    const Term *first[2 * MOST_ATOMS], *second[2 * MOST_ATOMS];
    unsigned n = atoms_of(one->high, first, atoms_of(one->low, first, 0)),
             m = atoms_of(two->high, second, atoms_of(two->low, second, 0)), common = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < m; j++)
            common += first[i] == second[j];
    return common == n || common == m;
}

static const Term *first_atom(const Term *best, const Term *term) {
    return term->kind == TK_ITE && (!best || term->a[0]->id < best->id) ? term->a[0] : best;
}
static Term *side(Term *term, const Term *atom, bool yes) {
    return term->kind == TK_ITE && term->a[0] == atom ? term->a[yes ? 1 : 2] : term;
}

/* A word of one + two, leaf by leaf, as it is behind the atoms. */
static Term *added(Terms *ts, Decided one, Decided two, bool high) {
    const Term *atom =
        first_atom(first_atom(first_atom(first_atom(NULL, one.low), one.high), two.low), two.high);
    if (!atom) {
        uint64_t value = (one.low->k | one.high->k << 32) + (two.low->k | two.high->k << 32);
        return t_const(ts, 32, high ? value >> 32 : value & LOW);
    }
    Term *way[2];
    for (unsigned yes = 0; yes < 2; yes++)
        way[yes] = added(ts, (Decided){side(one.low, atom, yes), side(one.high, atom, yes)},
                         (Decided){side(two.low, atom, yes), side(two.high, atom, yes)}, high);
    return term_choice(ts, term_decision(ts, (Term *)atom), way[1], way[0]);
}

/* A word of c * term. */
static Term *multiplied(Terms *ts, Term *term, uint64_t c, bool high) {
    if (term->kind == TK_ITE)
        return term_choice(ts, term_decision(ts, term->a[0]), multiplied(ts, term->a[1], c, high),
                           multiplied(ts, term->a[2], c, high));
    return t_const(ts, 32, high ? term->k * c >> 32 : (term->k * c) & LOW);
}

/* The first of decided constants that has a sign when shifted, -c being another number; 0: none has. */
static uint64_t first_signed(const Term *term, unsigned shift) {
    uint64_t shifted = term->k << shift;
    if (term->kind == TK_CONST)
        return shifted & (LOW >> 1) ? shifted & LOW : 0;
    uint64_t yes = first_signed(term->a[1], shift);
    return yes ? yes : first_signed(term->a[2], shift);
}

/* The power of two that all constants have in common is in the coefficient; in words of 32 bits the sign of
 * the first, too, and bits that the coefficient moves out are copies of the one below. */
static TermPair factored(Terms *ts, Term *word, unsigned width) {
    unsigned n = term_possible(word) ? log2_of(term_possible(word)) : 0;
    Term *by = t_const(ts, 32, n), *made = width == 64 ? t_lshr(ts, word, by) : t_ashr(ts, word, by);
    if (width == 64 || !(first_signed(made, n) >> 31))
        return (TermPair){made, 1ull << n};
    return (TermPair){t_ashr(ts, t_shl(ts, t_scale(ts, made, ~0ull), by), by), 0 - (1ull << n)};
}

/* The first of decided constants goes into the sum's constant: p ? 3 : 7 and p ? 0 : 4 differ by no more. */
static Term *from_zero(Terms *ts, Term *word, uint64_t *first) {
    const Term *leaf = word;
    while (leaf->kind == TK_ITE)
        leaf = leaf->a[1];
    *first = leaf->k;
    return added(ts, (Decided){word, ts->zero}, (Decided){t_const(ts, 32, 0 - leaf->k), ts->zero}, false);
}

unsigned term_fold_decided(Terms *ts, TermPair *entries, unsigned n, unsigned width, uint64_t *constant) {
    Decided group[TERM_MOST_DECIDED];
    uint64_t first;
    for (unsigned i = 0; i < n; i++) {
        Term *word = entries[i].t;
        uint64_t c = entries[i].c;
        group[i] =
            (Decided){multiplied(ts, word, c, false), width == 64 ? multiplied(ts, word, c, true) : ts->zero};
    }
    for (unsigned i = 0; i < n && width == 64; i++)
        for (unsigned j = i + 1; j < n; j++) {
            if (!nested(&group[i], &group[j]))
                continue;
            Decided sum = {added(ts, group[i], group[j], false),
                           width == 64 ? added(ts, group[i], group[j], true) : ts->zero};
            group[i] = sum;
            group[j] = group[--n];
            i = (unsigned)-1;
            break;
        }
    unsigned made = 0;
    for (unsigned i = 0; i < n; i++) {
        Term **word = width == 64 ? &group[i].high : &group[i].low;
        *word = from_zero(ts, *word, &first);
        *constant += width == 64 ? first << 32 : first;
        entries[made++] = factored(ts, group[i].low, width);
        if (width == 64 && group[i].high != ts->zero) {
            entries[made] = factored(ts, group[i].high, width);
            entries[made++].c <<= 32;
        }
    }
    return made;
}
