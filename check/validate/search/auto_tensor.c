/* Tensor maps for launches that are inferred: one for each parameter by which the kernel copies tensors, and
 * for each place in a structure (libraries hand over all that a kernel needs in one). The
 * statement says how many dimensions the tensor has; how many bytes a box has follows from what the mbarrier
 * object is told to wait for, shared by the copies behind or in front of that statement, as far apart as they
 * lie, or from the variable in shared memory that is copied; the rest is invented. Where copies race, several
 * warps may copy a part each. The tensor is four boxes long in each of the dimensions that a box has.
 * SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_search.h"
#include "frontend/texture.h"
#include <string.h>

/* How often halved: what a copy from memory has of the bytes waited for, and its rows, where several warps
 * copy a part each; rows of a copy to memory, where columns overlap. */
typedef struct {
    uint8_t part, stored_row;
} OtherBoxes;
static const OtherBoxes other_boxes[] = {{0, 0}, {0, 1}, {1, 1}, {2, 2}};

enum { ROW_BYTES = 128, LEAST_ROW = 16, MOST_BOX = 256, BOXES = 4, THIN = 8 };

/* Immediate values, and where a parameter is expected what it is: choose_integer gives BOX_BYTES. */
static uint64_t expected_value(const AutoSearch *search, const AutoAttempt *attempt, const PtxFunc *f,
                               const PtxOperand *operand) {
    if (operand->kind == PO_IMM)
        return (uint64_t)operand->imm;
    const PtxInsn *writer = operand->kind == PO_REG ? auto_only_writer(f, operand->reg) : NULL;
    if (writer && writer->op == PTX_MOV && writer->operands[1].kind == PO_IMM)
        return (uint64_t)writer->operands[1].imm;
    uint32_t param = writer && f == search->f ? auto_param_in(f, operand->reg) : 0;
    for (uint32_t i = 0; param && i < search->flow.nslots; i++)
        if (!search->flow.slots[i].parent && search->flow.slots[i].param == param - 1)
            return attempt->value[i];
    return 0;
}

static uint64_t variable_bytes(const AutoSearch *search, const PtxFunc *f, const PtxOperand *operand) {
    const PtxInsn *writer = operand->reg ? auto_only_writer(f, operand->reg) : NULL;
    const PtxOperand *symbol = operand->sym                      ? operand
                               : writer && writer->op == PTX_MOV ? &writer->operands[1]
                                                                 : NULL;
    bool known = symbol && symbol->sym && !(symbol->sym & PTX_SYM_FUNC);
    return known ? search->m->vars[symbol->sym - 1].size_bytes : 0;
}

static bool is_load(const PtxInsn *insn) { return ptx_copies_tensor(insn) && !insn->operands[0].nvec; }

/* Does the kernel say what it waits for in front of its copies? Libraries have both orders. */
static bool is_announced(const AutoSearch *search, const PtxFunc *f) {
    for (uint32_t i = 0; i < f->ninsns; i++) {
        if (ptx_expected_bytes(search->m, &f->insns[i]))
            return true;
        if (is_load(&f->insns[i]))
            return false;
    }
    return true;
}

typedef struct { /* where a copy begins in shared memory: behind a symbol or what a register holds */
    uint32_t reg, sym;
    int64_t offset;
} Place;

static Place tile_place(const PtxFunc *f, const PtxOperand *operand) {
    Place place = {operand->reg, operand->sym, operand->imm};
    enum { MOST_STEPS = 4 };
    for (unsigned step = 0; place.reg && step < MOST_STEPS; step++) {
        const PtxInsn *writer = auto_only_writer(f, place.reg);
        const PtxOperand *from = writer ? &writer->operands[1] : NULL;
        if (writer && writer->op == PTX_MOV && from->kind == PO_SYM)
            place = (Place){0, from->sym, place.offset + from->imm};
        else if (writer && writer->op == PTX_ADD && from->kind == PO_REG &&
                 writer->operands[2].kind == PO_IMM)
            place = (Place){from->reg, 0, place.offset + writer->operands[2].imm};
        else
            break;
    }
    return place;
}

/* What the copy at `at` has of the bytes that those of statements [from, end) share: as far as to where the
 * next one begins, of the last the rest; else as much as every other. */
static uint64_t share(const PtxFunc *f, uint32_t at, uint32_t from, uint32_t end, uint64_t total) {
    Place own = tile_place(f, &f->insns[at].operands[0]);
    uint64_t to_next = 0, others = 0, ncopies = 0;
    int64_t first = own.offset, last = own.offset;
    bool one_base = true;
    for (uint32_t i = from; i < end; i++) {
        if (!is_load(&f->insns[i]))
            continue;
        Place place = tile_place(f, &f->insns[i].operands[0]);
        int64_t ahead = place.offset - own.offset;
        ncopies++;
        one_base &= place.reg == own.reg && place.sym == own.sym && (ahead != 0 || i == at);
        if (ahead > 0 && (!to_next || (uint64_t)ahead < to_next))
            to_next = (uint64_t)ahead;
        first = place.offset < first ? place.offset : first;
        last = place.offset > last ? place.offset : last;
    }
    others = (uint64_t)(last - first);
    if (one_base && others < total)
        return to_next ? to_next : total - others;
    return ncopies ? total / ncopies : 0;
}

