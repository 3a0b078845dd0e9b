/* Control flow of a decoded binary: see binflow.h. Every function is walked on the level of instructions
 * first, to learn which ones return; what follows a call that never returns is no successor of it. Then
 * blocks, edges, order.
 * SPDX-License-Identifier: MIT */
#include "check/flow/binflow.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- one instruction ---- */

BinKind bin_kind(const MachInst *i) {
    switch (i->optype) {
    case OT_BRA: return BK_BRANCH;
    case OT_BRX: return BK_BRANCH_INDIRECT;
    case OT_CALL: return BK_CALL;
    case OT_RET: return BK_RET;
    case OT_EXIT:
    case OT_KILL: return BK_EXIT;
    case OT_TRAP:
    case OT_RTT: return BK_TRAP;
    case OT_BPT: return MGET(BPT, kind, i->mods) == BptKind_TRAP ? BK_TRAP : BK_PLAIN;
    case OT_BSSY: return BK_BSSY;
    case OT_BSYNC: return BK_BSYNC;
    case OT_BREAK: return BK_BREAK;
    case OT_BMOV: return i->opcode == OC_BMOV_R || i->opcode == OC_BMOV_NR ? BK_BMOV_TO_B : BK_BMOV_FROM_B;
    case OT_YIELD: return BK_YIELD;
    case OT_NANOSLEEP: return BK_NANOSLEEP;
    case OT_WARPSYNC: return BK_WARPSYNC;
    case OT_BAR:
    case OT_BAR_RED: return BK_BAR;
    case OT_SHFL:
    case OT_VOTE:
    case OT_VOTEU:
    case OT_MATCH:
    case OT_REDUX:
    case OT_ELECT: return BK_COLLECTIVE;
    case OT_NOP: return BK_NOP;
    default: return BK_PLAIN;
    }
}

unsigned bin_barrier(const MachInst *i) {
    for (unsigned k = 0; k < i->nsrc; k++)
        if (i->src[k].kind == OPK_REG && i->src[k].file == RF_B)
            return i->src[k].value & 15;
    return 0;
}

static BinGuard guard_of(Operand o) {
    if (op_is_always(o))
        return BG_ALWAYS;
    return o.kind == OPK_REG && o.value == REG_PT ? BG_NEVER : BG_MAYBE;
}

/* The source slot of the second guard; -1 without one. */
static int pp_slot(unsigned optype) {
    switch (optype) {
    case OT_BRA: return BRA_pp;
    case OT_BRX: return BRX_pp;
    case OT_CALL: return CALL_pp;
    case OT_RET: return RET_pp;
    case OT_EXIT: return EXIT_pp;
    case OT_KILL: return KILL_pp;
    case OT_BSSY: return BSSY_pp;
    case OT_BSYNC: return BSYNC_pp;
    case OT_BREAK: return BREAK_pp;
    case OT_YIELD: return YIELD_pp;
    case OT_NANOSLEEP: return NANOSLEEP_pp;
    case OT_WARPSYNC: return WARPSYNC_pp;
    default: return -1;
    }
}

BinGuard bin_guard(const MachInst *i) {
    int pp = pp_slot(i->optype);
    BinGuard a = guard_of(i->guard), b = pp < 0 ? BG_ALWAYS : guard_of(i->src[pp]);
    return a < b ? a : b;
}

/* The operand that names a place in the code. */
static bool has_offset(const MachInst *i) {
    for (unsigned k = 0; k < i->nsrc; k++)
        if (i->src[k].kind == OPK_IMM64)
            return true;
    return false;
}

/* Is the target of a BRX, CALL or RET also a matter of a register or of memory? */
static bool is_indirect(const MachInst *i) {
    unsigned slot = i->optype == OT_CALL ? CALL_ra : i->optype == OT_RET ? RET_ra : BRX_ra;
    Operand o = i->src[slot];
    return o.kind == OPK_CMEM || (o.kind == OPK_REG && !(o.file == RF_R && o.value == REG_RZ) &&
                                  !(o.file == RF_UR && o.value == REG_URZ));
}

