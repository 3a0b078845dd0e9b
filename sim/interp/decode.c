/* Predecoding for the PTX interpreter: one PtxCode for each PtxInsn of the functions that the kernel can
 * reach. What its form in frontend/ptx_forms.def does not execute is an error here, before anything runs.
 * SPDX-License-Identifier: MIT */
#include "frontend/param_layout.h"
#include "frontend/system.h"
#include "frontend/texture.h"
#include "sim/tensormap.h"
#include "sim/interp/run.h"
#include "base/align.h"
#include <stdio.h>

/* ---- layout of variables ---- */

/* Dynamic shared memory begins where all variables of the module that stand for it can, and an address that
 * is a multiple of 16 at least (ptxas 13.0). */
static uint32_t dynamic_align(const PtxModule *module) {
    uint32_t most = 16;
    for (uint32_t i = 0; i < module->nvars; i++) {
        const PtxVar *var = &module->vars[i];
        if (var->space == SP_SHARED && (var->unsized || !var->size_bytes) && var->align_bytes > most)
            most = var->align_bytes;
    }
    return most;
}

static void place_shared(PtxRun *run, uint32_t index) {
    const PtxVar *var = &run->module->vars[index];
    if (run->shared_offset[index] != UINT32_MAX)
        return;
    if (var->unsized || var->size_bytes == 0) { /* dynamic shared memory: placed when all others are */
        run->shared_offset[index] = UINT32_MAX - 1;
        return;
    }
    run->shared_static = (uint32_t)align_up(run->shared_static, var->align_bytes);
    run->shared_offset[index] = run->shared_static;
    uint32_t size = var->size_bytes > SIM_MAX_SHARED_BYTES ? SIM_MAX_SHARED_BYTES : (uint32_t)var->size_bytes;
    if (run->opt.moved_bytes)
        VEC_ADD(&run->arena, &run->shared_vars, ((PtxExtent){run->shared_static, run->shared_static + size}));
    run->shared_static += size + run->opt.moved_bytes; /* whoever runs over the end meets nobody */
    run->shared_gaps += run->opt.moved_bytes;
}

static void place_in_frame(PtxRun *run, PtxProc *proc, uint32_t index) {
    const PtxVar *var = &run->module->vars[index];
    uint32_t size = var->size_bytes > LOCAL_MAX_BYTES ? LOCAL_MAX_BYTES : (uint32_t)var->size_bytes;
    if (var->space != SP_LOCAL && var->space != SP_PARAM && var->space != SP_PARAM_FUNC)
        return;
    uint32_t gap =
        var->space == SP_LOCAL ? LOCAL_GAP_BYTES : 0; /* what runs over its ends meets no variable */
    proc->frame_bytes =
        (uint32_t)align_up(proc->frame_bytes + gap, var->align_bytes < 32 ? var->align_bytes : 32);
    proc->var_offset[index] = proc->frame_bytes;
    proc->frame_bytes += (size ? size : 1) + gap;
    proc->gap_bytes += 2 * gap;
}

/* Which variable each byte of the frame belongs to: its index + 1. */
static void own_bytes(PtxRun *run, PtxProc *proc) {
    proc->owner = ARENA_ARRAY(&run->arena, uint32_t, proc->frame_bytes + 1);
    for (uint32_t i = 0; i < run->module->nvars; i++) {
        uint32_t from = proc->var_offset[i];
        uint64_t size = run->module->vars[i].size_bytes ? run->module->vars[i].size_bytes : 1;
        for (uint64_t k = 0; from != UINT32_MAX && k < size && from + k < proc->frame_bytes; k++)
            proc->owner[from + k] = i + 1;
    }
}

static void layout_proc(PtxRun *run, PtxProc *proc) {
    const PtxFunc *f = proc->func;
    proc->var_offset = ARENA_ARRAY(&run->arena, uint32_t, run->module->nvars + 1);
    memset(proc->var_offset, 0xff, run->module->nvars * sizeof *proc->var_offset);
    for (uint32_t i = 0; i < f->nvars; i++) {
        if (run->module->vars[f->vars[i]].space == SP_SHARED)
            place_shared(run, f->vars[i]);
        else
            place_in_frame(run, proc, f->vars[i]);
    }
    for (uint32_t i = 0; !f->is_entry && i < f->nparams; i++)
        place_in_frame(run, proc, f->params[i]);
    for (uint32_t i = 0; i < f->nrets; i++)
        place_in_frame(run, proc, f->rets[i]);
    proc->frame_bytes = (uint32_t)align_up(proc->frame_bytes, 32);
    if (proc->gap_bytes)
        own_bytes(run, proc);
}

