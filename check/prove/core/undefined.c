/* A register of the PTX that is read before it was written has any value. Which one is the machine's choice:
 * where a guarded statement alone has written it, as in `@p ld.shared r, [a]; shfl d, r, ...`, lanes without
 * p bring what the machine's register happens to hold.
 *
 * The region is run again with a variable for each word of a register that has no value where it begins.
 * Where an event of the PTX has such a variable for an argument, alone or as an outcome of decisions, the
 * word is what the machine's event has under just these decisions. That is one term for one word, made of the
 * machine's values alone, and the region is then run with it from its first statement on and leaves with it:
 * every other use of the register must agree. So for each execution of the machine there is a value of the
 * register with which the PTX does the same, which is all that a value nobody wrote can promise.
 *
 * Likewise where the region is left: of `@p ld r, [a]` the machine's register has what it had, where p is
 * false. The location that has the PTX's register wherever that has a value says what it is elsewhere.
 * SPDX-License-Identifier: MIT */
#include "check/prove/core/core.h"
#include <string.h>

typedef struct {    /* a word of a register without a value */
    Term *var, *is; /* is: the machine's choice, or NULL */
} OpenWord;
typedef struct {
    Core *core;
    Cut *cut;
    OpenWord *words; /* two for each value; var NULL: it has a value */
    uint32_t nvalues, visits;
    bool *taken; /* by location: it has said what a word is */
} Opening;
enum { MOST_VISITS = 4096, MOST_ROUNDS = 4 };

static bool may_open(const Opening *o, uint32_t v) {
    const Prover *prover = &o->core->p;
    return !o->cut->pv[v] && prover->pf->regs[v].type != TY_PRED &&
           ptx_type_bytes(prover->pf->regs[v].type) >= 4;
}

static uint32_t open_words(Opening *o) {
    Prover *prover = &o->core->p;
    uint32_t n = 0;
    o->nvalues = prover->carry;
    o->taken = ARENA_ARRAY(prover->run_arena, bool, prover->nloc + 1);
    o->words = ARENA_ARRAY(prover->run_arena, OpenWord, 2 * (size_t)o->nvalues + 1);
    for (uint32_t v = 1; v < o->nvalues; v++)
        for (unsigned w = 0; w < 2 && may_open(o, v); w++, n++)
            o->words[2 * v + w] =
                (OpenWord){t_var(&prover->ts, 32, term_name(&prover->ts, "undefined %u.%u", v, w), 0), NULL};
    return n;
}

/* The state that the region begins with; `open`: variables where nothing is chosen yet. */
static Term **entered(const Opening *o, bool open) {
    Prover *prover = &o->core->p;
    Term **val = arena_copy(prover->run_arena, o->cut->pv, prover->nptx * sizeof *val);
    for (uint32_t v = 1; v < o->nvalues; v++) {
        const OpenWord *word = &o->words[2 * v];
        if (!word->var || (!open && !word[0].is && !word[1].is))
            continue;
        Term *lo = word[0].is ? word[0].is : word[0].var, *hi = word[1].is ? word[1].is : word[1].var;
        val[v] = prove_ptx_width(prover, v) == 64 ? t_pair(&prover->ts, lo, hi) : lo;
    }
    return val;
}

static OpenWord *open_leaf(Opening *o, const Term *term) {
    if (o->visits++ > MOST_VISITS)
        return NULL;
    if (term->kind == TK_ITE) {
        OpenWord *found = open_leaf(o, term->a[1]);
        return found ? found : open_leaf(o, term->a[2]);
    }
    for (uint32_t k = 2; term->kind == TK_VAR && k < 2 * o->nvalues; k++)
        if (o->words[k].var == term)
            return o->words[k].is ? NULL : &o->words[k];
    return NULL;
}

/* The decisions under which the term is this variable. */
static Term *where(Opening *o, Term *term, const Term *var) {
    Terms *ts = &o->core->p.ts;
    if (term == var || term->kind != TK_ITE || o->visits++ > MOST_VISITS)
        return t_bool(ts, term == var);
    Term *yes = term_decision(ts, term->a[0]);
    return t_or(ts, t_and(ts, yes, where(o, term->a[1], var)),
                t_and(ts, t_not(ts, yes), where(o, term->a[2], var)));
}

