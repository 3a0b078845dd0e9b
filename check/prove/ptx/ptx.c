/* Symbolic execution of PTX for one thread: registers, control flow, memory events.
 * SPDX-License-Identifier: MIT */
#include "check/prove/ptx/ptx.h"
#include "frontend/param_layout.h"
#include "frontend/texture.h"
#include <string.h>

void pv_fault(Ptx *ptx, const char *why) {
    if (!ptx->run->fault) {
        ptx->run->fault = why;
        ptx->run->fault_at = ptx->at;
    }
}

Term *pv_value(Ptx *ptx, uint32_t index) {
    Terms *ts = &ptx->prover->ts;
    /* Read before it was written: any value. It has none afterwards either: what follows holds for whatever
     * was read, so it still may have what the machine has for it. */
    Term *value = ptx->val[index] ? ptx->val[index]
                                  : t_var(ts, prove_ptx_width(ptx->prover, index),
                                          term_name(ts, "undefined %u", index), 0);
    return t_under(ts, value, ptx->full);
}
void pv_set(Ptx *ptx, uint32_t index, Term *v) {
    Terms *ts = &ptx->prover->ts;
    Term *g = t_under(ts, ptx->guard, ptx->pc);
    ptx->val[index] = g == ts->truth || !ptx->val[index] ? v : t_ite(ts, g, v, ptx->val[index]);
}

uint32_t prove_ptx_width(const Prover *prover, uint32_t value) {
    if (value == prover->carry)
        return 1;
    if (value > prover->carry)
        return value < prover->first_upper ? 32 : 64;
    PtxType t = prover->pf->regs[value].type;
    return t == TY_PRED ? 1 : ptx_type_bytes(t) >= 8 ? 64 : 32;
}

bool prove_ptx_short(const Prover *prover, uint32_t v) {
    return v < prover->carry && prover->pf->regs[v].type != TY_PRED &&
           ptx_type_bytes(prover->pf->regs[v].type) < 4;
}
const char *prove_ptx_name(const Prover *prover, uint32_t value) {
    return value < prover->carry         ? str_text(&prover->module->strings, prover->pf->regs[value].name)
           : value == prover->carry      ? "CC.CF"
           : value < prover->first_upper ? "a .param word"
                                         : "an upper half";
}

static Term *fit(Ptx *ptx, Term *term, unsigned width) {
    Terms *ts = &ptx->prover->ts;
    if (term->width == width || term->width == 1 || width == 1)
        return term;
    return width == 64 ? t_zext(ts, term) : t_lo(ts, term);
}

static Term *symbol(Ptx *ptx, const PtxOperand *operand) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    uint32_t index = operand->sym - 1;
    if (operand->sym & PTX_SYM_FUNC) {
        Term *function = prove_function_address(prover, (operand->sym & ~PTX_SYM_FUNC) - 1);
        return t_add(ts, function, t_const(ts, 64, (uint64_t)operand->imm));
    }
    const PtxVar *var = &prover->module->vars[index];
    Term *k = t_const(ts, 64, (uint64_t)operand->imm);
    if (ptx_is_texture(var) || ptx_is_behind(var))
        return pv_named_handle(ptx, operand);
    switch (var->space) {
    case SP_GLOBAL: return t_add(ts, prove_address(prover, index), k);
    case SP_SHARED: {
        if (!prover->shared)
            break;
        uint64_t base = isa_target_info(prover->flow->bin->target)->shared_base_bytes,
                 at =
                     ptx_shared_offset(prover->shared, (uint32_t)(prover->pf - prover->module->funcs), index);
        Term *place = t_add(ts, t_const(ts, 64, base + at), k);
        if (!isa_target_info(prover->flow->bin->target)->cluster_offset_bytes)
            return place;
        Term *rank = t_shl(ts, prove_input(prover, "cgactaid"), t_const(ts, 32, 24));
        return t_add(ts, t_zext(ts, rank), place);
    }
    case SP_CONST: return t_add(ts, t_const(ts, 64, prover->const_at[index]), k);
    case SP_LOCAL: {
        Term *base = t_sub(ts, prove_sp(prover),
                           t_const(ts, 32, prover->bf->frame_bytes - (prover->frame_offset[index] - 1)));
        return t_zext(ts, t_add(ts, base, t_lo(ts, k)));
    }
    case SP_PARAM:
        if (prover->pf->is_entry && !prover->param_word[index])
            return t_const(ts, 64,
                           isa_target_info(prover->flow->bin->target)->param_base_bytes +
                               prove_param_offset(prover, var) + (uint64_t)operand->imm);
        break;
    default: break;
    }
    pv_fault(ptx, "the address of a variable in this space is not modelled");
    return t_const(ts, 64, 0);
}

