/* Routines inside a kernel's section: ptxas puts those of division, reciprocal and square root behind the
 * kernel's code, each with registers and in an order of its own. They have neither loops nor memory, so such
 * a routine is executed once, with a variable for each location, and compared as terms with what the files in
 * check/prove/foreign have: for each routine a PTX function NAME_steps, executed with these variables as
 * arguments, and a function NAME that says what the steps are taken for. Which registers hold the arguments
 * is tried. A routine is known if the words of the result stand somewhere when it returns; then a call of it
 * gives NAME of what the registers have, all else that it writes may be anything, its return must lead behind
 * the call, and NAME_when, if there is one, must be true wherever it is called. That the steps compute what
 * NAME says then, tests/values/test_rounded shows. SPDX-License-Identifier: MIT */
#include "check/prove/mach.h"
#include "base/embedded.h"
#include <stdlib.h>
#include <string.h>

extern const EmbeddedFile prove_foreign_files[];

enum { MAX_FILES = 8, MOST_WORDS = 4 };
enum { CHANGED = 1, FIRST_WORD }; /* what a routine does to a location; then word 0, 1 of the result */

struct ProveRoutine {
    uint32_t block;
    const PtxModule *module;         /* NULL: not known */
    const PtxFunc *meaning, *when;   /* when: may be NULL */
    uint32_t arg[MOST_WORDS], nargs; /* locations of its words */
    uint8_t *does;                   /* by location */
    uint32_t to_reg;                 /* holds its return address, less `to_base` */
    uint64_t to_base;
};

static unsigned words_of(const PtxModule *module, const uint32_t *vars, uint32_t n) {
    unsigned words = 0;
    for (uint32_t k = 0; k < n; k++)
        words += ptx_type_bytes((PtxType)module->vars[vars[k]].type) == 8 ? 2 : 1;
    return words;
}

/* What the function returns for these words; NULL: it was not understood. The PTX side of the prover is the
 * function's while it runs. */
static Term *returned(Prover *prover, const PtxModule *module, const PtxFunc *f, Term *const *words) {
    Prover before = *prover;
    Terms *ts = &prover->ts;
    Run run;
    prover->module = module;
    prover->pf = f;
    prover->shared = NULL;
    prover->nblocks = 0;
    prover->rows = (MapRows){0};
    prover->assumed = ARENA_ARRAY(&prover->arena, uint8_t, f->ninsns + 1);
    Term *result = NULL, *mem[NMEM], **val;
    if (prove_ptx_graph(prover)) {
        val = ARENA_ARRAY(&prover->arena, Term *, prover->nptx);
        for (uint32_t k = 0, w = 0; k < f->nparams; k++) {
            bool wide = prove_ptx_width(prover, f->param_regs[k]) == 64;
            val[f->param_regs[k]] = wide ? t_pair(ts, words[w], words[w + 1]) : words[w];
            w += wide ? 2 : 1;
        }
        val[prover->carry] = ts->falsity;
        for (unsigned s = 0; s < NMEM; s++)
            mem[s] = t_var(ts, 0, term_name(ts, "memory %u", s), 0);
        bool *stop = ARENA_ARRAY(&prover->arena, bool, prover->nblocks + 1);
        prove_ptx_run(prover, 0, val, mem, stop, &run);
        for (uint32_t e = 0; !run.fault && !ts->overflow && e < run.exits.n; e++) {
            Term *one = run.exits.at[e].val[f->ret_regs[0]];
            result = result ? t_ite(ts, run.exits.at[e].cond, one, result) : one;
        }
    }
    Terms terms = *ts;
    Arena arena = prover->arena;
    *prover = before;
    prover->ts = terms;
    prover->arena = arena;
    return result;
}

/* Executes the routine; NULL: it does more than compute registers and return. */
static const Exit *executed(Prover *prover, uint32_t block, Term *const *val, Run *run) {
    Term *mem[NMEM];
    void (*watch)(void *, const MachInst *, uint32_t, bool, Term *, Term *const *, Term *const *,
                  Term *const *) = prover->watch;
    for (unsigned s = 0; s < NMEM; s++)
        mem[s] = t_var(&prover->ts, 0, term_name(&prover->ts, "memory %u", s), 0);
    const bool *stop = ARENA_ARRAY(&prover->arena, bool, prover->ff->nblocks + 1);
    prover->watch = NULL;
    prover->in_routine = true;
    prove_mach_run(prover, block, val, mem, stop, run);
    prover->in_routine = false;
    prover->watch = watch;
    bool quiet =
        !run->fault && !prover->ts.overflow && !run->accesses.n && !run->syncs.n && run->exits.n == 1;
    for (unsigned s = 0; quiet && s < NMEM; s++)
        quiet &= run->mem[s] == mem[s];
    return quiet && run->exits.at[0].kind == EX_RET && run->exits.at[0].cond == prover->ts.truth
               ? &run->exits.at[0]
               : NULL;
}

