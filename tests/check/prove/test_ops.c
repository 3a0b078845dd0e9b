/* The prover's machine side against the machine: for random legal words of every opcode of every target, the
 * terms that the prover builds must have the value that the simulator's function of the operation computes,
 * in every register and predicate. Where a result is an uninterpreted operation, two words that the prover
 * takes for one (another modifier, another operand) must compute the same. A modifier that the prover does
 * not look at and the simulator cannot judge has to stand in the table below. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/prove/lane/internal.h"
#include "isa/machine/banks.h"
#include "sim/machine/lane.h"
#include "tests/part.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { WORDS = 24, VARIANTS = 24, BASES = 6, EXACT_TRIALS = 6, PAIR_TRIALS = 4, PER_FUNC = 2 };

typedef struct {
    const Target *target;
    Arena arena;
    PtxModule *module;
    Binary binary;
    BinFlow *flow;
    Prover prover;
    Term **entry;
    Term **first, **other; /* by location: what choose() lets a predicate decide between */
    Term *decides;         /* that predicate, or NULL */
    Term *mem[NMEM];
    LaneMachine *lane;
} World;

static PtxModule *empty_kernel(void) {
    static const char text[] = ".version 8.0\n.target sm_90\n.address_size 64\n"
                               ".visible .entry k(.param .u64 a, .param .u64 b) { ret; }\n";
    Diags quiet = {0};
    PtxModule *module = ptx_parse("k.ptx", text, sizeof text - 1, &quiet);
    assert_non_null(module);
    return module;
}

/* One function a word: the word, then EXIT. False if a word cannot be encoded. */
static bool build(World *world, const Target *target, const MachInst *words, unsigned n) {
    char error[ISA_ERROR_BYTES];
    *world = (World){.target = target, .module = empty_kernel()};
    world->binary = (Binary){.target = target, .ncode = n * PER_FUNC, .nfuncs = n};
    world->binary.code = arena_alloc(&world->arena, sizeof(uint64_t[2]) * n * PER_FUNC);
    world->binary.funcs = ARENA_ARRAY(&world->arena, BinFunc, n);
    MachInst exit_inst = isa_inst(OT_EXIT);
    static uint8_t bank[4096];
    for (unsigned i = 0; i < n; i++) {
        world->binary.funcs[i] = (BinFunc){.name = "k",
                                           .is_entry = true,
                                           .address = (uint64_t)i * PER_FUNC * INST_BYTES,
                                           .ninsts = PER_FUNC,
                                           .nregs = 255,
                                           .const_bank2 = bank,
                                           .const_bank2_bytes = sizeof bank,
                                           .param_bytes = 4096};
        if (!isa_encode(target, &words[i], world->binary.code[(size_t)i * PER_FUNC], error) ||
            !isa_encode(target, &exit_inst, world->binary.code[(size_t)i * PER_FUNC + 1], error))
            return false;
    }
    world->flow = bin_flow_new(&world->binary);
    static const ProveOptions options = {0};
    world->prover = (Prover){.module = world->module,
                             .pf = &world->module->funcs[0],
                             .flow = world->flow,
                             .bf = &world->binary.funcs[0],
                             .ff = &world->flow->funcs[0],
                             .opt = &options};
    world->prover.run_arena = &world->prover.arena;
    world->prover.entered = ARENA_ARRAY(&world->prover.arena, bool, n *PER_FUNC + 1);
    term_init(&world->prover.ts);
    world->prover.fixup = ARENA_ARRAY(&world->prover.arena, const BinFixup *, n *PER_FUNC + 1);
    assert_true(prove_ptx_graph(&world->prover));
    assert_true(prove_mach_setup(&world->prover));
    world->entry = ARENA_ARRAY(&world->arena, Term *, world->prover.nloc);
    prove_mach_entry(&world->prover, world->entry);
    world->first = arena_copy(&world->arena, world->entry, sizeof(Term *) * world->prover.nloc);
    world->other = ARENA_ARRAY(&world->arena, Term *, world->prover.nloc);
    for (unsigned s = 0; s < NMEM; s++)
        world->mem[s] = t_var(&world->prover.ts, 0, term_name(&world->prover.ts, "memory %u", s), 0);
    world->lane = machine_lane_new(&world->binary);
    return true;
}

static void drop(World *world) {
    machine_lane_free(world->lane);
    term_free(&world->prover.ts);
    arena_free(&world->prover.arena);
    bin_flow_free(world->flow);
    arena_free(&world->arena);
    ptx_free(world->module);
}

