/* Which branches may part the lanes of a warp, where all of them are certainly together, and where not all
 * need to come. A data flow over machine registers, from scratch, sharing with lowering only the rows that
 * say what makes divergent values (special registers of the lane, memory, shuffles); the rest follows its
 * sources; registers written on the sides of a divergent branch are divergent where the sides meet
 * (regions.c). Everything starts uniform and together, and only gets worse. Procedures pass registers on at
 * calls; those that are one straight way of what only computes are gone through anew at each. R2UR is asked
 * for by name. What an instruction makes of values is in cells.c. SPDX-License-Identifier: MIT */
#include "check/flow/question.h"
#include "check/static/cells.h"
#include "check/static/regions.h"
#include "isa/machine/abi.h"
#include <string.h>

enum { MAX_DEPTH = 32 };
typedef struct {
    Cells entry, out; /* divergent at the entry, at returns */
    Cells writes;     /* here or in callees */
    bool entry_apart, entry_together, exit_together, called, straight;
    uint32_t base;
} ProcInfo;

typedef struct {
    bool on;
    uint16_t joined; /* barriers of closed regions that the whole warp has joined together, and is in */
} Together;

typedef struct {
    Checker *c;
    ProcInfo *info;
    Cells *in, *extra, *writes;       /* by block; extra: divergent because paths meet here */
    bool *apart, *together, *reached; /* by block */
    bool certain; /* only what is divergent by its data: registers may hold copies of one value where paths
                        meet */
    bool *dirty, *running;       /* by proc: to be looked at again; being looked at */
    Together *at;                /* by block, for run_proc */
    uint8_t *closed;             /* by instruction, of a BSSY: Closed */
    uint32_t *seen, walk;        /* by block: seen in the walk of this number */
    uint32_t *stack;             /* of blocks */
    uint32_t *side;              /* of one branch: their first blocks */
    uint32_t *pending, *waiting; /* by side: blocks to go on from; meeting points no other side has come to */
    uint32_t *owner;             /* by block seen: the side that came first */
    uint32_t *inner;             /* of blocks */
    const Cells **given;         /* by block: to all meeting points that it leads to before given_to; NULL */
    uint32_t *given_to;
    Regions **regions;     /* by proc, NULL where no branch is divergent */
    Cells **region_writes; /* by proc and region */
    uint32_t *prepared;    /* by proc: changes + 1 when region_writes was found */
    uint32_t changes;      /* of writes */
    uint32_t *spread;      /* by block: changes + 1 when its divergent branch was spread */
    unsigned depth;        /* procs that are running */
} Uniform;

/* Something that the callers of p look at has changed. */
static void callers_dirty(Uniform *uniform, uint32_t p) {
    const Graph *calls = &uniform->c->calls;
    GRAPH_PREDS(calls, p, q) {
        if (*q != uniform->c->nprocs)
            uniform->dirty[*q] = true;
        else
            GRAPH_PREDS(calls, *q, r)
                uniform->dirty[*r] = true;
    }
}

/* ---- a divergent branch ---- */

/* What the blocks of each region of the procedure write. */
static void find_region_writes(Uniform *uniform, uint32_t p) {
    const Regions *regions = uniform->regions[p];
    if (!uniform->region_writes[p])
        uniform->region_writes[p] = ARENA_ARRAY(&uniform->c->a, Cells, regions->n + 1);
    Cells *written = uniform->region_writes[p];
    for (uint32_t r = 0; r < regions->n; r++)
        for (uint32_t m = regions->member_at[r]; m < regions->member_at[r + 1]; m++) {
            uint32_t node = regions->members[m];
            for (uint32_t k = regions->part_at[node]; k < regions->part_at[node + 1]; k++) {
                uint32_t part = regions->parts[k], block = check_region_block(regions, part);
                uniform->c->steps++;
                unite(&written[r], &written[regions->number[part]]);
                if (block != NONE)
                    unite(&written[r], &uniform->writes[block]);
            }
        }
}

