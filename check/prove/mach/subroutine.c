/* Routines inside a kernel's section: ptxas puts those of division, reciprocal and square root behind the
 * kernel's code, each with registers and in an order of its own, and where all calls bring the same parameter
 * of the kernel or literal, with that in place of an argument. They have neither loops nor memory, so such
 * a routine is executed once, with a variable for each location, and compared as terms with what the files in
 * check/prove/foreign have: for each routine a PTX function NAME_steps, executed with these variables as
 * arguments, and a function NAME that says what the steps are taken for. Which registers hold the arguments
 * is tried. A routine is known if the words of the result stand somewhere when it returns; then a call of it
 * gives NAME of what the registers have, all else that it writes may be anything, its return must lead behind
 * the call, and NAME_when, if there is one, must be true wherever it is called. That the steps compute what
 * NAME says then, tests/values/test_rounded shows. SPDX-License-Identifier: MIT */
#include "check/prove/mach/mach.h"
#include "base/embedded.h"
#include <stdlib.h>
#include <string.h>

extern const EmbeddedFile prove_foreign_files[];

enum { MAX_FILES = 8, MOST_WORDS = 9 };
enum { CHANGED = 1, FIRST_WORD }; /* what a routine does to a location; then word 0, 1 of the result */

typedef struct Word { /* of an argument */
    Term *term;       /* in a location: a variable */
    uint32_t loc;     /* or NOWHERE: it is always this term */
} Word;
#define NOWHERE UINT32_MAX

