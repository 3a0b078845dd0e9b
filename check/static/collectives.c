/* Collectives, waiting and progress, and the second form of R-04.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <stdlib.h>
#include <string.h>

#define EACH_INST(g, block, i)                                                                               \
    for (uint32_t i = (g)->blocks[block].first; i < (g)->blocks[block].first + (g)->blocks[block].ninsts; i++)

static bool is_control(const MachInst *m) {
    switch (bin_kind(m)) {
    case BK_PLAIN:
    case BK_COLLECTIVE:
    case BK_NOP:
    case BK_BSSY:
    case BK_BMOV_FROM_B:
    case BK_BAR: /* the whole warp passes it */ return false;
    default: return bin_guard(m) != BG_NEVER;
    }
}

static bool is_imm_mask(const MachInst *m, uint32_t *mask) {
    if (m->src[WARPSYNC_rb].kind != OPK_IMM)
        return false;
    *mask = m->src[WARPSYNC_rb].value;
    return true;
}

/* ---- R-09, R-10 ---- */

/* Going back from i, is WARPSYNC the first control instruction on every path? */
static uint32_t warpsync_before(Checker *c, uint32_t i) {
    const BinFlow *g = c->g;
    for (unsigned hops = 0; hops < 64; hops++) {
        uint32_t block = g->block_of[i];
        const BinBlock *b = &g->blocks[block];
        while (i > b->first) {
            const MachInst *m = &g->insts[--i];
            if (bin_kind(m) == BK_WARPSYNC && bin_guard(m) == BG_ALWAYS)
                return i;
            if (is_control(m))
                return NONE;
        }
        uint32_t only = NONE;
        for (uint32_t k = 0; k < b->npreds; k++)
            if (g->blocks[b->preds[k].block].reachable)
                only = only == NONE ? b->preds[k].block : block;
        if (only == NONE || only == block || c->proc_at[b->first] != NONE || g->blocks[only].nsuccs != 1)
            return NONE;
        i = g->blocks[only].first + g->blocks[only].ninsts;
        const MachInst *last = &g->insts[i - 1];
        if (bin_kind(last) == BK_BRANCH && bin_guard(last) == BG_ALWAYS) /* goes on here and nowhere else */
            i--;
        if (i == g->blocks[only].first)
            return NONE;
    }
    return NONE;
}

/* A vote of constants asks who is active. */
static bool asks_who_is_active(const MachInst *m) {
    if (m->optype == OT_ELECT)
        return true;
    if (m->optype != OT_VOTE && m->optype != OT_VOTEU)
        return false;
    for (unsigned k = 0; k < m->nsrc; k++)
        if (m->src[k].kind == OPK_REG && m->src[k].file == RF_P && m->src[k].value != REG_PT)
            return false;
    return true;
}

static bool has_whole_warps(const Checker *c, uint32_t i) {
    const BinFunc *f = &c->g->bin->funcs[c->g->blocks[c->g->block_of[i]].func];
    uint64_t threads = (uint64_t)f->reqntid[0] * f->reqntid[1] * f->reqntid[2];
    return threads && threads % 32 == 0;
}

/* Walks the code from block `from`, not through `inst` (NONE: everywhere): is there an exit that only some
 * lanes take? *meets: `inst` was met. */
static bool exits_on_the_way(Checker *c, const Proc *p, uint32_t from, uint32_t inst, bool *meets,
                             bool through) {
    const BinFlow *g = c->g;
    const BinFuncFlow *f = &g->funcs[p->func];
    ArenaMark mark = arena_mark(&c->a);
    bool *seen = ARENA_ARRAY(&c->a, bool, f->nblocks), gone = false;
    uint32_t *stack = ARENA_ARRAY(&c->a, uint32_t, f->nblocks + 1), top = 0;
    stack[top++] = from;
    seen[from - f->first_block] = true;
    while (top) {
        uint32_t at = stack[--top];
        bool stop = false;
        EACH_INST(g, at, i) {
            BinKind k = g->decoded[i] ? check_kind(c, i) : BK_PLAIN;
            *meets |= i == inst;
            stop |= i == inst && !through;
            if (stop)
                break;
            gone |= (k == BK_EXIT || k == BK_CALL) && (c->divergent[i] || c->apart[i]);
        }
        for (uint32_t s = 0; s < g->blocks[at].nsuccs && !stop; s++) {
            uint32_t t = g->blocks[at].succs[s].block;
            if (!seen[t - f->first_block]) {
                seen[t - f->first_block] = true;
                stack[top++] = t;
            }
        }
    }
    arena_release(&c->a, mark);
    return gone;
}

