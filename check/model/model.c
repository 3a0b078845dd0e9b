/* Exploration: the graph of the states in which something is to be decided, and from which of them all lanes
 * can still exit.
 *
 * Between two decisions the machine is deterministic, so a node of the graph is a state whose next
 * instruction asks something, and an edge the answers. Breadth first, so that the way to what is found is
 * short. Then backwards from the ends: what is not reached is stuck. Nodes that were not looked at any more
 * count as ends.
 * SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include "base/clock.h"
#include "base/scope.h"
#include "sim/machine/policy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#define NO_EDGE UINT32_MAX                              /* not reached yet, or none */
#define ROOT (UINT32_MAX - 1)                           /* reached at the start */
enum { NODE_END, NODE_LEFT_OUT, NODE_BAD, NODE_FIRST }; /* node 0: everybody exited; 2: a violation */
typedef struct {
    uint32_t from, to, digits; /* digits: index into Search.digits */
    uint8_t ndigits;
} Edge;

typedef struct {
    Stepper x;
    ModelResult *r;
    ModelState *states;   /* [node] */
    uint32_t *reached_by; /* [node] edge, NO_EDGE or ROOT */
    uint32_t *first_edge; /* [node] */
    bool *hangs;          /* [node] repeats without anything to decide */
    uint32_t n, cap;
    uint32_t *slots, nslots;
    Edge *edges;
    uint32_t nedges, edge_cap;
    uint32_t *digits;
    uint32_t ndigits, digit_cap;
    uint32_t bad_edges[MODEL_MAX_FINDINGS], bad_inst[MODEL_MAX_FINDINGS], nbad;
    char bad_text[MODEL_MAX_FINDINGS][160];
    uint32_t start_inst;
    double deadline; /* of clock_cpu_seconds */
    bool full;
} Search;

static void *grow_array(void *old, size_t n, size_t elem_bytes) { return mem_resize(old, n * elem_bytes); }

/* ---- nodes and edges ---- */

static void rehash(Search *search) {
    search->nslots = search->nslots ? search->nslots * 2 : 1024;
    mem_free(search->slots);
    search->slots = mem_zeroed(search->nslots, sizeof *search->slots);
    for (uint32_t i = NODE_FIRST; i < search->n; i++) {
        uint32_t h = (uint32_t)XXH3_64bits(&search->states[i], sizeof *search->states) & (search->nslots - 1);
        while (search->slots[h])
            h = (h + 1) & (search->nslots - 1);
        search->slots[h] = i;
    }
}

static uint32_t new_node(Search *search, const ModelState *s) {
    if (search->n == search->cap) {
        search->cap = search->cap ? search->cap * 2 : 512;
        search->states = grow_array(search->states, search->cap, sizeof *search->states);
        search->reached_by = grow_array(search->reached_by, search->cap, sizeof *search->reached_by);
        search->first_edge = grow_array(search->first_edge, search->cap, sizeof *search->first_edge);
        search->hangs = grow_array(search->hangs, search->cap, sizeof *search->hangs);
    }
    search->states[search->n] = *s;
    search->reached_by[search->n] = UINT32_MAX;
    search->first_edge[search->n] = UINT32_MAX;
    search->hangs[search->n] = false;
    return search->n++;
}

static uint32_t node_of(Search *search, const ModelState *s) {
    if ((search->n + 1) * 2 > search->nslots)
        rehash(search);
    uint32_t h = (uint32_t)XXH3_64bits(s, sizeof *s) & (search->nslots - 1);
    for (; search->slots[h]; h = (h + 1) & (search->nslots - 1))
        if (memcmp(&search->states[search->slots[h]], s, sizeof *s) == 0)
            return search->slots[h];
    return search->slots[h] = new_node(search, s);
}

static uint32_t search_edge(Search *search, uint32_t from, uint32_t to, const Oracle *oracle) {
    if (search->nedges == search->edge_cap)
        search->edges =
            grow_array(search->edges, search->edge_cap = search->edge_cap ? search->edge_cap * 2 : 1024,
                       sizeof *search->edges);
    if (search->ndigits + MODEL_MAX_DIGITS > search->digit_cap)
        search->digits =
            grow_array(search->digits, search->digit_cap = search->digit_cap ? search->digit_cap * 2 : 4096,
                       sizeof *search->digits);
    memcpy(search->digits + search->ndigits, oracle->digit, oracle->n * sizeof *oracle->digit);
    search->edges[search->nedges] = (Edge){from, to, search->ndigits, (uint8_t)oracle->n};
    search->ndigits += oracle->n;
    if (search->reached_by[to] == UINT32_MAX && to >= NODE_FIRST)
        search->reached_by[to] = search->nedges;
    if (search->first_edge[from] == UINT32_MAX)
        search->first_edge[from] = search->nedges;
    return search->nedges++;
}

