/* Predecoding for the PTX interpreter: one PtxCode for each PtxInsn of the functions that the kernel can
 * reach. Whatever no family of instructions takes is an error here, before anything runs.
 * SPDX-License-Identifier: MIT */
#include "sim/interp/run.h"
#include <stdio.h>

/* ---- layout of variables ---- */

static uint32_t align_up(uint32_t v, uint32_t align) {
    return align > 1 ? (v + align - 1) / align * align : v;
}

static void place_shared(PtxRun *r, uint32_t index) {
    const PtxVar *v = &r->m->vars[index];
    if (r->shared_offset[index] != UINT32_MAX)
        return;
    if (v->unsized || v->size_bytes == 0) { /* dynamic shared memory: placed when all others are */
        r->shared_offset[index] = UINT32_MAX - 1;
        return;
    }
    r->shared_static = align_up(r->shared_static, v->align_bytes);
    r->shared_offset[index] = r->shared_static;
    r->shared_static += v->size_bytes > SIM_MAX_SHARED_BYTES ? SIM_MAX_SHARED_BYTES : (uint32_t)v->size_bytes;
}

static void place_in_frame(PtxRun *r, PtxProc *p, uint32_t index) {
    const PtxVar *v = &r->m->vars[index];
    uint32_t size = v->size_bytes > LOCAL_MAX_BYTES ? LOCAL_MAX_BYTES : (uint32_t)v->size_bytes;
    if (v->space != SP_LOCAL && v->space != SP_PARAM && v->space != SP_PARAM_FUNC)
        return;
    p->frame_bytes = align_up(p->frame_bytes, v->align_bytes < 32 ? v->align_bytes : 32);
    p->var_offset[index] = p->frame_bytes;
    p->frame_bytes += size ? size : 1;
}

static void layout_proc(PtxRun *r, PtxProc *p) {
    const PtxFunc *f = p->func;
    p->var_offset = ARENA_ARRAY(&r->arena, uint32_t, r->m->nvars + 1);
    memset(p->var_offset, 0xff, r->m->nvars * sizeof *p->var_offset);
    for (uint32_t i = 0; i < f->nvars; i++) {
        if (r->m->vars[f->vars[i]].space == SP_SHARED)
            place_shared(r, f->vars[i]);
        else
            place_in_frame(r, p, f->vars[i]);
    }
    for (uint32_t i = 0; !f->is_entry && i < f->nparams; i++)
        place_in_frame(r, p, f->params[i]);
    for (uint32_t i = 0; i < f->nrets; i++)
        place_in_frame(r, p, f->rets[i]);
    p->frame_bytes = align_up(p->frame_bytes, 32);
}

/* ---- operands ---- */

static bool is_entry_param(const PtxProc *p, uint32_t var) {
    for (uint32_t i = 0; p->func->is_entry && i < p->func->nparams; i++)
        if (p->func->params[i] == var)
            return true;
    return false;
}

/* Value of a symbol: its address in its own space. *space becomes that space as PtxCode.space has it. */
static bool symbol_value(PtxRun *r, PtxProc *p, const PtxOperand *o, PtxArg *a, unsigned *space) {
    uint32_t index = (o->sym & ~PTX_SYM_FUNC) - 1;
    *a = (PtxArg){.kind = ARG_IMM, .bytes = 8};
    if (o->sym & PTX_SYM_FUNC) {
        a->imm = ptx_func_address(r->m, index) + (uint64_t)o->imm;
        return ptx_decode_proc(r, index) != NULL;
    }
    const PtxVar *v = &r->m->vars[index];
    *space = v->space;
    switch (v->space) {
    case SP_GLOBAL:
    case SP_CONST: a->imm = r->global_address[index]; return a->imm != 0;
    case SP_SHARED:
        place_shared(r, index);
        a->imm = r->shared_offset[index];
        if (r->shared_offset[index] == UINT32_MAX - 1)
            *a = (PtxArg){.kind = ARG_DYNAMIC_SHARED, .bytes = 8};
        return true;
    case SP_LOCAL:
    case SP_PARAM:
    case SP_PARAM_FUNC:
        if (is_entry_param(p, index)) {
            a->imm = v->param_offset_bytes;
            *space = SP_PARAM;
            return true;
        }
        a->kind = ARG_LOCAL;
        a->imm = p->var_offset[index];
        *space = SP_LOCAL;
        return p->var_offset[index] != UINT32_MAX;
    default: return false;
    }
}

