/* Counting branch profiles: see profile.h.
 *
 * Each block of threads that runs has a table of warp executions: key is a digest of warp, branch and the
 * rounds of the loops around it, value is which lanes came there and which way they went. A thread has one
 * number of rounds for each loop of a function: an edge back to the header adds one and sets the loops inside
 * to 0. Blocks run at most some at a time, in no order known here: the table that was used least recently
 * gives way to that of a new block. SPDX-License-Identifier: MIT */
#include "check/validate/cover/profile.h"
#include "base/rng.h"
#include "base/scope.h"
#include "ir/loops.h"
#include <string.h>

enum {
    TABLES = 64,           /* blocks at a time; the interpreter runs 16 */
    MOST_VISITS = 1 << 23, /* in one table */
    FEWEST_SLOTS = 256
};

typedef struct {
    uint64_t key; /* 0: free */
    uint32_t lanes, way;
    bool apart;
} Visit;

typedef struct { /* rounds of the loops of one function, by thread */
    uint32_t *rounds;
} FuncRounds;

typedef struct {
    uint64_t block, used; /* block: its number + 1; 0: free */
    Visit *visits;
    uint32_t nvisits, nslots;
    FuncRounds *funcs; /* [module->nfuncs] */
} BlockTable;

typedef struct {
    bool known;
    LoopForest loops; /* of statements; a node behind them for the end */
    Graph graph;
    bool recorded;                          /* by an earlier launch */
    uint32_t nrecorded[PTX_RECORDED_LANES]; /* of all branches, by lane */
} FuncLoops;

struct ProfileCounter {
    Arena arena;
    PtxProfile *profile;
    FuncLoops *loops; /* [module->nfuncs] */
    BlockTable tables[TABLES];
    BlockTable *last;
    uint32_t grid[3], block[3], nthreads;
    uint64_t now;
    bool full;
};

ProfileCounter *profile_counter_new(PtxProfile *profile) {
    ProfileCounter *counter = mem_zeroed(1, sizeof *counter);
    counter->profile = profile;
    counter->loops = ARENA_ARRAY(&counter->arena, FuncLoops, profile->module->nfuncs + 1);
    return counter;
}

static void clear_table(const ProfileCounter *counter, BlockTable *table) {
    for (uint32_t f = 0; table->funcs && f < counter->profile->module->nfuncs; f++)
        mem_free(table->funcs[f].rounds);
    mem_free(table->funcs);
    mem_free(table->visits);
    *table = (BlockTable){0};
}

void profile_counter_free(ProfileCounter *counter) {
    if (!counter)
        return;
    for (unsigned k = 0; k < TABLES; k++)
        clear_table(counter, &counter->tables[k]);
    arena_free(&counter->arena);
    mem_free(counter);
}

void profile_counter_launch(ProfileCounter *counter, const uint32_t grid[3], const uint32_t block[3]) {
    for (unsigned k = 0; k < TABLES; k++)
        clear_table(counter, &counter->tables[k]);
    counter->last = NULL;
    memcpy(counter->grid, grid, sizeof counter->grid);
    memcpy(counter->block, block, sizeof counter->block);
    counter->nthreads = block[0] * block[1] * block[2];
    for (uint32_t f = 0; f < counter->profile->module->nfuncs; f++)
        for (uint32_t k = 0; k < counter->profile->funcs[f].nbranches; k++)
            counter->loops[f].recorded |= counter->profile->funcs[f].branches[k].records != NULL;
}

bool profile_counter_was_full(const ProfileCounter *counter) { return counter->full; }

/* ---- loops of the text ---- */

