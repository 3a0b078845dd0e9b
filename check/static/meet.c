/* Joins that are lost: places where lanes that have parted could go on together, and do not.
 *
 * For each branch on which lanes may part: the first place where its paths meet again, looked for in one
 * round of the innermost loop around it with the edges out of the loop left aside, then of the next loop, and
 * at last in the whole procedure (check/static/uniform.c: those that only exit left aside). A branch that all
 * paths but one leave the loop by parts nobody in that loop. Paths that come together only where the next
 * round begins meet at the loop's header.
 *
 * The lanes are gathered there if a barrier register that was pending at the branch is pending no more, or a
 * BSYNC of it is in the block. If not, they stay apart until one comes: that is what the note counts, once
 * for each instruction. Inside a loop a note is worth its reading only if that is more than what a barrier
 * costs.
 *
 * The mend: BSSY at the nearest block above the meeting that dominates it and is in no loop that the meeting
 * is not in, BREAK on the edges behind which lanes cannot come to it any more in this round, BSYNC at the
 * meeting; for a header BSSY on the edges into the loop, and BSYNC and BSSY again at the header. None is told
 * where lanes on the way may wait for those that would wait there: at a BSYNC of what is pending at the
 * meeting, a WARPSYNC or BAR, or where they yield to others.
 *
 * Dominators and loops are the checker's own, as post-dominators are. SPDX-License-Identifier: MIT */
#include "check/flow/question.h"
#include "check/static/internal.h"
#include <stdio.h>
#include <string.h>

enum {
    BARRIER_COST = 3, /* instructions of a BSSY and BSYNC that wait for two groups */
    WORK = 64,        /* steps of walks for each block of a procedure; nothing is told beyond */
    MOST_PIECES = 24  /* of a mend */
};
#define ROUND (UINT32_MAX - 1) /* a meeting: where the next round begins */

typedef struct {
    uint32_t header, parent; /* position; loop or NONE */
    uint32_t first, end;     /* numbers of the loops inside it, itself first */
} Loop;

typedef struct { /* a procedure; blocks go by their position in its reverse post-order */
    Checker *c;
    const BinFlow *flow;
    const Proc *proc;
    uint32_t n, base;
    uint32_t *pos; /* [block of the function] NONE: not in the procedure */
    uint32_t *idom;
    VEC(Loop) loops;
    uint32_t *innermost;           /* loop or NONE */
    bool *parts;                   /* lanes may part at its end, and where they meet is not settled */
    bool *told;                    /* a note says of it already that paths meet there */
    uint8_t *mark;                 /* scratch of walks, all 0 between them */
    uint32_t *stack, *list, *next; /* stack: as many as there are edges; next: all 0 between walks */
    uint32_t *number, *meets;      /* of solve_loop */
    uint64_t budget;
    const bool *waits; /* by proc: it may wait for other lanes */
    uint16_t taken;    /* B registers of the whole file */
} Meet;

static const BinBlock *block_at(const Meet *meet, uint32_t at) {
    return &meet->flow->blocks[meet->proc->rpo[at]];
}
static uint32_t last_at(const Meet *meet, uint32_t at) {
    return block_at(meet, at)->first + block_at(meet, at)->ninsts - 1;
}
static uint32_t pos_of(const Meet *meet, uint32_t block) { return meet->pos[block - meet->base]; }
static uint32_t succ_of(const Meet *meet, uint32_t at, uint32_t k) {
    return pos_of(meet, block_at(meet, at)->succs[k].block);
}
/* NONE: not of the procedure. */
static uint32_t pred_of(const Meet *meet, uint32_t at, uint32_t k) {
    return pos_of(meet, block_at(meet, at)->preds[k].block);
}
static bool in_loop(const Meet *meet, uint32_t loop, uint32_t at) {
    if (loop == NONE)
        return true;
    uint32_t inner = meet->innermost[at];
    return inner != NONE && meet->loops.at[loop].first <= meet->loops.at[inner].first &&
           meet->loops.at[inner].first < meet->loops.at[loop].end;
}
static void spend(Meet *meet, uint32_t steps) { meet->budget -= meet->budget < steps ? meet->budget : steps; }
static uint32_t header_of(const Meet *meet, uint32_t loop) {
    return loop == NONE ? NONE : meet->loops.at[loop].header;
}

/* ---- dominators, loops ---- */

