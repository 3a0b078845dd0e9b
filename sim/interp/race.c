/* Data races: two accesses to one byte of global or shared memory by different threads, one of them a write,
 * not both strong (volatile, relaxed, acquire, release, atomic), and neither happens before the other (PTX
 * ISA 8).
 *
 * Happens-before comes from program order, barriers of blocks (arrive and sync, named ones too),
 * bar.warp.sync, and strong operations on one location with fences or release and acquire around them, as in
 * the C11 model. Scopes are not told apart, and other warp collectives order no memory, as PTX says.
 *
 * Vector clocks: an entry for each thread, an array for each block that is known, arrays shared until they
 * change. A thread has its epoch, which grows when it releases, and a base: what it knows of all others.
 * After a barrier all threads of the block have the same base. Memory has a cell for each word, or for each
 * byte where narrower accesses came, with the last plain write, strong write, strong read, and three plain
 * reads: of any thread, of another warp, of another block. So a race with a fourth reader may be missed; none
 * is invented.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    uint32_t refs;
    uint32_t epoch[]; /* of each thread of the block: all up to it is known */
} BlockClock;
typedef struct {
    uint32_t block;
    BlockClock *known;
} ClockEntry;
struct Clock {
    uint32_t refs, n, cap;
    ClockEntry at[]; /* ascending blocks */
};

#define SILENT 0x80000000u /* in Access.epoch: the store did not change the bytes */
typedef struct {
    uint32_t thread; /* block * threads of a block + thread + 1; 0 none */
    uint32_t epoch, code;
} Access;
enum { READS = 3 };
typedef struct {
    Access write, strong_write, strong_read, read[READS];
} Cell;

enum { PAGE_BYTES = 64, WORD_BYTES = 4, MAX_RACES = 64, PLACES_FIRST = 64 };
typedef struct {
    bool bytes; /* cells are bytes, else words */
    Cell cell[];
} Page;
typedef struct { /* shadow of an allocation or of a block's shared memory */
    Page **pages;
    uint64_t npages;
} Region;

struct RaceThread {
    Clock *base, *fence,
        *pending; /* fence: released by later strong writes; pending: acquired by the next fence */
    uint32_t epoch, fence_epoch; /* fence_epoch 0: no fence so far */
};
typedef struct { /* a location of strong operations */
    const uint8_t *bytes;
    Clock *clock;
} Place;

struct PtxRaces {
    uint32_t nthreads;       /* of a block */
    RaceThread *threads;     /* of the resident blocks */
    Region *global, *shared; /* by allocation, by resident block */
    uint32_t nglobal;
    Place *places; /* hash table */
    uint32_t nplaces, cap_places;
    PtxRace *races;
    uint64_t (*pairs)[2]; /* code numbers of the two sides */
    uint32_t nraces;
};

static void *must(void *p) {
    if (!p)
        abort(); /* as arenas do */
    return p;
}

/* ---- clocks ---- */

static void block_clock_drop(BlockClock *b) {
    if (b && --b->refs == 0)
        free(b);
}
static Clock *clock_ref(Clock *c) {
    if (c)
        c->refs++;
    return c;
}
static void clock_drop(Clock *c) {
    if (!c || --c->refs)
        return;
    for (uint32_t i = 0; i < c->n; i++)
        block_clock_drop(c->at[i].known);
    free(c);
}

