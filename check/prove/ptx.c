/* Symbolic execution of PTX for one thread: registers, control flow, memory events.
 * SPDX-License-Identifier: MIT */
#include "check/prove/ptx.h"
#include <string.h>

void pv_fault(Ptx *x, const char *why) {
    if (!x->r->fault) {
        x->r->fault = why;
        x->r->fault_at = x->at;
    }
}

Term *pv_value(Ptx *x, uint32_t index) {
    if (!x->val[index]) /* read before it was written: any value */
        x->val[index] =
            t_var(&x->p->ts, prove_ptx_width(x->p, index), term_name(&x->p->ts, "undefined %u", index), 0);
    return t_under(&x->p->ts, x->val[index], x->full);
}
void pv_set(Ptx *x, uint32_t index, Term *v) {
    Terms *ts = &x->p->ts;
    Term *g = t_under(ts, x->guard, x->pc);
    x->val[index] = g == ts->truth || !x->val[index] ? v : t_ite(ts, g, v, x->val[index]);
}

uint32_t prove_ptx_width(const Prover *p, uint32_t value) {
    if (value == p->carry)
        return 1;
    if (value > p->carry)
        return 32;
    PtxType t = p->pf->regs[value].type;
    return t == TY_PRED ? 1 : ptx_type_bytes(t) == 8 ? 64 : 32;
}
const char *prove_ptx_name(const Prover *p, uint32_t value) {
    return value < p->carry    ? str_text(&p->m->strings, p->pf->regs[value].name)
           : value == p->carry ? "CC.CF"
                               : "a .param word";
}

static Term *fit(Ptx *x, Term *v, unsigned width) {
    Terms *ts = &x->p->ts;
    if (v->width == width || v->width == 1 || width == 1)
        return v;
    return width == 64 ? t_zext(ts, v) : t_lo(ts, v);
}

static Term *symbol(Ptx *x, const PtxOperand *o) {
    Prover *p = x->p;
    Terms *ts = &p->ts;
    uint32_t index = o->sym - 1;
    if (o->sym & PTX_SYM_FUNC) {
        pv_fault(x, "the address of a function is not modelled");
        return t_const(ts, 64, 0);
    }
    const PtxVar *v = &p->m->vars[index];
    Term *k = t_const(ts, 64, (uint64_t)o->imm);
    switch (v->space) {
    case SP_GLOBAL: return t_add(ts, prove_address(p, index), k);
    case SP_SHARED:
    case SP_CONST: return t_add(ts, t_const(ts, 64, prove_var_offset(p, index)), k);
    case SP_LOCAL: {
        Term *base =
            t_sub(ts, prove_sp(p), t_const(ts, 32, p->bf->frame_bytes - (p->frame_offset[index] - 1)));
        return t_zext(ts, t_add(ts, base, t_lo(ts, k)));
    }
    case SP_PARAM:
        if (p->pf->is_entry && !p->param_word[index])
            return t_const(ts, 64,
                           isa_target_info(p->g->bin->target)->param_base_bytes + v->param_offset_bytes +
                               (uint64_t)o->imm);
        break;
    default: break;
    }
    pv_fault(x, "the address of a variable in this space is not modelled");
    return t_const(ts, 64, 0);
}

Term *pv_src(Ptx *x, const PtxOperand *o, PtxType t) {
    Prover *p = x->p;
    Terms *ts = &p->ts;
    unsigned bytes = pv_bytes(t), width = t == TY_PRED ? 1 : bytes == 8 ? 64 : 32;
    Term *v;
    switch (o->kind) {
    case PO_REG:
        v = pv_value(x, o->reg);
        if (t == TY_PRED)
            return o->not_ ? t_not(ts, v) : v;
        v = fit(x, v, width);
        if (o->neg)
            v = t_scale(ts, v, ~0ull);
        break;
    case PO_IMM:
        if (width == 1)
            return t_bool(ts, o->imm != 0);
        v = t_const(ts, width, (uint64_t)o->imm);
        break;
    case PO_SYM: v = fit(x, symbol(x, o), width); break;
    case PO_SREG: v = fit(x, prove_sreg(x, o), width); break;
    default: pv_fault(x, "an operand is not modelled"); return width == 1 ? ts->truth : t_const(ts, width, 0);
    }
    return bytes < 4 && bytes ? t_zext_from(ts, v, 8 * bytes) : v;
}
Term *pv_src_ext(Ptx *x, const PtxOperand *o, PtxType t) {
    Term *v = pv_src(x, o, t);
    return pv_signed(t) && pv_bytes(t) < 4 ? t_sext_from(&x->p->ts, v, 8 * pv_bytes(t)) : v;
}