static void dominators(Meet *meet) {
    memset(meet->idom, 0xff, meet->n * sizeof *meet->idom);
    meet->idom[0] = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t at = 1; at < meet->n; at++) {
            uint32_t new = NONE;
            for (uint32_t k = 0; k < block_at(meet, at)->npreds; k++) {
                uint32_t p = pred_of(meet, at, k);
                if (p == NONE || meet->idom[p] == NONE)
                    continue;
                uint32_t a = new == NONE ? p : new;
                while (a != p)
                    if (a > p)
                        a = meet->idom[a];
                    else
                        p = meet->idom[p];
                new = a;
            }
            changed |= new != meet->idom[at];
            meet->idom[at] = new;
        }
    }
}

static bool dominates(const Meet *meet, uint32_t above, uint32_t at) {
    while (at > above)
        at = meet->idom[at];
    return at == above;
}

/* The loop around block `at` so far found that no other so far found is around. */
static uint32_t outermost(Meet *meet, uint32_t *outer, uint32_t at) {
    uint32_t loop = meet->innermost[at];
    while (loop != NONE && outer[loop] != loop)
        loop = outer[loop] = outer[outer[loop]];
    return loop;
}

/* Natural loops, inner ones first: a loop that was found stands for its blocks in those around it. */
static void find_loops(Meet *meet) {
    uint32_t *outer = ARENA_ARRAY(&meet->c->a, uint32_t, meet->n);
    for (uint32_t header = meet->n; header-- > 0;) {
        uint32_t top = 0, loop = NONE;
        for (uint32_t k = 0; k < block_at(meet, header)->npreds; k++) {
            uint32_t p = pred_of(meet, header, k);
            if (p != NONE && p >= header && dominates(meet, header, p))
                meet->stack[top++] = p;
        }
        if (top) {
            loop = meet->loops.n;
            Loop new = {.header = header, .parent = NONE};
            VEC_ADD(&meet->c->a, &meet->loops, new);
            outer[loop] = loop;
            meet->innermost[header] = loop;
        }
        while (top) {
            uint32_t at = meet->stack[--top], inner = outermost(meet, outer, at);
            if (inner == loop)
                continue;
            if (inner == NONE)
                meet->innermost[at] = loop;
            else {
                meet->loops.at[inner].parent = outer[inner] = loop;
                at = meet->loops.at[inner].header;
            }
            for (uint32_t k = 0; k < block_at(meet, at)->npreds; k++) {
                uint32_t p = pred_of(meet, at, k);
                if (p != NONE && p > header && outermost(meet, outer, p) != loop)
                    meet->stack[top++] = p;
            }
        }
    }
    /* numbers, outer loops (found later) before those inside them */
    uint32_t *size = ARENA_ARRAY(&meet->c->a, uint32_t, meet->loops.n + 1), roots = 0;
    for (uint32_t k = 0; k < meet->loops.n; k++) {
        size[k]++;
        if (meet->loops.at[k].parent != NONE)
            size[meet->loops.at[k].parent] += size[k];
    }
    uint32_t *next = ARENA_ARRAY(&meet->c->a, uint32_t, meet->loops.n + 1);
    for (uint32_t k = meet->loops.n; k-- > 0;) {
        Loop *loop = &meet->loops.at[k];
        uint32_t *at = loop->parent == NONE ? &roots : &next[loop->parent];
        loop->first = *at;
        loop->end = *at += size[k];
        next[k] = loop->first + 1;
    }
}

/* ---- where paths meet in one round of a loop ---- */

/* The loop's blocks from which the next round is reached, into `list`, in post-order from the round's end
 * over edges turned round; number[position]: place there + 1. How many. */
static uint32_t walk_back(Meet *meet, uint32_t loop) {
    uint32_t header = header_of(meet, loop), count = 0;
    for (uint32_t r = 0; r < block_at(meet, header)->npreds; r++) {
        uint32_t root = pred_of(meet, header, r), depth = 0;
        if (root == NONE || !in_loop(meet, loop, root) || meet->mark[root])
            continue;
        meet->mark[root] = 1;
        meet->stack[depth++] = root;
        while (depth) {
            uint32_t at = meet->stack[depth - 1];
            if (at == header || meet->next[at] == block_at(meet, at)->npreds) {
                meet->list[count++] = at;
                depth--;
                continue;
            }
            uint32_t p = pred_of(meet, at, meet->next[at]++);
            if (p != NONE && in_loop(meet, loop, p) && !meet->mark[p]) {
                meet->mark[p] = 1;
                meet->stack[depth++] = p;
            }
        }
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = meet->list[k];
        meet->number[at] = k + 1, meet->meets[at] = NONE;
        meet->mark[at] = 0, meet->next[at] = 0;
    }
    return count;
}

