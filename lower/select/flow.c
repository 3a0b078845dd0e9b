/* Selection of control flow and CTA barriers: PTX ISA 9.7.12 and 9.7.13.1-3.
 * An instruction with IF_SYNC carries its member mask as one source behind those of its optype.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

bool isel_bra(Sel *s, const PtxInsn *in) {
    uint32_t to = s->pf->labels[in->operands[0].label].insn;
    if (s->guard.kind == OPK_NONE) {
        sel_jump_label(s, to);
        return true;
    }
    BlockId next = sel_block_new(s);
    sel_branch_label(s, s->guard, to, next, (in->flags & PF_UNI) != 0);
    sel_seal(s, next);
    sel_begin(s, next);
    return true;
}

enum { TRAP_CODE_TRAP = 1, TRAP_CODE_BRKPT = 2, TRAP_CODE_INDEX = 3 }; /* operand of TRAP */

static InstId trap(Sel *s, uint32_t code) {
    if (isa_target_has(s->t, OT_TRAP))
        return EMIT0(s, OT_TRAP, 0, op_imm(code));
    /* what ptxas writes for trap and brkpt alike; a machine may give other operands a meaning */
    return EMIT0(s, OT_BPT, MSET(BPT, kind, BptKind_TRAP), op_imm(1));
}

static void emit_trap(Sel *s, uint32_t code) {
    trap(s, code);
    s->cur = (BlockId){0};
}

static void branch_below(Sel *s, Operand index, uint32_t limit, BlockId yes, BlockId no, bool uniform) {
    BlockId from = s->cur;
    sel_branch(s, emit_isetp(s, false, ICmp_LT, index, op_imm(limit)), yes, no);
    const Block *b = ir_block(s->f, from);
    if (uniform)
        ir_inst(s->f, b->insts.at[b->insts.n - 2])->flags |= IF_UNIFORM;
    sel_seal(s, yes);
    sel_seal(s, no);
}

/* ---- brx.idx ---- */

typedef struct {
    uint32_t *target; /* [n] of each entry: which of the distinct targets */
    BlockId *stub;    /* [ntargets] leads to the statement */
    uint32_t *insn;   /* [ntargets] */
    uint32_t n, ntargets;
    bool uniform;
} Cases;

/* Entries that name one statement share a target. */
static Cases distinct_targets(Sel *s, const PtxBranchTable *t, bool uniform) {
    Cases c = {.n = t->n, .uniform = uniform};
    c.target = ARENA_ARRAY(&s->arena, uint32_t, t->n);
    c.stub = ARENA_ARRAY(&s->arena, BlockId, t->n);
    c.insn = ARENA_ARRAY(&s->arena, uint32_t, t->n);
    for (uint32_t k = 0; k < t->n; k++) {
        uint32_t insn = s->pf->labels[t->labels[k]].insn, n = 0;
        while (n < c.ntargets && c.insn[n] != insn)
            n++;
        if (n == c.ntargets) {
            c.insn[c.ntargets] = insn;
            c.stub[c.ntargets++] = sel_block_new(s);
        }
        c.target[k] = n;
    }
    return c;
}

/* Binary search over the index, for few targets. */
static void select_case(Sel *s, const Cases *c, Operand index, uint32_t lo, uint32_t hi) {
    uint32_t k = lo;
    while (k < hi && c->target[k] == c->target[lo])
        k++;
    if (k == hi) {
        sel_jump(s, c->stub[c->target[lo]]);
        return;
    }
    uint32_t mid = lo + (hi - lo) / 2;
    BlockId left = sel_block_new(s), right = sel_block_new(s);
    branch_below(s, index, mid, left, right, c->uniform);
    sel_begin(s, left);
    select_case(s, c, index, lo, mid);
    sel_begin(s, right);
    select_case(s, c, index, mid, hi);
}

