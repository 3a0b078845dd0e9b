/* Uniformity (divergence) analysis of a whole module. In: SSA. Out: Value.uniform, Block.uniform_flow,
 * Function.uniform_entry.
 *
 * Everything starts uniform; divergence spreads along data (users of a divergent value), along control (phis
 * where the sides of a divergent branch meet, values that leave a loop in different iterations) and along
 * calls. "Uniform" is said of one dynamic instance of a definition: lanes that are at different instances are
 * not compared, and uniform lanes need not be converged. Reconvergence uses it to leave out barriers, which
 * is a matter of speed alone; who keeps a value in UR must know besides that the lanes are converged.
 *
 * One list of work for the whole module: each value becomes divergent once, and then each of its users is
 * looked at once; an argument of a call is used by the callee's parameter, a returned value by the results of
 * the calls. So the time is linear in the program, whatever its call graph. lower/diverge.c has what follows
 * from a branch. SPDX-License-Identifier: MIT */
#include "ir/callgraph.h"
#include "ir/cfg.h"
#include "lower/passes.h"
#include "lower/uniform.h"
#include <string.h>

typedef struct {
    Function *f;
    bool analysed; /* it has blocks */
    Divergence control;
    UniUses uses;
    bool *divergent;      /* [value] */
    uint32_t nreturns;    /* RET instructions */
    bool entry_divergent; /* it may be entered by some lanes of the warp only */
} FuncState;

typedef struct {
    uint32_t func, value;
} FuncValue;

typedef struct {
    IrModule *module;
    Arena *a;
    CallGraph calls;
    FuncState *fs;
    VEC(FuncValue) work;   /* divergent values whose users are to be looked at */
    VEC(uint32_t) entered; /* functions whose entry has become divergent */
} Uniform;

static void mark_value(Uniform *uniform, FuncState *state, uint32_t v) {
    if (state->divergent[v])
        return;
    state->divergent[v] = true;
    VEC_ADD(uniform->a, &uniform->work, ((FuncValue){state->f->index, v}));
}

static bool operand_divergent(const FuncState *state, Operand o) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
        if (state->divergent[ir_operand_value(state->f, o, c).i])
            return true;
    return false;
}

static void mark_dsts(Uniform *uniform, FuncState *state, const Inst *i) {
    FOR_DSTS(state->f, i, dst)
        for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++)
            mark_value(uniform, state, ir_operand_value(state->f, *dst, c).i);
}

/* ---- what an instruction makes ---- */

static bool sreg_uniform(const Target *target, unsigned number) {
    enum IsaVaries varies = isa_sreg_varies(target, number);
    return varies == ISA_VARIES_WARP || varies == ISA_VARIES_MOVES;
}

static bool full_mask(FuncState *state, const Inst *i) {
    unsigned n = isa_num_src(i->op);
    if (!(i->flags & IF_SYNC) || i->nsrc <= n)
        return false;
    Operand m = *ir_src(state->f, i, n);
    return m.kind == OPK_IMM && m.value == UINT32_MAX;
}

enum { MAKES_UNIFORM, MAKES_DIVERGENT, MAKES_BY_DATA };

static unsigned makes(FuncState *state, const Inst *i) {
    switch (i->op) {
    case IR_RELOAD: return MAKES_DIVERGENT;
    case IR_UNDEF: return MAKES_UNIFORM;
    case IR_FRAME_ADDR: /* R1 is the warp's where all lanes were called together */
        return state->entry_divergent ? MAKES_DIVERGENT : MAKES_UNIFORM;
    case OT_CALL:
    case IR_ENTRY: return MAKES_UNIFORM; /* marked from the other side */
    default: break;
    }
    switch ((enum IsaUniform)isa_traits(i->op)->uniform) {
    case ISA_UNIFORM_BY_SREG: {
        Operand o = *ir_src(state->f, i, 0);
        bool uniform = o.kind == OPK_SREG && sreg_uniform(state->f->module->target, o.value);
        return uniform ? MAKES_UNIFORM : MAKES_DIVERGENT;
    }
    case ISA_UNIFORM_TOGETHER: return full_mask(state, i) ? MAKES_UNIFORM : MAKES_DIVERGENT;
    case ISA_UNIFORM_NEVER: return MAKES_DIVERGENT;
    case ISA_UNIFORM_ALWAYS: return MAKES_UNIFORM;
    case ISA_UNIFORM_NO_RESULT:
    case ISA_UNIFORM_BY_DATA:
    case ISA_UNIFORM_COUNT: break;
    }
    return MAKES_BY_DATA;
}

static bool inputs_divergent(FuncState *state, const Inst *i) {
    FOR_READS(state->f, i, read)
        if (operand_divergent(state, *read))
            return true;
    return false;
}

/* ---- control ---- */

