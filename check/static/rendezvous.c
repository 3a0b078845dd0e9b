/* Lanes that wait for each other at different WARPSYNCs.
 *
 * Lanes meet at a WARPSYNC by its PC. If a branch surely parts the warp and each side first comes to a
 * WARPSYNC of its own, with one mask and one kind of collective behind it, the sides wait for each other for
 * ever:
 *              @P0 BRA else
 *          A:  WARPSYNC -1; SHFL       first(then) = {A}
 *        else:
 *          B:  WARPSYNC -1; SHFL       first(else) = {B}: A and B are reported
 * `first` is a backward flow of sets of WARPSYNCs: those that may come first from a block's start.
 *
 * PTX promises of a statement that is `.aligned` that all lanes of the warp come to it: those of one like it
 * wait for nobody elsewhere.
 *
 * Where different things stand behind them the program itself is wrong, for PTX does not let those lanes
 * meet. They wait for ever if the branch parts every warp and each side must come to a WARPSYNC of all lanes
 * `open` is a backward flow of what else may happen, an exit, a return, a call, a WARPSYNC of some
 * lanes, or one before BAR or a product of a warp group, of which PTX promises that the warp comes together.
 * SPDX-License-Identifier: MIT */
#include "check/flow/question.h"
#include "check/static/internal.h"

typedef struct {
    uint32_t inst, mask, kind; /* kind: optype and modifiers of the collective behind it, 0 none */
    bool counts, whole;        /* whole: PTX promises that nobody is elsewhere */
} Site;

typedef struct {
    Checker *c;
    VEC(Site) sites;
    uint32_t *site_at; /* by instruction + 1 */
    Bitset *first;     /* by block: sites that come first from its start */
    bool *open;        /* by block: from its start lanes may end, return or wait for some only */
} Meetings;

static uint32_t kind_behind(const Checker *checker, uint32_t i) {
    const BinFlow *flow = checker->flow;
    const BinBlock *b = &flow->blocks[flow->block_of[i]];
    for (uint32_t k = i + 1; k < b->first + b->ninsts; k++) {
        const MachInst *inst = &flow->insts[k];
        if (bin_kind(inst) == BK_COLLECTIVE)
            return (uint32_t)inst->optype << 20 | (inst->mods & 0xfffff);
        if (check_is_control(inst))
            break;
    }
    return 0;
}

/* Does all that comes here go on to a product of a warp group? PTX has those with .aligned alone: no lane of
 * the warp is anywhere else, as at a barrier. WARPSYNCs of all lanes and questions for them lie on the way.
 */
static bool before_product(const Checker *checker, uint32_t i) {
    enum { MOST_BLOCKS = 8 };
    const BinFlow *flow = checker->flow;
    for (unsigned hops = 0; hops < MOST_BLOCKS; hops++) {
        const BinBlock *b = &flow->blocks[flow->block_of[i]];
        uint32_t last = b->first + b->ninsts - 1, mask;
        BinQuestion question;
        bool asks = b->nsuccs == 2 && bin_question(flow, last, &question);
        for (; i <= last; i++) {
            const MachInst *inst = &flow->insts[i];
            if (!flow->decoded[i])
                return false;
            if (isa_traits(inst->optype)->pace == ISA_PACE_PRODUCT && bin_guard(inst) == BG_ALWAYS)
                return true;
            bool waits = bin_kind(inst) == BK_YIELD ||
                         (bin_kind(inst) == BK_WARPSYNC && check_mask(flow, i, &mask) && mask == UINT32_MAX),
                 leads = i == last && bin_kind(inst) == BK_BRANCH && (asks || b->nsuccs == 1);
            if (check_is_control(inst) && !waits && !leads)
                return false;
        }
        if (!asks && b->nsuccs != 1)
            return false;
        i = flow->blocks[asks ? question.slow : b->succs[0].block].first;
    }
    return false;
}

