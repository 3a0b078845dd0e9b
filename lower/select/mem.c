/* Selection of loads, stores and addresses: PTX ISA 9.7.9, except atomics (lower/select/atom.c).
 *
 * .global and generic addresses are 64 bits; .shared, .local and .const ones are offsets in their space, of
 * which the low 32 bits count. Kernel parameters are in constant bank 0, .const variables in bank 3.
 * Parameters of functions and of calls are SSA variables, one for each 32-bit word.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"
#include "frontend/param_layout.h"
#include "frontend/texture.h"
#include "isa/machine/windows.h"

enum { OFFSET_LIMIT = 1 << 23, MOST_BYTES = 16 /* of one access */, MOST_CONST_BYTES = 8 };

static bool is_kernel_param(const Sel *sel, uint32_t var) {
    for (uint32_t k = 0; sel->f->is_entry && k < sel->pf->nparams; k++)
        if (sel->pf->params[k] == var)
            return true;
    return false;
}

static const PtxVar *symbol_var(const Sel *sel, const PtxOperand *operand, uint32_t *index) {
    if (!operand->sym || (operand->sym & PTX_SYM_FUNC))
        return NULL;
    *index = operand->sym - 1;
    return &sel->ptx->vars[operand->sym - 1];
}

static uint32_t param_bank_offset(const Sel *sel, const PtxVar *var, int64_t addend) {
    uint32_t base = sel->ti->param_base_bytes;
    return base + (uint32_t)((int64_t)ptx_param_offset(sel->ptx, sel->pf, var, base) + addend);
}

/* ---- addresses of symbols ---- */

static Wide frame_address(Sel *s, uint32_t offset) {
    return wide2(EMIT_R(s, IR_FRAME_ADDR, 0, op_imm(offset)), op_imm(0));
}

Wide sel_linked_address(Sel *sel, StrId name, int64_t offset) {
    Operand lo = EMIT_R(sel, OT_MOV, 0, ir_sym(sel->f, name, offset, RELOC_ABS32_LO));
    return wide2(lo, EMIT_R(sel, OT_MOV, 0, ir_sym(sel->f, name, offset, RELOC_ABS32_HI)));
}

Wide sel_function_address(Sel *sel, uint32_t index, int64_t offset) {
    const PtxFunc *pf = &sel->ptx->funcs[index];
    if (pf->alias_of)
        pf = &sel->ptx->funcs[pf->alias_of - 1];
    if (!pf->has_body && !lower_is_open(sel->l, sel->ptx, pf)) {
        sel_error(sel, "the address of a function without a body here is not compiled");
        return wide2(op_imm(0), op_imm(0));
    }
    return sel_linked_address(sel, lower_name(sel->l, sel->ptx, pf->name), offset);
}

/* Where there are clusters, an address of shared memory has the block's rank from bit 24 on, as in
 * ptxas 13.0's code: other blocks may be told the address, or the window that generic addresses are in. */
static Operand rank_bits(Sel *sel) {
    int n = isa_sreg_number(sel->t, "cgactaid");
    Operand rank = EMIT_R(sel, OT_S2R, 0, ((Operand){.kind = OPK_SREG, .value = (uint32_t)n}));
    return sel_shl(sel, rank, op_imm(SEL_RANK_LOW_BIT));
}

Operand sel_own_shared(Sel *sel, Operand place) {
    return sel_has_ranks(sel) ? sel_iadd(sel, rank_bits(sel), place) : place;
}

/* Variables of one section of another size in each program: where it begins, and what the linker adds. */
static Wide placed_by_linker(Sel *sel, uint32_t index, int64_t offset, RelocKind kind) {
    StrId name = sel->l->places[index].name;
    Operand at = EMIT_R(sel, OT_MOV, 0, ir_sym(sel->f, name, 0, kind));
    uint32_t base = kind == RELOC_SHARED_OFFSET32 ? sel->ti->shared_base_bytes : 0;
    uint32_t add = base + (uint32_t)offset;
    return wide2(add ? sel_iadd(sel, at, op_imm(add)) : at, op_imm(0));
}

/* Without the block's rank. */
static Wide shared_place(Sel *sel, uint32_t index, int64_t offset) {
    if (sel->m->relocatable)
        return placed_by_linker(sel, index, offset, RELOC_SHARED_OFFSET32);
    uint64_t at =
        sel->ti->shared_base_bytes + ptx_shared_offset(&sel->l->shared, sel->l->fns.at[sel->fn].index, index);
    return wide2(op_imm((uint32_t)(at + (uint64_t)offset)), op_imm(0));
}

