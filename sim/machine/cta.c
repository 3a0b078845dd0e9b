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
#include "sim/machine/internal.h"
#include <stdlib.h>
#include <string.h>
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

/* Ticks between looks at the state: at least so many, and one for each STATE_PER_TICK bytes of it. A loop is
 * met in another phase at every look, so it takes up to as many looks as the loop is long. */
enum { PROOF_INTERVAL = 1 << 12, STATE_PER_TICK = 4, ADD_BLOCK_AFTER = 1 << 24 };
/* Bytes of memory that may be hashed: so many, and more for each tick. */
enum { HASH_AT_ONCE = 1 << 20, HASH_PER_TICK = 8 };

typedef struct {
    Run *r;
    Cta **slots; /* resident blocks, in the order in which they started */
    uint32_t n, cap;
    Cta *spare;           /* memory of a finished block */
    uint64_t next, total; /* linear block numbers */
    uint32_t want;        /* resident blocks to keep */
    uint64_t idle_since;  /* tick of the last start or end of a block */
    /* Brent's cycle search */
    XXH128_hash_t saved, saved_memory;
    uint64_t saved_version, saved_clocks, saved_random, next_check, checks, save_at, hashed_bytes;
    bool have_saved, have_memory;
} Grid;

/* ---- memory of a block ---- */

static void warp_free(Warp *w) {
    free(w->rows);
    free(w->local);
    free(w->local_written);
    free(w->shadow);
}

void cta_free(Cta *c) {
    if (!c)
        return;
    for (uint32_t i = 0; c->warps && i < c->nwarps; i++)
        warp_free(&c->warps[i]);
    free(c->warps);
    free(c->shared);
    free(c->shared_written);
    free(c);
}

static bool warp_create(Run *r, Cta *c, uint32_t index) {
    Warp *w = &c->warps[index];
    w->run = r;
    w->cta = c;
    w->prog = r->prog;
    w->index = index;
    void *rows = NULL;
    if (posix_memalign(&rows, ROW_BYTES, (size_t)ROW_COUNT * ROW_BYTES) != 0)
        return false;
    memset(rows, 0, (size_t)ROW_COUNT * ROW_BYTES);
    w->rows = rows;
    const uint32_t *block = r->launch->block;
    for (unsigned lane = 0; lane < 32; lane++) {
        uint32_t t = index * 32 + lane;
        w->tid[0][lane] = t % block[0];
        w->tid[1][lane] = t / block[0] % block[1];
        w->tid[2][lane] = t / block[0] / block[1];
    }
    w->local = calloc((size_t)r->local_bytes / 4 + 1, ROW_BYTES);
    return w->local && (!r->slow || shadow_create(r, w));
}

static unsigned checked_modes(const Run *r) {
    return (unsigned)r->slow | (unsigned)r->opt.report_undefined << 1;
}

static Cta *cta_create(Run *r) {
    uint32_t threads = r->launch->block[0] * r->launch->block[1] * r->launch->block[2];
    Cta *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->nwarps = (threads + 31) / 32;
    c->warps = calloc(c->nwarps, sizeof *c->warps);
    c->shared = calloc(1, r->shared_bytes + 64u);
    c->shared_written = r->slow ? calloc(1, r->shared_bytes + 64u) : NULL;
    bool ok = c->warps && c->shared && (!r->slow || c->shared_written);
    if (!c->warps)
        c->nwarps = 0;
    for (uint32_t i = 0; ok && i < c->nwarps; i++)
        ok = warp_create(r, c, i);
    if (!ok) {
        cta_free(c);
        return NULL;
    }
    return c;
}