/* The sides of one branch. They are walked in turn: a short side makes for a short walk, however long the
 * others. */
typedef struct {
    Uniform *uniform;
    uint32_t join, n;     /* n: sides that do not begin with the join */
    const Cells *written; /* in the branch's region */
    uint32_t head, tail;  /* of Uniform.stack, blocks to go on from */
    uint32_t running,
        all_waiting; /* sides that have such blocks; meeting points that only one side has come to */
    bool changed;
} Sides;

static bool is_meeting(const Uniform *uniform, uint32_t block) {
    return uniform->c->flow->blocks[block].npreds > 1;
}

static void give_writes(Sides *sides, uint32_t block) {
    sides->changed |= unite(&sides->uniform->extra[block], sides->written);
}

/* Has an earlier branch given as much to all meeting points that the block leads to? */
static bool is_given(const Sides *sides, uint32_t block) {
    const Cells *given = sides->uniform->given[block];
    return given && !lacks(given, sides->written);
}

/* Two sides come to the block, and so to all that it leads to before the join. */
static void close_inner(Sides *sides, uint32_t from) {
    Uniform *uniform = sides->uniform;
    uint32_t *stack = uniform->inner, top = 0;
    for (stack[top++] = from; top;) {
        uint32_t at = stack[--top];
        const BinBlock *block = &uniform->c->flow->blocks[at];
        uniform->c->steps++;
        if (at == sides->join || (is_given(sides, at) && uniform->given_to[at] == sides->join))
            continue;
        uniform->given[at] = sides->written;
        uniform->given_to[at] = sides->join;
        if (is_meeting(uniform, at)) {
            give_writes(sides, at);
            if (uniform->seen[at] == uniform->walk) {
                uniform->waiting[uniform->owner[at]]--;
                sides->all_waiting--;
            }
        }
        for (uint32_t k = 0; k < block->nsuccs; k++)
            stack[top++] = block->succs[k].block;
    }
}

static void come_to(Sides *sides, uint32_t side, uint32_t block) {
    Uniform *uniform = sides->uniform;
    uniform->c->steps++;
    if (block == sides->join || (is_given(sides, block) && uniform->given_to[block] == sides->join))
        return;
    if (uniform->seen[block] == uniform->walk) {
        if (uniform->owner[block] != side)
            close_inner(sides, block);
        return;
    }
    uniform->seen[block] = uniform->walk;
    uniform->owner[block] = side;
    uniform->waiting[side] += is_meeting(uniform, block);
    sides->all_waiting += is_meeting(uniform, block);
    sides->running += uniform->pending[side]++ == 0;
    uniform->stack[sides->tail++] = block;
}

/* Where only one side goes on, and all that the others have come to is settled, it can meet nobody any more.
 */
static void walk_sides(Sides *sides) {
    Uniform *uniform = sides->uniform;
    uniform->walk++;
    for (uint32_t side = 0; side < sides->n; side++)
        uniform->waiting[side] = uniform->pending[side] = 0;
    for (uint32_t side = 0; side < sides->n; side++)
        come_to(sides, side, uniform->side[side]);
    while (sides->head < sides->tail) {
        uint32_t at = uniform->stack[sides->head++], side = uniform->owner[at];
        const BinBlock *block = &uniform->c->flow->blocks[at];
        if (sides->running == 1 && sides->all_waiting == uniform->waiting[side])
            return;
        sides->running -= --uniform->pending[side] == 0;
        for (uint32_t k = 0; k < block->nsuccs; k++)
            come_to(sides, side, block->succs[k].block);
    }
}