/* ---- operands ---- */

static bool is_entry_param(const PtxProc *proc, uint32_t var) {
    for (uint32_t i = 0; proc->func->is_entry && i < proc->func->nparams; i++)
        if (proc->func->params[i] == var)
            return true;
    return false;
}

/* The value of a texture's, sampler's or surface's name. */
static bool decode_named_handle(PtxRun *run, const PtxVar *var, PtxArg *arg, unsigned *space) {
    uint64_t handle = 0, at = var->param_offset_bytes;
    if (ptx_is_texture(var))
        handle = simmem_texture_handle(run->mem, str_text(&run->module->strings, var->name));
    else if (at + 8 <= run->launch->param_bytes)
        memcpy(&handle, run->launch->params + at, 8);
    else
        return false;
    if (var->type == TY_SAMPLERREF)
        handle &= SIM_TEXTURE_MASK;
    arg->imm = handle | (uint64_t)ptx_handle_kind(var->type) << 32;
    *space = SP_NONE;
    return true;
}

/* Value of a symbol: its address in its own space. *space becomes that space as PtxCode.space has it. */
static bool symbol_value(PtxRun *run, PtxProc *proc, const PtxOperand *operand, PtxArg *arg,
                         unsigned *space) {
    uint32_t index = (operand->sym & ~PTX_SYM_FUNC) - 1;
    *arg = (PtxArg){.kind = ARG_IMM, .bytes = 8};
    if (operand->sym & PTX_SYM_FUNC) {
        arg->imm = interp_func_address(run->module, index) + (uint64_t)operand->imm;
        return interp_decode_proc(run, index) != NULL;
    }
    const PtxVar *var = &run->module->vars[index];
    *space = var->space;
    if (ptx_is_texture(var) || ptx_is_behind(var))
        return decode_named_handle(run, var, arg, space);
    switch (var->space) {
    case SP_GLOBAL: arg->imm = run->var_address[index]; return arg->imm != 0;
    case SP_CONST: arg->imm = run->var_address[index]; return true;
    case SP_SHARED:
        place_shared(run, index);
        arg->imm = run->shared_offset[index];
        arg->kind = run->cluster_blocks > 1 ? ARG_SHARED : ARG_IMM;
        if (run->shared_offset[index] == UINT32_MAX - 1)
            *arg = (PtxArg){.kind = ARG_DYNAMIC_SHARED, .bytes = 8};
        return true;
    case SP_LOCAL:
    case SP_PARAM:
    case SP_PARAM_FUNC:
        if (is_entry_param(proc, index)) {
            arg->imm = var->param_offset_bytes;
            *space = SP_PARAM;
            return true;
        }
        arg->kind = ARG_LOCAL;
        arg->imm = proc->var_offset[index];
        *space = SP_LOCAL;
        return proc->var_offset[index] != UINT32_MAX;
    default: return false;
    }
}

static uint64_t immediate_bits(const PtxOperand *operand, unsigned type) {
    double d;
    if (operand->imm_kind == IMM_F64 && type == TY_F32) {
        memcpy(&d, &operand->imm, sizeof d);
        return f32_bits((float)d);
    }
    return (uint64_t)operand->imm;
}

static unsigned reg_bytes(const PtxProc *proc, uint32_t reg) {
    return ptx_type_bytes(proc->func->regs[reg].type);
}

