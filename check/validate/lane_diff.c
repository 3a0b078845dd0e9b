/* The first register in which a lane's two executions part: see lane_diff.h.
 * SPDX-License-Identifier: MIT */
#include "check/validate/lane_diff.h"
#include "check/validate/diff.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAX_EVENTS = 1 << 20,
    MAX_REGS = 8,
    MAX_HOPS = 4,
    ENDLESS_ISSUES = 1 << 20 /* enough to see how it began */
};

typedef struct {
    uint32_t func, insn; /* PtxModule.funcs; the statement */
    bool executed;
    uint8_t n, access_bytes;
    bool shared, writes;
    uint64_t address;
    uint32_t reg[MAX_REGS];
    uint64_t value[MAX_REGS];
} PtxStep;
typedef struct {
    uint32_t index; /* in the binary's code */
    uint8_t n;
    bool stores_there; /* changed the watched address */
    uint8_t file[MAX_REGS];
    uint16_t reg[MAX_REGS];
    uint32_t value[MAX_REGS];
} MachineStep;

typedef struct {
    const LaneQuestion *q;
    Arena *arena; /* of the plan: texts */
    Arena own;
    uint32_t block[3], thread[3], warp, lane;
    const uint8_t **own_regs; /* by function: see own_values */
    VEC(PtxStep) ptx;
    VEC(MachineStep) machine;
    SimMemory *mem;
    uint8_t last[8]; /* bytes at the watched address */
    bool pending;    /* machine: the last step has no values yet */
    MachInst pending_inst;
    /* who stored last to a place, before the lane's step `until` */
    bool find_writer, writer_found;
    uint64_t writer_address;
    bool writer_shared;
    uint32_t until, writer_thread[3], writer_block[3];
} Trace;

/* ---- the PTX side ---- */

static bool is_lane(const Trace *t, const uint32_t block[3], const uint32_t thread[3]) {
    return memcmp(t->block, block, sizeof t->block) == 0 && memcmp(t->thread, thread, sizeof t->thread) == 0;
}

static void note_writer(Trace *t, const PtxEvent *e) {
    bool here = e->access_bytes && e->writes && e->shared == t->writer_shared &&
                e->address <= t->writer_address && t->writer_address - e->address < e->access_bytes &&
                (!e->shared || memcmp(e->block, t->block, sizeof t->block) == 0);
    if (!here || t->ptx.n >= t->until)
        return;
    t->writer_found = true;
    memcpy(t->writer_thread, e->thread, sizeof e->thread);
    memcpy(t->writer_block, e->block, sizeof e->block);
}

static void on_ptx(void *user, const PtxEvent *e) {
    Trace *t = user;
    if (t->find_writer)
        note_writer(t, e);
    if (!is_lane(t, e->block, e->thread) || t->ptx.n == MAX_EVENTS)
        return;
    PtxStep *s = VEC_PUSH(&t->own, &t->ptx);
    *s = (PtxStep){.func = (uint32_t)(e->func - t->q->m->funcs),
                   .insn = e->insn,
                   .executed = e->executed,
                   .access_bytes = e->access_bytes,
                   .shared = e->shared,
                   .writes = e->writes,
                   .address = e->address};
    for (unsigned i = 0; i < e->ndst && i < MAX_REGS; i++) {
        s->reg[s->n] = e->dst_reg[i];
        s->value[s->n++] = e->dst_value[i];
    }
}

static void silent(void *user, Severity severity, const char *line) {
    (void)user;
    (void)severity;
    (void)line;
}

static bool run_ptx(Trace *t) {
    Diags quiet = {.sink = silent};
    SimMemory *mem = simmem_clone(t->q->ptx_before);
    PtxRunOptions o = t->q->ptx;
    PtxRunResult r;
    o.on_event = on_ptx;
    o.user = t;
    o.find_races = false;
    o.reached = NULL;
    t->ptx.n = 0;
    bool good = mem && diff_run_ptx(t->q->plan, t->q->launch, t->q->m, mem, &o, &r, &quiet);
    if (mem)
        simmem_free(mem);
    return good;
}