/* False: the prover does not model it, or it is control flow. */
static bool run_word(World *world, unsigned func, Run *run) {
    Prover *prover = &world->prover;
    prover->func = func;
    prover->watched = 1u << MEM_GLOBAL; /* by some PTX: orders are told apart */
    prover->bf = &world->binary.funcs[func];
    prover->ff = &world->flow->funcs[func];
    for (uint32_t k = 0; k < prover->ff->nblocks; k++)
        prover->rpo_of[k] = UINT32_MAX;
    for (uint32_t k = 0; k < prover->ff->nrpo; k++)
        prover->rpo_of[prover->ff->rpo[k] - prover->ff->first_block] = k;
    bool stop[PER_FUNC + 1] = {false};
    prove_mach_run(prover, prover->ff->first_block, world->entry, world->mem, stop, run);
    return !run->fault && !prover->ts.overflow && run->exits.n == 1 && run->exits.at[0].kind == EX_END;
}

static uint32_t location_of(RegFile file, unsigned reg) {
    static const uint32_t base[] = {[RF_R] = LOC_R, [RF_P] = LOC_P, [RF_UR] = LOC_UR, [RF_UP] = LOC_UP};
    return base[file] + reg;
}
static const struct {
    RegFile file;
    unsigned n;
} files[] = {{RF_R, REG_RZ}, {RF_P, REG_PT}, {RF_UR, NUM_UR}, {RF_UP, REG_UPT}};

static uint32_t interesting(uint64_t *state) {
    static const uint32_t some[] = {0,          1,          2,          31,         32,         33,
                                    63,         64,         0xff,       0x7f,       0x80,       0x8000,
                                    0x7fff,     0xffff,     0x10000,    0x7fffffff, 0x80000000, 0xffffffff,
                                    0xfffffffe, 0x3f800000, 0xbf800000, 0x00000001, 0x007fffff, 0x00800000,
                                    0x7f800000, 0xff800000, 0x7fc00000, 0x7f7fffff, 0x40490fdb, 0x3c003c00,
                                    0x7c00fc00, 0x4b000001, 0x4f000000, 0xcf000000, 0x3fefffff, 0x41dfffff};
    uint64_t x = rng_next(state);
    return x % 3 ? some[(x >> 8) % (sizeof some / sizeof *some)] : (uint32_t)(x >> 32);
}

static bool is_predicate(RegFile file) { return file == RF_P || file == RF_UP; }

/* Before the word every register holds what a predicate of the word has decided, one of its own if it reads
 * one: what the prover leaves out where that does not matter must not matter. */
static void choose(World *world, const MachInst *in, unsigned otherwise) {
    Terms *ts = &world->prover.ts;
    uint32_t at = LOC_P + otherwise % REG_PT;
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_REG && in->src[k].file == RF_P && in->src[k].value != REG_PT)
            at = LOC_P + in->src[k].value;
    world->decides = world->first[at];
    for (unsigned f = 0; f < sizeof files / sizeof *files; f++)
        for (unsigned r = 0; r < files[f].n && !is_predicate(files[f].file); r++) {
            uint32_t l = location_of(files[f].file, r);
            if (!world->other[l])
                world->other[l] = t_var(ts, 32, term_name(ts, "other %u", l), 0);
            world->entry[l] = t_ite(ts, world->decides, world->first[l], world->other[l]);
        }
}

/* Registers of the lane, and of the assignment. */
static TermEval *fill(World *world, uint64_t *state) {
    TermEval *eval = term_eval_new(&world->prover.ts, 1);
    for (unsigned words = 0; words < 2; words++) /* the predicates first, they decide */
        for (unsigned f = 0; f < sizeof files / sizeof *files; f++)
            for (unsigned r = 0; r < files[f].n && is_predicate(files[f].file) == !words; r++) {
                uint32_t l = location_of(files[f].file, r);
                uint32_t v = words ? interesting(state) : (uint32_t)(rng_next(state) & 1);
                term_eval_set(eval, world->first[l], v);
                if (words && world->decides) {
                    uint32_t w = interesting(state);
                    term_eval_set(eval, world->other[l], w);
                    v = term_eval(eval, world->decides) ? v : w;
                }
                machine_lane_set(world->lane, files[f].file, r, v);
            }
    return eval;
}

static bool has_cmem(const MachInst *in) {
    for (unsigned s = 0; s < in->nsrc; s++)
        if (in->src[s].kind == OPK_CMEM)
            return true;
    return false;
}

