/* Exploration: the graph of the states in which something is to be decided, and from which of them all lanes
 * can still exit.
 *
 * Between two decisions the machine is deterministic, so a node of the graph is a state whose next
 * instruction asks something, and an edge the answers. Breadth first, so that the way to what is found is
 * short. Then backwards from the ends: what is not reached is stuck. Nodes that were not looked at any more
 * count as ends.
 * SPDX-License-Identifier: MIT */
#include "check/model/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
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
    double deadline;
    bool full;
} Search;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void *grow(void *old, size_t n, size_t elem_bytes) {
    void *p = realloc(old, n * elem_bytes);
    if (!p)
        abort();
    return p;
}

/* ---- nodes and edges ---- */

static void rehash(Search *q) {
    q->nslots = q->nslots ? q->nslots * 2 : 1024;
    free(q->slots);
    q->slots = calloc(q->nslots, sizeof *q->slots);
    if (!q->slots)
        abort();
    for (uint32_t i = NODE_FIRST; i < q->n; i++) {
        uint32_t h = (uint32_t)XXH3_64bits(&q->states[i], sizeof *q->states) & (q->nslots - 1);
        while (q->slots[h])
            h = (h + 1) & (q->nslots - 1);
        q->slots[h] = i;
    }
}

static uint32_t new_node(Search *q, const ModelState *s) {
    if (q->n == q->cap) {
        q->cap = q->cap ? q->cap * 2 : 512;
        q->states = grow(q->states, q->cap, sizeof *q->states);
        q->reached_by = grow(q->reached_by, q->cap, sizeof *q->reached_by);
        q->first_edge = grow(q->first_edge, q->cap, sizeof *q->first_edge);
        q->hangs = grow(q->hangs, q->cap, sizeof *q->hangs);
    }
    q->states[q->n] = *s;
    q->reached_by[q->n] = UINT32_MAX;
    q->first_edge[q->n] = UINT32_MAX;
    q->hangs[q->n] = false;
    return q->n++;
}

static uint32_t node_of(Search *q, const ModelState *s) {
    if ((q->n + 1) * 2 > q->nslots)
        rehash(q);
    uint32_t h = (uint32_t)XXH3_64bits(s, sizeof *s) & (q->nslots - 1);
    for (; q->slots[h]; h = (h + 1) & (q->nslots - 1))
        if (memcmp(&q->states[q->slots[h]], s, sizeof *s) == 0)
            return q->slots[h];
    return q->slots[h] = new_node(q, s);
}

static uint32_t add_edge(Search *q, uint32_t from, uint32_t to, const Oracle *o) {
    if (q->nedges == q->edge_cap)
        q->edges = grow(q->edges, q->edge_cap = q->edge_cap ? q->edge_cap * 2 : 1024, sizeof *q->edges);
    if (q->ndigits + MODEL_MAX_DIGITS > q->digit_cap)
        q->digits = grow(q->digits, q->digit_cap = q->digit_cap ? q->digit_cap * 2 : 4096, sizeof *q->digits);
    memcpy(q->digits + q->ndigits, o->digit, o->n * sizeof *o->digit);
    q->edges[q->nedges] = (Edge){from, to, q->ndigits, (uint8_t)o->n};
    q->ndigits += o->n;
    if (q->reached_by[to] == UINT32_MAX && to >= NODE_FIRST)
        q->reached_by[to] = q->nedges;
    if (q->first_edge[from] == UINT32_MAX)
        q->first_edge[from] = q->nedges;
    return q->nedges++;
}

/* ---- exploring ---- */

