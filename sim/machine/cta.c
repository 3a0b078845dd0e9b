/* Blocks: resident state, the order in which warps run, and the proof that nothing will ever change.
 *
 * Warps of the resident blocks run in turn, each for a quantum of instructions or until it waits. After a
 * while of turns the whole resident state is hashed: masks, program counters, registers, barriers, timers
 * (relative to now), and memory. The machine is deterministic, so an equal state means an endless loop,
 * unless a clock was read in between. Memory is hashed only where a store changed some in between, everything
 * else is equal, and its size is small beside the work done since; else the changes count as progress. With
 * blocks of the grid still outside, the next one becomes resident instead: it may be what the others wait
 * for.
 * SPDX-License-Identifier: MIT */
#include "base/align.h"
#include "base/scope.h"
#include "sim/machine/grid.h"
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ticks between looks at the state: at least so many, and one for each STATE_PER_TICK bytes of it. A loop is
 * met in another phase at every look, so it takes up to as many looks as the loop is long. */
enum { PROOF_INTERVAL = 1 << 12, STATE_PER_TICK = 4, ADD_BLOCK_AFTER = 1 << 24 };
/* Ticks without a store that changes memory, after which another block is tried: those resident may wait for
 * it in loops of such lengths that their common state takes long to come again. */
enum { QUIET = 1 << 17 };
enum { POLL_TICKS = 1 << 15 }; /* a few milliseconds */
enum { STARTS_THAT_PAY = 16 }; /* blocks in memory of earlier ones, for a look at the kernel's beginning */
/* Bytes of memory that may be hashed: so many, and more for each tick. */
enum { HASH_AT_ONCE = 1 << 20, HASH_PER_TICK = 8 };

/* ---- memory of a block ---- */

static void warp_free(Warp *warp) {
    mem_free(warp->rows);
    mem_free(warp->local_block);
    mem_free(warp->local_written);
    mem_free(warp->shadow);
    machine_copies_free(warp);
}

void machine_cta_free(Cta *cta) {
    if (!cta)
        return;
    machine_cluster_leave(cta);
    for (uint32_t i = 0; i < cta->nwarps; i++)
        warp_free(&cta->warps[i]);
    mem_free(cta->warps);
    mem_free(cta->shared);
    mem_free(cta->shared_written);
    mem_free(cta);
}

void machine_fill_unwritten(const Run *run, void *memory, size_t bytes) {
    static const uint32_t other = SIM_UNWRITTEN_WORD;
    size_t filled = 0, word = sizeof other;
    if (run->opt.unwritten == MACHINE_UNWRITTEN_OTHER)
        for (; filled + word <= bytes; filled += word)
            memcpy((uint8_t *)memory + filled, &other, word);
    if (filled < bytes) /* most blocks have no shared memory */
        memset((uint8_t *)memory + filled, 0, bytes - filled);
}

static void warp_create(Run *r, Cta *c, uint32_t index) {
    Warp *warp = &c->warps[index];
    warp->run = r;
    warp->cta = c;
    warp->prog = r->prog;
    warp->index = index;
    warp->rows = mem_aligned(ROW_BYTES, (size_t)ROW_COUNT * ROW_BYTES);
    memset(warp->rows, 0, (size_t)ROW_COUNT * ROW_BYTES);
    const uint32_t *block = r->launch->block;
    for (unsigned lane = 0; lane < 32; lane++) {
        uint32_t t = index * 32 + lane;
        warp->tid[0][lane] = t % block[0];
        warp->tid[1][lane] = t / block[0] % block[1];
        warp->tid[2][lane] = t / block[0] / block[1];
    }
    warp->local_block =
        mem_zeroed((size_t)r->local_bytes / 4 + 2, ROW_BYTES); /* the host clears what is used */
    warp->local = (void *)align_up((uintptr_t)warp->local_block, ROW_BYTES);
    if (r->opt.unwritten == MACHINE_UNWRITTEN_OTHER)
        machine_fill_unwritten(r, warp->local, ((size_t)r->local_bytes / 4 + 1) * ROW_BYTES);
    if (r->slow)
        machine_shadow_create(r, warp);
}