/* A side that leads back to the branch comes to all that the other sides come to. */
static void meet_again(Sides *sides, const Regions *regions, uint32_t branch, bool settled) {
    Uniform *uniform = sides->uniform;
    uint32_t nback = 0;
    for (uint32_t k = 0; k < sides->n; k++)
        nback += uniform->pending[k] = check_region_leads_back(regions, branch, uniform->side[k]);
    for (uint32_t k = 0; k < sides->n; k++) {
        uint32_t block = uniform->side[k];
        if (nback == uniform->pending[k])
            continue;
        if (!is_meeting(uniform, block)) /* lanes come by the one way in different rounds */
            give_writes(sides, block);
        if (!settled)
            close_inner(sides, block);
    }
}

/* The branch's first blocks but the join, each once: parallel edges are one side. */
static void find_sides(Sides *sides, const BinBlock *branch) {
    Uniform *uniform = sides->uniform;
    uniform->walk++;
    for (uint32_t k = 0; k < branch->nsuccs; k++) {
        uint32_t first = branch->succs[k].block;
        if (first != sides->join && uniform->seen[first] != uniform->walk)
            uniform->side[sides->n++] = first;
        uniform->seen[first] = uniform->walk;
    }
}

/* Registers that are written on the way to a block to which two sides come are divergent there, and at the
 * join. What two sides come to is closed: a branch that stands in it has nothing to add but what its own
 * rounds do. */
static bool meet_sides(Uniform *uniform, uint32_t p, uint32_t branch) {
    const BinBlock *block = &uniform->c->flow->blocks[branch];
    const Regions *regions = uniform->regions[p];
    Sides sides = {.uniform = uniform, .join = uniform->c->ipdom[branch]};
    sides.written = &uniform->region_writes[p][check_region_of(regions, branch)];
    find_sides(&sides, block);
    bool again = false, settled = is_given(&sides, branch);
    for (uint32_t k = 0; k < sides.n && !again; k++)
        again = check_region_leads_back(regions, branch, uniform->side[k]);
    if (sides.join != NONE) {
        const BinBlock *join = &uniform->c->flow->blocks[sides.join];
        if (is_meeting(uniform, sides.join) || (again && join->npreds && join->preds[0].block == branch))
            give_writes(&sides, sides.join);
    }
    if (again)
        meet_again(&sides, regions, branch, settled);
    else if (sides.n > 1 && !settled)
        walk_sides(&sides);
    return sides.changed;
}

static bool spread_branch(Uniform *uniform, uint32_t p, uint32_t branch) {
    bool changed = check_region_sweep(uniform->regions[p], branch, uniform->apart);
    return (!uniform->certain && meet_sides(uniform, p, branch)) || changed;
}

/* What branches of the procedure have given is of no use where blocks write more than they did. */
static void prepare_spread(Uniform *uniform, uint32_t p) {
    Checker *checker = uniform->c;
    const Proc *proc = &checker->procs[p];
    if (!uniform->regions[p]) {
        uniform->regions[p] = ARENA_ARRAY(&checker->a, Regions, 1);
        *uniform->regions[p] =
            check_regions(checker->flow, proc, checker->ipdom, &checker->steps, &checker->a);
    }
    if (uniform->certain || uniform->prepared[p] == uniform->changes + 1)
        return;
    uniform->prepared[p] = uniform->changes + 1;
    find_region_writes(uniform, p);
    for (uint32_t k = 0; k < proc->nrpo; k++)
        uniform->given[proc->rpo[k]] = NULL;
}

/* Some lanes return here, others go on. */
static bool spread_return(Uniform *uniform, const Proc *proc) {
    bool changed = false;
    for (uint32_t k = 0; k < proc->nrpo; k++) {
        changed |= !uniform->apart[proc->rpo[k]];
        uniform->apart[proc->rpo[k]] = true;
    }
    return changed;
}

/* ---- being together ---- */

static bool is_full_warpsync(const MachInst *inst) {
    return bin_kind(inst) == BK_WARPSYNC && bin_guard(inst) == BG_ALWAYS &&
           inst->src[WARPSYNC_rb].kind == OPK_IMM && inst->src[WARPSYNC_rb].value == UINT32_MAX;
}

typedef enum { UNKNOWN, CLOSED, OPEN } Closed;

