/* Launches by trial: see auto_launch.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_search.h"
#include "base/rng.h"
#include "frontend/sregs.h"
#include "check/validate/compare/diff.h"
#include "check/validate/compare/printed.h"
#include <stdio.h>
#include <string.h>

static void keep(AutoSearch *search, const AutoAttempt *attempt, AutoLaunches *out) {
    Plan *p = ARENA_NEW(search->arena, Plan);
    p->fills = &search->fills;
    auto_add_to_plan(search, attempt, p, 0);
    search->kept[out->nplans] = *attempt;
    search->kept[out->nplans].cost = search->cost;
    out->race_free[out->nplans] = !search->unordered;
    out->order_free[out->nplans] = !search->unordered && !search->strong && !search->sees_order;
    out->plans[out->nplans++] = p;
    search->nkept = out->nplans;
}

void auto_launch_merge(const AutoLaunches *launches, Plan *into) {
    for (uint32_t i = 0; i < launches->nplans; i++)
        auto_add_to_plan(launches->search, &launches->search->kept[i], into, i + 1);
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

static void clear(const AutoSearch *search, const Coverage *coverage) {
    for (uint32_t i = 0; i < search->m->nfuncs; i++) {
        memset(coverage->ptx[i], 0, search->m->funcs[i].ninsns);
        memset(coverage->values[i], 0, search->m->funcs[i].ninsns * sizeof *coverage->values[i]);
    }
}

/* What a trial is to tell: where it comes; which operands it shows, too; which races it has, too. Each costs
 * more than the one before. */
typedef enum { LOOK_BLOCKS, LOOK_VALUES, LOOK_RACES } Look;

/* One run of the attempt. The memory that it left; NULL: it cannot be run, see `reason`. */
static SimMemory *run_attempt(AutoSearch *search, const AutoAttempt *attempt, const PtxRunOptions *options,
                              PtxRunResult *result, char reason[256]) {
    reason[0] = 0;
    FirstError first = {reason, 256};
    Diags d = {.sink = keep_first, .user = &first};
    Plan p = {.fills = &search->fills};
    auto_add_to_plan(search, attempt, &p, 0);
    SimMemory *mem = plan_memory(&p, &d);
    bool good = mem && interp_place_variables(search->m, mem, &d) && diff_printed_place(search->m, &p, mem) &&
                diff_run_ptx(&p, p.launches.at, search->m, mem, options, result, &d);
    if (mem && !good)
        simmem_free(mem);
    plan_free(&p);
    return good ? mem : NULL;
}

static bool same_result(const SimMemory *one, const SimMemory *two) {
    bool same = one->nallocs == two->nallocs;
    for (uint32_t i = 0; same && i < one->nallocs; i++)
        same = strcmp(one->allocs[i].name, SIM_HEAP_NAME) == 0 ||
               memcmp(one->allocs[i].data, two->allocs[i].data, one->allocs[i].size_bytes) == 0;
    return same;
}

static bool is_other(AutoSearch *search, const AutoAttempt *attempt, const SimMemory *memory,
                     PtxRunOptions options) {
    char reason[256];
    PtxRunResult result = {0};
    options.budget = 2 * attempt->budget;
    /* unordered stores may be of one value only because nobody wrote what it was made of */
    options.find_races = search->unordered && !search->races;
    SimMemory *other = run_attempt(search, attempt, &options, &result, reason);
    bool differs = !other || result.trap.kind != TRAP_NONE || result.nharmful || !same_result(memory, other);
    interp_races_free(&result);
    if (other)
        simmem_free(other);
    return differs;
}

/* Has the attempt, which left `memory`, another result where nobody wrote other things and variables lie
 * elsewhere? Parameters and constants may be addresses of shared memory; then it stays where it is. Random
 * words are mostly large as numbers; the machine has a NaN. */
static bool is_open(AutoSearch *search, const AutoAttempt *attempt, const SimMemory *memory) {
    enum { MOVED = 1 << 10 };
    uint32_t moved_bytes = search->flow.shared_pieces || search->flow.numbered_shared ? 0 : MOVED;
    return is_other(search, attempt, memory,
                    (PtxRunOptions){.fill = attempt->seed | 1, .moved_bytes = moved_bytes}) ||
           is_other(search, attempt, memory, (PtxRunOptions){.fill_word = true});
}

/* Run it on the interpreter; s->trap and s->cover say how it went. Races, and what it depends on, are looked
 * for only where a launch is about to be kept: it takes several times as long. False: it cannot be run, see
 * `reason`. */