/* ---- exploring ---- */

/* Go on as long as nothing is to be decided. *hangs: the state repeats. */
static StepStatus run_on(Search *search, ModelState *s, bool *hangs) {
    ModelState saved = *s;
    uint64_t steps = 0, save_at = 32;
    *hangs = false;
    for (;;) {
        ModelState t = *s;
        Oracle nothing = {.n = 0};
        StepStatus status = model_step(&search->x, &t, &nothing);
        if (status != STEP_ON)
            return status;
        *s = t;
        if (++steps < 32)
            continue;
        if (steps > 32 && memcmp(s, &saved, sizeof *s) == 0) {
            *hangs = true;
            return STEP_ON;
        }
        if (steps == save_at) {
            saved = *s;
            save_at *= 2;
        }
    }
}

static uint32_t search_arrive(Search *search, ModelState *s, StepStatus status) {
    bool hangs = false;
    if (status == STEP_ON)
        status = run_on(search, s, &hangs);
    switch (status) {
    case STEP_DONE: return NODE_END;
    case STEP_LEFT_OUT: return NODE_LEFT_OUT;
    case STEP_BAD: return NODE_BAD;
    default: {
        uint32_t node = node_of(search, s);
        search->hangs[node] = hangs;
        return node;
    }
    }
}

static void note_bad(Search *search, uint32_t edge) {
    for (uint32_t i = 0; i < search->nbad; i++)
        if (search->bad_inst[i] == search->x.bad_inst)
            return;
    if (search->nbad == MODEL_MAX_FINDINGS)
        return;
    search->bad_inst[search->nbad] = search->x.bad_inst;
    snprintf(search->bad_text[search->nbad], sizeof search->bad_text[0], "%s", search->x.bad);
    search->bad_edges[search->nbad++] = edge;
}

/* All answers to what the node's next instruction asks. */
static void expand(Search *search, uint32_t node, Oracle *oracle) {
    ModelState s = search->states[node];
    StepStatus status = model_step(&search->x, &s, oracle);
    if (status == STEP_CHOICE) {
        uint32_t radix = oracle->radix, n = oracle->n;
        if (n == MODEL_MAX_DIGITS) {
            search->x.left_out = "an instruction with very many outcomes";
            search_edge(search, node, NODE_LEFT_OUT, oracle);
            return;
        }
        for (uint32_t d = 0; d < radix; d++) {
            oracle->n = n;
            oracle->digit[oracle->n++] = d;
            expand(search, node, oracle);
        }
        oracle->n = n;
        return;
    }
    uint32_t to = search_arrive(search, &s, status);
    uint32_t edge = search_edge(search, node, to, oracle);
    if (to == NODE_BAD)
        note_bad(search, edge);
}

static void explore(Search *search) {
    ModelState s;
    for (unsigned i = 0; i < NODE_FIRST; i++)
        new_node(search, &(ModelState){.spare = {(uint8_t)(i + 1)}});
    model_start(&search->x, search->start_inst, &s);
    uint32_t start = search_arrive(search, &s, STEP_ON);
    search->reached_by[start] = ROOT;
    if (start == NODE_BAD)
        note_bad(search, ROOT);
    uint64_t most = search->x.opt.max_states;
    for (uint32_t node = NODE_FIRST; node < search->n; node++) {
        if (search->n > most || ((node & 63) == 0 && clock_cpu_seconds() > search->deadline)) {
            search->full = true;
            search->x.left_out = search->n > most ? "states beyond the limit" : "states beyond the time";
            return;
        }
        Oracle o = {.n = 0};
        if (!search->hangs[node])
            expand(search, node, &o);
    }
}

/* ---- what cannot end ---- */

/* Not two of one: it says itself that it is another barrier, or that it arrives and the other one waits. */
static bool bars_differ(const MachInst *a, const MachInst *b) {
    return a->optype != b->optype ||
           (a->optype == OT_BAR && MGET(BAR, mode, a->mods) != MGET(BAR, mode, b->mods)) ||
           (a->src[0].kind == OPK_IMM && b->src[0].kind == OPK_IMM && a->src[0].value != b->src[0].value);
}