static const char too_wide[] = "a part of a register of 128 bits is not modelled";

Term *pv_half_src(Ptx *ptx, const PtxOperand *operand, unsigned half) {
    const Prover *prover = ptx->prover;
    if (operand->kind == PO_REG && prover->upper[operand->reg])
        return pv_value(ptx, half ? prover->upper[operand->reg] - 1 : operand->reg);
    if (operand->kind == PO_IMM) /* extended with zeros */
        return t_const(&ptx->prover->ts, 64, half ? 0 : (uint64_t)operand->imm);
    pv_fault(ptx, "an operand of 128 bits is not modelled");
    return t_const(&ptx->prover->ts, 64, 0);
}
void pv_half_dst(Ptx *ptx, const PtxOperand *operand, unsigned half, Term *term) {
    const Prover *prover = ptx->prover;
    if (operand->kind == PO_REG && prover->upper[operand->reg])
        pv_set(ptx, half ? prover->upper[operand->reg] - 1 : operand->reg, term);
    else if (operand->kind != PO_SINK)
        pv_fault(ptx, "a destination of 128 bits is not modelled");
}

Term *pv_src(Ptx *ptx, const PtxOperand *operand, PtxType t) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    unsigned bytes = pv_bytes(t), width = t == TY_PRED ? 1 : bytes == 8 ? 64 : 32;
    Term *v;
    switch (operand->kind) {
    case PO_REG:
        if (pv_bytes(prover->pf->regs[operand->reg].type) > 8)
            pv_fault(ptx, too_wide);
        v = pv_value(ptx, operand->reg);
        if (t == TY_PRED)
            return operand->not_ ? t_not(ts, v) : v;
        v = fit(ptx, v, width);
        if (operand->neg)
            v = t_scale(ts, v, ~0ull);
        break;
    case PO_IMM:
        if (width == 1)
            return t_bool(ts, operand->imm != 0);
        v = t_const(ts, width, (uint64_t)operand->imm);
        break;
    case PO_SYM: v = fit(ptx, symbol(ptx, operand), width); break;
    case PO_SREG: v = fit(ptx, prove_sreg(ptx, operand), width); break;
    default:
        pv_fault(ptx, "an operand is not modelled");
        return width == 1 ? ts->truth : t_const(ts, width, 0);
    }
    return bytes < 4 && bytes ? t_zext_from(ts, v, 8 * bytes) : v;
}
Term *pv_src_ext(Ptx *ptx, const PtxOperand *o, PtxType t) {
    Term *v = pv_src(ptx, o, t);
    return pv_signed(t) && pv_bytes(t) < 4 ? t_sext_from(&ptx->prover->ts, v, 8 * pv_bytes(t)) : v;
}