static bool try_attempt(AutoSearch *search, const AutoAttempt *attempt, Look look, char reason[256]) {
    clear(search, &search->cover);
    PtxRunOptions o = {.budget = attempt->budget,
                       .reached = search->cover.ptx,
                       .values = look == LOOK_BLOCKS ? NULL : search->cover.values,
                       .find_races = look == LOOK_RACES};
    PtxRunResult r = {0};
    SimMemory *mem = run_attempt(search, attempt, &o, &r, reason);
    search->trap = r.trap;
    search->stores = r.stores;
    search->races = r.nharmful;
    bool lane = r.first_warning.kind == TRAP_COLLECTIVE;
    search->warned = r.nwarnings && !(search->lenient && lane);
    search->undefined = (lane && !search->lenient) || r.first_warning.kind == TRAP_OUT_OF_RANGE ||
                        r.first_warning.kind == TRAP_UNDEFINED;
    search->from_nowhere = lane;
    search->unordered = r.nraces;
    search->strong = r.nstrong != 0;
    search->cost = r.thread_insns + r.skipped_insns;
    search->spent += search->cost;
    search->open = look == LOOK_RACES && mem && r.trap.kind == TRAP_NONE && is_open(search, attempt, mem);
    interp_races_free(&r);
    if (mem)
        simmem_free(mem);
    return mem != NULL;
}

bool auto_run(AutoSearch *search, const AutoAttempt *attempt,
              void (*on_event)(void *user, const PtxEvent *event), void *user) {
    char reason[256];
    PtxRunOptions options = {.budget = attempt->budget, .on_event = on_event, .user = user};
    PtxRunResult result = {0};
    SimMemory *mem = run_attempt(search, attempt, &options, &result, reason);
    search->spent += result.thread_insns + result.skipped_insns;
    if (mem)
        simmem_free(mem);
    return mem != NULL;
}

/* Does the attempt reach blocks, or with `values` show operands, that those kept did not? */
static bool is_new(const AutoSearch *search, bool values) {
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; search->flow.funcs[f] && i < search->m->funcs[f].ninsns; i++)
            if (search->cover.ptx[f][i] > search->sum.ptx[f][i] ||
                (values && search->cover.values[f][i] & ~search->sum.values[f][i]))
                return true;
    return false;
}

/* The attempt is kept: what it covers is covered. */
static void add_coverage(AutoSearch *search, AutoLaunches *out) {
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; i < search->m->funcs[f].ninsns; i++) {
            search->sum.ptx[f][i] |= search->cover.ptx[f][i];
            search->sum.values[f][i] |= search->cover.values[f][i];
        }
    out->blocks = coverage_ptx(&search->sum, search->m, search->flow.funcs);
    out->values = coverage_values(&search->sum, search->m, search->flow.funcs);
}

/* A launch that nothing speaks against is kept; its races are looked for. */
static bool keep_if_sound(AutoSearch *search, const AutoAttempt *attempt, AutoLaunches *out) {
    char reason[256];
    if (!try_attempt(search, attempt, LOOK_RACES, reason) || search->trap.kind != TRAP_NONE ||
        search->races || search->warned || search->open)
        return false;
    add_coverage(search, out);
    keep(search, attempt, out);
    return true;
}

/* Other random sizes and shapes, although all blocks are reached: who takes which way through them differs.
 */
static void add_fresh(AutoSearch *search, AutoLaunches *out) {
    enum { FRESH = 2, TRIALS = 6, FIRST_RANDOM = 2 };
    char reason[256];
    unsigned kept = 0;
    for (unsigned n = 0; n < TRIALS && kept < FRESH && out->nplans < search->most_with_edges - 3; n++) {
        AutoAttempt attempt;
        auto_guess(search, ATTEMPTS + FIRST_RANDOM + n, &attempt);
        attempt.budget = attempt.budget < EDGES_BUDGET ? attempt.budget : EDGES_BUDGET;
        bool good = try_attempt(search, &attempt, LOOK_BLOCKS, reason);
        for (unsigned k = 0;
             good && search->trap.kind != TRAP_NONE && k < REPAIRS && auto_repair(search, &attempt); k++)
            good = try_attempt(search, &attempt, LOOK_BLOCKS, reason);
        if (good && search->trap.kind == TRAP_NONE && search->stores)
            kept += keep_if_sound(search, &attempt, out);
    }
}

/* An attempt that comes further than those kept, and is small, may take its time, which others do not lack
 * then. If it does not end even so it is repaired as if it had not been tried. */