static void warp_start(Run *r, Warp *w, uint32_t threads) {
    uint32_t first = w->index * 32, here = threads - first >= 32 ? 32 : threads - first;
    memset(w->rows, 0, (size_t)(r->rows_used < 255 ? r->rows_used : 255) * ROW_BYTES);
    if (r->ur_used)
        memset(w->rows + ROW_UR * ROW_BYTES, 0, REG_URZ * ROW_BYTES);
    if (w->local_hi > w->local_lo)
        memset(w->local + (size_t)w->local_lo * 32, 0, (size_t)(w->local_hi - w->local_lo) * ROW_BYTES);
    w->local_lo = UINT32_MAX;
    w->local_hi = 0;
    w->pc = (uint32_t)((r->kernel->address - r->bin->code_base) / INST_BYTES);
    w->valid = here == 32 ? ~0u : (1u << here) - 1;
    if (r->opt.replay && r->opt.replay->lanes & w->valid)
        w->valid &= r->opt.replay->lanes;
    w->active = w->first_valid = w->valid;
    w->yield = w->sleep = w->switch_mask = w->tried = w->blocked = 0;
    memset(w->p, 0, sizeof w->p);
    w->p[REG_PT] = w->p[PRED_UP + REG_UPT] = ~0u;
    memset(w->b, 0, sizeof w->b);
    memset(w->rpc, 0, sizeof w->rpc);
    w->state = WARP_READY;
    w->timer_on = false;
    w->red_copy = w->pick_next = w->hops = 0;
    if (w->shadow)
        shadow_reset(w);
}

static bool start_block(Grid *g) {
    Run *r = g->r;
    Cta *c = g->spare ? g->spare : cta_create(r);
    g->spare = NULL;
    if (!c)
        return false;
    if (g->n == g->cap) {
        uint32_t cap = g->cap ? g->cap * 2 : 8;
        Cta **p = realloc(g->slots, cap * sizeof(Cta *));
        if (!p) {
            cta_free(c);
            return false;
        }
        g->slots = p;
        g->cap = cap;
    }
    uint64_t n = g->next++;
    const uint32_t *grid = r->launch->grid, *block = r->launch->block;
    c->id[0] = (uint32_t)(n % grid[0]);
    c->id[1] = (uint32_t)(n / grid[0] % grid[1]);
    c->id[2] = (uint32_t)(n / grid[0] / grid[1]);
    c->ndone = 0;
    memset(c->bar, 0, sizeof c->bar);
    memset(c->shared, 0, r->shared_bytes);
    if (c->shared_written)
        memset(c->shared_written, 0, r->shared_bytes);
    for (uint32_t i = 0; i < c->nwarps; i++)
        warp_start(r, &c->warps[i], block[0] * block[1] * block[2]);
    g->slots[g->n++] = c;
    g->idle_since = r->ticks;
    g->have_saved = false;
    if (g->n > r->res->stats.max_resident)
        r->res->stats.max_resident = g->n;
    return true;
}

static void end_block(Grid *g, uint32_t slot) {
    cta_free(g->spare);
    g->spare = g->slots[slot];
    memmove(&g->slots[slot], &g->slots[slot + 1], (g->n - slot - 1) * sizeof(Cta *));
    g->n--;
    g->want = g->n > 1 ? g->n : 1;
    g->idle_since = g->r->ticks;
    g->have_saved = false;
}

/* ---- running ---- */

/* Let one ready warp issue up to a quantum; false after a trap. */
static bool run_warp(Run *r, Warp *w) {
    uint64_t end = r->ticks + r->opt.quantum;
    if (w->timer_on && w->deadline < end)
        end = w->deadline;
    if (r->opt.max_issues && end > r->opt.max_issues + r->slept)
        end = r->opt.max_issues + r->slept;
    int status = RUN_PAUSE;
    if (end > r->ticks) {
        r->quota = (int64_t)(end - r->ticks);
        r->ticks = end;
        status = r->slow ? shadow_issue(w) : r->level->issue(w);
        r->ticks -= (uint64_t)r->quota;
        r->quota = 0;
    }
    if (w->timer_on && r->ticks >= w->deadline) {
        w->timer_on = false;
        w->sleep = 0;
        if (w->state == WARP_ASLEEP)
            w->state = WARP_READY;
    }
    return status != RUN_TRAP;
}

static void wake(const Run *r, Warp *w) {
    if (w->state == WARP_ASLEEP && r->ticks >= w->deadline) {
        w->timer_on = false;
        w->sleep = 0;
        w->state = WARP_READY;
    }
}

