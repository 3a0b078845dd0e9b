/* Control flow of the PTX interpreter: bra, brx.idx, call, ret, exit, trap and what does nothing (PTX
 * ISA 9.7.12, 9.7.19). A frame has its own register slots and its own piece of local memory, which also holds
 * its .param variables.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdlib.h>

PtxStep ptx_exec_pure(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t a = ptx_arg(r, t, &c->src[0]), b = ptx_arg(r, t, &c->src[1]), x = ptx_arg(r, t, &c->src[2]);
    ptx_put(t, c->dst[0], c->pure(a, b, x, c));
    return STEP_GO;
}

PtxStep ptx_exec_nop(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)r, (void)t, (void)c;
    return STEP_GO;
}

static PtxStep exec_bra(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)r;
    ptx_took(t, c, 0);
    t->pc = c->targets[0];
    return STEP_GO;
}

static PtxStep exec_brx(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint32_t i = (uint32_t)ptx_arg(r, t, &c->src[0]);
    if (i >= c->ntargets)
        return ptx_trap_at(r, t, c, TRAP_BRANCH_INDEX, i, NULL);
    ptx_took(t, c, i);
    t->pc = c->targets[i];
    return STEP_GO;
}

/* ---- frames ---- */

static bool grow_slots(PtxThread *t, uint32_t need, bool track) {
    if (need > t->slots_cap) {
        uint32_t cap = need + need / 2;
        uint64_t *p = realloc(t->slots, cap * sizeof *p);
        if (!p)
            return false;
        t->slots = p;
        if (track) {
            uint8_t *q = realloc(t->slot_init, cap);
            if (!q)
                return false;
            t->slot_init = q;
        }
        t->slots_cap = cap;
    }
    return true;
}

static bool grow_frames(PtxThread *t) {
    if (t->nframes < t->frames_cap)
        return true;
    uint32_t cap = t->frames_cap ? t->frames_cap * 2 : 1;
    PtxFrame *p = realloc(t->frames, cap * sizeof *p);
    if (!p)
        return false;
    t->frames = p;
    t->frames_cap = cap;
    return true;
}

static void use_frame(PtxThread *t) {
    const PtxFrame *f = &t->frames[t->nframes - 1];
    t->proc = f->proc;
    t->regs = t->slots + f->slot_base;
    t->init = t->slot_init ? t->slot_init + f->slot_base : NULL;
    t->local_base = f->local_base;
}

PtxStep ptx_enter(PtxRun *r, PtxThread *t, PtxProc *p, const PtxCode *call) {
    bool track = r->opt.report_uninitialised;
    uint32_t base = t->nslots, local = t->nframes ? t->local_top : LOCAL_FIRST_BYTE;
    bool stack = !p->frame_bytes || ptx_local_reserve(t, local + p->frame_bytes); /* most threads have none */
    if (t->nframes >= MAX_CALL_DEPTH || !stack || !grow_frames(t) || !grow_slots(t, base + p->nslots, track))
        return ptx_trap(r, t, call, TRAP_STACK, "call");
    memset(t->slots + base, 0, p->nslots * sizeof *t->slots);
    if (track)
        memset(t->slot_init + base, 0, p->nslots);
    if (p->frame_bytes)
        memset(t->local + local, 0, p->frame_bytes);
    t->frames[t->nframes++] =
        (PtxFrame){.proc = p, .ret_pc = t->pc, .call = call, .slot_base = base, .local_base = local};
    t->nslots = base + p->nslots;
    t->local_top = local + p->frame_bytes;
    use_frame(t);
    t->pc = p->code;
    return STEP_GO;
}

static const PtxVar *var(const PtxRun *r, uint32_t index) { return &r->m->vars[index]; }

/* One side of a parameter copy: register slot of a frame, or bytes of its local memory. */
static void read_place(const PtxRun *r, const PtxThread *t, const PtxFrame *f, uint32_t index, uint32_t reg,
                       uint8_t *bytes, uint32_t n) {
    if (reg)
        memcpy(bytes, &t->slots[f->slot_base + reg], n < 8 ? n : 8);
    else
        memcpy(bytes, t->local + f->local_base + f->proc->var_offset[index], n);
    (void)r;
}
static void write_place(const PtxRun *r, PtxThread *t, const PtxFrame *f, uint32_t index, uint32_t reg,
                        const uint8_t *bytes, uint32_t n) {
    if (reg) {
        uint64_t v = 0;
        memcpy(&v, bytes, n < 8 ? n : 8);
        t->slots[f->slot_base + reg] = v;
        if (t->slot_init)
            t->slot_init[f->slot_base + reg] = 1;
    } else {
        memcpy(t->local + f->local_base + f->proc->var_offset[index], bytes, n);
    }
    (void)r;
}

#define MAX_PARAM_BYTES 4096u
static uint32_t place_bytes(const PtxRun *r, uint32_t index) {
    uint64_t n = var(r, index)->size_bytes;
    return n == 0 ? 1 : n > MAX_PARAM_BYTES ? MAX_PARAM_BYTES : (uint32_t)n; /* predicates: one byte */
}

static uint32_t sym_var(const PtxOperand *o) {
    return o->kind == PO_SYM && o->sym && !(o->sym & PTX_SYM_FUNC) ? o->sym - 1 : UINT32_MAX;
}

