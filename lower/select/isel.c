/* Instruction selection: the driver. Walks the statements of one PTX function in order, makes blocks at
 * branch targets, turns guards into guarded instructions or branches, and calls the selection function that
 * each form names in frontend/ptx_forms.def. Reading and writing PTX registers (SSA variables) is here too;
 * the emitters are in lower/select/emit.c. SPDX-License-Identifier: MIT */
#include "lower/select/isel.h"
#include "frontend/system.h"
#include <stdio.h>
#include <string.h>

/* By form: what selects it, or why nothing does. */
static const struct {
    SelFn *fn;
    const char *absent;
    SelGuard guard;
} forms[] = {
    {0},
#define SELECT(name) .fn = isel_##name
#define isel_ABSENT(reason) NULL, .absent = reason
#define GUARD(kind) SG_##kind
#define PTX_FORM(op, mods, operands, select, guard_, interp, prove, weight, section, version, target)        \
    {select, .guard = guard_},
#include "frontend/ptx_forms.def"
#undef SELECT
#undef isel_ABSENT
#undef GUARD
};

/* ---- messages ---- */

bool sel_error(Sel *sel, const char *reason) {
    const PtxInsn *in = sel->in;
    sel->reported = sel->failed = true;
    return diag_in(sel->d, &sel->ptx->source, in->loc, DIAG_E0702, ptx_op_name((PtxOp)in->op),
                   str_text(&sel->ptx->strings, in->mods_text), reason);
}

/* ---- registers ---- */

unsigned sel_reg_bytes(const Sel *sel, const PtxOperand *operand) {
    return ptx_type_bytes(sel->pf->regs[operand->reg].type);
}

static unsigned parts_of(unsigned bytes) { return bytes <= 4 ? 1 : bytes / 4; }

static void make_reg_vars(Sel *sel) {
    sel->reg_var = ARENA_ARRAY(&sel->arena, uint32_t, sel->pf->nregs + 1);
    for (uint32_t r = 1; r < sel->pf->nregs; r++) {
        PtxType t = sel->pf->regs[r].type;
        sel->reg_var[r] = sel->ssa.vars.n;
        for (unsigned c = 0; c < (t == TY_PRED ? 1 : parts_of(ptx_type_bytes(t))); c++)
            sel_ssa_var_new(&sel->ssa, t == TY_PRED ? RF_P : RF_R, r, c);
    }
    sel->cc_var = sel_ssa_var_new(&sel->ssa, RF_P, 0, 0);
    sel->stack_var = sel_ssa_var_new(&sel->ssa, RF_R, 0, 0);
}

Operand sel_read_reg(Sel *sel, uint32_t reg, unsigned component) {
    return ir_val(sel->f, sel_ssa_read(&sel->ssa, sel->reg_var[reg] + component, sel->cur));
}

static uint64_t imm_bits(const PtxOperand *operand, unsigned bytes) {
    if (operand->imm_kind == IMM_F64 && bytes == 4) {
        double d;
        float f;
        uint32_t u;
        memcpy(&d, &operand->imm, sizeof d);
        f = (float)d;
        memcpy(&u, &f, sizeof u);
        return u;
    }
    return (uint64_t)operand->imm;
}

Wide sel_src(Sel *sel, const PtxOperand *operand, unsigned bytes) {
    Wide v = {.n = parts_of(bytes)};
    bool ok = true;
    for (unsigned c = 0; c < v.n; c++)
        v.w[c] = op_imm(0);
    switch (operand->kind) {
    case PO_REG:
        for (unsigned c = 0; c < v.n && c < parts_of(sel_reg_bytes(sel, operand)); c++)
            v.w[c] = sel_read_reg(sel, operand->reg, c);
        break;
    case PO_IMM:
        for (unsigned c = 0; c < v.n && c < 2; c++)
            v.w[c] = op_imm((uint32_t)(imm_bits(operand, bytes) >> (32 * c)));
        break;
    case PO_SREG:
        v = sel_special_source(sel, operand, v.n, &ok);
        if (!ok && !sel->reported)
            sel_error(sel, "this special register is not available");
        break;
    case PO_SYM: {
        Wide a = sel_symbol_address(sel, operand, false);
        for (unsigned c = 0; c < v.n && c < a.n; c++)
            v.w[c] = a.w[c];
        break;
    }
    default: sel_error(sel, "this kind of operand is not compiled here");
    }
    if (operand->neg && !sel->reported)
        sel_error(sel, "a negated register operand is not compiled");
    return v;
}

