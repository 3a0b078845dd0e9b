/* Control flow of a decoded binary: see binflow.h. Every function is walked on the level of instructions
 * first, to learn which ones return; what follows a call that never returns is no successor of it. Then
 * blocks, edges, order.
 * SPDX-License-Identifier: MIT */
#include "check/flow/binflow.h"
#include "base/scope.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- one instruction ---- */

BinKind bin_kind(const MachInst *i) {
    switch ((enum IsaFlow)isa_traits(i->optype)
                ->flow) { /* no default: a word of the column without a case does not compile */
    case ISA_FLOW_BRANCH: return BK_BRANCH;
    case ISA_FLOW_INDIRECT: return BK_BRANCH_INDIRECT;
    case ISA_FLOW_CALL: return BK_CALL;
    case ISA_FLOW_RET: return BK_RET;
    case ISA_FLOW_EXIT: return BK_EXIT;
    case ISA_FLOW_TRAP: return BK_TRAP;
    case ISA_FLOW_BPT: return MGET(BPT, kind, i->mods) == BptKind_TRAP ? BK_TRAP : BK_PLAIN;
    case ISA_FLOW_BSSY: return BK_BSSY;
    case ISA_FLOW_BSYNC: return BK_BSYNC;
    case ISA_FLOW_BREAK: return BK_BREAK;
    case ISA_FLOW_BMOV:
        return i->opcode == OC_BMOV_R || i->opcode == OC_BMOV_NR ? BK_BMOV_TO_B : BK_BMOV_FROM_B;
    case ISA_FLOW_YIELD: return BK_YIELD;
    case ISA_FLOW_NANOSLEEP: return BK_NANOSLEEP;
    case ISA_FLOW_WARPSYNC: return BK_WARPSYNC;
    case ISA_FLOW_BAR: return BK_BAR;
    case ISA_FLOW_NOP: return BK_NOP;
    case ISA_FLOW_HOST:
    case ISA_FLOW_BAR_STATE:
    case ISA_FLOW_HERE:
    case ISA_FLOW_NONE:
    case ISA_FLOW_COUNT: break;
    }
    return isa_traits(i->optype)->lanes == ISA_LANES_COLLECTIVE ? BK_COLLECTIVE : BK_PLAIN;
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

BinGuard bin_guard(const MachInst *i) {
    unsigned pp = isa_traits(i->optype)->second_guard;
    BinGuard a = guard_of(i->guard), b = pp == ISA_NO_SLOT ? BG_ALWAYS : guard_of(i->src[pp]);
    return a < b ? a : b;
}

bool bin_writes_reg(const Target *target, const MachInst *inst, RegFile file, uint32_t reg) {
    for (unsigned d = 0; d < inst->ndst; d++) {
        unsigned regs = isa_dst_regs(target, inst, d);
        Operand o = inst->dst[d];
        if (o.kind == OPK_REG && o.file == file && o.value <= reg && reg < o.value + (regs ? regs : 1))
            return true;
    }
    return false;
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

uint32_t bin_target(const BinFlow *flow, uint32_t index) {
    const MachInst *i = &flow->insts[index];
    if (!has_offset(i) || (i->optype == OT_CALL && is_indirect(i)))
        return BINFLOW_NONE;
    uint64_t base = i->optype == OT_CALL && isa_is_absolute(i->optype, i->mods)
                        ? 0
                        : bin_address(flow, index) + INST_BYTES;
    uint64_t offset = base + (uint64_t)i->wide - flow->bin->code_base;
    return offset % INST_BYTES == 0 && offset / INST_BYTES < flow->bin->ncode
               ? (uint32_t)(offset / INST_BYTES)
               : BINFLOW_NONE;
}

const char *bin_where(const BinFlow *flow, uint32_t index, char out[160]) {
    const BinFunc *f = binary_func_at(flow->bin, bin_address(flow, index));
    if (f)
        snprintf(out, 160, "%.130s+0x%llx", f->name,
                 (unsigned long long)(bin_address(flow, index) - f->address));
    else
        snprintf(out, 160, "0x%llx", (unsigned long long)bin_address(flow, index));
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
    bool *landed; /* by instruction: a branch leads there */
} Builder;

static bool inside(const BinFlow *bin_flow, uint32_t func, uint32_t i) {
    const BinFuncFlow *flow = &bin_flow->funcs[func];
    return i >= flow->first_inst && i - flow->first_inst < flow->ninsts;
}

static void go_on(const BinFlow *flow, Exits *exits, uint32_t i) {
    if (inside(flow, exits->func, i + 1) && flow->decoded[i + 1])
        exits->next = i + 1;
    else {
        exits->ends |= BX_OFF_END;
        exits->ends_block = true;
    }
}

static void take(const Builder *builder, Exits *exits, uint32_t target) {
    const BinFlow *flow = builder->g;
    if (target == BINFLOW_NONE)
        exits->ends |= BX_BAD_TARGET;
    else if (inside(flow, exits->func, target)) {
        exits->taken = target;
        if (!flow->decoded[target]) {
            exits->taken = BINFLOW_NONE;
            exits->ends |= BX_BAD_TARGET;
        }
    } else if (builder->entry[target])
        exits->ends |= builder->returns[target] ? BX_RET : BX_NORETURN;
    else
        exits->ends |= BX_BAD_TARGET;
}

static const BinBranchTable *table_of(const BinFlow *flow, uint32_t func, uint32_t i) {
    const BinFunc *f = &flow->bin->funcs[func];
    uint32_t pc = (i - flow->funcs[func].first_inst) * INST_BYTES;
    for (uint32_t k = 0; k < f->ntables; k++)
        if (f->tables[k].pc_bytes == pc)
            return &f->tables[k];
    return NULL;
}

static bool call_returns(const Builder *builder, uint32_t func, uint32_t i) {
    uint32_t target = bin_target(builder->g, i);
    SystemFunc system = bin_system_callee(builder->g, builder->landed, builder->g->funcs[func].first_inst, i);
    if (system != SYSTEM_COUNT)
        return system_info(system)->returns;
    return target == BINFLOW_NONE || builder->func[target] == BINFLOW_NONE || builder->returns[target];
}

/* Does an instruction shortly before give the address behind i to a register, as callers of RET.REL do: an
 * immediate that counts from the function's beginning, or LEPC? */
static bool gives_address(const BinFlow *flow, uint32_t func, uint32_t i) {
    enum { LOOK_BACK = 64 };
    uint32_t first = flow->funcs[func].first_inst, back = (i + 1 - first) * INST_BYTES;
    for (uint32_t k = i; k-- > first && i - k <= LOOK_BACK;) {
        const MachInst *inst = &flow->insts[k];
        if (!flow->decoded[k] || !inst->ndst || inst->dst[0].kind != OPK_REG || inst->dst[0].file != RF_R)
            continue;
        if (inst->optype == OT_LEPC)
            return true;
        for (unsigned s = 0; s < inst->nsrc; s++)
            if (inst->src[s].kind == OPK_IMM && inst->src[s].value == back)
                return true;
    }
    return false;
}

/* ptxas leaves loops by CALL.REL.NOINC to a place in the same function. That is a branch where no way returns
 * from there. Some way may: a function that is called ends in a RET of its own, and a kernel's ways may lead
 * into routines that have one. Nobody knows what is behind it then:
 *     @P0 CALL.REL.NOINC out ;  BRA again ;     with no return address made before */
static bool is_one_way(const BinFlow *flow, uint32_t func, uint32_t i) {
    const BinFuncFlow *ff = &flow->funcs[func];
    bool between = bin_guard(&flow->insts[i]) == BG_MAYBE && i + 1 < ff->first_inst + ff->ninsts &&
                   flow->decoded[i + 1] && bin_kind(&flow->insts[i + 1]) == BK_BRANCH &&
                   bin_guard(&flow->insts[i + 1]) == BG_ALWAYS;
    return MGET(CALL, noinc, flow->insts[i].mods) && (between || !flow->bin->funcs[func].is_entry) &&
           !gives_address(flow, func, i);
}

static bool is_jump(const Builder *builder, uint32_t func, uint32_t i) {
    const BinFlow *flow = builder->g;
    uint32_t t = bin_target(flow, i);
    return t != BINFLOW_NONE && inside(flow, func, t) && t != flow->funcs[func].first_inst &&
           (!builder->returns[t] || is_one_way(flow, func, i));
}

static Exits exits_of(const Builder *builder, uint32_t func, uint32_t i) {
    const BinFlow *flow = builder->g;
    const MachInst *inst = &flow->insts[i];
    BinKind kind = bin_kind(inst);
    BinGuard guard = bin_guard(inst);
    Exits x = {.next = BINFLOW_NONE, .taken = BINFLOW_NONE, .func = func, .ends_block = true};
    if (kind == BK_BRANCH && guard == BG_ALWAYS && MGET(BRA, cond, inst->mods) != BRACond_NoCond &&
        MGET(BRA, cond, inst->mods) != BRACond_U)
        guard = BG_MAYBE; /* .DIV and .CONV ask for the state of the warp */
    switch (guard == BG_NEVER ? BK_PLAIN : kind) {
    case BK_BRANCH: take(builder, &x, bin_target(flow, i)); break;
    case BK_BRANCH_INDIRECT:
        x.table = table_of(flow, func, i);
        x.ends |= x.table ? 0 : BX_UNKNOWN;
        break;
    case BK_CALL:
        if (is_jump(builder, func, i))
            take(builder, &x, bin_target(flow, i));
        else if (call_returns(builder, func, i)) {
            x.ends_block = false;
            guard = BG_MAYBE;
        } else
            x.ends |= BX_NORETURN;
        break;
    case BK_RET: x.ends |= BX_RET; break;
    case BK_EXIT: x.ends |= BX_EXIT; break;
    case BK_TRAP: x.ends |= BX_TRAP; break;
    case BK_WARPSYNC: /* some native forms name a place where the lanes go on */
        x.ends_block = has_offset(inst);
        if (x.ends_block)
            take(builder, &x, bin_target(flow, i));
        guard = BG_MAYBE;
        break;
    default:
        x.ends_block = kind == BK_BRANCH || kind == BK_BRANCH_INDIRECT || kind == BK_RET || kind == BK_EXIT ||
                       kind == BK_TRAP;
        guard = BG_MAYBE;
    }
    if (guard != BG_ALWAYS)
        go_on(flow, &x, i);
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

static void add_watcher(Builder *builder, Returns *returns, uint32_t from, uint32_t to) {
    if (to == BINFLOW_NONE)
        return;
    VEC_ADD(&builder->scratch, &returns->watchers, ((Watcher){from, returns->head[to]}));
    returns->head[to] = returns->watchers.n;
}

/* The instruction that entry k of a branch table leads to; BINFLOW_NONE if it is none. */
static uint32_t table_target(const BinFlow *bin_flow, const Exits *exits, uint32_t k) {
    const BinFuncFlow *flow = &bin_flow->funcs[exits->func];
    uint32_t at = exits->table->targets[k], i = flow->first_inst + at / INST_BYTES;
    return at % INST_BYTES == 0 && at / INST_BYTES < flow->ninsts && bin_flow->decoded[i] ? i : BINFLOW_NONE;
}

static bool leads_to_return(const Builder *builder, uint32_t func, uint32_t i) {
    Exits x = exits_of(builder, func, i);
    bool good = (x.ends & (BX_RET | BX_UNKNOWN)) != 0;
    good |= x.next != BINFLOW_NONE && builder->returns[x.next];
    good |= x.taken != BINFLOW_NONE && builder->returns[x.taken];
    for (uint32_t k = 0; x.table && k < x.table->ntargets; k++) {
        uint32_t t = table_target(builder->g, &x, k);
        good |= t != BINFLOW_NONE && builder->returns[t];
    }
    return good;
}

static void watch_successors(Builder *builder, Returns *r, uint32_t func, uint32_t i) {
    BinFlow *flow = builder->g;
    Exits x = exits_of(builder, func, i);
    add_watcher(builder, r, i, x.next);
    add_watcher(builder, r, i, bin_target(flow, i)); /* of BRA, CALL */
    if (bin_kind(&flow->insts[i]) == BK_CALL && x.next == BINFLOW_NONE && inside(flow, func, i + 1))
        add_watcher(builder, r, i, i + 1);
    for (uint32_t k = 0; x.table && k < x.table->ntargets; k++)
        add_watcher(builder, r, i, table_target(flow, &x, k));
}

static void find_entries(Builder *builder) {
    BinFlow *flow = builder->g;
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++) {
        const BinFuncFlow *ff = &flow->funcs[f];
        if (ff->ninsts)
            builder->entry[ff->first_inst] = true;
        for (uint32_t i = ff->first_inst; i < ff->first_inst + ff->ninsts; i++) {
            uint32_t t =
                flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_CALL ? bin_target(flow, i) : BINFLOW_NONE;
            if (t != BINFLOW_NONE && builder->func[t] != BINFLOW_NONE)
                builder->entry[t] |= builder->func[t] != f || !is_one_way(flow, f, i);
        }
    }
}

static void find_returns(Builder *builder) {
    BinFlow *flow = builder->g;
    Returns r = {.head = ARENA_ARRAY(&builder->scratch, uint32_t, flow->bin->ncode + 1)};
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        for (uint32_t i = flow->funcs[f].first_inst, k = 0; k < flow->funcs[f].ninsts; k++, i++)
            if (flow->decoded[i])
                watch_successors(builder, &r, f, i);
    r.todo = ARENA_ARRAY(&builder->scratch, uint32_t, (size_t)flow->bin->ncode + r.watchers.n + 1);
    for (uint32_t i = 0; i < flow->bin->ncode; i++)
        if (flow->decoded[i])
            r.todo[r.ntodo++] = i;
    while (r.ntodo) { /* each watcher is pushed once, when what it watches becomes true */
        uint32_t i = r.todo[--r.ntodo];
        if (builder->returns[i] || !leads_to_return(builder, builder->func[i], i))
            continue;
        builder->returns[i] = true;
        for (uint32_t w = r.head[i]; w; w = r.watchers.at[w - 1].link)
            r.todo[r.ntodo++] = r.watchers.at[w - 1].inst;
    }
}

static void find_landings(Builder *builder) {
    BinFlow *flow = builder->g;
    for (uint32_t f = 0; f < flow->bin->nfuncs; f++)
        for (uint32_t k = 0, i = flow->funcs[f].first_inst; k < flow->funcs[f].ninsts; k++, i++) {
            uint32_t to = flow->decoded[i] ? bin_target(flow, i) : BINFLOW_NONE;
            const BinBranchTable *table = flow->decoded[i] && bin_kind(&flow->insts[i]) == BK_BRANCH_INDIRECT
                                              ? table_of(flow, f, i)
                                              : NULL;
            if (to != BINFLOW_NONE)
                builder->landed[to] = true;
            for (uint32_t n = 0; table && n < table->ntargets; n++)
                if (table->targets[n] / INST_BYTES < flow->funcs[f].ninsts)
                    builder->landed[flow->funcs[f].first_inst + table->targets[n] / INST_BYTES] = true;
        }
}

static void drop_jump_targets(Builder *builder) {
    for (uint32_t f = 0; f < builder->g->bin->nfuncs; f++)
        for (uint32_t k = 1; k < builder->g->funcs[f].ninsts; k++) {
            uint32_t i = builder->g->funcs[f].first_inst + k;
            builder->entry[i] &= builder->returns[i];
        }
}

/* ---- blocks ---- */

static void mark_leaders(Builder *builder, uint32_t func) {
    BinFlow *bin_flow = builder->g;
    const BinFuncFlow *flow = &bin_flow->funcs[func];
    uint32_t end = flow->first_inst + flow->ninsts;
    for (uint32_t i = flow->first_inst; i < end; i++) {
        builder->leader[i] |=
            builder->entry[i] || i == flow->first_inst || bin_flow->decoded[i] != bin_flow->decoded[i - 1];
        if (!bin_flow->decoded[i])
            continue;
        Exits x = exits_of(builder, func, i);
        if (x.ends_block && i + 1 < end)
            builder->leader[i + 1] = true;
        if (x.taken != BINFLOW_NONE)
            builder->leader[x.taken] = true;
        for (uint32_t k = 0; x.table && k < x.table->ntargets; k++)
            if (table_target(bin_flow, &x, k) != BINFLOW_NONE)
                builder->leader[table_target(bin_flow, &x, k)] = true;
    }
}

static void make_blocks(Builder *builder, uint32_t func) {
    BinFlow *bin_flow = builder->g;
    BinFuncFlow *flow = &bin_flow->funcs[func];
    flow->first_block = bin_flow->nblocks;
    for (uint32_t i = flow->first_inst; i < flow->first_inst + flow->ninsts; i++) {
        if (builder->leader[i])
            bin_flow->blocks[bin_flow->nblocks++] = (BinBlock){.first = i, .func = func};
        bin_flow->block_of[i] = bin_flow->nblocks - 1;
        bin_flow->blocks[bin_flow->nblocks - 1].ninsts++;
    }
    flow->nblocks = bin_flow->nblocks - flow->first_block;
}

static void flow_edge(BinFlow *flow, BinEdge *to, uint32_t *n, uint32_t inst, BinEdgeKind kind) {
    if (inst != BINFLOW_NONE)
        to[(*n)++] = (BinEdge){flow->block_of[inst], (uint8_t)kind};
}

static void make_succs(Builder *builder, uint32_t block) {
    BinFlow *flow = builder->g;
    BinBlock *bin_block = &flow->blocks[block];
    uint32_t last = bin_block->first + bin_block->ninsts - 1;
    if (!flow->decoded[last]) {
        bin_block->ends = BX_OFF_END;
        return;
    }
    Exits x = exits_of(builder, bin_block->func, last);
    uint32_t ntargets = x.table ? x.table->ntargets : 0;
    BinEdge *to = ARENA_ARRAY(&flow->arena, BinEdge, 2 + ntargets);
    bin_block->ends = x.ends;
    bin_block->succs = to;
    flow_edge(flow, to, &bin_block->nsuccs, x.next, BE_NEXT);
    flow_edge(flow, to, &bin_block->nsuccs, x.taken, BE_TAKEN);
    for (uint32_t t = 0; t < ntargets; t++) {
        uint32_t to_inst = table_target(flow, &x, t);
        bin_block->ends |= to_inst == BINFLOW_NONE ? BX_BAD_TARGET : 0;
        flow_edge(flow, to, &bin_block->nsuccs, to_inst, BE_TABLE);
    }
}

static void make_preds(BinFlow *flow) {
    BinEdge **at = ARENA_ARRAY(&flow->arena, BinEdge *, flow->nblocks + 1);
    for (uint32_t k = 0; k < flow->nblocks; k++)
        for (uint32_t s = 0; s < flow->blocks[k].nsuccs; s++)
            flow->blocks[flow->blocks[k].succs[s].block].npreds++;
    for (uint32_t k = 0; k < flow->nblocks; k++) {
        flow->blocks[k].preds = at[k] = ARENA_ARRAY(&flow->arena, BinEdge, flow->blocks[k].npreds);
    }
    for (uint32_t k = 0; k < flow->nblocks; k++)
        for (uint32_t s = 0; s < flow->blocks[k].nsuccs; s++) {
            BinEdge e = flow->blocks[k].succs[s];
            *at[e.block]++ = (BinEdge){k, e.kind};
        }
}

/* ---- calls ---- */

static void make_calls(Builder *builder, uint32_t func) {
    BinFlow *bin_flow = builder->g;
    BinFuncFlow *flow = &bin_flow->funcs[func];
    VEC(BinCall) calls = {0};
    VEC(uint32_t) entries = {0};
    for (uint32_t i = flow->first_inst; i < flow->first_inst + flow->ninsts; i++) {
        if (builder->entry[i] && i != flow->first_inst)
            VEC_ADD(&bin_flow->arena, &entries, bin_flow->block_of[i]);
        BinKind kind = bin_flow->decoded[i] ? bin_kind(&bin_flow->insts[i]) : BK_PLAIN;
        uint32_t t = kind == BK_CALL || kind == BK_BRANCH ? bin_target(bin_flow, i) : BINFLOW_NONE;
        bool tail = kind == BK_BRANCH && t != BINFLOW_NONE && !inside(bin_flow, func, t) && builder->entry[t];
        if ((kind != BK_CALL && !tail) || (kind == BK_CALL && is_jump(builder, func, i)))
            continue;
        uint32_t callee = t == BINFLOW_NONE ? BINFLOW_NONE : builder->func[t];
        SystemFunc system = bin_system_callee(bin_flow, builder->landed, flow->first_inst, i);
        if (system == SYSTEM_COUNT)
            system = bin_moved_callee(bin_flow, builder->landed, flow->first_inst, i);
        VEC_ADD(&bin_flow->arena, &calls,
                ((BinCall){i, callee, callee == BINFLOW_NONE ? BINFLOW_NONE : t, system}));
    }
    flow->calls = calls.at;
    flow->ncalls = calls.n;
    flow->entries = entries.at;
    flow->nentries = entries.n;
}

/* ---- order ---- */

typedef struct {
    uint32_t block, succ;
} Frame;

void bin_order(const BinFlow *flow, Arena *scratch, uint32_t root, bool *seen, uint32_t *order, uint32_t *n) {
    const BinFuncFlow *func = &flow->funcs[flow->blocks[root].func];
    uint32_t depth = 0, start = *n, base = func->first_block;
    if (seen[root - base])
        return;
    ArenaMark mark = arena_mark(scratch);
    Frame *stack = ARENA_ARRAY(scratch, Frame, func->nblocks);
    seen[root - base] = true;
    stack[depth++] = (Frame){root, 0};
    while (depth) {
        Frame *top = &stack[depth - 1];
        const BinBlock *b = &flow->blocks[top->block];
        if (top->succ == b->nsuccs) {
            order[(*n)++] = top->block;
            depth--;
            continue;
        }
        uint32_t to = b->succs[top->succ++].block;
        if (!seen[to - base]) {
            seen[to - base] = true;
            stack[depth++] = (Frame){to, 0};
        }
    }
    for (uint32_t i = start, k = *n; i + 1 < k; i++) { /* reverse */
        uint32_t t = order[i];
        order[i] = order[--k];
        order[k] = t;
    }
    arena_release(scratch, mark);
}

static void make_order(Builder *builder, uint32_t func) {
    BinFlow *bin_flow = builder->g;
    BinFuncFlow *flow = &bin_flow->funcs[func];
    if (!flow->nblocks)
        return;
    uint32_t *order = ARENA_ARRAY(&bin_flow->arena, uint32_t, flow->nblocks);
    bool *seen = ARENA_ARRAY(&builder->scratch, bool, flow->nblocks);
    bin_order(bin_flow, &builder->scratch, flow->first_block, seen, order, &flow->nrpo);
    for (uint32_t k = 0; k < flow->nentries; k++)
        bin_order(bin_flow, &builder->scratch, flow->entries[k], seen, order, &flow->nrpo);
    for (uint32_t k = 0; k < flow->nrpo; k++)
        bin_flow->blocks[order[k]].reachable = true;
    flow->rpo = order;
}

/* ---- entry ---- */

static void decode_all(Builder *builder) {
    BinFlow *flow = builder->g;
    const Binary *binary = flow->bin;
    char error[ISA_ERROR_BYTES];
    for (uint32_t f = 0; f < binary->nfuncs; f++) {
        BinFuncFlow *ff = &flow->funcs[f];
        ff->first_inst = (uint32_t)((binary->funcs[f].address - binary->code_base) / INST_BYTES);
        ff->ninsts = binary->funcs[f].ninsts;
        for (uint32_t k = 0; k < ff->ninsts; k++) {
            uint32_t i = ff->first_inst + k;
            builder->func[i] = f;
            flow->decoded[i] = isa_decode(binary->target, binary->code[i], &flow->insts[i], error);
        }
    }
}

BinFlow *bin_flow_new(const Binary *bin) {
    BinFlow *flow = mem_zeroed(1, sizeof *flow);
    Builder b = {.g = flow};
    uint32_t n = bin->ncode + 1;
    flow->bin = bin;
    flow->insts = ARENA_ARRAY(&flow->arena, MachInst, n);
    flow->decoded = ARENA_ARRAY(&flow->arena, bool, n);
    flow->block_of = ARENA_ARRAY(&flow->arena, uint32_t, n);
    flow->funcs = ARENA_ARRAY(&flow->arena, BinFuncFlow, bin->nfuncs + 1);
    b.func = ARENA_ARRAY(&b.scratch, uint32_t, n);
    b.returns = ARENA_ARRAY(&b.scratch, bool, n);
    b.entry = ARENA_ARRAY(&b.scratch, bool, n);
    b.leader = ARENA_ARRAY(&b.scratch, bool, n);
    for (uint32_t i = 0; i < n; i++)
        flow->block_of[i] = b.func[i] = BINFLOW_NONE;
    b.landed = ARENA_ARRAY(&b.scratch, bool, n);
    decode_all(&b);
    find_landings(&b);
    find_entries(&b);
    find_returns(&b);
    drop_jump_targets(&b);
    uint32_t nleaders = 0;
    for (uint32_t f = 0; f < bin->nfuncs; f++)
        mark_leaders(&b, f);
    for (uint32_t i = 0; i < n; i++)
        nleaders += b.leader[i];
    flow->blocks = ARENA_ARRAY(&flow->arena, BinBlock, nleaders + 1);
    for (uint32_t f = 0; f < bin->nfuncs; f++)
        make_blocks(&b, f);
    for (uint32_t k = 0; k < flow->nblocks; k++)
        make_succs(&b, k);
    make_preds(flow);
    for (uint32_t f = 0; f < bin->nfuncs; f++) {
        make_calls(&b, f);
        make_order(&b, f);
    }
    arena_free(&b.scratch);
    return flow;
}

void bin_flow_free(BinFlow *flow) {
    if (!flow)
        return;
    arena_free(&flow->arena);
    mem_free(flow);
}