/* Some lanes may be gone when others come to `inst`: they exit before it, or in a loop before they come
 * again. */
static bool lanes_may_be_gone(Checker *c, const Proc *p, uint32_t inst) {
    const BinBlock *b = &c->g->blocks[c->g->block_of[inst]];
    bool meets = false;
    if (!p->is_kernel || exits_on_the_way(c, p, p->entry_block, inst, &meets, false))
        return true;
    for (uint32_t s = 0; s < b->nsuccs; s++) {
        meets = false;
        if (exits_on_the_way(c, p, b->succs[s].block, inst, &meets, true) && meets)
            return true;
    }
    return false;
}

/* a constant mask that leaves out lanes which come here. */
static void mask_too_small(Checker *c, const Proc *p, uint32_t i) {
    uint32_t mask;
    const MachInst *m = &c->g->insts[i];
    if (!is_imm_mask(m, &mask) || mask == UINT32_MAX || c->apart[i] || lanes_may_be_gone(c, p, i))
        return;
    bool low_lanes = (mask & (mask + 1)) == 0 && mask; /* a block may be smaller than a warp */
    Severity s = !low_lanes || has_whole_warps(c, i) ? check_rule_severity(CR_R09, c->native) : SEV_WARNING;
    check_report_as(c, s, CR_R09, i, NONE, "WARPSYNC mask 0x%08x leaves out lanes that come here", mask);
}

/* ---- the mask that the PTX statement names ---- */

static const char *line_of(const Binary *b, uint32_t line, const char **end) {
    const char *p = b->ptx_text, *stop = p + b->ptx_text_bytes;
    for (uint32_t n = 1; n < line && p; n++) {
        p = memchr(p, '\n', (size_t)(stop - p));
        p = p ? p + 1 : NULL;
    }
    *end = p ? memchr(p, '\n', (size_t)(stop - p)) : NULL;
    *end = *end ? *end : stop;
    return p;
}

static bool starts_with(const char *p, const char *end, const char *word) {
    size_t n = strlen(word);
    return (size_t)(end - p) >= n && memcmp(p, word, n) == 0;
}

/* The statement's mask, if it is a number. */
static bool ptx_mask(const Binary *b, uint32_t line, uint32_t *mask) {
    static const char *const words[] = {"shfl.sync",  "vote.sync",  "match.any.sync", "match.all.sync",
                                        "redux.sync", "elect.sync", "bar.warp.sync"};
    const char *end, *p = b->ptx_text && line ? line_of(b, line, &end) : NULL;
    bool found = false;
    if (!p)
        return false;
    const char *stop = memchr(p, ';', (size_t)(end - p));
    if (!stop || memchr(stop + 1, ';', (size_t)(end - stop - 1)))
        return false; /* two statements in a line: which one? */
    for (; p < stop && !found; p++)
        for (unsigned k = 0; k < sizeof words / sizeof *words; k++)
            found |= starts_with(p, stop, words[k]);
    while (stop > p && stop[-1] != ',' && stop[-1] != ' ' && stop[-1] != '\t')
        stop--;
    char number[24], *rest;
    size_t n = strcspn(stop, ";");
    if (!found || n == 0 || n >= sizeof number)
        return false;
    memcpy(number, stop, n);
    number[n] = 0;
    long long v = strtoll(number, &rest, 0);
    *mask = (uint32_t)v;
    return rest != number && (*rest == 0 || strcmp(rest, "U") == 0);
}