Wide sel_symbol_address(Sel *sel, const PtxOperand *operand, bool generic) {
    uint32_t index = 0;
    const PtxVar *var = symbol_var(sel, operand, &index);
    Wide none = wide2(op_imm(0), op_imm(0));
    (void)generic;
    if (!var)
        return sel_function_address(sel, (operand->sym & ~PTX_SYM_FUNC) - 1, operand->imm);
    if (ptx_is_texture(var) || ptx_is_behind(var))
        return sel_named_handle(sel, operand);
    switch (var->space) {
    case SP_GLOBAL: return sel_linked_address(sel, sel->l->places[index].name, operand->imm);
    case SP_SHARED: {
        Wide place = shared_place(sel, index, operand->imm);
        place.w[0] = sel_own_shared(sel, place.w[0]);
        return place;
    }
    case SP_CONST:
        if (sel->m->relocatable)
            return placed_by_linker(sel, index, operand->imm, RELOC_CONST_OFFSET32);
        return wide2(op_imm((uint32_t)(sel->l->places[index].offset + (uint64_t)operand->imm)), op_imm(0));
    case SP_LOCAL:
        if (sel->frame_offset[index])
            return frame_address(sel, sel->frame_offset[index] - 1 + (uint32_t)operand->imm);
        break;
    case SP_PARAM:
        if (is_kernel_param(sel, index))
            return wide2(op_imm(param_bank_offset(sel, var, operand->imm)), op_imm(0));
        if (sel->frame_offset[index])
            return frame_address(sel, sel->frame_offset[index] - 1 + (uint32_t)operand->imm);
        sel_error(sel, "the address of a function's result is not compiled");
        return none;
    default: break;
    }
    sel_error(sel, "the address of a variable in this state space is not compiled");
    return none;
}

/* ---- memory operands ---- */

static bool fits(int64_t offset) { return offset >= -OFFSET_LIMIT && offset < OFFSET_LIMIT; }

/* The low word of an address register, which may be narrower. */
static Operand address_word(Sel *sel, const PtxOperand *operand) {
    return sel_extend(sel, sel_read_reg(sel, operand->reg, 0), sel_reg_bytes(sel, operand), false);
}

static bool address32(Sel *sel, const PtxOperand *operand, Address *address) {
    int64_t offset = operand->imm;
    uint32_t index = 0;
    const PtxVar *v = symbol_var(sel, operand, &index);
    address->base = op_none();
    if (operand->reg)
        address->base = address_word(sel, operand);
    else if (v) {
        bool ranked = v->space == SP_SHARED && sel_has_ranks(sel) && !sel->m->relocatable;
        Wide w = ranked ? shared_place(sel, index, offset) : sel_symbol_address(sel, operand, false);
        offset = 0;
        if (w.w[0].kind == OPK_IMM)
            offset = w.w[0].value;
        else
            address->base = w.w[0];
        if (ranked)
            address->base = rank_bits(sel);
    }
    if (sel->reported)
        return false;
    if (!fits(offset)) {
        address->base = address->base.kind == OPK_NONE
                            ? sel_value(sel, op_imm((uint32_t)offset))
                            : sel_iadd(sel, address->base, op_imm((uint32_t)offset));
        offset = 0;
    }
    address->offset = (int32_t)offset;
    return true;
}

static bool address64(Sel *sel, const PtxOperand *operand, Address *address) {
    int64_t offset = operand->imm;
    Wide w;
    if (operand->reg) {
        bool wide = ptx_type_bytes(sel->pf->regs[operand->reg].type) == 8;
        Operand low = address_word(sel, operand);
        w = wide2(low, wide ? sel_read_reg(sel, operand->reg, 1) : op_imm(0));
    } else if (operand->sym) {
        w = sel_symbol_address(sel, operand, false);
        offset = 0;
    } else {
        w = sel_imm64((uint64_t)offset);
        offset = 0;
    }
    if (sel->reported)
        return false;
    if (!fits(offset)) {
        w = sel_add64(sel, w, sel_imm64((uint64_t)offset));
        offset = 0;
    }
    address->base = op_with(sel_pair(sel, w.w[0], w.w[1]), OPM_WIDE64);
    address->offset = (int32_t)offset;
    address->wide64 = true;
    return true;
}

/* An address in a cluster's shared memory is one in the generic window; a machine without clusters has those
 * of one block. */
static bool cluster_address(Sel *sel, const PtxOperand *operand, Address *address) {
    address->space = sel_has_ranks(sel) ? SP_NONE : SP_SHARED;
    if (!address32(sel, operand, address) || !sel_has_ranks(sel))
        return !sel->reported;
    Operand low = address->base.kind == OPK_NONE ? op_imm(0) : address->base;
    int n = isa_sreg_number(sel->t, "swinhi");
    Operand high = EMIT_R(sel, OT_S2R, 0, ((Operand){.kind = OPK_SREG, .value = (uint32_t)n}));
    address->base = op_with(sel_pair(sel, low, high), OPM_WIDE64);
    address->wide64 = true;
    return true;
}

