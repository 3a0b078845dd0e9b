/* Launches by trial: see auto_launch.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/validate/auto_launch.h"
#include "check/validate/auto_flow.h"
#include "check/validate/diff.h"
#include <stdio.h>
#include <string.h>

enum {
    ATTEMPTS = 24,
    REPAIRS = 6, /* changes of one attempt that leaves its buffers or does not end */
    ATTEMPT_BUDGET = 3000000,
    MOST_SPENT = 40000000, /* thread instructions of all attempts */
    FIRST_BYTES = 1 << 18, /* of a buffer */
    MOST_BYTES = 1 << 24,
    POINTER_BYTES = 1 << 15, /* of a buffer of pointers */
    POINTEE_STRIDE = 1 << 12,
    MARGIN_BYTES = 1 << 12, /* before the address that a kernel gets, when it reads there */
    DYNAMIC_SHARED = 16 << 10,
    SMALL = 8 /* bound of integers that are indices, once larger ones left the buffers */
};

typedef struct { /* one launch */
    uint32_t grid[3], block[3], shared_bytes;
    uint64_t value[AUTO_MAX_SLOTS];  /* integers */
    double number[AUTO_MAX_SLOTS];   /* floating point */
    uint64_t bytes[AUTO_MAX_SLOTS];  /* size of the buffer that a slot points to */
    uint64_t margin[AUTO_MAX_SLOTS]; /* offset of the address in it */
    uint32_t index_bound;            /* contents of index buffers are below */
    uint64_t seed;
    bool edges; /* data are values that tell operations apart, not only such as lead through every block */
} Attempt;

typedef struct AutoSearch {
    const PtxModule *m;
    uint32_t kernel;
    const PtxFunc *f;
    const char *name;
    const AutoOptions *opt;
    AutoFlow flow;
    Arena *arena;
    Coverage cover; /* of the attempt */
    uint8_t **sum;  /* of the launches kept */
    SimTrap trap;
    uint64_t stores, spent;
    uint32_t races; /* harmful ones */
    Attempt kept[AUTO_MAX_LAUNCHES];
} Search;

static uint64_t choose(uint64_t *state, const uint32_t *of, unsigned n) { return of[rng_next(state) % n]; }

/* ---- guesses ---- */

static bool is_pointer(const AutoSlot *slot) { return slot->size_bytes == 8 && slot->uses & AU_ADDRESS; }

static void choose_shape(const Search *search, unsigned n, uint64_t *random, Attempt *attempt) {
    static const uint32_t shapes[3][4][3] = {{{128, 1, 1}, {64, 1, 1}, {256, 1, 1}, {32, 1, 1}},
                                             {{16, 16, 1}, {32, 8, 1}, {8, 8, 1}, {32, 4, 1}},
                                             {{8, 4, 4}, {8, 8, 2}, {4, 4, 4}, {32, 2, 2}}};
    const PtxFunc *f = search->f;
    unsigned dims = search->flow.axes & 4   ? 3
                    : search->flow.axes & 2 ? 2
                                            : 1,
             pick = n < 3 ? 0 : (unsigned)(rng_next(random) % 4);
    memcpy(attempt->block, shapes[dims - 1][pick], sizeof attempt->block);
    for (unsigned i = 0; i < 3; i++)
        if (search->flow.block_hint[i] && (n < 3 || rng_next(random) % 4))
            attempt->block[i] = search->flow.block_hint[i];
    uint64_t most = SIM_MAX_BLOCK_THREADS;
    if (f->maxntid[0])
        most = (uint64_t)f->maxntid[0] * (f->maxntid[1] ? f->maxntid[1] : 1) *
               (f->maxntid[2] ? f->maxntid[2] : 1);
    if (f->maxntid[0] && dims == 1 && most <= 512 && n % 2 == 0) /* what it was made for */
        attempt->block[0] = (uint32_t)most;
    for (unsigned i = 0; i < 3; i++) {
        if (f->reqntid[0])
            attempt->block[i] = f->reqntid[i] ? f->reqntid[i] : 1;
        attempt->grid[i] = dims > 1 ? (i < dims ? 2 : 1) : i == 0 ? 4 : 1;
    }
    bool alone = search->flow.axes == 0; /* no thread knows which one it is: it is meant to run once */
    for (unsigned i = 0; i < 3 && (alone || n % 8 == 5); i++) {
        attempt->grid[i] = 1;
        attempt->block[i] = alone && !f->reqntid[0] ? 1 : attempt->block[i];
    }
    while (!f->reqntid[0] && (uint64_t)attempt->block[0] * attempt->block[1] * attempt->block[2] > most)
        for (unsigned i = 3; i-- > 0;)
            if (attempt->block[i] > 1) {
                attempt->block[i] = (attempt->block[i] + 1) / 2;
                break;
            }
}