/* May lanes that are pending in the barrier be elsewhere than on their way to BSYNC, behind this? Where
 * others go on without those that have yielded (bru1; hardware waits), also those that sleep. */
static bool opens(const Uniform *uniform, uint32_t i, unsigned reg) {
    const MachInst *m = &uniform->c->flow->insts[i];
    switch (check_kind(uniform->c, i)) {
    case BK_BREAK:
    case BK_BMOV_TO_B: return bin_barrier(m) == reg;
    case BK_RET: return true;
    case BK_YIELD:
    case BK_NANOSLEEP:
    case BK_CALL: return !uniform->c->native;
    default: return check_is_call(uniform->c, i) && !uniform->c->native;
    }
}

/* Do all lanes that join at the BSSY come to its BSYNC, or exit? */
static bool region_is_closed(Uniform *uniform, uint32_t bssy) {
    const BinFlow *flow = uniform->c->flow;
    unsigned reg = bin_barrier(&flow->insts[bssy]);
    uint32_t top = 0, first = flow->block_of[bssy], from = bssy + 1;
    uniform->walk++;
    for (uniform->stack[top++] = first; top;) {
        const BinBlock *b = &flow->blocks[uniform->stack[--top]];
        uint32_t end = b->first + b->ninsts, i = from ? from : b->first;
        bool synced = false;
        uniform->c->steps++;
        from = 0;
        for (; i < end && flow->decoded[i] && !synced; i++) {
            if (opens(uniform, i, reg))
                return false;
            synced = bin_kind(&flow->insts[i]) == BK_BSYNC && bin_barrier(&flow->insts[i]) == reg &&
                     bin_guard(&flow->insts[i]) == BG_ALWAYS;
        }
        for (uint32_t s = 0; s < b->nsuccs && !synced; s++)
            if (uniform->seen[b->succs[s].block] != uniform->walk) {
                uniform->seen[b->succs[s].block] = uniform->walk;
                uniform->stack[top++] = b->succs[s].block;
            }
    }
    return true;
}

static bool is_closed(Uniform *uniform, uint32_t bssy) {
    uint8_t *closed = &uniform->closed[bssy];
    if (*closed == UNKNOWN)
        *closed = region_is_closed(uniform, bssy) ? CLOSED : OPEN;
    return *closed == CLOSED;
}

/* Behind a mask that differs among lanes each group goes on for itself; behind a number that leaves lanes
 * out, those need not be with the others. A guard parts nobody: who waits for the whole warp comes with it.
 */
static bool keeps_together(const Checker *checker, uint32_t warpsync) {
    uint32_t mask;
    if (check_mask(checker->flow, warpsync, &mask))
        return mask == UINT32_MAX;
    return !checker->masks_vary[warpsync];
}

static void together_behind(Uniform *uniform, Together *together, uint32_t i) {
    const Checker *checker = uniform->c;
    const MachInst *m = &checker->flow->insts[i];
    BinKind k = check_kind(checker, i);
    if (is_full_warpsync(m))
        together->on = true;
    else if (k == BK_WARPSYNC && !keeps_together(checker, i))
        together->on = false;
    else if (k == BK_BSSY) {
        uint16_t bit = (uint16_t)(1u << bin_barrier(m));
        /* of a part of the warp: the others may be lost from the register, where BSSY sets it */
        bool all = bin_guard(m) == BG_ALWAYS && together->on && is_closed(uniform, i);
        together->joined = (uint16_t)(all ? together->joined | bit : together->joined & ~bit);
    } else if (k == BK_BSYNC && bin_guard(m) == BG_ALWAYS) {
        together->on |= together->joined >> bin_barrier(m) & 1;
        together->joined &= (uint16_t) ~(1u << bin_barrier(m));
    } else if (k == BK_CALL) {
        Callees to = check_callees(checker, i);
        bool all = to.n > 0 && !checker->divergent[i];
        for (uint32_t n = 0; n < to.n; n++)
            all &= uniform->info[to.proc[n]].straight || uniform->info[to.proc[n]].exit_together;
        together->on &= all;
    } else if (checker->divergent[i] && (k == BK_BRANCH || k == BK_BRANCH_INDIRECT || k == BK_RET))
        together->on = false;
}

