/* What PTX leaves undefined and the interpreter watches in every run, at no cost where nothing is promised:
 *   - `.uni` branches whose lanes go different ways, and guards of aligned barriers that differ between
 * lanes. Executions of two lanes are compared when both took the same branches before: only then a warp that
 * runs them together is sure to be at that instruction with both (in divergent code lanes meet it at
 * different times).
 *   - aligned barriers that a part of a warp goes around: at a place that every lane passes which has not
 * left the kernel before, all must have executed equally many. That place is the last post-dominator of the
 * barrier in the kernel that is more than its exit; lanes that exit early do not come there, so they raise no
 * alarm. Both are found when a warp ends, so that a report can name all its lanes.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_EXECUTIONS = 1024 }; /* of one instruction in one warp; later ones are not compared */

/* ---- watching ---- */

typedef struct { /* the n-th execution of one instruction in a warp */
    uint64_t path, value;
    uint32_t same, other;   /* lanes with that value; lanes on the same path with another one */
    const PtxCode *barrier; /* meets: the last one of a lane that executed more of them */
    uint64_t other_value;
} Row;

typedef struct PtxPromise {
    struct PtxPromise *next;
    const PtxCode *code;
    bool is_meet;
    uint32_t count[SIM_WARP_LANES];
    uint32_t n, cap;
    Row *rows;
} PtxPromise;

static PtxPromise *find(PtxWarp *w, const PtxCode *c, bool is_meet) {
    PtxPromise *p = w->promises;
    while (p && (p->code != c || p->is_meet != is_meet))
        p = p->next;
    if (p || !(p = calloc(1, sizeof *p)))
        return p;
    p->code = c;
    p->is_meet = is_meet;
    p->next = w->promises;
    return w->promises = p;
}

static bool grow(PtxPromise *p) {
    if (p->n < p->cap)
        return true;
    uint32_t cap = p->cap ? 2 * p->cap : 4;
    Row *rows = realloc(p->rows, cap * sizeof *rows);
    if (rows) {
        p->rows = rows;
        p->cap = cap;
    }
    return rows != NULL;
}

static void note(PtxThread *t, const PtxCode *c, bool is_meet, uint64_t path, uint64_t value) {
    PtxPromise *p = find(t->warp, c, is_meet);
    if (!p)
        return;
    uint32_t n = p->count[t->lane]++, lane = 1u << t->lane;
    if (n >= MAX_EXECUTIONS || (n >= p->n && !grow(p)))
        return;
    if (n >= p->n) {
        p->rows[p->n++] = (Row){.path = path, .value = value, .same = lane, .barrier = t->last_barrier};
        return;
    }
    Row *row = &p->rows[n];
    if (row->path != path)
        return;
    if (row->value == value) {
        row->same |= lane;
        return;
    }
    if (value > (row->other ? row->other_value : row->value))
        row->barrier = t->last_barrier;
    row->other |= lane;
    row->other_value = value;
}

void ptx_watch(PtxRun *r, PtxThread *t, const PtxCode *c, bool run) {
    if (c->watch & PTX_WATCH_UNIFORM) {
        uint64_t way = !run ? 0 : c->insn->op == PTX_BRX ? 1 + (uint32_t)ptx_arg(r, t, &c->src[0]) : 1;
        note(t, c, false, t->path, way);
    }
    if (c->watch & PTX_WATCH_MEET)
        note(t, c, true, 0, t->nbarriers);
    if (run && c->watch & PTX_WATCH_BARRIER) {
        t->nbarriers++;
        t->last_barrier = c;
        t->path = 0; /* all lanes are here */
    }
}

static PtxStep exec_watched(PtxRun *r, PtxThread *t, const PtxCode *c) {
    ptx_watch(r, t, c, true);
    return c->watched(r, t, c);
}

static void report(PtxRun *r, const PtxWarp *w, const PtxPromise *p) {
    for (uint32_t n = 0; n < p->n; n++) {
        const Row *row = &p->rows[n];
        const PtxCode *c = p->is_meet ? row->barrier : p->code;
        if (!row->other || !c)
            continue;
        char text[100];
        snprintf(text, sizeof text,
                 p->is_meet ? "executed by lanes 0x%08x of warp %u more often than by 0x%08x"
                            : "lanes 0x%08x of warp %u go another way than 0x%08x",
                 p->is_meet && row->value > row->other_value ? row->same : row->other, w->index,
                 p->is_meet && row->value > row->other_value ? row->other : row->same);
        bool said = p->is_meet && *c->warned >> TRAP_NOT_UNIFORM & 1; /* its guard was the reason */
        if (!said)
            ptx_warn(r, &w->threads[__builtin_ctz(row->other)], c,
                     p->is_meet ? TRAP_DIVERGENT_BARRIER : TRAP_NOT_UNIFORM, text);
    }
}