static uint64_t immediate(const PtxOperand *o, unsigned type) {
    double d;
    if (o->imm_kind == IMM_F64 && type == TY_F32) {
        memcpy(&d, &o->imm, sizeof d);
        return f32_bits((float)d);
    }
    if (o->imm_kind == IMM_F32 && type == TY_F64)
        return f64_bits((double)f32_of((uint64_t)o->imm));
    return (uint64_t)o->imm;
}

static unsigned reg_bytes(const PtxProc *p, uint32_t reg) { return ptx_type_bytes(p->func->regs[reg].type); }

static bool decode_src(PtxRun *r, PtxProc *p, const PtxOperand *o, unsigned type, PtxArg *a,
                       unsigned *space) {
    *a = (PtxArg){.kind = ARG_IMM};
    switch (o->kind) {
    case PO_REG:
        a->kind = o->neg ? ARG_NEG_REG : o->not_ ? ARG_NOT_REG : ARG_REG;
        a->slot = o->reg;
        a->bytes = (uint8_t)reg_bytes(p, o->reg);
        return true;
    case PO_IMM:
        a->imm = immediate(o, type);
        if (o->not_)
            a->imm = !a->imm;
        return true;
    case PO_SREG: *a = (PtxArg){.kind = ARG_SREG, .slot = o->sreg, .component = o->component}; return true;
    case PO_SYM: {
        bool ok = symbol_value(r, p, o, a, space);
        a->imm += (uint64_t)o->imm;
        return ok;
    }
    case PO_ADDR:
        if (o->nvec)
            return false;
        if (o->reg)
            *a = (PtxArg){.kind = ARG_REG, .slot = o->reg, .bytes = (uint8_t)reg_bytes(p, o->reg)};
        else if (o->sym)
            return symbol_value(r, p, o, a, space);
        return true;
    case PO_SINK: return true;
    default: return false;
    }
}

static PtxDst decode_dst(const PtxProc *p, const PtxOperand *o) {
    if (o->kind != PO_REG)
        return (PtxDst){0, 0};
    return (PtxDst){o->reg, width_mask(reg_bytes(p, o->reg))};
}

static bool decode_vector(PtxRun *r, PtxProc *p, PtxCode *c, const PtxOperand *o, bool dst) {
    unsigned space = 0;
    if (o->nvec == 0 || o->nvec > 8 || (c->nvec && c->nvec != o->nvec))
        return false;
    c->nvec = o->nvec;
    if (dst)
        c->vec_dst = ARENA_ARRAY(&r->arena, PtxDst, o->nvec);
    else
        c->vec = ARENA_ARRAY(&r->arena, PtxArg, o->nvec);
    for (unsigned i = 0; i < o->nvec; i++) {
        if (dst)
            c->vec_dst[i] = decode_dst(p, &o->vec[i]);
        else if (!decode_src(r, p, &o->vec[i], c->type, &c->vec[i], &space))
            return false;
    }
    return true;
}

static bool wide_reg(const PtxProc *p, const PtxOperand *o) {
    return (o->kind == PO_REG && reg_bytes(p, o->reg) > 8);
}

static bool decode_operands(PtxRun *r, PtxProc *p, PtxCode *c) {
    const PtxInsn *in = c->insn;
    unsigned space = SP_NONE, nbase = 0;
    for (unsigned i = 0; i < in->noperands; i++) {
        const PtxOperand *o = &in->operands[i];
        if (wide_reg(p, o))
            return false;
        if (i < in->ndst) {
            if (o->kind == PO_VEC ? !decode_vector(r, p, c, o, true) : i > 1)
                return false;
            if (o->kind != PO_VEC)
                c->dst[i] = decode_dst(p, o);
            c->ndst++;
        } else if (o->kind == PO_VEC) {
            if (!decode_vector(r, p, c, o, false))
                return false;
        } else if (o->kind != PO_LABEL && o->kind != PO_NONE) {
            /* the front end has given literals the type of their own operand */
            if (c->nsrc == CODE_MAX_SRC || !decode_src(r, p, o, TY_NONE, &c->src[c->nsrc], &space))
                return false;
            if (o->kind == PO_ADDR) {
                *(nbase == 0 ? &c->offset : &c->offset2) = (uint64_t)o->imm;
                if (nbase == 0 && !o->reg &&
                    (c->space == SP_PARAM || c->space == SP_PARAM_FUNC || c->space == SP_NONE))
                    c->space = (uint8_t)(o->sym ? space : c->space);
                nbase++;
            }
            c->nsrc++;
        }
    }
    return true;
}

/* ---- instructions ---- */

