/* What nobody wrote, and where things lie: PTX says neither what a register, local memory, shared memory or
 * what malloc gave holds before it is written, nor at which addresses local and shared variables are. The
 * interpreter has zeros and fixed places; asked to, it has other values and other places, so that a caller
 * sees whether a result depends on them. SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"

/* Of up to 64 bits. */
static uint64_t unwritten_value(PtxRun *run) {
    return run->opt.fill_word ? (uint64_t)SIM_UNWRITTEN_WORD << 32 | SIM_UNWRITTEN_WORD
                              : rng_next(&run->fill);
}

static bool has_zeros(const PtxRun *run) { return !run->opt.fill && !run->opt.fill_word; }

uint64_t interp_unwritten_lane(PtxRun *run, uint64_t own) {
    return has_zeros(run) ? own : unwritten_value(run);
}

void interp_unwritten_bytes(PtxRun *run, uint8_t *bytes, uint64_t n) {
    if (has_zeros(run))
        memset(bytes, 0, n);
    for (uint64_t at = 0; !has_zeros(run) && at < n; at += sizeof run->fill) {
        uint64_t value = unwritten_value(run);
        memcpy(bytes + at, &value, n - at < sizeof value ? n - at : sizeof value);
    }
}

void interp_unwritten_slots(PtxRun *run, const PtxProc *proc, uint64_t *slots) {
    memset(slots, 0, proc->nslots * sizeof *slots);
    for (uint32_t i = 1; !has_zeros(run) && i < proc->func->nregs; i++)
        slots[i] = unwritten_value(run) & width_mask(ptx_type_bytes(proc->func->regs[i].type));
}

void interp_unwritten_piece(PtxRun *run, uint64_t address, uint64_t n) {
    SimAlloc *heap = has_zeros(run) ? NULL : simmem_find(run->mem, address, n);
    if (heap)
        interp_unwritten_bytes(run, heap->data + (address - heap->address), n);
}

void interp_unwritten_result(PtxRun *run, const PtxProc *proc, PtxThread *thread, const PtxCode *code) {
    uint32_t slot = code->dst[0].slot;
    if (!has_zeros(run) && slot)
        thread->regs[slot] = unwritten_value(run) &
                             width_mask(ptx_type_bytes(proc->func->regs[slot % proc->func->nregs].type));
}