static bool is_branch(const Inst *i) { return isa_is_jump(i->op) && !(i->flags & IF_UNIFORM); }

static void mark_phis(Uniform *uniform, FuncState *state, uint32_t block) {
    FOR_PHIS(state->f, (BlockId){block}, phi)
        if (uniform_phi_chooses(state->f, phi))
            mark_dsts(uniform, state, phi);
}

/* ---- calls ---- */

/* The operand among a call's, an entry's or a return's that is held in register r; OPK_NONE if none. */
static bool find_fixed(const FuncState *state, const Inst *i, bool dsts, int r, Operand *out) {
    unsigned from = dsts ? 0 : i->ndst, to = dsts ? i->ndst : i->ndst + (unsigned)i->nsrc;
    for (unsigned k = from; k < to; k++) {
        Operand o = state->f->operands.at[i->operand + k];
        for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
            ValId v = ir_operand_value(state->f, o, c);
            if (ir_value(state->f, v)->fixed_reg == r && ir_value(state->f, v)->file == RF_R) {
                *out = ir_val(state->f, v);
                return true;
            }
        }
    }
    return false;
}

static Inst *entry_inst(FuncState *state) {
    const Block *b = ir_block(state->f, state->f->entry);
    Inst *i = b->insts.n ? ir_inst(state->f, b->insts.at[0]) : NULL;
    return i && i->op == IR_ENTRY ? i : NULL;
}

static void enter_apart(Uniform *uniform, uint32_t func) {
    FuncState *callee = &uniform->fs[func];
    if (!callee->analysed || callee->entry_divergent)
        return;
    callee->entry_divergent = true;
    VEC_ADD(uniform->a, &uniform->entered, func);
}

/* Parameters of the callee in register r, or (r < 0) those for which the call has no argument. */
static void mark_params(Uniform *uniform, FuncState *callee, int r, const FuncState *caller,
                        const Inst *call) {
    const Inst *entry = entry_inst(callee);
    if (!entry)
        return;
    FOR_DSTS(callee->f, entry, dst) {
        for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++) {
            ValId param = ir_operand_value(callee->f, *dst, c);
            int reg = ir_value(callee->f, param)->fixed_reg;
            Operand arg;
            if (r < 0 ? !find_fixed(caller, call, false, reg, &arg) : reg == r)
                mark_value(uniform, callee, param.i);
        }
    }
}

/* Results of the call in register r. */
static void mark_results(Uniform *uniform, FuncState *caller, const Inst *call, int r) {
    FOR_DSTS(caller->f, call, dst) {
        for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++) {
            ValId v = ir_operand_value(caller->f, *dst, c);
            if (ir_value(caller->f, v)->fixed_reg == r)
                mark_value(uniform, caller, v.i);
        }
    }
}

static const Inst *site_inst(const Uniform *uniform, uint32_t site, FuncState **caller) {
    *caller = &uniform->fs[uniform->calls.sites[site].caller];
    return ir_inst((*caller)->f, uniform->calls.sites[site].inst);
}

/* Lanes return from different places with different instances: no result is known to be uniform. */
static void mark_all_results(Uniform *uniform, const FuncState *callee) {
    CALLS_INTO(&uniform->calls, callee->f->index, at) {
        FuncState *caller;
        const Inst *call = site_inst(uniform, *at, &caller);
        if (caller->analysed)
            mark_dsts(uniform, caller, call);
    }
}

/* A value that stands in a register at RET has become divergent. */
static void return_value(Uniform *uniform, FuncState *callee, const Inst *ret, ValId v) {
    Operand held;
    int r = ir_value(callee->f, v)->fixed_reg;
    if (!find_fixed(callee, ret, false, r, &held) || held.value != v.i)
        return;
    CALLS_INTO(&uniform->calls, callee->f->index, at) {
        FuncState *caller;
        const Inst *call = site_inst(uniform, *at, &caller);
        uniform->module->steps++;
        if (caller->analysed)
            mark_results(uniform, caller, call, r);
    }
}

/* A value that a call hands over has become divergent. */
static void pass_value(Uniform *uniform, FuncState *caller, const Inst *call, ValId v) {
    const Function *f = ir_callee(caller->f, call);
    Operand held;
    int r = ir_value(caller->f, v)->fixed_reg;
    if (!f || !uniform->fs[f->index].analysed)
        return;
    if (operand_divergent(caller, call->guard))
        enter_apart(uniform, f->index);
    if (find_fixed(caller, call, false, r, &held) && held.value == v.i)
        mark_params(uniform, &uniform->fs[f->index], r, caller, call);
}

/* What holds of a call whatever is divergent. */
static void start_call(Uniform *uniform, FuncState *caller, const Inst *call) {
    const Function *f = ir_callee(caller->f, call);
    if (!f || !uniform->fs[f->index].analysed || uniform->fs[f->index].nreturns == 0) {
        mark_dsts(uniform, caller, call);
        if (!f || !uniform->fs[f->index].analysed)
            return;
    }
    mark_params(uniform, &uniform->fs[f->index], -1, caller, call);
}

