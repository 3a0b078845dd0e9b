/* Uniform registers across divergence (R-17) and return addresses (R-20).
 * SPDX-License-Identifier: MIT */
#include "check/static/internal.h"
#include <string.h>

#define EACH_INST(g, block, i)                                                                               \
    for (uint32_t i = (g)->blocks[block].first; i < (g)->blocks[block].first + (g)->blocks[block].ninsts; i++)

/* ---- R-17 ---- */

enum { UCELLS = 72, UP_FIRST = 64 };
typedef struct {
    uint64_t r;
    uint8_t p;
} Live; /* UR0.. and UP0.. */

static void uniform_operand(Live *l, Operand o) {
    if (o.kind != OPK_REG)
        return;
    for (unsigned k = 0; k < (o.count ? o.count : 1u); k++)
        if (o.file == RF_UR && o.value + k < REG_URZ)
            l->r |= (uint64_t)1 << (o.value + k);
        else if (o.file == RF_UP && o.value + k < REG_UPT)
            l->p |= (uint8_t)(1u << (o.value + k));
}

static void uniform_accesses(const MachInst *m, Live *reads, Live *writes) {
    *reads = *writes = (Live){0};
    for (unsigned k = 0; k < m->nsrc; k++)
        uniform_operand(reads, m->src[k]);
    uniform_operand(reads, m->guard);
    for (unsigned k = 0; k < m->ndst; k++)
        uniform_operand(writes, m->dst[k]);
}

/* Another group of lanes may run between this instruction and the next one of its group. */
static bool may_switch(const Checker *c, uint32_t i) {
    switch (check_kind(c, i)) {
    case BK_BRANCH:
    case BK_BRANCH_INDIRECT: return c->divergent[i];
    case BK_BSYNC:
    case BK_YIELD:
    case BK_NANOSLEEP:
    case BK_WARPSYNC:
    case BK_CALL: return !c->converged[i];
    case BK_EXIT: return c->divergent[i] && !c->converged[i];
    default: return false;
    }
}

static void live_before(Live *l, const MachInst *m) {
    Live reads, writes;
    uniform_accesses(m, &reads, &writes);
    if (op_is_always(m->guard)) {
        l->r &= ~writes.r;
        l->p &= (uint8_t)~writes.p;
    }
    l->r |= reads.r;
    l->p |= reads.p;
}

static void uniform_live(Checker *c, const Proc *p) {
    const BinFlow *g = c->g;
    uint32_t base = g->funcs[p->func].first_block;
    Live *in = ARENA_ARRAY(&c->a, Live, g->funcs[p->func].nblocks), unsafe = {0};
    bool any = false;
    for (uint32_t n = 0; n < p->nrpo; n++)
        EACH_INST(g, p->rpo[n], i) {
            Live reads, writes;
            if (!g->decoded[i])
                break;
            uniform_accesses(&g->insts[i], &reads, &writes);
            any |= reads.r || reads.p;
            /* native code reads everywhere what it wrote where all lanes were together */
            if (!c->native || c->apart[i]) {
                unsafe.r |= writes.r;
                unsafe.p |= writes.p;
            }
        }
    if (!any)
        return;
    for (int report = 0; report < 2; report++)
        for (bool changed = true; changed;) {
            changed = false;
            for (uint32_t n = p->nrpo; n-- > 0;) {
                const BinBlock *b = &g->blocks[p->rpo[n]];
                Live l = {0};
                for (uint32_t s = 0; s < b->nsuccs; s++) {
                    l.r |= in[b->succs[s].block - base].r;
                    l.p |= in[b->succs[s].block - base].p;
                }
                for (uint32_t i = b->first + b->ninsts; i-- > b->first;) {
                    if (!g->decoded[i])
                        continue;
                    uint64_t r = l.r & unsafe.r;
                    if (report && may_switch(c, i) && (r || (l.p & unsafe.p)))
                        check_report(c, CR_R17, i, NONE,
                                     "uniform register %s%u live across possible divergence", r ? "UR" : "UP",
                                     r ? (unsigned)__builtin_ctzll(r)
                                       : (unsigned)__builtin_ctz((unsigned)l.p & unsafe.p));
                    live_before(&l, &g->insts[i]);
                }
                Live *to = &in[p->rpo[n] - base];
                changed |= !report && (to->r != l.r || to->p != l.p);
                *to = l;
            }
        }
}

/* ---- R-20 ---- */

typedef enum { V_NONE, V_ENTRY, V_CONST, V_COMPUTED, V_UNKNOWN } ValueKind;
typedef struct {
    uint8_t kind;
    uint32_t value; /* register at the entry, or constant */
    uint32_t def;   /* instruction that made it */
} Value;
typedef struct {
    Value r[REG_RZ];
    bool reached;
} Values;