/* Position of the block's entry, or where it would be. */
static uint32_t clock_find(const Clock *c, uint32_t block) {
    uint32_t lo = 0, hi = c ? c->n : 0;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (c->at[mid].block < block)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
static bool clock_has(const Clock *c, uint32_t i, uint32_t block) {
    return c && i < c->n && c->at[i].block == block;
}

/* *c becomes the only reference, with room for one more entry. */
static void clock_own(Clock **c) {
    Clock *old = *c;
    uint32_t n = old ? old->n : 0;
    if (old && old->refs == 1 && n < old->cap)
        return;
    uint32_t cap = n + n / 2 + 2;
    Clock *now = must(malloc(sizeof *now + cap * sizeof now->at[0]));
    now->refs = 1;
    now->n = n;
    now->cap = cap;
    for (uint32_t i = 0; i < n; i++) {
        now->at[i] = old->at[i];
        now->at[i].known->refs++;
    }
    clock_drop(old);
    *c = now;
}

static void clock_insert(Clock **c, uint32_t i, uint32_t block, BlockClock *known) {
    clock_own(c);
    memmove(&(*c)->at[i + 1], &(*c)->at[i], ((*c)->n - i) * sizeof(*c)->at[0]);
    (*c)->at[i] = (ClockEntry){block, known};
    (*c)->n++;
}

/* The entry's array, for changing. */
static BlockClock *clock_change(Clock **c, uint32_t i, uint32_t nthreads) {
    clock_own(c);
    BlockClock *old = (*c)->at[i].known;
    if (old->refs == 1)
        return old;
    size_t size = sizeof *old + nthreads * sizeof old->epoch[0];
    BlockClock *now = must(malloc(size));
    memcpy(now, old, size);
    now->refs = 1;
    old->refs--;
    return (*c)->at[i].known = now;
}

static void clock_raise(Clock **c, uint32_t nthreads, uint32_t block, uint32_t thread, uint32_t epoch) {
    uint32_t i = clock_find(*c, block);
    if (!clock_has(*c, i, block)) {
        BlockClock *b = must(calloc(1, sizeof *b + nthreads * sizeof b->epoch[0]));
        b->refs = 1;
        clock_insert(c, i, block, b);
    }
    if ((*c)->at[i].known->epoch[thread] < epoch)
        clock_change(c, i, nthreads)->epoch[thread] = epoch;
}

static void clock_join(Clock **c, Clock *other, uint32_t nthreads) {
    if (!other || *c == other)
        return;
    if (!*c) {
        *c = clock_ref(other);
        return;
    }
    for (uint32_t k = 0; k < other->n; k++) {
        ClockEntry e = other->at[k];
        uint32_t i = clock_find(*c, e.block);
        if (!clock_has(*c, i, e.block)) {
            e.known->refs++;
            clock_insert(c, i, e.block, e.known);
        }
        for (uint32_t t = 0; (*c)->at[i].known != e.known && t < nthreads; t++)
            if ((*c)->at[i].known->epoch[t] < e.known->epoch[t])
                clock_change(c, i, nthreads)->epoch[t] = e.known->epoch[t];
    }
}

/* ---- threads ---- */

static uint32_t block_number(const PtxRun *r, const PtxBlock *b) {
    const uint32_t *g = r->launch->grid;
    return b->ctaid[0] + g[0] * (b->ctaid[1] + g[1] * b->ctaid[2]);
}
static RaceThread *thread_of(const PtxRun *r, const PtxThread *t) {
    return &r->races->threads[(size_t)(t->warp->block - r->blocks) * r->races->nthreads + t->linear];
}

/* Has thread t, in its block, seen access a? */
static bool is_ordered(const PtxRun *r, const PtxThread *t, const RaceThread *rt, Access a) {
    uint32_t n = r->races->nthreads, block = (a.thread - 1) / n, thread = (a.thread - 1) % n;
    if (block == block_number(r, t->warp->block) && thread == t->linear)
        return true;
    uint32_t i = clock_find(rt->base, block);
    return clock_has(rt->base, i, block) && rt->base->at[i].known->epoch[thread] >= (a.epoch & ~SILENT);
}

static void thread_clear(RaceThread *t) {
    clock_drop(t->base);
    clock_drop(t->fence);
    clock_drop(t->pending);
    *t = (RaceThread){.epoch = 1};
}

void race_arrive(PtxRun *r, RaceGather *g, PtxThread *t) {
    if (!r->races)
        return;
    RaceThread *rt = thread_of(r, t);
    if (rt->base != g->last)
        clock_join(&g->clock, rt->base, r->races->nthreads);
    g->last = rt->base;
    clock_raise(&g->clock, r->races->nthreads, block_number(r, t->warp->block), t->linear, rt->epoch++);
}

void race_depart(PtxRun *r, const RaceGather *g, PtxThread *t) {
    if (!r->races)
        return;
    RaceThread *rt = thread_of(r, t); /* it arrived: the gathered clock has all of its own */
    clock_drop(rt->base);
    rt->base = clock_ref(g->clock);
}

void race_gather_free(RaceGather *g) {
    clock_drop(g->clock);
    *g = (RaceGather){0};
}

/* ---- strong operations ---- */

static Place *place_slot(const struct PtxRaces *x, const uint8_t *bytes) {
    uint64_t h = (uint64_t)(uintptr_t)bytes * 0x9e3779b97f4a7c15u >> 32;
    for (;; h++) {
        Place *p = &x->places[h & (x->cap_places - 1)];
        if (!p->bytes || p->bytes == bytes)
            return p;
    }
}

static Place *find_place(struct PtxRaces *x, const uint8_t *bytes) {
    if (x->nplaces * 2 >= x->cap_places) {
        Place *old = x->places;
        uint32_t cap = x->cap_places;
        x->cap_places = cap ? cap * 2 : PLACES_FIRST;
        x->places = must(calloc(x->cap_places, sizeof *x->places));
        for (uint32_t i = 0; i < cap; i++)
            if (old[i].bytes)
                *place_slot(x, old[i].bytes) = old[i];
        free(old);
    }
    Place *p = place_slot(x, bytes);
    x->nplaces += p->bytes == NULL;
    p->bytes = bytes;
    return p;
}

static bool acquires(const PtxInsn *in) {
    return in->sem == SEM_ACQUIRE || in->sem == SEM_ACQ_REL || in->sem == SEM_SC;
}
static bool releases(const PtxInsn *in) {
    return in->sem == SEM_RELEASE || in->sem == SEM_ACQ_REL || in->sem == SEM_SC;
}
static bool is_strong(const PtxInsn *in) {
    return in->op == PTX_ATOM || in->op == PTX_RED || in->sem == SEM_VOLATILE || in->sem == SEM_RELAXED ||
           in->sem == SEM_MMIO || acquires(in) || releases(in);
}

/* What a strong operation on the place does to what threads know of each other. */
static void synchronise(PtxRun *r, PtxThread *t, const PtxInsn *in, const uint8_t *bytes, bool reads,
                        bool writes) {
    struct PtxRaces *x = r->races;
    RaceThread *rt = thread_of(r, t);
    bool gives = writes && (releases(in) || rt->fence_epoch);
    Place *p = find_place(x, bytes);
    if (reads && p->clock)
        clock_join(acquires(in) ? &rt->base : &rt->pending, p->clock, x->nthreads);
    if (writes && !reads) { /* a store ends the release sequence, an atomic goes on with it */
        clock_drop(p->clock);
        p->clock = NULL;
    }
    if (!gives)
        return;
    bool now = releases(in);
    clock_join(&p->clock, now ? rt->base : rt->fence, x->nthreads);
    clock_raise(&p->clock, x->nthreads, block_number(r, t->warp->block), t->linear,
                now ? rt->epoch : rt->fence_epoch);
    rt->epoch += now;
}

void race_fence(PtxRun *r, PtxThread *t) {
    if (!r->races)
        return;
    RaceThread *rt = thread_of(r, t);
    clock_join(&rt->base, rt->pending, r->races->nthreads);
    clock_drop(rt->pending);
    rt->pending = NULL;
    clock_drop(rt->fence);
    rt->fence = clock_ref(rt->base);
    rt->fence_epoch = rt->epoch++;
}

/* ---- reports ---- */

static uint32_t code_number(const PtxCode *c) { return c->proc->first_code + (uint32_t)(c - c->proc->code); }
static const PtxCode *code_at(const PtxRun *r, uint32_t number) {
    for (uint32_t i = r->norder; i-- > 0;)
        if (number >= r->order[i]->first_code)
            return &r->order[i]->code[number - r->order[i]->first_code];
    return NULL;
}

static void fill_side(const PtxRun *r, Access a, PtxRaceSide *s) {
    const PtxCode *c = code_at(r, a.code);
    const uint32_t *g = r->launch->grid, *b = r->launch->block;
    uint32_t block = (a.thread - 1) / r->races->nthreads, thread = (a.thread - 1) % r->races->nthreads;
    *s = (PtxRaceSide){.block = {block % g[0], block / g[0] % g[1], block / g[0] / g[1]},
                       .thread = {thread % b[0], thread / b[0] % b[1], thread / b[0] / b[1]}};
    if (c && c->insn) {
        s->line = ptx_line(r->m, c->insn);
        snprintf(s->text, sizeof s->text, "%s%s", ptx_op_name((PtxOp)c->insn->op),
                 str_text(&r->m->strings, c->insn->mods_text));
    }
}

static void fill_where(const PtxRun *r, PtxRace *race) {
    uint64_t offset = r->place.offset;
    const char *name = "dynamic shared memory";
    race->shared = !r->place.alloc;
    if (r->place.alloc) {
        name = r->place.alloc->name;
    } else {
        uint64_t base = r->dynamic_shared_base;
        for (uint32_t i = 0; i < r->m->nvars; i++) {
            uint64_t at = r->shared_offset[i];
            if (at <= offset && offset - at < r->m->vars[i].size_bytes) {
                name = str_text(&r->m->strings, r->m->vars[i].name);
                base = at;
            }
        }
        offset -= base <= offset ? base : 0;
    }
    snprintf(race->name, sizeof race->name, "%s", name);
    race->offset_bytes = offset;
}

static void report(PtxRun *r, Access before, Access now, bool harmless) {
    struct PtxRaces *x = r->races;
    PtxRace *race = NULL;
    for (uint32_t i = 0; i < x->nraces && !race; i++)
        if (x->pairs[i][0] == before.code && x->pairs[i][1] == now.code)
            race = &x->races[i];
    if (!race && x->nraces == MAX_RACES)
        return;
    bool fresh = !race;
    if (fresh) {
        if (!x->races) {
            x->races = must(calloc(MAX_RACES, sizeof *x->races));
            x->pairs = must(calloc(MAX_RACES, sizeof *x->pairs));
        }
        x->pairs[x->nraces][0] = before.code;
        x->pairs[x->nraces][1] = now.code;
        race = &x->races[x->nraces++];
    }
    race->count++;
    if (!fresh && (harmless || !race->same_value))
        return; /* the first one is shown, and rather one that matters */
    fill_side(r, before, &race->first);
    fill_side(r, now, &race->second);
    fill_where(r, race);
    race->same_value = harmless;
}

/* ---- cells ---- */

static Region *region_of(PtxRun *r, const PtxThread *t) {
    struct PtxRaces *x = r->races;
    if (!r->place.alloc)
        return &x->shared[t->warp->block - r->blocks];
    uint32_t i = (uint32_t)(r->place.alloc - r->mem->allocs);
    Region *g = &x->global[i];
    if (!g->pages) {
        g->npages = (r->place.alloc->size_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        g->pages = must(calloc(g->npages, sizeof *g->pages));
    }
    return g;
}

static Page *new_page(bool bytes) {
    Page *p = must(calloc(1, sizeof *p + (bytes ? PAGE_BYTES : PAGE_BYTES / WORD_BYTES) * sizeof(Cell)));
    p->bytes = bytes;
    return p;
}

/* The page, with cells of bytes if the access is no whole words. */
static Page *page_at(Region *g, uint64_t number, bool bytes) {
    Page **p = &g->pages[number];
    if (!*p)
        *p = new_page(bytes);
    if (bytes && !(*p)->bytes) {
        Page *fine = new_page(true);
        for (unsigned i = 0; i < PAGE_BYTES; i++)
            fine->cell[i] = (*p)->cell[i / WORD_BYTES];
        free(*p);
        *p = fine;
    }
    return *p;
}

typedef struct {
    PtxRun *r;
    const PtxThread *t;
    const RaceThread *rt;
    Access now;
    bool write, strong, silent;
} Check;

static void conflict(const Check *k, Access a) {
    if (a.thread && !is_ordered(k->r, k->t, k->rt, a))
        report(k->r, a, k->now, k->write ? k->silent : (a.epoch & SILENT) != 0);
}

/* Which slot a plain read takes: one that the new read comes after, else by distance. */
static void note_read(const Check *k, Cell *cell) {
    uint32_t n = k->r->races->nthreads, me = k->now.thread - 1;
    for (int i = 0; i < READS; i++) {
        Access *a = &cell->read[i];
        if (!a->thread || is_ordered(k->r, k->t, k->rt, *a)) {
            *a = k->now;
            return;
        }
    }
    uint32_t first = cell->read[0].thread - 1;
    if (me / n != first / n)
        cell->read[2] = k->now;
    else if (me % n / SIM_WARP_LANES != first % n / SIM_WARP_LANES)
        cell->read[1] = k->now;
}

static void check_cell(const Check *k, Cell *cell) {
    conflict(k, cell->write);
    if (!k->strong)
        conflict(k, cell->strong_write);
    if (k->write && !k->strong)
        conflict(k, cell->strong_read);
    for (int i = 0; k->write && i < READS; i++)
        conflict(k, cell->read[i]);
    if (k->write && !k->strong)
        *cell = (Cell){.write = k->now};
    else if (k->write)
        cell->strong_write = k->now;
    else if (k->strong)
        cell->strong_read = k->now;
    else
        note_read(k, cell);
}

static void check_access(PtxRun *r, PtxThread *t, const PtxCode *c, bool write, bool strong, bool silent) {
    if (r->place.alloc && r->place.alloc->read_only)
        return;
    RaceThread *rt = thread_of(r, t);
    uint32_t n = r->races->nthreads;
    Check k = {.r = r, .t = t, .rt = rt, .write = write, .strong = strong, .silent = silent};
    k.now = (Access){block_number(r, t->warp->block) * n + t->linear + 1, rt->epoch | (silent ? SILENT : 0),
                     code_number(c)};
    Region *g = region_of(r, t);
    uint64_t offset = r->place.offset, end = offset + r->place.bytes;
    bool bytes = (offset | end) % WORD_BYTES != 0;
    while (offset < end) {
        Page *p = page_at(g, offset / PAGE_BYTES, bytes);
        unsigned step = p->bytes ? 1 : WORD_BYTES;
        check_cell(&k, &p->cell[offset % PAGE_BYTES / step]);
        offset += step;
    }
}

void race_load(PtxRun *r, PtxThread *t, const PtxCode *c) {
    if (!r->races || !r->place.bytes)
        return;
    bool strong = is_strong(c->insn);
    check_access(r, t, c, false, strong, false);
    if (strong)
        synchronise(r, t, c->insn, r->place.host, true, false);
}

void race_store(PtxRun *r, PtxThread *t, const PtxCode *c, const uint8_t *old, const uint8_t *now) {
    if (!r->races || !r->place.bytes)
        return;
    bool strong = is_strong(c->insn);
    check_access(r, t, c, true, strong, memcmp(old, now, r->place.bytes) == 0);
    if (strong)
        synchronise(r, t, c->insn, r->place.host, false, true);
}

void race_atomic(PtxRun *r, PtxThread *t, const PtxCode *c, const uint8_t *bytes) {
    if (!r->races || !r->place.bytes)
        return;
    check_access(r, t, c, true, true, false);
    synchronise(r, t, c->insn, bytes, true, true);
}

/* ---- the launch ---- */

static void region_clear(Region *g, bool keep) {
    for (uint64_t i = 0; i < g->npages; i++) {
        free(g->pages[i]);
        g->pages[i] = NULL;
    }
    if (!keep)
        free(g->pages);
}

void race_block_start(PtxRun *r, PtxBlock *b) {
    struct PtxRaces *x = r->races;
    if (!x)
        return;
    size_t slot = (size_t)(b - r->blocks);
    region_clear(&x->shared[slot], true);
    for (uint32_t i = 0; i < x->nthreads; i++)
        thread_clear(&x->threads[slot * x->nthreads + i]);
    for (unsigned i = 0; i < 16; i++)
        race_gather_free(&b->bars[i].gather);
    for (uint32_t i = 0; i < x->cap_places; i++) { /* the block's shared memory begins anew */
        Place *p = &x->places[i];
        if (p->bytes >= b->shared && p->bytes < b->shared + r->shared_bytes) {
            clock_drop(p->clock);
            p->clock = NULL;
        }
    }
}

bool race_start(PtxRun *r) {
    const Launch *l = r->launch;
    uint64_t n = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t total = n * l->grid[0] * l->grid[1];
    if (!r->opt.find_races)
        return true;
    if (total > UINT32_MAX || total * l->grid[2] >= UINT32_MAX)
        return diag(r->d, (SrcLoc){0}, DIAG_E0513, str_text(&r->m->strings, r->kernel->func->name),
                    "too many threads to look for races");
    struct PtxRaces *x = r->races = ARENA_NEW(&r->arena, struct PtxRaces);
    uint32_t number = 0;
    for (uint32_t i = 0; i < r->norder; i++) {
        r->order[i]->first_code = number;
        number += r->order[i]->func->ninsns + 1;
    }
    x->nthreads = (uint32_t)n;
    x->threads = ARENA_ARRAY(&r->arena, RaceThread, n * r->nresident);
    x->nglobal = r->mem->nallocs;
    x->global = ARENA_ARRAY(&r->arena, Region, x->nglobal + 1);
    x->shared = ARENA_ARRAY(&r->arena, Region, r->nresident + 1);
    for (uint32_t i = 0; i < r->nresident; i++) {
        x->shared[i].npages = r->shared_bytes / PAGE_BYTES + 1;
        x->shared[i].pages = must(calloc(x->shared[i].npages, sizeof(Page *)));
    }
    return true;
}

void race_end(PtxRun *r) {
    struct PtxRaces *x = r->races;
    if (!x)
        return;
    for (uint32_t i = 0; i < r->nresident; i++) {
        region_clear(&x->shared[i], false);
        for (unsigned k = 0; k < 16; k++)
            race_gather_free(&r->blocks[i].bars[k].gather);
    }
    for (uint32_t i = 0; i < x->nglobal; i++)
        region_clear(&x->global[i], false);
    for (uint32_t i = 0; i < x->nthreads * r->nresident; i++)
        thread_clear(&x->threads[i]);
    for (uint32_t i = 0; i < x->cap_places; i++)
        clock_drop(x->places[i].clock);
    free(x->places);
    free(x->pairs);
    r->res->races = x->races;
    r->res->nraces = x->nraces;
    for (uint32_t i = 0; i < x->nraces; i++)
        r->res->nharmful += !x->races[i].same_value;
}

void ptx_races_free(PtxRunResult *res) {
    free(res->races);
    res->races = NULL;
    res->nraces = 0;
}

int ptx_race_print(const PtxRace *x, char *out, size_t out_bytes) {
    const PtxRaceSide *s[] = {&x->first, &x->second};
    char side[2][200];
    for (int i = 0; i < 2; i++)
        snprintf(side[i], sizeof side[i], "line %u, %s, block (%u,%u,%u), thread (%u,%u,%u)", s[i]->line,
                 s[i]->text, s[i]->block[0], s[i]->block[1], s[i]->block[2], s[i]->thread[0], s[i]->thread[1],
                 s[i]->thread[2]);
    return snprintf(out, out_bytes, "%s at %s%s+%llu, %llu time%s:\n    %s\n    %s",
                    x->same_value ? "unordered stores of the same value" : "race", x->shared ? "shared " : "",
                    x->name, (unsigned long long)x->offset_bytes, (unsigned long long)x->count,
                    x->count == 1 ? "" : "s", side[0], side[1]);
}
