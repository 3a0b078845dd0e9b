/* Values of the PTX that differ among the ways to a place, but with another one: where every way brings
 *     v = rest + scale * u        u as it is or extended to 64 bits, rest one term on all ways
 * v has no variable of its own. Compilers keep one of the two in a register and make the other of it, such as
 * the offset 4 * sext(i) of an element, or of two pointers that a loop moves together the distance.
 *
 * The scale is guessed from what a way brings: v - v1 = scale * (u - u1), where v1 and u1 are what the first
 * way brings, or what the place has. A way that brings v + 4 and u + 1 keeps the relation, whatever v and u
 * are; the region is then run with rest + 4 * u for v, and its edges must bring that. What they no longer
 * bring is tried a few times, and then v has its variable. A single way shows nothing.
 *
 * Values of 32 bits are related to those before them first, then those of 64 bits to values of 32, then those
 * of 64 bits that are left to those before them, so that what v is made of is known when v is made.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include <string.h>

enum { STAGES = 3 };

static unsigned stage_of(const Prover *prover, const Twin *twin, uint32_t v) {
    return twin->how ? 1 : prove_ptx_width(prover, v) == 64 ? 2 : 0;
}

static Term *extended(Terms *ts, Term *term, TwinHow how) {
    return how == TWIN_SAME ? term : how == TWIN_SIGNED ? t_sext(ts, term) : t_zext(ts, term);
}

/* What the twin is, made of the values that a place has or an edge brings; NULL: they have not its other. */
static Term *made_of(Terms *ts, const Twin *twin, Term *const *pv) {
    Term *of = pv[twin->of - 1];
    if (!of)
        return NULL;
    of = extended(ts, of, twin->how);
    return twin->rest ? t_add(ts, twin->rest, t_scale(ts, of, twin->scale)) : of;
}

static bool twin_has_number(const Prover *prover, uint32_t v) {
    return prove_ptx_width(prover, v) >= 32 && !prove_ptx_short(prover, v);
}

/* ---- for the pass that checks ---- */
bool prove_twins_enter(Core *core, Cut *cut, const Edge *edge) {
    Prover *prover = &core->p;
    Terms *ts = &prover->ts;
    for (unsigned stage = 0; stage < STAGES; stage++)
        for (uint32_t v = 0; v < prover->nptx; v++) {
            Twin *twin = &cut->twin[v];
            if (!twin->of || stage_of(prover, twin, v) != stage)
                continue;
            Term *of = edge->pv[twin->of - 1];
            if (!of || !edge->pv[v])
                return false;
            of = extended(ts, of, twin->how);
            bool equal = of == edge->pv[v] && twin->scale == 1;
            if (!equal && !twin_has_number(prover, v))
                return false;
            twin->rest = equal ? NULL : t_sub(ts, edge->pv[v], t_scale(ts, of, twin->scale));
            cut->pv[v] = made_of(ts, twin, cut->pv);
        }
    return true;
}

bool prove_twins_hold(Core *core, const Cut *cut, const Edge *edge) {
    Prover *prover = &core->p;
    for (uint32_t v = 0; v < prover->nptx; v++)
        if (cut->twin[v].of && (!edge->pv[v] || made_of(&prover->ts, &cut->twin[v], edge->pv) != edge->pv[v]))
            return false;
    return true;
}

/* ---- search ---- */
enum { MOST_LOSSES = 2, BASES = 2 }; /* losses: of one value at one place */

typedef struct {
    Core *core;
    Cut *cut;
    const Arrivals *in;
    /* by how it is extended, by value: a row of what the place has and what each edge brings; entries are
     * NULL where some edge brings nothing */
    Term **has[TWIN_HOWS];
    Term **apart[BASES]
                [TWIN_HOWS]; /* how far that is from what the place has, and from what the first brings */
} Finding;

static Term **row(const Finding *finding, TwinHow how, uint32_t v) {
    return finding->has[how] + (size_t)v * (finding->in->n + 1);
}