typedef struct {
    Checker *c;
    Values **in;    /* by block */
    uint32_t *link; /* by procedure: register pair that it returns to; NONE */
} Returns;

static Value value_of(const Values *v, Operand o, unsigned part) {
    if (o.kind == OPK_IMM && part == 0)
        return (Value){V_CONST, o.value, NONE};
    if (o.kind != OPK_REG || o.file != RF_R || o.mods & (OPM_NEG | OPM_ABS | OPM_NOT))
        return (Value){V_COMPUTED, 0, NONE};
    return o.value + part >= REG_RZ ? (Value){V_CONST, 0, NONE} : v->r[o.value + part];
}

static bool is_zero(const Values *v, Operand o) {
    Value x = value_of(v, o, 0);
    return o.kind == OPK_REG && o.file == RF_R && o.value == REG_RZ && x.kind == V_CONST;
}

static void define(Values *v, const MachInst *m, unsigned d, unsigned part, Value x, uint32_t i) {
    uint32_t reg = m->dst[d].value + part;
    if (m->dst[d].kind != OPK_REG || m->dst[d].file != RF_R || reg >= REG_RZ)
        return;
    if (x.def == NONE)
        x.def = i;
    if (bin_guard(m) == BG_ALWAYS && op_is_always(m->guard))
        v->r[reg] = x;
    else if (v->r[reg].kind != x.kind || v->r[reg].value != x.value)
        v->r[reg] = (Value){V_UNKNOWN, 0, i};
}

/* Values that are moved; others are computed, or unknown where they come from the stack. */
static void track(Returns *q, Values *v, uint32_t i) {
    const BinFlow *g = q->c->g;
    const MachInst *m = &g->insts[i];
    Value one = {V_COMPUTED, 0, NONE};
    uint64_t address = 0;
    bool native_lepc = q->c->native && m->optype == OT_LEPC;
    if (m->optype == OT_MOV)
        one = value_of(v, m->src[MOV_rb], 0);
    else if (m->optype == OT_IMAD && is_zero(v, m->src[IMAD_ra]))
        one = value_of(v, m->src[IMAD_rc], 0);
    else if (m->optype == OT_LDL || native_lepc)
        one.kind = V_UNKNOWN;
    else if (m->optype == OT_LEPC) {
        address = bin_address(g, i) + (uint64_t)m->wide;
        one = (Value){V_CONST, (uint32_t)address, NONE};
    }
    /* native code computes return addresses from LEPC and constants */
    if (q->c->native && one.kind == V_COMPUTED)
        one.kind = V_UNKNOWN;
    for (unsigned d = 0; d < m->ndst; d++)
        for (unsigned k = 0; k < (m->dst[d].count ? m->dst[d].count : 1u); k++) {
            Value x = one;
            if (k && m->optype == OT_LEPC && !native_lepc)
                x.value = (uint32_t)(address >> 32);
            else if (k && one.kind != V_COMPUTED)
                x.kind = V_UNKNOWN;
            define(v, m, d, k, x, i);
        }
    if (check_kind(q->c, i) ==
        BK_CALL) /* callees give back some registers as they were; we do not ask which */
        for (unsigned r = 0; r < REG_RZ; r++)
            v->r[r] = (Value){V_UNKNOWN, 0, i};
}

static bool merge(Values *into, const Values *with) {
    if (!into->reached) {
        *into = *with;
        return into->reached = true;
    }
    bool changed = false;
    for (unsigned r = 0; r < REG_RZ; r++) {
        Value *a = &into->r[r], b = with->r[r];
        if (a->kind == V_UNKNOWN || (a->kind == b.kind && a->value == b.value))
            continue;
        *a = (Value){V_UNKNOWN, 0, b.def};
        changed = true;
    }
    return changed;
}

static bool matters(const Checker *c, const Proc *p) {
    for (uint32_t n = 0; n < p->nrpo; n++)
        EACH_INST(c->g, p->rpo[n], i)
    if (c->g->decoded[i] && (bin_kind(&c->g->insts[i]) == BK_RET || check_kind(c, i) == BK_CALL))
        return true;
    return false;
}

static const char *made_by(Checker *c, Value v) { return v.def == NONE ? "" : check_at(c, v.def); }