static void *zeroed_rows(size_t size_bytes) {
    void *memory = mem_aligned(ROW_BYTES, size_bytes);
    memset(memory, 0, size_bytes);
    return memory;
}
static Cta *cta_create(Run *run) {
    uint32_t threads = run->launch->block[0] * run->launch->block[1] * run->launch->block[2];
    Cta *cta = mem_zeroed(1, sizeof *cta);
    cta->nwarps = (threads + 31) / 32;
    cta->warps = zeroed_rows(cta->nwarps * sizeof *cta->warps);
    cta->shared = zeroed_rows(run->all_shared + 64u);
    cta->shared_written = run->slow ? mem_zeroed(1, run->all_shared + 64u) : NULL;
    for (uint32_t i = 0; i < cta->nwarps; i++)
        warp_create(run, cta, i);
    return cta;
}

static void start_registers(const Run *run, Warp *warp) {
    bool other = run->opt.unwritten == MACHINE_UNWRITTEN_OTHER; /* then also those of code not bound yet */
    run->level->clear(warp, warp->valid == ~0u ? &run->cleared : &run->named);
    if (other) {
        machine_fill_unwritten(run, warp->rows, (size_t)ROW_RZ * ROW_BYTES);
        machine_fill_unwritten(run, warp->rows + ROW_UR * ROW_BYTES, NUM_UR * ROW_BYTES);
        memset(warp->p, 0xff, sizeof warp->p);
    }
    warp->p[REG_PT] = warp->p[PRED_UP + REG_UPT] = ~0u;
}

/* A schedule that is replayed may be one of some lanes alone. */
static uint32_t lanes_to_start(const Run *run, uint32_t lanes) {
    uint32_t some = run->opt.replay ? run->opt.replay->lanes & lanes : 0;
    return some ? some : lanes;
}

/* What other warps of its block may see before its first turn. */
static void warps_wait_for_turn(const Run *run, Cta *cta, uint32_t threads) {
    uint32_t full = lanes_to_start(run, ~0u);
    for (Warp *warp = cta->warps, *end = warp + cta->nwarps; warp < end; warp++) {
        warp->valid = full;
        warp->state = WARP_STARTS;
        warp->cluster_pending = 0;
    }
    if (threads % 32)
        cta->warps[cta->nwarps - 1].valid = lanes_to_start(run, (1u << threads % 32) - 1);
}

/* Not before its first turn: what it needs is then near, in the host's caches. */
static void warp_start(const Run *run, Warp *warp) {
    start_registers(run, warp);
    if (warp->local_hi > warp->local_lo)
        machine_fill_unwritten(run, warp->local + (size_t)warp->local_lo * 32,
                               (size_t)(warp->local_hi - warp->local_lo) * ROW_BYTES);
    warp->local_lo = UINT32_MAX;
    warp->local_hi = 0;
    warp->pc = run->first_pc;
    warp->active = warp->first_valid = warp->valid;
    warp->state = WARP_READY;
    if (warp->members_used) {
        memset(warp->companions, 0, sizeof warp->companions);
        memset(warp->saves, 0, sizeof warp->saves);
        warp->members_used = false;
    }
    if (warp->rpc_used)
        memset(warp->rpc_words, 0, sizeof warp->rpc_words);
    warp->rpc_used = false;
    if (warp->copies)
        machine_copies_start(warp);
    if (warp->shadow)
        machine_shadow_reset(warp);
}

/* The lowest block that this thread may start without asking the crew; UINT64_MAX: there is none. */
static uint64_t next_of_share(const Grid *grid) {
    uint64_t number = grid->share.next < grid->share.end ? grid->share.next : UINT64_MAX;
    for (uint32_t i = 0; number == UINT64_MAX && i < grid->nleft; i++)
        number = grid->left[i].next < grid->left[i].end ? grid->left[i].next : UINT64_MAX;
    return grid->crew && number > machine_crew_last_wanted(grid->crew) ? UINT64_MAX : number;
}

/* Blocks that can be made resident. */
static bool has_more(const Grid *grid) {
    return grid->nbegun || next_of_share(grid) != UINT64_MAX || (grid->crew && machine_crew_more(grid->crew));
}

