/* See warp_model.h.
 * SPDX-License-Identifier: MIT */
#include "base/rng.h"
#include "warp_model.h"
#include <stdlib.h>
#include <string.h>

enum { VISIT_BUDGET = 60 };

static uint64_t mix(uint64_t x) { return rng_next(&x); }

void model_shortest(ModelCfg *cfg) {
    uint32_t dist[MODEL_MAX_BLOCKS];
    for (uint32_t b = 1; b <= cfg->n; b++)
        dist[b] = cfg->nsucc[b] ? UINT32_MAX : 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = 1; b <= cfg->n; b++)
            for (uint32_t k = 0; k < cfg->nsucc[b]; k++) {
                uint32_t d = dist[cfg->succ[b][k]];
                if (d != UINT32_MAX && d + 1 < dist[b])
                    dist[b] = d + 1, cfg->out[b] = k, changed = true;
            }
    }
}

uint32_t model_choice(const ModelCfg *cfg, unsigned lane, uint32_t block, uint32_t visit) {
    if (visit >= VISIT_BUDGET)
        return cfg->out[block];
    uint64_t h = mix(cfg->seed ^ mix(lane * 1000003u + block) ^ mix((uint64_t)visit << 32));
    return (uint32_t)(h >> 20) % cfg->nsucc[block];
}