void pv_dst(Ptx *ptx, const PtxOperand *operand, PtxType t, Term *term) {
    Terms *ts = &ptx->prover->ts;
    if (operand->kind == PO_SINK)
        return;
    if (operand->kind != PO_REG) {
        pv_fault(ptx, "a destination is not modelled");
        return;
    }
    unsigned width = prove_ptx_width(ptx->prover, operand->reg), bytes = pv_bytes(t);
    if (pv_bytes(ptx->prover->pf->regs[operand->reg].type) > 8)
        pv_fault(ptx, too_wide);
    if (width == 1) {
        pv_set(ptx, operand->reg, term);
        return;
    }
    unsigned reg_bytes = pv_bytes(ptx->prover->pf->regs[operand->reg].type);
    if (bytes && bytes < 4 && bytes < reg_bytes && term->width == 32)
        term = pv_signed(t) ? t_sext_from(ts, term, 8 * bytes) : t_zext_from(ts, term, 8 * bytes);
    if (term->width == 32 && width == 64)
        term = pv_signed(t) ? t_sext(ts, term) : t_zext(ts, term);
    if (term->width == 64 && width == 32)
        term = t_lo(ts, term);
    pv_set(ptx, operand->reg, reg_bytes < 4 ? t_zext_from(ts, term, 8 * reg_bytes) : term);
}

Term *pv_event(Ptx *ptx, unsigned lists, const char *name, Term *const *args, uint32_t n) {
    Term *what = NULL;
    for (unsigned s = NMEM; s-- > 0;)
        if (lists >> s & 1)
            ptx->mem[s] = t_event(&ptx->prover->ts, ptx->mem[s], ptx->full, name, 0, args, n, &what);
    return what;
}

Term *pv_symbol(Ptx *x, const PtxOperand *o) { return symbol(x, o); }

/* ---- control flow ---- */
/* A copy of the values; behind `block` only those that are still read. */
static Term **kept(const Ptx *ptx, uint32_t block) {
    Prover *prover = ptx->prover;
    Term **val = arena_copy(prover->run_arena, ptx->val, prover->nptx * sizeof *ptx->val);
    for (uint32_t v = 0; block != PROVE_NO_BLOCK && v < prover->nptx; v++)
        if (!prove_ptx_wanted(prover, block, v))
            val[v] = NULL;
    return val;
}

void pv_leave(Ptx *ptx, ExitKind kind, uint32_t target, Term *cond) {
    Exit e = {kind, target, ptx->at, cond, kept(ptx, kind == EX_CUT ? target : PROVE_NO_BLOCK)};
    VEC_ADD(ptx->prover->run_arena, &ptx->run->exits, e);
}

static void pv_arrive(Ptx *ptx, uint32_t b, Term *cond) {
    Terms *ts = &ptx->prover->ts;
    if (cond == ts->falsity)
        return;
    if (ptx->stop[b] == STOP_HERE) {
        pv_leave(ptx, EX_CUT, b, cond);
        return;
    }
    if (!ptx->reach[b]) {
        ptx->reach[b] = cond;
        ptx->in_val[b] = kept(ptx, b);
        return;
    }
    Term *both = t_or(ts, ptx->reach[b], cond), *first = t_under(ts, cond, both);
    ptx->reach[b] = both;
    ptx->run->guarded = true;
    for (uint32_t v = 0; v < ptx->prover->nptx; v++) {
        Term *old = ptx->in_val[b][v];
        if (!prove_ptx_wanted(ptx->prover, b, v))
            continue;
        if (old && ptx->val[v])
            ptx->in_val[b][v] = prove_merged(ptx->prover, first, both, ptx->val[v], old);
        else if (!old)
            ptx->in_val[b][v] = ptx->val[v];
    }
}

static Term *not_guard(Ptx *ptx) {
    return t_and(&ptx->prover->ts, ptx->pc, t_not(&ptx->prover->ts, ptx->guard));
}

bool prove_ptx_bra(Ptx *ptx) {
    PtxBlock *b = &ptx->prover->blocks[ptx->prover->block_of[ptx->at]];
    if (ptx->in->guard_reg && b->nsucc == 2)
        pv_arrive(ptx, b->succ[1], not_guard(ptx));
    pv_arrive(ptx, b->succ[0], ptx->full);
    return ptx->flow = ptx->gone = true;
}
enum { SHORT_TABLE = 3 }; /* entries of a table that is no table in the code */

/* When entry k of a table of n is taken: as the comparisons of a short one tell, or by the place in the table
 * of a long one (bits of the index that a shift by 2 loses are zero below n). */
