/* The module's variables in guest memory, and the values of special registers.
 * SPDX-License-Identifier: MIT */
#include "frontend/system.h"
#include "frontend/texture.h"
#include "sim/interp/run.h"
#include "base/scope.h"
#include <stdlib.h>

static bool placeable(const PtxVar *var) {
    return (var->space == SP_GLOBAL || var->space == SP_CONST) && var->size_bytes > 0 && !ptx_is_texture(var);
}

uint64_t interp_func_address(const PtxModule *module, uint32_t index) {
    const PtxFunc *f = &module->funcs[index];
    if (f->alias_of)
        f = &module->funcs[f->alias_of - 1];
    return sim_func_address(str_text(&module->strings, f->name));
}

/* Constant memory as docs/elf.md says it: visible variables in the order of their declaration, then the
 * others. Offset of variable `index`, or the bytes of all if it is nvars. */
static uint64_t const_offset(const PtxModule *module, uint32_t index) {
    uint64_t end = 0;
    for (int visible = 1; visible >= 0; visible--)
        for (uint32_t i = 0; i < module->nvars; i++) {
            const PtxVar *var = &module->vars[i];
            uint64_t align = var->align_bytes ? var->align_bytes : 1;
            if (var->space != SP_CONST || (var->linkage != LINK_NONE) != visible)
                continue;
            end += (align - end % align) % align;
            if (i == index)
                return end;
            end += var->size_bytes;
        }
    return end;
}

/* Value of one initialiser item. */
static uint64_t init_value(const PtxModule *module, const SimMemory *mem, const PtxInit *in, Arena *arena) {
    if (!in->sym)
        return (uint64_t)in->value;
    uint32_t index = (in->sym & ~PTX_SYM_FUNC) - 1;
    uint64_t v;
    if (in->sym & PTX_SYM_FUNC) {
        v = interp_func_address(module, index);
    } else if (module->vars[index].space == SP_CONST) {
        v = const_offset(module, index) + (in->generic ? SIM_CONST_WINDOW : 0);
    } else {
        const SimAlloc *alloc = simmem_find_name(mem, ptx_var_symbol(module, &module->vars[index], arena));
        v = alloc ? alloc->address : 0;
    }
    return (v + (uint64_t)in->value) >> in->shift;
}

static bool initialise(const PtxModule *m, SimMemory *mem, const PtxVar *var, uint64_t address,
                       Arena *arena) {
    static const uint8_t zero[256];
    for (uint64_t i = 0; var->ninits && i < var->size_bytes; i += sizeof zero) {
        uint64_t n = var->size_bytes - i < sizeof zero ? var->size_bytes - i : sizeof zero;
        if (!simmem_write(mem, address + i, zero, n))
            return false;
    }
    for (uint32_t k = 0; k < var->ninits; k++) {
        uint64_t value = init_value(m, mem, &var->inits[k], arena);
        unsigned n = var->inits[k].size_bytes > 8 ? 8 : var->inits[k].size_bytes;
        uint64_t at = address + var->inits[k].offset_bytes;
        bool number = !var->inits[k].sym || (!(var->inits[k].sym & PTX_SYM_FUNC) &&
                                             m->vars[var->inits[k].sym - 1].space == SP_CONST);
        bool whole = !number && n == 8 && !var->inits[k].shift;
        if (!(whole ? simmem_write_address(mem, at, value) : simmem_write(mem, at, &value, n)))
            return false;
    }
    return true;
}

bool interp_place_variables(const PtxModule *module, SimMemory *mem, Diags *d) {
    Arena arena = {0};
    uint8_t *fresh = ARENA_ARRAY(&arena, uint8_t, module->nvars + 1u);
    bool ok = true;
    for (uint32_t i = 0; ok && i < module->nvars; i++) {
        const PtxVar *var = &module->vars[i];
        const char *name = ptx_var_symbol(module, var, &arena);
        SimAlloc *there = placeable(var) ? simmem_find_name(mem, name) : NULL;
        if (there && there->size_bytes < var->size_bytes)
            ok = diag_in(d, &module->source, var->loc, DIAG_E0515, name, "memory of this name is smaller");
        if (there && var->space == SP_CONST)
            there->read_only = true;
        if (!placeable(var) || there)
            continue;
        fresh[i] = 1;
        if (!simmem_alloc(mem, name, var->size_bytes))
            ok = diag_in(d, &module->source, var->loc, DIAG_E0515, name, "no memory for it");
    }
    for (uint32_t i = 0; ok && i < module->nfuncs; i++)
        if (ptx_system_func(module, &module->funcs[i]) == SYSTEM_MALLOC && !simmem_make_heap(mem))
            ok = diag_in(d, &module->source, module->funcs[i].loc, DIAG_E0515, SIM_HEAP_NAME,
                         "no memory for it");
    /* all have addresses now: initialisers may name any of them */
    for (uint32_t i = 0; ok && i < module->nvars; i++) {
        const PtxVar *var = &module->vars[i];
        const char *name = ptx_var_symbol(module, var, &arena);
        SimAlloc *alloc = fresh[i] ? simmem_find_name(mem, name) : NULL;
        if (!alloc)
            continue;
        if (!initialise(module, mem, var, alloc->address, &arena))
            ok = diag_in(d, &module->source, var->loc, DIAG_E0515, name, "its initialiser is larger than it");
        if (var->space == SP_CONST)
            alloc->read_only = true;
    }
    arena_free(&arena);
    return ok;
}

