/* The pass `copies`: IR_COPY and IR_PARCOPY become machine instructions. A parallel copy is a graph in which
 * every register has one source: chains are emitted from their ends; what is left are cycles, broken with the
 * scratch register that colouring found (the sources behind those that are copied) or, without one, by
 * exchanging two registers with three XORs. Out: no pseudo operation but the frame's.
 * SPDX-License-Identifier: MIT */
#include "isa/machine/luts.h"
#include "regalloc/regalloc.h"
#include "ir/pass.h"
#include <string.h>

typedef struct {
    Function *f;
    Diags *d;
    InstIds *out;
    LocId loc;
    bool ok;
} Emit;

static Inst *emit(Emit *e, unsigned op) {
    InstId id = ir_inst_new(e->f, op, isa_num_dst(op), isa_num_src(op));
    ir_inst(e->f, id)->loc = e->loc;
    VEC_ADD(e->f->arena, e->out, id);
    return ir_inst(e->f, id);
}

static const char *kind_name(Operand o) {
    return o.kind == OPK_REG ? ra_file_name((RegFile)o.file) : o.kind == OPK_CMEM ? "c[][]" : "an immediate";
}

static bool no_copy(Emit *emit, Operand dst, Operand src) {
    emit->ok = diag(emit->d, (SrcLoc){0}, DIAG_E0785, str_text(emit->f->module->strings, emit->f->name),
                    kind_name(src), ra_file_name((RegFile)dst.file));
    return false;
}

static bool move_to_r(Emit *e, Operand dst, Operand src) {
    Function *f = e->f;
    bool is_reg = src.kind == OPK_REG;
    if (is_reg && src.file == RF_P) { /* !p ? 0 : 1 */
        Inst *i = emit(e, OT_SEL);
        *ir_dst(f, i, SEL_rd) = dst;
        *ir_src(f, i, SEL_ra) = op_rz();
        *ir_src(f, i, SEL_rb) = op_imm(1);
        src.mods ^= OPM_NOT;
        *ir_src(f, i, SEL_pp) = src;
        return true;
    }
    if (src.kind == OPK_CMEM && !isa_target_info(f->module->target)->has_alu_cmem) {
        Inst *i = emit(e, OT_LDC);
        *ir_dst(f, i, LDC_rd) = dst;
        *ir_src(f, i, LDC_cb) = src;
        return true;
    }
    if (is_reg && src.file != RF_R && src.file != RF_UR)
        return no_copy(e, dst, src);
    Inst *i = emit(e, OT_MOV);
    *ir_dst(f, i, MOV_rd) = dst;
    *ir_src(f, i, MOV_rb) = src;
    return true;
}

static bool move_to_p(Emit *e, Operand dst, Operand src) {
    Function *f = e->f;
    if (src.kind == OPK_IMM)
        src = src.value ? op_pt() : op_with(op_pt(), OPM_NOT);
    if (src.kind == OPK_NONE)
        src = op_pt();
    if (src.kind == OPK_REG && src.file == RF_P) {
        Inst *i = emit(e, OT_PLOP3);
        i->mods = MSET(PLOP3, lut, LUT_A);
        *ir_dst(f, i, PLOP3_pu) = dst;
        *ir_src(f, i, PLOP3_pp) = src;
        return true;
    }
    if (src.kind == OPK_REG && src.file == RF_R) {
        Inst *i = emit(e, OT_ISETP);
        i->mods = MSET(ISETP, cmp, ICmp_NE) | MSET(ISETP, sign, 0);
        *ir_dst(f, i, ISETP_pu) = dst;
        *ir_src(f, i, ISETP_ra) = src;
        *ir_src(f, i, ISETP_rb) = op_rz();
        return true;
    }
    return no_copy(e, dst, src);
}