/* ---- the machine's side ---- */

/* Values that the last instruction wrote: the machine reports an instruction before it runs. */
static void finish_step(Trace *t, const MachineTrace *now) {
    if (!t->pending)
        return;
    t->pending = false;
    MachineStep *s = &t->machine.at[t->machine.n - 1];
    for (unsigned i = 0; i < t->pending_inst.ndst; i++) {
        Operand o = t->pending_inst.dst[i];
        bool none = o.kind != OPK_REG || (o.file == RF_R && o.value == REG_RZ) ||
                    (o.file == RF_P && o.value == REG_PT) || (o.file == RF_UR && o.value == REG_URZ) ||
                    (o.file == RF_UP && o.value == REG_UPT) || o.file == RF_B;
        unsigned regs = isa_dst_regs(t->q->b->target, &t->pending_inst, i);
        for (unsigned k = 0; !none && k < (regs ? regs : 1) && s->n < MAX_REGS; k++) {
            s->file[s->n] = o.file;
            s->reg[s->n] = (uint16_t)(o.value + k);
            s->value[s->n++] = machine_trace_reg(now, (RegFile)o.file, o.value + k, t->lane);
        }
    }
}

static bool watched_changed(Trace *t) {
    uint8_t now[8];
    if (!t->q->address || !simmem_read(t->mem, t->q->address, now, 1) || now[0] == t->last[0])
        return false;
    t->last[0] = now[0];
    return true;
}

static void on_machine(void *user, const MachineTrace *e) {
    Trace *t = user;
    bool mine = memcmp(e->block, t->block, sizeof t->block) == 0 && e->warp == t->warp;
    if (watched_changed(t) && t->machine.n && mine)
        t->machine.at[t->machine.n - 1].stores_there = true;
    if (!mine)
        return;
    finish_step(t, e);
    if (!(e->executed >> t->lane & 1) || t->machine.n == MAX_EVENTS)
        return;
    *VEC_PUSH(&t->own, &t->machine) =
        (MachineStep){.index = (uint32_t)((e->pc_bytes - t->q->b->code_base) / INST_BYTES)};
    t->pending = true;
    t->pending_inst = *e->inst;
}

static bool run_machine(Trace *t) {
    Diags quiet = {.sink = silent};
    MachineOptions o = t->q->machine;
    MachineResult r;
    o.trace = on_machine;
    o.trace_user = t;
    if (t->q->endless && (!o.max_issues || o.max_issues > ENDLESS_ISSUES))
        o.max_issues = ENDLESS_ISSUES;
    t->machine.n = 0;
    t->pending = false;
    t->mem = simmem_clone(t->q->machine_before);
    if (t->mem && t->q->address)
        simmem_read(t->mem, t->q->address, t->last, 1);
    bool good = t->mem && diff_run_machine(t->q->plan, t->q->launch, t->q->b, t->mem, &o, &r, &quiet);
    if (good)
        machine_result_free(&r);
    if (t->mem)
        simmem_free(t->mem);
    t->mem = NULL;
    return good;
}

/* ---- comparison ---- */

typedef struct { /* values of one register at one statement */
    uint32_t func, insn, reg;
    uint8_t component;
    uint32_t index; /* of the step */
    uint32_t value;
} Def;
typedef VEC(Def) Defs;

static int by_key(const void *a, const void *b) {
    const Def *x = a, *y = b;
#define BY(field)                                                                                            \
    if (x->field != y->field)                                                                                \
        return x->field < y->field ? -1 : 1;
    BY(func)
    BY(insn)
    BY(reg)
    BY(component)
    BY(index)
#undef BY
    return 0;
}

static bool same_key(const Def *x, const Def *y) {
    return x->func == y->func && x->insn == y->insn && x->reg == y->reg && x->component == y->component;
}