static int by_offset(const void *a, const void *b) {
    const PtxConstant *one = a, *two = b;
    return (one->offset > two->offset) - (one->offset < two->offset);
}

/* Addresses of the variables in their spaces, by index; of .global ones 0 where there is none. */
void interp_find_variables(PtxRun *run) {
    run->var_address = ARENA_ARRAY(&run->arena, uint64_t, run->module->nvars + 1);
    run->constants = ARENA_ARRAY(&run->arena, PtxConstant, run->module->nvars + 1);
    run->const_bytes = const_offset(run->module, run->module->nvars);
    for (uint32_t i = 0; i < run->module->nvars; i++) {
        if (!placeable(&run->module->vars[i]))
            continue;
        const SimAlloc *alloc =
            simmem_find_name(run->mem, ptx_var_symbol(run->module, &run->module->vars[i], &run->arena));
        run->var_address[i] = alloc ? alloc->address : 0;
        if (run->module->vars[i].space != SP_CONST)
            continue;
        run->var_address[i] = const_offset(run->module, i);
        if (alloc)
            run->constants[run->nconstants++] =
                (PtxConstant){run->var_address[i], run->module->vars[i].size_bytes, alloc->address};
    }
    qsort(run->constants, run->nconstants, sizeof *run->constants, by_offset);
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

/* %reserved_smem_offset_begin, _end, _cap, _0, _1: behind the block's own memory, as before sm_90. */
static uint64_t system_shared(const PtxRun *run, const PtxThread *thread, unsigned component) {
    enum { END = 1, CAP = 2, LENT = 4 };
    uint64_t begin = run->shared_bytes - run->shared_gaps;
    if (component == LENT || component == END)
        return interp_shared_origin(thread->warp->block) + run->lent_shared +
               (component == END ? LENT_SHARED_BYTES : 0);
    return component == CAP ? begin + SYSTEM_SHARED_BYTES : begin;
}

static uint64_t special_value(PtxRun *run, const PtxThread *thread, unsigned sreg, unsigned component) {
    const Launch *launch = run->launch;
    const PtxBlock *b = thread->warp->block;
    unsigned k = component;
    bool vector = k < 3;
    switch ((PtxSreg)sreg) { /* no default: a new register is a warning here */
    case SR_TID: return vector ? thread->tid[k] : 0;
    case SR_NTID: return vector ? launch->block[k] : 0;
    case SR_CTAID: return vector ? b->ctaid[k] : 0;
    case SR_NCTAID: return vector ? launch->grid[k] : 0;
    case SR_CLUSTERID: return vector ? b->ctaid[k] / run->cluster[k] : 0;
    case SR_NCLUSTERID: return vector ? launch->grid[k] / run->cluster[k] : 0;
    case SR_CLUSTER_CTAID: return vector ? b->ctaid[k] % run->cluster[k] : 0;
    case SR_CLUSTER_NCTAID: return vector ? run->cluster[k] : 0;
    case SR_CLUSTER_CTARANK: return b->rank;
    case SR_LANEID: return thread->lane;
    case SR_WARPID: return thread->warp->index;
    case SR_NWARPID: return b->nwarps;
    case SR_SMID: return SIM_SREG_SMID;
    case SR_NSMID: return SIM_SREG_NSMID;
    case SR_GRIDID: return SIM_SREG_GRIDID;
    case SR_ENVREG: return sim_envreg(run->workspace, component);
    case SR_LANEMASK_EQ:
    case SR_LANEMASK_LT:
    case SR_LANEMASK_LE:
    case SR_LANEMASK_GT:
    case SR_LANEMASK_GE: return lane_mask(sreg, thread->lane);
    case SR_CLOCK:
    case SR_GLOBALTIMER_LO: return (uint32_t)run->ticks;
    case SR_CLOCK_HI:
    case SR_GLOBALTIMER_HI: return run->ticks >> 32;
    case SR_CLOCK64:
    case SR_GLOBALTIMER: return run->ticks;
    case SR_TOTAL_SMEM_SIZE: return run->shared_bytes - run->shared_gaps;
    case SR_AGGR_SMEM_SIZE: return run->shared_bytes - run->shared_gaps + SYSTEM_SHARED_BYTES;
    case SR_DYNAMIC_SMEM_SIZE: return launch->dynamic_shared_bytes;
    case SR_RESERVED_SMEM: return system_shared(run, thread, component);
    case SR_CLUSTER_NCTARANK: return run->cluster_blocks;
    case SR_IS_EXPLICIT_CLUSTER: return run->has_clusters;
    case SR_PM:                 /* counters that nobody has set up */
    case SR_CURRENT_GRAPH_EXEC: /* in no graph */
    case SR_NONE:
    case SR_COUNT: break;
    }
    return 0;
}

uint64_t interp_arg_slow(PtxRun *run, const PtxThread *thread, const PtxArg *arg) {
    switch (arg->kind) {
    case ARG_NOT_REG: return ~thread->regs[arg->slot] & width_mask(arg->bytes);
    case ARG_NEG_REG: return (0 - thread->regs[arg->slot]) & width_mask(arg->bytes);
    case ARG_LOCAL: return thread->local_base + arg->imm;
    case ARG_SHARED: return interp_shared_origin(thread->warp->block) + arg->imm;
    case ARG_DYNAMIC_SHARED:
        return interp_shared_origin(thread->warp->block) + run->dynamic_shared_base + arg->imm;
    case ARG_SREG: return special_value(run, thread, arg->slot, arg->component);
    default: return 0;
    }
}