static bool decode_src(PtxRun *r, PtxProc *p, const PtxOperand *operand, unsigned type, PtxArg *arg,
                       unsigned *space) {
    *arg = (PtxArg){.kind = ARG_IMM};
    switch (operand->kind) {
    case PO_REG:
        arg->kind = operand->neg ? ARG_NEG_REG : operand->not_ ? ARG_NOT_REG : ARG_REG;
        arg->slot = operand->reg;
        arg->bytes = (uint8_t)reg_bytes(p, operand->reg);
        return true;
    case PO_IMM:
        arg->imm = immediate_bits(operand, type);
        if (operand->not_)
            arg->imm = !arg->imm;
        return true;
    case PO_SREG:
        *arg = (PtxArg){.kind = ARG_SREG, .slot = operand->sreg, .component = operand->component};
        return true;
    case PO_SYM: {
        bool ok = symbol_value(r, p, operand, arg, space);
        arg->imm += (uint64_t)operand->imm;
        return ok;
    }
    case PO_ADDR:
        if (operand->nvec)
            return false;
        if (operand->reg)
            *arg =
                (PtxArg){.kind = ARG_REG, .slot = operand->reg, .bytes = (uint8_t)reg_bytes(p, operand->reg)};
        else if (operand->sym)
            return symbol_value(r, p, operand, arg, space);
        return true;
    case PO_SINK: return true;
    default: return false;
    }
}

static PtxDst decode_dst(const PtxProc *p, const PtxOperand *operand) {
    if (operand->kind != PO_REG)
        return (PtxDst){0, 0};
    return (PtxDst){operand->reg, width_mask(reg_bytes(p, operand->reg))};
}

static bool decode_vector(PtxRun *run, PtxProc *p, PtxCode *code, const PtxOperand *operand, bool dst) {
    unsigned space = 0;
    if (operand->nvec == 0 || operand->nvec > 8 || (code->nvec && code->nvec != operand->nvec))
        return false;
    code->nvec = operand->nvec;
    *(dst ? &code->nwritten : &code->nread) = operand->nvec;
    if (dst)
        code->vec_dst = ARENA_ARRAY(&run->arena, PtxDst, operand->nvec);
    else
        code->vec = ARENA_ARRAY(&run->arena, PtxArg, operand->nvec);
    for (unsigned i = 0; i < operand->nvec; i++) {
        if (dst)
            code->vec_dst[i] = decode_dst(p, &operand->vec[i]);
        else if (!decode_src(run, p, &operand->vec[i], code->type, &code->vec[i], &space))
            return false;
    }
    return true;
}

static bool wide_reg(const PtxProc *p, const PtxOperand *operand) {
    return (operand->kind == PO_REG && reg_bytes(p, operand->reg) > 8);
}

/* Of a statement of .b128: what is vectors or 128 bits. A register is a pair, whose upper half has its slot
 * behind those of all registers; vec and vec_dst have the parts of all operands. */
static bool decode_wide(PtxRun *run, PtxProc *proc, PtxCode *code, const PtxOperand *operand, bool dst) {
    enum { MOST = 16 };
    bool vector = operand->kind == PO_VEC, reg = operand->kind == PO_REG;
    unsigned n = vector ? operand->nvec : 2, space = 0;
    uint8_t *count = dst ? &code->nwritten : &code->nread;
    if (*count + n > MOST || (reg && (operand->neg || operand->not_)))
        return false;
    if (dst && !code->vec_dst)
        code->vec_dst = ARENA_ARRAY(&run->arena, PtxDst, MOST);
    if (!dst && !code->vec)
        code->vec = ARENA_ARRAY(&run->arena, PtxArg, MOST);
    for (unsigned k = 0; k < n; k++, ++*count) {
        uint32_t slot = reg ? operand->reg + k * proc->func->nregs : 0;
        PtxArg *arg = dst ? NULL : &code->vec[*count];
        if (dst)
            code->vec_dst[*count] = vector ? decode_dst(proc, &operand->vec[k])
                                    : reg  ? (PtxDst){slot, UINT64_MAX}
                                           : (PtxDst){0, 0};
        else if (reg)
            *arg = (PtxArg){.kind = ARG_REG, .slot = slot, .bytes = 8};
        else if (!vector && k > 0)
            *arg = (PtxArg){.kind = ARG_IMM}; /* ptxas 13.0 extends numbers with zeros */
        else if (!decode_src(run, proc, vector ? &operand->vec[k] : operand, TY_B64, arg, &space))
            return false;
    }
    return true;
}