/* Of a copy at statement `at`. */
static uint64_t box_bytes(const AutoSearch *search, const AutoAttempt *attempt, const PtxFunc *f,
                          uint32_t at) {
    const PtxInsn *copy = &f->insns[at];
    if (!is_load(copy)) {
        uint64_t bytes = variable_bytes(search, f, &copy->operands[1]);
        return bytes && bytes < BOX_BYTES ? bytes : BOX_BYTES;
    }
    const PtxOperand *before = NULL, *behind = NULL;
    uint32_t from = at, end = at + 1;
    while (from && !(before = ptx_expected_bytes(search->m, &f->insns[from - 1])))
        from--;
    while (end < f->ninsns && !(behind = ptx_expected_bytes(search->m, &f->insns[end])))
        end++;
    const PtxOperand *expected = is_announced(search, f) ? before : behind;
    uint64_t bytes = expected ? share(f, at, from, end, expected_value(search, attempt, f, expected)) : 0;
    return bytes ? bytes >> other_boxes[attempt->boxes].part : BOX_BYTES;
}

bool auto_other_boxes(const AutoSearch *search, AutoAttempt *attempt) {
    if (!search->flow.ncopies || attempt->boxes + 1u == sizeof other_boxes / sizeof *other_boxes)
        return false;
    attempt->boxes++;
    return true;
}

/* What products of matrices read is of their type; sums in memory are of integers. */
static unsigned element_type(const AutoSearch *search, const PtxInsn *copy) {
    if (copy->atom)
        return SIM_TENSOR_U32;
    for (uint32_t f = 0; f < search->m->nfuncs; f++)
        for (uint32_t i = 0; search->flow.funcs[f] && i < search->m->funcs[f].ninsns; i++) {
            const PtxInsn *insn = &search->m->funcs[f].insns[i];
            if ((insn->op == PTX_WGMMA || insn->op == PTX_MMA) && insn->ntypes > 1)
                return insn->type[1] == TY_F16    ? SIM_TENSOR_F16
                       : insn->type[1] == TY_BF16 ? SIM_TENSOR_BF16
                       : insn->type[1] == TY_F64  ? SIM_TENSOR_F64
                       : insn->type[1] == TY_TF32 ? SIM_TENSOR_F32
                                                  : SIM_TENSOR_U8;
        }
    return SIM_TENSOR_F32;
}

/* The box as rows of so many bytes, as many of them as there are, in further dimensions where one is too
 * short. */
static void shape_box(SimTensorMap *map, uint64_t bytes, uint64_t row) {
    unsigned element = sim_tensor_element_bytes(map->type);
    while (row > LEAST_ROW && bytes % row)
        row /= 2;
    while ((map->rank == 1 || bytes / row > MOST_BOX) && row < bytes && 2 * row / element <= MOST_BOX &&
           bytes % (2 * row) == 0)
        row *= 2;
    uint64_t rows = bytes / row ? bytes / row : 1;
    map->box[0] = (uint16_t)(row / element);
    if (map->im2col) {
        map->channels = map->box[0];
        map->pixels = (uint16_t)(rows < 1024 ? rows : 1024);
    }
    for (unsigned k = 1; k < map->rank; k++) {
        uint64_t n = map->im2col ? THIN : rows;
        while (n > MOST_BOX || rows % n)
            n--;
        map->box[k] = (uint16_t)n;
        rows = map->im2col ? rows : rows / n;
    }
}

static void describe_map(const AutoSearch *search, const PtxInsn *copy, uint64_t bytes, uint64_t row,
                         SimTensorMap *map) {
    *map = (SimTensorMap){.magic = SIM_TENSOR_MAGIC,
                          .type = (uint8_t)element_type(search, copy),
                          .rank = copy->vec,
                          .im2col = (copy->flags & PF_IM2COL) != 0};
    if (map->rank == 1 && bytes > (uint64_t)MOST_BOX * sim_tensor_element_bytes(map->type))
        map->type = SIM_TENSOR_U64; /* no more elements fit */
    shape_box(map, bytes, row);
    uint64_t dense = sim_tensor_element_bytes(map->type);
    for (unsigned k = 0; k < map->rank; k++) {
        map->size[k] = map->im2col && k ? THIN : (uint32_t)map->box[k] * BOXES;
        map->step[k] = 1;
        dense *= map->size[k];
        if (k + 1u < map->rank)
            map->stride[k] = dense;
    }
    for (unsigned k = 0; map->im2col && k < map->rank; k++)
        map->box[k] = 0;
}