bool sel_address(Sel *s, const PtxInsn *in, const PtxOperand *operand, PtxSpace space, Address *a) {
    uint32_t index = 0;
    const PtxVar *var = symbol_var(s, operand, &index);
    (void)in;
    if (operand->nvec)
        return sel_error(s, "this kind of address is not compiled");
    if (space == SP_NONE && var && !operand->reg) /* a generic access to a symbol is one to its space */
        space = var->space;
    *a = (Address){.space = space};
    switch (space) {
    case SP_GLOBAL:
    case SP_NONE: return address64(s, operand, a);
    case SP_SHARED:
    case SP_LOCAL:
    case SP_CONST: return address32(s, operand, a);
    case SP_SHARED_CLUSTER: return cluster_address(s, operand, a);
    default: return sel_error(s, "this state space is not compiled here");
    }
}

uint32_t sel_mem_size(PtxType t, bool *ok) {
    *ok = true;
    switch (ptx_type_bytes(t)) {
    case 1: return type_signed(t) ? MemSz_S8 : MemSz_U8;
    case 2: return type_signed(t) ? MemSz_S16 : MemSz_U16;
    case 4: return MemSz_32;
    case 8: return MemSz_64;
    case 16: return MemSz_128;
    default: *ok = false; return 0;
    }
}

unsigned sel_mem_order(const PtxInsn *in) {
    switch (in->sem) {
    case SEM_VOLATILE: return MemOrder_STRONG_SYS;
    case SEM_MMIO: return MemOrder_MMIO_SYS;
    case SEM_NC: return MemOrder_CONSTANT;
    case SEM_RELAXED:
    case SEM_ACQUIRE:
    case SEM_RELEASE:
    case SEM_ACQ_REL:
    case SEM_SC:
        return in->scope == SCOPE_CTA   ? MemOrder_STRONG_SM
               : in->scope == SCOPE_SYS ? MemOrder_STRONG_SYS
                                        : MemOrder_STRONG_GPU;
    default: return in->cop == COP_CV ? MemOrder_STRONG_SYS : MemOrder_WEAK;
    }
}

static bool observing(const PtxInsn *in) {
    return in->sem == SEM_VOLATILE || in->sem == SEM_RELAXED || in->sem == SEM_ACQUIRE || in->sem == SEM_MMIO;
}

/* What PTX orders or calls volatile is no part of a wider access. */
static void keep_alone(Sel *sel, const PtxInsn *in) {
    unsigned order = sel_mem_order(in);
    if (order != MemOrder_WEAK && order != MemOrder_CONSTANT)
        ir_inst(sel->f, sel_last(sel))->flags |= IF_ALONE;
}

static unsigned evict_of(const PtxInsn *in) {
    return in->cop == COP_CS ? Evict_EF : in->cop == COP_LU ? Evict_LU : Evict_NORMAL;
}

/* ---- loads ---- */

static unsigned bytes_to_size(unsigned bytes) {
    return bytes == 1   ? MemSz_U8
           : bytes == 2 ? MemSz_U16
           : bytes == 4 ? MemSz_32
           : bytes == 8 ? MemSz_64
                        : MemSz_128;
}

static Operand guard_load(Sel *sel, Operand value) {
    InstId id = sel_last(sel);
    if (sel->guard.kind == OPK_NONE)
        return value;
    /* lanes without the guard keep anything: the copies into the registers are guarded too */
    ValId old[4];
    for (unsigned c = 0; c < value.count; c++) {
        InstId u = ir_inst_new(sel->f, IR_UNDEF, 1, 0);
        old[c] = ir_value_new(sel->f, RF_R);
        ir_set_dst(sel->f, u, 0, ir_val(sel->f, old[c]));
        ir_inst(sel->f, u)->loc = sel->loc;
        ir_insert(sel->f, sel->cur, ir_block(sel->f, sel->cur)->insts.n - 1, u);
    }
    ir_set_guard(sel->f, id, sel->guard);
    *ir_tied(sel->f, ir_inst(sel->f, id), 0) = ir_vec(sel->f, old, value.count);
    return value;
}