/* Does the way from a block of the loop to `to` go on in the round, or into the next? */
static bool goes_on(const Meet *meet, uint32_t loop, uint32_t to) {
    return to != NONE && in_loop(meet, loop, to) && meet->number[to];
}

/* Nearest above both; ROUND is above all. */
static uint32_t meeting_of(const Meet *meet, uint32_t a, uint32_t b) {
    while (a != b)
        if (b == ROUND || (a != ROUND && meet->number[a] < meet->number[b]))
            a = meet->meets[a];
        else
            b = meet->meets[b];
    return a;
}

/* Post-dominators of the loop's body (Cooper, Harvey, Kennedy) into `meets`: a position, ROUND, or NONE. The
 * blocks that it speaks of are the first of `list`; how many. */
static uint32_t solve_loop(Meet *meet, uint32_t loop) {
    uint32_t count = walk_back(meet, loop), header = header_of(meet, loop);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = count; k-- > 0;) {
            uint32_t at = meet->list[k], new = NONE;
            for (uint32_t s = 0; s < block_at(meet, at)->nsuccs; s++) {
                uint32_t to = succ_of(meet, at, s);
                if (!goes_on(meet, loop, to) || (to != header && meet->meets[to] == NONE))
                    continue;
                to = to == header ? ROUND : to;
                new = new == NONE ? to : meeting_of(meet, new, to);
            }
            changed |= new != meet->meets[at];
            meet->meets[at] = new;
        }
        spend(meet, count);
    }
    return count;
}

static bool parts_in(const Meet *meet, uint32_t loop, uint32_t at) {
    uint32_t ways = 0, last = NONE;
    for (uint32_t s = 0; s < block_at(meet, at)->nsuccs; s++) {
        uint32_t to = succ_of(meet, at, s);
        ways += to != last && goes_on(meet, loop, to);
        last = to;
    }
    return ways > 1;
}

/* ---- are they gathered? ---- */

static bool has_sync(const Meet *meet, uint32_t at, uint16_t regs) {
    FOR_BIN_INSTS(block_at(meet, at), i)
        if (meet->c->entered[i] || (meet->flow->decoded[i] && bin_kind(&meet->flow->insts[i]) == BK_BSYNC &&
                                    (regs >> bin_barrier(&meet->flow->insts[i]) & 1)))
            return true;
    return false;
}

static bool gathered(const Meet *meet, uint32_t branch, uint32_t at) {
    uint16_t pending = meet->c->pend[last_at(meet, branch)];
    return (pending & ~meet->c->pend[block_at(meet, at)->first]) || has_sync(meet, at, pending);
}

/* Lanes that come there do nothing more but exit; syncs: though they may wait for others first. */
static bool only_ends(const Meet *meet, uint32_t at, bool syncs) {
    for (unsigned hops = 0; hops < 8 && at != NONE; hops++) {
        const BinBlock *b = block_at(meet, at);
        FOR_BIN_INSTS(b, i) {
            BinKind kind = bin_kind(&meet->flow->insts[i]);
            if (kind == BK_EXIT || kind == BK_TRAP)
                return true;
            if (kind != BK_NOP && kind != BK_BREAK && kind != BK_BRANCH && !(kind == BK_BSYNC && syncs))
                return false;
        }
        if (b->nsuccs != 1)
            return false;
        at = succ_of(meet, at, 0);
    }
    return false;
}