static bool wait_for(AutoSearch *search, AutoAttempt *attempt, AutoLaunches *out) {
    uint32_t blocks = attempt->grid[0] * attempt->grid[1] * attempt->grid[2],
             threads = attempt->block[0] * attempt->block[1] * attempt->block[2];
    if (search->trap.kind != TRAP_BUDGET || attempt->budget >= MOST_BUDGET || search->waited >= MOST_WAITED ||
        search->brief || blocks > 1 || threads > SIM_WARP_LANES ||
        coverage_ptx(&search->cover, search->m, search->flow.funcs).reached <= out->blocks.reached)
        return true;
    const uint64_t spent = search->spent, budget = attempt->budget;
    search->waited++;
    attempt->budget = MOST_BUDGET;
    bool good = try_attempt(search, attempt, LOOK_BLOCKS, out->reason);
    if (search->trap.kind == TRAP_BUDGET)
        attempt->budget = budget;
    search->spent = spent;
    return good;
}

/* Change the attempt until it ends, if it can be. False: it cannot be run, see out->reason. */
static bool make_end(AutoSearch *search, AutoAttempt *attempt, AutoLaunches *out) {
    bool good = try_attempt(search, attempt, LOOK_BLOCKS, out->reason) && wait_for(search, attempt, out);
    unsigned endless = 0; /* that took as much time as there is */
    for (unsigned k = 0; good && search->trap.kind != TRAP_NONE && k < REPAIRS; k++) {
        endless += search->trap.kind == TRAP_BUDGET && attempt->budget >= MOST_BUDGET;
        if (endless > MOST_WAITED || !auto_repair(search, attempt))
            break;
        good = try_attempt(search, attempt, LOOK_BLOCKS, out->reason) && wait_for(search, attempt, out);
    }
    return good;
}

/* Two sizes that are equal hide that the binary reads the wrong one, of the same kernel's launches all. */
static void add_sizes(AutoSearch *search, AutoLaunches *out) {
    bool told = false;
    for (unsigned i = 0; i < out->nplans; i++)
        told |= auto_tells_sizes(search, &search->kept[i]);
    for (unsigned k = 0; k < 2 && !told && out->nplans < search->most_with_edges; k++) {
        AutoAttempt attempt;
        auto_guess_sizes(search, k ? search->kept[0].block : NULL, &attempt);
        told = make_end(search, &attempt, out) && search->trap.kind == TRAP_NONE && !search->undefined &&
               keep_if_sound(search, &attempt, out);
    }
}

static unsigned costliest(const AutoSearch *search, unsigned n) {
    unsigned most = 0;
    for (unsigned i = 1; i < n; i++)
        most = search->kept[i].cost > search->kept[most].cost ? i : most;
    return most;
}

static uint64_t least(uint64_t a, uint64_t b) { return a < b ? a : b; }
static uint64_t greatest(uint64_t a, uint64_t b) { return a > b ? a : b; }

/* Do atomic operations add floating-point numbers in memory? */
static bool adds_numbers(const AutoSearch *search) {
    bool adds = false;
    for (uint32_t i = 0; i < search->flow.nslots; i++)
        adds |= search->flow.slots[i].added_to && search->flow.slots[i].uses & AU_FLOAT;
    return adds;
}

static void count_met(const AutoSearch *search, uint8_t **met) {
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; i < search->m->funcs[f].ninsns; i++)
            met[f][i] = (uint8_t)(met[f][i] + (search->cover.ptx[f][i] && met[f][i] < UINT8_MAX));
}

/* The attempt has ended on data that may hold NaNs and subnormal numbers: which statements met them. */
static void meet_special(const AutoSearch *search, const AutoAttempt *attempt) {
    bool all = attempt->edges && attempt->one_in <= 1;
    if (all || (attempt->data >= DATA_NAN && attempt->data <= DATA_NAN_ODD))
        count_met(search, search->met_nan);
    if (attempt->data >= DATA_TINY && attempt->data <= DATA_TINY_LAST)
        count_met(search, search->met_subnormal);
}

/* Statements that several such attempts executed, none of which had a NaN, or a subnormal number, there: the
 * kernel asks for them before, or makes none. */
static void rule_out_special(AutoSearch *search) {
    enum { ENOUGH_MET = 3 };
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; search->flow.funcs[f] && i < search->m->funcs[f].ninsns; i++)
            search->flow.fixed[f][i] |=
                (uint8_t)((search->met_nan[f][i] >= ENOUGH_MET ? COVERAGE_NO_NAN : 0) |
                          (search->met_subnormal[f][i] >= ENOUGH_MET ? COVERAGE_NO_SUBNORMAL : 0));
}