static Term *entry_taken(Ptx *ptx, Term *index, uint32_t k, uint32_t n, Term *rest) {
    Terms *ts = &ptx->prover->ts;
    Term *here = n <= SHORT_TABLE ? t_ult(ts, index, pv_k32(ptx, k + 1))
                                  : t_eq(ts, t_scale(ts, index, 4), pv_k32(ptx, 4ull * k));
    return k + 1 == n ? rest : t_and(ts, rest, here);
}

/* Outside of its table: undefined in PTX, a trap here and there. */
bool prove_ptx_brx(Ptx *ptx) {
    Prover *prover = ptx->prover;
    Terms *ts = &prover->ts;
    const PtxBlock *b = &prover->blocks[prover->block_of[ptx->at]];
    if (!ptx->in->table)
        return false;
    uint32_t n = prover->pf->branch_tables[ptx->in->table - 1].n;
    Term *index = pv_src(ptx, pv_operand(ptx, 0), TY_U32), *inside = t_ult(ts, index, pv_k32(ptx, n));
    Term *outside = t_and(ts, ptx->full, t_not(ts, inside)), *rest = t_and(ts, ptx->full, inside);
    VEC_ADD(prover->run_arena, &ptx->run->accesses,
            ((Access){rest, t_under(ts, t_scale(ts, index, 4), rest), MEM_TABLE, 4 * n, ptx->at, false}));
    if (outside != ts->falsity)
        pv_leave(ptx, EX_TRAP, 0, outside);
    for (uint32_t k = 0; k < n; k++) {
        Term *taken = entry_taken(ptx, index, k, n, rest);
        pv_arrive(ptx, b->succ[k], taken);
        rest = t_and(ts, rest, t_not(ts, taken));
    }
    if (ptx->in->guard_reg && b->nsucc > n)
        pv_arrive(ptx, b->succ[n], not_guard(ptx));
    return ptx->flow = ptx->gone = true;
}
static bool ends(Ptx *ptx, ExitKind kind) {
    const Term *never = ptx->prover->ts.falsity;
    if (ptx->full != never)
        pv_leave(ptx, kind, 0, ptx->full);
    ptx->pc = not_guard(ptx);
    ptx->gone = ptx->pc == never;
    return ptx->flow = true;
}
bool prove_ptx_ret(Ptx *ptx) { return ends(ptx, ptx->prover->pf->is_entry ? EX_END : EX_RET); }
bool prove_ptx_exit(Ptx *ptx) { return ends(ptx, EX_END); }
bool prove_ptx_trap(Ptx *ptx) { return ends(ptx, EX_TRAP); }

/* By form: its meaning, or why it has none. */
static const struct {
    ProvePtx *run;
    const char *absent;
} forms[] = {
    {0},
#define PROVE(name) prove_ptx_##name
#define prove_ptx_ABSENT(reason) NULL, .absent = reason
#define PTX_FORM(op, mods, operands, select, guard, interp, prove, weight, section, version, target)         \
    {.run = prove},
#include "frontend/ptx_forms.def"
#undef PROVE
#undef prove_ptx_ABSENT
};

bool prove_ptx_orders_warps(const Prover *prover) {
    for (uint32_t i = 0; i < prover->pf->ninsns; i++)
        if (forms[prover->pf->insns[i].form].run == prove_ptx_warp_barrier)
            return true;
    return false;
}

static unsigned watched_by(Prover *prover, const PtxInsn *in) {
    Ptx ptx = {.prover = prover, .in = in};
    bool store = in->op == PTX_ST;
    unsigned order = pv_order(in);
    if (in->op == PTX_ATOM || in->op == PTX_RED) /* perhaps a loop, which begins with a strong load */
        return 1u << MEM_GLOBAL;
    if ((!store && in->op != PTX_LD) || order == MemOrder_WEAK)
        return 0;
    PtxSpace space = pv_space(&ptx, pv_operand(&ptx, store ? 0 : 1));
    return space == SP_SHARED ? 1u << MEM_SHARED : order != MemOrder_CONSTANT ? 1u << MEM_GLOBAL : 0;
}