/* Instructions from `at` on, in the loop but in any of its rounds, before what gathers the lanes. */
static uint32_t run_apart(Meet *meet, uint32_t branch, uint32_t loop, uint32_t at) {
    uint32_t top = 0, seen = 0, count = 0;
    uint16_t pending = meet->c->pend[last_at(meet, branch)];
    meet->stack[top++] = meet->list[seen++] = at;
    meet->mark[at] = 1;
    while (top) {
        uint32_t b = meet->stack[--top];
        bool ends = false;
        FOR_BIN_INSTS(block_at(meet, b), i) {
            BinKind kind = meet->flow->decoded[i] ? bin_kind(&meet->flow->insts[i]) : BK_PLAIN;
            ends |= kind == BK_WARPSYNC || kind == BK_BAR ||
                    (kind == BK_BSYNC && (pending >> bin_barrier(&meet->flow->insts[i]) & 1));
            count += !ends && kind != BK_NOP;
        }
        for (uint32_t s = 0; s < block_at(meet, b)->nsuccs && !ends; s++) {
            uint32_t to = succ_of(meet, b, s);
            if (to == NONE || meet->mark[to] || !in_loop(meet, loop, to))
                continue;
            meet->mark[to] = 1;
            meet->stack[top++] = meet->list[seen++] = to;
        }
    }
    spend(meet, seen);
    while (seen)
        meet->mark[meet->list[--seen]] = 0;
    return count;
}

/* ---- the mend ---- */

typedef struct {
    BinMend pieces[MOST_PIECES];
    uint32_t n, breaks;
    uint16_t taken; /* B registers */
    bool stuck; /* lanes wait on the way for those that have passed by: even what gathers all lets none go */
    const char *why_not;
} Mend;

static void add_piece(Mend *mend, BinMend piece) {
    mend->breaks += piece.what == MEND_BREAK;
    if (mend->n < MOST_PIECES)
        mend->pieces[mend->n++] = piece;
    else
        mend->why_not = "lanes leave by too many ways";
}

static uint32_t first_at(const Meet *meet, uint32_t at) { return block_at(meet, at)->first; }

static BinMend on_edge(const Meet *meet, MendKind what, uint32_t from, uint32_t to) {
    return (BinMend){.what = what, .before = NONE, .from = last_at(meet, from), .to = first_at(meet, to)};
}
static BinMend in_front(MendKind what, uint32_t before) {
    return (BinMend){.what = what, .before = before, .from = NONE, .to = NONE};
}

/* What stands in the way of waiting at `at` for lanes that are still in block `b`, its last instructions from
 * `first` on. */
static void pass_block(const Meet *meet, Mend *mend, uint32_t b, uint32_t first, uint32_t at) {
    const Checker *checker = meet->c;
    uint16_t pending = checker->pend[first_at(meet, at)];
    for (uint32_t i = first; i <= last_at(meet, b); i++) {
        const MachInst *inst = &meet->flow->insts[i];
        if (!meet->flow->decoded[i]) {
            mend->why_not = "a word on the way does not decode";
            continue;
        }
        mend->taken |= checker->pend[i] | checker->inherited[i];
        switch (bin_kind(inst)) {
        case BK_BSYNC:
            if (pending >> bin_barrier(inst) & 1) {
                mend->why_not = "lanes on the way wait for those that would wait there";
                mend->stuck = true;
            }
            break;
        case BK_WARPSYNC:
        case BK_BAR: mend->why_not = "lanes on the way may wait for those that would wait there"; break;
        case BK_YIELD:
        case BK_NANOSLEEP: mend->why_not = "lanes on the way let others go first"; break;
        case BK_BMOV_FROM_B:
        case BK_BMOV_TO_B: mend->why_not = "barriers are moved on the way"; break;
        default:
            if (check_is_call(checker, i)) {
                Callees callees = check_callees(checker, i);
                for (uint32_t k = 0; k < callees.n; k++)
                    if (meet->waits[callees.proc[k]])
                        mend->why_not = "functions that are called on the way may wait";
                if (!callees.n)
                    mend->why_not = "what is called on the way is not known";
            }
        }
    }
}

/* Marks 1: from there lanes can come to `at` in this round of the loop; listed. */
static uint32_t can_come(Meet *meet, uint32_t loop, uint32_t at) {
    uint32_t seen = 0, header = header_of(meet, loop);
    for (uint32_t k = 0, b = at;; b = meet->list[k++]) {
        for (uint32_t q = 0; q < block_at(meet, b)->npreds && (b == at || b != header); q++) {
            uint32_t p = pred_of(meet, b, q);
            if (p == NONE || p == at || meet->mark[p] || !in_loop(meet, loop, p))
                continue;
            meet->mark[p] = 1;
            meet->list[seen++] = p;
        }
        if (k == seen)
            break;
    }
    spend(meet, seen);
    return seen;
}