static bool by_registers_alone(unsigned optype) {
    const OpTraits *traits = isa_traits(optype);
    return traits->uniform == ISA_UNIFORM_BY_DATA && !traits->space &&
           traits->lanes != ISA_LANES_COLLECTIVE && traits->simulated != ISA_SIMULATED_ABSENT &&
           !(traits->effects & ~(uint32_t)(ISA_EFFECT_READS_ALL_P | ISA_EFFECT_WRITES_ALL_P));
}

static void show(const World *world, unsigned func, const char *what) {
    char text[256];
    isa_print(world->target, &world->flow->insts[world->flow->funcs[func].first_inst], 0, NULL, text,
              sizeof text);
    printf("%s: %s: %s\n", isa_target_name(world->target), text, what);
}

/* Does any location that the word leaves hold an uninterpreted operation? */
static bool is_opaque(const Term *term, bool *seen) {
    if (seen[term->id])
        return false;
    seen[term->id] = true;
    if (term->kind == TK_APP && (term->op == TO_UF || term->op == TO_FLT || term->op == TO_FEQ ||
                                 term->op == TO_FGT || term->op == TO_RESULT || term->op == TO_READ))
        return true;
    for (uint32_t i = 0; i < term->n; i++)
        if (is_opaque(term->a[i], seen))
            return true;
    return false;
}
static bool has_opaque(World *world, Term *const *val) {
    bool *seen = calloc(world->prover.ts.next_id, 1), found = false;
    for (uint32_t l = 0; l < LOC_SLOT && !found; l++)
        found = val[l] != world->entry[l] && is_opaque(val[l], seen);
    free(seen);
    return found;
}

static unsigned compared, wrong;

/* Exact results: the simulator computes what the terms say. */
static void against_lane(World *world, unsigned func, Term *const *val, uint64_t *state) {
    const MachInst *in = &world->flow->insts[world->flow->funcs[func].first_inst];
    for (unsigned trial = 0; trial < EXACT_TRIALS / test_part(); trial++) {
        TermEval *eval = fill(world, state);
        if (!machine_lane_step(world->lane, in)) {
            term_eval_free(eval);
            return;
        }
        compared++;
        for (unsigned f = 0; f < sizeof files / sizeof *files; f++)
            for (unsigned r = 0; r < files[f].n; r++) {
                uint32_t got = machine_lane_get(world->lane, files[f].file, r),
                         want = (uint32_t)term_eval(eval, val[location_of(files[f].file, r)]);
                if (got != want) {
                    char text[120];
                    snprintf(text, sizeof text, "file %d register %u: the prover has 0x%x, the machine 0x%x",
                             (int)files[f].file, r, want, got);
                    show(world, func, text);
                    wrong++;
                    term_eval_free(eval);
                    return;
                }
            }
        term_eval_free(eval);
    }
}

static void every_word_means_what_the_machine_does(void **state) {
    (void)state;
    uint64_t seed = 1;
    for (const Target *const *t = isa_targets; *t; t++)
        for (unsigned oc = 1; oc < OC_COUNT; oc++) {
            MachInst words[WORDS];
            unsigned n = 0;
            for (unsigned tries = 0; tries < 4 * WORDS && n < WORDS; tries++) {
                char error[ISA_ERROR_BYTES];
                uint64_t word[2];
                isa_random(*t, oc, &seed, &words[n]);
                words[n].guard = op_pt();
                if (words[n].optype && !has_cmem(&words[n]) && by_registers_alone(words[n].optype) &&
                    isa_encode(*t, &words[n], word, error) && isa_decode(*t, word, &words[n], error))
                    n++;
            }
            World world;
            if (!n || !build(&world, *t, words, n))
                continue;
            for (unsigned k = 0; k < n; k++) {
                Run run;
                if (k >= n / 2) /* the others with registers of which nothing is known */
                    choose(&world, &words[k], k);
                if (run_word(&world, k, &run) && !has_opaque(&world, run.exits.at[0].val))
                    against_lane(&world, k, run.exits.at[0].val, &seed);
            }
            drop(&world);
        }
    printf("%u words and operands compared\n", compared);
    assert_int_equal(wrong, 0);
    assert_true(compared > 80000 / test_part());
}

/* ---- two words that the prover takes for one ---- */
typedef struct {
    MachInst inst;
    char what[48]; /* how it differs from the first */
    bool result;   /* another register for the result */
} Variant;