static void find_meetings(Meetings *meetings) {
    Checker *checker = meetings->c;
    const BinFlow *flow = checker->flow;
    meetings->site_at = ARENA_ARRAY(&checker->a, uint32_t, flow->bin->ncode + 1);
    for (uint32_t b = 0; b < flow->nblocks; b++)
        if (flow->blocks[b].reachable)
            FOR_BIN_INSTS(&flow->blocks[b], i) {
                if (!flow->decoded[i] || bin_kind(&flow->insts[i]) != BK_WARPSYNC)
                    continue;
                Site s = {
                    .inst = i, .kind = kind_behind(checker, i), .whole = check_promised_whole(checker, i)};
                s.counts = check_constant_mask(&flow->insts[i], &s.mask) && !check_before_bar(checker, i) &&
                           !(s.mask == UINT32_MAX && before_product(checker, i));
                VEC_ADD(&checker->a, &meetings->sites, s);
                meetings->site_at[i] = meetings->sites.n;
            }
}

/* Where a branch asks for the lanes of a mask, the WARPSYNC of the slow way stands for both. */
static bool is_fast_way(const BinFlow *flow, uint32_t block, uint32_t successor) {
    const BinBlock *b = &flow->blocks[block];
    BinQuestion question;
    return b->nsuccs == 2 && bin_question(flow, b->first + b->ninsts - 1, &question) &&
           b->succs[successor].block == question.fast;
}

static bool first_of_block(Meetings *meetings, uint32_t block) {
    Checker *checker = meetings->c;
    const BinFlow *flow = checker->flow;
    bool changed = false;
    FOR_BIN_INSTS(&flow->blocks[block], i) {
        if (!flow->decoded[i])
            return changed;
        if (meetings->site_at[i]) {
            if (!bs_has(&meetings->first[block], meetings->site_at[i] - 1)) {
                bs_add(&meetings->first[block], meetings->site_at[i] - 1);
                changed = true;
            }
            return changed;
        }
        if (check_is_call(checker, i)) {
            Callees to = check_callees(checker, i);
            for (uint32_t k = 0; k < to.n; k++)
                changed |=
                    bs_or(&meetings->first[block], &meetings->first[checker->procs[to.proc[k]].entry_block]);
        }
    }
    for (uint32_t s = 0; s < flow->blocks[block].nsuccs; s++)
        changed |= !is_fast_way(flow, block, s) &&
                   bs_or(&meetings->first[block], &meetings->first[flow->blocks[block].succs[s].block]);
    return changed;
}

static void meet_at(Meetings *meetings, uint32_t branch, const Bitset *a, const Bitset *b) {
    BS_EACH(x, a) {
        const Site *site = &meetings->sites.at[x];
        if (!site->counts || site->whole || bs_has(b, x))
            continue;
        BS_EACH(y, b) {
            const Site *t = &meetings->sites.at[y];
            if (!t->counts || t->whole || site->inst == t->inst || site->kind != t->kind ||
                site->mask != t->mask)
                continue;
            uint32_t hi = site->inst > t->inst ? site->inst : t->inst, lo = site->inst ^ t->inst ^ hi;
            check_report(meetings->c, CR_R12, hi, branch,
                         "WARPSYNC at %s and %s may wait for each other (PC-matched)",
                         check_at(meetings->c, lo), check_at(meetings->c, hi));
        }
    }
}

/* ---- R-25 ---- */

/* Does the way on from here come to a WARPSYNC of the whole warp whatever happens? OPEN: no; SHUT: yes, in
 * this block; else as its successors say. */
typedef enum { GOES_ON, OPEN, SHUT } Way;

static Way way_of(const Meetings *meetings, uint32_t block) {
    const Checker *checker = meetings->c;
    const BinFlow *flow = checker->flow;
    FOR_BIN_INSTS(&flow->blocks[block], i) {
        if (!flow->decoded[i] || check_is_call(checker, i))
            return OPEN;
        const MachInst *inst = &flow->insts[i];
        if (bin_kind(inst) == BK_EXIT && bin_guard(inst) != BG_NEVER)
            return OPEN;
        if (meetings->site_at[i]) {
            const Site *site = &meetings->sites.at[meetings->site_at[i] - 1];
            return site->counts && site->mask == UINT32_MAX && bin_guard(inst) == BG_ALWAYS ? SHUT : OPEN;
        }
    }
    return flow->blocks[block].ends ? OPEN : GOES_ON;
}