static const char *const types[SIM_TENSOR_TYPES] = {
    [SIM_TENSOR_U8] = "u8",     [SIM_TENSOR_U32] = "u32", [SIM_TENSOR_U64] = "u64", [SIM_TENSOR_F16] = "f16",
    [SIM_TENSOR_BF16] = "bf16", [SIM_TENSOR_F32] = "f32", [SIM_TENSOR_F64] = "f64"};

const char *auto_mapped_type(const AutoSearch *search) { return types[element_type(search, &(PtxInsn){0})]; }

static uint32_t add_tensor(const AutoAttempt *attempt, Plan *plan, const char *name,
                           const SimTensorMap *map) {
    PlanTensor tensor = {.name = name, .buffer = plan->buffers.n, .map = *map};
    const char *type = types[map->type];
    unsigned long long seed = (attempt->seed >> 32) + plan->buffers.n;
    PlanBuffer elements = {
        .name = arena_printf(&plan->arena, "%s.elements", name),
        .type = scalar_find(type, strlen(type)),
        .count = 1,
        .init = arena_printf(&plan->arena, strpbrk(type, "f") ? "random:%llu:-1:1" : "random:%llu", seed)};
    for (unsigned k = 0; k < map->rank; k++)
        elements.count *= map->size[k];
    VEC_ADD(&plan->arena, &plan->buffers, elements);
    VEC_ADD(&plan->arena, &plan->tensors, tensor);
    return plan->tensors.n;
}

/* Does the kernel put maps of its own there? */
static bool holds_maps(const AutoSearch *search, uint32_t param) {
    bool holds = false;
    for (uint32_t i = 0; i < search->flow.nslots; i++) {
        const AutoSlot *slot = &search->flow.slots[i];
        holds |= !slot->parent && !slot->variable && slot->param == param && slot->holds_maps;
    }
    return holds;
}

/* The plan's tensor of an earlier copy by the same map. */
static uint32_t same_map(const AutoSearch *search, uint32_t copy, const uint32_t *of_copy) {
    const AutoCopy *own = &search->flow.copies[copy];
    for (uint32_t i = 0; i < copy; i++)
        if (search->flow.copies[i].param == own->param &&
            search->flow.copies[i].offset_bytes == own->offset_bytes)
            return of_copy[i];
    return 0;
}

void auto_add_tensors(const AutoSearch *search, const AutoAttempt *attempt, Plan *plan, unsigned number,
                      uint32_t *of_copy) {
    for (uint32_t i = 0; i < search->flow.ncopies; i++) {
        const AutoCopy *copy = &search->flow.copies[i];
        uint64_t bytes = box_bytes(search, attempt, copy->func, (uint32_t)(copy->insn - copy->func->insns));
        of_copy[i] = same_map(search, i, of_copy);
        if (of_copy[i] || holds_maps(search, copy->param) || bytes < LEAST_ROW ||
            bytes > MOST_BYTES / (BOXES * BOXES))
            continue;
        SimTensorMap map;
        const OtherBoxes *boxes = &other_boxes[attempt->boxes];
        unsigned shorter = is_load(copy->insn) ? boxes->part : boxes->stored_row;
        describe_map(search, copy->insn, bytes, ROW_BYTES >> shorter, &map);
        const char *name = copy->offset_bytes
                               ? arena_printf(&plan->arena, "%s.%u.%u.%u", search->name, number, copy->param,
                                              copy->offset_bytes)
                               : arena_printf(&plan->arena, "%s.%u.%u", search->name, number, copy->param);
        of_copy[i] = add_tensor(attempt, plan, name, &map);
    }
}

bool auto_whole_tensor(const AutoSearch *search, uint32_t param, const uint32_t *of_copy, PlanArg *arg) {
    uint64_t size = search->m->vars[search->f->params[param]].size_bytes;
    bool whole = size == sizeof(uint64_t) || size == SIM_TENSOR_BYTES;
    for (uint32_t i = 0; whole && i < search->flow.ncopies; i++)
        if (search->flow.copies[i].param == param && of_copy[i]) {
            *arg = (PlanArg){.is_tensor = true, .buffer = of_copy[i] - 1};
            return true;
        }
    return false;
}

void auto_put_tensors(const AutoSearch *search, uint32_t param, Plan *plan, const uint32_t *of_copy,
                      PlanArg *whole) {
    for (uint32_t i = 0; i < search->flow.ncopies; i++) {
        const AutoCopy *copy = &search->flow.copies[i];
        if (copy->param == param && of_copy[i])
            auto_add_part(plan, whole, copy->offset_bytes,
                          (PlanArg){.is_tensor = true, .buffer = of_copy[i] - 1});
    }
}