static uint32_t find_reg(const PtxModule *m, const PtxFunc *f, const char *name) {
    for (uint32_t i = 1; i < f->nregs; i++)
        if (strcmp(str_text(&m->strings, f->regs[i].name), name) == 0)
            return i;
    return 0;
}

/* The bits of a component that the PTX register's type has. */
static uint32_t component_mask(const PtxFunc *f, uint32_t reg, unsigned component) {
    unsigned bytes = ptx_type_bytes(f->regs[reg].type);
    if (!bytes)
        return component ? 0 : 1; /* predicate */
    bytes = bytes > 4 * component ? bytes - 4 * component : 0;
    return bytes >= 4 ? UINT32_MAX : (1u << (8 * bytes)) - 1;
}

/* ---- values that need not agree: addresses of local and constant memory, and clocks ---- */

static bool is_own_value(const Trace *t, const uint8_t *own, const PtxOperand *o) {
    for (unsigned i = 0; o->kind == PO_VEC && i < o->nvec; i++)
        if (is_own_value(t, own, &o->vec[i]))
            return true;
    if ((o->kind == PO_REG || o->kind == PO_ADDR) && o->reg)
        return own[o->reg];
    if (o->kind == PO_SREG)
        return o->sreg >= SR_CLOCK && o->sreg <= SR_GLOBALTIMER_HI;
    if (o->kind != PO_SYM || !o->sym || o->sym & PTX_SYM_FUNC)
        return false;
    PtxSpace space = t->q->m->vars[o->sym - 1].space;
    return space == SP_LOCAL || space == SP_PARAM || space == SP_PARAM_FUNC || space == SP_CONST;
}

static void mark_own(const PtxOperand *o, uint8_t *own, bool *changed) {
    for (unsigned i = 0; o->kind == PO_VEC && i < o->nvec; i++)
        mark_own(&o->vec[i], own, changed);
    if (o->kind != PO_REG || own[o->reg])
        return;
    own[o->reg] = 1;
    *changed = true;
}

/* By register: may hold such a value. What was loaded, and results of comparisons, are compared all the same.
 */
static const uint8_t *own_values(Trace *t, uint32_t func) {
    if (t->own_regs[func])
        return t->own_regs[func];
    const PtxFunc *f = &t->q->m->funcs[func];
    uint8_t *own = ARENA_ARRAY(&t->own, uint8_t, f->nregs + 1);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < f->ninsns; i++) {
            const PtxInsn *in = &f->insns[i];
            bool passes = in->op != PTX_LD && in->op != PTX_ATOM && in->op != PTX_SETP && in->op != PTX_CALL,
                 tainted = false;
            for (unsigned k = in->ndst; passes && k < in->noperands; k++)
                tainted |= is_own_value(t, own, &in->operands[k]);
            for (unsigned k = 0; tainted && k < in->ndst; k++)
                mark_own(&in->operands[k], own, &changed);
        }
    }
    return t->own_regs[func] = own;
}

static void ptx_defs(Trace *t, Defs *out) {
    for (uint32_t i = 0; i < t->ptx.n; i++) {
        const PtxStep *s = &t->ptx.at[i];
        for (unsigned k = 0; s->executed && k < s->n; k++)
            for (uint8_t c = 0; c < 2; c++) {
                uint32_t mask = component_mask(&t->q->m->funcs[s->func], s->reg[k], c);
                if (mask && !own_values(t, s->func)[s->reg[k]])
                    VEC_ADD(&t->own, out,
                            ((Def){s->func, s->insn, s->reg[k], c, i,
                                   (uint32_t)(s->value[k] >> (32 * c)) & mask}));
            }
    }
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_key);
}

static const BinFunc *func_of(const Trace *t, uint32_t index, uint64_t *pc) {
    uint64_t address = t->q->b->code_base + (uint64_t)index * INST_BYTES;
    const BinFunc *f = binary_func_at(t->q->b, address);
    *pc = f ? address - f->address : address;
    return f;
}

static const BinLoc *loc_of(const Trace *t, uint32_t index) {
    uint64_t pc;
    const BinFunc *f = func_of(t, index, &pc);
    return f && f->locs && pc / INST_BYTES < f->ninsts ? &f->locs[pc / INST_BYTES] : NULL;
}