/* The launches kept so far again on other data, with other scalars and shapes, where these lead to no trap
 * and no race. The first ones are kept as they are, later ones if operands are seen that none showed before.
 */
static void add_data_sets(AutoSearch *search, AutoLaunches *out) {
    enum { SETS = 16, KEPT_SETS = 3 };
    char reason[256];
    unsigned n = out->nplans;
    bool sums = adds_numbers(search); /* whether infinities meet follows from the order of threads */
    uint64_t most = greatest(MOST_SPENT, search->spent + MOST_SPENT / 4);
    for (unsigned set = 0; set < SETS && n && out->nplans < search->most_with_edges && search->spent < most;
         set++) {
        if (out->values.reached == out->values.total && set >= KEPT_SETS)
            break;
        /* in turn the launch that does most, where data matter most, and one after the other */
        AutoAttempt attempt = search->kept[set % 2 ? set / 2 % n : costliest(search, n)];
        uint64_t random = attempt.seed ^ (RNG_STEP * (set + 1));
        attempt.edges = true;
        attempt.one_in = set % 3 == 2 || sums ? RARE_EDGES : 1; /* a NaN in every sum hides all else */
        attempt.seed += RNG_STEP * (set + 1);
        if (set >= KEPT_SETS) {
            attempt.budget = least(EDGES_BUDGET, EDGES_TIMES * attempt.cost + EDGES_MORE);
            /* a value that has to do with an index need not be one */
            attempt.edges_in_indices = set % 5 == 3;
        }
        if (set % 2)
            auto_guess_edges(search, &attempt, &random);
        if (set % 4 >= 2)
            auto_guess_ragged(search, &attempt, &random);
        if (!try_attempt(search, &attempt, LOOK_VALUES, reason) || search->trap.kind != TRAP_NONE ||
            search->warned)
            continue;
        meet_special(search, &attempt);
        if (set < KEPT_SETS || is_new(search, true))
            keep_if_sound(search, &attempt, out);
    }
}

static bool goes_one_way(const AutoSearch *search) {
    bool any = false, taken;
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; search->flow.funcs[f] && i < search->m->funcs[f].ninsns; i++)
            any |= search->sum.ptx[f][i] && auto_wants_taken(search, f, i, &taken);
    return any;
}

/* Branches that go one way in all launches kept are led the other way, which may be around a loop or a block:
 * nothing is executed there, and a binary that never goes there looks right. */
static void add_ways(AutoSearch *search, AutoLaunches *out) {
    enum { TRIES = 24, BRIEF = 1 << 15, WAYS = 3 };
    char reason[256];
    unsigned n = out->nplans, kept = 0;
    uint64_t random = search->opt->seed ^ (RNG_STEP * 7), most = search->spent + MOST_SPENT / 8;
    search->both_ways = true;
    for (unsigned k = 0; k < TRIES && kept < WAYS && goes_one_way(search); k++) {
        if (!n || out->nplans >= AUTO_MAX_LAUNCHES || search->spent >= most)
            break;
        AutoAttempt attempt = search->kept[k % n];
        if (attempt.cost > BRIEF)
            auto_one_warp(search, &attempt, false);
        attempt.budget = least(EDGES_BUDGET, EDGES_TIMES * attempt.cost + EDGES_MORE);
        if (auto_steer(search, &attempt, &random) && try_attempt(search, &attempt, LOOK_VALUES, reason) &&
            search->trap.kind == TRAP_NONE && is_new(search, true))
            kept += keep_if_sound(search, &attempt, out);
    }
    search->both_ways = false;
}

/* Long chains of floating-point arithmetic see few classes of operands: data of one kind after the other, in
 * the launches kept, those that do most first. */