static bool decode_operands(PtxRun *r, PtxProc *p, PtxCode *code) {
    const PtxInsn *in = code->insn;
    unsigned space = SP_NONE, nbase = 0, nvalues = in->noperands - (in->flags & PF_CACHE_HINT ? 1u : 0u);
    bool is_wide = in->type[0] == TY_B128;
    if (is_wide)
        code->nvec = 2, code->ndst = in->ndst;
    for (unsigned i = 0; i < in->noperands; i++) {
        const PtxOperand *operand = &in->operands[i];
        if (is_wide && operand->kind != PO_ADDR && i < nvalues) {
            if (!decode_wide(r, p, code, operand, i < in->ndst))
                return false;
            continue;
        }
        if (wide_reg(p, operand))
            return false;
        if (i < in->ndst) {
            if (operand->kind == PO_VEC ? !decode_vector(r, p, code, operand, true) : i > 1)
                return false;
            if (operand->kind != PO_VEC)
                code->dst[i] = decode_dst(p, operand);
            code->ndst++;
        } else if (operand->kind == PO_VEC) {
            if (!decode_vector(r, p, code, operand, false))
                return false;
        } else if (operand->kind != PO_LABEL && operand->kind != PO_NONE) {
            /* the front end has given literals the type of their own operand */
            if (code->nsrc == CODE_MAX_SRC ||
                !decode_src(r, p, operand, TY_NONE, &code->src[code->nsrc], &space))
                return false;
            if (operand->kind == PO_ADDR) {
                *(nbase == 0   ? &code->offset
                  : nbase == 1 ? &code->offset2
                               : &code->offset3) = (uint64_t)operand->imm;
                if (nbase == 0 && !operand->reg &&
                    (code->space == SP_PARAM || code->space == SP_PARAM_FUNC || code->space == SP_NONE))
                    code->space = (uint8_t)(operand->sym ? space : code->space);
                nbase++;
            }
            code->nsrc++;
        }
    }
    return true;
}

/* mma, wmma.mma: D, A, B, C, each a vector or one register. */
static bool decode_fragments(PtxRun *run, PtxProc *p, PtxCode *code) {
    unsigned total = 0, space = 0;
    bool sparse = code->insn->flags & PF_SPARSE;
    for (unsigned k = 0; k < 4; k++) {
        const PtxOperand *operand = &code->insn->operands[k];
        code->fragment[k] = operand->kind == PO_VEC ? operand->nvec : 1;
        total += code->fragment[k];
    }
    code->nwritten = code->fragment[0];
    code->nread = (uint8_t)(total - code->nwritten + sparse);
    code->vec_dst = ARENA_ARRAY(&run->arena, PtxDst, total);
    code->vec = ARENA_ARRAY(&run->arena, PtxArg, total + sparse);
    PtxArg *arg = code->vec;
    for (unsigned k = 0; k < 4; k++)
        for (unsigned i = 0; i < code->fragment[k]; i++) {
            const PtxOperand *operand = &code->insn->operands[k];
            operand = operand->kind == PO_VEC ? &operand->vec[i] : operand;
            if (k == 0)
                code->vec_dst[i] = decode_dst(p, operand);
            else if (!decode_src(run, p, operand, TY_NONE, arg++, &space))
                return false;
        }
    return !sparse || decode_src(run, p, &code->insn->operands[4], TY_NONE, arg, &space);
}

/* wgmma.mma_async: D, which is read, too; A, a descriptor or registers; B's descriptor; scale-d; of a sparse
 * A where its elements stand. */
static bool decode_group_product(PtxRun *run, PtxProc *proc, PtxCode *code) {
    const PtxInsn *insn = code->insn;
    bool sparse = insn->flags & PF_SPARSE;
    const uint8_t order[] = {0, 1, 2, sparse ? 5 : 3, 3};
    unsigned n = insn->operands[0].nvec, space = 0;
    code->fragment[0] = (uint8_t)n;
    code->fragment[1] = insn->operands[1].kind == PO_VEC ? insn->operands[1].nvec : 1;
    code->nwritten = (uint8_t)n;
    code->nread = (uint8_t)(n + code->fragment[1] + 2u + sparse);
    code->vec_dst = ARENA_ARRAY(&run->arena, PtxDst, n);
    code->vec = ARENA_ARRAY(&run->arena, PtxArg, code->nread);
    for (unsigned i = 0; i < n; i++)
        code->vec_dst[i] = decode_dst(proc, &insn->operands[0].vec[i]);
    PtxArg *arg = code->vec;
    for (unsigned k = 0; k < 4u + sparse; k++) {
        const PtxOperand *operand = &insn->operands[order[k]];
        unsigned words = operand->kind == PO_VEC ? operand->nvec : 1;
        for (unsigned i = 0; i < words; i++)
            if (!decode_src(run, proc, operand->kind == PO_VEC ? &operand->vec[i] : operand, TY_NONE, arg++,
                            &space))
                return false;
    }
    return true;
}