static Term **apart_row(const Finding *finding, unsigned base, TwinHow how, uint32_t v) {
    return finding->apart[base][how] + (size_t)v * (finding->in->n + 1);
}

static void twin_note(Finding *finding, uint32_t v, TwinHow how) {
    Terms *ts = &finding->core->p.ts;
    Term **at = row(finding, how, v);
    for (uint32_t e = 0; e < finding->in->n; e++)
        if (!finding->in->at[e]->pv[v])
            return;
    at[0] = extended(ts, finding->cut->pv[v], how);
    for (uint32_t e = 0; e < finding->in->n; e++)
        at[e + 1] = extended(ts, finding->in->at[e]->pv[v], how);
    for (unsigned base = 0; base < BASES && twin_has_number(&finding->core->p, v); base++)
        for (uint32_t e = base + 1; e <= finding->in->n; e++)
            apart_row(finding, base, how, v)[e] = t_sub(ts, at[e], at[base]);
}

static int64_t twin_number(const Term *term, uint64_t bits) {
    return term->width == 64 ? (int64_t)bits : (int64_t)(int32_t)(uint32_t)bits;
}

/* The factor between two sums of the same terms; false: there is none, or it is any. */
static bool ratio(const Term *u, const Term *v, TwinHow how, int64_t *scale) {
    bool numbers = t_is_const(u) && t_is_const(v), sums = u->kind == TK_SUM && v->kind == TK_SUM;
    int64_t from = numbers             ? twin_number(u, u->k)
                   : u->kind == TK_SUM ? twin_number(u, u->c[0])
                                       : 1,
            to = numbers             ? twin_number(v, v->k)
                 : v->kind == TK_SUM ? twin_number(v, v->c[0])
                                     : 1;
    if (numbers ? how != TWIN_SAME /* what is counted and extended may overflow */
        : sums  ? u->n != v->n || u->a[0] != v->a[0]
                : t_is_const(u) || t_is_const(v) ||
                     (u->kind == TK_SUM ? u->a[0] : u) != (v->kind == TK_SUM ? v->a[0] : v))
        return false;
    if (!from || !to || to == INT64_MIN || to % from != 0)
        return false;
    *scale = to / from;
    return true;
}

/* Every edge brings rest + scale * u, or what the place had of v - scale * u, and one the former. */
static bool twin_fits(const Finding *finding, uint32_t v, Twin *twin) {
    Terms *ts = &finding->core->p.ts;
    Term **to = row(finding, TWIN_SAME, v), **from = row(finding, twin->how, twin->of - 1), *kept = NULL;
    twin->rest = NULL;
    for (uint32_t e = 0; e <= finding->in->n; e++) {
        Term *rest = t_sub(ts, to[e], t_scale(ts, from[e], twin->scale));
        if (e == 0)
            kept = rest;
        else if (rest != kept && twin->rest && rest != twin->rest)
            return false;
        else if (rest != kept)
            twin->rest = rest;
        if (e && rest != kept && t_add(ts, rest, t_scale(ts, from[e], twin->scale)) != to[e])
            return false;
    }
    return twin->rest != NULL;
}

static bool equal(const Finding *finding, uint32_t v, uint32_t u, TwinHow how) {
    Term **to = row(finding, TWIN_SAME, v), **from = row(finding, how, u);
    for (uint32_t e = 1; e <= finding->in->n; e++)
        if (from[e] != to[e])
            return false;
    Twin *twin = &finding->cut->twin[v];
    *twin = (Twin){.of = u + 1, .how = how, .scale = 1, .losses = twin->losses};
    return true;
}

static bool multiple(const Finding *finding, uint32_t v, uint32_t u, TwinHow how) {
    Twin *twin = &finding->cut->twin[v];
    for (unsigned base = 0; base < BASES; base++)
        for (uint32_t e = base + 1; e <= finding->in->n; e++) {
            int64_t scale;
            if (!ratio(apart_row(finding, base, how, u)[e], apart_row(finding, base, TWIN_SAME, v)[e], how,
                       &scale))
                continue;
            Twin found = {.of = u + 1, .how = how, .scale = (uint64_t)scale, .losses = twin->losses};
            if (!twin_fits(finding, v, &found))
                break;
            *twin = found;
            return true;
        }
    return false;
}