static bool take_block(Grid *grid, uint64_t *number) {
    for (; grid->share.next >= grid->share.end && grid->nleft; grid->nleft--)
        grid->share = *grid->left++;
    if (grid->share.next >= grid->share.end &&
        (!grid->crew || !machine_crew_take(grid->crew, grid->thread, &grid->share)))
        return false;
    *number = grid->share.next++;
    return !grid->crew || *number <= machine_crew_last_wanted(grid->crew);
}

void machine_grid_add(Grid *grid, Cta *cta) {
    if (grid->n == grid->cap) {
        uint32_t cap = grid->cap ? grid->cap * 2 : 8;
        grid->slots = mem_resize(grid->slots, cap * sizeof(Cta *));
        grid->cap = cap;
    }
    grid->slots[grid->n++] = cta;
    grid->idle_since = grid->r->ticks;
    grid->have_saved = grid->memory_known = false;
    if (grid->n > grid->r->res->stats.max_resident)
        grid->r->res->stats.max_resident = grid->n;
}

void machine_grid_drop(Grid *grid, uint32_t slot) {
    memmove(&grid->slots[slot], &grid->slots[slot + 1], (grid->n - slot - 1) * sizeof(Cta *));
    grid->n--;
    grid->want = grid->n > 1 ? grid->n : 1;
    grid->idle_since = grid->r->ticks;
    grid->have_saved = grid->memory_known = false;
}

static void start_block(Grid *g, uint64_t n) {
    Run *run = g->r;
    Cta *cta = g->spare ? g->spare : cta_create(run);
    if (g->spare && ++run->starts == STARTS_THAT_PAY && !run->slow)
        machine_find_written_first(run);
    g->spare = NULL;
    const uint32_t *block = run->launch->block, threads = block[0] * block[1] * block[2];
    cta->number = n;
    cta->rank = sim_block_of(run->launch, run->cluster, n, cta->id);
    cta->ndone = 0;
    if (cta->barriers_used)
        memset(cta->bar, 0, sizeof cta->bar);
    cta->barriers_used = cta->cluster_used = false;
    machine_fill_unwritten(run, cta->shared, run->all_shared);
    if (run->lent_shared != ~0u && run->opt.unwritten == MACHINE_UNWRITTEN_OTHER) /* the system's */
        memset(cta->shared + run->lent_shared, 0, LENT_SHARED_BYTES);
    if (cta->shared_written)
        memset(cta->shared_written, 0, run->all_shared);
    if (cta->shared_written && run->lent_shared != ~0u)
        memset(cta->shared_written + run->lent_shared, 1, LENT_SHARED_BYTES);
    warps_wait_for_turn(run, cta, threads);
    machine_grid_add(g, cta);
}

static void start_blocks(Grid *grid) {
    while (grid->n < grid->want && has_more(grid)) {
        if (grid->nbegun && (*grid->begun)->number < next_of_share(grid)) {
            machine_grid_add(grid, *grid->begun++);
            grid->nbegun--;
            continue;
        }
        uint64_t number;
        if (!take_block(grid, &number))
            return;
        start_block(grid, number);
        Cta *first = grid->slots[grid->n - 1];
        if (grid->r->cluster_blocks > 1)
            machine_cluster_join(first, first, 0);
        for (uint32_t rank = 1; rank < grid->r->cluster_blocks; rank++) {
            start_block(grid, grid->share.next++);
            machine_cluster_join(grid->slots[grid->n - 1], first, rank);
        }
    }
}

static void end_block(Grid *grid, uint32_t slot) {
    Cta *cta = grid->slots[slot];
    machine_cluster_leave(cta);
    machine_grid_drop(grid, slot);
    if (cta->borrowed)
        return;
    machine_cta_free(grid->spare);
    grid->spare = cta;
}

/* ---- running ---- */

/* Let one ready warp issue up to a quantum; false after a trap. */
static bool run_warp(Run *run, Warp *warp) {
    uint64_t end = run->ticks + run->opt.quantum;
    if (warp->timer_on && warp->deadline < end)
        end = warp->deadline;
    if (end > run->budget + run->slept)
        end = run->budget + run->slept;
    int status = RUN_PAUSE;
    if (end > run->ticks) {
        run->quota = (int64_t)(end - run->ticks);
        run->ticks = end;
        status = run->slow  ? machine_shadow_issue(warp)
                 : run->jit ? run->level->issue_hot(warp)
                            : run->level->issue(warp);
        run->ticks -= (uint64_t)run->quota;
        run->quota = 0;
    }
    if (warp->timer_on && run->ticks >= warp->deadline) {
        warp->timer_on = false;
        warp->sleep = 0;
        if (warp->state == WARP_ASLEEP)
            warp->state = WARP_READY;
    }
    return status != RUN_TRAP;
}