static void fix_space(const PtxProc *p, PtxCode *c) {
    c->space = c->insn->space;
    if (c->space == SP_PARAM_FUNC || (c->space == SP_PARAM && !p->func->is_entry))
        c->space = SP_LOCAL; /* a function's parameters live in its frame; symbols say so themselves */
}

static bool decode_targets(PtxRun *r, PtxProc *p, PtxCode *c) {
    const PtxInsn *in = c->insn;
    const PtxFunc *f = p->func;
    if (in->op == PTX_BRA && in->noperands && in->operands[0].kind == PO_LABEL) {
        c->targets = ARENA_ARRAY(&r->arena, const PtxCode *, 1);
        c->targets[0] = &p->code[f->labels[in->operands[0].label].insn];
        c->ntargets = 1;
    } else if (in->op == PTX_BRX && in->table) {
        const PtxBranchTable *t = &f->branch_tables[in->table - 1];
        c->targets = ARENA_ARRAY(&r->arena, const PtxCode *, t->n + 1);
        for (uint32_t i = 0; i < t->n; i++)
            c->targets[i] = &p->code[f->labels[t->labels[i]].insn];
        c->ntargets = t->n;
    }
    return true;
}

static bool decode_call(PtxRun *r, PtxProc *p, PtxCode *c) {
    const PtxInsn *in = c->insn;
    unsigned space = 0;
    if (in->op != PTX_CALL)
        return true;
    if (in->callee) {
        c->callee = ptx_decode_proc(r, in->callee - 1);
        if (!c->callee)
            return false;
    }
    c->vec = ARENA_ARRAY(&r->arena, PtxArg, in->nargs + 1u);
    c->nvec = in->nargs;
    for (unsigned i = 0; i < in->nargs; i++) {
        const PtxFunc *f = c->callee ? c->callee->func : NULL;
        unsigned type = f && i < f->nparams ? r->m->vars[f->params[i]].type : TY_NONE;
        if (in->args[i].kind == PO_SYM && !(in->args[i].sym & PTX_SYM_FUNC))
            continue; /* copied as memory */
        if (!decode_src(r, p, &in->args[i], type, &c->vec[i], &space))
            return false;
    }
    return true;
}

/* Forms that the frontend knows by name only are executed only where their operands do not matter. */
static bool form_is_known(const PtxInsn *in) {
    if (!(in->flags & PF_ALL_FORMS))
        return true;
    switch (in->op) {
    case PTX_CALL:
    case PTX_FENCE:
    case PTX_MEMBAR:
    case PTX_CREATEPOLICY:
    case PTX_PREFETCH: return true;
    default: return false;
    }
}

static bool select_family(PtxRun *r, PtxCode *c) {
    if (!form_is_known(c->insn) || c->insn->flags & (PF_OOB | PF_ABS))
        return false;
    PtxTypeClass class = ptx_type_class((PtxType)c->type);
    if (ptx_select_logic(c) || ptx_select_cvt(c) || ptx_select_mem(r, c) || ptx_select_flow(r, c) ||
        ptx_select_warp(r, c))
        return true;
    return class == TC_FLOAT || c->insn->op == PTX_TESTP ? ptx_select_float(c) : ptx_select_int(c);
}

static bool decode_insn(PtxRun *r, PtxProc *p, PtxCode *c) {
    const PtxInsn *in = c->insn;
    c->proc = p;
    c->guard = in->guard_reg;
    c->guard_not = in->guard_not;
    c->ftz = (in->flags & PF_FTZ) != 0;
    c->sat = (in->flags & PF_SAT) != 0;
    c->type = in->type[0];
    c->type2 = in->ntypes > 1 ? in->type[1] : in->type[0];
    c->rnd = in->rnd, c->cmp = in->cmp, c->bop = in->bop, c->sub = in->sub, c->sub2 = in->sub2,
    c->atom = in->atom;
    fix_space(p, c);
    uint32_t errors = r->d->nerrors;
    bool ok = decode_targets(r, p, c) && decode_call(r, p, c) &&
              (in->op == PTX_CALL ? in->callee || in->noperands : true);
    if (ok && (in->op != PTX_CALL || !in->callee))
        ok = decode_operands(r, p, c);
    if (ok && select_family(r, c))
        return true;
    if (r->d->nerrors != errors)
        return false; /* said already, further down */
    char text[64];
    snprintf(text, sizeof text, "%s%s", ptx_op_name((PtxOp)in->op), str_text(&r->m->strings, in->mods_text));
    return diag_in(r->d, &r->m->source, in->loc, DIAG_E0511, text, ptx_op_section((PtxOp)in->op));
}

