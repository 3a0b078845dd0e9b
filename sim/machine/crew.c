/* Blocks of a grid over several threads.
 *
 * Each thread has a Run of its own: decoded instructions, compiled code, clock, statistics, findings. They
 * share the launch, the constant banks and global memory, in which atomics are the host's. Each begins with a
 * part of the grid of its own, the same in every launch: a core then finds the memory of its blocks in its
 * caches, where launches one after the other work on the same. A thread takes the lowest blocks that nobody
 * has of its part, then of others', and executes them one after the other as a single one would: blocks that
 * do not wait for each other execute the same instructions, whoever executes them. It takes several, because
 * of short blocks each is as quickly executed as the host's cores pass the number of the next one, and
 * because neighbours work on neighbouring memory; fewer towards the end, which all threads are to reach
 * together.
 *
 * A thread cannot prove that its blocks wait for ever, for the others' may wake them. Where a single thread
 * would make one more block resident so does it, and when there is none, or nothing is left of the budget, it
 * hands its blocks over and ends. When all have ended, one thread goes on with these, alone: deadlocks, and
 * the budget to the instruction, are its business.
 *
 *       thread 0   [0][1]....[2 waits             ]   alone: [2][3][5]
 *       thread 1   [3 waits ][4]
 *
 * Of several blocks that trap the lowest one is reported, which a single thread would have come to first:
 * blocks behind it are given up, those before it finished. What the others had written by then stays written.
 * So the trap is the same with any number of threads, for programs whose blocks do not race.
 *
 * On one thread stays what follows an order of all blocks, or calls back: the checked modes, traces,
 * schedules, handlers of host calls, random choices of lanes, programs that call functions of the driver,
 * surfaces. SPDX-License-Identifier: MIT */
#include "base/scope.h"
#include "sim/machine/grid.h"
#include "sim/machine/jit.h"
#include "sim/machine/threads.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_CREW = MAX_THREADS + 1,
    BUDGET_SHARE = 1 << 20,
    MOST_BLOCKS = 64,      /* of a share */
    SHARES_OF_A_PART = 4,  /* that the blocks that are left of it make at least */
    PIECES_OF_A_PART = 128 /* and no share is less than one of these: so much threads may wait at the end */
};

typedef struct { /* of the grid: blocks that are in no share */
    uint64_t next, end, least;
    char apart[2 * DEC_LINE_BYTES]; /* another thread writes what follows */
} Part;

typedef struct {
    Crew *crew;
    bool started;
    ScopeResult end; /* of one that has begun */
    bool began;
    Run run;
    MachineResult res;
    MachineJit *jit;  /* NULL: it interprets everything */
    uint64_t trapped; /* number of its block that trapped */
} Helper;

typedef struct { /* a block that was handed over */
    Cta *cta;
    const Helper *owner; /* whose memory it is; NULL: of the thread that called */
    uint64_t ticks;      /* of the thread that had it */
} Waiting;

struct Crew {
    Run *run; /* of the thread that called */
    uint64_t total;
    uint64_t first_trap; /* lowest block that trapped; UINT64_MAX */
    uint64_t budget;     /* instructions that nobody has taken */
    bool stop;
    ScopeLimits limits;            /* of each helper */
    MachineThreads *threads, *own; /* own: those of this launch alone */
    pthread_mutex_t lock;
    Waiting *waiting;
    Cta **begun; /* of these, in their order, what goes on at the end */
    uint32_t nwaiting, nhelpers, nparts, nleft;
    BlockRange left[2 * MAX_CREW];  /* of shares, and of parts */
    char apart[2 * DEC_LINE_BYTES]; /* all threads read what is before it, block by block */
    Part parts[MAX_CREW];
    char guard; /* its address is for scope_guard */
    Helper helpers[];
};

uint32_t machine_crew_size(const Run *run) {
    const Launch *l = run->launch;
    uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    bool ordered = run->slow || run->opt.call || run->opt.lane_choice == MACHINE_LANE_RANDOM ||
                   run->bin->nexterns || run->mem->ntextures;
    uint32_t jobs = run->opt.jobs < MAX_CREW ? run->opt.jobs : MAX_CREW;
    if (ordered || jobs < 2 || run->cluster_blocks > 1)
        return 1;
    return blocks < jobs ? (uint32_t)blocks : jobs;
}

/* ---- what the threads share ---- */

static uint64_t shared_load(const uint64_t *at) { return __atomic_load_n(at, __ATOMIC_ACQUIRE); }