/* Do lanes gather for different barriers of the block? Each of them comes to its barrier, whatever others do:
 * it is the program that parts them. (Of barriers that are alike, one may be the compiler's copy.) */
static bool is_parted(const Search *search, uint32_t node) {
    const ModelState *state = &search->states[node];
    const ModelProgram *program = search->x.p;
    const MachInst *first = NULL;
    for (unsigned lane = 0; lane < MODEL_MAX_LANES && node >= NODE_FIRST; lane++) {
        uint32_t bar = state->valid >> lane & 1 ? program->at[state->pc[lane]].gathers : 0;
        if (bar && first && bars_differ(first, &program->g->insts[bar]))
            return true;
        first = bar ? &program->g->insts[bar] : first;
    }
    return false;
}

/* good[node]: an end can be reached from it, or a state that no program has. */
static void reach_back(const Search *search, bool *good) {
    uint32_t *at = mem_zeroed(search->n + 2u, sizeof *at),
             *from = mem_alloc((search->nedges + 1u) * sizeof *from);
    uint32_t *work = mem_alloc((search->n + 1u) * sizeof *work), top = 0;
    for (uint32_t e = 0; e < search->nedges; e++)
        at[search->edges[e].to + 2]++;
    for (uint32_t i = 2; i < search->n + 2u; i++)
        at[i] += at[i - 1];
    for (uint32_t e = 0; e < search->nedges; e++)
        from[at[search->edges[e].to + 1]++] = search->edges[e].from;
    for (uint32_t i = 0; i < search->n; i++) {
        good[i] =
            i < NODE_FIRST ||
            (!search->hangs[i] && search->first_edge[i] == UINT32_MAX); /* ends, and what was not looked at */
        if (!good[i] && !search->x.opt.parted_barriers && is_parted(search, i))
            good[i] = search->r->assumed_barriers = true;
        if (good[i])
            work[top++] = i;
    }
    while (top) {
        uint32_t i = work[--top];
        for (uint32_t k = at[i]; k < at[i + 1]; k++)
            if (!good[from[k]]) {
                good[from[k]] = true;
                work[top++] = from[k];
            }
    }
    mem_free(at);
    mem_free(from);
    mem_free(work);
}

/* ---- findings ---- */

/* Execute a path of edges again, with every decision written down; `loop_edge` of them lead to the loop. */
static void retrace(Search *search, const uint32_t *path, uint32_t n, uint32_t loop_edge,
                    ModelFinding *finding) {
    StepLog log = {0};
    ModelState s;
    bool hangs = false;
    search->x.log = &log;
    model_start(&search->x, search->start_inst, &s);
    run_on(search, &s, &hangs);
    finding->loop = loop_edge == 0 ? log.n : 0;
    for (uint32_t k = 0; k < n; k++) {
        const Edge *edge = &search->edges[path[k]];
        Oracle o = {.n = edge->ndigits};
        memcpy(o.digit, search->digits + edge->digits, edge->ndigits * sizeof *o.digit);
        hangs = false;
        if (model_step(&search->x, &s, &o) == STEP_ON)
            run_on(search, &s, &hangs);
        if (k + 1 == loop_edge)
            finding->loop = log.n;
    }
    if (hangs) { /* one more round, for the guards in it, which are known */
        ModelState round = s;
        finding->loop = log.n;
        do {
            Oracle nothing = {.n = 0};
            model_step(&search->x, &s, &nothing);
        } while (memcmp(&s, &round, sizeof s) != 0);
    }
    search->x.log = NULL;
    finding->steps = log.at;
    finding->nsteps = log.n;
    if (finding->loop > log.n)
        finding->loop = log.n;
    for (unsigned i = 0; i < MODEL_MAX_LANES; i++) {
        finding->lanes[i].pc = s.valid >> i & 1 ? s.pc[i] : BINFLOW_NONE;
        finding->lanes[i].active = s.active >> i & 1;
    }
    finding->inst =
        finding->verdict == MODEL_STUCK && s.active ? s.pc[__builtin_ctz(s.active)] : finding->inst;
}

