/* The flow of parameters through a kernel and the functions it calls: see auto_flow.h.
 *
 * From one label to the next a register has the value of its last definition there. Between such blocks there
 * is no order: what a register brings into one is the join of what it has at the ends of all that define it,
 * and at the branches out of them, found by going over the statements until nothing changes. `is` are the
 * slots whose value it is, sums included (the bases of an address); `from` all that it is computed from.
 * Variables in memory are cells of the same kind: one for each field that statements name by a constant
 * offset, as code without optimisation does whose registers are one variable on the stack, and one for what
 * is stored anywhere. Operations asked for by name are those of which a constant operand, or mixing bits,
 * tells something here that is no column. SPDX-License-Identifier: MIT */
#include "check/validate/search/auto_values.h"
#include "check/validate/cover/coverage.h"
#include "frontend/shared_layout.h"
#include "frontend/sregs.h"
#include "frontend/texture.h"
#include "sim/tensormap.h"

/* ---- slots and values ---- */

static bool is_kernel_param(const Flow *flow, uint32_t var, uint32_t *param) {
    for (uint32_t i = 0; i < flow->kernel->nparams; i++)
        if (flow->kernel->params[i] == var) {
            *param = i;
            return true;
        }
    return false;
}

static Val sreg_value(Flow *flow, const PtxOperand *operand) {
    bool axis = operand->sreg == SR_TID || operand->sreg == SR_CTAID;
    unsigned a = operand->component < 3 ? operand->component : 0;
    bool thread = axis || sreg_varies(operand) == SREG_VARIES_THREAD;
    uint32_t bit = 1u << (axis ? a : 0); /* a lane is one of a row's */
    flow->out->axes |= thread ? bit : 0;
    flow->out->reads_workspace |= operand->sreg == SR_ENVREG && sim_is_workspace_half(operand->component);
    if (operand->sreg == SR_CTAID)
        flow->out->block_axes |= bit;
    else if (thread)
        flow->out->thread_axes |= bit;
    if (operand->sreg == SR_NTID || operand->sreg == SR_NCTAID)
        flow->out->size_axes[operand->sreg == SR_NCTAID] |= 1u << a;
    return (Val){.step = 1,
                 .loaded = sreg_varies(operand) == SREG_VARIES_TIME,
                 .tid = (uint8_t)(thread ? bit : 0),
                 .names = (uint8_t)(operand->sreg == SR_CTAID    ? NAMES_CTAID + a
                                    : operand->sreg == SR_NTID   ? NAMES_NTID + a
                                    : operand->sreg == SR_NCTAID ? NAMES_NCTAID + a
                                    : operand->sreg == SR_TID    ? NAMES_TID + a
                                                                 : NAMES_NOTHING)};
}

static Val symbol_value(Flow *flow, const PtxOperand *operand) {
    uint32_t param, var = (operand->sym & ~PTX_SYM_FUNC) - 1;
    if (!operand->sym || operand->sym & PTX_SYM_FUNC)
        return (Val){0};
    const PtxVar *ptx_var = &flow->m->vars[var];
    flow->names_shared |= ptx_var->space == SP_SHARED;
    if (ptx_var->space == SP_SHARED && (ptx_var->unsized || !ptx_var->size_bytes))
        flow->out->dynamic_shared = true;
    return (Val){.var = var + 1,
                 .entry_param = is_kernel_param(flow, var, &param),
                 .placed = true,
                 .beside = operand->imm,
                 .offset = (uint32_t)operand->imm};
}

static const Val *reg_value(const Flow *flow, uint32_t func, uint32_t reg) {
    return flow->block_of[reg] == flow->block ? &flow->now[reg] : &flow->regs[func][reg];
}

static Val operand_value(Flow *w, uint32_t func, const PtxOperand *ptx_operand) {
    Val v = {0};
    switch (ptx_operand->kind) {
    case PO_REG: return *reg_value(w, func, ptx_operand->reg);
    case PO_SREG: return sreg_value(w, ptx_operand);
    case PO_SYM: return symbol_value(w, ptx_operand);
    case PO_IMM: return (Val){.beside = ptx_operand->imm};
    case PO_ADDR:
        v = ptx_operand->reg   ? *reg_value(w, func, ptx_operand->reg)
            : ptx_operand->sym ? symbol_value(w, ptx_operand)
                               : v;
        v.offset = ptx_operand->reg ? v.offset + (uint32_t)ptx_operand->imm : v.offset;
        v.beside += ptx_operand->reg ? ptx_operand->imm : 0;
        return v;
    case PO_VEC:
        v.step = 1;
        for (unsigned i = 0; i < ptx_operand->nvec; i++) {
            Val e = operand_value(w, func, &ptx_operand->vec[i]);
            v.number = i ? auto_number_of_either(v, e) : e.number;
            v.from |= e.from | e.is;
            v.tid |= e.tid;
            v.mixed |= e.mixed;
            v.loaded |= e.loaded;
            v.given |= e.given;
        }
        return v;
    default: return v;
    }
}