static Operand emit_load(Sel *sel, const PtxInsn *in, const Address *address, unsigned size, unsigned words) {
    Operand off = op_imm((uint32_t)address->offset), none = op_none(), d;
    unsigned order = sel_mem_order(in), evict = evict_of(in);
    Operand base = address->base;
    switch (address->space) {
    case SP_GLOBAL:
        d = sel_emit_dst(sel, OT_LDG,
                         MSET(LDG, sz, size) | MSET(LDG, e, MemAddr_E) | MSET(LDG, order, order) |
                             MSET(LDG, evict, evict),
                         0, RF_R, words, 3, (Operand[]){base, none, off});
        break;
    case SP_NONE:
        d = sel_emit_dst(sel, OT_LD,
                         MSET(LD, sz, size) | MSET(LD, e, MemAddr_E) | MSET(LD, order, order) |
                             MSET(LD, evict, evict),
                         0, RF_R, words, 3, (Operand[]){base, none, off});
        break;
    case SP_SHARED:
        d = sel_emit_dst(sel, OT_LDS, MSET(LDS, sz, size), 0, RF_R, words, 3, (Operand[]){base, none, off});
        break;
    case SP_LOCAL:
        d = sel_emit_dst(sel, OT_LDL, MSET(LDL, sz, size), 0, RF_R, words, 3, (Operand[]){base, none, off});
        break;
    default: { /* SP_CONST: the offset is the operand's, but LDC extends its sign */
        if (address->offset < 0 || address->offset >= CONST_BANK_BYTES / 2) {
            base = base.kind == OPK_NONE ? sel_value(sel, off) : sel_iadd(sel, base, off);
            off = op_imm(0);
        }
        d = sel_emit_dst(sel, OT_LDC, MSET(LDC, sz, size), 0, RF_R, words, 2,
                         (Operand[]){base, op_cmem(CONST_BANK_VARS, off.value)});
        break;
    }
    }
    if (observing(in))
        ir_inst(sel->f, sel_last(sel))->flags |= IF_OBSERVING | IF_SIDE_EFFECT;
    keep_alone(sel, in);
    return d;
}

Operand sel_load_words(Sel *sel, const PtxInsn *in, const Address *address, unsigned bytes) {
    return emit_load(sel, in, address, bytes_to_size(bytes), bytes > 4 ? bytes / 4 : 1);
}

static unsigned num_elements(const PtxInsn *in) { return in->vec > 1 ? in->vec : 1; }

/* Element k of a loaded vector to its destination. */
static void write_element(Sel *s, const PtxInsn *in, const PtxOperand *dst, unsigned k,
                          const Operand *words) {
    PtxType t = sel_type(in);
    unsigned eb = ptx_type_bytes(t), n = num_elements(in);
    Wide v = {.n = eb > 4 ? eb / 4 : 1};
    if (eb >= 4) {
        for (unsigned c = 0; c < v.n; c++)
            v.w[c] = words[k * v.n + c];
        sel_write(s, dst, t, v);
        return;
    }
    unsigned at = k * eb;
    v.w[0] = words[at / 4];
    if (at % 4)
        v.w[0] = sel_shr(s, false, v.w[0], op_imm(8 * (at % 4)));
    /* a scalar load has extended the value already */
    sel_write(s, dst, n > 1 ? t : type_signed(t) ? TY_S32 : TY_U32, v);
}

static bool write_loaded(Sel *s, const PtxInsn *in, const Operand *words) {
    const PtxOperand *operand = &in->operands[0];
    if (num_elements(in) == 1 && operand->kind != PO_VEC) {
        write_element(s, in, operand, 0, words);
        return true;
    }
    for (unsigned k = 0; k < operand->nvec; k++)
        write_element(s, in, &operand->vec[k], k, words);
    return true;
}

Address sel_address_behind(Sel *sel, const Address *address, unsigned bytes) {
    Address behind = *address;
    if (fits((int64_t)address->offset + bytes) || address->space == SP_CONST) {
        behind.offset += (int32_t)bytes;
        return behind;
    }
    Operand pair = address->base; /* of global memory, so of 64 bits */
    pair.mods = 0;
    Wide at = sel_add64(sel, sel_wide_pair(sel, pair), sel_imm64(bytes));
    behind.base = op_with(sel_pair(sel, at.w[0], at.w[1]), OPM_WIDE64);
    return behind;
}

/* Wider loads are several: the elements of a vector are read in no order. An H100 takes LDC of 128 bits for
 * an illegal instruction, and ptxas has none. */
static unsigned most_of_a_load(unsigned space) { return space == SP_CONST ? MOST_CONST_BYTES : MOST_BYTES; }

static bool load_pieces(Sel *sel, const PtxInsn *in, const Address *first, unsigned total) {
    unsigned most = most_of_a_load(first->space), words = most / 4;
    Operand w[2 * MOST_BYTES / 4];
    Address at = *first;
    for (unsigned k = 0; k < total / most; k++) {
        if (k)
            at = sel_address_behind(sel, &at, most);
        Operand d = guard_load(sel, emit_load(sel, in, &at, bytes_to_size(most), words));
        for (unsigned c = 0; c < words; c++)
            w[words * k + c] = sel_part(sel, d, c);
    }
    return write_loaded(sel, in, w);
}