unsigned prove_ptx_watched(Prover *prover, uint32_t block, const uint8_t *stop) {
    ArenaMark mark = arena_mark(&prover->arena);
    bool *seen = ARENA_ARRAY(&prover->arena, bool, prover->nblocks);
    unsigned found = 0;
    uint32_t *stack = ARENA_ARRAY(&prover->arena, uint32_t, prover->nblocks + 1), n = 0;
    stack[n++] = block;
    seen[block] = true;
    while (n) {
        const PtxBlock *b = &prover->blocks[stack[--n]];
        for (uint32_t i = b->first; i < b->end; i++)
            found |= watched_by(prover, &prover->pf->insns[i]);
        for (uint32_t k = 0; k < b->nsucc; k++)
            if (!seen[b->succ[k]] && stop[b->succ[k]] != STOP_HERE) {
                seen[b->succ[k]] = true;
                stack[n++] = b->succ[k];
            }
    }
    arena_release(&prover->arena, mark);
    return found;
}

static void run_statement(Ptx *ptx) {
    const PtxInsn *in = ptx->in;
    const char *absent = forms[in->form].absent;
    ptx->flow = ptx->gone = false;
    if (absent || !forms[in->form].run(ptx))
        pv_fault(ptx, term_name(&ptx->prover->ts, "%s%s is not modelled%s%s", ptx_op_name((PtxOp)in->op),
                                str_text(&ptx->prover->module->strings, in->mods_text), absent ? ": " : "",
                                absent ? absent : ""));
    if (in->guard_reg && !ptx->flow)
        ptx->run->guarded = true;
}

static void ptx_block(Ptx *ptx, uint32_t index) {
    PtxBlock *b = &ptx->prover->blocks[index];
    Terms *ts = &ptx->prover->ts;
    for (uint32_t i = b->first; i < b->end && !ptx->run->fault; i++) {
        ptx->at = i;
        ptx->in = &ptx->prover->pf->insns[i];
        if (i < ptx->run->first)
            ptx->run->first = i;
        if (i > ptx->run->last)
            ptx->run->last = i;
        ptx->full = ptx->pc;
        ptx->guard = ts->truth;
        if (ptx->in->guard_reg) {
            ptx->guard = pv_value(ptx, ptx->in->guard_reg);
            if (ptx->in->guard_not)
                ptx->guard = t_not(ts, ptx->guard);
        }
        ptx->full = t_and(ts, ptx->pc, ptx->guard);
        run_statement(ptx);
        if (ptx->gone)
            return;
        prove_rows_after_statement(ptx->prover, ptx->run, i, ptx->val);
    }
    if (ptx->run->fault)
        return;
    if (b->end >= ptx->prover->pf->ninsns && b->nsucc == 0) { /* the end of the body returns */
        pv_leave(ptx, ptx->prover->pf->is_entry ? EX_END : EX_RET, 0, ptx->pc);
        return;
    }
    if (b->nsucc)
        pv_arrive(ptx, b->succ[b->nsucc - 1], ptx->pc);
}

/* A loop without counterpart is followed round by round, which ends where what it counts is known. A round
 * that not all begin is one of many ways. */
enum { MOST_ROUNDS = 256, UNDECIDED = 16 };

/* Is a loop that holds block `b`, and has no counterpart, being followed, and `other` not in it or where its
 * next round begins? */
static bool goes_first(const Ptx *ptx, uint32_t b, uint32_t other) {
    const LoopForest *loops = &ptx->prover->ptx_loops;
    for (uint32_t loop = loops->innermost[b]; loop != NO_NODE; loop = loops->at[loop].parent) {
        uint32_t header = loops->at[loop].header;
        if (ptx->stop[header] != STOP_HERE && ptx->entered[header] &&
            (other == header ? b != header : !loop_contains(loops, loop, other)))
            return true;
    }
    return false;
}