/* Does the whole warp come together from the end `last` of a block to `block`? BRA.CONV of all lanes leads
 * those aside that are not, BRA.DIV likewise, and so does a branch that asks whether all are active. */
static bool brings_all(const Checker *checker, uint32_t last, uint32_t block) {
    const BinFlow *flow = checker->flow;
    uint32_t mask;
    BinQuestion question;
    if (bin_found_all(flow, last, block) ||
        (bin_question(flow, last, &question) && question.fast == block && question.slow != block &&
         question.mask.kind == OPK_IMM && question.mask.value == UINT32_MAX))
        return true;
    return flow->decoded[last] && bin_kind(&flow->insts[last]) == BK_BRANCH &&
           bin_guard(&flow->insts[last]) == BG_ALWAYS && check_comes_together(flow, last, block) &&
           check_mask(flow, last, &mask) && mask == UINT32_MAX;
}

static void proc_together(Uniform *uniform, uint32_t p, Together *at) {
    Checker *checker = uniform->c;
    const BinFlow *flow = checker->flow;
    const Proc *proc = &checker->procs[p];
    for (uint32_t n = 0; n < proc->nrpo; n++) {
        at[proc->rpo[n]] = (Together){true, 0xffff};
        uniform->reached[proc->rpo[n]] = false;
    }
    at[proc->entry_block] = (Together){uniform->info[p].entry_together, 0};
    uniform->reached[proc->entry_block] = true;
    bool exits = true;
    for (bool changed = true; changed;) {
        changed = false;
        exits = true;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            const BinBlock *b = &flow->blocks[proc->rpo[n]];
            checker->steps++;
            if (!uniform->reached[proc->rpo[n]])
                continue;
            Together t = at[proc->rpo[n]];
            FOR_BIN_INSTS(b, i) {
                if (!flow->decoded[i])
                    break;
                checker->converged[i] = t.on;
                together_behind(uniform, &t, i);
            }
            exits &= !(b->ends & BX_RET) || t.on;
            for (uint32_t s = 0; s < b->nsuccs; s++) {
                Together *to = &at[b->succs[s].block];
                bool on = t.on || brings_all(checker, b->first + b->ninsts - 1, b->succs[s].block);
                Together new = {to->on && on, to->joined & t.joined};
                changed |=
                    new.on != to->on || new.joined != to->joined || !uniform->reached[b->succs[s].block];
                uniform->reached[b->succs[s].block] = true;
                *to = new;
            }
        }
    }
    if (exits != uniform->info[p].exit_together) {
        uniform->info[p].exit_together = exits;
        callers_dirty(uniform, p);
    }
}

/* ---- one procedure ---- */

static void run_proc(Uniform *uniform, uint32_t p);

/* Is the procedure one block that computes and returns? ptxas's division of 64 bits is: what a call of
 * divergent values brings is nothing to the others. */
static bool is_straight(const Checker *checker, uint32_t p) {
    const Proc *proc = &checker->procs[p];
    const BinBlock *block = &checker->flow->blocks[proc->entry_block];
    bool straight = proc->nrpo == 1 && block->ends == BX_RET;
    FOR_BIN_INSTS(block, i)
        straight &= checker->flow->decoded[i] && !check_is_call(checker, i) &&
                    (i + 1 == block->first + block->ninsts || !check_is_control(&checker->flow->insts[i]));
    return straight;
}

static Cells straight_out(const Uniform *uniform, uint32_t p, const Cells *in, bool together) {
    const BinFlow *flow = uniform->c->flow;
    Cells now = *in;
    Halves halves = {{0}};
    FOR_BIN_INSTS(&flow->blocks[uniform->c->procs[p].entry_block], i)
        check_cells_step(uniform->c, &now, &halves, NULL, &flow->insts[i], together);
    return now;
}

