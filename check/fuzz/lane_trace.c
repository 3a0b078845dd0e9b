/* See lane_trace.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
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

static void add_event(LaneTraces *traces, uint32_t thread, uint32_t line, bool atomic, uint64_t address,
                      uint32_t bytes, const uint8_t *data) {
    if (address - SIM_LOCAL_WINDOW < SIM_WINDOW_BYTES || thread >= traces->nthreads ||
        line > traces->m->nsource_lines || !traces->lines[line])
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
    if (!trace->executed || !trace->loc ||
        !machine_trace_access(trace, (unsigned)__builtin_ctz(trace->executed), &a))
        return;
    for (uint32_t m = trace->executed; m; m &= m - 1) {
        unsigned lane = (unsigned)__builtin_ctz(m);
        machine_trace_access(trace, lane, &a);
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

bool fuzz_traces_equal(const LaneTraces *ptx, const LaneTraces *machine, char *out, size_t out_bytes) {
    for (uint32_t i = 0; i < 2 * ptx->nthreads; i++) {
        const LaneTrace *trace = &ptx->threads[i], *lane_trace = &machine->threads[i];
        for (uint32_t k = 0; k < trace->n || k < lane_trace->n; k++) {
            LaneEvent x = k < trace->n ? trace->at[k] : (LaneEvent){0},
                      y = k < lane_trace->n ? lane_trace->at[k] : (LaneEvent){0};
            if (x.line == y.line && x.sum == y.sum)
                continue;
            snprintf(out, out_bytes,
                     "thread %u, %s store %u of %u (machine: %u): PTX line %u, machine line %u%s", i / 2,
                     i & 1 ? "shared" : "global", k, trace->n, lane_trace->n, x.line, y.line,
                     x.line == y.line ? ", another address or value" : "");
            return false;
        }
    }
    return true;
}