/* One turn of every resident warp. *ran: somebody issued; *alarm: first deadline of a sleeper. */
static bool turn(Grid *g, bool *ran, uint64_t *alarm) {
    Run *r = g->r;
    *ran = false;
    *alarm = UINT64_MAX;
    for (uint32_t s = 0; s < g->n; s++)
        for (uint32_t i = 0; i < g->slots[s]->nwarps; i++) {
            Warp *w = &g->slots[s]->warps[i];
            wake(r, w);
            if (w->state == WARP_ASLEEP && w->deadline < *alarm)
                *alarm = w->deadline;
            if (w->state != WARP_READY)
                continue;
            *ran = true;
            if (!run_warp(r, w))
                return false;
            if (r->opt.max_issues && r->ticks >= r->opt.max_issues + r->slept && w->state != WARP_DONE) {
                machine_trap(w, NULL, w->active ? low_lane(w->active) : 0, TRAP_BUDGET,
                             "%llu warp instructions", (unsigned long long)r->opt.max_issues);
                return false;
            }
        }
    return true;
}

/* ---- proof of no progress ---- */

static void hash_warp(const Run *r, const Warp *w, XXH3_state_t *h) {
    struct {
        uint32_t pc, valid, active, yield, sleep, switch_mask, tried, blocked, pick_next, red_copy, state,
            barrier, timer_on;
        uint64_t remaining;
        uint32_t p[PRED_SINK], b[16], rpc[32];
    } s;
    memset(&s, 0, sizeof s);
    s.state = w->state;
    if (w->state != WARP_DONE) {
        s.pc = w->pc, s.valid = w->valid, s.active = w->active, s.yield = w->yield, s.sleep = w->sleep;
        s.switch_mask = w->switch_mask, s.tried = w->tried, s.blocked = w->blocked,
        s.pick_next = w->pick_next, s.red_copy = w->red_copy;
        s.barrier = w->state == WARP_AT_BARRIER ? w->barrier : 0;
        s.timer_on = w->timer_on;
        s.remaining = w->timer_on ? w->deadline - r->ticks : 0;
        memcpy(s.p, w->p, sizeof s.p);
        memcpy(s.b, w->b, sizeof s.b);
        for (unsigned i = 0; i < 32; i++)
            s.rpc[i] = (w->valid & ~w->active) >> i & 1 ? w->rpc[i] : 0;
    }
    XXH3_128bits_update(h, &s, sizeof s);
    if (w->state != WARP_DONE) {
        XXH3_128bits_update(h, w->rows, (size_t)r->rows_used * ROW_BYTES);
        if (r->ur_used)
            XXH3_128bits_update(h, w->rows + ROW_UR * ROW_BYTES, REG_URZ * ROW_BYTES);
    }
}

/* Everything but memory and random lane choices. */
static XXH128_hash_t hash_state(const Grid *g) {
    XXH3_state_t h;
    XXH3_128bits_reset(&h);
    for (uint32_t s = 0; s < g->n; s++) {
        for (unsigned i = 0; i < NUM_BARRIERS; i++) {
            const Barrier *b = &g->slots[s]->bar[i];
            uint32_t v[7] = {b->count,
                             b->expected,
                             b->kind,
                             b->redop,
                             (uint32_t)b->and_so_far | (uint32_t)b->or_so_far << 1,
                             b->popc,
                             b->waiting};
            XXH3_128bits_update(&h, v, sizeof v);
        }
        for (uint32_t i = 0; i < g->slots[s]->nwarps; i++)
            hash_warp(g->r, &g->slots[s]->warps[i], &h);
    }
    return XXH3_128bits_digest(&h);
}

static uint64_t local_bytes_used(const Warp *w) {
    return w->local_hi > w->local_lo ? (uint64_t)(w->local_hi - w->local_lo) * ROW_BYTES : 0;
}