static uint32_t ptx_line(const Checker *c, uint32_t i) {
    const BinFlow *g = c->g;
    uint32_t f = g->blocks[g->block_of[i]].func;
    return g->bin->funcs[f].locs ? g->bin->funcs[f].locs[i - g->funcs[f].first_inst].ptx_line : 0;
}

static void compare_mask(Checker *c, uint32_t i, uint32_t mask, uint32_t site) {
    uint32_t line = ptx_line(c, site), wanted;
    if (ptx_mask(c->g->bin, line, &wanted) && wanted != mask)
        check_report_as(c, SEV_ERROR, CR_R09, i, site == i ? NONE : site,
                        "WARPSYNC mask 0x%08x is not that of PTX line %u, 0x%08x", mask, line, wanted);
}

/* A function that many statements share has no line of its own; its calls have. */
static void mask_of_statement(Checker *c, uint32_t i) {
    const BinFlow *g = c->g;
    uint32_t mask;
    if (!is_imm_mask(&g->insts[i], &mask))
        return;
    if (ptx_line(c, i)) {
        compare_mask(c, i, mask, i);
        return;
    }
    for (uint32_t f = 0; f < g->bin->nfuncs; f++)
        for (uint32_t k = 0; k < g->funcs[f].ncalls; k++)
            if (g->funcs[f].calls[k].callee == g->blocks[g->block_of[i]].func)
                compare_mask(c, i, mask, g->funcs[f].calls[k].inst);
}

static void covered(Checker *c, uint32_t i) {
    const MachInst *m = &c->g->insts[i];
    if (bin_kind(m) == BK_COLLECTIVE && !c->converged[i] && !asks_who_is_active(m) &&
        warpsync_before(c, i) == NONE)
        check_report(c, CR_R09, i, NONE, "%s not covered by WARPSYNC", isa_optype_name(m->optype));
    if (bin_kind(m) != BK_BAR)
        return;
    uint32_t sync = warpsync_before(c, i), mask = UINT32_MAX;
    if (!c->converged[i])
        check_report(c, CR_R10, i, NONE, "%s may execute with a partial warp (count += 32 per execution)",
                     isa_optype_name(m->optype));
    else if (sync != NONE && is_imm_mask(&c->g->insts[sync], &mask) && mask != UINT32_MAX)
        check_report(c, CR_R10, i, sync, "%s behind WARPSYNC 0x%08x, which is not the whole warp",
                     isa_optype_name(m->optype), mask);
}

/* ---- R-11 ---- */

/* WARPSYNC for a CTA barrier: PTX promises that all lanes take one way to it. */
static bool before_bar(const Checker *c, uint32_t i) {
    const BinFlow *g = c->g;
    const BinBlock *b = &g->blocks[g->block_of[i]];
    for (uint32_t k = i + 1; k < b->first + b->ninsts; k++) {
        if (bin_kind(&g->insts[k]) == BK_BAR)
            return true;
        if (is_control(&g->insts[k]))
            return false;
    }
    return false;
}

typedef struct {
    bool *yielded; /* by block, at its start: on every path */
    bool *entry;   /* by procedure */
} Yielded;

static bool yields_behind(const Checker *c, uint32_t i, bool now) {
    const MachInst *m = &c->g->insts[i];
    switch (check_kind(c, i)) {
    case BK_YIELD:
    case BK_NANOSLEEP: return now || bin_guard(m) == BG_ALWAYS;
    case BK_BSYNC: return false;
    case BK_BRANCH:
    case BK_BRANCH_INDIRECT: /* before it, YIELD may have found all lanes together and done nothing */
    case BK_RET: return now && !c->divergent[i];
    case BK_CALL: return now && check_callees(c, i).n == 0;
    default: return now;
    }
}