/* Rows of the map that begin behind the instruction, for the registers it wrote. */
static void machine_defs(Trace *t, Defs *out) {
    for (uint32_t i = 0; i < t->machine.n; i++) {
        const MachineStep *s = &t->machine.at[i];
        uint64_t pc;
        const BinFunc *f = func_of(t, s->index, &pc);
        const BinLoc *loc = loc_of(t, s->index);
        uint32_t func = f ? ptx_find_func(t->q->m, f->name) : 0;
        if (!func || !loc || !loc->ptx_insn)
            continue;
        const PtxFunc *pf = &t->q->m->funcs[func - 1];
        for (uint32_t r = 0; r < f->nvars; r++) {
            const BinVarRow *v = &f->vars[r];
            for (unsigned k = 0; v->lo_bytes == pc + INST_BYTES && k < s->n; k++) {
                uint32_t reg =
                    s->file[k] == v->file && s->reg[k] == v->reg ? find_reg(t->q->m, pf, v->ptx_name) : 0;
                uint32_t mask = reg ? component_mask(pf, reg, v->component) : 0;
                if (mask)
                    VEC_ADD(&t->own, out,
                            ((Def){func - 1, loc->ptx_insn - 1, reg, v->component, i, s->value[k] & mask}));
            }
        }
    }
    if (out->n)
        qsort(out->at, out->n, sizeof *out->at, by_key);
}

typedef struct {
    const Def *ptx, *machine;
} Pair;

/* The machine computed it less often, as it may where the value stays: runs of equal values count as one. */
static Pair part_hoisted(const Def *p, uint32_t np, const Def *m, uint32_t nm) {
    uint32_t i = 0, k = 0;
    while (i < np && k < nm) {
        if (p[i].value != m[k].value)
            return (Pair){&p[i], &m[k]};
        for (uint32_t value = p[i].value; i < np && p[i].value == value;)
            i++;
        for (uint32_t value = m[k].value; k < nm && m[k].value == value;)
            k++;
    }
    return (Pair){NULL, NULL};
}

/* The machine computed it more often: the PTX's values must be among them, in order. */
static Pair part_speculated(const Def *p, uint32_t np, const Def *m, uint32_t nm, uint32_t first) {
    for (uint32_t i = 0, k = 0; i < np; i++, k++) {
        while (k < nm && m[k].value != p[i].value)
            k++;
        if (k == nm)
            return (Pair){&p[first], &m[first]};
    }
    return (Pair){NULL, NULL};
}

/* The first place where the sequences of one key part; .ptx NULL if they do not. */
static Pair part(const Def *p, uint32_t np, const Def *m, uint32_t nm) {
    uint32_t n = np < nm ? np : nm, k = 0;
    while (k < n && p[k].value == m[k].value)
        k++;
    if (k == n)
        return (Pair){NULL, NULL};
    if (np == nm)
        return (Pair){&p[k], &m[k]};
    return np > nm ? part_hoisted(p, np, m, nm) : part_speculated(p, np, m, nm, k);
}

static bool writes_row(const Trace *t, const BinFunc *f, uint32_t at, const BinVarRow *v) {
    MachInst in;
    char error[ISA_ERROR_BYTES];
    uint64_t index = (f->address - t->q->b->code_base) / INST_BYTES + at;
    if (!isa_decode(t->q->b->target, t->q->b->code[index], &in, error))
        return false;
    for (unsigned i = 0; i < in.ndst; i++) {
        unsigned regs = isa_dst_regs(t->q->b->target, &in, i);
        if (in.dst[i].kind == OPK_REG && in.dst[i].file == v->file && v->reg >= in.dst[i].value &&
            v->reg < in.dst[i].value + (regs ? regs : 1))
            return true;
    }
    return false;
}

