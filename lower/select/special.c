/* Selection of mov with all that it moves: registers, vectors taken apart and put together, addresses,
 * special registers (PTX ISA 9.7.9.3-5 and chapter 10).
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

/* ---- special registers ---- */

static Operand sreg(Sel *sel, const char *name, bool *ok) {
    int n = isa_sreg_number(sel->t, name);
    if (n < 0) {
        *ok = false;
        return op_imm(0);
    }
    return EMIT_R(sel, OT_S2R, 0, ((Operand){.kind = OPK_SREG, .value = (uint32_t)n}));
}

Operand sel_launch_word(Sel *sel, uint32_t offset) {
    if (sel->ti->has_alu_cmem)
        return sel_mov(sel, op_cmem(CONST_BANK_LAUNCH, offset));
    return EMIT_R(sel, OT_LDC, MSET(LDC, sz, MemSz_32), op_rz(), op_cmem(CONST_BANK_LAUNCH, offset));
}

Wide sel_launch_pair(Sel *sel, uint32_t offset) {
    Operand low = sel_launch_word(sel, offset);
    return wide2(low, sel_launch_word(sel, offset + 4));
}

static Operand xyz(Sel *s, const char *const name[3], unsigned component, bool *ok) {
    return component < 3 ? sreg(s, name[component], ok) : op_imm(0);
}

static Operand ntid(Sel *sel, unsigned c) { return sel_launch_word(sel, sel->ti->ntid_offset_bytes + 4 * c); }

/* Linear number of the thread in its block, by 32. */
static Operand warp_id(Sel *s, bool *ok) {
    Operand x = sreg(s, "tid.x", ok), y = sreg(s, "tid.y", ok), z = sreg(s, "tid.z", ok);
    Operand width = ntid(s, 0), height = ntid(s, 1);
    Operand t = sel_imad(s, width, sel_imad(s, height, z, y), x);
    return sel_shr(s, false, t, op_imm(5));
}

static Operand num_warps(Sel *s) {
    Operand width = ntid(s, 0), height = ntid(s, 1), depth = ntid(s, 2);
    Operand n = sel_imad(s, sel_imad(s, width, height, op_rz()), depth, op_imm(31));
    return sel_shr(s, false, n, op_imm(5));
}

/* %pm0 to %pm7 are components 0 to 7 of SR_PM, with 64 bits 8 to 15. */
enum { COUNT_PM = 8 };
static const char *const pm_names[COUNT_PM] = {"pm0", "pm1", "pm2", "pm3", "pm4", "pm5", "pm6", "pm7"};

static Operand clock_part(Sel *sel, const char *name, bool *ok) {
    Operand d = sreg(sel, name, ok);
    if (*ok) /* two reads are two values */
        ir_inst(sel->f, sel_last(sel))->flags |= IF_SIDE_EFFECT;
    return d;
}

/* From what the driver says of the launch's clusters; where the machine has none, every block is one of its
 * own. */
static Operand cluster_register(Sel *sel, uint32_t r, unsigned component, bool *ok) {
    static const char *const ctaid[3] = {"ctaid.x", "ctaid.y", "ctaid.z"};
    uint32_t said = sel->ti->cluster_offset_bytes, nctaid = sel->ti->nctaid_offset_bytes;
    if (r == SR_CLUSTER_CTARANK)
        return said ? sreg(sel, "cgactaid", ok) : op_imm(0);
    if (r == SR_CLUSTER_NCTARANK)
        return said ? sel_launch_word(sel, said + 0x48) : op_imm(1);
    if (r == SR_IS_EXPLICIT_CLUSTER)
        return said ? sel_launch_word(sel, said) : op_imm(sel->pf->reqnctapercluster[0] != 0);
    if (component >= 3)
        return op_imm(0);
    if (r == SR_NCLUSTERID)
        return sel_launch_word(sel, (said ? said + 0x1c : nctaid) + 4 * component);
    if (r == SR_CLUSTER_NCTAID)
        return said ? sel_launch_word(sel, said + 4 + 4 * component) : op_imm(1);
    bool rest = r == SR_CLUSTER_CTAID;
    if (!said)
        return rest ? op_imm(0) : xyz(sel, ctaid, component, ok);
    Operand block = xyz(sel, ctaid, component, ok);
    return sel_divided(sel, rest, block, sel_launch_word(sel, said + 4 + 4 * component));
}