/* May a warp that is not ready issue? *alarm: not later than the deadline of one that sleeps on. */
static bool becomes_ready(const Run *run, Warp *warp, uint64_t *alarm) {
    if (warp->state == WARP_STARTS)
        warp_start(run, warp);
    else if (warp->state == WARP_ASLEEP && run->ticks >= warp->deadline) {
        warp->timer_on = false;
        warp->sleep = 0;
        warp->state = WARP_READY;
    } else if (warp->state == WARP_ASLEEP && warp->deadline < *alarm)
        *alarm = warp->deadline;
    return warp->state == WARP_READY;
}

/* One turn of every resident warp. *ran: somebody issued; *alarm: first deadline of a sleeper. */
static bool turn(Grid *grid, bool *ran, uint64_t *alarm) {
    Run *run = grid->r;
    bool descending = run->opt.warp_order == MACHINE_WARPS_DESCENDING;
    *ran = false;
    *alarm = UINT64_MAX;
    for (uint32_t s = 0; s < grid->n; s++) {
        const Cta *cta = grid->slots[s];
        Warp *warp = cta->warps + (descending ? cta->nwarps - 1 : 0);
        for (uint32_t left = cta->nwarps; left--; warp += descending ? -1 : 1) {
            if (run->ticks - grid->polled >= POLL_TICKS) {
                grid->polled = run->ticks;
                scope_poll();
            }
            if (warp->state != WARP_READY && !becomes_ready(run, warp, alarm))
                continue;
            *ran = true;
            if (grid->crew && run->budget + run->slept - run->ticks < run->opt.quantum)
                machine_crew_extend_budget(grid->crew, run);
            if (!run_warp(run, warp))
                return false;
            if (run->ticks < run->budget + run->slept || warp->state == WARP_DONE)
                continue;
            if (grid->crew) { /* the others may have some of it yet */
                machine_crew_hand_over(grid->crew, grid);
                return true;
            }
            machine_trap(warp, NULL, warp->active ? low_lane(warp->active) : 0, TRAP_BUDGET,
                         "%llu warp instructions", (unsigned long long)run->opt.max_issues);
            return false;
        }
    }
    return true;
}

/* ---- proof of no progress ---- */

/* Registers that the file gives a thread: as many in a session's first launch as in later ones. */
static uint32_t given_rows(const Run *run) {
    uint32_t rows = run->kernel->nregs;
    return rows && rows < ROW_RZ ? rows : ROW_RZ;
}
static uint32_t hashed_rows(const Run *run) { /* and those that code names all the same */
    uint32_t given = given_rows(run), words = run->named.words & ((1u << ROW_UR / 64) - 1);
    unsigned last = words ? 31u - (unsigned)__builtin_clz(words) : 0;
    uint32_t named = words ? 64 * last + 64 - (uint32_t)__builtin_clzll(run->named.bits[last]) : 0;
    return given > named ? given : named;
}

static void hash_rows(const Run *run, const Warp *warp, XXH3_state_t *h) {
    XXH3_128bits_update(h, warp->rows, (size_t)hashed_rows(run) * ROW_BYTES);
    if (run->named.bits[ROW_UR / 64])
        XXH3_128bits_update(h, warp->rows + ROW_UR * ROW_BYTES, NUM_UR * ROW_BYTES);
}