uint32_t bin_target(const BinFlow *g, uint32_t index) {
    const MachInst *i = &g->insts[index];
    bool absolute = i->optype == OT_CALL && MGET(CALL, mode, i->mods) == BasePCMode_ABS;
    if (!has_offset(i) || (i->optype == OT_CALL && is_indirect(i)))
        return BINFLOW_NONE;
    uint64_t base = absolute ? 0 : bin_address(g, index) + INST_BYTES;
    uint64_t offset = base + (uint64_t)i->wide - g->bin->code_base;
    return offset % INST_BYTES == 0 && offset / INST_BYTES < g->bin->ncode ? (uint32_t)(offset / INST_BYTES)
                                                                           : BINFLOW_NONE;
}

const char *bin_where(const BinFlow *g, uint32_t index, char out[160]) {
    const BinFunc *f = binary_func_at(g->bin, bin_address(g, index));
    if (f)
        snprintf(out, 160, "%.130s+0x%llx", f->name,
                 (unsigned long long)(bin_address(g, index) - f->address));
    else
        snprintf(out, 160, "0x%llx", (unsigned long long)bin_address(g, index));
    return out;
}

/* ---- where control goes from one instruction ---- */

typedef struct {
    uint32_t next, taken; /* instructions of the same function, or BINFLOW_NONE */
    const BinBranchTable *table;
    uint32_t func;
    uint8_t ends;
    bool ends_block;
} Exits;

typedef struct {
    BinFlow *g;
    Arena scratch;
    bool *returns;  /* by instruction: some way from here on ends in a return */
    uint32_t *func; /* by instruction: its function or BINFLOW_NONE */
    bool *entry;    /* by instruction: a function or subroutine starts here */
    bool *leader;
} Builder;

static bool inside(const BinFlow *g, uint32_t func, uint32_t i) {
    const BinFuncFlow *f = &g->funcs[func];
    return i >= f->first_inst && i - f->first_inst < f->ninsts;
}

static void go_on(const BinFlow *g, Exits *x, uint32_t i) {
    if (inside(g, x->func, i + 1) && g->decoded[i + 1])
        x->next = i + 1;
    else {
        x->ends |= BX_OFF_END;
        x->ends_block = true;
    }
}

static void take(const Builder *b, Exits *x, uint32_t target) {
    const BinFlow *g = b->g;
    if (target == BINFLOW_NONE)
        x->ends |= BX_BAD_TARGET;
    else if (inside(g, x->func, target)) {
        x->taken = target;
        if (!g->decoded[target]) {
            x->taken = BINFLOW_NONE;
            x->ends |= BX_BAD_TARGET;
        }
    } else if (b->entry[target])
        x->ends |= b->returns[target] ? BX_RET : BX_NORETURN;
    else
        x->ends |= BX_BAD_TARGET;
}

static const BinBranchTable *table_of(const BinFlow *g, uint32_t func, uint32_t i) {
    const BinFunc *f = &g->bin->funcs[func];
    uint32_t pc = (i - g->funcs[func].first_inst) * INST_BYTES;
    for (uint32_t k = 0; k < f->ntables; k++)
        if (f->tables[k].pc_bytes == pc)
            return &f->tables[k];
    return NULL;
}

static bool call_returns(const Builder *b, uint32_t i) {
    uint32_t target = bin_target(b->g, i);
    return target == BINFLOW_NONE || b->func[target] == BINFLOW_NONE || b->returns[target];
}

/* ptxas leaves loops by CALL.REL.NOINC to a place in the same function from which no way returns: a branch.
 */
static bool is_jump(const Builder *b, uint32_t func, uint32_t i) {
    uint32_t t = bin_target(b->g, i);
    return t != BINFLOW_NONE && inside(b->g, func, t) && t != b->g->funcs[func].first_inst && !b->returns[t];
}

