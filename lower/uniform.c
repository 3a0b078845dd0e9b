/* Uniformity (divergence) analysis of a whole module. In: SSA. Out: Value.uniform, Block.uniform_flow,
 * Function.uniform_entry.
 *
 * Everything starts uniform; divergence spreads along data (users of a divergent value), along control (phis
 * where the sides of a divergent branch meet, values that leave a loop in different iterations) and along
 * calls. "Uniform" is said of one dynamic instance of a definition: lanes that are at different instances are
 * not compared, and uniform lanes need not be converged. Reconvergence uses it to leave out barriers, which
 * is a matter of speed alone; who keeps a value in UR must know besides that the lanes are converged.
 * SPDX-License-Identifier: MIT */
#include "ir/callgraph.h"
#include "ir/cfg.h"
#include "lower/passes.h"
#include <string.h>

typedef struct {
    Function *f;
    bool analysed; /* it has blocks */
    Graph g;
    PostDom pd;
    LoopForest loops;
    uint32_t *inst_block;      /* [inst] */
    uint32_t *user_at, *users; /* instructions that use value v: users[user_at[v] .. user_at[v + 1] - 1] */
    bool *divergent;           /* [value] */
    bool *branch_done;         /* [block] its branch is divergent and was treated */
    bool *flow;                /* [block] some lanes may not come here */
    bool *loop_done;           /* [loop] all values that leave it are divergent */
    uint32_t *mark, round;     /* [block] */
    uint32_t *reach, *stack;   /* [block] how many sides of the branch come here */
    VEC(uint32_t) work;        /* divergent values whose users are to be looked at */
    VEC(uint32_t) returns;     /* RET instructions */
    VEC(uint32_t) calls;
    bool entry_divergent;
} FuncState;

typedef struct {
    IrModule *m;
    Arena *a;
    FuncState *fs;
    bool changed;
} Uniform;

static void mark_value(Uniform *uniform, FuncState *state, uint32_t v) {
    if (state->divergent[v])
        return;
    state->divergent[v] = uniform->changed = true;
    VEC_ADD(uniform->a, &state->work, v);
}

static bool operand_divergent(const FuncState *state, Operand o) {
    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
        if (state->divergent[ir_operand_value(state->f, o, c).i])
            return true;
    return false;
}

static void mark_dsts(Uniform *u, FuncState *state, const Inst *i) {
    for (unsigned k = 0; k < i->ndst; k++) {
        Operand o = *ir_dst(state->f, i, k);
        for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
            mark_value(u, state, ir_operand_value(state->f, o, c).i);
    }
}

/* ---- what an instruction makes ---- */

static bool sreg_uniform(const Target *t, unsigned number) {
    static const char *const uniform[] = {"ctaid.x",  "ctaid.y", "ctaid.z",         "nctaid.x", "nctaid.y",
                                          "nctaid.z", "ntid.x",  "ntid.y",          "ntid.z",   "smid",
                                          "nsmid",    "warpid",  "nwarpid",         "gridid",   "smemsz",
                                          "lwinlo",   "swinlo",  "total_smem_size", "zero",     "cgactaid"};
    const char *name = isa_sreg_name(t, number);
    for (unsigned k = 0; name && k < sizeof uniform / sizeof *uniform; k++)
        if (strcmp(name, uniform[k]) == 0)
            return true;
    return false;
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
    if (operand_divergent(state, i->guard))
        return true;
    for (unsigned k = i->ndst; k < ir_num_operands(i); k++)
        if (operand_divergent(state, state->f->operands.at[i->operand + k]))
            return true;
    return false;
}

/* ---- control ---- */

static bool is_branch(const Inst *i) {
    return (i->op == OT_BRA || i->op == OT_BRX) && !(i->flags & IF_UNIFORM);
}

/* Blocks reached from `from` without going through `join`; s->reach counts in how many such walks. */
static void walk_side(FuncState *state, uint32_t from, uint32_t join) {
    uint32_t top = 0, walk = ++state->round;
    state->stack[top++] = from;
    state->mark[from] = walk;
    while (top) {
        uint32_t n = state->stack[--top];
        state->reach[n]++;
        if (n == join)
            continue;
        GRAPH_SUCCS(&state->g, n, t)
            if (state->mark[*t] != walk) {
                state->mark[*t] = walk;
                state->stack[top++] = *t;
            }
    }
}

static void mark_phis(Uniform *u, FuncState *state, uint32_t block) {
    const Block *b = ir_block(state->f, (BlockId){block});
    for (unsigned p = 0; p < b->insts.n; p++) {
        const Inst *i = ir_inst(state->f, b->insts.at[p]);
        if (i->op != IR_PHI)
            return;
        bool same = true; /* then it does not matter from where a lane comes */
        for (unsigned k = 1; k < i->nsrc; k++)
            same &= memcmp(ir_src(state->f, i, 0), ir_src(state->f, i, k), sizeof(Operand)) == 0;
        if (!same)
            mark_dsts(u, state, i);
    }
}