Operand sel_src32(Sel *s, const PtxOperand *o) { return sel_src(s, o, 4).w[0]; }

Operand sel_src_ext(Sel *s, const PtxOperand *o, PtxType t) {
    unsigned bytes = ptx_type_bytes(t);
    return sel_extend(s, sel_src(s, o, bytes < 4 ? bytes : 4).w[0], bytes, type_signed(t));
}

Operand sel_src_pred(Sel *s, const PtxOperand *operand) {
    Operand p = op_pt();
    if (operand->kind == PO_REG)
        p = sel_read_reg(s, operand->reg, 0);
    else if (operand->kind == PO_IMM)
        p = operand->imm ? op_pt() : op_pf();
    else if (operand->kind == PO_SREG)
        p = sel_isetp(s, false, ICmp_NE, sel_value(s, sel_src(s, operand, 4).w[0]), op_imm(0));
    else
        sel_error(s, "this kind of predicate operand is not compiled");
    return operand->not_ ? op_not(p) : p;
}

/* The instruction just made for this statement whose one result is exactly `v`, or none. */
static InstId sole_definition(Sel *sel, Wide v) {
    InstId id = sel_last(sel);
    if (!id.i)
        return id;
    const Inst *i = ir_inst(sel->f, id);
    if (ir_is_pseudo(i->op) || i->loc.i != sel->loc.i || i->guard.kind != OPK_NONE || i->ndst == 0)
        return (InstId){0};
    Operand d = *ir_dst(sel->f, i, 0);
    for (unsigned k = 1; k < i->ndst; k++)
        if (ir_dst(sel->f, i, k)->kind != OPK_NONE)
            return (InstId){0};
    if (d.kind != OPK_VAL || d.count != v.n)
        return (InstId){0};
    for (unsigned c = 0; c < v.n; c++)
        if (v.w[c].kind != OPK_VAL || v.w[c].mods || ir_operand_value(sel->f, d, c).i != v.w[c].value)
            return (InstId){0};
    return id;
}

static void set_guard(Sel *sel, InstId id, Operand old) {
    ir_set_guard(sel->f, id, sel->guard);
    Inst *i = ir_inst(sel->f, id);
    if (i->ndst)
        *ir_tied(sel->f, i, 0) = old;
}

static Operand copy_of(Sel *s, Operand v) { return v.file == RF_P ? sel_pmov(s, v) : sel_mov(s, v); }

static void unnamed_result(Sel *sel) {
    sel->reported = sel->failed = true;
    diag_in(sel->d, &sel->ptx->source, sel->in->loc, DIAG_E0775, ptx_op_name((PtxOp)sel->in->op),
            str_text(&sel->ptx->strings, sel->in->mods_text));
}

/* Variables var .. var + v.n - 1 become v, in lanes whose guard is true. */
static void write_vars(Sel *sel, uint32_t var, Wide v) {
    uint32_t reg = sel->ssa.vars.at[var].ptx_reg;
    if (reg && sel->in && !sel_is_result(sel->in, reg)) {
        unnamed_result(sel);
        return;
    }
    if (sel->guard.kind != OPK_NONE) {
        ValId old[4];
        for (unsigned c = 0; c < v.n; c++)
            old[c] = sel_ssa_read(&sel->ssa, var + c, sel->cur);
        InstId one = sole_definition(sel, v);
        if (one.i)
            set_guard(sel, one, ir_vec(sel->f, old, v.n));
        for (unsigned c = 0; c < v.n && !one.i; c++) {
            v.w[c] = copy_of(sel, v.w[c]);
            set_guard(sel, sel_last(sel), ir_val(sel->f, old[c]));
        }
    }
    for (unsigned c = 0; c < v.n; c++) {
        bool fresh =
            v.w[c].kind == OPK_VAL && !v.w[c].mods && ir_value(sel->f, (ValId){v.w[c].value})->fixed_reg < 0;
        if (fresh && sel->m->opt_level == 0) { /* keep one value for each version of a PTX register */
            const Value *val = ir_value(sel->f, (ValId){v.w[c].value});
            fresh = !val->ptx_reg || val->ptx_reg == sel->ssa.vars.at[var + c].ptx_reg;
        }
        if (!fresh)
            v.w[c] = copy_of(sel, v.w[c]);
        sel_ssa_write(&sel->ssa, var + c, sel->cur, (ValId){v.w[c].value});
    }
}