static void hash_warp(const Run *run, const Warp *warp, XXH3_state_t *h) {
    struct {
        uint32_t pc, valid, active, yield, sleep, switch_mask, tried, blocked, pick_next, red_copy, state,
            barrier, timer_on;
        uint64_t remaining;
        uint32_t p[PRED_SINK], b[16], companions[16][32], rpc[32];
        uint32_t cluster_arrived, cluster_pending, rpc_words[2][32];
        uint16_t saves[16][32];
    } s;
    memset(&s, 0, sizeof s);
    s.state = warp->state;
    if (warp->state != WARP_DONE) {
        s.pc = warp->pc, s.valid = warp->valid, s.active = warp->active, s.yield = warp->yield,
        s.sleep = warp->sleep;
        s.switch_mask = warp->switch_mask, s.tried = warp->tried, s.blocked = warp->blocked,
        s.pick_next = warp->pick_next, s.red_copy = warp->red_copy;
        s.barrier = warp->state == WARP_AT_BARRIER ? warp->barrier : 0;
        s.timer_on = warp->timer_on;
        s.remaining = warp->timer_on ? warp->deadline - run->ticks : 0;
        memcpy(s.p, warp->p, sizeof s.p);
        memcpy(s.b, warp->b, sizeof s.b);
        memcpy(s.companions, warp->companions, sizeof s.companions);
        memcpy(s.saves, warp->saves, sizeof s.saves);
        s.cluster_arrived = warp->cluster_arrived;
        s.cluster_pending = warp->cluster_pending;
        memcpy(s.rpc_words, warp->rpc_words, sizeof s.rpc_words);
        for (unsigned i = 0; i < 32; i++)
            s.rpc[i] = (warp->valid & ~warp->active) >> i & 1 ? warp->rpc[i] : 0;
    }
    XXH3_128bits_update(h, &s, sizeof s);
}

static void hash_barriers(const Cta *cta, XXH3_state_t *h) {
    for (unsigned i = 0; i < NUM_BARRIERS; i++) {
        const Barrier *barrier = &cta->bar[i];
        uint32_t v[7] = {barrier->count,
                         barrier->expected,
                         barrier->kind,
                         barrier->redop,
                         (uint32_t)barrier->and_so_far | (uint32_t)barrier->or_so_far << 1,
                         barrier->popc,
                         barrier->waiting};
        XXH3_128bits_update(h, v, sizeof v);
    }
}

/* Everything but memory and random lane choices. */
static XXH128_hash_t hash_state(const Grid *grid) {
    XXH3_state_t h;
    XXH3_128bits_reset(&h);
    for (uint32_t s = 0; s < grid->n; s++) {
        hash_barriers(grid->slots[s], &h);
        for (uint32_t i = 0; i < grid->slots[s]->nwarps; i++) {
            const Warp *warp = &grid->slots[s]->warps[i];
            hash_warp(grid->r, warp, &h);
            if (warp->state != WARP_DONE)
                hash_rows(grid->r, warp, &h);
        }
    }
    return XXH3_128bits_digest(&h);
}

/* Of that what tells two rounds of most loops apart, for a hundredth of the work: where the warps are, their
 * predicates, and one lane's registers of the first of them. */
static XXH128_hash_t hash_glance(const Grid *grid) {
    const Run *run = grid->r;
    uint32_t words[ROW_RZ + 1 + MAX_WARPS * (3 + PRED_UP)], n = 0;
    XXH3_state_t h;
    uint32_t rows = hashed_rows(run); /* of the first warp */
    XXH3_128bits_reset(&h);
    for (uint32_t s = 0; s < grid->n; s++, n = 0) {
        for (uint32_t i = 0; i < grid->slots[s]->nwarps; i++) {
            const Warp *warp = &grid->slots[s]->warps[i];
            words[n++] = warp->state;
            if (warp->state == WARP_DONE)
                continue;
            words[n++] = warp->pc;
            words[n++] = warp->active;
            for (unsigned k = 0; k < PRED_UP; k++)
                words[n++] = warp->p[k];
            const uint8_t *lane = warp->rows + 4 * (size_t)low_lane(warp->active);
            for (uint32_t k = 0; k < rows; k++, n++)
                memcpy(&words[n], lane + (size_t)k * ROW_BYTES, 4);
            rows = 0;
        }
        XXH3_128bits_update(&h, words, n * sizeof *words);
    }
    return XXH3_128bits_digest(&h);
}

static uint64_t local_bytes_used(const Warp *warp) {
    return warp->local_hi > warp->local_lo ? (uint64_t)(warp->local_hi - warp->local_lo) * ROW_BYTES : 0;
}

/* Global memory, and shared and local memory of the resident blocks; false if that is too much by now, or
 * other threads write there. */