static void at_return(Returns *q, uint32_t p, const Values *v, uint32_t i) {
    Checker *c = q->c;
    const MachInst *m = &c->g->insts[i];
    Operand ra = m->src[RET_ra];
    if (ra.kind != OPK_REG || ra.file != RF_R || ra.value >= REG_RZ - 1 || c->procs[p].is_kernel)
        return;
    if (ra.value % 2)
        check_report(c, CR_R20, i, NONE, "return address in the odd pair R[%u:%u]", ra.value, ra.value + 1);
    if (!c->native && MGET(RET, mode, m->mods) != BasePCMode_ABS)
        return;
    Value lo = v->r[ra.value], hi = v->r[ra.value + 1];
    if (lo.kind == V_ENTRY && hi.kind == V_ENTRY && hi.value == lo.value + 1) {
        q->link[p] = lo.value;
        return;
    }
    bool wrong = lo.kind == V_CONST || lo.kind == V_COMPUTED || (lo.kind == V_ENTRY && hi.kind == V_ENTRY);
    Value bad = wrong ? lo : hi;
    if ((!wrong && bad.kind != V_CONST && bad.kind != V_COMPUTED) ||
        (c->native && bad.kind == V_CONST && bad.value == 0))
        return; /* native code takes 0 for the high half */
    check_report(c, CR_R20, i, bad.def, "return address R[%u:%u] redefined at %s", ra.value, ra.value + 1,
                 made_by(c, bad));
}

static void at_call(Returns *q, const Values *v, uint32_t i) {
    Checker *c = q->c;
    const BinFlow *g = c->g;
    Callees to = check_callees(c, i);
    uint32_t link = to.n == 1 ? q->link[to.proc[0]] : NONE;
    if (link == NONE || bin_kind(&g->insts[i]) != BK_CALL)
        return;
    Value lo = v->r[link], hi = v->r[link + 1];
    uint64_t back = bin_address(g, i + 1), start = g->bin->funcs[g->blocks[g->block_of[i]].func].address;
    bool known = lo.kind == V_CONST || (!c->native && (lo.kind == V_COMPUTED || lo.kind == V_ENTRY));
    bool good = lo.kind == V_CONST &&
                (lo.value == (uint32_t)back || (c->native && lo.value == (uint32_t)(back - start)));
    if (known && !good)
        check_report(c, CR_R20, i, lo.def,
                     "the callee returns through R[%u:%u], which %s set to something else than %s", link,
                     link + 1, made_by(c, lo), check_at(c, i + 1));
    else if (!c->native && good && hi.kind == V_CONST && hi.value != (uint32_t)(back >> 32))
        check_report(c, CR_R20, i, hi.def, "the high half R%u of the return address is wrong", link + 1);
}

static void run(Returns *q, uint32_t p) {
    Checker *c = q->c;
    const BinFlow *g = c->g;
    const Proc *proc = &c->procs[p];
    for (uint32_t n = 0; n < proc->nrpo; n++)
        q->in[proc->rpo[n]] = ARENA_NEW(&c->a, Values);
    Values *entry = q->in[proc->entry_block];
    entry->reached = true;
    for (unsigned r = 0; r < REG_RZ; r++)
        entry->r[r] = (Value){V_ENTRY, r, NONE};
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = 0; n < proc->nrpo; n++) {
            if (!q->in[proc->rpo[n]]->reached)
                continue;
            Values v = *q->in[proc->rpo[n]];
            EACH_INST(g, proc->rpo[n], i) if (g->decoded[i]) track(q, &v, i);
            for (uint32_t s = 0; s < g->blocks[proc->rpo[n]].nsuccs; s++)
                changed |= merge(q->in[g->blocks[proc->rpo[n]].succs[s].block], &v);
        }
    }
}

static void visit(Returns *q, uint32_t p, bool calls) {
    const BinFlow *g = q->c->g;
    const Proc *proc = &q->c->procs[p];
    for (uint32_t n = 0; n < proc->nrpo; n++) {
        if (!q->in[proc->rpo[n]]->reached)
            continue;
        Values v = *q->in[proc->rpo[n]];
        EACH_INST(g, proc->rpo[n], i) {
            if (!g->decoded[i])
                break;
            if (calls && check_kind(q->c, i) == BK_CALL)
                at_call(q, &v, i);
            else if (!calls && bin_kind(&g->insts[i]) == BK_RET)
                at_return(q, p, &v, i);
            track(q, &v, i);
        }
    }
}

static void return_addresses(Checker *c) {
    Returns q = {.c = c};
    bool *used = ARENA_ARRAY(&c->a, bool, c->nprocs + 1), any = false;
    for (uint32_t p = 0; p < c->nprocs; p++)
        any |= used[p] = matters(c, &c->procs[p]);
    if (!any)
        return;
    q.in = ARENA_ARRAY(&c->a, Values *, c->g->nblocks + 1);
    q.link = ARENA_ARRAY(&c->a, uint32_t, c->nprocs + 1);
    memset(q.link, 0xff, sizeof *q.link * (c->nprocs + 1));
    for (uint32_t p = 0; p < c->nprocs; p++)
        if (used[p]) {
            run(&q, p);
            visit(&q, p, false);
        }
    for (uint32_t p = 0; p < c->nprocs; p++)
        if (used[p])
            visit(&q, p, true);
}

void check_registers(Checker *c) {
    for (uint32_t p = 0; p < c->nprocs; p++)
        uniform_live(c, &c->procs[p]);
    return_addresses(c);
}