static void yielded_flow(Checker *c, Yielded *y) {
    const BinFlow *g = c->g;
    for (uint32_t b = 0; b < g->nblocks; b++)
        y->yielded[b] = true;
    for (uint32_t p = 0; p < c->nprocs; p++)
        y->entry[p] = !c->procs[p].is_kernel;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p < c->nprocs; p++) {
            uint32_t entry = c->procs[p].entry_block;
            y->yielded[entry] &= y->entry[p];
            for (uint32_t n = 0; n < c->procs[p].nrpo; n++) {
                uint32_t k = c->procs[p].rpo[n];
                bool now = y->yielded[k];
                EACH_INST(g, k, i) {
                    if (!g->decoded[i])
                        break;
                    if (check_is_call(c, i)) {
                        Callees to = check_callees(c, i);
                        for (uint32_t t = 0; t < to.n; t++)
                            if (y->entry[to.proc[t]] && !now) {
                                y->entry[to.proc[t]] = false;
                                changed = true;
                            }
                    }
                    now = yields_behind(c, i, now);
                }
                for (uint32_t s = 0; s < g->blocks[k].nsuccs; s++)
                    if (y->yielded[g->blocks[k].succs[s].block] && !now) {
                        y->yielded[g->blocks[k].succs[s].block] = false;
                        changed = true;
                    }
            }
        }
    }
}

static void waiting(Checker *c, uint32_t i, bool yielded) {
    uint16_t pending = c->pend[i] | c->inherited[i];
    if (bin_kind(&c->g->insts[i]) != BK_WARPSYNC || !pending || !c->surely_apart[i] || yielded ||
        before_bar(c, i))
        return;
    check_report(c, CR_R11, i, NONE, "WARPSYNC may wait for a lane parked at BSYNC B%u",
                 (unsigned)__builtin_ctz(pending));
}

static void walk_collectives(Checker *c) {
    const BinFlow *g = c->g;
    Yielded y = {ARENA_ARRAY(&c->a, bool, g->nblocks + 1), ARENA_ARRAY(&c->a, bool, c->nprocs + 1)};
    yielded_flow(c, &y);
    for (uint32_t p = 0; p < c->nprocs; p++) {
        for (uint32_t n = 0; n < c->procs[p].nrpo; n++) {
            bool now = y.yielded[c->procs[p].rpo[n]];
            EACH_INST(g, c->procs[p].rpo[n], i) {
                if (!g->decoded[i])
                    break;
                covered(c, i);
                waiting(c, i, now);
                if (bin_kind(&g->insts[i]) == BK_WARPSYNC) {
                    mask_too_small(c, &c->procs[p], i);
                    mask_of_statement(c, i);
                }
                now = yields_behind(c, i, now);
            }
        }
    }
}

/* ---- R-12 ---- */

typedef struct {
    uint32_t inst, mask, kind; /* kind: optype and modifiers of the collective behind it, 0 none */
    bool counts;
} Site;

typedef struct {
    Checker *c;
    VEC(Site) sites;
    uint32_t *site_at; /* by instruction + 1 */
    Bitset *first;     /* by block: sites that come first from its start */
    bool *passes;      /* by block: its end is reached without a WARPSYNC */
    Bitset *of_proc;
} Meetings;

static uint32_t kind_behind(const Checker *c, uint32_t i) {
    const BinFlow *g = c->g;
    const BinBlock *b = &g->blocks[g->block_of[i]];
    for (uint32_t k = i + 1; k < b->first + b->ninsts; k++) {
        const MachInst *m = &g->insts[k];
        if (bin_kind(m) == BK_COLLECTIVE)
            return (uint32_t)m->optype << 20 | (m->mods & 0xfffff);
        if (is_control(m))
            break;
    }
    return 0;
}

