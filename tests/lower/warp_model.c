/* See warp_model.h.
 * SPDX-License-Identifier: MIT */
#include "warp_model.h"
#include <stdlib.h>
#include <string.h>

enum { VISIT_BUDGET = 60 };

static uint64_t mix(uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

void model_shortest(ModelCfg *c) {
    uint32_t dist[MODEL_MAX_BLOCKS];
    for (uint32_t b = 1; b <= c->n; b++)
        dist[b] = c->nsucc[b] ? UINT32_MAX : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 1; b <= c->n; b++)
            for (uint32_t k = 0; k < c->nsucc[b]; k++) {
                uint32_t d = dist[c->succ[b][k]];
                if (d != UINT32_MAX && d + 1 < dist[b])
                    dist[b] = d + 1, c->out[b] = k, changed = true;
            }
    }
}

uint32_t model_choice(const ModelCfg *c, unsigned lane, uint32_t block, uint32_t visit) {
    if (visit >= VISIT_BUDGET)
        return c->out[block];
    uint64_t h = mix(c->seed ^ mix(lane * 1000003u + block) ^ mix((uint64_t)visit << 32));
    return (uint32_t)(h >> 20) % c->nsucc[block];
}

uint64_t model_lane(const ModelCfg *c, unsigned lane) {
    uint64_t trace = 0;
    uint32_t visit = 0;
    for (uint32_t b = 1;; visit++) {
        trace = mix(trace ^ b);
        if (!c->nsucc[b])
            return trace;
        b = c->succ[b][model_choice(c, lane, b, visit)];
    }
}

typedef struct {
    uint32_t block, pos;
} Pc;

typedef struct {
    Function *f;
    const ModelCfg *c;
    uint32_t start[4 * MODEL_MAX_BLOCKS]; /* [block] number of its first instruction */
    Pc *code;
    uint32_t valid, active, yield, swtch, b[16];
    uint32_t pc, rpc[MODEL_LANES];
    uint64_t trace[MODEL_LANES];
    uint32_t visit[MODEL_LANES];
    uint32_t target[MODEL_LANES]; /* where the lane's open branch goes, 0 none */
    ModelResult r;
} Warp;

static unsigned low(uint32_t m) { return (unsigned)__builtin_ctz(m); }

static uint32_t at_pc(const Warp *w, uint32_t pc) {
    uint32_t m = 0;
    for (unsigned t = 0; t < MODEL_LANES; t++)
        if ((w->valid & ~w->active) >> t & 1 && w->rpc[t] == pc)
            m |= 1u << t;
    return m;
}

static void park(Warp *w, uint32_t lanes, uint32_t pc) {
    for (unsigned t = 0; t < MODEL_LANES; t++)
        if (lanes >> t & 1)
            w->rpc[t] = pc;
}

static uint32_t prefer(const Warp *w, uint32_t c) { return c & ~w->yield ? c & ~w->yield : c; }

static void resume(Warp *w, uint32_t c) {
    uint32_t pc = w->rpc[low(c)];
    w->active = 0;
    w->active = at_pc(w, pc);
    w->pc = pc;
}

static void do_exit(Warp *w, uint32_t g) {
    w->valid &= ~g;
    w->active &= ~g;
    if (w->active)
        w->pc++;
    else if (w->valid)
        resume(w, prefer(w, w->valid));
}

static void do_bsync(Warp *w, unsigned b) {
    uint32_t arrived = w->active | at_pc(w, w->pc);
    w->b[b] &= w->valid & ~arrived;
    uint32_t pending = w->b[b] & ~w->yield;
    if (!pending) {
        w->active = arrived;
        w->yield &= ~arrived;
        w->pc++;
        return;
    }
    park(w, w->active, w->pc);
    w->active = 0;
    resume(w, pending);
}

static void do_yield(Warp *w) {
    uint32_t others = w->valid & ~w->active, old = w->active;
    if (!others) {
        w->pc++;
        return;
    }
    w->swtch &= others;
    if (!w->swtch)
        w->swtch = others;
    uint32_t c = prefer(w, w->swtch);
    park(w, old, w->pc + 1);
    w->yield |= old;
    resume(w, c);
    w->swtch &= ~w->active;
    if (!w->swtch)
        w->swtch = w->valid & ~w->active;
}