static bool load(Sel *s, const PtxInsn *in, Address *a) {
    unsigned total = ptx_type_bytes(sel_type(in)) * num_elements(in);
    bool ok;
    if (total > most_of_a_load(a->space))
        return load_pieces(s, in, a, total);
    unsigned size = num_elements(in) > 1 ? bytes_to_size(total) : sel_mem_size(sel_type(in), &ok);
    unsigned words = total <= 4 ? 1 : total / 4;
    Operand d = emit_load(s, in, a, size, words), w[4];
    bool simple = num_elements(in) == 1 && total >= 4 && in->operands[0].kind == PO_REG &&
                  sel_reg_bytes(s, &in->operands[0]) == total;
    if (!simple) /* otherwise sel_write guards the load itself */
        guard_load(s, d);
    for (unsigned c = 0; c < words; c++)
        w[c] = sel_part(s, d, c);
    return write_loaded(s, in, w);
}

/* ---- .param ---- */

/* A load of which a part lies behind the kernel's parameters: zeros are there (W0144), whatever the driver
 * leaves in the constant bank. `end`: of the parameters, in the bank. */
static void load_past_end(Sel *sel, uint32_t at, uint32_t end, unsigned size, unsigned words, Operand *w) {
    for (unsigned c = 0; c < words; c++, at += 4) {
        w[c] = op_rz();
        if (at >= end)
            continue;
        w[c] = sel_emit_dst(sel, OT_LDC, MSET(LDC, sz, words > 1 ? MemSz_32 : size), 0, RF_R, 1, 2,
                            (Operand[]){op_rz(), op_cmem(CONST_BANK_LAUNCH, at)});
        if (end - at < 4)
            w[c] = sel_value(sel, sel_and(sel, w[c], op_imm((1u << 8 * (end - at)) - 1)));
    }
}

static bool kernel_param_load(Sel *sel, const PtxInsn *in, const PtxOperand *operand, const PtxVar *v) {
    unsigned total = ptx_type_bytes(sel_type(in)) * num_elements(in);
    bool ok;
    Operand w[4], index = operand->reg ? sel_read_reg(sel, operand->reg, 0) : op_rz();
    uint32_t at = v ? param_bank_offset(sel, v, operand->imm) : (uint32_t)operand->imm;
    if (operand->reg && operand->imm) {
        index = sel_iadd(sel, index, op_imm((uint32_t)operand->imm));
        at = 0;
    }
    if (at >= CONST_BANK_BYTES)
        return sel_error(sel, "the parameter lies outside the constant bank");
    unsigned words = total <= 4 ? 1 : total / 4;
    uint32_t base = sel->ti->param_base_bytes,
             end = base + (uint32_t)ptx_param_bytes(sel->ptx, sel->pf, base);
    if (v && !operand->reg && at + total > end) {
        load_past_end(sel, at, end,
                      num_elements(in) > 1 ? bytes_to_size(total) : sel_mem_size(sel_type(in), &ok), words,
                      w);
        return write_loaded(sel, in, w);
    }
    if (!operand->reg && total >= 4 && sel->ti->has_alu_cmem) {
        for (unsigned c = 0; c < words; c++)
            w[c] = sel_mov(sel, op_cmem(CONST_BANK_LAUNCH, at + 4 * c));
        return write_loaded(sel, in, w);
    }
    unsigned size = num_elements(in) > 1 ? bytes_to_size(total) : sel_mem_size(sel_type(in), &ok),
             each = words;
    if (total > MOST_CONST_BYTES)
        size = MemSz_64, each = MOST_CONST_BYTES / 4;
    for (unsigned k = 0; k < words; k += each) {
        Operand d = sel_emit_dst(sel, OT_LDC, MSET(LDC, sz, size), 0, RF_R, each, 2,
                                 (Operand[]){index, op_cmem(CONST_BANK_LAUNCH, at + 4 * k)});
        for (unsigned c = 0; c < each; c++)
            w[k + c] = sel_part(sel, d, c);
    }
    return write_loaded(sel, in, w);
}

static Operand read_word(Sel *sel, uint32_t var) {
    return ir_val(sel->f, sel_ssa_read(&sel->ssa, var, sel->cur));
}

/* Bytes of a parameter that lives in SSA variables, as if loaded. */
static bool word_load(Sel *s, const PtxInsn *in, uint32_t first, uint32_t at) {
    PtxType t = sel_type(in);
    unsigned eb = ptx_type_bytes(t), n = num_elements(in);
    const PtxOperand *operand = &in->operands[0];
    for (unsigned k = 0; k < n; k++, at += eb) {
        const PtxOperand *dst = operand->kind == PO_VEC ? &operand->vec[k] : operand;
        Wide v = {.n = eb > 4 ? eb / 4 : 1};
        for (unsigned c = 0; c < v.n; c++)
            v.w[c] = read_word(s, first + at / 4 + c);
        if (eb < 4 && at % 4)
            v.w[0] = sel_shr(s, false, v.w[0], op_imm(8 * (at % 4)));
        sel_write(s, dst, t, v);
    }
    return true;
}