static bool move_to_ur(Emit *e, Operand dst, Operand src) {
    Function *f = e->f;
    if (src.kind == OPK_CMEM) {
        Inst *i = emit(e, OT_ULDC);
        *ir_dst(f, i, ULDC_urd) = dst;
        *ir_src(f, i, ULDC_cb) = src;
    } else if (src.kind == OPK_REG && src.file == RF_R) { /* the caller knows the value to be uniform */
        Inst *i = emit(e, OT_R2UR);
        *ir_dst(f, i, R2UR_urd) = dst;
        *ir_src(f, i, R2UR_ra) = src;
    } else if (src.kind == OPK_REG && src.file == RF_UP) {
        Inst *i = emit(e, OT_USEL);
        *ir_dst(f, i, USEL_urd) = dst;
        *ir_src(f, i, USEL_ura) = op_reg(RF_UR, REG_URZ, 1);
        *ir_src(f, i, USEL_urb) = op_imm(1);
        src.mods ^= OPM_NOT;
        *ir_src(f, i, USEL_upp) = src;
    } else if (src.kind != OPK_REG || src.file == RF_UR) {
        Inst *i = emit(e, OT_UMOV);
        *ir_dst(f, i, UMOV_urd) = dst;
        *ir_src(f, i, UMOV_urb) = src;
    } else {
        return no_copy(e, dst, src);
    }
    return true;
}

static bool move_to_up(Emit *e, Operand dst, Operand src) {
    Function *f = e->f;
    if (src.kind == OPK_IMM)
        src = op_with(op_reg(RF_UP, REG_UPT, 1), src.value ? 0 : OPM_NOT);
    if (src.kind == OPK_REG && src.file == RF_UP) {
        Inst *i = emit(e, OT_UPLOP3);
        i->mods = MSET(UPLOP3, lut, LUT_A);
        *ir_dst(f, i, UPLOP3_upu) = dst;
        *ir_src(f, i, UPLOP3_upp) = src;
        return true;
    }
    if (src.kind == OPK_REG && src.file == RF_UR) {
        Inst *i = emit(e, OT_UISETP);
        i->mods = MSET(UISETP, cmp, ICmp_NE) | MSET(UISETP, sign, 0);
        *ir_dst(f, i, UISETP_upu) = dst;
        *ir_src(f, i, UISETP_ura) = src;
        *ir_src(f, i, UISETP_urb) = op_reg(RF_UR, REG_URZ, 1);
        return true;
    }
    return no_copy(e, dst, src);
}

static bool emit_move(Emit *e, Operand dst, Operand src) {
    switch (dst.file) {
    case RF_R: return move_to_r(e, dst, src);
    case RF_P: return move_to_p(e, dst, src);
    case RF_UR: return move_to_ur(e, dst, src);
    case RF_UP: return move_to_up(e, dst, src);
    default: return no_copy(e, dst, src);
    }
}

static void xor_into(Emit *e, Operand a, Operand b) { /* a ^= b */
    static const uint16_t ops[RF_B] = {OT_LOP3, OT_PLOP3, OT_ULOP3, OT_UPLOP3};
    Inst *i = emit(e, ops[a.file]);
    i->mods = a.file == RF_R    ? MSET(LOP3, lut, LUT_XOR)
              : a.file == RF_P  ? MSET(PLOP3, lut, LUT_XOR)
              : a.file == RF_UR ? MSET(ULOP3, lut, LUT_XOR)
                                : MSET(UPLOP3, lut, LUT_XOR);
    *ir_dst(e->f, i, 0) = a;
    *ir_src(e->f, i, 0) = a;
    *ir_src(e->f, i, 1) = b;
}

typedef struct {
    Operand dst, src;
} Move;

static bool same_reg(Operand a, Operand b) {
    return a.kind == OPK_REG && b.kind == OPK_REG && a.file == b.file && a.value == b.value;
}

static bool is_read(const Move *m, unsigned n, Operand reg) {
    for (unsigned k = 0; k < n; k++)
        if (same_reg(m[k].src, reg))
            return true;
    return false;
}

/* Emit moves whose destination nobody still reads; returns how many are left: cycles only. */
static unsigned emit_chains(Emit *e, Move *m, unsigned n) {
    for (bool progress = true; progress;) {
        progress = false;
        for (unsigned k = 0; k < n; k++) {
            if (is_read(m, n, m[k].dst))
                continue;
            if (!emit_move(e, m[k].dst, m[k].src))
                return 0;
            m[k--] = m[--n];
            progress = true;
        }
    }
    return n;
}

