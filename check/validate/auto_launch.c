/* Launches by trial: see auto_launch.h.
 * SPDX-License-Identifier: MIT */
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

static uint64_t next_random(uint64_t *state) { /* splitmix64 */
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}
static uint64_t choose(uint64_t *state, const uint32_t *of, unsigned n) { return of[next_random(state) % n]; }

/* ---- guesses ---- */

static bool is_pointer(const AutoSlot *s) { return s->size_bytes == 8 && s->uses & AU_ADDRESS; }

static void choose_shape(const Search *s, unsigned n, uint64_t *random, Attempt *a) {
    static const uint32_t shapes[3][4][3] = {{{128, 1, 1}, {64, 1, 1}, {256, 1, 1}, {32, 1, 1}},
                                             {{16, 16, 1}, {32, 8, 1}, {8, 8, 1}, {32, 4, 1}},
                                             {{8, 4, 4}, {8, 8, 2}, {4, 4, 4}, {32, 2, 2}}};
    const PtxFunc *f = s->f;
    unsigned dims = s->flow.axes & 4   ? 3
                    : s->flow.axes & 2 ? 2
                                       : 1,
             pick = n < 3 ? 0 : (unsigned)(next_random(random) % 4);
    memcpy(a->block, shapes[dims - 1][pick], sizeof a->block);
    for (unsigned i = 0; i < 3; i++)
        if (s->flow.block_hint[i] && (n < 3 || next_random(random) % 4))
            a->block[i] = s->flow.block_hint[i];
    uint64_t most = SIM_MAX_BLOCK_THREADS;
    if (f->maxntid[0])
        most = (uint64_t)f->maxntid[0] * (f->maxntid[1] ? f->maxntid[1] : 1) *
               (f->maxntid[2] ? f->maxntid[2] : 1);
    if (f->maxntid[0] && dims == 1 && most <= 512 && n % 2 == 0) /* what it was made for */
        a->block[0] = (uint32_t)most;
    for (unsigned i = 0; i < 3; i++) {
        if (f->reqntid[0])
            a->block[i] = f->reqntid[i] ? f->reqntid[i] : 1;
        a->grid[i] = dims > 1 ? (i < dims ? 2 : 1) : i == 0 ? 4 : 1;
    }
    bool alone = s->flow.axes == 0; /* no thread knows which one it is: it is meant to run once */
    for (unsigned i = 0; i < 3 && (alone || n % 8 == 5); i++) {
        a->grid[i] = 1;
        a->block[i] = alone && !f->reqntid[0] ? 1 : a->block[i];
    }
    while (!f->reqntid[0] && (uint64_t)a->block[0] * a->block[1] * a->block[2] > most)
        for (unsigned i = 3; i-- > 0;)
            if (a->block[i] > 1) {
                a->block[i] = (a->block[i] + 1) / 2;
                break;
            }
}

static uint32_t extent(const Attempt *a, unsigned axis) { return a->grid[axis] * a->block[axis]; }

/* An integer parameter. Sizes leave some threads out; attempt 1 has whole blocks; later ones are random. */
static uint64_t choose_integer(const AutoSlot *s, const Attempt *a, unsigned n, uint64_t *random) {
    unsigned axis = s->uses & AU_CMP_X ? 0 : s->uses & AU_CMP_Y ? 1 : s->uses & AU_CMP_Z ? 2 : 3;
    uint32_t all = axis < 3 ? extent(a, axis) : extent(a, 0);
    uint32_t palette[] = {
        1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33, 64, all, all > 13 ? all - 13 : 1, all / 2 ? all / 2 : 1};
    if (s->size_bytes == 1)
        return next_random(random) & 1;
    if (n == 1)
        return axis < 3 || s->uses & AU_INDEX ? all : 16;
    if (n >= 2 && next_random(random) % 3) {
        uint64_t v = choose(random, palette, sizeof palette / sizeof *palette);
        bool may_be_zero = !(s->uses & AU_DIVISOR) && next_random(random) % 8 == 0;
        return may_be_zero ? 0 : v;
    }
    if (axis < 3)
        return all > 13 ? all - 5 : all > 1 ? all - 1 : 1;
    return s->uses & AU_DIVISOR ? 4 : s->uses & (AU_INDEX | AU_CMP) ? 32 - 2 * (n & 7) : 3;
}