static uint32_t path_to(const Search *search, uint32_t edge, uint32_t **path) {
    uint32_t n = 0;
    for (uint32_t e = edge; e < ROOT; e = search->reached_by[search->edges[e].from])
        n++;
    *path = mem_alloc((n + search->n + 2u) * sizeof **path);
    uint32_t k = n;
    for (uint32_t e = edge; e < ROOT; e = search->reached_by[search->edges[e].from])
        (*path)[--k] = e;
    return n;
}

/* From a stuck node on: edges until a node comes again. Returns where in the path the loop starts. */
static uint32_t add_loop(const Search *search, uint32_t node, uint32_t *path, uint32_t *n) {
    uint32_t *seen = mem_alloc(search->n * sizeof *seen);
    memset(seen, 0xff, search->n * sizeof *seen);
    while (!search->hangs[node] && seen[node] == UINT32_MAX) {
        seen[node] = *n;
        uint32_t first = search->first_edge[node], take = first;
        for (uint32_t e = first; e < search->nedges && search->edges[e].from == node; e++)
            if (seen[search->edges[e].to] != UINT32_MAX || search->hangs[search->edges[e].to]) {
                take = e;
                break;
            }
        path[(*n)++] = take;
        node = search->edges[take].to;
    }
    uint32_t start = search->hangs[node] ? *n : seen[node];
    mem_free(seen);
    return start;
}

static void find_stuck(Search *search) {
    bool *good = mem_alloc(search->n);
    reach_back(search, good);
    uint32_t first = UINT32_MAX;
    for (uint32_t i = NODE_FIRST; i < search->n; i++)
        if (!good[i]) {
            first = first == UINT32_MAX ? i : first;
            search->r->stuck_states++;
        }
    mem_free(good);
    if (first == UINT32_MAX || search->r->nfindings == MODEL_MAX_FINDINGS)
        return;
    ModelFinding *finding = &search->r->findings[search->r->nfindings++];
    uint32_t *path, n = path_to(search, search->reached_by[first], &path),
                    loop = add_loop(search, first, path, &n);
    finding->verdict = MODEL_STUCK;
    retrace(search, path, n, loop, finding);
    snprintf(finding->text, sizeof finding->text,
             "not all lanes can exit from here, whatever the branches do");
    mem_free(path);
}

static void find_bad(Search *search) {
    for (uint32_t i = 0; i < search->nbad && search->r->nfindings < MODEL_MAX_FINDINGS; i++) {
        ModelFinding *finding = &search->r->findings[search->r->nfindings++];
        uint32_t *path, n = path_to(search, search->bad_edges[i], &path);
        finding->verdict = MODEL_VIOLATION;
        finding->inst = search->bad_inst[i];
        snprintf(finding->text, sizeof finding->text, "%s", search->bad_text[i]);
        retrace(search, path, n, UINT32_MAX, finding);
        finding->loop = finding->nsteps;
        mem_free(path);
    }
}

/* Masks of lanes that the code names, and their complements: among the model's lanes there should be one of
 * each. */
typedef struct {
    uint32_t masks[64], n;
    uint32_t seen; /* lanes that were in some round */
} LaneSets;

static void add_set(LaneSets *sets, uint32_t m) {
    bool known = m == 0;
    for (uint32_t i = 0; i < sets->n; i++)
        known |= sets->masks[i] == m;
    if (!known && sets->n < sizeof sets->masks / sizeof *sets->masks)
        sets->masks[sets->n++] = m;
}

static void find_sets(const ModelProgram *program, LaneSets *l) {
    for (uint32_t i = 0; i < program->n; i++) {
        const Skel *skel = &program->at[i];
        if (skel->fails || !((skel->kind == BK_WARPSYNC && skel->mask_is_imm) ||
                             (skel->track_def != 0xff && skel->track_kind == TD_CONST)))
            continue;
        add_set(l, skel->imm);
        add_set(l, ~skel->imm);
    }
}

/* Lanes of the warp for the model's lanes: some of the sets that no round had yet, then the lowest. False:
 * all were there. */
static bool number_lanes(Stepper *stepper, LaneSets *sets) {
    uint32_t taken = 0;
    unsigned n = 0;
    bool first = sets->seen == 0;
    for (uint32_t i = 0; i < sets->n && n + !first < stepper->nlanes; i++)
        if (!(sets->masks[i] & (sets->seen | taken))) {
            stepper->lane_number[n++] = (unsigned)__builtin_ctz(sets->masks[i]);
            taken |= sets->masks[i] & -sets->masks[i];
        }
    if (!n && !first)
        return false;
    for (unsigned lane = 0; n < stepper->nlanes; lane++)
        if (!(taken >> lane & 1)) {
            stepper->lane_number[n++] = lane;
            taken |= 1u << lane;
        }
    sets->seen |= taken;
    for (unsigned i = 1; i < n; i++) /* ascending, so that "lowest" is the same lane */
        for (unsigned k = i; k > 0 && stepper->lane_number[k - 1] > stepper->lane_number[k]; k--) {
            unsigned t = stepper->lane_number[k];
            stepper->lane_number[k] = stepper->lane_number[k - 1];
            stepper->lane_number[k - 1] = t;
        }
    return true;
}