static bool choose_in(Opening *o, Term *ptx, Term *mach) {
    bool chosen = false;
    for (OpenWord *word; ptx->width == 32 && mach->width == 32 && (word = open_leaf(o, ptx)); chosen = true)
        word->is = t_under(&o->core->p.ts, mach, where(o, ptx, word->var));
    return chosen;
}

static uint32_t length(const Term *mem) {
    uint32_t n = 0;
    for (; mem->kind == TK_EVENT; mem = mem->a[0])
        n++;
    return n;
}

/* From the oldest event on to the first that chooses something: what follows may depend on it. */
static bool choose_in_events(Opening *o, Term *ptx, Term *mach) {
    if (ptx == mach || ptx->kind != TK_EVENT || mach->kind != TK_EVENT)
        return false;
    bool chosen = choose_in_events(o, ptx->a[0], mach->a[0]);
    if (chosen || ptx->op != mach->op || ptx->k != mach->k || ptx->name != mach->name || ptx->n != mach->n)
        return chosen;
    o->visits = 0;
    for (uint32_t k = 2; k < ptx->n; k++)
        chosen |= ptx->a[k] != mach->a[k] && choose_in(o, ptx->a[k], mach->a[k]);
    return chosen;
}

static bool choose_words(Opening *o) {
    const Run *ptx = &o->cut->ptx_run, *mach = &o->cut->mach_run;
    for (unsigned s = 0; s < NMEM && !o->core->p.ts.overflow; s++)
        if (length(ptx->mem[s]) == length(mach->mem[s]) && choose_in_events(o, ptx->mem[s], mach->mem[s]))
            return true;
    return false;
}

/* Is the register without a value where the region begins, and may it be read before it is written? */
static bool is_open_and_wanted(const Opening *o, uint32_t v) {
    return may_open(o, v) && prove_ptx_wanted(&o->core->p, o->cut->ptx, v);
}
static bool wants_open(const Opening *o) {
    for (uint32_t v = 1; v < o->core->p.carry; v++)
        if (is_open_and_wanted(o, v))
            return true;
    return false;
}

typedef struct { /* a word that leaves the region, and is one without a value on some ways */
    OpenWord *open;
    Term *with, *without, *is; /* where it has a value; where not; the value */
} Sought;

static bool seek(Opening *o, Term *word, Term *when, Sought *out) {
    Terms *ts = &o->core->p.ts;
    o->visits = 0;
    word = t_under(ts, word, when);
    out->open = word->width == 32 ? open_leaf(o, word) : NULL;
    if (!out->open)
        return false;
    out->without = where(o, word, out->open->var);
    out->with = t_and(ts, when, t_not(ts, out->without));
    out->without = t_and(ts, when, out->without);
    out->is = t_under(ts, word, out->with);
    return out->with != ts->falsity && is_open_and_wanted(o, (uint32_t)(out->open - o->words) / 2);
}

/* How little speaks for a location that has the word wherever that has a value, as several may, where it is
 * 0: less where another word has it, or where it has elsewhere what somebody wrote. */
enum { BEST, MOST_DOUBT = 2, NOT_IT };
static unsigned doubt(const Opening *o, const Exit *mach, uint32_t l, const Sought *sought) {
    Terms *ts = &o->core->p.ts;
    if (l >= o->core->p.nloc || prove_loc_width(l) != 32 || !mach->val[l] ||
        t_under(ts, mach->val[l], sought->with) != sought->is)
        return NOT_IT;
    return o->taken[l] ? MOST_DOUBT : t_under(ts, mach->val[l], sought->without)->kind != TK_VAR;
}

static void take(Opening *o, const Exit *mach, uint32_t l, const Sought *sought) {
    sought->open->is = t_under(&o->core->p.ts, mach->val[l], sought->without);
    o->taken[l] = true;
}