/* Values of the loop that are used outside: everywhere (only_region false) or where s->reach says. */
static void mark_leaving(Uniform *u, FuncState *state, uint32_t loop, bool only_region) {
    bool irreducible = state->loops.at[loop].irreducible;
    if (state->loop_done[loop])
        return;
    state->loop_done[loop] = !only_region || irreducible;
    for (uint32_t v = 1; v < state->f->values.n; v++) {
        const Value *val = ir_value(state->f, (ValId){v});
        uint32_t home = val->def.i ? state->inst_block[val->def.i] : 0;
        if (!home || state->divergent[v] || !loop_contains(&state->loops, loop, home))
            continue;
        for (uint32_t k = state->user_at[v]; k < state->user_at[v + 1]; k++) {
            uint32_t at = state->inst_block[state->users[k]];
            bool leaves = irreducible
                              ? at != home
                              : !loop_contains(&state->loops, loop, at) && (!only_region || state->reach[at]);
            if (leaves) {
                mark_value(u, state, v);
                break;
            }
        }
    }
}

static void mark_loops(Uniform *u, FuncState *state, uint32_t block, uint32_t join) {
    for (uint32_t l = state->loops.innermost[block]; l != NO_NODE; l = state->loops.at[l].parent) {
        bool join_inside = join && loop_contains(&state->loops, l, join), region_inside = true;
        for (uint32_t n = 1; n < state->g.n && region_inside; n++)
            region_inside = !state->reach[n] || loop_contains(&state->loops, l, n);
        if (state->loops.at[l].irreducible) {
            for (uint32_t n = 1; n < state->g.n; n++)
                if (loop_contains(&state->loops, l, n))
                    mark_phis(u, state, n);
            mark_leaving(u, state, l, false);
        } else if (join_inside && region_inside)
            return;
        else
            mark_leaving(u, state, l, join_inside);
    }
}

/* The end of `block` sends lanes different ways. */
static void diverge_at(Uniform *uniform, FuncState *state, uint32_t block) {
    if (state->branch_done[block] || state->pd.region[block] == NO_NODE)
        return;
    state->branch_done[block] = uniform->changed = true;
    const Block *b = ir_block(state->f, (BlockId){block});
    uint32_t join = state->pd.ipdom[block];
    memset(state->reach, 0, state->g.n * sizeof *state->reach);
    bool many = b->succs.n > 4; /* then one walk, and every meeting point inside counts */
    for (unsigned k = 0; k < b->succs.n; k++) {
        bool again = false; /* parallel edges are one side */
        for (unsigned j = 0; j < k && !many; j++)
            again |= b->succs.at[j].i == b->succs.at[k].i;
        if (!again && !(many && state->reach[b->succs.at[k].i]))
            walk_side(state, b->succs.at[k].i, join);
    }
    for (uint32_t n = 1; n < state->g.n; n++) {
        if (!state->reach[n])
            continue;
        if (n != join)
            state->flow[n] = true;
        if (ir_block(state->f, (BlockId){n})->preds.n > 1 && (state->reach[n] > 1 || many || n == join))
            mark_phis(uniform, state, n);
    }
    mark_loops(uniform, state, block, join);
}

/* Some lanes leave the function here, others go on. */
static void returns_at(Uniform *uniform, FuncState *state, uint32_t block) {
    if (state->flow[block])
        return;
    memset(state->reach, 0, state->g.n * sizeof *state->reach);
    walk_side(state, block, 0);
    for (uint32_t n = 1; n < state->g.n; n++)
        state->flow[n] |= state->reach[n] != 0;
    uniform->changed = true;
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

/* Arguments to parameters, and how the function is entered. */
static void enter_call(Uniform *uniform, FuncState *caller, const Inst *call, FuncState *callee,
                       uint32_t block) {
    bool together =
        !caller->entry_divergent && !caller->flow[block] && !operand_divergent(caller, call->guard);
    if (!together && !callee->entry_divergent)
        callee->entry_divergent = uniform->changed = true;
    const Inst *entry = entry_inst(callee);
    for (unsigned k = 0; entry && k < entry->ndst; k++) {
        Operand o = *ir_dst(callee->f, entry, k);
        for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
            ValId param = ir_operand_value(callee->f, o, c);
            Operand arg;
            int r = ir_value(callee->f, param)->fixed_reg;
            if (!find_fixed(caller, call, false, r, &arg) || operand_divergent(caller, arg))
                mark_value(uniform, callee, param.i);
        }
    }
}