static void define_operand(Flow *flow, uint32_t func, const PtxOperand *operand, Val v) {
    if (operand->kind == PO_REG) {
        if (flow->piece_of[operand->reg] != flow->piece)
            VEC_ADD(flow->arena, &flow->defined, operand->reg);
        flow->piece_of[operand->reg] = flow->piece;
        bool changed = flow->changed;
        Val old = flow->guarded ? *reg_value(flow, func, operand->reg) : (Val){0};
        auto_join(flow, &old, v);
        flow->changed = changed; /* only what leaves the block matters */
        flow->now[operand->reg] = old;
        flow->block_of[operand->reg] = flow->block;
    }
    for (unsigned i = 0; operand->kind == PO_VEC && i < operand->nvec; i++)
        define_operand(flow, func, &operand->vec[i], v);
}

/* ---- memory ---- */

static bool is_float_type(PtxType type) { return ptx_type_class(type) == TC_FLOAT; }

/* From memory, through slots that point there. */
static Val load_through(Flow *flow, const PtxInsn *in, Val address, AutoSet bases) {
    PtxType type = (PtxType)in->type[0];
    Val v = auto_contents(flow, address, bases, ptx_type_bytes(type));
    if (ptx_type_class(type) == TC_FLOAT)
        auto_use(flow, v.is, AU_FLOAT, type);
    return v;
}

/* The operand that gets element i of a vector, or the only one. */
static const PtxOperand *element_operand(const PtxOperand *operand, unsigned i) {
    return operand->kind == PO_VEC ? &operand->vec[i] : operand;
}

/* Each element is a field of its own. */
static void load_elements(Flow *flow, uint32_t func, const PtxInsn *in, Val address, AutoSet bases,
                          Val also) {
    for (unsigned i = 0; i < (in->vec ? in->vec : 1u); i++) {
        Val v = load_through(flow, in, address, bases);
        v.tid |= also.tid;
        v.from |= also.from;
        define_operand(flow, func, element_operand(&in->operands[0], i), v);
        address.beside += ptx_type_bytes((PtxType)in->type[0]);
    }
}

static void flow_load(Flow *flow, uint32_t func, const PtxInsn *in) {
    const PtxOperand *o = &in->operands[in->ndst];
    Val a = operand_value(flow, func, o);
    unsigned bytes = ptx_type_bytes((PtxType)in->type[0]);
    uint32_t param;
    if (a.var && a.entry_param && is_kernel_param(flow, a.var - 1, &param)) {
        for (unsigned i = 0; i < (in->vec ? in->vec : 1u); i++) {
            const PtxOperand *d = element_operand(&in->operands[0], i);
            uint32_t s = auto_param_slot(flow, param, a.offset + i * bytes, bytes);
            AutoSet slot = s ? auto_set_of(s - 1) : 0;
            if (s && !a.placed && a.step % bytes == 0)
                flow->out->slots[s - 1].apart_bytes =
                    auto_common_divisor(flow->out->slots[s - 1].apart_bytes, a.step);
            define_operand(
                flow, func, d,
                (Val){.is = slot, .from = slot, .multiple = s, .times = s != 0, .step = !s, .given = true});
            if (ptx_type_class((PtxType)in->type[0]) == TC_FLOAT)
                auto_use(flow, slot, AU_FLOAT, (PtxType)in->type[0]);
        }
        return;
    }
    uint32_t constants = a.var ? auto_constants_slot(flow, a.var - 1) : 0;
    if (constants) {
        AutoSlot *slot = &flow->out->slots[constants - 1];
        slot->elem_bytes =
            (uint8_t)(!slot->elem_bytes || bytes < slot->elem_bytes ? bytes : slot->elem_bytes);
        load_elements(flow, func, in, a, auto_set_of(constants - 1), a);
        auto_use(flow, a.from, AU_INDEX, TY_NONE);
        return;
    }
    if (a.var) {
        for (unsigned i = 0; i < (in->vec ? in->vec : 1u); i++, a.offset += bytes) {
            const PtxOperand *d = element_operand(&in->operands[0], i);
            Val v = auto_beside_variable(flow, auto_get_cell(flow, a, bytes), a, bytes);
            v.loaded |= a.loaded || flow->m->vars[a.var - 1].space == SP_GLOBAL ||
                        flow->m->vars[a.var - 1].space == SP_CONST;
            v.given |= v.loaded;
            v.step = v.loaded && !v.is ? 1 : v.step;
            v.tid |= a.tid;
            v.from |= a.from;
            define_operand(flow, func, d, v);
        }
        auto_use(flow, a.from, AU_INDEX, TY_NONE);
        return;
    }
    load_elements(flow, func, in, a, auto_note_access(flow, a, bytes), (Val){0});
}

/* The floating-point type of what is stored, by the statement's type or by what made it; TY_NONE: it has
 * none. */
static PtxType stored_number(Flow *flow, uint32_t func, const PtxInsn *in) {
    PtxType type = (PtxType)in->type[0], number = operand_value(flow, func, &in->operands[1]).number;
    if (is_float_type(type))
        return type;
    return number && ptx_type_bytes(number) <= ptx_type_bytes(type) * (in->vec ? in->vec : 1u) ? number
                                                                                               : TY_NONE;
}