/* Bytes of shared memory, without what is the system's. */
static Operand own_shared(Sel *sel, bool *ok) {
    Operand bytes = sreg(sel, "total_smem_size", ok);
    uint32_t system = sel->ti->system_shared_offset_bytes;
    return system ? sel_isub(sel, bytes, sel_launch_word(sel, system)) : bytes;
}

/* %aggr_smem_size: all of the shared memory, the system's with it; ptxas 13.0 has no more than a word of the
 * launch says. */
static Operand all_shared(Sel *sel, bool *ok) {
    uint32_t limit = sel->ti->shared_limit_offset_bytes;
    *ok = limit != 0;
    Operand bytes = limit ? sreg(sel, "total_smem_size", ok) : op_imm(0);
    return limit ? sel_minmax(sel, false, false, bytes, sel_launch_word(sel, limit)) : bytes;
}

/* %reserved_smem_offset_begin, _end, _cap, _0, _1: the system's shared memory is before the block's own, or
 * behind it; what it lends to kernels, from _1 to _end, the launch says. */
static Operand system_shared(Sel *sel, unsigned component, bool *ok) {
    enum { END = 1, CAP = 2, LENT = 4 };
    uint32_t words = sel->ti->lent_shared_offset_bytes, base = sel->ti->shared_base_bytes;
    *ok = words && (component != CAP || base);
    if (component == END || component == LENT)
        return sel_own_shared(sel, sel_launch_word(sel, words + (component == LENT ? 4 : 0)));
    return base ? op_imm(component == CAP ? base : 0) : own_shared(sel, ok);
}

static Operand special_register(Sel *sel, uint32_t r, unsigned component, unsigned part, bool *ok) {
    static const char *const tid[3] = {"tid.x", "tid.y", "tid.z"}, *const ctaid[3] = {"ctaid.x", "ctaid.y",
                                                                                      "ctaid.z"};
    bool high = part != 0;
    if (high && r != SR_GRIDID)
        return op_imm(0);
    switch ((PtxSreg)r) { /* no default: a new register is an error of the build here */
    case SR_TID: return xyz(sel, tid, component, ok);
    case SR_CTAID: return xyz(sel, ctaid, component, ok);
    case SR_NTID: return component < 3 ? ntid(sel, component) : op_imm(0);
    case SR_NCTAID:
        return component < 3 ? sel_launch_word(sel, sel->ti->nctaid_offset_bytes + 4 * component) : op_imm(0);
    case SR_LANEID: return sreg(sel, "laneid", ok);
    case SR_WARPID: return warp_id(sel, ok);
    case SR_NWARPID: return num_warps(sel);
    case SR_SMID: return sreg(sel, "smid", ok);
    case SR_GRIDID: return sel_launch_word(sel, sel->ti->gridid_offset_bytes + 4 * part);
    case SR_NSMID: return sel_launch_word(sel, sel->ti->nsmid_offset_bytes);
    case SR_ENVREG: return sel_launch_word(sel, sel->ti->envreg_offset_bytes + 4 * component);
    case SR_LANEMASK_EQ: return sreg(sel, "lanemask_eq", ok);
    case SR_LANEMASK_LE: return sreg(sel, "lanemask_le", ok);
    case SR_LANEMASK_LT: return sreg(sel, "lanemask_lt", ok);
    case SR_LANEMASK_GE: return sreg(sel, "lanemask_ge", ok);
    case SR_LANEMASK_GT: return sreg(sel, "lanemask_gt", ok);
    case SR_CLOCK: return clock_part(sel, "clock.lo", ok);
    case SR_CLOCK_HI: return clock_part(sel, "clock.hi", ok);
    case SR_CLOCK64: return clock_part(sel, "clock.lo", ok);
    case SR_GLOBALTIMER: return clock_part(sel, "globaltimer.lo", ok);
    case SR_GLOBALTIMER_LO: return clock_part(sel, "globaltimer.lo", ok);
    case SR_GLOBALTIMER_HI: return clock_part(sel, "globaltimer.hi", ok);
    case SR_PM: return clock_part(sel, pm_names[component % COUNT_PM], ok);
    case SR_TOTAL_SMEM_SIZE: return own_shared(sel, ok);
    case SR_AGGR_SMEM_SIZE: return all_shared(sel, ok);
    case SR_RESERVED_SMEM: return system_shared(sel, component, ok);
    case SR_DYNAMIC_SMEM_SIZE: return sel_launch_word(sel, sel->ti->dynamic_shared_offset_bytes);
    case SR_CLUSTERID:
    case SR_NCLUSTERID:
    case SR_CLUSTER_NCTAID:
    case SR_CLUSTER_NCTARANK:
    case SR_CLUSTER_CTAID:
    case SR_CLUSTER_CTARANK:
    case SR_IS_EXPLICIT_CLUSTER: return cluster_register(sel, r, component, ok);
    case SR_CURRENT_GRAPH_EXEC:
    case SR_NONE:
    case SR_COUNT: break;
    }
    *ok = false;
    return op_imm(0);
}