static bool same_accesses(const Run *x, const Run *y) {
    if (x->accesses.n != y->accesses.n)
        return false;
    for (uint32_t k = 0; k < x->accesses.n; k++) {
        const Access *p = &x->accesses.at[k], *q = &y->accesses.at[k];
        if (p->guard != q->guard || p->addr != q->addr || p->space != q->space || p->bytes != q->bytes ||
            p->store != q->store)
            return false;
    }
    return true;
}
static bool same_run(const World *world, const Run *x, const Run *y) {
    return memcmp(x->mem, y->mem, sizeof x->mem) == 0 && same_accesses(x, y) &&
           memcmp(x->exits.at[0].val, y->exits.at[0].val, world->prover.nloc * sizeof(Term *)) == 0;
}

/* Both words on the same registers. 0: they differ, 1: they do not, -1: one lane does not execute them. */
static int lanes_agree(World *world, unsigned x, unsigned y, uint64_t *state) {
    const MachInst *in[2] = {&world->flow->insts[x * PER_FUNC], &world->flow->insts[y * PER_FUNC]};
    if (!by_registers_alone(in[0]->optype) || has_cmem(in[0]) || has_cmem(in[1]))
        return -1;
    for (unsigned trial = 0; trial < PAIR_TRIALS / test_part(); trial++) {
        uint64_t begin = *state;
        uint32_t left[2][LOC_SLOT];
        for (unsigned side = 0; side < 2; side++) {
            *state = begin;
            term_eval_free(fill(world, state));
            if (!machine_lane_step(world->lane, in[side]))
                return -1;
            for (unsigned f = 0; f < sizeof files / sizeof *files; f++)
                for (unsigned r = 0; r < files[f].n; r++)
                    left[side][location_of(files[f].file, r)] =
                        machine_lane_get(world->lane, files[f].file, r);
        }
        for (unsigned f = 0; f < sizeof files / sizeof *files; f++)
            for (unsigned r = 0; r < files[f].n; r++)
                if (left[0][location_of(files[f].file, r)] != left[1][location_of(files[f].file, r)])
                    return 0;
    }
    return 1;
}

/* What the prover need not look at: it changes no value, no order and no access. Name of the modifier or
 * operand, a quote for an operand's modifiers; any operation if `op` is NULL. */
static const struct {
    const char *op, *name;
} harmless[] = {
    {NULL, "evict"},                         /* a hint to the cache */
    {NULL, "tag"},                           /* of textures: hints, which operands are used again */
    {"LDG", "ltc"},    {"LD", "ltc"},        /* a prefetch */
    {NULL, "urb"},     {NULL, "desc"},       /* a memory descriptor: it adds nothing to an address */
    {"VOTE", "op"},    {"VOTEU", "op"},      /* of the predicate; with PT there, the ballot is all */
    {"BAR", "defer"},  {"BAR_RED", "defer"}, /* a hint to the scheduler */
    {"DEPBAR", "sb"},  {"DEPBAR", "count"}, /* what it waits for the static checker compares with what is read
                                             */
    {"DEPBAR", "set"}, {"STG", "sz"},        {"ST", "sz"}, /* signed or not: what is stored has no sign */
    {"STS", "sz"},     {"STL", "sz"},                      /* likewise */
    {"ATOM", "type"},  {"ATOMG", "type"}, /* signed or not, where the operation does not ask */
    {"ATOMS", "type"}, {"RED", "type"},   /* likewise */
    {"LDS", "u"},                         /* bears addresses that are not aligned: each must be */
    {"IMAD", "sign"},                     /* the low word of a product has none */
};
/* Of TEX: with as many words behind the coordinates as there are coordinates, one list lies as two do. */
static bool list_lies_as_two(const MachInst *in) {
    static const uint8_t coords[] = {[TexDim_D1] = 1, [TexDim_D2] = 2, [TexDim_D3] = 3, [TexDim_CUBE] = 3,
                                     [TexDim_A1] = 2, [TexDim_A2] = 3, [TexDim_AC] = 4};
    unsigned dim = MGET(TEX, dim, in->mods), n = dim < sizeof coords ? coords[dim] : 0;
    unsigned behind =
        MGET(TEX, bind, in->mods) + (MGET(TEX, lod, in->mods) == TexLod_LL) + MGET(TEX, aoffi, in->mods);
    return (n + behind + 1) / 2 == n;
}

