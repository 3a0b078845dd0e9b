/* The module's variables in guest memory, and the values of special registers.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdlib.h>

static bool placeable(const PtxVar *v) {
    return (v->space == SP_GLOBAL || v->space == SP_CONST) && v->size_bytes > 0;
}

uint64_t ptx_func_address(const PtxModule *m, uint32_t index) {
    const PtxFunc *f = &m->funcs[index];
    if (f->alias_of)
        f = &m->funcs[f->alias_of - 1];
    return sim_func_address(str_text(&m->strings, f->name));
}

/* Value of one initialiser item. */
static uint64_t init_value(const PtxModule *m, const SimMemory *mem, const PtxInit *in) {
    if (!in->sym)
        return (uint64_t)in->value;
    uint32_t index = (in->sym & ~PTX_SYM_FUNC) - 1;
    uint64_t v;
    if (in->sym & PTX_SYM_FUNC) {
        v = ptx_func_address(m, index);
    } else {
        const SimAlloc *a = simmem_find_name(mem, str_text(&m->strings, m->vars[index].name));
        v = a ? a->address : 0;
    }
    return (v + (uint64_t)in->value) >> in->shift;
}

static bool initialise(const PtxModule *m, SimMemory *mem, const PtxVar *v, uint64_t address) {
    static const uint8_t zero[256];
    for (uint64_t i = 0; v->ninits && i < v->size_bytes; i += sizeof zero) {
        uint64_t n = v->size_bytes - i < sizeof zero ? v->size_bytes - i : sizeof zero;
        if (!simmem_write(mem, address + i, zero, n))
            return false;
    }
    for (uint32_t k = 0; k < v->ninits; k++) {
        uint64_t value = init_value(m, mem, &v->inits[k]);
        unsigned n = v->inits[k].size_bytes > 8 ? 8 : v->inits[k].size_bytes;
        if (!simmem_write(mem, address + v->inits[k].offset_bytes, &value, n))
            return false;
    }
    return true;
}

bool ptx_place_variables(const PtxModule *m, SimMemory *mem, Diags *d) {
    uint8_t *fresh = calloc(m->nvars + 1u, 1);
    bool ok = fresh != NULL;
    for (uint32_t i = 0; ok && i < m->nvars; i++) {
        const PtxVar *v = &m->vars[i];
        const char *name = str_text(&m->strings, v->name);
        if (!placeable(v) || simmem_find_name(mem, name))
            continue;
        fresh[i] = 1;
        if (!simmem_alloc(mem, name, v->size_bytes))
            ok = diag_in(d, &m->source, v->loc, DIAG_E0515, name, "no memory for it");
    }
    /* all have addresses now: initialisers may name any of them */
    for (uint32_t i = 0; ok && i < m->nvars; i++) {
        const PtxVar *v = &m->vars[i];
        const char *name = str_text(&m->strings, v->name);
        SimAlloc *a = fresh[i] ? simmem_find_name(mem, name) : NULL;
        if (!a)
            continue;
        if (!initialise(m, mem, v, a->address))
            ok = diag_in(d, &m->source, v->loc, DIAG_E0515, name, "its initialiser is larger than it");
        if (v->space == SP_CONST)
            a->read_only = true;
    }
    free(fresh);
    return ok;
}

/* Addresses of the variables in r->mem, by index; 0 where there is none. */
void ptx_find_variables(PtxRun *r) {
    r->global_address = ARENA_ARRAY(&r->arena, uint64_t, r->m->nvars + 1);
    for (uint32_t i = 0; i < r->m->nvars; i++) {
        if (!placeable(&r->m->vars[i]))
            continue;
        const SimAlloc *a = simmem_find_name(r->mem, str_text(&r->m->strings, r->m->vars[i].name));
        r->global_address[i] = a ? a->address : 0;
    }
}

/* ---- special registers (PTX ISA 10) ---- */

static uint32_t lane_mask(unsigned sreg, unsigned lane) {
    uint32_t eq = 1u << lane;
    switch (sreg) {
    case SR_LANEMASK_EQ: return eq;
    case SR_LANEMASK_LT: return eq - 1;
    case SR_LANEMASK_LE: return eq | (eq - 1);
    case SR_LANEMASK_GT: return ~(eq | (eq - 1));
    default: return ~(eq - 1);
    }
}

static uint64_t special(PtxRun *r, const PtxThread *t, unsigned sreg, unsigned component) {
    const Launch *l = r->launch;
    const PtxBlock *b = t->warp->block;
    unsigned k = component;
    bool vector = k < 3;
    switch (sreg) {
    case SR_TID: return vector ? t->tid[k] : 0;
    case SR_NTID: return vector ? l->block[k] : 0;
    case SR_CTAID:
    case SR_CLUSTERID: return vector ? b->ctaid[k] : 0;
    case SR_NCTAID:
    case SR_NCLUSTERID: return vector ? l->grid[k] : 0;
    case SR_CLUSTER_NCTAID: return vector ? 1 : 0;
    case SR_LANEID: return t->lane;
    case SR_WARPID: return t->warp->index;
    case SR_NWARPID: return b->nwarps;
    case SR_SMID: return SIM_SREG_SMID;
    case SR_NSMID: return SIM_SREG_NSMID;
    case SR_GRIDID: return SIM_SREG_GRIDID;
    case SR_LANEMASK_EQ:
    case SR_LANEMASK_LT:
    case SR_LANEMASK_LE:
    case SR_LANEMASK_GT:
    case SR_LANEMASK_GE: return lane_mask(sreg, t->lane);
    case SR_CLOCK:
    case SR_GLOBALTIMER_LO: return (uint32_t)r->ticks;
    case SR_CLOCK_HI:
    case SR_GLOBALTIMER_HI: return r->ticks >> 32;
    case SR_CLOCK64:
    case SR_GLOBALTIMER: return r->ticks;
    case SR_TOTAL_SMEM_SIZE:
    case SR_AGGR_SMEM_SIZE: return r->shared_bytes;
    case SR_DYNAMIC_SMEM_SIZE: return l->dynamic_shared_bytes;
    case SR_CLUSTER_NCTARANK: return 1;
    default: return 0; /* cluster rank and position, envreg, pm counters, reserved shared memory */
    }
}

uint64_t ptx_arg_slow(PtxRun *r, const PtxThread *t, const PtxArg *a) {
    switch (a->kind) {
    case ARG_NOT_REG: return ~t->regs[a->slot] & width_mask(a->bytes);
    case ARG_NEG_REG: return (0 - t->regs[a->slot]) & width_mask(a->bytes);
    case ARG_LOCAL: return t->local_base + a->imm;
    case ARG_DYNAMIC_SHARED: return r->dynamic_shared_base + a->imm;
    case ARG_SREG: return special(r, t, a->slot, a->component);
    default: return 0;
    }
}