/* 0 of an integer type is one of any type: so compilers clear floating-point numbers. */
static bool stores_zeros(Flow *flow, uint32_t func, const PtxInsn *in) {
    unsigned n = in->vec ? in->vec : 1, i = 0;
    while (i < n && auto_is_zero(operand_value(flow, func, element_operand(&in->operands[1], i))))
        i++;
    return i == n;
}

static void flow_store(Flow *flow, uint32_t func, const PtxInsn *in) {
    Val a = operand_value(flow, func, &in->operands[0]);
    unsigned bytes = ptx_type_bytes((PtxType)in->type[0]);
    if (a.var) {
        for (unsigned i = 0; i < (in->vec ? in->vec : 1u); i++, a.offset += bytes)
            auto_put_cell(flow, a, bytes, operand_value(flow, func, element_operand(&in->operands[1], i)));
        auto_use(flow, a.from, AU_INDEX, TY_NONE);
    }
    if (!a.var || a.apart) {
        PtxType type = stored_number(flow, func, in);
        bool other = !type && !stores_zeros(flow, func, in);
        for (AutoSet bases = auto_note_access(flow, a, bytes); bases; bases &= bases - 1) {
            AutoSlot *slot = &flow->out->slots[auto_first(bases)];
            slot->stored = type ? type : slot->stored;
            slot->stored_other |= other;
        }
    }
}

static void flow_other(Flow *w, uint32_t func, const PtxInsn *in);

/* Fragments come from an address, go to one, or are multiplied. */
static void flow_wmma(Flow *flow, uint32_t func, const PtxInsn *in) {
    bool memory = in->operands[in->ndst].kind == PO_ADDR;
    (memory && in->ndst ? flow_load : memory ? flow_store : flow_other)(flow, func, in);
}

static void flow_atomic(Flow *flow, uint32_t func, const PtxInsn *in) {
    Val a = operand_value(flow, func, &in->operands[in->ndst]);
    unsigned bytes = ptx_type_bytes((PtxType)in->type[0]);
    Val v = a.var ? auto_beside_variable(flow, auto_get_cell(flow, a, bytes), a, bytes)
                  : auto_contents(flow, a, auto_note_access(flow, a, bytes), bytes);
    if (ptx_type_class((PtxType)in->type[0]) == TC_FLOAT)
        auto_use(flow, v.is, AU_FLOAT, (PtxType)in->type[0]);
    v.tid |= 1;
    if (in->atom == ATOM_CAS || in->atom == ATOM_EXCH) { /* bits that arithmetic has made are put there */
        const PtxOperand *put = &in->operands[in->ndst + 1u + (in->atom == ATOM_CAS)];
        PtxType number = operand_value(flow, func, put).number;
        if (number && ptx_type_bytes(number) == bytes)
            auto_use(flow, v.is, AU_FLOAT, number);
    }
    if (in->atom == ATOM_CAS && auto_is_zero(operand_value(flow, func, &in->operands[in->ndst + 1])))
        for (AutoSet s = v.is; s; s &= s - 1)
            flow->out->slots[auto_first(s)].free_lock = true;
    for (AutoSet s = in->atom == ATOM_ADD || in->atom == ATOM_INC ? v.is : 0; s; s &= s - 1)
        flow->out->slots[auto_first(s)].added_to = true;
    if (in->ndst)
        define_operand(flow, func, &in->operands[0], v);
}

/* ---- arithmetic ---- */

enum { NO_SOURCE = 0, SOURCE_A = 1, SOURCE_B = 2, SOURCE_C = 4 };

/* set.cmp.dtype.stype and cvt.dtype.atype read the second type. */
static PtxType source_type(const PtxInsn *in) {
    return (PtxType)in->type[(in->op == PTX_CVT || in->op == PTX_SET) && in->ntypes > 1];
}
static Val source_value(Flow *w, uint32_t func, const PtxInsn *in, unsigned source) {
    return operand_value(w, func, &in->operands[in->ndst + source]);
}

static bool mixes_bits(const PtxInsn *in) {
    return in->op == PTX_XOR || in->op == PTX_LOP3 || in->op == PTX_SHF;
}

/* The value of the result: that of the operands in `passes` (SOURCE_*, for sums that are addresses), computed
 * from all. */
static Val result_of(Flow *w, uint32_t func, const PtxInsn *in, unsigned passes) {
    Val out = {.step = 1};
    PtxType type = source_type(in);
    for (unsigned n = 0; in->ndst + n < in->noperands; n++) {
        Val v = source_value(w, func, in, n);
        out.from |= v.from | v.is;
        out.strides |= v.strides;
        out.tid |= v.tid;
        out.mixed |= v.mixed || (v.tid && mixes_bits(in));
        bool memory = in->operands[in->ndst + n].kind == PO_ADDR || ptx_asks_texture(in);
        out.loaded |= v.loaded || memory;
        out.given |= v.given || memory;
        if (passes >> n & 1) {
            out.is |= v.is;
            out.apart |= v.apart;
            out.summed |= v.summed;
            if (v.var && !out.var)
                out.var = v.var, out.entry_param = v.entry_param, out.offset = v.offset,
                out.placed = v.placed && in->noperands == in->ndst + 1u;
        }
        if (is_float_type(type))
            auto_use(w, v.is, AU_FLOAT, type);
    }
    out.number = is_float_type((PtxType)in->type[0]) ? (PtxType)in->type[0] : TY_NONE;
    return out;
}