static bool is_harmless(const char *what, const MachInst *one, const MachInst *other) {
    if (one->optype == OT_TEX && strcmp(what, "TEX.scr") == 0 && list_lies_as_two(one))
        return true;
    const char *dot = strchr(what, '.'); /* sm_75 has two names for an access of 16 bytes */
    if (dot && strcmp(dot, ".sz") == 0 && isa_access_bytes(one) == 16 && isa_access_bytes(other) == 16)
        return true;
    for (unsigned k = 0; k < sizeof harmless / sizeof *harmless; k++) {
        const char *space = strpbrk(what, " .");
        if (strcmp(space + 1, harmless[k].name) == 0 &&
            (!harmless[k].op || (strlen(harmless[k].op) == (size_t)(space - what) &&
                                 strncmp(harmless[k].op, what, (size_t)(space - what)) == 0)))
            return true;
    }
    return false;
}

/* Worth comparing: its operands say something. */
static bool is_telling(const MachInst *in) {
    if (by_registers_alone(in->optype))
        return !has_cmem(in);
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_REG &&
            (in->src[k].value == REG_RZ || (in->src[k].file == RF_UR && in->src[k].value == REG_URZ)))
            if (in->src[k].file != RF_UR || k != 1) /* a descriptor */
                return false;
    for (unsigned k = 0; k < in->ndst; k++)
        if (in->dst[k].kind == OPK_REG && ((in->dst[k].file == RF_R && in->dst[k].value > REG_RZ - 4) ||
                                           (in->dst[k].file == RF_UR && in->dst[k].value == REG_URZ)))
            return false;
    return true;
}

static unsigned variants_of(const Target *t, const MachInst *base, Variant *out, uint64_t *state) {
    unsigned n = 0;
    for (unsigned tries = 0; tries < 8 * VARIANTS && n < VARIANTS; tries++) {
        Variant v = {.inst = *base};
        unsigned nmods = isa_num_mods(base->optype), nslots = (unsigned)base->ndst + base->nsrc,
                 pick = (unsigned)(rng_next(state) % (nmods + 2 * nslots));
        if (pick < nmods) {
            IsaModInfo info = isa_mod_info(base->optype, pick);
            uint32_t mask = ((1u << info.width) - 1) << info.lo,
                     bits = (uint32_t)rng_next(state) << info.lo & mask;
            v.inst.mods = (base->mods & ~mask) | bits;
            snprintf(v.what, sizeof v.what, "%s.%s", isa_optype_name(base->optype), info.name);
        } else {
            unsigned slot = (pick - nmods) / 2;
            bool dst = slot < base->ndst;
            Operand *operand = dst ? &v.inst.dst[slot] : &v.inst.src[slot - base->ndst];
            IsaSlot info =
                dst ? isa_dst_slot(t, base->optype, slot) : isa_src_slot(t, base->optype, slot - base->ndst);
            snprintf(v.what, sizeof v.what, "%s %s", isa_optype_name(base->optype), info.name);
            v.result = dst;
            if ((pick - nmods) % 2) {
                uint64_t random = rng_next(state); /* one bit, or any */
                operand->mods ^= (uint8_t)(random & 1 ? random >> 8 : 1u << (random >> 8) % 8);
                snprintf(v.what + strlen(v.what), sizeof v.what - strlen(v.what), "'");
            } else if (operand->kind == OPK_REG) {
                operand->value =
                    (uint32_t)(rng_next(state) & 255) & ~(operand->count > 1 ? operand->count - 1u : 0u);
            } else {
                operand->value ^= 1u << rng_next(state) % 32;
            }
        }
        char error[ISA_ERROR_BYTES];
        uint64_t word[2], first[2];
        if (!isa_encode(t, base, first, error) || !isa_encode(t, &v.inst, word, error) ||
            !isa_decode(t, word, &v.inst, error) || memcmp(word, first, sizeof word) == 0)
            continue;
        v.inst.opcode = 0;
        if (v.inst.optype != base->optype)
            continue;
        MachInst plain = v.inst;
        for (unsigned k = 0; k < plain.nsrc; k++)
            plain.src[k].mods = (uint8_t)((plain.src[k].mods & ~OPM_REUSE) | (base->src[k].mods & OPM_REUSE));
        if (isa_encode(t, &plain, word, error) && memcmp(word, first, sizeof word) == 0)
            continue; /* reuse bits alone */
        out[n++] = v;
    }
    return n;
}

static unsigned seen_alike, unseen;
enum { MAX_SAID = 400 };
static char said[MAX_SAID][48];
static unsigned nsaid;

