/* Terms: what stands for a term where a condition holds. A diagram becomes its generalised cofactor, the same
 * for any two that agree there; so do those that are entries of a sum. Decisions that stand deeper, in
 * operands and in the atoms of diagrams, fall where the condition says of their atom that it is true, or
 * false: what is made of p ? x : y is, where p holds, made again of x. So what one side computes before it
 * branches is what the other one computes behind the branch. (A cofactor there would depend on what else the
 * condition says, and on the order in which it was come to.) under p:   b + sext(p ? i : j)  =  b + sext(i)
 * Memory and its events stay as they are: each has a guard of its own. SPDX-License-Identifier: MIT */
#include "check/prove/terms/term_internal.h"

static Term *masked(Terms *ts, Term *term, uint64_t mask) { return t_land(ts, term, t_const(ts, 32, mask)); }

/* c times a term of a sum of 64 bits: of a word, zero-extended, by halves, of which the upper one is linear.
 */
static Term *times(Terms *ts, Term *term, uint64_t c) {
    if (term->width == 64)
        return t_scale(ts, term, c);
    uint64_t part = (uint64_t)(int64_t)(int32_t)(uint32_t)c, above = (c - part) >> 32;
    return t_add(ts, t_scale(ts, t_zext(ts, term), part), t_pair(ts, ts->zero, t_scale(ts, term, above)));
}

static Term *list_under(Terms *ts, const Term *term, Term *cond) {
    Term *r = t_const(ts, term->width, term->k);
    for (uint32_t i = 0; i < term->n; i++) {
        Term *entry = t_under(ts, term->a[i], cond);
        if (term->kind == TK_XOR)
            r = t_lxor(ts, r,
                       masked(ts,
                              entry == term->a[i] && entry->kind == TK_AND ? term_product(ts, entry) : entry,
                              term->c[i]));
        else
            r = t_add(ts, r,
                      term->width == 64 ? times(ts, entry, term->c[i]) : t_scale(ts, entry, term->c[i]));
    }
    return r;
}

static Term *product_under(Terms *ts, const Term *term, Term *cond) {
    Term *r = t_under(ts, term->a[0], cond);
    for (uint32_t i = 1; i < term->n; i++)
        r = t_land(ts, r, t_under(ts, term->a[i], cond));
    return r;
}

static Term *application_under(Terms *ts, const Term *term, Term *cond) {
    enum { MOST = 24 };
    Term *a[MOST];
    if (term->n > MOST)
        return NULL;
    for (uint32_t i = 0; i < term->n; i++)
        a[i] = t_under(ts, term->a[i], cond);
    switch ((TermOp)term->op) {
    case TO_MUL: return t_mul(ts, a[0], a[1]);
    case TO_SHL: return t_shl(ts, a[0], a[1]);
    case TO_LSHR: return t_lshr(ts, a[0], a[1]);
    case TO_ASHR: return t_ashr(ts, a[0], a[1]);
    case TO_SHL64:
    case TO_LSHR64:
    case TO_ASHR64: return t_shift64(ts, (TermOp)term->op, a[0], a[1]);
    case TO_EQZ: return t_eq(ts, a[0], ts->zero);
    case TO_ULT: return t_ult(ts, a[0], a[1]);
    case TO_SLT: return t_slt(ts, a[0], a[1]);
    case TO_FLT: return t_fcmp(ts, (unsigned)term->k, 1, a[0], a[1]);
    case TO_FEQ: return t_fcmp(ts, (unsigned)term->k, 2, a[0], a[1]);
    case TO_FGT: return t_fcmp(ts, (unsigned)term->k, 4, a[0], a[1]);
    case TO_FLO: return t_flo(ts, a[0], false);
    case TO_PRMT: return t_prmt(ts, a[0], a[1], a[2]);
    case TO_UF:
        return term->k ? t_app(ts, TO_UF, term->width, term->k, term->name, a, term->n)
                       : t_uf(ts, term->width, term->name, a, term->n);
    default: return t_app(ts, (TermOp)term->op, term->width, term->k, term->name, a, term->n);
    }
}

/* Of anything but a diagram; of an atom the diagram. */
static Term *parts_under(Terms *ts, Term *term, Term *cond) {
    Term *r = NULL;
    if (cond == ts->truth)
        return term;
    switch ((TermKind)term->kind) {
    case TK_AND: return product_under(ts, term, cond);
    case TK_LO: return t_lo(ts, t_under(ts, term->a[0], cond));
    case TK_HI: return t_hi(ts, t_under(ts, term->a[0], cond));
    case TK_SEXT: return t_sext(ts, t_under(ts, term->a[0], cond));
    case TK_APP: r = application_under(ts, term, cond); break;
    default: break;
    }
    return r ? r : term->width == 1 ? term_decision(ts, term) : term;
}