/* Go on as long as nothing is to be decided. *hangs: the state repeats. */
static StepStatus run_on(Search *q, ModelState *s, bool *hangs) {
    ModelState saved = *s;
    uint64_t steps = 0, save_at = 32;
    *hangs = false;
    for (;;) {
        ModelState t = *s;
        Oracle nothing = {.n = 0};
        StepStatus status = model_step(&q->x, &t, &nothing);
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

static uint32_t arrive(Search *q, ModelState *s, StepStatus status) {
    bool hangs = false;
    if (status == STEP_ON)
        status = run_on(q, s, &hangs);
    switch (status) {
    case STEP_DONE: return NODE_END;
    case STEP_LEFT_OUT: return NODE_LEFT_OUT;
    case STEP_BAD: return NODE_BAD;
    default: {
        uint32_t node = node_of(q, s);
        q->hangs[node] = hangs;
        return node;
    }
    }
}

static void note_bad(Search *q, uint32_t edge) {
    for (uint32_t i = 0; i < q->nbad; i++)
        if (q->bad_inst[i] == q->x.bad_inst)
            return;
    if (q->nbad == MODEL_MAX_FINDINGS)
        return;
    q->bad_inst[q->nbad] = q->x.bad_inst;
    snprintf(q->bad_text[q->nbad], sizeof q->bad_text[0], "%s", q->x.bad);
    q->bad_edges[q->nbad++] = edge;
}

/* All answers to what the node's next instruction asks. */
static void expand(Search *q, uint32_t node, Oracle *o) {
    ModelState s = q->states[node];
    StepStatus status = model_step(&q->x, &s, o);
    if (status == STEP_CHOICE) {
        uint32_t radix = o->radix, n = o->n;
        if (n == MODEL_MAX_DIGITS) {
            q->x.left_out = "an instruction with very many outcomes";
            add_edge(q, node, NODE_LEFT_OUT, o);
            return;
        }
        for (uint32_t d = 0; d < radix; d++) {
            o->n = n;
            o->digit[o->n++] = d;
            expand(q, node, o);
        }
        o->n = n;
        return;
    }
    uint32_t to = arrive(q, &s, status);
    uint32_t edge = add_edge(q, node, to, o);
    if (to == NODE_BAD)
        note_bad(q, edge);
}

static void explore(Search *q) {
    ModelState s;
    for (unsigned i = 0; i < NODE_FIRST; i++)
        new_node(q, &(ModelState){.spare = {(uint8_t)(i + 1)}});
    model_start(&q->x, q->start_inst, &s);
    uint32_t start = arrive(q, &s, STEP_ON);
    q->reached_by[start] = ROOT;
    if (start == NODE_BAD)
        note_bad(q, ROOT);
    uint64_t most = q->x.opt.max_states;
    for (uint32_t node = NODE_FIRST; node < q->n; node++) {
        if (q->n > most || ((node & 63) == 0 && now() > q->deadline)) {
            q->full = true;
            q->x.left_out = q->n > most ? "states beyond the limit" : "states beyond the time";
            return;
        }
        Oracle o = {.n = 0};
        if (!q->hangs[node])
            expand(q, node, &o);
    }
}

/* ---- what cannot end ---- */

/* good[node]: an end can be reached from it. */
static void reach_back(const Search *q, bool *good) {
    uint32_t *at = calloc(q->n + 2u, sizeof *at), *from = malloc((q->nedges + 1u) * sizeof *from);
    uint32_t *work = malloc((q->n + 1u) * sizeof *work), top = 0;
    if (!at || !from || !work)
        abort();
    for (uint32_t e = 0; e < q->nedges; e++)
        at[q->edges[e].to + 2]++;
    for (uint32_t i = 2; i < q->n + 2u; i++)
        at[i] += at[i - 1];
    for (uint32_t e = 0; e < q->nedges; e++)
        from[at[q->edges[e].to + 1]++] = q->edges[e].from;
    for (uint32_t i = 0; i < q->n; i++) {
        good[i] = i < NODE_FIRST ||
                  (!q->hangs[i] && q->first_edge[i] == UINT32_MAX); /* ends, and what was not looked at */
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
    free(at);
    free(from);
    free(work);
}

/* ---- findings ---- */

/* Execute a path of edges again, with every decision written down; `loop_edge` of them lead to the loop. */
static void retrace(Search *q, const uint32_t *path, uint32_t n, uint32_t loop_edge, ModelFinding *f) {
    StepLog log = {0};
    ModelState s;
    bool hangs = false;
    q->x.log = &log;
    model_start(&q->x, q->start_inst, &s);
    run_on(q, &s, &hangs);
    f->loop = loop_edge == 0 ? log.n : 0;
    for (uint32_t k = 0; k < n; k++) {
        const Edge *e = &q->edges[path[k]];
        Oracle o = {.n = e->ndigits};
        memcpy(o.digit, q->digits + e->digits, e->ndigits * sizeof *o.digit);
        hangs = false;
        if (model_step(&q->x, &s, &o) == STEP_ON)
            run_on(q, &s, &hangs);
        if (k + 1 == loop_edge)
            f->loop = log.n;
    }
    if (hangs) { /* one more round, for the guards in it, which are known */
        ModelState round = s;
        f->loop = log.n;
        do {
            Oracle nothing = {.n = 0};
            model_step(&q->x, &s, &nothing);
        } while (memcmp(&s, &round, sizeof s) != 0);
    }
    q->x.log = NULL;
    f->steps = log.at;
    f->nsteps = log.n;
    if (f->loop > log.n)
        f->loop = log.n;
    for (unsigned i = 0; i < MODEL_MAX_LANES; i++) {
        f->lanes[i].pc = s.valid >> i & 1 ? s.pc[i] : BINFLOW_NONE;
        f->lanes[i].active = s.active >> i & 1;
    }
    f->inst = f->verdict == MODEL_STUCK && s.active ? s.pc[__builtin_ctz(s.active)] : f->inst;
}

static uint32_t path_to(const Search *q, uint32_t edge, uint32_t **path) {
    uint32_t n = 0;
    for (uint32_t e = edge; e < ROOT; e = q->reached_by[q->edges[e].from])
        n++;
    *path = malloc((n + q->n + 2u) * sizeof **path);
    if (!*path)
        abort();
    uint32_t k = n;
    for (uint32_t e = edge; e < ROOT; e = q->reached_by[q->edges[e].from])
        (*path)[--k] = e;
    return n;
}

/* From a stuck node on: edges until a node comes again. Returns where in the path the loop starts. */
static uint32_t add_loop(const Search *q, uint32_t node, uint32_t *path, uint32_t *n) {
    uint32_t *seen = malloc(q->n * sizeof *seen), start = *n;
    if (!seen)
        abort();
    memset(seen, 0xff, q->n * sizeof *seen);
    while (!q->hangs[node] && seen[node] == UINT32_MAX) {
        seen[node] = *n;
        uint32_t first = q->first_edge[node], take = first;
        for (uint32_t e = first; e < q->nedges && q->edges[e].from == node; e++)
            if (seen[q->edges[e].to] != UINT32_MAX || q->hangs[q->edges[e].to]) {
                take = e;
                break;
            }
        path[(*n)++] = take;
        node = q->edges[take].to;
    }
    start = q->hangs[node] ? *n : seen[node];
    free(seen);
    return start;
}

static void find_stuck(Search *q) {
    bool *good = malloc(q->n);
    if (!good)
        abort();
    reach_back(q, good);
    uint32_t first = UINT32_MAX;
    for (uint32_t i = NODE_FIRST; i < q->n; i++)
        if (!good[i]) {
            first = first == UINT32_MAX ? i : first;
            q->r->stuck_states++;
        }
    free(good);
    if (first == UINT32_MAX || q->r->nfindings == MODEL_MAX_FINDINGS)
        return;
    ModelFinding *f = &q->r->findings[q->r->nfindings++];
    uint32_t *path, n = path_to(q, q->reached_by[first], &path), loop = add_loop(q, first, path, &n);
    f->verdict = MODEL_STUCK;
    retrace(q, path, n, loop, f);
    snprintf(f->text, sizeof f->text, "not all lanes can exit from here, whatever the branches do");
    free(path);
}

static void find_bad(Search *q) {
    for (uint32_t i = 0; i < q->nbad && q->r->nfindings < MODEL_MAX_FINDINGS; i++) {
        ModelFinding *f = &q->r->findings[q->r->nfindings++];
        uint32_t *path, n = path_to(q, q->bad_edges[i], &path);
        f->verdict = MODEL_VIOLATION;
        f->inst = q->bad_inst[i];
        snprintf(f->text, sizeof f->text, "%s", q->bad_text[i]);
        retrace(q, path, n, UINT32_MAX, f);
        f->loop = f->nsteps;
        free(path);
    }
}

/* Masks of lanes that the code names, and their complements: among the model's lanes there should be one of
 * each. */
typedef struct {
    uint32_t masks[64], n;
    uint32_t seen; /* lanes that were in some round */
} LaneSets;

static void add_set(LaneSets *l, uint32_t m) {
    bool known = m == 0;
    for (uint32_t i = 0; i < l->n; i++)
        known |= l->masks[i] == m;
    if (!known && l->n < sizeof l->masks / sizeof *l->masks)
        l->masks[l->n++] = m;
}

static void find_sets(const ModelProgram *p, LaneSets *l) {
    for (uint32_t i = 0; i < p->n; i++) {
        const Skel *k = &p->at[i];
        if (k->fails || !((k->kind == BK_WARPSYNC && k->mask_is_imm) ||
                          (k->track_def != 0xff && k->track_kind == TD_CONST)))
            continue;
        add_set(l, k->imm);
        add_set(l, ~k->imm);
    }
}

/* Lanes of the warp for the model's lanes: some of the sets that no round had yet, then the lowest. False:
 * all were there. */
static bool number_lanes(Stepper *x, LaneSets *l) {
    uint32_t taken = 0;
    unsigned n = 0;
    bool first = l->seen == 0;
    for (uint32_t i = 0; i < l->n && n + !first < x->nlanes; i++)
        if (!(l->masks[i] & (l->seen | taken))) {
            x->lane_number[n++] = (unsigned)__builtin_ctz(l->masks[i]);
            taken |= l->masks[i] & -l->masks[i];
        }
    if (!n && !first)
        return false;
    for (unsigned lane = 0; n < x->nlanes; lane++)
        if (!(taken >> lane & 1)) {
            x->lane_number[n++] = lane;
            taken |= 1u << lane;
        }
    l->seen |= taken;
    for (unsigned i = 1; i < n; i++) /* ascending, so that "lowest" is the same lane */
        for (unsigned k = i; k > 0 && x->lane_number[k - 1] > x->lane_number[k]; k--) {
            unsigned t = x->lane_number[k];
            x->lane_number[k] = x->lane_number[k - 1];
            x->lane_number[k - 1] = t;
        }
    return true;
}

static void sum_up(const Search *q) {
    ModelResult *r = q->r;
    if (q->x.left_out && r->verdict == MODEL_PROVED) {
        r->verdict = MODEL_LIMIT;
        r->why = q->x.left_out;
    }
    for (uint32_t i = 0; i < r->nfindings; i++)
        if (r->findings[i].verdict > r->verdict)
            r->verdict = r->findings[i].verdict;
    r->nstates += q->n - NODE_FIRST;
    r->nedges += q->nedges;
    r->assumed_masks += q->x.assumed_masks;
}

static void set_defaults(ModelOptions *o) {
    o->lanes = o->lanes ? o->lanes : 3;
    o->lanes = o->lanes > MODEL_MAX_LANES ? MODEL_MAX_LANES : o->lanes;
    o->max_states = o->max_states ? o->max_states : 200000;
    o->max_states = o->max_states < UINT32_MAX / 64 ? o->max_states : UINT32_MAX / 64;
    o->seconds = o->seconds > 0 ? o->seconds : 10;
    o->call_depth = o->call_depth ? o->call_depth : 16;
}

void model_check(const ModelProgram *p, uint32_t kernel, const ModelOptions *opt, ModelResult *r) {
    *r = (ModelResult){.kernel = &p->g->bin->funcs[kernel]};
    double start = now();
    LaneSets sets = {.n = 0};
    if (opt)
        r->options = *opt;
    set_defaults(&r->options);
    find_sets(p, &sets);
    for (bool more = p->g->funcs[kernel].ninsts > 0; more && !r->nfindings;) {
        Search q = {
            .r = r, .start_inst = p->g->funcs[kernel].first_inst, .deadline = start + r->options.seconds};
        q.x = (Stepper){.p = p, .arena = &r->arena, .opt = r->options, .nlanes = r->options.lanes};
        more = number_lanes(&q.x, &sets);
        if (more) {
            r->nlanes = q.x.nlanes;
            memcpy(r->lane_number, q.x.lane_number, sizeof r->lane_number);
            explore(&q);
            find_stuck(&q);
            find_bad(&q);
            sum_up(&q);
            more = !q.full;
        }
        free(q.states), free(q.reached_by), free(q.first_edge), free(q.hangs), free(q.slots), free(q.edges),
            free(q.digits);
    }
    r->seconds = now() - start;
}

void model_result_free(ModelResult *r) { arena_free(&r->arena); }

const char *model_verdict_name(ModelVerdict v) {
    static const char *const names[MODEL_VERDICTS] = {"proved", "limit reached", "stuck", "violation"};
    return names[v];
}