/* Begins another round where one has been begun; false: that is too many. */
static bool begins_round(Ptx *ptx, uint32_t b) {
    if (ptx->prover->blocks[b].header && ptx->entered[b])
        ptx->rounds += ptx->pc == ptx->entered[b] ? 1 : UNDECIDED;
    if (ptx->rounds > MOST_ROUNDS)
        pv_fault(ptx, "a loop of the PTX has no counterpart in the machine code");
    ptx->entered[b] = ptx->pc;
    return !ptx->run->fault;
}

/* The first block, in order, that is come to; the next round of a loop is left until nothing is in this one
 * any more, and what is behind it until nothing goes round. The number of all: none. */
static uint32_t next_block(const Ptx *ptx) {
    const Prover *prover = ptx->prover;
    uint32_t best = prover->nrpo;
    for (uint32_t k = 0; k < prover->nrpo; k++)
        if (ptx->reach[prover->rpo[k]] &&
            (best == prover->nrpo || goes_first(ptx, prover->rpo[k], prover->rpo[best])))
            best = k;
    return best;
}

void prove_ptx_run(Prover *prover, uint32_t block, Term *const *val, Term *const *mem, const uint8_t *stop,
                   Run *run) {
    bool entry = prover->pf->is_entry && !block && !prover->blocks[block].header;
    Ptx x = {.prover = prover,
             .run = run,
             .stop = arena_copy(prover->run_arena, stop, prover->nblocks * sizeof *stop),
             .together = entry ? t_const(&prover->ts, 32, UINT32_MAX) : prover->anyone};
    *run = (Run){.first = UINT32_MAX};
    x.mem = run->mem;
    x.first_mem = mem;
    memcpy(run->mem, mem, sizeof run->mem);
    x.reach = ARENA_ARRAY(prover->run_arena, Term *, prover->nblocks);
    x.in_val = ARENA_ARRAY(prover->run_arena, Term **, prover->nblocks);
    x.entered = ARENA_ARRAY(prover->run_arena, Term *, prover->nblocks);
    x.reach[block] = prover->ts.truth;
    x.in_val[block] = arena_copy(prover->run_arena, val, prover->nptx * sizeof *val);
    for (uint32_t k; !run->fault && !prover->ts.overflow && (k = next_block(&x)) < prover->nrpo;) {
        uint32_t b = prover->rpo[k];
        x.rpo = k;
        x.pc = x.reach[b];
        x.val = x.in_val[b];
        x.reach[b] = NULL;
        if (x.stop[b] > STOP_HERE)
            x.stop[b]--;
        if (begins_round(&x, b))
            ptx_block(&x, b);
    }
}

void prove_ptx_stay(Prover *prover, uint32_t block, Term *const *val, Term *const *mem, Run *run) {
    *run = (Run){.first = UINT32_MAX};
    memcpy(run->mem, mem, sizeof run->mem);
    Exit e = {EX_CUT, block, prover->blocks[block].first, prover->ts.truth, NULL};
    e.val = arena_copy(prover->run_arena, val, prover->nptx * sizeof *val);
    VEC_ADD(prover->run_arena, &run->exits, e);
}

/* ---- the graph ---- */
static bool ends_block(const PtxInsn *in) {
    return ptx_leaves(in) && (in->op == PTX_BRA || in->op == PTX_BRX || !in->guard_reg);
}

static void order(Prover *prover) { /* reverse post-order with an explicit stack */
    uint32_t *stack = ARENA_ARRAY(&prover->arena, uint32_t, prover->nblocks + 1),
             *next = ARENA_ARRAY(&prover->arena, uint32_t, prover->nblocks + 1);
    uint8_t *state = ARENA_ARRAY(&prover->arena, uint8_t, prover->nblocks + 1);
    uint32_t *post = ARENA_ARRAY(&prover->arena, uint32_t, prover->nblocks + 1), n = 0, depth = 0;
    stack[depth++] = 0;
    state[0] = 1;
    while (depth) {
        uint32_t b = stack[depth - 1];
        if (next[b] < prover->blocks[b].nsucc) {
            uint32_t s = prover->blocks[b].succ[next[b]++];
            if (!state[s]) {
                state[s] = 1;
                stack[depth++] = s;
            } else if (state[s] == 1)
                prover->blocks[s].header = true;
            continue;
        }
        state[b] = 2;
        post[n++] = b;
        depth--;
    }
    prover->rpo = ARENA_ARRAY(&prover->arena, uint32_t, n + 1);
    prover->nrpo = n;
    for (uint32_t i = 0; i < n; i++) {
        prover->rpo[i] = post[n - 1 - i];
        prover->blocks[prover->rpo[i]].rpo = i;
    }
}

