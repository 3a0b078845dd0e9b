/* See lane_trace.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "check/fuzz/lane_trace.h"
#include "ir/graph.h"
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

void fuzz_traces_start(LaneTraces *traces, const PtxModule *module, const Launch *l, uint32_t shared_base) {
    *traces = (LaneTraces){.m = module, .launch = l, .shared_base = shared_base};
    traces->nthreads = l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
    traces->threads = zeroed(2 * (size_t)traces->nthreads, sizeof *traces->threads);
    traces->lines = zeroed(module->nsource_lines + 2, sizeof *traces->lines);
    for (uint32_t k = 0; k < module->nfuncs; k++)
        for (uint32_t i = 0; i < module->funcs[k].ninsns; i++)
            if (writes(&module->funcs[k].insns[i]))
                traces->lines[ptx_line(module, &module->funcs[k].insns[i])] = true;
}

void fuzz_traces_free(LaneTraces *traces) {
    for (uint32_t i = 0; traces->threads && i < 2 * traces->nthreads; i++)
        free(traces->threads[i].at);
    free(traces->threads);
    free(traces->lines);
    *traces = (LaneTraces){0};
}

static bool of_interest(const LaneTraces *traces, uint32_t line) {
    return line <= traces->m->nsource_lines && traces->lines[line];
}

static void add_event(LaneTraces *traces, uint32_t thread, uint32_t line, bool atomic, uint64_t address,
                      uint32_t bytes, const uint8_t *data) {
    if (address - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES || thread >= traces->nthreads ||
        !of_interest(traces, line))
        return;
    bool shared = address - SIM_SHARED_WINDOW < SIM_WINDOW_BYTES;
    address -= shared ? traces->shared_base : 0;
    LaneTrace *trace = &traces->threads[2 * thread + shared];
    if (!trace->n || trace->at[trace->n - 1].line != line) {
        if (trace->n == trace->cap) {
            trace->cap = trace->cap ? 2 * trace->cap : 64;
            trace->at = realloc(trace->at, trace->cap * sizeof *trace->at);
            if (!trace->at)
                abort();
        }
        trace->at[trace->n++] = (LaneEvent){.line = line};
    }
    uint64_t sum = 0;
    for (uint32_t i = 0; i < bytes; i++)
        sum += rng_mix((address + i) << 9 ^ (atomic ? 256u : data[i]));
    trace->at[trace->n - 1].sum += sum;
}

static uint32_t thread_number(const Launch *launch, const uint32_t block[3], uint32_t in_block) {
    uint32_t b = block[0] + launch->grid[0] * (block[1] + launch->grid[1] * block[2]);
    return b * launch->block[0] * launch->block[1] * launch->block[2] + in_block;
}

void fuzz_trace_ptx(void *traces, const PtxEvent *event) {
    LaneTraces *lane_traces = traces;
    const Launch *l = lane_traces->launch;
    if (event->access.kind == PTX_ACCESS_NONE)
        return;
    uint32_t in_block = event->thread[0] + l->block[0] * (event->thread[1] + l->block[1] * event->thread[2]);
    add_event(lane_traces, thread_number(l, event->block, in_block),
              ptx_line(lane_traces->m, &event->func->insns[event->insn]),
              event->access.kind == PTX_ACCESS_ATOMIC, event->access.address, event->access.size_bytes,
              event->access.data);
}

void fuzz_trace_machine(void *traces, const MachineTrace *trace) {
    LaneTraces *lane_traces = traces;
    MachineAccess a;
    if (!trace->loc || !of_interest(lane_traces, trace->loc->ptx_line))
        return;
    for (uint32_t m = trace->executed; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        if (machine_trace_access(trace, lane, &a))
            add_event(lane_traces, thread_number(lane_traces->launch, trace->block, trace->warp * 32 + lane),
                      trace->loc->ptx_line, a.atomic, a.address, a.size_bytes, a.data);
    }
}

uint64_t fuzz_traces_events(const LaneTraces *traces) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < 2 * traces->nthreads; i++)
        n += traces->threads[i].n;
    return n;
}

typedef struct {
    uint32_t *same; /* [line] one line for all whose statements have become one instruction (graph_find) */
    bool *melded;   /* [line] it has such statements */
} Lines;

static Lines melded_lines(const PtxModule *module, const IrModule *ir) {
    uint32_t *same = zeroed(module->nsource_lines + 2, sizeof *same);
    bool *melded = zeroed(module->nsource_lines + 2, sizeof *melded);
    for (uint32_t k = 0; k < module->nsource_lines + 2; k++)
        same[k] = k;
    for (unsigned k = 0; ir && k < ir->melded_pairs.n; k++) {
        const MeldedPair *pair = &ir->melded_pairs.at[k];
        const PtxFunc *func = pair->func->ptx;
        uint32_t line[2] = {0};
        for (unsigned s = 0; s < 2; s++) {
            uint32_t insn = pair->func->locs.at[pair->loc[s].i].ptx_insn;
            if (func >= module->funcs && func < module->funcs + module->nfuncs && insn)
                line[s] = ptx_line(module, &func->insns[insn - 1]);
        }
        if (!line[0] || !line[1])
            continue;
        same[graph_find(same, line[0])] = graph_find(same, line[1]);
        melded[line[0]] = melded[line[1]] = true;
    }
    return (Lines){same, melded};
}

static void free_lines(Lines *lines) {
    free(lines->same);
    free(lines->melded);
}

/* The next event of a trace. Of melded lines with all of the same line that follow it: the machine's events
 * of one line that stand together are one, and there they are of one line. */
static LaneEvent next_event(const LaneTrace *trace, uint32_t *k, const Lines *lines) {
    if (*k == trace->n)
        return (LaneEvent){0};
    LaneEvent event = trace->at[(*k)++];
    bool melded = lines->melded[event.line];
    event.line = graph_find(lines->same, event.line);
    for (; melded && *k < trace->n && graph_find(lines->same, trace->at[*k].line) == event.line; ++*k)
        event.sum += trace->at[*k].sum;
    return event;
}

bool fuzz_traces_equal(const LaneTraces *ptx, const LaneTraces *machine, const IrModule *ir, char *out,
                       size_t out_bytes) {
    Lines lines = melded_lines(ptx->m, ir);
    for (uint32_t i = 0; i < 2 * ptx->nthreads; i++) {
        const LaneTrace *trace = &ptx->threads[i], *lane_trace = &machine->threads[i];
        for (uint32_t k = 0, n = 0; k < trace->n || n < lane_trace->n;) {
            LaneEvent x = next_event(trace, &k, &lines), y = next_event(lane_trace, &n, &lines);
            if (x.line == y.line && x.sum == y.sum)
                continue;
            snprintf(out, out_bytes,
                     "thread %u, %s store %u of %u (machine: %u): PTX line %u, machine line %u%s", i / 2,
                     i & 1 ? "shared" : "global", k, trace->n, lane_trace->n, x.line, y.line,
                     x.line == y.line ? ", another address or value" : "");
            free_lines(&lines);
            return false;
        }
    }
    free_lines(&lines);
    return true;
}