static bool decode_body(PtxRun *r, PtxProc *p) {
    const PtxFunc *f = p->func;
    uint32_t *warned = ARENA_ARRAY(&r->arena, uint32_t, f->ninsns + 1);
    bool ok = true;
    p->code = ARENA_ARRAY(&r->arena, PtxCode, f->ninsns + 1);
    p->nslots = f->nregs ? f->nregs : 1;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        p->code[i].insn = &f->insns[i];
        p->code[i].warned = &warned[i];
        ok = decode_insn(r, p, &p->code[i]) && ok;
    }
    p->code[f->ninsns] = (PtxCode){.exec = ptx_exec_ret, .proc = p, .warned = &warned[f->ninsns]};
    p->decoded = ok;
    return ok;
}

/* The function's PtxProc, NULL after an error. Its body is decoded later, from the list r->order. */
PtxProc *ptx_decode_proc(PtxRun *r, uint32_t index) {
    for (uint32_t i = 0; r->m->funcs[index].alias_of && i < r->m->nfuncs; i++)
        index = r->m->funcs[index].alias_of - 1;
    const PtxFunc *f = &r->m->funcs[index];
    if (r->procs[index])
        return r->procs[index];
    if (!f->has_body) {
        diag_in(r->d, &r->m->source, f->loc, DIAG_E0514, str_text(&r->m->strings, f->name));
        return NULL;
    }
    PtxProc *p = ARENA_NEW(&r->arena, PtxProc);
    r->procs[index] = p;
    p->func = f;
    p->index = index;
    p->reached = r->opt.reached ? r->opt.reached[index] : NULL;
    layout_proc(r, p);
    r->order[r->norder++] = p;
    return p;
}

static bool has_indirect_call(const PtxFunc *f) {
    for (uint32_t i = 0; i < f->ninsns; i++)
        if (f->insns[i].op == PTX_CALL && !f->insns[i].callee)
            return true;
    return false;
}

/* Functions whose address is taken anywhere: also an earlier launch may have left it in memory. */
static void decode_address_taken(PtxRun *r) {
    for (uint32_t i = 0; i < r->m->nfuncs; i++) {
        const PtxFunc *f = &r->m->funcs[i];
        for (uint32_t k = 0; k < f->ninsns; k++)
            for (unsigned o = 0; f->insns[k].op != PTX_CALL && o < f->insns[k].noperands; o++)
                if (f->insns[k].operands[o].kind == PO_SYM && f->insns[k].operands[o].sym & PTX_SYM_FUNC)
                    ptx_decode_proc(r, (f->insns[k].operands[o].sym & ~PTX_SYM_FUNC) - 1);
    }
    for (uint32_t i = 0; i < r->m->nvars; i++) {
        const PtxVar *v = &r->m->vars[i];
        for (uint32_t k = 0; k < v->ninits; k++)
            if (v->inits[k].sym & PTX_SYM_FUNC)
                ptx_decode_proc(r, (v->inits[k].sym & ~PTX_SYM_FUNC) - 1);
    }
}

bool ptx_decode_all(PtxRun *r, uint32_t kernel) {
    uint32_t errors = r->d->nerrors;
    for (uint32_t i = 0; i < r->m->nvars; i++)
        if (r->m->vars[i].space == SP_SHARED && r->m->vars[i].func == 0)
            place_shared(r, i);
    r->order = ARENA_ARRAY(&r->arena, PtxProc *, r->m->nfuncs + 1);
    r->kernel = ptx_decode_proc(r, kernel);
    bool indirect = false;
    for (uint32_t i = 0; i < r->norder; i++) {
        decode_body(r, r->order[i]);
        if (!indirect && has_indirect_call(r->order[i]->func)) {
            indirect = true;
            decode_address_taken(r);
        }
    }
    r->func_address = ARENA_ARRAY(&r->arena, uint64_t, r->m->nfuncs + 1);
    for (uint32_t i = 0; i < r->m->nfuncs; i++)
        r->func_address[i] = ptx_func_address(r->m, i);
    for (uint32_t i = 0; indirect && i < r->norder; i++)
        for (uint32_t k = 0; k < i; k++)
            if (r->func_address[r->order[i]->index] == r->func_address[r->order[k]->index])
                return diag_in(r->d, &r->m->source, r->order[i]->func->loc, DIAG_E0513,
                               str_text(&r->m->strings, r->order[i]->func->name),
                               "another function's name gives the same address");
    r->dynamic_shared_base = align_up(r->shared_static, 16);
    if (r->d->nerrors == errors)
        ptx_find_promises(r);
    return r->d->nerrors == errors;
}
