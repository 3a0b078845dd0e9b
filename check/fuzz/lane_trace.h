/* What each thread stored, in order: the events of the PTX interpreter and of the machine's lanes, compared
 * statement by statement. An event is a PTX statement and the bytes that it wrote; what one line writes in a
 * row is one event, since a vector store may be several machine instructions and a line may hold several
 * statements. Atomics count by address. Stores to global and to shared memory may pass each other, so they
 * are two sequences. Local memory is left out: its addresses are the compiler's business.
 * SPDX-License-Identifier: MIT */
#ifndef HEDDLE_CHECK_FUZZ_LANE_TRACE_H
#define HEDDLE_CHECK_FUZZ_LANE_TRACE_H
#include "ir/ir.h"
#include "sim/machine/machine.h"
#include "sim/interp/interp.h"

typedef struct {
    uint32_t line;
    uint64_t sum; /* of a hash of each byte: order within an event does not matter */
} LaneEvent;
typedef struct {
    LaneEvent *at;
    uint32_t n, cap;
} LaneTrace;
typedef struct {
    const PtxModule *m;
    const Launch *launch;
    LaneTrace *threads; /* two each: global memory, shared memory */
    uint32_t nthreads;
    bool *lines;          /* [line] of the PTX text: has a statement that writes */
    uint32_t shared_base; /* of the machine: where its shared memory begins, that of PTX at 0 */
} LaneTraces;

/* shared_base: TargetInfo.shared_base_bytes of the machine; 0 for events of the interpreter. */
void fuzz_traces_start(LaneTraces *traces, const PtxModule *module, const Launch *launch,
                       uint32_t shared_base);
void fuzz_traces_free(LaneTraces *traces);
void fuzz_trace_ptx(void *traces, const PtxEvent *event);         /* PtxRunOptions.on_event */
void fuzz_trace_machine(void *traces, const MachineTrace *trace); /* MachineOptions.trace */
/* True if equal; else the first difference as text. ir: what was compiled; statements that it melds count as
 * one. May be NULL. */
bool fuzz_traces_equal(const LaneTraces *ptx, const LaneTraces *machine, const IrModule *ir, char *out,
                       size_t out_bytes);
uint64_t fuzz_traces_events(const LaneTraces *traces);
#endif