static void sum_up(const Search *search) {
    ModelResult *result = search->r;
    if (search->x.left_out && result->verdict == MODEL_PROVED) {
        result->verdict = MODEL_LIMIT;
        result->why = search->x.left_out;
    }
    for (uint32_t i = 0; i < result->nfindings; i++)
        if (result->findings[i].verdict > result->verdict)
            result->verdict = result->findings[i].verdict;
    result->nstates += search->n - NODE_FIRST;
    result->nedges += search->nedges;
    result->assumed_masks += search->x.assumed_masks;
}

static void set_defaults(ModelOptions *options) {
    options->lanes = options->lanes ? options->lanes : 3;
    options->lanes = options->lanes > MODEL_MAX_LANES ? MODEL_MAX_LANES : options->lanes;
    options->max_states = options->max_states ? options->max_states : 200000;
    options->max_states = options->max_states < UINT32_MAX / 64 ? options->max_states : UINT32_MAX / 64;
    options->seconds = options->seconds > 0 ? options->seconds : 10;
    options->call_depth = options->call_depth ? options->call_depth : 16;
}

void model_check(const ModelProgram *program, uint32_t kernel, const ModelOptions *opt, ModelResult *result) {
    *result = (ModelResult){.kernel = &program->g->bin->funcs[kernel]};
    double start = clock_seconds();
    LaneSets sets = {.n = 0};
    if (opt)
        result->options = *opt;
    set_defaults(&result->options);
    find_sets(program, &sets);
    if (result->options.sleep_test != MACHINE_SLEEP_AWAKE ||
        result->options.warpsync_masks != MACHINE_MASKS_ARRIVED) {
        result->verdict = MODEL_LIMIT;
        result->why = "a reading of the specification that is not modelled";
        return;
    }
    for (bool more = program->g->funcs[kernel].ninsts > 0; more && !result->nfindings;) {
        Search q = {.r = result,
                    .start_inst = program->g->funcs[kernel].first_inst,
                    .deadline = clock_cpu_seconds() + result->options.seconds};
        q.x = (Stepper){
            .p = program,
            .arena = &result->arena,
            .opt = result->options,
            .bssy_assigns = machine_bssy_assigns(&result->options.policies, program->g->bin->target),
            .warpsync_turns = machine_warpsync_turns(&result->options.policies, program->g->bin->target),
            .nlanes = result->options.lanes};
        more = number_lanes(&q.x, &sets);
        if (more) {
            result->nlanes = q.x.nlanes;
            memcpy(result->lane_number, q.x.lane_number, sizeof result->lane_number);
            explore(&q);
            find_stuck(&q);
            find_bad(&q);
            sum_up(&q);
            more = !q.full;
        }
        mem_free(q.states), mem_free(q.reached_by), mem_free(q.first_edge), mem_free(q.hangs),
            mem_free(q.slots), mem_free(q.edges), mem_free(q.digits);
    }
    result->seconds = clock_seconds() - start;
}

void model_result_free(ModelResult *result) { arena_free(&result->arena); }

Verdict model_verdict(ModelVerdict v) {
    static const Verdict verdicts[MODEL_VERDICTS] = {[MODEL_PROVED] = VERDICT_PROVED,
                                                     [MODEL_LIMIT] = VERDICT_LIMIT,
                                                     [MODEL_STUCK] = VERDICT_STUCK,
                                                     [MODEL_VIOLATION] = VERDICT_VIOLATION};
    return verdicts[v];
}

const char *model_verdict_name(ModelVerdict v) { return verdict_name(model_verdict(v)); }

/* Of the lane choices the highest and the lowest: MACHINE_LANE_ROTATE and _RANDOM mean any lane here. */
void model_choose(ModelOptions *options, unsigned n) {
    machine_policy_choose(&options->policies, n % 2 + n / 2 * 4);
}