static void make_attempt(const Search *s, unsigned n, Attempt *a) {
    static const uint32_t quarters[] = {2, 4, 1, 6, 3, 8, 5, 16};
    uint64_t random = s->opt->seed * 0x2545f4914f6cdd1du + n;
    *a = (Attempt){.shared_bytes = s->flow.dynamic_shared ? DYNAMIC_SHARED : 0,
                   .index_bound = n % 3 == 2 ? 4 : 64};
    choose_shape(s, n, &random, a);
    for (uint32_t i = 0; i < s->flow.nslots; i++) {
        const AutoSlot *slot = &s->flow.slots[i];
        a->value[i] = choose_integer(slot, a, n, &random);
        a->number[i] = 0.25 * (double)quarters[n < 2 ? n + i % 3 : next_random(&random) % 8];
        if (n > 4 && next_random(&random) % 4 == 0)
            a->number[i] = -a->number[i];
        const AutoSlot *content = slot->content ? &s->flow.slots[slot->content - 1] : NULL;
        a->bytes[i] = content && is_pointer(content) ? POINTER_BYTES : FIRST_BYTES;
    }
    a->seed = next_random(&random);
}

/* ---- a plan of an attempt ---- */

static const char *buffer_name(const Search *s, Arena *arena, uint32_t slot, unsigned number) {
    const AutoSlot *t = &s->flow.slots[slot];
    const char *stars = "";
    while (t->parent) {
        stars = arena_printf(arena, "%s*", stars);
        t = &s->flow.slots[t->parent - 1];
    }
    const PtxVar *v = &s->m->vars[s->f->params[t->param]];
    const char *field = t->offset_bytes ? arena_printf(arena, "@%u", t->offset_bytes) : "";
    const char *launch = number ? arena_printf(arena, "%s.%u.", s->name, number) : "";
    return arena_printf(arena, "%s%s%s%s", launch, stars, str_text(&s->m->strings, v->name), field);
}

/* Element type and contents of the buffer that a slot points to. */
static void describe_buffer(const Search *s, const Attempt *a, uint32_t slot, Plan *p, PlanBuffer *b,
                            unsigned number) {
    const AutoSlot *t = &s->flow.slots[slot], *c = t->content ? &s->flow.slots[t->content - 1] : NULL;
    unsigned size = t->elem_bytes == 1 || t->elem_bytes == 2 || t->elem_bytes == 8 ? t->elem_bytes : 4;
    uint64_t seed = (a->seed >> 32) + slot;
    const char *type = size == 1 ? "u8" : size == 2 ? "u16" : size == 8 ? "u64" : "u32";
    b->init = arena_printf(&p->arena, "random:%llu", (unsigned long long)seed);
    if (c && is_pointer(c)) {
        type = "u64";
        b->init = arena_printf(&p->arena, "pointers:%s:%u", buffer_name(s, &p->arena, t->content - 1, number),
                               POINTEE_STRIDE);
    } else if (c && c->uses & (AU_INDEX | AU_CMP_X | AU_CMP_Y | AU_CMP_Z | AU_CMP | AU_DIVISOR | AU_BRANCH) &&
               !(c->uses & AU_FLOAT)) {
        b->init = arena_printf(&p->arena, "random:%llu:%u:%u", (unsigned long long)seed,
                               c->uses & AU_DIVISOR ? 1 : 0, a->index_bound);
    } else if (c && c->uses & AU_FLOAT) {
        PtxType f = c->float_type;
        type = f == TY_F64 && size == 8         ? "f64"
               : f == TY_BF16 || f == TY_BF16X2 ? "bf16"
               : f == TY_F16 || f == TY_F16X2   ? "f16"
                                                : "f32";
        b->init = arena_printf(&p->arena, "random:%llu:-1:1", (unsigned long long)seed);
    }
    b->type = scalar_find(type, strlen(type));
    b->count = a->bytes[slot] / b->type->size_bytes;
}