/* The handle that an operand of a texture statement names. */
static bool decode_handle(PtxRun *run, PtxProc *proc, const PtxOperand *operand, PtxArg *arg) {
    unsigned space = SP_NONE;
    PtxOperand plain = *operand;
    plain.kind = operand->reg ? PO_REG : PO_SYM; /* a parameter may have another type, .u64 */
    if (!decode_src(run, proc, &plain, TY_NONE, arg, &space))
        return false;
    if (space == SP_LOCAL) /* of a function: nobody writes such parameters */
        return false;
    if (space == SP_PARAM) {
        uint64_t at = arg->imm;
        if (at + 8 > run->launch->param_bytes)
            return false;
        memcpy(&arg->imm, run->launch->params + at, 8);
    }
    return true;
}

static bool decode_list(PtxRun *run, PtxProc *proc, PtxCode *code, const PtxOperand *const *list,
                        unsigned n) {
    unsigned space = SP_NONE;
    for (unsigned k = 0; k < n && list[k]; k++)
        if (!decode_src(run, proc, list[k], TY_NONE, &code->vec[code->nread++], &space))
            return false;
    return true;
}

/* tex, suld ...: vec has the coordinates, what is written, the level, derivatives, offsets; vec_dst what is
 * read, dst[1] whether it is resident. */
static bool decode_texture(PtxRun *run, PtxProc *proc, PtxCode *code) {
    PtxTexture t = ptx_texture(code->insn);
    const PtxOperand *value = t.result, *elements = value->kind == PO_VEC ? value->vec : value;
    unsigned n = value->kind == PO_VEC ? value->nvec : 1;
    bool gives = code->insn->ndst;
    code->fragment[0] = (uint8_t)t.ncoords;
    code->nvec = (uint8_t)n;
    code->nwritten = gives ? code->nvec : 0;
    code->nsrc = t.sampler ? 2 : 1;
    code->vec_dst = ARENA_ARRAY(&run->arena, PtxDst, n);
    code->vec = ARENA_ARRAY(&run->arena, PtxArg, 4 + 4 + 1 + 3 * 3);
    bool ok = decode_handle(run, proc, t.place, &code->src[0]) &&
              (!t.sampler || decode_handle(run, proc, t.sampler, &code->src[1])) &&
              decode_list(run, proc, code, t.coord, t.ncoords);
    for (unsigned k = 0; ok && k < n; k++) {
        const PtxOperand *element = &elements[k];
        if (gives)
            code->vec_dst[k] = decode_dst(proc, element);
        else
            ok = decode_list(run, proc, code, &element, 1);
    }
    ok = ok && decode_list(run, proc, code, &t.level, 1) && decode_list(run, proc, code, t.grad[0], 3) &&
         decode_list(run, proc, code, t.grad[1], 3) && decode_list(run, proc, code, t.offset, 3);
    code->ndst = code->insn->ndst;
    if (t.resident)
        code->dst[1] = decode_dst(proc, t.resident);
    return ok;
}

static bool decode_items(PtxRun *run, PtxProc *proc, PtxCode *code, const PtxOperand *list) {
    unsigned n = list->kind == PO_VEC ? list->nvec : 1, space = SP_NONE;
    for (unsigned k = 0; k < n; k++)
        if (!decode_src(run, proc, list->kind == PO_VEC ? &list->vec[k] : list, TY_NONE,
                        &code->vec[code->nread++], &space))
            return false;
    return true;
}

/* Copies of tensors: src[0] the map, [1] the place in shared memory, [2] the object, [3] the blocks; vec the
 * coordinates, then offsets of im2col. Cache policies say nothing. */