/* Results that some RET does not give. */
static void start_return(Uniform *uniform, FuncState *callee, const Inst *ret) {
    CALLS_INTO(&uniform->calls, callee->f->index, at) {
        FuncState *caller;
        const Inst *call = site_inst(uniform, *at, &caller);
        if (!caller->analysed)
            continue;
        FOR_DSTS(caller->f, call, dst) {
            for (unsigned c = 0; dst->kind == OPK_VAL && c < dst->count; c++) {
                ValId v = ir_operand_value(caller->f, *dst, c);
                Operand held;
                if (!find_fixed(callee, ret, false, ir_value(caller->f, v)->fixed_reg, &held))
                    mark_value(uniform, caller, v.i);
            }
        }
    }
}

/* ---- the fixpoint ---- */

/* Some lanes may not come to the block. */
static void flow_apart(Uniform *uniform, FuncState *state, uint32_t block) {
    FOR_INSTS(state->f, (BlockId){block}, i) {
        uniform->module->steps++;
        const Function *callee = i->op == OT_CALL ? ir_callee(state->f, i) : NULL;
        if (callee)
            enter_apart(uniform, callee->index);
        if (i->op == OT_RET && state->nreturns > 1)
            mark_all_results(uniform, state);
    }
}

static void take_answers(Uniform *uniform, FuncState *state) {
    Divergence *c = &state->control;
    while (c->joins.n)
        mark_phis(uniform, state, c->joins.at[--c->joins.n]);
    while (c->leaves.n)
        mark_value(uniform, state, c->leaves.at[--c->leaves.n]);
    while (c->flows.n)
        flow_apart(uniform, state, c->flows.at[--c->flows.n]);
}

/* `reads_divergent`: it is known to read a divergent value. */
static void visit_inst(Uniform *uniform, FuncState *state, uint32_t id, bool reads_divergent) {
    const Inst *i = ir_inst(state->f, (InstId){id});
    uint32_t block = state->uses.inst_block[id];
    uniform->module->steps += 1 + i->ndst;
    if (i->op == IR_PARCOPY) { /* each destination has its own source */
        FOR_DSTS(state->f, i, dst)
            if (operand_divergent(state, *ir_src(state->f, i, AT(dst))) && dst->kind == OPK_VAL)
                mark_value(uniform, state, ir_operand_value(state->f, *dst, 0).i);
        return;
    }
    unsigned m = makes(state, i);
    if (m == MAKES_DIVERGENT || (m == MAKES_BY_DATA && (reads_divergent || inputs_divergent(state, i))) ||
        (m == MAKES_UNIFORM && operand_divergent(state, i->guard)))
        mark_dsts(uniform, state, i);
    if (is_branch(i) && ir_block(state->f, (BlockId){block})->succs.n > 1 &&
        (reads_divergent || inputs_divergent(state, i)))
        uniform_diverge(&state->control, block);
    if (i->op == OT_RET && operand_divergent(state, i->guard))
        uniform_return_early(&state->control, block);
    take_answers(uniform, state);
}

/* Frame addresses differ now, and its callees are entered as it is. */
static void visit_entered(Uniform *uniform, FuncState *state) {
    FOR_BLOCKS(state->f, b) {
        uniform->module->steps += ir_num_insts(state->f, b);
        FOR_INST_IDS(state->f, b, id)
            if (ir_inst(state->f, id)->op == IR_FRAME_ADDR)
                visit_inst(uniform, state, id.i, false);
    }
    CALL_SITES(&uniform->calls, state->f->index, site)
        if (site->callee != NO_NODE)
            enter_apart(uniform, site->callee);
}

static void visit_users(Uniform *uniform, FuncState *state, uint32_t v) {
    for (uint32_t k = state->uses.user_at[v]; k < state->uses.user_at[v + 1]; k++) {
        const Inst *i = ir_inst(state->f, (InstId){state->uses.users[k]});
        visit_inst(uniform, state, state->uses.users[k], true);
        if (i->op == OT_CALL)
            pass_value(uniform, state, i, (ValId){v});
        else if (i->op == OT_RET)
            return_value(uniform, state, i, (ValId){v});
    }
}

static void drain(Uniform *uniform) {
    while (uniform->work.n || uniform->entered.n) {
        if (uniform->entered.n) {
            visit_entered(uniform, &uniform->fs[uniform->entered.at[--uniform->entered.n]]);
            continue;
        }
        FuncValue next = uniform->work.at[--uniform->work.n];
        visit_users(uniform, &uniform->fs[next.func], next.value);
    }
}