static uint32_t extent(const Attempt *attempt, unsigned axis) {
    return attempt->grid[axis] * attempt->block[axis];
}

/* An integer parameter. Sizes leave some threads out; attempt 1 has whole blocks; later ones are random. */
static uint64_t choose_integer(const AutoSlot *slot, const Attempt *a, unsigned n, uint64_t *random) {
    unsigned axis = slot->uses & AU_CMP_X ? 0 : slot->uses & AU_CMP_Y ? 1 : slot->uses & AU_CMP_Z ? 2 : 3;
    uint32_t all = axis < 3 ? extent(a, axis) : extent(a, 0);
    uint32_t palette[] = {
        1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, all, all > 13 ? all - 13 : 1, all / 2 ? all / 2 : 1};
    if (slot->size_bytes == 1)
        return rng_next(random) & 1;
    if (n == 1)
        return axis < 3 || slot->uses & AU_INDEX ? all : 16;
    if (n >= 2 && rng_next(random) % 3) {
        uint64_t v = choose(random, palette, sizeof palette / sizeof *palette);
        bool may_be_zero = !(slot->uses & AU_DIVISOR) && rng_next(random) % 8 == 0;
        return may_be_zero ? 0 : v;
    }
    if (axis < 3)
        return all > 13 ? all - 5 : all > 1 ? all - 1 : 1;
    return slot->uses & AU_DIVISOR ? 4 : slot->uses & (AU_INDEX | AU_CMP) ? 32 - 2 * (n & 7) : 3;
}

static void make_attempt(const Search *search, unsigned n, Attempt *attempt) {
    static const uint32_t quarters[] = {2, 4, 1, 6, 3, 8, 5, 16};
    uint64_t random = search->opt->seed * 0x2545f4914f6cdd1du + n;
    *attempt = (Attempt){.shared_bytes = search->flow.dynamic_shared ? DYNAMIC_SHARED : 0,
                         .index_bound = n % 3 == 2 ? 4 : 64};
    choose_shape(search, n, &random, attempt);
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        const AutoSlot *slot = &search->flow.slots[i];
        attempt->value[i] = choose_integer(slot, attempt, n, &random);
        attempt->number[i] = 0.25 * (double)quarters[n < 2 ? n + i % 3 : rng_next(&random) % 8];
        if (n > 4 && rng_next(&random) % 4 == 0)
            attempt->number[i] = -attempt->number[i];
        const AutoSlot *content = slot->content ? &search->flow.slots[slot->content - 1] : NULL;
        attempt->bytes[i] = content && is_pointer(content) ? POINTER_BYTES : FIRST_BYTES;
    }
    attempt->seed = rng_next(&random);
}

/* ---- a plan of an attempt ---- */

static const char *buffer_name(const Search *search, Arena *arena, uint32_t slot, unsigned number) {
    const AutoSlot *auto_slot = &search->flow.slots[slot];
    const char *stars = "";
    while (auto_slot->parent) {
        stars = arena_printf(arena, "%s*", stars);
        auto_slot = &search->flow.slots[auto_slot->parent - 1];
    }
    const PtxVar *var = &search->m->vars[search->f->params[auto_slot->param]];
    const char *field = auto_slot->offset_bytes ? arena_printf(arena, "@%u", auto_slot->offset_bytes) : "";
    const char *launch = number ? arena_printf(arena, "%s.%u.", search->name, number) : "";
    return arena_printf(arena, "%s%s%s%s", launch, stars, str_text(&search->m->strings, var->name), field);
}

