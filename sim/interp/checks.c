/* What the PTX interpreter can watch while it runs: registers read before they were written, and
 * events for the caller. Only the slow loop calls these.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>
#include <stdlib.h>

static void check_arg(PtxRun *r, const PtxThread *t, const PtxCode *c, const PtxArg *a) {
    bool reg = a->kind == ARG_REG || a->kind == ARG_NOT_REG || a->kind == ARG_NEG_REG;
    if (reg && a->slot && t->init && !t->init[a->slot]) {
        char text[120];
        snprintf(text, sizeof text, "register %s",
                 str_text(&r->m->strings, t->proc->func->regs[a->slot].name));
        ptx_warn(r, t, c, TRAP_UNINITIALISED, text);
    }
}

static void check_sources(PtxRun *r, PtxThread *t, const PtxCode *c) {
    for (unsigned i = 0; i < c->nsrc; i++)
        check_arg(r, t, c, &c->src[i]);
    for (unsigned i = 0; c->vec && i < c->nvec; i++)
        check_arg(r, t, c, &c->vec[i]);
    for (unsigned i = 0; i < c->ndst && i < 2; i++)
        t->init[c->dst[i].slot] = 1;
    for (unsigned i = 0; c->vec_dst && i < c->nvec; i++)
        t->init[c->vec_dst[i].slot] = 1;
}

static void add_dst(PtxEvent *e, const PtxThread *t, uint32_t slot) {
    if (!slot || e->ndst == sizeof e->dst_reg / sizeof *e->dst_reg)
        return;
    e->dst_reg[e->ndst] = slot;
    e->dst_value[e->ndst++] = t->regs[slot];
}

void ptx_report_event(PtxRun *r, const PtxThread *t, const PtxCode *c, bool executed, const PtxProc *proc) {
    if (!r->opt.on_event || !c->insn)
        return;
    PtxEvent e = {.func = proc->func, .insn = (uint32_t)(c - proc->code), .executed = executed};
    for (int i = 0; i < 3; i++) {
        e.block[i] = t->warp->block->ctaid[i];
        e.thread[i] = t->tid[i];
    }
    if (executed && r->place.bytes) {
        e.access_bytes = r->place.bytes;
        e.shared = !r->place.alloc;
        e.writes = r->place.write;
        e.address = r->place.offset + (r->place.alloc ? r->place.alloc->address : 0);
    }
    for (unsigned i = 0; executed && t->proc == proc && i < c->ndst && i < 2; i++)
        add_dst(&e, t, c->dst[i].slot);
    for (unsigned i = 0; executed && t->proc == proc && c->vec_dst && i < c->nvec; i++)
        add_dst(&e, t, c->vec_dst[i].slot);
    if (executed)
        e.access = r->access;
    r->access.kind = PTX_ACCESS_NONE;
    r->opt.on_event(r->opt.user, &e);
}

void ptx_check_before(PtxRun *r, PtxThread *t, const PtxCode *c, bool run) {
    if (c->guard && t->init)
        check_arg(r, t, c, &(PtxArg){.kind = ARG_REG, .slot = c->guard});
    if (run && t->init)
        check_sources(r, t, c);
    if (!run && c->watch)
        ptx_watch(r, t, c, false);
}