static bool result_divergent(FuncState *callee, int r) {
    bool divergent = callee->returns.n == 0;
    for (unsigned k = 0; k < callee->returns.n; k++) {
        const Inst *ret = ir_inst(callee->f, (InstId){callee->returns.at[k]});
        Operand o;
        if (!find_fixed(callee, ret, false, r, &o) || operand_divergent(callee, o))
            divergent = true;
        if (callee->returns.n > 1 && callee->flow[callee->inst_block[callee->returns.at[k]]])
            divergent = true;
    }
    return divergent;
}

static void leave_call(Uniform *u, FuncState *caller, const Inst *call, FuncState *callee) {
    for (unsigned k = 0; k < call->ndst; k++) {
        Operand o = *ir_dst(caller->f, call, k);
        for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
            ValId v = ir_operand_value(caller->f, o, c);
            if (operand_divergent(caller, call->guard) ||
                result_divergent(callee, ir_value(caller->f, v)->fixed_reg))
                mark_value(u, caller, v.i);
        }
    }
}

static void do_calls(Uniform *uniform, FuncState *state) {
    for (unsigned k = 0; k < state->calls.n; k++) {
        const Inst *call = ir_inst(state->f, (InstId){state->calls.at[k]});
        const Function *callee = ir_callee(state->f, call);
        if (!callee || !uniform->fs[callee->index].analysed) {
            mark_dsts(uniform, state, call);
            continue;
        }
        enter_call(uniform, state, call, &uniform->fs[callee->index], state->inst_block[state->calls.at[k]]);
        leave_call(uniform, state, call, &uniform->fs[callee->index]);
    }
}

/* ---- the fixpoint ---- */

static void visit_inst(Uniform *u, FuncState *state, uint32_t id) {
    const Inst *i = ir_inst(state->f, (InstId){id});
    uint32_t block = state->inst_block[id];
    if (i->op == IR_PARCOPY) { /* each destination has its own source */
        for (unsigned k = 0; k < i->ndst; k++)
            if (operand_divergent(state, *ir_src(state->f, i, k)) && ir_dst(state->f, i, k)->kind == OPK_VAL)
                mark_value(u, state, ir_operand_value(state->f, *ir_dst(state->f, i, k), 0).i);
        return;
    }
    unsigned m = makes(state, i);
    if (m == MAKES_DIVERGENT || (m == MAKES_BY_DATA && inputs_divergent(state, i)) ||
        (m == MAKES_UNIFORM && operand_divergent(state, i->guard)))
        mark_dsts(u, state, i);
    if (is_branch(i) && ir_block(state->f, (BlockId){block})->succs.n > 1 && inputs_divergent(state, i))
        diverge_at(u, state, block);
    if (i->op == OT_RET && operand_divergent(state, i->guard))
        returns_at(u, state, block);
}

static void drain(Uniform *u, FuncState *state) {
    while (state->work.n) {
        uint32_t v = state->work.at[--state->work.n];
        for (uint32_t k = state->user_at[v]; k < state->user_at[v + 1]; k++)
            visit_inst(u, state, state->users[k]);
    }
}

static void collect_users(Uniform *uniform, FuncState *state) {
    Function *f = state->f;
    state->user_at = ARENA_ARRAY(uniform->a, uint32_t, f->values.n + 2);
    for (int fill = 0; fill < 2; fill++) {
        for (unsigned n = 0; n < f->layout.n; n++) {
            const Block *b = ir_block(f, f->layout.at[n]);
            for (unsigned p = 0; p < b->insts.n; p++) {
                const Inst *i = ir_inst(f, b->insts.at[p]);
                for (unsigned k = i->ndst; k <= ir_num_operands(i); k++) {
                    Operand o = k == ir_num_operands(i) ? i->guard : f->operands.at[i->operand + k];
                    for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++) {
                        uint32_t v = ir_operand_value(f, o, c).i;
                        if (fill)
                            state->users[state->user_at[v + 1]++] = b->insts.at[p].i;
                        else
                            state->user_at[v + 2]++;
                    }
                }
            }
        }
        if (fill)
            break;
        for (uint32_t v = 2; v < f->values.n + 2; v++)
            state->user_at[v] += state->user_at[v - 1];
        state->users = ARENA_ARRAY(uniform->a, uint32_t, state->user_at[f->values.n + 1]);
    }
}