static void define(Flow *w, uint32_t func, const PtxInsn *in, Val out) {
    for (unsigned i = 0; i < in->ndst; i++)
        define_operand(w, func, &in->operands[i], out);
}

static void hint_factor(Flow *w, uint32_t func, const PtxInsn *in) {
    const PtxOperand *factor = &in->operands[in->ndst + 1];
    if (factor->kind == PO_IMM)
        auto_hint_block(w, source_value(w, func, in, 0), (uint64_t)factor->imm);
}

/* ---- one function a word of column INFER (frontend/ptx_ops.def) ---- */

static void flow_other(Flow *w, uint32_t func, const PtxInsn *in) {
    define(w, func, in, result_of(w, func, in, NO_SOURCE));
}

/* The value of one of the first two operands; the others only change it. */
static void flow_either(Flow *w, uint32_t func, const PtxInsn *in) {
    Val out = result_of(w, func, in, SOURCE_A | SOURCE_B), a = source_value(w, func, in, 0),
        b = source_value(w, func, in, 1);
    if (in->op != PTX_OR)
        auto_beside_either(&out, a, b);
    out.number = out.number ? out.number : auto_number_of_either(a, b);
    out.apart |= auto_are_apart(a, b);
    define(w, func, in, out);
}

/* The value of the first operand: differences, and addresses that are rounded down. */
static void flow_first(Flow *w, uint32_t func, const PtxInsn *in) {
    Val out = result_of(w, func, in, SOURCE_A);
    if (in->op == PTX_SUB) {
        out.given &= is_float_type(source_type(in));
        auto_beside_sum(&out, source_value(w, func, in, 0),
                        auto_beside_product(source_value(w, func, in, 1), -1));
    }
    define(w, func, in, out);
}

/* A few bits of what memory holds are bounded by themselves: as an index they want nothing of it. */
static Val few_bits(const Flow *flow, Val v, bool few) {
    for (AutoSet s = few ? v.is | v.from : 0; s; s &= s - 1)
        if (flow->out->slots[auto_first(s)].parent) {
            v.is &= ~(s & -s);
            v.from &= ~(s & -s);
        }
    return v;
}

enum { FEW_BITS = 16 };
static void flow_mask(Flow *w, uint32_t func, const PtxInsn *in) {
    const PtxOperand *mask = &in->operands[in->ndst + 1];
    bool few = mask->kind == PO_IMM && mask->imm >= 0 && mask->imm >> FEW_BITS == 0;
    int64_t bits = ptx_type_bytes((PtxType)in->type[0]) == 4 ? (int32_t)mask->imm : mask->imm;
    uint64_t low = (uint64_t)(bits < 0 ? ~bits : bits); /* that are kept, or cleared */
    if (mask->kind == PO_IMM && (low & (low + 1)) == 0)
        auto_hint_unit(w, source_value(w, func, in, 0), low + 1);
    define(w, func, in, few_bits(w, result_of(w, func, in, SOURCE_A), few));
}

static bool is_one_value(Val v) {
    v.beside = 0;
    return auto_is_zero(v);
}

/* A field of bits: how many is the third operand. */
static void flow_bits(Flow *w, uint32_t func, const PtxInsn *in) {
    Val length = source_value(w, func, in, 2);
    bool few = is_one_value(length) && length.beside >= 0 && length.beside <= FEW_BITS &&
               ptx_type_class((PtxType)in->type[0]) != TC_SIGNED;
    define(w, func, in, few_bits(w, result_of(w, func, in, NO_SOURCE), few));
}

/* Bytes that a constant chooses from two words: one or two beside zeros are few bits. */
static void flow_bytes(Flow *w, uint32_t func, const PtxInsn *in) {
    enum { BYTES = 4, SIGN = 8 };
    Val chosen = source_value(w, func, in, 2);
    bool constant = is_one_value(chosen) && !in->sub, zero[2], few = constant;
    unsigned bits = 0;
    for (unsigned k = 0; k < 2; k++)
        zero[k] = auto_is_zero(source_value(w, func, in, k));
    for (unsigned k = 0; constant && k < BYTES; k++) {
        unsigned one = (unsigned)chosen.beside >> (4 * k) & 0xf;
        bits += zero[one / BYTES % 2] ? 0 : 8;
        few &= !(one & SIGN);
    }
    define(w, func, in, few_bits(w, result_of(w, func, in, NO_SOURCE), few && bits <= FEW_BITS));
}

static void flow_high(Flow *w, uint32_t func, const PtxInsn *in) {
    auto_hint_shift(w, func, in, source_value(w, func, in, 1));
    const PtxOperand *by = &in->operands[in->ndst + 1];
    int64_t width = 8 * (int64_t)ptx_type_bytes((PtxType)in->type[0]);
    if (by->kind == PO_IMM && by->imm > 0 && by->imm < width)
        auto_hint_unit(w, source_value(w, func, in, 0), 1ull << by->imm);
    bool few = by->kind == PO_IMM && by->imm + FEW_BITS >= width &&
               ptx_type_class((PtxType)in->type[0]) != TC_SIGNED;
    define(w, func, in, few_bits(w, result_of(w, func, in, NO_SOURCE), few));
}