/* The table's word is loaded from constant bank 2, one BRX goes there. */
static void select_table(Sel *s, const Cases *c, Operand index) {
    Function *f = s->f;
    BranchTable t = {0};
    for (unsigned k = 0; k < f->tables.n; k++)
        t.offset_bytes += 4 * f->tables.at[k].entries.n;
    for (uint32_t k = 0; k < c->n; k++)
        VEC_ADD(f->arena, &t.entries, c->target[k]);
    *VEC_PUSH(f->arena, &f->tables) = t;
    Operand to = EMIT_R(s, OT_LDC, MSET(LDC, sz, MemSz_32), emit_shl(s, index, op_imm(2)),
                        op_cmem(IR_JUMP_BANK, t.offset_bytes));
    ir_inst(f, sel_last(s))->flags |=
        IF_SIDE_EFFECT; /* stays behind the check: elsewhere it might read outside the bank */
    if (isa_src_regs(s->t, &(MachInst){.optype = OT_BRX}, BRX_ra) == 2) /* offsets are below 2^31 */
        to = sel_pair(s, to, emit_mov(s, op_imm(0)));
    InstId brx = EMIT0(s, OT_BRX, 0, op_none(), to, ir_imm64(f, f->tables.n - 1));
    if (c->uniform)
        ir_inst(f, brx)->flags |= IF_UNIFORM;
    for (uint32_t k = 0; k < c->ntargets; k++)
        ir_add_edge(f, s->cur, c->stub[k]);
    s->cur = (BlockId){0};
}

/* Up to so many targets are told apart by comparing: measured, docs/reconvergence.md "Jump tables". */
enum { MAX_COMPARED = 3, MAX_ENTRIES = 16000 /* a bank and a record hold some more */ };

bool isel_brx(Sel *s, const PtxInsn *in) {
    if (!in->table || s->pf->branch_tables[in->table - 1].n == 0)
        return sel_error(s, "the branch has no table of targets");
    const PtxBranchTable *t = &s->pf->branch_tables[in->table - 1];
    if (t->n > MAX_ENTRIES)
        return sel_error(s, "the table has more than 16000 targets");
    Operand index = sel_value(s, sel_src32(s, &in->operands[0]));
    Cases c = distinct_targets(s, t, (in->flags & PF_UNI) != 0);
    Operand outside = emit_isetp(s, false, ICmp_GE, index, op_imm(t->n));
    ir_set_guard(s->f, trap(s, TRAP_CODE_INDEX), outside); /* undefined in PTX: never run on silently */
    if (t->n <= MAX_COMPARED || c.ntargets == 1)
        select_case(s, &c, index, 0, t->n);
    else
        select_table(s, &c, index);
    for (uint32_t k = 0; k < c.ntargets; k++) {
        sel_seal(s, c.stub[k]);
        sel_begin(s, c.stub[k]);
        sel_jump_label(s, c.insn[k]);
    }
    return true;
}

bool isel_call(Sel *s, const PtxInsn *in) { return abi_call(s, in); }

bool isel_exit(Sel *s, const PtxInsn *in) {
    (void)in;
    InstId id = sel_emit(s, OT_EXIT, 0, 0, NULL);
    if (s->guard.kind != OPK_NONE)
        ir_set_guard(s->f, id, s->guard);
    else
        s->cur = (BlockId){0};
    return true;
}

bool isel_ret(Sel *s, const PtxInsn *in) {
    if (s->f->is_entry)
        return isel_exit(s, in);
    BlockId next = {0};
    if (s->guard.kind != OPK_NONE) {
        BlockId leave = sel_block_new(s);
        next = sel_block_new(s);
        sel_branch(s, s->guard, leave, next);
        sel_seal(s, leave);
        sel_seal(s, next);
        sel_begin(s, leave);
        s->guard = op_none();
    }
    bool ok = abi_return(s);
    s->cur = (BlockId){0};
    if (next.i)
        sel_begin(s, next);
    return ok;
}

bool isel_trap(Sel *s, const PtxInsn *in) {
    emit_trap(s, in->op == PTX_BRKPT ? TRAP_CODE_BRKPT : TRAP_CODE_TRAP);
    return true;
}

/* ---- bar, barrier ---- */

static void note_barrier(Sel *s, Operand id) {
    uint32_t n = id.kind == OPK_IMM && id.value < 16 ? id.value + 1 : 16;
    if (s->f->nbarriers_used < n)
        s->f->nbarriers_used = n;
}

static void sync_all(Sel *s, const PtxInsn *in, InstId id) {
    ir_inst(s->f, id)->flags |= IF_SYNC | IF_CONVERGENT | IF_SIDE_EFFECT;
    if (in->op == PTX_BAR || (in->flags & PF_ALIGNED))
        ir_inst(s->f, id)->flags |= IF_ALIGNED;
}