void pv_dst(Ptx *x, const PtxOperand *o, PtxType t, Term *v) {
    Terms *ts = &x->p->ts;
    if (o->kind == PO_SINK)
        return;
    if (o->kind != PO_REG) {
        pv_fault(x, "a destination is not modelled");
        return;
    }
    unsigned width = prove_ptx_width(x->p, o->reg), bytes = pv_bytes(t);
    if (width == 1) {
        pv_set(x, o->reg, v);
        return;
    }
    if (bytes && bytes < 4 && v->width == 32)
        v = pv_signed(t) ? t_sext_from(ts, v, 8 * bytes) : t_zext_from(ts, v, 8 * bytes);
    if (v->width == 32 && width == 64)
        v = pv_signed(t) ? t_sext(ts, v) : t_zext(ts, v);
    if (v->width == 64 && width == 32)
        v = t_lo(ts, v);
    unsigned reg_bytes = pv_bytes(x->p->pf->regs[o->reg].type);
    pv_set(x, o->reg, reg_bytes < 4 ? t_zext_from(ts, v, 8 * reg_bytes) : v);
}

Term *pv_event(Ptx *x, unsigned lists, const char *name, Term *const *args, uint32_t n) {
    Term *what = NULL;
    for (unsigned s = NMEM; s-- > 0;)
        if (lists >> s & 1)
            x->mem[s] = t_event(&x->p->ts, x->mem[s], x->full, name, 0, args, n, &what);
    return what;
}

Term *pv_symbol(Ptx *x, const PtxOperand *o) { return symbol(x, o); }

/* ---- control flow ---- */
static void leave(Ptx *x, ExitKind kind, uint32_t target, Term *cond) {
    Exit e = {kind, target, x->at, cond, NULL};
    e.val = arena_copy(&x->p->arena, x->val, x->p->nptx * sizeof *x->val);
    VEC_ADD(&x->p->arena, &x->r->exits, e);
}

static void arrive(Ptx *x, uint32_t b, Term *cond) {
    Terms *ts = &x->p->ts;
    if (cond == ts->falsity)
        return;
    if (x->stop[b]) {
        leave(x, EX_CUT, b, cond);
        return;
    }
    if (x->p->blocks[b].rpo <= x->rpo) {
        pv_fault(x, "a loop of the PTX has no counterpart in the machine code");
        return;
    }
    if (!x->reach[b]) {
        x->reach[b] = cond;
        x->in_val[b] = arena_copy(&x->p->arena, x->val, x->p->nptx * sizeof *x->val);
        return;
    }
    Term *both = t_or(ts, x->reach[b], cond), *first = t_under(ts, cond, both);
    x->reach[b] = both;
    x->r->guarded = true;
    for (uint32_t v = 0; v < x->p->nptx; v++) {
        Term *old = x->in_val[b][v];
        if (old && x->val[v])
            x->in_val[b][v] = t_ite(ts, first, x->val[v], old);
        else if (!old)
            x->in_val[b][v] = x->val[v];
    }
}

static bool run_statement(Ptx *x) { /* false: control goes elsewhere */
    Terms *ts = &x->p->ts;
    const PtxInsn *in = x->in;
    PtxBlock *b = &x->p->blocks[x->p->block_of[x->at]];
    Term *not_guard = t_and(ts, x->pc, t_not(ts, x->guard));
    switch (in->op) {
    case PTX_BRA:
        if (in->guard_reg && b->nsucc == 2)
            arrive(x, b->succ[1], not_guard);
        arrive(x, b->succ[0], x->full);
        return false;
    case PTX_BRX: pv_fault(x, "brx.idx is not modelled"); return false;
    case PTX_RET:
    case PTX_EXIT:
    case PTX_TRAP:
        if (x->full != ts->falsity)
            leave(x,
                  in->op == PTX_TRAP                         ? EX_TRAP
                  : in->op == PTX_RET && !x->p->pf->is_entry ? EX_RET
                                                             : EX_END,
                  0, x->full);
        x->pc = not_guard;
        return x->pc != ts->falsity;
    default: break;
    }
    if (in->guard_reg || in->op == PTX_SELP || in->op == PTX_SLCT)
        x->r->guarded = true;
    if (!pv_arith(x) && !pv_float(x) && !pv_memory(x))
        pv_fault(x, term_name(ts, "%s%s is not modelled", ptx_op_name((PtxOp)in->op),
                              str_text(&x->p->m->strings, in->mods_text)));
    return true;
}

