/* Which branches may part the lanes of a warp, where all of them are certainly together, and where not all
 * need to come. A data flow over machine registers, from scratch: special registers of the lane, memory and
 * shuffles make divergent values, the rest follows its sources; registers written on the sides of a divergent
 * branch are divergent where the sides meet. Everything starts uniform and together, and only gets worse.
 * Procedures pass registers on at calls.
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

/* R0.., P0.., and 32-bit places of the stack frame from R1 on, where spilled registers are; stores through
 * other registers go to the program's own arrays, which do not overlap them. Uniform registers are uniform by
 * nature. */
enum {
    CELL_P = 256,
    CELL_FRAME = 264,
    CELLS = 768,
    FRAME_WORDS = CELLS - CELL_FRAME,
    WORDS = CELLS / 64,
    MAX_SINKS = 256
};
typedef struct {
    uint64_t w[WORDS];
} Cells;

typedef struct {
    Cells entry, out; /* divergent at the entry, at returns */
    Cells writes;     /* here or in callees */
    bool entry_apart, entry_together, exit_together, called, unknown_callee;
    uint32_t base;
    bool *done; /* by block: its divergent branch has been spread */
} ProcInfo;

typedef struct {
    Checker *c;
    ProcInfo *info;
    Cells *in, *extra, *writes;       /* by block; extra: divergent because paths meet here */
    bool *apart, *together, *reached; /* by block */
    uint8_t *conv_b; /* by block, native: barriers that were joined by the whole warp (low 8) */
    bool certain;    /* only what is divergent by its data: registers may hold copies of one value where paths
                        meet */
    bool changed;
} Uniform;

static bool has(const Cells *s, unsigned i) { return s->w[i / 64] >> (i % 64) & 1; }
static void set(Cells *s, unsigned i, bool on) {
    uint64_t bit = (uint64_t)1 << (i % 64);
    s->w[i / 64] = on ? s->w[i / 64] | bit : s->w[i / 64] & ~bit;
}
static bool unite(Cells *to, const Cells *from) {
    bool changed = false;
    for (unsigned k = 0; k < WORDS; k++) {
        changed |= (from->w[k] & ~to->w[k]) != 0;
        to->w[k] |= from->w[k];
    }
    return changed;
}

/* First cell and number of cells of an operand; 0 if it has none. */
static unsigned cells_of(Operand o, unsigned *first) {
    if (o.kind != OPK_REG || (o.file != RF_R && o.file != RF_P))
        return 0;
    unsigned zero = o.file == RF_R ? REG_RZ : REG_PT, n = o.count ? o.count : 1;
    if (o.value >= zero)
        return 0;
    *first = o.value + (o.file == RF_P ? CELL_P : 0);
    return o.value + n > zero ? zero - o.value : n;
}

static bool operand_divergent(const Cells *s, Operand o) {
    unsigned first = 0, n = cells_of(o, &first);
    for (unsigned k = 0; k < n; k++)
        if (has(s, first + k))
            return true;
    return false;
}

/* ---- one instruction ---- */

static bool lane_register(const Target *t, Operand o) {
    static const char *const lanes[] = {"tid.", "laneid", "lanemask", "clock", "globaltimer", "pm"};
    const char *name = o.kind == OPK_SREG ? isa_sreg_name(t, o.value) : NULL;
    if (!name)
        return true;
    for (unsigned k = 0; k < sizeof lanes / sizeof *lanes; k++)
        if (strncmp(name, lanes[k], strlen(lanes[k])) == 0)
            return true;
    return false;
}