static void add_buffers(const Search *s, const Attempt *a, Plan *p, unsigned number,
                        uint32_t buffer[AUTO_MAX_SLOTS]) {
    for (uint32_t i = 0; i < s->flow.nslots; i++) {
        buffer[i] = UINT32_MAX;
        if (!is_pointer(&s->flow.slots[i]))
            continue;
        PlanBuffer b = {.name = buffer_name(s, &p->arena, i, number)};
        describe_buffer(s, a, i, p, &b, number);
        buffer[i] = p->buffers.n;
        VEC_ADD(&p->arena, &p->buffers, b);
    }
}

/* Bytes of a field or of a whole scalar parameter. */
static void field_bytes(const Search *s, const Attempt *a, uint32_t slot, uint8_t out[8]) {
    const AutoSlot *t = &s->flow.slots[slot];
    const char *type = t->float_type == TY_F64 ? "f64"
                       : t->size_bytes == 2    ? (t->float_type == TY_BF16 ? "bf16" : "f16")
                                               : "f32";
    memset(out, 0, 8);
    if (t->uses & AU_FLOAT)
        scalar_store(scalar_find(type, strlen(type)), a->number[slot], out);
    else
        memcpy(out, &a->value[slot], t->size_bytes < 8 ? t->size_bytes : 8);
}

/* The argument of parameter i. A pointer inside of a structure is written as its address, which follows from
 * the sizes of the buffers before. */
static PlanArg make_arg(const Search *s, const Attempt *a, Plan *p, uint32_t i, const uint32_t *buffer,
                        const uint64_t *address) {
    const PtxVar *v = &s->m->vars[s->f->params[i]];
    PlanArg arg = {.size_bytes = (uint32_t)v->size_bytes};
    uint8_t *bytes = ARENA_ARRAY(&p->arena, uint8_t, v->size_bytes + 8);
    for (uint64_t k = 0; v->size_bytes > 8 && k + 4 <= v->size_bytes; k += 4)
        bytes[k] = (uint8_t)(1 + k / 4 % 3); /* fields that nobody is seen to read */
    for (uint32_t k = 0; k < s->flow.nslots; k++) {
        const AutoSlot *t = &s->flow.slots[k];
        if (t->parent || t->param != i || t->offset_bytes + t->size_bytes > v->size_bytes)
            continue;
        if (is_pointer(t) && v->size_bytes == 8)
            return (PlanArg){.is_buffer = true, .buffer = buffer[k], .offset_bytes = a->margin[k]};
        uint8_t value[8];
        field_bytes(s, a, k, value);
        uint64_t pointer = is_pointer(t) ? address[buffer[k]] + a->margin[k] : 0;
        memcpy(bytes + t->offset_bytes, is_pointer(t) ? (uint8_t *)&pointer : value,
               t->size_bytes < 8 ? t->size_bytes : 8);
    }
    arg.bytes = bytes;
    return arg;
}

/* Addresses that plan_memory will give: they depend on the sizes only. */
static bool find_addresses(Plan *p, uint64_t *address) {
    SimMemory *mem = simmem_create();
    for (uint32_t i = 0; mem && i < p->buffers.n; i++)
        address[i] = simmem_alloc(mem, "", p->buffers.at[i].count * p->buffers.at[i].type->size_bytes);
    if (mem)
        simmem_free(mem);
    return mem != NULL;
}

