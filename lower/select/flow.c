/* Selection of control flow and CTA barriers: PTX ISA 9.7.12 and 9.7.13.1-3.
 * An instruction with IF_SYNC carries its member mask as one source behind those of its optype.
 * SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"

bool isel_bra(Sel *sel, const PtxInsn *in) {
    uint32_t to = sel->pf->labels[in->operands[0].label].insn;
    if (sel->guard.kind == OPK_NONE) {
        sel_jump_label(sel, to);
        return true;
    }
    BlockId next = sel_block_new(sel);
    sel_branch_label(sel, sel->guard, to, next, (in->flags & PF_UNI) != 0);
    sel_seal(sel, next);
    sel_begin(sel, next);
    return true;
}

InstId sel_trap(Sel *sel, TrapCode code) {
    if (isa_target_has(sel->t, OT_TRAP))
        return EMIT0(sel, OT_TRAP, 0, op_imm(code));
    /* what ptxas writes for trap and brkpt alike; a machine may give other operands a meaning */
    return EMIT0(sel, OT_BPT, MSET(BPT, kind, BptKind_TRAP), op_imm(TRAP_CODE_TRAP));
}

static void emit_trap(Sel *sel, TrapCode code) {
    sel_trap(sel, code);
    sel->cur = (BlockId){0};
}