void ptx_end_promises(PtxRun *r, PtxWarp *w) {
    for (int meets = 0; meets < 2; meets++)
        for (const PtxPromise *p = w->promises; p; p = p->next)
            if (p->is_meet == meets)
                report(r, w, p);
    while (w->promises) {
        PtxPromise *p = w->promises;
        w->promises = p->next;
        free(p->rows);
        free(p);
    }
}

/* ---- what to watch ---- */

static void watch(PtxCode *c, unsigned what) {
    if (!c->watch) {
        c->watched = c->exec;
        c->exec = exec_watched;
    }
    c->watch |= (uint8_t)what;
}

static bool is_aligned_barrier(const PtxInsn *in) {
    if (!in || (in->op != PTX_BAR && in->op != PTX_BARRIER) || in->sub == SUB_WARP || in->sub2 == SUB_WARP ||
        in->sub == SUB_CLUSTER || in->sub2 == SUB_CLUSTER)
        return false;
    return in->op == PTX_BAR || in->flags & PF_ALIGNED;
}

/* Successor number k of instruction i, UINT32_MAX behind the last. */
static uint32_t successors(const PtxProc *p, uint32_t i, uint32_t k) {
    const PtxCode *c = &p->code[i];
    uint32_t none = UINT32_MAX, n = p->func->ninsns;
    if (i == n)
        return none;
    bool ends = c->insn->op == PTX_RET || c->insn->op == PTX_EXIT || c->insn->op == PTX_TRAP ||
                c->insn->op == PTX_BRKPT || c->insn->op == PTX_BRA || c->insn->op == PTX_BRX;
    if (k < c->ntargets)
        return (uint32_t)(c->targets[k] - p->code);
    return k == c->ntargets && (!ends || c->guard) ? i + 1 : none;
}

static bool is_way_out(const PtxProc *p, uint32_t i) { /* nothing but leaving, or going there */
    const PtxInsn *in = i < p->func->ninsns ? p->code[i].insn : NULL;
    return !in || (!in->guard_reg && (in->op == PTX_RET || in->op == PTX_EXIT || in->op == PTX_BRA));
}

typedef struct {
    const PtxProc *p;
    uint32_t n;               /* instructions, the implicit ret included */
    uint32_t *first, *preds;  /* predecessors of i: preds[first[i]] ... preds[first[i + 1] - 1] */
    uint32_t *order, *number; /* the nodes that reach the sink, from there backwards; number: position + 1 */
    uint32_t norder;
    uint32_t *ipdom;
} Meets;

static void make_preds(Meets *m, Arena *a, const bool *reached) {
    m->first = ARENA_ARRAY(a, uint32_t, m->n + 2);
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0, s; reached[i] && (s = successors(m->p, i, k)) != UINT32_MAX; k++)
            m->first[s + 2]++;
    for (uint32_t i = 2; i < m->n + 2; i++)
        m->first[i] += m->first[i - 1];
    m->preds = ARENA_ARRAY(a, uint32_t, m->first[m->n + 1] + 1);
    for (uint32_t i = 0; i < m->n; i++)
        for (uint32_t k = 0, s; reached[i] && (s = successors(m->p, i, k)) != UINT32_MAX; k++)
            m->preds[m->first[s + 1]++] = i;
}

/* Reverse post-order of the reversed graph from `sink`. */
static void order_from(Meets *m, Arena *a, uint32_t sink) {
    ArenaMark mark = arena_mark(a);
    uint32_t *stack = ARENA_ARRAY(a, uint32_t, m->n + 1), *next = ARENA_ARRAY(a, uint32_t, m->n + 1), top = 0;
    memset(m->number, 0, m->n * sizeof *m->number);
    m->norder = 0;
    stack[top++] = sink;
    m->number[sink] = 1;
    while (top) {
        uint32_t i = stack[top - 1];
        if (m->first[i] + next[i] < m->first[i + 1]) {
            uint32_t q = m->preds[m->first[i] + next[i]++];
            if (!m->number[q]) {
                m->number[q] = 1;
                stack[top++] = q;
            }
        } else {
            m->order[m->norder++] = i;
            top--;
        }
    }
    for (uint32_t k = 0; k < m->norder / 2; k++) {
        uint32_t x = m->order[k];
        m->order[k] = m->order[m->norder - 1 - k];
        m->order[m->norder - 1 - k] = x;
    }
    for (uint32_t k = 0; k < m->norder; k++)
        m->number[m->order[k]] = k + 1;
    arena_release(a, mark);
}