static bool word_store(Sel *s, const PtxInsn *in, uint32_t first, uint32_t at, uint64_t var_bytes) {
    PtxType t = sel_type(in);
    unsigned eb = ptx_type_bytes(t), n = num_elements(in);
    const PtxOperand *src = &in->operands[1];
    for (unsigned k = 0; k < n; k++, at += eb) {
        Wide v = sel_src(s, src->kind == PO_VEC ? &src->vec[k] : src, eb);
        if (eb < 4 && var_bytes > eb) { /* one field of a word */
            uint32_t mask = (eb == 1 ? 0xffu : 0xffffu) << 8 * (at % 4);
            Operand x = sel_shl(s, sel_value(s, v.w[0]), op_imm(8 * (at % 4)));
            Operand old = read_word(s, first + at / 4);
            enum { LUT_B_A_C = (LUT_B & LUT_A) | (~LUT_B & LUT_C) };
            v.w[0] = sel_lop(s, LUT_B_A_C, x, op_imm(mask), old);
        }
        for (unsigned c = 0; c < v.n; c++)
            sel_write_var(s, first + at / 4 + c, v.w[c]);
    }
    return true;
}

bool sel_param_access(Sel *sel, const PtxInsn *in, bool is_store) {
    const PtxOperand *operand = &in->operands[is_store ? 0 : 1];
    uint32_t index = 0;
    const PtxVar *var = symbol_var(sel, operand, &index);
    if (sel->f->is_entry && !is_store && (var ? is_kernel_param(sel, index) : in->space != SP_PARAM_FUNC))
        return kernel_param_load(sel, in, operand, var);
    if (!var || operand->reg)
        return sel_error(sel, "a computed address of a function's parameter is not compiled");
    uint32_t first = sel->param_var[index];
    unsigned eb = ptx_type_bytes(sel_type(in)), total = eb * num_elements(in);
    if (!first)
        return sel_error(sel, "this .param variable cannot be accessed here");
    if (operand->imm < 0 || (uint64_t)operand->imm + total > var->size_bytes ||
        operand->imm % (int64_t)(eb > 4 ? 4 : eb))
        return sel_error(sel, "the access is misaligned or outside the parameter");
    return is_store ? word_store(sel, in, first - 1, (uint32_t)operand->imm, var->size_bytes)
                    : word_load(sel, in, first - 1, (uint32_t)operand->imm);
}

/* Is it a parameter that lives in the frame, or an address that can only be of one? */
static bool in_frame(const Sel *sel, const PtxOperand *operand) {
    uint32_t index = 0;
    if (sel->f->is_entry)
        return false;
    return symbol_var(sel, operand, &index) ? sel->frame_offset[index] != 0
                                            : operand->reg && sel->frame_params;
}

/* ---- statements ---- */

bool isel_ld(Sel *s, const PtxInsn *in) {
    Address a;
    PtxSpace space = (PtxSpace)in->space;
    if ((space == SP_PARAM || space == SP_PARAM_FUNC) && in_frame(s, &in->operands[1]))
        space = SP_LOCAL;
    if (space == SP_PARAM || space == SP_PARAM_FUNC)
        return sel_param_access(s, in, false);
    if (space == SP_PARAM_ENTRY)
        return sel_error(s, "the kernel's parameters are read in the kernel only");
    if (!sel_address(s, in, &in->operands[1], space, &a) || !load(s, in, &a))
        return false;
    if (in->sem == SEM_ACQUIRE)
        sel_acquire(s, in, true);
    return true;
}

/* The words to store of `n` elements from `first` on. */
static void gather(Sel *s, const PtxInsn *in, unsigned first, unsigned n, Wide *wide) {
    const PtxOperand *src = &in->operands[1];
    unsigned eb = ptx_type_bytes(sel_type(in)), total = eb * n;
    *wide = (Wide){.n = total <= 4 ? 1 : total / 4};
    if (src->kind != PO_VEC) {
        *wide = sel_src(s, src, eb);
        return;
    }
    if (eb >= 4) {
        for (unsigned k = 0, w = 0; k < n; k++) {
            Wide e = sel_src(s, &src->vec[first + k], eb);
            for (unsigned c = 0; c < e.n; c++)
                wide->w[w++] = e.w[c];
        }
        return;
    }
    Operand e[8];
    for (unsigned k = 0; k < n; k++)
        e[k] = sel_value(s, sel_src(s, &src->vec[first + k], eb).w[0]);
    if (eb == 1) { /* bytes to halves */
        for (unsigned k = 0; 2 * k + 1 < n; k++)
            e[k] = sel_prmt(s, e[2 * k], op_imm(0x0040), e[2 * k + 1]);
        n /= 2;
    }
    for (unsigned k = 0; k < n; k += 2)
        wide->w[k / 2] = k + 1 < n ? sel_prmt(s, e[k], op_imm(0x5410), e[k + 1]) : e[k];
}