static Term **fresh(Prover *prover) {
    Term **val = ARENA_ARRAY(&prover->arena, Term *, prover->nloc);
    for (uint32_t l = 0; l < prover->nloc; l++)
        val[l] = t_var(&prover->ts, prove_loc_width(l), term_name(&prover->ts, "routine's %u", l), 0);
    return val;
}

/* Where it returns to: a word that was not touched, and a distance. */
static bool find_way_back(Prover *prover, const Exit *exit, Term *const *val, struct ProveRoutine *routine) {
    const MachInst *in = &prover->flow->insts[exit->at];
    Operand reg = in->src[RET_ra];
    if (isa_is_absolute(in->optype, in->mods) || reg.kind != OPK_REG || reg.file != RF_R || reg.mods ||
        reg.value + 1 >= REG_RZ || exit->val[LOC_R + reg.value + 1] != prover->ts.zero)
        return false;
    for (uint32_t l = LOC_R; l < LOC_R + REG_RZ; l++)
        if (exit->val[LOC_R + reg.value] == val[l]) {
            routine->to_reg = l;
            routine->to_base = bin_address(prover->flow, exit->at + 1) + (uint64_t)in->wide;
            return true;
        }
    return false;
}

/* Is it the steps, with these arguments where the routine says? Then what it does is noted. */
static bool is_known(Prover *prover, const PtxModule *module, const PtxFunc *steps, Term *const *words,
                     struct ProveRoutine *routine) {
    Terms *ts = &prover->ts;
    Term *result = returned(prover, module, steps, words), **val = fresh(prover), *want[2];
    if (!result)
        return false;
    for (uint32_t k = 0; k < routine->nargs; k++)
        val[routine->arg[k]] = words[k];
    Run run;
    const Exit *exit = executed(prover, routine->block, val, &run);
    if (!exit || !find_way_back(prover, exit, val, routine))
        return false;
    unsigned n = result->width == 64 ? 2 : 1;
    want[0] = n == 2 ? t_lo(ts, result) : result;
    want[1] = n == 2 ? t_hi(ts, result) : NULL;
    bool found[2] = {false, n == 1};
    for (uint32_t l = 0; l < prover->nloc; l++) {
        routine->does[l] = exit->val[l] != val[l] ? CHANGED : 0;
        for (unsigned w = 0; w < n; w++)
            if (routine->does[l] && exit->val[l] == want[w]) {
                routine->does[l] = (uint8_t)(FIRST_WORD + w);
                found[w] = true;
            }
    }
    return found[0] && found[1];
}

/* Arguments from `k` on are words of the locations in `from`, each of them one. */
static bool try_arguments(Prover *prover, const PtxModule *module, const PtxFunc *steps, const uint32_t *from,
                          uint32_t k, Term *const *words, struct ProveRoutine *routine) {
    uint32_t n = routine->nargs, param = 0, at = 0;
    if (k == n)
        return is_known(prover, module, steps, words, routine);
    for (; param < steps->nparams; param++) {
        if (at == k)
            break;
        at += words_of(module, &steps->params[param], 1);
    }
    unsigned size = words_of(module, &steps->params[param], 1);
    for (uint32_t i = 0; i + size <= n; i++) {
        bool good = size == 1 || from[i] + 1 == from[i + 1];
        for (uint32_t j = 0; j < k; j++)
            good &= routine->arg[j] != from[i];
        if (!good)
            continue;
        for (unsigned w = 0; w < size; w++)
            routine->arg[k + w] = from[i + w];
        if (try_arguments(prover, module, steps, from, k + size, words, routine))
            return true;
    }
    return false;
}

typedef struct { /* registers that a term depends on */
    Term *const *val;
    bool *seen; /* by term */
    uint32_t at[MOST_WORDS], n;
} Inputs;

static void collect(Inputs *inputs, const Term *term) {
    if (inputs->seen[term->id])
        return;
    inputs->seen[term->id] = true;
    for (uint32_t l = 0; term->kind == TK_VAR && l < LOC_UP; l++)
        if (inputs->val[l] == term && prove_loc_width(l) == 32 && inputs->n++ < MOST_WORDS)
            inputs->at[inputs->n - 1] = l;
    for (uint32_t k = 0; term->kind != TK_VAR && !t_is_const(term) && k < term->n; k++)
        collect(inputs, term->a[k]);
}