static void keep_multiple(Val *out, Val of, uint64_t times) {
    if (of.multiple && times && of.times * times <= UINT16_MAX) {
        out->multiple = of.multiple;
        out->times = (uint32_t)(of.times * times);
    }
}

static void flow_move(Flow *w, uint32_t func, const PtxInsn *in) {
    Val out = result_of(w, func, in, SOURCE_A);
    out.names = source_value(w, func, in, 0).names;
    out.number = source_value(w, func, in, 0).number;
    if (in->noperands == in->ndst + 1u)
        auto_beside_sum(&out, source_value(w, func, in, 0), (Val){0});
    keep_multiple(&out, source_value(w, func, in, 0), in->noperands == in->ndst + 1u);
    define(w, func, in, out);
}

/* A number converted is no longer the slot's value: a loop bound may be used as a float as well. */
static void flow_convert(Flow *w, uint32_t func, const PtxInsn *in) {
    bool converts = is_float_type((PtxType)in->type[0]) != is_float_type(source_type(in));
    Val out = result_of(w, func, in, converts ? NO_SOURCE : SOURCE_A | SOURCE_B);
    out.names = source_value(w, func, in, 0).names;
    out.given &= !converts;
    if (!converts)
        auto_beside_sum(&out, source_value(w, func, in, 0), (Val){0});
    keep_multiple(&out, source_value(w, func, in, 0), !converts);
    define(w, func, in, out);
}

static void flow_generic(Flow *w, uint32_t func, const PtxInsn *in) {
    Val out = result_of(w, func, in, SOURCE_A);
    auto_use(w, out.is, AU_CVTA, TY_NONE);
    auto_beside_sum(&out, source_value(w, func, in, 0), (Val){0});
    define(w, func, in, out);
}

static void flow_add(Flow *w, uint32_t func, const PtxInsn *in) {
    Val out = result_of(w, func, in, SOURCE_A | SOURCE_B);
    unsigned base = source_value(w, func, in, 0).var ? 0 : 1;
    const PtxOperand *other = &in->operands[in->ndst + 1 - base];
    if (out.var && other->kind == PO_IMM) {
        out.offset += (uint32_t)other->imm;
        out.placed = source_value(w, func, in, base).placed;
    }
    Val a = source_value(w, func, in, 0), b = source_value(w, func, in, 1);
    out.summed |= a.is && b.is ? a.is | b.is : 0;
    out.given &= is_float_type(source_type(in));
    auto_hint_step(w, a, in->operands[in->ndst + 1].kind == PO_IMM ? in->operands[in->ndst + 1].imm : 0);
    auto_beside_sum(&out, a, b);
    auto_hint_sum(w, a, b);
    auto_hint_sum(w, b, a);
    define(w, func, in, out);
}

/* Products, of which `passes` says what else is a sum. */
static void define_product(Flow *w, uint32_t func, const PtxInsn *in, unsigned passes) {
    Val a = source_value(w, func, in, 0), b = source_value(w, func, in, 1),
        out = result_of(w, func, in, passes);
    out.strides |= (b.tid ? a.is : 0) | (a.tid ? b.is : 0);
    out.given &= is_float_type(source_type(in));
    hint_factor(w, func, in);
    auto_hint_multiplier(w, func, in, a, b);
    const PtxOperand *factor = &in->operands[in->ndst + 1];
    if (in->noperands == in->ndst + 2u && factor->kind == PO_IMM && factor->imm > 0)
        keep_multiple(&out, a, (uint64_t)factor->imm);
    out.row = factor->kind == PO_IMM ? auto_row_of(a, factor->imm) : 0;
    if (passes & SOURCE_C)
        auto_hint_sum(w, out, source_value(w, func, in, 2));
    Val product = b.is || b.step || b.from ? auto_beside_product(b, a.is || a.step || a.from ? 1 : a.beside)
                                           : auto_beside_product(a, b.beside);
    auto_beside_sum(&out, product, passes & SOURCE_C ? source_value(w, func, in, 2) : (Val){0});
    define(w, func, in, out);
}

static void flow_mad(Flow *w, uint32_t func, const PtxInsn *in) { define_product(w, func, in, SOURCE_C); }

static void flow_product(Flow *w, uint32_t func, const PtxInsn *in) {
    define_product(w, func, in, NO_SOURCE);
}

static void flow_shift(Flow *w, uint32_t func, const PtxInsn *in) {
    const PtxOperand *by = &in->operands[in->ndst + 1];
    if (by->kind == PO_IMM && by->imm >= 0 && by->imm < 11)
        auto_hint_block(w, source_value(w, func, in, 0), 1ull << by->imm);
    Val out = result_of(w, func, in, NO_SOURCE);
    if (in->op == PTX_SHL && by->kind == PO_IMM && by->imm >= 0 && by->imm < 16)
        out.row = auto_row_of(source_value(w, func, in, 0), 1 << by->imm);
    if (in->op == PTX_SHL && by->kind == PO_IMM && by->imm >= 0 && by->imm < 16)
        keep_multiple(&out, source_value(w, func, in, 0), 1ull << by->imm);
    if (in->op == PTX_SHL && by->kind == PO_IMM && by->imm >= 0 && by->imm < 16)
        auto_beside_sum(&out, auto_beside_product(source_value(w, func, in, 0), 1 << by->imm), (Val){0});
    define(w, func, in, out);
}