uint64_t model_lane(const ModelCfg *cfg, unsigned lane) {
    uint64_t trace = 0;
    uint32_t visit = 0;
    for (uint32_t b = 1;; visit++) {
        trace = mix(trace ^ b);
        if (!cfg->nsucc[b])
            return trace;
        b = cfg->succ[b][model_choice(cfg, lane, b, visit)];
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

static uint32_t at_pc(const Warp *warp, uint32_t pc) {
    uint32_t m = 0;
    for (unsigned t = 0; t < MODEL_LANES; t++)
        if ((warp->valid & ~warp->active) >> t & 1 && warp->rpc[t] == pc)
            m |= 1u << t;
    return m;
}

static void park(Warp *warp, uint32_t lanes, uint32_t pc) {
    for (unsigned t = 0; t < MODEL_LANES; t++)
        if (lanes >> t & 1)
            warp->rpc[t] = pc;
}

static uint32_t prefer(const Warp *warp, uint32_t c) { return c & ~warp->yield ? c & ~warp->yield : c; }

static void resume(Warp *warp, uint32_t c) {
    uint32_t pc = warp->rpc[low(c)];
    warp->active = 0;
    warp->active = at_pc(warp, pc);
    warp->pc = pc;
}

static void do_exit(Warp *warp, uint32_t g) {
    warp->valid &= ~g;
    warp->active &= ~g;
    if (warp->active)
        warp->pc++;
    else if (warp->valid)
        resume(warp, prefer(warp, warp->valid));
}

static void do_bsync(Warp *warp, unsigned b) {
    uint32_t arrived = warp->active | at_pc(warp, warp->pc);
    warp->b[b] &= warp->valid & ~arrived;
    uint32_t pending = warp->b[b] & ~warp->yield;
    if (!pending) {
        warp->active = arrived;
        warp->yield &= ~arrived;
        warp->pc++;
        return;
    }
    park(warp, warp->active, warp->pc);
    warp->active = 0;
    resume(warp, pending);
}

static void do_yield(Warp *warp) {
    uint32_t others = warp->valid & ~warp->active, old = warp->active;
    if (!others) {
        warp->pc++;
        return;
    }
    warp->swtch &= others;
    if (!warp->swtch)
        warp->swtch = others;
    uint32_t c = prefer(warp, warp->swtch);
    park(warp, old, warp->pc + 1);
    warp->yield |= old;
    resume(warp, c);
    warp->swtch &= ~warp->active;
    if (!warp->swtch)
        warp->swtch = warp->valid & ~warp->active;
}

/* Entering an original block: each lane takes its decision. */
static void enter_block(Warp *warp, uint32_t block) {
    if (block > warp->c->n)
        return;
    warp->r.block_issues++;
    for (unsigned t = 0; t < MODEL_LANES; t++) {
        if (!(warp->active >> t & 1))
            continue;
        warp->trace[t] = mix(warp->trace[t] ^ block);
        warp->target[t] = 0;
        if (warp->c->nsucc[block])
            warp->target[t] = model_choice(warp->c, t, block, warp->visit[t]) + 1;
        warp->visit[t]++;
    }
}

/* Split lanes go on behind the branch first; those that jump are parked at their targets. */
static void do_branch(Warp *warp, const Inst *i, uint32_t block) {
    const Block *b = ir_block(warp->f, (BlockId){block});
    uint32_t jump = 0, next[MODEL_LANES];
    bool original = block <= warp->c->n;
    for (unsigned t = 0; t < MODEL_LANES; t++) {
        if (!(warp->active >> t & 1))
            continue;
        uint32_t way = original && warp->target[t] ? warp->target[t] - 1 : 0;
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
            warp->rpc[t] = warp->start[next[t]];
    warp->active &= ~jump;
    if (warp->active) {
        warp->pc++;
        return;
    }
    warp->pc = warp->rpc[low(jump)]; /* all jump: the lowest lane's target first */
    for (unsigned t = 0; t < MODEL_LANES; t++)
        if (jump >> t & 1 && warp->rpc[t] == warp->pc)
            warp->active |= 1u << t;
}

static void flatten(Warp *warp) {
    Function *f = warp->f;
    uint32_t n = 0;
    for (unsigned k = 0; k < f->layout.n; k++)
        n += ir_block(f, f->layout.at[k])->insts.n;
    warp->code = malloc((n + 1) * sizeof *warp->code);
    n = 0;
    for (unsigned k = 0; k < f->layout.n; k++) {
        warp->start[f->layout.at[k].i] = n;
        for (unsigned p = 0; p < ir_block(f, f->layout.at[k])->insts.n; p++)
            warp->code[n++] = (Pc){f->layout.at[k].i, p};
    }
}

static void step(Warp *warp) {
    Pc pc = warp->code[warp->pc];
    const Block *b = ir_block(warp->f, (BlockId){pc.block});
    const Inst *i = ir_inst(warp->f, b->insts.at[pc.pos]);
    if (pc.pos == 0 && i->op != OT_BSYNC)
        enter_block(warp, pc.block);
    switch (i->op) {
    case OT_BSSY:
        warp->b[ir_src(warp->f, i, 0)->value] |= warp->active;
        warp->pc++;
        break;
    case OT_BREAK:
        warp->b[ir_src(warp->f, i, 0)->value] &= ~warp->active;
        warp->pc++;
        break;
    case OT_BSYNC: do_bsync(warp, ir_src(warp->f, i, 0)->value); break;
    case OT_YIELD: do_yield(warp); break;
    case OT_BRA:
    case OT_BRX: do_branch(warp, i, pc.block); break;
    case OT_RET:
        for (unsigned k = 0; k < 16; k++)
            warp->r.stale_return |= (warp->b[k] & warp->active) != 0;
        do_exit(warp, warp->active);
        break;
    case OT_EXIT: do_exit(warp, warp->active); break;
    case OT_NOP: /* stands behind the BSYNC of a join, see test_reconverge.c */
        if (pc.pos == 1 && ir_inst(warp->f, b->insts.at[0])->op == OT_BSYNC)
            enter_block(warp, pc.block);
        warp->pc++;
        break;
    default: warp->pc++;
    }
    warp->r.issues++;
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
static void find_ipdom(const ModelCfg *cfg, uint32_t *ipdom) {
    static uint8_t pd[MODEL_MAX_BLOCKS][MODEL_MAX_BLOCKS];
    memset(pd, 1, sizeof pd);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t b = cfg->n; b >= 1; b--)
            for (uint32_t x = 1; x <= cfg->n; x++) {
                uint8_t all = cfg->nsucc[b] > 0;
                for (uint32_t k = 0; k < cfg->nsucc[b]; k++)
                    all &= pd[cfg->succ[b][k]][x];
                all |= x == b;
                if (all != pd[b][x])
                    pd[b][x] = all, changed = true;
            }
    }
    for (uint32_t b = 1; b <= cfg->n; b++) {
        ipdom[b] = 0;
        for (uint32_t x = 1; x <= cfg->n; x++) {
            if (x == b || !pd[b][x])
                continue;
            bool nearest = true; /* all other post-dominators of b post-dominate x */
            for (uint32_t y = 1; y <= cfg->n; y++)
                nearest &= y == b || !pd[b][y] || pd[x][y];
            if (nearest)
                ipdom[b] = x;
        }
    }
}

uint64_t model_stack(const ModelCfg *cfg) {
    uint32_t ipdom[MODEL_MAX_BLOCKS], visit[MODEL_LANES] = {0}, top = 0, cap = 4096;
    Level *s = malloc(cap * sizeof *s);
    uint64_t issues = 0;
    find_ipdom(cfg, ipdom);
    s[top++] = (Level){1, 0, UINT32_MAX};
    while (top && issues < 400000) {
        Level l = s[top - 1];
        if (!l.mask || l.block == l.join) {
            top--;
            continue;
        }
        issues++;
        uint32_t go[4] = {0}, ways = 0, first = 0;
        for (unsigned t = 0; t < MODEL_LANES && cfg->nsucc[l.block]; t++)
            if (l.mask >> t & 1)
                go[model_choice(cfg, t, l.block, visit[t]++)] |= 1u << t;
        if (!cfg->nsucc[l.block]) { /* the lanes are gone from all levels */
            for (uint32_t k = 0; k < top; k++)
                s[k].mask &= ~l.mask;
            continue;
        }
        for (uint32_t k = 0; k < cfg->nsucc[l.block]; k++)
            for (uint32_t n = k + 1; n < cfg->nsucc[l.block]; n++)
                if (cfg->succ[l.block][n] == cfg->succ[l.block][k])
                    go[k] |= go[n], go[n] = 0;
        for (uint32_t k = 0; k < cfg->nsucc[l.block]; k++)
            if (go[k] && !ways++)
                first = k;
        if (ways == 1) {
            s[top - 1].block = cfg->succ[l.block][first];
            continue;
        }
        if (ipdom[l.block])
            s[top - 1].block = ipdom[l.block];
        else
            top--;
        for (uint32_t k = 0; k < cfg->nsucc[l.block]; k++) {
            if (top == cap)
                s = realloc(s, (cap *= 2) * sizeof *s);
            if (go[k])
                s[top++] = (Level){cfg->succ[l.block][k], ipdom[l.block] ? ipdom[l.block] : l.join, go[k]};
        }
    }
    free(s);
    return issues;
}

unsigned model_count_op(Function *f, unsigned op) {
    unsigned n = 0;
    for (unsigned k = 0; k < f->layout.n; k++)
        for (unsigned p = 0; p < ir_block(f, f->layout.at[k])->insts.n; p++)
            n += ir_inst(f, ir_block(f, f->layout.at[k])->insts.at[p])->op == op;
    return n;
}