uint64_t machine_crew_last_wanted(const Crew *crew) {
    uint64_t trap = shared_load(&crew->first_trap);
    return trap < crew->total ? trap : crew->total - 1;
}

/* Before the end of a part, and wanted. */
static uint64_t part_end(const Crew *crew, const Part *part) {
    uint64_t last = machine_crew_last_wanted(crew);
    return part->end <= last ? part->end : last + 1;
}

bool machine_crew_more(const Crew *crew) {
    for (uint32_t i = 0; i < crew->nparts; i++)
        if (shared_load(&crew->parts[i].next) < part_end(crew, &crew->parts[i]))
            return true;
    return false;
}

bool machine_crew_take(Crew *crew, uint32_t thread, BlockRange *share) {
    for (uint32_t i = 0; i < crew->nparts; i++) {
        Part *part = &crew->parts[(thread + i) % crew->nparts];
        uint64_t next = shared_load(&part->next), n = 0;
        if (next >= part_end(crew, part))
            continue;
        n = (part->end - next) / SHARES_OF_A_PART;
        n = n < part->least ? part->least : n > MOST_BLOCKS ? MOST_BLOCKS : n;
        share->next = __atomic_fetch_add(&part->next, n, __ATOMIC_ACQ_REL);
        share->end = share->next + n < part->end ? share->next + n : part->end;
        if (share->next < share->end)
            return true;
    }
    return false;
}

void machine_crew_extend_budget(Crew *crew, Run *run) {
    uint64_t left = shared_load(&crew->budget), share;
    do
        share = left < BUDGET_SHARE ? left : BUDGET_SHARE;
    while (share && !__atomic_compare_exchange_n(&crew->budget, &left, left - share, false, __ATOMIC_ACQ_REL,
                                                 __ATOMIC_ACQUIRE));
    run->budget += share;
}

/* What it has not used of its shares. */
static void return_budget(Crew *crew, Run *run) {
    uint64_t used = run->ticks - run->slept;
    if (run->budget > used)
        __atomic_fetch_add(&crew->budget, run->budget - used, __ATOMIC_ACQ_REL);
    run->budget = used;
}