static void flow_divide(Flow *w, uint32_t func, const PtxInsn *in) {
    if (!is_float_type(source_type(in)))
        auto_use(w, source_value(w, func, in, 1).from, AU_DIVISOR, TY_NONE);
    const PtxOperand *by = &in->operands[in->ndst + 1];
    if (by->kind == PO_IMM && !is_float_type(source_type(in)))
        auto_hint_unit(w, source_value(w, func, in, 0), (uint64_t)by->imm);
    flow_other(w, func, in);
}

static void flow_compare(Flow *w, uint32_t func, const PtxInsn *in) {
    bool integers = in->noperands >= in->ndst + 2u && !is_float_type(source_type(in));
    for (unsigned side = 0; integers && side < 2; side++) {
        Val x = source_value(w, func, in, side), y = source_value(w, func, in, 1 - side);
        auto_use(w, x.is | x.from, y.tid && !y.mixed ? (uint32_t)AU_CMP_X * (y.tid & 7u) : AU_CMP, TY_NONE);
        const PtxOperand *with = &in->operands[in->ndst + 1 - side];
        bool equality = in->cmp == CMP_EQ || in->cmp == CMP_NE;
        if (with->kind == PO_IMM && equality) {
            auto_hint_size(w, x, (uint64_t)with->imm);
            auto_hint_equal(w, x, with->imm);
        }
        if (equality && side)
            auto_hint_twin(w, x, y);
        if (with->kind == PO_IMM)
            auto_hint_word(w, x, with->imm);
    }
    Val out = result_of(w, func, in, NO_SOURCE);
    out.given = false; /* whether, and no NaN */
    define(w, func, in, out);
}

static void flow_barrier(Flow *w, uint32_t func, const PtxInsn *in) {
    const PtxOperand *bytes = ptx_expected_bytes(w->m, in);
    if (bytes)
        auto_use(w, operand_value(w, func, bytes).is, AU_BYTES, TY_NONE);
    flow_other(w, func, in);
}

static void note_copy(Flow *w, uint32_t func, const PtxInsn *in) {
    AutoFlow *out = w->out;
    unsigned at = 0;
    uint32_t param = 0;
    while (!in->operands[at].nvec)
        at++;
    Val place = operand_value(w, func, &in->operands[at]);
    bool known = place.var && is_kernel_param(w, place.var - 1, &param) &&
                 (place.placed || w->m->vars[place.var - 1].size_bytes == SIM_TENSOR_BYTES);
    if (!known && place.is && !(place.is & (place.is - 1))) { /* in memory */
        const AutoSlot *slot = &out->slots[auto_first(place.is)];
        known = !slot->parent && !slot->variable &&
                w->m->vars[w->kernel->params[slot->param]].size_bytes == sizeof(uint64_t);
        param = slot->param;
    }
    for (uint32_t i = 0; i < out->ncopies; i++)
        known &= out->copies[i].insn != in;
    if (known && out->ncopies < AUTO_MAX_COPIES)
        out->copies[out->ncopies++] =
            (AutoCopy){&w->m->funcs[func], in, param, place.placed ? place.offset : 0};
}

/* cp.async: to the first address, from the second. */
static void flow_copy(Flow *w, uint32_t func, const PtxInsn *in) {
    if (ptx_copies_tensor(in)) {
        note_copy(w, func, in);
        return;
    }
    for (unsigned i = 0; i < 2 && i < in->noperands; i++) {
        Val a = operand_value(w, func, &in->operands[i]);
        if (!a.var)
            auto_note_access(w, a, 4);
    }
}

/* A map that the kernel makes itself, in memory that is none of the host's, of a tensor at an address. */
static void flow_tensormap(Flow *flow, uint32_t func, const PtxInsn *in) {
    for (unsigned i = 0; i < in->noperands && i < 2; i++) {
        Val v = operand_value(flow, func, &in->operands[i]);
        bool tensor = i == 1 && in->sub == SUB_GLOBAL_ADDRESS;
        bool known = v.var || (in->operands[i].kind != PO_ADDR && !tensor);
        for (AutoSet s = known ? 0 : auto_note_access(flow, v, 4); s; s &= s - 1)
            *(tensor ? &flow->out->slots[auto_first(s)].mapped
                     : &flow->out->slots[auto_first(s)].holds_maps) = true;
    }
}

static void flow_table(Flow *w, uint32_t func, const PtxInsn *in) {
    auto_use(w, operand_value(w, func, &in->operands[0]).from, AU_BRANCH, TY_NONE);
}

static void define_returned(Flow *flow, uint32_t func, const PtxOperand *operand, Val v) {
    if (operand->kind == PO_SYM && operand->sym && !(operand->sym & PTX_SYM_FUNC))
        auto_join(flow, &flow->cells[operand->sym - 1].anywhere, v);
    else
        define_operand(flow, func, operand, v);
}