/* Element type and contents of the buffer that a slot points to. */
static void describe_buffer(const Search *search, const Attempt *attempt, uint32_t slot, Plan *plan,
                            PlanBuffer *buffer, unsigned number) {
    const AutoSlot *t = &search->flow.slots[slot],
                   *auto_slot = t->content ? &search->flow.slots[t->content - 1] : NULL;
    unsigned size = t->elem_bytes == 1 || t->elem_bytes == 2 || t->elem_bytes == 8 ? t->elem_bytes : 4;
    uint64_t seed = (attempt->seed >> 32) + slot;
    const char *type = size == 1 ? "u8" : size == 2 ? "u16" : size == 8 ? "u64" : "u32";
    buffer->init = arena_printf(&plan->arena, "random:%llu", (unsigned long long)seed);
    if (auto_slot && is_pointer(auto_slot)) {
        type = "u64";
        buffer->init =
            arena_printf(&plan->arena, "pointers:%s:%u",
                         buffer_name(search, &plan->arena, t->content - 1, number), POINTEE_STRIDE);
    } else if (auto_slot &&
               auto_slot->uses &
                   (AU_INDEX | AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_CMP | AU_DIVISOR | AU_BRANCH) &&
               !(auto_slot->uses & AU_FLOAT)) {
        buffer->init = arena_printf(&plan->arena, "random:%llu:%u:%u", (unsigned long long)seed,
                                    auto_slot->uses & AU_DIVISOR ? 1 : 0, attempt->index_bound);
    } else if (auto_slot && auto_slot->uses & AU_FLOAT) {
        PtxType f = auto_slot->float_type;
        type = f == TY_F64 && size == 8         ? "f64"
               : f == TY_BF16 || f == TY_BF16X2 ? "bf16"
               : f == TY_F16 || f == TY_F16X2   ? "f16"
                                                : "f32";
        buffer->init = arena_printf(&plan->arena, "random:%llu:-1:1", (unsigned long long)seed);
    }
    bool free_value = !auto_slot || !(is_pointer(auto_slot) || auto_slot->uses & (AU_INDEX | AU_DIVISOR));
    if (attempt->edges && free_value)
        buffer->init = arena_printf(&plan->arena, "edges:%llu", (unsigned long long)seed);
    buffer->type = scalar_find(type, strlen(type));
    buffer->count = attempt->bytes[slot] / buffer->type->size_bytes;
}

static void add_buffers(const Search *search, const Attempt *a, Plan *plan, unsigned number,
                        uint32_t buffer[AUTO_MAX_SLOTS]) {
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        buffer[i] = UINT32_MAX;
        if (!is_pointer(&search->flow.slots[i]))
            continue;
        PlanBuffer b = {.name = buffer_name(search, &plan->arena, i, number)};
        describe_buffer(search, a, i, plan, &b, number);
        buffer[i] = plan->buffers.n;
        VEC_ADD(&plan->arena, &plan->buffers, b);
    }
}

/* Bytes of a field or of a whole scalar parameter. */
static void field_bytes(const Search *search, const Attempt *attempt, uint32_t slot, uint8_t out[8]) {
    const AutoSlot *auto_slot = &search->flow.slots[slot];
    const char *type = auto_slot->float_type == TY_F64 ? "f64"
                       : auto_slot->size_bytes == 2    ? (auto_slot->float_type == TY_BF16 ? "bf16" : "f16")
                                                       : "f32";
    memset(out, 0, 8);
    if (auto_slot->uses & AU_FLOAT)
        scalar_store(scalar_find(type, strlen(type)), attempt->number[slot], out);
    else
        memcpy(out, &attempt->value[slot], auto_slot->size_bytes < 8 ? auto_slot->size_bytes : 8);
}

/* The argument of parameter i. A pointer inside of a structure is written as its address, which follows from
 * the sizes of the buffers before. */
static PlanArg make_arg(const Search *search, const Attempt *attempt, Plan *plan, uint32_t i,
                        const uint32_t *buffer, const uint64_t *address) {
    const PtxVar *var = &search->m->vars[search->f->params[i]];
    PlanArg arg = {.size_bytes = (uint32_t)var->size_bytes};
    uint8_t *bytes = ARENA_ARRAY(&plan->arena, uint8_t, var->size_bytes + 8);
    for (uint64_t k = 0; var->size_bytes > 8 && k + 4 <= var->size_bytes; k += 4)
        bytes[k] = (uint8_t)(1 + k / 4 % 3); /* fields that nobody is seen to read */
    for (uint32_t k = 0; k < search->flow.nslots; k++) {
        const AutoSlot *slot = &search->flow.slots[k];
        /* (an index that was not followed may give an offset before the parameter, which wraps) */
        if (slot->parent || slot->param != i || slot->offset_bytes > var->size_bytes ||
            slot->size_bytes > var->size_bytes - slot->offset_bytes)
            continue;
        if (is_pointer(slot) && var->size_bytes == 8)
            return (PlanArg){.is_buffer = true, .buffer = buffer[k], .offset_bytes = attempt->margin[k]};
        uint8_t value[8];
        field_bytes(search, attempt, k, value);
        uint64_t pointer = is_pointer(slot) ? address[buffer[k]] + attempt->margin[k] : 0;
        memcpy(bytes + slot->offset_bytes, is_pointer(slot) ? (uint8_t *)&pointer : value,
               slot->size_bytes < 8 ? slot->size_bytes : 8);
    }
    arg.bytes = bytes;
    return arg;
}

