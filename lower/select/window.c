/* Selection of what goes from a space's addresses to generic ones and back (PTX ISA 9.7.9: cvta, isspacep,
 * mapa, getctarank). SPDX-License-Identifier: MIT */
#include "isa/machine/windows.h"
#include "lower/select/isel.h"

_Static_assert(SIM_WINDOW_BYTES == 1ull << SEL_RANK_LOW_BIT, "ranks stand above offsets");

/* Where the generic addresses of a space begin: a number, what the driver says in bank 0 (plus a number), or
 * a special register as the upper word. */
typedef struct {
    uint64_t number;
    uint32_t bank0_offset; /* 0: none */
    int upper;             /* special register, -1: none */
} Window;

static bool window_of(const Sel *sel, PtxSpace space, Window *out) {
    const TargetInfo *info = sel->ti;
    *out = (Window){.upper = -1};
    switch (space) {
    case SP_GLOBAL: return true;
    case SP_SHARED:
    case SP_SHARED_CLUSTER:
        out->upper = isa_sreg_number(sel->t, "swinhi");
        out->bank0_offset = info->shared_window_offset_bytes;
        out->number = out->bank0_offset || out->upper >= 0 ? 0 : SIM_SHARED_WINDOW;
        return true;
    case SP_LOCAL:
        out->bank0_offset = info->local_window_offset_bytes;
        out->number = out->bank0_offset ? 0 : SIM_LOCAL_WINDOW;
        return true;
    case SP_CONST:
        out->bank0_offset = info->const_window_offset_bytes;
        out->number = out->bank0_offset ? 0 : SIM_CONST_WINDOW;
        return true;
    case SP_PARAM: /* a parameter's address in its space is its offset in bank 0 */
        out->bank0_offset = info->param_window_offset_bytes;
        out->number = (out->bank0_offset ? 0 : SIM_PARAM_WINDOW) - info->param_window_origin_bytes;
        return sel->f->is_entry;
    default: return false;
    }
}

bool isel_cvta(Sel *sel, const PtxInsn *in) {
    Window window;
    unsigned bytes = ptx_type_bytes(sel_type(in));
    bool to = in->sub == SUB_TO;
    if (!window_of(sel, (PtxSpace)in->space, &window))
        return sel_error(sel, "only variables and kernel parameters have generic addresses here");
    Wide a = sel_src(sel, &in->operands[1], bytes);
    if (bytes != 8 && in->space != SP_GLOBAL)
        return sel_error(sel, "32-bit generic addresses are not compiled");
    if (window.upper >= 0) {
        Operand upper =
            EMIT_R(sel, OT_S2R, 0, ((Operand){.kind = OPK_SREG, .value = (uint32_t)window.upper}));
        a = wide2(a.w[0], to ? sel_isub(sel, a.w[1], upper) : sel_iadd(sel, a.w[1], upper));
    }
    if (window.bank0_offset) {
        Wide base = sel_launch_pair(sel, window.bank0_offset);
        a = to ? sel_sub64(sel, a, base) : sel_add64(sel, a, base);
    }
    if (window.number)
        a = sel_add64(sel, a, sel_imm64(to ? 0 - window.number : window.number));
    sel_write(sel, &in->operands[0], sel_type(in), a);
    return true;
}

static bool is_among(Sel *sel, const PtxInsn *in, Wide first, Operand bytes) {
    Wide at = sel_sub64(sel, sel_src(sel, &in->operands[1], 8), first);
    sel_write_pred(sel, &in->operands[0], sel_isetp64(sel, false, ICmp_LT, at, wide2(bytes, op_imm(0))));
    return true;
}

/* From the window's base on there are as many bytes as the module has constants: as with ptxas 13.0, for
 * which no instruction knows the window. */
static bool isspacep_const(Sel *sel, const PtxInsn *in) {
    Window window;
    window_of(sel, SP_CONST, &window);
    Wide first = window.bank0_offset ? sel_launch_pair(sel, window.bank0_offset) : sel_imm64(window.number);
    return is_among(sel, in, first, op_imm(sel->m->const_bytes));
}

/* What the driver says of the first byte of the kernel's parameters, and of the last. */
static bool isspacep_param(Sel *sel, const PtxInsn *in) {
    const TargetInfo *info = sel->ti;
    Wide first = sel_imm64(SIM_PARAM_WINDOW);
    if (info->param_window_offset_bytes)
        first = sel_add64(sel, sel_launch_pair(sel, info->param_window_offset_bytes),
                          sel_imm64(info->param_base_bytes - info->param_window_origin_bytes));
    Operand from = info->param_last_is_address ? first.w[0] : op_imm(info->param_base_bytes),
            bytes = sel_isub(sel, sel_launch_word(sel, info->param_last_offset_bytes), from);
    return is_among(sel, in, first, sel_iadd(sel, bytes, op_imm(1)));
}

bool isel_isspacep(Sel *s, const PtxInsn *in) {
    if (in->space == SP_CONST)
        return isspacep_const(s, in);
    if (in->space == SP_PARAM || in->space == SP_PARAM_ENTRY)
        return isspacep_param(s, in);
    bool of_block = in->space == SP_SHARED || (in->space == SP_SHARED_CLUSTER && !sel_has_ranks(s));
    unsigned q = of_block                         ? QspcSpace_S
                 : in->space == SP_SHARED_CLUSTER ? QspcSpace_D
                 : in->space == SP_LOCAL          ? QspcSpace_L
                                                  : QspcSpace_G;
    Wide a = sel_src(s, &in->operands[1], 8);
    Operand p =
        sel_emit_dst(s, OT_QSPC, MSET(QSPC, e, MemAddr_E) | MSET(QSPC, space, q), QSPC_pu, RF_P, 1, 3,
                     (Operand[]){op_with(sel_pair(s, a.w[0], a.w[1]), OPM_WIDE64), op_none(), op_imm(0)});
    sel_write_pred(s, &in->operands[0], p);
    return true;
}

bool sel_shared_address(Sel *sel, const PtxInsn *in, const PtxOperand *operand, Address *address) {
    Window window;
    if (!sel_address(sel, in, operand, SP_SHARED, address))
        return false;
    window_of(sel, SP_SHARED, &window);
    if (in->space == SP_NONE && operand->reg &&
        window.bank0_offset) /* the low word of the other windows is 0 */
        address->base = sel_isub(sel, address->base, sel_launch_word(sel, window.bank0_offset));
    return true;
}

/* The address with another block's rank, generic or not: the other bits are those of the window. */
bool isel_mapa(Sel *sel, const PtxInsn *in) {
    enum { LOW_BYTES_THEN_RANK = 0x0654 };
    Wide a = sel_src(sel, &in->operands[1], ptx_type_bytes(sel_type(in)));
    Operand rank = sel_value(sel, sel_src32(sel, &in->operands[2]));
    a.w[0] = sel_prmt(sel, rank, op_imm(LOW_BYTES_THEN_RANK), sel_value(sel, a.w[0]));
    sel_write(sel, &in->operands[0], sel_type(in), a);
    return true;
}

bool isel_getctarank(Sel *sel, const PtxInsn *in) {
    Wide a = sel_src(sel, &in->operands[1], ptx_type_bytes(sel_type(in)));
    sel_write32(sel, &in->operands[0], TY_U32, sel_shr(sel, false, a.w[0], op_imm(SEL_RANK_LOW_BIT)));
    return true;
}
