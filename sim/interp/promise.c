/* What PTX leaves undefined and the interpreter watches in every run, at no cost where nothing is promised:
 *   - `.uni` branches whose lanes go different ways, and guards of aligned barriers that differ between
 * lanes. Executions of two lanes are compared when both took the same branches before: only then a warp that
 * runs them together is sure to be at that instruction with both (in divergent code lanes meet it at
 * different times). What a lane saw of an mbarrier counts as a branch: a warp looks once for all its lanes,
 * while here another thread may complete the phase between two of them. Nor are lanes compared of which the
 * same strong load has seen two values of one place: they waited for a flag, which was set between.
 *   - aligned barriers that a part of a warp goes around: at a place that every lane passes which has not
 * left the kernel before, all must have executed equally many. That place is the last post-dominator of the
 * barrier in the kernel that is more than its exit; lanes that exit early do not come there, so they raise no
 * alarm. Both are found when a warp ends, so that a report can name all its lanes. Post-dominators are found
 * here once more: the interpreter shares nothing with the compiler that it judges.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>

enum { MAX_EXECUTIONS = 1024 }; /* of one instruction in one warp; later ones are not compared */

/* ---- watching ---- */

typedef struct { /* the n-th execution of one instruction in a warp */
    uint64_t path, value;
    uint32_t same, other;   /* lanes with that value; lanes on the same path with another one */
    const PtxCode *barrier; /* meets: the last one of a lane that executed more of them */
    uint64_t other_value;
    const PtxCode *looked; /* as the first lane had it */
    uint64_t looked_at, saw;
} Row;

typedef struct PtxPromise {
    struct PtxPromise *next;
    const PtxCode *code;
    bool is_meet;
    uint32_t count[SIM_WARP_LANES];
    uint32_t n, cap;
    Row *rows;
} PtxPromise;

static PtxPromise *find_promise(PtxWarp *warp, const PtxCode *c, bool is_meet) {
    PtxPromise *promise = warp->promises;
    while (promise && (promise->code != c || promise->is_meet != is_meet))
        promise = promise->next;
    if (promise)
        return promise;
    promise = mem_zeroed(1, sizeof *promise);
    promise->code = c;
    promise->is_meet = is_meet;
    promise->next = warp->promises;
    return warp->promises = promise;
}

static void grow_rows(PtxPromise *promise) {
    if (promise->n < promise->cap)
        return;
    promise->cap = promise->cap ? 2 * promise->cap : 4;
    promise->rows = mem_resize(promise->rows, promise->cap * sizeof *promise->rows);
}

static void note(PtxThread *thread, const PtxCode *c, bool is_meet, uint64_t path, uint64_t value) {
    PtxPromise *promise = find_promise(thread->warp, c, is_meet);
    uint32_t n = promise->count[thread->lane]++, lane = 1u << thread->lane;
    if (n >= MAX_EXECUTIONS)
        return;
    if (n >= promise->n) {
        grow_rows(promise);
        promise->rows[promise->n++] = (Row){.path = path,
                                            .value = value,
                                            .same = lane,
                                            .barrier = thread->last_barrier,
                                            .looked = thread->looked,
                                            .looked_at = thread->looked_at,
                                            .saw = thread->saw};
        return;
    }
    Row *row = &promise->rows[n];
    if (row->path != path)
        return;
    if (row->value == value) {
        row->same |= lane;
        return;
    }
    if (!is_meet && row->looked && row->looked == thread->looked && row->looked_at == thread->looked_at &&
        row->saw != thread->saw)
        return;
    if (value > (row->other ? row->other_value : row->value))
        row->barrier = thread->last_barrier;
    row->other |= lane;
    row->other_value = value;
}

void interp_watch(PtxRun *r, PtxThread *thread, const PtxCode *code, bool run) {
    if (code->watch & PTX_WATCH_UNIFORM) {
        uint64_t way = !run                        ? 0
                       : code->insn->op == PTX_BRX ? 1 + (uint32_t)interp_arg(r, thread, &code->src[0])
                                                   : 1;
        note(thread, code, false, thread->path, way);
    }
    if (code->watch & PTX_WATCH_MEET)
        note(thread, code, true, 0, thread->nbarriers);
    if (run && code->watch & PTX_WATCH_BARRIER) {
        thread->nbarriers++;
        thread->last_barrier = code;
        thread->path = thread->nbarriers; /* all lanes are here, those that waited in more rounds too */
    }
}