/* Entering an original block: each lane takes its decision. */
static void enter_block(Warp *w, uint32_t block) {
    if (block > w->c->n)
        return;
    w->r.block_issues++;
    for (unsigned t = 0; t < MODEL_LANES; t++) {
        if (!(w->active >> t & 1))
            continue;
        w->trace[t] = mix(w->trace[t] ^ block);
        w->target[t] = 0;
        if (w->c->nsucc[block])
            w->target[t] = model_choice(w->c, t, block, w->visit[t]) + 1;
        w->visit[t]++;
    }
}

/* Split lanes go on behind the branch first; those that jump are parked at their targets. */
static void do_branch(Warp *w, const Inst *i, uint32_t block) {
    const Block *b = ir_block(w->f, (BlockId){block});
    uint32_t jump = 0, next[MODEL_LANES];
    bool original = block <= w->c->n;
    for (unsigned t = 0; t < MODEL_LANES; t++) {
        if (!(w->active >> t & 1))
            continue;
        uint32_t way = original && w->target[t] ? w->target[t] - 1 : 0;
        bool goes = i->op == OT_BRX || op_is_always(i->guard) || way == 0;
        if (i->op == OT_BRX)
            next[t] = b->succs.at[way].i;
        else if (!op_is_always(i->guard))
            next[t] = b->succs.at[0].i;
        else
            next[t] = b->succs.at[b->succs.n - 1].i;
        if (goes)
            jump |= 1u << t;
    }
    for (unsigned t = 0; t < MODEL_LANES; t++)
        if (jump >> t & 1)
            w->rpc[t] = w->start[next[t]];
    w->active &= ~jump;
    if (w->active) {
        w->pc++;
        return;
    }
    w->pc = w->rpc[low(jump)]; /* all jump: the lowest lane's target first */
    for (unsigned t = 0; t < MODEL_LANES; t++)
        if (jump >> t & 1 && w->rpc[t] == w->pc)
            w->active |= 1u << t;
}

static void flatten(Warp *w) {
    Function *f = w->f;
    uint32_t n = 0;
    for (unsigned k = 0; k < f->layout.n; k++)
        n += ir_block(f, f->layout.at[k])->insts.n;
    w->code = malloc((n + 1) * sizeof *w->code);
    n = 0;
    for (unsigned k = 0; k < f->layout.n; k++) {
        w->start[f->layout.at[k].i] = n;
        for (unsigned p = 0; p < ir_block(f, f->layout.at[k])->insts.n; p++)
            w->code[n++] = (Pc){f->layout.at[k].i, p};
    }
}

static void step(Warp *w) {
    Pc pc = w->code[w->pc];
    const Block *b = ir_block(w->f, (BlockId){pc.block});
    const Inst *i = ir_inst(w->f, b->insts.at[pc.pos]);
    if (pc.pos == 0 && i->op != OT_BSYNC)
        enter_block(w, pc.block);
    switch (i->op) {
    case OT_BSSY:
        w->b[ir_src(w->f, i, 0)->value] |= w->active;
        w->pc++;
        break;
    case OT_BREAK:
        w->b[ir_src(w->f, i, 0)->value] &= ~w->active;
        w->pc++;
        break;
    case OT_BSYNC: do_bsync(w, ir_src(w->f, i, 0)->value); break;
    case OT_YIELD: do_yield(w); break;
    case OT_BRA:
    case OT_BRX: do_branch(w, i, pc.block); break;
    case OT_RET:
        for (unsigned k = 0; k < 16; k++)
            w->r.stale_return |= (w->b[k] & w->active) != 0;
        do_exit(w, w->active);
        break;
    case OT_EXIT: do_exit(w, w->active); break;
    case OT_NOP: /* stands behind the BSYNC of a join, see test_reconverge.c */
        if (pc.pos == 1 && ir_inst(w->f, b->insts.at[0])->op == OT_BSYNC)
            enter_block(w, pc.block);
        w->pc++;
        break;
    default: w->pc++;
    }
    w->r.issues++;
}