static void at_call(Uniform *uniform, uint32_t p, Cells *cells, uint32_t i, uint32_t block) {
    Checker *checker = uniform->c;
    Callees to = check_callees(checker, i);
    ProcInfo *me = &uniform->info[p];
    const BinBlock *at = &checker->flow->blocks[block];
    if (at->ends & BX_NORETURN && i + 1 == at->first + at->ninsts && bin_target(checker->flow, i) == NONE)
        return; /* the driver's, that gives up: nobody sees what it writes */
    Cells out = {{0}}, written = {{0}}, mine = *cells;
    for (unsigned r = 0; !to.n && r < CELL_FRAME; r++) /* of the driver, or of another object */
        set(&written, r, !checker->native || r >= CELL_P || !abi_open_keeps(r));
    out = written;
    for (unsigned k = CELL_FRAME; k < CELLS; k++) /* each has a frame of its own */
        set(&mine, k, true);
    for (uint32_t n = 0; n < to.n; n++) {
        ProcInfo *callee = &uniform->info[to.proc[n]];
        bool apart = me->entry_apart || uniform->apart[block] || checker->divergent[i];
        bool *dirty = &uniform->dirty[to.proc[n]];
        *dirty |= unite(&callee->entry, &mine);
        if (apart && !callee->entry_apart)
            callee->entry_apart = *dirty = true;
        if ((!checker->converged[i] || checker->divergent[i]) && callee->entry_together) {
            callee->entry_together = false;
            *dirty = true;
        }
        if (*dirty && !uniform->running[to.proc[n]] && uniform->depth < MAX_DEPTH)
            run_proc(uniform, to.proc[n]); /* else a row of calls would take a round for each */
        Cells own = uniform->info[to.proc[n]].straight
                        ? straight_out(uniform, to.proc[n], &mine, checker->converged[i] && !apart)
                        : callee->out;
        unite(&out, &own);
        unite(&written, &callee->writes);
    }
    for (unsigned k = CELL_FRAME; k < CELLS; k++)
        set(&written, k, false);
    if (unite(&me->writes, &written))
        callers_dirty(uniform, p);
    for (unsigned k = 0; k < WORDS; k++) /* registers that no callee writes stay as they are */
        cells->w[k] = (cells->w[k] & (~written.w[k] | (checker->divergent[i] ? ~0ull : 0))) |
                      (out.w[k] & written.w[k]) | (checker->divergent[i] ? written.w[k] : 0);
}

static void uniform_block(Uniform *uniform, uint32_t p, uint32_t block, Cells *s, bool note) {
    Checker *checker = uniform->c;
    const BinFlow *flow = checker->flow;
    const BinBlock *b = &flow->blocks[block];
    Halves halves = {{0}};
    FOR_BIN_INSTS(b, i) {
        if (!flow->decoded[i])
            break;
        const MachInst *m = &flow->insts[i];
        if (note && !checker->divergent[i] && check_parts_lanes(s, m) &&
            !(uniform->certain && check_promised_uniform(checker, i)))
            checker->divergent[i] = uniform->dirty[p] = true;
        if (bin_kind(m) == BK_WARPSYNC && !checker->masks_vary[i] &&
            (check_operand_divergent(s, m->src[WARPSYNC_rb]) || check_operand_divergent(s, m->guard)))
            checker->masks_vary[i] = uniform->dirty[p] = true;
        if (m->optype == OT_R2UR &&
            (check_operand_divergent(s, m->src[R2UR_ra]) || check_operand_divergent(s, m->guard)))
            checker->masks_vary[i] = true;
        if (bin_kind(m) == BK_BAR && check_operand_divergent(s, m->guard))
            checker->masks_vary[i] = true;
        check_cells_step(checker, s, &halves, &uniform->writes[block], m, checker->converged[i]);
        if (check_is_call(checker, i)) {
            at_call(uniform, p, s, i, block);
            halves = (Halves){{0}};
        }
    }
}