static void find_sites(Meetings *m) {
    Checker *c = m->c;
    const BinFlow *g = c->g;
    m->site_at = ARENA_ARRAY(&c->a, uint32_t, g->bin->ncode + 1);
    for (uint32_t b = 0; b < g->nblocks; b++)
        if (g->blocks[b].reachable)
            EACH_INST(g, b, i) {
                if (!g->decoded[i] || bin_kind(&g->insts[i]) != BK_WARPSYNC)
                    continue;
                Site s = {.inst = i, .kind = kind_behind(c, i)};
                s.counts = is_imm_mask(&g->insts[i], &s.mask) && !before_bar(c, i);
                VEC_ADD(&c->a, &m->sites, s);
                m->site_at[i] = m->sites.n;
            }
}

static bool first_of_block(Meetings *m, uint32_t block) {
    Checker *c = m->c;
    const BinFlow *g = c->g;
    bool changed = false;
    EACH_INST(g, block, i) {
        if (!g->decoded[i])
            return changed;
        if (m->site_at[i]) {
            if (!bs_has(&m->first[block], m->site_at[i] - 1)) {
                bs_add(&m->first[block], m->site_at[i] - 1);
                changed = true;
            }
            return changed;
        }
        if (check_is_call(c, i)) {
            Callees to = check_callees(c, i);
            for (uint32_t k = 0; k < to.n; k++)
                changed |= bs_or(&m->first[block], &m->first[c->procs[to.proc[k]].entry_block]);
        }
    }
    for (uint32_t s = 0; s < g->blocks[block].nsuccs; s++)
        changed |= bs_or(&m->first[block], &m->first[g->blocks[block].succs[s].block]);
    return changed;
}

static void meet_at(Meetings *m, uint32_t branch, const Bitset *a, const Bitset *b) {
    BS_EACH(x, a) {
        const Site *s = &m->sites.at[x];
        if (!s->counts || bs_has(b, x))
            continue;
        BS_EACH(y, b) {
            const Site *t = &m->sites.at[y];
            if (!t->counts || s->inst == t->inst || s->kind != t->kind || s->mask != t->mask)
                continue;
            uint32_t hi = s->inst > t->inst ? s->inst : t->inst, lo = s->inst ^ t->inst ^ hi;
            check_report(m->c, CR_R12, hi, branch,
                         "WARPSYNC at %s and %s may wait for each other (PC-matched)", check_at(m->c, lo),
                         check_at(m->c, hi));
        }
    }
}

static void rendezvous(Checker *c) {
    const BinFlow *g = c->g;
    Meetings m = {.c = c};
    find_sites(&m);
    if (m.sites.n < 2)
        return;
    m.first = ARENA_ARRAY(&c->a, Bitset, g->nblocks);
    for (uint32_t b = 0; b < g->nblocks; b++)
        m.first[b] = bs_new(&c->a, m.sites.n);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = c->nprocs; p-- > 0;)
            for (uint32_t n = c->procs[p].nrpo; n-- > 0;)
                changed |= first_of_block(&m, c->procs[p].rpo[n]);
    }
    for (uint32_t b = 0; b < g->nblocks; b++) {
        const BinBlock *k = &g->blocks[b];
        uint32_t last = k->first + k->ninsts - 1;
        if (!k->reachable || k->nsuccs < 2 || !g->decoded[last] || !c->surely_divergent[last] ||
            bin_kind(&g->insts[last]) == BK_EXIT)
            continue;
        for (uint32_t s = 0; s < k->nsuccs; s++)
            for (uint32_t t = 0; t < k->nsuccs; t++)
                if (k->succs[s].block != k->succs[t].block)
                    meet_at(&m, last, &m.first[k->succs[s].block], &m.first[k->succs[t].block]);
    }
}

/* ---- R-13, R-14 ---- */

static bool is_strong(unsigned order) { return order >= MemOrder_STRONG_SM; }

/* Reads memory to see what others do. */
static bool observes(const MachInst *m) {
    switch (m->optype) {
    case OT_LDG: return is_strong(MGET(LDG, order, m->mods));
    case OT_LD: return is_strong(MGET(LD, order, m->mods));
    case OT_ATOM:
    case OT_ATOMG:
    case OT_ATOMS:
    case OT_ATOM_CAS:
    case OT_ATOMG_CAS:
    case OT_ATOMS_CAS: return true;
    default: return false;
    }
}