static void note_trap(Crew *crew, uint64_t number) {
    uint64_t first = shared_load(&crew->first_trap);
    while (number < first && !__atomic_compare_exchange_n(&crew->first_trap, &first, number, false,
                                                          __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
}

void machine_crew_drop_unwanted(const Crew *crew, Grid *grid) {
    uint64_t last = machine_crew_last_wanted(crew);
    for (uint32_t s = grid->n; s-- > 0;)
        if (grid->slots[s]->number > last) {
            machine_cta_free(grid->slots[s]);
            machine_grid_drop(grid, s);
        }
}

bool machine_crew_waits(Crew *crew) {
    pthread_mutex_lock(&crew->lock);
    bool some = crew->nwaiting != 0;
    pthread_mutex_unlock(&crew->lock);
    return some;
}

void machine_crew_hand_over(Crew *crew, Grid *grid) {
    const Helper *owner = NULL;
    for (uint32_t i = 0; i < crew->nhelpers; i++)
        if (&crew->helpers[i].run == grid->r)
            owner = &crew->helpers[i];
    pthread_mutex_lock(&crew->lock);
    grid->ended = true; /* so there is room: a thread hands over once, what it may have resident */
    if (grid->share.next < grid->share.end)
        crew->left[crew->nleft++] = grid->share;
    grid->share = (BlockRange){0};
    for (; grid->n; machine_grid_drop(grid, 0)) {
        Cta *cta = grid->slots[0];
        cta->borrowed = owner != NULL;
        crew->waiting[crew->nwaiting++] = (Waiting){cta, owner, grid->r->ticks};
    }
    pthread_mutex_unlock(&crew->lock);
}

/* ---- a thread ---- */

static uint64_t block_number(const Run *run, const uint32_t id[3]) {
    const uint32_t *grid = run->launch->grid;
    return id[0] + grid[0] * (id[1] + (uint64_t)grid[1] * id[2]);
}

/* Execute blocks as long as there are any. *trapped: the number of one that trapped. */
static void work(Crew *crew, Grid *grid, uint64_t *trapped) {
    *trapped = UINT64_MAX;
    if (!machine_grid_run(grid)) {
        *trapped = block_number(grid->r, grid->r->res->trap.block);
        note_trap(crew, *trapped);
        for (uint32_t s = grid->n; s-- > 0;)
            if (grid->slots[s]->number >= *trapped) {
                machine_cta_free(grid->slots[s]);
                machine_grid_drop(grid, s);
            }
    }
    machine_crew_hand_over(crew, grid); /* what is before it */
    return_budget(crew, grid->r);
}

static void helper_body(void *user) {
    Helper *helper = user;
    Run *run = &helper->run;
    Grid grid;
    machine_take_program(run, &(Diags){0}); /* the first thread has, of the same binary */
    if (helper->jit)
        run->jit = jit_attach(run, helper->jit);
    machine_grid_init(&grid, run, helper->crew);
    grid.thread = 1 + (uint32_t)(helper - helper->crew->helpers);
    grid.spare = machine_take_block(run);
    work(helper->crew, &grid, &helper->trapped);
    pthread_mutex_lock(&helper->crew->lock);
    machine_mark_reached(run);
    pthread_mutex_unlock(&helper->crew->lock);
    machine_give_block(run, grid.spare);
    machine_give_program(run);
    mem_free(grid.slots);
    arena_free(&run->arena);
}

static void helper_thread(void *user) {
    Helper *helper = user;
    helper->began = true;
    helper->end = scope_run(helper_body, helper, &helper->crew->limits);
}

void machine_crew_hold(Crew *crew) { pthread_mutex_lock(&crew->lock); }
void machine_crew_release(Crew *crew) { pthread_mutex_unlock(&crew->lock); }

static bool is_stopped(void *user) { return __atomic_load_n(&((Crew *)user)->stop, __ATOMIC_RELAXED); }

/* ---- the crew ---- */

/* Those that have not begun do not: there is nothing left for them. */
static void take_back(Crew *crew) {
    for (uint32_t i = 0; i < crew->nhelpers; i++)
        if (crew->helpers[i].started && machine_threads_take_back(crew->threads, i))
            crew->helpers[i].started = false;
}

/* A helper that gave up has released its memory itself. */
static bool is_done(const Helper *helper) { return helper->began && helper->end.end == SCOPE_DONE; }

/* End the helpers' work and release what they have left. Also when the launch is given up. */
static void dismiss(void *guard) {
    Crew *crew = (Crew *)(void *)((char *)guard - offsetof(Crew, guard));
    __atomic_store_n(&crew->stop, true, __ATOMIC_RELAXED);
    take_back(crew);
    for (uint32_t i = 0; i < crew->nhelpers; i++)
        while (crew->helpers[i].started && !machine_threads_wait(crew->threads, i))
            ;
    for (uint32_t i = 0; i < crew->nwaiting; i++)
        if (crew->waiting[i].owner && is_done(crew->waiting[i].owner))
            machine_cta_free(crew->waiting[i].cta);
    for (uint32_t i = 0; i < crew->nhelpers; i++)
        if (is_done(&crew->helpers[i]))
            machine_result_free(&crew->helpers[i].res);
    machine_threads_close(crew->own);
    pthread_mutex_destroy(&crew->lock);
}

static void start_helper(Crew *crew, Helper *helper) {
    uint32_t number = (uint32_t)(helper - crew->helpers);
    helper->crew = crew;
    helper->run = *crew->run;
    helper->run.arena = (Arena){0};
    helper->run.res = &helper->res;
    helper->run.program = NULL;
    helper->run.prog = NULL;
    memset(&helper->run.decoded, 0, sizeof helper->run.decoded);
    helper->run.around = NULL;
    helper->run.jit = NULL;
    if (crew->run->jit)
        helper->jit = jit_member(crew->run->opt.jit, 1 + number);
    helper->trapped = UINT64_MAX;
    helper->started =
        machine_threads_give(crew->threads, number, helper_thread, helper); /* fewer do as well */
}

static void wait_for_helpers(Crew *crew) {
    take_back(crew);
    for (uint32_t i = 0; i < crew->nhelpers; i++) {
        while (crew->helpers[i].started && !machine_threads_wait(crew->threads, i))
            scope_poll();
        crew->helpers[i].started = false;
    }
    for (uint32_t i = 0; i < crew->nhelpers; i++)
        if (crew->helpers[i].began && !is_done(&crew->helpers[i]))
            scope_give_up(crew->helpers[i].end.end, crew->helpers[i].end.what);
}

/* ---- afterwards ---- */

static void add_counts(Run *run, const Helper *helper) {
    MachineStats *sum = &run->res->stats;
    const MachineStats *stats = &helper->res.stats;
    for (unsigned i = 0; i < CLS_COUNT; i++) {
        run->cls[i].issues += helper->run.cls[i].issues;
        run->cls[i].lanes += helper->run.cls[i].lanes;
        run->cls[i].off += helper->run.cls[i].off;
        run->cls[i].all += helper->run.cls[i].all;
    }
    sum->bsync_releases += stats->bsync_releases;
    sum->switches += stats->switches;
    sum->bsync_hops += stats->bsync_hops;
    sum->divergences += stats->divergences;
    sum->barriers += stats->barriers;
    if (stats->max_resident > sum->max_resident)
        sum->max_resident = stats->max_resident;
    for (unsigned i = 0; i < ROW_SET_WORDS; i++)
        row_set_add_word(&run->named, i, helper->run.named.bits[i]);
    run->mem_version += helper->run.mem_version;
    run->clock_reads += helper->run.clock_reads;
}

typedef struct {
    MachineFinding finding;
    uint64_t block;
    uint32_t nth; /* in its thread's order */
} Found;

static int by_block(const void *a, const void *b) {
    const Found *x = a, *y = b;
    if (x->block != y->block)
        return x->block < y->block ? -1 : 1;
    return x->nth < y->nth ? -1 : x->nth > y->nth;
}

static void add_findings(const Run *run, Found *all, uint32_t *n, const MachineResult *res) {
    for (uint32_t i = 0; i < res->nfindings; i++)
        all[(*n)++] = (Found){res->findings[i], block_number(run, res->findings[i].block), i};
}

/* All threads' findings, each kind at each place once, by first occurrence in the order of the blocks. */
static void merge_findings(Crew *crew) {
    MachineResult *res = crew->run->res;
    uint32_t n = res->nfindings;
    for (uint32_t i = 0; i < crew->nhelpers; i++)
        n += crew->helpers[i].res.nfindings;
    if (n == res->nfindings)
        return;
    Found *all = mem_zeroed(n, sizeof *all);
    n = 0;
    add_findings(crew->run, all, &n, res);
    for (uint32_t i = 0; i < crew->nhelpers; i++) {
        add_findings(crew->run, all, &n, &crew->helpers[i].res);
        res->findings_dropped += crew->helpers[i].res.findings_dropped;
    }
    qsort(all, n, sizeof *all, by_block);
    if (!res->findings)
        res->findings = mem_zeroed(MACHINE_MAX_FINDINGS, sizeof *res->findings);
    res->nfindings = 0;
    for (uint32_t i = 0; i < n; i++) {
        const MachineFinding *f = &all[i].finding;
        uint32_t k = 0;
        while (k < res->nfindings &&
               (res->findings[k].kind != f->kind || res->findings[k].pc_bytes != f->pc_bytes ||
                res->findings[k].other_pc_bytes != f->other_pc_bytes))
            k++;
        if (k < res->nfindings)
            res->findings[k].count += f->count;
        else if (k < MACHINE_MAX_FINDINGS)
            res->findings[res->nfindings++] = *f;
        else
            res->findings_dropped += f->count;
    }
    mem_free(all);
}

static int by_next(const void *a, const void *b) {
    const BlockRange *x = a, *y = b;
    return x->next < y->next ? -1 : x->next > y->next;
}

/* Blocks before `end` that nobody has started. */
static void take_left(Crew *crew, Grid *grid, uint64_t end) {
    for (uint32_t i = 0; i < crew->nparts; i++)
        crew->left[crew->nleft++] = (BlockRange){shared_load(&crew->parts[i].next), crew->parts[i].end};
    qsort(crew->left, crew->nleft, sizeof *crew->left, by_next);
    for (uint32_t i = 0; i < crew->nleft; i++)
        if (crew->left[i].end > end)
            crew->left[i].end = end;
    grid->share = (BlockRange){0};
    grid->left = crew->left;
    grid->nleft = crew->nleft;
}

static int by_number(const void *a, const void *b) {
    const Waiting *x = a, *y = b;
    return x->cta->number < y->cta->number ? -1 : x->cta->number > y->cta->number;
}

/* Take over the blocks that were handed over and are wanted, with times as this thread's clock has them: as
 * many resident as a single thread would have, the others when these end. */
static void take_over(Crew *crew, Grid *grid) {
    Run *run = crew->run;
    grid->ended = false;
    grid->begun = crew->begun;
    qsort(crew->waiting, crew->nwaiting, sizeof *crew->waiting, by_number);
    for (uint32_t i = 0; i < crew->nwaiting; i++) {
        Cta *cta = crew->waiting[i].cta;
        uint64_t later = run->ticks - crew->waiting[i].ticks;
        if (cta->number > machine_crew_last_wanted(crew)) {
            if (!cta->borrowed)
                machine_cta_free(cta);
            continue;
        }
        for (uint32_t k = 0; k < cta->nwarps; k++) {
            Warp *warp = &cta->warps[k];
            warp->run = run;
            warp->prog = run->prog;
            warp->last_hop += later;
            if (warp->deadline != UINT64_MAX)
                warp->deadline += later;
        }
        crew->begun[grid->nbegun++] = cta;
    }
    if (grid->nbegun)
        grid->want = grid->nbegun < run->opt.max_resident ? grid->nbegun : run->opt.max_resident;
}

/* Go on alone: blocks that wait for each other, and those that nobody has started. */
static bool finish_alone(Crew *crew, Grid *grid, const SimTrap *first) {
    Run *run = crew->run;
    bool trapped = shared_load(&crew->first_trap) != UINT64_MAX;
    run->trapped = false;
    run->res->trap = (SimTrap){0};
    grid->crew = NULL;
    grid->total = machine_crew_last_wanted(crew) + !trapped;
    take_left(crew, grid, grid->total);
    take_over(crew, grid);
    run->budget = run->ticks - run->slept + shared_load(&crew->budget);
    bool ok = machine_grid_run(grid);
    /* what the block that trapped did not do the others may wait for: then that is what happened */
    SimTrapKind kind = run->res->trap.kind;
    if (trapped && (ok || kind == TRAP_DEADLOCK || kind == TRAP_LIVELOCK || kind == TRAP_BUDGET)) {
        run->res->trap = *first;
        run->trapped = true;
    }
    return ok && !trapped;
}

static uint64_t part_begin(const Crew *crew, uint32_t number) {
    uint64_t each = crew->total / crew->nparts, more = crew->total % crew->nparts;
    return each * number + (number < more ? number : more);
}

bool machine_crew_run(Run *run, Grid *grid) {
    uint32_t size = machine_crew_size(run);
    Crew *crew = mem_zeroed(1, sizeof *crew + (size - 1) * sizeof *crew->helpers);
    uint64_t resident = run->opt.max_resident < grid->total ? run->opt.max_resident : grid->total;
    crew->run = run;
    crew->total = grid->total;
    crew->first_trap = UINT64_MAX;
    crew->budget = run->opt.max_issues;
    crew->limits = scope_rest();
    crew->limits.cancel = is_stopped;
    crew->limits.cancel_user = crew;
    crew->waiting = mem_alloc(size * resident * sizeof *crew->waiting);
    crew->begun = mem_alloc(size * resident * sizeof *crew->begun);
    crew->threads = run->opt.threads ? run->opt.threads : (crew->own = machine_threads_open());
    pthread_mutex_init(&crew->lock, NULL);
    scope_guard(&crew->guard, dismiss);
    run->crew = crew;
    run->budget = 0;
    grid->crew = crew;
    grid->share = (BlockRange){0};
    crew->nhelpers = size - 1;
    crew->nparts = size;
    for (uint32_t i = 0; i < size; i++)
        crew->parts[i] = (Part){.next = part_begin(crew, i),
                                .end = part_begin(crew, i + 1),
                                .least = 1 + crew->total / size / PIECES_OF_A_PART};
    for (uint32_t i = 0; i < crew->nhelpers; i++)
        start_helper(crew, &crew->helpers[i]);
    uint64_t trapped;
    work(crew, grid, &trapped);
    wait_for_helpers(crew);
    run->crew = NULL;
    SimTrap first = run->res->trap;
    for (uint32_t i = 0; i < crew->nhelpers; i++) {
        add_counts(run, &crew->helpers[i]);
        if (crew->helpers[i].trapped < trapped) {
            trapped = crew->helpers[i].trapped;
            first = crew->helpers[i].res.trap;
        }
    }
    bool ok = finish_alone(crew, grid, &first);
    for (; grid->nbegun; grid->nbegun--, grid->begun++) /* to which it did not come */
        if (!(*grid->begun)->borrowed)
            machine_cta_free(*grid->begun);
    merge_findings(crew);
    for (uint32_t s = grid->n; s-- > 0;)
        if (grid->slots[s]->borrowed)
            machine_grid_drop(grid, s);
    scope_unguard(&crew->guard);
    dismiss(&crew->guard);
    mem_free(crew->waiting);
    mem_free(crew->begun);
    mem_free(crew);
    return ok;
}
