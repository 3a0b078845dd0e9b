/* What the PTX interpreter can watch while it runs: registers read before they were written, and
 * events for the caller. Only the slow loop calls these.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>
#include <stdlib.h>

static void check_arg(PtxRun *run, const PtxThread *thread, const PtxCode *c, const PtxArg *arg) {
    bool reg = arg->kind == ARG_REG || arg->kind == ARG_NOT_REG || arg->kind == ARG_NEG_REG;
    if (reg && arg->slot && thread->init && !thread->init[arg->slot]) {
        char text[120];
        const PtxFunc *func = thread->proc->func;
        snprintf(text, sizeof text, "register %s",
                 str_text(&run->module->strings, func->regs[arg->slot % func->nregs].name));
        interp_warn(run, thread, c, TRAP_UNINITIALISED, text);
    }
}

static void check_sources(PtxRun *r, PtxThread *thread, const PtxCode *code) {
    for (unsigned i = 0; i < code->nsrc; i++)
        check_arg(r, thread, code, &code->src[i]);
    for (unsigned i = 0; i < code->nread; i++)
        check_arg(r, thread, code, &code->vec[i]);
    for (unsigned i = 0; i < code->ndst && i < 2; i++)
        thread->init[code->dst[i].slot] = 1;
    for (unsigned i = 0; i < code->nwritten; i++)
        thread->init[code->vec_dst[i].slot] = 1;
}

/* Positions and lengths above 255: the document leaves the result open. True if so. */
static bool check_field(PtxRun *r, const PtxThread *thread, const PtxCode *code) {
    unsigned first = code->insn->op == PTX_BFE ? 1 : 2;
    bool open = false;
    for (unsigned i = first; i < first + 2 && i < code->nsrc; i++) {
        uint64_t value = interp_arg(r, thread, &code->src[i]);
        char text[80];
        if (value <= 255)
            continue;
        open = true;
        snprintf(text, sizeof text, "%s %llu, above 255", i == first ? "position" : "length",
                 (unsigned long long)value);
        interp_warn(r, thread, code, TRAP_UNINITIALISED, text);
    }
    return open;
}

static void add_dst(PtxEvent *event, const PtxThread *thread, uint32_t slot) {
    if (!slot || event->ndst == sizeof event->dst_reg / sizeof *event->dst_reg)
        return;
    event->dst_reg[event->ndst] = slot % thread->proc->func->nregs; /* of .b128 both halves */
    event->dst_value[event->ndst++] = thread->regs[slot];
}

void interp_report_event(PtxRun *run, const PtxThread *ptx_thread, const PtxCode *ptx_code, bool executed,
                         const PtxProc *proc) {
    if (!run->opt.on_event || !ptx_code->insn)
        return;
    PtxEvent e = {.func = proc->func, .insn = (uint32_t)(ptx_code - proc->code), .executed = executed};
    if (ptx_thread->proc == proc)
        e.next = (uint32_t)(ptx_thread->pc - proc->code);
    for (int i = 0; i < 3; i++) {
        e.block[i] = ptx_thread->warp->block->ctaid[i];
        e.thread[i] = ptx_thread->tid[i];
    }
    if (executed && run->place.bytes) {
        e.access_bytes = run->place.bytes;
        e.shared = !run->place.alloc;
        e.writes = run->place.write;
        e.address = run->place.offset + (run->place.alloc ? run->place.alloc->address : 0);
    }
    for (unsigned i = 0; executed && ptx_thread->proc == proc && i < ptx_code->ndst && i < 2; i++)
        add_dst(&e, ptx_thread, ptx_code->dst[i].slot);
    for (unsigned i = 0; executed && ptx_thread->proc == proc && i < ptx_code->nwritten; i++)
        add_dst(&e, ptx_thread, ptx_code->vec_dst[i].slot);
    if (executed)
        e.access = run->access;
    run->access.kind = PTX_ACCESS_NONE;
    run->opt.on_event(run->opt.user, &e);
}

bool interp_check_before(PtxRun *r, PtxThread *thread, const PtxCode *code, bool run) {
    bool open = false;
    if (code->guard && thread->init)
        check_arg(r, thread, code, &(PtxArg){.kind = ARG_REG, .slot = code->guard});
    if (run && thread->init)
        check_sources(r, thread, code);
    if (run && r->opt.report_open && code->insn && (code->insn->op == PTX_BFE || code->insn->op == PTX_BFI))
        open = check_field(r, thread, code);
    if (!run && code->watch)
        interp_watch(r, thread, code, false);
    return open;
}