static PtxStep exec_watched(PtxRun *r, PtxThread *t, const PtxCode *code) {
    interp_watch(r, t, code, true);
    return code->watched(r, t, code);
}

static void report_promise(PtxRun *r, const PtxWarp *warp, const PtxPromise *promise) {
    for (uint32_t n = 0; n < promise->n; n++) {
        const Row *row = &promise->rows[n];
        const PtxCode *ptx_code = promise->is_meet ? row->barrier : promise->code;
        if (!row->other || !ptx_code)
            continue;
        char text[100];
        snprintf(text, sizeof text,
                 promise->is_meet ? "executed by lanes 0x%08x of warp %u more often than by 0x%08x"
                                  : "lanes 0x%08x of warp %u go another way than 0x%08x",
                 promise->is_meet && row->value > row->other_value ? row->same : row->other, warp->index,
                 promise->is_meet && row->value > row->other_value ? row->other : row->same);
        bool said =
            promise->is_meet && *ptx_code->warned >> TRAP_NOT_UNIFORM & 1; /* its guard was the reason */
        if (!said)
            interp_warn(r, &warp->threads[__builtin_ctz(row->other)], ptx_code,
                        promise->is_meet ? TRAP_DIVERGENT_BARRIER : TRAP_NOT_UNIFORM, text);
    }
}

void interp_end_promises(PtxRun *r, PtxWarp *warp) {
    for (int meets = 0; meets < 2; meets++)
        for (const PtxPromise *promise = warp->promises; promise; promise = promise->next)
            if (promise->is_meet == meets)
                report_promise(r, warp, promise);
    while (warp->promises) {
        PtxPromise *promise = warp->promises;
        warp->promises = promise->next;
        mem_free(promise->rows);
        mem_free(promise);
    }
}

/* ---- what to watch ---- */

static void watch_code(PtxCode *code, unsigned what) {
    if (!code->watch) {
        code->watched = code->exec;
        code->exec = exec_watched;
    }
    code->watch |= (uint8_t)what;
}

static bool is_aligned_barrier(const PtxInsn *in) {
    if (!in || (in->op != PTX_BAR && in->op != PTX_BARRIER) || in->sub == SUB_WARP || in->sub2 == SUB_WARP ||
        in->sub == SUB_CLUSTER || in->sub2 == SUB_CLUSTER)
        return false;
    return in->op == PTX_BAR || in->flags & PF_ALIGNED;
}

/* Successor number k of instruction i, UINT32_MAX behind the last. */
static uint32_t successors(const PtxProc *proc, uint32_t i, uint32_t k) {
    const PtxCode *ptx_code = &proc->code[i];
    uint32_t none = UINT32_MAX, n = proc->func->ninsns;
    if (i == n)
        return none;
    if (k < ptx_code->ntargets)
        return (uint32_t)(ptx_code->targets[k] - proc->code);
    return k == ptx_code->ntargets && (!ptx_leaves(ptx_code->insn) || ptx_code->guard) ? i + 1 : none;
}