static void start_function(Uniform *uniform, Function *f) {
    FuncState *state = &uniform->fs[f->index];
    state->f = f;
    state->analysed = f->blocks.n > 1;
    if (!state->analysed)
        return;
    cfg_remove_unreachable(f);
    state->g = cfg_graph(uniform->a, f);
    state->pd = cfg_post_dominators(uniform->a, f, &state->g, f->entry.i);
    state->loops = loop_forest(uniform->a, &state->g, f->entry.i);
    state->divergent = ARENA_ARRAY(uniform->a, bool, f->values.n);
    state->branch_done = ARENA_ARRAY(uniform->a, bool, state->g.n);
    state->flow = ARENA_ARRAY(uniform->a, bool, state->g.n);
    state->loop_done = ARENA_ARRAY(uniform->a, bool, state->loops.n);
    state->mark = ARENA_ARRAY(uniform->a, uint32_t, state->g.n);
    state->reach = ARENA_ARRAY(uniform->a, uint32_t, state->g.n);
    state->stack = ARENA_ARRAY(uniform->a, uint32_t, state->g.n);
    state->inst_block = ARENA_ARRAY(uniform->a, uint32_t, f->insts.n);
    collect_users(uniform, state);
    for (unsigned n = 0; n < f->layout.n; n++) {
        const Block *b = ir_block(f, f->layout.at[n]);
        ir_block(f, f->layout.at[n])->loop_depth = 0;
        uint32_t l = state->loops.innermost[f->layout.at[n].i];
        if (l != NO_NODE)
            ir_block(f, f->layout.at[n])->loop_depth = state->loops.at[l].depth;
        for (unsigned p = 0; p < b->insts.n; p++) {
            uint32_t id = b->insts.at[p].i;
            state->inst_block[id] = f->layout.at[n].i;
            if (ir_inst(f, b->insts.at[p])->op == OT_RET)
                VEC_ADD(uniform->a, &state->returns, id);
            if (ir_inst(f, b->insts.at[p])->op == OT_CALL)
                VEC_ADD(uniform->a, &state->calls, id);
        }
    }
}

static void seed(Uniform *u, FuncState *state, bool open) {
    const Inst *entry = entry_inst(state);
    if (open && !state->f->is_entry) {
        state->entry_divergent = true;
        if (entry)
            mark_dsts(u, state, entry);
    }
    for (unsigned n = 0; n < state->f->layout.n; n++) {
        const Block *b = ir_block(state->f, state->f->layout.at[n]);
        for (unsigned p = 0; p < b->insts.n; p++)
            visit_inst(u, state, b->insts.at[p].i);
    }
}

static void store_results(FuncState *state) {
    state->f->uniform_entry = !state->entry_divergent;
    for (uint32_t v = 1; v < state->f->values.n; v++)
        ir_value(state->f, (ValId){v})->uniform =
            !state->divergent[v] && ir_value(state->f, (ValId){v})->def.i;
    for (unsigned n = 0; n < state->f->layout.n; n++)
        ir_block(state->f, state->f->layout.at[n])->uniform_flow =
            !state->entry_divergent && !state->flow[state->f->layout.at[n].i];
}

bool pass_uniformity(IrModule *module, Diags *d) {
    (void)d;
    Arena a = {0};
    Uniform u = {.m = module, .a = &a};
    CallGraph calls = call_graph(&a, module);
    const bool *open = calls.open;
    u.fs = ARENA_ARRAY(&a, FuncState, module->funcs.n);
    for (unsigned k = 0; k < module->funcs.n; k++)
        start_function(&u, module->funcs.at[k]);
    for (unsigned k = 0; k < module->funcs.n; k++)
        if (u.fs[k].analysed)
            seed(&u, &u.fs[k], open[k]);
    do {
        u.changed = false;
        for (unsigned k = module->funcs.n; k-- > 0;) { /* callers come last in the list */
            FuncState *state = &u.fs[k];
            if (!state->analysed)
                continue;
            if (state->entry_divergent)
                for (unsigned n = 0; n < state->f->layout.n; n++) { /* frame addresses differ now */
                    const Block *b = ir_block(state->f, state->f->layout.at[n]);
                    for (unsigned p = 0; p < b->insts.n; p++)
                        if (ir_inst(state->f, b->insts.at[p])->op == IR_FRAME_ADDR)
                            visit_inst(&u, state, b->insts.at[p].i);
                }
            drain(&u, state);
            do_calls(&u, state);
        }
    } while (u.changed);
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
        for (unsigned k = i->ndst; k <= ir_num_operands(i); k++) {
            Operand o = k == ir_num_operands(i) ? i->guard : f->operands.at[i->operand + k];
            if (o.kind == OPK_REG && !op_is_always(o) && o.value != REG_PT)
                return false;
            for (unsigned c = 0; o.kind == OPK_VAL && c < o.count; c++)
                if (!f->values.at[ir_operand_value(f, o, c).i].uniform)
                    return false;
        }
    }
    return true;
}