/* Addresses that plan_memory will give: they depend on the sizes only. */
static bool find_addresses(Plan *plan, uint64_t *address) {
    SimMemory *mem = simmem_create();
    for (uint32_t i = 0; mem && i < plan->buffers.n; i++)
        address[i] = simmem_alloc(mem, "", plan->buffers.at[i].count * plan->buffers.at[i].type->size_bytes);
    if (mem)
        simmem_free(mem);
    return mem != NULL;
}

/* Append the attempt's buffers and its launch; `number` tells names of several launches apart. */
static void add_to_plan(const Search *search, const Attempt *attempt, Plan *plan, unsigned number) {
    uint32_t buffer[AUTO_MAX_SLOTS];
    add_buffers(search, attempt, plan, number, buffer);
    uint64_t *address = ARENA_ARRAY(&plan->arena, uint64_t, plan->buffers.n + 1);
    find_addresses(plan, address);
    PlanLaunch l = {.kernel = search->name, .shared_bytes = attempt->shared_bytes, .repeat = 1};
    memcpy(l.grid, attempt->grid, sizeof l.grid);
    memcpy(l.block, attempt->block, sizeof l.block);
    for (uint32_t i = 0; i < search->f->nparams; i++)
        VEC_ADD(&plan->arena, &l.args, make_arg(search, attempt, plan, i, buffer, address));
    VEC_ADD(&plan->arena, &plan->launches, l);
}

static void keep(Search *search, const Attempt *a, AutoLaunches *out) {
    Plan *p = ARENA_NEW(search->arena, Plan);
    add_to_plan(search, a, p, 0);
    search->kept[out->nplans] = *a;
    out->plans[out->nplans++] = p;
}

void auto_launch_merge(const AutoLaunches *launches, Plan *into) {
    for (uint32_t i = 0; i < launches->nplans; i++)
        add_to_plan(launches->search, &launches->search->kept[i], into, i + 1);
}

/* ---- trying ---- */

typedef struct {
    char *out;
    size_t size;
} FirstError;
static void keep_first(void *user, Severity severity, const char *line) {
    FirstError *error = user;
    if (severity == SEV_ERROR && !error->out[0]) {
        const char *text = strstr(line, "error E");
        snprintf(error->out, error->size, "%s", text ? text + 6 : line);
        error->out[strcspn(error->out, "\n")] = 0;
    }
}

/* Run it on the interpreter; s->trap and s->cover say how it went. False: it cannot be run, see `reason`. */
static bool try_attempt(Search *search, const Attempt *a, char reason[256]) {
    reason[0] = 0;
    FirstError first = {reason, 256};
    Diags d = {.sink = keep_first, .user = &first};
    Plan p = {0};
    add_to_plan(search, a, &p, 0);
    SimMemory *mem = plan_memory(&p, &d);
    for (uint32_t i = 0; i < search->m->nfuncs; i++)
        memset(search->cover.ptx[i], 0, search->m->funcs[i].ninsns);
    PtxRunOptions o = {.budget = search->opt->budget ? search->opt->budget : ATTEMPT_BUDGET,
                       .reached = search->cover.ptx,
                       .find_races = true};
    PtxRunResult r = {0};
    bool good = mem && interp_place_variables(search->m, mem, &d) &&
                diff_run_ptx(&p, p.launches.at, search->m, mem, &o, &r, &d);
    search->trap = r.trap;
    search->stores = r.stores;
    search->races = r.nharmful;
    search->spent += r.thread_insns + r.skipped_insns;
    interp_races_free(&r);
    if (mem)
        simmem_free(mem);
    plan_free(&p);
    return good;
}