void sel_write_var(Sel *s, uint32_t var, Operand v) { write_vars(s, var, wide1(v)); }

void sel_write(Sel *sel, const PtxOperand *dst, PtxType t, Wide v) {
    if (dst->kind == PO_SINK || sel->reported)
        return;
    if (dst->kind != PO_REG) {
        sel_error(sel, "this kind of destination is not compiled");
        return;
    }
    unsigned reg_bytes = sel_reg_bytes(sel, dst), bytes = ptx_type_bytes(t), n = parts_of(reg_bytes);
    if (bytes && bytes < 4 && reg_bytes > bytes)
        v.w[0] = sel_extend(sel, v.w[0], bytes, type_signed(t));
    for (; v.n < n; v.n++)
        v.w[v.n] = type_signed(t) ? sel_shr(sel, true, v.w[0], op_imm(31)) : op_imm(0);
    v.n = n;
    write_vars(sel, sel->reg_var[dst->reg], v);
}

void sel_write32(Sel *s, const PtxOperand *dst, PtxType t, Operand v) { sel_write(s, dst, t, wide1(v)); }

void sel_write_pred(Sel *sel, const PtxOperand *dst, Operand p) {
    if (dst->kind == PO_SINK || sel->reported)
        return;
    if (dst->kind != PO_REG || sel->pf->regs[dst->reg].type != TY_PRED) {
        sel_error(sel, "the destination must be a predicate register");
        return;
    }
    write_vars(sel, sel->reg_var[dst->reg], wide1(p));
}

/* ---- control flow ---- */

BlockId sel_block_new(Sel *sel) {
    BlockId b = ir_block_new(sel->f);
    sel_ssa_place(&sel->ssa, b, sel->loop);
    return b;
}

void sel_begin(Sel *sel, BlockId b) {
    VEC_ADD(&sel->arena, &sel->order, b);
    sel->cur = b;
}

void sel_seal(Sel *sel, BlockId b) { sel_ssa_seal(&sel->ssa, b); }

static void emit_bra(Sel *sel, Operand guard, BlockId to) {
    InstId id = EMIT0(sel, OT_BRA, 0, op_none());
    ir_set_src(sel->f, id, BRA_offset, ir_target(to));
    if (guard.kind != OPK_NONE)
        ir_set_guard(sel->f, id, guard);
    ir_add_edge(sel->f, sel->cur, to);
}

void sel_jump(Sel *sel, BlockId to) {
    if (!sel->cur.i)
        return;
    emit_bra(sel, op_none(), to);
    sel->cur = (BlockId){0};
}

void sel_branch(Sel *sel, Operand p, BlockId yes, BlockId no) {
    if (p.kind != OPK_VAL)
        p = sel_pmov(sel, p);
    emit_bra(sel, p, yes);
    emit_bra(sel, op_none(), no);
    sel->cur = (BlockId){0};
}

static void flag_branch(Sel *sel, BlockId b, unsigned flag) {
    const Block *blk = ir_block(sel->f, b);
    ir_inst(sel->f, blk->insts.at[blk->insts.n - 2])->flags |= (uint16_t)flag;
}

void sel_branch_rare(Sel *sel, Operand p, BlockId yes, BlockId no) {
    BlockId from = sel->cur;
    sel_branch(sel, p, yes, no);
    flag_branch(sel, from, IF_RARE);
}

/* It collects edges from outside a loop that the statement begins, and then stands outside. */
static BlockId funnel_new(Sel *sel, uint32_t insn) {
    BlockId b = sel_block_new(sel);
    uint32_t loop = sel->loop_of ? sel->loop_of[insn] : 0;
    if (loop && sel->ssa.loops.at[loop].header.i == sel->block_at[insn].i)
        loop = sel->ssa.loops.at[loop].parent;
    sel_ssa_place(&sel->ssa, b, loop);
    return b;
}

/* Block for the next edge to a statement: its own, or one that collects up to FUNNEL_WIDTH edges. */
static BlockId edge_target(Sel *sel, uint32_t insn) {
    if (sel->preds_at[insn] <= FUNNEL_LIMIT)
        return sel->block_at[insn];
    if (sel->edges_at[insn] % FUNNEL_WIDTH == 0)
        sel->funnel_at[insn] = funnel_new(sel, insn);
    return sel->funnel_at[insn];
}

