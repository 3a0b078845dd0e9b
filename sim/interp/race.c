/* Data races: two accesses to one byte of global or shared memory by different threads, one of them a write,
 * not both strong (volatile, relaxed, acquire, release, atomic), and neither happens before the other (PTX
 * ISA 8).
 *
 * Happens-before comes from program order, barriers of blocks (arrive and sync, named ones too; who has ended
 * counts where the barrier counts it),
 * bar.warp.sync, and strong operations on one location with fences or release and acquire around them, as in
 * the C11 model. Scopes are not told apart, and other warp collectives order no memory, as PTX says.
 *
 * A product of a warp group reads shared memory in the background, for a reader of its warp that is no
 * thread: it knows what the warp's first lane knew when it gave the product, and is known to those who waited
 * for the group of products, and to nobody else.
 *
 * Vector clocks: an entry for each thread and each such reader, an array for each block that is known, arrays
 * shared until they change. A thread has its epoch, which grows when it releases, and a base: what it knows
 * of all others. After a barrier all threads of the block have the same base. Memory has a cell for each
 * word, or for each byte where narrower accesses came, with the last plain write, strong write, strong read,
 * and three plain reads: of any thread, of another warp, of another block. So a race with a fourth reader may
 * be missed; none is invented. SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "base/scope.h"
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
    uint32_t thread; /* block * readers of a block + reader + 1; 0 none */
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
    uint32_t nreal;          /* threads of a block */
    uint32_t nthreads;       /* and readers for its warps' products, behind the threads */
    RaceThread *threads;     /* of the resident blocks */
    Region *global, *shared; /* by allocation, by resident block */
    uint32_t nglobal;
    Place *places; /* hash table */
    uint32_t nplaces, cap_places;
    PtxRace *races;
    uint64_t (*pairs)[2]; /* code numbers of the two sides */
    uint32_t nraces;
};

/* ---- clocks ---- */

static void block_clock_drop(BlockClock *clock) {
    if (clock && --clock->refs == 0)
        mem_free(clock);
}
static Clock *clock_ref(Clock *clock) {
    if (clock)
        clock->refs++;
    return clock;
}
static void clock_drop(Clock *clock) {
    if (!clock || --clock->refs)
        return;
    for (uint32_t i = 0; i < clock->n; i++)
        block_clock_drop(clock->at[i].known);
    mem_free(clock);
}

/* Position of the block's entry, or where it would be. */
static uint32_t clock_find(const Clock *clock, uint32_t block) {
    uint32_t lo = 0, hi = clock ? clock->n : 0;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (clock->at[mid].block < block)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}
static bool clock_has(const Clock *clock, uint32_t i, uint32_t block) {
    return clock && i < clock->n && clock->at[i].block == block;
}

/* *c becomes the only reference, with room for one more entry. */
static void clock_own(Clock **c) {
    Clock *old = *c;
    uint32_t n = old ? old->n : 0;
    if (old && old->refs == 1 && n < old->cap)
        return;
    uint32_t cap = n + n / 2 + 2;
    Clock *now = mem_alloc(sizeof *now + cap * sizeof now->at[0]);
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
    BlockClock *now = mem_alloc(size);
    memcpy(now, old, size);
    now->refs = 1;
    old->refs--;
    return (*c)->at[i].known = now;
}