static void run_block(Ptx *x, uint32_t index) {
    PtxBlock *b = &x->p->blocks[index];
    Terms *ts = &x->p->ts;
    for (uint32_t i = b->first; i < b->end && !x->r->fault; i++) {
        x->at = i;
        x->in = &x->p->pf->insns[i];
        if (i < x->r->first)
            x->r->first = i;
        if (i > x->r->last)
            x->r->last = i;
        x->full = x->pc;
        x->guard = ts->truth;
        if (x->in->guard_reg) {
            x->guard = pv_value(x, x->in->guard_reg);
            if (x->in->guard_not)
                x->guard = t_not(ts, x->guard);
        }
        x->full = t_and(ts, x->pc, x->guard);
        if (!run_statement(x))
            return;
    }
    if (x->r->fault)
        return;
    if (b->end >= x->p->pf->ninsns && b->nsucc == 0) { /* the end of the body returns */
        leave(x, x->p->pf->is_entry ? EX_END : EX_RET, 0, x->pc);
        return;
    }
    if (b->nsucc)
        arrive(x, b->succ[b->nsucc - 1], x->pc);
}

void prove_ptx_run(Prover *p, uint32_t block, Term *const *val, Term *const *mem, const bool *stop, Run *r) {
    Ptx x = {.p = p, .r = r, .stop = stop};
    *r = (Run){.first = UINT32_MAX};
    x.mem = r->mem;
    memcpy(r->mem, mem, sizeof r->mem);
    x.reach = ARENA_ARRAY(&p->arena, Term *, p->nblocks);
    x.in_val = ARENA_ARRAY(&p->arena, Term **, p->nblocks);
    x.reach[block] = p->ts.truth;
    x.in_val[block] = arena_copy(&p->arena, val, p->nptx * sizeof *val);
    for (uint32_t k = p->blocks[block].rpo; k < p->nrpo && !r->fault && !p->ts.overflow; k++) {
        uint32_t b = p->rpo[k];
        if (!x.reach[b])
            continue;
        x.rpo = k;
        x.pc = x.reach[b];
        x.val = x.in_val[b];
        run_block(&x, b);
    }
}

/* ---- the graph ---- */
static bool ends_block(const PtxInsn *in) {
    return in->op == PTX_BRA || in->op == PTX_BRX ||
           ((in->op == PTX_RET || in->op == PTX_EXIT || in->op == PTX_TRAP) && !in->guard_reg);
}

static void order(Prover *p) { /* reverse post-order with an explicit stack */
    uint32_t *stack = ARENA_ARRAY(&p->arena, uint32_t, p->nblocks + 1),
             *next = ARENA_ARRAY(&p->arena, uint32_t, p->nblocks + 1);
    uint8_t *state = ARENA_ARRAY(&p->arena, uint8_t, p->nblocks + 1);
    uint32_t *post = ARENA_ARRAY(&p->arena, uint32_t, p->nblocks + 1), n = 0, depth = 0;
    stack[depth++] = 0;
    state[0] = 1;
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (next[b] < p->blocks[b].nsucc) {
            uint32_t s = p->blocks[b].succ[next[b]++];
            if (!state[s]) {
                state[s] = 1;
                stack[depth++] = s;
            } else if (state[s] == 1)
                p->blocks[s].header = true;
            continue;
        }
        state[b] = 2;
        post[n++] = b;
        depth--;
    }
    p->rpo = ARENA_ARRAY(&p->arena, uint32_t, n + 1);
    p->nrpo = n;
    for (uint32_t i = 0; i < n; i++) {
        p->rpo[i] = post[n - 1 - i];
        p->blocks[p->rpo[i]].rpo = i;
    }
}