/* What counts 64 bits: the register that one read of both halves names, NULL if it is none. */
static const char *counter_name(const PtxOperand *operand) {
    switch (operand->sreg) {
    case SR_CLOCK64: return "clock.lo";
    case SR_GLOBALTIMER: return "globaltimer.lo";
    case SR_PM: return operand->component >= COUNT_PM ? pm_names[operand->component % COUNT_PM] : NULL;
    default: return NULL;
    }
}

Wide sel_special_source(Sel *sel, const PtxOperand *operand, unsigned parts, bool *ok) {
    const char *counter = parts == 2 ? counter_name(operand) : NULL;
    Wide v = {.w = {op_imm(0), op_imm(0), op_imm(0), op_imm(0)}, .n = parts};
    if (!counter) {
        for (unsigned part = 0; part < parts && *ok; part++)
            v.w[part] = special_register(sel, operand->sreg, operand->component, part, ok);
        return v;
    }
    int n = isa_sreg_number(sel->t, counter);
    *ok = n >= 0;
    if (!*ok)
        return v;
    Operand d = EMIT_R2(sel, OT_CS2R, MSET(CS2R, sz, Cs2rSz_B64),
                        ((Operand){.kind = OPK_SREG, .value = (uint32_t)n}));
    ir_inst(sel->f, sel_last(sel))->flags |= IF_SIDE_EFFECT;
    return sel_wide_pair(sel, d);
}

/* ---- vectors ---- */

/* Elements of `eb` bytes to words. */
static Wide pack_vector(Sel *s, const PtxOperand *operand, unsigned eb) {
    Wide v = {0};
    if (eb >= 4) {
        for (unsigned k = 0; k < operand->nvec; k++) {
            Wide e = sel_src(s, &operand->vec[k], eb);
            for (unsigned c = 0; c < e.n && v.n < 4; c++)
                v.w[v.n++] = e.w[c];
        }
        return v;
    }
    Operand e[8];
    unsigned n = operand->nvec;
    for (unsigned k = 0; k < n; k++)
        e[k] = sel_value(s, sel_src(s, &operand->vec[k], eb).w[0]);
    if (eb == 1) {
        for (unsigned k = 0; 2 * k + 1 < n; k++)
            e[k] = sel_prmt(s, e[2 * k], op_imm(0x0040), e[2 * k + 1]);
        n /= 2;
    }
    for (unsigned k = 0; k < n; k += 2)
        v.w[v.n++] = k + 1 < n ? sel_prmt(s, e[k], op_imm(0x5410), e[k + 1]) : e[k];
    return v;
}