static void find_loops(ProfileCounter *counter, uint32_t f) {
    const PtxFuncProfile *func = &counter->profile->funcs[f];
    uint32_t n = func->func->ninsns;
    Arena scratch = {0};
    VEC(GraphEdge) edges = {0};
    for (uint32_t k = 0; k < n; k++) {
        const PtxInsn *insn = &func->func->insns[k];
        const PtxBranch *branch = ptx_profile_branch(counter->profile, func->func, k);
        bool ends = insn->op == PTX_BRX || insn->op == PTX_BRA || insn->op == PTX_RET || insn->op == PTX_EXIT;
        for (uint32_t w = 0; branch && w < branch->nways; w++)
            if (branch->ways[w].to <= n)
                *VEC_PUSH(&scratch, &edges) = (GraphEdge){k, branch->ways[w].to};
        if (!branch && insn->op == PTX_BRA)
            *VEC_PUSH(&scratch, &edges) = (GraphEdge){k, func->func->labels[insn->operands[0].label].insn};
        if ((!branch && !ends) || insn->op == PTX_BRX) /* a guarded one may be passed over */
            *VEC_PUSH(&scratch, &edges) = (GraphEdge){k, k + 1};
    }
    FuncLoops *loops = &counter->loops[f];
    loops->graph = graph_new(&counter->arena, n + 1, edges.at, edges.n);
    loops->loops = loop_forest(&counter->arena, &loops->graph, 0);
    loops->known = true;
    arena_free(&scratch);
}

/* ---- tables ---- */

static BlockTable *block_table(ProfileCounter *counter, const uint32_t block[3]) {
    uint64_t number = ((uint64_t)block[2] << 48) + ((uint64_t)block[1] << 32) + block[0] + 1;
    BlockTable *oldest = &counter->tables[0];
    if (counter->last && counter->last->block == number)
        return counter->last;
    for (unsigned k = 0; k < TABLES; k++) {
        BlockTable *table = &counter->tables[k];
        if (table->block == number)
            return counter->last = table;
        if (table->used < oldest->used)
            oldest = table;
    }
    clear_table(counter, oldest);
    oldest->block = number;
    oldest->funcs = mem_zeroed(counter->profile->module->nfuncs + 1, sizeof *oldest->funcs);
    return counter->last = oldest;
}

static Visit *find_visit(const BlockTable *table, uint64_t key) {
    uint32_t at = (uint32_t)rng_mix(key) & (table->nslots - 1);
    while (table->visits[at].key && table->visits[at].key != key)
        at = (at + 1) & (table->nslots - 1);
    return &table->visits[at];
}

static void grow(BlockTable *table) {
    BlockTable old = *table;
    table->nslots = old.nslots ? old.nslots * 2 : FEWEST_SLOTS;
    table->visits = mem_zeroed(table->nslots, sizeof *table->visits);
    for (uint32_t k = 0; k < old.nslots; k++)
        if (old.visits[k].key)
            *find_visit(table, old.visits[k].key) = old.visits[k];
    mem_free(old.visits);
}

/* The execution in which the lane has not been yet; NULL: there is no room for another. */
static Visit *visit_of(ProfileCounter *counter, BlockTable *table, uint64_t key, uint32_t lane) {
    if (table->nvisits * 2 >= table->nslots)
        grow(table);
    for (;; key = rng_mix(key + RNG_STEP)) {
        Visit *visit = find_visit(table, key | 1);
        if (!visit->key) {
            if (table->nvisits >= MOST_VISITS) {
                counter->full = true;
                return NULL;
            }
            table->nvisits++;
            visit->key = key | 1;
        }
        if (!(visit->lanes >> lane & 1))
            return visit;
    }
}

static uint32_t *rounds_of(const ProfileCounter *counter, BlockTable *table, uint32_t f, uint32_t thread) {
    uint32_t n = counter->loops[f].loops.n;
    FuncRounds *func = &table->funcs[f];
    if (!func->rounds)
        func->rounds = mem_zeroed((size_t)counter->nthreads * n + 1, sizeof *func->rounds);
    return func->rounds + (size_t)thread * n;
}

/* ---- events ---- */

static void follow_edge(const FuncLoops *loops, uint32_t *rounds, uint32_t from, uint32_t to) {
    uint32_t l = to <= loops->graph.n ? loops->loops.innermost[to] : NO_NODE;
    if (l == NO_NODE || loops->loops.at[l].header != to || !loop_contains(&loops->loops, l, from))
        return;
    rounds[l]++;
    for (uint32_t k = 0; k < loops->loops.n; k++) /* few */
        if (k != l && loop_contains(&loops->loops, l, loops->loops.at[k].header))
            rounds[k] = 0;
}