static void add_kinds(AutoSearch *search, AutoLaunches *out) {
    enum { KINDS = DATA_KINDS - DATA_USUAL - 1 };
    char reason[256];
    unsigned n = out->nplans;
    uint64_t most = search->spent + MOST_SPENT / 2;
    for (unsigned k = 0; k < n * KINDS && out->nplans < AUTO_MAX_LAUNCHES; k++) {
        if (covered_part(out->values) >= AUTO_ENOUGH_VALUES || search->spent >= most)
            break;
        unsigned launch = (costliest(search, n) + k / KINDS) % n;
        AutoAttempt attempt = search->kept[launch];
        uint64_t random = attempt.seed ^ (RNG_STEP * (k + 1));
        attempt.edges = false;
        attempt.mixed = k >= KINDS;
        attempt.seed += RNG_STEP * (k + 1);
        auto_guess_data(search, DATA_USUAL + 1 + k % KINDS, &attempt, &random);
        if (!try_attempt(search, &attempt, LOOK_VALUES, reason) || search->trap.kind != TRAP_NONE ||
            search->warned)
            continue;
        meet_special(search, &attempt);
        if (is_new(search, true))
            keep_if_sound(search, &attempt, out);
    }
    if (covered_part(out->values) < AUTO_ENOUGH_VALUES) {
        rule_out_special(search);
        out->values = coverage_values(&search->sum, search->m, search->flow.funcs);
    }
}

typedef struct {
    AutoAttempt *trapping, *racing; /* the best of each, where nothing else is found */
    bool ends;                      /* trapping: it does not trap, but its result is open */
    uint32_t best_racing;
    AutoAttempt *lanes; /* the best that shuffles from lanes that take no part */
    uint32_t best_lanes;
    unsigned led; /* attempts that did not end and were led out of their loops, as far as that went */
    bool stored;
    bool misshapen; /* there was one that a block of another shape may mend */
} Rest;

/* An attempt of which no result can be told, for want of another: one that ends rather than one that traps.
 */
static void keep_open(AutoSearch *search, const AutoAttempt *attempt, Rest *rest) {
    bool ends = search->trap.kind == TRAP_NONE;
    if (rest->trapping && (!ends || rest->ends))
        return;
    rest->trapping = arena_copy(search->arena, attempt, sizeof *attempt);
    rest->ends = ends;
}

/* An attempt that ended: keep it if it is worth it. False: it has races, or its result is open. */
static bool weigh(AutoSearch *search, const AutoAttempt *attempt, AutoLaunches *out, Rest *rest) {
    char reason[256];
    out->tried++;
    bool first_store = search->stores && !rest->stored;
    if (!is_new(search, false) && !first_store)
        return true;
    if (!try_attempt(search, attempt, LOOK_RACES, reason) || search->trap.kind != TRAP_NONE)
        return true;
    rest->misshapen |= search->open || search->races;
    if (search->open) {
        keep_open(search, attempt, rest);
        return false;
    }
    if (search->races) {
        out->racing++;
        out->racing_rows += attempt->block[1] * attempt->block[2] > 1;
        Covered c = coverage_ptx(&search->cover, search->m, search->flow.funcs);
        if (!rest->racing || c.reached > rest->best_racing) {
            rest->racing = arena_copy(search->arena, attempt, sizeof *attempt);
            rest->best_racing = c.reached;
        }
        return false;
    }
    add_coverage(search, out);
    keep(search, attempt, out);
    rest->stored |= search->stores != 0;
    return true;
}

static void keep_lanes(AutoSearch *search, const AutoAttempt *attempt, Rest *rest) {
    uint32_t reached = coverage_ptx(&search->cover, search->m, search->flow.funcs).reached;
    if (!search->from_nowhere || !search->stores || search->trap.kind != TRAP_NONE ||
        reached <= rest->best_lanes)
        return;
    rest->lanes = arena_copy(search->arena, attempt, sizeof *attempt);
    rest->best_lanes = reached;
}

/* Where the attempt leaves its buffers, or does not end, what memory holds is changed as long as it helps.
 * False: it does not. */
static bool lead_back(AutoSearch *search, AutoAttempt *attempt, AutoLaunches *out, uint64_t *random) {
    enum { MOST_BACK = 8 };
    for (unsigned k = 0; k < MOST_BACK; k++) {
        if (!try_attempt(search, attempt, LOOK_BLOCKS, out->reason))
            return false;
        if (search->trap.kind == TRAP_NONE)
            return !search->undefined;
        if (!auto_steer_back(search, attempt, random) && !auto_steer(search, attempt, random))
            return false;
    }
    return false;
}

/* Of an attempt that does not end, where no other did: contents and numbers that lead one thread of it out of
 * its loops (a lock that nobody holds, a count that is small), and then those for all threads. */