/* ---- what a condition says of single atoms ---- */
static Term *rest_of(const Term *cube) {
    return cube->a[cube->a[1]->kind == TK_CONST && !cube->a[1]->k ? 2 : 1];
}
static bool is_positive(const Term *cube) { return rest_of(cube) == cube->a[1]; }

/* The literals that both have. */
static Term *common(Terms *ts, Term *one, Term *two) {
    if (one->kind != TK_ITE || two->kind != TK_ITE) /* also where steps have run out, and no term is right */
        return ts->truth;
    if (one->a[0] != two->a[0])
        return one->a[0]->id < two->a[0]->id ? common(ts, rest_of(one), two) : common(ts, one, rest_of(two));
    Term *rest = common(ts, rest_of(one), rest_of(two)), *atom = term_decision(ts, one->a[0]);
    if (is_positive(one) != is_positive(two))
        return rest;
    return t_and(ts, is_positive(one) ? atom : t_not(ts, atom), rest);
}

/* The atoms that are true, or false, wherever the condition holds, and nothing else of it. */
static Term *literals(Terms *ts, Term *cond) {
    if (cond == ts->truth || cond->kind != TK_ITE)
        return ts->truth;
    TermMemo *memo = term_under_memo(ts, cond, ts->truth);
    if (memo->f == cond && memo->g == ts->truth)
        return memo->result;
    Term *atom = term_decision(ts, cond->a[0]), *r;
    if (cond->a[1] == ts->falsity)
        r = t_and(ts, t_not(ts, atom), literals(ts, cond->a[2]));
    else if (cond->a[2] == ts->falsity)
        r = t_and(ts, atom, literals(ts, cond->a[1]));
    else
        r = common(ts, literals(ts, cond->a[1]), literals(ts, cond->a[2]));
    *memo = (TermMemo){cond, ts->truth, NULL, r};
    return r;
}

/* Of the atoms and leaves of a cofactor. */
static Term *diagram_under(Terms *ts, Term *term, Term *cond) {
    if (term->kind != TK_ITE)
        return t_under(ts, term, cond);
    if (!term->decides_below || cond == ts->truth)
        return term;
    TermMemo *memo = term_under_memo(ts, term, cond);
    if (memo->f == term && memo->g == cond)
        return memo->result;
    if (term_spent(ts))
        return term;
    Term *atom = term->a[0]->decides ? parts_under(ts, term->a[0], cond) : term_decision(ts, term->a[0]);
    Term *yes = diagram_under(ts, term->a[1], cond), *no = diagram_under(ts, term->a[2], cond);
    Term *r = term_choice(ts, atom, yes, no);
    *memo = (TermMemo){term, cond, NULL, r};
    return r;
}

Term *t_under(Terms *ts, Term *term, Term *cond) {
    if (cond == ts->truth || cond == ts->falsity || !term->decides)
        return term;
    if (term->kind == TK_ITE) {
        Term *r = term_cofactor(ts, term, cond), *below = diagram_under(ts, r, literals(ts, cond));
        return below == r ? r : term_cofactor(ts, below, cond);
    }
    TermMemo *memo = term_under_memo(ts, term, cond);
    if (memo->f == term && memo->g == cond)
        return memo->result;
    if (term_spent(ts))
        return term;
    bool list = term->kind == TK_SUM || term->kind == TK_XOR;
    Term *r = list ? list_under(ts, term, cond) : parts_under(ts, term, literals(ts, cond));
    *memo = (TermMemo){term, cond, NULL, r};
    *term_under_memo(ts, r, cond) = (TermMemo){r, cond, NULL, r};
    return r;
}

/* The diagram with each atom as it is under the decisions above it: the same for two that differ in what an
 * atom's operands choose between where that is decided. Atoms are ordered as they were made, so what an atom
 * is made of is decided above it; but an atom that is made again may come anywhere, which is why there is an
 * end to it: a diagram that is not settled is as true as one that is. */
enum { MOST_SETTLED = 512, DEEPEST = 64 };
static Term *settled(Terms *ts, Term *diagram, unsigned depth, unsigned *left) {
    if (diagram->kind != TK_ITE || !diagram->decides_below || depth > DEEPEST || !*left || ts->overflow)
        return diagram;
    TermMemo *memo = term_under_memo(ts, diagram, ts->falsity);
    if (memo->f == diagram && memo->g == ts->falsity)
        return memo->result;
    --*left;
    Term *atom = term_decision(ts, diagram->a[0]);
    Term *yes = settled(ts, t_under(ts, diagram->a[1], atom), depth + 1, left),
         *no = settled(ts, t_under(ts, diagram->a[2], t_not(ts, atom)), depth + 1, left);
    Term *r = term_choice(ts, atom, yes, no);
    *term_under_memo(ts, diagram, ts->falsity) = (TermMemo){diagram, ts->falsity, NULL, r};
    return r;
}

Term *t_both(Terms *ts, Term *one, Term *two) {
    unsigned left = MOST_SETTLED;
    return settled(ts, t_and(ts, one, two), 0, &left);
}