static void clock_raise(Clock **c, uint32_t nthreads, uint32_t block, uint32_t thread, uint32_t epoch) {
    uint32_t i = clock_find(*c, block);
    if (!clock_has(*c, i, block)) {
        BlockClock *clock = mem_zeroed(1, sizeof *clock + nthreads * sizeof clock->epoch[0]);
        clock->refs = 1;
        clock_insert(c, i, block, clock);
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

static uint32_t block_number(const PtxRun *run, const PtxBlock *b) {
    const uint32_t *g = run->launch->grid;
    return b->ctaid[0] + g[0] * (b->ctaid[1] + g[1] * b->ctaid[2]);
}
static RaceThread *thread_of(const PtxRun *run, const PtxThread *thread) {
    return &run->races->threads[(size_t)(thread->warp->block - run->blocks) * run->races->nthreads +
                                thread->linear];
}

/* The reader for the products of the thread's warp. */
static uint32_t product_reader(const PtxRun *run, const PtxThread *thread) {
    return run->races->nreal + thread->warp->index;
}

/* Has thread t, in its block, seen access a? */
static bool is_ordered(const PtxRun *run, const PtxThread *ptx_thread, const RaceThread *rt, Access a) {
    uint32_t n = run->races->nthreads, block = (a.thread - 1) / n, thread = (a.thread - 1) % n;
    if (block == block_number(run, ptx_thread->warp->block) && thread == ptx_thread->linear)
        return true;
    uint32_t i = clock_find(rt->base, block);
    return clock_has(rt->base, i, block) && rt->base->at[i].known->epoch[thread] >= (a.epoch & ~SILENT);
}

static void thread_clear(RaceThread *thread) {
    clock_drop(thread->base);
    clock_drop(thread->fence);
    clock_drop(thread->pending);
    *thread = (RaceThread){.epoch = 1};
}

void interp_race_arrive(PtxRun *run, RaceGather *gather, PtxThread *thread) {
    if (!run->races)
        return;
    RaceThread *rt = thread_of(run, thread);
    if (rt->base != gather->last)
        clock_join(&gather->clock, rt->base, run->races->nthreads);
    gather->last = rt->base;
    clock_raise(&gather->clock, run->races->nthreads, block_number(run, thread->warp->block), thread->linear,
                rt->epoch++);
}

void interp_race_depart(PtxRun *run, const RaceGather *gather, PtxThread *t) {
    if (!run->races)
        return;
    RaceThread *rt = thread_of(run, t); /* it arrived: the gathered clock has all of its own */
    clock_drop(rt->base);
    rt->base = clock_ref(gather->clock);
}

void interp_race_arrive_early(PtxRun *run, RaceGather *gather, PtxThread *thread, bool releases) {
    if (!run->races)
        return;
    RaceThread *rt = thread_of(run, thread);
    if (releases) {
        interp_race_arrive(run, gather, thread);
    } else if (rt->fence_epoch) {
        clock_join(&gather->clock, rt->fence, run->races->nthreads);
        clock_raise(&gather->clock, run->races->nthreads, block_number(run, thread->warp->block),
                    thread->linear, rt->fence_epoch);
    }
}

void interp_race_depart_late(PtxRun *run, const RaceGather *gather, PtxThread *thread) {
    if (run->races)
        clock_join(&thread_of(run, thread)->base, gather->clock, run->races->nthreads);
}

void interp_race_gather_free(RaceGather *gather) {
    clock_drop(gather->clock);
    *gather = (RaceGather){0};
}

/* ---- strong operations ---- */

static Place *place_slot(const struct PtxRaces *races, const uint8_t *bytes) {
    uint64_t h = (uint64_t)(uintptr_t)bytes * RNG_STEP >> 32;
    for (;; h++) {
        Place *place = &races->places[h & (races->cap_places - 1)];
        if (!place->bytes || place->bytes == bytes)
            return place;
    }
}

static Place *find_place(struct PtxRaces *races, const uint8_t *bytes) {
    if (races->nplaces * 2 >= races->cap_places) {
        Place *old = races->places;
        uint32_t cap = races->cap_places;
        races->cap_places = cap ? cap * 2 : PLACES_FIRST;
        races->places = mem_zeroed(races->cap_places, sizeof *races->places);
        for (uint32_t i = 0; i < cap; i++)
            if (old[i].bytes)
                *place_slot(races, old[i].bytes) = old[i];
        mem_free(old);
    }
    Place *place = place_slot(races, bytes);
    races->nplaces += place->bytes == NULL;
    place->bytes = bytes;
    return place;
}

static bool acquires(const PtxInsn *in) {
    return in->sem == SEM_ACQUIRE || in->sem == SEM_ACQ_REL || in->sem == SEM_SC;
}
static bool releases(const PtxInsn *in) {
    return in->sem == SEM_RELEASE || in->sem == SEM_ACQ_REL || in->sem == SEM_SC;
}
bool interp_is_strong(const PtxInsn *in) {
    bool red = in->op == PTX_RED || (in->op == PTX_MULTIMEM && in->atom != ATOM_NONE && !in->ndst);
    return in->op == PTX_ATOM || red || in->sem == SEM_VOLATILE || in->sem == SEM_RELAXED ||
           in->sem == SEM_MMIO || acquires(in) || releases(in);
}

/* What a strong operation on the place does to what threads know of each other. now: it releases, whatever
 * fences there are. */
static void synchronise(PtxRun *run, PtxThread *thread, const PtxInsn *in, const uint8_t *bytes, bool reads,
                        bool writes, bool now) {
    struct PtxRaces *ptx_races = run->races;
    RaceThread *rt = thread_of(run, thread);
    run->res->nstrong++;
    bool gives = writes && (now || rt->fence_epoch);
    Place *place = find_place(ptx_races, bytes);
    if (reads && place->clock)
        clock_join(acquires(in) ? &rt->base : &rt->pending, place->clock, ptx_races->nthreads);
    if (writes && !reads) { /* a store ends the release sequence, an atomic goes on with it */
        clock_drop(place->clock);
        place->clock = NULL;
    }
    if (!gives)
        return;
    clock_join(&place->clock, now ? rt->base : rt->fence, ptx_races->nthreads);
    clock_raise(&place->clock, ptx_races->nthreads, block_number(run, thread->warp->block), thread->linear,
                now ? rt->epoch : rt->fence_epoch);
    rt->epoch += now;
}

void interp_race_commit(PtxRun *run, PtxThread *thread) {
    if (run->races)
        (thread_of(run, thread) - thread->linear + product_reader(run, thread))->epoch++;
}

void interp_race_products(PtxRun *run, PtxThread *thread, const PtxThread *reader, uint32_t groups) {
    if (run->races && groups) /* the epoch of a reader is the number of the group that is still open */
        clock_raise(&thread_of(run, thread)->base, run->races->nthreads,
                    block_number(run, thread->warp->block), product_reader(run, reader), groups);
}

void interp_race_fence(PtxRun *run, PtxThread *t) {
    if (!run->races)
        return;
    RaceThread *rt = thread_of(run, t);
    clock_join(&rt->base, rt->pending, run->races->nthreads);
    clock_drop(rt->pending);
    rt->pending = NULL;
    clock_drop(rt->fence);
    rt->fence = clock_ref(rt->base);
    rt->fence_epoch = rt->epoch++;
}

/* ---- reports ---- */

static uint32_t code_number(const PtxCode *ptx_code) {
    return ptx_code->proc->first_code + (uint32_t)(ptx_code - ptx_code->proc->code);
}
static const PtxCode *code_at(const PtxRun *run, uint32_t number) {
    for (uint32_t i = run->norder; i-- > 0;)
        if (number >= run->order[i]->first_code)
            return &run->order[i]->code[number - run->order[i]->first_code];
    return NULL;
}

static void fill_side(const PtxRun *run, Access a, PtxRaceSide *side) {
    const PtxCode *ptx_code = code_at(run, a.code);
    const uint32_t *g = run->launch->grid, *b = run->launch->block;
    uint32_t block = (a.thread - 1) / run->races->nthreads, thread = (a.thread - 1) % run->races->nthreads;
    if (thread >= run->races->nreal) /* a product: the warp's first lane gave it */
        thread = (thread - run->races->nreal) * SIM_WARP_LANES;
    *side = (PtxRaceSide){.block = {block % g[0], block / g[0] % g[1], block / g[0] / g[1]},
                          .thread = {thread % b[0], thread / b[0] % b[1], thread / b[0] / b[1]}};
    if (ptx_code && ptx_code->insn) {
        side->line = ptx_line(run->module, ptx_code->insn);
        ptx_source(run->module, ptx_code->proc->func, ptx_code->insn, side->source, sizeof side->source);
        snprintf(side->text, sizeof side->text, "%s%s", ptx_op_name((PtxOp)ptx_code->insn->op),
                 str_text(&run->module->strings, ptx_code->insn->mods_text));
    }
}

static void fill_where(const PtxRun *run, PtxRace *race) {
    uint64_t offset = run->place.offset;
    const char *name = "dynamic shared memory";
    race->shared = !run->place.alloc;
    if (run->place.alloc) {
        name = run->place.alloc->name;
    } else {
        uint64_t base = run->dynamic_shared_base;
        for (uint32_t i = 0; i < run->module->nvars; i++) {
            uint64_t at = run->shared_offset[i];
            if (at <= offset && offset - at < run->module->vars[i].size_bytes) {
                name = str_text(&run->module->strings, run->module->vars[i].name);
                base = at;
            }
        }
        offset -= base <= offset ? base : 0;
    }
    snprintf(race->name, sizeof race->name, "%s", name);
    race->offset_bytes = offset;
}

static void report_race(PtxRun *run, Access before, Access now, bool harmless) {
    struct PtxRaces *ptx_races = run->races;
    PtxRace *race = NULL;
    for (uint32_t i = 0; i < ptx_races->nraces && !race; i++)
        if (ptx_races->pairs[i][0] == before.code && ptx_races->pairs[i][1] == now.code)
            race = &ptx_races->races[i];
    if (!race && ptx_races->nraces == MAX_RACES)
        return;
    bool fresh = !race;
    if (fresh) {
        if (!ptx_races->races) {
            ptx_races->races = mem_zeroed(MAX_RACES, sizeof *ptx_races->races);
            ptx_races->pairs = mem_zeroed(MAX_RACES, sizeof *ptx_races->pairs);
        }
        ptx_races->pairs[ptx_races->nraces][0] = before.code;
        ptx_races->pairs[ptx_races->nraces][1] = now.code;
        race = &ptx_races->races[ptx_races->nraces++];
    }
    race->count++;
    if (!fresh && (harmless || !race->same_value))
        return; /* the first one is shown, and rather one that matters */
    fill_side(run, before, &race->first);
    fill_side(run, now, &race->second);
    fill_where(run, race);
    race->same_value = harmless;
}

/* ---- cells ---- */

static Region *region_of(PtxRun *run, const PtxThread *thread) {
    struct PtxRaces *ptx_races = run->races;
    if (!run->place.alloc)
        return &ptx_races->shared[thread->warp->block - run->blocks];
    uint32_t i = (uint32_t)(run->place.alloc - run->mem->allocs);
    Region *region = &ptx_races->global[i];
    if (!region->pages) {
        region->npages = (run->place.alloc->size_bytes + PAGE_BYTES - 1) / PAGE_BYTES;
        region->pages = mem_zeroed(region->npages, sizeof *region->pages);
    }
    return region;
}

static Page *new_page(bool bytes) {
    Page *page = mem_zeroed(1, sizeof *page + (bytes ? PAGE_BYTES : PAGE_BYTES / WORD_BYTES) * sizeof(Cell));
    page->bytes = bytes;
    return page;
}

/* The page, with cells of bytes if the access is no whole words. */
static Page *page_at(Region *region, uint64_t number, bool bytes) {
    Page **p = &region->pages[number];
    if (!*p)
        *p = new_page(bytes);
    if (bytes && !(*p)->bytes) {
        Page *fine = new_page(true);
        for (unsigned i = 0; i < PAGE_BYTES; i++)
            fine->cell[i] = (*p)->cell[i / WORD_BYTES];
        mem_free(*p);
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

static void conflict(const Check *check, Access a) {
    if (a.thread && !is_ordered(check->r, check->t, check->rt, a))
        report_race(check->r, a, check->now, check->write ? check->silent : (a.epoch & SILENT) != 0);
}

/* Of one warp, or of products of one. */
static bool are_near(const PtxRun *run, uint32_t a, uint32_t b) {
    uint32_t real = run->races->nreal;
    return a < real && b < real ? a / SIM_WARP_LANES == b / SIM_WARP_LANES : a == b;
}

/* Which slot a plain read takes: one that the new read comes after, else by distance. */
static void note_read(const Check *check, Cell *cell) {
    uint32_t n = check->r->races->nthreads, me = check->now.thread - 1;
    for (int i = 0; i < READS; i++) {
        Access *access = &cell->read[i];
        if (!access->thread || access->thread == check->now.thread ||
            is_ordered(check->r, check->t, check->rt, *access)) {
            *access = check->now;
            return;
        }
    }
    uint32_t first = cell->read[0].thread - 1;
    if (me / n != first / n)
        cell->read[2] = check->now;
    else if (!are_near(check->r, me % n, first % n))
        cell->read[1] = check->now;
}

static void check_cell(const Check *check, Cell *cell) {
    conflict(check, cell->write);
    if (!check->strong)
        conflict(check, cell->strong_write);
    if (check->write && !check->strong)
        conflict(check, cell->strong_read);
    for (int i = 0; check->write && i < READS; i++)
        conflict(check, cell->read[i]);
    if (check->write && !check->strong)
        *cell = (Cell){.write = check->now};
    else if (check->write)
        cell->strong_write = check->now;
    else if (check->strong)
        cell->strong_read = check->now;
    else
        note_read(check, cell);
}

static void check_cells(PtxRun *run, Check *check) {
    if (run->place.alloc && run->place.alloc->read_only)
        return;
    Region *g = region_of(run, check->t);
    uint64_t offset = run->place.offset, end = offset + run->place.bytes;
    bool bytes = (offset | end) % WORD_BYTES != 0;
    while (offset < end) {
        Page *page = page_at(g, offset / PAGE_BYTES, bytes);
        unsigned step = page->bytes ? 1 : WORD_BYTES;
        check_cell(check, &page->cell[offset % PAGE_BYTES / step]);
        offset += step;
    }
}

static Access access_of(const PtxRun *run, const PtxThread *thread, uint32_t reader, const PtxCode *code) {
    return (Access){block_number(run, thread->warp->block) * run->races->nthreads + reader + 1,
                    (thread_of(run, thread) - thread->linear + reader)->epoch, code_number(code)};
}

static void check_access(PtxRun *run, PtxThread *thread, const PtxCode *code, bool write, bool strong,
                         bool silent) {
    Check check = {.r = run,
                   .t = thread,
                   .rt = thread_of(run, thread),
                   .now = access_of(run, thread, thread->linear, code),
                   .write = write,
                   .strong = strong,
                   .silent = silent};
    check.now.epoch |= silent ? SILENT : 0;
    check_cells(run, &check);
}

void interp_race_product(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    if (!run->races || !run->place.bytes)
        return;
    Check check = {.r = run,
                   .t = thread,
                   .rt = thread_of(run, thread),
                   .now = access_of(run, thread, product_reader(run, thread), code)};
    check_cells(run, &check);
}

void interp_race_load(PtxRun *run, PtxThread *t, const PtxCode *code) {
    if (!run->races || !run->place.bytes)
        return;
    bool strong = interp_is_strong(code->insn);
    check_access(run, t, code, false, strong, false);
    if (strong)
        synchronise(run, t, code->insn, run->place.host, true, false, false);
}

void interp_race_store(PtxRun *run, PtxThread *t, const PtxCode *code, const uint8_t *old,
                       const uint8_t *now) {
    if (!run->races || !run->place.bytes)
        return;
    bool strong = interp_is_strong(code->insn);
    check_access(run, t, code, true, strong, memcmp(old, now, run->place.bytes) == 0);
    if (strong)
        synchronise(run, t, code->insn, run->place.host, false, true, releases(code->insn));
}

void interp_race_atomic(PtxRun *run, PtxThread *t, const PtxCode *code, const uint8_t *bytes) {
    if (!run->races || !run->place.bytes)
        return;
    check_access(run, t, code, true, true, false);
    synchronise(run, t, code->insn, bytes, true, true, releases(code->insn));
}

void interp_race_complete(PtxRun *run, PtxThread *t, const PtxCode *code, const uint8_t *bytes) {
    if (!run->races || !run->place.bytes)
        return;
    check_access(run, t, code, true, true, false);
    synchronise(run, t, code->insn, bytes, true, true, true);
}

void interp_race_fresh(PtxRun *run, uint64_t address, uint64_t size_bytes) {
    const SimAlloc *heap = run->races && size_bytes ? simmem_find(run->mem, address, size_bytes) : NULL;
    Region *region = heap ? &run->races->global[heap - run->mem->allocs] : NULL;
    if (!region || !region->pages)
        return;
    _Static_assert(SIM_HEAP_ALIGN % PAGE_BYTES == 0, "a page holds one piece");
    uint64_t first = (address - heap->address) / PAGE_BYTES;
    for (uint64_t i = 0; i <= (size_bytes - 1) / PAGE_BYTES; i++) {
        mem_free(region->pages[first + i]);
        region->pages[first + i] = NULL;
    }
}

/* ---- the launch ---- */

static void region_clear(Region *region, bool keep) {
    for (uint64_t i = 0; i < region->npages; i++) {
        mem_free(region->pages[i]);
        region->pages[i] = NULL;
    }
    if (!keep)
        mem_free(region->pages);
}

void interp_race_block_start(PtxRun *run, PtxBlock *b) {
    struct PtxRaces *ptx_races = run->races;
    if (!ptx_races)
        return;
    size_t slot = (size_t)(b - run->blocks);
    region_clear(&ptx_races->shared[slot], true);
    for (uint32_t i = 0; i < ptx_races->nthreads; i++)
        thread_clear(&ptx_races->threads[slot * ptx_races->nthreads + i]);
    for (unsigned i = 0; i < 16; i++)
        interp_race_gather_free(&b->bars[i].gather);
    interp_race_gather_free(&b->coming);
    interp_race_gather_free(&b->complete);
    for (uint32_t i = 0; i < ptx_races->cap_places; i++) { /* the block's shared memory begins anew */
        Place *place = &ptx_races->places[i];
        if (place->bytes >= b->shared && place->bytes < b->shared + interp_all_shared(run)) {
            clock_drop(place->clock);
            place->clock = NULL;
        }
    }
}

bool interp_race_start(PtxRun *run) {
    const Launch *l = run->launch;
    uint64_t real = (uint64_t)l->block[0] * l->block[1] * l->block[2];
    uint64_t n = real + (real + SIM_WARP_LANES - 1) / SIM_WARP_LANES;
    uint64_t total = n * l->grid[0] * l->grid[1];
    if (!run->opt.find_races)
        return true;
    if (total > UINT32_MAX || total * l->grid[2] >= UINT32_MAX)
        return diag(run->d, (SrcLoc){0}, DIAG_E0513, str_text(&run->module->strings, run->kernel->func->name),
                    "too many threads to look for races");
    struct PtxRaces *ptx_races = run->races = ARENA_NEW(&run->arena, struct PtxRaces);
    uint32_t number = 0;
    for (uint32_t i = 0; i < run->norder; i++) {
        run->order[i]->first_code = number;
        number += run->order[i]->func->ninsns + 1;
    }
    ptx_races->nreal = (uint32_t)real;
    ptx_races->nthreads = (uint32_t)n;
    ptx_races->threads = ARENA_ARRAY(&run->arena, RaceThread, n * run->nresident);
    ptx_races->nglobal = run->mem->nallocs;
    ptx_races->global = ARENA_ARRAY(&run->arena, Region, ptx_races->nglobal + 1);
    ptx_races->shared = ARENA_ARRAY(&run->arena, Region, run->nresident + 1);
    for (uint32_t i = 0; i < run->nresident; i++) {
        ptx_races->shared[i].npages = interp_all_shared(run) / PAGE_BYTES + 1;
        ptx_races->shared[i].pages = mem_zeroed(ptx_races->shared[i].npages, sizeof(Page *));
    }
    return true;
}

void interp_race_end(PtxRun *run) {
    struct PtxRaces *ptx_races = run->races;
    if (!ptx_races)
        return;
    for (uint32_t i = 0; i < run->nresident; i++) {
        region_clear(&ptx_races->shared[i], false);
        for (unsigned k = 0; k < 16; k++)
            interp_race_gather_free(&run->blocks[i].bars[k].gather);
        interp_race_gather_free(&run->blocks[i].coming);
        interp_race_gather_free(&run->blocks[i].complete);
    }
    for (uint32_t i = 0; i < ptx_races->nglobal; i++)
        region_clear(&ptx_races->global[i], false);
    for (uint32_t i = 0; i < ptx_races->nthreads * run->nresident; i++)
        thread_clear(&ptx_races->threads[i]);
    for (uint32_t i = 0; i < ptx_races->cap_places; i++)
        clock_drop(ptx_races->places[i].clock);
    mem_free(ptx_races->places);
    mem_free(ptx_races->pairs);
    run->res->races = ptx_races->races;
    run->res->nraces = ptx_races->nraces;
    for (uint32_t i = 0; i < ptx_races->nraces; i++)
        run->res->nharmful += !ptx_races->races[i].same_value;
}

void interp_races_free(PtxRunResult *res) {
    mem_free(res->races);
    res->races = NULL;
    res->nraces = 0;
}

int interp_race_print(const PtxRace *race, char *out, size_t out_bytes) {
    const PtxRaceSide *s[] = {&race->first, &race->second};
    char side[2][200];
    for (int i = 0; i < 2; i++)
        snprintf(side[i], sizeof side[i], "line %u%s%s%s, %s, block (%u,%u,%u), thread (%u,%u,%u)",
                 s[i]->line, *s[i]->source ? " (" : "", s[i]->source, *s[i]->source ? ")" : "", s[i]->text,
                 s[i]->block[0], s[i]->block[1], s[i]->block[2], s[i]->thread[0], s[i]->thread[1],
                 s[i]->thread[2]);
    return snprintf(out, out_bytes, "%s at %s%s+%llu, %llu time%s:\n    %s\n    %s",
                    race->same_value ? "unordered stores of the same value" : "race",
                    race->shared ? "shared " : "", race->name, (unsigned long long)race->offset_bytes,
                    (unsigned long long)race->count, race->count == 1 ? "" : "s", side[0], side[1]);
}