static InstId emit_store(Sel *s, const PtxInsn *in, const Address *address, unsigned size, Operand data) {
    unsigned order = sel_mem_order(in), evict = evict_of(in);
    Operand src[4] = {address->base, op_none(), op_imm((uint32_t)address->offset), data};
    InstId id;
    switch (address->space) {
    case SP_GLOBAL:
        id = sel_emit(s, OT_STG,
                      MSET(STG, sz, size) | MSET(STG, e, MemAddr_E) | MSET(STG, order, order) |
                          MSET(STG, evict, evict),
                      4, src);
        break;
    case SP_NONE:
        id = sel_emit(s, OT_ST,
                      MSET(ST, sz, size) | MSET(ST, e, MemAddr_E) | MSET(ST, order, order) |
                          MSET(ST, evict, evict),
                      4, src);
        break;
    case SP_SHARED: id = sel_emit(s, OT_STS, MSET(STS, sz, size), 4, src); break;
    default: id = sel_emit(s, OT_STL, MSET(STL, sz, size), 4, src); break;
    }
    keep_alone(s, in);
    return id;
}

void sel_store_words(Sel *sel, const PtxInsn *in, const Address *address, unsigned bytes, Operand data) {
    emit_store(sel, in, address, bytes_to_size(bytes), data);
}

bool isel_st(Sel *sel, const PtxInsn *in) {
    Address a;
    PtxSpace space = (PtxSpace)in->space;
    if (space == SP_PARAM || space == SP_PARAM_FUNC)
        return sel_param_access(sel, in, true);
    unsigned n = num_elements(in), total = ptx_type_bytes(sel_type(in)) * n;
    unsigned halves = total > MOST_BYTES ? 2 : 1; /* the elements are stored in no order */
    if (!sel_address(sel, in, &in->operands[0], space, &a))
        return false;
    if (a.space == SP_CONST)
        return sel_error(sel, "constants cannot be stored to");
    Wide v[2];
    for (unsigned half = 0; half < halves; half++)
        gather(sel, in, n / halves * half, n / halves, &v[half]);
    if (in->sem == SEM_RELEASE)
        sel_fence(sel, in, true);
    for (unsigned half = 0; half < halves; half++) {
        Address at = half ? sel_address_behind(sel, &a, MOST_BYTES) : a;
        bool zero = v[half].n == 1 && op_is_imm(v[half].w[0], 0);
        Operand data = zero ? op_rz() : sel_wide_vec(sel, v[half]);
        InstId id = emit_store(sel, in, &at, bytes_to_size(total / halves), data);
        if (sel->guard.kind != OPK_NONE)
            ir_set_guard(sel->f, id, sel->guard);
    }
    return true;
}

bool isel_multimem_st(Sel *sel, const PtxInsn *in) { return isel_st(sel, in); }

/* The machine has it of vectors of up to 16 bytes; its types of halves are by words. */
bool isel_multimem_ld_reduce(Sel *sel, const PtxInsn *in) {
    static const uint8_t halves[] = {[1] = AtomType_F16x2, [2] = AtomType_F16x4, [4] = AtomType_F16x8},
                         brains[] = {[1] = AtomType_BF16x2, [2] = AtomType_BF16x4, [4] = AtomType_BF16x8},
                         floats[] = {[1] = AtomType_F32, [2] = AtomType_F32x2, [4] = AtomType_F32x4};
    static const uint8_t ops[] = {
        [ATOM_ADD] = ReplicaOp_ADD, [ATOM_MIN] = ReplicaOp_MIN, [ATOM_MAX] = ReplicaOp_MAX,
        [ATOM_AND] = ReplicaOp_AND, [ATOM_OR] = ReplicaOp_OR,   [ATOM_XOR] = ReplicaOp_XOR};
    PtxType t = sel_type(in);
    unsigned words = ptx_type_bytes(t) * num_elements(in) / 4, type;
    Address a;
    if (!sel_address(sel, in, &in->operands[1], SP_GLOBAL, &a))
        return false;
    switch (t) {
    case TY_F16:
    case TY_F16X2: type = halves[words]; break;
    case TY_BF16:
    case TY_BF16X2: type = brains[words]; break;
    case TY_F32: type = floats[words]; break;
    case TY_F64: type = AtomType_F64; break;
    case TY_S32: type = AtomType_S32; break;
    case TY_S64: type = AtomType_S64; break;
    default: type = words == 2 ? AtomType_U64 : AtomType_U32;
    }
    unsigned op = in->sub == SUB_ACC_F32 ? ReplicaOp_F32ADD : ops[in->atom];
    Operand src[3] = {a.base, op_none(), op_imm((uint32_t)a.offset)}, w[4];
    Operand d =
        sel_emit_dst(sel, OT_LDGMC, MSET(LDGMC, e, MemAddr_E) | MSET(LDGMC, op, op) | MSET(LDGMC, type, type),
                     0, RF_R, words, 3, src);
    ir_inst(sel->f, sel_last(sel))->flags |= IF_MEMORY | IF_SIDE_EFFECT | IF_OBSERVING;
    for (unsigned k = 0; k < words; k++)
        w[k] = sel_part(sel, d, k);
    if (in->sem == SEM_ACQUIRE)
        sel_acquire(sel, in, false);
    return write_loaded(sel, in, w);
}