/* Of the blocks that `from` leads to on the way to `at` (marked 1 as above, then 2): what is in the way, and
 * BREAK where lanes leave. */
static void walk_region(Meet *meet, Mend *mend, uint32_t from, uint32_t loop, uint32_t at) {
    uint32_t top = 0, header = header_of(meet, loop);
    meet->stack[top++] = from;
    meet->mark[from] = 2;
    while (top) {
        uint32_t b = meet->stack[--top];
        pass_block(meet, mend, b, b == from && from != at ? last_at(meet, b) : first_at(meet, b), at);
        if (block_at(meet, b)->ends & ~(BX_EXIT | BX_TRAP))
            mend->why_not = "lanes return on the way, or go where is not known";
        for (uint32_t s = 0; s < block_at(meet, b)->nsuccs; s++) {
            uint32_t to = succ_of(meet, b, s);
            if (to == NONE) {
                mend->why_not = "lanes return on the way, or go where is not known";
                continue;
            }
            if (to == at)
                continue;
            if (!in_loop(meet, loop, to) || to == header || !meet->mark[to]) {
                if (!only_ends(meet, to, false))
                    add_piece(mend, on_edge(meet, MEND_BREAK, b, to));
            } else if (meet->mark[to] == 1) {
                meet->mark[to] = 2;
                meet->stack[top++] = to;
            }
        }
    }
}

/* The nearest block above that is in no loop in which `at` is not; NONE: it is not in `loop`. */
static uint32_t place_of(const Meet *meet, uint32_t loop, uint32_t at) {
    if (!at)
        return NONE;
    uint32_t place = meet->idom[at];
    while (meet->innermost[place] != NONE && !in_loop(meet, meet->innermost[place], at)) {
        uint32_t inner = meet->innermost[place];
        if (!meet->loops.at[inner].header)
            return NONE;
        place = meet->idom[meet->loops.at[inner].header];
    }
    return in_loop(meet, loop, place) ? place : NONE;
}

static void mend_round(Meet *meet, Mend *mend, uint32_t loop) {
    uint32_t header = header_of(meet, loop), before = first_at(meet, header);
    for (uint32_t k = 0; k < block_at(meet, header)->npreds; k++) {
        uint32_t p = pred_of(meet, header, k);
        if (p != NONE && !in_loop(meet, loop, p))
            add_piece(mend, on_edge(meet, MEND_BSSY, p, header));
    }
    if (!mend->n)
        mend->why_not = "the loop begins where the procedure does";
    add_piece(mend, in_front(MEND_BSYNC, before));
    add_piece(mend, in_front(MEND_BSSY, before));
    walk_region(meet, mend, header, loop, header);
}

static void mend_meeting(Meet *meet, Mend *mend, uint32_t loop, uint32_t at) {
    uint32_t place = place_of(meet, loop, at);
    if (place == NONE) {
        mend->why_not = "no block is above both";
        return;
    }
    for (uint32_t k = 0; k < block_at(meet, at)->npreds; k++) {
        uint32_t p = pred_of(meet, at, k);
        if (p != NONE && dominates(meet, at, p))
            mend->why_not = "a loop begins there";
    }
    add_piece(mend, in_front(MEND_BSSY, last_at(meet, place)));
    walk_region(meet, mend, place, loop, at);
    add_piece(mend, in_front(MEND_BSYNC, first_at(meet, at)));
}

/* What would gather the lanes at `at`; mend->why_not if nothing simple does. */
static void make_mend(Meet *meet, Mend *mend, uint32_t loop, uint32_t at) {
    uint32_t seen = can_come(meet, loop, at);
    if (at == header_of(meet, loop))
        mend_round(meet, mend, loop);
    else
        mend_meeting(meet, mend, loop, at);
    while (seen)
        meet->mark[meet->list[--seen]] = 0;
    meet->mark[at] = 0;
    if (mend->taken == UINT16_MAX && !mend->why_not)
        mend->why_not = "all barrier registers are in use";
    for (uint32_t k = 0; k < mend->n; k++) {
        mend->pieces[k].reg = (uint8_t)__builtin_ctz(~(unsigned)mend->taken);
        mend->pieces[k].target = first_at(meet, at);
    }
}

/* ---- the rule ---- */