static bool decode_tensor(PtxRun *run, PtxProc *proc, PtxCode *code) {
    const PtxInsn *insn = code->insn;
    const PtxOperand *operand = insn->operands;
    bool loads = !operand[0].nvec, stores = !loads && insn->space2, im2col = insn->flags & PF_IM2COL;
    const PtxOperand *place = &operand[loads], *offsets = im2col && !stores ? &operand[loads ? 3 : 1] : NULL,
                     *given[4] = {place, loads || stores ? &operand[stores] : NULL,
                                  loads ? &operand[2] : NULL,
                                  insn->flags & PF_MULTICAST ? &operand[offsets ? 4 : 3] : NULL};
    uint64_t *const offset[4] = {&code->offset, &code->offset2, &code->offset3, &code->offset3};
    code->vec = ARENA_ARRAY(&run->arena, PtxArg, 2 * SIM_TENSOR_DIMS);
    code->nsrc = 4;
    bool ok = true;
    for (unsigned k = 0; ok && k < 4; k++) {
        unsigned space = SP_NONE;
        if (!given[k])
            continue;
        PtxOperand plain = *given[k];
        plain.nvec = 0;
        ok = decode_src(run, proc, &plain, TY_NONE, &code->src[k], &space);
        if (plain.kind == PO_ADDR)
            *offset[k] = (uint64_t)plain.imm;
    }
    return ok && decode_items(run, proc, code, &place->vec[0]) &&
           (!offsets || decode_items(run, proc, code, offsets));
}

/* ---- instructions ---- */

static void fix_space(const PtxProc *proc, PtxCode *code) {
    code->space = code->insn->space;
    if (code->space == SP_PARAM_FUNC || (code->space == SP_PARAM && !proc->func->is_entry))
        code->space = SP_LOCAL; /* a function's parameters live in its frame; symbols say so themselves */
    if (code->space == SP_PARAM_ENTRY)
        code->space = SP_PARAM;
}

static bool decode_targets(PtxRun *run, PtxProc *proc, PtxCode *ptx_code) {
    const PtxInsn *in = ptx_code->insn;
    const PtxFunc *f = proc->func;
    if (in->op == PTX_BRA && in->noperands && in->operands[0].kind == PO_LABEL) {
        ptx_code->targets = ARENA_ARRAY(&run->arena, const PtxCode *, 1);
        ptx_code->targets[0] = &proc->code[f->labels[in->operands[0].label].insn];
        ptx_code->ntargets = 1;
    } else if (in->op == PTX_BRX && in->table) {
        const PtxBranchTable *ptx_branch_table = &f->branch_tables[in->table - 1];
        ptx_code->targets = ARENA_ARRAY(&run->arena, const PtxCode *, ptx_branch_table->n + 1);
        for (uint32_t i = 0; i < ptx_branch_table->n; i++)
            ptx_code->targets[i] = &proc->code[f->labels[ptx_branch_table->labels[i]].insn];
        ptx_code->ntargets = ptx_branch_table->n;
    }
    return true;
}

static bool decode_call(PtxRun *run, PtxProc *p, PtxCode *code) {
    const PtxInsn *in = code->insn;
    unsigned space = 0;
    if (in->op != PTX_CALL)
        return true;
    code->system =
        in->callee ? ptx_system_func(run->module, &run->module->funcs[in->callee - 1]) : SYSTEM_COUNT;
    if (in->callee && code->system == SYSTEM_COUNT) {
        code->callee = interp_decode_proc(run, in->callee - 1);
        if (!code->callee)
            return false;
    }
    code->vec = ARENA_ARRAY(&run->arena, PtxArg, in->nargs + 1u);
    if (in->nargs > run->ncall_values) {
        run->ncall_values = in->nargs;
        run->call_values = ARENA_ARRAY(&run->arena, uint64_t, in->nargs);
    }
    code->nvec = code->nread = in->nargs;
    for (unsigned i = 0; i < in->nargs; i++) {
        const PtxFunc *f = code->callee ? code->callee->func
                           : in->callee ? &run->module->funcs[in->callee - 1]
                                        : NULL;
        unsigned type = f && i < f->nparams ? run->module->vars[f->params[i]].type : TY_NONE;
        if (wide_reg(p, &in->args[i]) || (in->args[i].kind == PO_SYM && !(in->args[i].sym & PTX_SYM_FUNC)))
            continue; /* copied as memory is */
        if (!decode_src(run, p, &in->args[i], type, &code->vec[i], &space))
            return false;
    }
    return true;
}