/* A multiple of a word with a high word that was one so far has none that is one: it would say otherwise than
 * the machine's high words that still are. */
static bool multiple_of_all(const Finding *finding, uint32_t v, uint32_t u, TwinHow how) {
    const uint8_t *phi = finding->cut->phi;
    return (how != TWIN_SAME || (phi[v] != PHI_LOW && phi[u] != PHI_LOW)) && multiple(finding, v, u, how);
}

typedef bool Try(const Finding *finding, uint32_t v, uint32_t u, TwinHow how);

static bool find(const Finding *finding, uint32_t v, unsigned stage, Try *try) {
    const Prover *prover = &finding->core->p;
    unsigned width = prove_ptx_width(prover, v);
    for (uint32_t u = 1; u < prover->nptx; u++) {
        if (u == v || !row(finding, TWIN_SAME, u)[0] ||
            prove_ptx_short(prover, u) != prove_ptx_short(prover, v))
            continue;
        if (stage == 1 && prove_ptx_width(prover, u) == 32 &&
            (try(finding, v, u, TWIN_SIGNED) || try(finding, v, u, TWIN_UNSIGNED)))
            return true;
        if (stage != 1 && u < v && prove_ptx_width(prover, u) == width && try(finding, v, u, TWIN_SAME))
            return true;
    }
    return false;
}

/* What was found before, if the edges bring it still. */
static bool stays(const Finding *finding, uint32_t v) {
    Twin *twin = &finding->cut->twin[v];
    if (!row(finding, twin->how, twin->of - 1)[0])
        return false;
    return twin->rest ? twin_fits(finding, v, twin) : equal(finding, v, twin->of - 1, twin->how);
}

static bool found(const Finding *finding, uint32_t v, unsigned stage) {
    Twin *twin = &finding->cut->twin[v];
    bool had = twin->of != 0;
    if (had && stage_of(&finding->core->p, twin, v) != stage)
        return false;
    if (had && stays(finding, v))
        return true;
    *twin = (Twin){.losses = (uint8_t)(twin->losses + had)};
    return finding->in->n > 1 && (find(finding, v, stage, equal) ||
                                  (twin_has_number(&finding->core->p, v) && twin->losses < MOST_LOSSES &&
                                   find(finding, v, stage, multiple_of_all)));
}

void prove_twins_find(Core *core, Cut *cut, const Arrivals *in) {
    Prover *prover = &core->p;
    Finding finding = {.core = core, .cut = cut, .in = in};
    size_t entries = (size_t)prover->nptx * (in->n + 1);
    for (unsigned how = 0; how < TWIN_HOWS; how++) {
        finding.has[how] = ARENA_ARRAY(&prover->arena, Term *, entries);
        for (unsigned base = 0; base < BASES; base++)
            finding.apart[base][how] = ARENA_ARRAY(&prover->arena, Term *, entries);
    }
    for (uint32_t v = 1; v < prover->nptx; v++) {
        bool differs = cut->phi[v] && cut->pv[v];
        if (differs)
            twin_note(&finding, v, TWIN_SAME);
        for (unsigned how = TWIN_SIGNED; differs && how < TWIN_HOWS; how++)
            if (prove_ptx_width(prover, v) == 32 && twin_has_number(prover, v))
                twin_note(&finding, v, (TwinHow)how);
        if (!row(&finding, TWIN_SAME, v)[0])
            cut->twin[v] = (Twin){0};
    }
    for (unsigned stage = 0; stage < STAGES; stage++)
        for (uint32_t v = 1; v < prover->nptx; v++)
            if (row(&finding, TWIN_SAME, v)[0] && (stage != 0) == (prove_ptx_width(prover, v) == 64) &&
                (stage != 2 || !cut->twin[v].how) && found(&finding, v, stage))
                cut->pv[v] = made_of(&prover->ts, &cut->twin[v], cut->pv);
}