static void lead_out(AutoSearch *search, const AutoAttempt *attempt, AutoLaunches *out, Rest *rest) {
    enum { MOST_LED = 4, LED_BUDGET = 1 << 16 };
    if (search->trap.kind != TRAP_BUDGET || out->nplans || rest->led++ >= MOST_LED)
        return;
    uint64_t random = attempt->seed ^ (RNG_STEP * 5);
    AutoAttempt alone = *attempt;
    auto_one_warp(search, &alone, true);
    alone.budget = LED_BUDGET;
    if (!lead_back(search, &alone, out, &random))
        return;
    AutoAttempt all = alone;
    memcpy(all.grid, attempt->grid, sizeof all.grid);
    memcpy(all.block, attempt->block, sizeof all.block);
    all.budget = attempt->budget;
    bool good = try_attempt(search, &all, LOOK_BLOCKS, out->reason) && search->trap.kind == TRAP_NONE &&
                !search->undefined && weigh(search, &all, out, rest);
    if (!good && try_attempt(search, &alone, LOOK_BLOCKS, out->reason))
        weigh(search, &alone, out, rest);
}

static bool consider(AutoSearch *search, AutoAttempt *attempt, AutoLaunches *out, Rest *rest) {
    if (!make_end(search, attempt, out))
        return false;
    bool ends = search->trap.kind == TRAP_NONE && !search->undefined;
    rest->misshapen |= search->undefined || search->trap.kind == TRAP_COLLECTIVE ||
                       search->trap.kind == TRAP_BARRIER || search->trap.kind == TRAP_DEADLOCK ||
                       search->trap.kind == TRAP_UNDEFINED;
    if (!ends)
        keep_lanes(search, attempt, rest);
    if (!ends && search->trap.kind != TRAP_BUDGET)
        keep_open(search, attempt, rest);
    lead_out(search, attempt, out, rest);
    bool again = ends && !weigh(search, attempt, out, rest);
    for (unsigned k = 0; again && k < 5; k++) { /* rows further apart; then indices in memory; then boxes */
        bool other = k == 0   ? auto_spread(search, attempt)
                     : k == 1 ? auto_part_indices(search, attempt)
                              : auto_other_boxes(search, attempt);
        if (other && make_end(search, attempt, out) && search->trap.kind == TRAP_NONE && !search->undefined)
            again = !weigh(search, attempt, out, rest);
    }
    return true;
}

static bool covers_enough(const AutoLaunches *out) {
    return out->nplans && out->blocks.reached >= AUTO_ENOUGH * out->blocks.total;
}

/* Kernels are made for blocks of one shape, and do with others what nobody meant: where launches had races,
 * or results that are open, and nothing better is known, the usual shapes are tried in turn. */
static void search_shapes(AutoSearch *search, AutoLaunches *out, Rest *rest) {
    static const unsigned numbers[] = {1, 0};
    uint64_t most = search->spent + MOST_SPENT / 2;
    for (unsigned k = 0; (search->block = auto_shape(search, k)) != NULL; k++)
        for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
            AutoAttempt attempt;
            if (covers_enough(out) || out->nplans == MOST_BLOCK_LAUNCHES || search->spent >= most)
                break;
            auto_guess(search, numbers[i], &attempt);
            consider(search, &attempt, out, rest);
        }
    search->block = NULL;
}

/* Steps from the launches kept, or from one that traps, towards blocks that none reaches. */
static void climb(AutoSearch *search, AutoLaunches *out, Rest *rest) {
    uint64_t random = search->opt->seed ^ RNG_STEP, most = search->spent + MOST_SPENT / 2;
    AutoFrontier frontier = {0};
    for (unsigned n = 0, known = UINT32_MAX; n < STEPS && out->nplans < search->most_climbed; n++) {
        if ((covers_enough(out) && rest->stored) || search->spent >= most)
            break;
        const AutoAttempt *from =
            out->nplans ? &search->kept[rng_next(&random) % out->nplans] : rest->trapping;
        if (!from || !search->flow.nslots)
            break;
        if (!out->nplans && known && !try_attempt(search, from, LOOK_BLOCKS, out->reason))
            break;
        if (known != out->nplans)
            frontier = auto_frontier(search, out->nplans ? &search->sum : &search->cover);
        known = out->nplans;
        AutoAttempt attempt = *from;
        attempt.budget = search->opt->budget ? search->opt->budget : ATTEMPT_BUDGET;
        auto_step(search, frontier, &attempt, &random);
        consider(search, &attempt, out, rest);
    }
}

/* Does the best attempt with a race come clearly further than the launches without one? */
static bool races_further(const AutoLaunches *out, const Rest *rest) {
    enum { TENTHS = 11 };
    return rest->racing && !covers_enough(out) && 10ull * rest->best_racing > TENTHS * out->blocks.reached;
}

/* From a launch kept, or from one that traps, as many branches as can be are led the other way, one behind
 * the other. */