typedef struct {
    Checker *c;
    const Proc *p;
    uint32_t base, *number, *low, *comp, count, *stack, top, ncomps;
    bool *in, *on;
} Scc;

/* Tarjan, without recursion. comp is 0 outside. */
static void components(Scc *s) {
    const BinFlow *g = s->c->g;
    uint32_t n = g->funcs[s->p->func].nblocks;
    struct {
        uint32_t block, succ;
    } *frame = arena_alloc(&s->c->a, sizeof *frame * (n + 1));
    s->number = ARENA_ARRAY(&s->c->a, uint32_t, n);
    s->low = ARENA_ARRAY(&s->c->a, uint32_t, n);
    s->comp = ARENA_ARRAY(&s->c->a, uint32_t, n);
    s->stack = ARENA_ARRAY(&s->c->a, uint32_t, n + 1);
    s->on = ARENA_ARRAY(&s->c->a, bool, n);
    for (uint32_t r = 0; r < s->p->nrpo; r++) {
        uint32_t depth = 0, root = s->p->rpo[r] - s->base;
        if (!s->in[root] || s->number[root])
            continue;
        frame[depth].block = root, frame[depth++].succ = 0;
        while (depth) {
            uint32_t v = frame[depth - 1].block;
            const BinBlock *b = &g->blocks[v + s->base];
            if (frame[depth - 1].succ == 0 && !s->number[v]) {
                s->number[v] = s->low[v] = ++s->count;
                s->stack[s->top++] = v;
                s->on[v] = true;
            }
            if (frame[depth - 1].succ < b->nsuccs) {
                uint32_t w = b->succs[frame[depth - 1].succ++].block - s->base;
                if (!s->in[w])
                    continue;
                if (!s->number[w])
                    frame[depth].block = w, frame[depth++].succ = 0;
                else if (s->on[w] && s->number[w] < s->low[v])
                    s->low[v] = s->number[w];
                continue;
            }
            if (s->low[v] == s->number[v]) {
                s->ncomps++;
                uint32_t w;
                do {
                    w = s->stack[--s->top];
                    s->on[w] = false;
                    s->comp[w] = s->ncomps;
                } while (w != v);
            }
            depth--;
            if (depth && s->low[v] < s->low[frame[depth - 1].block])
                s->low[frame[depth - 1].block] = s->low[v];
        }
    }
}

static bool in_cycle(const Scc *s, const uint32_t *size, uint32_t block) {
    const BinBlock *b = &s->c->g->blocks[block];
    if (size[s->comp[block - s->base]] > 1)
        return true;
    for (uint32_t k = 0; k < b->nsuccs; k++)
        if (b->succs[k].block == block)
            return true;
    return false;
}

enum { SEES = 1, YIELDS = 2, SLEEPS = 4, SYNCS = 8, CALLS = 16, LOADS = 32 };

static uint8_t what_happens(Checker *c, uint32_t block, const bool *observing) {
    const BinFlow *g = c->g;
    uint8_t w = 0;
    EACH_INST(g, block, i) {
        if (!g->decoded[i])
            break;
        const MachInst *m = &g->insts[i];
        BinKind k = bin_kind(m);
        w |= observes(m) ? SEES : 0;
        w |= k == BK_YIELD && bin_guard(m) == BG_ALWAYS ? YIELDS : 0;
        w |= k == BK_NANOSLEEP && bin_guard(m) == BG_ALWAYS ? SLEEPS : 0;
        w |= k == BK_WARPSYNC || k == BK_BAR ? SYNCS : 0;
        w |= isa_optype_flags(m->optype) & ISA_FLAG_MEM_READ ? LOADS : 0;
        if (check_is_call(c, i)) {
            Callees to = check_callees(c, i);
            w |= CALLS;
            for (uint32_t t = 0; t < to.n; t++)
                w |= observing[to.proc[t]] ? SEES : 0;
        }
    }
    return w;
}