/* ---- cp.async ---- */

/* The first `bytes` bytes are read, the rest is zero. A word of which only some are wanted is read as a
 * whole: it is aligned, so that no access goes past its 4 bytes. */
static Operand read_part(Sel *sel, const PtxInsn *in, const Address *from, unsigned word, Operand bytes) {
    Operand wanted = sel_isetp(sel, false, ICmp_GT, bytes, op_imm(4 * word));
    Address a = *from;
    a.offset += (int32_t)(4 * word);
    Operand d = emit_load(sel, in, &a, MemSz_32, 1);
    sel->guard = wanted; /* the statement's own guard has become a branch */
    guard_load(sel, d);
    sel->guard = op_none();
    Operand left = sel_minmax(sel, true, true, sel_isub(sel, bytes, op_imm(4 * word)), op_imm(0));
    Operand bits = sel_shl(sel, sel_minmax(sel, true, false, left, op_imm(4)), op_imm(3));
    Operand mask = EMIT_R(sel, OT_BMSK, 0, op_rz(), bits);
    return sel_and(sel, sel_select(sel, wanted, d, op_rz()), mask);
}

/* The copy is done at once, which the program cannot tell from one that is done by the time it waits. */
bool isel_cp(Sel *s, const PtxInsn *in) {
    if (in->sub2 == SUB_COMMIT_GROUP || in->sub2 == SUB_WAIT_GROUP || in->sub2 == SUB_WAIT_ALL)
        return true;
    unsigned extra = in->flags & PF_CACHE_HINT ? 1 : 0;
    unsigned bytes = (unsigned)in->operands[2].imm;
    Address to, from;
    if (!sel_address(s, in, &in->operands[0], SP_SHARED, &to) ||
        !sel_address(s, in, &in->operands[1], SP_GLOBAL, &from))
        return false;
    Operand data;
    if (in->noperands > 3 + extra) {
        Operand w[4], size = ptx_has_ignore(s->pf, in)
                                 ? sel_select(s, sel_src_pred(s, &in->operands[3]), op_rz(), op_imm(bytes))
                                 : sel_value(s, sel_src32(s, &in->operands[3]));
        for (unsigned k = 0; k < bytes / 4; k++)
            w[k] = read_part(s, in, &from, k, size);
        data = sel_quad(s, w, bytes / 4);
    } else
        data = emit_load(s, in, &from, bytes_to_size(bytes), bytes / 4);
    emit_store(s, in, &to, bytes_to_size(bytes), data);
    return true;
}

/* ---- hints and fences ---- */

/* Prefetches, cache hints and profiler events have no effect that a program can see. */
bool isel_nothing(Sel *s, const PtxInsn *in) {
    (void)s;
    (void)in;
    return true;
}

/* A policy is a hint, which the loads and stores that name it do without. Its value is opaque to PTX: one
 * that the hardware takes, as ptxas 13.0 makes it for L2::evict_normal of everything. */
bool isel_createpolicy(Sel *sel, const PtxInsn *in) {
    sel_write(sel, &in->operands[0], sel_type(in), sel_imm64(0x16f0000000000000));
    return true;
}

/* Other addresses of the same memory: what is cached for them goes, too. */
bool isel_fence_alias(Sel *sel, const PtxInsn *in) {
    (void)in;
    sel_emit(sel, OT_MEMBAR, MSET(MEMBAR, scope, MembarScope_SYS) | MSET(MEMBAR, kind, MembarKind_SC), 0,
             NULL);
    sel_emit(sel, OT_CCTL, MSET(CCTL, op, CctlOp_IVALL), 0, NULL);
    return true;
}