static void values(Prover *prover) {
    prover->carry = prover->pf->nregs;
    prover->nptx = prover->carry + 1;
    prover->param_word = ARENA_ARRAY(&prover->arena, uint32_t, prover->module->nvars + 1);
    prover->frame_offset = ARENA_ARRAY(&prover->arena, uint32_t, prover->module->nvars + 1);
    uint64_t frame = 0;
    for (uint32_t k = 0; k < prover->pf->nvars; k++) {
        const PtxVar *var = &prover->module->vars[prover->pf->vars[k]];
        uint64_t align = var->align_bytes ? var->align_bytes : 1;
        if (var->space == SP_LOCAL) {
            frame = (frame + align - 1) / align * align;
            prover->frame_offset[prover->pf->vars[k]] = (uint32_t)frame + 1;
            frame += var->size_bytes;
        }
        if (var->space == SP_PARAM || var->space == SP_PARAM_FUNC) {
            prover->param_word[prover->pf->vars[k]] = prover->nptx + 1;
            prover->nptx += (uint32_t)(var->size_bytes + 3) / 4;
        }
    }
    for (int pass = 0; !prover->pf->is_entry && pass < 2; pass++)
        for (uint32_t k = 0; k < (pass ? prover->pf->nrets : prover->pf->nparams); k++) {
            uint32_t index = pass ? prover->pf->rets[k] : prover->pf->params[k];
            if (prover->module->vars[index].space != SP_REG && !prover->param_word[index]) {
                prover->param_word[index] = prover->nptx + 1;
                prover->nptx += (uint32_t)(prover->module->vars[index].size_bytes + 3) / 4;
            }
        }
    for (uint32_t k = 0; prover->pf->is_entry && k < prover->pf->nparams; k++)
        prover->param_word[prover->pf->params[k]] = 0;
    prover->first_upper = prover->nptx;
    prover->upper = ARENA_ARRAY(&prover->arena, uint32_t, prover->pf->nregs + 1);
    for (uint32_t reg = 1; reg < prover->pf->nregs; reg++)
        if (ptx_type_bytes(prover->pf->regs[reg].type) == 16)
            prover->upper[reg] = ++prover->nptx;
    prover->var_bytes = (uint32_t)frame;
}

static const PtxBranchTable *table_of(const PtxFunc *f, uint32_t insn) {
    return &f->branch_tables[f->insns[insn].table - 1];
}

uint32_t prove_ptx_table_entries(const Prover *prover, uint32_t offset) {
    const PtxFunc *f = prover->pf;
    for (uint32_t i = 0, at = 0; i < f->ninsns; i++) {
        uint32_t n = f->insns[i].op == PTX_BRX ? table_of(f, i)->n : 0, other = 0;
        for (uint32_t k = 1; k < n; k++)
            other += f->labels[table_of(f, i)->labels[k]].insn != f->labels[table_of(f, i)->labels[0]].insn;
        if (n <= SHORT_TABLE || !other)
            continue;
        if (at == offset)
            return n;
        at += 4 * n;
    }
    return 0;
}

static LoopForest loops_of(Prover *prover) {
    VEC(GraphEdge) edges = {0};
    for (uint32_t b = 0; b < prover->nblocks; b++)
        for (uint32_t k = 0; k < prover->blocks[b].nsucc; k++)
            VEC_ADD(&prover->arena, &edges, ((GraphEdge){b, prover->blocks[b].succ[k]}));
    Graph graph = graph_new(&prover->arena, prover->nblocks, edges.at, edges.n);
    return loop_forest(&prover->arena, &graph, 0);
}