static bool hash_memory(Grid *grid, XXH128_hash_t *out) {
    const Run *run = grid->r;
    const SimMemory *memory = run->mem;
    if (grid->crew)
        return false;
    uint64_t bytes = (uint64_t)grid->n * run->all_shared;
    for (uint32_t i = 0; i < memory->nallocs; i++)
        bytes += memory->allocs[i].read_only ? 0 : memory->allocs[i].size_bytes;
    for (uint32_t s = 0; s < grid->n; s++)
        for (uint32_t i = 0; i < grid->slots[s]->nwarps; i++)
            bytes += local_bytes_used(&grid->slots[s]->warps[i]);
    if (grid->hashed_bytes + bytes > HASH_AT_ONCE + HASH_PER_TICK * run->ticks)
        return false;
    grid->hashed_bytes += bytes;
    if (grid->memory_known && grid->memory_version == run->mem_version) {
        *out = grid->memory;
        return true;
    }
    XXH3_state_t h;
    XXH3_128bits_reset(&h);
    for (uint32_t i = 0; i < memory->nallocs; i++)
        if (!memory->allocs[i].read_only)
            XXH3_128bits_update(&h, memory->allocs[i].data, (size_t)memory->allocs[i].size_bytes);
    for (uint32_t s = 0; s < grid->n; s++) {
        XXH3_128bits_update(&h, grid->slots[s]->shared, run->all_shared);
        for (uint32_t i = 0; i < grid->slots[s]->nwarps; i++) {
            const Warp *warp = &grid->slots[s]->warps[i];
            uint32_t range[2] = {warp->local_lo, warp->local_hi};
            XXH3_128bits_update(&h, range, sizeof range);
            if (local_bytes_used(warp))
                XXH3_128bits_update(&h, warp->local + (size_t)warp->local_lo * 32,
                                    (size_t)local_bytes_used(warp));
        }
    }
    *out = grid->memory = XXH3_128bits_digest(&h);
    grid->memory_version = run->mem_version;
    grid->memory_known = true;
    return true;
}

/* What is saved is from here on this state. */
static void saved_now(Grid *grid) {
    grid->saved_version = grid->r->mem_version;
    grid->saved_random = grid->r->random;
}

/* All of the state is looked at from the first repetition of a glance on: where there is progress, hardly
 * ever. */
static bool state_repeats_too(Grid *grid) {
    XXH128_hash_t state = hash_state(grid);
    if (grid->have_state)
        return XXH128_isEqual(state, grid->saved);
    grid->saved = state;
    grid->have_state = true;
    saved_now(grid);
    return false;
}

/* Memory is looked at from the first repetition of everything else on. */
static bool memory_repeats(Grid *grid) {
    const Run *run = grid->r;
    XXH128_hash_t memory;
    if (grid->saved_version == run->mem_version)
        return true;
    if (!hash_memory(grid, &memory))
        return false;
    if (grid->have_memory)
        return XXH128_isEqual(memory, grid->saved_memory);
    grid->saved_memory = memory;
    grid->have_memory = true;
    saved_now(grid);
    return false;
}

static bool same_as_saved(Grid *grid) {
    return grid->have_saved && grid->saved_clocks == grid->r->clock_reads &&
           XXH128_isEqual(hash_glance(grid), grid->saved_glance) && state_repeats_too(grid) &&
           memory_repeats(grid);
}

/* Has this very state been seen before, but perhaps for the random lane choices to come? When to look follows
 * from the state alone, so in an endless loop the looks repeat as well. */
static bool state_repeats(Grid *grid) {
    Run *run = grid->r;
    if (run->opt.no_deadlock_proof || run->ticks < grid->next_check)
        return false;
    uint64_t warps = 0;
    for (uint32_t s = 0; s < grid->n; s++)
        warps += grid->slots[s]->nwarps - grid->slots[s]->ndone;
    uint64_t interval = warps * given_rows(run) * ROW_BYTES / STATE_PER_TICK;
    grid->next_check = run->ticks + (interval > PROOF_INTERVAL ? interval : PROOF_INTERVAL);
    if (same_as_saved(grid))
        return true;
    if (!grid->have_saved) {
        grid->checks = 0;
        grid->save_at = 1;
    }
    if (!grid->have_saved || ++grid->checks == grid->save_at) {
        grid->saved_glance = hash_glance(grid);
        grid->have_state = grid->have_memory = false;
        grid->saved_clocks = run->clock_reads;
        saved_now(grid);
        grid->have_saved = true;
        grid->checks = 0;
        grid->save_at *= 2;
    }
    return false;
}