typedef enum { MAKES_UNIFORM, MAKES_DIVERGENT, MAKES_BY_DATA } Makes;
/* First word and number of words that a local access with base R1 touches; 0 if it is another access. */
static unsigned frame_words(const MachInst *m, unsigned *first) {
    bool load = m->optype == OT_LDL;
    Operand base = m->src[load ? LDL_ra : STL_ra], urb = m->src[load ? LDL_urb : STL_urb],
            off = m->src[load ? LDL_offset : STL_offset];
    Operand data = load ? m->dst[LDL_rd] : m->src[STL_rb];
    int64_t offset = off.kind == OPK_IMM64 ? m->wide : off.kind == OPK_IMM ? (int32_t)off.value : 0;
    bool plain = base.kind == OPK_REG && base.file == RF_R && base.value == 1 &&
                 (urb.kind == OPK_NONE || urb.value == REG_URZ);
    unsigned n = data.count ? data.count : 1;
    if (!plain || offset < 0 || offset / 4 + n > FRAME_WORDS)
        return 0;
    *first = (unsigned)(offset / 4);
    return n;
}

static bool load_divergent(const Cells *s, const MachInst *m) {
    unsigned first = 0, n = frame_words(m, &first);
    bool divergent = n == 0;
    for (unsigned k = 0; k < n; k++)
        divergent |= has(s, CELL_FRAME + first + k);
    return divergent;
}

static Makes makes(const Uniform *u, const Cells *s, const MachInst *m, bool together) {
    switch (m->optype) {
    case OT_S2R:
    case OT_CS2R: return lane_register(u->c->g->bin->target, m->src[0]) ? MAKES_DIVERGENT : MAKES_UNIFORM;
    case OT_VOTE:
    case OT_REDUX: return together ? MAKES_UNIFORM : MAKES_DIVERGENT;
    case OT_LDC: return MAKES_BY_DATA;
    case OT_LDL: return load_divergent(s, m) ? MAKES_DIVERGENT : MAKES_UNIFORM;
    case OT_SHFL:
    case OT_MATCH:
    case OT_ELECT:
    case OT_B2R:
    case OT_BMOV:
    case OT_HMMA:
    case OT_IMMA:
    case OT_DMMA:
    case OT_MOVM: return MAKES_DIVERGENT;
    case OT_LEPC:
    case OT_B2R_RESULT: return MAKES_UNIFORM;
    default: return isa_optype_flags(m->optype) & ISA_FLAG_MEM_READ ? MAKES_DIVERGENT : MAKES_BY_DATA;
    }
}

static bool any_predicate(const Cells *s) { return (s->w[CELL_P / 64] >> (CELL_P % 64) & 0x7f) != 0; }

static void write_cells(Cells *s, Cells *writes, Operand o, bool divergent, bool keeps) {
    unsigned first = 0, n = cells_of(o, &first);
    for (unsigned k = 0; k < n; k++) {
        set(s, first + k, divergent || (keeps && has(s, first + k)));
        if (writes)
            set(writes, first + k, true);
    }
}

static void step(const Uniform *u, Cells *s, Cells *writes, const MachInst *m, bool together) {
    bool guarded = !op_is_always(m->guard), divergent = false;
    Makes how = makes(u, s, m, together);
    if (how == MAKES_BY_DATA) {
        for (unsigned k = 0; k < m->nsrc; k++)
            divergent |= operand_divergent(s, m->src[k]);
        if (isa_optype_flags(m->optype) & ISA_FLAG_READS_ALL_P)
            divergent |= any_predicate(s);
    }
    divergent |= how == MAKES_DIVERGENT || (guarded && operand_divergent(s, m->guard));
    for (unsigned k = 0; k < m->ndst; k++)
        write_cells(s, writes, m->dst[k], divergent, guarded);
    unsigned first = 0, words = m->optype == OT_STL ? frame_words(m, &first) : 0;
    for (unsigned k = 0; k < words; k++) {
        set(s, CELL_FRAME + first + k, divergent || (guarded && has(s, CELL_FRAME + first + k)));
        set(writes, CELL_FRAME + first + k, true);
    }
    for (unsigned p = 0; (isa_optype_flags(m->optype) & ISA_FLAG_WRITES_ALL_P) && p < REG_PT; p++)
        write_cells(s, writes, op_reg(RF_P, p, 1), divergent, true);
}