static Exits exits_of(const Builder *b, uint32_t func, uint32_t i) {
    const BinFlow *g = b->g;
    const MachInst *m = &g->insts[i];
    BinKind kind = bin_kind(m);
    BinGuard guard = bin_guard(m);
    Exits x = {.next = BINFLOW_NONE, .taken = BINFLOW_NONE, .func = func, .ends_block = true};
    if (kind == BK_BRANCH && guard == BG_ALWAYS && MGET(BRA, cond, m->mods) != BRACond_NoCond &&
        MGET(BRA, cond, m->mods) != BRACond_U)
        guard = BG_MAYBE; /* .DIV and .CONV ask for the state of the warp */
    switch (guard == BG_NEVER ? BK_PLAIN : kind) {
    case BK_BRANCH: take(b, &x, bin_target(g, i)); break;
    case BK_BRANCH_INDIRECT:
        x.table = table_of(g, func, i);
        x.ends |= x.table ? 0 : BX_UNKNOWN;
        break;
    case BK_CALL:
        if (call_returns(b, i)) {
            x.ends_block = false;
            guard = BG_MAYBE;
        } else if (is_jump(b, func, i))
            take(b, &x, bin_target(g, i));
        else
            x.ends |= BX_NORETURN;
        break;
    case BK_RET: x.ends |= BX_RET; break;
    case BK_EXIT: x.ends |= BX_EXIT; break;
    case BK_TRAP: x.ends |= BX_TRAP; break;
    case BK_WARPSYNC: /* some native forms name a place where the lanes go on */
        x.ends_block = has_offset(m);
        if (x.ends_block)
            take(b, &x, bin_target(g, i));
        guard = BG_MAYBE;
        break;
    default:
        x.ends_block = kind == BK_BRANCH || kind == BK_BRANCH_INDIRECT || kind == BK_RET || kind == BK_EXIT ||
                       kind == BK_TRAP;
        guard = BG_MAYBE;
    }
    if (guard != BG_ALWAYS)
        go_on(g, &x, i);
    return x;
}

/* ---- which functions return ---- */

typedef struct {
    uint32_t inst, link; /* link: the next one + 1 */
} Watcher;

/* Backwards from the returns: when it is known of an instruction, those that lead to it are looked at again.
 */
typedef struct {
    uint32_t *head; /* by instruction: newest watcher + 1 */
    VEC(Watcher) watchers;
    uint32_t *todo, ntodo;
} Returns;

static void watch(Builder *b, Returns *r, uint32_t from, uint32_t to) {
    if (to == BINFLOW_NONE)
        return;
    VEC_ADD(&b->scratch, &r->watchers, ((Watcher){from, r->head[to]}));
    r->head[to] = r->watchers.n;
}

/* The instruction that entry k of a branch table leads to; BINFLOW_NONE if it is none. */
static uint32_t table_target(const BinFlow *g, const Exits *x, uint32_t k) {
    const BinFuncFlow *f = &g->funcs[x->func];
    uint32_t at = x->table->targets[k], i = f->first_inst + at / INST_BYTES;
    return at % INST_BYTES == 0 && at / INST_BYTES < f->ninsts && g->decoded[i] ? i : BINFLOW_NONE;
}

static bool leads_to_return(const Builder *b, uint32_t func, uint32_t i) {
    Exits x = exits_of(b, func, i);
    bool good = (x.ends & (BX_RET | BX_UNKNOWN)) != 0;
    good |= x.next != BINFLOW_NONE && b->returns[x.next];
    good |= x.taken != BINFLOW_NONE && b->returns[x.taken];
    for (uint32_t k = 0; x.table && k < x.table->ntargets; k++) {
        uint32_t t = table_target(b->g, &x, k);
        good |= t != BINFLOW_NONE && b->returns[t];
    }
    return good;
}

static void watch_successors(Builder *b, Returns *r, uint32_t func, uint32_t i) {
    BinFlow *g = b->g;
    Exits x = exits_of(b, func, i);
    watch(b, r, i, x.next);
    watch(b, r, i, bin_target(g, i)); /* of BRA, CALL */
    if (bin_kind(&g->insts[i]) == BK_CALL && x.next == BINFLOW_NONE && inside(g, func, i + 1))
        watch(b, r, i, i + 1);
    for (uint32_t k = 0; x.table && k < x.table->ntargets; k++)
        watch(b, r, i, table_target(g, &x, k));
}