/* One cycle: free its first destination by saving it, or exchange. Returns the number of moves left. */
static unsigned break_cycle(Emit *emit, Move *m, unsigned n, const Inst *i) {
    Operand a = m[0].dst, b = m[0].src;
    for (unsigned s = i->ndst; s < i->nsrc; s++) {
        Operand t = *ir_src(emit->f, i, s);
        if (t.file != a.file)
            continue;
        emit_move(emit, t, a);
        for (unsigned k = 0; k < n; k++)
            if (same_reg(m[k].src, a)) {
                t.mods = m[k].src.mods;
                m[k].src = t;
            }
        return emit_chains(emit, m, n);
    }
    if (a.file != b.file || (b.mods & OPM_NOT)) {
        emit->ok = diag(emit->d, (SrcLoc){0}, DIAG_E0787, str_text(emit->f->module->strings, emit->f->name));
        return 0;
    }
    xor_into(emit, a, b);
    xor_into(emit, b, a);
    xor_into(emit, a, b);
    for (unsigned k = 1; k < n; k++) /* a has its value now; what a held is in b */
        if (same_reg(m[k].src, a))
            m[k].src.value = b.value;
    m[0] = m[--n];
    unsigned left = 0;
    for (unsigned k = 0; k < n; k++)
        if (!same_reg(m[k].dst, m[k].src) || m[k].src.mods)
            m[left++] = m[k];
    return left;
}

static void emit_parallel(Emit *emit, const Inst *i) {
    Move m[256];
    unsigned n = 0;
    FOR_DSTS(emit->f, i, dst) {
        Operand d = *dst, s = *ir_src(emit->f, i, AT(dst));
        if (!same_reg(d, s) || s.mods)
            m[n++] = (Move){d, s};
    }
    n = emit_chains(emit, m, n);
    while (n && emit->ok)
        n = break_cycle(emit, m, n, i);
}

/* A guarded IR_COPY gives guarded instructions; what they keep is what their destinations held. */
static void guard_new(Emit *emit, unsigned first, Operand guard) {
    Function *f = emit->f;
    for (unsigned k = first; k < emit->out->n; k++) {
        ir_set_guard(f, emit->out->at[k], guard);
        Inst *i = ir_inst(f, emit->out->at[k]);
        FOR_TIED(f, i, old)
            *old = *ir_dst(f, i, AT(old));
    }
}

static bool lower_block(Function *f, BlockId b, Diags *d) {
    InstIds out = {0};
    Emit e = {.f = f, .d = d, .out = &out, .ok = true};
    unsigned n = ir_block(f, b)->insts.n;
    for (unsigned p = 0; p < n && e.ok; p++) {
        InstId id = ir_block(f, b)->insts.at[p];
        Inst i = *ir_inst(f, id);
        if (i.op != IR_COPY && i.op != IR_PARCOPY) {
            VEC_ADD(f->arena, &out, id);
            continue;
        }
        e.loc = i.loc;
        unsigned first = out.n;
        if (i.op == IR_COPY && !op_is_always(i.guard)) {
            if (!same_reg(*ir_dst(f, &i, 0), *ir_src(f, &i, 0)))
                emit_move(&e, *ir_dst(f, &i, 0), *ir_src(f, &i, 0));
            guard_new(&e, first, i.guard);
        } else {
            emit_parallel(&e, &i);
        }
        if (i.op == IR_COPY && out.n == first + 1) { /* keeps its number: the variable map names it */
            *ir_inst(f, id) = *ir_inst(f, out.at[first]);
            out.at[first] = id;
        }
    }
    ir_block(f, b)->insts = out;
    return e.ok;
}

bool pass_copies(Function *f, Diags *d) {
    FOR_BLOCKS(f, b)
        if (!lower_block(f, b, d))
            return false;
    return true;
}
