/* The loops of a function's statements, and the loops in which each PTX register is written: known before
 * selection, so that SSA construction (ssa_build.c) reads past a loop that does not write what it reads.
 * Statements are grouped from each branch target, and from behind each branch, to the next one. An edge of
 * the selected blocks between two groups is always one of the statements. Irreducible loops count as part
 * of the loop around them: they have no header that everything in them passed. SPDX-License-Identifier: MIT
 */
#include "ir/loops.h"
#include "lower/select/isel.h"

typedef struct {
    Sel *sel;
    uint32_t *group_of; /* [statement] from 1; group 0 is the entry */
    uint32_t *first;    /* [group] statement */
    uint32_t ngroups;
    LoopForest forest;
    Graph graph;
} Groups;

static bool has_back_edges(const Sel *sel) {
    for (uint32_t i = 0; i < sel->pf->ninsns; i++)
        for (uint32_t k = 0; sel->reached[i] && k < sel_num_targets(sel, &sel->pf->insns[i]); k++)
            if (sel_target_insn(sel, &sel->pf->insns[i], k) <= i)
                return true;
    return false;
}

static bool branches(const PtxInsn *in) { return in->op == PTX_BRA || in->op == PTX_BRX; }

static void group_statements(Groups *groups) {
    const Sel *sel = groups->sel;
    uint32_t n = sel->pf->ninsns;
    groups->group_of = ARENA_ARRAY(&groups->sel->arena, uint32_t, n + 1);
    groups->first = ARENA_ARRAY(&groups->sel->arena, uint32_t, n + 2);
    for (uint32_t i = 0; i <= n; i++) {
        if (i == 0 || sel->leader[i] || branches(&sel->pf->insns[i - 1]))
            groups->first[++groups->ngroups] = i;
        groups->group_of[i] = groups->ngroups;
    }
    groups->ngroups++;
}

/* As many edges as selection makes: a table's statements once each. */
static void connect_groups(Groups *groups) {
    Sel *sel = groups->sel;
    uint32_t n = sel->pf->ninsns, *seen = graph_numbers(&sel->arena, n + 1, NO_NODE);
    VEC(GraphEdge) edges = {0};
    VEC_ADD(&sel->arena, &edges, ((GraphEdge){0, groups->group_of[0]}));
    for (uint32_t i = 0; i < n; i++) {
        const PtxInsn *in = &sel->pf->insns[i];
        uint32_t from = groups->group_of[i];
        for (uint32_t k = 0; sel->reached[i] && k < sel_num_targets(sel, in); k++) {
            uint32_t t = sel_target_insn(sel, in, k);
            if (seen[t] != i)
                VEC_ADD(&sel->arena, &edges, ((GraphEdge){from, groups->group_of[t]}));
            seen[t] = i;
        }
        if (sel->reached[i] && sel_falls_through(sel, in) && groups->group_of[i + 1] != from)
            VEC_ADD(&sel->arena, &edges, ((GraphEdge){from, groups->group_of[i + 1]}));
    }
    groups->graph = graph_new(&sel->arena, groups->ngroups, edges.at, edges.n);
}

/* Number in SsaLoops of the nearest reducible loop around, `loop` itself counted. */
static uint32_t reducible(const LoopForest *forest, uint32_t loop) {
    while (loop != NO_NODE && forest->at[loop].irreducible)
        loop = forest->at[loop].parent;
    return loop == NO_NODE ? 0 : loop + 1;
}

static uint32_t edges_in(const Groups *groups, uint32_t loop) {
    uint32_t n = 0;
    GRAPH_PREDS(&groups->graph, groups->forest.at[loop].header, p)
        n += !loop_contains(&groups->forest, loop, *p);
    return n;
}

/* Pointers to loops further out as Myers has them ("An applicative random-access stack", 1983): from any
 * loop to any one around it in O(log depth) steps. */
static void make_loops(Groups *groups) {
    Sel *sel = groups->sel;
    const LoopForest *forest = &groups->forest;
    SsaLoops *loops = &sel->ssa.loops;
    loops->n = forest->n + 1;
    loops->at = ARENA_ARRAY(&sel->arena, SsaLoop, loops->n);
    loops->at[0] = (SsaLoop){.out = UINT32_MAX};
    for (uint32_t k = 0; k < forest->n; k++) {
        const Loop *l = &forest->at[k];
        uint32_t header = groups->first[l->header], parent = reducible(forest, l->parent);
        const SsaLoop *outer = &loops->at[parent], *next = &loops->at[outer->jump];
        bool far = outer->depth - next->depth == next->depth - loops->at[next->jump].depth;
        loops->at[k + 1] = (SsaLoop){.parent = parent,
                                     .jump = far ? next->jump : parent,
                                     .depth = outer->depth + 1,
                                     .in = l->in,
                                     .out = l->out,
                                     .header = sel->block_at[header]};
        if (sel->preds_at[header] <= FUNNEL_LIMIT)
            loops->at[k + 1].ways_in = edges_in(groups, k);
    }
}