static void flow_call(Flow *flow, uint32_t func, const PtxInsn *in) {
    if (!in->callee) {
        auto_use(flow, operand_value(flow, func, &in->operands[0]).from, AU_CALL, TY_NONE);
        for (unsigned i = 0; i < in->nrets; i++)
            define_returned(flow, func, &in->rets[i], (Val){.step = 1, .loaded = true, .given = true});
        return;
    }
    uint32_t callee = in->callee - 1;
    while (flow->m->funcs[callee].alias_of)
        callee = flow->m->funcs[callee].alias_of - 1;
    const PtxFunc *f = &flow->m->funcs[callee];
    if (!flow->funcs[callee]) {
        flow->funcs[callee] = 1;
        flow->changed = true;
    }
    for (unsigned i = 0; f->has_body && i < in->nargs && i < f->nparams; i++) {
        const PtxOperand *ptx_operand = &in->args[i];
        bool memory = ptx_operand->kind == PO_SYM && ptx_operand->sym && !(ptx_operand->sym & PTX_SYM_FUNC);
        uint32_t reg = f->param_regs ? f->param_regs[i] : 0;
        if (memory && !reg) {
            auto_copy_cell(flow, f->params[i], ptx_operand->sym - 1);
            continue;
        }
        Val v = memory ? auto_get_cell(flow, (Val){.var = ptx_operand->sym}, 0)
                       : operand_value(flow, func, ptx_operand);
        auto_join(flow, reg ? &flow->regs[callee][reg] : &flow->cells[f->params[i]].anywhere, v);
    }
    for (unsigned i = 0; i < in->nrets && i < f->nrets; i++) {
        uint32_t reg = f->ret_regs ? f->ret_regs[i] : 0;
        Val v = !f->has_body ? (Val){.step = 1, .loaded = true, .given = true}
                : reg        ? flow->regs[callee][reg] /* as at the ends of its blocks */
                             : auto_get_cell(flow, (Val){.var = f->rets[i] + 1}, 0);
        define_returned(flow, func, &in->rets[i], v);
    }
}

/* The block is left here, be it by a branch in its midst. */
static void end_piece(Flow *flow, uint32_t func) {
    for (uint32_t i = 0; i < flow->defined.n; i++)
        auto_join(flow, &flow->regs[func][flow->defined.at[i]], flow->now[flow->defined.at[i]]);
    flow->defined.n = 0;
    flow->piece++;
}

static void end_block(Flow *flow, uint32_t func) {
    end_piece(flow, func);
    flow->block++;
}

typedef void FlowFn(Flow *w, uint32_t func, const PtxInsn *in);
static FlowFn *const flows[PTX_OP_COUNT] = {
    flow_other,
#define INFER(fn) flow_##fn
#define PTX_OP(name, text, goes, defaults, rule, values, infer) [PTX_##name] = infer,
#include "frontend/ptx_ops.def"
};

/* Does no input of the kernel reach the statement's operands? Parameters that make addresses are none: they
 * have few values that lead to no trap. */
static bool is_fixed(const Flow *flow, uint32_t func, const PtxInsn *in) {
    const uint32_t bound = AU_INDEX | AU_ADDRESS | AU_BRANCH | AU_CALL | AU_BYTES;
    Val all = {0};
    for (unsigned i = 0; i < in->noperands + 1u; i++) {
        const PtxOperand guard = {.kind = PO_REG, .reg = in->guard_reg};
        if (i == in->noperands ? !in->guard_reg : i < in->ndst)
            continue;
        Val v = operand_value((Flow *)flow, func, i == in->noperands ? &guard : &in->operands[i]);
        all.from |= v.from | v.is;
        all.loaded |= v.loaded;
    }
    for (; all.from; all.from &= all.from - 1) {
        const AutoSlot *slot = &flow->out->slots[auto_first(all.from)];
        all.loaded |= slot->parent || !(slot->uses & bound);
    }
    return !all.loaded;
}

/* Are the floating-point operands numbers that integers became, and what arithmetic makes of those? They have
 * few NaNs and no subnormal values. */
static bool is_counted(Flow *flow, uint32_t func, const PtxInsn *in) {
    bool counted = is_float_type(source_type(in));
    for (unsigned i = in->ndst; i < in->noperands; i++)
        counted &= !operand_value(flow, func, &in->operands[i]).given;
    return counted;
}

static void do_function(Flow *flow, uint32_t func) {
    const PtxFunc *f = &flow->m->funcs[func];
    uint8_t *leader = flow->leaders[func];
    for (uint32_t i = 0; i < f->nlabels; i++)
        leader[f->labels[i].insn] = 1;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        if (leader[i])
            end_block(flow, func);
        flow->guarded = f->insns[i].guard_reg != 0;
        flow->out->fixed[func][i] = is_fixed(flow, func, &f->insns[i])     ? COVERAGE_FIXED
                                    : is_counted(flow, func, &f->insns[i]) ? COVERAGE_COUNTED
                                                                           : 0;
        if (f->insns[i].op == PTX_BRA && f->insns[i].guard_reg) {
            const Val *guard = reg_value(flow, func, f->insns[i].guard_reg);
            flow->out->steers[func][i] = guard->is | guard->from;
        }
        flow->uses_shared |= f->insns[i].space == SP_SHARED;
        flows[f->insns[i].op](flow, func, &f->insns[i]);
        if (f->insns[i].op == PTX_BRA || f->insns[i].op == PTX_BRX)
            end_piece(flow, func);
    }
    end_block(flow, func);
}

