/* What a compiler makes of one statement of the PTX, where PTX leaves it the choice or where what it makes is
 * known to be right. The machine side of a region runs first and notes where such a thing begins;
 * the PTX side, at the statement, builds the whole of it from the statement's own operands and takes it for
 * the result. So nothing is recognised in terms: either the machine has computed just this, or the two are
 * different terms.
 *
 * Division and remainder of 32 bits, as ours (lower/select/divide.c) and ptxas 13.0 write them: a reciprocal
 * by MUFU.RCP, made too small, one step of refinement, a quotient at most two too small, and two corrections;
 * by zero all ones. That this is the quotient for all operands, tests/values/test_division shows; the
 * statement rests on "library" as one that calls it.
 *
 * A product that is added to something may be rounded once (PTX ISA 9.7.3.2 to 9.7.3.4: without .rn "mul/add
 * sequences may be optimized to use fused-multiply-add"). It is one choice for each time the sum is computed:
 * what the machine took of them is the value of the statement, wherever it is used.
 *
 * SPDX-License-Identifier: MIT */
#include "check/prove/lane/internal.h"
#include <string.h>

static bool is_noted(const TermList *list, const Term *term) {
    for (uint32_t k = 0; k < list->n; k++)
        if (list->at[k] == term)
            return true;
    return false;
}

void prove_note(Prover *prover, TermList *list, Term *term) {
    if (!is_noted(list, term))
        VEC_ADD(&prover->arena, list, term);
}

/* ---- division ---- */
typedef struct {          /* how a compiler writes it */
    uint32_t too_small;   /* added to the bits of the reciprocal */
    bool signed_estimate; /* a signed statement's divisor is converted as a signed number */
} Way;
static const Way ours = {.too_small = 0xffffffd}, ptxas = {0xffffffe, true};

static Term *estimate(Prover *prover, const Way *way, bool sign, Term *b) {
    Terms *ts = &prover->ts;
    const char *name = term_name(ts, "i2f.%u.%u.%u.%u", sign && way->signed_estimate ? CvtSign_S : CvtSign_U,
                                 ISize_B32, FSize_F32, Rnd_RP);
    Term *f = prove_uf(prover, 32, name, &b, 1);
    f = prove_uf(prover, 32, term_name(ts, "mufu.%u", Mufu_RCP), &f, 1);
    f = t_add(ts, f, t_const(ts, 32, way->too_small));
    return prove_uf(prover, 32,
                    term_name(ts, "f2i.%u.%u.%u.%u.ftz", CvtSign_U, ISize_B32, FSize_F32, IRnd_TRUNC), &f, 1);
}

static Term *high_product(Terms *ts, Term *x, Term *y, Term *above) {
    return t_hi(ts, t_add(ts, t_mul(ts, t_zext(ts, x), t_zext(ts, y)), t_pair(ts, ts->zero, above)));
}

static Term *magnitude(Terms *ts, Term *v) {
    return t_ite(ts, t_slt(ts, v, ts->zero), t_scale(ts, v, ~0ull), v);
}

/* Without sign; corrections are added to the quotient one by one, or (ours) both at once. */
static Term *corrected(Terms *ts, const Way *way, bool rem, Term *n, Term *d, Term *y) {
    Term *error = t_mul(ts, t_scale(ts, d, ~0ull), y), *more[2];
    y = way == &ours ? t_add(ts, y, high_product(ts, y, error, ts->zero)) : high_product(ts, y, error, y);
    Term *q = high_product(ts, y, n, ts->zero), *r = t_add(ts, t_scale(ts, t_mul(ts, q, d), ~0ull), n);
    for (unsigned k = 0; k < 2; k++) {
        more[k] = t_not(ts, t_ult(ts, r, d));
        r = t_ite(ts, more[k], t_sub(ts, r, d), r);
        if (way != &ours)
            q = t_ite(ts, more[k], t_add(ts, q, t_const(ts, 32, 1)), q);
    }
    return rem ? r : way == &ours ? t_add(ts, q, t_carry(ts, more[0], more[1])) : q;
}

static Term *divided(Prover *prover, const Way *way, bool rem, bool sign, Term *a, Term *b) {
    Terms *ts = &prover->ts;
    Term *n = sign ? magnitude(ts, a) : a, *d = sign ? magnitude(ts, b) : b,
         *y = estimate(prover, way, sign, d);
    if (!is_noted(&prover->estimates, y))
        return NULL;
    Term *result = corrected(ts, way, rem, n, d, y),
         *negative = t_slt(ts, rem ? a : t_lxor(ts, a, b), ts->zero);
    if (sign)
        result = t_ite(ts, negative, t_scale(ts, result, ~0ull), result);
    return t_ite(ts, t_eq(ts, b, ts->zero), way == &ours ? t_const(ts, 32, UINT32_MAX) : t_inv(ts, b),
                 result);
}

Term *prove_divided(Prover *prover, bool rem, Term *a, Term *b) {
    return corrected(&prover->ts, &ours, rem, a, b, estimate(prover, &ours, false, b));
}

Term *prove_division(Prover *prover, bool rem, bool sign, Term *a, Term *b) {
    if (!prover->estimates.n)
        return NULL;
    Term *result = divided(prover, &ours, rem, sign, a, b);
    return result ? result : divided(prover, &ptxas, rem, sign, a, b);
}

/* ---- contraction ---- */
/* Does a statement demand that a product is rounded by itself? The terms of two products do not tell of which
 * statement they are; so then none is taken for one that need not be. */
static bool demands_rounding(const PtxFunc *f) {
    bool found = false;
    for (uint32_t i = 0; i < f->ninsns; i++)
        found |= f->insns[i].op == PTX_MUL && ptx_type_class((PtxType)f->insns[i].type[0]) == TC_FLOAT &&
                 !(f->insns[i].flags & PF_CONTRACT);
    return found;
}

static Term *flipped(Terms *ts, Term *term) { /* the sign */
    Term *bit = t_const(ts, 32, 1ull << 31);
    return term->width == 32 ? t_lxor(ts, term, bit)
                             : t_pair(ts, t_lo(ts, term), t_lxor(ts, t_hi(ts, term), bit));
}

static Term *fused(Prover *prover, const char *name, Term *x, Term *y, Term *c) {
    Term *term = prove_uf(prover, c->width, name, (Term *[]){x, y, c}, 3);
    return is_noted(&prover->fused, term) ? term : NULL;
}

static Term *contracted(Prover *prover, Term *product, bool negative, Term *c, bool ftz) {
    Terms *ts = &prover->ts;
    bool wide = c->width == 64;
    const char *mul = term_name(ts, wide  ? "dmul.0"
                                    : ftz ? "fmul.0.ftz"
                                          : "fmul.0"),
               *name = term_name(ts, wide  ? "dfma.0"
                                     : ftz ? "ffma.0.ftz"
                                           : "ffma.0");
    if (product->kind != TK_APP || product->op != TO_UF || product->name != mul ||
        !is_noted(&prover->products, product))
        return NULL;
    Term *x = product->a[0], *y = product->a[1];
    if (!negative)
        return fused(prover, name, x, y, c);
    Term *r = fused(prover, name, flipped(ts, x), y, c);
    return r ? r : fused(prover, name, x, flipped(ts, y), c);
}

Term *prove_contracted(Prover *prover, Term *a, Term *b, bool subtract, bool ftz) {
    if (!prover->fused.n || !prover->products.n || demands_rounding(prover->pf))
        return NULL;
    Term *r = contracted(prover, a, false, subtract ? flipped(&prover->ts, b) : b, ftz);
    return r ? r : contracted(prover, b, subtract, a, ftz);
}