static void say_once(const World *world, unsigned func, const char *what, const char *how) {
    for (unsigned k = 0; k < nsaid; k++)
        if (strcmp(said[k], what) == 0)
            return;
    if (nsaid < MAX_SAID)
        snprintf(said[nsaid++], sizeof said[0], "%s", what);
    char text[120];
    snprintf(text, sizeof text, "%s %s", what, how);
    show(world, 0, "and");
    show(world, func, text);
    unseen++;
}

/* How often a change of a modifier or operand left all as it was, and how often not. */
enum { MAX_PLACES = 2000, ENOUGH = 4 };
static struct {
    char what[48];
    unsigned same, other;
} places[MAX_PLACES];
static unsigned nplaces;

static void count_place(const char *what, bool same) {
    unsigned k = 0;
    while (k < nplaces && strcmp(places[k].what, what) != 0)
        k++;
    assert_true(k < MAX_PLACES);
    if (k == nplaces)
        snprintf(places[nplaces++].what, sizeof places[0].what, "%s", what);
    places[k].same += same;
    places[k].other += !same;
}

/* What the machine does not look at either, as long as nobody knows what it means: that the two agree shows
 * nothing. */
static void each_place_makes_a_difference(void) {
    static const MachInst none;
    for (unsigned k = 0; k < nplaces; k++)
        if (places[k].same >= ENOUGH && !places[k].other && !is_harmless(places[k].what, &none, &none)) {
            printf("%s: changed %u times, and nothing was another\n", places[k].what, places[k].same);
            unseen++;
        }
}

/* A model that has no use for a predicate refuses all but one. */
static void leave_predicates_unnamed(MachInst *in) {
    for (unsigned k = 0; k < in->nsrc; k++)
        if (in->src[k].kind == OPK_REG && is_predicate(in->src[k].file))
            in->src[k] = (Operand){.kind = OPK_NONE};
}

static void words_taken_for_one_compute_the_same(void **state) {
    (void)state;
    uint64_t seed = 7;
    for (const Target *const *t = isa_targets; *t; t++)
        for (unsigned oc = 1; oc < OC_COUNT; oc++)
            for (unsigned round = 0; round < BASES / test_part(); round++) {
                static Variant variants[VARIANTS];
                MachInst words[VARIANTS + 1];
                char error[ISA_ERROR_BYTES];
                uint64_t word[2];
                isa_random(*t, oc, &seed, &words[0]);
                if (round % 2)
                    leave_predicates_unnamed(&words[0]);
                words[0].guard = op_pt();
                words[0].ctrl = CONTROL_DEFAULT;
                if (!words[0].optype || !is_telling(&words[0]) || !isa_encode(*t, &words[0], word, error) ||
                    !isa_decode(*t, word, &words[0], error))
                    continue;
                words[0].opcode = 0;
                unsigned n = words[0].ndst + words[0].nsrc ? variants_of(*t, &words[0], variants, &seed) : 0;
                for (unsigned k = 0; k < n; k++)
                    words[k + 1] = variants[k].inst;
                World world;
                if (!n || !build(&world, *t, words, n + 1))
                    continue;
                Run base, other;
                BinKind kind = bin_kind(&world.flow->insts[0]);
                bool plain = kind == BK_PLAIN || kind == BK_BAR || kind == BK_COLLECTIVE;
                bool tells = false, same[VARIANTS] = {false}; /* not of a word whose result goes nowhere */
                if (plain && run_word(&world, 0, &base))
                    for (unsigned k = 0; k < n; k++) {
                        bool runs = run_word(&world, k + 1, &other);
                        same[k] = runs && same_run(&world, &base, &other);
                        tells |= runs && !same[k] && !variants[k].result;
                        if (!same[k])
                            continue;
                        int agree = lanes_agree(&world, 0, k + 1, &seed);
                        seen_alike += agree == 1;
                        if (agree == 0)
                            say_once(&world, k + 1, variants[k].what,
                                     "are one to the prover, not to the machine");
                        else if (agree < 0 && !by_registers_alone(words[0].optype) &&
                                 !is_harmless(variants[k].what, &words[0], &words[k + 1]))
                            say_once(&world, k + 1, variants[k].what, "is not looked at");
                    }
                for (unsigned k = 0; k < n && tells; k++)
                    count_place(variants[k].what, same[k]);
                drop(&world);
            }
    each_place_makes_a_difference();
    printf("%u pairs of words alike\n", seen_alike);
    assert_int_equal(unseen, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_word_means_what_the_machine_does),
                                       cmocka_unit_test(words_taken_for_one_compute_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