static PtxType bits_type(unsigned bytes) {
    return bytes == 1 ? TY_B8 : bytes == 2 ? TY_B16 : bytes == 4 ? TY_B32 : bytes == 8 ? TY_B64 : TY_B128;
}

static void unpack(Sel *s, const PtxOperand *dst, unsigned eb, Wide v) {
    for (unsigned k = 0; k < dst->nvec; k++) {
        unsigned at = k * eb;
        Wide e = {.n = eb > 4 ? eb / 4 : 1};
        for (unsigned c = 0; c < e.n; c++)
            e.w[c] = v.w[at / 4 + c];
        if (eb < 4 && at % 4)
            e.w[0] = sel_shr(s, false, e.w[0], op_imm(8 * (at % 4)));
        sel_write(s, &dst->vec[k], bits_type(eb), e);
    }
}

/* mov.v2, mov.v4: all sources are read before the first destination is written. */
static bool mov_elements(Sel *s, const PtxInsn *in) {
    const PtxOperand *ptx_operand = &in->operands[0], *operand = &in->operands[1];
    PtxType t = sel_type(in);
    Wide v[4];
    for (unsigned k = 0; k < in->vec; k++)
        v[k] = sel_src(s, &operand->vec[k], ptx_type_bytes(t));
    for (unsigned k = 0; k < in->vec; k++)
        sel_write(s, &ptx_operand->vec[k], t, v[k]);
    return true;
}

static bool mov_vector(Sel *s, const PtxInsn *in) {
    const PtxOperand *ptx_operand = &in->operands[0], *operand = &in->operands[1];
    if (in->vec > 1)
        return mov_elements(s, in);
    unsigned bytes = ptx_type_bytes(sel_type(in));
    unsigned n = ptx_operand->kind == PO_VEC ? ptx_operand->nvec : operand->nvec, eb = n ? bytes / n : 0;
    if (operand->kind == PO_VEC)
        sel_write(s, ptx_operand, sel_type(in), pack_vector(s, operand, eb));
    else {
        Wide v = sel_src(s, operand, bytes);
        for (unsigned c = 0; c < v.n; c++)
            v.w[c] = sel_value(s, v.w[c]);
        unpack(s, ptx_operand, eb, v);
    }
    return true;
}

/* A distance behind the name hides from ptxas 13.0 that 32 bits do not hold a global address. */
static bool is_cut_off(const Sel *s, const PtxInsn *in, const PtxOperand *operand) {
    return operand->kind == PO_SYM && !(operand->sym & PTX_SYM_FUNC) && s->ptx->address_bits == 64 &&
           ptx_type_bytes(sel_type(in)) == 4 && s->ptx->vars[operand->sym - 1].space == SP_GLOBAL &&
           (!operand->imm || operand->component);
}

bool isel_mov(Sel *s, const PtxInsn *in) {
    PtxType t = sel_type(in);
    const PtxOperand *operand = &in->operands[1];
    if (is_cut_off(s, in, operand))
        return sel_error(s, "32 bits do not hold an address in .global");
    if (in->operands[0].kind == PO_VEC || operand->kind == PO_VEC)
        return mov_vector(s, in);
    if (t == TY_PRED) {
        Operand p = sel_src_pred(s, operand);
        sel_write_pred(s, &in->operands[0], p.mods || p.kind != OPK_VAL ? sel_pmov(s, p) : p);
        return true;
    }
    sel_write(s, &in->operands[0], t, sel_src(s, operand, ptx_type_bytes(t)));
    return true;
}
