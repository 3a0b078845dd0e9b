/* Textures for launches that are inferred: one for each variable that the kernel's code fetches from, and one
 * for each parameter that reaches a fetch. What the statement says of it is followed (dimensions, layers,
 * type of the results), the rest is invented: texels of four channels, linear filtering where results are
 * floats, mipmaps where a level is chosen. SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_search.h"
#include "frontend/texture.h"
#include <string.h>

enum { LONG = 1 << 14, WIDE = 64, DEEP = 16, LAYERS = 4, CHANNELS = 4, MORE_LEVELS = 3 };

const PtxInsn *auto_only_writer(const PtxFunc *f, uint32_t reg) {
    const PtxInsn *found = NULL;
    for (uint32_t i = 0; i < f->ninsns; i++)
        for (unsigned k = 0; k < f->insns[i].ndst; k++) {
            const PtxOperand *dst = &f->insns[i].operands[k];
            if (dst->kind == PO_VEC)
                for (unsigned e = 0; e < dst->nvec; e++)
                    if (dst->vec[e].kind == PO_REG && dst->vec[e].reg == reg)
                        return NULL;
            if (dst->kind != PO_REG || dst->reg != reg)
                continue;
            if (found)
                return NULL;
            found = &f->insns[i];
        }
    return found;
}

/* The statement that a register's value is from, which moves leave as it is; NULL: there are several. */
static const PtxInsn *origin(const PtxFunc *f, uint32_t reg) {
    enum { MOST_MOVES = 8 };
    for (unsigned n = 0; n < MOST_MOVES; n++) {
        const PtxInsn *insn = auto_only_writer(f, reg);
        if (!insn || insn->noperands < 2)
            return NULL;
        if ((insn->op != PTX_MOV && insn->op != PTX_CVTA) || insn->operands[1].kind != PO_REG)
            return insn;
        reg = insn->operands[1].reg;
    }
    return NULL;
}

uint32_t auto_param_in(const PtxFunc *f, uint32_t reg) {
    const PtxInsn *insn = origin(f, reg);
    const PtxOperand *from = insn ? &insn->operands[1] : NULL;
    if (from && insn->op == PTX_LD && from->kind == PO_ADDR && from->sym && !from->imm)
        for (uint32_t i = 0; i < f->nparams; i++)
            if (f->params[i] == from->sym - 1)
                return i + 1;
    return 0;
}

/* The texture or surface that the operand names, itself or by a register that holds its handle. */
static const PtxVar *texture_named_by(const PtxModule *module, const PtxFunc *f, const PtxOperand *operand) {
    const PtxInsn *insn = operand->sym || !operand->reg ? NULL : origin(f, operand->reg);
    const PtxOperand *from = insn && insn->op == PTX_MOV ? &insn->operands[1] : operand;
    const PtxVar *var = from->sym && !(from->sym & PTX_SYM_FUNC) ? &module->vars[from->sym - 1] : NULL;
    return var && ptx_is_texture(var) ? var : NULL;
}

static void describe(const PtxInsn *insn, SimTexture *texture) {
    PtxTexture as = ptx_texture(insn);
    bool fetches = insn->op == PTX_TEX || insn->op == PTX_TLD4, surface = !fetches && insn->op != PTX_TXQ;
    bool floats = !fetches || insn->type[0] == TY_F32 || insn->type[0] == TY_F16X2;
    texture->cube = as.cube;
    texture->dims = (uint8_t)(!as.ncoords || as.cube ? 2 : as.ncoords - as.layered);
    texture->layers = as.layered ? LAYERS : 0;
    texture->size[0] = texture->dims == 1 ? LONG : texture->dims == 2 ? WIDE : DEEP;
    texture->size[1] = texture->dims == 1 ? 1 : texture->dims == 2 ? WIDE : DEEP;
    texture->size[2] = texture->dims == 3 ? DEEP : 1;
    texture->texel = surface                   ? SIM_TEXEL_U32
                     : floats                  ? SIM_TEXEL_F32
                     : insn->type[0] == TY_S32 ? SIM_TEXEL_S32
                                               : SIM_TEXEL_U32;
    texture->channels = CHANNELS;
    texture->linear = floats && fetches && insn->type[1] == TY_F32;
    texture->normalized = as.cube;
    if (fetches && (as.level || as.grad[0][0])) { /* what CUDA wants of mipmaps */
        texture->more_levels = MORE_LEVELS;
        texture->lod_max = MORE_LEVELS;
        texture->mip_linear = floats;
        texture->normalized |= !as.integer;
    }
    for (unsigned k = 0; k < 3; k++)
        texture->mode[k] = SIM_ADDRESS_CLAMP;
}

static uint32_t add_texture(const AutoAttempt *attempt, Plan *plan, const char *name, const PtxInsn *insn) {
    PlanTexture texture = {.name = name, .buffer = plan->buffers.n};
    describe(insn, &texture.what);
    const char *type = texture.what.texel == SIM_TEXEL_F32 ? "f32" : "u32";
    unsigned long long seed = (attempt->seed >> 32) + plan->buffers.n;
    PlanBuffer texels = {.name = arena_printf(&plan->arena, "%s.texels", name),
                         .type = scalar_find(type, 3),
                         .count = sim_texture_bytes(&texture.what) / 4,
                         .init = attempt->edges
                                     ? arena_printf(&plan->arena, "edges:%llu:%u:%u", seed, plan->textures.n,
                                                    attempt->one_in ? attempt->one_in : 1)
                                 : *type == 'f' ? arena_printf(&plan->arena, "random:%llu:-1:1", seed)
                                                : arena_printf(&plan->arena, "random:%llu", seed)};
    VEC_ADD(&plan->arena, &plan->buffers, texels);
    VEC_ADD(&plan->arena, &plan->textures, texture);
    return plan->textures.n;
}

static void add_for(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number,
                    const PtxFunc *f, const PtxInsn *insn, uint32_t *of_param) {
    const PtxOperand *operands[2] = {ptx_texture(insn).place, ptx_texture(insn).sampler};
    for (unsigned k = 0; k < 2 && operands[k]; k++) {
        const PtxVar *var = texture_named_by(search->m, f, operands[k]);
        const char *name = var ? str_text(&search->m->strings, var->name) : NULL;
        if (var) {
            if (!plan_find_texture(plan, name))
                add_texture(attempt, plan, arena_printf(&plan->arena, "%s", name), insn);
            continue;
        }
        uint32_t param = f == search->f && operands[k]->reg ? auto_param_in(f, operands[k]->reg) : 0;
        if (param && !of_param[param - 1])
            of_param[param - 1] = add_texture(
                attempt, plan, arena_printf(&plan->arena, "%s.%u.%u", search->name, number, param), insn);
    }
}

void auto_add_textures(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number,
                       uint32_t *of_param) {
    for (uint32_t i = 0; i < search->m->nfuncs; i++) {
        const PtxFunc *f = &search->m->funcs[i];
        for (uint32_t k = 0; search->flow.funcs[i] && k < f->ninsns; k++)
            if (ptx_asks_texture(&f->insns[k]))
                add_for(search, attempt, plan, number, f, &f->insns[k], of_param);
    }
}