static void collect_users(Uniform *uniform, FuncState *state) {
    Function *f = state->f;
    state->uses.user_at = ARENA_ARRAY(uniform->a, uint32_t, f->values.n + 2);
    for (int fill = 0; fill < 2; fill++) {
        FOR_BLOCKS(f, b)
            FOR_INST_IDS(f, b, id)
                FOR_READS(f, ir_inst(f, id), read)
                    for (unsigned c = 0; read->kind == OPK_VAL && c < read->count; c++) {
                        uint32_t v = ir_operand_value(f, *read, c).i;
                        if (fill)
                            state->uses.users[state->uses.user_at[v + 1]++] = id.i;
                        else
                            state->uses.user_at[v + 2]++;
                    }
        if (fill)
            break;
        for (uint32_t v = 2; v < f->values.n + 2; v++)
            state->uses.user_at[v] += state->uses.user_at[v - 1];
        state->uses.users = ARENA_ARRAY(uniform->a, uint32_t, state->uses.user_at[f->values.n + 1]);
    }
}

static void start_function(Uniform *uniform, Function *f) {
    FuncState *state = &uniform->fs[f->index];
    state->f = f;
    state->analysed = f->blocks.n > 1;
    if (!state->analysed)
        return;
    cfg_remove_unreachable(f);
    state->divergent = ARENA_ARRAY(uniform->a, bool, f->values.n);
    state->uses.inst_block = ARENA_ARRAY(uniform->a, uint32_t, f->insts.n);
    collect_users(uniform, state);
    FOR_BLOCKS(f, b)
        FOR_INST_IDS(f, b, id) {
            state->uses.inst_block[id.i] = b.i;
            state->nreturns += ir_inst(f, id)->op == OT_RET;
        }
    uniform_control_start(&state->control, uniform->a, f, &state->uses, &uniform->module->steps);
    FOR_BLOCKS(f, b) {
        uint32_t l = state->control.loops.innermost[b.i];
        ir_block(f, b)->loop_depth = l == NO_NODE ? 0 : state->control.loops.at[l].depth;
    }
}

static void seed(Uniform *uniform, FuncState *state) {
    const Inst *entry = entry_inst(state);
    if (uniform->calls.open[state->f->index] && !state->f->is_entry) {
        enter_apart(uniform, state->f->index);
        if (entry)
            mark_dsts(uniform, state, entry);
    }
    FOR_BLOCKS(state->f, b)
        FOR_INST_IDS(state->f, b, id) {
            const Inst *i = ir_inst(state->f, id);
            visit_inst(uniform, state, id.i, false);
            if (i->op == OT_CALL)
                start_call(uniform, state, i);
            else if (i->op == OT_RET)
                start_return(uniform, state, i);
        }
}

static void store_results(FuncState *state) {
    const bool *flow = state->control.flow;
    state->f->uniform_entry = !state->entry_divergent;
    for (uint32_t v = 1; v < state->f->values.n; v++)
        ir_value(state->f, (ValId){v})->uniform =
            !state->divergent[v] && ir_value(state->f, (ValId){v})->def.i;
    FOR_BLOCKS(state->f, b)
        ir_block(state->f, b)->uniform_flow = !state->entry_divergent && !flow[b.i];
}

bool pass_uniformity(IrModule *module, Diags *diags) {
    (void)diags;
    Arena a = {0};
    Uniform u = {.module = module, .a = &a};
    u.fs = ARENA_ARRAY(&a, FuncState, module->funcs.n);
    for (unsigned k = 0; k < module->funcs.n; k++)
        start_function(&u, module->funcs.at[k]);
    u.calls = call_graph(&a, module);
    for (uint32_t k = 0; k < u.calls.n;
         k++) { /* callees first: most of what they say of themselves is known then */
        FuncState *state = &u.fs[u.calls.members[k]];
        if (state->analysed)
            seed(&u, state);
    }
    drain(&u);
    for (unsigned k = 0; k < module->funcs.n; k++)
        if (u.fs[k].analysed)
            store_results(&u.fs[k]);
    arena_free(&a);
    return true;
}

bool uniform_branch(const Function *f, BlockId b) {
    const Block *blk = &f->blocks.at[b.i];
    if (blk->succs.n < 2)
        return true;
    for (unsigned p = blk->insts.n > 2 ? blk->insts.n - 2 : 0; p < blk->insts.n; p++) {
        const Inst *i = &f->insts.at[blk->insts.at[p].i];
        if (!is_branch(i))
            continue;
        FOR_READS(f, i, read) {
            if (read->kind == OPK_REG && !op_is_always(*read) && read->value != REG_PT)
                return false;
            for (unsigned c = 0; read->kind == OPK_VAL && c < read->count; c++)
                if (!f->values.at[ir_operand_value(f, *read, c).i].uniform)
                    return false;
        }
    }
    return true;
}