static bool selectable(Sel *s, unsigned op, uint32_t mods, Operand id, Operand count) {
    MachInst m = isa_inst(op);
    m.mods = mods;
    m.src[0] = id; /* the slots barid and cnt of BAR and BAR_RED */
    m.src[1] = count;
    return isa_select_opcode(s->t, &m) != 0;
}

/* Number and count both in registers, and no form that takes them so: one register holds both. Native
 * machines have the count in the upper half and a modifier for it, bru1's BAR_RED from bit 4 up. Returns
 * modifiers to add. */
static uint32_t pack_operands(Sel *s, unsigned op, Operand *id, Operand *count) {
    const uint32_t packed =
        op == OT_BAR ? MSET(BAR, packed, BarPacked_YES) : MSET(BAR_RED, packed, BarPacked_YES);
    if (id->kind == OPK_IMM || count->kind != OPK_VAL || selectable(s, op, 0, *id, *count))
        return 0;
    bool native = selectable(s, op, packed, *id, op_none());
    *id = emit_or(s, emit_and(s, *id, op_imm(15)),
                  emit_shl(s, emit_and(s, *count, op_imm(0xfff)), op_imm(native ? 16 : 4)));
    *count = op_none();
    return native ? packed : 0;
}

static bool bar_red(Sel *s, const PtxInsn *in, Operand id, Operand count, const PtxOperand *p) {
    unsigned op = in->bop == BOP_AND ? BARREDOp_AND : in->bop == BOP_OR ? BARREDOp_OR : BARREDOp_POPC;
    if (in->bop != BOP_AND && in->bop != BOP_OR && in->bop != BOP_POPC)
        return false;
    uint32_t packed = pack_operands(s, OT_BAR_RED, &id, &count);
    if (count.kind == OPK_NONE && id.kind == OPK_IMM)
        count = op_imm(0);
    sync_all(s, in,
             EMIT0(s, OT_BAR_RED, MSET(BAR_RED, redop, op) | packed, id, count, sel_src_pred(s, p),
                   op_imm(0xffffffff)));
    if (op == BARREDOp_POPC)
        sel_write32(s, &in->operands[0], TY_U32,
                    sel_emit_dst(s, OT_B2R_RESULT, 0, B2R_RESULT_rd, RF_R, 1, 0, NULL));
    else
        sel_write_pred(s, &in->operands[0],
                       sel_emit_dst(s, OT_B2R_RESULT, 0, B2R_RESULT_pu, RF_P, 1, 0, NULL));
    return true;
}

bool isel_bar(Sel *s, const PtxInsn *in) {
    if (in->sub == SUB_WARP || in->sub2 == SUB_WARP) {
        sel_emit(s, OT_WARPSYNC, 0, 2, (Operand[]){sel_src32(s, &in->operands[0]), op_pt()});
        return true;
    }
    if (in->sub2 == SUB_CLUSTER || in->sub == SUB_CLUSTER || in->noperands == 0)
        return false;
    bool red = in->sub == SUB_RED;
    const PtxOperand *src = &in->operands[in->ndst];
    unsigned n = in->noperands - in->ndst;
    Operand id = sel_src32(s, &src[0]), count = op_none();
    if (n > (red ? 2u : 1u))
        count = sel_src32(s, &src[1]);
    note_barrier(s, id);
    s->f->uses_sync = true;
    if (count.kind == OPK_IMM && count.value > 0xfff)
        return sel_error(s, "the thread count is out of range");
    if (red)
        return bar_red(s, in, id, count, &src[n - 1]);
    if (in->sub != SUB_SYNC && in->sub != SUB_ARRIVE)
        return false;
    uint32_t mods = MSET(BAR, mode, in->sub == SUB_SYNC ? BARMode_SYNC : BARMode_ARV) |
                    pack_operands(s, OT_BAR, &id, &count);
    if (count.kind == OPK_NONE && !MGET(BAR, packed, mods))
        count = op_imm(0);
    sync_all(s, in, EMIT0(s, OT_BAR, mods, id, count, op_none(), op_imm(0xffffffff)));
    return true;
}