ModelResult model_run(Function *f, const ModelCfg *c) {
    Warp w = {.f = f, .c = c, .valid = UINT32_MAX, .active = UINT32_MAX};
    flatten(&w);
    while (w.valid && w.r.issues < 400000)
        step(&w);
    w.r.hung = w.valid != 0;
    for (unsigned t = 0; t < MODEL_LANES && !w.r.hung; t++)
        w.r.bad_trace |= w.trace[t] != model_lane(c, t);
    free(w.code);
    return w.r;
}

/* ---- the classic stack ---- */

typedef struct {
    uint32_t block, join, mask;
} Level;

/* Immediate post-dominators by plain sets, all ends leading to one exit: pd[b] = {b} + what the successors
 * have in common. 0: the exit. */
static void find_ipdom(const ModelCfg *c, uint32_t *ipdom) {
    static uint8_t pd[MODEL_MAX_BLOCKS][MODEL_MAX_BLOCKS];
    memset(pd, 1, sizeof pd);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = c->n; b >= 1; b--)
            for (uint32_t x = 1; x <= c->n; x++) {
                uint8_t all = c->nsucc[b] > 0;
                for (uint32_t k = 0; k < c->nsucc[b]; k++)
                    all &= pd[c->succ[b][k]][x];
                all |= x == b;
                if (all != pd[b][x])
                    pd[b][x] = all, changed = true;
            }
    }
    for (uint32_t b = 1; b <= c->n; b++) {
        ipdom[b] = 0;
        for (uint32_t x = 1; x <= c->n; x++) {
            if (x == b || !pd[b][x])
                continue;
            bool nearest = true; /* all other post-dominators of b post-dominate x */
            for (uint32_t y = 1; y <= c->n; y++)
                nearest &= y == b || !pd[b][y] || pd[x][y];
            if (nearest)
                ipdom[b] = x;
        }
    }
}

uint64_t model_stack(const ModelCfg *c) {
    uint32_t ipdom[MODEL_MAX_BLOCKS], visit[MODEL_LANES] = {0}, top = 0, cap = 4096;
    Level *s = malloc(cap * sizeof *s);
    uint64_t issues = 0;
    find_ipdom(c, ipdom);
    s[top++] = (Level){1, 0, UINT32_MAX};
    while (top && issues < 400000) {
        Level l = s[top - 1];
        if (!l.mask || l.block == l.join) {
            top--;
            continue;
        }
        issues++;
        uint32_t go[4] = {0}, ways = 0, first = 0;
        for (unsigned t = 0; t < MODEL_LANES && c->nsucc[l.block]; t++)
            if (l.mask >> t & 1)
                go[model_choice(c, t, l.block, visit[t]++)] |= 1u << t;
        if (!c->nsucc[l.block]) { /* the lanes are gone from all levels */
            for (uint32_t k = 0; k < top; k++)
                s[k].mask &= ~l.mask;
            continue;
        }
        for (uint32_t k = 0; k < c->nsucc[l.block]; k++)
            for (uint32_t n = k + 1; n < c->nsucc[l.block]; n++)
                if (c->succ[l.block][n] == c->succ[l.block][k])
                    go[k] |= go[n], go[n] = 0;
        for (uint32_t k = 0; k < c->nsucc[l.block]; k++)
            if (go[k] && !ways++)
                first = k;
        if (ways == 1) {
            s[top - 1].block = c->succ[l.block][first];
            continue;
        }
        if (ipdom[l.block])
            s[top - 1].block = ipdom[l.block];
        else
            top--;
        for (uint32_t k = 0; k < c->nsucc[l.block]; k++) {
            if (top == cap)
                s = realloc(s, (cap *= 2) * sizeof *s);
            if (go[k])
                s[top++] = (Level){c->succ[l.block][k], ipdom[l.block] ? ipdom[l.block] : l.join, go[k]};
        }
    }
    free(s);
    return issues;
}