/* Global memory, and shared and local memory of the resident blocks; false if that is too much by now. */
static bool hash_memory(Grid *g, XXH128_hash_t *out) {
    const Run *r = g->r;
    const SimMemory *m = r->mem;
    uint64_t bytes = (uint64_t)g->n * r->shared_bytes;
    for (uint32_t i = 0; i < m->nallocs; i++)
        bytes += m->allocs[i].read_only ? 0 : m->allocs[i].size_bytes;
    for (uint32_t s = 0; s < g->n; s++)
        for (uint32_t i = 0; i < g->slots[s]->nwarps; i++)
            bytes += local_bytes_used(&g->slots[s]->warps[i]);
    if (g->hashed_bytes + bytes > HASH_AT_ONCE + HASH_PER_TICK * r->ticks)
        return false;
    g->hashed_bytes += bytes;
    XXH3_state_t h;
    XXH3_128bits_reset(&h);
    for (uint32_t i = 0; i < m->nallocs; i++)
        if (!m->allocs[i].read_only)
            XXH3_128bits_update(&h, m->allocs[i].data, (size_t)m->allocs[i].size_bytes);
    for (uint32_t s = 0; s < g->n; s++) {
        XXH3_128bits_update(&h, g->slots[s]->shared, r->shared_bytes);
        for (uint32_t i = 0; i < g->slots[s]->nwarps; i++) {
            const Warp *w = &g->slots[s]->warps[i];
            uint32_t range[2] = {w->local_lo, w->local_hi};
            XXH3_128bits_update(&h, range, sizeof range);
            if (local_bytes_used(w))
                XXH3_128bits_update(&h, w->local + (size_t)w->local_lo * 32, (size_t)local_bytes_used(w));
        }
    }
    *out = XXH3_128bits_digest(&h);
    return true;
}

static bool same_as_saved(Grid *g) {
    const Run *r = g->r;
    if (!g->have_saved || g->saved_clocks != r->clock_reads)
        return false;
    if (g->saved_version != r->mem_version && !g->have_memory)
        return false;
    if (!XXH128_isEqual(hash_state(g), g->saved))
        return false;
    XXH128_hash_t memory;
    return g->saved_version == r->mem_version ||
           (hash_memory(g, &memory) && XXH128_isEqual(memory, g->saved_memory));
}

/* Has this very state been seen before, but perhaps for the random lane choices to come? When to look follows
 * from the state alone, so in an endless loop the looks repeat as well. */
static bool state_repeats(Grid *g) {
    Run *r = g->r;
    if (r->opt.no_deadlock_proof || r->ticks < g->next_check)
        return false;
    uint64_t warps = 0;
    for (uint32_t s = 0; s < g->n; s++)
        warps += g->slots[s]->nwarps - g->slots[s]->ndone;
    uint64_t interval = warps * r->rows_used * ROW_BYTES / STATE_PER_TICK;
    g->next_check = r->ticks + (interval > PROOF_INTERVAL ? interval : PROOF_INTERVAL);
    if (same_as_saved(g))
        return true;
    if (!g->have_saved) {
        g->checks = 0;
        g->save_at = 1;
    }
    if (!g->have_saved || ++g->checks == g->save_at) {
        g->saved = hash_state(g);
        g->have_memory = g->save_at > 1 && hash_memory(g, &g->saved_memory); /* short blocks need none */
        g->saved_version = r->mem_version;
        g->saved_clocks = r->clock_reads;
        g->saved_random = r->random;
        g->have_saved = true;
        g->checks = 0;
        g->save_at *= 2;
    }
    return false;
}

/* Is code[pc] a WARPSYNC in front of a barrier? */
static bool gathers_for_barrier(const Run *r, uint32_t pc) {
    char error[ISA_ERROR_BYTES];
    MachInst in;
    if (pc + 1 >= r->ncode || !isa_decode(r->bin->target, r->code[pc], &in, error) ||
        in.optype != OT_WARPSYNC)
        return false;
    return isa_decode(r->bin->target, r->code[pc + 1], &in, error) &&
           (in.optype == OT_BAR || in.optype == OT_BAR_RED);
}

/* A warp whose lanes wait for each other in front of different barriers: the program is wrong there. */
static bool report_split_warp(Grid *g) {
    for (uint32_t s = 0; s < g->n; s++)
        for (uint32_t i = 0; i < g->slots[s]->nwarps; i++) {
            Warp *w = &g->slots[s]->warps[i];
            uint32_t lanes = w->state == WARP_DONE || w->state == WARP_AT_BARRIER ? 0 : w->valid;
            for (; lanes; lanes &= lanes - 1) {
                unsigned lane = low_lane(lanes);
                uint32_t pc = w->active >> lane & 1 ? w->pc : w->rpc[lane];
                if (!gathers_for_barrier(g->r, pc))
                    continue;
                machine_trap(w, &w->prog[pc], lane, TRAP_DIVERGENT_BARRIER,
                             "a part of warp %u waits for the others", w->index);
                return true;
            }
        }
    return false;
}