bool prove_ptx_graph(Prover *prover) {
    const PtxFunc *f = prover->pf;
    bool *leader = ARENA_ARRAY(&prover->arena, bool, f->ninsns + 2);
    prover->block_of = ARENA_ARRAY(&prover->arena, uint32_t, f->ninsns + 2);
    leader[0] = true;
    for (uint32_t i = 0; i < f->ninsns; i++) {
        if (f->insns[i].op == PTX_BRA)
            leader[f->labels[f->insns[i].operands[0].label].insn] = true;
        if (f->insns[i].op == PTX_BRX && !f->insns[i].table)
            return false;
        for (uint32_t k = 0; f->insns[i].op == PTX_BRX && k < table_of(f, i)->n; k++)
            leader[f->labels[table_of(f, i)->labels[k]].insn] = true;
        if (ends_block(&f->insns[i]))
            leader[i + 1] = true;
    }
    prover->blocks = ARENA_ARRAY(&prover->arena, PtxBlock, f->ninsns + 2);
    for (uint32_t i = 0; i <= f->ninsns; i++) {
        if (leader[i]) {
            prover->blocks[prover->nblocks] = (PtxBlock){.first = i, .end = i, .rpo = UINT32_MAX};
            prover->nblocks++;
        }
        prover->block_of[i] = prover->nblocks - 1;
        if (i < f->ninsns)
            prover->blocks[prover->nblocks - 1].end = i + 1;
    }
    for (uint32_t b = 0; b < prover->nblocks; b++) {
        PtxBlock *block = &prover->blocks[b];
        const PtxInsn *last = block->end > block->first ? &f->insns[block->end - 1] : NULL;
        bool bra = last && last->op == PTX_BRA, brx = last && last->op == PTX_BRX;
        const PtxBranchTable *table = brx ? table_of(f, block->end - 1) : NULL;
        block->succ = ARENA_ARRAY(&prover->arena, uint32_t, (table ? table->n : 1) + 1);
        if (bra)
            block->succ[block->nsucc++] = prover->block_of[f->labels[last->operands[0].label].insn];
        for (uint32_t k = 0; table && k < table->n; k++)
            block->succ[block->nsucc++] = prover->block_of[f->labels[table->labels[k]].insn];
        bool falls = !last || !ends_block(last) || ((bra || brx) && last->guard_reg);
        if (falls && b + 1 < prover->nblocks)
            block->succ[block->nsucc++] = b + 1;
    }
    order(prover);
    prover->ptx_loops = loops_of(prover);
    values(prover);
    prove_ptx_live(prover);
    return true;
}

void prove_ptx_entry(Prover *prover, Term **val) {
    Terms *ts = &prover->ts;
    memset(val, 0, prover->nptx * sizeof *val);
    val[prover->carry] = ts->falsity;
    AbiPlan in;
    if (prover->pf->is_entry)
        return;
    prove_abi(prover, prover->pf->params, prover->pf->nparams, &in);
    for (uint32_t k = 0; k < in.n; k++) {
        uint32_t reg = prover->pf->param_regs ? prover->pf->param_regs[k] : 0;
        Term *lo = prove_input(prover, "arg%u.0", k);
        if (reg && prover->upper[reg])
            val[prover->upper[reg] - 1] =
                t_pair(ts, prove_input(prover, "arg%u.2", k), prove_input(prover, "arg%u.3", k));
        if (reg) {
            unsigned w = prove_ptx_width(prover, reg);
            val[reg] = w == 1    ? t_not(ts, t_eq(ts, lo, ts->zero))
                       : w == 64 ? t_pair(ts, lo, prove_input(prover, "arg%u.1", k))
                                 : lo;
            unsigned bytes = ptx_type_bytes(prover->pf->regs[reg].type);
            if (bytes && bytes < 4)
                val[reg] = t_zext_from(ts, lo, 8 * bytes);
            continue;
        }
        for (unsigned c = 0; c < in.at[k].words; c++)
            val[prover->param_word[prover->pf->params[k]] - 1 + c] = prove_input(prover, "arg%u.%u", k, c);
    }
}