/* May lanes go different ways here? */
static bool parts_lanes(const Cells *s, const MachInst *m) {
    BinKind k = bin_kind(m);
    if (k != BK_BRANCH && k != BK_BRANCH_INDIRECT && k != BK_CALL && k != BK_EXIT && k != BK_RET)
        return false;
    if (k == BK_BRANCH && MGET(BRA, cond, m->mods) != BRACond_NoCond &&
        (bin_guard(m) == BG_ALWAYS || MGET(BRA, cond, m->mods) == BRACond_U))
        return false; /* the group goes as one */
    bool d = operand_divergent(s, m->guard);
    for (unsigned n = 0; n < m->nsrc && k != BK_RET; n++) /* a return address is as uniform as the call was */
        d |= operand_divergent(s, m->src[n]);
    return d;
}

/* ---- where paths meet ---- */

typedef struct {
    const BinFlow *g;
    const Proc *p;
    uint32_t base, n, *node; /* [n + 1] position in rpo of block, n is the sink */
    uint32_t *idom, *order;  /* of the reversed graph */
    bool *main;              /* by rpo position: reaches the main sink */
} Meet;

static uint32_t pos(const Meet *m, uint32_t block) { return m->node[block - m->base]; }

static uint32_t reach_back(const Meet *m, uint32_t from, bool *seen, uint32_t *stack) {
    uint32_t top = 0, count = 0;
    memset(seen, 0, m->n);
    seen[from] = true;
    stack[top++] = from;
    while (top) {
        const BinBlock *b = &m->g->blocks[m->p->rpo[stack[--top]]];
        count++;
        for (uint32_t k = 0; k < b->npreds; k++) {
            uint32_t q = pos(m, b->preds[k].block);
            if (q != NONE && !seen[q]) {
                seen[q] = true;
                stack[top++] = q;
            }
        }
    }
    return count;
}

static uint32_t main_sink(const Meet *m, Arena *a) {
    bool *seen = ARENA_ARRAY(a, bool, m->n);
    uint32_t *stack = ARENA_ARRAY(a, uint32_t, m->n + 1), best = NONE, most = 0, tried = 0;
    for (uint32_t k = m->n; k-- > 0 && tried < MAX_SINKS;) {
        const BinBlock *b = &m->g->blocks[m->p->rpo[k]];
        if (b->nsuccs || !(b->ends & (BX_EXIT | BX_RET)))
            continue;
        uint32_t count = reach_back(m, k, seen, stack);
        tried++;
        if (count > most || (count == most && m->p->rpo[k] > m->p->rpo[best]))
            best = k, most = count;
    }
    if (best != NONE) {
        reach_back(m, best, seen, stack);
        memcpy(m->main, seen, m->n);
    }
    return best;
}

/* Is the edge from a to b looked at? Not if it leads away from where most paths end. */
static bool counts(const Meet *m, uint32_t a, uint32_t b) { return !m->main[a] || m->main[b]; }
static bool to_sink(const Meet *m, uint32_t a, uint32_t sink) {
    return m->main[a] ? a == sink : m->g->blocks[m->p->rpo[a]].ends != 0;
}

static uint32_t common(const Meet *m, const uint32_t *number, uint32_t a, uint32_t b) {
    while (a != b) {
        while (number[a] > number[b])
            a = m->idom[a];
        while (number[b] > number[a])
            b = m->idom[b];
    }
    return a;
}