/* By form: what binds it, or why nothing does. */
static const struct {
    PtxBind *bind;
    const char *absent;
} forms[] = {
    {0},
#define INTERP(name) interp_bind_##name
#define interp_bind_ABSENT(reason) NULL, .absent = reason
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    {.bind = interp},
#include "frontend/ptx_forms.def"
#undef INTERP
#undef interp_bind_ABSENT
};

static bool not_executed(PtxRun *run, const PtxInsn *in, const char *why) {
    char text[64];
    snprintf(text, sizeof text, "%s%s", ptx_op_name((PtxOp)in->op),
             str_text(&run->module->strings, in->mods_text));
    return diag_in(run->d, &run->module->source, in->loc, DIAG_E0511, text, why ? ": " : "", why ? why : "");
}

bool interp_decode_insn(PtxRun *run, PtxProc *p, PtxCode *code) {
    const PtxInsn *in = code->insn;
    run->d->place = ptx_place(run->module, p->func, in);
    code->proc = p;
    code->guard = in->guard_reg;
    code->guard_not = in->guard_not;
    code->values = run->opt.values ? interp_value_classes(in) : 0;
    code->ftz = (in->flags & PF_FTZ) != 0;
    code->sat = (in->flags & PF_SAT) != 0;
    code->type = in->type[0];
    code->type2 = in->ntypes > 1 ? in->type[1] : in->type[0];
    code->rnd = in->rnd, code->cmp = in->cmp, code->bop = in->bop, code->sub = in->sub, code->sub2 = in->sub2,
    code->atom = in->atom;
    if (code->type == TY_B128) /* a pair */
        code->type = TY_B64;
    code->size_bytes = (uint8_t)ptx_type_bytes((PtxType)code->type);
    fix_space(p, code);
    if (forms[in->form].absent)
        return not_executed(run, in, forms[in->form].absent);
    uint32_t errors = run->d->nerrors;
    bool ok = decode_targets(run, p, code) && decode_call(run, p, code) &&
              (in->op == PTX_CALL ? in->callee || in->noperands : true);
    if (ok && (in->op == PTX_MMA || (in->op == PTX_WMMA && in->sub == SUB_MMA)))
        ok = decode_fragments(run, p, code);
    else if (ok && in->op == PTX_WGMMA && in->sub == SUB_MMA_ASYNC)
        ok = decode_group_product(run, p, code);
    else if (ok && ptx_asks_texture(in))
        ok = decode_texture(run, p, code);
    else if (ok && ptx_copies_tensor(in))
        ok = decode_tensor(run, p, code);
    else if (ok && (in->op != PTX_CALL || !in->callee))
        ok = decode_operands(run, p, code);
    if (ok && forms[in->form].bind(code))
        return true;
    return run->d->nerrors != errors ? false /* said already, further down */ : not_executed(run, in, NULL);
}

static bool decode_body(PtxRun *run, PtxProc *ptx_proc) {
    const PtxFunc *f = ptx_proc->func;
    uint32_t *warned = ARENA_ARRAY(&run->arena, uint32_t, f->ninsns + 1);
    bool ok = true;
    ptx_proc->code = ARENA_ARRAY(&run->arena, PtxCode, f->ninsns + 1);
    ptx_proc->nslots = f->nregs ? f->nregs : 1;
    for (uint32_t i = 1; i < f->nregs; i++)
        if (reg_bytes(ptx_proc, i) > 8)
            ptx_proc->nslots = 2 * f->nregs;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        ptx_proc->code[i].insn = &f->insns[i];
        ptx_proc->code[i].warned = &warned[i];
        ok = interp_decode_insn(run, ptx_proc, &ptx_proc->code[i]) && ok;
    }
    ptx_proc->code[f->ninsns] =
        (PtxCode){.exec = interp_exec_ret, .proc = ptx_proc, .warned = &warned[f->ninsns]};
    run->d->place = (DiagPlace){0};
    if (ok)
        interp_take_latitude(run, ptx_proc);
    ptx_proc->decoded = ok;
    return ok;
}