static void find_entries(Builder *b) {
    BinFlow *g = b->g;
    for (uint32_t f = 0; f < g->bin->nfuncs; f++) {
        const BinFuncFlow *ff = &g->funcs[f];
        if (ff->ninsts)
            b->entry[ff->first_inst] = true;
        for (uint32_t i = ff->first_inst; i < ff->first_inst + ff->ninsts; i++) {
            uint32_t t = g->decoded[i] && bin_kind(&g->insts[i]) == BK_CALL ? bin_target(g, i) : BINFLOW_NONE;
            if (t != BINFLOW_NONE && b->func[t] != BINFLOW_NONE)
                b->entry[t] = true;
        }
    }
}

static void find_returns(Builder *b) {
    BinFlow *g = b->g;
    Returns r = {.head = ARENA_ARRAY(&b->scratch, uint32_t, g->bin->ncode + 1)};
    for (uint32_t f = 0; f < g->bin->nfuncs; f++)
        for (uint32_t i = g->funcs[f].first_inst, k = 0; k < g->funcs[f].ninsts; k++, i++)
            if (g->decoded[i])
                watch_successors(b, &r, f, i);
    r.todo = ARENA_ARRAY(&b->scratch, uint32_t, (size_t)g->bin->ncode + r.watchers.n + 1);
    for (uint32_t i = 0; i < g->bin->ncode; i++)
        if (g->decoded[i])
            r.todo[r.ntodo++] = i;
    while (r.ntodo) { /* each watcher is pushed once, when what it watches becomes true */
        uint32_t i = r.todo[--r.ntodo];
        if (b->returns[i] || !leads_to_return(b, b->func[i], i))
            continue;
        b->returns[i] = true;
        for (uint32_t w = r.head[i]; w; w = r.watchers.at[w - 1].link)
            r.todo[r.ntodo++] = r.watchers.at[w - 1].inst;
    }
}

static void drop_jump_targets(Builder *b) {
    for (uint32_t f = 0; f < b->g->bin->nfuncs; f++)
        for (uint32_t k = 1; k < b->g->funcs[f].ninsts; k++) {
            uint32_t i = b->g->funcs[f].first_inst + k;
            b->entry[i] &= b->returns[i];
        }
}

/* ---- blocks ---- */

static void mark_leaders(Builder *b, uint32_t func) {
    BinFlow *g = b->g;
    const BinFuncFlow *f = &g->funcs[func];
    uint32_t end = f->first_inst + f->ninsts;
    for (uint32_t i = f->first_inst; i < end; i++) {
        b->leader[i] |= b->entry[i] || i == f->first_inst || g->decoded[i] != g->decoded[i - 1];
        if (!g->decoded[i])
            continue;
        Exits x = exits_of(b, func, i);
        if (x.ends_block && i + 1 < end)
            b->leader[i + 1] = true;
        if (x.taken != BINFLOW_NONE)
            b->leader[x.taken] = true;
        for (uint32_t k = 0; x.table && k < x.table->ntargets; k++)
            if (table_target(g, &x, k) != BINFLOW_NONE)
                b->leader[table_target(g, &x, k)] = true;
    }
}

static void make_blocks(Builder *b, uint32_t func) {
    BinFlow *g = b->g;
    BinFuncFlow *f = &g->funcs[func];
    f->first_block = g->nblocks;
    for (uint32_t i = f->first_inst; i < f->first_inst + f->ninsts; i++) {
        if (b->leader[i])
            g->blocks[g->nblocks++] = (BinBlock){.first = i, .func = func};
        g->block_of[i] = g->nblocks - 1;
        g->blocks[g->nblocks - 1].ninsts++;
    }
    f->nblocks = g->nblocks - f->first_block;
}