static void address_taken(Flow *flow) { /* with indirect calls anything may be called */
    for (uint32_t f = 0; f < flow->m->nfuncs; f++)
        for (uint32_t i = 0; flow->funcs[f] && i < flow->m->funcs[f].ninsns; i++) {
            const PtxInsn *in = &flow->m->funcs[f].insns[i];
            for (unsigned k = 0; in->op != PTX_CALL && k < in->noperands; k++)
                if (in->operands[k].kind == PO_SYM && in->operands[k].sym & PTX_SYM_FUNC) {
                    uint8_t *known = &flow->funcs[(in->operands[k].sym & ~PTX_SYM_FUNC) - 1];
                    flow->changed |= !*known;
                    *known = 1;
                }
        }
}

/* Parameters that the declaration says point into shared memory (OpenCL's __local) share the dynamic one. A
 * kernel that names no variable there means the dynamic one too: it has addresses from 0 on (Halide). */
static void divide_shared(Flow *flow) {
    AutoFlow *out = flow->out;
    for (uint32_t i = 0; i < out->nslots; i++) {
        AutoSlot *slot = &out->slots[i];
        const PtxVar *var = &flow->m->vars[flow->kernel->params[slot->param]];
        if (!slot->parent && !slot->variable && !slot->offset_bytes && var->is_pointer &&
            var->pointee_space == SP_SHARED)
            slot->shared_piece = ++out->shared_pieces;
    }
    out->numbered_shared = flow->uses_shared && !flow->names_shared;
    out->dynamic_shared |= out->shared_pieces != 0;
    if (!out->dynamic_shared)
        return;
    SharedLayout layout = ptx_shared_layout(flow->m, flow->arena);
    out->static_shared_bytes = (layout.funcs[flow->kernel - flow->m->funcs].static_bytes + 15) & ~15ull;
}

/* One pass over the kernel and what it calls, with what is known from earlier ones. */
static void flow_once(Flow *flow, uint32_t kernel) {
    const PtxModule *module = flow->m;
    Arena *arena = flow->arena;
    AutoFlow *out = flow->out;
    uint32_t most = 0;
    *out = (AutoFlow){0};
    *flow = (Flow){.m = module,
                   .kernel = flow->kernel,
                   .out = out,
                   .arena = arena,
                   .block = 1,
                   .piece = 1,
                   .known = flow->known,
                   .nknown = flow->nknown};
    flow->regs = ARENA_ARRAY(arena, Val *, module->nfuncs + 1);
    flow->cells = ARENA_ARRAY(arena, Cell, module->nvars + 1);
    flow->funcs = ARENA_ARRAY(arena, uint8_t, module->nfuncs + 1);
    flow->leaders = ARENA_ARRAY(arena, uint8_t *, module->nfuncs + 1);
    out->fixed = ARENA_ARRAY(arena, uint8_t *, module->nfuncs + 1);
    out->steers = ARENA_ARRAY(arena, AutoSet *, module->nfuncs + 1);
    for (uint32_t i = 0; i < module->nfuncs; i++) {
        flow->regs[i] = ARENA_ARRAY(arena, Val, module->funcs[i].nregs + 1);
        flow->leaders[i] = ARENA_ARRAY(arena, uint8_t, module->funcs[i].ninsns + 1);
        out->fixed[i] = ARENA_ARRAY(arena, uint8_t, module->funcs[i].ninsns + 1);
        out->steers[i] = ARENA_ARRAY(arena, AutoSet, module->funcs[i].ninsns + 1);
        most = module->funcs[i].nregs > most ? module->funcs[i].nregs : most;
    }
    flow->now = ARENA_ARRAY(arena, Val, most + 1);
    flow->block_of = ARENA_ARRAY(arena, uint32_t, most + 1);
    flow->piece_of = ARENA_ARRAY(arena, uint32_t, most + 1);
    out->funcs = flow->funcs;
    flow->funcs[kernel] = 1;
    for (bool again = true; again;) {
        flow->changed = false;
        for (uint32_t i = 0; i < out->nslots; i++) /* the last round knows all values */
            out->slots[i].stored = TY_NONE, out->slots[i].stored_other = false;
        for (uint32_t f = 0; f < module->nfuncs; f++)
            if (flow->funcs[f])
                do_function(flow, f);
        address_taken(flow);
        again = flow->changed;
    }
}

void auto_flow(const PtxModule *module, uint32_t kernel, Arena *arena, AutoFlow *out) {
    enum { PASSES = 5 };
    Flow flow = {.m = module, .kernel = &module->funcs[kernel], .out = out, .arena = arena};
    flow.known = ARENA_ARRAY(arena, AutoKnown, AUTO_MAX_KNOWN);
    flow_once(&flow, kernel);
    for (unsigned pass = 1; pass < PASSES && auto_learn(&flow); pass++) {
        bool room = !flow.full;
        flow_once(&flow, kernel);
        if (room && flow.full) { /* no records */
            flow.nknown = 0;
            flow_once(&flow, kernel);
            break;
        }
    }
    auto_finish_records(&flow);
    divide_shared(&flow);
}