static PtxStep enter_with_args(PtxRun *r, PtxThread *t, const PtxCode *c, PtxProc *p) {
    const PtxInsn *in = c->insn;
    const PtxFunc *f = p->func;
    uint64_t values[64];
    uint32_t caller = t->nframes - 1;
    if (in->nargs != f->nparams || in->nrets > f->nrets)
        return ptx_trap(r, t, c, TRAP_CALL_TARGET, "wrong number of parameters");
    for (unsigned i = 0; i < in->nargs; i++)
        values[i & 63] = c->vec ? ptx_arg(r, t, &c->vec[i]) : 0;
    PtxStep step = ptx_enter(r, t, p, c);
    if (step != STEP_GO)
        return step;
    const PtxFrame *from = &t->frames[caller], *to = &t->frames[caller + 1];
    for (unsigned i = 0; i < in->nargs; i++) {
        uint8_t bytes[MAX_PARAM_BYTES] = {0};
        uint32_t n = place_bytes(r, f->params[i]), arg = sym_var(&in->args[i]);
        if (arg != UINT32_MAX)
            read_place(r, t, from, arg, 0, bytes, n < place_bytes(r, arg) ? n : place_bytes(r, arg));
        else
            memcpy(bytes, &values[i & 63], 8);
        write_place(r, t, to, f->params[i], f->param_regs ? f->param_regs[i] : 0, bytes, n);
    }
    return STEP_GO;
}

static PtxStep exec_call(PtxRun *r, PtxThread *t, const PtxCode *c) {
    ptx_took(t, c, 0); /* lanes that call from elsewhere are on another path */
    return enter_with_args(r, t, c, c->callee);
}

static PtxStep exec_call_indirect(PtxRun *r, PtxThread *t, const PtxCode *c) {
    uint64_t target = ptx_arg(r, t, &c->src[0]);
    for (uint32_t i = 0; i < r->m->nfuncs; i++)
        if (r->func_address[i] == target && r->procs[i] && r->procs[i]->decoded) {
            ptx_took(t, c, i);
            return enter_with_args(r, t, c, r->procs[i]);
        }
    return ptx_trap_at(r, t, c, TRAP_CALL_TARGET, target, NULL);
}

/* Copy the return values to the caller and go on behind the call; the kernel's own ret ends the thread. */
PtxStep ptx_exec_ret(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)c;
    if (t->nframes == 1) {
        ptx_exit_thread(r, t);
        return STEP_STOP;
    }
    const PtxFrame *from = &t->frames[t->nframes - 1], *to = from - 1;
    const PtxFunc *f = from->proc->func;
    const PtxInsn *call = from->call->insn;
    for (unsigned i = 0; i < call->nrets; i++) {
        uint8_t bytes[MAX_PARAM_BYTES] = {0};
        const PtxOperand *o = &call->rets[i];
        uint32_t n = place_bytes(r, f->rets[i]), ret = sym_var(o);
        read_place(r, t, from, f->rets[i], f->ret_regs ? f->ret_regs[i] : 0, bytes, n);
        if (ret != UINT32_MAX)
            write_place(r, t, to, ret, 0, bytes, n < place_bytes(r, ret) ? n : place_bytes(r, ret));
        else if (o->kind == PO_REG)
            write_place(r, t, to, 0, o->reg, bytes, n);
    }
    t->pc = from->ret_pc;
    t->local_top = from->local_base;
    t->nslots = from->slot_base;
    t->nframes--;
    use_frame(t);
    return STEP_GO;
}

static PtxStep exec_exit(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)c;
    ptx_exit_thread(r, t);
    return STEP_STOP;
}
static PtxStep exec_trap(PtxRun *r, PtxThread *t, const PtxCode *c) {
    return ptx_trap(r, t, c, TRAP_INSTRUCTION, NULL);
}
static PtxStep exec_brkpt(PtxRun *r, PtxThread *t, const PtxCode *c) {
    return ptx_trap(r, t, c, TRAP_BREAKPOINT, NULL);
}
static PtxStep exec_yield(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)r, (void)t, (void)c;
    return STEP_YIELD;
}

static PtxStep exec_createpolicy(PtxRun *r, PtxThread *t, const PtxCode *c) {
    (void)r; /* an opaque cache hint that nothing else reads */
    ptx_put(t, c->dst[0], 0);
    if (c->ndst > 1)
        ptx_put(t, c->dst[1], 0);
    return STEP_GO;
}

bool ptx_select_flow(PtxRun *r, PtxCode *c) {
    (void)r;
    switch (c->insn->op) {
    case PTX_BRA: c->exec = exec_bra; return c->ntargets == 1;
    case PTX_BRX: c->exec = exec_brx; return c->ntargets > 0;
    case PTX_CALL: c->exec = c->callee ? exec_call : exec_call_indirect; return c->insn->nargs <= 64;
    case PTX_RET: c->exec = ptx_exec_ret; return true;
    case PTX_EXIT: c->exec = exec_exit; return true;
    case PTX_TRAP: c->exec = exec_trap; return true;
    case PTX_BRKPT: c->exec = exec_brkpt; return true;
    case PTX_NANOSLEEP: c->exec = exec_yield; return true;
    case PTX_CREATEPOLICY: c->exec = exec_createpolicy; return c->ndst >= 1;
    case PTX_PMEVENT:
    case PTX_SETMAXNREG:
    case PTX_GRIDDEPCONTROL: c->exec = ptx_exec_nop; return true;
    default: return false;
    }
}