static void values(Prover *p) {
    p->carry = p->pf->nregs;
    p->nptx = p->carry + 1;
    p->param_word = ARENA_ARRAY(&p->arena, uint32_t, p->m->nvars + 1);
    p->frame_offset = ARENA_ARRAY(&p->arena, uint32_t, p->m->nvars + 1);
    uint64_t frame = 0;
    for (uint32_t k = 0; k < p->pf->nvars; k++) {
        const PtxVar *v = &p->m->vars[p->pf->vars[k]];
        uint64_t align = v->align_bytes ? v->align_bytes : 1;
        if (v->space == SP_LOCAL) {
            frame = (frame + align - 1) / align * align;
            p->frame_offset[p->pf->vars[k]] = (uint32_t)frame + 1;
            frame += v->size_bytes;
        }
        if (v->space == SP_PARAM || v->space == SP_PARAM_FUNC) {
            p->param_word[p->pf->vars[k]] = p->nptx + 1;
            p->nptx += (uint32_t)(v->size_bytes + 3) / 4;
        }
    }
    for (int pass = 0; !p->pf->is_entry && pass < 2; pass++)
        for (uint32_t k = 0; k < (pass ? p->pf->nrets : p->pf->nparams); k++) {
            uint32_t index = pass ? p->pf->rets[k] : p->pf->params[k];
            if (p->m->vars[index].space != SP_REG && !p->param_word[index]) {
                p->param_word[index] = p->nptx + 1;
                p->nptx += (uint32_t)(p->m->vars[index].size_bytes + 3) / 4;
            }
        }
    for (uint32_t k = 0; p->pf->is_entry && k < p->pf->nparams; k++)
        p->param_word[p->pf->params[k]] = 0;
    p->var_bytes = (uint32_t)frame;
}

bool prove_ptx_graph(Prover *p) {
    const PtxFunc *f = p->pf;
    bool *leader = ARENA_ARRAY(&p->arena, bool, f->ninsns + 2);
    p->block_of = ARENA_ARRAY(&p->arena, uint32_t, f->ninsns + 2);
    leader[0] = true;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        if (f->insns[i].op == PTX_BRA)
            leader[f->labels[f->insns[i].operands[0].label].insn] = true;
        if (f->insns[i].op == PTX_BRX)
            return false;
        if (ends_block(&f->insns[i]))
            leader[i + 1] = true;
    }
    p->blocks = ARENA_ARRAY(&p->arena, PtxBlock, f->ninsns + 2);
    for (uint32_t i = 0; i <= f->ninsns; i++) {
        if (leader[i]) {
            p->blocks[p->nblocks] = (PtxBlock){.first = i, .end = i, .rpo = UINT32_MAX};
            p->nblocks++;
        }
        p->block_of[i] = p->nblocks - 1;
        if (i < f->ninsns)
            p->blocks[p->nblocks - 1].end = i + 1;
    }
    for (uint32_t b = 0; b < p->nblocks; b++) {
        PtxBlock *k = &p->blocks[b];
        const PtxInsn *last = k->end > k->first ? &f->insns[k->end - 1] : NULL;
        bool bra = last && last->op == PTX_BRA;
        if (bra)
            k->succ[k->nsucc++] = p->block_of[f->labels[last->operands[0].label].insn];
        bool falls = !last || !ends_block(last) || (bra && last->guard_reg);
        if (falls && b + 1 < p->nblocks)
            k->succ[k->nsucc++] = b + 1;
    }
    order(p);
    values(p);
    return true;
}

void prove_ptx_entry(Prover *p, Term **val) {
    Terms *ts = &p->ts;
    memset(val, 0, p->nptx * sizeof *val);
    val[p->carry] = ts->falsity;
    AbiPlan in;
    if (p->pf->is_entry)
        return;
    prove_abi(p, p->pf->params, p->pf->nparams, &in);
    for (uint32_t k = 0; k < in.n; k++) {
        uint32_t reg = p->pf->param_regs ? p->pf->param_regs[k] : 0;
        Term *lo = prove_input(p, "arg%u.0", k);
        if (reg) {
            unsigned w = prove_ptx_width(p, reg);
            val[reg] = w == 1    ? t_not(ts, t_eq(ts, lo, ts->zero))
                       : w == 64 ? t_pair(ts, lo, prove_input(p, "arg%u.1", k))
                                 : lo;
            unsigned bytes = ptx_type_bytes(p->pf->regs[reg].type);
            if (bytes && bytes < 4)
                val[reg] = t_zext_from(ts, lo, 8 * bytes);
            continue;
        }
        for (unsigned c = 0; c < in.at[k].words; c++)
            val[p->param_word[p->pf->params[k]] - 1 + c] = prove_input(p, "arg%u.%u", k, c);
    }
}