struct ProveRoutine {
    uint32_t block;
    const PtxModule *module;       /* NULL: not known */
    const PtxFunc *meaning, *when; /* when: may be NULL */
    struct Word *arg;              /* its words */
    uint32_t nargs;
    uint8_t *does;   /* by location */
    uint32_t to_reg; /* holds its return address, less `to_base` */
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
        uint8_t *stop = ARENA_ARRAY(&prover->arena, uint8_t, prover->nblocks + 1);
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
static bool is_known(Prover *prover, const PtxModule *module, const PtxFunc *steps,
                     struct ProveRoutine *routine) {
    Terms *ts = &prover->ts;
    Term *words[MOST_WORDS], **val = fresh(prover), *want[2];
    for (uint32_t k = 0; k < routine->nargs; k++) {
        bool fixed = routine->arg[k].loc == NOWHERE;
        words[k] = fixed ? routine->arg[k].term : t_var(ts, 32, term_name(ts, "argument %u", k), 0);
        if (!fixed)
            val[routine->arg[k].loc] = words[k];
    }
    Term *result = returned(prover, module, steps, words);
    if (!result)
        return false;
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

typedef struct { /* what arguments may be made of */
    Word at[MOST_WORDS];
    bool used[MOST_WORDS];
    uint32_t n;
    TermList literals; /* besides, of the PTX's statements */
    bool anywhere;     /* the words of one argument may be in any two registers */
    uint32_t tries;    /* that are left */
} Words;
enum { MOST_TRIES = 500 };

static bool try_arguments(Prover *prover, const PtxModule *module, const PtxFunc *steps, uint32_t param,
                          Words *from, struct ProveRoutine *routine);

/* With one or two of the words, or a literal, as the next argument. */
static bool try_words(Prover *prover, const PtxModule *module, const PtxFunc *steps, uint32_t param,
                      Words *from, uint32_t i, uint32_t j, struct ProveRoutine *routine) {
    uint32_t n = routine->nargs;
    routine->arg[routine->nargs++] = from->at[i];
    if (j != i)
        routine->arg[routine->nargs++] = from->at[j];
    from->used[i] = from->used[j] = true;
    if (try_arguments(prover, module, steps, param + 1, from, routine))
        return true;
    from->used[i] = from->used[j] = false;
    routine->nargs = n;
    return false;
}
static bool try_literal(Prover *prover, const PtxModule *module, const PtxFunc *steps, uint32_t param,
                        Words *from, Term *literal, struct ProveRoutine *routine) {
    uint32_t n = routine->nargs;
    bool wide = literal->width == 64;
    routine->arg[routine->nargs++] = (Word){wide ? t_lo(&prover->ts, literal) : literal, NOWHERE};
    if (wide)
        routine->arg[routine->nargs++] = (Word){t_hi(&prover->ts, literal), NOWHERE};
    if (try_arguments(prover, module, steps, param + 1, from, routine))
        return true;
    routine->nargs = n;
    return false;
}

/* Two words are an argument if they are registers, mostly in a row, or both always the same. */
static bool are_pair(const Words *from, const Word *low, const Word *high) {
    if (low == high || low->loc == NOWHERE || high->loc == NOWHERE)
        return low != high && (from->anywhere || low->loc == high->loc);
    return from->anywhere || low->loc + 1 == high->loc;
}

/* The arguments from `param` on are made of words that are not used yet, each of them once, and all of them,
 * and of literals. */
static bool try_arguments(Prover *prover, const PtxModule *module, const PtxFunc *steps, uint32_t param,
                          Words *from, struct ProveRoutine *routine) {
    uint32_t left = 0;
    for (uint32_t i = 0; i < from->n; i++)
        left += !from->used[i];
    if (param == steps->nparams)
        return !left && from->tries && from->tries-- && is_known(prover, module, steps, routine);
    if (left > words_of(module, &steps->params[param], steps->nparams - param))
        return false;
    unsigned size = words_of(module, &steps->params[param], 1);
    for (uint32_t i = 0; i < from->n; i++)
        for (uint32_t j = size == 1 ? i : 0; j < (size == 1 ? i + 1 : from->n); j++)
            if (!from->used[i] && !from->used[j] &&
                (size == 1 || are_pair(from, &from->at[i], &from->at[j])) &&
                try_words(prover, module, steps, param, from, i, j, routine))
                return true;
    for (uint32_t k = 0; k < from->literals.n; k++)
        if (from->literals.at[k]->width == 32 * size &&
            try_literal(prover, module, steps, param, from, from->literals.at[k], routine))
            return true;
    return false;
}

typedef struct { /* what a term depends on */
    Term *const *val;
    bool *seen; /* by term */
    Words words;
} Inputs;

static void collect(Inputs *inputs, Term *term) {
    if (inputs->seen[term->id])
        return;
    inputs->seen[term->id] = true;
    if (term->kind == TK_VAR && term->width == 32) {
        Word word = {term, NOWHERE};
        for (uint32_t l = 0; l < LOC_UP; l++)
            if (inputs->val[l] == term)
                word.loc = l;
        bool known = word.loc != NOWHERE || prove_is_param(term);
        inputs->words.n += known ? 1 : MOST_WORDS + 1;
        if (inputs->words.n <= MOST_WORDS)
            inputs->words.at[inputs->words.n - 1] = word;
    }
    for (uint32_t k = 0; term->kind != TK_VAR && !t_is_const(term) && k < term->n; k++)
        collect(inputs, term->a[k]);
}

static int by_number(const void *a, const void *b) {
    const Word *x = a, *y = b;
    return x->loc != y->loc ? (x->loc > y->loc) - (x->loc < y->loc)
                            : (x->term->id > y->term->id) - (x->term->id < y->term->id);
}

/* Of what the routine leaves in a location, in order; none if there are too many. */
static Words inputs_of(Prover *prover, const Exit *exit, Term *const *val, uint32_t loc) {
    Inputs inputs = {.val = val};
    ArenaMark mark = arena_mark(&prover->arena);
    inputs.seen = ARENA_ARRAY(&prover->arena, bool, prover->ts.next_id + 1);
    if (exit->val[loc] != val[loc])
        collect(&inputs, exit->val[loc]);
    arena_release(&prover->arena, mark);
    inputs.words.n = inputs.words.n > MOST_WORDS ? 0 : inputs.words.n;
    qsort(inputs.words.at, inputs.words.n, sizeof *inputs.words.at, by_number);
    return inputs.words;
}

/* Those of the PTX's divisions and the like. */
static TermList literals_of(Prover *prover) {
    TermList list = {0};
    for (uint32_t i = 0; i < prover->pf->ninsns; i++) {
        const PtxInsn *in = &prover->pf->insns[i];
        if (in->op != PTX_DIV && in->op != PTX_REM && in->op != PTX_RCP && in->op != PTX_SQRT)
            continue;
        unsigned bytes = ptx_type_bytes((PtxType)in->type[0]);
        for (unsigned k = 1; k < in->noperands; k++)
            if (in->operands[k].kind == PO_IMM && (bytes == 4 || bytes == 8))
                VEC_ADD(&prover->arena, &list,
                        t_const(&prover->ts, 8 * bytes, (uint64_t)in->operands[k].imm));
    }
    VEC_ADD(&prover->arena, &list, t_const(&prover->ts, 32, 0x3f800000)); /* of a reciprocal */
    VEC_ADD(&prover->arena, &list, t_const(&prover->ts, 64, 0x3ff0000000000000));
    return list;
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

/* These words, all of them, and literals are the arguments of some steps. */
static bool try_steps(Prover *prover, Words *from, struct ProveRoutine *routine) {
    static const char suffix[] = "_steps";
    for (unsigned file = 0; file < MAX_FILES && prove_foreign_files[file].name; file++) {
        const PtxModule *module = foreign_file(prover, file);
        for (uint32_t f = 0; module && f < module->nfuncs; f++) {
            const PtxFunc *steps = &module->funcs[f];
            const char *name = str_text(&module->strings, steps->name);
            size_t length = strlen(name) - strlen(suffix);
            if (strlen(name) <= strlen(suffix) || strcmp(name + length, suffix) != 0 ||
                words_of(module, steps->params, steps->nparams) > MOST_WORDS)
                continue;
            uint32_t meaning = ptx_find_func(module, term_name(&prover->ts, "%.*s", (int)length, name));
            bool found = false;
            for (unsigned any = 0; meaning && !found && any < 2; any++) {
                routine->nargs = 0;
                from->anywhere = any;
                from->tries = MOST_TRIES;
                found = try_arguments(prover, module, steps, 0, from, routine);
            }
            if (found) {
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

static bool same_words(const Words *x, const Words *y) {
    bool same = x->n == y->n;
    for (uint32_t k = 0; same && k < x->n; k++)
        same = x->at[k].term == y->at[k].term;
    return same;
}

static void recognise(Prover *prover, struct ProveRoutine *routine) {
    Term **val = fresh(prover);
    Run run;
    const Exit *exit = executed(prover, routine->block, val, &run);
    Words tried = {.n = 0};
    TermList literals = literals_of(prover);
    for (uint32_t l = 0; exit && l < LOC_P; l++) {
        Words words = inputs_of(prover, exit, val, l);
        if (!words.n || same_words(&words, &tried))
            continue;
        tried = words;
        words.literals = literals;
        if (try_steps(prover, &words, routine))
            return;
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
        routine->arg = ARENA_ARRAY(&prover->arena, Word, MOST_WORDS);
        VEC_ADD(&prover->arena, &prover->routines, routine);
        if (prover->flow->blocks[routine->block].first == target)
            recognise(prover, routine);
    }
    if (!routine->module)
        return mach_straight(mach, target);
    Term *words[MOST_WORDS], *to = mach_get(mach, routine->to_reg);
    for (uint32_t k = 0; k < routine->nargs; k++)
        words[k] =
            routine->arg[k].loc == NOWHERE ? routine->arg[k].term : mach_get(mach, routine->arg[k].loc);
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