static void loops_of(Checker *c, const Proc *p, const bool *observing) {
    const BinFlow *g = c->g;
    Scc s = {.c = c, .p = p, .base = g->funcs[p->func].first_block};
    uint32_t n = g->funcs[p->func].nblocks;
    uint8_t *what = ARENA_ARRAY(&c->a, uint8_t, n), *sum;
    uint32_t *size;
    s.in = ARENA_ARRAY(&c->a, bool, n);
    for (uint32_t k = 0; k < p->nrpo; k++) {
        what[p->rpo[k] - s.base] = what_happens(c, p->rpo[k], observing);
        s.in[p->rpo[k] - s.base] = !(what[p->rpo[k] - s.base] & (YIELDS | SLEEPS));
    }
    components(&s);
    size = ARENA_ARRAY(&c->a, uint32_t, s.ncomps + 1);
    for (uint32_t k = 0; k < p->nrpo; k++)
        size[s.comp[p->rpo[k] - s.base]]++;
    for (uint32_t k = 0; k < p->nrpo; k++) {
        uint32_t b = p->rpo[k];
        if (!s.in[b - s.base] || !(what[b - s.base] & SEES) || !in_cycle(&s, size, b))
            continue;
        uint32_t at = g->blocks[b].first;
        while (!observes(&g->insts[at]) && !check_is_call(c, at))
            at++;
        check_report(c, CR_R13, at, at,
                     "spin cycle through %s without YIELD; lanes it waits for may never run",
                     check_at(c, at));
    }
    /* all cycles: is there something to wait for where there is a YIELD? */
    Scc t = {.c = c, .p = p, .base = s.base, .in = ARENA_ARRAY(&c->a, bool, n)};
    for (uint32_t k = 0; k < p->nrpo; k++)
        t.in[p->rpo[k] - t.base] = true;
    components(&t);
    sum = ARENA_ARRAY(&c->a, uint8_t, t.ncomps + 1);
    size = ARENA_ARRAY(&c->a, uint32_t, t.ncomps + 1);
    for (uint32_t k = 0; k < p->nrpo; k++) {
        sum[t.comp[p->rpo[k] - t.base]] |= what[p->rpo[k] - t.base];
        size[t.comp[p->rpo[k] - t.base]]++;
    }
    for (uint32_t k = 0; k < p->nrpo; k++) {
        uint32_t b = p->rpo[k];
        if (!(what[b - t.base] & YIELDS) || !in_cycle(&t, size, b) ||
            (sum[t.comp[b - t.base]] & (SEES | SYNCS | CALLS)))
            continue;
        EACH_INST(g, b, i)
        if (bin_kind(&g->insts[i]) == BK_YIELD)
            check_report(c, CR_R14, i, NONE, "YIELD at %s disables reconvergence of its loop%s",
                         check_at(c, i),
                         sum[t.comp[b - t.base]] & LOADS ? ", unless a load in it is volatile" : "");
    }
}

static void progress(Checker *c) {
    const BinFlow *g = c->g;
    bool *observing = ARENA_ARRAY(&c->a, bool, c->nprocs + 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t p = 0; p < c->nprocs; p++)
            for (uint32_t n = 0; n < c->procs[p].nrpo && !observing[p]; n++)
                if (what_happens(c, c->procs[p].rpo[n], observing) & SEES)
                    changed = observing[p] = true;
    }
    for (uint32_t p = 0; p < c->nprocs; p++)
        if (g->funcs[c->procs[p].func].nblocks)
            loops_of(c, &c->procs[p], observing);
}

/* ---- R-24, R-04 ---- */