static void edge_made(Sel *sel, uint32_t insn) {
    uint32_t n = ++sel->edges_at[insn];
    bool last = n == sel->preds_at[insn];
    if (sel->preds_at[insn] > FUNNEL_LIMIT && (last || n % FUNNEL_WIDTH == 0)) {
        BlockId cur = sel->cur;
        sel_seal(sel, sel->funnel_at[insn]);
        sel_begin(sel, sel->funnel_at[insn]);
        sel_jump(sel, sel->block_at[insn]);
        sel->cur = cur;
    }
    if (last)
        sel_seal(sel, sel->block_at[insn]);
}

void sel_jump_label(Sel *sel, uint32_t insn) {
    if (!sel->cur.i)
        return;
    sel_jump(sel, edge_target(sel, insn));
    edge_made(sel, insn);
}

void sel_branch_label(Sel *sel, Operand p, uint32_t insn, BlockId no, bool uniform) {
    BlockId from = sel->cur;
    sel_branch(sel, p, edge_target(sel, insn), no);
    if (uniform)
        flag_branch(sel, from, IF_UNIFORM);
    edge_made(sel, insn);
}

static bool call_ends(const Sel *sel, const PtxInsn *in) {
    if (in->callee)
        return ptx_never_returns(sel->ptx, &sel->ptx->funcs[in->callee - 1]);
    const PtxCallTable *table = in->table ? &sel->pf->call_tables[in->table - 1] : NULL;
    return table &&
           (table->n ? ptx_never_returns(sel->ptx, &sel->ptx->funcs[table->funcs[0]]) : table->noreturn);
}

/* What may run after statement i: labels into out (at most cap), and whether the next statement. */
bool sel_falls_through(const Sel *s, const PtxInsn *in) {
    return in->guard_reg || !(ptx_leaves(in) || (in->op == PTX_CALL && call_ends(s, in)));
}

uint32_t sel_num_targets(const Sel *sel, const PtxInsn *in) {
    if (in->op == PTX_BRA)
        return 1;
    return in->op == PTX_BRX && in->table ? sel->pf->branch_tables[in->table - 1].n : 0;
}

uint32_t sel_target_insn(const Sel *sel, const PtxInsn *in, uint32_t k) {
    uint32_t label =
        in->op == PTX_BRA ? in->operands[0].label : sel->pf->branch_tables[in->table - 1].labels[k];
    return sel->pf->labels[label].insn;
}

/* Which statements can be reached, which begin blocks, how many edges come in. */
static void find_blocks(Sel *sel) {
    uint32_t n = sel->pf->ninsns;
    sel->leader = ARENA_ARRAY(&sel->arena, bool, n + 1);
    sel->reached = ARENA_ARRAY(&sel->arena, bool, n + 1);
    sel->preds_at = ARENA_ARRAY(&sel->arena, uint32_t, n + 1);
    sel->edge_from = ARENA_ARRAY(&sel->arena, uint32_t, n + 1);
    sel->edges_at = ARENA_ARRAY(&sel->arena, uint32_t, n + 1);
    sel->block_at = ARENA_ARRAY(&sel->arena, BlockId, n + 1);
    sel->funnel_at = ARENA_ARRAY(&sel->arena, BlockId, n + 1);
    VEC(uint32_t) work = {0};
    VEC_ADD(&sel->arena, &work, 0);
    while (work.n) {
        uint32_t i = work.at[--work.n];
        while (!sel->reached[i]) {
            sel->reached[i] = true;
            if (i == n)
                break;
            const PtxInsn *in = &sel->pf->insns[i];
            for (uint32_t k = 0; k < sel_num_targets(sel, in); k++) {
                uint32_t t = sel_target_insn(sel, in, k);
                if (sel->edge_from[t] == i + 1) /* a table that names it again: see isel_brx */
                    continue;
                sel->edge_from[t] = i + 1;
                sel->leader[t] = true;
                sel->preds_at[t]++;
                VEC_ADD(&sel->arena, &work, t);
            }
            if (!sel_falls_through(sel, in))
                break;
            i++;
        }
    }
    for (uint32_t i = 0; i <= n; i++) {
        if (!sel->leader[i])
            continue;
        sel->block_at[i] = sel_block_new(sel);
        ir_block(sel->f, sel->block_at[i])->ptx_insn = i + 1;
        if (i == 0 || (sel->reached[i - 1] && sel_falls_through(sel, &sel->pf->insns[i - 1])))
            sel->preds_at[i]++;
    }
    sel_find_loops(sel);
}

/* ---- statements ---- */