static void add_edge(BinFlow *g, BinEdge *to, uint32_t *n, uint32_t inst, BinEdgeKind kind) {
    if (inst != BINFLOW_NONE)
        to[(*n)++] = (BinEdge){g->block_of[inst], (uint8_t)kind};
}

static void make_succs(Builder *b, uint32_t block) {
    BinFlow *g = b->g;
    BinBlock *k = &g->blocks[block];
    uint32_t last = k->first + k->ninsts - 1;
    if (!g->decoded[last]) {
        k->ends = BX_OFF_END;
        return;
    }
    Exits x = exits_of(b, k->func, last);
    uint32_t ntargets = x.table ? x.table->ntargets : 0;
    BinEdge *to = ARENA_ARRAY(&g->arena, BinEdge, 2 + ntargets);
    k->ends = x.ends;
    k->succs = to;
    add_edge(g, to, &k->nsuccs, x.next, BE_NEXT);
    add_edge(g, to, &k->nsuccs, x.taken, BE_TAKEN);
    for (uint32_t t = 0; t < ntargets; t++) {
        uint32_t to_inst = table_target(g, &x, t);
        k->ends |= to_inst == BINFLOW_NONE ? BX_BAD_TARGET : 0;
        add_edge(g, to, &k->nsuccs, to_inst, BE_TABLE);
    }
}

static void make_preds(BinFlow *g) {
    BinEdge **at = ARENA_ARRAY(&g->arena, BinEdge *, g->nblocks + 1);
    for (uint32_t k = 0; k < g->nblocks; k++)
        for (uint32_t s = 0; s < g->blocks[k].nsuccs; s++)
            g->blocks[g->blocks[k].succs[s].block].npreds++;
    for (uint32_t k = 0; k < g->nblocks; k++) {
        g->blocks[k].preds = at[k] = ARENA_ARRAY(&g->arena, BinEdge, g->blocks[k].npreds);
    }
    for (uint32_t k = 0; k < g->nblocks; k++)
        for (uint32_t s = 0; s < g->blocks[k].nsuccs; s++) {
            BinEdge e = g->blocks[k].succs[s];
            *at[e.block]++ = (BinEdge){k, e.kind};
        }
}

/* ---- calls ---- */

static void make_calls(Builder *b, uint32_t func) {
    BinFlow *g = b->g;
    BinFuncFlow *f = &g->funcs[func];
    VEC(BinCall) calls = {0};
    VEC(uint32_t) entries = {0};
    for (uint32_t i = f->first_inst; i < f->first_inst + f->ninsts; i++) {
        if (b->entry[i] && i != f->first_inst)
            VEC_ADD(&g->arena, &entries, g->block_of[i]);
        BinKind kind = g->decoded[i] ? bin_kind(&g->insts[i]) : BK_PLAIN;
        uint32_t t = kind == BK_CALL || kind == BK_BRANCH ? bin_target(g, i) : BINFLOW_NONE;
        bool tail = kind == BK_BRANCH && t != BINFLOW_NONE && !inside(g, func, t) && b->entry[t];
        if ((kind != BK_CALL && !tail) || (kind == BK_CALL && !call_returns(b, i) && is_jump(b, func, i)))
            continue;
        uint32_t callee = t == BINFLOW_NONE ? BINFLOW_NONE : b->func[t];
        VEC_ADD(&g->arena, &calls, ((BinCall){i, callee, callee == BINFLOW_NONE ? BINFLOW_NONE : t}));
    }
    f->calls = calls.at;
    f->ncalls = calls.n;
    f->entries = entries.at;
    f->nentries = entries.n;
}

/* ---- order ---- */

typedef struct {
    uint32_t block, succ;
} Frame;