static bool only_ends(const Checker *c, uint32_t block) {
    const BinFlow *g = c->g;
    for (unsigned hops = 0; hops < 8; hops++) {
        const BinBlock *b = &g->blocks[block];
        EACH_INST(g, block, i) {
            BinKind k = bin_kind(&g->insts[i]);
            if (k == BK_EXIT || k == BK_TRAP)
                return true;
            if (k != BK_NOP && k != BK_BSYNC && k != BK_BREAK && k != BK_BRANCH)
                return false;
        }
        if (b->nsuccs != 1)
            return false;
        block = b->succs[0].block;
    }
    return false;
}

static uint32_t bsync_in(const Checker *c, uint32_t block, uint16_t regs) {
    const BinFlow *g = c->g;
    EACH_INST(g, block, i)
    if (g->decoded[i] && bin_kind(&g->insts[i]) == BK_BSYNC && (regs >> bin_barrier(&g->insts[i]) & 1))
        return i;
    return NONE;
}

/* Walks the region between a branch and `join`: true if a BSYNC of `regs` is in it; *bssy: one whose
 * syncpoint is behind `sync`. */
static bool region_of(Checker *c, const BinBlock *b, uint32_t join, uint16_t regs, uint32_t sync,
                      uint32_t *bssy) {
    const BinFlow *g = c->g;
    const BinFuncFlow *f = &g->funcs[b->func];
    ArenaMark mark = arena_mark(&c->a);
    bool *seen = ARENA_ARRAY(&c->a, bool, f->nblocks), found = false;
    uint32_t *stack = ARENA_ARRAY(&c->a, uint32_t, f->nblocks + 1), top = 0;
    for (uint32_t s = 0; s < b->nsuccs; s++) {
        uint32_t t = b->succs[s].block;
        if (t != join && !seen[t - f->first_block]) {
            seen[t - f->first_block] = true;
            stack[top++] = t;
        }
    }
    *bssy = NONE;
    while (top) {
        uint32_t at = stack[--top];
        found |= bsync_in(c, at, regs) != NONE;
        EACH_INST(g, at, i)
        if (g->decoded[i] && sync != NONE && bin_kind(&g->insts[i]) == BK_BSSY &&
            bin_target(g, i) == sync + 1 && bin_barrier(&g->insts[i]) == bin_barrier(&g->insts[sync]))
            *bssy = i;
        for (uint32_t s = 0; s < g->blocks[at].nsuccs; s++) {
            uint32_t t = g->blocks[at].succs[s].block;
            if (t != join && !seen[t - f->first_block]) {
                seen[t - f->first_block] = true;
                stack[top++] = t;
            }
        }
    }
    arena_release(&c->a, mark);
    return found;
}

static void late_joins(Checker *c) {
    const BinFlow *g = c->g;
    for (uint32_t k = 0; k < g->nblocks; k++) {
        const BinBlock *b = &g->blocks[k];
        uint32_t last = b->first + b->ninsts - 1, join = c->ipdom[k], bssy;
        if (!b->reachable || b->nsuccs < 2 || !g->decoded[last] || !c->divergent[last] ||
            bin_kind(&g->insts[last]) == BK_EXIT || bin_kind(&g->insts[last]) == BK_RET || join == NONE ||
            (g->blocks[join].ends && only_ends(c, join)))
            continue;
        if (b->succs[0].block == b->succs[b->nsuccs - 1].block || bsync_in(c, join, c->pend[last]) != NONE)
            continue;
        uint32_t sync = bsync_in(c, join, 0xffff);
        if (region_of(c, b, join, c->pend[last], sync, &bssy))
            continue;
        if (bssy != NONE)
            check_report(c, CR_R04, sync, last,
                         "only lanes of one side of the branch at %s have joined BSYNC B%u (at %s)",
                         check_at(c, last), bin_barrier(&g->insts[sync]), check_at(c, bssy));
        check_report(c, CR_R24, last, NONE,
                     "the branch's paths meet at %s, where no BSYNC waits for its lanes",
                     check_at(c, g->blocks[join].first));
    }
}

void check_collectives(Checker *c) {
    walk_collectives(c);
    rendezvous(c);
    progress(c);
    late_joins(c);
}