/* The buffer that an address belongs to, or lies next to. */
static bool nearest_buffer(const Search *search, const Attempt *attempt, uint64_t at, uint32_t *slot,
                           bool *below) {
    Plan p = {0};
    uint32_t buffer[AUTO_MAX_SLOTS];
    bool found = false;
    add_buffers(search, attempt, &p, 0, buffer);
    uint64_t *address = ARENA_ARRAY(&p.arena, uint64_t, p.buffers.n + 1);
    find_addresses(&p, address);
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        uint64_t from = buffer[i] != UINT32_MAX ? address[buffer[i]] : 0, to = from + attempt->bytes[i];
        if (from && at >= to && at - to < MOST_BYTES) {
            *slot = i;
            *below = false;
            found = true;
        }
        if (from && at < from && from - at <= SIM_GUARD_BYTES / 2) { /* in the gap before it */
            *slot = i;
            *below = true;
            found = true;
            break;
        }
    }
    plan_free(&p);
    return found;
}

static void shrink(Attempt *attempt, const Search *search) {
    attempt->index_bound = attempt->index_bound > SMALL ? SMALL
                           : attempt->index_bound > 2   ? attempt->index_bound / 2
                                                        : 1;
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        if (attempt->value[i] > 4)
            attempt->value[i] = attempt->value[i] > 32 ? 32 : attempt->value[i] / 2;
}

static bool shrink_block(Attempt *attempt, const Search *search) {
    if (search->f->reqntid[0])
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (attempt->block[i] > (i == 0 ? 32u : 1u)) {
            attempt->block[i] /= 2;
            return true;
        }
    return false;
}

/* A barrier that counts more threads than the block has tells how many there are meant to be. */
static bool fit_barrier(Attempt *attempt, const Search *search, const char *text) {
    const char *count = strstr(text, "thread count ");
    unsigned n = 0;
    if (!count || sscanf(count, "thread count %u", &n) != 1 || n < 32 || n > SIM_MAX_BLOCK_THREADS ||
        search->f->reqntid[0] || (uint64_t)attempt->block[0] * attempt->block[1] * attempt->block[2] >= n)
        return false;
    attempt->block[0] = n / attempt->block[1] / attempt->block[2];
    return attempt->block[0] > 0;
}

/* Change what made it trap; false: no idea. */
static bool repair(Search *search, Attempt *attempt) {
    uint32_t slot;
    bool below;
    const SimTrap *sim_trap = &search->trap;
    switch (sim_trap->kind) {
    case TRAP_OUT_OF_RANGE:
        if (strstr(sim_trap->text, "shared memory")) {
            if (search->flow.dynamic_shared && attempt->shared_bytes < 3 * DYNAMIC_SHARED) {
                attempt->shared_bytes += DYNAMIC_SHARED;
                return true;
            }
            return shrink_block(attempt, search);
        }
        if (nearest_buffer(search, attempt, sim_trap->address, &slot, &below)) {
            if (below && attempt->margin[slot] < 64 * MARGIN_BYTES) {
                attempt->margin[slot] = attempt->margin[slot] ? 4 * attempt->margin[slot] : MARGIN_BYTES;
                return true;
            }
            if (!below && attempt->bytes[slot] < MOST_BYTES) {
                attempt->bytes[slot] *= 4;
                return true;
            }
        }
        shrink(attempt, search);
        return true;
    case TRAP_MISALIGNED:
        for (uint32_t i = 0; i < search->flow.nslots; i++)
            attempt->value[i] = (attempt->value[i] + 3) & ~3ull;
        return true;
    case TRAP_BUDGET:
        if (attempt->grid[0] > 1)
            attempt->grid[0] /= 2;
        shrink(attempt, search);
        return true;
    case TRAP_BARRIER: return fit_barrier(attempt, search, sim_trap->text);
    case TRAP_STACK:
    case TRAP_BRANCH_INDEX: shrink(attempt, search); return true;
    default: return false;
    }
}

/* The launches kept so far again on other data, where these lead to no trap. A value that the kernel compares
 * may be the bound of a loop, so the interpreter is asked first. */
static void add_data_sets(Search *search, AutoLaunches *out) {
    enum { SETS = 3 };
    char reason[256];
    unsigned n = out->nplans;
    for (unsigned set = 0; set < SETS && n; set++) {
        Attempt attempt = search->kept[set % n];
        attempt.edges = true;
        attempt.seed += 0x9e3779b97f4a7c15u * (set + 1);
        if (out->nplans < AUTO_MAX_LAUNCHES && search->spent < MOST_SPENT &&
            try_attempt(search, &attempt, reason) && search->trap.kind == TRAP_NONE && !search->races)
            keep(search, &attempt, out);
    }
}