/* The location that has the word wherever it has a value, before one that has `next`, if that is not NULL;
 * the variable is what it has elsewhere. */
static bool choose_location(Opening *o, const Exit *mach, const Sought *sought, const Sought *next) {
    uint32_t best = 0;
    unsigned least = NOT_IT;
    for (uint32_t l = 0; l < o->core->p.nloc && least != BEST; l++) {
        unsigned one = doubt(o, mach, l, sought), two = next ? doubt(o, mach, l + 1, next) : BEST;
        if ((one > two ? one : two) < least) {
            least = one > two ? one : two;
            best = l;
        }
    }
    if (least == NOT_IT)
        return false;
    take(o, mach, best, sought);
    if (next)
        take(o, mach, best + 1, next);
    return true;
}

static bool choose_value(Opening *o, Term *value, const Exit *mach, Term *when) {
    Terms *ts = &o->core->p.ts;
    Sought lo, hi;
    bool wide = value->width == 64, low = seek(o, wide ? t_lo(ts, value) : value, when, &lo),
         high = wide && seek(o, t_hi(ts, value), when, &hi);
    if (low && high && choose_location(o, mach, &lo, &hi))
        return true;
    bool chosen = low && choose_location(o, mach, &lo, NULL);
    return (high && choose_location(o, mach, &hi, NULL)) || chosen;
}

/* What leaves the region for another place: where the machine's guarded instruction leaves its register as it
 * was, the PTX's register has what the machine's has. */
static bool choose_in_exits(Opening *o) {
    Core *core = o->core;
    Prover *prover = &core->p;
    Terms *ts = &prover->ts;
    bool chosen = false;
    for (uint32_t i = 0; i < o->cut->ptx_run.exits.n; i++)
        for (uint32_t j = 0; j < o->cut->mach_run.exits.n; j++) {
            const Exit *ptx = &o->cut->ptx_run.exits.at[i], *mach = &o->cut->mach_run.exits.at[j];
            if (ptx->kind != EX_CUT || mach->kind != EX_CUT ||
                core->cuts.at[core->cut_of[mach->target - prover->ff->first_block] - 1].ptx != ptx->target)
                continue;
            Term *when = t_and(ts, ptx->cond, mach->cond);
            for (uint32_t v = 1; v < o->nvalues && when != ts->falsity && !ts->overflow; v++) {
                Term *value = ptx->val[v];
                if (!value || value->width == 1 || !prove_ptx_wanted(prover, ptx->target, v))
                    continue;
                chosen |= choose_value(o, value, mach, when);
            }
        }
    return chosen;
}

static void run_and_choose(Core *core, Cut *cut, const uint8_t *stop) {
    Prover *prover = &core->p;
    prove_ptx_run(prover, cut->ptx, cut->pv, cut->mem, stop, &cut->ptx_run);
    Opening opening = {.core = core, .cut = cut};
    if (cut->ptx_run.fault || cut->mach_run.fault || prover->ts.overflow)
        return;
    bool in_events = memcmp(cut->ptx_run.mem, cut->mach_run.mem, sizeof cut->ptx_run.mem) != 0,
         in_exits = wants_open(&opening);
    if ((!in_events && !in_exits) || !open_words(&opening))
        return;
    bool chosen = false;
    for (unsigned round = 0; round < MOST_ROUNDS; round++) {
        prove_ptx_run(prover, cut->ptx, entered(&opening, true), cut->mem, stop, &cut->ptx_run);
        if (cut->ptx_run.fault || prover->ts.overflow ||
            (!choose_words(&opening) && !(in_exits && choose_in_exits(&opening))))
            break;
        chosen = true;
    }
    prove_ptx_run(prover, cut->ptx, chosen ? entered(&opening, false) : cut->pv, cut->mem, stop,
                  &cut->ptx_run);
}

void prove_core_run_ptx(Core *core, Cut *cut, const uint8_t *stop) {
    core->p.machine = &cut->mach_run;
    run_and_choose(core, cut, stop);
    core->p.machine = NULL;
}