/* Immediate post-dominators of one procedure (Cooper, Harvey, Kennedy). */
static void post_dominators(Checker *c, const Proc *p) {
    const BinFlow *g = c->g;
    Meet m = {g, p, g->funcs[p->func].first_block, p->nrpo, NULL, NULL, NULL, NULL};
    uint32_t nblocks = g->funcs[p->func].nblocks, sink, count = 0, depth = 0;
    ArenaMark mark = arena_mark(&c->a);
    m.node = ARENA_ARRAY(&c->a, uint32_t, nblocks);
    m.idom = ARENA_ARRAY(&c->a, uint32_t, m.n + 1);
    m.order = ARENA_ARRAY(&c->a, uint32_t, m.n + 1);
    m.main = ARENA_ARRAY(&c->a, bool, m.n + 1);
    memset(m.node, 0xff, sizeof *m.node * nblocks);
    for (uint32_t k = 0; k < m.n; k++)
        m.node[p->rpo[k] - m.base] = k;
    sink = main_sink(&m, &c->a);
    /* post-order of the reversed graph from the sink, node n */
    uint32_t *number = ARENA_ARRAY(&c->a, uint32_t, m.n + 1), *stack = ARENA_ARRAY(&c->a, uint32_t, m.n + 1);
    uint32_t *next = ARENA_ARRAY(&c->a, uint32_t, m.n + 1);
    memset(number, 0xff, sizeof *number * (m.n + 1));
    for (uint32_t root = m.n; root-- > 0;) {
        if (!to_sink(&m, root, sink) || number[root] != NONE)
            continue;
        number[root] = 0;
        stack[depth++] = root;
        while (depth) {
            uint32_t at = stack[depth - 1];
            const BinBlock *b = &g->blocks[p->rpo[at]];
            if (next[at] == b->npreds) {
                m.order[count++] = at;
                depth--;
                continue;
            }
            uint32_t q = pos(&m, b->preds[next[at]++].block);
            if (q != NONE && number[q] == NONE && counts(&m, q, at)) {
                number[q] = 0;
                stack[depth++] = q;
            }
        }
    }
    for (uint32_t k = 0; k < count; k++) /* small numbers near the sink */
        number[m.order[k]] = count - k;
    number[m.n] = 0;
    memset(m.idom, 0xff, sizeof *m.idom * (m.n + 1));
    m.idom[m.n] = m.n;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t k = count; k-- > 0;) {
            uint32_t at = m.order[k], new = to_sink(&m, at, sink) ? m.n : NONE;
            const BinBlock *b = &g->blocks[p->rpo[at]];
            for (uint32_t s = 0; s < b->nsuccs; s++) {
                uint32_t q = pos(&m, b->succs[s].block);
                if (q == NONE || !counts(&m, at, q) || m.idom[q] == NONE)
                    continue;
                new = new == NONE ? q : common(&m, number, new, q);
            }
            if (new != m.idom[at]) {
                m.idom[at] = new;
                changed = true;
            }
        }
    }
    for (uint32_t k = 0; k < m.n; k++)
        c->ipdom[p->rpo[k]] = m.idom[k] == NONE || m.idom[k] == m.n ? NONE : p->rpo[m.idom[k]];
    arena_release(&c->a, mark);
}

/* ---- a divergent branch ---- */

/* How many sides of the branch lead to each block before `join`. */
static void walk_sides(Uniform *u, const BinBlock *b, uint32_t join, uint8_t *sides, uint32_t base,
                       uint32_t n) {
    const BinFlow *g = u->c->g;
    uint32_t *stack = ARENA_ARRAY(&u->c->a, uint32_t, n + 1), *mark = ARENA_ARRAY(&u->c->a, uint32_t, n);
    for (uint32_t s = 0; s < b->nsuccs; s++) {
        uint32_t top = 0;
        bool again = false; /* parallel edges are one side */
        for (uint32_t k = 0; k < s; k++)
            again |= b->succs[k].block == b->succs[s].block;
        if (again)
            continue;
        stack[top++] = b->succs[s].block;
        mark[b->succs[s].block - base] = s + 1;
        while (top) {
            uint32_t at = stack[--top];
            if (sides[at - base] < 2)
                sides[at - base]++;
            for (uint32_t k = 0; at != join && k < g->blocks[at].nsuccs; k++) {
                uint32_t t = g->blocks[at].succs[k].block;
                if (mark[t - base] != s + 1) {
                    mark[t - base] = s + 1;
                    stack[top++] = t;
                }
            }
        }
    }
}