static void tell(Meet *meet, uint32_t branch, uint32_t loop, uint32_t at) {
    Checker *checker = meet->c;
    bool every_round = at == header_of(meet, loop);
    if (meet->told[at] || !meet->budget)
        return;
    uint32_t apart = run_apart(meet, branch, loop, at);
    Mend mend = {.taken = meet->taken};
    make_mend(meet, &mend, loop, at);
    bool gathered = !apart && !mend.stuck; /* what gathers all stands there */
    if (gathered || (loop != NONE && apart <= BARRIER_COST + mend.breaks))
        return;
    meet->told[at] = true;
    const char *round = loop == NONE ? ""
                        : every_round
                            ? " in the loop's next round"
                            : arena_printf(checker->arena, " in every round of the loop at %s",
                                           check_at(checker, first_at(meet, header_of(meet, loop))));
    BinFinding *finding = check_report(
        checker, CR_R24, last_at(meet, branch), NONE,
        "the branch's paths meet at %s%s, where no BSYNC waits for its lanes: %u instruction%s from "
        "there on may run once for each group of lanes%s%s",
        check_at(checker, first_at(meet, at)), round, apart, apart == 1 ? "" : "s",
        mend.why_not ? "; no simple barrier helps: " : "", mend.why_not ? mend.why_not : "");
    if (finding && !mend.why_not) {
        finding->mend = arena_copy(checker->arena, mend.pieces, mend.n * sizeof *mend.pieces);
        finding->nmend = mend.n;
    }
}

/* Branches that part lanes within a round of the loop. */
static void look_at_loop(Meet *meet, uint32_t loop) {
    ArenaMark mark = arena_mark(&meet->c->a);
    uint32_t count = solve_loop(meet, loop), n = 0;
    uint32_t *branches = ARENA_ARRAY(&meet->c->a, uint32_t, count + 1),
             *places = ARENA_ARRAY(&meet->c->a, uint32_t, count + 1);
    for (uint32_t k = count; k-- > 0;) {
        uint32_t at = meet->list[k];
        if (!meet->parts[at] || !parts_in(meet, loop, at))
            continue;
        branches[n] = at;
        places[n++] = meet->meets[at] == ROUND ? header_of(meet, loop) : meet->meets[at];
        meet->parts[at] = false;
    }
    for (uint32_t k = 0; k < count; k++)
        meet->number[meet->list[k]] = 0;
    for (uint32_t k = 0; k < n; k++)
        if (!gathered(meet, branches[k], places[k]))
            tell(meet, branches[k], loop, places[k]);
    arena_release(&meet->c->a, mark);
}

/* Do lanes come to `at` from several sides of the branch? Only where it is a side itself may no others: they
 * exit, or go round for ever. */
static bool meet_there(Meet *meet, uint32_t branch, uint32_t at) {
    bool is_side = false;
    for (uint32_t s = 0; s < block_at(meet, branch)->nsuccs; s++)
        is_side |= succ_of(meet, branch, s) == at;
    if (!is_side)
        return true;
    uint32_t seen = can_come(meet, NONE, at), ways = 0, last = NONE;
    for (uint32_t s = 0; s < block_at(meet, branch)->nsuccs; s++) {
        uint32_t to = succ_of(meet, branch, s);
        ways += to != last && to != NONE && (to == at || meet->mark[to]);
        last = to;
    }
    while (seen)
        meet->mark[meet->list[--seen]] = 0;
    return ways > 1;
}

/* The others, in the whole procedure. */
static void look_at_rest(Meet *meet) {
    for (uint32_t at = 0; at < meet->n; at++) {
        uint32_t join = meet->parts[at] ? meet->c->ipdom[meet->proc->rpo[at]] : NONE;
        uint32_t place = join == NONE ? NONE : pos_of(meet, join);
        if (place != NONE && !(block_at(meet, place)->ends && only_ends(meet, place, true)) &&
            !gathered(meet, at, place) && meet->budget && meet_there(meet, at, place))
            tell(meet, at, NONE, place);
    }
}

static bool may_part(const Checker *checker, const BinBlock *b) {
    uint32_t last = b->first + b->ninsts - 1;
    BinQuestion question;
    BinKind kind = checker->flow->decoded[last] ? bin_kind(&checker->flow->insts[last]) : BK_EXIT;
    return b->reachable && b->nsuccs > 1 && b->succs[0].block != b->succs[b->nsuccs - 1].block &&
           checker->divergent[last] && kind != BK_EXIT && kind != BK_RET &&
           !bin_question(checker->flow, last, &question); /* its slow way brings lanes together */
}