/* Is a register of this statement one that the binary defines anywhere for it? */
static bool is_mapped(const Trace *t, const Def *d) {
    const char *name = str_text(&t->q->m->strings, t->q->m->funcs[d->func].name);
    const BinFunc *f = binary_find(t->q->b, name);
    const char *reg = str_text(&t->q->m->strings, t->q->m->funcs[d->func].regs[d->reg].name);
    for (uint32_t r = 0; f && f->locs && r < f->nvars; r++) {
        const BinVarRow *v = &f->vars[r];
        uint32_t at = v->lo_bytes / INST_BYTES;
        if (at && at <= f->ninsts && f->locs[at - 1].ptx_insn == d->insn + 1 &&
            v->component == d->component && strcmp(v->ptx_name, reg) == 0 && writes_row(t, f, at - 1, v))
            return true;
    }
    return false;
}

/* The earliest of all; not_executed: the machine never came to a statement that the PTX executed before. */
static Pair first_pair(Trace *t, uint32_t last_ptx, bool *not_executed) {
    Defs p = {0}, m = {0};
    Pair best = {NULL, NULL};
    const Def *absent = NULL;
    ptx_defs(t, &p);
    machine_defs(t, &m);
    for (uint32_t i = 0, k = 0; i < p.n;) {
        uint32_t ni = i, nk;
        while (ni < p.n && same_key(&p.at[i], &p.at[ni]))
            ni++;
        while (k < m.n && by_key(&m.at[k], &p.at[i]) < 0 && !same_key(&m.at[k], &p.at[i]))
            k++;
        for (nk = k; nk < m.n && same_key(&m.at[nk], &p.at[i]);)
            nk++;
        if (nk > k) {
            Pair x = part(&p.at[i], ni - i, &m.at[k], nk - k);
            if (x.ptx && x.ptx->index <= last_ptx && (!best.ptx || x.ptx->index < best.ptx->index))
                best = x;
        } else if (p.at[i].index <= last_ptx && (!absent || p.at[i].index < absent->index) &&
                   is_mapped(t, &p.at[i])) {
            absent = &p.at[i];
        }
        i = ni;
        k = nk;
    }
    *not_executed = absent && (!best.ptx || (!t->q->trapped && absent->index < best.ptx->index));
    return *not_executed ? (Pair){absent, NULL} : best;
}

/* ---- texts ---- */

static const char *statement_text(Trace *t, const PtxInsn *in) {
    const Source *s = &t->q->m->source;
    size_t at = in->loc.i ? in->loc.i - 1 : 0, n = 0;
    if (!in->loc.i || !s->text || at >= s->size_bytes)
        return ptx_op_name((PtxOp)in->op);
    while (at + n < s->size_bytes && s->text[at + n] != ';' && s->text[at + n] != '\n' && n < 100)
        n++;
    char *text = arena_printf(t->arena, "%.*s;", (int)n, s->text + at), *to = text;
    for (const char *c = text; *c; c++) /* one blank for any white space */
        if (*c != ' ' && *c != '\t')
            *to++ = *c;
        else if (to > text && to[-1] != ' ')
            *to++ = ' ';
    *to = 0;
    return text;
}

static const char *instruction_text(Trace *t, uint32_t index) {
    MachInst in;
    char error[ISA_ERROR_BYTES], text[200] = "?";
    uint64_t pc;
    func_of(t, index, &pc);
    if (isa_decode(t->q->b->target, t->q->b->code[index], &in, error))
        isa_print(t->q->b->target, &in, pc, NULL, text, sizeof text);
    return arena_printf(t->arena, "%s", text);
}

static const char *reg_text(Trace *t, unsigned file, unsigned reg) {
    static const char *const names[RF_COUNT] = {"R", "P", "UR", "UP", "B"};
    return arena_printf(t->arena, "%s%u", file < RF_COUNT ? names[file] : "?", reg);
}

/* Where the last LANE_EVENTS different steps before and with `last` begin; a step may repeat the one before.
 */
