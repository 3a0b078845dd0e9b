/* See lane_trace.h.
 * SPDX-License-Identifier: MIT */
#include "check/fuzz/lane_trace.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *zeroed(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p)
        abort();
    return p;
}

static bool writes(const PtxInsn *i) {
    return (i->op == PTX_ST && i->space != SP_PARAM && i->space != SP_LOCAL) || i->op == PTX_ATOM ||
           i->op == PTX_RED;
}

void lane_traces_start(LaneTraces *t, const PtxModule *m, const Launch *l) {
    *t = (LaneTraces){.m = m, .launch = l};
    t->nthreads = l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
    t->threads = zeroed(2 * (size_t)t->nthreads, sizeof *t->threads);
    t->lines = zeroed(m->nsource_lines + 2, sizeof *t->lines);
    for (uint32_t k = 0; k < m->nfuncs; k++)
        for (uint32_t i = 0; i < m->funcs[k].ninsns; i++)
            if (writes(&m->funcs[k].insns[i]))
                t->lines[ptx_line(m, &m->funcs[k].insns[i])] = true;
}

void lane_traces_free(LaneTraces *t) {
    for (uint32_t i = 0; t->threads && i < 2 * t->nthreads; i++)
        free(t->threads[i].at);
    free(t->threads);
    free(t->lines);
    *t = (LaneTraces){0};
}

static uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static void add(LaneTraces *t, uint32_t thread, uint32_t line, bool atomic, uint64_t address, uint32_t bytes,
                const uint8_t *data) {
    if (address - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES || thread >= t->nthreads ||
        line > t->m->nsource_lines || !t->lines[line])
        return;
    LaneTrace *l = &t->threads[2 * thread + (address - SIM_SHARED_WINDOW < SIM_WINDOW_BYTES)];
    if (!l->n || l->at[l->n - 1].line != line) {
        if (l->n == l->cap) {
            l->cap = l->cap ? 2 * l->cap : 64;
            l->at = realloc(l->at, l->cap * sizeof *l->at);
            if (!l->at)
                abort();
        }
        l->at[l->n++] = (LaneEvent){.line = line};
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bytes; i++)
        sum += mix((address + i) << 9 ^ (atomic ? 256u : data[i]));
    l->at[l->n - 1].sum += sum;
}

static uint32_t thread_number(const Launch *l, const uint32_t block[3], uint32_t in_block) {
    uint32_t b = block[0] + l->grid[0] * (block[1] + l->grid[1] * block[2]);
    return b * l->block[0] * l->block[1] * l->block[2] + in_block;
}

void lane_trace_ptx(void *traces, const PtxEvent *e) {
    LaneTraces *t = traces;
    const Launch *l = t->launch;
    if (e->access.kind == PTX_ACCESS_NONE)
        return;
    uint32_t in_block = e->thread[0] + l->block[0] * (e->thread[1] + l->block[1] * e->thread[2]);
    add(t, thread_number(l, e->block, in_block), ptx_line(t->m, &e->func->insns[e->insn]),
        e->access.kind == PTX_ACCESS_ATOMIC, e->access.address, e->access.size_bytes, e->access.data);
}

void lane_trace_machine(void *traces, const MachineTrace *e) {
    LaneTraces *t = traces;
    MachineAccess a;
    if (!e->executed || !e->loc || !machine_trace_access(e, (unsigned)__builtin_ctz(e->executed), &a))
        return;
    for (uint32_t m = e->executed; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        machine_trace_access(e, lane, &a);
        add(t, thread_number(t->launch, e->block, e->warp * 32 + lane), e->loc->ptx_line, a.atomic, a.address,
            a.size_bytes, a.data);
    }
}

uint64_t lane_traces_events(const LaneTraces *t) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < 2 * t->nthreads; i++)
        n += t->threads[i].n;
    return n;
}

bool lane_traces_equal(const LaneTraces *ptx, const LaneTraces *machine, char *out, size_t out_bytes) {
    for (uint32_t i = 0; i < 2 * ptx->nthreads; i++) {
        const LaneTrace *a = &ptx->threads[i], *b = &machine->threads[i];
        for (uint32_t k = 0; k < a->n || k < b->n; k++) {
            LaneEvent x = k < a->n ? a->at[k] : (LaneEvent){0}, y = k < b->n ? b->at[k] : (LaneEvent){0};
            if (x.line == y.line && x.sum == y.sum)
                continue;
            snprintf(out, out_bytes,
                     "thread %u, %s store %u of %u (machine: %u): PTX line %u, machine line %u%s", i / 2,
                     i & 1 ? "shared" : "global", k, a->n, b->n, x.line, y.line,
                     x.line == y.line ? ", another address or value" : "");
            return false;
        }
    }
    return true;
}