static void steer(AutoSearch *search, AutoLaunches *out, Rest *rest) {
    enum { TRIES = 64, CHAIN = 8, BRIEF = 1 << 15, TIMES = 8 };
    uint64_t random = search->opt->seed ^ (RNG_STEP * 3), most = search->spent + MOST_SPENT / 2;
    for (unsigned n = 0; n < TRIES && out->nplans < MOST_STEERED && search->spent < most; n++) {
        if (covers_enough(out) && rest->stored)
            break;
        /* mostly from the last one, which comes from others */
        unsigned which =
            out->nplans ? n % 2 ? out->nplans - 1 : (unsigned)(rng_next(&random) % out->nplans) : 0;
        const AutoAttempt *from = out->nplans ? &search->kept[which] : rest->trapping;
        if (!from || !search->flow.nslots)
            break;
        AutoAttempt attempt = *from;
        if (races_further(out, rest) && n % 4) /* with no other thread */
            auto_alone(search, &attempt);
        else if (attempt.cost > BRIEF)
            auto_one_warp(search, &attempt, n % 4 < 2);
        AutoAttempt next = attempt;
        unsigned links = 0;
        while (links < CHAIN && try_attempt(search, &attempt, LOOK_BLOCKS, out->reason)) {
            next.budget = least(ATTEMPT_BUDGET, BRIEF + TIMES * search->cost);
            if (!auto_steer(search, &next, &random) || !lead_back(search, &next, out, &random))
                break;
            links++;
            attempt = next;
        }
        if (links)
            consider(search, &attempt, out, rest);
    }
}

/* Where too little was found the first attempts get more time: loops of constant length by large blocks. */
static void wait_long(AutoSearch *search, AutoLaunches *out, Rest *rest) {
    enum { PATIENT = 8 };
    uint64_t most = search->spent + MOST_SPENT;
    for (unsigned n = 0;
         n < PATIENT && !covers_enough(out) && out->nplans < search->most_climbed && search->spent < most;
         n++) {
        AutoAttempt attempt;
        auto_guess(search, n, &attempt);
        attempt.budget = MOST_BUDGET;
        if (!consider(search, &attempt, out, rest))
            break;
    }
}

/* Numbers may be such that threads share what is meant to be each one's own, and the blocks that they lead to
 * can be reached in order by one thread. Only beside launches of several: a kernel of which all race is racy.
 */
static void reach_alone(AutoSearch *search, AutoLaunches *out, Rest *rest) {
    if (!out->nplans || out->nplans >= search->most_climbed || !races_further(out, rest))
        return;
    AutoAttempt attempt = *rest->racing;
    if (auto_alone(search, &attempt))
        consider(search, &attempt, out, rest);
}

static void search_launches(AutoSearch *search, AutoLaunches *out) {
    unsigned attempts = search->opt->attempts ? search->opt->attempts : ATTEMPTS;
    enum { MORE = 2 };
    Rest rest = {0};
    search->most_climbed = MOST_CLIMBED;
    search->most_with_edges = MOST_WITH_EDGES;
    for (unsigned n = 0; n < attempts && out->nplans < MOST_BLOCK_LAUNCHES; n++) {
        if (search->spent >= (out->nplans ? MOST_SPENT : MOST_FOR_ONE))
            break;
        search->brief = search->spent >= MOST_SPENT;
        AutoAttempt a;
        auto_guess(search, n, &a);
        if (!consider(search, &a, out, &rest) && n == 0 && !strstr(out->reason, "E0513"))
            return; /* it will not get better */
        if (out->nplans && out->blocks.reached == out->blocks.total && rest.stored)
            break;
    }
    search->brief = false;
    if (rest.misshapen && !covers_enough(out))
        search_shapes(search, out, &rest);
    search->lenient = rest.lanes && !covers_enough(out) && rest.best_lanes > out->blocks.reached;
    if (search->lenient)
        consider(search, rest.lanes, out, &rest);
    reach_alone(search, out, &rest);
    steer(search, out, &rest);
    /* launches that many steps led to leave room for others */
    search->most_climbed = (unsigned)greatest(MOST_CLIMBED, out->nplans + MORE);
    search->most_with_edges = (unsigned)greatest(MOST_WITH_EDGES, search->most_climbed + 1);
    climb(search, out, &rest);
    wait_long(search, out, &rest);
    reach_alone(search, out, &rest);
    if (races_further(out, &rest) && out->nplans < AUTO_MAX_LAUNCHES) {
        search->unordered = 1;
        keep(search, rest.racing, out);
    }
    if (out->nplans) {
        add_fresh(search, out);
        add_sizes(search, out);
        add_data_sets(search, out);
        add_ways(search, out);
        add_kinds(search, out);
    }
    if (!out->nplans && rest.trapping) {
        search->unordered = 1; /* not known */
        keep(search, rest.trapping, out);
        out->traps = !rest.ends;
        out->open = rest.ends && try_attempt(search, rest.trapping, LOOK_RACES, out->reason) && search->open;
    }
    if (!out->nplans && !out->reason[0])
        snprintf(out->reason, sizeof out->reason,
                 "no launch was found that ends within %llu thread instructions",
                 (unsigned long long)(search->opt->budget ? search->opt->budget : ATTEMPT_BUDGET));
    else if (out->nplans)
        out->reason[0] = 0;
}