static void set_loc(Sel *sel, uint32_t i) {
    const PtxInsn *in = &sel->pf->insns[i];
    bool builtin = sel->l->fns.at[sel->fn].builtin;
    sel->loc = (LocId){sel->f->locs.n};
    *VEC_PUSH(sel->f->arena, &sel->f->locs) =
        builtin ? (Loc){0} : (Loc){.ptx_insn = i + 1, .src = in->loc, .line = in->line};
    sel->in = in;
    sel->reported = false;
    sel->d->place = ptx_place(sel->ptx, sel->pf, in);
}

static void absent(Sel *sel, const PtxInsn *in) {
    sel->failed = true;
    diag_in(sel->d, &sel->ptx->source, in->loc, DIAG_E0701, ptx_op_name((PtxOp)in->op),
            str_text(&sel->ptx->strings, in->mods_text), forms[in->form].absent);
}

/* A selection function that refuses has called sel_error. */
static void unexplained(Sel *sel, const PtxInsn *in) {
    sel->failed = true;
    diag_in(sel->d, &sel->ptx->source, in->loc, DIAG_E0774, ptx_op_name((PtxOp)in->op),
            str_text(&sel->ptx->strings, in->mods_text));
}

static void select_statement(Sel *sel, const PtxInsn *in) {
    BlockId join = {0};
    sel->guard = op_none();
    if (forms[in->form].absent) {
        absent(sel, in);
        return;
    }
    if (in->guard_reg) {
        Operand p = sel_read_reg(sel, in->guard_reg, 0);
        sel->guard = in->guard_not ? op_not(p) : p;
        if (forms[in->form].guard == SG_BRANCH) {
            BlockId then = sel_block_new(sel);
            join = sel_block_new(sel);
            sel_branch(sel, sel->guard, then, join);
            sel_seal(sel, then);
            sel_begin(sel, then);
            sel->guard = op_none();
        }
    }
    if (!forms[in->form].fn(sel, in) && !sel->reported)
        unexplained(sel, in);
    sel->guard = op_none();
    if (join.i) {
        sel_jump(sel, join);
        sel_seal(sel, join);
        sel_begin(sel, join);
    }
}

/* A block that was made for what follows a branch is in the loop of what follows. */
static void enter_statement(Sel *sel, uint32_t i) {
    sel->loop = sel->loop_of ? sel->loop_of[i] : 0;
    if (i && (sel->pf->insns[i - 1].op == PTX_BRA || sel->pf->insns[i - 1].op == PTX_BRX))
        sel_ssa_place(&sel->ssa, sel->cur, sel->loop);
}

static void select_all(Sel *sel) {
    uint32_t n = sel->pf->ninsns;
    for (uint32_t i = 0; i <= n; i++) {
        if (!sel->reached[i])
            continue;
        if (sel->leader[i]) {
            sel_jump_label(sel, i);
            sel_begin(sel, sel->block_at[i]);
        }
        if (i == n || !sel->cur.i)
            continue;
        enter_statement(sel, i);
        set_loc(sel, i);
        select_statement(sel, sel->in);
    }
    sel->loop = 0;
    if (sel->cur.i) { /* the end of the body returns */
        sel->loc = (LocId){0};
        if (sel->f->is_entry)
            EMIT0(sel, OT_EXIT, 0, op_none());
        else
            sel_abi_return(sel);
        sel->cur = (BlockId){0};
    }
}

/* The carry flag is clear at entry where something reads it. */
static void clear_carry(Sel *sel) {
    bool reads = false;
    for (uint32_t i = 0; i < sel->pf->ninsns && !reads; i++) {
        SelFn *fn = forms[sel->pf->insns[i].form].fn;
        reads = fn == isel_addc || fn == isel_madc;
    }
    if (reads)
        sel_write_var(sel, sel->cc_var, sel_pmov(sel, op_pf()));
}

/* A block that waits for an edge keeps phis without operands. */
static bool all_edges_made(const Sel *sel) {
    for (uint32_t i = 0; i < sel->pf->ninsns; i++)
        if (sel->reached[i] && sel->edges_at[i] != sel->preds_at[i])
            return diag_in(sel->l->d, &sel->ptx->source, sel->pf->insns[i].loc, DIAG_E0601,
                           str_text(sel->l->strings, sel->f->name), sel->block_at[i].i, i, "isel",
                           "an edge to this statement is missing");
    return true;
}

