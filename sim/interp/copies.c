/* cp.async: copies in the background of the thread that asks for them (PTX ISA 9.7.9.25.3). They are done at
 * once; or, if so asked for and where races are looked for, as late as PTX lets them be: when the thread
 * waits for their group, has them counted at an mbarrier object, or ends. What a copy reads it reads at once.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <string.h>

static bool are_late(const PtxRun *run) { return run->opt.late_copies || run->opt.find_races; }

static bool write_copy(PtxRun *run, PtxThread *thread, const PtxCopy *copy) {
    uint8_t *to = interp_memory(run, thread, copy->code, SP_SHARED, copy->to, copy->code->size_bytes, true);
    if (!to)
        return false;
    interp_race_store(run, thread, copy->code, to, copy->data);
    memcpy(to, copy->data, copy->code->size_bytes);
    return true;
}

/* Writes the copies of the first `groups` groups. False after a trap. */
static bool finish_groups(PtxRun *run, PtxThread *thread, uint32_t groups) {
    uint32_t kept = 0, n = thread->copies.n;
    for (uint32_t i = 0; i < n; i++) {
        PtxCopy copy = thread->copies.at[i];
        if (copy.group >= groups)
            thread->copies.at[kept++] = copy;
        else if (!write_copy(run, thread, &copy))
            return false;
    }
    thread->copies.n = kept;
    return true;
}

bool interp_finish_copies(PtxRun *run, PtxThread *thread) {
    return thread->copies.n == 0 || finish_groups(run, thread, UINT32_MAX);
}

static PtxStep exec_cp_async(PtxRun *r, PtxThread *t, const PtxCode *code) {
    uint64_t to = interp_address(r, t, code, SP_SHARED),
             from = interp_arg(r, t, &code->src[1]) + code->offset2;
    unsigned bytes = code->size_bytes, given = bytes;
    if (code->nsrc > 3 && !(code->insn->flags & PF_CACHE_HINT && code->nsrc == 4)) {
        uint64_t n = (uint32_t)interp_arg(r, t, &code->src[3]);
        if (ptx_has_ignore(code->proc->func, code->insn))
            n = n ? 0 : bytes;
        given = n < bytes ? (unsigned)n : bytes;
    }
    PtxCopy copy = {.code = code, .to = to, .group = t->groups};
    if (!interp_memory(r, t, code, SP_SHARED, to, bytes, true))
        return STEP_STOP;
    if (from & (bytes - 1))
        return interp_trap_at(r, t, code, TRAP_MISALIGNED, from, "cp.async source");
    for (unsigned i = 0; i < given; i++) { /* bytes past src-size are zero and not read */
        const uint8_t *q = interp_memory(r, t, code, SP_GLOBAL, from + i, 1, false);
        if (!q)
            return STEP_STOP;
        copy.data[i] = *q;
        interp_race_load(r, t, code);
    }
    if (are_late(r))
        VEC_ADD(&r->arena, &t->copies, copy);
    else if (!write_copy(r, t, &copy))
        return STEP_STOP;
    return STEP_GO;
}

static PtxStep exec_commit(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    (void)run, (void)code;
    thread->groups++;
    return STEP_GO;
}

/* All groups but the last so many. */
static PtxStep exec_wait(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    uint64_t left = interp_arg(run, thread, &code->src[0]);
    bool done = left >= thread->groups || finish_groups(run, thread, thread->groups - (uint32_t)left);
    return done ? STEP_GO : STEP_STOP;
}

static PtxStep exec_wait_all(PtxRun *run, PtxThread *thread, const PtxCode *code) {
    (void)code;
    return interp_finish_copies(run, thread) ? STEP_GO : STEP_STOP;
}

bool interp_bind_cp(PtxCode *code) {
    if (code->nsrc < 3 || code->src[2].kind != ARG_IMM)
        return false;
    code->size_bytes = (uint8_t)code->src[2].imm;
    code->exec = exec_cp_async;
    return code->size_bytes == 4 || code->size_bytes == 8 || code->size_bytes == 16;
}
BIND_EXEC(cp_commit, exec_commit)
BIND_EXEC(cp_wait, exec_wait)
BIND_EXEC(cp_wait_all, exec_wait_all)