/* Does the attempt reach blocks that those before did not? It is added to them. */
static bool adds_coverage(Search *search) {
    Coverage sum = {.ptx = search->sum};
    Covered before = coverage_ptx(&sum, search->m, search->flow.funcs);
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; i < search->m->funcs[f].ninsns; i++)
            search->sum[f][i] |= search->cover.ptx[f][i];
    return coverage_ptx(&sum, search->m, search->flow.funcs).reached > before.reached;
}

static void search(Search *s, AutoLaunches *out) {
    unsigned attempts = s->opt->attempts ? s->opt->attempts : ATTEMPTS;
    Attempt *trapping = NULL, *racing = NULL;
    uint32_t best_racing = 0;
    bool stored = false;
    for (unsigned n = 0; n < attempts && out->nplans < AUTO_MAX_LAUNCHES && s->spent < MOST_SPENT; n++) {
        Attempt a;
        make_attempt(s, n, &a);
        bool good = try_attempt(s, &a, out->reason);
        for (unsigned k = 0; good && s->trap.kind != TRAP_NONE && k < REPAIRS && repair(s, &a); k++)
            good = try_attempt(s, &a, out->reason);
        if (!good && n == 0 && !strstr(out->reason, "E0513"))
            return; /* it will not get better */
        if (!good)
            continue;
        if (s->trap.kind != TRAP_NONE) {
            if (s->trap.kind != TRAP_BUDGET && !trapping)
                trapping = arena_copy(s->arena, &a, sizeof a);
            continue;
        }
        out->tried++;
        if (s->races) {
            out->racing++;
            Covered c = coverage_ptx(&s->cover, s->m, s->flow.funcs);
            if (!racing || c.reached > best_racing) {
                racing = arena_copy(s->arena, &a, sizeof a);
                best_racing = c.reached;
            }
            continue;
        }
        if (adds_coverage(s) || (s->stores && !stored))
            keep(s, &a, out);
        stored |= s->stores != 0;
        Coverage sum = {.ptx = s->sum};
        out->blocks = coverage_ptx(&sum, s->m, s->flow.funcs);
        if (out->blocks.reached == out->blocks.total && stored)
            break;
    }
    bool enough = out->nplans && out->blocks.reached >= AUTO_ENOUGH * out->blocks.total;
    if (racing && !enough && best_racing > out->blocks.reached && out->nplans < AUTO_MAX_LAUNCHES)
        keep(s, racing, out);
    if (out->nplans)
        add_data_sets(s, out);
    if (!out->nplans && trapping) {
        keep(s, trapping, out);
        out->traps = true;
    }
    if (!out->nplans && !out->reason[0])
        snprintf(out->reason, sizeof out->reason,
                 "no launch was found that ends within %llu thread instructions",
                 (unsigned long long)(s->opt->budget ? s->opt->budget : ATTEMPT_BUDGET));
    else if (out->nplans)
        out->reason[0] = 0;
}

void auto_launch(const PtxModule *module, const char *kernel, const AutoOptions *opt, AutoLaunches *out) {
    *out = (AutoLaunches){0};
    uint32_t index = ptx_find_func(module, kernel);
    if (!index || !module->funcs[index - 1].is_entry) {
        snprintf(out->reason, sizeof out->reason, "no such kernel");
        return;
    }
    Search *s = out->search = ARENA_NEW(&out->arena, Search);
    *s = (Search){.m = module,
                  .kernel = index - 1,
                  .f = &module->funcs[index - 1],
                  .name = kernel,
                  .opt = opt,
                  .arena = &out->arena};
    const char *reason;
    if (!auto_flow(module, index - 1, &out->arena, &s->flow, &reason)) {
        snprintf(out->reason, sizeof out->reason, "no launch inferred: %s", reason);
        return;
    }
    out->funcs = s->flow.funcs;
    Coverage sum;
    coverage_new(&s->cover, &out->arena, module, NULL);
    coverage_new(&sum, &out->arena, module, NULL);
    s->sum = sum.ptx;
    search(s, out);
}

void auto_launch_free(AutoLaunches *launches) {
    for (uint32_t i = 0; i < launches->nplans; i++)
        plan_free(launches->plans[i]);
    arena_free(&launches->arena);
}