static void find_open(Meetings *meetings) {
    Checker *checker = meetings->c;
    const BinFlow *flow = checker->flow;
    uint8_t *way = ARENA_ARRAY(&checker->a, uint8_t, flow->nblocks + 1);
    meetings->open = ARENA_ARRAY(&checker->a, bool, flow->nblocks + 1);
    for (uint32_t b = 0; b < flow->nblocks; b++) {
        way[b] = (uint8_t)way_of(meetings, b);
        meetings->open[b] = way[b] == OPEN;
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = flow->nblocks; b-- > 0;)
            for (uint32_t s = 0; s < flow->blocks[b].nsuccs; s++)
                if (way[b] == GOES_ON && !meetings->open[b] && !is_fast_way(flow, b, s) &&
                    meetings->open[flow->blocks[b].succs[s].block])
                    changed = meetings->open[b] = true;
    }
}

/* Lanes of each side wait for the whole warp, and nowhere at one WARPSYNC; as R-12 where the sites are alike.
 */
static void part_for_good(Meetings *meetings, uint32_t branch, uint32_t s, uint32_t t) {
    const Bitset *a = &meetings->first[s], *b = &meetings->first[t];
    const Site *one = NULL, *other = NULL;
    if (meetings->open[s] || meetings->open[t] || !check_parts_every_warp(meetings->c->flow, branch))
        return;
    BS_EACH(x, a) {
        if (bs_has(b, x))
            return;
        BS_EACH(y, b) {
            const Site *site = &meetings->sites.at[x], *with = &meetings->sites.at[y];
            if (site->kind == with->kind)
                return;
            one = one ? one : site, other = other ? other : with;
        }
    }
    if (one && other && one->inst < other->inst)
        check_report(meetings->c, CR_R25, one->inst, branch,
                     "WARPSYNC waits for all lanes, but those that go the other way wait for all at %s first",
                     check_at(meetings->c, other->inst));
}

void check_rendezvous(Checker *checker) {
    const BinFlow *flow = checker->flow;
    Meetings m = {.c = checker};
    find_meetings(&m);
    if (m.sites.n < 2)
        return;
    m.first = ARENA_ARRAY(&checker->a, Bitset, flow->nblocks);
    for (uint32_t b = 0; b < flow->nblocks; b++)
        m.first[b] = bs_new(&checker->a, m.sites.n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = 0; k < checker->nprocs; k++) {
            const Proc *proc = &checker->procs[checker->callees_first[k]];
            for (uint32_t n = proc->nrpo; n-- > 0;)
                changed |= first_of_block(&m, proc->rpo[n]);
        }
    }
    find_open(&m);
    for (uint32_t b = 0; b < flow->nblocks; b++) {
        const BinBlock *bin_block = &flow->blocks[b];
        uint32_t last = bin_block->first + bin_block->ninsts - 1;
        BinQuestion question;
        if (!bin_block->reachable || bin_block->nsuccs < 2 || !flow->decoded[last] ||
            !checker->surely_divergent[last] || bin_kind(&flow->insts[last]) == BK_EXIT ||
            bin_question(flow, last, &question)) /* parts nobody */
            continue;
        for (uint32_t s = 0; s < bin_block->nsuccs; s++)
            for (uint32_t t = 0; t < bin_block->nsuccs; t++)
                if (bin_block->succs[s].block != bin_block->succs[t].block) {
                    meet_at(&m, last, &m.first[bin_block->succs[s].block],
                            &m.first[bin_block->succs[t].block]);
                    part_for_good(&m, last, bin_block->succs[s].block, bin_block->succs[t].block);
                }
    }
}