static uint32_t first_shown(const Trace *t, uint32_t last, bool (*repeats)(const Trace *t, uint32_t i)) {
    uint32_t first = last, n = 1;
    while (first > 0 && (n < LANE_EVENTS || repeats(t, first)))
        n += !repeats(t, first--);
    return first;
}
static bool ptx_repeats(const Trace *t, uint32_t i) {
    const PtxStep *a = &t->ptx.at[i - 1], *b = &t->ptx.at[i];
    return a->func == b->func && a->insn == b->insn && a->executed == b->executed &&
           memcmp(a->value, b->value, sizeof a->value) == 0;
}
static bool machine_repeats(const Trace *t, uint32_t i) {
    const MachineStep *a = &t->machine.at[i - 1], *b = &t->machine.at[i];
    return a->index == b->index && memcmp(a->value, b->value, sizeof a->value) == 0;
}

static void ptx_events(Trace *t, LaneDiff *x, uint32_t last) {
    uint32_t first = t->ptx.n ? first_shown(t, last, ptx_repeats) : 0;
    x->ptx = ARENA_ARRAY(t->arena, LaneStep, LANE_EVENTS);
    for (uint32_t i = first; i <= last && i < t->ptx.n; i++) {
        const PtxStep *s = &t->ptx.at[i];
        const PtxFunc *f = &t->q->m->funcs[s->func];
        const char *values = "";
        if (i > first && ptx_repeats(t, i)) {
            x->ptx[x->nptx - 1].times++;
            continue;
        }
        for (unsigned k = 0; s->executed && k < s->n; k++)
            values = arena_printf(t->arena, "%s%s%s = 0x%llx", values, k ? ", " : "",
                                  str_text(&t->q->m->strings, f->regs[s->reg[k]].name),
                                  (unsigned long long)s->value[k]);
        x->ptx[x->nptx++] = (LaneStep){.func = str_text(&t->q->m->strings, f->name),
                                       .times = 1,
                                       .skipped = !s->executed,
                                       .line = ptx_line(t->q->m, &f->insns[s->insn]),
                                       .text = statement_text(t, &f->insns[s->insn]),
                                       .values = values};
    }
}

static void machine_events(Trace *t, LaneDiff *x, uint32_t last) {
    uint32_t first = t->machine.n ? first_shown(t, last, machine_repeats) : 0;
    x->machine = ARENA_ARRAY(t->arena, LaneStep, LANE_EVENTS);
    for (uint32_t i = first; i <= last && i < t->machine.n; i++) {
        const MachineStep *s = &t->machine.at[i];
        const char *values = "";
        uint64_t pc;
        const BinFunc *f = func_of(t, s->index, &pc);
        const BinLoc *loc = loc_of(t, s->index);
        if (i > first && machine_repeats(t, i)) {
            x->machine[x->nmachine - 1].times++;
            continue;
        }
        for (unsigned k = 0; k < s->n; k++)
            values = arena_printf(t->arena, "%s%s%s = 0x%x", values, k ? ", " : "",
                                  reg_text(t, s->file[k], s->reg[k]), s->value[k]);
        x->machine[x->nmachine++] = (LaneStep){.func = f ? f->name : "?",
                                               .times = 1,
                                               .pc_bytes = pc,
                                               .line = loc ? loc->ptx_line : 0,
                                               .text = instruction_text(t, s->index),
                                               .values = values};
    }
}

/* ---- the answer ---- */

/* Step of the last store that matters, or the last step. */
static uint32_t last_ptx_step(const Trace *t) {
    for (uint32_t i = t->ptx.n; t->q->address && i-- > 0;) {
        const PtxStep *s = &t->ptx.at[i];
        if (s->writes && !s->shared && s->address <= t->q->address &&
            t->q->address - s->address < s->access_bytes)
            return i;
    }
    return t->ptx.n ? t->ptx.n - 1 : 0;
}
static uint32_t last_machine_step(const Trace *t) {
    for (uint32_t i = t->machine.n; t->q->address && i-- > 0;)
        if (t->machine.at[i].stores_there)
            return i;
    return t->machine.n ? t->machine.n - 1 : 0;
}