static void branch_below(Sel *sel, Operand index, uint32_t limit, BlockId yes, BlockId no, bool uniform) {
    BlockId from = sel->cur;
    sel_branch(sel, sel_isetp(sel, false, ICmp_LT, index, op_imm(limit)), yes, no);
    const Block *b = ir_block(sel->f, from);
    if (uniform)
        ir_inst(sel->f, b->insts.at[b->insts.n - 2])->flags |= IF_UNIFORM;
    sel_seal(sel, yes);
    sel_seal(sel, no);
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
static Cases distinct_targets(Sel *sel, const PtxBranchTable *table, bool uniform) {
    Cases c = {.n = table->n, .uniform = uniform};
    c.target = ARENA_ARRAY(&sel->arena, uint32_t, table->n);
    c.stub = ARENA_ARRAY(&sel->arena, BlockId, table->n);
    c.insn = ARENA_ARRAY(&sel->arena, uint32_t, table->n);
    for (uint32_t k = 0; k < table->n; k++) {
        uint32_t insn = sel->pf->labels[table->labels[k]].insn, n = 0;
        while (n < c.ntargets && c.insn[n] != insn)
            n++;
        if (n == c.ntargets) {
            c.insn[c.ntargets] = insn;
            c.stub[c.ntargets++] = sel_block_new(sel);
        }
        c.target[k] = n;
    }
    return c;
}

/* Binary search over the index, for few targets. */
static void select_case(Sel *s, const Cases *cases, Operand index, uint32_t lo, uint32_t hi) {
    uint32_t k = lo;
    while (k < hi && cases->target[k] == cases->target[lo])
        k++;
    if (k == hi) {
        sel_jump(s, cases->stub[cases->target[lo]]);
        return;
    }
    uint32_t mid = lo + (hi - lo) / 2;
    BlockId left = sel_block_new(s), right = sel_block_new(s);
    branch_below(s, index, mid, left, right, cases->uniform);
    sel_begin(s, left);
    select_case(s, cases, index, lo, mid);
    sel_begin(s, right);
    select_case(s, cases, index, mid, hi);
}

/* The table's word is loaded from constant bank 2, one BRX goes there. */
static void select_table(Sel *sel, const Cases *cases, Operand index) {
    Function *f = sel->f;
    BranchTable t = {0};
    for (unsigned k = 0; k < f->tables.n; k++)
        t.offset_bytes += 4 * f->tables.at[k].entries.n;
    for (uint32_t k = 0; k < cases->n; k++)
        VEC_ADD(f->arena, &t.entries, cases->target[k]);
    *VEC_PUSH(f->arena, &f->tables) = t;
    Operand to = EMIT_R(sel, OT_LDC, MSET(LDC, sz, MemSz_32), sel_shl(sel, index, op_imm(2)),
                        op_cmem(CONST_BANK_JUMPS, t.offset_bytes));
    ir_inst(f, sel_last(sel))->flags |=
        IF_SIDE_EFFECT; /* stays behind the check: elsewhere it might read outside the bank */
    if (isa_src_regs(sel->t, &(MachInst){.optype = OT_BRX}, BRX_ra) == 2) /* offsets are below 2^31 */
        to = sel_pair(sel, to, sel_mov(sel, op_imm(0)));
    InstId brx = EMIT0(sel, OT_BRX, 0, op_none(), to, ir_imm64(f, f->tables.n - 1));
    if (cases->uniform)
        ir_inst(f, brx)->flags |= IF_UNIFORM;
    for (uint32_t k = 0; k < cases->ntargets; k++)
        ir_add_edge(f, sel->cur, cases->stub[k]);
    sel->cur = (BlockId){0};
}

/* Up to so many targets are told apart by comparing: measured, docs/reconvergence.md "Jump tables". */
enum { MAX_COMPARED = 3, MAX_ENTRIES = 16000 /* a bank and a record hold some more */ };

bool isel_brx(Sel *sel, const PtxInsn *in) {
    if (!in->table || sel->pf->branch_tables[in->table - 1].n == 0)
        return sel_error(sel, "the branch has no table of targets");
    const PtxBranchTable *ptx_branch_table = &sel->pf->branch_tables[in->table - 1];
    if (ptx_branch_table->n > MAX_ENTRIES)
        return sel_error(sel, "the table has more than 16000 targets");
    Operand index = sel_value(sel, sel_src32(sel, &in->operands[0]));
    Cases c = distinct_targets(sel, ptx_branch_table, (in->flags & PF_UNI) != 0);
    Operand outside = sel_isetp(sel, false, ICmp_GE, index, op_imm(ptx_branch_table->n));
    ir_set_guard(sel->f, sel_trap(sel, TRAP_CODE_BRANCH_INDEX),
                 outside); /* undefined in PTX: never run on silently */
    if (ptx_branch_table->n <= MAX_COMPARED || c.ntargets == 1 || sel->m->relocatable)
        select_case(sel, &c, index, 0, ptx_branch_table->n);
    else
        select_table(sel, &c, index);
    for (uint32_t k = 0; k < c.ntargets; k++) {
        sel_seal(sel, c.stub[k]);
        sel_begin(sel, c.stub[k]);
        sel_jump_label(sel, c.insn[k]);
    }
    return true;
}

bool isel_call(Sel *s, const PtxInsn *in) { return sel_abi_call(s, in); }

bool isel_exit(Sel *sel, const PtxInsn *in) {
    (void)in;
    InstId id = sel_emit(sel, OT_EXIT, 0, 0, NULL);
    if (sel->guard.kind != OPK_NONE)
        ir_set_guard(sel->f, id, sel->guard);
    else
        sel->cur = (BlockId){0};
    return true;
}

bool isel_ret(Sel *sel, const PtxInsn *in) {
    if (sel->f->is_entry)
        return isel_exit(sel, in);
    BlockId next = {0};
    if (sel->guard.kind != OPK_NONE) {
        BlockId leave = sel_block_new(sel);
        next = sel_block_new(sel);
        sel_branch(sel, sel->guard, leave, next);
        sel_seal(sel, leave);
        sel_seal(sel, next);
        sel_begin(sel, leave);
        sel->guard = op_none();
    }
    bool ok = sel_abi_return(sel);
    sel->cur = (BlockId){0};
    if (next.i)
        sel_begin(sel, next);
    return ok;
}

bool isel_trap(Sel *s, const PtxInsn *in) {
    emit_trap(s, in->op == PTX_BRKPT ? TRAP_CODE_BREAKPOINT : TRAP_CODE_TRAP);
    return true;
}

/* ---- bar, barrier ---- */

static void note_barrier(Sel *sel, Operand id) {
    uint32_t n = id.kind == OPK_IMM && id.value < 16 ? id.value + 1 : 16;
    if (sel->f->nbarriers_used < n)
        sel->f->nbarriers_used = n;
}

static bool is_aligned(const PtxInsn *in) { return in->op == PTX_BAR || (in->flags & PF_ALIGNED); }

/* .DEFER_BLOCKING, as ptxas has it: the machine tells by it which barriers need the whole warp. */
static bool defers(const Sel *sel, const PtxInsn *in) {
    unsigned bar_defer = isa_target_info(sel->t)->bar_defer;
    return bar_defer == BarDefer_ALWAYS || (bar_defer == BarDefer_ALIGNED && is_aligned(in));
}

static void sync_all(Sel *sel, const PtxInsn *in, InstId id) {
    ir_inst(sel->f, id)->flags |= IF_SYNC | IF_CONVERGENT | IF_SIDE_EFFECT;
    if (is_aligned(in))
        ir_inst(sel->f, id)->flags |= IF_ALIGNED;
}

static bool selectable(const Target *target, unsigned op, uint32_t mods, Operand id, Operand count) {
    MachInst m = isa_inst(op);
    m.mods = mods;
    m.src[0] = id; /* the slots barid and cnt of BAR and BAR_RED */
    m.src[1] = count;
    return isa_select_opcode(target, &m) != 0;
}

bool sel_bar_packs(const Target *target, unsigned op, Operand id, Operand count, unsigned *count_bit,
                   uint32_t *mods) {
    const uint32_t packed =
        op == OT_BAR ? MSET(BAR, packed, BarPacked_YES) : MSET(BAR_RED, packed, BarPacked_YES);
    if (id.kind == OPK_IMM || count.kind != OPK_VAL || selectable(target, op, 0, id, count))
        return false;
    bool native = selectable(target, op, packed, id, op_none());
    *count_bit = native ? 16 : 4;
    *mods = native ? packed : 0;
    return true;
}

/* Packed, if they must be. Returns modifiers to add. */
static uint32_t pack_operands(Sel *s, unsigned op, Operand *id, Operand *count) {
    unsigned count_bit;
    uint32_t mods;
    if (!sel_bar_packs(s->t, op, *id, *count, &count_bit, &mods))
        return 0;
    Operand low = sel_and(s, *id, op_imm(15)), high = sel_and(s, *count, op_imm(0xfff));
    *id = sel_or(s, low, sel_shl(s, high, op_imm(count_bit)));
    *count = op_none();
    return mods;
}

static bool bar_red(Sel *s, const PtxInsn *in, Operand id, Operand count, const PtxOperand *p) {
    unsigned op = in->bop == BOP_AND ? BARREDOp_AND : in->bop == BOP_OR ? BARREDOp_OR : BARREDOp_POPC;
    uint32_t packed = pack_operands(s, OT_BAR_RED, &id, &count);
    if (count.kind == OPK_NONE && id.kind == OPK_IMM)
        count = op_imm(0);
    sync_all(s, in,
             EMIT0(s, OT_BAR_RED, MSET(BAR_RED, redop, op) | MSET(BAR_RED, defer, defers(s, in)) | packed, id,
                   count, sel_src_pred(s, p), op_imm(0xffffffff)));
    if (op == BARREDOp_POPC)
        sel_write32(s, &in->operands[0], TY_U32,
                    sel_emit_dst(s, OT_B2R_RESULT, 0, B2R_RESULT_rd, RF_R, 1, 0, NULL));
    else
        sel_write_pred(s, &in->operands[0],
                       sel_emit_dst(s, OT_B2R_RESULT, 0, B2R_RESULT_pu, RF_P, 1, 0, NULL));
    return true;
}

bool isel_bar(Sel *sel, const PtxInsn *in) {
    if (in->sub == SUB_WARP || in->sub2 == SUB_WARP) {
        sel->f->uses_sync = true;
        sel_emit(sel, OT_WARPSYNC, 0, 2, (Operand[]){sel_src32(sel, &in->operands[0]), op_pt()});
        return true;
    }
    bool red = in->sub == SUB_RED;
    const PtxOperand *src = &in->operands[in->ndst];
    unsigned n = in->noperands - in->ndst;
    Operand id = sel_src32(sel, &src[0]), count = op_none();
    if (n > (red ? 2u : 1u))
        count = sel_src32(sel, &src[1]);
    note_barrier(sel, id);
    sel->f->uses_sync = true;
    if (count.kind == OPK_IMM && count.value > 0xfff)
        return sel_error(sel, "the thread count is out of range");
    if (red)
        return bar_red(sel, in, id, count, &src[n - 1]);
    uint32_t mods = MSET(BAR, mode, in->sub == SUB_SYNC ? BARMode_SYNC : BARMode_ARV) |
                    MSET(BAR, defer, defers(sel, in)) | pack_operands(sel, OT_BAR, &id, &count);
    if (count.kind == OPK_NONE && !MGET(BAR, packed, mods))
        count = op_imm(0);
    sync_all(sel, in, EMIT0(sel, OT_BAR, mods, id, count, op_none(), op_imm(0xffffffff)));
    return true;
}

/* ---- barrier.cluster ---- */

/* As ptxas 13.0 has it: in a launch without clusters, as the driver says, nothing arrives at the cluster's
 * barrier, and a barrier of the block stands for the wait. Kernels that are launched with clusters only do
 * not ask. */
bool isel_cluster_barrier(Sel *sel, const PtxInsn *in) {
    bool waits = in->sub == SUB_WAIT,
         asks = sel->ti->cluster_offset_bytes && !sel->pf->reqnctapercluster[0] && !sel->pf->explicit_cluster;
    Operand all = op_imm(0xffffffff);
    BlockId clustered = {0}, alone = {0}, join = {0};
    if (!waits && in->sem != SEM_RELAXED)
        sel_fence(sel, in, false);
    if (asks) {
        clustered = sel_block_new(sel), alone = sel_block_new(sel), join = sel_block_new(sel);
        Operand says = sel_launch_word(sel, sel->ti->cluster_offset_bytes);
        sel_branch(sel, sel_isetp(sel, false, ICmp_NE, says, op_imm(0)), clustered, alone);
        sel_seal(sel, clustered);
        sel_seal(sel, alone);
        sel_begin(sel, clustered);
    }
    sel->f->uses_sync = true;
    sync_all(sel, in, sel_emit_sync(sel, waits ? OT_UCGABAR_WAIT : OT_UCGABAR_ARV, 0, 0, NULL, all));
    if (asks) {
        sel_jump(sel, join);
        sel_begin(sel, alone);
        if (waits) {
            note_barrier(sel, op_imm(0));
            sync_all(sel, in,
                     EMIT0(sel, OT_BAR, MSET(BAR, mode, BARMode_SYNC) | MSET(BAR, defer, defers(sel, in)),
                           op_imm(0), op_imm(0), op_none(), all));
        }
        sel_jump(sel, join);
        sel_seal(sel, join);
        sel_begin(sel, join);
    }
    if (waits)
        sel_acquire(sel, in, false);
    return true;
}

/* What the driver does with grids that depend on others; a machine without the instructions has no such
 * grids. */
bool isel_griddepcontrol(Sel *sel, const PtxInsn *in) {
    unsigned op = in->sub == SUB_WAIT ? OT_ACQBULK : OT_PREEXIT;
    if (!isa_target_has(sel->t, op))
        return true;
    InstId id = sel_emit(sel, op, 0, 0, NULL);
    if (sel->guard.kind != OPK_NONE)
        ir_set_guard(sel->f, id, sel->guard);
    return true;
}

/* ---- a stack that grows ----
 * What alloca gives lies below the frame, whose address stays in R1. Frames of callees would be there, too:
 * where the function calls any, a word of its own, the link, stands below all that has grown, and callees
 * begin at it (regalloc/frame.c). */

static Operand stack_end(Sel *sel) {
    return ir_val(sel->f, sel_ssa_read(&sel->ssa, sel->stack_var, sel->cur));
}

static void store_word(Sel *sel, Operand address, uint32_t offset, Operand word) {
    EMIT0(sel, OT_STL, MSET(STL, sz, MemSz_32), address, op_none(), op_imm(offset), sel_value(sel, word));
}

static void set_stack_end(Sel *sel, Operand end) {
    enum { LINK_BYTES = 16 }; /* the alignment of frames */
    sel_write_var(sel, sel->stack_var, end);
    if (!sel->f->link_at)
        return;
    Operand frame = EMIT_R(sel, IR_FRAME_ADDR, 0, op_imm(0));
    Operand link =
        sel_iadd(sel, sel_and(sel, end, op_imm((uint32_t)-LINK_BYTES)), op_imm((uint32_t)-LINK_BYTES));
    link = sel_value(sel, link);
    store_word(sel, link, 0, frame);
    store_word(sel, frame, sel->f->link_at - 1, link);
}

void sel_begin_stack(Sel *sel) {
    bool calls = false;
    for (uint32_t i = 0; i < sel->pf->ninsns; i++) {
        unsigned op = sel->pf->insns[i].op;
        sel->f->stack_grows |= op == PTX_ALLOCA || op == PTX_STACKSAVE || op == PTX_STACKRESTORE;
        calls |= op == PTX_CALL;
    }
    if (sel->f->stack_grows && calls) {
        sel->f->link_at = ((sel->f->var_bytes + 3) & ~3u) + 1;
        sel->f->var_bytes = sel->f->link_at + 3;
    }
    if (sel->f->stack_grows)
        set_stack_end(sel, EMIT_R(sel, IR_FRAME_ADDR, 0, op_imm(0)));
}

static void write_address(Sel *sel, const PtxInsn *in, Operand address) {
    sel_write(sel, &in->operands[0], sel_type(in), wide2(address, op_imm(0)));
}

bool isel_alloca(Sel *sel, const PtxInsn *in) {
    enum { LEAST_ALIGN = 8 }; /* as ptxas 13.0 */
    int64_t align =
        in->noperands > 2 && in->operands[2].imm > LEAST_ALIGN ? in->operands[2].imm : LEAST_ALIGN;
    Operand size = sel_src(sel, &in->operands[1], ptx_type_bytes(sel_type(in))).w[0];
    Operand end = sel_isub(sel, stack_end(sel), sel_value(sel, size));
    end = sel_value(sel, sel_and(sel, end, op_imm((uint32_t)-align)));
    set_stack_end(sel, end);
    write_address(sel, in, end);
    return true;
}

bool isel_stacksave(Sel *sel, const PtxInsn *in) {
    write_address(sel, in, stack_end(sel));
    return true;
}

bool isel_stackrestore(Sel *sel, const PtxInsn *in) {
    Operand end = sel_src(sel, &in->operands[0], ptx_type_bytes(sel_type(in))).w[0];
    set_stack_end(sel, sel_value(sel, end));
    return true;
}