static void place_statements(Groups *groups) {
    Sel *sel = groups->sel;
    uint32_t n = sel->pf->ninsns;
    sel->loop_of = ARENA_ARRAY(&sel->arena, uint32_t, n + 1);
    for (uint32_t i = 0; i <= n; i++) {
        uint32_t loop = groups->forest.innermost[groups->group_of[i]];
        sel->loop_of[i] = reducible(&groups->forest, loop);
        if (sel->leader[i])
            sel_ssa_place(&sel->ssa, sel->block_at[i], sel->loop_of[i]);
    }
}

/* Operand k of those that a statement may write, NULL behind the last one. */
static const PtxOperand *result(const PtxInsn *in, uint32_t k) {
    if (k < in->ndst)
        return &in->operands[k];
    return k - in->ndst < in->nrets ? &in->rets[k - in->ndst] : NULL;
}

static bool names(const PtxOperand *operand, uint32_t reg) {
    bool found = operand->kind == PO_REG && operand->reg == reg;
    for (uint32_t k = 0; operand->kind == PO_VEC && k < operand->nvec && !found; k++)
        found = names(&operand->vec[k], reg);
    return found;
}

bool sel_is_result(const PtxInsn *in, uint32_t reg) {
    const PtxOperand *operand;
    for (uint32_t k = 0; (operand = result(in, k)) != NULL; k++)
        if (names(operand, reg))
            return true;
    return false;
}

typedef struct {
    uint32_t reg, in;
} RegWrite;
typedef VEC(RegWrite) RegWrites;

static void note_write(Sel *sel, const PtxOperand *dst, uint32_t in, RegWrites *writes) {
    if (dst->kind == PO_REG)
        VEC_ADD(&sel->arena, writes, ((RegWrite){dst->reg, in}));
    for (uint32_t k = 0; dst->kind == PO_VEC && k < dst->nvec; k++)
        note_write(sel, &dst->vec[k], in, writes);
}

/* Per register in the order of the loops' numbers: statements are taken in that order. */
static void find_writes(Sel *sel) {
    SsaLoops *loops = &sel->ssa.loops;
    uint32_t n = sel->pf->ninsns, *head = graph_numbers(&sel->arena, loops->n, NO_NODE);
    uint32_t *next = graph_numbers(&sel->arena, n + 1, NO_NODE);
    uint32_t *by_in = graph_numbers(&sel->arena, loops->n, 0);
    const PtxOperand *dst;
    RegWrites writes = {0};
    for (uint32_t i = 0; i < n; i++) {
        next[i] = head[sel->loop_of[i]];
        head[sel->loop_of[i]] = i;
    }
    for (uint32_t l = 1; l < loops->n; l++)
        by_in[loops->at[l].in] = l;
    for (uint32_t k = 0; k + 1 < loops->n; k++)
        for (uint32_t i = head[by_in[k]]; i != NO_NODE; i = next[i])
            for (uint32_t r = 0; sel->reached[i] && (dst = result(&sel->pf->insns[i], r)) != NULL; r++)
                note_write(sel, dst, k, &writes);
    loops->writes_at = ARENA_ARRAY(&sel->arena, uint32_t, sel->pf->nregs + 2);
    loops->writes = ARENA_ARRAY(&sel->arena, uint32_t, writes.n + 1);
    uint32_t *at = loops->writes_at + 1; /* [r]: the next place for r, in the end the first one behind it */
    for (uint32_t k = 0; k < writes.n; k++)
        if (writes.at[k].reg + 1 < sel->pf->nregs)
            at[writes.at[k].reg + 1]++;
    for (uint32_t r = 1; r < sel->pf->nregs; r++)
        at[r] += at[r - 1];
    for (uint32_t k = 0; k < writes.n; k++)
        loops->writes[at[writes.at[k].reg]++] = writes.at[k].in;
}

void sel_find_loops(Sel *sel) {
    if (!has_back_edges(sel))
        return;
    Groups groups = {.sel = sel};
    group_statements(&groups);
    connect_groups(&groups);
    groups.forest = loop_forest(&sel->arena, &groups.graph, 0);
    make_loops(&groups);
    place_statements(&groups);
    find_writes(sel);
    sel->f->module->steps += sel->pf->ninsns + groups.graph.succ_at[groups.ngroups];
}