/* E-BAR-EXITED: an explicit count is compared with arrivals alone, so exited warps are missing for ever. */
static bool report_exited(Grid *g) {
    unsigned id;
    for (uint32_t s = 0; s < g->n; s++) {
        Cta *c = g->slots[s];
        if (!barrier_waits_for_exited(c, &id))
            continue;
        Warp *w = &c->warps[low_lane(c->bar[id].waiting)];
        machine_trap(w, &w->prog[w->pc - 1], low_lane(w->active), TRAP_BARRIER,
                     "E-BAR-EXITED: barrier %u: %u of %u threads arrived, %u warps have exited", id,
                     c->bar[id].count, c->bar[id].expected, c->ndone);
        return true;
    }
    return false;
}

/* Nobody can go on, or the state repeats: bring in another block, or give up. */
static bool stuck(Grid *g, SimTrapKind kind) {
    Run *r = g->r;
    if (g->next < g->total && g->n < r->opt.max_resident) {
        g->want = g->n + 1;
        return true;
    }
    if (report_split_warp(g) || (kind == TRAP_DEADLOCK && report_exited(g)))
        return false;
    for (uint32_t s = 0; s < g->n; s++)
        for (uint32_t i = 0; i < g->slots[s]->nwarps; i++) {
            Warp *w = &g->slots[s]->warps[i];
            if (w->state == WARP_DONE)
                continue;
            if (w->state == WARP_AT_BARRIER)
                machine_trap(w, w->pc ? &w->prog[w->pc - 1] : NULL, low_lane(w->active), kind,
                             "warp %u waits at barrier %u", w->index, w->barrier);
            else
                machine_trap(w, NULL, low_lane(w->active), kind,
                             "valid 0x%08x active 0x%08x, %llu of %llu blocks", w->valid, w->active,
                             (unsigned long long)g->n, (unsigned long long)g->total);
            return false;
        }
    return false;
}

static bool step(Grid *g) {
    Run *r = g->r;
    while (g->n < g->want && g->next < g->total)
        if (!start_block(g))
            return false;
    bool ran;
    uint64_t alarm;
    if (!turn(g, &ran, &alarm))
        return false;
    for (uint32_t s = g->n; s-- > 0;)
        if (g->slots[s]->ndone == g->slots[s]->nwarps)
            end_block(g, s);
    if (g->n == 0)
        return true;
    if (!ran) {
        if (alarm == UINT64_MAX)
            return stuck(g, TRAP_DEADLOCK);
        r->slept += alarm > r->ticks ? alarm - r->ticks : 0;
        r->ticks = alarm > r->ticks ? alarm : r->ticks;
    }
    /* With another choice to come, the same state is no proof, but a reason to try with one more block. */
    bool more = g->next < g->total && g->n < r->opt.max_resident;
    if (state_repeats(g) && (more || g->saved_random == r->random)) {
        g->have_saved = false;
        return stuck(g, TRAP_LIVELOCK);
    }
    if (r->ticks - g->idle_since > ADD_BLOCK_AFTER && g->n < r->opt.max_resident) {
        g->want = g->n + 1;
        g->idle_since = r->ticks;
    }
    return true;
}

bool cta_run_grid(Run *r) {
    Grid g = {.r = r, .want = 1, .next_check = PROOF_INTERVAL};
    if (r->spare_for == checked_modes(r)) {
        g.spare = r->spare;
        r->spare = NULL;
    }
    g.total = (uint64_t)r->launch->grid[0] * r->launch->grid[1] * r->launch->grid[2];
    bool ok = true;
    while (ok && (g.n || g.next < g.total))
        ok = step(&g);
    for (uint32_t s = 0; s < g.n; s++)
        cta_free(g.slots[s]);
    cta_free(r->spare);
    r->spare = g.spare;
    r->spare_for = checked_modes(r);
    free(g.slots);
    return ok && !r->trapped;
}