/* The last branch of the machine before it should have come to `d`: the first branch behind the last
 * statement that both executed. */
static uint32_t last_common(const Trace *t, const Def *d) {
    uint32_t best = 0;
    for (uint32_t i = d->index; i-- > 0;) {
        uint32_t insn = t->ptx.at[i].insn;
        for (uint32_t k = t->machine.n; k-- > 0;) {
            const BinLoc *loc = loc_of(t, t->machine.at[k].index);
            if (loc && loc->ptx_insn == insn + 1)
                return k;
        }
    }
    return best;
}

static void describe(Trace *t, LaneDiff *x, Pair pair, bool not_executed) {
    const PtxFunc *f = &t->q->m->funcs[pair.ptx->func];
    const PtxInsn *in = &f->insns[pair.ptx->insn];
    x->statement = statement_text(t, in);
    x->line = ptx_line(t->q->m, in);
    x->ptx_reg = str_text(&t->q->m->strings, f->regs[pair.ptx->reg].name);
    x->not_executed = not_executed;
    x->ptx_value = pair.ptx->value;
    if (ptx_type_bytes(f->regs[pair.ptx->reg].type) > 4)
        x->ptx_reg = arena_printf(t->arena, "%s (bits %u to %u)", x->ptx_reg, 32u * pair.ptx->component,
                                  32u * pair.ptx->component + 31);
    uint32_t step = not_executed ? last_common(t, pair.ptx) : pair.machine->index;
    if (step >= t->machine.n)
        return;
    const MachineStep *s = &t->machine.at[step];
    const BinFunc *bf = func_of(t, s->index, &x->pc_bytes);
    x->func = bf ? bf->name : "?";
    x->instruction = instruction_text(t, s->index);
    for (unsigned k = 0; !not_executed && bf && k < s->n; k++)
        for (uint32_t r = 0; r < bf->nvars; r++)
            if (bf->vars[r].lo_bytes == x->pc_bytes + INST_BYTES && bf->vars[r].file == s->file[k] &&
                bf->vars[r].reg == s->reg[k] && bf->vars[r].component == pair.ptx->component &&
                find_reg(t->q->m, f, bf->vars[r].ptx_name) == pair.ptx->reg)
                x->machine_reg = reg_text(t, s->file[k], s->reg[k]);
    x->machine_value = not_executed ? 0 : pair.machine->value;
}

static bool set_lane(Trace *t, const uint32_t block[3], const uint32_t thread[3]) {
    const uint32_t *dim = t->q->launch->block;
    uint32_t linear = thread[0] + dim[0] * (thread[1] + dim[1] * thread[2]);
    memcpy(t->block, block, sizeof t->block);
    memcpy(t->thread, thread, sizeof t->thread);
    t->warp = linear / SIM_WARP_LANES;
    t->lane = linear % SIM_WARP_LANES;
    t->find_writer = false;
    return run_ptx(t) && run_machine(t);
}

static void answer(Trace *t, LaneDiff *x, bool whole) {
    uint32_t last = whole ? (t->ptx.n ? t->ptx.n - 1 : 0) : last_ptx_step(t), machine = last_machine_step(t);
    bool not_executed = false;
    Pair pair = t->q->alike ? (Pair){NULL, NULL} : first_pair(t, last, &not_executed);
    x->alike = t->q->alike;
    memcpy(x->block, t->block, sizeof x->block);
    memcpy(x->thread, t->thread, sizeof x->thread);
    x->warp = t->warp;
    x->lane = t->lane;
    x->nptx = x->nmachine = 0;
    x->statement = NULL;
    if (pair.ptx) {
        describe(t, x, pair, not_executed);
        last = pair.ptx->index;
        machine = not_executed ? last_common(t, pair.ptx) : pair.machine->index;
    }
    ptx_events(t, x, last);
    machine_events(t, x, machine);
    t->until = pair.ptx && !not_executed ? pair.ptx->index : UINT32_MAX;
}