static int by_number(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Of what the routine leaves in a location, in order; none if there are too many. */
static Inputs inputs_of(Prover *prover, const Exit *exit, Term *const *val, uint32_t loc) {
    Inputs inputs = {.val = val};
    ArenaMark mark = arena_mark(&prover->arena);
    inputs.seen = ARENA_ARRAY(&prover->arena, bool, prover->ts.next_id + 1);
    if (exit->val[loc] != val[loc])
        collect(&inputs, exit->val[loc]);
    arena_release(&prover->arena, mark);
    inputs.n = inputs.n > MOST_WORDS ? 0 : inputs.n;
    qsort(inputs.at, inputs.n, sizeof *inputs.at, by_number);
    return inputs;
}

static const PtxModule *foreign_file(Prover *prover, unsigned n) {
    if (!prover->foreign)
        prover->foreign = ARENA_ARRAY(&prover->arena, PtxModule *, MAX_FILES);
    const EmbeddedFile *file = &prove_foreign_files[n];
    Diags quiet = {0};
    if (!prover->foreign[n])
        prover->foreign[n] = ptx_parse(file->name, file->text, file->size_bytes, &quiet);
    return prover->foreign[n];
}
void prove_foreign_free(Prover *prover) {
    for (unsigned n = 0; prover->foreign && n < MAX_FILES; n++)
        if (prover->foreign[n])
            ptx_free(prover->foreign[n]);
}

/* The words in these locations are the arguments of some steps. */
static bool try_steps(Prover *prover, const uint32_t *from, uint32_t n, struct ProveRoutine *routine) {
    static const char suffix[] = "_steps";
    Term *words[MOST_WORDS];
    routine->nargs = n;
    for (uint32_t k = 0; k < n; k++)
        words[k] = t_var(&prover->ts, 32, term_name(&prover->ts, "argument %u", k), 0);
    for (unsigned file = 0; file < MAX_FILES && prove_foreign_files[file].name; file++) {
        const PtxModule *module = foreign_file(prover, file);
        for (uint32_t f = 0; module && f < module->nfuncs; f++) {
            const PtxFunc *steps = &module->funcs[f];
            const char *name = str_text(&module->strings, steps->name);
            size_t length = strlen(name) - strlen(suffix);
            if (strlen(name) <= strlen(suffix) || strcmp(name + length, suffix) != 0 ||
                words_of(module, steps->params, steps->nparams) != n)
                continue;
            uint32_t meaning = ptx_find_func(module, term_name(&prover->ts, "%.*s", (int)length, name));
            if (meaning && try_arguments(prover, module, steps, from, 0, words, routine)) {
                routine->module = module;
                routine->meaning = &module->funcs[meaning - 1];
                uint32_t when = ptx_find_func(module, term_name(&prover->ts, "%.*s_when", (int)length, name));
                routine->when = when ? &module->funcs[when - 1] : NULL;
                return true;
            }
        }
    }
    return false;
}

static void recognise(Prover *prover, struct ProveRoutine *routine) {
    Term **val = fresh(prover);
    Run run;
    const Exit *exit = executed(prover, routine->block, val, &run);
    Inputs tried = {0};
    for (uint32_t l = 0; exit && l < LOC_P; l++) {
        Inputs inputs = inputs_of(prover, exit, val, l);
        if (!inputs.n ||
            (inputs.n == tried.n && memcmp(inputs.at, tried.at, inputs.n * sizeof *inputs.at) == 0))
            continue;
        if (try_steps(prover, inputs.at, inputs.n, routine))
            return;
        tried = inputs;
    }
}

/* A call of a place inside the function; false: of no routine that is known. */
bool mach_subroutine(Mach *mach, uint32_t target) {
    Prover *prover = mach->prover;
    Terms *ts = &prover->ts;
    struct ProveRoutine *routine = NULL;
    if (prover->in_routine)
        return false;
    for (uint32_t k = 0; k < prover->routines.n; k++)
        if (prover->routines.at[k]->block == prover->flow->block_of[target])
            routine = prover->routines.at[k];
    if (!routine) {
        routine = ARENA_ARRAY(&prover->arena, struct ProveRoutine, 1);
        routine->block = prover->flow->block_of[target];
        routine->does = ARENA_ARRAY(&prover->arena, uint8_t, prover->nloc);
        VEC_ADD(&prover->arena, &prover->routines, routine);
        if (prover->flow->blocks[routine->block].first == target)
            recognise(prover, routine);
    }
    if (!routine->module)
        return mach_straight(mach, target);
    Term *words[MOST_WORDS], *to = mach_get(mach, routine->to_reg);
    for (uint32_t k = 0; k < routine->nargs; k++)
        words[k] = mach_get(mach, routine->arg[k]);
    Term *when = routine->when ? returned(prover, routine->module, routine->when, words) : ts->truth;
    if (!when || t_and(ts, mach->full, t_not(ts, when)) != ts->falsity) {
        mach_fault(mach, "a routine is called for operands that it is not known to be right for");
        return true;
    }
    Term *result = returned(prover, routine->module, routine->meaning, words);
    prover->foreign_steps = true;
    if (!result || !t_is_const(to) ||
        routine->to_base + (uint32_t)to->k != bin_address(prover->flow, mach->at + 1)) {
        mach_fault(mach, "a routine returns to another place than behind its call");
        return true;
    }
    for (uint32_t l = 0; l < prover->nloc; l++)
        if (routine->does[l] == CHANGED)
            mach_set(mach, l, t_var(ts, prove_loc_width(l), term_name(ts, "~%u", l), 0xfff00000u + mach->at));
        else if (routine->does[l])
            mach_set(mach, l,
                     result->width == 32              ? result
                     : routine->does[l] == FIRST_WORD ? t_lo(ts, result)
                                                      : t_hi(ts, result));
    return true;
}
