/* What the PTX interpreter can watch while it runs: registers read before they were written, `.uni` branches
 * that are not uniform, and events for the caller. Only the slow loop calls these. SPDX-License-Identifier:
 * MIT */
#include "sim/ptx_run.h"
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
    for (unsigned i = 0; executed && i < c->ndst && i < 2; i++) {
        if (c->dst[i].slot && t->proc == proc) {
            e.dst_reg[e.ndst] = c->dst[i].slot;
            e.dst_value[e.ndst++] = t->regs[c->dst[i].slot];
        }
    }
    if (executed)
        e.access = r->access;
    r->access.kind = PTX_ACCESS_NONE;
    r->opt.on_event(r->opt.user, &e);
}

/* Directions that the lanes of one warp took at one `.uni` instruction, by execution number: the n-th
 * execution of each lane is compared with the n-th of the first lane that came so far. Exact where the code
 * around is uniform too, as `.uni` promises; a loop that lanes leave at different times can only make it
 * compare less related executions. */
#define MAX_EXECUTIONS 4096u
typedef struct PtxUniform {
    struct PtxUniform *next;
    const PtxCode *code;
    uint32_t count[32];
    uint32_t known;
    uint32_t direction[MAX_EXECUTIONS];
} PtxUniform;

static void check_uniform(PtxRun *r, PtxThread *t, const PtxCode *c, uint32_t direction) {
    PtxUniform *u = t->warp->uniform;
    while (u && u->code != c)
        u = u->next;
    if (!u) {
        u = calloc(1, sizeof *u);
        if (!u)
            return;
        u->code = c;
        u->next = t->warp->uniform;
        t->warp->uniform = u;
    }
    uint32_t n = u->count[t->lane]++;
    if (n >= MAX_EXECUTIONS)
        return;
    if (n >= u->known)
        u->direction[u->known++] = direction;
    else if (u->direction[n] != direction)
        ptx_warn(r, t, c, TRAP_NOT_UNIFORM, "lanes of one warp go different ways");
}

void ptx_forget_uniform(PtxWarp *w) {
    while (w->uniform) {
        PtxUniform *u = w->uniform;
        w->uniform = u->next;
        free(u);
    }
}

/* .uni, and a guard of an aligned barrier, which all lanes must execute or none. */
static bool promises_uniform(const PtxInsn *in) {
    bool barrier = (in->op == PTX_BAR && in->sub2 != SUB_WARP && in->sub != SUB_WARP) ||
                   (in->op == PTX_BARRIER && in->flags & PF_ALIGNED);
    return in->flags & PF_UNI || barrier;
}

void ptx_check_before(PtxRun *r, PtxThread *t, const PtxCode *c, bool run) {
    if (c->guard && t->init)
        check_arg(r, t, c, &(PtxArg){.kind = ARG_REG, .slot = c->guard});
    if (run && t->init)
        check_sources(r, t, c);
    if (r->opt.report_not_uniform && c->insn && promises_uniform(c->insn) &&
        (c->guard || c->insn->op == PTX_BRX)) {
        uint32_t index = c->insn->op == PTX_BRX ? (uint32_t)ptx_arg(r, t, &c->src[0]) : 0;
        check_uniform(r, t, c, run ? index + 1 : 0);
    }
}