/* The difference came in by a load: who stored there, if it was another lane? */
static bool follow_load(Trace *t) {
    if (t->until >= t->ptx.n)
        return false;
    const PtxStep s = t->ptx.at[t->until];
    if (!s.access_bytes || s.writes)
        return false;
    t->find_writer = true;
    t->writer_found = false;
    t->writer_address = s.address;
    t->writer_shared = s.shared;
    return run_ptx(t) && t->writer_found && !is_lane(t, t->writer_block, t->writer_thread);
}

LaneDiff *lane_diff(const LaneQuestion *q) {
    Trace t = {.q = q, .arena = &q->plan->arena};
    LaneDiff *x = ARENA_NEW(t.arena, LaneDiff);
    t.own_regs = ARENA_ARRAY(&t.own, const uint8_t *, q->m->nfuncs + 1);
    if (!set_lane(&t, q->block, q->thread)) {
        arena_free(&t.own);
        return NULL;
    }
    answer(&t, x, false);
    while (x->statement && x->hops < MAX_HOPS && follow_load(&t)) {
        LaneDiff next = {.hops = x->hops + 1, .reader_line = x->line};
        uint32_t block[3], thread[3];
        memcpy(block, t.writer_block, sizeof block);
        memcpy(thread, t.writer_thread, sizeof thread);
        if (!set_lane(&t, block, thread))
            break;
        answer(&t, &next, true);
        if (!next.statement)
            break; /* the store itself, or its address, is what is wrong: the load says more */
        *x = next;
    }
    arena_free(&t.own);
    return x;
}

/* ---- output ---- */

static void print_times(FILE *out, const LaneStep *e) {
    if (e->times > 1)
        fprintf(out, "  (%u times)", e->times);
    fputc('\n', out);
}

void lane_diff_print(const LaneDiff *x, FILE *out) {
    fprintf(out, "lane %u of warp %u, block (%u,%u,%u), thread (%u,%u,%u)", x->lane, x->warp, x->block[0],
            x->block[1], x->block[2], x->thread[0], x->thread[1], x->thread[2]);
    if (x->hops)
        fprintf(out, ", which stored what line %u loaded", x->reader_line);
    fputs(":\n", out);
    if (x->alike) {
        /* the trap is told elsewhere */
    } else if (!x->statement) {
        fputs("  no register was found in which the executions part\n", out);
    } else if (x->not_executed) {
        fprintf(out, "  first difference: the machine does not execute line %u: %s\n", x->line, x->statement);
        if (x->instruction)
            fprintf(out, "    last in common: %s pc 0x%llx: %s\n", x->func, (unsigned long long)x->pc_bytes,
                    x->instruction);
    } else {
        fprintf(out, "  first difference: line %u: %s\n", x->line, x->statement);
        fprintf(out, "    PTX      %s = 0x%llx\n", x->ptx_reg, (unsigned long long)x->ptx_value);
        fprintf(out, "    machine  %s = 0x%llx, by %s pc 0x%llx: %s\n", x->machine_reg ? x->machine_reg : "?",
                (unsigned long long)x->machine_value, x->func, (unsigned long long)x->pc_bytes,
                x->instruction);
    }
    fprintf(out, "  last %u events, PTX:\n", x->nptx);
    for (uint32_t i = 0; i < x->nptx; i++) {
        const LaneStep *e = &x->ptx[i];
        const char *values = e->skipped ? "(guard false)" : e->values;
        fprintf(out, *values ? "    line %-5u %-42s %s" : "    line %-5u %s%s", e->line, e->text, values);
        print_times(out, e);
    }
    fprintf(out, "  last %u events, machine:\n", x->nmachine);
    for (uint32_t i = 0; i < x->nmachine; i++) {
        const LaneStep *e = &x->machine[i];
        fprintf(out, *e->values ? "    0x%04llx line %-5u %-42s %s" : "    0x%04llx line %-5u %s%s",
                (unsigned long long)e->pc_bytes, e->line, e->text, e->values);
        print_times(out, e);
    }
}