/* The function's PtxProc, NULL after an error. Its body is decoded later, from the list r->order. */
PtxProc *interp_decode_proc(PtxRun *run, uint32_t index) {
    for (uint32_t i = 0; run->module->funcs[index].alias_of && i < run->module->nfuncs; i++)
        index = run->module->funcs[index].alias_of - 1;
    const PtxFunc *f = &run->module->funcs[index];
    if (run->procs[index])
        return run->procs[index];
    if (!f->has_body) {
        run->d->place.function = str_text(&run->module->strings, f->name);
        diag_in(run->d, &run->module->source, f->loc, DIAG_E0514, str_text(&run->module->strings, f->name));
        return NULL;
    }
    PtxProc *proc = ARENA_NEW(&run->arena, PtxProc);
    run->procs[index] = proc;
    proc->func = f;
    proc->index = index;
    proc->reached = run->opt.reached ? run->opt.reached[index] : NULL;
    proc->values = run->opt.values ? run->opt.values[index] : NULL;
    proc->looks = proc->values ? ARENA_ARRAY(&run->arena, uint32_t, f->ninsns + 1) : NULL;
    layout_proc(run, proc);
    run->order[run->norder++] = proc;
    return proc;
}

static bool has_indirect_call(const PtxFunc *f) {
    for (uint32_t i = 0; i < f->ninsns; i++)
        if (f->insns[i].op == PTX_CALL && !f->insns[i].callee)
            return true;
    return false;
}

/* Functions whose address is taken anywhere: also an earlier launch may have left it in memory. */
static void decode_address_taken(PtxRun *run) {
    for (uint32_t i = 0; i < run->module->nfuncs; i++) {
        const PtxFunc *f = &run->module->funcs[i];
        for (uint32_t k = 0; k < f->ninsns; k++)
            for (unsigned o = 0; f->insns[k].op != PTX_CALL && o < f->insns[k].noperands; o++)
                if (f->insns[k].operands[o].kind == PO_SYM && f->insns[k].operands[o].sym & PTX_SYM_FUNC)
                    interp_decode_proc(run, (f->insns[k].operands[o].sym & ~PTX_SYM_FUNC) - 1);
    }
    for (uint32_t i = 0; i < run->module->nvars; i++) {
        const PtxVar *var = &run->module->vars[i];
        for (uint32_t k = 0; k < var->ninits; k++)
            if (var->inits[k].sym & PTX_SYM_FUNC)
                interp_decode_proc(run, (var->inits[k].sym & ~PTX_SYM_FUNC) - 1);
    }
}

bool interp_decode_all(PtxRun *run, uint32_t kernel) {
    uint32_t errors = run->d->nerrors;
    for (uint32_t i = 0; i < run->module->nvars; i++)
        if (run->module->vars[i].space == SP_SHARED && run->module->vars[i].func == 0)
            place_shared(run, i);
    run->order = ARENA_ARRAY(&run->arena, PtxProc *, run->module->nfuncs + 1);
    run->kernel = interp_decode_proc(run, kernel);
    bool indirect = false;
    for (uint32_t i = 0; i < run->norder; i++) {
        decode_body(run, run->order[i]);
        if (!indirect && has_indirect_call(run->order[i]->func)) {
            indirect = true;
            decode_address_taken(run);
        }
    }
    run->func_address = ARENA_ARRAY(&run->arena, uint64_t, run->module->nfuncs + 1);
    for (uint32_t i = 0; i < run->module->nfuncs; i++)
        run->func_address[i] = interp_func_address(run->module, i);
    for (uint32_t i = 0; indirect && i < run->norder; i++)
        for (uint32_t k = 0; k < i; k++)
            if (run->func_address[run->order[i]->index] == run->func_address[run->order[k]->index])
                return diag_in(run->d, &run->module->source, run->order[i]->func->loc, DIAG_E0513,
                               str_text(&run->module->strings, run->order[i]->func->name),
                               "another function's name gives the same address");
    run->dynamic_shared_base = (uint32_t)align_up(run->shared_static, dynamic_align(run->module));
    if (run->d->nerrors == errors)
        interp_find_promises(run);
    return run->d->nerrors == errors;
}