static void run_proc(Uniform *uniform, uint32_t p) {
    Checker *checker = uniform->c;
    const BinFlow *flow = checker->flow;
    const Proc *proc = &checker->procs[p];
    ProcInfo *info = &uniform->info[p];
    uniform->dirty[p] = false;
    uniform->running[p] = true;
    uniform->depth++;
    proc_together(uniform, p, uniform->at);
    unite(&uniform->in[proc->entry_block], &info->entry);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            uint32_t k = proc->rpo[n];
            checker->steps++;
            unite(&uniform->in[k], &uniform->extra[k]);
            Cells s = uniform->in[k], before = uniform->writes[k];
            uniform_block(uniform, p, k, &s, true);
            uniform->changes += memcmp(&before, &uniform->writes[k], sizeof before) != 0;
            bool told = unite(&info->writes, &uniform->writes[k]);
            if (flow->blocks[k].ends & BX_RET)
                told |= unite(&info->out, &s);
            if (told)
                callers_dirty(uniform, p);
            for (uint32_t e = 0; e < flow->blocks[k].nsuccs; e++)
                changed |= unite(&uniform->in[flow->blocks[k].succs[e].block], &s);
        }
    }
    for (uint32_t n = 0; n < proc->nrpo; n++) {
        uint32_t k = proc->rpo[n], last = flow->blocks[k].first + flow->blocks[k].ninsts - 1;
        if (!flow->decoded[last] || !checker->divergent[last])
            continue;
        BinKind kind = bin_kind(&flow->insts[last]);
        if (kind == BK_RET || (kind == BK_BRANCH && (flow->blocks[k].ends & BX_RET)))
            uniform->dirty[p] |= spread_return(uniform, proc);
        else if (kind != BK_EXIT && flow->blocks[k].nsuccs > 1 &&
                 uniform->spread[k] != uniform->changes + 1) { /* else it would be the same again */
            uniform->spread[k] = uniform->changes + 1;
            prepare_spread(uniform, p);
            uniform->dirty[p] |= spread_branch(uniform, p, k);
        }
    }
    uniform->running[p] = false;
    uniform->depth--;
}

static void find_calls(Uniform *uniform) {
    Checker *checker = uniform->c;
    for (uint32_t p = 0; p < checker->nprocs; p++) /* a frame holds anything at first */
        for (unsigned k = 0; k < FRAME_WORDS; k++)
            set(&uniform->info[p].entry, CELL_FRAME + k, true);
    for (uint32_t p = 0; p < checker->nprocs; p++)
        for (uint32_t n = 0; n < checker->procs[p].nrpo; n++) {
            const BinBlock *b = &checker->flow->blocks[checker->procs[p].rpo[n]];
            FOR_BIN_INSTS(b, i) {
                if (!checker->flow->decoded[i])
                    break;
                Callees to = check_is_call(checker, i) ? check_callees(checker, i) : (Callees){NULL, 0};
                for (uint32_t k = 0; k < to.n; k++)
                    uniform->info[to.proc[k]].called = true;
            }
        }
}