static uint32_t common(const Meets *m, uint32_t a, uint32_t b) {
    while (a != b)
        if (m->number[a] > m->number[b])
            a = m->ipdom[a];
        else
            b = m->ipdom[b];
    return a;
}

static void post_dominators(Meets *m) {
    m->ipdom[m->order[0]] = m->order[0];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < m->norder; k++) {
            uint32_t i = m->order[k], d = UINT32_MAX;
            for (uint32_t e = 0, s; (s = successors(m->p, i, e)) != UINT32_MAX; e++)
                if (m->number[s] && m->ipdom[s] != UINT32_MAX)
                    d = d == UINT32_MAX ? s : common(m, s, d);
            changed |= m->ipdom[i] != d;
            m->ipdom[i] = d;
        }
    }
}

/* The exit that most instructions reach, the last of equals. UINT32_MAX: none does. */
static uint32_t choose_sink(Meets *m, Arena *a, const bool *reached) {
    uint32_t best = UINT32_MAX, count = 0;
    for (uint32_t i = 0; i < m->n; i++) {
        const PtxInsn *in = m->p->code[i].insn;
        bool leaves = !in || (!in->guard_reg && (in->op == PTX_RET || in->op == PTX_EXIT));
        if (!leaves || !reached[i])
            continue;
        order_from(m, a, i);
        if (m->norder >= count)
            best = i, count = m->norder;
    }
    return best;
}

static void find_reached(const PtxProc *p, Arena *a, uint32_t n, bool *reached) {
    uint32_t *stack = ARENA_ARRAY(a, uint32_t, n + 1), top = 0;
    stack[top++] = 0;
    reached[0] = true;
    while (top) {
        uint32_t i = stack[--top];
        for (uint32_t k = 0, s; (s = successors(p, i, k)) != UINT32_MAX; k++)
            if (!reached[s]) {
                reached[s] = true;
                stack[top++] = s;
            }
    }
}

/* Watch where the lanes meet behind each barrier of the kernel, and behind each call that may lead to one. */
static void watch_meets(PtxProc *p, bool calls) {
    Arena a = {0};
    Meets m = {.p = p, .n = p->func->ninsns + 1};
    bool *reached = ARENA_ARRAY(&a, bool, m.n);
    find_reached(p, &a, m.n, reached);
    make_preds(&m, &a, reached);
    m.order = ARENA_ARRAY(&a, uint32_t, m.n);
    m.ipdom = ARENA_ARRAY(&a, uint32_t, m.n);
    m.number = ARENA_ARRAY(&a, uint32_t, m.n);
    uint32_t sink = choose_sink(&m, &a, reached);
    if (sink != UINT32_MAX) {
        memset(m.ipdom, 0xff, m.n * sizeof *m.ipdom);
        order_from(&m, &a, sink);
        post_dominators(&m);
    }
    for (uint32_t i = 0; sink != UINT32_MAX && i + 1 < m.n; i++) {
        const PtxInsn *in = p->code[i].insn;
        if (!m.number[i] || !(is_aligned_barrier(in) || (calls && in->op == PTX_CALL)))
            continue;
        uint32_t meet = UINT32_MAX;
        for (uint32_t k = i; k != sink; k = m.ipdom[k])
            if (k != i && !is_way_out(p, k))
                meet = k;
        if (meet != UINT32_MAX)
            watch(&p->code[meet], PTX_WATCH_MEET);
    }
    arena_free(&a);
}

void ptx_find_promises(PtxRun *r) {
    bool in_kernel = false, in_functions = false;
    for (uint32_t k = 0; k < r->norder; k++) {
        PtxProc *p = r->order[k];
        for (uint32_t i = 0; i < p->func->ninsns; i++) {
            PtxCode *c = &p->code[i];
            bool barrier = is_aligned_barrier(c->insn);
            if ((barrier || c->insn->flags & PF_UNI) && (c->guard || c->insn->op == PTX_BRX))
                watch(c, PTX_WATCH_UNIFORM);
            if (barrier) {
                watch(c, PTX_WATCH_BARRIER);
                *(p == r->kernel ? &in_kernel : &in_functions) = true;
            }
        }
    }
    if (in_kernel || in_functions)
        watch_meets(r->kernel, in_functions);
}