static bool is_way_out(const PtxProc *proc, uint32_t i) { /* nothing but leaving, or going there */
    const PtxInsn *in = i < proc->func->ninsns ? proc->code[i].insn : NULL;
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

static void make_preds(Meets *meets, Arena *a, const bool *reached) {
    meets->first = ARENA_ARRAY(a, uint32_t, meets->n + 2);
    for (uint32_t i = 0; i < meets->n; i++)
        for (uint32_t k = 0, s; reached[i] && (s = successors(meets->p, i, k)) != UINT32_MAX; k++)
            meets->first[s + 2]++;
    for (uint32_t i = 2; i < meets->n + 2; i++)
        meets->first[i] += meets->first[i - 1];
    meets->preds = ARENA_ARRAY(a, uint32_t, meets->first[meets->n + 1] + 1);
    for (uint32_t i = 0; i < meets->n; i++)
        for (uint32_t k = 0, s; reached[i] && (s = successors(meets->p, i, k)) != UINT32_MAX; k++)
            meets->preds[meets->first[s + 1]++] = i;
}

/* Reverse post-order of the reversed graph from `sink`. */
static void order_from(Meets *meets, Arena *a, uint32_t sink) {
    ArenaMark mark = arena_mark(a);
    uint32_t *stack = ARENA_ARRAY(a, uint32_t, meets->n + 1), *next = ARENA_ARRAY(a, uint32_t, meets->n + 1),
             top = 0;
    memset(meets->number, 0, meets->n * sizeof *meets->number);
    meets->norder = 0;
    stack[top++] = sink;
    meets->number[sink] = 1;
    while (top) {
        uint32_t i = stack[top - 1];
        if (meets->first[i] + next[i] < meets->first[i + 1]) {
            uint32_t q = meets->preds[meets->first[i] + next[i]++];
            if (!meets->number[q]) {
                meets->number[q] = 1;
                stack[top++] = q;
            }
        } else {
            meets->order[meets->norder++] = i;
            top--;
        }
    }
    for (uint32_t k = 0; k < meets->norder / 2; k++) {
        uint32_t x = meets->order[k];
        meets->order[k] = meets->order[meets->norder - 1 - k];
        meets->order[meets->norder - 1 - k] = x;
    }
    for (uint32_t k = 0; k < meets->norder; k++)
        meets->number[meets->order[k]] = k + 1;
    arena_release(a, mark);
}

static uint32_t common(const Meets *meets, uint32_t a, uint32_t b) {
    while (a != b)
        if (meets->number[a] > meets->number[b])
            a = meets->ipdom[a];
        else
            b = meets->ipdom[b];
    return a;
}

static void post_dominators(Meets *meets) {
    meets->ipdom[meets->order[0]] = meets->order[0];
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 1; k < meets->norder; k++) {
            uint32_t i = meets->order[k], d = UINT32_MAX;
            for (uint32_t e = 0, s; (s = successors(meets->p, i, e)) != UINT32_MAX; e++)
                if (meets->number[s] && meets->ipdom[s] != UINT32_MAX)
                    d = d == UINT32_MAX ? s : common(meets, s, d);
            changed |= meets->ipdom[i] != d;
            meets->ipdom[i] = d;
        }
    }
}

/* The exit that most instructions reach, the last of equals. UINT32_MAX: none does. */
static uint32_t choose_sink(Meets *meets, Arena *a, const bool *reached) {
    uint32_t best = UINT32_MAX, count = 0;
    for (uint32_t i = 0; i < meets->n; i++) {
        const PtxInsn *in = meets->p->code[i].insn;
        bool leaves = !in || (!in->guard_reg && (in->op == PTX_RET || in->op == PTX_EXIT));
        if (!leaves || !reached[i])
            continue;
        order_from(meets, a, i);
        if (meets->norder >= count)
            best = i, count = meets->norder;
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
static void watch_meets(PtxProc *proc, bool calls) {
    Arena a = {0};
    Meets m = {.p = proc, .n = proc->func->ninsns + 1};
    bool *reached = ARENA_ARRAY(&a, bool, m.n);
    find_reached(proc, &a, m.n, reached);
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
        const PtxInsn *in = proc->code[i].insn;
        if (!m.number[i] || !(is_aligned_barrier(in) || (calls && in->op == PTX_CALL)))
            continue;
        uint32_t meet = UINT32_MAX;
        for (uint32_t k = i; k != sink; k = m.ipdom[k])
            if (k != i && !is_way_out(proc, k))
                meet = k;
        if (meet != UINT32_MAX)
            watch_code(&proc->code[meet], PTX_WATCH_MEET);
    }
    arena_free(&a);
}

void interp_find_promises(PtxRun *run) {
    bool in_kernel = false, in_functions = false;
    for (uint32_t k = 0; k < run->norder; k++) {
        PtxProc *proc = run->order[k];
        for (uint32_t i = 0; i < proc->func->ninsns; i++) {
            PtxCode *ptx_code = &proc->code[i];
            bool barrier = is_aligned_barrier(ptx_code->insn);
            if ((barrier || ptx_code->insn->flags & PF_UNI) &&
                (ptx_code->guard || ptx_code->insn->op == PTX_BRX))
                watch_code(ptx_code, PTX_WATCH_UNIFORM);
            if (barrier) {
                watch_code(ptx_code, PTX_WATCH_BARRIER);
                *(proc == run->kernel ? &in_kernel : &in_functions) = true;
            }
        }
    }
    if (in_kernel || in_functions)
        watch_meets(run->kernel, in_functions);
}