static void spread_branch(Uniform *u, uint32_t block) {
    const BinFlow *g = u->c->g;
    const BinBlock *b = &g->blocks[block];
    const BinFuncFlow *f = &g->funcs[b->func];
    uint32_t join = u->c->ipdom[block], base = f->first_block;
    ArenaMark mark = arena_mark(&u->c->a);
    uint8_t *sides = ARENA_ARRAY(&u->c->a, uint8_t, f->nblocks);
    walk_sides(u, b, join, sides, base, f->nblocks);
    Cells written = {{0}};
    for (uint32_t k = 0; k < f->nblocks; k++)
        if (sides[k] && base + k != join)
            unite(&written, &u->writes[base + k]);
    for (uint32_t k = 0; k < f->nblocks; k++) {
        if (!sides[k])
            continue;
        if (base + k != join)
            u->apart[base + k] = true;
        if (!u->certain && g->blocks[base + k].npreds > 1 && (sides[k] > 1 || base + k == join))
            unite(&u->extra[base + k], &written);
    }
    arena_release(&u->c->a, mark);
}

/* Some lanes return here, others go on. */
static void spread_return(Uniform *u, const Proc *p) {
    for (uint32_t k = 0; k < p->nrpo; k++)
        u->apart[p->rpo[k]] = true;
}

/* ---- being together ---- */

static bool is_full_warpsync(const MachInst *m) {
    return bin_kind(m) == BK_WARPSYNC && bin_guard(m) == BG_ALWAYS && m->src[WARPSYNC_rb].kind == OPK_IMM &&
           m->src[WARPSYNC_rb].value == UINT32_MAX;
}

typedef struct {
    bool on;
    uint16_t joined; /* native: barriers that all lanes have joined since they were together */
} Together;

static void together_behind(const Uniform *u, Together *t, uint32_t i) {
    const Checker *c = u->c;
    const MachInst *m = &c->g->insts[i];
    BinKind k = check_kind(c, i);
    if (is_full_warpsync(m))
        t->on = true;
    else if (k == BK_BSSY && c->native && t->on)
        t->joined |= (uint16_t)(1u << bin_barrier(m));
    else if (k == BK_BSYNC && c->native && (t->joined >> bin_barrier(m) & 1))
        t->on = true; /* hardware waits there; bru1 lets lanes go when the others have yielded */
    else if (k == BK_CALL) {
        Callees to = check_callees(c, i);
        bool all = to.n > 0 && !c->divergent[i];
        for (uint32_t n = 0; n < to.n; n++)
            all &= u->info[to.proc[n]].exit_together;
        t->on &= all;
    } else if (c->divergent[i] && (k == BK_BRANCH || k == BK_BRANCH_INDIRECT || k == BK_RET))
        t->on = false;
}

static void proc_together(Uniform *u, uint32_t p, Together *at) {
    Checker *c = u->c;
    const BinFlow *g = c->g;
    const Proc *proc = &c->procs[p];
    for (uint32_t n = 0; n < proc->nrpo; n++) {
        at[proc->rpo[n]] = (Together){true, 0xffff};
        u->reached[proc->rpo[n]] = false;
    }
    at[proc->entry_block] = (Together){u->info[p].entry_together, 0};
    u->reached[proc->entry_block] = true;
    bool exits = true;
    for (bool changed = true; changed;) {
        changed = false;
        exits = true;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            const BinBlock *b = &g->blocks[proc->rpo[n]];
            if (!u->reached[proc->rpo[n]])
                continue;
            Together t = at[proc->rpo[n]];
            for (uint32_t i = b->first; i < b->first + b->ninsts && g->decoded[i]; i++) {
                c->converged[i] = t.on;
                together_behind(u, &t, i);
            }
            exits &= !(b->ends & BX_RET) || t.on;
            for (uint32_t s = 0; s < b->nsuccs; s++) {
                Together *to = &at[b->succs[s].block];
                Together new = {to->on && t.on, to->joined & t.joined};
                changed |= new.on != to->on || new.joined != to->joined || !u->reached[b->succs[s].block];
                u->reached[b->succs[s].block] = true;
                *to = new;
            }
        }
    }
    if (exits != u->info[p].exit_together) {
        u->info[p].exit_together = exits;
        u->changed = true;
    }
}