static void count_lane(PtxBranch *branch, Visit *visit, uint32_t way, uint32_t lane) {
    PtxWay *mine = &branch->ways[way], *first;
    if (!visit->lanes) {
        visit->way = way;
        branch->warps++;
        mine->together++;
    }
    first = &branch->ways[visit->way];
    if (!visit->apart && visit->way != way) {
        visit->apart = true;
        first->together--;
        first->apart += (uint64_t)__builtin_popcount(visit->lanes);
        branch->divergent++;
    }
    mine->apart += visit->apart;
    visit->lanes |= 1u << lane;
}

/* Among those whose ways are recorded, which are spread evenly over the launch's warps; or more. */
static uint32_t recorded_lane(const ProfileCounter *counter, const uint32_t block[3], uint32_t thread) {
    const uint64_t most = PTX_RECORDED_LANES / 32;
    const uint32_t *grid = counter->grid;
    uint64_t in_block = (counter->nthreads + 31) / 32, all = in_block * grid[0] * grid[1] * grid[2],
             warp = ((block[2] * (uint64_t)grid[1] + block[1]) * grid[0] + block[0]) * in_block + thread / 32,
             place = all <= most ? warp : warp / ((all + most - 1) / most);
    bool first = all <= most || warp % ((all + most - 1) / most) == 0;
    return first ? (uint32_t)place * 32 + thread % 32 : PTX_RECORDED_LANES;
}

static void record_lane(ProfileCounter *counter, FuncLoops *func, PtxBranch *branch, uint32_t way,
                        uint32_t lane) {
    if (func->recorded || lane >= PTX_RECORDED_LANES || branch->nways > PTX_RECORDED_WAYS ||
        func->nrecorded[lane] >= PTX_MOST_RECORDED)
        return;
    func->nrecorded[lane]++;
    ptx_profile_record(&counter->profile->arena, branch, lane, way);
}

/* The way of the event; nways: none, a guarded brx.idx that was not executed. */
static uint32_t way_of(const PtxBranch *branch, const PtxInsn *insn, const PtxEvent *event) {
    if (insn->op != PTX_BRX)
        return event->executed ? 0 : 1;
    uint32_t way = 0;
    while (way < branch->nways && (!event->executed || branch->ways[way].to != event->next))
        way++;
    return way;
}

void profile_count(void *user, const PtxEvent *event) {
    ProfileCounter *counter = user;
    const PtxInsn *insn = &event->func->insns[event->insn];
    if (insn->op != PTX_BRA && insn->op != PTX_BRX && insn->op != PTX_RET && insn->op != PTX_EXIT)
        return;
    uint32_t f = (uint32_t)(event->func - counter->profile->module->funcs),
             thread = event->thread[0] +
                      counter->block[0] * (event->thread[1] + counter->block[1] * event->thread[2]);
    FuncLoops *loops = &counter->loops[f];
    if (!loops->known)
        find_loops(counter, f);
    BlockTable *table = block_table(counter, event->block);
    table->used = ++counter->now;
    uint32_t *rounds = rounds_of(counter, table, f, thread), lane = thread % 32;
    PtxBranch *branch = ptx_profile_branch(counter->profile, event->func, event->insn);
    uint32_t way = branch ? way_of(branch, insn, event) : 0;
    if (branch && way < branch->nways) {
        uint64_t key = rng_mix(((uint64_t)f << 32 | event->insn) + RNG_STEP * (thread / 32 + 1));
        for (uint32_t l = loops->loops.innermost[event->insn]; l != NO_NODE; l = loops->loops.at[l].parent)
            key = rng_mix(key + rounds[l]);
        branch->ways[way].lanes++;
        record_lane(counter, loops, branch, way, recorded_lane(counter, event->block, thread));
        Visit *visit = visit_of(counter, table, key, lane);
        if (visit)
            count_lane(branch, visit, way, lane);
    }
    if (event->executed && (insn->op == PTX_BRA || insn->op == PTX_BRX))
        follow_edge(loops, rounds, event->insn, event->next);
}