/* Append the attempt's buffers and its launch; `number` tells names of several launches apart. */
static void add_to_plan(const Search *s, const Attempt *a, Plan *p, unsigned number) {
    uint32_t buffer[AUTO_MAX_SLOTS];
    add_buffers(s, a, p, number, buffer);
    uint64_t *address = ARENA_ARRAY(&p->arena, uint64_t, p->buffers.n + 1);
    find_addresses(p, address);
    PlanLaunch l = {.kernel = s->name, .shared_bytes = a->shared_bytes, .repeat = 1};
    memcpy(l.grid, a->grid, sizeof l.grid);
    memcpy(l.block, a->block, sizeof l.block);
    for (uint32_t i = 0; i < s->f->nparams; i++)
        VEC_ADD(&p->arena, &l.args, make_arg(s, a, p, i, buffer, address));
    VEC_ADD(&p->arena, &p->launches, l);
}

static void keep(Search *s, const Attempt *a, AutoLaunches *out) {
    Plan *p = ARENA_NEW(s->arena, Plan);
    add_to_plan(s, a, p, 0);
    s->kept[out->nplans] = *a;
    out->plans[out->nplans++] = p;
}

void auto_launch_merge(const AutoLaunches *a, Plan *into) {
    for (uint32_t i = 0; i < a->nplans; i++)
        add_to_plan(a->search, &a->search->kept[i], into, i + 1);
}

/* ---- trying ---- */

typedef struct {
    char *out;
    size_t size;
} FirstError;
static void keep_first(void *user, Severity severity, const char *line) {
    FirstError *e = user;
    if (severity == SEV_ERROR && !e->out[0]) {
        const char *text = strstr(line, "error E");
        snprintf(e->out, e->size, "%s", text ? text + 6 : line);
        e->out[strcspn(e->out, "\n")] = 0;
    }
}

/* Run it on the interpreter; s->trap and s->cover say how it went. False: it cannot be run, see `reason`. */
static bool try_attempt(Search *s, const Attempt *a, char reason[256]) {
    reason[0] = 0;
    FirstError first = {reason, 256};
    Diags d = {.sink = keep_first, .user = &first};
    Plan p = {0};
    add_to_plan(s, a, &p, 0);
    SimMemory *mem = plan_memory(&p, &d);
    for (uint32_t i = 0; i < s->m->nfuncs; i++)
        memset(s->cover.ptx[i], 0, s->m->funcs[i].ninsns);
    PtxRunOptions o = {.budget = s->opt->budget ? s->opt->budget : ATTEMPT_BUDGET,
                       .reached = s->cover.ptx,
                       .find_races = true};
    PtxRunResult r = {0};
    bool good =
        mem && ptx_place_variables(s->m, mem, &d) && diff_run_ptx(&p, p.launches.at, s->m, mem, &o, &r, &d);
    s->trap = r.trap;
    s->stores = r.stores;
    s->races = r.nharmful;
    s->spent += r.thread_insns + r.skipped_insns;
    ptx_races_free(&r);
    if (mem)
        simmem_free(mem);
    plan_free(&p);
    return good;
}