/* Is code[pc] a WARPSYNC in front of a barrier? */
static bool gathers_for_barrier(const Run *run, uint32_t pc) {
    char error[ISA_ERROR_BYTES];
    MachInst read[2];
    if (pc + 1 >= run->ncode)
        return false;
    const MachInst *in = binary_inst(run->bin, run->code, pc, &read[0], error),
                   *next = binary_inst(run->bin, run->code, pc + 1, &read[1], error);
    return in && next && in->optype == OT_WARPSYNC && isa_has_effect(next->optype, ISA_EFFECT_CTA_BARRIER);
}

/* A warp whose lanes wait for each other in front of different barriers: the program is wrong there. */
static bool report_split_warp(Grid *grid) {
    for (uint32_t s = 0; s < grid->n; s++)
        for (uint32_t i = 0; i < grid->slots[s]->nwarps; i++) {
            Warp *warp = &grid->slots[s]->warps[i];
            uint32_t lanes = warp->state == WARP_DONE || warp->state == WARP_AT_BARRIER ? 0 : warp->valid;
            for (; lanes; lanes &= lanes - 1) {
                unsigned lane = low_lane(lanes);
                uint32_t pc = warp->active >> lane & 1 ? warp->pc : warp->rpc[lane];
                if (!gathers_for_barrier(grid->r, pc))
                    continue;
                machine_trap(warp, &warp->prog[pc], lane, TRAP_DIVERGENT_BARRIER,
                             "a part of warp %u waits for the others", warp->index);
                return true;
            }
        }
    return false;
}

/* E-BAR-COUNT: warps wait for more threads than there are. */
static bool report_count(Grid *grid) {
    const uint32_t *block = grid->r->launch->block;
    unsigned id;
    for (uint32_t s = 0; s < grid->n; s++) {
        Cta *cta = grid->slots[s];
        if (!machine_barrier_lacks_threads(cta, &id))
            continue;
        Warp *warp = &cta->warps[low_lane(cta->bar[id].waiting)];
        machine_trap(warp, &warp->prog[warp->pc - 1], low_lane(warp->active), TRAP_BARRIER,
                     "E-BAR-COUNT: barrier %u waits for %u threads, the block has %u in %u warps", id,
                     cta->bar[id].expected, block[0] * block[1] * block[2], cta->nwarps);
        return true;
    }
    return false;
}

/* Where the lanes of a warp stand that waits for ever: those that run, and some of the groups that are
 * parked. */
static void report_places(Warp *warp, SimTrapKind kind, const Grid *grid) {
    char text[200] = "";
    size_t used = 0;
    for (uint32_t left = warp->valid & ~warp->active; left && used < sizeof text;) {
        uint32_t pc = warp->rpc[low_lane(left)], there = 0;
        for (uint32_t m = left; m; m &= m - 1)
            there |= warp->rpc[low_lane(m)] == pc ? m & -m : 0;
        left &= ~there;
        const Dec *dec = machine_dec_at(warp, pc);
        const char *what = dec ? isa_optype_name(dec->optype) : "?";
        int n = snprintf(text + used, sizeof text - used, ", 0x%08x at 0x%llx %s", there,
                         (unsigned long long)pc * INST_BYTES, what);
        used += n > 0 ? (size_t)n : 0;
    }
    machine_trap(warp, NULL, low_lane(warp->active), kind,
                 "valid 0x%08x active 0x%08x%s, %llu of %llu blocks", warp->valid, warp->active, text,
                 (unsigned long long)grid->n, (unsigned long long)grid->total);
}

/* Nobody can go on, or the state repeats: bring in another block, or give up. */
static bool stuck(Grid *grid, SimTrapKind kind) {
    Run *run = grid->r;
    if (has_more(grid) && grid->n < run->opt.max_resident) {
        grid->want = grid->n + 1;
        return true;
    }
    if (grid->crew) {
        machine_crew_hand_over(grid->crew, grid);
        return true;
    }
    if (report_split_warp(grid) || (kind == TRAP_DEADLOCK && report_count(grid)))
        return false;
    for (uint32_t s = 0; s < grid->n; s++)
        for (uint32_t i = 0; i < grid->slots[s]->nwarps; i++) {
            Warp *warp = &grid->slots[s]->warps[i];
            if (warp->state == WARP_DONE)
                continue;
            if (warp->state == WARP_AT_BARRIER)
                machine_trap(warp, warp->pc ? &warp->prog[warp->pc - 1] : NULL, low_lane(warp->active), kind,
                             "warp %u waits at barrier %u", warp->index, warp->barrier);
            else
                report_places(warp, kind, grid);
            return false;
        }
    return false;
}