/* Post-order of what is reachable from `root` and not seen before, written downwards from order[*at]. */
static void depth_first(BinFlow *g, Frame *stack, uint32_t root, uint32_t *order, uint32_t *n) {
    uint32_t depth = 0, start = *n;
    if (g->blocks[root].reachable)
        return;
    g->blocks[root].reachable = true;
    stack[depth++] = (Frame){root, 0};
    while (depth) {
        Frame *top = &stack[depth - 1];
        const BinBlock *b = &g->blocks[top->block];
        if (top->succ == b->nsuccs) {
            order[(*n)++] = top->block;
            depth--;
            continue;
        }
        uint32_t to = b->succs[top->succ++].block;
        if (!g->blocks[to].reachable) {
            g->blocks[to].reachable = true;
            stack[depth++] = (Frame){to, 0};
        }
    }
    for (uint32_t i = start, k = *n; i + 1 < k; i++) { /* reverse */
        uint32_t t = order[i];
        order[i] = order[--k];
        order[k] = t;
    }
}

static void make_order(Builder *b, uint32_t func) {
    BinFlow *g = b->g;
    BinFuncFlow *f = &g->funcs[func];
    if (!f->nblocks)
        return;
    uint32_t *order = ARENA_ARRAY(&g->arena, uint32_t, f->nblocks);
    Frame *stack = ARENA_ARRAY(&b->scratch, Frame, f->nblocks);
    depth_first(g, stack, f->first_block, order, &f->nrpo);
    for (uint32_t k = 0; k < f->nentries; k++)
        depth_first(g, stack, f->entries[k], order, &f->nrpo);
    f->rpo = order;
}

/* ---- entry ---- */

static void decode_all(Builder *builder) {
    BinFlow *g = builder->g;
    const Binary *b = g->bin;
    char error[ISA_ERROR_BYTES];
    for (uint32_t f = 0; f < b->nfuncs; f++) {
        BinFuncFlow *ff = &g->funcs[f];
        ff->first_inst = (uint32_t)((b->funcs[f].address - b->code_base) / INST_BYTES);
        ff->ninsts = b->funcs[f].ninsts;
        for (uint32_t k = 0; k < ff->ninsts; k++) {
            uint32_t i = ff->first_inst + k;
            builder->func[i] = f;
            g->decoded[i] = isa_decode(b->target, b->code[i], &g->insts[i], error);
        }
    }
}

BinFlow *binflow_new(const Binary *bin) {
    BinFlow *g = calloc(1, sizeof *g);
    if (!g)
        return NULL;
    Builder b = {.g = g};
    uint32_t n = bin->ncode + 1;
    g->bin = bin;
    g->insts = ARENA_ARRAY(&g->arena, MachInst, n);
    g->decoded = ARENA_ARRAY(&g->arena, bool, n);
    g->block_of = ARENA_ARRAY(&g->arena, uint32_t, n);
    g->funcs = ARENA_ARRAY(&g->arena, BinFuncFlow, bin->nfuncs + 1);
    b.func = ARENA_ARRAY(&b.scratch, uint32_t, n);
    b.returns = ARENA_ARRAY(&b.scratch, bool, n);
    b.entry = ARENA_ARRAY(&b.scratch, bool, n);
    b.leader = ARENA_ARRAY(&b.scratch, bool, n);
    for (uint32_t i = 0; i < n; i++)
        g->block_of[i] = b.func[i] = BINFLOW_NONE;
    decode_all(&b);
    find_entries(&b);
    find_returns(&b);
    drop_jump_targets(&b);
    uint32_t nleaders = 0;
    for (uint32_t f = 0; f < bin->nfuncs; f++)
        mark_leaders(&b, f);
    for (uint32_t i = 0; i < n; i++)
        nleaders += b.leader[i];
    g->blocks = ARENA_ARRAY(&g->arena, BinBlock, nleaders + 1);
    for (uint32_t f = 0; f < bin->nfuncs; f++)
        make_blocks(&b, f);
    for (uint32_t k = 0; k < g->nblocks; k++)
        make_succs(&b, k);
    make_preds(g);
    for (uint32_t f = 0; f < bin->nfuncs; f++) {
        make_calls(&b, f);
        make_order(&b, f);
    }
    arena_free(&b.scratch);
    return g;
}

void binflow_free(BinFlow *g) {
    if (!g)
        return;
    arena_free(&g->arena);
    free(g);
}