/* A block whose statement failed may lack its end; only used when there were no errors. */
static void set_layout(Sel *sel) {
    sel->f->layout.n = 0;
    for (uint32_t k = 0; k < sel->order.n; k++)
        VEC_ADD(sel->f->arena, &sel->f->layout, sel->order.at[k]);
    Bitset seen = bs_new(&sel->arena, sel->f->blocks.n);
    for (uint32_t k = 0; k < sel->order.n; k++)
        bs_add(&seen, sel->order.at[k].i);
    for (uint32_t b = 1; b < sel->f->blocks.n; b++)
        if (!bs_has(&seen, b))
            sel->f->blocks.at[b].dead = true;
    ir_renumber(sel->f);
}

/* A place in the frame for a variable; reports what is too large. */
static void place_in_frame(Sel *sel, uint32_t index, uint64_t least_align) {
    const PtxVar *var = &sel->ptx->vars[index];
    uint64_t align = var->align_bytes > least_align ? var->align_bytes : least_align;
    uint64_t at = (sel->f->var_bytes + align - 1) / align * align;
    if (at + var->size_bytes > 1u << 24) {
        sel->failed = true;
        diag_in(sel->d, &sel->ptx->source, var->loc, DIAG_E0704, str_text(&sel->ptx->strings, var->name),
                "local memory", (unsigned long long)(1u << 24));
        return;
    }
    sel->frame_offset[index] = (uint32_t)at + 1;
    sel->f->var_bytes = (uint32_t)(at + var->size_bytes);
}

/* Parameters of a function arrive in registers; one whose address is taken lives in the frame (PTX
 * ISA 9.7.9.3 mov). */
static void place_params(Sel *sel) {
    for (uint32_t i = 0; !sel->f->is_entry && i < sel->pf->ninsns; i++) {
        const PtxInsn *in = &sel->pf->insns[i];
        const PtxOperand *src = &in->operands[1];
        if (in->op != PTX_MOV || in->noperands != 2 || src->kind != PO_SYM || src->sym & PTX_SYM_FUNC)
            continue;
        for (uint32_t k = 0; k < sel->pf->nparams; k++)
            if (sel->pf->params[k] == src->sym - 1 && !sel->frame_offset[src->sym - 1]) {
                place_in_frame(sel, src->sym - 1, 4); /* it is stored in words */
                sel->f->var_bytes = (sel->f->var_bytes + 3) & ~3u;
                sel->frame_params = true;
            }
    }
}

static void place_locals(Sel *sel) {
    LowerTables *tables = lower_tables(sel->l, sel->ptx);
    sel->frame_offset = tables->frame_offset;
    sel->param_var = tables->param_var;
    sel_abi_reserve(sel);
    for (uint32_t k = 0; k < sel->pf->nvars; k++) {
        const PtxVar *var = &sel->ptx->vars[sel->pf->vars[k]];
        if (var->space == SP_LOCAL)
            place_in_frame(sel, sel->pf->vars[k], 1);
    }
    place_params(sel);
}

bool isel_function(Lower *lower, uint32_t fn) {
    LowerFn *lf = &lower->fns.at[fn];
    Sel *sel = ARENA_NEW(&lower->scratch, Sel);
    *sel = (Sel){.l = lower,
                 .m = lower->m,
                 .f = lf->f,
                 .ptx = lf->mod,
                 .pf = &lf->mod->funcs[lf->index],
                 .ti = lower->ti,
                 .t = lower->t,
                 .d = lower->d,
                 .fn = fn};
    sel->f->ptx = lf->builtin ? NULL : sel->pf;
    sel->f->noreturn = sel->pf->noreturn;
    const DiagPlace outer_place = lower->d->place;
    lower->d->place = (DiagPlace){.function = str_text(&sel->ptx->strings, sel->pf->name)};
    sel_ssa_init(&sel->ssa, sel->f, &sel->arena);
    make_reg_vars(sel);
    place_locals(sel);
    BlockId entry = sel_block_new(sel);
    sel_begin(sel, entry);
    sel_seal(sel, entry);
    if (sel_abi_enter(sel)) {
        clear_carry(sel);
        sel_begin_stack(sel);
        find_blocks(sel);
        select_all(sel);
    } else
        sel->failed = true;
    if (!sel->failed && all_edges_made(sel)) {
        set_layout(sel);
        sel_ssa_finish(&sel->ssa);
    } else
        sel->failed = true;
    bool ok = !sel->failed;
    lower->d->place = outer_place;
    arena_free(&sel->arena);
    return ok;
}