/* The buffer that an address belongs to, or lies next to. */
static bool nearest_buffer(const Search *s, const Attempt *a, uint64_t at, uint32_t *slot, bool *below) {
    Plan p = {0};
    uint32_t buffer[AUTO_MAX_SLOTS];
    bool found = false;
    add_buffers(s, a, &p, 0, buffer);
    uint64_t *address = ARENA_ARRAY(&p.arena, uint64_t, p.buffers.n + 1);
    find_addresses(&p, address);
    for (uint32_t i = 0; i < s->flow.nslots; i++) {
        uint64_t from = buffer[i] != UINT32_MAX ? address[buffer[i]] : 0, to = from + a->bytes[i];
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

static void shrink(Attempt *a, const Search *s) {
    a->index_bound = a->index_bound > SMALL ? SMALL : a->index_bound > 2 ? a->index_bound / 2 : 1;
    for (uint32_t i = 0; i < s->flow.nslots; i++)
        if (a->value[i] > 4)
            a->value[i] = a->value[i] > 32 ? 32 : a->value[i] / 2;
}

static bool shrink_block(Attempt *a, const Search *s) {
    if (s->f->reqntid[0])
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (a->block[i] > (i == 0 ? 32u : 1u)) {
            a->block[i] /= 2;
            return true;
        }
    return false;
}

/* A barrier that counts more threads than the block has tells how many there are meant to be. */
static bool fit_barrier(Attempt *a, const Search *s, const char *text) {
    const char *count = strstr(text, "thread count ");
    unsigned n = 0;
    if (!count || sscanf(count, "thread count %u", &n) != 1 || n < 32 || n > SIM_MAX_BLOCK_THREADS ||
        s->f->reqntid[0] || (uint64_t)a->block[0] * a->block[1] * a->block[2] >= n)
        return false;
    a->block[0] = n / a->block[1] / a->block[2];
    return a->block[0] > 0;
}

/* Change what made it trap; false: no idea. */
static bool repair(Search *s, Attempt *a) {
    uint32_t slot;
    bool below;
    const SimTrap *t = &s->trap;
    switch (t->kind) {
    case TRAP_OUT_OF_RANGE:
        if (strstr(t->text, "shared memory")) {
            if (s->flow.dynamic_shared && a->shared_bytes < 3 * DYNAMIC_SHARED) {
                a->shared_bytes += DYNAMIC_SHARED;
                return true;
            }
            return shrink_block(a, s);
        }
        if (nearest_buffer(s, a, t->address, &slot, &below)) {
            if (below && a->margin[slot] < 64 * MARGIN_BYTES) {
                a->margin[slot] = a->margin[slot] ? 4 * a->margin[slot] : MARGIN_BYTES;
                return true;
            }
            if (!below && a->bytes[slot] < MOST_BYTES) {
                a->bytes[slot] *= 4;
                return true;
            }
        }
        shrink(a, s);
        return true;
    case TRAP_MISALIGNED:
        for (uint32_t i = 0; i < s->flow.nslots; i++)
            a->value[i] = (a->value[i] + 3) & ~3ull;
        return true;
    case TRAP_BUDGET:
        if (a->grid[0] > 1)
            a->grid[0] /= 2;
        shrink(a, s);
        return true;
    case TRAP_BARRIER: return fit_barrier(a, s, t->text);
    case TRAP_STACK:
    case TRAP_BRANCH_INDEX: shrink(a, s); return true;
    default: return false;
    }
}

/* Does the attempt reach blocks that those before did not? It is added to them. */
static bool adds_coverage(Search *s) {
    Coverage sum = {.ptx = s->sum};
    Covered before = coverage_ptx(&sum, s->m, s->flow.funcs);
    for (uint32_t f = 0; f < s->m->nfuncs; f++)
        for (uint32_t i = 0; i < s->m->funcs[f].ninsns; i++)
            s->sum[f][i] |= s->cover.ptx[f][i];
    return coverage_ptx(&sum, s->m, s->flow.funcs).reached > before.reached;
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

void auto_launch(const PtxModule *m, const char *kernel, const AutoOptions *opt, AutoLaunches *out) {
    *out = (AutoLaunches){0};
    uint32_t index = ptx_find_func(m, kernel);
    if (!index || !m->funcs[index - 1].is_entry) {
        snprintf(out->reason, sizeof out->reason, "no such kernel");
        return;
    }
    Search *s = out->search = ARENA_NEW(&out->arena, Search);
    *s = (Search){.m = m,
                  .kernel = index - 1,
                  .f = &m->funcs[index - 1],
                  .name = kernel,
                  .opt = opt,
                  .arena = &out->arena};
    const char *reason;
    if (!auto_flow(m, index - 1, &out->arena, &s->flow, &reason)) {
        snprintf(out->reason, sizeof out->reason, "no launch inferred: %s", reason);
        return;
    }
    out->funcs = s->flow.funcs;
    Coverage sum;
    coverage_new(&s->cover, &out->arena, m, NULL);
    coverage_new(&sum, &out->arena, m, NULL);
    s->sum = sum.ptx;
    search(s, out);
}

void auto_launch_free(AutoLaunches *a) {
    for (uint32_t i = 0; i < a->nplans; i++)
        plan_free(a->plans[i]);
    arena_free(&a->arena);
}