/* ---- one procedure ---- */

static void at_call(Uniform *u, uint32_t p, Cells *s, uint32_t i, uint32_t block) {
    Checker *c = u->c;
    Callees to = check_callees(c, i);
    ProcInfo *me = &u->info[p];
    Cells all;
    memset(&all, 0xff, sizeof all);
    if (!to.n) {
        unite(s, &all);
        u->changed |= unite(&me->writes, &all);
    }
    Cells out = {{0}}, written = {{0}}, mine = *s;
    for (unsigned k = CELL_FRAME; k < CELLS; k++) /* each has a frame of its own */
        set(&mine, k, true);
    for (uint32_t n = 0; n < to.n; n++) {
        ProcInfo *callee = &u->info[to.proc[n]];
        bool apart = me->entry_apart || u->apart[block] || c->divergent[i];
        u->changed |= unite(&callee->entry, &mine);
        if (apart && !callee->entry_apart)
            callee->entry_apart = u->changed = true;
        if ((!c->converged[i] || c->divergent[i]) && callee->entry_together) {
            callee->entry_together = false;
            u->changed = true;
        }
        unite(&out, &callee->out);
        unite(&written, &callee->writes);
    }
    for (unsigned k = CELL_FRAME; k < CELLS; k++)
        set(&written, k, false);
    u->changed |= unite(&me->writes, &written);
    for (unsigned k = 0; k < WORDS; k++) /* registers that no callee writes stay as they are */
        s->w[k] = (s->w[k] & (~written.w[k] | (c->divergent[i] ? ~0ull : 0))) | (out.w[k] & written.w[k]) |
                  (c->divergent[i] ? written.w[k] : 0);
}

static void run_block(Uniform *u, uint32_t p, uint32_t block, Cells *s, bool note) {
    Checker *c = u->c;
    const BinFlow *g = c->g;
    const BinBlock *b = &g->blocks[block];
    for (uint32_t i = b->first; i < b->first + b->ninsts && g->decoded[i]; i++) {
        const MachInst *m = &g->insts[i];
        if (note && !c->divergent[i] && parts_lanes(s, m))
            c->divergent[i] = u->changed = true;
        step(u, s, &u->writes[block], m, c->converged[i]);
        if (check_is_call(c, i))
            at_call(u, p, s, i, block);
    }
}

static void run_proc(Uniform *u, uint32_t p) {
    Checker *c = u->c;
    const BinFlow *g = c->g;
    const Proc *proc = &c->procs[p];
    ProcInfo *info = &u->info[p];
    unite(&u->in[proc->entry_block], &info->entry);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            uint32_t k = proc->rpo[n];
            unite(&u->in[k], &u->extra[k]);
            Cells s = u->in[k];
            run_block(u, p, k, &s, true);
            u->changed |= unite(&info->writes, &u->writes[k]);
            if (g->blocks[k].ends & BX_RET)
                u->changed |= unite(&info->out, &s);
            for (uint32_t e = 0; e < g->blocks[k].nsuccs; e++)
                changed |= unite(&u->in[g->blocks[k].succs[e].block], &s);
        }
    }
    for (uint32_t n = 0; n < proc->nrpo; n++) {
        uint32_t k = proc->rpo[n], last = g->blocks[k].first + g->blocks[k].ninsts - 1;
        if (!g->decoded[last] || !c->divergent[last])
            continue;
        BinKind kind = bin_kind(&g->insts[last]);
        if (kind == BK_RET || (kind == BK_BRANCH && (g->blocks[k].ends & BX_RET)))
            spread_return(u, proc);
        else if (kind != BK_EXIT && g->blocks[k].nsuccs > 1)
            spread_branch(u, k);
    }
}