static void look_at_proc(Checker *checker, const Proc *proc, const bool *waits, uint16_t taken) {
    const BinFlow *flow = checker->flow;
    ArenaMark mark = arena_mark(&checker->a);
    Arena *a = &checker->a;
    uint32_t nblocks = flow->funcs[proc->func].nblocks, nedges = proc->nrpo;
    Meet meet = {.c = checker,
                 .flow = flow,
                 .proc = proc,
                 .n = proc->nrpo,
                 .base = flow->funcs[proc->func].first_block,
                 .budget = (uint64_t)WORK * proc->nrpo,
                 .waits = waits,
                 .taken = taken};
    meet.pos = graph_numbers(a, nblocks + 1, NONE);
    meet.parts = ARENA_ARRAY(a, bool, meet.n + 1);
    for (uint32_t k = 0; k < meet.n; k++) {
        meet.pos[proc->rpo[k] - meet.base] = k;
        meet.parts[k] = may_part(checker, block_at(&meet, k));
        nedges += block_at(&meet, k)->npreds;
    }
    meet.idom = graph_numbers(a, meet.n + 1, NONE);
    meet.innermost = graph_numbers(a, meet.n + 1, NONE);
    meet.told = ARENA_ARRAY(a, bool, meet.n + 1);
    meet.mark = ARENA_ARRAY(a, uint8_t, meet.n + 1);
    meet.stack = ARENA_ARRAY(a, uint32_t, nedges + 1);
    meet.list = ARENA_ARRAY(a, uint32_t, meet.n + 1);
    meet.next = ARENA_ARRAY(a, uint32_t, meet.n + 1);
    meet.number = ARENA_ARRAY(a, uint32_t, meet.n + 1);
    meet.meets = graph_numbers(a, meet.n + 1, NONE);
    dominators(&meet);
    find_loops(&meet);
    for (uint32_t k = 0; k < meet.loops.n && meet.budget; k++)
        look_at_loop(&meet, k);
    look_at_rest(&meet);
    checker->steps += (uint64_t)WORK * proc->nrpo - meet.budget;
    arena_release(a, mark);
}

/* Procs that may wait for lanes which did not call them with it, or call such. */
static const bool *find_waits(Checker *checker) {
    const BinFlow *flow = checker->flow;
    bool *waits = ARENA_ARRAY(&checker->a, bool, checker->nprocs + 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < checker->nprocs; k++) {
            uint32_t p = checker->callees_first[k];
            bool found = waits[p];
            for (uint32_t n = 0; n < checker->procs[p].nrpo && !found; n++)
                FOR_BIN_INSTS(&flow->blocks[checker->procs[p].rpo[n]], i) {
                    BinKind kind = flow->decoded[i] ? bin_kind(&flow->insts[i]) : BK_PLAIN;
                    found |=
                        kind == BK_WARPSYNC || kind == BK_BAR || kind == BK_YIELD || kind == BK_NANOSLEEP;
                    if (found || !check_is_call(checker, i))
                        continue;
                    Callees callees = check_callees(checker, i);
                    found = !callees.n;
                    for (uint32_t m = 0; m < callees.n; m++)
                        found |= waits[callees.proc[m]];
                }
            changed |= found != waits[p];
            waits[p] = found;
        }
    }
    return waits;
}

void check_meetings(Checker *checker) {
    if (!check_wants(checker, CR_R24))
        return;
    ArenaMark mark = arena_mark(&checker->a);
    const BinFlow *flow = checker->flow;
    const bool *waits = find_waits(checker);
    uint16_t taken = 0;
    for (uint32_t i = 0; i < flow->bin->ncode; i++) {
        BinKind kind = flow->decoded[i] ? bin_kind(&flow->insts[i]) : BK_PLAIN;
        if (kind == BK_BSSY || kind == BK_BSYNC || kind == BK_BREAK || kind == BK_BMOV_TO_B ||
            kind == BK_BMOV_FROM_B)
            taken |= (uint16_t)(1u << bin_barrier(&flow->insts[i]));
    }
    for (uint32_t k = 0; k < checker->nprocs; k++)
        if (checker->procs[k].nrpo)
            look_at_proc(checker, &checker->procs[k], waits, taken);
    arena_release(&checker->a, mark);
}