unsigned auto_sees_order(const PtxModule *module, const uint8_t *funcs) {
    unsigned sees = 0;
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t i = 0; (!funcs || funcs[f]) && i < module->funcs[f].ninsns; i++) {
            const PtxInsn *in = &module->funcs[f].insns[i];
            bool lanes = in->op == PTX_VOTE || in->op == PTX_SHFL || in->op == PTX_MATCH;
            sees |= in->op == PTX_ACTIVEMASK ? AUTO_SEES_ACTIVE : 0;
            sees |= in->op == PTX_MBARRIER || (lanes && !(in->flags & PF_SYNC)) ? AUTO_SEES_OTHERS : 0;
            for (uint32_t k = 0; k < in->noperands; k++)
                if (sreg_varies(&in->operands[k]) == SREG_VARIES_TIME)
                    sees |= (unsigned)AUTO_SEES_TIME;
        }
    return sees;
}

bool auto_communicates(const PtxModule *module) {
    for (uint32_t f = 0; f < module->nfuncs; f++)
        for (uint32_t i = 0; i < module->funcs[f].ninsns; i++)
            if (interp_is_strong(&module->funcs[f].insns[i]))
                return true;
    return false;
}

/* A parameter that points into constant memory, as OpenCL's hosts give it; buffers of launches are not there.
 */
static const PtxVar *constant_pointer(const PtxModule *module, const PtxFunc *f) {
    for (uint32_t i = 0; i < f->nparams; i++) {
        const PtxVar *var = &module->vars[f->params[i]];
        if (var->is_pointer && var->pointee_space == SP_CONST)
            return var;
    }
    return NULL;
}

void auto_launch(const PtxModule *module, const char *kernel, const AutoOptions *opt, AutoLaunches *out) {
    *out = (AutoLaunches){0};
    uint32_t index = ptx_find_func(module, kernel);
    if (!index || !module->funcs[index - 1].is_entry) {
        snprintf(out->reason, sizeof out->reason, "no such kernel");
        return;
    }
    const PtxVar *constant = constant_pointer(module, &module->funcs[index - 1]);
    if (constant) {
        snprintf(out->reason, sizeof out->reason, "%.200s points into constant memory, which no launch gives",
                 str_text(&module->strings, constant->name));
        return;
    }
    AutoSearch *search = out->search = ARENA_NEW(&out->arena, AutoSearch);
    *search = (AutoSearch){.m = module,
                           .kernel = index - 1,
                           .f = &module->funcs[index - 1],
                           .name = kernel,
                           .opt = opt,
                           .arena = &out->arena};
    auto_flow(module, index - 1, &out->arena, &search->flow);
    /* shared memory without a name is taken for the dynamic one from 0 on (Halide), where the system has no
     * part there */
    search->flow.numbered_shared &= !opt->shared_base_bytes;
    search->flow.dynamic_shared |= search->flow.numbered_shared;
    out->funcs = search->flow.funcs;
    search->sees_order = auto_sees_order(module, search->flow.funcs);
    coverage_new(&search->cover, &out->arena, module, NULL);
    coverage_new(&search->sum, &out->arena, module, NULL);
    search->met_nan = coverage_bytes(search->arena, module);
    search->met_subnormal = coverage_bytes(search->arena, module);
    out->seen = search->sum.values;
    out->fixed = search->cover.fixed = search->sum.fixed = search->flow.fixed;
    search_launches(search, out);
}

void auto_launch_free(AutoLaunches *launches) {
    for (uint32_t i = 0; i < launches->nplans; i++)
        plan_free(launches->plans[i]);
    if (launches->search)
        plan_fills_free(&launches->search->fills);
    arena_free(&launches->arena);
}