static void find_calls(Uniform *u) {
    Checker *c = u->c;
    for (uint32_t p = 0; p < c->nprocs; p++) /* a frame holds anything at first */
        for (unsigned k = 0; k < FRAME_WORDS; k++)
            set(&u->info[p].entry, CELL_FRAME + k, true);
    for (uint32_t p = 0; p < c->nprocs; p++)
        for (uint32_t n = 0; n < c->procs[p].nrpo; n++) {
            const BinBlock *b = &c->g->blocks[c->procs[p].rpo[n]];
            for (uint32_t i = b->first; i < b->first + b->ninsts && c->g->decoded[i]; i++) {
                Callees to = check_is_call(c, i) ? check_callees(c, i) : (Callees){NULL, 0};
                for (uint32_t k = 0; k < to.n; k++)
                    u->info[to.proc[k]].called = true;
            }
        }
}

static void analyse(Checker *c, bool certain) {
    const BinFlow *g = c->g;
    uint32_t n = g->bin->ncode + 1, nb = g->nblocks + 1;
    Uniform u = {.c = c, .certain = certain};
    c->divergent = ARENA_ARRAY(&c->a, bool, n);
    c->converged = ARENA_ARRAY(&c->a, bool, n);
    c->apart = ARENA_ARRAY(&c->a, bool, n);
    u.info = ARENA_ARRAY(&c->a, ProcInfo, c->nprocs + 1);
    u.in = ARENA_ARRAY(&c->a, Cells, nb);
    u.extra = ARENA_ARRAY(&c->a, Cells, nb);
    u.writes = ARENA_ARRAY(&c->a, Cells, nb);
    u.apart = ARENA_ARRAY(&c->a, bool, nb);
    u.reached = ARENA_ARRAY(&c->a, bool, nb);
    Together *at = ARENA_ARRAY(&c->a, Together, nb);
    find_calls(&u);
    for (uint32_t p = 0; p < c->nprocs; p++) {
        ProcInfo *x = &u.info[p];
        x->entry_together = x->exit_together = true;
        if (!x->called) {
            memset(&x->entry, 0xff, sizeof x->entry); /* registers hold anything */
            x->entry_together = c->procs[p].is_kernel;
            x->entry_apart = !x->entry_together; /* somebody else calls it */
        }
    }
    do {
        u.changed = false;
        for (uint32_t p = 0; p < c->nprocs; p++)
            proc_together(&u, p, at);
        for (uint32_t p = 0; p < c->nprocs; p++)
            run_proc(&u, p);
    } while (u.changed);
    for (uint32_t p = 0; p < c->nprocs; p++)
        for (uint32_t k = 0; k < c->procs[p].nrpo; k++) {
            const BinBlock *b = &g->blocks[c->procs[p].rpo[k]];
            for (uint32_t i = b->first; i < b->first + b->ninsts; i++)
                c->apart[i] |= u.apart[c->procs[p].rpo[k]] || u.info[p].entry_apart;
        }
}

void check_uniform(Checker *c) {
    c->ipdom = ARENA_ARRAY(&c->a, uint32_t, c->g->nblocks + 1);
    memset(c->ipdom, 0xff, sizeof *c->ipdom * (c->g->nblocks + 1));
    for (uint32_t p = 0; p < c->nprocs; p++)
        post_dominators(c, &c->procs[p]);
    analyse(c, true);
    c->surely_divergent = c->divergent;
    c->surely_apart = c->apart;
    analyse(c, false);
}