static bool grid_step(Grid *grid) {
    Run *run = grid->r;
    start_blocks(grid);
    if (grid->crew)
        machine_crew_drop_unwanted(grid->crew, grid);
    bool ran;
    uint64_t alarm;
    if (!turn(grid, &ran, &alarm))
        return false;
    for (uint32_t s = grid->n; s-- > 0;)
        if (grid->slots[s]->ndone == grid->slots[s]->nwarps)
            end_block(grid, s);
    if (grid->n == 0)
        return true;
    if (!ran) {
        if (alarm == UINT64_MAX)
            return stuck(grid, TRAP_DEADLOCK);
        run->slept += alarm > run->ticks ? alarm - run->ticks : 0;
        run->ticks = alarm > run->ticks ? alarm : run->ticks;
    }
    /* With another choice to come, the same state is no proof, but a reason to try with one more block. */
    bool more = grid->crew || (has_more(grid) && grid->n < run->opt.max_resident);
    if (state_repeats(grid) && (more || grid->saved_random == run->random)) {
        grid->have_saved = false;
        return stuck(grid, TRAP_LIVELOCK);
    }
    if (grid->quiet_version != run->mem_version) {
        grid->quiet_version = run->mem_version;
        grid->quiet_since = run->ticks;
    }
    if (run->ticks - grid->idle_since > ADD_BLOCK_AFTER || run->ticks - grid->quiet_since > QUIET) {
        if (grid->crew && !has_more(grid) && machine_crew_waits(grid->crew))
            machine_crew_hand_over(grid->crew, grid);
        else if (grid->n < run->opt.max_resident)
            grid->want = grid->n + 1;
        grid->idle_since = grid->quiet_since = run->ticks;
    }
    return true;
}

/* A warp of each block executes an instruction at least, so a launch of too many warps is over before it
 * begins. */
static bool within_budget(Run *run, uint64_t blocks) {
    const uint32_t *block = run->launch->block;
    uint64_t warps = ((uint64_t)block[0] * block[1] * block[2] + 31) / 32;
    if (blocks <= run->opt.max_issues / warps)
        return true;
    SimTrap *trap = &run->res->trap;
    trap->kind = TRAP_BUDGET;
    snprintf(trap->kernel, sizeof trap->kernel, "%s", run->kernel->name);
    snprintf(trap->text, sizeof trap->text, "%llu blocks of %llu warps, %llu warp instructions",
             (unsigned long long)blocks, (unsigned long long)warps, (unsigned long long)run->opt.max_issues);
    run->trapped = true;
    return false;
}

void machine_grid_init(Grid *grid, Run *run, Crew *crew) {
    const uint32_t *size = run->launch->grid;
    uint64_t total = (uint64_t)size[0] * size[1] * size[2];
    *grid = (Grid){.r = run,
                   .crew = crew,
                   .total = total,
                   .share = {0, crew ? 0 : total},
                   .want = 1,
                   .next_check = PROOF_INTERVAL};
}

bool machine_grid_run(Grid *grid) {
    bool ok = true;
    while (ok && !grid->ended && (grid->n || has_more(grid)))
        ok = grid_step(grid);
    return ok;
}

bool machine_cta_run_grid(Run *run) {
    Grid g;
    machine_grid_init(&g, run, NULL);
    g.spare = machine_take_block(run);
    bool ok = within_budget(run, g.total);
    if (ok)
        ok = machine_crew_size(run) > 1 ? machine_crew_run(run, &g) : machine_grid_run(&g);
    for (uint32_t s = 0; s < g.n; s++)
        machine_cta_free(g.slots[s]);
    machine_give_block(run, g.spare);
    mem_free(g.slots);
    return ok && !run->trapped;
}