static void analyse(Checker *checker, bool certain) {
    const BinFlow *flow = checker->flow;
    uint32_t n = flow->bin->ncode + 1, nb = flow->nblocks + 1;
    Uniform u = {.c = checker, .certain = certain};
    checker->divergent = ARENA_ARRAY(&checker->a, bool, n);
    checker->converged = ARENA_ARRAY(&checker->a, bool, n);
    checker->apart = ARENA_ARRAY(&checker->a, bool, n);
    checker->masks_vary = ARENA_ARRAY(&checker->a, bool, n);
    u.info = ARENA_ARRAY(&checker->a, ProcInfo, checker->nprocs + 1);
    u.in = ARENA_ARRAY(&checker->a, Cells, nb);
    u.extra = ARENA_ARRAY(&checker->a, Cells, nb);
    u.writes = ARENA_ARRAY(&checker->a, Cells, nb);
    u.apart = ARENA_ARRAY(&checker->a, bool, nb);
    u.reached = ARENA_ARRAY(&checker->a, bool, nb);
    u.at = ARENA_ARRAY(&checker->a, Together, nb);
    u.closed = ARENA_ARRAY(&checker->a, uint8_t, n);
    u.seen = ARENA_ARRAY(&checker->a, uint32_t, nb);
    u.stack = ARENA_ARRAY(&checker->a, uint32_t, nb);
    uint32_t nedges = 1, nprocs = checker->nprocs + 1;
    for (uint32_t b = 0; b < flow->nblocks; b++)
        nedges += flow->blocks[b].nsuccs;
    uint32_t **of_edges[] = {&u.side, &u.pending, &u.waiting, &u.inner};
    for (unsigned k = 0; k < sizeof of_edges / sizeof *of_edges; k++)
        *of_edges[k] = ARENA_ARRAY(&checker->a, uint32_t, nedges);
    u.owner = ARENA_ARRAY(&checker->a, uint32_t, nb);
    u.given = ARENA_ARRAY(&checker->a, const Cells *, nb);
    u.given_to = ARENA_ARRAY(&checker->a, uint32_t, nb);
    u.regions = ARENA_ARRAY(&checker->a, Regions *, nprocs);
    u.region_writes = ARENA_ARRAY(&checker->a, Cells *, nprocs);
    u.prepared = ARENA_ARRAY(&checker->a, uint32_t, nprocs);
    u.spread = ARENA_ARRAY(&checker->a, uint32_t, nb);
    u.running = ARENA_ARRAY(&checker->a, bool, checker->nprocs + 1);
    find_calls(&u);
    for (uint32_t p = 0; p < checker->nprocs; p++) {
        ProcInfo *proc_info = &u.info[p];
        proc_info->entry_together = proc_info->exit_together = true;
        proc_info->straight = is_straight(checker, p);
        if (!proc_info->called) {
            memset(&proc_info->entry, 0xff, sizeof proc_info->entry); /* registers hold anything */
            proc_info->entry_together = checker->procs[p].is_kernel;
            proc_info->entry_apart = !proc_info->entry_together; /* somebody else calls it */
        }
    }
    u.dirty = ARENA_ARRAY(&checker->a, bool, checker->nprocs + 1);
    memset(u.dirty, true, checker->nprocs);
    /* What callees do with registers goes up, what callers bring goes down: to and fro along the calls. */
    for (bool up = true, any = true; any; up = !up) {
        any = false;
        for (uint32_t k = 0; k < checker->nprocs; k++) {
            uint32_t p = checker->callees_first[up ? k : checker->nprocs - 1 - k];
            if (!u.dirty[p])
                continue;
            any = true;
            run_proc(&u, p);
        }
    }
    for (uint32_t p = 0; p < checker->nprocs; p++)
        for (uint32_t k = 0; k < checker->procs[p].nrpo; k++) {
            const BinBlock *b = &flow->blocks[checker->procs[p].rpo[k]];
            FOR_BIN_INSTS(b, i)
                checker->apart[i] |= u.apart[checker->procs[p].rpo[k]] || u.info[p].entry_apart;
        }
}

void check_uniform(Checker *checker) {
    checker->ipdom = ARENA_ARRAY(&checker->a, uint32_t, checker->flow->nblocks + 1);
    memset(checker->ipdom, 0xff, sizeof *checker->ipdom * (checker->flow->nblocks + 1));
    for (uint32_t p = 0; p < checker->nprocs; p++)
        check_post_dominators(checker->flow, &checker->procs[p], checker->ipdom, &checker->a);
    analyse(checker, true);
    checker->surely_divergent = checker->divergent;
    checker->surely_apart = checker->apart;
    analyse(checker, false);
}
